/* SPDX-License-Identifier: BSD-3-Clause */
/* Credit: what bounds the messages that nobody has asked for yet, and who is told what of it. */
#include "p2p_hands.h"

/* A receiver short of memory grants a window smaller than a short message costs. */
static void a_short_message_larger_than_the_window_asks(void **unused)
{
    (void)unused;
    fake_open(1, 16);
    struct wio_handle h = isend(1, 2000, 5);
    assert_int_equal(count_sent(WIO_OP_RTS), 1);
    uint64_t id = last_sent(WIO_OP_RTS)->msg.b;
    assert_int_equal(control(1, WIO_OP_CTS, 3, 2000, id), 0);
    assert_int_equal(count_sent(WIO_OP_DATA), 1);
    assert_int_equal(control(1, WIO_OP_DONE, 0, 2000, id), 0);
    assert_done(h, 0);
    assert_int_equal(u->ctr.pool_bytes, 0);
    assert_int_equal(u->peer[1]->local_pending, 0);
    assert_false(fake.ep[1]->watched);
}

static void without_credit_a_short_send_waits_for_it(void **unused)
{
    (void)unused;
    fake_open(1, 200);
    isend(1, 4000, 1);
    isend(1, 4000, 2);
    isend(1, 4000, 3);
    isend(1, 4000, 4); /* 65 units each */
    assert_int_equal(count_sent(WIO_OP_EAGER), 3);
    assert_int_equal(count_sent(WIO_OP_RTS), 0);
    fake.credit[1] += 65;
    assert_int_equal(control(1, WIO_OP_CREDIT, 0, 0, 0), 0);
    assert_int_equal(count_sent(WIO_OP_EAGER), 4);
}

static void who_exceeds_the_credit_is_cut_off(void **unused)
{
    (void)unused;
    u->credit_left = 8 * 16;
    fake_open(1, ROOM);
    for (uint32_t i = 1; i <= 8; i++) /* an eighth of the budget: 16 units, two each */
        assert_int_equal(eager(1, i, 1, 16, 16), 0);
    assert_int_equal(eager(1, 9, 1, 16, 16), WAITIO_ERR_PROTOCOL);
    assert_int_equal(fake_message(1, envelope(WIO_OP_EAGER, 9, 1, UINT64_C(1) << 40, 0), out, 16),
                     WAITIO_ERR_PROTOCOL);
}

static void all_credit_comes_back_however_links_end(void **unused)
{
    (void)unused;
    u->credit_left = 1000;
    for (int round = 0; round < 3; round++) {
        fake_open(1, ROOM);
        u->peer[1]->recv_envelope = 0;
        assert_int_equal(eager(1, 1, 1, 1000, 1000), 0);
        assert_int_equal(eager(1, 2, 2, 500, 500), 0);
        fake_state(1, WIO_EP_CLOSED, 0, WIO_BYE_CAP);
        assert_done(irecv(1, 1000, 1), 0);
        assert_done(irecv(1, 1000, 2), 0);
        assert_int_equal(u->credit_left, 1000);
    }
    fake_open(2, ROOM); /* early, half arrived and asked ones die with their peer */
    assert_int_equal(eager(2, 3, 1, 1000, 1000), 0);
    assert_int_equal(eager(2, 1, 1, 1000, 500), 0);
    assert_int_equal(fake_message(2, envelope(WIO_OP_RTS, 2, 1, BIG, 9), NULL, 0), 0);
    fake_state(2, WIO_EP_CLOSED, WAITIO_ERR_PEER, WIO_BYE_NONE);
    assert_done(irecv(2, 1000, 1), 0); /* number 3 was complete, but behind number 1? no: freed */
}

