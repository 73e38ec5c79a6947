/* SPDX-License-Identifier: BSD-3-Clause */
/* The model of a configuration: memory, fingerprint, and checks that need no programs. */
#include "coupler/conf.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coupler/weights/options.h"
#include "waitio_errors.h"

struct wio_cpl_link *wio_cpl_conf_link(const struct wio_cpl_conf *conf, size_t i)
{
    return (struct wio_cpl_link *)conf->links.at + i;
}

struct wio_cpl_part *wio_cpl_conf_part(const struct wio_cpl_conf *conf, size_t i)
{
    return (struct wio_cpl_part *)conf->parts.at + i;
}

struct wio_cpl_part *wio_cpl_conf_find(const struct wio_cpl_conf *conf, const char *name)
{
    for (size_t i = 0; i < conf->parts.n; i++)
        if (strcmp(wio_cpl_conf_part(conf, i)->name, name) == 0)
            return wio_cpl_conf_part(conf, i);
    return NULL;
}

static int add_text(struct wio_cpl_list *list, const char *text)
{
    char **place;

    for (size_t i = 0; i < list->n; i++)
        if (strcmp(((char **)list->at)[i], text) == 0)
            return 0;
    place = wio_cpl_push(list, sizeof *place);
    if (place == NULL)
        return WAITIO_ERR_NOMEM;
    *place = wio_cpl_copy(text);
    if (*place != NULL)
        return 0;
    list->n--;
    return WAITIO_ERR_NOMEM;
}

int wio_cpl_conf_tell(struct wio_cpl_conf *conf, const char *component, const char *grid)
{
    struct wio_cpl_part *part = wio_cpl_conf_find(conf, component);

    if (part == NULL) {
        part = wio_cpl_push(&conf->parts, sizeof *part);
        if (part == NULL)
            return WAITIO_ERR_NOMEM;
        part->name = wio_cpl_copy(component);
        if (part->name == NULL) {
            conf->parts.n--;
            return WAITIO_ERR_NOMEM;
        }
    }
    part->has_grids = true;
    return add_text(&part->grids, grid);
}

static void free_texts(struct wio_cpl_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(((char **)list->at)[i]);
    wio_cpl_list_free(list);
}

static void free_parts_and_faults(struct wio_cpl_conf *conf)
{
    struct wio_cpl_fault *faults = conf->faults.at;

    for (size_t i = 0; i < conf->parts.n; i++) {
        struct wio_cpl_part *p = wio_cpl_conf_part(conf, i);

        free(p->name);
        free_texts(&p->grids);
        free_texts(&p->puts);
        free_texts(&p->gets);
    }
    for (size_t i = 0; i < conf->faults.n; i++)
        free(faults[i].text);
    wio_cpl_list_free(&conf->parts);
    wio_cpl_list_free(&conf->faults);
}

bool wio_cpl_link_now(const struct wio_cpl_link *link)
{
    return link->lag == WIO_CPL_LAG_NOW && !link->has_shift;
}

int64_t wio_cpl_link_shift(const struct wio_cpl_link *link)
{
    if (link->has_shift)
        return link->shift;
    return (link->lag < 0 ? link->lag + 1 : link->lag) * link->interval;
}

double wio_cpl_link_fill(const struct wio_cpl_link *link)
{
    return link->has_fill ? link->fill : WIO_CPL_FILL;
}

void wio_cpl_conf_free_links(struct wio_cpl_list *links)
{
    struct wio_cpl_link *l = links->at;

    for (size_t i = 0; i < links->n; i++, l++) {
        free(l->comp_put);
        free(l->comp_get);
        free(l->grid_put);
        free(l->grid_get);
        free(l->var_put);
        free(l->var_get);
        free(l->weight_file);
        free(l->weight_method);
        free(l->bundle);
        free(l->vector_with);
    }
    wio_cpl_list_free(links);
}

/* @return false without memory */
static bool copy_text(char **to, const char *from)
{
    *to = from != NULL ? wio_cpl_copy(from) : NULL;
    return from == NULL || *to != NULL;
}

