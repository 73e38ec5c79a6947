! SPDX-License-Identifier: BSD-3-Clause
! As cells.c, by the Fortran calls: a component gives its cells, and both define the table by a method or
! by a weight file.
!
!     cells COMPONENT CONF CELLS SHARE method|file|conf [TEXT]
!
! Prints the bits of what compB gets. A seventh word: gives arrays of two sizes. FEWER=1: compA gives a cell too few.
program cells
    use, intrinsic :: iso_fortran_env, only: int64, real64
    use h3ou_api
    use h3ou_cells
    implicit none
    character(len=16) :: me, share, how, grid
    character(len=400) :: conf, path, text, out
    integer :: head(6), time(6), rank, size_, unit, i, n, fewer
    integer, allocatable :: index(:), mask(:)
    real(8), allocatable :: x(:), y(:), cx(:, :), cy(:, :), fraction(:), field(:)
    logical :: fresh

    call get_command_argument(1, me)
    call get_command_argument(2, conf)
    call get_command_argument(3, path)
    call get_command_argument(4, share)
    call get_command_argument(5, how)
    call get_command_argument(6, text)
    call h3ou_init(trim(me), trim(conf))
    rank = h3ou_get_my_rank()
    size_ = h3ou_get_my_size()
    call read_cells()
    grid = merge('gA', 'gB', me == 'compA')
    call h3ou_def_grid(index(:n), trim(me), trim(grid), 1)
    call get_environment_variable('FEWER', length=fewer)
    if (command_argument_count() > 6) call wrong_sizes()
    fewer = merge(1, 0, fewer > 0 .and. me == 'compA')
    n = n - fewer
    call h3ou_def_grid_cells(trim(grid), x(:n), y(:n), cx(:, :n), cy(:, :n), mask(:n), fraction(:n), &
        nx=head(3), ny=head(4), periodic=head(5) /= 0, unit=head(1))
    n = n + fewer
    call h3ou_end_grid_def()
    if (how == 'method') call h3ou_set_interpolation_weights(trim(me), 'compA', 'gA', 'compB', 'gB', 1, &
        method=text)
    if (how == 'file') call h3ou_set_interpolation_weights(trim(me), 'compA', 'gA', 'compB', 'gB', 1, &
        file=text)
    time = [2000, 1, 1, 0, 0, 0]
    call h3ou_init_time(time)
    field = sin(real(index(:n), 8))
    if (me == 'compA') call h3ou_put_data('vA', field)
    call h3ou_set_time(trim(me), time, 10)
    if (me == 'compB') then
        call h3ou_get_data('yA', field, is_recv_ok=fresh)
        if (.not. fresh) error stop 'not fresh'
        call get_environment_variable('CELLS_OUT', out)
        write (path, '(a, a, i0)') trim(out), '/', rank
        open (newunit=unit, file=path, action='write')
        do i = 1, n
            write (unit, '(a, i0, 1x, z16.16)') 'BITS 0 ', index(i), transfer(field(i), 1_int64)
        end do
        close (unit)
    end if
    call h3ou_coupling_end(time)

contains

    ! An error that names the array and both sizes.
    subroutine wrong_sizes()
        call h3ou_def_grid_cells(trim(grid), x(:n), y(:n - 1))
    end subroutine wrong_sizes

    ! Those of this process, of all that are in the text.
    subroutine read_cells()
        integer :: in, k
        open (newunit=in, file=path, action='read')
        read (in, *) head
        allocate (index(head(6) + 1), mask(head(6) + 1), x(head(6) + 1), y(head(6) + 1))
        allocate (fraction(head(6) + 1), cx(head(2), head(6) + 1), cy(head(2), head(6) + 1))
        n = 0
        do k = 0, head(6) - 1
            read (in, *) index(n + 1), mask(n + 1), fraction(n + 1), x(n + 1), y(n + 1), cx(:, n + 1), &
                cy(:, n + 1)
            if (is_mine(k)) n = n + 1
        end do
        close (in)
    end subroutine read_cells

    logical function is_mine(k)
        integer, intent(in) :: k
        if (share == 'cyclic') then
            is_mine = mod(k, size_) == rank
        else if (share == 'last' .and. size_ > 1) then
            is_mine = rank > 0 .and. mod(k, max(size_ - 1, 1)) == rank - 1
        else
            is_mine = k*size_/head(6) == rank
        end if
    end function is_mine
end program cells
