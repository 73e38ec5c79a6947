/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file file_stop.c
 * With all settings as they are by default, a process that is stopped for a minute is not taken for
 * a dead one, and the link goes on. file_death.c does the same in short. As all tests of more than
 * 20 s it runs with WT_SLOW_TESTS=1 only, which `make check-all` sets, once: no sanitizer sees more
 * in a longer pause.
 */
#include "file_pair.h"
#include "skip.h"

static void echo(void *arg, int wire)
{
    struct world *w = pair_world();
    struct node *nd = &w->node[0];
    uint32_t sent = 0;
    (void)arg;
    pair_meet(w, 0, wire);
    node_send(nd, 1, 40, 0, false);
    for (;;) {
        pair_round(nd);
        while (sent < nd->peer[1].nin) {
            node_send(nd, 1, 100000, 0, true);
            sent++;
        }
    }
}

static void until_received(struct node *nd, uint32_t n)
{
    int64_t end = wt_until_ns(20 * SECOND);
    while (nd->peer[0].nin < n && wio_os_now_ns() < end)
        pair_round(nd);
    assert_int_equal(nd->peer[0].nin, n);
}

static void test_stopped_for_a_minute(void **state)
{
    (void)state;
    int wire;
    const char *slow = getenv("WT_SLOW_TESTS");
    if (slow == NULL || strcmp(slow, "1") != 0)
        skip_because(__func__, "slow: make check-all runs it");
    pair_heartbeat = 1;
    pid_t pid = pair_fork(echo, NULL, &wire);
    struct world *w = pair_world();
    struct node *nd = &w->node[1];
    pair_meet(w, 1, wire);
    until_received(nd, 1);
    kill(pid, SIGSTOP);
    node_send(nd, 0, 500000, 0, false);
    for (int64_t end = wio_os_now_ns() + 60 * SECOND; wio_os_now_ns() < end;) {
        pair_round(nd);
        assert_int_equal(nd->peer[0].closed, 0);
    }
    kill(pid, SIGCONT);
    until_received(nd, 2);
    assert_int_equal(nd->ndone, nd->nqueued);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    world_free(w);
    assert_int_equal(pair_sweep(pair_scratch, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_stopped_for_a_minute, pair_setup, pair_teardown),
    };
    return cmocka_run_group_tests_name("file stop", tests, NULL, NULL);
}
