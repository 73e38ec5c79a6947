/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hybrid route: a second link beside the one that carries the messages, for the data of large
 * ones. Envelopes, answers and credit go by the main link, so matching and its order are those of
 * one link. A message above the threshold asks (RTS), whatever its size; when the receiver has
 * answered, its pieces (DATA) go by files. They name the receive and their place in it, so it does
 * not matter by which link they come.
 *
 * What the side link holds of a request - its tx, or the buffer it reads into - it gives back when
 * it ends. So requests that it serves outlive their peer's failure until then.
 */
#include "p2p/universe.h"

static struct wio_iface *files(const struct wio_universe *u)
{
    return u->hybrid ? u->iface[WIO_TR_FILE] : NULL;
}

bool wio_side_wanted(const struct wio_request *r)
{
    const struct wio_universe *u = r->u;
    const struct wio_peer *p = r->peer;
    struct wio_iface *f = files(u);
    char why[700];
    if (WIO_LIKELY(r->bytes <= u->side_above) || f == NULL || p->no_side || p->iface == f ||
        p->iface->tr->id == WIO_TR_SELF)
        return false;
    return f->tr->reachable(f, p->rank, why, sizeof why);
}

bool wio_side_state(struct wio_universe *u, struct wio_peer *p, struct wio_ep *ep,
                    enum wio_ep_state state)
{
    char why[700];
    if (files(u) == NULL || ep->iface->tr->id != WIO_TR_FILE || ep == p->ep)
        return false;
    if (ep != p->side && wio_peer_route(u, p->rank, why, sizeof why) == ep->iface)
        return false; /* no other way: this is the main link */
    ep->context = p;
    if (ep != p->side) {
        p->side = ep;
        p->side_open = false;
    }
    if (state == WIO_EP_READY && !p->side_open) {
        p->side_open = true;
        if (p->dead)
            p->cut = true;
        if (p->dead || !wio_list_empty(&p->far))
            wio_peer_activate(u, p);
    }
    return true;
}

/* No request is to go by the side link any more. */
static void end_far(struct wio_universe *u, struct wio_peer *p)
{
    struct wio_list *n;
    while ((n = wio_list_pop(&p->far)) != NULL) {
        WIO_CONTAINER(n, struct wio_request, node)->far = false;
        wio_list_push(&p->bulk, n);
    }
    wio_peer_activate(u, p);
}

void wio_side_merge(struct wio_universe *u, struct wio_peer *p)
{
    p->side = NULL;
    p->side_open = false;
    end_far(u, p);
}

void wio_side_promote(struct wio_universe *u, struct wio_peer *p)
{
    struct wio_ep *ep = p->side;
    if (p->link == WIO_EP_READY)
        return; /* each has opened a main link of its own: both serve */
    wio_side_merge(u, p);
    wio_peer_main(u, p, ep);
}

/* It could not be made: what was to go by it goes by the main link. */
static void do_without(struct wio_universe *u, struct wio_peer *p, const char *text)
{
    char name[64];
    if (!p->no_side)
        wio_warn(&u->log, WIO_C_P2P, "large messages to %s go by its %s link, not by files: %s",
                 wio_peer_name(u, p->rank, name, sizeof name),
                 p->iface != NULL ? p->iface->tr->name : "other", text);
    p->no_side = true;
    end_far(u, p);
}

bool wio_side_closed(struct wio_universe *u, struct wio_peer *p, const struct wio_ep *ep, int err,
                     const char *text)
{
    if (ep != p->side) { /* perhaps an older one, which another has replaced */
        bool old = files(u) != NULL && ep->iface->tr->id == WIO_TR_FILE && ep != p->ep;
        if (old && p->given_up == ep)
            p->given_up = NULL;
        return old;
    }
    bool opened = p->side_open;
    p->side = NULL;
    p->side_open = false;
    if (p->dead)
        wio_peer_fail_rest(u, p);
    else if (err < 0 && opened)
        wio_peer_lose(u, p, text);
    else if (err < 0)
        do_without(u, p, text);
    else if (!wio_list_empty(&p->far))
        wio_peer_activate(u, p); /* a new one */
    return true;
}

bool wio_side_instead(struct wio_universe *u, struct wio_peer *p, const struct wio_iface *f,
                      const char *text)
{
    char name[64];
    if (files(u) == NULL || f->tr->id != WIO_TR_TCP || p->dead || p->silent || p->unsaid ||
        (u->table->ep[p->rank].caps & (1u << WIO_TR_FILE)) == 0)
        return false;
    wio_info(&u->log, WIO_C_P2P, "%s is reached by files only: %s",
             wio_peer_name(u, p->rank, name, sizeof name), text);
    p->barred |= (uint16_t)(1u << f->tr->id);
    wio_peer_doom(u, p);
    return true;
}

void wio_side_cut(struct wio_peer *p)
{
    p->cut = false;
    if (p->side != NULL && p->side->state < WIO_EP_CLOSED)
        p->side->iface->tr->close(p->side, wio_list_empty(&p->owned) ? WIO_BYE_CAP : WIO_BYE_ERROR);
}

bool wio_side_ready(struct wio_universe *u, struct wio_peer *p)
{
    struct wio_iface *f = files(u);
    if (f != NULL && p->ep != NULL &&
        p->iface == f) { /* files have become the main way meanwhile */
        wio_side_merge(u, p);
        return false;
    }
    if (p->side == NULL) {
        int rc = f == NULL ? WAITIO_ERR_NOROUTE : f->tr->connect(f, p->rank, &p->side);
        if (rc != 0) {
            p->side = NULL;
            do_without(u, p, wio_last_detail());
            return false;
        }
        p->side->context = p;
        p->side_open = p->side->state == WIO_EP_READY;
        u->touched = true;
    }
    return p->side_open && p->side->state == WIO_EP_READY;
}

void wio_side_text(const struct wio_universe *u, uint32_t rank, const struct wio_iface *main,
                   char *buf, size_t n)
{
    const struct wio_iface *f = files(u);
    char why[700];
    if (f == NULL || main == f || main->tr->id == WIO_TR_SELF ||
        (u->table->ep[rank].caps & (1u << WIO_TR_FILE)) == 0 ||
        !f->tr->reachable(u->iface[WIO_TR_FILE], rank, why, sizeof why))
        return;
    wio_text(buf, n, "; messages above %llu bytes: %s", (unsigned long long)u->side_above, why);
}

bool wio_side_leave(struct wio_peer *p)
{
    if (p->side == NULL)
        return true;
    if (p->side->state < WIO_EP_CLOSING)
        p->side->iface->tr->close(p->side, WIO_BYE_CAP);
    return p->ep == NULL; /* nobody waits for its answer */
}
