/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shm_death.c  A peer that is killed at each step of a link's life over shared memory, as the
 * one that dialled and as the one that was dialled, as reader and as writer. The survivor is told
 * at once, comes to rest (nothing keeps it awake), holds nothing for the dead one, and goes on with
 * others.
 */
#include "raw_world.h"

enum step {
    CONNECTED,
    SHAKEN,
    SAID_SETUP,
    HEARD_SETUP,
    READY,
    HEARD_ASLEEP, /* we sleep and rely on its bell */
    OFFERED_RING,
    RING_AGREED,
    IN_RING,
    STREAMING_IN_INBOX,
    STREAMING_IN_RING,
    READING_INBOX, /* we stream to it */
    READING_RING,
    LEAVING,  /* its goodbye is on its way */
    WE_LEAVE, /* ours is */
    STEPS
};

/* Nothing to do, and nothing that would make us look again soon. */
static void at_rest(struct world *w, struct node *nd)
{
    int64_t end = wt_until_ns(2 * SECOND);
    while (w->tr->arm(nd->iface, WIO_PROGRESS_FULL) != 0 || w->tr->needs_service(nd->iface) ||
           w->tr->progress(nd->iface, WIO_PROGRESS_FULL) != 0) {
        world_drive(w);
        if (wio_os_now_ns() > end) {
            world_dump(w);
            fail_msg("it does not come to rest");
        }
    }
}

/* The survivor is told of a death: at once, that is within a second, or in few rounds where
 * somebody else had the processor in that second. */
static void told_at_once(struct world *w)
{
    int64_t soon = wio_os_now_ns() + SECOND;
    int rounds = 0;
    UNTIL(w, w->node[1].peer[0].closed == 1 || (++rounds > 100 && wio_os_now_ns() > soon));
    assert_int_equal(w->node[1].peer[0].closed, 1);
}

static void sleep_node(struct world *w)
{
    while (w->tr->arm(w->node[1].iface, WIO_PROGRESS_FULL) != 0)
        world_drive(w);
}

/* The victim's ring to us is agreed, and never read. */
static void let_it_have_a_ring(struct world *w, struct raw *r)
{
    struct shm_rec rec;
    int fd = -1;
    for (int i = 0; i < 4; i++)
        node_send(&w->node[1], 0, 10, 0, true);
    assert_int_equal(raw_hear_type(r, SHM_R_RING, &rec, &fd), 1);
    raw_close_fd(fd);
    assert_true(raw_say(r, SHM_R_RING_OK));
}

static void up_to_setup(struct world *w, struct raw *r, enum step s)
{
    raw_init(r, drive, w);
    if (s == CONNECTED) {
        r->fd = raw_dial(w->ep[1].token);
        assert_true(r->fd >= 0);
        return;
    }
    join_raw(w, r);
    if (s == SHAKEN)
        return;
    assert_true(raw_inbox(r, 16, 512));
    struct shm_rec rec = raw_setup_record(r);
    assert_true(raw_send(r, &rec, sizeof rec, r->mine_fd));
    if (s == HEARD_SETUP)
        assert_true(raw_take_setup(r));
}

static void open_link(struct world *w, struct raw *r, enum step s)
{
    uint8_t bye[WIO_MSG_BYTES] = {WIO_BYE_FINALIZE};
    struct shm_rec rec = raw_ring_record(16, 4096, 8192);
    link_raw(w, r);
    switch (s) {
    case HEARD_ASLEEP:
        sleep_node(w);
        break;
    case OFFERED_RING:
        assert_true(raw_ring_make(r, 16, 4096, 8192));
        assert_true(raw_send(r, &rec, sizeof rec, r->ring_fd));
        break;
    case RING_AGREED:
        let_it_have_a_ring(w, r);
        break;
    case IN_RING:
    case STREAMING_IN_RING:
        assert_true(raw_ring_open(r, 16, 4096, 8192));
        if (s == IN_RING)
            break;
        raw_slot(r, shm_info(SHM_MESSAGE, SHM_STREAM, 100000), message(1, 100000, false));
        atomic_store(&r->w.ring.ctl->bulk_tail, 5000);
        break;
    case STREAMING_IN_INBOX:
        assert_true(raw_cell(r, shm_info(SHM_MESSAGE, SHM_STREAM, 100000),
                             message(1, 100000, false), NULL, 0));
        break;
    case READING_RING:
        let_it_have_a_ring(w, r);
        FOR_MS(w, 2);
        /* fall through */
    case READING_INBOX:
        for (int i = 0; i < 5; i++)
            node_send(&w->node[1], 0, 3000000, 0, true);
        break;
    case LEAVING:
        assert_true(raw_say(r, SHM_R_LEAVING));
        assert_true(raw_cell(r, shm_info(SHM_BYE, SHM_INLINE, 0), bye, NULL, 0));
        break;
    case WE_LEAVE:
        w->tr->close(w->node[1].peer[0].ep, WIO_BYE_FINALIZE);
        break;
    default:
        break;
    }
}

