/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps that come straight from the writers: what the first reader makes of their notes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stage/reader.h"
#include "waitio_errors.h"

enum { WRITERS = 3, STEP = 7 };

/* What one writer says of a value, in its own byte order. */
static void say(struct wio_stg_bytes *b, uint32_t writer, const char *name, int type, int rule,
                const void *value, bool swaps)
{
    unsigned char data[8];
    size_t size = wio_stg_type_size(type);
    struct wio_stg_value v = {.name = (char *)(uintptr_t)name,
                              .type = type,
                              .rule = rule,
                              .writer = writer,
                              .count = 1,
                              .bytes = size,
                              .data = data};

    memcpy(data, value, size);
    if (swaps)
        wio_stg_swap(data, wio_stg_type_unit(type), 1);
    wio_stg_write_value(b, &v);
}

/* Bytes of these numbers, read backwards, are in another order than the numbers. */
static const double temperatures[WRITERS] = {300.5, -40.25, 1e9};
static const int32_t counts[WRITERS] = {256, 1, -65536};

static struct wio_stg_bytes note_of(uint32_t writer, bool swaps)
{
    const double *t = &temperatures[writer];
    const int32_t *k = &counts[writer];
    struct wio_stg_bytes b = {NULL, 0, 0, false};

    say(&b, writer, "coldest", WAITIO_STAGE_DOUBLE, WIO_STG_MIN, t, swaps);
    say(&b, writer, "hottest", WAITIO_STAGE_DOUBLE, WIO_STG_MAX, t, swaps);
    say(&b, writer, "least", WAITIO_STAGE_INT32, WIO_STG_MIN, k, swaps);
    say(&b, writer, "most", WAITIO_STAGE_INT32, WIO_STG_MAX, k, swaps);
    say(&b, writer, "time", WAITIO_STAGE_DOUBLE, 0, t, swaps); /* the first writer's counts */
    return b;
}

static void is_double(const struct wio_stg_values *v, const char *name, double wanted)
{
    double got;

    memcpy(&got, wio_stg_values_find(v, name)->data, sizeof got);
    assert_true(got == wanted);
}

static void is_int(const struct wio_stg_values *v, const char *name, int32_t wanted)
{
    int32_t got;

    memcpy(&got, wio_stg_values_find(v, name)->data, sizeof got);
    assert_int_equal(got, wanted);
}

/* All notes are here; as any reader of the group takes them. */
static void values_are_joined(bool swaps)
{
    struct wio_stg_source sources[WRITERS] = {{.has = true}};
    int writers[WRITERS] = {0, 1, 2};
    struct wio_stg_reader r = {
        .n_writers = WRITERS, .writers = writers, .swaps = swaps, .sources = sources};
    struct waitio_stage s = {.step = STEP - 1, .r = &r};
    struct wio_stg_values got = {NULL, 0, 0};
    struct wio_stg_event e;
    bool over = true;

    for (uint32_t w = 0; w < WRITERS; w++) {
        struct wio_stg_bytes b = note_of(w, swaps);

        sources[w].has = true;
        sources[w].e = (struct wio_stg_event){
            .head = {.word = WIO_STG_PUSH, .a = STEP, .b = w, .c = (int64_t)b.n},
            .body = b.at,
            .n_body = b.n,
            .hold = b.at};
    }
    assert_int_equal(wio_stg_pushed_hear(&s, 0, &e, &over), 0);
    assert_true(!over && e.head.word == WIO_STG_STEP && e.head.a == STEP);
    assert_int_equal(
        wio_stg_values_add(&got, e.body + sizeof(uint64_t[WRITERS]), e.n_body - 8 * WRITERS), 0);
    if (swaps)
        wio_stg_values_swap(&got);
    is_double(&got, "coldest", -40.25);
    is_double(&got, "hottest", 1e9);
    is_int(&got, "least", -65536);
    is_int(&got, "most", 256);
    is_double(&got, "time", 300.5);
    wio_stg_values_free(&got);
    wio_stg_event_end(&e);
    for (int w = 0; w < WRITERS; w++)
        wio_stg_event_end(&sources[w].e);
    free(r.ups);
}

static void values_of_all_writers_are_joined(void **state)
{
    (void)state;
    values_are_joined(false);
}

static void values_of_the_other_byte_order_are_joined_as_numbers(void **state)
{
    (void)state;
    values_are_joined(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_all_writers_are_joined),
        cmocka_unit_test(values_of_the_other_byte_order_are_joined_as_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
