! SPDX-License-Identifier: BSD-3-Clause
!> Staging in Fortran: stage_f write|read|check NAME. The stream is that of tests/system/progs/stage.c,
!> so either may be on the other side. A reader checks each element; then the program prints "ok".
program stage_f
    use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64, real32, real64
    use waitio_stage
    implicit none
    ! As C has it: T[nx][ny][nz].
    integer, parameter :: nx = 13, ny = 7, nz = 5, steps = 5
    type(waitio_stream) :: stream
    character(len=60) :: mode, name
    integer, allocatable :: nprocs(:)
    integer :: pb, blocks, me, n

    call get_command_argument(1, mode)
    call get_command_argument(2, name)
    call waitio_init()
    call waitio_pb_rank(pb)
    call waitio_pb_size(blocks)
    allocate (nprocs(blocks))
    call waitio_get_nprocs(nprocs)
    call waitio_universe_rank(me)
    me = me - sum(nprocs(1:pb))
    n = nprocs(pb + 1)
    select case (mode)
    case ('write')
        call write_all()
    case ('read')
        call read_all()
    case default
        call check_all()
    end select
    call waitio_finalize()
    print '(a)', 'ok'

contains

    subroutine expect(fine, what)
        logical, intent(in) :: fine
        character(len=*), intent(in) :: what

        if (fine) return
        write (error_unit, '(2a)') 'wrong: ', what
        flush (error_unit)
        error stop 4
    end subroutine expect

    !> i, j, k: indices of Fortran; C's array is T[k-1][j-1][i-1].
    pure real(real64) function value_at(step, i, j, k)
        integer(int64), intent(in) :: step
        integer, intent(in) :: i, j, k

        value_at = real(step, real64)*1e6_real64 + real(((k - 1)*ny + j - 1)*nz + i - 1, real64)
    end function value_at

    subroutine write_all()
        type(waitio_variable) :: t, part, twos
        real(real64), allocatable, asynchronous :: mine(:, :, :)
        integer(int64), allocatable :: local(:)
        integer(int32) :: one(1)
        integer(int64) :: step, bytes
        integer :: first, last, i, j, k
        character(len=40) :: note

        first = nx*me/n + 1
        last = nx*(me + 1)/n
        allocate (mine(nz, ny, first:last), local(me + 1))
        call waitio_stage_open(stream, name, WAITIO_STAGE_WRITE, limit=30d0, readers=1)
        call waitio_stage_define(stream, 'T', WAITIO_STAGE_DOUBLE, [nz, ny, nx], t)
        call waitio_stage_define(stream, 'part', WAITIO_STAGE_INT64, 1, part)
        call waitio_stage_define(stream, 'twos', WAITIO_STAGE_INT32, [int(2*n, int64)], twos)
        call waitio_stage_attribute(stream, 'units', 'K')
        call waitio_stage_attribute(stream, 'levels', [1.5d0, 2.5d0])
        call waitio_stage_attribute(stream, 'year', 2026)
        call waitio_stage_derive(stream, 'hottest', 'max', [t])
        do step = 0, steps - 1
            do k = first, last
                do j = 1, ny
                    do i = 1, nz
                        mine(i, j, k) = value_at(step, i, j, k)
                    end do
                end do
            end do
            local = step*100 + me
            one = int(step, int32)
            call waitio_stage_begin_step(stream)
            call waitio_stage_put(stream, t, mine, offset=[0, 0, first - 1])
            call waitio_stage_put(stream, part, local, how=WAITIO_STAGE_NOW)
            do k = 0, 1
                call waitio_stage_put(stream, twos, one, offset=[int(2*me + k, int64)], &
                    how=WAITIO_STAGE_NOW)
            end do
            call waitio_stage_put_scalar(stream, 'time', 0.5d0*step)
            write (note, '(a,i0,a,i0)') 'step ', step, ' of writer ', me
            call waitio_stage_put_text(stream, 'note', note)
            call waitio_stage_end_step(stream)
        end do
        call waitio_stage_count(stream, 'queued_bytes_max', bytes)
        call expect(bytes >= size(mine)*8, 'the queue')
        call waitio_stage_close(stream)
    end subroutine write_all

    subroutine read_all()
        type(waitio_variable) :: t
        integer(int64) :: step, next
        integer :: status

        call waitio_stage_open(stream, name, WAITIO_STAGE_READ, limit=30d0)
        next = 0
        do
            call waitio_stage_begin_step(stream, status)
            if (status /= WAITIO_STAGE_OK) exit
            call waitio_stage_step(stream, step)
            call expect(step == next, 'the step')
            next = next + 1
            call waitio_stage_inquire(stream, 'T', t)
            call expect(t%ndims == 3 .and. all(t%shape(1:3) == [nz, ny, nx]), 'the shape')
            call expect(waitio_variable_name(t) == 'T', 'the name')
            call read_arrays(step, t)
            call read_blocks(step)
            call read_values(step)
            call waitio_stage_end_step(stream)
        end do
        call expect(next == steps .and. status == WAITIO_STAGE_END, 'all steps')
        call waitio_stage_close(stream)
    end subroutine read_all

    !> The whole, and a plane of it: into arrays of other ranks.
    subroutine read_arrays(step, t)
        integer(int64), intent(in) :: step
        type(waitio_variable), intent(in) :: t
        real(real64), asynchronous :: all_of(nz, ny, nx), plane(ny, nx), box(2, 3, 4)
        integer :: i, j, k

        call waitio_stage_get(stream, t, all_of)
        call waitio_stage_get(stream, t, plane, offset=[2, 0, 0], count=[1, ny, nx])
        call waitio_stage_get(stream, t, box, offset=[1_int64, 2_int64, 3_int64])
        call waitio_stage_perform(stream)
        do k = 1, nx
            do j = 1, ny
                do i = 1, nz
                    call expect(all_of(i, j, k) == value_at(step, i, j, k), 'T')
                end do
                call expect(plane(j, k) == value_at(step, 3, j, k), 'a plane')
            end do
        end do
        call expect(all(box == all_of(2:3, 3:5, 4:7)), 'a box')
    end subroutine read_arrays

    subroutine read_blocks(step)
        integer(int64), intent(in) :: step
        type(waitio_variable) :: part
        integer(int64), allocatable, asynchronous :: local(:)
        integer(int64) :: block, offset(1), count(1)
        integer :: writer

        call waitio_stage_inquire(stream, 'part', part)
        call expect(part%kind == WAITIO_STAGE_LOCAL, 'a local array')
        do block = 1, part%blocks
            call waitio_stage_block(stream, part, block, writer, offset, count)
            call expect(writer == block - 1 .and. count(1) == block, 'a block')
            allocate (local(count(1)))
            call waitio_stage_get_block(stream, part, block, local)
            call waitio_stage_perform(stream)
            call expect(all(local == step*100 + writer), 'its elements')
            deallocate (local)
        end do
    end subroutine read_blocks

    subroutine read_values(step)
        integer(int64), intent(in) :: step
        type(waitio_variable) :: v
        real(real64) :: time
        character(len=:), allocatable :: text
        integer :: i, n_variables
        logical :: found

        call waitio_stage_get_scalar(stream, 'time', time)
        call expect(time == 0.5d0*step, 'the time')
        call waitio_stage_get_text(stream, 'note', text)
        call expect(text == 'step '//achar(iachar('0') + int(step))//' of writer 0', 'the note')
        call waitio_stage_get_attribute(stream, 'units', text)
        call expect(text == 'K', 'units')
        call expect(waitio_stage_attribute_name(stream, 1) == 'units', 'name of an attribute')
        call waitio_stage_variables(stream, n_variables)
        found = .false.
        do i = 1, n_variables
            call waitio_stage_variable_at(stream, i, v)
            if (waitio_variable_name(v) == 'hottest') found = .true.
        end do
        if (found) call read_fortrans_own(step)
    end subroutine read_values

    !> What only the Fortran writer puts.
    subroutine read_fortrans_own(step)
        integer(int64), intent(in) :: step
        real(real64), allocatable :: levels(:)
        real(real64) :: hottest
        integer, allocatable :: year(:)

        call waitio_stage_get_attribute(stream, 'levels', levels)
        call waitio_stage_get_attribute(stream, 'year', year)
        call expect(all(levels == [1.5d0, 2.5d0]) .and. all(year == [2026]), 'numbers')
        call waitio_stage_get_scalar(stream, 'hottest', hottest)
        call expect(hottest == value_at(step, nz, ny, nx), 'the maximum of all writers')
    end subroutine read_fortrans_own

    subroutine refused(ierr, code, what)
        integer, intent(in) :: ierr, code
        character(len=*), intent(in) :: what

        call expect(ierr == code, what)
        call expect(index(waitio_stage_last_error(), what) > 0, &
            what//' in: '//waitio_stage_last_error())
    end subroutine refused

    !> Such an array does not know how many elements it has.
    subroutine check_assumed_size(t, x)
        type(waitio_variable), intent(in) :: t
        real(real64), asynchronous :: x(4, *)
        integer :: ierr

        call waitio_stage_put(stream, t, x, ierr=ierr)
        call refused(ierr, WAITIO_ERR_ARG, 'assumed-size')
    end subroutine check_assumed_size

    subroutine check_all()
        type(waitio_variable) :: t, k, none
        real(real64), asynchronous :: x(4, 6)
        real(real32), asynchronous :: single(4, 6)
        integer, asynchronous :: whole(3)
        integer :: ierr

        x = 1
        single = 1
        whole = 1
        call waitio_stage_open(stream, ' ', WAITIO_STAGE_WRITE, ierr=ierr)
        call refused(ierr, WAITIO_ERR_ARG, 'name of a stream')
        call waitio_stage_open(stream, name, WAITIO_STAGE_WRITE, memory_max=1000_int64)
        call waitio_stage_define(stream, 'T', WAITIO_STAGE_DOUBLE, [4, 6], t)
        call waitio_stage_define(stream, 'k', WAITIO_STAGE_UINT32, [3], k)
        call waitio_stage_define(stream, 'T', WAITIO_STAGE_DOUBLE, [4, 6], none, ierr)
        call refused(ierr, WAITIO_ERR_ARG, 'is defined already')
        call waitio_stage_define(stream, 'U', WAITIO_STAGE_DOUBLE, [4, -6], none, ierr)
        call refused(ierr, WAITIO_ERR_ARG, 'negative')
        call waitio_stage_operator(stream, k, 'zfp', 'rate=8', ierr)
        call refused(ierr, WAITIO_ERR_ARG, 'zfp is for float and double')
        call waitio_stage_begin_step(stream)
        call waitio_stage_put(stream, none, x, ierr=ierr)
        call refused(ierr, WAITIO_ERR_ARG, "is no variable")
        call waitio_stage_put(stream, t, single, ierr=ierr)
        call refused(ierr, WAITIO_ERR_ARG, "'T': the array's type")
        call waitio_stage_put(stream, t, x(1:3, :), ierr=ierr)
        call refused(ierr, WAITIO_ERR_ARG, 'not contiguous')
        call waitio_stage_put(stream, t, x, offset=[1, 0], ierr=ierr)
        call refused(ierr, WAITIO_ERR_ARG, 'outside the shape')
        call waitio_stage_put(stream, t, x, offset=[-1, 0], ierr=ierr)
        call refused(ierr, WAITIO_ERR_ARG, 'offset(1) is -1')
        call waitio_stage_put(stream, t, x(1, 1), ierr=ierr)
        call refused(ierr, WAITIO_ERR_ARG, 'the array 0: say how many')
        call waitio_stage_put(stream, t, x, offset=[0, 0], count=[4, 5], ierr=ierr)
        call refused(ierr, WAITIO_ERR_ARG, 'another number')
        call waitio_stage_put(stream, t, x, offset=[0], ierr=ierr)
        call refused(ierr, WAITIO_ERR_ARG, 'has 2 dimensions, offset has 1')
        call waitio_stage_put(stream, k, whole)
        call waitio_stage_reshape(stream, k, [5], ierr)
        call refused(ierr, WAITIO_ERR_STATE, 'put in this step')
        call waitio_stage_reshape(stream, t, [5], ierr)
        call refused(ierr, WAITIO_ERR_ARG, 'the new shape has 1')
        call waitio_stage_put(stream, t, x(1:0, :)) ! a process that has nothing
        call waitio_stage_put(stream, t, x(4:3, 2:5), offset=[4, 1])
        call waitio_stage_put(stream, t, x(2:1, 6:2:-2), offset=[0, 0], count=[0, 3])
        call waitio_stage_put(stream, t, x(1:0, :), offset=[5, 0], ierr=ierr)
        call refused(ierr, WAITIO_ERR_ARG, 'outside the shape')
        call check_assumed_size(t, x)
        call waitio_stage_put(stream, t, x(:, 2:3), offset=[0, 1])
        call waitio_stage_get(stream, t, x, ierr)
        call refused(ierr, WAITIO_ERR_STATE, 'not open for reading')
        call waitio_stage_end_step(stream)
        call waitio_stage_close(stream)
        call waitio_stage_close(stream, ierr=ierr)
        call refused(ierr, WAITIO_ERR_STATE, 'not open')
    end subroutine check_all
end program stage_f
