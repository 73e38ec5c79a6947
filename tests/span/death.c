/* SPDX-License-Identifier: BSD-3-Clause */
/* The last process dies in a way that the argument says; the others must not wait for it. */
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of MPICH's processes the second one: its launcher does not end the others. */
static int ends_early(const char *how)
{
    const char *number = getenv("PMI_RANK");

    return strcmp(how, "early") == 0 && number != NULL && strcmp(number, "1") == 0;
}

/* Only MPICH's header declares them, and only its library has them. */
static int acknowledge(void)
{
    typedef int ack_fn(MPI_Comm comm);
    typedef int get_fn(MPI_Comm comm, MPI_Group * group);
    ack_fn *ack = (ack_fn *)dlsym(RTLD_DEFAULT, "MPIX_Comm_failure_ack");
    get_fn *get = (get_fn *)dlsym(RTLD_DEFAULT, "MPIX_Comm_failure_get_acked");
    MPI_Group failed;
    int n = 0;

    if (ack == NULL || get == NULL || ack(MPI_COMM_WORLD) != MPI_SUCCESS ||
        get(MPI_COMM_WORLD, &failed) != MPI_SUCCESS)
        return 0;
    MPI_Group_size(failed, &n);
    MPI_Group_free(&failed);
    return n;
}

/* All who live receive from anybody, and nobody sends: each is told. After that the first two go
 * on: rank 0 says so. @return whether this process has done its part */
static int from_anybody(int rank)
{
    int x = 0, flag = 1, rc, acknowledged = 0;

    if (MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
            MPI_SUCCESS ||
        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS)
        return 0;
    acknowledged = acknowledge();
    if (rank > 0)
        return acknowledged > 0 && MPI_Send(&rank, 1, MPI_INT, 0, 2, MPI_COMM_WORLD) == 0;
    do { /* the launcher may end others meanwhile */
        rc = MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } while (rc != MPI_SUCCESS && acknowledge() > acknowledged++);
    return rc == MPI_SUCCESS && x > 0;
}

/* The last one dies when the others are out of the first collective. */
static void anybody(int rank, int size)
{
    int x = 0, well;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < size - 1 && rank == size - 1; i++)
        MPI_Recv(&x, 1, MPI_INT, i, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == size - 1)
        raise(SIGKILL);
    MPI_Send(&x, 1, MPI_INT, size - 1, 3, MPI_COMM_WORLD);
    well = from_anybody(rank);
    if (rank == 0 || !well)
        printf("%s\n", well ? "went on" : "wrong");
    fflush(stdout);
    exit(1);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int rank, size, x = 1, sum, rc = MPI_SUCCESS;

    if (ends_early(how))
        return 3;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (strcmp(how, "anybody") == 0)
        anybody(rank, size);
    if (strcmp(how, "told") == 0)
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == size - 1 && strcmp(how, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (rank == size - 1 && strcmp(how, "exit") == 0)
        exit(3);
    if (strcmp(how, "finalize") == 0 && rank != size - 1)
        return MPI_Finalize();
    if (rank == size - 1)
        raise(SIGKILL);
    for (int i = 0; i < 3 && rc == MPI_SUCCESS; i++)
        rc = MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rc != MPI_SUCCESS) {
        printf("told\n");
        fflush(stdout);
    }
    MPI_Barrier(MPI_COMM_SELF);
    exit(rc == MPI_SUCCESS);
}
