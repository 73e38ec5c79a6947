/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of a trace: what it holds, the ring, its end, and folders where there cannot be one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/timeline.h"

static char folder[64], path[128];
static enum wio_os_call failing = WIO_OS_CALLS;

static int fail_kind(enum wio_os_call call, int fd, size_t bytes)
{
    (void)bytes;
    bool spared = call == WIO_OS_MEM && fd < 0; /* of memory only mappings of files fail */
    return call == failing && !spared ? -ENOSPC : 0;
}

static int make_folder(void **state)
{
    (void)state;
    wio_text(folder, sizeof folder, "/tmp/wio-timeline-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    wio_text(path, sizeof path, "%s/waitio.01020304.5.trace", folder);
    failing = WIO_OS_CALLS;
    wio_os_fault = fail_kind;
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    wio_os_fault = NULL;
    (void)unlink(path);
    return rmdir(folder);
}

static int open_one(struct wio_timeline *t, const char *where, uint64_t most)
{
    struct wio_timeline_who who = {.universe = {1, 2, 3, 4}, .rank = 5, .size = 7, .pb = 1};
    struct wio_timeline_clock first;
    who.npb = 2;
    who.pb_rank = 1;
    who.pb_size = 3;
    who.release = "9.8.7";
    wio_timeline_begin(t, &first);
    assert_true(first.ticks > 0 && first.monotonic_ns > 0 && first.wall_ns > 0);
    return wio_timeline_open(t, where, most, &who, &first);
}

static uint32_t add(struct wio_timeline *t, int32_t what)
{
    return wio_timeline_add(
        t, &(struct wio_event){
               .from = wio_timeline_now(t), .what = what, .peer = 3, .kind = WIO_EVENT_RECEIVE});
}

/* @return bytes */
static size_t read_back(uint8_t *to, size_t room)
{
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    size_t n = fread(to, 1, room, in);
    fclose(in);
    return n;
}

static _Alignas(64) uint8_t raw[1 << 20];

static void test_records_are_completed_later(void **state)
{
    (void)state;
    struct wio_timeline t;
    assert_int_equal(open_one(&t, folder, 1 << 16), 0);
    uint32_t first = add(&t, 10), second = add(&t, 11);
    assert_true(first == 1 && second == 2);
    wio_timeline_at(&t, first)->to = 77;
    assert_null(wio_timeline_at(&t, 0));
    assert_null(wio_timeline_at(&t, 3)); /* not written yet */
    /* As another process sees it now: nothing needs this one's end. */
    assert_int_equal(read_back(raw, sizeof raw), WIO_TIMELINE_HEAD + (1 << 16));
    const struct wio_timeline_head *h = (const void *)raw;
    const struct wio_event *e = (const void *)(raw + WIO_TIMELINE_HEAD);
    assert_true(h->magic == WIO_TIMELINE_MAGIC && h->order == WIO_TIMELINE_ORDER);
    assert_true(h->slots == 1024 && h->written == 2 && h->state == WIO_EVENT_STATE_INSIDE);
    assert_true(h->rank == 5 && h->size == 7 && h->pb == 1 && h->npb == 2);
    assert_string_equal(h->release, "9.8.7");
    assert_true(e[1].what == 10 && e[1].to == 77 && e[1].number == 1 && e[1].peer == 3);
    assert_true(e[2].what == 11 && e[2].to == 0 && e[0].number == 0);
    wio_timeline_state(&t, WIO_EVENT_STATE_LEFT);
    wio_timeline_close(&t);
    wio_timeline_close(&t);                                                   /* nothing */
    assert_int_equal(read_back(raw, sizeof raw), WIO_TIMELINE_HEAD + 3 * 64); /* without the rest */
    assert_true(h->state == WIO_EVENT_STATE_LEFT && h->last.ticks > h->first.ticks);
    assert_true(h->last.monotonic_ns >= h->first.monotonic_ns);
}

static void test_the_oldest_go_when_it_is_full(void **state)
{
    (void)state;
    struct wio_timeline t;
    assert_int_equal(open_one(&t, folder, 1), 0); /* the least: 64 records */
    uint32_t first = add(&t, 0);
    for (int i = 1; i < 64; i++)
        add(&t, i);
    assert_non_null(wio_timeline_at(&t, first));
    uint32_t last = add(&t, 64);
    assert_null(wio_timeline_at(&t, first)); /* who completes it changes no other one */
    assert_int_equal(wio_timeline_at(&t, last)->what, 64);
    wio_timeline_close(&t);
    assert_int_equal(read_back(raw, sizeof raw), WIO_TIMELINE_HEAD + 64 * 64);
    assert_int_equal(((const struct wio_timeline_head *)(const void *)raw)->written, 65);
}

static void test_sizes(void **state)
{
    (void)state;
    static const struct {
        uint64_t most, slots;
    } rows[] = {{0, 64}, {8191, 64}, {8192, 128}, {100000, 1024}};
    for (size_t i = 0; i < WIO_ARRAY_LEN(rows); i++) {
        struct wio_timeline t;
        assert_int_equal(open_one(&t, folder, rows[i].most), 0);
        assert_int_equal(t.mask + 1, rows[i].slots);
        wio_timeline_close(&t);
        assert_int_equal(unlink(path), 0);
    }
}

static void test_numbers_go_round_without_zero(void **state)
{
    (void)state;
    struct wio_timeline t;
    assert_int_equal(open_one(&t, folder, 4096), 0);
    t.written = UINT32_MAX - 1;
    uint32_t before = add(&t, 1), after = add(&t, 2);
    assert_true(before == UINT32_MAX && after == 1);
    assert_int_equal(wio_timeline_at(&t, after)->what, 2);
    assert_int_equal(wio_timeline_at(&t, before)->what, 1);
    wio_timeline_close(&t);
}

static void test_a_folder_is_made(void **state)
{
    (void)state;
    struct wio_timeline t;
    char inner[80];
    wio_text(inner, sizeof inner, "%s/new", folder);
    assert_int_equal(open_one(&t, inner, 4096), 0);
    wio_timeline_close(&t);
    wio_text(path, sizeof path, "%s/waitio.01020304.5.trace", inner);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(inner), 0);
}

