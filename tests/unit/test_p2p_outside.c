/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of other libraries: who polls them, how they end, and that no wait is lost to them. */
#include "p2p_hands.h"
#include "patience.h"

enum { LINK = 1, TAG = 5 };

/* An operation that is over after some polls. */
static struct foreign {
    struct wio_outside o; /* first */
    struct wio_handle handle;
    int polls, over_after, err, given_up;
    bool refuses; /* this thread must not poll it */
} op, second;

static bool poll_op(struct wio_outside *o, bool ended, int *err)
{
    struct foreign *f = (struct foreign *)(void *)o;
    if (ended) {
        f->given_up++;
        return true;
    }
    if (f->refuses || ++f->polls < f->over_after)
        return false;
    *err = f->err;
    return true;
}

static void begin(struct foreign *f, int over_after, int err)
{
    *f = (struct foreign){.o = {.space = g->space, .group = g, .poll = poll_op},
                          .over_after = over_after,
                          .err = err};
    assert_int_equal(wio_outside_begin(u, &f->o, &f->handle), 0);
}

static void a_wait_polls_until_it_is_over(void **unused)
{
    struct wio_result res;
    (void)unused;
    begin(&op, 5000, 0); /* more than any spin: the wait naps in between, and goes on */
    assert_int_equal(u->noutside, 1);
    assert_int_equal(wio_wait(u, &op.handle, &res), 0);
    assert_int_equal(res.err, 0);
    assert_int_equal(op.polls, 5000);
    assert_int_equal(u->noutside, 0);
}

/* An operation of many steps, each begun by a poll: a long nap after each would take 40 s in all.
 * Beside computing processes every nap takes as long as they let it: there the limit is wide. */
static void a_chain_of_short_steps_is_not_slept_through(void **unused)
{
    enum { STEPS = 40000 };
    struct wio_result res;
    (void)unused;
    u->cfg.spin_us = -1; /* as users have it */
    int64_t began = wio_os_now_ns();
    begin(&op, STEPS, 0);
    assert_int_equal(wio_wait(u, &op.handle, &res), 0);
    assert_int_equal(op.polls, STEPS);
    int64_t limit = wt_patience() > 1.5 ? wt_scaled_ns(60000000000LL) : 20000000000LL;
    assert_true(u->ctr.sleeps < STEPS / 2 || wio_os_now_ns() - began < limit);
}

/* But one that takes long does not keep a processor busy. */
static void a_long_operation_is_napped_through(void **unused)
{
    struct wio_handle h = irecv(WIO_ANY, 4, TAG);
    struct wio_result res;
    bool is;
    (void)unused;
    u->cfg.spin_us = -1;
    begin(&op, INT32_MAX, 0);
    assert_int_equal(wio_wait_for(u, &h, 300000000, &is, &res), 0);
    assert_false(is);
    assert_in_range(u->ctr.sleeps, 10, 20000); /* 300 ms of naps of 20 to 300 us */
}

static void a_wait_for_something_else_polls_it_too(void **unused)
{
    struct wio_handle h;
    struct wio_result res;
    bool is;
    (void)unused;
    fake_open(LINK, ROOM);
    begin(&op, 3, 0);
    h = irecv(LINK, 4, TAG);
    for (int i = 0; i < 3; i++)
        assert_pending(h);
    assert_int_equal(op.polls, 3);
    assert_done(op.handle, 0);
    assert_int_equal(wio_wait_for(u, &h, 1000000, &is, &res), 0);
    assert_false(is); /* and ends in time when nothing has to be polled any more */
    assert_int_equal(eager(LINK, 1, TAG, 4, 4), 0);
    assert_done(h, 0);
}

static void errors_are_those_of_the_operation(void **unused)
{
    struct wio_result res;
    (void)unused;
    begin(&op, 1, WAITIO_ERR_SYSTEM);
    assert_int_equal(wio_wait(u, &op.handle, &res), 0);
    assert_int_equal(res.err, WAITIO_ERR_SYSTEM);
}

static void a_time_limit_holds(void **unused)
{
    struct wio_result res;
    bool is;
    (void)unused;
    begin(&op, 1000000000, 0);
    assert_int_equal(wio_wait_for(u, &op.handle, 20000000, &is, &res), 0);
    assert_false(is);
    assert_in_range(op.polls, 1, 999999999);
    op.over_after = 1;
    assert_done(op.handle, 0);
}

