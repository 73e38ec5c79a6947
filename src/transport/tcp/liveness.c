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

static int64_t probe_period(const struct tcp_iface *f)
{
    int64_t p = f->connect_timeout / 10;
    return p > 5000000000LL ? 5000000000LL : p < 20000000LL ? 20000000LL : p;
}

int64_t wio_tcp_next_timer(struct wio_iface *iface)
{
    struct tcp_iface *f = tcp_iface_of(iface);
    f->timer_asked = true;
    if (wio_list_empty(&f->probe))
        f->probe_at = INT64_MAX;
    else if (f->probe_at == INT64_MAX)
        f->probe_at = wio_os_now_ns() + probe_period(f);
    return f->timer_at < f->probe_at ? f->timer_at : f->probe_at;
}

/* ---- liveness ---- */

/* @return true: nothing is outstanding, the link needs no more probing */
static bool probe_link(struct tcp_link *l, int64_t now)
{
    struct tcp_iface *f = tcp_of(l);
    struct wio_os_tcp_info ti;
    char name[96];
    if (wio_os_tcp_info(l->fd, &ti) < 0 || (ti.unacked == 0 && ti.notsent == 0)) {
        l->silent_since = 0;
        return true;
    }
    /* On loopback the answer to a probe arrives before the probe is counted: one is always open. */
    if ((ti.unacked == 0 || ti.retransmits == 0) && ti.probes <= 1) {
        l->silent_since = 0;
        return false;
    }
    int64_t heard = now - ti.last_ack_ns;
    if (l->silent_since == 0 || heard > l->silent_since)
        l->silent_since = now;
    /* One period passes before this is noticed, another one until the next check. */
    if (now - l->silent_since < f->connect_timeout - 3 * probe_period(f))
        return false;
    wio_tcp_link_over(l, WAITIO_ERR_PEER,
                      "connection to %s lost: no acknowledgement from its host for %.1f s "
                      "(WAITIO_CONNECT_TIMEOUT)",
                      wio_tcp_link_name(l, name, sizeof name), (double)ti.last_ack_ns * 1e-9);
    return false;
}

static int probe_all(struct tcp_iface *f, int64_t now)
{
    int n = 0;
    WIO_LIST_FOR_SAFE(it, next, &f->probe)
    {
        struct tcp_link *l = WIO_CONTAINER(it, struct tcp_link, probe);
        if (probe_link(l, now))
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

/* connect() unanswered: next address. Connected but silent: the peer is stopped or computing, or
 * this is not its address. Try each other address once, then wait at the one that accepted. */
static int expire_dial(struct tcp_conn *c, int64_t now)
{
    union tcp_addr a[2];
    if (c->deadline > now) {
        wio_tcp_timer_at(c->iface, c->deadline);
        return 0;
    }
    struct tcp_dial *d = c->link->dial;
    if (!c->connecting &&
        (d->patient || wio_tcp_peer_addrs(c->iface, c->link->ep.peer, a, 2) < 2)) {
        c->deadline = INT64_MAX;
        return 0;
    }
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

int wio_tcp_timers(struct tcp_iface *f, int64_t now)
{
    int n = 0;
    if (f->probe_at <= now)
        n += probe_all(f, now);
    if (f->timer_at > now)
        return n;
    f->timer_at = INT64_MAX;
    n += expire_strangers(f, now);
    n += run_dials(f, now);
    n += run_waits(f, now);
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
