/* SPDX-License-Identifier: BSD-3-Clause */
/* The run: start, steps, puts and gets. */
#include <stdlib.h>
#include <string.h>

#include "coupler/cpl.h"

static struct wio_cpl_bundle *bundle_at(const struct waitio_cpl *cpl, size_t i)
{
    return ((struct wio_cpl_bundle **)cpl->bundles.at)[i];
}

static struct wio_cpl_var *var_at(const struct waitio_cpl *cpl, size_t i)
{
    return ((struct wio_cpl_var **)cpl->vars.at)[i];
}

static const char *own_name(const struct waitio_cpl *cpl)
{
    return cpl->components[cpl->mine].name;
}

/* ---- start --------------------------------------------------------------------------------- */

/* The fingerprint of what is between them. */
uint64_t wio_cpl_start_text(const struct waitio_cpl *cpl, int other, int64_t resumed,
                            char text[200])
{
    int low = other < cpl->mine ? other : cpl->mine, high = other < cpl->mine ? cpl->mine : other;
    const char *a = cpl->components[low].name, *b = cpl->components[high].name;
    uint64_t there = wio_cpl_conf_hash(&cpl->conf, a, b),
             back = wio_cpl_conf_hash(&cpl->conf, b, a);

    wio_cpl_text(text, 200, "the start, with a configuration of fingerprint %016llx-%016llx",
                 (unsigned long long)there, (unsigned long long)back);
    if (resumed >= 0) /* all go on at one time */
        wio_cpl_text(text + strlen(text), 200 - strlen(text), ", at %lld s of a restart",
                     (long long)resumed);
    return there | back;
}

static int start(struct waitio_cpl *cpl)
{
    char text[200];
    int rc;

    if (cpl->phase != WIO_CPL_MAPS)
        return wio_cpl_fail(WAITIO_ERR_STATE, "component '%s' starts %s", own_name(cpl),
                            cpl->phase == WIO_CPL_RUNS ? "a second time"
                                                       : "before its grids have ended");
    rc = wio_cpl_tables_configured(cpl);
    if (rc == 0)
        rc = wio_cpl_bundles_make(cpl);
    if (rc == 0)
        rc = wio_cpl_restart_begin(cpl);
    for (int c = 0; rc == 0 && c < cpl->n_components; c++)
        if (c != cpl->mine) {
            (void)wio_cpl_start_text(cpl, c, cpl->resumed, text);
            rc = wio_cpl_greet_only(cpl, c, text);
        }
    if (rc == 0) {
        cpl->phase = WIO_CPL_RUNS;
        wio_cpl_sight_start(cpl);
        rc = wio_cpl_back_arrive(cpl);
    }
    if (rc == 0) {
        rc = wio_cpl_restart_resend(cpl);
    }
    return rc;
}

int waitio_cpl_start(waitio_cpl_t cpl)
{
    int rc = wio_cpl_enter(cpl);

    if (rc == 0) {
        wio_cpl_stop(cpl, 7, "before its start");
        rc = start(cpl);
    }
    if (rc == 0)
        wio_cpl_stop(cpl, 8, "after its start");
    return wio_cpl_leave(cpl, rc);
}

int wio_cpl_hear_starts(struct waitio_cpl *cpl)
{
    char text[200];
    int rc = 0;

    for (int c = 0; rc == 0 && c < cpl->n_components; c++)
        if (c != cpl->mine && !cpl->greeted[c] &&
            wio_cpl_start_text(cpl, c, cpl->resumed, text) != 0) {
            rc = wio_cpl_greeted(cpl, c, text);
            cpl->greeted[c] = 1;
        }
    return rc;
}

/* ---- steps --------------------------------------------------------------------------------- */

int wio_cpl_no_put(const struct waitio_cpl *cpl, const struct wio_cpl_var *v, int64_t at)
{
    const struct wio_cpl_link *l = v->link;

    if (at == 0)
        return wio_cpl_fail(WAITIO_ERR_STATE,
                            "component '%s' has not put '%s' before its first step; with lag = -1 "
                            "the first get of component '%s' needs such a put (%s:%d)",
                            own_name(cpl), v->name, l->comp_get, cpl->conf.file, l->line);
    return wio_cpl_fail(WAITIO_ERR_STATE,
                        "component '%s' has not put '%s' in the %s that ends at %lld s, when it is "
                        "sent to component '%s' (%s:%d)",
                        own_name(cpl), v->name, l->reduce != WIO_CPL_LAST ? "interval" : "step",
                        (long long)at, l->comp_get, cpl->conf.file, l->line);
}

