/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file auth_pair.h
 * Two sides of a handshake and the bytes between them, for the tests of auth/.
 */
#ifndef WIO_TEST_AUTH_PAIR_H
#define WIO_TEST_AUTH_PAIR_H

#include <string.h>

#include "auth/auth.h"
#include "auth/handshake_wire.h"

struct auth_pair {
    struct wio_secret secret_d, secret_a;
    struct wio_auth_id id_d, id_a;
    struct wio_auth d, a;
    wio_auth_admit_fn admit;
    void *admit_arg;
};

static inline void auth_secret(struct wio_secret *s, const char *key, const char *origin)
{
    memset(s, 0, sizeof *s);
    s->len = strlen(key);
    memcpy(s->key, key, s->len);
    wio_text(s->origin, sizeof s->origin, "%s", origin);
}

/** Equal secrets, one universe, dialer rank 7, acceptor rank 3. Change what has to differ, then
 * begin. */
static inline void auth_pair_init(struct auth_pair *p)
{
    memset(p, 0, sizeof *p);
    auth_secret(&p->secret_d, "0123456789abcdef0123456789abcdef", "cookie /home/d/.waitio/cookie");
    auth_secret(&p->secret_a, "0123456789abcdef0123456789abcdef", "file /scratch/a.secret");
    memset(p->id_d.universe, 0x5a, WIO_UNIVERSE_ID);
    p->id_a = p->id_d;
    p->id_d.rank = 7;
    p->id_d.extra = 70;
    p->id_a.rank = 3;
    p->id_a.extra = 30;
}

/** @param dial  purpose the dialer has in mind. @param accept  that of the acceptor's port */
static inline int auth_pair_begin(struct auth_pair *p, enum wio_auth_purpose dial,
                                  enum wio_auth_purpose accept)
{
    struct wio_auth_id expected = {.rank = 3};
    memcpy(expected.universe, p->id_d.universe, WIO_UNIVERSE_ID);
    int rc =
        wio_auth_start(&p->d, WIO_AUTH_DIAL, dial, &p->secret_d, &p->id_d, &expected, NULL, NULL);
    if (rc == 0)
        rc = wio_auth_start(&p->a, WIO_AUTH_ACCEPT, accept, &p->secret_a, &p->id_a, NULL, p->admit,
                            p->admit_arg);
    return rc;
}

/** Take all output of a side. @return bytes, at most sizeof the buffer of 640 */
static inline size_t auth_take(struct wio_auth *from, uint8_t *buf)
{
    const void *out;
    size_t n = wio_auth_output(from, &out);
    memcpy(buf, out, n);
    wio_auth_sent(from, n);
    return n;
}

/** Feed as a transport does: never more than wanted, at most @p step at once. @return bytes not
 * wanted */
static inline size_t auth_feed(struct wio_auth *to, const uint8_t *buf, size_t n, size_t step)
{
    while (n > 0 && wio_auth_want(to) > 0) {
        size_t k = wio_auth_want(to);
        k = k < n ? k : n;
        k = k < step ? k : step;
        wio_auth_input(to, buf, k);
        buf += k;
        n -= k;
    }
    return n;
}

/** Carry what @p from has to say to @p to. @return bytes carried */
static inline size_t auth_carry(struct wio_auth *from, struct wio_auth *to, size_t step)
{
    uint8_t buf[2 * WIO_AUTH_MESSAGE_MAX];
    size_t n = auth_take(from, buf);
    auth_feed(to, buf, n, step);
    return n;
}

/** Carry until nobody has anything to say. */
static inline void auth_pump(struct auth_pair *p, size_t step)
{
    while (auth_carry(&p->d, &p->a, step) + auth_carry(&p->a, &p->d, step) > 0)
        ;
}

#endif
