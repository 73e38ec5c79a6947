/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file fuzz_engine.c
 * The engine between a program and peers that both do anything in any order: each input byte is the
 * next step - a call of the program, a message with chosen or plausible numbers, a payload, a link
 * that opens or ends, the transport letting go of what it holds. Afterwards everything must be
 * accounted for.
 */
#include "../unit/p2p_fake.h"
#include "../unit/p2p_spread.h"

enum { HANDLES = 16, BUFFER = 1 << 16, STEPS = 2000 };

struct input {
    const uint8_t *data;
    size_t n, at;
};

struct world {
    struct input in;
    struct wio_universe *u;
    struct waitio_group *g;
    struct wio_handle h[HANDLES];
    uint8_t *buf[HANDLES];
    uint8_t *payload;
    uint32_t piece[FAKE_PEERS];  /* envelope of its message in pieces, */
    uint64_t offset[FAKE_PEERS]; /* and where it goes on */
    bool cut[FAKE_PEERS];        /* the link is as good as closed: only CLOSED may come */
};

static uint32_t pick(struct world *w, uint32_t n)
{
    struct input *in = &w->in;
    if (in->at >= in->n)
        return 0;
    uint32_t v = in->data[in->at++];
    if (n > 256 && in->at < in->n)
        v |= (uint32_t)in->data[in->at++] << 8;
    return v % n;
}

static size_t length(struct world *w)
{
    static const size_t some[] = {0, 1, 100, 4096, 5000, 20000, BUFFER};
    return some[pick(w, WIO_ARRAY_LEN(some))];
}

/* ---- the program ---- */

/* The last handles are those of messages that are spread in memory. */
static bool spread(uint32_t i)
{
    return i >= HANDLES - 5;
}

static void start_send(struct world *w, uint32_t i, uint32_t peer)
{
    struct wio_spread s = spread_at(w->buf[i]);
    size_t n = length(w);
    int tag = (int)pick(w, 3);
    uint32_t how = pick(w, 8);
    if (spread(i))
        (void)wio_isend_spread(w->u, w->g, peer, &s, n / 2, tag, how == 7, how == 6, &w->h[i]);
    else
        (void)wio_isend(w->u, w->g, peer, w->buf[i], n, tag, how == 7, &w->h[i]);
}

static void start_recv(struct world *w, uint32_t i, uint32_t peer)
{
    struct wio_spread s = spread_at(w->buf[i]);
    int64_t src = pick(w, 4) == 3 ? -1 : (int64_t)peer;
    size_t n = length(w);
    int64_t tag = (int64_t)pick(w, 4) - 1;
    bool persistent = pick(w, 8) == 7;
    if (spread(i))
        (void)wio_irecv_spread(w->u, w->g, src, &s, n / 2, tag, persistent, &w->h[i]);
    else
        (void)wio_irecv(w->u, w->g, src, w->buf[i], n, tag, persistent, &w->h[i]);
}

/* A matched probe, or the receive of what one has taken off the queue. */
static void claim(struct world *w, uint32_t i, uint32_t peer)
{
    struct wio_spread s = spread_at(w->buf[i]);
    bool claimed;
    if (w->h[i].generation != 0)
        (void)wio_claimed_recv(w->u, &w->h[i], w->buf[i], i % 2 ? &s : NULL, length(w) / 2);
    else
        (void)wio_claim(w->u, w->g, peer, (int32_t)pick(w, 3), &claimed, &w->h[i]);
}

static void call(struct world *w)
{
    uint32_t i = pick(w, HANDLES), peer = 1 + pick(w, FAKE_PEERS - 1);
    struct wio_handle *h = &w->h[i];
    struct wio_result res;
    bool flag;
    switch (pick(w, 8)) {
    case 0:
    case 1:
        if (h->generation == 0)
            start_send(w, i, peer);
        break;
    case 2:
    case 3:
        if (h->generation == 0)
            start_recv(w, i, peer);
        break;
    case 4:
        (void)wio_start(w->u, h);
        break;
    case 5:
        (void)wio_cancel(w->u, h);
        break;
    case 6:
        if (spread(i)) {
            claim(w, i, peer);
            break;
        }
        (void)wio_probe(w->u, w->g, pick(w, 2) ? -1 : (int64_t)peer, -1, false, &flag, &res);
        break;
    default:
        (void)wio_test(w->u, h, &flag, &res);
        break;
    }
}

