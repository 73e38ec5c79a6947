/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators and groups: order of a split, spaces that never meet, members of a PB that do not
 * stand together, groups and their algebra, and thousands of splits and duplicates without a leak.
 */
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <waitio_mpi.h>

enum { MANY = 2500 };

static int failures, me, n;

static void expect(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "comms: rank %d: %s\n", me, what);
        failures++;
    }
}

static int sum_over(WAITIO_MPI_Comm comm, int mine)
{
    int sum = -1;
    WAITIO_MPI_Allreduce(&mine, &sum, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, comm);
    return sum;
}

/* Reverse order, across PBs: rank r of the new one is the r-th from behind of my parity. */
static void split_reversed(void)
{
    WAITIO_MPI_Comm part;
    int rank, size, want = (n - 1 - me) / 2, parity = me % 2, sum = 0;

    WAITIO_MPI_Comm_split(WAITIO_MPI_COMM_WORLD, parity, n - me, &part);
    WAITIO_MPI_Comm_rank(part, &rank);
    WAITIO_MPI_Comm_size(part, &size);
    expect(size == (n + 1 - parity) / 2, "size of a split");
    expect(rank == want, "rank in a split by descending keys");
    for (int r = parity; r < n; r += 2)
        sum += r;
    expect(sum_over(part, me) == sum, "sum over a split");
    WAITIO_MPI_Comm_free(&part);
    expect(part == WAITIO_MPI_COMM_NULL, "a freed communicator is not null");
    /* Equal keys: the order of the old ranks. */
    WAITIO_MPI_Comm_split(WAITIO_MPI_COMM_WORLD, 3, 7, &part);
    WAITIO_MPI_Comm_rank(part, &rank);
    expect(rank == me, "equal keys keep the order");
    WAITIO_MPI_Comm_free(&part);
    WAITIO_MPI_Comm_split(WAITIO_MPI_COMM_WORLD, me == 0 ? WAITIO_MPI_UNDEFINED : 1, 0, &part);
    expect((part == WAITIO_MPI_COMM_NULL) == (me == 0), "UNDEFINED gives no communicator");
    if (part != WAITIO_MPI_COMM_NULL)
        WAITIO_MPI_Comm_free(&part);
}

static void split_by_type(void)
{
    WAITIO_MPI_Comm pb, host;
    int size, want, *sizes, pbid;

    waitio_pb_rank(&pbid);
    waitio_get_nprocs(&sizes);
    want = sizes[pbid];
    WAITIO_MPI_Comm_split_type(WAITIO_MPI_COMM_WORLD, WAITIO_MPI_COMM_TYPE_PB, 0,
                               WAITIO_MPI_INFO_NULL, &pb);
    WAITIO_MPI_Comm_size(pb, &size);
    expect(size == want && sum_over(pb, 1) == want, "split into PBs");
    WAITIO_MPI_Comm_split_type(WAITIO_MPI_COMM_WORLD, WAITIO_MPI_COMM_TYPE_SHARED, -me,
                               WAITIO_MPI_INFO_NULL, &host);
    WAITIO_MPI_Comm_size(host, &size);
    expect(size == n && sum_over(host, 1) == n, "split into hosts");
    WAITIO_MPI_Comm_free(&pb);
    WAITIO_MPI_Comm_free(&host);
}

/* The same tag on four communicators with the same members: nothing is mixed up. */
static void duplicates_are_apart(void)
{
    WAITIO_MPI_Comm comm[4];
    int out[4], in[4], right = (me + 1) % n, left = (me + n - 1) % n, result;
    WAITIO_MPI_Request req[8];

    comm[0] = WAITIO_MPI_COMM_WORLD;
    WAITIO_MPI_Comm_dup(comm[0], &comm[1]);
    WAITIO_MPI_Comm_dup(comm[0], &comm[2]);
    WAITIO_MPI_Comm_dup(comm[1], &comm[3]);
    for (int i = 0; i < 4; i++) {
        out[i] = me * 10 + i;
        WAITIO_MPI_Irecv(&in[i], 1, WAITIO_MPI_INT, left, WAITIO_MPI_ANY_TAG, comm[i], &req[i]);
    }
    for (int i = 3; i >= 0; i--) /* against the order of the receives */
        WAITIO_MPI_Isend(&out[i], 1, WAITIO_MPI_INT, right, 5, comm[i], &req[4 + i]);
    WAITIO_MPI_Waitall(8, req, WAITIO_MPI_STATUSES_IGNORE);
    for (int i = 0; i < 4; i++)
        expect(in[i] == left * 10 + i, "messages of duplicates were mixed up");
    /* Collectives in different orders on different members' duplicates. */
    for (int i = 0; i < 4; i++)
        WAITIO_MPI_Ibarrier(comm[(i + me) % 4], &req[(i + me) % 4]);
    WAITIO_MPI_Waitall(4, req, WAITIO_MPI_STATUSES_IGNORE);
    WAITIO_MPI_Comm_compare(comm[0], comm[0], &result);
    expect(result == WAITIO_MPI_IDENT, "a communicator is not identical to itself");
    WAITIO_MPI_Comm_compare(comm[0], comm[2], &result);
    expect(result == WAITIO_MPI_CONGRUENT, "a duplicate is not congruent");
    for (int i = 1; i < 4; i++)
        WAITIO_MPI_Comm_free(&comm[i]);
}

