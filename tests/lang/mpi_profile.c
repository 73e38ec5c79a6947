/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI's profiling interface: the program puts functions of its own in front of the library's. They
 * count, and call the library's by their second names. The library's own calls do not come by here:
 * a split, which uses collectives, and a sendrecv are no calls of the program's.
 */
#ifdef FOR_WAITIO
#include <waitio_mpi_rename.h>
#else
#include <mpi.h>
#endif

#include <stdio.h>

static int failures, sends, started, waits, reductions, levels;

static void expect(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "%s\n", what);
        failures++;
    }
}

/* ---- the functions in front ---- */

int MPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    sends++;
    return PMPI_Send(buf, count, type, dest, tag, comm);
}

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
              MPI_Request *req)
{
    started++;
    return PMPI_Isend(buf, count, type, dest, tag, comm, req);
}

int MPI_Wait(MPI_Request *req, MPI_Status *status)
{
    waits++;
    return PMPI_Wait(req, status);
}

int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    reductions++;
    return PMPI_Allreduce(in, out, count, type, op, comm);
}

int MPI_Pcontrol(const int level, ...)
{
    levels += level;
    return PMPI_Pcontrol(level);
}

/* ---- what the program does ---- */

int main(void)
{
    int me, n, one = 1, sum = 0, got = -1, next, before;
    double began;
    MPI_Request req;
    MPI_Comm part;

    PMPI_Init(NULL, NULL);
    PMPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    began = PMPI_Wtime();
    next = (me + 1) % n;
    before = (me + n - 1) % n;
    MPI_Isend(&me, 1, MPI_INT, next, 3, MPI_COMM_WORLD, &req);
    MPI_Recv(&got, 1, MPI_INT, before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    expect(got == before && req == MPI_REQUEST_NULL, "a started send");
    if (me == 0)
        MPI_Send(&me, 1, MPI_INT, n - 1, 4, MPI_COMM_WORLD);
    if (me == n - 1)
        PMPI_Recv(&got, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(me != n - 1 || got == 0, "a send");
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(sum == n, "a reduction");
    PMPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, 0, &part);
    MPI_Sendrecv(&me, 1, MPI_INT, next, 5, &got, 1, MPI_INT, before, 5, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Comm_free(&part);
    MPI_Pcontrol(2);
    expect(sends == (me == 0) && started == 1 && waits == 1 && reductions == 1 && levels == 2,
           "the calls that were counted");
    expect(MPI_Wtime() >= began, "the time");
    MPI_Finalize();
    if (failures == 0)
        puts("ok");
    return failures > 0;
}
