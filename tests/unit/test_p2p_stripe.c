/* SPDX-License-Identifier: BSD-3-Clause */
/* Long messages over several connections, over the scripted transport: who takes which piece, what
 * goes again when a lane breaks, in which order pieces may come, what a hostile peer can say, and
 * who holds a buffer when the peer dies. */
#include "p2p_hands.h"
#include "p2p/stripe.h"

enum { UNIT = WIO_STRIPE_UNIT, UNITS = BIG / UNIT, PEER = 1, THEIRS = 77 };

static struct fake_ep *way[WIO_LANES]; /* 0: the link */
static unsigned wanted;
static int lane_rc;

static int fake_lane(struct wio_ep *ep, unsigned lane, struct wio_ep **beside)
{
    assert_int_equal(ep->lane, 0);
    if (lane > wanted)
        return WAITIO_ERR_UNSUPPORTED;
    if (lane_rc != 0)
        return lane_rc;
    way[lane] = calloc(1, sizeof *way[lane]);
    way[lane]->ep = (struct wio_ep){
        .iface = ep->iface, .peer = ep->peer, .state = WIO_EP_CONNECTING, .lane = (uint8_t)lane};
    *beside = &way[lane]->ep;
    return 0;
}

static int striping(void **unused)
{
    int rc = setup(unused);
    fake.tr.lane = fake_lane;
    memset(way, 0, sizeof way);
    wanted = 2;
    lane_rc = 0;
    fake_open(PEER, ROOM);
    way[0] = fake.ep[PEER];
    fake.answer = WIO_TX_QUEUED;
    return rc;
}

/* What the short hands do with the peer's link they do with this one. */
static void look_at(unsigned lane)
{
    fake.ep[PEER] = way[lane];
}

static void lane_ready(unsigned lane)
{
    look_at(lane);
    fake_state(PEER, WIO_EP_READY, 0, WIO_BYE_NONE);
    look_at(0);
    wio_progress(u, WIO_PROGRESS_FULL);
}

/* A link gives back what it holds. @return how much */
static int give_back(unsigned lane, int err)
{
    int n = 0, sent = fake.nsent;
    for (int i = 0; i < sent; i++) {
        struct wio_tx *tx = fake.sent[i].tx;
        if (tx == NULL || fake.sent[i].lane != lane)
            continue;
        fake.sent[i].tx = NULL;
        tx->done(tx, err);
        n++;
    }
    return n;
}

static void way_closed(unsigned lane, int err, uint32_t taken)
{
    struct fake_ep *e = way[lane];
    way[lane] = NULL;
    e->ep.state = WIO_EP_CLOSED;
    e->ep.taken = taken;
    if (e->body)
        wio_p2p_upcalls.on_abandon(u, PEER, &e->sink);
    (void)give_back(lane, err != 0 ? err : WAITIO_ERR_PEER);
    if (lane == 0)
        fake.ep[PEER] = NULL;
    wio_p2p_upcalls.on_state(u, &e->ep, PEER, WIO_EP_CLOSED, err, WIO_BYE_NONE, "as the test says");
    wio_progress(u, WIO_PROGRESS_FULL);
}

/* A send whose receiver takes pieces in any order. */
static struct wio_handle striped_send(uint64_t *id)
{
    struct wio_handle h = isend(PEER, BIG, 5);
    *id = last_sent(WIO_OP_RTS)->msg.b;
    assert_int_equal(give_back(0, 0), 1);
    struct wio_msg m = {
        .op = WIO_OP_CTS, .flags = WIO_MSG_STRIPES, .space = THEIRS, .a = BIG, .b = *id};
    assert_int_equal(fake_message(PEER, m, NULL, 0), 0);
    return h;
}

/* How often each piece has been sent, and that it is the right one. */
static void count_pieces(int times[UNITS])
{
    memset(times, 0, UNITS * sizeof *times);
    for (int i = 0; i < fake.nsent; i++) {
        const struct fake_sent *s = &fake.sent[i];
        if (s->msg.op != WIO_OP_DATA)
            continue;
        assert_true(s->msg.space == THEIRS && s->msg.b == UNIT && s->bytes % UNIT == 0);
        assert_true(s->msg.a % UNIT == 0 && s->msg.a + s->bytes <= BIG);
        assert_true(s->sum == fake_sum(out + s->msg.a, s->bytes));
        for (uint32_t k = 0; k < s->bytes / UNIT; k++)
            times[s->msg.a / UNIT + k]++;
    }
}

