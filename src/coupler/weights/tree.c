/* SPDX-License-Identifier: BSD-3-Clause */
/* Build of the tree: keys of the Hilbert curve, a radix sort, boxes level by level. */
#include "coupler/weights/tree.h"

#include <string.h>

#include "coupler/weights/grid.h"
#include "coupler/weights/team.h"
#include "coupler/weights/tree_nodes.h"
#include "os/os.h"
#include "waitio_errors.h"

/* Keys: 3 bits for a face of the cube, twice so many as needed that few items share a cell. */
enum {
    FACE_BITS = 3,
    CURVE_BITS_MAX = 14,
    DIGIT_BITS = 12,
    DIGITS = 1 << DIGIT_BITS,
    GRAIN = 4096
};

struct entry {
    uint32_t key, item;
};

struct build {
    wio_tree_item item;
    const void *arg;
    bool plane;
    int bits;           /* of the curve */
    struct wio_box all; /* of the plane's items: what the curve fills */
    struct entry *entry;
    struct wio_tree *tree;
    int level;
};

/** Position along the Hilbert curve of a square of 2^bits cells a side. The turns of the curve are
 * done by masks: nobody can predict which comes next. */
static uint32_t curve(int bits, uint32_t x, uint32_t y)
{
    uint32_t key = 0;
    for (int s = bits - 1; s >= 0; s--) {
        uint32_t rx = x >> s & 1, ry = y >> s & 1;
        key = key << 2 | ((3 * rx) ^ ry);
        uint32_t turned = 0 - (rx & (ry ^ 1)), swapped = (x ^ y) & (0 - (ry ^ 1));
        x ^= turned ^ swapped;
        y ^= turned ^ swapped;
    }
    return key;
}

/** -1 .. 1 becomes a cell of the curve's square. */
static uint32_t cell_of(int bits, double u)
{
    double cells = 1 << bits, at = (u + 1) * 0.5 * cells;
    if (!(at > 0))
        return 0;
    return at >= cells ? (uint32_t)cells - 1 : (uint32_t)at;
}

static uint32_t key_on_sphere(int bits, const double c[3])
{
    int axis = fabs(c[0]) >= fabs(c[1]) ? 0 : 1;
    if (fabs(c[2]) > fabs(c[axis]))
        axis = 2;
    double most = fabs(c[axis]) > 0 ? fabs(c[axis]) : 1;
    uint32_t face = (uint32_t)axis * 2 + (c[axis] < 0);
    return face << (2 * bits) | curve(bits, cell_of(bits, c[(axis + 1) % 3] / most),
                                      cell_of(bits, c[(axis + 2) % 3] / most));
}

static double share(double at, double lo, double hi)
{
    return hi > lo ? 2 * (at - lo) / (hi - lo) - 1 : 0;
}

static uint32_t key_of(const struct build *b, const struct wio_box *box)
{
    double c[3];
    for (int d = 0; d < 3; d++)
        c[d] = 0.5 * (box->lo[d] + box->hi[d]);
    if (!b->plane)
        return key_on_sphere(b->bits, c);
    return curve(b->bits, cell_of(b->bits, share(c[0], b->all.lo[0], b->all.hi[0])),
                 cell_of(b->bits, share(c[1], b->all.lo[1], b->all.hi[1])));
}

/** The key of what is left out: no other is that high, for there are six faces only. */
static uint32_t left_out(const struct build *b)
{
    return (1u << (FACE_BITS + 2 * b->bits)) - 1;
}

/** A quarter as many items as cells, or fewer: the sort looks at no more digits than it must. */
static int choose_bits(size_t n)
{
    int bits = 1;
    while (bits < CURVE_BITS_MAX && 6 * ((size_t)1 << (2 * bits)) < 4 * n)
        bits++;
    return bits;
}

static int find_keys(void *arg, int thread, size_t begin, size_t end)
{
    (void)thread;
    const struct build *b = arg;
    uint32_t none = left_out(b);
    for (size_t i = begin; i < end; i++) {
        struct wio_box box;
        bool in = b->item(b->arg, i, &box);
        b->entry[i] = (struct entry){.key = in ? key_of(b, &box) : none, .item = (uint32_t)i};
    }
    return 0;
}

static void find_extent(struct build *b, size_t n)
{
    for (int d = 0; d < 3; d++) {
        b->all.lo[d] = INFINITY;
        b->all.hi[d] = -INFINITY;
    }
    for (size_t i = 0; i < n; i++) {
        struct wio_box box;
        if (!b->item(b->arg, i, &box))
            continue;
        for (int d = 0; d < 3; d++) {
            b->all.lo[d] = fmin(b->all.lo[d], box.lo[d]);
            b->all.hi[d] = fmax(b->all.hi[d], box.hi[d]);
        }
    }
}

