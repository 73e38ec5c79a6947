! SPDX-License-Identifier: BSD-3-Clause
! Every collective with every type of Fortran and every operator that goes with it, on communicators
! of several shapes, blocking and not, against a sequential reference. Values are small integers, which
! every type can hold exactly; buffers are bytes, so that one program serves all types.
! WAITIO_COLL_ variables force algorithms. COLL_TYPES_EACH=k runs each k-th
! pair of communicator and type only, another set than the same k on other shapes of blocks.
module coll_values
    use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64, real128
    use waitio_mpif90
    implicit none

    integer, parameter :: INTEGERS = 1, REALS = 2, COMPLEXES = 3, LOGICALS = 4, TEXTS = 5, PAIRS = 6

    type :: kind_of_data
        integer :: datatype, family, bytes
        character(len=16) :: name
    end type kind_of_data

    type(kind_of_data), parameter :: kinds(*) = [ &
        kind_of_data(WAITIO_MPI_INTEGER, INTEGERS, 4, 'INTEGER'), &
        kind_of_data(WAITIO_MPI_INTEGER1, INTEGERS, 1, 'INTEGER1'), &
        kind_of_data(WAITIO_MPI_INTEGER2, INTEGERS, 2, 'INTEGER2'), &
        kind_of_data(WAITIO_MPI_INTEGER4, INTEGERS, 4, 'INTEGER4'), &
        kind_of_data(WAITIO_MPI_INTEGER8, INTEGERS, 8, 'INTEGER8'), &
        kind_of_data(WAITIO_MPI_AINT, INTEGERS, 8, 'AINT'), &
        kind_of_data(WAITIO_MPI_OFFSET, INTEGERS, 8, 'OFFSET'), &
        kind_of_data(WAITIO_MPI_COUNT, INTEGERS, 8, 'COUNT'), &
        kind_of_data(WAITIO_MPI_REAL, REALS, 4, 'REAL'), &
        kind_of_data(WAITIO_MPI_REAL4, REALS, 4, 'REAL4'), &
        kind_of_data(WAITIO_MPI_REAL8, REALS, 8, 'REAL8'), &
        kind_of_data(WAITIO_MPI_DOUBLE_PRECISION, REALS, 8, 'DOUBLE PRECISION'), &
        kind_of_data(WAITIO_MPI_REAL16, REALS, 16, 'REAL16'), &
        kind_of_data(WAITIO_MPI_COMPLEX, COMPLEXES, 8, 'COMPLEX'), &
        kind_of_data(WAITIO_MPI_COMPLEX8, COMPLEXES, 8, 'COMPLEX8'), &
        kind_of_data(WAITIO_MPI_COMPLEX16, COMPLEXES, 16, 'COMPLEX16'), &
        kind_of_data(WAITIO_MPI_DOUBLE_COMPLEX, COMPLEXES, 16, 'DOUBLE COMPLEX'), &
        kind_of_data(WAITIO_MPI_COMPLEX32, COMPLEXES, 32, 'COMPLEX32'), &
        kind_of_data(WAITIO_MPI_LOGICAL, LOGICALS, 4, 'LOGICAL'), &
        kind_of_data(WAITIO_MPI_LOGICAL1, LOGICALS, 1, 'LOGICAL1'), &
        kind_of_data(WAITIO_MPI_LOGICAL2, LOGICALS, 2, 'LOGICAL2'), &
        kind_of_data(WAITIO_MPI_LOGICAL4, LOGICALS, 4, 'LOGICAL4'), &
        kind_of_data(WAITIO_MPI_LOGICAL8, LOGICALS, 8, 'LOGICAL8'), &
        kind_of_data(WAITIO_MPI_CHARACTER, TEXTS, 1, 'CHARACTER'), &
        kind_of_data(WAITIO_MPI_BYTE, INTEGERS, 1, 'BYTE'), &
        kind_of_data(WAITIO_MPI_2INTEGER, PAIRS, 8, '2INTEGER'), &
        kind_of_data(WAITIO_MPI_2REAL, PAIRS, 8, '2REAL'), &
        kind_of_data(WAITIO_MPI_2DOUBLE_PRECISION, PAIRS, 16, '2DOUBLE PREC.')]

