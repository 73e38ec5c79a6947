/* SPDX-License-Identifier: BSD-3-Clause */
/* Weight files are written. */
#include <stdio.h>
#include <string.h>

#include "coupler/weights/files.h"
#include "coupler/weights/grid.h"
#include "coupler/weights/store.h"
#include "coupler/weights/team.h"
#include "os/os.h"
#include "waitio_errors.h"

/** Names of one grid's dimensions and variables in a format. */
struct names {
    const char *size, *rank, *dims, *lat, *lon, *mask, *area, *frac;
};

static const struct names NAMES[2][2] = {
    [WIO_FORMAT_SCRIP] = {{"src_grid_size", "src_grid_rank", "src_grid_dims", "src_grid_center_lat",
                           "src_grid_center_lon", "src_grid_imask", "src_grid_area",
                           "src_grid_frac"},
                          {"dst_grid_size", "dst_grid_rank", "dst_grid_dims", "dst_grid_center_lat",
                           "dst_grid_center_lon", "dst_grid_imask", "dst_grid_area",
                           "dst_grid_frac"}},
    [WIO_FORMAT_ESMF] = {
        {"n_a", "src_grid_rank", "src_grid_dims", "yc_a", "xc_a", "mask_a", "area_a", "frac_a"},
        {"n_b", "dst_grid_rank", "dst_grid_dims", "yc_b", "xc_b", "mask_b", "area_b", "frac_b"}}};

struct writing {
    struct wio_store *store;
    enum wio_weights_format format;
    const struct wio_grid *grid[2];
    const struct wio_weights *w;
    const struct wio_weights_label *label;
    double *number; /* room for the larger grid, or the links */
    int *whole;     /* the same */
    bool areas;     /* a method looks at corners */
    int threads;
};

static const char *units(const struct writing *x)
{
    if (x->grid[0]->plane)
        return "m";
    return x->format == WIO_FORMAT_ESMF ? "degrees" : "radians";
}

static void define_grid(const struct writing *x, int side)
{
    const struct names *names = &NAMES[x->format][side];
    const struct wio_grid *g = x->grid[side];
    struct wio_store *s = x->store;
    int n = wio_store_add_dim(s, names->size, g->n);
    int rank = wio_store_add_dim(s, names->rank, g->nx > 0 ? 2 : 1);
    wio_store_add_variable(s, names->dims, WIO_STORE_INT, 1, &rank, NULL);
    wio_store_add_variable(s, names->lat, WIO_STORE_DOUBLE, 1, &n, units(x));
    wio_store_add_variable(s, names->lon, WIO_STORE_DOUBLE, 1, &n, units(x));
    wio_store_add_variable(s, names->mask, WIO_STORE_INT, 1, &n, "unitless");
    if (x->areas)
        wio_store_add_variable(s, names->area, WIO_STORE_DOUBLE, 1, &n,
                               g->plane ? "m2" : "square radians");
    wio_store_add_variable(s, names->frac, WIO_STORE_DOUBLE, 1, &n, "unitless");
    if (side == 1) {
        wio_store_add_variable(s, "waitio_method", WIO_STORE_BYTE, 1, &n, NULL);
        wio_store_add_text(s, "waitio_method", "long_name",
                           "method that gave a target its weights");
        wio_store_add_text(s, "waitio_method", "flag_meanings",
                           "none nearest distance bilinear barycentric conservative conservative2 "
                           "fixed");
        wio_store_add_number(s, "waitio_method", "fixed_value", x->w->fixed);
    }
}

static void define_links(const struct writing *x)
{
    struct wio_store *s = x->store;
    bool esmf = x->format == WIO_FORMAT_ESMF;
    int dims[2];
    dims[0] = wio_store_add_dim(s, esmf ? "n_s" : "num_links", x->w->n_links);
    wio_store_add_variable(s, esmf ? "col" : "src_address", WIO_STORE_INT, 1, dims, NULL);
    wio_store_add_variable(s, esmf ? "row" : "dst_address", WIO_STORE_INT, 1, dims, NULL);
    if (!esmf)
        dims[1] = wio_store_add_dim(s, "num_wgts", 1);
    wio_store_add_variable(s, esmf ? "S" : "remap_matrix", WIO_STORE_DOUBLE, esmf ? 1 : 2, dims,
                           NULL);
}

