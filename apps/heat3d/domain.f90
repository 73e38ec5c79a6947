! SPDX-License-Identifier: BSD-3-Clause
!> One process's part of the mesh: the nodes it owns, every element that touches one of them, and
!> the nodes of these elements that others own ("outer"). So each row of the matrix is assembled by
!> its owner alone. Local numbers: owned nodes in order of their mesh numbers, then outer nodes by
!> owner and number. Both sides of a border derive the same lists from the mesh, without messages.
module heat3d_domain
    use, intrinsic :: iso_fortran_env, only: real64
    use heat3d_mesh, only: mesh_t
    implicit none
    private
    public :: domain_make

    type, public :: domain_t
        integer :: owned = 0 !< nodes; total - owned are outer
        integer :: total = 0
        integer, allocatable :: global(:) !< (node) number in the mesh
        real(real64), allocatable :: x(:, :) !< (3, node)
        logical, allocatable :: boundary(:) !< (node)
        integer, allocatable :: nodes(:, :) !< (8, element)
        integer, allocatable :: element(:) !< (element) number in the mesh
        integer, allocatable :: peers(:) !< processes that share a border
        integer, allocatable :: send(:) !< owned nodes that peers need
        integer, allocatable :: sfirst(:) !< send(sfirst(i):sfirst(i + 1) - 1) go to peers(i)
        integer, allocatable :: rfirst(:) !< outer nodes of peers(i), from owned + rfirst(i) on
    end type domain_t

contains

    subroutine domain_make(mesh, owner, me, parts, d)
        type(mesh_t), intent(in) :: mesh
        integer, intent(in) :: owner(:), me, parts
        type(domain_t), intent(out) :: d
        integer, allocatable :: local(:)
        integer :: e, i

        d%element = pack([(e, e=1, size(mesh%nodes, 2))], &
            [(any(owner(mesh%nodes(:, e)) == me), e=1, size(mesh%nodes, 2))])
        d%nodes = mesh%nodes(:, d%element)
        d%global = pack([(i, i=1, size(owner))], owner == me)
        d%owned = size(d%global)
        call add_outer(d, owner, me, parts)
        d%total = size(d%global)

        allocate (local(size(owner)))
        local(d%global) = [(i, i=1, d%total)]
        do e = 1, size(d%nodes, 2)
            d%nodes(:, e) = local(d%nodes(:, e))
        end do
        d%x = mesh%x(:, d%global)
        d%boundary = mesh%boundary(d%global)
        call list_sends(d, owner)
    end subroutine domain_make

    !> Appends the outer nodes, peer after peer. Elements still have the mesh's numbers.
    subroutine add_outer(d, owner, me, parts)
        type(domain_t), intent(inout) :: d
        integer, intent(in) :: owner(:), me, parts
        logical, allocatable :: touched(:)
        integer, allocatable :: outer(:), theirs(:)
        integer :: e, q

        allocate (touched(size(owner)))
        touched = .false.
        do e = 1, size(d%nodes, 2)
            touched(d%nodes(:, e)) = .true.
        end do
        touched = touched .and. owner /= me
        outer = pack([(e, e=1, size(owner))], touched)
        d%peers = [integer ::]
        d%rfirst = [1]
        do q = 0, parts - 1
            theirs = pack(outer, owner(outer) == q)
            if (size(theirs) == 0) cycle
            d%global = [d%global, theirs]
            d%peers = [d%peers, q]
            d%rfirst = [d%rfirst, d%rfirst(size(d%rfirst)) + size(theirs)]
        end do
    end subroutine add_outer

    !> A peer needs each of my nodes that is in an element with one of its nodes.
    subroutine list_sends(d, owner)
        type(domain_t), intent(inout) :: d
        integer, intent(in) :: owner(:)
        logical :: needed(d%owned)
        integer :: e, i, j, p

        d%send = [integer ::]
        d%sfirst = [1]
        do p = 1, size(d%peers)
            needed = .false.
            do e = 1, size(d%nodes, 2)
                if (.not. any(owner(d%global(d%nodes(:, e))) == d%peers(p))) cycle
                do j = 1, 8
                    i = d%nodes(j, e)
                    if (i <= d%owned) needed(i) = .true.
                end do
            end do
            d%send = [d%send, pack([(i, i=1, d%owned)], needed)]
            d%sfirst = [d%sfirst, size(d%send) + 1]
        end do
    end subroutine list_sends
end module heat3d_domain
