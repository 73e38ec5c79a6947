/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Intercommunicators: messages, every collective from and to both groups, what is made of them. A
 * program of MPI, which says the same under an MPI (test_mpi_header.py).
 */
#ifdef FOR_WAITIO
#include <waitio_mpi_rename.h>
#else
#include <mpi.h>
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16, LONG = 40000 };

static int failures, me, n;

static void expect(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "rank %d: %s\n", me, what);
        failures++;
    }
}

/* Two groups: low ranks of the world are in one, the rest in the other. */
static int side, mine, near_size, far_size;
static MPI_Comm local, inter;

static int world_rank(int far, int rank)
{
    int low = side == 0 ? near_size : far_size;
    int in_low = (side == 0) != far;

    return in_low ? rank : low + rank;
}

/* The sum of element i over a group whose member r has r + 10 * i (ranks of the world). */
static int sum_of(int far, int i)
{
    int sum = 0, size = far ? far_size : near_size;

    for (int r = 0; r < size; r++)
        sum += world_rank(far, r) + 10 * i;
    return sum;
}

static int operand(int i)
{
    return me + 10 * i;
}

/* ---- what it is ---- */

static void questions(void)
{
    int flag, size, rank, result, ranks[1] = {0}, world[1];
    MPI_Group far, near, all;
    MPI_Comm copy;

    MPI_Comm_test_inter(inter, &flag);
    expect(flag, "test_inter of one");
    MPI_Comm_test_inter(local, &flag);
    expect(!flag, "test_inter of none");
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_size(inter, &size);
    expect(rank == mine && size == near_size, "rank and size are the local ones");
    MPI_Comm_remote_size(inter, &size);
    expect(size == far_size, "remote_size");
    MPI_Comm_remote_group(inter, &far);
    MPI_Comm_group(inter, &near);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_translate_ranks(far, 1, ranks, all, world);
    expect(world[0] == world_rank(1, 0), "remote_group");
    MPI_Group_translate_ranks(near, 1, ranks, all, world);
    expect(world[0] == world_rank(0, 0), "group is the local one");
    MPI_Group_free(&far);
    MPI_Group_free(&near);
    MPI_Group_free(&all);
    MPI_Comm_dup(inter, &copy);
    MPI_Comm_compare(inter, copy, &result);
    expect(result == MPI_CONGRUENT, "compare with a duplicate");
    MPI_Comm_compare(inter, inter, &result);
    expect(result == MPI_IDENT, "compare with itself");
    MPI_Comm_compare(inter, local, &result);
    expect(result == MPI_UNEQUAL, "compare with an intracommunicator");
    MPI_Comm_free(&copy);
}

/* ---- messages ---- */

/* Each with all of the other group; short and long, by rank and from any. */
static void messages(MPI_Comm comm)
{
    static int out[LONG], in[LONG];
    MPI_Request req[MOST];
    MPI_Status status;
    int word[MOST], count, seen = 0, flag;

    for (int r = 0; r < far_size; r++) {
        word[r] = me * 100 + r;
        MPI_Isend(&word[r], 1, MPI_INT, r, 3, comm, &req[r]);
    }
    for (int k = 0; k < far_size; k++) {
        int got = -1;
        MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 3, comm, &status);
        expect(got == world_rank(1, status.MPI_SOURCE) * 100 + mine, "from any of the far group");
        seen |= 1 << status.MPI_SOURCE;
    }
    expect(seen == (1 << far_size) - 1, "one from each");
    MPI_Waitall(far_size, req, MPI_STATUSES_IGNORE);
    if (mine >= far_size || mine >= near_size)
        return;
    for (int i = 0; i < LONG; i++)
        out[i] = me + i;
    if (mine < far_size) {
        MPI_Sendrecv(out, LONG, MPI_INT, mine, 4, in, LONG, MPI_INT, mine, 4, comm, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        expect(count == LONG && in[LONG - 1] == world_rank(1, mine) + LONG - 1, "a long one");
        MPI_Isend(&word[0], 1, MPI_INT, mine, 5, comm, &req[0]);
        MPI_Probe(mine, MPI_ANY_TAG, comm, &status);
        expect(status.MPI_SOURCE == mine && status.MPI_TAG == 5, "probe");
        MPI_Irecv(&count, 1, MPI_INT, mine, 5, comm, &req[1]);
        MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
        expect(count == world_rank(1, mine) * 100, "behind a probe");
        MPI_Iprobe(mine, MPI_ANY_TAG, local, &flag, &status);
        expect(!flag, "nothing in the local group's space");
    }
}

