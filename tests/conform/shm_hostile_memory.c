/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shm_hostile_memory.c  The same member writes what it must not into shared memory: the
 * inbox, a ring, the words that everybody shares, and while the victim reads them. The victim reads
 * nothing that is not there (address sanitizer), ends that link, and goes on with the others.
 */
#include <pthread.h>

#include "raw_world.h"
#include "skip.h"

/* ---- the inbox ---- */

struct cell {
    uint32_t kind, where, len;
    const char *what;
};

static void bad_cell(size_t v, const struct cell *before, const struct cell *bad)
{
    struct world *w = variant_world(v);
    struct raw r;
    if (w == NULL)
        return;
    link_raw(w, &r);
    if (before != NULL) {
        assert_true(raw_cell(&r, shm_info(before->kind, before->where, before->len),
                             message(1, before->len, false), NULL, 0));
        FOR_MS(w, 1);
        assert_int_equal(w->node[1].peer[0].closed, 0);
    }
    assert_true(raw_cell(&r, shm_info(bad->kind, bad->where, bad->len),
                         message(bad->kind == SHM_BYE ? 99 : 2, bad->len, false), NULL, 0));
    expect_broken(w, &r, bad->what);
    world_free(w);
}

static void test_bad_cells(void **state)
{
    (void)state;
    static const struct cell bad[] = {
        {0, SHM_INLINE, 8, "no kind"},
        {SHM_PASSING, SHM_INLINE, 8, "a kind of rings"},
        {6, SHM_INLINE, 8, "kind 6"},
        {7, SHM_INLINE, 8, "kind 7"},
        {SHM_MESSAGE, SHM_MID, 8, "a place of rings"},
        {SHM_MESSAGE, 3, 8, "place 3"},
        {SHM_MESSAGE, 7, 8, "place 7"},
        {SHM_MESSAGE, SHM_INLINE, 1 << 16, "longer than a cell"},
        {SHM_MESSAGE, SHM_INLINE, SHM_LEN_MASK, "the longest"},
        {SHM_MESSAGE, SHM_STREAM, 0, "an empty stream"},
        {SHM_MESSAGE, SHM_STREAM, 300, "a stream that fits"},
        {SHM_MESSAGE, SHM_STREAM, WIO_PAYLOAD_MAX + 1, "longer than any message"},
        {SHM_REST, SHM_INLINE, 8, "the rest of nothing"},
        {SHM_REST, SHM_STREAM, 8, "a rest in a stream"},
        {SHM_SWITCH, SHM_INLINE, 0, "a ring that was not agreed"},
        {SHM_BYE, SHM_INLINE, 0, "a goodbye without a reason"},
    };
    for (size_t v = 0; v < WIO_ARRAY_LEN(conform_variants); v++)
        for (size_t i = 0; i < WIO_ARRAY_LEN(bad); i++)
            bad_cell(v, NULL, &bad[i]);
}

static void test_bad_cells_in_a_stream(void **state)
{
    (void)state;
    static const struct cell begin = {SHM_MESSAGE, SHM_STREAM, 5000, "a stream"};
    static const struct cell bad[] = {
        {SHM_MESSAGE, SHM_STREAM, 5000, "a stream inside a stream"},
        {SHM_REST, SHM_INLINE, 0, "nothing more"},
        {SHM_REST, SHM_INLINE, 1 << 16, "more than a cell"},
    };
    for (size_t v = 0; v < WIO_ARRAY_LEN(conform_variants); v++)
        for (size_t i = 0; i < WIO_ARRAY_LEN(bad); i++)
            bad_cell(v, &begin, &bad[i]);
    struct world *w = variant_world(1);
    struct raw r;
    uint8_t bye[WIO_MSG_BYTES] = {WIO_BYE_FINALIZE};
    link_raw(w, &r);
    assert_true(
        raw_cell(&r, shm_info(SHM_MESSAGE, SHM_STREAM, 5000), message(1, 5000, false), NULL, 0));
    assert_true(raw_cell(&r, shm_info(SHM_BYE, SHM_INLINE, 0), bye, NULL, 0));
    expect_broken(w, &r, "a goodbye in a stream");
    world_free(w);
    w = variant_world(1); /* more than is left of it */
    link_raw(w, &r);
    uint32_t room = shm_cell_room(&r.theirs);
    assert_true(raw_cell(&r, shm_info(SHM_MESSAGE, SHM_STREAM, room + 1),
                         message(1, room + 1, false), NULL, 0));
    assert_true(raw_cell(&r, shm_info(SHM_REST, SHM_INLINE, 2), NULL, NULL, 0));
    expect_broken(w, &r, "two bytes where one was left");
    world_free(w);
}

