/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file tls.c
 * One encrypted connection. Records are collected and given to the socket together, first one, then
 * two, then more, so that the other side begins early; what it does not take waits in t->out
 * (tls_bio.c). So OpenSSL never has to be called again with the same bytes; the
 * caller is told that one byte was not taken yet, and its next call comes when the socket has room,
 * or hears why there will be none.
 */
#include <errno.h>
#include <openssl/crypto.h>

#include "auth/tls_lib.h"

#define RECORD 16384u       /* most bytes in one */
#define TOGETHER_MAX 65536u /* of the records of one call that leave together */

/* ---- ends ---- */

static void note_why(struct wio_tls *t)
{
    const char *reason = wio_ssl.ERR_reason_error_string(wio_ssl.ERR_peek_last_error());
    wio_text(t->why, sizeof t->why,
             "what came over the encrypted connection is not what the other side sent, or it "
             "refused what came from here (TLS: %s)",
             reason != NULL ? reason : "no reason given");
    wio_ssl.ERR_clear_error();
}

/* The stream ended within a record, here or there: whoever meets that says "decode error". That is
 * a connection that broke, for which nobody needs a key, and no changed byte. */
static bool cut_off(void)
{
    int reason = ERR_GET_REASON(wio_ssl.ERR_peek_last_error());
#ifdef SSL_R_UNEXPECTED_EOF_WHILE_READING
    if (reason == SSL_R_UNEXPECTED_EOF_WHILE_READING)
        return true;
#endif
    return reason == SSL_AD_REASON_OFFSET + SSL_AD_DECODE_ERROR;
}

/* A call brought no bytes. @return 0 end of the stream, -EAGAIN or the reason */
static ssize_t verdict(struct wio_tls *t, int rc)
{
    int error = wio_ssl.SSL_get_error(t->ssl, rc);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
        return -EAGAIN;
    t->ended = true;
    if (error == SSL_ERROR_ZERO_RETURN) {
        t->end = 0;
    } else if (t->read_error != 0) {
        t->end = t->read_error;
    } else if ((t->eof && t->in_len == 0) || cut_off()) {
        t->end = 0;
    } else {
        t->end = -EBADMSG;
        note_why(t);
    }
    wio_ssl.ERR_clear_error();
    return t->end;
}

/* ---- agreeing on keys ---- */

static void agreed(struct wio_tls *t)
{
    t->shaking = false;
    OPENSSL_cleanse(t->key, sizeof t->key);
}

/* @return 0 when keys are agreed on, -EAGAIN, or why it failed */
static ssize_t shake(struct wio_tls *t)
{
    if (!t->shaking)
        return 0;
    if (t->ended)
        return t->end == 0 ? -EPIPE : t->end;
    wio_ssl.ERR_clear_error();
    int rc = wio_ssl.SSL_do_handshake(t->ssl);
    if (t->write_error != 0) { /* the other side would wait for it for ever, and this one for it */
        t->ended = true;
        t->end = t->write_error;
        return t->end;
    }
    if (rc == 1) {
        agreed(t);
        return 0;
    }
    ssize_t why = verdict(t, rc);
    return why == 0 ? -EPIPE : why;
}

/* ---- writing ---- */

/* Bytes of a list that have not been written yet. */
struct cursor {
    const struct iovec *iov;
    int n;
    size_t off;
};

static void settle(struct cursor *c)
{
    while (c->n > 0 && c->off >= c->iov->iov_len) {
        c->off -= c->iov->iov_len;
        c->iov++;
        c->n--;
    }
}

static const uint8_t *here(const struct cursor *c, size_t *n)
{
    *n = c->n > 0 ? c->iov->iov_len - c->off : 0;
    return c->n > 0 ? (const uint8_t *)c->iov->iov_base + c->off : NULL;
}

/* The next record: from the caller's memory if a piece fills it or is the last one, else small
 * pieces are collected in @p room. @return bytes; 0: the list is at its end */
static size_t next_record(struct cursor *c, uint8_t room[RECORD], const uint8_t **from)
{
    size_t n, have = 0;
    *from = here(c, &n);
    if (n >= RECORD || c->n == 1)
        have = n < RECORD ? n : RECORD;
    if (have > 0 || n == 0) {
        c->off += have;
        settle(c);
        return have;
    }
    *from = room;
    while (have < RECORD) {
        const uint8_t *p = here(c, &n);
        if (n == 0 || n >= RECORD) /* a long piece begins a record of its own */
            break;
        n = n < RECORD - have ? n : RECORD - have;
        memcpy(room + have, p, n);
        have += n;
        c->off += n;
        settle(c);
    }
    return have;
}

static ssize_t write_record(struct wio_tls *t, const uint8_t *from, size_t n)
{
    if (++t->records > t->lib->rekey) {
        t->records = 0;
        (void)wio_ssl.SSL_key_update(t->ssl, SSL_KEY_UPDATE_NOT_REQUESTED);
    }
    int rc = wio_ssl.SSL_write(t->ssl, from, (int)n);
    if (t->write_error != 0)
        return t->write_error;
    if (rc == (int)n)
        return 0;
    wio_ssl.ERR_clear_error(); /* reading has failed earlier; it told the reason */
    t->write_error = -EPIPE;
    return -EPIPE;
}

/* What was collected leaves. @return 0, -EAGAIN: not all of it, or why it cannot */
static ssize_t leave(struct wio_tls *t)
{
    if (wio_tls_flush(t))
        return 0;
    return t->write_error != 0 ? t->write_error : -EAGAIN;
}

/* May something be written now? @return 0, -EAGAIN, or why not */
static ssize_t may_write(struct wio_tls *t)
{
    ssize_t rc = leave(t);
    if (rc != 0)
        return rc;
    t->dry = false;
    rc = shake(t);
    if (rc == 0 && t->said_bye)
        rc = -EPIPE;
    return rc != 0 ? rc : t->write_error;
}

