/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file hostile.c  What comes from the network is hostile until proven: strangers, wrong secrets,
 * wrong runs, wrong ranks, and a member that breaks the protocol. For transports with a TCP port.
 */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "harness.h"

static int dial_raw(struct world *w, uint32_t to)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(w->ep[to].port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = wio_os_socket(AF_INET, SOCK_STREAM);
    assert_true(fd >= 0);
    int rc = wio_os_connect(fd, (struct sockaddr *)&a, sizeof a);
    assert_true(rc == 0 || rc == -EINPROGRESS);
    return fd;
}

/* Drive until the other side has hung up on us; what it said before is thrown away. */
static void until_hung_up(struct world *w, int fd)
{
    char buf[512];
    int64_t end = wt_until_ns(5 * SECOND);
    for (;;) {
        ssize_t n = wio_os_recv(fd, buf, sizeof buf);
        if (n == 0 || (n < 0 && n != -EAGAIN))
            break;
        world_drive(w);
        assert_true(wio_os_now_ns() < end);
    }
    wio_os_close(fd);
}

static void members_meet(struct world *w)
{
    uint32_t before = w->node[1].peer[0].nin;
    node_send(&w->node[0], 1, 100, 0, false);
    UNTIL(w, w->node[1].peer[0].nin == before + 1);
}

static void test_garbage(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        struct world *w = world_open(world_new(tr, 2));
        int fd = dial_raw(w, 1);
        assert_int_equal(wio_os_send(fd, "GET / HTTP/1.0\r\n\r\n", 18), 18);
        until_hung_up(w, fd);
        assert_true(w->node[1].ctr.strangers > 0);
        assert_int_equal(w->node[1].peer[0].state, -1); /* p2p never heard of it */
        members_meet(w);
        world_free(w);
    }
}

/* Far more idle connections than slots: members still join, memory stays bounded. */
static void test_idle_strangers(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        enum { CROWD = 600 };
        struct world *w = world_open(world_new(tr, 3));
        int fd[CROWD];
        for (int i = 0; i < CROWD; i++) {
            fd[i] = dial_raw(w, 1);
            if (i % 100 == 50)
                node_send(&w->node[0], 1, 100, 0, false);
            world_drive(w);
        }
        node_send(&w->node[2], 1, 100, 0, false);
        UNTIL(w, all_arrived(w));
        assert_true(w->node[1].ctr.strangers >= CROWD - 64);
        for (int i = 0; i < CROWD; i++)
            wio_os_close(fd[i]);
        world_free(w);
    }
}

/* One byte now and then keeps a slot only until the deadline or until somebody needs it. */
static void test_slow_loris(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        enum { CROWD = 100 };
        struct world *w = world_open(world_new(tr, 2));
        int fd[CROWD];
        for (int i = 0; i < CROWD; i++) {
            fd[i] = dial_raw(w, 1);
            world_drive(w);
            (void)wio_os_send(fd[i], "W", 1);
            world_drive(w);
        }
        members_meet(w);
        for (int i = 0; i < CROWD; i++)
            wio_os_close(fd[i]);
        world_free(w);
    }
}

static void test_wrong_secret(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        struct world *w = world_new(tr, 2);
        w->quiet_errors = true;
        w->node[0].secret.key[3] ^= 1;
        world_open(w);
        node_send(&w->node[0], 1, 100, 0, false);
        UNTIL(w, w->node[0].peer[1].closed == 1);
        assert_int_equal(w->node[0].peer[1].err, WAITIO_ERR_AUTH);
        assert_int_equal(w->node[1].peer[0].state, -1);
        assert_int_equal(w->node[0].ndone, 1);
        world_free(w);
    }
}

static void test_wrong_universe(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        struct world *w = world_open(world_new(tr, 2));
        w->quiet_errors = true;
        memset(w->node[0].table.universe, 8, WIO_UNIVERSE_ID);
        node_send(&w->node[0], 1, 100, 0, false);
        UNTIL(w, w->node[0].peer[1].closed == 1);
        assert_true(w->node[0].peer[1].err < 0);
        assert_int_equal(w->node[1].peer[0].state, -1);
        world_free(w);
    }
}

