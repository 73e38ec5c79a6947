/* SPDX-License-Identifier: BSD-3-Clause */
/* Conservative weights: areas, conservation, what rounding and odd cells do. */
#include "help.h"

static const enum wio_method BOTH[2] = {WIO_METHOD_CONSERVATIVE, WIO_METHOD_CONSERVATIVE2};

static void whole_spheres(void **state)
{
    (void)state;
    static const char *const names[] = {"r72x36", "cs16", "ico11", "r11x7",
                                        "cs1",    "ico1", "r200x3"};
    for (size_t k = 0; k < 7; k++)
        for (size_t m = 0; m < 7; m++)
            for (int order = 0; order < 2; order++) {
                struct wio_grid *s = named(names[k]), *t = named(names[m]);
                struct wio_weights w = make(s, t, by(BOTH[order]));
                struct wio_weights_report r = judge(s, t, &w);
                struct wio_grid_facts f;
                wio_grid_facts(s, &f);
                assert_near(f.area, 4 * TEST_PI, 1e-12);
                assert_int_equal(r.by_method[WIO_METHOD_NONE], 0);
                assert_int_equal(r.unused, 0);
                assert_near(r.row_sum_min, 1, 1e-12);
                assert_near(r.row_sum_max, 1, 1e-12);
                assert_near(r.column, 0, 1e-12);
                assert_near(r.constant, 0, 1e-13);
                assert_near(r.harmonic, 0, 1e-13);
                if (order == 0)
                    assert_true(r.weight_min > 0);
                wio_weights_free(&w);
                wio_grid_free(s);
                wio_grid_free(t);
            }
}

static void a_grid_to_itself_is_itself(void **state)
{
    (void)state;
    static const char *const names[] = {"r72x36", "cs16", "ico11"};
    for (int k = 0; k < 3; k++) {
        struct wio_grid *g = named(names[k]);
        struct wio_weights w = make(g, g, by(WIO_METHOD_CONSERVATIVE));
        assert_int_equal(w.n_links, g->n);
        for (size_t i = 0; i < g->n; i++) {
            assert_int_equal(w.source[i], i + 1);
            assert_near(w.weight[i], 1, 1e-15);
        }
        wio_weights_free(&w);
        wio_grid_free(g);
    }
}

/** A fine grid whose edges are those of a coarse one: no weight comes from a neighbour. */
static void nested_grids(void **state)
{
    (void)state;
    struct wio_grid *fine = named("cs24"), *coarse = named("cs8");
    struct wio_weights w = make(fine, coarse, by(WIO_METHOD_CONSERVATIVE));
    assert_int_equal(w.n_links, fine->n);
    for (size_t t = 0; t < coarse->n; t++)
        for (size_t i = w.row[t]; i < w.row[t + 1]; i++)
            assert_near(w.weight[i], fine->area[w.position[i]] / coarse->area[t], 1e-13);
    wio_weights_free(&w);
    w = make(coarse, fine, by(WIO_METHOD_CONSERVATIVE));
    assert_int_equal(w.n_links, fine->n);
    wio_weights_free(&w);
    wio_grid_free(fine);
    wio_grid_free(coarse);
}

/** The overlap of a with b is that of b with a. */
static void areas_are_symmetric(void **state)
{
    (void)state;
    struct wio_grid *a = named("r40x20"), *b = named("ico9");
    struct wio_weights ab = make(a, b, by(WIO_METHOD_CONSERVATIVE)),
                       ba = make(b, a, by(WIO_METHOD_CONSERVATIVE));
    assert_int_equal(ab.n_links, ba.n_links);
    for (size_t t = 0; t < b->n; t++)
        for (size_t i = ab.row[t]; i < ab.row[t + 1]; i++) {
            size_t s = ab.position[i];
            assert_near(ab.weight[i] * b->area[t], weight_of(&ba, s, (int64_t)t + 1) * a->area[s],
                        1e-15);
        }
    wio_weights_free(&ab);
    wio_weights_free(&ba);
    wio_grid_free(a);
    wio_grid_free(b);
}

