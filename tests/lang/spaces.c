/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives and point-to-point messages of one group never meet, collectives of groups with
 * different ids never meet, and the same group made twice is one communicator.
 */
#include <stdio.h>
#include <waitio_mpi.h>

static int failures;

static void expect(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "spaces: %s\n", what);
        failures++;
    }
}

/* A receive that takes anything is pending while collectives run. */
static void pending_wildcard(WAITIO_MPI_Comm comm, int me, int n)
{
    int got = -1, flag = 1, sum = 0, one = 1, data[100] = {0};
    WAITIO_MPI_Request req;
    WAITIO_MPI_Status st;

    WAITIO_MPI_Irecv(&got, 1, WAITIO_MPI_INT, WAITIO_MPI_ANY_SOURCE, WAITIO_MPI_ANY_TAG, comm,
                     &req);
    for (int i = 0; i < 20; i++) {
        WAITIO_MPI_Allreduce(&one, &sum, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, comm);
        expect(sum == n, "wrong sum beside a pending receive");
        WAITIO_MPI_Bcast(data, 100, WAITIO_MPI_INT, i % n, comm);
        WAITIO_MPI_Barrier(comm);
    }
    WAITIO_MPI_Test(&req, &flag, &st);
    expect(flag == 0, "a collective's message matched a point-to-point receive");
    WAITIO_MPI_Barrier(comm);
    WAITIO_MPI_Send(&me, 1, WAITIO_MPI_INT, (me + 1) % n, 0, comm);
    WAITIO_MPI_Wait(&req, &st);
    expect(got == (me + n - 1) % n && st.MPI_SOURCE == got && st.MPI_TAG == 0, "wrong message");
}

/* A message sent before is not taken by collectives that follow. */
static void early_message(WAITIO_MPI_Comm comm, int me, int n)
{
    int mine = 1000 + me, got = -1, value = me == 0 ? 5 : -1;

    WAITIO_MPI_Send(&mine, 1, WAITIO_MPI_INT, (me + 1) % n, 0, comm);
    WAITIO_MPI_Bcast(&value, 1, WAITIO_MPI_INT, 0, comm);
    expect(value == 5, "a broadcast took another message");
    WAITIO_MPI_Recv(&got, 1, WAITIO_MPI_INT, (me + n - 1) % n, 0, comm, WAITIO_MPI_STATUS_IGNORE);
    expect(got == 1000 + (me + n - 1) % n, "wrong message after a broadcast");
}

/* The root begins with one, the others with the other: only different spaces sort it out. */
static void two_ids(int me)
{
    waitio_group_t a, b;
    int x = me == 0 ? 1 : 0, y = me == 0 ? 2 : 0;

    waitio_group_universe(11, &a);
    waitio_group_universe(12, &b);
    if (me == 0) {
        WAITIO_MPI_Bcast(&x, 1, WAITIO_MPI_INT, 0, a);
        WAITIO_MPI_Bcast(&y, 1, WAITIO_MPI_INT, 0, b);
    } else {
        WAITIO_MPI_Bcast(&y, 1, WAITIO_MPI_INT, 0, b);
        WAITIO_MPI_Bcast(&x, 1, WAITIO_MPI_INT, 0, a);
    }
    expect(x == 1 && y == 2, "collectives of two groups were mixed up");
    waitio_group_free(&a);
    waitio_group_free(&b);
}

static void made_twice(int me)
{
    waitio_group_t a, b;
    int x = me == 0 ? 7 : 0, y = me == 0 ? 8 : 0;

    waitio_group_universe(0, &a);
    waitio_group_universe(0, &b);
    WAITIO_MPI_Bcast(&x, 1, WAITIO_MPI_INT, 0, me % 2 ? a : b);
    WAITIO_MPI_Bcast(&y, 1, WAITIO_MPI_INT, 0, me % 2 ? b : a);
    expect(x == 7 && y == 8, "the same group made twice is not one space");
    waitio_group_free(&a);
    waitio_group_free(&b);
}

/* Freed groups' memory is used again for others; nothing of the old ones may stick. */
static void reused_memory(int me, int n)
{
    for (int i = 0; i < 200; i++) {
        waitio_group_t g;
        int sum = 0, one = 1, size, rank, pbid;
        waitio_pb_rank(&pbid);
        if (i % 2 == 0)
            waitio_group_universe(0, &g);
        else
            waitio_group_pb(i % 3, pbid, &g);
        waitio_group_size(g, &size);
        waitio_group_rank(g, &rank);
        WAITIO_MPI_Allreduce(&one, &sum, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, g);
        expect(sum == size && (i % 2 || (size == n && rank == me)), "wrong sum on a new group");
        waitio_group_free(&g);
    }
}

int main(void)
{
    WAITIO_MPI_Comm comm;
    int me, n;

    waitio_create_universe(&comm);
    waitio_group_rank(comm, &me);
    waitio_group_size(comm, &n);
    pending_wildcard(comm, me, n);
    early_message(comm, me, n);
    two_ids(me);
    made_twice(me);
    reused_memory(me, n);
    if (failures == 0)
        printf("ok\n");
    return failures != 0;
}
