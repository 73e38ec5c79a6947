/* SPDX-License-Identifier: BSD-3-Clause */
/* Who exchanges what when, and which steps run at the same time. The rules are those of
 * src/coupler/flow.h. */
#include <stdlib.h>
#include <string.h>

#include "coupler/flow.h"
#include "coupling.h"
#include "waitio_errors.h"

enum { MOST_SPANS = 12 }; /* of a component, that are shown */

static int64_t gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

static int64_t multiple(int64_t a, int64_t b)
{
    return a / gcd(a, b) * b;
}

struct member *schedule_member(const struct schedule *s, size_t i)
{
    return (struct member *)s->members.at + i;
}

size_t schedule_find(const struct schedule *s, const char *name)
{
    size_t i = 0;

    while (i < s->members.n && strcmp(schedule_member(s, i)->name, name) != 0)
        i++;
    return i;
}

static const struct wio_cpl_link *link_at(const struct schedule *s, size_t i)
{
    return wio_cpl_conf_link(s->conf, i);
}

/* ---- components and their steps ---------------------------------------------------------------
 */

static int add_member(struct schedule *s, const char *name)
{
    struct member *m;

    if (schedule_find(s, name) < s->members.n)
        return 0;
    m = wio_cpl_push(&s->members, sizeof *m);
    if (m == NULL)
        return WAITIO_ERR_NOMEM;
    m->name = name;
    m->part = wio_cpl_conf_find(s->conf, name);
    m->step = m->part != NULL ? m->part->step : 0;
    return 0;
}

static void use_given(struct member *m, struct wio_cpl_list *given)
{
    struct given_step *all = given->at;

    for (size_t i = 0; i < given->n; i++)
        if (strcmp(all[i].component, m->name) == 0) {
            m->step = all[i].seconds;
            all[i].used = true;
        }
}

static void assume(const struct schedule *s, struct member *m)
{
    if (m->step > 0)
        return;
    m->assumed = true;
    for (size_t i = 0; i < s->conf->links.n; i++) {
        const struct wio_cpl_link *l = link_at(s, i);

        if (strcmp(l->comp_put, m->name) == 0 || strcmp(l->comp_get, m->name) == 0)
            m->step = gcd(l->interval, m->step);
    }
}

static void look_ahead(struct schedule *s)
{
    int64_t longest = 0;

    for (size_t i = 0; i < s->conf->links.n; i++)
        if (!wio_cpl_link_now(link_at(s, i))) {
            int64_t period = schedule_period(s, link_at(s, i));

            longest = period > longest ? period : longest;
        }
    s->horizon = 2 * longest;
    if (s->conf->length > 0 && s->horizon > s->conf->length)
        s->horizon = s->conf->length;
}

int schedule_make(const struct wio_cpl_conf *conf, struct wio_cpl_list *given, struct schedule *s)
{
    int rc = 0;

    *s = (struct schedule){.conf = conf};
    for (size_t i = 0; rc == 0 && i < conf->parts.n; i++)
        rc = add_member(s, wio_cpl_conf_part(conf, i)->name);
    for (size_t i = 0; rc == 0 && i < conf->links.n; i++) {
        rc = add_member(s, wio_cpl_conf_link(conf, i)->comp_put);
        if (rc == 0)
            rc = add_member(s, wio_cpl_conf_link(conf, i)->comp_get);
    }
    for (size_t i = 0; rc == 0 && i < s->members.n; i++) {
        use_given(schedule_member(s, i), given);
        assume(s, schedule_member(s, i));
    }
    if (rc == 0)
        look_ahead(s);
    return rc;
}

void schedule_free(struct schedule *s)
{
    for (size_t i = 0; i < s->members.n; i++)
        wio_cpl_list_free(&schedule_member(s, i)->spans);
    wio_cpl_list_free(&s->members);
}

/* ---- when -------------------------------------------------------------------------------------
 */

int64_t schedule_period(const struct schedule *s, const struct wio_cpl_link *l)
{
    int64_t step = schedule_member(s, schedule_find(s, l->comp_get))->step;

    return multiple(l->interval, step);
}

bool schedule_gets(const struct schedule *s, const struct wio_cpl_link *l, int64_t at)
{
    if (wio_cpl_link_now(l))
        return l->layers == 1 || l->interval == 0 || at % l->interval == 0;
    return at % schedule_period(s, l) == 0;
}

bool schedule_puts(const struct schedule *s, const struct wio_cpl_link *l, int64_t end)
{
    (void)s;
    if (wio_cpl_link_now(l))
        return l->layers == 1 || l->interval == 0 || end % l->interval == 0;
    return l->reduce != WIO_CPL_LAST || (end - wio_cpl_link_shift(l)) % l->interval == 0;
}

