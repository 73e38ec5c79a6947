/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums over table entries: values, fill, rotation, and that their order is that of the sources. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "coupler/base.h"
#include "coupler/order.h"
#include "coupler/remap.h"
#include "coupler/stretch.h"

static const struct wio_cpl_gaps FILLED = {WIO_CPL_MASKED_SCALE, WIO_CPL_FILL, WIO_CPL_FILL};
static const struct wio_cpl_gaps ZERO = {WIO_CPL_MASKED_SCALE, 0, WIO_CPL_FILL};

static void sums_in_order_of_sources(void **state)
{
    /* 1e16 + 1 - 1e16 depends on the order; slots are numbered against it. */
    struct wio_cpl_entry entries[] = {
        {1, 30, 0, 1, 0, 0}, {1, 10, 2, 1, 0, 0}, {1, 20, 1, 1, 0, 0}, {0, 20, 1, 2, 0, 0}};
    const double from[] = {1, -1e16, 1e16};
    double to[3];
    struct wio_cpl_remap r;

    (void)state;
    assert_int_equal(wio_cpl_remap_sort(entries, 4), 0);
    assert_int_equal(wio_cpl_remap_make(&r, entries, 4, 3, 0), 0);
    assert_int_equal(r.rows, 2);
    wio_cpl_remap_layers(&r, from, 0, to, 3, 1, &FILLED);
    assert_true(to[0] == -2e16 && to[1] == (1e16 - 1e16) + 1 && to[2] == WIO_CPL_FILL);
    wio_cpl_remap_free(&r);
}

static void takes_equal_pairs_by_coefficient(void **state)
{
    struct wio_cpl_entry a[] = {{0, 1, 0, 1e16, 0, 0}, {0, 1, 0, -1e16, 0, 0}, {0, 1, 0, 1, 0, 0}};
    struct wio_cpl_entry b[] = {{0, 1, 0, 1, 0, 0}, {0, 1, 0, 1e16, 0, 0}, {0, 1, 0, -1e16, 0, 0}};

    (void)state;
    assert_int_equal(wio_cpl_remap_sort(a, 3), 0);
    assert_int_equal(wio_cpl_remap_sort(b, 3), 0);
    assert_memory_equal(a, b, sizeof a);
}

static void turns_vectors(void **state)
{
    struct wio_cpl_entry entries[] = {{0, 1, 0, 9, 0.6, 0.8}, {0, 2, 1, 9, 1, 0}};
    const double u[] = {1, 10}, v[] = {2, 20};
    double to_u[2], to_v[2];
    struct wio_cpl_remap r;

    (void)state;
    assert_int_equal(wio_cpl_remap_make(&r, entries, 2, 2, 1), 0);
    wio_cpl_remap_turn(&r, u, v, to_u, to_v, 2, &ZERO);
    assert_true(to_u[0] == 0.6 * 1 - 0.8 * 2 + 10 && to_v[0] == 0.8 * 1 + 0.6 * 2 + 20);
    assert_true(to_u[1] == 0 && to_v[1] == 0);
    wio_cpl_remap_free(&r);
}

/* Row 0 has lost half of its weight, row 1 all its sources, row 2 none, row 3 what cannot be
 * scaled. */
