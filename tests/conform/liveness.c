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

static int sends_left; /* before the network goes */

static int network_goes(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    (void)bytes;
    if (call == WIO_OS_SEND && sends_left-- == 0) {
        wio_os_fault = NULL;
        loopback(false);
    }
    return 0;
}

enum { HELLO, CHALLENGE, PROOF, READY };

/* The network goes just before this part of the handshake is written. Who has written last waits
 * for an acknowledgement, and notices that the host of the other has gone. Guards: without the
 * looks after dials, and after accepted links, they wait as long as the kernel does, a quarter of
 * an hour. */
static void handshake_without_network(const struct wio_transport *tr, int step, bool both)
{
    struct world *w = world_new(tr, 2);
    struct node *dials = &w->node[0], *accepts = &w->node[1];
    dials->cfg.connect_timeout = accepts->cfg.connect_timeout = 1;
    w->quiet_errors = true;
    world_open(w);
    sends_left = step;
    node_send(dials, 1, 100, 0, true);
    wio_os_fault = network_goes;
    int64_t t = wio_os_now_ns();
    UNTIL(w, wio_os_fault == NULL);
    if (both)
        node_send(accepts, 0, 100, 0, true);
    UNTIL(w, dials->peer[1].closed == 1 && (!both || accepts->peer[0].closed == 1));
    assert_int_equal(dials->peer[1].err, WAITIO_ERR_PEER);
    double took = (double)(wio_os_now_ns() - t) * 1e-9;
    print_message("step %d: noticed after %.2f s: %s\n", step, took, dials->peer[1].text);
    if (step == READY) /* else a stranger waits there, for ten seconds */
        UNTIL(w, !tr->needs_service(accepts->iface));
    loopback(true);
    world_free(w);
}

static void test_network_goes_in_a_handshake(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        handshake_without_network(tr, HELLO, false);
        handshake_without_network(tr, PROOF, false);
        handshake_without_network(tr, READY, false);
        handshake_without_network(tr, READY, true);
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
        CONFORM(test_network_goes_in_a_handshake),
    };
    return cmocka_run_group_tests_name("liveness", tests, NULL, NULL);
}
