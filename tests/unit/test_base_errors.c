/* SPDX-License-Identifier: BSD-3-Clause */
/* Codes, the last error of a thread, counters' names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>

#include "base/base.h"

static void test_every_code_is_explained(void **state)
{
    (void)state;
    assert_string_equal(wio_error_name(0), "WAITIO_SUCCESS");
    assert_string_equal(wio_error_message(0), "success");
    for (int code = -1; code >= WAITIO_ERR_LAST; code--) {
        assert_memory_equal(wio_error_name(code), "WAITIO_ERR_", 11);
        assert_string_not_equal(wio_error_message(code), "unknown error");
        assert_string_not_equal(wio_error_remedy(code), "");
    }
    assert_string_equal(wio_error_name(WAITIO_ERR_PEER), "WAITIO_ERR_PEER");
}

static void test_unknown_codes_are_harmless(void **state)
{
    (void)state;
    static const int codes[] = {1, 4711, WAITIO_ERR_LAST - 1, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < WIO_ARRAY_LEN(codes); i++) {
        assert_string_equal(wio_error_message(codes[i]), "unknown error");
        assert_string_equal(wio_error_remedy(codes[i]), "");
    }
}

static void test_detail_and_remedy(void **state)
{
    (void)state;
    wio_clear_error();
    assert_string_equal(wio_last_error(), "");
    assert_int_equal(wio_last_code(), 0);
    assert_int_equal(wio_fail(WAITIO_ERR_RANK, "rank %d of 4", 9), WAITIO_ERR_RANK);
    assert_int_equal(wio_last_code(), WAITIO_ERR_RANK);
    char expected[512];
    wio_text(expected, sizeof expected, "rank 9 of 4; %s", wio_error_remedy(WAITIO_ERR_RANK));
    assert_string_equal(wio_last_error(), expected);
}

static void test_text_may_quote_itself(void **state)
{
    (void)state;
    wio_fail(WAITIO_ERR_PEER, "inner");
    wio_fail(WAITIO_ERR_JOIN, "outer: %s", wio_last_error());
    assert_non_null(strstr(wio_last_error(), "outer: inner; "));
    assert_int_equal(wio_last_code(), WAITIO_ERR_JOIN);
}

static void test_long_text_is_cut(void **state)
{
    (void)state;
    char big[5000];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    wio_fail(WAITIO_ERR_ARG, "%s", big);
    assert_in_range(strlen(wio_last_error()), 1000, 1300);
}

static void test_system_reasons(void **state)
{
    (void)state;
    assert_int_equal(wio_fail_os(WAITIO_ERR_SYSTEM, -EMFILE, "socket"), WAITIO_ERR_LIMIT);
    assert_int_equal(wio_fail_os(WAITIO_ERR_SYSTEM, -ENFILE, "socket"), WAITIO_ERR_LIMIT);
    assert_int_equal(wio_fail_os(WAITIO_ERR_SYSTEM, -ENOMEM, "map"), WAITIO_ERR_NOMEM);
    assert_int_equal(wio_fail_os(WAITIO_ERR_CONFIG, -EMFILE, "open"), WAITIO_ERR_CONFIG);
    assert_int_equal(wio_fail_os(WAITIO_ERR_SYSTEM, -ECONNREFUSED, "connect to %s", "h:1"),
                     WAITIO_ERR_SYSTEM);
    assert_non_null(strstr(wio_last_error(), "connect to h:1: "));
    assert_non_null(strstr(wio_last_error(), strerror(ECONNREFUSED)));
}

static void *other_thread(void *arg)
{
    *(int *)arg = wio_last_code();
    wio_fail(WAITIO_ERR_TAG, "elsewhere");
    return NULL;
}

static void test_threads_do_not_share(void **state)
{
    (void)state;
    wio_fail(WAITIO_ERR_PEER, "here");
    int seen = 1;
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, other_thread, &seen), 0);
    pthread_join(t, NULL);
    assert_int_equal(seen, 0);
    assert_int_equal(wio_last_code(), WAITIO_ERR_PEER);
}

static void test_counter_rows_name_their_fields(void **state)
{
    (void)state;
    struct wio_counters c;
    memset(&c, 0, sizeof c);
    c.send_msgs = 3;
    c.strangers = UINT64_MAX;
    bool first = false, last = false;
    for (int i = 0; i < WIO_COUNTERS; i++) {
        const struct wio_counter_row *row = wio_counter_row(i);
        assert_non_null(row);
        uint64_t value = wio_counter_value(&c, i);
        if (strcmp(row->name, "send_msgs") == 0)
            first = value == 3;
        else if (strcmp(row->name, "strangers") == 0)
            last = value == UINT64_MAX;
        else
            assert_int_equal(value, 0);
    }
    assert_true(first && last);
    assert_null(wio_counter_row(-1));
    assert_null(wio_counter_row(WIO_COUNTERS));
    assert_int_equal(wio_counter_value(&c, WIO_COUNTERS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_code_is_explained),
        cmocka_unit_test(test_unknown_codes_are_harmless),
        cmocka_unit_test(test_detail_and_remedy),
        cmocka_unit_test(test_text_may_quote_itself),
        cmocka_unit_test(test_long_text_is_cut),
        cmocka_unit_test(test_system_reasons),
        cmocka_unit_test(test_threads_do_not_share),
        cmocka_unit_test(test_counter_rows_name_their_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
