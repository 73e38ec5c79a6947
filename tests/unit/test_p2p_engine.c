/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine over a scripted transport: every message and state in every order a peer, or an enemy
 * who knows the secret, can make. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "p2p_hands.h"
#include "patience.h"

/* ---- sends ---- */

static void a_small_send_is_over_when_written(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    assert_done(isend(1, 100, 5), 0);
    const struct fake_sent *s = last_sent(WIO_OP_EAGER);
    assert_non_null(s);
    assert_int_equal(s->msg.envelope, 1);
    assert_int_equal(s->msg.tag, 5);
    assert_int_equal(s->msg.a, 100);
    assert_int_equal(s->msg.b, 0); /* no DONE wanted */
    assert_true(s->sum == fake_sum(out, 100));
}

static void a_small_send_completes_before_the_link_exists(void **unused)
{
    (void)unused;
    assert_done(isend(1, 1000, 5), 0);
    assert_int_equal(fake.dials[1], 1);
    assert_int_equal(u->ctr.pool_bytes, 1000);
    uint64_t sum = fake_sum(out, 1000);
    memset(out, 0, 1000); /* the user's buffer is free again */
    fake_open(1, ROOM);
    assert_int_equal(u->ctr.pool_bytes, 0); /* the grant let it go */
    (void)sum;
}

static void a_queued_small_send_goes_on_from_the_copy(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    fake.answer = WIO_TX_QUEUED;
    assert_done(isend(1, 1000, 5), 0);
    assert_true(fake.ep[1]->watched);
    const struct wio_tx *tx = fake.sent[0].tx;
    assert_true(tx->payload != out);
    assert_memory_equal(tx->payload, out, 1000);
    assert_int_equal(fake_done(1, 0), 1);
    assert_int_equal(u->ctr.pool_bytes, 0);
    assert_false(fake.ep[1]->watched);
}

static void a_middle_send_goes_in_pieces_and_waits_for_done(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    struct wio_handle h = isend(1, MIDDLE, 5);
    assert_int_equal(count_sent(WIO_OP_EAGER), 1);
    assert_int_equal(count_sent(WIO_OP_MORE), 2);
    assert_pending(h);
    assert_int_equal(control(1, WIO_OP_DONE, 0, MIDDLE, last_sent(WIO_OP_EAGER)->msg.b), 0);
    assert_done(h, 0);
}

static void a_big_send_asks_first(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    struct wio_handle h = isend(1, BIG, 5);
    const struct fake_sent *rts = last_sent(WIO_OP_RTS);
    assert_non_null(rts);
    uint64_t id = rts->msg.b;
    assert_int_equal(control(1, WIO_OP_CTS, 77, BIG, id), 0);
    assert_int_equal(count_sent(WIO_OP_DATA), BIG / (256 << 10));
    assert_int_equal(last_sent(WIO_OP_DATA)->msg.space, 77);
    assert_pending(h);
    assert_int_equal(control(1, WIO_OP_DONE, 0, BIG, id), 0);
    assert_done(h, 0);
    assert_int_equal(control(1, WIO_OP_DONE, 0, BIG, id), WAITIO_ERR_PROTOCOL); /* it is over */
}

/* The peer's answer may be read before the transport says that the question has left. */
static void an_answer_may_overtake_the_word_that_the_rts_left(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    fake.answer = WIO_TX_QUEUED;
    struct wio_handle h = isend(1, BIG, 5);
    uint64_t id = last_sent(WIO_OP_RTS)->msg.b;
    assert_int_equal(control(1, WIO_OP_CTS, 77, BIG, id), 0);
    assert_null(last_sent(WIO_OP_DATA)); /* the transport still holds the one tx of the request */
    for (int i = 0; i < 20; i++)
        fake_done(1, 0);
    assert_int_equal(count_sent(WIO_OP_DATA), BIG / (256 << 10));
    assert_int_equal(control(1, WIO_OP_DONE, 0, BIG, id), 0);
    assert_done(h, 0);
}

static void a_grant_of_nothing_ends_the_send(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    fake.answer = WIO_TX_QUEUED;
    struct wio_handle h = isend(1, BIG, 5);
    uint64_t id = last_sent(WIO_OP_RTS)->msg.b;
    assert_int_equal(control(1, WIO_OP_CTS, 77, 0, id), 0);
    assert_pending(h);
    fake_done(1, 0);
    assert_done(h, 0);
}

