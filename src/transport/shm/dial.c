/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file dial.c
 * Unix sockets in the abstract name space (no files remain), the peer's credentials from the
 * kernel, and the handshake of every transport. Of two simultaneous dials the one of the lower
 * universe rank survives.
 */
#include <stdio.h>
#include <sys/un.h>

#include "transport/shm/shm.h"

#define BACKLOG 4096
#define ACCEPTS 64
#define DROPS_MAX 200

static socklen_t socket_name(struct sockaddr_un *un, uint32_t realm, uint32_t name)
{
    memset(un, 0, sizeof *un);
    un->sun_family = AF_UNIX;
    int n = snprintf(un->sun_path + 1, sizeof un->sun_path - 1, "waitio-shm-%08x%08x", realm, name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

int wio_shm_listen(struct shm_iface *f)
{
    int fd = wio_os_socket(AF_UNIX, SOCK_STREAM), rc = fd;
    for (int attempt = 0; fd >= 0 && attempt < 16; attempt++) {
        struct sockaddr_un un;
        if (wio_os_random(&f->name, sizeof f->name) < 0)
            f->name = (uint32_t)wio_mix64((uint64_t)wio_os_now_ns());
        socklen_t len = socket_name(&un, f->realm, f->name);
        rc = wio_os_bind(fd, (struct sockaddr *)&un, len);
        if (rc != -EADDRINUSE)
            break;
    }
    if (rc >= 0)
        rc = wio_os_listen(fd, BACKLOG);
    if (rc < 0) {
        wio_os_close(fd);
        return rc;
    }
    f->listener = fd;
    return 0;
}

void wio_shm_listen_watch(struct shm_iface *f, bool on)
{
    int op = f->watching ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    (void)wio_os_epoll_ctl(f->epoll, op, f->listener, on ? EPOLLIN : 0, &f->src_listener);
    (void)wio_os_epoll_ctl(f->svc_epoll, op, f->listener, on ? EPOLLIN : 0, &f->src_listener);
    f->watching = true;
    f->paused = !on;
}

/* ---- connections ---- */

static struct shm_conn *conn_new(struct shm_iface *f, int fd)
{
    struct shm_conn *c = wio_os_alloc(sizeof *c);
    if (c == NULL)
        return NULL;
    c->src.what = SHM_IS_CONN;
    c->fd = fd;
    c->iface = f;
    c->deadline = INT64_MAX;
    int rc = wio_os_epoll_ctl(f->epoll, EPOLL_CTL_ADD, fd, EPOLLIN, &c->src);
    if (rc == 0)
        rc = wio_os_epoll_ctl(f->svc_epoll, EPOLL_CTL_ADD, fd, EPOLLIN, &c->src);
    if (rc != 0) {
        wio_os_free(c);
        return NULL;
    }
    return c;
}

void wio_shm_conn_close(struct shm_conn *c)
{
    struct shm_iface *f = c->iface;
    wio_os_epoll_close(c->fd, f->epoll, f->svc_epoll);
    c->fd = -1;
    if (c->link != NULL)
        c->link->conn = NULL;
    else if (wio_list_linked(&c->node))
        f->ninbound--;
    c->link = NULL;
    if (c->starved && f->reserve < 0)
        f->reserve = wio_os_eventfd();
    wio_list_remove(&c->node);
    wio_list_push(&f->ended, &c->node);
}

void wio_shm_bury(struct shm_iface *f)
{
    struct wio_list *it;
    while ((it = wio_list_pop(&f->ended)) != NULL)
        wio_os_free(WIO_CONTAINER(it, struct shm_conn, node));
    while ((it = wio_list_pop(&f->ghosts)) != NULL)
        wio_shm_link_free(WIO_CONTAINER(it, struct shm_link, news));
}

static bool same_user(int fd)
{
    uid_t uid;
    return wio_os_peer_uid(fd, &uid) == 0 && uid == wio_os_uid();
}

/* ---- dialling ---- */

void wio_shm_dial_later(struct shm_link *l, int64_t ns)
{
    struct shm_iface *f = shm_of(l);
    if (l->state != SHM_WAIT)
        wio_shm_set_state(l, SHM_WAIT);
    l->timer = wio_os_now_ns() + ns;
    if (l->timer < f->timer_at)
        f->timer_at = l->timer;
}

static bool older_link_lives(const struct shm_link *l)
{
    for (const struct shm_link *o = l->hash_next; o != NULL; o = o->hash_next)
        if (o->ep.peer == l->ep.peer && o->state != SHM_OVER)
            return true;
    return false;
}

static void start_handshake(struct shm_link *l, int fd)
{
    struct shm_iface *f = shm_of(l);
    const struct wio_table *t = f->base.table;
    struct shm_conn *c = conn_new(f, fd);
    if (c == NULL) {
        wio_os_epoll_close(fd, f->epoll, f->svc_epoll);
        wio_shm_link_over(l, WAITIO_ERR_NOROUTE, "no memory or event set for the connection");
        return;
    }
    struct wio_auth_id me = {.rank = t->me}, peer = {.rank = l->ep.peer};
    memcpy(me.universe, t->universe, WIO_UNIVERSE_ID);
    memcpy(peer.universe, t->universe, WIO_UNIVERSE_ID);
    c->link = l;
    l->conn = c;
    wio_list_push(&f->dials, &c->node);
    int rc = wio_auth_start(&c->auth, WIO_AUTH_DIAL, WIO_AUTH_SHM, f->base.p.secret, &me, &peer,
                            NULL, NULL);
    if (rc < 0) {
        wio_shm_link_over(l, rc, "%s", wio_last_detail());
        return;
    }
    wio_shm_set_state(l, SHM_DIAL);
    wio_shm_conn_drive(c);
}

void wio_shm_dial(struct shm_link *l)
{
    struct shm_iface *f = shm_of(l);
    const struct wio_tab_ep *e = &f->base.table->ep[l->ep.peer];
    struct sockaddr_un un;
    char name[64];
    l->timer = INT64_MAX;
    l->dialled = true;
    if (older_link_lives(l)) {
        wio_shm_dial_later(l, SHM_RETRY_NS);
        return;
    }
    if (wio_shm_inbox_make(f) < 0) {
        wio_shm_link_over(l, WAITIO_ERR_NOROUTE, "%s", wio_last_detail());
        return;
    }
    int fd = wio_os_socket(AF_UNIX, SOCK_STREAM);
    if (fd < 0) {
        wio_shm_link_over(l, WAITIO_ERR_NOROUTE, "no socket: %s", strerror(-fd));
        return;
    }
    socklen_t len = socket_name(&un, (uint32_t)(e->token >> 32), (uint32_t)e->token);
    int rc = wio_os_connect(fd, (struct sockaddr *)&un, len);
    if (rc == 0 && same_user(fd)) {
        start_handshake(l, fd);
        return;
    }
    wio_os_close(fd);
    bool full = rc == -EAGAIN || rc == -EINPROGRESS; /* its backlog */
    if (full || (rc == -ECONNREFUSED && f->in_connect)) {
        wio_shm_dial_later(l, full ? SHM_RETRY_NS : 0);
        return;
    }
    wio_shm_peer_name(f, l->ep.peer, name, sizeof name);
    if (rc == 0)
        wio_shm_link_over(l, WAITIO_ERR_NOROUTE, "%s runs as another user", name);
    else if (rc == -ECONNREFUSED)
        wio_shm_link_over(l, WAITIO_ERR_PEER,
                          "%s does not listen any more: it has ended or left the universe", name);
    else
        wio_shm_link_over(l, WAITIO_ERR_NOROUTE, "cannot connect to %s: %s", name, strerror(-rc));
}

/* ---- accepting ---- */

/* May an authenticated peer have a link now? */
static int admit_link(struct shm_conn *c, uint32_t peer, char *why, size_t nwhy)
{
    struct shm_iface *f = c->iface;
    const struct shm_barred *b = wio_shm_barred(f, peer);
    if (b != NULL || c->starved) {
        wio_text(why, nwhy, "%s", b != NULL ? b->why : "no descriptor is free (ulimit -n)");
        return WAITIO_ERR_NOROUTE;
    }
    if (wio_shm_inbox_make(f) < 0) {
        wio_text(why, nwhy, "%s", wio_last_detail());
        return WAITIO_ERR_NOROUTE;
    }
    for (struct shm_link *l = f->hash[peer % SHM_HASH]; l != NULL; l = l->hash_next) {
        if (l->ep.peer != peer || l->state == SHM_OVER || l->state <= SHM_WAIT)
            continue;
        if (l->state == SHM_DIAL && f->base.table->me > peer)
            continue; /* the lower rank's dial goes first */
        wio_text(why, nwhy, "%s", l->state == SHM_DIAL ? "my dial goes first" : "a link exists");
        return WAITIO_ERR_BUSY;
    }
    return 0;
}

static int admit(void *arg, const struct wio_auth_id *peer, bool proven, char *why, size_t nwhy)
{
    struct shm_conn *c = arg;
    const struct wio_table *t = c->iface->base.table;
    if (!proven)
        return 0;
    if (memcmp(peer->universe, t->universe, WIO_UNIVERSE_ID) != 0) {
        wio_text(why, nwhy, "this process belongs to another run");
        return WAITIO_ERR_JOIN;
    }
    if (peer->rank >= t->size || peer->rank == t->me) {
        wio_text(why, nwhy, "universe rank %u cannot be a peer of rank %u", peer->rank, t->me);
        return WAITIO_ERR_RANK;
    }
    return admit_link(c, peer->rank, why, nwhy);
}

/* Drop the oldest stranger, a silent one first. */
static void shed(struct shm_iface *f)
{
    struct shm_conn *victim = NULL;
    WIO_LIST_FOR(it, &f->inbound)
    {
        struct shm_conn *c = WIO_CONTAINER(it, struct shm_conn, node);
        if (victim == NULL || (victim->spoke && !c->spoke))
            victim = c;
    }
    f->base.p.counters->strangers++;
    if (victim != NULL)
        wio_shm_conn_close(victim);
}

static void welcome(struct shm_iface *f, int fd, bool starved)
{
    const struct wio_table *t = f->base.table;
    struct shm_conn *c = same_user(fd) ? conn_new(f, fd) : NULL;
    if (c == NULL) {
        f->base.p.counters->strangers++;
        wio_os_epoll_close(fd, f->epoll, f->svc_epoll);
        return;
    }
    if (f->ninbound >= SHM_STRANGERS_MAX)
        shed(f);
    struct wio_auth_id me = {.rank = t->me};
    memcpy(me.universe, t->universe, WIO_UNIVERSE_ID);
    c->starved = starved;
    c->deadline = wio_os_now_ns() + SHM_HANDSHAKE_NS;
    if (c->deadline < f->timer_at)
        f->timer_at = c->deadline;
    wio_list_push(&f->inbound, &c->node);
    f->ninbound++;
    if (wio_auth_start(&c->auth, WIO_AUTH_ACCEPT, WIO_AUTH_SHM, f->base.p.secret, &me, NULL, admit,
                       c) < 0) {
        wio_shm_conn_close(c);
        return;
    }
    wio_shm_conn_drive(c);
}

void wio_shm_accept(struct shm_iface *f)
{
    for (int i = 0; i < ACCEPTS; i++) {
        int fd = wio_os_accept(f->listener, NULL, NULL);
        if (fd == -EAGAIN)
            return;
        bool full = fd == -EMFILE || fd == -ENFILE;
        if (full && f->reserve >= 0) { /* one is kept to be able to refuse */
            wio_os_close(f->reserve);
            f->reserve = -1;
            fd = wio_os_accept(f->listener, NULL, NULL);
        }
        if (fd < 0) {
            if (fd == -ECONNABORTED)
                continue;
            wio_shm_listen_watch(f, false); /* out of descriptors or memory: later */
            f->resume_at = wio_os_now_ns() + 20 * SHM_RETRY_NS;
            if (f->resume_at < f->timer_at)
                f->timer_at = f->resume_at;
            return;
        }
        welcome(f, fd, full);
    }
}

/* ---- the handshake ---- */

/* The socket becomes the link's. */
static bool adopt(struct shm_link *l, struct shm_conn *c)
{
    struct shm_iface *f = shm_of(l);
    int fd = c->fd;
    (void)wio_os_epoll_ctl(f->svc_epoll, EPOLL_CTL_DEL, fd, 0, NULL);
    if (wio_os_epoll_ctl(f->epoll, EPOLL_CTL_MOD, fd, EPOLLIN | EPOLLRDHUP, &l->src) < 0) {
        wio_shm_refuse(fd, SHM_NO_MEMORY);
        return false;
    }
    l->fd = fd;
    c->fd = -1;
    wio_shm_conn_close(c);
    return true;
}

static void accepted(struct shm_conn *c)
{
    struct shm_iface *f = c->iface;
    uint32_t peer = c->auth.peer.rank;
    struct shm_link *l = wio_shm_link_find(f, peer);
    if (l == NULL || l->state > SHM_DIAL)
        l = wio_shm_link_new(f, peer);
    if (l == NULL) {
        wio_shm_refuse(c->fd, SHM_NO_MEMORY);
        wio_shm_conn_close(c);
        return;
    }
    if (l->conn != NULL)
        wio_shm_conn_close(l->conn); /* our own dial, which lost */
    l->timer = INT64_MAX;
    l->dialled = false;
    if (!adopt(l, c)) {
        wio_shm_conn_close(c);
        wio_shm_link_over(l, WAITIO_ERR_NOROUTE, "no event set for the connection");
        return;
    }
    wio_shm_set_state(l, SHM_SETUP);
}

static void dial_failed(struct shm_link *l, struct shm_conn *c)
{
    int err = c->auth.error;
    char text[480], name[64];
    wio_text(text, sizeof text, "%s", c->auth.text);
    wio_shm_conn_close(c);
    /* The peer closed: it died, which the next dial finds out, or it dropped strangers because
     * there were too many. */
    if (err == WAITIO_ERR_BUSY || (err == WAITIO_ERR_PEER && ++l->drops < DROPS_MAX))
        wio_shm_dial_later(l, SHM_RETRY_NS);
    else
        wio_shm_link_over(l, err, "cannot connect to %s: %s",
                          wio_shm_peer_name(shm_of(l), l->ep.peer, name, sizeof name), text);
}

static void handshake_failed(struct shm_conn *c)
{
    struct shm_iface *f = c->iface;
    const struct wio_auth *a = &c->auth;
    if (c->link != NULL) {
        dial_failed(c->link, c);
        return;
    }
    if (a->garbage || !c->spoke) {
        f->base.p.counters->strangers++;
    } else if (wio_auth_is_final(a->error)) {
        f->base.p.counters->auth_failures++;
        char note[96];
        if (wio_log_gate(&f->refused, wio_os_now_ns(), note, sizeof note))
            wio_warn(f->base.p.log, WIO_C_SHM, "connection from this host refused: %s%s", a->text,
                     note);
    } else {
        wio_debug(f->base.p.log, WIO_C_SHM, "dial from this host ended: %s", a->text);
    }
    wio_shm_conn_close(c);
}

/* @return false: nothing more now */
static bool drive_once(struct shm_conn *c)
{
    uint8_t buf[WIO_AUTH_MESSAGE_MAX];
    const void *out;
    size_t n;
    while ((n = wio_auth_output(&c->auth, &out)) > 0) {
        ssize_t w = wio_os_send(c->fd, out, n);
        if (w == -EAGAIN)
            return false; /* unlikely: it is much smaller than the socket's buffer */
        if (w < 0) {
            wio_auth_eof(&c->auth, (int)w);
            return c->auth.state == WIO_AUTH_RUNNING;
        }
        wio_auth_sent(&c->auth, (size_t)w);
    }
    size_t want = wio_auth_want(&c->auth);
    if (c->auth.state != WIO_AUTH_RUNNING || want == 0)
        return false;
    ssize_t r = wio_os_recv(c->fd, buf, want < sizeof buf ? want : sizeof buf);
    if (r == -EAGAIN)
        return false;
    if (r <= 0) {
        wio_auth_eof(&c->auth, (int)r);
        return true;
    }
    c->spoke = true;
    (void)wio_auth_input(&c->auth, buf, (size_t)r);
    return true;
}

void wio_shm_conn_drive(struct shm_conn *c)
{
    if (c->fd < 0)
        return;
    while (drive_once(c)) {
    }
    if (c->auth.state == WIO_AUTH_RUNNING)
        return;
    if (c->auth.state == WIO_AUTH_FAILED) {
        handshake_failed(c);
        return;
    }
    struct shm_link *l = c->link;
    if (l == NULL) {
        accepted(c);
    } else if (adopt(l, c)) {
        wio_shm_set_state(l, SHM_SETUP);
        wio_shm_setup(l);
    } else {
        wio_shm_link_over(l, WAITIO_ERR_NOROUTE, "no event set for the connection");
    }
}
