/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that are spread in memory, over the scripted transport: they are read and written in
 * pieces, hold a bounded amount of memory, and let go of it however they end. */
#include "p2p_hands.h"
#include "p2p_spread.h"

static uint8_t *wide; /* the program's memory: a hole behind each byte */

static int begin(void **unused)
{
    int rc = setup(unused);
    wide = malloc(2 * BIG);
    memset(wide, 0xee, 2 * BIG);
    spread_refs = 0;
    spread_longest = 0;
    return rc;
}

static int end(void **unused)
{
    int left;
    (void)unused;
    wio_universe_destroy(u);
    u = NULL;
    left = spread_refs;
    free(wide);
    free(out);
    free(in);
    return left;
}

static void fill_wide(void)
{
    for (size_t i = 0; i < BIG; i++)
        wide[2 * i] = out[i];
}

static struct wio_handle send_wide(uint32_t to, size_t n, int tag)
{
    struct wio_spread s = spread_at(wide);
    struct wio_handle h;
    assert_int_equal(wio_isend_spread(u, g, to, &s, n, tag, false, false, &h), 0);
    return h;
}

static struct wio_handle receive_wide(int64_t from, size_t n, int64_t tag)
{
    struct wio_spread s = spread_at(wide);
    struct wio_handle h;
    assert_int_equal(wio_irecv_spread(u, g, from, &s, n, tag, false, &h), 0);
    return h;
}

/* The first n bytes have come, nothing else was touched. */
static void assert_wide(size_t n)
{
    for (size_t i = 0; i < BIG; i++) {
        assert_int_equal(wide[2 * i], i < n ? out[i] : 0xee);
        assert_int_equal(wide[2 * i + 1], 0xee);
    }
}

/* What was sent with these operations is the message, in order and without a gap. */
static void assert_sent(uint8_t first, uint8_t op, size_t n)
{
    size_t at = 0;
    for (int i = 0; i < fake.nsent; i++) {
        const struct fake_sent *s = &fake.sent[i];
        if (s->msg.op != first && s->msg.op != op)
            continue;
        if (s->msg.op != first || op == first)
            assert_int_equal(s->msg.a, at);
        assert_true(s->bytes <= WIO_SPREAD_PIECE);
        assert_true(s->sum == fake_sum(out + at, s->bytes));
        at += s->bytes;
    }
    assert_int_equal(at, n);
}

static void assert_nothing_held(void)
{
    assert_int_equal(spread_refs, 0);
    assert_int_equal(u->ctr.piece_bytes, 0);
    assert_int_equal(u->ctr.pool_bytes, 0);
}

static int data(uint64_t id, size_t at, size_t n)
{
    struct wio_msg m = {.op = WIO_OP_DATA, .space = id, .a = at};
    return fake_message(1, m, out + at, (uint32_t)n);
}

/* ---- sends ---- */

static void a_short_one_is_put_on_its_link(void **unused)
{
    (void)unused;
    fill_wide();
    fake_open(1, ROOM);
    fake.puts = true;
    struct wio_handle h = send_wide(1, 1000, 5);
    assert_int_equal(h.index, WIO_SENT);
    assert_int_equal(spread_peer, 1);
    assert_true(last_sent(WIO_OP_EAGER)->sum == fake_sum(out, 1000));
    assert_nothing_held();
    assert_done(h, 0);
}

static void one_that_the_link_does_not_take_is_copied(void **unused)
{
    (void)unused;
    fill_wide();
    fake_open(1, ROOM);
    fake.answer = WIO_TX_QUEUED;
    assert_done(send_wide(1, 50000, 5), 0);
    assert_int_equal(u->ctr.pool_bytes, 50000);
    assert_int_equal(spread_refs, 0); /* the program may free type and buffer */
    memset(wide, 0, 100000);
    const struct wio_tx *tx = last_sent(WIO_OP_EAGER)->tx;
    assert_memory_equal(tx->payload, out, 50000);
    fake_done(1, 0);
    assert_nothing_held();
}

