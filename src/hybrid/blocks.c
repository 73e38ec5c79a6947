/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations with an array of blocks: MPI's v-forms. */
#include <stdlib.h>
#include <string.h>

#include "hybrid/calls.h"

/* Lengths and places as ints: of size + size. @return false: a place does not fit */
static bool as_ints(const struct waitio_inside_blocks *b, int size, size_t unit, int *ints)
{
    for (int i = 0; i < size; i++) {
        ints[i] = (int)(b->len[i] / unit);
        ints[size + i] = b->at != NULL ? (int)b->at[i] : 0;
        if (b->at != NULL && (b->at[i] > WIO_HYBRID_MOST || b->at[i] < -WIO_HYBRID_MOST))
            return false;
    }
    return true;
}

/* MPICH 4.0 and its relatives fail in place when the blocks before the own one are empty: give them
 * the operand elsewhere. @return the operand; NULL: no memory */
static const void *operand_of_blocks(struct wio_hybrid_op *op)
{
    const struct waitio_inside_call *c = op->call;
    size_t n = 0;

    if (c->in != c->out)
        return c->in;
#ifdef OMPI_MAJOR_VERSION
    (void)n;
    return MPI_IN_PLACE;
#else
    for (int i = 0; i < op->part->size; i++)
        n += c->ins.len[i];
    op->temp = malloc(n + 1);
    if (op->temp != NULL && n > 0)
        memcpy(op->temp, c->in, n);
    return op->temp;
#endif
}

static int reduce_scatter(struct wio_hybrid_op *op, MPI_Request *req)
{
    const struct waitio_inside_call *c = op->call;
    struct waitio_inside_blocks lengths = {.len = c->ins.len};
    int size = op->part->size;
    const void *in = operand_of_blocks(op);

    op->ints = malloc(2 * (size_t)size * sizeof *op->ints);
    if (op->ints == NULL || (in == NULL && c->in == c->out))
        return MPI_ERR_NO_MEM;
    (void)as_ints(&lengths, size, op->sum.bytes, op->ints);
    return WIO_HYBRID_CALL(Reduce_scatter, Ireduce_scatter, in, c->out, op->ints, op->sum.type,
                           op->sum.op, op->part->comm);
}

#if WIO_HYBRID_LARGE
_Static_assert(sizeof(MPI_Count) == sizeof(size_t) && sizeof(MPI_Aint) == sizeof(int64_t),
               "MPI reads the arrays of a call as they are");

static const MPI_Count *lengths(const struct waitio_inside_blocks *b)
{
    return (const MPI_Count *)b->len;
}

static const MPI_Aint *places(const struct waitio_inside_blocks *b)
{
    return (const MPI_Aint *)b->at;
}

static int gathering(struct wio_hybrid_op *op, MPI_Request *req)
{
    const struct waitio_inside_call *c = op->call;
    const struct waitio_inside_blocks *in = &c->ins, *out = &c->outs;
    bool root = op->part->rank == c->root;
    MPI_Count n = (MPI_Count)c->bytes;
    MPI_Comm comm = op->part->comm;

    if (c->kind == WAITIO_INSIDE_ALLTOALL && c->in == c->out)
        in = out; /* not read, but looked at */
    switch (c->kind) {
    case WAITIO_INSIDE_GATHER:
        return WIO_HYBRID_CALL(Gatherv_c, Igatherv_c, wio_hybrid_operand(c, root), n, MPI_BYTE,
                               c->out, lengths(out), places(out), MPI_BYTE, c->root, comm);
    case WAITIO_INSIDE_SCATTER:
        return WIO_HYBRID_CALL(Scatterv_c, Iscatterv_c, c->in, lengths(in), places(in), MPI_BYTE,
                               root && c->in == c->out ? MPI_IN_PLACE : c->out, n, MPI_BYTE,
                               c->root, comm);
    case WAITIO_INSIDE_ALLGATHER:
        return WIO_HYBRID_CALL(Allgatherv_c, Iallgatherv_c, wio_hybrid_operand(c, true), n,
                               MPI_BYTE, c->out, lengths(out), places(out), MPI_BYTE, comm);
    default:
        return WIO_HYBRID_CALL(Alltoallv_c, Ialltoallv_c, wio_hybrid_operand(c, true), lengths(in),
                               places(in), MPI_BYTE, c->out, lengths(out), places(out), MPI_BYTE,
                               comm);
    }
}
#else
/* Blocks lie one after the other in `temp`, because a place of this member does not fit an int. Its
 * partners cannot know that, and need not. */
static void put_blocks(struct wio_hybrid_op *op)
{
    const struct waitio_inside_blocks *b = &op->call->outs;
    size_t at = 0;

    for (int i = 0; i < op->part->size; i++) {
        memcpy((char *)op->call->out + b->at[i], op->temp + at, b->len[i]);
        at += b->len[i];
    }
}

/* All members know that the sum of the lengths fits (run.c). */
static int dense(struct wio_hybrid_op *op, const void **in)
{
    const struct waitio_inside_call *c = op->call;
    const struct waitio_inside_blocks *b = &c->outs;
    int size = op->part->size, me = op->part->rank;
    size_t at = 0;

    for (int i = 0; i < size; i++) {
        op->ints[i] = (int)b->len[i];
        op->ints[size + i] = (int)at;
        at += b->len[i];
    }
    op->temp = malloc(at + 1);
    if (op->temp == NULL)
        return MPI_ERR_NO_MEM;
    op->finish = put_blocks;
    if (c->in == c->out)
        memcpy(op->temp + op->ints[size + me], (const char *)c->in + b->at[me], b->len[me]);
    *in = c->in == c->out ? MPI_IN_PLACE : c->in;
    return MPI_SUCCESS;
}

static int gathering(struct wio_hybrid_op *op, MPI_Request *req)
{
    const struct waitio_inside_call *c = op->call;
    int size = op->part->size, rc = MPI_SUCCESS;
    const void *in = wio_hybrid_operand(c, true);

    op->ints = malloc(2 * (size_t)size * sizeof *op->ints);
    if (op->ints == NULL)
        return MPI_ERR_NO_MEM;
    if (!as_ints(&c->outs, size, 1, op->ints))
        rc = dense(op, &in);
    if (rc != MPI_SUCCESS)
        return rc;
    return WIO_HYBRID_CALL(Allgatherv, Iallgatherv, in, (int)c->bytes, MPI_BYTE,
                           op->temp != NULL ? op->temp : c->out, op->ints, op->ints + size,
                           MPI_BYTE, op->part->comm);
}
#endif

int wio_hybrid_blocks(struct wio_hybrid_op *op, bool later)
{
    MPI_Request *req = later ? &op->one : NULL;
    int rc = op->call->kind == WAITIO_INSIDE_REDUCE_SCATTER ? reduce_scatter(op, req)
                                                            : gathering(op, req);

    if (rc == MPI_SUCCESS && later) {
        op->req = &op->one;
        op->n = 1;
    }
    return rc;
}
