/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file fuzz_frames.c
 * The stream parser of a TCP link, fed with arbitrary bytes cut at arbitrary places, after a real
 * handshake's end state. The first input bytes choose the cuts, the sinks and when p2p says stop;
 * sequence numbers can be repaired so that the parser is reached behind the first header.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/tcp/tcp.h"

struct choice {
    const uint8_t *data;
    size_t n, at;
};

struct upper {
    struct choice pick;
    int open; /* messages accepted and not finished */
    uint8_t *buf;
    bool closed;
};

static uint8_t choose(struct choice *c)
{
    return c->n == 0 ? 0 : c->data[c->at++ % c->n];
}

static int on_message(void *user, struct wio_ep *ep, uint32_t peer,
                      const uint8_t msg[WIO_MSG_BYTES], uint32_t bytes, struct wio_sink *sink)
{
    struct upper *u = user;
    (void)ep;
    (void)peer;
    (void)msg;
    if (u->closed || u->open != 0)
        abort(); /* after CLOSED, or a second message inside the first */
    uint8_t how = choose(&u->pick);
    if (how % 16 == 0)
        return WAITIO_ERR_NOMEM;
    size_t len = how % 4 == 1 ? bytes / 2 : how % 4 == 2 ? 0 : bytes;
    if (len > 4096)
        len = 4096; /* exact room, so that a sanitizer sees one byte too many */
    u->buf = malloc(len > 0 ? len : 1);
    sink->buf = len > 0 ? u->buf : NULL;
    sink->len = len;
    u->open = 1;
    return 0;
}

static int on_payload(void *user, struct wio_ep *ep, uint32_t peer, struct wio_sink *sink)
{
    struct upper *u = user;
    (void)ep;
    (void)peer;
    (void)sink;
    if (u->closed || u->open != 1)
        abort();
    u->open = 0;
    free(u->buf);
    return choose(&u->pick) % 4 == 0;
}

static void on_abandon(void *user, uint32_t peer, struct wio_sink *sink)
{
    struct upper *u = user;
    (void)peer;
    (void)sink;
    if (u->open != 1)
        abort();
    u->open = 0;
    free(u->buf);
}

static void on_state(void *user, struct wio_ep *ep, uint32_t peer, enum wio_ep_state state, int err,
                     enum wio_bye_reason reason, const char *text)
{
    struct upper *u = user;
    (void)ep;
    (void)peer;
    (void)err;
    (void)reason;
    (void)text;
    if (u->closed)
        abort(); /* nothing comes after CLOSED */
    u->closed = state == WIO_EP_CLOSED;
}

static bool on_may_close(void *user, struct wio_ep *ep, uint32_t peer)
{
    (void)user;
    (void)ep;
    (void)peer;
    return false;
}

static const struct wio_upcalls upcalls = {.on_message = on_message,
                                           .on_payload = on_payload,
                                           .on_abandon = on_abandon,
                                           .on_state = on_state,
                                           .on_may_close = on_may_close};

/* Make the headers plausible: bit 0 of the mode repairs magic and version, bit 1 the numbers. */
static void repair(uint8_t *p, size_t n, uint8_t mode)
{
    uint32_t seq = 0;
    for (size_t i = 0; i + WIO_HDR_BYTES <= n;) {
        uint8_t *h = p + i;
        if (mode & 1) {
            wio_put16(h, WIO_WIRE_MAGIC);
            h[2] = WIO_WIRE_VERSION;
            h[3] = (uint8_t)(h[3] % 8 == 7 ? 1 : h[3] % 8);
            h[4] = 0;
            h[5] &= mode & 4;
        }
        uint32_t bytes = wio_get32(h + 8) % 3000;
        if (mode & 2) {
            wio_put32(h + 8, h[3] == WIO_FRAME_MESSAGE ? bytes : 0);
            wio_put32(h + 12, h[3] == WIO_FRAME_MESSAGE ? ++seq : 0);
            wio_put32(h + 16, 0);
            wio_put16(h + 6, h[3] == WIO_FRAME_GOODBYE ? h[6] % 7 : 0);
            wio_put32(h + 20, 0);
        }
        i += WIO_HDR_BYTES + wio_get32(h + 8) % (n + 1);
    }
}

static struct wio_iface *make_iface(struct wio_iface_params *p, struct wio_table *t)
{
    struct wio_iface *f = NULL;
    if (wio_transport_tcp.open(p, &f) != 0)
        abort();
    wio_transport_tcp.start(f, t);
    return f;
}

/* A READY link over one end of a socket pair. */
static struct tcp_link *make_link(struct wio_iface *iface, int fd)
{
    struct tcp_iface *f = tcp_iface_of(iface);
    struct tcp_link *l = wio_tcp_link_new(f, 1, 0);
    union tcp_addr a = {.sa.sa_family = AF_INET};
    struct tcp_conn *c = wio_tcp_conn_new(f, fd, &a);
    if (l == NULL || c == NULL || wio_tcp_conn_watch(c) < 0 || wio_tcp_link_adopt(l, c) < 0)
        abort();
    wio_tcp_conn_close(c);
    wio_tcp_bury(f);
    l->known = true;
    wio_tcp_set_state(l, TCP_CONFIRM);
    return l;
}

/* The stream in pieces of chosen sizes, then its end. */
static void feed(struct upper *u, struct wio_iface *iface, struct tcp_link *l, int fd,
                 const uint8_t *bytes, size_t n)
{
    for (size_t at = 0; at < n && !u->closed;) {
        size_t cut = 1 + (size_t)choose(&u->pick) * (choose(&u->pick) % 8 == 0 ? 64 : 1);
        if (cut > n - at)
            cut = n - at;
        ssize_t w = write(fd, bytes + at, cut);
        at += w > 0 ? (size_t)w : 0;
        (void)wio_transport_tcp.progress_ep(&l->ep);
    }
    for (int i = 0; i < 4096 && !u->closed; i++)
        if (wio_transport_tcp.progress(iface, WIO_PROGRESS_FULL) <= 0)
            break;
    close(fd);
    for (int i = 0; i < 4096 && !u->closed; i++)
        (void)wio_transport_tcp.progress(iface, WIO_PROGRESS_FULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 8)
        return 0;
    struct wio_config cfg;
    struct wio_secret secret = {.len = 32};
    struct wio_counters ctr = {0};
    struct upper u = {.pick = {data + 1, 7, 0}};
    uint32_t two = 2, zero = 0;
    struct wio_tab_host host = {.identity = 1, .naddr = 0};
    struct wio_tab_ep ep[2] = {{0, 1, 2, 0}, {0, 1, 2, 0}};
    struct wio_table t = {.npb = 1,
                          .nhosts = 1,
                          .size = 2,
                          .pb_size = &two,
                          .pb_base = &zero,
                          .host = &host,
                          .ep = ep};
    struct wio_iface_params p = {&cfg, &secret, NULL, &ctr, &upcalls, &u};
    wio_config_defaults(&cfg);
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0)
        return 0;
    struct wio_iface *iface = make_iface(&p, &t);
    struct tcp_link *l = make_link(iface, pair[0]);
    size_t n = size - 8;
    uint8_t *bytes = malloc(n + 1);
    memcpy(bytes, data + 8, n);
    repair(bytes, n, data[0]);
    feed(&u, iface, l, pair[1], bytes, n);
    if (u.closed && u.open != 0)
        abort(); /* a sink was forgotten */
    if (u.open)
        free(u.buf);
    wio_transport_tcp.close_iface(iface);
    free(bytes);
    return 0;
}
