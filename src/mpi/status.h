/* SPDX-License-Identifier: BSD-3-Clause */
/** @file status.h  Statuses of operations in the two forms that callers know. */
#ifndef WIO_MPI_STATUS_H
#define WIO_MPI_STATUS_H

#include "mpi/mpi.h"

/** MPI's form; @p out may be NULL. */
void wio_mpi_status_long(const waitio_status_t *st, WAITIO_MPI_Status *out);
/** The same, but MPI_ERROR keeps the value that the program gave it: MPI lets only calls that
 *  complete several operations set it. */
void wio_mpi_status_one(const waitio_status_t *st, WAITIO_MPI_Status *out);
/** What MPI reports of a receive from PROC_NULL. */
waitio_status_t wio_mpi_from_nobody(void);

/** Room for the statuses of many operations. */
enum { WIO_STATUSES_FEW = 32 };
struct wio_statuses {
    waitio_status_t few[WIO_STATUSES_FEW], *st;
};
/** Zeroed. @return 0; ARG for a negative count, NOMEM */
int wio_statuses_get(struct wio_statuses *s, int count);
void wio_statuses_put(struct wio_statuses *s);

#endif /* WIO_MPI_STATUS_H */
