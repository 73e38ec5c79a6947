/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that the receiver reads straight from the sender's memory, over the scripted transport:
 * what is said in which order, what happens when it does not work, what a hostile peer can say. */
#include "p2p_hands.h"

static int fetches, fail_at; /* the fetch that fails, from 1; 0: none */
static int failure;

static int fake_fetch(struct wio_ep *ep, const struct wio_lent *from, void *buf, size_t bytes)
{
    (void)ep;
    if (bytes == 0)
        return 0;
    if (++fetches == fail_at)
        return failure;
    memcpy(buf, (const void *)(uintptr_t)from->at, bytes);
    return 0;
}

static int lending(void **unused)
{
    int rc = setup(unused);
    fake.tr.fetch = fake_fetch;
    u->cfg.shm_fetch = WIO_CFG_SHM_FETCH_ON;
    u->attr[WIO_TR_TCP].caps = WIO_CAP_MEMORY;
    fetches = fail_at = 0;
    failure = WAITIO_ERR_UNSUPPORTED;
    return rc;
}

static int ask(uint32_t from, uint32_t number, int tag, uint64_t total, uint64_t id)
{
    struct wio_msg m = envelope(WIO_OP_RTS, number, tag, total, id);
    m.flags = WIO_MSG_LENDS;
    return fake_message(from, m, NULL, 0);
}

static int lent(uint32_t from, uint64_t id)
{
    return control(from, WIO_OP_LENT, 0, (uint64_t)(uintptr_t)out, id);
}

static void rounds(int n)
{
    for (int i = 0; i < n; i++)
        wio_progress(u, WIO_PROGRESS_FULL);
}

static void the_sender_tells_where_it_lies(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    struct wio_handle h = isend(1, BIG, 5);
    const struct fake_sent *rts = last_sent(WIO_OP_RTS), *lends = last_sent(WIO_OP_LENT);
    assert_non_null(lends);
    assert_true(rts->msg.flags == WIO_MSG_LENDS && rts < lends && lends->msg.b == rts->msg.b);
    assert_true(lends->msg.a == (uint64_t)(uintptr_t)out);
    assert_pending(h);
    assert_int_equal(control(1, WIO_OP_DONE, 0, BIG, rts->msg.b), 0);
    assert_done(h, 0);
    assert_int_equal(count_sent(WIO_OP_DATA), 0);
}

/* Whichever way a send ends, its buffer belongs to the program again, and nobody may read it. */
static void a_send_that_has_ended_lends_nothing(void **unused)
{
    (void)unused;
    for (int end = 0; end < 3; end++) {
        if (end == 0)
            fake_open(1, ROOM);
        struct wio_handle h = isend(1, BIG, 5);
        const struct fake_sent *lends = last_sent(WIO_OP_LENT);
        uint64_t id = lends->msg.b;
        const uint64_t *word = (const uint64_t *)(uintptr_t)lends->msg.space;
        assert_true(*word == wio_lent_word(u->table->ep[u->table->me].token, 1, id));
        if (end == 0) {
            assert_int_equal(control(1, WIO_OP_DONE, 0, BIG, id), 0);
        } else if (end == 1) { /* asked for, instead */
            assert_int_equal(control(1, WIO_OP_CTS, 77, BIG, id), 0);
            rounds(BIG / (256 << 10));
            assert_int_equal(control(1, WIO_OP_DONE, 0, BIG, id), 0);
        } else {
            fake_state(1, WIO_EP_CLOSED, WAITIO_ERR_PEER, WIO_BYE_NONE);
        }
        assert_true(*word == 0);
        assert_done(h, end == 2 ? WAITIO_ERR_PEER : 0);
    }
}

static void the_report_says_who_is_waited_for(void **unused)
{
    (void)unused;
    struct wio_strbuf sb = {0};
    fake_open(1, ROOM);
    isend(1, BIG, 5);
    wio_universe_dump(u, &sb);
    assert_non_null(strstr(sb.text, "the receiver has not fetched it"));
    assert_null(strstr(sb.text, "all data sent"));
    wio_strbuf_free(&sb);
}

static void what_does_not_pay_is_sent(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    u->peer[1]->eager_max = 0;
    isend(1, u->cfg.shm_fetch_min - 1, 5);
    u->cfg.shm_fetch = WIO_CFG_SHM_FETCH_OFF;
    isend(1, BIG, 5);
    u->cfg.shm_fetch = WIO_CFG_SHM_FETCH_AUTO;
    u->spin.crowded = true;
    isend(1, 64 << 10, 5); /* its sender would wait for a processor */
    assert_int_equal(count_sent(WIO_OP_RTS), 3);
    assert_null(last_sent(WIO_OP_LENT));
    isend(1, BIG, 5);
    assert_non_null(last_sent(WIO_OP_LENT));
}

