! SPDX-License-Identifier: BSD-3-Clause
!> Staging for Fortran: a running program hands its steps to programs that read them
!> (docs/guide/staging.md; waitio_stage.h says what each call does).
!>
!> Dimensions are in Fortran's order here, and turned round between the languages: the array
!> T(nx, ny, nz) of a Fortran program is T[nz][ny][nx] for C and T[z, y, x] for Python, element by
!> element the same memory. Offsets count from 0: so many elements lie before the block. Blocks,
!> variables and attributes are numbered from 1.
!>
!> Every procedure ends with an optional ierr: 0, or one of the negative WAITIO_ERR_ codes, whose
!> text waitio_stage_last_error() returns. When it is left out, an error prints its text and ends
!> the program. Arrays may have any rank; they must be contiguous, and of the variable's type.
!> Declare arrays that are put deferred, or got, `asynchronous` or `target`.
module waitio_stage
    use, intrinsic :: iso_c_binding, only: c_char, c_double, c_f_pointer, c_float, c_int, &
        c_int32_t, c_int64_t, c_loc, c_null_char, c_ptr, c_size_t
    use waitio
    use waitio_stage_c
    implicit none
    private :: c_char, c_double, c_f_pointer, c_float, c_int, c_int32_t, c_int64_t, c_loc, &
        c_null_char, c_ptr, c_size_t

    ! The numbers of waitio_stage.h.
    integer, parameter :: WAITIO_STAGE_WRITE = 1, WAITIO_STAGE_READ = 2
    integer, parameter :: WAITIO_STAGE_INT8 = 1, WAITIO_STAGE_INT16 = 2
    integer, parameter :: WAITIO_STAGE_INT32 = 3, WAITIO_STAGE_INT64 = 4
    integer, parameter :: WAITIO_STAGE_UINT8 = 5, WAITIO_STAGE_UINT16 = 6
    integer, parameter :: WAITIO_STAGE_UINT32 = 7, WAITIO_STAGE_UINT64 = 8
    integer, parameter :: WAITIO_STAGE_FLOAT = 9, WAITIO_STAGE_DOUBLE = 10
    integer, parameter :: WAITIO_STAGE_FLOAT_COMPLEX = 11, WAITIO_STAGE_DOUBLE_COMPLEX = 12
    integer, parameter :: WAITIO_STAGE_STRING = 13
    integer, parameter :: WAITIO_STAGE_GLOBAL = 1, WAITIO_STAGE_LOCAL = 2, WAITIO_STAGE_SCALAR = 3
    integer, parameter :: WAITIO_STAGE_DEFERRED = 0, WAITIO_STAGE_NOW = 1
    integer, parameter :: WAITIO_STAGE_OK = 0, WAITIO_STAGE_END = 1, WAITIO_STAGE_NOT_READY = 2
    integer, parameter :: WAITIO_STAGE_NEXT = 0, WAITIO_STAGE_LATEST = 1
    integer, parameter :: WAITIO_STAGE_BLOCK_WRITERS = 0 !< WAITIO_STAGE_BLOCK of C
    integer, parameter :: WAITIO_STAGE_DISCARD_OLDEST = 1, WAITIO_STAGE_DISCARD_NEWEST = 2
    integer, parameter :: WAITIO_STAGE_SYNCHRONOUS = -1
    integer, parameter :: WAITIO_STAGE_TO_ALL = 0, WAITIO_STAGE_ROUND_ROBIN = 1
    integer, parameter :: WAITIO_STAGE_ON_DEMAND = 2
    integer, parameter :: WAITIO_STAGE_DIMS_MAX = 8

    !> Define an array: its type and its shape, of either kind of integers. A local array has ndims
    !> instead.
    interface waitio_stage_define
        module procedure define_int, define_long, define_local
    end interface
    private :: define_int, define_long, define_local

    !> Change the shape of a global array, from the next put on.
    interface waitio_stage_reshape
        module procedure reshape_int, reshape_long
    end interface
    private :: reshape_int, reshape_long

    !> Put a scalar.
    interface waitio_stage_put_scalar
        module procedure put_scalar_i4, put_scalar_i8, put_scalar_r4, put_scalar_r8
    end interface
    private :: put_scalar_i4, put_scalar_i8, put_scalar_r4, put_scalar_r8

    !> The value of a scalar, at once.
    interface waitio_stage_get_scalar
        module procedure get_scalar_i4, get_scalar_i8, get_scalar_r4, get_scalar_r8
    end interface
    private :: get_scalar_i4, get_scalar_i8, get_scalar_r4, get_scalar_r8

    !> Set an attribute of the stream: a number, an array of numbers, or a text.
    interface waitio_stage_attribute
        module procedure attribute_i4, attribute_i8, attribute_r4, attribute_r8, &
            attribute_i4s, attribute_i8s, attribute_r4s, attribute_r8s, attribute_text
    end interface
    private :: attribute_i4, attribute_i8, attribute_r4, attribute_r8, &
        attribute_i4s, attribute_i8s, attribute_r4s, attribute_r8s, attribute_text

    !> An attribute: an allocatable array of its type, or a text.
    interface waitio_stage_get_attribute
        module procedure get_attribute_i4s, get_attribute_i8s, &
            get_attribute_r4s, get_attribute_r8s, get_attribute_text
    end interface
    private :: get_attribute_i4s, get_attribute_i8s, &
        get_attribute_r4s, get_attribute_r8s, get_attribute_text

    !> Put a block: (stream, variable, data, offset, count, how, ierr). All but the first three are
    !> optional; offset and count have integers of either kind. offset: 0 in each dimension. count:
    !> the shape of data; say it when data has another rank. how: WAITIO_STAGE_DEFERRED (data stays
    !> as it is until end_step), or WAITIO_STAGE_NOW.
    interface waitio_stage_put
        procedure :: put_whole, put_box, put_box_long
    end interface
    private :: put_whole, put_box, put_box_long

    !> Get a box of a global array: (stream, variable, data, offset, count, ierr), as for put. The
    !> data has come when perform or end_step has returned.
    interface waitio_stage_get
        procedure :: get_whole, get_box, get_box_long
    end interface
    private :: get_whole, get_box, get_box_long

    interface
        !> Get a whole block of a global or local array. block: from 1.
        subroutine waitio_stage_get_block(stream, variable, block, data, ierr) &
            bind(c, name='waitio_cfi_stage_get_block')
            import :: c_int, c_int64_t, waitio_stream, waitio_variable
            type(waitio_stream), intent(in) :: stream
            type(waitio_variable), intent(in) :: variable
            integer(c_int64_t), intent(in) :: block
            type(*), dimension(..), intent(inout), asynchronous :: data
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_stage_get_block

        !> Close it. Collective. Writers wait until all steps that are kept have been read.
        subroutine waitio_stage_close(stream, limit, ierr) bind(c, name='waitio_cfi_stage_close')
            import :: c_double, c_int, waitio_stream
            type(waitio_stream), intent(inout) :: stream
            real(c_double), intent(in), optional :: limit
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_stage_close

        !> Begin a step. status: WAITIO_STAGE_OK, _END, _NOT_READY; which: _NEXT or _LATEST.
        subroutine waitio_stage_begin_step(stream, status, which, limit, ierr) &
            bind(c, name='waitio_cfi_stage_begin_step')
            import :: c_double, c_int, waitio_stream
            type(waitio_stream), intent(in) :: stream
            integer(c_int), intent(out), optional :: status
            integer(c_int), intent(in), optional :: which
            real(c_double), intent(in), optional :: limit
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_stage_begin_step

        !> End the step.
        subroutine waitio_stage_end_step(stream, limit, ierr) bind(c, name='waitio_cfi_stage_end_step')
            import :: c_double, c_int, waitio_stream
            type(waitio_stream), intent(in) :: stream
            real(c_double), intent(in), optional :: limit
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_stage_end_step

        !> Fetch what was asked for.
        subroutine waitio_stage_perform(stream, limit, ierr) bind(c, name='waitio_cfi_stage_perform')
            import :: c_double, c_int, waitio_stream
            type(waitio_stream), intent(in) :: stream
            real(c_double), intent(in), optional :: limit
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_stage_perform

        !> Number of the step that is open, or was last; from 0.
        subroutine waitio_stage_step(stream, step, ierr) bind(c, name='waitio_cfi_stage_step')
            import :: c_int, c_int64_t, waitio_stream
            type(waitio_stream), intent(in) :: stream
            integer(c_int64_t), intent(out) :: step
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_stage_step

        !> From the next step on take only first, first + stride ... up to last (< 0: no end).
        subroutine waitio_stage_select_steps(stream, first, last, stride, ierr) &
            bind(c, name='waitio_cfi_stage_select_steps')
            import :: c_int, c_int64_t, waitio_stream
            type(waitio_stream), intent(in) :: stream
            integer(c_int64_t), intent(in) :: first, last, stride
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_stage_select_steps

        !> Arrays, scalars and texts of this step.
        subroutine waitio_stage_variables(stream, n, ierr) bind(c, name='waitio_cfi_stage_variables')
            import :: c_int, waitio_stream
            type(waitio_stream), intent(in) :: stream
            integer(c_int), intent(out) :: n
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_stage_variables

        !> The i-th of them, from 1.
        subroutine waitio_stage_variable_at(stream, i, variable, ierr) &
            bind(c, name='waitio_cfi_stage_variable_at')
            import :: c_int, waitio_stream, waitio_variable
            type(waitio_stream), intent(in) :: stream
            integer(c_int), intent(in) :: i
            type(waitio_variable), intent(out) :: variable
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_stage_variable_at

        !> Where a block lies (from 1), and which writer has put it (from 0).
        subroutine waitio_stage_block(stream, variable, block, writer, offset, count, ierr) &
            bind(c, name='waitio_cfi_stage_block')
            import :: c_int, c_int64_t, waitio_stream, waitio_variable
            type(waitio_stream), intent(in) :: stream
            type(waitio_variable), intent(in) :: variable
            integer(c_int64_t), intent(in) :: block
            integer(c_int), intent(out) :: writer
            integer(c_int64_t), intent(inout) :: offset(*), count(*)
            integer(c_int), intent(out), optional :: ierr
        end subroutine waitio_stage_block
    end interface

    ! What is for the procedures below only.
    private :: settings, c_open, c_count, c_define, c_reshape, c_operator, c_derive, c_put_scalar, &
        c_get_scalar, c_put_text, c_attribute, c_get_attribute, c_get_text, c_get_operator, &
        c_attribute_name, c_inquire, c_last_error, c_length, copied

