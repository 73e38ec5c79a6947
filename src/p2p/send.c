/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sending. A request goes one of these ways:
 *   eager, one piece:    NEW -> DONE (written at once), or NEW -> MOVING -> DONE (the transport
 * queues it) eager, many pieces:  NEW -> MOVING (EAGER, then MORE ...) -> ACK -> DONE rendezvous:
 * NEW -> ASKED (RTS) -> MOVING (CTS came: DATA ...) -> ACK -> DONE; lent: NEW -> ACK (RTS
 * and LENT are out) -> DONE, or MOVING when a CTS comes after all; and through QUEUED before any of
 * them when there is no link or no credit yet. Sends up to cfg.local_max are complete for the user
 * at once: written, or copied into the send pool. Eager ones skip ACK: their sender does not wait
 * for DONE.
 */
#include "p2p/stripe.h"

enum { PUMP_PIECES = 8, SHORT_MAX = 4096 };
#define BURST_NS 5000

static size_t limit_of(const struct wio_request *r)
{
    return r->state == WIO_RS_MOVING && r->remote != 0 ? r->granted : r->bytes;
}

/* A rendezvous is always confirmed: a short send takes that way too when credit runs low. Receives
 * confirm when they have matched, which is what a synchronous send waits for. */
static bool wants_done(const struct wio_request *r)
{
    return r->bytes > r->u->cfg.local_max || r->remote != 0 || r->sync || r->timed;
}

static void own(struct wio_request *r)
{
    if (!wio_list_linked(&r->owned))
        wio_list_push(&r->peer->owned, &r->owned);
}

/* Sends without an arrival in between share a system call: the second and later ones of a burst are
 * kept back until a flush. */
static unsigned burst_flag(struct wio_universe *u)
{
    if (u->burst++ == 0) {
        u->last_send_ns = 0; /* not read: the clock costs more than it is worth here */
        return 0;
    }
    int64_t now = wio_os_now_ns();
    int64_t gap = u->last_send_ns == 0 ? 0 : now - u->last_send_ns;
    u->last_send_ns = now;
    if (gap > BURST_NS)
        return 0;
    u->batched = true;
    return WIO_TX_BATCH;
}

static void fill_header(struct wio_request *r, uint8_t op, uint8_t flags, uint64_t space,
                        uint64_t a, uint64_t b)
{
    struct wio_credit *c = &r->peer->credit;
    struct wio_msg m = {.op = op,
                        .flags = flags,
                        .credit = c->granted,
                        .tag = r->tag,
                        .envelope = r->envelope,
                        .space = space,
                        .a = a,
                        .b = b};
    c->announced = c->granted;
    wio_msg_encode(&m, r->tx.msg);
}

void wio_send_written(struct wio_request *r)
{
    if (wants_done(r) && !r->acked)
        r->state = WIO_RS_ACK;
    else
        wio_req_finish(r, 0);
}

static void to_bulk(struct wio_request *r)
{
    own(r);
    wio_list_push(r->far ? &r->peer->far : &r->peer->bulk, &r->node);
}

/* The next @p most bytes from @p at, or fewer: *n. NULL: no memory for them. */
static const uint8_t *next_piece(struct wio_request *r, size_t at, size_t most, size_t *n)
{
    *n = most;
    if (!wio_is_spread(r) || most == 0)
        return r->buf + at;
    size_t longest = r->peer->memory && !r->far ? WIO_SPREAD_PIECE_MEMORY : WIO_SPREAD_PIECE;
    if (*n > longest)
        *n = longest;
    const uint8_t *piece = wio_spread_read(r, at, *n);
    if (piece == NULL) /* the receiver would wait for it: as without a control message */
        wio_peer_unsaid(r->u, r->peer);
    return piece;
}

/* How a send ends that its receiver has refused. */
static int refusal(const struct wio_request *r)
{
    return r->cancelled ? 0 : WAITIO_ERR_PEER;
}

