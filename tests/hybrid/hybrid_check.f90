! SPDX-License-Identifier: BSD-3-Clause
! What the Fortran programs of this folder do with a hybrid communicator, by its number: each member
! finds its rank, collectives give their results, and messages go to every other member.
subroutine check(comm, me, n, bad)
    implicit none
    include 'waitio_mpif.h'
    integer, intent(inout) :: comm
    integer, intent(in) :: me, n
    integer, intent(inout) :: bad
    external :: waitio_mpi_comm_rank, waitio_mpi_comm_size, waitio_mpi_bcast, waitio_mpi_allreduce, &
        waitio_mpi_scan, waitio_mpi_gather_full, waitio_mpi_irecv, waitio_mpi_send, waitio_mpi_waitall, &
        waitio_mpi_comm_split, waitio_mpi_comm_free
    integer, parameter :: LONG = 100000
    real(8), allocatable :: field(:)
    integer :: got, r, i, ierr, half, requests(WAITIO_REQUEST_SIZE, n), all(0:n - 1), from(0:n - 1)

    call waitio_mpi_comm_rank(comm, got, ierr)
    call expect(got == me, 'rank')
    call waitio_mpi_comm_size(comm, got, ierr)
    call expect(got == n, 'size')
    allocate (field(LONG))
    do r = 0, n - 1
        field = merge(1, 0, me == r) * [(r + i / 1024d0, i=1, LONG)]
        call waitio_mpi_bcast(field, LONG, WAITIO_MPI_DOUBLE_PRECISION, r, comm, ierr)
        call expect(all_of(field, r), 'bcast')
    end do
    call waitio_mpi_allreduce(me + 1, got, 1, WAITIO_MPI_INTEGER, WAITIO_MPI_SUM, comm, ierr)
    call expect(got == n * (n + 1) / 2, 'allreduce')
    call waitio_mpi_scan(me + 1, got, 1, WAITIO_MPI_INTEGER, WAITIO_MPI_SUM, comm, ierr)
    call expect(got == (me + 1) * (me + 2) / 2, 'scan')
    all = -1
    call waitio_mpi_gather_full(me, 1, WAITIO_MPI_INTEGER, all, 1, WAITIO_MPI_INTEGER, n - 1, comm, ierr)
    if (me == n - 1) then
        call expect(sum(abs(all - [(r, r=0, n - 1)])) == 0, 'gather')
    end if
    do r = 0, n - 1
        call waitio_mpi_irecv(from(r), 1, WAITIO_MPI_INTEGER, r, 7, comm, requests(1, r + 1), ierr)
    end do
    do r = 0, n - 1
        call waitio_mpi_send(100 * me + r, 1, WAITIO_MPI_INTEGER, r, 7, comm, ierr)
    end do
    call waitio_mpi_waitall(n, requests, WAITIO_MPI_STATUSES_IGNORE, ierr)
    call expect(sum(abs(from - [(100 * r + me, r=0, n - 1)])) == 0, 'messages')
    call waitio_mpi_comm_split(comm, mod(me, 2), -me, half, ierr)
    call waitio_mpi_allreduce(me, got, 1, WAITIO_MPI_INTEGER, WAITIO_MPI_MAX, half, ierr)
    call expect(got == n - 1 - mod(n - 1 - me, 2), 'split')
    call waitio_mpi_comm_free(half, ierr)
    call waitio_mpi_comm_free(comm, ierr)

contains

    subroutine expect(good, what)
        logical, intent(in) :: good
        character(*), intent(in) :: what
        if (good) return
        print '(a,i0,2a)', 'rank ', me, ': wrong ', what
        bad = bad + 1
    end subroutine expect

    logical function all_of(values, root)
        real(8), intent(in) :: values(:)
        integer, intent(in) :: root
        integer :: k
        all_of = all_true([(abs(values(k) - root - k / 1024d0) <= 0, k=1, size(values))])
    end function all_of

    logical function all_true(flags)
        logical, intent(in) :: flags(:)
        all_true = count(flags) == size(flags)
    end function all_true
end subroutine check
