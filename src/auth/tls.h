/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file tls.h
 * Encryption of a connection whose handshake is over (WAITIO_TLS=1): TLS 1.3 by OpenSSL's libssl,
 * with a key of this connection alone, made of the job secret and of the handshake's transcript.
 * libssl is loaded when the secret is, and only with WAITIO_TLS=1. See docs/design/security.md.
 *
 * The calls read and write like wio_os_recvv() and wio_os_sendv() on a non-blocking socket that is
 * watched edge-triggered, so that their callers need not know which of them they use:
 *  - fewer bytes than asked for mean that the socket is empty or full, and a new edge will come;
 *  - the bytes that were not taken have to come first in the next call, as with any stream.
 * One thread at a time may use a connection.
 */
#ifndef WIO_TLS_H
#define WIO_TLS_H

#include "auth/auth.h"
#include "os/os.h"

struct wio_tls_lib; /* libssl and what all connections share */
struct wio_tls;     /* one connection */

/** Records after which a connection changes its key, far below what AES-GCM bears (RFC 8446, 5.5).
 */
#define WIO_TLS_REKEY_RECORDS (1u << 22)

/**
 * Load libssl. Freed by wio_tls_unload(); the library itself stays loaded.
 * @param sonames  where to look, ended by NULL; NULL: that of the libcrypto in use
 * @param rekey  see WIO_TLS_REKEY_RECORDS
 * @return 0; UNSUPPORTED that names the package; SYSTEM
 */
int wio_tls_load(struct wio_tls_lib **lib, const char *const *sonames, uint32_t rekey);
void wio_tls_unload(struct wio_tls_lib *lib);

/**
 * Go on after a handshake: with TLS where both sides have WAITIO_TLS=1, else as before.
 * The key in @p a is wiped. The dialer's first bytes are sent at once.
 * @param fd  borrowed
 * @param[out] tls  NULL: the connection stays as it is. Freed by wio_tls_free()
 * @return 0; NOMEM; SYSTEM
 */
int wio_tls_begin(struct wio_auth *a, int fd, struct wio_tls **tls);
/** Forget the connection and its keys; NULL is allowed. Does not close the socket. */
void wio_tls_free(struct wio_tls *t);

/** @return bytes taken, of which the other side may have read all or none: without all of them ask
 * wio_tls_failed(); -EAGAIN; -errno: nothing was taken */
ssize_t wio_tls_sendv(struct wio_tls *t, const struct iovec *iov, int n);
/** @return 0; -errno: nothing more can be written */
int wio_tls_failed(const struct wio_tls *t);
/** @return bytes; 0: the end of the stream; -EAGAIN; -EBADMSG: what came cannot be of the other
 * side (wio_tls_why()); another -errno */
ssize_t wio_tls_recvv(struct wio_tls *t, const struct iovec *iov, int n);
/** Tell the other side that nothing follows, if the socket takes it now. */
void wio_tls_bye(struct wio_tls *t);
/** The two sides still agree on keys: nothing can be written yet, and it is reading that ends this.
 */
bool wio_tls_shaking(const struct wio_tls *t);
/** ... and a part of what the other side says came, without its rest: unlike a silent side, one
 * that is stopped does not explain that for long. */
bool wio_tls_torn(const struct wio_tls *t);
/** Reading has come to an end, which the next call tells; the socket will not report it again. */
bool wio_tls_over(const struct wio_tls *t);
/** The last -EAGAIN was a guess: the socket had less than was asked for. Where the end of its
 * stream was announced, ask again. */
bool wio_tls_guessed(const struct wio_tls *t);
/** May something be read that the socket will not report? Only after a call that brought all bytes
 * it was asked for, or at the end. */
bool wio_tls_unread(const struct wio_tls *t);
/** Why -EBADMSG was returned. */
const char *wio_tls_why(const struct wio_tls *t);

/* ---- a connection that may be encrypted: @p t is NULL where it is not ---- */

static inline ssize_t wio_stream_sendv(struct wio_tls *t, int fd, const struct iovec *iov, int n)
{
    return __builtin_expect(t == NULL, 1) ? wio_os_sendv(fd, iov, n) : wio_tls_sendv(t, iov, n);
}

/** A write took less than it was given. @return 0: the socket is full; -errno: it has failed */
static inline int wio_stream_failed(const struct wio_tls *t)
{
    return t == NULL ? 0 : wio_tls_failed(t);
}

static inline ssize_t wio_stream_recvv(struct wio_tls *t, int fd, const struct iovec *iov, int n)
{
    return __builtin_expect(t == NULL, 1) ? wio_os_recvv(fd, iov, n) : wio_tls_recvv(t, iov, n);
}

static inline ssize_t wio_stream_send(struct wio_tls *t, int fd, const void *buf, size_t n)
{
    struct iovec iov = {(void *)(uintptr_t)buf, n};
    return __builtin_expect(t == NULL, 1) ? wio_os_send(fd, buf, n) : wio_tls_sendv(t, &iov, 1);
}

static inline ssize_t wio_stream_recv(struct wio_tls *t, int fd, void *buf, size_t n)
{
    struct iovec iov = {buf, n};
    return __builtin_expect(t == NULL, 1) ? wio_os_recv(fd, buf, n) : wio_tls_recvv(t, &iov, 1);
}

#endif