/* The piece in r->tx has left. */
static void piece_left(struct wio_request *r)
{
    if (wio_is_spread(r))
        wio_spread_piece_free(r);
    if (r->state == WIO_RS_ASKED && !r->refused)
        return; /* that was the RTS */
    if (WIO_UNLIKELY(r->stripe != NULL)) {
        wio_stripe_left(r);
        return;
    }
    if (r->refused)
        wio_req_finish(r, refusal(r));
    else if (r->lent && !r->acked)
        return; /* so was that; the receiver fetches the rest */
    else if (r->lent)
        wio_req_finish(r, 0);
    else if (r->remote != 0 && r->granted == 0)
        wio_req_finish(r, 0); /* the grant of nothing is the end */
    else if (r->moved < limit_of(r))
        to_bulk(r);
    else
        wio_send_written(r);
}

static void tx_done(struct wio_tx *tx, int err)
{
    struct wio_request *r = WIO_CONTAINER(tx, struct wio_request, tx);
    struct wio_peer *p = r->peer;
    struct wio_universe *u = r->u;
    r->tx_busy = false;
    if (WIO_LIKELY(r->stripe == NULL))
        wio_list_remove(&r->node); /* of those that may have to be kept */
    if (err != 0)
        return; /* the link is broken: its CLOSED state fails the request */
    piece_left(r);
    wio_send_pump(u, p);
}

/* The program leaves the buffer alone until the receiver has confirmed the whole message. */
static unsigned loan_flag(struct wio_request *r)
{
    if (r->bytes <= r->u->cfg.local_max || wio_is_spread(r))
        return 0;
    r->loaned = true;
    return WIO_TX_KEPT;
}

/** Give r->tx to a link. @return 0 written, 1 queued, < 0 refused */
static int submit(struct wio_request *r, struct wio_ep *ep, const void *payload, size_t n,
                  unsigned flags)
{
    r->tx.payload = payload;
    r->tx.bytes = (uint32_t)n;
    r->tx.flags = (uint8_t)flags;
    r->tx.sent = 0;
    r->tx.done = tx_done;
    int rc = ep->iface->tr->send(ep, &r->tx);
    if (rc == WIO_TX_QUEUED) {
        r->tx_busy = true;
        r->u->touched = true;
        own(r);
    }
    return rc;
}

/** First message of an eager send. @return as submit */
static int send_eager(struct wio_request *r)
{
    struct wio_universe *u = r->u;
    const struct wio_tr_attr *attr = &u->attr[r->peer->iface->tr->id];
    size_t n;
    bool ack = wants_done(r);
    const uint8_t *data = next_piece(r, 0, r->bytes < attr->chunk ? r->bytes : attr->chunk, &n);
    if (data == NULL && n > 0 && wio_is_spread(r))
        return WAITIO_ERR_NOMEM;
    r->state = WIO_RS_MOVING;
    fill_header(r, WIO_OP_EAGER, r->timed ? WIO_MSG_TIMED : 0, r->space, r->bytes,
                ack ? wio_req_id(r) : 0);
    r->moved = n;
    if (ack)
        own(r); /* DONE must find it */
    bool batch = (attr->caps & WIO_CAP_BATCH) != 0 && n <= WIO_BATCH_BYTES / 2;
    unsigned flags = WIO_TX_SMALL | (batch ? burst_flag(u) : 0) | loan_flag(r);
    int rc = submit(r, r->peer->ep, data, n, flags);
    if (rc < 0)
        return rc;
    u->ctr.eager_msgs++;
    if (rc == WIO_TX_DONE)
        piece_left(r);
    return rc;
}

static int send_rts(struct wio_request *r, bool lends)
{
    unsigned flags = (lends ? WIO_MSG_LENDS : 0) | (r->timed ? WIO_MSG_TIMED : 0);
    r->state = WIO_RS_ASKED;
    fill_header(r, WIO_OP_RTS, (uint8_t)flags, r->space, r->bytes, wio_req_id(r));
    own(r);
    int rc = submit(r, r->peer->ep, NULL, 0, WIO_TX_SMALL);
    if (rc < 0)
        return rc;
    r->u->ctr.rndv_msgs++;
    if (lends)
        wio_fetch_lend(r);
    return rc;
}

/* It cannot be sent eagerly: may it use rendezvous? A short message that only lacks credit rather
 * waits, because rendezvous takes three times as long; but only if the receiver is sure to grant
 * enough credit soon. */
static bool may_ask(const struct wio_request *r, uint32_t cost, uint32_t room, bool lends)
{
    const struct wio_credit *c = &r->peer->credit;
    bool fits = r->bytes <= SHORT_MAX && r->bytes <= r->peer->eager_max && cost <= c->span / 2;
    bool waits = !lends && !c->tight && fits;
    return !waits && wio_credit_cost(r->bytes, true) <= room;
}