static struct world *world_for(enum step s)
{
    conform_now = &conform_variants[s == RING_AGREED || s == READING_RING ? 3 : 1];
    if (s == READING_INBOX)
        conform_now = &conform_variants[2];
    return open_world(3);
}

static void test_killed_after_dialling(void **state)
{
    (void)state;
    for (int s = 0; s < STEPS; s++)
        for (int driven = 0; driven < 2; driven++) {
            struct world *w = world_for((enum step)s);
            struct raw r;
            if (s < READY)
                up_to_setup(w, &r, (enum step)s);
            else
                open_link(w, &r, (enum step)s);
            if (driven)
                FOR_MS(w, 2);
            raw_die(&r);
            if (s >= READY) {
                told_at_once(w);
                if (s != LEAVING)
                    assert_int_equal(w->node[1].peer[0].err, WAITIO_ERR_PEER);
                assert_int_equal(w->node[1].ndone, w->node[1].nqueued);
            } else {
                FOR_MS(w, 5);
                assert_int_equal(w->node[1].peer[0].closed, 0); /* p2p never heard of it */
            }
            at_rest(w, &w->node[1]);
            others_go_on(w);
            at_rest(w, &w->node[1]);
            assert_int_equal(w->node[1].ctr.links, 1);
            world_free(w);
        }
}

/* The survivor has dialled; the other one dies during the setup. */
static void test_killed_while_dialled(void **state)
{
    (void)state;
    for (int s = CONNECTED; s <= READY; s++) {
        struct world *w = world_for((enum step)s);
        struct raw r;
        struct wio_auth a;
        struct wio_auth_id mine = {.rank = 0};
        memcpy(mine.universe, universe, WIO_UNIVERSE_ID);
        raw_init(&r, drive, w);
        w->ep[0].token =
            (w->ep[0].token >> 32 << 32) | (0xdead0000u + ((uint32_t)getpid() & 0xffff));
        int listener = raw_listen(w->ep[0].token);
        assert_true(listener >= 0);
        node_send(&w->node[1], 0, 100000, 0, false);
        for (int i = 0; i < 100000 && r.fd < 0; i++) {
            world_drive(w);
            r.fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        }
        if (s >= SHAKEN) {
            assert_int_equal(wio_auth_start(&a, WIO_AUTH_ACCEPT, WIO_AUTH_SHM, &w->node[1].secret,
                                            &mine, NULL, NULL, NULL),
                             0);
            assert_true(raw_shake(&r, &a));
        }
        if (s >= HEARD_SETUP)
            assert_true(raw_take_setup(&r));
        if (s >= READY) {
            assert_true(raw_inbox(&r, 16, 512));
            struct shm_rec rec = raw_setup_record(&r);
            assert_true(raw_send(&r, &rec, sizeof rec, r.mine_fd));
            UNTIL(w, w->node[1].peer[0].ready == 1);
        }
        close(listener);
        raw_die(&r);
        told_at_once(w);
        assert_int_equal(w->node[1].peer[0].err, WAITIO_ERR_PEER);
        assert_int_equal(w->node[1].ndone, w->node[1].nqueued);
        at_rest(w, &w->node[1]);
        others_go_on(w);
        world_free(w);
    }
}

/* Its rings and segments are gone with it. */
static void test_memory_is_given_back(void **state)
{
    (void)state;
    conform_now = &conform_variants[3];
    struct world *w = open_world(3);
    others_go_on(w);
    /* Those who talked have one each and keep it. */
    UNTIL(w, w->node[1].ctr.shm_rings == 1 && w->node[2].ctr.shm_rings == 1);
    at_rest(w, &w->node[1]);
    FOR_MS(w, 5);
    uint64_t bytes = w->node[1].ctr.shm_bytes, rings = w->node[1].ctr.shm_rings;
    int fds = open_descriptors();
    for (int i = 0; i < 50; i++) {
        struct raw r;
        int closed = w->node[1].peer[0].closed;
        join_raw(w, &r);
        assert_true(raw_open(&r));
        UNTIL(w, w->node[1].peer[0].state == WIO_EP_READY);
        assert_true(raw_ring_open(&r, 16, 4096, 8192));
        let_it_have_a_ring(w, &r);
        FOR_MS(w, 1);
        raw_die(&r);
        UNTIL(w, w->node[1].peer[0].closed == closed + 1);
    }
    at_rest(w, &w->node[1]);
    assert_int_equal(w->node[1].ctr.shm_bytes, bytes);
    assert_int_equal(w->node[1].ctr.shm_rings, rings);
    assert_int_equal(open_descriptors(), fds);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONFORM(test_killed_after_dialling),
        CONFORM(test_killed_while_dialled),
        CONFORM(test_memory_is_given_back),
    };
    return cmocka_run_group_tests_name("shm_death", tests, NULL, NULL);
}