static bool sends_now(const struct wio_cpl_bundle *b, int64_t now)
{
    return b->sends && !b->now &&
           wio_cpl_flow_due(b->interval, b->shift, now, false) == WIO_CPL_DUE;
}

static bool receives_now(const struct wio_cpl_bundle *b, int64_t now)
{
    return !b->sends && !b->now && wio_cpl_wants(b->interval, now);
}

static int send_due(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, int64_t now)
{
    for (size_t i = 0; i < b->vars.n; i++) {
        struct wio_cpl_var *v = ((struct wio_cpl_var **)b->vars.at)[i];

        if (!wio_cpl_flow_take(&v->flow, now))
            return wio_cpl_no_put(cpl, v, now);
        if (b->shift < 0 && wio_cpl_flow_keep(&v->flow, now) != 0)
            return WAITIO_ERR_NOMEM;
    }
    /* what is wanted later must not hold up the sender until then; nor what a receiver takes later
     * that waits for the sender meanwhile */
    if (b->shift < 0)
        return wio_cpl_bundle_park(cpl, b, WIO_CPL_DATA, now);
    return wio_cpl_bundle_goes_ahead(b) ? wio_cpl_bundle_send_ahead(cpl, b, now)
                                        : wio_cpl_bundle_send(cpl, b, WIO_CPL_DATA, now);
}

/* What is put before the interval of the first exchange is for nobody. */
static void pass_by(const struct wio_cpl_bundle *b, int64_t now)
{
    for (size_t i = 0; b->sends && !b->now && i < b->vars.n; i++)
        wio_cpl_flow_pass(&((struct wio_cpl_var **)b->vars.at)[i]->flow, now);
}

static int take_due(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, int64_t now)
{
    int64_t wanted = wio_cpl_wanted(b->shift, now);

    return receives_now(b, now) && b->have != wanted ? wio_cpl_bundle_take(cpl, b, wanted, false)
                                                     : 0;
}

static int wait_for_sends(struct waitio_cpl *cpl, int64_t now)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < cpl->bundles.n; i++)
        if (sends_now(bundle_at(cpl, i), now))
            rc = wio_cpl_bundle_sent(cpl, bundle_at(cpl, i));
    if (rc == 0)
        rc = wio_cpl_parked_wait(cpl, now);
    while (rc == WIO_CPL_AGAIN && (rc = wio_cpl_come_back(cpl)) == 0)
        rc = wio_cpl_parked_wait(cpl, now);
    return rc;
}

/* All sends are started before anything is waited for: that is why components do not block each
 * other (deadlock.c says when they would). */
static int exchange(struct waitio_cpl *cpl, int64_t now)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < cpl->bundles.n; i++) {
        struct wio_cpl_bundle *b = bundle_at(cpl, i);

        if (receives_now(b, now) && wio_cpl_bundle_expects(b, wio_cpl_wanted(b->shift, now)))
            rc = wio_cpl_bundle_post(cpl, b);
    }
    for (size_t i = 0; rc == 0 && i < cpl->bundles.n; i++) {
        pass_by(bundle_at(cpl, i), now);
        if (sends_now(bundle_at(cpl, i), now))
            rc = send_due(cpl, bundle_at(cpl, i), now);
    }
    for (size_t i = 0; rc == 0 && i < cpl->bundles.n; i++)
        rc = take_due(cpl, bundle_at(cpl, i), now);
    if (rc == 0)
        rc = wait_for_sends(cpl, now);
    return rc == 0 ? wio_cpl_agree(cpl) : rc;
}

static int need_run(const struct waitio_cpl *cpl, const char *what, const char *name)
{
    if (cpl->phase == WIO_CPL_RUNS)
        return 0;
    return wio_cpl_fail(WAITIO_ERR_STATE, "component '%s' %s%s%s%s before the start", own_name(cpl),
                        what, name != NULL ? " '" : "", name != NULL ? name : "",
                        name != NULL ? "'" : "");
}

