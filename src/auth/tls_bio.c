/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file tls_bio.c
 * OpenSSL reads and writes records by these functions. Writing never blocks and never fails: what
 * the socket does not take is kept, and the connection writes nothing more until it is out. Reading
 * asks for more than OpenSSL does, so that a short message costs one system call, and a long one
 * does not need two for each of its records.
 */
#include <errno.h>

#include "auth/tls_lib.h"

#define RECORD_HEAD 5
#define LONG_READ 1024
#define FAR_BYTES 65536u /* read behind a record of a long message */
#define OUT_ROOM 98304u  /* stays allocated: what a call collects, and a record more */

static struct wio_tls *of(BIO *b)
{
    return wio_ssl.BIO_get_data(b);
}

/* ---- writing ---- */

/* Room for so many bytes more. @return NULL: no memory */
static uint8_t *out_room(struct wio_tls *t, size_t n)
{
    size_t want = t->out_len + n;
    if (want > t->out_room) {
        size_t room = want < OUT_ROOM ? (want <= LONG_READ ? LONG_READ : OUT_ROOM) : want;
        uint8_t *out = wio_os_realloc(t->out, room);
        if (out == NULL) {
            t->write_error = -ENOMEM; /* a record has a hole now: nothing may follow */
            return NULL;
        }
        t->out = out;
        t->out_room = room;
    }
    return t->out + t->out_len;
}

static bool keep(struct wio_tls *t, const void *data, size_t n)
{
    uint8_t *to = out_room(t, n);
    if (to == NULL)
        return false;
    memcpy(to, data, n);
    t->out_len += n;
    return true;
}

static int bio_write(BIO *b, const char *data, int n)
{
    struct wio_tls *t = of(b);
    ssize_t k = 0;
    if (n <= 0 || t->write_error != 0)
        return n;             /* the caller of SSL_write() looks at write_error */
    if (t->shaking && t->eof) /* an alert: in clear text, which the other side may find strange */
        return n;
    if (t->out_len == 0 && !t->gather) {
        k = wio_os_send(t->fd, data, (size_t)n);
        if (k < 0 && k != -EAGAIN) {
            t->write_error = (int)k;
            return n;
        }
        k = k < 0 ? 0 : k;
    }
    if (k < n)
        (void)keep(t, data + k, (size_t)(n - k));
    return n;
}

bool wio_tls_flush(struct wio_tls *t)
{
    while (t->out_len > 0 && t->write_error == 0) {
        ssize_t k = wio_os_send(t->fd, t->out + t->out_off, t->out_len - t->out_off);
        if (k == -EAGAIN)
            return false;
        if (k < 0) {
            t->write_error = (int)k;
            return false;
        }
        t->out_off += (size_t)k;
        if (t->out_off < t->out_len)
            continue;
        t->out_off = t->out_len = 0;
        if (t->out_room > OUT_ROOM) {
            wio_os_free(t->out);
            t->out = NULL;
            t->out_room = 0;
        }
    }
    return t->write_error == 0;
}

/* ---- reading ---- */

/* What the other side says while keys are agreed on: is a record unfinished? */
static void follow_records(struct wio_tls *t, const uint8_t *p, size_t n)
{
    while (n > 0) {
        if (t->record_have < RECORD_HEAD) {
            t->record_head[t->record_have++] = *p++;
            n--;
            if (t->record_have == RECORD_HEAD)
                t->record_left = (uint16_t)(t->record_head[3] << 8 | t->record_head[4]);
        } else {
            size_t take = n < t->record_left ? n : t->record_left;
            t->record_left = (uint16_t)(t->record_left - take);
            p += take;
            n -= take;
        }
        if (t->record_have == RECORD_HEAD && t->record_left == 0)
            t->record_have = 0;
    }
}

static int take_staged(struct wio_tls *t, char *to, size_t n)
{
    size_t have = (size_t)(t->in_len - t->in_off);
    n = n < have ? n : have;
    memcpy(to, (t->in_far ? t->far : t->near) + t->in_off, n);
    t->in_off += (uint32_t)n;
    if (t->in_off == t->in_len)
        t->in_off = t->in_len = 0;
    return (int)n;
}

/* Where to read behind a record of n bytes. While keys are agreed on, nothing is read ahead. */
static struct iovec behind(struct wio_tls *t, int n)
{
    t->in_far = false;
    if (t->shaking)
        return (struct iovec){NULL, 0};
    if (n <= LONG_READ)
        return (struct iovec){t->near, sizeof t->near};
    if (t->far == NULL)
        t->far = wio_os_alloc(FAR_BYTES);
    t->in_far = t->far != NULL;
    return t->in_far ? (struct iovec){t->far, FAR_BYTES} : (struct iovec){t->near, RECORD_HEAD};
}

static int nothing_now(BIO *b, struct wio_tls *t)
{
    wio_ssl.BIO_set_flags(b, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
    t->guessed = t->guessed && t->dry;
    t->dry = true;
    return -1;
}

static int bio_read(BIO *b, char *to, int n)
{
    struct wio_tls *t = of(b);
    wio_ssl.BIO_clear_flags(b, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
    if (n <= 0)
        return 0;
    if (t->in_len > 0)
        return take_staged(t, to, (size_t)n);
    if (t->eof)
        return 0;
    if (t->dry)
        return nothing_now(b, t);
    struct iovec iov[2] = {{to, (size_t)n}, behind(t, n)};
    size_t room = iov[1].iov_len;
    ssize_t k = wio_os_recvv(t->fd, iov, room > 0 ? 2 : 1);
    if (k == -EAGAIN)
        return nothing_now(b, t);
    t->eof = k == 0;
    if (k < 0)
        t->read_error = (int)k;
    if (k <= 0)
        return k == 0 ? 0 : -1;
    if (t->shaking)
        follow_records(t, (const uint8_t *)to, (size_t)k);
    t->dry = t->guessed = (size_t)k < (size_t)n + room && wio_os_fault == NULL;
    if (k <= n)
        return (int)k;
    t->in_len = (uint32_t)(k - n);
    return n;
}

/* ---- the rest ---- */

static long bio_ctrl(BIO *b, int cmd, long number, void *pointer)
{
    struct wio_tls *t = of(b);
    if (cmd == BIO_CTRL_FLUSH)
        return 1; /* what waits in out is written before anything else */
    if (cmd == BIO_CTRL_EOF)
        return t != NULL && t->eof && t->in_len == 0;
    (void)number;
    (void)pointer;
    return 0;
}

bool wio_tls_bio_method(struct wio_tls_lib *lib)
{
    int type = wio_ssl.BIO_get_new_index();
    lib->method = wio_ssl.BIO_meth_new(type | BIO_TYPE_SOURCE_SINK, "WaitIO connection");
    return lib->method != NULL && wio_ssl.BIO_meth_set_write(lib->method, bio_write) == 1 &&
           wio_ssl.BIO_meth_set_read(lib->method, bio_read) == 1 &&
           wio_ssl.BIO_meth_set_ctrl(lib->method, bio_ctrl) == 1;
}
