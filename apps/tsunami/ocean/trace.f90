! SPDX-License-Identifier: BSD-3-Clause
!> What this process did when: intervals for the report's timeline, kept in memory and written at
!> the end as lines `start,end,what,block,bytes`, in seconds since the start that all blocks share.
module ocean_trace
    use, intrinsic :: iso_fortran_env, only: int64, real64
    implicit none
    private
    public :: trace_begin, trace_now, trace_add, trace_write

    integer, parameter :: MOST = 200000

    type :: interval_t
        real(real64) :: start = 0, end = 0
        character(16) :: what = '', block = ''
        integer(int64) :: bytes = 0
    end type interval_t

    type(interval_t), allocatable :: intervals(:)
    integer :: used = 0
    real(real64) :: zero = 0

contains

    !> Now is the start.
    subroutine trace_begin()
        allocate (intervals(MOST))
        zero = 0
        zero = trace_now()
    end subroutine trace_begin

    real(real64) function trace_now() result(seconds)
        integer(int64) :: count, rate
        call system_clock(count, rate)
        seconds = real(count, real64) / real(rate, real64) - zero
    end function trace_now

    !> From start until now we did this, with bytes of data; what is beyond MOST is not kept.
    subroutine trace_add(start, what, block, bytes)
        real(real64), intent(in) :: start
        character(*), intent(in) :: what, block
        integer, intent(in) :: bytes
        if (.not. allocated(intervals) .or. used >= MOST) return
        used = used + 1
        intervals(used) = interval_t(start, trace_now(), what, block, int(bytes, int64))
    end subroutine trace_add

    subroutine trace_write(path, rank)
        character(*), intent(in) :: path
        integer, intent(in) :: rank
        character(8) :: suffix
        integer :: unit, i
        if (len_trim(path) == 0 .or. .not. allocated(intervals)) return
        write (suffix, '(i0)') rank
        open (newunit=unit, file=trim(path)//'.'//trim(suffix), status='replace', action='write')
        do i = 1, used
            associate (v => intervals(i))
                write (unit, '(f0.6,a,f0.6,5a,i0)') v%start, ',', v%end, ',', trim(v%what), ',', &
                    trim(v%block), ',', v%bytes
            end associate
        end do
        close (unit)
    end subroutine trace_write
end module ocean_trace
