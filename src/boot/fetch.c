/* SPDX-License-Identifier: BSD-3-Clause */
/** @file fetch.c  See fetch.h. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "boot/fetch.h"
#include "os/os.h"

#define CONNECT_NS INT64_C(1000000000) /* per address */
#define QUIET_NS INT64_C(3000000000)   /* without a byte; longer for a table that takes long */
#define SLOW_BYTES_PER_MS 20000
#define BIT(type) (1u << (type))

void wio_fetch_init(struct wio_fetch *f)
{
    memset(f, 0, sizeof *f);
    f->bc.fd = f->bc.rx_fd = -1;
}

static void fail(struct wio_fetch *f, const char *why)
{
    wio_bc_close(&f->bc);
    wio_os_free(f->packed);
    f->packed = NULL;
    if (why != f->why)
        wio_text(f->why, sizeof f->why, "%s", why);
    f->state = WIO_FETCH_FAILED;
}

/* A parent may still wait for its own table; for a large one it waits longer. */
static int64_t patience(const struct wio_fetch *f)
{
    return QUIET_NS + (int64_t)(f->from.bytes / SLOW_BYTES_PER_MS) * 1000000;
}

/* ---- messages of the parent ---- */

static int on_opened(struct wio_bc *c)
{
    struct wio_fetch *f = c->owner;
    struct wio_boot_fetch m = {.why = ""};
    uint8_t out[WIO_BOOT_FETCH_MAX];
    memcpy(m.universe, f->from.universe, sizeof m.universe);
    wio_text(m.host, sizeof m.host, "%s", f->host);
    c->allowed = BIT(WIO_BOOT_TABLE);
    return wio_bc_send(c, WIO_BOOT_FETCH, out, wio_boot_put_fetch(out, &m));
}

static void *table_room(struct wio_bc *c, size_t n)
{
    struct wio_fetch *f = c->owner;
    if (n != f->from.bytes || f->packed != NULL)
        return NULL;
    return f->packed = wio_os_alloc(n);
}

static int on_frame(struct wio_bc *c, enum wio_boot_type type, const uint8_t *p, size_t n)
{
    struct wio_fetch *f = c->owner;
    struct wio_image_head h;
    (void)type; /* only TABLE is allowed */
    (void)p;
    int rc = wio_unpack_head(f->packed, n, &h);
    if (rc == 0 && memcmp(h.universe, f->from.universe, sizeof h.universe) != 0)
        rc = wio_fail(WAITIO_ERR_JOIN, "it has the table of another universe");
    if (rc != 0)
        return rc;
    f->bytes = n;
    f->state = WIO_FETCH_DONE;
    return 0;
}

/* ---- the connection ---- */

/* @return false: not an address for us */
static bool to_sockaddr(const struct wio_fetch *f, const struct wio_tab_addr *a,
                        struct sockaddr_storage *sa, socklen_t *len)
{
    if (a->loopback && f->from.host.identity != f->identity)
        return false;
    memset(sa, 0, sizeof *sa);
    if (a->family == 4) {
        struct sockaddr_in *in = (struct sockaddr_in *)sa;
        in->sin_family = AF_INET;
        in->sin_port = htons(f->from.port);
        memcpy(&in->sin_addr, a->ip, 4);
        *len = sizeof *in;
    } else {
        struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)sa;
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons(f->from.port);
        in6->sin6_scope_id = a->scope;
        memcpy(&in6->sin6_addr, a->ip, 16);
        *len = sizeof *in6;
    }
    return true;
}

static bool could_not(struct wio_fetch *f, const char *why)
{
    wio_text(f->why, sizeof f->why, "%.230s", why);
    return false;
}