static void the_budget_does_not_grow_by_links_past_it(void **unused)
{
    (void)unused;
    u->credit_left = 0;
    for (int round = 0; round < 5; round++) {
        fake_open(1, ROOM); /* the floor is promised all the same */
        u->peer[1]->recv_envelope = 0;
        assert_int_equal(eager(1, 1, 1, 500, 500), 0);
        fake_state(1, WIO_EP_CLOSED, 0, WIO_BYE_CAP);
        assert_done(irecv(1, 1000, 1), 0);
        assert_int_equal(u->credit_left, 0);
        assert_int_equal(u->credit_debt, 0);
    }
}

static void a_second_ready_does_not_open_a_second_account(void **unused)
{
    (void)unused;
    u->credit_left = 8000;
    fake_open(1, ROOM);
    uint64_t left = u->credit_left;
    isend(1, 100, 1);
    fake_state(1, WIO_EP_READY, 0, WIO_BYE_NONE);
    assert_int_equal(u->credit_left, left);
    assert_true(u->peer[1]->credit.used > 0);
}

/* The rest of a window must not be kept back from a sender that has hardly any left. */
static void a_sender_near_the_end_of_its_credit_is_told(void **unused)
{
    (void)unused;
    u->credit_left = 8 * 1600;
    fake_open(1, ROOM);
    for (uint32_t i = 1; i <= 99; i++) /* 16 units each, 1600 granted */
        assert_int_equal(eager(1, i, (int)i, 900, 900), 0);
    int told = count_sent(WIO_OP_CREDIT);
    for (int i = 1; i <= 20; i++) /* a fifth is received, the rest is for later */
        assert_done(irecv(1, 1000, i), 0);
    assert_true(count_sent(WIO_OP_CREDIT) > told);
}

/* A short message rather waits than asks, but says so; told that nothing will come, it asks. */
static void a_short_send_without_credit_asks_in_the_end(void **unused)
{
    (void)unused;
    fake_open(1, 40);
    fake.credit[1] = 40;
    (void)isend(1, 2000, 0); /* 33 units */
    (void)isend(1, 500, 1);  /* 10 */
    (void)isend(1, 500, 2);
    assert_int_equal(count_sent(WIO_OP_EAGER), 1);
    assert_int_equal(count_sent(WIO_OP_RTS), 0);
    assert_int_equal(count_sent(WIO_OP_CREDIT), 1); /* once, not for each */
    assert_int_equal(last_sent(WIO_OP_CREDIT)->msg.a, 1);
    assert_int_equal(last_sent(WIO_OP_CREDIT)->msg.b, 40);
    assert_int_equal(control(1, WIO_OP_CREDIT, 0, 2, 0), 0);
    assert_int_equal(count_sent(WIO_OP_RTS), 2);
    fake.credit[1] = 60; /* a grant ends it */
    assert_int_equal(control(1, WIO_OP_CREDIT, 0, 0, 0), 0);
    (void)isend(1, 500, 3);
    (void)isend(1, 500, 4);
    assert_int_equal(count_sent(WIO_OP_EAGER), 3);
    assert_int_equal(count_sent(WIO_OP_CREDIT), 1);
    (void)isend(1, 500, 5);
    assert_int_equal(count_sent(WIO_OP_EAGER), 3);
    assert_int_equal(count_sent(WIO_OP_RTS), 2);
    assert_int_equal(count_sent(WIO_OP_CREDIT), 2); /* and it starts anew */
}

/* A window that is held in full grows while the budget lasts; then whatever comes back is told at
 * once: the peer may wait to send what we wait for. */
