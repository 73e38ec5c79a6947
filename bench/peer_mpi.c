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

static void window_taken(void *arg)
{
    MPI_Request r[BENCH_WINDOW];
    MPI_Status status[BENCH_WINDOW];
    (void)arg;
    for (int i = 0; i < BENCH_WINDOW; i++)
        MPI_Irecv(rbuf + 8 * i, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &r[i]);
    MPI_Waitall(BENCH_WINDOW, r, status);
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
        bench_measure(trip, window, give, take, NULL, scale, max);
    } else {
        bench_answer(give, take, window_taken, NULL, scale, max);
    }
    MPI_Finalize();
    return 0;
}