static void groups(void)
{
    WAITIO_MPI_Group all, low, high, both, none, rest, back;
    int result, rank, ranges[1][3] = {{n - 1, 0, -1}}, mine[2] = {0, n - 1}, there[2], size;
    int half = (n + 1) / 2, *list = malloc(sizeof *list * (size_t)n);

    for (int i = 0; i < n; i++)
        list[i] = i;
    WAITIO_MPI_Comm_group(WAITIO_MPI_COMM_WORLD, &all);
    WAITIO_MPI_Group_incl(all, half, list, &low);
    WAITIO_MPI_Group_excl(all, half, list, &high);
    WAITIO_MPI_Group_union(high, low, &both);
    WAITIO_MPI_Group_compare(all, both, &result);
    expect(result == (n == 1 ? WAITIO_MPI_IDENT : WAITIO_MPI_SIMILAR), "union");
    WAITIO_MPI_Group_intersection(low, high, &none);
    WAITIO_MPI_Group_compare(none, WAITIO_MPI_GROUP_EMPTY, &result);
    expect(result == WAITIO_MPI_IDENT, "intersection");
    WAITIO_MPI_Group_difference(all, high, &rest);
    WAITIO_MPI_Group_compare(rest, low, &result);
    expect(result == WAITIO_MPI_IDENT, "difference");
    WAITIO_MPI_Group_range_incl(all, 1, ranges, &back);
    WAITIO_MPI_Group_translate_ranks(all, 2, mine, back, there);
    expect(there[0] == n - 1 && there[1] == 0, "reversed group");
    WAITIO_MPI_Group_translate_ranks(all, 2, mine, low, there);
    expect(there[0] == 0 && there[1] == (n == 1 ? 0 : WAITIO_MPI_UNDEFINED), "half a group");
    WAITIO_MPI_Group_rank(high, &rank);
    expect(rank == (me >= half ? me - half : WAITIO_MPI_UNDEFINED), "rank in a group");
    WAITIO_MPI_Group_size(high, &size);
    expect(size == n - half, "size of a group");
    WAITIO_MPI_Group_free(&all);
    WAITIO_MPI_Group_free(&low);
    WAITIO_MPI_Group_free(&high);
    WAITIO_MPI_Group_free(&both);
    WAITIO_MPI_Group_free(&none);
    WAITIO_MPI_Group_free(&rest);
    WAITIO_MPI_Group_free(&back);
    free(list);
}

/* Every second member, in reverse; once called by all, twice by the members alone. */
static void from_groups(void)
{
    WAITIO_MPI_Group all, some;
    WAITIO_MPI_Comm comm, first, second;
    int last = (n - 1) / 2 * 2, ranges[1][3] = {{last, 0, -2}}, rank, x = me, y = me;

    WAITIO_MPI_Comm_group(WAITIO_MPI_COMM_WORLD, &all);
    WAITIO_MPI_Group_range_incl(all, 1, ranges, &some);
    WAITIO_MPI_Comm_create(WAITIO_MPI_COMM_WORLD, some, &comm);
    expect((comm == WAITIO_MPI_COMM_NULL) == (me % 2 == 1), "create");
    if (me % 2 == 0) {
        WAITIO_MPI_Comm_rank(comm, &rank);
        expect(rank == (last - me) / 2, "rank in a created communicator");
        WAITIO_MPI_Comm_create_group(WAITIO_MPI_COMM_WORLD, some, 1, &first);
        WAITIO_MPI_Comm_create_group(WAITIO_MPI_COMM_WORLD, some, 1, &second);
        /* Rank 0 begins with the one, the others with the other: different spaces. */
        WAITIO_MPI_Bcast(rank == 0 ? &x : &y, 1, WAITIO_MPI_INT, 0, rank == 0 ? first : second);
        WAITIO_MPI_Bcast(rank == 0 ? &y : &x, 1, WAITIO_MPI_INT, 0, rank == 0 ? second : first);
        expect(x == last && y == last, "create_group");
        WAITIO_MPI_Comm_free(&comm);
        WAITIO_MPI_Comm_free(&first);
        WAITIO_MPI_Comm_free(&second);
    }
    WAITIO_MPI_Group_free(&all);
    WAITIO_MPI_Group_free(&some);
}

