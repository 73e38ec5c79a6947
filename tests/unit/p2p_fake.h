/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file p2p_fake.h
 * An engine without a network: a universe made by hand over a transport whose every answer the test
 * decides. What the engine sends is recorded; messages, states and done() are delivered by the test
 * in any order. Included by one test program each (everything is static).
 */
#ifndef P2P_FAKE_H
#define P2P_FAKE_H

#include <stdlib.h>

#include "p2p/universe.h"

enum { FAKE_PEERS = 4, FAKE_SENT = 4096 };

struct fake_ep {
    struct wio_ep ep; /* first */
    int closes;       /* close() calls */
    enum wio_bye_reason reason;
    bool watched;
    struct wio_sink sink; /* of the message whose payload is under way */
    uint32_t due;         /* its bytes */
    bool body;
};

/* One message the engine has handed over. */
struct fake_sent {
    uint32_t to;
    struct wio_msg msg;
    uint32_t bytes;
    uint64_t sum;      /* of the payload, as it was when handed over */
    unsigned lane;     /* by which link */
    struct wio_tx *tx; /* not NULL: queued, done() is owed */
};

struct fake {
    struct wio_transport tr;
    struct wio_iface iface;
    struct wio_universe *u;
    struct fake_ep *ep[FAKE_PEERS];
    struct fake_sent sent[FAKE_SENT];
    uint32_t credit[FAKE_PEERS]; /* what arriving headers grant the engine */
    uint32_t envelope[FAKE_PEERS];
    int nsent;
    int answer;     /* of send(): WIO_TX_DONE, WIO_TX_QUEUED or < 0 */
    int connect_rc; /* of connect() */
    bool puts;      /* put() takes what it is given */
    int put_calls;
    bool whole;  /* what arrives is there as a whole */
    bool direct; /* ... and is offered to on_whole first */
    int later;   /* so many were left unread by that */
    int dials[FAKE_PEERS];
    bool echo_bye;                  /* peers answer our goodbye at once (in progress) */
    int events;                     /* what progress() says to have done beside */
    int freed;                      /* free_ep calls */
    bool aside;                     /* peers have given their processors away */
    int steps_aside;                /* how often the engine did */
    void (*script)(struct fake *f); /* runs in progress() */
};

static struct fake fake; /* the transport's functions find it here */

/* ---- the transport ---- */

static uint64_t fake_sum(const void *data, size_t n)
{
    return wio_hash_bytes(7, data, n);
}

static bool fake_reachable(struct wio_iface *iface, uint32_t peer, char *why, size_t nwhy)
{
    (void)iface;
    wio_text(why, nwhy, "in a test");
    return peer != 0;
}

static struct fake_ep *fake_ep_new(uint32_t peer, enum wio_ep_state state)
{
    struct fake_ep *e = calloc(1, sizeof *e);
    e->ep.iface = &fake.iface;
    e->ep.peer = peer;
    e->ep.state = (uint8_t)state;
    fake.ep[peer] = e;
    return e;
}

static int fake_connect(struct wio_iface *iface, uint32_t peer, struct wio_ep **ep)
{
    (void)iface;
    fake.dials[peer]++;
    if (fake.connect_rc != 0)
        return wio_fail(fake.connect_rc, "the test refuses the dial");
    if (fake.ep[peer] == NULL)
        fake_ep_new(peer, WIO_EP_CONNECTING);
    *ep = &fake.ep[peer]->ep;
    return 0;
}

static void fake_record(uint32_t to, const uint8_t *msg, const void *payload, uint32_t bytes,
                        struct wio_tx *tx)
{
    const char *why = NULL;
    if (fake.nsent == FAKE_SENT) {
        fake.nsent = 0;
        for (int i = 0; i < FAKE_SENT; i++)
            if (fake.sent[i].tx != NULL) /* forgetting one that is owed would be our own mistake */
                fake.sent[fake.nsent++] = fake.sent[i];
        if (fake.nsent == FAKE_SENT)
            abort();
    }
    struct fake_sent *s = &fake.sent[fake.nsent++];
    *s = (struct fake_sent){.to = to, .bytes = bytes, .sum = fake_sum(payload, bytes), .tx = tx};
    if (wio_msg_decode(msg, bytes, &s->msg, &why) != 0)
        abort(); /* the engine must never say what its peer would refuse */
}

static int fake_send(struct wio_ep *ep, struct wio_tx *tx)
{
    if (fake.answer < 0 || ep->state >= WIO_EP_CLOSING)
        return WAITIO_ERR_BUSY;
    fake_record(ep->peer, tx->msg, tx->payload, tx->bytes,
                fake.answer == WIO_TX_QUEUED ? tx : NULL);
    fake.sent[fake.nsent - 1].lane = ep->lane;
    return fake.answer;
}

static bool fake_put(struct wio_ep *ep, const struct wio_msg *msg, const void *payload,
                     uint32_t bytes)
{
    uint8_t raw[WIO_MSG_BYTES];
    wio_msg_encode(msg, raw);
    fake.put_calls++;
    if (ep->state != WIO_EP_READY)
        abort();
    if (fake.puts)
        fake_record(ep->peer, raw, payload, bytes, NULL);
    return fake.puts;
}

