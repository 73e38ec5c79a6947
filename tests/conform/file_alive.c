/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file file_alive.c
 * How soon a death is noticed through files; a stopped process is not taken for a dead one.
 * file_stop.c does the same for a minute, file_death.c kills a process at each of its calls.
 */
#include "file_pair.h"

static void keep_link(void *arg, int wire)
{
    struct world *w = pair_world();
    uint32_t *got = arg;
    pair_meet(w, 0, wire);
    node_send(&w->node[0], 1, 40, 0, false);
    for (;;) {
        pair_round(&w->node[0]);
        *got = w->node[0].peer[1].nin;
    }
}

/* Both are sure of the link, and silent. */
static struct world *linked(pid_t *pid)
{
    int wire;
    uint32_t got;
    *pid = pair_fork(keep_link, &got, &wire);
    struct world *w = pair_world();
    pair_meet(w, 1, wire);
    int64_t end = wt_until_ns(20 * SECOND);
    while (w->node[1].peer[0].nin < 1 && wio_os_now_ns() < end)
        pair_round(&w->node[1]);
    assert_int_equal(w->node[1].peer[0].nin, 1);
    return w;
}

static void reap(struct world *w, pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    world_free(w);
    assert_int_equal(pair_sweep(pair_scratch, 1), 0);
}

static void test_noticed_within_two_heartbeats(void **state)
{
    (void)state;
    pid_t pid;
    pair_heartbeat = 0.5;
    struct world *w = linked(&pid);
    const struct view *v = &w->node[1].peer[0];
    int64_t t = wio_os_now_ns();
    kill(pid, SIGKILL);
    while (v->closed == 0 && wio_os_now_ns() - t < wt_until_ns(20 * SECOND))
        pair_round(&w->node[1]);
    double took = (double)(wio_os_now_ns() - t) * 1e-9;
    print_message("noticed after %.2f of at most %.2f s\n", took, 2 * pair_heartbeat);
    assert_int_equal(v->err, WAITIO_ERR_PEER);
    assert_true(took <= 2 * pair_heartbeat * wt_patience());
    reap(w, pid);
}

/* Many heartbeats: it lives, and what was sent meanwhile arrives. */
static void test_stopped_is_not_dead(void **state)
{
    (void)state;
    pid_t pid;
    pair_heartbeat = 0.02;
    struct world *w = linked(&pid);
    struct node *nd = &w->node[1];
    kill(pid, SIGSTOP);
    node_send(nd, 0, 100000, 0, false);
    for (int64_t end = wio_os_now_ns() + SECOND; wio_os_now_ns() < end;)
        pair_round(nd);
    assert_int_equal(nd->peer[0].closed, 0);
    kill(pid, SIGCONT);
    int64_t end = wt_until_ns(20 * SECOND);
    while (!wio_list_empty(&nd->parcels) && wio_os_now_ns() < end)
        pair_round(nd);
    assert_int_equal(nd->ndone, nd->nqueued);
    assert_int_equal(nd->peer[0].closed, 0);
    reap(w, pid);
}

/* ---- only the counter decides ---- */

/* No lock on a sign of life works. */
static int no_locks(enum wio_os_call call, int fd, size_t bytes)
{
    char path[64], name[256];
    if (call != WIO_OS_FILE || bytes > 0 || fd < 0)
        return 0;
    wio_text(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(path, name, sizeof name - 1);
    name[n > 0 ? n : 0] = '\0';
    return n > 5 && strcmp(name + n - 5, "alive") == 0 ? -ENOLCK : 0;
}

static struct world *without_locks(double silence)
{
    pair_heartbeat = 0.02;
    struct world *w = pair_world();
    for (int i = 0; i < 2; i++)
        w->node[i].cfg.file_silence = silence;
    wio_os_fault = no_locks;
    world_open(w);
    node_connect(&w->node[0], 1);
    UNTIL(w, w->node[0].peer[1].ready == 1 && w->node[1].peer[0].ready == 1);
    FOR_MS(w, 200); /* they have seen each other's sign of life */
    return w;
}

/* Both were suspended, and one of them wakes first. */
static void test_both_stopped_is_not_dead(void **state)
{
    (void)state;
    double silence = 0.6 * wt_patience();
    struct world *w = without_locks(silence);
    for (int first = 0; first < 2; first++) {
        wio_os_sleep_ns((int64_t)(1.2 * silence * 1e9));
        for (int i = 0; i < 3; i++) /* the other one is still asleep */
            (void)node_drive(&w->node[first], WIO_PROGRESS_FULL);
        FOR_MS(w, 100);
        for (int i = 0; i < 2; i++)
            assert_int_equal(w->node[i].peer[1 - i].closed, 0);
    }
    world_free(w);
}

/* But one that stays silent while we look is dead. */
static void test_silence_is_death_without_locks(void **state)
{
    (void)state;
    double silence = 0.5;
    struct world *w = without_locks(silence);
    w->node[1].mute = true;
    int64_t t = wio_os_now_ns();
    UNTIL(w, w->node[0].peer[1].closed == 1);
    assert_int_equal(w->node[0].peer[1].err, WAITIO_ERR_PEER);
    assert_true((double)(wio_os_now_ns() - t) * 1e-9 >= silence * 0.9);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_noticed_within_two_heartbeats, pair_setup,
                                        pair_teardown),
        cmocka_unit_test_setup_teardown(test_stopped_is_not_dead, pair_setup, pair_teardown),
        cmocka_unit_test_setup_teardown(test_both_stopped_is_not_dead, pair_setup, pair_teardown),
        cmocka_unit_test_setup_teardown(test_silence_is_death_without_locks, pair_setup,
                                        pair_teardown),
    };
    return cmocka_run_group_tests_name("file alive", tests, NULL, NULL);
}
