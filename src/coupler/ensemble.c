/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ensembles: several components of one name. Each member is a component of its own, NAME0000,
 * NAME0001, ...; a link of the configuration that names an ensemble becomes a link for each two
 * members that exchange. So members need nothing of each other, and may be in jobs of their own.
 */
#include "coupler/ensemble.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "coupler/cpl.h"
#include "coupler/message.h"

/* ---- members ------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const struct wio_cpl_component *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static int check_members(const struct wio_cpl_component *c, const int *members)
{
    int n = members[c->ranks[0]];

    if (n < 1)
        return wio_cpl_fail(WAITIO_ERR_ARG,
                            "ensemble '%s' with %d members; 1 means that there is none", c->name,
                            n);
    for (int i = 1; i < c->n; i++)
        if (members[c->ranks[i]] != n)
            return wio_cpl_fail(WAITIO_ERR_ARG,
                                "process 0 of ensemble '%s' says that it has %d members, process "
                                "%d that it has %d; all must say the same",
                                c->name, n, i, members[c->ranks[i]]);
    if (c->n % n != 0)
        return wio_cpl_fail(WAITIO_ERR_ARG,
                            "ensemble '%s' has %d members, but %d processes: start it with a "
                            "multiple of the number of members",
                            c->name, n, c->n);
    return 0;
}

static int make_member(struct wio_cpl_component *it, const struct wio_cpl_component *whole,
                       int member, int n)
{
    size_t room = strlen(whole->name) + 16;

    it->name = wio_cpl_new(room, 1);
    it->base = wio_cpl_copy(whole->name);
    it->n = whole->n / n;
    it->member = member;
    it->ranks = wio_cpl_new((size_t)it->n, sizeof *it->ranks);
    if (it->name == NULL || it->base == NULL || it->ranks == NULL)
        return WAITIO_ERR_NOMEM;
    wio_cpl_text(it->name, room, "%s%04d", whole->name, member);
    memcpy(it->ranks, whole->ranks + (ptrdiff_t)member * it->n, (size_t)it->n * sizeof *it->ranks);
    return 0;
}

static void take(struct waitio_cpl *cpl, struct wio_cpl_component *all, int n)
{
    for (int c = 0; c < cpl->n_components; c++) {
        free(cpl->components[c].name);
        free(cpl->components[c].ranks);
    }
    free(cpl->components);
    qsort(all, (size_t)n, sizeof *all, compare);
    cpl->components = all;
    cpl->n_components = n;
    for (int c = 0; c < n; c++)
        for (int i = 0; i < all[c].n; i++)
            cpl->component_of[all[c].ranks[i]] = c;
    cpl->mine = cpl->component_of[cpl->me];
}

int wio_cpl_ensemble_split(struct waitio_cpl *cpl, const int *members)
{
    struct wio_cpl_component *all;
    int n = 0, used = 0, rc = 0;

    for (int c = 0; rc == 0 && c < cpl->n_components; c++) {
        rc = check_members(&cpl->components[c], members);
        n += members[cpl->components[c].ranks[0]];
    }
    if (rc != 0 || n == cpl->n_components)
        return rc;
    all = wio_cpl_new((size_t)n, sizeof *all);
    if (all == NULL)
        return WAITIO_ERR_NOMEM;
    for (int c = 0; rc == 0 && c < cpl->n_components; c++) {
        int m = members[cpl->components[c].ranks[0]];

        for (int i = 0; rc == 0 && i < m; i++)
            rc = make_member(&all[used++], &cpl->components[c], i, m);
    }
    if (rc == 0)
        take(cpl, all, n);
    return rc;
}

/* The number in NAME0123; -1: it is no member of NAME. */
static int number_in(const char *name, const char *base)
{
    size_t n = strlen(base);

    if (strncmp(name, base, n) != 0 || strlen(name) != n + 4)
        return -1;
    for (const char *c = name + n; *c != '\0'; c++)
        if (!isdigit((unsigned char)*c))
            return -1;
    return (int)strtol(name + n, NULL, 10);
}

/* Components that are members by their names alone, of an ensemble that the configuration names. */
static int find_named(struct waitio_cpl *cpl)
{
    for (size_t i = 0; i < cpl->conf.parts.n; i++)
        for (int c = 0; c < cpl->n_components; c++) {
            const char *ensemble = wio_cpl_conf_part(&cpl->conf, i)->name;
            struct wio_cpl_component *it = &cpl->components[c];

            if (it->base != NULL || number_in(it->name, ensemble) < 0 ||
                (cpl->conf.yaml && wio_cpl_conf_find(&cpl->conf, it->name) != NULL))
                continue; /* in YAML all components are named, those of such names, too */
            it->member = number_in(it->name, ensemble);
            it->base = wio_cpl_copy(ensemble);
            if (it->base == NULL)
                return WAITIO_ERR_NOMEM;
        }
    return 0;
}

