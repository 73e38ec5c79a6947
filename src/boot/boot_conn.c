/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "boot/boot_conn.h"
#include "os/os.h"

/** Frames taken per event, so that one busy connection does not starve the others. */
#define FRAMES_PER_EVENT 32

struct wio_auth_id wio_bc_identity(void)
{
    /* Not the job's: a service of another job shall answer after the proof, and name its job. */
    struct wio_auth_id id = {.universe = "waitio boot v1"};
    return id;
}

static void no_tx_fds(struct wio_bc *c)
{
    for (int i = 0; i < WIO_BC_FDS; i++)
        c->tx_fd[i] = -1;
}

static bool fail(struct wio_bc *c, int code, const char *fmt, ...) WIO_PRINTF(3, 4);
static bool fail(struct wio_bc *c, int code, const char *fmt, ...)
{
    va_list ap;
    if (c->state == WIO_BC_CLOSED)
        return false;
    va_start(ap, fmt);
    vsnprintf(c->text, sizeof c->text, fmt, ap);
    va_end(ap);
    c->error = code;
    wio_bc_close(c);
    return false;
}

int wio_bc_start(struct wio_bc *c, int fd, enum wio_auth_role role, bool unix_socket,
                 bool connecting, const struct wio_secret *secret, const struct wio_bc_upcalls *up,
                 void *owner)
{
    struct wio_auth_id id = wio_bc_identity();
    memset(c, 0, sizeof *c);
    c->fd = fd;
    c->rx_fd = -1;
    no_tx_fds(c);
    c->unix_socket = unix_socket;
    c->up = up;
    c->owner = owner;
    c->allowed = UINT32_MAX;
    c->state = connecting ? WIO_BC_CONNECTING : WIO_BC_AUTH;
    c->auth = wio_os_alloc(sizeof *c->auth);
    int rc = c->auth == NULL
                 ? wio_fail(WAITIO_ERR_NOMEM, "handshake of a rendezvous connection")
                 : wio_auth_start(c->auth, role, unix_socket ? WIO_AUTH_LEADER : WIO_AUTH_BOOT,
                                  secret, &id, role == WIO_AUTH_DIAL ? &id : NULL, NULL, NULL);
    if (rc != 0)
        wio_bc_close(c);
    return rc;
}

void wio_bc_close(struct wio_bc *c)
{
    /* A child that is being started may hold the socket: no event for c may come any more. */
    if (c->events != 0)
        wio_os_epoll_close(c->fd, c->epfd, -1);
    else
        wio_os_close(c->fd);
    if (c->rx_fd >= 0)
        wio_os_close(c->rx_fd);
    c->fd = c->rx_fd = -1;
    no_tx_fds(c);
    c->state = WIO_BC_CLOSED;
    c->events = 0;
    wio_os_free(c->auth);
    wio_tls_free(c->tls);
    wio_os_free(c->out);
    if (!c->foreign_payload)
        wio_os_free(c->payload);
    wio_os_free(c->detour);
    c->detour = NULL;
    c->auth = NULL;
    c->tls = NULL;
    c->out = NULL;
    c->payload = NULL;
    c->foreign_payload = false;
    c->out_len = c->out_off = c->out_cap = c->tail_len = c->tail_off = 0;
}

size_t wio_bc_bytes(const struct wio_bc *c)
{
    return sizeof *c + (c->auth != NULL ? sizeof *c->auth : 0) + c->out_cap +
           (c->payload != NULL && !c->foreign_payload ? c->need : 0);
}

int wio_bc_through(struct wio_bc *c, const struct wio_secret *secret, const struct wio_place *place)
{
    c->detour = wio_os_alloc(sizeof *c->detour);
    int rc = c->detour == NULL ? wio_fail(WAITIO_ERR_NOMEM, "handshake with a relay")
                               : wio_detour_start(c->detour, secret, WIO_DETOUR_CALL, place, 0);
    if (rc != 0)
        wio_bc_close(c);
    return rc;
}

/* ---- handshake ---- */

/* @return false: ended. State AUTH when the relay has connected us. */
static bool detour_step(struct wio_bc *c)
{
    enum wio_detour_state s = wio_detour_drive(c->detour, c->fd);
    if (s == WIO_DETOUR_FAILED) {
        int error = c->detour->error;
        char text[sizeof c->detour->text];
        wio_text(text, sizeof text, "%s", c->detour->text);
        return fail(c, error, "%.280s", text);
    }
    if (s == WIO_DETOUR_DONE) {
        wio_os_free(c->detour);
        c->detour = NULL;
        c->state = WIO_BC_AUTH;
    }
    return true;
}

