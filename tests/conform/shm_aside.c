/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shm_aside.c  A process that gives its processor away: the peers that share memory with it
 * see so, and see when it is back; where nobody can tell, it is never away.
 */
#include "harness.h"

static void test_peers_see_who_is_aside(void **state)
{
    (void)state;
    struct world *w = world_new(&wio_transport_shm, 3);
    const struct wio_ep *ep = world_linked(w);
    struct wio_iface *steps = w->node[0].iface;
    assert_false(ep->iface->tr->is_aside(ep));
    steps->tr->step_aside(steps, true);
    assert_true(ep->iface->tr->is_aside(ep));
    const struct wio_ep *back = w->node[0].peer[1].ep;
    assert_false(back->iface->tr->is_aside(back)); /* the other one is not */
    steps->tr->step_aside(steps, false);
    assert_false(ep->iface->tr->is_aside(ep));
    /* Before its first link it has no memory that peers could see. */
    w->node[2].iface->tr->step_aside(w->node[2].iface, true);
    world_free(w);
}

static void test_an_ended_link_says_nothing(void **state)
{
    (void)state;
    struct world *w = world_new(&wio_transport_shm, 2);
    struct wio_ep *ep = world_linked(w);
    struct wio_iface *steps = w->node[0].iface;
    steps->tr->step_aside(steps, true);
    assert_true(ep->iface->tr->is_aside(ep));
    ep->iface->tr->close(ep, WIO_BYE_ERROR);
    assert_false(ep->iface->tr->is_aside(ep));
    world_free(w);
}

static void test_without_shared_memory_nobody_is_aside(void **state)
{
    (void)state;
    struct world *w = world_new(&wio_transport_tcp, 2);
    const struct wio_ep *ep = world_linked(w);
    struct wio_iface *steps = w->node[0].iface;
    steps->tr->step_aside(steps, true);
    assert_false(ep->iface->tr->is_aside(ep));
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peers_see_who_is_aside),
        cmocka_unit_test(test_an_ended_link_says_nothing),
        cmocka_unit_test(test_without_shared_memory_nobody_is_aside),
    };
    return cmocka_run_group_tests_name("shm_aside", tests, NULL, NULL);
}
