! SPDX-License-Identifier: BSD-3-Clause
!> What module `waitio_stage` is made of: its types, and the C behind it (stage_cfi.c). Programs use
!> module `waitio_stage`.
module waitio_stage_c
    use, intrinsic :: iso_c_binding, only: c_char, c_double, c_int, c_int32_t, c_int64_t, &
        c_null_char, c_null_ptr, c_ptr, c_size_t
    use waitio_types, only: waitio_group
    implicit none
    private :: c_char, c_double, c_int, c_int32_t, c_int64_t, c_null_char, c_null_ptr, c_ptr, &
        c_size_t, waitio_group

    !> A stream as this process has it open.
    type, bind(c) :: waitio_stream
        private
        type(c_ptr) :: handle = c_null_ptr
    end type waitio_stream

    !> An array that was defined by a writer, or a variable of the step that a reader has open.
    type, bind(c) :: waitio_variable
        integer(c_int) :: number = -1 !< of writers
        integer(c_int) :: type = 0    !< WAITIO_STAGE_DOUBLE ...
        integer(c_int) :: kind = 0    !< WAITIO_STAGE_GLOBAL, _LOCAL, _SCALAR
        integer(c_int) :: ndims = 0
        integer(c_int64_t) :: shape(8) = 0 !< of global arrays, its first ndims elements
        integer(c_int64_t) :: blocks = 0   !< readers: how many were put
        character(kind=c_char) :: name_(204) = c_null_char !< waitio_variable_name() returns it
    end type waitio_variable

    type, bind(c) :: settings
        real(c_double) :: limit
        integer(c_int) :: queue, full, readers
        integer(c_size_t) :: memory_max
        integer(c_int) :: writer_known, writer_pb, writer_rank, share
    end type settings

    interface
        subroutine put_whole(stream, variable, data, how, ierr) bind(c, name='waitio_cfi_stage_put')
            import :: c_int, waitio_stream, waitio_variable
            type(waitio_stream), intent(in) :: stream
            type(waitio_variable), intent(in) :: variable
            type(*), dimension(..), intent(in), asynchronous :: data
            integer(c_int), intent(in), optional :: how
            integer(c_int), intent(out), optional :: ierr
        end subroutine put_whole

        subroutine put_box(stream, variable, data, offset, count, how, ierr) &
            bind(c, name='waitio_cfi_stage_put_box')
            import :: c_int, c_int32_t, waitio_stream, waitio_variable
            type(waitio_stream), intent(in) :: stream
            type(waitio_variable), intent(in) :: variable
            type(*), dimension(..), intent(in), asynchronous :: data
            integer(c_int32_t), intent(in) :: offset(:)
            integer(c_int32_t), intent(in), optional :: count(:)
            integer(c_int), intent(in), optional :: how
            integer(c_int), intent(out), optional :: ierr
        end subroutine put_box

        subroutine put_box_long(stream, variable, data, offset, count, how, ierr) &
            bind(c, name='waitio_cfi_stage_put_box_long')
            import :: c_int, c_int64_t, waitio_stream, waitio_variable
            type(waitio_stream), intent(in) :: stream
            type(waitio_variable), intent(in) :: variable
            type(*), dimension(..), intent(in), asynchronous :: data
            integer(c_int64_t), intent(in) :: offset(:)
            integer(c_int64_t), intent(in), optional :: count(:)
            integer(c_int), intent(in), optional :: how
            integer(c_int), intent(out), optional :: ierr
        end subroutine put_box_long
    end interface

    interface
        subroutine get_whole(stream, variable, data, ierr) bind(c, name='waitio_cfi_stage_get')
            import :: c_int, waitio_stream, waitio_variable
            type(waitio_stream), intent(in) :: stream
            type(waitio_variable), intent(in) :: variable
            type(*), dimension(..), intent(inout), asynchronous :: data
            integer(c_int), intent(out), optional :: ierr
        end subroutine get_whole

        subroutine get_box(stream, variable, data, offset, count, ierr) &
            bind(c, name='waitio_cfi_stage_get_box')
            import :: c_int, c_int32_t, waitio_stream, waitio_variable
            type(waitio_stream), intent(in) :: stream
            type(waitio_variable), intent(in) :: variable
            type(*), dimension(..), intent(inout), asynchronous :: data
            integer(c_int32_t), intent(in) :: offset(:)
            integer(c_int32_t), intent(in), optional :: count(:)
            integer(c_int), intent(out), optional :: ierr
        end subroutine get_box

        subroutine get_box_long(stream, variable, data, offset, count, ierr) &
            bind(c, name='waitio_cfi_stage_get_box_long')
            import :: c_int, c_int64_t, waitio_stream, waitio_variable
            type(waitio_stream), intent(in) :: stream
            type(waitio_variable), intent(in) :: variable
            type(*), dimension(..), intent(inout), asynchronous :: data
            integer(c_int64_t), intent(in) :: offset(:)
            integer(c_int64_t), intent(in), optional :: count(:)
            integer(c_int), intent(out), optional :: ierr
        end subroutine get_box_long
    end interface

    interface
        subroutine c_open(stream, name, mode, group, set, ierr) &
            bind(c, name='waitio_cfi_stage_open')
            import :: c_char, c_int, settings, waitio_group, waitio_stream
            type(waitio_stream), intent(out) :: stream
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int), intent(in) :: mode
            type(waitio_group), intent(in), optional :: group
            type(settings), intent(in) :: set
            integer(c_int), intent(out), optional :: ierr
        end subroutine c_open

        subroutine c_count(stream, what, number, ierr) &
            bind(c, name='waitio_cfi_stage_count')
            import :: c_char, c_int, c_int64_t, waitio_stream
            type(waitio_stream), intent(in) :: stream
            character(kind=c_char), intent(in) :: what(*)
            integer(c_int64_t), intent(out) :: number
            integer(c_int), intent(out), optional :: ierr
        end subroutine c_count

        subroutine c_define(stream, name, type, ndims, shape, variable, ierr) &
            bind(c, name='waitio_cfi_stage_define')
            import :: c_char, c_int, c_int64_t, waitio_stream, waitio_variable
            type(waitio_stream), intent(in) :: stream
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int), intent(in) :: type, ndims
            integer(c_int64_t), intent(in), optional :: shape(*)
            type(waitio_variable), intent(out) :: variable
            integer(c_int), intent(out), optional :: ierr
        end subroutine c_define

        subroutine c_reshape(stream, variable, ndims, shape, ierr) &
            bind(c, name='waitio_cfi_stage_reshape')
            import :: c_int, c_int64_t, waitio_stream, waitio_variable
            type(waitio_stream), intent(in) :: stream
            type(waitio_variable), intent(inout) :: variable
            integer(c_int), intent(in) :: ndims
            integer(c_int64_t), intent(in) :: shape(*)
            integer(c_int), intent(out), optional :: ierr
        end subroutine c_reshape

        subroutine c_operator(stream, variable, name, parameters, ierr) &
            bind(c, name='waitio_cfi_stage_operator')
            import :: c_char, c_int, waitio_stream, waitio_variable
            type(waitio_stream), intent(in) :: stream
            type(waitio_variable), intent(in) :: variable
            character(kind=c_char), intent(in) :: name(*), parameters(*)
            integer(c_int), intent(out), optional :: ierr
        end subroutine c_operator

        subroutine c_derive(stream, name, what, n, sources, variable, ierr) &
            bind(c, name='waitio_cfi_stage_derive')
            import :: c_char, c_int, waitio_stream, waitio_variable
            type(waitio_stream), intent(in) :: stream
            character(kind=c_char), intent(in) :: name(*), what(*)
            integer(c_int), intent(in) :: n
            type(waitio_variable), intent(in) :: sources(*)
            type(waitio_variable), intent(out), optional :: variable
            integer(c_int), intent(out), optional :: ierr
        end subroutine c_derive

        subroutine c_put_scalar(stream, name, type, value, ierr) &
            bind(c, name='waitio_cfi_stage_put_scalar')
            import :: c_char, c_int, c_ptr, waitio_stream
            type(waitio_stream), intent(in) :: stream
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int), intent(in) :: type
            type(c_ptr), intent(in), value :: value
            integer(c_int), intent(out), optional :: ierr
        end subroutine c_put_scalar

        subroutine c_get_scalar(stream, name, type, value, ierr) &
            bind(c, name='waitio_cfi_stage_get_scalar')
            import :: c_char, c_int, c_ptr, waitio_stream
            type(waitio_stream), intent(in) :: stream
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int), intent(in) :: type
            type(c_ptr), intent(in), value :: value
            integer(c_int), intent(out), optional :: ierr
        end subroutine c_get_scalar

        subroutine c_put_text(stream, name, text, ierr) &
            bind(c, name='waitio_cfi_stage_put_text')
            import :: c_char, c_int, waitio_stream
            type(waitio_stream), intent(in) :: stream
            character(kind=c_char), intent(in) :: name(*), text(*)
            integer(c_int), intent(out), optional :: ierr
        end subroutine c_put_text

        subroutine c_attribute(stream, name, type, n, values, ierr) &
            bind(c, name='waitio_cfi_stage_attribute')
            import :: c_char, c_int, c_int64_t, c_ptr, waitio_stream
            type(waitio_stream), intent(in) :: stream
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int), intent(in) :: type
            integer(c_int64_t), intent(in) :: n
            type(c_ptr), intent(in), value :: values
            integer(c_int), intent(out), optional :: ierr
        end subroutine c_attribute

        subroutine c_get_attribute(stream, name, type, values, n, ierr) &
            bind(c, name='waitio_cfi_stage_get_attribute')
            import :: c_char, c_int, c_int64_t, c_ptr, waitio_stream
            type(waitio_stream), intent(in) :: stream
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int), intent(in) :: type
            type(c_ptr), intent(out) :: values
            integer(c_int64_t), intent(out) :: n
            integer(c_int), intent(out), optional :: ierr
        end subroutine c_get_attribute

        subroutine c_get_text(stream, name, text, n, ierr) &
            bind(c, name='waitio_cfi_stage_get_text')
            import :: c_char, c_int, c_int64_t, c_ptr, waitio_stream
            type(waitio_stream), intent(in) :: stream
            character(kind=c_char), intent(in) :: name(*)
            type(c_ptr), intent(out) :: text
            integer(c_int64_t), intent(out) :: n
            integer(c_int), intent(out), optional :: ierr
        end subroutine c_get_text

        subroutine c_get_operator(stream, name, text, n, ierr) &
            bind(c, name='waitio_cfi_stage_get_operator')
            import :: c_char, c_int, c_int64_t, c_ptr, waitio_stream
            type(waitio_stream), intent(in) :: stream
            character(kind=c_char), intent(in) :: name(*)
            type(c_ptr), intent(out) :: text
            integer(c_int64_t), intent(out) :: n
            integer(c_int), intent(out), optional :: ierr
        end subroutine c_get_operator

        subroutine c_attribute_name(stream, i, text, n) &
            bind(c, name='waitio_cfi_stage_attribute_name')
            import :: c_int, c_int64_t, c_ptr, waitio_stream
            type(waitio_stream), intent(in) :: stream
            integer(c_int), intent(in) :: i
            type(c_ptr), intent(out) :: text
            integer(c_int64_t), intent(out) :: n
        end subroutine c_attribute_name

        subroutine c_inquire(stream, name, variable, ierr) &
            bind(c, name='waitio_cfi_stage_inquire')
            import :: c_char, c_int, waitio_stream, waitio_variable
            type(waitio_stream), intent(in) :: stream
            character(kind=c_char), intent(in) :: name(*)
            type(waitio_variable), intent(out) :: variable
            integer(c_int), intent(out), optional :: ierr
        end subroutine c_inquire

        type(c_ptr) function c_last_error() bind(c, name='waitio_cfi_stage_last_error')
            import :: c_ptr
        end function c_last_error

        integer(c_size_t) function c_length(text) bind(c, name='strlen')
            import :: c_ptr, c_size_t
            type(c_ptr), intent(in), value :: text
        end function c_length
    end interface
end module waitio_stage_c
