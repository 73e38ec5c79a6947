/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators with neighbours, and those of two groups. */
#include <stdlib.h>
#include <string.h>

#include "make.h"
#include "report.h"

/* ---- grids ---- */

static void coords_of(const struct channel *c, int rank, int *coords)
{
    for (int i = c->ndims; i-- > 0; rank /= c->dims[i])
        coords[i] = rank % c->dims[i];
}

static int rank_of(const struct channel *c, const int *coords)
{
    int rank = 0;

    for (int i = 0; i < c->ndims; i++) {
        int x = coords[i];
        if (c->periods[i])
            x = (x + c->dims[i]) % c->dims[i];
        if (x < 0 || x >= c->dims[i])
            return MPI_PROC_NULL;
        rank = rank * c->dims[i] + x;
    }
    return rank;
}

void grid_edges(struct channel *c)
{
    int coords[3];

    c->edges = true;
    c->ambiguous = false;
    for (int i = 0; i < c->ndims; i++) /* both neighbours are one process */
        c->ambiguous |= c->periods[i] && c->dims[i] <= 2;
    for (int r = 0; r < c->side[0].n; r++) {
        coords_of(c, r, coords);
        c->nin[r] = c->nout[r] = 2 * c->ndims;
        for (int k = 0; k < 2 * c->ndims; k++) {
            coords[k / 2] += k % 2 ? 1 : -1;
            c->in[r][k].peer = c->out[r][k].peer = rank_of(c, coords);
            c->in[r][k].twin = k ^ 1;
            coords[k / 2] -= k % 2 ? 1 : -1;
        }
    }
}

static bool plan_cart(struct act *a, struct make *m, struct dice *d)
{
    struct channel *c;
    int room = a->c->side[0].n;

    if (a->c->inter)
        return false;
    c = make_one(m);
    c->ndims = 1 + below(d, 3);
    c->side[0].n = 1;
    for (int i = 0; i < c->ndims; i++) {
        c->dims[i] = 1 + below(d, room);
        c->periods[i] = chance(d, 50);
        room /= c->dims[i];
        c->side[0].n *= c->dims[i];
    }
    for (int i = 0; i < c->side[0].n; i++)
        c->side[0].who[i] = a->c->side[0].who[i];
    grid_edges(c);
    return true;
}

static void call_cart(struct act *a, struct make *m)
{
    struct channel *c = m->out[0];

    MPI_Cart_create(a->c->comm, c->ndims, c->dims, c->periods, 0, &c->comm);
}

/* ---- parts of grids ---- */

static bool plan_sub(struct act *a, struct make *m, struct dice *d)
{
    const struct channel *p = a->c;
    int coords[3], parts = 1;

    for (int i = 0; i < p->ndims; i++) {
        m->keep[i] = chance(d, 60);
        parts *= m->keep[i] ? 1 : p->dims[i];
    }
    if (p->ndims == 0 || parts > channels_free() || parts > MOST_MADE)
        return false;
    for (int i = 0; i < parts; i++) {
        struct channel *c = make_one(m);
        for (int k = 0; k < p->ndims; k++)
            if (m->keep[k]) {
                c->dims[c->ndims] = p->dims[k];
                c->periods[c->ndims++] = p->periods[k];
            }
    }
    for (int r = 0; r < p->side[0].n; r++) {
        int part = 0;
        struct list *l;
        coords_of(p, r, coords);
        for (int k = 0; k < p->ndims; k++)
            if (!m->keep[k])
                part = part * p->dims[k] + coords[k];
        l = &m->out[part]->side[0];
        l->who[l->n++] = p->side[0].who[r];
    }
    for (int i = 0; i < parts; i++)
        if (m->out[i]->ndims > 0)
            grid_edges(m->out[i]);
    return true;
}

static void call_sub(struct act *a, struct make *m)
{
    MPI_Cart_sub(a->c->comm, m->keep, &make_mine(m)->comm);
}

/* ---- graphs ---- */

static int count_to(const struct edge *edges, int n, int peer)
{
    int found = 0;

    for (int i = 0; i < n; i++)
        found += edges[i].peer == peer;
    return found;
}

/* The k-th edge to a peer. */
static int kth_to(const struct edge *edges, int n, int peer, int k)
{
    for (int i = 0; i < n; i++)
        if (edges[i].peer == peer && k-- == 0)
            return i;
    return -1;
}

