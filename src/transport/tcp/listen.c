/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file listen.c
 * Listeners and the decision about authenticated dialers. Strangers (unauthenticated connections)
 * cost at most TCP_STRANGERS_MAX slots and ten seconds each. When all slots are taken, the oldest
 * silent one is dropped first, so idle connections never keep members out. But each has time to
 * send before: many members may connect at once, on busy processors. A dropped stranger gets the
 * reason, so that it does not take this process for dead. Meanwhile the others wait in the kernel's
 * queue.
 */
#include <arpa/inet.h>

#include "tcp.h"

#define BACKLOG 4096
#define ACCEPTS 64            /* per listener and round */
#define ALONE_NS 10000000LL   /* a dial that is let in for a broken link may come to nothing */
#define SILENT_NS 30000000LL  /* a stranger that has said nothing keeps its slot so long ... */
#define SPOKEN_NS 120000000LL /* ... and one that has, so long */

/* ---- opening ---- */

static int bind_one(struct tcp_iface *f, union tcp_addr *a, uint16_t port)
{
    bool v6 = a->sa.sa_family == AF_INET6;
    int fd = wio_os_socket(a->sa.sa_family, SOCK_STREAM), one = 1;
    if (fd < 0)
        return fd;
    if (v6) {
        a->in6.sin6_port = htons(port);
        (void)wio_os_setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    } else {
        a->in4.sin_port = htons(port);
    }
    wio_tcp_sockopt_listener(f, fd);
    int rc = wio_os_bind(fd, &a->sa, v6 ? sizeof a->in6 : sizeof a->in4);
    if (rc == 0)
        rc = wio_os_listen(fd, BACKLOG);
    if (rc < 0) {
        wio_os_close(fd);
        return rc;
    }
    f->listener[f->nlisteners].src.what = TCP_IS_LISTENER;
    f->listener[f->nlisteners++].fd = fd;
    return 0;
}

static int bound_port(struct tcp_iface *f)
{
    struct sockaddr_storage ss;
    socklen_t len = sizeof ss;
    int rc = wio_os_sockname(f->listener[0].fd, &ss, &len);
    if (rc < 0)
        return rc;
    return ss.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)(void *)&ss)->sin6_port)
                                    : ntohs(((struct sockaddr_in *)(void *)&ss)->sin_port);
}

static void from_tab(const struct wio_tab_addr *t, union tcp_addr *a)
{
    memset(a, 0, sizeof *a);
    if (t->family == 6) {
        a->in6.sin6_family = AF_INET6;
        a->in6.sin6_scope_id = t->scope;
        memcpy(&a->in6.sin6_addr, t->ip, 16);
    } else {
        a->in4.sin_family = AF_INET;
        memcpy(&a->in4.sin_addr, t->ip, 4);
    }
}

/* Addresses to bind. @return how many, or < 0 */
static int bind_list(struct tcp_iface *f, union tcp_addr *a)
{
    const struct wio_config *cfg = f->base.p.cfg;
    memset(a, 0, 2 * sizeof *a);
    a[0].in4.sin_family = AF_INET;
    a[1].in6.sin6_family = AF_INET6;
    if (f->base.p.secret->len == 0 && !cfg->secret_none_remote) {
        a[0].in4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        a[1].in6.sin6_addr = in6addr_loopback;
        return 2;
    }
    if (cfg->netdev[0] == '\0')
        return 2;
    struct wio_tab_host h = {0};
    struct wio_config own = *cfg;
    own.advertise[0] = '\0'; /* what is published instead need not be an address of ours */
    int rc = wio_boot_addresses(&own, f->base.p.log, &h);
    if (rc < 0)
        return rc;
    int n = 0;
    for (uint32_t i = 0; i < h.naddr && i < WIO_HOST_ADDRS; i++)
        from_tab(&h.addr[i], &a[n++]);
    return n;
}

static bool skippable(int rc)
{
    return rc == -EAFNOSUPPORT || rc == -EADDRNOTAVAIL;
}

int wio_tcp_listen(struct tcp_iface *f)
{
    union tcp_addr a[WIO_HOST_ADDRS];
    int n = bind_list(f, a), rc = 0;
    if (n < 0)
        return n;
    for (int attempt = 0; attempt < 32; attempt++) {
        uint16_t port = 0;
        for (int i = 0; i < n; i++) {
            rc = bind_one(f, &a[i], port);
            if (rc < 0 && skippable(rc))
                continue;
            if (rc < 0)
                break;
            if (port == 0)
                port = (uint16_t)bound_port(f);
        }
        if (f->nlisteners > 0 && (rc == 0 || skippable(rc))) {
            f->port = port;
            return 0;
        }
        wio_tcp_unlisten(f);
        if (rc != -EADDRINUSE) /* the same port must be free for every address: try another one */
            break;
    }
    return wio_fail_os(WAITIO_ERR_SYSTEM, rc, "cannot listen for connections");
}

void wio_tcp_unlisten(struct tcp_iface *f)
{
    for (int i = 0; i < f->nlisteners; i++)
        wio_os_close(f->listener[i].fd);
    f->nlisteners = 0;
    f->listening = false;
}

