C     SPDX-License-Identifier: BSD-3-Clause
C     script.md in the style of old programs: fixed form, external
C     procedures, and the communicators undeclared, so that they are
C     REAL*8 by the implicit rule.
      program fixed
      implicit REAL*8(A-H,O-Z)
      include 'waitio_mpif.h'
      parameter (MAXP=64)
      real*8 din(100,0:MAXP-1), dout(100,0:MAXP-1)
      integer req(WAITIO_REQUEST_SIZE,2*MAXP)
      integer sta(WAITIO_STATUS_SIZE,2*MAXP)
      common /state/ nbad

      nbad=0
      call WAITIO_CREATE_UNIVERSE(WAITIO_COMM, ierr)
      call expect(ierr.eq.0, 'create_universe')
      call WAITIO_GROUP_RANK(WAITIO_COMM, me, ierr)
      call WAITIO_GROUP_SIZE(WAITIO_COMM, n, ierr)
      call WAITIO_MPI_COMM_RANK(WAITIO_COMM, m2, ierr)
      call WAITIO_MPI_COMM_SIZE(WAITIO_COMM, n2, ierr)
      call expect(m2.eq.me .and. n2.eq.n, 'rank and size')
      call WAITIO_MPI_TYPE_SIZE(WAITIO_MPI_DOUBLE_PRECISION, is, ierr)
      call expect(is.eq.8, 'type_size')

C     1. everybody to everybody
      k=0
      do 10 i=0,n-1
        if (i.eq.me) goto 10
        k=k+1
        call WAITIO_MPI_IRECV(din(1,i), 100,
     &    WAITIO_MPI_DOUBLE_PRECISION, i, 10+i, WAITIO_COMM,
     &    req(1,k), ierr)
   10 continue
      do 20 i=0,n-1
        do 15 j=1,100
          dout(j,i)=1000*me+i+(j-1)/1024d0
   15   continue
        if (i.eq.me) goto 20
        k=k+1
        call WAITIO_MPI_ISEND(dout(1,i), 100,
     &    WAITIO_MPI_DOUBLE_PRECISION, i, 10+me, WAITIO_COMM,
     &    req(1,k), ierr)
   20 continue
      call WAITIO_MPI_WAITALL(k, req, sta, ierr)
      call expect(ierr.eq.0, 'waitall')
      k=0
      do 30 i=0,n-1
        if (i.eq.me) goto 30
        k=k+1
        call expect(sta(1,k).eq.i .and. sta(2,k).eq.10+i, 'status')
        do 25 j=1,100
          call expect(din(j,i).eq.1000*i+me+(j-1)/1024d0, 'double')
   25   continue
   30 continue

