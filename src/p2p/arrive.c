/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arrivals: the transports' upcalls. They check every header against the state of the peer, sort
 * envelopes by their numbers, match them, and direct the data into the posted buffer or into an
 * unexpected message.
 */
#include "p2p/stripe.h"

/* Above this size an unexpected message stays unread while the reading thread is about to return to
 * the program, which may post its receive next. */
enum { WIO_STRANGER_MAX = 8192 };

/* The sink's cookie is a request, or with other lowest bits something else. */
enum { NAMES_HELD = 1, NAMES_EXPECTED = 2, NAMES = 3 };
static void *cookie_of(void *what, unsigned names)
{
    return (void *)((uintptr_t)what | names);
}
static unsigned names(const void *cookie)
{
    return (uintptr_t)cookie & NAMES;
}
static void *named(void *cookie)
{
    return (void *)((uintptr_t)cookie & ~(uintptr_t)NAMES);
}

static int violation(struct wio_universe *u, const struct wio_peer *p, const char *what,
                     const struct wio_msg *m)
{
    char name[64];
    return wio_fail(WAITIO_ERR_PROTOCOL, "%s sent a %s that %s (envelope %u, tag %d)",
                    wio_peer_name(u, p->rank, name, sizeof name), wio_msg_op_name(m->op), what,
                    m->envelope, m->tag);
}

static void sink_to(struct wio_sink *s, void *buf, size_t room, size_t offset, void *cookie)
{
    s->buf = offset < room ? (uint8_t *)buf + offset : NULL;
    s->len = offset < room ? room - offset : 0;
    s->cookie = cookie;
}

/* The next bytes of its message go straight to the buffer of a receive; where that is
 * spread, to a piece, from which they are written on when all have come. @return 0; NOMEM */
static int sink_receive(struct wio_sink *s, struct wio_request *r, uint32_t bytes)
{
    if (!wio_is_spread(r)) {
        sink_to(s, r->buf, r->bytes, r->moved, r);
        return 0;
    }
    size_t room = r->moved < r->bytes ? r->bytes - r->moved : 0;
    s->len = bytes < room ? bytes : room;
    s->buf = s->len > 0 ? wio_spread_room(r, s->len) : NULL;
    s->cookie = r;
    return s->len == 0 || s->buf != NULL
               ? 0
               : wio_fail(WAITIO_ERR_NOMEM, "no memory for a piece of %zu bytes", s->len);
}

/* ---- held messages ---- */

static struct wio_unexpected *hold_new(struct wio_universe *u, struct wio_peer *p,
                                       const struct wio_msg *msg, uint32_t cost)
{
    bool rts = msg->op == WIO_OP_RTS;
    size_t size = sizeof(struct wio_unexpected) + (rts ? 0 : (size_t)msg->a);
    struct wio_unexpected *m =
        size <= WIO_SMALL_HELD ? wio_pool_get(&u->small_pool) : wio_buffer_get(&u->buffers, size);
    if (m == NULL)
        return NULL;
    *m = (struct wio_unexpected){.peer = p,
                                 .remote = msg->b,
                                 .total = (size_t)msg->a,
                                 .envelope = msg->envelope,
                                 .cost = cost,
                                 .epoch = p->epoch,
                                 .rts = rts,
                                 .lends = (msg->flags & WIO_MSG_LENDS) != 0,
                                 .timed = (msg->flags & WIO_MSG_TIMED) != 0};
    m->held.space = msg->space;
    m->held.src = p->rank;
    m->held.tag = msg->tag;
    u->ctr.unexpected_msgs++;
    u->ctr.unexpected_bytes += size;
    if (u->ctr.unexpected_bytes > u->ctr.unexpected_max)
        u->ctr.unexpected_max = u->ctr.unexpected_bytes;
    return m;
}

/* A part of it is still on its way. */
static bool partial(const struct wio_unexpected *m)
{
    return m->rts ? m->lends && m->lender.at == 0 : m->arrived < m->total;
}

