! SPDX-License-Identifier: BSD-3-Clause
!> MPI's names in Fortran: intercommunicators, graphs, neighbourhoods, persistent collectives, error
!> codes of the program's own. Module mpi of libwaitio_mpi_rename.
program mpi_groups
    use mpi
    implicit none
    integer :: me, n, ierr, failures = 0

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
    if (n > 1) call between()
    call graphs()
    call persistent()
    call own_errors()
    call MPI_Finalize(ierr)
    if (failures > 0) error stop 1
    print '(a)', 'ok'

contains

    subroutine expect(good, what)
        logical, intent(in) :: good
        character(*), intent(in) :: what
        if (.not. good) then
            print '(a, i0, 2a)', 'rank ', me, ': ', what
            failures = failures + 1
        end if
    end subroutine expect

    !> The first process and all others.
    subroutine between()
        integer :: local, inter, all, side, size, x, root, rank, group, kind, req
        logical :: flag

        side = min(me, 1)
        call MPI_Comm_split(MPI_COMM_WORLD, side, me, local, ierr)
        call MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - side, 5, inter, ierr)
        call MPI_Comm_test_inter(inter, flag, ierr)
        call expect(flag, 'an intercommunicator')
        call MPI_Comm_remote_size(inter, size, ierr)
        call expect(size == merge(n - 1, 1, side == 0), 'remote size')
        call MPI_Comm_remote_group(inter, group, ierr)
        call MPI_Group_size(group, rank, ierr)
        call expect(rank == size, 'remote group')
        call MPI_Group_free(group, ierr)
        root = merge(MPI_ROOT, 0, side == 0)
        x = merge(77, 0, side == 0)
        call MPI_Ibcast(x, 1, MPI_INTEGER, root, inter, req, ierr)
        call MPI_Wait(req, MPI_STATUS_IGNORE, ierr)
        call expect(x == 77, 'bcast to the others')
        call MPI_Allreduce(me, x, 1, MPI_INTEGER, MPI_SUM, inter, ierr)
        call expect(x == merge(n * (n - 1) / 2, 0, side == 0), 'sums of the other group')
        call MPI_Intercomm_merge(inter, side == 0, all, ierr)
        call MPI_Comm_rank(all, rank, ierr)
        call expect(rank == merge(n - 1, me - 1, side == 0), 'merged')
        call MPI_Topo_test(all, kind, ierr)
        call expect(kind == MPI_UNDEFINED, 'no topology')
        call MPI_Comm_free(all, ierr)
        call MPI_Comm_free(inter, ierr)
        call MPI_Comm_free(local, ierr)
    end subroutine between

    !> A ring with a loop at each process, once with weights.
    subroutine graphs()
        integer :: ring, last, next, x(2), y(2), kind, in, out, ranks(2), weights(2), to(2), w(2)
        integer :: index(n), edges(2 * n), found(2), i, whole, degree
        integer(MPI_ADDRESS_KIND) :: places(2)
        logical :: weighted

        next = mod(me + 1, n)
        last = mod(me + n - 1, n)
        call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, [last, me], [3, 4], 2, [next, me], &
            [3, 4], MPI_INFO_NULL, .false., ring, ierr)
        call MPI_Dist_graph_neighbors_count(ring, in, out, weighted, ierr)
        call expect(in == 2 .and. out == 2 .and. weighted, 'degrees')
        call MPI_Dist_graph_neighbors(ring, 2, ranks, weights, 2, to, w, ierr)
        call expect(all(ranks == [last, me]) .and. all(weights == [3, 4]), 'sources')
        call expect(all(to == [next, me]) .and. all(w == [3, 4]), 'destinations')
        x = [me, -me]
        y = 0
        call MPI_Neighbor_alltoall(x, 1, MPI_INTEGER, y, 1, MPI_INTEGER, ring, ierr)
        call expect(all(y == [last, -me]), 'neighbor_alltoall')
        y = 0
        places = [4, 0]
        call MPI_Neighbor_alltoallw(x, [1, 1], [0_MPI_ADDRESS_KIND, 4_MPI_ADDRESS_KIND], &
            [MPI_INTEGER, MPI_INTEGER], y, [1, 1], places, [MPI_INTEGER, MPI_INTEGER], ring, ierr)
        call expect(all(y == [-me, last]), 'neighbor_alltoallw')
        call MPI_Comm_free(ring, ierr)
        degree = 2
        call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [me], [degree], [next, me], MPI_UNWEIGHTED, &
            MPI_INFO_NULL, .true., ring, ierr)
        call MPI_Dist_graph_neighbors_count(ring, in, out, weighted, ierr)
        call expect(in == 2 .and. out == 2 .and. .not. weighted, 'without weights')
        call MPI_Topo_test(ring, kind, ierr)
        call expect(kind == MPI_DIST_GRAPH, 'a distributed graph')
        call MPI_Comm_free(ring, ierr)
        index = [(2 * i, i = 1, n)]
        edges = [(mod(i / 2 + n - 1 + 2 * mod(i, 2), n), i = 0, 2 * n - 1)]
        call MPI_Graph_create(MPI_COMM_WORLD, n, index, edges, .false., whole, ierr)
        call MPI_Graph_neighbors_count(whole, me, degree, ierr)
        call MPI_Graph_neighbors(whole, me, 2, found, ierr)
        call expect(degree == 2 .and. all(found == [last, next]), 'graph_neighbors')
        y = -1
        call MPI_Neighbor_allgather(me, 1, MPI_INTEGER, y, 1, MPI_INTEGER, whole, ierr)
        call expect(all(y == [last, next]), 'neighbor_allgather')
        call MPI_Comm_free(whole, ierr)
    end subroutine graphs

    subroutine persistent()
        integer, asynchronous :: x, s
        integer :: req, i

        call MPI_Allreduce_init(x, s, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, req, &
            ierr)
        do i = 1, 3
            x = me + i
            call MPI_Start(req, ierr)
            call MPI_Wait(req, MPI_STATUS_IGNORE, ierr)
            call MPI_F_sync_reg(s)
            call expect(s == n * (n - 1) / 2 + i * n, 'a persistent sum')
        end do
        call MPI_Request_free(req, ierr)
    end subroutine persistent

    subroutine own_errors()
        integer :: class, code, found, length
        character(MPI_MAX_ERROR_STRING) :: text

        call MPI_Add_error_class(class, ierr)
        call MPI_Add_error_code(class, code, ierr)
        call MPI_Add_error_string(code, 'thin ice', ierr)
        call MPI_Error_class(code, found, ierr)
        call MPI_Error_string(code, text, length, ierr)
        call expect(found == class .and. text == 'thin ice' .and. length == 8, 'an error of mine')
        call expect(MPI_ERR_DIMS /= MPI_ERR_TOPOLOGY, 'classes differ')
    end subroutine own_errors
end program mpi_groups
