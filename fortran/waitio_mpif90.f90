! SPDX-License-Identifier: BSD-3-Clause
!> The conversion library as a module with MPI-like types, under the names existing programs use.
!>
!> Types, operators and communicators may be given as the types below or as plain integers (the
!> constants of waitio_mpif.h, which this module passes on). ierr is optional everywhere; without
!> it an error ends the program with a message. Buffers may have any type and rank.
!>
!> As with MPI's old interfaces the buffer of a non-blocking call must be contiguous: the compiler
!> passes a copy of one that is not. Module `waitio` checks this.
module waitio_mpif90
    implicit none
    include 'waitio_mpif.h'

    type :: WAITIO_MPI_Comm
        integer :: MPI_VAL = WAITIO_MPI_COMM_NULL
    end type WAITIO_MPI_Comm

    type :: WAITIO_MPI_Datatype
        integer :: MPI_VAL = WAITIO_MPI_DATATYPE_NULL
    end type WAITIO_MPI_Datatype

    type :: WAITIO_MPI_Op
        integer :: MPI_VAL = WAITIO_MPI_OP_NULL
    end type WAITIO_MPI_Op

    type :: WAITIO_MPI_Request
        integer :: MPI_VAL(WAITIO_REQUEST_SIZE) = 0
    end type WAITIO_MPI_Request

    !> So that `type(WAITIO_MPI_Datatype) :: t; t = WAITIO_MPI_DOUBLE` works.
    interface assignment(=)
        module procedure set_datatype, set_op
    end interface
    private :: set_datatype, set_op

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
        subroutine waitio_mpi_type_size_f(ty, n, ie)
            implicit none
            type(*) :: ty
            integer :: n
            integer, optional :: ie
        end subroutine waitio_mpi_type_size_f
    end interface
    private :: waitio_create_universe_f, waitio_create_universe_pbhead_f, waitio_mpi_type_size_f

