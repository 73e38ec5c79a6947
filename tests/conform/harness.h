/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file harness.h
 * A small world for transport tests: several interfaces in one process, driven by hand, with a
 * made-up address table and an upper layer that checks every promise of transport.h it can see:
 * messages in order per class, each once, payloads intact, done() once, states in order, no upcall
 * after CLOSED.
 */
#ifndef CONFORM_HARNESS_H
#define CONFORM_HARNESS_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "auth/tls.h"
#include "os/os.h"
#include "patience.h"
#include "transport/outside/outside.h"
#include "transport/transport.h"

#define NODES_MAX 16
#define SECOND 1000000000LL

struct world;

/* A message under way, with everything to check it by. */
struct parcel {
    struct wio_tx tx;
    struct wio_list owned; /* node->parcels */
    struct node *from;
    uint32_t to, id;
    int state; /* 0 new, 1 queued, 2 done */
    int err;
    uint8_t *data; /* page-aligned for some: transports may care */
};

/* What one node knows of one peer. */
struct view {
    struct wio_ep *ep;
    int state;         /* last on_state, -1 none */
    int ready, closed; /* how often */
    int err;
    enum wio_bye_reason reason;
    char text[256];
    uint32_t next_out;   /* id of the next parcel to the peer */
    uint32_t last_in[2]; /* last id that arrived: bulk, SMALL */
    uint32_t last_done;  /* id of the last bulk one that was complete */
    uint32_t nin, abandoned;
    uint64_t bytes_in;
    uint32_t taken; /* CLOSED: of a lane */
};

struct node {
    struct world *w;
    uint32_t rank;
    struct wio_iface *iface;
    struct wio_config cfg;
    struct wio_secret secret;
    struct wio_log log;
    struct wio_counters ctr;
    struct wio_table table;
    struct view peer[NODES_MAX];
    struct view lane[NODES_MAX][WIO_LANES]; /* beside that; the first is not used */
    struct wio_ep *dead[256];
    int ndead;
    int ndone, nqueued;
    struct wio_list parcels, gots; /* under way, freed with a killed node */
    struct wio_list loans;         /* sent with WIO_TX_KEPT, and never asked back */
    /* knobs */
    uint32_t sink_max;   /* truncate to this many bytes; 0 = no */
    uint32_t stop_every; /* on_payload says stop for every n-th; 0 = never */
    uint32_t stops;
    bool refuse_messages, busy; /* busy: on_may_close says no */
    bool use_ep;                /* drive by progress_ep where possible */
    bool mute;                  /* not driven */
    bool trusting;              /* what messages say of themselves is not checked */
    bool puts;                  /* SMALL ones are offered by put() first */
    uint32_t nput;              /* so many it took */
};

struct world {
    int n;
    const struct wio_transport *tr;
    struct wio_tab_host host;
    struct wio_tab_ep ep[NODES_MAX];
    uint32_t pb_size[1], pb_base[1];
    struct node node[NODES_MAX];
    uint64_t rng;
    bool quiet_errors; /* messages may be lost: links are broken on purpose */
};

static inline uint32_t rnd(struct world *w, uint32_t n)
{
    w->rng = wio_mix64(w->rng + 0x9e3779b97f4a7c15ULL);
    return (uint32_t)(w->rng >> 33) % n;
}

static inline uint8_t pattern(uint32_t from, uint32_t to, uint32_t id, size_t i)
{
    return (uint8_t)(from * 17 + to * 31 + id * 131 + i * 7 + (i >> 8));
}

/* Any 256 bytes of the pattern from a multiple of 256 on, by the first of them: byte by byte the
 * sanitizers take minutes for what the tests send. */
static uint8_t pattern_rows[256][256];

static inline void pattern_init(void)
{
    for (size_t first = 0; first < 256; first++)
        for (size_t i = 0; i < 256; i++)
            pattern_rows[first][i] = (uint8_t)(first + i * 7);
}

static inline const uint8_t *pattern_row(uint32_t from, uint32_t to, uint32_t id, size_t at)
{
    return pattern_rows[pattern(from, to, id, at)];
}

static inline void pattern_fill(uint8_t *p, size_t n, uint32_t from, uint32_t to, uint32_t id)
{
    for (size_t i = 0; i < n; i += 256)
        memcpy(p + i, pattern_row(from, to, id, i), n - i < 256 ? n - i : 256);
}

