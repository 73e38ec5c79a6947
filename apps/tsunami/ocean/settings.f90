! SPDX-License-Identifier: BSD-3-Clause
!> What a run does: read from a namelist file, the same on all processes.
module ocean_settings
    use, intrinsic :: iso_fortran_env, only: real64
    implicit none
    private
    public :: settings_t, settings_read

    integer, parameter :: NAME = 200

    type :: settings_t
        character(NAME) :: grid = 'grid.bin'         !< depths, written by tsunami/prepare.py
        character(NAME) :: source = ''               !< sea surface at the start; empty: at rest
        character(NAME) :: stations = ''             !< cells whose heights are recorded
        character(NAME) :: output = 'run'            !< OUTPUT.series and OUTPUT.maps are written
        character(NAME) :: trace = ''                !< TRACE.RANK: who waited for whom
        character(NAME) :: scenario = ''             !< SCENARIO01.bin ... are sources to learn from
        integer :: scenarios = 0                     !< how many of them
        real(real64) :: duration = 3600              !< seconds of the event
        real(real64) :: cycle = 60                   !< seconds between exchanges and samples
        real(real64) :: map_every = 600              !< seconds between maps
        real(real64) :: courant = 0.8d0              !< part of the largest stable time step to use
        integer :: steps = 0                         !< time steps in a cycle; 0: from courant
        logical :: open_sea = .true.                 !< waves leave at the edges; else walls
        logical :: coupled = .false.                 !< with the other blocks, over WaitIO
    end type settings_t

contains

    !> problem is empty, or says what is wrong with the file.
    subroutine settings_read(path, s, problem)
        character(*), intent(in) :: path
        type(settings_t), intent(out) :: s
        character(:), allocatable, intent(out) :: problem
        character(NAME) :: grid, source, stations, output, trace, scenario, text
        integer :: scenarios, steps, unit, status
        real(real64) :: duration, cycle, map_every, courant
        logical :: open_sea, coupled
        namelist /ocean/ grid, source, stations, output, trace, scenario, scenarios, duration, &
            cycle, map_every, courant, steps, open_sea, coupled

        grid = s%grid; source = s%source; stations = s%stations; output = s%output
        trace = s%trace; scenario = s%scenario; scenarios = s%scenarios
        duration = s%duration; cycle = s%cycle; map_every = s%map_every
        courant = s%courant; steps = s%steps; open_sea = s%open_sea; coupled = s%coupled
        problem = ''
        open (newunit=unit, file=path, status='old', action='read', iostat=status, iomsg=text)
        if (status == 0) then
            read (unit, nml=ocean, iostat=status, iomsg=text)
            close (unit)
        end if
        if (status /= 0) then
            problem = 'settings '//path//': '//trim(text)
            return
        end if
        if (.not. (duration > 0 .and. cycle > 0 .and. map_every > 0)) &
            problem = path//': duration, cycle and map_every must be above 0'
        if (.not. (courant > 0 .and. courant <= 1)) problem = path//': courant must be in (0, 1]'
        if (scenarios < 0 .or. scenarios > 99) problem = path//': scenarios must be in 0 .. 99'
        s = settings_t(grid, source, stations, output, trace, scenario, scenarios, duration, &
            cycle, map_every, courant, steps, open_sea, coupled)
    end subroutine settings_read
end module ocean_settings
