! SPDX-License-Identifier: BSD-3-Clause
!> Heat that the wind carries along a row, and large eddies in all directions.
module transport
    use, intrinsic :: iso_fortran_env, only: real64
    use mpi
    use settings, only: nx, ny, refuse
    use sphere, only: first, last, lat, edge, area, dlon, dlat, RADIUS
    use physics, only: AIR_CAPACITY, wind
    implicit none
    private
    public :: check_step, carry

    real(real64), parameter :: EDDIES = 0.60d0  !< W / (m2 K), as in energy balance models

contains

    subroutine check_step(dt)
        real(real64), intent(in) :: dt
        character(len=120) :: text
        real(real64) :: courant, spread
        courant = maxval(abs(wind(lat))*dt/(RADIUS*cos(lat)*dlon))
        spread = 2*EDDIES*dt/AIR_CAPACITY/dlat**2
        if (courant <= 1 .and. spread <= 1) return
        write (text, '(a, f0.2, a, f0.2, a)') 'the time step is ', max(courant, spread), &
            ' times too long (wind ', courant, '); raise steps_a_day'
        call refuse(trim(text))
    end subroutine check_step

    subroutine carry(t, dt, rank, n, comm)
        real(real64), intent(inout) :: t(nx, first:last)
        real(real64), intent(in) :: dt
        integer, intent(in) :: rank, n, comm
        real(real64) :: rows(nx, first - 1:last + 1)
        integer :: j
        do j = first, last
            call blow(t(:, j), dt*wind(lat(j))/(RADIUS*cos(lat(j))*dlon))
            call spread_along(t(:, j), EDDIES*dt/AIR_CAPACITY/(cos(lat(j))*dlon)**2)
        end do
        call neighbours(t, rows, rank, n, comm)
        do j = first, last
            t(:, j) = rows(:, j) + EDDIES*dt/AIR_CAPACITY/area(j) &
                *(across(rows, j + 1) - across(rows, j))
        end do
    end subroutine carry

    !> First-order upwind: as much leaves a cell as the next one gets.
    pure subroutine blow(t, courant)
        real(real64), intent(inout) :: t(nx)
        real(real64), intent(in) :: courant
        if (courant > 0) then
            t = t - courant*(t - cshift(t, -1))
        else
            t = t + courant*(t - cshift(t, 1))
        end if
    end subroutine blow

    !> Implicit, for cells are narrow near the poles: (1 + 2r) x(i) - r x(i - 1) - r x(i + 1) = t(i)
    !> around the row, as a tridiagonal system with one correction (Sherman and Morrison).
    pure subroutine spread_along(t, r)
        real(real64), intent(inout) :: t(nx)
        real(real64), intent(in) :: r
        real(real64) :: diagonal(nx), correction(nx)
        diagonal = 1 + 2*r
        diagonal(1) = diagonal(1) + 1 + 2*r
        diagonal(nx) = diagonal(nx) + r**2/(1 + 2*r)
        correction = 0
        correction(1) = -(1 + 2*r)
        correction(nx) = -r
        call solve(diagonal, r, t)
        call solve(diagonal, r, correction)
        t = t - correction*(t(1) + t(nx)*r/(1 + 2*r))/(1 + correction(1) + correction(nx)*r/(1 + 2*r))
    end subroutine spread_along

    pure subroutine solve(diagonal, r, x)
        real(real64), intent(in) :: diagonal(nx), r
        real(real64), intent(inout) :: x(nx)
        real(real64) :: d(nx)
        integer :: i
        d(1) = diagonal(1)
        do i = 2, nx
            d(i) = diagonal(i) - r**2/d(i - 1)
            x(i) = x(i) + r/d(i - 1)*x(i - 1)
        end do
        x(nx) = x(nx)/d(nx)
        do i = nx - 1, 1, -1
            x(i) = (x(i) + r*x(i + 1))/d(i)
        end do
    end subroutine solve

    !> Rows of the processes next to this one; the poles have none.
    subroutine neighbours(t, rows, rank, n, comm)
        real(real64), intent(in) :: t(nx, first:last)
        real(real64), intent(out) :: rows(nx, first - 1:last + 1)
        integer, intent(in) :: rank, n, comm
        integer :: south, north, error
        south = merge(rank - 1, MPI_PROC_NULL, rank > 0)
        north = merge(rank + 1, MPI_PROC_NULL, rank < n - 1)
        rows(:, first - 1) = 0
        rows(:, last + 1) = 0
        rows(:, first:last) = t
        call MPI_Sendrecv(t(1, last), nx, MPI_DOUBLE_PRECISION, north, 1, rows(1, first - 1), nx, &
            MPI_DOUBLE_PRECISION, south, 1, comm, MPI_STATUS_IGNORE, error)
        call MPI_Sendrecv(t(1, first), nx, MPI_DOUBLE_PRECISION, south, 2, rows(1, last + 1), nx, &
            MPI_DOUBLE_PRECISION, north, 2, comm, MPI_STATUS_IGNORE, error)
    end subroutine neighbours

    !> What comes through the southern edge of row j, from north to south is positive.
    pure function across(rows, j) result(flux)
        real(real64), intent(in) :: rows(nx, first - 1:last + 1)
        integer, intent(in) :: j
        real(real64) :: flux(nx)
        flux = 0
        if (j > 1 .and. j <= ny) flux = cos(edge(j))*dlon/dlat*(rows(:, j) - rows(:, j - 1))
    end function across
end module transport
