/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that processes make together, for those who look for circles of waits (circle.c).
 *
 * The calls of each set of processes are numbered on all of them, for all make the same calls in
 * the same order. Who waits in a broadcast waits for its root, in any other such call for all
 * members. Nobody knows who of them has not come yet. So each of those who wait tells the first
 * member of the set, which then knows whom to ask: all others.
 */
#include <stdlib.h>

#include "coupler/cpl.h"

/* Calls of one set. */
struct calls {
    int set;
    int64_t entered; /* by this process */
    int64_t *known;  /* at the first member: by each, as far as it has told; or NULL */
};

int wio_cpl_set_own(const struct waitio_cpl *cpl)
{
    return WIO_CPL_SET_COMPONENTS + cpl->mine;
}

int wio_cpl_set_pair(const struct waitio_cpl *cpl, int a, int b)
{
    return WIO_CPL_SET_COMPONENTS + cpl->n_components + a * cpl->n_components + b;
}

/* The components of a set: one, or two. @return false: it is that of all processes */
static bool components(const struct waitio_cpl *cpl, int set, int *a, int *b)
{
    int n = cpl->n_components, k = set - WIO_CPL_SET_COMPONENTS;

    *a = k < n ? k : (k - n) / n;
    *b = k < n ? -1 : (k - n) % n;
    return k >= 0;
}

bool wio_cpl_set_exists(const struct waitio_cpl *cpl, int set)
{
    int64_t n = cpl->n_components;

    return set >= WIO_CPL_SET_ALL && set < WIO_CPL_SET_COMPONENTS + n + n * n;
}

int wio_cpl_set_size(const struct waitio_cpl *cpl, int set)
{
    int a, b;

    if (!components(cpl, set, &a, &b))
        return cpl->size;
    return cpl->components[a].n + (b >= 0 ? cpl->components[b].n : 0);
}

int wio_cpl_set_member(const struct waitio_cpl *cpl, int set, int i)
{
    int a, b;

    if (!components(cpl, set, &a, &b))
        return i;
    return i < cpl->components[a].n ? cpl->components[a].ranks[i]
                                    : cpl->components[b].ranks[i - cpl->components[a].n];
}

void wio_cpl_set_text(const struct waitio_cpl *cpl, int set, char *out, size_t room)
{
    int a, b;

    if (!components(cpl, set, &a, &b))
        wio_cpl_text(out, room, "all components");
    else if (b < 0)
        wio_cpl_text(out, room, "component '%.60s'", cpl->components[a].name);
    else
        wio_cpl_text(out, room, "components '%.60s' and '%.60s'", cpl->components[a].name,
                     cpl->components[b].name);
}

/* @return NULL: no memory */
static struct calls *calls_of(struct waitio_cpl *cpl, int set)
{
    struct calls *c = cpl->collectives.at;

    for (size_t i = 0; i < cpl->collectives.n; i++)
        if (c[i].set == set)
            return &c[i];
    c = wio_cpl_push(&cpl->collectives, sizeof *c);
    if (c != NULL)
        c->set = set;
    return c;
}

struct wio_cpl_op wio_cpl_collective(struct waitio_cpl *cpl, int set, int root)
{
    struct wio_cpl_op op = {.peer = -1};
    struct calls *c = calls_of(cpl, set);

    if (c == NULL) /* such a wait is not looked into */
        return op;
    op.set = set;
    op.root = root;
    op.turn = ++c->entered;
    return op;
}

int64_t wio_cpl_collectives(struct waitio_cpl *cpl, int set)
{
    const struct calls *c = calls_of(cpl, set);

    return c != NULL ? c->entered : INT64_MAX;
}

bool wio_cpl_collective_told(struct waitio_cpl *cpl, int set, int by, int64_t turn)
{
    struct calls *c = calls_of(cpl, set);
    int n = wio_cpl_set_size(cpl, set);

    if (c != NULL && c->known == NULL)
        c->known = wio_cpl_new((size_t)n, sizeof *c->known);
    if (c == NULL || c->known == NULL)
        return false;
    for (int i = 0; i < n; i++)
        if (wio_cpl_set_member(cpl, set, i) == by && c->known[i] < turn)
            c->known[i] = turn;
    return true;
}

int wio_cpl_collective_lacks(struct waitio_cpl *cpl, int set, int64_t turn, int i)
{
    const struct calls *c = calls_of(cpl, set);

    while (
        c != NULL && i < wio_cpl_set_size(cpl, set) &&
        (wio_cpl_set_member(cpl, set, i) == cpl->me || (c->known != NULL && c->known[i] >= turn)))
        i++;
    return c != NULL && i < wio_cpl_set_size(cpl, set) ? i : -1;
}

void wio_cpl_collectives_free(struct waitio_cpl *cpl)
{
    struct calls *c = cpl->collectives.at;

    for (size_t i = 0; i < cpl->collectives.n; i++)
        free(c[i].known);
    wio_cpl_list_free(&cpl->collectives);
}