/* ---- collectives ---- */

/* Every member of one group in turn is the root of the other. */
static int root_of(int giving, int rank)
{
    if (giving != side)
        return rank;
    return mine == rank ? MPI_ROOT : MPI_PROC_NULL;
}

static void wait_for(MPI_Request *req, int started)
{
    if (started)
        MPI_Wait(req, MPI_STATUS_IGNORE);
}

static void rooted_from(int giving, int root, int len, int started)
{
    int at = root_of(giving, root), sender = giving == side ? me : world_rank(1, root), good = 1;
    int *data = malloc(sizeof(int) * (size_t)len * MOST), got[2] = {-1, -1};
    MPI_Request req;

    for (int i = 0; i < len; i++)
        data[i] = at == MPI_ROOT ? me + i : -1;
    if (started)
        MPI_Ibcast(data, len, MPI_INT, at, inter, &req);
    else
        MPI_Bcast(data, len, MPI_INT, at, inter);
    wait_for(&req, started);
    for (int i = 0; i < len; i++)
        good &= data[i] == (at == MPI_PROC_NULL ? -1 : sender + i);
    expect(good, "bcast");
    for (int r = 0; r < 2 * far_size; r++)
        data[r] = me + r;
    if (started)
        MPI_Iscatter(data, 2, MPI_INT, got, 2, MPI_INT, at, inter, &req);
    else
        MPI_Scatter(data, 2, MPI_INT, got, 2, MPI_INT, at, inter);
    wait_for(&req, started);
    if (giving != side)
        expect(got[0] == sender + 2 * mine && got[1] == got[0] + 1, "scatter");
    free(data);
}

static void rooted_to(int taking, int root, int len, int started)
{
    int at = root_of(taking, root), good = 1, counts[MOST], displs[MOST];
    int *in = calloc((size_t)len, sizeof *in), *out = calloc((size_t)len, sizeof *out);
    int all[2 * MOST], two[2] = {me, -me};
    MPI_Request req;

    for (int i = 0; i < len; i++)
        out[i] = operand(i);
    if (started)
        MPI_Ireduce(out, in, len, MPI_INT, MPI_SUM, at, inter, &req);
    else
        MPI_Reduce(out, in, len, MPI_INT, MPI_SUM, at, inter);
    wait_for(&req, started);
    for (int i = 0; at == MPI_ROOT && i < len; i++)
        good &= in[i] == sum_of(1, i);
    expect(good, "reduce");
    for (int r = 0; r < MOST; r++) {
        counts[r] = r % 3;
        displs[r] = 2 * (MOST - 1 - r);
    }
    memset(all, 0x7f, sizeof all);
    if (started)
        MPI_Igatherv(two, at >= 0 ? counts[mine] : 0, MPI_INT, all, counts, displs, MPI_INT, at,
                     inter, &req);
    else
        MPI_Gatherv(two, at >= 0 ? counts[mine] : 0, MPI_INT, all, counts, displs, MPI_INT, at,
                    inter);
    wait_for(&req, started);
    for (int r = 0; at == MPI_ROOT && r < far_size; r++) {
        if (r % 3 > 0)
            good &= all[displs[r]] == world_rank(1, r);
        if (r % 3 > 1)
            good &= all[displs[r] + 1] == -world_rank(1, r);
    }
    expect(good, "gatherv");
    free(in);
    free(out);
}

