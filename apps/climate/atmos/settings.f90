! SPDX-License-Identifier: BSD-3-Clause
!> What the namelist &climate says; both models read the file.
module settings
    use, intrinsic :: iso_fortran_env, only: real64
    implicit none
    integer :: nx = 120, ny = 60        !< cells along the equator, from pole to pole
    integer :: days = 1080              !< of model time; a year has 360
    integer :: steps_a_day = 8

contains

    subroutine read_settings(path)
        character(len=*), intent(in) :: path
        character(len=300) :: why
        integer :: unit, error
        namelist /climate/ nx, ny, days, steps_a_day
        open (newunit=unit, file=path, status='old', action='read', iostat=error, iomsg=why)
        if (error == 0) read (unit, nml=climate, iostat=error, iomsg=why)
        if (error /= 0) call refuse(path//': '//trim(why))
        close (unit)
        if (nx < 4 .or. ny < 2 .or. days < 1 .or. steps_a_day < 1) &
            call refuse(path//': nx must be 4 or more, ny 2 or more, days and steps_a_day 1 or more')
        if (mod(86400, steps_a_day) /= 0) &
            call refuse(path//': steps_a_day must divide the 86400 seconds of a day')
    end subroutine read_settings

    subroutine refuse(text)
        use, intrinsic :: iso_fortran_env, only: error_unit
        character(len=*), intent(in) :: text
        write (error_unit, '(2a)') 'atmos: ', text
        error stop 2
    end subroutine refuse
end module settings
