/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives that move data: the pieces that each member gives and gets, and where they lie. */
#include "collective.h"
#include "report.h"

/* ---- which pieces ---- */

static void add(struct half *h, int from, int to, bool both_alike)
{
    struct piece *p = &h->p[h->n++];

    p->key = key_of((uint64_t)from + 1, (uint64_t)(to + 1));
    p->alike = p->key;
    if (both_alike && to < from) /* in place: what goes has the form of what comes */
        p->alike = key_of((uint64_t)to + 1, (uint64_t)(from + 1));
}

enum { ALL = 500, EDGES = 1000 };

static void neighbours_given(struct act *a)
{
    struct collective *k = a->state;

    if (k->kind->family == ALLGATHER) {
        add(&k->s, world_rank, ALL, false);
        return;
    }
    for (int i = 0; i < a->c->nout[a->c->rank]; i++)
        add(&k->s, world_rank, EDGES + i, false);
}

static void neighbours_got(struct act *a)
{
    struct collective *k = a->state;

    for (int i = 0; i < a->c->nin[a->c->rank]; i++) {
        const struct edge *e = &a->c->in[a->c->rank][i];
        int from = e->peer == MPI_PROC_NULL ? 0 : a->c->side[0].who[e->peer];
        add(&k->r, from, k->kind->family == ALLGATHER ? ALL : EDGES + e->twin, false);
        k->r.p[i].nobody = e->peer == MPI_PROC_NULL;
    }
}

static void members_given(struct act *a)
{
    struct collective *k = a->state;
    const struct list *peers = channel_peers(a->c, a->c->mine);
    enum family f = k->kind->family;

    if (!gives(a) || f == BCAST)
        return;
    if (f == GATHER || f == ALLGATHER)
        add(&k->s, world_rank, ALL, false);
    for (int i = 0; (f == SCATTER || f == ALLTOALL) && i < peers->n; i++)
        add(&k->s, world_rank, peers->who[i], k->in_place);
}

static void members_got(struct act *a)
{
    struct collective *k = a->state;
    const struct list *peers = channel_peers(a->c, a->c->mine);
    int root = a->c->side[k->root_side].who[k->root];
    enum family f = k->kind->family;

    if (!takes(a) && !(f == BCAST && gives(a)))
        return;
    if (f == BCAST || f == SCATTER) {
        add(&k->r, root, f == BCAST ? ALL : world_rank, f == SCATTER && k->in_place);
        return;
    }
    for (int i = 0; i < peers->n; i++)
        add(&k->r, peers->who[i], f == ALLTOALL ? world_rank : ALL, f == ALLTOALL && k->in_place);
}

/* ---- where they lie ---- */

static void lengths(struct act *a, struct half *h)
{
    struct collective *k = a->state;

    for (int i = 0; i < h->n; i++) {
        struct dice d = dice_of(key_of(key_of(a->key, h->p[i].alike), 9));
        h->p[i].count = k->kind->counts == EQUAL    ? k->most
                        : k->kind->counts == COUNTS ? below(&d, k->most + 1)
                                                    : below(&d, 1 + k->most % 100);
    }
}

static bool alone_in_vendor(const struct act *a)
{
    return of_vendor(a->c) && a->c->side[0].n + a->c->side[1].n == 1;
}

/* Where types are not plain, MPICH 4.0 writes elsewhere, truncates or crashes in Gather and
 * Scatter, and Open MPI 4.1 writes elsewhere in an Alltoallw of one member. */
static bool must_be_plain(const struct act *a)
{
    const struct collective *k = a->state;
    enum family f = k->kind->family;

    if (f == GATHER || f == SCATTER)
        return of_vendor(a->c);
    return k->kind->counts == TYPES && alone_in_vendor(a);
}

/* MPICH 4.0 loses the displacement of an Allgatherv of one member. */
static bool may_lie_anywhere(const struct act *a)
{
    const struct collective *k = a->state;

    return k->kind->counts == COUNTS && !(k->kind->family == ALLGATHER && alone_in_vendor(a));
}

/* Open MPI 4.1 chooses algorithms by the types of each process, so that they must be alike. */
static void make(struct act *a, struct layout *l, uint64_t shape, int count)
{
    struct dice common = dice_of(key_of(shape, 3));

    if (must_be_plain(a))
        layout_make_bytes(l, shape);
    else
        layout_make(l, shape, count, of_vendor(a->c) ? &common : &a->mine);
}

/* Elements of one type: one after the other, or with counts and displacements in any order. */
static void place_by_extent(struct act *a, struct half *h, bool many)
{
    struct collective *k = a->state;
    struct layout *l = &h->layouts[h->nlayouts++];
    int order[MOST_PIECES], at = 0;
    bool free_order = many && may_lie_anywhere(a);

    make(a, l, k->shape, k->most * (a->c->side[0].n + a->c->side[1].n));
    for (int i = 0; i < h->n; i++)
        order[i] = i;
    if (free_order) {
        shuffled(&a->mine, order, h->n);
        at = below(&a->mine, 4) - 2;
    }
    for (int i = 0; i < h->n; i++) {
        struct piece *p = &h->p[order[i]];
        p->l = l;
        p->at = at * l->extent;
        h->displs[order[i]] = at * l->mult;
        h->counts[order[i]] = p->count * l->mult;
        at += p->count + (free_order ? below(&a->mine, 3) : 0);
    }
}