int wio_cpl_conf_copy_link(struct wio_cpl_list *links, const struct wio_cpl_link *model,
                           const char *comp_put, const char *comp_get)
{
    struct wio_cpl_link *l = wio_cpl_push(links, sizeof *l);
    bool enough;

    if (l == NULL)
        return WAITIO_ERR_NOMEM;
    *l = *model;
    enough = copy_text(&l->comp_put, comp_put);
    enough &= copy_text(&l->comp_get, comp_get);
    enough &= copy_text(&l->grid_put, model->grid_put);
    enough &= copy_text(&l->grid_get, model->grid_get);
    enough &= copy_text(&l->var_put, model->var_put);
    enough &= copy_text(&l->var_get, model->var_get);
    enough &= copy_text(&l->weight_file, model->weight_file);
    enough &= copy_text(&l->weight_method, model->weight_method);
    enough &= copy_text(&l->bundle, model->bundle);
    enough &= copy_text(&l->vector_with, model->vector_with);
    return enough ? 0 : WAITIO_ERR_NOMEM;
}

void wio_cpl_conf_free(struct wio_cpl_conf *conf)
{
    free_parts_and_faults(conf);
    free(conf->restart.file);
    conf->restart.file = NULL;
    free(conf->report);
    conf->report = NULL;
    wio_cpl_conf_free_links(&conf->links);
    free(conf->file);
    conf->file = NULL;
}

uint64_t wio_cpl_conf_hash(const struct wio_cpl_conf *conf, const char *comp_put,
                           const char *comp_get)
{
    uint64_t h = 0;

    for (size_t i = 0; i < conf->links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(conf, i);
        char numbers[320];

        if (strcmp(l->comp_put, comp_put) != 0 || strcmp(l->comp_get, comp_get) != 0)
            continue;
        wio_cpl_text(numbers, sizeof numbers,
                     "|%lld %d %lld %d %d %d %d %d %.17g %d %d %d %d %g|%.60s|",
                     (long long)l->interval, wio_cpl_link_now(l), (long long)wio_cpl_link_shift(l),
                     l->reduce, l->type, l->masked, l->side, l->has_fill, wio_cpl_link_fill(l),
                     l->layers, l->tag, l->mapping_tag, l->statistic.kind, l->statistic.quantile,
                     l->bundle != NULL ? l->bundle : "");
        h = wio_cpl_hash(wio_cpl_hash(h, l->grid_put), l->grid_get);
        h = wio_cpl_hash(wio_cpl_hash(h, l->var_put), l->var_get);
        h = wio_cpl_hash(h, numbers);
        h = wio_cpl_hash(h, l->weight_file != NULL ? l->weight_file : "");
        h = wio_cpl_hash(h, l->weight_method != NULL ? l->weight_method : "");
        if (l->vector_with != NULL)
            h = wio_cpl_hash(wio_cpl_hash(h, "vector"), l->vector_with);
    }
    return h;
}

bool wio_cpl_conf_is_method(const char *text, char *why, size_t room)
{
    struct wio_weights_options options;
    struct wio_weights_error error;

    if (wio_weights_read_text(text, &options, &error) == 0)
        return true;
    wio_cpl_text(why, room, "%s", error.text);
    return false;
}

bool wio_cpl_conf_is_limited(const char *method)
{
    struct wio_weights_options options;
    struct wio_weights_error error;

    return wio_weights_read_text(method, &options, &error) == 0 &&
           options.limiter != WIO_LIMITER_NONE;
}

/* Two links that travel by one table name one origin of it. */
static int check_weights(struct wio_cpl_conf *conf, const struct wio_cpl_link *a,
                         const struct wio_cpl_link *b)
{
    if (strcmp(a->comp_put, b->comp_put) != 0 || strcmp(a->comp_get, b->comp_get) != 0 ||
        strcmp(a->grid_put, b->grid_put) != 0 || strcmp(a->grid_get, b->grid_get) != 0 ||
        (a->mapping_tag > 0 ? a->mapping_tag : 1) != (b->mapping_tag > 0 ? b->mapping_tag : 1) ||
        (wio_cpl_same(a->weight_file, b->weight_file) &&
         wio_cpl_same(a->weight_method, b->weight_method)))
        return 0;
    return wio_cpl_conf_fault(conf, b->line, 0,
                              "the table from grid '%s' to grid '%s' has other weights here than "
                              "in line %d; give one of the two another mapping_tag (table in YAML)",
                              b->grid_put, b->grid_get, a->line);
}

