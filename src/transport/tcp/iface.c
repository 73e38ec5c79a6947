/* SPDX-License-Identifier: BSD-3-Clause */
/** @file iface.c  The TCP transport's interface: opening, closing, connecting; the operations
 * table. */
#include <arpa/inet.h>

#include "tcp.h"

static int tcp_query(const struct wio_config *cfg, struct wio_tr_attr *attr)
{
    attr->caps = WIO_CAP_EVENT_FD | WIO_CAP_BATCH;
    attr->latency_s = 5e-6;
    attr->bandwidth = 5e9;
    attr->chunk = (size_t)cfg->chunk;
    attr->eager_max = (size_t)cfg->eager_max;
    return 0;
}

/* Rendezvous with a far receiver costs a long round trip: the eager limit is larger. */
static bool tcp_adapt(const struct wio_config *cfg, enum wio_distance d, struct wio_tr_attr *attr)
{
    switch (d) {
    case WIO_AT_HOST:
        return true;
    case WIO_AT_SUBNET:
        attr->latency_s = 2e-5;
        return true;
    case WIO_AT_FAR:
        attr->latency_s = 2e-4;
        attr->bandwidth = 1e9;
        attr->eager_max = (size_t)cfg->eager_max_far;
        return true;
    default:
        return false;
    }
}

static enum wio_distance tcp_distance(struct wio_iface *iface, uint32_t peer)
{
    const struct wio_table *t = iface->table;
    union tcp_addr a[WIO_HOST_ADDRS];
    if (t->host[t->ep[peer].host].identity == t->host[t->ep[t->me].host].identity)
        return WIO_AT_HOST;
    struct tcp_iface *f = tcp_iface_of(iface);
    int via;
    if (wio_tcp_is_far(f, peer, &via))
        return WIO_AT_FAR;
    bool near = wio_tcp_peer_addrs(f, peer, a, WIO_HOST_ADDRS) > 0 && wio_tcp_near(f, &a[0]);
    return near ? WIO_AT_SUBNET : WIO_AT_FAR;
}

static void init_lists(struct tcp_iface *f)
{
    struct wio_list *lists[] = {&f->links, &f->connecting, &f->lru,     &f->closing, &f->ready,
                                &f->out,   &f->blocked,    &f->watched, &f->news,    &f->probe,
                                &f->done,  &f->inbound,    &f->dials,   &f->ended,   &f->ghosts,
                                &f->hot,   &f->wants,      &f->owing};
    for (size_t i = 0; i < WIO_ARRAY_LEN(lists); i++)
        wio_list_init(lists[i]);
}

static void release(struct tcp_iface *f)
{
    wio_tcp_unlisten(f);
    wio_os_close(f->epoll);
    wio_os_close(f->svc_epoll);
    wio_tcp_batch_spare_free(f);
    wio_tcp_kept_spare_free(f);
    wio_os_free(f->hash);
    wio_os_free(f->stage);
    wio_os_free(f->ticket);
    wio_tcp_via_close(f);
    wio_os_free(f->device);
    wio_os_free(f);
}

/* With fewer descriptors nothing works, and errors would name whatever failed last. */
enum { DESCRIPTORS_MIN = 24 };

