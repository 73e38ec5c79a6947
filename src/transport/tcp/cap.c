/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file cap.c
 * The connection cap. Each link with a socket and each own dial takes a place. There are as many
 * places as the cap allows, and one more while a link is closing. Without a free place, own dials
 * wait in one queue and refused dialers in another; the queues are served alternately. While one
 * waits, idle links and links that have had their turn are closed by GOODBYE(CAP).
 * docs/design/connection.md shows why every wait ends.
 */
#include "tcp.h"

/* Descriptors that are not ours: the program's files, strangers in the handshake, listeners, ... */
#define RESERVE (TCP_STRANGERS_MAX + 64)

#define LOOK_NS 2000000LL          /* somebody waits: look again */
#define GRACE_NS 2000000LL         /* an idle link stays so long: its dialer is about to speak */
#define TURN_NS 10000000LL         /* a link with work stays so long ... */
#define SILENT_TURN_NS 250000000LL /* ... or so long while its peer has not said a word */
#define STALL_NS 50000000LL        /* no dial was served for this long: closing links do not help */
#define DIAL_TURN_NS 1000000000LL  /* a dial keeps its place so long without success */
#define TICKET_NS 5000000000LL     /* a refused dialer that does not dial again is forgotten */

int wio_tcp_cap_of(const struct wio_config *cfg)
{
    if (cfg->max_connections > 0)
        return cfg->max_connections > INT32_MAX ? INT32_MAX : (int)cfg->max_connections;
    int limit = wio_os_fd_limit();
    if (limit <= 0)
        return INT32_MAX;
    int cap = limit > 4 * RESERVE ? limit - RESERVE : limit / 2;
    return cap < 2 ? 2 : cap;
}

/* ---- places ---- */

static bool somebody_waits(const struct tcp_iface *f)
{
    return !wio_list_empty(&f->wants) || f->ntickets > 0;
}

static void place_taken(struct tcp_iface *f)
{
    struct wio_counters *c = f->base.p.counters;
    f->nopen++;
    if ((uint64_t)f->nopen > c->links_max)
        c->links_max = (uint64_t)f->nopen;
    if (f->nopen > f->cap)
        f->cap_due = true; /* to be trimmed */
}

void wio_tcp_place_free(struct tcp_iface *f)
{
    f->nopen--;
    if (somebody_waits(f))
        f->cap_due = true;
}

/* The link no longer waits for a place. */
static void place_has(struct tcp_link *l)
{
    l->placed = true;
    l->turn_at = wio_os_now_ns();
    if (l->state == TCP_WAIT) { /* out of the queue */
        wio_list_remove(&l->group);
        wio_list_push(&tcp_of(l)->connecting, &l->group);
    }
}

static void place_take(struct tcp_link *l)
{
    place_taken(tcp_of(l));
    place_has(l);
}

void wio_tcp_place_give(struct tcp_link *l)
{
    if (!l->placed)
        return;
    l->placed = false;
    wio_tcp_place_free(tcp_of(l));
}

void wio_tcp_place_pass(struct tcp_conn *c, struct tcp_link *l)
{
    if (l->placed)
        return; /* the one of the connection goes with it */
    if (!c->placed)
        place_taken(tcp_of(l));
    c->placed = false;
    place_has(l);
}

/* Is there one more place? Own dials get it only when a link is closing, so they never take all
 * places: a peer that dials always finds a place that is free or can be freed. */
static bool room(const struct tcp_iface *f, bool inbound)
{
    if (f->nopen != f->cap)
        return f->nopen < f->cap;
    return !wio_list_empty(&f->closing) || (inbound && wio_list_empty(&f->lru));
}

/* ---- those who wait ---- */

static struct tcp_link *first_want(const struct tcp_iface *f)
{
    struct wio_list *it = wio_list_first(&f->wants);
    return it == NULL ? NULL : WIO_CONTAINER(it, struct tcp_link, group);
}

static void begins_to_wait(struct tcp_iface *f)
{
    if (!somebody_waits(f))
        f->cap_moved = wio_os_now_ns();
    f->cap_due = true;
}

