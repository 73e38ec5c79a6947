/* SPDX-License-Identifier: BSD-3-Clause */
/* Grid files: SCRIP's, and ESMF's unstructured meshes. */
#include <math.h>
#include <string.h>

#include "coupler/weights/files.h"
#include "coupler/weights/grid.h"
#include "coupler/weights/polygon.h"
#include "coupler/weights/store.h"
#include "os/os.h"
#include "waitio_errors.h"

struct reading {
    struct wio_store *store;
    const char *path;
    struct wio_own_cells *out;
    bool corners; /* wanted, and areas */
    struct wio_weights_error *why;
};

static int no_memory(const struct reading *r)
{
    return wio_weights_fail(r->why, WAITIO_ERR_NOMEM, "out of memory for the grid in '%s'",
                            r->path);
}

/** Reads all numbers of a variable into memory of the cells. */
static int read_doubles(const struct reading *r, const char *variable, size_t n, const double **to)
{
    double *p = wio_own_cells_alloc(r->out, n * sizeof *p);
    if (p == NULL)
        return no_memory(r);
    *to = p;
    return wio_store_get(r->store, variable, WIO_STORE_DOUBLE, 0, n, p, r->why);
}

/** Degrees, radians, or a length for a plane. */
static int read_unit(const struct reading *r, const char *variable, enum wio_grid_unit *unit)
{
    char text[64] = "";
    if (!wio_store_text(r->store, variable, "units", text, sizeof text))
        return wio_weights_fail(r->why, WAITIO_ERR_ARG,
                                "'%s': variable %s has no units; give it the attribute units = "
                                "\"degrees\", \"radians\" or, for a plane, \"m\" or \"km\"",
                                r->path, variable);
    if (strncmp(text, "degree", 6) == 0)
        *unit = WIO_GRID_DEGREES;
    else if (strncmp(text, "radian", 6) == 0)
        *unit = WIO_GRID_RADIANS;
    else if (strcmp(text, "m") == 0 || strcmp(text, "km") == 0)
        *unit = WIO_GRID_PLANE;
    else
        return wio_weights_fail(
            r->why, WAITIO_ERR_ARG,
            "'%s': units of %s are \"%s\"; degrees, radians, m and km are known", r->path, variable,
            text);
    return 0;
}

static int read_mask(const struct reading *r, const char *variable, size_t n)
{
    int *mask = wio_own_cells_alloc(r->out, n * sizeof *mask);
    if (mask == NULL)
        return no_memory(r);
    r->out->cells.mask = mask;
    return wio_store_get(r->store, variable, WIO_STORE_INT, 0, n, mask, r->why);
}

/** Corners of the cells that tell whether a grid closes: the first and the last cell of the middle
 * row, then the whole last row. */
struct rim {
    size_t corners, cells;
    double *x, *y;
};

/** How many corners have two cells of the rim in common? */
static int common_corners(const struct rim *rim, enum wio_grid_unit unit, size_t one, size_t two)
{
    size_t corners = rim->corners;
    const double *x1 = rim->x + corners * one, *x2 = rim->x + corners * two;
    const double *y1 = rim->y + corners * one, *y2 = rim->y + corners * two;
    double turn = unit == WIO_GRID_DEGREES ? 360 : 8 * atan(1), size = 0;
    int shared = 0;
    for (size_t k = 1; k < corners; k++)
        size = fmax(size, fabs(y1[k] - y1[0]));
    for (size_t i = 0; i < corners; i++)
        for (size_t k = 0; k < corners; k++) {
            double dx = x1[i] - x2[k], dy = y1[i] - y2[k];
            dx -= turn * nearbyint(dx / turn);
            if (fabs(dx) + fabs(dy) < 1e-4 * size) {
                shared++;
                break;
            }
        }
    return shared;
}

/** Do the first and the last cell of the middle row share an edge? */
static bool wraps(const struct wio_cells *c, const struct rim *rim)
{
    return c->unit != WIO_GRID_PLANE && c->nx >= 3 && common_corners(rim, c->unit, 0, 1) >= 2;
}

/** Do the cells of the last row share edges with each other as in tripolar grids? */
static bool folds(const struct wio_cells *c, const struct rim *rim)
{
    size_t nx = (size_t)c->nx;
    if (c->unit == WIO_GRID_PLANE || nx < 4 || nx % 2 != 0)
        return false;
    for (size_t i = 0; i < nx / 2; i++)
        if (common_corners(rim, c->unit, 2 + i, 2 + nx - 1 - i) < 2)
            return false;
    return true;
}

