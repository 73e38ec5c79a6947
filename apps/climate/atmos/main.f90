! SPDX-License-Identifier: BSD-3-Clause
!> Component `atmos`: a layer of air over land, on longitudes and latitudes. It gives heat to the
!> ocean, and gets from it how warm and how bright the sea is.
program atmosphere
    use, intrinsic :: iso_fortran_env, only: int64, real64
    use settings
    use sphere
    use physics
    use transport, only: check_step, carry
    use exact_sum, only: total
    use coupling
    implicit none
    integer :: comm, rank, n, day, step, dt, file
    integer(int64) :: began, ended, rate
    real(real64), allocatable, dimension(:, :) :: air, land, sst, albedo, wet, dry, sun, weight
    real(real64), allocatable, dimension(:, :) :: heat, given, olr, toa, surface
    real(real64) :: day_given(3), sums(2)   ! W/m2 of the globe; J/m2 of the globe
    character(len=300) :: path

    call get_command_argument(1, path)
    call read_settings(trim(path))
    call meet('coupling.conf', comm, rank, n)
    call system_clock(began, rate)
    dt = 86400/steps_a_day
    call make_rows(rank, n)
    call check_step(real(dt, real64))
    call start()
    call define()
    call put('heat', heat)      ! none on the first day, which has no yesterday
    if (rank == 0) open (newunit=file, file='atmos.csv', status='replace', action='write')
    if (rank == 0) write (file, '(a)') 'day,air_J_m2,land_J_m2,space_J_m2,given_J_m2'
    day_given = 0
    sums = 0
    do day = 1, days
        sun = spread(insolation(lat, day - 0.5d0), 1, nx)
        do step = 1, steps_a_day
            call begin_step(dt)
            if (step == 1) call begin_day()
            if (step == 1 .and. day == 1) call record(0)
            call columns()
            call give()
            call carry(air, real(dt, real64), rank, n, comm)
        end do
        call end_day()
    end do
    if (rank == 0) close (file)
    call system_clock(ended)
    call write_times(1d0*(ended - began)/rate)
    call finish()

contains

    subroutine start()
        allocate (air(nx, first:last), source=spread(28 - 45*sin(lat)**2, 1, nx))
        allocate (sst, albedo, wet, dry, heat, given, olr, toa, surface, sun, mold=air)
        allocate (land, source=air)
        weight = spread(area/(4*PI), 1, nx)
        heat = 0
    end subroutine start

    !> The sea's fields come as means over whole cells, of which the sea covers the part `wet`.
    subroutine begin_day()
        logical :: fresh(3)
        if (rank == 0) call tell_ocean(day_given)
        day_given = 0
        fresh(1) = get('sst', sst)
        fresh(2) = get('albedo', albedo)
        fresh(3) = get('wet', wet)
        if (.not. all(fresh)) error stop 'atmos: coupling.conf: an exchange every day is needed'
        where (wet >= NOTHING)  ! no sea
            wet = 0
            sst = 0
            albedo = 0
        elsewhere
            sst = sst/wet
            albedo = albedo/wet
        end where
        dry = max(0d0, 1 - wet)
    end subroutine begin_day

    !> One step of all columns, each by itself.
    elemental subroutine column(latitude, q, part_wet, part_dry, water, bright, t_air, t_land, down, up, &
            space, out)
        real(real64), intent(in) :: latitude, q, part_wet, part_dry, water, bright
        real(real64), intent(inout) :: t_air, t_land
        real(real64), intent(out) :: down, up, space, out
        real(real64) :: light, land_light, land_up, u
        u = wind(latitude)
        light = q*(1 - cloud_albedo(latitude) - ABSORBED)
        up = upward(water, t_air, u, 1d0)
        down = light*(1 - bright) - up
        land_light = light*(1 - land_albedo(t_land))
        land_up = upward(t_land, t_air, u, 0.5d0)
        out = thermal(t_air)
        space = q*ABSORBED + part_wet*light*(1 - bright) + part_dry*land_light - out
        t_air = t_air + dt/AIR_CAPACITY*(q*ABSORBED + part_wet*up + part_dry*land_up - out)
        t_land = t_land + dt/LAND_CAPACITY*(land_light - land_up)
    end subroutine column

    subroutine columns()
        real(real64) :: up(nx, first:last)
        call column(spread(lat, 1, nx), sun, wet, dry, sst, albedo, air, land, heat, up, toa, olr)
        given = wet*heat
        surface = wet*sst + dry*land
    end subroutine columns

    subroutine give()
        real(real64) :: day_part
        day_part = 1d0/steps_a_day
        day_given(1) = day_given(1) + day_part*total(weight*given, comm)
        day_given(2) = day_given(2) + day_part*total(weight*abs(given), comm)
        day_given(3) = total(weight*wet, comm)
        sums(1) = sums(1) + dt*total(weight*toa, comm)
        where (wet <= 0) heat = NOTHING
        call put('heat', heat)
        call put('t_air', air)
        call put('t_surface', surface)
        call put('sun', sun)
        call put('olr', olr)
    end subroutine give

    subroutine end_day()
        sums(2) = sums(2) + 86400*day_given(1)
        call record(day)
        if (rank == 0 .and. (mod(day, 30) == 0 .or. day == days)) &
            print '(a, i0, 1x, i0)', '@ day ', day, days
    end subroutine end_day

    subroutine record(at_end_of)
        integer, intent(in) :: at_end_of
        real(real64) :: in_air, in_land
        in_air = total(weight*AIR_CAPACITY*air, comm)
        in_land = total(weight*LAND_CAPACITY*dry*land, comm)
        if (rank == 0) write (file, '(i0, 4('','', es24.16))') at_end_of, in_air, in_land, sums
    end subroutine record

    subroutine write_times(seconds)
        real(real64), intent(in) :: seconds
        integer :: unit
        write (path, '(a, i0)') 'time.atmos.', rank
        open (newunit=unit, file=trim(path), status='replace', action='write')
        write (unit, '(2f12.4)') seconds, waited
        close (unit)
    end subroutine write_times
end program atmosphere