void wio_tcp_listen_watch(struct tcp_iface *f, bool on)
{
    int op = !f->listening ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    for (int i = 0; i < f->nlisteners; i++) {
        struct tcp_listener *ln = &f->listener[i];
        (void)wio_os_epoll_ctl(f->epoll, op, ln->fd, on ? EPOLLIN : 0, &ln->src);
        (void)wio_os_epoll_ctl(f->svc_epoll, op, ln->fd, on ? EPOLLIN : 0, &ln->src);
    }
    f->listening = true;
    f->paused = !on;
    f->crowded = false;
}

/* ---- admission ---- */

/* The state of the link allows it: is there a place? */
static int admit_place(struct tcp_conn *c, uint32_t peer, struct tcp_link *l, char *why,
                       size_t nwhy)
{
    if (wio_tcp_place_admit(c, peer, l))
        return 0;
    wio_text(why, nwhy, "all %d connections that WAITIO_MAX_CONNECTIONS allows are in use",
             c->iface->cap);
    return WAITIO_ERR_BUSY;
}

/* The peer is through with this link, and dials the next one. Where it may not have heard all of
 * this one, a dial that it has given up does not count. */
static int admit_next(struct tcp_conn *c, struct tcp_link *l, char *why, size_t nwhy)
{
    uint32_t peer = l->ep.peer;
    if (l->number != 0 && l->tx_acked != l->tx_seq && l->others++ == 0) {
        wio_text(why, nwhy, "an earlier link is ending");
        return WAITIO_ERR_BUSY;
    }
    wio_tcp_link_over(l, 0, "%s", wio_bye_reason_name(l->bye_reason));
    unsigned lane = tcp_lane_of(c->auth.peer.extra);
    return admit_place(c, peer, wio_tcp_link_oldest(c->iface, peer, lane), why, nwhy);
}

/* A new dial of a peer while this side tries to make a broken connection anew: the peer has closed
 * that one. But a dial that it has given up may have waited here: only the second one counts. */
static int admit_other(struct tcp_conn *c, struct tcp_link *l, char *why, size_t nwhy)
{
    char name[96];
    if (l->mend == TCP_LAST)
        return admit_next(c, l, why, nwhy);
    if (l->others++ > 0)
        wio_tcp_link_over(l, WAITIO_ERR_PEER, "connection to %s lost: it has closed it",
                          wio_tcp_link_name(l, name, sizeof name));
    wio_text(why, nwhy, "an earlier link has just broken");
    return WAITIO_ERR_BUSY;
}

/* A new dial of a peer of which nothing was heard since our dial was let in: it has lost that link
 * before it had it. Here, too, only the second one counts. */
static bool never_had(struct tcp_link *l)
{
    if (l->heard || !wio_tcp_mendable(l) || l->others++ == 0)
        return false;
    wio_tcp_mend(l, "the peer dials anew", wio_os_now_ns(), false);
    wio_tcp_dial_later(l, ALONE_NS);
    return true;
}

/* May an authenticated peer have a link now? BUSY = dial again. */
static int admit_link(struct tcp_conn *c, uint32_t peer, char *why, size_t nwhy)
{
    struct tcp_iface *f = c->iface;
    uint32_t extra = c->auth.peer.extra;
    struct tcp_link *l = wio_tcp_mend_named(f, peer, extra);
    if (l != NULL)
        return wio_tcp_mend_admit(l, why, nwhy);
    if ((extra & TCP_HEARD) != 0) {
        wio_text(why, nwhy, "that link has ended here");
        return WAITIO_ERR_STATE;
    }
    l = wio_tcp_link_oldest(f, peer, tcp_lane_of(extra));
    if (l == NULL)
        return admit_place(c, peer, l, why, nwhy);
    if (l->mend != 0 && l->heard)
        return admit_other(c, l, why, nwhy);
    if (wio_tcp_dial_first(l)) {
        wio_text(why, nwhy, "my dial goes first");
        return WAITIO_ERR_BUSY;
    }
    if (l->state <= TCP_CONFIRM)
        return admit_place(c, peer, l, why, nwhy);
    if (l->state == TCP_LAST) /* the peer has closed it: close it, too */
        return admit_next(c, l, why, nwhy);
    if (never_had(l))
        return admit_place(c, peer, l, why, nwhy);
    wio_tcp_mark_hup(l); /* it may have ended: check, in any thread */
    wio_text(why, nwhy, "a link exists");
    return WAITIO_ERR_BUSY;
}

static int admit(void *arg, const struct wio_auth_id *peer, bool proven, char *why, size_t nwhy)
{
    struct tcp_conn *c = arg;
    struct tcp_iface *f = c->iface;
    const struct wio_table *t = f->base.table;
    if (!proven)
        return 0; /* no message to a stranger */
    if (memcmp(peer->universe, t->universe, WIO_UNIVERSE_ID) != 0) {
        wio_text(why, nwhy, "this process belongs to another run");
        return WAITIO_ERR_JOIN;
    }
    if (peer->rank >= t->size) {
        wio_text(why, nwhy, "universe rank %u does not exist (size %u)", peer->rank, t->size);
        return WAITIO_ERR_RANK;
    }
    if (peer->rank == t->me) {
        wio_text(why, nwhy, "universe rank %u is myself", peer->rank);
        return WAITIO_ERR_RANK;
    }
    return admit_link(c, peer->rank, why, nwhy);
}

