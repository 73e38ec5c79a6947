/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file face.h
 * What the C, Fortran and Python faces of h3-Open-UTIL/MP share. Built once for each MPI, on public
 * headers only. Errors end the program, so nothing here returns one.
 */
#ifndef WIO_H3OU_FACE_H
#define WIO_H3OU_FACE_H

#include <mpi.h>

#include "waitio_cpl.h"

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/** Types of messages, as Fortran names them. */
enum { WIO_H3OU_INT, WIO_H3OU_REAL, WIO_H3OU_DOUBLE, WIO_H3OU_TEXT };

/** @param conf NULL or "": messages only @param members of the ensemble; 1 */
void wio_h3ou_open(const char *name, const char *conf, int members);
/** @param finalize call MPI_Finalize() */
void wio_h3ou_close(int finalize);
/** The open coupler; ends the program if there is none, naming the call. */
waitio_cpl_t wio_h3ou_cpl(const char *call);
/** The component's MPI communicator. */
MPI_Comm wio_h3ou_comm(void);
void wio_h3ou_mpi(int *comm, int *group, int *size, int *rank);
/** Index of a component that runs; else ends the program. */
int wio_h3ou_component(const char *call, const char *name);
/** 1-based number of a component, by name; 0 if it does not run. */
int wio_h3ou_number(const char *name);
int wio_h3ou_own_number(void);
/** The own component's name, with the number of a member; or that of the component that a member
 * exchanges with, nothing where there is no ensemble, or several others. Blanks behind. */
void wio_h3ou_who(int other, char *out, int room);

void wio_h3ou_grid(const int *index, int n, const char *comp, const char *grid);
void wio_h3ou_grids_done(void);
/** @param n -1: this side gives no table */
void wio_h3ou_table(const char *send_comp, const char *send_grid, const char *recv_comp,
                    const char *recv_grid, int tag, const int *send_index, const int *recv_index,
                    const double *coef, const double *cos, const double *sin, int n);
/** Where the points of a grid are. */
void wio_h3ou_cells(const char *grid, const struct waitio_cpl_cells *cells);
/** A table by weights, which @p method makes, or which are in @p file. The other one is NULL. */
void wio_h3ou_weights(const char *send_comp, const char *send_grid, const char *recv_comp,
                      const char *recv_grid, int tag, const char *method, const char *file);
int wio_h3ou_points(const char *send_comp, const char *recv_comp, int tag, int sends);
void wio_h3ou_start(void);
void wio_h3ou_step(int seconds, int exchange);
/** send_data_immediately, recv_data_immediately: with component @p other. */
void wio_h3ou_now(const char *send_comp, const char *recv_comp, int sends);
void wio_h3ou_put(const char *name, const double *data, int points, int layers, int flat);
void wio_h3ou_get(const char *name, double *data, int points, int layers, int flat, int *fresh);
int wio_h3ou_count(int gets);
/** @param i from 0 @param out blanks or zeros behind, as @p fill says */
void wio_h3ou_name(int gets, int i, char *out, int room, char fill);
int wio_h3ou_layers(const char *name);
void wio_h3ou_calendar(int *time, int seconds);

/** To and from one process of a component. @param now 0: started only */
void wio_h3ou_send(const char *comp, int process, const void *data, int n, int type, int now);
void wio_h3ou_recv(const char *comp, int process, void *data, int n, int type, int now);
void wio_h3ou_wait(void);
/** Inside the own component. */
void wio_h3ou_send_own(int process, const void *data, int n, int type);
void wio_h3ou_recv_own(int process, void *data, int n, int type);
void wio_h3ou_bcast_own(int root, void *data, int n, int type);
/** First process to first process; then to all of the receiver's component. */
void wio_h3ou_send_array(const char *comp, const void *data, int n, int type);
void wio_h3ou_recv_array(const char *comp, void *data, int n, int type);
void wio_h3ou_bcast_global(const char *source, void *data, int n, int type);
void wio_h3ou_bcast_model(const char *source, const char *target, void *data, int n, int type);
/** Let the program's interpolate_data remap, if it has one. */
void wio_h3ou_hook(waitio_cpl_t cpl);
/** What the coupler does by itself, on the arrays of interpolate_data. @param n columns */
void wio_h3ou_interpolate(const char *recv_comp, const char *send_comp, int tag,
                          const double *send_data, int sn1, double *recv_data, int rn1, int n,
                          int exchange_tag);
/** Say why, and end all components. */
void wio_h3ou_die(const char *why);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#endif
