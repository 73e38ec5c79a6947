/* SPDX-License-Identifier: BSD-3-Clause */
/* Trials of two algorithms: turns, times, decisions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "mpi/tune.h"

static void sizes_have_trials_of_their_own(void **state)
{
    struct wio_tune tune = {0};
    (void)state;
    assert_ptr_equal(wio_tune_of(&tune, 0), &tune.trial[0]);
    assert_ptr_equal(wio_tune_of(&tune, (2 << 20) - 1), &tune.trial[0]);
    assert_ptr_equal(wio_tune_of(&tune, 2 << 20), &tune.trial[1]);
    assert_ptr_equal(wio_tune_of(&tune, 8 << 20), &tune.trial[3]);
    assert_ptr_equal(wio_tune_of(&tune, SIZE_MAX), &tune.trial[WIO_TUNE_CLASSES - 1]);
}

/* Run a trial in which the algorithms take so long. The first call of each does not count. */
static void try_both(struct wio_trial *t, int64_t first_ns, int64_t rival_ns)
{
    for (int i = 0; i < 2 * WIO_TUNE_TRIES; i++) {
        bool rival = wio_tune_rival(t), fresh = i % WIO_TUNE_TRIES == 0;
        assert_int_equal(rival, i >= WIO_TUNE_TRIES);
        bool over = wio_tune_took(t, fresh ? 1000000 : rival ? rival_ns : first_ns);
        assert_int_equal(over, i == 2 * WIO_TUNE_TRIES - 1);
    }
    assert_int_equal(t->sum_ns[0], (WIO_TUNE_TRIES - 1) * first_ns);
    assert_int_equal(t->sum_ns[1], (WIO_TUNE_TRIES - 1) * rival_ns);
}

static void the_quicker_one_is_kept_for_a_while(void **state)
{
    struct wio_trial t = {0};
    (void)state;
    for (int kept = WIO_TUNE_SOON; kept < 4 * WIO_TUNE_KEPT; kept *= 2) {
        try_both(&t, 500, 300);
        wio_tune_decide(&t, t.sum_ns);
        for (int i = 0; i < (kept < WIO_TUNE_KEPT ? kept : WIO_TUNE_KEPT); i++) {
            assert_true(wio_tune_rival(&t));
            assert_false(wio_tune_took(&t, 1));
        }
    }
    try_both(&t, 200, 300); /* things have changed */
    wio_tune_decide(&t, t.sum_ns);
    assert_false(wio_tune_rival(&t));
}

/* What counts is the slowest member, not this one. */
static void members_decide_together(void **state)
{
    struct wio_trial t = {0};
    int64_t worst[2] = {4000, 5000};
    (void)state;
    try_both(&t, 200, 100);
    wio_tune_decide(&t, worst);
    assert_false(wio_tune_rival(&t));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_have_trials_of_their_own),
        cmocka_unit_test(the_quicker_one_is_kept_for_a_while),
        cmocka_unit_test(members_decide_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
