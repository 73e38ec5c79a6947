/* SPDX-License-Identifier: BSD-3-Clause */
/** @file iface.c  The shared-memory transport's interface: opening, closing, who can be reached;
 * the operations table. */
#include "transport/shm/shm.h"

/* Beside TCP: sockets, sets and one descriptor per neighbour. */
enum { DESCRIPTORS_MIN = 48 };

static int shm_query(const struct wio_config *cfg, struct wio_tr_attr *attr)
{
    int limit = wio_os_fd_limit();
    if (limit > 0 && limit < DESCRIPTORS_MIN)
        return wio_fail(WAITIO_ERR_LIMIT,
                        "this process may open %d descriptors, shared memory wants %d", limit,
                        DESCRIPTORS_MIN);
    attr->caps = WIO_CAP_EVENT_FD | WIO_CAP_SAME_HOST | WIO_CAP_MEMORY;
    attr->latency_s = 2e-7;
    attr->bandwidth = 2e10;
    attr->chunk = (size_t)cfg->chunk;
    attr->eager_max = (size_t)cfg->shm_eager_max;
    return 0;
}

/* Which processes can share memory: one user in one user namespace, one byte order, one layout. */
static uint32_t realm(void)
{
    uint64_t h = wio_hash64((uint64_t)wio_os_uid(), wio_os_user_namespace());
    uint64_t order = 1;
    uint8_t first;
    memcpy(&first, &order, 1);
    h = wio_hash64(wio_hash64(h, first), SHM_VERSION);
    return (uint32_t)wio_hash64(h, sizeof(void *));
}

static void release(struct shm_iface *f)
{
    struct wio_list *it;
    while ((it = wio_list_pop(&f->barred)) != NULL)
        wio_os_free(WIO_CONTAINER(it, struct shm_barred, node));
    wio_shm_inbox_drop(f);
    wio_os_close(f->listener);
    wio_os_close(f->epoll);
    wio_os_close(f->svc_epoll);
    wio_os_close(f->kick);
    wio_os_close(f->reserve);
    wio_os_free(f->owner);
    wio_os_free(f->owner_gen);
    wio_os_free(f);
}

static int open_sets(struct shm_iface *f)
{
    if ((f->epoll = wio_os_epoll_create()) < 0)
        return f->epoll;
    if ((f->svc_epoll = wio_os_epoll_create()) < 0)
        return f->svc_epoll;
    if ((f->kick = wio_os_eventfd()) < 0)
        return f->kick;
    if ((f->reserve = wio_os_eventfd()) < 0)
        return f->reserve;
    int rc = wio_os_epoll_ctl(f->epoll, EPOLL_CTL_ADD, f->kick, EPOLLIN, &f->src_kick);
    if (rc == 0)
        rc = wio_os_epoll_ctl(f->svc_epoll, EPOLL_CTL_ADD, f->epoll, EPOLLIN | EPOLLONESHOT,
                              &f->src_kick);
    return rc < 0 ? rc : wio_shm_listen(f);
}

