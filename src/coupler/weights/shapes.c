/* SPDX-License-Identifier: BSD-3-Clause */
/* Grids by name: for trying out, for tests and for measuring. */
#include "coupler/weights/shapes.h"

#include <stdio.h>
#include <string.h>

#include "coupler/weights/grid.h"
#include "os/os.h"
#include "waitio_errors.h"

static const double DEGREE = 3.14159265358979323846 / 180;
enum { MOST_CELLS = 1 << 30, MOST_SIDE = 1 << 15 };

void *wio_own_cells_alloc(struct wio_own_cells *cells, size_t bytes)
{
    if (cells->n_own == (int)(sizeof cells->own / sizeof cells->own[0]))
        return NULL;
    void *p = wio_weights_alloc(bytes);
    if (p != NULL)
        cells->own[cells->n_own++] = p;
    return p;
}

void wio_own_cells_free(struct wio_own_cells *cells)
{
    for (int k = 0; k < cells->n_own; k++)
        wio_os_free(cells->own[k]);
    *cells = (struct wio_own_cells){.n_own = 0};
}

struct arrays {
    double *x, *y, *cx, *cy;
};

static int allocate(struct wio_own_cells *c, size_t n, int corners, struct arrays *a)
{
    c->cells.n = n;
    c->cells.corners = corners;
    c->cells.unit = WIO_GRID_DEGREES;
    c->cells.x = a->x = wio_own_cells_alloc(c, n * sizeof(double));
    c->cells.y = a->y = wio_own_cells_alloc(c, n * sizeof(double));
    c->cells.cx = a->cx = wio_own_cells_alloc(c, n * (size_t)corners * sizeof(double));
    c->cells.cy = a->cy = wio_own_cells_alloc(c, n * (size_t)corners * sizeof(double));
    return a->x == NULL || a->y == NULL || a->cx == NULL || a->cy == NULL ? WAITIO_ERR_NOMEM : 0;
}

static int longitudes_latitudes(struct wio_own_cells *c, int64_t nx, int64_t ny)
{
    struct arrays a;
    int error = allocate(c, (size_t)(nx * ny), 4, &a);
    double dx = 360.0 / (double)nx, dy = 180.0 / (double)ny;
    c->cells.nx = nx;
    c->cells.ny = ny;
    c->cells.periodic = true;
    for (int64_t j = 0; j < ny && error == 0; j++)
        for (int64_t i = 0; i < nx; i++) {
            size_t at = (size_t)(i + nx * j);
            a.x[at] = dx * (double)i;
            a.y[at] = -90 + dy * ((double)j + 0.5);
            for (int k = 0; k < 4; k++) {
                int64_t east = i + (k == 1 || k == 2), north = j + (k > 1);
                a.cx[4 * at + (size_t)k] = dx * ((double)(east % nx) - 0.5);
                a.cy[4 * at + (size_t)k] = north == ny ? 90 : -90 + dy * (double)north;
            }
        }
    return error;
}

static void put(struct wio_vec p, double *x, double *y)
{
    *x = atan2(p.y, p.x) / DEGREE;
    *y = atan2(p.z, hypot(p.x, p.y)) / DEGREE;
}

static struct wio_vec on_cube(int face, double a, double b)
{
    double u = tan(a * 45 * DEGREE), v = tan(b * 45 * DEGREE);
    const struct wio_vec faces[6] = {{1, u, v},  {-u, 1, v}, {-1, -u, v},
                                     {u, -1, v}, {-v, u, 1}, {v, u, -1}};
    return wio_vec_unit(faces[face]);
}

static int cubed_sphere(struct wio_own_cells *c, int64_t n)
{
    struct arrays a;
    int error = allocate(c, (size_t)(6 * n * n), 4, &a);
    double step = 2.0 / (double)n;
    for (int64_t m = 0; m < 6 * n * n && error == 0; m++) {
        int face = (int)(m / (n * n));
        double i = (double)(m % n), j = (double)(m / n % n);
        put(on_cube(face, step * (i + 0.5) - 1, step * (j + 0.5) - 1), &a.x[m], &a.y[m]);
        for (int k = 0; k < 4; k++)
            put(on_cube(face, step * (i + (k == 1 || k == 2)) - 1, step * (j + (k > 1)) - 1),
                &a.cx[4 * m + k], &a.cy[4 * m + k]);
    }
    return error;
}

/** Corner of the icosahedron: two poles, and five on a parallel of each hemisphere. */
static struct wio_vec on_icosahedron(int corner)
{
    double z = 1 / sqrt(5), r = 2 / sqrt(5);
    if (corner == 0 || corner == 11)
        return (struct wio_vec){0, 0, corner == 0 ? 1 : -1};
    double east = 72 * DEGREE * ((corner - 1) % 5) + (corner > 5 ? 36 * DEGREE : 0);
    return (struct wio_vec){r * cos(east), r * sin(east), corner > 5 ? -z : z};
}

