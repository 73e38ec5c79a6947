/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file mend.c
 * A broken connection between living peers is made anew, and the link goes on as if nothing had
 * happened: docs/design/connection.md, "A connection that breaks". Meanwhile the link's state is
 * WAIT, DIAL or CONFIRM, and l->mend remembers what it was. p2p sees that one.
 *
 * Both sides name a link by a number that its first dialer has chosen. It travels in the handshake.
 */
#include "tcp.h"

#define PAUSE_NS 10000000LL      /* between two rounds of dials, doubled each time, ... */
#define PAUSE_MAX_NS 300000000LL /* ... up to this */
#define SECOND_NS 1000000000LL
#define GRACE_NS 10000000LL /* the lower rank dials first: two dials would disturb each other */
/* A connection that is not older, and was of no use: nothing came through of what was to be sent or
 * had begun to come; or of that there was nothing. */
#define SAME_NS 5000000000LL
#define SAME_IDLE_NS 300000000LL
/* After both goodbyes: the peer may have to hear ours before it can leave in order. Where it has
 * left already its address refuses us, so only a network that is away costs this time. A part of
 * WAITIO_LINGER at most, after which finalize would report the peer. */
#define LAST_NS 10000000000LL
#define LAST_PART 3
#define CLOSING_NS 5000000LL      /* a peer that reads our last words is not disturbed so long */
#define KEEPALIVE_NS 2000000000LL /* its host has been silent for long already */

/* ---- names ---- */

uint32_t wio_tcp_mend_number(struct tcp_iface *f)
{
    if (f->numbered == 0) /* a peer may remember those of an earlier process in our place */
        f->numbered = (uint32_t)wio_mix64((uint64_t)wio_os_now_ns()) & TCP_NUMBER;
    f->numbered = f->numbered == TCP_NUMBER ? 1 : f->numbered + 1;
    return f->numbered;
}

uint32_t wio_tcp_mend_extra(const struct tcp_link *l)
{
    if (l->mend == 0)
        return l->mine | (uint32_t)l->ep.lane << TCP_LANE_AT;
    return l->number | TCP_MENDS | (l->theirs ? TCP_YOURS : 0) | (l->heard ? TCP_HEARD : 0);
}

void wio_tcp_mend_name(struct tcp_link *l, uint32_t extra)
{
    bool resumes = tcp_of(l)->resume_timeout > 0 && l->ep.lane == 0;
    l->number = resumes ? extra & TCP_NUMBER : 0;
    l->theirs = (extra & TCP_YOURS) == 0; /* it may mend one that we gave up */
}

struct tcp_link *wio_tcp_mend_named(struct tcp_iface *f, uint32_t peer, uint32_t extra)
{
    uint32_t number = extra & TCP_NUMBER;
    bool link = number != 0 && tcp_lane_of(extra) == 0;
    struct tcp_link *l = link ? wio_tcp_link_find(f, peer, 0) : NULL;
    bool theirs = (extra & TCP_YOURS) == 0;
    while (l != NULL &&
           (l->number != number || l->theirs != theirs || (l->mend == 0 && l->state < TCP_READY)))
        l = l->older;
    return l;
}

bool wio_tcp_mendable(const struct tcp_link *l)
{
    return l->number != 0 && l->state >= TCP_READY && l->state < TCP_CLOSED;
}

/* ---- giving up ---- */

/* It will not come back. In LAST everything of the peer's was heard, and a peer that has ended or
 * forgotten the link has heard ours, or needs it no more. */
static void over(struct tcp_link *l, bool ended, const char *why)
{
    char name[96], text[420];
    bool heard_all = !wio_tcp_tx_owing(l) && l->tx_acked == l->tx_seq;
    bool clean = (ended && (l->mend == TCP_LAST || (l->mend == TCP_ANSWER && heard_all))) ||
                 (l->mend == TCP_LAST && l->bye_reason == WIO_BYE_FINALIZE);
    wio_text(text, sizeof text, "%s", why);
    if (clean)
        wio_tcp_link_over(l, 0, "%s", wio_bye_reason_name(l->bye_reason));
    else
        wio_tcp_link_over(l, WAITIO_ERR_PEER, "connection to %s lost: %s",
                          wio_tcp_link_name(l, name, sizeof name), text);
}

static void too_long(struct tcp_link *l, int64_t now, const char *tried)
{
    char text[400];
    wio_text(text, sizeof text, "not to be had again for %.1f s (WAITIO_RESUME_TIMEOUT): %s",
             (double)(now - l->broke_at) * 1e-9, tried);
    over(l, false, text);
}

/* ---- the break ---- */

/* Grows from one round of dials to the next. */
static int64_t pause_of(struct tcp_link *l)
{
    int64_t pause = l->tries < 5 ? PAUSE_NS << l->tries : PAUSE_MAX_NS;
    l->tries++;
    return pause;
}

