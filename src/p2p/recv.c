/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives: posting, matching an unexpected message, completion, and the failure of a source. */
#include "p2p/stripe.h"

static void moving(struct wio_request *r, bool on)
{
    if (on) {
        r->peer->moving++;
        wio_list_push(&r->peer->owned, &r->owned);
    } else {
        r->peer->moving--;
        wio_list_remove(&r->owned);
    }
}

void wio_recv_matched(struct wio_request *r, struct wio_peer *p, size_t total, int32_t tag)
{
    r->peer = p;
    r->total = total;
    r->moved = 0;
    r->tag = tag;
    r->state = WIO_RS_MOVING;
    r->envelope = 0;
    r->asked = false;
    moving(r, true);
    if (r->group != NULL)
        r->status_source = (int32_t)wio_group_rank_of(r->group, p->rank);
}

/* What its sender has asked for: the time since the match. 0: nothing */
static int32_t took(const struct wio_request *r)
{
    if (WIO_LIKELY(r->begun_ns == 0))
        return 0;
    int64_t ns = wio_os_now_ns() - r->begun_ns;
    return ns < 1 ? 1 : ns < INT32_MAX ? (int32_t)ns : INT32_MAX;
}

void wio_recv_complete(struct wio_request *r)
{
    struct wio_universe *u = r->u;
    struct wio_peer *p = r->peer;
    moving(r, false);
    if (r->remote != 0) {
        struct wio_msg m = {.op = WIO_OP_DONE,
                            .tag = took(r),
                            .a = r->total < r->bytes ? r->total : r->bytes,
                            .b = r->remote};
        u->batched = true; /* sent with the answer that usually follows */
        (void)wio_send_ctl(u, p, &m, WIO_TX_SMALL | WIO_TX_BATCH);
    }
    u->ctr.recv_msgs++;
    u->ctr.recv_bytes += r->total < r->bytes ? r->total : r->bytes;
    wio_req_finish(r, r->total > r->bytes ? WAITIO_ERR_TRUNCATE : 0);
}

/* A rendezvous request has matched its receive: answer with the size, or fetch the data. */
void wio_recv_ask(struct wio_request *r, bool lends, const struct wio_lent *lender)
{
    size_t granted = r->total < r->bytes ? r->total : r->bytes;
    r->granted = granted;
    r->asked = true;
    if (lends && wio_fetch_begin(r, lender))
        return;
    bool stripes = granted >= 2 * WIO_STRIPE_UNIT && !wio_is_spread(r);
    struct wio_msg m = {.op = WIO_OP_CTS,
                        .flags = stripes ? WIO_MSG_STRIPES : 0,
                        .space = wio_req_id(r),
                        .a = granted,
                        .b = r->remote};
    (void)wio_send_ctl(r->u, r->peer, &m, WIO_TX_SMALL);
    if (granted == 0) {
        r->remote = 0; /* a grant of 0 bytes completes the send, too */
        wio_recv_complete(r);
    }
}

void wio_unexpected_free(struct wio_universe *u, struct wio_unexpected *m)
{
    wio_list_remove(&m->owned);
    wio_os_free(m->stored);
    u->ctr.unexpected_bytes -= sizeof *m + (m->rts || m->stored != NULL ? 0 : m->total);
    if (!m->rts && m->stored == NULL && sizeof *m + m->total > WIO_SMALL_HELD)
        wio_buffer_put(&u->buffers, m, sizeof *m + m->total);
    else
        wio_pool_put(&u->small_pool, m);
}

static void copy_out(struct wio_universe *u, struct wio_request *r, const struct wio_unexpected *m)
{
    size_t n = m->arrived < r->bytes ? m->arrived : r->bytes;
    if (wio_is_spread(r)) {
        wio_spread_write(r, 0, n, m->data);
        return;
    }
    if (n > 0)
        wio_os_copy(r->buf, m->data, n);
    u->ctr.copied_bytes += n;
}

