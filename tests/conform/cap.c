/* SPDX-License-Identifier: BSD-3-Clause */
/** @file cap.c  The connection cap: how many links there are, who gets a place and when. */
#include "harness.h"

static struct world *capped(const struct wio_transport *tr, int n, int cap)
{
    struct world *w = world_new(tr, n);
    for (int i = 0; i < n; i++)
        w->node[i].cfg.max_connections = cap;
    return world_open(w);
}

static bool within_caps(const struct world *w)
{
    for (int i = 0; i < w->n; i++)
        if (w->node[i].cfg.max_connections > 0 &&
            w->node[i].ctr.links > (uint64_t)w->node[i].cfg.max_connections)
            return false;
    return true;
}

/* Never more than the cap and one; at rest the cap, which lasts; nobody was taken for dead. */
static void check_caps(struct world *w)
{
    UNTIL(w, within_caps(w));
    FOR_MS(w, 20);
    assert_true(within_caps(w));
    for (int i = 0; i < w->n; i++) {
        uint64_t cap = (uint64_t)w->node[i].cfg.max_connections;
        for (int k = 0; k < w->n; k++)
            assert_int_equal(w->node[i].peer[k].err, 0);
        if (cap > 0)
            assert_true(w->node[i].ctr.links_max <= cap + 1);
    }
}

static void test_reopens_without_loss(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        struct world *w = world_new(tr, 8);
        w->rng = 5;
        w->node[0].cfg.max_connections = 3;
        world_open(w);
        for (int round = 0; round < 200; round++) {
            node_send(&w->node[0], 1 + rnd(w, 7), rnd(w, 3000), 0, false);
            node_send(&w->node[1 + rnd(w, 7)], 0, rnd(w, 3000), 0, false);
            for (uint32_t k = rnd(w, 6); k > 0; k--)
                world_drive(w);
            assert_true(w->node[0].ctr.links <= 4);
        }
        UNTIL(w, all_arrived(w));
        assert_true(w->node[0].ctr.link_evictions >= 3);
        check_caps(w);
        world_free(w);
    }
}

/* Everybody has a cap and talks to everybody: evictions and dials cross all the time. */
static void test_everywhere(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        for (int cap = 1; cap <= 3; cap++) {
            struct world *w = capped(tr, 6, cap);
            w->rng = 9;
            for (int round = 0; round < 400; round++) {
                uint32_t a = rnd(w, 6), b = rnd(w, 6);
                if (a != b)
                    node_send(&w->node[a], b, rnd(w, 500), 0, false);
                for (uint32_t k = rnd(w, 4); k > 0; k--)
                    node_drive(&w->node[rnd(w, 6)], WIO_PROGRESS_FULL);
            }
            UNTIL(w, all_arrived(w));
            check_caps(w);
            world_free(w);
        }
    }
}

/* All dial their neighbour at once, all places are taken by dials: somebody must let somebody in.
 */
static void test_ring_of_dials(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        for (int far = 1; far <= 5; far++) {
            struct world *w = capped(tr, 12, far < 3 ? 1 : 2);
            for (int i = 0; i < 12; i++)
                for (int d = 1; d <= far; d++)
                    node_send(&w->node[i], (uint32_t)(i + d) % 12, 100, 0, false);
            UNTIL(w, all_arrived(w));
            check_caps(w);
            world_free(w);
        }
    }
}

/* Everybody shouts at one: nobody starves, and who was refused is called back. */
static void test_refused_dialers_get_their_turn(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        struct world *w = world_new(tr, 16);
        w->node[0].cfg.max_connections = 1;
        world_open(w);
        for (int i = 1; i < 16; i++)
            for (int k = 0; k < 5; k++)
                node_send(&w->node[i], 0, 3000, 0, false);
        UNTIL(w, all_arrived(w));
        check_caps(w);
        world_free(w);
    }
}

