/* SPDX-License-Identifier: BSD-3-Clause */
/** @file messages.c  Every transport: order, sizes, batching, overtaking, stopping, odd sinks, torn
 * I/O. */
#include "harness.h"

static const uint32_t sizes[] = {
    0,        1,       8,        63,    64,    65,    511,   512,   513,      1000,
    4096,     16320,   16384,    16385, 32704, 32768, 65536, 65600, 1u << 17, (1u << 18) + 1,
    1u << 20, 3000001, 16u << 20};

static void test_sizes_both_ways(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        struct world *w = pair_ready(tr);
        for (size_t i = 0; i < WIO_ARRAY_LEN(sizes); i++) {
            node_send(&w->node[0], 1, sizes[i], 0, false);
            node_send(&w->node[1], 0, sizes[WIO_ARRAY_LEN(sizes) - 1 - i], 0, false);
        }
        UNTIL(w, all_arrived(w));
        w->node[0].use_ep = w->node[1].use_ep = true;
        for (size_t i = 0; i < WIO_ARRAY_LEN(sizes); i++) {
            node_send(&w->node[0], 1, sizes[i], 0, false);
            node_send(&w->node[1], 0, sizes[i], 0, false);
            world_drive(w);
        }
        UNTIL(w, all_arrived(w));
        world_free(w);
    }
}

static void test_queue_before_ready(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        if (lacks(LACKS_HANDSHAKE))
            continue;
        struct world *w = world_open(world_new(tr, 2));
        for (uint32_t i = 0; i < 300; i++)
            assert_int_equal(node_send(&w->node[0], 1, i * 3, i % 2 ? WIO_TX_BATCH : 0, false),
                             WIO_TX_QUEUED);
        UNTIL(w, all_arrived(w));
        assert_int_equal(w->node[0].ndone, 300);
        world_free(w);
    }
}

static void test_batch(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        struct world *w = pair_ready(tr);
        uint64_t before = w->node[0].ctr.tx_syscalls, one = tr->id == WIO_TR_TCP;
        for (int i = 0; i < 64; i++)
            assert_true(node_send(&w->node[0], 1, 8, WIO_TX_SMALL | WIO_TX_BATCH, false) ==
                            WIO_TX_DONE ||
                        tr->id != WIO_TR_TCP);
        assert_int_equal(w->node[0].ctr.tx_syscalls, before); /* kept back */
        tr->flush(w->node[0].iface);
        assert_int_equal(w->node[0].ctr.tx_syscalls, before + one);
        if (tr->id == WIO_TR_TCP)
            assert_int_equal(tr->queued(w->node[0].peer[1].ep), 0);
        UNTIL(w, all_arrived(w));
        /* More than fits, mixed with unbatched and large ones. */
        for (int i = 0; i < share_of(2000); i++)
            node_send(&w->node[0], 1, rnd(w, 20) == 0 ? rnd(w, 70000) : rnd(w, 600),
                      rnd(w, 3) != 0 ? WIO_TX_BATCH : 0, false);
        tr->flush(w->node[0].iface);
        UNTIL(w, all_arrived(w));
        /* Without flush, progress writes it. */
        node_send(&w->node[0], 1, 8, WIO_TX_BATCH, false);
        UNTIL(w, all_arrived(w));
        world_free(w);
    }
}

/* A SMALL message passes queued bulk that has not begun. */
static void test_small_overtakes(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        struct world *w = pair_ready(tr);
        int queued = 0;
        for (int i = 0; i < 12; i++)
            queued += node_send(&w->node[0], 1, 4u << 20, 0, false) == WIO_TX_QUEUED;
        assert_true(queued > 2);
        assert_true(tr->queued(w->node[0].peer[1].ep) > 0);
        uint32_t id = w->node[0].peer[1].next_out + 1;
        node_send(&w->node[0], 1, 16, WIO_TX_SMALL, false);
        node_send(&w->node[0], 1, 16, WIO_TX_SMALL, false);
        UNTIL(w, w->node[1].peer[0].last_in[1] == id + 1);
        assert_true(w->node[1].peer[0].nin < 12);
        UNTIL(w, all_arrived(w));
        world_free(w);
    }
}

