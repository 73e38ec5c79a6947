! SPDX-License-Identifier: BSD-3-Clause
!> Steady heat conduction in three dimensions by finite elements, on any number of processes; see
!> docs/guide/heat3d.md. Status 1: not converged or not accurate, 2: wrong input.
program heat3d
    use, intrinsic :: iso_fortran_env, only: real64
    use heat3d_assemble, only: assemble, matrix_t
    use heat3d_cg, only: cg_result_t, cg_solve
    use heat3d_clock, only: clock_add, clock_now, CLOCK_ASSEMBLY, CLOCK_SOLVER
    use heat3d_comm
    use heat3d_domain, only: domain_make, domain_t
    use heat3d_mesh, only: mesh_box, mesh_t
    use heat3d_mesh_file, only: mesh_load
    use heat3d_partition, only: partition_rcb
    use heat3d_partition_metis, only: metis_there, partition_metis
    use heat3d_report, only: report_answer, report_cut, report_mesh, report_times
    use heat3d_settings, only: settings_numbers, settings_read, settings_t
    use heat3d_solution, only: solution_value
    implicit none
    type(settings_t) :: s
    type(domain_t) :: d
    type(matrix_t) :: a
    type(cg_result_t) :: found
    real(real64), allocatable :: u(:)

    call comm_start()
    call read_settings()
    call make_domain()
    call make_matrix()
    call solve()
    call judge()
    deallocate (u)
    call comm_stop()

contains

    !> Blocks of one run have command lines of their own, which may differ by mistake.
    subroutine read_settings()
        character(:), allocatable :: problem
        call settings_read(s, problem)
        call comm_check(problem, 2)
        if (any(comm_least(settings_numbers(s)) < comm_most(settings_numbers(s)))) &
            problem = 'processes were started with different settings: give all the same'
        call comm_check(problem, 2)
    end subroutine read_settings

    subroutine make_domain()
        type(mesh_t) :: mesh
        integer, allocatable :: owner(:)
        character(80) :: problem

        if (len(s%mesh) > 0) then
            call mesh_load(s%mesh, mesh)
        else
            call mesh_box(s%cells, mesh)
        end if
        problem = ''
        if (size(mesh%x, 2) < comm_size) write (problem, '(i0,a,i0,a)') comm_size, &
            ' processes for ', size(mesh%x, 2), ' nodes: start fewer, or take a finer mesh'
        call comm_check(trim(problem), 2)
        call cut_mesh(mesh, owner)
        call domain_make(mesh, owner, comm_rank, comm_size, d)
        call report_mesh(size(mesh%nodes, 2), size(mesh%x, 2), d)
    end subroutine make_domain

    !> Bisection is the same everywhere; what METIS finds comes from rank 0, for another block may
    !> have another METIS, or none.
    subroutine cut_mesh(mesh, owner)
        type(mesh_t), intent(in) :: mesh
        integer, allocatable, intent(out) :: owner(:)
        character(:), allocatable :: problem
        integer :: there(1)

        there = merge(1, 0, metis_there())
        call comm_share(there)
        if (s%partition == 'rcb' .or. (s%partition == '' .and. there(1) == 0)) then
            s%partition = 'rcb'
            call partition_rcb(mesh%x, comm_size, owner)
            return
        end if
        s%partition = 'metis'
        problem = ''
        allocate (owner(size(mesh%x, 2)))
        if (comm_rank == 0) call partition_metis(mesh%nodes, comm_size, owner, problem)
        call comm_check(problem, 2)
        call comm_share(owner)
    end subroutine cut_mesh

    subroutine make_matrix()
        character(:), allocatable :: problem
        real(real64) :: start
        start = clock_now()
        call assemble(d, s%solution, a, problem)
        call clock_add(CLOCK_ASSEMBLY, start)
        call comm_check(problem, 2)
        call report_cut(s%partition, comm_total(real(count(a%column > d%owned), real64)) / 2)
    end subroutine make_matrix

    !> The start is zero inside and right on the boundary.
    subroutine solve()
        real(real64) :: start
        u = merge(a%load, 0d0, d%boundary(:d%owned))
        start = clock_now()
        call cg_solve(d, a, s%tol, s%maxit, u, found)
        call clock_add(CLOCK_SOLVER, start)
    end subroutine solve

    subroutine judge()
        real(real64) :: norm, error, most(1)
        character(80) :: problem
        integer :: i

        call report_times()
        norm = sqrt(comm_sum(dot_product(u, u)))
        error = 0
        do i = 1, d%owned
            error = max(error, abs(u(i) - solution_value(s%solution, d%x(:, i))))
        end do
        most = comm_most([error])
        call report_answer(found, norm, most(1))
        problem = ''
        if (.not. found%converged) then
            write (problem, '(a,es9.2,a,i0,a)') 'not converged: residual', found%residual, &
                ' after ', found%iterations, ' iterations'
        else if (s%check > 0 .and. .not. most(1) <= s%check) then
            write (problem, '(a,es9.2,a,es9.2)') 'the error', most(1), ' is above check=', s%check
        end if
        call comm_check(trim(problem), 1)
    end subroutine judge
end program heat3d
