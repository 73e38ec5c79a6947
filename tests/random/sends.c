/* SPDX-License-Identifier: BSD-3-Clause */
/* The sends of an epoch: all modes, blocking, started and persistent. */
#include "messages.h"
#include "report.h"

typedef int blocking_fn(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int started_fn(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static blocking_fn *const blocking[MODES] = {MPI_Send, MPI_Ssend, MPI_Bsend, MPI_Rsend};
static started_fn *const started[MODES] = {MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};
static started_fn *const persistent[MODES] = {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init,
                                              MPI_Rsend_init};

static void prepare(struct act *a, int i)
{
    struct epoch *e = a->state;
    struct send *s = &e->s[i];
    ptrdiff_t low, high;

    layout_make(&s->l, e->m[i].shape, e->m[i].count, &a->mine);
    layout_reach(&s->l, e->m[i].count, &low, &high);
    area_open(&s->area, low, high, key_of(a->key, (uint64_t)i + 3000));
    s->b = buffer_of(&s->l, &s->area, e->m[i].count, &a->mine);
    s->request = MPI_REQUEST_NULL;
}

static void send_one(struct act *a, int i)
{
    struct epoch *e = a->state;
    struct message *m = &e->m[i];
    struct send *s = &e->s[i];

    if (e->round == 0)
        prepare(a, i);
    area_fill(&s->area, 0, &s->l, m->count, message_stream(a, i));
    area_keep(&s->area);
    note("sends %d to %d tag %d, %zu bytes, mode %d call %d", i, m->dst, m->tag,
         (size_t)m->count * s->l.size, m->mode, m->call);
    if (m->call == 0) {
        blocking[m->mode](s->b.at, s->b.count, s->b.type, m->dst, m->tag, a->c->comm);
        return;
    }
    if (m->call == 1)
        started[m->mode](s->b.at, s->b.count, s->b.type, m->dst, m->tag, a->c->comm, &s->request);
    if (m->call == 2 && e->round == 0)
        persistent[m->mode](s->b.at, s->b.count, s->b.type, m->dst, m->tag, a->c->comm,
                            &s->request);
    if (m->call == 2 && chance(&a->mine, 50))
        MPI_Start(&s->request);
    else if (m->call == 2)
        MPI_Startall(1, &s->request);
    act_started(a, &s->request, SEND_INDEX + i, m->call == 2);
}

void sends_start(struct act *a)
{
    struct epoch *e = a->state;

    for (int i = 0; i < e->n; i++)
        if (e->m[i].src == a->c->rank)
            send_one(a, i);
}

void sends_check(struct act *a)
{
    struct epoch *e = a->state;

    for (int i = 0; i < e->n; i++)
        if (e->s[i].area.mem != NULL)
            area_check(&e->s[i].area, "the buffer of a send");
}

void sends_forget(struct epoch *e)
{
    for (int i = 0; i < e->n; i++) {
        struct send *s = &e->s[i];
        if (s->area.mem == NULL)
            continue;
        if (s->request != MPI_REQUEST_NULL)
            MPI_Request_free(&s->request);
        buffer_free(&s->b);
        layout_free(&s->l);
        area_close(&s->area);
    }
}