static void test_switched_twice(void **state)
{
    (void)state;
    struct world *w = variant_world(1);
    struct raw r;
    link_raw(w, &r);
    assert_true(raw_ring_open(&r, 4, 4096, 4096));
    assert_true(raw_cell(&r, shm_info(SHM_SWITCH, SHM_INLINE, 0), message(0, 0, false), NULL, 0));
    expect_broken(w, &r, "a second change to the ring");
    world_free(w);
}

/* After its goodbye nothing of it counts any more. */
static void test_words_after_the_goodbye(void **state)
{
    (void)state;
    EACH_SHM(w)
    {
        struct raw r;
        uint8_t bye[WIO_MSG_BYTES] = {WIO_BYE_FINALIZE};
        link_raw(w, &r);
        assert_true(raw_cell(&r, shm_info(SHM_BYE, SHM_INLINE, 0), bye, NULL, 0));
        assert_true(raw_cell(&r, shm_info(7, 7, 8), message(1, 8, false), NULL, 8));
        UNTIL(w, w->node[1].peer[0].closed == 1);
        assert_int_equal(w->node[1].peer[0].nin, 0);
        others_go_on(w);
        raw_die(&r);
    }
}

/* ---- the words that everybody shares ---- */

/* Wherever the hint for the next place points, the others find their places. */
static void test_tail_garbage(void **state)
{
    (void)state;
    static const int32_t jump[] = {1, -1, 7, -7, 1 << 20, -(1 << 20), INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < WIO_ARRAY_LEN(jump); i++)
        for (int asleep = 0; asleep < 2; asleep++) {
            struct world *w = variant_world(2); /* the inbox is all there is */
            struct raw r;
            link_raw(w, &r);
            others_go_on(w);
            if (asleep)
                while (w->tr->arm(w->node[1].iface, WIO_PROGRESS_FULL) != 0)
                    world_drive(w);
            atomic_fetch_add(&r.theirs.head->tail, (uint32_t)jump[i]);
            others_go_on(w);
            atomic_fetch_add(&r.theirs.head->tail, (uint32_t)jump[i]);
            raw_die(&r);
            UNTIL(w, w->node[1].peer[0].closed == 1);
            assert_int_equal(w->node[1].peer[0].err, WAITIO_ERR_PEER);
            others_go_on(w);
            world_free(w);
        }
}

/* Every word of every kind, in every cell: the queue comes to rest again. */
static void test_cell_words_garbage(void **state)
{
    (void)state;
    for (int kind = 0; kind < 8; kind++) {
        struct world *w = variant_world(2);
        struct raw r;
        uint64_t rng = 5;
        link_raw(w, &r);
        others_go_on(w);
        uint32_t tail = atomic_load(&r.theirs.head->tail);
        for (uint32_t i = 0; i < r.theirs.geo.cells; i++) {
            uint32_t pos = tail + i, stranger = shm_owner(5, 5);
            uint64_t word = rng = wio_mix64(rng + i);
            if (kind == 1)
                word = 0;
            else if (kind == 2)
                word = UINT64_MAX;
            else if (kind == 3)
                word = shm_word(pos + 1, 0, SHM_FREE);
            else if (kind == 4)
                word = shm_word(pos, stranger, SHM_CLAIMED);
            else if (kind == 5)
                word = shm_word(pos, stranger, SHM_FULL);
            else if (kind == 6)
                word = shm_word(pos, r.name, 9);
            else if (kind == 7)
                word = shm_word(pos - r.theirs.geo.cells, r.name, SHM_FULL);
            atomic_store(&shm_inbox_cell(&r.theirs, pos)->word, word);
        }
        others_go_on(w);
        raw_die(&r);
        UNTIL(w, w->node[1].peer[0].closed == 1);
        others_go_on(w);
        world_free(w);
    }
}

/* Claimed and never filled: everybody waits for it as long as it lives, and not a moment longer. */
static void test_claimed_and_killed(void **state)
{
    (void)state;
    EACH_SHM(w)
    {
        struct raw r;
        uint32_t pos;
        link_raw(w, &r);
        for (int i = 0; i < 3; i++)
            assert_non_null(wio_shm_inbox_claim(&r.theirs, r.name, &pos));
        node_send(&w->node[2], 1, 100, 0, false);
        FOR_MS(w, 3);
        raw_die(&r);
        UNTIL(w, w->node[1].peer[0].closed == 1 && w->node[1].peer[2].nin == 1);
        assert_int_equal(w->node[1].peer[0].err, WAITIO_ERR_PEER);
        others_go_on(w);
    }
}

