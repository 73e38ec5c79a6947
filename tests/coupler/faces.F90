! SPDX-License-Identifier: BSD-3-Clause
! A component as programs of h3-Open-UTIL/MP are written: every published group of calls, with its
! partner in the same role of faces.F90 or faces.c. Ends with "ok" or error stop.
program faces
    use mpi
    use h3ou_api
    implicit none
    integer, parameter :: n_all = 12, layers = 3
    character(len=16) :: me, peer, my_grid, peer_grid
    character(len=200) :: conf
    integer :: comm, group, size_, rank, ierr, i, k, n, step, first, base, id, sum_, points
    integer, allocatable :: index(:), table(:)
    integer :: time(6), numbers(3), one
    real(8), allocatable :: coef(:), flat(:), deep(:, :), got(:), got_deep(:, :)
    real(8) :: doubles(4), part(4, 4), scalar
    real(4) :: reals(2), others(2)
    logical :: fresh, is_a
    character(len=30) :: text
    logical :: texts ! C has no texts: only with a Fortran partner

    call get_command_argument(1, me)
    call get_command_argument(2, conf)
    is_a = me == 'compA'
    texts = command_argument_count() > 2
    peer = merge('compB', 'compA', is_a)
    my_grid = merge('gA', 'gB', is_a)
    peer_grid = merge('gB', 'gA', is_a)
    base = merge(1, -1, is_a)

    call MPI_Init(ierr)
    call h3ou_init(trim(me), trim(conf))
    call h3ou_get_mpi_parameter(trim(me), comm, group, size_, rank)
    if (h3ou_get_my_rank() /= rank .or. h3ou_get_my_size() /= size_) error stop 'rank'
    if (h3ou_get_my_comm() /= comm) error stop 'comm'
    call MPI_Allreduce(1, sum_, 1, MPI_INTEGER, MPI_SUM, comm, ierr)
    if (sum_ /= size_) error stop 'MPI in the component'
    call h3ou_get_model_id('compB', id)
    if (id /= 2 .or. h3ou_get_comp_num_from_name('compA') /= 1) error stop 'ids'
    if (h3ou_is_my_component(2) .eqv. is_a) error stop 'own component'
    if (h3ou_get_my_name() /= me) error stop 'name'

    ! messages: first process to first process, then to all of the component
    numbers = [1, 2, 3]*base
    doubles = [1.5d0, 2.5d0, 3.5d0, 4.5d0]*base
    reals = [0.25, 0.5]*base
    if (is_a) then
        call h3ou_send_array(trim(me), trim(peer), numbers)
        call h3ou_send_array(trim(peer), doubles)
        call h3ou_send(trim(peer), reals)
        call h3ou_send(trim(peer), 42)
        if (texts) call h3ou_send(trim(peer), 'a text from A')
        call h3ou_recv(trim(peer), scalar)
        if (scalar /= -7.5d0) error stop 'scalar'
    else
        call h3ou_recv_array(trim(me), trim(peer), numbers)
        call h3ou_recv_array(trim(peer), doubles)
        call h3ou_recv(trim(peer), reals)
        call h3ou_recv(trim(peer), one)
        text = 'a text from A'
        if (texts) text = ' '
        if (texts) call h3ou_recv(trim(peer), text)
        if (any(numbers /= [1, 2, 3]) .or. any(doubles /= [1.5d0, 2.5d0, 3.5d0, 4.5d0])) &
            error stop 'arrays'
        if (any(reals /= [0.25, 0.5]) .or. one /= 42 .or. text /= 'a text from A') &
            error stop 'scalars and text'
        call h3ou_send(trim(peer), -7.5d0)
    end if
    numbers = merge(9, 0, is_a)
    call h3ou_bcast_global('compA', numbers)
    if (any(numbers /= 9)) error stop 'bcast_global'
    text = merge('to everybody', 'nothing     ', is_a)
    if (texts) call h3ou_bcast_global('compA', text)
    if (texts .and. text /= 'to everybody') error stop 'bcast_global of a text'
    doubles = merge(0d0, 8d0, is_a)
    call h3ou_bcast_model('compB', 'compA', doubles)
    if (any(doubles /= 8)) error stop 'bcast_model'
    if (rank == 0) then
        reals = base
        call h3ou_isend_model_real(trim(peer), 0, reals)
        call h3ou_irecv_model_real(trim(peer), 0, others)
        call h3ou_isend_waitall()
        call h3ou_irecv_waitall()
        if (any(others /= -base)) error stop 'isend_model'
        if (is_a) call h3ou_send_model(trim(peer), 0, numbers)
        if (.not. is_a) call h3ou_recv_model(trim(peer), 0, numbers)
        if (any(numbers /= 9)) error stop 'send_model'
    end if
    numbers = merge(5, 0, rank == 0)
    call h3ou_bcast_local(0, numbers)
    if (any(numbers /= 5)) error stop 'bcast_local'
    if (size_ > 1) then
        part = 0
        if (rank == 0) part(2:3, 1:2) = 6
        if (rank == 0) call h3ou_send_local(part, 2, 3, 1, 2, 1)
        if (rank == 1) call h3ou_recv_local(part, 2, 3, 1, 2, 0)
        if (rank == 1 .and. (any(part(2:3, 1:2) /= 6) .or. sum(part) /= 24)) error stop 'local'
    end if

    ! grids: blocks of indices, backwards
    first = rank*n_all/size_
    n = (rank + 1)*n_all/size_ - first
    index = [(first + n + 1 - i, i=1, n)]
    call h3ou_def_grid(index, trim(me), trim(my_grid), 20)
    call h3ou_end_grid_def()
    table = [(i, i=1, n_all)]
    coef = [(2d0, i=1, n_all)]
    if (is_a) then
        call h3ou_set_interpolation_table(trim(me), 'compA', 'gA', 'compB', 'gB', 1, table, table, &
            coef)
        call h3ou_set_interpolation_table(trim(me), 'compB', 'gB', 'compA', 'gA', 1)
    else
        call h3ou_set_interpolation_table(trim(me), 'compA', 'gA', 'compB', 'gB', 1)
        call h3ou_set_interpolation_table(trim(me), 'compB', 'gB', 'compA', 'gA', 1, table, table, &
            coef)
    end if
    doubles = [1.5d0, 2.5d0, 3.5d0, 4.5d0]*base ! after a table with coefficients, to all processes
    if (is_a) call h3ou_send_array(trim(peer), doubles)
    if (.not. is_a) call h3ou_recv_array(trim(peer), doubles)
    if (any(doubles /= [1.5d0, 2.5d0, 3.5d0, 4.5d0])) error stop 'array after a table'
    points = -1
    call h3ou_get_num_of_send_grid(recv_model_name=trim(peer), send_model_name=trim(me), &
        grid_tag=1, num_of_grid=points)
    if (points /= n) error stop 'points sent'
    call h3ou_get_num_of_recv_grid(trim(me), trim(peer), 1, points)
    if (points /= n) error stop 'points received'
    if (h3ou_get_num_of_put_data() /= 2 .or. h3ou_get_num_of_get_data() /= 2) error stop 'number'
    if (h3ou_get_put_data_name(1) /= merge('flatA', 'flatB', is_a)) error stop 'put name'
    if (h3ou_get_get_data_name(2) /= merge('deepB', 'deepA', is_a)) error stop 'get name'
    if (h3ou_get_vlayer('deepA') /= layers) error stop 'layers'

    time = [2000, 2, 28, 23, 0, 0]
    call h3ou_init_time(time)
    allocate (flat(n), deep(n, layers), got(n), got_deep(n, layers))
    call put(0)
    do step = 1, 4
        call h3ou_set_time(trim(me), time, 3600)
        got = -1
        call h3ou_get_data(merge('flatB', 'flatA', is_a), got, is_recv_ok=fresh)
        if (.not. fresh) error stop 'flat is due in each step'
        if (any(got /= -2*base*(1000*(step - 1) + index))) error stop 'flat'
        got_deep = -1
        call h3ou_get_data_25d(merge('deepB', 'deepA', is_a), got_deep, is_recv_ok=fresh)
        if (fresh .neqv. mod(step, 2) == 1) error stop 'deep is due in each second step'
        if (.not. fresh .and. any(got_deep /= -1)) error stop 'touched'
        do k = 1, layers
            if (fresh .and. any(got_deep(:, k) /= -2*base*(1000*(step - 1) + index + 100*k))) &
                error stop 'deep'
        end do
        call put(step)
        call h3ou_inc_calendar(time, 3600)
    end do
    if (any(time /= [2000, 2, 29, 3, 0, 0])) error stop 'calendar'
    call h3ou_coupling_end(time, .false.)
    call MPI_Finalize(ierr)
    print '(2a)', 'ok ', trim(me)

contains

    subroutine put(s)
        integer, intent(in) :: s
        integer :: layer
        flat = base*(1000*s + index)
        do layer = 1, layers
            deep(:, layer) = base*(1000*s + index + 100*layer)
        end do
        call h3ou_put_data(merge('flatA', 'flatB', is_a), flat)
        call h3ou_put_data(merge('deepA', 'deepB', is_a), deep)
    end subroutine put

end program faces
