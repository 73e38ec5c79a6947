/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file service.c
 * Every transport: sleeping without lost wake-ups, what the service thread does while the program
 * computes and what it leaves alone, timers, fork.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

/* A thread that drives one node and sleeps whenever arm() allows it. */
struct driver {
    struct node *nd;
    enum wio_progress_how how;
    pthread_mutex_t lock;
    pthread_t thread;
    atomic_bool stop;
    int kick;
    bool long_sleep; /* nothing has woken it in the longest time there is */
    int sleeps, overslept;
    int (*work)(struct node *nd); /* under the lock after each round */
};

static void sleep_on(struct driver *d)
{
    const struct wio_transport *tr = d->nd->w->tr;
    struct wio_iface *f = d->nd->iface;
    if (tr->arm(f, d->how) != 0)
        return;
    int fds[2] = {d->kick, tr->event_fd(f, d->how)};
    int64_t timer = tr->next_timer_ns(f, d->how), now = wio_os_now_ns(), wait = 5 * SECOND;
    if (timer - now < wait)
        wait = timer > now ? timer - now : 0;
    d->sleeps++;
    pthread_mutex_unlock(&d->lock);
    int got = wio_os_poll_in(fds, 2, wait);
    pthread_mutex_lock(&d->lock);
    d->long_sleep = got == 0 && wait == 5 * SECOND;
    if (got & 1)
        wio_os_eventfd_clear(d->kick);
}

