/* SPDX-License-Identifier: BSD-3-Clause */
/** @file main.c  waitio-relay: arguments, signals, the loop. See docs/man/waitio-relay.1.md. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>

#include "boot/listen.h"
#include "relay.h"
#include "../serving.h"

#define EVENTS 256
#define PORT_DEFAULT 7200
#define LINKS_DEFAULT 1024
#define SPIN_US_DEFAULT 50
#define CLOCK_ROUNDS 64
#define SPIN_CPUS 4 /* with fewer processors others need the time */

struct arguments {
    const char *bind;
    long port, links, spin_us;
    bool print_port;
};

/* ---- arguments ---- */

static int usage(int status)
{
    fputs("usage: waitio-relay [--port P] [--bind ADDRESS] [--links N] [--spin US] [--print-port]\n"
          "Carries messages between networks that cannot reach each other. Programs name it in\n"
          "WAITIO_RELAY=HOST:PORT; it has the secret that they have.\n"
          "  --port P        listen there (7200; 0: any free port)\n"
          "  --bind ADDRESS  only on this address\n"
          "  --links N       most links at a time (1024, less with few descriptors)\n"
          "  --spin US       poll so long after bytes have moved, before sleeping (50; 0 with\n"
          "                  fewer than 4 processors)\n"
          "  --print-port    print the port when it listens\n",
          status == 0 ? stdout : stderr);
    return status;
}

static bool to_number(const char *text, long min, long max, long *v)
{
    char *end = NULL;
    errno = 0;
    *v = strtol(text, &end, 10);
    if (errno == 0 && end != text && *end == '\0' && *v >= min && *v <= max)
        return true;
    fprintf(stderr, "waitio-relay: '%s' is no number from %ld to %ld\n", text, min, max);
    return false;
}

static bool take(struct arguments *a, int c)
{
    switch (c) {
    case 'p':
        return to_number(optarg, 0, 65535, &a->port);
    case 'b':
        a->bind = optarg;
        return true;
    case 'l':
        return to_number(optarg, 1, 1000000, &a->links);
    case 's':
        return to_number(optarg, 0, 1000000, &a->spin_us);
    case 'P':
        a->print_port = true;
        return true;
    default:
        return false;
    }
}

/* @return 0 go on, else the exit status + 1 */
static int parse_args(struct arguments *a, int argc, char **argv)
{
    static const struct option options[] = {
        {"port", required_argument, NULL, 'p'},  {"bind", required_argument, NULL, 'b'},
        {"links", required_argument, NULL, 'l'}, {"spin", required_argument, NULL, 's'},
        {"print-port", no_argument, NULL, 'P'},  {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},     {NULL, 0, NULL, 0}};
    for (int c; (c = getopt_long(argc, argv, "p:h", options, NULL)) != -1;) {
        if (c == 'h')
            return usage(0) + 1;
        if (c == 'v') {
            puts("waitio-relay, relay of WaitIO");
            return 1;
        }
        if (!take(a, c))
            return usage(2) + 1;
    }
    if (optind < argc) {
        fprintf(stderr, "waitio-relay: '%s' is not understood\n", argv[optind]);
        return usage(2) + 1;
    }
    return 0;
}

/* ---- setting up ---- */

static int watch_signals(struct relay *r)
{
    r->signal.kind = K_SIGNAL;
    int rc = serving_watch_signals(&r->signal.fd);
    if (rc != 0)
        return rc;
    return wio_os_epoll_ctl(r->epfd, EPOLL_CTL_ADD, r->signal.fd, EPOLLIN, &r->signal);
}

static int listen_there(struct relay *r, const struct arguments *a)
{
    const char *bind = a->bind;
    if (bind == NULL && r->secret.len == 0 && !r->cfg.secret_none_remote)
        bind = "127.0.0.1"; /* without a secret nobody from elsewhere is let in */
    r->port = (uint16_t)a->port;
    r->listener.kind = K_LISTENER;
    int rc = wio_boot_listen(bind, &r->port, &r->listener.fd);
    if (rc == WAITIO_ERR_JOIN)
        return wio_fail(rc, "port %ld is taken by another program: choose another one (--port)",
                        a->port);
    if (rc == 0)
        rl_near_listener(r);
    if (rc == 0)
        rc = wio_os_epoll_ctl(r->epfd, EPOLL_CTL_ADD, r->listener.fd, EPOLLIN, &r->listener);
    return rc;
}

/* A link takes two sockets and up to two pipes; each process has one line. */
static void bound(struct relay *r, const struct arguments *a)
{
    int fds = wio_os_fd_limit();
    r->max_links = (uint32_t)a->links;
    r->max_strangers = STRANGERS_MAX;
    if (fds > 0 && r->max_links > (uint32_t)fds / 8) {
        r->max_links = (uint32_t)fds / 8;
        wio_warn(&r->log, WIO_C_SERV,
                 "at most %u links at a time instead of %ld: this process may open %d descriptors "
                 "(ulimit -n)",
                 r->max_links, a->links, fds);
    }
    if (fds > 0 && r->max_strangers > (uint32_t)fds / 8)
        r->max_strangers = (uint32_t)fds / 8 + 1;
    long spin = a->spin_us >= 0 ? a->spin_us : wio_os_cpus() >= SPIN_CPUS ? SPIN_US_DEFAULT : 0;
    r->spin_ns = spin * 1000;
    r->silence_ns = (int64_t)(r->cfg.connect_timeout * 1e9);
}

