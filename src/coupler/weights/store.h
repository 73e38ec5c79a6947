/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A netCDF file: the few things that grids and weights need of one. store.c is the only place that
 * knows netCDF-C; built without it, opening and creating fail and say which package is missing.
 *
 * netCDF-C is not thread-safe: one thread at a time in all of these.
 */
#ifndef WIO_WEIGHTS_STORE_H
#define WIO_WEIGHTS_STORE_H

#include "coupler/weights/weights.h"

struct wio_store;

enum wio_store_type { WIO_STORE_BYTE, WIO_STORE_INT, WIO_STORE_INT64, WIO_STORE_DOUBLE };

/** @return 0; WAITIO_ERR_SYSTEM: it cannot be read; WAITIO_ERR_UNSUPPORTED: built without netCDF */
int wio_store_open(const char *path, struct wio_store **store, struct wio_weights_error *why);
/** Writes beside the file, which wio_store_close() replaces when all is there. Refuses what is no
 * regular file. @param large  variables may have 4 GiB and more */
int wio_store_create(const char *path, bool large, struct wio_store **store,
                     struct wio_weights_error *why);
/** Ends it and frees the store. @return 0, or that what was written did not reach the file: then
 * the file is as it was */
int wio_store_close(struct wio_store *store, struct wio_weights_error *why);

/* Reading. */
bool wio_store_dim(struct wio_store *store, const char *name, size_t *length);
bool wio_store_has(struct wio_store *store, const char *variable);
/** Length along dimension `d` of a variable; 0: no such variable or dimension. */
size_t wio_store_extent(struct wio_store *store, const char *variable, int d);
int wio_store_rank(struct wio_store *store, const char *variable);
/** Text of an attribute; variable NULL: of the file. @return false: there is none */
bool wio_store_text(struct wio_store *store, const char *variable, const char *name, char *text,
                    size_t room);
bool wio_store_number(struct wio_store *store, const char *variable, const char *name,
                      double *value);
/** Reads `count` numbers in the order of the file from number `first` on, of a variable of one
 * dimension (others may have length 1), or all of any variable that has exactly `count` (first =
 * 0). */
int wio_store_get(struct wio_store *store, const char *variable, enum wio_store_type type,
                  size_t first, size_t count, void *to, struct wio_weights_error *why);
/** Reads rows first .. first + rows - 1 of a variable of two dimensions, whose second is `width`.
 */
int wio_store_get_rows(struct wio_store *store, const char *variable, enum wio_store_type type,
                       size_t first, size_t rows, size_t width, void *to,
                       struct wio_weights_error *why);

/* Writing: dimensions and variables, then wio_store_begin(), then data. Errors are kept until
 * close. */
int wio_store_add_dim(struct wio_store *store, const char *name, size_t length);
/** @param dims  numbers from wio_store_add_dim() */
void wio_store_add_variable(struct wio_store *store, const char *name, enum wio_store_type type,
                            int rank, const int *dims, const char *units);
void wio_store_add_text(struct wio_store *store, const char *variable, const char *name,
                        const char *text);
void wio_store_add_number(struct wio_store *store, const char *variable, const char *name,
                          double value);
void wio_store_begin(struct wio_store *store);
void wio_store_put(struct wio_store *store, const char *variable, enum wio_store_type type,
                   const void *from);

#endif /* WIO_WEIGHTS_STORE_H */
