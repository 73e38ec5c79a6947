/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables: their names, and the calls that make and ask for them. */
#include <stdlib.h>
#include <string.h>

#include "coupler/limit.h"
#include "coupler/sums.h"

static void free_origin(struct wio_cpl_origin *o)
{
    if (o == NULL)
        return;
    free((void *)(uintptr_t)o->entries.send_index);
    free((void *)(uintptr_t)o->entries.recv_index);
    free((void *)(uintptr_t)o->entries.coef);
    free((void *)(uintptr_t)o->entries.cos);
    free((void *)(uintptr_t)o->entries.sin);
    free(o->file);
    free(o->method);
    free(o);
}

void wio_cpl_table_free(struct wio_cpl_table *table)
{
    struct wio_cpl_peer *peers = table->sends.at;

    free_origin(table->origin);

    for (size_t i = 0; i < table->sends.n; i++) {
        free(peers[i].at);
        free(peers[i].spans);
    }
    wio_cpl_list_free(&table->sends);
    wio_cpl_list_free(&table->receives);
    wio_cpl_sums_free(table->sums);
    wio_cpl_remap_free(&table->remap);
    wio_cpl_limit_free(table->limit);
    free(table->by_index);
    free(table->grid_put);
    free(table->grid_get);
    free(table);
}

static bool between(const struct waitio_cpl *cpl, const struct wio_cpl_table *t,
                    const struct wio_cpl_link *link)
{
    return strcmp(cpl->components[t->from].name, link->comp_put) == 0 &&
           strcmp(cpl->components[t->to].name, link->comp_get) == 0 &&
           strcmp(t->grid_put, link->grid_put) == 0 && strcmp(t->grid_get, link->grid_get) == 0;
}

static int tag_of(const struct wio_cpl_link *link)
{
    return link->mapping_tag != 0 ? link->mapping_tag : 1;
}

static bool exists(const struct waitio_cpl *cpl, const struct wio_cpl_link *l, int tag)
{
    struct wio_cpl_table *const *all = cpl->tables.at;

    for (size_t i = 0; i < cpl->tables.n; i++)
        if (all[i]->tag == tag && between(cpl, all[i], l))
            return true;
    return false;
}

bool wio_cpl_table_fits(const struct waitio_cpl *cpl, const struct wio_cpl_table *table,
                        const struct wio_cpl_link *link)
{
    if (!between(cpl, table, link))
        return false;
    if (tag_of(link) == table->tag)
        return true;
    /* Without a tag of its own it goes by the table 1, or by the only one. */
    return link->mapping_tag == 0 && !exists(cpl, link, 1);
}

struct wio_cpl_table *wio_cpl_table_of(const struct waitio_cpl *cpl,
                                       const struct wio_cpl_link *link)
{
    struct wio_cpl_table *const *all = cpl->tables.at;
    struct wio_cpl_table *only = NULL;
    int wanted = tag_of(link);
    size_t n = 0;

    for (size_t i = 0; i < cpl->tables.n; i++) {
        if (!between(cpl, all[i], link))
            continue;
        if (all[i]->tag == wanted)
            return all[i];
        only = all[i];
        n++;
    }
    return n == 1 ? only : NULL;
}

/* ---- waitio_cpl_map ------------------------------------------------------------------------- */

static int check_table(struct waitio_cpl *cpl, const struct wio_cpl_table *t)
{
    const char *own = cpl->mine == t->from ? t->grid_put : t->grid_get;
    struct wio_cpl_table *const *all = cpl->tables.at;

    if (t->tag < 1)
        return wio_cpl_fail(WAITIO_ERR_ARG,
                            "the table from grid '%s' to grid '%s' has the tag %d; tags begin with "
                            "1",
                            t->grid_put, t->grid_get, t->tag);
    if (wio_cpl_grid_find(cpl, own) == NULL)
        return wio_cpl_fail(WAITIO_ERR_ARG,
                            "the table from grid '%s' to grid '%s': component '%s' has defined no "
                            "grid '%s'",
                            t->grid_put, t->grid_get, cpl->components[cpl->mine].name, own);
    for (size_t i = 0; i < cpl->tables.n; i++)
        if (all[i]->from == t->from && all[i]->to == t->to && all[i]->tag == t->tag &&
            strcmp(all[i]->grid_put, t->grid_put) == 0 &&
            strcmp(all[i]->grid_get, t->grid_get) == 0)
            return wio_cpl_fail(WAITIO_ERR_ARG,
                                "the table %d from grid '%s' to grid '%s' is defined a second "
                                "time; give it another tag, and mapping_tag in the configuration",
                                t->tag, t->grid_put, t->grid_get);
    return 0;
}

