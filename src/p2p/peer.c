/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers: made on first contact, routed, linked, failed. */
#include "p2p/stripe.h"

const char *wio_peer_name(const struct wio_universe *u, uint32_t rank, char *buf, size_t n)
{
    uint32_t pb = wio_table_pb_of(u->table, rank);
    wio_text(buf, n, "PB %u rank %u", pb, rank - u->table->pb_base[pb]);
    return buf;
}

struct wio_peer *wio_peer_get(struct wio_universe *u, uint32_t rank)
{
    struct wio_peer *p = u->peer[rank];
    if (WIO_LIKELY(p != NULL))
        return p;
    p = wio_os_alloc(sizeof *p);
    if (p == NULL)
        return NULL;
    p->rank = rank;
    p->link = WIO_EP_CLOSED;
    wio_list_init(&p->ctlq);
    wio_list_init(&p->sendq);
    wio_list_init(&p->bulk);
    wio_list_init(&p->far);
    wio_list_init(&p->fetches);
    wio_list_init(&p->owned);
    wio_list_init(&p->partial);
    wio_list_init(&p->early);
    wio_list_init(&p->expected);
    u->peer[rank] = p;
    u->ctr.peers++;
    u->ctr.peer_bytes += sizeof *p;
    return p;
}

void wio_peer_free(struct wio_universe *u, struct wio_peer *p)
{
    wio_ctl_drop(u, p);
    u->peer[p->rank] = NULL;
    wio_os_free(p->lanes);
    wio_os_free(p->why);
    wio_os_free(p->ways);
    wio_os_free(p->lost_why);
    wio_os_free(p);
}

static const char *caps_text(uint16_t caps, char *buf, size_t n)
{
    size_t at = 0;
    buf[0] = '\0';
    for (int t = WIO_TR_TCP; t < WIO_TR_COUNT; t++)
        if ((caps & (1u << t)) != 0) {
            const struct wio_transport *tr = wio_transport_get((enum wio_transport_id)t);
            at += wio_text(buf + at, n - at, "%s%s", at > 0 ? "," : "", tr ? tr->name : "?");
        }
    return at > 0 ? buf : "none";
}

/* The cheapest of the transports that have none of these capabilities. */
static struct wio_iface *route(struct wio_universe *u, uint32_t rank, uint32_t without, char *why,
                               size_t nwhy)
{
    uint16_t theirs = u->table->ep[rank].caps, ours = u->allowed;
    uint16_t barred = u->peer[rank] != NULL ? u->peer[rank]->barred : 0;
    struct wio_iface *best = NULL;
    char text[256];
    wio_text(why, nwhy, "no transport was tried");
    for (int t = 0; t < WIO_TR_COUNT; t++) {
        if (u->iface[t] == NULL || (t != WIO_TR_SELF && (ours & theirs & (1u << t)) == 0) ||
            (u->attr[t].caps & without) != 0 || (barred & (1u << t)) != 0)
            continue;
        if (!u->iface[t]->tr->reachable(u->iface[t], rank, text, sizeof text)) {
            if (best == NULL)
                wio_text(why, nwhy, "%s: %s", u->iface[t]->tr->name, text);
            continue;
        }
        if (best == NULL || u->attr[t].latency_s < u->attr[best->tr->id].latency_s) {
            best = u->iface[t];
            wio_text(why, nwhy, "%s: %s", best->tr->name, text);
        }
    }
    if (best == NULL && (ours & theirs) == 0) {
        char a[64], b[64];
        wio_text(why, nwhy, "we allow %s, it allows %s (WAITIO_COMM_TYPE of the two must overlap)",
                 caps_text(ours, a, sizeof a), caps_text(theirs, b, sizeof b));
    }
    return best;
}

struct wio_iface *wio_peer_route(struct wio_universe *u, uint32_t rank, char *why, size_t nwhy)
{
    return route(u, rank, 0, why, nwhy);
}

int wio_peer_error(const struct wio_universe *u, const struct wio_peer *p)
{
    char name[64];
    return wio_fail(WAITIO_ERR_PEER, "%s: %s", wio_peer_name(u, p->rank, name, sizeof name),
                    p->why != NULL ? p->why : "connection lost");
}