/* The same, killed before it could move the hint. */
static void test_claimed_and_killed_at_once(void **state)
{
    (void)state;
    EACH_SHM(w)
    {
        struct raw r;
        uint32_t pos;
        link_raw(w, &r);
        struct shm_cell *c = wio_shm_inbox_claim(&r.theirs, r.name, &pos);
        assert_non_null(c);
        atomic_store(&r.theirs.head->tail, pos);
        raw_die(&r);
        UNTIL(w, w->node[1].peer[0].closed == 1);
        others_go_on(w);
    }
}

static void test_sleep_words_garbage(void **state)
{
    (void)state;
    EACH_SHM(w)
    {
        struct raw r;
        link_raw(w, &r);
        atomic_store(&r.theirs.head->wanted, UINT32_MAX);
        atomic_store(&r.theirs.head->fences, UINT32_MAX);
        atomic_store(&r.theirs.head->sleeping, UINT32_MAX);
        atomic_store(&r.mine.head->wanted, UINT32_MAX);
        atomic_store(&r.mine.head->fences, 0);
        for (int i = 0; i < 50; i++) {
            atomic_store(&r.mine.head->sleeping, UINT32_MAX);
            node_send(&w->node[1], 0, 100, 0, true);
            world_drive(w);
        }
        others_go_on(w);
        raw_die(&r);
        UNTIL(w, w->node[1].peer[0].closed == 1);
    }
}

/* ---- rings ---- */

static struct world *ring_world(struct raw *r, uint32_t slots, uint32_t mid, uint32_t bulk)
{
    struct world *w = variant_world(1);
    link_raw(w, r);
    assert_true(raw_ring_open(r, slots, mid, bulk));
    return w;
}

static void test_bad_slots(void **state)
{
    (void)state;
    static const struct cell bad[] = {
        {0, SHM_INLINE, 8, "no kind"},
        {SHM_REST, SHM_INLINE, 8, "a kind of inboxes"},
        {6, SHM_INLINE, 8, "kind 6"},
        {7, SHM_MID, 8, "kind 7"},
        {SHM_MESSAGE, 4, 8, "place 4"},
        {SHM_MESSAGE, 7, 8, "place 7"},
        {SHM_PASSING, SHM_WHOLE, 8, "bulk that passes"},
        {SHM_PASSING, SHM_STREAM, 80, "a passing stream"},
        {SHM_MESSAGE, SHM_INLINE, SHM_SLOT_INLINE + 1, "longer than its slot"},
        {SHM_PASSING, SHM_INLINE, SHM_LEN_MASK, "the longest"},
        {SHM_MESSAGE, SHM_MID, 1025, "longer than the middle ring"},
        {SHM_PASSING, SHM_MID, SHM_LEN_MASK, "much longer"},
        {SHM_MESSAGE, SHM_WHOLE, 4097, "longer than the bulk ring"},
        {SHM_MESSAGE, SHM_WHOLE, SHM_WHOLE_MAX + 1, "longer than what is not streamed"},
        {SHM_MESSAGE, SHM_STREAM, 0, "an empty stream"},
        {SHM_MESSAGE, SHM_STREAM, WIO_PAYLOAD_MAX + 1, "longer than any message"},
        {SHM_BYE, SHM_INLINE, 0, "a goodbye without a reason"},
    };
    for (size_t i = 0; i < WIO_ARRAY_LEN(bad); i++) {
        struct raw r;
        struct world *w = ring_world(&r, 16, 4096, 4096);
        raw_slot(&r, shm_info(bad[i].kind, bad[i].where, bad[i].len),
                 bad[i].kind == SHM_BYE ? (const uint8_t[WIO_MSG_BYTES]){99}
                                        : message(1, bad[i].len, false));
        expect_broken(w, &r, bad[i].what);
        world_free(w);
    }
}