contains

    ! The operators that MPI defines for a type.
    function operators(of) result(ops)
        type(kind_of_data), intent(in) :: of
        integer, allocatable :: ops(:)
        integer, parameter :: S = WAITIO_MPI_SUM, P = WAITIO_MPI_PROD, HI = WAITIO_MPI_MAX, &
            LO = WAITIO_MPI_MIN, bits(3) = [WAITIO_MPI_BAND, WAITIO_MPI_BOR, WAITIO_MPI_BXOR]
        select case (of%family)
        case (INTEGERS)
            ops = [S, P, HI, LO, bits]
            if (of%datatype == WAITIO_MPI_BYTE) ops = bits
        case (REALS)
            ops = [S, P, HI, LO]
        case (COMPLEXES)
            ops = [S, P]
        case (LOGICALS)
            ops = [WAITIO_MPI_LAND, WAITIO_MPI_LOR, WAITIO_MPI_LXOR]
        case (PAIRS)
            ops = [WAITIO_MPI_MINLOC, WAITIO_MPI_MAXLOC]
        case default
            ops = [integer ::]
        end select
    end function operators

    ! k as an element; other is the second half of a pair, or the imaginary part.
    function encoded(of, k, other) result(bytes)
        type(kind_of_data), intent(in) :: of
        integer, intent(in) :: k, other
        integer(int8) :: bytes(of%bytes)
        select case (of%family)
        case (INTEGERS)
            bytes = encoded_integer(of%bytes, k)
        case (REALS)
            bytes = encoded_real(of%bytes, k)
        case (COMPLEXES)
            bytes = [encoded_real(of%bytes / 2, k), encoded_real(of%bytes / 2, other)]
        case (LOGICALS)
            bytes = encoded_logical(of%bytes, mod(k, 2) == 1)
        case (TEXTS)
            bytes = transfer(achar(32 + mod(k, 90)), bytes)
        case default
            if (of%datatype == WAITIO_MPI_2INTEGER) then
                bytes = [encoded_integer(4, k), encoded_integer(4, other)]
            else
                bytes = [encoded_real(of%bytes / 2, k), encoded_real(of%bytes / 2, other)]
            end if
        end select
    end function encoded

    function encoded_integer(size, k) result(bytes)
        integer, intent(in) :: size, k
        integer(int8) :: bytes(size)
        select case (size)
        case (1)
            bytes = int(k, int8)
        case (2)
            bytes = transfer(int(k, int16), bytes)
        case (4)
            bytes = transfer(int(k, int32), bytes)
        case default
            bytes = transfer(int(k, int64), bytes)
        end select
    end function encoded_integer

    function encoded_real(size, k) result(bytes)
        integer, intent(in) :: size, k
        integer(int8) :: bytes(size)
        select case (size)
        case (4)
            bytes = transfer(real(k, real32), bytes)
        case (8)
            bytes = transfer(real(k, real64), bytes)
        case default
            bytes = transfer(real(k, real128), bytes)
        end select
    end function encoded_real

    function encoded_logical(size, is) result(bytes)
        integer, intent(in) :: size
        logical, intent(in) :: is
        integer(int8) :: bytes(size)
        select case (size)
        case (1)
            bytes = transfer(logical(is, 1), bytes)
        case (2)
            bytes = transfer(logical(is, 2), bytes)
        case (4)
            bytes = transfer(logical(is, 4), bytes)
        case default
            bytes = transfer(logical(is, 8), bytes)
        end select
    end function encoded_logical

    ! What rank has in place i before a reduction; small enough for one byte with 13 ranks.
    pure integer function operand(op, rank, i)
        integer, intent(in) :: op, rank, i
        if (op == WAITIO_MPI_PROD) then
            operand = merge(2, 1, mod(rank + i, 3) == 0)
        else
            operand = mod(7 * rank + 3 * i + 5, 8)
        end if
    end function operand

    ! The second half: a place for pairs, for complex sums another number.
    pure integer function companion(of, op, rank, i)
        type(kind_of_data), intent(in) :: of
        integer, intent(in) :: op, rank, i
        companion = 0
        if (of%family == PAIRS) companion = mod(rank * 5 + i, 11)
        if (of%family == COMPLEXES .and. op /= WAITIO_MPI_PROD) companion = mod(rank + i, 6)
    end function companion

    ! Two operands become one; b comes from the higher rank.
    pure subroutine combine(op, a, a2, b, b2)
        integer, intent(in) :: op, b, b2
        integer, intent(inout) :: a, a2
        integer :: before
        before = a
        select case (op)
        case (WAITIO_MPI_SUM)
            a = a + b
            a2 = a2 + b2
        case (WAITIO_MPI_PROD)
            a = a * b
        case (WAITIO_MPI_MAX, WAITIO_MPI_MAXLOC)
            a = max(a, b)
        case (WAITIO_MPI_MIN, WAITIO_MPI_MINLOC)
            a = min(a, b)
        case default
            a = combined_bits(op, a, b)
        end select
        if (op == WAITIO_MPI_MAXLOC .or. op == WAITIO_MPI_MINLOC) then
            if (a /= before) then
                a2 = b2
            else if (b == before) then
                a2 = min(a2, b2)
            end if
        end if
    end subroutine combine

    pure integer function combined_bits(op, a, b)
        integer, intent(in) :: op, a, b
        select case (op)
        case (WAITIO_MPI_BAND)
            combined_bits = iand(a, b)
        case (WAITIO_MPI_BOR)
            combined_bits = ior(a, b)
        case (WAITIO_MPI_BXOR)
            combined_bits = ieor(a, b)
        case (WAITIO_MPI_LAND)
            combined_bits = mod(a, 2) * mod(b, 2)
        case (WAITIO_MPI_LOR)
            combined_bits = max(mod(a, 2), mod(b, 2))
        case default
            combined_bits = mod(a + b, 2)
        end select
    end function combined_bits
