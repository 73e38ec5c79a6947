/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file events.c
 * Progress: events of the kernel are stored per link (ready list, can_write), then handled. The
 * main set always has every link, edge-triggered. The service set has only links that need progress
 * while no application thread drives them; arm(SERVICE) arms them, and an unwanted event disarms
 * them.
 */
#include "tcp.h"

#define EVENTS 64

/* ---- telling p2p ---- */

static void told(struct tcp_link *l, enum wio_ep_state s, int err, const char *text)
{
    struct tcp_iface *f = tcp_of(l);
    l->told = (uint8_t)s;
    l->known = true;
    f->base.p.up->on_state(f->base.p.user, &l->ep, l->ep.peer, s, err,
                           (enum wio_bye_reason)l->bye_reason, text);
}

void wio_tcp_announce(struct tcp_link *l)
{
    (void)wio_tcp_dispatch(tcp_of(l)); /* the end of an older link comes first */
    wio_tcp_dial_free(l);
    bool closing = l->bye_wanted;
    wio_tcp_set_state(l, TCP_READY);
    l->turn_at = wio_os_now_ns();
    wio_tcp_kept_begin(l);
    if (closing) { /* close() came while connecting */
        wio_tcp_set_state(l, TCP_DRAIN);
        if (!l->known)
            l->known = true;
    } else {
        told(l, WIO_EP_READY, 0, "connected");
    }
    wio_tcp_tx_wake(l);
}

static void tell_closed(struct tcp_link *l)
{
    struct tcp_iface *f = tcp_of(l);
    int err = l->err != 0 ? l->err : WAITIO_ERR_PEER;
    l->ep.taken = l->tx_acked;
    if (l->body || l->half) {
        l->body = l->half = false;
        f->base.p.up->on_abandon(f->base.p.user, l->ep.peer, &l->sink);
    }
    wio_tcp_tx_fail_all(l, err);
    if (l->known)
        told(l, WIO_EP_CLOSED, l->err, l->text != NULL ? l->text : "closed");
    else
        wio_list_push(&f->ghosts, &l->news); /* an event of this round may still point at it */
}

int wio_tcp_dispatch(struct tcp_iface *f)
{
    int n = 0;
    struct wio_list *it;
    while ((it = wio_list_pop(&f->done)) != NULL) {
        struct wio_tx *tx = WIO_CONTAINER(it, struct wio_tx, node);
        tx->done(tx, 0);
        n++;
    }
    while ((it = wio_list_pop(&f->news)) != NULL) {
        struct tcp_link *l = WIO_CONTAINER(it, struct tcp_link, news);
        n++;
        if (l->state == TCP_CLOSED)
            tell_closed(l);
        else if (l->known && l->ep.state == WIO_EP_CLOSING && l->told != WIO_EP_CLOSING)
            told(l, WIO_EP_CLOSING, 0, wio_bye_reason_name(l->bye_reason));
    }
    return n;
}

/* ---- the service set ---- */

static void svc_interest(struct tcp_link *l, uint8_t want)
{
    if (l->fd < 0 || l->svc == want)
        return;
    if (want != 0 &&
        wio_list_linked(&l->hnode)) { /* back in the set for another reason: not hot any more */
        wio_list_remove(&l->hnode);
        l->warmth = 0;
    }
    uint32_t ev = EPOLLRDHUP | EPOLLET;
    if (want & TCP_SVC_READ)
        ev |= EPOLLIN;
    if (want & TCP_SVC_WRITE)
        ev |= EPOLLOUT;
    int op = want == 0 ? EPOLL_CTL_DEL : l->svc == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (wio_os_epoll_ctl(tcp_of(l)->svc_epoll, op, l->fd, ev, &l->src) == 0)
        l->svc = want;
}

static uint8_t svc_wanted(const struct tcp_link *l)
{
    uint8_t want = TCP_SVC_HUP;
    if (tcp_can_read(l) && (l->watched || l->state != TCP_READY || l->kept.full || tcp_shaking(l)))
        want |= TCP_SVC_READ;
    if (l->pending && !l->can_write)
        want |= TCP_SVC_WRITE;
    return want;
}

/* Membership in a second event set costs every small message 2 % of its time. A link that the
 * program reads all the time leaves it, until arm() finds it quiet. */
