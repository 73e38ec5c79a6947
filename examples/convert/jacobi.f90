! SPDX-License-Identifier: BSD-3-Clause
!> Laplace's equation on a square by Jacobi's method: one side is hot, the others are cold. Every
!> process has some columns and exchanges its outermost ones with its neighbours in each sweep.
!>
!> Plain MPI, nothing else: docs/guide/convert.md makes a coupled program of it.
!>   mpifort -O2 jacobi.f90 -o jacobi && mpiexec -n 4 ./jacobi
module halo
    use mpi
    implicit none

    type :: exchange
        integer :: left = MPI_PROC_NULL, right = MPI_PROC_NULL ! neighbours
        integer :: requests(4) = MPI_REQUEST_NULL
    end type exchange

contains

    !> Start sending my outermost columns and receiving the neighbours' ones.
    subroutine start(x, u, n, cols)
        type(exchange), intent(inout) :: x
        integer, intent(in) :: n, cols
        real(kind(1d0)), intent(inout), asynchronous :: u(0:n + 1, 0:cols + 1)
        integer :: ierr
        call MPI_Irecv(u(1, 0), n, MPI_DOUBLE_PRECISION, x%left, 0, MPI_COMM_WORLD, x%requests(1), ierr)
        call MPI_Irecv(u(1, cols + 1), n, MPI_DOUBLE_PRECISION, x%right, 0, MPI_COMM_WORLD, x%requests(2), ierr)
        call MPI_Isend(u(1, 1), n, MPI_DOUBLE_PRECISION, x%left, 0, MPI_COMM_WORLD, x%requests(3), ierr)
        call MPI_Isend(u(1, cols), n, MPI_DOUBLE_PRECISION, x%right, 0, MPI_COMM_WORLD, x%requests(4), ierr)
    end subroutine start

    subroutine finish(x)
        type(exchange), intent(inout) :: x
        integer :: ierr, statuses(MPI_STATUS_SIZE, 4)
        call MPI_Waitall(4, x%requests, statuses, ierr)
    end subroutine finish

end module halo

program jacobi
    use mpi
    use halo
    implicit none
    integer, parameter :: n = 62, sweeps_max = 2000, every = 50
    real(kind(1d0)), parameter :: tolerance = 5d-3
    real(kind(1d0)), allocatable :: u(:, :), next(:, :), all(:, :)
    real(kind(1d0)) :: change, largest, began
    integer, allocatable :: counts(:), displs(:)
    integer :: rank, nprocs, cols, sweep, i, j, ierr
    type(exchange) :: x

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, nprocs, ierr)
    began = MPI_Wtime()
    if (rank > 0) x%left = rank - 1
    if (rank < nprocs - 1) x%right = rank + 1
    cols = n / nprocs + merge(1, 0, rank < mod(n, nprocs))
    allocate (u(0:n + 1, 0:cols + 1), source=0d0)
    u(0, :) = 100d0
    allocate (next, source=u)

    do sweep = 1, sweeps_max
        call start(x, u, n, cols)
        call relax(2, cols - 1) ! what needs no neighbour
        call finish(x)
        call relax(1, 1)
        if (cols > 1) call relax(cols, cols)
        if (mod(sweep, every) == 0) then
            change = maxval(abs(next(1:n, 1:cols) - u(1:n, 1:cols)))
            call MPI_Allreduce(change, largest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
        else
            largest = huge(largest)
        end if
        u(1:n, 1:cols) = next(1:n, 1:cols)
        if (largest < tolerance) exit
    end do

    ! The whole field to rank 0, so that its sum does not depend on the number of processes.
    allocate (counts(nprocs), displs(nprocs), all(n, n))
    call MPI_Gather(n * cols, 1, MPI_INTEGER, counts, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    displs(1) = 0
    if (rank == 0) displs(2:) = [(sum(counts(1:i)), i=1, nprocs - 1)]
    next(1:n, 1:cols) = u(1:n, 1:cols)
    call MPI_Gatherv(next(1:n, 1:cols), n * cols, MPI_DOUBLE_PRECISION, all, counts, displs, &
                     MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)
    if (rank == 0) then
        print '(a,i0)', 'sweeps ', min(sweep, sweeps_max)
        print '(a,es22.15)', 'change ', largest
        print '(a,es22.15)', 'middle ', all(n / 2, n / 2)
        print '(a,es22.15)', 'sum ', sum(all)
        print '(a,f0.3,a)', 'time ', MPI_Wtime() - began, ' s'
    end if
    call MPI_Finalize(ierr)

contains

    !> One sweep over columns from .. to.
    subroutine relax(from, to)
        integer, intent(in) :: from, to
        do j = from, to
            do i = 1, n
                next(i, j) = 0.25d0 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1))
            end do
        end do
    end subroutine relax

end program jacobi
