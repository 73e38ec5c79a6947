/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barycentric: the centres of the cells around a common corner form a polygon; cut into triangles,
 * these cover the sphere, and a target gets its value linearly from the triangle it lies in.
 */
#include "coupler/weights/polygon.h"
#include "coupler/weights/search.h"
#include "coupler/weights/team.h"
#include "os/os.h"
#include "waitio_errors.h"

enum { GRAIN = 512, MOST = 8192 }; /* cells around a corner: many at a pole */
static const double HAIR = 1e-12;

struct triangle {
    uint32_t cell[3];
};

struct wio_corners {
    struct wio_tree *cells;
    struct triangle *triangle;
    size_t n, room;
    struct wio_tree *tree;
};

/** A cell at a corner: the corners after and before it. */
struct sector {
    uint32_t cell;
    struct wio_vec next, before;
};

struct grower {
    struct triangle *triangle;
    size_t n, room;
    struct wio_found found;
    struct sector *sector; /* MOST of them */
};

struct finding {
    const struct wio_grid *g;
    const struct wio_tree *cells;
    struct grower *grower; /* one for each thread */
};

static bool cell_box(const void *arg, size_t i, struct wio_box *box)
{
    const struct wio_grid *g = arg;
    if (g->corners[i] == 0)
        return false;
    wio_grid_box(g, i, box->lo, box->hi);
    return true;
}

/** All cells that have this corner. @return how many, 0 also for too many, or an error */
static int gather(const struct finding *f, struct wio_found *found, struct wio_vec at,
                  double tolerance, struct sector *out)
{
    const struct wio_grid *g = f->g;
    struct wio_box box = {{at.x - tolerance, at.y - tolerance, at.z - tolerance},
                          {at.x + tolerance, at.y + tolerance, at.z + tolerance}};
    int n = 0;
    if (wio_tree_meet(f->cells, &box, found) != 0)
        return WAITIO_ERR_NOMEM;
    for (size_t i = 0; i < found->n; i++) {
        uint32_t cell = found->item[i];
        const struct wio_vec *p = wio_grid_corners(g, cell);
        int m = g->corners[cell];
        for (int k = 0; k < m; k++) {
            if (!(wio_vec_distance2(p[k], at) < tolerance * tolerance))
                continue;
            if (n == MOST)
                return 0;
            out[n++] =
                (struct sector){.cell = cell, .next = p[(k + 1) % m], .before = p[(k + m - 1) % m]};
            break;
        }
    }
    return n;
}

/** Orders the cells around the corner, beginning with the one of lowest index.
 * @return false: they do not close around it */
static bool go_around(const struct wio_grid *g, struct sector *all, int n, double tolerance)
{
    int first = 0;
    for (int k = 1; k < n; k++)
        if (g->index[all[k].cell] < g->index[all[first].cell])
            first = k;
    for (int k = 0; k < n; k++) {
        struct sector swap = all[k];
        int at = k == 0 ? first : k;
        while (k > 0 && at < n &&
               !(wio_vec_distance2(all[k - 1].before, all[at].next) < tolerance * tolerance))
            at++;
        if (at == n)
            return false;
        all[k] = all[at];
        all[at] = swap;
    }
    return wio_vec_distance2(all[n - 1].before, all[0].next) < tolerance * tolerance;
}

static double orientation(const struct wio_grid *g, uint32_t a, uint32_t b, uint32_t c)
{
    struct wio_vec p = g->centre[a], q = g->centre[b], r = g->centre[c];
    struct wio_vec normal = wio_vec_cross(wio_vec_sub(q, p), wio_vec_sub(r, p));
    return g->plane ? normal.z : wio_vec_dot(p, normal);
}

/** From which cell can the polygon be cut into triangles that all keep its orientation? */
static int fan_from(const struct wio_grid *g, const struct sector *all, int n)
{
    for (int from = 0; from < n; from++) {
        bool good = true;
        for (int k = 1; k + 1 < n && good; k++)
            good = orientation(g, all[from].cell, all[(from + k) % n].cell,
                               all[(from + k + 1) % n].cell) > 0;
        if (good)
            return from;
    }
    return 0;
}