/* The error, and nothing is left. */
static void refused(const char *where, const char *word)
{
    struct wio_timeline t;
    assert_int_equal(open_one(&t, where, 4096), WAITIO_ERR_CONFIG);
    const char *text = wio_last_error();
    if (strstr(text, "WAITIO_TRACE") == NULL || strstr(text, word) == NULL ||
        strstr(text, where) == NULL)
        fail_msg("'%s' does not name WAITIO_TRACE, '%s' and '%s'", text, word, where);
    wio_timeline_close(&t);
}

static void test_where_there_can_be_none(void **state)
{
    (void)state;
    char deep[80];
    wio_text(deep, sizeof deep, "%s/no/where", folder);
    refused(deep, "No such file");
    refused("/dev/null", "Not a directory");
    failing = WIO_OS_SPACE;
    refused(folder, "No space left");
    failing = WIO_OS_MEM;
    refused(folder, "cannot be mapped");
    failing = WIO_OS_CALLS;
    FILE *mine = fopen(path, "w"); /* somebody's file is not written to */
    fclose(mine);
    refused(folder, "File exists");
}

static void test_clock(void **state)
{
    (void)state;
    struct wio_timeline t;
    struct wio_timeline_clock first;
    wio_timeline_begin(&t, &first);
    int64_t ns = wio_os_now_ns(), ticks = wio_timeline_now(&t);
    wio_os_sleep_ns(20000000);
    ticks = wio_timeline_now(&t) - ticks;
    ns = wio_os_now_ns() - ns;
    /* 25 MHz to 10 GHz: it is a clock, and it runs while nobody does */
    assert_true(ticks > ns / 40 && ticks < ns * 10);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_records_are_completed_later),
        TEST(test_the_oldest_go_when_it_is_full),
        TEST(test_sizes),
        TEST(test_numbers_go_round_without_zero),
        TEST(test_a_folder_is_made),
        TEST(test_where_there_can_be_none),
        TEST(test_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
