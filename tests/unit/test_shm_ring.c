/* SPDX-License-Identifier: BSD-3-Clause */
/* The ring of shared memory between a writer and a reader of one thread: what fits, and when room
 * comes back. (Every order of the two: tests/model.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "transport/shm/shm.h"

enum { BYTES = 1000, SLOTS = 512, MID = SHM_MID_BYTES, BULK = 512 << 10, INSIDE = 8 };

static struct shm_writer w;
static struct shm_reader r;
static void *memory;
static uint8_t data[BYTES], msg[WIO_MSG_BYTES];

static int setup(void **unused)
{
    (void)unused;
    const struct shm_ring_geo geo = {.slots = SLOTS, .mid = MID, .bulk = BULK};
    assert_true(wio_shm_ring_geo_ok(&geo));
    memory = aligned_alloc(SHM_PAGE, shm_ring_bytes(&geo));
    memset(memory, 0, shm_ring_bytes(&geo));
    w = (struct shm_writer){0};
    r = (struct shm_reader){0};
    wio_shm_ring_place(&w.ring, &geo, memory);
    wio_shm_ring_place(&r.ring, &geo, memory);
    return 0;
}

static int teardown(void **unused)
{
    (void)unused;
    free(memory);
    return 0;
}

static int fill(uint32_t bytes)
{
    int n = 0;
    while (shm_ring_put(&w, SHM_MESSAGE, msg, data, bytes))
        n++;
    return n;
}

/* Messages that are read until the writer can go on. */
static int read_until_room(uint32_t bytes)
{
    int n = 0;
    do {
        assert_non_null(shm_ring_peek(&r)); /* else it waits for a reader that waits for it */
        shm_ring_take(&r, bytes > SHM_SLOT_INLINE ? bytes : 0);
        n++;
        if (shm_ring_owes(&r))
            assert_true(shm_ring_tell(&r));
    } while (!shm_ring_put(&w, SHM_MESSAGE, msg, data, bytes));
    return n;
}

static void room_comes_back_a_quarter_at_a_time(void **unused)
{
    (void)unused;
    int all = fill(INSIDE);
    assert_int_equal(all, SLOTS);
    assert_int_equal(read_until_room(INSIDE), SLOTS / 4);
    fill(INSIDE);
    assert_int_equal(read_until_room(INSIDE), SLOTS / 4);
}

static void so_it_does_when_bytes_are_short_before_slots_are(void **unused)
{
    (void)unused;
    int all = fill(BYTES);
    assert_in_range(all, MID / SHM_ROUND(BYTES), MID / BYTES);
    for (int lap = 0; lap < 10; lap++) {
        assert_in_range(read_until_room(BYTES), 1, all / 4 + 1);
        fill(BYTES);
    }
}

static void nothing_is_told_twice(void **unused)
{
    (void)unused;
    assert_false(shm_ring_tell(&r));
    fill(BYTES);
    assert_false(shm_ring_owes(&r));
    assert_false(shm_ring_tell(&r));
    shm_ring_take(&r, BYTES);
    assert_false(shm_ring_owes(&r));
    assert_true(shm_ring_tell(&r)); /* before it goes idle it says all */
    assert_false(shm_ring_tell(&r));
}

