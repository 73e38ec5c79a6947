/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file dial.c
 * Making a connection: the peer's addresses in the table's order, each tried once; connection
 * refused everywhere means that the peer is dead (its listener is open as long as it lives). A peer
 * that accepts but sends nothing is stopped or computing, not dead: wait. A peer that closes inside
 * the handshake had too many strangers: dial again. A peer that answers BUSY dials itself, has not
 * yet seen the end of the older link, or has no place: dial again unless it dials first.
 */
#include <arpa/inet.h>

#include "tcp.h"

#define DROPS_MIN 8u
#define LEAST_NS 100000000LL
#define MEND_NS 500000000LL   /* an address may take so long when a broken link is made anew */
#define MEND_BUSY_MAX 3u      /* then a busy peer is asked again after 64 ms at the latest */
#define LANE_BUSY_MAX 3u      /* a lane that may not come is not waited for */
#define FIRST_NS 1000000000LL /* a dial without an answer for so long may be of no use */
#define BESIDE_NS 500000000LL /* for an address that does not answer, when there are relays */
#define CALL_NS 1500000000LL  /* how long to try to dial a refused dialer */

static bool addr_of(const struct wio_tab_addr *a, uint16_t port, union tcp_addr *o)
{
    memset(o, 0, sizeof *o);
    if (a->family == 4) {
        o->in4.sin_family = AF_INET;
        o->in4.sin_port = htons(port);
        memcpy(&o->in4.sin_addr, a->ip, 4);
        return true;
    }
    if (a->family != 6)
        return false;
    o->in6.sin6_family = AF_INET6;
    o->in6.sin6_port = htons(port);
    o->in6.sin6_scope_id = a->scope;
    memcpy(&o->in6.sin6_addr, a->ip, 16);
    return true;
}

int wio_tcp_peer_addrs(const struct tcp_iface *f, uint32_t peer, union tcp_addr *out, int max)
{
    const struct wio_table *t = f->base.table;
    const struct wio_tab_ep *ep = &t->ep[peer];
    if (ep->port == 0 || ep->host >= t->nhosts)
        return 0;
    const struct wio_tab_host *h = &t->host[ep->host];
    bool same = h->identity == t->host[t->ep[t->me].host].identity;
    int n = 0;
    /* On one host try loopback first: firewalls of devices do not affect it. */
    for (int loopback = same; loopback >= 0; loopback--)
        for (uint32_t i = 0; i < h->naddr && i < WIO_HOST_ADDRS && n < max; i++)
            if (h->addr[i].loopback == loopback)
                n += addr_of(&h->addr[i], ep->port, &out[n]);
    return n;
}

void wio_tcp_dial_free(struct tcp_link *l)
{
    if (l->dial == NULL)
        return;
    wio_strbuf_free(&l->dial->tried);
    wio_os_free(l->dial);
    l->dial = NULL;
    l->timer = INT64_MAX;
}

void wio_tcp_dial_cancel(struct tcp_link *l)
{
    l->timer = INT64_MAX;
    if (l->dial != NULL && l->dial->conn != NULL)
        wio_tcp_conn_close(l->dial->conn);
}

bool wio_tcp_dial_first(const struct tcp_link *l)
{
    const struct tcp_iface *f = tcp_of(l);
    if (l->state != TCP_DIAL || f->base.table->me > l->ep.peer)
        return false;
    const struct tcp_conn *c = l->dial->conn;
    return c != NULL && !c->connecting && wio_os_now_ns() - c->began < FIRST_NS;
}

void wio_tcp_dial_pause(struct tcp_link *l)
{
    wio_tcp_dial_cancel(l);
    if (l->dial != NULL && !l->dial->paused) {
        l->dial->paused = true;
        l->dial->busy = 0;
        l->dial->began = wio_os_now_ns() - l->dial->began;
    }
}

void wio_tcp_dial_later(struct tcp_link *l, int64_t ns)
{
    if (l->state != TCP_WAIT)
        wio_tcp_set_state(l, TCP_WAIT);
    l->timer = wio_os_now_ns() + ns;
    tcp_of(l)->timer_asked |= ns == 0;
    wio_tcp_timer_at(tcp_of(l), l->timer);
}