/* Through memory pieces are shorter: some have left when the link takes no more. */
static void the_rest_of_one_is_sent_from_the_copy(void **unused)
{
    (void)unused;
    fill_wide();
    u->attr[WIO_TR_TCP].caps = WIO_CAP_MEMORY;
    u->cfg.shm_fetch = WIO_CFG_SHM_FETCH_OFF;
    fake_open(1, ROOM);
    fake.answer = WIO_TX_QUEUED;
    assert_done(send_wide(1, 60000, 5), 0);
    assert_int_equal(last_sent(WIO_OP_EAGER)->bytes, WIO_SPREAD_PIECE_MEMORY);
    assert_int_equal(spread_refs, 0);
    memset(wide, 0, 120000);
    while (fake_done(1, 0) > 0)
        ;
    assert_sent(WIO_OP_EAGER, WIO_OP_MORE, 60000);
    assert_nothing_held();
    fill_wide();
    fake.answer = WIO_TX_DONE; /* all pieces at once: nothing is copied */
    fake.nsent = 0;
    assert_done(send_wide(1, 60000, 5), 0);
    assert_sent(WIO_OP_EAGER, WIO_OP_MORE, 60000);
    assert_int_equal(u->ctr.pool_max, 60000);
    assert_nothing_held();
}

/* A sender without holes cuts as it likes. */
static void long_pieces_are_not_kept(void **unused)
{
    (void)unused;
    fake_open(1, 10 * ROOM);
    struct wio_handle h = receive_wide(1, BIG, 5);
    assert_int_equal(eager(1, 1, 5, BIG, BIG), 0);
    assert_wide(BIG);
    assert_done(h, 0);
    assert_nothing_held();
    assert_int_equal(u->buffers.kept, 0);
}

static void one_without_a_link_is_copied(void **unused)
{
    (void)unused;
    fill_wide();
    assert_done(send_wide(1, 3000, 5), 0);
    memset(wide, 0, 6000);
    fake.credit[1] = ROOM;
    fake_state(1, WIO_EP_READY, 0, WIO_BYE_NONE);
    assert_int_equal(fake_message(1, (struct wio_msg){.op = WIO_OP_CREDIT}, NULL, 0), 0);
    assert_sent(WIO_OP_EAGER, WIO_OP_MORE, 3000);
    assert_nothing_held();
}

static void a_full_pool_makes_it_wait(void **unused)
{
    (void)unused;
    fill_wide();
    fake_open(1, ROOM);
    u->cfg.send_buffer_max = 100;
    fake.answer = WIO_TX_QUEUED;
    struct wio_handle h = send_wide(1, 50000, 5);
    assert_pending(h);
    assert_int_equal(u->ctr.pool_bytes, 0);
    fake_done(1, 0);
    assert_done(h, 0);
    assert_nothing_held();
}

static void a_middle_one_goes_in_pieces(void **unused)
{
    (void)unused;
    fill_wide();
    fake_open(1, ROOM);
    struct wio_handle h = send_wide(1, MIDDLE, 5);
    wio_progress(u, WIO_PROGRESS_FULL);
    assert_sent(WIO_OP_EAGER, WIO_OP_MORE, MIDDLE);
    assert_pending(h);
    assert_int_equal(control(1, WIO_OP_DONE, 0, MIDDLE, last_sent(WIO_OP_EAGER)->msg.b), 0);
    assert_done(h, 0);
    assert_nothing_held();
    assert_int_equal(u->ctr.piece_max, WIO_SPREAD_PIECE);
}

