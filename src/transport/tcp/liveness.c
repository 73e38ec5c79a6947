/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file liveness.c
 * Timers: handshake deadlines, pauses before a dial, and the check whether the host of a peer with
 * missing acknowledgements still exists. The kernel of a stopped or computing peer still
 * acknowledges, also when its window is full. Only retransmissions or window probes without any
 * answer count as silence.
 */
#include "tcp.h"

void wio_tcp_timer_at(struct tcp_iface *f, int64_t when)
{
    if (when < f->timer_at)
        f->timer_at = when;
}

/* A connection whose silence is noticed sooner is made anew sooner. */
#define SILENCE_NS 1000000000LL
#define MEND_LOOK_NS 500000000LL /* look after a dial that waits for its answer */
#define OWE_NS 100000000LL /* acknowledgements ride on messages; without any they go after this */

static int64_t probe_period(const struct tcp_iface *f)
{
    int64_t p = f->connect_timeout / 10;
    if ((f->resume_timeout > 0 || f->nlanes > 0) && p > SILENCE_NS / 5)
        p = SILENCE_NS / 5;
    return p > 5000000000LL ? 5000000000LL : p < 20000000LL ? 20000000LL : p;
}

int64_t wio_tcp_next_timer(struct wio_iface *iface, enum wio_progress_how how)
{
    (void)how;
    struct tcp_iface *f = tcp_iface_of(iface);
    f->timer_asked = true;
    if (wio_list_empty(&f->probe))
        f->probe_at = INT64_MAX;
    else if (f->probe_at == INT64_MAX)
        f->probe_at = wio_os_now_ns() + probe_period(f);
    if (wio_list_empty(&f->owing))
        f->owe_at = INT64_MAX;
    else if (f->owe_at == INT64_MAX)
        f->owe_at = wio_os_now_ns() + OWE_NS;
    int64_t first = f->timer_at < f->probe_at ? f->timer_at : f->probe_at;
    return first < f->owe_at ? first : f->owe_at;
}

/* ---- acknowledgements ---- */

/* Where nothing has come since the last look, the peer still holds what was not acknowledged. */
static void pay_owed(struct tcp_iface *f, int64_t now)
{
    WIO_LIST_FOR_SAFE(it, next, &f->owing)
    {
        struct tcp_link *l = WIO_CONTAINER(it, struct tcp_link, owes);
        if (l->rx_unacked > 0 && l->rx_seq != l->owed_seq) {
            l->owed_seq = l->rx_seq;
            continue;
        }
        wio_list_remove(&l->owes);
        if (l->rx_unacked > 0) {
            l->ack_due = true;
            wio_tcp_tx_wake(l);
        }
    }
    f->owe_at = wio_list_empty(&f->owing) ? INT64_MAX : now + OWE_NS;
}

/* ---- liveness ---- */

void wio_tcp_torn(struct tcp_link *l)
{
    if (!tcp_shaking(l) || !wio_tls_torn(l->tls)) {
        l->torn_at = 0;
        return;
    }
    if (l->torn_at == 0)
        l->torn_at = wio_os_now_ns();
    if (!wio_list_linked(&l->probe))
        wio_list_push(&tcp_of(l)->probe, &l->probe);
    tcp_of(l)->timer_asked = true;
}

/* Keys of an encrypted connection are agreed on, and a part of a record came. Its length may have
 * been changed on the way, or something there forwards nothing more: then the rest never comes.
 * @return true: that was too long ago */
static bool torn_too_long(struct tcp_link *l, int64_t now)
{
    int64_t limit = tcp_of(l)->connect_timeout;
    if (limit > TCP_HANDSHAKE_NS)
        limit = TCP_HANDSHAKE_NS;
    if (l->torn_at == 0 || now - l->torn_at < limit)
        return false;
    if (l->mend != 0)
        wio_tcp_mend_retry(l);
    else if (l->number != 0 && l->state == TCP_CONFIRM)
        wio_tcp_link_lost(l, 0);
    else if (wio_tcp_mendable(l))
        wio_tcp_mend(l, "its TLS handshake stands still", now, true);
    else
        wio_tcp_link_violation(l, WAITIO_ERR_PROTOCOL,
                               "a part of a record of its TLS handshake came, and not its end: "
                               "something on the way has changed bytes");
    return true;
}

