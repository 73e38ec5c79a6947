/* SPDX-License-Identifier: BSD-3-Clause */
/* A universe of one process for tests of the conversion library, which returns errors. */
#ifndef MPI_ALONE_H
#define MPI_ALONE_H

#include <stdlib.h>

#include "mpi/mpi.h"

static int alone_join(void **state)
{
    (void)state;
    setenv("WAITIO_ERRORS", "return", 1);
    setenv("WAITIO_NPB", "1", 1);
    setenv("WAITIO_PBID", "0", 1);
    setenv("WAITIO_RANK", "0", 1);
    setenv("WAITIO_NPROCS", "1", 1);
    return waitio_init(20) != 0;
}

static int alone_leave(void **state)
{
    (void)state;
    return WAITIO_MPI_Finalize();
}

#endif
