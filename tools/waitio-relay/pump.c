/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file pump.c
 * The bytes of one direction. Small pieces are copied: one read, one write. Streams go through a
 * pipe by splice(2), without being copied. Memory per direction: the pipe, and SMALL_BYTES. When
 * the receiver takes nothing, both fill up and the sender is no longer read: its own window closes.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "relay.h"

#define ROUND_BYTES (1u << 20) /* then the others have their turn */

/* ---- pipes: taken while they hold something ---- */

struct spare {
    struct wio_list node;
    int fd[2];
};

static bool pipe_get(struct relay *r, struct end *e)
{
    struct wio_list *it = wio_list_pop(&r->pipes);
    if (it != NULL) {
        struct spare *s = WIO_CONTAINER(it, struct spare, node);
        memcpy(e->pipe, s->fd, sizeof e->pipe);
        wio_os_free(s);
        return true;
    }
    if (pipe2(e->pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
        e->pipe[0] = e->pipe[1] = -1;
        return false;
    }
    (void)fcntl(e->pipe[1], F_SETPIPE_SZ, PIPE_BYTES);
    return true;
}

static void pipe_put(struct relay *r, struct end *e)
{
    if (e->pipe[0] < 0)
        return;
    struct spare *s = e->piped == 0 ? wio_os_alloc(sizeof *s) : NULL;
    if (s != NULL) {
        memcpy(s->fd, e->pipe, sizeof s->fd);
        wio_list_push(&r->pipes, &s->node);
    } else {
        wio_os_close(e->pipe[0]);
        wio_os_close(e->pipe[1]);
    }
    e->pipe[0] = e->pipe[1] = -1;
    e->piped = 0;
}

void rl_pipes_free(struct relay *r)
{
    for (struct wio_list *it; (it = wio_list_pop(&r->pipes)) != NULL;) {
        struct spare *s = WIO_CONTAINER(it, struct spare, node);
        wio_os_close(s->fd[0]);
        wio_os_close(s->fd[1]);
        wio_os_free(s);
    }
}

void rl_pump_drop(struct relay *r, struct end *e)
{
    pipe_put(r, e);
    wio_os_free(e->rest);
    e->rest = NULL;
    e->rest_len = e->rest_at = 0;
}

bool rl_pending(const struct end *e)
{
    return e->piped > 0 || e->rest_len > 0;
}

/* ---- in ---- */

static void input_over(struct end *e)
{
    e->eof = true;
    e->in = false;
}

/* The receiver is no more: what came for it is of no use, and more is not wanted. */
static void output_over(struct relay *r, struct end *e, struct end *o)
{
    rl_pump_drop(r, e);
    e->eof = o->shut = true;
}

static void account(struct relay *r, struct end *e, size_t n)
{
    e->bytes += n;
    r->bytes += n;
    r->moved = true;
}

/* Keep what the receiver did not take. @return false: no memory */
static bool keep(struct end *e, const uint8_t *p, size_t n)
{
    e->rest = wio_os_alloc(n);
    if (e->rest == NULL)
        return false;
    memcpy(e->rest, p, n);
    e->rest_at = 0;
    e->rest_len = (uint32_t)n;
    return true;
}

/* @return bytes came, or the end */
static bool copy_in(struct relay *r, struct end *e, struct end *o)
{
    uint8_t buf[SMALL_BYTES];
    ssize_t n = wio_os_recv(e->fd, buf, sizeof buf);
    if (n == -EAGAIN) {
        e->in = false;
        return false;
    }
    if (n <= 0) {
        input_over(e);
        return true;
    }
    account(r, e, (size_t)n);
    e->bulk = (size_t)n == sizeof buf;
    /* A short read has emptied the socket: the next bytes are a new event. */
    e->in = e->bulk || e->hup;
    ssize_t k = o->out ? wio_os_send(o->fd, buf, (size_t)n) : -EAGAIN;
    if (k == -EAGAIN)
        k = 0;
    if (k < 0 || (k < n && !keep(e, buf + k, (size_t)(n - k))))
        output_over(r, e, o);
    else if (k < n)
        o->out = false;
    return true;
}

static bool splice_in(struct relay *r, struct end *e)
{
    ssize_t n =
        splice(e->fd, NULL, e->pipe[1], NULL, PIPE_BYTES, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (n > 0) {
        e->piped += (uint32_t)n;
        account(r, e, (size_t)n);
        return true;
    }
    if (n < 0 && errno == EINTR)
        return true;
    if (n < 0 && errno == EAGAIN) {
        /* With bytes in the pipe the pipe may be full, else the socket is empty. */
        e->tight = e->piped > 0;
        if (!e->tight) {
            e->in = e->hup;
            e->bulk = false;
            pipe_put(r, e);
        }
        return false;
    }
    input_over(e);
    return true;
}

static bool move_in(struct relay *r, struct end *e, struct end *o)
{
    if (!e->in || e->eof || e->tight || e->rest_len > 0)
        return false;
    if (e->bulk && (e->pipe[0] >= 0 || pipe_get(r, e)))
        return splice_in(r, e);
    return copy_in(r, e, o);
}

/* ---- out ---- */

static bool copy_out(struct relay *r, struct end *e, struct end *o)
{
    ssize_t k = wio_os_send(o->fd, e->rest + e->rest_at, e->rest_len);
    if (k == -EAGAIN) {
        o->out = false;
        return false;
    }
    if (k < 0) {
        output_over(r, e, o);
        return true;
    }
    e->rest_at += (uint32_t)k;
    e->rest_len -= (uint32_t)k;
    if (e->rest_len == 0) {
        wio_os_free(e->rest);
        e->rest = NULL;
    }
    r->moved = true;
    return true;
}

static bool splice_out(struct relay *r, struct end *e, struct end *o)
{
    ssize_t k = splice(e->pipe[0], NULL, o->fd, NULL, e->piped, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (k < 0 && errno == EINTR)
        return true;
    if (k < 0 && errno == EAGAIN) {
        o->out = false;
        return false;
    }
    if (k <= 0) {
        output_over(r, e, o);
        return true;
    }
    e->piped -= (uint32_t)k;
    e->tight = false;
    r->moved = true;
    return true;
}

static bool move_out(struct relay *r, struct end *e, struct end *o)
{
    if (!o->out || o->shut)
        return false;
    if (e->rest_len > 0)
        return copy_out(r, e, o);
    return e->piped > 0 && splice_out(r, e, o);
}

bool rl_pump(struct relay *r, struct end *e, struct end *o)
{
    uint64_t before = e->bytes;
    for (;;) {
        bool came = move_in(r, e, o), went = move_out(r, e, o);
        if (!came && !went)
            break;
        if (e->bytes - before >= ROUND_BYTES)
            return true;
    }
    if (!rl_pending(e) && !e->in)
        pipe_put(r, e);
    if (e->eof && !rl_pending(e) && !o->shut) {
        (void)wio_os_shutdown_send(o->fd);
        o->shut = true;
    }
    return false;
}
