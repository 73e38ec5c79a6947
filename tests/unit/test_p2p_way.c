/* SPDX-License-Identifier: BSD-3-Clause */
/* Ring or fetch: the choice by measured messages, what the two sides say for it, and sends that
 * complete locally although they may be fetched. */
#include "p2p_hands.h"

enum { SOME = 16 << 10, TRIES = WIO_WAY_TRIES };

static int fetches;

static int fake_fetch(struct wio_ep *ep, const struct wio_lent *from, void *buf, size_t bytes)
{
    (void)ep;
    if (bytes == 0)
        return 0;
    fetches++;
    memcpy(buf, (const void *)(uintptr_t)from->at, bytes);
    return *(const uint64_t *)(uintptr_t)from->word == from->id ? 0 : WAITIO_ERR_SYSTEM;
}

static uint32_t recalled;

static uint32_t fake_recalls(struct wio_ep *ep, uint32_t more)
{
    (void)ep;
    return recalled += more;
}

static int measuring(void **unused)
{
    int rc = setup(unused);
    fake.tr.fetch = fake_fetch;
    fake.tr.recalls = fake_recalls;
    recalled = 7;
    u->cfg.shm_fetch = WIO_CFG_SHM_FETCH_AUTO;
    u->attr[WIO_TR_TCP].caps = WIO_CAP_MEMORY;
    fake.puts = true;
    fetches = 0;
    fake_open(1, 64 * ROOM);
    return rc;
}

/* ---- the choice ---- */

static void try_both(struct wio_way *w, size_t bytes, int64_t ring, int64_t fetch)
{
    for (int i = 0; i < 2 * TRIES; i++) {
        bool timed = false, fetched = wio_way_next(w, &timed);
        assert_true(timed);
        assert_int_equal(fetched, i >= TRIES);
        wio_way_took(w, fetched, bytes, i % TRIES == 1 ? (fetched ? fetch : ring) : 12000);
    }
}

static void the_quicker_way_is_taken_until_the_next_trial(void **unused)
{
    (void)unused;
    struct wio_way w = {0};
    int kept[] = {32, 64, 128, 256, 512, 512};
    for (size_t t = 0; t < sizeof kept / sizeof kept[0]; t++) {
        bool fetch = t % 2 == 0, timed;
        try_both(&w, SOME, fetch ? 9000 : 8000, 8500); /* the best of each counts */
        for (int i = 0; i < kept[t]; i++) {
            assert_int_equal(wio_way_next(&w, &timed), fetch);
            assert_false(timed);
        }
    }
}

static void a_trial_that_agrees_with_the_last_one_counts_longer(void **unused)
{
    (void)unused;
    for (int fetch = 0; fetch < 2; fetch++) {
        struct wio_way w = {0};
        int kept[] = {WIO_WAY_SOON, WIO_WAY_KEPT, WIO_WAY_KEPT};
        for (size_t t = 0; t < sizeof kept / sizeof kept[0]; t++) {
            bool timed;
            try_both(&w, SOME, fetch ? 9000 : 8000, 8500);
            for (int i = 0; i < kept[t]; i++) {
                assert_int_equal(wio_way_next(&w, &timed), fetch);
                assert_false(timed);
            }
        }
    }
}

static void plain_messages_count_too(void **unused)
{
    (void)unused;
    struct wio_way w = {0};
    assert_false(wio_way_plain(&w)); /* a trial is due */
    try_both(&w, SOME, 8000, 9000);
    for (int i = 0; i < WIO_WAY_SOON; i++)
        assert_true(wio_way_plain(&w));
    assert_false(wio_way_plain(&w));
    try_both(&w, SOME, 9000, 8000);
    assert_false(wio_way_plain(&w));
}

static void sizes_of_one_class_are_compared_by_byte(void **unused)
{
    (void)unused;
    struct wio_way w = {0};
    bool timed;
    for (int i = 0; i < 2 * TRIES; i++) { /* fetched ones are twice as long */
        bool fetched = wio_way_next(&w, &timed);
        wio_way_took(&w, fetched, fetched ? 16000 : 8000, fetched ? 1900 : 1000);
    }
    assert_true(wio_way_next(&w, &timed));
    struct wio_ways ways;
    assert_ptr_equal(wio_way_of(&ways, 1), &ways.of[0]);
    assert_ptr_equal(wio_way_of(&ways, SOME - 1), &ways.of[0]);
    assert_ptr_equal(wio_way_of(&ways, SOME), &ways.of[1]);
    assert_ptr_equal(wio_way_of(&ways, SIZE_MAX), &ways.of[WIO_WAY_CLASSES - 1]);
}

