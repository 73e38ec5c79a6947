/* SPDX-License-Identifier: BSD-3-Clause */
/* Do the couplings fit what the file says of the components? A namelist says nothing of them. */
#include <stdlib.h>
#include <string.h>

#include "coupler/conf.h"
#include "waitio_errors.h"

static bool has(const struct wio_cpl_list *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(((char **)names->at)[i], name) == 0)
            return true;
    return false;
}

/* One end of a link. */
struct end {
    const struct wio_cpl_link *link;
    const struct wio_cpl_part *part;
    const char *component, *grid, *field;
    bool gets;
};

static int check_grid(struct wio_cpl_conf *conf, const struct end *e)
{
    char near[96];

    if (!e->part->has_grids || has(&e->part->grids, e->grid))
        return 0;
    return wio_cpl_conf_fault(
        conf, e->link->line, 0, "component '%s' has no grid '%s' in components (line %d)%s",
        e->component, e->grid, e->part->line,
        wio_cpl_near(e->grid, (const char *const *)e->part->grids.at, e->part->grids.n, near));
}

static int check_field(struct wio_cpl_conf *conf, const struct end *e)
{
    const struct wio_cpl_list *fields = e->gets ? &e->part->gets : &e->part->puts;
    char near[96];

    if (!(e->gets ? e->part->has_gets : e->part->has_puts) || has(fields, e->field))
        return 0;
    return wio_cpl_conf_fault(
        conf, e->link->line, 0, "component '%s' %s no '%s', as components says (line %d)%s",
        e->component, e->gets ? "gets" : "puts", e->field, e->part->line,
        wio_cpl_near(e->field, (const char *const *)fields->at, fields->n, near));
}

static int check_step(struct wio_cpl_conf *conf, const struct end *e)
{
    int64_t step = e->part->step, interval = e->link->interval;

    if (step == 0 || wio_cpl_link_now(e->link) || interval % step == 0)
        return 0;
    return wio_cpl_conf_fault(conf, e->link->line, 0,
                              "the interval of '%s', %lld s, is no multiple of the step of "
                              "component '%s', %lld s (line %d)",
                              e->field, (long long)interval, e->component, (long long)step,
                              e->part->line);
}

static int check_end(struct wio_cpl_conf *conf, const struct wio_cpl_link *l, bool gets)
{
    struct end e = {l, NULL, l->comp_put, l->grid_put, l->var_put, gets};
    int rc;

    if (gets)
        e = (struct end){l, NULL, l->comp_get, l->grid_get, l->var_get, gets};
    e.part = wio_cpl_conf_find(conf, e.component);
    if (e.part == NULL)
        return 0; /* said once, by check_component() */
    rc = check_grid(conf, &e);
    if (rc == 0)
        rc = check_field(conf, &e);
    return rc == 0 ? check_step(conf, &e) : rc;
}

/* Is this the first link with that component? */
static bool is_first(const struct wio_cpl_conf *conf, size_t at, const char *component)
{
    for (size_t i = 0; i < at; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(conf, i);

        if (strcmp(l->comp_put, component) == 0 || strcmp(l->comp_get, component) == 0)
            return false;
    }
    return true;
}

static int check_component(struct wio_cpl_conf *conf, size_t at, const char *component)
{
    const char **names;
    char near[96];
    int rc;

    if (wio_cpl_conf_find(conf, component) != NULL || !is_first(conf, at, component))
        return 0;
    names = wio_cpl_new(conf->parts.n, sizeof *names);
    if (names == NULL)
        return WAITIO_ERR_NOMEM;
    for (size_t i = 0; i < conf->parts.n; i++)
        names[i] = wio_cpl_conf_part(conf, i)->name;
    rc = wio_cpl_conf_fault(conf, wio_cpl_conf_link(conf, at)->line, 0,
                            "component '%s' is not one of components%s", component,
                            wio_cpl_near(component, names, conf->parts.n, near));
    free(names);
    return rc;
}

