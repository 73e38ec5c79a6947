/* SPDX-License-Identifier: BSD-3-Clause */
/* Grids for the tests of weights. */
#ifndef TEST_WEIGHTS_HELP_H
#define TEST_WEIGHTS_HELP_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "coupler/weights/grid.h"
#include "coupler/weights/shapes.h"
#include "waitio_errors.h"

static const double TEST_PI = 3.14159265358979323846;

#define assert_near(a, b, tolerance)                                                               \
    do {                                                                                           \
        double near_a = (a), near_b = (b);                                                         \
        if (!(fabs(near_a - near_b) <= (tolerance)))                                               \
            fail_msg("%s = %.17g, %s = %.17g: %g apart", #a, near_a, #b, near_b, near_a - near_b); \
    } while (0)

/** The same numbers on every machine and run. */
static inline double chance(void)
{
    static uint64_t state = 88172645463325252ULL;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

static inline struct wio_own_cells shape(const char *name)
{
    struct wio_own_cells cells;
    struct wio_weights_error why = {""};
    if (wio_shape_make(name, &cells, &why) != 0)
        fail_msg("%s", why.text);
    return cells;
}

static inline struct wio_grid *grid_of(const struct wio_cells *cells)
{
    struct wio_grid *grid = NULL;
    struct wio_weights_error why = {""};
    if (wio_grid_make(cells, 2, &grid, &why) != 0)
        fail_msg("%s", why.text);
    return grid;
}

static inline struct wio_grid *named(const char *name)
{
    struct wio_own_cells cells = shape(name);
    struct wio_grid *grid = grid_of(&cells.cells);
    wio_own_cells_free(&cells);
    return grid;
}

static inline struct wio_weights make(const struct wio_grid *source, const struct wio_grid *target,
                                      struct wio_weights_options options)
{
    struct wio_weights w;
    struct wio_weights_error why = {""};
    if (wio_weights_make(source, target, &options, &w, &why) != 0)
        fail_msg("%s", why.text);
    return w;
}

static inline struct wio_weights_options by(enum wio_method method)
{
    return (struct wio_weights_options){
        .stack = {method}, .n_stack = 1, .norm = WIO_NORM_FRACAREA, .threads = 2};
}

static inline struct wio_weights_report judge(const struct wio_grid *source,
                                              const struct wio_grid *target,
                                              const struct wio_weights *w)
{
    struct wio_weights_report report;
    assert_int_equal(wio_weights_report(source, target, w, &report), 0);
    return report;
}

/** Weight from a source (global index) to a target; 0: no link. */
static inline double weight_of(const struct wio_weights *w, size_t target, int64_t source)
{
    for (size_t i = w->row[target]; i < w->row[target + 1]; i++)
        if (w->source[i] == source)
            return w->weight[i];
    return 0;
}

/** nx x ny rectangles of a plane from (x, y) on, with sides dx and dy. */
static inline struct wio_own_cells plane_cells(int nx, int ny, double x, double y, double dx,
                                               double dy)
{
    struct wio_own_cells c = {.n_own = 0};
    size_t n = (size_t)nx * (size_t)ny;
    double *a[4];
    for (int k = 0; k < 4; k++)
        a[k] = wio_own_cells_alloc(&c, n * (k < 2 ? 1 : 4) * sizeof(double));
    for (size_t i = 0; i < n; i++) {
        double west = x + dx * (double)(i % (size_t)nx), south = y + dy * (double)(i / (size_t)nx);
        a[0][i] = west + dx / 2;
        a[1][i] = south + dy / 2;
        for (size_t k = 0; k < 4; k++) {
            a[2][4 * i + k] = west + (k == 1 || k == 2 ? dx : 0);
            a[3][4 * i + k] = south + (k > 1 ? dy : 0);
        }
    }
    c.cells = (struct wio_cells){.unit = WIO_GRID_PLANE,
                                 .n = n,
                                 .x = a[0],
                                 .y = a[1],
                                 .corners = 4,
                                 .cx = a[2],
                                 .cy = a[3],
                                 .nx = nx,
                                 .ny = ny};
    return c;
}

#endif /* TEST_WEIGHTS_HELP_H */
