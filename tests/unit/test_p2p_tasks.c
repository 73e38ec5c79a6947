/* SPDX-License-Identifier: BSD-3-Clause */
/* Chains of messages that whoever waits moves on: when they are taken, and that nothing is lost. */
#include "p2p_hands.h"

enum { LINK = 1, OTHER = 2, OWN = 9, PATIENCE = 10000 };

/* A task whose turns the test decides. */
static struct chain {
    struct wio_task task; /* first */
    struct wio_handle handle;
    int turns;
    enum wio_task_next next[4];
    void (*during)(void);
} chain;

static enum wio_task_next go(struct wio_task *t)
{
    struct chain *c = (struct chain *)(void *)t;
    if (c->during != NULL)
        c->during();
    return c->next[c->turns++];
}

static void begin(enum wio_task_next first, enum wio_task_next second)
{
    chain = (struct chain){.next = {first, second, WIO_TASK_OVER, WIO_TASK_OVER}};
    fake_open(LINK, ROOM);
    fake_open(OTHER, ROOM);
    assert_int_equal(wio_task_begin(u, &chain.task, go, &chain.handle), 0);
}

static struct wio_handle await(uint32_t from, int tag)
{
    struct wio_handle h = irecv(from, 4, tag);
    wio_task_await(u, &chain.task, &h);
    return h;
}

/* Test something else: moves what can be moved. */
static void look_at(uint32_t peer)
{
    static const int never = 77;
    struct wio_handle h = irecv(peer, 4, never);
    assert_pending(h);
    assert_int_equal(wio_cancel(u, &h), 0);
    assert_done(h, 0);
}

static void look_around(void)
{
    look_at(LINK);
}

static void look_elsewhere(void)
{
    look_at(OTHER);
}

static void it_goes_on_when_all_messages_are_over(void **unused)
{
    (void)unused;
    begin(WIO_TASK_OVER, WIO_TASK_OVER);
    struct wio_handle a = await(LINK, 1), b = await(LINK, 2);
    wio_task_rest(u, &chain.task, WIO_TASK_ALL);
    assert_int_equal(eager(LINK, 1, 1, 4, 4), 0);
    look_around();
    assert_int_equal(chain.turns, 0);
    assert_int_equal(eager(LINK, 2, 2, 4, 4), 0);
    look_around();
    assert_int_equal(chain.turns, 1);
    assert_int_equal(u->ctr.task_turns, 1);
    assert_done(chain.handle, 0);
    assert_done(a, 0);
    assert_done(b, 0);
}

static void it_goes_on_with_any_message_when_it_says_so(void **unused)
{
    (void)unused;
    begin(WIO_TASK_ANY, WIO_TASK_OVER);
    struct wio_handle a = await(LINK, 1), b = await(LINK, 2);
    wio_task_rest(u, &chain.task, WIO_TASK_ANY);
    look_around();
    assert_int_equal(chain.turns, 0);
    assert_int_equal(eager(LINK, 1, 1, 4, 4), 0);
    look_around();
    assert_int_equal(chain.turns, 1);
    assert_pending(chain.handle);
    assert_int_equal(eager(LINK, 2, 2, 4, 4), 0);
    look_around();
    assert_int_equal(chain.turns, 2);
    assert_done(chain.handle, 0);
    assert_done(a, 0);
    assert_done(b, 0);
}

static struct wio_handle late;

static void land_meanwhile(void)
{
    if (chain.turns == 0) {
        late = await(LINK, 2);
        assert_int_equal(eager(LINK, 2, 2, 4, 4), 0);
    }
}

static void what_lands_while_it_is_moved_is_not_lost(void **unused)
{
    (void)unused;
    begin(WIO_TASK_ALL, WIO_TASK_OVER);
    struct wio_handle a = await(LINK, 1);
    chain.during = land_meanwhile;
    wio_task_rest(u, &chain.task, WIO_TASK_ALL);
    assert_int_equal(eager(LINK, 1, 1, 4, 4), 0);
    look_around();
    assert_int_equal(chain.turns, 2); /* once more, without another message */
    assert_done(chain.handle, 0);
    assert_done(a, 0);
    assert_done(late, 0);
}

static void any_message_that_lands_while_it_is_moved_counts(void **unused)
{
    (void)unused;
    begin(WIO_TASK_ANY, WIO_TASK_OVER);
    struct wio_handle a = await(LINK, 1), b = await(OTHER, 3);
    chain.during = land_meanwhile;
    wio_task_rest(u, &chain.task, WIO_TASK_ANY);
    assert_int_equal(eager(LINK, 1, 1, 4, 4), 0);
    look_around();
    assert_int_equal(chain.turns, 2);
    assert_done(a, 0);
    assert_done(late, 0);
    assert_pending(b);
}