/* ---- spans ------------------------------------------------------------------------------------
 */

/* Does a component exchange something at that time? */
static bool is_border(const struct schedule *s, const struct member *m, int64_t at)
{
    for (size_t i = 0; i < s->conf->links.n; i++) {
        const struct wio_cpl_link *l = link_at(s, i);

        if (wio_cpl_link_now(l))
            continue;
        if (strcmp(l->comp_get, m->name) == 0 && schedule_gets(s, l, at))
            return true;
        if (strcmp(l->comp_put, m->name) == 0 && at % schedule_period(s, l) == 0)
            return true;
        /* lag 1: what is wanted at T is stamped with the end of T's interval */
        if (strcmp(l->comp_put, m->name) == 0 && at >= wio_cpl_link_shift(l) &&
            (at - wio_cpl_link_shift(l)) % schedule_period(s, l) == 0)
            return true;
    }
    return false;
}

static int divide(const struct schedule *s, struct member *m)
{
    struct span *span = NULL;

    if (m->step == 0)
        return 0;
    for (int64_t at = 0; at < s->horizon; at += m->step) {
        if (span == NULL || is_border(s, m, at)) {
            if (m->spans.n == MOST_SPANS)
                return 0;
            span = wio_cpl_push(&m->spans, sizeof *span);
            if (span == NULL)
                return WAITIO_ERR_NOMEM;
            span->begin = at;
        }
        span->end = at + m->step;
    }
    return 0;
}

/* The level after which a member's span that ends at a time can be got; 0: before all. */
static size_t level_behind(const struct member *m, int64_t end)
{
    const struct span *all = m->spans.at;

    for (size_t i = 0; i < m->spans.n; i++)
        if (all[i].end >= end)
            return all[i].level + 1;
    return m->spans.n > 0 ? all[m->spans.n - 1].level + 1 : 0;
}

/* Move a span behind what it needs. @return true: it was moved */
static bool settle(const struct schedule *s, const struct member *m, struct span *span)
{
    size_t level = span == m->spans.at ? 0 : span[-1].level + 1;
    bool moves;

    for (size_t i = 0; i < s->conf->links.n; i++) {
        const struct wio_cpl_link *l = link_at(s, i);
        int64_t wanted = wio_cpl_wanted(wio_cpl_link_shift(l), span->begin);
        size_t behind;

        if (wio_cpl_link_now(l) || strcmp(l->comp_get, m->name) != 0 || wanted == 0 ||
            !schedule_gets(s, l, span->begin))
            continue;
        behind = level_behind(schedule_member(s, schedule_find(s, l->comp_put)), wanted);
        level = behind > level ? behind : level;
    }
    moves = level > span->level;
    span->level = moves ? level : span->level;
    return moves;
}

int schedule_spans(struct schedule *s)
{
    size_t most = s->members.n * MOST_SPANS + 1;
    bool moved = true;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < s->members.n; i++)
        rc = divide(s, schedule_member(s, i));
    for (size_t round = 0; rc == 0 && moved && round <= most; round++) {
        moved = false;
        for (size_t i = 0; i < s->members.n; i++) {
            struct member *m = schedule_member(s, i);

            for (size_t k = 0; k < m->spans.n; k++)
                moved |= settle(s, m, (struct span *)m->spans.at + k);
        }
    }
    if (rc == 0 && moved)
        rc = wio_cpl_fail(WAITIO_ERR_STATE,
                          "no timeline: the components would wait for each other for ever");
    return rc;
}

/* ---- words ------------------------------------------------------------------------------------
 */

const char *time_text(int64_t seconds, char out[48])
{
    static const struct {
        const char *name;
        int64_t seconds;
    } units[] = {{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}};
    size_t used = 0;

    wio_cpl_text(out, 48, "0");
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        int64_t n = seconds / units[i].seconds;

        if (n == 0)
            continue;
        wio_cpl_text(out + used, 48 - used, "%s%lld %s", used > 0 ? " " : "", (long long)n,
                     units[i].name);
        used += strlen(out + used);
        seconds %= units[i].seconds;
    }
    return out;
}

const char *reduction_text(const struct wio_cpl_link *l)
{
    static const char *const words[] = {"snapshot", "average", "accumulate", "min", "max"};

    return words[l->reduce];
}

const char *lag_text(const struct wio_cpl_link *l)
{
    int64_t shift = wio_cpl_link_shift(l);

    if (wio_cpl_link_now(l))
        return "now";
    return shift == 0 ? "parallel" : shift == l->interval ? "serial" : "shifted";
}
