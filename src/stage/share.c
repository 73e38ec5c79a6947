/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which group gets a step: all, one after the other, or the one that asks first. Where groups share
 * the steps, each step has one owner; what an owner that goes has not read goes to another one,
 * also when that one has read later steps already.
 */
#include "stage/lead.h"

/* Does the group select steps of this number? */
static bool selects(const struct wio_stg_group *g, int64_t step)
{
    int64_t least = g->least < 0 ? 0 : g->least; /* it has not said so yet */

    return step >= least && (step - least) % g->stride == 0 && (g->last < 0 || step <= g->last);
}

bool wio_stg_wants(const struct wio_stg_writer *w, const struct wio_stg_group *g,
                   const struct wio_stg_ready *r)
{
    int share = w->s->set.share;

    if (g->ended || (g->latest && r->step < g->wanted)) /* passed over */
        return false;
    if (share == WAITIO_STAGE_TO_ALL)
        return r->step >= g->wanted && (r->step - g->wanted) % g->stride == 0 &&
               (g->last < 0 || r->step <= g->last);
    return r->owner == g->id ||
           (share == WAITIO_STAGE_ON_DEMAND && r->owner == WIO_STG_NOBODYS && selects(g, r->step));
}

/* The group whose turn comes, for a step that it selects; NULL: none does. Groups have come in the
 * order of their numbers. */
static const struct wio_stg_group *next_in_turn(const struct wio_stg_lead *l, int64_t step)
{
    const struct wio_stg_group *first = NULL, *after = NULL;

    for (const struct wio_stg_group *g = l->groups; g != NULL; g = g->next) {
        if (g->gone || g->ended || !selects(g, step))
            continue;
        if (first == NULL || g->id < first->id)
            first = g;
        if (g->id > l->turn && (after == NULL || g->id < after->id))
            after = g;
    }
    return after != NULL ? after : first;
}

/* A group says what it selects when it asks first. */
static void take_back(struct wio_stg_lead *l)
{
    for (const struct wio_stg_group *g = l->groups; g != NULL; g = g->next)
        for (struct wio_stg_ready *r = l->ready; r != NULL; r = r->next)
            if (r->owner == g->id && r->step != g->reads && !selects(g, r->step))
                r->owner = WIO_STG_NOBODYS;
}

void wio_stg_deal(struct wio_stg_writer *w)
{
    struct wio_stg_lead *l = w->lead;

    if (w->s->set.share != WAITIO_STAGE_ROUND_ROBIN)
        return;
    take_back(l);
    for (struct wio_stg_ready *r = l->ready; r != NULL; r = r->next) {
        const struct wio_stg_group *g =
            r->owner == WIO_STG_NOBODYS ? next_in_turn(l, r->step) : NULL;

        if (g == NULL)
            continue;
        r->owner = g->id;
        l->turn = g->id;
    }
}

void wio_stg_dealt(struct wio_stg_writer *w, const struct wio_stg_group *g, struct wio_stg_ready *r)
{
    if (w->s->set.share == WAITIO_STAGE_TO_ALL)
        return;
    r->owner = g->id;
    for (struct wio_stg_ready *old = w->lead->ready; g->latest && old != r; old = old->next)
        if (old->owner == g->id && old->step != g->reads)
            old->owner = WIO_STG_READ; /* its reader passes it over */
}

void wio_stg_was_read(struct wio_stg_lead *l, int64_t step)
{
    for (struct wio_stg_ready *r = l->ready; r != NULL; r = r->next)
        if (r->step == step)
            r->owner = WIO_STG_READ;
}

void wio_stg_undeal(struct wio_stg_lead *l, const struct wio_stg_group *g)
{
    for (struct wio_stg_ready *r = l->ready; r != NULL; r = r->next)
        if (r->owner == g->id)
            r->owner = WIO_STG_NOBODYS;
}

bool wio_stg_none_left(const struct wio_stg_lead *l, const struct wio_stg_group *g)
{
    if (l->ended < 0 && (g->last < 0 || l->newest < g->last))
        return false;
    for (const struct wio_stg_ready *r = l->ready; r != NULL; r = r->next)
        if (r->owner != WIO_STG_READ && selects(g, r->step))
            return false;
    return true;
}
