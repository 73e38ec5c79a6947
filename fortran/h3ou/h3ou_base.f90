! SPDX-License-Identifier: BSD-3-Clause
!> What the modules of h3ou_api share: the C functions behind them (src/h3ou/face.h), and names as C
!> wants them.
module h3ou_base
    use, intrinsic :: iso_c_binding, only: c_int, c_double, c_char, c_ptr, c_null_char, c_loc
    implicit none
    private
    public :: c_name, c_open, c_close, c_mpi, c_number, c_own_number, c_grid, c_grids_done
    public :: c_table, c_points, c_start, c_step, c_put, c_get, c_count, c_get_name, c_layers
    public :: c_calendar, c_send, c_recv, c_wait, c_send_own, c_recv_own, c_bcast_own
    public :: c_send_array, c_recv_array, c_bcast_global, c_bcast_model, c_die
    public :: c_rank, c_size, c_who, c_interpolate, c_now, one_size
    public :: INT_TYPE, REAL_TYPE, DOUBLE_TYPE, TEXT_TYPE

    integer(c_int), parameter :: INT_TYPE = 0, REAL_TYPE = 1, DOUBLE_TYPE = 2, TEXT_TYPE = 3

    interface
        subroutine c_open(name, conf, members) bind(c, name='wio_h3ou_open')
            import :: c_char, c_int
            character(kind=c_char), intent(in) :: name(*), conf(*)
            integer(c_int), value :: members
        end subroutine c_open
        subroutine c_close(finalize) bind(c, name='wio_h3ou_close')
            import :: c_int
            integer(c_int), value :: finalize
        end subroutine c_close
        subroutine c_mpi(comm, group, size, rank) bind(c, name='wio_h3ou_mpi')
            import :: c_int
            integer(c_int), intent(out) :: comm, group, size, rank
        end subroutine c_mpi
        function c_rank() bind(c, name='h3ouc_get_my_rank') result(n)
            import :: c_int
            integer(c_int) :: n
        end function c_rank
        function c_size() bind(c, name='h3ouc_get_my_size') result(n)
            import :: c_int
            integer(c_int) :: n
        end function c_size
        function c_number(name) bind(c, name='wio_h3ou_number') result(n)
            import :: c_char, c_int
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int) :: n
        end function c_number
        function c_own_number() bind(c, name='wio_h3ou_own_number') result(n)
            import :: c_int
            integer(c_int) :: n
        end function c_own_number
        subroutine c_who(other, text, room) bind(c, name='wio_h3ou_who')
            import :: c_char, c_int
            integer(c_int), value :: other, room
            character(kind=c_char), intent(out) :: text(*)
        end subroutine c_who
        subroutine c_grid(index, n, comp, grid) bind(c, name='wio_h3ou_grid')
            import :: c_char, c_int
            integer(c_int), intent(in) :: index(*)
            integer(c_int), value :: n
            character(kind=c_char), intent(in) :: comp(*), grid(*)
        end subroutine c_grid
        subroutine c_grids_done() bind(c, name='wio_h3ou_grids_done')
        end subroutine c_grids_done
        subroutine c_table(send_comp, send_grid, recv_comp, recv_grid, tag, send_index, &
                recv_index, coef, coef_cos, coef_sin, n) bind(c, name='wio_h3ou_table')
            import :: c_char, c_int, c_ptr
            character(kind=c_char), intent(in) :: send_comp(*), send_grid(*)
            character(kind=c_char), intent(in) :: recv_comp(*), recv_grid(*)
            integer(c_int), value :: tag, n
            type(c_ptr), value :: send_index, recv_index, coef, coef_cos, coef_sin
        end subroutine c_table
        function c_points(send_comp, recv_comp, tag, sends) bind(c, name='wio_h3ou_points') &
                result(n)
            import :: c_char, c_int
            character(kind=c_char), intent(in) :: send_comp(*), recv_comp(*)
            integer(c_int), value :: tag, sends
            integer(c_int) :: n
        end function c_points
        subroutine c_start() bind(c, name='wio_h3ou_start')
        end subroutine c_start
        subroutine c_step(seconds, exchange) bind(c, name='wio_h3ou_step')
            import :: c_int
            integer(c_int), value :: seconds, exchange
        end subroutine c_step
        subroutine c_now(send_comp, recv_comp, sends) bind(c, name='wio_h3ou_now')
            import :: c_char, c_int
            character(kind=c_char), intent(in) :: send_comp(*), recv_comp(*)
            integer(c_int), value :: sends
        end subroutine c_now
        subroutine c_put(name, data, points, layers, flat) bind(c, name='wio_h3ou_put')
            import :: c_char, c_int, c_double
            character(kind=c_char), intent(in) :: name(*)
            real(c_double), intent(in) :: data(*)
            integer(c_int), value :: points, layers, flat
        end subroutine c_put
        subroutine c_get(name, data, points, layers, flat, fresh) bind(c, name='wio_h3ou_get')
            import :: c_char, c_int, c_double
            character(kind=c_char), intent(in) :: name(*)
            real(c_double), intent(inout) :: data(*)
            integer(c_int), value :: points, layers, flat
            integer(c_int), intent(out) :: fresh
        end subroutine c_get
        function c_count(gets) bind(c, name='wio_h3ou_count') result(n)
            import :: c_int
            integer(c_int), value :: gets
            integer(c_int) :: n
        end function c_count
        subroutine c_get_name(gets, i, text, room, fill) bind(c, name='wio_h3ou_name')
            import :: c_char, c_int
            integer(c_int), value :: gets, i, room
            character(kind=c_char), intent(out) :: text(*)
            character(kind=c_char), value :: fill
        end subroutine c_get_name
        function c_layers(name) bind(c, name='wio_h3ou_layers') result(n)
            import :: c_char, c_int
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int) :: n
        end function c_layers
        subroutine c_calendar(time, seconds) bind(c, name='wio_h3ou_calendar')
            import :: c_int
            integer(c_int), intent(inout) :: time(6)
            integer(c_int), value :: seconds
        end subroutine c_calendar
        subroutine c_send(comp, process, data, n, of_type, now) bind(c, name='wio_h3ou_send')
            import :: c_char, c_int, c_ptr
            character(kind=c_char), intent(in) :: comp(*)
            integer(c_int), value :: process, n, of_type, now
            type(c_ptr), value :: data
        end subroutine c_send
        subroutine c_recv(comp, process, data, n, of_type, now) bind(c, name='wio_h3ou_recv')
            import :: c_char, c_int, c_ptr
            character(kind=c_char), intent(in) :: comp(*)
            integer(c_int), value :: process, n, of_type, now
            type(c_ptr), value :: data
        end subroutine c_recv
        subroutine c_wait() bind(c, name='wio_h3ou_wait')
        end subroutine c_wait
        subroutine c_send_own(process, data, n, of_type) bind(c, name='wio_h3ou_send_own')
            import :: c_int, c_ptr
            integer(c_int), value :: process, n, of_type
            type(c_ptr), value :: data
        end subroutine c_send_own
        subroutine c_recv_own(process, data, n, of_type) bind(c, name='wio_h3ou_recv_own')
            import :: c_int, c_ptr
            integer(c_int), value :: process, n, of_type
            type(c_ptr), value :: data
        end subroutine c_recv_own
        subroutine c_bcast_own(root, data, n, of_type) bind(c, name='wio_h3ou_bcast_own')
            import :: c_int, c_ptr
            integer(c_int), value :: root, n, of_type
            type(c_ptr), value :: data
        end subroutine c_bcast_own
        subroutine c_send_array(comp, data, n, of_type) bind(c, name='wio_h3ou_send_array')
            import :: c_char, c_int, c_ptr
            character(kind=c_char), intent(in) :: comp(*)
            integer(c_int), value :: n, of_type
            type(c_ptr), value :: data
        end subroutine c_send_array
        subroutine c_recv_array(comp, data, n, of_type) bind(c, name='wio_h3ou_recv_array')
            import :: c_char, c_int, c_ptr
            character(kind=c_char), intent(in) :: comp(*)
            integer(c_int), value :: n, of_type
            type(c_ptr), value :: data
        end subroutine c_recv_array
        subroutine c_bcast_global(source, data, n, of_type) bind(c, name='wio_h3ou_bcast_global')
            import :: c_char, c_int, c_ptr
            character(kind=c_char), intent(in) :: source(*)
            integer(c_int), value :: n, of_type
            type(c_ptr), value :: data
        end subroutine c_bcast_global
        subroutine c_bcast_model(source, target, data, n, of_type) &
                bind(c, name='wio_h3ou_bcast_model')
            import :: c_char, c_int, c_ptr
            character(kind=c_char), intent(in) :: source(*), target(*)
            integer(c_int), value :: n, of_type
            type(c_ptr), value :: data
        end subroutine c_bcast_model
        subroutine c_interpolate(recv_comp, send_comp, tag, send_data, sn1, recv_data, rn1, n, &
                exchange_tag) bind(c, name='wio_h3ou_interpolate')
            import :: c_char, c_int, c_double
            character(kind=c_char), intent(in) :: recv_comp(*), send_comp(*)
            integer(c_int), value :: tag, sn1, rn1, n, exchange_tag
            real(c_double), intent(in) :: send_data(*)
            real(c_double), intent(inout) :: recv_data(*)
        end subroutine c_interpolate
        subroutine c_die(why) bind(c, name='wio_h3ou_die')
            import :: c_char
            character(kind=c_char), intent(in) :: why(*)
        end subroutine c_die
    end interface

contains

    !> A name without the blanks at its end, as C text.
    pure function c_name(name) result(text)
        character(len=*), intent(in) :: name
        character(len=len_trim(name) + 1, kind=c_char) :: text
        text = trim(name)//c_null_char
    end function c_name

    !> Ends the run unless an array has the size of another one.
    !> @param caller what the array was given to @param other the array that it is compared with
    subroutine one_size(caller, what, n, other, expected)
        character(len=*), intent(in) :: caller, what, other
        integer, intent(in) :: n, expected
        if (n /= expected) call c_die(c_name(caller//': '//what//' has the size '//number_text(n)// &
            ', not '//number_text(expected)//' as '//other))
    end subroutine one_size

    !> A size as text: a write statement would leave the name of this file in the library.
    pure function number_text(n) result(text)
        integer, intent(in) :: n
        character(len=11) :: place
        character(len=:), allocatable :: text
        integer :: left, i
        left = n
        do i = len(place), 2, -1
            place(i:i) = achar(iachar('0') + mod(left, 10))
            left = left/10
            if (left == 0) exit
        end do
        text = place(i:)
    end function number_text

end module h3ou_base
