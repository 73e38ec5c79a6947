! SPDX-License-Identifier: BSD-3-Clause
!> What MPI programs do with requests, which are single integers in MPI: thousands at a time, compare,
!> copy, wait for any, some, all, start again. Plain MPI; built with an MPI it prints the same.
program rename_requests
    use mpi
    implicit none
    integer, parameter :: many = 3000
    integer :: me, n, next, before, ierr, i, k, index, done, failures = 0
    integer :: requests(2 * many), st(MPI_STATUS_SIZE), all(MPI_STATUS_SIZE, 2 * many), indices(8)
    integer :: out(many), in(many), few(8), total, mine
    logical :: flag
    double precision :: began

    call MPI_Init(ierr)
    began = MPI_Wtime()
    call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
    next = mod(me + 1, n)
    before = mod(me + n - 1, n)

    ! More than the first table holds, and numbers used again.
    do k = 1, 3
        in = -1
        do i = 1, many
            out(i) = 10 * i + me + k
            call MPI_Irecv(in(i), 1, MPI_INTEGER, before, i, MPI_COMM_WORLD, requests(i), ierr)
        end do
        do i = 1, many
            call MPI_Isend(out(i), 1, MPI_INTEGER, next, i, MPI_COMM_WORLD, requests(many + i), ierr)
        end do
        call expect(all_different(requests(:many)), 'requests alike')
        call MPI_Waitall(2 * many, requests, all, ierr)
        call expect(.not. any(requests /= MPI_REQUEST_NULL), 'waitall leaves null requests')
        call expect(all(MPI_SOURCE, many) == before .and. all(MPI_TAG, many) == many, 'statuses')
        call expect(in(1) == 10 + before + k .and. in(many) == 10 * many + before + k, 'numbers')
    end do

    ! One at a time, in any order; null requests in between do no harm.
    few = MPI_REQUEST_NULL
    do i = 1, 7, 2
        call MPI_Irecv(in(i), 1, MPI_INTEGER, before, i, MPI_COMM_WORLD, few(i), ierr)
        call MPI_Isend(out(i), 1, MPI_INTEGER, next, i, MPI_COMM_WORLD, requests(i), ierr)
    end do
    call MPI_Waitany(8, few, index, st, ierr)
    call expect(mod(index, 2) == 1 .and. st(MPI_TAG) == index, 'waitany')
    call expect(few(index) == MPI_REQUEST_NULL, 'waitany ends one')
    total = 1
    do while (total < 4)
        call MPI_Waitsome(8, few, done, indices, all, ierr)
        total = total + done
    end do
    call MPI_Waitsome(8, few, done, indices, all, ierr)
    call expect(done == MPI_UNDEFINED, 'waitsome of nothing')
    call MPI_Testany(8, few, index, flag, st, ierr)
    call expect(flag .and. index == MPI_UNDEFINED, 'testany of nothing')
    call MPI_Testsome(8, few, done, indices, MPI_STATUSES_IGNORE, ierr)
    call expect(done == MPI_UNDEFINED, 'testsome of nothing')
    do i = 1, 7, 2
        call MPI_Wait(requests(i), MPI_STATUS_IGNORE, ierr)
    end do

    ! Persistent ones keep their number; copies name the same operation.
    call MPI_Send_init(out, many, MPI_INTEGER, next, 5, MPI_COMM_WORLD, few(1), ierr)
    call MPI_Recv_init(in, many, MPI_INTEGER, before, 5, MPI_COMM_WORLD, few(2), ierr)
    few(3:4) = few(1:2)
    do k = 1, 5
        out = k * (me + 1)
        call MPI_Startall(2, few, ierr)
        flag = .false.
        do while (.not. flag)
            call MPI_Testall(2, few(3:4), flag, all, ierr)
        end do
        call expect(in(many) == k * (before + 1), 'persistent')
        call expect(few(1) /= MPI_REQUEST_NULL .and. few(1) == few(3), 'persistent requests stay')
    end do
    call MPI_Start(few(1), ierr)
    call MPI_Start(few(2), ierr)
    call MPI_Wait(few(1), MPI_STATUS_IGNORE, ierr)
    call MPI_Wait(few(2), MPI_STATUS_IGNORE, ierr)
    call MPI_Request_free(few(1), ierr)
    call MPI_Request_free(few(2), ierr)
    call expect(few(1) == MPI_REQUEST_NULL .and. few(2) == MPI_REQUEST_NULL, 'free')

    ! A receive that is withdrawn, collectives started, in place, a type, an operator.
    call MPI_Irecv(in, 1, MPI_INTEGER, before, 99, MPI_COMM_WORLD, few(1), ierr)
    call MPI_Cancel(few(1), ierr)
    call MPI_Wait(few(1), st, ierr)
    call MPI_Test_cancelled(st, flag, ierr)
    call expect(flag, 'cancel')
    mine = me + 1
    call MPI_Iallreduce(MPI_IN_PLACE, mine, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, few(1), ierr)
    call MPI_Ibarrier(MPI_COMM_WORLD, few(2), ierr)
    flag = .false.
    do while (.not. flag)
        call MPI_Test(few(1), flag, st, ierr)
    end do
    call MPI_Wait(few(2), MPI_STATUS_IGNORE, ierr)
    call expect(mine == n * (n + 1) / 2, 'allreduce in place')
    call others
    call expect(MPI_Wtime() >= began, 'wtime')
    call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierr)
    if (me == 0 .and. total == 0) print '(a)', 'all well'
    call MPI_Finalize(ierr)
    if (total > 0) stop 1

