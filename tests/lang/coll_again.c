/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same short collectives over and over, as time steps make them: the same buffers with other
 * data, several calls in turn (so that they take each other's place among what is kept), roots that
 * rotate, communicators that come and go.
 */
#include <stdio.h>
#include <string.h>
#include <waitio_mpi.h>

enum { STEPS = 5, MOST = 16, LONGEST = 40 };

static const int counts[] = {0, 1, 3, LONGEST};
enum { COUNTS = sizeof counts / sizeof *counts };

static int failures, step;

struct team {
    WAITIO_MPI_Comm comm;
    int rank, size;
};

/* A pair with a hole behind its second part. */
struct pair {
    double value;
    int place;
};

static long in[COUNTS][LONGEST], out[COUNTS][LONGEST], all[COUNTS][MOST * LONGEST];
static long many[COUNTS][MOST * LONGEST];
static struct pair pin[3], pout[3];

static long value(int rank, int i)
{
    return step * 1000003L + rank * 1009L + i * 7L;
}

static void expect(int ok, const char *what, const struct team *t, int n)
{
    if (!ok && failures++ < 5)
        fprintf(stderr, "coll_again: %s of %d on %d in step %d is wrong\n", what, n, t->size, step);
}

static long sum_to(int last, int i)
{
    long sum = 0;
    for (int r = 0; r <= last; r++)
        sum += value(r, i);
    return sum;
}

/* Does out hold the sums over ranks 0 to last? */
static int sums(int c, int last)
{
    int ok = 1;
    for (int i = 0; i < counts[c]; i++)
        ok &= out[c][i] == sum_to(last, i);
    return ok;
}

static void reductions(const struct team *t, int c, int root)
{
    const WAITIO_MPI_Datatype L = WAITIO_MPI_LONG;
    const WAITIO_MPI_Op S = WAITIO_MPI_SUM;
    int n = counts[c], last = t->size - 1;

    WAITIO_MPI_Allreduce(in[c], out[c], n, L, S, t->comm);
    expect(sums(c, last), "allreduce", t, n);
    WAITIO_MPI_Reduce(in[c], out[c], n, L, S, root, t->comm);
    expect(t->rank != root || sums(c, last), "reduce", t, n);
    WAITIO_MPI_Scan(in[c], out[c], n, L, S, t->comm);
    expect(sums(c, t->rank), "scan", t, n);
    WAITIO_MPI_Exscan(in[c], out[c], n, L, S, t->comm);
    expect(t->rank == 0 || sums(c, t->rank - 1), "exscan", t, n);
    memcpy(out[c], in[c], sizeof in[c]);
    WAITIO_MPI_Allreduce(WAITIO_MPI_IN_PLACE, out[c], n, L, S, t->comm);
    expect(sums(c, last), "allreduce in place", t, n);
    memcpy(out[c], in[c], sizeof in[c]);
    WAITIO_MPI_Reduce(t->rank == root ? WAITIO_MPI_IN_PLACE : in[c], out[c], n, L, S, root,
                      t->comm);
    expect(t->rank != root || sums(c, last), "reduce in place", t, n);
    for (int i = 0; i < t->size * n; i++)
        many[c][i] = value(t->rank, i);
    WAITIO_MPI_Reduce_scatter_block(many[c], out[c], n, L, S, t->comm);
    for (int i = 0; i < n; i++)
        expect(out[c][i] == sum_to(last, t->rank * n + i), "reduce_scatter_block", t, n);
}

static int blocks(const long *at, int n, int ranks, int shift)
{
    int ok = 1;
    for (int r = 0; r < ranks; r++)
        for (int i = 0; i < n; i++)
            ok &= at[r * n + i] == value(r, shift + i);
    return ok;
}

static void movements(const struct team *t, int c, int root)
{
    const WAITIO_MPI_Datatype L = WAITIO_MPI_LONG;
    int n = counts[c], ok = 1;

    memcpy(out[c], in[c], sizeof in[c]);
    WAITIO_MPI_Bcast(out[c], n, L, root, t->comm);
    for (int i = 0; i < n; i++)
        ok &= out[c][i] == value(root, i);
    expect(ok, "bcast", t, n);
    WAITIO_MPI_Gather(in[c], n, L, all[c], n, L, root, t->comm);
    expect(t->rank != root || blocks(all[c], n, t->size, 0), "gather", t, n);
    memset(all[c], 0, sizeof all[c]);
    WAITIO_MPI_Allgather(in[c], n, L, all[c], n, L, t->comm);
    expect(blocks(all[c], n, t->size, 0), "allgather", t, n);
    for (int i = 0; i < t->size * n; i++)
        many[c][i] = value(t->rank, i);
    WAITIO_MPI_Scatter(many[c], n, L, out[c], n, L, root, t->comm);
    for (int i = 0; i < n; i++)
        expect(out[c][i] == value(root, t->rank * n + i), "scatter", t, n);
    WAITIO_MPI_Alltoall(many[c], n, L, all[c], n, L, t->comm);
    expect(blocks(all[c], n, t->size, t->rank * n), "alltoall", t, n);
    memcpy(all[c], many[c], sizeof many[c]);
    WAITIO_MPI_Alltoall(WAITIO_MPI_IN_PLACE, n, L, all[c], n, L, t->comm);
    expect(blocks(all[c], n, t->size, t->rank * n), "alltoall in place", t, n);
}

/* A type with a hole is packed anew every time. */
static void pairs(const struct team *t)
{
    for (int i = 0; i < 3; i++)
        pin[i] = (struct pair){(double)value((t->rank + step + i) % t->size, 0), t->rank};
    WAITIO_MPI_Allreduce(pin, pout, 3, WAITIO_MPI_DOUBLE_INT, WAITIO_MPI_MAXLOC, t->comm);
    for (int i = 0; i < 3; i++) {
        int who = 0;
        while ((who + step + i) % t->size != t->size - 1)
            who++;
        expect(pout[i].value == (double)value(t->size - 1, 0) && pout[i].place == who, "maxloc", t,
               3);
    }
}

static void all_kinds(const struct team *t, int c, int root)
{
    for (int i = 0; i < counts[c]; i++)
        in[c][i] = value(t->rank, i);
    reductions(t, c, root);
    WAITIO_MPI_Barrier(t->comm);
    movements(t, c, root);
}

/* Each count for some steps, then all of them in turn, with roots that rotate. */
static void steps(const struct team *t)
{
    for (int c = 0; c < COUNTS; c++)
        for (int s = 0; s < STEPS; s++, step++)
            all_kinds(t, c, c % t->size);
    for (int s = 0; s < STEPS; s++, step++) {
        for (int c = 0; c < COUNTS; c++)
            all_kinds(t, c, (s / 3 + c) % t->size);
        pairs(t);
    }
}

/* One call alone, as a solver repeats it. */
static void one_kind(const struct team *t)
{
    for (int k = 0; k < 10; k++, step++) {
        in[1][0] = value(t->rank, 0);
        WAITIO_MPI_Allreduce(in[1], out[1], 1, WAITIO_MPI_LONG, WAITIO_MPI_SUM, t->comm);
        expect(sums(1, t->size - 1), "allreduce alone", t, 1);
    }
}

static struct team team_of(WAITIO_MPI_Comm comm)
{
    struct team t = {.comm = comm};
    WAITIO_MPI_Comm_rank(comm, &t.rank);
    WAITIO_MPI_Comm_size(comm, &t.size);
    return t;
}

int main(void)
{
    struct team world, part;

    WAITIO_MPI_Init(NULL, NULL);
    world = team_of(WAITIO_MPI_COMM_WORLD);
    steps(&world);
    one_kind(&world);
    for (int round = 0; round < 3; round++) { /* parts that cross the blocks, in reverse order */
        WAITIO_MPI_Comm_split(world.comm, (world.rank + round) % 2, -world.rank, &part.comm);
        part = team_of(part.comm);
        steps(&part);
        one_kind(&part);
        WAITIO_MPI_Comm_free(&part.comm);
    }
    WAITIO_MPI_Finalize();
    if (failures == 0)
        printf("coll_again: ok\n");
    return failures > 0;
}
