/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file lanes.c  TCP: connections beside a link (lane() of transport.h). Each is a stream of its
 * own; both ends may open one, and get the same; it is lost without the link; it takes no place
 * that somebody waits for.
 */
#include "relay.h"

enum { LANES = 3 };

static struct world *world_of(const struct wio_transport *tr, int n, uint64_t seed)
{
    struct world *w = world_new(tr, n);
    w->rng = seed;
    for (int i = 0; i < n; i++) {
        w->node[i].cfg.lanes = LANES;
        w->node[i].cfg.crc = seed % 2 == 0;
    }
    return w;
}

static struct wio_ep *lane_open(struct node *nd, uint32_t to, unsigned k)
{
    struct wio_ep *ep = NULL;
    if (nd->w->tr->lane(nd->peer[to].ep, k, &ep) != 0)
        return NULL;
    nd->lane[to][k].ep = ep;
    return ep;
}

/* One message on a lane that is ready. @return false: there is none */
static bool lane_send(struct node *nd, uint32_t to, unsigned k, uint32_t bytes)
{
    struct view link = nd->peer[to];
    if (nd->lane[to][k].ep == NULL || nd->lane[to][k].ep->state != WIO_EP_READY)
        return false;
    nd->peer[to] = nd->lane[to][k]; /* node_send() knows links only */
    node_send(nd, to, bytes, 0, false);
    nd->lane[to][k] = nd->peer[to];
    nd->peer[to] = link;
    return true;
}

static bool lanes_arrived(const struct world *w, unsigned k)
{
    return w->node[1].lane[0][k].nin == w->node[0].lane[1][k].next_out &&
           w->node[0].lane[1][k].nin == w->node[1].lane[0][k].next_out;
}

static void link_up(struct world *w)
{
    node_connect(&w->node[0], 1);
    UNTIL(w, w->node[0].peer[1].ready == 1 && w->node[1].peer[0].ready == 1);
}

static void exchange(struct world *w, int messages)
{
    for (int i = 0; i < messages; i++) {
        struct node *from = &w->node[rnd(w, 2)];
        uint32_t to = 1 - from->rank, k = rnd(w, LANES), n = rnd(w, 2) * rnd(w, 300000) + 1;
        if (k == 0)
            node_send(from, to, n, rnd(w, 2) != 0 ? WIO_TX_SMALL : 0, false);
        else
            assert_true(lane_send(from, to, k, n));
        (void)world_drive(w);
    }
    UNTIL(w, all_arrived(w) && lanes_arrived(w, 1) && lanes_arrived(w, 2));
}

/* Opened by one, by the other, by both at once: one connection each. Guard: with one key for a link
 * and its lanes the second dial is told that a link exists. */
static void test_each_is_a_stream(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        for (uint64_t seed = 0; seed < 4; seed++) {
            struct world *w = world_open(world_of(tr, 2, seed));
            struct node *a = &w->node[0], *b = &w->node[1];
            struct wio_ep *none = NULL;
            link_up(w);
            for (unsigned k = 1; k < LANES; k++) {
                if (seed != 1)
                    assert_non_null(lane_open(a, 1, k));
                if (seed != 0)
                    assert_non_null(lane_open(b, 0, k));
            }
            assert_int_equal(tr->lane(a->peer[1].ep, LANES, &none), WAITIO_ERR_UNSUPPORTED);
            for (unsigned k = 1; k < LANES; k++)
                UNTIL(w, a->lane[1][k].ready == 1 && b->lane[0][k].ready == 1);
            assert_ptr_equal(lane_open(a, 1, 1), a->lane[1][1].ep); /* it is there */
            exchange(w, 200);
            assert_int_equal(a->ctr.links, LANES);
            tr->close(a->lane[1][1].ep, WIO_BYE_CAP); /* in order, and the rest goes on */
            UNTIL(w, a->lane[1][1].closed == 1 && b->lane[0][1].closed == 1);
            assert_true(a->lane[1][1].err == 0 && b->lane[0][1].err == 0);
            assert_non_null(lane_open(a, 1, 1));
            UNTIL(w, a->lane[1][1].ready == 2 && b->lane[0][1].ready == 2);
            memset(a->lane[1][1].last_in, 0, sizeof a->lane[1][1].last_in);
            exchange(w, 50);
            assert_int_equal(a->peer[1].closed + b->peer[0].closed, 0);
            world_free(w);
        }
    }
}

