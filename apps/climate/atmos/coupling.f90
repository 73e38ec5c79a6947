! SPDX-License-Identifier: BSD-3-Clause
!> All that the model says to the coupler. Fields are (longitude, row) in this process.
module coupling
    use, intrinsic :: iso_fortran_env, only: int64, real64
    use h3ou_api
    use settings, only: nx
    use sphere, only: points
    implicit none
    private
    public :: meet, define, begin_step, get, put, tell_ocean, finish, NOTHING, waited

    real(real64), parameter :: NOTHING = 2147483647d0   !< marks points that do not count
    real(real64) :: waited = 0                          !< s in the coupler
    character(len=*), parameter :: ME = 'atmos'
    integer :: date(6) = [2001, 1, 1, 0, 0, 0]
    real(real64), target, asynchronous :: said(3)

contains

    !> Collective over all components: the first call.
    subroutine meet(conf, comm, rank, n)
        character(len=*), intent(in) :: conf
        integer, intent(out) :: comm, rank, n
        call h3ou_init(ME, conf)
        comm = h3ou_get_my_comm()
        rank = h3ou_get_my_rank()
        n = h3ou_get_my_size()
    end subroutine meet

    !> The grid, and the tables, which the other components bring. Those that do not run need none.
    subroutine define()
        call h3ou_def_grid(points, ME, 'air', 1)
        call h3ou_end_grid_def()
        call h3ou_set_interpolation_table(ME, ME, 'air', 'ocean', 'sea', 1)
        call h3ou_set_interpolation_table(ME, 'ocean', 'sea', ME, 'air', 1)
        if (h3ou_get_comp_num_from_name('learn') > 0) &
            call h3ou_set_interpolation_table(ME, ME, 'air', 'learn', 'sea', 1)
        if (h3ou_get_comp_num_from_name('output') > 0) &
            call h3ou_set_interpolation_table(ME, ME, 'air', 'output', 'air', 1)
        call h3ou_init_time(date)
    end subroutine define

    !> Exchanges what is due.
    subroutine begin_step(seconds)
        integer, intent(in) :: seconds
        integer(int64) :: began
        began = clock()
        call h3ou_set_time(ME, date, seconds)
        waited = waited + 1d-9*(clock() - began)
        call h3ou_inc_time(date, seconds)
    end subroutine begin_step

    function get(name, field) result(fresh)
        character(len=*), intent(in) :: name
        real(real64), intent(inout) :: field(size(points))
        logical :: fresh
        call h3ou_get_data(name, field, is_recv_ok=fresh)
    end function get

    subroutine put(name, field)
        character(len=*), intent(in) :: name
        real(real64), intent(inout) :: field(size(points))
        call h3ou_put_data(name, field)
    end subroutine put

    !> What this model says that it has given, for the ocean to compare. Goes on without waiting.
    subroutine tell_ocean(numbers)
        real(real64), intent(in) :: numbers(3)
        call h3ou_isend_waitall()       ! yesterday's
        said = numbers
        call h3ou_isend_model_double('ocean', 0, said)
    end subroutine tell_ocean

    subroutine finish()
        integer(int64) :: began
        began = clock()
        call h3ou_isend_waitall()
        call h3ou_coupling_end(date)
        waited = waited + 1d-9*(clock() - began)
    end subroutine finish

    function clock() result(nanoseconds)
        integer(int64) :: nanoseconds, count, rate
        call system_clock(count, rate)
        nanoseconds = int(count*(1d9/rate), int64)
    end function clock
end module coupling
