/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the span library costs inside one job, without what differs from process to process (where
 * memory and processes lie): in one process under span MPI's calls (span's) and their PMPI_ names
 * (the vendor's) take turns. bench/span.py --turns runs it with two processes.
 *
 *   span_turns ROUNDS     prints a line per operation and size: the vendor's time, and the median
 *                         of the rounds' ratios with its quartiles
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 65536, ROUNDS_MOST = 1001 };

static MPI_Comm comm;
static int rank;
static char *out, *in;

/* The same operation by both names. */
#define OPERATIONS(prefix, name)                                                                   \
    static void name##_bcast(int bytes)                                                            \
    {                                                                                              \
        prefix##_Bcast(out, bytes, MPI_BYTE, 0, comm);                                             \
    }                                                                                              \
    static void name##_send(int bytes)                                                             \
    {                                                                                              \
        prefix##_Send(out, bytes, MPI_BYTE, 1 - rank, 1, comm);                                    \
    }                                                                                              \
    static void name##_recv(int bytes)                                                             \
    {                                                                                              \
        prefix##_Recv(in, bytes, MPI_BYTE, 1 - rank, 1, comm, MPI_STATUS_IGNORE);                  \
    }                                                                                              \
    static void name##_trip(int bytes)                                                             \
    {                                                                                              \
        if (rank == 0)                                                                             \
            name##_send(bytes);                                                                    \
        name##_recv(bytes);                                                                        \
        if (rank == 1)                                                                             \
            name##_send(bytes);                                                                    \
    }
OPERATIONS(MPI, span)
OPERATIONS(PMPI, vendor)

/* @return seconds for each */
static double time_of(void (*run)(int), int bytes, int turns)
{
    PMPI_Barrier(comm);
    for (int i = 0; i < turns / 10; i++)
        run(bytes);
    PMPI_Barrier(comm);
    double begun = MPI_Wtime();
    for (int i = 0; i < turns; i++)
        run(bytes);
    PMPI_Barrier(comm);
    return (MPI_Wtime() - begun) / turns;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void row(const char *name, void (*span)(int), void (*vendor)(int), int bytes, int rounds)
{
    static double bare[ROUNDS_MOST], ratio[ROUNDS_MOST];
    int turns = bytes > 4096 ? 400 : 4000;
    for (int i = 0; i < rounds; i++) {
        double before = time_of(i % 2 == 0 ? span : vendor, bytes, turns);
        double after = time_of(i % 2 == 0 ? vendor : span, bytes, turns);
        bare[i] = i % 2 == 0 ? after : before;
        ratio[i] = (i % 2 == 0 ? before : after) / bare[i];
    }
    qsort(bare, (size_t)rounds, sizeof *bare, by_size);
    qsort(ratio, (size_t)rounds, sizeof *ratio, by_size);
    if (rank == 0)
        printf("%-10s %8d B  vendor %10.3f us  span x%.3f (%.3f .. %.3f)\n", name, bytes,
               bare[rounds / 2] * 1e6, ratio[rounds / 2], ratio[rounds / 4], ratio[3 * rounds / 4]);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {8, MOST};
    int size = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int rounds = argc == 2 ? (int)strtol(argv[1], NULL, 10) : 0;
    out = aligned_alloc(4096, MOST); /* how memory lies shall not count */
    in = aligned_alloc(4096, MOST);
    if (rounds < 1 || rounds > ROUNDS_MOST || size != 2 || out == NULL || in == NULL) {
        (void)fprintf(stderr, "usage: span_turns ROUNDS (1 to %d), in two processes\n",
                      ROUNDS_MOST);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    memset(out, 1, MOST);
    memset(in, 2, MOST);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        row("bcast", span_bcast, vendor_bcast, sizes[i], rounds);
        row("round trip", span_trip, vendor_trip, sizes[i], rounds);
    }
    free(out);
    free(in);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
