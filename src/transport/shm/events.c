/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file events.c
 * Progress and sleep. Every round polls shared memory, but the sockets (bells, deaths, new links)
 * only in some rounds and after a sleep. The main set has every socket. The service set has the
 * listener, the handshakes, and the main set as a whole with EPOLLONESHOT, so a bell for the
 * application does not wake the service thread repeatedly.
 */
#include "transport/shm/shm.h"

#define EVENTS 32

/* ---- telling p2p ---- */

static void told(struct shm_link *l, enum wio_ep_state s, int err, const char *text)
{
    struct shm_iface *f = shm_of(l);
    l->told = (uint8_t)s;
    l->known = true;
    f->base.p.up->on_state(f->base.p.user, &l->ep, l->ep.peer, s, err,
                           (enum wio_bye_reason)l->bye_reason, text);
}

static void tell_closed(struct shm_link *l)
{
    struct shm_iface *f = shm_of(l);
    if (l->body) {
        l->body = false;
        f->base.p.up->on_abandon(f->base.p.user, l->ep.peer, &l->sink);
    }
    wio_shm_tx_fail_all(l, l->err != 0 ? l->err : WAITIO_ERR_PEER);
    if (l->known)
        told(l, WIO_EP_CLOSED, l->err, l->text != NULL ? l->text : "closed");
    else
        wio_list_push(&f->ghosts, &l->news); /* an event of this round may still point at it */
}

void wio_shm_dispatch(struct shm_iface *f)
{
    struct wio_list *it;
    while ((it = wio_list_pop(&f->done)) != NULL) {
        struct wio_tx *tx = WIO_CONTAINER(it, struct wio_tx, node);
        tx->done(tx, 0);
    }
    while ((it = wio_list_pop(&f->news)) != NULL) {
        struct shm_link *l = WIO_CONTAINER(it, struct shm_link, news);
        if (l->state == SHM_OVER)
            tell_closed(l);
        else if (l->ep.state == WIO_EP_READY && l->told < WIO_EP_READY)
            told(l, WIO_EP_READY, 0, "connected");
        else if (l->known && l->ep.state == WIO_EP_CLOSING && l->told != WIO_EP_CLOSING)
            told(l, WIO_EP_CLOSING, 0, wio_bye_reason_name(l->bye_reason));
    }
}

/* ---- sockets ---- */

static int link_event(struct shm_link *l)
{
    int n = l->fd >= 0 ? wio_shm_records(l) : 0;
    if (l->state != SHM_OVER && (l->out_len > 0 || l->bye_wanted))
        n += wio_shm_tx_run(l);
    return n;
}

static void drive_all(struct wio_list *q)
{
    WIO_LIST_FOR_SAFE(it, next, q)
    {
        wio_shm_conn_drive(WIO_CONTAINER(it, struct shm_conn, node));
    }
}

static int look_at_sockets(struct shm_iface *f, int set, enum wio_progress_how how)
{
    struct epoll_event ev[EVENTS];
    int n = wio_os_epoll_wait(set, ev, EVENTS, 0), count = 0;
    for (int i = 0; i < n; i++) {
        struct shm_src *s = ev[i].data.ptr;
        switch (s->what) {
        case SHM_IS_LISTENER:
            wio_shm_accept(f);
            count++;
            break;
        case SHM_IS_CONN:
            wio_shm_conn_drive(WIO_CONTAINER(s, struct shm_conn, src));
            count++;
            break;
        case SHM_IS_KICK:
            if (how == WIO_PROGRESS_FULL)
                wio_os_eventfd_clear(f->kick);
            break;
        default:
            count += link_event(WIO_CONTAINER(s, struct shm_link, src));
            break;
        }
    }
    if (WIO_UNLIKELY(wio_os_fault != NULL)) { /* no event follows an injected EAGAIN */
        drive_all(&f->inbound);
        drive_all(&f->dials);
    }
    return n < 0 ? n : count;
}

/* ---- timers ---- */

static int expire_strangers(struct shm_iface *f, int64_t now)
{
    int n = 0;
    WIO_LIST_FOR_SAFE(it, next, &f->inbound)
    {
        struct shm_conn *c = WIO_CONTAINER(it, struct shm_conn, node);
        if (c->deadline <= now) {
            f->base.p.counters->strangers++;
            wio_shm_conn_close(c);
            n++;
        } else if (c->deadline < f->timer_at) {
            f->timer_at = c->deadline;
        }
    }
    return n;
}

/* Its pages for bulk return to the system, where only short messages have come for so long. */
static void cool(struct shm_iface *f, struct shm_writer *w, int64_t now, double after)
{
    if (w->bulk_used || w->bulk_ns == 0)
        w->bulk_ns = now;
    else if (now - w->bulk_ns >= (int64_t)(after * 1e9))
        wio_shm_writer_cool(f, w);
    w->bulk_used = false;
}

