/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups: every way to make one, ranks both ways, message spaces, and each error with its text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "group/group.h"

enum { NPB = 4 };
static const uint32_t sizes[NPB] = {3, 1, 4, 2}, bases[NPB] = {0, 3, 4, 8};
/* I am rank 1 of PB 2. */
static const struct wio_table table = {
    .npb = NPB, .size = 10, .me = 5, .pb_size = sizes, .pb_base = bases};

static int all(int pbid, int n)
{
    (void)pbid;
    (void)n;
    return 1;
}
static int odd(int pbid, int n)
{
    (void)pbid;
    return n % 2;
}
static int none(int pbid, int n)
{
    (void)pbid;
    (void)n;
    return 0;
}

static struct waitio_group *filtered(int gid, wio_group_filter_fn *f, const int *order)
{
    struct waitio_group *g = NULL;
    assert_int_equal(wio_group_from_filters(&table, gid, f, order, &g), 0);
    return g;
}

static void check_members(const struct waitio_group *g, const uint32_t *want, size_t n)
{
    assert_int_equal(g->size, n);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(wio_group_member(g, i), want[i]);
        assert_int_equal(wio_group_rank_of(g, want[i]), i);
    }
    for (uint32_t r = 0; r < 12; r++) {
        int64_t at = -1;
        for (uint32_t i = 0; i < n; i++)
            if (want[i] == r)
                at = i;
        assert_int_equal(wio_group_rank_of(g, r), at);
    }
    assert_int_equal(g->my_rank, wio_group_rank_of(g, 5));
    assert_int_not_equal(g->space, WIO_SPACE_NONE);
}

static void filters_and_order(void **unused)
{
    (void)unused;
    wio_group_filter_fn f[NPB] = {all, all, all, all}, mixed[NPB] = {odd, all, NULL, none};
    const int up[NPB] = {1, 2, 3, 4}, back[NPB] = {40, 30, 2, 1}, some[NPB] = {0, 2, 1, 0};
    const uint32_t everybody[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    const uint32_t backwards[] = {8, 9, 4, 5, 6, 7, 3, 0, 1, 2};
    const uint32_t two[] = {4, 5, 6, 7, 3}, few[] = {1, 3};
    struct waitio_group *g = filtered(0, f, up);
    check_members(g, everybody, 10);
    assert_null(g->members); /* consecutive: no list needed */
    wio_group_destroy(g);
    g = filtered(0, f, back);
    check_members(g, backwards, 10);
    wio_group_destroy(g);
    g = filtered(0, f, some);
    check_members(g, two, 5);
    wio_group_destroy(g);
    g = filtered(0, mixed, up);
    check_members(g, few, 2);
    assert_int_equal(g->my_rank, -1);
    wio_group_destroy(g);
}

static void rank_lists(void **unused)
{
    (void)unused;
    int a[] = {2, 0, -1}, c[] = {3, 1, 2, -7}, empty[] = {-1};
    int *lists[NPB] = {a, empty, c, NULL};
    const int order[NPB] = {2, 3, 1, 4};
    const uint32_t want[] = {7, 5, 6, 2, 0};
    struct waitio_group *g = NULL;
    assert_int_equal(wio_group_from_lists(&table, 0, lists, order, &g), 0);
    check_members(g, want, 5);
    wio_group_destroy(g);
}

static void ranges(void **unused)
{
    (void)unused;
    const uint32_t pb2[] = {4, 5, 6, 7};
    struct waitio_group *g = NULL;
    assert_int_equal(wio_group_from_range(&table, 3, 4, 4, &g), 0);
    check_members(g, pb2, 4);
    assert_int_equal(g->gid, 3);
    wio_group_destroy(g);
    wio_group_destroy(NULL); /* harmless */
}

static void without_members(void **unused)
{
    (void)unused;
    wio_group_filter_fn f[NPB] = {none, none, none, none};
    const int up[NPB] = {1, 2, 3, 4};
    struct waitio_group *g = filtered(0, f, up);
    check_members(g, NULL, 0);
    wio_group_destroy(g);
}

static void spaces(void **unused)
{
    (void)unused;
    wio_group_filter_fn f[NPB] = {all, all, all, all};
    const int up[NPB] = {1, 2, 3, 4}, gaps[NPB] = {5, 10, 11, 90}, back[NPB] = {4, 3, 2, 1};
    struct waitio_group *a = filtered(0, f, up), *b = filtered(0, f, gaps), *c = filtered(1, f, up),
                        *d = filtered(0, f, back), *e = NULL, *h = NULL;
    assert_int_equal(wio_group_from_range(&table, 0, 0, 10, &e), 0);
    assert_int_equal(wio_group_from_range(&table, 0, 0, 9, &h), 0);
    assert_int_equal(a->space, b->space);     /* the same group made twice is one space */
    assert_int_equal(a->space, e->space);     /* however it was made */
    assert_int_not_equal(a->space, c->space); /* another id */
    assert_int_not_equal(a->space, d->space); /* another order */
    assert_int_not_equal(a->space, h->space); /* another member */
    struct waitio_group *every[] = {a, b, c, d, e, h};
    for (size_t i = 0; i < sizeof every / sizeof *every; i++)
        wio_group_destroy(every[i]);
}

/* The call fails with ARG, leaves no group and says these words. */
static void refused(int rc, const struct waitio_group *g, const char *one, const char *two)
{
    assert_int_equal(rc, WAITIO_ERR_ARG);
    assert_null(g);
    if (strstr(wio_last_error(), one) == NULL || strstr(wio_last_error(), two) == NULL)
        fail_msg("\"%s\" does not say \"%s\" and \"%s\"", wio_last_error(), one, two);
}

static void errors_name_what_is_wrong(void **unused)
{
    (void)unused;
    wio_group_filter_fn f[NPB] = {all, all, all, all};
    const int up[NPB] = {1, 2, 3, 4}, clash[NPB] = {1, 7, 2, 7}, negative[NPB] = {1, 2, -3, 4};
    int a[] = {0, 3, -1}, twice[] = {1, 0, 1, -1};
    int *outside[NPB] = {a, NULL, NULL, NULL}, *doubled[NPB] = {NULL, NULL, twice, NULL};
    struct waitio_group *g = NULL;
    refused(wio_group_from_filters(&table, 0, NULL, up, &g), g, "func", "NULL");
    refused(wio_group_from_lists(&table, 0, NULL, up, &g), g, "rank", "NULL");
    refused(wio_group_from_filters(&table, 0, f, NULL, &g), g, "order", "NULL");
    refused(wio_group_from_filters(&table, 0, f, clash, &g), g, "PB 1", "PB 3");
    refused(wio_group_from_filters(&table, 0, f, clash, &g), g, "7", "distinct");
    refused(wio_group_from_filters(&table, 0, f, negative, &g), g, "-3", "order[2]");
    refused(wio_group_from_lists(&table, 0, outside, up, &g), g, "rank[0][1] is 3", "3 processes");
    refused(wio_group_from_lists(&table, 0, doubled, up, &g), g, "rank 1 of PB 2", "twice");
    /* Equal positions matter only between PBs that take part. */
    f[3] = NULL;
    assert_int_equal(wio_group_from_filters(&table, 0, f, clash, &g), 0);
    wio_group_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_and_order),
        cmocka_unit_test(rank_lists),
        cmocka_unit_test(ranges),
        cmocka_unit_test(without_members),
        cmocka_unit_test(spaces),
        cmocka_unit_test(errors_name_what_is_wrong),
    };
    return cmocka_run_group_tests_name("group", tests, NULL, NULL);
}
