/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file conn.c
 * A socket in its handshake: connect() (dialer), then challenge and response, then it becomes a
 * link's. Edge-triggered in both event sets, and always driven until the kernel has nothing more,
 * so any thread may handle it.
 */
#include "tcp.h"

struct tcp_conn *wio_tcp_conn_new(struct tcp_iface *f, int fd, const union tcp_addr *addr)
{
    struct tcp_conn *c = wio_os_alloc(sizeof *c);
    if (c == NULL)
        return NULL;
    c->src.what = TCP_IS_CONN;
    c->fd = fd;
    c->iface = f;
    c->addr = *addr;
    c->deadline = INT64_MAX;
    wio_list_init(&c->node);
    return c;
}

int wio_tcp_conn_watch(struct tcp_conn *c)
{
    uint32_t ev = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    int rc = wio_os_epoll_ctl(c->iface->epoll, EPOLL_CTL_ADD, c->fd, ev, &c->src);
    if (rc == 0)
        rc = wio_os_epoll_ctl(c->iface->svc_epoll, EPOLL_CTL_ADD, c->fd, ev, &c->src);
    return rc;
}

static void inbound_left(struct tcp_iface *f)
{
    if (--f->ninbound <= TCP_STRANGERS_MAX / 2 && f->crowded)
        wio_tcp_listen_watch(f, true);
}

void wio_tcp_conn_close(struct tcp_conn *c)
{
    struct tcp_iface *f = c->iface;
    wio_os_epoll_close(c->fd, f->epoll, f->svc_epoll);
    c->fd = -1;
    wio_os_free(c->detour);
    c->detour = NULL;
    if (c->link != NULL && c->link->dial != NULL && c->link->dial->conn == c)
        c->link->dial->conn = NULL;
    if (c->placed) { /* nothing came of it */
        c->placed = false;
        wio_tcp_place_free(f);
    }
    if (c->link == NULL && wio_list_linked(&c->node))
        inbound_left(f);
    c->link = NULL;
    wio_list_remove(&c->node);
    wio_list_push(&f->ended, &c->node);
}

void wio_tcp_conn_turn_away(struct tcp_conn *c)
{
    const void *out;
    size_t n;
    c->iface->base.p.counters->strangers++;
    wio_auth_turn_away(&c->auth, "too many connect at once: come again");
    n = c->auth.state == WIO_AUTH_FAILED ? wio_auth_output(&c->auth, &out) : 0;
    if (n > 0) /* without this message the dialer also tries again, but not for ever */
        (void)wio_os_send(c->fd, out, n);
    wio_tcp_conn_close(c);
}

void wio_tcp_bury(struct tcp_iface *f)
{
    struct wio_list *it;
    while ((it = wio_list_pop(&f->ended)) != NULL)
        wio_os_free(WIO_CONTAINER(it, struct tcp_conn, node));
    while ((it = wio_list_pop(&f->ghosts)) != NULL)
        wio_tcp_link_free(WIO_CONTAINER(it, struct tcp_link, news));
}

/* ---- the authenticated peer of an acceptor ---- */

/* The peer makes a broken connection anew; perhaps this side has not noticed the break yet. */
static void resumed(struct tcp_conn *c, struct tcp_link *l)
{
    wio_tcp_mend_accept(l);
    if (wio_tcp_link_adopt(l, c) < 0) {
        wio_tcp_mend_retry(l);
    } else {
        if (l->state != TCP_CONFIRM)
            wio_tcp_set_state(l, TCP_CONFIRM);
        wio_tcp_probe(l);
    }
    wio_tcp_conn_close(c);
}

/* The link that takes the authenticated socket; refused dials never get here (see listen.c). */
static void accepted(struct tcp_conn *c)
{
    struct tcp_iface *f = c->iface;
    uint32_t peer = c->auth.peer.rank, extra = c->auth.peer.extra;
    struct tcp_link *l = wio_tcp_mend_named(f, peer, extra);
    if (l != NULL) {
        resumed(c, l);
        return;
    }
    unsigned lane = tcp_lane_of(extra);
    l = wio_tcp_link_oldest(f, peer, lane);
    if (l != NULL &&
        tcp_phase(l) == TCP_LAST) { /* the peer has closed the old link: close it, too */
        wio_tcp_link_over(l, 0, "%s", wio_bye_reason_name(l->bye_reason));
        l = wio_tcp_link_oldest(f, peer, lane);
    }
    if (l == NULL)
        l = wio_tcp_link_new(f, peer, lane);
    if (l == NULL || l->state > TCP_CONFIRM || (l->mend != 0 && l->heard)) {
        wio_tcp_conn_close(c);
        return;
    }
    if (l->state == TCP_CONFIRM)
        wio_tcp_link_drop_socket(l); /* the peer gave up that dial: this is its newer one */
    wio_tcp_dial_cancel(l);
    wio_tcp_place_pass(c, l);
    l->owes_word = (extra & TCP_MENDS) != 0;
    if (wio_tcp_link_adopt(l, c) < 0) {
        wio_tcp_conn_close(c);
        if (!l->known)
            wio_tcp_link_over(l, 0, "socket could not be taken over");
        else
            wio_tcp_dial_later(l, 1000000);
        return;
    }
    if (l->mend == 0)
        wio_tcp_mend_name(l, extra);
    else /* the peer may have given up this dial: its name counts when it speaks */
        l->renamed = extra;
    if (l->state != TCP_CONFIRM)
        wio_tcp_set_state(l, TCP_CONFIRM);
    wio_tcp_probe(l);
    wio_tcp_conn_close(c);
}