C     2. the ring
      left=mod(me+n-1,n)
      mine=me*me
      itheirs=-1
      call WAITIO_MPI_ISEND(mine, 1, WAITIO_MPI_INTEGER,
     &  mod(me+1,n), 0, WAITIO_COMM, req(1,1), ierr)
      call WAITIO_WAIT(req(1,1), ierr)
      call WAITIO_MPI_IRECV(itheirs, 1, WAITIO_MPI_INTEGER,
     &  left, 0, WAITIO_COMM, req(1,2), ierr)
      call WAITIO_WAIT(req(1,2), ierr)
      call expect(itheirs.eq.left*left, 'ring value')

      call reductions(WAITIO_COMM, me, n)
      call gathers(WAITIO_COMM, me, n)
      call WAITIO_MPI_BARRIER(WAITIO_COMM, ierr)
      call groups
      if (nbad.ne.0) stop 1
      print '(A)', 'ok'
      end

      subroutine reductions(WAITIO_COMM, me, n)
      implicit REAL*8(A-H,O-Z)
      include 'waitio_mpif.h'
      dimension i7(7), i3(3), m3(3), d5(5), s5(5)
      real*4 q3(3), p3(3)
      do 10 i=1,7
        i7(i)=-1
        if (me.eq.n-1) i7(i)=3*(i-1)+1
   10 continue
      call WAITIO_MPI_BCAST(i7, 7, WAITIO_MPI_INTEGER, n-1,
     &  WAITIO_COMM, ierr)
      do 20 i=1,7
        call expect(i7(i).eq.3*(i-1)+1, 'bcast')
   20 continue
      do 30 i=1,5
        d5(i)=me+i-1
   30 continue
      call WAITIO_MPI_REDUCE(d5, s5, 5, WAITIO_MPI_DOUBLE_PRECISION,
     &  WAITIO_MPI_SUM, mod(1,n), WAITIO_COMM, ierr)
      if (me.eq.mod(1,n)) then
        do 40 i=1,5
          call expect(s5(i).eq.n*(n-1)/2+n*(i-1), 'reduce')
   40   continue
      endif
      do 50 i=1,3
        i3(i)=mod(me*7,5)+i-1
        q3(i)=me+(i-1)/4.0
   50 continue
      call WAITIO_MPI_ALLREDUCE(i3, m3, 3, WAITIO_MPI_INTEGER,
     &  WAITIO_MPI_MAX, WAITIO_COMM, ierr)
      call WAITIO_MPI_ALLREDUCE(q3, p3, 3, WAITIO_MPI_FLOAT,
     &  WAITIO_MPI_SUM, WAITIO_COMM, ierr)
      do 70 i=1,3
        itop=0
        do 60 ir=0,n-1
          itop=max(itop,mod(ir*7,5)+i-1)
   60   continue
        call expect(m3(i).eq.itop, 'allreduce max')
        call expect(p3(i).eq.n*(n-1)/2+n*(i-1)/4.0, 'allreduce sum')
   70 continue
      end

      subroutine gathers(WAITIO_COMM, me, n)
      implicit REAL*8(A-H,O-Z)
      include 'waitio_mpif.h'
      dimension mine(2), iall(0:191), icnt(0:63), idsp(0:63), ipart(3)
      dimension droot(0:191), d3(3)
      mine(1)=10*me
      mine(2)=10*me+1
      call WAITIO_MPI_GATHER(mine, iall, 2, WAITIO_MPI_INTEGER, 0,
     &  WAITIO_COMM, ierr)
      if (me.ne.0) goto 15
      do 10 i=0,n-1
        call expect(iall(2*i).eq.10*i .and. iall(2*i+1).eq.10*i+1,
     &    'gather')
   10 continue
   15 call WAITIO_MPI_ALLGATHER(mine, iall, 2, WAITIO_MPI_INTEGER,
     &  WAITIO_COMM, ierr)
      do 20 i=0,n-1
        call expect(iall(2*i).eq.10*i .and. iall(2*i+1).eq.10*i+1,
     &    'allgather')
   20 continue
      do 30 k=0,3*n-1
        droot(k)=k/2d0
        iall(k)=k
   30 continue
      call WAITIO_MPI_SCATTER(droot, 3, WAITIO_MPI_DOUBLE_PRECISION,
     &  d3, 3, WAITIO_MPI_DOUBLE_PRECISION, 0, WAITIO_COMM, ierr)
      do 40 i=1,3
        call expect(d3(i).eq.(3*me+i-1)/2d0, 'scatter')
   40 continue
      do 50 i=0,n-1
        icnt(i)=mod(i,3)
        idsp(i)=3*i
   50 continue
      call WAITIO_MPI_SCATTERV(iall, icnt, idsp, WAITIO_MPI_INTEGER,
     &  ipart, mod(me,3), WAITIO_MPI_INTEGER, 0, WAITIO_COMM, ierr)
      do 60 i=1,mod(me,3)
        call expect(ipart(i).eq.3*me+i-1, 'scatterv')
        ipart(i)=100*me+i-1
   60 continue
      call WAITIO_MPI_GATHERV(ipart, mod(me,3), WAITIO_MPI_INTEGER,
     &  iall, icnt, idsp, WAITIO_MPI_INTEGER, 0, WAITIO_COMM, ierr)
      if (me.ne.0) return
      do 80 i=0,n-1
        do 70 j=0,mod(i,3)-1
          call expect(iall(3*i+j).eq.100*i+j, 'gatherv')
   70   continue
   80 continue
      end

      subroutine groups
      implicit REAL*8(A-H,O-Z)
      include 'waitio_mpif.h'
      call WAITIO_PB_SIZE(npb, ierr)
      call WAITIO_PB_RANK(ipb, ierr)
      call WAITIO_CREATE_UNIVERSE_PBHEAD(WAITIO_HEADS, ierr)
      call WAITIO_CREATE_PBGROUP(WAITIO_MINE, ipb, ierr)
      call WAITIO_GROUP_RANK(WAITIO_MINE, ir, ierr)
      call WAITIO_GROUP_SIZE(WAITIO_MINE, is, ierr)
      call WAITIO_GROUP_RANK(WAITIO_HEADS, ih, ierr)
      if (ir.eq.0) then
        call expect(ih.eq.ipb, 'rank among heads')
        call WAITIO_MPI_ALLREDUCE(ipb, isum, 1, WAITIO_MPI_INTEGER,
     &    WAITIO_MPI_SUM, WAITIO_HEADS, ierr)
        call expect(isum.eq.npb*(npb-1)/2, 'sum over heads')
      else
        call expect(ih.eq.-1, 'rank among heads')
      endif
      call WAITIO_MPI_ALLREDUCE(1, isum, 1, WAITIO_MPI_INTEGER,
     &  WAITIO_MPI_SUM, WAITIO_MINE, ierr)
      call expect(isum.eq.is, 'sum over PB')
      end

      subroutine expect(ok, what)
      logical ok
      character*(*) what
      common /state/ nbad
      if (ok) return
      nbad=nbad+1
      write(0,*) 'api_fixed: ', what, ' is wrong'
      end
