/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file bench_join.c
 * What joining costs. Virtual endpoints: one process plays the leaders of many hosts, each with a
 * TCP connection of its own, the handshake, and the messages that a real leader sends; the service
 * runs in another process. Real processes: fork, each calls wio_join, the service inside rank 0 of
 * PB 0.
 *
 *   bench_join                 the standard series
 *   bench_join virtual E H     E endpoints on H hosts
 *   bench_join real N          N processes in two blocks
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "boot/boot_conn.h"
#include "boot/boot_table.h"
#include "os/os.h"

#define LIMIT_S 120

struct shared {
    volatile int port, go;
    struct wio_service_stats stats;
    size_t peak;
    volatile int done, failed;
    double seconds[4096];
};

static struct wio_secret secret = {
    .key = "benchmark secret, not secret", .len = 28, .origin = "bench"};

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
    alarm(LIMIT_S);
    if (wio_service_start(&p, &s) != 0)
        _exit(1);
    sh->port = wio_service_port(s);
    for (int rc = 0; rc == 0;) {
        struct wio_service_stats st;
        rc = wio_service_run(s, 20000000);
        wio_service_stats(s, &st);
        if (st.bytes > sh->peak)
            sh->peak = st.bytes;
        sh->stats = st;
    }
    wio_service_stop(s);
    _exit(0);
}

/* ---- virtual leaders ---- */

struct crowd {
    struct leader *l;
    int hosts, per_host, epfd, left, shaking;
    uint32_t npb;
};

struct leader {
    struct wio_bc bc;
    struct crowd *c;
    int index;
    void *table;
    bool done;
};

static int opened(struct wio_bc *bc)
{
    struct leader *l = bc->owner;
    struct wio_boot_hello m = {.pid = (uint32_t)l->index, .job = "bench"};
    uint8_t out[WIO_BOOT_HELLO_MAX];
    wio_text(m.host, sizeof m.host, "node%05d", l->index);
    return wio_bc_send(bc, WIO_BOOT_HELLO, out, wio_boot_put_hello(out, &m));
}

/* Endpoint e of all is rank e / 2 of block e % 2: blocks share hosts. */
static int send_registrations(struct leader *l)
{
    static uint8_t out[WIO_BOOT_REGS_PER_MSG * WIO_BOOT_REG_BYTES];
    const struct crowd *c = l->c;
    uint32_t total = (uint32_t)(c->hosts * c->per_host);
    struct wio_tab_host h = {.identity = (uint64_t)l->index + 1, .naddr = 2};
    h.addr[0] =
        (struct wio_tab_addr){4, 0, 16, 0, 0, {10, 1, (uint8_t)(l->index >> 8), (uint8_t)l->index}};
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

/* Like a leader: unpack, validate. */
static int take_table(struct leader *l, size_t n)
{
    struct wio_table *t = NULL;
    struct wio_image_head h;
    void *image = NULL;
    int rc = wio_unpack_head(l->table, n, &h);
    if (rc == 0 && (image = wio_os_alloc((size_t)h.bytes)) == NULL)
        rc = wio_fail(WAITIO_ERR_NOMEM, "table");
    if (rc == 0)
        rc = wio_unpack(l->table, n, &h, image);
    if (rc == 0)
        rc = wio_table_open(image, (size_t)h.bytes, false, 0, 0, &t);
    if (rc == 0 && t->size != (uint32_t)(l->c->hosts * l->c->per_host))
        rc = wio_fail(WAITIO_ERR_PROTOCOL, "a table of %u", t->size);
    wio_table_free(t);
    wio_os_free(l->table);
    l->table = NULL;
    return rc == 0 ? wio_bc_send(&l->bc, WIO_BOOT_ACK, NULL, 0) : rc;
}

static int frame(struct wio_bc *bc, enum wio_boot_type type, const uint8_t *p, size_t n)
{
    struct leader *l = bc->owner;
    (void)p;
    if (type == WIO_BOOT_WELCOME)
        return send_registrations(l);
    if (type == WIO_BOOT_TABLE)
        return take_table(l, n);
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
    return rc != 0 ? rc : wio_bc_arm(&l->bc, l->c->epfd);
}

/* @return false: failed */
static bool on_event(struct crowd *c, struct leader *l, uint32_t events)
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
    if (l->bc.error != 0)
        fprintf(stderr, "leader %d: %s\n", l->index, l->bc.text);
    return l->bc.error == 0;
}

/* One process stands for many hosts and is slower than they: it dials as many at a time as it can
 * serve, so that none looks like an idle stranger. @return seconds, < 0 failed */
static double run_crowd(struct crowd *c, int port)
{
    struct epoll_event ev[256];
    int dialled = 0;
    c->epfd = wio_os_epoll_create();
    c->l = calloc((size_t)c->hosts, sizeof *c->l);
    c->left = c->hosts;
    double t0 = now_s();
    while (c->left > 0 && now_s() - t0 < LIMIT_S) {
        for (; dialled < c->hosts && c->shaking < 256; dialled++, c->shaking++) {
            c->l[dialled].c = c;
            c->l[dialled].index = dialled;
            if (dial(&c->l[dialled], port) != 0)
                return -1;
        }
        int n = wio_os_epoll_wait(c->epfd, ev, 256, 1000);
        for (int i = 0; i < n; i++)
            if (!on_event(c, ev[i].data.ptr, ev[i].events))
                return -1;
    }
    double t = now_s() - t0;
    wio_os_close(c->epfd);
    free(c->l);
    return c->left == 0 ? t : -1;
}

static int run_virtual(int endpoints, int hosts)
{
    struct shared *sh = share();
    struct crowd c = {.hosts = hosts, .per_host = endpoints / hosts};
    if (wio_os_fd_limit() < hosts + 64) {
        fprintf(stderr, "bench_join: %d hosts need %d descriptors, the limit is %d\n", hosts,
                hosts + 64, wio_os_fd_limit());
        return 1;
    }
    pid_t pid = fork();
    if (pid == 0)
        serve(sh);
    while (sh->port == 0)
        usleep(1000);
    double t = run_crowd(&c, sh->port);
    if (t < 0)
        kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    if (t >= 0)
        printf("virtual  %7d endpoints  %5d hosts  %7.3f s  %6.2f us/endpoint  in %8.2f MB  out "
               "%9.2f MB  %6.0f messages  "
               "service memory %7.2f MB (%5.1f B/endpoint)\n",
               endpoints, hosts, t, t * 1e6 / endpoints, (double)sh->stats.rx_bytes / 1e6,
               (double)sh->stats.tx_bytes / 1e6, (double)sh->stats.messages, (double)sh->peak / 1e6,
               (double)sh->peak / endpoints);
    munmap(sh, sizeof *sh);
    return t < 0;
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

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 4 && strcmp(argv[1], "virtual") == 0 && atoi(argv[2]) > 0 && atoi(argv[3]) > 0)
        return run_virtual(atoi(argv[2]), atoi(argv[3]));
    if (argc == 3 && strcmp(argv[1], "real") == 0 && atoi(argv[2]) > 1 && atoi(argv[2]) <= 4096)
        return run_real(atoi(argv[2]));
    if (argc != 1) {
        fprintf(stderr, "usage: bench_join [virtual ENDPOINTS HOSTS | real PROCESSES]\n");
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
