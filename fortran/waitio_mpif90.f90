! SPDX-License-Identifier: BSD-3-Clause
!> The conversion library as a module with MPI-like types, under the names existing programs use.
!>
!> Datatypes, operators, communicators, groups ... may be given as the types below or as plain
!> integers (the constants of waitio_mpif.h, which this module passes on). ierr is optional
!> everywhere; without it an error ends the program with a message. Buffers may have any type and
!> rank. A section with gaps is sent and received as it lies (one message or broadcast: every other
!> row of a matrix), or refused by name (other collectives); it never becomes a temporary copy.
module waitio_mpif90
    use, intrinsic :: iso_c_binding, only: c_double, c_int, c_int64_t, c_intptr_t
    use waitio_types, only: WAITIO_MPI_SIZEOF
    implicit none
    private :: c_double, c_int, c_int64_t, c_intptr_t
    include 'waitio_mpif.h'

    type, bind(c) :: WAITIO_MPI_Comm
        integer(c_int) :: MPI_VAL = WAITIO_MPI_COMM_NULL
    end type WAITIO_MPI_Comm

    type, bind(c) :: WAITIO_MPI_Group
        integer(c_int) :: MPI_VAL = WAITIO_MPI_GROUP_NULL
    end type WAITIO_MPI_Group

    type, bind(c) :: WAITIO_MPI_Datatype
        integer(c_int) :: MPI_VAL = WAITIO_MPI_DATATYPE_NULL
    end type WAITIO_MPI_Datatype

    type, bind(c) :: WAITIO_MPI_Op
        integer(c_int) :: MPI_VAL = WAITIO_MPI_OP_NULL
    end type WAITIO_MPI_Op

    type, bind(c) :: WAITIO_MPI_Info
        integer(c_int) :: MPI_VAL = WAITIO_MPI_INFO_NULL
    end type WAITIO_MPI_Info

    type, bind(c) :: WAITIO_MPI_Errhandler
        integer(c_int) :: MPI_VAL = WAITIO_MPI_ERRORS_ARE_FATAL
    end type WAITIO_MPI_Errhandler

    type, bind(c) :: WAITIO_MPI_Request
        integer(c_int) :: MPI_VAL(WAITIO_REQUEST_SIZE) = 0
    end type WAITIO_MPI_Request

    !> Goes where WAITIO_STATUS_SIZE integers may go.
    type, bind(c) :: WAITIO_MPI_Status
        integer(c_int) :: MPI_SOURCE = 0, MPI_TAG = 0, MPI_ERROR = 0
        integer(c_int) :: waitio_bytes = 0 !< WAITIO_MPI_Get_count reads it
    end type WAITIO_MPI_Status

    !> So that `type(WAITIO_MPI_Datatype) :: t; t = WAITIO_MPI_DOUBLE` works, and comparing.
    interface assignment(=)
        module procedure set_comm, set_group, set_datatype, set_op, set_info, set_errhandler, &
            set_request
    end interface
    interface operator(==)
        module procedure same_comm, same_group, same_datatype, same_op, same_info, same_errhandler, &
            is_comm, is_group, is_datatype, is_op, is_info, is_errhandler, same_request, is_request
    end interface
    interface operator(/=)
        module procedure other_comm, other_group, other_datatype, other_op, other_info, other_errhandler, &
            is_not_comm, is_not_group, is_not_datatype, is_not_op, is_not_info, is_not_errhandler, other_request, is_not_request
    end interface
    private :: set_comm, set_group, set_datatype, set_op, set_info, set_errhandler
    private :: same_comm, same_group, same_datatype, same_op, same_info, same_errhandler
    private :: is_comm, is_group, is_datatype, is_op, is_info, is_errhandler
    private :: other_comm, other_group, other_datatype, other_op, other_info, other_errhandler
    private :: is_not_comm, is_not_group, is_not_datatype, is_not_op, is_not_info, is_not_errhandler
    private :: same_request, other_request, is_request, is_not_request, set_request

    ! Procedures whose names have no _f form in the include file.
    interface
        subroutine waitio_create_universe_f(co, ie)
            implicit none
            type(*) :: co
            integer, optional :: ie
        end subroutine waitio_create_universe_f
        subroutine waitio_create_universe_pbhead_f(co, ie)
            implicit none
            type(*) :: co
            integer, optional :: ie
        end subroutine waitio_create_universe_pbhead_f
    end interface
    private :: waitio_create_universe_f, waitio_create_universe_pbhead_f

    !> Seconds since an arbitrary point in the past, and the least that can be told apart.
    interface
        real(c_double) function WAITIO_MPI_Wtime() bind(c, name='WAITIO_MPI_Wtime')
            import :: c_double
        end function WAITIO_MPI_Wtime
        real(c_double) function WAITIO_MPI_Wtick() bind(c, name='WAITIO_MPI_Wtick')
            import :: c_double
        end function WAITIO_MPI_Wtick

        !> For keys of attributes: not copied, copied, nothing to do at the end.
        subroutine WAITIO_MPI_comm_null_copy_fn(oldcomm, keyval, extra_state, attribute_in, &
                                        attribute_out, flag, ierr)
            import :: c_int, c_intptr_t
            integer(c_int) :: oldcomm, keyval, ierr
            integer(c_intptr_t) :: extra_state, attribute_in, attribute_out
            logical :: flag
        end subroutine WAITIO_MPI_comm_null_copy_fn
        subroutine WAITIO_MPI_comm_dup_fn(oldcomm, keyval, extra_state, attribute_in, attribute_out, &
                                  flag, ierr)
            import :: c_int, c_intptr_t
            integer(c_int) :: oldcomm, keyval, ierr
            integer(c_intptr_t) :: extra_state, attribute_in, attribute_out
            logical :: flag
        end subroutine WAITIO_MPI_comm_dup_fn
        subroutine WAITIO_MPI_comm_null_delete_fn(comm, keyval, attribute, extra_state, ierr)
            import :: c_int, c_intptr_t
            integer(c_int) :: comm, keyval, ierr
            integer(c_intptr_t) :: attribute, extra_state
        end subroutine WAITIO_MPI_comm_null_delete_fn
        subroutine WAITIO_MPI_type_null_copy_fn(oldtype, keyval, extra_state, attribute_in, &
                                        attribute_out, flag, ierr)
            import :: c_int, c_intptr_t
            integer(c_int) :: oldtype, keyval, ierr
            integer(c_intptr_t) :: extra_state, attribute_in, attribute_out
            logical :: flag
        end subroutine WAITIO_MPI_type_null_copy_fn
        subroutine WAITIO_MPI_type_dup_fn(oldtype, keyval, extra_state, attribute_in, attribute_out, &
                                  flag, ierr)
            import :: c_int, c_intptr_t
            integer(c_int) :: oldtype, keyval, ierr
            integer(c_intptr_t) :: extra_state, attribute_in, attribute_out
            logical :: flag
        end subroutine WAITIO_MPI_type_dup_fn
        subroutine WAITIO_MPI_type_null_delete_fn(datatype, keyval, attribute, extra_state, ierr)
            import :: c_int, c_intptr_t
            integer(c_int) :: datatype, keyval, ierr
            integer(c_intptr_t) :: attribute, extra_state
        end subroutine WAITIO_MPI_type_null_delete_fn

        !> Does nothing that a compiler can see: after a call that used a variable by its address
        !> (WAITIO_MPI_BOTTOM) or a wait, values kept in registers are read from memory again.
        subroutine WAITIO_MPI_F_sync_reg(buf) bind(c, name='waitio_cfi_sync')
            type(*), dimension(..) :: buf
        end subroutine WAITIO_MPI_F_sync_reg
    end interface

    include 'gen/mpif90_comms_gen.inc'
    include 'gen/mpif90_types_gen.inc'
    include 'gen/mpif90_messages_gen.inc'
    include 'gen/mpif90_collectives_gen.inc'

    ! The published forms of these three are shorter than MPI's: both are here.
    interface WAITIO_MPI_Wait
        subroutine waitio_mpi_wait_alone(request, ierr) bind(c, name='waitio_wait_')
            import
            type(WAITIO_MPI_Request), intent(inout) :: request
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_mpi_wait_alone
        subroutine waitio_mpi_wait_integers(request, status, ierr) bind(c, name='waitio_mpi_wait_')
            import
            type(WAITIO_MPI_Request), intent(inout) :: request
            integer(c_int), intent(inout) :: status(*)
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_mpi_wait_integers
        subroutine waitio_mpi_wait_status(request, status, ierr) bind(c, name='waitio_mpi_wait_')
            import
            type(WAITIO_MPI_Request), intent(inout) :: request
            type(WAITIO_MPI_Status), intent(inout) :: status
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_mpi_wait_status
    end interface WAITIO_MPI_Wait

    interface WAITIO_MPI_Gather
        !> One count and type, unlike MPI.
        subroutine waitio_mpi_gather_short(sendbuf, recvbuf, count, datatype, root, comm, ierr) &
            bind(c, name='waitio_cfi_f_gather')
            import
            type(*), dimension(..), intent(in) :: sendbuf
            type(*), dimension(..) :: recvbuf
            integer(c_int), intent(in) :: count, root
            type(*), intent(in) :: datatype, comm
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_mpi_gather_short
        procedure :: waitio_mpi_gather_full
    end interface WAITIO_MPI_Gather
    interface WAITIO_MPI_Allgather
        !> One count and type, unlike MPI.
        subroutine waitio_mpi_allgather_short(sendbuf, recvbuf, count, datatype, comm, ierr) &
            bind(c, name='waitio_cfi_f_allgather')
            import
            type(*), dimension(..), intent(in) :: sendbuf
            type(*), dimension(..) :: recvbuf
            integer(c_int), intent(in) :: count
            type(*), intent(in) :: datatype, comm
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_mpi_allgather_short
        procedure :: waitio_mpi_allgather_full
    end interface WAITIO_MPI_Allgather

