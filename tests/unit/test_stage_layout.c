/* SPDX-License-Identifier: BSD-3-Clause */
/* Staging's pure rooms: boxes, layouts, plans; and bytes of other processes that are malformed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stage/plan.h"
#include "waitio_errors.h"
#include "waitio_stage.h"

static unsigned seed = 12345;

static unsigned dice(unsigned sides)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 16) % sides;
}

static uint64_t volume(const struct wio_stg_box *b)
{
    uint64_t v;

    assert_true(wio_stg_box_volume(b, &v));
    return v;
}

static void boxes_meet_and_lie_inside(void **state)
{
    const uint64_t a0[] = {1, 2}, an[] = {4, 4}, b0[] = {3, 0}, bn[] = {5, 3}, shape[] = {5, 6};
    struct wio_stg_box a = wio_stg_box(2, a0, an), b = wio_stg_box(2, b0, bn), c;
    const uint64_t huge[] = {UINT64_MAX, 1};
    uint64_t v;

    (void)state;
    assert_true(wio_stg_box_meet(&a, &b, &c));
    assert_true(c.start[0] == 3 && c.count[0] == 2 && c.start[1] == 2 && c.count[1] == 1);
    assert_true(wio_stg_box_inside(&a, shape) && !wio_stg_box_inside(&b, shape));
    assert_true(wio_stg_box_within(&c, &a) && !wio_stg_box_within(&b, &a));
    b = wio_stg_box(2, huge, an); /* beyond all counting */
    assert_false(wio_stg_box_inside(&b, shape) || wio_stg_box_within(&b, &a));
    b = wio_stg_box(2, NULL, huge);
    assert_false(wio_stg_box_volume(&b, &v));
}

/* A random box within @p outer, not empty. */
static struct wio_stg_box part_of(const struct wio_stg_box *outer)
{
    struct wio_stg_box b = {.n = outer->n};

    for (int d = 0; d < b.n; d++) {
        unsigned first = dice((unsigned)outer->count[d]);

        b.start[d] = outer->start[d] + first;
        b.count[d] = 1 + dice((unsigned)outer->count[d] - first);
    }
    return b;
}

static struct wio_stg_box some_box(int n)
{
    struct wio_stg_box b = {.n = n};

    for (int d = 0; d < n; d++) {
        b.start[d] = dice(5);
        b.count[d] = 1 + dice(6);
    }
    return b;
}

/* Number of a point in a box, or where it is no point of it: -1. */
static int64_t number(const struct wio_stg_box *b, const uint64_t *at)
{
    int64_t n = 0;

    for (int d = 0; d < b->n; d++) {
        if (at[d] < b->start[d] || at[d] >= b->start[d] + b->count[d])
            return -1;
        n = n * (int64_t)b->count[d] + (int64_t)(at[d] - b->start[d]);
    }
    return n;
}

static void point(const struct wio_stg_box *b, uint64_t n, uint64_t *at)
{
    for (int d = b->n - 1; d >= 0; d--) {
        at[d] = b->start[d] + n % b->count[d];
        n /= b->count[d];
    }
}

/* Copies between boxes of up to five dimensions, element by element. */
static void copies_as_element_by_element(void **state)
{
    (void)state;
    for (int round = 0; round < 500; round++) {
        struct wio_stg_box from = some_box(1 + (int)dice(5)), what = part_of(&from);
        struct wio_stg_box to = what;
        uint64_t n, at[WIO_STG_DIMS], first;
        int *a, *b;

        for (int d = 0; d < to.n; d++) { /* larger than what is copied */
            unsigned before = dice((unsigned)to.start[d] + 1);

            to.start[d] -= before;
            to.count[d] += before + dice(3);
        }
        n = volume(&from);
        a = malloc(n * sizeof *a);
        b = calloc(volume(&to), sizeof *b);
        for (uint64_t i = 0; i < n; i++)
            a[i] = (int)i + 1;
        wio_stg_box_copy(sizeof *a, &from, a, &to, b, &what);
        for (uint64_t i = 0; i < volume(&to); i++) {
            point(&to, i, at);
            assert_int_equal(b[i], number(&what, at) >= 0 ? number(&from, at) + 1 : 0);
        }
        if (wio_stg_box_solid(&from, &what, &first)) {
            wio_stg_box_copy(sizeof *a, &from, a, &what, b, &what);
            assert_memory_equal(a + first, b, volume(&what) * sizeof *a);
        }
        free(a);
        free(b);
    }
}

