/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * early_leaver CALL COUNT LEAVER: one member finalizes while the others call collectives on the
 * communicator of all. Each of them gets an error that names it, in this call or in the next two,
 * within 2 s of the first call, although all stay alive; then the communicator refuses by name.
 */
#include "common.h"
#include "waitio_mpi.h"

#define WORLD WAITIO_MPI_COMM_WORLD
#define DOUBLE WAITIO_MPI_DOUBLE

static double *in, *out;

static int collective(char call, int n)
{
    WAITIO_MPI_Request r;
    int rc;

    switch (call) {
    case 'b':
        return WAITIO_MPI_Bcast(in, n, DOUBLE, 0, WORLD);
    case 'r':
        return WAITIO_MPI_Reduce(in, out, n, DOUBLE, WAITIO_MPI_SUM, 0, WORLD);
    case 'a':
        return WAITIO_MPI_Allreduce(in, out, n, DOUBLE, WAITIO_MPI_SUM, WORLD);
    case 's':
        return WAITIO_MPI_Scan(in, out, n, DOUBLE, WAITIO_MPI_SUM, WORLD);
    case 'x':
        return WAITIO_MPI_Alltoall(in, n / 8, DOUBLE, out, n / 8, DOUBLE, WORLD);
    case 'i':
        rc = WAITIO_MPI_Iallreduce(in, out, n, DOUBLE, WAITIO_MPI_SUM, WORLD, &r);
        return rc != 0 ? rc : WAITIO_MPI_Wait(&r, WAITIO_MPI_STATUS_IGNORE);
    default:
        return WAITIO_MPI_Barrier(WORLD);
    }
}

int main(int argc, char **argv)
{
    CHECK(argc == 4, "usage: early_leaver CALL COUNT LEAVER");
    int n = atoi(argv[2]), leaver = atoi(argv[3]), me, rc = 0;

    OK(waitio_set_errors(WAITIO_ERRORS_RETURN));
    WAITIO_MPI_Init(NULL, NULL);
    WAITIO_MPI_Comm_set_errhandler(WORLD, WAITIO_MPI_ERRORS_RETURN);
    WAITIO_MPI_Comm_rank(WORLD, &me);
    in = calloc((size_t)n + 8, sizeof *in);
    out = calloc(((size_t)n + 8) * 8, sizeof *out);
    WAITIO_MPI_Barrier(WORLD);
    if (me != leaver) {
        for (int i = 0; i < 200 && rc == 0; i++) /* a member that only sends learns it later */
            rc = collective(argv[1][0], n);
        CHECK(rc == WAITIO_ERR_PEER || rc == WAITIO_ERR_REVOKED, "the collective gave %d: %s", rc,
              waitio_last_error());
        printf("learnt\n");
        fflush(stdout);
        rc = WAITIO_MPI_Barrier(WORLD);
        CHECK(rc == WAITIO_ERR_REVOKED, "a later collective gave %d: %s", rc, waitio_last_error());
        getchar(); /* stays alive until the test has seen all */
    }
    WAITIO_MPI_Finalize();
    free(in);
    free(out);
    return 0;
}
