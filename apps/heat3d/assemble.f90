! SPDX-License-Identifier: BSD-3-Clause
!> The rows of a process's own nodes, by compressed rows. Elements are added in the mesh's order and
!> columns stand in the mesh's order, so a row has the same bits however the mesh is cut.
module heat3d_assemble
    use, intrinsic :: iso_fortran_env, only: real64
    use heat3d_domain, only: domain_t
    use heat3d_element, only: element_make
    use heat3d_solution, only: solution_value
    implicit none
    private
    public :: assemble

    type, public :: matrix_t
        integer, allocatable :: first(:) !< (row) entries first(row):first(row + 1) - 1
        integer, allocatable :: column(:) !< (entry) local node
        real(real64), allocatable :: value(:) !< (entry)
        real(real64), allocatable :: diagonal(:) !< (row)
        real(real64), allocatable :: load(:) !< (row) right-hand side
    end type matrix_t

contains

    !> Nodes of the boundary keep the solution's value: their rows are those of the identity and
    !> what they add to other rows goes to the load, which leaves the matrix symmetric.
    subroutine assemble(d, solution, a, problem)
        type(domain_t), intent(in) :: d
        character(*), intent(in) :: solution
        type(matrix_t), intent(out) :: a
        character(:), allocatable, intent(out) :: problem
        real(real64) :: matrix(8, 8), load(8), worst
        character(80) :: text
        integer :: e, i

        problem = ''
        call find_columns(d, a)
        allocate (a%value(size(a%column)), a%load(d%owned), a%diagonal(d%owned))
        a%value = 0
        a%load = 0
        do e = 1, size(d%nodes, 2)
            call element_make(d%x(:, d%nodes(:, e)), solution, matrix, load, worst)
            if (.not. worst > 0) then
                write (text, '(a,i0,a,es10.2,a)') 'element ', d%element(e), &
                    ' is flat or turned inside out (determinant', worst, ')'
                problem = trim(text)
                return
            end if
            call add_element(d, solution, d%nodes(:, e), matrix, load, a)
        end do
        do i = 1, d%owned
            if (d%boundary(i)) then
                a%value(entry_of(a, i, i)) = 1
                a%load(i) = solution_value(solution, d%x(:, i))
            end if
            a%diagonal(i) = a%value(entry_of(a, i, i))
        end do
    end subroutine assemble

    subroutine add_element(d, solution, nodes, matrix, load, a)
        type(domain_t), intent(in) :: d
        character(*), intent(in) :: solution
        integer, intent(in) :: nodes(8)
        real(real64), intent(in) :: matrix(8, 8), load(8)
        type(matrix_t), intent(inout) :: a
        integer :: i, j, row, k

        do i = 1, 8
            row = nodes(i)
            if (row > d%owned .or. d%boundary(row)) cycle
            a%load(row) = a%load(row) + load(i)
            do j = 1, 8
                if (d%boundary(nodes(j))) then
                    a%load(row) = a%load(row) &
                        - matrix(i, j) * solution_value(solution, d%x(:, nodes(j)))
                else
                    k = entry_of(a, row, nodes(j))
                    a%value(k) = a%value(k) + matrix(i, j)
                end if
            end do
        end do
    end subroutine add_element

    pure integer function entry_of(a, row, column) result(k)
        type(matrix_t), intent(in) :: a
        integer, intent(in) :: row, column
        do k = a%first(row), a%first(row + 1) - 1
            if (a%column(k) == column) return
        end do
    end function entry_of

    !> A row has an entry for every node that shares an element with its node.
    subroutine find_columns(d, a)
        type(domain_t), intent(in) :: d
        type(matrix_t), intent(inout) :: a
        integer, allocatable :: efirst(:), around(:), seen(:), found(:), column(:)
        integer :: row, i, j, n

        call elements_around(d, efirst, around)
        allocate (a%first(d%owned + 1), seen(d%total), column(27 * d%owned), found(d%total))
        seen = 0
        a%first(1) = 1
        do row = 1, d%owned
            n = 0
            do i = efirst(row), efirst(row + 1) - 1
                do j = 1, 8
                    associate (node => d%nodes(j, around(i)))
                        if (seen(node) == row) cycle
                        seen(node) = row
                        n = n + 1
                        found(n) = node
                    end associate
                end do
            end do
            call sort_by_global(d, found(:n))
            a%first(row + 1) = a%first(row) + n
            if (a%first(row + 1) > size(column)) column = [column, (0, i=1, size(column) + n)]
            column(a%first(row):a%first(row + 1) - 1) = found(:n)
        end do
        a%column = column(:a%first(d%owned + 1) - 1)
    end subroutine find_columns

    !> Elements of each owned node: around(efirst(node):efirst(node + 1) - 1).
    subroutine elements_around(d, efirst, around)
        type(domain_t), intent(in) :: d
        integer, allocatable, intent(out) :: efirst(:), around(:)
        integer :: next(d%owned), e, i, n

        allocate (efirst(d%owned + 1))
        next = 0
        do e = 1, size(d%nodes, 2)
            do i = 1, 8
                n = d%nodes(i, e)
                if (n <= d%owned) next(n) = next(n) + 1
            end do
        end do
        efirst(1) = 1
        do n = 1, d%owned
            efirst(n + 1) = efirst(n) + next(n)
        end do
        allocate (around(efirst(d%owned + 1) - 1))
        next = efirst(:d%owned)
        do e = 1, size(d%nodes, 2)
            do i = 1, 8
                n = d%nodes(i, e)
                if (n > d%owned) cycle
                around(next(n)) = e
                next(n) = next(n) + 1
            end do
        end do
    end subroutine elements_around

    !> Insertion sort: a row has few entries.
    subroutine sort_by_global(d, nodes)
        type(domain_t), intent(in) :: d
        integer, intent(inout) :: nodes(:)
        integer :: i, j, this
        do i = 2, size(nodes)
            this = nodes(i)
            do j = i - 1, 1, -1
                if (d%global(nodes(j)) < d%global(this)) exit
                nodes(j + 1) = nodes(j)
            end do
            nodes(j + 1) = this
        end do
    end subroutine sort_by_global
end module heat3d_assemble
