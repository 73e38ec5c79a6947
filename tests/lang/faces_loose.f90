! SPDX-License-Identifier: BSD-3-Clause
! The calls of MPI in module waitio_mpif90: handles as types and as integers, statuses as a type, as
! integers and not at all, with ierr and without.
module faces_product
    use waitio_mpif90
    implicit none
    integer :: calls = 0
contains
    ! As MPI programs write operators.
    subroutine product_of(invec, inoutvec, length, datatype)
        integer, intent(in) :: length, datatype
        integer, intent(in) :: invec(length)
        integer, intent(inout) :: inoutvec(length)
        if (datatype /= WAITIO_MPI_INTEGER) return
        inoutvec = invec * inoutvec
    end subroutine product_of

    subroutine say_what(extra_state, status, ierr)
        integer(WAITIO_MPI_ADDRESS_KIND) :: extra_state
        integer :: status(WAITIO_STATUS_SIZE), ierr
        status(WAITIO_MPI_SOURCE) = int(extra_state)
        call WAITIO_MPI_Status_set_elements(status, WAITIO_MPI_INTEGER, 3, ierr)
        call WAITIO_MPI_Status_set_cancelled(status, .true., ierr)
    end subroutine say_what

    subroutine count_end(extra_state, ierr)
        integer(WAITIO_MPI_ADDRESS_KIND) :: extra_state
        integer :: ierr
        if (extra_state == 98) calls = calls + 1
        ierr = 0
    end subroutine count_end

    subroutine be_cancelled(extra_state, complete, ierr)
        integer(WAITIO_MPI_ADDRESS_KIND) :: extra_state
        logical :: complete
        integer :: ierr
        if (extra_state == 98 .and. .not. complete) calls = calls + 100
        ierr = 0
    end subroutine be_cancelled
end module faces_product

program faces_loose
    use waitio_mpif90
    use faces_product
    implicit none
    integer :: bad = 0, me, n, next, last, ierr
    integer :: world ! an integer handle; communicators made below have a type

    call WAITIO_MPI_Init(ierr)
    world = WAITIO_MPI_COMM_WORLD
    call WAITIO_MPI_Comm_rank(world, me, ierr)
    call WAITIO_MPI_Comm_size(world, n)
    next = mod(me + 1, n)
    last = mod(me + n - 1, n)
    call sections()
    call derived()
    call collectives()
    call communicators()
    call requests()
    call refused()
    call attributes()
    call matched()
    call generalized()
    call WAITIO_MPI_Finalize(ierr)
    if (bad /= 0) error stop 1
    print '(a)', 'ok'

