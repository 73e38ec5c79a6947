! SPDX-License-Identifier: BSD-3-Clause
! What a Fortran MPI program uses beyond the old published calls: in-place arguments, ignored
! statuses, derived types, operators of its own, communicators, and started collectives.
module checks
    implicit none
    integer :: failures = 0, me = 0, n = 0
contains
    subroutine expect(good, what)
        logical, intent(in) :: good
        character(*), intent(in) :: what
        if (good) return
        print '(a,i0,2a)', 'mpi_style: rank ', me, ': ', what
        failures = failures + 1
    end subroutine expect

    ! inout = in * 2 + inout: neither commutes nor associates; used on two operands only.
    subroutine twice_plus(in, inout, length, type)
        integer, intent(in) :: length, type, in(length)
        integer, intent(inout) :: inout(length)
        inout = 2 * in + inout + 0 * type
    end subroutine twice_plus
end module checks

program mpi_style
    use checks
    implicit none
    include 'waitio_mpif.h'
    external :: waitio_mpi_init, waitio_mpi_comm_rank, waitio_mpi_comm_size, waitio_mpi_finalize
    integer :: ierr

    call waitio_mpi_init(ierr)
    call waitio_mpi_comm_rank(WAITIO_MPI_COMM_WORLD, me, ierr)
    call waitio_mpi_comm_size(WAITIO_MPI_COMM_WORLD, n, ierr)
    call in_place
    call types
    call old_addresses
    call operators
    call communicators
    call started
    call others
    call waitio_mpi_finalize(ierr)
    if (failures == 0) print '(a)', 'ok'
    if (failures /= 0) error stop 1

