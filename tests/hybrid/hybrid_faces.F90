! SPDX-License-Identifier: BSD-3-Clause
! Every form of the generic names: integer and type(MPI_Comm) for the block; integer,
! type(WAITIO_MPI_Comm) and type(waitio_group) for the communicator; with ierr and without.
program hybrid_faces
    use mpi_f08
    use waitio
    use waitio_hybrid
    use waitio_mpif90, only: WAITIO_MPI_Comm
    implicit none
    type(WAITIO_MPI_Comm) :: typed
    type(waitio_group) :: group
    integer :: number, ierr, bad

    bad = 0
    call MPI_Init()
    call waitio_init(60)
    call waitio_hybrid_create(MPI_COMM_WORLD%MPI_VAL, 0, number)
    call waitio_hybrid_create(MPI_COMM_WORLD%MPI_VAL, 0, typed)
    call waitio_hybrid_create(MPI_COMM_WORLD%MPI_VAL, 0, group)
    call works(group)
    call waitio_hybrid_create(MPI_COMM_WORLD, 0, number, ierr)
    call waitio_hybrid_create(MPI_COMM_WORLD, 0, typed, ierr)
    call waitio_hybrid_create(MPI_COMM_WORLD, 0, group, ierr)
    call works(group)
    call waitio_hybrid_create_world(number, ierr)
    call waitio_hybrid_create_world(typed, ierr)
    call waitio_hybrid_create_world(group)
    call works(group)
    if (number == 0 .or. typed%MPI_VAL == 0 .or. number == typed%MPI_VAL) bad = bad + 1
    call waitio_hybrid_create(MPI_COMM_NULL, 0, group)
    if (group /= WAITIO_MPI_COMM_NULL) bad = bad + 1
    call waitio_finalize()
    call MPI_Finalize()
    if (bad /= 0) stop 1
    print '(a)', 'ok'

contains

    subroutine works(g)
        type(waitio_group), intent(in) :: g
        integer :: me, n, total, mine
        call MPI_Comm_rank(MPI_COMM_WORLD, me)
        call MPI_Comm_size(MPI_COMM_WORLD, n)
        mine = me + 1
        total = 0
        call waitio_allreduce(mine, total, WAITIO_SUM, g)
        if (total /= 2 * (n * (n + 1) / 2)) bad = bad + 1
    end subroutine works
end program hybrid_faces