/* Two that never stop talking do not keep the others out. */
static void test_busy_links_take_turns(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        struct world *w = capped(tr, 4, 1);
        struct node *a = &w->node[0], *b = &w->node[1];
        uint32_t sent = 0;
        a->busy = b->busy = true;
        int64_t begun = wio_os_now_ns(), end = wt_until_ns(20 * SECOND);
        while (a->peer[2].nin < 3 || wio_os_now_ns() < begun + SECOND / 4) {
            if (wio_os_now_ns() > end)
                fail_msg("%u of 3 messages came beside the busy ones", a->peer[2].nin);
            if (a->ndone == a->nqueued && b->peer[0].nin == a->peer[1].next_out)
                node_send(a, 1, 1000, 0, false);
            if (b->ndone == b->nqueued && a->peer[1].nin == b->peer[0].next_out)
                node_send(b, 0, 1000, 0, false);
            if (w->node[2].ndone == w->node[2].nqueued && sent < 3)
                sent += node_send(&w->node[2], 0, 1000, 0, false) >= 0;
            world_drive(w);
            assert_true(a->ctr.links <= 2);
        }
        UNTIL(w, all_arrived(w));
        check_caps(w);
        world_free(w);
    }
}

static void test_takes_the_oldest_idle_one(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        struct world *w = world_new(tr, 5);
        w->node[0].cfg.max_connections = 2;
        world_open(w);
        struct node *a = &w->node[0];
        node_send(a, 1, 8, 0, false);
        UNTIL(w, all_arrived(w));
        node_send(a, 2, 8, 0, false);
        UNTIL(w, all_arrived(w));
        node_send(a, 1, 8, 0, false); /* 1 is now younger than 2 */
        UNTIL(w, all_arrived(w));
        FOR_MS(w, 5);
        node_send(a, 3, 8, 0, false);
        UNTIL(w, all_arrived(w) && a->peer[2].closed);
        assert_int_equal(a->peer[1].closed, 0);
        assert_int_equal(a->peer[2].err, 0);
        assert_int_equal(a->peer[2].reason, WIO_BYE_CAP);
        assert_int_equal(w->node[2].peer[0].reason, WIO_BYE_CAP);
        a->busy = true; /* nothing is idle, and nobody has said a word */
        int64_t begun = wio_os_now_ns();
        node_send(a, 4, 8, 0, false);
        UNTIL(w, all_arrived(w));
        assert_true(wio_os_now_ns() - begun > 200000000);
        assert_int_equal(a->peer[1].closed, 1);
        assert_int_equal(a->peer[3].closed, 0);
        UNTIL(w, w->node[1].peer[0].closed == 1);
        check_caps(w);
        world_free(w);
    }
}

/* Peers that are stopped while their links close hold up nobody but themselves, as long as they are
 * no more than the cap. */
static void test_stopped_peers_hold_up_nobody(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        struct world *w = world_new(tr, 7);
        w->node[0].cfg.max_connections = 2;
        world_open(w);
        struct node *a = &w->node[0];
        node_send(a, 1, 8, 0, false);
        node_send(a, 2, 8, 0, false);
        UNTIL(w, all_arrived(w));
        w->node[1].mute = w->node[2].mute = true;
        for (uint32_t to = 3; to < 7; to++)
            node_send(a, to, 8, 0, false);
        UNTIL(w, all_arrived(w));
        node_send(a, 1, 8, 0, false);
        FOR_MS(w, 20);
        assert_int_equal(w->node[1].peer[0].nin, 1);
        w->node[1].mute = w->node[2].mute = false;
        UNTIL(w, all_arrived(w));
        check_caps(w);
        world_free(w);
    }
}

/* The same for one that does not answer our dial; it is not forgotten either. */
static void test_silent_dials_take_turns(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        struct world *w = capped(tr, 5, 1);
        struct node *a = &w->node[0];
        w->node[1].mute = true;
        node_send(a, 1, 8, 0, false);
        node_send(&w->node[3], 0, 8, 0, false);
        FOR_MS(w, 50);
        for (uint32_t to = 2; to < 5; to++)
            node_send(a, to, 8, 0, false);
        UNTIL(w, w->node[2].peer[0].nin == 1 && w->node[3].peer[0].nin == 1 &&
                     w->node[4].peer[0].nin == 1);
        assert_int_equal(w->node[1].peer[0].nin, 0);
        w->node[1].mute = false;
        UNTIL(w, all_arrived(w));
        check_caps(w);
        world_free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONFORM(test_reopens_without_loss),
        CONFORM(test_everywhere),
        CONFORM(test_ring_of_dials),
        CONFORM(test_refused_dialers_get_their_turn),
        CONFORM(test_busy_links_take_turns),
        CONFORM(test_takes_the_oldest_idle_one),
        CONFORM(test_stopped_peers_hold_up_nobody),
        CONFORM(test_silent_dials_take_turns),
    };
    return cmocka_run_group_tests_name("connection cap", tests, NULL, NULL);
}
