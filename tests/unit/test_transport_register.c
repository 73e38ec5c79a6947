/* SPDX-License-Identifier: BSD-3-Clause */
/** @file test_transport_register.c  Which tables of outside transports are refused, and how
 * libraries are found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/os.h"
#include "transport/outside/outside.h"

/* Nothing here is ever called: registering looks at what is there. */
static void nothing(void)
{
}

static struct waitio_transport whole(const char *name, uint32_t place)
{
    struct waitio_transport t = {
        .size = sizeof t, .version = WAITIO_TRANSPORT_VERSION, .name = name, .place = place};
    void (*fn)(void) = nothing;
    for (size_t at = offsetof(struct waitio_transport, query); at < sizeof t; at += sizeof fn)
        memcpy((char *)&t + at, &fn, sizeof fn);
    return t;
}

static void refused(const struct waitio_transport *t, int code, const char *part)
{
    assert_int_equal(wio_outside_register(t), code);
    if (strstr(wio_last_error(), part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, wio_last_error());
}

static void test_refuses_what_does_not_fit(void **state)
{
    (void)state;
    struct waitio_transport t = whole("a", WAITIO_PLACE_OFI);
    refused(NULL, WAITIO_ERR_ARG, "NULL");
    t.version = WAITIO_TRANSPORT_VERSION + 1;
    refused(&t, WAITIO_ERR_VERSION, "version 2");
    t = whole("a", WAITIO_PLACE_OFI);
    t.size -= 8;
    refused(&t, WAITIO_ERR_VERSION, "bytes");
    t = whole("", WAITIO_PLACE_OFI);
    refused(&t, WAITIO_ERR_ARG, "name");
    t = whole("a name that is too long", WAITIO_PLACE_OFI);
    refused(&t, WAITIO_ERR_ARG, "name");
    t = whole("a", WAITIO_PLACES);
    refused(&t, WAITIO_ERR_ARG, "place 4");
    t = whole("a", WAITIO_PLACE_OFI);
    t.next_look_ns = NULL;
    refused(&t, WAITIO_ERR_ARG, "a has no next_look_ns()");
    assert_null(wio_outside_at(WAITIO_PLACE_OFI));
}

static void test_slots_that_may_be_missing(void **state)
{
    (void)state;
    static struct waitio_transport t;
    t = whole("few", WAITIO_PLACE_UCX);
    t.gather = NULL;
    t.put = NULL;
    t.keep = NULL;
    t.flush = NULL;
    t.watch = NULL;
    t.event_fd = NULL;
    t.arm = NULL;
    t.needs_service = NULL;
    t.ping = NULL;
    t.after_fork = NULL;
    t.size += 64; /* of a later version: it has more */
    assert_int_equal(wio_outside_register(&t), 0);
    assert_int_equal(wio_outside_register(&t), 0); /* the same again */
    assert_ptr_equal(wio_outside_at(WAITIO_PLACE_UCX), &t);
    assert_non_null(wio_transport_get(WIO_TR_OUTSIDE + WAITIO_PLACE_UCX));
    assert_null(wio_transport_get(WIO_TR_OUTSIDE + WAITIO_PLACE_OTHER));
    struct waitio_transport other = whole("few", WAITIO_PLACE_OTHER);
    refused(&other, WAITIO_ERR_STATE, "name few is registered already");
    other = whole("more", WAITIO_PLACE_UCX);
    refused(&other, WAITIO_ERR_STATE, "which transport few has");
}

/* ---- a part of a universe ---- */

static uint32_t flags;
static int gathered;

static int says_flags(const struct waitio_host *host, struct waitio_costs *costs)
{
    (void)host;
    costs->flags = flags;
    return 0;
}

static int gathers(struct waitio_iface *iface, struct waitio_gathering *g)
{
    (void)iface;
    (void)g;
    gathered++;
    return 0;
}

static void test_a_part_is_not_for_old_libraries(void **state)
{
    (void)state;
    struct waitio_transport t = whole("old", WAITIO_PLACE_OTHER);
    struct outside_iface f = {.t = &t};
    struct waitio_gathering g = {.size = sizeof g, .timeout_s = 10};
    t.query = says_flags;
    t.gather = gathers;
    t.about = "of yesterday";
    assert_int_equal(wio_outside_gather(&f.base, &g), 0);
    assert_true(f.gathered);
    g.flags = WAITIO_GATHER_PART;
    assert_int_equal(wio_outside_gather(&f.base, &g), WAITIO_ERR_UNSUPPORTED);
    assert_non_null(strstr(wio_last_error(), "transport old (of yesterday) cannot serve a part"));
    assert_int_equal(gathered, 1);
    flags = WAITIO_TRANSPORT_PARTIAL;
    assert_int_equal(wio_outside_gather(&f.base, &g), 0);
    assert_int_equal(gathered, 2);
}

/* ---- notes ---- */

static char *file_with(const char *text, size_t before)
{
    static char path[] = "/tmp/waitio-plugin-XXXXXX";
    static char name[sizeof path];
    memcpy(name, path, sizeof path);
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    for (size_t i = 0; i < before; i++)
        assert_int_equal(write(fd, "W", 1), 1);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(write(fd, "\0rest", 5), 5);
    close(fd);
    return name;
}

static void test_note_is_found_anywhere(void **state)
{
    (void)state;
    static const size_t before[] = {0, 1, 4000, 65536 - 30, 65536, 65536 + 3, 131072 - 7};
    for (size_t i = 0; i < WIO_ARRAY_LEN(before); i++) {
        struct wio_outside_note note;
        char *name = file_with("WAITIO-PLUGIN version=1;transport=mpi;for=Some MPI 1.2;"
                               "library=libsome.so.1;when=A,B;rivals=libother.so.2;",
                               before[i]);
        assert_int_equal(wio_outside_read_note(name, &note), 0);
        unlink(name);
        assert_int_equal(note.version, 1);
        assert_string_equal(note.transport, "mpi");
        assert_string_equal(note.about, "Some MPI 1.2");
        assert_string_equal(note.library, "libsome.so.1");
        assert_string_equal(note.when, "A,B");
        assert_string_equal(note.rivals, "libother.so.2");
    }
}

static void load_fails(const char *text, int code, const char *part)
{
    struct wio_config cfg;
    wio_config_defaults(&cfg);
    char *name = file_with(text, 100);
    wio_text(cfg.plugins, sizeof cfg.plugins, "%s", name);
    int rc = wio_outside_load(&cfg, NULL);
    unlink(name);
    assert_int_equal(rc, code);
    if (strstr(wio_last_error(), part) == NULL || strstr(wio_last_error(), name) == NULL)
        fail_msg("\"%s\" or %s is not in: %s", part, name, wio_last_error());
}

static void test_libraries_that_cannot_be_loaded(void **state)
{
    (void)state;
    load_fails("no note", WAITIO_ERR_CONFIG, "no library with a transport");
    load_fails("WAITIO-PLUGIN version=1;", WAITIO_ERR_CONFIG, "malformed");
    load_fails("WAITIO-PLUGIN version=7;transport=x;", WAITIO_ERR_VERSION, "version 7");
    load_fails("WAITIO-PLUGIN version=1;transport=x;", WAITIO_ERR_CONFIG, "cannot load");
    load_fails("WAITIO-PLUGIN version=1;transport=x;for=X;library=libnever.so.9;"
               "rivals=libnot.so.3,libc.so.6;",
               WAITIO_ERR_UNSUPPORTED, "the program runs with libc.so.6");
}

static void test_names(void **state)
{
    (void)state;
    struct wio_config cfg;
    wio_config_defaults(&cfg);
    wio_text(cfg.plugins, sizeof cfg.plugins, "/nowhere/x.so");
    assert_int_equal(wio_outside_load(&cfg, NULL), WAITIO_ERR_CONFIG);
    assert_non_null(strstr(wio_last_error(), "/nowhere/x.so"));
    wio_text(cfg.plugins, sizeof cfg.plugins, ":no_such_thing:");
    assert_int_equal(wio_outside_load(&cfg, NULL), WAITIO_ERR_CONFIG);
    assert_non_null(strstr(wio_last_error(), "no library no_such_thing beside libwaitio"));
    wio_text(cfg.plugins, sizeof cfg.plugins, ":");
    assert_int_equal(wio_outside_load(&cfg, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refuses_what_does_not_fit),
        cmocka_unit_test(test_slots_that_may_be_missing),
        cmocka_unit_test(test_a_part_is_not_for_old_libraries),
        cmocka_unit_test(test_note_is_found_anywhere),
        cmocka_unit_test(test_libraries_that_cannot_be_loaded),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests_name("outside transports", tests, NULL, NULL);
}