/* ---- peers ---- */

/* An id the engine may know: one that it sent, or one made up. */
static uint64_t some_id(struct world *w)
{
    if (pick(w, 8) == 0 || fake.nsent == 0)
        return (uint64_t)pick(w, 4) << 32 | pick(w, 300);
    const struct wio_msg *m =
        &fake.sent[(uint32_t)fake.nsent - 1 - pick(w, (uint32_t)fake.nsent)].msg;
    return m->op == WIO_OP_CTS ? m->space : m->b;
}

/* Nothing lies where a peer says; now and then the system refuses, too. */
static int fetch(struct wio_ep *ep, const struct wio_lent *from, void *buf, size_t bytes)
{
    (void)ep;
    if (bytes > 0 && from->at % 5 == 0)
        return from->at % 2 == 0 ? WAITIO_ERR_UNSUPPORTED : WAITIO_ERR_SYSTEM;
    if (bytes > 0)
        memset(buf, 0, bytes);
    return 0;
}

static void envelope(struct world *w, uint32_t peer, struct wio_msg *m, uint32_t *bytes)
{
    m->space = w->g->space;
    m->tag = (int)pick(w, 3);
    m->a = length(w);
    m->b = pick(w, 2) ? 0 : 5;
    if (m->op == WIO_OP_RTS && pick(w, 2)) {
        m->flags = WIO_MSG_LENDS;
        m->b = 5 + pick(w, 3);
    }
    uint32_t strange = pick(w, 32);
    m->envelope =
        strange == 7 ? pick(w, 20) : w->u->peer[peer]->recv_envelope + (strange == 6 ? 2 : 1);
    if (m->op == WIO_OP_EAGER) {
        *bytes = (uint32_t)(pick(w, 2) ? m->a : m->a / 2);
        w->piece[peer] = m->envelope;
        w->offset[peer] = *bytes;
    }
}

static void message(struct world *w, uint32_t peer)
{
    struct wio_msg m = {.op = (uint8_t)(1 + pick(w, WIO_OP_WITHDRAW))};
    uint32_t bytes = 0;
    fake.credit[peer] += pick(w, 64);
    switch (m.op) {
    case WIO_OP_EAGER:
    case WIO_OP_RTS:
        envelope(w, peer, &m, &bytes);
        break;
    case WIO_OP_MORE:
        m.b = w->piece[peer];
        m.a = pick(w, 8) == 7 ? pick(w, 1000) : w->offset[peer];
        bytes = 1 + (uint32_t)length(w) / 2;
        w->offset[peer] += bytes;
        break;
    case WIO_OP_DATA:
        m.space = some_id(w);
        m.a = pick(w, 4) == 3 ? pick(w, 30000) : 0;
        if (pick(w, 4) == 3) { /* in any order */
            m.b = 4096;
            m.a &= ~(uint64_t)4095;
        }
        bytes = 1 + (uint32_t)length(w) / 2;
        break;
    case WIO_OP_REVOKE:
        m.a = pick(w, 5);
        m.b = pick(w, 30);
        m.space = pick(w, 4) == 0 ? pick(w, 300) : m.space;
        break;
    case WIO_OP_LENT:
        m.b = 5 + pick(w, 3);
        m.a = 1 + length(w);
        break;
    default:
        m.b = some_id(w);
        m.a = length(w);
        m.space = pick(w, 300);
        break;
    }
    if (fake_header(peer, &m, bytes) < 0 && pick(w, 32) == 31)
        w->cut[peer] = true; /* a transport closes the link now; going on reaches deeper */
}

static void link_event(struct world *w, uint32_t peer)
{
    struct fake_ep *e = fake.ep[peer];
    uint32_t what = pick(w, 8);
    if (e == NULL || e->ep.state == WIO_EP_CONNECTING) {
        if (what == 7 && e != NULL && pick(w, 8) == 7)
            fake_state(peer, WIO_EP_CLOSED, WAITIO_ERR_PEER, WIO_BYE_NONE);
        else
            fake_state(peer, WIO_EP_READY, 0, WIO_BYE_NONE);
    } else if (w->cut[peer] || (what == 7 && pick(w, 32) == 31)) {
        fake_state(peer, WIO_EP_CLOSED, WAITIO_ERR_PEER, WIO_BYE_NONE);
        w->cut[peer] = false;
    } else if (what == 6 && !e->body) {
        fake_state(peer, WIO_EP_CLOSING, 0, WIO_BYE_CAP);
    } else if (e->ep.state == WIO_EP_CLOSING && !e->body) {
        (void)fake_done(peer, 0);
        fake_state(peer, WIO_EP_CLOSED, 0, what == 5 ? WIO_BYE_FINALIZE : WIO_BYE_CAP);
    }
}

