/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file adapter.c
 * A transport of an outside library as p2p sees transports. Structs of waitio_transport.h and ours
 * differ on purpose: ours may change, those may not.
 */
#include "boot/gathered.h"
#include "os/os.h"
#include "transport/outside/outside.h"

_Static_assert(WAITIO_TRANSPORT_HEADER == WIO_MSG_BYTES &&
                   WAITIO_TRANSPORT_PAYLOAD == WIO_PAYLOAD_MAX,
               "version 1 of the interface carries messages of these sizes");
_Static_assert(WAITIO_NO_NUMBER == WIO_NO_NUMBER, "members without a number are the same to both");
_Static_assert((int)WAITIO_TX_SMALL == (int)WIO_TX_SMALL &&
                   (int)WAITIO_TX_BATCH == (int)WIO_TX_BATCH &&
                   (int)WAITIO_AT_FAR == (int)WIO_AT_FAR,
               "flags and distances of the interface are ours");

static struct outside_ep *ep_of(struct wio_ep *e)
{
    return WIO_CONTAINER(e, struct outside_ep, ep);
}

struct outside_ep *wio_outside_ep(struct outside_iface *f, struct waitio_link *link)
{
    struct outside_ep *e = wio_os_alloc(sizeof *e);
    if (e == NULL)
        return NULL;
    e->ep.iface = &f->base;
    e->ep.peer = link->peer;
    e->ep.state = (uint8_t)link->state;
    e->link = link;
    link->core = e;
    wio_list_push(&f->eps, &e->node);
    f->base.p.counters->peer_bytes += sizeof *e;
    return e;
}

static void sync_state(struct outside_ep *e)
{
    e->ep.state = (uint8_t)e->link->state;
}

/* ---- costs ---- */

static void costs_in(const struct waitio_costs *c, struct wio_tr_attr *a)
{
    static const struct {
        uint32_t theirs, ours;
    } flags[] = {{WAITIO_TRANSPORT_SAME_HOST, WIO_CAP_SAME_HOST},
                 {WAITIO_TRANSPORT_EVENT_FD, WIO_CAP_EVENT_FD},
                 {WAITIO_TRANSPORT_BATCH, WIO_CAP_BATCH},
                 {WAITIO_TRANSPORT_POLLS, WIO_CAP_MEMORY},
                 {WAITIO_TRANSPORT_CALLS_ONLY, WIO_CAP_CALLS_ONLY},
                 {WAITIO_TRANSPORT_PARTIAL, WIO_CAP_PARTIAL},
                 {WAITIO_TRANSPORT_MUTE, WIO_CAP_MUTE}};
    a->caps = WIO_CAP_PINS;
    for (size_t i = 0; i < WIO_ARRAY_LEN(flags); i++)
        if ((c->flags & flags[i].theirs) != 0)
            a->caps |= flags[i].ours;
    a->latency_s = c->latency_s;
    a->bandwidth = c->bandwidth;
    a->chunk = (size_t)c->piece;
    a->eager_max = (size_t)c->eager_max;
    a->first_grant = (size_t)c->first_grant;
}

static void costs_out(const struct wio_tr_attr *a, struct waitio_costs *c)
{
    *c = (struct waitio_costs){.latency_s = a->latency_s,
                               .bandwidth = a->bandwidth,
                               .piece = a->chunk,
                               .eager_max = a->eager_max,
                               .first_grant = a->first_grant};
}

static int query(unsigned place, const struct wio_config *cfg, struct wio_tr_attr *attr)
{
    struct waitio_costs c = {0};
    (void)cfg;
    int rc = wio_outside_at(place)->query(&wio_outside_host, &c);
    if (rc == 0)
        costs_in(&c, attr);
    return rc;
}

static bool adapt(unsigned place, const struct wio_config *cfg, enum wio_distance d,
                  struct wio_tr_attr *attr)
{
    struct waitio_costs c;
    (void)cfg;
    costs_out(attr, &c);
    if (wio_outside_at(place)->adapt((int)d, &c) == 0)
        return false;
    uint32_t caps = attr->caps;
    costs_in(&c, attr);
    attr->caps = caps;
    return true;
}

/* ---- the interface ---- */