static void sends_keep_their_order_through_a_closed_link(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    isend(1, 10, 1);
    fake_state(1, WIO_EP_CLOSING, 0, WIO_BYE_CAP);
    isend(1, 20, 2);
    isend(1, 30, 3);
    assert_int_equal(count_sent(WIO_OP_EAGER), 1);
    fake_state(1, WIO_EP_CLOSED, 0, WIO_BYE_CAP);
    int dials = fake.dials[1];
    wio_progress(u, WIO_PROGRESS_FULL);
    assert_int_equal(fake.dials[1], dials + 1);
    fake_open(1, ROOM); /* forgets what was sent, delivers the grant */
    assert_int_equal(u->ctr.pool_bytes, 0);
    isend(1, 40, 4);
    assert_int_equal(last_sent(WIO_OP_EAGER)->msg.envelope, 4);
}

static void half_a_message_goes_on_over_a_new_link(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    fake.answer = WIO_TX_QUEUED;
    struct wio_handle h = isend(1, MIDDLE, 5);
    uint64_t id = last_sent(WIO_OP_EAGER)->msg.b;
    fake.ep[1]->ep.state = WIO_EP_CLOSING; /* the peer's goodbye: what is queued still goes */
    fake_done(1, 0);
    fake_state(1, WIO_EP_CLOSED, 0, WIO_BYE_CAP);
    fake.answer = WIO_TX_DONE;
    wio_progress(u, WIO_PROGRESS_FULL);
    fake_state(1, WIO_EP_READY, 0, WIO_BYE_NONE);
    wio_progress(u, WIO_PROGRESS_FULL);
    assert_int_equal(count_sent(WIO_OP_MORE), 2);
    assert_int_equal(last_sent(WIO_OP_MORE)->msg.a, 512 << 10);
    assert_int_equal(control(1, WIO_OP_DONE, 0, MIDDLE, id), 0);
    assert_done(h, 0);
}

static void a_refused_dial_names_its_own_error(void **unused)
{
    (void)unused;
    fake.connect_rc = WAITIO_ERR_LIMIT;
    struct wio_handle h = isend(1, 10, 5);
    struct wio_result res;
    assert_true(done(&h, &res));
    assert_int_equal(res.err, WAITIO_ERR_LIMIT);
    assert_int_equal(wio_last_code(), WAITIO_ERR_LIMIT);
    assert_non_null(strstr(wio_last_error(), "the test refuses the dial"));
}

static void peer_death_fails_sends_in_every_state(void **unused)
{
    (void)unused;
    struct wio_handle queued = isend(2, BIG, 1); /* no link yet */
    fake_open(1, ROOM);
    struct wio_handle asked = isend(1, BIG, 1), moving = isend(1, BIG, 2),
                      ack = isend(1, MIDDLE, 3);
    fake.answer = WIO_TX_QUEUED;
    uint64_t id = fake.sent[1].msg.b;
    assert_int_equal(control(1, WIO_OP_CTS, 9, BIG, id), 0); /* a piece is with the transport now */
    fake_state(1, WIO_EP_CLOSED, WAITIO_ERR_PEER, WIO_BYE_NONE);
    fake_state(2, WIO_EP_CLOSED, WAITIO_ERR_PEER, WIO_BYE_NONE);
    assert_done(queued, WAITIO_ERR_PEER);
    assert_done(asked, WAITIO_ERR_PEER);
    assert_done(moving, WAITIO_ERR_PEER);
    assert_done(ack, WAITIO_ERR_PEER);
    assert_done(isend(1, 10, 5), WAITIO_ERR_PEER); /* and later ones */
    assert_done(irecv(1, 10, 5), WAITIO_ERR_PEER);
}

/* ---- receives ---- */

static void a_posted_receive_takes_pieces_as_they_come(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    struct wio_handle h = irecv(1, BIG, WIO_ANY);
    struct wio_msg m = envelope(WIO_OP_EAGER, 1, 5, MIDDLE, 42);
    assert_int_equal(fake_message(1, m, out, 256 << 10), 0);
    assert_pending(h);
    assert_int_equal(more(1, 1, 256 << 10, 256 << 10), 0);
    assert_int_equal(more(1, 1, 512 << 10, MIDDLE - (512 << 10)), 0);
    struct wio_result res;
    assert_true(done(&h, &res));
    assert_int_equal(res.bytes, MIDDLE);
    assert_int_equal(res.tag, 5);
    assert_same(MIDDLE);
    assert_int_equal(last_sent(WIO_OP_DONE)->msg.b, 42);
}

static void a_receive_may_come_in_the_middle_of_its_message(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    assert_int_equal(eager(1, 1, 5, MIDDLE, 256 << 10), 0);
    struct wio_msg m = {.op = WIO_OP_MORE, .a = 256 << 10, .b = 1};
    assert_int_equal(fake_header(1, &m, 256 << 10), 0);
    struct wio_handle h = irecv(1, MIDDLE, 5); /* while this piece is on its way */
    assert_int_equal(fake_payload(1, out + (256 << 10)), 0);
    assert_pending(h);
    assert_int_equal(more(1, 1, 512 << 10, MIDDLE - (512 << 10)), 0);
    assert_done(h, 0);
    assert_same(MIDDLE);
}

