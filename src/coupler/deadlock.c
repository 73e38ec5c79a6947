/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Do the lags make components wait for each other in a circle?
 *
 * A component at time t first sends everything that is due then (event S), then waits for what it
 * receives then (event R). So S(c, t) comes after R(c, the time before), R(c, t) after S(c, t), and
 * R of the receiver after S of the sender: at t for lag -1, later or earlier by its shift else. A
 * circle in these relations is a deadlock. The pattern repeats, so times up to the common multiple
 * of all intervals, and one interval more, say all.
 */
#include <stdlib.h>
#include <string.h>

#include "coupler/conf.h"
#include "coupler/flow.h"
#include "waitio_errors.h"

enum { MOST_EVENTS = 1 << 20, MOST_TOLD = 6 };

struct edge {
    size_t to, next;                 /* next edge of the same source, plus 1 */
    const struct wio_cpl_link *link; /* NULL: a component's own order */
};

struct graph {
    const struct wio_cpl_conf *conf;
    const char **names; /* components */
    size_t components, times;
    int64_t grain;             /* seconds between two times */
    size_t *first;             /* of each event: its first edge, plus 1 */
    size_t *missing;           /* how many events must come before */
    struct wio_cpl_list edges; /* struct edge */
};

static int64_t gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t c = a % b;

        a = b;
        b = c;
    }
    return a;
}

static size_t number_of(struct graph *g, const char *name)
{
    size_t i = 0;

    while (i < g->components && strcmp(g->names[i], name) != 0)
        i++;
    if (i == g->components)
        g->names[g->components++] = name;
    return i;
}

static size_t event(const struct graph *g, size_t component, size_t time, bool receives)
{
    return (component * g->times + time) * 2 + receives;
}

static int after(struct graph *g, size_t before, size_t later, const struct wio_cpl_link *link)
{
    struct edge *e = wio_cpl_push(&g->edges, sizeof *e);

    if (e == NULL)
        return WAITIO_ERR_NOMEM;
    *e = (struct edge){later, g->first[before], link};
    g->first[before] = g->edges.n;
    g->missing[later]++;
    return 0;
}

static int add_steps(struct graph *g)
{
    int rc = 0;

    for (size_t c = 0; c < g->components; c++)
        for (size_t t = 0; rc == 0 && t < g->times; t++) {
            rc = after(g, event(g, c, t, false), event(g, c, t, true), NULL);
            if (rc == 0 && t > 0)
                rc = after(g, event(g, c, t - 1, true), event(g, c, t, false), NULL);
        }
    return rc;
}

static int add_link(struct graph *g, const struct wio_cpl_link *l)
{
    size_t from = number_of(g, l->comp_put), to = number_of(g, l->comp_get);
    size_t step = (size_t)(l->interval / g->grain);
    int rc = 0;

    for (size_t t = 0; rc == 0 && t < g->times; t += step) {
        int64_t sent = wio_cpl_wanted(wio_cpl_link_shift(l), (int64_t)t * g->grain) / g->grain;

        if (sent < (int64_t)g->times)
            rc = after(g, event(g, from, (size_t)sent, false), event(g, to, t, true), l);
    }
    return rc;
}

/* Take away events that wait for nothing, until none is left or all that are left wait. */
static int sort(struct graph *g, bool *circle)
{
    size_t events = g->components * g->times * 2, n = 0;
    size_t *ready = wio_cpl_new(events, sizeof *ready);

    if (ready == NULL)
        return WAITIO_ERR_NOMEM;
    for (size_t i = 0; i < events; i++)
        if (g->missing[i] == 0)
            ready[n++] = i;
    for (size_t i = 0; i < n; i++) {
        const struct edge *all = g->edges.at;

        for (size_t e = g->first[ready[i]]; e != 0; e = all[e - 1].next)
            if (--g->missing[all[e - 1].to] == 0)
                ready[n++] = all[e - 1].to;
    }
    *circle = n < events;
    free(ready);
    return 0;
}

/* The times that have to be looked at. @return false when no link waits */
static bool measure(struct graph *g)
{
    int64_t all = 1, longest = 0;

    for (size_t i = 0; i < g->conf->links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(g->conf, i);

        int64_t shift = wio_cpl_link_shift(l) < 0 ? -wio_cpl_link_shift(l) : wio_cpl_link_shift(l);

        if (wio_cpl_link_now(l))
            continue;
        (void)number_of(g, l->comp_put);
        (void)number_of(g, l->comp_get);
        g->grain = gcd(shift, gcd(l->interval, g->grain));
        longest = l->interval > longest ? l->interval : longest;
        longest = shift > longest ? shift : longest;
        if (all < INT64_MAX / l->interval)
            all = all / gcd(all, l->interval) * l->interval;
    }
    if (longest == 0)
        return false;
    g->times = (size_t)((all + longest) / g->grain) + 1;
    if (g->times > MOST_EVENTS / (2 * g->components)) /* odd intervals: the beginning must do */
        g->times = MOST_EVENTS / (2 * g->components);
    return g->times > 0;
}

