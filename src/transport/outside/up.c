/* SPDX-License-Identifier: BSD-3-Clause */
/** @file up.c  From the library to p2p. */
#include "os/os.h"
#include "transport/outside/outside.h"

/* A sink passes through untouched. */
_Static_assert(sizeof(struct waitio_sink) == sizeof(struct wio_sink) &&
                   offsetof(struct waitio_sink, buf) == offsetof(struct wio_sink, buf) &&
                   offsetof(struct waitio_sink, len) == offsetof(struct wio_sink, len) &&
                   offsetof(struct waitio_sink, core) == offsetof(struct wio_sink, cookie) &&
                   offsetof(struct waitio_sink, core_bytes) == offsetof(struct wio_sink, bytes) &&
                   offsetof(struct waitio_sink, whole) == offsetof(struct wio_sink, whole),
               "the interface's sink is ours");
_Static_assert((int)WAITIO_WHOLE_LEFT == (int)WIO_WHOLE_LEFT &&
                   (int)WAITIO_WHOLE_TAKEN == (int)WIO_WHOLE_TAKEN &&
                   (int)WAITIO_WHOLE_STOP == (int)WIO_WHOLE_STOP &&
                   (int)WAITIO_WHOLE_LATER == (int)WIO_WHOLE_LATER,
               "the interface's answers are ours");
_Static_assert((int)WAITIO_BYE_NOMEM == (int)WIO_BYE_NOMEM &&
                   (int)WAITIO_LINK_CLOSED == (int)WIO_EP_CLOSED,
               "the interface's reasons and states are ours");

static struct wio_sink *sink_of(struct waitio_sink *s)
{
    return (struct wio_sink *)(void *)s;
}

static struct outside_ep *ep_of(struct outside_iface *f, struct waitio_link *link)
{
    return WIO_LIKELY(link->core != NULL) ? link->core : wio_outside_ep(f, link);
}

static int no_memory(void)
{
    return wio_fail(WAITIO_ERR_NOMEM, "no memory for a link");
}

static int on_message(void *user, struct waitio_link *link, const void *header, uint32_t bytes,
                      struct waitio_sink *sink)
{
    struct outside_iface *f = user;
    struct outside_ep *e = ep_of(f, link);
    if (e == NULL)
        return no_memory();
    return f->base.p.up->on_message(f->base.p.user, &e->ep, link->peer, header, bytes,
                                    sink_of(sink));
}

static int on_payload(void *user, struct waitio_link *link, struct waitio_sink *sink)
{
    struct outside_iface *f = user;
    struct outside_ep *e = link->core; /* message() came before */
    return f->base.p.up->on_payload(f->base.p.user, &e->ep, link->peer, sink_of(sink));
}

static void on_abandon(void *user, struct waitio_link *link, struct waitio_sink *sink)
{
    struct outside_iface *f = user;
    f->base.p.up->on_abandon(f->base.p.user, link->peer, sink_of(sink));
}

static int on_whole(void *user, struct waitio_link *link, const void *header, const void *payload,
                    uint32_t bytes)
{
    struct outside_iface *f = user;
    struct outside_ep *e = ep_of(f, link);
    if (e == NULL || f->base.p.up->on_whole == NULL)
        return WAITIO_WHOLE_LEFT;
    return (int)f->base.p.up->on_whole(f->base.p.user, &e->ep, header, payload, bytes);
}

static void on_sent(void *user, void *token, int err)
{
    struct wio_tx *tx = token;
    (void)user;
    tx->done(tx, err);
}

/* As the other transports put it: what happened, with the peer's name in front of a failure. */
static void text_of(struct outside_iface *f, uint32_t peer, int err, int reason, const char *text,
                    char *buf, size_t n)
{
    uint16_t why = (uint16_t)reason;
    if (err == 0) {
        wio_text(buf, n, "%s", text != NULL ? text : wio_bye_reason_name(why));
        return;
    }
    uint32_t pb = f->base.table != NULL ? wio_table_pb_of(f->base.table, peer) : 0;
    uint32_t first = f->base.table != NULL ? f->base.table->pb_base[pb] : 0;
    wio_text(buf, n, "PB %u rank %u %s", pb, peer - first, text != NULL ? text : wio_bye_deed(why));
}

static void count(struct outside_iface *f, struct outside_ep *e)
{
    struct wio_counters *c = f->base.p.counters;
    bool open = e->ep.state == WIO_EP_READY || (e->open && e->ep.state == WIO_EP_CLOSING);
    if (open && !e->open)
        c->link_opens++;
    c->links += (uint64_t)open - (uint64_t)e->open;
    e->open = open;
}

static void on_state(void *user, struct waitio_link *link, int err, int reason, const char *text)
{
    struct outside_iface *f = user;
    struct outside_ep *e = ep_of(f, link);
    char buf[320];
    if (e == NULL)
        return; /* the first message will fail the link */
    e->ep.state = (uint8_t)link->state;
    count(f, e);
    if (link->state == WAITIO_LINK_READY)
        wio_text(buf, sizeof buf, "connected");
    else
        text_of(f, link->peer, err, reason, text, buf, sizeof buf);
    f->base.p.up->on_state(f->base.p.user, &e->ep, link->peer, (enum wio_ep_state)link->state, err,
                           (enum wio_bye_reason)reason, buf);
}

static void on_ending(void *user)
{
    struct outside_iface *f = user;
    if (f->base.p.up->on_ending != NULL)
        f->base.p.up->on_ending(f->base.p.user);
}

const struct waitio_upcalls wio_outside_upcalls = {
    .size = sizeof(struct waitio_upcalls),
    .message = on_message,
    .payload = on_payload,
    .abandon = on_abandon,
    .whole = on_whole,
    .sent = on_sent,
    .state = on_state,
    .ending = on_ending,
};
