/* SPDX-License-Identifier: BSD-3-Clause */
/** @file requests.h  What the forwarding procedures share. */
#ifndef WIO_RENAME_REQUESTS_H
#define WIO_RENAME_REQUESTS_H

#include <stdbool.h>
#include <stdio.h>

#include "mpi/renamed.h"

/** There is no number for a request, or no memory: the call ends. Without ierr so does the program.
 */
static inline bool failed(int code, int32_t *ierr)
{
    if (code != 0 && ierr == NULL) {
        fprintf(stderr, "waitio: %s\n", waitio_last_error());
        WAITIO_MPI_Abort(WAITIO_MPI_COMM_NULL, 1);
    } else if (code != 0) {
        *ierr = code;
    }
    return code != 0;
}

#endif /* WIO_RENAME_REQUESTS_H */
