! SPDX-License-Identifier: BSD-3-Clause
!> Recursive coordinate bisection: the nodes are cut across their longest extent into two halves
!> (in proportion to the parts each is to give), and so on. Every process finds the same answer.
module heat3d_partition
    use, intrinsic :: iso_fortran_env, only: int64, real64
    implicit none
    private
    public :: partition_rcb

contains

    !> owner(node) becomes 0 to parts - 1; there must be a node for each part.
    subroutine partition_rcb(x, parts, owner)
        real(real64), intent(in) :: x(:, :)
        integer, intent(in) :: parts
        integer, allocatable, intent(out) :: owner(:)
        integer, allocatable :: nodes(:), room(:)
        integer :: i

        allocate (owner(size(x, 2)), room(size(x, 2)))
        nodes = [(i, i=1, size(x, 2))]
        call cut(x, nodes, room, 0, parts, owner)
    end subroutine partition_rcb

    recursive subroutine cut(x, nodes, room, first, parts, owner)
        real(real64), intent(in) :: x(:, :)
        integer, intent(inout) :: nodes(:), room(:), owner(:)
        integer, intent(in) :: first, parts
        real(real64) :: extent(3)
        integer :: d, lower, n

        if (parts == 1) then
            owner(nodes) = first
            return
        end if
        do d = 1, 3
            extent(d) = maxval(x(d, nodes)) - minval(x(d, nodes))
        end do
        call sort(x(maxloc(extent, 1), :), nodes, room)
        lower = parts / 2
        n = int(int(size(nodes), int64) * lower / parts)
        call cut(x, nodes(:n), room(:n), first, lower, owner)
        call cut(x, nodes(n + 1:), room(n + 1:), first + lower, parts - lower, owner)
    end subroutine cut

    !> Merge sort by value, stable, so that the order of equal ones is the same everywhere.
    recursive subroutine sort(value, nodes, room)
        real(real64), intent(in) :: value(:)
        integer, intent(inout) :: nodes(:), room(:)
        integer :: half, i, j, k

        if (size(nodes) < 2) return
        half = size(nodes) / 2
        call sort(value, nodes(:half), room(:half))
        call sort(value, nodes(half + 1:), room(half + 1:))
        room = nodes
        i = 1
        j = half + 1
        do k = 1, size(nodes)
            if (j > size(room)) then
                nodes(k) = room(i)
                i = i + 1
            else if (i > half) then
                nodes(k) = room(j)
                j = j + 1
            else if (value(room(j)) < value(room(i))) then
                nodes(k) = room(j)
                j = j + 1
            else
                nodes(k) = room(i)
                i = i + 1
            end if
        end do
    end subroutine sort
end module heat3d_partition