static bool plan_graph(struct act *a, struct make *m, struct dice *d)
{
    struct channel *c;
    int n = a->c->side[0].n, edges = below(d, 3 * n + 1);

    if (a->c->inter)
        return false;
    c = make_one(m);
    c->side[0] = a->c->side[0];
    c->edges = true;
    for (int i = 0; i < edges; i++) {
        int from = below(d, n), to = below(d, n);
        if (c->nout[from] == MOST_NEIGHBOURS || c->nin[to] == MOST_NEIGHBOURS)
            continue;
        c->out[from][c->nout[from]++].peer = to;
        if (chance(d, 50)) { /* first in the list of its receiver */
            memmove(&c->in[to][1], &c->in[to][0], sizeof(struct edge) * (size_t)c->nin[to]);
            c->in[to][0].peer = from;
        } else {
            c->in[to][c->nin[to]].peer = from;
        }
        c->nin[to]++;
    }
    for (int r = 0; r < n; r++)
        for (int k = 0; k < c->nin[r]; k++) {
            struct edge *e = &c->in[r][k];
            e->twin = kth_to(c->out[e->peer], c->nout[e->peer], r, count_to(c->in[r], k, e->peer));
        }
    return true;
}

static void call_graph(struct act *a, struct make *m)
{
    struct channel *c = m->out[0];
    int in[MOST_NEIGHBOURS], out[MOST_NEIGHBOURS], r = a->c->rank;
    int weights[MOST_NEIGHBOURS] = {3, 3, 3, 3, 3, 3, 3, 3}; /* both ends say the same */
    bool weighted = below(&(struct dice){a->key}, 2);

    for (int k = 0; k < c->nin[r]; k++)
        in[k] = c->in[r][k].peer;
    for (int k = 0; k < c->nout[r]; k++)
        out[k] = c->out[r][k].peer;
    MPI_Dist_graph_create_adjacent(a->c->comm, c->nin[r], in, weighted ? weights : MPI_UNWEIGHTED,
                                   c->nout[r], out, weighted ? weights : MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &c->comm);
}

/* ---- two groups ---- */

static bool plan_inter(struct act *a, struct make *m, struct dice *d)
{
    int n = a->c->side[0].n, order[MOST_PROCESSES], cut, end;
    struct channel *c;

    if (a->c->inter || n < 2)
        return false;
    shuffled(d, order, n);
    end = chance(d, 70) ? n : 2 + below(d, n - 1);
    cut = 1 + below(d, end - 1);
    c = make_one(m);
    c->inter = true;
    for (int i = 0; i < n; i++) {
        m->color[0][order[i]] = i < cut ? 0 : i < end ? 1 : -1;
        m->key[0][order[i]] = i;
        if (i < end) {
            struct list *l = &c->side[i >= cut];
            l->who[l->n++] = a->c->side[0].who[order[i]];
        }
    }
    m->leader[0] = below(d, c->side[0].n);
    m->leader[1] = below(d, c->side[1].n);
    m->tag = below(d, 1000);
    return true;
}

static void call_inter(struct act *a, struct make *m)
{
    struct channel *c = m->out[0];
    int color = m->color[0][a->c->rank], remote;
    MPI_Comm local;

    MPI_Comm_split(a->c->comm, color < 0 ? MPI_UNDEFINED : color, m->key[0][a->c->rank], &local);
    if (color < 0)
        return;
    remote = list_find(&a->c->side[0], c->side[1 - color].who[m->leader[1 - color]]);
    MPI_Intercomm_create(local, m->leader[color], a->c->comm, remote, m->tag, &c->comm);
    MPI_Comm_free(&local);
}

static bool plan_merge(struct act *a, struct make *m, struct dice *d)
{
    struct channel *c;

    if (!a->c->inter)
        return false;
    c = make_one(m);
    m->high = below(d, 2); /* this side comes last */
    for (int s = 0; s < 2; s++) {
        const struct list *l = &a->c->side[s == 0 ? 1 - m->high : m->high];
        for (int i = 0; i < l->n; i++)
            c->side[0].who[c->side[0].n++] = l->who[i];
    }
    return true;
}

static void call_merge(struct act *a, struct make *m)
{
    MPI_Intercomm_merge(a->c->comm, a->c->mine == m->high, &m->out[0]->comm);
}

const struct maker maker_cart = {"Cart_create", plan_cart, call_cart};
const struct maker maker_sub = {"Cart_sub", plan_sub, call_sub};
const struct maker maker_graph = {"Dist_graph_create_adjacent", plan_graph, call_graph};
const struct maker maker_inter = {"Intercomm_create", plan_inter, call_inter};
const struct maker maker_merge = {"Intercomm_merge", plan_merge, call_merge};
