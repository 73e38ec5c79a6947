/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of hybrid communicators: inside every PB by its provider, such as the MPI it was
 * started with, between the leaders of the PBs by messages, so that data crosses each border once
 * in each direction. A PB without a provider, or whose provider lacks an operator, exchanges
 * messages inside, too: what its leader sends and receives is the same.
 */
#include "mpi/collectives/hybrid.h"

#include "mpi/inside.h"

static struct waitio_inside_call *new_call(struct wio_schedule *s, enum waitio_inside_kind kind)
{
    struct waitio_inside_call *call = wio_schedule_scratch(s, sizeof *call);

    if (s->error == 0)
        *call = (struct waitio_inside_call){.kind = kind};
    return call;
}

struct waitio_inside_call *wio_hybrid_step(struct wio_schedule *s, enum waitio_inside_kind kind,
                                           int root)
{
    struct waitio_inside_call *call = new_call(s, kind);

    if (s->error != 0)
        return NULL;
    call->root = s->inside->place[root];
    wio_schedule_round(s);
    wio_schedule_inside(s, call);
    return call;
}

bool wio_hybrid_folds(const struct wio_schedule *s, const struct wio_collective *c)
{
    return wio_inside_reduces(s->inside, &s->fold, c->op, s->swap) != WIO_INSIDE_NOT;
}

/* What a provider gets that does not know the operator. */
struct brought {
    struct waitio_inside_fold face;
    struct wio_fold fold; /* held by the schedule */
    bool swap;
};

static int apply(const struct waitio_inside_fold *face, const void *in, void *inout, size_t n)
{
    const struct brought *b = (const void *)face; /* its first member */

    return (b->swap ? wio_fold_swapped : wio_fold_apply)(&b->fold, in, inout, inout, n);
}

void wio_hybrid_operator(struct wio_schedule *s, const struct wio_collective *c,
                         struct waitio_inside_call *call)
{
    struct brought *b;

    call->type = s->fold.type->id;
    call->op = c->op;
    if (s->fold.type->size == 0) { /* no type of the provider's is so small */
        call->type = WAITIO_MPI_BYTE;
        call->op = WAITIO_MPI_BOR;
        call->count = 0;
        return;
    }
    if (wio_inside_reduces(s->inside, &s->fold, c->op, s->swap) != WIO_INSIDE_FOLDS)
        return;
    if (s->brought == NULL) {
        b = wio_schedule_scratch(s, sizeof *b);
        if (s->error != 0)
            return;
        *b = (struct brought){
            .face = {.bytes = s->fold.type->size, .commutes = s->fold.commutative, .apply = apply},
            .fold = s->fold,
            .swap = s->swap};
        s->brought = &b->face;
    }
    call->fold = s->brought;
}

/* ---- the parts ---- */

static void in_team(struct wio_schedule *s, struct wio_team team, int root,
                    wio_algorithm_fn algorithm, struct wio_collective c)
{
    struct wio_team all;

    if (team.rank < 0 || team.size < 2 || s->error != 0)
        return;
    wio_schedule_round(s);
    all = wio_schedule_team(s, team);
    c.root = root;
    algorithm(s, &c);
    wio_schedule_team(s, all);
    wio_schedule_round(s);
}

/* From the leader to the members of its PB. */
static void bcast_inside(struct wio_schedule *s, const struct wio_layers *l, void *data, size_t n)
{
    struct wio_collective c = {.kind = WIO_BCAST, .out = data, .bytes = n};
    struct waitio_inside_call *call;

    if (s->error != 0 || l->inside.size == 1)
        return;
    if (s->inside == NULL) {
        in_team(s, l->inside, l->inside_root, wio_bcast_binomial, c);
        return;
    }
    call = wio_hybrid_step(s, WAITIO_INSIDE_BCAST, l->inside.map[l->inside_root]);
    if (call == NULL)
        return;
    call->out = data;
    call->bytes = n;
    wio_schedule_round(s);
}

/* The sum of the PB at its leader's @p out. @return the address of the sum there */
static const void *reduce_inside(struct wio_schedule *s, const struct wio_collective *c,
                                 const struct wio_layers *l, void *out)
{
    struct wio_collective part = *c;
    struct waitio_inside_call *call;

    if (s->error != 0 || l->inside.size == 1)
        return c->in;
    if (!wio_hybrid_folds(s, c)) {
        part.out = out;
        in_team(s, l->inside, l->inside_root,
                s->fold.commutative ? wio_reduce_binomial : wio_reduce_ordered, part);
        return out;
    }
    call = wio_hybrid_step(s, WAITIO_INSIDE_REDUCE, l->inside.map[l->inside_root]);
    if (call == NULL)
        return out;
    call->in = c->in;
    call->out = out;
    call->bytes = c->bytes;
    call->count = c->count;
    wio_hybrid_operator(s, c, call);
    wio_schedule_round(s);
    return out;
}

