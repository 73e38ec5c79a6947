/* SPDX-License-Identifier: BSD-3-Clause */
/* Variables of one table, interval, lag and type travel in one message: who travels with whom. Both
 * sides number the bundles of a direction alike, by the order of the configuration. */
#include <stdlib.h>
#include <string.h>

#include "coupler/message.h"
#include "coupler/sums.h"

static struct wio_cpl_bundle *bundle_at(const struct waitio_cpl *cpl, size_t i)
{
    return ((struct wio_cpl_bundle **)cpl->bundles.at)[i];
}

static bool together(const struct wio_cpl_bundle *b, const struct wio_cpl_link *link)
{
    if (b->ahead != wio_cpl_sums_of(b->table, link))
        return false;
    if (b->interval != link->interval || b->type != link->type || b->now != wio_cpl_link_now(link))
        return false;
    if (b->now)
        return b->name != NULL && link->bundle != NULL && strcmp(b->name, link->bundle) == 0;
    return b->shift == wio_cpl_link_shift(link);
}

/* The bundle that a link belongs to, if it exists. @param[out] number of those of its direction */
static struct wio_cpl_bundle *find(const struct waitio_cpl *cpl, const struct wio_cpl_table *table,
                                   const struct wio_cpl_link *link, int *number)
{
    struct wio_cpl_bundle *found = NULL;

    *number = 0;
    for (size_t i = 0; i < cpl->bundles.n; i++) {
        struct wio_cpl_bundle *b = bundle_at(cpl, i);

        *number += b->table->from == table->from && b->table->to == table->to;
        if (b->table == table && together(b, link))
            found = b;
    }
    return found;
}

static struct wio_cpl_bundle *get_bundle(struct waitio_cpl *cpl, struct wio_cpl_table *table,
                                         const struct wio_cpl_link *link)
{
    struct wio_cpl_bundle **place, *b;
    int number;

    b = find(cpl, table, link, &number);
    if (b != NULL)
        return b;
    place = wio_cpl_push(&cpl->bundles, sizeof *place);
    if (place == NULL)
        return NULL;
    b = wio_cpl_new(1, sizeof *b);
    if (b == NULL) {
        cpl->bundles.n--;
        return NULL;
    }
    *place = b;
    *b = (struct wio_cpl_bundle){.table = table,
                                 .interval = link->interval,
                                 .shift = wio_cpl_link_shift(link),
                                 .now = wio_cpl_link_now(link),
                                 .type = link->type,
                                 .name = link->bundle,
                                 .tag = WIO_CPL_TAG_BUNDLE + number,
                                 .sends = table->from == cpl->mine,
                                 .ahead = wio_cpl_sums_of(table, link),
                                 .have = -1,
                                 .passed = -1};
    return b;
}

static int no_table(const struct waitio_cpl *cpl, const struct wio_cpl_link *l)
{
    return wio_cpl_fail(WAITIO_ERR_CONFIG,
                        "%s:%d: '%s' goes from grid '%s' of component '%s' to grid '%s' of "
                        "component '%s', for which no table%s was defined",
                        cpl->conf.file, l->line, l->var_put, l->grid_put, l->comp_put, l->grid_get,
                        l->comp_get, l->mapping_tag != 0 ? " of this mapping_tag" : "");
}

static int no_vectors(const struct waitio_cpl *cpl, const struct wio_cpl_link *l)
{
    return wio_cpl_fail(WAITIO_ERR_CONFIG,
                        "%s:%d: '%s' is %s, but the table from grid '%s' to grid '%s' has no "
                        "coef_cos and coef_sin",
                        cpl->conf.file, l->line, l->var_put,
                        l->tag > WIO_CPL_VECTOR_TAG ? "a vector (grid_intpl_tag above 10000)"
                                                    : "a component of a vector (vector_with)",
                        l->grid_put, l->grid_get);
}

/* One end of a link, in its bundle. */
static int add_var(struct waitio_cpl *cpl, const struct wio_cpl_link *link,
                   struct wio_cpl_table *table)
{
    struct wio_cpl_bundle *b = get_bundle(cpl, table, link);
    struct wio_cpl_var **in_bundle, **place, *v;
    size_t n;

    if (b == NULL)
        return WAITIO_ERR_NOMEM;
    v = wio_cpl_new(1, sizeof *v);
    place = v != NULL ? wio_cpl_push(&cpl->vars, sizeof *place) : NULL;
    if (place == NULL) {
        free(v);
        return WAITIO_ERR_NOMEM;
    }
    *place = v;
    in_bundle = wio_cpl_push(&b->vars, sizeof *in_bundle);
    if (in_bundle == NULL)
        return WAITIO_ERR_NOMEM;
    *in_bundle = v;
    v->link = link;
    v->bundle = b;
    v->name = b->sends ? link->var_put : link->var_get;
    v->grid = wio_cpl_grid_find(cpl, b->sends ? link->grid_put : link->grid_get);
    n = v->grid->n * (size_t)link->layers;
    v->first = b->layers;
    b->layers += (size_t)link->layers;
    v->fill = wio_cpl_link_fill(link);
    if (b->sends) {
        v->flow = (struct wio_cpl_flow){.interval = b->now ? 0 : b->interval,
                                        .shift = b->shift,
                                        .reduce = link->reduce,
                                        .fill = v->fill,
                                        .n = n};
        return wio_cpl_flow_init(&v->flow);
    }
    v->data = wio_cpl_new(n, sizeof *v->data);
    return v->data == NULL ? WAITIO_ERR_NOMEM : 0;
}

