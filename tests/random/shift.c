/* SPDX-License-Identifier: BSD-3-Clause */
/* Everybody sends and receives in one call, some to or from nobody. */
#include <stdlib.h>

#include "area.h"
#include "messages.h"
#include "report.h"
#include "step.h"

struct shift {
    int by, count, tag;
    uint64_t shape;
    bool edge[MOST_PROCESSES]; /* from this rank onwards: is there a message? */
    int to, from;
    bool in_place;
    struct layout sl, rl;
    struct area s, r;
    struct buffer sb, rb;
    MPI_Status status;
    MPI_Request request;
};

static bool fits(const struct channel *c)
{
    return !c->traffic && !c->inter;
}

static bool plan(struct act *a, struct dice *d)
{
    struct shift *t;

    a->c = channel_some(d, fits);
    if (a->c == NULL)
        return false;
    a->c->traffic = true;
    a->state = t = calloc(1, sizeof *t);
    t->by = below(d, a->c->side[0].n);
    t->tag = below(d, 1000);
    t->shape = key_of(a->key, 1);
    t->count = (int)(some_size(d, largest) / shape_size(t->shape));
    for (int i = 0; i < MOST_PROCESSES; i++)
        t->edge[i] = chance(d, 85);
    return true;
}

static uint64_t stream(const struct act *a, int src)
{
    return key_of(a->key, (uint64_t)src + 50);
}

static void open_one(struct act *a, struct layout *l, struct area *area, struct buffer *b, int what)
{
    const struct shift *t = a->state;
    ptrdiff_t low, high;

    layout_make(l, t->shape, t->count, &a->mine);
    layout_reach(l, t->count, &low, &high);
    area_open(area, low, high, key_of(a->key, (uint64_t)what + 20));
    *b = buffer_of(l, area, t->count, &a->mine);
}

#ifdef RANDOM_RENAME
/* Open MPI 4 has not these, and MPICH 4.0's give wrong data; they match the blocking ones. */
static bool by_started(struct act *a)
{
    struct shift *t = a->state;

    if (chance(&a->mine, 50))
        return false;
    if (t->in_place)
        MPI_Isendrecv_replace(t->rb.at, t->rb.count, t->rb.type, t->to, t->tag, t->from, t->tag,
                              a->c->comm, &t->request);
    else
        MPI_Isendrecv(t->sb.at, t->sb.count, t->sb.type, t->to, t->tag, t->rb.at, t->rb.count,
                      t->rb.type, t->from, t->tag, a->c->comm, &t->request);
    act_started(a, &t->request, 0, false);
    return true;
}
#else
static bool by_started(struct act *a)
{
    (void)a;
    return false;
}
#endif

static void start(struct act *a)
{
    struct shift *t = a->state;
    int n = a->c->size, left = (a->c->rank + n - t->by) % n;

    t->to = t->edge[a->c->rank] ? (a->c->rank + t->by) % n : MPI_PROC_NULL;
    t->from = t->edge[left] ? left : MPI_PROC_NULL;
    /* MPICH 4.0's Sendrecv_replace truncates some nested types. */
    t->in_place = chance(&a->mine, 40) && !of_vendor(a->c);
    open_one(a, &t->rl, &t->r, &t->rb, 0);
    open_one(a, &t->sl, &t->s, &t->sb, 1);
    if (t->in_place)
        area_fill(&t->r, 0, &t->rl, t->count, stream(a, a->c->rank));
    else
        area_fill(&t->s, 0, &t->sl, t->count, stream(a, a->c->rank));
    area_keep(&t->r);
    area_keep(&t->s);
    if (by_started(a))
        return;
    t->status.MPI_ERROR = 4711;
    if (t->in_place)
        MPI_Sendrecv_replace(t->rb.at, t->rb.count, t->rb.type, t->to, t->tag, t->from, t->tag,
                             a->c->comm, &t->status);
    else
        MPI_Sendrecv(t->sb.at, t->sb.count, t->sb.type, t->to, t->tag, t->rb.at, t->rb.count,
                     t->rb.type, t->from, t->tag, a->c->comm, &t->status);
#ifdef RANDOM_RENAME /* MPICH sets it */
    if (t->status.MPI_ERROR != 4711)
        wrong("a sendrecv has set its status' error to %d", t->status.MPI_ERROR);
#endif
}

static void done(struct act *a, int index, const MPI_Status *status)
{
    (void)index;
    ((struct shift *)a->state)->status = *status;
}

static bool end(struct act *a)
{
    struct shift *t = a->state;
    bool nobody = t->from == MPI_PROC_NULL;
    int count = -7, want = nobody ? 0 : t->rb.count;

    if (t->status.MPI_SOURCE != t->from || t->status.MPI_TAG != (nobody ? MPI_ANY_TAG : t->tag))
        wrong("a status says source %d, tag %d, not %d, %d", t->status.MPI_SOURCE,
              t->status.MPI_TAG, t->from, nobody ? MPI_ANY_TAG : t->tag);
    MPI_Get_count(&t->status, t->rb.type, &count);
    if (count != want)
        wrong("a status counts %d elements, not %d", count, want);
    if (!nobody)
        area_want(&t->r, 0, &t->rl, t->count, stream(a, t->from), (size_t)t->count * t->rl.size);
    area_check(&t->r, "what a sendrecv has got");
    area_check(&t->s, "the send buffer of a sendrecv");
    return false;
}

static void forget(struct act *a)
{
    struct shift *t = a->state;

    if (a->member) {
        buffer_free(&t->sb);
        buffer_free(&t->rb);
        layout_free(&t->sl);
        layout_free(&t->rl);
        area_close(&t->s);
        area_close(&t->r);
    }
    free(t);
}

const struct trade trade_shift = {"shift", plan, start, done, end, forget};