static void a_big_one_asks_and_holds_one_piece(void **unused)
{
    (void)unused;
    fill_wide();
    fake_open(1, ROOM);
    fake.answer = WIO_TX_QUEUED;
    struct wio_handle h = send_wide(1, BIG, 5);
    uint64_t id = last_sent(WIO_OP_RTS)->msg.b;
    fake_done(1, 0);
    assert_int_equal(u->ctr.piece_bytes, 0); /* nothing is read before it is wanted */
    assert_int_equal(control(1, WIO_OP_CTS, 77, BIG, id), 0);
    while (fake_done(1, 0) > 0)
        assert_true(u->ctr.piece_bytes <= WIO_SPREAD_PIECE);
    assert_sent(WIO_OP_DATA, WIO_OP_DATA, BIG);
    assert_int_equal(control(1, WIO_OP_DONE, 0, BIG, id), 0);
    assert_done(h, 0);
    assert_nothing_held();
    assert_int_equal(u->ctr.piece_max, WIO_SPREAD_PIECE);
    assert_true(spread_longest <= WIO_SPREAD_PIECE);
}

static void less_is_sent_when_less_is_wanted(void **unused)
{
    (void)unused;
    fill_wide();
    fake_open(1, ROOM);
    struct wio_handle h = send_wide(1, BIG, 5);
    uint64_t id = last_sent(WIO_OP_RTS)->msg.b;
    assert_int_equal(control(1, WIO_OP_CTS, 77, 300001, id), 0);
    wio_progress(u, WIO_PROGRESS_FULL);
    assert_sent(WIO_OP_DATA, WIO_OP_DATA, 300001);
    assert_int_equal(control(1, WIO_OP_DONE, 0, 300001, id), 0);
    assert_done(h, 0);
    assert_nothing_held();
}

static void many_at_a_time_hold_a_piece_for_what_is_queued(void **unused)
{
    (void)unused;
    struct wio_handle h[20];
    uint64_t id[20];
    fill_wide();
    fake_open(1, ROOM);
    for (int i = 0; i < 20; i++) {
        h[i] = send_wide(1, BIG, i);
        id[i] = last_sent(WIO_OP_RTS)->msg.b;
    }
    fake.answer = WIO_TX_QUEUED;
    for (int i = 0; i < 20; i++)
        assert_int_equal(control(1, WIO_OP_CTS, 77, BIG, id[i]), 0);
    /* No more than the link takes, and one piece. */
    assert_true(u->ctr.piece_max <= u->cfg.chunk + WIO_SPREAD_PIECE);
    while (fake_done(1, 0) > 0)
        fake.nsent = 0; /* all were given back */
    assert_true(u->ctr.piece_max <= u->cfg.chunk + WIO_SPREAD_PIECE);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(control(1, WIO_OP_DONE, 0, BIG, id[i]), 0);
        assert_done(h[i], 0);
    }
    assert_nothing_held();
}

static void it_goes_on_over_a_new_link(void **unused)
{
    (void)unused;
    fill_wide();
    fake_open(1, ROOM);
    fake.answer = WIO_TX_QUEUED;
    struct wio_handle h = send_wide(1, MIDDLE, 5);
    uint64_t id = last_sent(WIO_OP_EAGER)->msg.b;
    fake.ep[1]->ep.state = WIO_EP_CLOSING; /* the peer's goodbye: what is queued still goes */
    fake_done(1, 0);
    assert_int_equal(u->ctr.piece_bytes, 0); /* the piece that was refused is read again */
    fake_state(1, WIO_EP_CLOSED, 0, WIO_BYE_CAP);
    fake.answer = WIO_TX_DONE;
    wio_progress(u, WIO_PROGRESS_FULL);
    fake_state(1, WIO_EP_READY, 0, WIO_BYE_NONE);
    wio_progress(u, WIO_PROGRESS_FULL);
    assert_sent(WIO_OP_EAGER, WIO_OP_MORE, MIDDLE);
    assert_int_equal(control(1, WIO_OP_DONE, 0, MIDDLE, id), 0);
    assert_done(h, 0);
    assert_nothing_held();
}

static void a_synchronous_one_waits_for_its_receive(void **unused)
{
    (void)unused;
    struct wio_spread s = spread_at(wide);
    struct wio_handle h;
    fill_wide();
    fake_open(1, ROOM);
    fake.puts = true;
    assert_int_equal(wio_isend_spread(u, g, 1, &s, 100, 5, false, true, &h), 0);
    assert_pending(h);
    assert_true(last_sent(WIO_OP_EAGER)->sum == fake_sum(out, 100));
    assert_int_equal(control(1, WIO_OP_DONE, 0, 100, last_sent(WIO_OP_EAGER)->msg.b), 0);
    assert_done(h, 0);
    assert_nothing_held();
}

