! SPDX-License-Identifier: BSD-3-Clause
! Arrays of a table that have unequal sizes, by the Fortran calls.
!
!     tables COMPONENT CONF MISTAKE
!
! compA gives the table, by its first process; others give dummies of any size. MISTAKE names the array
! that is one element too short in the first process; none: the table is right, and compB gets 2 i.
program tables
    use h3ou_api
    implicit none
    integer, parameter :: N = 6
    character(len=16) :: me, mistake
    character(len=400) :: conf
    integer :: time(6), index(N), i, rank, first, last
    integer, allocatable :: send(:), recv(:)
    real(8), allocatable :: coef(:), c(:), s(:), field(:)
    logical :: fresh

    call get_command_argument(1, me)
    call get_command_argument(2, conf)
    call get_command_argument(3, mistake)
    call h3ou_init(trim(me), trim(conf))
    rank = h3ou_get_my_rank()
    first = rank*N/h3ou_get_my_size() + 1
    last = (rank + 1)*N/h3ou_get_my_size()
    index = [(i, i=1, N)]
    call h3ou_def_grid(index(first:last), trim(me), merge('gA', 'gB', me == 'compA'), 1)
    call h3ou_end_grid_def()
    send = index(:size_of('send_index'))
    recv = index(:size_of('recv_index'))
    allocate (coef(size_of('coef')), c(size_of('coef_cos')), s(size_of('coef_sin')))
    coef = 2
    c = 1
    s = 0
    if (rank > 0) then
        send = [0]
        deallocate (coef)
        allocate (coef(0))
    end if
    if (me == 'compA') then
        call h3ou_set_interpolation_table(trim(me), 'compA', 'gA', 'compB', 'gB', 1, send, recv, coef, c, s)
    else
        call h3ou_set_interpolation_table(trim(me), 'compA', 'gA', 'compB', 'gB', 1)
    end if
    time = [2000, 1, 1, 0, 0, 0]
    call h3ou_init_time(time)
    field = real(index(first:last), 8)
    if (me == 'compA') call h3ou_put_data('vA', field)
    call h3ou_set_time(trim(me), time, 10)
    if (me == 'compB') then
        call h3ou_get_data('yA', field, is_recv_ok=fresh)
        if (.not. fresh .or. any(abs(field - 2*index(first:last)) > 0)) error stop 'wrong values'
    end if
    call h3ou_coupling_end(time)

contains

    integer function size_of(array)
        character(len=*), intent(in) :: array
        size_of = merge(N - 1, N, array == mistake)
    end function size_of
end program tables