static void step(struct world *w)
{
    uint32_t what = pick(w, 16), peer = 1 + pick(w, FAKE_PEERS - 1);
    struct fake_ep *e = fake.ep[peer];
    bool open = e != NULL && e->ep.state == WIO_EP_READY && !w->cut[peer];
    if (open && e->body && what >= 4)
        (void)fake_payload(peer, w->payload); /* nothing else can come on this link first */
    else if (what < 5)
        call(w);
    else if (what == 5)
        fake.answer = pick(w, 2) ? WIO_TX_QUEUED : WIO_TX_DONE;
    else if (what == 6)
        (void)fake_done(peer, 0);
    else if (what == 7)
        (void)wio_progress(w->u, WIO_PROGRESS_FULL);
    else if (what < 14 && open)
        message(w, peer);
    else
        link_event(w, peer);
}

/* ---- the end ---- */

static void require(bool fact)
{
    if (!fact)
        abort();
}

/* Every peer dies: then everything is done, and nothing is held for anybody. */
static void settle(struct world *w)
{
    struct wio_result res;
    bool flag;
    for (uint32_t p = 1; p < FAKE_PEERS; p++) {
        if (fake.ep[p] == NULL)
            fake_state(p, WIO_EP_READY, 0, WIO_BYE_NONE);
        fake_state(p, WIO_EP_CLOSED, WAITIO_ERR_PEER, WIO_BYE_NONE);
    }
    for (int i = 0; i < HANDLES; i++) {
        require(wio_test(w->u, &w->h[i], &flag, &res) == 0 && flag);
        (void)wio_request_free(w->u, &w->h[i]);
    }
    require(w->u->match.nposted == 0);
    require(w->u->ctr.pool_bytes == 0);
    require(w->u->ctr.piece_bytes == 0 && spread_refs == 0);
    for (uint32_t s = 0; s < w->u->nslabs; s++)
        for (uint32_t i = 0; i < WIO_SLAB; i++)
            require(w->u->slab[s][i].kind == WIO_REQ_FREE);
    for (uint32_t p = 1; p < FAKE_PEERS; p++) {
        const struct wio_peer *peer = w->u->peer[p];
        require(wio_list_empty(&peer->owned) && wio_list_empty(&peer->partial) &&
                peer->moving == 0 && wio_list_empty(&peer->early) && peer->local_pending == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world w = {.in = {data, size, 0}};
    spread_refs = 0;
    w.u = fake_universe();
    w.g = fake_group(w.u);
    w.u->log.level[WIO_C_P2P] = WIO_LOG_ERROR;
    w.u->attr[WIO_TR_TCP].chunk = w.u->cfg.chunk = 4096;
    w.u->attr[WIO_TR_TCP].eager_max = w.u->cfg.eager_max = 20000;
    w.u->cfg.local_max = 5000;
    w.u->cfg.shm_fetch = pick(&w, 2) ? WIO_CFG_SHM_FETCH_ON : WIO_CFG_SHM_FETCH_AUTO;
    w.u->attr[WIO_TR_TCP].caps = WIO_CAP_MEMORY;
    w.u->cfg.shm_fetch_min = 1000;
    fake.tr.fetch = fetch;
    w.u->cfg.send_buffer_max = 20000;
    uint64_t budget = pick(&w, 2) ? 3000 : 10;
    w.u->credit_left = budget;
    w.payload = calloc(1, BUFFER);
    for (int i = 0; i < HANDLES; i++)
        w.buf[i] = calloc(1, BUFFER);
    for (int i = 0; i < STEPS && w.in.at < w.in.n; i++)
        step(&w);
    settle(&w);
    wio_universe_destroy(w.u);
    for (int i = 0; i < HANDLES; i++)
        free(w.buf[i]);
    free(w.payload);
    return 0;
}
