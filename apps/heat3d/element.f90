! SPDX-License-Identifier: BSD-3-Clause
!> One trilinear hexahedron: conduction matrix and load, by two Gauss points along each axis.
module heat3d_element
    use, intrinsic :: iso_fortran_env, only: real64
    use heat3d_solution, only: solution_source
    implicit none
    private
    public :: element_make
    !> Corners in the coordinates of the element.
    real(real64), parameter :: CORNER(3, 8) = reshape(real([-1, -1, -1, 1, -1, -1, 1, 1, -1, &
        -1, 1, -1, -1, -1, 1, 1, -1, 1, 1, 1, 1, -1, 1, 1], real64), [3, 8])
    real(real64), parameter :: GAUSS = 1 / sqrt(3d0) ! weight 1

contains

    !> x: corners. worst: the least determinant of the map at a Gauss point; the rest means
    !> something only if it is above zero.
    pure subroutine element_make(x, solution, matrix, load, worst)
        real(real64), intent(in) :: x(3, 8)
        character(*), intent(in) :: solution
        real(real64), intent(out) :: matrix(8, 8), load(8), worst
        real(real64) :: shape(8), slope(3, 8), jacobian(3, 3), inverse(3, 3), det
        integer :: g

        matrix = 0
        load = 0
        worst = huge(worst)
        do g = 1, 8
            call shapes(GAUSS * CORNER(:, g), shape, slope)
            jacobian = matmul(slope, transpose(x))
            call invert(jacobian, inverse, det)
            worst = min(worst, det)
            if (.not. det > 0) return
            slope = matmul(inverse, slope)
            matrix = matrix + det * matmul(transpose(slope), slope)
            load = load + det * solution_source(solution, matmul(x, shape)) * shape
        end do
    end subroutine element_make

    !> The eight shape functions and their derivatives at a point of the element.
    pure subroutine shapes(at, shape, slope)
        real(real64), intent(in) :: at(3)
        real(real64), intent(out) :: shape(8), slope(3, 8)
        real(real64) :: f(3)
        integer :: i
        do i = 1, 8
            f = 1 + CORNER(:, i) * at
            shape(i) = product(f) / 8
            slope(:, i) = CORNER(:, i) * [f(2) * f(3), f(3) * f(1), f(1) * f(2)] / 8
        end do
    end subroutine shapes

    !> inverse is meaningful if det is not zero.
    pure subroutine invert(a, inverse, det)
        real(real64), intent(in) :: a(3, 3)
        real(real64), intent(out) :: inverse(3, 3), det
        inverse(1, :) = cross(a(:, 2), a(:, 3))
        inverse(2, :) = cross(a(:, 3), a(:, 1))
        inverse(3, :) = cross(a(:, 1), a(:, 2))
        det = dot_product(a(:, 1), inverse(1, :))
        if (abs(det) > 0) inverse = inverse / det
    end subroutine invert

    pure function cross(a, b) result(c)
        real(real64), intent(in) :: a(3), b(3)
        real(real64) :: c(3)
        c = [a(2) * b(3) - a(3) * b(2), a(3) * b(1) - a(1) * b(3), a(1) * b(2) - a(2) * b(1)]
    end function cross
end module heat3d_element