/* There is credit: nothing to wait for, and no reason to ask for more, which the receiver would
 * give out of what it has for others. */
static void a_short_one_waits_for_nothing(void **unused)
{
    (void)unused;
    u->cfg.shm_fetch_min = 1;
    fake_open(1, ROOM);
    isend(1, 100, 5);
    assert_non_null(last_sent(WIO_OP_LENT));
    assert_int_equal(last_sent(WIO_OP_RTS)->msg.a, 100);
    assert_int_equal(u->ctr.credit_waits, 0);
}

static void a_receiver_that_cannot_is_sent_it(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    struct wio_handle h = isend(1, BIG, 5);
    uint64_t id = last_sent(WIO_OP_RTS)->msg.b;
    assert_int_equal(control(1, WIO_OP_CTS, 77, BIG, id), 0);
    rounds(4);
    assert_int_equal(count_sent(WIO_OP_DATA), BIG / (256 << 10));
    assert_int_equal(control(1, WIO_OP_CTS, 77, BIG, id), WAITIO_ERR_PROTOCOL); /* not twice */
    assert_int_equal(control(1, WIO_OP_DONE, 0, BIG, id), 0);
    assert_done(h, 0);
}

static void the_end_may_overtake_the_word_that_the_rts_left(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    fake.answer = WIO_TX_QUEUED;
    struct wio_handle h = isend(1, BIG, 5), t = isend(1, BIG, 6);
    uint64_t tid = last_sent(WIO_OP_RTS)->msg.b, id = 0;
    for (int i = 0; i < fake.nsent; i++)
        if (fake.sent[i].msg.op == WIO_OP_RTS && fake.sent[i].msg.tag == 5)
            id = fake.sent[i].msg.b;
    assert_int_equal(control(1, WIO_OP_DONE, 0, BIG, id), 0);
    assert_int_equal(control(1, WIO_OP_CTS, 77, BIG, tid), 0);
    assert_pending(h); /* the transport still holds its header */
    assert_null(last_sent(WIO_OP_DATA));
    for (int i = 0; i < 30; i++) {
        fake_done(1, 0);
        rounds(1);
    }
    assert_done(h, 0);
    assert_int_equal(count_sent(WIO_OP_DATA), BIG / (256 << 10));
    assert_int_equal(control(1, WIO_OP_DONE, 0, BIG, tid), 0);
    assert_done(t, 0);
}

static void a_posted_receive_fetches(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    struct wio_handle h = irecv(1, BIG, 5);
    assert_int_equal(ask(1, 1, 5, BIG, 33), 0);
    assert_null(last_sent(WIO_OP_CTS));
    assert_int_equal(lent(1, 33), 0);
    rounds(BIG / (256 << 10) - 1);
    assert_null(last_sent(WIO_OP_DONE)); /* in pieces: others have their turn */
    rounds(1);
    assert_int_equal(last_sent(WIO_OP_DONE)->msg.b, 33);
    assert_done(h, 0);
    assert_same(BIG);
}

static void a_single_piece_is_fetched_at_once(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    struct wio_handle h = irecv(1, 64 << 10, 5);
    assert_int_equal(ask(1, 1, 5, 64 << 10, 33), 0);
    assert_int_equal(lent(1, 33), 0);
    assert_int_equal(last_sent(WIO_OP_DONE)->msg.b, 33); /* no round of progress before */
    assert_done(h, 0);
    assert_same(64 << 10);
}

static void held_questions_are_fetched_when_asked_for(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    assert_int_equal(ask(1, 2, 6, BIG, 44), 0); /* early */
    assert_int_equal(lent(1, 44), 0);
    assert_int_equal(ask(1, 3, 7, BIG, 55), 0); /* early, and not said yet */
    assert_int_equal(ask(1, 1, 5, BIG, 33), 0); /* makes all three due */
    struct wio_handle a = irecv(1, BIG, 6);
    rounds(10);
    assert_done(a, 0);
    assert_same(BIG);
    memset(in, 0, BIG);
    assert_int_equal(lent(1, 55), 0);
    struct wio_handle b = irecv(1, BIG, 7);
    rounds(10);
    assert_done(b, 0);
    assert_same(BIG);
    memset(in, 0, BIG);
    struct wio_handle c = irecv(1, BIG, 5); /* taken before it is said where it lies */
    rounds(3);
    assert_pending(c);
    assert_int_equal(lent(1, 33), 0);
    rounds(10);
    assert_done(c, 0);
    assert_same(BIG);
    assert_int_equal(count_sent(WIO_OP_CTS), 0);
    assert_int_equal(count_sent(WIO_OP_DONE), 3);
}

