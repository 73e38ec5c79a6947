/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors whose two components are variables of their own: who belongs to whom, and do they agree
 * in all that makes them travel, and be turned, together? */
#include <stdlib.h>
#include <string.h>

#include "coupler/conf.h"
#include "waitio_errors.h"

static bool between_the_same(const struct wio_cpl_link *a, const struct wio_cpl_link *b)
{
    return strcmp(a->comp_put, b->comp_put) == 0 && strcmp(a->comp_get, b->comp_get) == 0;
}

/* The second component that a link names. @return NULL: there is none of that name */
static const struct wio_cpl_link *named(const struct wio_cpl_conf *conf,
                                        const struct wio_cpl_link *first)
{
    for (size_t i = 0; i < conf->links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(conf, i);

        if (between_the_same(l, first) && strcmp(l->var_get, first->vector_with) == 0)
            return l;
    }
    return NULL;
}

const struct wio_cpl_link *wio_cpl_conf_partner(const struct wio_cpl_conf *conf,
                                                const struct wio_cpl_link *link, bool *second)
{
    *second = false;
    if (link->vector_with != NULL)
        return named(conf, link);
    for (size_t i = 0; i < conf->links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(conf, i);

        if (l->vector_with == NULL || !between_the_same(l, link) ||
            strcmp(l->vector_with, link->var_get) != 0)
            continue;
        *second = true;
        return l;
    }
    return NULL;
}

static bool same_reduction(const struct wio_cpl_link *a, const struct wio_cpl_link *b)
{
    return a->reduce == b->reduce && a->statistic.kind == b->statistic.kind &&
           a->statistic.quantile == b->statistic.quantile;
}

static int tag_of(const struct wio_cpl_link *l)
{
    return l->mapping_tag != 0 ? l->mapping_tag : 1;
}

/* In what two components differ. @return NULL: in nothing */
static const char *difference(const struct wio_cpl_link *a, const struct wio_cpl_link *b)
{
    const struct {
        bool same;
        const char *what;
    } rows[] = {
        {strcmp(a->grid_put, b->grid_put) == 0 && strcmp(a->grid_get, b->grid_get) == 0, "grids"},
        {tag_of(a) == tag_of(b), "tables"},
        {a->layers == b->layers, "layers"},
        {a->interval == b->interval, "intervals"},
        {wio_cpl_link_now(a) == wio_cpl_link_now(b) &&
             wio_cpl_link_shift(a) == wio_cpl_link_shift(b),
         "lags"},
        {a->type == b->type, "types"},
        {same_reduction(a, b), "reductions"},
        {a->masked == b->masked, "ways to treat masked sources"},
        {wio_cpl_link_fill(a) == wio_cpl_link_fill(b), "fill values"},
        {a->side == b->side, "sides that remap"},
        {wio_cpl_same(a->bundle, b->bundle), "bundles"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (!rows[i].same)
            return rows[i].what;
    return NULL;
}

static int no_partner(struct wio_cpl_conf *conf, const struct wio_cpl_link *l)
{
    const char **names = wio_cpl_new(conf->links.n, sizeof *names);
    char near[96];
    size_t n = 0;
    int rc;

    if (names == NULL)
        return WAITIO_ERR_NOMEM;
    for (size_t i = 0; i < conf->links.n; i++)
        if (between_the_same(wio_cpl_conf_link(conf, i), l) && wio_cpl_conf_link(conf, i) != l)
            names[n++] = wio_cpl_conf_link(conf, i)->var_get;
    rc = wio_cpl_conf_fault(
        conf, l->line, 0,
        "'%s' is the first component of a vector whose second is '%s' (vector_with), but component "
        "'%s' gets nothing of that name from component '%s'%s",
        l->var_get, l->vector_with, l->comp_get, l->comp_put,
        wio_cpl_near(l->vector_with, names, n, near));
    free(names);
    return rc;
}

/* Is the second component one already? */
static const struct wio_cpl_link *rival(const struct wio_cpl_conf *conf,
                                        const struct wio_cpl_link *first)
{
    for (size_t i = 0; wio_cpl_conf_link(conf, i) != first; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(conf, i);

        if (wio_cpl_same(l->vector_with, first->vector_with) && between_the_same(l, first))
            return l;
    }
    return NULL;
}

/* What is wrong with the roles of two links. @return NULL: nothing */
static const char *wrong_roles(const struct wio_cpl_link *a, const struct wio_cpl_link *b)
{
    if (a == b)
        return "a variable is no vector with itself";
    if (b->vector_with != NULL)
        return "only the first component names the other one";
    if (a->tag > WIO_CPL_VECTOR_TAG || b->tag > WIO_CPL_VECTOR_TAG)
        return "one of them has both components in its layers (vector in YAML, grid_intpl_tag "
               "above "
               "10000) already";
    if (wio_cpl_link_now(a) && a->bundle == NULL)
        return "with lag 0 they go in one message only if both have the same bundle";
    return NULL;
}

static int check_vector(struct wio_cpl_conf *conf, const struct wio_cpl_link *a)
{
    const struct wio_cpl_link *b = named(conf, a), *other = rival(conf, a);
    const char *what;

    if (b == NULL)
        return no_partner(conf, a);
    if (other != NULL)
        return wio_cpl_conf_fault(conf, a->line, 0,
                                  "'%s' is the second component of '%s' (vector_with), but in line "
                                  "%d of '%s', too; receive it under two names",
                                  a->vector_with, a->var_get, other->line, other->var_get);
    what = wrong_roles(a, b);
    if (what != NULL)
        return wio_cpl_conf_fault(
            conf, a->line, 0,
            "'%s' and '%s' shall be the components of a vector (vector_with), "
            "but %s",
            a->var_get, b->var_get, what);
    what = difference(a, b);
    if (what == NULL)
        return 0;
    return wio_cpl_conf_fault(conf, a->line, 0,
                              "'%s' and '%s' (line %d) are the components of a vector "
                              "(vector_with), but their %s differ; make them equal",
                              a->var_get, b->var_get, b->line, what);
}

int wio_cpl_conf_check_vectors(struct wio_cpl_conf *conf)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && !conf->broken && i < conf->links.n; i++)
        if (wio_cpl_conf_link(conf, i)->vector_with != NULL)
            rc = check_vector(conf, wio_cpl_conf_link(conf, i));
    return rc;
}
