/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file server.c
 * The rendezvous service: one thread, one epoll set, nothing blocks. Strangers are connections that
 * have not proven that they know the secret. They have a fixed number of slots and 10 s each, so
 * they can neither fill the memory nor keep members out.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "boot/listen.h"
#include "boot/server.h"
#include "os/os.h"

#define ACCEPTS_PER_EVENT 128
#define ROUND_EVENTS 128
#define NS_PER_MS 1000000

/* ---- listening ---- */

static int open_listener(struct wio_service *s, const char *bind_host, uint16_t port)
{
    int fd = -1;
    if (s->secret->len == 0 && !s->cfg->secret_none_remote)
        bind_host = "127.0.0.1";
    int rc = wio_boot_listen(bind_host, &port, &fd);
    if (rc != 0)
        return rc;
    s->listener[s->nlisteners++] = (struct svc_source){SVC_LISTENER, fd};
    s->port = port;
    return 0;
}

static void watch_listeners(struct wio_service *s, int op)
{
    for (int i = 0; i < s->nlisteners; i++)
        (void)wio_os_epoll_ctl(s->epfd, op, s->listener[i].fd, EPOLLIN, &s->listener[i]);
}

static int open_desk(struct wio_service *s)
{
    struct wio_mail_way way = {.cfg = s->cfg, .secret = s->secret, .log = s->log, .job = s->job};
    s->callers.kind = SVC_DESK;
    s->relay.above = UINT32_MAX; /* leaders cannot be called: each gets its table from here */
    int rc = wio_mail_serve(&way, &s->desk, &s->callers.fd);
    if (rc != 0)
        return rc;
    rc = wio_os_epoll_ctl(s->epfd, EPOLL_CTL_ADD, s->callers.fd, EPOLLIN, &s->callers);
    return rc == 0 ? 0 : wio_fail_os(WAITIO_ERR_SYSTEM, rc, "epoll_ctl");
}

static void admit(struct wio_service *s, int fd);

static void take_relayed(void *service, int fd, int relay)
{
    (void)relay;
    admit(service, fd);
}

/* Whoever sees the relays only calls there. */
static int open_lines(struct wio_service *s)
{
    struct wio_relays relays;
    int rc = wio_relays_read(s->cfg, s->secret, &relays);
    if (rc != 0 || relays.n == 0)
        return rc;
    struct wio_lines_params p = {.relays = &relays,
                                 .secret = s->secret,
                                 .log = s->log,
                                 .comp = WIO_C_SERV,
                                 .place = wio_place_of_job(s->job, s->port),
                                 .silence_s = s->cfg->connect_timeout,
                                 .take = take_relayed,
                                 .owner = s};
    rc = wio_lines_open(&p, &s->lines);
    if (rc != 0)
        return rc;
    s->relays = (struct svc_source){SVC_LINES, wio_lines_fd(s->lines)};
    rc = wio_os_epoll_ctl(s->epfd, EPOLL_CTL_ADD, s->relays.fd, EPOLLIN, &s->relays);
    return rc == 0 ? 0 : wio_fail_os(WAITIO_ERR_SYSTEM, rc, "epoll_ctl");
}

static int open_all(struct wio_service *s, const struct wio_service_params *p)
{
    s->epfd = wio_os_epoll_create();
    if (s->epfd < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, s->epfd, "epoll_create");
    int rc = p->in_folder ? open_desk(s) : open_listener(s, p->bind_host, p->port);
    if (rc == 0 && !p->in_folder)
        rc = open_lines(s);
    if (rc != 0)
        return rc;
    watch_listeners(s, EPOLL_CTL_ADD);
    if (p->stop_fd > 0) {
        s->stop = (struct svc_source){SVC_STOP, p->stop_fd};
        rc = wio_os_epoll_ctl(s->epfd, EPOLL_CTL_ADD, p->stop_fd, EPOLLIN, &s->stop);
        if (rc != 0)
            return wio_fail_os(WAITIO_ERR_SYSTEM, rc, "the rendezvous cannot watch descriptor %d",
                               p->stop_fd);
    }
    return 0;
}