static void what_fits_is_fetched(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    struct wio_handle h = irecv(1, BIG / 2, 5);
    assert_int_equal(ask(1, 1, 5, BIG, 33), 0);
    assert_int_equal(lent(1, 33), 0);
    rounds(10);
    assert_done(h, WAITIO_ERR_TRUNCATE);
    assert_same(BIG / 2);
    assert_int_equal(in[BIG / 2], 0);
    assert_int_equal(last_sent(WIO_OP_DONE)->msg.a, BIG / 2);
    struct wio_handle none = irecv(1, 0, 6); /* nothing fits: nothing is fetched */
    assert_int_equal(ask(1, 2, 6, BIG, 34), 0);
    assert_int_equal(lent(1, 34), 0);
    assert_done(none, WAITIO_ERR_TRUNCATE);
    assert_int_equal(last_sent(WIO_OP_CTS)->msg.a, 0);
}

/* The system stops allowing it, or the memory is not there: the message comes by the other way. */
static void a_fetch_that_fails_is_sent_after_all(void **unused)
{
    (void)unused;
    static const int failures[] = {WAITIO_ERR_UNSUPPORTED, WAITIO_ERR_SYSTEM};
    fake_open(1, ROOM);
    for (uint32_t i = 0; i < 2; i++) {
        fetches = 0;
        fail_at = 3;
        failure = failures[i];
        memset(in, 0, BIG);
        struct wio_handle h = irecv(1, BIG, 5);
        assert_int_equal(ask(1, i + 1, 5, BIG, 33), 0);
        assert_int_equal(lent(1, 33), 0);
        rounds(10);
        assert_pending(h);
        const struct fake_sent *cts = last_sent(WIO_OP_CTS);
        assert_true(cts != NULL && cts->msg.a == BIG && cts->msg.b == 33);
        assert_int_equal(fetches, 3);
        uint64_t id = cts->msg.space;
        for (uint32_t at = 0; at < BIG; at += 256 << 10) {
            struct wio_msg d = {.op = WIO_OP_DATA, .space = id, .a = at};
            assert_int_equal(fake_message(1, d, out + at, 256 << 10), 0);
        }
        assert_done(h, 0);
        assert_same(BIG);
        fake.nsent = 0;
    }
}

/* Closed with nothing queued, opened again later: what was lent still is, what was being fetched is
 * asked for, what was not said yet comes by the new link. */
static void a_link_may_be_closed_in_between(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    struct wio_handle s = isend(1, BIG, 5);
    uint64_t sent = last_sent(WIO_OP_RTS)->msg.b;
    assert_int_equal(ask(1, 1, 6, BIG, 33), 0); /* held */
    assert_int_equal(lent(1, 33), 0);
    struct wio_handle b = irecv(1, BIG, 7), c = irecv(1, BIG, 8);
    assert_int_equal(ask(1, 2, 7, BIG, 34), 0); /* not said yet */
    assert_int_equal(ask(1, 3, 8, BIG, 35), 0); /* begun */
    assert_int_equal(lent(1, 35), 0);
    rounds(2);
    assert_int_equal(fetches, 2);
    fake_state(1, WIO_EP_CLOSED, 0, WIO_BYE_CAP);
    rounds(2);
    assert_int_equal(fetches, 2);
    fake_open(1, ROOM);
    rounds(1);
    const struct fake_sent *cts = last_sent(WIO_OP_CTS);
    assert_true(cts != NULL && cts->msg.b == 35 && cts->msg.a == BIG);
    for (uint32_t at = 0; at < BIG; at += 256 << 10) {
        struct wio_msg d = {.op = WIO_OP_DATA, .space = cts->msg.space, .a = at};
        assert_int_equal(fake_message(1, d, out + at, 256 << 10), 0);
    }
    assert_done(c, 0);
    memset(in, 0, BIG);
    assert_int_equal(lent(1, 34), 0);
    rounds(10);
    assert_done(b, 0);
    assert_same(BIG);
    struct wio_handle a = irecv(1, BIG, 6);
    rounds(10);
    assert_done(a, 0);
    assert_int_equal(count_sent(WIO_OP_DONE), 3);
    assert_pending(s);
    assert_int_equal(control(1, WIO_OP_CTS, 77, BIG, sent), 0);
    rounds(4);
    assert_int_equal(count_sent(WIO_OP_DATA), BIG / (256 << 10));
    assert_int_equal(control(1, WIO_OP_DONE, 0, BIG, sent), 0);
    assert_done(s, 0);
}