static void a_longer_message_is_truncated_and_says_so(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    struct wio_handle h = irecv(1, 300 << 10, 5), h2;
    assert_int_equal(eager(1, 1, 5, MIDDLE, 256 << 10), 0);
    assert_int_equal(more(1, 1, 256 << 10, 256 << 10), 0);
    assert_int_equal(more(1, 1, 512 << 10, MIDDLE - (512 << 10)), 0);
    assert_done(h, WAITIO_ERR_TRUNCATE);
    assert_same(300 << 10);
    assert_int_equal(in[300 << 10], 0);
    h2 = irecv(1, 100, 6);
    assert_int_equal(fake_message(1, envelope(WIO_OP_RTS, 2, 6, BIG, 9), NULL, 0), 0);
    uint64_t id = last_sent(WIO_OP_CTS)->msg.space;
    assert_int_equal(last_sent(WIO_OP_CTS)->msg.a, 100);
    struct wio_msg d = {.op = WIO_OP_DATA, .space = id};
    assert_int_equal(fake_message(1, d, out, 101), WAITIO_ERR_PROTOCOL);
    assert_int_equal(fake_message(1, d, out, 100), 0);
    assert_done(h2, WAITIO_ERR_TRUNCATE);
}

static void an_early_envelope_waits_for_one_that_meets_its_receive(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    struct wio_handle first = irecv(1, 100, 5), second = irecv(1, 100, 5);
    struct wio_result res;
    assert_int_equal(eager(1, 2, 5, 60, 60), 0);
    assert_pending(first);
    assert_int_equal(eager(1, 1, 5, 50, 50), 0);
    assert_true(done(&first, &res));
    assert_int_equal(res.bytes, 50);
    assert_true(done(&second, &res));
    assert_int_equal(res.bytes, 60);
    assert_int_equal(eager(1, 3, 5, 70, 70), 0); /* nothing is stuck behind */
    assert_done(irecv(1, 100, 5), 0);
}

static void early_envelopes_of_every_kind_come_in_order(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    assert_int_equal(fake_message(1, envelope(WIO_OP_RTS, 3, 7, BIG, 9), NULL, 0), 0);
    assert_int_equal(eager(1, 2, 6, MIDDLE, 256 << 10), 0);
    assert_int_equal(more(1, 2, 256 << 10, 256 << 10), 0);
    struct wio_handle two = irecv(1, MIDDLE, 6), three = irecv(1, 0, 7);
    assert_int_equal(eager(1, 1, 5, 10, 10), 0);
    assert_done(three, WAITIO_ERR_TRUNCATE);
    assert_pending(two);
    assert_int_equal(more(1, 2, 512 << 10, MIDDLE - (512 << 10)), 0);
    assert_done(two, 0);
    assert_same(MIDDLE);
    assert_int_equal(eager(1, 2, 5, 10, 10), WAITIO_ERR_PROTOCOL); /* was there already */
}

static void envelope_numbers_wrap_without_zero(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    u->peer[1]->recv_envelope = u->peer[1]->send_envelope = UINT32_MAX - 1;
    assert_int_equal(eager(1, 1, 5, 20, 20), 0); /* early */
    assert_int_equal(eager(1, UINT32_MAX, 5, 10, 10), 0);
    struct wio_handle h = irecv(1, 100, 5);
    struct wio_result res;
    assert_true(done(&h, &res));
    assert_int_equal(res.bytes, 10);
    assert_done(irecv(1, 100, 5), 0);
    isend(1, 1, 1);
    assert_int_equal(last_sent(WIO_OP_EAGER)->msg.envelope, UINT32_MAX);
    isend(1, 1, 1);
    assert_int_equal(last_sent(WIO_OP_EAGER)->msg.envelope, 1);
}

/* A slot remembers nothing of its former life: here a send with the number of the message to come.
 */
static void pieces_find_their_own_receive(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    fake_open(2, ROOM);
    u->peer[2]->send_envelope = 1;
    assert_done(isend(2, 10, 1), 0);          /* envelope 2, to somebody else */
    struct wio_handle big = irecv(1, BIG, 6); /* lives in the slot of that send */
    assert_int_equal(fake_message(1, envelope(WIO_OP_RTS, 1, 6, BIG, 9), NULL, 0), 0);
    struct wio_handle h = irecv(1, MIDDLE, 5);
    assert_int_equal(eager(1, 2, 5, MIDDLE, 256 << 10), 0);
    assert_int_equal(more(1, 2, 256 << 10, 256 << 10), 0);
    assert_int_equal(more(1, 2, 512 << 10, MIDDLE - (512 << 10)), 0);
    assert_done(h, 0);
    assert_pending(big);
}

