/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file check.c
 * The contract of transport.h, checked at run time from both sides: what p2p asks and what the
 * transport answers. The wrapped interface is the inner one with another operations table; the
 * context hides behind the upcalls' user pointer.
 */
#include <stdlib.h>

#include "os/os.h"
#include "transport/outside/outside.h"
#include "transport/wrap/wrap.h"

struct check {
    const struct wio_transport *inner;
    const struct wio_upcalls *up; /* p2p's */
    void *user;
    struct wio_log *log;
    bool inside;                  /* progress() is running: upcalls are allowed */
    const struct wio_sink *whole; /* its on_payload has to follow now; or NULL */
    uint64_t queued, done;
};

static struct check *check_of(const struct wio_iface *iface)
{
    return iface->p.user;
}

static void breach(const struct check *c, const char *what, const char *how)
{
    wio_error(c->log, WIO_C_TCP, "contract of transport %s broken: %s: %s", c->inner->name, what,
              how);
    abort();
}
#define DEMAND(c, cond, what)                                                                      \
    do {                                                                                           \
        if (WIO_UNLIKELY(!(cond)))                                                                 \
            breach(c, what, #cond);                                                                \
    } while (0)

/* ---- upcalls ---- */

static int up_message(void *user, struct wio_ep *ep, uint32_t peer,
                      const uint8_t msg[WIO_MSG_BYTES], uint32_t bytes, struct wio_sink *sink)
{
    struct check *c = user;
    DEMAND(c, c->inside, "on_message outside progress");
    DEMAND(c, c->whole == NULL, "on_message instead of on_payload of a whole one");
    DEMAND(c, ep->peer == peer, "on_message names another peer");
    DEMAND(c, ep->state == WIO_EP_READY || ep->state == WIO_EP_CLOSING,
           "on_message on a dead link");
    DEMAND(c, bytes <= WIO_PAYLOAD_MAX, "payload too large");
    int rc = c->up->on_message(c->user, ep, peer, msg, bytes, sink);
    if (rc == 0) {
        DEMAND(c, sink->len == 0 || sink->buf != NULL, "p2p gave a sink without a buffer");
        c->whole = sink->whole ? sink : NULL;
    }
    return rc;
}

static int up_payload(void *user, struct wio_ep *ep, uint32_t peer, struct wio_sink *sink)
{
    struct check *c = user;
    DEMAND(c, c->inside, "on_payload outside progress");
    DEMAND(c, ep->state != WIO_EP_CLOSED, "on_payload on a closed link");
    DEMAND(c, c->whole == NULL || c->whole == sink, "on_payload of another than the whole one");
    c->whole = NULL;
    return c->up->on_payload(c->user, ep, peer, sink);
}

static void up_abandon(void *user, uint32_t peer, struct wio_sink *sink)
{
    struct check *c = user;
    DEMAND(c, c->inside, "on_abandon outside progress");
    DEMAND(c, c->whole == NULL, "on_abandon of a whole one");
    c->up->on_abandon(c->user, peer, sink);
}

static void up_state(void *user, struct wio_ep *ep, uint32_t peer, enum wio_ep_state state, int err,
                     enum wio_bye_reason reason, const char *text)
{
    struct check *c = user;
    DEMAND(c, c->inside, "on_state outside progress");
    DEMAND(c, text != NULL, "on_state without a text");
    DEMAND(c, state == WIO_EP_CLOSED || err == 0, "an error on a link that lives");
    DEMAND(c, ep->state == state, "ep->state differs from the state told");
    DEMAND(c, c->whole == NULL, "on_state instead of on_payload of a whole one");
    c->up->on_state(c->user, ep, peer, state, err, reason, text);
}

static bool up_may_close(void *user, struct wio_ep *ep, uint32_t peer)
{
    struct check *c = user;
    return c->up->on_may_close(c->user, ep, peer);
}

static enum wio_whole up_whole(void *user, struct wio_ep *ep, const uint8_t msg[WIO_MSG_BYTES],
                               const void *payload, uint32_t bytes)
{
    struct check *c = user;
    DEMAND(c, c->inside, "on_whole outside progress");
    DEMAND(c, ep->state != WIO_EP_CLOSED, "on_whole on a closed link");
    DEMAND(c, c->whole == NULL, "on_whole instead of on_payload of a whole one");
    DEMAND(c, bytes == 0 || payload != NULL, "on_whole without its payload");
    return c->up->on_whole == NULL ? WIO_WHOLE_LEFT
                                   : c->up->on_whole(c->user, ep, msg, payload, bytes);
}

static void up_ending(void *user)
{
    struct check *c = user;
    DEMAND(c, !c->inside, "on_ending inside progress");
    if (c->up->on_ending != NULL)
        c->up->on_ending(c->user);
}

static const struct wio_upcalls check_upcalls = {
    .on_message = up_message,
    .on_payload = up_payload,
    .on_whole = up_whole,
    .on_abandon = up_abandon,
    .on_state = up_state,
    .on_may_close = up_may_close,
    .on_ending = up_ending,
};

/* ---- calls with something to check ---- */

static int check_open(const struct wio_transport *self, const struct wio_transport *inner,
                      const struct wio_iface_params *p, struct wio_iface **iface)
{
    struct check *c = wio_os_alloc(sizeof *c);
    if (c == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for WAITIO_WRAP=check");
    c->inner = inner;
    c->up = p->up;
    c->user = p->user;
    c->log = p->log;
    struct wio_iface_params mine = *p;
    mine.up = &check_upcalls;
    mine.user = c;
    int rc = inner->open(&mine, iface);
    if (rc < 0) {
        wio_os_free(c);
        return rc;
    }
    (*iface)->tr = self;
    return 0;
}

static int check_start(struct wio_iface *iface, const struct wio_table *table)
{
    struct check *c = check_of(iface);
    DEMAND(c, iface->table == NULL, "start() twice");
    return c->inner->start(iface, table);
}

static int check_connect(struct wio_iface *iface, uint32_t peer, struct wio_ep **ep)
{
    struct check *c = check_of(iface);
    DEMAND(c, iface->table != NULL, "connect() before start()");
    int rc = c->inner->connect(iface, peer, ep);
    if (rc == 0) {
        DEMAND(c, *ep != NULL && (*ep)->peer == peer, "connect() gave another peer's link");
        DEMAND(c, (*ep)->state < WIO_EP_CLOSING, "connect() gave a dying link");
    }
    return rc;
}

static int check_lane(struct wio_ep *ep, unsigned lane, struct wio_ep **beside)
{
    struct check *c = check_of(ep->iface);
    DEMAND(c, ep->lane == 0 && lane > 0 && lane < WIO_LANES, "lane() beside a lane, or no lane");
    int rc = c->inner->lane(ep, lane, beside);
    if (rc == 0)
        DEMAND(c, (*beside)->peer == ep->peer && (*beside)->lane == lane, "lane() gave another");
    return rc;
}

static int check_send(struct wio_ep *ep, struct wio_tx *tx)
{
    struct check *c = check_of(ep->iface);
    DEMAND(c, tx->bytes <= WIO_PAYLOAD_MAX, "payload too large");
    DEMAND(c, tx->bytes == 0 || tx->payload != NULL, "payload missing");
    DEMAND(c, tx->done != NULL, "done() missing");
    DEMAND(c, !wio_list_linked(&tx->node), "tx is queued already");
    int rc = c->inner->send(ep, tx);
    DEMAND(c, rc <= WIO_TX_QUEUED, "unknown result");
    DEMAND(c, rc != WIO_TX_DONE || !wio_list_linked(&tx->node), "DONE, but kept");
    return rc;
}

static bool check_put(struct wio_ep *ep, const struct wio_msg *msg, const void *payload,
                      uint32_t bytes)
{
    struct check *c = check_of(ep->iface);
    DEMAND(c, bytes <= WIO_PAYLOAD_MAX, "payload too large");
    DEMAND(c, bytes == 0 || payload != NULL, "payload missing");
    bool taken = c->inner->put(ep, msg, payload, bytes);
    /* p2p may ask: it hears of a link that closes only when it drives the transport again */
    DEMAND(c, !taken || ep->state == WIO_EP_READY, "put() took a message on a link not ready");
    return taken;
}

static int check_progress(struct wio_iface *iface, enum wio_progress_how how)
{
    struct check *c = check_of(iface);
    DEMAND(c, !c->inside, "progress() from an upcall");
    c->inside = true;
    int rc = c->inner->progress(iface, how);
    c->inside = false;
    return rc;
}

static int check_progress_ep(struct wio_ep *ep)
{
    struct check *c = check_of(ep->iface);
    DEMAND(c, !c->inside, "progress_ep() from an upcall");
    DEMAND(c, ep->state != WIO_EP_CLOSED, "progress_ep() on a closed link");
    c->inside = true;
    int rc = c->inner->progress_ep(ep);
    c->inside = false;
    return rc;
}

static void check_close(struct wio_ep *ep, enum wio_bye_reason reason)
{
    struct check *c = check_of(ep->iface);
    DEMAND(c, !c->inside, "close() from an upcall");
    DEMAND(c, reason != WIO_BYE_NONE, "close() without a reason");
    c->inner->close(ep, reason);
    DEMAND(c, ep->state >= WIO_EP_CLOSING, "the link stays open after close()");
}

static void check_free_ep(struct wio_ep *ep)
{
    struct check *c = check_of(ep->iface);
    DEMAND(c, !c->inside, "free_ep() from an upcall");
    c->inner->free_ep(ep);
}

static void check_close_iface(struct wio_iface *iface)
{
    struct check *c = check_of(iface);
    DEMAND(c, !c->inside, "close_iface() from an upcall");
    c->inner->close_iface(iface);
    wio_os_free(c);
}

/* ---- calls passed through ---- */

static int check_address(struct wio_iface *iface, struct wio_boot_offer *offer)
{
    return check_of(iface)->inner->address(iface, offer);
}

static int check_gather(struct wio_iface *iface, struct waitio_gathering *g)
{
    return check_of(iface)->inner->gather(iface, g);
}

static void check_settle(struct wio_iface *iface, struct wio_tr_attr *attr)
{
    check_of(iface)->inner->settle(iface, attr);
}

static bool check_reachable(struct wio_iface *iface, uint32_t peer, char *why, size_t nwhy)
{
    return check_of(iface)->inner->reachable(iface, peer, why, nwhy);
}

static bool check_keep(struct wio_ep *ep, struct wio_tx *tx)
{
    return check_of(ep->iface)->inner->keep(ep, tx);
}

static void check_let_go(struct wio_ep *ep, const struct wio_tx *tx)
{
    check_of(ep->iface)->inner->let_go(ep, tx);
}

static size_t check_queued(const struct wio_ep *ep)
{
    return check_of(ep->iface)->inner->queued(ep);
}

static void check_flush(struct wio_iface *iface)
{
    check_of(iface)->inner->flush(iface);
}

static void check_watch(struct wio_ep *ep, bool on)
{
    check_of(ep->iface)->inner->watch(ep, on);
}

static int check_event_fd(struct wio_iface *iface, enum wio_progress_how how)
{
    return check_of(iface)->inner->event_fd(iface, how);
}

static int check_arm(struct wio_iface *iface, enum wio_progress_how how)
{
    return check_of(iface)->inner->arm(iface, how);
}

static bool check_needs_service(struct wio_iface *iface)
{
    return check_of(iface)->inner->needs_service(iface);
}

static int64_t check_next_timer_ns(struct wio_iface *iface, enum wio_progress_how how)
{
    return check_of(iface)->inner->next_timer_ns(iface, how);
}

static void check_ping(struct wio_ep *ep)
{
    check_of(ep->iface)->inner->ping(ep);
}

static int64_t check_heard_ns(const struct wio_ep *ep)
{
    return check_of(ep->iface)->inner->heard_ns(ep);
}

static void check_after_fork(struct wio_iface *iface)
{
    check_of(iface)->inner->after_fork(iface);
}

static void check_dump(struct wio_iface *iface, struct wio_ep *ep, struct wio_strbuf *out)
{
    check_of(iface)->inner->dump(iface, ep, out);
}

static enum wio_distance check_distance(struct wio_iface *iface, uint32_t peer)
{
    return check_of(iface)->inner->distance(iface, peer);
}

/* ---- one table per transport: open() and query() have nothing to find the inner one by ---- */

#define SLOTS                                                                                      \
    .start = check_start, .gather = check_gather, .settle = check_settle, .keep = check_keep,      \
    .let_go = check_let_go, .connect = check_connect, .lane = check_lane, .send = check_send,      \
    .put = check_put, .fetch = wio_tr_no_fetch, .step_aside = wio_tr_no_step_aside,                \
    .is_aside = wio_tr_no_is_aside, .recalls = wio_tr_no_recalls, .progress = check_progress,      \
    .progress_ep = check_progress_ep, .close = check_close, .free_ep = check_free_ep,              \
    .close_iface = check_close_iface, .address = check_address, .reachable = check_reachable,      \
    .queued = check_queued, .flush = check_flush, .watch = check_watch,                            \
    .event_fd = check_event_fd, .arm = check_arm, .needs_service = check_needs_service,            \
    .next_timer_ns = check_next_timer_ns, .ping = check_ping, .heard_ns = check_heard_ns,          \
    .after_fork = check_after_fork, .distance = check_distance, .dump = check_dump

#define CHECKED(which, number, wrapped)                                                            \
    static int query_##which(const struct wio_config *cfg, struct wio_tr_attr *attr)               \
    {                                                                                              \
        return (wrapped)->query(cfg, attr);                                                        \
    }                                                                                              \
    static bool adapt_##which(const struct wio_config *cfg, enum wio_distance d,                   \
                              struct wio_tr_attr *attr)                                            \
    {                                                                                              \
        return (wrapped)->adapt(cfg, d, attr);                                                     \
    }                                                                                              \
    static int open_##which(const struct wio_iface_params *p, struct wio_iface **iface);           \
    static const struct wio_transport check_##which = {.size = sizeof(struct wio_transport),       \
                                                       .id = (number),                             \
                                                       .name = #which,                             \
                                                       .query = query_##which,                     \
                                                       .adapt = adapt_##which,                     \
                                                       .open = open_##which,                       \
                                                       SLOTS};                                     \
    static int open_##which(const struct wio_iface_params *p, struct wio_iface **iface)            \
    {                                                                                              \
        return check_open(&check_##which, (wrapped), p, iface);                                    \
    }

CHECKED(self, WIO_TR_SELF, &wio_transport_self)
CHECKED(tcp, WIO_TR_TCP, &wio_transport_tcp)
CHECKED(shm, WIO_TR_SHM, &wio_transport_shm)
CHECKED(file, WIO_TR_FILE, &wio_transport_file)
CHECKED(mpi, WIO_TR_OUTSIDE, wio_outside_transport(WIO_TR_OUTSIDE))
CHECKED(ofi, WIO_TR_OUTSIDE + 1, wio_outside_transport(WIO_TR_OUTSIDE + 1))
CHECKED(ucx, WIO_TR_OUTSIDE + 2, wio_outside_transport(WIO_TR_OUTSIDE + 2))
CHECKED(other, WIO_TR_OUTSIDE + 3, wio_outside_transport(WIO_TR_OUTSIDE + 3))

const struct wio_transport *wio_wrap_check(enum wio_transport_id id)
{
    static const struct wio_transport *const tables[WIO_TR_COUNT] = {
        [WIO_TR_SELF] = &check_self,       [WIO_TR_TCP] = &check_tcp,
        [WIO_TR_SHM] = &check_shm,         [WIO_TR_FILE] = &check_file,
        [WIO_TR_OUTSIDE] = &check_mpi,     [WIO_TR_OUTSIDE + 1] = &check_ofi,
        [WIO_TR_OUTSIDE + 2] = &check_ucx, [WIO_TR_OUTSIDE + 3] = &check_other};
    return id < WIO_TR_COUNT ? tables[id] : NULL;
}
