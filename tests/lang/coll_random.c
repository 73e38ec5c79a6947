/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random collectives against a sequential reference: every process draws the same numbers, so that
 * each knows everybody's data. Sizes reach every algorithm of the table.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

enum { ROUNDS = 150, MOST = 50000 };

static uint64_t state = 88172645463325252u;
static int failures, me, n;
static WAITIO_MPI_Comm comm;
static int32_t *in, *out, *all;

static int draw(int below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int)(state % (uint64_t)below);
}

static int32_t value(int round, int rank, int i)
{
    return (round * 31 + rank * 1009 + i * 7) % 100003 - 50000;
}

static void expect(int ok, const char *what, int round)
{
    if (!ok && failures++ < 5)
        fprintf(stderr, "coll_random: %s of round %d is wrong\n", what, round);
}

static int32_t folded(int round, int op, int i)
{
    int64_t r = value(round, 0, i);

    for (int p = 1; p < n; p++) {
        int64_t v = value(round, p, i);
        r = op == WAITIO_MPI_SUM ? r + v : op == WAITIO_MPI_MAX ? (v > r ? v : r) : (v < r ? v : r);
    }
    return (int32_t)r;
}

static void reduction(int round, int count, int root, int everywhere)
{
    static const int ops[] = {WAITIO_MPI_SUM, WAITIO_MPI_MAX, WAITIO_MPI_MIN};
    int op = ops[draw(3)], good = 1;

    if (everywhere)
        waitio_mpi_allreduce(in, out, count, WAITIO_MPI_INT, op, comm);
    else
        waitio_mpi_reduce(in, out, count, WAITIO_MPI_INT, op, root, comm);
    for (int i = 0; (everywhere || me == root) && i < count; i++)
        good &= out[i] == folded(round, op, i);
    expect(good, everywhere ? "allreduce" : "reduce", round);
}

static void bcast(int round, int count, int root)
{
    int good = 1;

    memcpy(out, in, (size_t)count * sizeof *in);
    waitio_mpi_bcast(out, count, WAITIO_MPI_INT, root, comm);
    for (int i = 0; i < count; i++)
        good &= out[i] == value(round, root, i);
    expect(good, "bcast", round);
}

static void gather(int round, int count, int root, int everywhere)
{
    int good = 1;

    if (everywhere)
        waitio_mpi_allgather(in, all, count, WAITIO_MPI_INT, comm);
    else
        waitio_mpi_gather(in, all, count, WAITIO_MPI_INT, root, comm);
    for (int p = 0; (everywhere || me == root) && p < n; p++)
        for (int i = 0; i < count; i++)
            good &= all[(size_t)p * (size_t)count + (size_t)i] == value(round, p, i);
    expect(good, everywhere ? "allgather" : "gather", round);
}

/* Uneven parts, some empty, in reversed order; down to everybody and up again. */
static void uneven(int round, int count, int root)
{
    int *counts = malloc(sizeof *counts * (size_t)n), *displs = malloc(sizeof *displs * (size_t)n);
    int at = 0, good = 1;

    for (int p = n - 1; p >= 0; p--) {
        counts[p] = draw(4) == 0 ? 0 : draw(count + 1);
        displs[p] = at;
        at += counts[p];
    }
    for (int i = 0; i < at; i++)
        all[i] = value(round, root, i);
    waitio_mpi_scatterv(all, counts, displs, WAITIO_MPI_INT, out, counts[me], WAITIO_MPI_INT, root,
                        comm);
    for (int i = 0; i < counts[me]; i++)
        good &= out[i] == value(round, root, displs[me] + i);
    expect(good, "scatterv", round);
    memset(all, 0, (size_t)at * sizeof *all);
    waitio_mpi_gatherv(out, counts[me], WAITIO_MPI_INT, all, counts, displs, WAITIO_MPI_INT, root,
                       comm);
    for (int i = 0; me == root && i < at; i++)
        good &= all[i] == value(round, root, i);
    expect(good, "gatherv", round);
    free(counts);
    free(displs);
}

int main(void)
{
    static const int sizes[] = {1, 10, 1500, MOST};

    comm = open_world();
    waitio_group_rank(comm, &me);
    waitio_group_size(comm, &n);
    in = malloc(sizeof *in * MOST);
    out = malloc(sizeof *out * MOST);
    all = malloc(sizeof *all * MOST * (size_t)n);
    for (int round = 0; round < ROUNDS; round++) {
        int limit = sizes[draw(4)], count = draw(limit + 1), root = draw(n), kind = draw(7);
        if (round % 10 == 0)
            count = 0;
        if (round % 25 == 1) /* beyond the limits of the table: the other algorithms */
            count = MOST + 1 - n;
        for (int i = 0; i < count; i++)
            in[i] = value(round, me, i);
        if (kind < 2)
            reduction(round, count, root, kind == 0);
        else if (kind == 2)
            bcast(round, count, root);
        else if (kind < 5)
            gather(round, count, root, kind == 3);
        else if (kind == 5)
            uneven(round, count, root);
        else
            waitio_mpi_barrier(comm);
    }
    waitio_mpi_barrier(comm);
    close_world(&comm);
    if (failures == 0)
        printf("ok\n");
    free(in);
    free(out);
    free(all);
    return failures != 0;
}