static void test_bulk_positions(void **state)
{
    (void)state;
    static const uint64_t jump[] = {4097, -193ULL, 1ULL << 63, UINT64_MAX >> 1, 1ULL << 32};
    for (size_t i = 0; i < WIO_ARRAY_LEN(jump); i++)
        for (int begun = 0; begun < 2; begun++) {
            struct raw r;
            struct world *w = ring_world(&r, 16, 4096, 4096);
            raw_slot(&r, shm_info(SHM_MESSAGE, SHM_STREAM, 100000), message(1, 100000, false));
            if (begun) {
                atomic_store(&r.w.ring.ctl->bulk_tail, 1000);
                FOR_MS(w, 2);
                assert_int_equal(w->node[1].peer[0].closed, 0);
            }
            atomic_store(&r.w.ring.ctl->bulk_tail, (begun ? 1000u : 0u) + jump[i]);
            expect_broken(w, &r, "a position that jumps");
            assert_int_equal(w->node[1].peer[0].abandoned, 1);
            world_free(w);
        }
}

static void test_lines_left_out(void **state)
{
    (void)state;
    static const uint8_t skip[] = {SHM_SKIP_MAX + 1, 4, 32, 255};
    for (size_t i = 0; i < 2 * WIO_ARRAY_LEN(skip); i++) {
        enum shm_where where = i % 2 ? SHM_STREAM : SHM_WHOLE;
        struct raw r;
        struct world *w = ring_world(&r, 16, 4096, 1 << 16);
        shm_slot_next(&r.w)->data[0] = skip[i / 2];
        raw_slot(&r, shm_info(SHM_MESSAGE, where, 5000), message(1, 5000, false));
        expect_broken(w, &r, "bulk that begins far away");
        world_free(w);
    }
}

static void test_slots_in_a_stream(void **state)
{
    (void)state;
    static const struct cell bad[] = {
        {SHM_MESSAGE, SHM_INLINE, 8, "a message that does not pass"},
        {SHM_MESSAGE, SHM_STREAM, 5000, "a stream in a stream"},
        {SHM_MESSAGE, SHM_WHOLE, 3000, "complete bulk in a stream"},
        {SHM_SWITCH, SHM_INLINE, 0, "leaving the ring in a stream"},
        {SHM_BYE, SHM_INLINE, 0, "a goodbye in a stream"},
    };
    for (size_t i = 0; i < WIO_ARRAY_LEN(bad); i++) {
        struct raw r;
        struct world *w = ring_world(&r, 16, 4096, 4096);
        raw_slot(&r, shm_info(SHM_MESSAGE, SHM_STREAM, 5000), message(1, 5000, false));
        atomic_store(&r.w.ring.ctl->bulk_tail, 1000);
        raw_slot(&r, shm_info(bad[i].kind, bad[i].where, bad[i].len),
                 bad[i].kind == SHM_BYE ? (const uint8_t[WIO_MSG_BYTES]){WIO_BYE_FINALIZE}
                                        : message(2, bad[i].len, false));
        expect_broken(w, &r, bad[i].what);
        assert_int_equal(w->node[1].peer[0].abandoned, 1);
        world_free(w);
    }
}

static void test_inbox_beside_the_ring(void **state)
{
    (void)state;
    struct raw r;
    struct world *w = ring_world(&r, 16, 4096, 4096);
    assert_true(raw_cell(&r, shm_info(SHM_MESSAGE, SHM_INLINE, 0), message(1, 0, false), NULL, 0));
    expect_broken(w, &r, "the inbox beside the ring");
    world_free(w);
}

/* Numbers of slots that jump announce nothing; the link waits and ends with its peer. */
static void test_slot_numbers(void **state)
{
    (void)state;
    struct raw r;
    struct world *w = ring_world(&r, 4, 4096, 4096);
    for (uint32_t i = 0; i < 4; i++)
        atomic_store(&r.w.ring.slot[i].seq, 0x80000000u + i * 77u);
    FOR_MS(w, 3);
    assert_int_equal(w->node[1].peer[0].nin, 0);
    atomic_store(&r.w.ring.slot[1].seq, 2); /* the second without the first */
    FOR_MS(w, 3);
    assert_int_equal(w->node[1].peer[0].closed, 0);
    others_go_on(w);
    raw_die(&r);
    UNTIL(w, w->node[1].peer[0].closed == 1);
    assert_int_equal(w->node[1].peer[0].err, WAITIO_ERR_PEER);
    world_free(w);
}

