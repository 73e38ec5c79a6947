! SPDX-License-Identifier: BSD-3-Clause
! A hybrid communicator before MPI_Init, by an external procedure; -DLOOKS: with ierr.
program hybrid_too_early
    implicit none
    external :: waitio_hybrid_create_world, waitio_finalize
    integer :: comm, ierr
    ierr = 0
#ifdef LOOKS
    call waitio_hybrid_create_world(comm, ierr)
    print '(a,i0)', 'ierr ', ierr
#else
    call early
    print '(a)', 'goes on'
contains
    subroutine early
        use waitio_hybrid, only: create_world => waitio_hybrid_create_world
        call create_world(comm)
    end subroutine early
#endif
end program hybrid_too_early