static void test_wrong_rank(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        struct world *w = world_open(world_new(tr, 3));
        w->quiet_errors = true;
        w->node[0].table.me = 1; /* claims to be whom it calls */
        node_send(&w->node[0], 2, 1, 0, false);
        w->node[0].table.me = 0;
        w->ep[1].port = w->ep[2].port; /* the table points at somebody else */
        node_send(&w->node[0], 1, 100, 0, false);
        UNTIL(w, w->node[0].peer[1].closed == 1);
        assert_true(w->node[0].peer[1].err < 0);
        assert_int_equal(w->node[1].peer[0].state, -1);
        world_free(w);
    }
}

/* ---- a member that breaks the protocol: handshake by the book, then raw frames ---- */

static int join_raw(struct world *w, uint32_t as, uint32_t to)
{
    struct wio_auth a;
    struct wio_auth_id mine = {.rank = as}, peer = {.rank = to};
    memset(mine.universe, 7, WIO_UNIVERSE_ID);
    memset(peer.universe, 7, WIO_UNIVERSE_ID);
    assert_int_equal(wio_auth_start(&a, WIO_AUTH_DIAL, WIO_AUTH_LINK, &w->node[to].secret, &mine,
                                    &peer, NULL, NULL),
                     0);
    int fd = dial_raw(w, to);
    while (a.state == WIO_AUTH_RUNNING) {
        const void *out;
        uint8_t in[512];
        size_t n = wio_auth_output(&a, &out);
        if (n > 0) {
            ssize_t s = wio_os_send(fd, out, n);
            if (s > 0)
                wio_auth_sent(&a, (size_t)s);
        }
        world_drive(w);
        ssize_t r = wio_auth_want(&a) > 0 ? wio_os_recv(fd, in, wio_auth_want(&a)) : -EAGAIN;
        if (r > 0)
            (void)wio_auth_input(&a, in, (size_t)r);
        else
            assert_int_equal(r, -EAGAIN);
    }
    assert_int_equal(a.state, WIO_AUTH_DONE);
    return fd;
}

static void frame(uint8_t out[WIO_HDR_BYTES], struct wio_frame f, uint32_t id)
{
    memset(out, 0, WIO_HDR_BYTES);
    wio_frame_encode(&f, out);
    struct wio_msg m = {.credit = id, .tag = 0, .envelope = 1, .space = f.payload};
    wio_msg_encode(&m, out + WIO_LINK_BYTES);
}

static void breaks(const struct wio_transport *tr, struct wio_frame bad, bool raw_garbage)
{
    struct world *w = world_open(world_new(tr, 3));
    w->quiet_errors = true;
    int fd = join_raw(w, 0, 1);
    uint8_t out[WIO_HDR_BYTES];
    frame(out, (struct wio_frame){.kind = WIO_FRAME_MESSAGE, .seq = 1}, 1);
    assert_int_equal(wio_os_send(fd, out, sizeof out), (ssize_t)sizeof out);
    UNTIL(w, w->node[1].peer[0].nin == 1);
    frame(out, bad, 2);
    if (raw_garbage)
        memset(out, 'x', sizeof out);
    assert_int_equal(wio_os_send(fd, out, sizeof out), (ssize_t)sizeof out);
    UNTIL(w, w->node[1].peer[0].closed == 1);
    assert_true(w->node[1].peer[0].err == WAITIO_ERR_PROTOCOL ||
                w->node[1].peer[0].err == WAITIO_ERR_VERSION);
    assert_non_null(strstr(w->node[1].peer[0].text, "PB 0 rank 0"));
    until_hung_up(w, fd);
    node_send(&w->node[2], 1, 10, 0, false); /* others go on */
    UNTIL(w, w->node[1].peer[2].nin == 1);
    world_free(w);
}

