/* SPDX-License-Identifier: BSD-3-Clause */
/* Polygons of the sphere and the plane: areas, moments, what is convex, how others are cut. */
#include "help.h"

#include "coupler/weights/clip.h"
#include "coupler/weights/polygon.h"

static struct wio_vec at(double lon, double lat)
{
    double r = TEST_PI / 180;
    return (struct wio_vec){cos(lat * r) * cos(lon * r), cos(lat * r) * sin(lon * r), sin(lat * r)};
}

static void octants_have_an_eighth(void **state)
{
    (void)state;
    const struct wio_vec p[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    double area = wio_polygon_area(false, p, 3);
    assert_near(area, TEST_PI / 2, 1e-15);
    /* The integral of x over an octant is pi / 4, of each coordinate. */
    struct wio_vec ref = wio_vec_unit((struct wio_vec){1, 1, 1});
    struct wio_vec m = wio_vec_madd(wio_polygon_moment(false, p, 3, ref, area), area, ref);
    assert_near(m.x, TEST_PI / 4, 1e-14);
    assert_near(m.y, TEST_PI / 4, 1e-14);
    assert_near(m.z, TEST_PI / 4, 1e-14);
}

static void small_triangles_keep_their_digits(void **state)
{
    (void)state;
    /* Legs of length e at the pole: area = e^2 / 2 (1 + e^2 / 6 ...). */
    for (double e = 1e-2; e > 1e-9; e *= 0.01) {
        const struct wio_vec p[3] = {{0, 0, 1}, {sin(e), 0, cos(e)}, {0, sin(e), cos(e)}};
        double exact = 2 * atan(tan(e / 2) * tan(e / 2));
        assert_near(wio_polygon_area(false, p, 3) / exact, 1, 1e-14);
    }
}

/** A polygon cut by a great circle: what both sides have adds up, area and moment. */
static void parts_add_up(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        double size = pow(10, -4 * chance()) * 40, lon = 360 * chance(), lat = 170 * chance() - 85;
        double top = fmin(lat + size, 90), left = lon - size, right = lon + size;
        const struct wio_vec whole[4] = {at(left, fmax(lat - size, -90)),
                                         at(right, fmax(lat - size, -90)), at(right, top),
                                         at(left, top)};
        double s = chance(), t = chance();
        struct wio_vec a =
            wio_vec_unit(wio_vec_add(wio_vec_scale(whole[0], s), wio_vec_scale(whole[1], 1 - s)));
        struct wio_vec b =
            wio_vec_unit(wio_vec_add(wio_vec_scale(whole[2], t), wio_vec_scale(whole[3], 1 - t)));
        const struct wio_vec west[4] = {whole[0], a, b, whole[3]},
                             east[4] = {a, whole[1], whole[2], b};
        double area = wio_polygon_area(false, whole, 4), w = wio_polygon_area(false, west, 4),
               e = wio_polygon_area(false, east, 4);
        assert_near((w + e) / area, 1, 1e-15 / (size * TEST_PI / 180) + 1e-14);
        struct wio_vec ref = at(lon, lat);
        struct wio_vec m = wio_polygon_moment(false, whole, 4, ref, area),
                       mw = wio_polygon_moment(false, west, 4, ref, w),
                       me = wio_polygon_moment(false, east, 4, ref, e);
        double length = sqrt(area);
        assert_near(wio_vec_norm(wio_vec_sub(m, wio_vec_add(mw, me))) / area / length, 0,
                    1e-14 / length);
    }
}

static void shapes_are_told_apart(void **state)
{
    (void)state;
    const struct wio_vec square[4] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
    const struct wio_vec flat[5] = {{0, 0, 0}, {.5, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
    const struct wio_vec corner[6] = {{0, 0, 0}, {2, 0, 0}, {2, 1, 0},
                                      {1, 1, 0}, {1, 2, 0}, {0, 2, 0}};
    const struct wio_vec tie[4] = {{0, 0, 0}, {1, 1, 0}, {1, 0, 0}, {0, 1.5, 0}};
    struct wio_vec star[5];
    int triangle[4][3];
    for (int k = 0; k < 5; k++) /* every second corner: turns left all the way, twice around */
        star[k] = (struct wio_vec){cos(0.8 * TEST_PI * k), sin(0.8 * TEST_PI * k), 0};
    assert_true(wio_polygon_convex(true, square, 4));
    assert_true(wio_polygon_convex(true, flat, 5));
    assert_false(wio_polygon_convex(true, corner, 6));
    assert_false(wio_polygon_convex(true, star, 5));
    assert_int_equal(wio_polygon_cut(true, corner, 6, triangle), 4);
    double area = 0;
    for (int t = 0; t < 4; t++) {
        struct wio_vec p[3];
        for (int k = 0; k < 3; k++)
            p[k] = corner[triangle[t][k]];
        assert_true(wio_polygon_area(true, p, 3) > 0);
        area += wio_polygon_area(true, p, 3);
    }
    assert_near(area, 3, 1e-15);
    assert_int_equal(wio_polygon_cut(true, tie, 4, triangle), -1);
}

static void repeated_corners_go(void **state)
{
    (void)state;
    struct wio_vec p[6] = {{0, 0, 0}, {0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {1, 1, 1e-16}, {0, 0, 0}};
    assert_int_equal(wio_polygon_clean(p, 6, 1e-14), 3);
    struct wio_vec one[3] = {{1, 0, 0}, {1, 0, 0}, {1, 0, 0}};
    assert_int_equal(wio_polygon_clean(one, 3, 1e-14), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(octants_have_an_eighth),
        cmocka_unit_test(small_triangles_keep_their_digits),
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(shapes_are_told_apart),
        cmocka_unit_test(repeated_corners_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
