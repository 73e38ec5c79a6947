/* SPDX-License-Identifier: BSD-3-Clause */
/** @file waiting.h  What waiting for several requests needs from each (request.c). */
#ifndef WIO_MPI_WAITING_H
#define WIO_MPI_WAITING_H

#include <stdbool.h>

#include "waitio.h"

/** Is it an operation of the conversion library, not a plain message of the engine? */
bool wio_request_is_own(const waitio_req_t *req);
/** Test, and make progress when @p poll. *idle: null, or persistent and not started.
 *  @return 0; REQUEST for one that was freed */
int wio_request_peek(const waitio_req_t *req, bool poll, bool *done, bool *idle);
/** Sleep until one of the requests is done, or so long. @return 0; NOMEM */
int wio_request_sleep(int n, const waitio_req_t reqs[], int64_t timeout_ns);

#endif /* WIO_MPI_WAITING_H */