void wio_tcp_svc_hot(struct tcp_link *l)
{
    if (l->svc != TCP_SVC_HUP || l->state != TCP_READY || ++l->warmth < TCP_HOT_READS)
        return;
    svc_interest(l, 0);
    l->hot_seq = l->rx_seq;
    wio_list_push(&tcp_of(l)->hot, &l->hnode);
}

static void svc_cool(struct tcp_iface *f)
{
    WIO_LIST_FOR_SAFE(it, next, &f->hot)
    {
        struct tcp_link *l = WIO_CONTAINER(it, struct tcp_link, hnode);
        if (l->state == TCP_READY && l->rx_seq != l->hot_seq) {
            l->hot_seq = l->rx_seq;
            continue;
        }
        wio_list_remove(&l->hnode);
        l->warmth = 0;
        svc_interest(l, svc_wanted(l));
    }
}

static void svc_arm_list(struct wio_list *q, size_t offset)
{
    WIO_LIST_FOR(it, q)
    {
        struct tcp_link *l = (struct tcp_link *)(void *)((char *)it - offset);
        svc_interest(l, svc_wanted(l));
    }
}

static bool svc_has_work(struct tcp_iface *f)
{
    WIO_LIST_FOR(it, &f->ready)
    {
        if (tcp_service_reads(WIO_CONTAINER(it, struct tcp_link, rnode)))
            return true;
    }
    return false;
}

int wio_tcp_arm(struct wio_iface *iface, enum wio_progress_how how)
{
    struct tcp_iface *f = tcp_iface_of(iface);
    if (how == WIO_PROGRESS_SERVICE) {
        svc_cool(f);
        svc_arm_list(&f->watched, offsetof(struct tcp_link, wnode));
        svc_arm_list(&f->blocked, offsetof(struct tcp_link, onode));
        svc_arm_list(&f->closing, offsetof(struct tcp_link, group));
    }
    if (!wio_list_empty(&f->out) || !wio_list_empty(&f->done) || !wio_list_empty(&f->news) ||
        f->cap_due)
        return 1;
    return how == WIO_PROGRESS_FULL ? !wio_list_empty(&f->ready) : svc_has_work(f);
}

bool wio_tcp_needs_service(struct wio_iface *iface)
{
    const struct tcp_iface *f = tcp_iface_of(iface);
    return f->nhup > 0 || f->ninbound > 0 || !wio_list_empty(&f->connecting) ||
           !wio_list_empty(&f->closing) || !wio_list_empty(&f->watched) ||
           !wio_list_empty(&f->wants) || f->ntickets > 0 || f->cap_due ||
           !wio_list_empty(&f->out) || !wio_list_empty(&f->blocked) || !wio_list_empty(&f->done) ||
           !wio_list_empty(&f->news);
}

void wio_tcp_watch(struct wio_ep *ep, bool on)
{
    struct tcp_link *l = tcp_link_of(ep);
    if (l->watched == on)
        return;
    l->watched = on;
    if (on)
        wio_list_push(&tcp_of(l)->watched, &l->wnode);
    else
        wio_list_remove(&l->wnode);
}

int wio_tcp_event_fd(struct wio_iface *iface, enum wio_progress_how how)
{
    struct tcp_iface *f = tcp_iface_of(iface);
    return how == WIO_PROGRESS_FULL ? f->epoll : f->svc_epoll;
}

/* ---- events ---- */

static void link_event(struct tcp_link *l, uint32_t ev, bool svc)
{
    if (l->fd < 0)
        return;
    if (ev & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        wio_tcp_mark_hup(l);
    if (ev & EPOLLIN)
        wio_tcp_make_ready(l);
    if ((ev & EPOLLOUT) && !l->can_write && !l->write_failed) {
        l->can_write = true;
        wio_tcp_tx_wake(l);
    }
    if (svc && l->svc != 0)
        svc_interest(l, svc_wanted(l));
}

static int handle_events(struct tcp_iface *f, struct epoll_event *ev, int n, bool svc)
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        struct tcp_src *s = ev[i].data.ptr;
        switch (s->what) {
        case TCP_IS_LISTENER:
            count += wio_tcp_accept(f, WIO_CONTAINER(s, struct tcp_listener, src));
            break;
        case TCP_IS_LINES:
            count += wio_tcp_via_run(f);
            break;
        case TCP_IS_CONN:
            count += wio_tcp_conn_drive(WIO_CONTAINER(s, struct tcp_conn, src));
            break;
        default:
            link_event(WIO_CONTAINER(s, struct tcp_link, src), ev[i].events, svc);
            break;
        }
    }
    return count;
}

