/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between members of a communicator, in one direction where it has two sides. */
#include "messages.h"

#include <stdlib.h>

#include "report.h"

static const int tags[] = {0, 1, 77, 32767};

uint64_t message_stream(const struct act *a, int i)
{
    const struct epoch *e = a->state;
    return key_of(key_of(a->key, (uint64_t)i + 100), (uint64_t)e->round);
}

int message_next(const struct act *a, int src, int tag)
{
    const struct epoch *e = a->state;

    for (int i = 0; i < e->n; i++) {
        const struct message *m = &e->m[i];
        if (!m->taken && m->src == src && m->dst == a->c->rank && (tag < 0 || m->tag == tag))
            return i;
    }
    return -1;
}

struct buffer buffer_of(const struct layout *l, const struct area *area, int count,
                        struct dice *mine)
{
    struct buffer b = {area->zero, count * l->mult, l->type, false};

    if (count > 0 && chance(mine, 15)) {
        b.bottom = true;
        b.type = layout_absolute(l, area->zero, count);
        b.at = MPI_BOTTOM;
        b.count = 1;
    }
    return b;
}

void buffer_free(struct buffer *b)
{
    if (b->bottom)
        MPI_Type_free(&b->type);
    b->bottom = false;
}

static bool is_quiet(const struct channel *c)
{
    return !c->traffic;
}

static void plan_message(struct act *a, struct dice *d, int i)
{
    struct epoch *e = a->state;
    struct message *m = &e->m[i];
    bool posted;

    m->src = below(d, a->c->side[e->from].n);
    m->dst = below(d, a->c->side[e->to].n);
    m->tag = tags[below(d, sizeof tags / sizeof *tags)];
    m->shape = key_of(a->key, 5);
    if (e->style[m->dst] == EXACT || e->style[m->dst] == PROBED)
        m->shape = key_of(a->key, (uint64_t)below(d, 100) + 10);
    m->count = (int)(some_size(d, largest) / shape_size(m->shape));
    posted = e->style[m->dst] != PROBED;
    m->mode = (enum mode)below(d, MODES);
    m->call = posted ? below(d, 3) : 1 + below(d, 2);
    if (m->mode == READY && !(e->ready && posted))
        m->mode = STANDARD;
    if (m->mode == BUFFERED && (size_t)m->count * shape_size(m->shape) > BUFFERED_MOST)
        m->mode = SYNCHRONOUS;
    /* Open MPI 4.1 may send zeros when a persistent buffered send is started again. */
    if (m->mode == BUFFERED && m->call == 2 && of_vendor(a->c))
        m->call = 1;
    a->barrier |= e->style[m->dst] != EXACT;
}

static bool plan(struct act *a, struct dice *d)
{
    struct epoch *e;

    a->c = channel_some(d, is_quiet);
    if (a->c == NULL)
        return false;
    a->c->traffic = true;
    a->state = e = calloc(1, sizeof *e);
    e->from = a->c->inter ? below(d, 2) : 0;
    e->to = a->c->inter ? 1 - e->from : 0;
    e->ready = chance(d, 50);
    e->rounds = chance(d, 40) ? 2 : 1;
    for (int i = 0; i < MOST_PROCESSES; i++)
        e->style[i] = (enum style)below(d, STYLES);
    e->n = 1 + below(d, 3 * a->c->side[e->to].n);
    if (e->n > MOST_MESSAGES)
        e->n = MOST_MESSAGES;
    for (int i = 0; i < e->n; i++)
        plan_message(a, d, i);
    return true;
}

static void round_begin(struct act *a)
{
    struct epoch *e = a->state;

    for (int i = 0; i < e->n; i++)
        e->m[i].taken = false;
    if (a->c->mine == e->to)
        receives_post(a);
    if (e->ready)
        MPI_Barrier(a->c->comm);
    if (a->c->mine == e->from)
        sends_start(a);
    if (a->c->mine == e->to && e->style[a->c->rank] == PROBED)
        receives_probe(a);
}

static void done(struct act *a, int index, const MPI_Status *status)
{
    struct epoch *e = a->state;
    int cancelled = 1;

    if (index < SEND_INDEX) {
        e->r[index].status = *status;
        return;
    }
    MPI_Test_cancelled(status, &cancelled);
    if (cancelled)
        wrong("a send was cancelled by nobody");
}

static bool end(struct act *a)
{
    struct epoch *e = a->state;

    if (a->c->mine == e->to)
        receives_check(a);
    if (a->c->mine == e->from)
        sends_check(a);
    if (++e->round >= e->rounds)
        return false;
    if (a->barrier) /* nobody's wildcards may see messages of the next round */
        MPI_Barrier(a->c->comm);
    round_begin(a);
    return true;
}

static void forget(struct act *a)
{
    receives_forget(a->state);
    sends_forget(a->state);
    free(a->state);
}

const struct trade trade_messages = {"messages", plan, round_begin, done, end, forget};
