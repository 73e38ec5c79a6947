/* SPDX-License-Identifier: BSD-3-Clause */
/* Grids by name, and arrays of cells that belong to nobody else. */
#ifndef WIO_WEIGHTS_SHAPES_H
#define WIO_WEIGHTS_SHAPES_H

#include "coupler/weights/weights.h"

/** Cells with arrays of their own: from a name, or from a file (files.h). */
struct wio_own_cells {
    struct wio_cells cells;
    void *own[12];
    int n_own;
};

/** Memory that lives as long as the cells. @return NULL when out of memory */
void *wio_own_cells_alloc(struct wio_own_cells *cells, size_t bytes);
void wio_own_cells_free(struct wio_own_cells *cells);

/** Makes the cells of a named grid of the sphere:
 *    rNXxNY  longitudes and latitudes; the first centre is at 0 degrees east, next to the south
 * pole csN     the cubed sphere with 6 N^2 cells of equal angles icoN    the icosahedron's faces,
 * each cut into N^2 triangles
 * @return 0; WAITIO_ERR_ARG: no such name; WAITIO_ERR_NOMEM */
int wio_shape_make(const char *name, struct wio_own_cells *cells, struct wio_weights_error *why);

/** Does it look like the name of a grid, not like that of a file? */
bool wio_shape_is_name(const char *name);

#endif /* WIO_WEIGHTS_SHAPES_H */
