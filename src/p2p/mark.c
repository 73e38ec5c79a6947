/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the engine writes into its trace. All of it happens under the engine lock, and only when
 * there is a trace: the calls in the engine are branches on one pointer. A message costs one record
 * on each side, which is completed as it goes on; so a killed process leaves what it was waiting
 * for.
 */
#include "boot/boot.h"
#include "p2p/universe.h"
#include "waitio.h"

/* ---- from joining to leaving ---- */

int wio_mark_open(struct wio_universe *u, const struct wio_timeline_clock *begun)
{
    const struct wio_table *t = u->table;
    struct wio_timeline *line = wio_os_realloc(NULL, sizeof *line);
    if (line == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for a trace");
    struct wio_timeline_who who = {.rank = t->me, .size = t->size, .npb = t->npb};
    _Static_assert(sizeof who.universe == sizeof t->universe, "the same");
    memcpy(who.universe, t->universe, sizeof who.universe);
    who.pb = wio_table_pb_of(t, t->me);
    who.pb_rank = t->me - t->pb_base[who.pb];
    who.pb_size = t->pb_size[who.pb];
    who.release = WAITIO_VERSION_STRING;
    struct wio_timeline_clock now;
    wio_timeline_begin(line, &now);
    int rc = wio_timeline_open(line, u->cfg.trace, u->cfg.trace_max, &who, begun);
    if (rc != 0) {
        wio_os_free(line);
        return rc;
    }
    u->timeline = line;
    (void)wio_timeline_add(line, &(struct wio_event){.from = begun->ticks,
                                                     .to = now.ticks,
                                                     .what = WIO_EVENT_LIFE_JOIN,
                                                     .peer = WIO_EVENT_NOBODY,
                                                     .kind = WIO_EVENT_LIFE,
                                                     .thread = wio_timeline_thread()});
    return 0;
}

void wio_mark_close(struct wio_universe *u)
{
    if (u->timeline == NULL)
        return;
    wio_timeline_close(u->timeline);
    wio_os_free(u->timeline);
    u->timeline = NULL;
}

void wio_mark_state(struct wio_universe *u, uint32_t state)
{
    if (u->timeline != NULL)
        wio_timeline_state(u->timeline, state);
}

/* ---- links ---- */

void wio_mark_link_now(struct wio_universe *u, const struct wio_peer *p, uint8_t kind)
{
    (void)wio_timeline_add(u->timeline, &(struct wio_event){.from = wio_timeline_now(u->timeline),
                                                            .peer = p->rank,
                                                            .envelope = p->epoch / 2,
                                                            .kind = kind});
}

/* ---- messages ---- */

void wio_mark_sent_now(struct wio_universe *u, const struct wio_peer *p, const struct wio_msg *m,
                       size_t bytes, int64_t begun)
{
    int64_t now = wio_timeline_now(u->timeline);
    (void)wio_timeline_add(u->timeline, &(struct wio_event){.from = begun != 0 ? begun : now,
                                                            .to = now,
                                                            .bytes = bytes,
                                                            .peer = p->rank,
                                                            .envelope = m->envelope,
                                                            .what = m->tag,
                                                            .space = (uint32_t)m->space,
                                                            .kind = WIO_EVENT_SEND});
}

void wio_mark_send_now(struct wio_request *r)
{
    struct wio_timeline *t = r->u->timeline;
    r->expected.mark = wio_timeline_add(t, &(struct wio_event){.from = wio_timeline_now(t),
                                                               .bytes = r->bytes,
                                                               .peer = r->peer->rank,
                                                               .envelope = r->envelope,
                                                               .what = r->tag,
                                                               .space = (uint32_t)r->space,
                                                               .kind = WIO_EVENT_SEND});
}

uint32_t wio_mark_receive_now(struct wio_universe *u, int64_t src, uint64_t space, size_t bytes,
                              int32_t tag)
{
    struct wio_timeline *t = u->timeline;
    return wio_timeline_add(t,
                            &(struct wio_event){.from = wio_timeline_now(t),
                                                .bytes = bytes,
                                                .peer = src < 0 ? WIO_EVENT_NOBODY : (uint32_t)src,
                                                .what = tag,
                                                .space = (uint32_t)space,
                                                .kind = WIO_EVENT_RECEIVE});
}

void wio_mark_took_now(struct wio_universe *u, const struct wio_peer *p, uint64_t space,
                       uint32_t envelope, size_t bytes, int32_t tag)
{
    int64_t now = wio_timeline_now(u->timeline);
    (void)wio_timeline_add(u->timeline, &(struct wio_event){.from = now,
                                                            .to = now,
                                                            .bytes = bytes,
                                                            .peer = p->rank,
                                                            .envelope = envelope,
                                                            .what = tag,
                                                            .space = (uint32_t)space,
                                                            .kind = WIO_EVENT_RECEIVE});
}

void wio_mark_whole_now(struct wio_universe *u, uint32_t mark, const struct wio_msg *m)
{
    struct wio_event *e = wio_timeline_at(u->timeline, mark);
    if (e == NULL)
        return;
    e->envelope = m->envelope;
    e->bytes = m->a;
}

void wio_mark_matched_now(const struct wio_request *r, uint32_t envelope)
{
    struct wio_event *e = wio_timeline_at(r->u->timeline, r->expected.mark);
    if (e == NULL)
        return;
    e->mid = wio_timeline_now(r->u->timeline);
    e->peer = r->peer->rank;
    e->what = r->tag;
    if (r->kind == WIO_REQ_SEND)
        return;
    e->envelope = envelope;
    e->bytes = r->total;
}

void wio_mark_over_now(struct wio_universe *u, uint32_t mark, uint8_t flags)
{
    struct wio_event *e = wio_timeline_at(u->timeline, mark);
    if (e == NULL)
        return;
    e->to = wio_timeline_now(u->timeline);
    e->flags |= flags;
}

/* ---- waits ---- */

void wio_mark_waited_now(struct wio_universe *u, uint32_t mark)
{
    struct wio_event *e = wio_timeline_at(u->timeline, mark);
    if (e == NULL || e->waited != 0)
        return;
    e->thread = wio_timeline_thread();
    e->waited = wio_timeline_now(u->timeline);
}

uint32_t wio_mark_begin_now(struct wio_universe *u, uint8_t kind, int32_t what, int64_t peer)
{
    struct wio_timeline *t = u->timeline;
    return wio_timeline_add(
        t, &(struct wio_event){.from = wio_timeline_now(t),
                               .peer = peer < 0 ? WIO_EVENT_NOBODY : (uint32_t)peer,
                               .what = what,
                               .kind = kind,
                               .thread = wio_timeline_thread()});
}

void wio_mark_end_now(struct wio_universe *u, uint32_t mark, int64_t peer)
{
    struct wio_event *e = wio_timeline_at(u->timeline, mark);
    if (e == NULL)
        return;
    if (peer >= 0)
        e->peer = (uint32_t)peer;
    e->to = wio_timeline_now(u->timeline);
}

/* ---- for upper layers, which do not hold the lock ---- */

bool wio_universe_traced(const struct wio_universe *u)
{
    return u->timeline != NULL;
}

uint32_t wio_universe_mark(struct wio_universe *u, const struct wio_event *what)
{
    struct wio_event e = *what;
    wio_enter(u);
    e.thread = wio_timeline_thread();
    e.from = wio_timeline_now(u->timeline);
    uint32_t mark = wio_timeline_add(u->timeline, &e);
    wio_leave(u);
    return mark;
}

void wio_universe_marked(struct wio_universe *u, uint32_t mark, int err)
{
    wio_enter(u);
    wio_mark_over_now(u, mark, err != 0 ? WIO_EVENT_FLAG_FAILED : 0);
    wio_leave(u);
}
