/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Raw bytes between two programs through waitio-relay, through floor_relay, or directly: round
 * trips of 8 bytes and a stream one way. What the relay costs, without the cost of messages.
 *   bench_relay relay|bare 0 HOST PORT    measures: dials the relay, or the forwarder or the other
 *   bench_relay relay|bare 1 HOST PORT    answers: registers at the relay, or listens on HOST
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "boot/lines.h"
#include "common.h"
#include "os/os.h"

enum { TRIPS = 5000, ROUNDS = 7, PIECE = 1 << 20 };
#define STREAM_BYTES (UINT64_C(1) << 30)

static struct wio_config cfg;
static struct wio_secret secret;
static struct wio_relays relays;

static void die(const char *what)
{
    fprintf(stderr, "bench_relay: %s: %s\n", what, wio_last_error());
    exit(1);
}

static void blocking(int fd)
{
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
}

static void prepare(const char *host, const char *port)
{
    wio_config_defaults(&cfg);
    const char *file = getenv("WAITIO_SECRET_FILE");
    if (file != NULL)
        wio_config_set(&cfg, "WAITIO_SECRET_FILE", file);
    snprintf(cfg.relay, sizeof cfg.relay, "%s:%s", host, port);
    if (wio_secret_load(&secret, &cfg, NULL) != 0 || wio_relays_read(&cfg, &secret, &relays) != 0)
        die("settings");
}

static const struct wio_place place = {.id = "bench_relay", .rank = 1};

static void take(void *owner, int fd, int relay)
{
    (void)relay;
    *(int *)owner = fd;
}

static int answer_relay(void)
{
    int fd = -1;
    struct wio_lines *l;
    struct wio_lines_params p = {.relays = &relays,
                                 .secret = &secret,
                                 .place = place,
                                 .silence_s = 30,
                                 .take = take,
                                 .owner = &fd};
    if (wio_lines_open(&p, &l) != 0)
        die("lines");
    while (fd < 0) {
        int set = wio_lines_fd(l);
        (void)wio_os_poll_in(&set, 1, 10000000);
        (void)wio_lines_run(l, wio_os_now_ns());
    }
    return fd;
}

static int dial(const struct wio_relay_at *at)
{
    for (int i = 0; i < 500; i++) {
        int fd = socket(at->addr.ss_family, SOCK_STREAM, 0);
        if (connect(fd, (const struct sockaddr *)&at->addr, at->len) == 0)
            return fd;
        close(fd);
        usleep(10000);
    }
    perror("connect");
    exit(1);
}

static int dial_relay(void)
{
    static struct wio_detour d;
    int fd = dial(&relays.at[0]);
    if (wio_detour_start(&d, &secret, WIO_DETOUR_CALL, &place, 0) != 0)
        die("detour");
    fcntl(fd, F_SETFL, O_NONBLOCK);
    enum wio_detour_state s;
    while ((s = wio_detour_drive(&d, fd)) == WIO_DETOUR_RUNNING)
        (void)wio_os_poll_in(&fd, 1, 1000000);
    if (s == WIO_DETOUR_DONE)
        return fd;
    fprintf(stderr, "bench_relay: %s\n", d.text);
    exit(1);
}

static int await(const struct wio_relay_at *at)
{
    int one = 1, ls = socket(at->addr.ss_family, SOCK_STREAM, 0);
    setsockopt(ls, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(ls, (const struct sockaddr *)&at->addr, at->len) != 0 || listen(ls, 1) != 0) {
        perror("listen");
        exit(1);
    }
    int fd = accept(ls, NULL, NULL);
    close(ls);
    return fd;
}

static void put(int fd, const char *p, size_t n)
{
    for (ssize_t k; n > 0; p += k, n -= (size_t)k)
        if ((k = send(fd, p, n, MSG_NOSIGNAL)) <= 0)
            exit(1);
}

static void get(int fd, char *p, size_t n)
{
    for (ssize_t k; n > 0; p += k, n -= (size_t)k)
        if ((k = recv(fd, p, n, 0)) <= 0)
            exit(1);
}

static void drain(int fd, char *buf, uint64_t n)
{
    for (ssize_t k; n > 0; n -= (uint64_t)k)
        if ((k = recv(fd, buf, n < PIECE ? n : PIECE, 0)) <= 0)
            exit(1);
}

static void measure(int fd, char *buf)
{
    double rtt[ROUNDS], stream[ROUNDS];
    for (int r = -1; r < ROUNDS; r++) { /* the first warms up */
        double t = bench_now();
        for (int i = 0; i < TRIPS; i++) {
            put(fd, buf, 8);
            get(fd, buf, 8);
        }
        if (r >= 0)
            rtt[r] = (bench_now() - t) / TRIPS;
        t = bench_now();
        for (uint64_t sent = 0; sent < STREAM_BYTES; sent += PIECE)
            put(fd, buf, PIECE);
        get(fd, buf, 8);
        if (r >= 0)
            stream[r] = (double)STREAM_BYTES / (bench_now() - t);
    }
    bench_report("rtt", 8, bench_median(rtt, ROUNDS));
    bench_report("stream", PIECE, bench_median(stream, ROUNDS));
}

static void answer(int fd, char *buf)
{
    for (int r = -1; r < ROUNDS; r++) {
        for (int i = 0; i < TRIPS; i++) {
            get(fd, buf, 8);
            put(fd, buf, 8);
        }
        drain(fd, buf, STREAM_BYTES);
        put(fd, buf, 8);
    }
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: bench_relay relay|bare 0|1 HOST PORT\n");
        return 2;
    }
    bool relay = strcmp(argv[1], "relay") == 0, zero = argv[2][0] == '0';
    prepare(argv[3], argv[4]);
    int fd = relay ? (zero ? dial_relay() : answer_relay())
                   : (zero ? dial(&relays.at[0]) : await(&relays.at[0]));
    blocking(fd);
    char *buf = bench_buffer(PIECE);
    if (zero)
        measure(fd, buf);
    else
        answer(fd, buf);
    return 0;
}