end module coll_values

module coll_runs
    use, intrinsic :: iso_fortran_env, only: int8, error_unit
    use coll_values
    implicit none

    type :: team
        integer :: comm = WAITIO_MPI_COMM_NULL, rank = -1, size = 0
    end type team

    integer :: failures = 0, done = 0

contains

    subroutine report(name, of, who, what)
        character(len=*), intent(in) :: name, what
        type(kind_of_data), intent(in) :: of
        type(team), intent(in) :: who
        failures = failures + 1
        if (failures > 10) return
        write (error_unit, '(a, i0, 8a, i0, a)') 'coll_types: ', done, ', ', name, ' of ', &
            trim(of%name), ', ', what, ': wrong on rank ', '', who%rank, ' of its communicator'
    end subroutine report

    ! Logicals may be written in several ways, all else in one.
    logical function same(of, found, want)
        type(kind_of_data), intent(in) :: of
        integer(int8), intent(in) :: found(:), want(:)
        same = all(found == want)
        if (of%family == LOGICALS) same = any(found /= 0) .eqv. any(want /= 0)
    end function same

    ! Elements first .. first + n - 1 of the ranks low .. high, reduced, are expected in found.
    subroutine expect_reduced(name, of, op, who, found, low, high, first, n)
        character(len=*), intent(in) :: name
        type(kind_of_data), intent(in) :: of
        type(team), intent(in) :: who
        integer, intent(in) :: op, low, high, first, n
        integer(int8), intent(in) :: found(0:)
        integer :: i, r, a, a2
        do i = 0, n - 1
            a = operand(op, low, first + i)
            a2 = companion(of, op, low, first + i)
            do r = low + 1, high
                call combine(op, a, a2, operand(op, r, first + i), companion(of, op, r, first + i))
            end do
            if (.not. same(of, found(i * of%bytes:(i + 1) * of%bytes - 1), encoded(of, a, a2))) then
                call report(name, of, who, 'the result')
                return
            end if
        end do
    end subroutine expect_reduced

    subroutine wait_for(later, req)
        logical, intent(in) :: later
        type(WAITIO_MPI_Request), intent(inout) :: req
        if (later) call WAITIO_MPI_Wait(req, WAITIO_MPI_STATUS_IGNORE)
    end subroutine wait_for

    ! All reductions of one operator.
    subroutine reductions(of, op, who, count)
        type(kind_of_data), intent(in) :: of
        integer, intent(in) :: op, count
        type(team), intent(in) :: who
        integer(int8), allocatable, asynchronous :: in(:), out(:)
        type(WAITIO_MPI_Request) :: req
        integer :: i, root, n, counts(0:who%size - 1), which
        logical :: later
        n = count * who%size
        allocate (in(0:n * of%bytes - 1), out(0:n * of%bytes - 1))
        do i = 0, n - 1
            in(i * of%bytes:(i + 1) * of%bytes - 1) = &
                encoded(of, operand(op, who%rank, i), companion(of, op, who%rank, i))
        end do
        counts = [(mod(i * 3 + count, count + 1), i=0, who%size - 1)]
        do which = 1, 6
            done = done + 1
            later = mod(done, 2) == 0
            root = mod(done * 7, who%size)
            out = 0
            select case (which)
            case (1)
                if (later) then
                    call WAITIO_MPI_Ireduce(in, out, count, of%datatype, op, root, who%comm, req)
                else
                    call WAITIO_MPI_Reduce(in, out, count, of%datatype, op, root, who%comm)
                end if
                call wait_for(later, req)
                if (who%rank == root) &
                    call expect_reduced('reduce', of, op, who, out, 0, who%size - 1, 0, count)
            case (2)
                out = in
                if (later) then
                    call WAITIO_MPI_Iallreduce(WAITIO_MPI_IN_PLACE, out, count, of%datatype, op, &
                                               who%comm, req)
                else
                    call WAITIO_MPI_Allreduce(in, out, count, of%datatype, op, who%comm)
                end if
                call wait_for(later, req)
                call expect_reduced('allreduce', of, op, who, out, 0, who%size - 1, 0, count)
            case default
                call partial(of, op, who, count, counts, which, later, in, out)
            end select
        end do
    end subroutine reductions

    ! Those that give every rank something else.
    subroutine partial(of, op, who, count, counts, which, later, in, out)
        type(kind_of_data), intent(in) :: of
        type(team), intent(in) :: who
        integer, intent(in) :: op, count, which, counts(0:)
        logical, intent(in) :: later
        integer(int8), intent(in), asynchronous :: in(:)
        integer(int8), intent(inout), asynchronous :: out(:)
        type(WAITIO_MPI_Request) :: req
        select case (which * 2 + merge(1, 0, later))
        case (6)
            call WAITIO_MPI_Reduce_scatter(in, out, counts, of%datatype, op, who%comm)
        case (7)
            call WAITIO_MPI_Ireduce_scatter(in, out, counts, of%datatype, op, who%comm, req)
        case (8)
            call WAITIO_MPI_Reduce_scatter_block(in, out, count, of%datatype, op, who%comm)
        case (9)
            call WAITIO_MPI_Ireduce_scatter_block(in, out, count, of%datatype, op, who%comm, req)
        case (10)
            call WAITIO_MPI_Scan(in, out, count, of%datatype, op, who%comm)
        case (11)
            call WAITIO_MPI_Iscan(in, out, count, of%datatype, op, who%comm, req)
        case (12)
            call WAITIO_MPI_Exscan(in, out, count, of%datatype, op, who%comm)
        case default
            call WAITIO_MPI_Iexscan(in, out, count, of%datatype, op, who%comm, req)
        end select
        call wait_for(later, req)
        call expect_partial(of, op, who, count, counts, which, out)
    end subroutine partial

    subroutine expect_partial(of, op, who, count, counts, which, out)
        type(kind_of_data), intent(in) :: of
        type(team), intent(in) :: who
        integer, intent(in) :: op, count, which, counts(0:)
        integer(int8), intent(in) :: out(:)
        select case (which)
        case (3)
            call expect_reduced('reduce_scatter', of, op, who, out, 0, who%size - 1, &
                                sum(counts(0:who%rank - 1)), counts(who%rank))
        case (4)
            call expect_reduced('reduce_scatter_block', of, op, who, out, 0, who%size - 1, &
                                who%rank * count, count)
        case (5)
            call expect_reduced('scan', of, op, who, out, 0, who%rank, 0, count)
        case default
            if (who%rank > 0) call expect_reduced('exscan', of, op, who, out, 0, who%rank - 1, 0, count)
        end select
    end subroutine expect_partial

    ! ---- movement: element i of rank r is a number of both ----

    pure integer function number(rank, i)
        integer, intent(in) :: rank, i
        number = mod(rank * 31 + i * 7 + 3, 100)
    end function number

    subroutine fill(of, rank, n, buffer)
        type(kind_of_data), intent(in) :: of
        integer, intent(in) :: rank, n
        integer(int8), intent(out) :: buffer(0:)
        integer :: i
        do i = 0, n - 1
            buffer(i * of%bytes:(i + 1) * of%bytes - 1) = encoded(of, number(rank, i), rank)
        end do
    end subroutine fill

    ! n elements at place `at` of found are those of rank from, beginning with its element first.
    subroutine expect_moved(name, of, who, found, at, from, first, n)
        character(len=*), intent(in) :: name
        type(kind_of_data), intent(in) :: of
        type(team), intent(in) :: who
        integer, intent(in) :: at, from, first, n
        integer(int8), intent(in) :: found(0:)
        integer :: i, b
        do i = 0, n - 1
            b = (at + i) * of%bytes
            if (.not. same(of, found(b:b + of%bytes - 1), &
                           encoded(of, number(from, first + i), from))) then
                call report(name, of, who, 'what came')
                return
            end if
        end do
    end subroutine expect_moved

    subroutine movements(of, who, count)
        type(kind_of_data), intent(in) :: of
        type(team), intent(in) :: who
        integer, intent(in) :: count
        integer(int8), allocatable, asynchronous :: in(:), out(:)
        integer :: n, which
        n = (count + 1) * who%size
        allocate (in(0:n * of%bytes - 1), out(0:n * of%bytes - 1))
        call fill(of, who%rank, n, in)
        do which = 1, 10
            done = done + 1
            out = 0
            if (which <= 3) then
                call from_root(of, who, count, which, in, out)
            else if (which <= 5) then
                call to_root(of, who, count, which, in, out)
            else
                call to_all(of, who, count, which, in, out)
            end if
        end do
    end subroutine movements

    subroutine from_root(of, who, count, which, in, out)
        type(kind_of_data), intent(in) :: of
        type(team), intent(in) :: who
        integer, intent(in) :: count, which
        integer(int8), intent(in), asynchronous :: in(:)
        integer(int8), intent(inout), asynchronous :: out(:)
        type(WAITIO_MPI_Request) :: req
        integer :: root, q, counts(0:who%size - 1), places(0:who%size - 1), t, me
        logical :: later
        later = mod(done, 2) == 0
        root = mod(done * 5, who%size)
        t = of%datatype
        me = who%rank
        counts = [(mod(q + count, count + 1), q=0, who%size - 1)]
        places = [((who%size - 1 - q) * count, q=0, who%size - 1)]
        if (which == 1 .and. me == root) out = in
        select case (which * 2 + merge(1, 0, later))
        case (2)
            call WAITIO_MPI_Bcast(out, count, t, root, who%comm)
        case (3)
            call WAITIO_MPI_Ibcast(out, count, t, root, who%comm, req)
        case (4)
            call WAITIO_MPI_Scatter(in, count, t, out, count, t, root, who%comm)
        case (5)
            call WAITIO_MPI_Iscatter(in, count, t, out, count, t, root, who%comm, req)
        case (6)
            call WAITIO_MPI_Scatterv(in, counts, places, t, out, counts(me), t, root, who%comm)
        case default
            call WAITIO_MPI_Iscatterv(in, counts, places, t, out, counts(me), t, root, who%comm, req)
        end select
        call wait_for(later, req)
        if (which == 1) call expect_moved('bcast', of, who, out, 0, root, 0, count)
        if (which == 2) call expect_moved('scatter', of, who, out, 0, root, me * count, count)
        if (which == 3) call expect_moved('scatterv', of, who, out, 0, root, places(me), counts(me))
    end subroutine from_root

    subroutine to_root(of, who, count, which, in, out)
        type(kind_of_data), intent(in) :: of
        type(team), intent(in) :: who
        integer, intent(in) :: count, which
        integer(int8), intent(in), asynchronous :: in(:)
        integer(int8), intent(inout), asynchronous :: out(:)
        type(WAITIO_MPI_Request) :: req
        integer :: root, q, counts(0:who%size - 1), places(0:who%size - 1), t, mine
        logical :: later
        later = mod(done, 2) == 0
        root = mod(done * 5, who%size)
        t = of%datatype
        counts = [(mod(q + count, count + 1), q=0, who%size - 1)]
        places = [((who%size - 1 - q) * count, q=0, who%size - 1)]
        mine = counts(who%rank)
        select case (which * 2 + merge(1, 0, later))
        case (8)
            call WAITIO_MPI_Gather(in, count, t, out, count, t, root, who%comm)
        case (9)
            call WAITIO_MPI_Igather(in, count, t, out, count, t, root, who%comm, req)
        case (10)
            call WAITIO_MPI_Gatherv(in, mine, t, out, counts, places, t, root, who%comm)
        case default
            call WAITIO_MPI_Igatherv(in, mine, t, out, counts, places, t, root, who%comm, req)
        end select
        call wait_for(later, req)
        if (who%rank /= root) return
        do q = 0, who%size - 1
            if (which == 4) call expect_moved('gather', of, who, out, q * count, q, 0, count)
            if (which == 5) call expect_moved('gatherv', of, who, out, places(q), q, 0, counts(q))
        end do
    end subroutine to_root

    subroutine to_all(of, who, count, which, in, out)
        type(kind_of_data), intent(in) :: of
        type(team), intent(in) :: who
        integer, intent(in) :: count, which
        integer(int8), intent(in), asynchronous :: in(:)
        integer(int8), intent(inout), asynchronous :: out(:)
        type(WAITIO_MPI_Request) :: req
        integer, dimension(0:who%size - 1) :: mine, theirs, places
        integer :: q, me
        logical :: later
        later = mod(done, 2) == 0
        me = who%rank
        mine = [(merge(mod(q + me + count, count + 1), mod(me + count, count + 1), which > 7), &
                 q=0, who%size - 1)]
        theirs = [(merge(mod(q + me + count, count + 1), mod(q + count, count + 1), which > 7), &
                   q=0, who%size - 1)]
        places = [((who%size - 1 - q) * count, q=0, who%size - 1)]
        call start_to_all(of, who, count, which, later, mine, theirs, places, in, out, req)
        call wait_for(later, req)
        do q = 0, who%size - 1
            if (which == 6) call expect_moved('allgather', of, who, out, q * count, q, 0, count)
            if (which == 7) call expect_moved('allgatherv', of, who, out, places(q), q, 0, theirs(q))
            if (which == 8) call expect_moved('alltoall', of, who, out, q * count, q, me * count, count)
            if (which > 8) call expect_moved(merge('alltoallv', 'alltoallw', which == 9), of, who, &
                                             out, places(q), q, places(me), theirs(q))
        end do
    end subroutine to_all

    subroutine start_to_all(of, who, count, which, later, mine, theirs, places, in, out, req)
        type(kind_of_data), intent(in) :: of
        type(team), intent(in) :: who
        integer, intent(in) :: count, which
        logical, intent(in) :: later
        integer, intent(in), dimension(0:) :: mine, theirs, places
        integer(int8), intent(in), asynchronous :: in(:)
        integer(int8), intent(inout), asynchronous :: out(:)
        type(WAITIO_MPI_Request), intent(inout) :: req
        integer, dimension(0:who%size - 1) :: bytes, types
        integer :: t
        t = of%datatype
        bytes = places * of%bytes
        types = t
        select case (which * 2 + merge(1, 0, later))
        case (12)
            call WAITIO_MPI_Allgather(in, count, t, out, count, t, who%comm)
        case (13)
            call WAITIO_MPI_Iallgather(in, count, t, out, count, t, who%comm, req)
        case (14)
            call WAITIO_MPI_Allgatherv(in, mine(0), t, out, theirs, places, t, who%comm)
        case (15)
            call WAITIO_MPI_Iallgatherv(in, mine(0), t, out, theirs, places, t, who%comm, req)
        case (16)
            call WAITIO_MPI_Alltoall(in, count, t, out, count, t, who%comm)
        case (17)
            call WAITIO_MPI_Ialltoall(in, count, t, out, count, t, who%comm, req)
        case (18)
            call WAITIO_MPI_Alltoallv(in, mine, places, t, out, theirs, places, t, who%comm)
        case (19)
            call WAITIO_MPI_Ialltoallv(in, mine, places, t, out, theirs, places, t, who%comm, req)
        case (20)
            call WAITIO_MPI_Alltoallw(in, mine, bytes, types, out, theirs, bytes, types, who%comm)
        case default
            call WAITIO_MPI_Ialltoallw(in, mine, bytes, types, out, theirs, bytes, types, who%comm, &
                                       req)
        end select
    end subroutine start_to_all
