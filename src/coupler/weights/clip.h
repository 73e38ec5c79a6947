/* SPDX-License-Identifier: BSD-3-Clause */
/* What a convex polygon has in common with another: cut by one edge after the other. */
#ifndef WIO_WEIGHTS_CLIP_H
#define WIO_WEIGHTS_CLIP_H

#include "coupler/weights/grid.h"

/** The polygon that others are cut by. */
struct wio_clipper {
    bool plane;
    int n;
    struct wio_vec corner[WIO_PIECE_CORNERS];
    struct wio_vec normal[WIO_PIECE_CORNERS];
    double tolerance[WIO_PIECE_CORNERS]; /* of dot(normal, p - corner): less is on the edge */
};

/** Each edge can add one corner. */
enum { WIO_CLIP_ROOM = 2 * WIO_PIECE_CORNERS + 2 };

void wio_clipper_set(struct wio_clipper *clipper, const struct wio_grid *g,
                     const struct wio_piece *piece);

/** Cuts a convex polygon p.
 * @param room   space for the result
 * @param whole  set: nothing was cut off; the polygon is p itself
 * @return corners of the common polygon, which lies in room[0] or room[1] (*out); 0: none */
int wio_clip(const struct wio_clipper *clipper, const struct wio_vec *p, int n,
             struct wio_vec (*room)[WIO_CLIP_ROOM], const struct wio_vec **out, bool *whole);

#endif /* WIO_WEIGHTS_CLIP_H */
