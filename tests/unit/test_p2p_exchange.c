/* SPDX-License-Identifier: BSD-3-Clause */
/* Rounds of messages without requests: the short way, every reason to leave it, and that the order
 * of messages is the same on both. */
#include <errno.h>

#include "p2p_hands.h"

enum { LINK = 1, OTHER = 2, TAG = 5, N = 100, LEGS = 4 };

static struct wio_leg leg[LEGS];
static int which;
static int looks; /* rounds of progress */

/* Links whose messages come through memory, as a whole; waits that do not sleep at once. */
static int begin(void **state)
{
    int rc = setup(state);
    u->cfg.spin_us = -1;
    u->attr[WIO_TR_TCP].caps = WIO_CAP_MEMORY;
    fake.puts = fake.whole = true;
    fake_open(LINK, ROOM);
    fake_open(OTHER, ROOM);
    wio_progress(u, WIO_PROGRESS_FULL); /* what opening has left to be done */
    looks = 0;
    which = -1;
    return rc;
}

static struct wio_leg receive(uint32_t from, size_t at, size_t n)
{
    return (struct wio_leg){.buf = in + at, .bytes = n, .peer = from, .tag = TAG};
}

static struct wio_leg deliver(uint32_t to, size_t n)
{
    return (struct wio_leg){.buf = out, .bytes = n, .peer = to, .tag = TAG, .send = true};
}

static int exchange(int n)
{
    return wio_exchange(u, g, leg, n, &which);
}

static bool no_request_was_made(void)
{
    return u->nslabs == 0;
}

static void nobody_is_expected(void)
{
    for (uint32_t i = 0; i < FAKE_PEERS; i++)
        assert_true(u->peer[i] == NULL || wio_list_empty(&u->peer[i]->expected));
}

static void alone_from_link(size_t n)
{
    leg[0] = receive(LINK, 0, n);
    assert_int_equal(exchange(1), 0);
    assert_int_equal(leg[0].err, 0);
    assert_same(leg[0].got);
    nobody_is_expected();
}

/* ---- the short way ---- */

static void link_answers(struct fake *f)
{
    if (looks++ == 0)
        assert_int_equal(eager(LINK, 1, TAG, N, N), 1); /* look no further: it is expected */
    (void)f;
}

static void short_messages_need_no_request(void **unused)
{
    (void)unused;
    fake.script = link_answers;
    leg[0] = deliver(LINK, N);
    leg[1] = receive(LINK, 0, BIG);
    assert_int_equal(exchange(2), 0);
    assert_int_equal(leg[1].got, N);
    assert_same(N);
    assert_int_equal(fake.nsent, 1);
    assert_int_equal(fake.sent[0].sum, fake_sum(out, N));
    assert_int_equal(fake.sent[0].msg.envelope, 1);
    assert_true(no_request_was_made());
    nobody_is_expected();
    assert_int_equal(u->ctr.send_msgs, 1);
    assert_int_equal(u->ctr.send_bytes, N);
    assert_int_equal(u->ctr.eager_msgs, 1);
    assert_int_equal(u->ctr.recv_msgs, 1);
    assert_int_equal(u->ctr.recv_bytes, N);
    assert_int_equal(u->ctr.unexpected_msgs, 0);
    assert_int_equal(u->ctr.border_msgs, 0);
    assert_false(u->polling);
    assert_int_equal(u->inside, 0);
}

static void link_answers_amid_others(struct fake *f)
{
    (void)f;
    if (looks++ == 0)
        assert_int_equal(eager(LINK, 1, TAG, N, N), 0);
}

static void a_look_at_everything_does_not_end_at_this_link(void **unused)
{
    (void)unused;
    u->polls = UINT32_MAX; /* the next one is such */
    fake.script = link_answers_amid_others;
    alone_from_link(N);
    assert_int_equal(leg[0].got, N);
    assert_true(no_request_was_made());
}

static void what_crosses_the_border_is_counted(void **unused)
{
    (void)unused;
    leg[0] = deliver(LINK, N);
    leg[1] = deliver(OTHER, 7);
    leg[1].border = true;
    assert_int_equal(exchange(2), 0);
    assert_int_equal(u->ctr.border_msgs, 1);
    assert_int_equal(u->ctr.border_bytes, 7);
}

