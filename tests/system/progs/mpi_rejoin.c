/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_rejoin STEPS: see rejoin.h; the MPI of the block goes on through it all. */
#include <mpi.h>

#include "rejoin.h"

static int sum_in_block(int number, int *sum)
{
    int n = 0;

    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Allreduce(&number, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return n;
}

int main(int argc, char **argv)
{
    int rc;

    MPI_Init(&argc, &argv);
    rc = rejoin_main(argc, argv);
    MPI_Finalize();
    return rc;
}