/** Stable sort by keys of so many bits, a digit at a time. @return where the sorted entries are */
static struct entry *sort(struct entry *from, struct entry *to, size_t n, int bits)
{
    for (int shift = 0; shift < bits; shift += DIGIT_BITS) {
        size_t place[DIGITS] = {0}, sum = 0;
        for (size_t i = 0; i < n; i++)
            place[from[i].key >> shift & (DIGITS - 1)]++;
        for (int d = 0; d < DIGITS; d++) {
            size_t count = place[d];
            place[d] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++)
            to[place[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
        struct entry *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

/** Single precision halves the memory; rounding outwards keeps what is inside inside. */
static float below(double x)
{
    float f = (float)x;
    return (double)f > x ? nextafterf(f, -INFINITY) : f;
}

static float above(double x)
{
    float f = (float)x;
    return (double)f < x ? nextafterf(f, INFINITY) : f;
}

static void empty_place(struct wio_tree_node *node, size_t k)
{
    for (int d = 0; d < 3; d++) {
        node->lo[d][k] = INFINITY;
        node->hi[d][k] = -INFINITY;
    }
}

static int fill_leaves(void *arg, int thread, size_t begin, size_t end)
{
    (void)thread;
    const struct build *b = arg;
    struct wio_tree *t = b->tree;
    for (size_t g = begin; g < end; g++)
        for (size_t k = 0; k < WIO_TREE_WIDTH; k++) {
            size_t at = g * WIO_TREE_WIDTH + k;
            struct wio_box box;
            struct wio_tree_node *node = &t->level[0].node[g];
            empty_place(node, k);
            if (at >= t->n || !b->item(b->arg, t->order[at], &box))
                continue;
            for (int d = 0; d < 3; d++) {
                node->lo[d][k] = below(box.lo[d]);
                node->hi[d][k] = above(box.hi[d]);
            }
        }
    return 0;
}

static int fill_level(void *arg, int thread, size_t begin, size_t end)
{
    (void)thread;
    const struct build *b = arg;
    const struct wio_tree_level *under = &b->tree->level[b->level - 1];
    for (size_t g = begin; g < end; g++)
        for (size_t k = 0; k < WIO_TREE_WIDTH; k++) {
            struct wio_tree_node *node = &b->tree->level[b->level].node[g];
            size_t child = g * WIO_TREE_WIDTH + k;
            empty_place(node, k);
            for (int d = 0; d < 3 && child < under->n; d++)
                for (int j = 0; j < WIO_TREE_WIDTH; j++) {
                    node->lo[d][k] = fminf(node->lo[d][k], under->node[child].lo[d][j]);
                    node->hi[d][k] = fmaxf(node->hi[d][k], under->node[child].hi[d][j]);
                }
        }
    return 0;
}

static int build_levels(struct build *b, int threads)
{
    struct wio_tree *t = b->tree;
    size_t n = t->n;
    do {
        n = (n + WIO_TREE_WIDTH - 1) / WIO_TREE_WIDTH;
        n = n > 0 ? n : 1;
        struct wio_tree_level *level = &t->level[t->levels];
        level->node = wio_weights_alloc(n * sizeof *level->node);
        if (level->node == NULL)
            return WAITIO_ERR_NOMEM;
        level->n = n;
        b->level = t->levels++;
        wio_team_run(threads, n, GRAIN / WIO_TREE_WIDTH, b->level == 0 ? fill_leaves : fill_level,
                     b);
    } while (n > 1);
    return 0;
}

static int take_order(struct build *b, size_t n, int threads)
{
    struct entry *spare = wio_weights_alloc(n * sizeof *spare);
    b->entry = wio_weights_alloc(n * sizeof *b->entry);
    b->tree->order = wio_weights_alloc(n * sizeof *b->tree->order);
    int error = WAITIO_ERR_NOMEM;
    if (spare != NULL && b->entry != NULL && b->tree->order != NULL) {
        wio_team_run(threads, n, GRAIN, find_keys, b);
        const struct entry *sorted = sort(b->entry, spare, n, FACE_BITS + 2 * b->bits);
        size_t kept = 0;
        uint32_t none = left_out(b);
        while (kept < n && sorted[kept].key != none) {
            b->tree->order[kept] = sorted[kept].item;
            kept++;
        }
        b->tree->n = kept;
        error = 0;
    }
    wio_os_free(spare);
    wio_os_free(b->entry);
    return error;
}

/** The largest coordinate, for what single precision can tell apart. */
static double largest(const struct wio_tree *t)
{
    const struct wio_tree_node *top = t->level[t->levels - 1].node;
    double most = 0;
    for (int d = 0; d < 3; d++)
        for (int k = 0; k < WIO_TREE_WIDTH; k++)
            if (top->lo[d][k] <= top->hi[d][k]) /* else there is nothing */
                most = fmax(most, fmax(fabs((double)top->lo[d][k]), fabs((double)top->hi[d][k])));
    return most;
}

static int make_tree(struct build *b, size_t n, int threads, bool boxes, struct wio_tree **tree)
{
    if (n >= UINT32_MAX)
        return WAITIO_ERR_LIMIT;
    b->tree = wio_os_alloc(sizeof *b->tree);
    if (b->tree == NULL)
        return WAITIO_ERR_NOMEM;
    b->bits = choose_bits(n);
    if (b->plane)
        find_extent(b, n);
    int error = take_order(b, n, threads);
    if (error == 0 && boxes)
        error = build_levels(b, threads);
    if (error != 0) {
        wio_tree_free(b->tree);
        return error;
    }
    if (boxes)
        b->tree->most = largest(b->tree);
    *tree = b->tree;
    return 0;
}

int wio_tree_make(size_t n, wio_tree_item item, const void *arg, bool plane, int threads,
                  struct wio_tree **tree)
{
    struct build b = {.item = item, .arg = arg, .plane = plane};
    return make_tree(&b, n, threads, true, tree);
}

int wio_tree_sort(size_t n, wio_tree_item item, const void *arg, bool plane, int threads,
                  struct wio_tree **tree)
{
    struct build b = {.item = item, .arg = arg, .plane = plane};
    return make_tree(&b, n, threads, false, tree);
}

void wio_tree_free(struct wio_tree *tree)
{
    if (tree == NULL)
        return;
    for (int i = 0; i < tree->levels; i++)
        wio_os_free(tree->level[i].node);
    wio_os_free(tree->order);
    wio_os_free(tree);
}

const uint32_t *wio_tree_order(const struct wio_tree *tree, size_t *n)
{
    *n = tree->n;
    return tree->order;
}