/* Two links may not bring one name to one component; and a put has one shape. */
static int check_two(struct wio_cpl_conf *conf, const struct wio_cpl_link *a,
                     const struct wio_cpl_link *b)
{
    if (strcmp(a->comp_get, b->comp_get) == 0 && strcmp(a->var_get, b->var_get) == 0)
        return wio_cpl_conf_fault(conf, b->line, 0,
                                  "component '%s' receives '%s' a second time, as in line %d; a "
                                  "received name is one variable: give another %s",
                                  b->comp_get, b->var_get, a->line,
                                  conf->yaml ? "name to it where it is got (to)" : "var_get");
    if (strcmp(a->comp_put, b->comp_put) != 0 || strcmp(a->var_put, b->var_put) != 0)
        return 0;
    if (a->layers != b->layers)
        return wio_cpl_conf_fault(conf, b->line, 0,
                                  "'%s' of component '%s' has %d layers here and %d in line %d; "
                                  "make them equal",
                                  b->var_put, b->comp_put, b->layers, a->layers, a->line);
    if (a->type != b->type && (a->type == WIO_CPL_INT || b->type == WIO_CPL_INT))
        return wio_cpl_conf_fault(conf, b->line, 0,
                                  "'%s' of component '%s' is of whole numbers either here or in "
                                  "line %d, but not in both",
                                  b->var_put, b->comp_put, a->line);
    if (strcmp(a->grid_put, b->grid_put) != 0)
        return wio_cpl_conf_fault(conf, b->line, 0,
                                  "'%s' of component '%s' is on grid '%s' here and on '%s' in line "
                                  "%d; put it under two names",
                                  b->var_put, b->comp_put, b->grid_put, a->grid_put, a->line);
    return 0;
}

/* What a type can hold, and what goes at once. */
static int check_one(struct wio_cpl_conf *conf, const struct wio_cpl_link *l)
{
    double fill = wio_cpl_link_fill(l);

    if (wio_cpl_link_now(l) && l->reduce != WIO_CPL_LAST)
        return wio_cpl_conf_fault(conf, l->line, 0,
                                  "'%s' is sent at once (lag 0), so that there are no several puts "
                                  "to make one of; take the last (flag = 'SNP')",
                                  l->var_put);
    if (l->side == WIO_CPL_SIDE_SEND && l->weight_method != NULL &&
        wio_cpl_conf_is_limited(l->weight_method))
        return wio_cpl_conf_fault(conf, l->line, 0,
                                  "'%s' shall be remapped by the sender, but the limiter of "
                                  "weight_method '%.100s' needs all sources: the receiver remaps",
                                  l->var_put, l->weight_method);
    if (l->bundle != NULL && !wio_cpl_link_now(l))
        return wio_cpl_conf_fault(conf, l->line, 0,
                                  "'%s' is in the bundle '%s', but only variables with lag 0 need "
                                  "one; others of one interval and lag always travel together",
                                  l->var_put, l->bundle);
    if ((l->type == WIO_CPL_INT && !(fill >= INT_MIN && fill <= INT_MAX && fill == floor(fill))) ||
        (l->type == WIO_CPL_REAL4 && !(fabs(fill) <= (double)FLT_MAX)))
        return wio_cpl_conf_fault(conf, l->line, 0,
                                  "'%s' has the fill value %g, which is none of its type",
                                  l->var_put, fill);
    return 0;
}

int wio_cpl_conf_check(struct wio_cpl_conf *conf)
{
    int rc = 0;

    for (size_t b = 0; rc == 0 && b < conf->links.n; b++)
        rc = check_one(conf, wio_cpl_conf_link(conf, b));
    for (size_t b = 0; rc == 0 && b < conf->links.n; b++)
        for (size_t a = 0; rc == 0 && a < b; a++)
            rc = check_two(conf, wio_cpl_conf_link(conf, a), wio_cpl_conf_link(conf, b));
    for (size_t b = 0; rc == 0 && b < conf->links.n; b++)
        for (size_t a = 0; rc == 0 && a < b; a++)
            rc = check_weights(conf, wio_cpl_conf_link(conf, a), wio_cpl_conf_link(conf, b));
    if (rc == 0)
        rc = wio_cpl_conf_check_vectors(conf);
    if (rc == 0)
        rc = wio_cpl_conf_check_parts(conf);
    if (rc == 0)
        rc = wio_cpl_conf_deadlock(conf);
    return rc == 0 ? wio_cpl_conf_verdict(conf) : rc;
}
