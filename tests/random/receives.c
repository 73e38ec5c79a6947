/* SPDX-License-Identifier: BSD-3-Clause */
/* The receives of an epoch: posted before the sends, or asked for by probes after them. */
#include <sched.h>

#include "messages.h"
#include "report.h"

/* ---- posted ---- */

static int most_to(const struct epoch *e, int rank)
{
    int most = 0;

    for (int i = 0; i < e->n; i++)
        if (e->m[i].dst == rank && e->m[i].count > most)
            most = e->m[i].count;
    return most;
}

static struct receive *receive_new(struct act *a, uint64_t shape, int room)
{
    struct epoch *e = a->state;
    struct receive *r = &e->r[e->nreceives++];
    ptrdiff_t low, high;

    *r = (struct receive){.room = room, .message = -1, .request = MPI_REQUEST_NULL};
    layout_make(&r->l, shape, room, &a->mine);
    layout_reach(&r->l, room, &low, &high);
    area_open(&r->area, low, high, key_of(a->key, (uint64_t)e->nreceives + 2000));
    area_keep(&r->area);
    r->b = buffer_of(&r->l, &r->area, room, &a->mine);
    return r;
}

/* The receive for a message, as the style of this process says. */
static void receive_plan(struct act *a, int i)
{
    struct epoch *e = a->state;
    enum style style = e->style[a->c->rank];
    const struct message *m = &e->m[i];
    struct receive *r;
    int to = i;

    if (style == EXACT) { /* the first posted takes the first that is sent */
        to = message_next(a, m->src, m->tag);
        e->m[to].taken = true;
        r = receive_new(a, e->m[to].shape, e->m[to].count + below(&a->mine, 3));
    } else {
        r = receive_new(a, m->shape, most_to(e, a->c->rank) + below(&a->mine, 2));
    }
    r->message = style == EXACT ? to : -1;
    r->source = style == ANY_SOURCE || style == ANY_BOTH ? MPI_ANY_SOURCE : m->src;
    r->tag = style == ANY_TAG || style == ANY_BOTH ? MPI_ANY_TAG : m->tag;
    r->persistent = chance(&a->mine, 35);
}

static void receives_plan(struct act *a)
{
    struct epoch *e = a->state;
    int order[MOST_MESSAGES];

    shuffled(&a->mine, order, e->n);
    for (int i = 0; i < e->n; i++)
        if (e->m[order[i]].dst == a->c->rank)
            receive_plan(a, order[i]);
    for (int i = 0; i < e->n; i++)
        e->m[i].taken = false;
    if (chance(&a->mine, 25)) {
        struct receive *r = receive_new(a, key_of(a->key, 6), 3);
        r->source = chance(&a->mine, 50) ? MPI_ANY_SOURCE : 0;
        r->tag = TAG_OF_NOBODY;
        r->never = true;
        r->persistent = chance(&a->mine, 30);
    }
}

static void post(struct act *a, int i)
{
    struct epoch *e = a->state;
    struct receive *r = &e->r[i];
    MPI_Comm comm = a->c->comm;

    note("posts %d from %d tag %d", i, r->source, r->tag);
    if (!r->persistent)
        MPI_Irecv(r->b.at, r->b.count, r->b.type, r->source, r->tag, comm, &r->request);
    else if (e->round == 0)
        MPI_Recv_init(r->b.at, r->b.count, r->b.type, r->source, r->tag, comm, &r->request);
    if (r->persistent && chance(&a->mine, 50))
        MPI_Start(&r->request);
    else if (r->persistent)
        MPI_Startall(1, &r->request);
    if (!r->never)
        act_started(a, &r->request, i, r->persistent);
}

void receives_post(struct act *a)
{
    struct epoch *e = a->state;

    if (e->style[a->c->rank] == PROBED)
        return;
    if (e->round == 0)
        receives_plan(a);
    for (int i = 0; i < e->nreceives; i++)
        post(a, i);
}

/* ---- what has come ---- */

static void check_status(const struct receive *r, const struct message *m)
{
    int count = -7, elements = -7, cancelled = 1;

    if (r->status.MPI_SOURCE != m->src || r->status.MPI_TAG != m->tag)
        wrong("a status says source %d, tag %d, not %d, %d", r->status.MPI_SOURCE,
              r->status.MPI_TAG, m->src, m->tag);
    MPI_Test_cancelled(&r->status, &cancelled);
    if (cancelled)
        wrong("a receive was cancelled by nobody");
#ifdef MPICH_VERSION /* its Get_elements counts wrong, or crashes, for some nested types */
    elements = m->count * r->l.elements;
#else
    MPI_Get_elements(&r->status, r->b.type, &elements);
#endif
    if (elements != m->count * r->l.elements)
        wrong("a status counts %d basic elements, not %d", elements, m->count * r->l.elements);
    if (r->b.bottom)
        return;
    MPI_Get_count(&r->status, r->b.type, &count);
    if (count != m->count * r->l.mult)
        wrong("a status counts %d elements, not %d", count, m->count * r->l.mult);
}

