/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shm_rings.c  Who gets a private ring, when it is given back, and what happens when there is
 * none to be had: everything arrives whatever the answer, and the counters tell it.
 */
#include "raw_world.h"
#include "skip.h"

static struct world *world_of_inboxes(int n, int rings, double demote, uint64_t inbox)
{
    conform_now = &conform_variants[1];
    struct world *w = world_new(checked(WIO_TR_SHM), n);
    for (int i = 0; i < n; i++) {
        w->node[i].cfg.shm_rings = rings;
        w->node[i].cfg.shm_demote = demote;
        w->node[i].cfg.shm_promote = 4;
        w->node[i].cfg.shm_ring = 65536;
        w->node[i].cfg.shm_inbox = inbox;
    }
    return world_open(w);
}

static struct world *world_with(int n, int rings, double demote)
{
    return world_of_inboxes(n, rings, demote, 8192);
}

static void talk(struct world *w, uint32_t from, uint32_t to, int messages)
{
    for (int i = 0; i < messages; i++)
        node_send(&w->node[from], to, i % 10 == 0 ? 100000 : (uint32_t)i, 0, false);
}

/* ---- limits ---- */

/* More talkers than rings: first come, first served; the others use the inbox. */
static void test_more_talkers_than_rings(void **state)
{
    (void)state;
    enum { TALKERS = 6, RINGS = 2 };
    struct world *w = world_with(TALKERS + 1, RINGS, 0);
    for (uint32_t first = 1; first <= RINGS; first++) {
        talk(w, first, 0, 20);
        UNTIL(w, all_arrived(w) && w->node[0].ctr.shm_rings == first);
    }
    uint64_t held = w->node[0].ctr.shm_bytes;
    for (int round = 0; round < 20; round++) {
        for (uint32_t i = 1; i <= TALKERS; i++)
            talk(w, i, 0, 20);
        UNTIL(w, all_arrived(w));
        assert_int_equal(w->node[0].ctr.shm_rings, RINGS);
    }
    assert_int_equal(w->node[0].ctr.shm_bytes, held); /* rings are the writers' */
    for (uint32_t i = 1; i <= TALKERS; i++) {
        /* an offer that is not refused yet holds memory, too */
        UNTIL(w, (w->node[i].ctr.shm_bytes > w->node[0].ctr.shm_bytes) == (i <= RINGS));
    }
    /* A place that is free again is given to who asks next. */
    w->tr->close(w->node[1].peer[0].ep, WIO_BYE_FINALIZE);
    UNTIL(w, w->node[0].peer[1].closed == 1 && w->node[1].peer[0].closed == 1);
    assert_int_equal(w->node[0].ctr.shm_rings, RINGS - 1);
    int64_t end = wt_until_ns(5 * SECOND); /* who was refused asks again after a pause */
    while (w->node[0].ctr.shm_rings < RINGS && wio_os_now_ns() < end) {
        talk(w, 3, 0, 20);
        UNTIL(w, all_arrived(w));
    }
    assert_int_equal(w->node[0].ctr.shm_rings, RINGS);
    world_free(w);
}

/* The writer's limit counts as well. */
static void test_more_listeners_than_rings(void **state)
{
    (void)state;
    struct world *w = world_with(6, 2, 0);
    for (int round = 0; round < 10; round++) {
        for (uint32_t i = 1; i < 6; i++)
            talk(w, 0, i, 20);
        UNTIL(w, all_arrived(w));
    }
    int rings = 0;
    for (int i = 1; i < 6; i++)
        rings += (int)w->node[i].ctr.shm_rings;
    assert_int_equal(rings, 2);
    world_free(w);
}

/* ---- back to the inbox ---- */

static bool seen_rings(const struct world *w, bool seen[3])
{
    for (int i = 0; i < 3; i++)
        seen[i] |= w->node[i].ctr.shm_rings == 1;
    return seen[0] && seen[1] && seen[2];
}

static void test_idle_rings_are_given_back(void **state)
{
    (void)state;
    struct world *w = world_with(3, 8, 0.02);
    for (uint32_t i = 0; i < 3; i++)
        node_send(&w->node[i], (i + 1) % 3, 30, 0, false);
    UNTIL(w, all_arrived(w));
    uint64_t inbox = w->node[0].ctr.shm_bytes; /* too few messages for a ring */
    assert_true(inbox > 0);
    for (int round = 0; round < 5; round++) {
        bool seen[3] = {false};
        for (uint32_t i = 0; i < 3; i++)
            talk(w, i, (i + 1) % 3, 30);
        UNTIL(w, (int)seen_rings(w, seen) & (int)all_arrived(w)); /* both, in every round */
        UNTIL(w,
              w->node[0].ctr.shm_rings + w->node[1].ctr.shm_rings + w->node[2].ctr.shm_rings == 0);
        UNTIL(w, w->node[0].ctr.shm_bytes == inbox && w->node[1].ctr.shm_bytes == inbox &&
                     w->node[2].ctr.shm_bytes == inbox); /* the ring's memory is back */
    }
    world_free(w);
}

