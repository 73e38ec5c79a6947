! SPDX-License-Identifier: BSD-3-Clause
!> A mesh from a file: the first line tells the format.
module heat3d_mesh_file
    use heat3d_comm, only: comm_check, comm_rank, comm_share
    use heat3d_mesh, only: mesh_find_boundary, mesh_t
    use heat3d_mesh_gmsh, only: mesh_read_gmsh
    use heat3d_mesh_vtk, only: mesh_read_vtk
    use heat3d_text_file
    implicit none
    private
    public :: mesh_load

contains

    !> Rank 0 reads; the others may run where the file does not exist. Ends the program when it
    !> cannot be used. Collective.
    subroutine mesh_load(name, mesh)
        character(*), intent(in) :: name
        type(mesh_t), intent(out) :: mesh
        character(:), allocatable :: problem
        integer :: sizes(2)

        problem = ''
        sizes = 0
        if (comm_rank == 0) then
            call read_mesh(name, mesh, problem)
            if (len(problem) == 0) sizes = [size(mesh%x, 2), size(mesh%nodes, 2)]
        end if
        call comm_check(problem, 2)
        call comm_share(sizes)
        if (comm_rank /= 0) &
            allocate (mesh%x(3, sizes(1)), mesh%nodes(8, sizes(2)), mesh%boundary(sizes(1)))
        call comm_share(mesh%x)
        call comm_share(mesh%nodes)
        call comm_share(mesh%boundary)
    end subroutine mesh_load

    subroutine read_mesh(name, mesh, problem)
        character(*), intent(in) :: name
        type(mesh_t), intent(inout) :: mesh
        character(:), allocatable, intent(inout) :: problem
        character(:), allocatable :: first
        type(text_file_t) :: f

        call text_open(f, name)
        first = text_line(f)
        if (first == '$MeshFormat') then
            call mesh_read_gmsh(f, mesh)
        else if (index(first, '# vtk DataFile') == 1) then
            call mesh_read_vtk(f, first, mesh)
        else
            call text_wrong(f, 'neither a mesh of Gmsh ($MeshFormat) nor of VTK (# vtk DataFile)')
        end if
        if (len(f%problem) == 0) then
            if (size(mesh%nodes, 2) == 0) f%problem = name // ': there is no hexahedron in it'
        end if
        call text_close(f)
        problem = f%problem
        if (len(problem) > 0) return
        call drop_unused(mesh)
        call mesh_find_boundary(mesh)
    end subroutine read_mesh

    !> Nodes of no hexahedron (centres of arcs, corners of surfaces) would be rows of zeros.
    subroutine drop_unused(mesh)
        type(mesh_t), intent(inout) :: mesh
        integer :: number(size(mesh%x, 2)), e, i, n

        number = 0
        do e = 1, size(mesh%nodes, 2)
            number(mesh%nodes(:, e)) = 1
        end do
        n = 0
        do i = 1, size(number)
            if (number(i) == 0) cycle
            n = n + 1
            number(i) = n
            mesh%x(:, n) = mesh%x(:, i)
        end do
        do e = 1, size(mesh%nodes, 2)
            mesh%nodes(:, e) = number(mesh%nodes(:, e))
        end do
        mesh%x = mesh%x(:, :n)
    end subroutine drop_unused
end module heat3d_mesh_file
