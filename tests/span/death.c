/* SPDX-License-Identifier: BSD-3-Clause */
/* The last process dies in a way that the argument says; the others must not wait for it. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of MPICH's processes the second one: its launcher does not end the others. */
static int ends_early(const char *how)
{
    const char *number = getenv("PMI_RANK");

    return strcmp(how, "early") == 0 && number != NULL && strcmp(number, "1") == 0;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int rank, size, x = 1, sum, rc = MPI_SUCCESS;

    if (ends_early(how))
        return 3;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (strcmp(how, "told") == 0)
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == size - 1 && strcmp(how, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (rank == size - 1 && strcmp(how, "exit") == 0)
        exit(3);
    if (strcmp(how, "finalize") == 0 && rank != size - 1)
        return MPI_Finalize();
    if (rank == size - 1)
        raise(SIGKILL);
    for (int i = 0; i < 3 && rc == MPI_SUCCESS; i++)
        rc = MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rc != MPI_SUCCESS) {
        printf("told\n");
        fflush(stdout);
    }
    MPI_Barrier(MPI_COMM_SELF);
    exit(rc == MPI_SUCCESS);
}
