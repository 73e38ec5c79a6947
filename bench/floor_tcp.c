/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The floor: a bare TCP ping-pong without any protocol, and a write-per-message loop.
 *   floor_tcp spin|yield|block 0 PORT HOST [CPU [SCALE [MAXBYTES [CC]]]]   measuring side, dials
 *   floor_tcp spin|yield|block 1 PORT HOST ...                       echoing side, listens on HOST
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pt2pt.h"

struct floor {
    int fd;
    bool spin, yield;
    struct bench_memory out, in;
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void put(const struct floor *f, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t k = send(f->fd, p, n, MSG_NOSIGNAL);
        if (k < 0 && errno != EAGAIN && errno != EINTR)
            die("send");
        if (k < 0 && f->yield)
            sched_yield();
        if (k > 0) {
            p += k;
            n -= (size_t)k;
        }
    }
}

static void get(const struct floor *f, char *p, size_t n)
{
    while (n > 0) {
        ssize_t k = recv(f->fd, p, n, 0);
        if (k == 0 || (k < 0 && errno != EAGAIN && errno != EINTR))
            die("recv");
        if (k < 0 && f->yield)
            sched_yield();
        if (k > 0) {
            p += k;
            n -= (size_t)k;
        }
    }
}

static void give(void *arg, size_t bytes)
{
    struct floor *f = arg;
    put(f, bench_place(&f->out, bytes), bytes);
}

static void take(void *arg, size_t bytes)
{
    struct floor *f = arg;
    get(f, bench_place(&f->in, bytes), bytes);
}

/* As much as the socket takes, or has. @return bytes */
static size_t some(ssize_t k, const char *what)
{
    if (k == 0 || (k < 0 && errno != EAGAIN && errno != EINTR))
        die(what);
    return k > 0 ? (size_t)k : 0;
}

static void both(void *arg, size_t bytes)
{
    struct floor *f = arg;
    const char *from = bench_place(&f->out, bytes);
    char *to = bench_place(&f->in, bytes);
    size_t sent = 0, got = 0;
    while (sent < bytes || got < bytes) {
        size_t before = sent + got;
        if (sent < bytes)
            sent +=
                some(send(f->fd, from + sent, bytes - sent, MSG_NOSIGNAL | MSG_DONTWAIT), "send");
        if (got < bytes)
            got += some(recv(f->fd, to + got, bytes - got, MSG_DONTWAIT), "recv");
        short want = (short)((sent < bytes ? POLLOUT : 0) | (got < bytes ? POLLIN : 0));
        struct pollfd pf = {f->fd, want, 0};
        if (sent + got == before && f->yield)
            sched_yield();
        else if (sent + got == before && !f->spin && want != 0)
            poll(&pf, 1, -1);
    }
}

static struct addrinfo *resolve(const char *host, const char *port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *res = NULL;
    int rc = getaddrinfo(host, port, &hints, &res);
    if (rc != 0) {
        fprintf(stderr, "%s: %s\n", host, gai_strerror(rc));
        exit(1);
    }
    return res;
}

static void tune(int fd, const char *cc)
{
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (cc != NULL && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, (socklen_t)strlen(cc)) != 0)
        perror("TCP_CONGESTION");
}

static int dial(const char *host, const char *port, const char *cc)
{
    struct addrinfo *a = resolve(host, port);
    for (int tries = 0; tries < 500; tries++) {
        int fd = socket(a->ai_family, SOCK_STREAM, 0);
        tune(fd, cc);
        if (connect(fd, a->ai_addr, a->ai_addrlen) == 0) {
            freeaddrinfo(a);
            return fd;
        }
        close(fd);
        usleep(10000);
    }
    die("connect");
    return -1;
}

static int await(const char *host, const char *port, const char *cc)
{
    struct addrinfo *a = resolve(host, port);
    int one = 1, ls = socket(a->ai_family, SOCK_STREAM, 0);
    setsockopt(ls, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    tune(ls, cc);
    if (bind(ls, a->ai_addr, a->ai_addrlen) != 0 || listen(ls, 1) != 0)
        die("bind");
    int fd = accept(ls, NULL, NULL);
    if (fd < 0)
        die("accept");
    tune(fd, cc);
    close(ls);
    freeaddrinfo(a);
    return fd;
}

static void window_taken(void *arg)
{
    struct floor *f = arg;
    get(f, f->in.at, 8 * BENCH_WINDOW);
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr,
                "usage: floor_tcp spin|yield|block 0|1 PORT HOST [CPU [SCALE [MAXBYTES [CC]]]]\n");
        return 2;
    }
    int scale = argc > 6 ? atoi(argv[6]) : 1;
    size_t max = argc > 7 ? strtoull(argv[7], NULL, 10) : 0;
    const char *cc = argc > 8 ? argv[8] : NULL;
    bench_pin(argc > 5 ? atoi(argv[5]) : -1);
    bool zero = argv[2][0] == '0';
    struct floor f = {.yield = strcmp(argv[1], "yield") == 0};
    f.spin = f.yield || strcmp(argv[1], "spin") == 0;
    f.fd = zero ? dial(argv[4], argv[3], cc) : await(argv[4], argv[3], cc);
    f.out = bench_memory(max); /* apart, as in the programs that it is compared with */
    f.in = bench_memory(max);
    if (f.spin)
        fcntl(f.fd, F_SETFL, O_NONBLOCK);
    struct bench_pair p = {give, take, both, NULL, window_taken, &f, scale, max};
    if (zero)
        bench_measure(&p);
    else
        bench_answer(&p);
    return 0;
}
