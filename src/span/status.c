/* SPDX-License-Identifier: BSD-3-Clause */
/* Statuses of ours as statuses of the vendor's. */
#include "span/span.h"

static int rank_of(int rank)
{
    return rank >= 0                       ? rank
           : rank == WAITIO_MPI_PROC_NULL  ? MPI_PROC_NULL
           : rank == WAITIO_MPI_ANY_SOURCE ? MPI_ANY_SOURCE
                                           : rank;
}

void span_status(const WAITIO_MPI_Status *from, MPI_Status *to)
{
    if (to == MPI_STATUS_IGNORE)
        return;
    to->MPI_SOURCE = rank_of(from->MPI_SOURCE);
    to->MPI_TAG = from->MPI_TAG == WAITIO_MPI_ANY_TAG ? MPI_ANY_TAG : from->MPI_TAG;
    (void)PMPI_Status_set_cancelled(to, from->waitio_cancelled != 0);
    (void)PMPI_Status_set_elements_x(to, MPI_BYTE, (MPI_Count)from->waitio_bytes);
}
