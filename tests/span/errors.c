/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors on a communicator that spans jobs: classes, texts, handlers, calls that are refused. */
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
           MPI_ERR_UNSUPPORTED_OPERATION, "MPI_Win_create");
    expect(MPI_File_open(MPI_COMM_WORLD, "x", MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
           MPI_ERR_UNSUPPORTED_OPERATION, "MPI_File_open");
    expect(MPI_Comm_accept("x", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &made),
           MPI_ERR_UNSUPPORTED_OPERATION, "MPI_Comm_accept");
    expect(MPI_Comm_spawn("x", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &made,
                          MPI_ERRCODES_IGNORE),
           MPI_ERR_UNSUPPORTED_OPERATION, "MPI_Comm_spawn");
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
    refused();
    by_handler();
    MPI_Finalize();
    if (failures == 0)
        printf("ok\n");
    return failures != 0;
}
