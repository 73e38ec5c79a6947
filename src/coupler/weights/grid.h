/* SPDX-License-Identifier: BSD-3-Clause */
/* What a grid looks like inside the room. */
#ifndef WIO_WEIGHTS_GRID_H
#define WIO_WEIGHTS_GRID_H

#include "coupler/weights/tree.h"
#include "coupler/weights/weights.h"

/** Corners of a convex piece; larger cells are cut. */
enum { WIO_PIECE_CORNERS = 24 };

/** A convex piece of a cell; most cells are one piece. */
struct wio_piece {
    uint32_t cell;
    uint32_t corners;
    size_t first;       /* in grid->corner */
    struct wio_vec cap; /* a point in the middle */
    double radius;      /* of the ball around it that holds the corners */
    double area;
};

struct wio_grid {
    bool plane;
    size_t n;
    int64_t *index;
    struct wio_vec *centre;
    double *fraction; /* 0: masked */
    double *area;     /* of the polygon; 0: none */
    double *given;    /* the model's, or NULL */
    int stride;       /* corners of cell i begin at stride * i, counter-clockwise */
    uint8_t *corners; /* how many a cell has; 0: it has no area */
    struct wio_vec *corner;
    size_t n_corner, n_pieces;
    struct wio_piece *piece; /* in the order of cells */
    uint32_t *first_piece; /* n + 1: those of cell i are first_piece[i] .. first_piece[i + 1] - 1 */
    double scale;          /* 1, or the largest coordinate of the plane */
    int64_t nx, ny;
    bool periodic, fold;
    size_t concave, without_area;
};

static inline const struct wio_vec *wio_grid_corners(const struct wio_grid *g, size_t cell)
{
    return g->corner + (size_t)g->stride * cell;
}

/** The box of a convex piece as it lies on the sphere, which bulges out of its corners' box. */
void wio_piece_box(const struct wio_grid *g, const struct wio_piece *p, struct wio_box *box);

/** As wio_os_alloc(), where the system may take large pages for much memory: most time of a first
 * touch is spent per page. */
void *wio_weights_alloc(size_t bytes);

/** Writes why and returns the code. */
int wio_weights_fail(struct wio_weights_error *why, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif /* WIO_WEIGHTS_GRID_H */
