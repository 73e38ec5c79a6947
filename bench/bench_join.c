/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file bench_join.c
 * What joining costs. Virtual endpoints: two processes play the leaders of many hosts, each with an
 * address and a TCP connection of its own, the handshake, and the messages that a real leader
 * sends, and with the code that passes the table from leader to leader; the service runs in a third
 * process. Real processes: fork, each calls wio_join, the service inside rank 0 of
 * PB 0.
 *
 *   bench_join                 the standard series
 *   bench_join virtual E H     E endpoints on H hosts
 *   bench_join direct E H      the same, the service sends the table to every host itself
 *   ... E H N                  only every Nth host unpacks the table, the others check its sum:
 *                              real hosts unpack at the same time, these one after the other
 *   bench_join real N          N processes in two blocks
 */
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "boot/fetch.h"
#include "boot/relay.h"
#include "os/os.h"

#define LIMIT_S 120
#define CROWDS 2 /* processes that play hosts */
#define MAX_HOSTS (1 << 16)
#define FETCHES 64 /* at a time in each: their socket buffers lie in one machine's memory */

struct shared {
    volatile int port, go;
    struct wio_service_stats stats;
    size_t peak;
    volatile double complete; /* when the first host heard that all are there */
    volatile size_t table_bytes;
    volatile double unpack_s; /* what one host takes */
    volatile char have[MAX_HOSTS];
    volatile int done, failed;
    double seconds[4096];
};

static struct wio_secret secret = {
    .key = "benchmark secret, not secret", .len = 28, .origin = "bench"};

static bool direct;          /* no tree: the service serves everybody */
static int unpack_every = 1; /* hosts that unpack the table; the others check its checksum */

static struct shared *share(void)
{
    struct shared *s =
        mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return s;
}

static double now_s(void)
{
    return (double)wio_os_now_ns() / 1e9;
}

/* ---- the service ---- */

static void serve(struct shared *sh)
{
    struct wio_config cfg;
    struct wio_service *s;
    wio_config_defaults(&cfg);
    struct wio_service_params p = {
        .cfg = &cfg, .secret = &secret, .bind_host = "127.0.0.1", .job_id = "bench"};
    if (direct) {
        p.relay_fan = 1;
        p.relay_above = UINT32_MAX;
    }
    alarm(LIMIT_S);
    if (wio_service_start(&p, &s) != 0)
        _exit(1);
    sh->port = wio_service_port(s);
    for (int rc = 0; rc == 0;) {
        struct wio_service_stats st;
        rc = wio_service_run(s, 50000000);
        wio_service_stats(s, &st);
        if (st.bytes > sh->peak)
            sh->peak = st.bytes;
        sh->stats = st;
    }
    wio_service_stop(s);
    _exit(0);
}

/* ---- virtual leaders ---- */

enum { UP = 1, PARENT, RELAY, CHILD };

struct crowd {
    struct shared *sh;
    struct leader *l;
    int hosts, per_host; /* of the whole universe */
    int first, count;    /* hosts played by this process */
    int epfd, left, shaking, fetching;
    struct leader **waiting; /* to fetch */
    int nwaiting, cursor;
    void *image; /* hosts unpack into the same memory, one after the other */
    size_t image_bytes;
};

struct leader {
    struct wio_bc bc;
    struct wio_fetch fetch;
    struct wio_relay relay;
    struct wio_boot_parent from;
    struct crowd *c;
    int index;
    void *table;
    bool have, done;
};

static int opened(struct wio_bc *bc)
{
    struct leader *l = bc->owner;
    struct wio_boot_hello m = {.pid = (uint32_t)l->index, .job = "bench"};
    uint8_t out[WIO_BOOT_HELLO_MAX];
    wio_text(m.host, sizeof m.host, "node%05d", l->index);
    return wio_bc_send(bc, WIO_BOOT_HELLO, out, wio_boot_put_hello(out, &m));
}

/* Every virtual host has an address of its own: all of 127.0.0.0/8 is this machine. */
static struct wio_tab_addr address_of(int index)
{
    return (struct wio_tab_addr){
        4, 0, 8, 0, 0, {127, (uint8_t)(64 + (index >> 16)), (uint8_t)(index >> 8), (uint8_t)index}};
}

