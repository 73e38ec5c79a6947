C     SPDX-License-Identifier: BSD-3-Clause
C     The include file in fixed form: in a module and in a procedure
C     under an implicit rule.
      module include_fixed
      implicit none
      include 'waitio_mpif.h'
      private
      public :: fixed_numbers
      contains
      integer function fixed_numbers()
      fixed_numbers=WAITIO_MPI_INTEGER+WAITIO_MPI_MAX
      end function fixed_numbers
      end module include_fixed

      subroutine old_fixed(ierr)
      implicit REAL*8(A-H,O-Z)
      include 'waitio_mpif.h'
      include 'waitio_errors.inc'
      integer req(WAITIO_REQUEST_SIZE,2), sta(WAITIO_STATUS_SIZE,2)
      dimension buf(10)
      call WAITIO_CREATE_UNIVERSE(WAITIO_COMM, ierr)
      call WAITIO_MPI_IRECV(buf, 10, WAITIO_MPI_DOUBLE_PRECISION, 0, 0,
     &  WAITIO_COMM, req(1,1), ierr)
      call WAITIO_MPI_IRECV_F(buf, 10, WAITIO_MPI_DOUBLE_PRECISION, 0,
     &  0, WAITIO_COMM, req(1,2), ierr)
      call WAITIO_MPI_WAITALL(2, req, sta, ierr)
      if (ierr.eq.WAITIO_ERR_PEER) stop 1
      end