/* The transport decides the eager limit. */
static void set_route(struct wio_universe *u, struct wio_peer *p, struct wio_iface *f)
{
    if (p->iface == f)
        return;
    struct wio_tr_attr a = u->attr[f->tr->id];
    (void)f->tr->adapt(&u->cfg, f->tr->distance(f, p->rank), &a);
    p->iface = f;
    p->eager_max = a.eager_max;
    p->memory = (a.caps & WIO_CAP_MEMORY) != 0;
}

/* Log the route of a link, and the reason if a process of this host is reached by a slower one. */
static void tell_route(struct wio_universe *u, const struct wio_peer *p, struct wio_iface *f,
                       bool theirs)
{
    const struct wio_table *t = u->table;
    const struct wio_tab_ep *e = &t->ep[p->rank];
    char name[64], why[256];
    (void)f->tr->reachable(f, p->rank, why, sizeof why);
    wio_debug(&u->log, WIO_C_P2P, "link to %s by %s: %s%s",
              wio_peer_name(u, p->rank, name, sizeof name), f->tr->name, why,
              theirs ? " (it has connected)" : "");
    if (t->host[e->host].identity != t->host[t->ep[t->me].host].identity)
        return;
    for (int i = WIO_TR_TCP; i < WIO_TR_COUNT; i++) {
        struct wio_iface *o = u->iface[i];
        if (o == NULL || o == f || (u->allowed & e->caps & (1u << i)) == 0 ||
            (u->attr[i].caps & WIO_CAP_PARTIAL) != 0 ||
            u->attr[i].latency_s >= u->attr[f->tr->id].latency_s ||
            o->tr->reachable(o, p->rank, why, sizeof why))
            continue;
        wio_info(&u->log, WIO_C_P2P, "%s is reached by %s instead of %s: %s",
                 wio_peer_name(u, p->rank, name, sizeof name), f->tr->name, o->tr->name, why);
    }
}

int wio_peer_connect(struct wio_universe *u, struct wio_peer *p)
{
    if (p->ep != NULL || p->dead)
        return p->dead ? wio_peer_error(u, p) : 0;
    char name[64], why[320];
    struct wio_iface *f, *last = NULL;
    struct wio_ep *ep = NULL;
    int rc;
    do { /* a transport that finds out that it cannot says so to reachable() from then on */
        f = wio_peer_route(u, p->rank, why, sizeof why);
        if (f == NULL)
            return wio_fail(WAITIO_ERR_NOROUTE, "no route to %s: %s",
                            wio_peer_name(u, p->rank, name, sizeof name), why);
        rc = f == last ? WAITIO_ERR_NOROUTE : f->tr->connect(f, p->rank, &ep);
        if (rc != 0 && (rc != WAITIO_ERR_NOROUTE || f == last))
            return rc;
        last = f;
    } while (rc != 0);
    tell_route(u, p, f, false);
    u->touched = true;
    set_route(u, p, f);
    if (ep == p->side)
        wio_side_merge(u, p);
    p->ep = ep;
    p->link = WIO_EP_CONNECTING;
    p->linked_ns = wio_os_now_ns();
    ep->context = p;
    if (ep->state == WIO_EP_READY && !p->credit.open) {
        /* A transport without a handshake (self). */
        p->link = WIO_EP_READY;
        wio_credit_open(u, p);
    }
    return 0;
}

/* ---- links beside mute ones ---- */

static bool is_mute(const struct wio_universe *u, const struct wio_iface *f)
{
    return (u->attr[f->tr->id].caps & WIO_CAP_MUTE) != 0;
}

bool wio_peer_unguarded(const struct wio_universe *u, const struct wio_peer *p)
{
    return p->ep != NULL && p->guard == NULL && !p->dead && is_mute(u, p->iface);
}

void wio_peer_guard(struct wio_universe *u, struct wio_peer *p)
{
    char why[320], name[64];
    struct wio_iface *f = route(u, p->rank, WIO_CAP_MUTE, why, sizeof why);
    if (f == NULL || f->tr->connect(f, p->rank, &p->guard) != 0)
        return; /* in the next round again; where no other transport reaches it, nobody can tell */
    wio_debug(&u->log, WIO_C_P2P, "link to %s by %s, to notice its death: %s",
              wio_peer_name(u, p->rank, name, sizeof name), f->tr->name, why);
}

