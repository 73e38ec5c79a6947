/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file via.c
 * Links through relays (WAITIO_RELAY). Ways to a peer are its own addresses and the relays. A peer
 * is *far* when this host has no route to any of its addresses, or when they did not answer and a
 * relay did; then the relays come first. Peers of the same network are far with it. Once the relay
 * has connected us, all is as on any other connection, so a link that is dialled again takes
 * whatever way is left.
 */
#include "boot/lines.h"
#include "tcp.h"

struct tcp_via {
    struct tcp_src src;
    struct wio_relays relays;
    struct wio_lines *lines;
    bool *far; /* by host of the table */
};

/* ---- life ---- */

int wio_tcp_via_open(struct tcp_iface *f)
{
    struct wio_relays relays;
    int rc = wio_relays_read(f->base.p.cfg, f->base.p.secret, &relays);
    if (rc != 0 || relays.n == 0)
        return rc;
    f->via = wio_os_alloc(sizeof *f->via);
    if (f->via == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for the lines to relays");
    f->via->src.what = TCP_IS_LINES;
    f->via->relays = relays;
    return 0;
}

void wio_tcp_via_close(struct tcp_iface *f)
{
    if (f->via == NULL)
        return;
    wio_lines_close(f->via->lines);
    wio_os_free(f->via->far);
    wio_os_free(f->via);
    f->via = NULL;
}

static void take(void *owner, int fd, int relay)
{
    struct tcp_iface *f = owner;
    union tcp_addr from;
    memcpy(&from, &f->via->relays.at[relay].addr, sizeof from);
    wio_tcp_inbound(f, fd, &from, relay + 1);
}

int wio_tcp_via_start(struct tcp_iface *f)
{
    const struct wio_table *t = f->base.table;
    struct tcp_via *v = f->via;
    if (v == NULL)
        return 0;
    v->far = wio_os_alloc((t->nhosts + 1) * sizeof *v->far);
    if (v->far == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for the routes to %u hosts", t->nhosts);
    struct wio_lines_params p = {.relays = &v->relays,
                                 .secret = f->base.p.secret,
                                 .log = f->base.p.log,
                                 .comp = WIO_C_TCP,
                                 .place = {.rank = t->me},
                                 .silence_s = f->base.p.cfg->connect_timeout,
                                 .take = take,
                                 .owner = f};
    memcpy(p.place.id, t->universe, sizeof p.place.id);
    int rc = wio_lines_open(&p, &v->lines);
    if (rc != 0)
        return rc;
    int fd = wio_lines_fd(v->lines);
    rc = wio_os_epoll_ctl(f->epoll, EPOLL_CTL_ADD, fd, EPOLLIN, &v->src);
    if (rc == 0)
        rc = wio_os_epoll_ctl(f->svc_epoll, EPOLL_CTL_ADD, fd, EPOLLIN, &v->src);
    if (rc < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, rc, "epoll_ctl");
    (void)wio_tcp_via_run(f);
    return 0;
}

int wio_tcp_via_run(struct tcp_iface *f)
{
    if (f->via == NULL || f->via->lines == NULL)
        return 0;
    wio_tcp_timer_at(f, wio_lines_run(f->via->lines, wio_os_now_ns()));
    return 1;
}

/* ---- ways ---- */

static bool has_route(const union tcp_addr *a)
{
    struct sockaddr_storage src;
    socklen_t len = sizeof src;
    return wio_os_route_source(&a->sa, a->sa.sa_family == AF_INET6 ? sizeof a->in6 : sizeof a->in4,
                               &src, &len) >= 0;
}

static bool is_far(struct tcp_iface *f, uint32_t peer, const struct tcp_way *direct, int n)
{
    const struct wio_table *t = f->base.table;
    uint32_t host = t->ep[peer].host;
    if (f->via->far == NULL || host >= t->nhosts)
        return n == 0;
    for (int i = 0; i < n && !f->via->far[host]; i++)
        if (has_route(&direct[i].addr))
            return false;
    f->via->far[host] = true;
    return true;
}

/* Pairs of processes share the relays: each begins with the one of its ranks. */
static int add_relays(const struct tcp_iface *f, uint32_t peer, struct tcp_way *out)
{
    const struct wio_relays *rs = &f->via->relays;
    uint32_t first = (f->base.table->me + peer) % (uint32_t)rs->n;
    for (int i = 0; i < rs->n; i++) {
        int k = (int)((first + (uint32_t)i) % (uint32_t)rs->n);
        memcpy(&out[i].addr, &rs->at[k].addr, sizeof out[i].addr);
        out[i].via = (uint8_t)(k + 1);
    }
    return rs->n;
}

int wio_tcp_ways(struct tcp_iface *f, uint32_t peer, struct tcp_way out[TCP_WAYS])
{
    union tcp_addr a[WIO_HOST_ADDRS];
    struct tcp_way direct[WIO_HOST_ADDRS];
    int n = wio_tcp_peer_addrs(f, peer, a, WIO_HOST_ADDRS), m = 0;
    for (int i = 0; i < n; i++)
        direct[i] = (struct tcp_way){.addr = a[i]};
    if (f->via != NULL && is_far(f, peer, direct, n))
        m = add_relays(f, peer, out);
    memcpy(out + m, direct, (size_t)n * sizeof *direct);
    if (f->via != NULL && m == 0)
        m = add_relays(f, peer, out + n);
    return n + m;
}

const char *wio_tcp_relay_name(const struct tcp_iface *f, int via)
{
    return f->via != NULL && via > 0 && via <= f->via->relays.n ? f->via->relays.at[via - 1].name
                                                                : "?";
}

uint32_t wio_tcp_relays(const struct tcp_iface *f)
{
    return f->via != NULL ? (uint32_t)f->via->relays.n : 0;
}

bool wio_tcp_is_far(struct tcp_iface *f, uint32_t peer, int *via)
{
    struct tcp_way w[TCP_WAYS];
    *via = f->via != NULL && wio_tcp_ways(f, peer, w) > 0 ? w[0].via : 0;
    return *via != 0;
}

static bool same_network(const struct wio_tab_host *a, const struct wio_tab_host *b)
{
    const struct wio_tab_addr *x = &a->addr[0], *y = &b->addr[0];
    if (a->naddr == 0 || b->naddr == 0 || x->loopback || x->family != y->family ||
        x->prefix != y->prefix || x->prefix < 8)
        return false;
    unsigned whole = x->prefix / 8, bits = x->prefix % 8;
    return whole <= sizeof x->ip && memcmp(x->ip, y->ip, whole) == 0 &&
           (bits == 0 || (x->ip[whole] ^ y->ip[whole]) >> (8 - bits) == 0);
}

void wio_tcp_via_worked(struct tcp_iface *f, uint32_t peer, int via)
{
    const struct wio_table *t = f->base.table;
    uint32_t host = t->ep[peer].host;
    char who[48];
    wio_info(f->base.p.log, WIO_C_TCP, "%s is connected through relay %s",
             wio_tcp_peer_name(f, peer, who, sizeof who), wio_tcp_relay_name(f, via));
    if (f->via->far == NULL || host >= t->nhosts || f->via->far[host])
        return;
    for (uint32_t i = 0; i < t->nhosts; i++)
        f->via->far[i] = f->via->far[i] || i == host ||
                         (same_network(&t->host[i], &t->host[host]) &&
                          t->host[i].identity != t->host[t->ep[t->me].host].identity);
}

/* ---- dialling through one ---- */

int wio_tcp_via_begin(struct tcp_conn *c, uint32_t peer, int via)
{
    struct wio_place place = {.rank = peer};
    memcpy(place.id, c->iface->base.table->universe, sizeof place.id);
    c->via = (uint8_t)via;
    if (via == 0)
        return 0;
    c->detour = wio_os_alloc(sizeof *c->detour);
    if (c->detour == NULL)
        return WAITIO_ERR_NOMEM;
    return wio_detour_start(c->detour, c->iface->base.p.secret, WIO_DETOUR_CALL, &place, 0);
}

bool wio_tcp_via_drive(struct tcp_conn *c)
{
    if (c->detour == NULL)
        return true;
    enum wio_detour_state s = wio_detour_drive(c->detour, c->fd);
    if (s == WIO_DETOUR_FAILED) {
        char why[sizeof c->detour->text];
        wio_text(why, sizeof why, "%s", c->detour->text);
        wio_tcp_dial_failed(c, c->detour->error, why);
        return false;
    }
    if (s != WIO_DETOUR_DONE)
        return false;
    wio_os_free(c->detour);
    c->detour = NULL;
    return true;
}

bool wio_tcp_via_final(int err)
{
    return err == WAITIO_ERR_AUTH || err == WAITIO_ERR_VERSION || err == WAITIO_ERR_PROTOCOL;
}
