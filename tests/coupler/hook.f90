! SPDX-License-Identifier: BSD-3-Clause
! A program with a subroutine interpolate_data of its own, which doubles what the coupler computes.
program hook
    use h3ou_api
    implicit none
    character(len=16) :: me
    character(len=200) :: conf
    integer :: step, i, rank, size_, comm, group, time(6), n, first
    integer, allocatable :: index(:)
    real(8), allocatable :: data(:)
    logical :: fresh

    call get_command_argument(1, me)
    call get_command_argument(2, conf)
    call h3ou_init(trim(me), trim(conf))
    call h3ou_get_mpi_parameter(trim(me), comm, group, size_, rank)
    first = rank*4/size_
    n = (rank + 1)*4/size_ - first
    index = [(first + n + 1 - i, i=1, n)] ! backwards: rows of the hook come by index all the same
    call h3ou_def_grid(index, trim(me), merge('gA', 'gB', me == 'compA'), 20)
    call h3ou_end_grid_def()
    if (me == 'compA') then
        call h3ou_set_interpolation_table(trim(me), 'compA', 'gA', 'compB', 'gB', 1, [1, 2, 3, 4], &
            [1, 2, 3, 4], [1d0, 1d0, 1d0, 1d0])
    else
        call h3ou_set_interpolation_table(trim(me), 'compA', 'gA', 'compB', 'gB', 1)
    end if
    time = [2000, 1, 1, 0, 0, 0]
    call h3ou_init_time(time)
    allocate (data(n))
    data = index + 100
    if (me == 'compA') call h3ou_put_data('vA', data)
    do step = 1, 4
        call h3ou_set_time(trim(me), time, 3600)
        if (me == 'compB') then
            call h3ou_get_data('yA', data, is_recv_ok=fresh)
            if (.not. fresh) error stop 'not fresh'
            if (any(data /= 2*(1000*(step - 1) + 100 + index))) error stop 'values'
        else
            data = 1000*step + 100 + index
            call h3ou_put_data('vA', data)
        end if
    end do
    call h3ou_coupling_end(time)
    print '(2a)', 'ok ', trim(me)
end program hook

subroutine interpolate_data(recv_model, send_model, mapping_tag, sn1, sn2, send_data, rn1, rn2, &
        recv_data, num_of_data, tn, exchange_tag)
    use h3ou_api, only: h3ou_interpolation
    implicit none
    character(len=*), intent(in) :: recv_model, send_model
    integer, intent(in) :: mapping_tag, sn1, sn2, rn1, rn2, num_of_data, tn, exchange_tag(tn)
    real(8), intent(in) :: send_data(sn1, sn2)
    real(8), intent(inout) :: recv_data(rn1, rn2)
    integer :: i
    if (recv_model /= 'compB' .or. send_model /= 'compA') error stop 'models'
    if (mapping_tag /= 1 .or. num_of_data /= 1 .or. exchange_tag(1) /= 3) error stop 'numbers'
    if (sn1 /= rn1 .or. sn2 /= 40 .or. rn2 /= 40 .or. tn /= 40) error stop 'shapes'
    call h3ou_interpolation(recv_model, send_model, mapping_tag, send_data, recv_data, &
        num_of_data, exchange_tag(1))
    do i = 2, rn1
        if (recv_data(i, 1) <= recv_data(i - 1, 1)) error stop 'rows are not by index'
    end do
    recv_data(:, 1) = 2*recv_data(:, 1)
end subroutine interpolate_data
