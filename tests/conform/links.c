/* SPDX-License-Identifier: BSD-3-Clause */
/** @file links.c  Every transport: connecting, simultaneous connects, closing, dying
 * peers. */
#include "harness.h"

static void test_connect_is_idempotent(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        struct world *w = world_open(world_new(tr, 2));
        struct node *a = &w->node[0], *b = &w->node[1];
        struct wio_ep *ep = node_connect(a, 1);
        assert_int_equal(ep->state, lacks(LACKS_HANDSHAKE) ? WIO_EP_READY : WIO_EP_CONNECTING);
        assert_ptr_equal(node_connect(a, 1), ep);
        UNTIL(w, a->peer[1].ready && b->peer[0].ready);
        assert_ptr_equal(node_connect(a, 1), ep);
        assert_ptr_equal(node_connect(b, 0),
                         b->peer[0].ep); /* the dialled side uses the same link */
        assert_int_equal(ep->state, WIO_EP_READY);
        node_send(b, 0, 100, 0, false);
        UNTIL(w, all_arrived(w));
        assert_int_equal(a->ctr.link_opens, 1);
        assert_int_equal(b->ctr.link_opens, 1);
        char why[128];
        assert_true(tr->reachable(a->iface, 1, why, sizeof why));
        assert_false(tr->reachable(a->iface, 0, why, sizeof why));
        assert_false(tr->reachable(a->iface, 99, why, sizeof why));
        struct wio_ep *none = NULL;
        assert_int_equal(tr->connect(a->iface, 0, &none), WAITIO_ERR_NOROUTE);
        assert_int_equal(tr->connect(a->iface, 99, &none), WAITIO_ERR_NOROUTE);
        world_free(w);
    }
}

/* Bits of the pattern say who is driven in each step; both connect at different steps. */
static void simultaneous(const struct wio_transport *tr, uint32_t bits, int start_a, int start_b)
{
    struct world *w = world_open(world_new(tr, 2));
    struct node *a = &w->node[0], *b = &w->node[1];
    for (int step = 0; step < 12; step++) {
        if (step == start_a)
            for (int i = 0; i < 3; i++)
                node_send(a, 1, 50, 0, false);
        if (step == start_b)
            for (int i = 0; i < 3; i++)
                node_send(b, 0, 50, WIO_TX_SMALL, false);
        node_drive(bits >> step & 1 ? a : b, WIO_PROGRESS_FULL);
    }
    UNTIL(w, all_arrived(w) && a->peer[1].ready && b->peer[0].ready);
    FOR_MS(w, 3);
    assert_int_equal(a->peer[1].ready, 1);
    assert_int_equal(b->peer[0].ready, 1);
    assert_int_equal(a->peer[1].closed + b->peer[0].closed, 0);
    assert_int_equal(a->ctr.links, 1);
    assert_int_equal(b->ctr.links, 1);
    node_send(a, 1, 5000, 0, false);
    node_send(b, 0, 5000, 0, false);
    UNTIL(w, all_arrived(w));
    world_free(w);
}

/* At most so many rounds, or a share of @p n. */
static int rounds_of(int n, int most)
{
    return share_of(n) < most ? share_of(n) : most;
}

/* Between two numbers of steps: even and odd ones come where only a share is wanted, too. */
static int stride(void)
{
    return share_of(24) < 24 ? 5 : 1;
}

static void test_simultaneous_connect(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        int patterns = share_of(240);
        uint32_t step = (4096 / (uint32_t)patterns) | 1; /* odd: all starts come */
        for (uint32_t bits = 0; bits < 4096; bits += step)
            simultaneous(tr, bits, (int)(bits % 4), (int)(bits / 4 % 4));
    }
}

static void close_with_data(const struct wio_transport *tr, bool both, enum wio_bye_reason reason)
{
    struct world *w = pair_ready(tr);
    struct node *a = &w->node[0], *b = &w->node[1];
    for (int i = 0; i < 20; i++) {
        node_send(a, 1, 1u << 18, 0, false);
        node_send(b, 0, 1u << 18, 0, false);
    }
    struct wio_ep *ea = a->peer[1].ep, *eb = b->peer[0].ep;
    tr->close(ea, reason);
    tr->close(ea, reason); /* idempotent */
    assert_int_equal(ea->state, WIO_EP_CLOSING);
    if (both)
        tr->close(eb, reason);
    UNTIL(w, a->peer[1].closed && b->peer[0].closed);
    assert_true(all_arrived(w)); /* whatever was accepted before the close has been delivered */
    assert_int_equal(a->peer[1].err, 0);
    assert_int_equal(b->peer[0].err, 0);
    assert_int_equal(a->peer[1].reason, reason);
    assert_int_equal(b->peer[0].reason, reason);
    world_free(w);
}

