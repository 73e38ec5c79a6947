/* SPDX-License-Identifier: BSD-3-Clause */
/* The short way of waitio_isend and irecv: receives that stand at their peer, sends that are over
 * when they are made; and that nothing is different about them but their cost. */
#include "p2p_hands.h"

enum { LINK = 1, OTHER = 2, TAG = 5, N = 100 };

static int begin(void **state)
{
    int rc = setup(state);
    u->cfg.spin_us = -1;
    u->attr[WIO_TR_TCP].caps = WIO_CAP_MEMORY;
    fake.puts = fake.whole = fake.direct = true;
    fake_open(LINK, ROOM);
    fake_open(OTHER, ROOM);
    wio_progress(u, WIO_PROGRESS_FULL); /* what opening has left to be done */
    return rc;
}

static int looks; /* rounds of progress */

/* A receive into a place of its own. */
static struct wio_handle at(int64_t from, size_t where, int64_t tag)
{
    struct wio_handle h;
    assert_int_equal(wio_irecv(u, g, from, in + where, N, tag, false, &h), 0);
    return h;
}

static size_t standing(uint32_t peer)
{
    size_t n = 0;
    WIO_LIST_FOR(it, &u->peer[peer]->expected)
    n++;
    return n;
}

static void takes(struct wio_handle h, size_t bytes)
{
    struct wio_result res;
    assert_true(done(&h, &res));
    assert_int_equal(res.err, 0);
    assert_int_equal(res.bytes, bytes);
    assert_int_equal(res.source, LINK);
    assert_int_equal(h.generation, 0);
}

/* ---- receives ---- */

static void a_receive_stands_at_its_peer(void **unused)
{
    (void)unused;
    struct wio_handle h = at(LINK, 0, TAG);
    struct wio_result res;
    assert_int_equal(standing(LINK), 1);
    assert_int_equal(u->match.nposted, 0);
    assert_pending(h);
    assert_int_equal(eager(LINK, 1, TAG, 30, 30), 0);
    assert_memory_equal(in, out, 30);
    assert_int_equal(wio_wait(u, &h, &res), 0);
    assert_int_equal(res.source, LINK);
    assert_int_equal(res.tag, TAG);
    assert_int_equal(res.bytes, 30);
    assert_int_equal(u->ctr.recv_msgs, 1);
    assert_int_equal(u->ctr.unexpected_msgs, 0);
}

static void they_are_served_in_their_order(void **unused)
{
    (void)unused;
    struct wio_handle a = at(LINK, 0, TAG), b = at(LINK, 200, TAG + 1), c = at(LINK, 400, TAG);
    assert_int_equal(standing(LINK), 3);
    (void)eager(LINK, 1, TAG, 10, 10);
    (void)eager(LINK, 2, TAG, 20, 20);
    (void)eager(LINK, 3, TAG + 1, 30, 30);
    takes(a, 10);
    takes(c, 20);
    takes(b, 30);
}

static void a_message_too_long_for_it_is_an_error(void **unused)
{
    (void)unused;
    struct wio_handle h = at(LINK, 0, TAG);
    (void)eager(LINK, 1, TAG, N + 1, N + 1);
    assert_done(h, WAITIO_ERR_TRUNCATE);
}

static void one_in_pieces_and_one_by_request_arrive(void **unused)
{
    (void)unused;
    struct wio_handle a = at(LINK, 0, TAG), b = at(LINK, 200, TAG);
    fake.whole = false;
    (void)eager(LINK, 1, TAG, N, 30);
    assert_pending(a);
    (void)more(LINK, 1, 30, N - 30);
    takes(a, N);
    (void)fake_message(LINK, envelope(WIO_OP_RTS, 2, TAG, N, 77), NULL, 0);
    const struct fake_sent *cts = last_sent(WIO_OP_CTS);
    assert_non_null(cts);
    assert_int_equal(cts->msg.b, 77);
    assert_pending(b);
}

static void wildcards_and_held_messages_keep_their_place(void **unused)
{
    (void)unused;
    (void)eager(LINK, 1, TAG, 10, 10); /* held */
    struct wio_handle a = at(LINK, 0, TAG);
    takes(a, 10);
    struct wio_handle first = at(LINK, 0, TAG), any = at(-1, 200, TAG), last = at(LINK, 400, TAG);
    assert_int_equal(standing(LINK), 1); /* the last one may not pass the wildcard */
    (void)eager(LINK, 2, TAG, 20, 20);
    (void)eager(LINK, 3, TAG, 30, 30);
    (void)eager(LINK, 4, TAG, 40, 40);
    takes(first, 20);
    takes(any, 30);
    takes(last, 40);
}

