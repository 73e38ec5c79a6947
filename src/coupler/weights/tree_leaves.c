/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Questions of many places to the few leaves near all of them. A walk from the root asks one node
 * after the other and cannot know the next one; here the boxes lie side by side, in the cache.
 */
#include "coupler/weights/tree_nodes.h"
#include "os/os.h"
#include "waitio_errors.h"

enum { STACK = WIO_TREE_LEVELS * WIO_TREE_WIDTH, BLOCK = WIO_TREE_WIDTH };

struct visit {
    int level;
    uint32_t node;
};

static bool keep_leaf(struct wio_leaves *l, uint32_t leaf, const struct wio_tree_node *above, int k)
{
    if (l->n == WIO_LEAVES_MAX)
        return false;
    l->leaf[l->n] = leaf;
    for (int d = 0; d < 3; d++) {
        l->lo[d][l->n] = above->lo[d][k];
        l->hi[d][l->n] = above->hi[d][k];
    }
    l->n++;
    return true;
}

/** Boxes of nothing up to the end of the last block of eight. */
static void fill_block(struct wio_leaves *l)
{
    for (int k = l->n; k % BLOCK != 0; k++)
        for (int d = 0; d < 3; d++) {
            l->lo[d][k] = INFINITY;
            l->hi[d][k] = -INFINITY;
        }
}

bool wio_leaves_gather(const struct wio_tree *tree, const struct wio_box *box,
                       struct wio_leaves *leaves)
{
    struct visit stack[STACK];
    int waiting = 0;
    float lo[3], hi[3];
    leaves->n = 0;
    if (tree->levels < 2) /* one leaf: nothing to choose */
        return false;
    for (int d = 0; d < 3; d++) {
        lo[d] = nextafterf((float)box->lo[d], -INFINITY);
        hi[d] = nextafterf((float)box->hi[d], INFINITY);
    }
    stack[waiting++] = (struct visit){.level = tree->levels - 1};
    while (waiting > 0) {
        struct visit v = stack[--waiting];
        const struct wio_tree_node *node = &tree->level[v.level].node[v.node];
        for (unsigned bits = wio_node_meets(node, lo, hi); bits != 0; bits &= bits - 1) {
            int k = __builtin_ctz(bits);
            uint32_t below = v.node * WIO_TREE_WIDTH + (uint32_t)k;
            if (v.level > 1)
                stack[waiting++] = (struct visit){.level = v.level - 1, .node = below};
            else if (!keep_leaf(leaves, below, node, k))
                return false;
        }
    }
    fill_block(leaves);
    return true;
}

/** Eight of the gathered boxes as a node. */
static void take_block(const struct wio_leaves *l, int first, struct wio_tree_node *block)
{
    for (int d = 0; d < 3; d++)
        for (int k = 0; k < BLOCK; k++) {
            block->lo[d][k] = l->lo[d][first + k];
            block->hi[d][k] = l->hi[d][first + k];
        }
}

int wio_leaves_meet(const struct wio_tree *tree, const struct wio_leaves *leaves,
                    struct wio_vec where, struct wio_found *found)
{
    const double at[3] = {where.x, where.y, where.z};
    float lo[3], hi[3];
    for (int d = 0; d < 3; d++) {
        lo[d] = nextafterf((float)at[d], -INFINITY);
        hi[d] = nextafterf((float)at[d], INFINITY);
    }
    found->n = 0;
    for (int first = 0; first < leaves->n; first += BLOCK) {
        struct wio_tree_node block;
        take_block(leaves, first, &block);
        for (unsigned some = wio_node_meets(&block, lo, hi); some != 0; some &= some - 1) {
            uint32_t leaf = leaves->leaf[first + __builtin_ctz(some)];
            unsigned bits = wio_node_meets(&tree->level[0].node[leaf], lo, hi);
            if (bits != 0 && wio_found_room(found, WIO_TREE_WIDTH) != 0)
                return WAITIO_ERR_NOMEM;
            for (; bits != 0; bits &= bits - 1)
                found->item[found->n++] =
                    tree->order[leaf * WIO_TREE_WIDTH + (uint32_t)__builtin_ctz(bits)];
        }
    }
    return 0;
}

/** A place in single precision. A distance that is found with it is wrong by some `hair` and a
 * millionth of itself: so much farther is looked. */
struct coarse {
    float at[3];
    double hair;
    float limit2;
};

static void set_limit(struct coarse *c, const struct wio_nearest *s)
{
    double most = (sqrt(wio_nearest_limit(s)) + c->hair) * (1 + 2e-6);
    c->limit2 = (float)(most * most * (1 + 1e-6)) + 1e-37f; /* what is smaller may have become 0 */
}

/** Which of the eight boxes may be near enough: one bit each. */
static unsigned which_near(const struct wio_tree_node *node, const struct coarse *c)
{
    float d2[WIO_TREE_WIDTH] = {0};
    int near[WIO_TREE_WIDTH];
    for (int d = 0; d < 3; d++)
        for (int k = 0; k < WIO_TREE_WIDTH; k++) {
            float under = node->lo[d][k] - c->at[d], over = c->at[d] - node->hi[d][k];
            float away = under > over ? under : over;
            away = away > 0 ? away : 0;
            d2[k] += away * away;
        }
    for (int k = 0; k < WIO_TREE_WIDTH; k++)
        near[k] = d2[k] <= c->limit2;
    unsigned bits = 0;
    for (int k = 0; k < WIO_TREE_WIDTH; k++)
        bits |= (unsigned)near[k] << k;
    return bits;
}

static void look_into_leaf(const struct wio_tree *tree, uint32_t leaf, struct wio_nearest *s,
                           struct coarse *c)
{
    for (unsigned bits = which_near(&tree->level[0].node[leaf], c); bits != 0; bits &= bits - 1) {
        size_t at = (size_t)leaf * WIO_TREE_WIDTH + (size_t)__builtin_ctz(bits);
        if (at < tree->n) /* the last leaf may not be full */
            wio_nearest_look(s, tree->order[at]);
    }
    set_limit(c, s);
}

int wio_leaves_nearest(const struct wio_tree *tree, const struct wio_leaves *leaves,
                       const struct wio_points *points, struct wio_vec where, double within2, int k,
                       struct wio_near *near)
{
    struct wio_nearest s = {
        .points = points, .where = where, .within2 = within2, .k = k, .near = near};
    struct coarse c = {.at = {(float)where.x, (float)where.y, (float)where.z}};
    double most = fmax(fabs(where.x), fmax(fabs(where.y), fabs(where.z)));
    c.hair = 4e-7 * fmax(tree->most, most);
    set_limit(&c, &s);
    for (int first = 0; first < leaves->n && k > 0; first += BLOCK) {
        struct wio_tree_node block;
        take_block(leaves, first, &block);
        for (unsigned bits = which_near(&block, &c); bits != 0; bits &= bits - 1) {
            int at = first + __builtin_ctz(bits);
            if (at < leaves->n)
                look_into_leaf(tree, leaves->leaf[at], &s, &c);
        }
    }
    return s.n;
}