/* A reader that lies about what it has read gains nothing and harms nobody. */
static void test_reader_that_lies(void **state)
{
    (void)state;
    struct world *w = variant_world(3); /* rings at once */
    struct raw r;
    struct shm_rec rec;
    int fd = -1;
    link_raw(w, &r);
    for (int i = 0; i < 5; i++)
        node_send(&w->node[1], 0, 100, 0, false);
    assert_int_equal(raw_hear_type(&r, SHM_R_RING, &rec, &fd), 1);
    struct shm_ring_geo g = {rec.a, rec.b, rec.c};
    struct shm_ring ring;
    void *map = raw_map(fd, shm_ring_bytes(&g));
    assert_non_null(map);
    wio_shm_ring_place(&ring, &g, map);
    assert_true(raw_say(&r, SHM_R_RING_OK));
    for (int i = 0; i < 2000; i++) {
        uint64_t lie = wio_mix64((uint64_t)i);
        atomic_store(&ring.ctl->slot_head, i % 3 ? lie : UINT64_MAX);
        atomic_store(&ring.ctl->mid_head, lie >> (i & 63));
        atomic_store(&ring.ctl->bulk_head, ~lie);
        atomic_store(&ring.ctl->want, (uint32_t)lie);
        node_send(&w->node[1], 0, i % 20 == 0 ? 200000 : (uint32_t)i % 3000, 0, false);
        world_drive(w);
    }
    others_go_on(w);
    munmap(map, shm_ring_bytes(&g));
    raw_die(&r);
    UNTIL(w, w->node[1].peer[0].closed == 1);
    assert_int_equal(w->node[1].ndone, w->node[1].nqueued);
    world_free(w);
}

/* ---- memory that goes away ---- */

static void test_segments_cannot_shrink(void **state)
{
    (void)state;
    struct raw r;
    struct world *w = ring_world(&r, 16, 4096, 65536);
    assert_int_equal(ftruncate(r.theirs_fd, 4096), -1);
    assert_int_equal(ftruncate(r.mine_fd, 4096), -1);
    assert_int_equal(ftruncate(r.ring_fd, 4096), -1);
    int again = fcntl(r.theirs_fd, F_ADD_SEALS, F_SEAL_WRITE);
    assert_int_equal(again, -1);
    raw_slot(&r, shm_info(SHM_MESSAGE, SHM_STREAM, 60000), message(1, 60000, false));
    /* Holes in everything, while it is in use: zeroes, never a signal. */
    w->node[1].trusting = true;
    for (int i = 0; i < 300; i++) {
        atomic_store(&r.w.ring.ctl->bulk_tail, (uint64_t)(i * 100));
        node_send(&w->node[1], 0, 3000, 0, true);
        world_drive(w);
        int fds[] = {r.mine_fd, r.ring_fd, r.theirs_fd};
        int hole = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
        assert_int_equal(fallocate(fds[i % 3], hole, i % 7 * 4096, 1 << 20), 0);
        world_drive(w);
    }
    raw_die(&r);
    UNTIL(w, w->node[1].peer[0].closed == 1);
    others_go_on(w);
    world_free(w);
}

/* ---- bytes that change while they are read ---- */

struct flipper {
    struct raw *raw;
    _Atomic bool stop;
    bool inbox;
};

static void *flip(void *arg)
{
    struct flipper *f = arg;
    uint64_t rng = 11;
    while (!atomic_load_explicit(&f->stop, memory_order_relaxed)) {
        rng = wio_mix64(rng + 0x9e3779b97f4a7c15ULL);
        struct shm_slot *s = &f->raw->w.ring.slot[rng & (f->raw->w.ring.geo.slots - 1)];
        uint32_t kinds[] = {SHM_MESSAGE, SHM_PASSING, SHM_MESSAGE, SHM_PASSING};
        uint32_t info = shm_info(kinds[rng >> 8 & 3], (uint32_t)(rng >> 16) % 3,
                                 (uint32_t)(rng >> 24) % (rng >> 60 ? 20 : SHM_LEN_MASK));
        if (f->inbox)
            info = shm_info((uint32_t)(rng >> 8) % 2 + 1, (rng >> 16 & 1) * 2,
                            (uint32_t)(rng >> 24) % (rng >> 60 ? 3000 : SHM_LEN_MASK));
        if (f->inbox)
            *(volatile uint32_t *)&shm_inbox_cell(&f->raw->theirs, (uint32_t)rng)->info = info;
        else
            *(volatile uint32_t *)&s->info = info;
    }
    return NULL;
}

