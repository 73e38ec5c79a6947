/* SPDX-License-Identifier: BSD-3-Clause */
/* Probing for messages. Functions of p2p.h take the engine lock. */
#include "p2p/handle.h"

#define PROBE_NS 2000000000LL /* between two checks whether to dial a silent source */

struct look {
    struct wio_universe *u;
    struct waitio_group *g;
    int64_t src, tag;
    bool wary;
    struct wio_held *found;
    const struct wio_peer *failed; /* wary: it ends the probe */
};

static bool source_gone(struct look *l)
{
    if (l->u->left)
        return true;
    if (l->src >= 0) {
        const struct wio_peer *p = l->u->peer[l->src];
        return p != NULL && p->dead;
    }
    if (l->wary && l->u->failures > l->g->failures)
        l->failed = wio_failed_member(l->u, l->g);
    return l->failed != NULL || wio_nobody_left(l->u, l->g);
}

static bool look_done(void *arg)
{
    struct look *l = arg;
    l->found = wio_match_probe(&l->u->match, l->g->space, l->src, l->tag);
    return l->found != NULL || source_gone(l);
}

static bool look_ends(void *arg)
{
    return look_done(arg) || wio_can_serve(((const struct look *)arg)->u);
}

/* No receive is posted that would dial a silent source: the probe does it. */
static void probe_wait(struct wio_universe *u, struct look *l, int64_t deadline_ns)
{
    for (;;) {
        int64_t now = wio_os_now_ns();
        if (look_done(l) || now >= deadline_ns)
            return;
        wio_stuck_probe(u, l->g, l->src, now);
        int64_t slice = deadline_ns - now < PROBE_NS ? deadline_ns - now : PROBE_NS;
        wio_wait_until(u, look_ends, l, NULL, "probe", now + slice);
        if (!look_done(l))
            wio_task_serve(u);
    }
}

static void probe_marked(struct wio_universe *u, struct look *l, int64_t deadline_ns)
{
    bool waits = WIO_TRACED(u) && !look_done(l);
    uint32_t mark = waits ? wio_mark_begin(u, WIO_EVENT_WAIT, WIO_EVENT_WAIT_PROBE, l->src) : 0;
    probe_wait(u, l, deadline_ns);
    if (waits)
        wio_mark_end(u, mark, l->found != NULL ? l->found->src : -1);
}

int wio_probe_for(struct wio_universe *u, struct waitio_group *g, int64_t src, int64_t tag,
                  int64_t timeout_ns, bool *found, struct wio_result *res)
{
    *res = wio_no_result();
    *found = false;
    wio_enter(u);
    struct look l = {.u = u,
                     .g = g,
                     .tag = tag < 0 ? WIO_ANY : tag,
                     .wary = src == WIO_ANY_WARY,
                     .src = src < 0 ? WIO_ANY : (int64_t)wio_group_member(g, (uint32_t)src)};
    int rc = WIO_UNLIKELY(u->resume != NULL) ? wio_resume_receives(u) : 0;
    if (rc != 0) {
        wio_leave(u);
        return rc;
    }
    if (!look_done(&l))
        (void)wio_poke(u);
    if (timeout_ns > 0)
        probe_marked(u, &l, wio_deadline(timeout_ns));
    else if (!look_done(&l))
        wio_stuck_probe(u, g, l.src, wio_os_now_ns());
    if (l.found != NULL) {
        const struct wio_unexpected *m = (const struct wio_unexpected *)(const void *)l.found;
        *found = true;
        res->source = (int32_t)wio_group_rank_of(g, (uint32_t)l.found->src);
        res->tag = (int32_t)l.found->tag;
        res->bytes = m->total;
    } else if (source_gone(&l)) {
        rc = u->left      ? wio_fail(WAITIO_ERR_STATE, "another thread has left the universe")
             : l.src >= 0 ? wio_peer_error(u, u->peer[l.src])
             : l.failed != NULL
                 ? wio_unsafe_error(u, l.failed)
                 : wio_fail(WAITIO_ERR_PEER, "no living process of the group could send");
    }
    wio_leave(u);
    return rc;
}

int wio_probe(struct wio_universe *u, struct waitio_group *g, int64_t src, int64_t tag, bool block,
              bool *found, struct wio_result *res)
{
    return wio_probe_for(u, g, src, tag, block ? INT64_MAX : 0, found, res);
}

/* ---- matched probes ---- */

int wio_claim(struct wio_universe *u, struct waitio_group *g, uint32_t src, int32_t tag,
              bool *claimed, struct wio_handle *h)
{
    int rc = 0;
    *claimed = false;
    wio_enter(u);
    struct wio_held *held =
        wio_match_probe(&u->match, g->space, (int64_t)wio_group_member(g, src), tag);
    struct wio_unexpected *m = (struct wio_unexpected *)(void *)held;
    if (m != NULL && m->rts) {
        struct wio_request *r = wio_op_recv(u, g, src, NULL, m->total, tag, WIO_REQ_RECV);
        if (r == NULL) {
            rc = WAITIO_ERR_NOMEM;
        } else {
            wio_match_unhold(&u->match, held);
            r->claimed = true;
            r->expected.mark = wio_mark_receive(u, r->src, r->space, r->bytes, r->tag);
            wio_recv_take(u, r, m);
            wio_op_name(r, h);
            *claimed = true;
        }
    }
    wio_leave(u);
    return rc;
}

int wio_claimed_recv(struct wio_universe *u, const struct wio_handle *h, void *buf,
                     const struct wio_spread *s, size_t bytes)
{
    wio_enter(u);
    struct wio_request *r = wio_handle_find(u, h);
    if (r != NULL && r->claimed && r->state != WIO_RS_DONE) { /* else its sender has died */
        const struct wio_lent lender = r->lender;
        bool lends = r->lent;
        r->claimed = r->lent = false;
        r->buf = buf;
        r->bytes = bytes;
        if (s != NULL)
            wio_spread_set(r, s);
        if (r->begun_ns != 0)
            r->begun_ns = wio_os_now_ns(); /* the sender is not interested in the time before */
        wio_req_bulky(r);
        wio_recv_ask(r, lends, &lender);
    }
    wio_leave(u);
    return r != NULL ? 0 : WAITIO_ERR_REQUEST;
}
