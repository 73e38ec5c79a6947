/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of bulk data: every byte, nothing beside them, whatever the offsets and lengths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "os/os.h"

/* Also the loop that the library takes only on some processors. */
#include "os/copy.c"

enum { MOST = 70000, EDGE = 8192 };

static uint8_t *from, *to;

static void fill(void)
{
    for (int i = 0; i < MOST + 2 * EDGE; i++)
        from[i] = (uint8_t)(i * 7 + i / 251);
    memset(to, 0xee, MOST + 2 * EDGE);
}

static void check(const uint8_t *target, const uint8_t *source, size_t n)
{
    assert_memory_equal(target, source, n);
    for (int i = 1; i <= 128; i++) {
        assert_int_equal(target[-i], 0xee);
        assert_int_equal(target[(ptrdiff_t)n + i - 1], 0xee);
    }
}

static size_t chance(size_t n)
{
    return (size_t)rand() % n;
}

static void every_byte_and_no_other(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        size_t n = i % 3 == 0 ? chance(3000) : chance(MOST);
        uint8_t *target = to + EDGE / 2 + chance(4096), *source = from + EDGE / 2 + chance(4096);
        fill();
        wio_os_copy(target, source, n);
        check(target, source, n);
    }
}

#ifndef WATCHED
static void both_directions_of_the_loop(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        size_t n = 2 * STEP + chance(i % 2 == 0 ? 600 : MOST - 2 * STEP);
        uint8_t *target = to + EDGE / 2 + chance(4096), *source = from + EDGE / 2 + chance(4096);
        fill();
        (i % 4 < 2 ? loop_plain : best_loop)(target, source, n, i % 3 == 0);
        check(target, source, n);
    }
}

static void distances_have_classes(void **state)
{
    (void)state;
    assert_int_equal(distance((uint8_t *)4096 + 16, 8192), 16);
    assert_int_equal(distance((uint8_t *)8192, 4096 + 16), -16);
    assert_int_equal(distance((uint8_t *)4096, 8191), 1);
    for (int d = -PAGE / 2; d < PAGE / 2; d++) {
        assert_in_range(class_of(d), 0, CLASSES - 1);
        if (d != 0)
            assert_int_equal(class_of(d) >= BITS, d < 0);
    }
    assert_int_equal(class_of(48), class_of(63));
    assert_int_not_equal(class_of(64), class_of(63));
}

/* What the system copies goes to a place that is not slow. */
static void slow_distances_are_shifted(void **state)
{
    (void)state;
    wio_os_copy(to, from, MOST); /* measures */
    for (int c = 0; c < CLASSES; c++)
        slow[c] = c < 4; /* 1 to 15 bytes ahead */
    for (int d = -80; d <= 80; d++) {
        size_t shift = wio_os_copy_shift((uint8_t *)8192 + d, 4096);
        if (d >= 1 && d <= 15)
            assert_int_equal((size_t)d + shift, LINE);
        else
            assert_int_equal(shift, 0);
    }
    slow[class_of(LINE)] = true; /* no better */
    assert_int_equal(wio_os_copy_shift((uint8_t *)8192 + 8, 4096), 0);
}

/* What was measured as slow goes by the loop, and is right there, too. */
static void slow_distances_take_the_loop(void **state)
{
    (void)state;
    for (int c = 0; c < CLASSES; c++)
        slow[c] = true;
    every_byte_and_no_other(state);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_and_no_other),
#ifndef WATCHED
        cmocka_unit_test(both_directions_of_the_loop),
        cmocka_unit_test(distances_have_classes),
        cmocka_unit_test(slow_distances_are_shifted),
        cmocka_unit_test(slow_distances_take_the_loop),
#endif
    };
    from = malloc(MOST + 2 * EDGE);
    to = malloc(MOST + 2 * EDGE);
    if (from == NULL || to == NULL)
        return 1;
    srand(1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
