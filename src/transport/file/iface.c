/* SPDX-License-Identifier: BSD-3-Clause */
/** @file iface.c  The file transport's interface: opening, closing, who can be reached; the
 * operations table. */
#include "boot/addresses.h"
#include "transport/file/file.h"

/* Of ours, and three per peer; four where there are enough. */
enum { DESCRIPTORS_MIN = 24 };

static int file_query(const struct wio_config *cfg, struct wio_tr_attr *attr)
{
    int limit = wio_os_fd_limit();
    if (limit > 0 && limit < DESCRIPTORS_MIN)
        return wio_fail(WAITIO_ERR_LIMIT,
                        "this process may open %d descriptors, messages through files want %d",
                        limit, DESCRIPTORS_MIN);
    attr->caps = WIO_CAP_EVENT_FD | WIO_CAP_BATCH;
    attr->latency_s = 2e-5;
    attr->bandwidth = 3e9;
    attr->chunk = (size_t)cfg->chunk;
    attr->eager_max = (size_t)cfg->eager_max;
    return 0;
}

static bool file_adapt(const struct wio_config *cfg, enum wio_distance d, struct wio_tr_attr *attr)
{
    (void)cfg;
    if (d != WIO_AT_HOST)
        attr->latency_s = 1e-3;
    return d != WIO_AT_SELF;
}

static enum wio_distance file_distance(struct wio_iface *iface, uint32_t peer)
{
    const struct wio_table *t = iface->table;
    bool same = t->host[t->ep[peer].host].identity == t->host[t->ep[t->me].host].identity;
    return same ? WIO_AT_HOST : WIO_AT_FAR;
}

static void release(struct file_iface *f)
{
    wio_os_close(f->events);
    wio_os_close(f->epoll);
    wio_os_close(f->svc_epoll);
    wio_os_close(f->kick);
    wio_pool_free(&f->batches);
    wio_os_free(f->stage);
    wio_os_free(f);
}

static int open_sets(struct file_iface *f)
{
    if ((f->epoll = wio_os_epoll_create()) < 0)
        return f->epoll;
    if ((f->svc_epoll = wio_os_epoll_create()) < 0)
        return f->svc_epoll;
    if ((f->kick = wio_os_eventfd()) < 0)
        return f->kick;
    f->events = wio_os_events_open(); /* without it, looking goes on */
    int rc = wio_os_epoll_ctl(f->epoll, EPOLL_CTL_ADD, f->kick, EPOLLIN, f);
    if (rc == 0 && f->events >= 0)
        rc = wio_os_epoll_ctl(f->epoll, EPOLL_CTL_ADD, f->events, EPOLLIN, f);
    if (rc == 0 && f->events >= 0)
        rc = wio_os_epoll_ctl(f->svc_epoll, EPOLL_CTL_ADD, f->events, EPOLLIN | EPOLLONESHOT, f);
    return rc;
}

static void init(struct file_iface *f, const struct wio_iface_params *p)
{
    f->base.tr = &wio_transport_file;
    f->base.p = *p;
    f->root = f->folder = f->alive = f->events = f->epoll = f->svc_epoll = f->kick = -1;
    f->limit = p->cfg->maxfile_size / (p->cfg->file_resume ? 2 : 1); /* half for journals */
    f->beat_ns = (int64_t)(p->cfg->file_heartbeat * 1e9);
    f->scan_gap = FILE_RETRY_NS;
    f->gap = FILE_GAP_MIN_NS;
    f->timer_at = f->poll_at[0] = f->poll_at[1] = INT64_MAX;
    struct wio_list *lists[] = {&f->links, &f->making, &f->ready,   &f->busy, &f->closing,
                                &f->out,   &f->news,   &f->watched, &f->done, &f->ghosts};
    for (size_t i = 0; i < WIO_ARRAY_LEN(lists); i++)
        wio_list_init(lists[i]);
    wio_pool_init(&f->batches, sizeof(struct file_batch), 1);
}

