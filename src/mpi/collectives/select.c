/* SPDX-License-Identifier: BSD-3-Clause */
/* Which algorithm for which call, as data. */
#include "mpi/collectives/collectives.h"

static const struct wio_algorithm algorithms[] = {
    {WIO_BARRIER, "dissemination", 0, 0, wio_barrier_dissemination},
    {WIO_BCAST, "binomial", 0, 0, wio_bcast_binomial},
    {WIO_REDUCE, "binomial", 0, 0, wio_reduce_binomial},
    /* Doubling moves n log p bytes through every process at once; above this size the tree's
     * 2 n log p on the longest path is no worse, and it loads a shared network much less. */
    {WIO_ALLREDUCE, "doubling", 0, 256 * 1024, wio_allreduce_doubling},
    {WIO_ALLREDUCE, "reduce_bcast", 0, 0, wio_allreduce_reduce_bcast},
    {WIO_GATHER, "linear", 0, 0, wio_gather_linear},
    {WIO_ALLGATHER, "bruck", 0, 4096, wio_allgather_bruck},
    {WIO_ALLGATHER, "ring", 0, 0, wio_allgather_ring},
    {WIO_SCATTER, "linear", 0, 0, wio_scatter_linear},
};

const struct wio_algorithm *wio_algorithm_row(int i)
{
    return i >= 0 && (size_t)i < WIO_ARRAY_LEN(algorithms) ? &algorithms[i] : NULL;
}

const struct wio_algorithm *wio_algorithm_select(enum wio_collective_kind kind, int size,
                                                 size_t bytes)
{
    const struct wio_algorithm *a = algorithms;

    /* The last row of a kind admits everything, so this ends. */
    while (a->kind != kind || (a->max_size != 0 && size > a->max_size) ||
           (a->max_bytes != 0 && bytes > a->max_bytes))
        a++;
    return a;
}