static void a_large_stranger_waits_while_its_reader_returns(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    u->stop_now = true;
    assert_int_equal(eager(1, 1, 5, 100000, 100000), 1);
    assert_int_equal(u->match.nheld, 0);
    assert_int_equal(u->peer[1]->recv_envelope, 0);
    u->stop_now = false;
    struct wio_handle h = irecv(1, 100000, 5);
    assert_int_equal(eager(1, 1, 5, 100000, 100000), 0);
    assert_done(h, 0);
    assert_same(100000);
}

static void peer_death_in_the_middle_of_an_arrival(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    assert_int_equal(eager(1, 1, 1, MIDDLE, 256 << 10), 0); /* held, incomplete */
    assert_int_equal(eager(1, 2, 2, MIDDLE, 256 << 10), 0);
    struct wio_handle joined = irecv(1, MIDDLE, 2); /* held and matched, incomplete */
    struct wio_handle direct = irecv(1, MIDDLE, 3), posted = irecv(1, 10, 4);
    assert_int_equal(eager(1, 3, 3, MIDDLE, 256 << 10), 0);
    assert_int_equal(eager(1, 4, 9, 100, 100), 0); /* held, complete: stays receivable */
    assert_int_equal(eager(1, 6, 9, 100, 100), 0); /* early */
    struct wio_msg m = {.op = WIO_OP_MORE, .a = 256 << 10, .b = 1};
    assert_int_equal(fake_header(1, &m, 256 << 10), 0);
    fake_state(1, WIO_EP_CLOSED, WAITIO_ERR_PEER, WIO_BYE_NONE);
    assert_done(joined, WAITIO_ERR_PEER);
    assert_done(direct, WAITIO_ERR_PEER);
    assert_done(posted, WAITIO_ERR_PEER);
    assert_done(irecv(1, 100, 9), 0);
    assert_done(irecv(1, 100, 9), WAITIO_ERR_PEER);
    assert_int_equal(u->match.nheld, 0);
    assert_int_equal(u->ctr.unexpected_bytes, 0);
}

static void any_source_fails_when_nobody_is_left(void **unused)
{
    (void)unused;
    struct wio_handle h = irecv(WIO_ANY, 100, 5);
    for (uint32_t i = 1; i < FAKE_PEERS; i++) {
        assert_pending(h);
        fake_open(i, ROOM);
        fake_state(i, WIO_EP_CLOSED, i == 2 ? 0 : WAITIO_ERR_PEER,
                   i == 2 ? WIO_BYE_FINALIZE : WIO_BYE_NONE);
    }
    assert_done(h, WAITIO_ERR_PEER);
    assert_done(irecv(WIO_ANY, 100, 5), WAITIO_ERR_PEER);
}

/* The far side of an intercommunicator may be one process, and another one than this. */
static void a_group_of_one_other_process_ends_with_it(void **unused)
{
    (void)unused;
    struct waitio_group *other = NULL;
    struct wio_handle h;
    assert_int_equal(wio_group_from_range(u->table, 1, 2, 1, &other), 0);
    wio_group_register(u, other);
    fake_open(2, ROOM);
    assert_int_equal(wio_irecv(u, other, -1, in, 10, 5, false, &h), 0);
    assert_pending(h);
    fake_state(2, WIO_EP_CLOSED, WAITIO_ERR_PEER, WIO_BYE_NONE);
    assert_done(h, WAITIO_ERR_PEER);
}

static void a_message_to_oneself_is_waited_for(void **unused)
{
    (void)unused;
    fake_open(0, ROOM);
    struct wio_handle sent = isend(0, 100, 5);
    for (uint32_t i = 1; i < FAKE_PEERS; i++) {
        fake_open(i, ROOM);
        fake_state(i, WIO_EP_CLOSED, 0, WIO_BYE_FINALIZE);
    }
    struct wio_handle h = irecv(WIO_ANY, 100, 5);
    assert_pending(h);
    assert_int_equal(fake_message(0, envelope(WIO_OP_EAGER, 1, 5, 100, 0), out, 100), 0);
    assert_done(h, 0);
    assert_done(sent, 0);
    assert_done(irecv(WIO_ANY, 100, 5), WAITIO_ERR_PEER);
}

static void nothing_is_said_to_the_dead(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    assert_int_equal(fake_message(1, envelope(WIO_OP_EAGER, 1, 5, 100, 33), out, 100), 0);
    fake_state(1, WIO_EP_CLOSED, WAITIO_ERR_PEER, WIO_BYE_NONE);
    assert_done(irecv(1, 100, 5), 0); /* would be confirmed */
    assert_true(wio_list_empty(&u->peer[1]->ctlq));
    assert_int_equal(u->ctl_pool.used, 0);
}