/* Digits side by side, and how many there are in the last place: the order of ranks is kept. */
static void in_order(void *in, void *inout, int *length, MPI_Datatype *type)
{
    long long *a = in, *b = inout;
    (void)type;
    for (int i = 0; i < *length; i++) {
        long long shift = 1;
        for (int k = 0; k < b[i] % 10; k++)
            shift *= 10;
        b[i] = (a[i] / 10 * shift + b[i] / 10) * 10 + a[i] % 10 + b[i] % 10;
    }
}

static void ordered(void)
{
    MPI_Op op;
    long long x = (me + 1) * 10 + 1, got = -1, want = 0;

    MPI_Op_create(in_order, 0, &op);
    MPI_Allreduce(&x, &got, 1, MPI_LONG_LONG, op, inter);
    for (int r = 0; r < far_size; r++)
        want = want * 10 + world_rank(1, r) + 1;
    expect(got / 10 == want, "an operator that does not commute");
    MPI_Op_free(&op);
}

static void for_all(int len, int started)
{
    int *in = calloc((size_t)len * MOST, sizeof *in),
        *out = calloc((size_t)len * MOST, sizeof *out);
    int good = 1, part = far_size * near_size, counts[MOST];
    MPI_Request req;

    for (int i = 0; i < len; i++)
        out[i] = operand(i);
    if (started)
        MPI_Iallreduce(out, in, len, MPI_INT, MPI_SUM, inter, &req);
    else
        MPI_Allreduce(out, in, len, MPI_INT, MPI_SUM, inter);
    wait_for(&req, started);
    for (int i = 0; i < len; i++)
        good &= in[i] == sum_of(1, i);
    expect(good, "allreduce");
    if (part > len)
        goto done;
    for (int r = 0; r < MOST; r++)
        counts[r] = part / near_size;
    memset(in, 0, sizeof *in * (size_t)len);
    if (started)
        MPI_Ireduce_scatter(out, in, counts, MPI_INT, MPI_SUM, inter, &req);
    else
        MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, inter);
    wait_for(&req, started);
    for (int i = 0; i < counts[0]; i++)
        good &= in[i] == sum_of(1, mine * counts[0] + i);
    expect(good, "reduce_scatter");
    memset(in, 0, sizeof *in * (size_t)len);
    if (started)
        MPI_Ireduce_scatter_block(out, in, counts[0], MPI_INT, MPI_SUM, inter, &req);
    else
        MPI_Reduce_scatter_block(out, in, counts[0], MPI_INT, MPI_SUM, inter);
    wait_for(&req, started);
    for (int i = 0; i < counts[0]; i++)
        good &= in[i] == sum_of(1, mine * counts[0] + i);
    expect(good, "reduce_scatter_block");
done:
    free(in);
    free(out);
}

static void gathers(int started)
{
    int in[MOST * 3], out[MOST * 3], good = 1, counts[MOST], displs[MOST], give = side == 0 ? 2 : 3,
                                     take = 5 - give;
    MPI_Request req;

    for (int i = 0; i < MOST * 3; i++) {
        out[i] = me * 100 + i;
        in[i] = -1;
    }
    /* The low group gives 2 each, the other 3. */
    if (started)
        MPI_Iallgather(out, give, MPI_INT, in, take, MPI_INT, inter, &req);
    else
        MPI_Allgather(out, give, MPI_INT, in, take, MPI_INT, inter);
    wait_for(&req, started);
    for (int r = 0; r < far_size; r++)
        for (int i = 0; i < take; i++)
            good &= in[r * take + i] == world_rank(1, r) * 100 + i;
    expect(good, "allgather");
    for (int r = 0; r < MOST; r++) {
        counts[r] = 1 + r % 2;
        displs[r] = 3 * r;
    }
    memset(in, 0xff, sizeof in);
    if (started)
        MPI_Iallgatherv(out, counts[mine], MPI_INT, in, counts, displs, MPI_INT, inter, &req);
    else
        MPI_Allgatherv(out, counts[mine], MPI_INT, in, counts, displs, MPI_INT, inter);
    wait_for(&req, started);
    for (int r = 0; r < far_size; r++)
        for (int i = 0; i < 3; i++)
            good &= in[3 * r + i] == (i < counts[r] ? world_rank(1, r) * 100 + i : -1);
    expect(good, "allgatherv");
}