static void no_fetch_while_senders_are_held_up(void **unused)
{
    (void)unused;
    struct wio_way w = {0};
    bool timed;
    try_both(&w, SOME, 9000, 8000);
    assert_true(wio_way_next(&w, &timed));
    wio_way_late(&w); /* it may be an accident */
    assert_true(wio_way_next(&w, &timed));
    wio_way_late(&w);
    for (int i = 2; i < WIO_WAY_SOON; i++)
        assert_true(wio_way_plain(&w));
    for (int i = 0; i < TRIES; i++)
        assert_false(wio_way_next(&w, &timed)); /* the next trial, by the ring */
    for (int i = 0; i < 2; i++) {
        assert_true(wio_way_next(&w, &timed) && timed);
        wio_way_late(&w);
    }
    for (int i = 2; i < TRIES; i++)
        assert_false(wio_way_next(&w, &timed) || timed); /* enough of that */
}

static void accidents_are_forgotten(void **unused)
{
    (void)unused;
    struct wio_way w = {0};
    bool timed;
    try_both(&w, SOME, 9000, 8000);
    for (int k = 0; k < 3 * WIO_WAY_SOON; k++) {
        bool fetched = wio_way_next(&w, &timed);
        if (timed)
            wio_way_took(&w, fetched, SOME, fetched ? 8000 : 9000);
        else
            assert_true(fetched);
        if (fetched && k % (WIO_WAY_LATE + 1) == 0)
            wio_way_late(&w);
    }
}

static void a_fetch_that_takes_much_longer_is_not_tried_often(void **unused)
{
    (void)unused;
    static const struct {
        int times;
        int64_t ns; /* by the ring: 1000 */
    } rows[] = {{1, 4100}, {2, 2100}, {TRIES, 1900}};
    for (int row = 0; row < 3; row++) {
        struct wio_way w = {0};
        bool timed;
        for (int i = 0; i < TRIES + rows[row].times; i++) {
            bool fetched = wio_way_next(&w, &timed);
            assert_true(timed && fetched == (i >= TRIES));
            wio_way_took(&w, fetched, SOME, fetched ? rows[row].ns : 1000);
        }
        for (int i = rows[row].times; i < TRIES + WIO_WAY_SOON; i++)
            assert_false(wio_way_next(&w, &timed) || timed);
        (void)wio_way_next(&w, &timed);
        assert_true(timed);
    }
}

/* As measured for 1 MiB on a processor whose cores share no cache. */
static void a_way_that_still_gets_faster_is_tried_on(void **unused)
{
    (void)unused;
    static const int64_t ring[] = {115, 98, 80, 81}, fetch[] = {177, 150, 93, 69, 59, 58};
    struct wio_way w = {0};
    bool timed;
    for (int i = 0; i < 4; i++) {
        assert_false(wio_way_next(&w, &timed));
        wio_way_took(&w, false, 1 << 20, 1000 * ring[i]);
    }
    for (int i = 0; i < 6; i++) {
        assert_true(wio_way_next(&w, &timed) && timed);
        wio_way_took(&w, true, 1 << 20, 1000 * fetch[i]);
    }
    for (int i = 0; i < WIO_WAY_SOON; i++)
        assert_true(wio_way_next(&w, &timed) && !timed);
    for (int i = 0; i < WIO_WAY_MOST; i++) { /* not for ever */
        assert_false(wio_way_next(&w, &timed));
        wio_way_took(&w, false, SOME, 1000000 >> i);
    }
    assert_true(wio_way_next(&w, &timed) && timed);
}

static void without_an_answer_the_ring_is_taken(void **unused)
{
    (void)unused;
    struct wio_way w = {0};
    bool timed;
    for (int i = 0; i < 3 * (WIO_WAY_KEPT + 2 * TRIES); i++)
        assert_true(!wio_way_next(&w, &timed) || timed);
}

/* ---- the sender ---- */

static void answer_ns(uint64_t id, int ns)
{
    struct wio_msg m = {.op = WIO_OP_DONE, .tag = ns, .b = id};
    assert_int_equal(fake_message(1, m, NULL, 0), 0);
}

/* A trial of sends of n bytes, where the receiver answers so. */
static void trial_of_sends(size_t n, int ring_ns, int fetch_ns)
{
    for (int i = 0; i < TRIES; i++) {
        struct wio_handle h = isend(1, n, 5);
        const struct fake_sent *s = last_sent(WIO_OP_EAGER);
        assert_int_equal(s->msg.flags, WIO_MSG_TIMED);
        if (n <= u->cfg.local_max)
            assert_done(h, 0); /* the program need not wait for the answer */
        answer_ns(s->msg.b, ring_ns);
        if (n > u->cfg.local_max)
            assert_done(h, 0);
    }
    for (int i = 0; i < TRIES; i++) {
        struct wio_handle h = isend(1, n, 5);
        const struct fake_sent *s = last_sent(WIO_OP_RTS);
        assert_int_equal(s->msg.flags, WIO_MSG_TIMED | WIO_MSG_LENDS);
        answer_ns(s->msg.b, fetch_ns);
        assert_done(h, 0);
    }
    fake.nsent = 0;
}