/* Another one's receive in the tables stands in nobody's way. */
static void the_tables_are_asked_only_about_this_message(void **unused)
{
    (void)unused;
    struct wio_handle any = at(-1, 0, TAG + 1), h = at(LINK, 200, TAG);
    assert_int_equal(standing(LINK), 1);
    (void)eager(LINK, 1, TAG, 10, 10);
    takes(h, 10);
    assert_pending(any);
}

static void many_with_other_tags_move_to_the_tables(void **unused)
{
    (void)unused;
    enum { MANY = 20 };
    struct wio_handle h[MANY], same;
    for (int i = 0; i < MANY; i++)
        h[i] = at(LINK, 0, TAG + i);
    same = at(LINK, 0, TAG + MANY - 1);
    (void)eager(LINK, 1, TAG + MANY - 1, 10, 10); /* behind all others */
    assert_int_equal(standing(LINK), 0);
    takes(h[MANY - 1], 10);
    assert_pending(same);
    for (int i = 0; i < MANY - 1; i++) {
        (void)eager(LINK, (uint32_t)i + 2, TAG + i, 10, 10);
        takes(h[i], 10);
    }
    (void)eager(LINK, MANY + 1, TAG + MANY - 1, 20, 20);
    takes(same, 20);
}

static void it_can_be_cancelled_and_given_up(void **unused)
{
    (void)unused;
    struct wio_result res;
    struct wio_handle a = at(LINK, 0, TAG), b = at(LINK, 200, TAG), c = at(LINK, 400, TAG);
    assert_int_equal(wio_cancel(u, &a), 0);
    assert_true(done(&a, &res));
    assert_true(res.cancelled);
    assert_int_equal(wio_request_free(u, &b), 0); /* its message still belongs to it */
    (void)eager(LINK, 1, TAG, 10, 10);
    assert_memory_equal(in + 200, out, 10);
    assert_int_equal(standing(LINK), 1);
    (void)eager(LINK, 2, TAG, 20, 20);
    takes(c, 20);
}

/* The engine gave it up, its link is not closed yet. */
static void it_does_not_stand_at_a_dead_peer(void **unused)
{
    (void)unused;
    wio_peer_fail(u, u->peer[1], WAITIO_ERR_PEER, false, "the test says so");
    assert_int_equal(u->peer[1]->link, WIO_EP_READY);
    assert_done(irecv(1, 8, 5), WAITIO_ERR_PEER);
}

static void a_peer_failure_ends_it(void **unused)
{
    (void)unused;
    struct wio_handle a = at(LINK, 0, TAG), b = at(OTHER, 200, TAG);
    fake_state(LINK, WIO_EP_CLOSED, WAITIO_ERR_PEER, WIO_BYE_NONE);
    assert_done(a, WAITIO_ERR_PEER);
    assert_pending(b);
    assert_done(at(LINK, 0, TAG), WAITIO_ERR_PEER);
}

static void leaving_and_revoking_end_it(void **unused)
{
    (void)unused;
    struct wio_handle a = at(LINK, 0, TAG);
    g->fragile = true;
    wio_revoke(u, g, WAITIO_ERR_TRUNCATE);
    assert_done(a, WAITIO_ERR_PEER);
    u->nrevoked = 0;
    a = at(LINK, 0, TAG);
    assert_int_equal(standing(LINK), 1);
    wio_recv_end_all(u);
    assert_done(a, WAITIO_ERR_STATE);
}

static void a_persistent_receive_stands_there_in_each_round(void **unused)
{
    (void)unused;
    struct wio_handle h;
    struct wio_result res;
    assert_int_equal(wio_irecv(u, g, LINK, in, N, TAG, true, &h), 0);
    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(wio_start(u, &h), 0);
        assert_int_equal(standing(LINK), 1);
        (void)eager(LINK, i, TAG, 10 * i, 10 * i);
        assert_true(done(&h, &res));
        assert_int_equal(res.bytes, 10 * i);
    }
    assert_int_equal(wio_request_free(u, &h), 0);
}

static void a_long_wait_looks_after_it(void **unused)
{
    (void)unused;
    struct wio_handle h = at(LINK, 0, TAG);
    wio_stuck_check(u, wio_os_now_ns());
    assert_int_equal(standing(LINK), 0);
    assert_int_equal(u->match.nposted, 1);
    (void)eager(LINK, 1, TAG, 10, 10);
    takes(h, 10);
}