/* Is it the component of that name, or a member of the ensemble of that name? */
static bool named(const struct wio_cpl_component *c, const char *name)
{
    return strcmp(c->name, name) == 0 || (c->base != NULL && strcmp(c->base, name) == 0);
}

static int count(const struct waitio_cpl *cpl, const char *name)
{
    int n = 0;

    for (int c = 0; c < cpl->n_components; c++)
        n += named(&cpl->components[c], name);
    return n;
}

int wio_cpl_ensemble_processes(const struct waitio_cpl *cpl, const char *name)
{
    int n = 0;

    for (int c = 0; c < cpl->n_components; c++)
        n += named(&cpl->components[c], name) ? cpl->components[c].n : 0;
    return n;
}

const struct wio_cpl_part *wio_cpl_ensemble_part(const struct waitio_cpl *cpl, int component)
{
    const struct wio_cpl_component *c = &cpl->components[component];
    const struct wio_cpl_part *part = wio_cpl_conf_find(&cpl->conf, c->name);

    return part == NULL && c->base != NULL ? wio_cpl_conf_find(&cpl->conf, c->base) : part;
}

int waitio_cpl_members(waitio_cpl_t cpl, const char *ensemble, int *n, int *living)
{
    *n = *living = 0;
    for (int c = 0; c < cpl->n_components; c++)
        if (cpl->components[c].base != NULL && strcmp(cpl->components[c].base, ensemble) == 0) {
            ++*n;
            *living += !cpl->components[c].gone;
        }
    if (*n > 0)
        return 0;
    return wio_cpl_leave(
        cpl,
        wio_cpl_fail(WAITIO_ERR_ARG, "there is no ensemble '%s' among the components", ensemble));
}

int wio_cpl_ensemble_find(const struct waitio_cpl *cpl, const char *name)
{
    const struct wio_cpl_component *own = &cpl->components[cpl->mine];
    int first = -1;

    if (named(own, name))
        return cpl->mine;
    for (int c = 0; c < cpl->n_components; c++) {
        const struct wio_cpl_component *it = &cpl->components[c];

        if (!named(it, name))
            continue;
        if (own->base != NULL && it->member == own->member)
            return c;
        first = first < 0 ? c : first;
    }
    return first;
}

/* ---- links --------------------------------------------------------------------------------- */

static int unequal(const struct waitio_cpl *cpl, const struct wio_cpl_link *l, int puts, int gets)
{
    return wio_cpl_fail(WAITIO_ERR_CONFIG,
                        "%s:%d: '%s' goes from ensemble '%s' with %d members to ensemble '%s' with "
                        "%d: give both the same number, or say what each receiver makes of all "
                        "(ensemble = 'mean')",
                        cpl->conf.file, l->line, l->var_put, l->comp_put, puts, l->comp_get, gets);
}

/* Name of the i-th component of a name; the name itself when none runs. */
static const char *name_of(const struct waitio_cpl *cpl, const char *name, int i)
{
    for (int c = 0; c < cpl->n_components; c++)
        if (named(&cpl->components[c], name) && i-- == 0)
            return cpl->components[c].name;
    return name;
}

/* The link between two members. @param mean  where the link says nothing of a statistic */
static int add_link(const struct waitio_cpl *cpl, const struct wio_cpl_link *l, int put, int get,
                    bool mean, struct wio_cpl_list *links)
{
    int rc = wio_cpl_conf_copy_link(links, l, name_of(cpl, l->comp_put, put),
                                    name_of(cpl, l->comp_get, get));
    struct wio_cpl_link *it;

    if (rc != 0)
        return rc;
    it = (struct wio_cpl_link *)links->at + links->n - 1;
    if (mean && it->statistic.kind == WIO_CPL_STAT_NONE)
        it->statistic.kind = WIO_CPL_STAT_MEAN;
    return 0;
}

static int expand(const struct waitio_cpl *cpl, const struct wio_cpl_link *l,
                  struct wio_cpl_list *links)
{
    int puts = count(cpl, l->comp_put), gets = count(cpl, l->comp_get), rc = 0;
    bool all = l->statistic.kind != WIO_CPL_STAT_NONE || puts <= 1 || gets <= 1;
    bool mean = puts > 1 && gets <= 1;

    if (!all && puts != gets)
        return unequal(cpl, l, puts, gets);
    puts = puts > 0 ? puts : 1; /* who does not run keeps its link: its partner looks for it */
    gets = gets > 0 ? gets : 1;
    for (int p = 0; rc == 0 && p < puts; p++)
        for (int g = 0; rc == 0 && g < gets; g++)
            if (all || p == g)
                rc = add_link(cpl, l, p, g, mean, links);
    return rc;
}

