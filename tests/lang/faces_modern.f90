! SPDX-License-Identifier: BSD-3-Clause
! The calls of MPI in module waitio: strict types, sections with gaps, absent statuses.
module faces_operator
    use, intrinsic :: iso_c_binding, only: c_f_pointer, c_int, c_intptr_t, c_ptr
    use waitio, only: waitio_datatype, waitio_status, WAITIO_MPI_DOUBLE_PRECISION, operator(/=), &
        waitio_mpi_status_set_elements, waitio_mpi_status_set_cancelled
    implicit none
    integer :: ends = 0, noted = 0
contains
    ! z = x + y - x y of doubles; not commutative is tested in C.
    subroutine either(invec, inoutvec, length, datatype)
        type(c_ptr), value :: invec, inoutvec
        integer(c_int) :: length
        type(waitio_datatype) :: datatype
        real(8), pointer :: x(:), y(:)
        if (datatype /= WAITIO_MPI_DOUBLE_PRECISION) return
        call c_f_pointer(invec, x, [length])
        call c_f_pointer(inoutvec, y, [length])
        y = x + y - x * y
    end subroutine either

    subroutine add_one(oldcomm, keyval, extra_state, attribute_in, attribute_out, flag, ierr)
        integer(c_int) :: oldcomm, keyval, ierr
        integer(c_intptr_t) :: extra_state, attribute_in, attribute_out
        logical :: flag
        attribute_out = attribute_in + 1 + extra_state
        flag = oldcomm /= 0 .and. keyval /= 0
        ierr = 0
    end subroutine add_one

    subroutine count_ends(comm, keyval, attribute, extra_state, ierr)
        integer(c_int) :: comm, keyval, ierr
        integer(c_intptr_t) :: attribute, extra_state
        if (attribute >= 5000000000_c_intptr_t .and. extra_state == 10 .and. comm /= 0 .and. &
            keyval /= 0) ends = ends + 1
        ierr = 0
    end subroutine count_ends

    subroutine say_what(extra_state, status, ierr)
        integer(c_intptr_t) :: extra_state
        type(waitio_status) :: status
        integer(c_int) :: ierr
        status%source = int(extra_state)
        call waitio_mpi_status_set_elements(status, WAITIO_MPI_DOUBLE_PRECISION, 2, ierr)
        call waitio_mpi_status_set_cancelled(status, .true., ierr)
    end subroutine say_what

    subroutine count_end(extra_state, ierr)
        integer(c_intptr_t) :: extra_state
        integer(c_int) :: ierr
        if (extra_state == 99) ends = ends + 1
        ierr = 0
    end subroutine count_end

    subroutine be_cancelled(extra_state, complete, ierr)
        integer(c_intptr_t) :: extra_state
        logical :: complete
        integer(c_int) :: ierr
        if (extra_state == 99 .and. .not. complete) ends = ends + 10
        ierr = 0
    end subroutine be_cancelled

    subroutine note_error(comm, code)
        integer(c_int) :: comm, code
        if (comm /= 0) noted = code
    end subroutine note_error
end module faces_operator

program faces_modern
    use, intrinsic :: iso_c_binding, only: c_int64_t, c_intptr_t
    use waitio
    use faces_operator
    implicit none
    integer :: bad = 0, me, n, next, last
    type(waitio_group) :: world

    call waitio_mpi_init()
    world = waitio_mpi_comm_world()
    call waitio_mpi_comm_rank(world, me)
    call waitio_mpi_comm_size(world, n)
    next = mod(me + 1, n)
    last = mod(me + n - 1, n)
    call sections()
    call derived()
    call collectives()
    call communicators()
    call requests()
    call refused()
    call small_calls()
    call attributes()
    call names()
    call matched()
    call waitio_mpi_barrier(world) ! who has ended cannot be probed for
    call waitio_mpi_finalize()
    if (bad /= 0) error stop 1
    print '(a)', 'ok'

