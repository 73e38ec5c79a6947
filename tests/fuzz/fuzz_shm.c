/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file fuzz_shm.c
 * A member that has passed the handshake of shared memory and then does anything: each input byte
 * is its next step - a record, bytes on the socket, a cell, a slot, a word somewhere in the inbox
 * or the ring, a descriptor - or the victim's: a round of progress, a message, sleep. Afterwards
 * it is killed: its link must end, everything queued for it must be given back, and a bystander
 * must still be heard unless words that everybody shares were overwritten.
 */
#include "../conform/raw_shm.h"

enum { NODES = 3, STEPS = 400, TX_MAX = 256, KEEP_MAX = 5000 };

struct input {
    const uint8_t *data;
    size_t n, at;
};

struct fuzz_tx {
    struct wio_tx tx; /* first */
    struct world *w;
    struct wio_list mine;
    uint8_t data[];
};

struct node {
    struct wio_iface *iface;
    struct wio_counters ctr;
    struct wio_log log;
    struct wio_table table;
    struct wio_ep *dead[64];
    int ndead, from[NODES], ready[NODES], closed[NODES];
};

struct world {
    struct input in;
    struct wio_config cfg;
    struct wio_secret secret;
    struct wio_tab_host host;
    struct wio_tab_ep ep[NODES];
    uint32_t pb_size, pb_base;
    struct node node[NODES]; /* 0 stays empty: the hostile one's */
    struct raw raw;
    struct wio_list txs, sinks; /* under way */
    int queued, done;
    bool spoilt; /* the shared inbox was written to without claiming */
};

static const struct wio_transport *const tr = &wio_transport_shm;
static const uint8_t universe[WIO_UNIVERSE_ID] = {7};

static void require(bool fact)
{
    if (!fact)
        abort();
}

static uint32_t pick(struct world *w, uint32_t n)
{
    struct input *in = &w->in;
    uint32_t v = 0;
    for (uint32_t left = n - 1; left > 0 && in->at < in->n; left >>= 8)
        v = v << 8 | in->data[in->at++];
    return v % n;
}

/* A number that matters to somebody. */
static uint32_t number(struct world *w)
{
    static const uint32_t some[] = {0,     1,     2,       4,       7,          8,
                                    16,    17,    64,      1024,    1025,       4096,
                                    16384, 65536, 1 << 20, 1 << 24, UINT32_MAX, 1u << 31};
    uint32_t i = pick(w, WIO_ARRAY_LEN(some) + 2);
    return i < WIO_ARRAY_LEN(some) ? some[i] : pick(w, UINT32_MAX);
}

/* ---- the layer above ---- */

static struct world *world_of(void *user)
{
    return user;
}

struct context {
    struct world *w;
    struct node *nd;
};
static struct context contexts[NODES]; /* upcalls take one pointer */

struct held {
    struct wio_list node;
    uint8_t data[];
};

static void let_go(struct wio_sink *sink)
{
    struct held *h = sink->cookie;
    wio_list_remove(&h->node);
    free(h);
}

static int on_message(void *user, struct wio_ep *ep, uint32_t peer,
                      const uint8_t msg[WIO_MSG_BYTES], uint32_t bytes, struct wio_sink *sink)
{
    struct context *c = user;
    (void)ep;
    require(bytes <= WIO_PAYLOAD_MAX && peer < NODES);
    if (c->nd == &c->w->node[1] && peer == 0 && msg[39] == 200)
        return WAITIO_ERR_NOMEM;
    size_t keep = msg[38] == 200 ? 0 : bytes < KEEP_MAX ? bytes : KEEP_MAX;
    struct held *h = malloc(sizeof *h + keep);
    require(h != NULL);
    memset(&h->node, 0, sizeof h->node);
    wio_list_push(&c->w->sinks, &h->node);
    sink->buf = keep > 0 ? h->data : NULL;
    sink->len = keep;
    sink->cookie = h;
    return 0;
}

static int on_payload(void *user, struct wio_ep *ep, uint32_t peer, struct wio_sink *sink)
{
    struct context *c = user;
    (void)ep;
    c->nd->from[peer]++;
    let_go(sink);
    return c->nd->from[peer] % 7 == 3;
}

static void on_abandon(void *user, uint32_t peer, struct wio_sink *sink)
{
    (void)user;
    (void)peer;
    let_go(sink);
}