/** Cells turned around a random axis: the weights are the same, whatever lies at the poles. */
static void turn_cells(struct wio_own_cells *c, double turn[3][3])
{
    double *sets[2][2] = {{(double *)c->cells.x, (double *)c->cells.y},
                          {(double *)c->cells.cx, (double *)c->cells.cy}};
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < c->cells.n * (k == 0 ? 1 : (size_t)c->cells.corners); i++) {
            double lon = sets[k][0][i] * TEST_PI / 180, lat = sets[k][1][i] * TEST_PI / 180;
            double p[3] = {cos(lat) * cos(lon), cos(lat) * sin(lon), sin(lat)}, q[3];
            for (int d = 0; d < 3; d++)
                q[d] = turn[d][0] * p[0] + turn[d][1] * p[1] + turn[d][2] * p[2];
            sets[k][0][i] = atan2(q[1], q[0]) * 180 / TEST_PI;
            sets[k][1][i] = atan2(q[2], hypot(q[0], q[1])) * 180 / TEST_PI;
        }
}

static void random_turn(double turn[3][3])
{
    struct wio_vec a = wio_vec_unit((struct wio_vec){chance() - .5, chance() - .5, chance() - .5});
    struct wio_vec b = {chance() - .5, chance() - .5, chance() - .5};
    b = wio_vec_unit(wio_vec_madd(b, -wio_vec_dot(a, b), a));
    struct wio_vec c = wio_vec_cross(a, b);
    const struct wio_vec rows[3] = {a, b, c};
    for (int d = 0; d < 3; d++) {
        turn[d][0] = rows[d].x;
        turn[d][1] = rows[d].y;
        turn[d][2] = rows[d].z;
    }
}

static void no_place_is_special(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++)
        for (int round = 0; round < 4; round++) {
            double turn[3][3];
            struct wio_own_cells a = shape("r24x12"), b = shape("cs7");
            struct wio_grid *s = grid_of(&a.cells), *t = grid_of(&b.cells);
            random_turn(turn);
            turn_cells(&a, turn);
            turn_cells(&b, turn);
            struct wio_grid *s2 = grid_of(&a.cells), *t2 = grid_of(&b.cells);
            struct wio_weights w = make(s, t, by(BOTH[order])), w2 = make(s2, t2, by(BOTH[order]));
            for (size_t i = 0; i < t->n; i++) {
                for (size_t k = w.row[i]; k < w.row[i + 1]; k++)
                    assert_near(weight_of(&w2, i, w.source[k]), w.weight[k], 1e-12);
                for (size_t k = w2.row[i]; k < w2.row[i + 1]; k++)
                    assert_near(weight_of(&w, i, w2.source[k]), w2.weight[k], 1e-12);
            }
            wio_weights_free(&w);
            wio_weights_free(&w2);
            wio_grid_free(s);
            wio_grid_free(t);
            wio_grid_free(s2);
            wio_grid_free(t2);
            wio_own_cells_free(&a);
            wio_own_cells_free(&b);
        }
}

/** With cells half as large the error of the first order is half as large, that of the second a
 * quarter. */
static void second_order_is_better(void **state)
{
    (void)state;
    double error[2][2];
    static const char *const sources[] = {"cs5", "cs10"};
    for (int k = 0; k < 2; k++)
        for (int order = 0; order < 2; order++) {
            struct wio_grid *s = named(sources[k]), *t = named("ico40");
            struct wio_weights w = make(s, t, by(BOTH[order]));
            error[k][order] = judge(s, t, &w).mean_error;
            wio_weights_free(&w);
            wio_grid_free(s);
            wio_grid_free(t);
        }
    assert_true(error[0][0] / error[1][0] > 1.8 && error[0][0] / error[1][0] < 2.3);
    assert_true(error[0][1] / error[1][1] > 3);
    assert_true(error[1][1] < 0.15 * error[1][0]);
}

static void a_plane_by_hand(void **state)
{
    (void)state;
    /* 2 x 2 unit squares; targets: one across all four, one half outside, one outside. */
    struct wio_own_cells a = plane_cells(2, 2, 0, 0, 1, 1), b = plane_cells(3, 1, 0.75, 0.5, 1, 1);
    struct wio_grid *s = grid_of(&a.cells), *t = grid_of(&b.cells);
    struct wio_weights_options options = by(WIO_METHOD_CONSERVATIVE);
    options.norm = WIO_NORM_DESTAREA;
    struct wio_weights w = make(s, t, options);
    const double first[4] = {.125, .375, .125, .375};
    for (int k = 0; k < 4; k++)
        assert_near(weight_of(&w, 0, k + 1), first[k], 1e-15);
    assert_near(w.coverage[1], 0.25, 1e-15);
    assert_near(weight_of(&w, 1, 2), 0.125, 1e-15);
    assert_int_equal(w.method[2], WIO_METHOD_NONE);
    wio_weights_free(&w);
    options.norm = WIO_NORM_FRACAREA;
    w = make(s, t, options);
    assert_near(weight_of(&w, 1, 2), 0.5, 1e-15);
    wio_weights_free(&w);
    options.min_coverage = 0.5;
    w = make(s, t, options);
    assert_int_equal(w.method[1], WIO_METHOD_NONE);
    wio_weights_free(&w);
    wio_grid_free(s);
    wio_grid_free(t);
    wio_own_cells_free(&a);
    wio_own_cells_free(&b);
}