/* Does it stand beside a mute link, which carries the messages? Both sides agree on that one. */
static bool is_guard(struct wio_universe *u, const struct wio_peer *p, const struct wio_ep *ep)
{
    char why[320];
    if (ep == p->guard)
        return true;
    if (ep == p->ep || is_mute(u, ep->iface))
        return false;
    const struct wio_iface *f = wio_peer_route(u, p->rank, why, sizeof why);
    return f != NULL && is_mute(u, f);
}

void wio_peer_close_lost(struct wio_peer *p)
{
    p->lost = false;
    if (p->ep != NULL && p->ep->state < WIO_EP_CLOSED)
        p->ep->iface->tr->close(p->ep, WIO_BYE_ERROR); /* it waits for nobody */
}

void wio_peer_lose(struct wio_universe *u, struct wio_peer *p, const char *text)
{
    if (p->ep == NULL) {
        wio_peer_fail(u, p, WAITIO_ERR_PEER, false, text);
        return;
    }
    size_t n = strlen(text) + 1;
    if (p->lost_why == NULL && (p->lost_why = wio_os_alloc(n)) != NULL)
        memcpy(p->lost_why, text, n);
    p->lost = true;
    wio_peer_activate(u, p);
}

/* ---- peer failure ---- */

bool wio_peer_link_holds(const struct wio_peer *p, const struct wio_request *r)
{
    return r->far ? p->side != NULL : p->ep != NULL;
}

static void fail_sends(struct wio_universe *u, struct wio_peer *p, int err)
{
    WIO_LIST_FOR_SAFE(it, next, &p->owned)
    {
        struct wio_request *r = WIO_CONTAINER(it, struct wio_request, owned);
        if (r->kind != WIO_REQ_SEND || (r->tx_busy && wio_peer_link_holds(p, r)) ||
            (r->stripe != NULL && r->stripe->busy > 0))
            continue; /* the link, the side link or a lane gives it back when it ends */
        if (r->user_done)
            wio_warn(&u->log, WIO_C_P2P,
                     "a completed send of %zu bytes (tag %d) was not delivered: the peer failed",
                     r->bytes, r->tag);
        r->tx_busy = false;
        wio_req_finish(r, err);
    }
}

void wio_peer_fail(struct wio_universe *u, struct wio_peer *p, int err, bool left, const char *text)
{
    if (p->dead)
        return;
    p->dead = true;
    u->deaths++;
    p->left = left;
    if (!left)
        p->failure = ++u->failures;
    size_t n = strlen(text) + 1;
    p->why = wio_os_alloc(n);
    if (p->why != NULL)
        memcpy(p->why, text, n);
    char name[64];
    if (left)
        wio_info(&u->log, WIO_C_P2P, "%s: %s", wio_peer_name(u, p->rank, name, sizeof name), text);
    else if (!u->ending)
        wio_warn(&u->log, WIO_C_P2P, "%s failed: %s", wio_peer_name(u, p->rank, name, sizeof name),
                 text);
    fail_sends(u, p, err);
    wio_recv_peer_gone(u, p);
    wio_ctl_drop(u, p);
    p->cut = p->side != NULL || wio_lanes_any(p);
    p->lost = p->lost || (p->ep != NULL && !left); /* else that link's own goodbye comes */
    if (p->cut || p->lost)                         /* close() is not allowed in an upcall */
        wio_peer_activate(u, p);
    if (!left && !u->ending)
        if (!left || u->resume == NULL) /* it may have been far ahead, thanks to its journals */
            wio_revoke_of(u, p);
    u->completed = true;
}

void wio_peer_fail_rest(struct wio_universe *u, struct wio_peer *p)
{
    fail_sends(u, p, WAITIO_ERR_PEER);
    wio_recv_peer_gone(u, p);
    u->completed = true;
}

/* ---- upcalls about links ---- */

