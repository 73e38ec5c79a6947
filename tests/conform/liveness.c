/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file liveness.c
 * A host that vanishes from the network without a word (all packets dropped): in a network
 * namespace of our own whose loopback is taken down. Needs the right to make one; skipped
 * otherwise.
 */
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "harness.h"

static void loopback(bool up)
{
    struct ifreq r;
    memset(&r, 0, sizeof r);
    wio_text(r.ifr_name, sizeof r.ifr_name, "lo");
    int fd = wio_os_socket(AF_INET, SOCK_DGRAM);
    assert_true(fd >= 0);
    assert_int_equal(ioctl(fd, SIOCGIFFLAGS, &r), 0);
    r.ifr_flags = (short)(up ? r.ifr_flags | IFF_UP : r.ifr_flags & ~IFF_UP);
    assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &r), 0);
    wio_os_close(fd);
}

/* While data is unacknowledged, silence is noticed within the timeout; not before half of it. */
static void test_unreachable_host(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        struct world *w = world_new(tr, 2);
        w->node[0].cfg.connect_timeout = w->node[1].cfg.connect_timeout = 2;
        world_open(w);
        node_send(&w->node[0], 1, 100, 0, false);
        UNTIL(w, all_arrived(w));
        w->quiet_errors = true;
        loopback(false);
        int64_t t = wio_os_now_ns(), look = t, before = t;
        node_send(&w->node[0], 1, 100, 0, true);
        UNTIL(w, w->node[0].peer[1].closed == 1 || (before = look, look = wio_os_now_ns(), false));
        double took = (double)(wio_os_now_ns() - t) * 1e-9;
        double missed = (double)(before - t) * 1e-9; /* it looked then, and did not notice yet */
        loopback(true);
        print_message("noticed after %.2f s: %s\n", took, w->node[0].peer[1].text);
        assert_int_equal(w->node[0].peer[1].err, WAITIO_ERR_PEER);
        assert_true(took > 1 && missed < 2.2 * wt_patience());
        world_free(w);
    }
}

/* A short outage harms nobody: the link survives and nothing is lost. */
static void test_short_outage(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        struct world *w = world_new(tr, 2);
        w->node[0].cfg.connect_timeout = w->node[1].cfg.connect_timeout = 3;
        world_open(w);
        node_send(&w->node[0], 1, 100, 0, false);
        UNTIL(w, all_arrived(w));
        loopback(false);
        node_send(&w->node[0], 1, 100, 0, false);
        FOR_MS(w, 500);
        loopback(true);
        UNTIL(w, all_arrived(w));
        assert_int_equal(w->node[0].peer[1].closed, 0);
        world_free(w);
    }
}

int main(void)
{
    if (unshare(CLONE_NEWNET) != 0) {
        print_message("skipped: no right to make a network namespace\n");
        return 77;
    }
    loopback(true);
    const struct CMUnitTest tests[] = {
        CONFORM(test_unreachable_host),
        CONFORM(test_short_outage),
    };
    return cmocka_run_group_tests_name("liveness", tests, NULL, NULL);
}
