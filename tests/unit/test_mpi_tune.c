/* SPDX-License-Identifier: BSD-3-Clause */
/* Trials of some algorithms: turns, times, decisions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "mpi/tune.h"

static void sizes_have_trials_of_their_own(void **state)
{
    struct wio_tune tune = {0};
    (void)state;
    assert_ptr_equal(wio_tune_of(&tune, WIO_TUNE_FROM), &tune.trial[0]);
    assert_ptr_equal(wio_tune_of(&tune, 2 * WIO_TUNE_FROM - 1), &tune.trial[0]);
    assert_ptr_equal(wio_tune_of(&tune, 2 * WIO_TUNE_FROM), &tune.trial[1]);
    assert_ptr_equal(wio_tune_of(&tune, 8 << 20), &tune.trial[8]);
    assert_ptr_equal(wio_tune_of(&tune, SIZE_MAX), &tune.trial[WIO_TUNE_CLASSES - 1]);
    assert_int_equal(wio_tune_of(&tune, (1 << 20) - 1)->tries, WIO_TUNE_TRIES);
    assert_int_equal(wio_tune_of(&tune, 1 << 20)->tries, WIO_TUNE_FEW);
}

/* Run a trial in which rival i takes ns[i]; 0: it must not take part. The first call of each does
 * not count. @param rivals how many there are */
static void try_them(struct wio_trial *t, int rivals, const int64_t *ns)
{
    int left = 0, tries = t->tries;
    for (int i = 0; i < rivals; i++)
        left += ns[i] > 0 ? tries : 0;
    for (int i = 0; i < rivals; i++) {
        for (int k = 0; ns[i] > 0 && k < tries; k++) {
            assert_int_equal(wio_tune_next(t, rivals), i);
            assert_int_equal(wio_tune_took(t, k == 0 ? 1000000 : ns[i]), --left == 0);
        }
    }
    for (int i = 0; i < rivals; i++)
        assert_int_equal(t->sum_ns[i], (tries - 1) * ns[i]);
}

static void assert_kept(struct wio_trial *t, int rivals, int chosen, int calls)
{
    for (int i = 0; i < calls; i++) {
        assert_int_equal(wio_tune_next(t, rivals), chosen);
        assert_false(wio_tune_took(t, 1));
    }
}

static void the_quickest_is_kept_for_a_while(void **state)
{
    struct wio_trial t = {.tries = WIO_TUNE_TRIES};
    const int64_t second[] = {500, 300}, first[] = {200, 300};
    (void)state;
    for (int kept = WIO_TUNE_SOON; kept < 4 * WIO_TUNE_KEPT; kept *= 2) {
        try_them(&t, 2, second);
        wio_tune_decide(&t, t.sum_ns);
        assert_kept(&t, 2, 1, kept < WIO_TUNE_KEPT ? kept : WIO_TUNE_KEPT);
    }
    try_them(&t, 2, first); /* things have changed */
    wio_tune_decide(&t, t.sum_ns);
    assert_int_equal(wio_tune_next(&t, 2), 0);
}

/* The far slower ones are left out of the second trial, which the cold caches of the first do not
 * disturb; later ones are between two. */
static void the_slow_ones_take_no_part_any_more(void **state)
{
    struct wio_trial t = {.tries = WIO_TUNE_TRIES};
    const int64_t cold[] = {900, 440, 300, 449, 4000, 451}, warm[] = {0, 200, 300, 210, 0, 0},
                  last[] = {0, 300, 0, 280, 0, 0};
    (void)state;
    try_them(&t, 6, cold);
    wio_tune_decide(&t, t.sum_ns);
    assert_kept(&t, 6, 2, WIO_TUNE_SOON);
    try_them(&t, 6, warm);
    wio_tune_decide(&t, t.sum_ns);
    assert_kept(&t, 6, 1, 2 * WIO_TUNE_SOON);
    try_them(&t, 6, last);
    wio_tune_decide(&t, t.sum_ns);
    assert_kept(&t, 6, 3, 4 * WIO_TUNE_SOON);
}

/* Of long calls one is counted, so a single disturbance must not shut out the best for good. */
static void long_calls_are_tried_less(void **state)
{
    struct wio_trial t = {.tries = WIO_TUNE_FEW};
    const int64_t disturbed[] = {300, 560, 610}, calm[] = {300, 200, 0};
    (void)state;
    try_them(&t, 3, disturbed);
    wio_tune_decide(&t, t.sum_ns);
    assert_kept(&t, 3, 0, WIO_TUNE_SOON);
    try_them(&t, 3, calm);
    wio_tune_decide(&t, t.sum_ns);
    assert_kept(&t, 3, 1, 2 * WIO_TUNE_SOON);
}

/* What counts is the slowest member, not this one. */
static void members_decide_together(void **state)
{
    struct wio_trial t = {.tries = WIO_TUNE_TRIES};
    const int64_t mine[] = {200, 100}, worst[WIO_TUNE_RIVALS] = {4000, 5000};
    (void)state;
    try_them(&t, 2, mine);
    wio_tune_decide(&t, worst);
    assert_int_equal(wio_tune_next(&t, 2), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_have_trials_of_their_own),
        cmocka_unit_test(the_quickest_is_kept_for_a_while),
        cmocka_unit_test(the_slow_ones_take_no_part_any_more),
        cmocka_unit_test(long_calls_are_tried_less),
        cmocka_unit_test(members_decide_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