static void sends_are_measured_and_go_the_quicker_way(void **unused)
{
    (void)unused;
    static const size_t sizes[] = {8 << 10, 64 << 10, 200 << 10};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        trial_of_sends(sizes[i], 5000, 9000);
        for (int k = 0; k < WIO_WAY_SOON; k++) {
            struct wio_handle h = isend(1, sizes[i], 5);
            if (sizes[i] > u->cfg.local_max)
                answer_ns(last_sent(WIO_OP_EAGER)->msg.b, 0);
            assert_done(h, 0);
            assert_int_equal(last_sent(WIO_OP_EAGER)->msg.flags, 0);
            assert_null(last_sent(WIO_OP_RTS));
            fake.nsent = 0;
        }
        trial_of_sends(sizes[i], 9000, 5000);
        struct wio_handle h = isend(1, sizes[i], 5);
        const struct fake_sent *s = last_sent(WIO_OP_RTS);
        assert_int_equal(s->msg.flags, WIO_MSG_LENDS);
        assert_null(last_sent(WIO_OP_EAGER));
        assert_pending(h);
        answer_ns(s->msg.b, 0);
        assert_done(h, 0);
        fake.nsent = 0;
    }
}

static void short_ones_and_other_transports_are_not_measured(void **unused)
{
    (void)unused;
    isend(1, (8 << 10) - 1, 5);
    u->peer[1]->memory = false;
    isend(1, 64 << 10, 5);
    u->peer[1]->memory = true;
    u->cfg.shm_fetch = WIO_CFG_SHM_FETCH_OFF;
    isend(1, 64 << 10, 5);
    u->cfg.shm_fetch = WIO_CFG_SHM_FETCH_AUTO;
    u->spin.crowded = true;
    isend(1, 64 << 10, 5);
    assert_int_equal(fake.nsent, 4);
    for (int i = 0; i < fake.nsent; i++)
        assert_true(fake.sent[i].msg.op == WIO_OP_EAGER && fake.sent[i].msg.flags == 0);
}

/* Its data is copied, the receiver is told so by the word, and asks for it. */
static void a_send_that_completes_locally_is_not_held_up(void **unused)
{
    (void)unused;
    struct wio_result res;
    uint8_t *data = malloc(SOME);
    trial_of_sends(SOME, 9000, 5000);
    for (int i = 0; i < 2; i++) {
        memcpy(data, out, SOME);
        struct wio_handle h;
        assert_int_equal(wio_isend(u, g, 1, data, SOME, 5, false, &h), 0);
        struct wio_msg lent = last_sent(WIO_OP_LENT)->msg;
        assert_true(lent.a == (uint64_t)(uintptr_t)data);
        assert_true(*(const uint64_t *)(uintptr_t)lent.space != 0);
        assert_int_equal(lent.envelope, 7 + i);
        assert_int_equal(wio_wait(u, &h, &res), 0); /* nobody receives it */
        assert_int_equal(res.err, 0);
        assert_true(*(const uint64_t *)(uintptr_t)lent.space == 0);
        assert_int_equal(recalled, 8 + i); /* before the buffer is the program's again */
        memset(data, 0, SOME);
        assert_int_equal(control(1, WIO_OP_CTS, 77, SOME, lent.b), 0);
        const struct fake_sent *s = last_sent(WIO_OP_DATA);
        assert_true(s != NULL && s->bytes == SOME);
        answer_ns(lent.b, 0);
        fake.nsent = 0;
    }
    isend(1, SOME, 5); /* no fetch before the next trial */
    assert_null(last_sent(WIO_OP_RTS));
    free(data);
}

static void what_is_tested_completes_too(void **unused)
{
    (void)unused;
    struct wio_result res;
    trial_of_sends(SOME, 9000, 5000);
    struct wio_handle h = isend(1, SOME, 5);
    int64_t end = wio_os_now_ns() + 10 * INT64_C(1000000000);
    while (!done(&h, &res))
        assert_true(wio_os_now_ns() < end);
    assert_int_equal(u->ctr.pool_bytes, SOME);
    answer_ns(last_sent(WIO_OP_RTS)->msg.b, 0); /* it was fetched just before */
    assert_int_equal(u->ctr.pool_bytes, 0);
}