/* Whatever the offsets of both buffers: neither copy has its target just ahead of its source. */
static void bulk_begins_where_both_copies_are_quick(void **unused)
{
    (void)unused;
    unsigned most = 0;
    uint8_t *pages = aligned_alloc(SHM_PAGE, 2 * (size_t)SHM_PAGE);
    w.warm = BULK;
    assert_int_equal(shm_ring_lay(&w, pages, 1), 0); /* nobody knows where it goes to */
    for (size_t from = 0; from < SHM_PAGE; from += 5) {
        for (size_t to = 0; to < SHM_PAGE; to += 3) {
            shm_ring_follow(&r, 0, pages + to);
            unsigned skip = shm_ring_lay(&w, pages + from, 1);
            uintptr_t at = (uintptr_t)w.ring.bulk + (uintptr_t)skip * SHM_LINE;
            uintptr_t into = (at - (uintptr_t)(pages + from)) % SHM_PAGE;
            uintptr_t out = ((uintptr_t)(pages + to) - at) % SHM_PAGE;
            assert_true(into == 0 || into >= SHM_LINE);
            assert_true(out == 0 || out >= SHM_LINE);
            most = skip > most ? skip : most;
        }
    }
    assert_int_equal(most, SHM_SKIP_MAX);
    free(pages);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* Up to 4 KiB always; up to 16 KiB where the reader is behind, or the copy is quick. */
static void what_suits_a_message_that_is_complete(void **unused)
{
    (void)unused;
    const struct {
        uint32_t fine_ns, bytes;
        bool alone, burst;
    } cases[] = {
        {0, SHM_FINE, true, true},
        {50000, SHM_FINE, true, true},
        {0, SHM_WHOLE_MAX, true, true}, /* nothing is known */
        {SHM_WHOLE_NS / 4, SHM_WHOLE_MAX, true, true},
        {SHM_WHOLE_NS / 4 + 1, SHM_WHOLE_MAX, false, true},
        {SHM_WHOLE_NS / 2, 8 << 10, true, true},
        {SHM_WHOLE_NS / 2 + 1, 8 << 10, false, true},
        {UINT16_MAX, SHM_WHOLE_MAX, false, true},
        {1, SHM_WHOLE_MAX + 1, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        w.fine_ns = cases[i].fine_ns;
        assert_int_equal(shm_ring_suits_whole(&w, cases[i].bytes, false), cases[i].alone);
        assert_int_equal(shm_ring_suits_whole(&w, cases[i].bytes, true), cases[i].burst);
    }
}

/* What a copy takes is known after a few, and again a few after the processors have moved; one
 * copy during which the process did not run changes little. */
static void the_pace_of_copies_is_learnt(void **unused)
{
    (void)unused;
    uint32_t ns = wio_shm_ring_pace(0, 200, 2 * SHM_FINE);
    assert_int_equal(ns, 101);
    ns = wio_shm_ring_pace(ns, 10000000, SHM_FINE);
    assert_in_range(ns, 102, 2 * 101);
    for (int i = 0; i < 20; i++)
        ns = wio_shm_ring_pace(ns, 800, 2 * SHM_FINE);
    assert_in_range(ns, 380, 401);
    for (int i = 0; i < 20; i++)
        ns = wio_shm_ring_pace(ns, 100, 2 * SHM_FINE);
    assert_in_range(ns, 51, 60);
    assert_true(wio_shm_ring_pace(UINT16_MAX, 1000000000, SHM_FINE) <= UINT16_MAX);
    assert_true(wio_shm_ring_pace(1, 0, SHM_FINE) > 0);
}

/* Complete bulk: published with its slot, in the same ring as streams; when the ring has no room
 * for all of it nothing is done. */
static void complete_bulk_lies_beside_streams(void **unused)
{
    (void)unused;
    static uint8_t more[SHM_WHOLE_MAX], got[SHM_WHOLE_MAX];
    const uint32_t bytes = sizeof more - 1;
    struct shm_slot *s;
    int n = 0;
    for (size_t i = 0; i < sizeof more; i++)
        more[i] = (uint8_t)(i * 7);
    r.warm = BULK;
    while ((s = wio_shm_ring_fill_bulk(&w, more, bytes, (unsigned)n % 2)) != NULL) {
        shm_slot_publish(&w, s);
        n++;
    }
    assert_int_equal(n, BULK / (int)sizeof more - 1);     /* for the lines that were left out */
    assert_true(shm_ring_begin(&w, msg, sizeof more, 0)); /* it goes in pieces, then */
    for (int i = 0; i < n; i++) {
        const struct shm_slot *f = shm_ring_peek(&r);
        assert_int_equal(f->info, shm_info(SHM_MESSAGE, SHM_WHOLE, bytes));
        uint64_t at = shm_bulk_at(&r.ring, r.bulk_head, f->data[0]);
        wio_shm_copy_out(r.ring.bulk, BULK, at, got, bytes);
        assert_memory_equal(got, more, bytes);
        shm_ring_take(&r, 0);
        r.bulk_head = at + bytes;
        if (shm_ring_owes(&r)) {
            assert_true(i + 1 >= n / 4);
            assert_true(shm_ring_tell(&r));
        }
    }
    assert_true(r.bulk_told > 0);
    assert_int_equal(shm_ring_peek(&r)->info, shm_info(SHM_MESSAGE, SHM_STREAM, sizeof more));
    shm_ring_take(&r, 0);
    shm_ring_follow(&r, 0, got);
    assert_int_equal(shm_ring_streamed(&r), 0);
    assert_int_equal(wio_shm_ring_stream(&w, more, sizeof more), sizeof more);
    assert_int_equal(shm_ring_streamed(&r), sizeof more);
}

/* A stream: the reader need not wait until all of it is copied in. */
static void what_is_long_is_streamed(void **unused)
{
    (void)unused;
    static uint8_t more[SHM_WHOLE_MAX + 1];
    assert_true(shm_ring_begin(&w, msg, sizeof more, 0));
    assert_int_equal(shm_ring_peek(&r)->info, shm_info(SHM_MESSAGE, SHM_STREAM, sizeof more));
    shm_ring_take(&r, 0);
    shm_ring_follow(&r, 0, more);
    assert_int_equal(shm_ring_streamed(&r), 0);
    assert_int_equal(wio_shm_ring_stream(&w, more, sizeof more), sizeof more);
    assert_int_equal(shm_ring_streamed(&r), sizeof more);
}

/* The pages of the first lap are given ahead of the messages: a step at a time, each time twice as
 * much, nothing outside, and nothing twice. */
static void pages_are_given_ahead(void **unused)
{
    (void)unused;
    const struct {
        uint32_t warm;
        uint64_t at;
        uint32_t bytes, then;
    } cases[] = {
        {0, 0, 1, SHM_WARM},
        {SHM_WARM, SHM_WARM - 100, 100, SHM_WARM},
        {SHM_WARM, SHM_WARM - 100, 101, 2 * SHM_WARM},
        {2 * SHM_WARM, 2 * SHM_WARM, 5000, 4 * SHM_WARM},
        {2 * SHM_WARM, 2 * SHM_WARM, 3 * SHM_WARM, 5 * SHM_WARM},
        {BULK / 4, BULK / 4, BULK, BULK},
        {BULK - SHM_WARM, BULK - 10, 100, BULK},     /* into the second lap */
        {BULK, BULK, 5000, BULK},                    /* in it */
        {0, 7 * (uint64_t)BULK + 10, 100, SHM_WARM}, /* after the system has got them back */
        {0, 7 * (uint64_t)BULK - 10, 100, BULK},
        {0, 10, UINT32_MAX, BULK}, /* a length that cannot be */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(wio_shm_ring_ahead(&w.ring, cases[i].warm, cases[i].at, cases[i].bytes),
                         cases[i].then);
}

/* As the writer does: its pages, then the bytes. */
static void put_bulk(uint32_t n)
{
    unsigned mark = shm_ring_lay(&w, data, n);
    uint32_t to = wio_shm_ring_ahead(&w.ring, w.warm, shm_bulk_at(&w.ring, w.bulk_tail, mark), n);
    if (to != w.warm)
        w.since = 0;
    w.warm = to;
    (void)shm_bulk_begin(&w, mark);
    w.bulk_tail += n;
    w.since += n;
}

/* The reader has all of it. */
static void read_bulk(void)
{
    atomic_store(&w.ring.ctl->bulk_head, w.bulk_tail);
}

/* A page costs as much as twenty messages of its size. So few messages go through few pages, and
 * only many through the whole ring; no message lies where no pages are. */
static void few_messages_need_few_pages(void **unused)
{
    (void)unused;
    static const uint32_t sizes[] = {2000, 5000, 16 << 10, 30000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint64_t sum = 0;
        (void)setup(NULL);
        while (w.warm < BULK) {
            put_bulk(sizes[i]);
            read_bulk();
            sum += sizes[i];
            uint64_t end = w.bulk_tail % BULK;
            assert_true(end >= sizes[i] && end <= w.warm);
            assert_true(w.warm == SHM_WARM || sum >= SHM_LAPS / 2 * (uint64_t)w.warm);
            assert_true(sum < 2 * SHM_LAPS * (uint64_t)BULK);
        }
        for (int n = 0; n < 3 * BULK / (int)sizes[i]; n++) { /* then it goes round */
            put_bulk(sizes[i]);
            read_bulk();
        }
        assert_true(w.bulk_tail / BULK > 2);
        (void)teardown(NULL);
    }
    (void)setup(NULL);
    put_bulk(3 * SHM_WARM); /* a long one has what it needs */
    assert_in_range(w.warm, 3 * SHM_WARM, 4 * SHM_WARM);
    for (int n = 0; n < 100; n++) /* nothing is read: it never goes over that */
        if (w.bulk_tail + 5000 < BULK)
            put_bulk(5000);
    assert_in_range(w.bulk_tail, BULK - 5000 - 2 * SHM_LINE, BULK);
    assert_int_equal(w.warm, BULK);
    read_bulk();
    uint64_t before = w.bulk_tail;
    w.warm = 0; /* the system has got the pages back: it begins again with the first ones */
    put_bulk(2000);
    assert_true(w.bulk_tail > before);
    assert_in_range(w.bulk_tail % BULK, 2000, 2000 + (SHM_SKIP_MAX + 1) * SHM_LINE);
    assert_int_equal(w.warm, SHM_WARM);
}

/* Two second-level caches, within bounds; the first rings of a process only. */
static void the_bulk_ring_has_the_size_of_two_caches(void **unused)
{
    (void)unused;
    const struct {
        size_t cache;
        uint32_t rings, bytes;
    } cases[] = {
        {0, 0, 2 << 20},                                    /* unknown */
        {256 << 10, 0, 512 << 10}, {512 << 10, 0, 1 << 20}, /* AMD Zen 3 */
        {1 << 20, 0, 2 << 20},                              /* AMD Zen 4 */
        {1280 << 10, 0, 2 << 20},  {2 << 20, 0, 2 << 20},   /* Intel Sapphire Rapids */
        {24 << 20, 0, 2 << 20},    {1 << 20, 15, 2 << 20},
        {1 << 20, 16, 512 << 10}, /* the seventeenth */
        {512 << 10, 31, 1 << 20},  {512 << 10, 32, 512 << 10},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(wio_shm_bulk_bytes(cases[i].cache, cases[i].rings), cases[i].bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_suits_a_message_that_is_complete),
        TEST(the_pace_of_copies_is_learnt),
        TEST(complete_bulk_lies_beside_streams),
        TEST(what_is_long_is_streamed),
        TEST(room_comes_back_a_quarter_at_a_time),
        TEST(so_it_does_when_bytes_are_short_before_slots_are),
        TEST(nothing_is_told_twice),
        TEST(bulk_begins_where_both_copies_are_quick),
        TEST(pages_are_given_ahead),
        cmocka_unit_test_teardown(few_messages_need_few_pages, teardown),
        TEST(the_bulk_ring_has_the_size_of_two_caches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