static void note(struct tcp_link *l, const union tcp_addr *a, int via, const char *what)
{
    struct tcp_dial *d = l->dial;
    char where[64];
    if (d->tried.len > 400) /* a text for people; retries would make it endless */
        return;
    wio_strbuf_add(&d->tried, "%s%s%s: %s", d->tried.len > 0 ? "; " : "", via != 0 ? "relay " : "",
                   via != 0 ? wio_tcp_relay_name(tcp_of(l), via)
                            : wio_tcp_addr_text(a, where, sizeof where),
                   what);
}

static void give_up(struct tcp_link *l, int err)
{
    char who[48];
    struct tcp_dial *d = l->dial;
    if (!l->known) { /* dialled for a refused peer; perhaps only the other direction has a route:
                      * keep the place
                      */
        *d = (struct tcp_dial){.began = d->began, .tried = d->tried};
        wio_tcp_dial_later(l, CALL_NS / 4);
        return;
    }
    const char *tried = d->tried.len > 0 ? d->tried.text : "no address is usable from here";
    char text[512];
    wio_text(text, sizeof text, "%s", tried);
    wio_tcp_link_over(l, err, "cannot connect to %s: %s",
                      wio_tcp_peer_name(tcp_of(l), l->ep.peer, who, sizeof who), text);
}

static int64_t backoff(uint32_t tries)
{
    return tries < 10 ? 1000000LL << tries : 1000000000LL;
}

/* A peer without a place dials back later. Dialling again only covers a lost message, and costs the
 * peer time. */
static int64_t busy_backoff(uint32_t tries)
{
    return tries < 6 ? 1000000LL << 2 * tries : 2000000000LL;
}

/* Every address was tried. */
static void exhausted(struct tcp_link *l)
{
    struct tcp_iface *f = tcp_of(l);
    struct tcp_dial *d = l->dial;
    if (l->mend != 0) {
        wio_tcp_mend_again(l);
        return;
    }
    if (f->in_connect) { /* refused at once: once more, where upcalls may run */
        d->addr = 0;
        wio_tcp_dial_later(l, 0);
        return;
    }
    bool in_time = wio_os_now_ns() - d->began < f->connect_timeout || d->drops < DROPS_MIN;
    bool again = (d->silent || (d->dropped && in_time)) && d->err == 0;
    d->addr = d->silent ? d->silent_addr : 0;
    d->patient = d->silent;
    d->dropped = d->silent = false; /* refused everywhere in the next round: dead */
    if (again)
        wio_tcp_dial_later(l, backoff(d->drops));
    else
        give_up(l, d->err != 0 ? d->err : WAITIO_ERR_PEER);
}

/* Start connecting one way. @return 0 under way, else -errno */
static int try_way(struct tcp_link *l, const struct tcp_way *w, int64_t allowed)
{
    struct tcp_iface *f = tcp_of(l);
    const union tcp_addr *a = &w->addr;
    bool v6 = a->sa.sa_family == AF_INET6;
    int fd = wio_os_socket(a->sa.sa_family, SOCK_STREAM);
    if (fd < 0)
        return fd;
    wio_tcp_sockopt(f, fd, a, false);
    if (l->ep.lane != 0)
        wio_tcp_lane_bind(l, fd, a);
    int rc = wio_os_connect(fd, &a->sa, v6 ? sizeof a->in6 : sizeof a->in4);
    if (rc < 0 && rc != -EINPROGRESS) {
        wio_os_close(fd);
        return rc;
    }
    struct tcp_conn *c = wio_tcp_conn_new(f, fd, a);
    if (c == NULL) {
        wio_os_close(fd);
        return -ENOMEM;
    }
    const struct wio_table *t = f->base.table;
    struct wio_auth_id mine = {.rank = t->me, .extra = wio_tcp_mend_extra(l)};
    struct wio_auth_id peer = {.rank = l->ep.peer};
    memcpy(mine.universe, t->universe, WIO_UNIVERSE_ID);
    memcpy(peer.universe, t->universe, WIO_UNIVERSE_ID);
    int err = wio_auth_start(&c->auth, WIO_AUTH_DIAL, WIO_AUTH_LINK, f->base.p.secret, &mine, &peer,
                             NULL, NULL);
    if (err == 0)
        err = wio_tcp_via_begin(c, l->ep.peer, w->via);
    if (err == 0 && wio_tcp_conn_watch(c) < 0)
        err = WAITIO_ERR_SYSTEM;
    if (err != 0) {
        wio_os_epoll_close(fd, f->epoll, f->svc_epoll);
        wio_os_free(c->detour);
        wio_os_free(c);
        return -EIO;
    }
    c->connecting = true; /* also when connect() succeeded at once: the first event says so */
    c->began = wio_os_now_ns();
    c->deadline = c->began + allowed;
    wio_tcp_timer_at(f, c->deadline);
    wio_tcp_probe_dial(c);
    c->link = l;
    l->dial->conn = c;
    l->addr = *a;
    wio_list_push(&f->dials, &c->node);
    return 0;
}

