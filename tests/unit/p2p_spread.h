/* SPDX-License-Identifier: BSD-3-Clause */
/** @file p2p_spread.h  A message that is spread in memory, for tests: each byte has a hole behind
 * it. */
#ifndef P2P_SPREAD_H
#define P2P_SPREAD_H

#include <stdlib.h>

#include "p2p/universe.h"

static int spread_refs;       /* held and not released */
static int32_t spread_peer;   /* whom the last call named */
static size_t spread_longest; /* part that was read or written at once */

static void spread_called(const struct wio_spread *s, int32_t peer, size_t n)
{
    if (s->type != &spread_refs)
        abort();
    spread_peer = peer;
    spread_longest = n > spread_longest ? n : spread_longest;
}

static void spread_read(const struct wio_spread *s, int32_t peer, size_t at, size_t n, void *to)
{
    const uint8_t *user = s->user;
    spread_called(s, peer, n);
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)to)[i] = user[2 * (at + i)];
}

static void spread_write(const struct wio_spread *s, int32_t peer, size_t at, size_t n,
                         const void *from)
{
    uint8_t *user = s->user;
    spread_called(s, peer, n);
    for (size_t i = 0; i < n; i++)
        user[2 * (at + i)] = ((const uint8_t *)from)[i];
}

static void spread_hold(const struct wio_spread *s)
{
    (void)s;
    spread_refs++;
}

static void spread_release(const struct wio_spread *s)
{
    (void)s;
    if (spread_refs-- == 0)
        abort();
}

static const struct wio_spread_calls spread_calls = {spread_read, spread_write, spread_hold,
                                                     spread_release};

/** Of the bytes at @p user, of which there are twice as many as in the message. */
static inline struct wio_spread spread_at(void *user)
{
    return (struct wio_spread){.calls = &spread_calls, .user = user, .type = &spread_refs};
}

#endif
