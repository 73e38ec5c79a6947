! SPDX-License-Identifier: BSD-3-Clause
! A simulation (block 0) stages a field, an analysis (block 1) reads a part of it in each step.
!
!   gfortran -O2 staging.f90 -o staging $(pkg-config --cflags --libs waitio_stage_fortran)
!   waitio run -n 2 ./staging : ./staging
!
! Python sees the same variable with its dimensions turned round: step["T"][k, j, i].
program staging
    use waitio_stage
    implicit none
    integer, parameter :: nx = 40, ny = 30, steps = 5
    type(waitio_stream) :: flow
    integer :: pb

    call waitio_init(timeout=60)
    call waitio_pb_rank(pb)
    if (pb == 0) then
        call simulate()
    else
        call analyse()
    end if
    call waitio_finalize()

contains

    subroutine simulate()
        type(waitio_variable) :: temperature, hottest
        real(8), allocatable, asynchronous :: t(:, :)
        integer :: me, n, first, last, i, j, step
        integer, allocatable :: nprocs(:)

        call waitio_pb_size(n)
        allocate (nprocs(n))
        call waitio_get_nprocs(nprocs)
        n = nprocs(1)
        call waitio_universe_rank(me) ! block 0 comes first
        first = ny*me/n + 1
        last = ny*(me + 1)/n
        allocate (t(nx, first:last))

        call waitio_stage_open(flow, 'flow', WAITIO_STAGE_WRITE, readers=1)
        call waitio_stage_define(flow, 'T', WAITIO_STAGE_DOUBLE, [nx, ny], temperature)
        call waitio_stage_derive(flow, 'hottest', 'max', [temperature], hottest)
        call waitio_stage_attribute(flow, 'units', 'K')
        do step = 1, steps
            do j = first, last
                do i = 1, nx
                    t(i, j) = 300 + 10*sin(0.1d0*i)*cos(0.1d0*j) + step
                end do
            end do
            call waitio_stage_begin_step(flow)
            call waitio_stage_put(flow, temperature, t, offset=[0, first - 1])
            call waitio_stage_put_scalar(flow, 'time', 0.5d0*step)
            call waitio_stage_end_step(flow)
        end do
        call waitio_stage_close(flow)
    end subroutine simulate

    subroutine analyse()
        type(waitio_variable) :: temperature
        real(8), asynchronous :: row(nx)
        real(8) :: time, hottest
        character(len=:), allocatable :: units
        integer :: status

        call waitio_stage_open(flow, 'flow', WAITIO_STAGE_READ)
        do
            call waitio_stage_begin_step(flow, status)
            if (status /= WAITIO_STAGE_OK) exit
            call waitio_stage_inquire(flow, 'T', temperature)
            ! Row 15 of the whole: it lies in the block of one of the writers.
            call waitio_stage_get(flow, temperature, row, offset=[0, 14], count=[nx, 1])
            call waitio_stage_perform(flow)
            call waitio_stage_get_scalar(flow, 'time', time)
            call waitio_stage_get_scalar(flow, 'hottest', hottest)
            call waitio_stage_get_attribute(flow, 'units', units)
            print '(a, f5.1, a, f8.3, a, f8.3, 2a)', 'time', time, ': row 15 has the mean', &
                sum(row)/nx, ', the maximum is', hottest, ' ', units
            if (hottest < maxval(row)) error stop 'wrong maximum'
            call waitio_stage_end_step(flow)
        end do
        call waitio_stage_close(flow)
    end subroutine analyse
end program staging