/* ---- layouts and plans ---------------------------------------------------------------------- */

/* A part with one array "v" that has one block. */
static struct wio_stg_bytes part(int type, const uint64_t *shape, uint64_t start, uint64_t count)
{
    struct wio_stg_bytes b = {NULL, 0, 0, false};
    const uint64_t s[] = {start, 0}, n[] = {count, shape[1]};
    struct wio_stg_box box = wio_stg_box(2, s, n);

    wio_stg_put_u32(&b, 1);
    wio_stg_write_array(&b, "v", type, WAITIO_STAGE_GLOBAL, "", 2, shape, 1);
    wio_stg_write_box(&b, &box);
    return b;
}

static int add(struct wio_stg_layout *l, uint32_t writer, struct wio_stg_bytes b)
{
    int rc = wio_stg_layout_add(l, writer, b.at, b.n);

    wio_stg_bytes_free(&b);
    return rc;
}

static void writers_must_agree(void **state)
{
    const uint64_t shape[] = {10, 3}, other[] = {11, 3};
    struct wio_stg_layout l = {NULL, 0, 0, {NULL, 0, 0}};

    (void)state;
    assert_int_equal(add(&l, 0, part(WAITIO_STAGE_DOUBLE, shape, 0, 4)), 0);
    assert_int_equal(add(&l, 1, part(WAITIO_STAGE_DOUBLE, shape, 4, 6)), 0);
    assert_int_equal(wio_stg_layout_check(&l), 0);
    assert_int_equal(add(&l, 2, part(WAITIO_STAGE_DOUBLE, other, 4, 6)), WAITIO_ERR_ARG);
    assert_non_null(strstr(wio_stg_why(), "'v': writer 0 has a global array of double"));
    assert_int_equal(add(&l, 2, part(WAITIO_STAGE_INT32, shape, 4, 6)), WAITIO_ERR_ARG);
    assert_int_equal(add(&l, 2, part(WAITIO_STAGE_DOUBLE, shape, 9, 1)), 0);
    assert_int_equal(wio_stg_layout_check(&l), WAITIO_ERR_ARG);
    assert_non_null(strstr(wio_stg_why(), "writer 1 and writer 2 have both put [9:10, 0:3]"));
    assert_int_equal(add(&l, 3, part(WAITIO_STAGE_DOUBLE, shape, 9, 2)), WAITIO_ERR_PROTOCOL);
    wio_stg_layout_free(&l);
}

/* A layout of one 3-d array, whose block k is the k-th of @p boxes, put by writer k. */
static struct wio_stg_layout layout_of(const uint64_t *shape, const struct wio_stg_box *boxes,
                                       uint32_t n)
{
    struct wio_stg_layout l = {NULL, 0, 0, {NULL, 0, 0}};

    for (uint32_t k = 0; k < n; k++) {
        struct wio_stg_bytes b = {NULL, 0, 0, false};

        wio_stg_put_u32(&b, 1);
        wio_stg_write_array(&b, "v", WAITIO_STAGE_DOUBLE, WAITIO_STAGE_GLOBAL, "", 3, shape, 1);
        wio_stg_write_box(&b, &boxes[k]);
        assert_int_equal(add(&l, k, b), 0);
    }
    return l;
}

static struct wio_stg_box brick(uint64_t x, uint64_t y, uint64_t z, uint64_t nx, uint64_t ny,
                                uint64_t nz)
{
    const uint64_t start[] = {x, y, z}, count[] = {nx, ny, nz};

    return wio_stg_box(3, start, count);
}

/* Also of many blocks that begin at the same place in all dimensions but the last. Guard: where
 * looking ends after some comparisons, the overlap at the end is not found. */
static void overlaps_of_many_blocks_are_found(void **state)
{
    enum { MANY = 20000 };
    static struct wio_stg_box boxes[MANY + 1];
    const uint64_t shape[] = {4, 4, 2 * MANY};
    struct wio_stg_layout l;

    (void)state;
    for (uint64_t k = 0; k < MANY; k++)
        boxes[k] = brick(0, 0, 2 * (MANY - 1 - k), 4, 4, 2);
    l = layout_of(shape, boxes, MANY);
    assert_int_equal(wio_stg_layout_check(&l), 0);
    wio_stg_layout_free(&l);
    boxes[MANY] = brick(3, 3, 2 * MANY - 1, 1, 1, 1);
    l = layout_of(shape, boxes, MANY + 1);
    assert_int_equal(wio_stg_layout_check(&l), WAITIO_ERR_ARG);
    assert_non_null(strstr(wio_stg_why(), "writer 0 and writer 20000 have both put [3:4, 3:4, "));
    wio_stg_layout_free(&l);
}

