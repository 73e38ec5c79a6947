/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators: which of them MPI has, and on which types. */
#include "hybrid/hybrid.h"

#define BIT(OP) (1u << (WAITIO_MPI_##OP - WAITIO_MPI_SUM))
#define LOGICAL_OPS (BIT(LAND) | BIT(LOR) | BIT(LXOR))
#define BIT_OPS (BIT(BAND) | BIT(BOR) | BIT(BXOR))

MPI_Op wio_hybrid_mpi_op(WAITIO_MPI_Op op)
{
    switch (op) {
    case WAITIO_MPI_SUM:
        return MPI_SUM;
    case WAITIO_MPI_MAX:
        return MPI_MAX;
    case WAITIO_MPI_MIN:
        return MPI_MIN;
    case WAITIO_MPI_PROD:
        return MPI_PROD;
    case WAITIO_MPI_LAND:
        return MPI_LAND;
    case WAITIO_MPI_BAND:
        return MPI_BAND;
    case WAITIO_MPI_LOR:
        return MPI_LOR;
    case WAITIO_MPI_BOR:
        return MPI_BOR;
    case WAITIO_MPI_LXOR:
        return MPI_LXOR;
    case WAITIO_MPI_BXOR:
        return MPI_BXOR;
    case WAITIO_MPI_MINLOC:
        return MPI_MINLOC;
    case WAITIO_MPI_MAXLOC:
        return MPI_MAXLOC;
    default:
        return MPI_OP_NULL;
    }
}

struct wio_hybrid_sum wio_hybrid_known_sum(const struct waitio_inside_call *call)
{
    struct wio_hybrid_sum sum = {.op = wio_hybrid_mpi_op(call->op), .bytes = 1};

    sum.type = wio_hybrid_folding_type(call->type, &sum.bytes);
    return sum;
}

/* What MPI's standard demands of every MPI, and what this one does right. What some have beyond
 * that is left to the library, and so is what they do wrong. */
int wio_hybrid_reduces(void *part, WAITIO_MPI_Datatype type, WAITIO_MPI_Op op)
{
    static const unsigned has[] = {
        [WIO_HYBRID_INTEGER] = BIT(SUM) | BIT(MAX) | BIT(MIN) | BIT(PROD) | LOGICAL_OPS | BIT_OPS,
        [WIO_HYBRID_REAL] = BIT(SUM) | BIT(MAX) | BIT(MIN) | BIT(PROD),
        [WIO_HYBRID_COMPLEX] = BIT(SUM) | BIT(PROD),
        [WIO_HYBRID_LOGICAL] = LOGICAL_OPS,
        [WIO_HYBRID_BYTES] = BIT_OPS,
        [WIO_HYBRID_PAIR] = BIT(MINLOC) | BIT(MAXLOC),
    };
    size_t bytes;

    (void)part;
    return op >= WAITIO_MPI_SUM && op <= WAITIO_MPI_MAXLOC &&
           (has[wio_hybrid_class_of(type)] >> (op - WAITIO_MPI_SUM) & 1) != 0 &&
           ((op != WAITIO_MPI_MAX && op != WAITIO_MPI_MIN) || wio_hybrid_orders(type)) &&
           wio_hybrid_folding_type(type, &bytes) != MPI_DATATYPE_NULL;
}