ssize_t wio_tls_sendv(struct wio_tls *t, const struct iovec *iov, int n)
{
    uint8_t room[RECORD];
    const uint8_t *from;
    struct cursor c = {iov, n, 0};
    ssize_t rc = may_write(t), done = 0;
    if (rc != 0)
        return rc;
    wio_ssl.ERR_clear_error();
    if (t->held) {
        t->held = false;
        c.off = 1;
        done = 1;
    }
    settle(&c);
    size_t take, together = RECORD;
    while (rc == 0 && (take = next_record(&c, room, &from)) > 0) {
        t->gather = true;
        rc = write_record(t, from, take);
        t->gather = false;
        done += (ssize_t)take;
        if (rc == 0 && t->out_len >= together) {
            rc = leave(t);
            together = together < TOGETHER_MAX ? 2 * together : together;
        }
    }
    if (rc == 0)
        rc = leave(t);
    if (rc == 0)
        return done;
    /* Also where it failed: the first records may have left, and the other side may have read them.
     */
    t->held = true;
    return done > 1 ? done - 1 : rc;
}

int wio_tls_failed(const struct wio_tls *t)
{
    return t->write_error;
}

void wio_tls_bye(struct wio_tls *t)
{
    if (t->said_bye || t->shaking || !wio_tls_flush(t) || (t->ended && t->end != 0))
        return;
    t->said_bye = true;
    wio_ssl.ERR_clear_error();
    (void)wio_ssl.SSL_shutdown(t->ssl);
    (void)wio_tls_flush(t);
    wio_ssl.ERR_clear_error();
}

/* ---- reading ---- */

/* Fill @p to. @return bytes; fewer: *stop says why */
static size_t read_piece(struct wio_tls *t, uint8_t *to, size_t n, ssize_t *stop)
{
    size_t have = 0;
    while (have < n) {
        size_t ask = n - have < INT32_MAX ? n - have : INT32_MAX;
        int rc = wio_ssl.SSL_read(t->ssl, to + have, (int)ask);
        if (rc <= 0) {
            *stop = verdict(t, rc);
            break;
        }
        have += (size_t)rc;
    }
    return have;
}

ssize_t wio_tls_recvv(struct wio_tls *t, const struct iovec *iov, int n)
{
    size_t have = 0;
    if (t->ended)
        return t->end;
    t->dry = t->guessed = false;
    (void)wio_tls_flush(t); /* the acceptor's part of the agreement leaves by reading */
    ssize_t stop = shake(t);
    if (stop != 0)
        return t->ended ? t->end : stop;
    wio_ssl.ERR_clear_error();
    for (int i = 0; i < n && stop == 0 && !t->ended; i++) {
        size_t got = read_piece(t, iov[i].iov_base, iov[i].iov_len, &stop);
        have += got;
        if (got < iov[i].iov_len)
            break;
    }
    return have > 0 ? (ssize_t)have : stop;
}

bool wio_tls_over(const struct wio_tls *t)
{
    return t->ended;
}

bool wio_tls_guessed(const struct wio_tls *t)
{
    return t->guessed;
}

bool wio_tls_unread(const struct wio_tls *t)
{
    return t->ended || t->in_len > 0 || (!t->shaking && wio_ssl.SSL_pending(t->ssl) > 0);
}

bool wio_tls_shaking(const struct wio_tls *t)
{
    return t->shaking;
}

bool wio_tls_torn(const struct wio_tls *t)
{
    return t->shaking && t->record_have > 0;
}

const char *wio_tls_why(const struct wio_tls *t)
{
    return t->why;
}

/* ---- begin and end ---- */

static bool connect_bios(struct wio_tls *t)
{
    BIO *b = wio_ssl.BIO_new(t->lib->method);
    if (b == NULL)
        return false;
    wio_ssl.BIO_set_data(b, t);
    wio_ssl.BIO_set_init(b, 1);
    wio_ssl.SSL_set_bio(t->ssl, b, b);
    return true;
}

static bool prepare(struct wio_tls *t, enum wio_auth_role role)
{
    t->ssl = wio_ssl.SSL_new(t->lib->ctx);
    if (t->ssl == NULL || !connect_bios(t) || wio_ssl.SSL_set_ex_data(t->ssl, 0, t) != 1)
        return false;
    if (role == WIO_AUTH_DIAL)
        wio_ssl.SSL_set_connect_state(t->ssl);
    else
        wio_ssl.SSL_set_accept_state(t->ssl);
    return true;
}

int wio_tls_begin(struct wio_auth *a, int fd, struct wio_tls **tls)
{
    *tls = NULL;
    if (!a->encrypt)
        return 0;
    struct wio_tls *t = wio_os_alloc(sizeof *t);
    if (t == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for an encrypted connection");
    t->lib = a->secret->tls;
    t->fd = fd;
    t->shaking = true;
    memcpy(t->key, a->tls_key, sizeof t->key);
    OPENSSL_cleanse(a->tls_key, sizeof a->tls_key);
    if (!prepare(t, (enum wio_auth_role)a->role)) {
        wio_tls_free(t);
        wio_ssl.ERR_clear_error();
        return wio_fail(WAITIO_ERR_NOMEM, "OpenSSL has no memory for an encrypted connection");
    }
    *tls = t;
    (void)shake(t); /* a failure shows when the connection is used */
    return 0;
}

void wio_tls_free(struct wio_tls *t)
{
    if (t == NULL)
        return;
    wio_ssl.SSL_free(t->ssl);
    wio_os_free(t->out);
    wio_os_free(t->far);
    OPENSSL_cleanse(t, sizeof *t);
    wio_os_free(t);
}
