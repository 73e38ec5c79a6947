! SPDX-License-Identifier: BSD-3-Clause
!> Hybrid communicators (waitio_hybrid.h): members of one parallel block (PB) exchange data by the
!> MPI that the block was started with, members of different PBs by WaitIO.
!>
!>     call waitio_hybrid_create(block, key, comm, ierr)
!>     call waitio_hybrid_create_world(comm, ierr)
!>
!> Collective over the universe: every process calls one of them once; one without MPI calls
!> WAITIO_CREATE_HYBRID (waitio_mpif.h) or WMPI_Create_hybrid (module waitio_mpif90).
!>
!> block  communicator of this PB's members: an integer, or type(MPI_Comm) of module mpi_f08.
!>        MPI_COMM_NULL: this process is no member, and gets WAITIO_MPI_COMM_NULL
!> key    ranks are ordered by key, then by PB and rank in the PB
!> comm   as the module has it that the program uses: an integer (waitio_mpif.h),
!>        type(WAITIO_MPI_Comm) (waitio_mpif90) or type(waitio_group) (waitio); to be freed with
!>        WAITIO_MPI_Comm_free before MPI_Finalize
!> ierr   0 or a negative WAITIO_ERR_ code. Left out, an error ends the program with a message
!>
!> Built once for each MPI, for its handles and the compiler of its module mpi_f08.
module waitio_hybrid
#ifdef WAITIO_HYBRID_F08
    use mpi_f08, only: MPI_Comm
#endif
    use, intrinsic :: iso_c_binding, only: c_int
    use waitio_mpif90, only: WAITIO_MPI_Comm
    use waitio_types, only: waitio_group
    implicit none
    private
    public :: waitio_hybrid_create, waitio_hybrid_create_world

    interface waitio_hybrid_create
        module procedure number_number, number_type, number_group
#ifdef WAITIO_HYBRID_F08
        module procedure f08_number, f08_type, f08_group
#endif
    end interface waitio_hybrid_create

    interface waitio_hybrid_create_world
        module procedure world_number, world_type, world_group
    end interface waitio_hybrid_create_world

    interface
        subroutine c_create(block, key, comm, ierr) bind(c, name='waitio_hybrid_create_')
            import :: c_int
            integer(c_int), intent(in) :: block, key
            integer(c_int), intent(out) :: comm
            integer(c_int), optional, intent(out) :: ierr
        end subroutine c_create
        subroutine c_world(comm, ierr) bind(c, name='waitio_hybrid_create_world_')
            import :: c_int
            integer(c_int), intent(out) :: comm
            integer(c_int), optional, intent(out) :: ierr
        end subroutine c_world
        subroutine c_create_group(block, key, comm, ierr) bind(c, name='waitio_hybrid_cfi_create')
            import :: c_int, waitio_group
            integer(c_int), intent(in) :: block, key
            type(waitio_group), intent(out) :: comm
            integer(c_int), optional, intent(out) :: ierr
        end subroutine c_create_group
        subroutine c_world_group(comm, ierr) bind(c, name='waitio_hybrid_cfi_create_world')
            import :: c_int, waitio_group
            type(waitio_group), intent(out) :: comm
            integer(c_int), optional, intent(out) :: ierr
        end subroutine c_world_group
    end interface

contains

    subroutine number_number(block, key, comm, ierr)
        integer(c_int), intent(in) :: block, key
        integer(c_int), intent(out) :: comm
        integer(c_int), optional, intent(out) :: ierr
        call c_create(block, key, comm, ierr)
    end subroutine number_number

    subroutine number_type(block, key, comm, ierr)
        integer(c_int), intent(in) :: block, key
        type(WAITIO_MPI_Comm), intent(out) :: comm
        integer(c_int), optional, intent(out) :: ierr
        call c_create(block, key, comm%MPI_VAL, ierr)
    end subroutine number_type

    subroutine number_group(block, key, comm, ierr)
        integer(c_int), intent(in) :: block, key
        type(waitio_group), intent(out) :: comm
        integer(c_int), optional, intent(out) :: ierr
        call c_create_group(block, key, comm, ierr)
    end subroutine number_group

#ifdef WAITIO_HYBRID_F08
    subroutine f08_number(block, key, comm, ierr)
        type(MPI_Comm), intent(in) :: block
        integer(c_int), intent(in) :: key
        integer(c_int), intent(out) :: comm
        integer(c_int), optional, intent(out) :: ierr
        call c_create(block%MPI_VAL, key, comm, ierr)
    end subroutine f08_number

    subroutine f08_type(block, key, comm, ierr)
        type(MPI_Comm), intent(in) :: block
        integer(c_int), intent(in) :: key
        type(WAITIO_MPI_Comm), intent(out) :: comm
        integer(c_int), optional, intent(out) :: ierr
        call c_create(block%MPI_VAL, key, comm%MPI_VAL, ierr)
    end subroutine f08_type

    subroutine f08_group(block, key, comm, ierr)
        type(MPI_Comm), intent(in) :: block
        integer(c_int), intent(in) :: key
        type(waitio_group), intent(out) :: comm
        integer(c_int), optional, intent(out) :: ierr
        call c_create_group(block%MPI_VAL, key, comm, ierr)
    end subroutine f08_group
#endif

    subroutine world_number(comm, ierr)
        integer(c_int), intent(out) :: comm
        integer(c_int), optional, intent(out) :: ierr
        call c_world(comm, ierr)
    end subroutine world_number

    subroutine world_type(comm, ierr)
        type(WAITIO_MPI_Comm), intent(out) :: comm
        integer(c_int), optional, intent(out) :: ierr
        call c_world(comm%MPI_VAL, ierr)
    end subroutine world_type

    subroutine world_group(comm, ierr)
        type(waitio_group), intent(out) :: comm
        integer(c_int), optional, intent(out) :: ierr
        call c_world_group(comm, ierr)
    end subroutine world_group

end module waitio_hybrid
