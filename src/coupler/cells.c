/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the points of a grid are: a copy of what the program says, in one piece of memory. */
#include <stdlib.h>
#include <string.h>

#include "coupler/cpl.h"

enum { MOST_CORNERS = 250 };

void wio_cpl_cells_free(struct wio_cells *cells)
{
    free(cells);
}

static bool lacks(const double *x, const double *y)
{
    return x == NULL || y == NULL;
}

/* What arrays of cells are missing. */
static int check_arrays(const struct waitio_cpl *cpl, const char *grid,
                        const struct waitio_cpl_cells *c, size_t n)
{
    bool centres = lacks(c->x, c->y), corners = c->corners > 0 && lacks(c->corner_x, c->corner_y);

    if (n == 0 || (!centres && !corners))
        return 0;
    return wio_cpl_fail(WAITIO_ERR_ARG,
                        "the cells of grid '%s' of component '%s' lack %s in process %d", grid,
                        cpl->components[cpl->mine].name,
                        centres ? "centres (x, y)" : "corners (corner_x, corner_y)", cpl->rank);
}

static int check(const struct waitio_cpl *cpl, const char *grid, const struct waitio_cpl_cells *c,
                 size_t n)
{
    const char *own = cpl->components[cpl->mine].name;

    if (c->unit < WAITIO_CPL_DEGREES || c->unit > WAITIO_CPL_PLANE)
        return wio_cpl_fail(WAITIO_ERR_ARG,
                            "the cells of grid '%s' of component '%s' have the unit %d; take "
                            "WAITIO_CPL_DEGREES, _RADIANS or _PLANE",
                            grid, own, c->unit);
    if (c->corners < 0 || c->corners > MOST_CORNERS)
        return wio_cpl_fail(WAITIO_ERR_LIMIT,
                            "the cells of grid '%s' of component '%s' have %d corners; at most %d",
                            grid, own, c->corners, MOST_CORNERS);
    if (c->nx < 0 || c->ny < 0 || (c->nx > 0) != (c->ny > 0))
        return wio_cpl_fail(WAITIO_ERR_ARG,
                            "the cells of grid '%s' of component '%s' have nx %lld and ny %lld; "
                            "give both, or 0 and 0",
                            grid, own, (long long)c->nx, (long long)c->ny);
    if (c->n != 0 && c->n != n)
        return wio_cpl_fail(WAITIO_ERR_ARG,
                            "component '%s' gives %zu cells for grid '%s', which has %zu points in "
                            "process %d; give one for each point, in the order of the indices",
                            own, c->n, grid, n, cpl->rank);
    return check_arrays(cpl, grid, c, n);
}

/* The next array of a copy. @return where it is; NULL when there is none */
static const void *keep(char **at, const void *from, size_t bytes)
{
    void *to = *at;

    if (from == NULL)
        return NULL;
    if (bytes > 0)
        memcpy(to, from, bytes);
    *at += bytes;
    return to;
}

static struct wio_cells *copy(const struct wio_cpl_grid *g, const struct waitio_cpl_cells *c)
{
    size_t n = g->n, real = n * sizeof(double), around = real * (size_t)c->corners;
    struct wio_cells *cells =
        wio_cpl_new(1, sizeof *cells + 4 * real + 2 * around + n * sizeof *c->mask);
    char *at = (char *)(cells + 1);

    if (cells == NULL)
        return NULL;
    cells->unit = c->unit == WAITIO_CPL_DEGREES   ? WIO_GRID_DEGREES
                  : c->unit == WAITIO_CPL_RADIANS ? WIO_GRID_RADIANS
                                                  : WIO_GRID_PLANE;
    cells->n = n;
    cells->index = g->index;
    cells->x = keep(&at, c->x, real);
    cells->y = keep(&at, c->y, real);
    cells->corners = c->corners;
    cells->cx = keep(&at, c->corners > 0 ? c->corner_x : NULL, around);
    cells->cy = keep(&at, c->corners > 0 ? c->corner_y : NULL, around);
    cells->fraction = keep(&at, c->fraction, real);
    cells->area = keep(&at, c->area, real);
    cells->mask = keep(&at, c->mask, n * sizeof *c->mask);
    cells->nx = c->nx;
    cells->ny = c->ny;
    cells->periodic = c->periodic != 0;
    cells->fold = c->fold != 0;
    return cells;
}

int waitio_cpl_grid_cells(waitio_cpl_t cpl, const char *grid, const struct waitio_cpl_cells *cells)
{
    int rc = wio_cpl_enter(cpl);
    struct wio_cpl_grid *g = rc == 0 ? wio_cpl_grid_find(cpl, grid) : NULL;

    if (rc == 0 && g == NULL)
        rc = wio_cpl_fail(WAITIO_ERR_ARG,
                          "component '%s' gives the cells of grid '%s', which it has not defined",
                          cpl->components[cpl->mine].name, grid);
    if (rc == 0)
        rc = check(cpl, grid, cells, g->n);
    if (rc == 0) {
        wio_cpl_cells_free(g->cells);
        g->cells = copy(g, cells);
        rc = g->cells == NULL ? WAITIO_ERR_NOMEM : 0;
    }
    return wio_cpl_leave(cpl, rc);
}