static void who_leaves_refuses_what_is_lent(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    struct wio_handle s = isend(1, BIG, 5);
    assert_int_equal(ask(1, 1, 6, BIG, 33), 0); /* not said yet */
    assert_int_equal(ask(1, 2, 7, BIG, 34), 0);
    assert_int_equal(lent(1, 34), 0);
    wio_recv_refuse_held(u);
    assert_int_equal(count_sent(WIO_OP_DONE), 2);
    u->ending = true;
    assert_int_equal(ask(1, 3, 8, BIG, 35), 0);
    assert_int_equal(last_sent(WIO_OP_DONE)->msg.b, 35);
    assert_int_equal(last_sent(WIO_OP_DONE)->msg.space, WIO_DONE_REFUSED);
    assert_int_equal(lent(1, 33), 0);
    assert_int_equal(lent(1, 35), 0);
    assert_int_equal(u->ctr.unexpected_bytes, 0);
    u->ending = false;
    uint64_t id = last_sent(WIO_OP_RTS)->msg.b;
    assert_int_equal(control(1, WIO_OP_DONE, WIO_DONE_REFUSED, 0, id), 0);
    assert_done(s, WAITIO_ERR_PEER);
    assert_int_equal(control(1, WIO_OP_CTS, 77, BIG, id), WAITIO_ERR_PROTOCOL);
}

static void hostile_words_change_nothing(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    fake_open(2, ROOM);
    assert_int_equal(lent(1, 99), 0); /* of nothing: as one whose receive asked for it to be sent */
    assert_int_equal(ask(1, 1, 4, BIG, 22), 0);
    struct wio_msg m = {.op = WIO_OP_MORE, .a = 0, .b = 1};
    assert_int_equal(fake_message(1, m, out, 4096), WAITIO_ERR_PROTOCOL);
    struct wio_handle h = irecv(1, BIG, 5);
    assert_int_equal(ask(1, 2, 5, BIG, 33), 0);
    assert_int_equal(lent(2, 33), 0); /* another peer's words are not this one's */
    rounds(4);
    assert_pending(h);
    struct wio_msg d = {.op = WIO_OP_DATA,
                        .space = wio_req_id(wio_req_at(u, h.index, h.generation))};
    assert_int_equal(fake_message(1, d, out, 4096), WAITIO_ERR_PROTOCOL);
    assert_int_equal(lent(1, 33), 0);
    assert_int_equal(control(1, WIO_OP_LENT, 0, 8, 33), 0); /* a second one is not believed */
    rounds(10);
    assert_done(h, 0);
    assert_same(BIG);
}

static void death_ends_it_in_every_state(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    struct wio_handle s = isend(1, BIG, 5), a = irecv(1, BIG, 6), b = irecv(1, BIG, 7);
    assert_int_equal(ask(1, 1, 6, BIG, 33), 0); /* its address never comes */
    assert_int_equal(ask(1, 2, 7, BIG, 34), 0);
    assert_int_equal(ask(1, 3, 8, BIG, 35), 0); /* held */
    assert_int_equal(lent(1, 34), 0);
    rounds(2);
    fake_state(1, WIO_EP_CLOSED, WAITIO_ERR_PEER, WIO_BYE_NONE);
    rounds(2);
    assert_done(s, WAITIO_ERR_PEER);
    assert_done(a, WAITIO_ERR_PEER);
    assert_done(b, WAITIO_ERR_PEER);
    assert_int_equal(fetches, 2);
    struct wio_handle c = irecv(1, BIG, 8);
    assert_done(c, WAITIO_ERR_PEER);
}

#define T(f) cmocka_unit_test_setup_teardown(f, lending, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(the_sender_tells_where_it_lies),
        T(the_report_says_who_is_waited_for),
        T(what_does_not_pay_is_sent),
        T(a_short_one_waits_for_nothing),
        T(a_receiver_that_cannot_is_sent_it),
        T(the_end_may_overtake_the_word_that_the_rts_left),
        T(a_send_that_has_ended_lends_nothing),
        T(a_posted_receive_fetches),
        T(a_single_piece_is_fetched_at_once),
        T(held_questions_are_fetched_when_asked_for),
        T(what_fits_is_fetched),
        T(a_fetch_that_fails_is_sent_after_all),
        T(a_link_may_be_closed_in_between),
        T(who_leaves_refuses_what_is_lent),
        T(hostile_words_change_nothing),
        T(death_ends_it_in_every_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
