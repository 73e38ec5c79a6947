/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gradients in source cells, by least squares over the cells that share an edge: a linear field has
 * its own gradient, however the cells lie.
 */
#include <stdlib.h>

#include "coupler/weights/polygon.h"
#include "coupler/weights/search.h"
#include "coupler/weights/team.h"
#include "os/os.h"
#include "waitio_errors.h"

enum { GRAIN = 512, MOST = 64 }; /* neighbours that count */

/** Corners of two cells are the same point if they are nearer than this part of the cell's size:
 * files with single precision are read, too. */
static const double SAME = 1e-5;

struct neighbour {
    int64_t index;
    uint32_t cell;
};

struct finding {
    const struct wio_search *s;
    struct wio_gradients *g;
    struct wio_found *found;         /* one for each thread */
    struct wio_slope (*slope)[MOST]; /* of the cells of this round */
    int *n_slope;
    size_t begin;
};

static int shared_corners(const struct wio_grid *g, size_t a, size_t b, double tolerance)
{
    const struct wio_vec *p = wio_grid_corners(g, a), *q = wio_grid_corners(g, b);
    int shared = 0;
    for (int i = 0; i < g->corners[a]; i++)
        for (int k = 0; k < g->corners[b]; k++)
            if (wio_vec_distance2(p[i], q[k]) < tolerance * tolerance) {
                shared++;
                break;
            }
    return shared;
}