static void a_message_that_is_over_already_is_not_waited_for(void **unused)
{
    (void)unused;
    for (int any = 0; any < 2; any++) {
        begin(WIO_TASK_OVER, WIO_TASK_OVER);
        assert_int_equal(eager(LINK, (uint32_t)any + 1, 1, 4, 4), 0);
        struct wio_handle a = await(LINK, 1), b = {0};
        if (any)
            b = await(OTHER, 2);
        wio_task_rest(u, &chain.task, any ? WIO_TASK_ANY : WIO_TASK_ALL);
        look_around();
        assert_int_equal(chain.turns, 1);
        assert_done(chain.handle, 0);
        assert_done(a, 0);
        if (any)
            assert_pending(b);
    }
}

static void a_failure_is_told_at_once(void **unused)
{
    (void)unused;
    begin(WIO_TASK_ALL, WIO_TASK_OVER);
    struct wio_handle a = await(LINK, 1), b = await(OTHER, 2);
    wio_task_rest(u, &chain.task, WIO_TASK_ALL);
    fake_state(LINK, WIO_EP_CLOSED, WAITIO_ERR_PEER, WIO_BYE_ERROR);
    struct wio_handle c = irecv(OTHER, 4, 5);
    assert_pending(c);
    assert_int_equal(chain.turns, 1); /* though the other one is still awaited */
    assert_pending(chain.handle);
    assert_int_equal(chain.turns, 1);
    assert_int_equal(eager(OTHER, 1, 2, 4, 4), 0);
    assert_done(chain.handle, 0);
    assert_done(a, WAITIO_ERR_PEER);
    assert_done(b, 0);
}

/* Also when it was known before the task awaited the message: the peer was gone already. */
static void a_failure_that_is_known_already_is_told_at_once(void **unused)
{
    (void)unused;
    begin(WIO_TASK_ALL, WIO_TASK_OVER);
    fake_state(LINK, WIO_EP_CLOSED, WAITIO_ERR_PEER, WIO_BYE_ERROR);
    struct wio_handle a = await(LINK, 1), b = await(OTHER, 2);
    wio_task_rest(u, &chain.task, WIO_TASK_ALL);
    look_elsewhere();
    assert_int_equal(chain.turns, 1); /* though the other one is still awaited */
    assert_int_equal(eager(OTHER, 1, 2, 4, 4), 0);
    look_elsewhere();
    assert_done(chain.handle, 0);
    assert_done(a, WAITIO_ERR_PEER);
    assert_done(b, 0);
}

/* The message that the program waits for comes only when the task has gone on. */
static int rounds;

static void answer_the_task(struct fake *f)
{
    if (rounds++ == 0)
        assert_int_equal(eager(LINK, 1, 1, 4, 4), 0);
    else if (chain.turns == 1 || rounds == PATIENCE) /* or the test hangs */
        assert_int_equal(eager(LINK, 2, OWN, 4, 4), 0);
    else
        return;
    if (rounds > 1)
        f->script = NULL;
}

static void wait_plainly(struct wio_handle *h)
{
    struct wio_result res;
    assert_int_equal(wio_wait(u, h, &res), 0);
}

static void wait_all(struct wio_handle *h)
{
    int next = 0;
    assert_int_equal(wio_wait_all(u, h, sizeof *h, 1, &next), 0);
}

static void wait_in_time(struct wio_handle *h)
{
    struct wio_result res;
    bool is;
    assert_int_equal(wio_wait_for(u, h, 60000000000, &is, &res), 0);
    assert_true(is);
}

static void wait_for_any(struct wio_handle *h)
{
    struct wio_handle both[2] = {{0}, *h};
    int which = -1;
    assert_int_equal(wio_wait_any(u, both, sizeof *both, 2, &which), 0);
    assert_int_equal(which, 1);
    assert_done(*h, 0);
}

static void test_it(struct wio_handle *h)
{
    struct wio_result res;
    while (!done(h, &res))
        continue;
}

static void peek_at_it(struct wio_handle *h)
{
    bool is = false;
    while (!is)
        assert_int_equal(wio_peek(u, h, true, &is), 0);
    assert_done(*h, 0);
}

static void probe_first(struct wio_handle *h)
{
    struct wio_result res;
    bool found;
    assert_int_equal(wio_cancel(u, h), 0);
    assert_done(*h, 0);
    assert_int_equal(wio_probe(u, g, LINK, OWN, true, &found, &res), 0);
    assert_done(irecv(LINK, 4, OWN), 0);
}

static void look_for_it(struct wio_handle *h)
{
    struct wio_result res;
    bool found = false;
    assert_int_equal(wio_cancel(u, h), 0);
    assert_done(*h, 0);
    while (!found)
        assert_int_equal(wio_probe(u, g, LINK, OWN, false, &found, &res), 0);
    assert_done(irecv(LINK, 4, OWN), 0);
}