bool wio_tcp_place_for(struct tcp_link *l)
{
    struct tcp_iface *f = tcp_of(l);
    if (l->placed)
        return true;
    if (!somebody_waits(f) && room(f, false)) {
        place_take(l);
        return true;
    }
    if (l->ep.lane != 0)
        return false;
    begins_to_wait(f);
    if (l->state != TCP_WAIT)
        wio_tcp_set_state(l, TCP_WAIT);
    wio_list_remove(&l->group);
    wio_list_push(&f->wants, &l->group);
    return false;
}

static uint32_t ticket_of(const struct tcp_iface *f, uint32_t peer)
{
    uint32_t i = 0;
    while (i < f->ntickets && f->ticket[i].peer != peer)
        i++;
    return i;
}

static void ticket_drop(struct tcp_iface *f, uint32_t i)
{
    if (i >= f->ntickets)
        return;
    f->ntickets--;
    memmove(&f->ticket[i], &f->ticket[i + 1], (f->ntickets - i) * sizeof *f->ticket);
}

static void ticket_keep(struct tcp_iface *f, uint32_t peer)
{
    uint32_t i = ticket_of(f, peer);
    begins_to_wait(f);
    if (i == f->ntickets) {
        if (f->ntickets == f->tickets_room) {
            uint32_t n = f->tickets_room == 0 ? 16 : 2 * f->tickets_room;
            struct tcp_ticket *t = wio_os_realloc(f->ticket, n * sizeof *t);
            if (t == NULL)
                return; /* it comes again anyway */
            f->ticket = t;
            f->tickets_room = n;
        }
        f->ticket[f->ntickets++].peer = peer;
    }
    f->ticket[i].seen = wio_os_now_ns();
}

/* A lane takes a place only where there is one and nobody waits for it. */
static bool lane_admit(struct tcp_conn *c)
{
    struct tcp_iface *f = c->iface;
    if (somebody_waits(f) || f->nopen >= f->cap)
        return false;
    place_taken(f);
    c->placed = true;
    return true;
}

bool wio_tcp_place_admit(struct tcp_conn *c, uint32_t peer, struct tcp_link *l)
{
    struct tcp_iface *f = c->iface;
    if (l != NULL && l->placed)
        return true;
    if (tcp_lane_of(c->auth.peer.extra) != 0)
        return lane_admit(c);
    uint32_t mine = ticket_of(f, peer);
    const struct tcp_link *want = first_want(f);
    bool after_ticket = f->ntickets > 0 && mine != 0;
    bool after_want =
        want != NULL && want != l && room(f, false) && (mine == f->ntickets || !f->tickets_next);
    if (room(f, true) && !after_ticket && !after_want) {
        ticket_drop(f, mine);
        place_taken(f);
        c->placed = true;
        return true;
    }
    if (l == NULL) /* else our own dial waits: the turn of one is the turn of both */
        ticket_keep(f, peer);
    return false;
}

/* ---- making room ---- */

/* The link is idle here and, as far as known, at the peer. */
static bool is_idle(struct tcp_link *l)
{
    struct tcp_iface *f = tcp_of(l);
    return !l->pending && !l->watched && !l->body && l->hdr_have == 0 && l->keep_len == 0 &&
           f->base.p.up->on_may_close(f->base.p.user, &l->ep, l->ep.peer);
}

/* The end of the stream is announced: it needs no help to end. */
static bool is_stable(const struct tcp_link *l)
{
    return l->told == WIO_EP_READY && !l->hup;
}

/* Queued messages are sent before the goodbye. A peer that has sent something has given p2p credit
 * to queue messages, so every turn transfers something. */
static bool had_its_turn(const struct tcp_link *l, int64_t now)
{
    int64_t age = now - l->turn_at;
    return is_stable(l) && age >= TURN_NS && (l->rx_seq > 0 || age >= SILENT_TURN_NS);
}

static void close_for_room(struct tcp_link *l)
{
    tcp_of(l)->base.p.counters->link_evictions++;
    wio_tcp_close_link(&l->ep, WIO_BYE_CAP);
}

/* Idle ones, least recently used first. @return how many are closing now */
static int close_idle(struct tcp_iface *f, int want, int64_t younger_stay)
{
    int n = 0;
    WIO_LIST_FOR_SAFE(it, next, &f->lru)
    {
        struct tcp_link *l = WIO_CONTAINER(it, struct tcp_link, group);
        if (n == want)
            break;
        if (is_stable(l) && l->turn_at <= younger_stay && is_idle(l)) {
            close_for_room(l);
            n++;
        }
    }
    return n;
}

