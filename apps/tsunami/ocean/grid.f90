! SPDX-License-Identifier: BSD-3-Clause
!> The grid: cells of equal size in degrees, their depths, and lengths on the sphere.
!>
!> The file (stream, native byte order) holds int32 nx, ny; real64 west, south, dlon, dlat in
!> degrees, of the outer edge and of a cell; real64 depth(nx, ny) in metres, 0 on land.
module ocean_grid
    use, intrinsic :: iso_fortran_env, only: int32, real64
    use ocean_parts, only: parts_t, parts_divide
    implicit none
    private
    public :: grid_t, grid_load, grid_field

    real(real64), parameter, public :: GRAVITY = 9.81d0          !< m s-2
    real(real64), parameter :: EARTH_RADIUS = 6371d3             !< m
    real(real64), parameter :: DEGREE = acos(-1d0) / 180

    !> Arrays are of this process's part; depth with one cell more on every side (0 beyond the edge).
    type :: grid_t
        type(parts_t) :: parts
        real(real64), allocatable :: depth(:, :)     !< (0:nx+1, 0:ny+1), m
        real(real64), allocatable :: dx(:)           !< (1:ny) width of a cell in row j, m
        real(real64), allocatable :: cos_row(:)      !< (1:ny) cosine of latitude, middle of row j
        real(real64), allocatable :: cos_face(:)     !< (0:ny) the same at the row's north side
        real(real64) :: dy = 0                       !< height of a cell, m
    end type grid_t

contains

    !> alone: this process has the whole sea, whatever the others have.
    subroutine grid_load(path, alone, g, problem)
        character(*), intent(in) :: path
        logical, intent(in) :: alone
        type(grid_t), intent(out) :: g
        character(:), allocatable, intent(out) :: problem
        integer(int32) :: n(2)
        real(real64) :: place(4), latitude
        real(real64), allocatable :: whole(:, :)
        character(200) :: text
        integer :: unit, status, j

        problem = ''
        open (newunit=unit, file=path, access='stream', form='unformatted', status='old', &
            action='read', iostat=status, iomsg=text)
        if (status == 0) then
            read (unit, iostat=status, iomsg=text) n, place
            if (status == 0 .and. any(n < 2 .or. n > 20000)) then
                status = 1
                text = 'this is no grid: its size is out of range'
            end if
            if (status == 0) then
                allocate (whole(0:n(1) + 1, 0:n(2) + 1), source=0d0)
                read (unit, iostat=status, iomsg=text) whole(1:n(1), 1:n(2))
            end if
            close (unit)
        end if
        if (status == 0 .and. (any(place(3:4) <= 0) .or. abs(place(2)) > 89)) then
            status = 1
            text = 'cells must have a size, and poles are out of reach'
        end if
        if (status /= 0) then
            problem = 'grid '//trim(path)//': '//trim(text)
            return
        end if
        call parts_divide(n, alone, g%parts, problem)
        if (len(problem) > 0) return
        associate (p => g%parts)
            allocate (g%depth(0:p%n(1) + 1, 0:p%n(2) + 1), g%dx(p%n(2)), g%cos_row(p%n(2)), &
                g%cos_face(0:p%n(2)))
            g%depth = max(0d0, whole(p%first(1) - 1:p%last(1) + 1, p%first(2) - 1:p%last(2) + 1))
            g%dy = EARTH_RADIUS * place(4) * DEGREE
            do j = 0, p%n(2)
                latitude = place(2) + place(4) * (p%first(2) - 1 + j)
                g%cos_face(j) = cos(latitude * DEGREE)
                if (j > 0) g%cos_row(j) = cos((latitude - place(4) / 2) * DEGREE)
            end do
            g%dx = EARTH_RADIUS * place(3) * DEGREE * g%cos_row
        end associate
    end subroutine grid_load

    !> This process's part of a field in a file of real64 (nx, ny): a sea surface to start from.
    subroutine grid_field(path, g, field, problem)
        character(*), intent(in) :: path
        type(grid_t), intent(in) :: g
        real(real64), intent(out) :: field(:, :)
        character(:), allocatable, intent(out) :: problem
        real(real64) :: whole(g%parts%whole(1), g%parts%whole(2))
        character(200) :: text
        integer :: unit, status

        problem = ''
        field = 0
        open (newunit=unit, file=path, access='stream', form='unformatted', status='old', &
            action='read', iostat=status, iomsg=text)
        if (status == 0) then
            read (unit, iostat=status, iomsg=text) whole
            close (unit)
        end if
        if (status /= 0) then
            problem = 'field '//trim(path)//': '//trim(text)
            return
        end if
        associate (p => g%parts)
            field = whole(p%first(1):p%last(1), p%first(2):p%last(2))
            where (g%depth(1:p%n(1), 1:p%n(2)) <= 0) field = 0
        end associate
    end subroutine grid_field
end module ocean_grid
