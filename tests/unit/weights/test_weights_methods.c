/* SPDX-License-Identifier: BSD-3-Clause */
/* Interpolating methods, the stack of methods, and what is refused. */
#include "help.h"

/** Fields that a method reproduces exactly come out exactly. */
static void check_field(struct wio_own_cells *a, struct wio_own_cells *b, enum wio_method method,
                        double cross_term)
{
    struct wio_grid *s = grid_of(&a->cells), *t = grid_of(&b->cells);
    struct wio_weights w = make(s, t, by(method));
    double *from = malloc(s->n * sizeof *from), *to = malloc(t->n * sizeof *to);
    for (size_t i = 0; i < s->n; i++)
        from[i] = 1 + 2 * s->centre[i].x - 3 * s->centre[i].y +
                  cross_term * s->centre[i].x * s->centre[i].y;
    wio_weights_apply(&w, from, -1, to);
    for (size_t i = 0; i < t->n; i++) {
        double x = t->centre[i].x, y = t->centre[i].y;
        assert_int_equal(w.method[i], method);
        assert_near(to[i], 1 + 2 * x - 3 * y + cross_term * x * y, 1e-12);
    }
    free(from);
    free(to);
    wio_weights_free(&w);
    wio_grid_free(s);
    wio_grid_free(t);
}

static void planes_are_exact(void **state)
{
    (void)state;
    struct wio_own_cells a = plane_cells(12, 10, 0, 0, 1, 1),
                         b = plane_cells(7, 6, 1.1, 1.2, 1.3, 1.2);
    check_field(&a, &b, WIO_METHOD_BILINEAR, 0.7);
    check_field(&a, &b, WIO_METHOD_BARYCENTRIC, 0);
    /* On source points, edges between them, and corners. */
    struct wio_own_cells on = plane_cells(8, 8, 1, 1, 0.5, 0.5);
    check_field(&a, &on, WIO_METHOD_BILINEAR, 0.7);
    check_field(&a, &on, WIO_METHOD_BARYCENTRIC, 0);
    wio_own_cells_free(&a);
    wio_own_cells_free(&b);
    wio_own_cells_free(&on);
}

/** A sheared grid: bilinear in the quadrilateral, so linear fields are exact. */
static void sheared_planes(void **state)
{
    (void)state;
    struct wio_own_cells a = plane_cells(12, 12, 0, 0, 1, 1), b = plane_cells(5, 5, 6, 4, 0.9, 0.8);
    double *x = (double *)a.cells.x, *cx = (double *)a.cells.cx;
    for (size_t i = 0; i < a.cells.n; i++)
        x[i] += 0.5 * a.cells.y[i] + 0.02 * a.cells.y[i] * a.cells.y[i];
    for (size_t i = 0; i < 4 * a.cells.n; i++)
        cx[i] += 0.5 * a.cells.cy[i] + 0.02 * a.cells.cy[i] * a.cells.cy[i];
    check_field(&a, &b, WIO_METHOD_BILINEAR, 0);
    check_field(&a, &b, WIO_METHOD_BARYCENTRIC, 0);
    wio_own_cells_free(&a);
    wio_own_cells_free(&b);
}

/** A grid that is folded like the last row of a tripolar one, laid flat: linear fields are exact
 * also across the fold, and there is no value there if nobody says that it is folded. */
static void across_the_fold(void **state)
{
    enum { NX = 20, NY = 6 };
    double x[NX * NY], y[NX * NY], tx[60], ty[60];
    struct wio_cells c = {.unit = WIO_GRID_PLANE, .n = NX * NY, .x = x, .y = y, .nx = NX, .ny = NY};
    struct wio_cells at = {.unit = WIO_GRID_PLANE, .n = 60, .x = tx, .y = ty};
    (void)state;
    for (int i = 0; i < NX * NY; i++) { /* i runs there below the fold, back above it */
        int column = i % NX < NX / 2 ? i % NX : NX - 1 - i % NX;
        double up = NY - 1 - i / NX + 0.5;
        y[i] = i % NX < NX / 2 ? -up : up;
        x[i] = column + 0.2 * y[i];
    }
    for (int k = 0; k < 60; k++) {
        tx[k] = 0.5 + 8 * chance();
        ty[k] = 0.98 * (chance() - 0.5);
    }
    for (int folded = 1; folded >= 0; folded--) {
        c.fold = folded;
        struct wio_grid *s = grid_of(&c), *t = grid_of(&at);
        struct wio_weights w = make(s, t, by(WIO_METHOD_BILINEAR));
        for (int k = 0; k < 60; k++) {
            double sum = 0, fx = 0, fy = 0;
            for (size_t i = w.row[k]; i < w.row[k + 1]; i++) {
                sum += w.weight[i];
                fx += w.weight[i] * x[w.position[i]];
                fy += w.weight[i] * y[w.position[i]];
            }
            assert_int_equal(w.method[k], folded ? WIO_METHOD_BILINEAR : WIO_METHOD_NONE);
            assert_near(sum, folded, 1e-14);
            assert_near(fx, folded ? tx[k] : 0, 1e-13);
            assert_near(fy, folded ? ty[k] : 0, 1e-13);
        }
        wio_weights_free(&w);
        wio_grid_free(s);
        wio_grid_free(t);
    }
}

