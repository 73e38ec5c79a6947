/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a provider must not decide: when a barrier is left, in which order persistent collectives
 * are started, and whether a member without data exchanges in place. NO_STARTED: no persistent
 * ones.
 */
#include <stdio.h>
#include <time.h>

#include "../lang/world.h"

enum { ROUNDS = 20 };

static int rank, size;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Nobody leaves before the last one, who comes late, has entered. */
static int barrier_holds(WAITIO_MPI_Comm world, int late)
{
    const struct timespec pause = {0, 50000000};
    double in, out, last, first;

    if (rank == late)
        nanosleep(&pause, NULL);
    in = now();
    WAITIO_MPI_Barrier(world);
    out = now();
    WAITIO_MPI_Allreduce(&in, &last, 1, WAITIO_MPI_DOUBLE, WAITIO_MPI_MAX, world);
    WAITIO_MPI_Allreduce(&out, &first, 1, WAITIO_MPI_DOUBLE, WAITIO_MPI_MIN, world);
    return first >= last;
}

/* Two persistent broadcasts, started in another order by each second member. */
static int any_order(WAITIO_MPI_Comm comm)
{
    WAITIO_MPI_Request two[2];
    int value[2], good = 1, me, n;

    WAITIO_MPI_Comm_rank(comm, &me);
    WAITIO_MPI_Comm_size(comm, &n);
    WAITIO_MPI_Bcast_init(&value[0], 1, WAITIO_MPI_INT, 0, comm, WAITIO_MPI_INFO_NULL, &two[0]);
    WAITIO_MPI_Bcast_init(&value[1], 1, WAITIO_MPI_INT, n - 1, comm, WAITIO_MPI_INFO_NULL, &two[1]);
    for (int i = 0; i < ROUNDS; i++) {
        int first = (me + i) % 2;
        value[0] = me == 0 ? i : -1;
        value[1] = me == n - 1 ? -2 - i : 0;
        WAITIO_MPI_Start(&two[first]);
        WAITIO_MPI_Start(&two[!first]);
        WAITIO_MPI_Waitall(2, two, WAITIO_MPI_STATUSES_IGNORE);
        good &= value[0] == i && value[1] == -2 - i;
    }
    WAITIO_MPI_Request_free(&two[0]);
    WAITIO_MPI_Request_free(&two[1]);
    return good;
}

/* Member 0 of each block has no data, and says so by NULL; the others exchange theirs. */
static int no_data(WAITIO_MPI_Comm block)
{
    int me, n, counts[16] = {0}, places[16] = {0}, mine[16], theirs[16], good = 1;

    WAITIO_MPI_Comm_rank(block, &me);
    WAITIO_MPI_Comm_size(block, &n);
    for (int i = 1; me > 0 && i < n; i++)
        counts[i] = 1, places[i] = i, mine[i] = 100 * me + i;
    WAITIO_MPI_Alltoallv(me > 0 ? mine : NULL, counts, places, WAITIO_MPI_INT,
                         me > 0 ? theirs : NULL, counts, places, WAITIO_MPI_INT, block);
    for (int i = 1; me > 0 && i < n; i++)
        good &= theirs[i] == 100 * i + me;
    return good;
}

int main(void)
{
    WAITIO_MPI_Comm world = open_world(), block;
    int pb = 0, good = 1;

    WAITIO_MPI_Comm_rank(world, &rank);
    WAITIO_MPI_Comm_size(world, &size);
    waitio_pb_rank(&pb);
    WAITIO_MPI_Comm_split(world, pb, 0, &block);
    good &= barrier_holds(world, 0) && barrier_holds(world, size - 1);
    good &= no_data(block);
#ifndef NO_STARTED
    good &= any_order(world) && any_order(block);
#endif
    WAITIO_MPI_Comm_free(&block);
    close_world(&world);
    printf(good ? "ok\n" : "wrong\n");
    return !good;
}
