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

    expect(waitio_mpi_isend(x, -1, WAITIO_MPI_INT, me, 0, comm, &req), WAITIO_MPI_ERR_COUNT,
           "count", "-1");
    expect(waitio_mpi_isend(x, 1, 5, me, 0, comm, &req), WAITIO_MPI_ERR_TYPE, "type", "5");
    expect(waitio_mpi_isend(x, 1, WAITIO_MPI_INT, n, 0, comm, &req), WAITIO_ERR_RANK, "rank", NULL);
    expect(waitio_mpi_isend(x, 1, WAITIO_MPI_INT, me, -5, comm, &req), WAITIO_ERR_TAG, "tag", "-5");
    expect(waitio_mpi_isend(x, 1, WAITIO_MPI_INT, me, 0, NULL, &req), WAITIO_ERR_GROUP, "group",
           NULL);
    expect(waitio_mpi_isend(x, 1, WAITIO_MPI_INT, me, 0, comm, NULL), WAITIO_ERR_ARG, "request",
           "NULL");
    expect(waitio_mpi_waitall(-1, &req, x), WAITIO_ERR_ARG, "waitall", "-1");
    expect(waitio_mpi_type_size(0, &size), WAITIO_ERR_ARG, "type_size", "DATATYPE_NULL");
    expect(waitio_mpi_bcast(x, 1, WAITIO_MPI_INT, -1, comm), WAITIO_MPI_ERR_ROOT, "root", "-1");
    expect(waitio_mpi_bcast(x, 1, WAITIO_MPI_INT, n, comm), WAITIO_MPI_ERR_ROOT, "root", "root");
    expect(waitio_mpi_bcast(NULL, 1, WAITIO_MPI_INT, 0, comm), WAITIO_ERR_ARG, "buffer", "NULL");
    expect(waitio_mpi_allreduce(x, y, 4, WAITIO_MPI_INT, 3, comm), WAITIO_MPI_ERR_OP, "operator",
           "3");
    expect(waitio_mpi_allreduce(x, y, 2, WAITIO_MPI_DOUBLE, WAITIO_MPI_BAND, comm),
           WAITIO_MPI_ERR_OP, "operator on type", "BAND");
    expect(waitio_mpi_allreduce(x, NULL, 4, WAITIO_MPI_INT, WAITIO_MPI_SUM, comm), WAITIO_ERR_ARG,
           "result buffer", "receive");
    expect(WAITIO_MPI_Allgather(x, 1, WAITIO_MPI_INT, y, 2, WAITIO_MPI_INT, comm), WAITIO_ERR_ARG,
           "allgather sizes", "4 bytes");
    counts[me] = -3;
    expect(waitio_mpi_gatherv(x, 0, WAITIO_MPI_INT, y, counts, displs, WAITIO_MPI_INT, me, comm),
           WAITIO_MPI_ERR_COUNT, "gatherv count", "-3");
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

