! SPDX-License-Identifier: BSD-3-Clause
!> Gmsh's format 2 as text. Hexahedra with eight nodes are taken; points, lines and surfaces, which
!> mark regions, are skipped; any other solid is refused.
module heat3d_mesh_gmsh
    use heat3d_mesh, only: mesh_t
    use heat3d_text_file
    implicit none
    private
    public :: mesh_read_gmsh
    integer, parameter :: MOST = 100000000, HEXAHEDRON = 5
    !> Types of points, lines and surfaces, of first and second order, and how many nodes each has.
    integer, parameter :: FLAT(9) = [1, 2, 3, 8, 9, 10, 15, 16, 26]
    integer, parameter :: FLAT_NODES(9) = [2, 3, 4, 3, 6, 9, 1, 8, 4]

contains

    !> The file stands after its first line, $MeshFormat.
    subroutine mesh_read_gmsh(f, mesh)
        type(text_file_t), intent(inout) :: f
        type(mesh_t), intent(inout) :: mesh
        character(:), allocatable :: line, section
        integer, allocatable :: number(:)

        allocate (number(0))
        line = text_word(f)
        if (index(line, '2') /= 1) call text_wrong(f, 'format ' // line // &
            ' of Gmsh: save the mesh in format 2 (gmsh -3 -format msh2)')
        if (text_word(f) /= '0') call text_wrong(f, 'the file is binary: save it as text')
        do
            section = text_line(f)
            if (section == '' .or. len(f%problem) > 0) exit
            if (section == '$Nodes') call read_nodes(f, mesh, number)
            if (section == '$Elements') call read_elements(f, mesh, number)
        end do
        if (.not. allocated(mesh%nodes)) &
            call text_wrong(f, 'the file ends without $Nodes and $Elements')
    end subroutine mesh_read_gmsh

    !> Nodes have any numbers: number(theirs) is ours.
    subroutine read_nodes(f, mesh, number)
        type(text_file_t), intent(inout) :: f
        type(mesh_t), intent(inout) :: mesh
        integer, allocatable, intent(inout) :: number(:)
        integer, allocatable :: theirs(:)
        integer :: i, j, n

        if (allocated(mesh%x)) call text_wrong(f, 'a second section $Nodes')
        if (len(f%problem) > 0) return
        n = text_whole(f, 'number of nodes', 1, MOST)
        allocate (mesh%x(3, n), theirs(n))
        do i = 1, n
            theirs(i) = text_whole(f, 'number of a node', 1, MOST)
            do j = 1, 3
                mesh%x(j, i) = text_real(f, 'coordinate')
            end do
            if (len(f%problem) > 0) return
        end do
        number = [(0, i=1, maxval(theirs))]
        number(theirs) = [(i, i=1, n)]
        if (count(number > 0) /= n) call text_wrong(f, 'two nodes have the same number')
    end subroutine read_nodes

    subroutine read_elements(f, mesh, number)
        type(text_file_t), intent(inout) :: f
        type(mesh_t), intent(inout) :: mesh
        integer, allocatable, intent(in) :: number(:)
        integer, allocatable :: nodes(:, :)
        integer :: found, i, j, n, flat_type, type, skip

        if (size(number) == 0) call text_wrong(f, '$Elements before $Nodes')
        n = text_whole(f, 'number of elements', 1, MOST)
        if (len(f%problem) > 0) return
        allocate (nodes(8, n))
        found = 0
        do i = 1, n
            j = text_whole(f, 'number of an element', 1, huge(j))
            type = text_whole(f, 'type of an element', 1, 1000)
            skip = text_whole(f, 'number of tags', 0, 100)
            flat_type = findloc(FLAT, type, 1)
            if (flat_type > 0) then
                skip = skip + FLAT_NODES(flat_type)
            else if (type /= HEXAHEDRON) then
                call text_wrong(f, 'an element that is not a hexahedron with 8 nodes (type 5)')
            end if
            do j = 1, skip
                if (text_word(f) == '') call text_wrong(f, 'the file ends within an element')
            end do
            if (flat_type == 0) then
                found = found + 1
                call read_hexahedron(f, number, nodes(:, found))
            end if
            if (len(f%problem) > 0) return
        end do
        mesh%nodes = nodes(:, :found)
    end subroutine read_elements

    subroutine read_hexahedron(f, number, nodes)
        type(text_file_t), intent(inout) :: f
        integer, intent(in) :: number(:)
        integer, intent(out) :: nodes(8)
        integer :: j, theirs

        do j = 1, 8
            theirs = text_whole(f, 'node of an element', 1, size(number))
            nodes(j) = number(theirs)
        end do
        if (any(nodes == 0)) call text_wrong(f, 'an element with a node that is not in $Nodes')
    end subroutine read_hexahedron
end module heat3d_mesh_gmsh