/* It breaks once more, and since the last break nothing was heard that is not in @p mark. */
static bool of_no_use(const struct tcp_link *l, uint32_t mark, int64_t now)
{
    bool owed = l->tx_acked != l->tx_seq || wio_tcp_tx_owing(l) || l->body || l->half;
    return l->broke_at != 0 && mark == l->mark &&
           now - l->turn_at < (owed ? SAME_NS : SAME_IDLE_NS);
}

static int64_t at_most(int64_t ns, int64_t most)
{
    return ns < most ? ns : most;
}

/* @param since  0: its host has been silent */
static int64_t time_limit(struct tcp_link *l, int64_t since)
{
    const struct tcp_iface *f = tcp_of(l);
    int64_t limit = f->resume_timeout;
    if (since == 0)
        limit = at_most(limit, KEEPALIVE_NS);
    if (l->state == TCP_LAST)
        limit =
            at_most(at_most(limit, LAST_NS), (int64_t)(f->base.p.cfg->linger / LAST_PART * 1e9));
    return limit;
}

void wio_tcp_mend(struct tcp_link *l, const char *why, int64_t since, bool dial)
{
    struct tcp_iface *f = tcp_of(l);
    char name[96];
    int64_t now = wio_os_now_ns();
    int64_t limit = time_limit(l, since);
    if (l->state != TCP_LAST) {
        f->base.p.counters->link_breaks++;
        wio_info(f->base.p.log, WIO_C_TCP, "connection to %s broke: %s; resuming",
                 wio_tcp_link_name(l, name, sizeof name), why);
    }
    uint32_t mark = l->rx_seq + l->tx_acked;
    bool again = of_no_use(l, mark, now);
    if (!again || !dial) /* who dials lives */
        l->mend_until = (since == 0 ? now : since) + limit;
    if (!again)
        l->tries = 0;
    l->others = 0; /* those of earlier breaks say nothing about this one */
    l->mark = mark;
    l->was = l->addr;
    l->was_via = l->via;
    l->broke_at = now;
    if (l->body) {
        l->body = false;
        l->half = true;
        l->half_bytes = l->rx_pos + l->rx_left;
    }
    wio_tcp_link_drop_socket(l);
    l->oserr = 0;
    l->ping_out = l->ping_due = l->pong_due = l->ack_due = false;
    l->mend = l->state;
    if (!dial)
        wio_tcp_set_state(l, TCP_WAIT);
    else if (again && now >= l->mend_until)
        too_long(l, now, why);
    else
        wio_tcp_dial_later(l, again || l->tries > 0            ? pause_of(l)
                              : f->base.table->me < l->ep.peer ? 0
                                                               : GRACE_NS);
}

/* ---- the end of a link ---- */

void wio_tcp_closing_in(struct tcp_link *l, int64_t ns)
{
    l->timer = wio_os_now_ns() + ns;
    tcp_of(l)->timer_asked = true;
    wio_tcp_timer_at(tcp_of(l), l->timer);
}

void wio_tcp_closing_due(struct tcp_link *l, int64_t now)
{
    struct wio_os_tcp_info ti;
    if (l->fd < 0)
        return;
    if (l->state == TCP_HALF) {
        wio_tcp_tx_shut(l); /* wakes the peer's service thread */
    } else if (l->state == TCP_LAST && l->eof) {
        bool taken = wio_os_tcp_info(l->fd, &ti) < 0 || (ti.unacked == 0 && ti.notsent == 0);
        if (taken && l->closing_seen)
            wio_tcp_mend(l, "closed before all was acknowledged", now, true);
        else
            wio_tcp_closing_in(l, CLOSING_NS);
        l->closing_seen = taken;
    }
}

/* ---- dialling ---- */

static bool same_ip(const union tcp_addr *a, const union tcp_addr *b)
{
    if (a->sa.sa_family != b->sa.sa_family)
        return false;
    return a->sa.sa_family == AF_INET6
               ? memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, sizeof a->in6.sin6_addr) == 0
               : a->in4.sin_addr.s_addr == b->in4.sin_addr.s_addr;
}

void wio_tcp_mend_refused(struct tcp_link *l, const union tcp_addr *a, int via)
{
    l->dial->refused++;
    l->dial->home_refused |= via == l->was_via && (via != 0 || same_ip(a, &l->was));
}

void wio_tcp_mend_alive(struct tcp_link *l)
{
    int64_t until = wio_os_now_ns() + tcp_of(l)->resume_timeout;
    if (l->mend_until < until)
        l->mend_until = until;
}

/* All relays have waited for the peer in vain, and one of them had it. */
static bool no_relay_has_it(const struct tcp_link *l)
{
    const struct tcp_dial *d = l->dial;
    return l->was_via != 0 && d->relays_gone > 0 &&
           d->relays_gone + d->relays_without >= wio_tcp_relays(tcp_of(l));
}

/* A refusal by the address of the connection, by all relays if it came by one, or by all addresses
 * for a while, means that the peer is dead: it listens as long as it lives. (One address may be
 * another host's, where only the peer can dial.) */