/* The dialer was let in. */
static void dialled(struct tcp_conn *c)
{
    struct tcp_link *l = c->link;
    int rc = wio_tcp_link_adopt(l, c);
    if (rc < 0) {
        c->dropped = l->mend != 0; /* no word about the peer */
        wio_tcp_dial_failed(c, WAITIO_ERR_SYSTEM, strerror(-rc));
        return;
    }
    if (c->via != 0)
        wio_tcp_via_worked(c->iface, l->ep.peer, c->via);
    wio_tcp_conn_close(c);
    if (l->mend != 0) {
        wio_tcp_mend_dialled(l);
        return;
    }
    l->ack_due =
        true; /* the first frame tells the acceptor that we know; a message serves as well */
    wio_tcp_announce(l);
}

/* ---- driving ---- */

static void handshake_failed(struct tcp_conn *c)
{
    struct tcp_iface *f = c->iface;
    const struct wio_auth *a = &c->auth;
    if (c->link != NULL) {
        wio_tcp_dial_failed(c, a->error, a->text);
        return;
    }
    char where[64];
    wio_tcp_addr_text(&c->addr, where, sizeof where);
    if (a->garbage || !c->spoke) {
        f->base.p.counters->strangers++;
        wio_debug(f->base.p.log, WIO_C_TCP, "stranger at %s: %s", where, a->text);
    } else if (a->error == WAITIO_ERR_BUSY || a->error == WAITIO_ERR_PEER ||
               a->error == WAITIO_ERR_STATE) {
        wio_debug(f->base.p.log, WIO_C_TCP, "dial from %s ended: %s", where, a->text);
    } else {
        f->base.p.counters->auth_failures++;
        char note[96];
        if (wio_log_gate(&f->refused, wio_os_now_ns(), note, sizeof note))
            wio_warn(f->base.p.log, WIO_C_TCP, "connection from %s refused: %s%s", where, a->text,
                     note);
    }
    wio_tcp_conn_close(c);
}

/* Write the handshake's output. @return false: not now, or it has ended */
static bool drive_output(struct tcp_conn *c)
{
    const void *out;
    size_t n;
    while ((n = wio_auth_output(&c->auth, &out)) > 0) {
        ssize_t w = wio_os_send(c->fd, out, n);
        if (w == -EAGAIN)
            return false;
        if (w < 0) {
            if (c->auth.state == WIO_AUTH_FAILED) /* the peer has closed: no refusal */
                return true;
            c->dropped = true;
            wio_auth_eof(&c->auth, (int)w);
            return true;
        }
        wio_auth_sent(&c->auth, (size_t)w);
    }
    return true;
}

/* @return 1 bytes came (or the end), 0 nothing now */
static int drive_input(struct tcp_conn *c)
{
    uint8_t buf[512];
    size_t want = wio_auth_want(&c->auth);
    if (want == 0)
        return 0;
    if (want > sizeof buf)
        want = sizeof buf;
    ssize_t n = wio_os_recv(c->fd, buf, want);
    if (n == -EAGAIN)
        return 0;
    if (n <= 0) {
        c->dropped = true;
        wio_auth_eof(&c->auth, (int)n);
        return 1;
    }
    c->spoke = true;
    (void)wio_auth_input(&c->auth, buf, (size_t)n);
    return 1;
}

/* connect() is over? @return false: not yet, or failed and buried */
static bool drive_connect(struct tcp_conn *c)
{
    struct sockaddr_storage ss;
    socklen_t len = sizeof ss;
    int rc = wio_os_so_error(c->fd);
    if (rc == 0 && wio_os_peername(c->fd, &ss, &len) == -ENOTCONN)
        return false;
    if (rc < 0) {
        c->oserr = rc;
        c->dropped = rc == -ECONNRESET; /* connected, and broken before we looked */
        wio_tcp_dial_failed(c, WAITIO_ERR_PEER, strerror(-rc));
        return false;
    }
    c->connecting = false;
    return true;
}

int wio_tcp_conn_drive(struct tcp_conn *c)
{
    if (c->fd < 0 || (c->connecting && !drive_connect(c)))
        return 0;
    if (!wio_tcp_via_drive(c))
        return 0;
    int events = 0;
    for (;;) {
        if (!drive_output(c))
            return events;
        if (c->auth.state != WIO_AUTH_RUNNING)
            break;
        if (drive_input(c) == 0)
            return events;
        events++;
    }
    if (c->auth.state == WIO_AUTH_FAILED)
        handshake_failed(c);
    else if (c->link != NULL)
        dialled(c);
    else
        accepted(c);
    return events + 1;
}
