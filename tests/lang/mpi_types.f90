! SPDX-License-Identifier: BSD-3-Clause
!> MPI's names in Fortran: attributes of datatypes, what types are made of. Module mpi of
!> libwaitio_mpi_rename.
module functions_of_keys
    use mpi
    implicit none
    integer :: gone = 0

contains

    subroutine copy_more(oldtype, keyval, extra_state, value, out, flag, ierr)
        integer :: oldtype, keyval, ierr
        integer(MPI_ADDRESS_KIND) :: extra_state, value, out
        logical :: flag
        integer :: size
        call MPI_Type_size(oldtype, size, ierr)
        out = value + extra_state + size + 0 * keyval
        flag = .true.
    end subroutine copy_more

    subroutine count_gone(datatype, keyval, value, extra_state, ierr)
        integer :: datatype, keyval, ierr
        integer(MPI_ADDRESS_KIND) :: value, extra_state
        integer :: size
        call MPI_Type_size(datatype, size, ierr)
        if (size == 12 .and. extra_state == 1000 .and. keyval /= 0 .and. value > 0) gone = gone + 1
    end subroutine count_gone
end module functions_of_keys

program mpi_types
    use mpi
    use functions_of_keys
    implicit none
    integer :: ierr, failures = 0

    call MPI_Init(ierr)
    call attributes()
    call contents()
    call external()
    call sizes()
    call MPI_Finalize(ierr)
    if (failures > 0) error stop 1
    print '(a)', 'ok'

contains

    subroutine sizes()
        integer :: bytes
        double precision :: x(5)
        logical :: flag
        call MPI_SIZEOF(x, bytes, ierr)
        call expect(bytes == 8 .and. ierr == MPI_SUCCESS, 'size of an element')
        call MPI_Sizeof(flag, bytes, ierr)
        call expect(bytes == 4, 'size of a logical')
    end subroutine sizes

    subroutine expect(good, what)
        logical, intent(in) :: good
        character(*), intent(in) :: what
        if (.not. good) then
            print '(a)', what
            failures = failures + 1
        end if
    end subroutine expect

    subroutine attributes()
        integer :: type, copy, key, kept
        integer(MPI_ADDRESS_KIND) :: value
        logical :: flag

        call MPI_Type_contiguous(3, MPI_REAL, type, ierr)
        call MPI_Type_create_keyval(copy_more, count_gone, key, 1000_MPI_ADDRESS_KIND, ierr)
        call MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, kept, &
            0_MPI_ADDRESS_KIND, ierr)
        call MPI_Type_set_attr(type, key, 5000000000_MPI_ADDRESS_KIND, ierr)
        call MPI_Type_set_attr(type, kept, 7_MPI_ADDRESS_KIND, ierr)
        call MPI_Type_dup(type, copy, ierr)
        call MPI_Type_get_attr(copy, key, value, flag, ierr)
        call expect(flag .and. value == 5000001012_MPI_ADDRESS_KIND, 'a value that was copied')
        call MPI_Type_get_attr(copy, kept, value, flag, ierr)
        call expect(flag .and. value == 7, 'TYPE_DUP_FN')
        call MPI_Type_delete_attr(copy, kept, ierr)
        call MPI_Type_get_attr(copy, kept, value, flag, ierr)
        call expect(.not. flag, 'a value that was deleted')
        call MPI_Type_free(copy, ierr)
        call MPI_Type_free(type, ierr)
        call expect(gone == 2, 'calls at the end')
        call MPI_Type_free_keyval(key, ierr)
        call expect(key == MPI_KEYVAL_INVALID, 'a freed key')
        call MPI_Type_free_keyval(kept, ierr)
    end subroutine attributes

    subroutine contents()
        integer :: type, ni, na, nt, combiner, numbers(4), types(2)
        integer(MPI_ADDRESS_KIND) :: addresses(2)

        call MPI_Type_create_struct(2, [1, 2], [0_MPI_ADDRESS_KIND, 16_MPI_ADDRESS_KIND], &
            [MPI_INTEGER, MPI_REAL8], type, ierr)
        call MPI_Type_get_envelope(type, ni, na, nt, combiner, ierr)
        call expect(ni == 3 .and. na == 2 .and. nt == 2, 'numbers of arguments')
        call expect(combiner == MPI_COMBINER_STRUCT, 'a structure')
        call MPI_Type_get_contents(type, 4, 2, 2, numbers, addresses, types, ierr)
        call expect(all(numbers(:3) == [2, 1, 2]) .and. all(addresses == [0, 16]), 'lengths, places')
        call expect(all(types == [MPI_INTEGER, MPI_REAL8]), 'types')
        call MPI_Type_free(type, ierr)
        call MPI_Type_get_envelope(MPI_LOGICAL, ni, na, nt, combiner, ierr)
        call expect(combiner == MPI_COMBINER_NAMED, 'a basic type')
    end subroutine contents

    !> The representation that every machine has: a number with its first byte first.
    subroutine external()
        integer :: numbers(2) = [258, -1], back(2) = 0
        integer(MPI_ADDRESS_KIND) :: bytes, place
        character(16) :: room

        call MPI_Pack_external_size('external32', 2, MPI_INTEGER, bytes, ierr)
        call expect(bytes == 8, 'size in external32')
        place = 1
        call MPI_Pack_external('external32', numbers, 2, MPI_INTEGER, room, &
            16_MPI_ADDRESS_KIND, place, ierr)
        call expect(place == 9 .and. ichar(room(4:4)) == 1 .and. ichar(room(5:5)) == 2, 'external32')
        place = 1
        call MPI_Unpack_external('external32', room, 16_MPI_ADDRESS_KIND, place, back, 2, &
            MPI_INTEGER, ierr)
        call expect(place == 9 .and. all(back == numbers), 'back from external32')
    end subroutine external
end program mpi_types