static bool mends(const struct tcp_link *l)
{
    return l->mend != 0 || wio_tcp_mendable(l);
}

/* What is lost with these connections goes again. */
static int64_t patience_with(const struct tcp_link *l)
{
    const struct tcp_iface *f = tcp_of(l);
    bool soon = (mends(l) || l->ep.lane != 0) && f->connect_timeout > SILENCE_NS;
    return soon ? SILENCE_NS : f->connect_timeout;
}

/* @return the host does not acknowledge for so long what was sent. @param[in,out] since  of the
 * socket: when this began; 0: it does */
static bool is_silent(const struct tcp_iface *f, const struct wio_os_tcp_info *ti, int64_t now,
                      int64_t patience, int64_t *since)
{
    /* On loopback the answer to a probe arrives before the probe is counted: one is always open. */
    if ((ti->unacked == 0 || ti->retransmits == 0) && ti->probes <= 1) {
        *since = 0;
        return false;
    }
    int64_t heard = now - ti->last_ack_ns;
    if (*since == 0 || heard > *since)
        *since = now;
    /* One period passes before this is noticed, another one until the next check. */
    return now - *since >= patience - 3 * probe_period(f);
}

static bool outstanding(int fd, struct wio_os_tcp_info *ti)
{
    return wio_os_tcp_info(fd, ti) == 0 && (ti->unacked > 0 || ti->notsent > 0);
}

/* @return true: nothing is outstanding, the link needs no more probing */
static bool probe_link(struct tcp_link *l, int64_t now)
{
    struct tcp_iface *f = tcp_of(l);
    struct wio_os_tcp_info ti;
    char name[96];
    if (torn_too_long(l, now))
        return false;
    if (!outstanding(l->fd, &ti)) {
        l->silent_since = 0;
        return l->torn_at == 0;
    }
    int64_t patience = patience_with(l);
    if (!is_silent(f, &ti, now, patience, &l->silent_since))
        return false;
    if (mends(l)) {
        wio_tcp_link_silent(l, now - ti.last_ack_ns);
        return false;
    }
    if (l->state == TCP_CONFIRM) { /* it was never a link: its dialer's host has gone */
        wio_tcp_link_lost(l, -ETIMEDOUT);
        return false;
    }
    wio_tcp_link_over(l, WAITIO_ERR_PEER,
                      "connection to %s lost: no acknowledgement from its host for %.1f s%s",
                      wio_tcp_link_name(l, name, sizeof name), (double)ti.last_ack_ns * 1e-9,
                      patience < f->connect_timeout ? "" : " (WAITIO_CONNECT_TIMEOUT)");
    return false;
}

void wio_tcp_probe(struct tcp_link *l)
{
    if (!wio_list_linked(&l->probe))
        wio_list_push(&tcp_of(l)->probe, &l->probe);
}

static int probe_all(struct tcp_iface *f, int64_t now)
{
    int n = 0;
    WIO_LIST_FOR_SAFE(it, next, &f->probe)
    {
        struct tcp_link *l = WIO_CONTAINER(it, struct tcp_link, probe);
        if (l->fd >= 0 && probe_link(l, now))
            wio_list_remove(&l->probe);
        n += l->state == TCP_CLOSED;
    }
    f->probe_at = wio_list_empty(&f->probe) ? INT64_MAX : now + probe_period(f);
    return n;
}

void wio_tcp_ping(struct wio_ep *ep)
{
    struct tcp_link *l = tcp_link_of(ep);
    if (l->ping_out || l->bye_queued || (l->state != TCP_READY && l->state != TCP_DRAIN))
        return;
    l->ping_due = l->ping_out = true;
    wio_tcp_tx_run(l);
}

