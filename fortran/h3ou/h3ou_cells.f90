! SPDX-License-Identifier: BSD-3-Clause
!> Tables that the coupler makes of the grids' cells, or of a weight file, for programs with the calls
!> of h3ou_api. A module of its own: h3ou_api has the published names only.
module h3ou_cells
    use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_size_t, c_double, c_char, c_ptr, &
        c_null_ptr, c_loc, c_null_char
    use h3ou_base, only: c_name, c_die, one_size
    implicit none
    private
    public :: h3ou_def_grid_cells, h3ou_set_interpolation_weights
    public :: H3OU_DEGREES, H3OU_RADIANS, H3OU_PLANE

    integer, parameter :: H3OU_DEGREES = 0, H3OU_RADIANS = 1, H3OU_PLANE = 2

    ! struct waitio_cpl_cells
    type, bind(c) :: c_cells
        integer(c_int) :: unit
        type(c_ptr) :: x, y
        integer(c_int) :: corners
        type(c_ptr) :: corner_x, corner_y, mask, fraction, area
        integer(c_int64_t) :: nx, ny
        integer(c_int) :: periodic, fold
        integer(c_size_t) :: n
    end type c_cells

    interface
        subroutine c_give_cells(grid, cells) bind(c, name='wio_h3ou_cells')
            import :: c_char, c_cells
            character(kind=c_char), intent(in) :: grid(*)
            type(c_cells), intent(in) :: cells
        end subroutine c_give_cells
        subroutine c_weights(send_comp, send_grid, recv_comp, recv_grid, tag, method, file) &
                bind(c, name='wio_h3ou_weights')
            import :: c_char, c_int
            character(kind=c_char), intent(in) :: send_comp(*), send_grid(*)
            character(kind=c_char), intent(in) :: recv_comp(*), recv_grid(*)
            integer(c_int), value :: tag
            character(kind=c_char), intent(in) :: method(*), file(*)
        end subroutine c_weights
    end interface

contains

    !> Where the points of a grid of this component are, in the order of the grid's indices. After
    !> h3ou_def_grid. Arrays are of this process's points; corners are (corner, point), in order around
    !> the cell, either way; cells with fewer corners repeat one.
    !> @param mask 0: the cell takes no part
    !> @param fraction part of the cell that counts, 0 .. 1
    !> @param area the model's own areas, for given-areas=yes
    !> @param nx of a logically rectangular grid, index = 1 + i + nx j; the same in all processes
    !> @param unit H3OU_DEGREES (if it is left out), H3OU_RADIANS, H3OU_PLANE
    subroutine h3ou_def_grid_cells(grid_name, lon, lat, corner_lon, corner_lat, mask, fraction, area, &
            nx, ny, periodic, fold, unit)
        character(len=*), intent(in) :: grid_name
        real(kind=8), intent(in), target, contiguous :: lon(:), lat(:)
        real(kind=8), intent(in), target, contiguous, optional :: corner_lon(:, :), corner_lat(:, :)
        integer, intent(in), target, contiguous, optional :: mask(:)
        real(kind=8), intent(in), target, contiguous, optional :: fraction(:), area(:)
        integer, intent(in), optional :: nx, ny, unit
        logical, intent(in), optional :: periodic, fold
        type(c_cells) :: cells
        cells = c_cells(H3OU_DEGREES, at(lon), at(lat), 0, c_null_ptr, c_null_ptr, c_null_ptr, &
            c_null_ptr, c_null_ptr, 0, 0, 0, 0, size(lon, kind=c_size_t))
        call one_length(grid_name, 'lat', size(lat), size(lon))
        if (present(corner_lon) .neqv. present(corner_lat)) call c_die(c_name( &
            'h3ou_def_grid_cells: give corner_lon and corner_lat together'))
        if (present(corner_lon)) then
            call one_length(grid_name, 'corner_lon(1, :)', size(corner_lon, 2), size(lon))
            call one_length(grid_name, 'corner_lat(1, :)', size(corner_lat, 2), size(lon))
            call one_size('h3ou_def_grid_cells of grid '''//trim(grid_name)//'''', 'corner_lat(:, 1)', &
                size(corner_lat, 1), 'corner_lon(:, 1)', size(corner_lon, 1))
            cells%corners = size(corner_lon, 1)
            if (size(corner_lon) > 0) cells%corner_x = c_loc(corner_lon)
            if (size(corner_lat) > 0) cells%corner_y = c_loc(corner_lat)
        end if
        if (present(mask)) then
            call one_length(grid_name, 'mask', size(mask), size(lon))
            if (size(mask) > 0) cells%mask = c_loc(mask)
        end if
        if (present(fraction)) then
            call one_length(grid_name, 'fraction', size(fraction), size(lon))
            cells%fraction = at(fraction)
        end if
        if (present(area)) then
            call one_length(grid_name, 'area', size(area), size(lon))
            cells%area = at(area)
        end if
        if (present(nx)) cells%nx = nx
        if (present(ny)) cells%ny = ny
        if (present(periodic)) cells%periodic = merge(1, 0, periodic)
        if (present(fold)) cells%fold = merge(1, 0, fold)
        if (present(unit)) cells%unit = unit
        call c_give_cells(c_name(grid_name), cells)
    end subroutine h3ou_def_grid_cells

    !> The table from one grid to another by weights: both components call it with the same texts.
    !> @param method as weight_method of the configuration: 'conservative,nearest'
    !> @param file in place of method: a weight file of ESMF or SCRIP, as weight_file
    subroutine h3ou_set_interpolation_weights(my_model_name, send_model_name, send_grid_name, &
            recv_model_name, recv_grid_name, mapping_tag, method, file)
        character(len=*), intent(in) :: my_model_name, send_model_name, send_grid_name
        character(len=*), intent(in) :: recv_model_name, recv_grid_name
        integer, intent(in) :: mapping_tag
        character(len=*), intent(in), optional :: method, file
        character(len=:), allocatable :: how, from
        how = ''
        from = ''
        if (present(method)) how = trim(method)
        if (present(file)) from = trim(file)
        if (len(my_model_name) < 0) return
        call c_weights(c_name(send_model_name), c_name(send_grid_name), c_name(recv_model_name), &
            c_name(recv_grid_name), mapping_tag, how//c_null_char, from//c_null_char)
    end subroutine h3ou_set_interpolation_weights

    !> Where an array is; nowhere if it is empty.
    function at(array) result(where)
        real(c_double), intent(in), target, contiguous :: array(:)
        type(c_ptr) :: where
        where = c_null_ptr
        if (size(array) > 0) where = c_loc(array)
    end function at

    subroutine one_length(grid_name, what, n, expected)
        character(len=*), intent(in) :: grid_name, what
        integer, intent(in) :: n, expected
        call one_size('h3ou_def_grid_cells of grid '''//trim(grid_name)//'''', what, n, 'lon', &
            expected)
    end subroutine one_length

end module h3ou_cells