static void what_came_before_needs_none_either(void **unused)
{
    (void)unused;
    uint32_t left = u->peer[LINK]->credit.granted - u->peer[LINK]->credit.taken;
    assert_int_equal(eager(LINK, 1, TAG, N, N), 0);
    assert_int_equal(eager(LINK, 2, TAG, 0, 0), 0);
    alone_from_link(N);
    assert_int_equal(leg[0].got, N);
    alone_from_link(0);
    assert_true(no_request_was_made());
    assert_int_equal(u->match.nheld, 0);
    assert_int_equal(u->ctr.unexpected_bytes, 0);
    assert_int_equal(u->ctr.recv_msgs, 2);
    assert_int_equal(u->peer[LINK]->credit.granted - u->peer[LINK]->credit.taken, left);
}

static void credit_goes_back_and_is_told(void **unused)
{
    (void)unused;
    struct wio_credit *c = &u->peer[LINK]->credit;
    uint32_t left = c->granted - c->taken;
    fake.script = link_answers;
    alone_from_link(N);
    assert_int_equal(c->granted - c->taken, left);
    uint32_t used = c->used;
    leg[0] = deliver(LINK, N);
    assert_int_equal(exchange(1), 0);
    assert_int_equal(last_sent(WIO_OP_EAGER)->msg.credit, c->granted);
    assert_int_equal(c->announced, c->granted);
    assert_int_equal(c->used - used, wio_credit_cost(N, false));
}

static void a_whole_round(struct fake *f)
{
    (void)f;
    if (looks++ > 0)
        return;
    assert_int_equal(eager(OTHER, 1, TAG, 3, 3), 1);
    assert_int_equal(eager(LINK, 1, TAG, 4, 4), 1);
    assert_int_equal(eager(OTHER, 2, TAG, 9, 9), 0); /* of the next round */
}

static void the_legs_of_a_round_come_in_any_order(void **unused)
{
    (void)unused;
    fake.script = a_whole_round;
    leg[0] = receive(LINK, 0, 8);
    leg[1] = receive(OTHER, 8, 8);
    assert_int_equal(exchange(2), 0);
    assert_int_equal(leg[0].got, 4);
    assert_int_equal(leg[1].got, 3);
    assert_memory_equal(in + 8, out, 3);
    assert_true(no_request_was_made());
    assert_int_equal(u->match.nheld, 1);
}

/* ---- what is unusual about the message ---- */

static void streamed(struct fake *f)
{
    f->whole = false;
    if (looks++ == 0)
        assert_int_equal(eager(LINK, 1, TAG, N, N), 0);
}

static void a_message_that_does_not_come_as_a_whole(void **unused)
{
    (void)unused;
    fake.script = streamed;
    alone_from_link(N);
    assert_int_equal(leg[0].got, N);
}

enum { LONG = 40000 };

/* The next one is for the next call: it stays where it is until its receive is known. */
static void two_long_ones(struct fake *f)
{
    struct wio_msg next = envelope(WIO_OP_EAGER, 2, TAG, LONG, 0);
    f->whole = false;
    if (looks++ > 0)
        return;
    assert_int_equal(eager(LINK, 1, TAG, LONG, LONG), 0);
    assert_int_equal(fake_header(LINK, &next, LONG), 1);
}

static void the_long_message_of_the_next_round_is_not_copied(void **unused)
{
    (void)unused;
    fake.script = two_long_ones;
    alone_from_link(LONG);
    assert_int_equal(leg[0].got, LONG);
    assert_false(u->stop_now);
    assert_int_equal(u->ctr.unexpected_msgs, 0);
    fake.script = NULL; /* and who does not wait for it takes it */
    assert_int_equal(eager(LINK, 2, TAG, LONG, LONG), 0);
    assert_int_equal(u->ctr.unexpected_msgs, 1);
}

static void late_in_pieces(struct fake *f)
{
    f->whole = false;
    looks++;
    if (looks == 1)
        assert_int_equal(eager(LINK, 1, TAG, LONG, 30), 0);
    if (looks == 3)
        assert_int_equal(more(LINK, 1, 30, LONG - 30), 0);
}

static void one_that_is_late_is_waited_for_as_always(void **unused)
{
    (void)unused;
    fake.script = late_in_pieces;
    alone_from_link(LONG);
    assert_int_equal(leg[0].got, LONG);
    assert_false(u->stop_now);
    assert_null(u->brief);
}

static void in_pieces(struct fake *f)
{
    (void)f;
    if (looks == 0)
        assert_int_equal(eager(LINK, 1, TAG, N, 30), 0);
    else if (looks == 3)
        assert_int_equal(more(LINK, 1, 30, N - 30), 0);
    looks++;
}

