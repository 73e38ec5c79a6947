/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file self.c
 * Messages of a process to itself: small ones are copied, larger ones stay in the sender's buffer
 * until progress() delivers them. The link is ready at once and has only one end.
 */
#include "os/os.h"
#include "transport/transport.h"

#define COPY_MAX 1024u

struct self_iface;

struct self_copy {
    struct wio_tx tx; /* first */
    struct self_iface *owner;
    uint8_t data[COPY_MAX];
};

struct self_ep {
    struct wio_ep ep;
    bool told_ready, closing, told_closed;
    int err; /* why it ends, 0 = in order */
    char why[160];
    uint8_t reason;
    struct wio_list small, bulk;
    size_t queued, copied; /* bytes under way; of these: whose done() p2p does not hear */
};

struct self_iface {
    struct wio_iface base;
    int event;
    bool armed;
    struct self_ep *link;
    struct wio_pool copies;
    bool watched;
};

static struct self_iface *iface_of(struct wio_iface *i)
{
    return WIO_CONTAINER(i, struct self_iface, base);
}

static struct self_ep *ep_of(struct wio_ep *e)
{
    return WIO_CONTAINER(e, struct self_ep, ep);
}

static int self_query(const struct wio_config *cfg, struct wio_tr_attr *attr)
{
    (void)cfg;
    attr->caps = WIO_CAP_SAME_HOST | WIO_CAP_EVENT_FD | WIO_CAP_MEMORY;
    attr->latency_s = 1e-7;
    attr->bandwidth = 1e10;
    attr->chunk = WIO_PAYLOAD_MAX;
    attr->eager_max = WIO_PAYLOAD_MAX;
    return 0;
}

static bool self_adapt(const struct wio_config *cfg, enum wio_distance d, struct wio_tr_attr *attr)
{
    (void)cfg;
    (void)attr;
    return d == WIO_AT_SELF;
}

static enum wio_distance self_distance(struct wio_iface *iface, uint32_t peer)
{
    (void)iface;
    (void)peer;
    return WIO_AT_SELF;
}