static void on_state(void *user, struct wio_ep *ep, uint32_t peer, enum wio_ep_state state, int err,
                     enum wio_bye_reason reason, const char *text)
{
    struct context *c = user;
    (void)err;
    (void)reason;
    require(text != NULL);
    c->nd->ready[peer] += state == WIO_EP_READY;
    if (state != WIO_EP_CLOSED)
        return;
    c->nd->closed[peer]++;
    require(c->nd->ndead < 64);
    c->nd->dead[c->nd->ndead++] = ep;
}

static bool on_may_close(void *user, struct wio_ep *ep, uint32_t peer)
{
    (void)user;
    (void)ep;
    (void)peer;
    return true;
}

static const struct wio_upcalls upcalls = {.on_message = on_message,
                                           .on_payload = on_payload,
                                           .on_abandon = on_abandon,
                                           .on_state = on_state,
                                           .on_may_close = on_may_close};

/* ---- the world ---- */

static void quiet(void *arg, enum wio_log_comp c, enum wio_log_level l, const char *text)
{
    (void)arg;
    (void)c;
    (void)l;
    (void)text;
}

static void node_open(struct world *w, uint32_t i)
{
    struct node *nd = &w->node[i];
    contexts[i] = (struct context){w, nd};
    wio_log_init(&nd->log, "error", "");
    nd->log.hook = quiet;
    nd->log.out = NULL;
    struct wio_iface_params p = {.cfg = &w->cfg,
                                 .secret = &w->secret,
                                 .log = &nd->log,
                                 .counters = &nd->ctr,
                                 .up = &upcalls,
                                 .user = &contexts[i]};
    struct wio_boot_offer offer = {.host = w->host};
    require(tr->open(&p, &nd->iface) == 0);
    require(tr->address(nd->iface, &offer) == 0);
    w->ep[i] = offer.ep;
}

static void node_start(struct world *w, uint32_t i)
{
    struct wio_table *t = &w->node[i].table;
    t->npb = t->nhosts = 1;
    t->size = NODES;
    t->me = i;
    t->pb_size = &w->pb_size;
    t->pb_base = &w->pb_base;
    t->host = &w->host;
    t->ep = w->ep;
    memcpy(t->universe, universe, WIO_UNIVERSE_ID);
    require(tr->start(w->node[i].iface, t) == 0);
}

static void drive(void *arg)
{
    struct world *w = world_of(arg);
    for (int i = 1; i < NODES; i++) {
        struct node *nd = &w->node[i];
        require(tr->progress(nd->iface, WIO_PROGRESS_FULL) >= 0);
        while (nd->ndead > 0)
            tr->free_ep(nd->dead[--nd->ndead]);
    }
}

static void tx_done(struct wio_tx *tx, int err)
{
    struct fuzz_tx *t = (struct fuzz_tx *)(void *)tx;
    (void)err;
    t->w->done++;
    wio_list_remove(&t->mine);
    free(t);
}

static void node_send(struct world *w, int from, uint32_t to, uint32_t bytes, bool small)
{
    struct wio_ep *ep = NULL;
    if (w->queued - w->done >= TX_MAX || tr->connect(w->node[from].iface, to, &ep) != 0)
        return;
    struct fuzz_tx *t = calloc(1, sizeof *t + bytes);
    t->w = w;
    t->tx.payload = t->data;
    t->tx.bytes = bytes;
    t->tx.flags = small ? WIO_TX_SMALL : 0;
    t->tx.done = tx_done;
    if (tr->send(ep, &t->tx) != WIO_TX_QUEUED) {
        free(t);
        return;
    }
    w->queued++;
    wio_list_push(&w->txs, &t->mine);
}

/* ---- steps ---- */

static int a_descriptor(struct world *w)
{
    struct raw *r = &w->raw;
    switch (pick(w, 6)) {
    case 0:
        return r->mine_fd;
    case 1:
        return r->ring_fd;
    case 2:
        return r->theirs_fd;
    case 3:
        return 0;
    default:
        return -1;
    }
}

