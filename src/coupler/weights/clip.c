/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sutherland and Hodgman's algorithm (1974) with great circles. It needs no tolerance to be safe:
 * new corners lie between two old ones (the weights of the sum below are both positive), so the
 * worst that rounding does is a sliver as thin as itself.
 */
#include "coupler/weights/clip.h"

#include <float.h>

#include "coupler/weights/polygon.h"

void wio_clipper_set(struct wio_clipper *clipper, const struct wio_grid *g,
                     const struct wio_piece *piece)
{
    const struct wio_vec *p = g->corner + piece->first;
    int n = (int)piece->corners;
    clipper->plane = g->plane;
    clipper->n = n;
    for (int k = 0; k < n; k++) {
        clipper->corner[k] = p[k];
        clipper->normal[k] = wio_edge_normal(g->plane, p[k], p[k + 1 < n ? k + 1 : 0]);
        clipper->tolerance[k] = 2 * DBL_EPSILON * g->scale * wio_vec_norm(clipper->normal[k]);
    }
}

/** Where the edge a -> b crosses, da and db being of opposite sign. */
static struct wio_vec crossing(bool plane, struct wio_vec a, double da, struct wio_vec b, double db)
{
    double wa = fabs(db), wb = fabs(da);
    struct wio_vec p = wio_vec_madd(wio_vec_scale(a, wa), wb, b);
    return plane ? wio_vec_scale(p, 1 / (wa + wb)) : wio_vec_unit(p);
}

static int cut(bool plane, const struct wio_vec *p, const double *d, int n, struct wio_vec *out)
{
    int m = 0;
    for (int k = 0; k < n; k++) {
        int next = k + 1 < n ? k + 1 : 0;
        if (d[k] >= 0)
            out[m++] = p[k];
        if ((d[k] > 0 && d[next] < 0) || (d[k] < 0 && d[next] > 0))
            out[m++] = crossing(plane, p[k], d[k], p[next], d[next]);
        if (m + 2 > WIO_CLIP_ROOM) /* only a polygon that is not convex crosses so often */
            return m;
    }
    return m;
}

int wio_clip(const struct wio_clipper *clipper, const struct wio_vec *p, int n,
             struct wio_vec (*room)[WIO_CLIP_ROOM], const struct wio_vec **out, bool *whole)
{
    int side = 0;
    *whole = true;
    for (int e = 0; e < clipper->n; e++) {
        double d[WIO_CLIP_ROOM];
        bool some_in = false, some_out = false;
        for (int k = 0; k < n; k++) {
            d[k] = wio_vec_dot(clipper->normal[e], wio_vec_sub(p[k], clipper->corner[e]));
            if (fabs(d[k]) <= clipper->tolerance[e])
                d[k] = 0;
            some_in = some_in || d[k] > 0;
            some_out = some_out || d[k] < 0;
        }
        if (!some_in)
            return 0;
        if (!some_out)
            continue;
        n = cut(clipper->plane, p, d, n, room[side]);
        p = room[side];
        side = !side;
        *whole = false;
        if (n < 3)
            return 0;
    }
    *out = p;
    return n;
}
