! SPDX-License-Identifier: BSD-3-Clause
!> MPI's names in Fortran: what calls that complete one operation write into a status. Each process
!> sends to itself.
program mpi_statuses
    use mpi
    implicit none
    integer :: out = 11, in = 0, send, req(1), message, status(MPI_STATUS_SIZE), index
    integer :: ierr, failures = 0, me
    logical :: flag

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
    status(MPI_ERROR) = MPI_ERR_TOPOLOGY
    call probes()
    call completions()
    call cancelled()
    call MPI_Finalize(ierr)
    if (failures > 0) error stop 1
    print '(a)', 'ok'

contains

    subroutine expect(good, what)
        logical, intent(in) :: good
        character(*), intent(in) :: what
        if (.not. good) then
            print '(a)', what
            failures = failures + 1
        end if
    end subroutine expect

    subroutine send_one()
        call MPI_Isend(out, 1, MPI_INTEGER, me, 8, MPI_COMM_WORLD, send, ierr)
        call MPI_Request_free(send, ierr)
    end subroutine send_one

    subroutine receive_one()
        call send_one()
        call MPI_Irecv(in, 1, MPI_INTEGER, me, 8, MPI_COMM_WORLD, req(1), ierr)
    end subroutine receive_one

    !> MPI_ERROR is as the program has set it.
    subroutine left_alone(what)
        character(*), intent(in) :: what
        call expect(status(MPI_ERROR) == MPI_ERR_TOPOLOGY .and. status(MPI_TAG) == 8 .and. &
            status(MPI_SOURCE) == me, 'status of ' // what)
        status = -3
        status(MPI_ERROR) = MPI_ERR_TOPOLOGY
    end subroutine left_alone

    subroutine probes()
        call send_one()
        call MPI_Probe(me, 8, MPI_COMM_WORLD, status, ierr)
        call left_alone('Probe')
        flag = .false.
        do while (.not. flag)
            call MPI_Iprobe(me, 8, MPI_COMM_WORLD, flag, status, ierr)
        end do
        call left_alone('Iprobe')
        call MPI_Recv(in, 1, MPI_INTEGER, me, 8, MPI_COMM_WORLD, status, ierr)
        call left_alone('Recv')
        call send_one()
        call MPI_Mprobe(me, 8, MPI_COMM_WORLD, message, status, ierr)
        call left_alone('Mprobe')
        call MPI_Mrecv(in, 1, MPI_INTEGER, message, status, ierr)
        call left_alone('Mrecv')
        call send_one()
        flag = .false.
        do while (.not. flag)
            call MPI_Improbe(me, 8, MPI_COMM_WORLD, flag, message, status, ierr)
        end do
        call left_alone('Improbe')
        call MPI_Imrecv(in, 1, MPI_INTEGER, message, req(1), ierr)
        call MPI_Wait(req(1), status, ierr)
        call left_alone('Wait')
    end subroutine probes

    subroutine completions()
        call MPI_Sendrecv(out, 1, MPI_INTEGER, me, 8, in, 1, MPI_INTEGER, me, 8, MPI_COMM_WORLD, &
            status, ierr)
        call left_alone('Sendrecv')
        call MPI_Sendrecv_replace(in, 1, MPI_INTEGER, me, 8, me, 8, MPI_COMM_WORLD, status, ierr)
        call left_alone('Sendrecv_replace')
        call receive_one()
        call MPI_Waitany(1, req, index, status, ierr)
        call left_alone('Waitany')
        call receive_one()
        flag = .false.
        do while (.not. flag)
            call MPI_Request_get_status(req(1), flag, status, ierr)
        end do
        call left_alone('Request_get_status')
        flag = .false.
        do while (.not. flag)
            call MPI_Test(req(1), flag, status, ierr)
        end do
        call left_alone('Test')
        call receive_one()
        flag = .false.
        do while (.not. flag)
            call MPI_Testany(1, req, index, flag, status, ierr)
        end do
        call left_alone('Testany')
    end subroutine completions

    !> The mark of a cancelled operation lies in the same place, and goes with the next.
    subroutine cancelled()
        call MPI_Irecv(in, 1, MPI_INTEGER, me, 9, MPI_COMM_WORLD, req(1), ierr)
        call MPI_Cancel(req(1), ierr)
        call MPI_Wait(req(1), status, ierr)
        call MPI_Test_cancelled(status, flag, ierr)
        call expect(flag, 'a cancelled receive')
        call receive_one()
        call MPI_Wait(req(1), status, ierr)
        call MPI_Test_cancelled(status, flag, ierr)
        call expect(.not. flag, 'a receive after a cancelled one')
    end subroutine cancelled
end program mpi_statuses