contains

    !> Joining is implied by what follows; here for programs that say so. Waits for every PB.
    subroutine WMPI_Init(ierr)
        integer, optional, intent(out) :: ierr
        external :: waitio_mpi_init
        integer :: code
        call waitio_mpi_init(code)
        if (present(ierr)) then
            ierr = code
        else if (code /= 0) then
            error stop 'WMPI_Init failed'
        end if
    end subroutine WMPI_Init

    subroutine WMPI_Finalize(ierr)
        integer, optional, intent(out) :: ierr
        call waitio_finalize_f(ierr)
    end subroutine WMPI_Finalize

    !> All processes in universe rank order.
    subroutine WMPI_Create_universe(comm, ierr)
        type(WAITIO_MPI_Comm), intent(out) :: comm
        integer, optional, intent(out) :: ierr
        call waitio_create_universe_f(comm, ierr)
    end subroutine WMPI_Create_universe

    !> The rank-0 processes of all PBs; others get a communicator in which their rank is -1.
    subroutine WMPI_Create_universe_pbhead(comm, ierr)
        type(WAITIO_MPI_Comm), intent(out) :: comm
        integer, optional, intent(out) :: ierr
        call waitio_create_universe_pbhead_f(comm, ierr)
    end subroutine WMPI_Create_universe_pbhead

    !> All processes of one PB.
    subroutine WMPI_Create_pbgroup(comm, pbid, ierr)
        type(WAITIO_MPI_Comm), intent(out) :: comm
        integer, intent(in) :: pbid
        integer, optional, intent(out) :: ierr
        call waitio_create_pbgroup_f(comm, pbid, ierr)
    end subroutine WMPI_Create_pbgroup

    !> For a process without MPI: the hybrid communicator that others make by waitio_hybrid_create.
    subroutine WMPI_Create_hybrid(comm, member, key, ierr)
        type(WAITIO_MPI_Comm), intent(out) :: comm
        logical, intent(in) :: member
        integer, intent(in) :: key
        integer, optional, intent(out) :: ierr
        external :: waitio_create_hybrid
        call waitio_create_hybrid(comm, merge(1, 0, member), key, ierr)
    end subroutine WMPI_Create_hybrid

    elemental subroutine set_comm(a, number)
        type(WAITIO_MPI_Comm), intent(out) :: a
        integer, intent(in) :: number
        a%MPI_VAL = number
    end subroutine set_comm

    elemental subroutine set_group(a, number)
        type(WAITIO_MPI_Group), intent(out) :: a
        integer, intent(in) :: number
        a%MPI_VAL = number
    end subroutine set_group

    elemental subroutine set_datatype(a, number)
        type(WAITIO_MPI_Datatype), intent(out) :: a
        integer, intent(in) :: number
        a%MPI_VAL = number
    end subroutine set_datatype

    elemental subroutine set_op(a, number)
        type(WAITIO_MPI_Op), intent(out) :: a
        integer, intent(in) :: number
        a%MPI_VAL = number
    end subroutine set_op

    elemental subroutine set_info(a, number)
        type(WAITIO_MPI_Info), intent(out) :: a
        integer, intent(in) :: number
        a%MPI_VAL = number
    end subroutine set_info

    elemental subroutine set_errhandler(a, number)
        type(WAITIO_MPI_Errhandler), intent(out) :: a
        integer, intent(in) :: number
        a%MPI_VAL = number
    end subroutine set_errhandler

    elemental logical function same_comm(a, b)
        type(WAITIO_MPI_Comm), intent(in) :: a, b
        same_comm = a%MPI_VAL == b%MPI_VAL
    end function same_comm

    elemental logical function other_comm(a, b)
        type(WAITIO_MPI_Comm), intent(in) :: a, b
        other_comm = a%MPI_VAL /= b%MPI_VAL
    end function other_comm

    elemental logical function is_comm(a, number)
        type(WAITIO_MPI_Comm), intent(in) :: a
        integer, intent(in) :: number
        is_comm = a%MPI_VAL == number
    end function is_comm

    elemental logical function is_not_comm(a, number)
        type(WAITIO_MPI_Comm), intent(in) :: a
        integer, intent(in) :: number
        is_not_comm = a%MPI_VAL /= number
    end function is_not_comm

    elemental logical function same_group(a, b)
        type(WAITIO_MPI_Group), intent(in) :: a, b
        same_group = a%MPI_VAL == b%MPI_VAL
    end function same_group

    elemental logical function other_group(a, b)
        type(WAITIO_MPI_Group), intent(in) :: a, b
        other_group = a%MPI_VAL /= b%MPI_VAL
    end function other_group

    elemental logical function is_group(a, number)
        type(WAITIO_MPI_Group), intent(in) :: a
        integer, intent(in) :: number
        is_group = a%MPI_VAL == number
    end function is_group

    elemental logical function is_not_group(a, number)
        type(WAITIO_MPI_Group), intent(in) :: a
        integer, intent(in) :: number
        is_not_group = a%MPI_VAL /= number
    end function is_not_group

    elemental logical function same_datatype(a, b)
        type(WAITIO_MPI_Datatype), intent(in) :: a, b
        same_datatype = a%MPI_VAL == b%MPI_VAL
    end function same_datatype

    elemental logical function other_datatype(a, b)
        type(WAITIO_MPI_Datatype), intent(in) :: a, b
        other_datatype = a%MPI_VAL /= b%MPI_VAL
    end function other_datatype

    elemental logical function is_datatype(a, number)
        type(WAITIO_MPI_Datatype), intent(in) :: a
        integer, intent(in) :: number
        is_datatype = a%MPI_VAL == number
    end function is_datatype

    elemental logical function is_not_datatype(a, number)
        type(WAITIO_MPI_Datatype), intent(in) :: a
        integer, intent(in) :: number
        is_not_datatype = a%MPI_VAL /= number
    end function is_not_datatype

    elemental logical function same_op(a, b)
        type(WAITIO_MPI_Op), intent(in) :: a, b
        same_op = a%MPI_VAL == b%MPI_VAL
    end function same_op

    elemental logical function other_op(a, b)
        type(WAITIO_MPI_Op), intent(in) :: a, b
        other_op = a%MPI_VAL /= b%MPI_VAL
    end function other_op

    elemental logical function is_op(a, number)
        type(WAITIO_MPI_Op), intent(in) :: a
        integer, intent(in) :: number
        is_op = a%MPI_VAL == number
    end function is_op

    elemental logical function is_not_op(a, number)
        type(WAITIO_MPI_Op), intent(in) :: a
        integer, intent(in) :: number
        is_not_op = a%MPI_VAL /= number
    end function is_not_op

    elemental logical function same_info(a, b)
        type(WAITIO_MPI_Info), intent(in) :: a, b
        same_info = a%MPI_VAL == b%MPI_VAL
    end function same_info

    elemental logical function other_info(a, b)
        type(WAITIO_MPI_Info), intent(in) :: a, b
        other_info = a%MPI_VAL /= b%MPI_VAL
    end function other_info

    elemental logical function is_info(a, number)
        type(WAITIO_MPI_Info), intent(in) :: a
        integer, intent(in) :: number
        is_info = a%MPI_VAL == number
    end function is_info

    elemental logical function is_not_info(a, number)
        type(WAITIO_MPI_Info), intent(in) :: a
        integer, intent(in) :: number
        is_not_info = a%MPI_VAL /= number
    end function is_not_info

    elemental logical function same_errhandler(a, b)
        type(WAITIO_MPI_Errhandler), intent(in) :: a, b
        same_errhandler = a%MPI_VAL == b%MPI_VAL
    end function same_errhandler

    elemental logical function other_errhandler(a, b)
        type(WAITIO_MPI_Errhandler), intent(in) :: a, b
        other_errhandler = a%MPI_VAL /= b%MPI_VAL
    end function other_errhandler

    elemental logical function is_errhandler(a, number)
        type(WAITIO_MPI_Errhandler), intent(in) :: a
        integer, intent(in) :: number
        is_errhandler = a%MPI_VAL == number
    end function is_errhandler

    elemental logical function is_not_errhandler(a, number)
        type(WAITIO_MPI_Errhandler), intent(in) :: a
        integer, intent(in) :: number
        is_not_errhandler = a%MPI_VAL /= number
    end function is_not_errhandler

    elemental logical function same_request(a, b)
        type(WAITIO_MPI_Request), intent(in) :: a, b
        same_request = all(a%MPI_VAL == b%MPI_VAL)
    end function same_request

    elemental logical function other_request(a, b)
        type(WAITIO_MPI_Request), intent(in) :: a, b
        other_request = any(a%MPI_VAL /= b%MPI_VAL)
    end function other_request

    !> With WAITIO_MPI_REQUEST_NULL, the only number that a request may be compared with or set to.
    elemental logical function is_request(a, number)
        type(WAITIO_MPI_Request), intent(in) :: a
        integer, intent(in) :: number
        is_request = all(a%MPI_VAL == number)
    end function is_request

    elemental logical function is_not_request(a, number)
        type(WAITIO_MPI_Request), intent(in) :: a
        integer, intent(in) :: number
        is_not_request = any(a%MPI_VAL /= number)
    end function is_not_request

    elemental subroutine set_request(a, number)
        type(WAITIO_MPI_Request), intent(out) :: a
        integer, intent(in) :: number
        a%MPI_VAL = number
    end subroutine set_request

end module waitio_mpif90
