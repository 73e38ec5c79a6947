/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file h3ouc.h
 * The C interface of h3-Open-UTIL/MP, for programs written against it: the names and argument lists
 * that were published, on the coupler of WaitIO (waitio_cpl.h). Link libh3ouc of the MPI that the
 * program is compiled with.
 *
 * All errors end all components with a text and a status that is not 0.
 */
#ifndef H3OUC_H
#define H3OUC_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/** Calls MPI_Init() unless the program has. Collective over all processes of all components. */
void h3ouc_init(const char *my_name, const char *config_file_name);
/** The same without a configuration: messages between components only. */
void h3ouc_init_simple(const char *comp_name);
/** The MPI communicator, group (both as Fortran handles), size and rank of the own component.
 * @param my_name is not read */
void h3ouc_get_mpi_parameter(const char *my_name, int *my_comm, int *my_group, int *my_size,
                             int *my_rank);
/** The MPI communicator of the own component. Its processes must all be in one MPI job. */
MPI_Comm h3ouc_get_my_comm(void);
int h3ouc_get_my_rank(void);
int h3ouc_get_my_size(void);

void h3ouc_def_grid(const int *grid_index, int ngrid, const char *comp_name, const char *grid_name,
                    int nz);
void h3ouc_end_grid_def(void);
void h3ouc_set_interpolation_table(const char *my_name, const char *send_comp_name,
                                   const char *send_grid_name, const char *recv_comp_name,
                                   const char *recv_grid_name, int map_tag, const int *send_index,
                                   const int *recv_index, const double *coef, int nindex);
void h3ouc_set_interpolation_table_no_index(const char *my_name, const char *send_comp_name,
                                            const char *send_grid_name, const char *recv_comp_name,
                                            const char *recv_grid_name, int map_tag);

/* Beyond the published calls: tables that the coupler makes of the grids' cells, or of a file. */

struct waitio_cpl_cells; /* of waitio_cpl.h */
/** Where the points of a grid of this component are. After h3ouc_def_grid(). @param cells copied */
void h3ouc_def_grid_cells(const char *grid_name, const struct waitio_cpl_cells *cells);
/** The table from one grid to another by weights: both components call it with the same texts.
 * @param method as weight_method of the configuration, "conservative,nearest", or NULL
 * @param file instead of it: a weight file of ESMF or SCRIP, as weight_file; or NULL */
void h3ouc_set_interpolation_weights(const char *send_comp_name, const char *send_grid_name,
                                     const char *recv_comp_name, const char *recv_grid_name,
                                     int map_tag, const char *method, const char *file);

void h3ouc_init_time(const int *time_array);
void h3ouc_set_time(const char *my_name, const int *time_array, int delta_t);
void h3ouc_inc_calendar(int *time_array, int delta_t);
/** @param data as many numbers as this process has points of the variable's grid */
void h3ouc_put_data_1d(const char *data_name, const double *data);
/** @param data [layer][point] */
void h3ouc_put_data_25d(const char *data_name, const double *data);
void h3ouc_get_data_1d(const char *data_name, double *data, int *is_get_ok);
void h3ouc_get_data_25d(const char *data_name, double *data, int *is_get_ok);
int h3ouc_get_num_of_put_data(void);
/** @param data_num from 0 @param data_name room for 65 characters at least */
void h3ouc_get_put_data_name(int data_num, char *data_name);
int h3ouc_get_num_of_get_data(void);
void h3ouc_get_get_data_name(int data_num, char *data_name);
int h3ouc_get_vlayer(const char *data_name);
/** Sends what lag 1 still owes, ends the coupling. @param is_call_finalize 0: the program calls
 * MPI_Finalize() itself. It may be left out */
void h3ouc_coupling_end(const int *time_array, int is_call_finalize);
/** The end of a program that exchanges messages only. */
void h3ouc_end(void);