/* A grid of two dimensions, the first one a ring. */
static void far_shifts(WAITIO_MPI_Comm grid, int rows)
{
    int to, from;

    WAITIO_MPI_Cart_shift(grid, 1, INT_MAX, &from, &to);
    expect(from == WAITIO_MPI_PROC_NULL && to == WAITIO_MPI_PROC_NULL, "shift far out");
    WAITIO_MPI_Cart_shift(grid, 0, INT_MAX / rows * rows, &from, &to);
    expect(from == me && to == me, "shift around often");
}

static void grids(void)
{
    int dims[2] = {0, 0}, periods[2] = {1, 0}, coords[2], rows[2] = {0, 1}, three[3] = {0, 2, 0};
    int up, down, left, right, rank, size, kind, got[2], d[2], p[2];
    WAITIO_MPI_Comm grid, row;

    WAITIO_MPI_Dims_create(24, 3, three);
    expect(three[0] * three[1] * three[2] == 24 && three[1] == 2 && three[0] >= three[2], "dims");
    WAITIO_MPI_Dims_create(n, 2, dims);
    expect(dims[0] * dims[1] == n && dims[0] >= dims[1], "dims_create");
    WAITIO_MPI_Cart_create(WAITIO_MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    WAITIO_MPI_Topo_test(grid, &kind);
    expect(kind == WAITIO_MPI_CART, "topo_test");
    WAITIO_MPI_Cart_coords(grid, me, 2, coords);
    expect(coords[0] == me / dims[1] && coords[1] == me % dims[1], "coords");
    WAITIO_MPI_Cart_get(grid, 2, d, p, got);
    expect(d[0] == dims[0] && p[0] == 1 && p[1] == 0 && got[1] == coords[1], "cart_get");
    coords[0] -= dims[0]; /* once around */
    WAITIO_MPI_Cart_rank(grid, coords, &rank);
    expect(rank == me, "cart_rank");
    WAITIO_MPI_Cart_shift(grid, 0, 1, &up, &down);
    expect(down == (me + dims[1]) % n && up == (me + n - dims[1]) % n, "shift around");
    WAITIO_MPI_Cart_shift(grid, 1, 1, &left, &right);
    expect(left == (me % dims[1] == 0 ? WAITIO_MPI_PROC_NULL : me - 1) &&
               right == (me % dims[1] == dims[1] - 1 ? WAITIO_MPI_PROC_NULL : me + 1),
           "shift to an edge");
    far_shifts(grid, dims[0]);
    WAITIO_MPI_Comm_dup(grid, &row); /* a duplicate has the grid, too */
    WAITIO_MPI_Cart_shift(row, 0, 1, &up, &down);
    expect(down == (me + dims[1]) % n, "shift in a duplicate");
    WAITIO_MPI_Comm_free(&row);
    WAITIO_MPI_Cart_sub(grid, rows, &row);
    WAITIO_MPI_Comm_size(row, &size);
    WAITIO_MPI_Comm_rank(row, &rank);
    expect(size == dims[1] && rank == me % dims[1] && sum_over(row, 1) == size, "cart_sub");
    WAITIO_MPI_Comm_free(&row);
    WAITIO_MPI_Comm_free(&grid);
}

static void a_grid_without_the_last(void)
{
    int dims[1] = {n - 1}, periods[1] = {0};
    WAITIO_MPI_Comm grid;

    if (n == 1)
        return;
    WAITIO_MPI_Cart_create(WAITIO_MPI_COMM_WORLD, 1, dims, periods, 0, &grid);
    expect((grid == WAITIO_MPI_COMM_NULL) == (me == n - 1), "a process beyond the grid");
    if (grid != WAITIO_MPI_COMM_NULL)
        WAITIO_MPI_Comm_free(&grid);
}

/* What collectives of all processes send to the other of two PBs, as the counters tell. (A shorter
 * broadcast within one host does not care for the border.) */
static void border_of_two(void)
{
    static const char *const names[2] = {"border_msgs", "border_bytes"};
    uint64_t before[2], after[2];
    static int x[5000];
    int npb, y[25], used[2], sum[2];

    waitio_pb_size(&npb);
    if (npb != 2)
        return;
    for (int what = 0; what < 3; what++) {
        int ways = what < 2 ? 1 : 2; /* bcast and reduce; allreduce goes both ways */
        int bytes = what == 0 ? (int)sizeof x : (int)sizeof y;
        for (int i = 0; i < 2; i++)
            waitio_counter(names[i], &before[i]);
        if (what == 0)
            WAITIO_MPI_Bcast(x, 5000, WAITIO_MPI_INT, n - 1, WAITIO_MPI_COMM_WORLD);
        else if (what == 1)
            WAITIO_MPI_Reduce(x, y, 25, WAITIO_MPI_INT, WAITIO_MPI_SUM, 0, WAITIO_MPI_COMM_WORLD);
        else
            WAITIO_MPI_Allreduce(x, y, 25, WAITIO_MPI_INT, WAITIO_MPI_SUM, WAITIO_MPI_COMM_WORLD);
        for (int i = 0; i < 2; i++) {
            waitio_counter(names[i], &after[i]);
            used[i] = (int)(after[i] - before[i]);
        }
        WAITIO_MPI_Allreduce(used, sum, 2, WAITIO_MPI_INT, WAITIO_MPI_SUM, WAITIO_MPI_COMM_WORLD);
        expect(sum[0] == ways && sum[1] == ways * bytes,
               "the border was crossed more than once each way");
    }
}

static size_t memory(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    uint64_t requests = 0; /* a pool: its size depends on how far others are behind */
    expect(waitio_counter("request_bytes", &requests) == 0, "no such counter");
    return mallinfo2().uordblks - (size_t)requests;
#else
    return 0;
#endif
}

/* A communicator freed while its collective is under way lives until that is complete. */
static void freed_early(void)
{
    WAITIO_MPI_Comm comm;
    WAITIO_MPI_Request req;
    int one = 1, sum = 0;

    WAITIO_MPI_Comm_dup(WAITIO_MPI_COMM_WORLD, &comm);
    WAITIO_MPI_Iallreduce(&one, &sum, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, comm, &req);
    WAITIO_MPI_Comm_free(&comm);
    WAITIO_MPI_Wait(&req, WAITIO_MPI_STATUS_IGNORE);
    expect(sum == n, "sum on a communicator freed early");
}

static void many(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        WAITIO_MPI_Comm part, twin;
        WAITIO_MPI_Comm_split(WAITIO_MPI_COMM_WORLD, (me + i) % 3, i % 2 ? me : -me, &part);
        WAITIO_MPI_Comm_dup(part, &twin);
        if (i % 10 == 0)
            expect(sum_over(twin, 1) == sum_over(part, 1), "sums differ");
        WAITIO_MPI_Comm_free(&part);
        WAITIO_MPI_Comm_free(&twin);
    }
}