static bool auth_ended(struct wio_bc *c)
{
    struct wio_auth *a = c->auth;
    const void *buf;
    size_t n = wio_auth_output(a, &buf);
    if (n > 0) /* the refusal; it is lost if the socket does not take it now */
        (void)wio_os_send(c->fd, buf, n);
    c->refused = a->refused_by_peer;
    c->garbage = a->garbage;
    return fail(c, a->error, "%s", a->text);
}

/* @return 0 or -errno of a broken connection */
static int auth_write(struct wio_bc *c)
{
    const void *buf;
    for (size_t n; (n = wio_auth_output(c->auth, &buf)) > 0;) {
        ssize_t k = wio_os_send(c->fd, buf, n);
        if (k < 0)
            return k == -EAGAIN ? 0 : (int)k;
        c->tx_bytes += (uint64_t)k;
        wio_auth_sent(c->auth, (size_t)k);
    }
    return 0;
}

/* @return false: ended. Sets state OPEN when done. */
static bool auth_step(struct wio_bc *c)
{
    uint8_t buf[512];
    struct wio_auth *a = c->auth;
    while (a->state == WIO_AUTH_RUNNING) {
        int rc = auth_write(c);
        size_t want = wio_auth_want(a);
        if (want == 0 && rc < 0)
            wio_auth_eof(a, rc); /* otherwise the last message before the close decides */
        if (want == 0)
            break;
        ssize_t k = wio_os_recv(c->fd, buf, want < sizeof buf ? want : sizeof buf);
        if (k == -EAGAIN)
            return true;
        if (k <= 0)
            wio_auth_eof(a, (int)k);
        else
            wio_auth_input(a, buf, (size_t)k);
        c->rx_bytes += k > 0 ? (uint64_t)k : 0;
    }
    if (a->state == WIO_AUTH_FAILED)
        return auth_ended(c);
    if (a->state != WIO_AUTH_DONE)
        return true;
    int rc = wio_tls_begin(a, c->fd, &c->tls);
    wio_os_free(c->auth);
    c->auth = NULL;
    c->state = WIO_BC_OPEN;
    if (rc == 0 && c->up->opened != NULL)
        rc = c->up->opened(c);
    return rc == 0 || fail(c, rc, "%s", wio_last_detail());
}

/* ---- reading ---- */

/* @return bytes, 0 = end of stream, -errno */
static ssize_t take(struct wio_bc *c, void *buf, size_t n)
{
    ssize_t k;
    if (c->unix_socket) {
        int fd = -1;
        k = wio_os_recv_fd(c->fd, &fd, buf, n);
        if (fd >= 0) {
            if (c->rx_fd >= 0)
                wio_os_close(c->rx_fd);
            c->rx_fd = fd;
        }
    } else {
        k = wio_stream_recv(c->tls, c->fd, buf, n);
    }
    if (k > 0)
        c->rx_bytes += (uint64_t)k;
    return k;
}

/* @return 1 = got something, 0 = nothing now, -1 = ended */
static int take_into(struct wio_bc *c, uint8_t *to, size_t n, size_t *got)
{
    ssize_t k = take(c, to, n);
    *got = k > 0 ? (size_t)k : 0;
    if (k == -EAGAIN)
        return 0;
    if (k == 0 && c->have_hdr == 0)
        fail(c, 0, "the other side closed the connection");
    else if (k == 0)
        fail(c, WAITIO_ERR_PEER, "the connection ended inside a message");
    else if (k == -EBADMSG && c->tls != NULL)
        fail(c, WAITIO_ERR_PROTOCOL, "%s", wio_tls_why(c->tls));
    else if (k < 0)
        fail(c, WAITIO_ERR_PEER, "connection broken: %s", strerror((int)-k));
    return k > 0 ? 1 : -1;
}

