! SPDX-License-Identifier: BSD-3-Clause
! Calls with wide counts in module waitio: each kind of argument that they have.
module faces_large_operator
    use, intrinsic :: iso_c_binding, only: c_f_pointer, c_int64_t, c_ptr
    use waitio, only: waitio_datatype, WAITIO_MPI_INTEGER, operator(==)
    implicit none
    integer(c_int64_t) :: longest = 0
contains
    subroutine most(invec, inoutvec, length, datatype)
        type(c_ptr), value :: invec, inoutvec
        integer(c_int64_t) :: length
        type(waitio_datatype) :: datatype
        integer, pointer :: x(:), y(:)
        call c_f_pointer(invec, x, [length])
        call c_f_pointer(inoutvec, y, [length])
        if (datatype == WAITIO_MPI_INTEGER) y = max(x, y)
        longest = max(longest, length)
    end subroutine most
end module faces_large_operator

program faces_large
    use, intrinsic :: iso_c_binding, only: c_int64_t, c_intptr_t
    use waitio
    use faces_large_operator
    implicit none
    integer, parameter :: wide = c_int64_t
    integer(wide), parameter :: many = 3000000000_wide ! more than an int
    integer :: bad = 0, me, n, next, last
    type(waitio_group) :: world

    call waitio_mpi_init()
    world = waitio_mpi_comm_world()
    call waitio_mpi_comm_rank(world, me)
    call waitio_mpi_comm_size(world, n)
    next = mod(me + 1, n)
    last = mod(me + n - 1, n)
    call messages()
    call collectives()
    call types()
    call packing()
    call waitio_mpi_finalize()
    if (bad /= 0) error stop 1
    print '(a)', 'ok'

contains

    subroutine expect(ok, what)
        logical, intent(in) :: ok
        character(len=*), intent(in) :: what
        if (ok) return
        bad = bad + 1
        write (0, *) 'faces_large: ', what, ' is wrong'
    end subroutine expect

    subroutine messages()
        type(waitio_request) :: req
        type(waitio_status) :: status
        integer, asynchronous :: out(6), in(6)
        integer(wide) :: count
        out = [1, 2, 3, 4, 5, 6] + 10 * me
        in = -1
        call waitio_mpi_isend_c(out, 3_wide, WAITIO_MPI_INTEGER, next, 1, world, req)
        call waitio_mpi_recv_c(in, many, WAITIO_MPI_INTEGER, last, 1, world, status)
        call waitio_mpi_wait(req)
        call waitio_mpi_get_count_c(status, WAITIO_MPI_INTEGER, count)
        call expect(count == 3 .and. all(in(1:3) == [1, 2, 3] + 10 * last), 'a message')
        call waitio_mpi_get_elements_c(status, WAITIO_MPI_INTEGER, count)
        call expect(count == 3, 'elements of a message')
        call waitio_mpi_sendrecv_c(out(1:5:2), 3_wide, WAITIO_MPI_INTEGER, next, 2, in(2:6:2), &
            3_wide, WAITIO_MPI_INTEGER, last, 2, world, status)
        call expect(all(in(2:6:2) == [1, 3, 5] + 10 * last), 'sections with gaps')
    end subroutine messages

    subroutine collectives()
        type(waitio_op) :: op
        type(waitio_request) :: req
        integer, asynchronous :: got(0:2 * n - 1), mine(2)
        integer(wide) :: counts(0:n - 1)
        integer(c_intptr_t) :: places(0:n - 1)
        integer :: r
        mine = [me, -me]
        counts = 2
        places = [(2_c_intptr_t * (n - 1 - r), r=0, n - 1)]
        call waitio_mpi_allgatherv_c(mine, 2_wide, WAITIO_MPI_INTEGER, got, counts, places, &
            WAITIO_MPI_INTEGER, world)
        call expect(all(got(0:2 * n - 2:2) == [(r, r=n - 1, 0, -1)]), 'allgatherv')
        got = 0
        call waitio_mpi_iallgather_c(mine, 2_wide, WAITIO_MPI_INTEGER, got, 2_wide, &
            WAITIO_MPI_INTEGER, world, req)
        call waitio_mpi_wait(req)
        call expect(all(got(1:2 * n - 1:2) == [(-r, r=0, n - 1)]), 'iallgather')
        call waitio_mpi_op_create_c(most, .true., op)
        call waitio_mpi_allreduce_init_c(WAITIO_MPI_IN_PLACE, mine, 2_wide, WAITIO_MPI_INTEGER, op, &
            world, WAITIO_MPI_INFO_NULL, req)
        call waitio_mpi_start(req)
        call waitio_mpi_wait(req)
        call waitio_mpi_request_free(req)
        call expect(all(mine == [n - 1, 0]), 'an operator')
        got = -1
        call waitio_mpi_reduce_local_c(mine, got, 2_wide, WAITIO_MPI_INTEGER, op)
        call expect(all(got(0:1) == [n - 1, 0]), 'reduce_local')
        call expect(longest == 2, 'the length of an operator')
        call waitio_mpi_op_free(op)
    end subroutine collectives

    subroutine types()
        type(waitio_datatype) :: large, part, kinds(1)
        integer(wide) :: ni, na, nc, nd, lb, extent, bytes, counts(3)
        integer :: combiner, small, integers(1)
        integer(c_intptr_t) :: addresses(1)
        call waitio_mpi_type_vector_c(2_wide, 1_wide, many, WAITIO_MPI_INTEGER, large)
        call waitio_mpi_type_get_extent_c(large, lb, extent)
        call expect(lb == 0 .and. extent == 4 * many + 4, 'the extent of far rows')
        call waitio_mpi_type_get_envelope_c(large, ni, na, nc, nd, combiner)
        call expect(all([ni, na, nc, nd] == [0, 0, 3, 1]), 'an envelope')
        call waitio_mpi_type_get_contents_c(large, ni, na, nc, nd, integers, addresses, counts, kinds)
        call expect(all(counts == [2_wide, 1_wide, many]), 'contents')
        call expect(kinds(1) == WAITIO_MPI_INTEGER, 'the part of a type')
        call waitio_mpi_type_contiguous_c(many, WAITIO_MPI_INTEGER, part)
        call waitio_mpi_type_size(part, small)
        call waitio_mpi_type_size_c(part, bytes)
        call expect(small == WAITIO_MPI_UNDEFINED .and. bytes == 4 * many, 'sizes')
        call waitio_mpi_type_free(part)
        call waitio_mpi_type_free(large)
    end subroutine types

    subroutine packing()
        integer :: back(3)
        character :: room(64)
        integer(wide) :: position, bytes
        call waitio_mpi_pack_size_c(many, WAITIO_MPI_INTEGER, world, bytes)
        call expect(bytes == 4 * many, 'a packed size')
        position = 0
        call waitio_mpi_pack_c([7, 8, 9], 3_wide, WAITIO_MPI_INTEGER, room, 64_wide, position, world)
        call expect(position == 12, 'the position of packing')
        position = 0
        call waitio_mpi_unpack_c(room, 64_wide, position, back, 3_wide, WAITIO_MPI_INTEGER, world)
        call expect(all(back == [7, 8, 9]), 'what was unpacked')
        position = 0
        call waitio_mpi_pack_external_c('external32', back, 3_wide, WAITIO_MPI_INTEGER, room, &
            64_wide, position)
        call expect(position == 12, 'packed in external32')
    end subroutine packing
end program faces_large