/* Where the entries of a table come from: the program, or one of the others. */
struct origin {
    const struct waitio_cpl_entries *mine; /* of the program */
    const char *file, *method;             /* else NULL */
};

const char *wio_cpl_table_name(const struct waitio_cpl *cpl, const struct wio_cpl_table *t)
{
    static _Thread_local char text[500];

    wio_cpl_text(text, sizeof text,
                 "table %d from grid '%.100s' of '%.100s' to grid '%.100s' of '%.100s'", t->tag,
                 t->grid_put, cpl->components[t->from].name, t->grid_get,
                 cpl->components[t->to].name);
    return text;
}

/* Both sides make the same table, from the same weights, for the same side to use. */
static int greet(struct waitio_cpl *cpl, const struct wio_cpl_table *t, const struct origin *from)
{
    static const char *const sides[] = {"",
                                        "",
                                        ", remapped by the sender",
                                        ", remapped by the sender, or by either",
                                        ", remapped by the receiver",
                                        ", remapped by the receiver, or by either",
                                        ", remapped by the sender and by the receiver",
                                        ", remapped by sender, receiver, and either"};
    const char *put = cpl->components[t->from].name, *get = cpl->components[t->to].name;
    const char *how = from->file != NULL ? from->file : from->method;
    size_t room = strlen(t->grid_put) + strlen(put) + strlen(t->grid_get) + strlen(get) +
                  (how != NULL ? strlen(how) : 0) + 200;
    char *call = wio_cpl_new(room, 1); /* all of it: the names may be of any length */
    int rc;

    if (call == NULL)
        return WAITIO_ERR_NOMEM;
    wio_cpl_text(
        call, room, "a table from grid '%s' of '%s' to grid '%s' of '%s' with tag %d%s%s%s%s",
        t->grid_put, put, t->grid_get, get, t->tag,
        from->file != NULL ? ", by the weight file '"
        : how != NULL      ? ", with weights made by '"
                           : "",
        how != NULL ? how : "", how != NULL ? "'" : "", sides[wio_cpl_sums_wanted(cpl, t) & 7]);
    rc = wio_cpl_greet(cpl, cpl->mine == t->from ? t->to : t->from, call);
    free(call);
    return rc;
}

int wio_cpl_table_limiter_fault(const struct waitio_cpl *cpl, const struct wio_cpl_table *t,
                                const struct wio_cpl_link *link)
{
    return wio_cpl_fail(
        WAITIO_ERR_CONFIG,
        "%s: its weights have a limiter, which the receiver applies, but '%s' shall "
        "be remapped by the sender (%s:%d); take out remap = 'send' (remap: sender)",
        wio_cpl_table_name(cpl, t), link->var_put, cpl->conf.file, link->line);
}

/* A limiter needs the sources where the receiver is. Both sides say the same. Links that name no
 * table may yet get one of their own: what they go by is known at the start. */
static int check_limiter(const struct waitio_cpl *cpl, const struct wio_cpl_table *t)
{
    for (size_t i = 0; t->limited && i < cpl->conf.links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(&cpl->conf, i);

        if (l->side == WIO_CPL_SIDE_SEND && between(cpl, t, l) && tag_of(l) == t->tag)
            return wio_cpl_table_limiter_fault(cpl, t, l);
    }
    return 0;
}