/* Tables and pools may grow now and then, a leak grows each time. */
static void communicators_leave_nothing(void)
{
    size_t before, more = 0;
    int leaks = 0, anywhere = 1;

    for (int i = 0; i < 3 && anywhere; i++) {
        int now;
        before = memory();
        many(MANY);
        WAITIO_MPI_Barrier(WAITIO_MPI_COMM_WORLD);
        more = memory() - before;
        now = (long)more > 16 * MANY;
        leaks += now;
        WAITIO_MPI_Allreduce(&now, &anywhere, 1, WAITIO_MPI_INT, WAITIO_MPI_MAX,
                             WAITIO_MPI_COMM_WORLD);
    }
    if (leaks == 3)
        fprintf(stderr, "comms: %zu bytes more in use\n", more);
    expect(leaks < 3, "splits and duplicates leak");
}

int main(void)
{
    WAITIO_MPI_Init(NULL, NULL);
    WAITIO_MPI_Comm_rank(WAITIO_MPI_COMM_WORLD, &me);
    WAITIO_MPI_Comm_size(WAITIO_MPI_COMM_WORLD, &n);
    split_reversed();
    split_by_type();
    duplicates_are_apart();
    groups();
    from_groups();
    freed_early();
    grids();
    a_grid_without_the_last();
    expect(sum_over(WAITIO_MPI_COMM_SELF, 5) == 5, "sum over myself");
    many(100); /* everybody has met everybody, tables have grown */
    communicators_leave_nothing();
    border_of_two(); /* its messages need memory, too */
    WAITIO_MPI_Finalize();
    if (failures == 0)
        printf("ok\n");
    return failures != 0;
}