static bool complete(const struct wio_unexpected *m)
{
    return m->rts || m->arrived == m->total;
}

/* In-order envelope without a receive: into the match tables. */
static void hold(struct wio_universe *u, struct wio_unexpected *m)
{
    /* An empty message that has just come still has its sink. */
    if (u->ending && (m->rts || m->total > 0) && wio_recv_refuse(u, m))
        return;
    if (wio_is_revoked(u, m->held.space) && m->rts) {
        wio_recv_discard(u, m);
        return;
    }
    wio_match_hold(&u->match, &m->held, m->held.space, m->held.src, m->held.tag);
    wio_note(u); /* a probe may wait for it */
    wio_recv_refuse_unwanted(u, m);
}

/* Take the oldest matching receive off the tables; NULL: none. */
static struct wio_request *receiver(struct wio_universe *u, struct wio_peer *p, uint64_t space,
                                    int32_t tag)
{
    struct wio_expected *e = wio_expect_find(u, p, space, tag);
    struct wio_request *r = e != NULL ? wio_expect_request(u, e) : NULL;
    if (r != NULL)
        return r;
    struct wio_post *post = wio_match_arrive(&u->match, space, p->rank, tag);
    return post != NULL ? WIO_CONTAINER(post, struct wio_request, post) : NULL;
}

/* Envelopes that came early are due now? */
static void deliver_early(struct wio_universe *u, struct wio_peer *p)
{
    struct wio_list *n;
    while ((n = wio_list_first(&p->early)) != NULL) {
        struct wio_unexpected *m = WIO_CONTAINER(n, struct wio_unexpected, owned);
        if (m->envelope != wio_next_envelope(p->recv_envelope))
            return;
        p->recv_envelope = m->envelope;
        wio_list_remove(n);
        if (partial(m))
            wio_list_push(&p->partial, &m->owned);
        struct wio_request *r = receiver(u, p, m->held.space, (int32_t)m->held.tag);
        if (r != NULL)
            wio_recv_take(u, r, m);
        else
            hold(u, m);
    }
}

static void insert_early(struct wio_peer *p, struct wio_unexpected *m)
{
    struct wio_list *at = wio_list_begin(&p->early);
    while (at != &p->early) {
        struct wio_unexpected *e = WIO_CONTAINER(at, struct wio_unexpected, owned);
        if ((int32_t)(e->envelope - m->envelope) > 0)
            break;
        at = at->next;
    }
    wio_list_insert_before(at, &m->owned);
}

/* ---- envelopes: EAGER and RTS ---- */

static int keep(struct wio_universe *u, struct wio_peer *p, const struct wio_msg *msg,
                uint32_t cost, bool early, struct wio_sink *sink)
{
    struct wio_unexpected *m = hold_new(u, p, msg, cost);
    if (m == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory to hold a message of %zu bytes",
                        (size_t)msg->a);
    if (!m->rts)
        sink_to(sink, m->data, m->total, 0, cookie_of(m, NAMES_HELD));
    if (early) {
        insert_early(p, m);
        return 0;
    }
    if (partial(m))
        wio_list_push(&p->partial, &m->owned);
    hold(u, m);
    return 0;
}

/* A message that arrived in one piece, and whose sender wants no answer. */
static bool whole(const struct wio_msg *msg, uint32_t bytes, const struct wio_sink *sink)
{
    return sink->whole && msg->op == WIO_OP_EAGER && msg->a == bytes && msg->b == 0;
}

/* Its envelope is the next in order. */
static void admit(struct wio_peer *p, const struct wio_msg *msg, uint32_t cost)
{
    p->credit.taken += cost;
    p->recv_envelope = msg->envelope;
}