/* In the tables it stands before what was posted after it. */
static void its_order_moves_with_it(void **unused)
{
    (void)unused;
    for (int wild = 0; wild < 2; wild++) { /* any source; any tag */
        uint32_t at_first = u->peer[LINK]->recv_envelope;
        struct wio_handle first = at(LINK, 0, TAG), second = at(LINK, 100, TAG),
                          any = at(wild == 0 ? -1 : LINK, 200, wild == 0 ? TAG : -1),
                          last = at(LINK, 400, TAG);
        assert_int_equal(standing(LINK), 2);
        wio_stuck_check(u, wio_os_now_ns());
        assert_int_equal(standing(LINK), 0);
        for (uint32_t i = 1; i <= 4; i++)
            (void)eager(LINK, at_first + i, TAG, 10 * i, 10 * i);
        takes(first, 10);
        takes(second, 20);
        takes(any, 30);
        takes(last, 40);
    }
}

static void two_come(struct fake *f)
{
    (void)f;
    if (looks++ > 0)
        return;
    (void)eager(LINK, 1, TAG, 10, 10);
    (void)eager(OTHER, 1, TAG, 30, 30);
    if (fake.direct)
        assert_int_equal(eager(LINK, 2, TAG, 20, 20), 1);
}

/* A look at everything in the middle of a stream: what the wait was for has come, so the rest of
 * that link is left to the receives that follow; other links are read. */
static void what_comes_behind_the_awaited_one_stays_unread(void **unused)
{
    (void)unused;
    struct wio_handle h = at(LINK, 0, TAG);
    struct wio_result res;
    u->polls = UINT32_MAX; /* the next look is one at everything */
    looks = 0;
    fake.script = two_come;
    assert_int_equal(wio_wait(u, &h, &res), 0);
    assert_int_equal(res.bytes, 10);
    assert_int_equal(fake.later, fake.direct);
    assert_int_equal(u->match.nheld, 1);
    assert_null(u->landed_from);
    assert_null(u->brief);
    assert_int_equal(eager(LINK, 2, TAG, 20, 20), 0); /* without a wait it is held as ever */
    assert_int_equal(u->match.nheld, 2);
}

static void the_dump_shows_it(void **unused)
{
    (void)unused;
    struct wio_strbuf sb = {0};
    struct wio_handle h = at(LINK, 0, TAG);
    wio_universe_dump(u, &sb);
    assert_non_null(strstr(sb.text, "receive, tag 5, 100 bytes: no matching message"));
    wio_strbuf_free(&sb);
    assert_int_equal(wio_cancel(u, &h), 0);
}

/* ---- sends ---- */

static struct wio_handle sent(void)
{
    int calls = fake.put_calls;
    struct wio_handle h = isend(LINK, N, TAG);
    assert_int_equal(fake.put_calls, calls + 1);
    assert_int_equal(h.index, WIO_SENT);
    return h;
}

static void is_result_of_send(const struct wio_result *res)
{
    assert_int_equal(res->err, 0);
    assert_int_equal(res->source, LINK);
    assert_int_equal(res->tag, TAG);
    assert_int_equal(res->bytes, N);
    assert_false(res->cancelled);
}

static void is_null(const struct wio_handle *h)
{
    assert_int_equal(h->index | h->generation | h->serial, 0);
}

static void a_send_is_over_when_it_is_made(void **unused)
{
    (void)unused;
    struct wio_result res;
    bool flag = false;
    struct wio_handle h = sent();
    assert_int_equal(u->nslabs, 0); /* no request was made */
    assert_int_equal(wio_wait(u, &h, &res), 0);
    is_result_of_send(&res);
    is_null(&h);
    h = sent();
    assert_int_equal(wio_test(u, &h, &flag, &res), 0);
    assert_true(flag);
    is_result_of_send(&res);
    is_null(&h);
    h = sent();
    assert_int_equal(wio_wait_for(u, &h, 0, &flag, &res), 0);
    assert_true(flag);
    is_result_of_send(&res);
    is_null(&h);
    assert_int_equal(u->ctr.send_msgs, 3);
    assert_int_equal(u->peer[LINK]->send_envelope, 3);
}