static int read_rim_of(const struct reading *r, const char *variable, const struct rim *rim,
                       double *to)
{
    const struct wio_cells *c = &r->out->cells;
    size_t nx = (size_t)c->nx, middle = nx * (size_t)(c->ny / 2), last = nx * (size_t)(c->ny - 1);
    const struct {
        size_t cell, n, at;
    } part[] = {{middle, 1, 0}, {middle + nx - 1, 1, 1}, {last, nx, 2}};
    int error = 0;
    for (size_t k = 0; k < sizeof part / sizeof part[0] && error == 0; k++)
        error = wio_store_get_rows(r->store, variable, WIO_STORE_DOUBLE, part[k].cell, part[k].n,
                                   rim->corners, to + rim->corners * part[k].at, r->why);
    return error;
}

/** Finds out whether rows close around the globe, and whether the last one is folded. */
static int read_closure(const struct reading *r)
{
    struct wio_cells *c = &r->out->cells;
    struct rim rim = {.cells = (size_t)c->nx + 2};
    if (!wio_store_dim(r->store, "grid_corners", &rim.corners) || rim.corners == 0 ||
        rim.corners > WIO_POLYGON_MAX || !wio_store_has(r->store, "grid_corner_lat"))
        return 0;
    size_t room = rim.cells * rim.corners;
    rim.x = wio_os_alloc(2 * room * sizeof *rim.x);
    if (rim.x == NULL)
        return no_memory(r);
    rim.y = rim.x + room;
    int error = read_rim_of(r, "grid_corner_lon", &rim, rim.x);
    if (error == 0)
        error = read_rim_of(r, "grid_corner_lat", &rim, rim.y);
    if (error == 0) {
        c->periodic = wraps(c, &rim);
        c->fold = folds(c, &rim);
    }
    wio_os_free(rim.x);
    return error;
}

static int read_shape(const struct reading *r, size_t n)
{
    struct wio_cells *c = &r->out->cells;
    int64_t dims[2] = {0, 0};
    if (wio_store_extent(r->store, "grid_dims", 0) != 2)
        return 0;
    int error = wio_store_get(r->store, "grid_dims", WIO_STORE_INT64, 0, 2, dims, r->why);
    if (error != 0)
        return error;
    if (dims[0] < 1 || dims[1] < 1 || dims[0] > (int64_t)n || dims[1] != (int64_t)n / dims[0] ||
        (int64_t)n % dims[0] != 0)
        return wio_weights_fail(r->why, WAITIO_ERR_ARG,
                                "'%s': grid_dims is %lld x %lld, but grid_size is %zu", r->path,
                                (long long)dims[0], (long long)dims[1], n);
    if (dims[0] == 1 || dims[1] == 1) /* how some programs write unstructured grids */
        return 0;
    c->nx = dims[0];
    c->ny = dims[1];
    return read_closure(r);
}

/** Corners may be in other units than centres: all become those of the centres. */
static int read_corners(const struct reading *r, size_t n, size_t corners)
{
    struct wio_cells *c = &r->out->cells;
    enum wio_grid_unit unit;
    int error = read_unit(r, "grid_corner_lat", &unit);
    if (error == 0)
        error = read_doubles(r, "grid_corner_lat", n * corners, &c->cy);
    if (error == 0)
        error = read_doubles(r, "grid_corner_lon", n * corners, &c->cx);
    if (error == 0 && unit != c->unit)
        error = wio_weights_fail(r->why, WAITIO_ERR_ARG,
                                 "'%s': corners and centres are in different units", r->path);
    if (error == 0)
        c->corners = (int)corners;
    return error;
}

/** Corners, where the file has some, and the model's own areas. */
static int read_shapes(const struct reading *r, size_t n)
{
    size_t corners = 0;
    int error = 0;
    if (wio_store_dim(r->store, "grid_corners", &corners) &&
        wio_store_has(r->store, "grid_corner_lat")) {
        if (corners > WIO_POLYGON_MAX)
            return wio_weights_fail(r->why, WAITIO_ERR_LIMIT,
                                    "'%s': cells with %zu corners; at most %d", r->path, corners,
                                    WIO_POLYGON_MAX);
        error = read_corners(r, n, corners);
    }
    if (error == 0 && wio_store_has(r->store, "grid_area"))
        error = read_doubles(r, "grid_area", n, &r->out->cells.area);
    return error;
}

