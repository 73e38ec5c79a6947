/* SPDX-License-Identifier: BSD-3-Clause */
/* Members of a collective whose counts differ: those who see it get an error that says so, and what
 * comes later on other communicators is not harmed. */
#include <stdio.h>
#include <string.h>
#include <waitio_mpi.h>

static int failures, me, n;

static void expect(int got, int want, const char *what)
{
    const char *text = waitio_last_error();
    /* Who is told by a member that saw it first learns what failed there. */
    if ((got == WAITIO_ERR_PEER || got == WAITIO_ERR_REVOKED) &&
        strstr(text, "failed in a collective of this communicator"))
        return;
    if (got != want || strstr(text, "differ between its members") == NULL) {
        fprintf(stderr, "mismatch: %s gave %d (%s), not %d\n", what, got, text, want);
        failures++;
    }
}

int main(void)
{
    int out[8] = {0}, in[64] = {0}, rc, sum = 0, one = 1;
    WAITIO_MPI_Comm comm[4];
    WAITIO_MPI_Request req;

    WAITIO_MPI_Init(NULL, NULL);
    for (int i = 0; i < 4; i++)
        WAITIO_MPI_Comm_dup(WAITIO_MPI_COMM_WORLD, &comm[i]);
    WAITIO_MPI_Comm_rank(WAITIO_MPI_COMM_WORLD, &me);
    WAITIO_MPI_Comm_size(WAITIO_MPI_COMM_WORLD, &n);
    rc = WAITIO_MPI_Bcast(out, me == 0 ? 4 : 3, WAITIO_MPI_INT, 0, comm[0]);
    if (me == n - 1)
        expect(rc, WAITIO_ERR_TRUNCATE, "a broadcast of more than expected");
    rc = WAITIO_MPI_Bcast(out, me == 0 ? 2 : 3, WAITIO_MPI_INT, 0, comm[1]);
    if (me == n - 1)
        expect(rc, WAITIO_ERR_ARG, "a broadcast of less than expected");
    rc = WAITIO_MPI_Gather(out, me == 1 ? 2 : 1, WAITIO_MPI_INT, in, 1, WAITIO_MPI_INT, 0, comm[2]);
    if (me == 0)
        expect(rc, WAITIO_ERR_TRUNCATE, "a gather of more than expected");
    rc = WAITIO_MPI_Ibcast(out, me == 0 ? 4 : 3, WAITIO_MPI_INT, 0, comm[3], &req);
    if (rc == 0)
        rc = WAITIO_MPI_Wait(&req, WAITIO_MPI_STATUS_IGNORE);
    if (me == n - 1)
        expect(rc, WAITIO_ERR_TRUNCATE, "a started broadcast of more than expected");
    WAITIO_MPI_Allreduce(&one, &sum, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, WAITIO_MPI_COMM_WORLD);
    if (sum != n) {
        fprintf(stderr, "mismatch: the sum afterwards is %d\n", sum);
        failures++;
    }
    WAITIO_MPI_Finalize();
    if (failures == 0)
        printf("ok\n");
    return failures != 0;
}