static bool close_oldest(struct tcp_iface *f, int64_t now)
{
    struct tcp_link *oldest = NULL;
    WIO_LIST_FOR(it, &f->lru)
    {
        struct tcp_link *l = WIO_CONTAINER(it, struct tcp_link, group);
        if (had_its_turn(l, now) && (oldest == NULL || l->turn_at < oldest->turn_at))
            oldest = l;
    }
    if (oldest != NULL)
        close_for_room(oldest);
    return oldest != NULL;
}

void wio_tcp_evict(struct tcp_iface *f)
{
    (void)close_idle(f, 1, INT64_MAX);
}

static int length(const struct wio_list *q, int most)
{
    int n = 0;
    WIO_LIST_FOR(it, q)
    if (n++ == most)
        break;
    return n;
}

/* Unsuccessful dials free their place for others, and wait again. */
static void end_dial_turns(struct tcp_iface *f, int64_t now)
{
    WIO_LIST_FOR_SAFE(it, next, &f->connecting)
    {
        struct tcp_link *l = WIO_CONTAINER(it, struct tcp_link, group);
        if (!l->placed || l->mend != 0 || l->state == TCP_CONFIRM ||
            now - l->turn_at < DIAL_TURN_NS)
            continue;
        if (!l->known) {
            wio_tcp_link_over(l, 0, "it did not take our call");
            continue;
        }
        if (l->ep.lane != 0) {
            wio_tcp_lane_refused(l, "others wait for its place");
            continue;
        }
        wio_tcp_dial_pause(l);
        wio_tcp_place_give(l);
        if (wio_tcp_place_for(l))
            wio_tcp_dial_later(l, 0);
    }
}

/* ---- serving ---- */

/* Dial a peer that was refused before: it keeps a place for this link. */
static void call_back(struct tcp_iface *f)
{
    uint32_t peer = f->ticket[0].peer;
    ticket_drop(f, 0);
    f->tickets_next = false;
    if (wio_tcp_link_find(f, peer, 0) != NULL)
        return; /* it has connected, or this process dials it, too */
    struct tcp_link *l = wio_tcp_link_new(f, peer, 0);
    if (l == NULL)
        return;
    place_take(l);
    wio_tcp_dial(l);
}

/* @return false: none waits, or there is no room */
static bool serve(struct tcp_iface *f, int64_t now)
{
    while (f->ntickets > 0 && now - f->ticket[0].seen > TICKET_NS)
        ticket_drop(f, 0);
    struct tcp_link *l = first_want(f);
    if (f->ntickets > 0 && room(f, true) && (l == NULL || f->tickets_next || !room(f, false))) {
        call_back(f);
        return true;
    }
    if (l == NULL || !room(f, false))
        return false;
    f->tickets_next = true;
    place_take(l);
    wio_tcp_dial(l);
    return true;
}

int wio_tcp_cap_run(struct tcp_iface *f)
{
    int64_t now = wio_os_now_ns();
    int served = 0;
    for (;;) {
        while (serve(f, now))
            served++;
        if (served > 0)
            f->cap_moved = now;
        int waiting = length(&f->wants, f->cap) + (int)f->ntickets;
        int need = waiting + f->nopen - length(&f->closing, INT32_MAX) - f->cap;
        if (waiting > 0 && need <= 0 && now - f->cap_moved >= STALL_NS)
            need = 1;
        int made = need > 0 ? close_idle(f, need, now - GRACE_NS) : 0;
        while (made < need && close_oldest(f, now))
            made++;
        if (made > 0)
            f->cap_moved = now;
        if (waiting > 0)
            end_dial_turns(f, now);
        f->cap_due = false;
        if (made == 0)
            break;
    }
    bool again = somebody_waits(f) || f->nopen - length(&f->closing, INT32_MAX) > f->cap;
    f->cap_at = again ? now + LOOK_NS : INT64_MAX;
    wio_tcp_timer_at(f, f->cap_at);
    return served;
}
