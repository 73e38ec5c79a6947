/* SPDX-License-Identifier: BSD-3-Clause */
/* Allreduce as reduction to rank 0 and broadcast. Cost 2 ceil(log2 p) (alpha + n beta) + folding.
 */
#include "mpi/collectives/collectives.h"

void wio_allreduce_reduce_bcast(struct wio_schedule *s, const struct wio_collective *c)
{
    struct wio_collective part = *c;

    part.root = 0;
    wio_reduce_binomial(s, &part);
    wio_bcast_binomial(s, &part);
}
