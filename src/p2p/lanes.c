/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connections beside the link of a peer, for the data of long messages. Either side may open
 * them; both use what is there. They may come and go at any time: nothing but speed depends on
 * them.
 */
#include "p2p/stripe.h"

#define AGAIN_NS 1000000000LL   /* after one was lost or closed */
#define REFUSED_NS 3000000000LL /* after one could not be made */
#define LEAVE_NS 2000000000LL   /* finalize waits so long for their goodbyes */

bool wio_lanes_any(const struct wio_peer *p)
{
    for (unsigned k = 1; p->lanes != NULL && k < WIO_LANES; k++)
        if (p->lanes->at[k].ep != NULL)
            return true;
    return false;
}

static struct wio_lanes *lanes_of(struct wio_universe *u, struct wio_peer *p)
{
    if (p->lanes == NULL && (p->lanes = wio_os_alloc(sizeof *p->lanes)) != NULL) {
        wio_list_init(&p->lanes->queue);
        u->ctr.peer_bytes += sizeof *p->lanes;
    }
    return p->lanes;
}

static void take(struct wio_universe *u, struct wio_peer *p, struct wio_ep *ep)
{
    struct wio_lane *l = &p->lanes->at[ep->lane];
    if (l->ep == ep && l->open)
        return;
    ep->context = p;
    *l = (struct wio_lane){.ep = ep, .open = ep->state == WIO_EP_READY};
    u->ctr.lane_opens += l->open;
    p->lanes->told &= !l->open;
}

bool wio_lanes_want(struct wio_universe *u, struct wio_peer *p)
{
    struct wio_ep *ep;
    if (p->ep == NULL || p->link != WIO_EP_READY)
        return wio_lanes_any(p);
    int64_t now = wio_os_now_ns();
    for (unsigned k = 1; k < WIO_LANES; k++) {
        if (p->lanes != NULL && (p->lanes->at[k].ep != NULL || now < p->lanes->again_ns))
            continue;
        int rc = p->iface->tr->lane(p->ep, k, &ep);
        if (rc == WAITIO_ERR_UNSUPPORTED)
            break;
        if (lanes_of(u, p) == NULL)
            return false;
        if (rc == 0)
            take(u, p, ep);
        else
            p->lanes->again_ns = now + AGAIN_NS;
    }
    return wio_lanes_any(p);
}

void wio_lanes_state(struct wio_universe *u, struct wio_peer *p, struct wio_ep *ep,
                     enum wio_ep_state state)
{
    struct wio_lanes *ls = lanes_of(u, p);
    if (ls == NULL || state != WIO_EP_READY)
        return; /* without memory its first message ends it */
    take(u, p, ep);
    p->cut |= p->dead;
    if (p->dead || !wio_list_empty(&ls->queue))
        wio_peer_activate(u, p);
}

/* It broke, or could not be made. What is wrong with its bytes is wrong with the peer; but who
 * answers a dial in another way may not be the peer: an address like its own may exist elsewhere.
 */
static void lost(struct wio_universe *u, struct wio_peer *p, const struct wio_ep *ep, bool opened,
                 int err, const char *text)
{
    char name[64];
    if (opened && (err == WAITIO_ERR_PROTOCOL || err == WAITIO_ERR_VERSION)) {
        wio_peer_lose(u, p, text);
        return;
    }
    u->ctr.lane_breaks += opened;
    if (opened) { /* nothing else may tell the peer: something between the two keeps its end open */
        struct wio_msg m = {.op = WIO_OP_LANE, .a = ep->lane};
        (void)wio_send_ctl(u, p, &m, WIO_TX_SMALL);
    }
    if (p->lanes->told) /* it is tried again and again */
        return;
    p->lanes->told = !opened;
    wio_info(&u->log, WIO_C_P2P, "lane %u to %s %s: %s; long messages go by the others", ep->lane,
             wio_peer_name(u, p->rank, name, sizeof name),
             opened ? "is lost" : "could not be opened", text);
}

void wio_lanes_closed(struct wio_universe *u, struct wio_peer *p, const struct wio_ep *ep, int err,
                      const char *text)
{
    struct wio_lanes *ls = p->lanes;
    struct wio_lane *l = ls != NULL ? &ls->at[ep->lane] : NULL;
    if (l == NULL || l->ep != ep)
        return;
    bool opened = l->open;
    *l = (struct wio_lane){.ep = NULL};
    ls->again_ns = wio_os_now_ns() + (err < 0 && !opened ? REFUSED_NS : AGAIN_NS);
    wio_parts_forget(p, ep->lane);
    if (p->dead) {
        if (!wio_lanes_any(p))
            wio_peer_fail_rest(u, p);
        return;
    }
    if (err < 0)
        lost(u, p, ep, opened, err, text);
    wio_stripe_again(u, p, ep->lane, ep->taken); /* none, where it was closed in order */
    if (!wio_list_empty(&ls->queue))
        wio_peer_activate(u, p);
}

static void end(struct wio_lane *l, enum wio_bye_reason reason)
{
    if (l->ep != NULL &&
        (wio_bye_is_final(reason) ? l->ep->state < WIO_EP_CLOSED : l->ep->state < WIO_EP_CLOSING))
        l->ep->iface->tr->close(l->ep, reason);
}

void wio_lanes_told(struct wio_universe *u, struct wio_peer *p, uint64_t lane)
{
    if (p->lanes == NULL || p->lanes->at[lane].ep == NULL)
        return;
    p->lanes->at[lane].stale = p->lanes->trim = true;
    wio_peer_activate(u, p);
}

void wio_lanes_cut(struct wio_peer *p)
{
    for (unsigned k = 1; p->lanes != NULL && k < WIO_LANES; k++)
        end(&p->lanes->at[k], WIO_BYE_ERROR);
}

void wio_lanes_trim(struct wio_peer *p)
{
    p->lanes->trim = false;
    for (unsigned k = 1; k < WIO_LANES; k++)
        if (p->lanes->at[k].stale)
            end(&p->lanes->at[k], WIO_BYE_ERROR);
}

bool wio_lanes_leave(struct wio_peer *p)
{
    if (!wio_lanes_any(p))
        return true;
    int64_t now = wio_os_now_ns();
    if (p->lanes->leave_ns == 0)
        p->lanes->leave_ns = now;
    if (p->dead || now - p->lanes->leave_ns > LEAVE_NS)
        wio_lanes_cut(p);
    else
        for (unsigned k = 1; k < WIO_LANES; k++)
            end(&p->lanes->at[k], WIO_BYE_CAP);
    return false;
}
