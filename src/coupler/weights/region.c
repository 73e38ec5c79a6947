/* SPDX-License-Identifier: BSD-3-Clause */
/* Which cells are near others, for processes that each have a part of a grid. */
#include "coupler/weights/grid.h"
#include "os/os.h"
#include "waitio_errors.h"

static bool cell_box(const void *arg, size_t i, struct wio_box *box)
{
    wio_grid_box(arg, i, box->lo, box->hi);
    return true;
}

static int make_tree(const struct wio_grid *grid, struct wio_tree **tree)
{
    return wio_tree_make(grid->n, cell_box, grid, grid->plane, 1, tree);
}

int wio_grid_cover(const struct wio_grid *grid, int most, struct wio_region *region, int *box_of)
{
    struct wio_tree *tree;
    size_t n;
    int boxes = 0, error = make_tree(grid, &tree);
    if (error != 0)
        return error;
    const uint32_t *order = wio_tree_order(tree, &n);
    for (int k = 0; k < most; k++) {
        size_t begin = n * (size_t)k / (size_t)most, end = n * (size_t)(k + 1) / (size_t)most;
        if (begin == end)
            continue;
        struct wio_region *r = &region[boxes];
        wio_grid_box(grid, order[begin], r->lo, r->hi);
        for (size_t i = begin; i < end; i++) {
            double lo[3], hi[3];
            wio_grid_box(grid, order[i], lo, hi);
            for (int d = 0; d < 3; d++) {
                r->lo[d] = fmin(r->lo[d], lo[d]);
                r->hi[d] = fmax(r->hi[d], hi[d]);
            }
            if (box_of != NULL)
                box_of[order[i]] = boxes;
        }
        boxes++;
    }
    wio_tree_free(tree);
    return boxes;
}

struct wio_chooser {
    struct wio_tree *tree;
    struct wio_found found;
};

int wio_chooser_make(const struct wio_grid *grid, struct wio_chooser **chooser)
{
    struct wio_chooser *c = wio_os_alloc(sizeof *c);
    int error = c == NULL ? WAITIO_ERR_NOMEM : make_tree(grid, &c->tree);
    if (error != 0)
        wio_os_free(c);
    else
        *chooser = c;
    return error;
}

void wio_chooser_free(struct wio_chooser *c)
{
    if (c == NULL)
        return;
    wio_found_free(&c->found);
    wio_tree_free(c->tree);
    wio_os_free(c);
}

int wio_chooser_choose(struct wio_chooser *c, const struct wio_region *region, double margin,
                       bool *chosen)
{
    struct wio_box box;
    for (int d = 0; d < 3; d++) {
        box.lo[d] = region->lo[d] - margin;
        box.hi[d] = region->hi[d] + margin;
    }
    int error = wio_tree_meet(c->tree, &box, &c->found);
    for (size_t i = 0; i < c->found.n && error == 0; i++)
        chosen[c->found.item[i]] = true;
    return error;
}

int wio_grid_choose(const struct wio_grid *grid, const struct wio_region *region, int n,
                    double margin, bool *chosen)
{
    struct wio_chooser *c;
    int error = wio_chooser_make(grid, &c);
    if (error != 0)
        return error;
    for (int k = 0; k < n && error == 0; k++)
        error = wio_chooser_choose(c, &region[k], margin, chosen);
    wio_chooser_free(c);
    return error;
}

double wio_grid_reach(const struct wio_grid *grid)
{
    double most = 0;
    for (size_t i = 0; i < grid->n; i++) {
        double lo[3], hi[3];
        wio_grid_box(grid, i, lo, hi);
        for (int d = 0; d < 3; d++)
            most = fmax(most, hi[d] - lo[d]);
    }
    return most;
}
