/* SPDX-License-Identifier: BSD-3-Clause */
/* Conservative weights: the areas that cells share, and their first moments. */
#include <float.h>
#include <stdlib.h>

#include "coupler/weights/clip.h"
#include "coupler/weights/limited.h"
#include "coupler/weights/polygon.h"
#include "coupler/weights/search.h"
#include "os/os.h"
#include "waitio_errors.h"

static bool piece_box(const void *arg, size_t i, struct wio_box *box)
{
    const struct wio_grid *g = arg;
    if (!(g->fraction[g->piece[i].cell] > 0))
        return false;
    wio_piece_box(g, &g->piece[i], box);
    return true;
}

int wio_prepare_pieces(struct wio_search *s)
{
    if (s->pieces != NULL)
        return 0;
    const struct wio_grid *sides[2] = {s->source, s->target};
    for (int k = 0; k < 2; k++)
        if (sides[k]->stride == 0 && sides[k]->n > 0)
            return wio_weights_fail(s->why, WAITIO_ERR_ARG,
                                    "conservative weights need cells with corners; the %s grid has "
                                    "centres only",
                                    k == 0 ? "source" : "target");
    return wio_tree_make(s->source->n_pieces, piece_box, s->source, s->source->plane, s->threads,
                         &s->pieces);
}

static int add_overlap(struct wio_scratch *sc, struct wio_overlap overlap)
{
    if (sc->n_overlap == sc->overlap_room) {
        size_t room = 2 * sc->overlap_room + 64;
        struct wio_overlap *all = wio_os_realloc(sc->overlap, room * sizeof *all);
        if (all == NULL)
            return WAITIO_ERR_NOMEM;
        sc->overlap = all;
        sc->overlap_room = room;
    }
    sc->overlap[sc->n_overlap++] = overlap;
    return 0;
}

/** The part of a source piece in the clipper's polygon. */
static int measure(const struct wio_search *s, struct wio_scratch *sc,
                   const struct wio_clipper *clipper, uint32_t piece, bool moments)
{
    const struct wio_grid *g = s->source;
    const struct wio_piece *p = &g->piece[piece];
    struct wio_vec room[2][WIO_CLIP_ROOM];
    const struct wio_vec *common;
    bool whole;
    int n = wio_clip(clipper, g->corner + p->first, (int)p->corners, room, &common, &whole);
    if (n == 0)
        return 0;
    struct wio_overlap o = {.index = g->index[p->cell], .cell = p->cell, .turn = piece};
    o.area = whole ? p->area : wio_polygon_area(g->plane, common, n);
    /* Thinner than the rounding of the corners: neighbours that share an edge, not an area. */
    if (!(o.area > DBL_EPSILON * g->scale * p->radius))
        return 0;
    if (moments)
        o.moment =
            wio_polygon_moment(g->plane, common, n, s->gradients->reference[p->cell], o.area);
    return add_overlap(sc, o);
}

/* Within a cell the pieces are in the order in which they were cut; numbers of pieces differ from
 * one set of cells to another, their order within a cell does not. */
static int compare(const void *a, const void *b)
{
    const struct wio_overlap *x = a, *y = b;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    return (x->turn > y->turn) - (x->turn < y->turn);
}

static void sort_overlaps(struct wio_overlap *o, size_t n)
{
    if (n > 24) {
        qsort(o, n, sizeof *o, compare);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        struct wio_overlap moved = o[i];
        size_t at = i;
        for (; at > 0 && compare(&o[at - 1], &moved) > 0; at--)
            o[at] = o[at - 1];
        o[at] = moved;
    }
}

/** Adds up what pieces of one source cell give, from `from` on. */
static void merge(struct wio_scratch *sc)
{
    size_t kept = 0;
    for (size_t i = 1; i < sc->n_overlap; i++) {
        struct wio_overlap *to = &sc->overlap[kept], *o = &sc->overlap[i];
        if (o->index == to->index) {
            to->area += o->area;
            to->moment = wio_vec_add(to->moment, o->moment);
        } else {
            sc->overlap[++kept] = *o;
        }
    }
    sc->n_overlap = sc->n_overlap > 0 ? kept + 1 : 0;
}

static bool apart(const struct wio_piece *a, const struct wio_piece *b)
{
    double reach = a->radius + b->radius;
    return wio_vec_distance2(a->cap, b->cap) > reach * reach * (1 + 1e-12);
}

