/* SPDX-License-Identifier: BSD-3-Clause */
/** @file call.h  What the generated wrappers are made of: arguments of MPI as arguments of ours. */
#ifndef SPAN_CALL_H
#define SPAN_CALL_H

#include <limits.h>

#include "span/span.h"

#define SPAN_PUBLIC __attribute__((visibility("default")))

/** Define MPI_ beside PMPI_. A tool in front of us may define its own. */
#define SPAN_NAME(name)                                                                            \
    extern __typeof__(PMPI_##name) MPI_##name                                                      \
        __attribute__((weak, visibility("default"), alias("PMPI_" #name)));
#if defined(OPEN_MPI) && MPI_VERSION < 4
/** Open MPI 4 has the persistent collectives under other names. */
#define SPAN_EXTENSION(name)                                                                       \
    extern __typeof__(PMPI_##name) PMPIX_##name                                                    \
        __attribute__((visibility("default"), alias("PMPI_" #name)));                              \
    extern __typeof__(PMPI_##name) MPIX_##name                                                     \
        __attribute__((weak, visibility("default"), alias("PMPI_" #name)));
#else
#define SPAN_EXTENSION(name)
#endif

/** A call of the vendor's on a communicator inside one job, which may block. */
#define SPAN_INSIDE(call) SPAN_BLOCKING(call)

enum { SPAN_IN, SPAN_OUT };

static inline int span_rank(int rank)
{
    if (SPAN_LIKELY(rank >= 0))
        return rank;
    return rank == MPI_ANY_SOURCE  ? WAITIO_MPI_ANY_SOURCE
           : rank == MPI_PROC_NULL ? WAITIO_MPI_PROC_NULL
           : rank == MPI_ROOT      ? WAITIO_MPI_ROOT
                                   : INT_MIN;
}

static inline void span_give_rank(int *rank)
{
    if (*rank < 0)
        *rank = *rank == WAITIO_MPI_PROC_NULL    ? MPI_PROC_NULL
                : *rank == WAITIO_MPI_ANY_SOURCE ? MPI_ANY_SOURCE
                                                 : MPI_UNDEFINED;
}

static inline int span_tag(int tag)
{
    return tag == MPI_ANY_TAG ? WAITIO_MPI_ANY_TAG : tag < 0 ? INT_MIN : tag;
}

static inline const void *span_buffer(const void *buffer)
{
    return buffer == MPI_IN_PLACE ? WAITIO_MPI_IN_PLACE : buffer;
}

static inline void *span_room(void *buffer)
{
    return buffer == MPI_IN_PLACE ? WAITIO_MPI_IN_PLACE : buffer;
}

static inline int *span_weights(const int *weights)
{
    return (const void *)weights == (const void *)MPI_UNWEIGHTED      ? WAITIO_MPI_UNWEIGHTED
           : (const void *)weights == (const void *)MPI_WEIGHTS_EMPTY ? WAITIO_MPI_WEIGHTS_EMPTY
                                                                      : (int *)(uintptr_t)weights;
}

/** Does this process give or get what belongs to the root of a gather or scatter? */
static inline bool span_has_root_part(const struct span_comm *c, int root)
{
    return c->inter ? root == MPI_ROOT : root == c->rank;
}
static inline bool span_has_member_part(const struct span_comm *c, int root)
{
    return !c->inter || root >= 0;
}

static inline WAITIO_MPI_Datatype span_type(struct span_call *call, MPI_Datatype type)
{
    void *found = span_table_find(&span_types, SPAN_KEY(type));

    return SPAN_LIKELY(found != NULL) ? (WAITIO_MPI_Datatype)(intptr_t)found
                                      : span_type_make(call, type);
}

static inline WAITIO_MPI_Op span_op(struct span_call *call, MPI_Op op)
{
    void *found = span_table_find(&span_ops, SPAN_KEY(op));
    WAITIO_MPI_Op ours =
        SPAN_LIKELY(found != NULL) ? (WAITIO_MPI_Op)(intptr_t)found : span_op_make(call, op);

    call->folds = ours < WAITIO_MPI_SUM || ours > WAITIO_MPI_MAXLOC;
    return ours;
}

/** @return @p n types, or NULL with call->code set. @param side SPAN_IN: of what is received */
WAITIO_MPI_Datatype *span_types_of(struct span_call *call, int side, int n,
                                   const MPI_Datatype types[]);
#if defined(OPEN_MPI)
/** Arrays of types of the Fortran procedure that calls C now, by side, or NULL (fortran_types.c).
 */
extern _Thread_local const MPI_Fint *span_fortran_types[2];
#endif
/** Neighbours of this process. @param side SPAN_IN, SPAN_OUT */
int span_degree(struct span_call *call, int side);
/** A request for what the call starts; sets call->code when there is none. */
void span_start(struct span_call *call, bool persistent);
/** The end of a call that starts something. @return MPI's code */
int span_started(struct span_call *call, MPI_Request *request);
int span_end_with(struct span_call *call);

static inline int span_end(struct span_call *call)
{
    return SPAN_LIKELY(call->code == 0 && call->scratch == NULL) ? MPI_SUCCESS
                                                                 : span_end_with(call);
}

static inline void span_give_status(const struct span_call *call, bool given,
                                    const WAITIO_MPI_Status *from, MPI_Status *to)
{
    if (given && to != MPI_STATUS_IGNORE && (call->code == 0 || call->code == WAITIO_ERR_TRUNCATE))
        span_status(from, to);
}

#endif /* SPAN_CALL_H */