static int add_triangle(struct grower *w, const struct wio_grid *g, uint32_t a, uint32_t b,
                        uint32_t c)
{
    if (!(g->fraction[a] > 0) || !(g->fraction[b] > 0) || !(g->fraction[c] > 0) ||
        !(orientation(g, a, b, c) > 0))
        return 0;
    if (w->n == w->room) {
        size_t room = 2 * w->room + 1024;
        struct triangle *more = wio_os_realloc(w->triangle, room * sizeof *more);
        if (more == NULL)
            return WAITIO_ERR_NOMEM;
        w->triangle = more;
        w->room = room;
    }
    w->triangle[w->n++] = (struct triangle){{a, b, c}};
    return 0;
}

/** Triangles around corner k of a cell, if the cell is the one of lowest index there. */
static int triangles_at(const struct finding *f, struct grower *w, size_t cell, int k)
{
    const struct wio_grid *g = f->g;
    struct sector *all = w->sector;
    const struct wio_vec *p = wio_grid_corners(g, cell);
    int m = g->corners[cell];
    double side2 =
        fmin(wio_vec_distance2(p[k], p[(k + 1) % m]), wio_vec_distance2(p[k], p[(k + m - 1) % m]));
    double tolerance = 1e-3 * sqrt(side2);
    int n = gather(f, &w->found, p[k], tolerance, all);
    if (n < 3)
        return n < 0 ? n : 0;
    for (int i = 0; i < n; i++)
        if (g->index[all[i].cell] < g->index[cell])
            return 0;
    if (!go_around(g, all, n, tolerance))
        return 0;
    int from = fan_from(g, all, n), error = 0;
    for (int i = 1; i + 1 < n && error == 0; i++)
        error = add_triangle(w, g, all[from].cell, all[(from + i) % n].cell,
                             all[(from + i + 1) % n].cell);
    return error;
}

static int find_triangles(void *arg, int thread, size_t begin, size_t end)
{
    const struct finding *f = arg;
    struct grower *w = &f->grower[thread];
    int error = 0;
    if (w->sector == NULL && (w->sector = wio_os_alloc(MOST * sizeof *w->sector)) == NULL)
        return WAITIO_ERR_NOMEM;
    for (size_t i = begin; i < end && error == 0; i++)
        for (int k = 0; k < f->g->corners[i] && error == 0; k++)
            error = triangles_at(f, w, i, k);
    return error;
}

struct boxes {
    const struct wio_grid *g;
    const struct triangle *triangle;
};

static bool triangle_box(const void *arg, size_t i, struct wio_box *box)
{
    const struct boxes *b = arg;
    double size2 = 0;
    *box = wio_box_empty();
    for (int k = 0; k < 3; k++) {
        struct wio_vec p = b->g->centre[b->triangle[i].cell[k]];
        wio_box_add(box, p);
        size2 = fmax(size2, wio_vec_distance2(p, b->g->centre[b->triangle[i].cell[0]]));
    }
    double wider = 1e-12 * b->g->scale + (b->g->plane ? 0 : 0.5 * size2);
    wio_box_widen(box, wider);
    return true;
}

/** All threads' triangles in one array. */
static int collect(struct wio_corners *c, const struct grower *grower, int threads)
{
    for (int t = 0; t < threads; t++)
        c->n += grower[t].n;
    c->triangle = wio_os_alloc(c->n * sizeof *c->triangle);
    if (c->triangle == NULL)
        return WAITIO_ERR_NOMEM;
    size_t at = 0;
    for (int t = 0; t < threads; t++)
        for (size_t i = 0; i < grower[t].n; i++)
            c->triangle[at++] = grower[t].triangle[i];
    return 0;
}