/* Is the step one that the configuration allows? */
static int check_step(const struct waitio_cpl *cpl, int64_t seconds)
{
    const struct wio_cpl_part *p = wio_cpl_ensemble_part(cpl, cpl->mine);
    int64_t now = wio_cpl_clock_end(&cpl->clock);

    if (p != NULL && p->step > 0 && seconds != p->step)
        return wio_cpl_fail(WAITIO_ERR_CONFIG,
                            "component '%s' makes a step of %lld s at %lld s, but the "
                            "configuration says step: %lld s (%s:%d)",
                            own_name(cpl), (long long)seconds, (long long)now, (long long)p->step,
                            cpl->conf.file, p->line);
    if (cpl->conf.length > 0 && seconds > cpl->conf.length - now)
        return wio_cpl_fail(WAITIO_ERR_CONFIG,
                            "component '%s' makes a step of %lld s at %lld s, beyond the end of "
                            "the run, %lld s after its start, in the calendar of %s",
                            own_name(cpl), (long long)seconds, (long long)now,
                            (long long)cpl->conf.length, cpl->conf.file);
    return 0;
}

static int step(struct waitio_cpl *cpl, int64_t seconds, bool exchanges)
{
    int rc = need_run(cpl, "begins a step", NULL);

    if (rc == 0)
        rc = check_step(cpl, seconds);
    if (rc == 0)
        rc = wio_cpl_restart_due(cpl);
    cpl->resuming = false;
    if (rc == 0)
        rc = wio_cpl_clock_step(&cpl->clock, seconds);
    if (rc == 0)
        rc = wio_cpl_rhythm(cpl);
    if (rc == 0)
        wio_cpl_sight_step(cpl);
    if (rc == 0)
        rc = wio_cpl_hear_starts(cpl);
    if (rc == 0 && exchanges)
        rc = exchange(cpl, cpl->clock.now);
    for (size_t i = 0; rc == 0 && i < cpl->vars.n; i++)
        var_at(cpl, i)->fresh = exchanges && receives_now(var_at(cpl, i)->bundle, cpl->clock.now);
    return rc;
}

static int stepped(waitio_cpl_t cpl, int64_t seconds, bool exchanges)
{
    int rc = wio_cpl_enter(cpl);

    if (rc == 0) {
        wio_cpl_stop(cpl, 9, "before its first step");
        rc = step(cpl, seconds, exchanges);
    }
    if (rc == 0)
        wio_cpl_stop(cpl, 10, "after its first step");
    return wio_cpl_leave(cpl, rc);
}

int waitio_cpl_step(waitio_cpl_t cpl, int64_t seconds)
{
    return stepped(cpl, seconds, true);
}

int waitio_cpl_advance(waitio_cpl_t cpl, int64_t seconds)
{
    return stepped(cpl, seconds, false);
}

int waitio_cpl_time(waitio_cpl_t cpl, int64_t *now)
{
    *now = cpl->clock.now;
    return 0;
}

/* ---- puts and gets ------------------------------------------------------------------------- */

/* Does the configuration know the name at all, for this component? */
static bool in_conf(const struct waitio_cpl *cpl, const char *name, bool gets)
{
    for (size_t i = 0; i < cpl->conf.links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(&cpl->conf, i);

        if (strcmp(gets ? l->comp_get : l->comp_put, own_name(cpl)) == 0 &&
            strcmp(gets ? l->var_get : l->var_put, name) == 0)
            return true;
    }
    return false;
}

static int check_name(const struct waitio_cpl *cpl, const char *name, bool gets)
{
    if (in_conf(cpl, name, gets))
        return 0;
    return wio_cpl_fail(WAITIO_ERR_ARG,
                        "component '%s' %s '%s', but %s has no record with %s = "
                        "'%s' for it",
                        own_name(cpl), gets ? "gets" : "puts", name, cpl->conf.file,
                        gets ? "var_get" : "var_put", name);
}