contains

    subroutine expect(ok, what)
        logical, intent(in) :: ok
        character(len=*), intent(in) :: what
        if (ok) return
        bad = bad + 1
        write (0, *) 'faces_loose: ', what, ' is wrong'
    end subroutine expect

    subroutine sections()
        integer, asynchronous :: a(6, 5), b(6, 5)
        type(WAITIO_MPI_Request) :: reqs(2)
        integer :: statuses(WAITIO_STATUS_SIZE, 2), i, j, count
        a = reshape([((100 * me + 10 * i + j, i=1, 6), j=1, 5)], [6, 5])
        b = -1
        call WAITIO_MPI_Irecv(b(2:6:2, :), 15, WAITIO_MPI_INTEGER, last, 1, world, reqs(1), ierr)
        call WAITIO_MPI_Isend(a(1:5:2, :), 15, WAITIO_MPI_INTEGER, next, 1, world, reqs(2), ierr)
        call WAITIO_MPI_Waitall(2, reqs, statuses, ierr)
        call WAITIO_MPI_Get_count(statuses(:, 1), WAITIO_MPI_INTEGER, count, ierr)
        call expect(count == 15 .and. statuses(WAITIO_MPI_SOURCE, 1) == last, 'status of a section')
        call expect(all(b(2:6:2, :) == a(1:5:2, :) + 100 * (last - me)), 'every other row')
        call expect(all(b(1:5:2, :) == -1), 'what lies between')
        call whole(a, 30)
        ! An element stands for what follows it.
        if (me == 0) a(3, 1) = 4711
        call WAITIO_MPI_Bcast(a(3, 1), 1, WAITIO_MPI_INTEGER, 0, world)
        call expect(a(3, 1) == 4711, 'an element')
    end subroutine sections

    ! An array whose size is not known here.
    subroutine whole(a, length)
        integer, intent(in) :: length
        integer, intent(inout) :: a(*)
        integer :: before
        before = a(1)
        call WAITIO_MPI_Sendrecv_replace(a, length, WAITIO_MPI_INTEGER, next, 2, last, 2, world, &
                                         WAITIO_MPI_STATUS_IGNORE, ierr)
        call expect(a(1) == before + 100 * (last - me), 'an assumed-size array')
    end subroutine whole

    subroutine derived()
        type(WAITIO_MPI_Datatype) :: row
        integer :: number, m(4, 4), position, size
        integer(WAITIO_MPI_ADDRESS_KIND) :: lb, extent, bytes
        character :: room(64)
        call WAITIO_MPI_Type_vector(4, 1, 4, WAITIO_MPI_INTEGER, row)
        call WAITIO_MPI_Type_commit(row)
        call WAITIO_MPI_Type_contiguous(2, row%MPI_VAL, number, ierr)
        call WAITIO_MPI_Type_get_extent(number, lb, extent, ierr)
        call WAITIO_MPI_Type_size(number, size)
        call expect(lb == 0 .and. extent == 2 * 13 * 4 .and. size == 32, 'extent and size')
        call WAITIO_MPI_Type_free(number, ierr)
        call expect(number == WAITIO_MPI_DATATYPE_NULL, 'freed type')
        m = me
        call WAITIO_MPI_Sendrecv(m(1, 1), 1, row, next, 3, m(2, 1), 1, row, last, 3, world, &
                                 WAITIO_MPI_STATUS_IGNORE)
        call expect(all(m(2, :) == last) .and. all(m(3, :) == me), 'a row by a vector type')
        position = 0
        call WAITIO_MPI_Pack(m, 1, row, room, 64, position, world)
        call expect(position == 16, 'packed')
        position = 0
        m = 0
        call WAITIO_MPI_Unpack(room, 64, position, m, 1, row, world)
        call expect(all(m(1, :) == me) .and. all(m(2:, :) == 0), 'unpacked')
        call WAITIO_MPI_Pack_external_size('external32', 2, row, bytes)
        call expect(bytes == 32, 'size in external32')
        bytes = 0
        call WAITIO_MPI_Pack_external('external32', [1, 2], 2, WAITIO_MPI_INTEGER, room, &
            64_WAITIO_MPI_ADDRESS_KIND, bytes)
        call expect(bytes == 8, 'packed in external32')
        bytes = 0
        call WAITIO_MPI_Unpack_external('external32', room, 64_WAITIO_MPI_ADDRESS_KIND, bytes, &
            m, 2, WAITIO_MPI_INTEGER)
        call expect(m(1, 1) == 1 .and. m(2, 1) == 2, 'unpacked from external32')
        call WAITIO_MPI_Type_free(row)
        call expect(row == WAITIO_MPI_DATATYPE_NULL, 'freed type with a type')
    end subroutine derived

    subroutine collectives()
        type(WAITIO_MPI_Op) :: op
        type(WAITIO_MPI_Request) :: req
        type(WAITIO_MPI_Status) :: status
        integer, asynchronous :: got(0:n - 1), every(0:n - 1)
        integer :: x(2), types(0:n - 1), counts(0:n - 1), places(0:n - 1), r
        logical :: commute
        call WAITIO_MPI_Op_create(product_of, .true., op)
        call WAITIO_MPI_Op_commutative(op, commute)
        x = [2, -1]
        call WAITIO_MPI_Allreduce(WAITIO_MPI_IN_PLACE, x, 2, WAITIO_MPI_INTEGER, op, world)
        call expect(commute .and. all(x == [2**n, (-1)**n]), 'an operator of the program')
        call WAITIO_MPI_Op_free(op)
        every = [(100 * me + r, r=0, n - 1)]
        types = WAITIO_MPI_INTEGER
        counts = 1
        places = [(4 * r, r=0, n - 1)]
        call WAITIO_MPI_Ialltoallw(every, counts, places, types, got, counts, places, types, world, &
                                   req, ierr)
        call WAITIO_MPI_Wait(req, status)
        call expect(all(got == [(100 * r + me, r=0, n - 1)]), 'ialltoallw')
        got = -1
        call WAITIO_MPI_Gather(me, 1, WAITIO_MPI_INTEGER, got, 1, WAITIO_MPI_INTEGER, 0, world)
        if (me == 0) call expect(all(got == [(r, r=0, n - 1)]), 'gather as in MPI')
        got = -1
        call WAITIO_MPI_Gather(me, got, 1, WAITIO_MPI_INTEGER, n - 1, world, ierr)
        if (me == n - 1) call expect(all(got == [(r, r=0, n - 1)]), 'gather as published')
        got = -1
        call WAITIO_MPI_Allgather(me, 1, WAITIO_MPI_INTEGER, got, 1, WAITIO_MPI_INTEGER, world, ierr)
        call expect(all(got == [(r, r=0, n - 1)]), 'allgather as in MPI')
        got = -1
        call WAITIO_MPI_Allgather(me, got, 1, WAITIO_MPI_INTEGER, world)
        call expect(all(got == [(r, r=0, n - 1)]), 'allgather as published')
    end subroutine collectives

    subroutine communicators()
        type(WAITIO_MPI_Comm) :: half
        type(WAITIO_MPI_Group) :: group
        integer :: size, rank, dup, same
        call WAITIO_MPI_Comm_split(world, mod(me, 2), me, half)
        call WAITIO_MPI_Comm_size(half, size)
        call expect(size == (n + 1 - mod(me, 2)) / 2, 'split')
        call WAITIO_MPI_Comm_group(half, group)
        call WAITIO_MPI_Group_rank(group, rank)
        call expect(rank == me / 2, 'rank in a group')
        call WAITIO_MPI_Group_free(group)
        call WAITIO_MPI_Comm_free(half)
        call expect(half == WAITIO_MPI_COMM_NULL .and. group == WAITIO_MPI_GROUP_NULL, 'freed')
        call WAITIO_MPI_Comm_dup(world, dup, ierr)
        call WAITIO_MPI_Comm_compare(world, dup, same, ierr)
        call expect(same == WAITIO_MPI_CONGRUENT, 'compared')
        call WAITIO_MPI_Comm_free(dup, ierr)
        half = WAITIO_MPI_COMM_WORLD
        call WAITIO_MPI_Barrier(half)
    end subroutine communicators

    subroutine requests()
        type(WAITIO_MPI_Request) :: req
        type(WAITIO_MPI_Status) :: status
        integer :: integers(WAITIO_STATUS_SIZE), got, count
        logical :: flag
        call expect(req == WAITIO_MPI_REQUEST_NULL, 'a fresh request')
        call WAITIO_MPI_Isend(me, 1, WAITIO_MPI_INTEGER, next, 4, world, req)
        call expect(n == 1 .or. req /= WAITIO_MPI_REQUEST_NULL, 'a request')
        call WAITIO_MPI_Probe(last, 4, world, status)
        call WAITIO_MPI_Get_count(status, WAITIO_MPI_INTEGER, count)
        call expect(count == 1 .and. status%MPI_SOURCE == last .and. status%MPI_TAG == 4, 'probed')
        call WAITIO_MPI_Recv(got, 1, WAITIO_MPI_INTEGER, last, 4, world, integers)
        call expect(got == last .and. integers(WAITIO_MPI_TAG) == 4, 'received')
        call WAITIO_MPI_Wait(req)
        call WAITIO_MPI_Test(req, flag, WAITIO_MPI_STATUS_IGNORE)
        call expect(flag, 'a request that is complete')
        call WAITIO_MPI_Isend(me, 1, WAITIO_MPI_INTEGER, me, 4, world, req)
        call WAITIO_MPI_Recv(got, 1, WAITIO_MPI_INTEGER, me, 4, world, WAITIO_MPI_STATUS_IGNORE)
        call WAITIO_MPI_Wait(req, integers, ierr)
        call expect(WAITIO_MPI_Wtime() > 0, 'time')
        call expect(WAITIO_MPI_Wtick() > 0, 'its grain')
    end subroutine requests

    subroutine generalized()
        type(WAITIO_MPI_Request) :: req
        type(WAITIO_MPI_Status) :: status
        integer :: count
        logical :: flag
        call WAITIO_MPI_Grequest_start(say_what, count_end, be_cancelled, &
                                       98_WAITIO_MPI_ADDRESS_KIND, req)
        call WAITIO_MPI_Cancel(req)
        call WAITIO_MPI_Grequest_complete(req)
        call WAITIO_MPI_Wait(req, status)
        call WAITIO_MPI_Get_count(status, WAITIO_MPI_INTEGER, count)
        call WAITIO_MPI_Test_cancelled(status, flag)
        call expect(status%MPI_SOURCE == 98 .and. count == 3 .and. flag, 'a generalized request')
        call expect(calls == 101, 'its functions')
        call WAITIO_MPI_Status_set_elements_x(status, WAITIO_MPI_INTEGER, 6_8)
        call WAITIO_MPI_Get_count(status, WAITIO_MPI_INTEGER, count)
        call expect(count == 6, 'elements that were set')
    end subroutine generalized

    subroutine attributes_of_types()
        integer :: type, key, ni, na, nt, combiner, numbers(3), parts(1)
        integer(WAITIO_MPI_ADDRESS_KIND) :: value, addresses(1)
        logical :: flag
        call WAITIO_MPI_Type_create_keyval(WAITIO_MPI_Type_dup_fn, WAITIO_MPI_Type_null_delete_fn, &
                                           key, 0_WAITIO_MPI_ADDRESS_KIND)
        call WAITIO_MPI_Type_vector(3, 2, 4, WAITIO_MPI_REAL, type)
        call WAITIO_MPI_Type_set_attr(type, key, 78_WAITIO_MPI_ADDRESS_KIND)
        call WAITIO_MPI_Type_get_attr(type, key, value, flag)
        call expect(flag .and. value == 78, 'an attribute of a type')
        call WAITIO_MPI_Type_delete_attr(type, key)
        call WAITIO_MPI_Type_free_keyval(key)
        call WAITIO_MPI_Type_get_envelope(type, ni, na, nt, combiner)
        call expect(combiner == WAITIO_MPI_COMBINER_VECTOR .and. ni == 3, 'how a type was made')
        call WAITIO_MPI_Type_get_contents(type, 3, 1, 1, numbers, addresses, parts)
        call expect(all(numbers == [3, 2, 4]) .and. parts(1) == WAITIO_MPI_REAL, 'of what')
        call WAITIO_MPI_Type_free(type)
    end subroutine attributes_of_types

    subroutine attributes()
        integer :: key, dup, narrow, length, info
        integer(WAITIO_MPI_ADDRESS_KIND) :: value
        logical :: flag
        character(len=12) :: name
        external :: waitio_mpi_keyval_create, waitio_mpi_attr_put, waitio_mpi_attr_get, &
            waitio_mpi_dup_fn, waitio_mpi_null_delete_fn
        call WAITIO_MPI_Comm_create_keyval(WAITIO_MPI_Comm_dup_fn, WAITIO_MPI_Comm_null_delete_fn, &
                                           key, 0_WAITIO_MPI_ADDRESS_KIND)
        call WAITIO_MPI_Comm_set_attr(world, key, 77_WAITIO_MPI_ADDRESS_KIND)
        call WAITIO_MPI_Comm_dup(world, dup)
        call WAITIO_MPI_Comm_get_attr(dup, key, value, flag)
        call expect(flag .and. value == 77, 'an attribute that was copied')
        call WAITIO_MPI_Comm_free(dup)
        call WAITIO_MPI_Comm_free_keyval(key)
        call WAITIO_MPI_Comm_get_attr(world, WAITIO_MPI_TAG_UB, value, flag)
        call expect(flag .and. value == huge(0), 'the greatest tag')
        call attributes_of_types()
        ! As in MPI-1.
        call waitio_mpi_keyval_create(waitio_mpi_dup_fn, waitio_mpi_null_delete_fn, key, 0, ierr)
        call waitio_mpi_attr_put(world, key, -5, ierr)
        call WAITIO_MPI_Comm_dup(world, dup)
        narrow = 0
        call waitio_mpi_attr_get(dup, key, narrow, flag, ierr)
        call expect(flag .and. narrow == -5, 'an attribute that is a default integer')
        call WAITIO_MPI_Comm_free(dup)
        call WAITIO_MPI_Keyval_free(key)
        call WAITIO_MPI_Type_get_name(WAITIO_MPI_REAL8, name, length)
        call expect(name == 'MPI_REAL8' .and. length == 9, 'name of a type')
        call WAITIO_MPI_Info_create(info, ierr)
        call WAITIO_MPI_Info_set(info, 'striping', '4')
        call WAITIO_MPI_Info_get_nthkey(info, 0, name)
        call expect(name == 'striping', 'a key')
        length = 1
        call WAITIO_MPI_Info_get_string(info, 'striping', length, name, flag)
        call expect(flag .and. length == 1 .and. name == '4', 'a hint as a text')
        call WAITIO_MPI_Info_free(info)
        call WAITIO_MPI_Info_create_env(info)
        call WAITIO_MPI_Info_get_string(info, 'nothing', length, name, flag)
        call expect(.not. flag, 'a hint that is not there')
        call WAITIO_MPI_Info_free(info)
        call expect(info == WAITIO_MPI_INFO_NULL, 'freed hints')
    end subroutine attributes

    subroutine matched()
        type(WAITIO_MPI_Request) :: reqs(2)
        type(WAITIO_MPI_Status) :: status
        integer :: message, count
        integer, asynchronous :: out, in
        logical :: flag
        out = 5 * me
        call WAITIO_MPI_Isend(out, 1, WAITIO_MPI_INTEGER, next, 31, world, reqs(1))
        flag = .false.
        do while (.not. flag)
            call WAITIO_MPI_Improbe(last, 31, world, flag, message, status)
        end do
        call WAITIO_MPI_Imrecv(in, 1, WAITIO_MPI_INTEGER, message, reqs(2))
        flag = .false.
        do while (.not. flag)
            call WAITIO_MPI_Request_get_status(reqs(2), flag, status)
        end do
        call WAITIO_MPI_Get_count(status, WAITIO_MPI_INTEGER, count)
        call expect(count == 1 .and. status%MPI_SOURCE == last, 'status of a matched receive')
        call WAITIO_MPI_Waitall(2, reqs, WAITIO_MPI_STATUSES_IGNORE)
        call expect(in == 5 * last .and. message == WAITIO_MPI_MESSAGE_NULL, 'matched receive')
        call expect(reqs(1) == WAITIO_MPI_REQUEST_NULL, 'a request that is complete')
    end subroutine matched

    subroutine refused()
        integer :: a(4, 4), length, code
        character(len=40) :: text
        call WAITIO_MPI_Comm_set_errhandler(world, WAITIO_MPI_ERRORS_RETURN)
        a = 0
        call WAITIO_MPI_Reduce(a(1, :), a(:, 1), 4, WAITIO_MPI_INTEGER, WAITIO_MPI_SUM, 0, world, code)
        call expect(code < 0, 'refusal of a section in a reduction')
        call WAITIO_MPI_Error_string(code, text, length, ierr)
        call expect(text /= '' .and. ierr == 0, 'text of an error')
        call WAITIO_MPI_Comm_set_errhandler(world, WAITIO_MPI_ERRORS_ARE_FATAL)
    end subroutine refused
end program faces_loose