/* Cut at any byte, in every way. The link is resumed, or was never cut; of what a lane carried the
 * sender knows for sure that the peer has taken so many. */
static void test_lost_without_the_link(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        uint32_t lost = 0, taken = 0;
        for (uint64_t seed = 1; seed <= 16; seed++) {
            struct world *w = world_of(tr, 2, seed);
            for (int i = 0; i < 2; i++)
                w->node[i].cfg.resume_timeout = 30;
            w->quiet_errors = true;
            world_open(w);
            struct relay *r = relay_new(w);
            struct node *a = &w->node[0], *b = &w->node[1];
            struct view *out = &a->lane[1][1], *in = &b->lane[0][1];
            node_send(a, 1, 1, 0, false);
            node_send(b, 0, 1, 0, false);
            THROUGH(r, all_arrived(w));
            assert_non_null(lane_open(a, 1, 1));
            THROUGH(r, out->ready == 1 && in->ready == 1);
            relay_budget(r, 2000000);
            for (int i = 0; i < 60 && lane_send(a, 1, 1, 1 + rnd(w, 100000)); i++) {
                node_send(b, 0, rnd(w, 5000), 0, false);
                relay_step(r);
            }
            THROUGH(r, out->closed + in->closed > 0 || in->nin == out->next_out);
            relay_budget(r, 0);
            if (out->closed + in->closed == 0)
                relay_cut(r, CUT_RESET);
            THROUGH(r, out->closed + in->closed > 0);
            assert_int_equal(out->closed != 0 ? out->err : in->err, WAITIO_ERR_PEER);
            through_ms(r, 5);
            if (out->closed == 0) /* p2p tells it by the link */
                tr->close(out->ep, WIO_BYE_ERROR);
            if (in->closed == 0)
                tr->close(in->ep, WIO_BYE_ERROR);
            THROUGH(r, out->closed == 1 && in->closed == 1);
            assert_true(out->taken <= in->nin);
            lost += out->next_out - in->nin;
            taken += out->taken;
            THROUGH(r, a->peer[1].nin == b->peer[0].next_out);
            assert_int_equal(a->peer[1].closed + b->peer[0].closed, 0);
            relay_free(r);
            world_free(w);
        }
        assert_true(lost > 0 && taken > 0);
    }
}

static void test_no_place_is_taken_from_links(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        struct world *w = world_of(tr, 3, 1);
        struct wio_ep *ep = NULL;
        struct node *a = &w->node[0];
        a->cfg.max_connections = 2;
        w->node[2].cfg.max_connections = 1;
        world_open(w);
        link_up(w);
        assert_non_null(lane_open(a, 1, 1));
        UNTIL(w, a->lane[1][1].ready == 1);
        assert_int_equal(tr->lane(a->peer[1].ep, 2, &ep), WAITIO_ERR_LIMIT);
        node_send(a, 2, 100, 0, false); /* a link goes before a lane */
        UNTIL(w, w->node[2].peer[0].nin == 1);
        FOR_MS(w, 20);
        assert_true(a->ctr.link_evictions >= 1 && a->ctr.links <= 2);
        if (a->peer[2].ep != NULL && a->ctr.links < 2) { /* the peer has no place for one */
            assert_non_null(lane_open(a, 2, 1));
            UNTIL(w, a->lane[2][1].closed == 1);
            assert_int_equal(a->lane[2][1].err, WAITIO_ERR_LIMIT);
            assert_non_null(strstr(a->lane[2][1].text, "no connection left"));
        }
        world_free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONFORM(test_each_is_a_stream),
        CONFORM(test_lost_without_the_link),
        CONFORM(test_no_place_is_taken_from_links),
    };
    pattern_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
