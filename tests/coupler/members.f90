! SPDX-License-Identifier: BSD-3-Clause
! Who a member of an ensemble is, and with whom it exchanges: members.f90 COMPONENT MEMBERS
program members
    use h3ou_api
    implicit none
    character(len=16) :: me, text
    integer :: n

    call get_command_argument(1, me)
    call get_command_argument(2, text)
    read (text, *) n
    call h3ou_init(trim(me), '', n)
    print '(4a)', 'I am ', trim(h3ou_get_my_name()), ' with ', trim(h3ou_get_target_name())
    call h3ou_end()
    if (index(h3ou_get_my_name(), trim(me)) /= 1) error stop 'the name is gone at the end'
end program members