static bool may_close(void *user, struct wio_ep *ep, uint32_t rank)
{
    struct wio_universe *u = user;
    struct wio_peer *p = u->peer[rank];
    (void)ep;
    if (p == NULL)
        return true;
    if (!wio_list_empty(&p->sendq) || !wio_list_empty(&p->bulk) || !wio_list_empty(&p->ctlq) ||
        !wio_list_empty(&p->partial) || p->moving > 0 || p->local_pending > 0)
        return false;
    WIO_LIST_FOR(it, &p->owned)
    {
        const struct wio_request *r = WIO_CONTAINER(it, struct wio_request, owned);
        if (r->state != WIO_RS_ASKED || r->tx_busy)
            return false;
    }
    return true;
}

void wio_peer_activate(struct wio_universe *u, struct wio_peer *p)
{
    if (!p->active) {
        p->active = true;
        wio_list_push(&u->active, &p->active_node);
    }
}

void wio_peer_doom(struct wio_universe *u, struct wio_peer *p)
{
    p->doomed = true;
    wio_peer_activate(u, p);
}

void wio_peer_unsaid(struct wio_universe *u, struct wio_peer *p)
{
    p->unsaid = true;
    wio_peer_activate(u, p);
}

static void fail_unsaid(struct wio_universe *u, struct wio_peer *p)
{
    wio_peer_fail(u, p, WAITIO_ERR_NOMEM, false, "no memory for a message to it");
}

void wio_peer_end_unsaid(struct wio_universe *u, struct wio_peer *p)
{
    if (p->ep == NULL)
        fail_unsaid(u, p);
    else if (p->ep->state < WIO_EP_CLOSING)
        p->iface->tr->close(p->ep, WIO_BYE_NOMEM); /* its CLOSED state fails the peer */
}

void wio_peer_close_given_up(struct wio_peer *p)
{
    struct wio_ep *ep = p->given_up;
    p->given_up = NULL;
    if (ep->state < WIO_EP_CLOSING)
        ep->iface->tr->close(ep, WIO_BYE_CAP); /* no word about the peer itself */
}

static void forget(struct wio_universe *u, struct wio_peer *p, const struct wio_ep *ep)
{
    if (p->given_up == ep)
        p->given_up = NULL;
    if (p->guard == ep)
        p->guard = NULL;
    if (p->ep == ep) {
        p->ep = NULL;
        p->link = WIO_EP_CLOSED;
        p->watched = false;
        wio_credit_close(u, p);
    }
}

/* The main link was closed in order. */
static void said_goodbye(struct wio_universe *u, struct wio_peer *p, enum wio_bye_reason reason)
{
    if (reason == WIO_BYE_FINALIZE)
        wio_peer_fail(u, p, WAITIO_ERR_PEER, true, "it has finalized");
    else if (reason == WIO_BYE_ABORT)
        wio_peer_fail(u, p, WAITIO_ERR_PEER, false, "it has called waitio_abort");
    else if (wio_bye_is_final(reason))
        wio_peer_fail(u, p, WAITIO_ERR_PEER, false,
                      reason == WIO_BYE_NOMEM ? "it has no memory for a message"
                                              : "it closed the link after a protocol error");
    else if (!wio_list_empty(&p->sendq) || !wio_list_empty(&p->bulk) || !wio_list_empty(&p->ctlq) ||
             wio_lanes_any(p) || wio_striping(p))
        wio_peer_activate(u, p); /* closed by a connection cap with work left: dial again */
}

/* What it says about a peer that nobody has given up yet. */
static void why_closed(struct wio_universe *u, struct wio_peer *p, int err,
                       enum wio_bye_reason reason, const char *text)
{
    if (p->lost_why != NULL)
        wio_peer_fail(u, p, WAITIO_ERR_PEER, false, p->lost_why);
    else if (p->silent)
        wio_peer_fail(u, p, WAITIO_ERR_PEER, false, "it gave no sign of life at finalize");
    else if (err == WAITIO_ERR_NOROUTE && p->ep == NULL)
        wio_peer_doom(u, p); /* not this way, and nothing was sent: another route, or none */
    else if (err == WAITIO_ERR_NOROUTE)
        return; /* another route is in use already */
    else if (p->unsaid)
        fail_unsaid(u, p);
    else if (err < 0)
        wio_peer_fail(u, p, err, false, text); /* also where it only stands beside the main link */
    else
        said_goodbye(u, p, reason);
}

