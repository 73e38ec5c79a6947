! SPDX-License-Identifier: BSD-3-Clause
!> Brings the values of outer nodes from their owners.
module heat3d_halo
    use, intrinsic :: iso_fortran_env, only: real64
    use heat3d_comm, only: comm_exchange
    use heat3d_domain, only: domain_t
    implicit none
    private
    public :: halo_update

contains

    !> v(owned + 1:) is set, from v(:owned) of others. Collective among neighbours.
    subroutine halo_update(d, v)
        type(domain_t), intent(in) :: d
        real(real64), intent(inout) :: v(:)
        real(real64), asynchronous :: send(size(d%send)), recv(d%total - d%owned)

        if (size(d%peers) == 0) return
        send = v(d%send)
        call comm_exchange(d%peers, d%sfirst, send, d%rfirst, recv)
        v(d%owned + 1:) = recv
    end subroutine halo_update
end module heat3d_halo
