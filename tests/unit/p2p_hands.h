/* SPDX-License-Identifier: BSD-3-Clause */
/** @file p2p_hands.h  Short hands of the tests of the engine over the scripted transport. */
#ifndef P2P_HANDS_H
#define P2P_HANDS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "p2p_fake.h"

enum { BIG = 2 << 20, MIDDLE = 600 << 10, ROOM = 1 << 20 };

static struct wio_universe *u;
static struct waitio_group *g;
static uint8_t *out, *in;

static inline int setup(void **unused)
{
    (void)unused;
    u = fake_universe();
    g = fake_group(u);
    u->cfg.chunk = u->attr[WIO_TR_TCP].chunk = 256 << 10;
    u->cfg.spin_us = 0;
    u->cfg.dial_after = 0.1;
    u->cfg.linger = 60; /* nobody is given up because this test had no processor */
    out = malloc(BIG);
    in = calloc(1, BIG);
    for (int i = 0; i < BIG; i++)
        out[i] = (uint8_t)(i * 7 + i / 251);
    return 0;
}

static inline int teardown(void **unused)
{
    (void)unused;
    if (u != NULL)
        wio_universe_destroy(u);
    free(out);
    free(in);
    return 0;
}

/* ---- short hands ---- */

static inline struct wio_handle isend(uint32_t to, size_t n, int tag)
{
    struct wio_handle h;
    assert_int_equal(wio_isend(u, g, to, out, n, tag, false, &h), 0);
    return h;
}

static inline struct wio_handle irecv(int64_t from, size_t n, int64_t tag)
{
    struct wio_handle h;
    assert_int_equal(wio_irecv(u, g, from, in, n, tag, false, &h), 0);
    return h;
}

static inline bool done(struct wio_handle *h, struct wio_result *res)
{
    bool is = false;
    assert_int_equal(wio_test(u, h, &is, res), 0);
    return is;
}

static inline void assert_done(struct wio_handle h, int err)
{
    struct wio_result res;
    assert_true(done(&h, &res));
    assert_int_equal(res.err, err);
}

static inline void assert_pending(struct wio_handle h)
{
    struct wio_result res;
    assert_false(done(&h, &res));
}

static inline struct wio_msg envelope(uint8_t op, uint32_t number, int tag, uint64_t total,
                                      uint64_t id)
{
    return (struct wio_msg){
        .op = op, .tag = tag, .envelope = number, .space = g->space, .a = total, .b = id};
}

static inline int eager(uint32_t from, uint32_t number, int tag, uint64_t total, uint32_t bytes)
{
    return fake_message(from, envelope(WIO_OP_EAGER, number, tag, total, 0), out, bytes);
}

static inline int more(uint32_t from, uint32_t number, uint64_t offset, uint32_t bytes)
{
    struct wio_msg m = {.op = WIO_OP_MORE, .a = offset, .b = number};
    return fake_message(from, m, out + offset, bytes);
}

static inline int control(uint32_t from, uint8_t op, uint64_t space, uint64_t a, uint64_t b)
{
    return fake_message(from, (struct wio_msg){.op = op, .space = space, .a = a, .b = b}, NULL, 0);
}

/* The last message of a kind the engine sent; NULL = none. */
static inline const struct fake_sent *last_sent(uint8_t op)
{
    for (int i = fake.nsent - 1; i >= 0; i--)
        if (fake.sent[i].msg.op == op)
            return &fake.sent[i];
    return NULL;
}

static inline int count_sent(uint8_t op)
{
    int n = 0;
    for (int i = 0; i < fake.nsent; i++)
        n += fake.sent[i].msg.op == op;
    return n;
}

static inline void assert_same(size_t n)
{
    assert_memory_equal(in, out, n);
}

#endif
