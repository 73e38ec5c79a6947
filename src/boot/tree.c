/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file tree.c
 * A leader in the tree that distributes the table: it asks its parent and serves its children. It
 * serves them before the join returns: its own program cannot do anything yet without the others,
 * and the last one to join is a leaf, which waits for none.
 */
#include "boot/leader.h"
#include "os/os.h"

#define ACK_NS INT64_C(1000000000)   /* to wait for the service's acknowledgement */
#define SERVE_NS INT64_C(6000000000) /* for the children: longer than they wait for us */
#define ALONE_NS INT64_C(3000000000) /* when the service is gone */

static void send_port(struct leader *l, uint16_t port, const char *why)
{
    struct wio_boot_port m = {.port = port};
    uint8_t out[WIO_BOOT_PORT_MAX];
    wio_text(m.why, sizeof m.why, "%s", why);
    (void)wio_bc_send(&l->up, WIO_BOOT_PORT, out, wio_boot_put_port(out, &m));
}

int wio_ld_on_relay(struct leader *l, const uint8_t *p, size_t n)
{
    struct wio_boot_relay m;
    const struct wio_joiner *j = l->j;
    int rc = wio_boot_get_relay(p, n, &m);
    if (rc != 0)
        return rc;
    bool here = j->p->secret->len == 0 && !j->p->cfg->secret_none_remote;
    rc = wio_relay_open(&l->relay, l->epfd, LD_RELAY, LD_CHILD, here ? "127.0.0.1" : NULL,
                        j->p->secret, j->log, &m);
    if (rc != 0)
        wio_warn(j->log, WIO_C_BOOT, "cannot pass the address table on to %u other hosts: %s",
                 m.children, wio_last_detail());
    else
        wio_debug(j->log, WIO_C_BOOT, "%u other hosts get the address table from here, port %u",
                  m.children, l->relay.port);
    send_port(l, rc == 0 ? l->relay.port : 0, rc == 0 ? "" : wio_last_detail());
    return 0;
}

/* The parent failed: ask the service. */
static void ask_service(struct leader *l, const char *why)
{
    const struct wio_boot_parent *from = &l->fetch.from;
    struct wio_boot_fetch m = {.why = ""};
    uint8_t out[WIO_BOOT_FETCH_MAX];
    wio_warn(l->j->log, WIO_C_BOOT,
             "cannot get the address table from host %s (port %u): %s; asking the rendezvous",
             from->name, from->port, why);
    memcpy(m.universe, from->universe, sizeof m.universe);
    wio_text(m.host, sizeof m.host, "%s", l->j->name);
    wio_text(m.why, sizeof m.why, "%s", why);
    wio_fetch_close(&l->fetch);
    (void)wio_bc_send(&l->up, WIO_BOOT_FETCH, out, wio_boot_put_fetch(out, &m));
    (void)wio_bc_arm(&l->up, l->epfd);
}

static void look(struct leader *l)
{
    struct wio_fetch *f = &l->fetch;
    char why[WIO_BOOT_WHY];
    if (f->state == WIO_FETCH_DONE) {
        wio_os_free(l->packed);
        l->packed = f->packed;
        f->packed = NULL;
        if (wio_ld_take_table(l, f->bytes) == 0)
            return;
        wio_text(why, sizeof why, "%.230s", wio_last_detail());
        ask_service(l, why);
    } else if (f->state == WIO_FETCH_FAILED) {
        wio_text(why, sizeof why, "%s", f->why);
        ask_service(l, why);
    }
}

int wio_ld_on_parent(struct leader *l, const uint8_t *p, size_t n)
{
    struct wio_boot_parent m;
    int rc = wio_boot_get_parent(p, n, &m);
    if (rc != 0)
        return rc;
    if (l->have_table)
        return 0;
    wio_fetch_start(&l->fetch, l->epfd, LD_PARENT, l->j->p->secret, &m, l->j->name,
                    l->j->host.identity);
    look(l);
    return 0;
}

void wio_ld_parent_event(struct leader *l, uint32_t events)
{
    wio_fetch_event(&l->fetch, events);
    look(l);
}

void wio_ld_parent_work(struct leader *l, int64_t now)
{
    wio_fetch_tick(&l->fetch, now);
    look(l);
}

static bool dispatch(struct leader *l, bool alive, const struct epoll_event *ev)
{
    const int *kind = ev->data.ptr;
    if (*kind == LD_UP && alive) {
        alive = wio_bc_event(&l->up, ev->events) && wio_bc_arm(&l->up, l->epfd) == 0;
        if (!alive && l->up.error == 0) /* the service's acknowledgement */
            l->released = true;
        return alive;
    }
    switch (*kind) {
    case LD_RELAY:
        wio_relay_accept(&l->relay);
        break;
    case LD_CHILD:
        wio_relay_event(ev->data.ptr, ev->events);
        break;
    case LD_LISTENER:
        wio_ld_down_accept(l);
        break;
    case LD_FOLLOWER:
        wio_ld_down_event(ev->data.ptr, ev->events);
        break;
    default:
        break;
    }
    return alive;
}

/* How long to stay at most. A stopped follower finds the table in its socket when it continues.
 */
static int64_t patience(const struct leader *l, bool alive, bool released)
{
    return released || l->relay.expected == 0 ? ACK_NS : alive ? SERVE_NS : ALONE_NS;
}

void wio_ld_linger(struct leader *l)
{
    struct epoll_event ev[16];
    const struct wio_relay *r = &l->relay;
    uint32_t expected = r->expected; /* 0 = nobody was announced */
    int64_t begun = wio_os_now_ns();
    bool alive = l->up.state == WIO_BC_OPEN && wio_bc_arm(&l->up, l->epfd) == 0;
    for (;;) {
        bool released = l->released || (!alive && r->served >= expected);
        if (released && l->owed == 0)
            break;
        int64_t left = begun - wio_os_now_ns() + patience(l, alive, released);
        if (left <= 0)
            break;
        int n = wio_os_epoll_wait(l->epfd, ev, WIO_ARRAY_LEN(ev), (int)(left / WIO_NS_PER_MS) + 1);
        for (int i = 0; i < n; i++)
            alive = dispatch(l, alive, &ev[i]);
        wio_relay_sweep(&l->relay, wio_os_now_ns());
        wio_ld_down_sweep(l, wio_os_now_ns());
    }
    if (l->owed > 0)
        wio_info(l->j->log, WIO_C_BOOT,
                 "%u processes of this host have not confirmed the address table: they find it in "
                 "their sockets",
                 l->owed);
    l->hold = l->hold && alive;
    if (r->served < expected)
        wio_info(l->j->log, WIO_C_BOOT,
                 "%u of %u other hosts got the address table from here; the rest has asked the "
                 "rendezvous or will",
                 r->served, expected);
}
