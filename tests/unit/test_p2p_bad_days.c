/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine when memory is short, and when a signal handler ends the process in the middle of a
 * call. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "p2p_fake.h"

enum { BIG = 2 << 20, ROOM = 1 << 20 };

static struct wio_universe *u;
static struct waitio_group *g;
static uint8_t *out, *in;

/* Large pieces only: the reasons of errors still fit. */
static int no_memory(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    return call == WIO_OS_MEM && bytes > 4096 ? -ENOMEM : 0;
}

/* The transport to oneself is the real one. */
static void open_self(void)
{
    struct wio_iface_params p = {.cfg = &u->cfg,
                                 .secret = &u->secret,
                                 .log = &u->log,
                                 .counters = &u->ctr,
                                 .up = &wio_p2p_upcalls,
                                 .user = u};
    const struct wio_transport *tr = &wio_transport_self;
    assert_int_equal(tr->query(&u->cfg, &u->attr[WIO_TR_SELF]), 0);
    assert_int_equal(tr->open(&p, &u->iface[WIO_TR_SELF]), 0);
    assert_int_equal(tr->start(u->iface[WIO_TR_SELF], u->table), 0);
}

static int setup(void **unused)
{
    (void)unused;
    u = fake_universe();
    g = fake_group(u);
    u->cfg.spin_us = 0;
    u->cfg.linger = 0.3;
    open_self();
    out = calloc(1, BIG);
    in = calloc(1, BIG);
    return 0;
}

static int teardown(void **unused)
{
    (void)unused;
    wio_os_fault = NULL;
    if (u != NULL)
        wio_universe_destroy(u);
    free(out);
    free(in);
    return 0;
}

static struct wio_handle isend(uint32_t to, size_t n, int tag)
{
    struct wio_handle h;
    assert_int_equal(wio_isend(u, g, to, out, n, tag, false, &h), 0);
    return h;
}

static struct wio_handle irecv(int64_t from, size_t n, int64_t tag)
{
    struct wio_handle h;
    assert_int_equal(wio_irecv(u, g, from, in, n, tag, false, &h), 0);
    return h;
}

static int result_of(struct wio_handle h)
{
    bool is = false;
    struct wio_result res;
    assert_int_equal(wio_test(u, &h, &is, &res), 0);
    return is ? res.err : 1;
}

static void progress(void)
{
    wio_enter(u);
    wio_progress(u, WIO_PROGRESS_FULL);
    wio_leave(u);
}

/* ---- memory ---- */

/* Larger than what the pools hold in stock, so that holding it needs memory. */
enum { HELD = 50000 };

static void a_message_to_oneself_that_cannot_be_held_is_an_error(void **unused)
{
    (void)unused;
    isend(0, HELD, 5); /* complete for the user */
    isend(0, 10, 6);
    wio_os_fault = no_memory;
    progress();
    wio_os_fault = NULL;
    assert_true(u->peer[0]->dead);
    assert_int_equal(result_of(irecv(0, HELD, 5)), WAITIO_ERR_PEER);
    assert_non_null(strstr(wio_last_error(), "no memory"));
    assert_int_equal(result_of(irecv(0, 10, 6)), WAITIO_ERR_PEER); /* its order would be lost */
    assert_int_equal(u->ctr.pool_bytes, 0);
}

static void a_receive_from_oneself_is_told(void **unused)
{
    (void)unused;
    struct waitio_group *alone = NULL;
    struct wio_handle any;
    assert_int_equal(wio_group_from_range(u->table, 0, 0, 1, &alone), 0);
    wio_group_register(u, alone);
    assert_int_equal(wio_irecv(u, alone, -1, in, 10, 9, false, &any), 0);
    struct wio_handle r = irecv(0, 10, 9);
    isend(0, HELD, 5);
    wio_os_fault = no_memory;
    progress();
    wio_os_fault = NULL;
    assert_int_equal(result_of(r), WAITIO_ERR_PEER);
    assert_int_equal(result_of(any), WAITIO_ERR_PEER);
    fake_open(1, ROOM); /* others go on */
    assert_int_equal(result_of(isend(1, 10, 5)), 0);
}

/* ---- cancelled sends to oneself ---- */

static struct wio_handle issend(size_t n, int tag)
{
    struct wio_handle h;
    assert_int_equal(wio_issend(u, g, 0, out, n, tag, false, &h), 0);
    return h;
}

static struct wio_result waited(struct wio_handle h)
{
    struct wio_result res = {.err = 1};
    bool is = false;
    for (int i = 0; i < 50 && !is; i++) {
        progress();
        assert_int_equal(wio_test(u, &h, &is, &res), 0);
    }
    assert_true(is);
    return res;
}

/* Before and after its message has come, short and long, a send can be cancelled; not when a
 * receive has its message. What is cancelled is not received. */
static void a_send_to_oneself_can_be_cancelled(void **unused)
{
    (void)unused;
    for (int i = 0; i < 4; i++) {
        size_t n = i % 2 == 0 ? 10 : BIG;
        struct wio_handle h = issend(n, 5);
        if (i >= 2)
            progress();
        assert_int_equal(wio_cancel(u, &h), 0);
        struct wio_result res = waited(h);
        assert_true(res.cancelled);
        assert_int_equal(res.err, 0);
    }
    struct wio_handle r = irecv(0, BIG, 5), h = issend(BIG, 5);
    progress();
    assert_int_equal(wio_cancel(u, &h), 0);
    struct wio_result sent = waited(h), got = waited(r);
    assert_false(sent.cancelled);
    assert_int_equal(sent.err, 0);
    assert_int_equal(got.err, 0);
    assert_int_equal(got.bytes, BIG);
}