static int shm_open(const struct wio_iface_params *p, struct wio_iface **iface)
{
    struct shm_iface *f = wio_os_alloc(sizeof *f);
    if (f == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for the shared-memory transport");
    f->base.tr = &wio_transport_shm;
    f->base.p = *p;
    f->epoll = f->svc_epoll = f->listener = f->kick = f->reserve = f->inbox_fd = -1;
    f->src_listener.what = SHM_IS_LISTENER;
    f->src_kick.what = SHM_IS_KICK;
    f->timer_at = INT64_MAX;
    f->realm = realm();
    f->membarrier = wio_os_membarrier_register() == 0;
    f->gives_later = wio_os_gives_later();
    f->cache = wio_os_cache_bytes();
    struct wio_list *lists[] = {&f->links,   &f->waiting, &f->ready, &f->closing, &f->readers,
                                &f->blocked, &f->news,    &f->done,  &f->inbound, &f->dials,
                                &f->ended,   &f->ghosts,  &f->barred};
    for (size_t i = 0; i < WIO_ARRAY_LEN(lists); i++)
        wio_list_init(lists[i]);
    int rc = open_sets(f);
    if (rc < 0) {
        rc = wio_fail_os(WAITIO_ERR_SYSTEM, rc, "cannot open shared memory (descriptor limit %d)",
                         wio_os_fd_limit());
        release(f);
        return rc;
    }
    *iface = &f->base;
    return 0;
}

static int shm_address(struct wio_iface *iface, struct wio_boot_offer *offer)
{
    struct shm_iface *f = shm_iface_of(iface);
    offer->ep.token = f->token = (uint64_t)f->realm << 32 | f->name;
    offer->ep.caps |= (uint16_t)(1u << WIO_TR_SHM);
    return 0;
}

static int shm_start(struct wio_iface *iface, const struct wio_table *table)
{
    iface->table = table;
    wio_shm_listen_watch(shm_iface_of(iface), true);
    return 0;
}

static bool shm_reachable(struct wio_iface *iface, uint32_t peer, char *why, size_t nwhy)
{
    const struct shm_iface *f = shm_iface_of(iface);
    const struct wio_table *t = iface->table;
    const char *text = "same host, same user";
    bool yes = false;
    if (t == NULL || peer >= t->size)
        text = t == NULL ? "not joined yet" : "no such rank";
    else if (peer == t->me)
        text = "myself";
    else if ((t->ep[peer].caps & (1u << WIO_TR_SHM)) == 0)
        text = "it does not offer shared memory";
    else if (t->host[t->ep[peer].host].identity != t->host[t->ep[t->me].host].identity)
        text = "another host (or network namespace)";
    else if (((t->ep[peer].caps ^ t->ep[t->me].caps) & WIO_EP_BIG_ENDIAN) != 0)
        text = "the other byte order";
    else if ((uint32_t)(t->ep[peer].token >> 32) != f->realm)
        text = "another user, user namespace or release";
    else if (wio_shm_barred(f, peer) != NULL)
        text = wio_shm_barred(f, peer)->why;
    else
        yes = true;
    wio_text(why, nwhy, "%s", text);
    return yes;
}

static int shm_connect(struct wio_iface *iface, uint32_t peer, struct wio_ep **ep)
{
    struct shm_iface *f = shm_iface_of(iface);
    char why[192];
    if (iface->table == NULL)
        return wio_fail(WAITIO_ERR_STATE, "the universe has not formed yet");
    struct shm_link *l = peer < iface->table->size ? wio_shm_link_find(f, peer) : NULL;
    if (l == NULL || l->ep.state >= WIO_EP_CLOSING) {
        if (!shm_reachable(iface, peer, why, sizeof why))
            return wio_fail(WAITIO_ERR_NOROUTE, "no shared memory with universe rank %u: %s", peer,
                            why);
        l = wio_shm_link_new(f, peer);
        if (l == NULL)
            return wio_fail(WAITIO_ERR_NOMEM, "no memory for a link");
        f->in_connect = true;
        wio_shm_dial(l);
        f->in_connect = false;
        if (l->state == SHM_OVER) { /* never told to p2p */
            int err = wio_fail(l->err, "%s", l->text != NULL ? l->text : "cannot connect");
            wio_shm_link_free(l);
            return err;
        }
    }
    l->known = true;
    *ep = &l->ep;
    return 0;
}

static void shm_watch(struct wio_ep *ep, bool on)
{
    struct shm_link *l = shm_link_of(ep);
    if (l->watched == on || l->state == SHM_OVER)
        return;
    l->watched = on;
    shm_of(l)->nwatched += on ? 1 : -1;
}

static void shm_step_aside(struct wio_iface *iface, bool on)
{
    const struct shm_iface *f = shm_iface_of(iface);
    if (f->inbox.head != NULL)
        atomic_store_explicit(&f->inbox.head->aside, on, memory_order_release);
}

static bool shm_is_aside(const struct wio_ep *ep)
{
    const struct shm_link *l = WIO_CONTAINER((void *)(uintptr_t)ep, struct shm_link, ep);
    return l->state == SHM_READY &&
           atomic_load_explicit(&l->peer.head->aside, memory_order_acquire) != 0;
}

static void shm_close(struct wio_ep *ep, enum wio_bye_reason reason)
{
    struct shm_link *l = shm_link_of(ep);
    if (l->state == SHM_OVER)
        return;
    if (reason > l->bye_reason)
        l->bye_reason = (uint8_t)reason;
    if (wio_bye_is_final(reason)) {
        wio_shm_last_words(l, reason);
        wio_shm_link_over(l, 0, "%s", wio_bye_reason_name(reason));
        return;
    }
    if (l->bye_wanted)
        return;
    l->bye_wanted = true;
    if (l->state == SHM_READY) {
        wio_shm_set_state(l, SHM_DRAIN);
        wio_shm_say(l, SHM_R_LEAVING);
        (void)wio_shm_tx_run(l);
    } else if (l->state < SHM_READY) {
        if (l->queued == 0 && l->state != SHM_SETUP)
            wio_shm_link_over(l, 0, "%s", wio_bye_reason_name(reason));
        else {
            l->ep.state = WIO_EP_CLOSING; /* connected first, then closed in order */
            wio_shm_news(l);
        }
    }
}

static void shm_ping(struct wio_ep *ep)
{
    struct shm_link *l = shm_link_of(ep);
    if (l->state < SHM_READY || l->state == SHM_OVER || l->ping_out)
        return;
    l->ping_out = true;
    wio_shm_say(l, SHM_R_PING);
}

static int64_t shm_heard(const struct wio_ep *ep)
{
    struct shm_link *l = WIO_CONTAINER((void *)(uintptr_t)ep, struct shm_link, ep);
    if (l->heard) { /* no clock on the fast path: it was after the last ping */
        l->heard = false;
        l->heard_ns = wio_os_now_ns();
    }
    return l->heard_ns;
}

static void shm_free_ep(struct wio_ep *ep)
{
    wio_shm_link_free(shm_link_of(ep));
}

static void drop_conns(struct wio_list *q)
{
    struct wio_list *it;
    while ((it = wio_list_first(q)) != NULL)
        wio_shm_conn_close(WIO_CONTAINER(it, struct shm_conn, node));
}

static void shm_close_iface(struct wio_iface *iface)
{
    struct shm_iface *f = shm_iface_of(iface);
    struct wio_list *it;
    drop_conns(&f->inbound);
    drop_conns(&f->dials);
    while ((it = wio_list_first(&f->links)) != NULL)
        wio_shm_link_free(WIO_CONTAINER(it, struct shm_link, all));
    wio_shm_bury(f);
    release(f);
}

/* The sets are shared with the parent: close our descriptors only, change nothing in them. */
static void shm_after_fork(struct wio_iface *iface)
{
    struct shm_iface *f = shm_iface_of(iface);
    WIO_LIST_FOR(it, &f->links)
    {
        struct shm_link *l = WIO_CONTAINER(it, struct shm_link, all);
        wio_os_close(l->fd);
        l->fd = -1;
    }
    struct wio_list *conns[] = {&f->inbound, &f->dials};
    for (size_t i = 0; i < 2; i++)
        WIO_LIST_FOR(it, conns[i])
        {
            struct shm_conn *c = WIO_CONTAINER(it, struct shm_conn, node);
            wio_os_close(c->fd);
            c->fd = -1;
        }
    int *fds[] = {&f->listener, &f->epoll, &f->svc_epoll, &f->kick, &f->reserve, &f->inbox_fd};
    for (size_t i = 0; i < WIO_ARRAY_LEN(fds); i++) {
        wio_os_close(*fds[i]);
        *fds[i] = -1;
    }
}

const struct wio_transport wio_transport_shm = {
    .size = sizeof(struct wio_transport),
    .id = WIO_TR_SHM,
    .name = "shm",
    .query = shm_query,
    .adapt = wio_tr_host_only,
    .distance = wio_tr_same_host,
    .open = shm_open,
    .address = shm_address,
    .start = shm_start,
    .gather = wio_tr_no_gather,
    .settle = wio_tr_no_settle,
    .keep = wio_tr_no_keep,
    .let_go = wio_tr_no_let_go,
    .reachable = shm_reachable,
    .connect = shm_connect,
    .send = wio_shm_send,
    .put = wio_shm_put,
    .lane = wio_tr_no_lane,
    .fetch = wio_shm_fetch,
    .recalls = wio_shm_recalls,
    .step_aside = shm_step_aside,
    .is_aside = shm_is_aside,
    .queued = wio_shm_queued,
    .flush = wio_tr_no_flush,
    .watch = shm_watch,
    .progress = wio_shm_progress,
    .progress_ep = wio_shm_progress_ep,
    .event_fd = wio_shm_event_fd,
    .arm = wio_shm_arm,
    .needs_service = wio_shm_needs_service,
    .next_timer_ns = wio_shm_next_timer,
    .close = shm_close,
    .ping = shm_ping,
    .heard_ns = shm_heard,
    .free_ep = shm_free_ep,
    .close_iface = shm_close_iface,
    .after_fork = shm_after_fork,
    .dump = wio_shm_dump,
};
