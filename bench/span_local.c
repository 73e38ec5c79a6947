/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plain MPI program: what messages and collectives inside one job cost. bench/span.py runs it
 * with the span library in front of its MPI and without.
 *
 *   span_local SECONDS OPERATION BYTES     prints one number: seconds for each operation
 *
 * OPERATION: latency (half a round trip), bandwidth (64 messages at a time), bcast, allreduce, rank
 * (MPI_Comm_rank, which sends nothing: the cost of a call).
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 64, WARM = 50 };

struct work {
    MPI_Comm comm;
    char *in, *out;
    int bytes, rank, size;
};

static void latency(const struct work *w)
{
    if (w->rank == 0) {
        MPI_Send(w->in, w->bytes, MPI_BYTE, 1, 1, w->comm);
        MPI_Recv(w->out, w->bytes, MPI_BYTE, 1, 1, w->comm, MPI_STATUS_IGNORE);
    } else if (w->rank == 1) {
        MPI_Recv(w->out, w->bytes, MPI_BYTE, 0, 1, w->comm, MPI_STATUS_IGNORE);
        MPI_Send(w->in, w->bytes, MPI_BYTE, 0, 1, w->comm);
    }
}

static void bandwidth(const struct work *w)
{
    MPI_Request requests[WINDOW];
    MPI_Status statuses[WINDOW];

    if (w->rank > 1)
        return;
    for (int i = 0; i < WINDOW; i++)
        if (w->rank == 0)
            MPI_Isend(w->in, w->bytes, MPI_BYTE, 1, 2, w->comm, &requests[i]);
        else
            MPI_Irecv(w->out, w->bytes, MPI_BYTE, 0, 2, w->comm, &requests[i]);
    MPI_Waitall(WINDOW, requests, statuses);
    if (w->rank == 0)
        MPI_Recv(w->out, 0, MPI_BYTE, 1, 3, w->comm, MPI_STATUS_IGNORE);
    else
        MPI_Send(w->in, 0, MPI_BYTE, 0, 3, w->comm);
}

static void bcast(const struct work *w)
{
    MPI_Bcast(w->in, w->bytes, MPI_BYTE, 0, w->comm);
}

static void allreduce(const struct work *w)
{
    MPI_Allreduce(w->in, w->out, w->bytes / (int)sizeof(double), MPI_DOUBLE, MPI_SUM, w->comm);
}

static void rank(const struct work *w)
{
    int value;

    for (int i = 0; i < 1000; i++)
        MPI_Comm_rank(w->comm, &value);
}

struct kind {
    const char *name;
    void (*run)(const struct work *w);
    double parts; /* operations in one run */
};
static const struct kind kinds[] = {
    {"latency", latency, 2}, {"bandwidth", bandwidth, WINDOW},
    {"bcast", bcast, 1},     {"allreduce", allreduce, 1},
    {"rank", rank, 1000},
};

/* Runs until the time is over at process 0, in portions. @return seconds for each operation */
static double measure(const struct work *w, const struct kind *k, double seconds)
{
    double begin = 0, spent = 0;
    long done = 0;
    int portion = 0;

    for (int i = 0; i < WARM; i++)
        k->run(w);
    MPI_Barrier(w->comm);
    begin = MPI_Wtime();
    do {
        portion = spent < seconds ? 200 : 0;
        MPI_Bcast(&portion, 1, MPI_INT, 0, w->comm);
        for (int i = 0; i < portion; i++)
            k->run(w);
        done += portion;
        spent = MPI_Wtime() - begin;
    } while (portion > 0);
    return spent / ((double)done * k->parts);
}

int main(int argc, char **argv)
{
    struct work w = {.comm = MPI_COMM_NULL};
    double seconds;

    MPI_Init(&argc, &argv);
    if (argc != 4) {
        (void)fprintf(stderr, "usage: span_local SECONDS OPERATION BYTES\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    seconds = strtod(argv[1], NULL);
    w.bytes = (int)strtol(argv[3], NULL, 10);
    /* As programs make them: under span with several jobs the part of this job. */
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &w.comm);
    MPI_Comm_rank(w.comm, &w.rank);
    MPI_Comm_size(w.comm, &w.size);
    w.in = calloc(1, (size_t)w.bytes + sizeof(double));
    w.out = calloc(1, (size_t)w.bytes + sizeof(double));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, argv[2]) == 0) {
            double each = measure(&w, &kinds[i], seconds);
            if (w.rank == 0)
                printf("%.3e\n", each);
        }
    free(w.in);
    free(w.out);
    MPI_Comm_free(&w.comm);
    MPI_Finalize();
    return 0;
}