/* ---- one value ---- */

void wio_hybrid_barrier(struct wio_schedule *s, const struct wio_collective *c)
{
    struct wio_layers l = wio_layers(s, 0, WIO_LEAD_FIRST);
    bool inside = s->error == 0 && s->inside != NULL && l.inside.size > 1;

    (void)c;
    if (inside)
        (void)wio_hybrid_step(s, WAITIO_INSIDE_BARRIER, s->rank);
    else
        in_team(s, l.inside, l.inside_root, wio_reduce_binomial, (struct wio_collective){0});
    in_team(s, l.leaders, 0, wio_barrier_dissemination, (struct wio_collective){0});
    if (inside) /* a broadcast of nothing need not wait for its root */
        (void)wio_hybrid_step(s, WAITIO_INSIDE_BARRIER, s->rank);
    else
        bcast_inside(s, &l, NULL, 0);
}

void wio_hybrid_bcast(struct wio_schedule *s, const struct wio_collective *c)
{
    struct wio_layers l;

    if (c->bytes >= WIO_HYBRID_LONG) {
        wio_hybrid_bcast_long(s, c);
        return;
    }
    l = wio_layers(s, c->root, WIO_LEAD_FIRST);
    in_team(s, l.leaders, l.leaders_root, wio_bcast_binomial, *c);
    bcast_inside(s, &l, c->out, c->bytes);
}

void wio_hybrid_reduce(struct wio_schedule *s, const struct wio_collective *c)
{
    struct wio_layers l;
    struct wio_collective part = *c;
    void *room;

    if (c->bytes >= WIO_HYBRID_LONG && s->fold.commutative) {
        wio_hybrid_reduce_long(s, c);
        return;
    }
    l = wio_layers(s, c->root, WIO_LEAD_FIRST);
    room = s->rank == c->root   ? c->out
           : l.leaders.rank < 0 ? NULL
                                : wio_schedule_scratch(s, c->bytes);
    part.in = reduce_inside(s, c, &l, room);
    if (l.leaders.size == 1 && s->rank == c->root)
        wio_schedule_copy(s, part.in, c->out, c->bytes);
    in_team(s, l.leaders, l.leaders_root,
            s->fold.commutative ? wio_reduce_binomial : wio_reduce_ordered, part);
}

void wio_hybrid_allreduce(struct wio_schedule *s, const struct wio_collective *c)
{
    struct wio_layers l;
    struct wio_collective part = *c;

    if (c->bytes >= WIO_HYBRID_LONG && s->fold.commutative) {
        wio_hybrid_allreduce_long(s, c);
        return;
    }
    l = wio_layers(s, 0, WIO_LEAD_FIRST);
    part.in = reduce_inside(s, c, &l, c->out);
    if (l.leaders.size == 1)
        wio_schedule_copy(s, part.in, c->out, c->bytes);
    in_team(s, l.leaders, 0, wio_allreduce_doubling, part);
    bcast_inside(s, &l, c->out, c->bytes);
}

/* ---- blocks of one size ---- */

/* Those of my PB, at its leader, in rank order. */
static char *gather_inside(struct wio_schedule *s, const struct wio_layers *l, const void *in,
                           size_t n)
{
    bool leads = l->leaders.rank >= 0;
    char *blocks = leads ? wio_schedule_scratch(s, n * (size_t)l->inside.size) : NULL;
    struct waitio_inside_call *call;

    if (s->error != 0)
        return blocks;
    if (s->inside == NULL || l->inside.size == 1) {
        struct wio_collective part = {.in = in, .bytes = n, .outs = {.base = blocks, .unit = n}};
        struct wio_team all = wio_schedule_team(s, l->inside);
        part.root = l->inside_root;
        wio_gather_linear(s, &part);
        wio_schedule_team(s, all);
        return blocks;
    }
    call = wio_hybrid_step(s, WAITIO_INSIDE_GATHER, l->inside.map[l->inside_root]);
    if (call == NULL)
        return blocks;
    call->in = in;
    call->out = blocks;
    call->bytes = n;
    call->outs.unit = n;
    wio_schedule_round(s);
    return blocks;
}

/* The members of PB @p p, in rank order: one after the other. @return the next one, or -1 */
static int next_of(const struct wio_schedule *s, int p, int after)
{
    for (int i = after + 1; i < s->size; i++)
        if (s->topo->pb[i] == p)
            return i;
    return -1;
}

static size_t members_of(const struct wio_schedule *s, int p)
{
    size_t n = 0;

    for (int i = next_of(s, p, -1); i >= 0; i = next_of(s, p, i))
        n++;
    return n;
}

