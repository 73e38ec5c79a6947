/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gathering and scattering by messages between the members, each at most a piece long: blocks that
 * no call with int counts and places can describe. Both ends know the length of a block, so they
 * cut it alike, and messages between two processes keep their order.
 */
#include <stdlib.h>
#include <string.h>

#include "hybrid/hybrid.h"

enum { TAG = 1 };

/* Where the block of rank i begins, and how long it is. */
struct block {
    char *at;
    size_t bytes;
};

static struct block block_of(const struct waitio_inside_blocks *b, const void *base, int i)
{
    char *p = (char *)(uintptr_t)base;

    if (b->len != NULL)
        return (struct block){b->len[i] > 0 ? p + b->at[i] : p, b->len[i]};
    return (struct block){p == NULL ? NULL : p + (size_t)i * b->unit, b->unit};
}

/* What this member sends to rank i. */
static struct block outgoing(const struct wio_hybrid_op *op, int i)
{
    const struct waitio_inside_call *c = op->call;
    bool root = op->part->rank == c->root;
    struct block own = {(char *)(uintptr_t)c->in, c->bytes};

    switch (c->kind) {
    case WAITIO_INSIDE_GATHER:
        return i == c->root && !root ? own : (struct block){NULL, 0};
    case WAITIO_INSIDE_SCATTER:
        return root ? block_of(&c->ins, c->in, i) : (struct block){NULL, 0};
    case WAITIO_INSIDE_ALLGATHER:
        return c->in == c->out ? block_of(&c->outs, c->out, op->part->rank) : own;
    default:
        return block_of(c->in == c->out ? &c->outs : &c->ins, c->in, i);
    }
}

/* Where what rank i sends to this member goes. */
static struct block incoming(const struct wio_hybrid_op *op, int i)
{
    const struct waitio_inside_call *c = op->call;
    bool root = op->part->rank == c->root;

    if (c->kind == WAITIO_INSIDE_SCATTER)
        return i == c->root && !root ? (struct block){c->out, c->bytes} : (struct block){NULL, 0};
    if (c->kind == WAITIO_INSIDE_GATHER && !root)
        return (struct block){NULL, 0};
    return block_of(&c->outs, c->out, i);
}

/* The member's block for itself. */
static void own_block(const struct wio_hybrid_op *op)
{
    const struct waitio_inside_call *c = op->call;
    int me = op->part->rank;
    bool rooted = c->kind == WAITIO_INSIDE_GATHER || c->kind == WAITIO_INSIDE_SCATTER;
    struct block from = {(char *)(uintptr_t)c->in, c->bytes}, to = {c->out, c->bytes};

    if (c->in == c->out || (rooted && me != c->root))
        return;
    if (c->kind == WAITIO_INSIDE_SCATTER || c->kind == WAITIO_INSIDE_ALLTOALL)
        from = block_of(&c->ins, c->in, me);
    if (c->kind != WAITIO_INSIDE_SCATTER)
        to = block_of(&c->outs, c->out, me);
    if (to.bytes > 0)
        memmove(to.at, from.at, to.bytes);
}

static size_t pieces_of(size_t n)
{
    return (n + WIO_HYBRID_PIECE - 1) / WIO_HYBRID_PIECE;
}

static int pass(struct wio_hybrid_op *op, struct block b, int peer, bool send)
{
    int rc = MPI_SUCCESS;

    for (size_t done = 0; rc == MPI_SUCCESS && done < b.bytes; done += WIO_HYBRID_PIECE) {
        size_t left = b.bytes - done;
        int n = (int)(left < WIO_HYBRID_PIECE ? left : WIO_HYBRID_PIECE);
        MPI_Request *req = &op->req[op->n];
        if (send)
            rc = PMPI_Isend(b.at + done, n, MPI_BYTE, peer, TAG, op->part->comm, req);
        else
            rc = PMPI_Irecv(b.at + done, n, MPI_BYTE, peer, TAG, op->part->comm, req);
        if (rc == MPI_SUCCESS)
            op->n++;
    }
    return rc;
}

/* In place, what goes to others is kept apart: what they send is put in its place. */
static int keep_apart(struct wio_hybrid_op *op)
{
    size_t bytes = 0;
    char *p;

    for (int i = 0; i < op->part->size; i++)
        bytes += outgoing(op, i).bytes;
    p = op->temp = malloc(bytes + 1);
    if (p == NULL)
        return MPI_ERR_NO_MEM;
    for (int i = 0; i < op->part->size; i++) {
        struct block b = outgoing(op, i);
        if (b.bytes > 0)
            memcpy(p, b.at, b.bytes);
        p += b.bytes;
    }
    return MPI_SUCCESS;
}

static int post(struct wio_hybrid_op *op)
{
    int me = op->part->rank, size = op->part->size, rc = MPI_SUCCESS;
    char *apart = op->temp;

    for (int k = 1; rc == MPI_SUCCESS && k < size; k++)
        rc = pass(op, incoming(op, (me + size - k) % size), (me + size - k) % size, false);
    if (apart == NULL) {
        for (int k = 1; rc == MPI_SUCCESS && k < size; k++)
            rc = pass(op, outgoing(op, (me + k) % size), (me + k) % size, true);
        return rc;
    }
    for (int i = 0; rc == MPI_SUCCESS && i < size; i++) {
        struct block b = {apart, outgoing(op, i).bytes};
        if (i != me)
            rc = pass(op, b, i, true);
        apart += b.bytes;
    }
    return rc;
}

int wio_hybrid_messages(struct wio_hybrid_op *op)
{
    size_t n = 0;
    int rc = MPI_SUCCESS;

    for (int i = 0; i < op->part->size; i++)
        n += pieces_of(outgoing(op, i).bytes) + pieces_of(incoming(op, i).bytes);
    if (op->call->kind == WAITIO_INSIDE_ALLTOALL && op->call->in == op->call->out)
        rc = keep_apart(op);
    if (rc == MPI_SUCCESS)
        rc = wio_hybrid_requests(op, n);
    if (rc == MPI_SUCCESS)
        rc = post(op);
    if (rc == MPI_SUCCESS)
        own_block(op);
    return rc;
}