static void each_piece(int least)
{
    int times[UNITS];
    count_pieces(times);
    for (int i = 0; i < UNITS; i++)
        assert_true(times[i] >= least && times[i] <= 2);
}

static int units_sent(void)
{
    int n = 0;
    for (int i = 0; i < fake.nsent; i++)
        if (fake.sent[i].msg.op == WIO_OP_DATA)
            n += (int)(fake.sent[i].bytes / UNIT);
    return n;
}

static int pieces_by(unsigned lane)
{
    int n = 0;
    for (int i = 0; i < fake.nsent; i++)
        n += fake.sent[i].msg.op == WIO_OP_DATA && fake.sent[i].lane == lane;
    return n;
}

static uint64_t mine;

static struct wio_handle striped_recv(size_t room, size_t total)
{
    static uint32_t number;
    number = u->peer[PEER] != NULL ? u->peer[PEER]->recv_envelope + 1 : 1;
    struct wio_handle h = irecv(PEER, room, 5);
    struct wio_msg rts = envelope(WIO_OP_RTS, number, 5, total, 99);
    assert_int_equal(fake_message(PEER, rts, NULL, 0), 0);
    assert_int_equal(last_sent(WIO_OP_CTS)->msg.flags, WIO_MSG_STRIPES);
    mine = last_sent(WIO_OP_CTS)->msg.space;
    return h;
}

static void inbound_lane(unsigned lane)
{
    struct wio_ep *ep;
    assert_int_equal(fake_lane(&way[0]->ep, lane, &ep), 0);
    lane_ready(lane);
}

static struct wio_msg piece_of(uint64_t at)
{
    return (struct wio_msg){.op = WIO_OP_DATA, .space = mine, .a = at, .b = UNIT};
}

static int piece(unsigned lane, unsigned i)
{
    look_at(lane);
    int rc = fake_message(PEER, piece_of((uint64_t)i * UNIT), out + (size_t)i * UNIT, UNIT);
    look_at(0);
    return rc;
}

/* Each takes the next one when it has room: a slow one takes few. They are longer at first. */
static void who_has_room_takes_the_next_piece(void **unused)
{
    (void)unused;
    uint64_t id;
    struct wio_handle h = striped_send(&id);
    assert_int_equal(pieces_by(0), 1); /* lanes are not there yet: nobody waits for them */
    lane_ready(1);
    lane_ready(2);
    assert_true(pieces_by(1) == 1 && pieces_by(2) == 1);
    assert_int_equal(last_sent(WIO_OP_DATA)->bytes, UNIT);
    assert_int_equal(units_sent(), 4 + 1 + 1);
    for (int i = 0; i < 2; i++)
        assert_int_equal(give_back(1, 0), 1);
    assert_true(pieces_by(0) == 1 && pieces_by(1) == 3 && pieces_by(2) == 1);
    while (give_back(0, 0) + give_back(1, 0) > 0) {
    }
    assert_pending(h);
    assert_int_equal(pieces_by(2), 1);
    assert_int_equal(give_back(2, 0), 1);
    assert_int_equal(units_sent(), UNITS);
    each_piece(1);
    assert_pending(h);
    assert_int_equal(control(PEER, WIO_OP_DONE, 0, BIG, id), 0);
    assert_done(h, 0);
    assert_int_equal(u->ctr.stripe_msgs, 1);
    assert_int_equal(u->ctr.stripe_bytes, (pieces_by(1) + pieces_by(2)) * UNIT);
    assert_int_equal(u->ctr.lane_opens, 2);
}

static void two_messages_take_turns(void **unused)
{
    (void)unused;
    uint64_t a, b;
    struct wio_handle h = striped_send(&a);
    lane_ready(1);
    struct wio_handle k = isend(PEER, BIG, 6);
    while (give_back(0, 0) > 0 && last_sent(WIO_OP_RTS)->msg.b == a) {
    }
    b = last_sent(WIO_OP_RTS)->msg.b;
    (void)give_back(0, 0);
    struct wio_msg m = {
        .op = WIO_OP_CTS, .flags = WIO_MSG_STRIPES, .space = THEIRS + 1, .a = BIG, .b = b};
    assert_int_equal(fake_message(PEER, m, NULL, 0), 0);
    while (give_back(0, 0) + give_back(1, 0) > 0) {
    }
    assert_int_equal(units_sent(), 2 * UNITS);
    assert_int_equal(control(PEER, WIO_OP_DONE, 0, BIG, b), 0);
    assert_int_equal(control(PEER, WIO_OP_DONE, 0, BIG, a), 0);
    assert_done(h, 0);
    assert_done(k, 0);
}