static int build(struct waitio_cpl *cpl, struct wio_cpl_table *t, const struct wio_cpl_team *team,
                 const struct origin *from)
{
    struct wio_cpl_weighed w = {.given = {.file = from->file}};
    bool given = from->mine != NULL || from->file != NULL || from->method != NULL;
    int rc;

    t->limited = from->method != NULL && wio_cpl_conf_is_limited(from->method);
    rc = check_limiter(cpl, t);
    if (rc != 0)
        return rc;
    if (from->mine != NULL)
        w.given.entries = *from->mine;
    else if (from->file != NULL)
        rc = wio_cpl_weigh_file(cpl, t, team, from->file, &w);
    else if (from->method != NULL)
        rc = wio_cpl_weigh_cells(cpl, t, team, from->method, &w);
    w.given.given = given;
    if (rc == 0)
        rc = wio_cpl_table_new(cpl, t, team, &w.given);
    if (rc == 0 && !t->limited)
        rc = wio_cpl_sums_make(cpl, t, team);
    wio_cpl_weighed_free(&w);
    return rc;
}

/* Both components make it. */
static int make(struct waitio_cpl *cpl, struct wio_cpl_table *t, const struct origin *from)
{
    struct wio_cpl_team team = {.n = 0};
    int rc = greet(cpl, t, from);

    if (rc == 0)
        rc = wio_cpl_team_pair(cpl, t->from, t->to, &team);
    if (rc == 0)
        rc = build(cpl, t, &team, from);
    if (rc != 0)
        return rc; /* messages of the team may be under way */
    wio_cpl_team_free(&team);
    return 0;
}

static const void *copied(const void *from, size_t bytes, bool *all)
{
    void *to = from == NULL ? NULL : wio_cpl_new(bytes, 1);

    if (to != NULL)
        memcpy(to, from, bytes);
    *all = *all && (from == NULL || to != NULL);
    return to;
}

/* For another component that may come back. */
static int keep_origin(const struct waitio_cpl *cpl, struct wio_cpl_table *t,
                       const struct origin *from)
{
    const struct waitio_cpl_entries *e = from->mine;
    struct wio_cpl_origin *o;
    bool all = true;

    if (!cpl->components[cpl->mine == t->from ? t->to : t->from].returns)
        return 0;
    o = t->origin = wio_cpl_new(1, sizeof *o);
    if (o == NULL)
        return WAITIO_ERR_NOMEM;
    o->given = e != NULL;
    if (e != NULL && e->n > 0) {
        o->entries.n = e->n;
        o->entries.send_index = copied(e->send_index, e->n * sizeof *e->send_index, &all);
        o->entries.recv_index = copied(e->recv_index, e->n * sizeof *e->recv_index, &all);
        o->entries.coef = copied(e->coef, e->n * sizeof *e->coef, &all);
        o->entries.cos = copied(e->cos, e->n * sizeof *e->cos, &all);
        o->entries.sin = copied(e->sin, e->n * sizeof *e->sin, &all);
    }
    o->file = from->file != NULL ? wio_cpl_copy(from->file) : NULL;
    o->method = from->method != NULL ? wio_cpl_copy(from->method) : NULL;
    return all && (o->file != NULL) == (from->file != NULL) &&
                   (o->method != NULL) == (from->method != NULL)
               ? 0
               : WAITIO_ERR_NOMEM;
}

static int make_again(struct waitio_cpl *cpl, const struct wio_cpl_table *t)
{
    const struct origin from = {t->origin->given ? &t->origin->entries : NULL, t->origin->file,
                                t->origin->method};
    struct wio_cpl_table *twin = wio_cpl_new(1, sizeof *twin);
    int rc;

    if (twin == NULL)
        return WAITIO_ERR_NOMEM;
    twin->tag = t->tag;
    twin->from = t->from;
    twin->to = t->to;
    twin->grid_put = wio_cpl_copy(t->grid_put);
    twin->grid_get = wio_cpl_copy(t->grid_get);
    rc = twin->grid_put == NULL || twin->grid_get == NULL ? WAITIO_ERR_NOMEM
                                                          : make(cpl, twin, &from);
    wio_cpl_table_free(twin);
    return rc;
}

