/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file restart_file.h
 * A netCDF file, as restarts need one. The library is loaded when the first file is opened: the
 * coupler does without it, and programs that write no restart do not load it.
 */
#ifndef WIO_CPL_RESTART_FILE_H
#define WIO_CPL_RESTART_FILE_H

#include "coupler/base.h"

struct wio_cpl_nc;

/** Begin a file beside @p path; wio_cpl_nc_finish() moves it there. @param large it may have arrays
 * of 2 GiB and more @return 0; UNSUPPORTED: no netCDF library; SYSTEM; NOMEM */
int wio_cpl_nc_create(const char *path, bool large, struct wio_cpl_nc **nc);
/** @return 0; SYSTEM: missing, or no netCDF; UNSUPPORTED; NOMEM */
int wio_cpl_nc_open(const char *path, struct wio_cpl_nc **nc);
/** End a file that was read, or take one back that was being written. NULL does nothing. */
void wio_cpl_nc_drop(struct wio_cpl_nc *nc);
/** All is written: bring it to the disk, then to its name. Frees @p nc. @return 0; SYSTEM: what was
 * there before is still there */
int wio_cpl_nc_finish(struct wio_cpl_nc *nc);

/* Writing. Errors are kept until wio_cpl_nc_finish(). Numbers are those of netCDF. */
/** @param length 0 becomes 1: netCDF has no empty dimensions */
int wio_cpl_nc_dim(struct wio_cpl_nc *nc, const char *name, size_t length);
int wio_cpl_nc_var(struct wio_cpl_nc *nc, const char *name, bool real, int rank, const int *dims);
/** @param var -1: of the file */
void wio_cpl_nc_text(struct wio_cpl_nc *nc, int var, const char *name, const char *text);
void wio_cpl_nc_number(struct wio_cpl_nc *nc, int var, const char *name, double value);
void wio_cpl_nc_begin(struct wio_cpl_nc *nc);
/** @param rank of the variable, 1 or 2 @param layer its place along the first of two dimensions */
void wio_cpl_nc_put(struct wio_cpl_nc *nc, int var, int rank, size_t layer, size_t first, size_t n,
                    const double *from);
/** Has an error been kept? */
bool wio_cpl_nc_failed(const struct wio_cpl_nc *nc);

/* Reading. */
/** Is there such an attribute? */
bool wio_cpl_nc_has(const struct wio_cpl_nc *nc, int var, const char *name);
/* @return 0; SYSTEM, with the file's name and what is missing in it */
int wio_cpl_nc_get_text(struct wio_cpl_nc *nc, int var, const char *name, char *text, size_t room);
int wio_cpl_nc_get_number(struct wio_cpl_nc *nc, int var, const char *name, double *value);
int wio_cpl_nc_length(struct wio_cpl_nc *nc, const char *dim, size_t *length);
int wio_cpl_nc_find(struct wio_cpl_nc *nc, const char *name, int *var);
int wio_cpl_nc_get(struct wio_cpl_nc *nc, int var, int rank, size_t layer, size_t first, size_t n,
                   double *to);

#endif
