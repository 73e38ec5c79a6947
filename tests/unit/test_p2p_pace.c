/* SPDX-License-Identifier: BSD-3-Clause */
/* A sender whose messages complete at once lets the receiver catch up, and does not wait for one
 * that takes nothing. */
#include "p2p_hands.h"
#include "patience.h"

enum { LINK = 1, BYTES = 100, FEW = 8, LONG_NS = 1000000000 };

static int taken;

static void receiver_takes_all(struct fake *f)
{
    (void)f;
    taken += fake_done(LINK, 0);
}

static uint32_t pending(void)
{
    return u->peer[LINK]->local_pending;
}

static void send_and_wait(int tag)
{
    struct wio_result res;
    struct wio_handle h = isend(LINK, BYTES, tag);
    assert_int_equal(wio_wait(u, &h, &res), 0);
    assert_int_equal(res.err, 0);
}

static void begin(void (*script)(struct fake *f))
{
    taken = 0;
    fake_open(LINK, ROOM);
    fake.answer = WIO_TX_QUEUED;
    fake.script = script;
}

static void a_stream_stays_near_its_receiver(void **unused)
{
    (void)unused;
    begin(receiver_takes_all);
    int64_t begun = wio_os_now_ns();
    for (int i = 0; i < 5000; i++) {
        send_and_wait(i);
        assert_in_range(pending(), 0, FEW);
    }
    assert_in_range(taken, 5000 - FEW, 5000);
    assert_true(wio_os_now_ns() - begun <
                wt_scaled_ns(LONG_NS)); /* a thousand waits, none to its limit */
}

static void so_does_a_stream_of_a_collective(void **unused)
{
    (void)unused;
    begin(receiver_takes_all);
    for (int i = 0; i < 1000; i++) {
        struct wio_leg leg = {.buf = out, .bytes = BYTES, .peer = LINK, .tag = 1, .send = true};
        int which = -1;
        assert_int_equal(wio_exchange(u, g, &leg, 1, &which), 0);
        assert_in_range(pending(), 0, FEW);
    }
}

static void a_task_never_waits(void **unused)
{
    (void)unused;
    begin(receiver_takes_all);
    for (int i = 0; i < 100; i++) {
        struct wio_handle h;
        assert_int_equal(wio_post(u, g, LINK, out, BYTES, 1, &h), 0);
    }
    assert_int_equal(pending(), 100);
    assert_int_equal(taken, 0);
}

static void a_receiver_that_takes_nothing_is_not_waited_for(void **unused)
{
    (void)unused;
    begin(NULL);
    int64_t begun = wio_os_now_ns();
    for (int i = 0; i < 3000; i++)
        send_and_wait(i);
    assert_true(wio_os_now_ns() - begun < wt_scaled_ns(LONG_NS)); /* 3000 times 2 ms were 6 s */
    assert_int_equal(pending(), 3000);
    fake_done(LINK, 0);
    assert_int_equal(pending(), 0);
}

static void one_that_comes_back_is_waited_for_again(void **unused)
{
    (void)unused;
    begin(NULL);
    for (int i = 0; i < 1000; i++)
        send_and_wait(i);
    fake.script = receiver_takes_all;
    for (int i = 0; i < 40000; i++)
        send_and_wait(i);
    for (int i = 0; i < 100; i++) {
        send_and_wait(i);
        assert_in_range(pending(), 0, FEW);
    }
}

static void nor_is_one_that_dies(void **unused)
{
    (void)unused;
    begin(NULL);
    for (int i = 0; i < FEW; i++)
        send_and_wait(i);
    fake_state(LINK, WIO_EP_CLOSED, WAITIO_ERR_PEER, WIO_BYE_NONE);
    struct wio_result res;
    struct wio_handle h = isend(LINK, BYTES, 1);
    assert_int_equal(wio_wait(u, &h, &res), 0);
    assert_int_equal(res.err, WAITIO_ERR_PEER);
}

static void beside_a_thread_that_waits_nobody_does(void **unused)
{
    (void)unused;
    begin(NULL);
    u->polling = true;
    int64_t begun = wio_os_now_ns();
    for (int i = 0; i < 100; i++)
        send_and_wait(i);
    u->polling = false;
    assert_true(wio_os_now_ns() - begun < wt_scaled_ns(LONG_NS / 5));
    assert_int_equal(pending(), 100);
    fake_done(LINK, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_stream_stays_near_its_receiver),
        TEST(so_does_a_stream_of_a_collective),
        TEST(a_task_never_waits),
        TEST(a_receiver_that_takes_nothing_is_not_waited_for),
        TEST(one_that_comes_back_is_waited_for_again),
        TEST(nor_is_one_that_dies),
        TEST(beside_a_thread_that_waits_nobody_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