static void say(struct world *w)
{
    struct shm_rec rec = {.magic = SHM_REC_MAGIC, .type = pick(w, 14)};
    switch (pick(w, 4)) {
    case 0:
        rec = raw_setup_record(&w->raw);
        break;
    case 1:
        rec = raw_ring_record(16, 4096, 8192);
        break;
    case 2:
        rec.a = number(w);
        rec.b = number(w);
        rec.c = number(w);
        rec.d = pick(w, 3);
        break;
    default:
        break;
    }
    (void)raw_send(&w->raw, &rec, sizeof rec, a_descriptor(w));
}

static void say_bytes(struct world *w)
{
    uint8_t bytes[64];
    uint32_t n = 1 + pick(w, sizeof bytes);
    for (uint32_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)pick(w, 256);
    (void)raw_send(&w->raw, bytes, n, a_descriptor(w));
}

static uint32_t an_info(struct world *w)
{
    static const uint8_t kinds[] = {1, 1, 1, 1, 2, 2, 3, 4, 5, 5, 0, 6, 7};
    uint32_t kind = kinds[pick(w, sizeof kinds)], where = pick(w, 5);
    return shm_info(kind, where, number(w) & SHM_LEN_MASK);
}

static void a_message(struct world *w, uint8_t msg[WIO_MSG_BYTES])
{
    memset(msg, 0, WIO_MSG_BYTES);
    msg[0] = (uint8_t)pick(w, 8); /* a goodbye's reason */
    msg[38] = msg[39] = (uint8_t)pick(w, 256);
}

static void cell(struct world *w)
{
    uint8_t msg[WIO_MSG_BYTES];
    uint32_t pos;
    if (w->raw.theirs.head == NULL)
        return;
    uint32_t info = an_info(w);
    a_message(w, msg);
    if (pick(w, 32) == 31)
        (void)wio_shm_inbox_claim(&w->raw.theirs, w->raw.name, &pos);
    else
        (void)raw_cell(&w->raw, info, msg, NULL, 0);
}

static void spoil_inbox(struct world *w, struct shm_inbox *b, bool shared)
{
    if (b->head == NULL)
        return;
    w->spoilt |= shared;
    uint32_t tail = atomic_load(&b->head->tail), value = number(w);
    uint64_t word = shm_word(tail + pick(w, 3) - 1 + (pick(w, 2) ? 0 : b->geo.cells),
                             pick(w, 2) ? w->raw.name : pick(w, 1 << 28), pick(w, 4));
    switch (pick(w, 6)) {
    case 0:
        atomic_store(&b->head->tail, tail + value);
        break;
    case 1:
        atomic_store(&b->head->sleeping, value);
        break;
    case 2:
        atomic_store(&b->head->wanted, value);
        break;
    case 3:
        atomic_store(&b->head->fences, value);
        break;
    case 4:
        shm_inbox_cell(b, pick(w, 16))->info = an_info(w);
        break;
    default:
        atomic_store(&shm_inbox_cell(b, tail + pick(w, 16) - 4)->word, word);
        break;
    }
}

static void slot(struct world *w)
{
    uint8_t msg[WIO_MSG_BYTES];
    if (w->raw.w.ring.ctl == NULL)
        return;
    uint32_t info = an_info(w);
    a_message(w, msg);
    raw_slot(&w->raw, info, msg);
}

static void spoil_ring(struct world *w)
{
    struct shm_ring *r = &w->raw.w.ring;
    if (r->ctl == NULL)
        return;
    uint64_t value = pick(w, 4) ? number(w) : (uint64_t)number(w) << 32;
    switch (pick(w, 6)) {
    case 0:
        atomic_store(&r->ctl->bulk_tail, value);
        break;
    case 1:
    case 2:
        atomic_fetch_add(&r->ctl->bulk_tail, value % 5000);
        break;
    case 3:
        atomic_store(&r->ctl->want, (uint32_t)value);
        break;
    case 4:
        atomic_store(&r->slot[pick(w, r->geo.slots)].seq, (uint32_t)value);
        break;
    default:
        atomic_store(&r->ctl->slot_head, value);
        break;
    }
}

static void punch(struct world *w)
{
    int fd = a_descriptor(w);
    w->spoilt |= fd == w->raw.theirs_fd;
    if (fd > 2)
        (void)!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, pick(w, 4) * 4096, 8192);
    if (fd > 2)
        (void)!ftruncate(fd, pick(w, 4) * 4096);
}