/** On grids of longitude and latitude bilinear is so in these. */
static void longitudes_and_latitudes(void **state)
{
    (void)state;
    struct wio_own_cells a = shape("r36x18"), b = shape("cs7");
    struct wio_grid *s = grid_of(&a.cells), *t = grid_of(&b.cells);
    struct wio_weights w = make(s, t, by(WIO_METHOD_BILINEAR));
    for (size_t i = 0; i < t->n; i++) {
        double lat = 0, east = 0;
        if (fabs(b.cells.y[i]) > 85) {
            assert_int_equal(w.method[i], WIO_METHOD_NONE); /* beyond the last row of centres */
            continue;
        }
        for (size_t k = w.row[i]; k < w.row[i + 1]; k++) {
            double d = a.cells.x[w.position[k]] - b.cells.x[i];
            lat += w.weight[k] * a.cells.y[w.position[k]];
            east += w.weight[k] * (d - 360 * nearbyint(d / 360));
        }
        assert_near(lat, b.cells.y[i], 1e-11);
        assert_near(east, 0, 1e-11);
    }
    wio_weights_free(&w);
    wio_grid_free(s);
    wio_grid_free(t);
    wio_own_cells_free(&a);
    wio_own_cells_free(&b);
}

static void triangles_cover_the_sphere(void **state)
{
    (void)state;
    static const char *const sources[] = {"cs10", "ico9", "r40x20", "r300x20"};
    for (int k = 0; k < 4; k++) {
        struct wio_grid *s = named(sources[k]), *t = named("r61x37");
        struct wio_weights w = make(s, t, by(WIO_METHOD_BARYCENTRIC));
        struct wio_weights_report r = judge(s, t, &w);
        assert_int_equal(r.by_method[WIO_METHOD_NONE], 0);
        assert_near(r.unity, 0, 1e-15);
        assert_true(r.weight_min > 0 && r.max_error < 0.05);
        wio_weights_free(&w);
        wio_grid_free(s);
        wio_grid_free(t);
    }
}

static void distances(void **state)
{
    (void)state;
    struct wio_own_cells a = plane_cells(3, 1, 0, 0, 1, 1), b = plane_cells(1, 1, 0.25, 0, 1, 1);
    struct wio_grid *s = grid_of(&a.cells), *t = grid_of(&b.cells);
    struct wio_weights_options options = by(WIO_METHOD_DISTANCE);
    options.neighbours = 2;
    struct wio_weights w = make(s, t, options); /* distances .25 and .75 */
    assert_near(weight_of(&w, 0, 1), 0.75, 1e-15);
    assert_near(weight_of(&w, 0, 2), 0.25, 1e-15);
    wio_weights_free(&w);
    options.power = 2;
    w = make(s, t, options);
    assert_near(weight_of(&w, 0, 1), 0.9, 1e-15);
    wio_weights_free(&w);
    options.max_distance = 0.5;
    w = make(s, t, options);
    assert_near(weight_of(&w, 0, 1), 1, 0);
    wio_weights_free(&w);
    options.max_distance = 0.2;
    w = make(s, t, options);
    assert_int_equal(w.method[0], WIO_METHOD_NONE);
    wio_weights_free(&w);
    w = make(s, s, by(WIO_METHOD_DISTANCE)); /* on the points themselves */
    assert_int_equal(w.n_links, 3);
    wio_weights_free(&w);
    wio_grid_free(s);
    wio_grid_free(t);
    wio_own_cells_free(&a);
    wio_own_cells_free(&b);
}

/** The western half is masked; targets in it fall through the stack. */
static void methods_follow_each_other(void **state)
{
    (void)state;
    struct wio_own_cells a = shape("r36x18"), b = shape("cs8");
    int *mask = wio_own_cells_alloc(&a, a.cells.n * sizeof *mask);
    int *not = wio_own_cells_alloc(&b, b.cells.n * sizeof *not );
    for (size_t i = 0; i < a.cells.n; i++)
        mask[i] = a.cells.x[i] < 180;
    for (size_t i = 0; i < b.cells.n; i++)
        not [i] = i % 10 != 0;
    a.cells.mask = mask;
    b.cells.mask = not ;
    struct wio_grid *s = grid_of(&a.cells), *t = grid_of(&b.cells);
    struct wio_weights_options options = {.stack = {WIO_METHOD_BILINEAR, WIO_METHOD_CONSERVATIVE,
                                                    WIO_METHOD_NEAREST, WIO_METHOD_FIXED},
                                          .n_stack = 4,
                                          .norm = WIO_NORM_FRACAREA,
                                          .max_distance = 0.6,
                                          .fixed = -5};
    struct wio_weights w = make(s, t, options);
    struct wio_weights_report r = judge(s, t, &w);
    for (int k = 0; k < 4; k++)
        assert_true(r.by_method[options.stack[k]] > 0);
    assert_int_equal(r.by_method[WIO_METHOD_NONE], 0);
    double *from = calloc(s->n, sizeof *from), *to = calloc(t->n, sizeof *to);
    for (size_t i = 0; i < s->n; i++)
        from[i] = mask[i] ? 1 : NAN; /* masked values are never looked at */
    wio_weights_apply(&w, from, 99, to);
    for (size_t i = 0; i < t->n; i++) {
        double expected = !not [i] ? 99 : w.method[i] == WIO_METHOD_FIXED ? -5 : 1;
        assert_near(to[i], expected, 1e-12);
    }
    free(from);
    free(to);
    wio_weights_free(&w);
    wio_grid_free(s);
    wio_grid_free(t);
    wio_own_cells_free(&a);
    wio_own_cells_free(&b);
}

