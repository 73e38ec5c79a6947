/* SPDX-License-Identifier: BSD-3-Clause */
/** @file test_transport_shm_states.c  The state table is the documented one, and is sound. */
#include "state_table.h"
#include "transport/shm/shm.h"

static void test_document_has_the_table(void **state)
{
    (void)state;
    assert_documented(__func__, "shm.md", wio_shm_states, SHM_STATES);
}

static void test_table_is_sound(void **state)
{
    (void)state;
    assert_sound(wio_shm_states, SHM_NEW, SHM_OVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_document_has_the_table),
        cmocka_unit_test(test_table_is_sound),
    };
    return cmocka_run_group_tests_name("shm states", tests, NULL, NULL);
}