static int check_shape(const struct waitio_cpl *cpl, const struct wio_cpl_var *v, size_t points,
                       size_t layers, bool flat)
{
    const struct wio_cpl_link *l = v->link;
    const char *verb = v->bundle->sends ? "puts" : "gets";

    if (flat != (l->layers == 1))
        return wio_cpl_fail(WAITIO_ERR_ARG,
                            "component '%s' %s '%s' as an array %s layers, but the configuration "
                            "says layer = %d (%s:%d)",
                            own_name(cpl), verb, v->name, flat ? "without" : "with", l->layers,
                            cpl->conf.file, l->line);
    if (layers != (size_t)l->layers)
        return wio_cpl_fail(WAITIO_ERR_ARG,
                            "component '%s' %s '%s' with %zu layers, but the configuration says "
                            "layer = %d (%s:%d)",
                            own_name(cpl), verb, v->name, layers, l->layers, cpl->conf.file,
                            l->line);
    if (points != v->grid->n)
        return wio_cpl_fail(WAITIO_ERR_ARG,
                            "component '%s' %s '%s' with %zu points, but grid '%s' has %zu in "
                            "process %d (%s:%d)",
                            own_name(cpl), verb, v->name, points, v->grid->name, v->grid->n,
                            cpl->rank, cpl->conf.file, l->line);
    return 0;
}

/* Lag 0: with layers the interval counts, for a put at the end of its step; without it never does,
 * as with the library that programs were written for. In a bundle of several it counts. */
static bool due_at_once(const struct wio_cpl_bundle *b, int64_t at)
{
    const struct wio_cpl_link *l = ((struct wio_cpl_var **)b->vars.at)[0]->link;

    return b->interval == 0 || (b->name == NULL && l->layers == 1) || at % b->interval == 0;
}

static void keep_put(const struct waitio_cpl *cpl, struct wio_cpl_var *v, const double *data)
{
    v->packed = false;
    if (wio_cpl_packs_at_put(v)) {
        wio_cpl_pack_put(v, data);
        v->flow.put_end = wio_cpl_clock_end(&cpl->clock);
    } else
        wio_cpl_flow_put(&v->flow, &cpl->clock, data);
}

static int put_one(struct waitio_cpl *cpl, struct wio_cpl_var *v,
                   const struct waitio_cpl_field *field)
{
    struct wio_cpl_bundle *b = v->bundle;
    const double *data = wio_cpl_field_values(cpl, field, v->fill);
    int64_t end = wio_cpl_clock_end(&cpl->clock);
    bool kept = cpl->resuming && v->flow.put_end >= 0; /* the restart has it */

    if (data == NULL)
        return WAITIO_ERR_NOMEM;
    if (!b->now) {
        if (!cpl->resuming)
            keep_put(cpl, v, data);
        return 0;
    }
    if (!due_at_once(b, wio_cpl_clock_end(&cpl->clock)))
        return 0;
    if (!kept)
        memcpy(v->flow.last, data, v->flow.n * sizeof *data);
    v->flow.put_end = end;
    b->puts += !v->put;
    v->put = true;
    return 0;
}

/* Send what goes at once. All variables of a bundle are put in one call. */
static int put_done(struct waitio_cpl *cpl, struct wio_cpl_bundle *b)
{
    struct wio_cpl_var **vars = b->vars.at;

    for (size_t i = 0; i < b->vars.n; i++) {
        if (!vars[i]->put)
            return wio_cpl_fail(WAITIO_ERR_ARG,
                                "component '%s' puts %zu of the %zu variables of the bundle '%s', "
                                "and not '%s'; put all of them in one call of "
                                "waitio_cpl_put_fields() (%s:%d)",
                                own_name(cpl), b->puts, b->vars.n, b->name, vars[i]->name,
                                cpl->conf.file, vars[i]->link->line);
        vars[i]->put = false;
    }
    b->puts = 0;
    return wio_cpl_bundle_park(cpl, b, WIO_CPL_DATA, wio_cpl_clock_end(&cpl->clock));
}

/* @param flat the array is without layers: 1, with: 0, not said: -1 */
static int put(struct waitio_cpl *cpl, const struct waitio_cpl_field *field, int flat)
{
    int rc = need_run(cpl, "puts", field->name);

    if (rc == 0)
        rc = check_name(cpl, field->name, false);
    for (size_t i = 0; rc == 0 && i < cpl->vars.n; i++) {
        struct wio_cpl_var *v = var_at(cpl, i);

        if (!v->bundle->sends || strcmp(v->name, field->name) != 0)
            continue;
        rc = check_shape(cpl, v, field->points, field->layers,
                         flat < 0 ? v->link->layers == 1 : flat != 0);
        if (rc == 0)
            rc = wio_cpl_field_check(cpl, v, field->type);
        if (rc == 0)
            rc = put_one(cpl, v, field);
    }
    if (rc == 0)
        wio_cpl_log_field(cpl, field->name, field->points, field->layers, -1);
    return rc;
}

