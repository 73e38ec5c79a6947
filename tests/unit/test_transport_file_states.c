/* SPDX-License-Identifier: BSD-3-Clause */
/** @file test_transport_file_states.c  The state table is the documented one, and is sound. */
#include "state_table.h"
#include "transport/file/file.h"

static void test_document_has_the_table(void **state)
{
    (void)state;
    assert_documented(__func__, "file.md", wio_file_states, FILE_STATES);
}

static void test_table_is_sound(void **state)
{
    (void)state;
    assert_sound(wio_file_states, FILE_NEW, FILE_OVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_document_has_the_table),
        cmocka_unit_test(test_table_is_sound),
    };
    return cmocka_run_group_tests_name("file states", tests, NULL, NULL);
}