static void splice_front(struct wio_list *to, struct wio_list *from)
{
    while (!wio_list_empty(from)) {
        struct wio_list *it = from->prev;
        wio_list_remove(it);
        wio_list_push_front(to, it);
    }
}

/* Read every link with known input once; a link with more goes to the tail. */
static int run_ready(struct tcp_iface *f, enum wio_progress_how how)
{
    int count = 0;
    struct wio_list todo, *it;
    wio_list_init(&todo);
    splice_front(&todo, &f->ready);
    while (!f->stop && (it = wio_list_pop(&todo)) != NULL) {
        struct tcp_link *l = WIO_CONTAINER(it, struct tcp_link, rnode);
        l->ready = false;
        if (how == WIO_PROGRESS_FULL || tcp_service_reads(l))
            count += wio_tcp_rx_run(l);
        else
            wio_tcp_make_ready(l);
    }
    splice_front(&f->ready, &todo);
    return count;
}

static int run_timers(struct tcp_iface *f)
{
    if (f->timer_at == INT64_MAX && f->probe_at == INT64_MAX && wio_list_empty(&f->probe) &&
        wio_list_empty(&f->owing))
        return 0;
    if (!f->timer_asked && (++f->ticks & 127) != 0)
        return 0;
    f->timer_asked = false;
    int64_t now = wio_os_now_ns();
    return wio_tcp_next_timer(&f->base, WIO_PROGRESS_SERVICE) <= now ? wio_tcp_timers(f, now) : 0;
}

static void flush_all(struct tcp_iface *f)
{
    if (!wio_list_empty(&f->out))
        wio_tcp_flush(&f->base);
}

/* Under fault injection no edge follows an injected EAGAIN: drive every handshake each time.
 */
static void drive_all(struct wio_list *q)
{
    struct wio_list *end = q->prev;
    for (struct wio_list *it = q->next, *next; it != q; it = next) {
        next = it == end ? q : it->next;
        (void)wio_tcp_conn_drive(WIO_CONTAINER(it, struct tcp_conn, node));
    }
}

int wio_tcp_progress(struct wio_iface *iface, enum wio_progress_how how)
{
    struct tcp_iface *f = tcp_iface_of(iface);
    struct epoll_event ev[EVENTS];
    bool svc = how == WIO_PROGRESS_SERVICE;
    f->stop = false;
    int n = wio_os_epoll_wait(svc ? f->svc_epoll : f->epoll, ev, EVENTS, 0);
    if (WIO_UNLIKELY(n < 0))
        return wio_fail_os(WAITIO_ERR_SYSTEM, n, "epoll_wait");
    int count = handle_events(f, ev, n, svc);
    if (WIO_UNLIKELY(wio_os_fault != NULL)) {
        drive_all(&f->inbound);
        drive_all(&f->dials);
    }
    if (!wio_list_empty(&f->ready))
        count += run_ready(f, how);
    flush_all(f);
    count += run_timers(f);
    if (WIO_UNLIKELY(f->cap_due))
        count += wio_tcp_cap_run(f);
    if (!wio_list_empty(&f->done) || !wio_list_empty(&f->news))
        count += wio_tcp_dispatch(f);
    if (WIO_UNLIKELY(!wio_list_empty(&f->ended) || !wio_list_empty(&f->ghosts)))
        wio_tcp_bury(f);
    return count;
}

int wio_tcp_progress_ep(struct wio_ep *ep)
{
    struct tcp_link *l = tcp_link_of(ep);
    struct tcp_iface *f = tcp_of(l);
    if (WIO_UNLIKELY(l->state < TCP_READY))
        return wio_tcp_progress(&f->base, WIO_PROGRESS_FULL);
    f->stop = false;
    if (l->pending &&
        !l->write_failed) { /* also a full socket: asking beats waiting for its edge */
        l->can_write = true;
        wio_tcp_tx_run(l);
    }
    int count = tcp_can_read(l) ? wio_tcp_rx_run(l) : 0;
    if (WIO_UNLIKELY(f->nlanes > 0))
        count += wio_tcp_lanes_run(l);
    if (!wio_list_empty(&f->done) || !wio_list_empty(&f->news))
        count += wio_tcp_dispatch(f);
    return count;
}
