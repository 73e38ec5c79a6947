! SPDX-License-Identifier: BSD-3-Clause
!> Which process has which part of the grid, and every call of MPI: edges to the neighbours, fields
!> to and from rank 0. Inside this block plain MPI is used; WaitIO is for what crosses to others.
module ocean_parts
    use, intrinsic :: iso_fortran_env, only: error_unit, real64
    use mpi
    implicit none
    private
    public :: parts_t, parts_start, parts_stop, parts_check, parts_divide, parts_edges
    public :: parts_collect, parts_sum, parts_least

    !> Cells first(1):last(1) x first(2):last(2) of the whole grid are this process's; comm is of
    !> those who share the grid, all of the block or this process alone.
    type :: parts_t
        integer :: whole(2) = 0, first(2) = 0, last(2) = 0, n(2) = 0
        integer :: west = MPI_PROC_NULL, east = MPI_PROC_NULL
        integer :: south = MPI_PROC_NULL, north = MPI_PROC_NULL
        integer :: comm = MPI_COMM_NULL, rank = 0, size = 1
    end type parts_t

    integer, public, protected :: my_rank = 0, my_size = 1

contains

    subroutine parts_start()
        integer :: ierr
        call MPI_Init(ierr)
        call MPI_Comm_rank(MPI_COMM_WORLD, my_rank, ierr)
        call MPI_Comm_size(MPI_COMM_WORLD, my_size, ierr)
    end subroutine parts_start

    subroutine parts_stop()
        integer :: ierr
        call MPI_Finalize(ierr)
    end subroutine parts_stop

    !> Ends the program, with one message, when any process has a problem. Collective.
    subroutine parts_check(problem)
        character(*), intent(in) :: problem
        integer :: mine, first, ierr

        mine = merge(my_rank, my_size, len_trim(problem) > 0)
        call MPI_Allreduce(mine, first, 1, MPI_INTEGER, MPI_MIN, MPI_COMM_WORLD, ierr)
        if (first == my_size) return
        if (first == my_rank) write (error_unit, '(2a)') 'ocean: ', trim(problem)
        flush (error_unit)
        call MPI_Barrier(MPI_COMM_WORLD, ierr)
        call parts_stop()
        stop 2, quiet=.true.
    end subroutine parts_check

    !> Blocks as square as the number of processes allows, in both directions; or all for everybody.
    subroutine parts_divide(whole, alone, p, problem)
        integer, intent(in) :: whole(2)
        logical, intent(in) :: alone
        type(parts_t), intent(out) :: p
        character(:), allocatable, intent(out) :: problem
        integer :: dims(2), place(2), ierr

        problem = ''
        dims = 0
        p%size = merge(1, my_size, alone)
        call MPI_Dims_create(p%size, 2, dims, ierr)
        if (any(dims > whole)) then
            problem = 'more processes than the grid can be divided among: start fewer'
            return
        end if
        call MPI_Cart_create(merge(MPI_COMM_SELF, MPI_COMM_WORLD, alone), 2, dims, &
            [.false., .false.], .false., p%comm, ierr)
        call MPI_Comm_rank(p%comm, p%rank, ierr)
        call MPI_Cart_coords(p%comm, p%rank, 2, place, ierr)
        call MPI_Cart_shift(p%comm, 0, 1, p%west, p%east, ierr)
        call MPI_Cart_shift(p%comm, 1, 1, p%south, p%north, ierr)
        p%whole = whole
        p%first = (whole * place) / dims + 1
        p%last = (whole * (place + 1)) / dims
        p%n = p%last - p%first + 1
    end subroutine parts_divide

    !> The row or column of cells around a(1:nx, 1:ny) from the neighbours; a(0:nx+1, 0:ny+1).
    subroutine parts_edges(p, a)
        type(parts_t), intent(in) :: p
        real(real64), intent(inout) :: a(0:, 0:)
        real(real64), dimension(p%n(2)), asynchronous :: to_west, to_east, from_west, from_east
        real(real64), dimension(p%n(1)), asynchronous :: to_south, to_north, from_south, from_north
        integer :: request(8), nx, ny, ierr

        nx = p%n(1)
        ny = p%n(2)
        to_west = a(1, 1:ny)
        to_east = a(nx, 1:ny)
        to_south = a(1:nx, 1)
        to_north = a(1:nx, ny)
        from_west = 0
        from_east = 0
        from_south = 0
        from_north = 0
        call MPI_Irecv(from_west, ny, MPI_DOUBLE_PRECISION, p%west, 1, p%comm, request(1), ierr)
        call MPI_Irecv(from_east, ny, MPI_DOUBLE_PRECISION, p%east, 2, p%comm, request(2), ierr)
        call MPI_Irecv(from_south, nx, MPI_DOUBLE_PRECISION, p%south, 3, p%comm, request(3), ierr)
        call MPI_Irecv(from_north, nx, MPI_DOUBLE_PRECISION, p%north, 4, p%comm, request(4), ierr)
        call MPI_Isend(to_east, ny, MPI_DOUBLE_PRECISION, p%east, 1, p%comm, request(5), ierr)
        call MPI_Isend(to_west, ny, MPI_DOUBLE_PRECISION, p%west, 2, p%comm, request(6), ierr)
        call MPI_Isend(to_north, nx, MPI_DOUBLE_PRECISION, p%north, 3, p%comm, request(7), ierr)
        call MPI_Isend(to_south, nx, MPI_DOUBLE_PRECISION, p%south, 4, p%comm, request(8), ierr)
        call MPI_Waitall(8, request, MPI_STATUSES_IGNORE, ierr)
        if (p%west /= MPI_PROC_NULL) a(0, 1:ny) = from_west
        if (p%east /= MPI_PROC_NULL) a(nx + 1, 1:ny) = from_east
        if (p%south /= MPI_PROC_NULL) a(1:nx, 0) = from_south
        if (p%north /= MPI_PROC_NULL) a(1:nx, ny + 1) = from_north
    end subroutine parts_edges

    !> The whole field on rank 0, from everybody's part; the size there must be that of the grid.
    subroutine parts_collect(p, mine, whole)
        type(parts_t), intent(in) :: p
        real(real64), intent(in), contiguous :: mine(:, :)
        real(real64), intent(inout) :: whole(:, :)
        real(real64), allocatable :: part(:, :)
        integer :: box(4), rank, ierr

        box = [p%first, p%last]
        if (p%rank > 0) then
            call MPI_Send(box, 4, MPI_INTEGER, 0, 5, p%comm, ierr)
            call MPI_Send(mine, size(mine), MPI_DOUBLE_PRECISION, 0, 6, p%comm, ierr)
            return
        end if
        whole(box(1):box(3), box(2):box(4)) = mine
        do rank = 1, p%size - 1
            call MPI_Recv(box, 4, MPI_INTEGER, rank, 5, p%comm, MPI_STATUS_IGNORE, ierr)
            allocate (part(box(3) - box(1) + 1, box(4) - box(2) + 1))
            call MPI_Recv(part, size(part), MPI_DOUBLE_PRECISION, rank, 6, p%comm, &
                MPI_STATUS_IGNORE, ierr)
            whole(box(1):box(3), box(2):box(4)) = part
            deallocate (part)
        end do
    end subroutine parts_collect

    !> Element by element over all who share the grid, on all.
    function parts_sum(p, mine) result(total)
        type(parts_t), intent(in) :: p
        real(real64), intent(in) :: mine(:)
        real(real64) :: total(size(mine)), copy(size(mine))
        integer :: ierr
        copy = mine
        call MPI_Allreduce(copy, total, size(copy), MPI_DOUBLE_PRECISION, MPI_SUM, p%comm, ierr)
    end function parts_sum

    real(real64) function parts_least(p, mine) result(least)
        type(parts_t), intent(in) :: p
        real(real64), intent(in) :: mine
        integer :: ierr
        call MPI_Allreduce(mine, least, 1, MPI_DOUBLE_PRECISION, MPI_MIN, p%comm, ierr)
    end function parts_least
end module ocean_parts
