/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file crowd.c
 * One process that may open 1,024 descriptors exchanges messages with 10,000 peers. The peers are
 * virtual: many whole universes in a few processes, each with a listener of its own, real frames
 * over real sockets, and a connection cap of one. Only the rendezvous is left out: the address
 * table lies in shared memory.
 *
 *   crowd             10,000 peers, once (fewer under the sanitizers)
 *   crowd PEERS TIMES WAITIO_TEST_SLOW=1: 10,000 peers, five times
 *
 * First everybody sends to everybody at once: 20,000 dials meet at one process. Then it asks each
 * peer in any order and waits for the answers. Every message is compared with what it must be.
 */
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "p2p/universe.h"
#include "transport/tcp/tcp.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { PEERS = 1500, LIMIT_FDS = 320, LIMIT_S = 1200 };
#else
enum { PEERS = 10000, LIMIT_FDS = 1024, LIMIT_S = 1200 };
#endif
enum { HELPERS = 4, WINDOW = 300, PEERS_MAX = 15000 };

/* What the processes share. */
static struct shared {
    struct wio_tab_host host;
    uint32_t pb_size, pb_base;
    volatile int open, finish, failed; /* helpers that have listeners; the end; somebody failed */
    volatile int done[HELPERS];        /* peers that have got everything */
    struct wio_tab_ep ep[PEERS_MAX + 1];
} * sh;
static uint32_t peers = PEERS;
static int times = 1;

#define FAIL(...)                                                                                  \
    do {                                                                                           \
        fprintf(stderr, "crowd: %s:%d: ", __FILE__, __LINE__);                                     \
        fprintf(stderr, __VA_ARGS__);                                                              \
        fprintf(stderr, " (%s)\n", wio_last_error());                                              \
        sh->failed = 1;                                                                            \
        _exit(1);                                                                                  \
    } while (0)
#define CHECK(cond, ...)                                                                           \
    do {                                                                                           \
        if (!(cond))                                                                               \
            FAIL(__VA_ARGS__);                                                                     \
    } while (0)

/* ---- messages: contents and length follow from who, which way and which ---- */

enum way { TO_PEER, FROM_PEER };

static uint64_t key_of(uint32_t peer, enum way way, int k)
{
    return wio_mix64(((uint64_t)peer << 24) + ((uint64_t)k << 4) + way);
}

static size_t size_of(uint64_t key)
{
    uint64_t s = wio_mix64(key + 1);
    if (s % 1000 == 0)
        return 300000 + (s >> 20) % 900000; /* long enough to ask first */
    if (s % 50 == 0)
        return 70000;
    return 8 + (s >> 20) % 4000;
}

static void fill(uint8_t *p, size_t n, uint64_t key)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)((key >> (8 * (i & 7))) + i * 131 + (i >> 8));
}

struct parcel {
    struct wio_handle h;
    uint8_t *buf;
    uint64_t key;
    size_t n;
    bool in, under_way;
};

static void begin(struct wio_universe *u, struct waitio_group *g, struct parcel *p, uint32_t other,
                  bool in, uint64_t key, int k)
{
    *p = (struct parcel){.key = key, .n = size_of(key), .in = in, .under_way = true};
    p->buf = malloc(p->n);
    CHECK(p->buf != NULL, "no memory");
    if (!in)
        fill(p->buf, p->n, key);
    int rc = in ? wio_irecv(u, g, other, p->buf, p->n, k, false, &p->h)
                : wio_isend(u, g, other, p->buf, p->n, k, false, &p->h);
    CHECK(rc == 0, "universe %u, message %d with %u: %d", u->table->me, k, other, rc);
}

static void end(const struct wio_universe *u, struct parcel *p, const struct wio_result *res)
{
    CHECK(res->err == 0, "universe %u: operation failed: %d", u->table->me, res->err);
    CHECK(!p->in || res->bytes == p->n, "universe %u: %zu bytes instead of %zu", u->table->me,
          res->bytes, p->n);
    for (size_t i = 0; p->in && i < p->n; i++)
        CHECK(p->buf[i] == (uint8_t)((p->key >> (8 * (i & 7))) + i * 131 + (i >> 8)),
              "universe %u: byte %zu of %zu is wrong", u->table->me, i, p->n);
    free(p->buf);
    *p = (struct parcel){0};
}

/* ---- a universe without a rendezvous ---- */

