/* SPDX-License-Identifier: BSD-3-Clause */
/** @file relay.c  See relay.h. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "boot/listen.h"
#include "boot/relay.h"
#include "os/os.h"

#define STRANGER_NS INT64_C(5000000000)
#define SPARE_PLACES 16 /* for strangers, besides the expected children */
#define BIT(type) (1u << (type))

struct child {
    struct wio_bc bc; /* first */
    struct wio_relay *r;
    char host[WIO_BOOT_NAME];
    bool asked, sent, dead;
    int64_t since_ns;
};

void wio_relay_init(struct wio_relay *r)
{
    memset(r, 0, sizeof *r);
    r->fd = -1;
    wio_list_init(&r->children);
    wio_list_init(&r->dead);
}

static void drop_all(struct wio_relay *r);

int wio_relay_open(struct wio_relay *r, int epfd, int kind, int child_kind, const char *bind_host,
                   const struct wio_secret *secret, struct wio_log *log,
                   const struct wio_boot_relay *what)
{
    r->kind = kind;
    r->child_kind = child_kind;
    r->epfd = epfd;
    r->secret = secret;
    r->log = log;
    r->expected = what->children;
    r->served = 0;
    memcpy(r->universe, what->universe, sizeof r->universe);
    if (r->fd >= 0) { /* the service was lost and found again: earlier children do not count */
        drop_all(r);
        return 0;
    }
    r->port = 0;
    int rc = wio_boot_listen(bind_host, &r->port, &r->fd);
    if (rc == 0 && (rc = wio_os_epoll_ctl(epfd, EPOLL_CTL_ADD, r->fd, EPOLLIN, &r->kind)) != 0) {
        wio_os_close(r->fd);
        rc = wio_fail_os(WAITIO_ERR_SYSTEM, rc, "epoll_ctl");
    }
    if (rc != 0)
        r->fd = -1;
    return rc;
}

static void drop(struct child *c)
{
    struct wio_relay *r = c->r;
    char note[96];
    if (c->dead)
        return;
    c->dead = true;
    if (c->sent && wio_bc_flushed(&c->bc) && c->bc.error == 0)
        r->served++;
    else if (c->asked)
        wio_info(r->log, WIO_C_BOOT, "host %s did not get the table from here: %s", c->host,
                 c->bc.text[0] != '\0' ? c->bc.text : "the connection ended");
    else if (wio_auth_is_final(c->bc.error) &&
             wio_log_gate(&r->refused, wio_os_now_ns(), note, sizeof note))
        wio_warn(r->log, WIO_C_BOOT, "refused to pass the table on: %s%s", c->bc.text, note);
    wio_bc_close(&c->bc);
    wio_list_remove(&c->bc.node);
    wio_list_push(&r->dead, &c->bc.node);
    r->nchildren--;
}

static void send_table(struct child *c)
{
    if (!c->asked || c->sent || c->r->packed == NULL)
        return;
    c->sent = true;
    (void)wio_bc_send_table(&c->bc, c->r->packed, c->r->bytes);
}

static int on_frame(struct wio_bc *bc, enum wio_boot_type type, const uint8_t *p, size_t n)
{
    struct child *c = WIO_CONTAINER(bc, struct child, bc);
    struct wio_boot_fetch m;
    int rc = type == WIO_BOOT_FETCH ? wio_boot_get_fetch(p, n, &m) : WAITIO_ERR_PROTOCOL;
    if (rc != 0)
        return rc;
    wio_text(c->host, sizeof c->host, "%s", m.host);
    c->asked = true;
    if (memcmp(m.universe, c->r->universe, sizeof m.universe) != 0)
        return wio_fail(WAITIO_ERR_JOIN, "it asked for the table of another universe");
    send_table(c);
    return 0;
}

static int on_opened(struct wio_bc *bc)
{
    bc->allowed = BIT(WIO_BOOT_FETCH);
    return 0;
}

static struct child *oldest_silent(const struct wio_relay *r)
{
    WIO_LIST_FOR(it, &r->children)
    {
        struct child *c = WIO_CONTAINER(it, struct child, bc.node);
        if (!c->asked)
            return c;
    }
    return NULL;
}

static void admit(struct wio_relay *r, int fd)
{
    static const struct wio_bc_upcalls up = {.frame = on_frame, .opened = on_opened};
    int one = 1;
    struct child *c = wio_os_alloc(sizeof *c);
    if (c == NULL ||
        wio_bc_start(&c->bc, fd, WIO_AUTH_ACCEPT, false, false, r->secret, &up, r) != 0) {
        if (c == NULL)
            wio_os_close(fd);
        wio_os_free(c);
        return;
    }
    wio_os_setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    c->bc.kind = r->child_kind;
    c->r = r;
    c->since_ns = wio_os_now_ns();
    wio_list_push(&r->children, &c->bc.node);
    r->nchildren++;
    wio_relay_event(c, EPOLLIN);
}

void wio_relay_accept(struct wio_relay *r)
{
    for (int i = 0; i < 64 && r->fd >= 0; i++) {
        struct sockaddr_storage sa;
        socklen_t len = sizeof sa;
        int fd = wio_os_accept(r->fd, &sa, &len);
        if (fd == -EAGAIN)
            return;
        if (fd < 0) { /* mostly too few descriptors: a child that cannot connect asks the service */
            wio_warn(r->log, WIO_C_BOOT,
                     "cannot accept a connection to pass the address table on: %s (descriptor "
                     "limit %d)",
                     strerror(-fd), wio_os_fd_limit());
            wio_os_close(r->fd);
            r->fd = -1;
            return;
        }
        if (r->nchildren >= r->expected + SPARE_PLACES) {
            struct child *c = oldest_silent(r);
            if (c != NULL)
                drop(c);
        }
        admit(r, fd);
    }
}

void wio_relay_event(void *ptr, uint32_t events)
{
    struct child *c = ptr;
    if (c->dead)
        return;
    if (!wio_bc_event(&c->bc, events) || wio_bc_arm(&c->bc, c->r->epfd) != 0)
        drop(c);
}

void wio_relay_table(struct wio_relay *r, const void *packed, size_t n)
{
    r->packed = packed;
    r->bytes = n;
    WIO_LIST_FOR_SAFE(it, next, &r->children)
    {
        struct child *c = WIO_CONTAINER(it, struct child, bc.node);
        if (packed == NULL && c->sent)
            drop(c);
        if (c->dead)
            continue;
        send_table(c);
        if (wio_bc_arm(&c->bc, r->epfd) != 0)
            drop(c);
    }
}

void wio_relay_sweep(struct wio_relay *r, int64_t now)
{
    WIO_LIST_FOR_SAFE(it, next, &r->children)
    {
        struct child *c = WIO_CONTAINER(it, struct child, bc.node);
        if (!c->asked && now - c->since_ns > STRANGER_NS)
            drop(c);
    }
    for (struct wio_list *it; (it = wio_list_pop(&r->dead)) != NULL;)
        wio_os_free(WIO_CONTAINER(it, struct child, bc.node));
}

static void drop_all(struct wio_relay *r)
{
    WIO_LIST_FOR_SAFE(it, next, &r->children)
    {
        drop(WIO_CONTAINER(it, struct child, bc.node));
    }
}

void wio_relay_close(struct wio_relay *r)
{
    drop_all(r);
    wio_relay_sweep(r, 0);
    wio_os_close(r->fd);
    r->fd = -1;
}
