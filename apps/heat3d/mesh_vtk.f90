! SPDX-License-Identifier: BSD-3-Clause
!> VTK's legacy format (versions before 5) as text, an unstructured grid. Hexahedra (cell type 12)
!> are taken; vertices, lines and surfaces are skipped; any other solid is refused.
module heat3d_mesh_vtk
    use heat3d_mesh, only: mesh_t
    use heat3d_text_file
    implicit none
    private
    public :: mesh_read_vtk
    integer, parameter :: MOST = 100000000, HEXAHEDRON = 12
    integer, parameter :: FLAT(9) = [1, 2, 3, 4, 5, 6, 7, 8, 9]

contains

    !> The file stands after its first line, "# vtk DataFile Version ...", which is given.
    subroutine mesh_read_vtk(f, first, mesh)
        type(text_file_t), intent(inout) :: f
        character(*), intent(in) :: first
        type(mesh_t), intent(inout) :: mesh
        character(:), allocatable :: line, word

        if (index(first, 'Version 5') > 0) &
            call text_wrong(f, 'version 5 of the legacy format: save the mesh in version 4.2 or older')
        line = text_line(f)
        if (line /= 'ASCII') line = text_line(f) ! the title may be blank
        if (line /= 'ASCII') call text_wrong(f, "'" // line // "' for ASCII: save the mesh as text")
        line = text_line(f)
        if (line /= 'DATASET UNSTRUCTURED_GRID') &
            call text_wrong(f, "'" // line // "' is not DATASET UNSTRUCTURED_GRID")
        do
            word = text_word(f)
            if (word == 'POINTS') call read_points(f, mesh)
            if (word == 'CELLS') call read_cells(f, mesh)
            if (word == '' .or. word == 'CELL_DATA' .or. word == 'POINT_DATA') exit
        end do
        if (.not. allocated(mesh%nodes)) call text_wrong(f, 'no POINTS, CELLS and CELL_TYPES')
    end subroutine mesh_read_vtk

    subroutine read_points(f, mesh)
        type(text_file_t), intent(inout) :: f
        type(mesh_t), intent(inout) :: mesh
        character(:), allocatable :: kind
        integer :: i, j, n

        if (allocated(mesh%x)) call text_wrong(f, 'POINTS a second time')
        n = text_whole(f, 'number of points', 1, MOST)
        kind = text_word(f)
        if (len(f%problem) > 0) return
        allocate (mesh%x(3, n))
        do i = 1, n
            do j = 1, 3
                mesh%x(j, i) = text_real(f, 'coordinate')
            end do
            if (len(f%problem) > 0) return
        end do
    end subroutine read_points

    subroutine read_cells(f, mesh)
        type(text_file_t), intent(inout) :: f
        type(mesh_t), intent(inout) :: mesh
        integer, allocatable :: nodes(:, :), corners(:)
        logical, allocatable :: solid(:)
        integer :: i, j, n, this

        if (.not. allocated(mesh%x)) call text_wrong(f, 'CELLS before POINTS')
        n = text_whole(f, 'number of cells', 1, MOST)
        i = text_whole(f, 'length of the list of cells', 1, huge(i))
        if (len(f%problem) > 0) return
        allocate (nodes(8, n), corners(n), solid(n))
        do i = 1, n
            corners(i) = text_whole(f, 'number of points of a cell', 1, MOST)
            do j = 1, corners(i)
                this = text_whole(f, 'point of a cell', 0, size(mesh%x, 2) - 1) + 1
                if (j <= 8) nodes(j, i) = this
                if (len(f%problem) > 0) return
            end do
        end do
        if (text_word(f) /= 'CELL_TYPES') call text_wrong(f, 'CELL_TYPES must follow CELLS')
        i = text_whole(f, 'number of cell types', n, n)
        do i = 1, n
            this = text_whole(f, 'type of a cell', 1, 1000)
            solid(i) = .not. any(FLAT == this)
            if (solid(i) .and. (this /= HEXAHEDRON .or. corners(i) /= 8)) &
                call text_wrong(f, 'a cell that is not a hexahedron with 8 points (type 12)')
            if (len(f%problem) > 0) return
        end do
        mesh%nodes = nodes(:, pack([(i, i=1, n)], solid))
    end subroutine read_cells
end module heat3d_mesh_vtk