static void communicators(WAITIO_MPI_Comm comm, int me, int n)
{
    int twice[2] = {0, 0}, far[1] = {n}, ranges[1][3] = {{0, 0, 0}}, flag;
    WAITIO_MPI_Group all, mine, none;
    WAITIO_MPI_Comm self = WAITIO_MPI_COMM_SELF, out;

    WAITIO_MPI_Comm_group(comm, &all);
    expect(WAITIO_MPI_Group_incl(all, 2, twice, &none), WAITIO_ERR_ARG, "rank twice", "rank 0");
    expect(WAITIO_MPI_Group_incl(all, 1, far, &none), WAITIO_ERR_RANK, "rank outside", "rank");
    expect(WAITIO_MPI_Group_incl(all, -1, far, &none), WAITIO_ERR_ARG, "negative count", "-1");
    expect(WAITIO_MPI_Group_range_incl(all, 1, ranges, &none), WAITIO_ERR_ARG, "stride", "stride");
    expect(WAITIO_MPI_Comm_split(comm, -5, 0, &out), WAITIO_ERR_ARG, "color", "-5");
    expect(WAITIO_MPI_Comm_split_type(comm, 99, 0, 0, &out), WAITIO_ERR_ARG, "split type", "99");
    expect(WAITIO_MPI_Comm_dup(comm, NULL), WAITIO_ERR_ARG, "dup", "NULL");
    expect(WAITIO_MPI_Comm_dup(NULL, &out), WAITIO_ERR_GROUP, "dup of none", NULL);
    if (n > 1)
        expect(WAITIO_MPI_Comm_create(self, all, &out), WAITIO_ERR_GROUP, "create", "member");
    WAITIO_MPI_Group_excl(all, 1, &me, &mine);
    if (n > 1) /* a group without me is no communicator of mine */
        expect(WAITIO_MPI_Allreduce(&me, &flag, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, mine),
               WAITIO_ERR_RANK, "collective of others", "no member");
    WAITIO_MPI_Group_free(&mine);
    WAITIO_MPI_Group_free(&all);
    expect(WAITIO_MPI_Comm_free(&self), WAITIO_ERR_GROUP, "freeing SELF", "COMM_SELF");
}

static void types_and_requests(WAITIO_MPI_Comm comm, int me)
{
    WAITIO_MPI_Op op = WAITIO_MPI_MAXLOC, gone;
    WAITIO_MPI_Request req, copy;
    WAITIO_MPI_Datatype pairs;
    int x[4] = {0};

    expect(WAITIO_MPI_Op_free(&op), WAITIO_ERR_ARG, "freeing an operator", "MAXLOC");
    gone = 77;
    expect(WAITIO_MPI_Op_free(&gone), WAITIO_MPI_ERR_OP, "freeing no operator", "77");
    expect(WAITIO_MPI_Op_create(NULL, 0, &op), WAITIO_ERR_ARG, "operator without function",
           "function");
    expect(WAITIO_MPI_Ibarrier(comm, NULL), WAITIO_ERR_ARG, "started without request", "request");
    WAITIO_MPI_Ibarrier(comm, &req);
    copy = req;
    expect(WAITIO_MPI_Cancel(&req), WAITIO_ERR_UNSUPPORTED, "cancelling a barrier", "collective");
    expect(WAITIO_MPI_Request_free(&copy), WAITIO_ERR_UNSUPPORTED, "freeing it", "wait for it");
    expect(WAITIO_MPI_Start(&req), WAITIO_ERR_REQUEST, "starting it", "Send_init");
    expect(WAITIO_MPI_Wait(&req, WAITIO_MPI_STATUS_IGNORE), 0, "waiting for it", NULL);
    expect(WAITIO_MPI_Wait(&copy, WAITIO_MPI_STATUS_IGNORE), WAITIO_ERR_REQUEST,
           "waiting for a stale copy", "completed or freed");
    WAITIO_MPI_Type_vector(2, 1, 2, WAITIO_MPI_INT, &pairs);
    expect(WAITIO_MPI_Send(x, 1, pairs, me, 0, comm), WAITIO_MPI_ERR_TYPE, "type", "not committed");
    WAITIO_MPI_Type_commit(&pairs);
    WAITIO_MPI_Recv_init(x, 1, pairs, me, 9, comm, &req);
    expect(WAITIO_MPI_Start(&req), 0, "start", NULL);
    expect(WAITIO_MPI_Start(&req), WAITIO_ERR_BUSY, "second start", "active already");
    WAITIO_MPI_Send(x, 1, pairs, me, 9, comm);
    WAITIO_MPI_Wait(&req, WAITIO_MPI_STATUS_IGNORE);
    WAITIO_MPI_Request_free(&req);
    WAITIO_MPI_Type_free(&pairs);
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
    communicators(comm, me, n);
    types_and_requests(comm, me);
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