/* @return the first byte that is wrong; n: none. Long ones are looked at here and there. */
static inline size_t pattern_check(const uint8_t *p, size_t n, uint32_t from, uint32_t to,
                                   uint32_t id)
{
    if (n > 65536) {
        for (size_t i = 0; i < n; i += 61)
            if (p[i] != pattern(from, to, id, i))
                return i;
        return n;
    }
    for (size_t i = 0; i < n; i += 256)
        if (memcmp(p + i, pattern_row(from, to, id, i), n - i < 256 ? n - i : 256) != 0) {
            while (p[i] == pattern(from, to, id, i))
                i++;
            return i;
        }
    return n;
}

static inline void parcel_free(struct parcel *p)
{
    free(p->data);
    free(p);
}

/* The payload is the sender's again: it changes. What was lent is asked back, or stays for ever. */
static inline void parcel_end(struct parcel *p, struct wio_ep *ep, uint8_t with)
{
    struct node *nd = p->from;
    if ((p->tx.flags & WIO_TX_KEPT) != 0 && p->id % 3 != 0) {
        wio_list_push(&nd->loans, &p->owned);
        return;
    }
    if ((p->tx.flags & WIO_TX_KEPT) != 0 && ep != NULL)
        nd->w->tr->let_go(ep, &p->tx);
    memset(p->data, with, p->tx.bytes);
    parcel_free(p);
}

static inline struct parcel *parcel_new(uint32_t bytes, bool aligned)
{
    struct parcel *p = malloc(sizeof *p);
    assert_non_null(p);
    p->data = aligned ? aligned_alloc(4096, (bytes + 4096) / 4096 * 4096) : malloc(bytes + 1);
    assert_non_null(p->data);
    return p;
}

/* ---- upper layer ---- */

static inline struct view *view_of(struct node *nd, const struct wio_ep *ep)
{
    return ep->lane == 0 ? &nd->peer[ep->peer] : &nd->lane[ep->peer][ep->lane];
}

/* What a transport need not have. */
enum {
    LACKS_HANDSHAKE = 1, /* links are ready at once */
    LACKS_DEATH = 2,     /* somebody else notices that a peer is dead: a launcher */
    LACKS_SERVICE = 4    /* the service thread does nothing, or everything */
};
static inline bool lacks(unsigned what); /* does the present one? */

struct got {
    struct wio_list owned; /* node->gots */
    uint32_t id, from, bytes;
    size_t cap;
    uint8_t small;
    uint8_t data[];
};

static inline int up_message(void *user, struct wio_ep *ep, uint32_t peer,
                             const uint8_t msg[WIO_MSG_BYTES], uint32_t bytes,
                             struct wio_sink *sink)
{
    struct node *nd = user;
    struct view *v = view_of(nd, ep);
    assert_ptr_equal(ep->iface, nd->iface);
    assert_int_equal(ep->peer, peer);
    assert_int_not_equal(ep->state, WIO_EP_CLOSED);
    assert_true(v->ep == ep || v->closed > 0 || ep->state == WIO_EP_CLOSING);
    if (!lacks(LACKS_HANDSHAKE) && nd->w->tr->id != WIO_TR_SELF && ep->state == WIO_EP_READY)
        assert_true(v->ready > 0); /* told before the first message */
    if (nd->refuse_messages)
        return WAITIO_ERR_NOMEM;
    uint32_t id = wio_get32(msg + 4), from = wio_get32(msg + 8), to = wio_get32(msg + 12);
    uint32_t n = wio_get32(msg + 16);
    uint8_t small = nd->trusting ? 0 : msg[24];
    if (!nd->trusting) {
        assert_int_equal(from, peer);
        assert_int_equal(to, nd->rank);
        assert_int_equal(n, bytes);
        assert_true(id > v->last_in[small]); /* order within the class, no double */
        v->last_in[small] = id;
    }
    size_t cap = nd->sink_max > 0 && nd->sink_max < bytes ? nd->sink_max : bytes;
    struct got *g = malloc(sizeof *g + cap);
    assert_non_null(g);
    wio_list_push(&nd->gots, &g->owned);
    g->id = id;
    g->small = small;
    g->from = peer;
    g->bytes = bytes;
    g->cap = cap;
    sink->buf = cap > 0 ? g->data : NULL;
    sink->len = cap;
    sink->cookie = g;
    return 0;
}