/* The header is complete: find room for the payload. */
static bool begin_payload(struct wio_bc *c)
{
    struct wio_boot_hdr h;
    int rc = wio_boot_get_hdr(c->hdr, &h);
    if (rc != 0)
        return fail(c, rc, "%s", wio_last_detail());
    if ((c->allowed & (1u << h.type)) == 0 ||
        (h.type == WIO_BOOT_TABLE && c->up->table_room == NULL))
        return fail(c, WAITIO_ERR_PROTOCOL, "rendezvous message of type %u was not expected",
                    h.type);
    c->need = h.len;
    c->have = 0;
    c->foreign_payload = h.type == WIO_BOOT_TABLE;
    if (h.len == 0)
        return true;
    c->payload = c->foreign_payload ? c->up->table_room(c, h.len) : wio_os_alloc(h.len);
    if (c->payload == NULL)
        return fail(c, WAITIO_ERR_NOMEM, "no memory for a message of %u bytes", h.len);
    return true;
}

static bool deliver(struct wio_bc *c)
{
    struct wio_boot_hdr h;
    (void)wio_boot_get_hdr(c->hdr, &h);
    uint8_t *payload = c->payload;
    bool foreign = c->foreign_payload;
    c->payload = NULL;
    c->foreign_payload = false;
    c->have_hdr = 0;
    c->messages++;
    int rc = c->up->frame(c, (enum wio_boot_type)h.type, payload, h.len);
    if (!foreign)
        wio_os_free(payload);
    return rc >= 0 ? c->state != WIO_BC_CLOSED : fail(c, rc, "%s", wio_last_detail());
}

static bool read_frames(struct wio_bc *c)
{
    /* What has been taken off an encrypted connection's socket makes no event. */
    for (int frames = 0; frames < FRAMES_PER_EVENT || (c->tls != NULL && wio_tls_unread(c->tls));) {
        size_t got;
        int rc;
        if (c->have_hdr < WIO_BOOT_HDR) {
            rc = take_into(c, c->hdr + c->have_hdr, (size_t)(WIO_BOOT_HDR - c->have_hdr), &got);
            if (rc <= 0)
                return rc == 0;
            c->have_hdr = (uint8_t)(c->have_hdr + got);
            if (c->have_hdr < WIO_BOOT_HDR)
                continue;
            if (!begin_payload(c))
                return false;
        }
        if (c->have < c->need) {
            rc = take_into(c, c->payload + c->have, c->need - c->have, &got);
            if (rc <= 0)
                return rc == 0;
            c->have += (uint32_t)got;
        }
        if (c->have == c->need) {
            frames++;
            if (!deliver(c))
                return false;
        }
    }
    return true;
}

/* ---- writing ---- */

static ssize_t write_out(struct wio_bc *c)
{
    const uint8_t *from = c->out + c->out_off;
    size_t n = c->out_len - c->out_off;
    if (c->tx_fd[0] < 0)
        return wio_stream_send(c->tls, c->fd, from, n);
    if (c->out_off < c->tx_fd_at[0])
        return wio_os_send(c->fd, from, c->tx_fd_at[0] - c->out_off);
    if (c->tx_fd[1] >= 0) /* not past the frame that carries the next one */
        n = c->tx_fd_at[1] - c->out_off;
    ssize_t k = wio_os_send_fd(c->fd, c->tx_fd[0], from, n);
    if (k > 0) {
        c->tx_fd[0] = c->tx_fd[1];
        c->tx_fd_at[0] = c->tx_fd_at[1];
        c->tx_fd[1] = -1;
    }
    return k;
}

/* The read path reports errors: the last message of the other side is more useful. */
static void write_frames(struct wio_bc *c)
{
    while (c->state == WIO_BC_OPEN && !wio_bc_flushed(c)) {
        bool tail = c->out_off == c->out_len;
        ssize_t k =
            tail ? wio_stream_send(c->tls, c->fd, c->tail + c->tail_off, c->tail_len - c->tail_off)
                 : write_out(c);
        if (k <= 0)
            return;
        c->tx_bytes += (uint64_t)k;
        if (tail)
            c->tail_off += (size_t)k;
        else
            c->out_off += (size_t)k;
    }
    if (c->out_off == c->out_len && c->out != NULL) {
        wio_os_free(c->out);
        c->out = NULL;
        c->out_len = c->out_off = c->out_cap = 0;
    }
}

bool wio_bc_flushed(const struct wio_bc *c)
{
    return c->out_off == c->out_len && c->tail_off == c->tail_len;
}