static void refuse_cells(struct wio_cells cells, const char *words)
{
    struct wio_grid *grid = NULL;
    struct wio_weights_error why = {""};
    assert_int_equal(wio_grid_make(&cells, 2, &grid, &why), WAITIO_ERR_ARG);
    if (strstr(why.text, words) == NULL)
        fail_msg("'%s' does not say '%s'", why.text, words);
}

static void bad_cells_are_refused(void **state)
{
    (void)state;
    struct wio_own_cells c = shape("r12x6");
    double x = c.cells.x[7], *px = (double *)&c.cells.x[7], *cy = (double *)&c.cells.cy[31];
    *px = NAN;
    refuse_cells(c.cells, "cell 8 ");
    *px = x;
    double y = *cy;
    *cy = 91;
    refuse_cells(c.cells, "cell 8 ");
    *cy = y;
    int64_t index[72];
    for (int i = 0; i < 72; i++)
        index[i] = i + 1;
    c.cells.index = index;
    index[9] = 4;
    refuse_cells(c.cells, "two cells have the global index 4");
    index[9] = 0;
    refuse_cells(c.cells, "cell 0 ");
    index[9] = 73;
    refuse_cells(c.cells, "73 is outside a grid of 12 x 6");
    c.cells.index = NULL;
    /* Two corners exchanged: the cell crosses itself. */
    double *cx = (double *)&c.cells.cx[4 * 30];
    double swap = cx[1], *low = (double *)&c.cells.cy[4 * 30];
    cx[1] = cx[0];
    cx[0] = swap;
    low[0] += 1;
    refuse_cells(c.cells, "cell 31 ");
    wio_own_cells_free(&c);
    struct wio_own_cells half = shape("r3x2"); /* a sixth of the sphere each: all right */
    struct wio_grid *g = grid_of(&half.cells);
    assert_near(g->area[0], 4 * TEST_PI / 6, 1e-13);
    wio_grid_free(g);
    wio_own_cells_free(&half);
}

static void impossible_methods_are_refused(void **state)
{
    (void)state;
    struct wio_own_cells c = shape("cs4"), p = plane_cells(2, 2, 0, 0, 1, 1);
    struct wio_grid *cube = grid_of(&c.cells), *plane = grid_of(&p.cells);
    c.cells.corners = 0;
    struct wio_grid *points = grid_of(&c.cells);
    const struct {
        enum wio_method method;
        const struct wio_grid *source, *target;
        const char *words;
    } cases[] = {
        {WIO_METHOD_BILINEAR, cube, cube, "logically rectangular"},
        {WIO_METHOD_CONSERVATIVE, points, cube, "source grid has"},
        {WIO_METHOD_CONSERVATIVE2, cube, points, "target grid has"},
        {WIO_METHOD_BARYCENTRIC, points, cube, "corners"},
        {WIO_METHOD_NEAREST, plane, cube, "plane"},
        {WIO_METHODS, cube, cube, "unknown"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct wio_weights_error why = {""};
        struct wio_weights w;
        struct wio_weights_options options = by(cases[k].method);
        assert_int_equal(wio_weights_make(cases[k].source, cases[k].target, &options, &w, &why),
                         WAITIO_ERR_ARG);
        if (strstr(why.text, cases[k].words) == NULL)
            fail_msg("'%s' does not say '%s'", why.text, cases[k].words);
    }
    struct wio_weights w = make(points, points, by(WIO_METHOD_NEAREST)); /* needs no corners */
    assert_int_equal(w.n_links, points->n);
    wio_weights_free(&w);
    wio_grid_free(cube);
    wio_grid_free(plane);
    wio_grid_free(points);
    wio_own_cells_free(&c);
    wio_own_cells_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planes_are_exact),
        cmocka_unit_test(sheared_planes),
        cmocka_unit_test(across_the_fold),
        cmocka_unit_test(longitudes_and_latitudes),
        cmocka_unit_test(triangles_cover_the_sphere),
        cmocka_unit_test(distances),
        cmocka_unit_test(methods_follow_each_other),
        cmocka_unit_test(bad_cells_are_refused),
        cmocka_unit_test(impossible_methods_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