static inline int up_payload(void *user, struct wio_ep *ep, uint32_t peer, struct wio_sink *sink)
{
    struct node *nd = user;
    struct view *v = view_of(nd, ep);
    struct got *g = sink->cookie;
    assert_int_equal(g->from, peer);
    if (!nd->trusting) {
        size_t i = pattern_check(g->data, g->cap, peer, nd->rank, g->id);
        if (i < g->cap)
            fail_msg("message %u from %u: byte %zu of %u is wrong", g->id, peer, i, g->bytes);
    }
    if (!g->small && !nd->trusting) { /* bulk also ends in order */
        assert_true(g->id > v->last_done);
        v->last_done = g->id;
    }
    v->nin++;
    v->bytes_in += g->bytes;
    wio_list_remove(&g->owned);
    free(g);
    if (nd->stop_every > 0 && v->nin % nd->stop_every == 0) {
        nd->stops++;
        return 1;
    }
    return 0;
}

static inline void up_abandon(void *user, uint32_t peer, struct wio_sink *sink)
{
    struct node *nd = user;
    assert_true(nd->w->quiet_errors);
    nd->peer[peer].abandoned++;
    wio_list_remove(&((struct got *)sink->cookie)->owned);
    free(sink->cookie);
}

static inline void up_state(void *user, struct wio_ep *ep, uint32_t peer, enum wio_ep_state state,
                            int err, enum wio_bye_reason reason, const char *text)
{
    struct node *nd = user;
    struct view *v = view_of(nd, ep);
    assert_int_equal(ep->peer, peer);
    assert_non_null(text);
    if (state == WIO_EP_READY) {
        v->ready++;
        v->ep = ep;
    }
    if (v->ep == NULL || v->ep == ep)
        v->state = (int)state;
    if (state != WIO_EP_CLOSED)
        return;
    v->closed++;
    v->taken = ep->taken;
    v->err = err;
    v->reason = reason;
    wio_text(v->text, sizeof v->text, "%s", text);
    if (v->ep == ep)
        v->ep = NULL;
    assert_true(nd->ndead < 256);
    nd->dead[nd->ndead++] = ep;
}

static inline bool up_may_close(void *user, struct wio_ep *ep, uint32_t peer)
{
    struct node *nd = user;
    (void)ep;
    (void)peer;
    return !nd->busy;
}

static const struct wio_upcalls conform_upcalls = {
    .on_message = up_message,
    .on_payload = up_payload,
    .on_abandon = up_abandon,
    .on_state = up_state,
    .on_may_close = up_may_close,
};

/* ---- the world ---- */

static inline void node_open(struct world *w, uint32_t i)
{
    struct node *nd = &w->node[i];
    struct wio_iface_params p = {.cfg = &nd->cfg,
                                 .secret = &nd->secret,
                                 .log = &nd->log,
                                 .counters = &nd->ctr,
                                 .up = &conform_upcalls,
                                 .user = nd};
    assert_int_equal(w->tr->open(&p, &nd->iface), 0);
    struct wio_boot_offer offer = {0};
    offer.host = w->host;
    assert_int_equal(w->tr->address(nd->iface, &offer), 0);
    w->ep[i] = offer.ep;
    w->ep[i].host = 0;
}

static inline void node_start(struct world *w, uint32_t i)
{
    struct node *nd = &w->node[i];
    nd->table.npb = 1;
    nd->table.nhosts = 1;
    nd->table.size = (uint32_t)w->n;
    nd->table.me = i;
    nd->table.pb_size = w->pb_size;
    nd->table.pb_base = w->pb_base;
    nd->table.host = &w->host;
    nd->table.ep = w->ep;
    memset(nd->table.universe, 7, WIO_UNIVERSE_ID);
    assert_int_equal(w->tr->start(nd->iface, &nd->table), 0);
}

/** The transports that connect several interfaces, each in every mode it has; later ones register
 * here. The first letters tell what is forced. */
