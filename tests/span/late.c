/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that come late: 1 to a duplicate, the last one to MPI_Finalize. The others wait, and
 * the last one may still probe, and post and cancel receives. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void cancelled(int source)
{
    MPI_Request request;
    MPI_Status status;
    int x, flag = 0;

    MPI_Irecv(&x, 1, MPI_INT, source, 5, MPI_COMM_WORLD, &request);
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    if (!flag)
        printf("a receive that nobody sends to was not cancelled\n");
}

static void look(int source)
{
    MPI_Message message;
    int flag = 0;

    MPI_Iprobe(source, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    if (!flag)
        MPI_Improbe(source, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
    if (flag)
        printf("a message that nobody has sent\n");
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    double late = argc > 1 ? atof(argv[1]) : 0.4, begin;
    int rank, size;
    MPI_Comm twin;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 1)
        usleep((useconds_t)(late * 1e6));
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Barrier(twin);
    begin = now();
    while (rank == size - 1 && now() - begin < late) {
        for (int i = 0; i < size - 1; i++) {
            look(i);
            cancelled(i);
        }
        look(MPI_ANY_SOURCE);
        cancelled(MPI_ANY_SOURCE);
    }
    MPI_Comm_free(&twin);
    MPI_Finalize();
    printf("ok\n");
    return 0;
}
