! SPDX-License-Identifier: BSD-3-Clause
!> Where the time goes: seconds added up per part.
module heat3d_clock
    use, intrinsic :: iso_fortran_env, only: int64, real64
    implicit none
    private
    public :: clock_now, clock_add
    integer, parameter, public :: CLOCK_ASSEMBLY = 1, CLOCK_EXCHANGE = 2, CLOCK_ALLREDUCE = 3, &
        CLOCK_SOLVER = 4, CLOCK_PARTS = 4
    real(real64), public, protected :: clock_seconds(CLOCK_PARTS) = 0

contains

    !> Seconds from some fixed moment.
    real(real64) function clock_now() result(now)
        integer(int64) :: ticks, rate
        call system_clock(ticks, rate)
        now = real(ticks, real64) / real(rate, real64)
    end function clock_now

    !> Adds the time since start to a part.
    subroutine clock_add(part, start)
        integer, intent(in) :: part
        real(real64), intent(in) :: start
        clock_seconds(part) = clock_seconds(part) + clock_now() - start
    end subroutine clock_add

end module heat3d_clock
