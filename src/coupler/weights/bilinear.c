/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bilinear: the centres of four neighbours of a logically rectangular grid form a quadrilateral.
 * Along meridians and parallels it is one of longitude and latitude, as such grids are meant; else
 * its edges are great circles, and the map is bilinear in the plane that touches the sphere at the
 * target: nothing is special at the poles.
 */
#include <stdlib.h>

#include "coupler/weights/search.h"
#include "coupler/weights/team.h"
#include "os/os.h"
#include "waitio_errors.h"

enum { GRAIN = 2048 };
static const double PI = 3.14159265358979323846, HAIR = 1e-12;

struct quad {
    uint32_t cell[4]; /* (i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1) */
    bool there, aligned;
};

/** Of a centre, in radians. */
struct place {
    double lon, lat;
};

struct wio_quads {
    struct quad *quad;   /* of each source cell as (i, j) */
    struct place *place; /* of each source cell; not in a plane */
    struct wio_tree *tree;
};

struct lookup {
    int64_t index;
    uint32_t cell;
};

struct finding {
    const struct wio_grid *g;
    struct quad *quad;
    struct place *place;
    const struct lookup *sorted;
};

static int compare(const void *a, const void *b)
{
    const struct lookup *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

/** Where a global index is among the cells passed; false: it is not, or takes no part. */
static bool find_cell(const struct finding *f, int64_t i, int64_t j, uint32_t *cell)
{
    struct lookup wanted = {.index = 1 + i + f->g->nx * j};
    const struct lookup *found;
    if ((size_t)wanted.index <= f->g->n && f->sorted[wanted.index - 1].index == wanted.index)
        found = &f->sorted[wanted.index - 1];
    else
        found = bsearch(&wanted, f->sorted, f->g->n, sizeof wanted, compare);
    if (found == NULL || !(f->g->fraction[found->cell] > 0))
        return false;
    *cell = found->cell;
    return true;
}

static double turn_of(double angle)
{
    return angle - 2 * PI * nearbyint(angle / (2 * PI));
}

static struct place place_of(struct wio_vec p)
{
    return (struct place){.lon = atan2(p.y, p.x), .lat = atan2(p.z, hypot(p.x, p.y))};
}

static bool at_pole(struct place p)
{
    return fabs(p.lat) > 0.5 * PI - 1e-13;
}

/** Longitude of one end of a column; a pole has that of the other end. */
static double column(struct place end, struct place other)
{
    return at_pole(end) ? other.lon : end.lon;
}

static bool is_aligned(const struct place *place, const uint32_t *cell)
{
    struct place p[4];
    for (int k = 0; k < 4; k++)
        p[k] = place[cell[k]];
    double wide = turn_of(column(p[1], p[2]) - column(p[0], p[3]));
    return fabs(p[0].lat - p[1].lat) < HAIR && fabs(p[3].lat - p[2].lat) < HAIR &&
           fabs(wide) > HAIR && fabs(wide) < 3.1 &&
           fabs(turn_of(column(p[0], p[3]) - column(p[3], p[0]))) < HAIR &&
           fabs(turn_of(column(p[1], p[2]) - column(p[2], p[1]))) < HAIR;
}

static int find_places(void *arg, int thread, size_t begin, size_t end)
{
    (void)thread;
    const struct finding *f = arg;
    for (size_t c = begin; c < end; c++)
        f->place[c] = place_of(f->g->centre[c]);
    return 0;
}

/** The next row of a cell: behind a fold it is the other half of the last row itself. Each of those
 * quadrilaterals is made once, by its cells of the first half.
 * @return false: there is none */
static bool next_row(const struct wio_grid *g, int64_t j, int64_t left, int64_t right,
                     int64_t there[2], int64_t *row)
{
    there[0] = left;
    there[1] = right;
    *row = j + 1;
    if (*row < g->ny)
        return true;
    there[0] = g->nx - 1 - left;
    there[1] = g->nx - 1 - right;
    *row = j;
    return g->fold && left < right && right < g->nx / 2;
}

static int find_quads(void *arg, int thread, size_t begin, size_t end)
{
    (void)thread;
    const struct finding *f = arg;
    const struct wio_grid *g = f->g;
    for (size_t c = begin; c < end; c++) {
        struct quad *q = &f->quad[c];
        int64_t i = (g->index[c] - 1) % g->nx, j = (g->index[c] - 1) / g->nx;
        int64_t right = i + 1 < g->nx ? i + 1 : g->periodic ? 0 : -1;
        int64_t there[2], row;
        *q = (struct quad){.there = false};
        if (right < 0 || !next_row(g, j, i, right, there, &row))
            continue;
        q->there = find_cell(f, i, j, &q->cell[0]) && find_cell(f, right, j, &q->cell[1]) &&
                   find_cell(f, there[1], row, &q->cell[2]) &&
                   find_cell(f, there[0], row, &q->cell[3]);
        q->aligned = q->there && !g->plane && is_aligned(f->place, q->cell);
    }
    return 0;
}

struct boxes {
    const struct wio_grid *g;
    const struct quad *quad;
};

/** How far a quadrilateral of meridians and parallels stands out of its corners' box. Great circles
 * bulge by less than size^2 / 2. A parallel of radius r that turns by the angle a has a chord of
 * 2 r sin(a/2) and bulges by less than r sin^2(a/2), which is at most (chord / 2r)^2 on all
 * parallels between the two; next to a pole, by no more than half of itself. */
static double bulge(double size2, double radius2)
{
    double far = 0.5 * sqrt(size2), near = size2 * (0.5 + 0.25 / radius2);
    return near < far ? near : far;
}

static bool quad_box(const void *arg, size_t i, struct wio_box *box)
{
    const struct boxes *b = arg;
    const struct quad *q = &b->quad[i];
    if (!q->there)
        return false;
    double size2 = 0, radius2 = 1; /* radius2: of the parallel that is nearest to a pole */
    *box = wio_box_empty();
    for (int k = 0; k < 4; k++) {
        struct wio_vec p = b->g->centre[q->cell[k]];
        double d2 = wio_vec_distance2(p, b->g->centre[q->cell[0]]), r2 = p.x * p.x + p.y * p.y;
        wio_box_add(box, p);
        size2 = d2 > size2 ? d2 : size2;
        radius2 = r2 < radius2 ? r2 : radius2;
    }
    double wider = 1e-12 * b->g->scale;
    if (!b->g->plane)
        wider += q->aligned ? bulge(size2, radius2) : 0.5 * size2;
    wio_box_widen(box, wider);
    return true;
}

/** Where each global index is. */
static void sort_index(const struct wio_grid *g, struct lookup *sorted)
{
    bool in_order = true;
    for (size_t i = 0; i < g->n; i++) {
        sorted[i] = (struct lookup){.index = g->index[i], .cell = (uint32_t)i};
        in_order = in_order && (i == 0 || g->index[i] > g->index[i - 1]);
    }
    if (!in_order)
        qsort(sorted, g->n, sizeof *sorted, compare);
}

int wio_prepare_quads(struct wio_search *s)
{
    const struct wio_grid *g = s->source;
    if (s->quads != NULL)
        return 0;
    if (g->nx < 1)
        return wio_weights_fail(s->why, WAITIO_ERR_ARG,
                                "bilinear weights need a logically rectangular source grid; for "
                                "this one use the method barycentric");
    struct lookup *sorted = wio_weights_alloc(g->n * sizeof *sorted);
    struct wio_quads *q = s->quads = wio_os_alloc(sizeof *s->quads);
    if (q != NULL) {
        q->quad = wio_weights_alloc(g->n * sizeof *q->quad);
        q->place = wio_weights_alloc(g->n * sizeof *q->place);
    }
    int error = WAITIO_ERR_NOMEM;
    if (sorted != NULL && q != NULL && q->quad != NULL && q->place != NULL) {
        sort_index(g, sorted);
        struct finding f = {.g = g, .quad = q->quad, .place = q->place, .sorted = sorted};
        struct boxes b = {.g = g, .quad = q->quad};
        if (!g->plane)
            wio_team_run(s->threads, g->n, GRAIN, find_places, &f);
        wio_team_run(s->threads, g->n, GRAIN, find_quads, &f);
        error = wio_tree_make(g->n, quad_box, &b, g->plane, s->threads, &q->tree);
    }
    wio_os_free(sorted);
    return error;
}

void wio_quads_free(struct wio_quads *quads)
{
    if (quads == NULL)
        return;
    wio_tree_free(quads->tree);
    wio_os_free(quads->quad);
    wio_os_free(quads->place);
    wio_os_free(quads);
}

/** Inside or on the edge; what rounding puts outside is put on it. */
static bool settle(double *u)
{
    if (!(*u >= -HAIR && *u <= 1 + HAIR))
        return false;
    *u = *u < 0 ? 0 : *u > 1 ? 1 : *u;
    return true;
}

static bool solve_aligned(const struct place *place, const uint32_t *cell, struct place t,
                          double *u, double *v)
{
    struct place a = place[cell[0]], b = place[cell[1]], c = place[cell[2]], d = place[cell[3]];
    double west = column(a, d), wide = turn_of(column(b, c) - west);
    double away = at_pole(t) ? 0 : turn_of(t.lon - west);
    *u = away / wide;
    *v = (t.lat - a.lat) / (d.lat - a.lat);
    return settle(u) && settle(v);
}

/** The corners as seen from the target, in the plane that touches the sphere there. */
static bool flatten(bool plane, const struct wio_vec p[4], struct wio_vec t, double q[4][2])
{
    if (plane) {
        for (int k = 0; k < 4; k++) {
            q[k][0] = p[k].x - t.x;
            q[k][1] = p[k].y - t.y;
        }
        return true;
    }
    struct wio_vec axis = fabs(t.x) < 0.6 ? (struct wio_vec){1, 0, 0} : (struct wio_vec){0, 1, 0};
    struct wio_vec e = wio_vec_unit(wio_vec_madd(axis, -wio_vec_dot(axis, t), t));
    struct wio_vec f = wio_vec_cross(t, e);
    for (int k = 0; k < 4; k++) {
        double up = wio_vec_dot(p[k], t);
        struct wio_vec step = wio_vec_sub(p[k], t);
        if (!(up > 0.05))
            return false;
        q[k][0] = wio_vec_dot(step, e) / up;
        q[k][1] = wio_vec_dot(step, f) / up;
    }
    return true;
}

static double cross(const double *a, const double *b)
{
    return a[0] * b[1] - a[1] * b[0];
}

/** With v known, u follows from the longer component. */
static double other(const double *e, const double *f, const double *g, const double *h, double v)
{
    double dx = e[0] + g[0] * v, dy = e[1] + g[1] * v;
    return fabs(dx) > fabs(dy) ? (h[0] - f[0] * v) / dx : (h[1] - f[1] * v) / dy;
}

/** u, v with q0 + u e + v f + u v g = 0; the root in the unit square, if there is one. */
static bool solve_flat(double q[4][2], double *u, double *v)
{
    double e[2], f[2], g[2], h[2];
    for (int d = 0; d < 2; d++) {
        e[d] = q[1][d] - q[0][d];
        f[d] = q[3][d] - q[0][d];
        g[d] = q[0][d] - q[1][d] + q[2][d] - q[3][d];
        h[d] = -q[0][d];
    }
    double k2 = cross(g, f), k1 = cross(e, f) + cross(h, g), k0 = cross(h, e);
    double under = k1 * k1 - 4 * k0 * k2;
    if (!(under >= 0))
        return false;
    double half = -0.5 * (k1 + copysign(sqrt(under), k1));
    const double root[2] = {k0 / half, half / k2}; /* one of them is not finite where k2 is 0 */
    for (int r = 0; r < 2; r++) {
        *v = root[r];
        if (!isfinite(*v) || !settle(v))
            continue;
        *u = other(e, f, g, h, *v);
        if (settle(u))
            return true;
    }
    return false;
}

/** The quadrilaterals whose boxes hold a target, into scratch->found. */
static int find_around(const struct wio_search *s, struct wio_scratch *sc, struct wio_vec t)
{
    struct wio_nearby *around = &sc->quads;
    if (!around->asked) {
        struct wio_box all = wio_scratch_box(sc, s->target);
        around->asked = true;
        around->there = wio_leaves_gather(s->quads->tree, &all, &around->leaves);
    }
    if (around->there)
        return wio_leaves_meet(s->quads->tree, &around->leaves, t, &sc->found);
    struct wio_box box = {{t.x, t.y, t.z}, {t.x, t.y, t.z}};
    return wio_tree_meet(s->quads->tree, &box, &sc->found);
}

int wio_row_bilinear(const struct wio_search *s, struct wio_scratch *sc, size_t target)
{
    const struct wio_grid *g = s->source;
    struct wio_vec t = s->target->centre[target];
    struct place here = g->plane ? (struct place){0, 0} : place_of(t);
    const struct quad *best = NULL;
    double bu = 0, bv = 0;
    int error = find_around(s, sc, t);
    for (size_t i = 0; i < sc->found.n && error == 0; i++) {
        const struct quad *q = &s->quads->quad[sc->found.item[i]];
        struct wio_vec p[4];
        double u, v, flat[4][2];
        if (best != NULL && g->index[best->cell[0]] < g->index[q->cell[0]])
            continue; /* on an edge the one with the lower index has the target */
        for (int k = 0; k < 4; k++)
            p[k] = g->centre[q->cell[k]];
        if (q->aligned ? !solve_aligned(s->quads->place, q->cell, here, &u, &v)
                       : !(flatten(g->plane, p, t, flat) && solve_flat(flat, &u, &v)))
            continue;
        best = q;
        bu = u;
        bv = v;
    }
    if (best == NULL)
        return error;
    const double weight[4] = {(1 - bu) * (1 - bv), bu * (1 - bv), bu * bv, (1 - bu) * bv};
    for (int k = 0; k < 4 && error == 0; k++)
        if (weight[k] > 0)
            error = wio_scratch_link(sc, g->index[best->cell[k]], best->cell[k], weight[k]);
    return error;
}
