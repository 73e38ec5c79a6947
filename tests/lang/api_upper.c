/* SPDX-License-Identifier: BSD-3-Clause */
/* script.md as an MPI program with WAITIO_ put in front of every MPI name. */
#include <stdio.h>
#include <stdlib.h>
#include <waitio_mpi.h>

static int failures;

static void expect(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "api_upper: %s is wrong\n", what);
        failures++;
    }
}

static void exchange(WAITIO_MPI_Comm comm, int me, int n)
{
    double *in = malloc(sizeof(double) * 100 * (size_t)n),
           *out = malloc(sizeof(double) * 100 * (size_t)n);
    WAITIO_MPI_Request *req = malloc(sizeof *req * 2 * (size_t)n);
    WAITIO_MPI_Status *sta = malloc(sizeof *sta * 2 * (size_t)n), one;
    int k = 0, count, mine = me * me, theirs = -1, left = (me + n - 1) % n;

    for (int r = 0; r < n; r++)
        if (r != me)
            WAITIO_MPI_Irecv(in + 100 * r, 100, WAITIO_MPI_DOUBLE, r, 10 + r, comm, &req[k++]);
    for (int r = 0; r < n; r++) {
        for (int i = 0; i < 100; i++)
            out[100 * r + i] = 1000 * me + r + i / 1024.0;
        if (r != me)
            WAITIO_MPI_Isend(out + 100 * r, 100, WAITIO_MPI_DOUBLE, r, 10 + me, comm, &req[k++]);
    }
    WAITIO_MPI_Waitall(k, req, sta);
    for (int r = 0, j = 0; r < n; r++) {
        if (r == me)
            continue;
        WAITIO_MPI_Get_count(&sta[j], WAITIO_MPI_DOUBLE, &count);
        expect(sta[j].MPI_SOURCE == r && sta[j].WAITIO_MPI_TAG == 10 + r && count == 100, "status");
        j++;
        for (int i = 0; i < 100; i++)
            expect(in[100 * r + i] == 1000 * r + me + i / 1024.0, "exchanged double");
    }
    WAITIO_MPI_Sendrecv(&mine, 1, WAITIO_MPI_INT, (me + 1) % n, 0, &theirs, 1, WAITIO_MPI_INT, left,
                        WAITIO_MPI_ANY_TAG, comm, &one);
    expect(theirs == left * left && one.MPI_SOURCE == left && one.MPI_TAG == 0, "ring value");
    /* Nobody as partner: nothing happens. */
    WAITIO_MPI_Sendrecv(&mine, 1, WAITIO_MPI_INT, WAITIO_MPI_PROC_NULL, 0, &theirs, 1,
                        WAITIO_MPI_INT, WAITIO_MPI_PROC_NULL, 0, comm, &one);
    expect(theirs == left * left && one.MPI_SOURCE == WAITIO_MPI_PROC_NULL, "null partner");
    free(in);
    free(out);
    free(req);
    free(sta);
}

static void reductions(WAITIO_MPI_Comm comm, int me, int n)
{
    int seven[7], three[3];
    double five[5], sum[5];
    float quarter[3], qsum[3];

    for (int i = 0; i < 7; i++)
        seven[i] = me == n - 1 ? 3 * i + 1 : -1;
    WAITIO_MPI_Bcast(seven, 7, WAITIO_MPI_INT, n - 1, comm);
    for (int i = 0; i < 7; i++)
        expect(seven[i] == 3 * i + 1, "bcast");
    for (int i = 0; i < 5; i++)
        five[i] = sum[i] = me + i;
    if (me == 1 % n)
        WAITIO_MPI_Reduce(WAITIO_MPI_IN_PLACE, sum, 5, WAITIO_MPI_DOUBLE, WAITIO_MPI_SUM, 1 % n,
                          comm);
    else
        WAITIO_MPI_Reduce(five, NULL, 5, WAITIO_MPI_DOUBLE, WAITIO_MPI_SUM, 1 % n, comm);
    for (int i = 0; me == 1 % n && i < 5; i++)
        expect(sum[i] == n * (n - 1) / 2.0 + n * i, "reduce");
    for (int i = 0; i < 3; i++) {
        three[i] = me * 7 % 5 + i;
        quarter[i] = (float)me + (float)i / 4;
    }
    WAITIO_MPI_Allreduce(WAITIO_MPI_IN_PLACE, three, 3, WAITIO_MPI_INT, WAITIO_MPI_MAX, comm);
    WAITIO_MPI_Allreduce(quarter, qsum, 3, WAITIO_MPI_FLOAT, WAITIO_MPI_SUM, comm);
    for (int i = 0; i < 3; i++) {
        int top = 0;
        for (int r = 0; r < n; r++)
            top = r * 7 % 5 + i > top ? r * 7 % 5 + i : top;
        expect(three[i] == top, "allreduce MAX");
        expect(qsum[i] == (float)(n * (n - 1)) / 2 + (float)(n * i) / 4, "allreduce SUM");
    }
}

