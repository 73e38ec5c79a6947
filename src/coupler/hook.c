/* SPDX-License-Identifier: BSD-3-Clause */
/* A remapping of the program's own: it sees distinct source points, and receive points in the order
 * of their global indices. */
#include <stdlib.h>
#include <string.h>

#include "coupler/cpl.h"
#include "coupler/limit.h"
#include "coupler/message.h"
#include "coupler/stretch.h"

int waitio_cpl_remap_by(waitio_cpl_t cpl, waitio_cpl_remap_function *function, void *with)
{
    cpl->hook = function;
    cpl->hook_with = with;
    return 0;
}

struct row {
    int64_t index;
    size_t row;
};

static int compare(const void *one, const void *other)
{
    const struct row *a = one, *b = other;

    return (a->index > b->index) - (a->index < b->index);
}

/* Rows are kept by their places in this process's arrays. */
static int order_rows(struct wio_cpl_table *t, const struct wio_cpl_grid *grid)
{
    struct row *rows;

    if (t->by_index != NULL)
        return 0;
    rows = wio_cpl_new(t->remap.rows, sizeof *rows);
    t->by_index = wio_cpl_new(t->remap.rows, sizeof *t->by_index);
    if (rows == NULL || t->by_index == NULL) {
        free(rows);
        return WAITIO_ERR_NOMEM;
    }
    for (size_t i = 0; i < t->remap.rows; i++)
        rows[i] = (struct row){grid->index[t->remap.to[i]], i};
    if (t->remap.rows > 1)
        qsort(rows, t->remap.rows, sizeof *rows, compare);
    for (size_t i = 0; i < t->remap.rows; i++)
        t->by_index[i] = rows[i].row;
    free(rows);
    return 0;
}

/* Distinct source points: between those of two processes is room for the head of a message. */
static size_t sources(const struct wio_cpl_table *t)
{
    return t->remap.slots - t->receives.n * WIO_CPL_HEAD;
}

/* The source points of a variable without the room between them: [layer][source]. @return behind
 * them */
static double *add_distinct(const struct wio_cpl_table *t, const struct wio_cpl_var *v, double *to)
{
    const double *from = v->bundle->sources + v->first * v->bundle->stride;
    const struct wio_cpl_peer *peers = t->receives.at;

    for (int k = 0; k < v->link->layers; k++, from += v->bundle->stride)
        for (size_t i = 0; i < t->receives.n; to += peers[i++].n)
            memcpy(to, from + peers[i].first, peers[i].n * sizeof *to);
    return to;
}

/* The same of all that the function sees: a variable, or the two components of a vector. */
static double *distinct(const struct wio_cpl_table *t, const struct wio_cpl_var *v, size_t layers)
{
    double *copy = wio_cpl_new(layers * sources(t), sizeof *copy);

    if (copy != NULL && v->with == NULL)
        (void)add_distinct(t, v, copy);
    else if (copy != NULL)
        (void)add_distinct(t, v->second ? v : v->with,
                           add_distinct(t, v->second ? v->with : v, copy));
    return copy;
}

/* Two variables that are a vector are given to the function as one with twice the layers, once for
 * each of the two: what it makes of the other one is not looked at. */
int wio_cpl_hooked(struct waitio_cpl *cpl, struct wio_cpl_table *table, const struct wio_cpl_var *v,
                   double empty)
{
    size_t own = (size_t)v->link->layers, rows = table->remap.rows, n = v->grid->n;
    size_t layers = v->with != NULL ? 2 * own : own, skip = v->with != NULL && v->second ? own : 0;
    double *copy = distinct(table, v, layers), *to = wio_cpl_new(layers * rows, sizeof *to);
    struct waitio_cpl_remapping job = {v->link->comp_put,
                                       v->link->comp_get,
                                       table->tag,
                                       v->link->tag +
                                           (v->with != NULL ? WIO_CPL_VECTOR_TAG + 1 : 0),
                                       layers,
                                       sources(table),
                                       rows,
                                       copy,
                                       to};
    int rc = to == NULL || copy == NULL ? WAITIO_ERR_NOMEM : order_rows(table, v->grid);

    if (rc == 0) {
        cpl->hooked = v;
        cpl->hook(cpl->hook_with, &job);
        cpl->hooked = NULL;
    }
    for (size_t k = 0; rc == 0 && k < own; k++)
        wio_cpl_remap_fill(&table->remap, v->data + k * n, n, empty);
    for (size_t k = 0; rc == 0 && k < own; k++)
        for (size_t i = 0; i < rows; i++)
            v->data[k * n + (size_t)table->remap.to[table->by_index[i]]] =
                to[(skip + k) * rows + i];
    free(copy);
    free(to);
    return rc;
}

/* ---- the default, on the arrays of a hook --------------------------------------------------- */

