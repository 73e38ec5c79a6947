/* SPDX-License-Identifier: BSD-3-Clause */
/* Data too long for a count of MPI: the same operation on one piece after the other. */
#include <stdlib.h>
#include <string.h>

#include "hybrid/hybrid.h"

/* Moving NULL is undefined, and members that have no result have NULL there. */
static void *moved(const void *p, size_t by)
{
    return p == NULL ? NULL : (char *)(uintptr_t)p + by;
}

/* The next request of an operation, or NULL for a blocking one. */
static MPI_Request *next_request(struct wio_hybrid_op *op, bool later)
{
    return later ? &op->req[op->n] : NULL;
}

/* Counted only when it has been started. */
static int one(struct wio_hybrid_op *op, const struct waitio_inside_call *piece, bool later)
{
    int rc = wio_hybrid_piece(op, piece, next_request(op, later));

    if (rc == MPI_SUCCESS && later)
        op->n++;
    return rc;
}

/* `total` elements of `size` bytes, all at once if they fit. */
static int in_pieces(struct wio_hybrid_op *op, struct waitio_inside_call piece, size_t total,
                     size_t size, bool later)
{
    size_t most = total <= WIO_HYBRID_MOST ? total : WIO_HYBRID_PIECE;
    int rc = MPI_SUCCESS;

    for (size_t done = 0; rc == MPI_SUCCESS && done < total;) {
        size_t n = total - done < most ? total - done : most;
        piece.bytes = n * size;
        piece.count = n;
        rc = one(op, &piece, later);
        piece.in = moved(piece.in, n * size);
        piece.out = moved(piece.out, n * size);
        done += n;
    }
    return rc;
}

static size_t pieces_of(size_t n)
{
    return (n + WIO_HYBRID_PIECE - 1) / WIO_HYBRID_PIECE;
}

int wio_hybrid_pieces(struct wio_hybrid_op *op, bool later)
{
    const struct waitio_inside_call *c = op->call;
    size_t size = 1, total = c->bytes;
    int rc = MPI_SUCCESS;

    if (c->kind != WAITIO_INSIDE_BCAST) {
        size = op->sum.bytes;
        total = c->count;
    }
    if (later)
        rc = wio_hybrid_requests(op, pieces_of(total));
    return rc == MPI_SUCCESS ? in_pieces(op, *c, total, size, later) : rc;
}

int wio_hybrid_apart(struct wio_hybrid_op *op, bool later)
{
    struct waitio_inside_call c = *op->call;
    size_t size = op->sum.bytes;
    int rc = MPI_SUCCESS;

    if (later)
        rc = wio_hybrid_requests(op, pieces_of(c.count));
    op->temp = malloc(c.count * size + 1);
    if (rc != MPI_SUCCESS || op->temp == NULL)
        return MPI_ERR_NO_MEM;
    memcpy(op->temp, c.in, c.count * size);
    c.in = op->temp;
    return in_pieces(op, c, c.count, size, later);
}

/* The own block, kept apart until all others have been reduced: in place it lies where the first
 * block is. */
static void put_block(struct wio_hybrid_op *op)
{
    const struct waitio_inside_blocks *b = &op->call->ins;

    memcpy(op->call->out, op->temp, b->len != NULL ? b->len[op->part->rank] : b->unit);
}

int wio_hybrid_reduces_all(struct wio_hybrid_op *op, bool later)
{
    const struct waitio_inside_call *c = op->call;
    const struct waitio_inside_blocks *b = &c->ins;
    struct waitio_inside_call piece = *c;
    const char *in = c->in;
    size_t size = op->sum.bytes, n = 0;
    int me = op->part->rank, rc = MPI_SUCCESS;

    for (int i = 0; i < op->part->size; i++)
        n += pieces_of((b->len != NULL ? b->len[i] : b->unit) / size);
    if (later)
        rc = wio_hybrid_requests(op, n);
    op->temp = malloc((b->len != NULL ? b->len[me] : b->unit) + 1);
    if (rc != MPI_SUCCESS || op->temp == NULL)
        return MPI_ERR_NO_MEM;
    op->finish = put_block;
    piece.kind = WAITIO_INSIDE_REDUCE;
    for (int i = 0; rc == MPI_SUCCESS && i < op->part->size; i++) {
        size_t bytes = b->len != NULL ? b->len[i] : b->unit;
        piece.root = i;
        piece.in = in;
        piece.out = i == me ? op->temp : NULL;
        rc = in_pieces(op, piece, bytes / size, size, later);
        in += bytes;
    }
    return rc;
}