static void a_sender_out_of_credit_gets_what_there_is(void **unused)
{
    (void)unused;
    struct wio_credit *c;
    uint32_t number = 0;
    u->credit_left = 8 * 200;
    fake_open(1, ROOM);
    c = &u->peer[1]->credit;
    for (int round = 0; round < 40 && u->credit_left >= 8 * 16; round++) {
        while (c->granted - c->taken >= 10) {
            number++;
            assert_int_equal(eager(1, number, (int)number, 500, 500), 0);
        }
        uint32_t before = c->granted;
        int told = count_sent(WIO_OP_CREDIT);
        assert_int_equal(control(1, WIO_OP_CREDIT, 0, 1, before - 1), 0);
        assert_int_equal(count_sent(WIO_OP_CREDIT), told); /* it has not heard of all yet */
        assert_int_equal(control(1, WIO_OP_CREDIT, 0, 1, before), 0);
        assert_true(c->granted > before);
        assert_int_equal(last_sent(WIO_OP_CREDIT)->msg.credit, c->granted);
    }
    assert_true(u->credit_left < 8 * 16); /* ... and no further */
    while (c->granted - c->taken >= 10) {
        number++;
        assert_int_equal(eager(1, number, (int)number, 500, 500), 0);
    }
    uint32_t before = c->granted;
    assert_int_equal(control(1, WIO_OP_CREDIT, 0, 1, before), 0);
    assert_int_equal(c->granted, before);
    assert_int_equal(last_sent(WIO_OP_CREDIT)->msg.a, 2);
    int told = count_sent(WIO_OP_CREDIT);
    assert_done(irecv(1, 500, 1), 0);
    assert_int_equal(count_sent(WIO_OP_CREDIT), told + 1);
    assert_int_equal(last_sent(WIO_OP_CREDIT)->msg.credit, before + 10);
    assert_done(irecv(1, 500, 2), 0); /* nobody waits any more: the usual thrift */
    assert_int_equal(count_sent(WIO_OP_CREDIT), told + 1);
    fake_state(1, WIO_EP_CLOSED, 0, WIO_BYE_CAP);
    for (int i = 3; i <= (int)number; i++)
        assert_done(irecv(1, 500, i), 0);
    assert_int_equal(u->credit_left, 8 * 200);
}

enum { PEERS_MAX = 100000 };

/* Units of the first windows of links that are opened one after the other. @return what is left */
static uint64_t first_windows(uint64_t budget, uint32_t peers, uint64_t *least, uint64_t *most)
{
    uint64_t left = budget;
    *least = UINT64_MAX;
    *most = 0;
    for (uint32_t i = 0; i < peers; i++) {
        uint64_t share = wio_credit_first(left, budget, peers);
        *least = share < *least ? share : *least;
        *most = share > *most ? share : *most;
        left -= share < left ? share : left;
    }
    return left;
}

/* Guard: where each takes an eighth of what is left, the seventieth has no room for one message of
 * 4 KiB, and an alltoall goes by questions and answers. */
static void many_peers_get_the_same_window(void **unused)
{
    (void)unused;
    const uint64_t mib = (1 << 20) / 64, budget = 256 * mib;
    uint64_t least, most;
    assert_int_equal(wio_credit_first(budget, budget, 1), 32 * mib);
    assert_int_equal(wio_credit_first(budget, budget, 3), 32 * mib);
    assert_true(first_windows(budget, 127, &least, &most) >= budget / 2);
    assert_true(least == most && most > mib);
    assert_true(first_windows(budget, 600, &least, &most) >= budget / 4);
    assert_true(least == most && most == mib / 4);
    (void)first_windows(budget, PEERS_MAX, &least, &most);
    assert_true(most == mib / 4 && least == 16); /* those that are met first have enough */
    assert_int_equal(wio_credit_first(0, budget, 1), 16);
    assert_int_equal(wio_credit_first(budget, budget, 0), 32 * mib);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_short_message_larger_than_the_window_asks),
        T(without_credit_a_short_send_waits_for_it),
        T(who_exceeds_the_credit_is_cut_off),
        T(all_credit_comes_back_however_links_end),
        T(the_budget_does_not_grow_by_links_past_it),
        T(a_second_ready_does_not_open_a_second_account),
        T(a_sender_near_the_end_of_its_credit_is_told),
        T(a_short_send_without_credit_asks_in_the_end),
        T(a_sender_out_of_credit_gets_what_there_is),
        T(many_peers_get_the_same_window),
    };
    return cmocka_run_group_tests_name("p2p_credit", tests, NULL, NULL);
}
