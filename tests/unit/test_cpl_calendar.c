/* SPDX-License-Identifier: BSD-3-Clause */
/* The calendar, against the C library's days and against itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "coupler/base.h"
#include "coupler/calendar.h"

static void check(const int from[6], int64_t seconds, const int to[6])
{
    int t[6];

    memcpy(t, from, sizeof t);
    assert_int_equal(wio_cpl_calendar_add(t, seconds), 0);
    assert_memory_equal(t, to, sizeof t);
    assert_int_equal(wio_cpl_calendar_add(t, -seconds), 0);
    assert_memory_equal(t, from, sizeof t);
}

static void follows_published_dates(void **state)
{
    (void)state;
    check((int[]){2000, 2, 28, 23, 0, 0}, 7200, (int[]){2000, 2, 29, 1, 0, 0});
    check((int[]){1900, 2, 28, 23, 0, 0}, 3600, (int[]){1900, 3, 1, 0, 0, 0});
    check((int[]){1999, 12, 31, 23, 59, 59}, 1, (int[]){2000, 1, 1, 0, 0, 0});
    check((int[]){1200, 1, 1, 0, 0, 0}, (int64_t)86400 * 146097 * 3, (int[]){2400, 1, 1, 0, 0, 0});
}

/* The C library's Gregorian calendar, as seconds since 1970. */
static int64_t seconds_of(const int t[6])
{
    struct tm tm = {.tm_year = t[0] - 1900,
                    .tm_mon = t[1] - 1,
                    .tm_mday = t[2],
                    .tm_hour = t[3],
                    .tm_min = t[4],
                    .tm_sec = t[5]};

    return timegm(&tm);
}

static void agrees_with_the_system(void **state)
{
    uint64_t seed = 12345;

    (void)state;
    for (int i = 0; i < 3000; i++) {
        int t[6] = {1200, 1, 1, 0, 0, 0};
        int64_t by, before;

        seed = seed * 6364136223846793005u + 1442695040888963407u;
        assert_int_equal(wio_cpl_calendar_add(t, (int64_t)(seed >> 30)), 0);
        before = seconds_of(t);
        by = (int64_t)(seed >> 33 & 0xfffffff) - (int64_t)0x8000000;
        if (wio_cpl_calendar_add(t, by) == 0)
            assert_true(seconds_of(t) - before == by);
        else
            assert_true(before + by < seconds_of((int[]){1200, 1, 1, 0, 0, 0}));
    }
}

static void refuses_what_is_no_date(void **state)
{
    static const int wrong[][6] = {{1199, 12, 31, 0, 0, 0}, {2001, 2, 29, 0, 0, 0},
                                   {2000, 13, 1, 0, 0, 0},  {2000, 0, 1, 0, 0, 0},
                                   {2000, 1, 0, 0, 0, 0},   {2000, 1, 1, 24, 0, 0},
                                   {2000, 1, 1, 0, 60, 0},  {2000, 1, 1, 0, 0, -1}};

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        int t[6];

        memcpy(t, wrong[i], sizeof t);
        assert_true(wio_cpl_calendar_add(t, 0) < 0);
        assert_non_null(strstr(wio_cpl_why(), "no date of the calendar"));
        assert_memory_equal(t, wrong[i], sizeof t);
    }
    assert_true(wio_cpl_calendar_add((int[]){1200, 1, 1, 0, 0, 0}, -1) < 0);
    assert_true(wio_cpl_calendar_add((int[]){2000, 1, 1, 0, 0, 0}, INT64_MAX) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_published_dates),
        cmocka_unit_test(agrees_with_the_system),
        cmocka_unit_test(refuses_what_is_no_date),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
