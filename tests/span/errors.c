/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors on a communicator that spans jobs: classes, texts, handlers, calls that are refused, and
 * one that was. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, size, failures, calls;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    calls++;
}

static void expect(int rc, int class_, const char *words)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int found = -1, length = 0;

    MPI_Error_class(rc, &found);
    MPI_Error_string(rc, text, &length);
    if (found == class_ && strstr(text, words) != NULL)
        return;
    failures++;
    fprintf(stderr, "errors %d: class %d, expected %d; %s\n", rank, found, class_, text);
}

static void refused(void)
{
    MPI_Comm made;
    MPI_Win window;
    MPI_File file;
    char byte = 0;

    expect(MPI_Win_create(&byte, 1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window),
           MPI_ERR_UNSUPPORTED_OPERATION, "MPI_Win_create: comm spans");
    expect(MPI_File_open(MPI_COMM_WORLD, "x", MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
           MPI_ERR_UNSUPPORTED_OPERATION, "MPI_File_open: comm spans");
    expect(MPI_Comm_accept("x", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &made),
           MPI_ERR_UNSUPPORTED_OPERATION, "MPI_Comm_accept: comm spans");
    expect(MPI_Comm_spawn("x", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &made,
                          MPI_ERRCODES_IGNORE),
           MPI_ERR_UNSUPPORTED_OPERATION, "MPI_Comm_spawn: comm spans");
}

/* Split an intercommunicator by what processes share: they share it inside a job. */
static void split_between(void)
{
    MPI_Comm half, between, job, part;
    int mine[2] = {rank % 2 == 0, rank % 2 != 0}, all[2], local = 0, remote = 0, inter = 0;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &job);
    MPI_Allreduce(mine, all, 2, MPI_INT, MPI_SUM, job);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &between);
    MPI_Comm_split_type(between, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &part);
    if (part != MPI_COMM_NULL) {
        MPI_Comm_size(part, &local);
        MPI_Comm_remote_size(part, &remote);
        MPI_Comm_test_inter(part, &inter);
        MPI_Comm_free(&part);
    }
    if (all[1 - rank % 2] > 0 &&
        (!inter || local != all[rank % 2] || remote != all[1 - rank % 2])) {
        failures++;
        fprintf(stderr, "errors %d: a part of %d and %d processes, not of %d and %d\n", rank, local,
                remote, all[rank % 2], all[1 - rank % 2]);
    }
    MPI_Comm_split_type(between, MPI_UNDEFINED, 0, MPI_INFO_NULL, &part);
    if (part != MPI_COMM_NULL)
        failures++;
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
    MPI_Comm_free(&job);
}

static void by_handler(void)
{
    MPI_Comm twin;
    MPI_Errhandler mine;
    MPI_Request request;
    int numbers[4] = {1, 2, 3, 4}, one, rc;

    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Comm_create_errhandler(handler, &mine);
    MPI_Comm_set_errhandler(twin, mine);
    MPI_Isend(numbers, 4, MPI_INT, (rank + 1) % size, 1, twin, &request);
    rc = MPI_Recv(&one, 1, MPI_INT, (rank + size - 1) % size, 1, twin, MPI_STATUS_IGNORE);
    expect(rc, MPI_ERR_TRUNCATE, "MPI_Recv: message of 16 bytes");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (calls != 1) {
        failures++;
        fprintf(stderr, "errors %d: the handler was called %d times\n", rank, calls);
    }
    MPI_Errhandler_free(&mine);
    MPI_Comm_free(&twin);
}

int main(int argc, char **argv)
{
    int x = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    expect(MPI_Send(&x, 1, MPI_INT, size, 1, MPI_COMM_WORLD), MPI_ERR_RANK, "MPI_Send");
    expect(MPI_Send(&x, 1, MPI_DATATYPE_NULL, 0, 1, MPI_COMM_WORLD), MPI_ERR_TYPE, "MPI_Send");
    expect(MPI_Bcast(&x, 1, MPI_INT, size, MPI_COMM_WORLD), MPI_ERR_ROOT, "MPI_Bcast");
    expect(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_NULL, &x), MPI_ERR_COMM,
           "MPI_Comm_compare: comm2 is MPI_COMM_NULL");
    expect(MPI_Comm_compare(MPI_COMM_NULL, MPI_COMM_WORLD, &x), MPI_ERR_COMM,
           "MPI_Comm_compare: comm1 is MPI_COMM_NULL");
    refused();
    split_between();
    by_handler();
    MPI_Finalize();
    if (failures == 0)
        printf("ok\n");
    return failures != 0;
}
