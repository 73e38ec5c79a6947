/* SPDX-License-Identifier: BSD-3-Clause */
/* One collective: chosen, called, repeated, checked. */
#include "collective.h"

#include <stdlib.h>

#include "report.h"

uint64_t collective_stream(const struct act *a, uint64_t key)
{
    const struct collective *k = a->state;
    return key_of(key_of(a->key, key), (uint64_t)k->round + 500);
}

static bool is_root(const struct act *a)
{
    const struct collective *k = a->state;
    return a->c->mine == k->root_side && a->c->rank == k->root;
}

/* With two sides a rooted one goes from one side to the other; else everybody takes part. */
static bool is_beside_root(const struct act *a)
{
    const struct collective *k = a->state;
    return a->c->inter && a->c->mine == k->root_side;
}

bool gives(const struct act *a)
{
    const struct collective *k = a->state;
    enum family f = k->kind->family;

    if (f == BCAST || f == SCATTER)
        return is_root(a);
    if (f == GATHER || f == REDUCE)
        return !is_beside_root(a);
    return f != BARRIER;
}

bool takes(const struct act *a)
{
    const struct collective *k = a->state;
    enum family f = k->kind->family;

    if (f == GATHER || f == REDUCE)
        return is_root(a);
    if (f == BCAST || f == SCATTER)
        return !is_beside_root(a);
    return f != BARRIER;
}

/* Open MPI 4.1's truncate or hang for graphs. */
static bool is_sound(const struct channel *c)
{
    return c->ndims > 0 || !of_vendor(c);
}

static bool has_edges(const struct channel *c)
{
    return c->edges && is_sound(c);
}

static bool tells_edges(const struct channel *c)
{
    return has_edges(c) && !c->ambiguous;
}

/* Scans are for one group. */
static bool (*need_of(const struct kind *kind))(const struct channel *)
{
    if (kind->neighbours)
        return kind->family == ALLTOALL ? tells_edges : has_edges;
    return kind->family == SCAN || kind->family == EXSCAN ? is_intra : NULL;
}

static bool can_be_in_place(const struct act *a)
{
    const struct collective *k = a->state;
    return !a->c->inter && !k->kind->neighbours && k->kind->family != BARRIER &&
           k->kind->family != BCAST;
}

static enum form sound_form(const struct act *a)
{
    const struct collective *k = a->state;
    enum family f = k->kind->family;

    if (k->kind->neighbours) /* Open MPI 4.1: others truncate */
        return BLOCKING;
    /* MPICH 4.0: started Allgatherv writes into holes, started Bcast between two sides leaves them
     * out */
    if ((f == ALLGATHER && k->kind->counts == COUNTS) || (f == BCAST && a->c->inter))
        return BLOCKING;
    /* MPICH 4.0: with derived types right only once */
    return k->form == PERSISTED ? STARTED : k->form;
}

/* MPICH 4.0: in place, Alltoall(v) truncates, started Alltoallw takes wrong types, and long ones of
 * Reduce crash (src/hybrid/run.c says when). */
static bool is_sound_in_place(const struct act *a)
{
    const struct collective *k = a->state;

    if (k->kind->family == ALLTOALL)
        return k->kind->counts == TYPES && k->form == BLOCKING;
    return k->kind->family != REDUCE;
}

/* Known faults of the MPIs. */
static void avoid_faults(struct act *a)
{
    struct collective *k = a->state;

    if (!of_vendor(a->c))
        return;
    k->form = sound_form(a);
    k->in_place = k->in_place && is_sound_in_place(a);
}

static bool plan(struct act *a, struct dice *d)
{
    const struct kind *kind = &kinds_of_collectives[below(d, nkinds)];
    struct collective *k;
    int members;

    a->c = channel_some(d, need_of(kind));
    if (a->c == NULL)
        return false;
    a->state = k = calloc(1, sizeof *k);
    k->kind = kind;
    k->form = (enum form)below(d, 3);
    k->rounds = chance(d, k->form == PERSISTED ? 70 : 15) ? 2 : 1;
    k->root_side = a->c->inter ? below(d, 2) : 0;
    k->root = below(d, a->c->side[k->root_side].n);
    k->in_place = can_be_in_place(a) && chance(d, 30);
    avoid_faults(a);
    k->shape = key_of(a->key, 3);
    k->request = MPI_REQUEST_NULL;
    members = kind->family == BCAST ? 1 : a->c->side[0].n + a->c->side[1].n;
    k->most = (int)(some_size(d, largest / (size_t)members) / shape_size(k->shape));
    if (kind->family >= REDUCE)
        fold_plan(a, d);
    return true;
}

/* ---- a round ---- */

static void fill(struct act *a)
{
    struct collective *k = a->state;

    if (k->kind->family >= REDUCE)
        fold_fill(a);
    else
        move_fill(a);
}

static void tell(const struct act *a, const char *what)
{
    const struct collective *k = a->state;

    note("%s %s form %d root %d of %d+%d%s, %d elements, round %d", what, k->kind->name, k->form,
         k->root, a->c->side[0].n, a->c->side[1].n, k->in_place ? " in place" : "",
         k->kind->family >= REDUCE ? k->fold_total : k->most, k->round);
}

static void round_begin(struct act *a)
{
    struct collective *k = a->state;

    fill(a);
    tell(a, "calls");
    if (k->form != PERSISTED || k->round == 0)
        k->kind->call(k, a->c->comm);
    if (k->form == PERSISTED)
        MPI_Start(&k->request);
    if (k->form != BLOCKING)
        act_started(a, &k->request, 0, k->form == PERSISTED);
}

static void start(struct act *a)
{
    struct collective *k = a->state;

    if (!a->c->inter)
        k->root_said = k->root;
    else if (a->c->mine != k->root_side)
        k->root_said = k->root;
    else
        k->root_said = a->c->rank == k->root ? MPI_ROOT : MPI_PROC_NULL;
    if (k->kind->family >= REDUCE)
        fold_prepare(a);
    else
        move_prepare(a);
    round_begin(a);
}

static void done(struct act *a, int index, const MPI_Status *status)
{
    (void)a;
    (void)index;
    (void)status;
}

static bool end(struct act *a)
{
    struct collective *k = a->state;

    tell(a, "checks");
    if (k->kind->family >= REDUCE)
        fold_before_check(a);
    if (k->s.open)
        area_check(&k->s.area, "a send buffer");
    if (k->r.open)
        area_check(&k->r.area, "a receive buffer");
    if (++k->round >= k->rounds)
        return false;
    round_begin(a);
    return true;
}

static void half_close(struct half *h)
{
    buffer_free(&h->b);
    for (int i = 0; i < h->nlayouts; i++)
        layout_free(&h->layouts[i]);
    if (h->open)
        area_close(&h->area);
}

static void forget(struct act *a)
{
    struct collective *k = a->state;

    if (k->request != MPI_REQUEST_NULL)
        MPI_Request_free(&k->request);
    half_close(&k->s);
    half_close(&k->r);
    free(k);
}

const struct trade trade_collective = {"a collective", plan, start, done, end, forget};