static struct wio_universe *open_universe(uint32_t rank, int cap, struct waitio_group **g)
{
    struct wio_universe *u = wio_universe_new();
    CHECK(u != NULL, "no memory");
    wio_config_defaults(&u->cfg);
    u->cfg.max_connections = cap;
    wio_log_init(&u->log, "warn", "");
    u->log.pb_rank = (int)rank;
    u->secret.len = 32;
    memset(u->secret.key, 9, 32);
    u->kick_fd = rank == 0 ? wio_os_eventfd() : -1;
    u->table = wio_os_alloc(sizeof *u->table);
    u->peer = wio_os_alloc((peers + 1) * sizeof *u->peer);
    CHECK(wio_match_init(&u->match) == 0 && u->table != NULL && u->peer != NULL, "no memory");
    *u->table = (struct wio_table){.npb = 1,
                                   .nhosts = 1,
                                   .size = peers + 1,
                                   .me = rank,
                                   .pb_size = &sh->pb_size,
                                   .pb_base = &sh->pb_base,
                                   .host = &sh->host,
                                   .ep = sh->ep};
    u->allowed = 1u << WIO_TR_TCP;
    u->credit_left = u->cfg.unexpected_max / WIO_CREDIT_UNIT;
    struct wio_iface_params p = {.cfg = &u->cfg,
                                 .secret = &u->secret,
                                 .log = &u->log,
                                 .counters = &u->ctr,
                                 .up = &wio_p2p_upcalls,
                                 .user = u};
    const struct wio_transport *tr = wio_transport_get(WIO_TR_TCP);
    struct wio_boot_offer offer = {.host = sh->host};
    int rc = tr->query(&u->cfg, &u->attr[WIO_TR_TCP]);
    if (rc == 0) /* a port must be free for both families, and there are not many left */
        for (int i = 0; i < 1000 && (rc = tr->open(&p, &u->iface[WIO_TR_TCP])) != 0; i++)
            usleep(1000);
    if (rc == 0)
        rc = tr->address(u->iface[WIO_TR_TCP], &offer);
    CHECK(rc == 0, "universe %u", rank);
    sh->ep[rank] = offer.ep;
    sh->ep[rank].host = 0;
    u->spin.crowded = true;
    u->spin.contended = 8;
    u->joined = true;
    CHECK(wio_group_from_range(u->table, 0, 0, u->table->size, g) == 0, "group");
    wio_group_register(u, *g);
    return u;
}

static void start_universe(struct wio_universe *u)
{
    CHECK(u->iface[WIO_TR_TCP]->tr->start(u->iface[WIO_TR_TCP], u->table) == 0, "start");
}

/* ---- the peers: a few thousand universes in one process, driven in turn ---- */

enum { SLOTS = 3 };
struct peer {
    struct wio_universe *u;
    struct waitio_group *g;
    struct parcel p[SLOTS];
    int asked;    /* questions answered */
    int64_t next; /* drive it then at the latest */
};

/* Messages 0 are under way from the start; 1, 2, ... are questions that are answered. */
static void peer_begin(struct peer *v)
{
    uint32_t me = v->u->table->me;
    begin(v->u, v->g, &v->p[0], 0, false, key_of(me, FROM_PEER, 0), 0);
    begin(v->u, v->g, &v->p[1], 0, true, key_of(me, TO_PEER, 0), 0);
    begin(v->u, v->g, &v->p[2], 0, true, key_of(me, TO_PEER, 1), 1);
}

static void peer_goes_on(struct peer *v, int slot)
{
    uint32_t me = v->u->table->me;
    if (slot != 2)
        return;
    int k = ++v->asked; /* question k is here: answer it when the last answer has left */
    for (int i = 0; i < 2; i++)
        while (v->p[i].under_way) {
            struct wio_result res;
            CHECK(wio_wait(v->u, &v->p[i].h, &res) == 0, "wait");
            end(v->u, &v->p[i], &res);
        }
    begin(v->u, v->g, &v->p[0], 0, false, key_of(me, FROM_PEER, k), k);
    if (k < times)
        begin(v->u, v->g, &v->p[2], 0, true, key_of(me, TO_PEER, k + 1), k + 1);
}

static void peer_drive(struct peer *v)
{
    struct wio_universe *u = v->u;
    struct wio_iface *f = u->iface[WIO_TR_TCP];
    wio_enter(u);
    (void)f->tr->next_timer_ns(f, WIO_PROGRESS_FULL); /* as somebody who slept on it */
    int events = wio_progress(u, WIO_PROGRESS_FULL);
    wio_leave(u);
    for (int i = 0; i < SLOTS; i++) {
        struct wio_result res;
        bool done = false;
        if (!v->p[i].under_way || wio_peek(u, &v->p[i].h, false, &done) != 0 || !done)
            continue;
        CHECK(wio_test(u, &v->p[i].h, &done, &res) == 0 && done, "test");
        end(u, &v->p[i], &res);
        peer_goes_on(v, i);
        events++;
    }
    bool work = events > 0 || f->tr->arm(f, WIO_PROGRESS_FULL) != 0;
    v->next = work ? 0 : f->tr->next_timer_ns(f, WIO_PROGRESS_FULL);
}

