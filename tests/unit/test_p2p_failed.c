/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives and probes from any source when a member fails: as MPI's programs expect it they end
 * with the failure until it is acknowledged; WaitIO's own go on as long as somebody lives. */
#include "p2p_hands.h"

static int three_links(void **unused)
{
    int rc = setup(unused);
    for (uint32_t peer = 1; peer < FAKE_PEERS; peer++)
        fake_open(peer, 64 * ROOM);
    return rc;
}

static void fails(uint32_t peer)
{
    fake_state(peer, WIO_EP_CLOSED, WAITIO_ERR_PEER, WIO_BYE_NONE);
    assert_true(u->peer[peer]->dead);
}

static void leaves(uint32_t peer)
{
    wio_peer_fail(u, u->peer[peer], WAITIO_ERR_PEER, true, "has left");
}

static struct wio_handle wary(int tag)
{
    return irecv(WIO_ANY_WARY, 100, tag);
}

static void assert_ended(struct wio_handle h, const char *who)
{
    assert_done(h, WAITIO_ERR_PEER);
    assert_non_null(strstr(wio_last_error(), who));
    assert_non_null(strstr(wio_last_error(), "acknowledge"));
}

static void a_posted_receive_ends_with_a_failure(void **unused)
{
    (void)unused;
    struct wio_handle h = wary(7), patient = irecv(-1, 100, 8), other = irecv(2, 100, 9);
    fails(1);
    assert_ended(h, "rank 1");
    assert_pending(patient);
    assert_pending(other);
}

static void a_later_one_does_until_the_failure_is_acknowledged(void **unused)
{
    (void)unused;
    uint32_t members[FAKE_PEERS];
    fails(1);
    assert_ended(wary(7), "rank 1");
    assert_ended(wary(7), "rank 1");
    assert_int_equal(wio_failures_acked(u, g, members), 0);
    wio_failures_ack(u, g);
    assert_int_equal(wio_failures_acked(u, g, members), 1);
    assert_int_equal(members[0], 1);
    struct wio_handle h = wary(7);
    assert_pending(h);
    assert_int_equal(eager(2, 1, 7, 10, 10), 0);
    assert_done(h, 0);
    h = wary(7);
    fails(3);
    assert_ended(h, "rank 3");
    assert_ended(wary(7), "rank 3"); /* the first one that is not acknowledged */
}

static void what_has_come_is_received_first(void **unused)
{
    (void)unused;
    assert_int_equal(eager(1, 1, 7, 10, 10), 0);
    assert_int_equal(eager(2, 1, 7, 10, 10), 0);
    fails(1);
    assert_done(wary(7), 0);
    assert_done(wary(7), 0);
    assert_ended(wary(7), "rank 1");
}

static void who_leaves_in_order_ends_nothing(void **unused)
{
    (void)unused;
    struct wio_handle h = wary(7);
    leaves(1);
    assert_pending(h);
    assert_pending(wary(7));
    leaves(2);
    leaves(3); /* nobody is left */
    assert_done(h, WAITIO_ERR_PEER);
    assert_non_null(strstr(wio_last_error(), "left"));
}

static void a_failure_elsewhere_ends_nothing(void **unused)
{
    (void)unused;
    struct waitio_group *both = NULL;
    assert_int_equal(wio_group_from_range(u->table, 1, 0, 2, &both), 0);
    wio_group_register(u, both);
    struct wio_handle h, later;
    assert_int_equal(wio_irecv(u, both, WIO_ANY_WARY, in, 10, 1, false, &h), 0);
    fails(3);
    assert_int_equal(wio_irecv(u, both, WIO_ANY_WARY, in, 10, 2, false, &later), 0);
    assert_pending(h);
    assert_pending(later);
}

static void persistent_ones_do_the_same(void **unused)
{
    (void)unused;
    struct wio_handle h;
    assert_int_equal(wio_irecv(u, g, WIO_ANY_WARY, in, 100, 7, true, &h), 0);
    assert_int_equal(wio_start(u, &h), 0);
    fails(2);
    assert_ended(h, "rank 2");
    wio_failures_ack(u, g);
    assert_int_equal(wio_start(u, &h), 0);
    assert_int_equal(eager(1, 1, 7, 10, 10), 0);
    assert_done(h, 0);
    assert_int_equal(wio_request_free(u, &h), 0);
}

/* @return the code of a probe that may wait for a minute */
static int probe(int tag)
{
    struct wio_result res;
    bool found = false;
    int rc = wio_probe_for(u, g, WIO_ANY_WARY, tag, 60000000000LL, &found, &res);
    return found ? 1 : rc;
}

static void death_during_a_probe(struct fake *f)
{
    f->script = NULL;
    fails(3);
}

static void probes_end_too(void **unused)
{
    (void)unused;
    fake.script = death_during_a_probe;
    assert_int_equal(probe(7), WAITIO_ERR_PEER);
    assert_non_null(strstr(wio_last_error(), "rank 3"));
    assert_int_equal(probe(7), WAITIO_ERR_PEER);
    assert_int_equal(eager(2, 1, 7, 10, 10), 0);
    assert_int_equal(probe(7), 1);
    wio_failures_ack(u, g);
    struct wio_result res;
    bool found = false;
    assert_int_equal(wio_probe(u, g, WIO_ANY_WARY, 8, false, &found, &res), 0);
    assert_false(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_posted_receive_ends_with_a_failure, three_links,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_later_one_does_until_the_failure_is_acknowledged,
                                        three_links, teardown),
        cmocka_unit_test_setup_teardown(what_has_come_is_received_first, three_links, teardown),
        cmocka_unit_test_setup_teardown(who_leaves_in_order_ends_nothing, three_links, teardown),
        cmocka_unit_test_setup_teardown(a_failure_elsewhere_ends_nothing, three_links, teardown),
        cmocka_unit_test_setup_teardown(persistent_ones_do_the_same, three_links, teardown),
        cmocka_unit_test_setup_teardown(probes_end_too, three_links, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
