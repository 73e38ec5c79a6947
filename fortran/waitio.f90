! SPDX-License-Identifier: BSD-3-Clause
!> WaitIO for modern Fortran: checked interfaces to the C library.
!>
!> Every procedure ends with an optional `ierr`: 0, or one of the negative WAITIO_ERR_ codes. When
!> it is left out, an error prints a message and ends the program. Buffers may have any type and
!> rank; their size comes with them. They must be contiguous: a buffer that is not is refused with
!> WAITIO_ERR_ARG, where a compiler would silently pass a temporary copy. Declare buffers of
!> non-blocking operations `asynchronous` (or `target`) in the calling scope.
!>
!> Collectives (barrier, bcast, reduce ...) belong to the conversion library: their errors end the
!> program even when ierr is given, unless WAITIO_ERRORS=return.
module waitio
    use, intrinsic :: iso_c_binding, only: c_char, c_double, c_f_pointer, c_int, c_int64_t, &
        c_intptr_t, c_null_char, c_ptr, c_size_t
    use waitio_types
    use waitio_mpi_constants
    use waitio_mpi_comms
    use waitio_mpi_types
    use waitio_mpi_messages
    use waitio_mpi_collectives
    use waitio_mpi_large
    implicit none
    private :: c_char, c_double, c_f_pointer, c_int, c_intptr_t, c_null_char, c_ptr, c_size_t

    include 'waitio_errors.inc'

    integer, parameter :: WAITIO_ANY_SOURCE = -1001 !< receive or probe: any sender
    integer, parameter :: WAITIO_ANY_TAG = -1002    !< receive or probe: any tag

    ! Operators of reductions.
    integer, parameter :: WAITIO_SUM = 524289
    integer, parameter :: WAITIO_MAX = 524290
    integer, parameter :: WAITIO_MIN = 524291
    integer, parameter :: WAITIO_PROD = 524292
    integer, parameter :: WAITIO_LAND = 524293
    integer, parameter :: WAITIO_BAND = 524294
    integer, parameter :: WAITIO_LOR = 524295
    integer, parameter :: WAITIO_BOR = 524296
    integer, parameter :: WAITIO_LXOR = 524297
    integer, parameter :: WAITIO_BXOR = 524298
    integer, parameter :: WAITIO_ERRORS_DEFAULT = 0
    integer, parameter :: WAITIO_ERRORS_RETURN = 1
    integer, parameter :: WAITIO_ERRORS_ABORT = 2

    interface
        !> Join the universe. timeout: seconds to wait for every PB (default 1000).
        subroutine waitio_init(timeout, ierr) bind(c, name='waitio_cfi_init')
            import :: c_int
            integer(c_int), intent(in), optional :: timeout
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_init

        !> Leave the universe: deliver what was sent, free everything.
        subroutine waitio_finalize(ierr) bind(c, name='waitio_cfi_finalize')
            import :: c_int
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_finalize

        !> Leave the universe, and meet its processes anew: a block has died and was started again.
        subroutine waitio_rejoin(timeout, ierr) bind(c, name='waitio_cfi_rejoin')
            import :: c_int
            integer(c_int), intent(in), optional :: timeout
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_rejoin

        !> Mark the present state as one from which to go on after a kill (WAITIO_FILE_RESUME=1).
        subroutine waitio_resume_mark(mark, ierr) bind(c, name='waitio_cfi_resume_mark')
            import :: c_int, c_int64_t
            integer(c_int64_t), intent(out) :: mark
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_resume_mark

        !> Go on from a mark, before all messages; 0: from the beginning.
        subroutine waitio_resume_from(mark, ierr) bind(c, name='waitio_cfi_resume_from')
            import :: c_int, c_int64_t
            integer(c_int64_t), intent(in) :: mark
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_resume_from

        !> What errors do: WAITIO_ERRORS_DEFAULT, _RETURN (the program looks at all ierr) or _ABORT.
        subroutine waitio_set_errors(mode, ierr) bind(c, name='waitio_cfi_set_errors')
            import :: c_int
            integer(c_int), intent(in) :: mode
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_set_errors

        !> Number of parallel blocks.
        subroutine waitio_pb_size(npb, ierr) bind(c, name='waitio_cfi_pb_size')
            import :: c_int
            integer(c_int), intent(out) :: npb
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_pb_size

        !> Id of my parallel block, from 0.
        subroutine waitio_pb_rank(pbid, ierr) bind(c, name='waitio_cfi_pb_rank')
            import :: c_int
            integer(c_int), intent(out) :: pbid
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_pb_rank

        !> Processes in the universe.
        subroutine waitio_universe_size(size, ierr) bind(c, name='waitio_cfi_universe_size')
            import :: c_int
            integer(c_int), intent(out) :: size
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_universe_size

        !> My rank in the universe.
        subroutine waitio_universe_rank(rank, ierr) bind(c, name='waitio_cfi_universe_rank')
            import :: c_int
            integer(c_int), intent(out) :: rank
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_universe_rank

        !> Processes of each PB; the array needs one element per PB.
        subroutine waitio_get_nprocs(nprocs, ierr) bind(c, name='waitio_cfi_get_nprocs')
            import :: c_int
            integer(c_int), intent(inout), contiguous :: nprocs(:)
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_get_nprocs

        !> The group of all processes, in universe rank order. gid: part of the message space.
        subroutine waitio_group_universe(group, gid, ierr) bind(c, name='waitio_cfi_group_universe')
            import :: c_int, waitio_group
            type(waitio_group), intent(out) :: group
            integer(c_int), intent(in), optional :: gid
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_group_universe

        !> The group of all processes of one PB.
        subroutine waitio_group_pb(group, pbid, gid, ierr) bind(c, name='waitio_cfi_group_pb')
            import :: c_int, waitio_group
            type(waitio_group), intent(out) :: group
            integer(c_int), intent(in) :: pbid
            integer(c_int), intent(in), optional :: gid
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_group_pb

        !> The group of the rank-0 processes of all PBs.
        subroutine waitio_group_pbheads(group, ierr) bind(c, name='waitio_cfi_group_pbheads')
            import :: c_int, waitio_group
            type(waitio_group), intent(out) :: group
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_group_pbheads

        !> A group by a filter. order(1+p): 1-based position of PB p's members, 0 = not in it.
        subroutine waitio_create_group(group, filter, order, gid, ierr) &
            bind(c, name='waitio_cfi_create_group')
            import :: c_int, waitio_filter, waitio_group
            type(waitio_group), intent(out) :: group
            procedure(waitio_filter) :: filter
            integer(c_int), intent(in), contiguous :: order(:)
            integer(c_int), intent(in), optional :: gid
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_create_group

        !> Free a group; it becomes null. Pending operations complete normally.
        subroutine waitio_group_free(group, ierr) bind(c, name='waitio_cfi_group_free')
            import :: c_int, waitio_group
            type(waitio_group), intent(inout) :: group
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_group_free

        !> Members of the group.
        subroutine waitio_group_size(group, size, ierr) bind(c, name='waitio_cfi_group_size')
            import :: c_int, waitio_group
            type(waitio_group), intent(in) :: group
            integer(c_int), intent(out) :: size
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_group_size

        !> My rank in the group, from 0; -1 when I am no member.
        subroutine waitio_group_rank(group, rank, ierr) bind(c, name='waitio_cfi_group_rank')
            import :: c_int, waitio_group
            type(waitio_group), intent(in) :: group
            integer(c_int), intent(out) :: rank
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_group_rank

        !> Group rank to PB id and rank in that PB.
        subroutine waitio_group_locate(group, rank, pbid, pb_rank, ierr) &
            bind(c, name='waitio_cfi_group_locate')
            import :: c_int, waitio_group
            type(waitio_group), intent(in) :: group
            integer(c_int), intent(in) :: rank
            integer(c_int), intent(out) :: pbid, pb_rank
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_group_locate

        !> PB id and rank in that PB to group rank, -1 when no member.
        subroutine waitio_group_find(group, pbid, pb_rank, rank, ierr) &
            bind(c, name='waitio_cfi_group_find')
            import :: c_int, waitio_group
            type(waitio_group), intent(in) :: group
            integer(c_int), intent(in) :: pbid, pb_rank
            integer(c_int), intent(out) :: rank
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_group_find

        !> Start a send. buf must stay unchanged until the request is complete.
        subroutine waitio_isend(group, dest, buf, tag, req, ierr) bind(c, name='waitio_cfi_isend')
            import :: c_int, waitio_group, waitio_request
            type(waitio_group), intent(in) :: group
            integer(c_int), intent(in) :: dest
            type(*), dimension(..), intent(in), asynchronous :: buf
            integer(c_int), intent(in) :: tag
            type(waitio_request), intent(out) :: req
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_isend

        !> Start a receive. buf must not be touched until the request is complete.
        subroutine waitio_irecv(group, source, buf, tag, req, ierr) bind(c, name='waitio_cfi_irecv')
            import :: c_int, waitio_group, waitio_request
            type(waitio_group), intent(in) :: group
            integer(c_int), intent(in) :: source
            type(*), dimension(..), intent(inout), asynchronous :: buf
            integer(c_int), intent(in) :: tag
            type(waitio_request), intent(out) :: req
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_irecv

        !> Send, and wait until buf may be used again.
        subroutine waitio_send(group, dest, buf, tag, ierr) bind(c, name='waitio_cfi_send')
            import :: c_int, waitio_group
            type(waitio_group), intent(in) :: group
            integer(c_int), intent(in) :: dest
            type(*), dimension(..), intent(in) :: buf
            integer(c_int), intent(in) :: tag
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_send

        !> Receive, and wait for the message.
        subroutine waitio_recv(group, source, buf, tag, status, ierr) bind(c, name='waitio_cfi_recv')
            import :: c_int, waitio_group, waitio_status
            type(waitio_group), intent(in) :: group
            integer(c_int), intent(in) :: source
            type(*), dimension(..), intent(inout) :: buf
            integer(c_int), intent(in) :: tag
            type(waitio_status), intent(out), optional :: status
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_recv

        !> Send and receive at once, without deadlock.
        subroutine waitio_sendrecv(group, dest, sbuf, stag, source, rbuf, rtag, status, ierr) &
            bind(c, name='waitio_cfi_sendrecv')
            import :: c_int, waitio_group, waitio_status
            type(waitio_group), intent(in) :: group
            integer(c_int), intent(in) :: dest, stag, source, rtag
            type(*), dimension(..), intent(in) :: sbuf
            type(*), dimension(..), intent(inout) :: rbuf
            type(waitio_status), intent(out), optional :: status
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_sendrecv

        !> Wait for one operation; the request becomes null.
        subroutine waitio_wait(req, status, ierr) bind(c, name='waitio_cfi_wait')
            import :: c_int, waitio_request, waitio_status
            type(waitio_request), intent(inout) :: req
            type(waitio_status), intent(out), optional :: status
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_wait

        !> Wait for all operations; ierr is the first error, statuses hold each one's.
        subroutine waitio_waitall(reqs, statuses, ierr) bind(c, name='waitio_cfi_waitall')
            import :: c_int, waitio_request, waitio_status
            type(waitio_request), intent(inout), contiguous :: reqs(:)
            type(waitio_status), intent(inout), contiguous, optional :: statuses(:)
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_waitall

        !> Wait for any one. index counts from 1; 0 when all requests are null.
        subroutine waitio_waitany(reqs, index, status, ierr) bind(c, name='waitio_cfi_waitany')
            import :: c_int, waitio_request, waitio_status
            type(waitio_request), intent(inout), contiguous :: reqs(:)
            integer(c_int), intent(out) :: index
            type(waitio_status), intent(out), optional :: status
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_waitany

        !> Complete the operation if it is done. flag: 1 done, 0 not yet.
        subroutine waitio_test(req, flag, status, ierr) bind(c, name='waitio_cfi_test')
            import :: c_int, waitio_request, waitio_status
            type(waitio_request), intent(inout) :: req
            integer(c_int), intent(out) :: flag
            type(waitio_status), intent(inout), optional :: status
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_test

        !> Wait until a matching message can be received.
        subroutine waitio_probe(group, source, tag, status, ierr) bind(c, name='waitio_cfi_probe')
            import :: c_int, waitio_group, waitio_status
            type(waitio_group), intent(in) :: group
            integer(c_int), intent(in) :: source, tag
            type(waitio_status), intent(out) :: status
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_probe

        !> Look for a matching message without waiting. flag: 1 found, 0 not.
        subroutine waitio_iprobe(group, source, tag, flag, status, ierr) &
            bind(c, name='waitio_cfi_iprobe')
            import :: c_int, waitio_group, waitio_status
            type(waitio_group), intent(in) :: group
            integer(c_int), intent(in) :: source, tag
            integer(c_int), intent(out) :: flag
            type(waitio_status), intent(inout), optional :: status
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_iprobe

        !> Withdraw a receive that has not matched; it must still be waited for.
        subroutine waitio_cancel(req, ierr) bind(c, name='waitio_cfi_cancel')
            import :: c_int, waitio_request
            type(waitio_request), intent(inout) :: req
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_cancel

        !> Return when every member has called it.
        subroutine waitio_barrier(group, ierr) bind(c, name='waitio_cfi_barrier')
            import :: c_int, waitio_group
            type(waitio_group), intent(in) :: group
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_barrier

        !> buf of root to everybody's buf.
        subroutine waitio_bcast(buf, root, group, ierr) bind(c, name='waitio_cfi_bcast')
            import :: c_int, waitio_group
            type(*), dimension(..), intent(inout) :: buf
            integer(c_int), intent(in) :: root
            type(waitio_group), intent(in) :: group
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_bcast

        !> Element by element over all members, result at root. op: WAITIO_SUM ...
        subroutine waitio_reduce(sbuf, rbuf, op, root, group, ierr) bind(c, name='waitio_cfi_reduce')
            import :: c_int, waitio_group
            type(*), dimension(..), intent(in) :: sbuf
            type(*), dimension(..), intent(inout) :: rbuf
            integer(c_int), intent(in) :: op, root
            type(waitio_group), intent(in) :: group
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_reduce

        !> Element by element over all members, the same result everywhere.
        subroutine waitio_allreduce(sbuf, rbuf, op, group, ierr) &
            bind(c, name='waitio_cfi_allreduce')
            import :: c_int, waitio_group
            type(*), dimension(..), intent(in) :: sbuf
            type(*), dimension(..), intent(inout) :: rbuf
            integer(c_int), intent(in) :: op
            type(waitio_group), intent(in) :: group
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_allreduce

        !> Everybody's sbuf, one after the other by rank, to root's rbuf.
        subroutine waitio_gather(sbuf, rbuf, root, group, ierr) bind(c, name='waitio_cfi_gather')
            import :: c_int, waitio_group
            type(*), dimension(..), intent(in) :: sbuf
            type(*), dimension(..), intent(inout) :: rbuf
            integer(c_int), intent(in) :: root
            type(waitio_group), intent(in) :: group
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_gather

        !> Everybody's sbuf, one after the other by rank, to everybody's rbuf.
        subroutine waitio_allgather(sbuf, rbuf, group, ierr) bind(c, name='waitio_cfi_allgather')
            import :: c_int, waitio_group
            type(*), dimension(..), intent(in) :: sbuf
            type(*), dimension(..), intent(inout) :: rbuf
            type(waitio_group), intent(in) :: group
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_allgather

        !> Equal parts of root's sbuf, by rank, to everybody's rbuf.
        subroutine waitio_scatter(sbuf, rbuf, root, group, ierr) bind(c, name='waitio_cfi_scatter')
            import :: c_int, waitio_group
            type(*), dimension(..), intent(in) :: sbuf
            type(*), dimension(..), intent(inout) :: rbuf
            integer(c_int), intent(in) :: root
            type(waitio_group), intent(in) :: group
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_scatter

        !> Part r of everybody's sbuf to rank r, which has them one after the other by rank.
        subroutine waitio_alltoall(sbuf, rbuf, group, ierr) bind(c, name='waitio_cfi_alltoall')
            import :: c_int, waitio_group
            type(*), dimension(..), intent(in) :: sbuf
            type(*), dimension(..), intent(inout) :: rbuf
            type(waitio_group), intent(in) :: group
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_alltoall

        !> Element by element over the members up to this one.
        subroutine waitio_scan(sbuf, rbuf, op, group, ierr) bind(c, name='waitio_cfi_scan')
            import :: c_int, waitio_group
            type(*), dimension(..), intent(in) :: sbuf
            type(*), dimension(..), intent(inout) :: rbuf
            integer(c_int), intent(in) :: op
            type(waitio_group), intent(in) :: group
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_scan

        !> The same without this one; rank 0's rbuf is left alone.
        subroutine waitio_exscan(sbuf, rbuf, op, group, ierr) bind(c, name='waitio_cfi_exscan')
            import :: c_int, waitio_group
            type(*), dimension(..), intent(in) :: sbuf
            type(*), dimension(..), intent(inout) :: rbuf
            integer(c_int), intent(in) :: op
            type(waitio_group), intent(in) :: group
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_exscan

        !> For keys of attributes: not copied, copied, nothing to do at the end.
        subroutine waitio_mpi_comm_null_copy_fn(oldcomm, keyval, extra_state, attribute_in, &
                                        attribute_out, flag, ierr)
            import :: c_int, c_intptr_t
            integer(c_int) :: oldcomm, keyval, ierr
            integer(c_intptr_t) :: extra_state, attribute_in, attribute_out
            logical :: flag
        end subroutine waitio_mpi_comm_null_copy_fn
        subroutine waitio_mpi_comm_dup_fn(oldcomm, keyval, extra_state, attribute_in, attribute_out, &
                                  flag, ierr)
            import :: c_int, c_intptr_t
            integer(c_int) :: oldcomm, keyval, ierr
            integer(c_intptr_t) :: extra_state, attribute_in, attribute_out
            logical :: flag
        end subroutine waitio_mpi_comm_dup_fn
        subroutine waitio_mpi_comm_null_delete_fn(comm, keyval, attribute, extra_state, ierr)
            import :: c_int, c_intptr_t
            integer(c_int) :: comm, keyval, ierr
            integer(c_intptr_t) :: attribute, extra_state
        end subroutine waitio_mpi_comm_null_delete_fn
        subroutine waitio_mpi_type_null_copy_fn(oldtype, keyval, extra_state, attribute_in, &
                                        attribute_out, flag, ierr)
            import :: c_int, c_intptr_t
            integer(c_int) :: oldtype, keyval, ierr
            integer(c_intptr_t) :: extra_state, attribute_in, attribute_out
            logical :: flag
        end subroutine waitio_mpi_type_null_copy_fn
        subroutine waitio_mpi_type_dup_fn(oldtype, keyval, extra_state, attribute_in, attribute_out, &
                                  flag, ierr)
            import :: c_int, c_intptr_t
            integer(c_int) :: oldtype, keyval, ierr
            integer(c_intptr_t) :: extra_state, attribute_in, attribute_out
            logical :: flag
        end subroutine waitio_mpi_type_dup_fn
        subroutine waitio_mpi_type_null_delete_fn(datatype, keyval, attribute, extra_state, ierr)
            import :: c_int, c_intptr_t
            integer(c_int) :: datatype, keyval, ierr
            integer(c_intptr_t) :: attribute, extra_state
        end subroutine waitio_mpi_type_null_delete_fn

        !> Does nothing that a compiler can see: after a call that used a variable by its address
        !> (WAITIO_MPI_BOTTOM) or a wait, values kept in registers are read from memory again.
        subroutine waitio_mpi_f_sync_reg(buf) bind(c, name='waitio_cfi_sync')
            type(*), dimension(..) :: buf
        end subroutine waitio_mpi_f_sync_reg

        !> Seconds since an arbitrary point in the past.
        real(c_double) function waitio_wtime() bind(c, name='WAITIO_MPI_Wtime')
            import :: c_double
        end function waitio_wtime
    end interface

