/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file kings.h
 * Kings: the members of a hybrid communicator that carry long messages across the border between
 * PBs. Every PB has the same number of them. Piece i of a message crosses by king i of each PB in
 * turn, so that several processes, and their hosts and devices, share the work.
 *
 * Without kings (NULL) a message has one way: the root leads its PB, elsewhere the lowest rank.
 */
#ifndef WIO_MPI_KINGS_H
#define WIO_MPI_KINGS_H

#include "mpi/comm.h"
#include "mpi/schedule.h"
#include "waitio_mpi.h"

enum {
    WIO_KINGS_MOST = 8,   /**< of a PB */
    WIO_LANES_OF_KING = 2 /**< pieces of a king that are under way at the same time */
};
_Static_assert(WIO_KINGS_MOST *WIO_LANES_OF_KING <= WIO_PARTS, "a part for each lane");

/** Who they are; the same on all members. Freed in one piece (wio_os_free). */
struct wio_kings {
    int want;           /**< per PB, for communicators made from this one */
    int n;              /**< per PB, here: all PBs of several members have as many */
    const int *rank;    /**< king i of PB p is rank[p * n + i] */
    const bool *placed; /**< by PB: its kings were named */
    const bool *named;  /**< by rank: a member that was named */
};

/** King @p i of PB @p p, for a message whose root is @p root (< 0: it has none). */
int wio_king(const struct wio_topology *topo, int p, int i, int root);
/** Pieces that go at the same time by different kings; 1 without kings. */
static inline int wio_kings_of(const struct wio_topology *topo)
{
    return topo->kings == NULL ? 1 : topo->kings->n;
}

/**
 * Choose them: the named members of a PB, or all where none is named, spread over its hosts and
 * within a host over its members. A PB of one member has it as each of its kings.
 *
 * @param host by rank: equal numbers mean one host
 * @param named by rank, or NULL: nobody
 * @param want per PB; fewer where a PB of several members has fewer to choose from
 * @return to be freed with wio_os_free; NULL: no memory, text set
 */
struct wio_kings *wio_kings_new(const struct wio_topology *topo, int size, const uint64_t *host,
                                const bool *named, int want);

/** Give @p c kings; @p named as above. Frees those it has. @return 0; NOMEM */
int wio_kings_give(struct wio_comm *c, const bool *named, int want);
/** The same from the communicator that @p c was made from. @return 0; NOMEM, GROUP */
int wio_kings_derive(const struct waitio_group *parent, const struct wio_comm *from,
                     struct wio_comm *c);

/**
 * Has this process been named as a king by WAITIO_HYBRID_KING_RANKS?
 * @param rules the value @param rank in the PB @param local among the PB's processes on its host
 * @param[out] named 0 or 1 @return 0; ARG with what is wrong with the value
 */
int wio_kings_named(const char *rules, uint32_t rank, uint32_t local, int *named);

/**
 * How many kings are quickest: measured with 1, 2 and 4 of them. Collective over @p comm, which has
 * its providers already. @param named as above @param[out] n the same on all members
 * @return 0; NOMEM, what the messages and the providers return. @blocking at most about a second
 */
int wio_kings_measure(WAITIO_MPI_Comm comm, const struct wio_comm *c, const bool *named, int *n);

#endif /* WIO_MPI_KINGS_H */