/* In the order in which they were made: the newcomer makes them in this order, too. */
int wio_cpl_tables_again(struct waitio_cpl *cpl, int other)
{
    struct wio_cpl_table *const *all = cpl->tables.at;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < cpl->tables.n; i++)
        if (all[i]->from == other || all[i]->to == other)
            rc = make_again(cpl, all[i]);
    return rc;
}

static int add(struct waitio_cpl *cpl, struct wio_cpl_table *t, const struct origin *from)
{
    struct wio_cpl_table **place;
    int rc = check_table(cpl, t);

    if (rc == 0)
        rc = make(cpl, t, from);
    if (rc == 0)
        rc = keep_origin(cpl, t, from);
    if (rc != 0)
        return rc;
    if (cpl->logs.calls != NULL)
        wio_cpl_log(cpl, "%s: points sent: %zu, points received: %zu%s", wio_cpl_table_name(cpl, t),
                    t->points_sent, t->remap.rows,
                    t->sums_pay ? "; less travels when the sender remaps" : "");
    place = wio_cpl_push(&cpl->tables, sizeof *place);
    if (place == NULL)
        return WAITIO_ERR_NOMEM;
    *place = t;
    return 0;
}

const struct wio_cpl_link *wio_cpl_table_weights(const struct waitio_cpl *cpl,
                                                 const struct wio_cpl_table *t)
{
    for (size_t i = 0; i < cpl->conf.links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(&cpl->conf, i);

        if ((l->weight_file != NULL || l->weight_method != NULL) && between(cpl, t, l) &&
            tag_of(l) == t->tag)
            return l;
    }
    return NULL;
}

/* What the configuration says about a table that a program defines without entries. */
static int configured(const struct waitio_cpl *cpl, const struct wio_cpl_table *t,
                      struct origin *from)
{
    const struct wio_cpl_link *l = wio_cpl_table_weights(cpl, t);

    if (l == NULL)
        return 0;
    if (from->file != NULL || from->method != NULL || (from->mine != NULL && from->mine->n > 0))
        return wio_cpl_fail(WAITIO_ERR_CONFIG,
                            "%s: component '%s' gives it, but the configuration takes it from "
                            "%s '%s' (%s:%d): leave one of the two out",
                            wio_cpl_table_name(cpl, t), cpl->components[cpl->mine].name,
                            l->weight_file != NULL ? "the weight file" : "weights made by",
                            l->weight_file != NULL ? l->weight_file : l->weight_method,
                            cpl->conf.file, l->line);
    *from = (struct origin){NULL, l->weight_file, l->weight_method};
    return 0;
}

static int map_pair(struct waitio_cpl *cpl, struct wio_cpl_pair pair, const char *const grids[2],
                    int tag, struct origin from)
{
    struct wio_cpl_table *t = wio_cpl_new(1, sizeof *t);
    int rc;

    if (t == NULL)
        return WAITIO_ERR_NOMEM;
    t->tag = tag;
    t->from = pair.from;
    t->to = pair.to;
    t->grid_put = wio_cpl_copy(grids[0]);
    t->grid_get = wio_cpl_copy(grids[1]);
    rc = t->grid_put == NULL || t->grid_get == NULL ? WAITIO_ERR_NOMEM : configured(cpl, t, &from);
    if (rc == 0)
        rc = add(cpl, t, &from);
    if (rc != 0)
        wio_cpl_table_free(t);
    return rc;
}