static void a_message_in_pieces(void **unused)
{
    (void)unused;
    fake.script = in_pieces;
    alone_from_link(N);
    assert_int_equal(leg[0].got, N);
}

static void asks_first(struct fake *f)
{
    const struct fake_sent *cts = last_sent(WIO_OP_CTS);
    if (looks++ == 0)
        assert_int_equal(fake_message(LINK, envelope(WIO_OP_RTS, 1, TAG, N, 77), NULL, 0), 0);
    else if (cts != NULL && cts->tx == NULL && f->put_calls == 0) {
        struct wio_msg m = {.op = WIO_OP_DATA, .space = cts->msg.space};
        f->put_calls = 1; /* once */
        assert_int_equal(fake_message(LINK, m, out, N), 0);
    }
}

static void a_sender_that_asks_first(void **unused)
{
    (void)unused;
    fake.script = asks_first;
    alone_from_link(N);
    assert_int_equal(leg[0].got, N);
    assert_int_equal(count_sent(WIO_OP_DONE), 1);
}

static void wants_an_answer(struct fake *f)
{
    (void)f;
    if (looks++ == 0)
        assert_int_equal(fake_message(LINK, envelope(WIO_OP_EAGER, 1, TAG, N, 77), out, N), 0);
}

static void a_sender_that_wants_an_answer_gets_it(void **unused)
{
    (void)unused;
    fake.script = wants_an_answer;
    alone_from_link(N);
    assert_int_equal(count_sent(WIO_OP_DONE), 1);
}

static void one_held_that_wants_an_answer_gets_it_too(void **unused)
{
    (void)unused;
    assert_int_equal(fake_message(LINK, envelope(WIO_OP_EAGER, 1, TAG, N, 77), out, N), 0);
    alone_from_link(N);
    assert_int_equal(count_sent(WIO_OP_DONE), 1);
}

static void too_long(void)
{
    leg[0] = receive(LINK, 0, N - 1);
    assert_int_equal(exchange(1), WAITIO_ERR_TRUNCATE);
    assert_int_equal(which, 0);
    assert_int_equal(leg[0].err, WAITIO_ERR_TRUNCATE);
    assert_same(N - 1);
    assert_int_equal(in[N - 1], 0);
    nobody_is_expected();
}

static void no_room(struct fake *f)
{
    (void)f;
    if (looks++ == 0)
        assert_int_equal(eager(LINK, 1, TAG, N, N), 0);
}

static void a_message_without_room_is_an_error(void **unused)
{
    (void)unused;
    fake.script = no_room;
    too_long();
    fake.script = NULL;
    memset(in, 0, N);
    assert_int_equal(eager(LINK, 2, TAG, N, N), 0);
    too_long();
}

/* ---- others ---- */

static void others_first(struct fake *f)
{
    struct wio_msg m = envelope(WIO_OP_EAGER, 2, TAG, N, 0);
    (void)f;
    if (looks++ > 0)
        return;
    assert_int_equal(eager(LINK, 1, TAG + 1, 8, 8), 0);
    m.space++;
    assert_int_equal(fake_message(LINK, m, out + 1, N), 0);
    assert_int_equal(eager(OTHER, 1, TAG, 8, 8), 0);
    assert_int_equal(eager(LINK, 3, TAG, N, N), 1);
}

static void only_what_is_meant_is_taken(void **unused)
{
    (void)unused;
    fake.script = others_first;
    alone_from_link(N);
    assert_int_equal(leg[0].got, N);
    assert_int_equal(u->match.nheld, 3);
}

static void two_of_them(struct fake *f)
{
    (void)f;
    if (looks++ > 0)
        return;
    assert_int_equal(eager(LINK, 1, TAG, 10, 10), 0);
    assert_in_range(eager(LINK, 2, TAG, 20, 20), 0, 1); /* 1: nothing else is expected there */
}

static void who_was_posted_before_comes_before(int64_t src, int64_t tag)
{
    struct wio_handle h;
    struct wio_result res;
    looks = 0;
    fake.script = two_of_them;
    assert_int_equal(wio_irecv(u, g, src, in + 1000, 50, tag, false, &h), 0);
    leg[0] = receive(LINK, 0, 50);
    assert_int_equal(exchange(1), 0);
    assert_int_equal(leg[0].got, 20);
    assert_true(done(&h, &res));
    assert_int_equal(res.bytes, 10);
}

