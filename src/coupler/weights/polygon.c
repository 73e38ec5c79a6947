/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Area of a spherical triangle: tan(E / 2) = det(a, b, c) / (1 + ab + bc + ca) (Eriksson 1990),
 * which is exact where l'Huilier's formula of side lengths and the sum of angles cancel. The
 * determinant is taken of differences, so that small triangles keep their digits.
 */
#include "coupler/weights/polygon.h"

#include <stddef.h>

/** atan for the small arguments that cells give; the series ends below an ulp there. */
static double arc_tangent(double y, double x)
{
    if (!(fabs(y) < 0.01 * x))
        return atan2(y, x);
    double t = y / x, s = t * t;
    return t * (1 - s * (1.0 / 3 - s * (0.2 - s * (1.0 / 7 - s * (1.0 / 9 - s / 11)))));
}

static double triangle_area(bool plane, struct wio_vec a, struct wio_vec b, struct wio_vec c)
{
    struct wio_vec u = wio_vec_sub(b, a), v = wio_vec_sub(c, a);
    if (plane)
        return 0.5 * (u.x * v.y - u.y * v.x);
    double det = wio_vec_dot(a, wio_vec_cross(u, v));
    double rest = 1 + wio_vec_dot(a, b) + wio_vec_dot(b, c) + wio_vec_dot(c, a);
    return 2 * arc_tangent(det, rest);
}

double wio_polygon_area(bool plane, const struct wio_vec *p, int n)
{
    double area = 0;
    for (int k = 1; k + 1 < n; k++)
        area += triangle_area(plane, p[0], p[k], p[k + 1]);
    return area;
}

/** angle / sin(angle) - 1 for the angle of a chord: the sum of (2 4 6 ..)/(3 5 7 ..) (chord^2 /
 * 4)^n, for the difference of two numbers near 1 would have lost its digits. */
static double stretch(double chord2)
{
    double s = 0.25 * chord2, term = 1, sum = 0;
    if (s > 0.3) {
        double angle = 2 * asin(fmin(1, sqrt(s)));
        return angle / sin(angle) - 1;
    }
    for (int n = 1; n < 40 && term > 1e-17 * sum; n++) {
        term *= s * (2.0 * n) / (2.0 * n + 1);
        sum += term;
    }
    return sum;
}

static struct wio_vec plane_moment(const struct wio_vec *p, int n, struct wio_vec ref)
{
    struct wio_vec sum = {0, 0, 0};
    for (int k = 0; k < n; k++) {
        struct wio_vec a = wio_vec_sub(p[k], ref), b = wio_vec_sub(p[(k + 1) % n], ref);
        double twice = a.x * b.y - a.y * b.x;
        sum = wio_vec_madd(sum, twice / 6, wio_vec_add(a, b));
    }
    return sum;
}

/** p - ref for unit vectors. How far it lies under the plane that touches the sphere at ref follows
 * from the distance along that plane: a corner's own length, which is 1 to rounding only, would
 * spoil it. */
static struct wio_vec step_from(struct wio_vec ref, struct wio_vec p)
{
    struct wio_vec step = wio_vec_sub(p, ref);
    struct wio_vec flat = wio_vec_madd(step, -wio_vec_dot(step, ref), ref);
    double flat2 = wio_vec_dot(flat, flat);
    return wio_vec_madd(flat, -flat2 / (1 + sqrt(fmax(0, 1 - flat2))), ref);
}

struct wio_vec wio_polygon_moment(bool plane, const struct wio_vec *p, int n, struct wio_vec ref,
                                  double area)
{
    if (plane)
        return plane_moment(p, n, ref);
    /* The integral of x is half the sum of (angle / sin angle) a x b over the edges. The sum of a x
     * b alone does not change when ref is taken from both, and has then no large terms. */
    struct wio_vec sum = {0, 0, 0}, last = step_from(ref, p[n - 1]);
    for (int k = 0; k < n; k++) {
        struct wio_vec a = p[k > 0 ? k - 1 : n - 1], b = p[k], step = step_from(ref, b);
        sum = wio_vec_add(sum, wio_vec_cross(last, step));
        sum = wio_vec_madd(sum, stretch(wio_vec_distance2(a, b)), wio_vec_cross_near(a, b));
        last = step;
    }
    return wio_vec_madd(wio_vec_scale(sum, 0.5), -area, ref);
}

int wio_polygon_clean(struct wio_vec *p, int n, double tolerance)
{
    int kept = 0;
    for (int k = 0; k < n; k++)
        if (kept == 0 || wio_vec_distance2(p[k], p[kept - 1]) > tolerance * tolerance)
            p[kept++] = p[k];
    while (kept > 1 && !(wio_vec_distance2(p[kept - 1], p[0]) > tolerance * tolerance))
        kept--;
    return kept;
}