/** What other programs call the methods. */
static const char *common_name(enum wio_method method)
{
    switch (method) {
    case WIO_METHOD_NEAREST:
        return "Nearest neighbor";
    case WIO_METHOD_DISTANCE:
        return "Distance weighted avg of nearest neighbors";
    case WIO_METHOD_BILINEAR:
    case WIO_METHOD_BARYCENTRIC:
        return "Bilinear remapping";
    default:
        return "Conservative remapping";
    }
}

static void define_texts(const struct writing *x)
{
    const struct wio_weights_options *o = x->label->options;
    const char *norm = o->norm == WIO_NORM_FRACAREA ? "fracarea" : "destarea";
    bool conserves =
        o->stack[0] == WIO_METHOD_CONSERVATIVE || o->stack[0] == WIO_METHOD_CONSERVATIVE2;
    char stack[256] = "";
    for (int k = 0; k < o->n_stack; k++)
        snprintf(stack + strlen(stack), sizeof stack - strlen(stack), "%s%s", k > 0 ? " " : "",
                 wio_method_name(o->stack[k]));
    wio_store_add_text(x->store, NULL, "title", "weights between two grids, made by WaitIO");
    wio_store_add_text(x->store, NULL, "normalization", conserves ? norm : "none");
    wio_store_add_text(x->store, NULL, "map_method", common_name(o->stack[0]));
    if (conserves) /* one weight a link, whatever the order of the method */
        wio_store_add_number(x->store, NULL, "remap_order", 1);
    wio_store_add_text(x->store, NULL, "waitio_methods", stack);
    wio_store_add_text(x->store, NULL, "conventions",
                       x->format == WIO_FORMAT_ESMF ? "NCAR-CSM" : "SCRIP");
    wio_store_add_text(x->store, NULL, x->format == WIO_FORMAT_ESMF ? "domain_a" : "source_grid",
                       x->label->source);
    wio_store_add_text(x->store, NULL, x->format == WIO_FORMAT_ESMF ? "domain_b" : "dest_grid",
                       x->label->target);
}

struct places {
    const struct wio_grid *g;
    const struct wio_cells *c;
    double *to, unit; /* unit: in radians, of what is written */
    bool latitude;
};

/** The centres as they were given, which are exact; longitudes from 0 up to once around. */
static int take_places(void *arg, int thread, size_t begin, size_t end)
{
    (void)thread;
    const struct places *p = arg;
    const struct wio_cells *c = p->c;
    bool plane = c->unit == WIO_GRID_PLANE;
    double given = c->unit == WIO_GRID_DEGREES ? atan(1) / 45 : 1;
    double turn = c->unit == WIO_GRID_DEGREES ? 360 : 8 * atan(1);
    double factor = plane || given == p->unit ? 1 : given / p->unit;
    for (size_t i = begin; i < end; i++) {
        double at = p->latitude ? c->y[i] : c->x[i];
        if (!p->latitude && !plane)
            at = at >= 0 && at < turn ? at : at - turn * floor(at / turn);
        p->to[i] = at * factor;
    }
    return 0;
}

static int find_places(void *arg, int thread, size_t begin, size_t end)
{
    (void)thread;
    const struct places *p = arg;
    for (size_t i = begin; i < end; i++) {
        struct wio_vec c = p->g->centre[i];
        double angle = p->latitude ? atan2(c.z, hypot(c.x, c.y)) : atan2(c.y, c.x);
        if (p->g->plane)
            p->to[i] = p->latitude ? c.y : c.x;
        else
            p->to[i] = (angle < 0 && !p->latitude ? angle + 8 * atan(1) : angle) / p->unit;
    }
    return 0;
}

