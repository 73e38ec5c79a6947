/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operators of the program on hybrid communicators: maps x -> a x + b, whose composition does not
 * commute, of a type with holes; sums of the same; and the library's own on a type that no MPI
 * reduces. On all processes, and among those of a block. Results have the order of the ranks.
 *
 * Prints "folds RANK N", how often the block's MPI got an operator, then ok.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lang/world.h"

/* b, a hole, a: nothing that can be used as it lies. */
typedef struct {
    unsigned b, hole, a;
} map;

struct pair {
    double value;
    int place;
};

enum { SHORT = 5, LONG = 70001 /* goes in pieces where the operator commutes */ };

static int failures, me, n;
static WAITIO_MPI_Datatype map_type;
static WAITIO_MPI_Op compose, plus;

static map value(int rank, int i)
{
    return (map){.b = (unsigned)(rank * 31 + i), .hole = 99, .a = (unsigned)(2 * rank + 3)};
}

static map composed(map x, map y)
{
    return (map){.b = x.a * y.b + x.b, .hole = y.hole, .a = x.a * y.a};
}

static map added(map x, map y)
{
    return (map){.b = x.b + y.b, .hole = y.hole, .a = x.a + y.a};
}

static void by_composing(void *in, void *inout, int *count, WAITIO_MPI_Datatype *type)
{
    map *x = in, *y = inout;

    failures += *type != map_type;
    for (int i = 0; i < *count; i++)
        y[i] = composed(x[i], y[i]);
}

static void by_adding(void *in, void *inout, int *count, WAITIO_MPI_Datatype *type)
{
    map *x = in, *y = inout;

    failures += *type != map_type;
    for (int i = 0; i < *count; i++)
        y[i] = added(x[i], y[i]);
}

/* Of ranks 0 .. last, element i. */
static map expected(WAITIO_MPI_Op op, int last, int i)
{
    map sum = value(last, i);

    for (int r = last - 1; r >= 0; r--)
        sum = op == compose ? composed(value(r, i), sum) : added(value(r, i), sum);
    return sum;
}

static void look(const char *what, WAITIO_MPI_Op op, const map *out, int last, int count, int first)
{
    for (int i = 0; i < count; i++) {
        map want = expected(op, last, first + i);
        if (out[i].a == want.a && out[i].b == want.b && out[i].hole == 7)
            continue;
        printf("rank %d of %d: %s, element %d: %u %u, not %u %u\n", me, n, what, i, out[i].a,
               out[i].b, want.a, want.b);
        failures++;
        return;
    }
}

static map *fresh(int count)
{
    map *p = calloc((size_t)count + 1, sizeof *p);

    if (p == NULL)
        exit(2);
    for (int i = 0; i < count; i++)
        p[i].hole = 7;
    return p;
}

static void all_kinds(WAITIO_MPI_Comm comm, WAITIO_MPI_Op op, int count)
{
    map *in = fresh(n * count), *out = fresh((n + 1) * count);
    WAITIO_MPI_Request req[2];

    for (int i = 0; i < n * count; i++)
        in[i] = value(me, i);
    for (int root = 0; root < n; root++) {
        WAITIO_MPI_Reduce(in, out, count, map_type, op, root, comm);
        if (me == root)
            look("reduce", op, out, n - 1, count, 0);
    }
    WAITIO_MPI_Allreduce(in, out, count, map_type, op, comm);
    look("allreduce", op, out, n - 1, count, 0);
    WAITIO_MPI_Scan(in, out, count, map_type, op, comm);
    look("scan", op, out, me, count, 0);
    WAITIO_MPI_Exscan(in, out, count, map_type, op, comm);
    if (me > 0)
        look("exscan", op, out, me - 1, count, 0);
    WAITIO_MPI_Reduce_scatter_block(in, out, count, map_type, op, comm);
    look("reduce_scatter_block", op, out, n - 1, count, me * count);
#ifndef NO_STARTED
    /* Two at a time, of which the second is waited for first. */
    WAITIO_MPI_Iallreduce(in, out, count, map_type, op, comm, &req[0]);
    WAITIO_MPI_Ireduce(in, out + count, count, map_type, op, n - 1, comm, &req[1]);
    WAITIO_MPI_Wait(&req[1], WAITIO_MPI_STATUS_IGNORE);
    WAITIO_MPI_Wait(&req[0], WAITIO_MPI_STATUS_IGNORE);
    look("iallreduce", op, out, n - 1, count, 0);
    if (me == n - 1)
        look("ireduce", op, out + count, n - 1, count, 0);
#else
    (void)req;
#endif
    free(in);
    free(out);
}

static void a_type_that_no_mpi_reduces(WAITIO_MPI_Comm comm)
{
    struct pair in = {me % 2 ? 5.0 : 1.0, me}, out = {0, 0};

    WAITIO_MPI_Allreduce(&in, &out, 1, WAITIO_MPI_DOUBLE_INT, WAITIO_MPI_MAXLOC, comm);
    if (out.value != (n > 1 ? 5.0 : 1.0) || out.place != (n > 1 ? 1 : 0)) {
        printf("rank %d: maxloc %g at %d\n", me, out.value, out.place);
        failures++;
    }
}

static void on(WAITIO_MPI_Comm comm)
{
    WAITIO_MPI_Comm_rank(comm, &me);
    WAITIO_MPI_Comm_size(comm, &n);
    all_kinds(comm, compose, SHORT);
    all_kinds(comm, plus, SHORT);
    all_kinds(comm, plus, LONG);
    a_type_that_no_mpi_reduces(comm);
}

int main(void)
{
    WAITIO_MPI_Comm world = open_world(), block = WAITIO_MPI_COMM_NULL;
    WAITIO_MPI_Datatype numbers;
    int places[2] = {0, 2}, pb = 0;
    uint64_t folds = 0;

    WAITIO_MPI_Type_create_indexed_block(2, 1, places, WAITIO_MPI_UNSIGNED, &numbers);
    WAITIO_MPI_Type_create_resized(numbers, 0, sizeof(map), &map_type);
    WAITIO_MPI_Type_commit(&map_type);
    WAITIO_MPI_Type_free(&numbers);
    WAITIO_MPI_Op_create(by_composing, 0, &compose);
    WAITIO_MPI_Op_create(by_adding, 1, &plus);
    waitio_pb_rank(&pb);
    WAITIO_MPI_Comm_split(world, pb, 0, &block);
    on(block);
    on(world);
    waitio_counter("inside_folds", &folds);
    printf("folds %d %llu\n", me, (unsigned long long)folds);
    WAITIO_MPI_Comm_free(&block);
    WAITIO_MPI_Op_free(&compose);
    WAITIO_MPI_Op_free(&plus);
    WAITIO_MPI_Type_free(&map_type);
    close_world(&world);
    if (failures == 0)
        puts("ok");
    return failures != 0;
}
