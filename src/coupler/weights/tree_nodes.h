/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tree looks like inside: tree.c builds it, tree_query.c walks through it. */
#ifndef WIO_WEIGHTS_TREE_NODES_H
#define WIO_WEIGHTS_TREE_NODES_H

#include "coupler/weights/tree.h"

enum { WIO_TREE_WIDTH = 8, WIO_TREE_LEVELS = 12 }; /* 8^12 > 2^32 */

/** Boxes of eight items or nodes below, side by side for the vector unit. */
struct wio_tree_node {
    float lo[3][WIO_TREE_WIDTH], hi[3][WIO_TREE_WIDTH];
};

struct wio_tree_level {
    struct wio_tree_node *node;
    size_t n;
};

struct wio_tree {
    size_t n;
    double most;     /* the largest coordinate of all boxes */
    uint32_t *order; /* items; place k of node g of level 0 is order[8 g + k] */
    int levels;      /* the last one has one node */
    struct wio_tree_level level[WIO_TREE_LEVELS];
};

/** Which of the eight boxes meet [lo, hi]: one bit each. */
static inline unsigned wio_node_meets(const struct wio_tree_node *node, const float lo[3],
                                      const float hi[3])
{
    int meets[WIO_TREE_WIDTH];
    for (int k = 0; k < WIO_TREE_WIDTH; k++)
        meets[k] = (node->lo[0][k] <= hi[0]) & (node->hi[0][k] >= lo[0]) &
                   (node->lo[1][k] <= hi[1]) & (node->hi[1][k] >= lo[1]) &
                   (node->lo[2][k] <= hi[2]) & (node->hi[2][k] >= lo[2]);
    unsigned bits = 0;
    for (int k = 0; k < WIO_TREE_WIDTH; k++)
        bits |= (unsigned)meets[k] << k;
    return bits;
}

/** A search for the k nearest points: what it has found so far. */
struct wio_nearest {
    const struct wio_points *points;
    struct wio_vec where;
    double within2;
    int k, n;
    struct wio_near *near;
};

/** Is point a, at this distance, nearer than b? Equal distances are told apart by the index, so
 * that the answer does not depend on the order of looking. */
static inline bool wio_nearest_is(const struct wio_nearest *s, double distance2, uint32_t item,
                                  struct wio_near b)
{
    if (distance2 != b.distance2)
        return distance2 < b.distance2;
    return s->points->index[item] < s->points->index[b.item];
}

static inline void wio_nearest_look(struct wio_nearest *s, uint32_t item)
{
    double d2 = wio_vec_distance2(s->where, s->points->at[item]);
    if (!(d2 <= s->within2))
        return;
    if (s->n == s->k && !wio_nearest_is(s, d2, item, s->near[s->n - 1]))
        return;
    int at = s->n < s->k ? s->n++ : s->k - 1;
    for (; at > 0 && wio_nearest_is(s, d2, item, s->near[at - 1]); at--)
        s->near[at] = s->near[at - 1];
    s->near[at] = (struct wio_near){.distance2 = d2, .item = item};
}

/** What is farther cannot count. A hair more than the truth: distances to boxes are rounded. */
static inline double wio_nearest_limit(const struct wio_nearest *s)
{
    double d2 = s->n == s->k ? s->near[s->n - 1].distance2 : s->within2;
    return d2 * (1 + 1e-12) + 1e-300;
}

int wio_found_room(struct wio_found *found, size_t more);

#endif /* WIO_WEIGHTS_TREE_NODES_H */