static void put_places(const struct writing *x, int side, bool latitude)
{
    const struct names *names = &NAMES[x->format][side];
    struct places p = {.g = x->grid[side], .to = x->number, .latitude = latitude};
    p.unit = x->format == WIO_FORMAT_ESMF ? atan(1) / 45 : 1;
    p.c = x->label->cells[side];
    wio_team_run(x->threads, p.g->n, 8192, p.c != NULL ? take_places : find_places, &p);
    wio_store_put(x->store, latitude ? names->lat : names->lon, WIO_STORE_DOUBLE, x->number);
}

/** 1: a source cell is used. */
static void mark_used(const struct writing *x)
{
    const struct wio_weights *w = x->w;
    memset(x->number, 0, x->grid[0]->n * sizeof *x->number);
    for (size_t i = 0; i < w->n_links; i++)
        x->number[w->position[i]] = 1;
}

/** Part of each source cell that is given away. */
static void add_up_used(const struct writing *x)
{
    const struct wio_weights *w = x->w;
    const struct wio_grid *source = x->grid[0], *target = x->grid[1];
    memset(x->number, 0, source->n * sizeof *x->number);
    for (size_t t = 0; t < w->n_targets; t++)
        for (size_t i = w->row[t]; i < w->row[t + 1]; i++)
            x->number[w->position[i]] += w->weight[i] * target->area[t] * target->fraction[t];
    for (size_t s = 0; s < source->n; s++)
        x->number[s] = source->area[s] > 0 ? x->number[s] / source->area[s] : 0;
}

/** Part of each source cell that is used, or of each target cell that is covered. */
static void put_fractions(const struct writing *x, int side)
{
    const double *fractions = side == 1 ? x->w->coverage : x->number;
    if (side == 0)
        (x->areas ? add_up_used : mark_used)(x);
    wio_store_put(x->store, NAMES[x->format][side].frac, WIO_STORE_DOUBLE, fractions);
}

static void put_grid(const struct writing *x, int side)
{
    const struct names *names = &NAMES[x->format][side];
    const struct wio_grid *g = x->grid[side];
    const int dims[2] = {g->nx > 0 ? (int)g->nx : (int)g->n, (int)g->ny};
    wio_store_put(x->store, names->dims, WIO_STORE_INT, dims);
    put_places(x, side, true);
    put_places(x, side, false);
    for (size_t i = 0; i < g->n; i++)
        x->whole[i] = g->fraction[i] > 0;
    wio_store_put(x->store, names->mask, WIO_STORE_INT, x->whole);
    if (x->areas)
        wio_store_put(x->store, names->area, WIO_STORE_DOUBLE, g->area);
    put_fractions(x, side);
    if (side == 1)
        wio_store_put(x->store, "waitio_method", WIO_STORE_BYTE, x->w->method);
}

static void put_links(const struct writing *x)
{
    const struct wio_weights *w = x->w;
    bool esmf = x->format == WIO_FORMAT_ESMF;
    for (size_t i = 0; i < w->n_links; i++)
        x->whole[i] = (int)w->source[i];
    wio_store_put(x->store, esmf ? "col" : "src_address", WIO_STORE_INT, x->whole);
    for (size_t t = 0; t < w->n_targets; t++)
        for (size_t i = w->row[t]; i < w->row[t + 1]; i++)
            x->whole[i] = (int)x->grid[1]->index[t];
    wio_store_put(x->store, esmf ? "row" : "dst_address", WIO_STORE_INT, x->whole);
    wio_store_put(x->store, esmf ? "S" : "remap_matrix", WIO_STORE_DOUBLE, w->weight);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static bool is_whole(const struct wio_grid *g)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->index[i] != (int64_t)i + 1)
            return false;
    return g->n <= INT32_MAX;
}

