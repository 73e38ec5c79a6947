! SPDX-License-Identifier: BSD-3-Clause
!> MPI's names in Fortran: generalized requests. Module mpi of libwaitio_mpi_rename.
module functions_of_requests
    use mpi
    implicit none
    integer :: queried = 0, freed = 0, cancelled = 0, answer = MPI_SUCCESS
    logical :: told = .false.

contains

    subroutine query(extra_state, status, ierr)
        integer(MPI_ADDRESS_KIND) :: extra_state
        integer :: status(MPI_STATUS_SIZE), ierr
        queried = queried + 1
        status(MPI_SOURCE) = 7
        status(MPI_TAG) = int(extra_state / 1000000000)
        call MPI_Status_set_elements(status, MPI_DOUBLE_PRECISION, 3, ierr)
        call MPI_Status_set_cancelled(status, told, ierr)
        ierr = answer
    end subroutine query

    subroutine end_one(extra_state, ierr)
        integer(MPI_ADDRESS_KIND) :: extra_state
        integer :: ierr
        if (extra_state == 5000000000_MPI_ADDRESS_KIND) freed = freed + 1
        ierr = MPI_SUCCESS
    end subroutine end_one

    subroutine count_down(extra_state, ierr)
        integer(MPI_ADDRESS_KIND) :: extra_state
        integer :: ierr
        extra_state = extra_state - 1
        ierr = MPI_SUCCESS
    end subroutine count_down

    subroutine cancel(extra_state, complete, ierr)
        integer(MPI_ADDRESS_KIND) :: extra_state
        logical :: complete
        integer :: ierr
        if (extra_state == 5000000000_MPI_ADDRESS_KIND .and. complete) cancelled = cancelled + 1
        told = .true.
        ierr = MPI_SUCCESS
    end subroutine cancel
end module functions_of_requests

program mpi_grequest
    use mpi
    use functions_of_requests
    implicit none
    integer, parameter :: extra_kind = MPI_ADDRESS_KIND
    integer :: ierr, failures = 0, me

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
    call one()
    call changes_its_state()
    call several()
    call ends_early()
    call fails()
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

    integer function started()
        queried = 0
        freed = 0
        cancelled = 0
        told = .false.
        call MPI_Grequest_start(query, end_one, cancel, 5000000000_extra_kind, started, ierr)
    end function started

    subroutine one()
        integer :: request, status(MPI_STATUS_SIZE), count
        logical :: flag
        request = started()
        call expect(request /= MPI_REQUEST_NULL, 'a request')
        call MPI_Test(request, flag, status, ierr)
        call expect(.not. flag .and. queried == 0, 'not complete')
        call MPI_Grequest_complete(request, ierr)
        call expect(request /= MPI_REQUEST_NULL, 'still a request')
        call MPI_Request_get_status(request, flag, status, ierr)
        call expect(flag .and. queried == 1 .and. freed == 0, 'asked')
        call MPI_Wait(request, status, ierr)
        call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count, ierr)
        call expect(count == 3 .and. status(MPI_SOURCE) == 7 .and. status(MPI_TAG) == 5, 'status')
        call expect(request == MPI_REQUEST_NULL .and. queried == 2 .and. freed == 1, 'ended')
    end subroutine one

    !> The functions get the program's variable itself.
    subroutine changes_its_state()
        integer(extra_kind), asynchronous :: extra
        integer :: request
        extra = 1
        call MPI_Grequest_start(query, count_down, cancel, extra, request, ierr)
        call MPI_Grequest_complete(request, ierr)
        call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
        call expect(extra == 0, 'a function changes the extra state')
    end subroutine changes_its_state

    subroutine several()
        integer :: requests(3), in(1), which, statuses(MPI_STATUS_SIZE, 3)
        requests(1) = MPI_REQUEST_NULL
        requests(2) = started()
        call MPI_Irecv(in, 1, MPI_INTEGER, me, 3, MPI_COMM_WORLD, requests(3), ierr)
        call MPI_Grequest_complete(requests(2), ierr)
        call MPI_Waitany(3, requests, which, statuses, ierr)
        call expect(which == 2 .and. requests(2) == MPI_REQUEST_NULL, 'the first one')
        requests(2) = started()
        call MPI_Grequest_complete(requests(2), ierr)
        call MPI_Send([17], 1, MPI_INTEGER, me, 3, MPI_COMM_WORLD, ierr)
        call MPI_Waitall(3, requests, statuses, ierr)
        call expect(all(requests == MPI_REQUEST_NULL) .and. in(1) == 17, 'all')
        call expect(statuses(MPI_TAG, 2) == 5 .and. statuses(MPI_TAG, 3) == 3, 'all statuses')
    end subroutine several

    subroutine ends_early()
        integer :: request, copy, status(MPI_STATUS_SIZE)
        logical :: flag
        request = started()
        call MPI_Grequest_complete(request, ierr)
        call MPI_Cancel(request, ierr)
        call MPI_Wait(request, status, ierr)
        call MPI_Test_cancelled(status, flag, ierr)
        call expect(flag .and. cancelled == 1, 'cancelled')
        request = started()
        call MPI_Grequest_complete(request, ierr)
        call MPI_Request_free(request, ierr)
        call expect(request == MPI_REQUEST_NULL .and. freed == 1 .and. queried == 0, 'freed')
        request = started()
        copy = request
        call MPI_Request_free(request, ierr)
        call expect(request == MPI_REQUEST_NULL .and. freed == 0, 'freed early')
        call MPI_Grequest_complete(copy, ierr)
        call expect(freed == 1 .and. queried == 0, 'complete after that')
        request = started()
        copy = request
        call MPI_Cancel(request, ierr)
        call expect(cancelled == 0 .and. told, 'told before it is complete')
        call MPI_Grequest_complete(copy, ierr)
        call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
        call expect(queried == 1 .and. freed == 1, 'a copy of the request')
    end subroutine ends_early

    subroutine fails()
        integer :: request
        call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
        request = started()
        answer = MPI_ERR_OTHER
        call MPI_Grequest_complete(request, ierr)
        call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
        call expect(ierr == MPI_ERR_OTHER .and. freed == 1, 'the error of a query function')
        call MPI_Grequest_complete(MPI_REQUEST_NULL, ierr)
        call expect(ierr == MPI_ERR_REQUEST, 'none to complete')
        call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierr)
    end subroutine fails
end program mpi_grequest
