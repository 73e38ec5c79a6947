/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sending a long message over several connections: see stripe.h. The request stands in the queue of
 * its peer's lanes as long as there are pieces that no connection has taken. Each connection holds
 * at most one piece of a request: the link that in the request's own tx, a lane that in a slot.
 */
#include "p2p/stripe.h"

enum { PUMP_ROUNDS = 16 };

bool wio_stripe_begin(struct wio_request *r)
{
    struct wio_universe *u = r->u;
    struct wio_peer *p = r->peer;
    size_t units = (r->granted + WIO_STRIPE_UNIT - 1) / WIO_STRIPE_UNIT;
    if (r->far || wio_is_spread(r) || units < 2 || units > UINT32_MAX || !wio_lanes_want(u, p))
        return false;
    struct wio_stripe *s = wio_os_alloc(sizeof *s + units * sizeof s->unit[0]);
    if (s == NULL)
        return false; /* as without lanes */
    s->units = (uint32_t)units;
    r->stripe = s;
    r->moved = r->granted; /* nothing is left for the usual way */
    u->ctr.stripe_msgs++;
    wio_list_push(&p->lanes->queue, &r->node);
    return true;
}

void wio_stripe_left(struct wio_request *r)
{
    const struct wio_stripe *s = r->stripe;
    if (r->acked)
        wio_list_remove(&r->node); /* a piece that goes again is not needed any more */
    if (r->tx_busy || s->busy > 0)
        return;
    if (r->refused)
        wio_req_finish(r, WAITIO_ERR_PEER);
    else if (r->acked || s->handed == s->units)
        wio_send_written(r);
}

static void slot_done(struct wio_tx *tx, int err)
{
    struct wio_slot *slot = WIO_CONTAINER(tx, struct wio_slot, tx);
    struct wio_request *r = slot->r;
    struct wio_peer *p = r->peer;
    struct wio_universe *u = r->u;
    slot->busy = false;
    r->stripe->busy--;
    if (err == 0 || r->acked) /* else it goes again when the end of the lane is told */
        wio_stripe_left(r);
    if (err == 0)
        wio_send_pump(u, p);
}

/* Put a piece on a lane. @return as send() */
static int put(struct wio_request *r, unsigned k, size_t at, size_t n)
{
    struct wio_ep *ep = r->peer->lanes->at[k].ep;
    struct wio_slot *slot = &r->stripe->slot[k];
    struct wio_msg m = {.op = WIO_OP_DATA,
                        .credit = r->peer->credit.granted, /* not looked at */
                        .tag = r->tag,
                        .envelope = r->envelope,
                        .space = r->remote,
                        .a = at,
                        .b = WIO_STRIPE_UNIT};
    slot->r = r;
    slot->tx = (struct wio_tx){.payload = r->buf + at, .bytes = (uint32_t)n, .done = slot_done};
    wio_msg_encode(&m, slot->tx.msg);
    int rc = ep->iface->tr->send(ep, &slot->tx);
    if (rc < 0)
        return rc;
    r->u->ctr.stripe_bytes += n;
    if (rc == WIO_TX_QUEUED) {
        slot->busy = true;
        r->stripe->busy++;
        r->u->touched = true;
    }
    return rc;
}

/* The next units that nobody has: half of the even share of what is left, at most. @return how many
 */
static uint32_t next_units(struct wio_stripe *s, uint32_t ways)
{
    while (s->next < s->units && s->unit[s->next].lane != 0)
        s->next++;
    uint32_t most = (s->units - s->handed) / (2 * ways), n = 0;
    if (most > WIO_STRIPE_LONG)
        most = WIO_STRIPE_LONG;
    do
        n++;
    while (n < most && s->next + n < s->units && s->unit[s->next + n].lane == 0);
    return n;
}

static uint32_t ways_to(const struct wio_peer *p)
{
    uint32_t n = 1;
    for (unsigned k = 1; k < WIO_LANES; k++)
        n += p->lanes->at[k].open;
    return n;
}

/* @return whether the connection has taken a piece of it */
static bool give_piece(struct wio_request *r, unsigned k)
{
    struct wio_stripe *s = r->stripe;
    struct wio_lane *l = &r->peer->lanes->at[k];
    uint32_t units = next_units(s, ways_to(r->peer)), first = s->next;
    size_t at = first * WIO_STRIPE_UNIT, left = r->granted - at, n = units * WIO_STRIPE_UNIT;
    if (n > left)
        n = left;
    int rc = k == 0 ? wio_send_unit(r, at, n, WIO_STRIPE_UNIT) : put(r, k, at, n);
    if (rc < 0)
        return false;
    l->sent++;
    for (uint32_t i = 0; i < units; i++)
        s->unit[first + i] = (struct wio_unit){.lane = (uint8_t)(k + 1), .number = l->sent};
    s->handed += units;
    return true;
}

static bool holds_one(const struct wio_request *r, unsigned k)
{
    return k == 0 ? r->tx_busy : r->stripe->slot[k].busy;
}

/* A piece of the first message that this connection holds none of. @return false: it takes none */
static bool give(struct wio_peer *p, unsigned k)
{
    struct wio_list *queue = &p->lanes->queue;
    struct wio_ep *ep = k == 0 ? p->ep : p->lanes->at[k].ep;
    bool ready = k == 0 ? p->link == WIO_EP_READY : p->lanes->at[k].open;
    if (ep == NULL || !ready || ep->state != WIO_EP_READY || ep->iface->tr->queued(ep) > 0)
        return false;
    WIO_LIST_FOR(it, queue)
    {
        struct wio_request *r = WIO_CONTAINER(it, struct wio_request, node);
        if (holds_one(r, k))
            continue;
        if (!give_piece(r, k))
            return false;
        wio_list_remove(&r->node);
        if (r->stripe->handed < r->stripe->units)
            wio_list_push(queue, &r->node); /* the others have their turn */
        else
            wio_stripe_left(r);
        return true;
    }
    return false;
}

void wio_stripe_pump(struct wio_universe *u, struct wio_peer *p)
{
    bool more = true;
    for (int i = 0; more && i < PUMP_ROUNDS; i++) {
        more = false;
        for (unsigned k = 0; k < WIO_LANES; k++)
            more |= give(p, k);
    }
    if (more)
        wio_peer_activate(u, p);
}

static uint32_t take_back(struct wio_stripe *s, unsigned lane, uint32_t taken)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->units; i++) {
        struct wio_unit *unit = &s->unit[i];
        if (unit->lane != lane + 1 || (int32_t)(unit->number - taken) <= 0)
            continue;
        unit->lane = 0;
        if (i < s->next)
            s->next = i;
        n++;
    }
    s->handed -= n;
    return n;
}

void wio_stripe_again(struct wio_universe *u, struct wio_peer *p, unsigned lane, uint32_t taken)
{
    WIO_LIST_FOR(it, &p->owned)
    {
        struct wio_request *r = WIO_CONTAINER(it, struct wio_request, owned);
        if (r->kind != WIO_REQ_SEND || r->stripe == NULL || r->acked)
            continue;
        uint32_t n = take_back(r->stripe, lane, taken);
        if (n == 0)
            continue;
        u->ctr.stripe_again += n * WIO_STRIPE_UNIT;
        r->state = WIO_RS_MOVING;
        if (!wio_list_linked(&r->node))
            wio_list_push(&p->lanes->queue, &r->node);
    }
}
