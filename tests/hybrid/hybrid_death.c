/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process of test_hybrid_deaths.py: it repeats one collective of a hybrid communicator.
 *
 *   hybrid_death VICTIM KIND DOUBLES CALL
 *
 * The victim kills itself before its call number CALL. Prints "died T", "failed RANK T CODE text"
 * (T by CLOCK_MONOTONIC), then "then RANK CODE" for one more collective; into the file said.RANK,
 * for launchers mix the lines of their processes.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../lang/world.h"

enum kind { BCAST, REDUCE, ALLREDUCE, BARRIER, GATHER, ALLGATHER, SCATTER, IALLREDUCE, LONG };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int call(enum kind kind, WAITIO_MPI_Comm c, double *a, double *b, int n, int root)
{
    WAITIO_MPI_Datatype d = WAITIO_MPI_DOUBLE;
    WAITIO_MPI_Request q;
    int rc;

    switch (kind) {
    case BCAST:
        return WAITIO_MPI_Bcast(a, n, d, root, c);
    case REDUCE:
        return WAITIO_MPI_Reduce(a, b, n, d, WAITIO_MPI_SUM, root, c);
    case ALLREDUCE:
        return WAITIO_MPI_Allreduce(a, b, n, d, WAITIO_MPI_SUM, c);
    case GATHER:
        return WAITIO_MPI_Gather(a, n, d, b, n, d, root, c);
    case ALLGATHER:
        return WAITIO_MPI_Allgather(a, n, d, b, n, d, c);
    case SCATTER:
        return WAITIO_MPI_Scatter(b, n, d, a, n, d, root, c);
    case IALLREDUCE:
        rc = WAITIO_MPI_Iallreduce(a, b, n, d, WAITIO_MPI_SUM, c, &q);
        return rc != 0 ? rc : WAITIO_MPI_Wait(&q, WAITIO_MPI_STATUS_IGNORE);
    default:
        return WAITIO_MPI_Barrier(c);
    }
}

int main(int argc, char **argv)
{
    WAITIO_MPI_Comm world = open_world();
    int victim = argc > 4 ? atoi(argv[1]) : -1, kind = argc > 4 ? atoi(argv[2]) : 0;
    int n = argc > 4 ? atoi(argv[3]) : 1, when = argc > 4 ? atoi(argv[4]) : 0, rank, size, rc = 0;
    double *a, *b;
    char name[32];

    WAITIO_MPI_Comm_rank(world, &rank);
    WAITIO_MPI_Comm_size(world, &size);
    a = calloc((size_t)n, sizeof *a);
    b = calloc((size_t)n * (size_t)size, sizeof *b);
    snprintf(name, sizeof name, "said.%d", rank);
    FILE *said = fopen(name, "w");
    if (said == NULL)
        return 2;
    for (int i = 0; rc == 0 && i < 1000000; i++) {
        if (rank == victim && i == when) {
            fprintf(said, "died %.6f\n", now());
            fflush(said);
            raise(SIGKILL);
        }
        rc = call((enum kind)kind, world, a, b, n, i % size);
    }
    fprintf(said, "failed %d %.6f %d %s\n", rank, now(), rc, waitio_last_error());
    fprintf(said, "then %d %d\n", rank, WAITIO_MPI_Barrier(world));
    fflush(said);
    for (int i = 0; i < 300 && getppid() != 1; i++) /* holds up whoever counts on it */
        usleep(10000);
    _exit(0);
}
