/* SPDX-License-Identifier: BSD-3-Clause */
/* A conversion call that fails ends the program, so the line after it is never reached. */
#include <stdio.h>
#include <waitio_mpi.h>

int main(void)
{
    WAITIO_MPI_Comm comm;
    int n, x = 0;

    waitio_create_universe(&comm);
    waitio_group_size(comm, &n);
    waitio_mpi_send(&x, 1, WAITIO_MPI_INT, n, 0, comm);
    printf("still alive\n");
    return 0;
}