static void a_persistent_one_is_read_at_each_start(void **unused)
{
    (void)unused;
    struct wio_spread s = spread_at(wide);
    struct wio_handle h;
    struct wio_result res;
    fake_open(1, ROOM);
    assert_int_equal(wio_isend_spread(u, g, 1, &s, 1000, 5, true, false, &h), 0);
    for (int i = 0; i < 2; i++) {
        out[0] = (uint8_t)(40 + i);
        fill_wide();
        assert_int_equal(wio_start(u, &h), 0);
        assert_true(last_sent(WIO_OP_EAGER)->sum == fake_sum(out, 1000));
        assert_true(done(&h, &res));
        assert_int_equal(spread_refs, 1);
    }
    fake.answer = WIO_TX_QUEUED;
    u->cfg.send_buffer_max = 0;
    assert_int_equal(wio_start(u, &h), 0);
    assert_int_equal(wio_request_free(u, &h), 0); /* while it is active */
    assert_int_equal(spread_refs, 1);
    fake_done(1, 0);
    assert_nothing_held();
}

static void it_is_never_lent(void **unused)
{
    (void)unused;
    fill_wide();
    u->cfg.shm_fetch = WIO_CFG_SHM_FETCH_ON;
    u->attr[WIO_TR_TCP].caps = WIO_CAP_MEMORY;
    fake.puts = true;
    fake_open(1, ROOM);
    struct wio_handle h = send_wide(1, BIG, 5);
    send_wide(1, 2000, 5);
    assert_null(last_sent(WIO_OP_LENT));
    (void)h;
}

/* ---- receives ---- */

static void an_expected_one_is_written_on(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    struct wio_handle h = receive_wide(1, 1000, 5);
    assert_int_equal(eager(1, 1, 5, 800, 800), 0);
    struct wio_result res;
    assert_true(done(&h, &res));
    assert_int_equal(res.err, 0);
    assert_int_equal(res.bytes, 800);
    assert_wide(800);
    assert_int_equal(spread_peer, 1);
    assert_nothing_held();
}

static void pieces_are_written_as_they_come(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    struct wio_handle h = receive_wide(-1, BIG, -1);
    assert_int_equal(fake_message(1, envelope(WIO_OP_RTS, 1, 5, BIG, 33), NULL, 0), 0);
    uint64_t id = last_sent(WIO_OP_CTS)->msg.space;
    for (size_t at = 0; at < BIG; at += 64 << 10) {
        assert_wide(at);
        assert_int_equal(data(id, at, 64 << 10), 0);
    }
    assert_wide(BIG);
    assert_int_equal(last_sent(WIO_OP_DONE)->msg.b, 33);
    assert_done(h, 0);
    assert_nothing_held();
    assert_true(u->ctr.piece_max <= WIO_SPREAD_PIECE);
}

static void what_does_not_fit_is_dropped(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    struct wio_handle h = receive_wide(1, 5000, 5), later = receive_wide(1, 0, 6);
    assert_int_equal(eager(1, 1, 5, 9000, 4000), 0);
    assert_int_equal(more(1, 1, 4000, 3000), 0);
    assert_int_equal(more(1, 1, 7000, 2000), 0); /* lies behind the receive as a whole */
    assert_wide(5000);
    assert_done(h, WAITIO_ERR_TRUNCATE);
    assert_int_equal(eager(1, 2, 6, 10, 10), 0);
    assert_done(later, WAITIO_ERR_TRUNCATE);
    assert_wide(5000);
    assert_nothing_held();
}