contains

    subroutine expect(ok, what)
        logical, intent(in) :: ok
        character(len=*), intent(in) :: what
        if (ok) return
        bad = bad + 1
        write (0, *) 'faces_modern: ', what, ' is wrong'
    end subroutine expect

    ! Every other row, the same in three dimensions, a part that ends within a column, characters.
    subroutine sections()
        real(8), asynchronous :: a(6, 5), b(6, 5)
        integer, asynchronous :: c(4, 4, 4), d(4, 4, 4)
        character(len=3) :: text(6)
        type(waitio_request) :: reqs(2)
        type(waitio_status) :: status
        integer :: i, j, count
        a = reshape([((100 * me + 10 * i + j, i=1, 6), j=1, 5)], [6, 5])
        b = -1
        call waitio_mpi_irecv(b(2:6:2, :), 15, WAITIO_MPI_DOUBLE_PRECISION, last, 1, world, reqs(1))
        call waitio_mpi_isend(a(1:5:2, :), 15, WAITIO_MPI_DOUBLE_PRECISION, next, 1, world, reqs(2))
        call waitio_mpi_waitall(2, reqs)
        call expect(all(nint(b(2:6:2, :) - a(1:5:2, :)) == 100 * (last - me)), 'every other row')
        call expect(all(nint(b(1:5:2, :)) == -1), 'what lies between')
        c = me + reshape([(1000 * i, i=1, 64)], [4, 4, 4])
        d = -1
        call waitio_mpi_sendrecv(c(2:4:2, ::3, 2:3), 7, WAITIO_MPI_INTEGER, next, 2, &
                                 d(2:4:2, ::3, 2:3), 8, WAITIO_MPI_INTEGER, last, 2, world, status)
        call waitio_mpi_get_count(status, WAITIO_MPI_INTEGER, count)
        call expect(count == 7 .and. status%source == last, 'count of a part')
        call expect(all(d(2:4:2, ::3, 2) == c(2:4:2, ::3, 2) + last - me), 'first plane of a part')
        call expect(d(2, 1, 3) == c(2, 1, 3) + last - me .and. d(4, 4, 3) == -1, 'rest of a part')
        call expect(count_of(d, -1) == 64 - 7, 'what lies around')
        text = '...'
        if (me == n - 1) text(1:5:2) = ['abc', 'def', 'ghi']
        call waitio_mpi_bcast(text(1:5:2), 9, WAITIO_MPI_CHARACTER, n - 1, world)
        call expect(text(3) == 'def' .and. text(5) == 'ghi', 'characters')
        call expect(me == n - 1 .or. text(2) == '...', 'characters between')
    end subroutine sections

    pure integer function count_of(d, x)
        integer, intent(in) :: d(:, :, :), x
        count_of = count(d == x)
    end function count_of

    subroutine derived()
        type(waitio_datatype) :: column, part, both
        integer(c_intptr_t) :: places(2), lb, extent, bytes
        integer :: size, position
        integer :: m(4, 4)
        real :: x
        character :: room(64)
        call waitio_mpi_type_vector(4, 1, 4, WAITIO_MPI_INTEGER, column) ! a row
        call waitio_mpi_type_commit(column)
        m = me
        call waitio_mpi_sendrecv(m(1, 1), 1, column, next, 3, m(2, 1), 1, column, last, 3, world)
        call expect(all(m(2, :) == last) .and. all(m(3, :) == me), 'a row by a vector type')
        call waitio_mpi_type_create_subarray(2, [4, 4], [2, 2], [1, 1], WAITIO_MPI_ORDER_FORTRAN, &
                                             WAITIO_MPI_INTEGER, part)
        call waitio_mpi_type_commit(part)
        if (me == 0) m = 77
        call waitio_mpi_bcast(m, 1, part, 0, world)
        call expect(all(m(2:3, 2:3) == 77) .and. (me == 0 .or. m(4, 4) == me), 'a subarray')
        call waitio_mpi_get_address(m(1, 1), places(1))
        call waitio_mpi_get_address(x, places(2))
        call waitio_mpi_type_create_struct(2, [1, 1], places, [WAITIO_MPI_INTEGER, WAITIO_MPI_REAL], &
                                           both)
        call waitio_mpi_type_commit(both)
        m = me
        x = me / 4.0
        call waitio_mpi_f_sync_reg(m)
        call waitio_mpi_f_sync_reg(x)
        call waitio_mpi_sendrecv_replace(WAITIO_MPI_BOTTOM, 1, both, next, 3, last, 3, world)
        call waitio_mpi_f_sync_reg(m)
        call waitio_mpi_f_sync_reg(x)
        call expect(m(1, 1) == last .and. nint(4 * x) == last .and. m(2, 1) == me, 'bottom')
        call waitio_mpi_type_get_extent(part, lb, extent)
        call waitio_mpi_type_size(part, size)
        call expect(lb == 0 .and. extent == 64 .and. size == 16, 'extent and size')
        position = 0
        call waitio_mpi_pack([1, 2, 3], 3, WAITIO_MPI_INTEGER, room, 64, position, world)
        call waitio_mpi_pack(x, 1, WAITIO_MPI_REAL, room, 64, position, world)
        call expect(position == 16, 'packed size')
        position = 0
        call waitio_mpi_unpack(room, 64, position, m(:, 1), 3, WAITIO_MPI_INTEGER, world)
        call expect(all(m(1:3, 1) == [1, 2, 3]), 'unpacked')
        call waitio_mpi_pack_external_size('external32', 2, WAITIO_MPI_REAL, bytes)
        call expect(bytes == 8, 'size in external32')
        bytes = 0
        call waitio_mpi_pack_external('external32', [4, 5], 2, WAITIO_MPI_INTEGER, room, &
            64_c_intptr_t, bytes)
        call expect(bytes == 8, 'packed in external32')
        bytes = 0
        call waitio_mpi_unpack_external('external32', room, 64_c_intptr_t, bytes, m(:, 1), 2, &
            WAITIO_MPI_INTEGER)
        call expect(all(m(1:2, 1) == [4, 5]), 'unpacked from external32')
        call waitio_mpi_type_free(column)
        call waitio_mpi_type_free(part)
        call waitio_mpi_type_free(both)
        call expect(both == WAITIO_MPI_DATATYPE_NULL, 'freed type')
    end subroutine derived

    subroutine collectives()
        type(waitio_op) :: op
        type(waitio_request) :: reqs(3)
        logical :: commute
        real(8) :: x(2), want(2)
        integer, asynchronous :: a(2), total(2), got(0:2 * n - 1), every(0:n - 1)
        integer :: counts(0:n - 1), places(0:n - 1), r, i
        call waitio_mpi_op_create(either, .true., op)
        call waitio_mpi_op_commutative(op, commute)
        call expect(commute, 'commutative')
        x = 0.5d0
        call waitio_mpi_allreduce(WAITIO_MPI_IN_PLACE, x, 2, WAITIO_MPI_DOUBLE_PRECISION, op, world)
        want = 1 - 0.5d0**n
        call expect(all(abs(x - want) < 1d-14), 'an operator of the program, in place')
        call waitio_mpi_op_free(op)
        a = [me, 10 * me]
        every = me
        call waitio_mpi_iallreduce(a, total, 2, WAITIO_MPI_INTEGER, WAITIO_MPI_SUM, world, reqs(1))
        counts = 2
        places = [(2 * (n - 1 - r), r=0, n - 1)]
        call waitio_mpi_iallgatherv(a, 2, WAITIO_MPI_INTEGER, got, counts, places, &
                                    WAITIO_MPI_INTEGER, world, reqs(2))
        call waitio_mpi_ibarrier(world, reqs(3))
        call waitio_mpi_waitall(3, reqs)
        call expect(all(total == [1, 10] * (n * (n - 1) / 2)), 'iallreduce')
        call expect(all(got == [((merge(r, 10 * r, i == 0), i=0, 1), r=n - 1, 0, -1)]), 'iallgatherv')
        call waitio_mpi_alltoall(WAITIO_MPI_IN_PLACE, 1, WAITIO_MPI_INTEGER, every, 1, &
                                 WAITIO_MPI_INTEGER, world)
        call expect(all(every == [(r, r=0, n - 1)]), 'alltoall in place')
        call waitio_mpi_gather(me, 1, WAITIO_MPI_INTEGER, got, 1, WAITIO_MPI_INTEGER, 0, world)
        if (me == 0) call expect(all(got(0:n - 1) == [(r, r=0, n - 1)]), 'gather')
        ! Those that find out the type.
        got = [(10 * me + r, r=0, 2 * n - 1)]
        a = -1
        call waitio_scatter(got, a, n - 1, world)
        call expect(all(a == 10 * (n - 1) + 2 * me + [0, 1]), 'scatter')
        every = [(100 * me + r, r=0, n - 1)]
        call waitio_alltoall(every, got(0:n - 1), world)
        call expect(all(got(0:n - 1) == [(100 * r + me, r=0, n - 1)]), 'alltoall')
        call waitio_scan([me, 1], a, WAITIO_SUM, world)
        call expect(all(a == [me * (me + 1) / 2, me + 1]), 'scan')
        a = -1
        call waitio_exscan([me, 1], a, WAITIO_SUM, world)
        call expect(all(a == merge([-1, -1], [me * (me - 1) / 2, me], me == 0)), 'exscan')
    end subroutine collectives

    subroutine communicators()
        type(waitio_group) :: half, all_of_it, odd, grid
        integer :: rank, size, same, coords(1), dims(1), source, dest, r
        logical :: periods(1)
        call waitio_mpi_comm_split(world, mod(me, 2), -me, half)
        call waitio_mpi_comm_size(half, size)
        call waitio_mpi_comm_rank(half, rank)
        call expect(size == (n + 1 - mod(me, 2)) / 2 .and. rank == size - 1 - me / 2, 'split')
        call waitio_mpi_comm_free(half)
        call expect(half == WAITIO_MPI_COMM_NULL .and. world /= WAITIO_MPI_COMM_NULL, 'freed')
        call waitio_mpi_comm_group(world, all_of_it)
        call waitio_mpi_group_excl(all_of_it, 1, [0], odd)
        call waitio_mpi_group_size(odd, size)
        call expect(size == n - 1, 'group without one')
        call waitio_mpi_group_range_incl(all_of_it, 1, reshape([n - 1, 0, -1], [3, 1]), half)
        call waitio_mpi_group_compare(all_of_it, half, same)
        call expect(same == merge(WAITIO_MPI_IDENT, WAITIO_MPI_SIMILAR, n == 1), 'compared groups')
        call waitio_mpi_group_free(odd)
        call waitio_mpi_group_free(half)
        call waitio_mpi_group_free(all_of_it)
        call waitio_mpi_cart_create(world, 1, [n], [.true.], .false., grid)
        call waitio_mpi_cart_get(grid, 1, dims, periods, coords)
        call expect(periods(1) .and. coords(1) == me .and. dims(1) == n, 'grid')
        call waitio_mpi_cart_shift(grid, 0, 1, source, dest)
        call expect(source == last .and. dest == next, 'neighbours')
        call waitio_mpi_comm_free(grid)
        call waitio_mpi_comm_dup(world, half)
        do r = 0, n - 1
            if (r /= me) call waitio_mpi_send(me, 1, WAITIO_MPI_INTEGER, r, 0, half)
        end do
        do r = 0, n - 1
            if (r /= me) call waitio_mpi_recv(rank, 1, WAITIO_MPI_INTEGER, r, 0, half)
            if (r /= me) call expect(rank == r, 'message in a duplicate')
        end do
        call waitio_mpi_comm_free(half)
    end subroutine communicators

    subroutine requests()
        type(waitio_request) :: reqs(2)
        type(waitio_status) :: status
        integer, asynchronous :: out, in
        integer :: index, round
        logical :: flag
        call waitio_mpi_send_init(out, 1, WAITIO_MPI_INTEGER, next, 4, world, reqs(1))
        call waitio_mpi_recv_init(in, 1, WAITIO_MPI_INTEGER, last, 4, world, reqs(2))
        do round = 1, 3
            out = 10 * me + round
            in = -1
            call waitio_mpi_startall(2, reqs)
            call waitio_mpi_waitany(2, reqs, index, status)
            call expect(index == 1 .or. index == 2, 'index')
            call waitio_mpi_waitall(2, reqs)
            call expect(in == 10 * last + round, 'persistent')
        end do
        call waitio_mpi_request_free(reqs(1))
        call waitio_mpi_request_free(reqs(2))
        call expect(all(reqs == WAITIO_MPI_REQUEST_NULL), 'freed requests')
        call waitio_mpi_waitany(2, reqs, index)
        call expect(index == WAITIO_MPI_UNDEFINED, 'index of none')
        call waitio_mpi_iprobe(last, 98, world, flag)
        call expect(.not. flag, 'nothing to probe')
        call waitio_mpi_isend(me, 1, WAITIO_MPI_INTEGER, next, 99, world, reqs(1))
        call waitio_mpi_probe(WAITIO_MPI_ANY_SOURCE, 99, world, status)
        call expect(status%source == last .and. status%bytes == 4, 'probed')
        call waitio_mpi_recv(in, 1, WAITIO_MPI_INTEGER, status%source, 99, world)
        call waitio_mpi_test(reqs(1), flag)
        do while (.not. flag)
            call waitio_mpi_test(reqs(1), flag, status)
        end do
        call expect(in == last, 'message that was probed')
    end subroutine requests

    ! With gaps: a reduction, a type that is not the elements', a section that is too small.
    subroutine refused()
        real(8) :: a(4, 4), b(4)
        integer :: ierr, length
        character(len=80) :: text
        call waitio_mpi_comm_set_errhandler(world, WAITIO_MPI_ERRORS_RETURN)
        a = 0
        call waitio_mpi_allreduce(a(1, :), b, 4, WAITIO_MPI_DOUBLE_PRECISION, WAITIO_MPI_SUM, world, &
                                  ierr)
        call expect(ierr == WAITIO_ERR_ARG, 'refusal of a section in a reduction')
        call waitio_mpi_send(a(1, :), 2, WAITIO_MPI_DOUBLE_COMPLEX, me, 5, world, ierr)
        call expect(ierr == WAITIO_ERR_ARG, 'refusal of a type')
        call waitio_mpi_send(a(1, :), 5, WAITIO_MPI_DOUBLE_PRECISION, me, 5, world, ierr)
        call expect(ierr == WAITIO_ERR_ARG, 'refusal of a count')
        call waitio_mpi_send(a, 1, WAITIO_MPI_DOUBLE_PRECISION, n, 5, world, ierr)
        call expect(ierr == WAITIO_ERR_RANK, 'a rank out of range')
        call waitio_mpi_error_string(ierr, text, length)
        call expect(length > 5 .and. len_trim(text) == length, 'text of an error')
        call waitio_mpi_comm_set_errhandler(world, WAITIO_MPI_ERRORS_ARE_FATAL)
    end subroutine refused

    subroutine small_calls()
        character(len=WAITIO_MPI_MAX_PROCESSOR_NAME) :: name
        integer :: length, version, subversion, provided
        logical :: flag
        call waitio_mpi_get_processor_name(name, length)
        call expect(length > 0 .and. len_trim(name) == length, 'name of the processor')
        call waitio_mpi_get_version(version, subversion)
        call expect(version == 3, 'version')
        call waitio_mpi_query_thread(provided)
        call expect(provided == WAITIO_MPI_THREAD_MULTIPLE, 'threads')
        call waitio_mpi_initialized(flag)
        call expect(flag, 'initialized')
        call expect(waitio_wtime() > 0, 'time')
    end subroutine small_calls

    subroutine attributes()
        type(waitio_group) :: one, two
        integer :: key, kept
        integer(c_intptr_t) :: value
        logical :: flag
        call waitio_mpi_comm_get_attr(world, WAITIO_MPI_UNIVERSE_SIZE, value, flag)
        call expect(flag .and. value == n, 'size of the universe')
        call waitio_mpi_comm_create_keyval(add_one, count_ends, key, 10_c_intptr_t)
        call waitio_mpi_comm_create_keyval(waitio_mpi_comm_dup_fn, waitio_mpi_comm_null_delete_fn, &
                                           kept, 0_c_intptr_t)
        call waitio_mpi_comm_dup(world, one)
        call waitio_mpi_comm_set_attr(one, key, 5000000000_c_intptr_t)
        call waitio_mpi_comm_set_attr(one, kept, -3_c_intptr_t)
        call waitio_mpi_comm_dup(one, two)
        call waitio_mpi_comm_get_attr(two, key, value, flag)
        call expect(flag .and. value == 5000000011_c_intptr_t, 'an attribute that a function copied')
        call waitio_mpi_comm_get_attr(two, kept, value, flag)
        call expect(flag .and. value == -3, 'an attribute that was copied')
        call waitio_mpi_comm_delete_attr(two, kept)
        call waitio_mpi_comm_get_attr(two, kept, value, flag)
        call expect(.not. flag, 'an attribute that was deleted')
        call waitio_mpi_comm_free(two)
        call waitio_mpi_comm_free(one)
        call expect(ends == 2, 'calls at the end of attributes')
        call waitio_mpi_comm_free_keyval(key)
        call waitio_mpi_comm_free_keyval(kept)
        call attributes_of_types()
        call generalized()
        call expect(key == WAITIO_MPI_KEYVAL_INVALID, 'a key that was freed')
    end subroutine attributes

    subroutine generalized()
        type(waitio_request) :: request
        type(waitio_status) :: status
        integer :: count
        logical :: flag
        ends = 0
        call waitio_mpi_grequest_start(say_what, count_end, be_cancelled, 99_c_intptr_t, request)
        call waitio_mpi_cancel(request)
        call waitio_mpi_grequest_complete(request)
        call waitio_mpi_wait(request, status)
        call waitio_mpi_get_count(status, WAITIO_MPI_DOUBLE_PRECISION, count)
        call waitio_mpi_test_cancelled(status, flag)
        call expect(status%source == 99 .and. count == 2 .and. flag, 'a generalized request')
        call expect(ends == 11, 'its functions')
        call waitio_mpi_status_set_elements_x(status, WAITIO_MPI_DOUBLE_PRECISION, 5_c_int64_t)
        call waitio_mpi_get_count(status, WAITIO_MPI_DOUBLE_PRECISION, count)
        call expect(count == 5, 'elements that were set')
    end subroutine generalized

    subroutine attributes_of_types()
        type(waitio_datatype) :: one, two, parts(1)
        integer :: key, ni, na, nt, combiner, numbers(3)
        integer(c_intptr_t) :: value, addresses(1)
        logical :: flag
        call waitio_mpi_type_vector(3, 2, 4, WAITIO_MPI_REAL, one)
        call waitio_mpi_type_create_keyval(waitio_mpi_type_dup_fn, waitio_mpi_type_null_delete_fn, &
                                           key, 0_c_intptr_t)
        call waitio_mpi_type_set_attr(one, key, 77_c_intptr_t)
        call waitio_mpi_type_dup(one, two)
        call waitio_mpi_type_get_attr(two, key, value, flag)
        call expect(flag .and. value == 77, 'an attribute of a type')
        call waitio_mpi_type_delete_attr(two, key)
        call waitio_mpi_type_free_keyval(key)
        call waitio_mpi_type_free(two)
        call waitio_mpi_type_get_envelope(one, ni, na, nt, combiner)
        call expect(ni == 3 .and. na == 0 .and. nt == 1, 'arguments of a type')
        call expect(combiner == WAITIO_MPI_COMBINER_VECTOR, 'how a type was made')
        call waitio_mpi_type_get_contents(one, 3, 1, 1, numbers, addresses, parts)
        call expect(all(numbers == [3, 2, 4]), 'what a type was made of')
        call waitio_mpi_type_free(one)
    end subroutine attributes_of_types

    subroutine names()
        type(waitio_info) :: info
        type(waitio_errhandler) :: handler
        character(len=20) :: text
        integer :: length, code
        logical :: flag
        call waitio_mpi_comm_set_name(world, 'ocean and ice  ')
        call waitio_mpi_comm_get_name(world, text, length)
        call expect(text == 'ocean and ice' .and. length == 13, 'name of a communicator')
        call waitio_mpi_info_create(info)
        call waitio_mpi_info_set(info, 'key ', 'a value')
        call waitio_mpi_info_get(info, 'key', 20, text, flag)
        call expect(flag .and. text == 'a value', 'a hint')
        length = 0
        call waitio_mpi_info_get_string(info, 'key', length, text, flag)
        call expect(flag .and. length == 7, 'room that a hint needs')
        call waitio_mpi_info_get_string(info, 'key', length, text, flag)
        call expect(flag .and. length == 7 .and. text == 'a value', 'a hint as a text')
        call waitio_mpi_info_free(info)
        call sizes()
        call waitio_mpi_info_create_env(info)
        call waitio_mpi_info_get(info, 'thread_level', 20, text, flag)
        call expect(flag .and. text == 'MPI_THREAD_MULTIPLE', 'what is known about the start')
        call waitio_mpi_info_free(info)
        call expect(info == WAITIO_MPI_INFO_NULL, 'freed hints')
        call waitio_mpi_comm_create_errhandler(note_error, handler)
        call waitio_mpi_comm_set_errhandler(world, handler)
        call waitio_mpi_send(me, 1, WAITIO_MPI_INTEGER, n, 5, world, code)
        call expect(code == WAITIO_ERR_RANK .and. noted == code, 'an error handler of the program')
        call waitio_mpi_comm_set_errhandler(world, WAITIO_MPI_ERRORS_ARE_FATAL)
        call waitio_mpi_errhandler_free(handler)
    end subroutine names

    subroutine sizes()
        integer :: bytes, code, number
        complex(kind(1d0)) :: field(2, 3)
        number = 0
        call waitio_mpi_sizeof(number, bytes)
        call expect(bytes == 4, 'size of an integer')
        call waitio_mpi_sizeof(field, bytes, code)
        call expect(bytes == 16 .and. code == 0, 'size of an element of a field')
        call waitio_mpi_sizeof(field(1, :), bytes)
        call expect(bytes == 16, 'size of an element of a section')
        call waitio_mpi_sizeof(1.0, bytes)
        call expect(bytes == 4, 'size of a constant')
    end subroutine sizes

    subroutine matched()
        type(waitio_message) :: message
        type(waitio_request) :: req
        type(waitio_status) :: status
        integer, asynchronous :: in(4), out(2)
        logical :: flag
        out = [me, -me]
        in = 99
        call waitio_mpi_isend(out, 2, WAITIO_MPI_INTEGER, next, 31, world, req)
        call waitio_mpi_mprobe(last, 31, world, message, status)
        call expect(status%bytes == 8, 'bytes of a matched message')
        call waitio_mpi_mrecv(in(1:3:2), 2, WAITIO_MPI_INTEGER, message, status)
        call expect(all(in == [last, 99, -last, 99]) .and. status%source == last, 'matched receive')
        call waitio_mpi_wait(req)
        call waitio_mpi_request_get_status(req, flag)
        call expect(flag, 'status of a null request')
    end subroutine matched
end program faces_modern