static void test_close_with_data_in_flight(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        close_with_data(tr, false, WIO_BYE_FINALIZE);
        close_with_data(tr, true, WIO_BYE_FINALIZE);
        close_with_data(tr, false, WIO_BYE_CAP);
    }
}

static void test_close_while_connecting(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        int step = 8 / rounds_of(48, 8);
        for (int rounds = 0; rounds < 8; rounds += step) {
            struct world *w = world_open(world_new(tr, 2));
            struct node *a = &w->node[0], *b = &w->node[1];
            for (int i = 0; i < 5; i++)
                node_send(a, 1, 1000, 0, false);
            for (int i = 0; i < rounds; i++)
                world_drive(w);
            tr->close(a->peer[1].ep, WIO_BYE_FINALIZE);
            UNTIL(w, a->peer[1].closed && b->peer[0].closed);
            assert_true(all_arrived(w)); /* queued messages went first */
            assert_int_equal(a->peer[1].err, 0);
            /* Nothing queued: over at once, and the peer never hears of a broken link. */
            struct wio_ep *ep = node_connect(a, 1);
            for (int i = 0; i < rounds; i++)
                world_drive(w);
            if (a->peer[1].ep == ep)
                tr->close(ep, WIO_BYE_FINALIZE);
            UNTIL(w, a->peer[1].closed == 2);
            assert_int_equal(a->peer[1].err, 0);
            FOR_MS(w, 3);
            assert_int_equal(b->peer[0].ready, b->peer[0].closed);
            assert_int_equal(b->peer[0].err, 0);
            world_free(w);
        }
    }
}

static void test_reconnect_while_closing(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        struct world *w = pair_ready(tr);
        struct node *a = &w->node[0], *b = &w->node[1];
        for (int round = 0; round < rounds_of(96, 20); round++) {
            for (int i = 0; i < 4; i++)
                node_send(a, 1, 100000, 0, false);
            struct wio_ep *old = a->peer[1].ep;
            tr->close(old, WIO_BYE_CAP);
            for (int i = 0; i < round % 5; i++)
                world_drive(w);
            node_send(a, 1, 10, 0, false); /* makes a new link that waits for the end of the old */
            if (round % 3 == 0)
                node_send(b, 0, 10, 0, false);
            UNTIL(w, all_arrived(w) && a->peer[1].closed == round + 1 &&
                         b->peer[0].closed == round + 1);
        }
        assert_int_equal(a->peer[1].err + b->peer[0].err, 0);
        world_free(w);
    }
}

static void test_abort(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        struct world *w = pair_ready(tr);
        tr->close(w->node[0].peer[1].ep, WIO_BYE_ABORT);
        UNTIL(w, w->node[0].peer[1].closed && w->node[1].peer[0].closed);
        assert_int_equal(w->node[1].peer[0].err, WAITIO_ERR_PEER);
        assert_int_equal(w->node[1].peer[0].reason, WIO_BYE_ABORT);
        assert_non_null(strstr(w->node[1].peer[0].text, "PB 0 rank 0"));
        world_free(w);
    }
}

/* The orderly end waits for a peer that does not answer; then it shall wait no longer. */
static void test_close_without_waiting_any_longer(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        struct world *w = pair_ready(tr);
        struct view *p = &w->node[0].peer[1];
        w->quiet_errors = true;
        w->node[1].mute = true;
        tr->close(p->ep, WIO_BYE_CAP);
        for (int i = 0; i < 50; i++)
            world_drive(w);
        assert_int_equal(p->closed, 0);
        tr->close(p->ep, WIO_BYE_ERROR);
        UNTIL(w, p->closed == 1);
        w->node[1].mute = false;
        UNTIL(w, w->node[1].peer[0].closed == 1);
        world_free(w);
    }
}

/* ---- dying ---- */

static void test_dead_peer_is_refused(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        if (lacks(LACKS_DEATH))
            continue;
        struct world *w = world_open(world_new(tr, 2));
        w->quiet_errors = true;
        node_kill(&w->node[1]);
        int64_t t = wio_os_now_ns();
        for (int i = 0; i < 3; i++)
            node_send(&w->node[0], 1, 100, 0, false);
        UNTIL(w, w->node[0].peer[1].closed == 1);
        assert_true(wio_os_now_ns() - t < wt_scaled_ns(2 * SECOND));
        assert_int_equal(w->node[0].peer[1].err, WAITIO_ERR_PEER);
        assert_int_equal(w->node[0].ndone, 3);
        assert_non_null(strstr(w->node[0].peer[1].text, "PB 0 rank 1"));
        if (tr->id == WIO_TR_TCP)
            assert_non_null(strstr(w->node[0].peer[1].text, "127.0.0.1:"));
        world_free(w);
    }
}

