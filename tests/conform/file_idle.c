/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file file_idle.c
 * What a silent link costs the file system: the server of a large machine's files has others to
 * serve, too. Slow, since it takes some seconds until nobody expects anything any more.
 */
#include "file_pair.h"

#define SETTLE_S 5
#define WINDOW_S 10
#define MOST_PER_S 1 /* operations on names, of both together */
#define TRIPS 25

static void idle(struct node *nd, int64_t ns)
{
    for (int64_t end = wio_os_now_ns() + ns; wio_os_now_ns() < end;)
        pair_round(nd);
}

static void keep_link(void *arg, int wire)
{
    struct world *w = pair_world();
    (void)arg;
    pair_meet(w, 0, wire);
    node_send(&w->node[0], 1, 40, 0, false);
    for (;;)
        idle(&w->node[0], SECOND);
}

/* Both look as often, so one of them is counted. */
static void test_a_silent_pair(void **state)
{
    (void)state;
    int wire;
    pair_heartbeat = 1;
    pid_t pid = pair_fork(keep_link, NULL, &wire);
    struct world *w = pair_world();
    struct node *nd = &w->node[1];
    pair_meet(w, 1, wire);
    int64_t end = wt_until_ns(20 * SECOND);
    while (nd->peer[0].nin < 1 && wio_os_now_ns() < end)
        pair_round(nd);
    assert_int_equal(nd->peer[0].nin, 1);
    idle(nd, SETTLE_S * SECOND);
    uint64_t before = nd->ctr.file_looks;
    idle(nd, WINDOW_S * SECOND);
    uint64_t looks = nd->ctr.file_looks - before;
    print_message("%" PRIu64 " operations on names in %d s\n", looks, WINDOW_S);
    assert_true(2 * looks <= MOST_PER_S * WINDOW_S);
    assert_true(looks > 0); /* events are not relied on */

    int64_t t = wio_os_now_ns(); /* and it still sees a death */
    kill(pid, SIGKILL);
    while (nd->peer[0].closed == 0 && wio_os_now_ns() - t < wt_until_ns(20 * SECOND))
        pair_round(nd);
    double took = (double)(wio_os_now_ns() - t) * 1e-9;
    print_message("its death was noticed after %.2f s\n", took);
    assert_int_equal(nd->peer[0].err, WAITIO_ERR_PEER);
    assert_true(took <= 2 * pair_heartbeat * wt_patience());
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    world_free(w);
    assert_int_equal(pair_sweep(pair_scratch, 1), 0);
}

/* ---- a file system that tells nothing ---- */

static int no_events(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    (void)bytes;
    return call == WIO_OS_EVENTS ? -ENOSYS : 0;
}

static void echo(void *arg, int wire)
{
    struct world *w = pair_world();
    struct node *nd = &w->node[0];
    uint64_t before = 0;
    (void)arg;
    pair_meet(w, 0, wire);
    for (;;) {
        pair_round(nd);
        for (; before < nd->peer[1].nin; before++)
            node_send(nd, 1, 8, 0, false);
    }
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Both have been silent so long that they look as seldom as they ever do. Guard: with a longest
 * interval of 100 ms the messages come later. */
static void test_without_events(void **state)
{
    (void)state;
    int wire;
    int64_t half[TRIPS];
    pair_heartbeat = 2;
    wio_os_fault = no_events;
    pid_t pid = pair_fork(echo, NULL, &wire);
    struct world *w = pair_world();
    struct node *nd = &w->node[1];
    pair_meet(w, 1, wire);
    for (uint64_t i = 0; i < TRIPS; i++) {
        idle(nd, 60 * 1000000LL);
        int64_t t = wio_os_now_ns(), end = wt_until_ns(20 * SECOND);
        node_send(nd, 0, 8, 0, false);
        while (nd->peer[0].nin <= i && wio_os_now_ns() < end)
            pair_round(nd);
        assert_int_equal(nd->peer[0].nin, i + 1);
        half[i] = (wio_os_now_ns() - t) / 2;
    }
    assert_int_equal(file_iface_of(nd->iface)->events, -ENOSYS);
    qsort(half, TRIPS, sizeof half[0], by_size);
    print_message("half a round trip: median %.2f ms, at most %.2f ms\n",
                  (double)half[TRIPS / 2] * 1e-6, (double)half[TRIPS - 1] * 1e-6);
    assert_true((double)half[TRIPS / 2] <= 2.0 * FILE_GAP_MAX_NS * wt_patience());
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    w->quiet_errors = true;
    UNTIL(w, nd->peer[0].closed == 1);
    world_free(w);
    assert_int_equal(pair_sweep(pair_scratch, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_silent_pair, pair_setup, pair_teardown),
        cmocka_unit_test_setup_teardown(test_without_events, pair_setup, pair_teardown),
    };
    return cmocka_run_group_tests_name("file idle", tests, NULL, NULL);
}
