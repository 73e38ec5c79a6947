/* SPDX-License-Identifier: BSD-3-Clause */
/* Grids: from a program's arrays to clean polygons on the sphere or in the plane. */
#include "coupler/weights/grid.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "coupler/weights/polygon.h"
#include "coupler/weights/team.h"
#include "os/os.h"
#include "waitio_errors.h"

enum { GRAIN = 2048 };
static const double PI = 3.14159265358979323846;

/** Sine and cosine that are exact where they are 0 and 1, so that poles meet and 360 degrees are 0.
 */
static void sine_cosine(enum wio_grid_unit unit, double angle, double *s, double *c)
{
    double quarter = unit == WIO_GRID_DEGREES ? 90 : 0.5 * PI, turns = nearbyint(angle / quarter);
    double rest = angle - quarter * turns;
    if (unit == WIO_GRID_DEGREES)
        rest *= PI / 180;
    else if (fabs(rest) <
             8e-16 * (fabs(turns) + 1)) /* a multiple of pi / 2, as written in a file */
        rest = 0;
    double sr = sin(rest), cr = cos(rest);
    switch ((int)fmod(turns, 4) & 3) {
    case 0:
        *s = sr, *c = cr;
        break;
    case 1:
        *s = cr, *c = -sr;
        break;
    case 2:
        *s = -sr, *c = -cr;
        break;
    default:
        *s = -cr, *c = sr;
        break;
    }
}

static struct wio_vec point(enum wio_grid_unit unit, double x, double y)
{
    double sx, cx, sy, cy;
    if (unit == WIO_GRID_PLANE)
        return (struct wio_vec){x, y, 0};
    sine_cosine(unit, x, &sx, &cx);
    sine_cosine(unit, y, &sy, &cy);
    return (struct wio_vec){cy * cx, cy * sx, sy};
}

/** Is it a place at all: finite, and a latitude no further than the poles? */
static bool sensible(enum wio_grid_unit unit, double x, double y)
{
    double most = unit == WIO_GRID_DEGREES ? 90 : 0.5 * PI;
    return isfinite(x) && isfinite(y) && fabs(x) < 1e15 &&
           (unit == WIO_GRID_PLANE || fabs(y) <= most * (1 + 1e-6));
}

struct making {
    const struct wio_cells *cells;
    struct wio_grid *g;
    _Atomic size_t bad; /* the first cell that is none, + 1 */
    _Atomic size_t cut; /* cells that are more than one piece */
    double tolerance;   /* corners nearer than this are one */
};

enum { SHAPE_NONE, SHAPE_CONVEX, SHAPE_CUT, SHAPE_BAD };

static void blame(struct making *m, size_t cell)
{
    size_t seen = atomic_load(&m->bad);
    while ((seen == 0 || cell + 1 < seen) &&
           !atomic_compare_exchange_weak(&m->bad, &seen, cell + 1))
        continue;
}

/** What every cell has. @return false: it is none */
static bool fill_centre(const struct wio_cells *c, struct wio_grid *g, size_t i)
{
    double f = c->mask != NULL && c->mask[i] == 0 ? 0 : c->fraction != NULL ? c->fraction[i] : 1;
    g->index[i] = c->index != NULL ? c->index[i] : (int64_t)i + 1;
    g->fraction[i] = f;
    if (!sensible(c->unit, c->x[i], c->y[i]) || !(f >= 0 && f <= 1 + 1e-9) || g->index[i] < 1)
        return false;
    g->centre[i] = point(c->unit, c->x[i], c->y[i]);
    if (g->given == NULL)
        return true;
    g->given[i] = c->area[i];
    return g->given[i] >= 0 && isfinite(g->given[i]);
}

/** Corners, cleaned and counter-clockwise. @return the cell's shape */
static int fill_corners(const struct making *m, size_t i)
{
    const struct wio_cells *c = m->cells;
    struct wio_grid *g = m->g;
    struct wio_vec *p = g->corner + (size_t)g->stride * i;
    for (int k = 0; k < c->corners; k++) {
        size_t at = (size_t)c->corners * i + (size_t)k;
        if (!sensible(c->unit, c->cx[at], c->cy[at]))
            return SHAPE_BAD;
        p[k] = point(c->unit, c->cx[at], c->cy[at]);
    }
    int n = wio_polygon_clean(p, c->corners, m->tolerance);
    double area = n < 3 ? 0 : wio_polygon_area(g->plane, p, n);
    if (n < 3 || fabs(area) < m->tolerance * m->tolerance)
        return SHAPE_NONE;
    if (area < 0)
        wio_polygon_reverse(p, n);
    g->area[i] = fabs(area);
    g->corners[i] = (uint8_t)n;
    return n <= WIO_PIECE_CORNERS && wio_polygon_convex(g->plane, p, n) ? SHAPE_CONVEX : SHAPE_CUT;
}