static void confirmations_wait_for_a_new_link(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    assert_int_equal(fake_message(1, envelope(WIO_OP_EAGER, 1, 5, 100, 33), out, 100), 0);
    fake_state(1, WIO_EP_CLOSED, 0, WIO_BYE_CAP);
    assert_done(irecv(1, 100, 5), 0);
    assert_int_equal(fake.dials[1], 1);
    fake_state(1, WIO_EP_READY, 0, WIO_BYE_NONE);
    wio_progress(u, WIO_PROGRESS_FULL);
    assert_int_equal(last_sent(WIO_OP_DONE)->msg.b, 33);
}

/* A control message that was made for the old link must not grant the old link's credit on the new
 * one: the peer would send more than it may. */
static void waiting_answers_carry_the_new_links_credit(void **unused)
{
    (void)unused;
    u->credit_left = 1000;
    fake_open(1, ROOM);
    for (uint32_t i = 1; i <= 20; i++) { /* what is consumed is granted anew: the counter grows */
        assert_int_equal(eager(1, i, 5, 1000, 1000), 0);
        assert_done(irecv(1, 1000, 5), 0);
    }
    assert_int_equal(fake_message(1, envelope(WIO_OP_RTS, 21, 6, BIG, 44), NULL, 0), 0);
    fake_state(1, WIO_EP_CLOSING, 0, WIO_BYE_CAP);
    uint32_t old = u->peer[1]->credit.granted;
    irecv(1, BIG, 6);
    assert_null(last_sent(WIO_OP_CTS));
    fake_state(1, WIO_EP_CLOSED, 0, WIO_BYE_CAP);
    wio_progress(u, WIO_PROGRESS_FULL);
    fake_state(1, WIO_EP_READY, 0, WIO_BYE_NONE);
    wio_progress(u, WIO_PROGRESS_FULL);
    assert_int_equal(last_sent(WIO_OP_CTS)->msg.b, 44);
    assert_true(u->peer[1]->credit.granted < old);
    assert_int_equal(last_sent(WIO_OP_CTS)->msg.credit, u->peer[1]->credit.granted);
}

static void a_confirmation_that_cannot_be_dialled_fails_the_peer(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    assert_int_equal(fake_message(1, envelope(WIO_OP_RTS, 1, 5, BIG, 33), NULL, 0), 0);
    fake_state(1, WIO_EP_CLOSED, 0, WIO_BYE_CAP);
    fake.connect_rc = WAITIO_ERR_NOROUTE;
    struct wio_handle h = irecv(1, BIG, 5);
    assert_done(h, WAITIO_ERR_PEER);
    assert_true(u->peer[1]->dead);
}

/* ---- hostile headers ---- */

static void data_for_a_receive_that_never_asked_is_refused(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    assert_int_equal(eager(1, 1, 5, MIDDLE, 256 << 10), 0);
    struct wio_handle h = irecv(1, MIDDLE, 5); /* takes over the half-arrived message */
    const struct wio_request *r = wio_req_at(u, h.index, h.generation);
    struct wio_msg d = {.op = WIO_OP_DATA, .space = wio_req_id(r)};
    assert_int_equal(fake_message(1, d, out, MIDDLE), WAITIO_ERR_PROTOCOL);
    assert_int_equal(more(1, 1, 256 << 10, 256 << 10), 0);
    assert_int_equal(more(1, 1, 512 << 10, MIDDLE - (512 << 10)), 0);
    assert_done(h, 0);
}

static void answers_that_fit_nothing_are_refused(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    fake_open(2, ROOM);
    struct wio_handle h = isend(1, BIG, 5), e = isend(1, MIDDLE, 6);
    uint64_t id = last_sent(WIO_OP_RTS)->msg.b, eid = last_sent(WIO_OP_EAGER)->msg.b;
    assert_int_equal(control(1, WIO_OP_CTS, 7, BIG, 0), WAITIO_ERR_PROTOCOL);
    assert_int_equal(control(1, WIO_OP_CTS, 7, BIG, id + 1000), WAITIO_ERR_PROTOCOL);
    assert_int_equal(control(1, WIO_OP_CTS, 7, BIG + 1, id), WAITIO_ERR_PROTOCOL);
    assert_int_equal(control(1, WIO_OP_CTS, 0, BIG, id), WAITIO_ERR_PROTOCOL);
    assert_int_equal(control(1, WIO_OP_CTS, 7, 10, eid), WAITIO_ERR_PROTOCOL);
    assert_int_equal(control(2, WIO_OP_CTS, 7, BIG, id), WAITIO_ERR_PROTOCOL);
    assert_int_equal(control(1, WIO_OP_DONE, 0, BIG, id), WAITIO_ERR_PROTOCOL);
    assert_int_equal(control(2, WIO_OP_DONE, 0, BIG, eid), WAITIO_ERR_PROTOCOL);
    assert_int_equal(more(1, 99, 0, 10), WAITIO_ERR_PROTOCOL);
    assert_int_equal(eager(1, 1, 5, 100, 0), WAITIO_ERR_PROTOCOL);
    struct wio_handle r = irecv(1, 100, 5);
    struct wio_msg d = {.op = WIO_OP_DATA,
                        .space = wio_req_id(wio_req_at(u, r.index, r.generation))};
    assert_int_equal(fake_message(1, d, out, 10), WAITIO_ERR_PROTOCOL);
    d.space = UINT64_MAX;
    assert_int_equal(fake_message(1, d, out, 10), WAITIO_ERR_PROTOCOL);
    assert_int_equal(control(1, WIO_OP_DONE, 0, MIDDLE, eid), 0);
    assert_done(e, 0);
    assert_pending(h);
}

