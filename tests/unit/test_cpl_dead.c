/* SPDX-License-Identifier: BSD-3-Clause */
/* Who has died, as the library's error texts say (dead.c); in a universe of one process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "coupler/cpl.h"
#include "waitio.h"

static int join(void **state)
{
    (void)state;
    setenv("WAITIO_ERRORS", "return", 1);
    setenv("WAITIO_RANK", "0", 1);
    setenv("WAITIO_NPROCS", "1", 1);
    setenv("WAITIO_NPB", "1", 1);
    setenv("WAITIO_PBID", "0", 1);
    return waitio_init(10);
}

static int leave(void **state)
{
    (void)state;
    return waitio_finalize();
}

static void test_failed_and_left_in_a_collective(void **state)
{
    (void)state;
    assert_int_equal(wio_cpl_dead_in("PB 0 rank 0 failed in a collective of this communicator"), 0);
    assert_int_equal(wio_cpl_dead_in("PB 0 rank 0 has finalized before a collective"), 0);
    assert_int_equal(wio_cpl_dead_in("WAITIO_MPI_Bcast: PB 0 rank 0 failed in a collective"), 0);
}

/* The text of a message of this process ends with the remedy of the table. */
static void test_a_message_that_meets_a_death(void **state)
{
    char text[600];

    (void)state;
    snprintf(text, sizeof text, "recv: PB 0 rank 0: connection lost (%s; %s)",
             wio_error_message(WAITIO_ERR_PEER), wio_error_remedy(WAITIO_ERR_PEER));
    assert_int_equal(wio_cpl_dead_in(text), 0);
}

static void test_the_one_who_says_it_is_not_meant(void **state)
{
    (void)state;
    assert_int_equal(wio_cpl_dead_in("PB 7 rank 3 failed in a collective, says PB 0 rank 0"), -1);
    assert_int_equal(wio_cpl_dead_in("PB 7 rank 3 failed in it, PB 0 rank 0 failed in it"), 0);
}

static void test_other_texts_name_nobody(void **state)
{
    static const char *const texts[] = {"",
                                        "PB ",
                                        "PB 0 rank",
                                        "PB 0 rank 0",
                                        "PB 0 rank 0: message of 8 bytes is longer than 4",
                                        "PB 0 rank 99999999999 failed in a collective",
                                        "PB 0 rank 00 fails",
                                        "the PB 0 process 0 failed"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (wio_cpl_dead_in(texts[i]) != -1)
            fail_msg("it names somebody: %s", texts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failed_and_left_in_a_collective),
        cmocka_unit_test(test_a_message_that_meets_a_death),
        cmocka_unit_test(test_the_one_who_says_it_is_not_meant),
        cmocka_unit_test(test_other_texts_name_nobody),
    };

    return cmocka_run_group_tests(tests, join, leave);
}