end module coll_runs

program coll_types
    use coll_runs
    implicit none
    type(team) :: teams(5)
    integer :: i, me, pbid, every, ierr
    integer, parameter :: counts(5) = [3, 0, 17, 2, 5]

    call WAITIO_MPI_Init(ierr)
    call WAITIO_MPI_Comm_rank(WAITIO_MPI_COMM_WORLD, me)
    call waitio_pb_rank_f(pbid)
    every = setting()
    teams(1)%comm = WAITIO_MPI_COMM_WORLD
    call WAITIO_MPI_Comm_split(WAITIO_MPI_COMM_WORLD, 0, -me, teams(2)%comm)         ! reversed
    call WAITIO_MPI_Comm_split(WAITIO_MPI_COMM_WORLD, mod(me, 2), me, teams(3)%comm) ! across blocks
    call WAITIO_MPI_Comm_split(WAITIO_MPI_COMM_WORLD, pbid, me, teams(4)%comm)       ! a block each
    teams(5)%comm = WAITIO_MPI_COMM_SELF
    do i = 1, size(teams)
        call WAITIO_MPI_Comm_rank(teams(i)%comm, teams(i)%rank)
        call WAITIO_MPI_Comm_size(teams(i)%comm, teams(i)%size)
        call all_types(teams(i), i)
    end do
    ! One large enough for the algorithms of long messages.
    call movements(kinds(11), teams(1), 20000)
    call reductions(kinds(11), WAITIO_MPI_SUM, teams(1), 20000)
    do i = 2, 4
        call WAITIO_MPI_Comm_free(teams(i)%comm)
    end do
    call WAITIO_MPI_Barrier(WAITIO_MPI_COMM_WORLD)
    call WAITIO_MPI_Finalize(ierr)
    if (failures /= 0) error stop 1
    print '(a)', 'ok'

contains

    integer function setting()
        character(len=8) :: text
        integer :: status
        setting = 1
        call get_environment_variable('COLL_TYPES_EACH', text, status=status)
        if (status == 0) read (text, *) setting
    end function setting

    ! Types that look the same in memory are told apart on the first communicator only.
    subroutine all_types(who, which)
        type(team), intent(in) :: who
        integer, intent(in) :: which
        integer :: t, k
        integer, allocatable :: ops(:)
        do t = 1, size(kinds)
            if (which > 1 .and. any(kinds(:t - 1)%family == kinds(t)%family .and. &
                                    kinds(:t - 1)%bytes == kinds(t)%bytes)) cycle
            if (mod(t + which * 5 + teams(1)%size, every) /= 0) cycle
            call movements(kinds(t), who, counts(which))
            ops = operators(kinds(t))
            do k = 1, size(ops)
                call reductions(kinds(t), ops(k), who, counts(which))
            end do
        end do
    end subroutine all_types
end program coll_types