/* ---- handles ---- */

static void stale_and_foreign_handles_are_errors(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    struct wio_handle h = isend(1, 10, 5), copy = h,
                      odd = {.index = 1u << 30, .generation = 1, .serial = u->serial};
    struct wio_result res;
    bool flag;
    assert_int_equal(wio_wait(u, &h, &res), 0);
    assert_int_equal(h.index + h.generation + h.serial, 0);
    assert_int_equal(wio_wait(u, &h, &res), 0);
    assert_int_equal(wio_wait(u, &copy, &res), WAITIO_ERR_REQUEST);
    assert_int_equal(wio_test(u, &copy, &flag, &res), WAITIO_ERR_REQUEST);
    assert_int_equal(wio_wait(u, &odd, &res), WAITIO_ERR_REQUEST);
    odd = (struct wio_handle){.index = 0, .generation = 1, .serial = u->serial + 1};
    assert_int_equal(wio_cancel(u, &odd), WAITIO_ERR_REQUEST);
    assert_int_equal(wio_request_free(u, &odd), WAITIO_ERR_REQUEST);
    assert_int_equal(wio_start(u, &odd), WAITIO_ERR_REQUEST);
}

static void persistent_rounds_cancel_and_free(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    struct wio_handle t, copy;
    struct wio_result res;
    assert_int_equal(wio_irecv(u, g, 1, in, 100, 5, true, &t), 0);
    assert_int_equal(wio_wait(u, &t, &res), 0); /* inactive: at once */
    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(wio_start(u, &t), 0);
        assert_int_equal(wio_start(u, &t), WAITIO_ERR_BUSY);
        assert_int_equal(eager(1, i, 5, 100, 100), 0);
        assert_int_equal(wio_wait(u, &t, &res), 0);
        assert_int_equal(res.bytes, 100);
    }
    assert_int_equal(wio_start(u, &t), 0);
    assert_int_equal(wio_cancel(u, &t), 0);
    assert_int_equal(wio_cancel(u, &t), 0); /* twice does no harm */
    assert_int_equal(wio_wait(u, &t, &res), 0);
    assert_true(res.cancelled);
    assert_int_equal(wio_start(u, &t), 0);
    copy = t;
    assert_int_equal(wio_request_free(u, &t), 0); /* while active */
    assert_int_equal(wio_request_free(u, &copy), WAITIO_ERR_REQUEST);
    assert_int_equal(eager(1, 4, 5, 100, 100), 0); /* the round still takes its message */
    assert_int_equal(u->match.nheld, 0);
    fake.answer = WIO_TX_QUEUED;
    assert_int_equal(wio_isend(u, g, 1, out, MIDDLE, 5, true, &t), 0);
    assert_int_equal(wio_start(u, &t), 0);
    assert_int_equal(wio_cancel(u, &t), 0);
    assert_int_equal(wio_request_free(u, &t), 0);
    fake_state(1, WIO_EP_CLOSED, WAITIO_ERR_PEER, WIO_BYE_NONE);
    for (uint32_t i = 0; i < WIO_SLAB; i++)
        assert_int_equal(u->slab[0][i].kind, WIO_REQ_FREE);
}

static void a_group_lives_as_long_as_its_receives(void **unused)
{
    (void)unused;
    struct waitio_group *other = NULL;
    assert_int_equal(wio_group_from_range(u->table, 7, 0, FAKE_PEERS, &other), 0);
    wio_group_register(u, other);
    struct wio_handle h;
    assert_int_equal(wio_irecv(u, other, -1, in, 10, 5, false, &h), 0);
    assert_int_equal(wio_group_drop(u, other), 0);
    assert_int_equal(wio_group_check(u, other), WAITIO_ERR_GROUP);
    assert_int_equal(wio_cancel(u, &h), 0);
    assert_done(h, 0);
    assert_int_equal(wio_irecv(u, g, -1, in, 10, 5, false, &h), 0); /* pending at the end: freed */
}