/* Who does not say that it takes any order gets the usual one, by the link alone. */
static void a_receiver_decides(void **unused)
{
    (void)unused;
    struct wio_handle h = isend(PEER, BIG, 5);
    uint64_t id = last_sent(WIO_OP_RTS)->msg.b;
    (void)give_back(0, 0);
    assert_int_equal(control(PEER, WIO_OP_CTS, THEIRS, BIG, id), 0);
    while (give_back(0, 0) > 0) {
    }
    assert_int_equal(last_sent(WIO_OP_DATA)->msg.b, 0);
    assert_null(way[1]);
    assert_int_equal(control(PEER, WIO_OP_DONE, 0, BIG, id), 0);
    assert_done(h, 0);
}

static void without_lanes_all_is_as_ever(void **unused)
{
    (void)unused;
    uint64_t id;
    wanted = 0;
    struct wio_handle h = striped_send(&id);
    while (give_back(0, 0) > 0) {
    }
    assert_int_equal(last_sent(WIO_OP_DATA)->msg.b, 0);
    assert_int_equal(control(PEER, WIO_OP_DONE, 0, BIG, id), 0);
    assert_done(h, 0);
    lane_rc = WAITIO_ERR_LIMIT; /* the cap allows none now */
    wanted = 2;
    h = striped_send(&id);
    while (give_back(0, 0) > 0) {
    }
    assert_int_equal(control(PEER, WIO_OP_DONE, 0, BIG, id), 0);
    assert_done(h, 0);
    assert_int_equal(u->ctr.stripe_msgs, 0);
}

/* Of three pieces on the lane the peer has taken one: the others go again, by whoever is left. */
static void what_a_lost_lane_held_goes_again(void **unused)
{
    (void)unused;
    for (int late = 0; late < 2; late++) { /* before, and after all pieces have left */
        uint64_t id;
        fake.nsent = 0;
        struct wio_handle h = striped_send(&id);
        lane_ready(1);
        (void)give_back(1, 0);
        (void)give_back(1, 0);
        while (late && give_back(0, 0) > 0) {
        }
        if (late)
            (void)give_back(1, 0);
        assert_int_equal(pieces_by(1), 3);
        uint64_t before = u->ctr.stripe_again;
        way_closed(1, WAITIO_ERR_PEER, 1);
        assert_int_equal(u->ctr.stripe_again - before, 2 * UNIT);
        while (give_back(0, 0) > 0) {
        }
        each_piece(1);
        assert_int_equal(units_sent(), UNITS + 2);
        assert_pending(h);
        assert_int_equal(control(PEER, WIO_OP_DONE, 0, BIG, id), 0);
        assert_done(h, 0);
        assert_false(u->peer[PEER]->dead);
        u->peer[PEER]->lanes->again_ns = 0;
        assert_int_equal(u->ctr.lane_breaks, late + 1);
        free(way[2]); /* it never was ready */
        way[2] = NULL;
        u->peer[PEER]->lanes->at[2].ep = NULL;
    }
}

/* Something between the two has forgotten the lane, and only one end knows. */
static void who_loses_a_lane_says_so(void **unused)
{
    (void)unused;
    uint64_t id;
    wanted = 1;
    struct wio_handle h = striped_send(&id);
    lane_ready(1);
    struct fake_ep *lane = way[1];
    assert_int_equal(control(PEER, WIO_OP_LANE, 0, 2, 0), 0); /* not there */
    assert_int_equal(control(PEER, WIO_OP_LANE, 0, WIO_LANES, 0), WAITIO_ERR_PROTOCOL);
    assert_int_equal(control(PEER, WIO_OP_LANE, 0, 1, 0), 0);
    wio_progress(u, WIO_PROGRESS_FULL);
    assert_int_equal(lane->closes, 1);
    way_closed(1, 0, 0);
    while (give_back(0, 0) > 0) {
    }
    assert_int_equal(units_sent(), UNITS + 1);
    assert_int_equal(control(PEER, WIO_OP_DONE, 0, BIG, id), 0);
    assert_done(h, 0);
    assert_null(last_sent(WIO_OP_LANE)); /* it knows */
    h = striped_recv(BIG, BIG);
    inbound_lane(1);
    assert_int_equal(piece(1, 0), 0);
    way_closed(1, WAITIO_ERR_PEER, 0);
    assert_int_equal(last_sent(WIO_OP_LANE)->msg.a, 1);
    for (unsigned i = 1; i < UNITS; i++)
        assert_int_equal(piece(0, i), 0);
    assert_done(h, 0);
}

