! SPDX-License-Identifier: BSD-3-Clause
!> Types of module `waitio`, for itself and for the calls of MPI in it.
module waitio_types
    use, intrinsic :: iso_c_binding, only: c_int, c_int32_t, c_int64_t, c_intptr_t, c_null_ptr, &
        c_ptr, c_size_t
    implicit none
    private

    !> An ordered set of processes with its own message space.
    type, bind(c), public :: waitio_group
        private
        type(c_ptr) :: handle = c_null_ptr
    end type waitio_group

    !> A pending operation; a fresh one is null, and waiting for null returns at once.
    type, bind(c), public :: waitio_request
        private
        integer(c_int32_t) :: handle(22) = 0
    end type waitio_request

    !> What a completed receive, a probe or a test found.
    type, bind(c), public :: waitio_status
        integer(c_int) :: source = 0    !< rank of the sender in the group
        integer(c_int) :: tag = 0       !< tag of the message
        integer(c_int) :: error = 0     !< 0 or WAITIO_ERR_ of this operation
        integer(c_int) :: cancelled = 0 !< non-zero: withdrawn by waitio_cancel
        integer(c_size_t) :: bytes = 0  !< bytes delivered (probe: bytes of the message)
    end type waitio_status

    !> What the elements of a buffer are; the number is the one that C and waitio_mpif.h have.
    type, bind(c), public :: waitio_datatype
        integer(c_int) :: MPI_VAL = 0
    end type waitio_datatype

    !> An operator of reductions.
    type, bind(c), public :: waitio_op
        integer(c_int) :: MPI_VAL = 0
    end type waitio_op

    !> A message that a matched probe has taken.
    type, bind(c), public :: waitio_message
        integer(c_int) :: MPI_VAL = 0
    end type waitio_message

    !> Hints.
    type, bind(c), public :: waitio_info
        integer(c_int) :: MPI_VAL = 0
    end type waitio_info

    !> What happens on errors.
    type, bind(c), public :: waitio_errhandler
        integer(c_int) :: MPI_VAL = 0
    end type waitio_errhandler

    type(waitio_group), parameter, public :: WAITIO_MPI_COMM_NULL = waitio_group(c_null_ptr)
    type(waitio_group), parameter, public :: WAITIO_MPI_GROUP_NULL = waitio_group(c_null_ptr)
    type(waitio_request), parameter, public :: WAITIO_MPI_REQUEST_NULL = waitio_request(0)

    public :: waitio_mpi_sizeof

    !> Their places mean something: the other buffer of the call, and address 0. Do not set them.
    integer(c_int), bind(c, name='waitio_cfi_in_place'), public :: WAITIO_MPI_IN_PLACE
    integer(c_int), bind(c, name='waitio_cfi_bottom'), public :: WAITIO_MPI_BOTTOM
    !> In the place of weights of graphs: none, and those of no edges.
    integer(c_int), bind(c, name='waitio_cfi_unweighted'), public :: WAITIO_MPI_UNWEIGHTED(1)
    integer(c_int), bind(c, name='waitio_cfi_weights_empty'), public :: &
        WAITIO_MPI_WEIGHTS_EMPTY(1)

    !> The same communicator, group, type ... (of requests: the same operation, or both null).
    interface operator(==)
        module procedure same_group, same_request, same_datatype, same_op, same_info, same_errhandler
    end interface
    interface operator(/=)
        module procedure other_group, other_request, other_datatype, other_op, other_info, &
            other_errhandler
    end interface
    public :: operator(==), operator(/=)

    abstract interface
        !> Membership test: non-zero makes rank n of PB pbid a member.
        integer(c_int) function waitio_filter(pbid, n) bind(c)
            import :: c_int
            integer(c_int), value :: pbid, n
        end function waitio_filter

        !> An operator of the program: inoutvec(i) = invec(i) op inoutvec(i) for length elements.
        subroutine waitio_user_function(invec, inoutvec, length, datatype)
            import :: c_int, c_ptr, waitio_datatype
            type(c_ptr), value :: invec, inoutvec
            integer(c_int) :: length
            type(waitio_datatype) :: datatype
        end subroutine waitio_user_function

        !> The same with a length of 64 bits.
        subroutine waitio_user_function_c(invec, inoutvec, length, datatype)
            import :: c_int64_t, c_ptr, waitio_datatype
            type(c_ptr), value :: invec, inoutvec
            integer(c_int64_t) :: length
            type(waitio_datatype) :: datatype
        end subroutine waitio_user_function_c

        !> Asked when a communicator with an attribute is duplicated. oldcomm is its number, as
        !> waitio_mpif.h has them; flag: the duplicate gets attribute_out.
        subroutine waitio_copy_function(oldcomm, keyval, extra_state, attribute_in, attribute_out, &
                                        flag, ierr)
            import :: c_int, c_intptr_t
            integer(c_int) :: oldcomm, keyval, ierr
            integer(c_intptr_t) :: extra_state, attribute_in, attribute_out
            logical :: flag
        end subroutine waitio_copy_function

        !> Asked when an attribute goes.
        subroutine waitio_delete_function(comm, keyval, attribute, extra_state, ierr)
            import :: c_int, c_intptr_t
            integer(c_int) :: comm, keyval, ierr
            integer(c_intptr_t) :: attribute, extra_state
        end subroutine waitio_delete_function

        !> Called on errors.
        subroutine waitio_error_function(comm, code)
            import :: c_int
            integer(c_int) :: comm, code
        end subroutine waitio_error_function

        !> Asked what a generalized request has done, when it is waited for or tested.
        subroutine waitio_query_function(extra_state, status, ierr)
            import :: c_int, c_intptr_t, waitio_status
            integer(c_intptr_t) :: extra_state
            type(waitio_status) :: status
            integer(c_int) :: ierr
        end subroutine waitio_query_function

        !> Called when a generalized request ends.
        subroutine waitio_free_function(extra_state, ierr)
            import :: c_int, c_intptr_t
            integer(c_intptr_t) :: extra_state
            integer(c_int) :: ierr
        end subroutine waitio_free_function

        !> Asked to cancel a generalized request.
        subroutine waitio_cancel_function(extra_state, complete, ierr)
            import :: c_int, c_intptr_t
            integer(c_intptr_t) :: extra_state
            logical :: complete
            integer(c_int) :: ierr
        end subroutine waitio_cancel_function
    end interface
    public :: waitio_filter, waitio_user_function, waitio_user_function_c
    public :: waitio_copy_function, waitio_delete_function, waitio_error_function
    public :: waitio_query_function, waitio_free_function, waitio_cancel_function