int wio_service_start(const struct wio_service_params *p, struct wio_service **out)
{
    struct wio_service *s = wio_os_alloc(sizeof *s);
    if (s == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "rendezvous");
    s->cfg = p->cfg;
    s->secret = p->secret;
    s->log = p->log;
    s->npb = p->npb > 0 ? (uint32_t)p->npb : 0;
    s->stay = p->stay;
    s->delivery_ns = p->delivery_s > 0 ? (int64_t)(p->delivery_s * 1e9) : WIO_BOOT_DELIVERY_NS;
    s->relay.fan = p->relay_fan > 0 ? p->relay_fan : WIO_BOOT_FAN;
    s->relay.above = p->relay_fan > 0 ? p->relay_above : WIO_BOOT_DIRECT;
    s->epfd = -1;
    s->lines_ns = INT64_MAX;
    wio_text(s->job, sizeof s->job, "%s", p->job_id);
    for (int i = 0; i < SVC_LISTS; i++)
        wio_list_init(&s->list[i]);
    wio_list_init(&s->dead);
    wio_roster_init(&s->roster, s->job, s->npb);
    int limit = wio_os_fd_limit();
    s->max_strangers =
        limit > 0 && limit / 4 < WIO_BOOT_STRANGERS ? (uint32_t)limit / 4 : WIO_BOOT_STRANGERS;
    if (s->max_strangers < 4)
        s->max_strangers = 4;
    int rc = open_all(s, p);
    if (rc != 0) {
        wio_service_stop(s);
        return rc;
    }
    if (p->in_folder)
        wio_info(s->log, WIO_C_SERV, "rendezvous of job id '%s' serves in WAITIO_SCRATCH_DIR=%s",
                 s->job, s->cfg->scratch_dir);
    else
        wio_info(s->log, WIO_C_SERV, "rendezvous of job id '%s' listens on port %u", s->job,
                 s->port);
    *out = s;
    return 0;
}

uint16_t wio_service_port(const struct wio_service *s)
{
    return s->port;
}

/* ---- connections ---- */

static void unlist(struct svc_conn *c)
{
    struct wio_service *s = c->s;
    wio_list_remove(&c->bc.node);
    s->count[c->list]--;
    if (s->accept_paused && c->list != SVC_MEMBER)
        s->resume_ns = 0; /* there is room again */
}

void wio_svc_enlist(struct svc_conn *c, enum svc_list list)
{
    if (wio_list_linked(&c->bc.node))
        unlist(c);
    wio_list_push(&c->s->list[list], &c->bc.node);
    c->s->count[list]++;
    c->list = (uint8_t)list;
}

static void warn_refused(struct wio_service *s, const char *why)
{
    char note[96];
    if (wio_log_gate(&s->refused, wio_os_now_ns(), note, sizeof note))
        wio_warn(s->log, WIO_C_SERV, "refused a connection: %s%s", why, note);
}

void wio_svc_drop(struct svc_conn *c)
{
    struct wio_service *s = c->s;
    unlist(c);
    wio_list_push(&s->dead, &c->bc.node);
    wio_svc_relay_gone(c);
    if (c->client != 0) {
        if (!s->roster.complete || !s->roster.clients[c->client].acked)
            wio_debug(s->log, WIO_C_SERV, "host %s pid %u: %s", s->roster.clients[c->client].host,
                      c->pid, c->bc.text[0] != '\0' ? c->bc.text : "connection ended");
        wio_roster_client_gone(&s->roster, c->client, wio_os_now_ns());
        c->client = 0;
    } else if (wio_auth_is_final(c->bc.error)) {
        warn_refused(s, c->bc.text);
    } else {
        wio_debug(s->log, WIO_C_SERV, "a connection ended before it had proven itself: %s",
                  c->bc.text);
    }
    s->stats.rx_bytes += c->bc.rx_bytes;
    s->stats.tx_bytes += c->bc.tx_bytes;
    wio_bc_close(&c->bc);
}

static void bury(struct wio_service *s)
{
    for (struct wio_list *it; (it = wio_list_pop(&s->dead)) != NULL;) {
        struct svc_conn *c = WIO_CONTAINER(it, struct svc_conn, bc.node);
        wio_os_free(c->host);
        wio_os_free(c);
    }
}

static void pause_accepting(struct wio_service *s, int64_t ns)
{
    watch_listeners(s, EPOLL_CTL_DEL);
    s->accept_paused = true;
    s->resume_ns = wio_os_now_ns() + ns;
}

static struct svc_conn *first_of(const struct wio_service *s, enum svc_list list)
{
    struct wio_list *it = wio_list_first(&s->list[list]);
    return it == NULL ? NULL : WIO_CONTAINER(it, struct svc_conn, bc.node);
}