/* The answer comes while a piece is to go again: nobody waits for that. */
static void done_ends_what_goes_again(void **unused)
{
    (void)unused;
    uint64_t id;
    wanted = 1;
    struct wio_handle h = striped_send(&id);
    lane_ready(1);
    while (give_back(0, 0) + give_back(1, 0) > 0) {
    }
    fake.answer = WAITIO_ERR_BUSY;
    way_closed(1, WAITIO_ERR_PEER, 0);
    assert_pending(h);
    assert_int_equal(control(PEER, WIO_OP_DONE, 0, BIG, id), 0);
    assert_done(h, 0);
    assert_true(wio_list_empty(&u->peer[PEER]->lanes->queue));
}

/* The answer comes while a lane still holds a piece, and then the lane ends: nobody else would end
 * the send. */
static void done_comes_before_the_end_of_a_lane(void **unused)
{
    (void)unused;
    uint64_t id;
    wanted = 1;
    struct wio_handle h = striped_send(&id);
    lane_ready(1);
    while (give_back(0, 0) > 0) {
    }
    assert_int_equal(control(PEER, WIO_OP_DONE, 0, BIG, id), 0);
    assert_pending(h);
    way_closed(1, WAITIO_ERR_PEER, 0);
    assert_done(h, 0);
    assert_false(u->peer[PEER]->dead);
}

/* The cap closes the lane, and then the link, with pieces left that nobody has taken. Guard: a peer
 * that has nothing else to send is not dialled again, and the send waits for ever. */
static void pieces_that_are_left_need_a_link(void **unused)
{
    (void)unused;
    uint64_t id;
    wanted = 1;
    struct wio_handle h = striped_send(&id);
    way_closed(1, 0, 0);
    way[0]->ep.state = WIO_EP_CLOSING;
    fake_state(PEER, WIO_EP_CLOSING, 0, WIO_BYE_CAP);
    assert_int_equal(give_back(0, 0), 1); /* what it has leaves before the goodbye */
    assert_true(units_sent() < UNITS);
    int dials = fake.dials[PEER];
    way_closed(0, 0, 0);
    assert_int_equal(fake.dials[PEER], dials + 1);
    way[0] = fake.ep[PEER];
    fake_state(PEER, WIO_EP_READY, 0, WIO_BYE_NONE);
    wio_progress(u, WIO_PROGRESS_FULL);
    while (give_back(0, 0) > 0) {
    }
    each_piece(1);
    assert_int_equal(control(PEER, WIO_OP_DONE, 0, BIG, id), 0);
    assert_done(h, 0);
}

/* Another program listens at the lane's address: the link has the peer all the same. */
static void a_lane_that_a_stranger_answers_ends_nothing(void **unused)
{
    (void)unused;
    uint64_t id;
    wanted = 1;
    struct wio_handle h = striped_send(&id);
    way_closed(1, WAITIO_ERR_PROTOCOL, 0);
    assert_int_equal(way[0]->closes, 0);
    while (give_back(0, 0) > 0) {
    }
    assert_int_equal(control(PEER, WIO_OP_DONE, 0, BIG, id), 0);
    assert_done(h, 0);
    assert_false(u->peer[PEER]->dead);
}

static void a_broken_protocol_on_a_lane_ends_the_peer(void **unused)
{
    (void)unused;
    uint64_t id;
    wanted = 1;
    struct wio_handle h = striped_send(&id);
    lane_ready(1);
    struct fake_ep *link = way[0];
    way_closed(1, WAITIO_ERR_PROTOCOL, 0);
    assert_int_equal(link->closes, 1);
    way_closed(0, WAITIO_ERR_PEER, 0);
    assert_done(h, WAITIO_ERR_PEER);
}