/** All source cells that share an area with a target cell, in order of their index. */
static int find_overlaps(const struct wio_search *s, struct wio_scratch *sc, size_t target,
                         bool moments)
{
    const struct wio_grid *t = s->target;
    sc->n_overlap = 0;
    for (uint32_t k = t->first_piece[target]; k < t->first_piece[target + 1]; k++) {
        const struct wio_piece *piece = &t->piece[k];
        struct wio_clipper clipper;
        struct wio_box box;
        wio_piece_box(t, piece, &box);
        int error = wio_tree_meet(s->pieces, &box, &sc->found);
        if (error != 0)
            return error;
        wio_clipper_set(&clipper, t, piece);
        size_t before = sc->n_overlap;
        for (size_t i = 0; i < sc->found.n; i++) {
            uint32_t item = sc->found.item[i];
            if (!apart(piece, &s->source->piece[item]) &&
                (error = measure(s, sc, &clipper, item, moments)) != 0)
                return error;
        }
        sort_overlaps(sc->overlap + before, sc->n_overlap - before);
        for (size_t i = before; i < sc->n_overlap; i++)
            sc->overlap[i].turn = (uint32_t)i; /* keeps the order when pieces of the target meet */
    }
    if (t->first_piece[target + 1] - t->first_piece[target] > 1)
        sort_overlaps(sc->overlap, sc->n_overlap);
    merge(sc);
    return 0;
}

/** Area that a row's areas are divided by; 0: no row. Sets the coverage. */
static double divisor(const struct wio_search *s, struct wio_scratch *sc, size_t target)
{
    double sum = 0, counts = s->target->area[target] * s->target->fraction[target];
    for (size_t i = 0; i < sc->n_overlap; i++)
        sum += sc->overlap[i].area * s->source->fraction[sc->overlap[i].cell];
    sc->coverage = counts > 0 ? sum / counts : 0;
    if (!(sc->coverage > 0) || sc->coverage < s->options->min_coverage * (1 - 1e-9))
        return 0;
    /* Covered wholly but for rounding: then the row's sum is 1. */
    if (s->options->norm == WIO_NORM_FRACAREA || fabs(sum / counts - 1) < 1e-9)
        return sum;
    return counts;
}

/** Areas of the models in place of those of the polygons. */
static double given_ratio(const struct wio_grid *g, size_t cell)
{
    return g->given != NULL ? g->given[cell] / g->area[cell] : 1;
}

static double scale_of(const struct wio_search *s, uint32_t cell, size_t target, double divided_by)
{
    double scale = s->source->fraction[cell] / divided_by;
    if (s->options->given_areas)
        scale *= given_ratio(s->source, cell) / given_ratio(s->target, target);
    return scale;
}

int wio_row_conservative(const struct wio_search *s, struct wio_scratch *sc, size_t target)
{
    int error = find_overlaps(s, sc, target, false);
    double by = error == 0 ? divisor(s, sc, target) : 0;
    if (!(by > 0))
        return error;
    for (size_t i = 0; i < sc->n_overlap && error == 0; i++) {
        const struct wio_overlap *o = &sc->overlap[i];
        error = wio_scratch_link(sc, o->index, o->cell, o->area * scale_of(s, o->cell, target, by));
    }
    return error;
}

int wio_row_conservative2(const struct wio_search *s, struct wio_scratch *sc, size_t target)
{
    const struct wio_gradients *g = s->gradients;
    int error = find_overlaps(s, sc, target, true);
    double by = error == 0 ? divisor(s, sc, target) : 0;
    if (!(by > 0))
        return error;
    for (size_t i = 0; i < sc->n_overlap && error == 0; i++) {
        const struct wio_overlap *o = &sc->overlap[i];
        double scale = scale_of(s, o->cell, target, by), own = o->area;
        /* How far the middle of the common part is from the source cell's, times its area. */
        struct wio_vec shift = wio_vec_madd(o->moment, -o->area, g->middle[o->cell]);
        if (s->options->limiter != WIO_LIMITER_NONE)
            error =
                wio_parts_add(&sc->parts, o->cell, o->area * scale, wio_vec_scale(shift, scale));
        for (size_t k = g->first[o->cell]; k < g->first[o->cell + 1] && error == 0; k++) {
            double part = wio_vec_dot(g->slope[k].vector, shift);
            own -= part;
            error = wio_scratch_link(sc, s->source->index[g->slope[k].position],
                                     g->slope[k].position, part * scale);
        }
        if (error == 0)
            error = wio_scratch_link(sc, o->index, o->cell, own * scale);
    }
    return error;
}
