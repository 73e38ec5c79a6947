/* SPDX-License-Identifier: BSD-3-Clause */
/* In place of store.c where netCDF-C is missing: the two functions that are called from outside say
 * so, nothing else can be reached. */
#ifndef WIO_HAVE_NETCDF

#include "coupler/weights/grid.h"
#include "coupler/weights/store.h"
#include "waitio_errors.h"

static int missing(const char *path, struct wio_weights_error *why)
{
    return wio_weights_fail(why, WAITIO_ERR_UNSUPPORTED,
                            "'%s': this WaitIO was built without netCDF; install netCDF-C (Debian: "
                            "apt-get install libnetcdf-dev) and build it again",
                            path);
}

int wio_store_open(const char *path, struct wio_store **store, struct wio_weights_error *why)
{
    (void)store;
    return missing(path, why);
}

int wio_store_create(const char *path, bool large, struct wio_store **store,
                     struct wio_weights_error *why)
{
    (void)store, (void)large;
    return missing(path, why);
}

int wio_store_close(struct wio_store *store, struct wio_weights_error *why)
{
    (void)store, (void)why;
    return 0;
}

bool wio_store_dim(struct wio_store *store, const char *name, size_t *length)
{
    (void)store, (void)name, (void)length;
    return false;
}

bool wio_store_has(struct wio_store *store, const char *variable)
{
    (void)store, (void)variable;
    return false;
}

size_t wio_store_extent(struct wio_store *store, const char *variable, int d)
{
    (void)store, (void)variable, (void)d;
    return 0;
}

int wio_store_rank(struct wio_store *store, const char *variable)
{
    (void)store, (void)variable;
    return -1;
}

bool wio_store_text(struct wio_store *store, const char *variable, const char *name, char *text,
                    size_t room)
{
    (void)store, (void)variable, (void)name, (void)text, (void)room;
    return false;
}

bool wio_store_number(struct wio_store *store, const char *variable, const char *name,
                      double *value)
{
    (void)store, (void)variable, (void)name, (void)value;
    return false;
}

int wio_store_get(struct wio_store *store, const char *variable, enum wio_store_type type,
                  size_t first, size_t count, void *to, struct wio_weights_error *why)
{
    (void)store, (void)type, (void)first, (void)count, (void)to;
    return missing(variable, why);
}

int wio_store_get_rows(struct wio_store *store, const char *variable, enum wio_store_type type,
                       size_t first, size_t rows, size_t width, void *to,
                       struct wio_weights_error *why)
{
    (void)store, (void)type, (void)first, (void)rows, (void)width, (void)to;
    return missing(variable, why);
}

int wio_store_add_dim(struct wio_store *store, const char *name, size_t length)
{
    (void)store, (void)name, (void)length;
    return -1;
}

void wio_store_add_variable(struct wio_store *store, const char *name, enum wio_store_type type,
                            int rank, const int *dims, const char *units)
{
    (void)store, (void)name, (void)type, (void)rank, (void)dims, (void)units;
}

void wio_store_add_text(struct wio_store *store, const char *variable, const char *name,
                        const char *text)
{
    (void)store, (void)variable, (void)name, (void)text;
}

void wio_store_add_number(struct wio_store *store, const char *variable, const char *name,
                          double value)
{
    (void)store, (void)variable, (void)name, (void)value;
}

void wio_store_begin(struct wio_store *store)
{
    (void)store;
}

void wio_store_put(struct wio_store *store, const char *variable, enum wio_store_type type,
                   const void *from)
{
    (void)store, (void)variable, (void)type, (void)from;
}

#endif /* WIO_HAVE_NETCDF */