/* What a component needs must come from somewhere. */
static int check_gets(struct wio_cpl_conf *conf, const struct wio_cpl_part *part)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < part->gets.n; i++) {
        const char *field = ((char **)part->gets.at)[i];
        size_t k = 0;

        while (k < conf->links.n &&
               (strcmp(wio_cpl_conf_link(conf, k)->comp_get, part->name) != 0 ||
                strcmp(wio_cpl_conf_link(conf, k)->var_get, field) != 0))
            k++;
        if (k == conf->links.n)
            rc = wio_cpl_conf_fault(conf, part->line, 0,
                                    "component '%s' gets '%s', but no coupling brings it",
                                    part->name, field);
    }
    return rc;
}

/* What cannot be made good when a component comes back. */
static int check_link(struct wio_cpl_conf *conf, const struct wio_cpl_link *l,
                      const struct wio_cpl_part *part)
{
    if (l->statistic.kind != WIO_CPL_STAT_NONE)
        return wio_cpl_conf_fault(
            conf, l->line, 0,
            "'%s' is of an ensemble, but component '%s' has rejoin: yes (line "
            "%d), which is for runs without ensembles",
            l->var_put, part->name, part->line);
    if (!wio_cpl_link_now(l) ||
        (strcmp(l->comp_put, part->name) != 0 && strcmp(l->comp_get, part->name) != 0))
        return 0;
    return wio_cpl_conf_fault(conf, l->line, 0,
                              "'%s' has lag 0, but component '%s' has rejoin: yes (line %d); what "
                              "is put at once has no time by which it is found again: give it "
                              "another lag",
                              l->var_put, part->name, part->line);
}

/* What a component that comes back needs of the file. */
static int check_rejoin(struct wio_cpl_conf *conf, const struct wio_cpl_part *part)
{
    int rc = 0;

    if (conf->restart.interval == 0)
        rc = wio_cpl_conf_fault(conf, part->line, 0,
                                "component '%s' has rejoin: yes, but there is no restart with an "
                                "interval: it would have no file to come back from",
                                part->name);
    for (size_t i = 0; rc == 0 && i < conf->parts.n; i++)
        if (wio_cpl_conf_part(conf, i)->may_fail)
            rc = wio_cpl_conf_fault(conf, part->line, 0,
                                    "component '%s' has rejoin: yes, and '%s' on_failure: go on; a "
                                    "run has one of the two",
                                    part->name, wio_cpl_conf_part(conf, i)->name);
    for (size_t i = 0; rc == 0 && i < conf->links.n; i++)
        rc = check_link(conf, wio_cpl_conf_link(conf, i), part);
    return rc;
}

/* Components write at one time. */
static int check_restart(struct wio_cpl_conf *conf, const struct wio_cpl_part *part)
{
    int64_t interval = conf->restart.interval;

    if (part->step == 0 || interval % part->step == 0)
        return 0;
    return wio_cpl_conf_fault(conf, part->line, 0,
                              "the interval of restart, %lld s, is no multiple of the step of "
                              "component '%s', %lld s",
                              (long long)interval, part->name, (long long)part->step);
}

/* What becomes of a component after a death. */
static int check_lives(struct wio_cpl_conf *conf, const struct wio_cpl_part *part)
{
    int rc = part->rejoin ? check_rejoin(conf, part) : 0;

    return rc == 0 ? check_restart(conf, part) : rc;
}

int wio_cpl_conf_check_parts(struct wio_cpl_conf *conf)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < conf->parts.n; i++)
        rc = check_lives(conf, wio_cpl_conf_part(conf, i));
    if (rc != 0 || !conf->yaml || conf->parts.n == 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < conf->links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(conf, i);

        rc = check_component(conf, i, l->comp_put);
        if (rc == 0)
            rc = check_component(conf, i, l->comp_get);
        if (rc == 0)
            rc = check_end(conf, l, false);
        if (rc == 0)
            rc = check_end(conf, l, true);
    }
    for (size_t i = 0; rc == 0 && !conf->broken && i < conf->parts.n; i++)
        rc = check_gets(conf, wio_cpl_conf_part(conf, i));
    return rc;
}