void wio_recv_take(struct wio_universe *u, struct wio_request *r, struct wio_unexpected *m)
{
    struct wio_peer *p = m->peer;
    wio_recv_matched(r, p, m->total, (int32_t)m->held.tag);
    wio_mark_matched(r, m->envelope);
    if (WIO_UNLIKELY(m->stored != NULL)) {
        wio_resume_take(r, m);
        return;
    }
    if (m->timed)
        r->begun_ns = wio_os_now_ns();
    wio_credit_consumed(u, p, m->cost, m->epoch);
    if (m->rts) {
        r->remote = m->remote;
        const struct wio_lent lender = m->lender;
        bool lends = m->lends;
        wio_unexpected_free(u, m);
        if (r->claimed) {
            r->lent = lends;
            r->lender = lender;
        } else {
            wio_recv_ask(r, lends, &lender);
        }
        return;
    }
    r->remote = m->remote;
    r->granted = m->total;
    copy_out(u, r, m);
    if (m->arrived == m->total) {
        wio_unexpected_free(u, m);
        wio_recv_complete(r);
        return;
    }
    m->req = r; /* the rest goes straight to the user's buffer */
}

/** Envelope arrived for a posted receive. */
void wio_recv_answer(struct wio_request *r, struct wio_peer *p, const struct wio_msg *msg)
{
    wio_recv_matched(r, p, (size_t)msg->a, msg->tag);
    wio_mark_matched(r, msg->envelope);
    if ((msg->flags & WIO_MSG_TIMED) != 0)
        r->begun_ns = wio_os_now_ns();
    if (msg->op == WIO_OP_RTS) {
        r->remote = msg->b;
        wio_recv_ask(r, (msg->flags & WIO_MSG_LENDS) != 0, &(struct wio_lent){0});
        return;
    }
    r->envelope = msg->envelope;
    r->remote = msg->b;
    r->granted = r->total;
}

bool wio_nobody_left(const struct wio_universe *u, const struct waitio_group *g)
{
    const struct wio_peer *self = u->peer[u->table->me];
    if (u->deaths == 0)
        return false;
    if (g->size == 1 && wio_group_member(g, 0) == u->table->me) /* another thread may send */
        return self != NULL && self->dead;
    if (self != NULL && !self->dead && self->send_envelope != self->recv_envelope)
        return false; /* a message to ourselves is on its way */
    for (uint32_t i = 0; i < g->size; i++) {
        uint32_t rank = wio_group_member(g, i);
        if (rank != u->table->me && (u->peer[rank] == NULL || !u->peer[rank]->dead))
            return false;
    }
    return true;
}

void wio_recv_untabled(struct wio_request *r)
{
    r->brief = false;
    r->state = WIO_RS_POSTED;
    r->post.space = r->space;
    r->post.src = r->src;
    r->post.tag = r->tag < 0 ? WIO_ANY : r->tag;
    wio_req_bulky(r);
}

/* It is posted, and may wait for a member that has failed. */
static void end_if_unsafe(struct wio_request *r, struct wio_peer *failed)
{
    if (failed == NULL)
        return;
    wio_match_unpost(&r->u->match, &r->post);
    r->peer = failed;
    r->unsafe = true;
    wio_req_finish(r, WAITIO_ERR_PEER);
}

/* It is posted, but no process can send its message any more. */
static void end_if_hopeless(struct wio_request *r)
{
    struct wio_universe *u = r->u;
    struct wio_peer *p = r->src >= 0 ? u->peer[r->src] : NULL;
    if (p != NULL && p->dead && wio_list_empty(&p->early)) {
        wio_match_unpost(&u->match, &r->post);
        r->peer = p;
        wio_req_finish(r, WAITIO_ERR_PEER);
    } else if (r->src == WIO_ANY && wio_nobody_left(u, r->group)) {
        wio_match_unpost(&u->match, &r->post);
        wio_req_finish(r, WAITIO_ERR_PEER);
    } else if (WIO_UNLIKELY(r->wary && u->failures > r->group->failures)) {
        end_if_unsafe(r, wio_failed_member(u, r->group));
    } else if (WIO_UNLIKELY(u->left)) {
        wio_match_unpost(&u->match, &r->post);
        wio_req_finish(r, WAITIO_ERR_STATE);
    }
}

void wio_recv_start(struct wio_request *r)
{
    struct wio_universe *u = r->u;
    wio_recv_untabled(r);
    r->expected.mark = wio_mark_receive(u, r->src, r->space, r->bytes, r->tag);
    int rc = WIO_UNLIKELY(u->resume != NULL) ? wio_resume_receives(u) : 0;
    if (rc == 0 && wio_is_revoked(u, r->space))
        rc = WAITIO_ERR_PEER;
    if (rc != 0) {
        wio_req_finish(r, rc);
        return;
    }
    struct wio_held *h = wio_match_post(&u->match, &r->post);
    if (h != NULL)
        wio_recv_take(u, r, (struct wio_unexpected *)(void *)h);
    else
        end_if_hopeless(r);
}