contains

    subroutine set_datatype(t, number)
        type(WAITIO_MPI_Datatype), intent(out) :: t
        integer, intent(in) :: number
        t%MPI_VAL = number
    end subroutine set_datatype

    subroutine set_op(op, number)
        type(WAITIO_MPI_Op), intent(out) :: op
        integer, intent(in) :: number
        op%MPI_VAL = number
    end subroutine set_op

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

    !> My rank, from 0; -1 when I am no member.
    subroutine WAITIO_MPI_Comm_rank(comm, rank, ierr)
        type(*), intent(in) :: comm
        integer, intent(out) :: rank
        integer, optional, intent(out) :: ierr
        call waitio_group_rank_f(comm, rank, ierr)
    end subroutine WAITIO_MPI_Comm_rank

    subroutine WAITIO_MPI_Comm_size(comm, size, ierr)
        type(*), intent(in) :: comm
        integer, intent(out) :: size
        integer, optional, intent(out) :: ierr
        call waitio_group_size_f(comm, size, ierr)
    end subroutine WAITIO_MPI_Comm_size

    !> Bytes of one element.
    subroutine WAITIO_MPI_Type_size(datatype, size, ierr)
        type(*), intent(in) :: datatype
        integer, intent(out) :: size
        integer, optional, intent(out) :: ierr
        call waitio_mpi_type_size_f(datatype, size, ierr)
    end subroutine WAITIO_MPI_Type_size

    subroutine WAITIO_MPI_Isend(buf, count, datatype, dest, tag, comm, request, ierr)
        !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
        !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
        !DIR$ IGNORE_TKR buf
        !NVF$ IGNORE_TKR buf
        type(*), dimension(*), intent(in) :: buf
        integer, intent(in) :: count, dest, tag
        type(*), intent(in) :: datatype, comm
        type(WAITIO_MPI_Request), intent(out) :: request
        integer, optional, intent(out) :: ierr
        call waitio_mpi_isend_f(buf, count, datatype, dest, tag, comm, request, ierr)
    end subroutine WAITIO_MPI_Isend

    subroutine WAITIO_MPI_Irecv(buf, count, datatype, source, tag, comm, request, ierr)
        !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
        !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
        !DIR$ IGNORE_TKR buf
        !NVF$ IGNORE_TKR buf
        type(*), dimension(*) :: buf
        integer, intent(in) :: count, source, tag
        type(*), intent(in) :: datatype, comm
        type(WAITIO_MPI_Request), intent(out) :: request
        integer, optional, intent(out) :: ierr
        call waitio_mpi_irecv_f(buf, count, datatype, source, tag, comm, request, ierr)
    end subroutine WAITIO_MPI_Irecv

    subroutine WAITIO_MPI_Wait(request, ierr)
        type(WAITIO_MPI_Request), intent(inout) :: request
        integer, optional, intent(out) :: ierr
        call waitio_wait_f(request, ierr)
    end subroutine WAITIO_MPI_Wait

    !> statuses: WAITIO_STATUS_SIZE integers for each request.
    subroutine WAITIO_MPI_Waitall(count, requests, statuses, ierr)
        integer, intent(in) :: count
        type(WAITIO_MPI_Request), intent(inout) :: requests(count)
        integer, intent(out) :: statuses(WAITIO_STATUS_SIZE, count)
        integer, optional, intent(out) :: ierr
        call waitio_mpi_waitall_f(count, requests, statuses, ierr)
    end subroutine WAITIO_MPI_Waitall

    subroutine WAITIO_MPI_Barrier(comm, ierr)
        type(*), intent(in) :: comm
        integer, optional, intent(out) :: ierr
        call waitio_mpi_barrier_f(comm, ierr)
    end subroutine WAITIO_MPI_Barrier

    subroutine WAITIO_MPI_Bcast(buf, count, datatype, root, comm, ierr)
        !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
        !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
        !DIR$ IGNORE_TKR buf
        !NVF$ IGNORE_TKR buf
        type(*), dimension(*) :: buf
        integer, intent(in) :: count, root
        type(*), intent(in) :: datatype, comm
        integer, optional, intent(out) :: ierr
        call waitio_mpi_bcast_f(buf, count, datatype, root, comm, ierr)
    end subroutine WAITIO_MPI_Bcast

    subroutine WAITIO_MPI_Reduce(sendbuf, recvbuf, count, datatype, op, root, comm, ierr)
        !GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
        !DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
        !DIR$ IGNORE_TKR sendbuf, recvbuf
        !NVF$ IGNORE_TKR sendbuf, recvbuf
        type(*), dimension(*) :: sendbuf, recvbuf
        integer, intent(in) :: count, root
        type(*), intent(in) :: datatype, op, comm
        integer, optional, intent(out) :: ierr
        call waitio_mpi_reduce_f(sendbuf, recvbuf, count, datatype, op, root, comm, ierr)
    end subroutine WAITIO_MPI_Reduce

    subroutine WAITIO_MPI_Allreduce(sendbuf, recvbuf, count, datatype, op, comm, ierr)
        !GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
        !DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
        !DIR$ IGNORE_TKR sendbuf, recvbuf
        !NVF$ IGNORE_TKR sendbuf, recvbuf
        type(*), dimension(*) :: sendbuf, recvbuf
        integer, intent(in) :: count
        type(*), intent(in) :: datatype, op, comm
        integer, optional, intent(out) :: ierr
        call waitio_mpi_allreduce_f(sendbuf, recvbuf, count, datatype, op, comm, ierr)
    end subroutine WAITIO_MPI_Allreduce

    !> One count and type, unlike MPI.
    subroutine WAITIO_MPI_Gather(sendbuf, recvbuf, count, datatype, root, comm, ierr)
        !GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
        !DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
        !DIR$ IGNORE_TKR sendbuf, recvbuf
        !NVF$ IGNORE_TKR sendbuf, recvbuf
        type(*), dimension(*) :: sendbuf, recvbuf
        integer, intent(in) :: count, root
        type(*), intent(in) :: datatype, comm
        integer, optional, intent(out) :: ierr
        call waitio_mpi_gather_f(sendbuf, recvbuf, count, datatype, root, comm, ierr)
    end subroutine WAITIO_MPI_Gather

    !> One count and type, unlike MPI.
    subroutine WAITIO_MPI_Allgather(sendbuf, recvbuf, count, datatype, comm, ierr)
        !GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
        !DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
        !DIR$ IGNORE_TKR sendbuf, recvbuf
        !NVF$ IGNORE_TKR sendbuf, recvbuf
        type(*), dimension(*) :: sendbuf, recvbuf
        integer, intent(in) :: count
        type(*), intent(in) :: datatype, comm
        integer, optional, intent(out) :: ierr
        call waitio_mpi_allgather_f(sendbuf, recvbuf, count, datatype, comm, ierr)
    end subroutine WAITIO_MPI_Allgather

    subroutine WAITIO_MPI_Scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
                                  root, comm, ierr)
        !GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
        !DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
        !DIR$ IGNORE_TKR sendbuf, recvbuf
        !NVF$ IGNORE_TKR sendbuf, recvbuf
        type(*), dimension(*) :: sendbuf, recvbuf
        integer, intent(in) :: sendcount, recvcount, root
        type(*), intent(in) :: sendtype, recvtype, comm
        integer, optional, intent(out) :: ierr
        call waitio_mpi_scatter_f(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
                                  root, comm, ierr)
    end subroutine WAITIO_MPI_Scatter

    subroutine WAITIO_MPI_Scatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, &
                                   recvtype, root, comm, ierr)
        !GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
        !DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
        !DIR$ IGNORE_TKR sendbuf, recvbuf
        !NVF$ IGNORE_TKR sendbuf, recvbuf
        type(*), dimension(*) :: sendbuf, recvbuf
        integer, intent(in) :: sendcounts(*), displs(*), recvcount, root
        type(*), intent(in) :: sendtype, recvtype, comm
        integer, optional, intent(out) :: ierr
        call waitio_mpi_scatterv_f(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, &
                                   recvtype, root, comm, ierr)
    end subroutine WAITIO_MPI_Scatterv

    subroutine WAITIO_MPI_Gatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
                                  recvtype, root, comm, ierr)
        !GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
        !DEC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
        !DIR$ IGNORE_TKR sendbuf, recvbuf
        !NVF$ IGNORE_TKR sendbuf, recvbuf
        type(*), dimension(*) :: sendbuf, recvbuf
        integer, intent(in) :: sendcount, recvcounts(*), displs(*), root
        type(*), intent(in) :: sendtype, recvtype, comm
        integer, optional, intent(out) :: ierr
        call waitio_mpi_gatherv_f(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
                                  recvtype, root, comm, ierr)
    end subroutine WAITIO_MPI_Gatherv

end module waitio_mpif90