static void exchanges(int started)
{
    int in[MOST * 3], out[MOST * 3], good = 1, counts[MOST], displs[MOST];
    MPI_Request req;

    for (int i = 0; i < MOST * 3; i++)
        out[i] = me * 100 + i;
    for (int r = 0; r < MOST; r++)
        displs[r] = 3 * r;
    memset(in, 0xff, sizeof in);
    if (started)
        MPI_Ialltoall(out, 2, MPI_INT, in, 2, MPI_INT, inter, &req);
    else
        MPI_Alltoall(out, 2, MPI_INT, in, 2, MPI_INT, inter);
    wait_for(&req, started);
    for (int r = 0; r < far_size; r++)
        for (int i = 0; i < 2; i++)
            good &= in[2 * r + i] == world_rank(1, r) * 100 + 2 * mine + i;
    expect(good, "alltoall");
    /* Each gives as much as the number of its rank and the receiver's, modulo 3. */
    memset(in, 0xff, sizeof in);
    for (int r = 0; r < MOST; r++)
        counts[r] = (r + mine) % 3;
    if (started)
        MPI_Ialltoallv(out, counts, displs, MPI_INT, in, counts, displs, MPI_INT, inter, &req);
    else
        MPI_Alltoallv(out, counts, displs, MPI_INT, in, counts, displs, MPI_INT, inter);
    wait_for(&req, started);
    for (int r = 0; r < far_size; r++)
        for (int i = 0; i < 3; i++)
            good &= in[3 * r + i] == (i < counts[r] ? world_rank(1, r) * 100 + 3 * mine + i : -1);
    expect(good, "alltoallv");
}

static void collectives(void)
{
    int lengths[] = {1, 300, LONG};

    for (int started = 0; started < 2; started++) {
        MPI_Barrier(inter);
        for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
            for (int giving = 0; giving < 2; giving++) {
                int size = giving == side ? near_size : far_size;
                for (int root = 0; root < size; root++) {
                    rooted_from(giving, root, lengths[k], started);
                    rooted_to(giving, root, lengths[k], started);
                }
            }
            for_all(lengths[k], started);
        }
        gathers(started);
        exchanges(started);
    }
    ordered();
}

/* ---- what is made of it ---- */

static void merged(void)
{
    MPI_Comm all;
    int rank, size, sum = 0;

    for (int high = 0; high < 2; high++) {
        MPI_Intercomm_merge(inter, side == high, &all); /* side 0 is high, then side 1 */
        MPI_Comm_rank(all, &rank);
        MPI_Comm_size(all, &size);
        expect(size == n, "size of a merged one");
        expect(rank == (side == high ? far_size + mine : mine), "rank in a merged one");
        MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, all);
        expect(sum == n * (n - 1) / 2, "a collective on a merged one");
        MPI_Comm_free(&all);
    }
}

static void parts(void)
{
    MPI_Comm part;
    MPI_Group near, first;
    int size, far, rank, zero = 0, got = -1;

    /* Everybody in reverse order. */
    MPI_Comm_split(inter, 5, -mine, &part);
    MPI_Comm_rank(part, &rank);
    MPI_Comm_remote_size(part, &far);
    expect(rank == near_size - 1 - mine && far == far_size, "a split in reverse order");
    MPI_Sendrecv(&me, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, MPI_PROC_NULL, 1, part,
                 MPI_STATUS_IGNORE);
    if (rank == 0)
        for (int k = 0; k < far_size; k++) {
            MPI_Status status;
            MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, part, &status);
            expect(got == world_rank(1, far_size - 1 - status.MPI_SOURCE), "who is who in a split");
        }
    MPI_Comm_free(&part);
    /* A colour that only one side has gives nothing. */
    MPI_Comm_split(inter, mine == 0 ? 1 : 2 + side, 0, &part);
    expect((part != MPI_COMM_NULL) == (mine == 0), "a colour of one side");
    if (part != MPI_COMM_NULL) {
        MPI_Comm_remote_size(part, &far);
        MPI_Comm_size(part, &size);
        expect(size == 1 && far == 1, "the first ones");
        MPI_Comm_free(&part);
    }
