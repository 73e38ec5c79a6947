/* SPDX-License-Identifier: BSD-3-Clause */
/* A provider for schedules that run in one process (mpi_world.h): it does an operation when all
 * members of a PB have begun it, and fails the test when they disagree about it. */
#ifndef MPI_INSIDE_H
#define MPI_INSIDE_H

#include "mpi/inside.h"

enum { MOST_MEMBERS = 13 };

static int fake_reduces(void *part, WAITIO_MPI_Datatype type, WAITIO_MPI_Op op)
{
    (void)part;
    return type == WAITIO_MPI_INT && op == WAITIO_MPI_SUM;
}

static int fake_folds(void *part, size_t bytes, int commutes)
{
    (void)part, (void)commutes;
    return bytes > 0;
}

/* A provider that knows sums of integers, and takes other operators. */
static const struct waitio_inside_ops fake_ops = {
    .version = WAITIO_INSIDE_VERSION,
    .size = sizeof fake_ops,
    .name = "fake",
    .reduces = fake_reduces,
    .folds = fake_folds,
};

/* One that was built before there was the slot. What lies behind its table is not to be used. */
static const struct waitio_inside_ops old_ops = {
    .version = WAITIO_INSIDE_VERSION,
    .size = WAITIO_INSIDE_SIZE_LEAST,
    .name = "old",
    .reduces = fake_reduces,
    .folds = fake_folds,
};

static int fake_folded; /* operators that were not known, applied */

static size_t fake_len(const struct waitio_inside_blocks *b, int i)
{
    return b->len != NULL ? b->len[i] : b->unit;
}

static int64_t fake_at(const struct waitio_inside_blocks *b, int i)
{
    return b->len != NULL ? b->at[i] : (int64_t)b->unit * i;
}

static void fake_move(void *to, const void *from, size_t n)
{
    if (n > 0)
        memmove(to, from, n);
}

static size_t fake_element(const struct waitio_inside_call *call)
{
    return call->fold != NULL ? call->fold->bytes : sizeof(int);
}

/* What members 0 .. last add up to, @p count elements from number @p first on, in rank order. */
static void fake_sum(const struct waitio_inside_call *const *call, int last, size_t first,
                     size_t count, char *const *in, void *to)
{
    size_t size = fake_element(call[0]);
    const struct waitio_inside_fold *fold = call[0]->fold;
    fake_move(to, in[last] + first * size, count * size);
    for (int m = last - 1; m >= 0; m--) {
        const char *left = in[m] + first * size;
        if (fold != NULL) {
            assert_int_equal(fold->apply(fold, left, to, count), 0);
            fake_folded++;
        }
        for (size_t i = 0; fold == NULL && i < count; i++)
            ((unsigned *)to)[i] += ((const unsigned *)(const void *)left)[i];
    }
}

/* Operands may lie where results go. */
static void fake_reduce(const struct waitio_inside_call *const *call, int n)
{
    char *in[MOST_MEMBERS];
    size_t first = 0, size = fake_element(call[0]);
    for (int m = 0; m < n; m++) {
        size_t bytes = call[0]->count * size;
        assert_int_equal(call[m]->count, call[0]->count);
        assert_int_equal(call[m]->fold != NULL, call[0]->fold != NULL);
        assert_int_equal(fake_element(call[m]), size);
        if (call[m]->fold == NULL && call[m]->count > 0)
            assert_int_equal(call[m]->type, WAITIO_MPI_INT);
        in[m] = malloc(bytes + 1);
        assert_non_null(in[m]);
        fake_move(in[m], call[m]->in, bytes);
    }
    for (int m = 0; m < n; m++) {
        enum waitio_inside_kind kind = call[m]->kind;
        size_t count = call[m]->count;
        if (kind == WAITIO_INSIDE_ALLREDUCE || (kind == WAITIO_INSIDE_REDUCE && m == call[m]->root))
            fake_sum(call, n - 1, 0, count, in, call[m]->out);
        else if (kind == WAITIO_INSIDE_SCAN || (kind == WAITIO_INSIDE_EXSCAN && m > 0))
            fake_sum(call, kind == WAITIO_INSIDE_SCAN ? m : m - 1, 0, count, in, call[m]->out);
        else if (kind == WAITIO_INSIDE_REDUCE_SCATTER) {
            size_t its = fake_len(&call[m]->ins, m) / size;
            fake_sum(call, n - 1, first, its, in, call[m]->out);
            first += its;
        }
    }
    for (int m = 0; m < n; m++)
        free(in[m]);
}

static void fake_gather(const struct waitio_inside_call *const *call, int n, int to)
{
    for (int m = 0; m < n; m++) {
        bool in_place = call[m]->in == call[m]->out;
        assert_int_equal(call[m]->bytes, fake_len(&call[to]->outs, m));
        fake_move((char *)call[to]->out + fake_at(&call[to]->outs, m),
                  (const char *)call[m]->in + (in_place ? fake_at(&call[m]->outs, m) : 0),
                  call[m]->bytes);
    }
}

static void fake_scatter(const struct waitio_inside_call *const *call, int n, int root)
{
    for (int m = 0; m < n; m++) {
        assert_int_equal(call[m]->bytes, fake_len(&call[root]->ins, m));
        if (m == root && call[m]->in == call[m]->out)
            continue; /* in place */
        fake_move(call[m]->out, (const char *)call[root]->in + fake_at(&call[root]->ins, m),
                  call[m]->bytes);
    }
}

static void fake_alltoall(const struct waitio_inside_call *const *call, int n)
{
    for (int from = 0; from < n; from++)
        for (int to = 0; to < n; to++) {
            assert_int_equal(fake_len(&call[from]->ins, to), fake_len(&call[to]->outs, from));
            fake_move((char *)call[to]->out + fake_at(&call[to]->outs, from),
                      (const char *)call[from]->in + fake_at(&call[from]->ins, to),
                      fake_len(&call[from]->ins, to));
        }
}

/* @param call by place in the part */
static void fake_run(const struct waitio_inside_call *const *call, int n)
{
    int root = call[0]->root;
    for (int m = 0; m < n; m++) {
        assert_int_equal(call[m]->kind, call[0]->kind);
        if (call[0]->kind == WAITIO_INSIDE_BCAST || call[0]->kind == WAITIO_INSIDE_REDUCE ||
            call[0]->kind == WAITIO_INSIDE_GATHER || call[0]->kind == WAITIO_INSIDE_SCATTER)
            assert_int_equal(call[m]->root, root);
    }
    switch (call[0]->kind) {
    case WAITIO_INSIDE_BARRIER:
        break;
    case WAITIO_INSIDE_BCAST:
        for (int m = 0; m < n; m++) {
            assert_int_equal(call[m]->bytes, call[root]->bytes);
            if (m != root)
                fake_move(call[m]->out, call[root]->out, call[m]->bytes);
        }
        break;
    case WAITIO_INSIDE_GATHER:
        fake_gather(call, n, root);
        break;
    case WAITIO_INSIDE_ALLGATHER:
        for (int m = 0; m < n; m++)
            fake_gather(call, n, m);
        break;
    case WAITIO_INSIDE_SCATTER:
        fake_scatter(call, n, root);
        break;
    case WAITIO_INSIDE_ALLTOALL:
        fake_alltoall(call, n);
        break;
    default:
        fake_reduce(call, n);
    }
}

#endif