/* Talking goes on all the time while rings come and go. */
static void test_messages_while_rings_come_and_go(void **state)
{
    (void)state;
    struct world *w = world_with(3, 1, 0.0005);
    int64_t end = wio_os_now_ns() + SECOND / 2;
    while (wio_os_now_ns() < end) {
        uint32_t from = rnd(w, 3);
        talk(w, from, (from + 1 + rnd(w, 2)) % 3, (int)rnd(w, 12));
        for (uint32_t i = rnd(w, 200); i > 0; i--)
            world_drive(w);
    }
    UNTIL(w, all_arrived(w));
    for (int i = 0; i < 3; i++)
        assert_true(w->node[i].ctr.shm_rings <= 1);
    world_free(w);
}

/* ---- the pages for bulk ---- */

enum { BULK = 65536 /* of a ring in world_with() */ };

static void short_ones(struct world *w)
{
    for (int i = 0; i < 10; i++)
        node_send(&w->node[0], 1, 30, 0, false);
    UNTIL(w, all_arrived(w));
}

/* Short messages alone need none; they come with the first bulk, and go when it stays away. Guard:
 * a ring that has all of them from the beginning. */
static void test_bulk_has_pages_while_it_is_used(void **state)
{
    (void)state;
    if (!wio_os_gives_later())
        skip_because(__func__, "the kernel gives pages at once only");
    struct world *w = world_with(2, 8, 0.05);
    const uint64_t *held = &w->node[0].ctr.shm_bytes;
    while (w->node[1].ctr.shm_rings == 0)
        short_ones(w);
    uint64_t without = *held;
    for (int round = 0; round < 3; round++) {
        int64_t end = wt_until_ns(10 * SECOND);
        while (*held == without) { /* until the writer has heard that its ring was taken */
            node_send(&w->node[0], 1, 5000, 0, false);
            UNTIL(w, all_arrived(w));
            assert_true(wio_os_now_ns() < end);
        }
        node_send(&w->node[0], 1, 100000, 0, false);
        UNTIL(w, all_arrived(w));
        assert_int_equal(*held, without + BULK);
        while (*held > without) {
            short_ones(w); /* the ring itself stays */
            assert_true(wio_os_now_ns() < end);
        }
        assert_int_equal(*held, without);
        assert_int_equal(w->node[1].ctr.shm_rings, 1);
    }
    world_free(w);
}

static bool short_of_pages;

static int no_pages(enum wio_os_call call, int fd, size_t bytes)
{
    return short_of_pages && call == WIO_OS_MEM && fd < 0 && bytes == BULK ? -ENOMEM : 0;
}

/* The system has none when they are wanted: bulk goes by the inbox, in its order, and by a ring
 * again in better times. */
static void test_bulk_without_pages(void **state)
{
    (void)state;
    if (!wio_os_gives_later())
        skip_because(__func__, "the kernel gives pages at once only");
    struct world *w = world_of_inboxes(2, 8, 0, 512 << 10); /* its cells are those of users */
    while (w->node[1].ctr.shm_rings == 0)
        short_ones(w);
    for (unsigned i = 0; i < 3 * SHM_SOCKET_TICKS;
         i++) /* the writer hears that its ring was taken */
        world_drive(w);
    uint64_t without = w->node[0].ctr.shm_bytes;
    wio_os_fault = no_pages;
    short_of_pages = true;
    for (int i = 0; i < 3;
         i++) /* in a burst they would go with bulk; a cell of the inbox holds one */
        node_send(&w->node[0], 1, 1500, 0, false);
    talk(w, 0, 1, 200);
    UNTIL(w, all_arrived(w));
    UNTIL(w, w->node[1].ctr.shm_rings == 0);
    assert_true(w->node[0].ctr.shm_bytes < without);
    short_of_pages = false;
    int64_t end = wt_until_ns(10 * SECOND); /* asked again after a pause */
    while (w->node[0].ctr.shm_bytes != without + BULK) {
        talk(w, 0, 1, 20);
        UNTIL(w, all_arrived(w));
        assert_true(wio_os_now_ns() < end);
    }
    wio_os_fault = NULL;
    assert_int_equal(w->node[0].peer[1].closed, 0);
    world_free(w);
}

static bool later;

/* As p2p says while a program's wait looks for one message, and has it. */
static enum wio_whole leaves_it(void *user, struct wio_ep *ep, const uint8_t msg[WIO_MSG_BYTES],
                                const void *payload, uint32_t bytes)
{
    (void)user;
    (void)ep;
    (void)msg;
    (void)payload;
    (void)bytes;
    return later ? WIO_WHOLE_LATER : WIO_WHOLE_LEFT;
}

