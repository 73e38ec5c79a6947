/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file renamed.h
 * Requests of programs that are built by renaming, in C and in Fortran: integers, so that programs
 * can compare them and give static ones an initial value, as with MPI. 0 is the null request. A
 * table has the library's request of each number. It never moves and needs no lock: a call works on
 * the request in its place.
 *
 * renamed_gen.c and libwaitio_mpi_rename use these functions around each call that has requests. A
 * number that is not (or no longer) in use becomes a request that the library refuses, with its own
 * message.
 */
#ifndef WIO_MPI_RENAMED_H
#define WIO_MPI_RENAMED_H

#include <stdbool.h>
#include <stdint.h>

#include "waitio_mpi.h"

/* Each function has a name within the library, and one (ending in _, as Fortran has it) for
 * libwaitio_mpi_rename. */
#define WIO_RENAMED(RESULT, NAME, ARGUMENTS)                                                       \
    RESULT wio_renamed_##NAME ARGUMENTS;                                                           \
    __attribute__((visibility("default"))) RESULT waitio_renamed_##NAME##_ ARGUMENTS

/** Take a number for a request to be started. @param call for the message @param given where the
 * program wants it: must not be NULL @param[out] number,r the number, and its request, a null one
 * @return 0; ARG, NOMEM, LIMIT, after the error policy */
WIO_RENAMED(int, new, (const char *call, const void *given, int32_t *number, waitio_req_t **r));
/** After the start: the number, or 0 when there is no request, because the start failed. */
WIO_RENAMED(int32_t, keep, (int32_t number, waitio_req_t *r));
/** The request of a number, in its place, or @p none: a null one, or one that is refused. NULL when
 * @p number is NULL. */
WIO_RENAMED(waitio_req_t *, find, (const int32_t *number, waitio_req_t *none));
/** A copy of the request of a number, for calls that read it. One of them, Grequest_complete, may
 * be made while another thread waits for the request or frees it. */
WIO_RENAMED(waitio_req_t, read, (int32_t number));
/** After such a call: a generalized request that was freed before gives its number back. */
WIO_RENAMED(void, ended, (int32_t number));
/** After a call with what find returned: a request that has become null gives its number back, and
 * *number becomes 0. */
WIO_RENAMED(void, settle, (int32_t * number, waitio_req_t *r));

/** The requests of an array of numbers, copied. */
struct wio_renamed_many {
    waitio_req_t few[8], *r;
};
/** @return 0; NOMEM after the error policy */
WIO_RENAMED(int, take,
            (const char *call, int n, const int32_t numbers[], struct wio_renamed_many *m));
/** What became of them; frees the copies. */
WIO_RENAMED(void, give, (int n, int32_t numbers[], struct wio_renamed_many *m));

/** After the universe has ended: all numbers become stale. */
void wio_renamed_forget(void);

/** Is the next non-blocking collective of this thread used as a blocking one? */
bool *wio_mpi_as_blocking(void);

#endif /* WIO_MPI_RENAMED_H */
