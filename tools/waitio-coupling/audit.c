/* SPDX-License-Identifier: BSD-3-Clause */
/* What can be wrong between a file and the programs that will read it: steps, names, sides. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "coupler/flow.h"
#include "coupling.h"
#include "waitio_errors.h"

/* The reader has said it already: the step stands in the file. */
static bool is_said(const struct member *m, const struct wio_cpl_link *l)
{
    return m->part != NULL && m->part->step > 0 && l->interval % m->part->step != 0;
}

/* Will the sender ever have what the receiver asks for? */
static int check_meeting(struct wio_cpl_conf *conf, const struct schedule *s,
                         const struct wio_cpl_link *l)
{
    const struct member *from = schedule_member(s, schedule_find(s, l->comp_put)),
                        *to = schedule_member(s, schedule_find(s, l->comp_get));
    int64_t period = schedule_period(s, l), at = wio_cpl_link_shift(l) > 0 ? 0 : period,
            wanted = wio_cpl_wanted(wio_cpl_link_shift(l), at);

    if (is_said(from, l) || is_said(to, l) || from->assumed)
        return 0;
    if (wanted % from->step == 0) {
        at += period; /* lag 1: the second time may differ from the first */
        wanted = wio_cpl_wanted(wio_cpl_link_shift(l), at);
    }
    if (wanted % from->step == 0 || (conf->length > 0 && at >= conf->length))
        return 0;
    return wio_cpl_conf_fault(
        conf, l->line, 0,
        "component '%s' needs '%s' at %lld s, made up to %lld s, but no step of component '%s' "
        "(%lld s) ends then: the interval %lld s must be a multiple of the time steps of both",
        to->name, l->var_get, (long long)at, (long long)wanted, from->name, (long long)from->step,
        (long long)l->interval);
}

static int check_rhythm(struct wio_cpl_conf *conf, const struct schedule *s,
                        const struct wio_cpl_link *l)
{
    const struct member *to = schedule_member(s, schedule_find(s, l->comp_get));
    int64_t period = schedule_period(s, l);
    int rc = 0;

    if (!is_said(to, l) && period != l->interval)
        rc = wio_cpl_conf_warn(conf, l->line,
                               "the interval of '%s', %lld s, is no multiple of the step of "
                               "component '%s', %lld s: it gets something every %lld s only",
                               l->var_get, (long long)l->interval, to->name, (long long)to->step,
                               (long long)period);
    if (rc == 0 && conf->length > 0 && period >= conf->length)
        rc = wio_cpl_conf_warn(conf, l->line,
                               "'%s' is exchanged only once, at the start: the next time, %lld s, "
                               "is not before the end of the run, %lld s",
                               l->var_get, (long long)period, (long long)conf->length);
    return rc;
}

/* Lag 0 both ways: if both get first, both wait. Said once, at the later link. */
static int check_at_once(struct wio_cpl_conf *conf, size_t i)
{
    const struct wio_cpl_link *l = wio_cpl_conf_link(conf, i);

    for (size_t k = 0; k < i; k++) {
        const struct wio_cpl_link *other = wio_cpl_conf_link(conf, k);

        if (wio_cpl_link_now(other) && strcmp(other->comp_put, l->comp_get) == 0 &&
            strcmp(other->comp_get, l->comp_put) == 0)
            return wio_cpl_conf_warn(conf, l->line,
                                     "'%s' and '%s' (line %d) are sent at once in both directions: "
                                     "component '%s' or '%s' must put before it gets, or both wait "
                                     "for ever",
                                     l->var_put, other->var_put, other->line, l->comp_put,
                                     l->comp_get);
    }
    return 0;
}

static int check_links(struct wio_cpl_conf *conf, const struct schedule *s)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < conf->links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(conf, i);

        if (wio_cpl_link_now(l)) {
            rc = check_at_once(conf, i);
            continue;
        }
        rc = check_meeting(conf, s, l);
        if (rc == 0)
            rc = check_rhythm(conf, s, l);
    }
    return rc;
}

/* ---- components -------------------------------------------------------------------------------
 */

static size_t count(const struct wio_cpl_conf *conf, const char *component, const char *field)
{
    size_t n = 0;

    for (size_t i = 0; i < conf->links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(conf, i);

        n += field != NULL
                 ? strcmp(l->comp_put, component) == 0 && strcmp(l->var_put, field) == 0
                 : strcmp(l->comp_put, component) == 0 || strcmp(l->comp_get, component) == 0;
    }
    return n;
}

static int check_part(struct wio_cpl_conf *conf, const struct wio_cpl_part *p)
{
    int rc = 0;

    if (count(conf, p->name, NULL) == 0)
        return wio_cpl_conf_warn(conf, p->line,
                                 "component '%s' is in no coupling: it can only send and receive "
                                 "messages of its own",
                                 p->name);
    for (size_t i = 0; rc == 0 && i < p->puts.n; i++) {
        const char *field = ((char **)p->puts.at)[i];

        if (count(conf, p->name, field) == 0)
            rc = wio_cpl_conf_warn(conf, p->line, "component '%s' puts '%s', but nobody gets it",
                                   p->name, field);
    }
    return rc;
}

static bool has_digit(const char *text)
{
    while (*text != '\0' && !isdigit((unsigned char)*text))
        text++;
    return *text != '\0';
}

static bool are_coupled(const struct wio_cpl_conf *conf, const char *a, const char *b)
{
    for (size_t i = 0; i < conf->links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(conf, i);

        if ((strcmp(l->comp_put, a) == 0 && strcmp(l->comp_get, b) == 0) ||
            (strcmp(l->comp_put, b) == 0 && strcmp(l->comp_get, a) == 0))
            return true;
    }
    return false;
}

/* Namelists list no components: a slip makes a component more. */
static int check_slips(struct wio_cpl_conf *conf, const struct schedule *s)
{
    int rc = 0;

    for (size_t b = 0; rc == 0 && !conf->yaml && b < s->members.n; b++)
        for (size_t a = 0; rc == 0 && a < b; a++) {
            const char *one = schedule_member(s, a)->name, *two = schedule_member(s, b)->name;
            char near[96];

            if (wio_cpl_near(two, &one, 1, near)[0] != '\0' && !has_digit(two) &&
                !are_coupled(conf, one, two))
                rc = wio_cpl_conf_warn(conf, 0,
                                       "components '%s' and '%s' differ in little: is one of the "
                                       "names a slip?",
                                       one, two);
        }
    return rc;
}

int audit(struct wio_cpl_conf *conf, const struct schedule *s)
{
    int rc = check_links(conf, s);

    for (size_t i = 0; rc == 0 && !conf->broken && i < conf->parts.n; i++)
        rc = check_part(conf, wio_cpl_conf_part(conf, i));
    return rc == 0 ? check_slips(conf, s) : rc;
}
