/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of a stream, from a process to itself: what was sent and is over is forgotten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "stage/reader.h"

enum { MANY = 1000, WRITERS = 3, TAG = WIO_STG_T_UP, KIND = 5 };

static int me;

static int join(void **state)
{
    (void)state;
    setenv("WAITIO_ERRORS", "return", 1);
    setenv("WAITIO_NPB", "1", 1);
    setenv("WAITIO_PBID", "0", 1);
    setenv("WAITIO_RANK", "0", 1);
    setenv("WAITIO_NPROCS", "1", 1);
    return waitio_init(20) != 0 || waitio_universe_rank(&me) != 0;
}

static int leave(void **state)
{
    (void)state;
    return waitio_finalize();
}

static void open_office(struct wio_stg_office *o)
{
    *o = (struct wio_stg_office){.n = 0};
    assert_int_equal(waitio_group_universe(4711, &o->group), 0);
}

static void close_office(struct wio_stg_office *o)
{
    wio_stg_office_close(o, 5);
    assert_int_equal(waitio_group_free(&o->group), 0);
}

static void tell(struct wio_stg_office *o, int n)
{
    const struct wio_stg_head h = {.word = WIO_STG_ACK};

    for (int i = 0; i < n; i++)
        assert_int_equal(wio_stg_tell(o, me, TAG, &h, "text", 4), 0);
}

/* Short messages are over when they are sent. */
static void one_look_hears_all_that_is_over(void **state)
{
    struct wio_stg_office o;
    struct wio_stg_event e;
    bool found = true;

    (void)state;
    open_office(&o);
    tell(&o, 7);
    assert_int_equal(o.n, 7);
    assert_int_equal(wio_stg_next(&o, 0, &e, &found), 0);
    assert_false(found);
    assert_int_equal(o.n, 0);
    close_office(&o);
}

static void who_only_sends_keeps_little(void **state)
{
    struct wio_stg_office o;

    (void)state;
    open_office(&o);
    tell(&o, MANY);
    assert_true(o.n <= 16 && o.room == 16);
    close_office(&o);
}

/* What is awaited, and what is data, is for somebody: no sweep takes it away. */
static void what_is_for_somebody_stays(void **state)
{
    const struct wio_stg_head h = {.word = WIO_STG_DONE, .a = 9};
    struct wio_stg_office o;
    struct wio_stg_event e;
    char data[8] = "in", room[8] = "";
    bool found = false;
    int sum = 0;

    (void)state;
    open_office(&o);
    assert_int_equal(wio_stg_await(&o, me, TAG + 2, KIND, data), 0);
    assert_int_equal(wio_stg_take(&o, me, TAG + 4, room, sizeof room, KIND + 1, NULL), 0);
    assert_int_equal(wio_stg_give(&o, me, TAG + 4, data, sizeof data, NULL, KIND + 2, NULL), 0);
    assert_int_equal(wio_stg_tell(&o, me, TAG + 2, &h, NULL, 0), 0);
    tell(&o, MANY);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(wio_stg_next(&o, 30, &e, &found), 0);
        assert_true(found && e.rc == 0);
        sum += e.kind;
        if (e.kind == KIND)
            assert_true(e.with == data && e.head.word == WIO_STG_DONE && e.head.a == 9);
        wio_stg_event_end(&e);
    }
    assert_int_equal(sum, 3 * KIND + 3);
    assert_string_equal(room, "in");
    close_office(&o);
}

/* A reader tells all writers that it has read a step, and may find the next one here already. */
static void a_reader_of_many_steps_keeps_little(void **state)
{
    int writers[WRITERS] = {me, me, me};
    struct wio_stg_source sources[WRITERS] = {{.has = false}};
    struct wio_stg_reader r = {.n_writers = WRITERS, .writers = writers, .sources = sources};
    struct waitio_stage s = {.r = &r};

    (void)state;
    open_office(&r.office);
    for (s.step = 0; s.step < MANY; s.step++)
        assert_int_equal(wio_stg_pushed_end(&s), 0);
    assert_true(r.office.n <= 16 && r.office.room == 16);
    close_office(&r.office);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_look_hears_all_that_is_over),
        cmocka_unit_test(who_only_sends_keeps_little),
        cmocka_unit_test(what_is_for_somebody_stays),
        cmocka_unit_test(a_reader_of_many_steps_keeps_little),
    };

    return cmocka_run_group_tests(tests, join, leave);
}