/* A link whose ring was not used for this long returns to the inbox. */
static int demote(struct shm_iface *f, int64_t now)
{
    double after = f->base.p.cfg->shm_demote;
    int n = 0;
    if (after <= 0 || f->rings_out == 0)
        return 0;
    int64_t next = now + (int64_t)(after * 5e8);
    if (next < f->timer_at)
        f->timer_at = next;
    WIO_LIST_FOR(it, &f->ready)
    {
        struct shm_link *l = WIO_CONTAINER(it, struct shm_link, group);
        if (!l->out_ring)
            continue;
        if (l->tx_count > 0 || l->used_ns == 0 || !wio_shm_tx_idle(l)) {
            l->tx_count = 0;
            l->used_ns = now;
            if (wio_shm_tx_idle(l))
                cool(f, l->w, now, after);
        } else if (now - l->used_ns >= (int64_t)(after * 1e9) && wio_shm_tx_leave(l)) {
            n++;
        }
    }
    return n;
}

static int run_timers(struct shm_iface *f, int64_t now)
{
    int n = 0;
    f->timer_at = INT64_MAX;
    if (f->paused && f->resume_at <= now)
        wio_shm_listen_watch(f, true);
    else if (f->paused)
        f->timer_at = f->resume_at;
    WIO_LIST_FOR_SAFE(it, next, &f->waiting)
    {
        struct shm_link *l = WIO_CONTAINER(it, struct shm_link, group);
        if (l->timer <= now) {
            wio_shm_dial(l);
            n++;
        } else if (l->timer < f->timer_at) {
            f->timer_at = l->timer;
        }
    }
    return n + expire_strangers(f, now) + demote(f, now);
}

int64_t wio_shm_next_timer(struct wio_iface *iface, enum wio_progress_how how)
{
    (void)how;
    struct shm_iface *f = shm_iface_of(iface);
    if (f->timer_at == INT64_MAX && f->rings_out > 0 && f->base.p.cfg->shm_demote > 0)
        f->timer_at = wio_os_now_ns() + (int64_t)(f->base.p.cfg->shm_demote * 5e8);
    return f->timer_at;
}

/* ---- progress ---- */

static bool service_reads(const struct shm_link *l)
{
    return l->watched || l->eof || l->leaving || l->state != SHM_READY;
}

static int read_rings(struct shm_iface *f, enum wio_progress_how how)
{
    int n = 0;
    WIO_LIST_FOR_SAFE(it, next, &f->readers)
    {
        struct shm_link *l = WIO_CONTAINER(it, struct shm_link, rnode);
        if (f->stop)
            break;
        if (how == WIO_PROGRESS_FULL || service_reads(l))
            n += wio_shm_rx_ring(l);
    }
    return n;
}

/* The inbox is one queue: to read one sender's cells all earlier ones must be read. */
static bool service_wants_inbox(const struct shm_iface *f)
{
    return f->nwatched > 0 || f->nleaving > 0 || f->ndead > 0 || f->nmaking > 0 ||
           !wio_list_empty(&f->closing);
}

static int write_blocked(struct shm_iface *f)
{
    int n = 0;
    WIO_LIST_FOR_SAFE(it, next, &f->blocked)
    {
        n += wio_shm_tx_run(WIO_CONTAINER(it, struct shm_link, onode));
    }
    return n;
}

static int settle_dead(struct shm_iface *f)
{
    int n = 0;
    struct wio_list *both[] = {&f->ready, &f->closing};
    for (int i = 0; i < 2; i++)
        WIO_LIST_FOR_SAFE(it, next, both[i])
        {
            n += wio_shm_settle_dead(WIO_CONTAINER(it, struct shm_link, group));
        }
    return n;
}

static void news(struct shm_iface *f)
{
    if (!wio_list_empty(&f->done) || !wio_list_empty(&f->news))
        wio_shm_dispatch(f);
}

/* @return whether the sockets should be looked at */
static bool wake_up(struct shm_iface *f, enum wio_progress_how how)
{
    bool full = how == WIO_PROGRESS_FULL;
    bool *asleep = full ? &f->asleep : &f->asleep_svc;
    bool look = !full || *asleep || f->nmaking > 0 || f->ninbound > 0 ||
                (++f->ticks % SHM_SOCKET_TICKS) == 0 || wio_os_fault != NULL;
    if (*asleep && f->inbox.head != NULL)
        atomic_fetch_and_explicit(&f->inbox.head->sleeping, full ? ~SHM_ASLEEP : ~SHM_ASLEEP_SVC,
                                  memory_order_relaxed);
    *asleep = false;
    return look;
}