struct variant {
    enum wio_transport_id id;
    const char *name;
    void (*set)(struct wio_config *cfg);
    unsigned lacks;
};
static inline void threads_call(struct wio_config *cfg)
{
    cfg->mpi_threads = WIO_CFG_MPI_THREADS_MULTIPLE;
}
static inline void as_is(struct wio_config *cfg)
{
    (void)cfg;
}
static inline void inbox_only(struct wio_config *cfg)
{
    cfg->shm_rings = 0;
}
static inline void ring_at_once(struct wio_config *cfg)
{
    cfg->shm_promote = 0;
}
/* Everything is full all the time, and rings come and go. */
static inline void tiny(struct wio_config *cfg)
{
    cfg->shm_inbox = 8192;
    cfg->shm_ring = 16384;
    cfg->shm_promote = 3;
    cfg->shm_demote = 0.0005;
}
/* The folders of the run lie where the test says, or on the first file system that there is. Of two
 * folders with a colon between them - two clients of one file system - nodes take one by turns. */
static inline void in_files(struct wio_config *cfg)
{
    static unsigned turn;
    const char *dir = wio_os_getenv("CONFORM_SCRATCH");
    struct wio_os_stat st;
    if (dir == NULL)
        dir = wio_os_stat("/dev/shm", &st) == 0 ? "/dev/shm" : ".";
    const char *second = strchr(dir, ':');
    size_t n = second != NULL ? (size_t)(second - dir) : strlen(dir);
    if (second != NULL) { /* what is late is waited for: how long, the test may say (seconds) */
        const char *silence = wio_os_getenv("CONFORM_SILENCE");
        cfg->file_silence = silence == NULL ? 3 : atof(silence);
        cfg->connect_timeout = cfg->file_silence;
    }
    if (second != NULL && turn++ % 2 != 0) {
        dir = second + 1;
        n = strlen(dir);
    }
    wio_text(cfg->scratch_dir, sizeof cfg->scratch_dir, "%.*s", (int)n, dir);
    wio_text(cfg->job_id, sizeof cfg->job_id, "conform-%lld", (long long)wio_os_pid());
    cfg->file_heartbeat = 0.1;
}
/* Everything is full all the time. */
static inline void in_tiny_files(struct wio_config *cfg)
{
    in_files(cfg);
    const char *dir = wio_os_getenv("CONFORM_SCRATCH");
    bool clients = dir != NULL && strchr(dir, ':') != NULL; /* where each part takes long */
    cfg->maxfile_size = clients ? 1 << 19 : 5 * (16384 + 4096);
}
static const struct variant conform_variants[] = {
    {WIO_TR_TCP, "tcp", as_is, 0},
    {WIO_TR_SHM, "shm", as_is, 0},
    {WIO_TR_SHM, "shm, inbox only", inbox_only, 0},
    {WIO_TR_SHM, "shm, ring at once", ring_at_once, 0},
    {WIO_TR_SHM, "shm, tiny", tiny, 0},
    {WIO_TR_FILE, "file", in_files, 0},
    {WIO_TR_FILE, "file, tiny", in_tiny_files, 0},
};
/* With CONFORM_PLUGIN=file: the transport that this library brings, alone. */
static const struct variant outside_variants[] = {
    {WIO_TR_OUTSIDE + WAITIO_PLACE_MPI, "mpi", threads_call,
     LACKS_HANDSHAKE | LACKS_DEATH | LACKS_SERVICE},
    {WIO_TR_OUTSIDE + WAITIO_PLACE_OTHER, "toy", as_is,
     LACKS_HANDSHAKE | LACKS_DEATH | LACKS_SERVICE},
};
static const struct variant *conform_now = &conform_variants[0];
static inline bool lacks(unsigned what)
{
    return (conform_now->lacks & what) != 0;
}

/* With CONFORM_TLS=1 all links over TCP are encrypted. */
static inline struct wio_tls_lib *world_tls(void)
{
    static struct wio_tls_lib *lib;
    if (lib == NULL && wio_os_getenv("CONFORM_TLS") != NULL && wio_tls_load(&lib, NULL, 100) != 0) {
        print_message("skipped: %s\n", wio_last_error());
        exit(77);
    }
    return lib;
}