static void withdraw(const struct wio_request *r)
{
    struct wio_msg m = {.op = WIO_OP_WITHDRAW, .b = wio_req_id(r)};
    (void)wio_send_ctl(r->u, r->peer, &m, WIO_TX_SMALL);
}

/* A send that wants no answer will not wait for its receive. */
int wio_send_cancel(struct wio_request *r)
{
    if (r->state == WIO_RS_DONE || r->user_done || r->unwanted || !wants_done(r))
        return 0;
    if (r->u->resume != NULL)
        return wio_fail(WAITIO_ERR_UNSUPPORTED,
                        "a send cannot be cancelled with WAITIO_FILE_RESUME=1: it is in the "
                        "journal; receive it");
    r->unwanted = true;
    if (r->state != WIO_RS_QUEUED) /* else its envelope goes first */
        withdraw(r);
    return 0;
}

/** Try to put the envelope on the link. @return false: must wait (link not ready, no credit) */
static bool try_send(struct wio_request *r)
{
    struct wio_peer *p = r->peer;
    struct wio_universe *u = r->u;
    if (p->link != WIO_EP_READY || !p->credit.open)
        return false;
    uint32_t room = wio_credit_available(p);
    uint32_t cost = wio_credit_cost(r->bytes, false);
    bool far = wio_side_wanted(r), lends = !far && wio_fetch_wanted(r);
    bool eager = !far && !lends && r->bytes <= p->eager_max && cost <= room;
    if (!eager) {
        if (!may_ask(r, cost, room, lends || far)) {
            u->ctr.credit_waits++;
            wio_credit_press(u, p);
            return false;
        }
        cost = wio_credit_cost(r->bytes, true);
    }
    p->credit.used += cost;
    r->far = far;
    int rc = eager ? send_eager(r) : send_rts(r, lends);
    if (rc >= 0) {
        if (WIO_UNLIKELY(r->unwanted))
            withdraw(r);
        return true;
    }
    /* The link is closing: undo the attempt; on_state sends it later. */
    p->credit.used -= cost;
    r->state = WIO_RS_QUEUED;
    r->moved = 0;
    wio_spread_piece_free(r);
    return false;
}

static void watch(struct wio_universe *u, struct wio_peer *p)
{
    bool on = p->local_pending > 0;
    if (on != p->watched && p->ep != NULL && p->link == WIO_EP_READY) {
        p->watched = on;
        u->touched = true;
        p->iface->tr->watch(p->ep, on);
    }
}

/* From now on the message is sent from its copy; so is what the transport holds of it. */
static void copy_to_pool(struct wio_request *r)
{
    bool busy = r->tx_busy && r->tx.payload != NULL;
    if (wio_is_spread(r)) {
        r->spread.calls->read(&r->spread, r->status_source, 0, r->bytes, r->pool);
        if (busy)
            r->tx.payload = (uint8_t *)r->pool + r->moved - r->tx.bytes;
        wio_spread_end(r);
    } else {
        wio_os_copy(r->pool, r->buf, r->bytes);
        if (busy)
            r->tx.payload = (uint8_t *)r->pool + ((const uint8_t *)r->tx.payload - r->buf);
    }
    r->buf = r->pool;
}

/* Some transports read the payload where it was: the program goes on when they have, or, if it has
 * waited as long as a wait spins, when they have copied it (wio_fetch_take_back). With some only
 * calls of the program bring forward what has not been taken yet. */
static bool may_complete_locally(struct wio_request *r)
{
    uint32_t caps = r->peer->iface != NULL ? r->u->attr[r->peer->iface->tr->id].caps : 0;
    if ((caps & WIO_CAP_CALLS_ONLY) != 0 && r->state == WIO_RS_QUEUED)
        return false;
    if ((caps & WIO_CAP_PINS) == 0 || !r->tx_busy || r->tx.payload == NULL)
        return true;
    if (!wio_list_linked(&r->node)) {
        wio_list_push(&r->u->lent, &r->node);
        r->u->lent_ns = wio_os_now_ns();
    }
    return false;
}

