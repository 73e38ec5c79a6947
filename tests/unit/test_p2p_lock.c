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
    lock = (struct wio_lock){0};
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

static void who_waits_gets_in_by_a_plain_mutex(void **state)
{
    (void)state;
    assert_in_range(rounds(false), 0, 3 * VISITS);
}

static void who_waits_gets_in_beside_a_bias(void **state)
{
    (void)state;
    assert_in_range(rounds(true), 0, 3 * VISITS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_gets_in_by_a_plain_mutex),
        cmocka_unit_test(who_waits_gets_in_beside_a_bias),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