/** The ball around a piece. @return false: as large as half the sphere */
static bool fill_cap(const struct wio_grid *g, struct wio_piece *p)
{
    const struct wio_vec *corner = g->corner + p->first;
    struct wio_vec middle = {0, 0, 0};
    for (uint32_t k = 0; k < p->corners; k++)
        middle = wio_vec_add(middle, corner[k]);
    middle = wio_vec_scale(middle, 1.0 / p->corners);
    if (!g->plane) {
        if (!(wio_vec_norm(middle) > 0.1))
            return false;
        middle = wio_vec_unit(middle);
    }
    double most = 0;
    for (uint32_t k = 0; k < p->corners; k++)
        most = fmax(most, wio_vec_distance2(corner[k], middle));
    p->cap = middle;
    p->radius = sqrt(most) * (1 + 1e-14);
    return g->plane || most < 1.9; /* 2: a quarter of the way around */
}

static int fill_centres(void *arg, int thread, size_t begin, size_t end)
{
    (void)thread;
    struct making *m = arg;
    for (size_t i = begin; i < end; i++)
        if (!fill_centre(m->cells, m->g, i))
            blame(m, i);
    return 0;
}

static int fill_cells(void *arg, int thread, size_t begin, size_t end)
{
    (void)thread;
    struct making *m = arg;
    struct wio_grid *g = m->g;
    for (size_t i = begin; i < end; i++) {
        int shape = fill_centre(m->cells, g, i) ? fill_corners(m, i) : SHAPE_BAD;
        struct wio_piece *p = &g->piece[i];
        *p = (struct wio_piece){.cell = (uint32_t)i,
                                .corners = g->corners[i],
                                .first = (size_t)g->stride * i,
                                .area = g->area[i]};
        if (shape == SHAPE_CUT)
            atomic_fetch_add(&m->cut, 1);
        if (shape == SHAPE_CUT || shape == SHAPE_NONE)
            p->area = 0; /* not yet a piece, or none */
        if (shape == SHAPE_BAD || (shape != SHAPE_NONE && !fill_cap(g, p)))
            blame(m, i);
    }
    return 0;
}

/** Cuts a cell into triangles behind the other pieces' corners. @return false: it crosses itself */
static bool cut_cell(struct wio_grid *g, const struct wio_piece *whole, struct wio_piece *out,
                     int *n)
{
    int triangle[WIO_POLYGON_MAX][3];
    const struct wio_vec *p = wio_grid_corners(g, whole->cell);
    int made = wio_polygon_cut(g->plane, p, g->corners[whole->cell], triangle);
    g->area[whole->cell] = 0;
    *n = 0;
    for (int t = 0; t < made; t++) {
        struct wio_piece *piece = &out[*n];
        for (int k = 0; k < 3; k++)
            g->corner[g->n_corner + (size_t)k] = p[triangle[t][k]];
        *piece = (struct wio_piece){.cell = whole->cell, .corners = 3, .first = g->n_corner};
        piece->area = wio_polygon_area(g->plane, g->corner + g->n_corner, 3);
        if (!(piece->area > 0) || !fill_cap(g, piece))
            continue;
        g->area[whole->cell] += piece->area;
        g->n_corner += 3;
        (*n)++;
    }
    return made > 0;
}

/** Puts the pieces of all cells in order; cells without area have none. */
static int gather_pieces(struct making *m, size_t cut)
{
    struct wio_grid *g = m->g;
    size_t most = cut * (size_t)g->stride;
    struct wio_piece *all = wio_weights_alloc((g->n + most) * sizeof *all);
    struct wio_vec *corner = NULL;
    if (cut > 0)
        corner = wio_os_realloc(g->corner, (g->n_corner + 3 * most) * sizeof *corner);
    if (corner != NULL)
        g->corner = corner;
    if (all == NULL || (cut > 0 && corner == NULL)) {
        wio_os_free(all);
        return WAITIO_ERR_NOMEM;
    }
    size_t n = 0;
    for (size_t i = 0; i < g->n; i++) {
        int made = 0;
        g->first_piece[i] = (uint32_t)n;
        if (g->piece[i].area > 0) {
            all[n++] = g->piece[i];
        } else if (g->corners[i] > 0) {
            g->concave++;
            if (!cut_cell(g, &g->piece[i], &all[n], &made))
                blame(m, i);
            n += (size_t)made;
        } else {
            g->without_area += g->stride > 0;
        }
    }
    g->first_piece[g->n] = (uint32_t)n;
    wio_os_free(g->piece);
    g->piece = all;
    g->n_pieces = n;
    return 0;
}