/* Endpoint e of all is rank e / 2 of block e % 2: blocks share hosts. */
static int send_registrations(struct leader *l)
{
    static uint8_t out[WIO_BOOT_REGS_PER_MSG * WIO_BOOT_REG_BYTES];
    const struct crowd *c = l->c;
    uint32_t total = (uint32_t)(c->hosts * c->per_host);
    struct wio_tab_host h = {.identity = wio_hash64(1, (uint64_t)l->index), .naddr = 2};
    h.addr[0] = address_of(l->index);
    h.addr[1] = (struct wio_tab_addr){4, 1, 8, 0, 0, {127, 0, 0, 1}};
    int rc = wio_bc_send(&l->bc, WIO_BOOT_HOSTS, out, wio_boot_put_hosts(out, 0, &h, 1));
    for (uint32_t k = 0; rc == 0 && k < (uint32_t)c->per_host;) {
        uint32_t n = 0;
        for (; n < WIO_BOOT_REGS_PER_MSG && k < (uint32_t)c->per_host; n++, k++) {
            uint32_t e = (uint32_t)(l->index * c->per_host) + k;
            struct wio_boot_reg g = {e % 2, 2,          (total + 1 - e % 2) / 2, e / 2, 0,
                                     e,     e ^ 0x5a5a, (uint16_t)(e * 7919),    3,     0};
            wio_boot_put_regs(out + n * WIO_BOOT_REG_BYTES, &g, 1);
        }
        rc = wio_bc_send(&l->bc, WIO_BOOT_REG, out, n * (size_t)WIO_BOOT_REG_BYTES);
    }
    return rc;
}

static int unpack(struct crowd *c, const void *packed, size_t n, const struct wio_image_head *h)
{
    struct wio_table *t = NULL;
    double t0 = now_s();
    if (c->image == NULL && (c->image = wio_os_alloc((size_t)h->bytes)) == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "table");
    int rc = wio_unpack(packed, n, h, c->image);
    if (rc == 0)
        rc = wio_table_open(c->image, (size_t)h->bytes, false, 0, 0, &t);
    if (rc == 0 && t->size != (uint32_t)(c->hosts * c->per_host))
        rc = wio_fail(WAITIO_ERR_PROTOCOL, "a table of %u", t->size);
    if (rc == 0)
        t->map = NULL; /* for the next host */
    wio_table_free(t);
    c->sh->unpack_s = now_s() - t0;
    return rc;
}

/* Like a leader: check, pass on, unpack, acknowledge. */
static int take_table(struct leader *l, size_t n)
{
    struct wio_image_head h;
    int rc = wio_unpack_head(l->table, n, &h);
    if (rc != 0)
        return rc;
    l->have = true;
    l->c->sh->have[l->index] = 1;
    wio_relay_table(&l->relay, l->table, n);
    l->c->sh->table_bytes = n;
    if (l->index % unpack_every == 0)
        rc = unpack(l->c, l->table, n, &h);
    if (l->relay.expected == 0) {
        wio_os_free(l->table);
        l->table = NULL;
    }
    if (rc == 0)
        rc = wio_bc_send(&l->bc, WIO_BOOT_ACK, NULL, 0);
    return rc != 0 ? rc : wio_bc_arm(&l->bc, l->c->epfd);
}

static int on_relay(struct leader *l, const uint8_t *p, size_t n)
{
    struct wio_boot_relay m;
    struct wio_boot_port port = {.why = ""};
    uint8_t out[WIO_BOOT_PORT_MAX];
    char at[32];
    struct wio_tab_addr a = address_of(l->index);
    int rc = wio_boot_get_relay(p, n, &m);
    wio_text(at, sizeof at, "%d.%d.%d.%d", a.ip[0], a.ip[1], a.ip[2], a.ip[3]);
    if (rc == 0)
        rc = wio_relay_open(&l->relay, l->c->epfd, RELAY, CHILD, at, &secret, NULL, &m);
    if (rc != 0)
        return rc;
    port.port = l->relay.port;
    return wio_bc_send(&l->bc, WIO_BOOT_PORT, out, wio_boot_put_port(out, &port));
}

static int on_parent(struct leader *l, const uint8_t *p, size_t n)
{
    l->c->waiting[l->c->nwaiting++] = l;
    return wio_boot_get_parent(p, n, &l->from);
}