static int in_turn(struct wio_universe *u, struct wio_peer *p, const struct wio_msg *msg,
                   uint32_t bytes, uint32_t cost, struct wio_sink *sink)
{
    struct wio_expected *e =
        whole(msg, bytes, sink) ? wio_expect_find(u, p, msg->space, msg->tag) : NULL;
    if (e != NULL && e->bytes >= bytes) {
        wio_list_remove(&e->node);
        admit(p, msg, cost);
        wio_credit_consumed(u, p, cost, p->epoch);
        wio_mark_whole(u, e->mark, msg);
        sink_to(sink, e->buf, e->bytes, 0, cookie_of(e, NAMES_EXPECTED));
        return 0;
    }
    struct wio_request *r = receiver(u, p, msg->space, msg->tag);
    if (r == NULL) {
        if (u->stop_now && bytes > WIO_STRANGER_MAX)
            return 1;
        admit(p, msg, cost);
        return keep(u, p, msg, cost, false, sink);
    }
    admit(p, msg, cost);
    wio_credit_consumed(u, p, cost, p->epoch);
    wio_recv_answer(r, p, msg);
    return msg->op != WIO_OP_RTS ? sink_receive(sink, r, bytes) : 0;
}

static int take_envelope(struct wio_universe *u, struct wio_peer *p, const struct wio_msg *msg,
                         uint32_t bytes, struct wio_sink *sink)
{
    bool rts = msg->op == WIO_OP_RTS;
    int32_t ahead = (int32_t)(msg->envelope - wio_next_envelope(p->recv_envelope));
    if (ahead < 0)
        return violation(u, p, "came before", msg);
    if (!rts && msg->a > 0 && bytes == 0)
        return violation(u, p, "has no data", msg);
    uint32_t cost = wio_credit_cost((size_t)msg->a, rts);
    if ((!rts && msg->a > UINT32_MAX) || p->credit.granted - p->credit.taken < cost)
        return violation(u, p, "exceeds the credit it was given", msg);
    if (ahead > 0) {
        p->credit.taken += cost;
        return keep(u, p, msg, cost, true, sink);
    }
    int rc = in_turn(u, p, msg, bytes, cost, sink);
    if (rc == 0)
        deliver_early(u, p);
    return rc;
}

/* ---- further pieces ---- */

/* A held message whose data comes with its envelope. */
static struct wio_unexpected *held_by(struct wio_list *list, uint32_t envelope)
{
    WIO_LIST_FOR(it, list)
    {
        struct wio_unexpected *m = WIO_CONTAINER(it, struct wio_unexpected, owned);
        if (m->envelope == envelope && !m->rts)
            return m;
    }
    return NULL;
}

static int more(struct wio_universe *u, struct wio_peer *p, const struct wio_msg *msg,
                uint32_t bytes, struct wio_sink *sink)
{
    uint32_t envelope = (uint32_t)msg->b;
    struct wio_unexpected *m = held_by(&p->partial, envelope);
    if (m == NULL)
        m = held_by(&p->early, envelope);
    if (m != NULL) {
        if (msg->a != m->arrived || bytes > m->total - m->arrived)
            return violation(u, p, "does not continue its message", msg);
        if (m->req != NULL && !wio_is_spread(m->req))
            sink_to(sink, m->req->buf, m->req->bytes, m->arrived, cookie_of(m, NAMES_HELD));
        else
            sink_to(sink, m->data, m->total, m->arrived, cookie_of(m, NAMES_HELD));
        return 0;
    }
    WIO_LIST_FOR(it, &p->owned)
    {
        struct wio_request *r = WIO_CONTAINER(it, struct wio_request, owned);
        if (r->kind != WIO_REQ_RECV || r->state != WIO_RS_MOVING || r->asked ||
            r->envelope != envelope)
            continue;
        if (msg->a != r->moved || bytes > r->granted - r->moved)
            return violation(u, p, "does not continue its message", msg);
        return sink_receive(sink, r, bytes);
    }
    return violation(u, p, "belongs to no message", msg);
}

/* Does data that names this request belong to it? */
static bool is_wanted(const struct wio_request *r, const struct wio_peer *p)
{
    return r->kind == WIO_REQ_RECV && r->state == WIO_RS_MOVING && r->peer == p && r->asked;
}

