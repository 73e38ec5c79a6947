! SPDX-License-Identifier: BSD-3-Clause
!> Both languages by renaming: a request that one has started is completed by the other.
program mpi_mixed
    use mpi
    use, intrinsic :: iso_c_binding, only: c_int
    implicit none
    interface
        integer(c_int) function begin_receive(in, source, tag) bind(c)
            import :: c_int
            integer(c_int), asynchronous :: in
            integer(c_int), value :: source, tag
        end function begin_receive
        integer(c_int) function end_in_c(number) bind(c)
            import :: c_int
            integer(c_int), value :: number
        end function end_in_c
        integer(c_int) function same_types(integer_type, double_type) bind(c)
            import :: c_int
            integer(c_int), value :: integer_type, double_type
        end function same_types
    end interface
    integer(c_int), asynchronous :: in
    integer :: ierr, me, n, left, right, requests(2), status(MPI_STATUS_SIZE)
    character(MPI_MAX_OBJECT_NAME) :: name
    integer :: length
    logical :: good

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
    right = mod(me + 1, n)
    left = mod(me + n - 1, n)
    in = -1
    requests(1) = begin_receive(in, left, 9)
    call MPI_Isend(me, 1, MPI_INTEGER, right, 9, MPI_COMM_WORLD, requests(2), ierr)
    good = all(requests /= MPI_REQUEST_NULL) .and. requests(1) /= requests(2)
    call MPI_Wait(requests(1), status, ierr)
    good = good .and. in == left .and. status(MPI_TAG) == 9 .and. requests(1) == MPI_REQUEST_NULL
    good = good .and. end_in_c(requests(2)) == 1
    good = good .and. end_in_c(MPI_REQUEST_NULL) == 1
    good = good .and. PMPI_Wtime() > 0 .and. PMPI_Wtick() > 0
    good = good .and. same_types(MPI_INTEGER, MPI_DOUBLE_PRECISION) == 1
    call MPI_Type_get_name(MPI_INTEGER, name, length, ierr)
    good = good .and. name == 'MPI_INTEGER'
    call MPI_Type_get_name(MPI_DOUBLE_PRECISION, name, length, ierr)
    good = good .and. name == 'MPI_DOUBLE_PRECISION'
    call MPI_Finalize(ierr)
    if (.not. good) error stop 1
    print '(a)', 'ok'
end program mpi_mixed
