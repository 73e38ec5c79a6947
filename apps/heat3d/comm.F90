! SPDX-License-Identifier: BSD-3-Clause
!> Every call of MPI, or of the conversion library, is in this file. Errors end the program, as is
!> the default of both.
#include "names.inc"
module heat3d_comm
    use, intrinsic :: iso_fortran_env, only: error_unit, output_unit, real64
    use heat3d_clock, only: clock_add, clock_now, CLOCK_ALLREDUCE, CLOCK_EXCHANGE
    use heat3d_start, only: start_library, start_world, stop_library
#ifndef HEAT3D_WAITIO
    use mpi
#endif
    implicit none
#ifdef HEAT3D_WAITIO
    include 'waitio_mpif.h'
#ifdef HEAT3D_HYBRID
    character(*), parameter, public :: COMM_LIBRARY = 'WaitIO and MPI'
#else
    character(*), parameter, public :: COMM_LIBRARY = 'WaitIO'
#endif
#else
    character(*), parameter, public :: COMM_LIBRARY = 'MPI'
#endif
    private
    public :: comm_start, comm_stop, comm_check, comm_sum, comm_total, comm_least, comm_most, comm_share
    public :: comm_exchange

    integer, parameter :: HALO_TAG = 7
    integer, public, protected :: comm_rank = 0, comm_size = 1

    !> What rank 0 has, to everybody; arrays must have their size everywhere.
    interface comm_share
        module procedure share_integers, share_table, share_reals, share_truths
    end interface comm_share

contains

    subroutine comm_start()
        integer :: ierr
        call start_library()
        call MPI_Comm_rank(start_world, comm_rank, ierr)
        call MPI_Comm_size(start_world, comm_size, ierr)
    end subroutine comm_start

    subroutine comm_stop()
        call stop_library()
    end subroutine comm_stop

    !> Ends the program when any process has a problem: the lowest of those tells it, and all leave
    !> with status. Collective; no problem is an empty text.
    subroutine comm_check(problem, status)
        character(*), intent(in) :: problem
        integer, intent(in) :: status
        integer :: mine, first, ierr

        mine = merge(comm_rank, comm_size, len(problem) > 0)
        call MPI_Allreduce(mine, first, 1, MPI_INTEGER, MPI_MIN, start_world, ierr)
        if (first == comm_size) return
        if (first == comm_rank) write (error_unit, '(2a)') 'heat3d: ', problem
        ! A launcher may kill the rest as soon as one has left with an error: first it must be told.
        flush (error_unit)
        flush (output_unit)
        call MPI_Barrier(start_world, ierr)
        call comm_stop()
        stop status, quiet=.true.
    end subroutine comm_check

    !> Sum over all processes.
    real(real64) function comm_total(mine) result(total)
        real(real64), intent(in) :: mine
        integer :: ierr
        call MPI_Allreduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, start_world, ierr)
    end function comm_total

    !> The same, timed: the one reduction inside the solver's loop.
    real(real64) function comm_sum(mine) result(total)
        real(real64), intent(in) :: mine
        real(real64) :: start
        start = clock_now()
        total = comm_total(mine)
        call clock_add(CLOCK_ALLREDUCE, start)
    end function comm_sum

    function comm_least(mine) result(least)
        real(real64), intent(in) :: mine(:)
        real(real64) :: least(size(mine)), copy(size(mine))
        integer :: ierr
        copy = mine
        call MPI_Allreduce(copy, least, size(copy), MPI_DOUBLE_PRECISION, MPI_MIN, &
            start_world, ierr)
    end function comm_least

    function comm_most(mine) result(most)
        real(real64), intent(in) :: mine(:)
        real(real64) :: most(size(mine)), copy(size(mine))
        integer :: ierr
        copy = mine
        call MPI_Allreduce(copy, most, size(copy), MPI_DOUBLE_PRECISION, MPI_MAX, &
            start_world, ierr)
    end function comm_most

    subroutine share_integers(data)
        integer, intent(inout), contiguous :: data(:)
        integer :: ierr
        call MPI_Bcast(data, size(data), MPI_INTEGER, 0, start_world, ierr)
    end subroutine share_integers

    subroutine share_table(data)
        integer, intent(inout), contiguous :: data(:, :)
        integer :: ierr
        call MPI_Bcast(data, size(data), MPI_INTEGER, 0, start_world, ierr)
    end subroutine share_table

    subroutine share_reals(data)
        real(real64), intent(inout), contiguous :: data(:, :)
        integer :: ierr
        call MPI_Bcast(data, size(data), MPI_DOUBLE_PRECISION, 0, start_world, ierr)
    end subroutine share_reals

    subroutine share_truths(data)
        logical, intent(inout), contiguous :: data(:)
        integer :: number(size(data))
        number = merge(1, 0, data)
        call share_integers(number)
        data = number == 1
    end subroutine share_truths

    !> Sends send(sfirst(i):sfirst(i+1)-1) to peers(i) and receives recv(rfirst(i):rfirst(i+1)-1)
    !> from it, for all i at once.
    subroutine comm_exchange(peers, sfirst, send, rfirst, recv)
        integer, intent(in) :: peers(:), sfirst(:), rfirst(:)
        real(real64), intent(in), contiguous, asynchronous :: send(:)
        real(real64), intent(inout), contiguous, asynchronous :: recv(:)
        integer :: request(REQUEST_SIZE * 2 * size(peers))
        real(real64) :: start
        integer :: i, n, ierr

        start = clock_now()
        n = size(peers)
        do i = 1, n
            call MPI_Irecv(recv(rfirst(i)), rfirst(i + 1) - rfirst(i), MPI_DOUBLE_PRECISION, &
                peers(i), HALO_TAG, start_world, &
                request(REQUEST_SIZE * (i - 1) + 1), ierr)
        end do
        do i = 1, n
            call MPI_Isend(send(sfirst(i)), sfirst(i + 1) - sfirst(i), MPI_DOUBLE_PRECISION, &
                peers(i), HALO_TAG, start_world, &
                request(REQUEST_SIZE * (n + i - 1) + 1), ierr)
        end do
        call MPI_Waitall(2 * n, request, MPI_STATUSES_IGNORE, ierr)
        call clock_add(CLOCK_EXCHANGE, start)
    end subroutine comm_exchange
end module heat3d_comm
