! SPDX-License-Identifier: BSD-3-Clause
!> Start and end of the library, and the communicator of all processes. In a hybrid program MPI starts
!> first: it serves the collectives inside each block.
module heat3d_start
#if defined(HEAT3D_HYBRID) || !defined(HEAT3D_WAITIO)
    use mpi
#endif
    implicit none
#ifdef HEAT3D_WAITIO
    include 'waitio_mpif.h'
#endif
    private
    public :: start_library, stop_library
    integer, public, protected :: start_world = 0

contains

    subroutine start_library()
        integer :: ierr
#ifdef HEAT3D_HYBRID
        external :: waitio_hybrid_create_world
        call MPI_Init(ierr)
        call waitio_hybrid_create_world(start_world, ierr)
#elif defined(HEAT3D_WAITIO)
        call WAITIO_MPI_INIT(ierr)
        start_world = WAITIO_MPI_COMM_WORLD
#else
        call MPI_Init(ierr)
        start_world = MPI_COMM_WORLD
#endif
    end subroutine start_library

    subroutine stop_library()
        integer :: ierr
#ifdef HEAT3D_WAITIO
        call WAITIO_MPI_FINALIZE(ierr)
#endif
#if defined(HEAT3D_HYBRID) || !defined(HEAT3D_WAITIO)
        call MPI_Finalize(ierr)
#endif
    end subroutine stop_library
end module heat3d_start
