/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI program that gets the library of another MPI: it is told so, with both names. */
#include <mpi.h>
#include <stdio.h>

#include "waitio_mpi.h"

/* As the other MPI's header has it; the argument is never looked at. */
int OTHERS_NAME(MPI_Datatype type, WAITIO_MPI_Datatype *out);

int main(void)
{
    WAITIO_MPI_Datatype t = 0;
    int rc;

    MPI_Init(NULL, NULL);
    WAITIO_MPI_Comm_set_errhandler(NULL, WAITIO_MPI_ERRORS_RETURN);
    rc = OTHERS_NAME(MPI_INT, &t);
    printf("%d: %s\n", rc, waitio_last_error());
    MPI_Finalize();
    return 0;
}
