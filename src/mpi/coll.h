/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file coll.h
 * The arguments of a collective call, from which a schedule is made. One structure for all
 * collectives: fields that a collective does not use are zero.
 */
#ifndef WIO_MPI_COLL_H
#define WIO_MPI_COLL_H

#include "mpi/collectives/collectives.h"
#include "mpi/mpi.h"

/** One side of a call: a buffer in the types of the program. */
struct wio_side {
    const void *buf; /**< or WAITIO_MPI_IN_PLACE; the receiving side is written to */
    int64_t count;   /**< elements; of each block where there are several */
    WAITIO_MPI_Datatype type;
    const int *counts, *displs;           /**< v and w forms: of each block; w: displs in bytes */
    const WAITIO_MPI_Datatype *types;     /**< w form */
    const WAITIO_MPI_Count *large_counts; /**< in the place of counts */
    const WAITIO_MPI_Aint *places;        /**< in the place of displs */
};

/** Has each block a count of its own? */
static inline bool wio_side_lists(const struct wio_side *side)
{
    return side->counts != NULL || side->large_counts != NULL;
}

/** Elements of block @p i. */
static inline int64_t wio_side_count(const struct wio_side *side, int i)
{
    return side->counts != NULL         ? side->counts[i]
           : side->large_counts != NULL ? side->large_counts[i]
                                        : side->count;
}

struct wio_call {
    enum wio_collective_kind kind;
    struct wio_side send, recv; /**< bcast: recv is the buffer */
    bool v;                     /**< a v or w form */
    bool listed;                /**< reduce_scatter: a count per member, not one for all */
    WAITIO_MPI_Op op;
    int root;
};

/** Who calls, and which algorithm is asked for by WAITIO_COLL_<KIND> (0: none). */
struct wio_caller {
    int rank, size;
    const struct wio_topology *topo;
    int asked;
    bool swap;                     /**< what is sent is in the other byte order */
    const struct wio_inter *inter; /**< two groups: rank and size are those in both */
    const struct wio_near *near;   /**< neighbours, for collectives of neighbourhoods */
    const struct wio_comm *comm;   /**< or NULL: the members' formats are unknown */
    struct wio_tune *tune;         /**< of the communicator, or NULL: choose by the table alone */
    bool messages;                 /**< also inside a PB that has a provider */
};

/** Check the arguments and write this process's schedule. Pure: no communication.
 *  @return 0 or what is wrong; s is to be freed either way */
int wio_coll_write(struct wio_schedule *s, const struct wio_call *call,
                   const struct wio_caller *who);

/** Make a persistent request of the call: every start runs it once. */
int wio_coll_init(const struct wio_call *call, WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
/** Make the call: blocking when @p req is NULL, else non-blocking. Returns errors. */
int wio_coll_call(const struct wio_call *call, WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);

#endif /* WIO_MPI_COLL_H */
