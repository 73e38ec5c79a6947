/* SPDX-License-Identifier: BSD-3-Clause */
/* Several threads, each with communicators of its own: collectives, messages, Fortran handles. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <waitio_mpi.h>

enum { THREADS = 4, ROUNDS = 60 };

static atomic_int failures;

static void expect(int ok, const char *what)
{
    if (!ok && atomic_fetch_add(&failures, 1) < 5)
        fprintf(stderr, "threads: %s is wrong\n", what);
}

/* Two collectives under way on a communicator and its duplicate, beside a message with holes. */
static void started(WAITIO_MPI_Comm comm, int t, int me, int n)
{
    WAITIO_MPI_Comm twin;
    WAITIO_MPI_Datatype pairs;
    WAITIO_MPI_Request req[4];
    int out[6] = {t, -1, me, -1}, in[6] = {-1, -1, -1, -1}, sum = -1, most = -1;

    WAITIO_MPI_Comm_dup(comm, &twin);
    WAITIO_MPI_Type_vector(2, 1, 2, WAITIO_MPI_INT, &pairs);
    WAITIO_MPI_Type_commit(&pairs);
    WAITIO_MPI_Iallreduce(&me, &sum, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, comm, &req[0]);
    WAITIO_MPI_Irecv(in, 1, pairs, (me + n - 1) % n, 3, twin, &req[1]);
    WAITIO_MPI_Iallreduce(&t, &most, 1, WAITIO_MPI_INT, WAITIO_MPI_MAX, twin, &req[2]);
    WAITIO_MPI_Isend(out, 1, pairs, (me + 1) % n, 3, twin, &req[3]);
    WAITIO_MPI_Waitall(4, req, WAITIO_MPI_STATUSES_IGNORE);
    expect(sum == n * (n - 1) / 2 && most == t, "started collective");
    expect(in[0] == t && in[1] == -1 && in[2] == (me + n - 1) % n, "message with holes");
    WAITIO_MPI_Type_free(&pairs);
    WAITIO_MPI_Comm_free(&twin);
}

/* A message with holes that goes in pieces, to the next process and from the one before. */
static void pieces(WAITIO_MPI_Comm comm, int t, int me, int n)
{
    enum { LENGTH = 300000 };
    int *out = calloc(2 * LENGTH, sizeof *out), *in = calloc(2 * LENGTH, sizeof *in), bad = 0;
    WAITIO_MPI_Datatype column;
    WAITIO_MPI_Request req[2];

    WAITIO_MPI_Type_vector(LENGTH, 1, 2, WAITIO_MPI_INT, &column);
    WAITIO_MPI_Type_commit(&column);
    for (int i = 0; i < LENGTH; i++)
        out[2 * i] = 7 * t + me + i;
    WAITIO_MPI_Irecv(in, 1, column, (me + n - 1) % n, 4, comm, &req[0]);
    WAITIO_MPI_Isend(out, 1, column, (me + 1) % n, 4, comm, &req[1]);
    WAITIO_MPI_Type_free(&column);
    WAITIO_MPI_Waitall(2, req, WAITIO_MPI_STATUSES_IGNORE);
    for (int i = 0; i < LENGTH; i++)
        bad += in[2 * i] != 7 * t + (me + n - 1) % n + i || in[2 * i + 1] != 0;
    expect(bad == 0, "long message with holes");
    free(out);
    free(in);
}

static void *work(void *arg)
{
    int t = (int)(intptr_t)arg, me, n;

    for (int i = 0; i < ROUNDS; i++) {
        WAITIO_MPI_Comm comm;
        int sum = -1, mine = 0, theirs = -1, handle;
        waitio_group_universe(100 * t + i % 3, &comm);
        WAITIO_MPI_Comm_rank(comm, &me);
        WAITIO_MPI_Comm_size(comm, &n);
        handle = WAITIO_MPI_Comm_c2f(comm);
        expect(handle != 0 && WAITIO_MPI_Comm_f2c(handle) == comm, "handle");
        mine = 1000 * t + me + i;
        WAITIO_MPI_Allreduce(&mine, &sum, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, comm);
        expect(sum == n * (1000 * t + i) + n * (n - 1) / 2, "sum");
        waitio_mpi_sendrecv(&mine, 1, WAITIO_MPI_INT, (me + 1) % n, i, &theirs, 1, WAITIO_MPI_INT,
                            (me + n - 1) % n, i, comm, NULL);
        expect(theirs == 1000 * t + (me + n - 1) % n + i, "neighbour's number");
        expect(WAITIO_MPI_COMM_WORLD != NULL, "world");
        started(comm, t, me, n);
        if (i % 15 == 0)
            pieces(comm, t, me, n);
        WAITIO_MPI_Comm_free(&comm);
    }
    return NULL;
}

int main(void)
{
    pthread_t thread[THREADS];

    if (waitio_init(60) != 0)
        return 1;
    for (intptr_t t = 0; t < THREADS; t++)
        if (pthread_create(&thread[t], NULL, work, (void *)t) != 0)
            return 1;
    for (int t = 0; t < THREADS; t++)
        pthread_join(thread[t], NULL);
    WAITIO_MPI_Finalize();
    if (failures == 0)
        printf("ok\n");
    return failures != 0;
}
