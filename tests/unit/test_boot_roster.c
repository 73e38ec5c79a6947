/* SPDX-License-Identifier: BSD-3-Clause */
/* The service's book-keeping: who may register, who is missing, what happens when somebody goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "boot/roster.h"
#include "os/os.h"

#define S INT64_C(1000000000)

static struct wio_boot_reg reg(uint32_t pbid, uint32_t npb, uint32_t rank, uint32_t nprocs,
                               uint32_t pid)
{
    return (struct wio_boot_reg){.pbid = pbid,
                                 .npb = npb,
                                 .nprocs = nprocs,
                                 .rank = rank,
                                 .pid = pid,
                                 .incarnation = pid * 7 + 1,
                                 .port = (uint16_t)(pbid * 100 + rank)};
}

static int put(struct wio_roster *r, uint32_t client, struct wio_boot_reg g,
               struct wio_boot_refuse *why)
{
    memset(why, 0, sizeof *why);
    return wio_roster_register(r, client, &g, 0, why);
}

static const char *missing(const struct wio_roster *r)
{
    static struct wio_boot_progress m;
    wio_roster_progress(r, &m);
    return m.missing;
}

static void fills_up(void **state)
{
    (void)state;
    struct wio_roster r;
    struct wio_boot_refuse why;
    struct wio_tab_host h = {.identity = 1}, h2 = {.identity = 2};
    wio_roster_init(&r, "j", 0);
    assert_string_equal(missing(&r), "nobody came");
    uint32_t a = wio_roster_client(&r, "alpha"), b = wio_roster_client(&r, "beta");
    assert_true(a > 0 && b > a);
    assert_int_equal(wio_roster_host(&r, &h), 0);
    assert_int_equal(wio_roster_host(&r, &h2), 1);
    assert_int_equal(wio_roster_host(&r, &h), 0);
    assert_int_equal(put(&r, a, reg(1, 5, 3, 8, 10), &why), 0);
    assert_string_equal(missing(&r), "PB 0: nobody came (size unknown); PB 1: ranks 0-2,4-7 of 8; "
                                     "PBs 2-4: nobody came (sizes unknown)");
    for (uint32_t k = 0; k < 7; k++)
        assert_int_equal(put(&r, b, reg(1, 5, k, 8, k == 3 ? 10 : 20 + k), &why), 0);
    assert_string_equal(missing(&r), "PB 0: nobody came (size unknown); PB 1: rank 7 of 8; "
                                     "PBs 2-4: nobody came (sizes unknown)");
    assert_int_equal(r.joined, 7); /* rank 3 came twice, as the same process */
    assert_false(wio_roster_full(&r));
    put(&r, b, reg(1, 5, 7, 8, 30), &why);
    for (uint32_t p = 0; p < 5; p++)
        if (p != 1)
            assert_int_equal(put(&r, b, reg(p, 5, 0, 1, 40 + p), &why), 0);
    assert_true(wio_roster_full(&r));
    assert_string_equal(missing(&r), "");
    void *packed, *image;
    size_t n;
    struct wio_table *t;
    struct wio_image_head h3;
    assert_int_equal(wio_roster_pack(&r, &packed, &n), 0);
    assert_int_equal(wio_unpack_head(packed, n, &h3), 0);
    image = wio_os_alloc((size_t)h3.bytes);
    assert_int_equal(wio_unpack(packed, n, &h3, image), 0);
    wio_os_free(packed);
    assert_int_equal(wio_table_open(image, (size_t)h3.bytes, false, 1, 3, &t), 0);
    assert_true(t->size == 12 && t->me == 4 && t->ep[4].port == 103 && t->nhosts == 2);
    wio_table_free(t);
    wio_roster_free(&r);
}

static void refusals(void **state)
{
    (void)state;
    struct wio_roster r;
    struct wio_boot_refuse why;
    wio_roster_init(&r, "j", 0);
    uint32_t a = wio_roster_client(&r, "alpha"), b = wio_roster_client(&r, "beta");
    assert_int_equal(put(&r, a, reg(1, 3, 0, 4, 10), &why), 0);
    assert_int_equal(put(&r, b, reg(3, 3, 0, 4, 11), &why), WAITIO_ERR_JOIN);
    assert_string_equal(why.text, "WAITIO_PBID=3 must be less than WAITIO_NPB=3");
    assert_int_equal(put(&r, b, reg(0, 2, 0, 4, 11), &why), WAITIO_ERR_JOIN);
    assert_string_equal(
        why.text,
        "WAITIO_NPB=2 of PB 0 rank 0 (host beta, pid 11) disagrees with WAITIO_NPB=3 given by "
        "PB 1 rank 0 (host alpha, pid 10)");
    assert_int_equal(put(&r, b, reg(1, 3, 1, 5, 11), &why), WAITIO_ERR_JOIN);
    assert_non_null(
        strstr(why.text,
               "PB 1 has 4 processes according to rank 0 (host alpha, pid 10), but 5 according to "
               "rank 1 (host beta, pid 11)"));
    assert_int_equal(put(&r, b, reg(1, 3, 0, 4, 11), &why), WAITIO_ERR_JOIN);
    assert_non_null(strstr(why.text, "pid 10 on host alpha came first, then pid 11 on host beta"));
    assert_int_equal(why.flags, 0);
    assert_int_equal(put(&r, b, reg(1, 3, 4, 4, 11), &why), WAITIO_ERR_JOIN);
    assert_int_equal(put(&r, b, reg(1, 3, 0, WIO_BOOT_NPROCS_MAX + 1, 11), &why), WAITIO_ERR_JOIN);
    assert_int_equal(put(&r, b, reg(1, 0, 0, 4, 11), &why), WAITIO_ERR_JOIN);
    assert_int_equal(r.joined, 1);
    wio_roster_free(&r);
    wio_roster_init(&r, "j", 2); /* waitio-serv that knows WAITIO_NPB */
    a = wio_roster_client(&r, "alpha");
    assert_int_equal(put(&r, a, reg(0, 3, 0, 4, 10), &why), WAITIO_ERR_JOIN);
    assert_non_null(strstr(why.text, "started for 2 blocks"));
    wio_roster_free(&r);
}