/* The kernel knows the time; an own time stamp would cost every message a clock read. */
int64_t wio_tcp_heard(const struct wio_ep *ep)
{
    const struct tcp_link *l = (const struct tcp_link *)(const void *)ep;
    struct wio_os_tcp_info ti;
    if (l->mend != 0 && l->fd < 0)
        return l->broke_at;
    if (l->state == TCP_WAIT && l->older == NULL &&
        (!l->placed || (l->dial != NULL && l->dial->busy > 0)))
        return wio_os_now_ns(); /* not asked yet, or it answered: later */
    if (l->fd < 0 || wio_os_tcp_info(l->fd, &ti) < 0)
        return 0;
    return wio_os_now_ns() - ti.last_data_recv_ns;
}

/* ---- deadlines ---- */

static int expire_strangers(struct tcp_iface *f, int64_t now)
{
    int n = 0;
    struct wio_list *it;
    while ((it = wio_list_first(&f->inbound)) != NULL) {
        struct tcp_conn *c = WIO_CONTAINER(it, struct tcp_conn, node);
        if (c->deadline > now) {
            wio_tcp_timer_at(f, c->deadline); /* the list is in order of arrival */
            break;
        }
        f->base.p.counters->strangers++;
        wio_tcp_conn_close(c);
        n++;
    }
    return n;
}

/* The peer's kernel has taken our HELLO: its host is there, and it is stopped or computes. */
static bool host_answers(const struct tcp_conn *c)
{
    struct wio_os_tcp_info ti;
    return !c->connecting && c->via == 0 && wio_os_tcp_info(c->fd, &ti) == 0 && ti.unacked == 0 &&
           ti.notsent == 0;
}

void wio_tcp_probe_dial(struct tcp_conn *c)
{
    c->look_at = c->began + probe_period(c->iface);
    wio_tcp_timer_at(c->iface, c->look_at);
}

/* It does not acknowledge our part of the handshake. */
static bool host_is_gone(struct tcp_conn *c, int64_t now)
{
    struct tcp_iface *f = c->iface;
    struct wio_os_tcp_info ti;
    if (now < c->look_at)
        return false;
    c->look_at = now + probe_period(f);
    if (c->connecting || !outstanding(c->fd, &ti)) {
        c->silent_since = 0;
        return false;
    }
    return is_silent(f, &ti, now, f->connect_timeout, &c->silent_since);
}

static int64_t patience_of(const struct tcp_dial *d)
{
    return SILENCE_NS << (d->silences < 6 ? d->silences : 6);
}

/* The same for a broken link: short attempts, for the network may be back at any time. */
static int expire_mend(struct tcp_conn *c, int64_t now)
{
    struct tcp_way w[TCP_WAYS];
    struct tcp_link *l = c->link;
    if (host_answers(c)) {
        wio_tcp_mend_alive(l);
        if (now - c->began >=
            patience_of(l->dial)) { /* something between the two may have forgotten it */
            l->dial->silences++;
        } else if (wio_tcp_ways(c->iface, l->ep.peer, w) < 2) {
            c->deadline = now + MEND_LOOK_NS;
            wio_tcp_timer_at(c->iface, c->deadline);
            return 0;
        }
    }
    c->dropped = !c->connecting;
    wio_tcp_dial_failed(c, WAITIO_ERR_PEER,
                        c->connecting ? "timed out" : "no answer to the handshake");
    return 1;
}

/* Where broken connections are made anew, a dial without an answer is, too, now and then: something
 * between the two may have forgotten it. Else it is waited for. */
static bool forgotten(struct tcp_conn *c, int64_t now)
{
    struct tcp_dial *d = c->link->dial;
    int64_t until = c->began + patience_of(d);
    if (c->iface->resume_timeout == 0 || c->link->ep.lane != 0) {
        c->deadline = INT64_MAX;
        return false;
    }
    if (now < until) {
        c->deadline = until;
        wio_tcp_timer_at(c->iface, until);
        return false;
    }
    d->silences++;
    return true;
}