void wio_send_local(struct wio_request *r)
{
    struct wio_universe *u = r->u;
    if (r->user_done || r->sync || r->bytes > u->cfg.local_max)
        return;
    if (!may_complete_locally(r))
        return;
    if (r->state == WIO_RS_ACK && !r->lent) { /* all has left; only the answer is awaited */
        wio_req_user_done(r, 0);
        return;
    }
    if (r->bytes > 0) {
        if (u->ctr.pool_bytes + r->bytes > u->cfg.send_buffer_max ||
            (r->pool = wio_buffer_get(&u->buffers, r->bytes)) == NULL) {
            u->ctr.pool_waits++;
            return; /* not complete: the user waits, the stuck-wait report says why */
        }
        copy_to_pool(r);
        u->ctr.copied_bytes += r->bytes;
        u->ctr.pool_bytes += r->bytes;
        if (u->ctr.pool_bytes > u->ctr.pool_max)
            u->ctr.pool_max = u->ctr.pool_bytes;
    }
    r->local = true;
    r->peer->local_pending++;
    wio_req_user_done(r, 0);
    watch(u, r->peer);
}

/* @return whether it is over: an earlier life has sent it, or it cannot be kept */
static bool kept_is_enough(struct wio_request *r)
{
    int rc = wio_resume_send(r);
    if (rc != 0)
        wio_req_finish(r, rc < 0 ? rc : 0);
    return rc != 0;
}

void wio_send_start(struct wio_request *r)
{
    struct wio_universe *u = r->u;
    struct wio_peer *p = r->peer;
    u->ctr.send_msgs++;
    u->ctr.send_bytes += r->bytes;
    bool ended = wio_is_revoked(u, r->space);
    if (WIO_UNLIKELY(u->resume != NULL) && kept_is_enough(r))
        return;
    int rc = p->dead || ended ? WAITIO_ERR_PEER : p->ep == NULL ? wio_peer_connect(u, p) : 0;
    if (rc != 0) {
        if (!p->dead && !ended)
            wio_peer_fail(u, p, rc, false, wio_last_detail());
        wio_req_finish(r, rc);
        return;
    }
    r->envelope = p->send_envelope = wio_next_envelope(p->send_envelope);
    wio_mark_send(r);
    if (wio_list_empty(&p->sendq) && try_send(r)) {
        if (wio_is_spread(r)) /* more pieces, before the rest is copied */
            wio_send_pump(u, p);
        if (r->state != WIO_RS_DONE) {
            if (!r->lent)
                wio_send_local(r);
            wio_req_bulky(r);
        }
        if (!wio_list_empty(&p->bulk))
            wio_send_pump(u, p);
        return;
    }
    r->state = WIO_RS_QUEUED;
    own(r);
    wio_list_push(&p->sendq, &r->node);
    wio_send_local(r);
    wio_req_bulky(r);
}

/* If messages are queued the usual way is taken: it keeps the order, and sends them. */
bool wio_send_put(struct wio_universe *u, struct wio_peer *p, uint64_t space, const void *buf,
                  size_t bytes, int32_t tag)
{
    if (p == NULL || u->resume != NULL || p->link != WIO_EP_READY || p->dead ||
        bytes > p->eager_max || bytes > u->cfg.local_max || bytes > u->side_above ||
        !wio_list_empty(&p->sendq) || !wio_list_empty(&p->bulk) || wio_is_revoked(u, space))
        return false;
    uint32_t cost = wio_credit_cost(bytes, false);
    if (cost > wio_credit_available(p) || !wio_fetch_plain(u, p, bytes))
        return false;
    struct wio_msg m = {.op = WIO_OP_EAGER,
                        .credit = p->credit.granted,
                        .tag = tag,
                        .envelope = wio_next_envelope(p->send_envelope),
                        .space = space,
                        .a = bytes};
    int64_t begun = wio_mark_time(u, p);
    if (!p->iface->tr->put(p->ep, &m, buf, (uint32_t)bytes))
        return false;
    p->credit.used += cost;
    p->credit.announced = p->credit.granted;
    p->send_envelope = m.envelope;
    u->ctr.send_msgs++;
    u->ctr.send_bytes += bytes;
    u->ctr.eager_msgs++;
    wio_mark_sent(u, p, &m, bytes, begun);
    return true;
}

