/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same ping-pong, rate loop and streams in MPI, inside one job: what WaitIO's users would have
 * without it. Built by bench/run.py with each MPI compiler found (not by CMake: it needs two MPIs
 * side by side). mpiexec -n 2 peer_mpi [SCALE [MAXBYTES [CPU0 CPU1]]]
 */
#include <mpi.h>

#include "common.h"

static char *sbuf, *rbuf;

static int other;

static void give(void *arg, size_t bytes)
{
    (void)arg;
    MPI_Send(sbuf, (int)bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD);
}

static void take(void *arg, size_t bytes)
{
    (void)arg;
    MPI_Recv(rbuf, (int)bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void trip(void *arg, size_t bytes)
{
    give(arg, bytes);
    take(arg, bytes);
}

static void window(void *arg)
{
    MPI_Request r[BENCH_WINDOW];
    MPI_Status status[BENCH_WINDOW];
    for (int i = 0; i < BENCH_WINDOW; i++)
        MPI_Isend(sbuf, 8, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &r[i]);
    MPI_Waitall(BENCH_WINDOW, r, status);
    take(arg, 8);
}

static void echo(int scale, size_t max)
{
    for (int i = 0; i < BENCH_SIZES; i++)
        for (int k = 0;
             bench_wanted(bench_sizes[i].bytes, max) && k < bench_trips(bench_sizes[i], scale);
             k++) {
            take(NULL, bench_sizes[i].bytes);
            give(NULL, bench_sizes[i].bytes);
        }
    for (int k = 0; k < bench_windows(scale); k++) {
        MPI_Request r[BENCH_WINDOW];
        MPI_Status status[BENCH_WINDOW];
        for (int i = 0; i < BENCH_WINDOW; i++)
            MPI_Irecv(rbuf + 8 * i, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &r[i]);
        MPI_Waitall(BENCH_WINDOW, r, status);
        give(NULL, 8);
    }
    bench_answer_streams(give, take, NULL, scale, max);
}

int main(int argc, char **argv)
{
    int me;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    other = 1 - me;
    int scale = argc > 1 ? atoi(argv[1]) : 1;
    size_t max = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    bench_pin(argc > 4 ? atoi(argv[3 + me]) : me);
    size_t room = max != 0 ? max + 8 * BENCH_WINDOW : bench_sizes[BENCH_SIZES - 1].bytes;
    sbuf = bench_buffer(room);
    rbuf = bench_buffer(room);
    if (me == 0) {
        for (int i = 0; i < BENCH_SIZES; i++)
            if (bench_wanted(bench_sizes[i].bytes, max))
                bench_report("half_rtt", bench_sizes[i].bytes,
                             bench_pingpong(trip, NULL, bench_sizes[i], scale));
        bench_report("rate", 8, bench_rate(window, NULL, scale));
        bench_streams(give, take, NULL, scale, max);
    } else {
        echo(scale, max);
    }
    MPI_Finalize();
    return 0;
}
