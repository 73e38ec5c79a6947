/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of a type with holes: every other double of an array (the column of a matrix of two).
 * The library packs and unpacks, or the program does (by hand), or the data has no holes (plain);
 * the three take turns. Two processes, ping-pong. One source for WaitIO and, with -DBENCH_MPI, for
 * an MPI (bench/typed.py does that).
 *   bench_types [sizes=1024,...] [ms=30] [pin=1] [only=typed,hand,plain,started]
 */
#ifdef BENCH_MPI
#include <mpi.h>
#else
#include <waitio_mpi_rename.h>
#endif

#include "common.h"

static int me;
static double *holed, *packed; /* two doubles per element; one */
static MPI_Datatype column;

static void send(void *buf, int n, MPI_Datatype type)
{
    MPI_Send(buf, n, type, 1 - me, 0, MPI_COMM_WORLD);
}

static void receive(void *buf, int n, MPI_Datatype type)
{
    MPI_Recv(buf, n, type, 1 - me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void typed_send(int n)
{
    (void)n;
    send(holed, 1, column);
}

static void typed_receive(int n)
{
    (void)n;
    receive(holed, 1, column);
}

static void hand_send(int n)
{
    for (int i = 0; i < n; i++)
        packed[i] = holed[2 * (size_t)i];
    send(packed, n, MPI_DOUBLE);
}

static void hand_receive(int n)
{
    receive(packed, n, MPI_DOUBLE);
    for (int i = 0; i < n; i++)
        holed[2 * (size_t)i] = packed[i];
}

static void plain_send(int n)
{
    send(packed, n, MPI_DOUBLE);
}

static void plain_receive(int n)
{
    receive(packed, n, MPI_DOUBLE);
}

/* The same message by calls that do not wait. */
static void started_send(int n)
{
    MPI_Request req;
    (void)n;
    MPI_Isend(holed, 1, column, 1 - me, 0, MPI_COMM_WORLD, &req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
}

static void started_receive(int n)
{
    MPI_Request req;
    (void)n;
    MPI_Irecv(holed, 1, column, 1 - me, 0, MPI_COMM_WORLD, &req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
}

static const struct way {
    const char *name;
    void (*send)(int n), (*receive)(int n);
} ways[] = {{"typed", typed_send, typed_receive},
            {"hand", hand_send, hand_receive},
            {"plain", plain_send, plain_receive},
            {"started", started_send, started_receive}};
enum { WAYS = sizeof ways / sizeof ways[0] };

static double trips(const struct way *w, int n, int rounds)
{
    double t;

    MPI_Barrier(MPI_COMM_WORLD);
    t = bench_now();
    for (int i = 0; i < rounds; i++) {
        if (me == 0)
            w->send(n);
        w->receive(n);
        if (me == 1)
            w->send(n);
    }
    return (bench_now() - t) / rounds / 2;
}

/* As many as take so long, the same on both sides. */
static int rounds_for(const struct way *w, int n, double ms)
{
    double rounds, t;

    (void)trips(w, n, 2);
    t = trips(w, n, 3);
    rounds = ms * 1e-3 / (2 * t);
    MPI_Bcast(&rounds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return rounds < 1 ? 1 : rounds > 1e6 ? 1000000 : (int)rounds;
}

static void measure(size_t bytes, double ms, const char *only)
{
    double v[WAYS][BENCH_BATCHES];
    int n = (int)(bytes / sizeof(double)), rounds[WAYS];

    MPI_Type_vector(n, 1, 2, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    for (int w = 0; w < WAYS; w++)
        rounds[w] = rounds_for(&ways[w], n, ms);
    for (int b = 0; b < BENCH_BATCHES; b++)
        for (int w = 0; w < WAYS; w++)
            if (bench_listed(only, ways[w].name))
                v[w][b] = trips(&ways[w], n, rounds[w]);
    for (int w = 0; me == 0 && w < WAYS; w++)
        if (bench_listed(only, ways[w].name))
            bench_report(ways[w].name, bytes, bench_median(v[w], BENCH_BATCHES));
    MPI_Type_free(&column);
}

int main(int argc, char **argv)
{
    const char *sizes = bench_argument(argc, argv, "sizes", "64,1024,65536,1048576,8388608");
    const char *only = bench_argument(argc, argv, "only", "typed,hand,plain,started");
    double ms = atof(bench_argument(argc, argv, "ms", "30"));
    size_t most = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (atoi(bench_argument(argc, argv, "pin", "1")) != 0)
        bench_pin(me % (int)sysconf(_SC_NPROCESSORS_ONLN));
    for (const char *at = sizes; at != NULL; at = strchr(at, ','), at += at != NULL) {
        size_t bytes = strtoull(at, NULL, 10);
        most = bytes > most ? bytes : most;
    }
    holed = bench_buffer(2 * most);
    packed = bench_buffer(most);
    for (const char *at = sizes; at != NULL; at = strchr(at, ','), at += at != NULL)
        measure(strtoull(at, NULL, 10), ms, only);
    return MPI_Finalize();
}