static void a_message_that_came_before_is_written_from_where_it_is_held(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    assert_int_equal(eager(1, 1, 5, 1000, 1000), 0);
    assert_int_equal(eager(1, 2, 6, 9000, 4000), 0);
    assert_done(receive_wide(1, 2000, 5), 0);
    assert_wide(1000);
    struct wio_handle h = receive_wide(1, 8000, 6);
    assert_wide(4000);
    assert_int_equal(more(1, 2, 4000, 3000), 0);
    assert_wide(7000);
    assert_int_equal(more(1, 2, 7000, 2000), 0);
    assert_wide(8000);
    assert_done(h, WAITIO_ERR_TRUNCATE);
    assert_nothing_held();
}

static void a_receive_may_come_in_the_middle_of_a_piece(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    struct wio_msg m = envelope(WIO_OP_EAGER, 1, 5, 9000, 0);
    assert_int_equal(fake_header(1, &m, 4000), 0);
    struct wio_handle h = receive_wide(1, 9000, 5);
    assert_int_equal(fake_payload(1, out), 0);
    assert_wide(4000);
    assert_int_equal(more(1, 1, 4000, 5000), 0);
    assert_wide(9000);
    assert_done(h, 0);
    assert_nothing_held();
}

static void a_receive_in_the_middle_of_a_round_trip_is_withdrawn(void **unused)
{
    (void)unused;
    struct wio_result res;
    fake_open(1, ROOM);
    struct wio_handle h = receive_wide(1, 1000, 5);
    assert_int_equal(wio_cancel(u, &h), 0);
    assert_true(done(&h, &res));
    assert_true(res.cancelled);
    assert_nothing_held();
    assert_int_equal(eager(1, 1, 5, 1000, 1000), 0); /* it is held for another one */
    assert_wide(0);
}

static void a_persistent_receive_can_be_freed_while_it_is_active(void **unused)
{
    (void)unused;
    struct wio_spread s = spread_at(wide);
    struct wio_handle h;
    struct wio_result res;
    fake_open(1, ROOM);
    assert_int_equal(wio_irecv_spread(u, g, 1, &s, 1000, 5, true, &h), 0);
    assert_int_equal(wio_start(u, &h), 0);
    assert_int_equal(eager(1, 1, 5, 700, 700), 0);
    assert_true(done(&h, &res));
    assert_int_equal(res.bytes, 700);
    assert_int_equal(wio_start(u, &h), 0);
    assert_int_equal(wio_request_free(u, &h), 0);
    assert_int_equal(spread_refs, 1);
    assert_int_equal(eager(1, 2, 5, 1000, 1000), 0);
    assert_wide(1000);
    assert_nothing_held();
}

/* ---- matched probes ---- */

static void ask(uint32_t number, size_t bytes, uint64_t id, bool lends)
{
    struct wio_msg m = envelope(WIO_OP_RTS, number, 5, bytes, id);
    m.flags = lends ? WIO_MSG_LENDS : 0;
    assert_int_equal(fake_message(1, m, NULL, 0), 0);
}

static void a_claimed_message_stays_at_its_sender(void **unused)
{
    (void)unused;
    struct wio_handle h, mine;
    struct wio_spread s = spread_at(wide);
    struct wio_result res;
    bool found;
    fake_open(1, ROOM);
    ask(1, 100000, 33, false);
    ask(2, 200000, 34, false);
    assert_int_equal(wio_claim(u, g, 1, 5, &found, &h), 0);
    assert_true(found);
    assert_null(last_sent(WIO_OP_CTS));
    struct wio_handle next = receive_wide(1, BIG, 5); /* another thread gets the next one */
    assert_int_equal(last_sent(WIO_OP_CTS)->msg.b, 34);
    assert_pending(h);
    assert_int_equal(wio_cancel(u, &h), 0); /* it has its message */
    assert_pending(h);
    assert_int_equal(data(wio_req_id(wio_req_at(u, h.index, h.generation)), 0, 10),
                     WAITIO_ERR_PROTOCOL); /* it has not been asked for */
    mine = h;
    assert_int_equal(wio_claimed_recv(u, &mine, NULL, &s, 100000), 0);
    assert_int_equal(last_sent(WIO_OP_CTS)->msg.b, 33);
    uint64_t id = last_sent(WIO_OP_CTS)->msg.space;
    assert_int_equal(data(id, 0, 60000), 0);
    assert_int_equal(data(id, 60000, 40000), 0);
    assert_wide(100000);
    assert_true(done(&mine, &res));
    assert_int_equal(res.bytes, 100000);
    assert_int_equal(res.source, 1);
    assert_int_equal(res.tag, 5);
    assert_pending(next);
    assert_int_equal(wio_claimed_recv(u, &h, NULL, &s, 100000), WAITIO_ERR_REQUEST);
}

