! SPDX-License-Identifier: BSD-3-Clause
! The include file in free form: in a module with implicit none, and in a procedure.
module include_free
    implicit none
    include 'waitio_mpif.h'
    include 'waitio_errors.inc'
    private
    public :: numbers
contains
    integer function numbers()
        numbers = WAITIO_MPI_DOUBLE_PRECISION + WAITIO_MPI_SUM + WAITIO_STATUS_SIZE + WAITIO_ERR_PEER
    end function numbers
end module include_free

subroutine old_free(ierr)
    implicit real*8(a - h, o - z)
    include 'waitio_mpif.h'
    dimension buf(10)
    integer req(WAITIO_REQUEST_SIZE)
    buf = 0
    call waitio_create_universe(waitio_comm, ierr)
    call waitio_mpi_isend(buf, 10, WAITIO_MPI_DOUBLE, 0, 0, waitio_comm, req, ierr)
    call waitio_mpi_isend_f(buf, 10, WAITIO_MPI_DOUBLE, 0, 0, waitio_comm, req)
    call waitio_mpi_bcast_f(ierr, 1, WAITIO_MPI_INTEGER, 0, waitio_comm, ierr)
end subroutine old_free
