/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file fuzz_weights.c
 * Cells of any shape: a grid is made or refused with words, and the weights between two grids that
 * are made are sound. The first byte chooses sphere or plane and the number of corners; then four
 * bytes a point, the first of each cell its centre, and the first half of the cells the source.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coupler/weights/weights.h"
#include "waitio_errors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_CELLS = 64, MOST_CORNERS = 9 };

static void must(int holds)
{
    if (!holds)
        abort();
}

struct input {
    double x[MOST_CELLS], y[MOST_CELLS], cx[MOST_CELLS * MOST_CORNERS],
        cy[MOST_CELLS * MOST_CORNERS];
    int corners;
    enum wio_grid_unit unit;
};

/** Two bytes to a coarse and, for odd values, a fine position: corners meet, and nearly meet. */
static double position(const uint8_t *at, double range)
{
    int16_t value = (int16_t)(at[0] << 8 | at[1]);
    double coarse = range * (value / 64) / 512;
    return (value & 1) != 0 ? coarse + 1e-13 * range * (value % 64) : coarse;
}

static size_t read_cells(struct input *in, const uint8_t *data, size_t size)
{
    size_t points = (size_t)in->corners + 1, n = 0;
    double range = in->unit == WIO_GRID_DEGREES ? 90 : 1000;
    for (; n < MOST_CELLS && size >= 4 * points; n++, size -= 4 * points)
        for (size_t k = 0; k < points; k++, data += 4) {
            double x = position(data, 2 * range), y = position(data + 2, range);
            double *to_x = k == 0 ? &in->x[n] : &in->cx[n * (size_t)in->corners + k - 1];
            double *to_y = k == 0 ? &in->y[n] : &in->cy[n * (size_t)in->corners + k - 1];
            *to_x = x;
            *to_y = y;
        }
    return n;
}

static struct wio_grid *make(const struct input *in, size_t first, size_t n)
{
    struct wio_grid *grid = NULL;
    struct wio_weights_error why = {""};
    const struct wio_cells cells = {.unit = in->unit,
                                    .n = n,
                                    .x = in->x + first,
                                    .y = in->y + first,
                                    .corners = in->corners,
                                    .cx = in->cx + first * (size_t)in->corners,
                                    .cy = in->cy + first * (size_t)in->corners};
    if (wio_grid_make(&cells, 1, &grid, &why) != 0)
        must(grid == NULL && why.text[0] != '\0');
    for (size_t i = 0; i < n && grid != NULL; i++)
        must(wio_grid_area(grid, i) >= 0 && isfinite(wio_grid_area(grid, i)));
    return grid;
}

static void check(const struct wio_grid *source, const struct wio_grid *target,
                  enum wio_method method)
{
    const struct wio_weights_options options = {
        .stack = {method}, .n_stack = 1, .norm = WIO_NORM_FRACAREA, .threads = 1};
    struct wio_weights w;
    struct wio_weights_error why = {""};
    must(wio_weights_make(source, target, &options, &w, &why) == 0);
    for (size_t t = 0; t < w.n_targets; t++) {
        double sum = 0, size = 1;
        for (size_t i = w.row[t]; i < w.row[t + 1]; i++) {
            must(isfinite(w.weight[i]));
            must(method == WIO_METHOD_CONSERVATIVE2 || w.weight[i] >= 0);
            must(i == w.row[t] || w.source[i] > w.source[i - 1]);
            sum += w.weight[i];
            size += fabs(w.weight[i]);
        }
        must(w.row[t] == w.row[t + 1] || fabs(sum - 1) < 1e-9 * size);
    }
    wio_weights_free(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct input in;
    if (size < 2)
        return 0;
    memset(&in, 0, sizeof in);
    in.unit = (data[0] & 1) != 0 ? WIO_GRID_PLANE : WIO_GRID_DEGREES;
    in.corners = 3 + data[0] / 2 % (MOST_CORNERS - 2);
    size_t n = read_cells(&in, data + 1, size - 1);
    struct wio_grid *source = make(&in, 0, n / 2), *target = make(&in, n / 2, n - n / 2);
    if (source != NULL && target != NULL)
        for (int m = WIO_METHOD_NEAREST; m < WIO_METHODS; m++)
            if (m != WIO_METHOD_BILINEAR)
                check(source, target, (enum wio_method)m);
    wio_grid_free(source);
    wio_grid_free(target);
    return 0;
}
