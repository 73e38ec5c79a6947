/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file requests.h
 * MPI's Fortran programs hold a request in one integer, the conversion library in 22. This table
 * keeps the library's requests and gives out numbers for them; 0 is the null request. A number that
 * is not (or no longer) in use turns into a request that the library refuses, with its own message.
 *
 * Thread-safe. A request is taken out as a copy, and given back after the call that used it.
 */
#ifndef WIO_RENAME_REQUESTS_H
#define WIO_RENAME_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "waitio_mpi.h"

/** The request of *@p number. @return true */
bool wio_rename_take(const void *number, waitio_req_t *r, int32_t *ierr);
/** What became of it: a null one frees its number. */
void wio_rename_give(void *number, const waitio_req_t *r);
/** A number for a request just started; a null one (the call failed) becomes 0. */
void wio_rename_new(void *number, const waitio_req_t *r, int32_t *ierr);
/** *@p count requests, in memory that wio_rename_give_all() frees.
 *  @return false when there is none: *ierr is set, or the program has ended */
bool wio_rename_take_all(const void *count, const void *numbers, waitio_req_t **r, int32_t *ierr);
void wio_rename_give_all(const void *count, void *numbers, waitio_req_t *r);

#endif /* WIO_RENAME_REQUESTS_H */
