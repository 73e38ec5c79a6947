/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long collectives of a hybrid communicator, and what each process sends to other blocks meanwhile:
 *
 *   kings ROOT
 *
 * Prints "crossed RANK KIND BYTES" for bcast, reduce and allreduce (0 to 2) on the communicator,
 * and (3 to 5) on a duplicate of it, then ok.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../lang/world.h"

enum { COUNT = 1500001, KINDS = 3 };

static int value(int rank, int i)
{
    return rank * 1009 + i % 5003;
}

/* @return elements that are wrong */
static int call(int kind, int root, WAITIO_MPI_Comm comm, int *in, int *out)
{
    int me, n, wrong = 0;

    WAITIO_MPI_Comm_rank(comm, &me);
    WAITIO_MPI_Comm_size(comm, &n);
    for (int i = 0; i < COUNT; i++) {
        in[i] = value(me, i);
        out[i] = kind == 0 && me == root ? in[i] : -1;
    }
    if (kind == 0)
        WAITIO_MPI_Bcast(out, COUNT, WAITIO_MPI_INT, root, comm);
    else if (kind == 1)
        WAITIO_MPI_Reduce(in, out, COUNT, WAITIO_MPI_INT, WAITIO_MPI_SUM, root, comm);
    else
        WAITIO_MPI_Allreduce(in, out, COUNT, WAITIO_MPI_INT, WAITIO_MPI_SUM, comm);
    for (int i = 0; i < COUNT; i++) {
        int sum = kind == 0 ? value(root, i) : kind == 1 && me != root ? -1 : 0;
        for (int r = 0; kind == 2 || (kind == 1 && me == root) ? r < n : 0; r++)
            sum += value(r, i);
        wrong += out[i] != sum;
    }
    return wrong;
}

int main(int argc, char **argv)
{
    int root = argc > 1 ? atoi(argv[1]) : 0, wrong = 0, me;
    WAITIO_MPI_Comm comm[2] = {open_world(), WAITIO_MPI_COMM_NULL};
    int *in = malloc(COUNT * sizeof *in), *out = malloc(COUNT * sizeof *out);

    if (in == NULL || out == NULL)
        return 2;
    WAITIO_MPI_Comm_dup(comm[0], &comm[1]);
    WAITIO_MPI_Comm_rank(comm[0], &me);
    for (int i = 0; i < 2 * KINDS; i++) {
        uint64_t before = 0, after = 0;
        WAITIO_MPI_Barrier(comm[0]); /* it crosses, too */
        waitio_counter("border_bytes", &before);
        wrong += call(i % KINDS, root, comm[i / KINDS], in, out);
        waitio_counter("border_bytes", &after);
        printf("crossed %d %d %llu\n", me, i, (unsigned long long)(after - before));
    }
    WAITIO_MPI_Comm_free(&comm[1]);
    close_world(&comm[0]);
    free(in);
    free(out);
    if (wrong == 0)
        puts("ok");
    return wrong != 0;
}
