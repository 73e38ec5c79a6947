! SPDX-License-Identifier: BSD-3-Clause
! Exchanges that go at once, by the Fortran calls: puts and gets with lag 0, of one dimension and with
! layers, and exchanges outside h3ou_set_time.
!
!     now COMPONENT CONF [MISTAKE]
!
! MISTAKE: stranger (compB sends in the name of compA), unput (compA sends what it has not put), lag
! (compA gives a time lag that is none), unwanted (compA receives, but nothing comes that way).
program now
    use h3ou_api
    implicit none
    integer, parameter :: N = 6, LAYERS = 3, STEPS = 5
    character(len=16) :: me, mistake
    character(len=400) :: conf
    integer :: rank, size_, i, k, s, time(6), first, last
    integer, allocatable :: index(:)
    real(8), allocatable :: flat(:), slow(:), deep(:, :)
    logical :: fresh, is_a

    call get_command_argument(1, me)
    call get_command_argument(2, conf)
    call get_command_argument(3, mistake)
    is_a = me == 'compA'
    call h3ou_init(trim(me), trim(conf))
    rank = h3ou_get_my_rank()
    size_ = h3ou_get_my_size()
    first = rank*N/size_ + 1
    last = (rank + 1)*N/size_
    index = [(last + first - i, i=first, last)]
    allocate (flat(size(index)), slow(size(index)), deep(size(index), LAYERS))
    call h3ou_def_grid(index, trim(me), merge('gA', 'gB', is_a), LAYERS)
    call h3ou_end_grid_def()
    if (is_a) then
        call h3ou_set_interpolation_table(trim(me), 'compA', 'gA', 'compB', 'gB', 1, [(i, i=1, N)], &
            [(i, i=1, N)], [(1d0, i=1, N)])
    else
        call h3ou_set_interpolation_table(trim(me), 'compA', 'gA', 'compB', 'gB', 1)
    end if
    time = [2000, 1, 1, 0, 0, 0]
    call h3ou_init_time(time)
    if (is_a .and. mistake == 'unput') call h3ou_send_data_immediately('compA', 'compB', -1)
    if (is_a .and. mistake == 'lag') call h3ou_send_data_immediately('compA', 'compB', 2)
    if (is_a .and. mistake == 'unwanted') call h3ou_recv_data_immediately('compB', 'compA')
    if (.not. is_a .and. mistake == 'stranger') call h3ou_send_data_immediately('compA', 'compB', -1)
    if (is_a) call put(0)
    do s = 1, STEPS
        call h3ou_set_time(trim(me), time, 3600)
        if (is_a) then
            call put(s)
            if (s == 2) call h3ou_send_data_immediately('compA', 'compB', -1)
        else
            call get(s)
        end if
        call h3ou_inc_calendar(time, 3600)
    end do
    print '(2a)', 'ok ', trim(me)
    call h3ou_coupling_end(time)

contains

    pure function value(step) result(v)
        integer, intent(in) :: step
        real(8) :: v(size(index))
        v = 1000*step + index
    end function value

    ! Flat has no put before the first step.
    subroutine put(step)
        integer, intent(in) :: step
        flat = value(step)
        slow = value(step) + 0.5d0
        do k = 1, LAYERS
            deep(:, k) = value(step) + 0.1d0*k
        end do
        if (step > 0) call h3ou_put_data('flat', flat)
        call h3ou_put_data('slow', slow)
        call h3ou_put_data('deep', deep)
    end subroutine put

    subroutine get(step)
        integer, intent(in) :: step
        flat = -7
        call h3ou_get_data('flat', flat, is_recv_ok=fresh)
        call check(fresh .and. all(flat == value(step)), 'flat: each get takes the put of this step')
        deep = -7
        call h3ou_get_data('deep', deep, is_recv_ok=fresh)
        call check(fresh .eqv. mod(step, 2) == 1, 'deep: with layers the interval counts')
        do k = 1, LAYERS
            if (fresh) call check(all(deep(:, k) == value(step - 1) + 0.1d0*k), 'deep: values')
            if (.not. fresh) call check(all(deep(:, k) == -7), 'deep: untouched')
        end do
        call get_slow(mod(step, 4) == 1, value(step - 1))
        if (step /= 2) return
        call h3ou_recv_data_immediately('compA', 'compB')
        call get_slow(.true., value(2))
    end subroutine get

    subroutine get_slow(due, expected)
        logical, intent(in) :: due
        real(8), intent(in) :: expected(:)
        slow = -7
        call h3ou_get_data('slow', slow, is_recv_ok=fresh)
        call check(fresh .eqv. due, 'slow: fresh')
        if (due) call check(all(slow == expected + 0.5d0), 'slow: values')
        if (.not. due) call check(all(slow == -7), 'slow: untouched')
    end subroutine get_slow

    subroutine check(good, what)
        logical, intent(in) :: good
        character(len=*), intent(in) :: what
        if (good) return
        print '(2a, i0, a, i0)', trim(me), ', process ', rank, ', step ', s
        print '(a)', what
        error stop 'wrong'
    end subroutine check
end program now