/* The lane still holds a part of the buffer when the peer is dead: the send is over only when that
 * has been given back. */
static void a_lane_outlives_its_peer(void **unused)
{
    (void)unused;
    uint64_t id;
    wanted = 1;
    struct wio_handle h = striped_send(&id);
    lane_ready(1);
    struct fake_ep *lane = way[1];
    way_closed(0, WAITIO_ERR_PEER, 0);
    assert_true(u->peer[PEER]->dead);
    assert_pending(h);
    wio_progress(u, WIO_PROGRESS_FULL);
    assert_true(lane->closes > 0 && wio_bye_is_final(lane->reason));
    way_closed(1, 0, 0);
    assert_done(h, WAITIO_ERR_PEER);
}

/* ---- receiving ---- */

static void pieces_come_in_any_order(void **unused)
{
    (void)unused;
    static const uint8_t order[UNITS] = {5, 0, 7, 1, 6, 2, 4, 3};
    struct wio_handle h = striped_recv(BIG, BIG);
    inbound_lane(1);
    for (int i = 0; i < UNITS; i++) {
        assert_pending(h);
        assert_int_equal(piece(i % 2, order[i]), 0);
    }
    assert_done(h, 0);
    assert_same(BIG);
    assert_int_equal(count_sent(WIO_OP_DONE), 1);
}

/* The last one is shorter, and the receive may be shorter than the message. */
static void the_last_piece_is_short(void **unused)
{
    (void)unused;
    size_t n = BIG - UNIT - 3;
    struct wio_handle h = striped_recv(n, BIG);
    inbound_lane(1);
    look_at(1);
    size_t last = (UNITS - 2) * (size_t)UNIT;
    assert_int_equal(fake_message(PEER, piece_of(last), out + last, (uint32_t)(n - last)), 0);
    look_at(0);
    for (unsigned i = 0; i < UNITS - 2; i++)
        assert_int_equal(piece(i % 2, i), 0);
    assert_done(h, WAITIO_ERR_TRUNCATE);
    assert_same(n);
}

/* It comes again by the link, because its lane broke at the other end: here the lane still writes
 * to the buffer, so it is closed before the program has the buffer back. */
static void a_buffer_is_free_when_nobody_writes_to_it(void **unused)
{
    (void)unused;
    struct wio_handle h = striped_recv(BIG, BIG);
    inbound_lane(1);
    struct wio_msg m = piece_of(0);
    look_at(1);
    assert_int_equal(fake_header(PEER, &m, UNIT), 0);
    look_at(0);
    for (unsigned i = 0; i < UNITS; i++)
        assert_int_equal(piece(0, i), 0);
    assert_pending(h);
    wio_progress(u, WIO_PROGRESS_FULL);
    assert_int_equal(way[1]->closes, 1);
    assert_pending(h);
    way_closed(1, WAITIO_ERR_PEER, 0);
    assert_done(h, 0);
    assert_same(BIG);
}

static void what_comes_twice_is_dropped(void **unused)
{
    (void)unused;
    struct wio_handle h = striped_recv(BIG, BIG);
    inbound_lane(1);
    for (unsigned i = 3; i < UNITS; i++) {
        assert_int_equal(piece(0, i), 0);
        look_at(1); /* with other bytes: nothing of it is used */
        assert_int_equal(fake_message(PEER, piece_of((uint64_t)i * UNIT), out + 1, UNIT), 0);
        look_at(0);
    }
    look_at(1); /* of three units one is there */
    assert_int_equal(fake_message(PEER, piece_of(UNIT), out + UNIT, 3 * UNIT), 0);
    look_at(0);
    assert_pending(h);
    assert_int_equal(piece(1, 0), 0);
    assert_done(h, 0);
    assert_same(BIG);
}

/* The lane broke before its sender heard that the last piece was taken: it comes again when the
 * receive has ended, before and after the program has seen that. */
static void what_comes_late_is_dropped(void **unused)
{
    (void)unused;
    struct wio_handle h = striped_recv(BIG, BIG);
    inbound_lane(1);
    for (unsigned i = 0; i < UNITS; i++)
        assert_int_equal(piece(0, i), 0);
    assert_int_equal(piece(0, UNITS - 1), 0);
    assert_int_equal(piece(1, UNITS - 1), 0);
    assert_done(h, 0);
    assert_int_equal(piece(0, UNITS - 1), 0);
    assert_int_equal(piece(1, UNITS - 1), 0);
    assert_false(u->peer[PEER]->dead);
}

