/* SPDX-License-Identifier: BSD-3-Clause */
/* Pixels of equal longitudes and latitudes; equal ones beside each other become one rectangle. */
#include "coupler/weights/picture.h"

#include <string.h>

#include "coupler/weights/grid.h"
#include "coupler/weights/team.h"
#include "coupler/weights/tree.h"
#include "os/os.h"
#include "waitio_errors.h"

enum { WIDE = 720, HIGH = 360, MASKED = WIO_METHODS, AWAY, KINDS };

static const char *const COLOR[KINDS] = {[WIO_METHOD_NONE] = "#d40000",
                                         [WIO_METHOD_NEAREST] = "#e69f00",
                                         [WIO_METHOD_DISTANCE] = "#f0e442",
                                         [WIO_METHOD_BILINEAR] = "#56b4e9",
                                         [WIO_METHOD_BARYCENTRIC] = "#0072b2",
                                         [WIO_METHOD_CONSERVATIVE] = "#009e73",
                                         [WIO_METHOD_CONSERVATIVE2] = "#00664a",
                                         [WIO_METHOD_FIXED] = "#cc79a7",
                                         [MASKED] = "#dddddd",
                                         [AWAY] = "#ffffff"};

struct drawing {
    const struct wio_picture *p;
    const struct wio_grid *grid;
    struct wio_tree *tree;
    double within2;
    uint8_t *pixel;
};

static bool point_box(const void *arg, size_t i, struct wio_box *box)
{
    const struct wio_grid *g = arg;
    *box = wio_box_empty();
    wio_box_add(box, g->centre[i]);
    return true;
}

static int kind_of(const struct wio_picture *p, size_t target)
{
    return p->mask[target] ? p->method[target] : MASKED;
}

static int fill_rows(void *arg, int thread, size_t begin, size_t end)
{
    (void)thread;
    const struct drawing *d = arg;
    const struct wio_points points = {.at = d->grid->centre, .index = d->grid->index};
    double degree = atan(1) / 45;
    for (size_t row = begin; row < end; row++)
        for (size_t k = 0; k < WIDE; k++) {
            double lat = (90 - 180 * ((double)row + 0.5) / HIGH) * degree;
            double lon = (360 * ((double)k + 0.5) / WIDE - 180) * degree;
            struct wio_vec at = {cos(lat) * cos(lon), cos(lat) * sin(lon), sin(lat)};
            struct wio_near near;
            int kind = AWAY;
            if (wio_tree_nearest(d->tree, &points, at, d->within2, 1, &near) == 1)
                kind = kind_of(d->p, near.item);
            d->pixel[row * WIDE + k] = (uint8_t)kind;
        }
    return 0;
}

/** How far from a target a place may be to have its colour: twice the distance to its nearest
 * neighbour, the largest of all, but no more than a quarter around. */
static double reach2(const struct drawing *d)
{
    const struct wio_points points = {.at = d->grid->centre, .index = d->grid->index};
    double most = 0;
    size_t step = d->grid->n / 4096 + 1;
    for (size_t i = 0; i < d->grid->n; i += step) {
        struct wio_near near[2];
        if (wio_tree_nearest(d->tree, &points, d->grid->centre[i], INFINITY, 2, near) == 2)
            most = fmax(most, near[1].distance2);
    }
    return most > 0 && most < 0.5 ? 4 * most : 2;
}

static void write_legend(FILE *to, const struct wio_picture *p)
{
    size_t count[KINDS] = {0};
    int x = 10;
    for (size_t i = 0; i < p->n; i++)
        count[kind_of(p, i)]++;
    for (int k = 0; k < AWAY; k++) {
        if (count[k] == 0)
            continue;
        const char *name = k == MASKED            ? "masked"
                           : k == WIO_METHOD_NONE ? "without value"
                                                  : wio_method_name((enum wio_method)k);
        char label[64];
        int n = snprintf(label, sizeof label, "%s %zu", name, count[k]);
        fprintf(to,
                "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\" stroke=\"#888\"/>"
                "<text x=\"%d\" y=\"%d\">%s</text>\n",
                x, HIGH + 38, COLOR[k], x + 17, HIGH + 49, label);
        x += 34 + 7 * n;
    }
}

static void write_pixels(FILE *to, const uint8_t *pixel)
{
    for (int row = 0; row < HIGH; row++)
        for (int from = 0, k = 1; k <= WIDE; k++) {
            const uint8_t *line = pixel + (size_t)row * WIDE;
            if (k < WIDE && line[k] == line[from])
                continue;
            if (line[from] != AWAY)
                fprintf(to, "<path d=\"M%d %dh%dv1h-%dz\" fill=\"%s\"/>\n", from, row + 28,
                        k - from, k - from, COLOR[line[from]]);
            from = k;
        }
}

static void write_title(FILE *to, const char *title)
{
    fprintf(to, "<text x=\"10\" y=\"18\">");
    for (const char *c = title; *c != '\0'; c++) {
        if (*c == '<' || *c == '&' || (unsigned char)*c < ' ')
            fprintf(to, "&#%d;", *c == '<' || *c == '&' ? *c : '?');
        else
            fputc(*c, to);
    }
    fprintf(to, "</text>\n");
}

static int write_svg(FILE *to, const struct drawing *d, struct wio_weights_error *why)
{
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
            "font-family=\"sans-serif\" "
            "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
            "<g shape-rendering=\"crispEdges\">\n",
            WIDE, HIGH + 60);
    write_pixels(to, d->pixel);
    fprintf(to,
            "</g>\n<rect x=\"0.5\" y=\"28.5\" width=\"%d\" height=\"%d\" fill=\"none\" "
            "stroke=\"#888\"/>\n",
            WIDE - 1, HIGH - 1);
    write_title(to, d->p->title);
    write_legend(to, d->p);
    fprintf(to, "</svg>\n");
    if (fflush(to) != 0 || ferror(to))
        return wio_weights_fail(why, WAITIO_ERR_SYSTEM, "the picture could not be written");
    return 0;
}

int wio_picture_write(FILE *to, const struct wio_picture *picture, struct wio_weights_error *why)
{
    const struct wio_cells cells = {
        .unit = WIO_GRID_DEGREES, .n = picture->n, .x = picture->lon, .y = picture->lat};
    struct wio_grid *grid = NULL;
    int error = wio_grid_make(&cells, 0, &grid, why);
    if (error != 0)
        return error;
    struct drawing d = {.p = picture, .grid = grid, .pixel = wio_os_alloc(WIDE * HIGH)};
    int threads = wio_team_size(0);
    error = d.pixel == NULL ? WAITIO_ERR_NOMEM
                            : wio_tree_make(grid->n, point_box, grid, false, threads, &d.tree);
    if (error != 0)
        wio_weights_fail(why, error, "out of memory for a picture of %zu targets", picture->n);
    if (error == 0) {
        d.within2 = reach2(&d);
        wio_team_run(threads, HIGH, 8, fill_rows, &d);
        error = write_svg(to, &d, why);
    }
    wio_tree_free(d.tree);
    wio_os_free(d.pixel);
    wio_grid_free(grid);
    return error;
}