/* Settings before opening: change nodes between world_new and world_open. */
static inline struct world *world_new(const struct wio_transport *tr, int n)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    if (pattern_rows[1][0] == 0) /* no thread has been started yet */
        pattern_init();
    w->tr = tr;
    w->n = n;
    w->rng = 1;
    w->pb_size[0] = (uint32_t)n;
    w->host.identity = 42;
    w->host.naddr = 1;
    w->host.addr[0] =
        (struct wio_tab_addr){.family = 4, .loopback = 1, .prefix = 8, .ip = {127, 0, 0, 1}};
    for (int i = 0; i < n; i++) {
        struct node *nd = &w->node[i];
        nd->w = w;
        wio_list_init(&nd->parcels);
        wio_list_init(&nd->gots);
        wio_list_init(&nd->loans);
        nd->rank = (uint32_t)i;
        wio_config_defaults(&nd->cfg);
        conform_now->set(&nd->cfg);
        nd->secret.tls = world_tls();
        nd->secret.len = 32;
        memset(nd->secret.key, 5, 32);
        wio_text(nd->secret.origin, sizeof nd->secret.origin, "test");
        wio_log_init(&nd->log,
                     wio_os_getenv("CONFORM_LOG") != NULL ? wio_os_getenv("CONFORM_LOG") : "error",
                     "");
        nd->log.pbid = 0;
        nd->log.pb_rank = i;
        for (int k = 0; k < NODES_MAX; k++)
            nd->peer[k].state = -1;
    }
    return w;
}

static inline struct world *world_open(struct world *w)
{
    for (int i = 0; i < w->n; i++)
        node_open(w, (uint32_t)i);
    for (int i = 0; i < w->n; i++)
        node_start(w, (uint32_t)i);
    return w;
}

static inline void node_bury(struct node *nd)
{
    while (nd->ndead > 0)
        nd->w->tr->free_ep(nd->dead[--nd->ndead]);
}

/* The interface vanishes without a goodbye, as a killed process's would. */
static inline void node_kill(struct node *nd)
{
    node_bury(nd);
    if (nd->iface != NULL)
        nd->w->tr->close_iface(nd->iface);
    nd->iface = NULL;
    struct wio_list *it;
    while ((it = wio_list_pop(&nd->parcels)) != NULL)
        parcel_free(WIO_CONTAINER(it, struct parcel, owned));
    while ((it = wio_list_pop(&nd->loans)) != NULL)
        parcel_free(WIO_CONTAINER(it, struct parcel, owned));
    while ((it = wio_list_pop(&nd->gots)) != NULL)
        free(WIO_CONTAINER(it, struct got, owned));
}

static inline void world_free(struct world *w)
{
    for (int i = 0; i < w->n; i++)
        node_kill(&w->node[i]);
    free(w);
}

/* Timers that are due need a look at the whole interface. Without it a node would show no sign of
 * life for seconds where a slow file system makes each round last half a second. */
static inline bool timers_due(struct node *nd, enum wio_progress_how how)
{
    return nd->w->tr->next_timer_ns(nd->iface, how) <= wio_os_now_ns();
}

static inline int node_drive(struct node *nd, enum wio_progress_how how)
{
    struct world *w = nd->w;
    if (nd->iface == NULL || nd->mute)
        return 0;
    int n = 0;
    if (nd->use_ep && rnd(w, 4) != 0 && !timers_due(nd, how)) {
        for (int k = 0; k < w->n; k++)
            if (nd->peer[k].ep != NULL && nd->peer[k].ep->state != WIO_EP_CLOSED)
                n += w->tr->progress_ep(nd->peer[k].ep);
    } else {
        n = w->tr->progress(nd->iface, how);
        assert_true(n >= 0);
    }
    node_bury(nd);
    return n;
}

static inline int world_drive(struct world *w)
{
    int n = 0;
    uint32_t first = rnd(w, (uint32_t)w->n);
    for (int i = 0; i < w->n; i++) {
        struct node *nd = &w->node[(first + (uint32_t)i) % (uint32_t)w->n];
        if (nd->iface != NULL && !nd->mute)
            (void)w->tr->next_timer_ns(nd->iface,
                                       WIO_PROGRESS_FULL); /* as somebody who is about to sleep */
        n += node_drive(nd, WIO_PROGRESS_FULL);
    }
    return n;
}

/* After some rounds without work the processor is others' for a moment: tests run side by side. */
enum { IDLE_ROUNDS = 16 };
static inline void rest_if_idle(int work, int *idle)
{
    if (work != 0)
        *idle = 0;
    else if (++*idle < IDLE_ROUNDS)
        wio_os_yield();
    else
        wio_os_sleep_ns(100000);
}