/* A message stays in the ring for the next round, behind it the writer went back to the inbox, and
 * its next message is there already. Guard: where a ring that yields nothing counts as empty, the
 * writer has broken the protocol. */
static void test_a_ring_that_is_left_in_this_round(void **state)
{
    (void)state;
    conform_now = &conform_variants[1];
    struct world *w = world_open(world_new(wio_transport_get(WIO_TR_SHM), 3));
    struct wio_upcalls up = conform_upcalls;
    struct raw r;
    up.on_whole = leaves_it;
    w->node[1].iface->p.up = &up;
    w->quiet_errors = true;
    link_raw(w, &r);
    assert_true(raw_ring_open(&r, 4, 4096, 4096));
    later = true;
    raw_slot(&r, shm_info(SHM_PASSING, SHM_INLINE, 0), message(1, 0, true));
    raw_slot(&r, shm_info(SHM_SWITCH, SHM_INLINE, 0), NULL);
    assert_true(raw_cell(&r, shm_info(SHM_MESSAGE, SHM_INLINE, 0), message(2, 0, false), NULL, 0));
    FOR_MS(w, 2);
    assert_int_equal(w->node[1].peer[0].closed, 0);
    assert_int_equal(w->node[1].peer[0].nin, 0);
    later = false;
    UNTIL(w, w->node[1].peer[0].nin == 2);
    assert_int_equal(w->node[1].peer[0].closed, 0);
    raw_die(&r);
    UNTIL(w, w->node[1].peer[0].closed == 1);
    world_free(w);
}

/* ---- none to be had ---- */

enum lacking { WRITERS_MEMORY, READERS_MAPPING };
static enum lacking lacking;
static int refused, bad_node, driven;

static int lack(enum wio_os_call call, int fd, size_t bytes)
{
    if (driven != bad_node || call != WIO_OS_MEM)
        return 0;
    bool memfd = fd < 0 && bytes > 50000, map = fd >= 0 && bytes > 50000;
    if ((lacking == WRITERS_MEMORY && memfd) || (lacking == READERS_MAPPING && map)) {
        refused++;
        return -ENOMEM;
    }
    return 0;
}

static void drive_each(struct world *w)
{
    for (int i = 0; i < w->n; i++) {
        driven = i;
        node_drive(&w->node[i], WIO_PROGRESS_FULL);
    }
    driven = -1;
}

static void test_promotion_that_fails(void **state)
{
    (void)state;
    for (int what = WRITERS_MEMORY; what <= READERS_MAPPING; what++) {
        struct world *w = world_with(3, 8, 0);
        node_send(&w->node[0], 1, 10, 0, false);
        node_send(&w->node[2], 1, 10, 0, false);
        UNTIL(w, all_arrived(w));
        lacking = (enum lacking)what;
        refused = 0;
        bad_node = what == WRITERS_MEMORY ? 0 : 1;
        wio_os_fault = lack;
        int64_t begun = wio_os_now_ns();
        for (int i = 0; i < 200; i++) {
            driven = 0;
            talk(w, 0, 1, 3);
            driven = 2;
            talk(w, 2, 1, 1);
            drive_each(w);
        }
        int64_t end = wt_until_ns(10 * SECOND);
        while (!all_arrived(w)) {
            drive_each(w);
            assert_true(wio_os_now_ns() < end);
        }
        /* Asked again, but after a pause of a second. */
        int pauses = (int)((wio_os_now_ns() - begun) / SECOND);
        if (refused == 0 || refused >= 20 * (pauses + 1))
            fail_msg("refused %d times in %d s (%d)", refused, pauses, what);
        assert_int_equal(w->node[0].peer[1].closed, 0);
        assert_int_equal(w->node[1].ctr.shm_rings, what == WRITERS_MEMORY ? 1 : 0);
        /* Better times. */
        wio_os_fault = NULL;
        end = wt_until_ns(10 * SECOND);
        while (w->node[1].ctr.shm_rings < 2) {
            talk(w, 0, 1, 3);
            talk(w, 2, 1, 3);
            UNTIL(w, all_arrived(w));
            assert_true(wio_os_now_ns() < end);
        }
        world_free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONFORM(test_more_talkers_than_rings),
        CONFORM(test_more_listeners_than_rings),
        CONFORM(test_idle_rings_are_given_back),
        CONFORM(test_messages_while_rings_come_and_go),
        CONFORM(test_bulk_has_pages_while_it_is_used),
        CONFORM(test_bulk_without_pages),
        CONFORM(test_a_ring_that_is_left_in_this_round),
        CONFORM(test_promotion_that_fails),
    };
    return cmocka_run_group_tests_name("shm_rings", tests, NULL, NULL);
}