static void take_ring(struct world *w)
{
    static const uint8_t nothing[WIO_MSG_BYTES];
    struct shm_rec rec = raw_ring_record(16, 4096, 8192);
    if (w->raw.w.ring.ctl != NULL || !raw_ring_make(&w->raw, 16, 4096, 8192))
        return;
    (void)raw_send(&w->raw, &rec, sizeof rec, w->raw.ring_fd);
    drive(w);
    if (w->raw.theirs.head != NULL)
        (void)raw_cell(&w->raw, shm_info(SHM_SWITCH, SHM_INLINE, 0), nothing, NULL, 0);
}

static void spoil_theirs(struct world *w)
{
    spoil_inbox(w, &w->raw.theirs, true);
}

static void spoil_mine(struct world *w)
{
    spoil_inbox(w, &w->raw.mine, false);
}

static void victim_sends(struct world *w)
{
    node_send(w, 1, 0, number(w) % 70000, pick(w, 2));
}

static void bystander_sends(struct world *w)
{
    node_send(w, 2, 1, number(w) % 70000, pick(w, 2));
}

static void victim_sleeps(struct world *w)
{
    (void)tr->arm(w->node[1].iface, pick(w, 2) ? WIO_PROGRESS_FULL : WIO_PROGRESS_SERVICE);
}

static void everybody(struct world *w)
{
    drive(w);
}

static void (*const steps[])(struct world *w) = {
    say,   say_bytes, cell,       cell,       spoil_theirs, spoil_mine,      take_ring,
    slot,  slot,      spoil_ring, spoil_ring, victim_sends, bystander_sends, victim_sleeps,
    punch, everybody,
};

static void step(struct world *w)
{
    steps[pick(w, WIO_ARRAY_LEN(steps))](w);
}

/* ---- the end ---- */

/* Some ends wait for a pause of real time. */
static bool drive_more(struct world *w, int64_t end)
{
    drive(w);
    return wio_os_now_ns() < end;
}

static void settle(struct world *w)
{
    int64_t end = wio_os_now_ns() + INT64_C(5000000000);
    raw_die(&w->raw);
    while (w->node[1].ready[0] > w->node[1].closed[0] && drive_more(w, end)) {
    }
    require(w->node[1].ready[0] <= w->node[1].closed[0]);
    if (!w->spoilt) {
        while (w->queued > w->done && drive_more(w, end)) {
        }
        require(w->queued == w->done && w->node[1].closed[2] == 0);
        int before = w->node[1].from[2];
        node_send(w, 2, 1, 100, false);
        while (w->node[1].from[2] == before && drive_more(w, end)) {
        }
        require(w->node[1].from[2] > before);
    }
}

static void close_world(struct world *w)
{
    for (int i = 1; i < NODES; i++)
        tr->close_iface(w->node[i].iface);
    struct wio_list *it;
    while ((it = wio_list_pop(&w->txs)) != NULL)
        free(WIO_CONTAINER(it, struct fuzz_tx, mine));
    while ((it = wio_list_pop(&w->sinks)) != NULL)
        free(WIO_CONTAINER(it, struct held, node));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world *w = calloc(1, sizeof *w);
    w->in = (struct input){data, size, 0};
    wio_list_init(&w->txs);
    wio_list_init(&w->sinks);
    wio_config_defaults(&w->cfg);
    w->cfg.shm_inbox = 8192;
    w->cfg.shm_ring = 16384;
    w->cfg.shm_demote = 0;
    w->cfg.shm_promote = pick(w, 4) * 2;
    w->secret.len = 32;
    w->host.identity = 42;
    w->pb_size = NODES;
    for (uint32_t i = 1; i < NODES; i++)
        node_open(w, i);
    w->ep[0] = w->ep[2];
    w->ep[0].token ^= 1;
    for (uint32_t i = 1; i < NODES; i++)
        node_start(w, i);
    node_send(w, 2, 1, 10, false);
    for (int i = 0; i < 1000 && w->node[2].ready[1] == 0; i++)
        drive(w);
    raw_init(&w->raw, drive, w);
    require(raw_join(&w->raw, w->ep[1].token, &w->secret, universe, 0, 1));
    if (pick(w, 8) != 0)
        require(raw_open(&w->raw));
    else
        require(raw_inbox(&w->raw, 16, 512));
    for (int i = 0; i < STEPS && w->in.at < w->in.n; i++)
        step(w);
    settle(w);
    close_world(w);
    free(w);
    return 0;
}
