! SPDX-License-Identifier: BSD-3-Clause
!> Temperatures u known in closed form, and the source f = -div grad u that makes each. Their values
!> are prescribed on the boundary, so they hold on a region of any shape. Neither is an eigenvector of
!> the box's matrix, for which conjugate gradients would need one step.
module heat3d_solution
    use, intrinsic :: iso_fortran_env, only: real64
    implicit none
    private
    public :: solution_value, solution_source
    real(real64), parameter :: PI = acos(-1d0)

contains

    pure real(real64) function solution_value(name, x) result(u)
        character(*), intent(in) :: name
        real(real64), intent(in) :: x(3)
        if (name == 'linear') then ! trilinear elements have no error in it
            u = 1 + 2 * x(1) - 3 * x(2) + x(3) / 2
        else
            u = exp(x(1)) * sin(PI * x(2)) * cos(PI / 2 * x(3))
        end if
    end function solution_value

    pure real(real64) function solution_source(name, x) result(f)
        character(*), intent(in) :: name
        real(real64), intent(in) :: x(3)
        f = 0
        if (name == 'sine') f = (5 * PI**2 / 4 - 1) * solution_value(name, x)
    end function solution_source
end module heat3d_solution