static size_t fake_queued(const struct wio_ep *ep)
{
    size_t n = 0;
    for (int i = 0; i < fake.nsent; i++)
        if (fake.sent[i].tx != NULL && fake.sent[i].to == ep->peer && fake.sent[i].lane == ep->lane)
            n += fake.sent[i].bytes + WIO_HDR_BYTES;
    return n;
}

static void fake_flush(struct wio_iface *iface)
{
    (void)iface;
}

static void fake_watch(struct wio_ep *ep, bool on)
{
    ((struct fake_ep *)(void *)ep)->watched = on;
}

static void fake_state(uint32_t peer, enum wio_ep_state s, int err, enum wio_bye_reason why);

static int fake_progress(struct wio_iface *iface, enum wio_progress_how how)
{
    (void)iface;
    (void)how;
    int n = 0;
    for (uint32_t i = 1; i < FAKE_PEERS; i++) {
        struct fake_ep *e = fake.ep[i];
        bool over = e != NULL && e->closes > 0 && (fake.echo_bye || wio_bye_is_final(e->reason));
        if (over) {
            fake_state(i, WIO_EP_CLOSED, 0, e->reason);
            n++;
        }
    }
    if (fake.script != NULL)
        fake.script(&fake);
    return n + fake.events;
}

static int fake_progress_ep(struct wio_ep *ep)
{
    return fake_progress(ep->iface, WIO_PROGRESS_FULL);
}

static void fake_close(struct wio_ep *ep, enum wio_bye_reason reason)
{
    struct fake_ep *e = (struct fake_ep *)(void *)ep;
    e->closes++;
    e->reason = reason;
    ep->state = WIO_EP_CLOSING;
}

static void fake_ping(struct wio_ep *ep)
{
    (void)ep;
}

static int64_t fake_heard(const struct wio_ep *ep)
{
    (void)ep;
    return 0;
}

static void fake_free_ep(struct wio_ep *ep)
{
    fake.freed++;
    free(ep);
}

static void fake_close_iface(struct wio_iface *iface)
{
    (void)iface;
    for (int i = 0; i < FAKE_PEERS; i++)
        free(fake.ep[i]);
}

static void fake_step_aside(struct wio_iface *iface, bool on)
{
    (void)iface;
    fake.steps_aside += on;
}

static bool fake_is_aside(const struct wio_ep *ep)
{
    (void)ep;
    return fake.aside;
}

static void fake_let_go(struct wio_ep *ep, const struct wio_tx *tx)
{
    (void)ep;
    (void)tx;
}

static void fake_dump(struct wio_iface *iface, struct wio_ep *ep, struct wio_strbuf *out)
{
    (void)iface;
    wio_strbuf_add(out, "fake link %d\n", ep != NULL ? ep->state : -1);
}

static const struct wio_transport fake_transport = {
    .size = sizeof(struct wio_transport),
    .id = WIO_TR_TCP,
    .name = "fake",
    .reachable = fake_reachable,
    .connect = fake_connect,
    .send = fake_send,
    .put = fake_put,
    .lane = wio_tr_no_lane,
    .fetch = wio_tr_no_fetch,
    .let_go = fake_let_go,
    .recalls = wio_tr_no_recalls,
    .step_aside = fake_step_aside,
    .is_aside = fake_is_aside,
    .queued = fake_queued,
    .flush = fake_flush,
    .watch = fake_watch,
    .progress = fake_progress,
    .progress_ep = fake_progress_ep,
    .event_fd = wio_tr_no_event_fd,
    .arm = wio_tr_no_arm,
    .needs_service = wio_tr_no_needs_service,
    .next_timer_ns = wio_tr_no_timer,
    .close = fake_close,
    .ping = fake_ping,
    .heard_ns = fake_heard,
    .free_ep = fake_free_ep,
    .close_iface = fake_close_iface,
    .dump = fake_dump,
    .adapt = wio_tr_host_only,
    .distance = wio_tr_same_host,
};

/* ---- the universe ---- */

static struct wio_table *fake_table(uint32_t size)
{
    struct image {
        uint32_t pb_size, pb_base;
        struct wio_tab_host host;
        struct wio_tab_ep ep[FAKE_PEERS];
    } *im = wio_os_alloc(sizeof *im);
    struct wio_table *t = wio_os_alloc(sizeof *t);
    im->pb_size = size;
    for (uint32_t i = 0; i < size; i++)
        im->ep[i].caps = 1u << WIO_TR_TCP;
    *t = (struct wio_table){.npb = 1,
                            .nhosts = 1,
                            .size = size,
                            .pb_size = &im->pb_size,
                            .pb_base = &im->pb_base,
                            .host = &im->host,
                            .ep = im->ep,
                            .map = im};
    return t;
}

