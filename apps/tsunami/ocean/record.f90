! SPDX-License-Identifier: BSD-3-Clause
!> Heights at stations, and maps, into two files that tsunami/files.py reads.
!>
!> OUTPUT.series: int32 stations, samples; then per sample real64 time, real64 heights.
!> OUTPUT.maps: int32 nx, ny, maps; then per map real64 time, real32 heights(nx, ny).
module ocean_record
    use, intrinsic :: iso_fortran_env, only: int32, real32, real64
    use ocean_grid, only: grid_t
    use ocean_parts, only: my_rank, parts_collect, parts_sum
    implicit none
    private
    public :: record_t, record_stations, record_open, record_heights, record_sample, record_map
    public :: record_close

    type :: record_t
        integer, allocatable :: cells(:, :)      !< (2, stations) cells in the whole grid
        integer, private :: series = 0, maps = 0
    end type record_t

contains

    !> The file has the number of stations, then their cells i, j, counted from 1.
    subroutine record_stations(path, g, r, problem)
        character(*), intent(in) :: path
        type(grid_t), intent(in) :: g
        type(record_t), intent(out) :: r
        character(:), allocatable, intent(out) :: problem
        character(200) :: text
        integer :: unit, status, n

        problem = ''
        allocate (r%cells(2, 0))
        if (len_trim(path) == 0) return
        open (newunit=unit, file=path, status='old', action='read', iostat=status, iomsg=text)
        if (status == 0) read (unit, *, iostat=status, iomsg=text) n
        if (status == 0 .and. (n < 0 .or. n > 100000)) then
            status = 1
            text = 'the number of stations is out of range'
        end if
        if (status == 0) then
            deallocate (r%cells)
            allocate (r%cells(2, n))
            if (n > 0) read (unit, *, iostat=status, iomsg=text) r%cells
            close (unit)
        end if
        if (status == 0) then
            if (any(r%cells < 1 .or. r%cells > spread(g%parts%whole, 2, n))) then
                status = 1
                text = 'a station lies outside of the grid'
            end if
        end if
        if (status /= 0) problem = 'stations '//trim(path)//': '//trim(text)
    end subroutine record_stations

    subroutine record_open(output, g, samples, maps, r, problem)
        character(*), intent(in) :: output
        type(grid_t), intent(in) :: g
        integer, intent(in) :: samples, maps
        type(record_t), intent(inout) :: r
        character(:), allocatable, intent(out) :: problem
        character(200) :: text
        integer :: status

        problem = ''
        if (my_rank > 0) return
        open (newunit=r%series, file=trim(output)//'.series', access='stream', &
            form='unformatted', status='replace', action='write', iostat=status, iomsg=text)
        if (status == 0) open (newunit=r%maps, file=trim(output)//'.maps', access='stream', &
            form='unformatted', status='replace', action='write', iostat=status, iomsg=text)
        if (status == 0) then
            write (r%series) int([size(r%cells, 2), samples], int32)
            write (r%maps) int([g%parts%whole, maps], int32)
        else
            problem = 'output '//trim(output)//': '//trim(text)
        end if
    end subroutine record_open

    !> Heights of all stations, on all who share the grid. Collective among them.
    function record_heights(r, g, eta) result(heights)
        type(record_t), intent(in) :: r
        type(grid_t), intent(in) :: g
        real(real64), intent(in) :: eta(0:, 0:)
        real(real64) :: heights(size(r%cells, 2))
        integer :: k, at(2)

        heights = 0
        do k = 1, size(heights)
            if (any(r%cells(:, k) < g%parts%first .or. r%cells(:, k) > g%parts%last)) cycle
            at = r%cells(:, k) - g%parts%first + 1
            heights(k) = eta(at(1), at(2))
        end do
        heights = parts_sum(g%parts, heights)
    end function record_heights

    subroutine record_sample(r, time, heights)
        type(record_t), intent(in) :: r
        real(real64), intent(in) :: time, heights(:)
        if (my_rank == 0) write (r%series) time, heights
    end subroutine record_sample

    !> Collective.
    subroutine record_map(r, g, time, eta)
        type(record_t), intent(in) :: r
        type(grid_t), intent(in) :: g
        real(real64), intent(in) :: time, eta(0:, 0:)
        real(real64), allocatable :: mine(:, :), whole(:, :)

        mine = eta(1:g%parts%n(1), 1:g%parts%n(2))
        if (my_rank == 0) then
            allocate (whole(g%parts%whole(1), g%parts%whole(2)))
        else
            allocate (whole(0, 0))
        end if
        call parts_collect(g%parts, mine, whole)
        if (my_rank == 0) write (r%maps) time, real(whole, real32)
    end subroutine record_map

    subroutine record_close(r)
        type(record_t), intent(in) :: r
        if (my_rank > 0) return
        close (r%series)
        close (r%maps)
    end subroutine record_close
end module ocean_record
