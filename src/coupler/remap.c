/* SPDX-License-Identifier: BSD-3-Clause */
/* Compressed rows, and the sums over them. */
#include "coupler/remap.h"

#include <stdlib.h>
#include <string.h>

#include "coupler/base.h"
#include "coupler/order.h"
#include "coupler/stretch.h"
#include "waitio_errors.h"

static int order(double a, double b)
{
    return (a > b) - (a < b);
}

/* Equal entries may stand in any order: they add the same. */
static int compare(const void *one, const void *other)
{
    const struct wio_cpl_entry *a = one, *b = other;
    int by;

    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    by = order(a->coef, b->coef);
    by = by != 0 ? by : order(a->cos, b->cos);
    return by != 0 ? by : order(a->sin, b->sin);
}

/* By source, then by receive point: equal keys keep their order. */
static int order_pairs(const struct wio_cpl_entry *entries, uint32_t *by, size_t n)
{
    int64_t *key = wio_cpl_new(n, sizeof *key);
    int rc;

    if (key == NULL)
        return WAITIO_ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        key[i] = entries[i].source;
    rc = wio_cpl_order(key, by, n);
    for (size_t i = 0; i < n; i++)
        key[i] = entries[i].to;
    if (rc == 0)
        rc = wio_cpl_order(key, by, n);
    free(key);
    return rc;
}

static bool same_pair(const struct wio_cpl_entry *a, const struct wio_cpl_entry *b)
{
    return a->to == b->to && a->source == b->source;
}

/* Entries of one pair of points, by their coefficients. */
static void sort_repeated(struct wio_cpl_entry *entries, size_t n)
{
    size_t end;

    for (size_t begin = 0; begin < n; begin = end) {
        for (end = begin + 1; end < n && same_pair(&entries[begin], &entries[end]);)
            end++;
        if (end > begin + 1)
            qsort(entries + begin, end - begin, sizeof *entries, compare);
    }
}

int wio_cpl_remap_sort(struct wio_cpl_entry *entries, size_t n)
{
    struct wio_cpl_entry *sorted = wio_cpl_new(n, sizeof *sorted);
    uint32_t *by = wio_cpl_order_new(n);
    int rc = sorted == NULL || by == NULL ? WAITIO_ERR_NOMEM : order_pairs(entries, by, n);

    for (size_t i = 0; rc == 0 && i < n; i++)
        sorted[i] = entries[by[i]];
    if (rc == 0 && n > 0)
        memcpy(entries, sorted, n * sizeof *entries);
    free(by);
    free(sorted);
    if (rc == 0)
        sort_repeated(entries, n);
    return rc;
}

/* The entries of one row. @param[out] open those with a source that is not masked */
static size_t length_of(const struct wio_cpl_entry *row, size_t n, size_t *open)
{
    size_t i = 0;

    *open = 0;
    for (; i < n && row[i].to == row[0].to; i++)
        *open += row[i].slot != WIO_CPL_NO_SLOT;
    return i;
}

static void count(const struct wio_cpl_entry *entries, size_t n, size_t *rows, size_t *kept)
{
    size_t open;

    *rows = *kept = 0;
    for (size_t i = 0; i < n;) {
        i += length_of(entries + i, n - i, &open);
        *rows += open > 0;
        *kept += open;
    }
}

static int get_memory(struct wio_cpl_remap *r, size_t n, int vectors, bool masked)
{
    r->to = wio_cpl_new(r->rows, sizeof *r->to);
    r->first = wio_cpl_new(r->rows + 1, sizeof *r->first);
    r->slot = wio_cpl_new(n, sizeof *r->slot);
    r->coef = wio_cpl_new(n, sizeof *r->coef);
    if (r->to == NULL || r->first == NULL || r->slot == NULL || r->coef == NULL)
        return WAITIO_ERR_NOMEM;
    if (vectors) {
        r->cos = wio_cpl_new(n, sizeof *r->cos);
        r->sin = wio_cpl_new(n, sizeof *r->sin);
    }
    if (masked)
        r->scale = wio_cpl_new(r->rows, sizeof *r->scale);
    return (vectors && (r->cos == NULL || r->sin == NULL)) || (masked && r->scale == NULL)
               ? WAITIO_ERR_NOMEM
               : 0;
}

/* In the order of the sum, so that no partition changes it. */
static double scale_of(const struct wio_cpl_entry *row, size_t n, size_t open)
{
    double all = 0, there = 0;

    for (size_t i = 0; i < n; i++) {
        all += row[i].coef;
        there += row[i].slot != WIO_CPL_NO_SLOT ? row[i].coef : 0;
    }
    return open == n ? 1 : there != 0 ? all / there : 0;
}

static void add_entry(struct wio_cpl_remap *r, size_t at, const struct wio_cpl_entry *e)
{
    r->slot[at] = (uint32_t)e->slot;
    r->coef[at] = e->coef;
    if (r->cos != NULL) {
        r->cos[at] = e->cos;
        r->sin[at] = e->sin;
    }
}