#ifdef FOR_WAITIO
    /* By hosts: all on this one. */
    MPI_Comm_split_type(inter, MPI_COMM_TYPE_SHARED, -mine, MPI_INFO_NULL, &part);
    MPI_Comm_rank(part, &rank);
    MPI_Comm_remote_size(part, &far);
    expect(rank == near_size - 1 - mine && far == far_size, "a split by hosts");
    MPI_Comm_free(&part);
#endif
    MPI_Comm_group(inter, &near);
    MPI_Group_incl(near, 1, &zero, &first);
    MPI_Comm_create(inter, first, &part);
    expect((part != MPI_COMM_NULL) == (mine == 0), "who is in a created one");
    if (part != MPI_COMM_NULL) {
        MPI_Sendrecv(&me, 1, MPI_INT, 0, 2, &got, 1, MPI_INT, 0, 2, part, MPI_STATUS_IGNORE);
        expect(got == world_rank(1, 0), "a message in a created one");
        MPI_Comm_free(&part);
    }
    MPI_Group_free(&near);
    MPI_Group_free(&first);
}

#ifdef FOR_WAITIO
/* Made once, started twice (MPI 4). */
static void persistent(void)
{
    enum { LEN = 300 };
    int in[LEN], out[LEN] = {0}, data[LEN];
    MPI_Request req[2];

    MPI_Allreduce_init(out, in, LEN, MPI_INT, MPI_SUM, inter, MPI_INFO_NULL, &req[0]);
    MPI_Bcast_init(data, LEN, MPI_INT, root_of(1, 0), inter, MPI_INFO_NULL, &req[1]);
    for (int turn = 0; turn < 2; turn++) {
        int good = 1;
        for (int i = 0; i < LEN; i++) {
            out[i] = operand(i) + turn;
            data[i] = side == 1 && mine == 0 ? i + turn : -1;
        }
        MPI_Startall(2, req);
        MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
        for (int i = 0; i < LEN; i++)
            good &= in[i] == sum_of(1, i) + far_size * turn && (side == 1 || data[i] == i + turn);
        expect(good, "persistent collectives");
    }
    MPI_Request_free(&req[0]);
    MPI_Request_free(&req[1]);
}

/* One leader's call fails: all members of both groups learn it. */
static void failing(int low)
{
    int leads = side == 1 && mine == 0, class = 0, rc;
    MPI_Comm made;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    rc = MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, side == 0 ? low : 0, 18,
                              leads ? NULL : &made);
    MPI_Error_class(rc, &class);
    expect(class == MPI_ERR_ARG, "a leader that gives no place for the result");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}
#endif

/* Two groups of the world: the first `low` processes and the others. */
static void go(int low)
{
    MPI_Comm again;

    side = me >= low;
    MPI_Comm_split(MPI_COMM_WORLD, side, me, &local);
    MPI_Comm_rank(local, &mine);
    MPI_Comm_size(local, &near_size);
    far_size = n - near_size;
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, side == 0 ? low : 0, 17, &inter);
    questions();
    messages(inter);
    collectives();
#ifdef FOR_WAITIO
    persistent();
    failing(low);
#endif
    merged();
    parts();
    MPI_Comm_dup(inter, &again);
    MPI_Comm_free(&inter);
    inter = again; /* the duplicate lives on */
    messages(inter);
    collectives();
    MPI_Comm_free(&inter);
    /* The last of each group lead; twice with one tag. */
    for (int k = 0; k < 2; k++) {
        MPI_Intercomm_create(local, near_size - 1, MPI_COMM_WORLD, side == 0 ? n - 1 : low - 1, 17,
                             &inter);
        messages(inter);
        MPI_Comm_free(&inter);
    }
    MPI_Comm_free(&local);
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int low = 1; low < n; low++)
        go(low);
    MPI_Finalize();
    if (failures == 0)
        puts("ok");
    return failures > 0;
}