/* Drive everybody until the condition holds, at most 20 s. */
#define UNTIL(w, cond)                                                                             \
    do {                                                                                           \
        int64_t until_end = wt_until_ns(20 * SECOND);                                              \
        int until_idle = 0;                                                                        \
        while (!(cond)) {                                                                          \
            rest_if_idle(world_drive(w), &until_idle);                                             \
            if (wio_os_now_ns() > until_end) {                                                     \
                world_dump(w);                                                                     \
                fail_msg("timed out: %s", #cond);                                                  \
            }                                                                                      \
        }                                                                                          \
    } while (0)
/* Drive everybody for some time, and some rounds where others have the processor meanwhile. */
enum { FEW_ROUNDS = 3 };
#define FOR_MS(w, ms)                                                                              \
    do {                                                                                           \
        int64_t for_end = wio_os_now_ns() + (ms)*1000000LL;                                        \
        int for_idle = 0;                                                                          \
        for (int for_i = 0; for_i < FEW_ROUNDS || wio_os_now_ns() < for_end; for_i++)              \
            rest_if_idle(world_drive(w), &for_idle);                                               \
    } while (0)

static inline void world_dump(struct world *w)
{
    for (int i = 0; i < w->n; i++) {
        struct wio_strbuf sb = {0};
        if (w->node[i].iface == NULL)
            continue;
        w->tr->dump(w->node[i].iface, NULL, &sb);
        print_message("node %d: done %d of %d queued\n%s", i, w->node[i].ndone, w->node[i].nqueued,
                      sb.text != NULL ? sb.text : "");
        for (int k = 0; k < w->n; k++)
            print_message("  from %d: %u messages, next to it %u, closed %d (%d %s)\n", k,
                          w->node[i].peer[k].nin, w->node[i].peer[k].next_out,
                          w->node[i].peer[k].closed, w->node[i].peer[k].err,
                          w->node[i].peer[k].text);
        wio_strbuf_free(&sb);
    }
}

/* ---- sending ---- */

static inline struct wio_ep *node_connect(struct node *nd, uint32_t to)
{
    struct wio_ep *ep = NULL;
    assert_int_equal(nd->w->tr->connect(nd->iface, to, &ep), 0);
    assert_non_null(ep);
    nd->peer[to].ep = ep;
    return ep;
}

static inline void parcel_done(struct wio_tx *tx, int err)
{
    struct parcel *p = WIO_CONTAINER(tx, struct parcel, tx);
    assert_int_equal(p->state, 1); /* exactly once, only when queued */
    if (err != 0)
        assert_true(p->from->w->quiet_errors);
    p->from->ndone++;
    wio_list_remove(&p->owned);
    parcel_end(p, p->from->peer[p->to].ep, 0xee);
}

/* @return result of send(); negative only when @p may_fail */
static inline int node_send(struct node *nd, uint32_t to, uint32_t bytes, uint8_t flags,
                            bool may_fail)
{
    struct view *v = &nd->peer[to];
    struct wio_ep *ep =
        v->ep != NULL && v->ep->state < WIO_EP_CLOSING ? v->ep : node_connect(nd, to);
    struct parcel *p = parcel_new(bytes, v->next_out % 2 != 0);
    memset(&p->tx, 0, sizeof p->tx);
    p->from = nd;
    p->to = to;
    p->id = v->next_out + 1;
    p->state = 1;
    pattern_fill(p->data, bytes, nd->rank, to, p->id);
    struct wio_msg m = {.credit = p->id,
                        .tag = (int32_t)nd->rank,
                        .envelope = to,
                        .space = bytes,
                        .a = (flags & WIO_TX_SMALL) != 0};
    wio_msg_encode(&m, p->tx.msg);
    p->tx.payload = bytes > 0 ? p->data : NULL;
    p->tx.bytes = bytes;
    p->tx.flags = flags;
    p->tx.done = parcel_done;
    bool put =
        nd->puts && (flags & WIO_TX_SMALL) != 0 && nd->w->tr->put(ep, &m, p->tx.payload, bytes);
    nd->nput += put;
    int rc = put ? WIO_TX_DONE : nd->w->tr->send(ep, &p->tx);
    if (rc == WIO_TX_QUEUED) {
        nd->nqueued++;
        wio_list_push(&nd->parcels, &p->owned);
    } else {
        if (rc < 0)
            assert_true(may_fail);
        parcel_end(p, rc < 0 ? NULL : ep, 0xdd);
    }
    if (rc >= 0)
        v->next_out++;
    if (nd->ndone == nd->nqueued) /* whoever waits until less is queued waits for a done() */
        assert_int_equal(nd->w->tr->queued(ep), 0);
    return rc;
}

static inline bool all_arrived(struct world *w)
{
    for (int i = 0; i < w->n; i++) {
        if (w->node[i].ndone != w->node[i].nqueued)
            return false;
        for (int k = 0; k < w->n; k++)
            if (w->node[k].peer[i].nin != w->node[i].peer[k].next_out)
                return false;
    }
    return true;
}

static inline struct world *pair_ready(const struct wio_transport *tr)
{
    struct world *w = world_open(world_new(tr, 2));
    node_connect(&w->node[0], 1);
    UNTIL(w, w->node[0].peer[1].ready == 1 && w->node[1].peer[0].ready == 1);
    return w;
}

/* One test alone: CONFORM_TEST=pattern. */
__attribute__((constructor)) static void choose_tests(void)
{
    const char *pattern = getenv("CONFORM_TEST");
    if (pattern != NULL)
        cmocka_set_test_filter(pattern);
}

static inline int reset_faults(void **state)
{
    (void)state;
    wio_os_fault = NULL;
    return 0;
}
/* So many of something, or a share of them where each takes long (CONFORM_SHARE: tests/weakfs). */
static inline int share_of(int n)
{
    const char *share = getenv("CONFORM_SHARE");
    int by = share == NULL ? 1 : atoi(share);
    return by > 1 ? n / by : n;
}

#define CONFORM(f) cmocka_unit_test_teardown(f, reset_faults)

/* With the contract checked from both sides (WAITIO_WRAP=check). */
static inline const struct wio_transport *checked(enum wio_transport_id id)
{
    struct wio_config cfg;
    wio_config_defaults(&cfg);
    wio_text(cfg.wrap, sizeof cfg.wrap, "check");
    const struct wio_transport *tr = wio_transport_wrapped(id, &cfg, NULL);
    assert_ptr_not_equal(tr, wio_transport_get(id));
    return tr;
}
static inline const struct wio_transport *outside_variant(const struct variant **v, bool only_tcp)
{
    static struct wio_config cfg;
    if (*v != NULL || only_tcp)
        return NULL;
    wio_config_defaults(&cfg);
    wio_text(cfg.plugins, sizeof cfg.plugins, "%s", wio_os_getenv("CONFORM_PLUGIN"));
    if (wio_outside_load(&cfg, NULL) != 0)
        fail_msg("%s", wio_last_error());
    for (size_t i = 0; i < WIO_ARRAY_LEN(outside_variants); i++)
        if (wio_transport_get(outside_variants[i].id) != NULL)
            *v = conform_now = &outside_variants[i];
    assert_non_null(*v);
    return checked((*v)->id);
}
static inline const struct wio_transport *next_variant(const struct variant **v, bool only_tcp)
{
    if (wio_os_getenv("CONFORM_PLUGIN") != NULL)
        return outside_variant(v, only_tcp);

    const struct variant *end = conform_variants + WIO_ARRAY_LEN(conform_variants);
    const char *only = wio_os_getenv("CONFORM_ONLY"); /* of this transport */
    do
        *v = *v == NULL ? conform_variants : *v + 1;
    while (*v != end && only != NULL && strncmp((*v)->name, only, strlen(only)) != 0);
    if (*v == end || (only_tcp && (*v)->id != WIO_TR_TCP))
        return NULL;
    conform_now = *v;
    if (wio_os_getenv("CONFORM_LOG") != NULL)
        print_message("--- %s\n", conform_now->name);
    return checked(conform_now->id);
}
#define EACH_OF(tr, only_tcp)                                                                      \
    for (const struct variant *v_ = NULL, *once_ = NULL; once_ == NULL; once_ = conform_variants)  \
        for (const struct wio_transport *tr = next_variant(&v_, only_tcp); tr != NULL;             \
             tr = next_variant(&v_, only_tcp))
#define EACH_TRANSPORT(tr) EACH_OF(tr, false)
/** For what only sockets have. */
#define EACH_TCP(tr) EACH_OF(tr, true)

/** Link the first two nodes. @return the second one's end of the link */
static inline struct wio_ep *world_linked(struct world *w)
{
    int64_t end = wt_until_ns(10 * SECOND);
    world_open(w);
    struct wio_ep *ep = node_connect(&w->node[1], 0);
    while (w->node[0].peer[1].ready == 0 || w->node[1].peer[0].ready == 0) {
        world_drive(w);
        assert_true(wio_os_now_ns() < end);
    }
    return ep;
}

#endif