contains

    !> All processes of all blocks; owned by the library.
    type(waitio_group) function waitio_mpi_comm_world()
        interface
            type(c_ptr) function c_comm_world() bind(c, name='waitio_mpi_comm_world')
                import :: c_ptr
            end function c_comm_world
        end interface
        waitio_mpi_comm_world = transfer(c_comm_world(), waitio_mpi_comm_world)
    end function waitio_mpi_comm_world

    !> This process alone; owned by the library.
    type(waitio_group) function waitio_mpi_comm_self()
        interface
            type(c_ptr) function c_comm_self() bind(c, name='waitio_mpi_comm_self')
                import :: c_ptr
            end function c_comm_self
        end interface
        waitio_mpi_comm_self = transfer(c_comm_self(), waitio_mpi_comm_self)
    end function waitio_mpi_comm_self

    !> The group without members; owned by the library.
    type(waitio_group) function waitio_mpi_group_empty()
        interface
            type(c_ptr) function c_group_empty() bind(c, name='waitio_mpi_group_empty')
                import :: c_ptr
            end function c_group_empty
        end interface
        waitio_mpi_group_empty = transfer(c_group_empty(), waitio_mpi_group_empty)
    end function waitio_mpi_group_empty

    !> A phase of the program begins in this thread: for the timeline of `waitio trace`.
    subroutine waitio_trace_begin(name, ierr)
        character(len=*), intent(in) :: name
        integer, intent(out), optional :: ierr
        interface
            subroutine cfi_trace_begin(name, ierr) bind(c, name='waitio_cfi_trace_begin')
                import :: c_char, c_int
                character(kind=c_char), intent(in) :: name(*)
                integer(c_int), intent(out), optional :: ierr
            end subroutine cfi_trace_begin
        end interface

        call cfi_trace_begin(trim(name)//c_null_char, ierr)
    end subroutine waitio_trace_begin

    !> It ends. The last one that a thread has begun ends first.
    subroutine waitio_trace_end(name, ierr)
        character(len=*), intent(in) :: name
        integer, intent(out), optional :: ierr
        interface
            subroutine cfi_trace_end(name, ierr) bind(c, name='waitio_cfi_trace_end')
                import :: c_char, c_int
                character(kind=c_char), intent(in) :: name(*)
                integer(c_int), intent(out), optional :: ierr
            end subroutine cfi_trace_end
        end interface

        call cfi_trace_end(trim(name)//c_null_char, ierr)
    end subroutine waitio_trace_end

    !> Text of an error code.
    function waitio_strerror(code) result(text)
        integer, intent(in) :: code
        character(len=:), allocatable :: text
        character(kind=c_char), pointer :: chars(:)
        type(c_ptr) :: at
        integer :: i, n
        interface
            type(c_ptr) function c_strerror(code) bind(c, name='waitio_strerror')
                import :: c_int, c_ptr
                integer(c_int), value :: code
            end function c_strerror
            integer(c_size_t) function c_strlen(text) bind(c, name='strlen')
                import :: c_ptr, c_size_t
                type(c_ptr), value :: text
            end function c_strlen
        end interface

        at = c_strerror(int(code, c_int))
        n = int(c_strlen(at))
        call c_f_pointer(at, chars, [n])
        allocate (character(len=n) :: text, stat=i)
        if (i /= 0) return
        do i = 1, n
            text(i:i) = chars(i)
        end do
    end function waitio_strerror

end module waitio