/* Headers flip under the victim's eyes: what it checked is what it uses. */
static void flipping(bool inbox)
{
    for (int round = 0; round < 40; round++) {
        struct raw r;
        struct world *w = ring_world(&r, 4, 4096, 4096);
        struct flipper f = {.raw = &r, .inbox = inbox};
        pthread_t t;
        w->node[1].trusting = true;
        if (inbox) {
            raw_die(&r);
            world_free(w);
            w = variant_world(2);
            link_raw(w, &r);
            assert_true(raw_ring_make(&r, 4, 4096, 4096)); /* not used */
            w->node[1].trusting = true;
        }
        assert_int_equal(pthread_create(&t, NULL, flip, &f), 0);
        uint64_t bulk = 0;
        for (int i = 0; i < 2000 && w->node[1].peer[0].closed == 0; i++) {
            if (inbox) {
                (void)raw_cell(&r, shm_info(SHM_MESSAGE, SHM_INLINE, 8), message(1, 8, false), NULL,
                               0);
            } else {
                raw_slot(&r, shm_info(SHM_MESSAGE, SHM_INLINE, 8), message(1, 8, false));
                atomic_store(&r.w.ring.ctl->bulk_tail, bulk += 64);
            }
            world_drive(w);
        }
        atomic_store(&f.stop, true);
        pthread_join(t, NULL);
        raw_die(&r);
        UNTIL(w, w->node[1].peer[0].closed == 1);
        if (!inbox)
            others_go_on(w);
        world_free(w);
    }
}

static void skip_where_races_are_watched(const char *test)
{
#if defined(__SANITIZE_THREAD__)
    skip_because(test, "bytes that change under the reader's eyes are a race by design");
#endif
    (void)test;
}

static void test_slots_that_change(void **state)
{
    (void)state;
    skip_where_races_are_watched(__func__);
    flipping(false);
}

static void test_cells_that_change(void **state)
{
    (void)state;
    skip_where_races_are_watched(__func__);
    flipping(true);
}

/* ---- the hostile member's own inbox ---- */

static void test_inbox_that_fools_its_writers(void **state)
{
    (void)state;
    for (int kind = 0; kind < 5; kind++) {
        struct world *w = variant_world(1);
        struct raw r;
        uint64_t rng = (uint64_t)kind;
        link_raw(w, &r);
        for (int i = 0; i < 300; i++) {
            for (uint32_t c = 0; c < r.mine.geo.cells; c++) {
                uint32_t tail = atomic_load(&r.mine.head->tail);
                uint64_t word = rng = wio_mix64(rng + c);
                if (kind == 1) /* always ahead: the next one is meant */
                    word = shm_word(tail + 1000, 0, SHM_FREE);
                else if (kind == 2) /* always free */
                    word = shm_word(tail, 0, SHM_FREE);
                else if (kind == 3)
                    word = 0;
                else if (kind == 4)
                    word = shm_word(tail, 77, SHM_CLAIMED);
                atomic_store(&shm_inbox_cell(&r.mine, c)->word, word);
            }
            if (kind == 3)
                atomic_store(&r.mine.head->tail, (uint32_t)wio_mix64(rng++));
            node_send(&w->node[1], 0, i % 30 == 0 ? 100000 : (uint32_t)i, 0, true);
            world_drive(w);
        }
        others_go_on(w);
        raw_die(&r);
        UNTIL(w, w->node[1].peer[0].closed == 1);
        assert_int_equal(w->node[1].ndone, w->node[1].nqueued);
        world_free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONFORM(test_bad_cells),
        CONFORM(test_bad_cells_in_a_stream),
        CONFORM(test_switched_twice),
        CONFORM(test_words_after_the_goodbye),
        CONFORM(test_tail_garbage),
        CONFORM(test_cell_words_garbage),
        CONFORM(test_claimed_and_killed),
        CONFORM(test_claimed_and_killed_at_once),
        CONFORM(test_sleep_words_garbage),
        CONFORM(test_bad_slots),
        CONFORM(test_bulk_positions),
        CONFORM(test_lines_left_out),
        CONFORM(test_slots_in_a_stream),
        CONFORM(test_inbox_beside_the_ring),
        CONFORM(test_slot_numbers),
        CONFORM(test_reader_that_lies),
        CONFORM(test_segments_cannot_shrink),
        CONFORM(test_slots_that_change),
        CONFORM(test_cells_that_change),
        CONFORM(test_inbox_that_fools_its_writers),
    };
    return cmocka_run_group_tests_name("shm_hostile_memory", tests, NULL, NULL);
}