/* Random boxes, some empty, against all pairs. */
static void overlaps_are_those_of_all_pairs(void **state)
{
    enum { MOST = 200, EDGE = 40 };
    static struct wio_stg_box boxes[MOST];
    const uint64_t shape[] = {EDGE, EDGE, EDGE};
    unsigned found = 0, none = 0;

    (void)state;
    for (int round = 0; round < 400; round++) {
        uint32_t n = 2 + dice(MOST - 1), longest = 1 + dice(round % 2 ? 3 : 12);
        bool meet = false;
        struct wio_stg_layout l;

        for (uint32_t k = 0; k < n; k++) {
            struct wio_stg_box common, b;
            bool free_place = false;

            for (int tries = 0; !free_place && tries < (round % 3 == 0 ? 1 : 50); tries++) {
                b = brick(dice(EDGE - longest), dice(EDGE - longest), dice(EDGE - longest),
                          dice(longest + 1), dice(longest + 1), dice(longest + 1));
                free_place = true;
                for (uint32_t i = 0; free_place && i < k; i++)
                    free_place = !wio_stg_box_meet(&boxes[i], &b, &common);
            }
            meet = meet || !free_place;
            boxes[k] = b;
        }
        l = layout_of(shape, boxes, n);
        assert_int_equal(wio_stg_layout_check(&l), meet ? WAITIO_ERR_ARG : 0);
        wio_stg_layout_free(&l);
        found += meet;
        none += !meet;
    }
    assert_true(found > 20 && none > 20);
}

static void plans_find_all_and_name_what_is_missing(void **state)
{
    const uint64_t shape[] = {10, 3}, start[] = {2, 1}, count[] = {5, 2}, far[] = {8, 1};
    struct wio_stg_layout l = {NULL, 0, 0, {NULL, 0, 0}}, copy;
    struct wio_stg_want want = {0, -1, wio_stg_box(2, start, count), NULL};
    struct wio_stg_plan plan = {NULL, 0, 0};
    struct wio_stg_bytes b = {NULL, 0, 0, false};

    (void)state;
    assert_int_equal(add(&l, 0, part(WAITIO_STAGE_DOUBLE, shape, 0, 4)), 0);
    assert_int_equal(add(&l, 1, part(WAITIO_STAGE_DOUBLE, shape, 4, 5)), 0);
    wio_stg_layout_write(&l, &b);
    assert_int_equal(wio_stg_layout_read(&copy, 2, b.at, b.n), 0);
    assert_int_equal(wio_stg_plan_make(&plan, &copy, &want, 1), 0);
    assert_int_equal(plan.n, 2);
    assert_int_equal(plan.at[0].writer, 0);
    assert_int_equal(plan.at[0].box.count[0], 2);
    assert_int_equal(plan.at[1].box.start[0], 4);
    assert_int_equal(volume(&plan.at[0].box) + volume(&plan.at[1].box), 10);
    want.box = wio_stg_box(2, far, count);
    want.box.count[0] = 2; /* row 9 is nobody's */
    assert_int_equal(wio_stg_plan_make(&plan, &copy, &want, 1), WAITIO_ERR_ARG);
    assert_non_null(strstr(wio_stg_why(), "have put 2 elements of 4"));
    wio_stg_layout_free(&copy);
    assert_int_equal(wio_stg_layout_read(&copy, 1, b.at, b.n), WAITIO_ERR_PROTOCOL);
    wio_stg_layout_free(&copy);
    wio_stg_layout_free(&l);
    wio_stg_plan_free(&plan);
    wio_stg_bytes_free(&b);
}

