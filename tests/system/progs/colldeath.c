/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process of tests/faults/collective_deaths.py: it repeats one collective. Each victim kills
 * itself in its call number CALL, after some time in it or right before it. Survivors go on until a
 * call fails, then ask for one more, which has to be refused, and stay alive, outside the library.
 *
 *   colldeath KIND BYTES BLOCKING VICTIM,... CALL MICROSECONDS,... [FORM]
 *
 * FORM: 0 of the universe; 1 a persistent allreduce; 2 between two halves of the universe; 3 a
 * neighbour alltoall on a ring; 4 making communicators of parts and copies; 5 an intercommunicator
 * of two halves; 6 merging it.
 *
 * Prints lines "joined", "died T" (CLOCK_MONOTONIC, seconds), "failed T code text", "then code
 * text", and ends when its input ends.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "waitio.h"
#include "waitio_mpi.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(int sig)
{
    char line[64];
    int n = snprintf(line, sizeof line, "died %.6f\n", now());
    (void)sig;
    if (write(1, line, (size_t)n) < 0)
        _exit(9);
    kill(getpid(), SIGKILL);
}

static void die_in(long us)
{
    struct itimerval t = {.it_value = {.tv_sec = us / 1000000, .tv_usec = us % 1000000}};
    if (us <= 0)
        die(0);
    signal(SIGALRM, die);
    setitimer(ITIMER_REAL, &t, NULL);
}

static int rank, size;
static double *in, *out;

enum kind { BCAST, REDUCE, ALLREDUCE, GATHER, SCATTER, ALLGATHER, ALLTOALL, SCAN, BLOCKS };

static const WAITIO_MPI_Datatype t = WAITIO_MPI_DOUBLE;
static const WAITIO_MPI_Op sum = WAITIO_MPI_SUM;

static int blocking_call(int kind, int count, int each, int root, WAITIO_MPI_Comm c)
{
    switch (kind) {
    case BCAST:
        return WAITIO_MPI_Bcast(in, count, t, root, c);
    case REDUCE:
        return WAITIO_MPI_Reduce(in, out, count, t, sum, root, c);
    case ALLREDUCE:
        return WAITIO_MPI_Allreduce(in, out, count, t, sum, c);
    case GATHER:
        return WAITIO_MPI_Gather(in, each, t, out, each, t, root, c);
    case SCATTER:
        return WAITIO_MPI_Scatter(in, each, t, out, each, t, root, c);
    case ALLGATHER:
        return WAITIO_MPI_Allgather(in, each, t, out, each, t, c);
    case ALLTOALL:
        return WAITIO_MPI_Alltoall(in, each, t, out, each, t, c);
    case SCAN:
        return WAITIO_MPI_Scan(in, out, count, t, sum, c);
    case BLOCKS:
        return WAITIO_MPI_Reduce_scatter_block(in, out, each, t, sum, c);
    default:
        return WAITIO_MPI_Barrier(c);
    }
}

static int start(int kind, int count, int each, int root, WAITIO_MPI_Comm c, WAITIO_MPI_Request *r)
{
    switch (kind) {
    case BCAST:
        return WAITIO_MPI_Ibcast(in, count, t, root, c, r);
    case REDUCE:
        return WAITIO_MPI_Ireduce(in, out, count, t, sum, root, c, r);
    case ALLREDUCE:
        return WAITIO_MPI_Iallreduce(in, out, count, t, sum, c, r);
    case GATHER:
        return WAITIO_MPI_Igather(in, each, t, out, each, t, root, c, r);
    case SCATTER:
        return WAITIO_MPI_Iscatter(in, each, t, out, each, t, root, c, r);
    case ALLGATHER:
        return WAITIO_MPI_Iallgather(in, each, t, out, each, t, c, r);
    case ALLTOALL:
        return WAITIO_MPI_Ialltoall(in, each, t, out, each, t, c, r);
    case SCAN:
        return WAITIO_MPI_Iscan(in, out, count, t, sum, c, r);
    case BLOCKS:
        return WAITIO_MPI_Ireduce_scatter_block(in, out, each, t, sum, c, r);
    default:
        return WAITIO_MPI_Ibarrier(c, r);
    }
}

enum form { PLAIN, PERSISTENT, BETWEEN, RING, PARTS, HALVES, MERGED };
static int form;
static WAITIO_MPI_Comm half; /* of the universe */

/* What the collective is called on. */
static WAITIO_MPI_Comm prepare(WAITIO_MPI_Comm all)
{
    WAITIO_MPI_Comm made = all;
    int low = rank < size / 2, one = 1;

    if (form == RING)
        WAITIO_MPI_Cart_create(all, 1, &size, &one, 0, &made);
    if (form == BETWEEN || form == HALVES || form == MERGED)
        WAITIO_MPI_Comm_split(all, low, rank, &half);
    if (form == BETWEEN || form == MERGED)
        WAITIO_MPI_Intercomm_create(half, 0, all, low ? size / 2 : 0, 1, &made);
    return made;
}

