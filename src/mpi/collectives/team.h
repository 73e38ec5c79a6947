/* SPDX-License-Identifier: BSD-3-Clause */
/** @file team.h  What algorithms share: places counted from a root, parts of a communicator,
 * halving. */
#ifndef WIO_COLLECTIVES_TEAM_H
#define WIO_COLLECTIVES_TEAM_H

#include "mpi/collectives/collectives.h"

/** Place of @p rank counted from the root, and back. */
static inline int wio_from_root(const struct wio_schedule *s, int rank, int root)
{
    return (int)(((int64_t)rank - root + s->size) % s->size);
}
static inline int wio_to_rank(const struct wio_schedule *s, int64_t place, int root)
{
    return (int)((place + root) % s->size);
}

/** In a binomial tree over places: the bit that leads to the parent. Below it are those of the
 * children; the root has all. */
static inline int64_t wio_tree_bit(const struct wio_schedule *s, int64_t place)
{
    int64_t bit = 1;

    while (bit < s->size && (place & bit) == 0)
        bit *= 2;
    return bit;
}
/** Number of places in the subtree of a place whose link to its parent is @p bit. */
static inline int64_t wio_tree_span(const struct wio_schedule *s, int64_t place, int64_t bit)
{
    return bit < s->size - place ? bit : s->size - place;
}

/** The communicator in two layers: the members of my PB, and one leader of every PB. */
struct wio_layers {
    struct wio_team inside;  /**< in rank order */
    struct wio_team leaders; /**< by PB; rank < 0: I lead none */
    int inside_root;         /**< place of my PB's leader inside */
    int leaders_root;        /**< place among the leaders of the root's PB */
};
/** The leader of a PB other than the root's. */
enum wio_lead {
    WIO_LEAD_FIRST, /**< its lowest rank */
    /** Its last rank before the root, counted cyclically. Where roots take turns, it was the
       previous root, for which all wait: it sends directly to the next root. (HPL's modified rings
       serve the next root first for the same reason; in broadcasts the lowest rank has this role.)
       Also, jobs on one host are often bound alike, each from the first processor on: their first
       ranks share it. */
    WIO_LEAD_BEFORE
};
/** The root leads its PB, elsewhere @p lead does. For the whole communicator only. */
struct wio_layers wio_layers(struct wio_schedule *s, int root, enum wio_lead lead);

/**
 * Halving works on 2^k positions. When p is no power of two, the first 2 * extra ranks form pairs:
 * the even one hands its data to the odd one and waits.
 */
struct wio_positions {
    int power, extra;
    int mine;    /**< my position, -1: I wait */
    bool paired; /**< also acts for its even neighbour, or waits for its odd one */
};
struct wio_positions wio_positions(const struct wio_schedule *s);
/** Rank at a position. */
static inline int wio_position_rank(const struct wio_positions *p, int position)
{
    return position < p->extra ? 2 * position + 1 : position + p->extra;
}
/** Elements split into one part per position: byte offsets of power + 1 edges. */
size_t *wio_even_edges(struct wio_schedule *s, const struct wio_positions *p, size_t count);
/** Reduce-scatter by recursive halving: afterwards part @p mine of @p sum (from its edge) is
 *  complete. @p in and @p sum hold all parts and may be the same. */
void wio_halve(struct wio_schedule *s, const struct wio_positions *p, const size_t *edge,
               const char *in, char *sum);
/** The reverse for data: all members get all parts, those that only wait included. */
void wio_spread(struct wio_schedule *s, const struct wio_positions *p, const size_t *edge,
                char *sum);

#endif /* WIO_COLLECTIVES_TEAM_H */