/* A layer of distinct source points, back to where entries look for them. */
static void to_slots(const struct wio_cpl_table *t, const double *from, double *to)
{
    const struct wio_cpl_peer *peers = t->receives.at;

    for (size_t i = 0; i < t->receives.n; from += peers[i++].n)
        memcpy(to + peers[i].first, from, peers[i].n * sizeof *to);
}

static bool fits(const struct waitio_cpl *cpl, const struct wio_cpl_table *t,
                 const struct waitio_cpl_remapping *job)
{
    return t->tag == job->tag && t->by_index != NULL && t->remap.rows == job->rows &&
           sources(t) == job->sources &&
           strcmp(cpl->components[t->from].name, job->send_component) == 0 &&
           strcmp(cpl->components[t->to].name, job->recv_component) == 0;
}

/* A job does not name its grids: in the program's function it is of the variable that this remaps,
 * if it fits. */
static const struct wio_cpl_table *find(const struct waitio_cpl *cpl,
                                        const struct waitio_cpl_remapping *job)
{
    struct wio_cpl_table *const *all = cpl->tables.at;

    if (cpl->hooked != NULL && fits(cpl, cpl->hooked->bundle->table, job))
        return cpl->hooked->bundle->table;
    for (size_t i = 0; i < cpl->tables.n; i++)
        if (fits(cpl, all[i], job))
            return all[i];
    return NULL;
}

/* What the variable does with masked sources, if this job is of it. */
static struct wio_cpl_gaps gaps_of(const struct waitio_cpl *cpl, const struct wio_cpl_table *t)
{
    const struct wio_cpl_var *v = cpl->hooked;

    if (v == NULL || v->bundle->table != t)
        return (struct wio_cpl_gaps){WIO_CPL_MASKED_SCALE, 0, WIO_CPL_FILL};
    return (struct wio_cpl_gaps){v->link->masked, 0, v->fill};
}

/* The same rows, numbered by global index. @param place of each row @return 0; NOMEM */
static int by_index(const struct wio_cpl_table *t, int64_t *place, struct wio_cpl_remap *r)
{
    *r = t->remap;
    for (size_t i = 0; i < r->rows; i++)
        place[t->by_index[i]] = (int64_t)i;
    r->to = place;
    r->n_fixed = 0; /* points without entries are not in these arrays */
    return wio_cpl_stretches_make(r);
}

static void remap(const struct wio_cpl_remap *r, const double *from,
                  const struct waitio_cpl_remapping *job, const struct wio_cpl_gaps *gaps)
{
    size_t half = job->layers / 2;

    if (job->exchange_tag > WIO_CPL_VECTOR_TAG && r->cos != NULL)
        for (size_t k = 0; k < half; k++)
            wio_cpl_remap_turn(r, from + k * r->slots, from + (k + half) * r->slots,
                               job->to + k * job->rows, job->to + (k + half) * job->rows, job->rows,
                               gaps);
    else
        wio_cpl_remap_layers(r, from, r->slots, job->to, job->rows, job->layers, gaps);
}

/* The same with limited gradients, whose rows are by places in this process's arrays. */
static int remap_limited(const struct wio_cpl_table *t, size_t points, const double *from,
                         const struct waitio_cpl_remapping *job, const struct wio_cpl_gaps *gaps)
{
    double *all = wio_cpl_new(points, sizeof *all);

    if (all == NULL)
        return WAITIO_ERR_NOMEM;
    for (size_t k = 0; k < job->layers; k++) {
        wio_cpl_limit_layers(t->limit, &t->remap, from + k * t->remap.slots, 0, all, points, 1,
                             gaps);
        for (size_t i = 0; i < job->rows; i++)
            job->to[k * job->rows + i] = all[t->remap.to[t->by_index[i]]];
    }
    free(all);
    return 0;
}

int waitio_cpl_remap(waitio_cpl_t cpl, const struct waitio_cpl_remapping *job)
{
    const struct wio_cpl_table *t = find(cpl, job);
    struct wio_cpl_remap r = {.rows = 0};
    int64_t *place;
    double *from;
    int rc = WAITIO_ERR_NOMEM;

    if (t == NULL)
        return wio_cpl_fail(WAITIO_ERR_ARG,
                            "there is no table %d from component '%s' to '%s' with %zu sources and "
                            "%zu receive points here",
                            job->tag, job->send_component, job->recv_component, job->sources,
                            job->rows);
    place = wio_cpl_new(job->rows, sizeof *place);
    from = wio_cpl_new(job->layers * t->remap.slots, sizeof *from);
    if (place != NULL && from != NULL)
        rc = by_index(t, place, &r);
    if (rc == 0) {
        const struct wio_cpl_gaps gaps = gaps_of(cpl, t);

        for (size_t k = 0; k < job->layers; k++)
            to_slots(t, job->from + k * job->sources, from + k * r.slots);
        if (t->limit != NULL)
            rc = remap_limited(t, wio_cpl_grid_find(cpl, t->grid_get)->n, from, job, &gaps);
        else
            remap(&r, from, job, &gaps);
    }
    free(place);
    free(from);
    free(r.stretches);
    return rc;
}