/* Drop the stranger that has waited longest without sending. @return false: all may stay for now */
static bool make_room(struct wio_service *s)
{
    struct svc_conn *c = first_of(s, SVC_SILENT);
    if (c == NULL)
        c = first_of(s, SVC_TALKING);
    if (c == NULL || (c->list == SVC_TALKING && wio_os_now_ns() - c->since_ns < WIO_BOOT_TALK_NS))
        return false;
    wio_text(c->bc.text, sizeof c->bc.text,
             "dropped for room: %u others had not proven themselves either",
             s->count[SVC_SILENT] + s->count[SVC_TALKING] - 1);
    s->dropped++;
    wio_svc_drop(c);
    return true;
}

static void on_conn(struct svc_conn *c, uint32_t events)
{
    if (c->bc.state == WIO_BC_CLOSED)
        return;
    if (!wio_bc_event(&c->bc, events)) {
        wio_svc_drop(c);
        return;
    }
    if (c->list == SVC_SILENT && c->bc.rx_bytes > 0)
        wio_svc_enlist(c, SVC_TALKING);
    if (c->going && c->list != SVC_KEPT && wio_bc_flushed(&c->bc))
        wio_os_shutdown_send(c->bc.fd);
    if (wio_bc_arm(&c->bc, c->s->epfd) != 0)
        wio_svc_drop(c);
}

static void admit(struct wio_service *s, int fd)
{
    int one = 1;
    struct svc_conn *c = wio_os_alloc(sizeof *c);
    if (c == NULL || wio_bc_start(&c->bc, fd, WIO_AUTH_ACCEPT, false, false, s->secret,
                                  &wio_svc_upcalls, s) != 0) {
        if (c == NULL)
            wio_os_close(fd);
        wio_os_free(c);
        return;
    }
    wio_os_setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    wio_os_setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    c->bc.kind = SVC_CONN;
    c->s = s;
    c->since_ns = wio_os_now_ns();
    wio_svc_enlist(c, SVC_SILENT);
    on_conn(c, EPOLLIN); /* the message of a member has mostly arrived already */
}

static void on_accept(struct wio_service *s, int listener)
{
    for (int i = 0; i < ACCEPTS_PER_EVENT; i++) {
        struct sockaddr_storage sa;
        socklen_t len = sizeof sa;
        if (s->count[SVC_SILENT] + s->count[SVC_TALKING] >= s->max_strangers && !make_room(s)) {
            pause_accepting(s, 20 * (int64_t)NS_PER_MS);
            return;
        }
        int fd = wio_os_accept(listener, &sa, &len);
        if (fd >= 0) {
            admit(s, fd);
            continue;
        }
        if (fd != -EMFILE && fd != -ENFILE && fd != -ENOBUFS && fd != -ENOMEM)
            return;
        if (make_room(s))
            continue;
        wio_error(
            s->log, WIO_C_SERV,
            "cannot accept more connections with %u hosts connected: %s (descriptor limit %d; "
            "one is needed per host: raise ulimit -n)",
            s->count[SVC_MEMBER], strerror(-fd), wio_os_fd_limit());
        pause_accepting(s, 1000 * (int64_t)NS_PER_MS);
        return;
    }
}

/* Callers by the directory. @return 0; JOIN: another process serves there now */
static int on_callers(struct wio_service *s)
{
    for (int i = 0; i < ACCEPTS_PER_EVENT; i++) {
        char byte;
        int fd = -1;
        ssize_t k = wio_os_recv_fd(s->callers.fd, &fd, &byte, 1);
        if (k == 0) {
            (void)wio_os_epoll_ctl(s->epfd, EPOLL_CTL_DEL, s->callers.fd, 0, NULL);
            return wio_fail(WAITIO_ERR_JOIN,
                            "another process of this job id serves the rendezvous now");
        }
        if (k < 0)
            return 0;
        if (fd >= 0)
            admit(s, fd);
    }
    return 0;
}

/* ---- time ---- */

static void dismiss_members(struct wio_service *s, int code, const char *text)
{
    struct wio_boot_refuse no = {.code = code, .pbid = WIO_BOOT_ALL, .rank = WIO_BOOT_ALL};
    wio_text(no.text, sizeof no.text, "%s", text);
    WIO_LIST_FOR_SAFE(it, next, &s->list[SVC_MEMBER])
    {
        wio_svc_dismiss(WIO_CONTAINER(it, struct svc_conn, bc.node), &no);
    }
}

/* No connection belongs to the roster any more: clear it, so that another attempt may begin.
 */
static void forget_all(struct wio_service *s)
{
    for (int i = 0; i < SVC_LISTS; i++)
        for (struct wio_list *it = wio_list_begin(&s->list[i]); it != &s->list[i]; it = it->next)
            WIO_CONTAINER(it, struct svc_conn, bc.node)->client = 0;
    wio_roster_free(&s->roster);
    wio_roster_init(&s->roster, s->job, s->npb);
    s->progress_version = 0;
}