/* @return connecting; otherwise f->why has the reason */
static bool dial(struct wio_fetch *f, const struct sockaddr_storage *sa, socklen_t len)
{
    static const struct wio_bc_upcalls up = {
        .frame = on_frame, .opened = on_opened, .table_room = table_room};
    int one = 1, fd = wio_os_socket(sa->ss_family, SOCK_STREAM);
    if (fd < 0)
        return could_not(f, strerror(-fd));
    int rc = wio_os_connect(fd, (const struct sockaddr *)sa, len);
    if (rc != 0 && rc != -EINPROGRESS) {
        wio_os_close(fd);
        return could_not(f, strerror(-rc));
    }
    wio_os_setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (wio_bc_start(&f->bc, fd, WIO_AUTH_DIAL, false, true, f->secret, &up, f) != 0)
        return could_not(f, wio_last_detail());
    f->bc.kind = f->kind;
    rc = wio_bc_arm(&f->bc, f->epfd);
    if (rc == 0)
        return true;
    wio_bc_close(&f->bc);
    return could_not(f, strerror(-rc));
}

static void try_next(struct wio_fetch *f)
{
    while (f->next < f->from.host.naddr) {
        struct sockaddr_storage sa;
        socklen_t len = 0;
        if (!to_sockaddr(f, &f->from.host.addr[f->next++], &sa, &len))
            continue;
        int64_t now = wio_os_now_ns();
        f->connect_ns = now + CONNECT_NS;
        f->quiet_ns = now + patience(f);
        f->seen = 0;
        if (dial(f, &sa, len))
            return;
    }
    fail(f, f->why[0] != '\0' ? f->why : "it has no address for us");
}

void wio_fetch_start(struct wio_fetch *f, int epfd, int kind, const struct wio_secret *secret,
                     const struct wio_boot_parent *from, const char *my_host, uint64_t identity)
{
    wio_fetch_close(f);
    f->state = WIO_FETCH_GOING;
    f->epfd = epfd;
    f->kind = kind;
    f->secret = secret;
    f->from = *from;
    f->identity = identity;
    wio_text(f->host, sizeof f->host, "%s", my_host);
    try_next(f);
}

/* The connection has ended. Try another address only if this one was never connected. */
static void ended(struct wio_fetch *f, bool connected)
{
    char why[WIO_BOOT_WHY];
    wio_text(why, sizeof why, "%.230s",
             f->bc.text[0] != '\0' ? f->bc.text : "the connection ended");
    wio_bc_close(&f->bc);
    if (connected) {
        fail(f, why);
        return;
    }
    wio_text(f->why, sizeof f->why, "%s", why);
    try_next(f);
}

void wio_fetch_event(struct wio_fetch *f, uint32_t events)
{
    if (f->state != WIO_FETCH_GOING)
        return;
    bool connected = f->bc.state != WIO_BC_CONNECTING;
    bool alive = wio_bc_event(&f->bc, events);
    if (f->state == WIO_FETCH_DONE) {
        wio_bc_close(&f->bc);
        return;
    }
    if (alive && wio_bc_arm(&f->bc, f->epfd) == 0) {
        if (f->bc.rx_bytes != f->seen)
            f->quiet_ns = wio_os_now_ns() + patience(f);
        f->seen = f->bc.rx_bytes;
        return;
    }
    ended(f, connected);
}

void wio_fetch_tick(struct wio_fetch *f, int64_t now)
{
    if (f->state != WIO_FETCH_GOING)
        return;
    if (f->bc.state == WIO_BC_CONNECTING && now >= f->connect_ns) {
        wio_text(f->bc.text, sizeof f->bc.text, "no answer to a connection attempt within %d ms",
                 (int)(CONNECT_NS / 1000000));
        ended(f, false);
    } else if (now >= f->quiet_ns) {
        wio_text(f->bc.text, sizeof f->bc.text, "not a byte came for %d ms",
                 (int)(patience(f) / 1000000));
        ended(f, true);
    }
}

int64_t wio_fetch_next_ns(const struct wio_fetch *f)
{
    if (f->state != WIO_FETCH_GOING)
        return INT64_MAX;
    return f->bc.state == WIO_BC_CONNECTING && f->connect_ns < f->quiet_ns ? f->connect_ns
                                                                           : f->quiet_ns;
}

void wio_fetch_close(struct wio_fetch *f)
{
    if (f->state == WIO_FETCH_IDLE)
        return;
    wio_bc_close(&f->bc);
    wio_os_free(f->packed);
    wio_fetch_init(f);
}