static int compare(const void *a, const void *b)
{
    const struct neighbour *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

static bool is_among(const struct neighbour *all, int n, uint32_t cell)
{
    for (int k = 0; k < n; k++)
        if (all[k].cell == cell)
            return true;
    return false;
}

/** Cells that share so many corners with `cell`, in order of index.
 * @return how many; 0 also where there are more than MOST, of which none is better than the others
 *         (around a pole); or an error */
static int find_neighbours(const struct finding *f, struct wio_found *found, size_t cell,
                           int corners, struct neighbour *out)
{
    const struct wio_grid *g = f->s->source;
    int n = 0;
    for (uint32_t k = g->first_piece[cell]; k < g->first_piece[cell + 1]; k++) {
        struct wio_box box;
        const struct wio_piece *p = &g->piece[k];
        wio_piece_box(g, p, &box);
        wio_box_widen(&box, SAME * p->radius);
        if (wio_tree_meet(f->s->pieces, &box, found) != 0)
            return WAITIO_ERR_NOMEM;
        for (size_t i = 0; i < found->n; i++) {
            uint32_t other = g->piece[found->item[i]].cell;
            if (other == cell || is_among(out, n, other) ||
                shared_corners(g, cell, other, SAME * p->radius) < corners)
                continue;
            if (n == MOST)
                return 0;
            out[n++] = (struct neighbour){.index = g->index[other], .cell = other};
        }
    }
    qsort(out, (size_t)n, sizeof *out, compare);
    return n;
}

/** Two directions along the surface at a point. */
static void directions(bool plane, struct wio_vec at, struct wio_vec *u, struct wio_vec *v)
{
    if (plane) {
        *u = (struct wio_vec){1, 0, 0};
        *v = (struct wio_vec){0, 1, 0};
        return;
    }
    struct wio_vec up = wio_vec_unit(at);
    struct wio_vec axis = fabs(up.x) < 0.6 ? (struct wio_vec){1, 0, 0} : (struct wio_vec){0, 1, 0};
    *u = wio_vec_unit(wio_vec_madd(axis, -wio_vec_dot(axis, up), up));
    *v = wio_vec_cross(up, *u);
}

/** Least squares over the neighbours. @return how many slopes; 0: they do not span the surface */
static int fit(const struct finding *f, size_t cell, const struct neighbour *all, int n,
               struct wio_slope *slope)
{
    const struct wio_gradients *g = f->g;
    struct wio_vec here = wio_vec_add(g->reference[cell], g->middle[cell]), u, v;
    double xx = 0, xy = 0, yy = 0, x[MOST], y[MOST], w[MOST];
    directions(f->s->source->plane, here, &u, &v);
    for (int k = 0; k < n; k++) {
        uint32_t other = all[k].cell;
        struct wio_vec step = wio_vec_sub(wio_vec_add(g->reference[other], g->middle[other]), here);
        x[k] = wio_vec_dot(step, u);
        y[k] = wio_vec_dot(step, v);
        w[k] = 1 / (x[k] * x[k] + y[k] * y[k]);
        xx += w[k] * x[k] * x[k];
        xy += w[k] * x[k] * y[k];
        yy += w[k] * y[k] * y[k];
        slope[k].position = other;
    }
    double det = xx * yy - xy * xy, trace = xx + yy;
    if (n < 2 || !(det > 1e-4 * trace * trace))
        return 0;
    for (int k = 0; k < n; k++) {
        double a = w[k] * (yy * x[k] - xy * y[k]) / det, b = w[k] * (xx * y[k] - xy * x[k]) / det;
        slope[k].vector = wio_vec_madd(wio_vec_scale(u, a), b, v);
    }
    return n;
}

static int find_slopes(void *arg, int thread, size_t begin, size_t end)
{
    const struct finding *f = arg;
    for (size_t i = begin; i < end; i++) {
        struct neighbour all[MOST];
        size_t cell = f->begin + i;
        f->n_slope[i] = 0;
        if (!(f->s->source->fraction[cell] > 0) || f->s->source->corners[cell] == 0)
            continue;
        /* Who shares an edge; at a coast, or where edges do not match, whoever touches the cell. */
        for (int corners = 2; corners > 0 && f->n_slope[i] == 0; corners--) {
            int n = find_neighbours(f, &f->found[thread], cell, corners, all);
            if (n < 0)
                return n;
            f->n_slope[i] = fit(f, cell, all, n, f->slope[i]);
        }
    }
    return 0;
}

static int find_middles(void *arg, int thread, size_t begin, size_t end)
{
    (void)thread;
    const struct finding *f = arg;
    const struct wio_grid *g = f->s->source;
    for (size_t i = begin; i < end; i++) {
        struct wio_vec sum = {0, 0, 0};
        if (g->corners[i] == 0)
            continue;
        for (int k = 0; k < g->corners[i]; k++)
            sum = wio_vec_add(sum, wio_grid_corners(g, i)[k]);
        struct wio_vec ref = wio_vec_scale(sum, 1.0 / g->corners[i]);
        f->g->reference[i] = g->plane ? ref : wio_vec_unit(ref);
        sum = (struct wio_vec){0, 0, 0};
        for (uint32_t k = g->first_piece[i]; k < g->first_piece[i + 1]; k++) {
            const struct wio_piece *p = &g->piece[k];
            sum =
                wio_vec_add(sum, wio_polygon_moment(g->plane, g->corner + p->first, (int)p->corners,
                                                    f->g->reference[i], p->area));
        }
        f->g->middle[i] = wio_vec_scale(sum, 1 / g->area[i]);
    }
    return 0;
}

/** Appends the slopes of a round. */
static int keep_round(struct finding *f, size_t n, size_t *room)
{
    struct wio_gradients *g = f->g;
    for (size_t i = 0; i < n; i++) {
        size_t at = g->first[f->begin + i];
        if (at + MOST > *room) {
            *room = 2 * *room + 8 * n + MOST;
            struct wio_slope *more = wio_os_realloc(g->slope, *room * sizeof *more);
            if (more == NULL)
                return WAITIO_ERR_NOMEM;
            g->slope = more;
        }
        for (int k = 0; k < f->n_slope[i]; k++)
            g->slope[at + (size_t)k] = f->slope[i][k];
        g->first[f->begin + i + 1] = at + (size_t)f->n_slope[i];
    }
    return 0;
}

static int find_all(struct finding *f)
{
    enum { ROUND = 16384 };
    const struct wio_search *s = f->s;
    size_t n = s->source->n, room = 0;
    wio_team_run(s->threads, n, GRAIN, find_middles, f);
    f->found = wio_os_alloc((size_t)s->threads * sizeof *f->found);
    f->slope = wio_os_alloc(ROUND * sizeof *f->slope);
    f->n_slope = wio_os_alloc(ROUND * sizeof *f->n_slope);
    int error = f->found == NULL || f->slope == NULL || f->n_slope == NULL ? WAITIO_ERR_NOMEM : 0;
    for (f->begin = 0; f->begin < n && error == 0; f->begin += ROUND) {
        size_t part = n - f->begin < ROUND ? n - f->begin : ROUND;
        error = wio_team_run(s->threads, part, GRAIN, find_slopes, f);
        if (error == 0)
            error = keep_round(f, part, &room);
    }
    for (int t = 0; t < s->threads && f->found != NULL; t++)
        wio_found_free(&f->found[t]);
    wio_os_free(f->found);
    wio_os_free(f->slope);
    wio_os_free(f->n_slope);
    return error;
}

int wio_prepare_gradients(struct wio_search *s)
{
    int error = wio_prepare_pieces(s);
    if (error != 0 || s->gradients != NULL)
        return error;
    struct wio_gradients *g = wio_os_alloc(sizeof *g);
    if (g == NULL)
        return WAITIO_ERR_NOMEM;
    s->gradients = g;
    g->reference = wio_os_alloc(s->source->n * sizeof *g->reference);
    g->middle = wio_os_alloc(s->source->n * sizeof *g->middle);
    g->first = wio_os_alloc((s->source->n + 1) * sizeof *g->first);
    if (g->reference == NULL || g->middle == NULL || g->first == NULL)
        return WAITIO_ERR_NOMEM;
    struct finding f = {.s = s, .g = g};
    return find_all(&f);
}

void wio_gradients_free(struct wio_gradients *g)
{
    if (g == NULL)
        return;
    wio_os_free(g->reference);
    wio_os_free(g->middle);
    wio_os_free(g->first);
    wio_os_free(g->slope);
    wio_os_free(g);
}
