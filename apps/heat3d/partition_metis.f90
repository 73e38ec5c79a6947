! SPDX-License-Identifier: BSD-3-Clause
!> Partitions by METIS, which cuts few of the connections between nodes. What it finds may differ
!> from machine to machine, so one process asks it and tells the others.
module heat3d_partition_metis
    use, intrinsic :: iso_c_binding, only: c_int
    implicit none
    private
    public :: metis_there, partition_metis

    interface
        integer(c_int) function heat3d_metis_there() bind(c)
            import :: c_int
        end function heat3d_metis_there
        integer(c_int) function heat3d_metis(elements, nodes, corners, parts, owner) bind(c)
            import :: c_int
            integer(c_int), value :: elements, nodes, parts
            integer(c_int), intent(in) :: corners(8, elements)
            integer(c_int), intent(inout) :: owner(nodes)
        end function heat3d_metis
    end interface

contains

    logical function metis_there()
        metis_there = heat3d_metis_there() /= 0
    end function metis_there

    !> owner(node) becomes 0 to parts - 1; there must be a node for each part. problem is empty when
    !> all is well.
    subroutine partition_metis(corners, parts, owner, problem)
        integer, intent(in) :: corners(:, :), parts
        integer, intent(inout) :: owner(:)
        character(:), allocatable, intent(out) :: problem

        problem = ''
        owner = 0
        if (parts == 1) return
        select case (heat3d_metis(size(corners, 2), size(owner), corners, parts, owner))
        case (0)
            call fill_empty(parts, owner)
        case (1)
            problem = 'partition=metis: this program was built without METIS; take partition=rcb'
        case (2)
            problem = 'partition=metis: the mesh is too large for the integers of this METIS; ' // &
                'take partition=rcb'
        case (3)
            problem = 'partition=metis: no memory; take partition=rcb'
        case default
            problem = 'partition=metis: METIS failed; take partition=rcb'
        end select
    end subroutine partition_metis

    !> Of a small mesh METIS may leave a part empty: it gets a node of the largest one.
    subroutine fill_empty(parts, owner)
        integer, intent(in) :: parts
        integer, intent(inout) :: owner(:)
        integer :: have(0:parts - 1), i, q

        have = 0
        do i = 1, size(owner)
            have(owner(i)) = have(owner(i)) + 1
        end do
        do q = 0, parts - 1
            if (have(q) > 0) cycle
            i = findloc(owner, maxloc(have, 1) - 1, 1)
            have(owner(i)) = have(owner(i)) - 1
            owner(i) = q
            have(q) = 1
        end do
    end subroutine fill_empty
end module heat3d_partition_metis
