/* SPDX-License-Identifier: BSD-3-Clause */
/* The published C calls. */
#define H3OUC_PLAIN
#include "h3ou/h3ouc.h"

#include "h3ou/face.h"

void h3ouc_init(const char *my_name, const char *config_file_name)
{
    wio_h3ou_open(my_name, config_file_name, 1);
}

void h3ouc_init_simple(const char *comp_name)
{
    wio_h3ou_open(comp_name, "", 1);
}

void h3ouc_get_mpi_parameter(const char *my_name, int *my_comm, int *my_group, int *my_size,
                             int *my_rank)
{
    (void)my_name;
    wio_h3ou_mpi(my_comm, my_group, my_size, my_rank);
}

MPI_Comm h3ouc_get_my_comm(void)
{
    return wio_h3ou_comm();
}

int h3ouc_get_my_rank(void)
{
    int size, rank = 0;

    (void)waitio_cpl_component_size(wio_h3ou_cpl("get_my_rank"), wio_h3ou_own_number() - 1, &size,
                                    &rank);
    return rank;
}

int h3ouc_get_my_size(void)
{
    int size = 0, rank;

    (void)waitio_cpl_component_size(wio_h3ou_cpl("get_my_size"), wio_h3ou_own_number() - 1, &size,
                                    &rank);
    return size;
}

void h3ouc_def_grid(const int *grid_index, int ngrid, const char *comp_name, const char *grid_name,
                    int nz)
{
    (void)nz; /* the old library's limit of layers */
    wio_h3ou_grid(grid_index, ngrid, comp_name, grid_name);
}

void h3ouc_end_grid_def(void)
{
    wio_h3ou_grids_done();
}

void h3ouc_set_interpolation_table(const char *my_name, const char *send_comp_name,
                                   const char *send_grid_name, const char *recv_comp_name,
                                   const char *recv_grid_name, int map_tag, const int *send_index,
                                   const int *recv_index, const double *coef, int nindex)
{
    (void)my_name;
    wio_h3ou_table(send_comp_name, send_grid_name, recv_comp_name, recv_grid_name, map_tag,
                   send_index, recv_index, coef, NULL, NULL, nindex);
}

void h3ouc_set_interpolation_table_no_index(const char *my_name, const char *send_comp_name,
                                            const char *send_grid_name, const char *recv_comp_name,
                                            const char *recv_grid_name, int map_tag)
{
    (void)my_name;
    wio_h3ou_table(send_comp_name, send_grid_name, recv_comp_name, recv_grid_name, map_tag, NULL,
                   NULL, NULL, NULL, NULL, -1);
}

void h3ouc_def_grid_cells(const char *grid_name, const struct waitio_cpl_cells *cells)
{
    wio_h3ou_cells(grid_name, cells);
}

void h3ouc_set_interpolation_weights(const char *send_comp_name, const char *send_grid_name,
                                     const char *recv_comp_name, const char *recv_grid_name,
                                     int map_tag, const char *method, const char *file)
{
    wio_h3ou_weights(send_comp_name, send_grid_name, recv_comp_name, recv_grid_name, map_tag,
                     method, file);
}

void h3ouc_init_time(const int *time_array)
{
    (void)time_array; /* the coupler's time begins with 0 */
    wio_h3ou_start();
}

void h3ouc_set_time(const char *my_name, const int *time_array, int delta_t)
{
    (void)my_name;
    (void)time_array;
    wio_h3ou_step(delta_t, 1);
}

void h3ouc_inc_calendar(int *time_array, int delta_t)
{
    wio_h3ou_calendar(time_array, delta_t);
}

void h3ouc_put_data_1d(const char *data_name, const double *data)
{
    wio_h3ou_put(data_name, data, -1, 1, 1);
}

void h3ouc_put_data_25d(const char *data_name, const double *data)
{
    wio_h3ou_put(data_name, data, -1, -1, 0);
}

void h3ouc_get_data_1d(const char *data_name, double *data, int *is_get_ok)
{
    wio_h3ou_get(data_name, data, -1, 1, 1, is_get_ok);
}

void h3ouc_get_data_25d(const char *data_name, double *data, int *is_get_ok)
{
    wio_h3ou_get(data_name, data, -1, -1, 0, is_get_ok);
}

int h3ouc_get_num_of_put_data(void)
{
    return wio_h3ou_count(0);
}

void h3ouc_get_put_data_name(int data_num, char *data_name)
{
    wio_h3ou_name(0, data_num, data_name, 64, '\0');
    data_name[64] = '\0';
}

int h3ouc_get_num_of_get_data(void)
{
    return wio_h3ou_count(1);
}

void h3ouc_get_get_data_name(int data_num, char *data_name)
{
    wio_h3ou_name(1, data_num, data_name, 64, '\0');
    data_name[64] = '\0';
}

int h3ouc_get_vlayer(const char *data_name)
{
    return wio_h3ou_layers(data_name);
}

void h3ouc_coupling_end(const int *time_array, int is_call_finalize)
{
    (void)time_array;
    wio_h3ou_close(is_call_finalize);
}

void h3ouc_end(void)
{
    wio_h3ou_close(1);
}

void h3ouc_isend_waitall(void)
{
    wio_h3ou_wait();
}

void h3ouc_irecv_waitall(void)
{
    wio_h3ou_wait();
}

#include "h3ou/h3ouc_messages_gen.inc" /* for int, float and double */