static void a_receive_posted_before_comes_before(void **unused)
{
    (void)unused;
    who_was_posted_before_comes_before(LINK, TAG);
}

static void so_does_one_from_anybody(void **unused)
{
    (void)unused;
    who_was_posted_before_comes_before(-1, TAG);
}

static void so_does_one_with_any_tag(void **unused)
{
    (void)unused;
    who_was_posted_before_comes_before(LINK, -1);
}

static void three_of_them(struct fake *f)
{
    two_of_them(f);
    if (looks == 1)
        assert_int_equal(eager(LINK, 3, TAG, 30, 30), 1); /* no other is expected */
}

static void legs_from_one_peer_are_served_in_their_order(void **unused)
{
    (void)unused;
    fake.script = three_of_them;
    for (int i = 0; i < 3; i++)
        leg[i] = receive(LINK, 100 * (size_t)i, 50);
    assert_int_equal(exchange(3), 0);
    assert_int_equal(leg[0].got, 10);
    assert_int_equal(leg[1].got, 20);
    assert_int_equal(leg[2].got, 30);
    nobody_is_expected();
}

static void one_overtakes(struct fake *f)
{
    (void)f;
    if (looks++ > 0)
        return;
    assert_int_equal(eager(LINK, 2, TAG, N, N), 0);
    assert_int_equal(eager(LINK, 1, TAG + 1, 8, 8), 0);
}

static void one_that_came_early_is_found_when_it_is_due(void **unused)
{
    (void)unused;
    fake.script = one_overtakes;
    alone_from_link(N);
    assert_int_equal(leg[0].got, N);
}

/* ---- waiting ---- */

static bool posted(void)
{
    return u->match.nposted == 1 && wio_list_empty(&u->peer[LINK]->expected);
}

static int posted_at;
static bool hogged; /* then: somebody computes on this processor */

static void late(struct fake *f)
{
    (void)f;
    looks++;
    if (posted_at == 0 && posted()) {
        posted_at = looks;
        hogged = u->spin.hogged > 0;
    }
    if (looks == 200)
        assert_int_equal(eager(LINK, 1, TAG, N, N), 0);
}

static void becomes_a_request(int after_least, int after_most)
{
    posted_at = 0;
    fake.script = late;
    alone_from_link(N);
    assert_in_range(posted_at, hogged ? 1 : after_least, after_most);
}

static void a_wait_that_takes_longer_becomes_a_request(void **unused)
{
    (void)unused;
    becomes_a_request(30, 100);
}

static void among_more_than_processors_it_does_too(void **unused)
{
    (void)unused;
    u->spin.crowded = true;
    fake.aside = true;
    becomes_a_request(8, 30);
}

static int answered_after;

static void answers_late(struct fake *f)
{
    f->events = ++looks == answered_after;
    if (f->events > 0)
        (void)eager(LINK, 1, TAG, N, N);
}

/* @return yields before an answer that comes with the look @p after */
static int yields_before_an_answer(int after)
{
    u->spin.crowded = true;
    u->spin.contended = 8;              /* as with every crowded host */
    u->iface[WIO_TR_SHM] = &fake.iface; /* which tells peers of yields */
    fake.script = answers_late;
    answered_after = after;
    looks = fake.steps_aside = 0;
    alone_from_link(N);
    u->iface[WIO_TR_SHM] = NULL;
    assert_int_equal(leg[0].got, N);
    assert_int_equal(looks, after);
    return fake.steps_aside;
}

/* A yield costs more than the answer of a peer that is just about to send it. */
static void a_peer_that_has_a_processor_gets_some_time_before_a_yield(void **unused)
{
    (void)unused;
    assert_int_equal(yields_before_an_answer(20), 0);
    assert_true(no_request_was_made());
}

static void but_not_for_ever(void **unused)
{
    (void)unused;
    assert_in_range(yields_before_an_answer(300), 2, 30);
}

/* Nothing can come: the processor is given away after each look, and the peer sees it. */
static void no_answer_is_expected_from_one_that_has_none(void **unused)
{
    (void)unused;
    fake.aside = true;
    assert_int_equal(yields_before_an_answer(5), 4);
}

/* Each look would be a system call. */
static void nor_is_a_socket_looked_at_so_often(void **unused)
{
    (void)unused;
    u->peer[LINK]->memory = false;
    assert_in_range(yields_before_an_answer(5), 3, 4);
}

static void a_program_that_must_not_spin_does_not(void **unused)
{
    (void)unused;
    u->cfg.spin_us = 1;
    becomes_a_request(1, 1);
}

