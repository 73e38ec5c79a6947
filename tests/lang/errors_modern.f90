! SPDX-License-Identifier: BSD-3-Clause
! An error without ierr ends the program, and is printed once. With an argument: a refusal of the
! module itself (a buffer with gaps).
program errors_modern
    use waitio
    implicit none
    type(waitio_group) :: all
    type(waitio_request) :: request
    integer, asynchronous :: strided(10)
    if (command_argument_count() > 0) then
        call waitio_init(10)
        call waitio_group_universe(all)
        call waitio_isend(all, 0, strided(1:10:2), 7, request)
    else
        call waitio_init(5)
    end if
    print '(a)', 'still alive'
end program errors_modern