static int add_link(struct waitio_cpl *cpl, const struct wio_cpl_link *link)
{
    int from = wio_cpl_component(cpl, link->comp_put), to = wio_cpl_component(cpl, link->comp_get);
    struct wio_cpl_table *table;
    bool second, vector = link->tag > WIO_CPL_VECTOR_TAG ||
                          wio_cpl_conf_partner(&cpl->conf, link, &second) != NULL;

    if ((from != cpl->mine && to != cpl->mine) || from < 0 || to < 0)
        return 0;
    table = wio_cpl_table_of(cpl, link);
    if (table == NULL)
        return no_table(cpl, link);
    if (vector && !table->vectors)
        return no_vectors(cpl, link);
    if (table->limited && link->side == WIO_CPL_SIDE_SEND)
        return wio_cpl_table_limiter_fault(cpl, table, link);
    return add_var(cpl, link, table);
}

static const struct wio_cpl_list *peers(const struct wio_cpl_bundle *b)
{
    return b->sends ? &b->table->sends : &b->table->receives;
}

/* Where what comes is remapped from. Messages are received there, if their numbers lie in them as
 * they do there: those of one process, or of one layer. */
static int get_sources(struct wio_cpl_bundle *b)
{
    const struct wio_cpl_peer *p = peers(b)->at;
    size_t n = peers(b)->n, slots = b->table->remap.slots;

    b->in_place = !b->sends && !b->ahead && b->type == WIO_CPL_REAL8 && (b->layers == 1 || n == 1);
    b->stride = b->in_place && n == 1 ? p->n : slots;
    b->sources =
        wio_cpl_new(b->in_place ? slots + (b->layers - 1) * b->stride : wio_cpl_sums_room(b),
                    sizeof *b->sources);
    return b->sources == NULL ? WAITIO_ERR_NOMEM : 0;
}

static int get_memory(struct wio_cpl_bundle *b)
{
    const struct wio_cpl_peer *p = peers(b)->at;
    size_t n = peers(b)->n;

    b->ops = wio_cpl_new(n, sizeof *b->ops);
    b->buffers = wio_cpl_new(n, sizeof *b->buffers);
    if (b->ops == NULL || b->buffers == NULL || get_sources(b) != 0)
        return WAITIO_ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        if (b->in_place)
            b->buffers[i] = b->sources + p[i].first - WIO_CPL_HEAD;
        else
            b->buffers[i] = wio_cpl_new(WIO_CPL_HEAD + wio_cpl_bundle_numbers(b, i) * b->layers,
                                        wio_cpl_width(b->type));
        if (b->buffers[i] == NULL)
            return WAITIO_ERR_NOMEM;
    }
    return 0;
}

/* Components of one vector know each other. They agree in all that makes a bundle. */
static void make_pairs(const struct waitio_cpl *cpl, const struct wio_cpl_bundle *b)
{
    struct wio_cpl_var **vars = b->vars.at;

    for (size_t i = 0; i < b->vars.n; i++) {
        const struct wio_cpl_link *other =
            wio_cpl_conf_partner(&cpl->conf, vars[i]->link, &vars[i]->second);

        for (size_t k = 0; other != NULL && k < b->vars.n; k++)
            if (vars[k]->link == other)
                vars[i]->with = vars[k];
    }
}

static int find_lead(const struct waitio_cpl *cpl, struct wio_cpl_bundle *b)
{
    return b->sends && !b->now ? wio_cpl_conf_lead(&cpl->conf, cpl->components[b->table->from].name,
                                                   cpl->components[b->table->to].name, &b->lead)
                               : 0;
}

int wio_cpl_bundles_make(struct waitio_cpl *cpl)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < cpl->conf.links.n; i++)
        rc = add_link(cpl, wio_cpl_conf_link(&cpl->conf, i));
    for (size_t i = 0; rc == 0 && i < cpl->bundles.n; i++) {
        make_pairs(cpl, bundle_at(cpl, i));
        rc = find_lead(cpl, bundle_at(cpl, i));
        if (rc == 0)
            rc = get_memory(bundle_at(cpl, i));
    }
    return rc == 0 ? wio_cpl_past_make(cpl) : rc;
}

/* @param gone the other side has failed: messages with it may still be under way, so their memory
 * stays */
static void free_bundle(struct wio_cpl_bundle *b, bool gone)
{
    for (size_t i = 0; b->buffers != NULL && !gone && !b->in_place && i < peers(b)->n; i++)
        free(b->buffers[i]);
    wio_cpl_past_free(b);
    free(b->buffers);
    free(b->ops);
    if (!gone || !b->in_place)
        free(b->sources);
    wio_cpl_list_free(&b->vars);
    free(b);
}

void wio_cpl_bundles_free(struct waitio_cpl *cpl)
{
    struct wio_cpl_var **vars = cpl->vars.at;

    for (size_t i = 0; i < cpl->bundles.n; i++)
        free_bundle(bundle_at(cpl, i), wio_cpl_bundle_gone(cpl, bundle_at(cpl, i)));
    for (size_t i = 0; i < cpl->vars.n; i++) {
        wio_cpl_flow_free(&vars[i]->flow);
        free(vars[i]->data);
        free(vars[i]);
    }
    wio_cpl_list_free(&cpl->bundles);
    wio_cpl_list_free(&cpl->vars);
}
