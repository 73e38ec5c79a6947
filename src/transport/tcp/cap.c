/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file cap.c
 * The connection cap: the least recently used link that p2p can spare is closed by GOODBYE(CAP) and
 * reopened on demand. A dial that is needed may exceed the cap by one while the closing one drains.
 */
#include "tcp.h"

/* Descriptors that are not ours: the program's files, strangers in the handshake, listeners, ... */
#define RESERVE (TCP_STRANGERS_MAX + 64)

int wio_tcp_cap_of(const struct wio_config *cfg)
{
    if (cfg->max_connections > 0)
        return cfg->max_connections > INT32_MAX ? INT32_MAX : (int)cfg->max_connections;
    int limit = wio_os_fd_limit();
    if (limit <= 0)
        return INT32_MAX;
    int cap = limit > 4 * RESERVE ? limit - RESERVE : limit / 2;
    return cap < 2 ? 2 : cap;
}

static bool evictable(struct tcp_link *l)
{
    struct tcp_iface *f = tcp_of(l);
    return !l->pending && !l->watched && !l->body && l->hdr_have == 0 && l->keep_len == 0 &&
           !l->hup && l->told == WIO_EP_READY &&
           f->base.p.up->on_may_close(f->base.p.user, &l->ep, l->ep.peer);
}

bool wio_tcp_evict(struct tcp_iface *f)
{
    WIO_LIST_FOR(it, &f->lru)
    {
        struct tcp_link *l = WIO_CONTAINER(it, struct tcp_link, group);
        if (!evictable(l))
            continue;
        f->base.p.counters->link_evictions++;
        wio_tcp_close_link(&l->ep, WIO_BYE_CAP);
        return true;
    }
    return false;
}

/* Links on their way out free their descriptors soon. */
static int closing(const struct tcp_iface *f)
{
    int n = 0;
    WIO_LIST_FOR(it, &f->closing)
    n++;
    return n;
}

int wio_tcp_room(struct tcp_iface *f)
{
    if (f->nopen < f->cap)
        return 1;
    int leaving = closing(f);
    if (f->nopen - leaving >= f->cap && !wio_tcp_evict(f) && leaving == 0) {
        if (!f->warned_cap) {
            f->warned_cap = true;
            wio_warn(
                f->base.p.log, WIO_C_TCP,
                "all %d connections allowed by WAITIO_MAX_CONNECTIONS are busy: opening one more",
                f->cap);
        }
        return 1; /* waiting for a link that waits for us would be a deadlock */
    }
    return f->nopen <= f->cap;
}