/* ---- accepting ---- */

bool wio_tcp_shed_stranger(struct tcp_iface *f)
{
    struct tcp_conn *victim = NULL;
    WIO_LIST_FOR(it, &f->inbound)
    {
        struct tcp_conn *c = WIO_CONTAINER(it, struct tcp_conn, node);
        if (victim == NULL || (victim->spoke && !c->spoke))
            victim = c;
        if (!c->spoke)
            break;
    }
    if (victim == NULL)
        return false;
    wio_tcp_conn_turn_away(victim);
    return true;
}

/* A slot for one more stranger. @return false: all are too new; listeners are paused */
static bool make_slot(struct tcp_iface *f)
{
    if (f->ninbound < TCP_STRANGERS_MAX)
        return true;
    int64_t now = wio_os_now_ns();
    struct tcp_conn *victim = NULL;
    WIO_LIST_FOR(it, &f->inbound)
    {
        struct tcp_conn *c = WIO_CONTAINER(it, struct tcp_conn, node);
        int64_t age = now - (c->deadline - TCP_HANDSHAKE_NS);
        if (age >= (c->spoke ? SPOKEN_NS : SILENT_NS) &&
            (victim == NULL || (victim->spoke && !c->spoke)))
            victim = c;
    }
    if (victim != NULL) {
        wio_tcp_conn_turn_away(victim);
        return true;
    }
    wio_tcp_listen_watch(f, false);
    f->crowded = true;
    f->resume_at = now + SILENT_NS;
    wio_tcp_timer_at(f, f->resume_at);
    return false;
}

void wio_tcp_inbound(struct tcp_iface *f, int fd, const union tcp_addr *from, int via)
{
    struct tcp_conn *c = wio_tcp_conn_new(f, fd, from);
    if (c == NULL) {
        wio_os_close(fd);
        return;
    }
    c->via = (uint8_t)via;
    const struct wio_table *t = f->base.table;
    struct wio_auth_id mine = {.rank = t->me};
    memcpy(mine.universe, t->universe, WIO_UNIVERSE_ID);
    wio_tcp_sockopt(f, fd, from, true);
    int rc = wio_auth_start(&c->auth, WIO_AUTH_ACCEPT, WIO_AUTH_LINK, f->base.p.secret, &mine, NULL,
                            admit, c);
    if (rc != 0 || wio_tcp_conn_watch(c) < 0) {
        wio_os_epoll_close(fd, f->epoll, f->svc_epoll);
        wio_os_free(c);
        return;
    }
    c->deadline = wio_os_now_ns() + TCP_HANDSHAKE_NS;
    wio_tcp_timer_at(f, c->deadline);
    wio_list_push(&f->inbound, &c->node);
    f->ninbound++;
    (void)wio_tcp_conn_drive(c);
}

/* accept() failed for want of a descriptor or memory. @return true: room was made, try again */
static bool out_of_descriptors(struct tcp_iface *f, bool again)
{
    if (!f->warned_fds) {
        f->warned_fds = true;
        wio_warn(
            f->base.p.log, WIO_C_TCP,
            "out of file descriptors (limit %d, %d connections open, %d unauthenticated): cannot "
            "accept connections until some close; raise the limit (ulimit -n) or lower "
            "WAITIO_MAX_CONNECTIONS",
            wio_os_fd_limit(), f->nopen, f->ninbound);
    }
    if (!again && wio_tcp_shed_stranger(f))
        return true;
    wio_tcp_evict(f);
    wio_tcp_listen_watch(f, false); /* a readable listener would wake the thread again and again */
    f->resume_at = wio_os_now_ns() + 50000000;
    wio_tcp_timer_at(f, f->resume_at);
    return false;
}

static bool lacks_resources(int rc)
{
    return rc == -EMFILE || rc == -ENFILE || rc == -ENOBUFS || rc == -ENOMEM;
}

int wio_tcp_accept(struct tcp_iface *f, struct tcp_listener *ln)
{
    int count = 0;
    bool again = false;
    while (count < ACCEPTS && f->base.table != NULL && make_slot(f)) {
        struct sockaddr_storage ss;
        socklen_t len = sizeof ss;
        int fd = wio_os_accept(ln->fd, &ss, &len);
        if (fd == -EAGAIN)
            break;
        if (fd < 0 && lacks_resources(fd)) {
            if (!out_of_descriptors(f, again))
                break;
            again = true;
            continue;
        }
        count++;
        if (fd < 0)
            continue; /* the connection died in the queue */
        union tcp_addr from;
        memset(&from, 0, sizeof from);
        memcpy(&from, &ss, len < sizeof from ? len : sizeof from);
        wio_tcp_inbound(f, fd, &from, 0);
    }
    return count;
}
