/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends that the program cancels, over the scripted transport: both sides of the question. */
#include "p2p_hands.h"

static struct wio_result result_of(struct wio_handle h)
{
    struct wio_result res;
    assert_true(done(&h, &res));
    return res;
}

/* ---- the sender ---- */

static void a_send_is_cancelled_when_its_receiver_refuses_it(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    struct wio_handle h = isend(1, BIG, 5);
    uint64_t id = last_sent(WIO_OP_RTS)->msg.b;
    assert_int_equal(wio_cancel(u, &h), 0);
    assert_int_equal(last_sent(WIO_OP_WITHDRAW)->msg.b, id);
    assert_int_equal(wio_cancel(u, &h), 0); /* says nothing new */
    assert_int_equal(count_sent(WIO_OP_WITHDRAW), 1);
    assert_pending(h);
    assert_int_equal(control(1, WIO_OP_DONE, WIO_DONE_REFUSED, 0, id), 0);
    struct wio_result res = result_of(h);
    assert_int_equal(res.err, 0);
    assert_true(res.cancelled);
}

static void one_that_a_receive_has_matched_goes_on(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    struct wio_handle h = isend(1, BIG, 5);
    uint64_t id = last_sent(WIO_OP_RTS)->msg.b;
    assert_int_equal(wio_cancel(u, &h), 0);
    assert_int_equal(control(1, WIO_OP_CTS, 77, BIG, id), 0); /* it was on its way */
    assert_int_equal(control(1, WIO_OP_DONE, 0, BIG, id), 0);
    struct wio_result res = result_of(h);
    assert_int_equal(res.err, 0);
    assert_false(res.cancelled);
}

static void nobody_is_asked_about_what_needs_no_answer(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    fake.answer = WIO_TX_QUEUED;
    struct wio_handle h = isend(1, 100, 5);
    assert_int_equal(wio_cancel(u, &h), 0);
    assert_null(last_sent(WIO_OP_WITHDRAW));
    assert_false(result_of(h).cancelled);
}

/* A later life of the receiver would find it there. */
static void one_that_a_journal_keeps_cannot_be_cancelled(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    struct wio_handle h = isend(1, BIG, 5);
    u->resume = (struct wio_resume *)(void *)out; /* only whether there is one matters here */
    assert_int_equal(wio_cancel(u, &h), WAITIO_ERR_UNSUPPORTED);
    u->resume = NULL;
    assert_non_null(strstr(wio_last_error(), "WAITIO_FILE_RESUME"));
    assert_null(last_sent(WIO_OP_WITHDRAW));
    assert_pending(h);
}

/* Else the receiver would not know of what it speaks. */
static void the_question_follows_its_envelope(void **unused)
{
    (void)unused;
    struct wio_handle h = isend(1, BIG, 5); /* there is no link yet */
    assert_int_equal(wio_cancel(u, &h), 0);
    assert_null(last_sent(WIO_OP_WITHDRAW));
    fake.credit[1] = ROOM;
    fake_state(1, WIO_EP_READY, 0, WIO_BYE_NONE);
    assert_int_equal(control(1, WIO_OP_CREDIT, 0, 0, 0), 0);
    assert_non_null(last_sent(WIO_OP_RTS));
    assert_true(last_sent(WIO_OP_WITHDRAW) > last_sent(WIO_OP_RTS));
    assert_int_equal(last_sent(WIO_OP_WITHDRAW)->msg.b, last_sent(WIO_OP_RTS)->msg.b);
    assert_int_equal(control(1, WIO_OP_DONE, WIO_DONE_REFUSED, 0, last_sent(WIO_OP_RTS)->msg.b), 0);
    assert_true(result_of(h).cancelled);
}

/* ---- the receiver ---- */

static void withdraw(uint64_t id)
{
    assert_int_equal(control(1, WIO_OP_WITHDRAW, 0, 0, id), 0);
}

static void assert_refused(uint64_t id)
{
    assert_int_equal(last_sent(WIO_OP_DONE)->msg.b, id);
    assert_int_equal(last_sent(WIO_OP_DONE)->msg.space, WIO_DONE_REFUSED);
}

static void what_is_held_is_refused(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    assert_int_equal(fake_message(1, envelope(WIO_OP_RTS, 1, 5, BIG, 33), NULL, 0), 0);
    assert_int_equal(fake_message(1, envelope(WIO_OP_EAGER, 2, 5, 100, 34), out, 100), 0);
    assert_int_equal(fake_message(1, envelope(WIO_OP_EAGER, 3, 5, 0, 35), NULL, 0), 0);
    for (uint64_t id = 33; id <= 35; id++) {
        withdraw(id);
        assert_refused(id);
    }
    withdraw(34); /* it is not here any more */
    assert_int_equal(count_sent(WIO_OP_DONE), 3);
    assert_int_equal(u->match.nheld, 0);
    assert_int_equal(u->ctr.unexpected_bytes, 0);
}

static void what_has_matched_is_received(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    struct wio_handle h = irecv(1, BIG, 5);
    assert_int_equal(fake_message(1, envelope(WIO_OP_RTS, 1, 5, BIG, 33), NULL, 0), 0);
    withdraw(33);
    assert_null(last_sent(WIO_OP_DONE));
    assert_int_equal(last_sent(WIO_OP_CTS)->msg.b, 33);
    assert_pending(h);
}

static void what_comes_in_pieces_is_refused_when_it_is_whole(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    assert_int_equal(fake_message(1, envelope(WIO_OP_EAGER, 1, 5, MIDDLE, 33), out, 256 << 10), 0);
    withdraw(33);
    assert_null(last_sent(WIO_OP_DONE));
    assert_int_equal(more(1, 1, 256 << 10, MIDDLE - (256 << 10)), 0);
    assert_refused(33);
    assert_int_equal(u->match.nheld, 0);
    assert_int_equal(u->ctr.unexpected_bytes, 0);
}

static void what_comes_early_is_refused_in_its_turn(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    struct wio_handle h = irecv(1, 100, 5);
    assert_int_equal(fake_message(1, envelope(WIO_OP_RTS, 2, 6, BIG, 33), NULL, 0), 0);
    assert_int_equal(fake_message(1, envelope(WIO_OP_EAGER, 3, 6, 0, 34), NULL, 0), 0);
    withdraw(33);
    withdraw(34);
    assert_null(last_sent(WIO_OP_DONE));
    assert_int_equal(eager(1, 1, 5, 100, 100), 0);
    assert_done(h, 0);
    assert_int_equal(count_sent(WIO_OP_DONE), 2);
    assert_refused(34);
    assert_int_equal(u->match.nheld, 0);
}

/* Two senders may give their messages the same number. */
static void another_one_may_not_withdraw_it(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    fake_open(2, ROOM);
    assert_int_equal(fake_message(2, envelope(WIO_OP_RTS, 1, 5, BIG, 33), NULL, 0), 0);
    withdraw(33);
    assert_null(last_sent(WIO_OP_DONE));
    assert_int_equal(u->match.nheld, 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_send_is_cancelled_when_its_receiver_refuses_it),
        T(one_that_a_receive_has_matched_goes_on),
        T(nobody_is_asked_about_what_needs_no_answer),
        T(one_that_a_journal_keeps_cannot_be_cancelled),
        T(the_question_follows_its_envelope),
        T(what_is_held_is_refused),
        T(what_has_matched_is_received),
        T(what_comes_in_pieces_is_refused_when_it_is_whole),
        T(what_comes_early_is_refused_in_its_turn),
        T(another_one_may_not_withdraw_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
