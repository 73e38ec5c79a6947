! SPDX-License-Identifier: BSD-3-Clause
! Old style: include files, external procedures, no module. Two hybrid communicators: all processes
! in the order of blocks, and in the opposite order. With -DPLAIN a process without MPI.
program hybrid_old
    implicit none
    include 'waitio_mpif.h'
#ifdef PLAIN
    external :: waitio_create_hybrid
#else
    include 'mpif.h'
    external :: waitio_hybrid_create, waitio_hybrid_create_world
#endif
    external :: check, waitio_init, waitio_finalize, waitio_create_universe, waitio_mpi_comm_rank, &
        waitio_mpi_comm_size
    integer :: universe, comm, me, n, ierr, bad

    bad = 0
#ifndef PLAIN
    call MPI_Init(ierr)
#endif
    call waitio_init(60, ierr)
    call waitio_create_universe(universe, ierr)
    call waitio_mpi_comm_rank(universe, me, ierr)
    call waitio_mpi_comm_size(universe, n, ierr)
    comm = -1
#ifdef PLAIN
    call waitio_create_hybrid(comm, 1, 0, ierr)
#else
    call waitio_hybrid_create_world(comm, ierr)
#endif
    if (ierr /= 0) bad = bad + 1
    call check(comm, me, n, bad)
#ifdef PLAIN
    call waitio_create_hybrid(comm, 1, -me, ierr)
#else
    call waitio_hybrid_create(MPI_COMM_WORLD, -me, comm, ierr)
#endif
    call check(comm, n - 1 - me, n, bad)
    ! Nobody is a member.
#ifdef PLAIN
    call waitio_create_hybrid(comm, 0, 0, ierr)
#else
    call waitio_hybrid_create(MPI_COMM_NULL, 0, comm, ierr)
#endif
    if (ierr /= 0 .or. comm /= WAITIO_MPI_COMM_NULL) bad = bad + 1
    call waitio_finalize(ierr)
#ifndef PLAIN
    call MPI_Finalize(ierr)
#endif
    if (bad /= 0) stop 1
    print '(a)', 'ok'
end program hybrid_old