static void where_somebody_computes_nobody_yields_on(void **unused)
{
    (void)unused;
    u->spin.crowded = true;
    u->spin.hogged = 64;
    becomes_a_request(1, 1);
}

static void without_memory_a_request_is_posted_at_once(void **unused)
{
    (void)unused;
    u->peer[LINK]->memory = false;
    becomes_a_request(1, 1);
}

static struct wio_task task;
static int turns;

static enum wio_task_next over(struct wio_task *t)
{
    (void)t;
    turns++;
    return WIO_TASK_OVER;
}

static void link_answers_when_the_task_is_over(struct fake *f)
{
    (void)f;
    if (turns == 1 && looks++ == 0)
        assert_int_equal(eager(LINK, 1, TAG, N, N), 0);
}

static void tasks_go_on_meanwhile(void **unused)
{
    (void)unused;
    struct wio_handle h, awaited;
    turns = 0;
    assert_int_equal(wio_task_begin(u, &task, over, &h), 0);
    awaited = irecv(OTHER, 4, TAG);
    wio_task_await(u, &task, &awaited);
    wio_task_rest(u, &task, WIO_TASK_ALL);
    assert_int_equal(eager(OTHER, 1, TAG, 4, 4), 0); /* now it can go on */
    fake.script = link_answers_when_the_task_is_over;
    alone_from_link(N);
    assert_done(h, 0);
    assert_done(awaited, 0);
}

static void a_sleeping_event_loop_is_the_service_threads_again(void **unused)
{
    (void)unused;
    u->service_fd = wio_os_eventfd();
    u->watched = true;
    fake.script = link_answers;
    alone_from_link(N);
    assert_true(no_request_was_made());
    assert_int_equal(wio_os_poll_in(&u->service_fd, 1, 0), 1);
}

static void something_for_an_event_loop(struct fake *f)
{
    (void)f;
    if (looks++ == 0)
        assert_int_equal(eager(LINK, 1, TAG + 1, 4, 4), 0);
    else if (posted()) {
        assert_false(u->watched);
        assert_int_equal(eager(LINK, 2, TAG, N, N), 0);
        fake.script = NULL;
    }
}

static void an_event_loop_is_told_before_a_long_wait(void **unused)
{
    (void)unused;
    struct wio_handle h = irecv(LINK, 4, TAG + 1);
    u->watched = true;
    u->inside = 1; /* a third thread waits for something else */
    fake.script = something_for_an_event_loop;
    leg[0] = receive(LINK, 1000, N);
    assert_int_equal(exchange(1), 0);
    u->inside = 0;
    assert_done(h, 0);
}

/* Another thread asks while a round waits for somebody else. */
static void the_dump_shows_who_is_expected(void **unused)
{
    (void)unused;
    struct wio_strbuf sb = {0};
    leg[0] = receive(LINK, 0, N);
    leg[0].tag = TAG;
    struct wio_expected *e = &leg[0].expected;
    *e = (struct wio_expected){.space = g->space, .tag = TAG, .bytes = N, .leg = true};
    wio_expect(u, u->peer[LINK], e);
    wio_universe_dump(u, &sb);
    wio_list_remove(&e->node);
    assert_non_null(strstr(sb.text, "receive, tag 5, 100 bytes: no matching message"));
    wio_strbuf_free(&sb);
}

static void others_all_the_time(struct fake *f)
{
    uint32_t number = (uint32_t)++looks;
    f->events = 1;
    if (posted_at == 0 && posted())
        posted_at = looks;
    assert_int_equal(eager(LINK, number, looks == 200 ? TAG : TAG + 1, 4, 4), 0);
}

/* Each look finds something, and yet the wait does not stay brief: long ones have duties. */
static void a_busy_link_does_not_keep_a_wait_brief(void **unused)
{
    (void)unused;
    posted_at = 0;
    fake.script = others_all_the_time;
    leg[0] = receive(LINK, 0, N);
    assert_int_equal(exchange(1), 0);
    assert_in_range(posted_at, 30, 100);
}

/* ---- links that come and go ---- */

static void link_dies(struct fake *f)
{
    (void)f;
    if (looks++ == 1)
        fake_state(LINK, WIO_EP_CLOSED, WAITIO_ERR_PEER, WIO_BYE_NONE);
}

