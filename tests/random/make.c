/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators from communicators: duplicates, parts, groups. */
#include "make.h"

#include <stdlib.h>
#include <string.h>

#include "report.h"

struct channel *make_one(struct make *m)
{
    return m->n < MOST_MADE ? (m->out[m->n++] = channel_new()) : NULL;
}

struct channel *make_mine(struct make *m)
{
    for (int i = 0; i < m->n; i++)
        if (list_has(&m->out[i]->side[0], world_rank) || list_has(&m->out[i]->side[1], world_rank))
            return m->out[i];
    return NULL;
}

/* ---- duplicates ---- */

static bool plan_dup(struct act *a, struct make *m, struct dice *d)
{
    struct channel *c = make_one(m), keep = *c;

    (void)d;
    *c = *a->c; /* its topology, too */
    c->born = keep.born;
    c->comm = MPI_COMM_NULL;
    return true;
}

static void call_dup(struct act *a, struct make *m)
{
    int same = -1;

    MPI_Comm_dup(a->c->comm, &m->out[0]->comm);
    MPI_Comm_compare(a->c->comm, m->out[0]->comm, &same);
    if (same != MPI_CONGRUENT)
        wrong("a duplicate is not congruent");
}

static void call_idup(struct act *a, struct make *m)
{
    MPI_Comm_idup(a->c->comm, &m->out[0]->comm, &m->request);
#if defined(OPEN_MPI)
    if (has_vendor()) { /* Open MPI 4.1 may deadlock when it makes another one meanwhile */
        MPI_Wait(&m->request, MPI_STATUS_IGNORE);
        return;
    }
#endif
    act_started(a, &m->request, 0, false);
}

/* ---- parts ---- */

/* The members of a color on a side, by key, then by rank. */
static void collect(const struct act *a, const struct make *m, int side, int color, struct list *l)
{
    const struct list *of = &a->c->side[side];

    l->n = 0;
    for (int key = -1; key < MOST_PROCESSES; key++)
        for (int i = 0; i < of->n; i++)
            if (m->color[side][i] == color && m->key[side][i] == key)
                l->who[l->n++] = of->who[i];
}

static void plan_part(struct act *a, struct make *m, int color)
{
    struct list side[2] = {{0, {0}}, {0, {0}}};
    struct channel *c;

    collect(a, m, 0, color, &side[0]);
    if (a->c->inter)
        collect(a, m, 1, color, &side[1]);
    if (side[0].n == 0 || (a->c->inter && side[1].n == 0))
        return;
    c = make_one(m);
    c->inter = a->c->inter;
    memcpy(c->side, side, sizeof side);
}

static bool plan_split(struct act *a, struct make *m, struct dice *d)
{
    int colors = 1 + below(d, 3);

    for (int s = 0; s < (a->c->inter ? 2 : 1); s++)
        for (int i = 0; i < a->c->side[s].n; i++) {
            m->color[s][i] = chance(d, 12) ? -1 : below(d, colors);
            m->key[s][i] = below(d, 5) - 1;
        }
    for (int color = 0; color < colors; color++)
        plan_part(a, m, color);
    return true;
}

static void call_split(struct act *a, struct make *m)
{
    int color = m->color[a->c->mine][a->c->rank], key = m->key[a->c->mine][a->c->rank];
    struct channel *c = make_mine(m);
    MPI_Comm comm = a->c->comm;

    MPI_Comm_split(a->c->comm, color < 0 ? MPI_UNDEFINED : color, key, &comm);
    if (c != NULL)
        c->comm = comm;
    else if (comm != MPI_COMM_NULL)
        wrong("a part that has no members is there");
}

/* ---- groups ---- */

/* Groups of some members in any order, which share none. The color is the group. */
static bool plan_groups(struct act *a, struct make *m, struct dice *d)
{
    int colors = a->c->inter ? 1 : 1 + below(d, 2), order[MOST_PROCESSES];

    if (a->c->inter && of_vendor(a->c)) /* Open MPI 4.1 puts the other group in another order */
        return false;
    for (int s = 0; s < (a->c->inter ? 2 : 1); s++) {
        shuffled(d, order, a->c->side[s].n);
        for (int i = 0; i < a->c->side[s].n; i++) {
            m->color[s][i] = chance(d, 25) ? -1 : below(d, colors);
            m->key[s][i] = order[i];
        }
    }
    for (int color = 0; color < colors; color++)
        plan_part(a, m, color);
    return m->n > 0;
}

