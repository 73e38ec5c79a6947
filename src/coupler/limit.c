/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradients limited as by T. J. Barth and D. C. Jespersen (AIAA Paper 89-0366, 1989): in no corner
 * of a cell is the field above or below all of the cell's value and those of its neighbours. */
#include "coupler/limit.h"

#include <stdlib.h>
#include <string.h>

#include "coupler/base.h"
#include "waitio_errors.h"

/* ---- making --------------------------------------------------------------------------------- */

/* A source point, and where its value is. */
struct where {
    int64_t source, slot;
};

static int compare(const void *one, const void *other)
{
    const struct where *a = one, *b = other;

    return (a->source > b->source) - (a->source < b->source);
}

/* Slots by position of the source among those that weights were made of. */
static int find_slots(const char *table, const struct wio_weights *w,
                      const struct wio_cpl_entry *entries, size_t n, uint32_t **slots)
{
    struct where *all = wio_cpl_new(n, sizeof *all);
    size_t most = 0;
    int rc = 0;

    for (size_t i = 0; i < w->n_links; i++)
        most = w->position[i] >= most ? w->position[i] + 1 : most;
    *slots = wio_cpl_new(most, sizeof **slots);
    if (all == NULL || *slots == NULL)
        rc = WAITIO_ERR_NOMEM;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        all[i] = (struct where){entries[i].source, entries[i].slot};
        if (entries[i].slot == WIO_CPL_NO_SLOT)
            rc =
                wio_cpl_fail(WAITIO_ERR_ARG,
                             "%s: its weights have a limiter, which needs all sources, but index "
                             "%lld of the source grid is masked by waitio_cpl_grid_mask(): mask it "
                             "in the cells",
                             table, (long long)entries[i].source);
    }
    if (rc == 0 && n > 1)
        qsort(all, n, sizeof *all, compare);
    for (size_t i = 0; rc == 0 && n > 0 && i < w->n_links; i++) {
        const struct where key = {w->source[i], 0};
        const struct where *found = bsearch(&key, all, n, sizeof *all, compare);

        if (found != NULL) /* a row of a masked receive point is in no table */
            (*slots)[w->position[i]] = (uint32_t)found->slot;
    }
    free(all);
    return rc;
}

static int copy_cells(struct wio_cpl_limit *l, const struct wio_slopes *s, const uint32_t *slots)
{
    size_t n = s->n_cells, near = s->near_first[n], corners = s->corner_first[n];

    l->n_cells = n;
    l->cell = wio_cpl_new(n, sizeof *l->cell);
    l->near_first = wio_cpl_new(n + 1, sizeof *l->near_first);
    l->near = wio_cpl_new(near, sizeof *l->near);
    l->slope = wio_cpl_new(near, sizeof *l->slope);
    l->corner_first = wio_cpl_new(n + 1, sizeof *l->corner_first);
    l->corner = wio_cpl_new(corners, sizeof *l->corner);
    l->values = wio_cpl_new(l->slots + 3 * n, sizeof *l->values);
    if (l->cell == NULL || l->near_first == NULL || l->near == NULL || l->slope == NULL ||
        l->corner_first == NULL || l->corner == NULL || l->values == NULL)
        return WAITIO_ERR_NOMEM;
    memcpy(l->near_first, s->near_first, (n + 1) * sizeof *l->near_first);
    memcpy(l->corner_first, s->corner_first, (n + 1) * sizeof *l->corner_first);
    memcpy(l->slope, s->slope, near * sizeof *l->slope);
    memcpy(l->corner, s->corner, corners * sizeof *l->corner);
    for (size_t i = 0; i < n; i++)
        l->cell[i] = slots[s->cell[i]];
    for (size_t i = 0; i < near; i++)
        l->near[i] = slots[s->near[i]];
    return 0;
}

/* The sum of a row: each part's value, then its gradient. */
static size_t row_of_parts(const struct wio_cpl_limit *l, const struct wio_slopes *s, size_t t,
                           struct wio_cpl_entry *out)
{
    size_t n = 0;

    for (size_t i = s->part_first[t]; i < s->part_first[t + 1]; i++) {
        const struct wio_part *p = &s->part[i];
        int64_t gradient = (int64_t)(l->slots + 3 * (size_t)p->cell);

        out[n++] = (struct wio_cpl_entry){(int64_t)t, 0, l->cell[p->cell], p->area, 1, 0};
        for (int d = 0; d < 3; d++)
            out[n++] = (struct wio_cpl_entry){(int64_t)t, 0, gradient + d, p->shift[d], 1, 0};
    }
    return n;
}