/* ---- any source ---- */

/* It goes on, because others live; but the report of a long wait says who does not. */
static void a_receive_from_any_source_names_who_is_gone(void **unused)
{
    (void)unused;
    struct wio_strbuf sb = {0};
    fake_open(1, ROOM);
    struct wio_handle h = irecv(-1, 10, 9);
    wio_universe_dump(u, &sb);
    assert_non_null(strstr(sb.text, "receive from any source"));
    assert_null(strstr(sb.text, "of its group"));
    wio_strbuf_free(&sb);
    wio_enter(u);
    wio_peer_fail(u, u->peer[1], WAITIO_ERR_PEER, false, "killed");
    wio_leave(u);
    wio_universe_dump(u, &sb);
    assert_non_null(strstr(sb.text, "; of its group PB 0 rank 1 has failed or left"));
    wio_strbuf_free(&sb);
    assert_int_equal(wio_cancel(u, &h), 0);
}

static struct wio_msg request_to_send(uint32_t number, int tag)
{
    return (struct wio_msg){.op = WIO_OP_RTS,
                            .tag = tag,
                            .envelope = number,
                            .space = g->space,
                            .a = BIG,
                            .b = 32 + number};
}

/* Use up the control messages in stock. */
static void empty_the_stock(void)
{
    while (u->ctl_pool.free != NULL)
        (void)wio_pool_get(&u->ctl_pool);
}

static void without_memory_for_an_answer_the_peer_is_failed(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    fake_open(2, ROOM);
    struct wio_handle r = irecv(1, BIG, 5), other = irecv(2, 10, 5);
    empty_the_stock();
    wio_os_fault = no_memory;
    assert_int_equal(fake_message(1, request_to_send(1, 5), out, 0), 0);
    progress(); /* closes the link */
    assert_int_equal(fake.ep[1]->closes, 1);
    assert_int_equal(fake.ep[1]->reason, WIO_BYE_NOMEM);
    progress(); /* hears that it is closed */
    wio_os_fault = NULL;
    assert_int_equal(result_of(r), WAITIO_ERR_PEER);
    assert_non_null(strstr(wio_last_error(), "no memory"));
    assert_int_equal(result_of(other), 1);
    assert_false(u->peer[2]->dead);
}

static void without_memory_and_without_a_link_too(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    assert_int_equal(fake_message(1, request_to_send(1, 5), out, 0), 0);
    fake_state(1, WIO_EP_CLOSED, 0, WIO_BYE_CAP);
    irecv(2, 10, 5); /* requests are in stock */
    empty_the_stock();
    wio_os_fault = no_memory;
    struct wio_handle r = irecv(1, BIG, 5);
    progress();
    wio_os_fault = NULL;
    assert_int_equal(result_of(r), WAITIO_ERR_PEER);
}

static int no_memory_at_all(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    (void)bytes;
    return call == WIO_OS_MEM ? -ENOMEM : 0;
}

/* Without the call of wio_peer_told_late() the peer gets no credit, and neither side hears why. */
static void a_link_that_came_without_memory_for_its_peer_is_used(void **unused)
{
    (void)unused;
    wio_os_fault = no_memory_at_all;
    fake_state(1, WIO_EP_READY, 0, WIO_BYE_NONE);
    wio_os_fault = NULL;
    assert_null(u->peer[1]);
    irecv(1, 10, 6); /* it makes the peer, and dials nobody */
    fake.credit[1] = ROOM;
    assert_int_equal(fake_message(1, (struct wio_msg){.op = WIO_OP_CREDIT}, NULL, 0), 0);
    assert_int_equal(result_of(isend(1, 10, 5)), 0);
    progress();
    assert_int_equal(fake.dials[1], 0);
    assert_true(fake.nsent >= 2); /* our grant, and the message */
}

/* ---- exit() in a signal handler ---- */

static int left = 1;

/* As a handler would that comes while this thread drives the engine. */
static void leave_inside(struct fake *f)
{
    f->script = NULL;
    left = wio_universe_leave(f->u, true, NULL);
    wio_universe_abort(f->u);
}

static void leaving_in_the_middle_of_a_call_gives_up(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    fake.script = leave_inside;
    progress();
    assert_int_equal(left, WAITIO_ERR_BUSY);
    assert_non_null(strstr(wio_last_error(), "signal handler"));
    assert_int_equal(fake.ep[1]->closes, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_message_to_oneself_that_cannot_be_held_is_an_error),
        T(a_receive_from_oneself_is_told),
        T(a_send_to_oneself_can_be_cancelled),
        T(a_receive_from_any_source_names_who_is_gone),
        T(without_memory_for_an_answer_the_peer_is_failed),
        T(without_memory_and_without_a_link_too),
        T(a_link_that_came_without_memory_for_its_peer_is_used),
        T(leaving_in_the_middle_of_a_call_gives_up),
    };
    return cmocka_run_group_tests_name("p2p bad days", tests, NULL, NULL);
}