static void a_peer_that_dies_is_an_error(void **unused)
{
    (void)unused;
    fake.script = link_dies;
    leg[0] = receive(OTHER, 0, 0);
    leg[1] = receive(LINK, 0, N);
    assert_int_equal(eager(OTHER, 1, TAG, 0, 0), 0);
    assert_int_equal(exchange(2), WAITIO_ERR_PEER);
    assert_int_equal(which, 1);
    assert_non_null(strstr(wio_last_detail(), "the test says so"));
    nobody_is_expected();
    leg[0] = deliver(LINK, N);
    which = -1;
    assert_int_equal(exchange(1), WAITIO_ERR_PEER);
    assert_int_equal(which, 0);
    leg[0] = receive(LINK, 0, N);
    assert_int_equal(exchange(1), WAITIO_ERR_PEER);
}

/* And what was sent to the other one is acknowledged later. */
static void link_dies_the_other_has_it(struct fake *f)
{
    link_dies(f);
    for (int i = 0; looks == 10 && i < f->nsent; i++)
        if (f->sent[i].to == OTHER && f->sent[i].msg.op == WIO_OP_EAGER && f->sent[i].msg.b != 0)
            assert_int_equal(control(OTHER, WIO_OP_DONE, 0, f->sent[i].msg.a, f->sent[i].msg.b), 0);
}

static void after_a_failure_the_others_end(void **unused)
{
    (void)unused;
    fake.script = link_dies_the_other_has_it;
    leg[0] = receive(LINK, 0, N);
    leg[1] = receive(OTHER, 1000, N);
    leg[2] = deliver(OTHER, MIDDLE); /* complete only when it is acknowledged */
    leg[3] = deliver(OTHER, N);
    assert_int_equal(exchange(4), WAITIO_ERR_PEER);
    assert_int_equal(which, 0);
    assert_non_null(strstr(wio_last_detail(), "the test says so"));
    assert_in_range(looks, 10, 1000);
    nobody_is_expected();
    assert_int_equal(eager(OTHER, 1, TAG, N, N), 0);
    assert_int_equal(in[1001], 0);
    assert_int_equal(u->match.nheld, 1);
}

static void a_receive_in_the_tables_is_withdrawn(void **unused)
{
    (void)unused;
    fake.script = link_dies;
    leg[0] = receive(LINK, 0, N);
    leg[1] = receive(OTHER, 1000, N); /* the second from there pushes it into the tables */
    leg[2] = receive(OTHER, 2000, N);
    assert_int_equal(exchange(3), WAITIO_ERR_PEER);
    assert_int_equal(u->match.nposted, 0);
    nobody_is_expected();
    assert_int_equal(eager(OTHER, 1, TAG, N, N), 0);
    assert_int_equal(in[1001], 0);
    struct wio_handle h = irecv(OTHER, N, TAG); /* and its place is free again */
    assert_done(h, 0);
}

static void link_is_closed_and_opened(struct fake *f)
{
    (void)f;
    if (looks++ == 1)
        fake_state(LINK, WIO_EP_CLOSED, 0, WIO_BYE_CAP);
    else if (looks == 5) {
        fake_open(LINK, ROOM);
        assert_int_equal(eager(LINK, 1, TAG, N, N), 0);
    }
}

static void a_link_may_close_meanwhile(void **unused)
{
    (void)unused;
    fake.script = link_is_closed_and_opened;
    alone_from_link(N);
    assert_int_equal(leg[0].got, N);
}

static void a_peer_never_heard_of_is_dialled(void **unused)
{
    (void)unused;
    leg[0] = deliver(3, N);
    assert_int_equal(exchange(1), 0); /* a copy is kept */
    assert_int_equal(fake.dials[3], 1);
    assert_int_equal(fake.put_calls, 0);
    fake.credit[3] = ROOM;
    fake_state(3, WIO_EP_READY, 0, WIO_BYE_NONE);
    assert_int_equal(fake_message(3, (struct wio_msg){.op = WIO_OP_CREDIT}, NULL, 0), 0);
    assert_int_equal(last_sent(WIO_OP_EAGER)->to, 3);
}

static void nothing_is_put_on_a_link_that_closes(void **unused)
{
    (void)unused;
    fake_state(LINK, WIO_EP_CLOSING, 0, WIO_BYE_NONE);
    leg[0] = deliver(LINK, N);
    assert_int_equal(exchange(1), 0);
    assert_int_equal(fake.put_calls, 0);
    assert_int_equal(u->peer[LINK]->local_pending, 1);
}