static bool peer_done(const struct peer *v)
{
    return v->asked == times && !v->p[0].under_way && !v->p[1].under_way && !v->p[2].under_way;
}

/* One round: whoever has events, whose time has come. */
static void drive_all(struct peer *v, uint32_t n, int epfd, int which)
{
    struct epoll_event ev[256];
    int k = wio_os_epoll_wait(epfd, ev, 256, 1), done = 0;
    for (int i = 0; i < k; i++)
        ((struct peer *)ev[i].data.ptr)->next = 0;
    int64_t now = wio_os_now_ns();
    for (uint32_t i = 0; i < n; i++) {
        if (v[i].next <= now)
            peer_drive(&v[i]);
        done += peer_done(&v[i]);
    }
    sh->done[which] = done;
}

static void helper(int which)
{
    uint32_t first = 1 + peers / HELPERS * (uint32_t)which;
    uint32_t n = which == HELPERS - 1 ? peers + 1 - first : peers / HELPERS;
    struct peer *v = calloc(n, sizeof *v);
    int epfd = wio_os_epoll_create();
    alarm(LIMIT_S);
    CHECK(v != NULL && epfd >= 0, "no memory");
    for (uint32_t i = 0; i < n; i++)
        v[i].u = open_universe(first + i, 1, &v[i].g);
    __sync_fetch_and_add(&sh->open, 1);
    while (sh->open <= HELPERS && !sh->failed) /* the process under test is the last */
        usleep(1000);
    if (sh->failed)
        _exit(1);
    for (uint32_t i = 0; i < n; i++) {
        struct wio_iface *f = v[i].u->iface[WIO_TR_TCP];
        start_universe(v[i].u);
        peer_begin(&v[i]);
        CHECK(wio_os_epoll_ctl(epfd, EPOLL_CTL_ADD, f->tr->event_fd(f, WIO_PROGRESS_FULL), EPOLLIN,
                               &v[i]) == 0,
              "epoll");
    }
    while (!sh->finish && !sh->failed)
        drive_all(v, n, epfd, which);
    for (uint32_t i = 0; i < n; i++) {
        CHECK(v[i].u->ctr.links_max <= 2, "universe %u had %llu links", first + i,
              (unsigned long long)v[i].u->ctr.links_max);
        CHECK(v[i].u->match.nheld == 0, "universe %u got more than was sent", first + i);
        wio_universe_destroy(v[i].u);
    }
    wio_os_close(epfd);
    free(v);
    _exit(sh->failed);
}

/* ---- the process under test ---- */

static void must_end(struct wio_universe *u, struct parcel *p)
{
    struct wio_result res;
    CHECK(wio_wait(u, &p->h, &res) == 0, "wait");
    end(u, p, &res);
}

static void all_at_once(struct wio_universe *u, struct waitio_group *g, struct parcel *p)
{
    for (uint32_t r = 1; r <= peers; r++) {
        begin(u, g, &p[2 * r], r, true, key_of(r, FROM_PEER, 0), 0);
        begin(u, g, &p[2 * r + 1], r, false, key_of(r, TO_PEER, 0), 0);
    }
    for (uint32_t i = 2; i < 2 * peers + 2; i++)
        must_end(u, &p[i]);
}

/* A stride without a common divisor with the number of peers visits each once. */
static uint32_t visit(uint32_t i)
{
    uint64_t stride = 7919;
    while (peers % stride == 0)
        stride += 2;
    return 1 + (uint32_t)((i * stride) % peers);
}

static void ask(struct wio_universe *u, struct waitio_group *g, struct parcel *p, int k)
{
    for (uint32_t i = 0; i < peers + WINDOW; i++) {
        if (i < peers) {
            uint32_t r = visit(i);
            begin(u, g, &p[2 * r], r, true, key_of(r, FROM_PEER, k), k);
            begin(u, g, &p[2 * r + 1], r, false, key_of(r, TO_PEER, k), k);
        }
        if (i >= WINDOW) {
            uint32_t r = visit(i - WINDOW);
            must_end(u, &p[2 * r + 1]);
            must_end(u, &p[2 * r]);
        }
    }
}