/* ---- waits that nobody answers ---- */

static void wait_ms(int ms)
{
    wio_os_sleep_ns((int64_t)ms * 1000000);
}

static void testing_alone_dials_silent_sources(void **unused)
{
    (void)unused;
    struct wio_handle h = irecv(2, 10, 5);
    for (int i = 0; i < 300 && fake.dials[2] == 0; i++) {
        assert_pending(h);
        wait_ms(10);
    }
    assert_int_equal(fake.dials[2], 1);
    fake_state(2, WIO_EP_CLOSED, WAITIO_ERR_PEER, WIO_BYE_NONE);
    assert_done(h, WAITIO_ERR_PEER);
}

static void any_source_receives_of_all_groups_dial(void **unused)
{
    (void)unused;
    struct waitio_group *a = NULL, *b = NULL;
    assert_int_equal(wio_group_from_range(u->table, 1, 0, 2, &a), 0);
    assert_int_equal(wio_group_from_range(u->table, 1, 2, 2, &b), 0);
    wio_group_register(u, a);
    wio_group_register(u, b);
    fake_open(1, ROOM); /* everybody in a is linked */
    struct wio_handle h;
    assert_int_equal(wio_irecv(u, a, -1, in, 10, 5, false, &h), 0);
    assert_int_equal(wio_irecv(u, b, -1, in, 10, 5, false, &h), 0);
    for (int64_t now = 1000000000; now < 5000000000; now += 1000000000)
        wio_stuck_check(u, now);
    assert_int_equal(fake.dials[2], 1);
    assert_int_equal(fake.dials[3], 1);
    assert_int_equal(fake.dials[1], 0);
}

static void probes_dial_silent_sources(void **unused)
{
    (void)unused;
    struct wio_result res;
    bool found;
    for (int i = 0; i < 100 && (fake.dials[1] == 0 || fake.dials[2] == 0); i++) {
        assert_int_equal(wio_probe(u, g, 1, 5, false, &found, &res), 0);
        assert_int_equal(wio_probe(u, g, 2, 5, false, &found, &res), 0);
        assert_false(found);
        wait_ms(10);
    }
    assert_int_equal(fake.dials[1], 1);
    assert_int_equal(fake.dials[2], 1);
    fake_state(2, WIO_EP_CLOSED, WAITIO_ERR_PEER, WIO_BYE_NONE);
    assert_int_equal(wio_probe(u, g, 2, 5, true, &found, &res), WAITIO_ERR_PEER);
}

static void kill_what_is_dialled(struct fake *f)
{
    for (uint32_t i = 1; i < FAKE_PEERS; i++)
        if (f->ep[i] != NULL && f->ep[i]->ep.state == WIO_EP_CONNECTING)
            fake_state(i, WIO_EP_CLOSED, WAITIO_ERR_PEER, WIO_BYE_NONE);
}

static void a_blocking_probe_ends_when_its_source_is_dead(void **unused)
{
    (void)unused;
    struct wio_result res;
    bool found;
    fake.script = kill_what_is_dialled;
    assert_int_equal(wio_probe(u, g, 1, 5, true, &found, &res), WAITIO_ERR_PEER);
}

/* ---- leaving ---- */

static int leave(void)
{
    int rc = wio_universe_leave(u, false, NULL);
    u = NULL;
    return rc;
}

static void leaving_exchanges_goodbyes(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    fake_open(2, ROOM);
    fake.echo_bye = true;
    isend(1, 10, 5);
    irecv(2, 10, 5);
    assert_int_equal(leave(), 0);
    assert_int_equal(fake.freed, 2);
}

static void dial_us_late(struct fake *f)
{
    if (f->ep[1] != NULL && f->ep[1]->closes > 0 && f->ep[2] == NULL && f->dials[2]++ == 0) {
        fake_state(2, WIO_EP_READY, 0, WIO_BYE_NONE);
        f->echo_bye = true;
    }
}

static void who_dials_us_while_we_leave_hears_goodbye(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    fake.script = dial_us_late;
    int64_t begun = wio_os_now_ns();
    assert_int_equal(leave(), 0);
    assert_true(wio_os_now_ns() - begun < wt_scaled_ns(10000000000));
    assert_int_equal(fake.freed, 2);
}