static void test_stop_and_continue(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        struct world *w = world_open(world_new(tr, 3));
        w->node[2].stop_every = 1;
        for (uint32_t i = 0; i < 500; i++) {
            node_send(&w->node[0], 2, rnd(w, 300), WIO_TX_BATCH, false);
            node_send(&w->node[1], 2, rnd(w, 3000), WIO_TX_BATCH, false);
        }
        UNTIL(w, all_arrived(w));
        assert_int_equal(w->node[2].stops, 1000);
        /* One message per call: stop is obeyed, and the rest is announced by arm(). */
        for (int i = 0; i < 10; i++)
            node_send(&w->node[0], 2, 8, WIO_TX_BATCH, false);
        tr->flush(w->node[0].iface);
        uint32_t have = w->node[2].peer[0].nin;
        w->node[0].mute = w->node[1].mute = true;
        UNTIL(w, w->node[2].peer[0].nin == have + 1);
        while (w->node[2].peer[0].nin < have + 10) {
            uint32_t n = w->node[2].peer[0].nin;
            assert_int_equal(tr->arm(w->node[2].iface, WIO_PROGRESS_FULL), 1);
            node_drive(&w->node[2], WIO_PROGRESS_FULL);
            assert_int_equal(w->node[2].peer[0].nin, n + 1);
        }
        world_free(w);
    }
}

static void test_truncating_sinks(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        static const uint32_t caps[] = {1, 100, 5000, 100000};
        for (size_t c = 0; c < WIO_ARRAY_LEN(caps); c++) {
            struct world *w = pair_ready(tr);
            w->node[1].sink_max = caps[c];
            for (size_t i = 0; i < WIO_ARRAY_LEN(sizes); i++)
                node_send(&w->node[0], 1, sizes[i] > 1u << 20 ? 1u << 20 : sizes[i], 0, false);
            UNTIL(w, all_arrived(w));
            world_free(w);
        }
    }
}

static int tear_bytes(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    (void)bytes;
    return call == WIO_OS_SEND || call == WIO_OS_RECV ? 1 : 0;
}

static uint64_t tear_state = 1;
static int tear_random(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    if (call != WIO_OS_SEND && call != WIO_OS_RECV)
        return 0;
    tear_state = wio_mix64(tear_state + 0x9e3779b97f4a7c15ULL);
    if (tear_state % 5 == 0)
        return -EAGAIN;
    return (int)(1 + (tear_state >> 20) % (bytes < 200 ? 200 : bytes));
}

static void torn(int (*hook)(enum wio_os_call, int, size_t), uint32_t max)
{
    EACH_TRANSPORT(tr)
    {
        struct world *w = world_new(tr, 2);
        w->node[0].cfg.crc = true; /* one side only: both must get along */
        wio_os_fault = hook;
        world_open(w);
        for (uint32_t i = 0; i < 60; i++) {
            node_send(&w->node[0], 1, rnd(w, max), rnd(w, 2) ? WIO_TX_BATCH : 0, false);
            node_send(&w->node[1], 0, rnd(w, max), rnd(w, 2) ? WIO_TX_SMALL : 0, false);
        }
        UNTIL(w, all_arrived(w));
        tr->close(w->node[0].peer[1].ep, WIO_BYE_FINALIZE);
        UNTIL(w, w->node[0].peer[1].closed == 1 && w->node[1].peer[0].closed == 1);
        wio_os_fault = NULL;
        assert_int_equal(w->node[0].peer[1].err, 0);
        assert_int_equal(w->node[1].peer[0].err, 0);
        world_free(w);
    }
}

static void test_one_byte_io(void **state)
{
    (void)state;
    torn(tear_bytes, 700);
}

static void test_torn_io(void **state)
{
    (void)state;
    torn(tear_random, 50000);
}