/* Real children ask at once and wait; these do when their parent has the table. */
static void start_fetches(struct crowd *c)
{
    for (int looked = 0; looked < 512 && c->nwaiting > 0 && c->fetching < FETCHES; looked++) {
        c->cursor = c->cursor + 1 < c->nwaiting ? c->cursor + 1 : 0;
        struct leader *l = c->waiting[c->cursor];
        int parent = -1;
        if (sscanf(l->from.name, "node%d", &parent) != 1 || parent < 0 || parent >= c->hosts ||
            !c->sh->have[parent])
            continue;
        c->waiting[c->cursor] = c->waiting[--c->nwaiting];
        c->fetching++;
        wio_fetch_start(&l->fetch, c->epfd, PARENT, &secret, &l->from, "node",
                        wio_hash64(1, (uint64_t)l->index));
    }
}

static int frame(struct wio_bc *bc, enum wio_boot_type type, const uint8_t *p, size_t n)
{
    struct leader *l = bc->owner;
    if (type == WIO_BOOT_WELCOME)
        return send_registrations(l);
    if (l->c->sh->complete == 0)
        l->c->sh->complete = now_s();
    if (type == WIO_BOOT_TABLE)
        return take_table(l, n);
    if (type == WIO_BOOT_RELAY)
        return on_relay(l, p, n);
    if (type == WIO_BOOT_PARENT)
        return on_parent(l, p, n);
    return wio_fail(WAITIO_ERR_PROTOCOL, "message of type %d", (int)type);
}

static void *room(struct wio_bc *bc, size_t n)
{
    struct leader *l = bc->owner;
    l->table = wio_os_alloc(n);
    return l->table;
}

static int dial(struct leader *l, int port)
{
    static const struct wio_bc_upcalls up = {.frame = frame, .opened = opened, .table_room = room};
    struct sockaddr_in sa = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)port)};
    int one = 1, fd = wio_os_socket(AF_INET, SOCK_STREAM);
    if (fd < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, fd, "socket");
    wio_os_setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    (void)wio_os_connect(fd, (struct sockaddr *)&sa, sizeof sa);
    int rc = wio_bc_start(&l->bc, fd, WIO_AUTH_DIAL, false, true, &secret, &up, l);
    l->bc.kind = UP;
    wio_fetch_init(&l->fetch);
    wio_relay_init(&l->relay);
    return rc != 0 ? rc : wio_bc_arm(&l->bc, l->c->epfd);
}

static bool failed(const struct leader *l, const char *why)
{
    fprintf(stderr, "leader %d: %s\n", l->index, why);
    return false;
}

/* @return false: failed */
static bool up_event(struct crowd *c, struct leader *l, uint32_t events)
{
    bool shaking = l->bc.state != WIO_BC_OPEN;
    if (l->done)
        return true;
    if (wio_bc_event(&l->bc, events)) {
        c->shaking -= shaking && l->bc.state == WIO_BC_OPEN;
        wio_bc_arm(&l->bc, c->epfd);
        return true;
    }
    l->done = true;
    c->left--;
    if (l->bc.error != 0 || !l->have)
        return failed(l, l->bc.text);
    wio_relay_close(&l->relay);
    wio_os_free(l->table);
    l->table = NULL;
    return true;
}

static bool parent_event(struct leader *l, uint32_t events)
{
    wio_fetch_event(&l->fetch, events);
    if (l->fetch.state == WIO_FETCH_FAILED)
        return failed(l, l->fetch.why);
    if (l->fetch.state != WIO_FETCH_DONE)
        return true;
    l->table = l->fetch.packed;
    l->fetch.packed = NULL;
    size_t n = l->fetch.bytes;
    l->c->fetching--;
    wio_fetch_close(&l->fetch);
    l->fetch.bc.kind = PARENT; /* of events that are under way */
    return take_table(l, n) == 0 || failed(l, wio_last_error());
}

static bool on_event(struct crowd *c, const struct epoll_event *ev)
{
    const int *kind = ev->data.ptr;
    struct wio_bc *bc = ev->data.ptr;
    if (*kind == UP)
        return up_event(c, WIO_CONTAINER(bc, struct leader, bc), ev->events);
    if (*kind == PARENT)
        return parent_event(WIO_CONTAINER(bc, struct leader, fetch.bc), ev->events);
    if (*kind == RELAY)
        wio_relay_accept(ev->data.ptr);
    else
        wio_relay_event(ev->data.ptr, ev->events);
    return true;
}

