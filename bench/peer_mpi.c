/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same ping-pong, rate loop and streams in MPI, inside one job: what WaitIO's users would have
 * without it. Built by bench/run.py with each MPI compiler found (not by CMake: it needs two MPIs
 * side by side). mpiexec -n 2 peer_mpi [SCALE [MAXBYTES [CPU0 CPU1]]]
 */
#include <mpi.h>

#include "pt2pt.h"

static struct bench_memory out, in;
static int other;

static void give(void *arg, size_t bytes)
{
    (void)arg;
    MPI_Send(bench_place(&out, bytes), (int)bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD);
}

static void take(void *arg, size_t bytes)
{
    (void)arg;
    MPI_Recv(bench_place(&in, bytes), (int)bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

static void both(void *arg, size_t bytes)
{
    MPI_Request r[2];
    MPI_Status status[2];
    (void)arg;
    MPI_Irecv(bench_place(&in, bytes), (int)bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(bench_place(&out, bytes), (int)bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, status);
}

static void window(void *arg)
{
    MPI_Request r[BENCH_WINDOW];
    MPI_Status status[BENCH_WINDOW];
    (void)arg;
    for (int i = 0; i < BENCH_WINDOW; i++)
        MPI_Isend(out.at, 8, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &r[i]);
    MPI_Waitall(BENCH_WINDOW, r, status);
}

static void window_taken(void *arg)
{
    MPI_Request r[BENCH_WINDOW];
    MPI_Status status[BENCH_WINDOW];
    (void)arg;
    for (int i = 0; i < BENCH_WINDOW; i++)
        MPI_Irecv(in.at + 8 * i, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &r[i]);
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
    out = bench_memory(max);
    in = bench_memory(max);
    struct bench_pair p = {give, take, both, window, window_taken, NULL, scale, max};
    if (me == 0)
        bench_measure(&p);
    else
        bench_answer(&p);
    MPI_Finalize();
    return 0;
}