static void test_broken_frames(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        breaks(tr, (struct wio_frame){0}, true);
        breaks(tr, (struct wio_frame){.kind = WIO_FRAME_MESSAGE, .seq = 1}, false); /* again */
        breaks(tr, (struct wio_frame){.kind = WIO_FRAME_MESSAGE, .seq = 3}, false); /* a gap */
        breaks(tr, (struct wio_frame){.kind = WIO_FRAME_MESSAGE, .seq = 2, .ack = 9}, false);
        breaks(tr, (struct wio_frame){.kind = WIO_FRAME_ACK, .ack = 1}, false);
        breaks(tr, (struct wio_frame){.kind = 77}, false);
        breaks(
            tr,
            (struct wio_frame){.kind = WIO_FRAME_MESSAGE, .seq = 2, .payload = WIO_PAYLOAD_MAX + 1},
            false);
        breaks(tr,
               (struct wio_frame){
                   .kind = WIO_FRAME_MESSAGE, .seq = 2, .flags = WIO_FRAME_CRC, .crc = 1},
               false);
    }
}

/* Proven, but its first frame never comes: no link, no harm. */
static void test_silent_after_handshake(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        struct world *w = world_open(world_new(tr, 2));
        int fd = join_raw(w, 0, 1);
        FOR_MS(w, 5);
        assert_int_equal(w->node[1].peer[0].ready, 0);
        wio_os_close(fd);
        FOR_MS(w, 5);
        assert_int_equal(w->node[1].peer[0].state, -1);
        members_meet(w);
        world_free(w);
    }
}

static void test_refused_message_closes(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        struct world *w = pair_ready(tr);
        w->quiet_errors = true;
        w->node[1].refuse_messages = true;
        node_send(&w->node[0], 1, 100000, 0, false);
        UNTIL(w, w->node[0].peer[1].closed && w->node[1].peer[0].closed);
        assert_int_equal(w->node[1].peer[0].err, WAITIO_ERR_NOMEM);
        assert_int_equal(w->node[0].peer[1].err, WAITIO_ERR_PEER);
        assert_int_equal(w->node[0].peer[1].reason, WIO_BYE_NOMEM); /* its sender is told */
        assert_non_null(strstr(w->node[0].peer[1].text, "no memory for a message"));
        world_free(w);
    }
}

/* ---- out of descriptors ---- */

static int accepts_left;
static int no_descriptors(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    (void)bytes;
    return call == WIO_OS_ACCEPT && accepts_left-- > 0 ? -EMFILE : 0;
}

static void test_accept_without_descriptors(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        struct world *w = world_open(world_new(tr, 2));
        accepts_left = 5;
        wio_os_fault = no_descriptors;
        node_connect(&w->node[0], 1);
        int64_t t = wio_os_now_ns();
        UNTIL(w, w->node[1].peer[0].ready == 1);
        assert_true(wio_os_now_ns() - t > 150000000); /* paused instead of spinning */
        world_free(w);
    }
}

static int memory_left;
static int no_memory(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    (void)bytes;
    return call == WIO_OS_MEM && --memory_left == 0 ? -ENOMEM : 0;
}

/* Fail the n-th allocation: an error, or a detour, but never a crash or a hang. */
static void test_out_of_memory(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        for (int n = 1; n < 12; n++) {
            struct world *w = world_open(world_new(tr, 2));
            struct wio_ep *ep = NULL;
            w->quiet_errors = true;
            memory_left = n;
            wio_os_fault = no_memory;
            int rc = tr->connect(w->node[0].iface, 1, &ep);
            if (rc == 0) {
                w->node[0].peer[1].ep = ep;
                node_send(&w->node[0], 1, 100, WIO_TX_BATCH, true);
                UNTIL(w, all_arrived(w) || w->node[0].peer[1].closed || w->node[1].peer[0].closed);
            } else {
                assert_int_equal(rc, WAITIO_ERR_NOMEM);
            }
            wio_os_fault = NULL;
            world_free(w);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONFORM(test_garbage),
        CONFORM(test_idle_strangers),
        CONFORM(test_slow_loris),
        CONFORM(test_wrong_secret),
        CONFORM(test_wrong_universe),
        CONFORM(test_wrong_rank),
        CONFORM(test_broken_frames),
        CONFORM(test_silent_after_handshake),
        CONFORM(test_refused_message_closes),
        CONFORM(test_accept_without_descriptors),
        CONFORM(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