/* Between ensembles there is a table for each two members that exchange something. */
static int map(struct waitio_cpl *cpl, const char *const names[4], int tag, struct origin from)
{
    const char *const grids[2] = {names[1], names[3]};
    struct wio_cpl_list pairs = {NULL, 0, 0};
    int rc;

    if (cpl->phase != WIO_CPL_MAPS)
        return wio_cpl_fail(WAITIO_ERR_STATE,
                            "component '%s' defines a table %s; tables come after the end of the "
                            "grids and before the start",
                            cpl->components[cpl->mine].name,
                            cpl->phase == WIO_CPL_DEFINES ? "before its grids have ended"
                                                          : "after the start");
    rc = wio_cpl_ensemble_pairs(cpl, names[0], names[2], &pairs);
    for (size_t i = 0; rc == 0 && i < pairs.n; i++)
        rc = map_pair(cpl, ((struct wio_cpl_pair *)pairs.at)[i], grids, tag, from);
    wio_cpl_list_free(&pairs);
    return rc;
}

int wio_cpl_tables_configured(struct waitio_cpl *cpl)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < cpl->conf.links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(&cpl->conf, i);
        const char *const names[4] = {l->comp_put, l->grid_put, l->comp_get, l->grid_get};
        int from = wio_cpl_component(cpl, l->comp_put), to = wio_cpl_component(cpl, l->comp_get);
        int tag = tag_of(l);

        if ((l->weight_file != NULL || l->weight_method != NULL) && from >= 0 && to >= 0 &&
            (from == cpl->mine || to == cpl->mine) && !exists(cpl, l, tag))
            rc = map(cpl, names, tag, (struct origin){NULL, NULL, NULL});
    }
    return rc;
}

/* ---- calls ---------------------------------------------------------------------------------- */

int waitio_cpl_map(waitio_cpl_t cpl, const char *send_component, const char *send_grid,
                   const char *recv_component, const char *recv_grid, int tag,
                   const struct waitio_cpl_entries *mine)
{
    const char *const names[4] = {send_component, send_grid, recv_component, recv_grid};
    int rc = wio_cpl_enter(cpl);

    if (rc == 0)
        rc = map(cpl, names, tag, (struct origin){mine, NULL, NULL});
    return wio_cpl_leave(cpl, rc);
}

int waitio_cpl_map_file(waitio_cpl_t cpl, const char *send_component, const char *send_grid,
                        const char *recv_component, const char *recv_grid, int tag,
                        const char *file)
{
    const char *const names[4] = {send_component, send_grid, recv_component, recv_grid};
    int rc = wio_cpl_enter(cpl);

    if (rc == 0 && (file == NULL || file[0] == '\0'))
        rc = wio_cpl_fail(WAITIO_ERR_ARG, "component '%s' gives no name of a weight file",
                          cpl->components[cpl->mine].name);
    if (rc == 0)
        rc = map(cpl, names, tag, (struct origin){NULL, file, NULL});
    return wio_cpl_leave(cpl, rc);
}

int waitio_cpl_map_cells(waitio_cpl_t cpl, const char *send_component, const char *send_grid,
                         const char *recv_component, const char *recv_grid, int tag,
                         const char *method)
{
    const char *const names[4] = {send_component, send_grid, recv_component, recv_grid};
    char why[512];
    int rc = wio_cpl_enter(cpl);

    if (rc == 0 && !wio_cpl_conf_is_method(method != NULL ? method : "", why, sizeof why))
        rc = wio_cpl_fail(WAITIO_ERR_ARG, "component '%s' asks for weights by '%.200s': %s",
                          cpl->components[cpl->mine].name, method != NULL ? method : "", why);
    if (rc == 0)
        rc = map(cpl, names, tag, (struct origin){NULL, NULL, method});
    return wio_cpl_leave(cpl, rc);
}

int waitio_cpl_map_points(waitio_cpl_t cpl, const char *send_component, const char *recv_component,
                          int tag, size_t *sends, size_t *receives)
{
    int from = wio_cpl_ensemble_find(cpl, send_component);
    int to = wio_cpl_ensemble_find(cpl, recv_component);
    struct wio_cpl_table *const *all = cpl->tables.at;

    *sends = *receives = 0;
    for (size_t i = 0; i < cpl->tables.n; i++)
        if (all[i]->tag == tag && all[i]->from == from && all[i]->to == to) {
            *sends = all[i]->points_sent;
            *receives = all[i]->remap.rows;
            return 0;
        }
    return 0;
}