/* One process stands for many hosts and is slower than they: it dials as many at a time as it can
 * serve, so that none looks like an idle stranger. @return 0, 1 failed */
static int run_crowd(struct crowd *c)
{
    struct epoll_event ev[256];
    int dialled = 0;
    c->epfd = wio_os_epoll_create();
    c->l = calloc((size_t)c->count, sizeof *c->l);
    c->waiting = calloc((size_t)c->count, sizeof(struct leader *));
    mallopt(M_MMAP_THRESHOLD, 64 << 20); /* tables come and go: keep the memory */
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    c->left = c->count;
    alarm(LIMIT_S);
    while (c->left > 0) {
        for (; dialled < c->count && c->shaking < 128; dialled++, c->shaking++) {
            c->l[dialled].c = c;
            c->l[dialled].index = c->first + dialled;
            if (dial(&c->l[dialled], c->sh->port) != 0)
                return 1;
        }
        start_fetches(c);
        int n =
            wio_os_epoll_wait(c->epfd, ev, 256, c->nwaiting > 0 && c->fetching < FETCHES ? 1 : 100);
        for (int i = 0; i < n; i++)
            if (!on_event(c, &ev[i]))
                return 1;
    }
    return 0;
}

static int start_crowds(struct shared *sh, int endpoints, int hosts, pid_t *pid, int n)
{
    for (int i = 0; i < n; i++) {
        struct crowd c = {.sh = sh, .hosts = hosts, .per_host = endpoints / hosts};
        c.first = (int)((int64_t)hosts * i / n);
        c.count = (int)((int64_t)hosts * (i + 1) / n) - c.first;
        pid[i] = fork();
        if (pid[i] == 0)
            _exit(run_crowd(&c));
    }
    int bad = 0;
    for (int i = 0, status; i < n; i++)
        bad |= waitpid(pid[i], &status, 0) < 0 || status != 0;
    return bad;
}

static void report(const struct shared *sh, int endpoints, int hosts, double t0, double t,
                   const struct rusage *ru)
{
    const struct wio_service_stats *st = &sh->stats;
    double all = (double)hosts;
    printf("virtual  %7d endpoints  %5d hosts  %7.3f s (%.3f s until complete)  %6.2f us/endpoint\n"
           "         service: in %.2f MB, out %.2f MB (%llu tables of %.0f KB), %llu messages, "
           "%llu connections\n"
           "         service memory %.2f MB (%.1f B/endpoint), process %.1f MB; table %.2f "
           "B/endpoint and host; unpacking %.2f ms a host%s\n",
           endpoints, hosts, t, sh->complete - t0, t * 1e6 / endpoints, (double)st->rx_bytes / 1e6,
           (double)st->tx_bytes / 1e6, (unsigned long long)st->tables,
           (double)sh->table_bytes / 1e3, (unsigned long long)st->messages,
           (unsigned long long)st->clients, (double)sh->peak / 1e6, (double)sh->peak / endpoints,
           (double)ru->ru_maxrss / 1e3, (double)sh->table_bytes / endpoints, sh->unpack_s * 1e3,
           unpack_every > 1 ? " (measured on some)" : "");
    if (st->tables < all)
        printf("         %llu more connections between hosts\n",
               (unsigned long long)((uint64_t)hosts - st->tables));
}

static int run_virtual(int endpoints, int hosts)
{
    struct shared *sh = share();
    pid_t pid, crowd[CROWDS];
    struct rusage ru = {0};
    int need = 4 * hosts / CROWDS + 64; /* to the service, to the parent, of a child, listener */
    if (hosts > MAX_HOSTS || wio_os_fd_limit() < (need > hosts + 64 ? need : hosts + 64)) {
        fprintf(stderr, "bench_join: %d hosts need %d descriptors, the limit is %d\n", hosts, need,
                wio_os_fd_limit());
        return 1;
    }
    pid = fork();
    if (pid == 0)
        serve(sh);
    while (sh->port == 0)
        usleep(1000);
    double t0 = now_s();
    int bad = start_crowds(sh, endpoints, hosts, crowd, CROWDS);
    double t = now_s() - t0;
    if (bad)
        kill(pid, SIGKILL);
    wait4(pid, NULL, 0, &ru);
    if (!bad)
        report(sh, endpoints, hosts, t0, t, &ru);
    munmap(sh, sizeof *sh);
    return bad;
}

