/* SPDX-License-Identifier: BSD-3-Clause */
/* Polygons whose edges are great circles, or straight lines of the plane: pure functions. */
#ifndef WIO_WEIGHTS_POLYGON_H
#define WIO_WEIGHTS_POLYGON_H

#include <stdbool.h>

#include "coupler/weights/vec.h"

/** Area, positive counter-clockwise (on the sphere as seen from outside). To a few ulp for
 * triangles of any size that are not slivers; polygons smaller than half the sphere. */
double wio_polygon_area(bool plane, const struct wio_vec *p, int n);

/** Integral of (x - ref) over a convex polygon near ref, to a few ulp of area x size. */
struct wio_vec wio_polygon_moment(bool plane, const struct wio_vec *p, int n, struct wio_vec ref,
                                  double area);

/** Inward normal of edge a -> b, times its length: a point p is inside where dot(normal, p - a) >=
 * 0. */
static inline struct wio_vec wio_edge_normal(bool plane, struct wio_vec a, struct wio_vec b)
{
    if (plane)
        return (struct wio_vec){a.y - b.y, b.x - a.x, 0};
    return wio_vec_cross_near(a, b);
}

/** Drops corners that repeat the one before; distances up to `tolerance` are none.
 * @return how many are left */
int wio_polygon_clean(struct wio_vec *p, int n, double tolerance);

void wio_polygon_reverse(struct wio_vec *p, int n);

/** Is a counter-clockwise polygon convex (three corners in a line allowed)? */
bool wio_polygon_convex(bool plane, const struct wio_vec *p, int n);

/** Cuts a counter-clockwise polygon into n - 2 triangles.
 * @param triangle  room for n - 2: numbers of corners
 * @return how many, or -1: the polygon crosses itself */
int wio_polygon_cut(bool plane, const struct wio_vec *p, int n, int (*triangle)[3]);

enum { WIO_POLYGON_MAX = 250 }; /* corners of a cell */

#endif /* WIO_WEIGHTS_POLYGON_H */