static int put_all(struct waitio_cpl *cpl, const struct waitio_cpl_field *fields, size_t n,
                   int flat)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = put(cpl, &fields[i], flat);
    for (size_t i = 0; rc == 0 && i < cpl->bundles.n; i++)
        if (bundle_at(cpl, i)->puts > 0)
            rc = put_done(cpl, bundle_at(cpl, i));
    return rc;
}

int waitio_cpl_put(waitio_cpl_t cpl, const char *name, const double *data, size_t points,
                   size_t layers, int flat)
{
    struct waitio_cpl_field field = {name, WAITIO_CPL_REAL8, NULL, points, layers, 0};
    int rc = wio_cpl_enter(cpl);

    memcpy(&field.data, &data, sizeof data); /* it is only read */
    return wio_cpl_leave(cpl, rc == 0 ? put_all(cpl, &field, 1, flat != 0) : rc);
}

int waitio_cpl_put_fields(waitio_cpl_t cpl, const struct waitio_cpl_field *fields, size_t n)
{
    int rc = wio_cpl_enter(cpl);

    return wio_cpl_leave(cpl, rc == 0 ? put_all(cpl, fields, n, -1) : rc);
}

static struct wio_cpl_var *find_get(const struct waitio_cpl *cpl, const char *name)
{
    for (size_t i = 0; i < cpl->vars.n; i++)
        if (!var_at(cpl, i)->bundle->sends && strcmp(var_at(cpl, i)->name, name) == 0)
            return var_at(cpl, i);
    return NULL;
}

/* All variables of a bundle are got in one call; the first one takes the message. */
static int take_at_once(struct waitio_cpl *cpl, const struct wio_cpl_var *v,
                        const struct waitio_cpl_field *fields, size_t n)
{
    struct wio_cpl_bundle *b = v->bundle;
    struct wio_cpl_var **vars = b->vars.at;
    int rc;

    if (b->call == cpl->calls)
        return 0;
    for (size_t i = 0; i < b->vars.n; i++) {
        size_t k = 0;

        while (k < n && strcmp(fields[k].name, vars[i]->name) != 0)
            k++;
        if (k == n)
            return wio_cpl_fail(WAITIO_ERR_ARG,
                                "component '%s' gets '%s' of the bundle '%s' without '%s'; get all "
                                "its variables in one call of waitio_cpl_get_fields() (%s:%d)",
                                own_name(cpl), v->name, b->name, vars[i]->name, cpl->conf.file,
                                v->link->line);
    }
    b->call = cpl->calls;
    rc = wio_cpl_bundle_post(cpl, b);
    return rc == 0 ? wio_cpl_bundle_take(cpl, b, 0, true) : rc;
}

/* From the one that puts it, or from all members of an ensemble. */
static int get_at_once(struct waitio_cpl *cpl, struct wio_cpl_var *first,
                       const struct waitio_cpl_field *fields, size_t n)
{
    int rc = 0;

    first->fresh = due_at_once(first->bundle, cpl->clock.now);
    for (size_t i = 0; rc == 0 && first->fresh && i < cpl->vars.n; i++) {
        const struct wio_cpl_var *v = var_at(cpl, i);

        if (!v->bundle->sends && strcmp(v->name, first->name) == 0)
            rc = take_at_once(cpl, v, fields, n);
    }
    return rc == 0 && first->fresh ? wio_cpl_agree(cpl) : rc;
}

/* A variable into the program's array. */
static int give(struct waitio_cpl *cpl, struct wio_cpl_var *v, struct waitio_cpl_field *field)
{
    if (v->link->statistic.kind != WIO_CPL_STAT_NONE)
        return wio_cpl_ensemble_give(cpl, v, field);
    if (v->unmade && field->type == WAITIO_CPL_REAL8) {
        wio_cpl_bundle_give(v, field->data);
        return 0;
    }
    if (v->unmade)
        wio_cpl_bundle_give(v, v->data);
    return wio_cpl_field_give(cpl, v, field);
}