static int sockets_and_timers(struct shm_iface *f, enum wio_progress_how how)
{
    bool full = how == WIO_PROGRESS_FULL;
    if (!full) /* its own set only signals; the event itself is in the main set */
        (void)look_at_sockets(f, f->svc_epoll, how);
    int count = look_at_sockets(f, f->epoll, how);
    if (count < 0)
        return count;
    if (!full && count > 0 && f->asleep)
        wio_os_eventfd_set(f->kick); /* this may have been a bell for the application */
    wio_shm_rx_mend(f);
    news(f);
    if (f->timer_at != INT64_MAX || f->rings_out > 0) {
        int64_t now = wio_os_now_ns();
        if (f->timer_at <= now)
            count += run_timers(f, now);
    }
    return count;
}

int wio_shm_progress(struct wio_iface *iface, enum wio_progress_how how)
{
    struct shm_iface *f = shm_iface_of(iface);
    bool full = how == WIO_PROGRESS_FULL;
    int count = 0;
    f->stop = false;
    if (wake_up(f, how) && (count = sockets_and_timers(f, how)) < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, count, "epoll_wait");
    if (f->inbox.head != NULL && (full || service_wants_inbox(f)))
        count += wio_shm_rx_inbox(f);
    if (!f->stop && !wio_list_empty(&f->readers))
        count += read_rings(f, how);
    if (!wio_list_empty(&f->blocked))
        count += write_blocked(f);
    if (f->ndead > 0)
        count += settle_dead(f);
    news(f);
    if (WIO_UNLIKELY(!wio_list_empty(&f->ended) || !wio_list_empty(&f->ghosts)))
        wio_shm_bury(f);
    return count;
}

int wio_shm_progress_ep(struct wio_ep *ep)
{
    struct shm_link *l = shm_link_of(ep);
    struct shm_iface *f = shm_of(l);
    if (WIO_UNLIKELY(l->state != SHM_READY || f->asleep || l->eof))
        return wio_shm_progress(&f->base, WIO_PROGRESS_FULL);
    f->stop = false;
    int n = l->in_ring ? wio_shm_rx_ring(l) : wio_shm_rx_inbox(f);
    if (l->pending)
        n += wio_shm_tx_run(l);
    news(f);
    return n;
}

/* ---- sleep ---- */

void wio_shm_heavy_fence(const struct shm_iface *f)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (f->membarrier)
        (void)wio_os_membarrier();
}

/* Is there anything to read or write? */
static bool anything(struct shm_iface *f, enum wio_progress_how how)
{
    bool full = how == WIO_PROGRESS_FULL;
    if ((full || service_wants_inbox(f)) && wio_shm_rx_inbox_ready(f))
        return true;
    WIO_LIST_FOR(it, &f->readers)
    {
        struct shm_link *l = WIO_CONTAINER(it, struct shm_link, rnode);
        if ((full || service_reads(l)) && wio_shm_rx_ring_ready(l))
            return true;
    }
    WIO_LIST_FOR(it, &f->blocked)
    {
        if (!wio_shm_tx_blocked(WIO_CONTAINER(it, struct shm_link, onode)))
            return true;
    }
    return !wio_list_empty(&f->done) || !wio_list_empty(&f->news);
}

int wio_shm_arm(struct wio_iface *iface, enum wio_progress_how how)
{
    struct shm_iface *f = shm_iface_of(iface);
    bool full = how == WIO_PROGRESS_FULL;
    if (!full)
        (void)wio_os_epoll_ctl(f->svc_epoll, EPOLL_CTL_MOD, f->epoll, EPOLLIN | EPOLLONESHOT,
                               &f->src_kick);
    wio_shm_rx_mend(f);
    if (anything(f, how))
        return 1;
    if (f->inbox.head == NULL)
        return 0;
    WIO_LIST_FOR(it, &f->readers)
    wio_shm_rx_tell(WIO_CONTAINER(it, struct shm_link, rnode));
    if (full)
        f->asleep = true;
    else
        f->asleep_svc = true;
    if (full || service_wants_inbox(f) || !wio_list_empty(&f->blocked)) {
        atomic_fetch_or_explicit(&f->inbox.head->sleeping, full ? SHM_ASLEEP : SHM_ASLEEP_SVC,
                                 memory_order_relaxed);
        WIO_LIST_FOR(it, &f->blocked)
        wio_shm_tx_want(WIO_CONTAINER(it, struct shm_link, onode));
        wio_shm_heavy_fence(f);
        if (anything(f, how))
            return 1;
    }
    return 0;
}

int wio_shm_event_fd(struct wio_iface *iface, enum wio_progress_how how)
{
    struct shm_iface *f = shm_iface_of(iface);
    return how == WIO_PROGRESS_FULL ? f->epoll : f->svc_epoll;
}

bool wio_shm_needs_service(struct wio_iface *iface)
{
    struct shm_iface *f = shm_iface_of(iface);
    return f->nmaking > 0 || f->ninbound > 0 || f->nwatched > 0 || f->ndead > 0 ||
           f->nleaving > 0 || !wio_list_empty(&f->blocked) || !wio_list_empty(&f->closing) ||
           !wio_list_empty(&f->waiting) || !wio_list_empty(&f->done) || !wio_list_empty(&f->news);
}