static void what_has_come_is_not_claimed(void **unused)
{
    (void)unused;
    struct wio_handle h;
    bool found = true;
    fake_open(1, ROOM);
    assert_int_equal(wio_claim(u, g, 1, 5, &found, &h), 0);
    assert_false(found);
    assert_int_equal(eager(1, 1, 5, 1000, 1000), 0);
    assert_int_equal(wio_claim(u, g, 1, 5, &found, &h), 0);
    assert_false(found);
    assert_done(receive_wide(1, 1000, 5), 0);
    assert_wide(1000);
}

static void a_claimed_message_ends_with_its_sender(void **unused)
{
    (void)unused;
    struct wio_handle before, after, end;
    struct wio_spread s = spread_at(wide);
    bool found;
    fake_open(1, ROOM);
    for (int i = 0; i < 3; i++)
        ask(1 + (uint32_t)i, 100000, 33 + (uint64_t)i, i == 1);
    assert_int_equal(wio_claim(u, g, 1, 5, &found, &before), 0);
    assert_int_equal(wio_claim(u, g, 1, 5, &found, &after), 0);
    assert_int_equal(wio_claim(u, g, 1, 5, &found, &end), 0); /* never received */
    assert_int_equal(wio_claimed_recv(u, &before, NULL, &s, 100000), 0);
    fake_state(1, WIO_EP_CLOSED, WAITIO_ERR_PEER, WIO_BYE_NONE);
    assert_int_equal(wio_claimed_recv(u, &after, NULL, &s, 100000), 0);
    assert_done(before, WAITIO_ERR_PEER);
    assert_done(after, WAITIO_ERR_PEER);
    assert_nothing_held();
}

static void who_leaves_refuses_claimed_messages(void **unused)
{
    (void)unused;
    struct wio_handle h;
    bool found;
    fake_open(1, ROOM);
    ask(1, 100000, 33, false);
    assert_int_equal(wio_claim(u, g, 1, 5, &found, &h), 0);
    struct wio_strbuf sb = {0};
    wio_universe_dump(u, &sb);
    assert_non_null(strstr(sb.text, "100000 bytes: a matched probe has taken it"));
    wio_strbuf_free(&sb);
    wio_recv_refuse_held(u);
    assert_int_equal(last_sent(WIO_OP_DONE)->msg.b, 33);
    assert_int_equal(last_sent(WIO_OP_DONE)->msg.space, WIO_DONE_REFUSED);
    assert_int_equal(wio_claimed_recv(u, &h, in, NULL, 100000), 0);
    assert_null(last_sent(WIO_OP_CTS));
    assert_done(h, WAITIO_ERR_STATE);
    assert_int_equal(u->peer[1]->moving, 0);
}

/* ---- bad days ---- */

static void peer_death_lets_go_of_everything(void **unused)
{
    (void)unused;
    fill_wide();
    fake_open(1, ROOM);
    struct wio_handle asked = send_wide(1, BIG, 1), moving = send_wide(1, BIG, 2),
                      r = receive_wide(1, BIG, 3), posted = receive_wide(1, 10, 4);
    uint64_t id = last_sent(WIO_OP_RTS)->msg.b;
    fake.answer = WIO_TX_QUEUED;
    assert_int_equal(control(1, WIO_OP_CTS, 9, BIG, id), 0); /* a piece is with the transport now */
    struct wio_msg m = envelope(WIO_OP_EAGER, 1, 3, MIDDLE, 0);
    assert_int_equal(fake_header(1, &m, 100000), 0); /* another one is arriving */
    assert_true(u->ctr.piece_bytes >= 2 * WIO_SPREAD_PIECE);
    fake_state(1, WIO_EP_CLOSED, WAITIO_ERR_PEER, WIO_BYE_NONE);
    assert_done(asked, WAITIO_ERR_PEER);
    assert_done(moving, WAITIO_ERR_PEER);
    assert_done(r, WAITIO_ERR_PEER);
    assert_done(posted, WAITIO_ERR_PEER);
    assert_nothing_held();
}

