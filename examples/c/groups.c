/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups: who takes part, in which order, made without any communication.
 *
 *   cc -O2 groups.c -o groups $(pkg-config --cflags --libs waitio)
 *   waitio run -n 3 ./groups : -n 2 ./groups
 */
#include <stdio.h>
#include <stdlib.h>

#include <waitio.h>
#include <waitio_mpi.h>

static void must(int code)
{
    if (code != 0)
        exit(1);
}

/* A filter says which ranks of a block are members: here the even ones of every block. */
static int even(int pbid, int n)
{
    (void)pbid;
    return n % 2 == 0;
}

int main(void)
{
    int npb, pbid, me, size, *nprocs, universe_rank, where, rank_there, sum = 0, one = 1;
    waitio_group_t members, mine;
    waitio_filter_func_t *filter;
    int *order;

    must(waitio_init(60));
    must(waitio_pb_size(&npb));
    must(waitio_pb_rank(&pbid));
    must(
        waitio_get_nprocs(&nprocs)); /* processes of each block; the array belongs to the library */
    must(waitio_universe_rank(&universe_rank));

    /* The even ranks of all blocks, last block first: order holds 1-based positions of the blocks.
     */
    filter = malloc(sizeof *filter * (size_t)npb);
    order = malloc(sizeof *order * (size_t)npb);
    if (filter == NULL || order == NULL)
        return 1;
    for (int p = 0; p < npb; p++) {
        filter[p] = even;
        order[p] = npb - p;
    }
    members = waitio_create_group(0, filter, order);
    if (members == NULL)
        return 1;
    must(waitio_group_rank(members, &me)); /* -1 when we are not in it */
    must(waitio_group_size(members, &size));
    if (me >= 0) {
        must(waitio_group_locate(members, 0, &where, &rank_there));
        printf(
            "block %d of %d processes, universe rank %d: rank %d of %d even ones; their first is "
            "rank %d of block %d\n",
            pbid, nprocs[pbid], universe_rank, me, size, rank_there, where);
        /* A group is a communicator of the conversion library. */
        must(waitio_mpi_allreduce(&one, &sum, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, members));
        if (sum != size)
            return 1;
    }

    /* One block alone. */
    must(waitio_group_pb(0, pbid, &mine));
    must(waitio_mpi_allreduce(&one, &sum, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, mine));
    if (sum != nprocs[pbid])
        return 1;
    must(waitio_group_free(&mine));
    must(waitio_group_free(&members));
    free(filter);
    free(order);
    must(waitio_finalize());
    return 0;
}
