/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions to the tree. */
#include "coupler/weights/tree_nodes.h"
#include "os/os.h"
#include "waitio_errors.h"

/* A walk holds at most seven waiting nodes of each level and one more. */
enum { STACK = WIO_TREE_LEVELS * WIO_TREE_WIDTH };
/* Any distance but that to the box of nothing, which is infinite. */
static const double ANY = 1e300;

struct visit {
    int level;
    uint32_t node;
    double distance2;
};

void wio_found_free(struct wio_found *found)
{
    wio_os_free(found->item);
    *found = (struct wio_found){0};
}

int wio_found_room(struct wio_found *f, size_t more)
{
    if (f->n + more <= f->room)
        return 0;
    size_t room = 2 * (f->n + more) + 64;
    uint32_t *item = wio_os_realloc(f->item, room * sizeof *item);
    if (item == NULL)
        return WAITIO_ERR_NOMEM;
    f->item = item;
    f->room = room;
    return 0;
}

int wio_tree_meet(const struct wio_tree *tree, const struct wio_box *box, struct wio_found *found)
{
    struct visit stack[STACK];
    int waiting = 0;
    float lo[3], hi[3];
    for (int d = 0; d < 3; d++) {
        lo[d] = nextafterf((float)box->lo[d], -INFINITY);
        hi[d] = nextafterf((float)box->hi[d], INFINITY);
    }
    found->n = 0;
    stack[waiting++] = (struct visit){.level = tree->levels - 1};
    while (waiting > 0) {
        struct visit v = stack[--waiting];
        unsigned bits = wio_node_meets(&tree->level[v.level].node[v.node], lo, hi);
        if (bits != 0 && v.level == 0 && wio_found_room(found, WIO_TREE_WIDTH) != 0)
            return WAITIO_ERR_NOMEM;
        for (; bits != 0; bits &= bits - 1) {
            uint32_t below = v.node * WIO_TREE_WIDTH + (uint32_t)__builtin_ctz(bits);
            if (v.level == 0)
                found->item[found->n++] = tree->order[below];
            else
                stack[waiting++] = (struct visit){.level = v.level - 1, .node = below};
        }
    }
    return 0;
}

struct search {
    const struct wio_tree *tree;
    struct wio_nearest found;
    struct visit stack[STACK];
    int waiting;
};

static void distances(const struct wio_tree_node *node, struct wio_vec where, double *d2)
{
    const double p[3] = {where.x, where.y, where.z};
    for (int k = 0; k < WIO_TREE_WIDTH; k++)
        d2[k] = 0;
    for (int d = 0; d < 3; d++)
        for (int k = 0; k < WIO_TREE_WIDTH; k++) {
            double under = (double)node->lo[d][k] - p[d], over = p[d] - (double)node->hi[d][k];
            double away = under > over ? under : over;
            d2[k] += away > 0 ? away * away : 0;
        }
}

/** Puts the children on the stack, the nearest on top. */
static void push_children(struct search *s, struct visit v, const double *d2)
{
    int first = s->waiting;
    for (uint32_t k = 0; k < WIO_TREE_WIDTH; k++) {
        if (!(d2[k] <= wio_nearest_limit(&s->found)))
            continue;
        int at = s->waiting++;
        for (; at > first && s->stack[at - 1].distance2 < d2[k]; at--)
            s->stack[at] = s->stack[at - 1];
        s->stack[at] = (struct visit){
            .level = v.level - 1, .node = v.node * WIO_TREE_WIDTH + k, .distance2 = d2[k]};
    }
}

int wio_tree_nearest(const struct wio_tree *tree, const struct wio_points *points,
                     struct wio_vec where, double within2, int k, struct wio_near *near)
{
    struct search s = {.tree = tree};
    s.found = (struct wio_nearest){.points = points,
                                   .where = where,
                                   .within2 = within2 < ANY ? within2 : ANY,
                                   .k = k,
                                   .near = near};
    if (k < 1)
        return 0;
    s.stack[s.waiting++] = (struct visit){.level = tree->levels - 1};
    while (s.waiting > 0) {
        struct visit v = s.stack[--s.waiting];
        if (!(v.distance2 <= wio_nearest_limit(&s.found)))
            continue;
        double d2[WIO_TREE_WIDTH];
        distances(&tree->level[v.level].node[v.node], where, d2);
        if (v.level > 0) {
            push_children(&s, v, d2);
            continue;
        }
        for (uint32_t j = 0; j < WIO_TREE_WIDTH; j++)
            if (d2[j] <= wio_nearest_limit(&s.found))
                wio_nearest_look(&s.found, tree->order[v.node * WIO_TREE_WIDTH + j]);
    }
    return s.found.n;
}
