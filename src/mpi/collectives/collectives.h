/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file collectives.h
 * The algorithms, one a file, and the table that chooses among them. An algorithm writes this
 * process's schedule for one call; it communicates nothing and allocates only schedule memory.
 *
 * Costs are in alpha (time of a message), beta (time per byte), gamma (time per byte folded),
 * p (processes), n (bytes of one contribution).
 */
#ifndef WIO_COLLECTIVES_H
#define WIO_COLLECTIVES_H

#include "mpi/schedule.h"

enum wio_collective_kind {
    WIO_BARRIER,
    WIO_BCAST,
    WIO_REDUCE,
    WIO_ALLREDUCE,
    WIO_GATHER,
    WIO_ALLGATHER,
    WIO_SCATTER,
    WIO_COLLECTIVE_COUNT
};

/** One call, with types and in-place arguments resolved. */
struct wio_collective {
    const void *in; /**< my contribution (scatter: the root's buffer); bcast: unused */
    void *out;      /**< my result (bcast: the buffer; gather: the root's buffer) */
    size_t bytes;   /**< of my own contribution or part */
    size_t count;   /**< reductions: elements in `bytes` */
    int root;
    /* The root's buffer of a gather or scatter, and every buffer of an allgather, in blocks: */
    size_t unit;       /**< bytes of one element, or of one block when counts == NULL */
    const int *counts; /**< elements of each block; NULL: one unit each */
    const int *displs; /**< first element of each block; read when counts != NULL */
};

/** Where block @p i begins, in bytes. */
static inline size_t wio_block_at(const struct wio_collective *c, int i)
{
    return c->unit * (c->counts == NULL ? (size_t)i : (size_t)c->displs[i]);
}
/** Bytes of block @p i. */
static inline size_t wio_block_bytes(const struct wio_collective *c, int i)
{
    return c->unit * (c->counts == NULL ? 1 : (size_t)c->counts[i]);
}

typedef void (*wio_algorithm_fn)(struct wio_schedule *s, const struct wio_collective *c);

/** A row of the selection table. Of a kind's rows the first that admits the call is taken. */
struct wio_algorithm {
    enum wio_collective_kind kind;
    const char *name;
    int max_size;     /**< processes, 0 = any number */
    size_t max_bytes; /**< of one contribution, 0 = any number */
    wio_algorithm_fn write;
};

/** The algorithm for @p bytes from each of @p size processes; never NULL. Every member must come to
 *  the same answer: only values that MPI makes equal everywhere may be used. */
const struct wio_algorithm *wio_algorithm_select(enum wio_collective_kind kind, int size,
                                                 size_t bytes);
/** Row @p i, NULL past the last; for tests and tools. */
const struct wio_algorithm *wio_algorithm_row(int i);

void wio_barrier_dissemination(struct wio_schedule *s, const struct wio_collective *c);
void wio_bcast_binomial(struct wio_schedule *s, const struct wio_collective *c);
void wio_reduce_binomial(struct wio_schedule *s, const struct wio_collective *c);
void wio_allreduce_doubling(struct wio_schedule *s, const struct wio_collective *c);
void wio_allreduce_reduce_bcast(struct wio_schedule *s, const struct wio_collective *c);
void wio_gather_linear(struct wio_schedule *s, const struct wio_collective *c);
void wio_scatter_linear(struct wio_schedule *s, const struct wio_collective *c);
void wio_allgather_bruck(struct wio_schedule *s, const struct wio_collective *c);
void wio_allgather_ring(struct wio_schedule *s, const struct wio_collective *c);

#endif /* WIO_COLLECTIVES_H */