static int tcp_open(const struct wio_iface_params *p, struct wio_iface **iface)
{
    int limit = wio_os_fd_limit();
    if (limit > 0 && limit < DESCRIPTORS_MIN)
        return wio_fail(WAITIO_ERR_LIMIT,
                        "this process may open %d descriptors, at least %d are needed", limit,
                        DESCRIPTORS_MIN);
    struct tcp_iface *f = wio_os_alloc(sizeof *f);
    if (f == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for the TCP transport");
    f->base.tr = &wio_transport_tcp;
    f->base.p = *p;
    init_lists(f);
    f->timer_at = f->probe_at = f->cap_at = f->owe_at = INT64_MAX;
    f->connect_timeout = (int64_t)(p->cfg->connect_timeout * 1e9);
    f->resume_timeout = (int64_t)(p->cfg->resume_timeout * 1e9);
    f->crc = p->cfg->crc;
    f->cap = wio_tcp_cap_of(p->cfg);
    f->epoll = wio_os_epoll_create();
    f->svc_epoll = wio_os_epoll_create();
    f->stage = wio_os_alloc(TCP_STAGE_BYTES);
    int rc;
    if (f->epoll < 0 || f->svc_epoll < 0)
        rc = wio_fail_os(WAITIO_ERR_SYSTEM, f->epoll < 0 ? f->epoll : f->svc_epoll,
                         "cannot make an epoll set (descriptor limit %d)", wio_os_fd_limit());
    else if (f->stage == NULL)
        rc = wio_fail(WAITIO_ERR_NOMEM, "no memory for the TCP transport");
    else
        rc = wio_tcp_listen(f);
    if (rc == 0)
        rc = wio_tcp_via_open(f);
    if (rc == 0)
        rc = wio_tcp_lanes_open(f);
    if (rc < 0) {
        release(f);
        return rc;
    }
    *iface = &f->base;
    return 0;
}

static void offer_loopback(struct wio_tab_host *h)
{
    h->naddr = 1;
    h->addr[0] =
        (struct wio_tab_addr){.family = 4, .loopback = 1, .prefix = 8, .ip = {127, 0, 0, 1}};
}

static int tcp_address(struct wio_iface *iface, struct wio_boot_offer *offer)
{
    struct tcp_iface *f = tcp_iface_of(iface);
    const struct wio_config *cfg = iface->p.cfg;
    if (iface->p.secret->len == 0 && !cfg->secret_none_remote) {
        offer_loopback(&offer->host);
    } else if (offer->host.naddr == 0) {
        int rc = wio_boot_addresses(cfg, iface->p.log, &offer->host);
        if (rc < 0)
            return rc;
    }
    offer->ep.port = f->port;
    offer->ep.caps |= (uint16_t)(1u << WIO_TR_TCP);
    return 0;
}

static int tcp_start(struct wio_iface *iface, const struct wio_table *table)
{
    iface->table = table;
    wio_tcp_listen_watch(tcp_iface_of(iface), true);
    return wio_tcp_via_start(tcp_iface_of(iface));
}

static bool tcp_reachable(struct wio_iface *iface, uint32_t peer, char *why, size_t nwhy)
{
    struct tcp_iface *f = tcp_iface_of(iface);
    const struct wio_table *t = iface->table;
    union tcp_addr a[WIO_HOST_ADDRS];
    char where[64], who[48];
    if (t == NULL || peer >= t->size || peer == t->me) {
        wio_text(why, nwhy,
                 t == NULL       ? "not joined yet"
                 : peer == t->me ? "myself"
                                 : "no such rank");
        return false;
    }
    wio_tcp_peer_name(f, peer, who, sizeof who);
    if (!(t->ep[peer].caps & (1u << WIO_TR_TCP)) || t->ep[peer].port == 0) {
        wio_text(why, nwhy, "%s does not offer TCP", who);
        return false;
    }
    int n = wio_tcp_peer_addrs(f, peer, a, WIO_HOST_ADDRS), via;
    if (wio_tcp_is_far(f, peer, &via)) {
        wio_text(why, nwhy, "through relay %s", wio_tcp_relay_name(f, via));
        return true;
    }
    if (n == 0) {
        wio_text(why, nwhy, "%s published no address that can be used from this host", who);
        return false;
    }
    bool same = t->host[t->ep[peer].host].identity == t->host[t->ep[t->me].host].identity;
    int lanes = wio_tcp_lanes_wanted(f, &a[0]);
    wio_text(why, nwhy, "%s%s, %d address%s%s%s", same ? "same host, " : "",
             wio_tcp_addr_text(&a[0], where, sizeof where), n, n == 1 ? "" : "es",
             lanes > 1 ? ", several connections for long messages" : "",
             f->via != NULL && !same ? ", else through a relay" : "");
    return true;
}

static int tcp_connect(struct wio_iface *iface, uint32_t peer, struct wio_ep **ep)
{
    struct tcp_iface *f = tcp_iface_of(iface);
    char why[128];
    if (iface->table == NULL)
        return wio_fail(WAITIO_ERR_STATE, "the universe has not formed yet");
    struct tcp_link *l = peer < iface->table->size ? wio_tcp_link_find(f, peer, 0) : NULL;
    if (l == NULL || l->ep.state >= WIO_EP_CLOSING) {
        if (!tcp_reachable(iface, peer, why, sizeof why))
            return wio_fail(WAITIO_ERR_NOROUTE, "no TCP route to universe rank %u: %s", peer, why);
        l = wio_tcp_link_new(f, peer, 0);
        if (l == NULL)
            return wio_fail(WAITIO_ERR_NOMEM, "no memory for a link");
        l->known = true;
        f->in_connect = true;
        wio_tcp_dial(l);
        f->in_connect = false;
        if (l->state == TCP_CLOSED) { /* never told to p2p */
            int err = wio_fail(l->err, "%s", l->text != NULL ? l->text : "cannot connect");
            wio_tcp_link_free(l);
            return err;
        }
    }
    l->known = true;
    *ep = &l->ep;
    return 0;
}

/* Not connected yet: with something queued the connection is made first, then closed in order. */
static void close_early(struct tcp_link *l)
{
    if (l->state == TCP_CONFIRM || l->queued > 0)
        wio_tcp_link_news(l);
    else
        wio_tcp_link_over(l, 0, "%s", wio_bye_reason_name(l->bye_reason));
}

void wio_tcp_close_link(struct wio_ep *ep, enum wio_bye_reason reason)
{
    struct tcp_link *l = tcp_link_of(ep);
    if (l->state == TCP_CLOSED)
        return;
    if (reason > l->bye_reason)
        l->bye_reason = (uint8_t)reason;
    if (wio_bye_is_final(reason)) {
        wio_tcp_tx_last_words(l, reason);
        wio_tcp_link_over(l, 0, "%s", wio_bye_reason_name(reason));
        return;
    }
    if (l->bye_wanted)
        return;
    l->bye_wanted = true;
    if (l->mend != 0) { /* when it is made anew */
        if (l->mend == TCP_READY)
            l->mend = TCP_DRAIN;
        l->ep.state = WIO_EP_CLOSING;
        wio_tcp_link_news(l);
    } else if (l->state == TCP_READY) {
        wio_tcp_set_state(l, TCP_DRAIN);
        wio_tcp_tx_run(l);
    } else if (l->state < TCP_READY) {
        l->ep.state = WIO_EP_CLOSING;
        close_early(l);
    }
}

static void tcp_free_ep(struct wio_ep *ep)
{
    wio_tcp_link_free(tcp_link_of(ep));
}

static void drop_conns(struct tcp_iface *f, struct wio_list *q)
{
    struct wio_list *it;
    while ((it = wio_list_first(q)) != NULL)
        wio_tcp_conn_close(WIO_CONTAINER(it, struct tcp_conn, node));
    wio_tcp_bury(f);
}

static void tcp_close_iface(struct wio_iface *iface)
{
    struct tcp_iface *f = tcp_iface_of(iface);
    struct wio_list *it;
    while ((it = wio_list_first(&f->links)) != NULL)
        wio_tcp_link_free(WIO_CONTAINER(it, struct tcp_link, all));
    drop_conns(f, &f->inbound);
    drop_conns(f, &f->dials);
    release(f);
}

/* The sets are shared with the parent: close our descriptors only, change nothing in them. */
static void tcp_after_fork(struct wio_iface *iface)
{
    struct tcp_iface *f = tcp_iface_of(iface);
    WIO_LIST_FOR(it, &f->links)
    {
        struct tcp_link *l = WIO_CONTAINER(it, struct tcp_link, all);
        wio_os_close(l->fd);
        l->fd = -1;
    }
    struct wio_list *conns[] = {&f->inbound, &f->dials};
    for (size_t i = 0; i < 2; i++)
        WIO_LIST_FOR(it, conns[i])
        {
            struct tcp_conn *c = WIO_CONTAINER(it, struct tcp_conn, node);
            wio_os_close(c->fd);
            c->fd = -1;
        }
    wio_tcp_unlisten(f);
    wio_tcp_via_close(f);
    wio_os_close(f->epoll);
    wio_os_close(f->svc_epoll);
    f->epoll = f->svc_epoll = -1;
}

const struct wio_transport wio_transport_tcp = {
    .size = sizeof(struct wio_transport),
    .id = WIO_TR_TCP,
    .name = "tcp",
    .query = tcp_query,
    .adapt = tcp_adapt,
    .distance = tcp_distance,
    .open = tcp_open,
    .address = tcp_address,
    .start = tcp_start,
    .gather = wio_tr_no_gather,
    .settle = wio_tr_no_settle,
    .keep = wio_tr_no_keep,
    .let_go = wio_tcp_let_go,
    .reachable = tcp_reachable,
    .connect = tcp_connect,
    .lane = wio_tcp_lane,
    .send = wio_tcp_send,
    .put = wio_tr_no_put,
    .fetch = wio_tr_no_fetch,
    .recalls = wio_tr_no_recalls,
    .step_aside = wio_tr_no_step_aside,
    .is_aside = wio_tr_no_is_aside,
    .queued = wio_tcp_queued,
    .flush = wio_tcp_flush,
    .watch = wio_tcp_watch,
    .progress = wio_tcp_progress,
    .progress_ep = wio_tcp_progress_ep,
    .event_fd = wio_tcp_event_fd,
    .arm = wio_tcp_arm,
    .needs_service = wio_tcp_needs_service,
    .next_timer_ns = wio_tcp_next_timer,
    .close = wio_tcp_close_link,
    .ping = wio_tcp_ping,
    .heard_ns = wio_tcp_heard,
    .free_ep = tcp_free_ep,
    .close_iface = tcp_close_iface,
    .after_fork = tcp_after_fork,
    .dump = wio_tcp_dump,
};