static bool plan_group(struct act *a, struct make *m, struct dice *d)
{
    m->tag = below(d, 1000);
    return !a->c->inter && plan_groups(a, m, d);
}

/* The ranks in the parent of a list. */
static int ranks_of(const struct act *a, const struct list *l, int *ranks)
{
    for (int i = 0; i < l->n; i++)
        ranks[i] = list_find(&a->c->side[a->c->mine], l->who[i]);
    return l->n;
}

/* The same group in one of several ways. */
static MPI_Group group_of(struct act *a, const struct list *l)
{
    MPI_Group all, first, second, group;
    int ranks[MOST_PROCESSES], n = ranks_of(a, l, ranks), cut = below(&a->mine, n + 1);
    int ranges[MOST_PROCESSES][3];

    MPI_Comm_group(a->c->comm, &all);
    if (chance(&a->mine, 40)) {
        MPI_Group_incl(all, n, ranks, &group);
    } else if (chance(&a->mine, 40)) {
        for (int i = 0; i < n; i++) {
            ranges[i][0] = ranges[i][1] = ranks[i];
            ranges[i][2] = 1;
        }
        MPI_Group_range_incl(all, n, ranges, &group);
    } else {
        MPI_Group_incl(all, cut, ranks, &first);
        MPI_Group_incl(all, n - cut, ranks + cut, &second);
        MPI_Group_union(first, second, &group);
        MPI_Group_free(&first);
        MPI_Group_free(&second);
    }
    MPI_Group_free(&all);
    return group;
}

static void call_create(struct act *a, struct make *m)
{
    struct channel *c = make_mine(m);
    MPI_Group group = MPI_GROUP_EMPTY;
    MPI_Comm comm = a->c->comm;
    int side = c != NULL && !list_has(&c->side[0], world_rank);

    if (c != NULL)
        group = group_of(a, &c->side[side]);
    MPI_Comm_create(a->c->comm, group, &comm);
    if (c != NULL) {
        c->comm = comm;
        MPI_Group_free(&group);
    } else if (comm != MPI_COMM_NULL) {
        wrong("a communicator of a group that has not this process is there");
    }
}

static void call_create_group(struct act *a, struct make *m)
{
    struct channel *c = make_mine(m);
    MPI_Group group;

    if (c == NULL)
        return;
    group = group_of(a, &c->side[0]);
    MPI_Comm_create_group(a->c->comm, group, m->tag, &c->comm);
    MPI_Group_free(&group);
}

/* ---- the trade ---- */

static const struct maker maker_dup = {"Comm_dup", plan_dup, call_dup};
static const struct maker maker_idup = {"Comm_idup", plan_dup, call_idup};
static const struct maker maker_split = {"Comm_split", plan_split, call_split};
static const struct maker maker_create = {"Comm_create", plan_groups, call_create};
static const struct maker maker_create_group = {"Comm_create_group", plan_group, call_create_group};
static const struct maker *const makers[] = {
    &maker_dup,    &maker_idup,         &maker_split, &maker_split, &maker_create,
    &maker_create, &maker_create_group, &maker_cart,  &maker_cart,  &maker_graph,
    &maker_graph,  &maker_inter,        &maker_inter, &maker_merge, &maker_sub};

static bool plan(struct act *a, struct dice *d)
{
    struct make *m;

    a->c = channel_some(d, NULL);
    if (channels_free() < 3)
        return false;
    a->state = m = calloc(1, sizeof *m);
    m->maker = makers[below(d, sizeof makers / sizeof *makers)];
    if (m->maker->plan(a, m, d))
        return true;
    for (int i = 0; i < m->n; i++)
        m->out[i]->used = false;
    free(m);
    return false;
}

static void start(struct act *a)
{
    struct make *m = a->state;

    note("%s", m->maker->name);
    m->maker->call(a, m);
}

static void done(struct act *a, int index, const MPI_Status *status)
{
    (void)a;
    (void)index;
    (void)status;
}

static bool end(struct act *a)
{
    (void)a;
    return false;
}

static void forget(struct act *a)
{
    struct make *m = a->state;

    note("looks at what %s has made", m->maker->name);
    for (int i = 0; i < m->n; i++)
        channel_enter(m->out[i]);
    free(m);
}

const struct trade trade_make = {"communicators", plan, start, done, end, forget};