static int check_lost(struct wio_service *s, int64_t now)
{
    char who[200], text[WIO_BOOT_TEXT];
    if (!wio_roster_lost(&s->roster, now, WIO_BOOT_GRACE_NS, who, sizeof who))
        return 0;
    struct wio_boot_progress m;
    wio_roster_progress(&s->roster, &m);
    wio_text(text, sizeof text, "%s; missing: %.700s", who, m.missing);
    wio_error(s->log, WIO_C_SERV, "%s: everybody was told", text);
    dismiss_members(s, WAITIO_ERR_PEER, text);
    forget_all(s);
    return wio_fail(WAITIO_ERR_PEER, "%s", text);
}

static struct svc_conn *first_late(const struct wio_service *s)
{
    WIO_LIST_FOR(it, &s->list[SVC_MEMBER])
    {
        struct svc_conn *c = WIO_CONTAINER(it, struct svc_conn, bc.node);
        if (c->client != 0 && !s->roster.clients[c->client].acked)
            return c;
    }
    return NULL;
}

static void end_delivery(struct wio_service *s)
{
    /* From the start each time: closing one may release another. */
    for (struct svc_conn *c; (c = first_late(s)) != NULL;) {
        wio_warn(s->log, WIO_C_SERV, "host %s did not take its table within %d s",
                 s->roster.clients[c->client].host, (int)(s->delivery_ns / 1000000000));
        if (s->stay && c->served) { /* its leader died; others there may have the table */
            wio_roster_acked(&s->roster, c->client);
            wio_svc_release(c);
        } else {
            wio_svc_drop(c);
        }
    }
}

/* All that depends on time. @return 0, or PEER when the join has failed */
static int housekeeping(struct wio_service *s, int64_t now)
{
    for (enum svc_list k = SVC_SILENT; k <= SVC_TALKING; k++) {
        for (struct svc_conn *c;
             (c = first_of(s, k)) != NULL && now - c->since_ns >= WIO_BOOT_STRANGER_NS;) {
            wio_text(c->bc.text, sizeof c->bc.text, "it took too long");
            wio_svc_drop(c);
        }
    }
    if (s->accept_paused && now >= s->resume_ns) {
        s->accept_paused = false;
        watch_listeners(s, EPOLL_CTL_ADD);
    }
    if (s->roster.complete && !s->reported && now - s->complete_ns > s->delivery_ns)
        end_delivery(s);
    wio_svc_relay_tick(s, now);
    if (s->lines != NULL)
        s->lines_ns = wio_lines_run(s->lines, now);
    return check_lost(s, now);
}

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int sleep_ms(const struct wio_service *s, int64_t now, int64_t deadline)
{
    int64_t next = sooner(deadline, wio_roster_next_ns(&s->roster, WIO_BOOT_GRACE_NS));
    next = sooner(next, s->lines_ns);
    for (enum svc_list k = SVC_SILENT; k <= SVC_TALKING; k++) {
        const struct svc_conn *oldest = first_of(s, k);
        if (oldest != NULL && oldest->since_ns + WIO_BOOT_STRANGER_NS < next)
            next = oldest->since_ns + WIO_BOOT_STRANGER_NS;
    }
    if (s->accept_paused && s->resume_ns < next)
        next = s->resume_ns;
    if (s->roster.complete && !s->reported && s->complete_ns + s->delivery_ns < next)
        next = s->complete_ns + s->delivery_ns;
    if (s->relay.untold > 0 && s->complete_ns + WIO_BOOT_PORT_NS < next)
        next = s->complete_ns + WIO_BOOT_PORT_NS;
    if (next == INT64_MAX)
        return -1;
    int64_t ms = next <= now ? 0 : (next - now) / NS_PER_MS + 1;
    return ms > 60000 ? 60000 : (int)ms;
}

/* ---- life ---- */

/* One round of events. @return 0, CANCELLED, SYSTEM */
static int one_round(struct wio_service *s, int timeout_ms)
{
    struct epoll_event ev[ROUND_EVENTS];
    int rc = 0, n = wio_os_epoll_wait(s->epfd, ev, ROUND_EVENTS, timeout_ms);
    if (n < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, n, "rendezvous: epoll_wait");
    for (int i = 0; i < n; i++) {
        struct svc_source *src = ev[i].data.ptr;
        if (src->kind == SVC_LISTENER)
            on_accept(s, src->fd);
        else if (src->kind == SVC_DESK)
            rc = on_callers(s);
        else if (src->kind == SVC_LINES)
            continue; /* housekeeping looks after them */
        else if (src->kind == SVC_STOP)
            rc = wio_fail(WAITIO_ERR_CANCELLED, "the rendezvous was told to stop");
        else
            on_conn((struct svc_conn *)(void *)src, ev[i].events);
    }
    bury(s);
    return rc;
}