static void random_traffic(const struct wio_transport *tr, bool puts)
{
    struct world *w = world_open(world_new(tr, 5));
    uint32_t nput = 0;
    w->rng = 77;
    for (int i = 0; i < 5; i++) {
        w->node[i].puts = puts;
        w->node[i].use_ep = i % 2;
        w->node[i].stop_every = i == 3 ? 7 : 0;
        w->node[i].cfg.crc = i == 2;
    }
    for (int i = 0; i < share_of(6000); i++) {
        uint32_t a = rnd(w, 5), b = rnd(w, 5);
        if (a == b)
            continue;
        uint32_t n = rnd(w, 50) == 0 ? rnd(w, 300000) : rnd(w, 2000);
        node_send(&w->node[a], b, n, (uint8_t)rnd(w, 4), false);
        if (rnd(w, 4) == 0)
            world_drive(w);
    }
    UNTIL(w, all_arrived(w));
    for (int i = 0; i < 5; i++)
        nput += w->node[i].nput;
    if (puts && strcmp(conform_now->name, "shm, ring at once") == 0)
        assert_in_range(nput, 100, 6000);
    world_free(w);
}

static void test_random_traffic(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        random_traffic(tr, false);
        random_traffic(tr, true);
    }
}

/* The link may have gone without the upper layer knowing: nothing is taken, nothing happens. */
static void test_nothing_is_put_on_a_link_that_closes(void **state)
{
    (void)state;
    EACH_TRANSPORT(tr)
    {
        struct world *w = pair_ready(tr);
        struct wio_ep *ep = w->node[0].peer[1].ep;
        struct wio_msg msg = {0};
        int most = tr->id == WIO_TR_SHM ? 3000 : 100; /* until there is a ring, if ever */
        w->node[0].puts = true;
        for (int i = 0; i < most && w->node[0].nput == 0; i++) {
            node_send(&w->node[0], 1, 8, WIO_TX_SMALL, false);
            FOR_MS(w, 0);
        }
        UNTIL(w, all_arrived(w));
        bool in_ring = strcmp(conform_now->name, "shm") == 0;
        assert_true(!in_ring || w->node[0].nput > 0);
        uint32_t have = w->node[1].peer[0].nin;
        tr->close(ep, WIO_BYE_FINALIZE);
        assert_int_equal(ep->state, WIO_EP_CLOSING);
        assert_false(tr->put(ep, &msg, NULL, 0));
        UNTIL(w, w->node[1].peer[0].state >= WIO_EP_CLOSING);
        assert_int_equal(w->node[1].peer[0].nin, have);
        world_free(w);
    }
}

/* ---- self: one interface only ---- */

static void test_self(void **state)
{
    (void)state;
    struct world *w = world_open(world_new(checked(WIO_TR_SELF), 1));
    struct node *nd = &w->node[0];
    node_connect(nd, 0);
    for (size_t i = 0; i < WIO_ARRAY_LEN(sizes); i++)
        node_send(nd, 0, sizes[i], 0, false);
    uint32_t id = nd->peer[0].next_out + 1;
    node_send(nd, 0, 8, WIO_TX_SMALL, false);
    assert_int_equal(w->tr->arm(nd->iface, WIO_PROGRESS_FULL), 1);
    nd->stop_every = 1;
    node_drive(nd, WIO_PROGRESS_FULL);
    assert_int_equal(nd->peer[0].last_in[1], id); /* SMALL went ahead */
    UNTIL(w, all_arrived(w));
    nd->sink_max = 10;
    node_send(nd, 0, 4000, 0, false);
    node_send(nd, 0, 40, 0, false);
    w->tr->close(nd->peer[0].ep, WIO_BYE_FINALIZE);
    UNTIL(w, nd->peer[0].closed == 1);
    assert_true(all_arrived(w));
    assert_int_equal(nd->peer[0].err, 0);
    assert_int_equal(w->tr->arm(nd->iface, WIO_PROGRESS_FULL), 0);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONFORM(test_sizes_both_ways),
        CONFORM(test_queue_before_ready),
        CONFORM(test_batch),
        CONFORM(test_small_overtakes),
        CONFORM(test_stop_and_continue),
        CONFORM(test_truncating_sinks),
        CONFORM(test_one_byte_io),
        CONFORM(test_torn_io),
        CONFORM(test_random_traffic),
        CONFORM(test_nothing_is_put_on_a_link_that_closes),
        CONFORM(test_self),
    };
    return cmocka_run_group_tests_name("messages", tests, NULL, NULL);
}