static int read_scrip(const struct reading *r)
{
    struct wio_cells *c = &r->out->cells;
    size_t n = 0;
    if (!wio_store_dim(r->store, "grid_size", &n))
        return wio_weights_fail(r->why, WAITIO_ERR_ARG, "'%s' has no dimension grid_size", r->path);
    c->n = n;
    int error = read_unit(r, "grid_center_lat", &c->unit);
    if (error == 0)
        error = read_doubles(r, "grid_center_lat", n, &c->y);
    if (error == 0)
        error = read_doubles(r, "grid_center_lon", n, &c->x);
    if (error == 0 && r->corners)
        error = read_shapes(r, n);
    if (error == 0 && wio_store_has(r->store, "grid_imask"))
        error = read_mask(r, "grid_imask", n);
    if (error == 0 && wio_store_has(r->store, "grid_fraction"))
        error = read_doubles(r, "grid_fraction", n, &c->fraction);
    return error == 0 ? read_shape(r, n) : error;
}

struct mesh {
    size_t nodes, cells, most;
    const double *node;  /* nodes x 2 */
    int64_t *connection; /* cells x most */
    int *count;
    int64_t start;
};

static int bad_element(const struct reading *r, size_t cell, const char *what)
{
    return wio_weights_fail(r->why, WAITIO_ERR_ARG, "'%s': element %zu %s", r->path, cell + 1,
                            what);
}

/** Corners of the cells from the mesh; the last one is repeated where a cell has fewer than others.
 */
static int join_corners(const struct reading *r, const struct mesh *m)
{
    struct wio_cells *c = &r->out->cells;
    size_t all = m->cells * m->most;
    double *cx = wio_own_cells_alloc(r->out, all * sizeof *cx);
    double *cy = wio_own_cells_alloc(r->out, all * sizeof *cy);
    if (cx == NULL || cy == NULL)
        return no_memory(r);
    for (size_t i = 0; i < m->cells; i++) {
        if (m->count[i] < 1 || (size_t)m->count[i] > m->most)
            return bad_element(r, i, "has no sound number of corners (numElementConn)");
        for (size_t k = 0; k < m->most; k++) {
            size_t from = k < (size_t)m->count[i] ? k : (size_t)m->count[i] - 1;
            int64_t node = m->connection[m->most * i + from] - m->start;
            if (node < 0 || node >= (int64_t)m->nodes)
                return bad_element(r, i, "names a node that does not exist (elementConn)");
            cx[m->most * i + k] = m->node[2 * node];
            cy[m->most * i + k] = m->node[2 * node + 1];
        }
    }
    c->cx = cx;
    c->cy = cy;
    c->corners = (int)m->most;
    return 0;
}

/** Centres that the file has, or else the middle of the corners. */
static int place_centres(const struct reading *r, const struct mesh *m)
{
    struct wio_cells *c = &r->out->cells;
    double *x = wio_own_cells_alloc(r->out, m->cells * sizeof *x);
    double *y = wio_own_cells_alloc(r->out, m->cells * sizeof *y);
    const double *both = NULL;
    if (x == NULL || y == NULL)
        return no_memory(r);
    c->x = x;
    c->y = y;
    if (wio_store_has(r->store, "centerCoords")) {
        int error = read_doubles(r, "centerCoords", 2 * m->cells, &both);
        for (size_t i = 0; i < m->cells && error == 0; i++) {
            x[i] = both[2 * i];
            y[i] = both[2 * i + 1];
        }
        return error;
    }
    double unit = c->unit == WIO_GRID_DEGREES ? atan(1) / 45 : 1;
    for (size_t i = 0; i < m->cells; i++) {
        struct wio_vec sum = {0, 0, 0};
        for (int k = 0; k < m->count[i]; k++) {
            double a = c->cx[m->most * i + (size_t)k], b = c->cy[m->most * i + (size_t)k];
            sum = wio_vec_add(sum,
                              c->unit == WIO_GRID_PLANE
                                  ? (struct wio_vec){a, b, 0}
                                  : (struct wio_vec){cos(b * unit) * cos(a * unit),
                                                     cos(b * unit) * sin(a * unit), sin(b * unit)});
        }
        x[i] = c->unit == WIO_GRID_PLANE ? sum.x / m->count[i] : atan2(sum.y, sum.x) / unit;
        y[i] = c->unit == WIO_GRID_PLANE ? sum.y / m->count[i]
                                         : atan2(sum.z, hypot(sum.x, sum.y)) / unit;
    }
    return 0;
}

