/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that the receiver reads from the sender's memory:
 *
 *   RTS(lends) LENT(where it lies) ->      <- DONE, when it is fetched
 *                                  or      <- CTS: send it, as every rendezvous
 *
 * One processor copies once; through a ring two processors copy twice. It pays where processors
 * are few, and where they share no cache; the latter is measured (way.h). There is no question
 * before: each question waits until the other process gets a processor.
 *
 * A send that completes locally may do so while the receiver has not fetched it: then its data is
 * copied, and the word that the receiver reads behind the data says that it was too late. It asks
 * for the data then.
 */
#include "p2p/universe.h"

/* All other work of this process waits during a piece. With more processes than processors it waits
 * anyway, and a broadcast of 8 MiB to seven that fetch it takes 15 % less by long pieces
 * (Intel Xeon, two cores). */
#define FETCH_PIECE ((size_t)256 << 10)
#define FETCH_PIECE_CROWDED ((size_t)2 << 20)

static size_t piece(const struct wio_universe *u)
{
    return u->spin.crowded ? FETCH_PIECE_CROWDED : FETCH_PIECE;
}

static bool possible(const struct wio_universe *u, const struct wio_peer *p)
{
    return u->cfg.shm_fetch != WIO_CFG_SHM_FETCH_OFF && p->link == WIO_EP_READY &&
           p->iface->tr->fetch != wio_tr_no_fetch && p->iface->tr->fetch(p->ep, NULL, NULL, 0) == 0;
}

static struct wio_way *way(struct wio_peer *p, size_t bytes)
{
    if (p->ways == NULL)
        p->ways = wio_os_alloc(sizeof *p->ways);
    return p->ways != NULL ? wio_way_of(p->ways, bytes) : NULL;
}

bool wio_fetch_wanted(struct wio_request *r)
{
    const struct wio_universe *u = r->u;
    struct wio_peer *p = r->peer;
    r->timed = false;
    if (wio_is_spread(r)) /* there is no one place that it lies at */
        return false;
    if (r->bytes < u->cfg.shm_fetch_min || !p->memory || !possible(u, p))
        return false;
    if (u->cfg.shm_fetch == WIO_CFG_SHM_FETCH_ON)
        return true;
    if (u->spin.crowded) /* a short one would make its sender wait for a processor */
        return r->bytes > u->cfg.local_max && r->bytes > p->eager_max;
    struct wio_way *w = way(p, r->bytes);
    return w != NULL && wio_way_next(w, &r->timed);
}

bool wio_fetch_unwanted(struct wio_universe *u, struct wio_peer *p, size_t bytes)
{
    if (!possible(u, p))
        return true;
    if (u->cfg.shm_fetch == WIO_CFG_SHM_FETCH_ON)
        return false;
    if (u->spin.crowded)
        return bytes <= u->cfg.local_max || bytes <= p->eager_max;
    struct wio_way *w = way(p, bytes);
    return w == NULL || wio_way_plain(w);
}

void wio_fetch_took(struct wio_request *r, int64_t ns)
{
    if (r->timed && r->peer->ways != NULL)
        wio_way_took(wio_way_of(r->peer->ways, r->bytes), r->lent, r->bytes, ns);
}

void wio_fetch_lend(struct wio_request *r)
{
    struct wio_universe *u = r->u;
    struct wio_msg m = {.op = WIO_OP_LENT,
                        .space = (uint64_t)(uintptr_t)&r->lend,
                        .a = (uint64_t)(uintptr_t)r->buf,
                        .b = wio_req_id(r)};
    r->state = WIO_RS_ACK;
    r->lent = true;
    m.envelope = r->peer->iface->tr->recalls(r->peer->ep, 0);
    atomic_store_explicit(&r->lend,
                          wio_lent_word(u->table->ep[u->table->me].token, r->peer->rank, m.b),
                          memory_order_release);
    if (!r->user_done && !r->sync && r->bytes <= u->cfg.local_max) {
        wio_list_push(&u->lent, &r->node);
        u->lent_ns = wio_os_now_ns();
    }
    (void)wio_send_ctl(u, r->peer, &m, WIO_TX_SMALL);
}