static int append(struct wio_bc *c, const void *p, size_t n)
{
    if (c->out_len + n > c->out_cap) {
        size_t cap = c->out_len + n + 256;
        uint8_t *out = wio_os_realloc(c->out, cap);
        if (out == NULL)
            return wio_fail(WAITIO_ERR_NOMEM, "no memory for a rendezvous message");
        c->out = out;
        c->out_cap = cap;
    }
    if (n > 0)
        memcpy(c->out + c->out_len, p, n);
    c->out_len += n;
    return 0;
}

static int queue(struct wio_bc *c, enum wio_boot_type type, const void *payload, size_t n,
                 size_t announce)
{
    uint8_t hdr[WIO_BOOT_HDR];
    wio_boot_put_hdr(hdr, type, (uint32_t)announce);
    int rc = append(c, hdr, sizeof hdr);
    return rc != 0 ? rc : append(c, payload, n);
}

int wio_bc_send(struct wio_bc *c, enum wio_boot_type type, const void *payload, size_t n)
{
    /* Nothing may follow a table image that is still on its way. */
    if (c->state != WIO_BC_OPEN || c->tail_off != c->tail_len)
        return 0;
    int rc = queue(c, type, payload, n, n);
    if (rc == 0)
        write_frames(c);
    return rc;
}

int wio_bc_send_fd(struct wio_bc *c, enum wio_boot_type type, const void *payload, size_t n, int fd)
{
    if (c->state != WIO_BC_OPEN)
        return 0;
    int free = c->tx_fd[0] < 0 ? 0 : 1;
    if (c->tx_fd[free] >= 0)
        return wio_fail(WAITIO_ERR_LIMIT, "too many descriptors on the way to one process");
    size_t at = c->out_len;
    int rc = queue(c, type, payload, n, n);
    if (rc != 0)
        return rc;
    c->tx_fd[free] = fd;
    c->tx_fd_at[free] = at;
    write_frames(c);
    return 0;
}

int wio_bc_send_table(struct wio_bc *c, const void *image, size_t n)
{
    if (c->state != WIO_BC_OPEN || c->tail_off != c->tail_len)
        return 0;
    int rc = queue(c, WIO_BOOT_TABLE, NULL, 0, n);
    if (rc != 0)
        return rc;
    c->tail = image;
    c->tail_len = n;
    c->tail_off = 0;
    write_frames(c);
    return 0;
}

/* ---- events ---- */

static bool finish_connect(struct wio_bc *c)
{
    int rc = wio_os_so_error(c->fd);
    if (rc != 0)
        return fail(c, WAITIO_ERR_PEER, "%s", strerror(-rc));
    c->state = c->detour != NULL ? WIO_BC_DETOUR : WIO_BC_AUTH;
    return true;
}

bool wio_bc_event(struct wio_bc *c, uint32_t events)
{
    if (c->state == WIO_BC_CONNECTING && (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0 &&
        !finish_connect(c))
        return false;
    if (c->state == WIO_BC_DETOUR && !detour_step(c))
        return false;
    if (c->state == WIO_BC_AUTH && !auth_step(c))
        return false;
    if (c->state == WIO_BC_OPEN && (events & EPOLLOUT) != 0)
        write_frames(c);
    bool shaking = c->tls != NULL && wio_tls_shaking(c->tls);
    if (c->state == WIO_BC_OPEN && !read_frames(c))
        return false;
    if (shaking) /* reading may have ended that: no event of the socket says so */
        write_frames(c);
    return c->state != WIO_BC_CLOSED;
}

static bool writes(const struct wio_bc *c)
{
    const void *buf;
    if (c->state == WIO_BC_CONNECTING)
        return true;
    if (c->state == WIO_BC_DETOUR)
        return wio_detour_writes(c->detour);
    if (c->auth != NULL && wio_auth_output(c->auth, &buf) > 0)
        return true;
    return !wio_bc_flushed(c) && (c->tls == NULL || !wio_tls_shaking(c->tls));
}

int wio_bc_arm(struct wio_bc *c, int epfd)
{
    uint32_t want = EPOLLIN;
    if (c->state == WIO_BC_CLOSED)
        return 0;
    if (writes(c))
        want |= EPOLLOUT;
    if (want == c->events)
        return 0;
    int rc = wio_os_epoll_ctl(epfd, c->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, c->fd, want, c);
    if (rc == 0) {
        c->events = want;
        c->epfd = epfd;
    }
    return rc;
}