static void report(struct wio_universe *u, double seconds, const char *what)
{
    wio_enter(u); /* the service thread counts, too */
    const struct wio_counters copy = u->ctr, *c = &copy;
    wio_leave(u);
    size_t link = sizeof(struct tcp_link);
    double closed = (double)c->peer_bytes - (double)(c->links * link) - 8.0 * (peers + 1);
    printf("%-12s %6.2f s  links %llu (max %llu of %d descriptors)  opened %llu  closed by the cap "
           "%llu  own memory %.2f MB: %.0f bytes per closed peer and 8 in the index\n",
           what, seconds, (unsigned long long)c->links, (unsigned long long)c->links_max,
           wio_os_fd_limit(), (unsigned long long)c->link_opens,
           (unsigned long long)c->link_evictions, (double)c->peer_bytes / 1e6,
           closed / (double)c->peers);
}

static double now_s(void)
{
    return (double)wio_os_now_ns() / 1e9;
}

static void under_test(void)
{
    struct rlimit lim = {LIMIT_FDS, LIMIT_FDS};
    CHECK(setrlimit(RLIMIT_NOFILE, &lim) == 0, "setrlimit");
    struct waitio_group *g;
    struct wio_universe *u = open_universe(0, 0, &g);
    u->ctr.peer_bytes = (peers + 1) * sizeof *u->peer;
    struct parcel *p = calloc(2 * (peers + 1), sizeof *p);
    CHECK(p != NULL, "no memory");
    while (sh->open < HELPERS && !sh->failed)
        usleep(1000);
    CHECK(!sh->failed, "a helper failed");
    double t = now_s();
    start_universe(u);
    CHECK(wio_service_thread_start(u) == 0, "service thread");
    __sync_fetch_and_add(&sh->open, 1);
    all_at_once(u, g, p);
    report(u, now_s() - t, "all at once");
    for (int k = 1; k <= times; k++) {
        t = now_s();
        ask(u, g, p, k);
        report(u, now_s() - t, "in turn");
    }
    uint64_t cap = LIMIT_FDS > 512 ? LIMIT_FDS - 128 : LIMIT_FDS / 2;
    CHECK(u->ctr.links_max <= cap + 1, "%llu links", (unsigned long long)u->ctr.links_max);
    CHECK(u->ctr.peers == peers && u->deaths == 0, "%llu peers, %u dead",
          (unsigned long long)u->ctr.peers, u->deaths);
    CHECK(u->match.nheld == 0, "%zu messages too many", u->match.nheld);
    uint32_t done = 0;
    for (double until = now_s() + 20; done < peers && now_s() < until; usleep(1000)) {
        done = 0;
        for (int i = 0; i < HELPERS; i++)
            done += (uint32_t)sh->done[i];
    }
    CHECK(done == peers, "only %u peers got everything", done);
    free(p);
    CHECK(wio_universe_leave(u, false, NULL) == 0, "finalize");
    sh->finish = 1;
}

int main(int argc, char **argv)
{
    struct rlimit lim;
    const char *slow = getenv("WAITIO_TEST_SLOW");
    if (slow != NULL && slow[0] == '1')
        times = 5;
    if (argc > 1)
        peers = (uint32_t)atoi(argv[1]);
    if (argc > 2)
        times = atoi(argv[2]);
    if (peers < HELPERS || peers > PEERS_MAX || times < 1)
        return 2;
    getrlimit(RLIMIT_NOFILE, &lim);
    rlim_t need = 6 * (rlim_t)(peers / HELPERS) + 200;
    if (lim.rlim_max < need) {
        printf("skipped: %u peers in %d processes need %llu descriptors each, the limit is %llu\n",
               peers, HELPERS, (unsigned long long)need, (unsigned long long)lim.rlim_max);
        return 77;
    }
    lim.rlim_cur = lim.rlim_max;
    setrlimit(RLIMIT_NOFILE, &lim);
    setvbuf(stdout, NULL, _IOLBF, 0);
    sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (sh == MAP_FAILED)
        return 1;
    sh->pb_size = peers + 1;
    sh->host = (struct wio_tab_host){.identity = 42, .naddr = 1};
    sh->host.addr[0] =
        (struct wio_tab_addr){.family = 4, .loopback = 1, .prefix = 8, .ip = {127, 0, 0, 1}};
    alarm(LIMIT_S);
    pid_t pid[HELPERS];
    int bad = 0, status;
    for (int i = 0; i < HELPERS; i++) {
        pid[i] = fork();
        if (pid[i] == 0)
            helper(i);
    }
    under_test();
    for (int i = 0; i < HELPERS; i++)
        bad += waitpid(pid[i], &status, 0) < 0 || status != 0;
    printf(bad == 0 ? "crowd ok\n" : "crowd: %d helpers failed\n", bad);
    return bad != 0;
}
