! SPDX-License-Identifier: BSD-3-Clause
!> Conjugate gradients, preconditioned by the diagonal. An iteration has one halo exchange and three
!> allreduces, each of one number: they are kept apart on purpose, as programs in use have them.
module heat3d_cg
    use, intrinsic :: iso_fortran_env, only: real64
    use heat3d_assemble, only: matrix_t
    use heat3d_comm, only: comm_sum
    use heat3d_domain, only: domain_t
    use heat3d_halo, only: halo_update
    implicit none
    private
    public :: cg_solve

    type, public :: cg_result_t
        integer :: iterations = 0
        real(real64) :: residual = 0 !< 2-norm relative to that of the start
        logical :: converged = .true.
    end type cg_result_t

contains

    !> x: the start on entry, the solution on exit, on owned nodes.
    subroutine cg_solve(d, a, tol, maxit, x, found)
        type(domain_t), intent(in) :: d
        type(matrix_t), intent(in) :: a
        real(real64), intent(in) :: tol
        integer, intent(in) :: maxit
        real(real64), intent(inout) :: x(:)
        type(cg_result_t), intent(out) :: found
        real(real64), allocatable :: r(:), z(:), p(:), q(:)
        real(real64) :: rho, before, pq, start

        allocate (r(d%owned), z(d%owned), q(d%owned), p(d%total))
        p(:d%owned) = x(:d%owned)
        call multiply(d, a, p, q)
        r = a%load - q
        start = sqrt(comm_sum(dot_product(r, r)))
        p = 0
        before = 1
        if (.not. start > 0) return
        found%residual = 1
        do while (found%residual > tol .and. found%iterations < maxit)
            z = r / a%diagonal
            rho = comm_sum(dot_product(r, z))
            p(:d%owned) = z + rho / before * p(:d%owned)
            before = rho
            call multiply(d, a, p, q)
            pq = comm_sum(dot_product(p(:d%owned), q))
            if (.not. pq > 0) exit ! not a number, or the matrix is not positive
            x(:d%owned) = x(:d%owned) + rho / pq * p(:d%owned)
            r = r - rho / pq * q
            found%residual = sqrt(comm_sum(dot_product(r, r))) / start
            found%iterations = found%iterations + 1
        end do
        found%converged = found%residual <= tol
    end subroutine cg_solve

    !> q = A p; the outer part of p is brought up to date first.
    subroutine multiply(d, a, p, q)
        type(domain_t), intent(in) :: d
        type(matrix_t), intent(in) :: a
        real(real64), intent(inout) :: p(:)
        real(real64), intent(out) :: q(:)
        real(real64) :: total
        integer :: row, k

        call halo_update(d, p)
        do row = 1, d%owned
            total = 0
            do k = a%first(row), a%first(row + 1) - 1
                total = total + a%value(k) * p(a%column(k))
            end do
            q(row) = total
        end do
    end subroutine multiply
end module heat3d_cg
