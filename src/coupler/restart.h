/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file restart.h
 * The state of the coupler on disk: one netCDF file for each component.
 *
 * Each process's share goes to the first process in pieces, which writes them one after another.
 * Between two steps a component's state is its own: what it has put and not sent, and its clock.
 * So components write their files without waiting for each other.
 */
#ifndef WIO_CPL_RESTART_H
#define WIO_CPL_RESTART_H

#include "coupler/cpl.h"

enum { WIO_CPL_RESTART_VERSION = 2, WIO_CPL_RESTART_PIECE = 1 << 16 };

/** One array of the state of a grid. */
struct wio_cpl_array {
    const struct wio_cpl_grid *grid;
    size_t layers;
    int64_t stamp; /**< when it was sent; -1: it is not kept for later */
    double *at;    /**< [layer][point] of this process; NULL: the global indices of the grid */
    char name[48];
    const struct wio_cpl_var *var; /**< whose it is; NULL: the grid's */
};
/** All arrays, in the order of the file. @param[out] arrays struct wio_cpl_array */
int wio_cpl_restart_arrays(const struct waitio_cpl *cpl, struct wio_cpl_list *arrays);
/** Fingerprint of all that the configuration says of this component. */
uint64_t wio_cpl_restart_print(const struct waitio_cpl *cpl);
/** Sum of numbers, one after another, that tells a damaged file. */
uint64_t wio_cpl_restart_sum(uint64_t sum, const double *x, size_t n);
/** Points of each process. @param[out] n of this grid, by rank; freed by free() */
int wio_cpl_restart_counts(struct waitio_cpl *cpl, const struct wio_cpl_grid *grid, int64_t **n);
/** Numbers to or from a process of this component. */
int wio_cpl_restart_move(struct waitio_cpl *cpl, int rank, bool receives, double *x, size_t n);

/** Write the file. Collective over the component. */
int wio_cpl_restart_save(struct waitio_cpl *cpl, const char *path);
/** Read it, by any number of processes. Collective over the component. */
int wio_cpl_restart_load(struct waitio_cpl *cpl, const char *path);

/** Name of the file of a component at a time, as the configuration says. */
void wio_cpl_restart_name(const struct waitio_cpl *cpl, const char *component, int64_t time,
                          char *out, size_t room);
/** The latest time for which this component has a file, where its first process is; -1: none.
 * Collective over the component. */
int wio_cpl_restart_own_latest(struct waitio_cpl *cpl, int64_t *time);
/** The latest time for which all components have a file whose programs name none; -1: none has any.
 * Collective over all. */
int wio_cpl_restart_latest(struct waitio_cpl *cpl, int64_t *time);
/** Remove this component's files that are older than the latest that all have. */
void wio_cpl_restart_tidy(const struct waitio_cpl *cpl);

#endif