/* A type for each. */
static void place_by_bytes(struct act *a, struct half *h)
{
    int order[MOST_PIECES];
    ptrdiff_t cursor = -32 * below(&a->mine, 3);

    shuffled(&a->mine, order, h->n);
    h->nlayouts = h->n;
    for (int i = 0; i < h->n; i++) {
        struct piece *p = &h->p[order[i]];
        ptrdiff_t low, high;
        p->l = &h->layouts[order[i]];
        make(a, p->l, key_of(a->key, p->alike % 1000 + 40), p->count);
        layout_reach(p->l, p->count, &low, &high);
        p->at = cursor - low + (16 - (cursor - low) % 16) % 16;
        cursor = p->at + high + 8 * below(&a->mine, 3);
        h->displs[order[i]] = (int)p->at;
        h->bytes[order[i]] = p->at;
        h->counts[order[i]] = p->count * p->l->mult;
        h->types[order[i]] = p->l->type;
    }
}

static void open_area(struct act *a, struct half *h, int what)
{
    ptrdiff_t least = 0, most = 0, low, high;

    for (int i = 0; i < h->n; i++) {
        layout_reach(h->p[i].l, h->p[i].count, &low, &high);
        if (h->p[i].at + low < least)
            least = h->p[i].at + low;
        if (h->p[i].at + high > most)
            most = h->p[i].at + high;
    }
    area_open(&h->area, least, most, key_of(a->key, (uint64_t)what));
    h->open = true;
}

/* @param many the call knows pieces, not only one */
static void half_prepare(struct act *a, struct half *h, bool many, int what)
{
    struct collective *k = a->state;
    bool by_bytes = k->kind->counts == TYPES;

    /* not significant, but Open MPI 4.1 looks at the type */
    h->b = (struct buffer){NULL, 0, of_vendor(a->c) ? MPI_BYTE : MPI_DATATYPE_NULL, false};
    if (h->n == 0 && !many)
        return;
    lengths(a, h);
    if (by_bytes)
        place_by_bytes(a, h);
    else
        place_by_extent(a, h, many);
    open_area(a, h, what);
    h->b.at = h->area.zero;
    if (by_bytes)
        return;
    h->b.type = h->layouts[0].type;
    h->b.count = h->n > 0 ? h->counts[0] : 0;
    if (!many && !of_vendor(a->c))
        h->b = buffer_of(&h->layouts[0], &h->area, h->p[0].count, &a->mine);
}

/* Displacements from MPI_BOTTOM, where they are addresses. */
static void from_bottom(struct act *a, struct half *h)
{
    MPI_Aint zero;

    if (!chance(&a->mine, 30))
        return;
    MPI_Get_address(h->area.zero, &zero);
    for (int i = 0; i < h->n; i++)
        h->bytes[i] += zero;
    h->b.at = MPI_BOTTOM;
}

static void say_in_place(struct act *a)
{
    struct collective *k = a->state;
    enum family f = k->kind->family;
    bool root = a->c->rank == k->root;
    struct buffer here_already = {MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, false};

    if (f == ALLGATHER || f == ALLTOALL || (f == GATHER && root)) {
        buffer_free(&k->s.b);
        k->s.b = here_already;
    }
    if (f == SCATTER && root) {
        buffer_free(&k->r.b);
        k->r.b = here_already;
        k->r.p[0].nobody = true;
    }
}

void move_prepare(struct act *a)
{
    struct collective *k = a->state;
    enum family f = k->kind->family;
    bool many_given = gives(a) && (f == SCATTER || f == ALLTOALL);
    bool many_got = takes(a) && (f == GATHER || f == ALLGATHER || f == ALLTOALL);

    if (f == BARRIER)
        return;
    if (k->kind->neighbours) {
        neighbours_given(a);
        neighbours_got(a);
    } else {
        members_given(a);
        members_got(a);
    }
    half_prepare(a, &k->s, many_given, 1001);
    half_prepare(a, &k->r, many_got, 1002);
    if (k->kind->neighbours && k->kind->counts == TYPES) {
        from_bottom(a, &k->s);
        from_bottom(a, &k->r);
    }
    if (k->in_place)
        say_in_place(a);
}

/* ---- the data of a round ---- */

void move_fill(struct act *a)
{
    struct collective *k = a->state;
    struct half *s = &k->s, *r = &k->r;

    for (int i = 0; i < s->n; i++) {
        /* in place what goes lies where what comes will */
        struct half *from = s->b.at == MPI_IN_PLACE ? r : s;
        int at = from == s || s->n > 1 ? i : a->c->rank;
        const struct piece *p = &from->p[at];
        area_fill(&from->area, p->at, p->l, p->count, collective_stream(a, s->p[i].key));
    }
    if (k->kind->family == BCAST && gives(a))
        area_fill(&r->area, r->p[0].at, r->p[0].l, r->p[0].count,
                  collective_stream(a, r->p[0].key));
    if (s->open)
        area_keep(&s->area);
    if (!r->open)
        return;
    area_keep(&r->area);
    for (int i = 0; i < r->n; i++) {
        const struct piece *p = &r->p[i];
        if (!p->nobody)
            area_want(&r->area, p->at, p->l, p->count, collective_stream(a, p->key),
                      (size_t)p->count * p->l->size);
    }
}