/* ---- real processes ---- */

static void join_one(struct shared *sh, int i, int n, int port)
{
    struct wio_config cfg;
    struct wio_table *t = NULL;
    int first = n / 2;
    struct wio_whoami me = {.pbid = i >= first,
                            .npb = 2,
                            .rank = i >= first ? i - first : i,
                            .nprocs = i >= first ? n - first : first,
                            .job_id = "bench-real"};
    wio_config_defaults(&cfg);
    wio_text(cfg.master_host, sizeof cfg.master_host, "127.0.0.1");
    cfg.master_port = port;
    struct wio_join_params p = {.cfg = &cfg, .secret = &secret, .me = &me, .timeout_s = 60};
    alarm(LIMIT_S);
    (void)wio_boot_addresses(&cfg, NULL, &p.offer.host);
    __sync_fetch_and_add(&sh->done, 1);
    while (sh->go == 0)
        usleep(500);
    double t0 = now_s();
    int rc = wio_join(&p, &t);
    sh->seconds[i] = now_s() - t0;
    if (rc != 0) {
        if (__sync_fetch_and_add(&sh->failed, 1) == 0)
            fprintf(stderr, "process %d: %s\n", i, wio_last_error());
        _exit(1);
    }
    bool ok = t->size == (uint32_t)n;
    wio_table_free(t);
    _exit(ok ? 0 : 1);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int free_port(void)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_storage got = {0};
    socklen_t len = sizeof got;
    int fd = wio_os_socket(AF_INET, SOCK_STREAM);
    int rc = wio_os_bind(fd, (struct sockaddr *)&sa, sizeof sa);
    if (rc == 0)
        rc = wio_os_sockname(fd, &got, &len);
    wio_os_close(fd);
    return rc == 0 ? ntohs(((struct sockaddr_in *)&got)->sin_port) : 7100;
}

static int run_real(int n)
{
    struct shared *sh = share();
    int port = free_port(), bad = 0, status;
    pid_t *pid = calloc((size_t)n, sizeof *pid);
    for (int i = 0; i < n; i++) {
        pid[i] = fork();
        if (pid[i] == 0)
            join_one(sh, i, n, port);
    }
    while (sh->done < n)
        usleep(1000);
    double t0 = now_s();
    sh->go = 1;
    for (int i = 0; i < n; i++)
        bad += waitpid(pid[i], &status, 0) < 0 || status != 0;
    double t = now_s() - t0;
    qsort(sh->seconds, (size_t)n, sizeof sh->seconds[0], by_value);
    if (bad == 0)
        printf("real     %7d processes  %5d blocks %6.3f s until all have joined and ended; in the "
               "call: median %.3f s, "
               "slowest %.3f s\n",
               n, 2, t, sh->seconds[n / 2], sh->seconds[n - 1]);
    free(pid);
    munmap(sh, sizeof *sh);
    return bad != 0;
}

static bool wants_virtual(int argc, char **argv)
{
    direct = strcmp(argv[1], "direct") == 0;
    if (!direct && strcmp(argv[1], "virtual") != 0)
        return false;
    if (argc == 5 && atoi(argv[4]) > 0)
        unpack_every = atoi(argv[4]);
    return (argc == 4 || argc == 5) && atoi(argv[2]) > 0 && atoi(argv[3]) > 0;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 1 && wants_virtual(argc, argv))
        return run_virtual(atoi(argv[2]), atoi(argv[3]));
    if (argc == 3 && strcmp(argv[1], "real") == 0 && atoi(argv[2]) > 1 && atoi(argv[2]) <= 4096)
        return run_real(atoi(argv[2]));
    if (argc != 1) {
        fprintf(stderr,
                "usage: bench_join [virtual|direct ENDPOINTS HOSTS [N] | real PROCESSES]\n");
        return 2;
    }
    static const int series[][2] = {{2500, 100},  {5000, 200},  {10000, 400},
                                    {20000, 800}, {20000, 200}, {80000, 200}};
    int bad = 0;
    for (size_t i = 0; i < sizeof series / sizeof series[0]; i++)
        bad |= run_virtual(series[i][0], series[i][1]);
    bad |= run_real(64);
    return bad | run_real(512);
}