static void *drive(void *arg)
{
    struct driver *d = arg;
    pthread_mutex_lock(&d->lock);
    while (!atomic_load(&d->stop)) {
        int events = node_drive(d->nd, d->how);
        d->overslept += d->long_sleep && events > 0; /* there was something to wake for */
        d->long_sleep = false;
        if (d->work != NULL && d->work(d->nd) != 0)
            continue;
        sleep_on(d);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

static void driver_start(struct driver *d, struct node *nd, enum wio_progress_how how,
                         int (*work)(struct node *))
{
    memset(d, 0, sizeof *d);
    d->nd = nd;
    d->how = how;
    d->work = work;
    d->kick = wio_os_eventfd();
    pthread_mutex_init(&d->lock, NULL);
    assert_int_equal(wio_os_thread_start(&d->thread, drive, d, "driver"), 0);
}

static void driver_stop(struct driver *d)
{
    atomic_store(&d->stop, true);
    wio_os_eventfd_set(d->kick);
    pthread_join(d->thread, NULL);
    wio_os_close(d->kick);
    pthread_mutex_destroy(&d->lock);
    assert_int_equal(d->overslept, 0);
}

#define LOCKED(d, expr)                                                                            \
    do {                                                                                           \
        pthread_mutex_lock(&(d)->lock);                                                            \
        expr;                                                                                      \
        pthread_mutex_unlock(&(d)->lock);                                                          \
    } while (0)

/* Wait (driving node a, if any) until cond, looked at under d's lock. */
#define UNTIL_SERVED(w, d, cond)                                                                   \
    do {                                                                                           \
        int64_t served_end = wt_until_ns(10 * SECOND);                                             \
        bool served = false;                                                                       \
        while (!served) {                                                                          \
            node_drive(&(w)->node[0], WIO_PROGRESS_FULL);                                          \
            LOCKED(d, served = (cond));                                                            \
            wio_os_yield();                                                                        \
            if (wio_os_now_ns() > served_end) {                                                    \
                world_dump(w);                                                                     \
                fail_msg("timed out: %s", #cond);                                                  \
            }                                                                                      \
        }                                                                                          \
    } while (0)

/* ---- no lost wake-ups ---- */

enum { ROUNDS = 3000 };
static int answer(struct node *nd)
{
    struct view *v = &nd->peer[1 - nd->rank];
    int sent = 0;
    if (nd->rank == 0 && v->next_out == 0)
        return node_send(nd, 1, 8, 0, false) >= 0;
    while (v->nin > v->next_out - (nd->rank == 0) && v->next_out < ROUNDS) {
        uint32_t n = v->next_out % 100 == 0 ? 200000 : 8;
        node_send(nd, 1 - nd->rank, n, v->next_out % 3 ? 0 : WIO_TX_BATCH, false);
        sent = 1;
    }
    return sent;
}

static void test_no_lost_wakeup(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        struct world *w = pair_ready(tr);
        struct driver d[2];
        for (int i = 0; i < 2; i++)
            driver_start(&d[i], &w->node[i], WIO_PROGRESS_FULL, answer);
        int64_t end = wt_until_ns(60 * SECOND);
        uint32_t got = 0;
        while (got < ROUNDS && wio_os_now_ns() < end) {
            wio_os_sleep_ns(2000000);
            LOCKED(&d[0], got = w->node[0].peer[1].nin);
        }
        driver_stop(&d[0]);
        driver_stop(&d[1]);
        assert_int_equal(got, ROUNDS);
        assert_true(d[0].sleeps > 100 && d[1].sleeps > 100);
        world_free(w);
    }
}

/* ---- the service thread while the program computes ---- */

static void test_service_accepts_and_answers_goodbye(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        if (lacks(LACKS_SERVICE))
            continue;
        struct world *w = world_open(world_new(tr, 2));
        struct node *a = &w->node[0], *b = &w->node[1];
        struct driver d;
        driver_start(&d, b, WIO_PROGRESS_SERVICE, NULL);
        for (int i = 0; i < 10; i++)
            node_send(a, 1, 100, 0, false);
        UNTIL_SERVED(w, &d, b->peer[0].ready == 1 && a->ndone == a->nqueued);
        uint32_t nin = 0, before = 0;
        LOCKED(&d, before = b->peer[0].nin);
        for (int i = 0; i < 10; i++)
            node_send(a, 1, 100, 0, false);
        for (int i = 0; i < 20; i++) {
            node_drive(a, WIO_PROGRESS_FULL);
            wio_os_sleep_ns(1000000);
        }
        LOCKED(&d, nin = b->peer[0].nin);
        assert_true(nin <
                    before + 10); /* messages of a READY link are the program's business ... */
        tr->close(a->peer[1].ep, WIO_BYE_FINALIZE);
        UNTIL_SERVED(w, &d, a->peer[1].closed && b->peer[0].closed); /* ... until the peer leaves */
        LOCKED(&d, assert_int_equal(b->peer[0].nin, 20));
        assert_int_equal(a->peer[1].err, 0);
        LOCKED(&d, assert_false(tr->needs_service(b->iface)));
        driver_stop(&d);
        world_free(w);
    }
}

static void test_service_reads_watched_links(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        if (lacks(LACKS_SERVICE))
            continue;
        struct world *w = pair_ready(tr);
        struct node *a = &w->node[0], *b = &w->node[1];
        struct driver d;
        assert_false(tr->needs_service(b->iface));
        tr->watch(b->peer[0].ep, true);
        tr->watch(b->peer[0].ep, true);
        assert_true(tr->needs_service(b->iface));
        driver_start(&d, b, WIO_PROGRESS_SERVICE, NULL);
        for (int i = 0; i < 200; i++)
            node_send(a, 1, (uint32_t)i * 100, 0, false);
        UNTIL_SERVED(w, &d, all_arrived(w));
        LOCKED(&d, tr->watch(b->peer[0].ep, false));
        LOCKED(&d, assert_false(tr->needs_service(b->iface)));
        driver_stop(&d);
        world_free(w);
    }
}

static void test_service_writes_what_is_queued(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        if (lacks(LACKS_SERVICE))
            continue;
        struct world *w = pair_ready(tr);
        struct node *a = &w->node[0], *b = &w->node[1];
        struct driver d;
        for (int i = 0; i < 8; i++)
            node_send(b, 0, 2u << 20, 0, false);
        node_send(b, 0, 8, WIO_TX_BATCH, false);
        assert_true(tr->needs_service(b->iface));
        driver_start(&d, b, WIO_PROGRESS_SERVICE, NULL);
        UNTIL_SERVED(w, &d, all_arrived(w));
        LOCKED(&d, node_drive(b, WIO_PROGRESS_SERVICE));
        LOCKED(&d, assert_int_equal(tr->arm(b->iface, WIO_PROGRESS_SERVICE), 0));
        /* A batched message that nobody flushes leaves, too. */
        LOCKED(&d, node_send(b, 0, 8, WIO_TX_BATCH, false));
        wio_os_eventfd_set(d.kick);
        UNTIL_SERVED(w, &d, all_arrived(w));
        driver_stop(&d);
        assert_int_equal(a->peer[1].closed, 0);
        world_free(w);
    }
}