static void going_and_coming_back(void **state)
{
    (void)state;
    struct wio_roster r;
    struct wio_boot_refuse why;
    char text[200];
    wio_roster_init(&r, "j", 0);
    uint32_t a = wio_roster_client(&r, "alpha");
    put(&r, a, reg(0, 1, 0, 2, 10), &why);
    put(&r, a, reg(0, 1, 1, 2, 11), &why);
    assert_true(wio_roster_full(&r));
    wio_roster_client_gone(&r, a, 10 * S);
    assert_false(wio_roster_full(&r));
    assert_int_equal(wio_roster_next_ns(&r, 2 * S), 12 * S);
    assert_false(wio_roster_lost(&r, 11 * S, 2 * S, text, sizeof text));
    uint32_t b = wio_roster_client(&r, "alpha");
    assert_int_equal(put(&r, b, reg(0, 1, 1, 2, 11), &why), 0); /* under a new leader */
    assert_true(wio_roster_lost(&r, 13 * S, 2 * S, text, sizeof text));
    assert_string_equal(text, "PB 0 rank 0 (host alpha, pid 10) died or gave up while joining");
    assert_int_equal(put(&r, b, reg(0, 1, 0, 2, 99), &why),
                     0);                   /* another process may take the place */
    wio_roster_client_gone(&r, a, 14 * S); /* twice does no harm */
    assert_true(wio_roster_full(&r));
    struct wio_boot_leave l = {0, 0, 99 * 7 + 1}, not_its = {0, 1, 5}, nowhere = {7, 7, 7};
    wio_roster_leave(&r, b, &not_its, 20 * S);
    wio_roster_leave(&r, b, &nowhere, 20 * S);
    assert_int_equal(r.joined, 2);
    wio_roster_leave(&r, b, &l, 20 * S);
    assert_int_equal(r.joined, 1);
    wio_roster_free(&r);
}

static void delivery(void **state)
{
    (void)state;
    struct wio_roster r;
    struct wio_boot_refuse why;
    char text[200];
    void *image;
    size_t n;
    wio_roster_init(&r, "j", 0);
    uint32_t a = wio_roster_client(&r, "alpha"), b = wio_roster_client(&r, "beta");
    put(&r, a, reg(0, 1, 0, 2, 10), &why);
    put(&r, b, reg(0, 1, 1, 2, 11), &why);
    assert_int_equal(wio_roster_pack(&r, &image, &n), 0);
    wio_os_free(image);
    assert_false(wio_roster_delivered(&r));
    wio_roster_acked(&r, a);
    wio_roster_client_gone(&r, a, S);
    wio_roster_client_gone(&r, b, S); /* died before it had the table: it may come again */
    assert_false(wio_roster_delivered(&r));
    uint32_t c = wio_roster_client(&r, "beta");
    assert_int_equal(put(&r, c, reg(0, 1, 1, 2, 12), &why), WAITIO_ERR_JOIN); /* but nobody else */
    assert_int_equal(why.flags, WIO_BOOT_RETRY);
    assert_non_null(strstr(why.text, "already complete"));
    assert_int_equal(put(&r, c, reg(0, 1, 1, 2, 11), &why), 0);
    assert_false(wio_roster_lost(&r, 9 * S, S, text, sizeof text));
    assert_false(wio_roster_delivered(&r));
    wio_roster_acked(&r, c);
    assert_true(wio_roster_delivered(&r));
    wio_roster_free(&r);
}

static void long_lists_are_cut(void **state)
{
    (void)state;
    struct wio_roster r;
    struct wio_boot_refuse why;
    wio_roster_init(&r, "j", 0);
    uint32_t a = wio_roster_client(&r, "alpha");
    for (uint32_t k = 0; k < 4000; k += 2)
        put(&r, a, reg(0, 2, k, 4000, k), &why);
    const char *text = missing(&r);
    assert_true(strlen(text) <= WIO_BOOT_TEXT);
    assert_string_equal(text + strlen(text) - 4, " ...");
    wio_roster_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_up),
        cmocka_unit_test(refusals),
        cmocka_unit_test(going_and_coming_back),
        cmocka_unit_test(delivery),
        cmocka_unit_test(long_lists_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