static int get(struct waitio_cpl *cpl, struct waitio_cpl_field *fields, size_t n, size_t i,
               int flat)
{
    struct waitio_cpl_field *field = &fields[i];
    struct wio_cpl_var *v;
    int rc = need_run(cpl, "gets", field->name);

    if (rc == 0)
        rc = check_name(cpl, field->name, true);
    if (rc != 0)
        return rc;
    v = find_get(cpl, field->name);
    rc = check_shape(cpl, v, field->points, field->layers,
                     flat < 0 ? v->link->layers == 1 : flat != 0);
    if (rc == 0)
        rc = wio_cpl_field_check(cpl, v, field->type);
    if (rc == 0 && v->bundle->now)
        rc = get_at_once(cpl, v, fields, n);
    else if (rc == 0 && !cpl->clock.running)
        rc = wio_cpl_fail(WAITIO_ERR_STATE, "component '%s' gets '%s' before its first step",
                          own_name(cpl), field->name);
    if (rc == 0 && v->fresh) {
        rc = give(cpl, v, field);
        field->fresh = rc == 0;
    }
    if (rc == 0)
        wio_cpl_log_field(cpl, field->name, field->points, field->layers, field->fresh);
    return rc;
}

static int get_all(struct waitio_cpl *cpl, struct waitio_cpl_field *fields, size_t n, int flat)
{
    int rc = 0;

    cpl->calls++;
    for (size_t i = 0; i < n; i++)
        fields[i].fresh = 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = get(cpl, fields, n, i, flat);
    return rc;
}

int waitio_cpl_get(waitio_cpl_t cpl, const char *name, double *data, size_t points, size_t layers,
                   int flat, int *fresh)
{
    struct waitio_cpl_field field = {name, WAITIO_CPL_REAL8, data, points, layers, 0};
    int rc = wio_cpl_enter(cpl);

    if (rc == 0)
        rc = get_all(cpl, &field, 1, flat != 0);
    *fresh = field.fresh;
    return wio_cpl_leave(cpl, rc);
}

int waitio_cpl_get_fields(waitio_cpl_t cpl, struct waitio_cpl_field *fields, size_t n)
{
    int rc = wio_cpl_enter(cpl);

    return wio_cpl_leave(cpl, rc == 0 ? get_all(cpl, fields, n, -1) : rc);
}

/* ---- questions ----------------------------------------------------------------------------- */

/* Each name once, however often it is sent. */
const char *waitio_cpl_variable(waitio_cpl_t cpl, int gets, int i)
{
    for (size_t k = 0; k < cpl->conf.links.n; k++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(&cpl->conf, k);
        const char *name = gets ? l->var_get : l->var_put;
        bool before = strcmp(gets ? l->comp_get : l->comp_put, own_name(cpl)) != 0;

        for (size_t j = 0; !before && j < k; j++) {
            const struct wio_cpl_link *m = wio_cpl_conf_link(&cpl->conf, j);

            before = strcmp(gets ? m->comp_get : m->comp_put, own_name(cpl)) == 0 &&
                     strcmp(gets ? m->var_get : m->var_put, name) == 0;
        }
        if (!before && i-- == 0)
            return name;
    }
    return NULL;
}

int waitio_cpl_shape(waitio_cpl_t cpl, const char *name, size_t *layers, size_t *points)
{
    for (size_t k = 0; k < cpl->conf.links.n; k++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(&cpl->conf, k);
        bool puts = strcmp(l->comp_put, own_name(cpl)) == 0 && strcmp(l->var_put, name) == 0;
        bool gets = strcmp(l->comp_get, own_name(cpl)) == 0 && strcmp(l->var_get, name) == 0;
        const struct wio_cpl_grid *g;

        if (!puts && !gets)
            continue;
        g = wio_cpl_grid_find(cpl, puts ? l->grid_put : l->grid_get);
        *layers = (size_t)l->layers;
        *points = g != NULL ? g->n : 0;
        return 0;
    }
    return wio_cpl_leave(cpl,
                         wio_cpl_fail(WAITIO_ERR_ARG, "component '%s' has no variable '%s' in %s",
                                      own_name(cpl), name, cpl->conf.file));
}

int waitio_cpl_log_level(waitio_cpl_t cpl)
{
    return (int)cpl->conf.log + (cpl->conf.debug ? 16 : 0);
}
