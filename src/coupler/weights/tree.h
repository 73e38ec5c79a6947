/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tree of boxes in space: which items meet a box, which points are nearest to one.
 *
 * Items are put in the order of a Hilbert curve (of the plane, or of the six faces of the cube
 * around the sphere); each eight neighbours share a node, each eight nodes one of the level above.
 * The tree decides only what is looked at: results do not depend on its shape.
 */
#ifndef WIO_WEIGHTS_TREE_H
#define WIO_WEIGHTS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coupler/weights/vec.h"

struct wio_box {
    double lo[3], hi[3];
};

/** A box around nothing, to which points are added. */
static inline struct wio_box wio_box_empty(void)
{
    return (struct wio_box){{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
}

static inline void wio_box_add(struct wio_box *box, struct wio_vec p)
{
    const double at[3] = {p.x, p.y, p.z};
    for (int d = 0; d < 3; d++) { /* fmin() would be a call */
        box->lo[d] = at[d] < box->lo[d] ? at[d] : box->lo[d];
        box->hi[d] = at[d] > box->hi[d] ? at[d] : box->hi[d];
    }
}

static inline void wio_box_widen(struct wio_box *box, double by)
{
    for (int d = 0; d < 3; d++) {
        box->lo[d] -= by;
        box->hi[d] += by;
    }
}

struct wio_tree;

/** Gives the box of item i; false: the item is left out. Called from several threads. */
typedef bool (*wio_tree_item)(const void *arg, size_t i, struct wio_box *box);

/** Sorts items into a tree. @param tree  freed by wio_tree_free()
 * @return 0, WAITIO_ERR_NOMEM, or WAITIO_ERR_LIMIT: 2^32 - 1 items or more */
int wio_tree_make(size_t n, wio_tree_item item, const void *arg, bool plane, int threads,
                  struct wio_tree **tree);
/** The same for wio_tree_order() only: no boxes, no questions. */
int wio_tree_sort(size_t n, wio_tree_item item, const void *arg, bool plane, int threads,
                  struct wio_tree **tree);
void wio_tree_free(struct wio_tree *tree); /* NULL: nothing */

/** The items in the tree's order: neighbours in it are neighbours in space. */
const uint32_t *wio_tree_order(const struct wio_tree *tree, size_t *n);

/** Numbers of items, in an array that grows. */
struct wio_found {
    uint32_t *item;
    size_t n, room;
};
void wio_found_free(struct wio_found *found);

/** All items whose boxes meet `box`, in no particular order; those before are dropped.
 * @return 0 or WAITIO_ERR_NOMEM */
int wio_tree_meet(const struct wio_tree *tree, const struct wio_box *box, struct wio_found *found);

/** Points that a tree was made of. */
struct wio_points {
    const struct wio_vec *at;
    const int64_t *index; /* of two points at the same distance the lower index is nearer */
};

struct wio_near {
    double distance2; /* square of the straight distance */
    uint32_t item;
};

/** The k nearest points, nearest first.
 * @param within2  square of the largest distance that counts; INFINITY: any
 * @param near     room for k
 * @return how many there are */
int wio_tree_nearest(const struct wio_tree *tree, const struct wio_points *points,
                     struct wio_vec where, double within2, int k, struct wio_near *near);

/**
 * Leaves of a tree near a few places that lie close together: one walk from the root serves all of
 * them, and each place looks at these leaves alone. Answers are those of the two questions above.
 */
enum { WIO_LEAVES_MAX = 64 };
struct wio_leaves {
    int n;
    uint32_t leaf[WIO_LEAVES_MAX];
    float lo[3][WIO_LEAVES_MAX], hi[3][WIO_LEAVES_MAX]; /* their boxes */
};

/** @param box  what the places will ask for lies in it
 * @return false: more leaves than one place should look at; ask the tree itself */
bool wio_leaves_gather(const struct wio_tree *tree, const struct wio_box *box,
                       struct wio_leaves *leaves);
/** As wio_tree_meet(), for a place in the box. */
int wio_leaves_meet(const struct wio_tree *tree, const struct wio_leaves *leaves,
                    struct wio_vec where, struct wio_found *found);
/** As wio_tree_nearest(), for a place whose ball of radius^2 `within2` lies in the box. */
int wio_leaves_nearest(const struct wio_tree *tree, const struct wio_leaves *leaves,
                       const struct wio_points *points, struct wio_vec where, double within2, int k,
                       struct wio_near *near);

#endif /* WIO_WEIGHTS_TREE_H */
