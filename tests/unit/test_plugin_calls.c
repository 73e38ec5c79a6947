/* SPDX-License-Identifier: BSD-3-Clause */
/** @file test_plugin_calls.c  waitio_transport_register() before and after joining, and what a
 * library may ask of its host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "transport/outside/outside.h"
#include "waitio.h"
/* Parentheses around fail: cmocka has a macro of that name. */

static int opened;

static int query(const struct waitio_host *host, struct waitio_costs *c)
{
    (void)host;
    *c = (struct waitio_costs){.latency_s = 1, .bandwidth = 1};
    return 0;
}

/* Never reached: a process alone needs no transport. */
static int open_iface(const struct waitio_open_params *p, struct waitio_iface **iface)
{
    (void)iface;
    opened++;
    return (p->host->fail)(WAITIO_ERR_UNSUPPORTED, "not here");
}

static void nothing(void)
{
}

static struct waitio_transport table(const char *name, uint32_t place)
{
    struct waitio_transport t = {
        .size = sizeof t, .version = WAITIO_TRANSPORT_VERSION, .name = name, .place = place};
    void (*fn)(void) = nothing;
    for (size_t at = offsetof(struct waitio_transport, query); at < sizeof t; at += sizeof fn)
        memcpy((char *)&t + at, &fn, sizeof fn);
    t.query = query;
    t.open = open_iface;
    return t;
}

static void test_before_and_after_joining(void **state)
{
    (void)state;
    static struct waitio_transport first, second;
    setenv("WAITIO_ERRORS", "return", 1);
    setenv("WAITIO_RANK", "0", 1);
    setenv("WAITIO_NPROCS", "1", 1);
    setenv("WAITIO_NPB", "1", 1);
    setenv("WAITIO_PBID", "0", 1);
    first = table("first", WAITIO_PLACE_OFI);
    second = table("second", WAITIO_PLACE_UCX);
    second.version = 99;
    assert_int_equal(waitio_transport_register(&second), WAITIO_ERR_VERSION);
    assert_non_null(strstr(waitio_last_error(), "version 99"));
    second.version = WAITIO_TRANSPORT_VERSION;
    assert_int_equal(waitio_transport_register(&first), 0);
    assert_int_equal(waitio_init(10), 0);
    assert_int_equal(opened, 0);
    assert_int_equal(waitio_transport_register(&second), WAITIO_ERR_STATE);
    assert_non_null(strstr(waitio_last_error(), "second comes too late"));
    assert_null(wio_outside_at(WAITIO_PLACE_UCX));
    assert_int_equal(waitio_finalize(), 0);
}

static void test_host(void **state)
{
    (void)state;
    const struct waitio_host *h = &wio_outside_host;
    assert_int_equal(h->size, sizeof *h);
    assert_int_equal(h->version, WAITIO_TRANSPORT_VERSION);
    assert_int_equal((h->fail)(WAITIO_ERR_LIMIT, "%d too many", 3), WAITIO_ERR_LIMIT);
    assert_string_equal(h->last_error(), "3 too many");
    assert_int_equal(h->own_thread(), 0);
    uint8_t *p = h->alloc(100);
    assert_non_null(p);
    assert_int_equal(p[99], 0);
    h->free(p);
    int64_t t = h->now_ns();
    h->sleep_ns(1000);
    assert_true(h->now_ns() >= t + 1000);
    assert_string_equal(h->environment("WAITIO_ERRORS"), "return");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before_and_after_joining),
        cmocka_unit_test(test_host),
    };
    return cmocka_run_group_tests_name("calls of outside transports", tests, NULL, NULL);
}