static void two_that_leave_do_not_wait_for_each_other(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    assert_int_equal(fake_message(1, envelope(WIO_OP_RTS, 1, 5, BIG, 33), NULL, 0), 0);
    assert_int_equal(fake_message(1, envelope(WIO_OP_EAGER, 2, 5, 100, 34), out, 100), 0);
    fake.echo_bye = true;
    int before = count_sent(WIO_OP_DONE);
    assert_int_equal(leave(), 0);
    assert_int_equal(count_sent(WIO_OP_DONE), before + 2);
    for (int i = 0; i < fake.nsent; i++)
        if (fake.sent[i].msg.op == WIO_OP_DONE)
            assert_int_equal(fake.sent[i].msg.space, WIO_DONE_REFUSED);
}

static void a_refused_send_fails_and_says_why(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    struct wio_handle asked = isend(1, BIG, 5), written = isend(1, MIDDLE, 6);
    fake.answer = WIO_TX_QUEUED;
    struct wio_handle queued = isend(1, BIG, 7);
    uint64_t id[3] = {fake.sent[0].msg.b, fake.sent[1].msg.b, last_sent(WIO_OP_RTS)->msg.b};
    for (int i = 0; i < 3; i++)
        assert_int_equal(control(1, WIO_OP_DONE, WIO_DONE_REFUSED, 0, id[i]), 0);
    assert_done(asked, WAITIO_ERR_PEER);
    assert_non_null(strstr(wio_last_error(), "finalize"));
    assert_done(written, WAITIO_ERR_PEER);
    assert_pending(queued); /* the transport still holds it */
    fake_done(1, 0);
    assert_done(queued, WAITIO_ERR_PEER);
    assert_false(u->peer[1]->dead);
}

static void leaving_finds_out_about_the_dead_without_a_link(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    isend(1, BIG, 5); /* asked */
    fake_state(1, WIO_EP_CLOSED, 0,
               WIO_BYE_CAP);            /* then the link is closed for want of descriptors */
    fake.script = kill_what_is_dialled; /* and the peer dies */
    int64_t begun = wio_os_now_ns();
    assert_int_equal(leave(), 0);
    assert_true(wio_os_now_ns() - begun < wt_scaled_ns(10000000000));
}

static void the_unresponsive_are_left_behind(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    u->cfg.linger = 0.3;
    fake.answer = WIO_TX_QUEUED; /* nothing moves any more */
    isend(1, 1000, 5);
    isend(1, MIDDLE, 5);
    assert_int_equal(leave(), WAITIO_ERR_TIMEOUT);
    assert_int_equal(fake.freed, 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_small_send_is_over_when_written),
        T(a_small_send_completes_before_the_link_exists),
        T(a_queued_small_send_goes_on_from_the_copy),
        T(a_middle_send_goes_in_pieces_and_waits_for_done),
        T(a_big_send_asks_first),
        T(an_answer_may_overtake_the_word_that_the_rts_left),
        T(a_grant_of_nothing_ends_the_send),
        T(sends_keep_their_order_through_a_closed_link),
        T(half_a_message_goes_on_over_a_new_link),
        T(a_refused_dial_names_its_own_error),
        T(peer_death_fails_sends_in_every_state),
        T(a_posted_receive_takes_pieces_as_they_come),
        T(a_receive_may_come_in_the_middle_of_its_message),
        T(a_longer_message_is_truncated_and_says_so),
        T(an_early_envelope_waits_for_one_that_meets_its_receive),
        T(early_envelopes_of_every_kind_come_in_order),
        T(envelope_numbers_wrap_without_zero),
        T(pieces_find_their_own_receive),
        T(a_large_stranger_waits_while_its_reader_returns),
        T(peer_death_in_the_middle_of_an_arrival),
        T(any_source_fails_when_nobody_is_left),
        T(a_group_of_one_other_process_ends_with_it),
        T(a_message_to_oneself_is_waited_for),
        T(nothing_is_said_to_the_dead),
        T(confirmations_wait_for_a_new_link),
        T(waiting_answers_carry_the_new_links_credit),
        T(a_confirmation_that_cannot_be_dialled_fails_the_peer),
        T(data_for_a_receive_that_never_asked_is_refused),
        T(answers_that_fit_nothing_are_refused),
        T(stale_and_foreign_handles_are_errors),
        T(persistent_rounds_cancel_and_free),
        T(a_group_lives_as_long_as_its_receives),
        T(testing_alone_dials_silent_sources),
        T(any_source_receives_of_all_groups_dial),
        T(probes_dial_silent_sources),
        T(a_blocking_probe_ends_when_its_source_is_dead),
        T(leaving_exchanges_goodbyes),
        T(who_dials_us_while_we_leave_hears_goodbye),
        T(two_that_leave_do_not_wait_for_each_other),
        T(a_refused_send_fails_and_says_why),
        T(leaving_finds_out_about_the_dead_without_a_link),
        T(the_unresponsive_are_left_behind),
    };
    return cmocka_run_group_tests_name("p2p engine", tests, NULL, NULL);
}