contains

    elemental logical function same_group(a, b)
        type(waitio_group), intent(in) :: a, b
        same_group = transfer(a%handle, 0_c_size_t) == transfer(b%handle, 0_c_size_t)
    end function same_group

    elemental logical function other_group(a, b)
        type(waitio_group), intent(in) :: a, b
        other_group = .not. same_group(a, b)
    end function other_group

    elemental logical function same_request(a, b)
        type(waitio_request), intent(in) :: a, b
        same_request = all(a%handle == b%handle)
    end function same_request

    elemental logical function other_request(a, b)
        type(waitio_request), intent(in) :: a, b
        other_request = .not. same_request(a, b)
    end function other_request

    elemental logical function same_datatype(a, b)
        type(waitio_datatype), intent(in) :: a, b
        same_datatype = a%MPI_VAL == b%MPI_VAL
    end function same_datatype

    elemental logical function other_datatype(a, b)
        type(waitio_datatype), intent(in) :: a, b
        other_datatype = a%MPI_VAL /= b%MPI_VAL
    end function other_datatype

    elemental logical function same_op(a, b)
        type(waitio_op), intent(in) :: a, b
        same_op = a%MPI_VAL == b%MPI_VAL
    end function same_op

    elemental logical function other_op(a, b)
        type(waitio_op), intent(in) :: a, b
        other_op = a%MPI_VAL /= b%MPI_VAL
    end function other_op

    elemental logical function same_info(a, b)
        type(waitio_info), intent(in) :: a, b
        same_info = a%MPI_VAL == b%MPI_VAL
    end function same_info

    elemental logical function other_info(a, b)
        type(waitio_info), intent(in) :: a, b
        other_info = a%MPI_VAL /= b%MPI_VAL
    end function other_info

    elemental logical function same_errhandler(a, b)
        type(waitio_errhandler), intent(in) :: a, b
        same_errhandler = a%MPI_VAL == b%MPI_VAL
    end function same_errhandler

    elemental logical function other_errhandler(a, b)
        type(waitio_errhandler), intent(in) :: a, b
        other_errhandler = a%MPI_VAL /= b%MPI_VAL
    end function other_errhandler

    !> Bytes of one element of a variable of any numeric type, kind and rank.
    subroutine waitio_mpi_sizeof(x, size, ierr)
        class(*), intent(in) :: x(..)                !< not read
        integer(c_int), intent(out) :: size
        integer(c_int), intent(out), optional :: ierr !< always 0
        size = int(storage_size(x) / 8, c_int)
        if (present(ierr)) ierr = 0
    end subroutine waitio_mpi_sizeof

end module waitio_types
