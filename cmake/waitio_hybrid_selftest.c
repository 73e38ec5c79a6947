/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What `waitio build-hybrid` runs under the MPI that it has built for: one block of all processes,
 * a hybrid communicator of them, and the collectives of which it is made. Each process says "ok".
 */
#include <stdio.h>
#include <waitio_hybrid.h>

enum { LONG = 200000 };

static double field[LONG];

static int collectives(WAITIO_MPI_Comm comm, int me, int size)
{
    int mine = me + 1, sum = 0, all[64] = {0}, good = 1;

    for (int root = 0; root < size; root++) {
        for (int i = 0; i < LONG; i++)
            field[i] = me == root ? root + i : -1;
        WAITIO_MPI_Bcast(field, LONG, WAITIO_MPI_DOUBLE, root, comm);
        for (int i = 0; i < LONG; i++)
            good &= field[i] == root + i;
    }
    WAITIO_MPI_Allreduce(&mine, &sum, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, comm);
    good &= sum == size * (size + 1) / 2;
    WAITIO_MPI_Scan(&mine, &sum, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, comm);
    good &= sum == mine * (mine + 1) / 2;
    WAITIO_MPI_Allgather(&mine, 1, WAITIO_MPI_INT, all, 1, WAITIO_MPI_INT, comm);
    for (int i = 0; i < size; i++)
        good &= all[i] == i + 1;
    WAITIO_MPI_Barrier(comm);
    return good;
}

int main(int argc, char **argv)
{
    WAITIO_MPI_Comm comm = WAITIO_MPI_COMM_NULL;
    const char *name = "";
    int me = -1, size = 0, good;

    MPI_Init(&argc, &argv);
    waitio_hybrid_create_world(&comm);
    WAITIO_MPI_Comm_rank(comm, &me);
    WAITIO_MPI_Comm_size(comm, &size);
    if (size > 64)
        return 2;
    waitio_hybrid_mpi(&name);
    good = collectives(comm, me, size);
    WAITIO_MPI_Comm_free(&comm);
    WAITIO_MPI_Finalize();
    MPI_Finalize();
    printf("%s: process %d of %d with %s\n", good ? "ok" : "WRONG", me, size, name);
    return !good;
}