/* Out of descriptors: make room, dial again. */
static void no_descriptor(struct tcp_link *l)
{
    struct tcp_iface *f = tcp_of(l);
    struct tcp_dial *d = l->dial;
    if (!f->warned_fds) {
        f->warned_fds = true;
        wio_warn(
            f->base.p.log, WIO_C_TCP,
            "out of file descriptors (limit %d, %d connections open): closing idle connections; "
            "raise the limit (ulimit -n) or lower WAITIO_MAX_CONNECTIONS",
            wio_os_fd_limit(), f->nopen);
    }
    (void)wio_tcp_shed_stranger(f);
    wio_tcp_evict(f);
    if (l->mend == 0 && wio_os_now_ns() - d->began > f->connect_timeout &&
        ++d->drops >= DROPS_MIN) {
        wio_strbuf_add(&d->tried, "out of file descriptors (limit %d)", wio_os_fd_limit());
        give_up(l, WAITIO_ERR_LIMIT);
        return;
    }
    wio_tcp_dial_later(l, 20000000);
}

/* How long this way may take, of so much for each. */
static int64_t time_for(const struct tcp_link *l, const struct tcp_way *w, int64_t each)
{
    if (l->mend != 0)
        return MEND_NS;
    if (tcp_of(l)->via != NULL && w->via == 0 && each > BESIDE_NS)
        each = BESIDE_NS;
    return each > LEAST_NS ? each : LEAST_NS;
}

static void next_addr(struct tcp_link *l)
{
    struct tcp_iface *f = tcp_of(l);
    struct tcp_dial *d = l->dial;
    struct tcp_way w[TCP_WAYS];
    uint32_t n = (uint32_t)wio_tcp_link_ways(l, w);
    int64_t left = d->began + f->connect_timeout - wio_os_now_ns();
    while (d->addr < n) {
        uint32_t i = d->addr;
        int rc = try_way(l, &w[i], time_for(l, &w[i], left / (int64_t)(n - i)));
        if (rc == 0) {
            if (l->state != TCP_DIAL)
                wio_tcp_set_state(l, TCP_DIAL);
            return;
        }
        if (rc == -EMFILE || rc == -ENFILE) {
            no_descriptor(l);
            return;
        }
        note(l, &w[i].addr, w[i].via, strerror(-rc));
        if (rc == -ECONNREFUSED && l->mend != 0 && w[i].via == 0)
            wio_tcp_mend_refused(l, &w[i].addr, 0);
        d->dropped = d->dropped || w[i].via != 0;
        d->addr = d->home_refused ? n : d->addr + 1;
    }
    exhausted(l);
}

