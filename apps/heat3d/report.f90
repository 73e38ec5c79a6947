! SPDX-License-Identifier: BSD-3-Clause
!> What rank 0 prints: the mesh, the answer, and where the time went.
module heat3d_report
    use, intrinsic :: iso_fortran_env, only: int64, real64
    use heat3d_cg, only: cg_result_t
    use heat3d_clock, only: clock_seconds, CLOCK_ASSEMBLY, CLOCK_EXCHANGE, CLOCK_ALLREDUCE, &
        CLOCK_PARTS, CLOCK_SOLVER
    use heat3d_comm, only: comm_least, comm_most, comm_rank, comm_size, COMM_LIBRARY
    use heat3d_domain, only: domain_t
    implicit none
    private
    public :: report_mesh, report_cut, report_answer, report_times

contains

    subroutine report_mesh(elements, nodes, d)
        integer, intent(in) :: elements, nodes
        type(domain_t), intent(in) :: d
        real(real64) :: mine(3), low(3), high(3)

        mine = real([d%owned, d%total - d%owned, size(d%peers)], real64)
        low = comm_least(mine)
        high = comm_most(mine)
        if (comm_rank /= 0) return
        print '(a,a)', 'library    ', COMM_LIBRARY
        print '(a,i0)', 'processes  ', comm_size
        print '(a,i0)', 'elements   ', elements
        print '(a,i0)', 'nodes      ', nodes
        print '(a,3(i0,a,i0,a))', 'parts      ', nint(low(1)), ' to ', nint(high(1)), &
            ' nodes, ', nint(low(2)), ' to ', nint(high(2)), ' outer, ', nint(low(3)), ' to ', &
            nint(high(3)), ' neighbours'
    end subroutine report_mesh

    !> cut: pairs of nodes that share an element and have different owners.
    subroutine report_cut(partition, cut)
        character(*), intent(in) :: partition
        real(real64), intent(in) :: cut
        if (comm_rank /= 0) return
        print '(a,a)', 'partition  ', partition
        print '(a,i0)', 'cut        ', nint(cut, int64)
    end subroutine report_cut

    subroutine report_answer(found, norm, error)
        type(cg_result_t), intent(in) :: found
        real(real64), intent(in) :: norm, error
        if (comm_rank /= 0) return
        print '(a,i0)', 'iterations ', found%iterations
        print '(a,es23.16)', 'residual   ', found%residual
        print '(a,es23.16)', 'norm       ', norm
        print '(a,es23.16)', 'error      ', error
    end subroutine report_answer

    !> Computing is what the solver does besides exchanging and reducing.
    subroutine report_times()
        character(11), parameter :: NAMES(CLOCK_PARTS + 1) = [character(11) :: 'assembly', &
            'send/recv', 'allreduce', 'computing', 'solver']
        real(real64) :: mine(CLOCK_PARTS + 1), low(CLOCK_PARTS + 1), high(CLOCK_PARTS + 1)
        integer :: i

        mine = [clock_seconds(CLOCK_ASSEMBLY), clock_seconds(CLOCK_EXCHANGE), &
            clock_seconds(CLOCK_ALLREDUCE), clock_seconds(CLOCK_SOLVER) &
            - clock_seconds(CLOCK_EXCHANGE) - clock_seconds(CLOCK_ALLREDUCE), &
            clock_seconds(CLOCK_SOLVER)]
        low = comm_least(mine)
        high = comm_most(mine)
        if (comm_rank /= 0) return
        print '(a)', 'seconds          least       most'
        do i = 1, size(mine)
            print '(a,f11.6,f11.6)', NAMES(i), low(i), high(i)
        end do
    end subroutine report_times
end module heat3d_report
