/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shm_fallback.c  Shared memory that cannot be had: whatever fails at whichever side while a
 * link is made, both sides learn that there is no such route, with the reason, so that another one
 * is taken. Nobody is taken for dead, and nothing was delivered that will be sent again.
 */
#include <stdio.h>
#include <unistd.h>

#include "harness.h"

enum where { AT_DIALLER, AT_ACCEPTOR };

static enum wio_os_call fail_call;
static int fail_errno, fail_at, fails; /* the so-manyth call of the kind, how often it happened */
static size_t fail_bytes;              /* only calls of at least so many bytes */
static bool fail_on;

/* Waiting for events is no way to run out of anything. */
static bool is_event_set(int fd)
{
    char path[40], what[40] = "";
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return readlink(path, what, sizeof what - 1) > 0 && strstr(what, "eventpoll") != NULL;
}

static int fail_some(enum wio_os_call call, int fd, size_t bytes)
{
    if (call == WIO_OS_EPOLL && is_event_set(fd))
        return 0;
    if (!fail_on || call != fail_call || bytes < fail_bytes || --fail_at != 0)
        return 0;
    fails++;
    return fail_errno;
}

static int fail_all(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    if (!fail_on || call != fail_call || bytes < fail_bytes)
        return 0;
    fails++;
    return fail_errno;
}

/* Only one node lives in bad surroundings. */
static void drive_pair(struct world *w, enum where bad)
{
    for (int i = 0; i < w->n; i++) {
        fail_on = i == (int)bad;
        node_drive(&w->node[i], WIO_PROGRESS_FULL);
        fail_on = false;
    }
}

static bool ready(const struct world *w)
{
    return w->node[0].peer[1].ready == 1 && w->node[1].peer[0].ready == 1;
}

/* Node 0 dials node 1. @return 0, or what it was told */
static int dial(struct world *w, enum where bad)
{
    struct wio_ep *ep = NULL;
    int64_t end = wt_until_ns(10 * SECOND);
    fail_on = bad == AT_DIALLER;
    int rc = w->tr->connect(w->node[0].iface, 1, &ep);
    fail_on = false;
    if (rc != 0)
        return rc;
    w->node[0].peer[1].ep = ep;
    node_send(&w->node[0], 1, 100, 0, false);
    while (!ready(w) && w->node[0].peer[1].closed == 0) {
        drive_pair(w, bad);
        assert_true(wio_os_now_ns() < end);
    }
    return w->node[0].peer[1].err;
}

static struct world *pair_open(void)
{
    conform_now = &conform_variants[1];
    struct world *w = world_new(checked(WIO_TR_SHM), 2);
    w->quiet_errors = true;
    return world_open(w);
}

static void no_way(struct world *w, int node, int peer, const char *reason)
{
    char why[256];
    assert_false(w->tr->reachable(w->node[node].iface, (uint32_t)peer, why, sizeof why));
    if (strstr(why, reason) == NULL)
        fail_msg("%s is not in: %s", reason, why);
}

/* ---- every call, one after another ---- */

static void torture(enum wio_os_call call, int error)
{
    for (int bad = AT_DIALLER; bad <= AT_ACCEPTOR; bad++) {
        bool failed = true;
        for (int n = 1; failed; n++) {
            struct world *w = pair_open();
            fail_call = call;
            fail_errno = error;
            fail_bytes = 0;
            fail_at = n;
            fails = 0;
            wio_os_fault = fail_some;
            int rc = dial(w, (enum where)bad);
            if (rc != 0 && rc != WAITIO_ERR_NOROUTE && rc != WAITIO_ERR_NOMEM)
                fail_msg("call %d of kind %d at node %d: %d %s", n, call, bad, rc,
                         w->node[0].peer[1].text);
            failed = fails > 0;
            assert_true(n < 100);
            for (int i = 0; i < 50; i++)
                drive_pair(w, (enum where)bad);
            int other = w->node[1].peer[0].err;
            if (other != 0 && other != WAITIO_ERR_NOROUTE)
                fail_msg("call %d of kind %d at node %d: the other side %d %s", n, call, bad, other,
                         w->node[1].peer[0].text);
            if (rc != 0)
                assert_int_equal(w->node[1].peer[0].nin, 0);
            wio_os_fault = NULL;
            world_free(w);
        }
    }
}

static void test_each_allocation(void **state)
{
    (void)state;
    torture(WIO_OS_MEM, -ENOMEM);
}

static void test_each_socket(void **state)
{
    (void)state;
    torture(WIO_OS_SOCKET, -EMFILE);
}

static void test_each_event_set(void **state)
{
    (void)state;
    torture(WIO_OS_EPOLL, -ENOSPC);
}

/* ---- what never works ---- */

struct lack {
    enum wio_os_call call;
    int error;
    size_t bytes;
    const char *reason_there, *reason_here; /* at the one who lacks it, at the other */
};