/* A fresh engine; I am universe rank 0 of FAKE_PEERS. */
static struct wio_universe *fake_universe(void)
{
    memset(&fake, 0, sizeof fake);
    struct wio_universe *u = wio_universe_new();
    wio_config_defaults(&u->cfg);
    u->cfg.progress = WIO_CFG_PROGRESS_POLL;
    wio_log_init(&u->log, "error", "");
    wio_match_init(&u->match);
    u->kick_fd = wio_os_eventfd();
    u->table = fake_table(FAKE_PEERS);
    u->peer = wio_os_alloc(FAKE_PEERS * sizeof *u->peer);
    u->allowed = 1u << WIO_TR_TCP;
    u->credit_left = u->cfg.unexpected_max / WIO_CREDIT_UNIT;
    u->joined = true;
    fake.u = u;
    fake.tr = fake_transport;
    fake.iface.tr = &fake.tr;
    fake.iface.table = u->table;
    u->iface[WIO_TR_TCP] = &fake.iface;
    u->attr[WIO_TR_TCP] = (struct wio_tr_attr){
        .chunk = u->cfg.chunk, .eager_max = u->cfg.eager_max, .latency_s = 1e-6};
    return u;
}

/* The group of everybody, known to the universe. */
static struct waitio_group *fake_group(struct wio_universe *u)
{
    struct waitio_group *g = NULL;
    if (wio_group_from_range(u->table, 0, 0, u->table->size, &g) != 0)
        abort();
    wio_group_register(u, g);
    return g;
}

/* ---- what the peer and the transport do ---- */

/* All queued tx of the peer's link (or of all) are given back. @return how many */
static int fake_done(uint32_t peer, int err)
{
    int n = 0;
    for (int i = 0; i < fake.nsent; i++) {
        struct wio_tx *tx = fake.sent[i].tx;
        if (tx == NULL || fake.sent[i].to != peer)
            continue;
        fake.sent[i].tx = NULL;
        tx->done(tx, err);
        n++;
    }
    return n;
}

/* The link changes state; CLOSED gives everything back first. */
static void fake_state(uint32_t peer, enum wio_ep_state s, int err, enum wio_bye_reason why)
{
    struct fake_ep *e = fake.ep[peer];
    const struct wio_upcalls *up = &wio_p2p_upcalls;
    if (e == NULL)
        e = fake_ep_new(peer, s);
    e->ep.state = (uint8_t)s;
    if (s == WIO_EP_CLOSED) {
        if (e->body)
            up->on_abandon(fake.u, peer, &e->sink);
        int give = err != 0 ? err : WAITIO_ERR_PEER;
        fake_done(peer, give);
        fake.ep[peer] = NULL; /* the engine frees it */
        fake.credit[peer] = 0;
    }
    up->on_state(fake.u, &e->ep, peer, s, err, why, "the test says so");
    if (s == WIO_EP_CLOSED)
        wio_bury(fake.u);
}

/* A header arrives. @return what the engine says */
static int fake_header(uint32_t peer, struct wio_msg *m, uint32_t bytes)
{
    uint8_t raw[WIO_MSG_BYTES];
    struct fake_ep *e = fake.ep[peer];
    m->credit = fake.credit[peer];
    wio_msg_encode(m, raw);
    e->sink = (struct wio_sink){.whole = fake.whole};
    int rc = wio_p2p_upcalls.on_message(fake.u, &e->ep, peer, raw, bytes, &e->sink);
    if (rc == 0) {
        e->body = true;
        e->due = bytes;
    }
    return rc;
}

/* Its payload arrives. */
static int fake_payload(uint32_t peer, const void *data)
{
    struct fake_ep *e = fake.ep[peer];
    size_t n = e->due < e->sink.len ? e->due : e->sink.len;
    if (n > 0 && data != NULL)
        memcpy(e->sink.buf, data, n);
    e->body = false;
    return wio_p2p_upcalls.on_payload(fake.u, &e->ep, peer, &e->sink);
}

static enum wio_whole fake_whole(uint32_t peer, struct wio_msg *m, const void *data, uint32_t bytes)
{
    uint8_t raw[WIO_MSG_BYTES];
    m->credit = fake.credit[peer];
    wio_msg_encode(m, raw);
    return wio_p2p_upcalls.on_whole(fake.u, &fake.ep[peer]->ep, raw, data, bytes);
}

static int fake_message(uint32_t peer, struct wio_msg m, const void *data, uint32_t bytes)
{
    enum wio_whole w = fake.direct ? fake_whole(peer, &m, data, bytes) : WIO_WHOLE_LEFT;
    fake.later += w == WIO_WHOLE_LATER;
    if (w != WIO_WHOLE_LEFT)
        return w != WIO_WHOLE_TAKEN;
    int rc = fake_header(peer, &m, bytes);
    return rc != 0 ? rc : fake_payload(peer, data);
}

/* The link is open and the peer has granted @p credit units. */
__attribute__((unused)) static void fake_open(uint32_t peer, uint32_t credit)
{
    fake.credit[peer] = credit;
    fake_state(peer, WIO_EP_READY, 0, WIO_BYE_NONE);
    if (fake_message(peer, (struct wio_msg){.op = WIO_OP_CREDIT}, NULL, 0) != 0)
        abort();
    fake.nsent = 0; /* forget our own grant */
}

#endif
