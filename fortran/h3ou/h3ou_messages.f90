! SPDX-License-Identifier: BSD-3-Clause
!> Messages between components, and inside one, for integer, real(4), real(8) and text.
!>
!> Blocking calls may copy a section with gaps; the calls that only start a message (isend, irecv)
!> need an array without gaps, for the message uses its memory until the waitall.
module h3ou_messages
    use, intrinsic :: iso_c_binding, only: c_int, c_float, c_double, c_loc
    use h3ou_base, only: c_name, c_send, c_recv, c_wait, c_send_own, c_recv_own, c_bcast_own, &
        c_send_array, c_recv_array, c_bcast_global, c_bcast_model, c_die, INT_TYPE, REAL_TYPE, &
        DOUBLE_TYPE, TEXT_TYPE
    implicit none
    private
    public :: h3ou_bcast_global_int, h3ou_bcast_model_int, h3ou_send_model_int
    public :: h3ou_recv_model_int, h3ou_isend_model_int, h3ou_irecv_model_int
    public :: h3ou_bcast_local_int, h3ou_send_local_int, h3ou_recv_local_int
    public :: h3ou_bcast_global_real, h3ou_bcast_model_real, h3ou_send_model_real
    public :: h3ou_recv_model_real, h3ou_isend_model_real, h3ou_irecv_model_real
    public :: h3ou_bcast_local_real, h3ou_send_local_real, h3ou_recv_local_real
    public :: h3ou_bcast_global_double, h3ou_bcast_model_double, h3ou_send_model_double
    public :: h3ou_recv_model_double, h3ou_isend_model_double, h3ou_irecv_model_double
    public :: h3ou_bcast_local_double, h3ou_send_local_double, h3ou_recv_local_double
    public :: h3ou_bcast_global_string
    public :: h3ou_bcast_global, h3ou_bcast_model, h3ou_send_model, h3ou_recv_model
    public :: h3ou_bcast_local, h3ou_send_local_all, h3ou_recv_local_all
    public :: h3ou_send_array, h3ou_recv_array, h3ou_send, h3ou_recv
    public :: h3ou_isend_waitall, h3ou_irecv_waitall

    interface h3ou_bcast_global
        module procedure h3ou_bcast_global_int, h3ou_bcast_global_real, &
        h3ou_bcast_global_double, h3ou_bcast_global_string
    end interface h3ou_bcast_global

    interface h3ou_bcast_model
        module procedure h3ou_bcast_model_int, h3ou_bcast_model_real, h3ou_bcast_model_double
    end interface h3ou_bcast_model

    interface h3ou_send_model
        module procedure h3ou_send_model_int, h3ou_send_model_real, h3ou_send_model_double
    end interface h3ou_send_model

    interface h3ou_recv_model
        module procedure h3ou_recv_model_int, h3ou_recv_model_real, h3ou_recv_model_double
    end interface h3ou_recv_model

    interface h3ou_bcast_local
        module procedure h3ou_bcast_local_int, h3ou_bcast_local_real, h3ou_bcast_local_double
    end interface h3ou_bcast_local

    interface h3ou_send_local_all
        module procedure h3ou_send_local_int, h3ou_send_local_real, h3ou_send_local_double
    end interface h3ou_send_local_all

    interface h3ou_recv_local_all
        module procedure h3ou_recv_local_int, h3ou_recv_local_real, h3ou_recv_local_double
    end interface h3ou_recv_local_all

    interface h3ou_send_array
        module procedure send_int_2, send_int_1, send_real_2, send_real_1, send_double_2, &
        send_double_1, send_str_1, send_str_2
    end interface h3ou_send_array

    interface h3ou_recv_array
        module procedure recv_int_2, recv_int_1, recv_real_2, recv_real_1, recv_double_2, &
        recv_double_1, recv_str_1, recv_str_2
    end interface h3ou_recv_array

    interface h3ou_send
        module procedure send_int_1, send_int_scalar, send_real_1, send_real_scalar, &
        send_double_1, send_double_scalar, send_str_1
    end interface h3ou_send

    interface h3ou_recv
        module procedure recv_int_1, recv_int_scalar, recv_real_1, recv_real_scalar, &
        recv_double_1, recv_double_scalar, recv_str_1
    end interface h3ou_recv

contains

    !> Arguments that were published but tell nothing.
    subroutine ignore(name)
        character(len=*), intent(in) :: name
        if (len(name) < 0) return
    end subroutine ignore

    subroutine need_contiguous(call, is)
        character(len=*), intent(in) :: call
        logical, intent(in) :: is
        if (.not. is) call c_die(c_name(call//': the array has gaps; pass one without'))
    end subroutine need_contiguous

    subroutine h3ou_isend_waitall()
        call c_wait()
    end subroutine h3ou_isend_waitall

    subroutine h3ou_irecv_waitall()
        call c_wait()
    end subroutine h3ou_irecv_waitall

    include 'h3ou_messages_gen.inc' ! those below for text, for each type of numbers

    subroutine send_str_1(comp_name, data)
        character(len=*), intent(in) :: comp_name
        character(len=*), intent(in), target :: data
        call c_send_array(c_name(comp_name), c_loc(data), len(data), TEXT_TYPE)
    end subroutine send_str_1

    subroutine send_str_2(my_comp_name, recv_comp_name, data)
        character(len=*), intent(in) :: my_comp_name, recv_comp_name
        character(len=*), intent(in), target :: data
        call ignore(my_comp_name)
        call c_send_array(c_name(recv_comp_name), c_loc(data), len(data), TEXT_TYPE)
    end subroutine send_str_2

    subroutine recv_str_1(comp_name, data)
        character(len=*), intent(in) :: comp_name
        character(len=*), intent(inout), target :: data
        call c_recv_array(c_name(comp_name), c_loc(data), len(data), TEXT_TYPE)
    end subroutine recv_str_1

    subroutine recv_str_2(my_comp_name, send_comp_name, data)
        character(len=*), intent(in) :: my_comp_name, send_comp_name
        character(len=*), intent(inout), target :: data
        call ignore(my_comp_name)
        call c_recv_array(c_name(send_comp_name), c_loc(data), len(data), TEXT_TYPE)
    end subroutine recv_str_2

    subroutine h3ou_bcast_global_string(source_name, data)
        character(len=*), intent(in) :: source_name
        character(len=*), intent(inout), target :: data
        call c_bcast_global(c_name(source_name), c_loc(data), len(data), TEXT_TYPE)
    end subroutine h3ou_bcast_global_string

end module h3ou_messages