/* Each truncation and each changed byte of a layout is read without harm. */
static void malformed_layouts_do_no_harm(void **state)
{
    const uint64_t shape[] = {10, 3};
    struct wio_stg_layout l = {NULL, 0, 0, {NULL, 0, 0}}, copy;
    struct wio_stg_bytes b = {NULL, 0, 0, false};
    struct wio_stg_value v = {"units", WAITIO_STAGE_STRING, 0, 0, 1, 1, (unsigned char *)"K"};

    (void)state;
    assert_int_equal(add(&l, 0, part(WAITIO_STAGE_DOUBLE, shape, 0, 4)), 0);
    wio_stg_layout_write(&l, &b);
    wio_stg_write_value(&b, &v);
    for (size_t n = 0; n < b.n; n++) {
        unsigned char *part_of_it = malloc(n + 1); /* its end is where a sanitizer looks */

        memcpy(part_of_it, b.at, n);
        (void)wio_stg_layout_read(&copy, 1, part_of_it, n);
        wio_stg_layout_free(&copy);
        free(part_of_it);
    }
    for (size_t i = 0; i < b.n; i++)
        for (int bit = 0; bit < 8; bit++) {
            b.at[i] ^= (unsigned char)(1u << bit);
            (void)wio_stg_layout_read(&copy, 1, b.at, b.n);
            wio_stg_layout_free(&copy);
            b.at[i] ^= (unsigned char)(1u << bit);
        }
    assert_int_equal(wio_stg_layout_read(&copy, 1, b.at, b.n), 0);
    assert_string_equal((char *)copy.attributes.at[0].data, "K");
    wio_stg_layout_free(&copy);
    wio_stg_layout_free(&l);
    wio_stg_bytes_free(&b);
}

/* A reader undoes one operator of a variable, so all writers must choose the same. */
static void writers_agree_about_operators(void **state)
{
    const uint64_t shape[] = {8};
    struct wio_stg_layout l = {NULL, 0, 0, {NULL, 0, 0}};
    int rc = 0;

    (void)state;
    for (uint32_t w = 0; w < 3; w++) {
        const uint64_t start[] = {2 * w}, count[] = {2};
        struct wio_stg_box box = wio_stg_box(1, start, count);
        struct wio_stg_bytes b = {NULL, 0, 0, false};

        wio_stg_put_u32(&b, 1);
        wio_stg_write_array(&b, "v", WAITIO_STAGE_FLOAT, WAITIO_STAGE_GLOBAL,
                            w < 2 ? "zfp rate=8" : "", 1, shape, 1);
        wio_stg_write_box(&b, &box);
        rc = wio_stg_layout_add(&l, w, b.at, b.n);
        assert_int_equal(rc, w < 2 ? 0 : WAITIO_ERR_ARG);
        wio_stg_bytes_free(&b);
    }
    assert_non_null(strstr(wio_stg_why(), "operator zfp rate=8, writer 2"));
    wio_stg_layout_free(&l);
}

static void the_lowest_writers_value_counts(void **state)
{
    double two = 2, one = 1;
    struct wio_stg_value a = {"t", WAITIO_STAGE_DOUBLE, 0, 5, 1, 8, (unsigned char *)&two};
    struct wio_stg_value c = {"t", WAITIO_STAGE_DOUBLE, 0, 3, 1, 8, (unsigned char *)&one};
    struct wio_stg_bytes b = {NULL, 0, 0, false};
    struct wio_stg_values all = {NULL, 0, 0};

    (void)state;
    wio_stg_write_value(&b, &a);
    wio_stg_write_value(&b, &c);
    wio_stg_write_value(&b, &a);
    assert_int_equal(wio_stg_values_add(&all, b.at, b.n), 0);
    assert_int_equal(all.n, 1);
    assert_memory_equal(all.at[0].data, &one, 8);
    wio_stg_values_swap(&all);
    wio_stg_values_swap(&all);
    assert_memory_equal(wio_stg_values_find(&all, "t")->data, &one, 8);
    c.data = (unsigned char *)&two; /* put once more: the last counts */
    b.n = 0;
    wio_stg_write_value(&b, &c);
    assert_int_equal(wio_stg_values_add(&all, b.at, b.n), 0);
    assert_int_equal(all.n, 1);
    assert_memory_equal(all.at[0].data, &two, 8);
    wio_stg_values_free(&all);
    wio_stg_bytes_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_meet_and_lie_inside),
        cmocka_unit_test(copies_as_element_by_element),
        cmocka_unit_test(writers_must_agree),
        cmocka_unit_test(overlaps_of_many_blocks_are_found),
        cmocka_unit_test(overlaps_are_those_of_all_pairs),
        cmocka_unit_test(plans_find_all_and_name_what_is_missing),
        cmocka_unit_test(malformed_layouts_do_no_harm),
        cmocka_unit_test(writers_agree_about_operators),
        cmocka_unit_test(the_lowest_writers_value_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