contains

    subroutine expect(good, what)
        logical, intent(in) :: good
        character(*), intent(in) :: what
        if (good) return
        print '(a,i0,2a)', 'rank ', me, ': ', what
        failures = failures + 1
    end subroutine expect

    logical function all_different(numbers)
        integer, intent(in) :: numbers(:)
        all_different = .true.
        do i = 2, size(numbers), 97
            all_different = all_different .and. .not. any(numbers(:i - 1) == numbers(i))
        end do
    end function all_different

    !> Types, operators, characters, logicals, communicators.
    subroutine others
        integer :: column, op, half, size_, length, version(2)
        double precision :: a(4, 4), b(4, 4)
        character(MPI_MAX_PROCESSOR_NAME) :: name
        logical :: set

        call MPI_Type_vector(4, 1, 4, MPI_DOUBLE_PRECISION, column, ierr)
        call MPI_Type_commit(column, ierr)
        a = me
        b = -1
        call MPI_Sendrecv(a(2, 1), 1, column, next, 3, b(3, 1), 1, column, before, 3, &
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
        call expect(all_equal(b(3, :), before) .and. all_equal(b(2, :), -1), 'rows of a matrix')
        call MPI_Type_free(column, ierr)
        call MPI_Op_create(larger, .true., op, ierr)
        call MPI_Allreduce(me, mine, 1, MPI_INTEGER, op, MPI_COMM_WORLD, ierr)
        call expect(mine == n - 1, 'own operator')
        call MPI_Op_free(op, ierr)
        call MPI_Comm_split(MPI_COMM_WORLD, mod(me, 2), me, half, ierr)
        call MPI_Comm_size(half, size_, ierr)
        call expect(size_ == (n + 1 - mod(me, 2)) / 2, 'split')
        call MPI_Comm_free(half, ierr)
        call expect(half == MPI_COMM_NULL, 'free communicator')
        call MPI_Get_processor_name(name, length, ierr)
        call expect(length > 0 .and. name(length + 1:) == '', 'processor name')
        call MPI_Initialized(set, ierr)
        call MPI_Get_version(version(1), version(2), ierr)
        call expect(set .and. version(1) == MPI_VERSION, 'questions')
        name = 'rank 0'
        if (me /= 0) name = ''
        call MPI_Bcast(name, len(name), MPI_CHARACTER, 0, MPI_COMM_WORLD, ierr)
        call expect(name == 'rank 0', 'characters')
        set = me == n - 1
        call MPI_Allreduce(MPI_IN_PLACE, set, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierr)
        call expect(set, 'logicals')
    end subroutine others

    logical function all_equal(x, k)
        double precision, intent(in) :: x(:)
        integer, intent(in) :: k
        all_equal = .not. any(nint(x) /= k)
    end function all_equal

    subroutine larger(given, inout, length, type)
        integer, intent(in) :: length, type, given(length)
        integer, intent(inout) :: inout(length)
        inout = max(inout, given) + 0 * type
    end subroutine larger

end program rename_requests