/* First process to first process; the receiver's component gets it in all its processes. */
void h3ouc_send_array_int(const char *my_comp_name, const char *recv_comp_name, const int *array,
                          int array_size);
void h3ouc_recv_array_int(const char *my_comp_name, const char *send_comp_name, int *array,
                          int array_size);
void h3ouc_send_array_float(const char *my_comp_name, const char *recv_comp_name,
                            const float *array, int array_size);
void h3ouc_recv_array_float(const char *my_comp_name, const char *send_comp_name, float *array,
                            int array_size);
void h3ouc_send_array_double(const char *my_comp_name, const char *recv_comp_name,
                             const double *array, int array_size);
void h3ouc_recv_array_double(const char *my_comp_name, const char *send_comp_name, double *array,
                             int array_size);
void h3ouc_send_int(const char *target_name, int data);
void h3ouc_send_float(const char *target_name, float data);
void h3ouc_send_double(const char *target_name, double data);
void h3ouc_recv_int(const char *source_name, int *data);
void h3ouc_recv_float(const char *source_name, float *data);
void h3ouc_recv_double(const char *source_name, double *data);
void h3ouc_send_int_array(const char *target_name, const int data[], int array_size);
void h3ouc_send_float_array(const char *target_name, const float data[], int array_size);
void h3ouc_send_double_array(const char *target_name, const double data[], int array_size);
void h3ouc_recv_int_array(const char *source_name, int *data, int array_size);
void h3ouc_recv_float_array(const char *source_name, float *data, int array_size);
void h3ouc_recv_double_array(const char *source_name, double *data, int array_size);

/* From the first process of a component to all processes of all. */
void h3ouc_bcast_global_int(const char *source_name, int *data, int array_size);
void h3ouc_bcast_global_float(const char *source_name, float *data, int array_size);
void h3ouc_bcast_global_double(const char *source_name, double *data, int array_size);
/* From the first process of a component to all processes of another, and of its own. */
void h3ouc_bcast_model_int(const char *source_name, const char *target_name, int *data,
                           int array_size);
void h3ouc_bcast_model_float(const char *source_name, const char *target_name, float *data,
                             int array_size);
void h3ouc_bcast_model_double(const char *source_name, const char *target_name, double *data,
                              int array_size);
/* To and from one process of a component. */
void h3ouc_send_model_int(const char *target_name, int target_pe, const int *data, int array_size);
void h3ouc_send_model_float(const char *target_name, int target_pe, const float *data,
                            int array_size);
void h3ouc_send_model_double(const char *target_name, int target_pe, const double *data,
                             int array_size);
void h3ouc_recv_model_int(const char *source_name, int source_pe, int *data, int array_size);
void h3ouc_recv_model_float(const char *source_name, int source_pe, float *data, int array_size);
void h3ouc_recv_model_double(const char *source_name, int source_pe, double *data, int array_size);
void h3ouc_isend_model_int(const char *target_name, int target_pe, const int *data, int array_size);
void h3ouc_isend_model_float(const char *target_name, int target_pe, const float *data,
                             int array_size);
void h3ouc_isend_model_double(const char *target_name, int target_pe, const double *data,
                              int array_size);
void h3ouc_irecv_model_int(const char *source_name, int source_pe, int *data, int array_size);
void h3ouc_irecv_model_float(const char *source_name, int source_pe, float *data, int array_size);
void h3ouc_irecv_model_double(const char *source_name, int source_pe, double *data, int array_size);
void h3ouc_isend_waitall(void);
void h3ouc_irecv_waitall(void);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#ifndef H3OUC_PLAIN
/* Published with one argument and with two. */
#define WAITIO_H3OUC_END(time_array, flag, ...) (h3ouc_coupling_end)(time_array, flag)
#define h3ouc_coupling_end(...) WAITIO_H3OUC_END(__VA_ARGS__, 1, 0)
#endif
#endif /* H3OUC_H */