void wio_recv_table(struct wio_request *r, uint64_t order)
{
    wio_recv_untabled(r);
    if (wio_is_revoked(r->u, r->space)) {
        wio_req_finish(r, WAITIO_ERR_PEER);
        return;
    }
    wio_match_post_front(&r->u->match, &r->post, order);
    end_if_hopeless(r);
}

struct wio_request *wio_recv_brief(struct wio_universe *u, uint64_t space, uint32_t rank,
                                   int32_t src, void *buf, size_t bytes, int32_t tag)
{
    if (bytes > u->cfg.local_max || !wio_expects(u, u->peer[rank], space, tag))
        return NULL;
    struct wio_request *r = wio_req_new_brief(u);
    if (WIO_UNLIKELY(r == NULL))
        return NULL;
    r->status_source = src;
    r->tag = tag;
    r->src = (int64_t)rank;
    r->space = space;
    r->buf = buf;
    r->bytes = bytes;
    r->expected.space = space;
    r->expected.buf = buf;
    r->expected.bytes = bytes;
    r->expected.tag = tag;
    r->expected.leg = false;
    r->expected.mark = wio_mark_receive(u, r->src, space, bytes, tag);
    wio_expect(u, u->peer[rank], &r->expected);
    return r;
}

/* ---- failure of a source ---- */

struct gone {
    struct wio_universe *u;
    struct wio_peer *p;
};

static void fail_posted(void *arg, struct wio_post *post)
{
    const struct gone *g = arg;
    struct wio_request *r = WIO_CONTAINER(post, struct wio_request, post);
    bool member = r->src == WIO_ANY && wio_group_rank_of(r->group, g->p->rank) >= 0;
    if (r->src == (int64_t)g->p->rank || (member && wio_nobody_left(g->u, r->group))) {
        wio_match_unpost(&g->u->match, post);
        r->peer = g->p;
        wio_req_finish(r, WAITIO_ERR_PEER);
    } else if (member && r->wary && !g->p->left) {
        end_if_unsafe(r, g->p);
    }
}

static void fail_moving(struct wio_peer *p)
{
    WIO_LIST_FOR_SAFE(it, next, &p->owned)
    {
        struct wio_request *r = WIO_CONTAINER(it, struct wio_request, owned);
        if (r->kind != WIO_REQ_RECV || wio_peer_link_holds(p, r) ||
            (r->parts != NULL && r->parts->open > 0))
            continue; /* a link may be reading into its buffer: it ends with that */
        p->moving--;
        wio_req_finish(r, WAITIO_ERR_PEER);
    }
}

/* Nobody will receive it; a receive that has matched gave its credit back already. */
static void drop(struct wio_universe *u, struct wio_unexpected *m, bool charged)
{
    if (charged)
        wio_credit_consumed(u, m->peer, m->cost, m->epoch);
    wio_unexpected_free(u, m);
}

/* Unexpected rendezvous requests of a dead peer never deliver. */
static void drop_ask(void *arg, struct wio_held *h)
{
    const struct gone *g = arg;
    struct wio_unexpected *m = (struct wio_unexpected *)(void *)h;
    if (m->peer == g->p && m->rts) {
        wio_match_unhold(&g->u->match, h);
        drop(g->u, m, true);
    }
}

/* Messages of which a part has come, and those that came before their turn. */
static void drop_coming(struct wio_universe *u, struct wio_peer *p)
{
    WIO_LIST_FOR_SAFE(it, next, &p->partial)
    {
        struct wio_unexpected *m = WIO_CONTAINER(it, struct wio_unexpected, owned);
        if (m->req == NULL && wio_list_linked(&m->held.bin))
            wio_match_unhold(&u->match, &m->held);
        drop(u, m, m->req == NULL);
    }
    WIO_LIST_FOR_SAFE(it, next, &p->early)
    {
        drop(u, WIO_CONTAINER(it, struct wio_unexpected, owned), true);
    }
}

void wio_recv_peer_gone(struct wio_universe *u, struct wio_peer *p)
{
    wio_expect_table(u, p);
    fail_moving(p);
    if (p->ep == NULL) /* else the link may be reading into them */
        drop_coming(u, p);
    struct gone g = {u, p};
    wio_match_each_held(&u->match, drop_ask, &g);
    wio_match_each_post(&u->match, fail_posted, &g);
}

