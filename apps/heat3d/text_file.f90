! SPDX-License-Identifier: BSD-3-Clause
!> Reads a text file word by word or line by line. The first problem is kept, with its line; after
!> it nothing is read any more, so that callers need not look after each step.
module heat3d_text_file
    use, intrinsic :: iso_fortran_env, only: int64, iostat_eor, real64
    implicit none
    private
    public :: text_open, text_close, text_line, text_word, text_whole, text_real, text_wrong

    type, public :: text_file_t
        character(:), allocatable :: name, problem
        character(:), allocatable, private :: line
        integer, private :: unit = 0, number = 0, at = 1
    end type text_file_t

contains

    subroutine text_open(f, name)
        type(text_file_t), intent(out) :: f
        character(*), intent(in) :: name
        character(256) :: message
        integer :: status

        f%name = name
        f%problem = ''
        f%line = ''
        open (newunit=f%unit, file=name, status='old', action='read', iostat=status, iomsg=message)
        if (status == 0) return
        f%unit = 0
        f%problem = 'mesh=' // name // ' cannot be read: ' // trim(message)
    end subroutine text_open

    subroutine text_close(f)
        type(text_file_t), intent(inout) :: f
        if (f%unit /= 0) close (f%unit)
    end subroutine text_close

    !> Notes a problem at the current line, unless there is one already.
    subroutine text_wrong(f, what)
        type(text_file_t), intent(inout) :: f
        character(*), intent(in) :: what
        character(12) :: number
        if (len(f%problem) > 0) return
        write (number, '(i0)') f%number
        f%problem = f%name // ', line ' // trim(number) // ': ' // what
    end subroutine text_wrong

    !> The next line that is not blank; empty at the end of the file.
    function text_line(f) result(line)
        type(text_file_t), intent(inout) :: f
        character(:), allocatable :: line
        do while (next_line(f))
            line = trim(adjustl(f%line))
            f%at = len(f%line) + 1
            if (len(line) > 0) return
        end do
        line = ''
    end function text_line

    !> The next word, on this line or a later one; empty at the end of the file.
    function text_word(f) result(word)
        type(text_file_t), intent(inout) :: f
        character(:), allocatable :: word
        integer :: first, length

        word = ''
        if (len(f%problem) > 0) return
        do
            first = verify(f%line(f%at:), ' ' // achar(9))
            if (first > 0) exit
            if (.not. next_line(f)) return
        end do
        f%at = f%at + first - 1
        length = scan(f%line(f%at:), ' ' // achar(9)) - 1
        if (length < 0) length = len(f%line) - f%at + 1
        word = f%line(f%at:f%at + length - 1)
        f%at = f%at + length
    end function text_word

    !> The next word as a whole number from low to high; low if there is a problem.
    integer function text_whole(f, what, low, high) result(value)
        type(text_file_t), intent(inout) :: f
        character(*), intent(in) :: what
        integer, intent(in) :: low, high
        character(:), allocatable :: word
        character(50) :: range
        integer(int64) :: number
        integer :: status

        value = low
        word = text_word(f)
        status = 1
        number = 0
        if (len(word) > 0 .and. len(word) < 18 .and. verify(word, '-0123456789') == 0) &
            read (word, '(i18)', iostat=status) number
        if (status == 0 .and. number >= low .and. number <= high) then
            value = int(number)
        else
            write (range, '(a,i0,a,i0)') ' from ', low, ' to ', high
            call text_wrong(f, what // " '" // word // "' is not a whole number" // trim(range))
        end if
    end function text_whole

    real(real64) function text_real(f, what) result(value)
        type(text_file_t), intent(inout) :: f
        character(*), intent(in) :: what
        character(:), allocatable :: word
        integer :: status

        value = 0
        word = text_word(f)
        status = 1
        if (len(word) > 0 .and. verify(word, '+-.0123456789eEdD') == 0) &
            read (word, *, iostat=status) value
        if (status /= 0 .or. .not. abs(value) < huge(value)) &
            call text_wrong(f, what // " '" // word // "' is not a number")
    end function text_real

    !> False at the end of the file or after a problem.
    logical function next_line(f) result(more)
        type(text_file_t), intent(inout) :: f
        character(256) :: piece
        integer :: status, n

        more = .false.
        f%at = 1
        f%line = ''
        if (len(f%problem) > 0) return
        do
            read (f%unit, '(a)', advance='no', iostat=status, size=n) piece
            if (status /= 0 .and. status /= iostat_eor) exit
            f%line = f%line // piece(:n)
            more = .true.
            if (status == iostat_eor) exit
        end do
        f%number = f%number + 1
        n = len(f%line)
        if (n > 0) then
            if (f%line(n:) == achar(13)) f%line = f%line(:n - 1)
        end if
    end function next_line
end module heat3d_text_file
