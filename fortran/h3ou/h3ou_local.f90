! SPDX-License-Identifier: BSD-3-Clause
!> Parts of arrays inside the own component: h3ou_send_local(data, is, ie [, js, je [, ks, ke]], peer).
module h3ou_local
    use, intrinsic :: iso_c_binding, only: c_int, c_float, c_double, c_loc
    use h3ou_base, only: c_send_own, c_recv_own, INT_TYPE, REAL_TYPE, DOUBLE_TYPE
    implicit none
    private
    public :: h3ou_send_local, h3ou_recv_local

    interface h3ou_send_local
        module procedure send_int_1d, send_int_2d, send_int_3d, send_real_1d, send_real_2d, &
        send_real_3d, send_double_1d, send_double_2d, send_double_3d
    end interface h3ou_send_local

    interface h3ou_recv_local
        module procedure recv_int_1d, recv_int_2d, recv_int_3d, recv_real_1d, recv_real_2d, &
        recv_real_3d, recv_double_1d, recv_double_2d, recv_double_3d
    end interface h3ou_recv_local

contains

    include 'h3ou_local_gen.inc'

end module h3ou_local