static void check(struct act *a, struct receive *r)
{
    struct epoch *e = a->state;
    int i = r->message;

    if (i < 0)
        i = message_next(a, r->status.MPI_SOURCE, r->tag == MPI_ANY_TAG ? -1 : r->tag);
    if (i < 0) {
        wrong("a message from %d with tag %d that nobody has sent", r->status.MPI_SOURCE,
              r->status.MPI_TAG);
        return;
    }
    e->m[i].taken = true;
    check_status(r, &e->m[i]);
    area_want(&r->area, 0, &r->l, e->m[i].count, message_stream(a, i),
              (size_t)e->m[i].count * r->l.size);
    area_check(&r->area, "what a receive has got");
}

static void cancel(struct receive *r)
{
    int cancelled = 0;

    MPI_Cancel(&r->request);
    MPI_Wait(&r->request, &r->status);
    MPI_Test_cancelled(&r->status, &cancelled);
    if (!cancelled)
        wrong("a receive that nobody answers was not cancelled");
    area_check(&r->area, "what a cancelled receive has got");
}

void receives_check(struct act *a)
{
    struct epoch *e = a->state;

    for (int i = 0; i < e->nreceives; i++) {
        note("checks receive %d", i);
        if (e->r[i].never)
            cancel(&e->r[i]);
        else
            check(a, &e->r[i]);
        area_keep(&e->r[i].area);
    }
    if (e->style[a->c->rank] == PROBED)
        receives_forget(e);
}

void receives_forget(struct epoch *e)
{
    for (int i = 0; i < e->nreceives; i++) {
        struct receive *r = &e->r[i];
        if (r->request != MPI_REQUEST_NULL)
            MPI_Request_free(&r->request);
        buffer_free(&r->b);
        layout_free(&r->l);
        area_close(&r->area);
    }
    e->nreceives = 0;
}

/* ---- probed ---- */

/* Wait until there is a message of the pattern, in one of four ways. */
static void see(struct act *a, int source, int tag, bool matched, MPI_Message *message,
                MPI_Status *status)
{
    bool poll = chance(&a->mine, 50);
    int flag = 0;

    if (matched && !poll)
        MPI_Mprobe(source, tag, a->c->comm, message, status);
    if (!matched && !poll)
        MPI_Probe(source, tag, a->c->comm, status);
    while (poll && !flag) {
        if (matched)
            MPI_Improbe(source, tag, a->c->comm, &flag, message, status);
        else
            MPI_Iprobe(source, tag, a->c->comm, &flag, status);
        sched_yield();
    }
}

static void take(struct act *a, struct receive *r, int i, bool matched, MPI_Message *message)
{
    struct epoch *e = a->state;
    bool wait = chance(&a->mine, 50);
    MPI_Comm comm = a->c->comm;

    if (matched && wait)
        MPI_Mrecv(r->b.at, r->b.count, r->b.type, message, &r->status);
    if (matched && !wait)
        MPI_Imrecv(r->b.at, r->b.count, r->b.type, message, &r->request);
    if (!matched && wait)
        MPI_Recv(r->b.at, r->b.count, r->b.type, e->m[i].src, e->m[i].tag, comm, &r->status);
    if (!matched && !wait)
        MPI_Irecv(r->b.at, r->b.count, r->b.type, e->m[i].src, e->m[i].tag, comm, &r->request);
    if (!wait)
        act_started(a, &r->request, (int)(r - e->r), false);
    if (matched && *message != MPI_MESSAGE_NULL)
        wrong("a message that was received is not MPI_MESSAGE_NULL");
}

/* The message of a status: the first of its source and tag that was not taken. */
static int probed(struct act *a, const MPI_Status *status, int tag)
{
    int i = message_next(a, status->MPI_SOURCE, tag == MPI_ANY_TAG ? -1 : tag);

    if (i < 0 || ((struct epoch *)a->state)->m[i].tag != status->MPI_TAG) {
        wrong("a probe sees a message from %d with tag %d, which nobody has sent, or not yet",
              status->MPI_SOURCE, status->MPI_TAG);
        return message_next(a, status->MPI_SOURCE, status->MPI_TAG);
    }
    return i;
}

static int any_open(struct act *a)
{
    struct epoch *e = a->state;
    int open[MOST_MESSAGES], n = 0;

    for (int i = 0; i < e->n; i++)
        if (e->m[i].dst == a->c->rank && !e->m[i].taken)
            open[n++] = i;
    return n == 0 ? -1 : open[below(&a->mine, n)];
}

void receives_probe(struct act *a)
{
    struct epoch *e = a->state;

    for (int some; (some = any_open(a)) >= 0;) {
        int source = chance(&a->mine, 50) ? MPI_ANY_SOURCE : e->m[some].src;
        int tag = chance(&a->mine, 50) ? MPI_ANY_TAG : e->m[some].tag, i;
        bool matched = chance(&a->mine, 50);
        MPI_Message message = MPI_MESSAGE_NULL;
        struct receive *r;
        MPI_Status status;

        if (chance(&a->mine, 25)) { /* without a probe */
            i = message_next(a, e->m[some].src, e->m[some].tag);
            matched = false;
        } else {
            note("probes for %d tag %d", source, tag);
            see(a, source, tag, matched, &message, &status);
            i = probed(a, &status, tag);
        }
        if (i < 0)
            return;
        e->m[i].taken = true;
        r = receive_new(a, e->m[i].shape, e->m[i].count + below(&a->mine, 2));
        r->message = i;
        take(a, r, i, matched, &message);
    }
}