int wio_cpl_remap_make(struct wio_cpl_remap *remap, const struct wio_cpl_entry *entries, size_t n,
                       size_t slots, int vectors)
{
    size_t row = 0, at = 0, rows, kept, open;
    int rc;

    count(entries, n, &rows, &kept);
    *remap = (struct wio_cpl_remap){.rows = rows, .slots = slots};
    rc = get_memory(remap, kept, vectors, kept < n);
    for (size_t i = 0, next; rc == 0 && i < n; i = next) {
        next = i + length_of(entries + i, n - i, &open);
        if (open == 0)
            continue;
        if (remap->scale != NULL)
            remap->scale[row] = scale_of(entries + i, next - i, open);
        remap->to[row] = entries[i].to;
        remap->first[row++] = at;
        for (size_t k = i; k < next; k++)
            if (entries[k].slot != WIO_CPL_NO_SLOT)
                add_entry(remap, at++, &entries[k]);
    }
    if (rc != 0)
        return rc;
    remap->first[row] = at;
    return wio_cpl_stretches_make(remap);
}

void wio_cpl_remap_free(struct wio_cpl_remap *remap)
{
    free(remap->to);
    free(remap->first);
    free(remap->slot);
    free(remap->coef);
    free(remap->cos);
    free(remap->sin);
    free(remap->fixed);
    free(remap->value);
    free(remap->scale);
    free(remap->stretches);
    *remap = (struct wio_cpl_remap){.rows = 0};
}

int wio_cpl_remap_fix(struct wio_cpl_remap *remap, const struct wio_cpl_entry *fixed, size_t n)
{
    remap->fixed = wio_cpl_new(n, sizeof *remap->fixed);
    remap->value = wio_cpl_new(n, sizeof *remap->value);
    if (remap->fixed == NULL || remap->value == NULL)
        return WAITIO_ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        remap->fixed[i] = fixed[i].to;
        remap->value[i] = fixed[i].coef;
    }
    remap->n_fixed = n;
    return 0;
}

void wio_cpl_remap_fill(const struct wio_cpl_remap *remap, double *to, size_t points, double empty)
{
    if (remap->rows < points)
        for (size_t i = 0; i < points; i++)
            to[i] = empty;
    for (size_t i = 0; i < remap->n_fixed; i++)
        to[remap->fixed[i]] = remap->value[i];
}

/* What a row is, whose sum is made of the sources that are not masked. A row with none masked has
 * the scale 1; so may others, whose sum needs no scaling. */
static double whole(const struct wio_cpl_remap *remap, size_t row, double sum,
                    const struct wio_cpl_gaps *gaps)
{
    double scale = remap->scale != NULL ? remap->scale[row] : 1;

    if (scale == 1 || gaps->masked == WIO_CPL_MASKED_PART)
        return sum;
    return gaps->masked == WIO_CPL_MASKED_FILL || scale == 0 ? gaps->fill : sum * scale;
}

static void sum_masked(const struct wio_cpl_remap *r, const struct wio_cpl_stretch *s,
                       const double *from, double *to, const struct wio_cpl_gaps *gaps)
{
    for (size_t row = s->row; row < s->row + s->rows; row++) {
        double sum = 0;

        for (size_t i = r->first[row]; i < r->first[row + 1]; i++)
            sum += r->coef[i] * from[r->slot[i]];
        to[r->to[row]] = whole(r, row, sum, gaps);
    }
}

/* Stretch by stretch: its entries are read once for all layers. */
void wio_cpl_remap_layers(const struct wio_cpl_remap *remap, const double *from, size_t stride,
                          double *to, size_t points, size_t layers, const struct wio_cpl_gaps *gaps)
{
    for (size_t k = 0; k < layers; k++)
        wio_cpl_remap_fill(remap, to + k * points, points, gaps->empty);
    for (size_t i = 0; i < remap->n_stretches; i++)
        for (size_t k = 0; k < layers; k++)
            if (remap->scale != NULL)
                sum_masked(remap, &remap->stretches[i], from + k * stride, to + k * points, gaps);
            else
                wio_cpl_stretch_sum(remap, &remap->stretches[i], from + k * stride,
                                    to + k * points);
}

void wio_cpl_remap_component(const struct wio_cpl_remap *remap, bool second, const double *u,
                             const double *v, double *to, size_t points,
                             const struct wio_cpl_gaps *gaps)
{
    wio_cpl_remap_fill(remap, to, points, gaps->empty);
    for (size_t row = 0; row < remap->rows; row++) {
        double sum = 0;

        for (size_t i = remap->first[row]; i < remap->first[row + 1]; i++) {
            uint32_t from = remap->slot[i];

            sum += second ? remap->sin[i] * u[from] + remap->cos[i] * v[from]
                          : remap->cos[i] * u[from] - remap->sin[i] * v[from];
        }
        to[remap->to[row]] = whole(remap, row, sum, gaps);
    }
}

void wio_cpl_remap_turn(const struct wio_cpl_remap *remap, const double *u, const double *v,
                        double *to_u, double *to_v, size_t points, const struct wio_cpl_gaps *gaps)
{
    wio_cpl_remap_fill(remap, to_u, points, gaps->empty);
    wio_cpl_remap_fill(remap, to_v, points, gaps->empty);
    for (size_t row = 0; row < remap->rows; row++) {
        double sum_u = 0, sum_v = 0;

        for (size_t i = remap->first[row]; i < remap->first[row + 1]; i++) {
            uint32_t from = remap->slot[i];

            sum_u += remap->cos[i] * u[from] - remap->sin[i] * v[from];
            sum_v += remap->sin[i] * u[from] + remap->cos[i] * v[from];
        }
        to_u[remap->to[row]] = whole(remap, row, sum_u, gaps);
        to_v[remap->to[row]] = whole(remap, row, sum_v, gaps);
    }
}
