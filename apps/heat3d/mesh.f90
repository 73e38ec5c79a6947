! SPDX-License-Identifier: BSD-3-Clause
!> A mesh of hexahedra with eight nodes. Every process holds all of it while it finds its part.
module heat3d_mesh
    use, intrinsic :: iso_fortran_env, only: real64
    implicit none
    private
    public :: mesh_box, mesh_find_boundary

    type, public :: mesh_t
        real(real64), allocatable :: x(:, :) !< (3, node)
        integer, allocatable :: nodes(:, :) !< (8, element): bottom face around, then the top one
        logical, allocatable :: boundary(:) !< (node)
    end type mesh_t

    !> Corners of the six faces of an element.
    integer, parameter :: FACES(4, 6) = reshape([1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 6, 5, &
        2, 3, 7, 6, 3, 4, 8, 7, 4, 1, 5, 8], [4, 6])

contains

    !> The unit cube in cells(1) x cells(2) x cells(3) equal elements.
    subroutine mesh_box(cells, mesh)
        integer, intent(in) :: cells(3)
        type(mesh_t), intent(out) :: mesh
        integer :: i, j, k, n, layer, row

        row = cells(1) + 1
        layer = row * (cells(2) + 1)
        n = layer * (cells(3) + 1)
        allocate (mesh%x(3, n), mesh%boundary(n), mesh%nodes(8, product(cells)))
        n = 0
        do k = 0, cells(3)
            do j = 0, cells(2)
                do i = 0, cells(1)
                    n = n + 1
                    mesh%x(:, n) = real([i, j, k], real64) / cells
                    mesh%boundary(n) = any([i, j, k] == 0 .or. [i, j, k] == cells)
                end do
            end do
        end do
        n = 0
        do k = 1, cells(3)
            do j = 1, cells(2)
                do i = 1, cells(1)
                    n = n + 1
                    associate (first => i + row * (j - 1) + layer * (k - 1))
                        mesh%nodes(:4, n) = first + [0, 1, row + 1, row]
                    end associate
                    mesh%nodes(5:, n) = mesh%nodes(:4, n) + layer
                end do
            end do
        end do
    end subroutine mesh_box

    !> Marks the nodes of faces that belong to one element alone. Two faces are the same when their
    !> lowest corner and the corner opposite to it are, and the other two.
    subroutine mesh_find_boundary(mesh)
        type(mesh_t), intent(inout) :: mesh
        integer, allocatable :: head(:), next(:), key(:, :)
        integer :: e, f, i, n, this(4)

        n = size(mesh%nodes, 2)
        if (allocated(mesh%boundary)) deallocate (mesh%boundary)
        allocate (mesh%boundary(size(mesh%x, 2)), head(size(mesh%x, 2)), next(6 * n), key(4, 6 * n))
        head = 0
        n = 0
        do e = 1, size(mesh%nodes, 2)
            do f = 1, 6
                this = face_key(mesh%nodes(FACES(:, f), e))
                i = head(this(1))
                do while (i /= 0)
                    if (all(key(:, i) == this)) exit
                    i = next(i)
                end do
                if (i /= 0) then
                    key(4, i) = -key(4, i) ! seen twice
                else
                    n = n + 1
                    key(:, n) = this
                    next(n) = head(this(1))
                    head(this(1)) = n
                end if
            end do
        end do
        mesh%boundary = .false.
        do i = 1, n
            if (key(4, i) > 0) mesh%boundary(key(:, i)) = .true.
        end do
    end subroutine mesh_find_boundary

    !> The lowest corner, then the opposite one, then the others in order.
    pure function face_key(corner) result(key)
        integer, intent(in) :: corner(4)
        integer :: key(4), turned(4)
        turned = cshift(corner, minloc(corner, 1) - 1)
        key = [turned(1), turned(3), min(turned(2), turned(4)), max(turned(2), turned(4))]
    end function face_key
end module heat3d_mesh