void wio_tcp_dial(struct tcp_link *l)
{
    l->timer = INT64_MAX;
    if (l->older != NULL) {
        if (l->state != TCP_WAIT)
            wio_tcp_set_state(l, TCP_WAIT);
        return; /* the end of the older link wakes us */
    }
    if (!wio_tcp_place_for(l)) {
        if (l->ep.lane != 0)
            wio_tcp_lane_refused(l, "no connection is left for it (WAITIO_MAX_CONNECTIONS)");
        return;
    }
    if (!l->known && wio_os_now_ns() - l->turn_at > CALL_NS) {
        wio_tcp_link_over(l, 0, "it did not take our call");
        return;
    }
    if (l->dial == NULL) {
        l->dial = wio_os_alloc(sizeof *l->dial);
        if (l->dial == NULL) {
            wio_tcp_link_over(l, WAITIO_ERR_NOMEM, "no memory to connect");
            return;
        }
        l->dial->began = wio_os_now_ns();
    }
    if (l->dial->paused) {
        l->dial->paused = false;
        l->dial->began = wio_os_now_ns() - l->dial->began;
    }
    next_addr(l);
}

/* A relay has failed, or refuses. @return true: the peer is dead, or asking again is of no use.
 * Otherwise the relay may come again, and so may a peer that has not registered there yet. */
static bool relay_said_no(const struct tcp_conn *c, int err)
{
    return !c->connecting &&
           (wio_tcp_via_final(err) || (c->detour->refused && err == WAITIO_ERR_PEER));
}

/* What a relay says of the peer of a broken link. Another relay may reach it. */
static void relay_told(struct tcp_dial *d, const struct tcp_conn *c, int err)
{
    if (c->connecting || !c->detour->refused)
        return;
    d->relays_gone += err == WAITIO_ERR_PEER;
    d->relays_without += err == WAITIO_ERR_NOROUTE;
}

/* What a failed dial says about the peer of a broken link. */
static void mend_failed(struct tcp_link *l, const struct tcp_conn *c, bool refused, int err)
{
    struct tcp_dial *d = l->dial;
    bool elsewhere = !c->connecting && !c->dropped; /* another program, run */
    if (c->detour != NULL)
        relay_told(d, c, err);
    else if (c->connecting && c->oserr == -ECONNREFUSED)
        wio_tcp_mend_refused(l, &c->addr, c->via);
    else if (refused && err == WAITIO_ERR_BUSY)
        wio_tcp_mend_alive(l);
    else if (refused && err == WAITIO_ERR_STATE)
        d->gone = true;
    else if (elsewhere)
        wio_tcp_mend_refused(l, &c->addr, c->via);
    if (d->gone || d->home_refused)
        d->addr = TCP_WAYS; /* that says it all */
}

/* It lives: earlier failures do not count. */
static void told_busy(struct tcp_link *l)
{
    struct tcp_dial *d = l->dial;
    if (l->ep.lane != 0 && d->busy > LANE_BUSY_MAX) {
        wio_tcp_lane_refused(l, "the peer has no connection left for it");
        return;
    }
    d->tried.len = 0;
    d->drops = 0;
    d->began = wio_os_now_ns();
    wio_tcp_dial_later(l, busy_backoff(d->busy));
    if (l->mend == 0 || d->busy < MEND_BUSY_MAX)
        d->busy++;
}

void wio_tcp_dial_failed(struct tcp_conn *c, int err, const char *what)
{
    struct tcp_link *l = c->link;
    struct tcp_dial *d = l->dial;
    bool connecting = c->connecting, dropped = c->dropped;
    bool refused = !connecting && c->auth.refused_by_peer;
    bool guess = c->via == 0 && tcp_of(l)->via != NULL; /* perhaps a like address elsewhere */
    if (c->detour != NULL)
        dropped = !relay_said_no(c, err);
    note(l, &c->addr, c->via, what);
    if (l->mend != 0)
        mend_failed(l, c, refused, err);
    wio_tcp_conn_close(c);
    if (refused && err == WAITIO_ERR_BUSY) {
        told_busy(l);
        return;
    }
    d->addr++;
    d->dropped = d->dropped || dropped;
    if (dropped)
        d->drops++;
    else if (!connecting && d->err == 0 && !guess)
        d->err = err; /* another program answered */
    next_addr(l);
}