static void leaves_out_masked_sources(void **state)
{
    enum { NO = WIO_CPL_NO_SLOT };
    struct wio_cpl_entry entries[] = {
        {0, 1, 0, 0.25, 1, 0}, {0, 2, NO, 0.5, 1, 0}, {0, 3, 1, 0.25, 1, 0},
        {1, 2, NO, 1, 1, 0},   {2, 1, 0, 0.5, 1, 0},  {2, 3, 1, 0.5, 1, 0},
        {3, 1, 0, 1, 1, 0},    {3, 2, NO, 5, 1, 0},   {3, 3, 1, -1, 1, 0},
    };
    const double from[] = {4, 8};
    const struct {
        enum wio_cpl_masked masked;
        double to[4];
    } rows[] = {
        {WIO_CPL_MASKED_SCALE, {6, 7, 6, -9}},
        {WIO_CPL_MASKED_FILL, {-9, 7, 6, -9}},
        {WIO_CPL_MASKED_PART, {3, 7, 6, -4}},
    };
    struct wio_cpl_remap r;

    (void)state;
    wio_cpl_remap_sort(entries, 9);
    assert_int_equal(wio_cpl_remap_make(&r, entries, 9, 2, 1), 0);
    assert_int_equal(r.rows, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct wio_cpl_gaps gaps = {rows[i].masked, 7, -9};
        double to[4], to_v[4];

        wio_cpl_remap_layers(&r, from, 0, to, 4, 1, &gaps);
        assert_memory_equal(to, rows[i].to, sizeof to);
        wio_cpl_remap_turn(&r, from, from, to, to_v, 4, &gaps);
        assert_true(to[1] == 7 && to[2] == 12 && to_v[2] == 12);
        assert_true(to[0] == (i == 0 ? 24 : i == 1 ? -9 : 12));
    }
    wio_cpl_remap_free(&r);
}

static void needs_no_entries(void **state)
{
    double to[2] = {5, 5};
    struct wio_cpl_remap r;

    (void)state;
    assert_int_equal(wio_cpl_remap_make(&r, NULL, 0, 0, 1), 0);
    wio_cpl_remap_layers(&r, NULL, 0, to, 2, 1, &FILLED);
    assert_true(to[0] == WIO_CPL_FILL && to[1] == WIO_CPL_FILL);
    wio_cpl_remap_layers(&r, NULL, 0, to, 0, 1, &FILLED);
    wio_cpl_remap_free(&r);
}

static double random_number(void)
{
    static uint64_t state = 7;

    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(state >> 11) / (double)((int64_t)1 << 52) - 1;
}

enum { POINTS = 300, SOURCES = 170 };

/* Rows of `each` entries (0: of 0 to 6), in or out of place; all coefficients 1 where so. With step
 * 1 a row's sources follow those of the row before, but for some rows. */
static size_t make_shape(size_t each, bool in_place, bool ones, int64_t step,
                         struct wio_cpl_entry *entries)
{
    size_t n = 0;

    for (int64_t row = 0; row < POINTS; row++)
        for (size_t i = 0; i < (each > 0 ? each : (size_t)(row % 7)); i++) {
            int64_t source = (row * step + (int64_t)i * 7) % SOURCES;

            entries[n++] =
                (struct wio_cpl_entry){in_place ? row : POINTS - 1 - row, source + 1, source,
                                       ones ? 1 : random_number(),        0,          0};
        }
    return n;
}

static void assert_order(const struct wio_cpl_entry *found, size_t n)
{
    for (size_t i = 1; i < n; i++)
        assert_true(found[i - 1].to < found[i].to ||
                    (found[i - 1].to == found[i].to && found[i - 1].source < found[i].source));
}

/* The sums, one entry after the other. */
static void add_all(const struct wio_cpl_entry *found, size_t n, const double *from, double *to)
{
    for (int i = 0; i < POINTS; i++)
        to[i] = WIO_CPL_FILL;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || found[i - 1].to != found[i].to)
            to[found[i].to] = 0;
        to[found[i].to] += found[i].coef * from[found[i].slot];
    }
}

static void one_shape(size_t each, bool in_place, bool ones, int64_t step)
{
    static struct wio_cpl_entry entries[POINTS * 7], found[POINTS * 7];
    double from[SOURCES], to[POINTS], wanted[POINTS];
    struct wio_cpl_remap r;
    size_t n = make_shape(each, in_place, ones, step, entries);

    for (int i = 0; i < SOURCES; i++)
        from[i] = i % 9 == 0 ? -0.0 : random_number() * (i % 3 == 0 ? 1e9 : 1);
    for (size_t i = 0; i < n; i++) /* any order */
        found[i] = entries[i * 1009 % n];
    assert_int_equal(wio_cpl_remap_sort(found, n), 0);
    assert_order(found, n);
    add_all(found, n, from, wanted);
    assert_int_equal(wio_cpl_remap_make(&r, found, n, SOURCES, 0), 0);
    wio_cpl_remap_layers(&r, from, 0, to, POINTS, 1, &FILLED);
    assert_memory_equal(to, wanted, sizeof to);
    wio_cpl_remap_free(&r);
}