static void nor_before_the_first_credit(void **unused)
{
    (void)unused;
    fake_state(3, WIO_EP_READY, 0, WIO_BYE_NONE);
    fake.nsent = 0;
    leg[0] = deliver(3, N);
    assert_int_equal(exchange(1), 0);
    assert_int_equal(count_sent(WIO_OP_EAGER), 0);
    assert_int_equal(u->peer[3]->local_pending, 1);
}

/* ---- no memory for a request ---- */

/* Requests come in large pieces; the reasons of errors still fit. */
static int no_memory(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    return call == WIO_OS_MEM && bytes > 4096 ? -ENOMEM : 0;
}

static void fails_for_want_of_memory(int n, int index)
{
    wio_os_fault = no_memory;
    int rc = exchange(n);
    wio_os_fault = NULL;
    assert_int_equal(rc, WAITIO_ERR_NOMEM);
    assert_int_equal(which, index);
    assert_non_null(strstr(wio_last_detail(), "no memory"));
    for (int i = 0; i < n; i++)
        assert_int_equal(leg[i].handle.generation, 0);
    nobody_is_expected();
}

static void without_memory_a_round_ends(void **unused)
{
    (void)unused;
    leg[0] = receive(LINK, 0, N);
    leg[1] = receive(LINK, N, N); /* the first is posted for its sake */
    fails_for_want_of_memory(2, 0);
    leg[0] = receive(LINK, 0, N); /* looked for too long */
    fails_for_want_of_memory(1, 0);
    leg[0] = receive(LINK, 0, N);
    leg[1] = deliver(OTHER, N);
    leg[2] = deliver(OTHER, N);
    fake.puts = false;
    fails_for_want_of_memory(3, 1);
    assert_int_equal(u->peer[OTHER]->send_envelope, 0);
}

static void another_thread_has_no_memory(struct fake *f)
{
    (void)f;
    if (looks++ > 0)
        return;
    assert_null(wio_expect_request(u, wio_expect_find(u, u->peer[LINK], g->space, TAG)));
    (void)wio_fail(WAITIO_ERR_ARG, "an older error of this thread");
}

static void whoever_finds_no_memory_the_error_says_so(void **unused)
{
    (void)unused;
    fake.script = another_thread_has_no_memory;
    leg[0] = receive(LINK, 0, N);
    leg[1] = receive(OTHER, N, N);
    fails_for_want_of_memory(2, 0);
}

/* ---- sends that are not short, or not now ---- */

static void a_link_that_takes_nothing_now_gets_it_later(void **unused)
{
    (void)unused;
    fake.puts = false;
    fake.answer = WIO_TX_QUEUED;
    leg[0] = deliver(LINK, N);
    assert_int_equal(exchange(1), 0);
    assert_int_equal(fake.put_calls, 1);
    assert_int_equal(fake.nsent, 1);
    assert_int_equal(fake.sent[0].msg.envelope, 1); /* none was used up in vain */
    assert_int_equal(u->ctr.send_msgs, 1);
    assert_int_equal(u->peer[LINK]->credit.used, wio_credit_cost(N, false));
    assert_int_equal(u->peer[LINK]->local_pending, 1);
    fake_done(LINK, 0);
}

static void nothing_overtakes_what_waits_for_credit(void **unused)
{
    (void)unused;
    struct wio_credit *c = &u->peer[LINK]->credit;
    c->limit = c->used + wio_credit_cost(N, false); /* enough for the short one */
    struct wio_handle h = isend(LINK, 4000, 1);
    assert_int_equal(count_sent(WIO_OP_EAGER), 0);
    leg[0] = deliver(LINK, N);
    assert_int_equal(exchange(1), 0);
    assert_int_equal(count_sent(WIO_OP_EAGER), 0);
    assert_int_equal(control(LINK, WIO_OP_CREDIT, 0, 0, 0), 0);
    fake.credit[LINK] = 2 * ROOM;
    assert_int_equal(control(LINK, WIO_OP_CREDIT, 0, 0, 0), 0);
    assert_int_equal(count_sent(WIO_OP_EAGER), 2);
    assert_int_equal(last_sent(WIO_OP_EAGER)->msg.a, N);
    assert_done(h, 0);
}

