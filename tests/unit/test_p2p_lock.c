/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine lock between a thread that drives the transports, coming back at once each time, and
 * one that calls now and then: it must get in. (What a memory model allows: tests/model.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "os/os.h"
#include "p2p/lock.h"

enum { VISITS = 100, INSIDE_NS = 50000 };

static struct wio_lock lock;
static _Atomic int want, over, driven; /* driven: the driver is inside */

static void *visit(void *arg)
{
    (void)arg;
    for (int i = 0; i < VISITS; i++) {
        while (!atomic_load(&driven))
            wio_os_yield();
        wio_lock_take(&lock, &want);
        wio_lock_leave(&lock);
    }
    atomic_store(&over, 1);
    return NULL;
}

/* How many times the driver was asked to give way until the visitor had been in VISITS times. */
static int rounds(bool biased)
{
    pthread_t visitor;
    int asked = 0;
    lock = (struct wio_lock){.holder = 0};
    wio_lock_init(&lock);
    lock.biased = lock.biased && biased;
    atomic_store(&want, 0);
    atomic_store(&over, 0);
    assert_int_equal(pthread_create(&visitor, NULL, visit, NULL), 0);
    wio_lock_take(&lock, &want);
    while (!atomic_load(&over)) {
        atomic_store(&driven, 1);
        int64_t until = wio_os_now_ns() + INSIDE_NS;
        while (wio_os_now_ns() < until) { /* copies what has come */
        }
        if (atomic_load(&want) > 0) {
            asked++;
            atomic_store(&driven, 0);
            wio_lock_give_way(&lock, &want);
            wio_lock_take(&lock, &want);
        }
    }
    wio_lock_leave(&lock);
    assert_int_equal(pthread_join(visitor, NULL), 0);
    wio_lock_destroy(&lock);
    return asked;
}

/* The driver gives way for a moment only: where others keep the visitor from the processor it has
 * asked in vain, and without giving way the visitor is in time by chance now and then. So most of
 * many tries decide. */
static void mostly_gets_in(bool biased)
{
    enum { SOON = 10, LATE = 3 };
    int soon = 0, late = 0, asked = 0;
    while (soon < SOON && late < LATE) {
        asked = rounds(biased);
        soon += asked <= 3 * VISITS;
        late += asked > 3 * VISITS;
    }
    if (late == LATE)
        fail_msg("asked too often in %d of %d tries: %d times in the last", late, soon + late,
                 asked);
}

static void who_waits_gets_in_by_a_plain_mutex(void **state)
{
    (void)state;
    mostly_gets_in(false);
}

static void who_waits_gets_in_beside_a_bias(void **state)
{
    (void)state;
    mostly_gets_in(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_gets_in_by_a_plain_mutex),
        cmocka_unit_test(who_waits_gets_in_beside_a_bias),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