void wio_fetch_settled(struct wio_request *r)
{
    atomic_store_explicit(&r->lend, 0, memory_order_relaxed);
}

void wio_fetch_forbid(struct wio_request *r)
{
    const struct wio_peer *p = r->peer;
    wio_fetch_settled(r);
    if (p->ep != NULL)
        (void)p->iface->tr->recalls(p->ep, 1);
    atomic_thread_fence(memory_order_seq_cst); /* before the program changes the buffer */
}

void wio_fetch_take_back(struct wio_universe *u)
{
    struct wio_list *n;
    while ((n = wio_list_pop(&u->lent)) != NULL) {
        struct wio_request *r = WIO_CONTAINER(n, struct wio_request, node);
        if (!r->lent) { /* its transport has it, from where it lies */
            (void)r->peer->iface->tr->keep(r->peer->ep, &r->tx);
            continue;
        }
        wio_fetch_forbid(r);
        if (r->peer->ways != NULL)
            wio_way_late(wio_way_of(r->peer->ways, r->bytes));
        wio_send_local(r);
    }
}

/* A single piece is fetched at once: a round of progress would look at all transports first. */
static void start(struct wio_request *r, const struct wio_lent *lender)
{
    struct wio_peer *p = r->peer;
    bool at_once = r->granted <= piece(r->u) && wio_list_empty(&p->fetches);
    r->lender = *lender;
    wio_list_push(&p->fetches, &r->node);
    if (at_once)
        wio_fetch_pump(r->u, p);
    else
        wio_peer_activate(r->u, p);
}

bool wio_fetch_begin(struct wio_request *r, const struct wio_lent *lender)
{
    if (r->granted == 0 || !possible(r->u, r->peer))
        return false;
    r->lent = true;
    r->lender.at = 0;
    if (lender->at != 0)
        start(r, lender);
    return true;
}

static struct wio_unexpected *held_ask(struct wio_list *list, uint64_t remote)
{
    WIO_LIST_FOR(it, list)
    {
        struct wio_unexpected *m = WIO_CONTAINER(it, struct wio_unexpected, owned);
        if (m->lends && m->lender.at == 0 && m->remote == remote)
            return m;
    }
    return NULL;
}

void wio_fetch_said(struct wio_peer *p, const struct wio_msg *msg)
{
    const struct wio_lent lender = {
        .at = msg->a, .word = msg->space, .id = msg->b, .recalls = msg->envelope};
    struct wio_unexpected *m = held_ask(&p->early, msg->b);
    if (m != NULL) {
        m->lender = lender;
        return;
    }
    m = held_ask(&p->partial, msg->b);
    if (m != NULL) {
        m->lender = lender;
        wio_list_remove(&m->owned);
        return;
    }
    WIO_LIST_FOR(it, &p->owned)
    {
        struct wio_request *r = WIO_CONTAINER(it, struct wio_request, owned);
        if (r->kind == WIO_REQ_RECV && r->state == WIO_RS_MOVING && r->lent && r->lender.at == 0 &&
            r->remote == msg->b) {
            if (r->claimed)
                r->lender = lender;
            else
                start(r, &lender);
            return;
        }
    }
    /* Otherwise its receive has asked for the data, or has ended. */
}

static bool fetch_piece(struct wio_request *r, size_t n)
{
    const struct wio_peer *p = r->peer;
    struct wio_lent from = r->lender;
    uint8_t *to = wio_is_spread(r) ? wio_spread_room(r, n) : r->buf + r->moved;
    from.at += r->moved;
    if (to == NULL || p->ep == NULL || p->link != WIO_EP_READY ||
        p->iface->tr->fetch(p->ep, &from, to, n) != 0)
        return false;
    if (wio_is_spread(r)) {
        wio_spread_write(r, r->moved, n, to);
        wio_spread_piece_free(r);
    }
    return true;
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
    size_t left = r->granted - r->moved, n = left < piece(u) ? left : piece(u);
    if (!fetch_piece(r, n)) {
        wio_spread_piece_free(r);
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