void wio_hybrid_gather(struct wio_schedule *s, const struct wio_collective *c)
{
    struct wio_layers l = wio_layers(s, c->root, WIO_LEAD_FIRST);
    size_t n = c->bytes;
    char *mine = s->error != 0 ? NULL : gather_inside(s, &l, c->in, n);

    if (s->error != 0 || l.leaders.rank < 0)
        return;
    if (s->rank != c->root) {
        wio_schedule_send(s, c->root, mine, n * (size_t)l.inside.size);
        wio_schedule_round(s);
        return;
    }
    for (int p = 0; p < s->topo->npb; p++) {
        size_t k = 0, all = n * members_of(s, p);
        char *blocks = p == l.leaders_root ? mine : wio_schedule_scratch(s, all);
        if (p != l.leaders_root)
            wio_schedule_recv(s, l.leaders.map[p], blocks, all);
        for (int i = next_of(s, p, -1); i >= 0; i = next_of(s, p, i))
            wio_schedule_copy(s, blocks + n * k++, wio_area_at(&c->outs, i), n);
    }
    wio_schedule_round(s);
}

static void scatter_inside(struct wio_schedule *s, const struct wio_layers *l, char *blocks,
                           const struct wio_collective *c)
{
    struct wio_collective part = {.out = c->out, .bytes = c->bytes};
    struct waitio_inside_call *call;
    struct wio_team all;

    if (s->error != 0)
        return;
    if (s->inside == NULL || l->inside.size == 1) {
        part.ins = (struct wio_area){.base = blocks, .unit = c->bytes};
        part.root = l->inside_root;
        all = wio_schedule_team(s, l->inside);
        wio_scatter_linear(s, &part);
        wio_schedule_team(s, all);
        return;
    }
    call = wio_hybrid_step(s, WAITIO_INSIDE_SCATTER, l->inside.map[l->inside_root]);
    if (call == NULL)
        return;
    call->in = blocks;
    call->out = c->out;
    call->bytes = c->bytes;
    call->ins.unit = c->bytes;
    wio_schedule_round(s);
}

void wio_hybrid_scatter(struct wio_schedule *s, const struct wio_collective *c)
{
    struct wio_layers l = wio_layers(s, c->root, WIO_LEAD_FIRST);
    size_t n = c->bytes;
    bool leads = s->error == 0 && l.leaders.rank >= 0;
    char *mine =
        leads && s->rank != c->root ? wio_schedule_scratch(s, n * (size_t)l.inside.size) : NULL;

    if (s->error != 0)
        return;
    for (int p = 0; s->rank == c->root && p < s->topo->npb; p++) {
        size_t k = 0, all = n * members_of(s, p);
        char *blocks = wio_schedule_scratch(s, all);
        for (int i = next_of(s, p, -1); i >= 0; i = next_of(s, p, i))
            wio_schedule_copy(s, wio_area_at(&c->ins, i), blocks + n * k++, n);
        wio_schedule_round(s);
        if (p == l.leaders_root)
            mine = blocks;
        else
            wio_schedule_send(s, l.leaders.map[p], blocks, all);
    }
    if (leads && s->rank != c->root)
        wio_schedule_recv(s, c->root, mine, n * (size_t)l.inside.size);
    wio_schedule_round(s);
    scatter_inside(s, &l, mine, c);
}

/* ---- blocks for everybody ---- */

void wio_hybrid_allgather(struct wio_schedule *s, const struct wio_collective *c)
{
    struct wio_layers l = wio_layers(s, 0, WIO_LEAD_FIRST);
    size_t n = c->bytes, mine;
    char *all, *here;

    if (s->error != 0)
        return;
    here = gather_inside(s, &l, c->in, n);
    all = wio_schedule_scratch(s, n * (size_t)s->size); /* by PB, then by rank */
    if (s->error != 0)
        return;
    mine = (size_t)l.inside.size * n;
    if (l.leaders.rank >= 0) {
        size_t at = 0;
        for (int p = 0; s->error == 0 && p < s->topo->npb; p++) {
            size_t its = n * members_of(s, p);
            if (p == l.leaders.rank) {
                wio_schedule_copy(s, here, all + at, its);
            } else {
                wio_schedule_send(s, l.leaders.map[p], here, mine);
                wio_schedule_recv(s, l.leaders.map[p], all + at, its);
            }
            at += its;
        }
        wio_schedule_round(s);
    }
    bcast_inside(s, &l, all, n * (size_t)s->size);
    for (int p = 0, k = 0; p < s->topo->npb; p++)
        for (int i = next_of(s, p, -1); i >= 0; i = next_of(s, p, i))
            wio_schedule_copy(s, all + n * (size_t)k++, wio_area_at(&c->outs, i), n);
    wio_schedule_round(s);
}