int wio_cpl_ensemble_links(struct waitio_cpl *cpl)
{
    struct wio_cpl_list links = {NULL, 0, 0};
    int rc = find_named(cpl);
    bool any = false;

    for (int c = 0; c < cpl->n_components; c++)
        any |= cpl->components[c].base != NULL;
    for (size_t i = 0; i < cpl->conf.links.n; i++)
        any |= wio_cpl_conf_link(&cpl->conf, i)->statistic.kind != WIO_CPL_STAT_NONE;
    if (rc != 0 || !any)
        return rc;
    for (size_t i = 0; rc == 0 && i < cpl->conf.links.n; i++)
        rc = expand(cpl, wio_cpl_conf_link(&cpl->conf, i), &links);
    if (rc != 0) {
        wio_cpl_conf_free_links(&links);
        return rc;
    }
    wio_cpl_conf_free_links(&cpl->conf.links);
    cpl->conf.links = links;
    return 0;
}

/* ---- tables -------------------------------------------------------------------------------- */

static bool linked(const struct waitio_cpl *cpl, int from, int to)
{
    for (size_t i = 0; i < cpl->conf.links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(&cpl->conf, i);

        if (strcmp(l->comp_put, cpl->components[from].name) == 0 &&
            strcmp(l->comp_get, cpl->components[to].name) == 0)
            return true;
    }
    return false;
}

/* Have two ensembles any link? Without one a table is for members of one number. */
static bool pair_exists(const struct waitio_cpl *cpl, int from, int to, bool alone)
{
    return alone || linked(cpl, from, to) ||
           (cpl->components[from].member == cpl->components[to].member);
}

static int check_names(const struct waitio_cpl *cpl, const char *send, const char *receive)
{
    const struct wio_cpl_component *own = &cpl->components[cpl->mine];
    int puts = count(cpl, send), gets = count(cpl, receive);

    if (puts == 0 || gets == 0)
        return wio_cpl_fail(WAITIO_ERR_ARG,
                            "a table goes from component '%s' to component '%s', but '%s' does not "
                            "run",
                            send, receive, puts == 0 ? send : receive);
    if (named(own, send) == named(own, receive))
        return wio_cpl_fail(WAITIO_ERR_ARG,
                            "component '%s' defines a table from component '%s' to component '%s'; "
                            "a table goes from or to the own component",
                            own->name, send, receive);
    return 0;
}

int wio_cpl_ensemble_pairs(const struct waitio_cpl *cpl, const char *send, const char *receive,
                           struct wio_cpl_list *pairs)
{
    bool alone;
    int rc = check_names(cpl, send, receive);

    if (rc != 0)
        return rc;
    alone = count(cpl, send) == 1 || count(cpl, receive) == 1;
    for (int from = 0; from < cpl->n_components; from++)
        for (int to = 0; to < cpl->n_components; to++) {
            struct wio_cpl_pair *pair;

            if (!named(&cpl->components[from], send) || !named(&cpl->components[to], receive) ||
                (from != cpl->mine && to != cpl->mine) || !pair_exists(cpl, from, to, alone))
                continue;
            pair = wio_cpl_push(pairs, sizeof *pair);
            if (pair == NULL)
                return WAITIO_ERR_NOMEM;
            *pair = (struct wio_cpl_pair){from, to};
        }
    return 0;
}

/* ---- what a receiver gets ------------------------------------------------------------------- */

/* The statistic over the members that have sent. @param[out] data of the grid's points */
static int compute(const struct waitio_cpl *cpl, const struct wio_cpl_var *of, double *data)
{
    struct wio_cpl_var *const *vars = cpl->vars.at;
    const double **members = wio_cpl_new(cpl->vars.n, sizeof *members);
    size_t found = 0, n = of->grid->n * (size_t)of->link->layers;
    int rc = members == NULL ? WAITIO_ERR_NOMEM : 0;

    for (size_t i = 0; rc == 0 && i < cpl->vars.n; i++) {
        const struct wio_cpl_var *v = vars[i];

        if (!v->bundle->sends && strcmp(v->name, of->name) == 0 &&
            !cpl->components[v->bundle->table->from].agreed)
            members[found++] = v->data;
    }
    if (rc == 0 && found == 0)
        rc =
            wio_cpl_fail(WAITIO_ERR_PEER,
                         "component '%s' gets '%s' (%s:%d), but all members that put it have "
                         "failed or left",
                         cpl->components[cpl->mine].name, of->name, cpl->conf.file, of->link->line);
    if (rc == 0)
        rc = wio_cpl_statistic_fields(&of->link->statistic, of->fill, members, found, data, n);
    if (rc == 0)
        (void)wio_cpl_round(of->link->type, of->fill, data, n);
    free(members);
    return rc;
}

int wio_cpl_ensemble_give(struct waitio_cpl *cpl, const struct wio_cpl_var *v,
                          struct waitio_cpl_field *field)
{
    struct wio_cpl_var made = *v;
    int rc;

    made.data = wio_cpl_new(v->grid->n * (size_t)v->link->layers, sizeof *made.data);
    if (made.data == NULL)
        return WAITIO_ERR_NOMEM;
    rc = compute(cpl, v, made.data);
    if (rc == 0)
        rc = wio_cpl_field_give(cpl, &made, field);
    free(made.data);
    return rc;
}