static void it_can_be_looked_at_and_waited_for_among_others(void **unused)
{
    (void)unused;
    struct wio_result res;
    bool flag = false;
    int which = -1, next = 0;
    struct wio_handle h[2] = {at(OTHER, 0, TAG), sent()};
    assert_int_equal(wio_peek(u, &h[1], true, &flag), 0);
    assert_true(flag);
    flag = false;
    assert_int_equal(wio_look(u, &h[1], &flag, &res), 0);
    assert_true(flag);
    is_result_of_send(&res);
    assert_false(wio_inactive(u, &h[1]));
    assert_int_equal(wio_wait_any(u, h, sizeof h[0], 2, &which), 0);
    assert_int_equal(which, 1);
    (void)eager(OTHER, 1, TAG, 10, 10);
    assert_int_equal(wio_wait_all(u, h, sizeof h[0], 2, &next), 0);
    assert_int_equal(next, 2);
    is_null(&h[0]);
    is_null(&h[1]);
}

static void it_cannot_be_started_but_given_up(void **unused)
{
    (void)unused;
    struct wio_handle h = sent();
    assert_int_equal(wio_start(u, &h), WAITIO_ERR_REQUEST);
    assert_int_equal(wio_cancel(u, &h), 0); /* it has arrived, or will */
    assert_int_equal(wio_request_free(u, &h), 0);
    is_null(&h);
}

static void one_of_another_universe_is_foreign(void **unused)
{
    (void)unused;
    struct wio_result res;
    struct wio_handle h = sent();
    h.serial++;
    assert_int_equal(wio_wait(u, &h, &res), WAITIO_ERR_REQUEST);
    assert_int_equal(wio_request_free(u, &h), WAITIO_ERR_REQUEST);
}

/* Each of these takes the usual way, which makes a request. */
static void what_is_unusual_takes_the_usual_way(void **unused)
{
    (void)unused;
    struct wio_handle h;
    assert_int_equal(wio_issend(u, g, LINK, out, N, TAG, false, &h), 0);
    assert_int_not_equal(h.index, WIO_SENT);
    fake.puts = false; /* no room */
    h = isend(LINK, N, TAG);
    assert_int_not_equal(h.index, WIO_SENT);
    fake.puts = true;
    int calls = fake.put_calls;
    h = isend(LINK, (size_t)u->cfg.local_max + 1, TAG);
    assert_int_not_equal(h.index, WIO_SENT);
    h = isend(3, N, TAG); /* no link */
    assert_int_not_equal(h.index, WIO_SENT);
    g->fragile = true;
    wio_revoke(u, g, WAITIO_ERR_TRUNCATE);
    assert_done(isend(LINK, N, TAG), WAITIO_ERR_PEER);
    assert_int_equal(fake.put_calls, calls);
}

static void none_passes_one_that_waits(void **unused)
{
    (void)unused;
    fake_open(3, 2 * wio_credit_cost(N, false)); /* credit for two */
    int calls = fake.put_calls;
    struct wio_handle h[4];
    for (int i = 0; i < 4; i++)
        h[i] = isend(3, N, TAG);
    assert_int_equal(h[1].index, WIO_SENT);
    assert_int_not_equal(h[2].index, WIO_SENT);
    assert_int_not_equal(h[3].index, WIO_SENT);
    assert_int_equal(fake.put_calls, calls + 2);
}

/* The same when the transport offers header and payload one after the other. */
static int begin_in_steps(void **state)
{
    int rc = begin(state);
    fake.direct = false;
    return rc;
}

#define T(f)                                                                                       \
    cmocka_unit_test_setup_teardown(f, begin, teardown),                                           \
        cmocka_unit_test_setup_teardown(f, begin_in_steps, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_receive_stands_at_its_peer),
        T(they_are_served_in_their_order),
        T(a_message_too_long_for_it_is_an_error),
        T(one_in_pieces_and_one_by_request_arrive),
        T(wildcards_and_held_messages_keep_their_place),
        T(the_tables_are_asked_only_about_this_message),
        T(many_with_other_tags_move_to_the_tables),
        T(it_can_be_cancelled_and_given_up),
        T(a_peer_failure_ends_it),
        T(it_does_not_stand_at_a_dead_peer),
        T(leaving_and_revoking_end_it),
        T(a_persistent_receive_stands_there_in_each_round),
        T(a_long_wait_looks_after_it),
        T(its_order_moves_with_it),
        T(what_comes_behind_the_awaited_one_stays_unread),
        T(the_dump_shows_it),
        T(a_send_is_over_when_it_is_made),
        T(it_can_be_looked_at_and_waited_for_among_others),
        T(it_cannot_be_started_but_given_up),
        T(one_of_another_universe_is_foreign),
        T(what_is_unusual_takes_the_usual_way),
        T(none_passes_one_that_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