static void link_closed(struct wio_universe *u, struct wio_peer *p, struct wio_ep *ep, int err,
                        enum wio_bye_reason reason, const char *text)
{
    struct wio_grave *g = wio_os_alloc(sizeof *g);
    if (g != NULL) {
        g->ep = ep;
        wio_list_push(&u->closed_eps, &g->node);
    } /* else: freed with the interface */
    if (WIO_UNLIKELY(ep->lane != 0)) {
        wio_lanes_closed(u, p, ep, err, text);
        return;
    }
    if (wio_side_closed(u, p, ep, err, text))
        return;
    bool dialled = p->ep == ep && p->link == WIO_EP_CONNECTING;
    forget(u, p, ep);
    if (p->dead) { /* it was the last one, or another one ends, too */
        wio_peer_fail_rest(u, p);
        return;
    }
    if (!dialled || err == 0 || !wio_side_instead(u, p, ep->iface, text))
        why_closed(u, p, err, reason, text);
}

/* It carries the messages. */
static void take_link(struct wio_universe *u, struct wio_peer *p, struct wio_ep *ep,
                      enum wio_ep_state state)
{
    bool opened = state == WIO_EP_READY && p->link != WIO_EP_READY;
    if (p->ep != ep)
        tell_route(u, p, ep->iface, true);
    if (p->ep == NULL)
        p->linked_ns = wio_os_now_ns();
    p->ep = ep;
    set_route(u, p, ep->iface);
    p->link = (uint8_t)state;
    ep->context = p;
    if (opened) { /* not again where connect() gave a ready link already (self) */
        wio_credit_open(u, p);
        wio_peer_activate(u, p);
    }
}

void wio_peer_main(struct wio_universe *u, struct wio_peer *p, struct wio_ep *ep)
{
    if (p->ep != NULL) {
        p->given_up = p->ep;
        wio_peer_activate(u, p);
    }
    take_link(u, p, ep, WIO_EP_READY);
}

static void on_state(void *user, struct wio_ep *ep, uint32_t rank, enum wio_ep_state state, int err,
                     enum wio_bye_reason reason, const char *text)
{
    struct wio_universe *u = user;
    u->touched = true;
    struct wio_peer *p = wio_peer_get(u, rank);
    if (p == NULL)
        return; /* no memory: wio_peer_told_late(), or the first message fails the link */
    if (state == WIO_EP_CLOSED) {
        link_closed(u, p, ep, err, reason, text);
        return;
    }
    if (WIO_UNLIKELY(ep->lane != 0)) {
        wio_lanes_state(u, p, ep, state);
        return;
    }
    if (wio_side_state(u, p, ep, state))
        return;
    if (is_guard(u, p, ep)) {
        p->guard = ep;
        return;
    }
    if (p->ep != NULL && p->ep != ep) {
        /* An old link that is still closing; or the peer has given up the route that we still try,
         * and comes by another. */
        if (state != WIO_EP_READY || p->link != WIO_EP_CONNECTING || p->iface == ep->iface)
            return;
        p->given_up = p->ep; /* closed by the next pump: close() is not allowed in an upcall */
        wio_peer_activate(u, p);
    }
    take_link(u, p, ep, state);
}

void wio_peer_told_late(struct wio_universe *u, struct wio_peer *p, struct wio_ep *ep)
{
    if (p->ep == NULL && ep != p->guard && ep != p->side && !p->dead)
        on_state(u, ep, p->rank, WIO_EP_READY, 0, WIO_BYE_NONE, "");
}

/* Nothing is freed: the program, or exit(), ends the universe later. */
static void on_ending(void *user)
{
    struct wio_universe *u = user;
    if (u->joined && !u->ending)
        (void)wio_universe_leave(u, true, NULL);
}

const struct wio_upcalls wio_p2p_upcalls = {
    .on_message = wio_arrive_message,
    .on_payload = wio_arrive_payload,
    .on_whole = wio_arrive_whole,
    .on_abandon = wio_arrive_abandon,
    .on_state = on_state,
    .on_may_close = may_close,
    .on_ending = on_ending,
};