static void what_an_event_loop_waits_for_completes_too(void **unused)
{
    (void)unused;
    int fd;
    trial_of_sends(SOME, 9000, 5000);
    u->service_runs = true; /* nothing is asked of it */
    assert_int_equal(wio_watch_open(u, &fd), 0);
    u->service_runs = false;
    struct wio_handle h = isend(1, SOME, 5);
    assert_int_equal(wio_watch_arm(u, fd), 0);
    assert_int_equal(wio_os_poll_in(&fd, 1, 0), 1); /* the loop looks again */
    assert_done(h, 0);
    assert_int_equal(wio_watch_close(u, fd), 0);
}

static void a_death_ends_it(void **unused)
{
    (void)unused;
    trial_of_sends(SOME, 9000, 5000);
    struct wio_handle h = isend(1, SOME, 5), all = isend(1, BIG, 5);
    fake_state(1, WIO_EP_CLOSED, WAITIO_ERR_PEER, WIO_BYE_NONE);
    wio_progress(u, WIO_PROGRESS_FULL);
    assert_done(h, WAITIO_ERR_PEER);
    assert_done(all, WAITIO_ERR_PEER);
    assert_true(wio_list_empty(&u->lent));
}

/* ---- the receiver ---- */

static void the_receiver_says_how_long_it_took(void **unused)
{
    (void)unused;
    struct wio_handle h = irecv(1, SOME, 5);
    struct wio_msg m = envelope(WIO_OP_EAGER, 1, 5, SOME, 33);
    m.flags = WIO_MSG_TIMED;
    assert_int_equal(fake_message(1, m, out, SOME), 0);
    assert_done(h, 0);
    assert_true(last_sent(WIO_OP_DONE)->msg.tag > 0);
    m = envelope(WIO_OP_RTS, 2, 6, BIG, 34); /* held before its receive comes */
    m.flags = WIO_MSG_TIMED | WIO_MSG_LENDS;
    assert_int_equal(fake_message(1, m, NULL, 0), 0);
    uint64_t word = 34;
    struct wio_msg lent = {.op = WIO_OP_LENT,
                           .space = (uint64_t)(uintptr_t)&word,
                           .a = (uint64_t)(uintptr_t)out,
                           .b = 34};
    assert_int_equal(fake_message(1, lent, NULL, 0), 0);
    h = irecv(1, BIG, 6);
    for (int i = 0; i < 10; i++)
        wio_progress(u, WIO_PROGRESS_FULL);
    assert_done(h, 0);
    assert_same(BIG);
    assert_true(last_sent(WIO_OP_DONE)->msg.b == 34 && last_sent(WIO_OP_DONE)->msg.tag > 0);
    h = irecv(1, SOME, 7); /* taken back: not what was read counts, but what is sent */
    word = 0;
    lent.b = 35;
    memset(in, 0, BIG);
    m = envelope(WIO_OP_RTS, 3, 7, SOME, 35);
    m.flags = WIO_MSG_LENDS;
    assert_int_equal(fake_message(1, m, NULL, 0), 0);
    assert_int_equal(fake_message(1, lent, NULL, 0), 0);
    wio_progress(u, WIO_PROGRESS_FULL);
    assert_pending(h);
    const struct fake_sent *cts = last_sent(WIO_OP_CTS);
    assert_true(cts != NULL && cts->msg.a == SOME);
    struct wio_msg d = {.op = WIO_OP_DATA, .space = cts->msg.space};
    assert_int_equal(fake_message(1, d, out, SOME), 0);
    assert_done(h, 0);
    assert_same(SOME);
    assert_int_equal(last_sent(WIO_OP_DONE)->msg.tag, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, measuring, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_quicker_way_is_taken_until_the_next_trial),
        cmocka_unit_test(a_trial_that_agrees_with_the_last_one_counts_longer),
        cmocka_unit_test(plain_messages_count_too),
        cmocka_unit_test(sizes_of_one_class_are_compared_by_byte),
        cmocka_unit_test(no_fetch_while_senders_are_held_up),
        cmocka_unit_test(accidents_are_forgotten),
        cmocka_unit_test(a_fetch_that_takes_much_longer_is_not_tried_often),
        cmocka_unit_test(a_way_that_still_gets_faster_is_tried_on),
        cmocka_unit_test(without_an_answer_the_ring_is_taken),
        T(sends_are_measured_and_go_the_quicker_way),
        T(short_ones_and_other_transports_are_not_measured),
        T(a_send_that_completes_locally_is_not_held_up),
        T(what_is_tested_completes_too),
        T(what_an_event_loop_waits_for_completes_too),
        T(a_death_ends_it),
        T(the_receiver_says_how_long_it_took),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
