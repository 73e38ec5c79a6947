! SPDX-License-Identifier: BSD-3-Clause
!> Block `ocean` of the tsunami demonstration, see docs/guide/tsunami.md: `tsunami_ocean FILE`, a
!> namelist of module ocean_settings. Alone it records an event; coupled it first runs scenarios
!> for the others to learn from, and then an event that they correct.
program tsunami_ocean
    use, intrinsic :: iso_fortran_env, only: error_unit, output_unit, real64
    use ocean_coupling
    use ocean_grid, only: grid_field, grid_load, grid_t
    use ocean_parts, only: my_rank, my_size, parts_check, parts_start, parts_stop
    use ocean_record
    use ocean_settings, only: settings_read, settings_t
    use ocean_trace, only: trace_add, trace_now, trace_write
    use ocean_wave, only: wave_make, wave_stable_step, wave_start, wave_step, wave_t
    implicit none
    type(settings_t) :: s
    type(grid_t) :: g
    type(record_t) :: r
    type(wave_t) :: w
    integer :: steps, cycles

    call parts_start()
    call prepare()
    if (s%scenarios > 0) call run_scenarios()
    call run_event()
    if (s%coupled) then
        call coupling_stop()
        call trace_write(s%trace, my_rank)
    end if
    call parts_stop()

contains

    subroutine prepare()
        character(:), allocatable :: problem
        character(200) :: path

        problem = ''
        if (command_argument_count() /= 1) then
            problem = 'usage: tsunami_ocean SETTINGS'
        else
            call get_command_argument(1, path)
            call settings_read(trim(path), s, problem)
        end if
        call parts_check(problem)
        call grid_load(s%grid, .false., g, problem)
        call parts_check(problem)
        call record_stations(s%stations, g, r, problem)
        call parts_check(problem)
        call choose_step(problem)
        call parts_check(problem)
        cycles = nint(s%duration / s%cycle)
        call wave_make(g, s%cycle / steps, s%open_sea, w)
        if (.not. s%coupled) return
        call coupling_start(g, problem)
        call parts_check(problem)
    end subroutine prepare

    !> The condition of Courant, Friedrichs and Lewy: in a step no wave may pass a cell.
    subroutine choose_step(problem)
        character(:), allocatable, intent(out) :: problem
        real(real64) :: most
        character(160) :: text

        problem = ''
        most = wave_stable_step(g)
        steps = s%steps
        if (steps <= 0) steps = ceiling(s%cycle / (s%courant * most))
        if (s%cycle / steps > most) then
            write (text, '(a,f0.3,a,f0.3,a,i0)') 'a time step of ', s%cycle / steps, &
                ' s is unstable, at most ', most, ' s: give steps = 0, or at least ', &
                ceiling(s%cycle / most)
            problem = trim(text)
        end if
    end subroutine choose_step

    subroutine load_source(path, sea, waves, problem)
        character(*), intent(in) :: path
        type(grid_t), intent(in) :: sea
        type(wave_t), intent(inout) :: waves
        character(:), allocatable, intent(out) :: problem
        real(real64), allocatable :: surface(:, :)

        problem = ''
        allocate (surface(sea%parts%n(1), sea%parts%n(2)), source=0d0)
        if (len_trim(path) > 0) call grid_field(path, sea, surface, problem)
        call wave_start(waves, surface)
    end subroutine load_source

    subroutine advance(sea, waves)
        type(grid_t), intent(in) :: sea
        type(wave_t), intent(inout) :: waves
        real(real64) :: start
        integer :: i
        start = trace_now()
        do i = 1, steps
            call wave_step(sea, waves)
        end do
        call trace_add(start, 'compute', 'ocean', 0)
    end subroutine advance

    !> Made-up events, as fast as we can; whoever learns gets the heights at the stations. Every
    !> process runs its own, each on the whole sea: nobody waits for a neighbour.
    subroutine run_scenarios()
        type(grid_t) :: sea
        type(wave_t) :: waves
        character(:), allocatable :: problem
        character(210) :: path
        integer :: scenario, k

        call grid_load(s%grid, .true., sea, problem)
        call parts_check(problem)
        call wave_make(sea, s%cycle / steps, s%open_sea, waves)
        do scenario = my_rank + 1, s%scenarios, my_size
            write (path, '(a,i2.2,a)') trim(s%scenario), scenario, '.bin'
            call load_source(path, sea, waves, problem)
            if (len(problem) > 0) then
                write (error_unit, '(2a)') 'ocean: ', problem
                error stop 2, quiet=.true.
            end if
            do k = 0, cycles
                if (k > 0) call advance(sea, waves)
                call coupling_learn(scenario, k * s%cycle, record_heights(r, sea, waves%eta))
            end do
            call progress('scenario', scenario, s%scenarios)
        end do
    end subroutine run_scenarios

    subroutine run_event()
        character(:), allocatable :: problem
        real(real64) :: start
        integer :: k, every

        every = max(1, nint(s%map_every / s%cycle))
        call record_open(s%output, g, cycles + 1, cycles / every + 1, r, problem)
        call parts_check(problem)
        call load_source(s%source, g, w, problem)
        call parts_check(problem)
        do k = 0, cycles
            if (k > 0) call advance(g, w)
            if (s%coupled) call coupling_correct(g, w%eta)
            start = trace_now()
            call record_sample(r, k * s%cycle, record_heights(r, g, w%eta))
            if (mod(k, every) == 0) call record_map(r, g, k * s%cycle, w%eta)
            call trace_add(start, 'compute', 'ocean', 0)
            call progress('event', k, cycles)
        end do
        call record_close(r)
        if (any(w%eta /= w%eta)) write (error_unit, '(a)') 'ocean: the heights are not numbers'
    end subroutine run_event

    !> Lines that tsunami/demo.py makes a progress bar of.
    subroutine progress(what, done, of)
        character(*), intent(in) :: what
        integer, intent(in) :: done, of
        if (my_rank > 0 .and. what == 'event') return
        print '(3a,i0,a,i0)', '@ ', what, ' ', done, ' ', of
        flush (output_unit)
    end subroutine progress
end program tsunami_ocean
