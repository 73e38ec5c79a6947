C     SPDX-License-Identifier: BSD-3-Clause
C     The same idea in fixed form with external procedures: what an old
C     MPI program looks like when WAITIO_ has been put in front.
C
C       gfortran -O2 -std=legacy old_style.f -o old_style
C         $(pkg-config --cflags --libs waitio)
C       waitio run ./old_style : ./old_style
      program old
      implicit REAL*8(A-H,O-Z)
      include 'waitio_mpif.h'
      parameter (N=1000)
      dimension x(N), y(N)
      integer req(WAITIO_REQUEST_SIZE,2), sta(WAITIO_STATUS_SIZE,2)

C     Joining is implied. WAITIO_COMM needs no declaration.
      call WAITIO_CREATE_UNIVERSE(WAITIO_COMM, ierr)
      call WAITIO_MPI_COMM_RANK(WAITIO_COMM, me, ierr)
      call WAITIO_MPI_COMM_SIZE(WAITIO_COMM, np, ierr)
      do 10 i=1,N
        x(i)=me
   10 continue
      iright=mod(me+1,np)
      ileft=mod(me+np-1,np)
      call WAITIO_MPI_IRECV(y, N, WAITIO_MPI_DOUBLE_PRECISION, ileft,
     &  0, WAITIO_COMM, req(1,1), ierr)
      call WAITIO_MPI_ISEND(x, N, WAITIO_MPI_DOUBLE_PRECISION, iright,
     &  0, WAITIO_COMM, req(1,2), ierr)
      call WAITIO_MPI_WAITALL(2, req, sta, ierr)
      if (y(N).ne.ileft) stop 1
      call WAITIO_MPI_ALLREDUCE(y, x, N, WAITIO_MPI_DOUBLE_PRECISION,
     &  WAITIO_MPI_SUM, WAITIO_COMM, ierr)
      if (x(1).ne.np*(np-1)/2) stop 1
      if (me.eq.0) print *, 'sum of ranks: ', x(1)
      end
