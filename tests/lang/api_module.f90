! SPDX-License-Identifier: BSD-3-Clause
! script.md with module waitio_mpif90, built twice: with a module as existing programs bring it
! (existing_mpif90.f90), and with the one we ship. ierr is left out wherever that is possible.
program api_module
    use waitio_mpif90
    implicit none
    integer :: bad = 0, me, n, npb, pbid, ierr
    type(WAITIO_MPI_Comm) :: comm

    call WMPI_Init(ierr)
    call WMPI_Create_universe(comm)
    call WAITIO_MPI_Comm_rank(comm, me, ierr)
    call WAITIO_MPI_Comm_size(comm, n)
    call exchange()
    call reductions()
    call gathers()
    call WAITIO_MPI_Barrier(comm)
    call groups()
    if (bad /= 0) stop 1
    print '(a)', 'ok'

contains

    subroutine expect(ok, what)
        logical, intent(in) :: ok
        character(len=*), intent(in) :: what
        if (ok) return
        bad = bad + 1
        write (0, *) 'api_module: ', what, ' is wrong'
    end subroutine expect

    subroutine exchange()
        real(8), asynchronous :: in(100, 0:n - 1), out(100, 0:n - 1)
        integer, asynchronous :: mine, theirs
        type(WAITIO_MPI_Request) :: req(2 * n)
        integer :: sta(WAITIO_STATUS_SIZE, 2 * n), r, i, k, left
        k = 0
        do r = 0, n - 1
            if (r == me) cycle
            k = k + 1
            call WAITIO_MPI_Irecv(in(:, r), 100, WAITIO_MPI_DOUBLE_PRECISION, r, 10 + r, comm, req(k))
        end do
        do r = 0, n - 1
            out(:, r) = [(1000 * me + r + (i - 1) / 1024d0, i=1, 100)]
            if (r == me) cycle
            k = k + 1
            call WAITIO_MPI_Isend(out(1, r), 100, WAITIO_MPI_DOUBLE_PRECISION, r, 10 + me, comm, &
                                  req(k), ierr)
        end do
        call WAITIO_MPI_Waitall(k, req, sta)
        k = 0
        do r = 0, n - 1
            if (r == me) cycle
            k = k + 1
            call expect(sta(1, k) == r .and. sta(2, k) == 10 + r, 'status')
            call expect(all(in(:, r) == [(1000 * r + me + (i - 1) / 1024d0, i=1, 100)]), 'doubles')
        end do
        left = mod(me + n - 1, n)
        mine = me * me
        theirs = -1
        call WAITIO_MPI_Isend(mine, 1, WAITIO_MPI_INTEGER, mod(me + 1, n), 0, comm, req(1))
        call WAITIO_MPI_Wait(req(1))
        call WAITIO_MPI_Irecv(theirs, 1, WAITIO_MPI_INTEGER, left, 0, comm, req(1))
        call WAITIO_MPI_Wait(req(1), ierr)
        call expect(theirs == left * left, 'ring value')
    end subroutine exchange

    subroutine reductions()
        integer :: seven(7), three(3), most(3), i, r
        real(8) :: five(5), total(5)
        real(4) :: q(3), qsum(3)
        seven = -1
        if (me == n - 1) seven = [(3 * i + 1, i=0, 6)]
        call WAITIO_MPI_Bcast(seven, 7, WAITIO_MPI_INTEGER, n - 1, comm)
        call expect(all(seven == [(3 * i + 1, i=0, 6)]), 'bcast')
        five = [(me + i, i=0, 4)]
        call WAITIO_MPI_Reduce(five, total, 5, WAITIO_MPI_DOUBLE_PRECISION, WAITIO_MPI_SUM, &
                               mod(1, n), comm)
        if (me == mod(1, n)) call expect(all(total == [(n * (n - 1) / 2 + n * i, i=0, 4)]), 'reduce')
        three = [(mod(me * 7, 5) + i, i=0, 2)]
        q = [(me + i / 4.0, i=0, 2)]
        call WAITIO_MPI_Allreduce(three, most, 3, WAITIO_MPI_INTEGER, WAITIO_MPI_MAX, comm)
        call WAITIO_MPI_Allreduce(q, qsum, 3, WAITIO_MPI_FLOAT, WAITIO_MPI_SUM, comm, ierr)
        call expect(all(most == [(maxval([(mod(r * 7, 5), r=0, n - 1)]) + i, i=0, 2)]), 'maximum')
        call expect(all(qsum == [(n * (n - 1) / 2 + n * i / 4.0, i=0, 2)]), 'sum of reals')
    end subroutine reductions

    subroutine gathers()
        integer :: mine(2), everything(0:3 * n - 1), counts(0:n - 1), displs(0:n - 1), part(3), r, i
        real(8) :: whole(0:3 * n - 1), third(3)
        mine = [10 * me, 10 * me + 1]
        call WAITIO_MPI_Gather(mine, everything, 2, WAITIO_MPI_INTEGER, 0, comm)
        if (me == 0) call expect(all(everything(:2 * n - 1) == [((10 * r + i, i=0, 1), r=0, n - 1)]), &
                                 'gather')
        call WAITIO_MPI_Allgather(mine, everything, 2, WAITIO_MPI_INTEGER, comm)
        call expect(all(everything(:2 * n - 1) == [((10 * r + i, i=0, 1), r=0, n - 1)]), 'allgather')
        whole = [(i / 2d0, i=0, 3 * n - 1)]
        call WAITIO_MPI_Scatter(whole, 3, WAITIO_MPI_DOUBLE_PRECISION, third, 3, &
                                WAITIO_MPI_DOUBLE_PRECISION, 0, comm)
        call expect(all(third == [((3 * me + i) / 2d0, i=0, 2)]), 'scatter')
        counts = [(mod(r, 3), r=0, n - 1)]
        displs = [(3 * r, r=0, n - 1)]
        everything = [(i, i=0, 3 * n - 1)]
        call WAITIO_MPI_Scatterv(everything, counts, displs, WAITIO_MPI_INTEGER, part, mod(me, 3), &
                                 WAITIO_MPI_INTEGER, 0, comm)
        do i = 1, mod(me, 3)
            call expect(part(i) == 3 * me + i - 1, 'scatterv')
            part(i) = 100 * me + i - 1
        end do
        call WAITIO_MPI_Gatherv(part, mod(me, 3), WAITIO_MPI_INTEGER, everything, counts, displs, &
                                WAITIO_MPI_INTEGER, 0, comm)
        do r = 0, n - 1
            if (me == 0) call expect(all(everything(3 * r:3 * r + counts(r) - 1) == &
                                         [(100 * r + i, i=0, counts(r) - 1)]), 'gatherv')
        end do
    end subroutine gathers

    subroutine groups()
        type(WAITIO_MPI_Comm) :: heads, mine
        integer :: rank, size, total
        call waitio_pb_size(npb, ierr)
        call waitio_pb_rank(pbid, ierr)
        call waitio_create_universe_pbhead(heads, ierr)
        call WAITIO_MPI_Comm_rank(heads, rank)
        if (rank >= 0) then
            call WAITIO_MPI_Allreduce(pbid, total, 1, WAITIO_MPI_INTEGER, WAITIO_MPI_SUM, heads)
            call expect(total == npb * (npb - 1) / 2, 'sum over the heads')
        end if
        call WMPI_Create_pbgroup(mine, pbid)
        call WAITIO_MPI_Comm_size(mine, size)
        call WAITIO_MPI_Allreduce(1, total, 1, WAITIO_MPI_INTEGER, WAITIO_MPI_SUM, mine)
        call expect(total == size, 'sum over the PB')
    end subroutine groups
end program api_module