static int open_at(unsigned place, const struct wio_transport *self,
                   const struct wio_iface_params *p, struct wio_iface **iface)
{
    const struct waitio_transport *t = wio_outside_at(place);
    struct outside_iface *f = wio_os_alloc(sizeof *f);
    if (f == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for transport %s", t->name);
    f->base.tr = self;
    f->base.p = *p;
    f->t = t;
    wio_list_init(&f->eps);
    f->open = (struct waitio_open_params){.size = sizeof f->open,
                                          .host = &wio_outside_host,
                                          .up = &wio_outside_upcalls,
                                          .user = f,
                                          .core = f};
    int rc = t->open(&f->open, &f->in);
    if (rc != 0) {
        wio_os_free(f);
        return rc;
    }
    *iface = &f->base;
    return 0;
}

static int outside_address(struct wio_iface *iface, struct wio_boot_offer *offer)
{
    offer->ep.caps |= (uint16_t)(1u << iface->tr->id);
    return 0;
}

static int outside_start(struct wio_iface *iface, const struct wio_table *table)
{
    struct outside_iface *f = outside_iface_of(iface);
    struct waitio_members m = {.size = sizeof m,
                               .me = table->me,
                               .count = table->size,
                               .number = f->gathered ? table->number : NULL};
    int rc = f->t->start(f->in, &m);
    if (rc == 0)
        iface->table = table;
    return rc;
}

static void outside_settle(struct wio_iface *iface, struct wio_tr_attr *attr)
{
    struct outside_iface *f = outside_iface_of(iface);
    struct waitio_costs c;
    costs_out(attr, &c);
    f->t->costs(f->in, &c);
    costs_in(&c, attr);
}

static bool outside_reachable(struct wio_iface *iface, uint32_t peer, char *why, size_t nwhy)
{
    struct outside_iface *f = outside_iface_of(iface);
    return f->t->reachable(f->in, peer, why, nwhy) != 0;
}

static enum wio_distance outside_distance(struct wio_iface *iface, uint32_t peer)
{
    struct outside_iface *f = outside_iface_of(iface);
    int d = f->t->distance(f->in, peer);
    return d >= 0 && d < WIO_DISTANCES ? (enum wio_distance)d : WIO_AT_FAR;
}

static void outside_flush(struct wio_iface *iface)
{
    struct outside_iface *f = outside_iface_of(iface);
    if (f->t->flush != NULL)
        f->t->flush(f->in);
}

static int outside_progress(struct wio_iface *iface, enum wio_progress_how how)
{
    struct outside_iface *f = outside_iface_of(iface);
    return f->t->progress(f->in, how == WIO_PROGRESS_SERVICE);
}

static int outside_event_fd(struct wio_iface *iface, enum wio_progress_how how)
{
    struct outside_iface *f = outside_iface_of(iface);
    return f->t->event_fd == NULL ? -1 : f->t->event_fd(f->in, how == WIO_PROGRESS_SERVICE);
}

static int outside_arm(struct wio_iface *iface, enum wio_progress_how how)
{
    struct outside_iface *f = outside_iface_of(iface);
    return f->t->arm == NULL ? 0 : f->t->arm(f->in, how == WIO_PROGRESS_SERVICE);
}

static bool outside_needs_service(struct wio_iface *iface)
{
    struct outside_iface *f = outside_iface_of(iface);
    return f->t->needs_service != NULL && f->t->needs_service(f->in) != 0;
}

static int64_t outside_next_timer_ns(struct wio_iface *iface, enum wio_progress_how how)
{
    (void)how;
    struct outside_iface *f = outside_iface_of(iface);
    return f->t->next_look_ns(f->in);
}

static void forget(struct outside_iface *f, struct outside_ep *e)
{
    f->base.p.counters->peer_bytes -= sizeof *e;
    f->base.p.counters->links -= e->open;
    wio_list_remove(&e->node);
    wio_os_free(e);
}

static void outside_close_iface(struct wio_iface *iface)
{
    struct outside_iface *f = outside_iface_of(iface);
    f->t->close_iface(f->in);
    WIO_LIST_FOR_SAFE(it, next, &f->eps)
    {
        forget(f, WIO_CONTAINER(it, struct outside_ep, node));
    }
    wio_os_free(f);
}

static void outside_after_fork(struct wio_iface *iface)
{
    struct outside_iface *f = outside_iface_of(iface);
    if (f->t->after_fork != NULL)
        f->t->after_fork(f->in);
}

static void outside_dump(struct wio_iface *iface, struct wio_ep *ep, struct wio_strbuf *out)
{
    struct outside_iface *f = outside_iface_of(iface);
    char text[512] = "";
    (void)f->t->dump(f->in, ep != NULL ? ep_of(ep)->link : NULL, text, sizeof text);
    wio_strbuf_add(out, "%s: %s\n", f->t->name, text);
}

/* ---- links ---- */

static int outside_connect(struct wio_iface *iface, uint32_t peer, struct wio_ep **ep)
{
    struct outside_iface *f = outside_iface_of(iface);
    struct waitio_link *link = NULL;
    int rc = f->t->connect(f->in, peer, &link);
    if (rc != 0)
        return rc;
    struct outside_ep *e = link->core != NULL ? link->core : wio_outside_ep(f, link);
    if (e == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for a link");
    sync_state(e);
    *ep = &e->ep;
    return 0;
}

static void count(struct outside_iface *f, uint32_t bytes)
{
    f->base.p.counters->outside_msgs++;
    f->base.p.counters->outside_bytes += bytes;
}

static int outside_send(struct wio_ep *ep, struct wio_tx *tx)
{
    struct outside_ep *e = ep_of(ep);
    struct outside_iface *f = outside_iface_of(ep->iface);
    int rc = f->t->send(e->link, tx->msg, tx->payload, tx->bytes,
                        tx->flags & (WIO_TX_SMALL | WIO_TX_BATCH), tx);
    sync_state(e);
    if (rc >= 0)
        count(f, tx->bytes);
    return rc;
}

static bool outside_put(struct wio_ep *ep, const struct wio_msg *msg, const void *payload,
                        uint32_t bytes)
{
    struct outside_ep *e = ep_of(ep);
    struct outside_iface *f = outside_iface_of(ep->iface);
    if (f->t->put == NULL)
        return false;
    uint8_t header[WIO_MSG_BYTES];
    wio_msg_encode(msg, header);
    bool taken = f->t->put(e->link, header, payload, bytes) != 0;
    if (taken)
        count(f, bytes);
    return taken;
}

static bool outside_keep(struct wio_ep *ep, struct wio_tx *tx)
{
    struct outside_iface *f = outside_iface_of(ep->iface);
    return f->t->keep != NULL && f->t->keep(ep_of(ep)->link, tx) != 0;
}

static size_t outside_queued(const struct wio_ep *ep)
{
    const struct outside_ep *e = (const struct outside_ep *)(const void *)ep;
    return outside_iface_of(ep->iface)->t->queued(e->link);
}

static void outside_watch(struct wio_ep *ep, bool on)
{
    struct outside_iface *f = outside_iface_of(ep->iface);
    if (f->t->watch != NULL)
        f->t->watch(ep_of(ep)->link, on);
}

static int outside_progress_ep(struct wio_ep *ep)
{
    return outside_iface_of(ep->iface)->t->progress_link(ep_of(ep)->link);
}

static void outside_close(struct wio_ep *ep, enum wio_bye_reason reason)
{
    struct outside_ep *e = ep_of(ep);
    outside_iface_of(ep->iface)->t->close(e->link, (int)reason);
    sync_state(e);
}

static void outside_ping(struct wio_ep *ep)
{
    struct outside_iface *f = outside_iface_of(ep->iface);
    if (f->t->ping != NULL)
        f->t->ping(ep_of(ep)->link);
}

static int64_t outside_heard_ns(const struct wio_ep *ep)
{
    const struct outside_ep *e = (const struct outside_ep *)(const void *)ep;
    return outside_iface_of(ep->iface)->t->heard_ns(e->link);
}

static void outside_free_ep(struct wio_ep *ep)
{
    struct outside_ep *e = ep_of(ep);
    struct outside_iface *f = outside_iface_of(ep->iface);
    f->t->free_link(e->link);
    forget(f, e);
}

/* ---- one descriptor per place: query() and open() have nothing to find the library by ---- */

#define SLOTS                                                                                      \
    .size = sizeof(struct wio_transport), .address = outside_address, .start = outside_start,      \
    .gather = wio_outside_gather, .settle = outside_settle, .keep = outside_keep,                  \
    .let_go = wio_tr_no_let_go, .reachable = outside_reachable, .distance = outside_distance,      \
    .connect = outside_connect, .lane = wio_tr_no_lane, .send = outside_send, .put = outside_put,  \
    .fetch = wio_tr_no_fetch, .step_aside = wio_tr_no_step_aside, .is_aside = wio_tr_no_is_aside,  \
    .recalls = wio_tr_no_recalls, .queued = outside_queued, .flush = outside_flush,                \
    .watch = outside_watch, .progress = outside_progress, .progress_ep = outside_progress_ep,      \
    .event_fd = outside_event_fd, .arm = outside_arm, .needs_service = outside_needs_service,      \
    .next_timer_ns = outside_next_timer_ns, .close = outside_close, .ping = outside_ping,          \
    .heard_ns = outside_heard_ns, .free_ep = outside_free_ep, .close_iface = outside_close_iface,  \
    .after_fork = outside_after_fork, .dump = outside_dump

#define PLACE(n, text)                                                                             \
    static int query_##n(const struct wio_config *cfg, struct wio_tr_attr *attr)                   \
    {                                                                                              \
        return query(n, cfg, attr);                                                                \
    }                                                                                              \
    static bool adapt_##n(const struct wio_config *cfg, enum wio_distance d,                       \
                          struct wio_tr_attr *attr)                                                \
    {                                                                                              \
        return adapt(n, cfg, d, attr);                                                             \
    }                                                                                              \
    static int open_##n(const struct wio_iface_params *p, struct wio_iface **iface);               \
    static const struct wio_transport place_##n = {.id = WIO_TR_OUTSIDE + (n),                     \
                                                   .name = (text),                                 \
                                                   .query = query_##n,                             \
                                                   .adapt = adapt_##n,                             \
                                                   .open = open_##n,                               \
                                                   SLOTS};                                         \
    static int open_##n(const struct wio_iface_params *p, struct wio_iface **iface)                \
    {                                                                                              \
        return open_at(n, &place_##n, p, iface);                                                   \
    }

PLACE(0, "mpi")
PLACE(1, "ofi")
PLACE(2, "ucx")
PLACE(3, "other")

const struct wio_transport *wio_outside_transport(enum wio_transport_id id)
{
    static const struct wio_transport *const at[WAITIO_PLACES] = {&place_0, &place_1, &place_2,
                                                                  &place_3};
    unsigned place = (unsigned)id - WIO_TR_OUTSIDE;
    return place < WAITIO_PLACES && wio_outside_at(place) != NULL ? at[place] : NULL;
}
