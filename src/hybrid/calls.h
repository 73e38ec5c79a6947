/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file calls.h
 * Operations that are one call of MPI with one count. In a header, so that the blocking and the
 * non-blocking form are each compiled straight into the slot that has them: nothing but a jump lies
 * between the slot and MPI.
 */
#ifndef WIO_HYBRID_CALLS_H
#define WIO_HYBRID_CALLS_H

#include "hybrid/hybrid.h"

/** The call, blocking without a request and non-blocking with one. */
#define WIO_HYBRID_CALL(NOW, LATER, ...)                                                           \
    (req == NULL ? PMPI_##NOW(__VA_ARGS__) : PMPI_##LATER(__VA_ARGS__, req))

/** First buffer of a call whose operand may lie in the place of the result. */
static inline const void *wio_hybrid_operand(const struct waitio_inside_call *c, bool may_be)
{
    return may_be && c->in == c->out ? MPI_IN_PLACE : c->in;
}

/* MPI_Exscan() writes nothing on rank 0, but MPICH refuses NULL there. */
static inline void *wio_hybrid_unwritten(void *out)
{
    static char place[16];

    return out != NULL ? out : place;
}

static inline int wio_hybrid_call_reduction(const struct wio_hybrid_part *p,
                                            const struct waitio_inside_call *c,
                                            const struct wio_hybrid_sum *sum, MPI_Request *req)
{
    struct wio_hybrid_sum known = sum != NULL ? *sum : wio_hybrid_known_sum(c);
    MPI_Datatype type = known.type;
    const void *in = wio_hybrid_operand(c, c->kind != WAITIO_INSIDE_REDUCE || p->rank == c->root);
    MPI_Op op = known.op;
    int n = (int)c->count;

    switch (c->kind) {
    case WAITIO_INSIDE_REDUCE:
        return WIO_HYBRID_CALL(Reduce, Ireduce, in, c->out, n, type, op, c->root, p->comm);
    case WAITIO_INSIDE_SCAN:
        return WIO_HYBRID_CALL(Scan, Iscan, in, c->out, n, type, op, p->comm);
    case WAITIO_INSIDE_EXSCAN:
        return WIO_HYBRID_CALL(Exscan, Iexscan, in, wio_hybrid_unwritten(c->out), n, type, op,
                               p->comm);
    case WAITIO_INSIDE_REDUCE_SCATTER:
        n = (int)(c->ins.unit / known.bytes);
        return WIO_HYBRID_CALL(Reduce_scatter_block, Ireduce_scatter_block, in, c->out, n, type, op,
                               p->comm);
    default:
        return WIO_HYBRID_CALL(Allreduce, Iallreduce, in, c->out, n, type, op, p->comm);
    }
}

static inline int wio_hybrid_call_uniform(const struct wio_hybrid_part *p,
                                          const struct waitio_inside_call *c, MPI_Request *req)
{
    bool root = p->rank == c->root;
    int n = (int)c->bytes;

    switch (c->kind) {
    case WAITIO_INSIDE_GATHER:
        return WIO_HYBRID_CALL(Gather, Igather, wio_hybrid_operand(c, root), n, MPI_BYTE, c->out, n,
                               MPI_BYTE, c->root, p->comm);
    case WAITIO_INSIDE_SCATTER:
        return WIO_HYBRID_CALL(Scatter, Iscatter, c->in, n, MPI_BYTE,
                               root && c->in == c->out ? MPI_IN_PLACE : c->out, n, MPI_BYTE,
                               c->root, p->comm);
    case WAITIO_INSIDE_ALLGATHER:
        return WIO_HYBRID_CALL(Allgather, Iallgather, wio_hybrid_operand(c, true), n, MPI_BYTE,
                               c->out, n, MPI_BYTE, p->comm);
    default:
        n = (int)c->outs.unit;
        return WIO_HYBRID_CALL(Alltoall, Ialltoall, wio_hybrid_operand(c, true), n, MPI_BYTE,
                               c->out, n, MPI_BYTE, p->comm);
    }
}

/** An operation on the way PLAIN. @param sum of a reduction, or NULL: MPI knows the operator
 * @param req NULL: complete on return */
static inline int wio_hybrid_call(const struct wio_hybrid_part *p,
                                  const struct waitio_inside_call *c,
                                  const struct wio_hybrid_sum *sum, MPI_Request *req)
{
    switch (c->kind) {
    case WAITIO_INSIDE_BARRIER:
        return WIO_HYBRID_CALL(Barrier, Ibarrier, p->comm);
    case WAITIO_INSIDE_BCAST:
        return WIO_HYBRID_CALL(Bcast, Ibcast, c->out, (int)c->bytes, MPI_BYTE, c->root, p->comm);
    case WAITIO_INSIDE_GATHER:
    case WAITIO_INSIDE_SCATTER:
    case WAITIO_INSIDE_ALLGATHER:
    case WAITIO_INSIDE_ALLTOALL:
        return wio_hybrid_call_uniform(p, c, req);
    default:
        return wio_hybrid_call_reduction(p, c, sum, req);
    }
}

#endif /* WIO_HYBRID_CALLS_H */