/* A piece of a message that comes in any order. When its lane breaks it may come twice, the second
 * time perhaps after the end of its receive: the sender has not heard of that yet. */
static int striped(struct wio_universe *u, const struct wio_peer *p, const struct wio_msg *msg,
                   uint32_t bytes, unsigned lane, struct wio_sink *sink)
{
    struct wio_request *r = wio_req_by_id(u, msg->space);
    const char *why = NULL;
    if (wio_req_was(u, msg->space))
        return 0; /* into nothing */
    if (r == NULL || !is_wanted(r, p))
        return violation(u, p, "names no receive of ours", msg);
    int rc = wio_parts_offer(r, msg, bytes, lane, sink, &why);
    return why != NULL ? violation(u, p, why, msg) : rc;
}

static int data(struct wio_universe *u, struct wio_peer *p, const struct wio_msg *msg,
                uint32_t bytes, bool side, struct wio_sink *sink)
{
    if (WIO_UNLIKELY(msg->b != 0))
        return striped(u, p, msg, bytes, 0, sink);
    struct wio_request *r = wio_req_by_id(u, msg->space);
    if (r == NULL || !is_wanted(r, p))
        return violation(u, p, "names no receive of ours", msg);
    if (r->parts != NULL || msg->a != r->moved || bytes > r->granted - r->moved || r->lent)
        return violation(u, p, "does not continue its message", msg);
    r->far = side;
    return sink_receive(sink, r, bytes);
}

/* A lent message may have to be sent after all. */
static bool may_be_granted(const struct wio_request *r, const struct wio_msg *msg)
{
    bool lent = r->state == WIO_RS_ACK && r->lent && !r->acked;
    return (r->state == WIO_RS_ASKED || lent) && msg->a <= r->bytes && msg->space != 0 &&
           !r->refused;
}

/* A refusal also answers an RTS. */
static bool may_be_done(const struct wio_request *r, const struct wio_msg *msg)
{
    return !r->acked && (r->state == WIO_RS_ACK || r->state == WIO_RS_MOVING ||
                         (r->state == WIO_RS_ASKED && msg->space == WIO_DONE_REFUSED));
}

static int answer(struct wio_universe *u, struct wio_peer *p, const struct wio_msg *msg)
{
    struct wio_request *r = wio_req_by_id(u, msg->b);
    bool cts = msg->op == WIO_OP_CTS;
    if (r == NULL || r->kind != WIO_REQ_SEND || r->peer != p ||
        !(cts ? may_be_granted(r, msg) : may_be_done(r, msg)))
        return violation(u, p, "names no send of ours", msg);
    if (!cts) {
        if (msg->tag > 0 && msg->space != WIO_DONE_REFUSED)
            wio_fetch_took(r, msg->tag);
        wio_send_acked(r, msg->space == WIO_DONE_REFUSED);
        return 0;
    }
    wio_send_granted(r, msg->a, msg->space, (msg->flags & WIO_MSG_STRIPES) != 0);
    wio_send_pump(u, p);
    return 0;
}

static int take(struct wio_universe *u, struct wio_peer *p, const struct wio_msg *msg,
                uint32_t bytes, bool side, struct wio_sink *sink)
{
    switch (msg->op) {
    case WIO_OP_EAGER:
    case WIO_OP_RTS:
        return take_envelope(u, p, msg, bytes, sink);
    case WIO_OP_MORE:
        return more(u, p, msg, bytes, sink);
    case WIO_OP_LENT:
        wio_fetch_said(p, msg);
        return 0;
    case WIO_OP_DATA:
        return data(u, p, msg, bytes, side, sink);
    case WIO_OP_CTS:
    case WIO_OP_DONE:
        return answer(u, p, msg);
    case WIO_OP_REVOKE:
        return wio_revoke_heard(u, p, msg);
    case WIO_OP_LANE:
        wio_lanes_told(u, p, msg->a);
        return 0;
    case WIO_OP_WITHDRAW:
        wio_recv_withdraw(u, p, msg->b);
        return 0;
    default: /* CREDIT: what follows */
        return 0;
    }
}

