! SPDX-License-Identifier: BSD-3-Clause
! Module waitio_hybrid with each kind of communicator on both sides; no ierr. The calls are those of
! hybrid_old.F90, to be a block beside it.
program hybrid_modules
    use mpi_f08, only: MPI_Init, MPI_Finalize, MPI_COMM_WORLD, MPI_COMM_NULL
    use waitio_hybrid
    use waitio_mpif90, only: WAITIO_MPI_Comm, WMPI_Init, WMPI_Create_universe, WAITIO_MPI_Comm_rank, &
        WAITIO_MPI_Comm_size, WAITIO_MPI_Finalize, WAITIO_MPI_COMM_NULL
    implicit none
    external :: check
    type(WAITIO_MPI_Comm) :: universe, comm
    integer :: me, n, bad, number

    bad = 0
    call MPI_Init()
    call WMPI_Init()
    call WMPI_Create_universe(universe)
    call WAITIO_MPI_Comm_rank(universe, me)
    call WAITIO_MPI_Comm_size(universe, n)
    call waitio_hybrid_create_world(comm)
    call check(comm%MPI_VAL, me, n, bad)
    call waitio_hybrid_create(MPI_COMM_WORLD, -me, number)
    call check(number, n - 1 - me, n, bad)
    number = 1
    call waitio_hybrid_create(MPI_COMM_NULL%MPI_VAL, 0, number)
    if (number /= WAITIO_MPI_COMM_NULL) bad = bad + 1
    call WAITIO_MPI_Finalize()
    call MPI_Finalize()
    if (bad /= 0) stop 1
    print '(a)', 'ok'
end program hybrid_modules
