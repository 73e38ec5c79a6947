! SPDX-License-Identifier: BSD-3-Clause
! script.md with the modern module.
program api_modern
    use waitio
    implicit none
    integer :: bad = 0, me, n
    type(waitio_group) :: world

    call waitio_init(timeout=60)
    call waitio_group_universe(world)
    call waitio_group_rank(world, me)
    call waitio_group_size(world, n)
    call exchange()
    call reductions()
    call gathers()
    call waitio_barrier(world)
    call groups()
    call mistakes()
    call waitio_finalize()
    if (bad /= 0) error stop 1
    print '(a)', 'ok'

contains

    subroutine expect(ok, what)
        logical, intent(in) :: ok
        character(len=*), intent(in) :: what
        if (ok) return
        bad = bad + 1
        write (0, *) 'api_modern: ', what, ' is wrong'
    end subroutine expect

    subroutine exchange()
        real(8), asynchronous :: in(100, 0:n - 1), out(100, 0:n - 1)
        integer, asynchronous :: mine, theirs
        type(waitio_request) :: req(2 * n), one
        type(waitio_status) :: sta(2 * n), st
        integer :: r, i, k, left, flag
        k = 0
        do r = 0, n - 1
            if (r == me) cycle
            k = k + 1
            call waitio_irecv(world, r, in(:, r), 10 + r, req(k))
        end do
        do r = 0, n - 1
            out(:, r) = [(1000 * me + r + (i - 1) / 1024d0, i=1, 100)]
            if (r == me) cycle
            k = k + 1
            call waitio_isend(world, r, out(:, r), 10 + me, req(k))
        end do
        call waitio_waitall(req(:k), sta)
        k = 0
        do r = 0, n - 1
            if (r == me) cycle
            k = k + 1
            call expect(sta(k)%source == r .and. sta(k)%tag == 10 + r .and. sta(k)%bytes == 800, &
                        'status')
            call expect(all(in(:, r) == [(1000 * r + me + (i - 1) / 1024d0, i=1, 100)]), 'doubles')
        end do
        left = mod(me + n - 1, n)
        mine = me * me
        theirs = -1
        call waitio_isend(world, mod(me + 1, n), mine, 0, one)
        call waitio_wait(one)
        call waitio_probe(world, left, WAITIO_ANY_TAG, st)
        call expect(st%bytes == 4 .and. st%tag == 0 .and. st%source == left, 'probed status')
        call waitio_recv(world, left, theirs, 0, st)
        call expect(theirs == left * left, 'ring value')
        call waitio_iprobe(world, left, 99, flag)
        call expect(flag == 0, 'iprobe')
        call waitio_wait(one) ! null by now
    end subroutine exchange

    subroutine reductions()
        integer :: seven(7), three(3), most(3), i, r
        real(8) :: five(5), total(5)
        real(4) :: q(3), qsum(3)
        seven = -1
        if (me == n - 1) seven = [(3 * i + 1, i=0, 6)]
        call waitio_bcast(seven, n - 1, world)
        call expect(all(seven == [(3 * i + 1, i=0, 6)]), 'bcast')
        five = [(me + i, i=0, 4)]
        call waitio_reduce(five, total, WAITIO_SUM, mod(1, n), world)
        if (me == mod(1, n)) call expect(all(total == [(n * (n - 1) / 2 + n * i, i=0, 4)]), 'reduce')
        three = [(mod(me * 7, 5) + i, i=0, 2)]
        q = [(me + i / 4.0, i=0, 2)]
        call waitio_allreduce(three, most, WAITIO_MAX, world)
        call waitio_allreduce(q, qsum, WAITIO_SUM, world)
        call expect(all(most == [(maxval([(mod(r * 7, 5), r=0, n - 1)]) + i, i=0, 2)]), 'maximum')
        call expect(all(qsum == [(n * (n - 1) / 2 + n * i / 4.0, i=0, 2)]), 'sum of reals')
    end subroutine reductions

    subroutine gathers()
        use waitio_mpif90, only: WAITIO_MPI_INTEGER, WAITIO_MPI_DOUBLE, WAITIO_MPI_Comm, &
            WMPI_Create_universe, WAITIO_MPI_Scatter, WAITIO_MPI_Scatterv, WAITIO_MPI_Gatherv
        integer :: mine(2), everything(0:3 * n - 1), counts(0:n - 1), displs(0:n - 1), part(3), r, i
        real(8) :: whole(0:3 * n - 1), third(3)
        type(WAITIO_MPI_Comm) :: comm
        mine = [10 * me, 10 * me + 1]
        call waitio_gather(mine, everything, 0, world)
        if (me == 0) call expect(all(everything(:2 * n - 1) == [((10 * r + i, i=0, 1), r=0, n - 1)]), &
                                 'gather')
        call waitio_allgather(mine, everything, world)
        call expect(all(everything(:2 * n - 1) == [((10 * r + i, i=0, 1), r=0, n - 1)]), 'allgather')
        ! The rest of the script by the other module: both work side by side on one universe.
        call WMPI_Create_universe(comm)
        whole = [(i / 2d0, i=0, 3 * n - 1)]
        call WAITIO_MPI_Scatter(whole, 3, WAITIO_MPI_DOUBLE, third, 3, WAITIO_MPI_DOUBLE, 0, comm)
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
        type(waitio_group) :: heads, mine, other
        integer :: npb, pbid, rank, size, total, place, pb, pb_rank
        integer, allocatable :: nprocs(:), order(:)
        call waitio_pb_size(npb)
        call waitio_pb_rank(pbid)
        allocate (nprocs(npb), order(npb))
        call waitio_get_nprocs(nprocs)
        call expect(sum(nprocs) == n, 'sum of processes')
        call waitio_group_pbheads(heads)
        call waitio_group_rank(heads, rank)
        if (rank >= 0) then
            call waitio_allreduce(pbid, total, WAITIO_SUM, heads)
            call expect(total == npb * (npb - 1) / 2, 'sum over the heads')
        end if
        call waitio_group_pb(mine, pbid)
        call waitio_group_size(mine, size)
        call waitio_allreduce(1, total, WAITIO_SUM, mine)
        call expect(total == size .and. size == nprocs(pbid + 1), 'sum over the PB')
        call waitio_group_locate(world, me, pb, pb_rank)
        call waitio_group_find(world, pb, pb_rank, place)
        call expect(pb == pbid .and. place == me, 'place')
        order = [(npb - rank, rank=0, npb - 1)]
        call waitio_create_group(other, head, order, gid=3)
        call waitio_group_size(other, size)
        call expect(size == npb, 'group by filter')
        call waitio_group_free(other)
    end subroutine groups

    integer(c_int) function head(pbid, n) bind(c)
        use, intrinsic :: iso_c_binding, only: c_int
        integer(c_int), value :: pbid, n
        head = merge(1, 0, n == 0 .and. pbid >= 0)
    end function head

    ! A buffer that is not contiguous is refused, never copied behind the caller's back.
    subroutine mistakes()
        real(8), asynchronous :: a(4, 4)
        type(waitio_request) :: req
        integer :: ierr
        a = 0
        call waitio_irecv(world, me, a(2, :), 7, req, ierr)
        call expect(ierr == WAITIO_ERR_ARG, 'refusal of a strided receive buffer')
        call waitio_isend(world, me, a(1:4:2, 1), 7, req, ierr)
        call expect(ierr == WAITIO_ERR_ARG, 'refusal of a strided send buffer')
        call waitio_isend(world, me, a(:, 2:3), 7, req, ierr)
        call expect(ierr == 0, 'sending two columns')
        call waitio_recv(world, me, a(:, 1:2), 7, ierr=ierr)
        call expect(ierr == 0, 'receiving two columns')
        call waitio_wait(req)
        call waitio_isend(world, n, a, 7, req, ierr)
        call expect(ierr == WAITIO_ERR_RANK, 'a rank out of range')
        call expect(len(waitio_strerror(ierr)) > 5, 'text of an error')
        call waitio_trace_begin('mistakes')
        call waitio_trace_end('mistakes', ierr)
        call expect(ierr == 0, 'a phase')
        call waitio_trace_begin('   ', ierr)
        call expect(ierr == WAITIO_ERR_ARG, 'a phase without a name')
    end subroutine mistakes
end program api_modern
