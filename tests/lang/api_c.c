/* SPDX-License-Identifier: BSD-3-Clause */
/* script.md in C, with nothing but the names of the published interface. */
#include <waitio.h>
#include <waitio_mpi.h>

static int failures;

static void expect(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "api_c: %s is wrong\n", what);
        failures++;
    }
}

static void everybody_to_everybody(waitio_group_t comm, int me, int n)
{
    double *in = malloc(sizeof(double) * 100 * (size_t)n),
           *out = malloc(sizeof(double) * 100 * (size_t)n);
    WAITIO_MPI_Request *req = malloc(sizeof *req * 2 * (size_t)n);
    int *sta = malloc(sizeof(int) * 4 * 2 * (size_t)n), k = 0;

    for (int r = 0; r < n; r++)
        if (r != me)
            waitio_mpi_irecv(in + 100 * r, 100, WAITIO_MPI_DOUBLE, r, 10 + r, comm, &req[k++]);
    for (int r = 0; r < n; r++) {
        for (int i = 0; i < 100; i++)
            out[100 * r + i] = 1000 * me + r + i / 1024.0;
        if (r != me)
            waitio_mpi_isend(out + 100 * r, 100, WAITIO_MPI_DOUBLE, r, 10 + me, comm, &req[k++]);
    }
    expect(waitio_mpi_waitall(k, req, sta) == 0, "waitall");
    for (int r = 0, j = 0; r < n; r++) {
        if (r == me)
            continue;
        expect(sta[4 * j] == r && sta[4 * j + 1] == 10 + r && sta[4 * j + 3] == 800, "status");
        j++;
        for (int i = 0; i < 100; i++)
            expect(in[100 * r + i] == 1000 * r + me + i / 1024.0, "exchanged double");
    }
    free(in);
    free(out);
    free(req);
    free(sta);
}

/* The basic calls, on a group made as the coupler makes it. */
static void ring(int me, int n)
{
    waitio_filter_func_t func[4] = {truef, truef, truef, truef}, *funcs = func;
    int order[4] = {1, 2, 3, 4}, *orders = order, npb, out = me * me, in = -1,
        left = (me + n - 1) % n;
    waitio_group_t group;
    waitio_req_t req;

    waitio_pb_size(&npb);
    if (npb > 4) {
        funcs = malloc(sizeof *funcs * (size_t)npb);
        orders = malloc(sizeof *orders * (size_t)npb);
        for (int p = 0; p < npb; p++) {
            funcs[p] = truef;
            orders[p] = p + 1;
        }
    }
    group = waitio_create_group(0, funcs, orders);
    if (group == NULL)
        exit(1);
    expect(waitio_isend(group, (me + 1) % n, (char *)&out, sizeof(int), 0, &req) == 0, "isend");
    expect(waitio_wait(&req) == 0, "wait");
    expect(waitio_irecv(group, left, (char *)&in, sizeof(int), 0, &req) == 0, "irecv");
    expect(waitio_wait(&req) == 0, "wait");
    expect(in == left * left, "ring value");
    if (funcs != func) {
        free(funcs);
        free(orders);
    }
}

static void reductions(WAITIO_MPI_Comm comm, int me, int n)
{
    int seven[7], three[3], most[3];
    double five[5], sum[5];
    float quarter[3], qsum[3];

    for (int i = 0; i < 7; i++)
        seven[i] = me == n - 1 ? 3 * i + 1 : -1;
    waitio_mpi_bcast(seven, 7, WAITIO_MPI_INT, n - 1, comm);
    for (int i = 0; i < 7; i++)
        expect(seven[i] == 3 * i + 1, "bcast");
    for (int i = 0; i < 5; i++)
        five[i] = me + i;
    waitio_mpi_reduce(five, sum, 5, WAITIO_MPI_DOUBLE, WAITIO_MPI_SUM, 1 % n, comm);
    for (int i = 0; me == 1 % n && i < 5; i++)
        expect(sum[i] == n * (n - 1) / 2.0 + n * i, "reduce");
    for (int i = 0; i < 3; i++) {
        three[i] = me * 7 % 5 + i;
        quarter[i] = (float)me + (float)i / 4;
    }
    waitio_mpi_allreduce(three, most, 3, WAITIO_MPI_INT, WAITIO_MPI_MAX, comm);
    waitio_mpi_allreduce(quarter, qsum, 3, WAITIO_MPI_FLOAT, WAITIO_MPI_SUM, comm);
    for (int i = 0; i < 3; i++) {
        int top = 0;
        for (int r = 0; r < n; r++)
            top = r * 7 % 5 + i > top ? r * 7 % 5 + i : top;
        expect(most[i] == top, "allreduce MAX");
        expect(qsum[i] == (float)(n * (n - 1)) / 2 + (float)(n * i) / 4, "allreduce SUM");
    }
}

