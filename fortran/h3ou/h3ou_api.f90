! SPDX-License-Identifier: BSD-3-Clause
!> The Fortran interface of h3-Open-UTIL/MP for programs written against it, on the coupler of WaitIO
!> (waitio_cpl.h). All errors end all components with a text and a status that is not 0.
module h3ou_api
    use, intrinsic :: iso_c_binding, only: c_int, c_double, c_ptr, c_null_ptr, c_loc
    use h3ou_base, only: c_name, c_open, c_close, c_mpi, c_number, c_own_number, c_grid, &
        c_grids_done, c_table, c_points, c_start, c_step, c_put, c_get, c_count, c_get_name, &
        c_layers, c_calendar, c_die, c_rank, c_size, c_who, &
        c_interpolate, c_now, one_size
    use h3ou_messages
    use h3ou_local
    implicit none
    private :: c_int, c_double, c_ptr, c_null_ptr, c_loc, c_name, c_open, c_close, c_mpi, &
        c_number, c_own_number, c_grid, c_grids_done, c_table, c_points, c_start, c_step, c_put, &
        c_get, c_count, c_get_name, c_layers, c_calendar, c_die, c_rank, c_size, c_who, c_interpolate, &
        c_now, NAME_LEN, my_name, target_name, to_logical, &
        at_index, at_real, no_vector, one_size, check_sizes

    integer, parameter :: NAME_LEN = 64
    character(len=NAME_LEN), save :: my_name = ' ', target_name = ' '

    interface h3ou_put_data
        module procedure h3ou_put_data_1d, h3ou_put_data_25d
    end interface h3ou_put_data
    interface h3ou_get_data
        module procedure h3ou_get_data_1d, h3ou_get_data_25d
    end interface h3ou_get_data