contains

    subroutine in_place
        integer :: x(3), all(64), i
        real(8) :: y

        x = [1, me, -me]
        call WAITIO_MPI_ALLREDUCE(WAITIO_MPI_IN_PLACE, x, 3, WAITIO_MPI_INTEGER, WAITIO_MPI_SUM, &
            WAITIO_MPI_COMM_WORLD, ierr)
        call expect(all_equal(x, [n, n * (n - 1) / 2, -n * (n - 1) / 2]), 'allreduce in place')
        all = -1
        all(me + 1) = 10 * me
        call WAITIO_MPI_ALLGATHER_FULL(WAITIO_MPI_IN_PLACE, 0, WAITIO_MPI_DATATYPE_NULL, all, 1, &
            WAITIO_MPI_INTEGER, WAITIO_MPI_COMM_WORLD, ierr)
        call expect(all_equal(all(:n), [(10 * i, i=0, n - 1)]), 'allgather in place')
        y = me + 0.5d0
        if (me == n - 1) then
            call WAITIO_MPI_REDUCE(WAITIO_MPI_IN_PLACE, y, 1, WAITIO_MPI_DOUBLE_PRECISION, &
                WAITIO_MPI_MAX, n - 1, WAITIO_MPI_COMM_WORLD, ierr)
            call expect(y == n - 0.5d0, 'reduce in place')
        else
            call WAITIO_MPI_REDUCE(y, x, 1, WAITIO_MPI_DOUBLE_PRECISION, WAITIO_MPI_MAX, n - 1, &
                WAITIO_MPI_COMM_WORLD, ierr)
        end if
        x(1) = me
        call WAITIO_MPI_SENDRECV(x(1), 1, WAITIO_MPI_INTEGER, modulo(me + 1, n), 1, x(2), 1, &
            WAITIO_MPI_INTEGER, modulo(me - 1, n), 1, WAITIO_MPI_COMM_WORLD, &
            WAITIO_MPI_STATUS_IGNORE, ierr)
        call expect(x(2) == modulo(me - 1, n), 'ignored status')
    end subroutine in_place

    subroutine types
        integer, parameter :: rows = 6, columns = 8
        integer(WAITIO_MPI_ADDRESS_KIND) :: lb, extent, places(2)
        real(8) :: a(rows, columns), b(rows, columns)
        integer :: row, block, pair, count, size, sta(WAITIO_STATUS_SIZE), i, j, req(22, 2)
        type :: particle
            sequence
            integer :: id
            real(8) :: x(3)
        end type particle
        type(particle) :: p, q

        do j = 1, columns
            do i = 1, rows
                a(i, j) = 1000 * me + 10 * i + j
            end do
        end do
        call WAITIO_MPI_TYPE_VECTOR(columns, 1, rows, WAITIO_MPI_DOUBLE_PRECISION, row, ierr)
        call WAITIO_MPI_TYPE_COMMIT(row, ierr)
        call WAITIO_MPI_TYPE_SIZE(row, size, ierr)
        call WAITIO_MPI_TYPE_GET_EXTENT(row, lb, extent, ierr)
        call expect(size == 8 * columns .and. extent == 8 * (rows * (columns - 1) + 1), 'a row')
        b = 0
        call WAITIO_MPI_IRECV(b(3, 1), 1, row, modulo(me - 1, n), 7, WAITIO_MPI_COMM_WORLD, &
            req(1, 1), ierr)
        call WAITIO_MPI_ISEND(a(2, 1), 1, row, modulo(me + 1, n), 7, WAITIO_MPI_COMM_WORLD, &
            req(1, 2), ierr)
        call WAITIO_MPI_WAIT(req(1, 1), sta, ierr)
        call WAITIO_WAIT(req(1, 2), ierr) ! the old call completes it, too
        call WAITIO_MPI_GET_COUNT(sta, row, count, ierr)
        call expect(count == 1 .and. sta(WAITIO_MPI_SOURCE) == modulo(me - 1, n), 'status of a row')
        call expect(b(3, 5) == 1000 * modulo(me - 1, n) + 25 .and. b(2, 5) == 0, 'data of a row')
        call WAITIO_MPI_GET_ELEMENTS(sta, row, count, ierr)
        call expect(count == columns, 'elements of a row')
        call WAITIO_MPI_TYPE_CREATE_SUBARRAY(2, [rows, columns], [2, 3], [1, 2], &
            WAITIO_MPI_ORDER_FORTRAN, WAITIO_MPI_DOUBLE_PRECISION, block, ierr)
        call WAITIO_MPI_TYPE_COMMIT(block, ierr)
        b = 0
        if (me == 0) b = a
        call WAITIO_MPI_BCAST(b, 1, block, 0, WAITIO_MPI_COMM_WORLD, ierr)
        call expect(b(2, 3) == 23 .and. b(3, 5) == 35, 'subarray')
        call expect(me == 0 .or. b(1, 3) == 0, 'around a subarray')
        call WAITIO_MPI_GET_ADDRESS(p%id, places(1), ierr)
        call WAITIO_MPI_GET_ADDRESS(p%x, places(2), ierr)
        places = places - places(1)
        call WAITIO_MPI_TYPE_CREATE_STRUCT(2, [1, 3], places, [WAITIO_MPI_INTEGER, &
            WAITIO_MPI_DOUBLE_PRECISION], pair, ierr)
        call WAITIO_MPI_TYPE_COMMIT(pair, ierr)
        p = particle(me, [1d0, 2d0, 3d0] * me)
        call WAITIO_MPI_SENDRECV(p%id, 1, pair, modulo(me + 1, n), 8, q%id, 1, pair, &
            modulo(me - 1, n), 8, WAITIO_MPI_COMM_WORLD, WAITIO_MPI_STATUS_IGNORE, ierr)
        call expect(q%id == modulo(me - 1, n) .and. q%x(3) == 3d0 * q%id, 'a structure')
        call WAITIO_MPI_TYPE_FREE(row, ierr)
        call WAITIO_MPI_TYPE_FREE(block, ierr)
        call WAITIO_MPI_TYPE_FREE(pair, ierr)
        call expect(pair == WAITIO_MPI_DATATYPE_NULL, 'a freed type')
    end subroutine types

    ! Addresses in default integers, as MPI-1 had them: differences are right, wherever the data lies;
    ! an address that was cut is not taken for one.
    subroutine old_addresses
        integer :: first, second, third, pair, far
        real(8), allocatable :: x(:)

        allocate(x(100))
        call WAITIO_MPI_ADDRESS(x(1), first, ierr)
        call expect(ierr == 0, 'an address')
        call WAITIO_MPI_ADDRESS(x(11), second, ierr)
        call WAITIO_MPI_ADDRESS(x(100), third, ierr)
        call expect(second - first == 80 .and. third - first == 8 * 99, 'distances')
        call WAITIO_MPI_TYPE_STRUCT(2, [1, 2], [0, third - first - 8], [WAITIO_MPI_DOUBLE_PRECISION, &
            WAITIO_MPI_DOUBLE_PRECISION], pair, ierr)
        call WAITIO_MPI_TYPE_COMMIT(pair, ierr)
        x = me
        call WAITIO_MPI_BCAST(x, 1, pair, n - 1, WAITIO_MPI_COMM_WORLD, ierr)
        call expect(x(1) == n - 1 .and. x(2) == me .and. x(100) == n - 1, 'a structure of old')
        call WAITIO_MPI_TYPE_FREE(pair, ierr)
        if (loc(x) <= huge(first)) return
        call WAITIO_MPI_TYPE_STRUCT(1, [1], [modulo(first, 1000000) + 5000], &
            [WAITIO_MPI_DOUBLE_PRECISION], far, ierr)
        call WAITIO_MPI_TYPE_COMMIT(far, ierr)
        call WAITIO_MPI_COMM_SET_ERRHANDLER(WAITIO_MPI_COMM_WORLD, WAITIO_MPI_ERRORS_RETURN, ierr)
        call WAITIO_MPI_BCAST(WAITIO_MPI_BOTTOM, 1, far, 0, WAITIO_MPI_COMM_WORLD, ierr)
        call expect(ierr /= 0, 'an address that was cut')
        call WAITIO_MPI_COMM_SET_ERRHANDLER(WAITIO_MPI_COMM_WORLD, WAITIO_MPI_ERRORS_ARE_FATAL, ierr)
        call WAITIO_MPI_TYPE_FREE(far, ierr)
    end subroutine old_addresses

    subroutine operators
        integer :: op, x(4), y(4), place(2), k
        logical :: commutes
        real(8) :: best(2), found(2)

        call WAITIO_MPI_OP_CREATE(twice_plus, .false., op, ierr)
        call WAITIO_MPI_OP_COMMUTATIVE(op, commutes, ierr)
        call expect(.not. commutes, 'op_commutative')
        x = 5
        y = [1, 2, 3, 4]
        call WAITIO_MPI_REDUCE_LOCAL(x, y, 4, WAITIO_MPI_INTEGER, op, ierr)
        call expect(all_equal(y, [11, 12, 13, 14]), 'reduce_local')
        if (n == 2) then
            x = 10 + me
            call WAITIO_MPI_ALLREDUCE(x, y, 4, WAITIO_MPI_INTEGER, op, WAITIO_MPI_COMM_WORLD, ierr)
            call expect(all(y == 31), 'order of operands')
        end if
        call WAITIO_MPI_OP_FREE(op, ierr)
        best = [modulo(7 * me, 5) + 0d0, me + 0d0]
        call WAITIO_MPI_ALLREDUCE(best, found, 1, WAITIO_MPI_2DOUBLE_PRECISION, &
            WAITIO_MPI_MAXLOC, WAITIO_MPI_COMM_WORLD, ierr)
        call expect(found(1) == maxval([(modulo(7 * k, 5) + 0d0, k=0, n - 1)]) .and. &
            modulo(7 * nint(found(2)), 5) == nint(found(1)), 'maxloc')
        place = [me, me]
        call WAITIO_MPI_ALLREDUCE(place, x, 1, WAITIO_MPI_2INTEGER, WAITIO_MPI_MINLOC, &
            WAITIO_MPI_COMM_WORLD, ierr)
        call expect(all_equal(x(:2), [0, 0]), 'minloc')
    end subroutine operators

    subroutine communicators
        integer :: half, twin, group, part, other, rank, size, result, ranks(64), i

        call WAITIO_MPI_COMM_SPLIT(WAITIO_MPI_COMM_WORLD, modulo(me, 2), -me, half, ierr)
        call WAITIO_MPI_COMM_RANK(half, rank, ierr)
        call WAITIO_MPI_COMM_SIZE(half, size, ierr)
        call expect(rank == (n - 1 - me) / 2 .and. size == (n + 1 - modulo(me, 2)) / 2, 'split')
        call WAITIO_MPI_COMM_DUP(half, twin, ierr)
        call WAITIO_MPI_COMM_COMPARE(half, twin, result, ierr)
        call expect(result == WAITIO_MPI_CONGRUENT, 'compare')
        call WAITIO_MPI_COMM_FREE(half, ierr)
        call WAITIO_MPI_ALLREDUCE(1, size, 1, WAITIO_MPI_INTEGER, WAITIO_MPI_SUM, twin, ierr)
        call expect(size == (n + 1 - modulo(me, 2)) / 2, 'sum over a duplicate')
        call WAITIO_MPI_COMM_FREE(twin, ierr)
        call expect(twin == WAITIO_MPI_COMM_NULL, 'a freed communicator')
        call WAITIO_MPI_COMM_GROUP(WAITIO_MPI_COMM_WORLD, group, ierr)
        ranks(:n) = [(n - 1 - i, i=0, n - 1)]
        call WAITIO_MPI_GROUP_INCL(group, n, ranks, other, ierr)
        call WAITIO_MPI_GROUP_RANK(other, rank, ierr)
        call expect(rank == n - 1 - me, 'group_incl')
        call WAITIO_MPI_GROUP_TRANSLATE_RANKS(group, 1, [0], other, result, ierr)
        call expect(result == n - 1, 'translate_ranks')
        call WAITIO_MPI_COMM_CREATE(WAITIO_MPI_COMM_WORLD, other, part, ierr)
        call WAITIO_MPI_COMM_RANK(part, rank, ierr)
        call expect(rank == n - 1 - me, 'create')
        call WAITIO_MPI_COMM_FREE(part, ierr)
        call WAITIO_MPI_GROUP_FREE(group, ierr)
        call WAITIO_MPI_GROUP_FREE(other, ierr)
        call WAITIO_MPI_COMM_SPLIT(WAITIO_MPI_COMM_WORLD, WAITIO_MPI_UNDEFINED, 0, part, ierr)
        call expect(part == WAITIO_MPI_COMM_NULL, 'no communicator')
    end subroutine communicators

    subroutine started
        integer :: req(WAITIO_REQUEST_SIZE, 4), x(4), root, k, indices(4), done, left
        integer :: sums(4), gathered(64), sta(WAITIO_STATUS_SIZE, 4)
        logical :: flag

        x = me
        root = 7
        call WAITIO_MPI_IALLREDUCE(x, sums, 4, WAITIO_MPI_INTEGER, WAITIO_MPI_SUM, &
            WAITIO_MPI_COMM_WORLD, req(1, 1), ierr)
        call WAITIO_MPI_IBCAST(root, 1, WAITIO_MPI_INTEGER, 0, WAITIO_MPI_COMM_WORLD, req(1, 2), &
            ierr)
        call WAITIO_MPI_IGATHER(me, 1, WAITIO_MPI_INTEGER, gathered, 1, WAITIO_MPI_INTEGER, 0, &
            WAITIO_MPI_COMM_WORLD, req(1, 3), ierr)
        call WAITIO_MPI_IBARRIER(WAITIO_MPI_COMM_WORLD, req(1, 4), ierr)
        left = 4
        do while (left > 0)
            call WAITIO_MPI_WAITSOME(4, req, done, indices, WAITIO_MPI_STATUSES_IGNORE, ierr)
            left = left - done
        end do
        call expect(all(sums == n * (n - 1) / 2) .and. root == 7, 'started collectives')
        if (me == 0) call expect(all_equal(gathered(:n), [(k, k=0, n - 1)]), 'igather')
        call WAITIO_MPI_IBARRIER(WAITIO_MPI_COMM_WORLD, req(1, 1), ierr)
        flag = .false.
        do while (.not. flag)
            call WAITIO_MPI_TEST(req(1, 1), flag, sta, ierr)
        end do
        call WAITIO_MPI_IBARRIER(WAITIO_MPI_COMM_WORLD, req(1, 1), ierr)
        call WAITIO_MPI_WAITANY(1, req, k, sta, ierr)
        call expect(k == 1, 'indices count from 1')
    end subroutine started

    subroutine others
        character(WAITIO_MPI_MAX_PROCESSOR_NAME) :: name
        character(20) :: packed
        integer :: length, position, x(2), sta(WAITIO_STATUS_SIZE), req(22), provided
        logical :: flag
        real(8) :: y

        call WAITIO_MPI_GET_PROCESSOR_NAME(name, length, ierr)
        call expect(length > 0 .and. len_trim(name) == length, 'processor name')
        position = 0
        call WAITIO_MPI_PACK([1, 2], 2, WAITIO_MPI_INTEGER, packed, 20, position, &
            WAITIO_MPI_COMM_WORLD, ierr)
        call WAITIO_MPI_PACK(2.5d0, 1, WAITIO_MPI_DOUBLE_PRECISION, packed, 20, position, &
            WAITIO_MPI_COMM_WORLD, ierr)
        call expect(position == 16, 'pack')
        position = 0
        call WAITIO_MPI_UNPACK(packed, 20, position, x, 2, WAITIO_MPI_INTEGER, &
            WAITIO_MPI_COMM_WORLD, ierr)
        call WAITIO_MPI_UNPACK(packed, 20, position, y, 1, WAITIO_MPI_DOUBLE_PRECISION, &
            WAITIO_MPI_COMM_WORLD, ierr)
        call expect(all_equal(x, [1, 2]) .and. y == 2.5d0, 'unpack')
        call WAITIO_MPI_IRECV(x, 2, WAITIO_MPI_INTEGER, me, 99, WAITIO_MPI_COMM_WORLD, req, ierr)
        call WAITIO_MPI_CANCEL(req, ierr)
        call WAITIO_MPI_WAIT(req, sta, ierr)
        call WAITIO_MPI_TEST_CANCELLED(sta, flag, ierr)
        call expect(flag, 'test_cancelled')
        call WAITIO_MPI_INITIALIZED(flag, ierr)
        call expect(flag, 'initialized')
        call WAITIO_MPI_FINALIZED(flag, ierr)
        call expect(.not. flag, 'finalized')
        call WAITIO_MPI_INIT_THREAD(WAITIO_MPI_THREAD_SINGLE, provided, ierr)
        call expect(provided == WAITIO_MPI_THREAD_MULTIPLE, 'init_thread')
    end subroutine others

    logical function all_equal(a, b)
        integer, intent(in) :: a(:), b(:)
        all_equal = size(a) == size(b)
        if (all_equal) all_equal = all(a == b)
    end function all_equal
end program mpi_style