/** Next piece of a bulk transfer. @return false: the link takes nothing now */
static bool send_piece(struct wio_request *r)
{
    struct wio_universe *u = r->u;
    struct wio_ep *ep = r->far ? r->peer->side : r->peer->ep;
    struct wio_list *list = r->far ? &r->peer->far : &r->peer->bulk;
    size_t chunk = u->attr[ep->iface->tr->id].chunk;
    size_t left = limit_of(r) - r->moved, n;
    const uint8_t *data = next_piece(r, r->moved, left < chunk ? left : chunk, &n);
    if (data == NULL && wio_is_spread(r)) {
        wio_list_push_front(list, &r->node);
        return false;
    }
    if (r->remote != 0)
        fill_header(r, WIO_OP_DATA, 0, r->remote, r->moved, 0);
    else
        fill_header(r, WIO_OP_MORE, 0, 0, r->moved, r->envelope);
    r->moved += n;
    int rc = submit(r, ep, data, n, r->far ? 0 : loan_flag(r));
    if (rc < 0) {
        r->moved -= n;
        wio_spread_piece_free(r);
        wio_list_push_front(list, &r->node);
        return false;
    }
    if (r->far) {
        u->ctr.side_msgs += r->moved == n;
        u->ctr.side_bytes += n;
    }
    if (rc == WIO_TX_DONE)
        piece_left(r);
    return true;
}

int wio_send_unit(struct wio_request *r, size_t at, size_t n, size_t unit)
{
    fill_header(r, WIO_OP_DATA, 0, r->remote, at, unit);
    return submit(r, r->peer->ep, r->buf + at, n, loan_flag(r));
}

static void flush_ctl(struct wio_universe *u, struct wio_peer *p);

static bool nothing_to_send(const struct wio_peer *p)
{
    return wio_list_empty(&p->sendq) && wio_list_empty(&p->bulk) && wio_list_empty(&p->ctlq) &&
           !wio_striping(p);
}

/* No link: work (or a silent source to be dialled) needs one. */
static void pump_without_link(struct wio_universe *u, struct wio_peer *p)
{
    if (nothing_to_send(p) && !p->doomed)
        return;
    int rc = wio_peer_connect(u, p);
    if (rc != 0)
        wio_peer_fail(u, p, rc, false, wio_last_detail());
}

/* Envelopes that waited for link or credit, in their order. */
static void pump_envelopes(struct wio_peer *p)
{
    struct wio_list *n;
    while ((n = wio_list_first(&p->sendq)) != NULL) {
        wio_list_remove(n);
        if (!try_send(WIO_CONTAINER(n, struct wio_request, node))) {
            wio_list_push_front(&p->sendq, n);
            return;
        }
    }
}

/* Pieces of large messages, round robin, no more than the link takes. */
static void pump_bulk(struct wio_universe *u, struct wio_peer *p, struct wio_ep *ep,
                      struct wio_list *list)
{
    size_t chunk = u->attr[ep->iface->tr->id].chunk;
    for (int i = 0; i < PUMP_PIECES && !wio_list_empty(list); i++) {
        if (ep->iface->tr->queued(ep) >= chunk)
            return; /* their done() comes back here */
        struct wio_list *n = wio_list_pop(list);
        if (!send_piece(WIO_CONTAINER(n, struct wio_request, node)))
            return;
    }
    if (!wio_list_empty(list))
        wio_peer_activate(u, p);
}

void wio_send_pump(struct wio_universe *u, struct wio_peer *p)
{
    if (p->dead)
        return;
    if (WIO_UNLIKELY(!wio_list_empty(&p->far)) && wio_side_ready(u, p))
        pump_bulk(u, p, p->side, &p->far);
    if (wio_striping(p))
        wio_stripe_pump(u, p);
    if (p->ep == NULL) {
        pump_without_link(u, p);
        return;
    }
    if (p->link != WIO_EP_READY)
        return;
    flush_ctl(u, p);
    pump_envelopes(p);
    pump_bulk(u, p, p->ep, &p->bulk);
    watch(u, p);
}

void wio_send_granted(struct wio_request *r, uint64_t granted, uint64_t remote, bool stripes)
{
    if (r->lent)
        wio_list_remove(&r->node); /* of those that may be taken back */
    wio_fetch_settled(r);
    wio_mark_matched(r, r->envelope);
    r->granted = (size_t)granted;
    r->remote = remote;
    r->moved = 0;
    r->lent = false;
    r->state = WIO_RS_MOVING;
    if (stripes && !r->tx_busy && wio_stripe_begin(r))
        return;      /* the pump follows */
    if (!r->tx_busy) /* else the answer arrived before the transport reported the RTS as sent */
        piece_left(r);
}