int wio_service_run(struct wio_service *s, int64_t timeout_ns)
{
    int64_t deadline = timeout_ns < 0 ? INT64_MAX : wio_os_now_ns() + timeout_ns;
    for (;;) {
        int64_t now = wio_os_now_ns();
        int rc = housekeeping(s, now);
        bury(s);
        if (rc != 0)
            return rc;
        if (!s->reported && wio_roster_delivered(&s->roster)) {
            s->reported = true;
            return 1;
        }
        if (s->stay && s->reported && s->count[SVC_KEPT] == 0)
            return WIO_SERVICE_ENDED;
        if (now >= deadline)
            return 0;
        rc = one_round(s, sleep_ms(s, now, deadline));
        if (rc != 0)
            return rc;
    }
}

void wio_service_stats(const struct wio_service *s, struct wio_service_stats *st)
{
    *st = s->stats;
    st->joined = s->roster.joined;
    st->expected = s->roster.expected > UINT32_MAX ? UINT32_MAX : (uint32_t)s->roster.expected;
    st->bytes = sizeof *s + s->roster.bytes + s->relay.n * sizeof(struct svc_conn *);
    st->kept = s->count[SVC_KEPT];
    for (int i = 0; i < SVC_LISTS; i++) {
        WIO_LIST_FOR(it, &s->list[i])
        {
            const struct svc_conn *c = WIO_CONTAINER(it, struct svc_conn, bc.node);
            st->bytes +=
                sizeof *c - sizeof c->bc + wio_bc_bytes(&c->bc) + c->hosts_cap * sizeof *c->host;
            st->rx_bytes += c->bc.rx_bytes;
            st->tx_bytes += c->bc.tx_bytes;
        }
    }
}

void wio_service_refuse(struct wio_service *s, int code, const char *text)
{
    dismiss_members(s, code, text);
    forget_all(s);
}

/* Let the last message arrive: closing with unread input makes the system discard it. */
static void wait_for_farewells(struct wio_service *s)
{
    int64_t now = wio_os_now_ns(), deadline = now + 300 * (int64_t)NS_PER_MS;
    bool somebody = true;
    for (; somebody && now < deadline; now = wio_os_now_ns()) {
        somebody = false;
        WIO_LIST_FOR(it, &s->list[SVC_TALKING])
        {
            somebody |= WIO_CONTAINER(it, struct svc_conn, bc.node)->going;
        }
        if (somebody && one_round(s, (int)((deadline - now) / NS_PER_MS) + 1) == WAITIO_ERR_SYSTEM)
            return;
    }
}

void wio_service_stop(struct wio_service *s)
{
    if (s == NULL)
        return;
    wio_log_gate_end(&s->refused, s->log, WIO_C_SERV, "refused connections");
    wio_log_gate_end(&s->other_job, s->log, WIO_C_SERV, "refused hosts of other job ids");
    if (s->stop.fd > 0)
        (void)wio_os_epoll_ctl(s->epfd, EPOLL_CTL_DEL, s->stop.fd, 0, NULL);
    watch_listeners(s, EPOLL_CTL_DEL);
    wio_lines_close(s->lines);
    for (int i = 0; i < s->nlisteners; i++)
        wio_os_close(s->listener[i].fd);
    if (!s->roster.complete && s->count[SVC_MEMBER] > 0) {
        struct wio_boot_progress m;
        char text[WIO_BOOT_TEXT];
        wio_roster_progress(&s->roster, &m);
        wio_text(text, sizeof text,
                 "the rendezvous ended before everybody had come; missing: %.800s", m.missing);
        dismiss_members(s, WAITIO_ERR_PEER, text);
    }
    wait_for_farewells(s);
    for (int i = 0; i < SVC_LISTS; i++)
        for (struct svc_conn *c; (c = first_of(s, (enum svc_list)i)) != NULL;)
            wio_svc_drop(c);
    bury(s);
    wio_mail_close(s->desk);
    wio_roster_free(&s->roster);
    wio_os_free(s->packed);
    wio_os_free(s->relay.node);
    wio_os_close(s->epfd);
    wio_os_free(s);
}