static int file_open(const struct wio_iface_params *p, struct wio_iface **iface)
{
    struct file_iface *f = wio_os_alloc(sizeof *f);
    if (f == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for messages through files");
    init(f, p);
    f->stage = wio_os_alloc(FILE_STAGE_BYTES);
    int rc = f->stage == NULL ? -ENOMEM : open_sets(f);
    if (rc < 0) {
        rc = wio_fail_os(WAITIO_ERR_SYSTEM, rc,
                         "cannot open messages through files (descriptor limit %d)",
                         wio_os_fd_limit());
        release(f);
        return rc;
    }
    *iface = &f->base;
    return 0;
}

/* Our folder is there before anybody knows of it. */
static int file_address(struct wio_iface *iface, struct wio_boot_offer *offer)
{
    struct file_iface *f = file_iface_of(iface);
    while (offer->ep.token == 0)
        if (wio_os_random(&offer->ep.token, sizeof offer->ep.token) < 0)
            offer->ep.token = wio_mix64((uint64_t)wio_os_now_ns() ^ (uint64_t)wio_os_pid());
    f->token = offer->ep.token;
    f->host = offer->host.identity != 0 ? offer->host.identity : wio_host_identity();
    int rc = wio_file_place_make(f);
    if (rc != 0)
        return rc;
    wio_file_joining(f);
    if (f->events >= 0 && wio_os_events_watch(f->events, f->folder, WIO_OS_EV_NAMES) < 0) {
        wio_os_close(f->events); /* which leaves the set */
        f->events = -1;
    }
    offer->ep.caps |= (uint16_t)(1u << WIO_TR_FILE);
    return 0;
}

static int file_start(struct wio_iface *iface, const struct wio_table *table)
{
    struct file_iface *f = file_iface_of(iface);
    iface->table = table;
    wio_file_joined(f);
    f->started = f->scan_due = true;
    wio_file_beat(f, wio_os_now_ns());
    file_timer(f, f->beat_at);
    if (table->me == 0 && !f->base.p.cfg->file_resume) /* the next life removes it */
        (void)wio_file_look_for_old(f);
    return 0;
}

static bool file_reachable(struct wio_iface *iface, uint32_t peer, char *why, size_t nwhy)
{
    const struct file_iface *f = file_iface_of(iface);
    const struct wio_table *t = iface->table;
    const char *text = NULL;
    if (t == NULL || peer >= t->size)
        text = t == NULL ? "not joined yet" : "no such rank";
    else if (peer == t->me)
        text = "myself";
    else if ((t->ep[peer].caps & (1u << WIO_TR_FILE)) == 0)
        text = "it does not offer files";
    wio_text(why, nwhy, "%s%s", text != NULL ? text : "files in ", text != NULL ? "" : f->path);
    return text == NULL;
}

static int file_connect(struct wio_iface *iface, uint32_t peer, struct wio_ep **ep)
{
    struct file_iface *f = file_iface_of(iface);
    char why[700];
    if (iface->table == NULL)
        return wio_fail(WAITIO_ERR_STATE, "the universe has not formed yet");
    struct file_link *l = peer < iface->table->size ? wio_file_link_find(f, peer) : NULL;
    if (l == NULL || l->ep.state >= WIO_EP_CLOSING) {
        if (!file_reachable(iface, peer, why, sizeof why))
            return wio_fail(WAITIO_ERR_NOROUTE, "no files in common with universe rank %u: %s",
                            peer, why);
        l = wio_file_link_new(f, peer);
        if (l == NULL)
            return wio_fail(WAITIO_ERR_NOMEM, "no memory for a link");
        f->in_connect = true;
        wio_file_begin(l);
        f->in_connect = false;
        if (l->state == FILE_OVER) { /* never told to p2p */
            int err = wio_fail(l->err, "%s", l->text != NULL ? l->text : "cannot connect");
            wio_file_link_free(l);
            return err;
        }
    }
    l->known = true;
    *ep = &l->ep;
    return 0;
}

static void file_watch(struct wio_ep *ep, bool on)
{
    struct file_link *l = file_link_of(ep);
    if (l->watched == on || l->state == FILE_OVER)
        return;
    wio_file_serve(l, on, l->leaving);
}

static void file_close(struct wio_ep *ep, enum wio_bye_reason reason)
{
    struct file_link *l = file_link_of(ep);
    if (l->state == FILE_OVER)
        return;
    if (reason > l->bye_reason)
        l->bye_reason = (uint8_t)reason;
    if (wio_bye_is_final(reason)) {
        wio_file_last_words(l, reason);
        wio_file_link_over(l, 0, "%s", wio_bye_reason_name(reason));
        return;
    }
    if (l->bye_wanted)
        return;
    l->bye_wanted = true;
    if (l->state == FILE_READY) {
        wio_file_set_state(l, FILE_DRAIN);
        wio_file_tell_leaving(l);
        (void)wio_file_tx_run(l);
    } else if (l->state < FILE_READY) {
        if (l->queued == 0 && l->state != FILE_SHAKE) {
            wio_file_link_over(l, 0, "%s", wio_bye_reason_name(reason));
        } else {
            l->ep.state = WIO_EP_CLOSING; /* connected first, then closed in order */
            wio_file_news(l);
        }
    }
}

static void file_ping(struct wio_ep *ep)
{
    struct file_link *l = file_link_of(ep);
    if (l->state < FILE_READY || l->state == FILE_OVER || l->ping_out || l->bye_sent)
        return;
    l->ping_out = l->ping_due = true;
    l->check_ns = 0; /* its sign of life may say more than it answers */
    file_timer(file_of(l), 0);
    wio_file_tx_wake(l);
}

static int64_t file_heard(const struct wio_ep *ep)
{
    return WIO_CONTAINER((void *)(uintptr_t)ep, struct file_link, ep)->heard_ns;
}

static void file_free_ep(struct wio_ep *ep)
{
    wio_file_link_free(file_link_of(ep));
}

static void file_close_iface(struct wio_iface *iface)
{
    struct file_iface *f = file_iface_of(iface);
    struct wio_list *it;
    while ((it = wio_list_first(&f->links)) != NULL)
        wio_file_link_free(WIO_CONTAINER(it, struct file_link, all));
    wio_file_joined(f);
    wio_file_place_drop(f);
    release(f);
}

/* The lock belongs to the open file that the parent has, too: closing ours does not give it back.
 */
static void file_after_fork(struct wio_iface *iface)
{
    struct file_iface *f = file_iface_of(iface);
    WIO_LIST_FOR(it, &f->links)
    {
        struct file_link *l = WIO_CONTAINER(it, struct file_link, all);
        int *fds[] = {&l->in.fd, &l->out.fd, &l->folder, &l->alive};
        for (size_t i = 0; i < WIO_ARRAY_LEN(fds); i++) {
            wio_os_close(*fds[i]);
            *fds[i] = -1;
        }
    }
    int *fds[] = {&f->root, &f->folder, &f->alive, &f->events, &f->epoll, &f->svc_epoll, &f->kick};
    for (size_t i = 0; i < WIO_ARRAY_LEN(fds); i++) {
        wio_os_close(*fds[i]);
        *fds[i] = -1;
    }
}

const struct wio_transport wio_transport_file = {
    .size = sizeof(struct wio_transport),
    .id = WIO_TR_FILE,
    .name = "file",
    .query = file_query,
    .adapt = file_adapt,
    .distance = file_distance,
    .open = file_open,
    .address = file_address,
    .start = file_start,
    .gather = wio_tr_no_gather,
    .settle = wio_tr_no_settle,
    .keep = wio_tr_no_keep,
    .let_go = wio_tr_no_let_go,
    .reachable = file_reachable,
    .connect = file_connect,
    .send = wio_file_send,
    .put = wio_tr_no_put,
    .lane = wio_tr_no_lane,
    .fetch = wio_tr_no_fetch,
    .recalls = wio_tr_no_recalls,
    .step_aside = wio_tr_no_step_aside,
    .is_aside = wio_tr_no_is_aside,
    .queued = wio_file_queued,
    .flush = wio_file_flush,
    .watch = file_watch,
    .progress = wio_file_progress,
    .progress_ep = wio_file_progress_ep,
    .event_fd = wio_file_event_fd,
    .arm = wio_file_arm,
    .needs_service = wio_file_needs_service,
    .next_timer_ns = wio_file_next_timer,
    .close = file_close,
    .ping = file_ping,
    .heard_ns = file_heard,
    .free_ep = file_free_ep,
    .close_iface = file_close_iface,
    .after_fork = file_after_fork,
    .dump = wio_file_dump,
};