void wio_send_acked(struct wio_request *r, bool refused)
{
    struct wio_peer *p = r->peer;
    r->acked = true;
    r->refused = refused;
    r->cancelled = refused && r->unwanted;
    wio_fetch_settled(r);
    if (WIO_UNLIKELY(r->stripe != NULL))
        wio_stripe_left(r);
    else if (!r->tx_busy && (refused || r->state == WIO_RS_ACK))
        wio_req_finish(r, refused ? refusal(r) : 0);
    /* else the transport has not returned it yet */
    watch(r->u, p);
}

/* ---- control messages ---- */

struct ctl {
    struct wio_tx tx; /* first */
    struct wio_universe *u;
    struct wio_peer *peer;
    struct wio_list node;
};
_Static_assert(sizeof(struct ctl) <= WIO_CTL_BYTES,
               "control messages come from blocks of this size");

static void ctl_done(struct wio_tx *tx, int err)
{
    struct ctl *c = (struct ctl *)(void *)tx;
    struct wio_universe *u = c->u;
    struct wio_peer *p = c->peer;
    wio_pool_put(&u->ctl_pool, c);
    if (err == 0)
        wio_send_pump(u, p);
}

/** @return false: the link takes nothing; c is still ours */
static bool submit_ctl(struct ctl *c)
{
    struct wio_peer *p = c->peer;
    int rc = p->iface->tr->send(p->ep, &c->tx);
    c->u->touched = true;
    if (rc == WIO_TX_DONE)
        wio_pool_put(&c->u->ctl_pool, c);
    return rc >= 0;
}

/* It waited for this link: the credit in its header may be that of an older one. */
static void refresh_credit(struct ctl *c)
{
    struct wio_credit *mine = &c->peer->credit;
    struct wio_msg msg;
    const char *why = NULL;
    if (wio_msg_decode(c->tx.msg, 0, &msg, &why) != 0)
        return; /* cannot be: we made it */
    msg.credit = mine->announced = mine->granted;
    wio_msg_encode(&msg, c->tx.msg);
}

static void flush_ctl(struct wio_universe *u, struct wio_peer *p)
{
    (void)u;
    struct wio_list *n;
    while ((n = wio_list_first(&p->ctlq)) != NULL) {
        struct ctl *c = WIO_CONTAINER(n, struct ctl, node);
        wio_list_remove(n);
        c->tx.sent = 0;
        refresh_credit(c);
        if (!submit_ctl(c)) {
            wio_list_push_front(&p->ctlq, n);
            return;
        }
    }
}

void wio_ctl_drop(struct wio_universe *u, struct wio_peer *p)
{
    struct wio_list *n;
    while ((n = wio_list_pop(&p->ctlq)) != NULL)
        wio_pool_put(&u->ctl_pool, WIO_CONTAINER(n, struct ctl, node));
}

int wio_send_ctl(struct wio_universe *u, struct wio_peer *p, struct wio_msg *msg, unsigned flags)
{
    if (p->dead)
        return 0; /* no peer is left to receive it */
    struct ctl *c = wio_pool_get(&u->ctl_pool);
    if (c == NULL) {
        wio_peer_unsaid(u, p);
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for a control message");
    }
    msg->credit = p->credit.granted;
    p->credit.announced = p->credit.granted;
    *c = (struct ctl){.tx = {.flags = (uint8_t)flags, .done = ctl_done}, .u = u, .peer = p};
    wio_msg_encode(msg, c->tx.msg);
    if (p->link == WIO_EP_READY && wio_list_empty(&p->ctlq) && submit_ctl(c))
        return 0;
    if (msg->op == WIO_OP_CREDIT) { /* a new link starts a new account anyway */
        wio_pool_put(&u->ctl_pool, c);
        return 0;
    }
    wio_list_push(&p->ctlq, &c->node);
    int rc = p->ep == NULL ? wio_peer_connect(u, p) : 0;
    if (rc != 0)
        wio_peer_doom(u, p);
    return rc;
}