/* connect() unanswered: next address. Connected but silent: the peer is stopped or computing, or
 * this is not its address. Try each other address once, then wait at the one that accepted. */
static int expire_dial(struct tcp_conn *c, int64_t now)
{
    struct tcp_way w[TCP_WAYS];
    if (c->link->mend == 0) {
        if (host_is_gone(c, now)) {
            c->connecting = true; /* as if connect() had not been answered */
            wio_tcp_dial_failed(c, WAITIO_ERR_PEER,
                                "no acknowledgement from its host (WAITIO_CONNECT_TIMEOUT)");
            return 1;
        }
        wio_tcp_timer_at(c->iface, c->look_at);
    }
    if (c->deadline > now) {
        wio_tcp_timer_at(c->iface, c->deadline);
        return 0;
    }
    struct tcp_dial *d = c->link->dial;
    if (c->link->mend != 0)
        return expire_mend(c, now);
    if (!c->connecting && (d->patient || wio_tcp_link_ways(c->link, w) < 2) && !forgotten(c, now))
        return 0;
    c->dropped = !c->connecting;
    if (!c->connecting && !d->silent) {
        d->silent = true;
        d->silent_addr = d->addr;
    }
    wio_tcp_dial_failed(c, WAITIO_ERR_PEER,
                        c->connecting ? "timed out" : "no answer to the handshake");
    return 1;
}

static int run_dials(struct tcp_iface *f, int64_t now)
{
    int n = 0;
    struct wio_list todo, *it;
    wio_list_init(&todo);
    while ((it = wio_list_pop(&f->dials)) != NULL)
        wio_list_push(&todo, it);
    while ((it = wio_list_pop(&todo)) != NULL) {
        wio_list_push(&f->dials, it);
        n += expire_dial(WIO_CONTAINER(it, struct tcp_conn, node), now);
    }
    return n;
}

static int run_waits(struct tcp_iface *f, int64_t now)
{
    int n = 0;
    struct wio_list todo, *it;
    wio_list_init(&todo);
    while ((it = wio_list_pop(&f->connecting)) != NULL)
        wio_list_push(&todo, it);
    while ((it = wio_list_pop(&todo)) != NULL) {
        struct tcp_link *l = WIO_CONTAINER(it, struct tcp_link, group);
        wio_list_push(&f->connecting, it);
        if (l->timer == INT64_MAX)
            continue;
        if (l->timer > now) {
            wio_tcp_timer_at(f, l->timer);
            continue;
        }
        wio_tcp_dial(l);
        n++;
    }
    return n;
}

static int run_closing(struct tcp_iface *f, int64_t now)
{
    int n = 0;
    struct wio_list todo, *it;
    wio_list_init(&todo);
    while ((it = wio_list_pop(&f->closing)) != NULL)
        wio_list_push(&todo, it);
    while ((it = wio_list_pop(&todo)) != NULL) {
        struct tcp_link *l = WIO_CONTAINER(it, struct tcp_link, group);
        wio_list_push(&f->closing, it);
        if (l->timer > now) {
            wio_tcp_timer_at(f, l->timer);
            continue;
        }
        l->timer = INT64_MAX;
        wio_tcp_closing_due(l, now);
        n++;
    }
    return n;
}

int wio_tcp_timers(struct tcp_iface *f, int64_t now)
{
    int n = 0;
    if (f->probe_at <= now)
        n += probe_all(f, now);
    if (f->owe_at <= now)
        pay_owed(f, now);
    if (f->timer_at > now)
        return n;
    f->timer_at = INT64_MAX;
    n += wio_tcp_via_run(f);
    n += expire_strangers(f, now);
    n += run_dials(f, now);
    n += run_waits(f, now);
    n += run_closing(f, now);
    if (f->cap_at <= now)
        f->cap_due = true;
    else
        wio_tcp_timer_at(f, f->cap_at);
    if (f->paused && f->resume_at <= now)
        wio_tcp_listen_watch(f, true);
    else if (f->paused)
        wio_tcp_timer_at(f, f->resume_at);
    return n;
}
