! SPDX-License-Identifier: BSD-3-Clause
!> Sums whose result does not depend on the order of the terms, and so not on the number of processes:
!> each term is cut into whole numbers, which are added without rounding.
module exact_sum
    use, intrinsic :: iso_fortran_env, only: int64, real64
    use mpi, only: MPI_Allreduce, MPI_INTEGER8, MPI_SUM
    implicit none
    private
    public :: total

    !> A term lies below 2**TOP; four pieces of 39 bits reach down to 2**-96. Up to 2**24 terms.
    integer, parameter :: TOP = 60, PIECES = 4, BITS = 39

contains

    !> Sum of all terms of all processes of the communicator; collective.
    function total(terms, comm) result(sum_of_all)
        real(real64), intent(in) :: terms(:, :)
        integer, intent(in) :: comm
        real(real64) :: sum_of_all
        integer(int64) :: mine(PIECES), all_pieces(PIECES)
        integer :: i, j, k, error
        mine = 0
        do j = 1, size(terms, 2)
            do i = 1, size(terms, 1)
                call add(terms(i, j), mine)
            end do
        end do
        call MPI_Allreduce(mine, all_pieces, PIECES, MPI_INTEGER8, MPI_SUM, comm, error)
        sum_of_all = 0
        do k = PIECES, 1, -1
            sum_of_all = sum_of_all + scale(real(all_pieces(k), real64), TOP - BITS*k)
        end do
    end function total

    subroutine add(term, pieces_sum)
        real(real64), intent(in) :: term
        integer(int64), intent(inout) :: pieces_sum(PIECES)
        real(real64) :: rest
        integer(int64) :: piece
        integer :: k
        if (.not. abs(term) < scale(1d0, TOP)) error stop 'atmos: the model has become unstable'
        rest = scale(term, -TOP)
        do k = 1, PIECES
            rest = scale(rest, BITS)
            piece = int(rest, int64)
            pieces_sum(k) = pieces_sum(k) + piece
            rest = rest - real(piece, real64)
        end do
    end subroutine add
end module exact_sum