void wio_recv_discard(struct wio_universe *u, struct wio_unexpected *m)
{
    if (!wio_recv_refuse(u, m))
        drop(u, m, true);
}

/* ---- leaving ---- */

static void say_refused(struct wio_universe *u, struct wio_peer *p, uint64_t remote)
{
    struct wio_msg msg = {.op = WIO_OP_DONE, .space = WIO_DONE_REFUSED, .b = remote};
    (void)wio_send_ctl(u, p, &msg, WIO_TX_SMALL);
}

bool wio_recv_refuse(struct wio_universe *u, struct wio_unexpected *m)
{
    if (m->remote == 0 || (!m->rts && m->arrived < m->total))
        return false;
    say_refused(u, m->peer, m->remote);
    drop(u, m, true);
    return true;
}

void wio_recv_refuse_unwanted(struct wio_universe *u, struct wio_unexpected *m)
{
    if (WIO_LIKELY(!m->unwanted) || (!m->rts && m->arrived < m->total))
        return;
    wio_match_unhold(&u->match, &m->held);
    (void)wio_recv_refuse(u, m);
}

struct withdrawal {
    struct wio_universe *u;
    const struct wio_peer *p;
    uint64_t remote;
};

static void withdraw_held(void *arg, struct wio_held *h)
{
    const struct withdrawal *w = arg;
    struct wio_unexpected *m = (struct wio_unexpected *)(void *)h;
    if (m->peer != w->p || m->remote != w->remote)
        return;
    m->unwanted = true; /* a part of it may be on its way still */
    wio_recv_refuse_unwanted(w->u, m);
}

void wio_recv_withdraw(struct wio_universe *u, struct wio_peer *p, uint64_t remote)
{
    struct withdrawal w = {u, p, remote};
    WIO_LIST_FOR(it, &p->early)
    {
        struct wio_unexpected *m = WIO_CONTAINER(it, struct wio_unexpected, owned);
        if (m->remote == remote)
            m->unwanted = true; /* refused when its turn comes */
    }
    wio_match_each_held(&u->match, withdraw_held, &w);
}

static void refuse_held(void *arg, struct wio_held *h)
{
    struct wio_universe *u = arg;
    struct wio_unexpected *m = (struct wio_unexpected *)(void *)h;
    if (m->remote == 0 || (!m->rts && m->arrived < m->total))
        return;
    wio_match_unhold(&u->match, h);
    (void)wio_recv_refuse(u, m);
}

/* A matched probe has taken them, and they were not received. */
static void refuse_claimed(struct wio_universe *u, struct wio_peer *p)
{
    WIO_LIST_FOR_SAFE(it, next, &p->owned)
    {
        struct wio_request *r = WIO_CONTAINER(it, struct wio_request, owned);
        if (!r->claimed)
            continue;
        say_refused(u, p, r->remote);
        p->moving--;
        wio_req_finish(r, WAITIO_ERR_STATE);
    }
}

void wio_recv_refuse_held(struct wio_universe *u)
{
    wio_match_each_held(&u->match, refuse_held, u);
    for (uint32_t i = 0; i < u->table->size; i++)
        if (u->peer[i] != NULL)
            refuse_claimed(u, u->peer[i]);
}

static void cancel_posted(void *arg, struct wio_post *post)
{
    struct wio_universe *u = arg;
    struct wio_request *r = WIO_CONTAINER(post, struct wio_request, post);
    wio_match_unpost(&u->match, post);
    r->cancelled = true;
    wio_req_finish(r, 0);
}

static void end_posted(void *arg, struct wio_post *post)
{
    struct wio_universe *u = arg;
    wio_match_unpost(&u->match, post);
    wio_req_finish(WIO_CONTAINER(post, struct wio_request, post), WAITIO_ERR_STATE);
}

void wio_recv_end_all(struct wio_universe *u)
{
    u->left = true;
    wio_expect_table_all(u);
    wio_match_each_post(&u->match, end_posted, u);
    wio_user_end_all(u);
    wio_announce(u); /* threads that wait may sleep */
}

void wio_recv_cancel_all(struct wio_universe *u)
{
    wio_expect_table_all(u);
    wio_match_each_post(&u->match, cancel_posted, u);
}
