/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file guests.c
 * Connections until they are something: accept, handshake, request. Strangers are few, cost 2 KiB
 * and ten seconds, and the one that has said nothing for longest makes room for the next.
 */
#include <arpa/inet.h>
#include <errno.h>

#include "boot/addresses.h"
#include "relay.h"

#define ACCEPTS 64
#define PAUSE_NS (50 * NS_PER_MS)

bool rl_send(int fd, enum wio_detour_type type, const struct wio_place *place, uint64_t number,
             const char *text)
{
    struct wio_detour_msg m = {.type = type, .number = number};
    uint8_t out[WIO_DETOUR_MAX];
    if (place != NULL)
        m.place = *place;
    wio_text(m.text, sizeof m.text, "%s", text);
    size_t n = wio_detour_put(out, &m);
    return wio_os_send(fd, out, n) == (ssize_t)n;
}

void rl_guest_phase(struct relay *r, struct guest *g, enum guest_phase phase)
{
    wio_list_remove(&g->node);
    r->nguests[g->phase]--;
    g->phase = phase;
    r->nguests[phase]++;
    wio_list_push(&r->guests[phase], &g->node);
    if (phase >= G_ASKING)
        g->since = wio_os_now_ns();
}

void rl_guest_over(struct relay *r, struct guest *g)
{
    if (g->over)
        return;
    g->over = true;
    wio_os_close(g->fd);
    g->fd = -1;
    rl_seat_leave(r, g);
    r->nguests[g->phase]--;
    wio_list_remove(&g->node);
    wio_list_push(&r->dead_guests, &g->node);
    wio_os_free(g->auth);
    g->auth = NULL;
}