static void test_what_is_lacking_is_named(void **state)
{
    (void)state;
    static const struct lack dialler[] = {
        {WIO_OS_MEM, -ENOMEM, 100000, "no shared memory for an inbox", NULL},
        {WIO_OS_SOCKET, -EMFILE, 0, "no socket", NULL},
    };
    static const struct lack acceptor[] = {
        {WIO_OS_MEM, -ENOMEM, 100000, NULL, "no shared memory for an inbox"},
        {WIO_OS_MEM, -ENOSYS, 100000, NULL, "no shared memory for an inbox"}, /* memfd refused */
    };
    for (size_t i = 0; i < WIO_ARRAY_LEN(dialler); i++) {
        struct world *w = pair_open();
        fail_call = dialler[i].call;
        fail_errno = dialler[i].error;
        fail_bytes = dialler[i].bytes;
        wio_os_fault = fail_all;
        assert_int_equal(dial(w, AT_DIALLER), WAITIO_ERR_NOROUTE);
        no_way(w, 0, 1, dialler[i].reason_there);
        wio_os_fault = NULL;
        world_free(w);
    }
    for (size_t i = 0; i < WIO_ARRAY_LEN(acceptor); i++) {
        struct world *w = pair_open();
        fail_call = acceptor[i].call;
        fail_errno = acceptor[i].error;
        fail_bytes = acceptor[i].bytes;
        wio_os_fault = fail_all;
        assert_int_equal(dial(w, AT_ACCEPTOR), WAITIO_ERR_NOROUTE);
        no_way(w, 0, 1, acceptor[i].reason_here);
        wio_os_fault = NULL;
        world_free(w);
    }
}

/* ---- out of descriptors at the acceptor ---- */

static int accepts_left;
static int full_house(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    (void)bytes;
    return call == WIO_OS_ACCEPT && accepts_left-- > 0 ? -EMFILE : 0;
}

/* The one that is kept says no. */
static void test_reserve_refuses(void **state)
{
    (void)state;
    struct world *w = pair_open();
    accepts_left = 1;
    wio_os_fault = full_house;
    assert_int_equal(dial(w, AT_ACCEPTOR), WAITIO_ERR_NOROUTE);
    no_way(w, 0, 1, "no descriptor is free");
    world_free(w);
}

/* Not even that: the dial waits, and nobody spins. */
static void test_no_reserve_waits(void **state)
{
    (void)state;
    struct world *w = pair_open();
    accepts_left = 12;
    wio_os_fault = full_house;
    int64_t t = wio_os_now_ns();
    int rc = dial(w, AT_ACCEPTOR);
    assert_true(rc == 0 || rc == WAITIO_ERR_NOROUTE);
    assert_true(wio_os_now_ns() - t > 40000000);
    world_free(w);
}

/* ---- at the same time ---- */

/* Both dial; one of them cannot. */
static void test_crossing_dials(void **state)
{
    (void)state;
    for (int bad = 0; bad < 2; bad++)
        for (int n = 1; n < 12; n++) {
            struct world *w = pair_open();
            struct wio_ep *ep[2] = {NULL, NULL};
            int rc[2];
            fail_call = WIO_OS_MEM;
            fail_errno = -ENOMEM;
            fail_bytes = 0;
            fail_at = n;
            wio_os_fault = fail_some;
            for (int i = 0; i < 2; i++) {
                fail_on = i == bad;
                rc[i] = w->tr->connect(w->node[i].iface, (uint32_t)(1 - i), &ep[i]);
                w->node[i].peer[1 - i].ep = rc[i] == 0 ? ep[i] : NULL;
            }
            int64_t end = wt_until_ns(10 * SECOND);
            const struct view *a = &w->node[0].peer[1], *b = &w->node[1].peer[0];
            while (!ready(w) && !((rc[0] != 0 || a->closed) && (rc[1] != 0 || b->closed))) {
                drive_pair(w, (enum where)bad);
                if (wio_os_now_ns() > end) {
                    world_dump(w);
                    fail_msg("allocation %d of node %d: no end", n, bad);
                }
            }
            assert_true(a->err == 0 || a->err == WAITIO_ERR_NOROUTE || a->err == WAITIO_ERR_NOMEM);
            assert_true(b->err == 0 || b->err == WAITIO_ERR_NOROUTE || b->err == WAITIO_ERR_NOMEM);
            wio_os_fault = NULL;
            world_free(w);
        }
}

/* No barriers by the kernel: every writer fences. */
static int no_membarrier(enum wio_os_call call, int fd, size_t bytes)
{
    return call == WIO_OS_MEM && fd == -1 && bytes == 0 ? -ENOSYS : 0;
}

static void test_without_membarrier(void **state)
{
    (void)state;
    for (int who = 1; who < 4; who++) /* one, the other, both */
        for (size_t v = 1; v < WIO_ARRAY_LEN(conform_variants); v++) {
            conform_now = &conform_variants[v];
            struct world *w = world_new(checked(WIO_TR_SHM), 2);
            for (uint32_t i = 0; i < 2; i++) {
                wio_os_fault = (who >> i & 1) != 0 ? no_membarrier : NULL;
                node_open(w, i);
            }
            wio_os_fault = NULL;
            for (uint32_t i = 0; i < 2; i++)
                node_start(w, i);
            for (int i = 0; i < 300; i++) {
                node_send(&w->node[i % 2], 1 - (uint32_t)i % 2, (uint32_t)i * 13, 0, false);
                if (i % 10 == 0)
                    UNTIL(w, all_arrived(w));
            }
            UNTIL(w, all_arrived(w));
            world_free(w);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONFORM(test_each_allocation), CONFORM(test_each_socket),
        CONFORM(test_each_event_set),  CONFORM(test_what_is_lacking_is_named),
        CONFORM(test_reserve_refuses), CONFORM(test_no_reserve_waits),
        CONFORM(test_crossing_dials),  CONFORM(test_without_membarrier),
    };
    return cmocka_run_group_tests_name("shm_fallback", tests, NULL, NULL);
}
