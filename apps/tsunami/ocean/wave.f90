! SPDX-License-Identifier: BSD-3-Clause
!> Linear long waves on the sphere: heights in the middle of cells, fluxes on their sides (Arakawa's
!> C grid), leaping over each other in time, as in the tsunami models of the TUNAMI family (Goto,
!> Ogawa, Shuto and Imamura 1997, IUGG/IOC Manuals and Guides 35). Coasts are walls; where the sea
!> goes on beyond the edge, waves leave with the speed of long waves (Flather 1976).
!> Without Coriolis force and friction, which matter little within three hours of a strait.
module ocean_wave
    use, intrinsic :: iso_fortran_env, only: real64
    use ocean_grid, only: GRAVITY, grid_t
    use ocean_parts, only: parts_edges, parts_least
    implicit none
    private
    public :: wave_t, wave_make, wave_start, wave_step, wave_stable_step

    type :: wave_t
        real(real64), allocatable :: eta(:, :)               !< (0:nx+1, 0:ny+1) height, m
        real(real64), allocatable :: m(:, :)                 !< (0:nx, 1:ny) flux to the east, m2/s
        real(real64), allocatable :: n(:, :)                 !< (1:nx, 0:ny) flux to the north, m2/s
        real(real64), allocatable, private :: push_m(:, :)   !< dt g h / dx on these sides
        real(real64), allocatable, private :: push_n(:, :)   !< dt g h / dy
        real(real64), allocatable, private :: gain_m(:)      !< (1:ny) dt / dx
        real(real64), allocatable, private :: gain_n(:)      !< (1:ny) dt / (dy cos)
        real(real64), allocatable, private :: out_west(:), out_east(:), out_south(:), out_north(:)
    end type wave_t

contains

    !> Largest stable time step, seconds, of the whole grid. Collective.
    real(real64) function wave_stable_step(g) result(dt)
        type(grid_t), intent(in) :: g
        integer :: j
        dt = huge(dt)
        do j = 1, g%parts%n(2)
            dt = min(dt, 1 / sqrt(max(1d-6, GRAVITY * maxval(g%depth(1:g%parts%n(1), j))) * &
                (1 / g%dx(j)**2 + 1 / g%dy**2)))
        end do
        dt = parts_least(g%parts, dt)
    end function wave_stable_step

    subroutine wave_make(g, dt, open_sea, w)
        type(grid_t), intent(in) :: g
        real(real64), intent(in) :: dt
        logical, intent(in) :: open_sea
        type(wave_t), intent(out) :: w
        integer :: i, j, nx, ny

        nx = g%parts%n(1)
        ny = g%parts%n(2)
        allocate (w%eta(0:nx + 1, 0:ny + 1), w%m(0:nx, ny), w%n(nx, 0:ny), source=0d0)
        allocate (w%push_m(0:nx, ny), w%push_n(nx, 0:ny), source=0d0)
        allocate (w%out_west(ny), w%out_east(ny), w%out_south(nx), w%out_north(nx), source=0d0)
        do j = 1, ny
            do i = 0, nx
                w%push_m(i, j) = dt * GRAVITY / g%dx(j) * between(g%depth(i, j), g%depth(i + 1, j))
            end do
        end do
        do j = 0, ny
            do i = 1, nx
                w%push_n(i, j) = dt * GRAVITY / g%dy * between(g%depth(i, j), g%depth(i, j + 1))
            end do
        end do
        w%gain_m = dt / g%dx
        w%gain_n = dt / (g%dy * g%cos_row)
        if (.not. open_sea) return
        ! Depth is 0 beyond the edge, so that push is 0 there; zero speed elsewhere changes nothing.
        if (g%parts%first(1) == 1) w%out_west = sqrt(GRAVITY * g%depth(1, 1:ny))
        if (g%parts%last(1) == g%parts%whole(1)) w%out_east = sqrt(GRAVITY * g%depth(nx, 1:ny))
        if (g%parts%first(2) == 1) w%out_south = sqrt(GRAVITY * g%depth(1:nx, 1))
        if (g%parts%last(2) == g%parts%whole(2)) w%out_north = sqrt(GRAVITY * g%depth(1:nx, ny))
    end subroutine wave_make

    !> Depth on the side between two cells; a wall where one is dry.
    pure real(real64) function between(a, b)
        real(real64), intent(in) :: a, b
        between = merge((a + b) / 2, 0d0, a > 0 .and. b > 0)
    end function between

    !> Begin with this surface and no motion.
    subroutine wave_start(w, surface)
        type(wave_t), intent(inout) :: w
        real(real64), intent(in) :: surface(:, :)
        w%eta = 0
        w%m = 0
        w%n = 0
        w%eta(1:size(surface, 1), 1:size(surface, 2)) = surface
    end subroutine wave_start

    !> One step. Both neighbours compute the flux between them, from the same heights, so that one
    !> exchange per step is enough.
    subroutine wave_step(g, w)
        type(grid_t), intent(in) :: g
        type(wave_t), intent(inout) :: w
        integer :: i, j, nx, ny

        nx = g%parts%n(1)
        ny = g%parts%n(2)
        call parts_edges(g%parts, w%eta)
        do j = 1, ny
            do i = 0, nx
                w%m(i, j) = w%m(i, j) - w%push_m(i, j) * (w%eta(i + 1, j) - w%eta(i, j))
            end do
        end do
        do j = 0, ny
            do i = 1, nx
                w%n(i, j) = w%n(i, j) - w%push_n(i, j) * (w%eta(i, j + 1) - w%eta(i, j))
            end do
        end do
        call let_out(g, w, nx, ny)
        do j = 1, ny
            do i = 1, nx
                w%eta(i, j) = w%eta(i, j) - w%gain_m(j) * (w%m(i, j) - w%m(i - 1, j)) &
                    - w%gain_n(j) * (w%n(i, j) * g%cos_face(j) - w%n(i, j - 1) * g%cos_face(j - 1))
            end do
        end do
    end subroutine wave_step

    subroutine let_out(g, w, nx, ny)
        type(grid_t), intent(in) :: g
        type(wave_t), intent(inout) :: w
        integer, intent(in) :: nx, ny
        if (g%parts%first(1) == 1) w%m(0, :) = -w%out_west * w%eta(1, 1:ny)
        if (g%parts%last(1) == g%parts%whole(1)) w%m(nx, :) = w%out_east * w%eta(nx, 1:ny)
        if (g%parts%first(2) == 1) w%n(:, 0) = -w%out_south * w%eta(1:nx, 1)
        if (g%parts%last(2) == g%parts%whole(2)) w%n(:, ny) = w%out_north * w%eta(1:nx, ny)
    end subroutine let_out
end module ocean_wave