static bool is_dead(const struct tcp_link *l, int64_t now)
{
    struct tcp_way w[TCP_WAYS];
    const struct tcp_dial *d = l->dial;
    uint32_t n = (uint32_t)wio_tcp_ways(tcp_of(l), l->ep.peer, w);
    return d->home_refused || no_relay_has_it(l) ||
           (n > 0 && d->refused >= n && now - l->broke_at > SECOND_NS);
}

void wio_tcp_mend_again(struct tcp_link *l)
{
    struct tcp_dial *d = l->dial;
    int64_t now = wio_os_now_ns();
    const char *tried = d->tried.len > 0 ? d->tried.text : "no address is usable from here";
    if (d->gone) {
        over(l, true, "it does not know this connection any more");
    } else if (is_dead(l, now)) {
        over(l, true, tried);
    } else if (now >= l->mend_until) {
        too_long(l, now, tried);
    } else {
        wio_tcp_mend_retry(l);
    }
}

void wio_tcp_mend_retry(struct tcp_link *l)
{
    struct tcp_dial *d = l->dial;
    int64_t now = wio_os_now_ns();
    if (l->state == TCP_CONFIRM) { /* a peer that is stopped there may take its time */
        if (now - l->proven_at > SECOND_NS)
            l->mend_until += now - l->proven_at;
        if (now >= l->mend_until) {
            too_long(l, now, "each new connection breaks at once");
            return;
        }
    }
    wio_tcp_link_drop_socket(l);
    if (d != NULL) {
        d->addr = d->refused = d->relays_gone = d->relays_without = 0;
        d->home_refused = d->dropped = d->silent = false;
        d->err = 0;
        d->tried.len = 0;
    }
    wio_tcp_dial_later(l, pause_of(l));
}

/* ---- the new connection ---- */

int wio_tcp_mend_admit(struct tcp_link *l, char *why, size_t nwhy)
{
    if (!wio_tcp_dial_first(l))
        return 0;
    wio_text(why, nwhy, "my dial goes first");
    return WAITIO_ERR_BUSY;
}

void wio_tcp_mend_accept(struct tcp_link *l)
{
    if (l->mend == 0)
        wio_tcp_mend(l, "the peer has noticed it", wio_os_now_ns(), false);
    else if (l->state == TCP_CONFIRM)
        wio_tcp_link_drop_socket(l);
    wio_tcp_dial_cancel(l);
    l->owes_word = true;
    l->proven_at = wio_os_now_ns();
}

/* A new socket takes 64 bytes; only faults that a test injects split them. */
static bool say_first_word(struct tcp_link *l)
{
    uint8_t out[WIO_HDR_BYTES] = {0};
    struct wio_frame fr = {.kind = WIO_FRAME_ACK, .ack = l->rx_seq};
    size_t sent = 0;
    wio_frame_encode(&fr, out);
    for (int tries = 0; sent < sizeof out && tries < 1000; tries++) {
        struct iovec rest = {out + sent, sizeof out - sent};
        ssize_t n = wio_stream_sendv(l->tls, l->fd, &rest, 1);
        if (n < 0 && (n != -EAGAIN || wio_os_fault == NULL))
            return false;
        sent += n > 0 ? (size_t)n : 0;
    }
    return sent == sizeof out;
}

void wio_tcp_mend_word(struct tcp_link *l)
{
    if (tcp_shaking(l)) /* a side that encrypts has no key yet: after the next read */
        return;
    l->word_due = false;
    if (!say_first_word(l))
        wio_tcp_mend_retry(l);
    else
        wio_tcp_probe(l);
}

void wio_tcp_mend_dialled(struct tcp_link *l)
{
    l->owes_word = false;
    l->proven_at = wio_os_now_ns();
    wio_tcp_set_state(l, TCP_CONFIRM);
    l->word_due = true;
    wio_tcp_mend_word(l);
}

bool wio_tcp_mend_heard(struct tcp_link *l, uint32_t ack)
{
    struct tcp_iface *f = tcp_of(l);
    char name[96];
    int again = wio_tcp_tx_rewind(l, ack);
    if (again < 0) {
        over(l, false, "it broke, and there was no memory to keep what is to be sent again");
        return false;
    }
    enum tcp_state to = (enum tcp_state)l->mend;
    l->mend = 0;
    if (l->renamed != 0)
        wio_tcp_mend_name(l, l->renamed);
    l->renamed = 0;
    wio_tcp_dial_free(l);
    wio_tcp_set_state(l, to);
    l->turn_at = wio_os_now_ns();
    l->ack_due = l->owes_word;
    l->owes_word = false;
    f->base.p.counters->link_resumes += to != TCP_LAST;
    f->base.p.counters->resent_msgs += (uint64_t)again;
    if (to != TCP_LAST)
        wio_info(f->base.p.log, WIO_C_TCP,
                 "connection to %s resumed after %.3f s, %d messages again",
                 wio_tcp_link_name(l, name, sizeof name), (double)(l->turn_at - l->broke_at) * 1e-9,
                 again);
    wio_tcp_tx_wake(l);
    return true;
}
