! SPDX-License-Identifier: BSD-3-Clause
! Two separately started programs exchange a field in every step, with the modern module.
!
!   gfortran -O2 exchange.f90 -o exchange $(pkg-config --cflags --libs waitio_fortran)
!   waitio run ./exchange : ./exchange
!
! Errors end the program with a message, because no call here asks for ierr.
program exchange
    use waitio
    implicit none
    integer, parameter :: n = 1000, steps = 10, tag = 1
    real(8), asynchronous :: mine(n), theirs(n)
    type(waitio_group) :: world
    type(waitio_request) :: req(2)
    type(waitio_status) :: status(2)
    integer :: me, size, other, step
    real(8) :: total, everything

    call waitio_init(timeout=60)
    call waitio_group_universe(world)
    call waitio_group_rank(world, me)
    call waitio_group_size(world, size)
    if (size /= 2) error stop 'exchange needs 2 processes'
    other = 1 - me

    mine = me
    do step = 1, steps
        ! The size of a message is that of the array; it must be contiguous.
        call waitio_irecv(world, other, theirs, tag, req(1))
        call waitio_isend(world, other, mine, tag, req(2))
        call waitio_waitall(req, status)
        if (status(1)%bytes /= 8 * n) error stop 'a message of the wrong size'
        mine = (mine + theirs) / 2 ! relaxes towards the mean of both
    end do

    total = sum(mine)
    call waitio_allreduce(total, everything, WAITIO_SUM, world)
    if (me == 0) print '(a, f8.3)', 'mean after relaxation: ', everything / (2 * n)
    if (abs(everything / (2 * n) - 0.5d0) > 1d-12) error stop 'wrong mean'
    call waitio_finalize()
end program exchange
