C SPDX-License-Identifier: BSD-3-Clause
C Conjugate gradients for Poisson's equation on a square of N x N
C points, in fixed form. Every process has some rows of points; before
C a product with the matrix it needs one row of each neighbour.
C
C Plain MPI, nothing else: docs/guide/convert.md converts it.
C   mpifort -O2 cg.f -o cg && mpiexec -n 4 ./cg
      PROGRAM CG
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      INTEGER N, MAXIT
      PARAMETER (N=60, MAXIT=500)
      DOUBLE PRECISION X(N*N), R(N*N), P(N*(N+2)), Q(N*N)
      DOUBLE PRECISION ALPHA, BETA, RHO, OLD, DOT, TOL, BEGAN, S
      INTEGER ME, NP, ROWS, M, I, ITER, IERR
      PARAMETER (TOL=1D-10)
      EXTERNAL DOT

      CALL MPI_INIT(IERR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, ME, IERR)
      CALL MPI_COMM_SIZE(MPI_COMM_WORLD, NP, IERR)
      BEGAN = MPI_WTIME()
      ROWS = N/NP
      IF (ME .LT. MOD(N,NP)) ROWS = ROWS + 1
      M = N*ROWS
      DO 10 I = 1, M
         X(I) = 0D0
         R(I) = 1D0
         P(N+I) = R(I)
   10 CONTINUE
      RHO = DOT(M, R, R)
      DO 40 ITER = 1, MAXIT
         CALL MATVEC(N, ROWS, P, Q, ME, NP)
         ALPHA = RHO/DOT(M, P(N+1), Q)
         DO 20 I = 1, M
            X(I) = X(I) + ALPHA*P(N+I)
            R(I) = R(I) - ALPHA*Q(I)
   20    CONTINUE
         OLD = RHO
         RHO = DOT(M, R, R)
         IF (SQRT(RHO) .LT. TOL) GOTO 50
         BETA = RHO/OLD
         DO 30 I = 1, M
            P(N+I) = R(I) + BETA*P(N+I)
   30    CONTINUE
   40 CONTINUE
   50 CONTINUE
      S = 0D0
      DO 60 I = 1, M
         S = S + X(I)
   60 CONTINUE
      CALL MPI_REDUCE(S, ALPHA, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0,
     &                MPI_COMM_WORLD, IERR)
      IF (ME .EQ. 0) THEN
         PRINT '(A,I0)', 'iterations ', ITER
         PRINT '(A,ES20.12)', 'sum ', ALPHA
         PRINT '(A,F0.3,A)', 'time ', MPI_WTIME() - BEGAN, ' s'
      END IF
      CALL MPI_FINALIZE(IERR)
      END

C     Sum over all processes of A(I)*B(I).
      DOUBLE PRECISION FUNCTION DOT(M, A, B)
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      INTEGER M, I, IERR
      DOUBLE PRECISION A(M), B(M), S
      S = 0D0
      DO 10 I = 1, M
         S = S + A(I)*B(I)
   10 CONTINUE
      CALL MPI_ALLREDUCE(S, DOT, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_C
     &OMM_WORLD, IERR)
      END

C     Q = A*P, A the five-point stencil. P has room for a row of each
C     neighbour; beyond the square it is 0.
      SUBROUTINE MATVEC(N, ROWS, P, Q, ME, NP)
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      INTEGER N, ROWS, ME, NP, I, J, ABOVE, BELOW, IERR
      INTEGER REQ(4), STATS(MPI_STATUS_SIZE,4), INDEX
      DOUBLE PRECISION P(N,0:N+1), Q(N,N)
      ABOVE = ME - 1
      IF (ME .EQ. 0) ABOVE = MPI_PROC_NULL
      BELOW = ME + 1
      IF (ME .EQ. NP-1) BELOW = MPI_PROC_NULL
      DO 10 I = 1, N
         P(I,0) = 0D0
         P(I,ROWS+1) = 0D0
   10 CONTINUE
      DO 20 I = 1, 4
         REQ(I) = MPI_REQUEST_NULL
   20 CONTINUE
      CALL MPI_IRECV(P(1,0), N, MPI_DOUBLE_PRECISION, ABOVE, 1, MPI_COMM
     &_WORLD, REQ(1), IERR)
      CALL MPI_IRECV(P(1,ROWS+1), N, MPI_DOUBLE_PRECISION, BELOW, 2,
     &               MPI_COMM_WORLD, REQ(2), IERR)
      CALL MPI_ISEND(P(1,1), N, MPI_DOUBLE_PRECISION, ABOVE, 2,
     &               MPI_COMM_WORLD, REQ(3), IERR)
      CALL MPI_ISEND(P(1,ROWS), N, MPI_DOUBLE_PRECISION, BELOW, 1,
     &               MPI_COMM_WORLD, REQ(4), IERR)
C     One after the other, then the rest.
      CALL MPI_WAITANY(4, REQ, INDEX, STATS, IERR)
      CALL MPI_WAITALL(4, REQ, STATS, IERR)
      DO 40 J = 1, ROWS
         DO 30 I = 1, N
            Q(I,J) = 4D0*P(I,J) - P(I,J-1) - P(I,J+1)
            IF (I .GT. 1) Q(I,J) = Q(I,J) - P(I-1,J)
            IF (I .LT. N) Q(I,J) = Q(I,J) - P(I+1,J)
   30    CONTINUE
   40 CONTINUE
      END