static void face_corners(int face, int corner[3])
{
    int k = face % 5, next = (k + 1) % 5;
    const int all[4][3] = {{0, 1 + k, 1 + next},
                           {1 + k, 6 + k, 1 + next},
                           {1 + next, 6 + k, 6 + next},
                           {11, 6 + next, 6 + k}};
    for (int i = 0; i < 3; i++)
        corner[i] = all[face / 5][i];
}

/** A point of a face's triangular mesh. The sum is taken in the order of the corners' numbers, so
 * that points on an edge are the same from both sides. */
static struct wio_vec on_face(const int corner[3], const int64_t share[3])
{
    struct wio_vec sum = {0, 0, 0};
    for (int c = 0; c < 12; c++)
        for (int k = 0; k < 3; k++)
            if (corner[k] == c && share[k] != 0)
                sum = wio_vec_madd(sum, (double)share[k], on_icosahedron(c));
    return wio_vec_unit(sum);
}

static void ico_cell(struct arrays *a, size_t at, const int corner[3], int64_t share[3][3])
{
    struct wio_vec middle = {0, 0, 0};
    for (int k = 0; k < 3; k++) {
        struct wio_vec p = on_face(corner, share[k]);
        middle = wio_vec_add(middle, p);
        put(p, &a->cx[3 * at + (size_t)k], &a->cy[3 * at + (size_t)k]);
    }
    put(wio_vec_unit(middle), &a->x[at], &a->y[at]);
}

static int icosahedron(struct wio_own_cells *c, int64_t n)
{
    struct arrays a;
    int error = allocate(c, (size_t)(20 * n * n), 3, &a);
    size_t at = 0;
    for (int face = 0; face < 20 && error == 0; face++) {
        int corner[3];
        face_corners(face, corner);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; i + j < n; j++) {
                int64_t r = n - i - j, up[3][3] = {{r, i, j}, {r - 1, i + 1, j}, {r - 1, i, j + 1}};
                int64_t down[3][3] = {{r - 1, i + 1, j}, {r - 2, i + 1, j + 1}, {r - 1, i, j + 1}};
                ico_cell(&a, at++, corner, up);
                if (r > 1)
                    ico_cell(&a, at++, corner, down);
            }
    }
    return error;
}

/** A number from 1 on, up to `most`; 0: none. */
static int64_t number(const char **text, int64_t most)
{
    int64_t n = 0;
    while (**text >= '0' && **text <= '9' && n <= most) {
        n = 10 * n + (**text - '0');
        (*text)++;
    }
    return n <= most ? n : 0;
}

enum kind { KIND_NONE, KIND_R, KIND_CS, KIND_ICO };

static enum kind parse(const char *name, int64_t *n, int64_t *m)
{
    static const char *const prefix[] = {[KIND_R] = "r", [KIND_CS] = "cs", [KIND_ICO] = "ico"};
    for (enum kind k = KIND_R; k <= KIND_ICO; k++) {
        const char *rest = name + strlen(prefix[k]);
        if (strncmp(name, prefix[k], strlen(prefix[k])) != 0)
            continue;
        *n = number(&rest, k == KIND_R ? MOST_CELLS : MOST_SIDE / 4);
        *m = 1;
        if (k == KIND_R && *rest++ != 'x')
            continue;
        if (k == KIND_R)
            *m = number(&rest, MOST_CELLS);
        if (*rest == '\0' && *n > 0 && *m > 0 && *n <= MOST_CELLS / *m)
            return k;
    }
    return KIND_NONE;
}

bool wio_shape_is_name(const char *name)
{
    int64_t n, m;
    return parse(name, &n, &m) != KIND_NONE;
}

int wio_shape_make(const char *name, struct wio_own_cells *cells, struct wio_weights_error *why)
{
    int64_t n, m;
    enum kind kind = parse(name, &n, &m);
    int error = WAITIO_ERR_ARG;
    *cells = (struct wio_own_cells){.n_own = 0};
    if (kind == KIND_R && n >= 3 && m >= 2)
        error = longitudes_latitudes(cells, n, m);
    else if (kind == KIND_CS)
        error = cubed_sphere(cells, n);
    else if (kind == KIND_ICO)
        error = icosahedron(cells, n);
    if (error == 0)
        return 0;
    wio_own_cells_free(cells);
    if (error == WAITIO_ERR_NOMEM)
        return wio_weights_fail(why, error, "out of memory for the grid %s", name);
    return wio_weights_fail(
        why, error,
        "'%s' is no name of a grid: rNXxNY (NX at least 3, NY 2), csN or icoN, such "
        "as r360x180, cs90, ico32",
        name);
}