contains

    !> Collective over all processes of all components; calls MPI_Init unless the program has.
    !> @param config_file_name an empty one: messages only
    subroutine h3ou_init(comp_name, config_file_name, nensemble)
        character(len=*), intent(in) :: comp_name, config_file_name
        integer, intent(in), optional :: nensemble
        integer(c_int) :: members
        members = 1
        if (present(nensemble)) members = nensemble
        call c_open(c_name(comp_name), c_name(config_file_name), members)
        call c_who(0, my_name, NAME_LEN)
        call c_who(1, target_name, NAME_LEN)
    end subroutine h3ou_init

    !> A member of an ensemble has four digits behind the ensemble's name.
    function h3ou_get_my_name() result(name)
        character(len=NAME_LEN) :: name
        name = my_name
    end function h3ou_get_my_name

    !> What a member of an ensemble exchanges with: the member of its number, or the first, of the
    !> one other component. Blank without an ensemble, and where there are several others.
    function h3ou_get_target_name() result(name)
        character(len=NAME_LEN) :: name
        name = target_name
    end function h3ou_get_target_name

    function h3ou_is_coupled() result(is)
        logical :: is
        is = .true.
    end function h3ou_is_coupled

    function h3ou_get_couple_id() result(id)
        integer :: id
        id = 0
    end function h3ou_get_couple_id

    function h3ou_is_local_leader() result(is)
        logical :: is
        is = h3ou_get_my_rank() == 0
    end function h3ou_is_local_leader

    !> Of the own component, whatever the name says. comm and group are handles of MPI.
    subroutine h3ou_get_mpi_parameter(comp_name, my_comm, my_group, my_size, my_rank)
        character(len=*), intent(in) :: comp_name
        integer, intent(out) :: my_comm, my_group, my_size, my_rank
        if (len(comp_name) < 0) return
        call c_mpi(my_comm, my_group, my_size, my_rank)
    end subroutine h3ou_get_mpi_parameter

    function h3ou_get_my_comm() result(comm)
        integer :: comm, group, size, rank
        call c_mpi(comm, group, size, rank)
    end function h3ou_get_my_comm

    function h3ou_get_my_rank() result(rank)
        integer :: rank
        rank = c_rank()
    end function h3ou_get_my_rank

    function h3ou_get_my_size() result(n)
        integer :: n
        n = c_size()
    end function h3ou_get_my_size

    subroutine h3ou_get_model_id(comp_name, comp_id)
        character(len=*), intent(in) :: comp_name
        integer, intent(out) :: comp_id
        comp_id = c_number(c_name(comp_name))
    end subroutine h3ou_get_model_id

    !> Components are numbered from 1 in the order of their names; 0: it does not run.
    function h3ou_get_comp_num_from_name(comp_name) result(comp_id)
        character(len=*), intent(in) :: comp_name
        integer :: comp_id
        comp_id = c_number(c_name(comp_name))
    end function h3ou_get_comp_num_from_name

    function h3ou_is_my_component(comp_id) result(is)
        integer, intent(in) :: comp_id
        logical :: is
        is = comp_id == c_own_number()
    end function h3ou_is_my_component

    !> @param nz was the old library's limit of layers
    subroutine h3ou_def_grid(grid_index, comp_name, grid_name, nz)
        integer, intent(in) :: grid_index(:)
        character(len=*), intent(in) :: comp_name, grid_name
        integer, intent(in) :: nz
        if (nz < -huge(nz)) return
        call c_grid(grid_index, size(grid_index), c_name(comp_name), c_name(grid_name))
    end subroutine h3ou_def_grid

    subroutine h3ou_end_grid_def()
        call c_grids_done()
    end subroutine h3ou_end_grid_def

    function at_index(a) result(at)
        integer(c_int), intent(in), target, contiguous, optional :: a(:)
        type(c_ptr) :: at
        at = c_null_ptr
        if (present(a)) at = c_loc(a)
    end function at_index

    function at_real(a) result(at)
        real(c_double), intent(in), target, contiguous, optional :: a(:)
        type(c_ptr) :: at
        at = c_null_ptr
        if (present(a)) at = c_loc(a)
    end function at_real

    !> One side gives the table; of its processes the first one's arrays count, which have one size.
    subroutine h3ou_set_interpolation_table(my_model_name, send_model_name, send_grid_name, &
            recv_model_name, recv_grid_name, mapping_tag, send_grid, recv_grid, coef, coef_cos, &
            coef_sin)
        character(len=*), intent(in) :: my_model_name, send_model_name, send_grid_name
        character(len=*), intent(in) :: recv_model_name, recv_grid_name
        integer, intent(in) :: mapping_tag
        integer, intent(in), target, contiguous, optional :: send_grid(:), recv_grid(:)
        real(kind=8), intent(in), target, contiguous, optional :: coef(:), coef_cos(:), coef_sin(:)
        integer(c_int) :: n
        n = -1
        if (present(send_grid) .neqv. present(recv_grid)) call c_die(c_name( &
            'h3ou_set_interpolation_table: give send_index and recv_index together'))
        if (present(coef_cos) .neqv. present(coef_sin)) call c_die(c_name( &
            'h3ou_set_interpolation_table: give coef_cos and coef_sin together'))
        if (present(send_grid)) then
            n = size(send_grid)
            if (c_rank() == 0) call check_sizes('h3ou_set_interpolation_table from grid '''// &
                trim(send_grid_name)//''' to grid '''//trim(recv_grid_name)//'''', n, &
                recv_grid, coef, coef_cos, coef_sin)
        end if
        if (len(my_model_name) < 0) return
        call c_table(c_name(send_model_name), c_name(send_grid_name), c_name(recv_model_name), &
            c_name(recv_grid_name), mapping_tag, at_index(send_grid), at_index(recv_grid), &
            at_real(coef), at_real(coef_cos), at_real(coef_sin), n)
    end subroutine h3ou_set_interpolation_table

    subroutine check_sizes(caller, n, recv_index, coef, coef_cos, coef_sin)
        character(len=*), intent(in) :: caller
        integer, intent(in) :: n
        integer, intent(in) :: recv_index(:)
        real(kind=8), intent(in), optional :: coef(:), coef_cos(:), coef_sin(:)
        call one_size(caller, 'recv_index', size(recv_index), 'send_index', n)
        if (present(coef)) call one_size(caller, 'coef', size(coef), 'send_index', n)
        if (present(coef_cos)) call one_size(caller, 'coef_cos', size(coef_cos), 'send_index', n)
        if (present(coef_sin)) call one_size(caller, 'coef_sin', size(coef_sin), 'send_index', n)
    end subroutine check_sizes

    subroutine h3ou_get_num_of_send_grid(recv_model_name, send_model_name, grid_tag, num_of_grid)
        character(len=*), intent(in) :: recv_model_name, send_model_name
        integer, intent(in), optional :: grid_tag
        integer, intent(inout) :: num_of_grid
        integer(c_int) :: tag
        tag = 1
        if (present(grid_tag)) tag = grid_tag
        num_of_grid = c_points(c_name(send_model_name), c_name(recv_model_name), tag, 1)
    end subroutine h3ou_get_num_of_send_grid

    subroutine h3ou_get_num_of_recv_grid(recv_model_name, send_model_name, grid_tag, num_of_grid)
        character(len=*), intent(in) :: recv_model_name, send_model_name
        integer, intent(in), optional :: grid_tag
        integer, intent(inout) :: num_of_grid
        integer(c_int) :: tag
        tag = 1
        if (present(grid_tag)) tag = grid_tag
        num_of_grid = c_points(c_name(send_model_name), c_name(recv_model_name), tag, 0)
    end subroutine h3ou_get_num_of_recv_grid

    !> The calendar is the program's own matter: the coupler's time begins with 0.
    subroutine h3ou_init_time(time_array)
        integer, intent(in) :: time_array(6)
        if (time_array(1) < -huge(1)) return
        call c_start()
    end subroutine h3ou_init_time

    !> @param is_exchange .false.: nothing is exchanged in this step
    subroutine h3ou_set_time(component_name, time_array, delta_t, is_exchange)
        character(len=*), intent(in) :: component_name
        integer, intent(in) :: time_array(:)
        integer, intent(in) :: delta_t
        logical, intent(in), optional :: is_exchange
        integer(c_int) :: exchange
        if (len(component_name) < 0 .or. size(time_array) < 0) return
        exchange = 1
        if (present(is_exchange)) exchange = merge(1, 0, is_exchange)
        call c_step(delta_t, exchange)
    end subroutine h3ou_set_time

    subroutine h3ou_inc_time(time_array, delta_t)
        integer, intent(inout) :: time_array(:)
        integer, intent(in) :: delta_t
        call h3ou_inc_calendar(time_array, delta_t)
    end subroutine h3ou_inc_time

    subroutine h3ou_inc_calendar(time_array, delta_t)
        integer, intent(inout) :: time_array(:)
        integer, intent(in) :: delta_t
        integer(c_int) :: time(6)
        time = time_array(1:6)
        call c_calendar(time, delta_t)
        time_array(1:6) = time
    end subroutine h3ou_inc_calendar

    !> The coupler's own interpolation, for a subroutine interpolate_data of the program.
    subroutine h3ou_interpolation(recv_model, send_model, mapping_tag, send_data, recv_data, &
            num_of_data, exchange_tag)
        character(len=*), intent(in) :: recv_model, send_model
        integer, intent(in) :: mapping_tag, num_of_data, exchange_tag
        real(kind=8), intent(in), contiguous :: send_data(:, :)
        real(kind=8), intent(inout), contiguous :: recv_data(:, :)
        call c_interpolate(c_name(recv_model), c_name(send_model), mapping_tag, send_data, &
            size(send_data, 1), recv_data, size(recv_data, 1), num_of_data, exchange_tag)
    end subroutine h3ou_interpolation

    !> Exchanges outside h3ou_set_time: what has been put up to now, whatever the time lag.
    subroutine h3ou_send_data_immediately(send_comp, recv_comp, time_lag)
        character(len=*), intent(in) :: send_comp, recv_comp
        integer, intent(in) :: time_lag
        if (abs(time_lag) > 1) call c_die(c_name('h3ou_send_data_immediately: time_lag is -1, 0 or 1'))
        call c_now(c_name(send_comp), c_name(recv_comp), 1)
    end subroutine h3ou_send_data_immediately

    subroutine h3ou_recv_data_immediately(send_comp, recv_comp)
        character(len=*), intent(in) :: send_comp, recv_comp
        call c_now(c_name(send_comp), c_name(recv_comp), 0)
    end subroutine h3ou_recv_data_immediately

    !> data_vector never arrives, as in the old library over WaitIO.
    subroutine h3ou_put_data_1d(data_name, data, data_vector)
        character(len=*), intent(in) :: data_name
        real(kind=8), intent(inout), contiguous :: data(:)
        real(kind=8), intent(in), optional :: data_vector(:)
        if (present(data_vector)) continue
        call c_put(c_name(data_name), data, size(data), 1, 1)
    end subroutine h3ou_put_data_1d

    !> @param data (point, layer)
    subroutine h3ou_put_data_25d(data_name, data, data_vector)
        character(len=*), intent(in) :: data_name
        real(kind=8), intent(inout), contiguous :: data(:, :)
        real(kind=8), intent(in), optional :: data_vector(:)
        if (present(data_vector)) continue
        call c_put(c_name(data_name), data, size(data, 1), size(data, 2), 0)
    end subroutine h3ou_put_data_25d

    subroutine no_vector(data_vector)
        real(kind=8), intent(inout), optional :: data_vector(:)
        if (present(data_vector)) data_vector = -999999.0_c_double
    end subroutine no_vector

    !> @param is_recv_ok .false.: nothing is due in this step, data is untouched
    subroutine h3ou_get_data_1d(data_name, data, data_vector, is_recv_ok)
        character(len=*), intent(in) :: data_name
        real(kind=8), intent(inout), contiguous :: data(:)
        real(kind=8), intent(inout), optional :: data_vector(:)
        logical, intent(out) :: is_recv_ok
        integer(c_int) :: fresh
        call c_get(c_name(data_name), data, size(data), 1, 1, fresh)
        call no_vector(data_vector)
        is_recv_ok = to_logical(fresh)
    end subroutine h3ou_get_data_1d

    subroutine h3ou_get_data_25d(data_name, data, data_vector, is_recv_ok)
        character(len=*), intent(in) :: data_name
        real(kind=8), intent(inout), contiguous :: data(:, :)
        real(kind=8), intent(inout), optional :: data_vector(:)
        logical, intent(out) :: is_recv_ok
        integer(c_int) :: fresh
        call c_get(c_name(data_name), data, size(data, 1), size(data, 2), 0, fresh)
        call no_vector(data_vector)
        is_recv_ok = to_logical(fresh)
    end subroutine h3ou_get_data_25d

    pure function to_logical(n) result(is)
        integer(c_int), intent(in) :: n
        logical :: is
        is = n /= 0
    end function to_logical

    function h3ou_get_num_of_put_data() result(n)
        integer :: n
        n = c_count(0)
    end function h3ou_get_num_of_put_data

    function h3ou_get_num_of_get_data() result(n)
        integer :: n
        n = c_count(1)
    end function h3ou_get_num_of_get_data

    !> @param data_num from 1
    function h3ou_get_put_data_name(data_num) result(name)
        integer, intent(in) :: data_num
        character(len=NAME_LEN) :: name
        call c_get_name(0, data_num - 1, name, NAME_LEN, ' ')
    end function h3ou_get_put_data_name

    function h3ou_get_get_data_name(data_num) result(name)
        integer, intent(in) :: data_num
        character(len=NAME_LEN) :: name
        call c_get_name(1, data_num - 1, name, NAME_LEN, ' ')
    end function h3ou_get_get_data_name

    function h3ou_get_vlayer(data_name) result(n)
        character(len=*), intent(in) :: data_name
        integer :: n
        n = c_layers(c_name(data_name))
    end function h3ou_get_vlayer

    !> Sends what lag 1 still owes, and ends the coupling together with all components.
    subroutine h3ou_coupling_end(time_array, is_call_finalize)
        integer, intent(in), optional :: time_array(:)
        logical, intent(in), optional :: is_call_finalize
        integer(c_int) :: finalize
        finalize = 1
        if (present(is_call_finalize)) finalize = merge(1, 0, is_call_finalize)
        if (present(time_array)) continue
        call c_close(finalize)
    end subroutine h3ou_coupling_end

    subroutine h3ou_end()
        call c_close(1)
    end subroutine h3ou_end

end module h3ou_api