static void gathers(WAITIO_MPI_Comm comm, int me, int n)
{
    int mine[2] = {10 * me, 10 * me + 1}, *all = malloc(sizeof(int) * 3 * (size_t)n);
    int *counts = malloc(sizeof(int) * (size_t)n), *displs = malloc(sizeof(int) * (size_t)n),
        part[3];
    double *root = malloc(sizeof(double) * 3 * (size_t)n), third[3];

    WAITIO_MPI_Gather(mine, 2, WAITIO_MPI_INT, all, 2, WAITIO_MPI_INT, 0, comm);
    for (int r = 0; me == 0 && r < n; r++)
        expect(all[2 * r] == 10 * r && all[2 * r + 1] == 10 * r + 1, "gather");
    all[2 * me] = 10 * me;
    all[2 * me + 1] = 10 * me + 1;
    WAITIO_MPI_Allgather(WAITIO_MPI_IN_PLACE, 0, WAITIO_MPI_DATATYPE_NULL, all, 2, WAITIO_MPI_INT,
                         comm);
    for (int r = 0; r < n; r++)
        expect(all[2 * r] == 10 * r && all[2 * r + 1] == 10 * r + 1, "allgather");
    for (int k = 0; k < 3 * n; k++)
        root[k] = k / 2.0;
    WAITIO_MPI_Scatter(root, 3, WAITIO_MPI_DOUBLE, third, 3, WAITIO_MPI_DOUBLE, 0, comm);
    for (int i = 0; i < 3; i++)
        expect(third[i] == (3 * me + i) / 2.0, "scatter");
    for (int r = 0; r < n; r++) {
        counts[r] = r % 3;
        displs[r] = 3 * r;
    }
    for (int k = 0; k < 3 * n; k++)
        all[k] = k;
    WAITIO_MPI_Scatterv(all, counts, displs, WAITIO_MPI_INT, part, me % 3, WAITIO_MPI_INT, 0, comm);
    for (int i = 0; i < me % 3; i++) {
        expect(part[i] == 3 * me + i, "scatterv");
        part[i] = 100 * me + i;
    }
    WAITIO_MPI_Gatherv(part, me % 3, WAITIO_MPI_INT, all, counts, displs, WAITIO_MPI_INT, 0, comm);
    for (int r = 0; me == 0 && r < n; r++)
        for (int i = 0; i < r % 3; i++)
            expect(all[3 * r + i] == 100 * r + i, "gatherv");
    free(all);
    free(counts);
    free(displs);
    free(root);
}

int main(int argc, char **argv)
{
    WAITIO_MPI_Comm comm = WAITIO_MPI_COMM_NULL, heads, mine;
    int me, n, npb, pbid, rank, sum = -1, one = 1;

    WAITIO_MPI_Init(&argc, &argv);
    comm = WAITIO_MPI_COMM_WORLD;
    WAITIO_MPI_Comm_rank(comm, &me);
    WAITIO_MPI_Comm_size(comm, &n);
    expect(WAITIO_MPI_Comm_f2c(WAITIO_MPI_Comm_c2f(comm)) == comm, "handle of the universe");
    exchange(comm, me, n);
    reductions(comm, me, n);
    gathers(comm, me, n);
    WAITIO_MPI_Barrier(comm);
    waitio_pb_size(&npb);
    waitio_pb_rank(&pbid);
    waitio_create_universe_pbhead(&heads);
    WAITIO_MPI_Comm_rank(heads, &rank);
    if (rank >= 0) {
        WAITIO_MPI_Allreduce(&pbid, &sum, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, heads);
        expect(sum == npb * (npb - 1) / 2, "sum over the heads");
    }
    waitio_create_pbgroup(&mine, pbid);
    WAITIO_MPI_Allreduce(&one, &sum, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, mine);
    WAITIO_MPI_Comm_size(mine, &n);
    expect(sum == n, "sum over the PB");
    WAITIO_MPI_Comm_free(&mine);
    expect(mine == WAITIO_MPI_COMM_NULL, "freed communicator");
    WAITIO_MPI_Finalize();
    if (failures == 0)
        printf("ok\n");
    return failures != 0;
}
