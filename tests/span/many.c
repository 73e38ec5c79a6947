/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators until one of the MPIs has no more (MPICH 4.0 makes some 2046). Then all processes
 * get an error, of the same call. Those of the providers take few of them.
 */
#include <mpi.h>
#include <stdio.h>

enum { MOST = 2500, ENOUGH = 2000 };

int main(int argc, char **argv)
{
    static MPI_Comm made[MOST];
    int rank, n = 0, least = 0, most = 0, sum = -1, good, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    while (n < MOST && (n % 2 ? MPI_Comm_dup(MPI_COMM_WORLD, &made[n])
                              : MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &made[n])) == MPI_SUCCESS)
        n++;
    MPI_Allreduce(&n, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&n, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (n > 0)
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, made[n - 1]);
    good = least == most && n >= ENOUGH && sum == size * (size - 1) / 2;
    if (!good)
        fprintf(stderr, "many %d: %d were made, %d to %d elsewhere; a sum: %d\n", rank, n, least,
                most, sum);
    while (n > 0)
        MPI_Comm_free(&made[--n]);
    MPI_Finalize();
    if (good)
        printf("ok\n");
    return !good;
}