/* Made once, started again and again. */
static int start_kept(int count, WAITIO_MPI_Comm c)
{
    static WAITIO_MPI_Request kept;
    static int known;
    int rc = 0;

    if (!known)
        rc = WAITIO_MPI_Allreduce_init(in, out, count, t, sum, c, WAITIO_MPI_INFO_NULL, &kept);
    known |= rc == 0;
    if (rc == 0)
        rc = WAITIO_MPI_Start(&kept);
    return rc != 0 ? rc : WAITIO_MPI_Wait(&kept, WAITIO_MPI_STATUS_IGNORE);
}

static int ring(int each, int blocking, WAITIO_MPI_Comm c)
{
    WAITIO_MPI_Request r;
    int rc;

    if (blocking)
        return WAITIO_MPI_Neighbor_alltoall(in, each, t, out, each, t, c);
    rc = WAITIO_MPI_Ineighbor_alltoall(in, each, t, out, each, t, c, &r);
    return rc != 0 ? rc : WAITIO_MPI_Wait(&r, WAITIO_MPI_STATUS_IGNORE);
}

/* Frees what was made. @return rc */
static int made(int rc, WAITIO_MPI_Comm *c)
{
    if (rc == 0 && *c != WAITIO_MPI_COMM_NULL)
        WAITIO_MPI_Comm_free(c);
    return rc;
}

static int parts(WAITIO_MPI_Comm c)
{
    WAITIO_MPI_Comm new;
    int rc = made(WAITIO_MPI_Comm_split(c, rank % 2, -rank, &new), &new);

    return rc != 0 ? rc : made(WAITIO_MPI_Comm_dup(c, &new), &new);
}

static int halves(WAITIO_MPI_Comm c)
{
    WAITIO_MPI_Comm both;
    int low = rank < size / 2;

    return made(WAITIO_MPI_Intercomm_create(half, 0, c, low ? size / 2 : 0, 1, &both), &both);
}

static int merged(WAITIO_MPI_Comm c)
{
    WAITIO_MPI_Comm both;

    return made(WAITIO_MPI_Intercomm_merge(c, rank < size / 2, &both), &both);
}

/* @return the code of the call, or of the wait for it */
static int call(int kind, int count, int root, int blocking, WAITIO_MPI_Comm c)
{
    WAITIO_MPI_Request r;
    int each = count / size > 0 ? count / size : 1, rc;
    if (form == PERSISTENT)
        return start_kept(count, c);
    if (form == RING)
        return ring(each, blocking, c);
    if (form == PARTS)
        return parts(c);
    if (form == HALVES)
        return halves(c);
    if (form == MERGED)
        return merged(c);
    if (blocking)
        return blocking_call(kind, count, each, root, c);
    rc = start(kind, count, each, root, c, &r);
    return rc != 0 ? rc : WAITIO_MPI_Wait(&r, WAITIO_MPI_STATUS_IGNORE);
}

/* The number beside mine in a list of ranks. @return -1: I am not in it */
static long mine_of(char *ranks, char *numbers)
{
    for (;;) {
        long who = strtol(ranks, &ranks, 10), number = strtol(numbers, &numbers, 10);
        if (who == rank)
            return number;
        if (*ranks++ != ',' || *numbers++ != ',')
            return -1;
    }
}

int main(int argc, char **argv)
{
    if (argc != 7 && argc != 8)
        return 2;
    int kind = atoi(argv[1]), count = atoi(argv[2]) / 8, blocking = atoi(argv[3]);
    int at = atoi(argv[5]), rc = 0;
    long dies;
    WAITIO_MPI_Comm all;
    char rest[16];
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (WAITIO_MPI_Init(NULL, NULL) != 0 || waitio_create_universe(&all) != 0)
        return 3;
    WAITIO_MPI_Comm_rank(all, &rank);
    WAITIO_MPI_Comm_size(all, &size);
    in = calloc((size_t)count + (size_t)size, sizeof *in);
    out = calloc((size_t)count + (size_t)size, sizeof *out);
    if (in == NULL || out == NULL)
        return 4;
    form = argc > 7 ? atoi(argv[7]) : PLAIN;
    all = prepare(all);
    WAITIO_MPI_Barrier(all); /* nobody dies before all have it */
    puts("joined");
    dies = mine_of(argv[4], argv[6]);
    for (int i = 0; rc == 0; i++) {
        if (dies >= 0 && i == at)
            die_in(dies);
        rc = call(kind, count, i % size, blocking, all);
    }
    printf("failed %.6f %d %s\n", now(), rc, waitio_last_error());
    rc = call(kind, count, 0, blocking, all);
    printf("then %d %s\n", rc, waitio_last_error());
    while (read(0, rest, sizeof rest) > 0)
        ;
    return 0;
}