int wio_prepare_corners(struct wio_search *s)
{
    const struct wio_grid *g = s->source;
    if (s->corners != NULL)
        return 0;
    if (g->stride == 0 && g->n > 0)
        return wio_weights_fail(s->why, WAITIO_ERR_ARG,
                                "barycentric weights need source cells with corners, which tell "
                                "neighbours; the source grid has centres only");
    struct wio_corners *c = s->corners = wio_os_alloc(sizeof *c);
    if (c == NULL)
        return WAITIO_ERR_NOMEM;
    int error = wio_tree_make(g->n, cell_box, g, g->plane, s->threads, &c->cells);
    if (error != 0)
        return error;
    struct finding f = {.g = g, .cells = c->cells};
    f.grower = wio_os_alloc((size_t)s->threads * sizeof *f.grower);
    error = f.grower == NULL ? WAITIO_ERR_NOMEM
                             : wio_team_run(s->threads, g->n, GRAIN, find_triangles, &f);
    if (error == 0)
        error = collect(c, f.grower, s->threads);
    for (int t = 0; t < s->threads && f.grower != NULL; t++) {
        wio_os_free(f.grower[t].triangle);
        wio_os_free(f.grower[t].sector);
        wio_found_free(&f.grower[t].found);
    }
    wio_os_free(f.grower);
    struct boxes b = {.g = g, .triangle = c->triangle};
    return error != 0 ? error
                      : wio_tree_make(c->n, triangle_box, &b, g->plane, s->threads, &c->tree);
}

void wio_corners_free(struct wio_corners *c)
{
    if (c == NULL)
        return;
    wio_tree_free(c->cells);
    wio_tree_free(c->tree);
    wio_os_free(c->triangle);
    wio_os_free(c);
}

/** Barycentric coordinates of t in the plane that touches the sphere there; false: t is outside. */
static bool coordinates(const struct wio_grid *g, const struct triangle *tri, struct wio_vec t,
                        double w[3])
{
    struct wio_vec p[3];
    double up[3] = {1, 1, 1}, sum = 0;
    for (int k = 0; k < 3; k++) {
        p[k] = wio_vec_sub(g->centre[tri->cell[k]], t);
        if (!g->plane)
            up[k] = wio_vec_dot(g->centre[tri->cell[k]], t);
        if (!(up[k] > 0.05))
            return false;
    }
    for (int k = 0; k < 3; k++) {
        struct wio_vec normal = wio_vec_cross(p[(k + 1) % 3], p[(k + 2) % 3]);
        w[k] = (g->plane ? normal.z : wio_vec_dot(normal, t)) * up[k];
        sum += w[k];
    }
    if (!(sum > 0))
        return false;
    for (int k = 0; k < 3; k++) {
        w[k] /= sum;
        if (!(w[k] >= -HAIR))
            return false;
        w[k] = w[k] > 0 ? w[k] : 0;
    }
    return true;
}

/** Of two triangles that share an edge with the target on it the same one is taken, always. */
static bool before(const struct wio_grid *g, const struct triangle *a, const struct triangle *b)
{
    int64_t x[3], y[3];
    for (int k = 0; k < 3; k++) {
        x[k] = g->index[a->cell[k]];
        y[k] = g->index[b->cell[k]];
    }
    for (int k = 0; k < 3; k++)
        if (x[k] != y[k])
            return x[k] < y[k];
    return false;
}

int wio_row_barycentric(const struct wio_search *s, struct wio_scratch *sc, size_t target)
{
    const struct wio_grid *g = s->source;
    struct wio_vec t = s->target->centre[target];
    struct wio_box box = {{t.x, t.y, t.z}, {t.x, t.y, t.z}};
    const struct triangle *best = NULL;
    double weight[3] = {0, 0, 0};
    int error = wio_tree_meet(s->corners->tree, &box, &sc->found);
    for (size_t i = 0; i < sc->found.n && error == 0; i++) {
        const struct triangle *tri = &s->corners->triangle[sc->found.item[i]];
        double w[3];
        if ((best != NULL && before(g, best, tri)) || !coordinates(g, tri, t, w))
            continue;
        best = tri;
        for (int k = 0; k < 3; k++)
            weight[k] = w[k];
    }
    double sum = weight[0] + weight[1] + weight[2];
    for (int k = 0; k < 3 && best != NULL && error == 0; k++)
        if (weight[k] > 0)
            error = wio_scratch_link(sc, g->index[best->cell[k]], best->cell[k], weight[k] / sum);
    return error;
}