static void moved_by(void (*wait)(struct wio_handle *h))
{
    begin(WIO_TASK_OVER, WIO_TASK_OVER);
    struct wio_handle a = await(LINK, 1), mine = irecv(LINK, 4, OWN);
    wio_task_rest(u, &chain.task, WIO_TASK_ALL);
    rounds = 0;
    fake.script = answer_the_task;
    wait(&mine);
    assert_true(rounds < PATIENCE);
    assert_int_equal(chain.turns, 1);
    assert_done(chain.handle, 0);
    assert_done(a, 0);
}

#define MOVED_BY(call)                                                                             \
    static void call##_moves_it(void **unused)                                                     \
    {                                                                                              \
        (void)unused;                                                                              \
        moved_by(call);                                                                            \
    }
MOVED_BY(wait_plainly)
MOVED_BY(wait_all)
MOVED_BY(wait_in_time)
MOVED_BY(wait_for_any)
MOVED_BY(test_it)
MOVED_BY(peek_at_it)
MOVED_BY(probe_first)
MOVED_BY(look_for_it)

static void others_hear_of_its_end_before_we_sleep(void **unused)
{
    (void)unused;
    begin(WIO_TASK_OVER, WIO_TASK_OVER);
    struct wio_handle a = await(LINK, 1);
    wio_task_rest(u, &chain.task, WIO_TASK_ALL);
    assert_int_equal(eager(LINK, 1, 1, 4, 4), 0);
    wio_enter(u);
    u->completed = false;
    u->watched = true; /* an event loop that is to be told */
    assert_true(wio_task_serve(u));
    assert_false(u->watched);
    assert_false(u->completed);
    assert_false(wio_task_serve(u)); /* there is no other */
    wio_leave(u);
    assert_done(chain.handle, 0);
    assert_done(a, 0);
}

/* What landed before it was handed over was told while it was not in the queue. */
static void others_hear_that_it_can_go_on_at_once(void **unused)
{
    (void)unused;
    begin(WIO_TASK_ALL, WIO_TASK_OVER);
    struct wio_handle a = await(LINK, 1);
    assert_int_equal(eager(LINK, 1, 1, 4, 4), 0);
    u->completed = false;
    u->watched = true;
    wio_task_rest(u, &chain.task, WIO_TASK_ALL);
    assert_false(u->watched);
    chain.during = land_meanwhile; /* the same when it comes back to the queue */
    wio_enter(u);
    u->watched = true;
    assert_true(wio_task_serve(u));
    assert_false(u->watched);
    assert_true(wio_task_serve(u));
    wio_leave(u);
    assert_done(chain.handle, 0);
    assert_done(a, 0);
    assert_done(late, 0);
}

/* Who was waited for in vain says nothing to those who poll later: they would leave their own
 * messages unread behind a large one. */
static void a_wait_that_was_given_up_hurries_nobody(void **unused)
{
    (void)unused;
    struct wio_result res;
    bool is = true;
    fake_open(LINK, ROOM);
    struct wio_handle h = irecv(LINK, 4, 1);
    assert_int_equal(wio_wait_for(u, &h, 1000000, &is, &res), 0);
    assert_false(is);
    assert_int_equal(eager(LINK, 1, 1, 4, 4), 0);
    assert_false(u->stop_now);
    assert_done(h, 0);
}

static void it_cannot_be_cancelled(void **unused)
{
    (void)unused;
    begin(WIO_TASK_OVER, WIO_TASK_OVER);
    struct wio_handle a = await(LINK, 1);
    wio_task_rest(u, &chain.task, WIO_TASK_ALL);
    assert_int_equal(wio_cancel(u, &chain.handle), 0); /* completes normally */
    assert_pending(chain.handle);
    assert_int_equal(eager(LINK, 1, 1, 4, 4), 0);
    assert_done(chain.handle, 0);
    assert_done(a, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(it_goes_on_when_all_messages_are_over),
        T(it_goes_on_with_any_message_when_it_says_so),
        T(what_lands_while_it_is_moved_is_not_lost),
        T(any_message_that_lands_while_it_is_moved_counts),
        T(a_message_that_is_over_already_is_not_waited_for),
        T(a_failure_is_told_at_once),
        T(a_failure_that_is_known_already_is_told_at_once),
        T(wait_plainly_moves_it),
        T(wait_all_moves_it),
        T(wait_in_time_moves_it),
        T(wait_for_any_moves_it),
        T(test_it_moves_it),
        T(peek_at_it_moves_it),
        T(probe_first_moves_it),
        T(look_for_it_moves_it),
        T(others_hear_of_its_end_before_we_sleep),
        T(others_hear_that_it_can_go_on_at_once),
        T(a_wait_that_was_given_up_hurries_nobody),
        T(it_cannot_be_cancelled),
    };
    return cmocka_run_group_tests_name("p2p tasks", tests, NULL, NULL);
}