/* The peer vanishes after each number of steps, with data both ways. */
static void test_peer_vanishes_any_time(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        if (lacks(LACKS_DEATH))
            continue;
        for (int steps = 0; steps < 24; steps += stride()) {
            struct world *w = world_open(world_new(tr, 3));
            w->quiet_errors = true;
            w->rng = (uint64_t)steps;
            struct node *a = &w->node[0], *b = &w->node[1];
            for (int i = 0; i < 6; i++) {
                node_send(a, 1, i % 2 ? 3u << 20 : 30, 0, false);
                if (steps % 2)
                    node_send(b, 0, i % 2 ? 3u << 20 : 30, 0, false);
            }
            for (int i = 0; i < steps; i++)
                world_drive(w);
            bool leaving = steps % 3 == 2 && b->peer[0].ep != NULL;
            if (leaving)
                tr->close(b->peer[0].ep, WIO_BYE_FINALIZE);
            node_kill(b);
            UNTIL(w, a->peer[1].closed == 1);
            if (!leaving || a->peer[1].err != 0) { /* its goodbye may have made it */
                assert_int_equal(a->peer[1].err, WAITIO_ERR_PEER);
                if (strstr(a->peer[1].text, "PB 0 rank 1") == NULL)
                    fail_msg("text names nobody: %s", a->peer[1].text);
            }
            assert_int_equal(a->ndone, a->nqueued); /* every queued send was given back */
            node_send(a, 2, 1000, 0, false);        /* others go on */
            UNTIL(w, w->node[2].peer[0].nin == 1);
            assert_true(node_send(a, 1, 10, 0, true) >= 0); /* a new link, refused by the dead */
            UNTIL(w, a->peer[1].closed == 2);
            assert_int_equal(a->peer[1].err, WAITIO_ERR_PEER);
            world_free(w);
        }
    }
}

/* A dialer that goes away after it was let in, before its first frame, leaves nothing behind: the
 * same link is made again. Guard: a link that remembers the end of the first socket never reads the
 * second. */
static void test_dialer_gives_up(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        if (lacks(LACKS_DEATH))
            continue;
        for (int steps = 0; steps < 16; steps += stride()) {
            struct world *w = world_open(world_new(tr, 2));
            struct node *a = &w->node[0], *b = &w->node[1];
            w->quiet_errors = true;
            node_send(b, 0, 10, 0, false);
            node_send(a, 1, 10, 0, false);
            for (int i = 0; i < steps; i++)
                node_drive(i % 2 ? a : b, WIO_PROGRESS_FULL);
            node_kill(a);
            node_open(w, 0); /* the same rank at another port */
            node_start(w, 0);
            a->peer[1].ep = NULL;
            uint32_t before = b->peer[0].nin;
            FOR_MS(w, 5);
            node_send(a, 1, 10, 0, false);
            UNTIL(w, b->peer[0].nin > before);
            world_free(w);
        }
    }
}

/* A peer that does not move is slow, not dead: in the backlog, in the handshake, with full buffers.
 */
static void test_stopped_peer_lives(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        for (int steps = 0; steps < 10; steps++) {
            struct world *w = world_new(tr, 2);
            w->node[0].cfg.connect_timeout = w->node[1].cfg.connect_timeout = 0.1;
            world_open(w);
            for (int i = 0; i < 20; i++)
                node_send(&w->node[0], 1, 1u << 19, 0, false);
            for (int i = 0; i < steps; i++)
                world_drive(w);
            w->node[1].mute = true;
            FOR_MS(w, 150);
            assert_int_equal(w->node[0].peer[1].closed, 0);
            w->node[1].mute = false;
            UNTIL(w, all_arrived(w));
            world_free(w);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONFORM(test_connect_is_idempotent),
        CONFORM(test_simultaneous_connect),
        CONFORM(test_close_with_data_in_flight),
        CONFORM(test_close_while_connecting),
        CONFORM(test_reconnect_while_closing),
        CONFORM(test_abort),
        CONFORM(test_close_without_waiting_any_longer),
        CONFORM(test_dead_peer_is_refused),
        CONFORM(test_peer_vanishes_any_time),
        CONFORM(test_stopped_peer_lives),
        CONFORM(test_dialer_gives_up),
    };
    return cmocka_run_group_tests_name("links", tests, NULL, NULL);
}
