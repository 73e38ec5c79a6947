/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file grequest.h
 * Generalized requests: operations of the program itself, which it waits for like for messages. The
 * request is one of request.c; here are its functions and its end.
 */
#ifndef WIO_MPI_GREQUEST_H
#define WIO_MPI_GREQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "waitio_mpi.h"

/** The language of the functions. Those of module `waitio` get a status with the fields of C, other
 * Fortran functions four integers. */
enum wio_grequest_language { WIO_GREQUEST_C, WIO_GREQUEST_FORTRAN, WIO_GREQUEST_TYPED };

typedef void wio_grequest_fn(void);

struct wio_grequest {
    enum wio_grequest_language language;
    wio_grequest_fn *query, *gone, *cancel;
    intptr_t extra;
    int state; /**< WIO_GREQUEST_ bits, changed atomically */
};
/** The operation has ended; the program has freed its request. Who sets the second one ends it. */
enum { WIO_GREQUEST_COMPLETE = 1, WIO_GREQUEST_FREED = 2 };

/** Start one. @return 0; ARG (a function is missing), NOMEM, LIMIT */
int wio_grequest_start(const struct wio_grequest *g, waitio_req_t *req);
/** What its query function says. @return 0, or what the function returned */
int wio_grequest_query(const struct wio_grequest *g, waitio_status_t *st);
int wio_grequest_cancel(const struct wio_grequest *g);
/** Call its free function. */
int wio_grequest_gone(const struct wio_grequest *g);

#endif /* WIO_MPI_GREQUEST_H */