void rl_guest_refuse(struct relay *r, struct guest *g, int code, const char *fmt, ...)
{
    struct wio_detour_msg m = {.type = WIO_DETOUR_REFUSED, .code = code};
    uint8_t out[WIO_DETOUR_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(m.text, sizeof m.text, fmt, ap);
    va_end(ap);
    wio_debug(&r->log, WIO_C_SERV, "%s is refused: %s", g->from, m.text);
    size_t n = wio_detour_put(out, &m);
    (void)wio_os_send(g->fd, out, n);
    (void)wio_os_shutdown_send(g->fd);
    rl_guest_over(r, g);
}

void rl_guests_bury(struct relay *r)
{
    for (struct wio_list *it; (it = wio_list_pop(&r->dead_guests)) != NULL;)
        wio_os_free(WIO_CONTAINER(it, struct guest, node));
}

/* ---- handshake and request ---- */

static void not_proven(struct relay *r, struct guest *g)
{
    const struct wio_auth *a = g->auth;
    const void *out;
    char note[96];
    size_t n = wio_auth_output(a, &out);
    if (n > 0)
        (void)wio_os_send(g->fd, out, n);
    if (a->error == WAITIO_ERR_AUTH || a->error == WAITIO_ERR_VERSION) {
        if (wio_log_gate(&r->refused, wio_os_now_ns(), note, sizeof note))
            wio_warn(&r->log, WIO_C_SERV, "connection from %s refused: %s%s", g->from, a->text,
                     note);
    } else {
        wio_debug(&r->log, WIO_C_SERV, "connection from %s: %s", g->from, a->text);
    }
    rl_guest_over(r, g);
}

static void write_auth(struct guest *g)
{
    const void *out;
    for (size_t n; (n = wio_auth_output(g->auth, &out)) > 0;) {
        ssize_t k = wio_os_send(g->fd, out, n);
        if (k == -EAGAIN)
            return;
        if (k < 0) {
            wio_auth_eof(g->auth, (int)k);
            return;
        }
        wio_auth_sent(g->auth, (size_t)k);
    }
}

/* @return proven */
static bool shake(struct relay *r, struct guest *g)
{
    uint8_t buf[WIO_AUTH_MESSAGE_MAX];
    while (g->auth->state == WIO_AUTH_RUNNING) {
        write_auth(g);
        size_t want = g->auth->state == WIO_AUTH_RUNNING ? wio_auth_want(g->auth) : 0;
        if (want == 0)
            break;
        ssize_t k = wio_os_recv(g->fd, buf, want < sizeof buf ? want : sizeof buf);
        if (k == -EAGAIN)
            return false;
        if (k > 0)
            (void)wio_auth_input(g->auth, buf, (size_t)k);
        else
            wio_auth_eof(g->auth, (int)k);
        if (k > 0 && g->phase == G_SILENT)
            rl_guest_phase(r, g, G_TALKING);
    }
    if (g->auth->state == WIO_AUTH_FAILED) {
        not_proven(r, g);
        return false;
    }
    return g->auth->state == WIO_AUTH_DONE;
}

static void status(struct relay *r, struct guest *g)
{
    char text[WIO_DETOUR_TEXT];
    wio_text(text, sizeof text, "%u registered, %u of %u links in use, %u callers wait",
             r->nguests[G_LINE], r->npairs, r->max_links, r->nguests[G_CALL]);
    (void)rl_send(g->fd, WIO_DETOUR_OPEN, NULL, 0, text);
    (void)wio_os_shutdown_send(g->fd);
    rl_guest_over(r, g);
}

static void request(struct relay *r, struct guest *g, const struct wio_detour_msg *m)
{
    switch (m->type) {
    case WIO_DETOUR_REGISTER:
        rl_register(r, g, &m->place);
        break;
    case WIO_DETOUR_CALL:
        rl_call(r, g, &m->place);
        break;
    case WIO_DETOUR_ANSWER:
        rl_answer(r, g, m);
        break;
    case WIO_DETOUR_STATUS:
        status(r, g);
        break;
    default:
        rl_guest_refuse(r, g, WAITIO_ERR_PROTOCOL, "message of type %d makes no sense here",
                        (int)m->type);
    }
}

/* What comes from a proven guest: its request; from a line, that it cannot answer; from a caller,
 * nothing but the end. */
static void read_message(struct relay *r, struct guest *g)
{
    struct wio_detour_msg m;
    for (int i = 0; i < ACCEPTS && g->fd >= 0; i++) {
        int rc = wio_detour_read(&g->in, g->fd, &m);
        if (rc == 0)
            return;
        if (rc < 0 || g->phase == G_CALL) {
            rl_guest_over(r, g);
            return;
        }
        if (g->phase == G_ASKING) {
            request(r, g, &m);
        } else if (m.type == WIO_DETOUR_DECLINE) {
            rl_decline(r, g, &m);
        } else {
            rl_guest_over(r, g);
        }
    }
}

void rl_guest_event(struct relay *r, struct guest *g, uint32_t events)
{
    const void *out;
    (void)events;
    if (g->fd < 0)
        return;
    if (g->phase < G_ASKING) {
        bool proven = shake(r, g);
        if (g->fd < 0)
            return;
        uint32_t more = wio_auth_output(g->auth, &out) > 0 ? (uint32_t)EPOLLOUT : 0;
        (void)wio_os_epoll_ctl(r->epfd, EPOLL_CTL_MOD, g->fd, EPOLLIN | more, g);
        if (!proven)
            return;
        wio_os_free(g->auth);
        g->auth = NULL;
        rl_guest_phase(r, g, G_ASKING);
    }
    read_message(r, g);
}

/* ---- accepting ---- */

static void address_text(const struct sockaddr_storage *sa, char *buf, size_t n)
{
    struct wio_tab_addr a;
    char ip[64];
    if (!wio_addr_from_sockaddr((const struct sockaddr *)sa, 0, &a)) {
        wio_text(buf, n, "somewhere");
        return;
    }
    wio_addr_text(&a, ip, sizeof ip);
    unsigned port = ntohs(sa->ss_family == AF_INET
                              ? ((const struct sockaddr_in *)(const void *)sa)->sin_port
                              : ((const struct sockaddr_in6 *)(const void *)sa)->sin6_port);
    wio_text(buf, n, a.family == 6 ? "[%s]:%u" : "%s:%u", ip, port);
}

static void admit(struct relay *r, int fd, const struct sockaddr_storage *from)
{
    struct wio_auth_id id = wio_relay_identity();
    struct guest *g = wio_os_alloc(sizeof *g);
    if (g != NULL)
        g->auth = wio_os_alloc(sizeof *g->auth);
    if (g == NULL || g->auth == NULL ||
        wio_auth_start(g->auth, WIO_AUTH_ACCEPT, WIO_AUTH_RELAY, &r->secret, &id, NULL, NULL,
                       NULL) != 0 ||
        wio_os_epoll_ctl(r->epfd, EPOLL_CTL_ADD, fd, EPOLLIN, g) < 0) {
        wio_os_close(fd);
        if (g != NULL)
            wio_os_free(g->auth);
        wio_os_free(g);
        return;
    }
    wio_relay_socket(fd, r->cfg.connect_timeout);
    rl_near_accepted(r, fd, from);
    g->kind = K_GUEST;
    g->fd = fd;
    g->since = wio_os_now_ns();
    address_text(from, g->from, sizeof g->from);
    g->phase = G_SILENT;
    r->nguests[G_SILENT]++;
    wio_list_push(&r->guests[G_SILENT], &g->node);
    rl_guest_event(r, g, EPOLLIN);
}

static void pause_listener(struct relay *r)
{
    r->paused = true;
    r->resume = wio_os_now_ns() + PAUSE_NS;
    (void)wio_os_epoll_ctl(r->epfd, EPOLL_CTL_MOD, r->listener.fd, 0, &r->listener);
}

/* @return false: all strangers are new */
static bool make_room(struct relay *r)
{
    if (r->nguests[G_SILENT] + r->nguests[G_TALKING] + r->nguests[G_ASKING] < r->max_strangers)
        return true;
    for (int i = G_SILENT; i <= G_ASKING; i++) {
        struct wio_list *it = wio_list_first(&r->guests[i]);
        struct guest *g = it != NULL ? WIO_CONTAINER(it, struct guest, node) : NULL;
        int64_t least = i == G_SILENT ? PAUSE_NS : NS_PER_S;
        if (g == NULL || wio_os_now_ns() - g->since < least)
            continue;
        wio_debug(&r->log, WIO_C_SERV, "connection from %s makes room for others", g->from);
        rl_guest_over(r, g);
        return true;
    }
    return false;
}

void rl_accept(struct relay *r)
{
    for (int i = 0; i < ACCEPTS; i++) {
        struct sockaddr_storage from;
        socklen_t len = sizeof from;
        if (!make_room(r)) {
            pause_listener(r);
            return;
        }
        memset(&from, 0, sizeof from);
        int fd = wio_os_accept(r->listener.fd, &from, &len);
        if (fd >= 0) {
            admit(r, fd, &from);
            continue;
        }
        if (fd == -EMFILE || fd == -ENFILE || fd == -ENOBUFS || fd == -ENOMEM) {
            char note[96];
            if (wio_log_gate(&r->refused, wio_os_now_ns(), note, sizeof note))
                wio_error(&r->log, WIO_C_SERV,
                          "cannot accept connections: %s (descriptor limit %d: raise ulimit -n)%s",
                          strerror(-fd), wio_os_fd_limit(), note);
            pause_listener(r);
        }
        return;
    }
}

int64_t rl_guests_tick(struct relay *r, int64_t now)
{
    int64_t next = INT64_MAX;
    for (int i = G_SILENT; i <= G_ASKING; i++)
        for (struct wio_list *it; (it = wio_list_first(&r->guests[i])) != NULL;) {
            struct guest *g = WIO_CONTAINER(it, struct guest, node);
            if (g->since + GUEST_NS > now) {
                next = g->since + GUEST_NS < next ? g->since + GUEST_NS : next;
                break;
            }
            wio_debug(&r->log, WIO_C_SERV, "connection from %s took too long", g->from);
            rl_guest_over(r, g);
        }
    if (r->paused && now >= r->resume) {
        r->paused = false;
        (void)wio_os_epoll_ctl(r->epfd, EPOLL_CTL_MOD, r->listener.fd, EPOLLIN, &r->listener);
    }
    return r->paused && r->resume < next ? r->resume : next;
}