static int no_memory(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    return call == WIO_OS_MEM && bytes >= WIO_SPREAD_PIECE ? -1 : 0;
}

static void without_memory_for_a_piece_the_peer_is_failed(void **unused)
{
    (void)unused;
    fill_wide();
    fake_open(1, ROOM);
    fake_open(2, ROOM);
    struct wio_handle h = send_wide(1, BIG, 1), other = send_wide(2, BIG, 1);
    uint64_t id = fake.sent[0].msg.b;
    wio_os_fault = no_memory;
    (void)control(1, WIO_OP_CTS, 9, BIG, id);
    wio_progress(u, WIO_PROGRESS_FULL); /* closes the link */
    wio_progress(u, WIO_PROGRESS_FULL); /* hears that it is closed */
    wio_os_fault = NULL;
    assert_done(h, WAITIO_ERR_NOMEM);
    assert_non_null(strstr(wio_last_error(), "no memory"));
    assert_pending(other);
    assert_int_equal(u->ctr.piece_bytes, 0);
}

static void without_memory_for_what_arrives_the_link_is_closed(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    struct wio_handle h = receive_wide(1, BIG, 5);
    wio_os_fault = no_memory;
    assert_int_equal(eager(1, 1, 5, 200000, 200000), WAITIO_ERR_NOMEM);
    wio_os_fault = NULL;
    fake_state(1, WIO_EP_CLOSED, WAITIO_ERR_NOMEM, WIO_BYE_NONE);
    assert_done(h, WAITIO_ERR_PEER);
    assert_nothing_held();
}

static void a_universe_that_ends_lets_go(void **unused)
{
    (void)unused;
    fake_open(1, ROOM);
    receive_wide(1, BIG, 5);
    send_wide(1, BIG, 5);
    assert_int_equal(spread_refs, 2); /* end() counts them again */
}

/* ---- fetching ---- */

static int fetches;

static int fake_fetch(struct wio_ep *ep, const struct wio_lent *from, void *buf, size_t bytes)
{
    (void)ep;
    if (bytes == 0)
        return 0;
    if (++fetches == 3)
        return WAITIO_ERR_UNSUPPORTED;
    memcpy(buf, (const void *)(uintptr_t)from->at, bytes);
    return 0;
}

static void what_is_lent_is_fetched_in_pieces_and_written_on(void **unused)
{
    (void)unused;
    struct wio_msg m = envelope(WIO_OP_RTS, 1, 5, 500000, 44);
    m.flags = WIO_MSG_LENDS;
    fake.tr.fetch = fake_fetch;
    u->cfg.shm_fetch = WIO_CFG_SHM_FETCH_ON;
    u->attr[WIO_TR_TCP].caps = WIO_CAP_MEMORY;
    fetches = 0;
    fake_open(1, ROOM);
    struct wio_handle h = receive_wide(1, BIG, 5), again = receive_wide(1, 400000, 5);
    assert_int_equal(fake_message(1, m, NULL, 0), 0);
    assert_int_equal(control(1, WIO_OP_LENT, 0, (uint64_t)(uintptr_t)out, 44), 0);
    wio_progress(u, WIO_PROGRESS_FULL);
    wio_progress(u, WIO_PROGRESS_FULL);
    assert_int_equal(fetches, 2);
    assert_wide(500000);
    assert_done(h, 0);
    /* The next one has to be sent: the fetch fails. */
    memset(wide, 0xee, 2 * BIG);
    m.envelope = 2;
    m.b = 45;
    assert_int_equal(fake_message(1, m, NULL, 0), 0);
    assert_int_equal(control(1, WIO_OP_LENT, 0, (uint64_t)(uintptr_t)out, 45), 0);
    wio_progress(u, WIO_PROGRESS_FULL);
    assert_int_equal(last_sent(WIO_OP_CTS)->msg.a, 400000);
    assert_int_equal(data(last_sent(WIO_OP_CTS)->msg.space, 0, 400000), 0);
    assert_wide(400000);
    assert_done(again, WAITIO_ERR_TRUNCATE);
    assert_nothing_held();
}

