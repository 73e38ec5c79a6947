! SPDX-License-Identifier: BSD-3-Clause
!> Cells of equal angles, rows from the south pole; each process has some rows.
module sphere
    use, intrinsic :: iso_fortran_env, only: real64
    use settings, only: nx, ny, refuse
    implicit none
    real(real64), parameter :: PI = acos(-1d0), RADIUS = 6371d3     ! m
    integer :: first, last                      !< rows of this process
    integer, allocatable :: points(:)           !< their cells' global indices
    real(real64) :: dlon, dlat
    real(real64), allocatable :: lat(:)         !< of the rows
    real(real64), allocatable :: edge(:)        !< latitude of the southern edge, first .. last + 1
    real(real64), allocatable :: area(:)        !< of a cell of the row, on the unit sphere

contains

    subroutine make_rows(rank, n)
        integer, intent(in) :: rank, n
        integer :: j, i
        if (n > ny) call refuse('more processes than rows of cells (ny)')
        first = 1 + rank*ny/n
        last = (rank + 1)*ny/n
        dlon = 2*PI/nx
        dlat = PI/ny
        allocate (lat(first:last), edge(first:last + 1), area(first:last))
        edge = [(PI*(2*(j - 1) - ny)/(2d0*ny), j=first, last + 1)]
        lat = [(PI*(2*j - 1 - ny)/(2d0*ny), j=first, last)]
        area = [(cell_area(edge(j), edge(j + 1)), j=first, last)]
        points = [((i + nx*(j - 1), i=1, nx), j=first, last)]
    end subroutine make_rows

    !> Between great circles through the four corners, as the weights see the cell.
    function cell_area(south, north) result(a)
        real(real64), intent(in) :: south, north
        real(real64) :: a, p(3, 4)
        p(:, 1) = at(-dlon/2, south)
        p(:, 2) = at(dlon/2, south)
        p(:, 3) = at(dlon/2, north)
        p(:, 4) = at(-dlon/2, north)
        a = triangle(p(:, 1), p(:, 2), p(:, 3)) + triangle(p(:, 1), p(:, 3), p(:, 4))
    end function cell_area

    pure function at(lon, latitude) result(p)
        real(real64), intent(in) :: lon, latitude
        real(real64) :: p(3), c
        c = cos(latitude)
        if (abs(latitude) >= PI/2) c = 0
        p = [c*cos(lon), c*sin(lon), sin(latitude)]
    end function at

    !> Area of a spherical triangle (Eriksson 1990); of differences, so that small ones stay exact.
    pure function triangle(a, b, c) result(t)
        real(real64), intent(in) :: a(3), b(3), c(3)
        real(real64) :: t, u(3), v(3), det
        u = b - a
        v = c - a
        det = a(1)*(u(2)*v(3) - u(3)*v(2)) + a(2)*(u(3)*v(1) - u(1)*v(3)) + a(3)*(u(1)*v(2) - u(2)*v(1))
        t = 2*atan2(abs(det), 1 + dot_product(a, b) + dot_product(b, c) + dot_product(c, a))
    end function triangle
end module sphere