/* A lane carries nothing else. */
static int by_lane(struct wio_universe *u, struct wio_peer *p, unsigned lane,
                   const struct wio_msg *msg, uint32_t bytes, struct wio_sink *sink)
{
    if (p->lanes == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for a lane");
    if (msg->op != WIO_OP_DATA || msg->b == 0)
        return violation(u, p, "does not belong on a lane", msg);
    return striped(u, p, msg, bytes, lane, sink);
}

int wio_arrive_message(void *user, struct wio_ep *ep, uint32_t rank, const uint8_t *raw,
                       uint32_t bytes, struct wio_sink *sink)
{
    struct wio_universe *u = user;
    struct wio_peer *p = ep->context;
    struct wio_msg msg;
    const char *why = NULL;
    if (WIO_UNLIKELY(p == NULL)) {
        p = wio_peer_get(u, rank);
        if (p == NULL)
            return wio_fail(WAITIO_ERR_NOMEM, "no memory for a new peer");
        wio_peer_told_late(u, p, ep);
    }
    int rc = wio_msg_decode(raw, bytes, &msg, &why);
    if (rc != 0)
        return wio_fail(rc, "bad message header: %s", why);
    if (p->dead)
        return wio_peer_error(u, p);
    sink->buf = NULL;
    sink->len = 0;
    sink->cookie = NULL;
    u->burst = 0;
    sink->bytes = bytes;
    if (WIO_UNLIKELY(ep->lane != 0))
        return by_lane(u, p, ep->lane, &msg, bytes, sink);
    if (WIO_UNLIKELY(ep == p->side) && msg.op != WIO_OP_DATA)
        wio_side_promote(u, p);
    bool side = ep == p->side;
    rc = take(u, p, &msg, bytes, side, sink);
    if (side && msg.op == WIO_OP_DATA)
        return rc; /* its word on credit may be late */
    if (rc == 0 && (msg.credit != p->credit.limit || !p->credit.open))
        wio_credit_heard(u, p, msg.credit);
    if (msg.op == WIO_OP_CREDIT && msg.a != 0)
        wio_credit_said(u, p, msg.a, msg.b);
    return rc;
}

/* Who waits for a message of this peer waits for nothing else, and what follows may be expected
 * next. But a look at everything goes on: it would always end at a link that has more than its
 * turn. */
static bool enough(const struct wio_universe *u, const struct wio_peer *p)
{
    return u->at_one && wio_list_empty(&p->expected);
}

/* Does the message match the first receive in the list of its peer, and is nothing unusual? A few
 * comparisons replace the checks of the usual way. */
static bool is_next(const struct wio_peer *p, const struct wio_expected *e,
                    const struct wio_msg *msg, uint32_t bytes, uint32_t cost)
{
    bool ours = msg->space == e->space && msg->tag == e->tag && bytes <= e->bytes;
    bool next = msg->envelope == wio_next_envelope(p->recv_envelope) && msg->a == bytes;
    return ours && next && p->credit.granted - p->credit.taken >= cost &&
           wio_list_empty(&p->early) && !p->dead;
}

enum wio_whole wio_arrive_whole(void *user, struct wio_ep *ep, const uint8_t raw[WIO_MSG_BYTES],
                                const void *payload, uint32_t bytes)
{
    struct wio_universe *u = user;
    struct wio_peer *p = ep->context;
    struct wio_msg msg;
    if (p == NULL)
        return WIO_WHOLE_LEFT;
    if (wio_list_empty(&p->expected)) /* the program goes on now, perhaps to the receive for it */
        return u->landed_from == p ? WIO_WHOLE_LATER : WIO_WHOLE_LEFT;
    if (!wio_msg_plain(raw, &msg))
        return WIO_WHOLE_LEFT;
    struct wio_expected *e = WIO_CONTAINER(wio_list_begin(&p->expected), struct wio_expected, node);
    uint32_t cost = wio_credit_cost(bytes, false);
    if (!is_next(p, e, &msg, bytes, cost))
        return WIO_WHOLE_LEFT;
    u->burst = 0;
    wio_list_remove(&e->node);
    admit(p, &msg, cost);
    wio_credit_consumed(u, p, cost, p->epoch);
    if (bytes == 8)
        memcpy(e->buf, payload, 8);
    else if (bytes > 0)
        wio_os_copy(e->buf, payload, bytes);
    wio_mark_whole(u, e->mark, &msg);
    wio_expect_landed(u, p, e, bytes);
    if (msg.credit != p->credit.limit)
        wio_credit_heard(u, p, msg.credit);
    return enough(u, p) ? WIO_WHOLE_STOP : WIO_WHOLE_TAKEN;
}

/* A piece of a held message is complete. */
static void held_piece(struct wio_universe *u, struct wio_unexpected *m,
                       const struct wio_sink *sink)
{
    struct wio_request *r = m->req;
    if (r != NULL && sink->buf == m->data + m->arrived && m->arrived < r->bytes) {
        /* The receive matched while this piece was on its way into the held copy. */
        size_t room = r->bytes - m->arrived;
        size_t n = sink->bytes < room ? sink->bytes : room;
        if (wio_is_spread(r))
            wio_spread_write(r, m->arrived, n, m->data + m->arrived);
        else
            wio_os_copy(r->buf + m->arrived, m->data + m->arrived, n);
    }
    m->arrived += sink->bytes;
    if (!complete(m))
        return;
    if (r != NULL) {
        wio_unexpected_free(u, m);
        wio_recv_complete(r);
        return;
    }
    wio_note(u);
    if (!wio_list_linked(&m->held.bin))
        return; /* one that came early and waits for its turn */
    wio_list_remove(&m->owned);
    if (u->ending && m->remote != 0) {
        wio_match_unhold(&u->match, &m->held);
        (void)wio_recv_refuse(u, m);
    } else if (wio_is_revoked(u, m->held.space)) {
        wio_match_unhold(&u->match, &m->held);
        wio_recv_discard(u, m);
    } else {
        wio_recv_refuse_unwanted(u, m);
    }
}

int wio_arrive_payload(void *user, struct wio_ep *ep, uint32_t rank, struct wio_sink *sink)
{
    struct wio_universe *u = user;
    struct wio_peer *p = ep->context != NULL ? ep->context : u->peer[rank];
    if (sink->cookie == NULL || p == NULL)
        return 0;
    if (names(sink->cookie) == NAMES_EXPECTED) {
        wio_expect_landed(u, p, named(sink->cookie), sink->bytes);
        /* Who waits for it waits for nothing else, and what follows may be expected next. But a
         * look at everything goes on: it would always end at a link that has more than its turn. */
        return u->at_one && wio_list_empty(&p->expected);
    }
    if (names(sink->cookie) == NAMES_HELD) {
        held_piece(u, named(sink->cookie), sink);
        return 0;
    }
    struct wio_request *r = sink->cookie;
    if (WIO_UNLIKELY(r->parts != NULL)) {
        wio_parts_landed(r, ep->lane, sink);
        return 0;
    }
    if (wio_is_spread(r)) {
        wio_spread_write(r, r->moved, sink->len, sink->buf);
        wio_spread_piece_free(r);
    }
    r->moved += sink->bytes;
    if (r->moved == r->granted)
        wio_recv_complete(r);
    return 0;
}

/* The link broke in the middle of a payload. CLOSED follows, and fails or frees the receiver. */
void wio_arrive_abandon(void *user, uint32_t rank, struct wio_sink *sink)
{
    (void)user;
    (void)rank;
    struct wio_request *r = names(sink->cookie) == 0 ? sink->cookie : NULL;
    sink->cookie = NULL;
    if (WIO_UNLIKELY(r != NULL && r->parts != NULL))
        wio_parts_abandoned(r);
}