static void sums_alike_in_all_shapes(void **state)
{
    (void)state;
    for (size_t each = 0; each < 7; each++)
        for (int k = 0; k < 8; k++)
            one_shape(each, k % 2 == 0, k % 4 > 1, k < 4 ? 5 : 1);
}

/* Rows that are shifted, and a few between that are not; three layers that lie apart. */
static void sums_stretches_of_all_layers(void **state)
{
    enum { LAYERS = 3, APART = SOURCES + 5 };
    static struct wio_cpl_entry entries[POINTS * 7];
    static double from[LAYERS * APART], to[LAYERS * POINTS], wanted[POINTS];
    struct wio_cpl_remap r;
    size_t n = make_shape(2, true, false, 1, entries);
    bool any = false, equal = false;

    (void)state;
    for (size_t i = 0; i < n; i++) { /* equal coefficients in the last rows alone */
        entries[i].coef = entries[i].to < POINTS / 2 ? entries[i].coef : 0.1 + (double)(i % 2);
        if (entries[i].to > 40 && entries[i].to % 29 < 5)
            entries[i].slot = entries[i].source = (entries[i].source * 31) % SOURCES;
    }
    for (size_t i = 0; i < LAYERS * APART; i++)
        from[i] = random_number();
    assert_int_equal(wio_cpl_remap_sort(entries, n), 0);
    assert_int_equal(wio_cpl_remap_make(&r, entries, n, SOURCES, 0), 0);
    assert_true(r.n_stretches > 3);
    for (size_t i = 0; i < r.n_stretches; i++) {
        any |= r.stretches[i].shifted && !r.stretches[i].uniform && r.stretches[i].rows > 20;
        equal |= r.stretches[i].uniform && r.stretches[i].rows > 20;
    }
    assert_true(any && equal);
    wio_cpl_remap_layers(&r, from, APART, to, POINTS, LAYERS, &FILLED);
    for (size_t k = 0; k < LAYERS; k++) {
        add_all(entries, n, from + k * APART, wanted);
        assert_memory_equal(to + k * POINTS, wanted, sizeof wanted);
    }
    wio_cpl_remap_free(&r);
}

static void orders_by_keys(void **state)
{
    enum { N = 5000 };
    static int64_t key[N];
    uint32_t *by = wio_cpl_order_new(N);

    (void)state;
    for (int i = 0; i < N; i++)
        key[i] = i % 3 == 0 ? (int64_t)1 << (i % 63) : (i * 7919) % 4001;
    assert_int_equal(wio_cpl_order(key, by, N), 0);
    for (int i = 1; i < N; i++)
        assert_true(key[by[i - 1]] < key[by[i]] ||
                    (key[by[i - 1]] == key[by[i]] && by[i - 1] < by[i]));
    assert_int_equal(wio_cpl_order(key, by, 0), 0);
    free(by);
}

static void gives_points_a_value(void **state)
{
    struct wio_cpl_entry entry = {1, 1, 0, 2, 0, 0}, fixed = {.to = 0, .coef = 271.5};
    const double from[] = {3};
    double to[3];
    struct wio_cpl_remap r;

    (void)state;
    assert_int_equal(wio_cpl_remap_make(&r, &entry, 1, 1, 0), 0);
    assert_int_equal(wio_cpl_remap_fix(&r, &fixed, 1), 0);
    wio_cpl_remap_layers(&r, from, 0, to, 3, 1, &FILLED);
    assert_true(to[0] == 271.5 && to[1] == 6 && to[2] == WIO_CPL_FILL);
    wio_cpl_remap_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_in_order_of_sources),
        cmocka_unit_test(takes_equal_pairs_by_coefficient),
        cmocka_unit_test(turns_vectors),
        cmocka_unit_test(leaves_out_masked_sources),
        cmocka_unit_test(needs_no_entries),
        cmocka_unit_test(sums_alike_in_all_shapes),
        cmocka_unit_test(sums_stretches_of_all_layers),
        cmocka_unit_test(orders_by_keys),
        cmocka_unit_test(gives_points_a_value),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