void wio_polygon_reverse(struct wio_vec *p, int n)
{
    for (int k = 0; k < n - 1 - k; k++) {
        struct wio_vec swap = p[k];
        p[k] = p[n - 1 - k];
        p[n - 1 - k] = swap;
    }
}

bool wio_polygon_convex(bool plane, const struct wio_vec *p, int n)
{
    double area = 0, least = 0;
    for (int k = 0; k < n; k++) {
        struct wio_vec a = p[k], b = p[(k + 1) % n], c = p[(k + 2) % n];
        struct wio_vec normal = wio_edge_normal(plane, a, b), step = wio_vec_sub(c, b);
        double turn = wio_vec_dot(normal, step);
        if (turn < -1e-10 * wio_vec_norm(normal) * wio_vec_norm(step))
            return false;
        if (k > 0 && k + 1 < n) {
            double part = triangle_area(plane, p[0], b, c);
            least = k + 2 <= n && part < least ? part : least;
            area += part;
        }
    }
    return least >= -1e-10 * area; /* all turns to the left, but more than once around */
}

/** Corners in the plane that touches the sphere in their middle, where great circles are straight.
 */
static void flatten(bool plane, const struct wio_vec *p, int n, double (*flat)[2])
{
    struct wio_vec middle = {0, 0, 0};
    for (int k = 0; k < n; k++)
        middle = wio_vec_add(middle, p[k]);
    middle = plane ? (struct wio_vec){0, 0, 1} : wio_vec_unit(middle);
    struct wio_vec axis =
        fabs(middle.x) < 0.6 ? (struct wio_vec){1, 0, 0} : (struct wio_vec){0, 1, 0};
    struct wio_vec u = wio_vec_unit(wio_vec_madd(axis, -wio_vec_dot(axis, middle), middle));
    struct wio_vec v = wio_vec_cross(middle, u);
    for (int k = 0; k < n; k++) {
        double down = plane ? 1 : wio_vec_dot(p[k], middle);
        flat[k][0] = wio_vec_dot(p[k], u) / down;
        flat[k][1] = wio_vec_dot(p[k], v) / down;
    }
}

static double turn(const double *a, const double *b, const double *c)
{
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

/** Can the corner `at` of those left be cut off: it turns left, and no other corner is in the way.
 */
static bool is_ear(double (*flat)[2], const int *left, int n, int at)
{
    int ia = left[(at + n - 1) % n], ib = left[at], ic = left[(at + 1) % n];
    const double *a = flat[ia], *b = flat[ib], *c = flat[ic];
    if (!(turn(a, b, c) > 0))
        return false;
    for (int k = 0; k < n; k++) {
        const double *p = flat[left[k]];
        if (left[k] == ia || left[k] == ib || left[k] == ic)
            continue;
        if (turn(a, b, p) >= 0 && turn(b, c, p) >= 0 && turn(c, a, p) >= 0)
            return false;
    }
    return true;
}

/** A corner in the line of its neighbours: without it the polygon is the same. */
static int in_line(double (*flat)[2], const int *left, int n)
{
    for (int at = 0; at < n; at++) {
        const double *a = flat[left[(at + n - 1) % n]], *b = flat[left[at]],
                     *c = flat[left[(at + 1) % n]];
        double size = fabs(b[0] - a[0]) + fabs(b[1] - a[1]) + fabs(c[0] - b[0]) + fabs(c[1] - b[1]);
        if (fabs(turn(a, b, c)) <= 1e-13 * size * size)
            return at;
    }
    return -1;
}

int wio_polygon_cut(bool plane, const struct wio_vec *p, int n, int (*triangle)[3])
{
    double flat[WIO_POLYGON_MAX][2];
    int left[WIO_POLYGON_MAX], made = 0;
    if (n > WIO_POLYGON_MAX)
        return -1;
    flatten(plane, p, n, flat);
    for (int k = 0; k < n; k++)
        left[k] = k;
    while (n > 2) {
        int at = 0;
        while (at < n && !is_ear(flat, left, n, at))
            at++;
        if (at < n) {
            triangle[made][0] = left[(at + n - 1) % n];
            triangle[made][1] = left[at];
            triangle[made++][2] = left[(at + 1) % n];
        } else if ((at = in_line(flat, left, n)) < 0) {
            return -1;
        }
        n--;
        for (int k = at; k < n; k++)
            left[k] = left[k + 1];
    }
    return made;
}
