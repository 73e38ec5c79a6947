/* SPDX-License-Identifier: BSD-3-Clause */
/* What a wait learns from the time that a yield took. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "p2p/spin.h"

static int64_t switched; /* how often the kernel has taken the processor from us */
static int asked;

static int64_t switches(void)
{
    asked++;
    return switched;
}

/* A yield of @p us, in which the kernel gave the processor to another one. */
static void taken_away(struct wio_spin *s, int64_t us)
{
    switched++;
    wio_spin_learn(s, us * 1000, switches);
}

static struct wio_spin among(uint32_t here, uint32_t cpus)
{
    struct wio_spin s;
    wio_spin_begin(&s, here, cpus);
    asked = 0;
    return s;
}

static void processes_are_shared_out(void **unused)
{
    (void)unused;
    assert_int_equal(among(1, 2).share, 1);
    assert_int_equal(among(2, 2).share, 1);
    assert_int_equal(among(3, 2).share, 2);
    assert_int_equal(among(128, 2).share, 64);
    assert_false(among(2, 2).crowded);
    assert_true(among(3, 2).crowded);
    assert_int_equal(among(2, 2).contended, 0);
    assert_int_equal(among(3, 2).contended, 8);
}

static void alone_a_long_yield_meets_a_computing_process(void **unused)
{
    (void)unused;
    struct wio_spin s = among(2, 2);
    taken_away(&s, 300);
    assert_int_equal(s.hogged, 0);
    assert_int_equal(s.contended, 1);
    taken_away(&s, 500);
    assert_true(s.hogged > 0);
    assert_int_equal(s.contended, 2);
}

static void an_interrupt_is_no_process(void **unused)
{
    (void)unused;
    struct wio_spin s = among(2, 2);
    s.switches = switched;
    wio_spin_learn(&s, 5000000, switches);
    assert_int_equal(asked, 1);
    assert_int_equal(s.hogged, 0);
    assert_int_equal(s.contended, 0);
}

static void a_quick_yield_costs_no_system_call_and_calms(void **unused)
{
    (void)unused;
    struct wio_spin s = among(2, 2);
    taken_away(&s, 10);
    asked = 0;
    wio_spin_learn(&s, 500, switches);
    assert_int_equal(asked, 0);
    assert_int_equal(s.contended, 0);
}

/* With 32 processes on two processors a yield takes as long as the turns of 15 others, of which
 * each may send many messages. Who slept after such a yield was three times as slow. */
static void among_many_each_has_its_turn(void **unused)
{
    (void)unused;
    struct wio_spin s = among(32, 2);
    taken_away(&s, 6000);
    assert_int_equal(s.hogged, 0);
    assert_int_equal(asked, 0);
    taken_away(&s, 7000);
    assert_true(s.hogged > 0);
    s = among(4, 2);
    taken_away(&s, 700);
    assert_int_equal(s.hogged, 0);
    taken_away(&s, 900);
    assert_true(s.hogged > 0);
}

static void a_crowded_host_stays_so(void **unused)
{
    (void)unused;
    struct wio_spin s = among(4, 2);
    for (int i = 0; i < 100; i++)
        wio_spin_learn(&s, 500, switches);
    assert_int_equal(s.contended, 8);
    for (int i = 0; i < 100; i++)
        taken_away(&s, 100000);
    assert_int_equal(s.contended, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_are_shared_out),
        cmocka_unit_test(alone_a_long_yield_meets_a_computing_process),
        cmocka_unit_test(an_interrupt_is_no_process),
        cmocka_unit_test(a_quick_yield_costs_no_system_call_and_calms),
        cmocka_unit_test(among_many_each_has_its_turn),
        cmocka_unit_test(a_crowded_host_stays_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