int wio_weights_write(const char *path, enum wio_weights_format format,
                      const struct wio_grid *source, const struct wio_grid *target,
                      const struct wio_weights *weights, const struct wio_weights_label *label,
                      struct wio_weights_error *why)
{
    struct writing x = {.format = format, .grid = {source, target}, .w = weights, .label = label};
    size_t n = larger(larger(source->n, target->n), weights->n_links);
    if (!is_whole(source) || !is_whole(target))
        return wio_weights_fail(
            why, WAITIO_ERR_ARG,
            "a weight file needs both grids whole, with at most 2^31 - 1 cells");
    x.areas = wio_weights_need_corners(label->options);
    x.threads = wio_team_size(label->options->threads);
    x.number = wio_weights_alloc(larger(source->n, target->n) * sizeof *x.number);
    x.whole = wio_weights_alloc(n * sizeof *x.whole);
    int error = WAITIO_ERR_NOMEM;
    if (x.number == NULL || x.whole == NULL)
        wio_weights_fail(why, error, "out of memory for writing '%s'", path);
    else
        error = wio_store_create(path, weights->n_links > UINT32_MAX / 8 - 64, &x.store, why);
    if (error == 0) {
        define_grid(&x, 0);
        define_grid(&x, 1);
        define_links(&x);
        define_texts(&x);
        wio_store_begin(x.store);
        put_grid(&x, 0);
        put_grid(&x, 1);
        put_links(&x);
        error = wio_store_close(x.store, why);
    }
    wio_os_free(x.number);
    wio_os_free(x.whole);
    return error;
}

static void define_cells(struct wio_store *s, const struct wio_cells *c)
{
    static const char *const units[] = {
        [WIO_GRID_DEGREES] = "degrees", [WIO_GRID_RADIANS] = "radians", [WIO_GRID_PLANE] = "m"};
    int dims[2] = {wio_store_add_dim(s, "grid_size", c->n), -1};
    int rank = wio_store_add_dim(s, "grid_rank", c->nx > 0 ? 2 : 1);
    wio_store_add_variable(s, "grid_dims", WIO_STORE_INT, 1, &rank, NULL);
    wio_store_add_variable(s, "grid_center_lat", WIO_STORE_DOUBLE, 1, dims, units[c->unit]);
    wio_store_add_variable(s, "grid_center_lon", WIO_STORE_DOUBLE, 1, dims, units[c->unit]);
    wio_store_add_variable(s, "grid_imask", WIO_STORE_INT, 1, dims, "unitless");
    if (c->corners > 0) {
        dims[1] = wio_store_add_dim(s, "grid_corners", (size_t)c->corners);
        wio_store_add_variable(s, "grid_corner_lat", WIO_STORE_DOUBLE, 2, dims, units[c->unit]);
        wio_store_add_variable(s, "grid_corner_lon", WIO_STORE_DOUBLE, 2, dims, units[c->unit]);
    }
    wio_store_add_text(s, NULL, "conventions", "SCRIP");
    wio_store_add_text(s, NULL, "title", "a grid, written by WaitIO");
    wio_store_begin(s);
}

int wio_cells_write(const char *path, const struct wio_cells *c, struct wio_weights_error *why)
{
    struct wio_store *s;
    const int shape[2] = {c->nx > 0 ? (int)c->nx : (int)c->n, (int)c->ny};
    int *mask = wio_os_alloc(c->n * sizeof *mask);
    if (mask == NULL)
        return wio_weights_fail(why, WAITIO_ERR_NOMEM, "out of memory for writing '%s'", path);
    int error = wio_store_create(path, c->n > UINT32_MAX / 8 / (size_t)(c->corners + 1), &s, why);
    if (error == 0) {
        define_cells(s, c);
        for (size_t i = 0; i < c->n; i++)
            mask[i] = c->mask != NULL ? c->mask[i] : 1;
        wio_store_put(s, "grid_dims", WIO_STORE_INT, shape);
        wio_store_put(s, "grid_center_lat", WIO_STORE_DOUBLE, c->y);
        wio_store_put(s, "grid_center_lon", WIO_STORE_DOUBLE, c->x);
        wio_store_put(s, "grid_imask", WIO_STORE_INT, mask);
        if (c->corners > 0) {
            wio_store_put(s, "grid_corner_lat", WIO_STORE_DOUBLE, c->cy);
            wio_store_put(s, "grid_corner_lon", WIO_STORE_DOUBLE, c->cx);
        }
        error = wio_store_close(s, why);
    }
    wio_os_free(mask);
    return error;
}
