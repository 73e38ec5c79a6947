/* SPDX-License-Identifier: BSD-3-Clause */
/* With WAITIO_ERRORS=return every mistake is a code with a text, and the program goes on. */
#include <stdio.h>
#include <string.h>
#include <waitio_mpi.h>

static int failures;

static void expect(int got, int want, const char *what, const char *word)
{
    if (got != want || (word != NULL && strstr(waitio_last_error(), word) == NULL)) {
        fprintf(stderr, "errors_return: %s gave %d (%s), not %d with '%s'\n", what, got,
                waitio_last_error(), want, word == NULL ? "" : word);
        failures++;
    }
}

static void arguments(WAITIO_MPI_Comm comm, int me, int n)
{
    int x[4] = {0}, y[4], counts[64] = {0}, displs[64] = {0}, size;
    WAITIO_MPI_Request req;

    expect(waitio_mpi_isend(x, -1, WAITIO_MPI_INT, me, 0, comm, &req), WAITIO_ERR_ARG, "count",
           "-1");
    expect(waitio_mpi_isend(x, 1, 5, me, 0, comm, &req), WAITIO_ERR_ARG, "type", "5");
    expect(waitio_mpi_isend(x, 1, WAITIO_MPI_INT, n, 0, comm, &req), WAITIO_ERR_RANK, "rank", NULL);
    expect(waitio_mpi_isend(x, 1, WAITIO_MPI_INT, me, -5, comm, &req), WAITIO_ERR_TAG, "tag", "-5");
    expect(waitio_mpi_isend(x, 1, WAITIO_MPI_INT, me, 0, NULL, &req), WAITIO_ERR_GROUP, "group",
           NULL);
    expect(waitio_mpi_isend(x, 1, WAITIO_MPI_INT, me, 0, comm, NULL), WAITIO_ERR_ARG, "request",
           "NULL");
    expect(waitio_mpi_waitall(-1, &req, x), WAITIO_ERR_ARG, "waitall", "-1");
    expect(waitio_mpi_type_size(0, &size), WAITIO_ERR_ARG, "type_size", "0");
    expect(waitio_mpi_bcast(x, 1, WAITIO_MPI_INT, -1, comm), WAITIO_ERR_RANK, "root", "-1");
    expect(waitio_mpi_bcast(x, 1, WAITIO_MPI_INT, n, comm), WAITIO_ERR_RANK, "root", "root");
    expect(waitio_mpi_bcast(NULL, 1, WAITIO_MPI_INT, 0, comm), WAITIO_ERR_ARG, "buffer", "NULL");
    expect(waitio_mpi_allreduce(x, y, 4, WAITIO_MPI_INT, 3, comm), WAITIO_ERR_ARG, "operator", "3");
    expect(waitio_mpi_allreduce(x, y, 2, WAITIO_MPI_DOUBLE, WAITIO_MPI_BAND, comm), WAITIO_ERR_ARG,
           "operator on type", "BAND");
    expect(waitio_mpi_allreduce(x, NULL, 4, WAITIO_MPI_INT, WAITIO_MPI_SUM, comm), WAITIO_ERR_ARG,
           "result buffer", "receive");
    expect(WAITIO_MPI_Allgather(x, 1, WAITIO_MPI_INT, y, 2, WAITIO_MPI_INT, comm), WAITIO_ERR_ARG,
           "allgather sizes", "4 bytes");
    counts[me] = -3;
    expect(waitio_mpi_gatherv(x, 0, WAITIO_MPI_INT, y, counts, displs, WAITIO_MPI_INT, me, comm),
           WAITIO_ERR_ARG, "gatherv count", "-3");
    expect(waitio_mpi_gatherv(x, 0, WAITIO_MPI_INT, y, NULL, displs, WAITIO_MPI_INT, me, comm),
           WAITIO_ERR_ARG, "gatherv counts", "NULL");
    expect(WAITIO_MPI_Gather(x, 2, WAITIO_MPI_INT, y, 1, WAITIO_MPI_INT, me, comm),
           WAITIO_ERR_TRUNCATE, "gather of more than fits", "8 bytes");
    expect(waitio_create_universe(NULL), WAITIO_ERR_ARG, "create_universe", "NULL");
    expect(waitio_create_pbgroup(&comm, 77), WAITIO_ERR_ARG, "pbgroup", "77");
}

static void handles(WAITIO_MPI_Comm comm)
{
    WAITIO_MPI_Comm world = WAITIO_MPI_COMM_WORLD, other;
    int h = WAITIO_MPI_Comm_c2f(comm), again;

    expect(WAITIO_MPI_Comm_f2c(h) != comm, 0, "handle", NULL);
    expect(WAITIO_MPI_Comm_f2c(0) != NULL, 0, "null handle", "0");
    expect(WAITIO_MPI_Comm_f2c(h + 0x10000) != NULL, 0, "stale handle", "communicator");
    expect(WAITIO_MPI_Comm_f2c(-1) != NULL, 0, "foreign handle", "-1");
    expect(WAITIO_MPI_Comm_free(&world), WAITIO_ERR_GROUP, "freeing the world", "COMM_WORLD");
    waitio_create_universe(&other);
    again = WAITIO_MPI_Comm_c2f(other);
    expect(again == h, 0, "two handles", NULL);
    expect(WAITIO_MPI_Comm_c2f(other) != again, 0, "the same handle again", NULL);
    expect(WAITIO_MPI_Comm_free(&other), 0, "free", NULL);
    expect(WAITIO_MPI_Comm_f2c(again) != NULL, 0, "handle of a freed communicator", NULL);
    expect(WAITIO_MPI_Comm_free(&other), WAITIO_ERR_GROUP, "second free", NULL);
}

static void truncated(WAITIO_MPI_Comm comm, int me)
{
    int out[4] = {1, 2, 3, 4}, in[4] = {0};

    waitio_mpi_send(out, 4, WAITIO_MPI_INT, me, 3, comm);
    expect(waitio_mpi_recv(in, 2, WAITIO_MPI_INT, me, 3, comm), WAITIO_ERR_TRUNCATE, "recv", NULL);
    expect(in[0] + in[1] * 10 + in[2] * 100, 21, "delivered part", NULL);
}

int main(void)
{
    WAITIO_MPI_Comm comm, heads;
    int me, n, rank;

    waitio_create_universe(&comm);
    waitio_group_rank(comm, &me);
    waitio_group_size(comm, &n);
    arguments(comm, me, n);
    handles(comm);
    truncated(comm, me);
    waitio_create_universe_pbhead(&heads);
    waitio_group_rank(heads, &rank);
    if (rank < 0)
        expect(waitio_mpi_barrier(heads), WAITIO_ERR_RANK, "non-member", "member");
    expect(waitio_mpi_barrier(comm), 0, "barrier", NULL); /* nothing of all this is left behind */
    if (failures == 0)
        printf("ok\n");
    return failures != 0;
}