/** Second order gives the mean of a linear field exactly, inside. */
static void linear_fields_in_a_plane(void **state)
{
    (void)state;
    struct wio_own_cells a = plane_cells(20, 20, 0, 0, 1, 1), b = plane_cells(9, 9, 3, 3, 1.3, 1.4);
    struct wio_grid *s = grid_of(&a.cells), *t = grid_of(&b.cells);
    struct wio_weights w = make(s, t, by(WIO_METHOD_CONSERVATIVE2));
    double from[400], to[81];
    for (size_t i = 0; i < s->n; i++)
        from[i] = 3 + 2 * s->centre[i].x - s->centre[i].y;
    wio_weights_apply(&w, from, -1, to);
    for (size_t i = 0; i < t->n; i++)
        assert_near(to[i], 3 + 2 * t->centre[i].x - t->centre[i].y, 1e-12);
    wio_weights_free(&w);
    wio_grid_free(s);
    wio_grid_free(t);
    wio_own_cells_free(&a);
    wio_own_cells_free(&b);
}

/** An L and the square that fills its corner, as two concave and convex cells: areas add up. */
static void concave_cells_are_cut(void **state)
{
    (void)state;
    const double x[2] = {2, 15}, y[2] = {2, 15};
    const double cx[12] = {0, 20, 20, 10, 10, 0, 10, 20, 20, 10, 10, 10};
    const double cy[12] = {0, 0, 10, 10, 20, 20, 10, 10, 20, 20, 20, 20};
    const struct wio_cells cells = {
        .unit = WIO_GRID_DEGREES, .n = 2, .x = x, .y = y, .corners = 6, .cx = cx, .cy = cy};
    for (int plane = 0; plane < 2; plane++) {
        struct wio_cells c = cells;
        c.unit = plane ? WIO_GRID_PLANE : WIO_GRID_DEGREES;
        struct wio_own_cells fine = plane_cells(8, 8, 0, 0, 2.5, 2.5);
        fine.cells.unit = c.unit;
        struct wio_grid *s = grid_of(&c), *t = grid_of(&fine.cells);
        struct wio_grid_facts facts;
        wio_grid_facts(s, &facts);
        assert_int_equal(facts.concave, 1);
        struct wio_weights_options options = by(WIO_METHOD_CONSERVATIVE);
        options.norm = WIO_NORM_DESTAREA;
        struct wio_weights w = make(s, t, options);
        double sum[2] = {0, 0};
        for (size_t i = 0; i < t->n; i++)
            for (size_t k = w.row[i]; k < w.row[i + 1]; k++)
                sum[w.position[k]] += w.weight[k] * t->area[i];
        if (plane)
            assert_near(sum[0], 300, 1e-11);
        /* On the sphere the fine grid's outer edge is not that of the cells: their inner one is. */
        assert_near(sum[1] / s->area[1], 1, plane ? 1e-13 : 2e-2);
        struct wio_weights back = make(t, s, options);
        assert_int_equal(back.method[0], WIO_METHOD_CONSERVATIVE);
        assert_near(weight_of(&back, 0, 64), 0, 0);
        wio_weights_free(&w);
        wio_weights_free(&back);
        wio_grid_free(s);
        wio_grid_free(t);
        wio_own_cells_free(&fine);
    }
}

static void odd_cells(void **state)
{
    (void)state;
    const double x[3] = {0, 5, 200}, y[3] = {0, 5, -50};
    /* A cell without area, one with the corners clockwise, one across the date line. */
    const double cx[12] = {0, 0, 0, 0, 0, 0, 10, 10, 175, 190, -170, 175};
    const double cy[12] = {0, 1, 1, 0, 0, 10, 10, 0, -60, -60, -40, -40};
    const struct wio_cells cells = {
        .unit = WIO_GRID_DEGREES, .n = 3, .x = x, .y = y, .corners = 4, .cx = cx, .cy = cy};
    struct wio_grid *s = grid_of(&cells), *t = named("r36x18");
    struct wio_grid_facts facts;
    wio_grid_facts(s, &facts);
    assert_int_equal(facts.without_area, 1);
    assert_near(s->area[0], 0, 0);
    struct wio_weights_options options = by(WIO_METHOD_CONSERVATIVE);
    options.norm = WIO_NORM_DESTAREA;
    struct wio_weights w = make(s, t, options);
    struct wio_weights_report r = judge(s, t, &w);
    assert_int_equal(r.unused, 1);
    assert_near(r.column, 0, 1e-13); /* the other two are given away wholly */
    wio_weights_free(&w);
    wio_grid_free(s);
    wio_grid_free(t);
}