static int build(struct graph *g)
{
    size_t events = g->components * g->times * 2;
    int rc = 0;

    g->first = wio_cpl_new(events, sizeof *g->first);
    g->missing = wio_cpl_new(events, sizeof *g->missing);
    if (g->first == NULL || g->missing == NULL)
        return WAITIO_ERR_NOMEM;
    rc = add_steps(g);
    for (size_t i = 0; rc == 0 && i < g->conf->links.n; i++)
        if (!wio_cpl_link_now(wio_cpl_conf_link(g->conf, i)))
            rc = add_link(g, wio_cpl_conf_link(g->conf, i));
    return rc;
}

/* What an event that is left waits for: an event that is left, too. */
struct wait {
    size_t event;
    const struct wio_cpl_link *link; /* NULL: it comes later in the same component */
    bool seen;
};

/* One wait of each event that is left. */
static struct wait *find_waits(const struct graph *g, size_t *start)
{
    size_t events = g->components * g->times * 2;
    const struct edge *all = g->edges.at;
    struct wait *waits = wio_cpl_new(events, sizeof *waits);

    for (size_t i = 0; waits != NULL && i < events; i++)
        for (size_t e = g->missing[i] > 0 ? g->first[i] : 0; e != 0; e = all[e - 1].next)
            if (g->missing[all[e - 1].to] > 0) {
                *start = all[e - 1].to;
                waits[*start] = (struct wait){i, all[e - 1].link, false};
            }
    return waits;
}

/* Tell the waits of the circle that an event on it is in. @return its first link of lag 1 */
static const struct wio_cpl_link *tell(const struct graph *g, const struct wait *waits,
                                       size_t first, char *text, size_t room)
{
    const struct wio_cpl_link *serial = NULL;
    size_t at = first, told = 0, used = 0;

    text[0] = '\0';
    do {
        const struct wio_cpl_link *l = waits[at].link;
        size_t t = at / 2 % g->times, sent = waits[at].event / 2 % g->times;

        if (l != NULL && told++ < MOST_TOLD) {
            wio_cpl_text(
                text + used, room - used,
                "%s'%.60s' in its step at %lld s waits for '%.60s', which '%.60s' sends at "
                "%lld s",
                used > 0 ? "; " : "", l->comp_get, (long long)t * g->grain, l->var_get, l->comp_put,
                (long long)sent * g->grain);
            used += strlen(text + used);
        }
        if (serial == NULL && l != NULL && wio_cpl_link_shift(l) > 0)
            serial = l;
        at = waits[at].event;
    } while (at != first);
    if (told > MOST_TOLD)
        wio_cpl_text(text + used, room - used, "; and %zu waits more", told - MOST_TOLD);
    return serial;
}

/* The circle: going from wait to wait comes back to an event. */
static int report(struct wio_cpl_conf *conf, const struct graph *g)
{
    size_t at = 0;
    struct wait *waits = find_waits(g, &at);
    const struct wio_cpl_link *l;
    char text[1000];
    int rc;

    if (waits == NULL)
        return WAITIO_ERR_NOMEM;
    while (!waits[at].seen) {
        waits[at].seen = true;
        at = waits[at].event;
    }
    l = tell(g, waits, at, text, sizeof text);
    free(waits);
    if (l == NULL) /* cannot be: without lag 1 nobody waits for a later time */
        l = wio_cpl_conf_link(conf, 0);
    rc = wio_cpl_conf_fault(
        conf, l->line, 0,
        "the components would wait for each other for ever: '%s' of '%s' has lag = 1 or more, so "
        "'%s' waits at the start of an interval for what '%s' puts later, but '%s' needs something "
        "of '%s' before that; give the other direction lag = -1 and an interval that is a multiple "
        "of %lld s",
        l->var_put, l->comp_put, l->comp_get, l->comp_put, l->comp_put, l->comp_get,
        (long long)l->interval);
    return rc == 0 ? wio_cpl_conf_fault(conf, l->line, 0, "the circle: %s; and so on", text) : rc;
}

int wio_cpl_conf_deadlock(struct wio_cpl_conf *conf)
{
    struct graph g = {.conf = conf};
    bool circle = false;
    int rc = 0;

    g.names = wio_cpl_new(conf->links.n * 2, sizeof *g.names);
    if (g.names == NULL)
        return WAITIO_ERR_NOMEM;
    if (measure(&g)) {
        rc = build(&g);
        if (rc == 0)
            rc = sort(&g, &circle);
        if (rc == 0 && circle)
            rc = report(conf, &g);
    }
    free(g.names);
    free(g.first);
    free(g.missing);
    wio_cpl_list_free(&g.edges);
    return rc;
}
