/* SPDX-License-Identifier: BSD-3-Clause */
/* A link that does not notice deaths (another library's), and one beside it that does: when that
 * one breaks, what the first one holds of the program's memory stays with it until it has ended. */
#include "p2p_hands.h"

static struct wio_ep *guard;

static int guarded(void **unused)
{
    int rc = setup(unused);
    u->attr[WIO_TR_TCP].caps = WIO_CAP_MUTE;
    fake_open(1, 64 * ROOM);
    guard = calloc(1, sizeof *guard);
    assert_non_null(guard);
    guard->iface = &fake.iface;
    guard->peer = 1;
    u->peer[1]->guard = guard;
    return rc;
}

static void guard_breaks(void)
{
    guard->state = WIO_EP_CLOSED;
    wio_p2p_upcalls.on_state(u, guard, 1, WIO_EP_CLOSED, WAITIO_ERR_PEER, WIO_BYE_NONE, "reset");
    assert_true(u->peer[1]->dead);
    assert_int_equal(fake.ep[1]->closes, 0); /* not in an upcall */
}

/* It is closed, and says that it is over. */
static void link_ends(void)
{
    for (int i = 0; i < 2; i++)
        wio_progress(u, WIO_PROGRESS_FULL);
    assert_null(fake.ep[1]);
}

static struct wio_request *of(struct wio_handle h)
{
    return wio_req_at(u, h.index, h.generation);
}

static void a_send_ends_with_the_link_that_reads_it(void **unused)
{
    (void)unused;
    fake.answer = WIO_TX_QUEUED;
    struct wio_handle h = isend(1, MIDDLE, 3);
    guard_breaks();
    assert_int_not_equal(of(h)->state, WIO_RS_DONE);
    assert_non_null(fake.sent[fake.nsent - 1].tx);
    link_ends();
    assert_done(h, WAITIO_ERR_PEER);
}

static void a_receive_ends_with_the_link_that_fills_it(void **unused)
{
    (void)unused;
    struct wio_handle h = irecv(1, MIDDLE, 3), idle = irecv(1, MIDDLE, 4);
    struct wio_msg m = envelope(WIO_OP_EAGER, 1, 3, 1000, 0);
    assert_int_equal(fake_header(1, &m, 1000), 0);
    guard_breaks();
    assert_int_equal(of(idle)->state, WIO_RS_DONE); /* nothing has come of that one */
    assert_int_not_equal(of(h)->state, WIO_RS_DONE);
    assert_ptr_equal(fake.ep[1]->sink.buf, in);
    link_ends();
    assert_done(h, WAITIO_ERR_PEER);
    assert_done(idle, WAITIO_ERR_PEER);
}

/* The address sanitizer sees it where the memory has gone. */
static void a_message_that_nobody_has_asked_for_stays_as_long(void **unused)
{
    (void)unused;
    struct wio_msg m = envelope(WIO_OP_EAGER, 1, 3, 5000, 0);
    assert_int_equal(fake_header(1, &m, 1000), 0);
    guard_breaks();
    assert_true(fake.ep[1]->sink.len >= 1000);
    memset(fake.ep[1]->sink.buf, 1, 1000);
    link_ends();
    assert_int_equal(u->match.nheld, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, guarded, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_send_ends_with_the_link_that_reads_it),
        T(a_receive_ends_with_the_link_that_fills_it),
        T(a_message_that_nobody_has_asked_for_stays_as_long),
    };
    return cmocka_run_group_tests_name("p2p_mute", tests, NULL, NULL);
}