static void masks_and_fractions(void **state)
{
    (void)state;
    struct wio_own_cells a = shape("cs6"), b = shape("r16x8");
    double *fs = wio_own_cells_alloc(&a, a.cells.n * sizeof *fs),
           *ft = wio_own_cells_alloc(&b, b.cells.n * sizeof *ft), field[216], back[128], give = 0,
           take = 0;
    for (size_t i = 0; i < a.cells.n; i++)
        fs[i] = i % 5 == 0 ? 0 : 0.2 + 0.8 * chance();
    for (size_t i = 0; i < b.cells.n; i++)
        ft[i] = 0.1 + 0.9 * chance();
    a.cells.fraction = fs;
    b.cells.fraction = ft;
    struct wio_grid *s = grid_of(&a.cells), *t = grid_of(&b.cells);
    for (int order = 0; order < 2; order++) {
        struct wio_weights_options options = by(BOTH[order]);
        options.norm = WIO_NORM_DESTAREA;
        struct wio_weights w = make(s, t, options);
        give = take = 0;
        for (size_t i = 0; i < s->n; i++) {
            field[i] = 1 + chance();
            give += field[i] * s->area[i] * fs[i];
        }
        wio_weights_apply(&w, field, 0, back);
        for (size_t i = 0; i < t->n; i++)
            take += back[i] * t->area[i] * ft[i];
        assert_near(take / give, 1, 1e-13); /* the integrals, whatever the fractions */
        for (size_t i = 0; i < w.n_links; i++)
            assert_true(fs[w.position[i]] > 0);
        wio_weights_free(&w);
        options.norm = WIO_NORM_FRACAREA;
        w = make(s, t, options);
        struct wio_weights_report r = judge(s, t, &w);
        assert_near(r.row_sum_min, 1, 1e-13);
        assert_near(r.row_sum_max, 1, 1e-13);
        wio_weights_free(&w);
    }
    wio_grid_free(s);
    wio_grid_free(t);
    wio_own_cells_free(&a);
    wio_own_cells_free(&b);
}

/** The models' own areas: integrals by those are the same. */
static void given_areas(void **state)
{
    (void)state;
    struct wio_own_cells a = shape("cs5"), b = shape("r12x6");
    double *as = wio_own_cells_alloc(&a, a.cells.n * sizeof *as),
           *at = wio_own_cells_alloc(&b, b.cells.n * sizeof *at), give = 0, take = 0;
    for (size_t i = 0; i < a.cells.n; i++)
        as[i] = 0.02 * (1 + chance());
    for (size_t i = 0; i < b.cells.n; i++)
        at[i] = 0.05 * (1 + chance());
    a.cells.area = as;
    b.cells.area = at;
    struct wio_grid *s = grid_of(&a.cells), *t = grid_of(&b.cells);
    struct wio_weights_options options = by(WIO_METHOD_CONSERVATIVE);
    options.given_areas = true;
    struct wio_weights w = make(s, t, options);
    for (size_t i = 0; i < s->n; i++)
        give += as[i] * (double)(i % 7);
    for (size_t i = 0; i < t->n; i++)
        for (size_t k = w.row[i]; k < w.row[i + 1]; k++)
            take += at[i] * w.weight[k] * (double)(w.position[k] % 7);
    assert_near(take / give, 1, 1e-13);
    wio_weights_free(&w);
    wio_grid_free(s);
    wio_grid_free(t);
    wio_own_cells_free(&a);
    wio_own_cells_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_spheres),         cmocka_unit_test(a_grid_to_itself_is_itself),
        cmocka_unit_test(nested_grids),          cmocka_unit_test(areas_are_symmetric),
        cmocka_unit_test(no_place_is_special),   cmocka_unit_test(second_order_is_better),
        cmocka_unit_test(a_plane_by_hand),       cmocka_unit_test(linear_fields_in_a_plane),
        cmocka_unit_test(concave_cells_are_cut), cmocka_unit_test(odd_cells),
        cmocka_unit_test(masks_and_fractions),   cmocka_unit_test(given_areas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
