/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large messages that the receiver reads from the sender's memory:
 *
 *   RTS(lends) LENT(where it lies) ->      <- DONE, when it is fetched
 *                                  or      <- CTS: send it, as every rendezvous
 *
 * One processor copies once; through a ring two processors copy twice. So it pays where processors
 * are few (docs/performance.md). For the same reason there is no question before: each question
 * waits until the other process gets a processor.
 */
#include "p2p/universe.h"

/* All other work waits during a piece. */
#define FETCH_PIECE ((size_t)256 << 10)

/* Both ends are on one host and normally decide the same. */
static bool pays(const struct wio_request *r, size_t bytes)
{
    const struct wio_universe *u = r->u;
    const struct wio_peer *p = r->peer;
    bool wanted = u->cfg.shm_fetch == WIO_CFG_SHM_FETCH_ON ||
                  (u->cfg.shm_fetch == WIO_CFG_SHM_FETCH_AUTO && u->spin.crowded);
    return wanted && bytes >= u->cfg.shm_fetch_min && p->link == WIO_EP_READY &&
           p->iface->tr->fetch(p->ep, 0, NULL, 0) == 0;
}

bool wio_fetch_lends(const struct wio_request *r)
{
    /* A copy of what completes at once would lie elsewhere. */
    return r->bytes > r->u->cfg.local_max && pays(r, r->bytes);
}

void wio_fetch_lend(struct wio_request *r)
{
    struct wio_msg m = {.op = WIO_OP_LENT, .a = (uint64_t)(uintptr_t)r->buf, .b = wio_req_id(r)};
    r->state = WIO_RS_ACK;
    r->lent = true;
    (void)wio_send_ctl(r->u, r->peer, &m, WIO_TX_SMALL);
}

static void start(struct wio_request *r, uint64_t lender)
{
    r->lender = lender;
    wio_list_push(&r->peer->fetches, &r->node);
    wio_peer_activate(r->u, r->peer);
}

bool wio_fetch_begin(struct wio_request *r, uint64_t lender)
{
    if (!pays(r, r->granted))
        return false;
    r->lent = true;
    r->lender = 0;
    if (lender != 0)
        start(r, lender);
    return true;
}

static struct wio_unexpected *held_ask(struct wio_list *list, uint64_t remote)
{
    WIO_LIST_FOR(it, list)
    {
        struct wio_unexpected *m = WIO_CONTAINER(it, struct wio_unexpected, owned);
        if (m->lends && m->lender == 0 && m->remote == remote)
            return m;
    }
    return NULL;
}

void wio_fetch_said(struct wio_peer *p, const struct wio_msg *msg)
{
    struct wio_unexpected *m = held_ask(&p->early, msg->b);
    if (m != NULL) {
        m->lender = msg->a;
        return;
    }
    m = held_ask(&p->partial, msg->b);
    if (m != NULL) {
        m->lender = msg->a;
        wio_list_remove(&m->owned);
        return;
    }
    WIO_LIST_FOR(it, &p->owned)
    {
        struct wio_request *r = WIO_CONTAINER(it, struct wio_request, owned);
        if (r->kind == WIO_REQ_RECV && r->state == WIO_RS_MOVING && r->lent && r->lender == 0 &&
            r->remote == msg->b) {
            start(r, msg->a);
            return;
        }
    }
    /* Otherwise its receive has asked for the data, or has ended. */
}

/* The fetch does not work (any more): ask for the data. */
static void ask_for_data(struct wio_universe *u, struct wio_request *r)
{
    struct wio_msg m = {.op = WIO_OP_CTS, .space = wio_req_id(r), .a = r->granted, .b = r->remote};
    wio_debug(&u->log, WIO_C_P2P, "a message of %zu bytes could not be fetched: it will be sent",
              r->total);
    r->lent = false;
    r->moved = 0;
    (void)wio_send_ctl(u, r->peer, &m, WIO_TX_SMALL);
}

void wio_fetch_pump(struct wio_universe *u, struct wio_peer *p)
{
    if (wio_list_empty(&p->fetches))
        return;
    struct wio_request *r = WIO_CONTAINER(wio_list_pop(&p->fetches), struct wio_request, node);
    size_t left = r->granted - r->moved, n = left < FETCH_PIECE ? left : FETCH_PIECE;
    if (p->ep == NULL || p->link != WIO_EP_READY ||
        p->iface->tr->fetch(p->ep, r->lender + r->moved, r->buf + r->moved, n) != 0) {
        ask_for_data(u, r);
    } else {
        r->moved += n;
        if (r->moved == r->granted)
            wio_recv_complete(r);
        else
            wio_list_push(&p->fetches, &r->node);
    }
    if (!wio_list_empty(&p->fetches))
        wio_peer_activate(u, p);
}