static void what_must_not_be_polled_by_this_thread_stays(void **unused)
{
    struct wio_result res;
    bool is;
    (void)unused;
    begin(&op, 1, 0);
    begin(&second, 1, 0);
    op.refuses = true;
    assert_int_equal(wio_wait(u, &second.handle, &res), 0); /* nobody stands in its way */
    assert_int_equal(wio_wait_for(u, &op.handle, 2000000, &is, &res), 0);
    assert_false(is);
    op.refuses = false;
    assert_done(op.handle, 0);
}

static void a_revoked_space_ends_it(void **unused)
{
    struct wio_handle h;
    struct wio_result res;
    (void)unused;
    fake_open(LINK, ROOM);
    begin(&op, 1000000000, 0);
    wio_revoke(u, g, WAITIO_ERR_TRUNCATE);
    assert_int_equal(wio_wait(u, &op.handle, &res), 0);
    assert_int_equal(res.err, WAITIO_ERR_PEER);
    assert_int_equal(op.given_up, 0);
    assert_int_equal(wio_user_begin(u, &h), 0);
    assert_pending(h); /* a test of anything polls */
    assert_int_equal(op.given_up, 1);
    assert_int_equal(wio_user_end(u, &h), 0);
    assert_done(h, 0);
    assert_int_equal(u->noutside, 0);
    assert_int_equal(wio_outside_begin(u, &op.o, &op.handle), WAITIO_ERR_PEER);
}

static void the_end_of_the_universe_gives_it_up(void **unused)
{
    (void)unused;
    begin(&op, 1000000000, 0);
    wio_enter(u);
    wio_outside_end(u);
    wio_leave(u);
    assert_int_equal(op.given_up, 1);
    assert_int_equal(u->noutside, 0);
}

/* Only a dial can tell whether a member lives. */
static void members_are_dialled_when_it_takes_long(void **unused)
{
    struct wio_result res;
    bool is;
    (void)unused;
    u->cfg.dial_after = 0.01;
    begin(&op, 1000000000, 0);
    for (int i = 0; i < 40 && fake.dials[LINK] == 0; i++)
        assert_int_equal(wio_wait_for(u, &op.handle, 50000000, &is, &res), 0);
    assert_in_range(fake.dials[LINK], 1, 1000);
    op.over_after = 1;
    assert_done(op.handle, 0);
}

static int ended_program;

static void end(void)
{
    ended_program++;
}

/* The service thread's part, called by hand: a thread that is blocked has a second. */
static void a_blocked_thread_is_missed_after_a_second(void **unused)
{
    int64_t now = wio_os_now_ns();
    (void)unused;
    ended_program = 0;
    wio_outside_block(u, g->space, end);
    wio_enter(u);
    assert_true(wio_outside_watch(u, now) == INT64_MAX); /* nothing is wrong */
    wio_leave(u);
    wio_revoke(u, g, WAITIO_ERR_TRUNCATE);
    wio_enter(u);
    assert_true(wio_outside_watch(u, now) == now + 1000000000);
    assert_true(wio_outside_watch(u, now + 900000000) == now + 1000000000);
    assert_int_equal(ended_program, 0);
    wio_outside_unblock(u);
    assert_true(wio_outside_watch(u, now + 2000000000) == INT64_MAX); /* it came back */
    wio_outside_block(u, g->space, end);
    (void)wio_outside_watch(u, now + 3000000000);
    (void)wio_outside_watch(u, now + 4000000000);
    assert_int_equal(ended_program, 1);
    wio_leave(u);
    wio_outside_unblock(u);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_wait_polls_until_it_is_over),
        TEST(a_chain_of_short_steps_is_not_slept_through),
        TEST(a_long_operation_is_napped_through),
        TEST(a_wait_for_something_else_polls_it_too),
        TEST(errors_are_those_of_the_operation),
        TEST(a_time_limit_holds),
        TEST(what_must_not_be_polled_by_this_thread_stays),
        TEST(a_revoked_space_ends_it),
        TEST(the_end_of_the_universe_gives_it_up),
        TEST(members_are_dialled_when_it_takes_long),
        TEST(a_blocked_thread_is_missed_after_a_second),
    };
    return cmocka_run_group_tests_name("p2p outside", tests, NULL, NULL);
}