static void a_receive_outlives_its_peer(void **unused)
{
    (void)unused;
    struct wio_handle h = striped_recv(BIG, BIG);
    inbound_lane(1);
    struct wio_msg m = piece_of(0);
    look_at(1);
    assert_int_equal(fake_header(PEER, &m, UNIT), 0);
    look_at(0);
    way_closed(0, WAITIO_ERR_PEER, 0);
    assert_pending(h);
    way_closed(1, WAITIO_ERR_PEER, 0);
    assert_done(h, WAITIO_ERR_PEER);
}

static int raw(unsigned lane, struct wio_msg m, uint32_t bytes)
{
    look_at(lane);
    int rc = fake_message(PEER, m, bytes > 0 ? out : NULL, bytes);
    look_at(0);
    return rc;
}

static void what_a_peer_must_not_send(void **unused)
{
    (void)unused;
    enum { BAD = WAITIO_ERR_PROTOCOL };
    struct wio_handle h = striped_recv(BIG, BIG);
    inbound_lane(1);
    struct wio_msg m = piece_of(0);
    assert_int_equal(raw(1, piece_of(UNIT / 2), UNIT), BAD); /* between two places */
    assert_int_equal(raw(1, piece_of(0), UNIT - 1), BAD);
    assert_int_equal(raw(1, piece_of(0), UNIT + 1), BAD);
    assert_int_equal(raw(1, piece_of(BIG - UNIT), 2 * UNIT), BAD);
    assert_int_equal(raw(1, piece_of(BIG), UNIT), BAD);
    assert_int_equal(raw(1, piece_of(BIG - UNIT), UNIT + 1), BAD);
    m.b = 1; /* a record of that order would be larger than the message */
    assert_int_equal(raw(1, m, 1), BAD);
    m.b = UINT64_MAX; /* sums of it would overflow */
    assert_int_equal(raw(1, m, BIG), BAD);
    m.b = 0;
    assert_int_equal(raw(1, m, UNIT), BAD); /* the usual order does not belong there */
    m = piece_of(0);
    m.space = mine + 1;
    assert_int_equal(raw(1, m, UNIT), BAD);
    m = envelope(WIO_OP_EAGER, 2, 5, 8, 0);
    assert_int_equal(raw(1, m, 8), BAD);
    assert_int_equal(raw(1, (struct wio_msg){.op = WIO_OP_CREDIT}, 0), BAD);
    assert_int_equal(piece(1, 1), 0);
    m = piece_of(0);
    m.b = 0; /* not both orders in one message ... */
    assert_int_equal(raw(0, m, UNIT), BAD);
    m.b = UNIT / 2; /* ... nor two lengths */
    assert_int_equal(raw(1, m, UNIT / 2), BAD);
    for (unsigned i = 0; i < UNITS; i++)
        assert_int_equal(piece(0, i), 0);
    assert_done(h, 0);
    assert_same(BIG);
}

static int leaving(void **unused)
{
    if (u != NULL) {
        wio_universe_destroy(u);
        u = NULL;
    }
    for (unsigned k = 1; k < WIO_LANES; k++)
        free(way[k]);
    return teardown(unused);
}

#define T(name) cmocka_unit_test_setup_teardown(name, striping, leaving)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(who_has_room_takes_the_next_piece),
        T(two_messages_take_turns),
        T(a_receiver_decides),
        T(without_lanes_all_is_as_ever),
        T(what_a_lost_lane_held_goes_again),
        T(done_ends_what_goes_again),
        T(who_loses_a_lane_says_so),
        T(done_comes_before_the_end_of_a_lane),
        T(pieces_that_are_left_need_a_link),
        T(a_lane_that_a_stranger_answers_ends_nothing),
        T(a_broken_protocol_on_a_lane_ends_the_peer),
        T(a_lane_outlives_its_peer),
        T(pieces_come_in_any_order),
        T(the_last_piece_is_short),
        T(a_buffer_is_free_when_nobody_writes_to_it),
        T(what_comes_twice_is_dropped),
        T(what_comes_late_is_dropped),
        T(a_receive_outlives_its_peer),
        T(what_a_peer_must_not_send),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
