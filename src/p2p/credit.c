/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Credit bounds the memory for unexpected messages of a process, for any number of senders. When a
 * link opens, each side grants the other a window out of its budget. A message costs its bytes and
 * a fixed part; the credit is returned when a receive takes the message. Grants are cumulative
 * counters in every header, so a lost one changes nothing. A new link starts a new account (epoch):
 * the old link was drained, and unexpected messages of it count as debt of the budget. A sender
 * without credit reports it. If it has credit that was not sent yet, the receiver sends it at once.
 * Else its window grows, as long as the budget allows. Else the receiver answers that there is no
 * more credit, and the sender uses rendezvous (RTS), until the RTS, too, finds no room. Without
 * this the receiver could wait for the very message that waits for its credit.
 */
#include "p2p/universe.h"

enum { ENVELOPE_BYTES = 96, FLOOR_UNITS = 16, ASK_UNITS = 2 /* of a request to send */ };
/* The word a of a CREDIT message; b is the credit that its sender knows. */
enum { SAY_NOTHING = 0, SAY_WAITING = 1, SAY_ALL = 2 };
#define WINDOW_MAX ((32u << 20) / WIO_CREDIT_UNIT)
#define FAIR_MIN ((256u << 10) / WIO_CREDIT_UNIT)

uint32_t wio_credit_cost(size_t bytes, bool rts)
{
    size_t held = ENVELOPE_BYTES + (rts ? 0 : bytes);
    return (uint32_t)((held + WIO_CREDIT_UNIT - 1) / WIO_CREDIT_UNIT);
}

uint32_t wio_credit_available(const struct wio_peer *p)
{
    return p->credit.open ? p->credit.limit - p->credit.used : 0;
}

static void say(struct wio_universe *u, struct wio_peer *p, uint64_t what)
{
    struct wio_msg msg = {.op = WIO_OP_CREDIT, .a = what, .b = p->credit.limit};
    (void)wio_send_ctl(u, p, &msg, WIO_TX_SMALL);
}

static void announce(struct wio_universe *u, struct wio_peer *p)
{
    p->credit.awaited = false;
    say(u, p, SAY_NOTHING);
}

/* A part of what is left of the budget. */
static uint64_t share_of(const struct wio_universe *u)
{
    uint64_t share = u->credit_left / 8;
    return share > WINDOW_MAX ? WINDOW_MAX : share;
}

uint64_t wio_credit_first(uint64_t left, uint64_t budget, uint32_t peers)
{
    uint64_t share = left / 8, fair = peers > 0 ? budget / 2 / peers : budget;
    if (fair < FAIR_MIN)
        fair = FAIR_MIN;
    if (share > fair)
        share = fair;
    if (share > WINDOW_MAX)
        share = WINDOW_MAX;
    return share < FLOOR_UNITS ? FLOOR_UNITS : share;
}

void wio_credit_open(struct wio_universe *u, struct wio_peer *p)
{
    uint64_t budget = u->cfg.unexpected_max / WIO_CREDIT_UNIT;
    uint64_t share = wio_credit_first(u->credit_left, budget, u->table->size - 1);
    uint64_t first = u->attr[p->iface->tr->id].first_grant / WIO_CREDIT_UNIT;
    if (share < first) /* the peer has sent so much, perhaps */
        share = first;
    /* Beyond the budget a small window is still granted: without any credit a peer could send
     * nothing. */
    uint64_t reserved = share <= u->credit_left ? share : u->credit_left;
    u->credit_left -= reserved;
    p->epoch++;
    p->credit = (struct wio_credit){
        .granted = (uint32_t)share, .window = (uint32_t)share, .reserved = (uint32_t)reserved};
    if (first > 0) { /* the peer grants as much, and its program may be far away when it does */
        p->credit.limit = p->credit.span = (uint32_t)first;
        p->credit.open = true;
    }
    wio_mark_link(u, p, WIO_EVENT_LINK);
    announce(u, p);
}

void wio_credit_close(struct wio_universe *u, struct wio_peer *p)
{
    /* Unexpected messages of this link stay charged; their credit is returned when they are
     * received.
     */
    uint32_t held = p->credit.taken - (p->credit.granted - p->credit.window);
    if (p->credit.reserved > held)
        u->credit_left += p->credit.reserved - held;
    else
        u->credit_debt += held - p->credit.reserved;
    p->credit = (struct wio_credit){0};
    p->epoch++;
}

void wio_credit_heard(struct wio_universe *u, struct wio_peer *p, uint32_t limit)
{
    bool first = !p->credit.open;
    if (first || (int32_t)(limit - p->credit.limit) > 0) {
        if (first) {
            p->credit.span = limit;
            wio_mark_link(u, p, WIO_EVENT_GREETED);
        }
        p->credit.limit = limit;
        p->credit.open = true;
        p->credit.pressed = p->credit.tight = false;
        if (!wio_list_empty(&p->sendq))
            wio_send_pump(u, p);
    }
}

void wio_credit_consumed(struct wio_universe *u, struct wio_peer *p, uint32_t cost, uint32_t epoch)
{
    if (epoch != p->epoch) {
        uint32_t debt = u->credit_debt < cost ? (uint32_t)u->credit_debt : cost;
        u->credit_debt -= debt;
        u->credit_left += cost - debt;
        return;
    }
    struct wio_credit *c = &p->credit;
    c->granted += cost;
    uint32_t owed = c->granted - c->announced, left = c->announced - c->taken;
    if (owed > c->window / 2 || (owed > c->window / 8 && left < c->window / 4) ||
        (c->awaited && owed >= ASK_UNITS))
        announce(u, p);
}

void wio_credit_press(struct wio_universe *u, struct wio_peer *p)
{
    if (p->credit.pressed)
        return;
    p->credit.pressed = true;
    say(u, p, SAY_WAITING);
}

/* The peer has no credit. */
static void pressed(struct wio_universe *u, struct wio_peer *p, uint32_t known)
{
    struct wio_credit *c = &p->credit;
    if (known != c->announced)
        return; /* more is on its way */
    if (c->granted - c->announced < ASK_UNITS) {
        uint64_t more = share_of(u);
        if (more < FLOOR_UNITS || more > UINT32_MAX / 2 - c->window) {
            c->awaited = true;
            say(u, p, SAY_ALL);
            return;
        }
        u->credit_left -= more;
        c->reserved += (uint32_t)more;
        c->window += (uint32_t)more;
        c->granted += (uint32_t)more;
    }
    announce(u, p);
}

void wio_credit_said(struct wio_universe *u, struct wio_peer *p, uint64_t what, uint64_t known)
{
    if (what == SAY_WAITING && p->link == WIO_EP_READY)
        pressed(u, p, (uint32_t)known);
    if (what == SAY_ALL && p->credit.pressed) { /* and no grant has come since our report */
        p->credit.tight = true;
        wio_send_pump(u, p);
    }
}
