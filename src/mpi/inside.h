/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file inside.h
 * Hybrid communicators: the members of a PB exchange data among themselves by a provider
 * (waitio_inside.h), such as the MPI they were started with; between PBs go messages of the engine.
 *
 * A schedule has steps for the part inside a PB. All members must start the operations of a part in
 * the same order, although non-blocking collectives make progress in any order. So every collective
 * takes a ticket for the parts that it uses, in the order of the calls, which is the same on all
 * members. It starts its steps when the ticket is served, and the next ticket is served when its
 * last step has started.
 */
#ifndef WIO_MPI_INSIDE_H
#define WIO_MPI_INSIDE_H

#include "mpi/comm.h"
#include "mpi/schedule.h"
#include "p2p/p2p.h"
#include "waitio_inside.h"

struct wio_running;

/** A part of the provider, and who may use it. */
struct wio_part {
    void *part;
    uint32_t next, serving; /**< tickets; changed atomically */
};

/** The provider of the members of my PB in one communicator. */
struct wio_inside {
    const struct waitio_inside_ops *ops;
    struct wio_part part[WIO_PARTS];
    int parts; /**< of which these are used: two for each king (mpi/kings.h) */
    int size;
    const int *place; /**< by rank in the communicator: rank in the parts, in the same order; -1: of
                           another PB */
    char why[256];    /**< the last error of the provider; written once, by who changes `failed` */
    int failed;       /**< its code; changed atomically */
    bool blocks;   /**< all members of the communicator call the provider's blocking operations, and
                      none of its others */
    bool counted;  /**< among those of this process that have parts */
    bool now_only; /**< it does blocking collectives only; the others go by messages */
    uint8_t uses;  /**< classes of sizes in which it is used; the same for all members */
};

/** Classes of sizes: short, medium, long. */
enum { WIO_INSIDE_CLASSES = 3, WIO_INSIDE_ALL = 7 };
/** The bit of the class of @p bytes. */
uint8_t wio_inside_class(size_t bytes);
/** The provider if it is used for data of @p bytes, else NULL. @p c may be NULL */
static inline const struct wio_inside *wio_inside_for(const struct wio_comm *c, size_t bytes)
{
    return c != NULL && c->inside != NULL && (c->inside->uses & wio_inside_class(bytes)) != 0
               ? c->inside
               : NULL;
}
/** Measure provider and messages, and set c->inside->uses. Collective over the members of my PB.
 * @return 0; NOMEM, or an error of either. @blocking for some milliseconds */
int wio_inside_probe(const struct wio_comm *c, struct wio_log *log);

/** Parts for the members of a communicator that was made from @p parent; all members call it. None
 * where a member of my PB has many such communicators already: then messages do it.
 * @param from state of @p parent @param parts false: nothing may block, so messages have to do
 * @return 0; NOMEM, or the provider's error. @blocking */
int wio_inside_derive(const struct waitio_group *parent, const struct wio_comm *from,
                      struct wio_comm *c, bool parts);
/** More parts for communicator @p c: as many as its kings need. All members of my PB call it.
 * @return 0; the provider's error. @blocking */
int wio_inside_widen(struct wio_comm *c);
/** Give the parts back; NULL is nothing. */
void wio_inside_free(struct wio_inside *inside);
/** How a provider reduces. */
enum wio_inside_way {
    WIO_INSIDE_NOT,
    WIO_INSIDE_KNOWS, /**< it knows type and operator */
    WIO_INSIDE_FOLDS  /**< it is given the operator as a function on bytes */
};
/** @param inside may be NULL @param swap operands are in the other byte order */
enum wio_inside_way wio_inside_reduces(const struct wio_inside *inside, const struct wio_fold *fold,
                                       WAITIO_MPI_Op op, bool swap);

/** A run takes its tickets, once, before its first step; see above. */
void wio_inside_take_tickets(struct wio_running *run);
/** Do a step. @return 0 or the error, with its text. @blocking */
int wio_inside_now(struct wio_universe *u, struct wio_running *run, const struct wio_step *step);
/** Start a step. @param[out] h a request of the engine that is complete when the step is */
int wio_inside_start(struct wio_universe *u, struct wio_running *run, const struct wio_step *step,
                     struct wio_handle *h);
/** The error of a started step whose request ended with @p err, with its text. */
int wio_inside_error(const struct wio_comm *c, int err);

#endif /* WIO_MPI_INSIDE_H */