static int self_open(const struct wio_iface_params *p, struct wio_iface **iface)
{
    struct self_iface *f = wio_os_alloc(sizeof *f);
    if (f == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for messages to oneself");
    f->base.tr = &wio_transport_self;
    f->base.p = *p;
    f->event = wio_os_eventfd();
    if (f->event < 0) {
        int rc = wio_fail_os(WAITIO_ERR_SYSTEM, f->event, "eventfd (descriptor limit %d)",
                             wio_os_fd_limit());
        wio_os_free(f);
        return rc;
    }
    wio_pool_init(&f->copies, sizeof(struct self_copy), 16);
    *iface = &f->base;
    return 0;
}

static int self_address(struct wio_iface *iface, struct wio_boot_offer *offer)
{
    (void)iface;
    offer->ep.caps |= (uint16_t)(1u << WIO_TR_SELF);
    return 0;
}

static int self_start(struct wio_iface *iface, const struct wio_table *table)
{
    iface->table = table;
    return 0;
}

static bool self_reachable(struct wio_iface *iface, uint32_t peer, char *why, size_t nwhy)
{
    bool me = iface->table != NULL && peer == iface->table->me;
    wio_text(why, nwhy, me ? "myself" : "another process");
    return me;
}

/* There is something to deliver: wake sleeping threads. */
static void wake(struct self_iface *f)
{
    if (f->armed) {
        f->armed = false;
        wio_os_eventfd_set(f->event);
    }
}

static int self_connect(struct wio_iface *iface, uint32_t peer, struct wio_ep **ep)
{
    struct self_iface *f = iface_of(iface);
    char why[64];
    if (!self_reachable(iface, peer, why, sizeof why))
        return wio_fail(WAITIO_ERR_NOROUTE, "universe rank %u is not myself", peer);
    if (f->link == NULL || f->link->ep.state >= WIO_EP_CLOSING) {
        struct self_ep *l = wio_os_alloc(sizeof *l);
        if (l == NULL)
            return wio_fail(WAITIO_ERR_NOMEM, "no memory for messages to oneself");
        if (f->link != NULL) { /* only p2p holds the old one now; it had nothing left to deliver */
            wio_os_free(l);
            return wio_fail(WAITIO_ERR_BUSY, "link to myself is closing");
        }
        l->ep.iface = iface;
        l->ep.peer = peer;
        l->ep.state = WIO_EP_READY;
        wio_list_init(&l->small);
        wio_list_init(&l->bulk);
        f->link = l;
        wake(f);
    }
    *ep = &f->link->ep;
    return 0;
}

static bool has_work(const struct self_ep *l)
{
    return l != NULL && (!wio_list_empty(&l->small) || !wio_list_empty(&l->bulk) ||
                         !l->told_ready || (l->closing && !l->told_closed));
}

static void copy_done(struct wio_tx *tx, int err)
{
    struct self_copy *c = WIO_CONTAINER(tx, struct self_copy, tx);
    (void)err;
    wio_pool_put(&c->owner->copies, c);
}

static void count(struct self_ep *l, const struct wio_tx *tx, bool more)
{
    size_t n = tx->bytes + WIO_HDR_BYTES;
    l->queued += more ? n : -n;
    if (tx->done == copy_done)
        l->copied += more ? n : -n;
}

static int self_send(struct wio_ep *ep, struct wio_tx *tx)
{
    struct self_ep *l = ep_of(ep);
    struct self_iface *f = iface_of(ep->iface);
    if (ep->state >= WIO_EP_CLOSING)
        return wio_fail(WAITIO_ERR_BUSY, "link to myself is closing");
    bool small = (tx->flags & WIO_TX_SMALL) != 0;
    struct self_copy *c = tx->bytes <= COPY_MAX ? wio_pool_get(&f->copies) : NULL;
    if (c != NULL) {
        memcpy(c->tx.msg, tx->msg, WIO_MSG_BYTES);
        c->tx.bytes = tx->bytes;
        c->tx.flags = tx->flags;
        c->tx.payload = c->data;
        c->tx.done = copy_done;
        if (tx->bytes > 0)
            wio_os_copy(c->data, tx->payload, tx->bytes);
        c->owner = f;
        tx = &c->tx;
    }
    wio_list_push(small ? &l->small : &l->bulk, &tx->node);
    count(l, tx, true);
    wake(f);
    return c != NULL ? WIO_TX_DONE : WIO_TX_QUEUED;
}

static size_t self_queued(const struct wio_ep *ep)
{
    const struct self_ep *l = (const struct self_ep *)(const void *)ep;
    return l->queued - l->copied;
}

static void self_watch(struct wio_ep *ep, bool on)
{
    iface_of(ep->iface)->watched = on;
}

/* Return everything still queued, as not delivered. */
static void give_back(struct self_ep *l, int err)
{
    struct wio_list *it;
    while ((it = wio_list_pop(&l->small)) != NULL || (it = wio_list_pop(&l->bulk)) != NULL) {
        struct wio_tx *tx = WIO_CONTAINER(it, struct wio_tx, node);
        count(l, tx, false);
        tx->done(tx, err);
    }
}

/* Deliver one message. p2p refuses a message when it has no memory for it. Later messages must not
 * overtake it, so the link ends, like a link to another process. @return whether p2p wants to stop
 */
static int deliver(struct self_iface *f, struct self_ep *l, struct wio_tx *tx)
{
    const struct wio_upcalls *up = f->base.p.up;
    struct wio_sink sink = {0};
    int stop = up->on_message(f->base.p.user, &l->ep, l->ep.peer, tx->msg, tx->bytes, &sink);
    if (stop > 0) { /* not now */
        wio_list_push_front(tx->flags & WIO_TX_SMALL ? &l->small : &l->bulk, &tx->node);
        return stop;
    }
    if (stop < 0) {
        l->err = stop;
        wio_text(l->why, sizeof l->why, "%s", wio_last_detail());
        count(l, tx, false);
        tx->done(tx, stop);
        give_back(l, stop);
        l->closing = true;
        l->reason = wio_bye_for(stop);
        l->ep.state = WIO_EP_CLOSING;
        return 0;
    }
    size_t n = tx->bytes < sink.len ? tx->bytes : sink.len;
    if (n > 0)
        wio_os_copy(sink.buf, tx->payload, n);
    stop = up->on_payload(f->base.p.user, &l->ep, l->ep.peer, &sink);
    count(l, tx, false);
    tx->done(tx, 0);
    return stop;
}

static void tell_state(struct self_iface *f, struct self_ep *l, enum wio_ep_state s)
{
    l->ep.state = (uint8_t)s;
    const char *text = s == WIO_EP_READY ? "connected"
                       : l->err != 0     ? l->why
                                         : wio_bye_reason_name(l->reason);
    f->base.p.up->on_state(f->base.p.user, &l->ep, l->ep.peer, s, l->err,
                           (enum wio_bye_reason)l->reason, text);
}

static int self_progress(struct wio_iface *iface, enum wio_progress_how how)
{
    struct self_iface *f = iface_of(iface);
    struct self_ep *l = f->link;
    int n = 0, stop = 0;
    if (l == NULL || (how == WIO_PROGRESS_SERVICE && !f->watched && !l->closing))
        return 0;
    if (!l->told_ready) {
        l->told_ready = true;
        n++;
        if (!l->closing)
            tell_state(f, l, WIO_EP_READY);
    }
    while (stop == 0) {
        struct wio_list *it = wio_list_pop(&l->small);
        if (it == NULL)
            it = wio_list_pop(&l->bulk);
        if (it == NULL)
            break;
        stop = deliver(f, l, WIO_CONTAINER(it, struct wio_tx, node));
        n++;
    }
    if (stop == 0 && l->closing && !l->told_closed) {
        l->told_closed = true;
        f->link = NULL;
        n++;
        tell_state(f, l, WIO_EP_CLOSED);
    }
    return n;
}

static int self_progress_ep(struct wio_ep *ep)
{
    return self_progress(ep->iface, WIO_PROGRESS_FULL);
}

static int self_event_fd(struct wio_iface *iface, enum wio_progress_how how)
{
    return how == WIO_PROGRESS_FULL ? iface_of(iface)->event : -1;
}

static int self_arm(struct wio_iface *iface, enum wio_progress_how how)
{
    struct self_iface *f = iface_of(iface);
    if (how == WIO_PROGRESS_SERVICE)
        return has_work(f->link) && (f->watched || f->link->closing);
    if (has_work(f->link))
        return 1;
    wio_os_eventfd_clear(f->event);
    f->armed = true;
    return 0;
}

static bool self_needs_service(struct wio_iface *iface)
{
    struct self_iface *f = iface_of(iface);
    return has_work(f->link) && (f->watched || f->link->closing);
}

static void self_close(struct wio_ep *ep, enum wio_bye_reason reason)
{
    struct self_ep *l = ep_of(ep);
    if (l->closing)
        return;
    l->closing = true;
    l->reason = (uint8_t)reason;
    ep->state = WIO_EP_CLOSING;
    wake(iface_of(ep->iface));
}

static void drop_copies(struct self_iface *f, struct wio_list *q)
{
    struct wio_list *it;
    while ((it = wio_list_pop(q)) != NULL) {
        struct wio_tx *tx = WIO_CONTAINER(it, struct wio_tx, node);
        if (tx->done == copy_done)
            wio_pool_put(&f->copies, WIO_CONTAINER(tx, struct self_copy, tx));
    }
}

static void self_free_ep(struct wio_ep *ep)
{
    struct self_iface *f = iface_of(ep->iface);
    struct self_ep *l = ep_of(ep);
    drop_copies(f, &l->small);
    drop_copies(f, &l->bulk);
    if (f->link == l)
        f->link = NULL;
    wio_os_free(l);
}

static void self_close_iface(struct wio_iface *iface)
{
    struct self_iface *f = iface_of(iface);
    if (f->link != NULL)
        self_free_ep(&f->link->ep);
    wio_pool_free(&f->copies);
    wio_os_close(f->event);
    wio_os_free(f);
}

static void self_after_fork(struct wio_iface *iface)
{
    struct self_iface *f = iface_of(iface);
    wio_os_close(f->event);
    f->event = -1;
    f->armed = false;
}

static void self_dump(struct wio_iface *iface, struct wio_ep *ep, struct wio_strbuf *out)
{
    const struct self_ep *l = ep != NULL ? ep_of(ep) : iface_of(iface)->link;
    wio_strbuf_add(out, "self: %zu bytes waiting for a receive call\n", l != NULL ? l->queued : 0);
}

const struct wio_transport wio_transport_self = {
    .size = sizeof(struct wio_transport),
    .id = WIO_TR_SELF,
    .name = "self",
    .query = self_query,
    .adapt = self_adapt,
    .distance = self_distance,
    .open = self_open,
    .address = self_address,
    .start = self_start,
    .gather = wio_tr_no_gather,
    .settle = wio_tr_no_settle,
    .keep = wio_tr_no_keep,
    .let_go = wio_tr_no_let_go,
    .reachable = self_reachable,
    .connect = self_connect,
    .send = self_send,
    .put = wio_tr_no_put,
    .lane = wio_tr_no_lane,
    .fetch = wio_tr_no_fetch,
    .recalls = wio_tr_no_recalls,
    .step_aside = wio_tr_no_step_aside,
    .is_aside = wio_tr_no_is_aside,
    .queued = self_queued,
    .flush = wio_tr_no_flush,
    .watch = self_watch,
    .progress = self_progress,
    .progress_ep = self_progress_ep,
    .event_fd = self_event_fd,
    .arm = self_arm,
    .needs_service = self_needs_service,
    .next_timer_ns = wio_tr_no_timer,
    .close = self_close,
    .ping = wio_tr_no_ping,
    .heard_ns = wio_tr_no_heard,
    .free_ep = self_free_ep,
    .close_iface = self_close_iface,
    .after_fork = self_after_fork,
    .dump = self_dump,
};