static void a_claimed_message_is_fetched(void **unused)
{
    (void)unused;
    struct wio_handle early, late;
    struct wio_spread s = spread_at(wide);
    bool found;
    fake.tr.fetch = fake_fetch;
    u->cfg.shm_fetch = WIO_CFG_SHM_FETCH_ON;
    u->attr[WIO_TR_TCP].caps = WIO_CAP_MEMORY;
    fetches = 10; /* none fails */
    fake_open(1, ROOM);
    ask(1, 100000, 33, true);
    ask(2, 90000, 34, true);
    assert_int_equal(wio_claim(u, g, 1, 5, &found, &early), 0);
    assert_int_equal(control(1, WIO_OP_LENT, 0, (uint64_t)(uintptr_t)out, 34), 0);
    assert_int_equal(wio_claim(u, g, 1, 5, &found, &late), 0);
    assert_int_equal(control(1, WIO_OP_LENT, 0, (uint64_t)(uintptr_t)out, 33), 0);
    wio_progress(u, WIO_PROGRESS_FULL);
    assert_int_equal(fetches, 10); /* there is no buffer yet */
    assert_int_equal(wio_claimed_recv(u, &late, in, NULL, BIG), 0);
    wio_progress(u, WIO_PROGRESS_FULL);
    assert_same(90000);
    assert_int_equal(wio_claimed_recv(u, &early, NULL, &s, 100000), 0);
    wio_progress(u, WIO_PROGRESS_FULL);
    assert_wide(100000);
    assert_done(early, 0);
    assert_done(late, 0);
    assert_int_equal(count_sent(WIO_OP_DONE), 2);
    assert_nothing_held();
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_short_one_is_put_on_its_link),
        T(one_that_the_link_does_not_take_is_copied),
        T(the_rest_of_one_is_sent_from_the_copy),
        T(long_pieces_are_not_kept),
        T(one_without_a_link_is_copied),
        T(a_full_pool_makes_it_wait),
        T(a_middle_one_goes_in_pieces),
        T(a_big_one_asks_and_holds_one_piece),
        T(less_is_sent_when_less_is_wanted),
        T(many_at_a_time_hold_a_piece_for_what_is_queued),
        T(it_goes_on_over_a_new_link),
        T(a_synchronous_one_waits_for_its_receive),
        T(a_persistent_one_is_read_at_each_start),
        T(it_is_never_lent),
        T(an_expected_one_is_written_on),
        T(pieces_are_written_as_they_come),
        T(what_does_not_fit_is_dropped),
        T(a_message_that_came_before_is_written_from_where_it_is_held),
        T(a_receive_may_come_in_the_middle_of_a_piece),
        T(a_receive_in_the_middle_of_a_round_trip_is_withdrawn),
        T(a_persistent_receive_can_be_freed_while_it_is_active),
        T(a_claimed_message_stays_at_its_sender),
        T(what_has_come_is_not_claimed),
        T(a_claimed_message_ends_with_its_sender),
        T(a_claimed_message_is_fetched),
        T(who_leaves_refuses_claimed_messages),
        T(peer_death_lets_go_of_everything),
        T(without_memory_for_a_piece_the_peer_is_failed),
        T(without_memory_for_what_arrives_the_link_is_closed),
        T(a_universe_that_ends_lets_go),
        T(what_is_lent_is_fetched_in_pieces_and_written_on),
    };
    return cmocka_run_group_tests_name("p2p spread", tests, NULL, NULL);
}
