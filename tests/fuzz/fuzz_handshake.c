/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file fuzz_handshake.c
 * The handshake between an attacker and a side that has the secret, in two ways that the first byte
 * chooses:
 *   even: bytes from nowhere to an acceptor (bit 1 clear) or a dialer (bit 1 set). It never passes.
 *   odd:  two honest sides, with an attacker on the way who follows the input as a script: changes,
 *         cuts, inserts and repeats bytes. A side that was given other bytes than were sent never
 *         passes; when nothing was changed, both do.
 * The second byte is the size of the pieces in which bytes arrive.
 */
#include <stdlib.h>
#include <string.h>

#include "auth/auth.h"
#include "auth/handshake_wire.h"

#define FLIGHT_MAX 2048

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
    if (!holds)
        abort();
}

static void check(const struct wio_auth *a)
{
    const void *out;
    must(wio_auth_output(a, &out) <= WIO_AUTH_MESSAGE_MAX);
    must(wio_auth_want(a) <= WIO_AUTH_MESSAGE_MAX);
    must(memchr(a->text, '\0', sizeof a->text) != NULL);
    for (const char *c = a->text; *c != '\0'; c++)
        must(*c >= 0x20 && *c <= 0x7e);
    if (a->state == WIO_AUTH_FAILED)
        must(a->error < 0 && a->error >= WAITIO_ERR_LAST && a->text[0] != '\0');
    if (a->garbage)
        must(wio_auth_output(a, &out) == 0 || a->role == WIO_AUTH_DIAL);
}

/* As a transport does: never more than wanted. @return bytes read */
static size_t feed(struct wio_auth *to, const uint8_t *bytes, size_t n, size_t piece)
{
    size_t before = n;
    while (n > 0 && wio_auth_want(to) > 0) {
        size_t k = wio_auth_want(to);
        k = k < n ? k : n;
        k = k < piece ? k : piece;
        wio_auth_input(to, bytes, k);
        check(to);
        bytes += k;
        n -= k;
    }
    return before - n;
}

static size_t take(struct wio_auth *from, uint8_t *flight)
{
    const void *out;
    size_t n = wio_auth_output(from, &out);
    memcpy(flight, out, n);
    wio_auth_sent(from, n);
    return n;
}

struct script {
    const uint8_t *at;
    size_t left;
};

static uint8_t next(struct script *s)
{
    if (s->left == 0)
        return 0;
    s->left--;
    return *s->at++;
}

/* What the attacker does to one flight. @return bytes that arrive */
static size_t tamper(struct script *s, uint8_t *flight, size_t n)
{
    size_t at;
    switch (next(s) % 5) {
    case 1: /* change one byte */
        at = next(s);
        if (at < n)
            flight[at] = next(s);
        return n;
    case 2: /* cut */
        at = next(s);
        return at < n ? at : n;
    case 3: /* insert one */
        at = next(s);
        if (at > n)
            at = n;
        memmove(flight + at + 1, flight + at, n - at);
        flight[at] = next(s);
        return n + 1;
    case 4: /* say it twice */
        memcpy(flight + n, flight, n);
        return 2 * n;
    default:
        return n;
    }
}

static void attack_alone(struct wio_auth *victim, const uint8_t *data, size_t size, size_t piece)
{
    uint8_t flight[FLIGHT_MAX];
    feed(victim, data, size, piece);
    must(victim->state != WIO_AUTH_DONE);
    take(victim, flight);
    must(victim->state != WIO_AUTH_DONE);
    wio_auth_eof(victim, 0);
    check(victim);
    must(victim->state == WIO_AUTH_FAILED);
}

/* What was said in one direction, and what of it the other side read. */
struct direction {
    uint8_t said[FLIGHT_MAX], read[FLIGHT_MAX];
    size_t nsaid, nread;
};

static void carry(struct wio_auth *from, struct wio_auth *to, struct direction *way,
                  struct script *s, size_t piece)
{
    uint8_t flight[FLIGHT_MAX];
    size_t n = take(from, flight);
    check(from);
    memcpy(way->said + way->nsaid, flight, n);
    way->nsaid += n;
    size_t got = tamper(s, flight, n), taken = feed(to, flight, got, piece);
    memcpy(way->read + way->nread, flight, taken);
    way->nread += taken;
}

static bool genuine(const struct direction *way)
{
    return way->nread <= way->nsaid && memcmp(way->said, way->read, way->nread) == 0;
}

static void attack_between(struct wio_auth *d, struct wio_auth *a, struct script *s, size_t piece)
{
    struct direction to_a = {.nsaid = 0}, to_d = {.nsaid = 0};
    for (int round = 0; round < 4; round++) {
        carry(d, a, &to_a, s, piece);
        carry(a, d, &to_d, s, piece);
        must(a->state != WIO_AUTH_DONE || genuine(&to_a));
        must(d->state != WIO_AUTH_DONE || genuine(&to_d));
    }
    if (genuine(&to_a) && to_a.nread == to_a.nsaid && genuine(&to_d) && to_d.nread == to_d.nsaid)
        must(a->state == WIO_AUTH_DONE && d->state == WIO_AUTH_DONE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct wio_secret secret = {.key = "a secret of the fuzz target", .len = 27};
    static const struct wio_auth_id id_d = {.universe = "universe", .rank = 7, .extra = 70},
                                    id_a = {.universe = "universe", .rank = 3, .extra = 30};
    struct wio_auth d, a;
    if (size < 2)
        return 0;
    uint8_t mode = data[0];
    size_t piece = data[1] == 0 ? 1 : data[1];
    must(wio_auth_start(&d, WIO_AUTH_DIAL, WIO_AUTH_LINK, &secret, &id_d, &id_a, NULL, NULL) == 0);
    must(wio_auth_start(&a, WIO_AUTH_ACCEPT, WIO_AUTH_LINK, &secret, &id_a, NULL, NULL, NULL) == 0);
    if (mode & 1) {
        struct script s = {data + 2, size - 2};
        attack_between(&d, &a, &s, piece);
    } else {
        attack_alone(mode & 2 ? &d : &a, data + 2, size - 2, piece);
    }
    return 0;
}
