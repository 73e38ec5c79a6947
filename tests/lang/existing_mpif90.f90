! SPDX-License-Identifier: BSD-3-Clause
! A module as existing programs carry it in their own sources: it includes waitio_mpif.h right after
! implicit none, then says private, and calls the _f names with assumed-type buffers, passing an
! optional ierr on whether it is there or not. It must compile against our include file.
module waitio_mpif90
    use, intrinsic :: iso_c_binding, only: c_ptr, c_null_ptr
    implicit none
    include 'waitio_mpif.h'
    private

    type, public :: WAITIO_MPI_Comm
        type(c_ptr) :: ptr = c_null_ptr
    end type WAITIO_MPI_Comm
    type, public :: WAITIO_MPI_Datatype
        integer :: val
    end type WAITIO_MPI_Datatype
    type, public :: WAITIO_MPI_Op
        integer :: val
    end type WAITIO_MPI_Op
    type, public :: WAITIO_MPI_Request
        integer :: val(22)
    end type WAITIO_MPI_Request

    public :: WAITIO_MPI_INTEGER, WAITIO_MPI_DOUBLE_PRECISION, WAITIO_MPI_FLOAT, WAITIO_STATUS_SIZE
    public :: WAITIO_MPI_SUM, WAITIO_MPI_MAX
    public :: WMPI_Init, WMPI_Create_universe, WMPI_Create_pbgroup
    public :: WAITIO_MPI_Comm_rank, WAITIO_MPI_Comm_size
    public :: WAITIO_MPI_Isend, WAITIO_MPI_Irecv, WAITIO_MPI_Wait, WAITIO_MPI_Waitall
    public :: WAITIO_MPI_Barrier, WAITIO_MPI_Bcast, WAITIO_MPI_Reduce, WAITIO_MPI_Allreduce
    public :: WAITIO_MPI_Gather, WAITIO_MPI_Allgather, WAITIO_MPI_Scatter, WAITIO_MPI_Scatterv
    public :: WAITIO_MPI_Gatherv, Never_called