static int set_up(struct relay *r, const struct arguments *a)
{
    for (int i = 0; i < G_PHASES; i++)
        wio_list_init(&r->guests[i]);
    struct wio_list *lists[] = {&r->dead_guests, &r->tombs, &r->pairs,
                                &r->ready,       &r->pipes, &r->dead_pairs};
    for (size_t i = 0; i < WIO_ARRAY_LEN(lists); i++)
        wio_list_init(lists[i]);
    r->listener.fd = r->signal.fd = -1;
    r->epfd = wio_os_epoll_create();
    if (r->epfd < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, r->epfd, "epoll_create");
    int rc = serving_load(&r->cfg, &r->log);
    if (rc == 0)
        rc = wio_secret_load(&r->secret, &r->cfg, &r->log);
    if (rc == 0)
        rc = watch_signals(r);
    if (rc == 0)
        bound(r, a);
    return rc == 0 ? listen_there(r, a) : rc;
}

/* ---- the loop ---- */

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* @return what epoll_wait may sleep */
static int look_at_clock(struct relay *r)
{
    int64_t now = wio_os_now_ns();
    if (r->touched || now >= r->due) { /* not for each small message */
        r->touched = false;
        r->due =
            sooner(rl_links_tick(r, now), sooner(rl_guests_tick(r, now), rl_seats_tick(r, now)));
    }
    int64_t next = r->due;
    if (r->moved) {
        r->moved = false;
        r->moved_ns = now;
    }
    if (!wio_list_empty(&r->ready) || now - r->moved_ns < r->spin_ns)
        return 0;
    if (next == INT64_MAX)
        return -1;
    int64_t ms = next <= now ? 0 : (next - now) / NS_PER_MS + 1;
    return ms > 60000 ? 60000 : (int)ms;
}

/* Between small messages nothing is due; a look now and then serves what has to be done. */
static int wait_ms(struct relay *r)
{
    bool busy = r->moved && r->spin_ns == 0 && !r->touched && wio_list_empty(&r->ready);
    if (!busy || ++r->rounds % CLOCK_ROUNDS == 0)
        r->sleep_ms = look_at_clock(r);
    r->moved = r->moved && r->spin_ns > 0;
    return r->sleep_ms;
}

/* @return go on */
static bool dispatch(struct relay *r, const struct epoll_event *ev)
{
    int kind = *(const int *)ev->data.ptr;
    if (kind == K_SIGNAL)
        return false;
    r->touched |= kind != K_END;
    if (kind == K_LISTENER)
        rl_accept(r);
    else if (kind == K_GUEST)
        rl_guest_event(r, ev->data.ptr, ev->events);
    else
        rl_end_event(r, ev->data.ptr, ev->events);
    return true;
}

static int serve(struct relay *r)
{
    struct epoll_event ev[EVENTS];
    bool go_on = true;
    while (go_on) {
        int n = wio_os_epoll_wait(r->epfd, ev, EVENTS, wait_ms(r));
        if (n < 0)
            return wio_fail_os(WAITIO_ERR_SYSTEM, n, "epoll_wait");
        for (int i = 0; i < n; i++)
            go_on &= dispatch(r, &ev[i]);
        if (!wio_list_empty(&r->ready))
            rl_links_run(r);
        rl_guests_bury(r);
        rl_links_bury(r);
    }
    return 0;
}

static void tear_down(struct relay *r)
{
    wio_log_gate_end(&r->refused, &r->log, WIO_C_SERV, "refused connections");
    rl_links_free(r);
    for (int i = 0; i < G_PHASES; i++)
        for (struct wio_list *it; (it = wio_list_first(&r->guests[i])) != NULL;)
            rl_guest_over(r, WIO_CONTAINER(it, struct guest, node));
    rl_guests_bury(r);
    rl_seats_free(r);
    wio_os_close(r->listener.fd);
    wio_os_close(r->epfd);
    wio_secret_wipe(&r->secret);
}

int main(int argc, char **argv)
{
    struct arguments a = {.port = PORT_DEFAULT, .links = LINKS_DEFAULT, .spin_us = -1};
    int rc = parse_args(&a, argc, argv);
    if (rc != 0)
        return rc - 1;
    struct relay *r = calloc(1, sizeof *r);
    if (r == NULL)
        return 1;
    rc = set_up(r, &a);
    if (rc == 0) {
        wio_info(&r->log, WIO_C_SERV, "relay listens on port %u, at most %u links", r->port,
                 r->max_links);
        if (a.print_port) {
            printf("%u\n", r->port);
            fflush(stdout);
        }
        rc = serve(r);
    }
    if (rc != 0)
        fprintf(stderr, "waitio-relay: %s\n", wio_last_error());
    else
        wio_info(&r->log, WIO_C_SERV,
                 "relay ends: %" PRIu64 " calls, %" PRIu64 " links, %" PRIu64 " bytes relayed",
                 r->calls, r->links, r->bytes);
    tear_down(r);
    free(r);
    return rc != 0;
}