static int read_nodes(const struct reading *r, struct mesh *m)
{
    size_t dims = 2;
    double start = 1;
    if (!wio_store_dim(r->store, "nodeCount", &m->nodes) ||
        !wio_store_dim(r->store, "elementCount", &m->cells) ||
        !wio_store_dim(r->store, "maxNodePElement", &m->most) ||
        (wio_store_dim(r->store, "coordDim", &dims) && dims != 2))
        return wio_weights_fail(r->why, WAITIO_ERR_ARG,
                                "'%s' is no ESMF mesh of two dimensions: it needs nodeCount, "
                                "elementCount, maxNodePElement and coordDim = 2",
                                r->path);
    if (m->most > WIO_POLYGON_MAX || m->cells > SIZE_MAX / 16 / (m->most + 1))
        return wio_weights_fail(r->why, WAITIO_ERR_LIMIT,
                                "'%s': cells with %zu corners; at most %d", r->path, m->most,
                                WIO_POLYGON_MAX);
    r->out->cells.n = m->cells;
    wio_store_number(r->store, "elementConn", "start_index", &start);
    m->start = (int64_t)start;
    int error = read_unit(r, "nodeCoords", &r->out->cells.unit);
    if (error == 0)
        error = read_doubles(r, "nodeCoords", 2 * m->nodes, &m->node);
    return error;
}

static int read_elements(const struct reading *r, struct mesh *m)
{
    struct wio_cells *c = &r->out->cells;
    size_t all = m->cells * m->most;
    m->connection = wio_own_cells_alloc(r->out, all * sizeof *m->connection);
    m->count = wio_own_cells_alloc(r->out, m->cells * sizeof *m->count);
    if (m->connection == NULL || m->count == NULL)
        return no_memory(r);
    int error =
        wio_store_get(r->store, "elementConn", WIO_STORE_INT64, 0, all, m->connection, r->why);
    if (error == 0)
        error =
            wio_store_get(r->store, "numElementConn", WIO_STORE_INT, 0, m->cells, m->count, r->why);
    if (error == 0)
        error = join_corners(r, m);
    if (error == 0)
        error = place_centres(r, m);
    if (error == 0 && wio_store_has(r->store, "elementMask"))
        error = read_mask(r, "elementMask", m->cells);
    if (error == 0 && r->corners && wio_store_has(r->store, "elementArea"))
        error = read_doubles(r, "elementArea", m->cells, &c->area);
    if (!r->corners) /* they may have told where the centres are */
        c->corners = 0;
    return error;
}

static int read_cells(const char *path, bool corners, struct wio_own_cells *cells,
                      struct wio_weights_error *why)
{
    *cells = (struct wio_own_cells){.n_own = 0};
    struct reading r = {.path = path, .out = cells, .corners = corners, .why = why};
    int error = wio_store_open(path, &r.store, why);
    if (error != 0)
        return error;
    if (wio_store_has(r.store, "elementConn")) {
        struct mesh m = {.nodes = 0};
        error = read_nodes(&r, &m);
        if (error == 0)
            error = read_elements(&r, &m);
    } else if (wio_store_has(r.store, "grid_center_lat")) {
        error = read_scrip(&r);
    } else {
        error = wio_weights_fail(why, WAITIO_ERR_ARG,
                                 "'%s' holds no grid that is known: a SCRIP grid has "
                                 "grid_center_lat, an ESMF mesh elementConn",
                                 path);
    }
    wio_store_close(r.store, NULL);
    if (error != 0)
        wio_own_cells_free(cells);
    return error;
}

int wio_cells_read(const char *path, struct wio_own_cells *cells, struct wio_weights_error *why)
{
    return read_cells(path, true, cells, why);
}

int wio_cells_read_centres(const char *path, struct wio_own_cells *cells,
                           struct wio_weights_error *why)
{
    return read_cells(path, false, cells, why);
}
