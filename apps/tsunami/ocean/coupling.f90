! SPDX-License-Identifier: BSD-3-Clause
!> Every call of WaitIO: what crosses to the other blocks. Errors end the program with a message,
!> because no call here asks for ierr. tsunami/exchange.py is the other side.
!>
!> Block 0 is the ocean, block 1 the gauges, block 2 the assimilation. Each process of the ocean has
!> one partner in block 2, which corrects its part of the sea.
module ocean_coupling
    use, intrinsic :: iso_fortran_env, only: int32, real64
    use ocean_grid, only: grid_t
    use ocean_parts, only: my_rank, my_size
    use ocean_trace, only: trace_add, trace_begin, trace_now
    use waitio
    implicit none
    private
    public :: coupling_start, coupling_learn, coupling_correct, coupling_stop

    integer, parameter :: ASSIM = 2
    integer, parameter :: TAG_READY = 1, TAG_GO = 2, TAG_PART = 3
    integer, parameter :: TAG_LESSON = 10, TAG_STATE = 11, TAG_INCREMENT = 12
    integer, parameter :: PATIENCE = 120         ! seconds to wait for the other blocks

    type(waitio_group) :: world
    integer :: partner = -1, assim_size = 0
    real(real64), allocatable, asynchronous :: state(:, :), increment(:, :)

contains

    !> Join, tell the partner which part of the grid is ours, and start together.
    subroutine coupling_start(g, problem)
        type(grid_t), intent(in) :: g
        character(:), allocatable, intent(out) :: problem
        integer :: blocks, block, nprocs(3)
        integer(int32) :: part(7)

        problem = ''
        call waitio_init(timeout=PATIENCE)
        call waitio_pb_size(blocks)
        call waitio_pb_rank(block)
        if (blocks /= 3 .or. block /= 0) then
            problem = 'coupled runs have three blocks, in this order: ocean, gauges, assim'
            return
        end if
        call waitio_get_nprocs(nprocs)
        assim_size = nprocs(1 + ASSIM)
        call waitio_group_universe(world)
        call waitio_group_find(world, ASSIM, mod(my_rank, assim_size), partner)
        allocate (state(g%parts%n(1), g%parts%n(2)), increment(g%parts%n(1), g%parts%n(2)))
        part = [my_size, g%parts%whole, g%parts%first, g%parts%last]
        call waitio_send(world, partner, part, TAG_PART)
        call start_together()
    end subroutine coupling_start

    !> Everybody tells the first process of the ocean, which then tells everybody. From here on all
    !> count time, for the timeline.
    subroutine start_together()
        integer(int32) :: word
        integer :: me, size, rank

        call waitio_group_rank(world, me)
        call waitio_group_size(world, size)
        word = 0
        if (me == 0) then
            do rank = 1, size - 1
                call waitio_recv(world, rank, word, TAG_READY)
            end do
            do rank = 1, size - 1
                call waitio_send(world, rank, word, TAG_GO)
            end do
        else
            call waitio_send(world, 0, word, TAG_READY)
            call waitio_recv(world, 0, word, TAG_GO)
        end if
        call trace_begin()
    end subroutine start_together

    !> Heights at the stations in a scenario, to all who learn from it.
    subroutine coupling_learn(scenario, time, heights)
        integer, intent(in) :: scenario
        real(real64), intent(in) :: time, heights(:)
        real(real64) :: lesson(2 + size(heights)), start
        integer :: rank, dest

        lesson = [real(scenario, real64), time, heights]
        start = trace_now()
        do rank = 0, assim_size - 1
            call waitio_group_find(world, ASSIM, rank, dest)
            call waitio_send(world, dest, lesson, TAG_LESSON)
        end do
        call trace_add(start, 'lesson', 'assim', assim_size * 8 * size(lesson))
    end subroutine coupling_learn

    !> Our part of the sea surface goes to the partner; what it adds comes back.
    subroutine coupling_correct(g, eta)
        type(grid_t), intent(in) :: g
        real(real64), intent(inout) :: eta(0:, 0:)
        type(waitio_request) :: requests(2)
        real(real64) :: start

        associate (nx => g%parts%n(1), ny => g%parts%n(2))
            start = trace_now()
            state = eta(1:nx, 1:ny)
            call waitio_irecv(world, partner, increment, TAG_INCREMENT, requests(1))
            call waitio_isend(world, partner, state, TAG_STATE, requests(2))
            call waitio_wait(requests(2))
            call trace_add(start, 'state', 'assim', 8 * nx * ny)
            start = trace_now()
            call waitio_wait(requests(1))
            call trace_add(start, 'wait', 'assim', 8 * nx * ny)
            eta(1:nx, 1:ny) = eta(1:nx, 1:ny) + increment
        end associate
    end subroutine coupling_correct

    subroutine coupling_stop()
        call waitio_finalize()
    end subroutine coupling_stop
end module ocean_coupling