contains

    !> Open a stream. Collective over group (all processes of my block). mode: WAITIO_STAGE_WRITE or
    !> _READ. Writers: queue (steps that are kept, or WAITIO_STAGE_SYNCHRONOUS), full
    !> (WAITIO_STAGE_BLOCK_WRITERS, _DISCARD_OLDEST, _DISCARD_NEWEST), readers (groups to wait for),
    !> memory_max. Readers: writer_pb and writer_rank, if the first writer is not the first process
    !> of a block. limit: seconds that calls wait which are not told otherwise. share: which groups of
    !> readers get a step (WAITIO_STAGE_TO_ALL, _ROUND_ROBIN, _ON_DEMAND).
    subroutine waitio_stage_open(stream, name, mode, group, limit, queue, full, readers, &
            memory_max, writer_pb, writer_rank, share, ierr)
        type(waitio_stream), intent(out) :: stream
        character(len=*), intent(in) :: name
        integer, intent(in) :: mode
        type(waitio_group), intent(in), optional :: group
        real(c_double), intent(in), optional :: limit
        integer, intent(in), optional :: queue, full, readers, writer_pb, writer_rank, share
        integer(c_int64_t), intent(in), optional :: memory_max
        integer, intent(out), optional :: ierr
        type(settings) :: set

        set = settings(0, 0, 0, 0, 0, 0, 0, 0, 0)
        if (present(limit)) set%limit = limit
        if (present(queue)) set%queue = queue
        if (present(full)) set%full = full
        if (present(readers)) set%readers = readers
        if (present(memory_max)) set%memory_max = int(memory_max, c_size_t)
        if (present(writer_pb)) set%writer_pb = writer_pb
        if (present(writer_rank)) set%writer_rank = writer_rank
        if (present(share)) set%share = share
        if (present(writer_pb) .or. present(writer_rank)) set%writer_known = 1
        call c_open(stream, trim(name)//c_null_char, mode, group, set, ierr)
    end subroutine waitio_stage_open

    !> The text of this thread's last error: stream, step, variable, process, remedy.
    function waitio_stage_last_error() result(text)
        character(len=:), allocatable :: text
        type(c_ptr) :: found

        found = c_last_error()
        text = copied(found, int(c_length(found), c_int64_t))
    end function waitio_stage_last_error

    !> Name of a variable.
    function waitio_variable_name(variable) result(name)
        type(waitio_variable), intent(in) :: variable
        character(len=:), allocatable :: name
        integer :: i

        name = ''
        do i = 1, size(variable%name_)
            if (variable%name_(i) == c_null_char) exit
            name = name//variable%name_(i)
        end do
    end function waitio_variable_name

    !> A text of C.
    function copied(from, n) result(text)
        type(c_ptr), intent(in) :: from
        integer(c_int64_t), intent(in) :: n
        character(len=:), allocatable :: text
        character(kind=c_char), pointer :: letters(:)
        integer(c_int64_t) :: i
        integer :: failed

        allocate (character(len=n) :: text, stat=failed)
        if (failed /= 0) error stop 'waitio_stage: no memory for a text'
        call c_f_pointer(from, letters, [n])
        do i = 1, n
            text(i:i) = letters(i)
        end do
    end function copied

    !> Bytes, steps and the like of this process, by name (waitio_stage.h).
    subroutine waitio_stage_count(stream, what, number, ierr)
        type(waitio_stream), intent(in) :: stream
        character(len=*), intent(in) :: what
        integer(c_int64_t), intent(out) :: number
        integer, intent(out), optional :: ierr

        call c_count(stream, trim(what)//c_null_char, number, ierr)
    end subroutine waitio_stage_count

    subroutine define_int(stream, name, type, shape, variable, ierr)
        type(waitio_stream), intent(in) :: stream
        character(len=*), intent(in) :: name
        integer, intent(in) :: type
        integer(c_int32_t), intent(in) :: shape(:)
        type(waitio_variable), intent(out) :: variable
        integer, intent(out), optional :: ierr

        call c_define(stream, trim(name)//c_null_char, type, size(shape), &
            int(shape, c_int64_t), variable, ierr)
    end subroutine define_int

    subroutine reshape_int(stream, variable, shape, ierr)
        type(waitio_stream), intent(in) :: stream
        type(waitio_variable), intent(inout) :: variable
        integer(c_int32_t), intent(in) :: shape(:)
        integer, intent(out), optional :: ierr

        call c_reshape(stream, variable, size(shape), int(shape, c_int64_t), ierr)
    end subroutine reshape_int

    subroutine define_long(stream, name, type, shape, variable, ierr)
        type(waitio_stream), intent(in) :: stream
        character(len=*), intent(in) :: name
        integer, intent(in) :: type
        integer(c_int64_t), intent(in) :: shape(:)
        type(waitio_variable), intent(out) :: variable
        integer, intent(out), optional :: ierr

        call c_define(stream, trim(name)//c_null_char, type, size(shape), &
            int(shape, c_int64_t), variable, ierr)
    end subroutine define_long

    subroutine reshape_long(stream, variable, shape, ierr)
        type(waitio_stream), intent(in) :: stream
        type(waitio_variable), intent(inout) :: variable
        integer(c_int64_t), intent(in) :: shape(:)
        integer, intent(out), optional :: ierr

        call c_reshape(stream, variable, size(shape), int(shape, c_int64_t), ierr)
    end subroutine reshape_long

    subroutine define_local(stream, name, type, ndims, variable, ierr)
        type(waitio_stream), intent(in) :: stream
        character(len=*), intent(in) :: name
        integer, intent(in) :: type, ndims
        type(waitio_variable), intent(out) :: variable
        integer, intent(out), optional :: ierr

        call c_define(stream, trim(name)//c_null_char, type, ndims, variable=variable, ierr=ierr)
    end subroutine define_local

    !> Choose what is done to the blocks of an array on their way: 'zstd', 'blosc2', 'zfp', 'none'.
    !> parameters: 'accuracy=1e-3' ... (waitio_stage.h).
    subroutine waitio_stage_operator(stream, variable, name, parameters, ierr)
        type(waitio_stream), intent(in) :: stream
        type(waitio_variable), intent(in) :: variable
        character(len=*), intent(in) :: name
        character(len=*), intent(in), optional :: parameters
        integer, intent(out), optional :: ierr
        character(len=:), allocatable :: more

        more = ''
        if (present(parameters)) more = trim(parameters)
        call c_operator(stream, variable, trim(name)//c_null_char, more//c_null_char, ierr)
    end subroutine waitio_stage_operator

    !> Define a variable that is made of others: 'min', 'max' (a scalar), 'magnitude' (an array).
    subroutine waitio_stage_derive(stream, name, what, sources, variable, ierr)
        type(waitio_stream), intent(in) :: stream
        character(len=*), intent(in) :: name, what
        type(waitio_variable), intent(in) :: sources(:)
        type(waitio_variable), intent(out), optional :: variable
        integer, intent(out), optional :: ierr

        call c_derive(stream, trim(name)//c_null_char, trim(what)//c_null_char, size(sources), &
            sources, variable, ierr)
    end subroutine waitio_stage_derive

    !> The variable of this step that has a name.
    subroutine waitio_stage_inquire(stream, name, variable, ierr)
        type(waitio_stream), intent(in) :: stream
        character(len=*), intent(in) :: name
        type(waitio_variable), intent(out) :: variable
        integer, intent(out), optional :: ierr

        call c_inquire(stream, trim(name)//c_null_char, variable, ierr)
    end subroutine waitio_stage_inquire

    !> Put a text; blanks at its end do not count.
    subroutine waitio_stage_put_text(stream, name, text, ierr)
        type(waitio_stream), intent(in) :: stream
        character(len=*), intent(in) :: name, text
        integer, intent(out), optional :: ierr

        call c_put_text(stream, trim(name)//c_null_char, trim(text)//c_null_char, ierr)
    end subroutine waitio_stage_put_text

    !> A text of this step.
    subroutine waitio_stage_get_text(stream, name, text, ierr)
        type(waitio_stream), intent(in) :: stream
        character(len=*), intent(in) :: name
        character(len=:), allocatable, intent(out) :: text
        integer, intent(out), optional :: ierr
        type(c_ptr) :: found
        integer(c_int64_t) :: n

        call c_get_text(stream, trim(name)//c_null_char, found, n, ierr)
        text = copied(found, n)
    end subroutine waitio_stage_get_text

    !> The operator of an array, as 'zfp accuracy=0.001'; '' for none.
    subroutine waitio_stage_get_operator(stream, name, text, ierr)
        type(waitio_stream), intent(in) :: stream
        character(len=*), intent(in) :: name
        character(len=:), allocatable, intent(out) :: text
        integer, intent(out), optional :: ierr
        type(c_ptr) :: found
        integer(c_int64_t) :: n

        call c_get_operator(stream, trim(name)//c_null_char, found, n, ierr)
        text = copied(found, n)
    end subroutine waitio_stage_get_operator

    !> Name of the i-th attribute, from 1; '' past the last one.
    function waitio_stage_attribute_name(stream, i) result(name)
        type(waitio_stream), intent(in) :: stream
        integer, intent(in) :: i
        character(len=:), allocatable :: name
        type(c_ptr) :: found
        integer(c_int64_t) :: n

        call c_attribute_name(stream, i, found, n)
        name = copied(found, n)
    end function waitio_stage_attribute_name

    subroutine attribute_text(stream, name, values, ierr)
        type(waitio_stream), intent(in) :: stream
        character(len=*), intent(in) :: name, values
        integer, intent(out), optional :: ierr
        character(len=:, kind=c_char), allocatable, target :: text

        text = trim(values)//c_null_char
        call c_attribute(stream, trim(name)//c_null_char, WAITIO_STAGE_STRING, 0_c_int64_t, &
            c_loc(text), ierr)
    end subroutine attribute_text

    subroutine get_attribute_text(stream, name, values, ierr)
        type(waitio_stream), intent(in) :: stream
        character(len=*), intent(in) :: name
        character(len=:), allocatable, intent(out) :: values
        integer, intent(out), optional :: ierr
        type(c_ptr) :: found
        integer(c_int64_t) :: n

        call c_get_attribute(stream, trim(name)//c_null_char, WAITIO_STAGE_STRING, found, n, ierr)
        values = copied(found, n)
    end subroutine get_attribute_text

    include 'waitio_stage_gen.inc' ! scalars and attributes of each type of numbers

end module waitio_stage