static size_t row_of_links(const struct wio_weights *w, size_t t, const uint32_t *slots,
                           struct wio_cpl_entry *out)
{
    size_t n = 0;

    for (size_t i = w->row[t]; i < w->row[t + 1]; i++)
        out[n++] = (struct wio_cpl_entry){(int64_t)t, 0, slots[w->position[i]], w->weight[i], 1, 0};
    return n;
}

static int make_rows(struct wio_cpl_limit *l, const struct wio_weights *w, const char *open,
                     const uint32_t *slots)
{
    const struct wio_slopes *s = w->slopes;
    size_t n = 0, most = w->n_links + 4 * s->part_first[w->n_targets];
    struct wio_cpl_entry *all = wio_cpl_new(most, sizeof *all);
    int rc;

    if (all == NULL)
        return WAITIO_ERR_NOMEM;
    for (size_t t = 0; t < w->n_targets; t++)
        if (open == NULL || open[t] != 0)
            n += w->method[t] == WIO_METHOD_CONSERVATIVE2 ? row_of_parts(l, s, t, all + n)
                                                          : row_of_links(w, t, slots, all + n);
    rc = wio_cpl_remap_make(&l->rows, all, n, l->slots + 3 * l->n_cells, 0);
    free(all);
    return rc;
}

int wio_cpl_limit_make(const char *table, const struct wio_weights *w, const char *open,
                       const struct wio_cpl_entry *entries, size_t n, size_t slots,
                       struct wio_cpl_limit **limit)
{
    struct wio_cpl_limit *l = wio_cpl_new(1, sizeof *l);
    uint32_t *slot_of = NULL;
    int rc = l == NULL ? WAITIO_ERR_NOMEM : find_slots(table, w, entries, n, &slot_of);

    *limit = l;
    if (rc == 0 && slots + 3 * w->slopes->n_cells >= UINT32_MAX)
        rc = wio_cpl_fail(WAITIO_ERR_LIMIT,
                          "%s: its limiter has %zu sources and %zu gradients in one process; give "
                          "the receiving component more processes",
                          table, slots, w->slopes->n_cells);
    if (rc == 0) {
        l->slots = slots;
        rc = copy_cells(l, w->slopes, slot_of);
    }
    if (rc == 0)
        rc = make_rows(l, w, open, slot_of);
    free(slot_of);
    return rc;
}

void wio_cpl_limit_free(struct wio_cpl_limit *l)
{
    if (l == NULL)
        return;
    wio_cpl_remap_free(&l->rows);
    free(l->cell);
    free(l->near_first);
    free(l->near);
    free(l->slope);
    free(l->corner_first);
    free(l->corner);
    free(l->values);
    free(l);
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* How much of a change, seen from a cell's value, stays within the values around it. */
static double part_of(double change, double lower, double upper)
{
    if (change > upper)
        return upper / change;
    return change < lower ? lower / change : 1;
}

/* The gradient of a cell, shortened. Changes are seen from the cell's own value. */
static void find_gradient(const struct wio_cpl_limit *l, size_t cell, double out[3])
{
    double here = l->values[l->cell[cell]], lower = 0, upper = 0, keep = 1, g[3] = {0, 0, 0};

    for (size_t i = l->near_first[cell]; i < l->near_first[cell + 1]; i++) {
        double change = l->values[l->near[i]] - here;

        lower = change < lower ? change : lower;
        upper = change > upper ? change : upper;
        for (int d = 0; d < 3; d++)
            g[d] += l->slope[i][d] * change;
    }
    for (size_t i = l->corner_first[cell]; i < l->corner_first[cell + 1]; i++) {
        const double *x = l->corner[i];
        double part = part_of(g[0] * x[0] + g[1] * x[1] + g[2] * x[2], lower, upper);

        keep = part < keep ? part : keep;
    }
    for (int d = 0; d < 3; d++)
        out[d] = keep * g[d];
}

void wio_cpl_limit_layers(const struct wio_cpl_limit *l, const struct wio_cpl_remap *table,
                          const double *from, size_t stride, double *to, size_t points,
                          size_t layers, const struct wio_cpl_gaps *gaps)
{
    struct wio_cpl_remap rows = l->rows; /* with the values that points have of their own */

    rows.n_fixed = table->n_fixed;
    rows.fixed = table->fixed;
    rows.value = table->value;
    for (size_t k = 0; k < layers; k++) {
        if (l->slots > 0)
            memcpy(l->values, from + k * stride, l->slots * sizeof *l->values);
        for (size_t i = 0; i < l->n_cells; i++)
            find_gradient(l, i, l->values + l->slots + 3 * i);
        wio_cpl_remap_layers(&rows, l->values, 0, to + k * points, points, 1, gaps);
    }
}