static void test_service_notices_death(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        if (lacks(LACKS_DEATH))
            continue;
        struct world *w = pair_ready(tr);
        struct driver d;
        driver_start(&d, &w->node[1], WIO_PROGRESS_SERVICE, NULL);
        wio_os_sleep_ns(5000000);
        node_kill(&w->node[0]);
        UNTIL_SERVED(w, &d, w->node[1].peer[0].closed == 1);
        LOCKED(&d, assert_int_equal(w->node[1].peer[0].err, WAITIO_ERR_PEER));
        driver_stop(&d);
        world_free(w);
    }
}

/* Both an application and a service thread on both sides, under one lock each. */
static void test_both_kinds_of_threads(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        struct world *w = world_open(world_new(tr, 2));
        struct node *a = &w->node[0], *b = &w->node[1];
        struct driver d;
        driver_start(&d, b, WIO_PROGRESS_SERVICE, NULL);
        for (int i = 0; i < 2000; i++) {
            node_send(a, 1, rnd(w, 4000), (uint8_t)rnd(w, 4), false);
            LOCKED(&d, node_send(b, 0, rnd(w, 4000), (uint8_t)rnd(w, 4), false);
                   if (i % 2) node_drive(b, WIO_PROGRESS_FULL);
                   (void)tr->arm(b->iface, WIO_PROGRESS_SERVICE));
            node_drive(a, WIO_PROGRESS_FULL);
        }
        UNTIL_SERVED(w, &d, (node_drive(b, WIO_PROGRESS_FULL), all_arrived(w)));
        driver_stop(&d);
        world_free(w);
    }
}

static void test_ping(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        if (lacks(LACKS_DEATH))
            continue;
        struct world *w = pair_ready(tr);
        FOR_MS(w, 5); /* whatever else belongs to the connecting */
        struct wio_ep *ep = w->node[0].peer[1].ep;
        (void)tr->heard_ns(ep); /* of shared memory: since the last question */
        int64_t t = wio_os_now_ns();
        FOR_MS(w, 20);
        assert_true(tr->heard_ns(ep) < t + 10000000);
        tr->ping(ep);
        tr->ping(ep);
        UNTIL(w, tr->heard_ns(ep) > t + 15000000);
        world_free(w);
    }
}

static void test_fork(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        struct world *w = pair_ready(tr);
        node_send(&w->node[0], 1, 3u << 20, 0, false);
        pid_t child = fork();
        if (child == 0) {
            tr->after_fork(w->node[0].iface);
            tr->after_fork(w->node[1].iface);
            _exit(0);
        }
        assert_true(child > 0);
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        node_send(&w->node[1], 0, 1000, 0, false);
        UNTIL(w, all_arrived(w));
        assert_int_equal(w->node[0].peer[1].closed + w->node[1].peer[0].closed, 0);
        tr->close(w->node[0].peer[1].ep, WIO_BYE_FINALIZE);
        UNTIL(w, w->node[0].peer[1].closed && w->node[1].peer[0].closed);
        assert_int_equal(w->node[1].peer[0].err, 0);
        world_free(w);
    }
}

static void test_idle_memory(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        struct world *w = world_open(world_new(tr, 2));
        uint64_t before = w->node[0].ctr.peer_bytes;
        node_send(&w->node[0], 1, 3u << 20, 0, false);
        UNTIL(w, all_arrived(w));
        assert_true(w->node[0].ctr.peer_bytes - before <= 1024);
        print_message("%s: %d bytes for an idle connected link\n", tr->name,
                      (int)(w->node[0].ctr.peer_bytes - before));
        world_free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONFORM(test_no_lost_wakeup),
        CONFORM(test_service_accepts_and_answers_goodbye),
        CONFORM(test_service_reads_watched_links),
        CONFORM(test_service_writes_what_is_queued),
        CONFORM(test_service_notices_death),
        CONFORM(test_both_kinds_of_threads),
        CONFORM(test_ping),
        CONFORM(test_fork),
        CONFORM(test_idle_memory),
    };
    return cmocka_run_group_tests_name("service", tests, NULL, NULL);
}
