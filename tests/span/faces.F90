! SPDX-License-Identifier: BSD-3-Clause
! Fortran by each of its three interfaces: HOW=1 mpif.h, HOW=2 use mpi, HOW=3 use mpi_f08. Each
! process prints a line that depends on the number of processes only.
program faces
#if HOW == 2
  use mpi
#elif HOW == 3
  use mpi_f08
#endif
  implicit none
#if HOW == 1
  include 'mpif.h'
#endif
#if HOW == 3
  type(MPI_Comm) :: half, cart, ring
  type(MPI_Request) :: requests(2)
  type(MPI_Datatype) :: row, types(64)
  type(MPI_Op) :: op
  type(MPI_Status) :: status
  procedure(MPI_User_function) :: largest
#else
  integer :: half, cart, ring, requests(2), row, types(64), op, status(MPI_STATUS_SIZE)
  external :: largest
#endif
  integer :: rank, size, ierr, top(1), total(1), got(1), source, count, i, three(3), most(3)
  integer :: dims(1), at, members, out(64), in(64), ones(64), bytes(64), each(5), two(2)
  double precision :: a(4, 4), b(4), d(1), gathered(64)
  logical :: periods(1), flag
  integer(kind=MPI_ADDRESS_KIND) :: appnum, places(2)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  top(1) = rank + 1
  call MPI_Allreduce(top, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call MPI_Allreduce(MPI_IN_PLACE, top, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierr)
  call MPI_Sendrecv([rank], 1, MPI_INTEGER, mod(rank + 1, size), 7, got, 1, MPI_INTEGER, &
                    MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, status, ierr)
#if HOW == 3
  source = status%MPI_SOURCE
#else
  source = status(MPI_SOURCE)
#endif
  call MPI_Get_count(status, MPI_INTEGER, count, ierr)

  ! a row of a matrix to the left; its type is freed while the message may be under way
  call MPI_Type_vector(4, 1, 4, MPI_DOUBLE_PRECISION, row, ierr)
  call MPI_Type_commit(row, ierr)
  do i = 1, 4
    a(:, i) = rank * 100 + i
  end do
  b = -1
  call MPI_Irecv(b, 4, MPI_DOUBLE_PRECISION, mod(rank + 1, size), 8, MPI_COMM_WORLD, requests(1), &
                 ierr)
  call MPI_Isend(a(2, 1), 1, row, mod(rank + size - 1, size), 8, MPI_COMM_WORLD, requests(2), ierr)
  call MPI_Type_free(row, ierr)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)

  call MPI_Op_create(largest, .true., op, ierr)
  three = [rank, 3 - rank, 2 * rank]
  call MPI_Allreduce(three, most, 3, MPI_INTEGER, op, MPI_COMM_WORLD, ierr)
  call MPI_Op_free(op, ierr)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, half, ierr)
  call MPI_Comm_rank(half, at, ierr)
  call MPI_Comm_size(half, members, ierr)
  call MPI_Comm_free(half, ierr)
  dims(1) = size
  periods(1) = .true.
  call MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, .false., cart, ierr)
  call MPI_Comm_free(cart, ierr)

  ! a type for each partner: of all jobs, not of this one
  ones = 1
  types = MPI_INTEGER
  do i = 1, size
    bytes(i) = 4 * (i - 1)
    out(i) = 100 * rank + i
  end do
  in = 0
  call MPI_Alltoallw(out, ones, bytes, types, in, ones, bytes, types, MPI_COMM_WORLD, ierr)
  each(1) = sum(in)
  in = 0
  call MPI_Ialltoallw(out, ones, bytes, types, in, ones, bytes, types, MPI_COMM_WORLD, &
                      requests(1), ierr)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierr)
  each(2) = sum(in)
  in(1:size) = out(1:size)
  call MPI_Alltoallw(MPI_IN_PLACE, ones, bytes, types, in, ones, bytes, types, MPI_COMM_WORLD, ierr)
  each(3) = sum(in)
  places = [0, 4]
  two = [mod(rank + size - 1, size), mod(rank + 1, size)]
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, two, ones, 2, two, ones, MPI_INFO_NULL, &
                                      .false., ring, ierr) ! MPICH's mpi_f08 knows no others here
  in = 0
  call MPI_Neighbor_alltoallw(out, ones, places, types, in, ones, places, types, ring, ierr)
  each(4) = in(1) + 7 * in(2)
  in = 0
  call MPI_Ineighbor_alltoallw(out, ones, places, types, in, ones, places, types, ring, &
                               requests(1), ierr)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierr)
  each(5) = in(1) + 7 * in(2)
  call MPI_Comm_free(ring, ierr)
  call MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE, ierr)
  if (flag) error stop 'a probe for nothing'
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, appnum, flag, ierr)
  if (.not. flag .or. appnum < 0 .or. appnum > size) error stop 'MPI_APPNUM'
  d = merge(2.5d0, 0d0, rank == 0)
  call MPI_Bcast(d, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)
  gathered = 0
#if HOW == 3
  do i = 1, 4
    a(3, i) = rank * 10 + i
  end do
  call MPI_Allgather(a(3, 1:3), 3, MPI_DOUBLE_PRECISION, gathered, 3, MPI_DOUBLE_PRECISION, &
                     MPI_COMM_WORLD) ! a section with gaps, no ierror
#else
  call MPI_Allgather([rank * 10 + 1d0, rank * 10 + 2d0, rank * 10 + 3d0], 3, MPI_DOUBLE_PRECISION, &
                     gathered, 3, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
#endif
  print '(i0, a, i0, a, 14(1x, i0), 6f8.1)', rank, ' of ', size, ':', total, top, got, source, &
    count, most, at * 10 + members, each, b, d, sum(gathered)
  call MPI_Finalize(ierr)
end program faces

#if HOW == 3
subroutine largest(in, inout, n, datatype)
  use, intrinsic :: iso_c_binding
  use mpi_f08
  implicit none
  type(c_ptr), value :: in, inout
  integer :: n
  type(MPI_Datatype) :: datatype
  integer, pointer :: x(:), y(:)
  if (datatype == MPI_DATATYPE_NULL) return
  call c_f_pointer(in, x, [n])
  call c_f_pointer(inout, y, [n])
  y = max(x, y)
end subroutine largest
#else
subroutine largest(in, inout, n, datatype)
  implicit none
  integer :: n, datatype, in(n), inout(n)
  if (datatype /= 0) inout = max(in, inout)
end subroutine largest
#endif