contains

    subroutine WMPI_Init(ierr)
        integer, optional, intent(out) :: ierr
        if (present(ierr)) ierr = 0
    end subroutine WMPI_Init

    subroutine WMPI_Create_universe(comm, ierr)
        type(WAITIO_MPI_Comm), intent(out) :: comm
        integer, optional, intent(out) :: ierr
        call waitio_create_universe(comm, ierr)
    end subroutine WMPI_Create_universe

    subroutine WMPI_Create_pbgroup(comm, pbid, ierr)
        type(WAITIO_MPI_Comm), intent(out) :: comm
        integer, intent(in) :: pbid
        integer, optional, intent(out) :: ierr
        call waitio_create_pbgroup_f(comm, pbid, ierr)
    end subroutine WMPI_Create_pbgroup

    subroutine WAITIO_MPI_Comm_rank(comm, rank, ierr)
        type(WAITIO_MPI_Comm), intent(in) :: comm
        integer, intent(out) :: rank
        integer, optional, intent(out) :: ierr
        call waitio_group_rank_f(comm, rank, ierr)
    end subroutine WAITIO_MPI_Comm_rank

    subroutine WAITIO_MPI_Comm_size(comm, size, ierr)
        type(WAITIO_MPI_Comm), intent(in) :: comm
        integer, intent(out) :: size
        integer, optional, intent(out) :: ierr
        call waitio_group_size_f(comm, size, ierr)
    end subroutine WAITIO_MPI_Comm_size

    subroutine WAITIO_MPI_Isend(buf, count, datatype, dest, tag, comm, request, ierr)
        type(*), dimension(..), intent(in), asynchronous :: buf
        integer, intent(in) :: count, dest, tag
        type(*), intent(in) :: datatype
        type(WAITIO_MPI_Comm), intent(in) :: comm
        type(WAITIO_MPI_Request), intent(out) :: request
        integer, optional, intent(out) :: ierr
        call waitio_mpi_isend_f(buf, count, datatype, dest, tag, comm, request, ierr)
    end subroutine WAITIO_MPI_Isend

    subroutine WAITIO_MPI_Irecv(buf, count, datatype, source, tag, comm, request, ierr)
        type(*), dimension(..), asynchronous :: buf
        integer, intent(in) :: count, source, tag
        type(*), intent(in) :: datatype
        type(WAITIO_MPI_Comm), intent(in) :: comm
        type(WAITIO_MPI_Request), intent(out) :: request
        integer, optional, intent(out) :: ierr
        call waitio_mpi_irecv_f(buf, count, datatype, source, tag, comm, request%val, ierr)
    end subroutine WAITIO_MPI_Irecv

    subroutine WAITIO_MPI_Wait(request, ierr)
        type(WAITIO_MPI_Request), intent(inout) :: request
        integer, optional, intent(out) :: ierr
        call waitio_wait_f(request, ierr)
    end subroutine WAITIO_MPI_Wait

    subroutine WAITIO_MPI_Waitall(count, requests, statuses, ierr)
        integer, intent(in) :: count
        type(WAITIO_MPI_Request), intent(inout) :: requests(count)
        integer, intent(out) :: statuses(4, count)
        integer, optional, intent(out) :: ierr
        call waitio_mpi_waitall_f(count, requests, statuses, ierr)
    end subroutine WAITIO_MPI_Waitall

    subroutine WAITIO_MPI_Barrier(comm, ierr)
        type(WAITIO_MPI_Comm), intent(in) :: comm
        integer, optional, intent(out) :: ierr
        call waitio_barrier_f(comm, ierr)
    end subroutine WAITIO_MPI_Barrier

    subroutine WAITIO_MPI_Bcast(buf, count, datatype, root, comm, ierr)
        type(*), dimension(..) :: buf
        integer, intent(in) :: count, root
        type(*), intent(in) :: datatype
        type(WAITIO_MPI_Comm), intent(in) :: comm
        integer, optional, intent(out) :: ierr
        call waitio_mpi_bcast_f(buf, count, datatype, root, comm, ierr)
    end subroutine WAITIO_MPI_Bcast

    subroutine WAITIO_MPI_Reduce(s, r, count, datatype, op, root, comm, ierr)
        type(*), dimension(*), intent(in) :: s
        type(*), dimension(*) :: r
        integer, intent(in) :: count, root
        type(*), intent(in) :: datatype, op
        type(WAITIO_MPI_Comm), intent(in) :: comm
        integer, optional, intent(out) :: ierr
        call waitio_mpi_reduce_f(s, r, count, datatype, op, root, comm, ierr)
    end subroutine WAITIO_MPI_Reduce

    subroutine WAITIO_MPI_Allreduce(s, r, count, datatype, op, comm, ierr)
        type(*), dimension(..), intent(in) :: s
        type(*), dimension(..) :: r
        integer, intent(in) :: count
        type(*), intent(in) :: datatype, op
        type(WAITIO_MPI_Comm), intent(in) :: comm
        integer, optional, intent(out) :: ierr
        call waitio_mpi_allreduce_f(s, r, count, datatype, op, comm, ierr)
    end subroutine WAITIO_MPI_Allreduce

    subroutine WAITIO_MPI_Gather(s, r, count, datatype, root, comm, ierr)
        type(*), dimension(*), intent(in) :: s
        type(*), dimension(*) :: r
        integer, intent(in) :: count, root
        type(*), intent(in) :: datatype
        type(WAITIO_MPI_Comm), intent(in) :: comm
        integer, optional, intent(out) :: ierr
        call waitio_mpi_gather_f(s, r, count, datatype, root, comm, ierr)
    end subroutine WAITIO_MPI_Gather

    subroutine WAITIO_MPI_Allgather(s, r, count, datatype, comm, ierr)
        type(*), dimension(*), intent(in) :: s
        type(*), dimension(*) :: r
        integer, intent(in) :: count
        type(*), intent(in) :: datatype
        type(WAITIO_MPI_Comm), intent(in) :: comm
        integer, optional, intent(out) :: ierr
        call waitio_mpi_allgather_f(s, r, count, datatype, comm, ierr)
    end subroutine WAITIO_MPI_Allgather

    subroutine WAITIO_MPI_Scatter(s, sc, st, r, rc, rt, root, comm, ierr)
        type(*), dimension(*), intent(in) :: s
        type(*), dimension(*) :: r
        integer, intent(in) :: sc, rc, root
        type(*), intent(in) :: st, rt
        type(WAITIO_MPI_Comm), intent(in) :: comm
        integer, optional, intent(out) :: ierr
        call waitio_mpi_scatter_f(s, sc, st, r, rc, rt, root, comm, ierr)
    end subroutine WAITIO_MPI_Scatter

    subroutine WAITIO_MPI_Scatterv(s, sc, ds, st, r, rc, rt, root, comm, ierr)
        type(*), dimension(*), intent(in) :: s
        type(*), dimension(*) :: r
        integer, intent(in) :: sc(*), ds(*), rc, root
        type(*), intent(in) :: st, rt
        type(WAITIO_MPI_Comm), intent(in) :: comm
        integer, optional, intent(out) :: ierr
        call waitio_mpi_scatterv_f(s, sc, ds, st, r, rc, rt, root, comm, ierr)
    end subroutine WAITIO_MPI_Scatterv

    ! Such modules also call the scalar form with an array of counts; that has to compile.
    subroutine Never_called(s, sc, st, r, rc, rt, root, comm, ierr)
        type(*), dimension(*), intent(in) :: s
        type(*), dimension(*) :: r
        integer, intent(in) :: sc(*), rc, root
        type(*), intent(in) :: st, rt
        type(WAITIO_MPI_Comm), intent(in) :: comm
        integer, optional, intent(out) :: ierr
        call waitio_mpi_scatter_f(s, sc, st, r, rc, rt, root, comm, ierr)
    end subroutine Never_called

    subroutine WAITIO_MPI_Gatherv(s, sc, st, r, rc, ds, rt, root, comm, ierr)
        type(*), dimension(*), intent(in) :: s
        type(*), dimension(*) :: r
        integer, intent(in) :: sc, rc(*), ds(*), root
        type(*), intent(in) :: st, rt
        type(WAITIO_MPI_Comm), intent(in) :: comm
        integer, optional, intent(out) :: ierr
        call waitio_mpi_gatherv_f(s, sc, st, r, rc, ds, rt, root, comm, ierr)
    end subroutine WAITIO_MPI_Gatherv
end module waitio_mpif90