static void gathers(WAITIO_MPI_Comm comm, int me, int n)
{
    int mine[2] = {10 * me, 10 * me + 1}, *all = malloc(sizeof(int) * 3 * (size_t)n);
    int *counts = malloc(sizeof(int) * (size_t)n), *displs = malloc(sizeof(int) * (size_t)n);
    int part[3] = {-1, -1, -1};
    double *root = malloc(sizeof(double) * 3 * (size_t)n), third[3];

    waitio_mpi_gather(mine, all, 2, WAITIO_MPI_INT, 0, comm);
    for (int r = 0; me == 0 && r < n; r++)
        expect(all[2 * r] == 10 * r && all[2 * r + 1] == 10 * r + 1, "gather");
    waitio_mpi_allgather(mine, all, 2, WAITIO_MPI_INT, comm);
    for (int r = 0; r < n; r++)
        expect(all[2 * r] == 10 * r && all[2 * r + 1] == 10 * r + 1, "allgather");
    for (int k = 0; k < 3 * n; k++)
        root[k] = k / 2.0;
    waitio_mpi_scatter(root, 3, WAITIO_MPI_DOUBLE, third, 3, WAITIO_MPI_DOUBLE, 0, comm);
    for (int i = 0; i < 3; i++)
        expect(third[i] == (3 * me + i) / 2.0, "scatter");
    for (int r = 0; r < n; r++) {
        counts[r] = r % 3;
        displs[r] = 3 * r;
    }
    for (int k = 0; k < 3 * n; k++)
        all[k] = k;
    waitio_mpi_scatterv(all, counts, displs, WAITIO_MPI_INT, part, me % 3, WAITIO_MPI_INT, 0, comm);
    for (int i = 0; i < me % 3; i++) {
        expect(part[i] == 3 * me + i, "scatterv");
        part[i] = 100 * me + i;
    }
    waitio_mpi_gatherv(part, me % 3, WAITIO_MPI_INT, all, counts, displs, WAITIO_MPI_INT, 0, comm);
    for (int r = 0; me == 0 && r < n; r++)
        for (int i = 0; i < r % 3; i++)
            expect(all[3 * r + i] == 100 * r + i, "gatherv");
    free(all);
    free(counts);
    free(displs);
    free(root);
}

static void other_groups(void)
{
    WAITIO_MPI_Comm heads, mine;
    int npb, pbid, rank, size, ones, one = 1, sum = -1, nprocs[64];

    waitio_pb_size(&npb);
    waitio_pb_rank(&pbid);
    waitio_get_nprocs(nprocs);
    waitio_create_universe_pbhead(&heads);
    waitio_create_pbgroup(&mine, pbid);
    waitio_group_rank(mine, &rank);
    waitio_group_size(mine, &size);
    expect(size == nprocs[pbid], "size of the PB");
    waitio_mpi_allreduce(&one, &ones, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, mine);
    expect(ones == size, "sum over the PB");
    if (rank == 0) {
        waitio_mpi_allreduce(&pbid, &sum, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, heads);
        expect(sum == npb * (npb - 1) / 2, "sum over the heads");
    }
    waitio_group_rank(heads, &size);
    expect(size == (rank == 0 ? pbid : -1), "rank among the heads");
}

int main(void)
{
    WAITIO_MPI_Comm comm;
    int me, n, size;

    waitio_create_universe(&comm);
    waitio_group_rank(comm, &me);
    waitio_group_size(comm, &n);
    waitio_mpi_type_size(WAITIO_MPI_LONG, &size);
    expect(size == sizeof(long), "type_size");
    everybody_to_everybody(comm, me, n);
    ring(me, n);
    reductions(comm, me, n);
    gathers(comm, me, n);
    waitio_mpi_barrier(comm);
    other_groups();
    if (failures == 0)
        printf("ok\n");
    return failures != 0; /* no finalize, as existing programs */
}
