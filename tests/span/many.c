/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators until one of the MPIs has no more (MPICH 4.0 makes some 2046). Then all processes
 * get an error, of the same call. Those of the providers take few of them. At first the last
 * process has fewer than the others of its job, which use the provider as often as they may.
 */
#include <mpi.h>
#include <stdio.h>

enum { MOST = 2500, ENOUGH = 2000, FIRST = 20 };

/* @return the sum of the ranks in a communicator that some members have no provider for */
static int without_the_last(int rank, int size)
{
    MPI_Comm some[FIRST], all;
    int sum = -1;

    for (int i = 0; i < FIRST; i++)
        MPI_Comm_split(MPI_COMM_WORLD, rank == size - 1 ? MPI_UNDEFINED : 0, rank, &some[i]);
    MPI_Comm_dup(MPI_COMM_WORLD, &all);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all);
    MPI_Comm_free(&all);
    for (int i = 0; i < FIRST && rank < size - 1; i++)
        MPI_Comm_free(&some[i]);
    return sum;
}

int main(int argc, char **argv)
{
    static MPI_Comm made[MOST];
    int rank, n = 0, least = 0, most = 0, sum = -1, first, good, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    first = without_the_last(rank, size);
    while (n < MOST && (n % 2 ? MPI_Comm_dup(MPI_COMM_WORLD, &made[n])
                              : MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &made[n])) == MPI_SUCCESS)
        n++;
    MPI_Allreduce(&n, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&n, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (n > 0)
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, made[n - 1]);
    good = least == most && n >= ENOUGH && sum == size * (size - 1) / 2 && first == sum;
    if (!good)
        fprintf(stderr, "many %d: %d were made, %d to %d elsewhere; sums: %d, %d\n", rank, n, least,
                most, first, sum);
    while (n > 0)
        MPI_Comm_free(&made[--n]);
    MPI_Finalize();
    if (good)
        printf("ok\n");
    return !good;
}