static void beside_long_messages_the_usual_way_is_taken(void **unused)
{
    (void)unused;
    fake.answer = WIO_TX_QUEUED;
    struct wio_handle a = isend(LINK, MIDDLE, 1), b = isend(LINK, MIDDLE, 2);
    struct wio_tx *first = fake.sent[0].tx;
    fake.sent[0].tx = NULL;
    first->done(first, 0); /* its next piece waits for the other's first */
    assert_false(wio_list_empty(&u->peer[LINK]->bulk));
    leg[0] = deliver(LINK, N);
    assert_int_equal(exchange(1), 0);
    assert_int_equal(fake.put_calls, 0);
    assert_int_equal(last_sent(WIO_OP_EAGER)->msg.a, N);
    assert_pending(a);
    assert_pending(b);
}

static void without_credit_nothing_is_put(void **unused)
{
    (void)unused;
    struct wio_credit *c = &u->peer[LINK]->credit;
    c->limit = c->used + wio_credit_cost(N, false) - 1;
    leg[0] = deliver(LINK, N);
    assert_int_equal(exchange(1), 0);
    assert_int_equal(count_sent(WIO_OP_EAGER), 0);
    assert_int_equal(u->peer[LINK]->local_pending, 1);
}

static void long_messages_ask_first(void **unused)
{
    (void)unused;
    u->cfg.local_max = 1 << 20; /* or it would wait for its end */
    u->peer[LINK]->eager_max = 1000;
    leg[0] = deliver(LINK, 1001);
    assert_int_equal(exchange(1), 0);
    assert_int_equal(fake.put_calls, 0);
    assert_int_equal(count_sent(WIO_OP_RTS), 1);
    u->peer[LINK]->eager_max = 1 << 20;
    u->cfg.local_max = 1000;
    fake.script = link_dies_the_other_has_it;
    leg[0] = deliver(OTHER, 1001); /* complete only when it is confirmed */
    assert_int_equal(exchange(1), 0);
    assert_in_range(looks, 10, 1000);
    assert_int_equal(fake.put_calls, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(short_messages_need_no_request),
        TEST(a_look_at_everything_does_not_end_at_this_link),
        TEST(what_crosses_the_border_is_counted),
        TEST(what_came_before_needs_none_either),
        TEST(credit_goes_back_and_is_told),
        TEST(the_legs_of_a_round_come_in_any_order),
        TEST(a_message_that_does_not_come_as_a_whole),
        TEST(the_long_message_of_the_next_round_is_not_copied),
        TEST(one_that_is_late_is_waited_for_as_always),
        TEST(a_message_in_pieces),
        TEST(a_sender_that_asks_first),
        TEST(a_sender_that_wants_an_answer_gets_it),
        TEST(one_held_that_wants_an_answer_gets_it_too),
        TEST(a_message_without_room_is_an_error),
        TEST(only_what_is_meant_is_taken),
        TEST(a_receive_posted_before_comes_before),
        TEST(so_does_one_from_anybody),
        TEST(so_does_one_with_any_tag),
        TEST(legs_from_one_peer_are_served_in_their_order),
        TEST(one_that_came_early_is_found_when_it_is_due),
        TEST(a_wait_that_takes_longer_becomes_a_request),
        TEST(among_more_than_processors_it_does_too),
        TEST(a_peer_that_has_a_processor_gets_some_time_before_a_yield),
        TEST(but_not_for_ever),
        TEST(no_answer_is_expected_from_one_that_has_none),
        TEST(nor_is_a_socket_looked_at_so_often),
        TEST(a_program_that_must_not_spin_does_not),
        TEST(where_somebody_computes_nobody_yields_on),
        TEST(without_memory_a_request_is_posted_at_once),
        TEST(tasks_go_on_meanwhile),
        TEST(a_sleeping_event_loop_is_the_service_threads_again),
        TEST(an_event_loop_is_told_before_a_long_wait),
        TEST(the_dump_shows_who_is_expected),
        TEST(a_busy_link_does_not_keep_a_wait_brief),
        TEST(a_peer_that_dies_is_an_error),
        TEST(after_a_failure_the_others_end),
        TEST(a_receive_in_the_tables_is_withdrawn),
        TEST(a_link_may_close_meanwhile),
        TEST(a_peer_never_heard_of_is_dialled),
        TEST(nothing_is_put_on_a_link_that_closes),
        TEST(nor_before_the_first_credit),
        TEST(without_memory_a_round_ends),
        TEST(whoever_finds_no_memory_the_error_says_so),
        TEST(a_link_that_takes_nothing_now_gets_it_later),
        TEST(nothing_overtakes_what_waits_for_credit),
        TEST(beside_long_messages_the_usual_way_is_taken),
        TEST(without_credit_nothing_is_put),
        TEST(long_messages_ask_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
