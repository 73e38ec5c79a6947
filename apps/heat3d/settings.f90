! SPDX-License-Identifier: BSD-3-Clause
!> The command line: key=value words.
module heat3d_settings
    use, intrinsic :: iso_fortran_env, only: int64, real64
    implicit none
    private
    public :: settings_read, settings_numbers
    character(*), parameter :: KEYS = 'nx ny nz tol maxit solution check mesh partition'
    integer(int64), parameter :: MOST_NODES = 100000000_int64

    type, public :: settings_t
        integer :: cells(3) = 16 !< elements of the generated box along x, y, z
        integer :: maxit = 10000 !< most iterations
        real(real64) :: tol = 1d-10 !< relative residual to reach
        real(real64) :: check = 0 !< largest allowed error at a node, 0: any
        character(:), allocatable :: solution !< name of the analytic solution
        character(:), allocatable :: mesh !< file, empty: the generated box
        character(:), allocatable :: partition !< rcb, metis; empty: METIS where it is there
    end type settings_t

contains

    !> Reads the command line; problem is empty when all is well.
    subroutine settings_read(s, problem)
        type(settings_t), intent(out) :: s
        character(:), allocatable, intent(out) :: problem
        character(:), allocatable :: word
        integer :: i, length

        s%solution = 'sine'
        s%mesh = ''
        s%partition = ''
        problem = ''
        do i = 1, command_argument_count()
            call get_command_argument(i, length=length)
            if (allocated(word)) deallocate (word)
            allocate (character(length) :: word)
            call get_command_argument(i, word)
            call read_word(s, word, problem)
            if (len(problem) > 0) return
        end do
        if (product(int(s%cells, int64) + 1) > MOST_NODES) &
            problem = 'a box of more than 100000000 nodes: take smaller nx, ny, nz'
    end subroutine settings_read

    subroutine read_word(s, word, problem)
        type(settings_t), intent(inout) :: s
        character(*), intent(in) :: word
        character(:), allocatable, intent(inout) :: problem
        integer :: at

        at = index(word, '=')
        if (at < 2) then
            problem = "'" // word // "' is not of the form key=value; the keys are " // KEYS
            return
        end if
        associate (key => word(:at - 1), text => word(at + 1:))
            select case (key)
            case ('nx'); call whole(key, text, 1000000, s%cells(1), problem)
            case ('ny'); call whole(key, text, 1000000, s%cells(2), problem)
            case ('nz'); call whole(key, text, 1000000, s%cells(3), problem)
            case ('maxit'); call whole(key, text, huge(0), s%maxit, problem)
            case ('tol'); call positive(key, text, s%tol, problem)
            case ('check'); call positive(key, text, s%check, problem)
            case ('solution'); call choice(key, text, 'sine', 'linear', s%solution, problem)
            case ('partition'); call choice(key, text, 'rcb', 'metis', s%partition, problem)
            case ('mesh')
                s%mesh = text
                if (len(text) == 0) problem = 'mesh= needs the name of a file'
            case default
                problem = "unknown key '" // key // "'; the keys are " // KEYS
            end select
        end associate
    end subroutine read_word

    subroutine choice(key, text, one, other, chosen, problem)
        character(*), intent(in) :: key, text, one, other
        character(:), allocatable, intent(inout) :: chosen, problem
        chosen = text
        if (text /= one .and. text /= other) &
            problem = key // '=' // text // ': there are ' // one // ' and ' // other
    end subroutine choice

    subroutine whole(key, text, most, number, problem)
        character(*), intent(in) :: key, text
        integer, intent(in) :: most
        integer, intent(inout) :: number
        character(:), allocatable, intent(inout) :: problem
        character(20) :: limit
        integer(int64) :: value

        value = 0
        if (len(text) < 11 .and. verify(text, '0123456789') == 0 .and. len(text) > 0) &
            read (text, '(i10)') value
        if (value < 1 .or. value > most) then
            write (limit, '(i0)') most
            problem = key // '=' // text // ': give a whole number from 1 to ' // trim(limit)
        else
            number = int(value)
        end if
    end subroutine whole

    subroutine positive(key, text, number, problem)
        character(*), intent(in) :: key, text
        real(real64), intent(inout) :: number
        character(:), allocatable, intent(inout) :: problem
        real(real64) :: value
        integer :: status

        status = 1
        value = 0
        if (verify(text, '0123456789.eEdD+-') == 0 .and. len(text) > 0) &
            read (text, *, iostat=status) value
        if (status /= 0 .or. .not. (value > 0 .and. value < huge(value))) then
            problem = key // '=' // text // ': give a positive number such as 1e-8'
        else
            number = value
        end if
    end subroutine positive

    !> What must be the same in all processes, as numbers.
    function settings_numbers(s) result(numbers)
        type(settings_t), intent(in) :: s
        real(real64) :: numbers(9)
        numbers(:3) = s%cells
        numbers(4) = s%maxit
        numbers(5) = s%tol
        numbers(6) = s%check
        numbers(7) = len(s%solution)
        numbers(8) = merge(1, 0, len(s%mesh) > 0)
        numbers(9) = len(s%partition)
    end function settings_numbers
end module heat3d_settings
