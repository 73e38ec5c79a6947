! SPDX-License-Identifier: BSD-3-Clause
!> Heat of a column: sun, longwave radiation, and what goes from the surface to the air.
module physics
    use, intrinsic :: iso_fortran_env, only: real64
    use sphere, only: PI
    implicit none
    private
    public :: insolation, wind, cloud_albedo, land_albedo, upward, thermal

    real(real64), parameter, public :: AIR_CAPACITY = 1.0d7, LAND_CAPACITY = 1.0d7  ! J / (m2 K)
    real(real64), parameter, public :: ABSORBED = 0.20d0    !< part of the sunlight that the air takes
    real(real64), parameter :: SUN = 1361d0, TILT = 23.44d0*PI/180
    real(real64), parameter :: OLR_A = 208d0, OLR_B = 2.0d0 !< Budyko (1969), as W/m2 and W/(m2 K)
    real(real64), parameter :: NET_LONGWAVE = 50d0, LONGWAVE_SLOPE = 5d0

contains

    !> Mean over a day of the sunlight at the top of the air (W/m2); circular orbit.
    elemental function insolation(lat, day) result(q)
        real(real64), intent(in) :: lat, day    !< days since 1 January, 360 in a year
        real(real64) :: q, declination, h
        declination = asin(sin(TILT)*sin(2*PI*(day - 80)/360))
        h = -tan(lat)*tan(declination)
        h = acos(min(1d0, max(-1d0, h)))        ! half of the day's length
        q = SUN/PI*(h*sin(lat)*sin(declination) + cos(lat)*cos(declination)*sin(h))
    end function insolation

    !> Prescribed zonal wind (m/s): westerlies in the middle latitudes, trade winds.
    elemental function wind(lat) result(u)
        real(real64), intent(in) :: lat
        real(real64) :: u
        u = 15*sin(2*lat)**2*abs(sin(lat)) - 6*exp(-(lat/(15*PI/180))**2)
    end function wind

    elemental function cloud_albedo(lat) result(a)
        real(real64), intent(in) :: lat
        real(real64) :: a
        a = 0.20d0 + 0.12d0*sin(lat)**2
    end function cloud_albedo

    !> Snow covers cold land.
    elemental function land_albedo(t) result(a)
        real(real64), intent(in) :: t
        real(real64) :: a
        a = 0.18d0 + 0.42d0*min(1d0, max(0d0, -t/10))
    end function land_albedo

    !> Longwave radiation to space (W/m2).
    elemental function thermal(air) result(olr)
        real(real64), intent(in) :: air
        real(real64) :: olr
        olr = OLR_A + OLR_B*air
    end function thermal

    !> Heat from the surface to the air (W/m2): longwave radiation, and turbulence, which is stronger
    !> over warm ground. What evaporates heats the air at the same place: the model has no water.
    elemental function upward(surface, air, u, moist) result(heat)
        real(real64), intent(in) :: surface, air, u
        real(real64), intent(in) :: moist       !< of the surface, 0 .. 1
        real(real64) :: heat, exchange
        exchange = 1.2d0*1.3d-3*sqrt(u**2 + 16)*(1 + 0.4d0*tanh((surface - air)/4))
        heat = NET_LONGWAVE + LONGWAVE_SLOPE*(surface - air) &
            + exchange*(1004*(surface - air) + moist*2.5d6*(saturated(surface) - 0.8d0*saturated(air)))
    end function upward

    !> Specific humidity of saturated air at 1013 hPa (Tetens 1930).
    elemental function saturated(t) result(q)
        real(real64), intent(in) :: t
        real(real64) :: q
        q = 0.622d0*611.2d0*exp(17.67d0*t/(t + 243.5d0))/101300
    end function saturated
end module physics