static int compare_index(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/** The indices in ascending order. @return NULL: out of memory */
static int64_t *sorted_index(const struct wio_grid *g)
{
    int64_t *sorted = wio_os_alloc(g->n * sizeof *sorted);
    bool in_order = true;
    for (size_t i = 0; i < g->n && sorted != NULL; i++) {
        sorted[i] = g->index[i];
        in_order = in_order && (i == 0 || sorted[i] >= sorted[i - 1]);
    }
    if (sorted != NULL && !in_order)
        qsort(sorted, g->n, sizeof *sorted, compare_index);
    return sorted;
}

/** Every index once, and within a rectangular grid's range. */
static int check_index(const struct wio_cells *c, const struct wio_grid *g,
                       struct wio_weights_error *why)
{
    if (c->nx < 0 || c->ny < 0 || (c->nx > 0 && c->ny > INT64_MAX / c->nx))
        return wio_weights_fail(why, WAITIO_ERR_ARG, "a grid of %lld x %lld cells",
                                (long long)c->nx, (long long)c->ny);
    int64_t *sorted = sorted_index(g);
    if (sorted == NULL)
        return WAITIO_ERR_NOMEM;
    int error = 0;
    if (g->n > 0 && c->nx > 0 && sorted[g->n - 1] > c->nx * c->ny)
        error = wio_weights_fail(why, WAITIO_ERR_ARG,
                                 "global index %lld is outside a grid of %lld x %lld cells",
                                 (long long)sorted[g->n - 1], (long long)c->nx, (long long)c->ny);
    for (size_t i = 1; i < g->n && error == 0; i++)
        if (sorted[i] == sorted[i - 1])
            error = wio_weights_fail(why, WAITIO_ERR_ARG,
                                     "two cells have the global index %lld; give each its own",
                                     (long long)sorted[i]);
    wio_os_free(sorted);
    return error;
}

static struct wio_grid *allocate(const struct wio_cells *c)
{
    struct wio_grid *g = wio_os_alloc(sizeof *g);
    if (g == NULL)
        return NULL;
    g->n = c->n;
    g->plane = c->unit == WIO_GRID_PLANE;
    g->stride = c->corners;
    g->nx = c->nx;
    g->ny = c->ny;
    g->periodic = c->periodic;
    g->fold = c->fold && c->nx % 2 == 0;
    g->n_corner = c->n * (size_t)c->corners;
    size_t pieces = c->corners > 0 ? c->n : 0; /* centres alone have none */
    g->index = wio_weights_alloc(c->n * sizeof *g->index);
    g->centre = wio_weights_alloc(c->n * sizeof *g->centre);
    g->fraction = wio_weights_alloc(c->n * sizeof *g->fraction);
    g->area = wio_weights_alloc(c->n * sizeof *g->area);
    g->given = c->area != NULL ? wio_weights_alloc(c->n * sizeof *g->given) : NULL;
    g->corners = wio_weights_alloc(c->n);
    g->corner = wio_weights_alloc(g->n_corner * sizeof *g->corner);
    g->piece = wio_weights_alloc(pieces * sizeof *g->piece);
    g->first_piece = wio_weights_alloc((pieces + 1) * sizeof *g->first_piece);
    if (g->index == NULL || g->centre == NULL || g->fraction == NULL || g->area == NULL ||
        (c->area != NULL && g->given == NULL) || g->corners == NULL || g->corner == NULL ||
        g->piece == NULL || g->first_piece == NULL) {
        wio_grid_free(g);
        return NULL;
    }
    return g;
}

void wio_grid_free(struct wio_grid *g)
{
    if (g == NULL)
        return;
    wio_os_free(g->index);
    wio_os_free(g->centre);
    wio_os_free(g->fraction);
    wio_os_free(g->area);
    wio_os_free(g->given);
    wio_os_free(g->corners);
    wio_os_free(g->corner);
    wio_os_free(g->piece);
    wio_os_free(g->first_piece);
    wio_os_free(g);
}

/** Lengths in a plane are relative to the largest coordinate, whose rounding is the finest there
 * is. */
double wio_cells_scale(const struct wio_cells *c)
{
    double most = 0;
    for (size_t i = 0; i < c->n; i++)
        most = fmax(most, fmax(fabs(c->x[i]), fabs(c->y[i])));
    for (size_t i = 0; i < c->n * (size_t)c->corners; i++)
        most = fmax(most, fmax(fabs(c->cx[i]), fabs(c->cy[i])));
    return most > 0 && isfinite(most) ? most : 1;
}

static int say_bad(const struct making *m, struct wio_weights_error *why)
{
    size_t i = atomic_load(&m->bad) - 1;
    const struct wio_cells *c = m->cells;
    return wio_weights_fail(
        why, WAITIO_ERR_ARG,
        "cell %lld (centre %g, %g): its numbers are no cell; centres, corners and areas must be "
        "finite, latitudes within the poles, fractions 0 to 1, an index at least 1, the polygon "
        "smaller than half the sphere and without crossing itself",
        (long long)(c->index != NULL ? c->index[i] : (int64_t)i + 1), c->x[i], c->y[i]);
}

static int check_arrays(const struct wio_cells *c, struct wio_weights_error *why)
{
    if (c->n >= UINT32_MAX)
        return wio_weights_fail(why, WAITIO_ERR_LIMIT, "%zu cells in one process; at most %lu",
                                c->n, (unsigned long)UINT32_MAX - 1);
    if (c->corners < 0 || c->corners > WIO_POLYGON_MAX)
        return wio_weights_fail(why, WAITIO_ERR_LIMIT, "%d corners per cell; at most %d",
                                c->corners, WIO_POLYGON_MAX);
    if (c->n > 0 &&
        (c->x == NULL || c->y == NULL || (c->corners > 0 && (c->cx == NULL || c->cy == NULL))))
        return wio_weights_fail(why, WAITIO_ERR_ARG, "a grid without coordinates");
    return 0;
}

int wio_grid_make(const struct wio_cells *cells, int threads, struct wio_grid **grid,
                  struct wio_weights_error *why)
{
    int error = check_arrays(cells, why);
    if (error != 0)
        return error;
    struct making m = {.cells = cells, .g = allocate(cells)};
    error = WAITIO_ERR_NOMEM;
    if (m.g == NULL)
        return wio_weights_fail(why, error, "out of memory for a grid of %zu cells", cells->n);
    m.g->scale = 1;
    if (m.g->plane)
        m.g->scale = cells->scale > 0 ? cells->scale : wio_cells_scale(cells);
    m.tolerance = 1e-14 * m.g->scale;
    wio_team_run(wio_team_size(threads), cells->n, GRAIN,
                 cells->corners > 0 ? fill_cells : fill_centres, &m);
    if (cells->corners == 0)
        error = 0;
    else if (atomic_load(&m.bad) == 0)
        error = gather_pieces(&m, atomic_load(&m.cut));
    if (atomic_load(&m.bad) != 0)
        error = say_bad(&m, why);
    else if (error == 0)
        error = check_index(cells, m.g, why);
    if (error == WAITIO_ERR_NOMEM)
        wio_weights_fail(why, error, "out of memory for a grid of %zu cells", cells->n);
    if (error != 0)
        wio_grid_free(m.g);
    else
        *grid = m.g;
    return error;
}

size_t wio_grid_size(const struct wio_grid *grid)
{
    return grid->n;
}

int64_t wio_grid_index(const struct wio_grid *grid, size_t cell)
{
    return grid->index[cell];
}

double wio_grid_area(const struct wio_grid *grid, size_t cell)
{
    return grid->area[cell];
}

double wio_grid_fraction(const struct wio_grid *grid, size_t cell)
{
    return grid->fraction[cell];
}

void wio_grid_centre(const struct wio_grid *grid, size_t cell, double xyz[3])
{
    xyz[0] = grid->centre[cell].x;
    xyz[1] = grid->centre[cell].y;
    xyz[2] = grid->centre[cell].z;
}

/** Box of corners, wider by what the sphere stands out of the flat polygon within a ball. */
static void corner_box(const struct wio_grid *g, const struct wio_vec *p, int n, double radius,
                       struct wio_box *box)
{
    *box = wio_box_empty();
    for (int k = 0; k < n; k++)
        wio_box_add(box, p[k]);
    /* A chord of length r from the middle: the flat polygon is at most r^2 / 2 under the sphere. */
    wio_box_widen(box, 4e-16 * g->scale + (g->plane ? 0 : 0.5 * radius * radius));
}

void wio_piece_box(const struct wio_grid *g, const struct wio_piece *p, struct wio_box *box)
{
    corner_box(g, g->corner + p->first, (int)p->corners, p->radius, box);
}

void wio_grid_box(const struct wio_grid *grid, size_t cell, double lo[3], double hi[3])
{
    const struct wio_vec *p = wio_grid_corners(grid, cell);
    double radius2 = 0;
    struct wio_box box;
    for (int k = 1; k < grid->corners[cell]; k++)
        radius2 = fmax(radius2, wio_vec_distance2(p[0], p[k]));
    corner_box(grid, p, grid->corners[cell], sqrt(radius2), &box);
    wio_box_add(&box, grid->centre[cell]);
    for (int d = 0; d < 3; d++) {
        lo[d] = box.lo[d];
        hi[d] = box.hi[d];
    }
}

void wio_grid_facts(const struct wio_grid *grid, struct wio_grid_facts *facts)
{
    *facts = (struct wio_grid_facts){
        .cells = grid->n, .concave = grid->concave, .without_area = grid->without_area};
    for (size_t i = 0; i < grid->n; i++) {
        facts->masked += !(grid->fraction[i] > 0);
        facts->area += grid->area[i] * grid->fraction[i];
    }
}
