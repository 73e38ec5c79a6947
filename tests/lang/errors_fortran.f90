! SPDX-License-Identifier: BSD-3-Clause
! Without ierr an error ends the program: the absent argument arrives as a null address.
program errors_fortran
    use waitio_mpif90
    implicit none
    type(WAITIO_MPI_Comm) :: comm
    integer :: size
    call WMPI_Create_universe(comm)
    comm%MPI_VAL = comm%MPI_VAL + 65536 ! a stale handle
    call WAITIO_MPI_Comm_size(comm, size)
    print '(a)', 'still alive'
end program errors_fortran
