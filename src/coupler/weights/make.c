/* SPDX-License-Identifier: BSD-3-Clause */
/* The stack of methods over all target cells, and the rows put together. */
#include <string.h>

#include "coupler/weights/limited.h"
#include "coupler/weights/search.h"
#include "coupler/weights/team.h"
#include "os/os.h"
#include "waitio_errors.h"

enum { GRAIN = 256, GROUP = 32 };

static int row_fixed(const struct wio_search *s, struct wio_scratch *scratch, size_t target)
{
    (void)s, (void)scratch, (void)target;
    return 0;
}

static const struct wio_method_ops METHODS[WIO_METHODS] = {
    [WIO_METHOD_NONE] = {.name = "none"},
    [WIO_METHOD_NEAREST] = {"nearest", wio_prepare_centres, wio_row_nearest},
    [WIO_METHOD_DISTANCE] = {"distance", wio_prepare_centres, wio_row_distance},
    [WIO_METHOD_BILINEAR] = {"bilinear", wio_prepare_quads, wio_row_bilinear},
    [WIO_METHOD_BARYCENTRIC] = {"barycentric", wio_prepare_corners, wio_row_barycentric},
    [WIO_METHOD_CONSERVATIVE] = {"conservative", wio_prepare_pieces, wio_row_conservative},
    [WIO_METHOD_CONSERVATIVE2] = {"conservative2", wio_prepare_gradients, wio_row_conservative2},
    [WIO_METHOD_FIXED] = {"fixed", NULL, row_fixed},
};

const char *wio_method_name(enum wio_method method)
{
    return (unsigned)method < WIO_METHODS ? METHODS[method].name : NULL;
}

enum wio_method wio_method_of(const char *name)
{
    for (int m = 1; m < WIO_METHODS; m++)
        if (strcmp(METHODS[m].name, name) == 0)
            return (enum wio_method)m;
    return WIO_METHOD_NONE;
}

bool wio_weights_need_corners(const struct wio_weights_options *o)
{
    for (int k = 0; k < o->n_stack; k++)
        if (o->stack[k] == WIO_METHOD_BARYCENTRIC || o->stack[k] == WIO_METHOD_CONSERVATIVE ||
            o->stack[k] == WIO_METHOD_CONSERVATIVE2)
            return true;
    return false;
}

/** Links that one thread has made, row after row, until all are put in order. */
struct harvest {
    struct wio_scratch scratch;
    uint32_t *position;
    double *weight;
    size_t n, room;
    struct wio_parts parts; /* options.limiter */
};

/** Where the row of a target is. */
struct place {
    size_t first, first_part;
    uint32_t n, n_parts;
    int thread;
};

struct job {
    struct wio_search *s;
    const uint32_t *order; /* targets in an order in which neighbours follow each other */
    struct harvest harvest[WIO_TEAM_MAX];
    struct place *place;
    struct wio_weights *w;
};

static int keep_row(struct job *job, int thread, size_t target)
{
    struct harvest *h = &job->harvest[thread];
    const struct wio_scratch *sc = &h->scratch;
    if (h->n + sc->n_link > h->room) {
        size_t room = 2 * (h->n + sc->n_link) + 4096;
        uint32_t *position = wio_os_realloc(h->position, room * sizeof *position);
        if (position != NULL)
            h->position = position;
        double *weight = wio_os_realloc(h->weight, room * sizeof *weight);
        if (weight != NULL)
            h->weight = weight;
        if (position == NULL || weight == NULL)
            return WAITIO_ERR_NOMEM;
        h->room = room;
    }
    job->place[target] = (struct place){.first = h->n,
                                        .first_part = h->parts.n,
                                        .n = (uint32_t)sc->n_link,
                                        .n_parts = (uint32_t)sc->parts.n,
                                        .thread = thread};
    for (size_t i = 0; i < sc->n_link; i++) {
        h->position[h->n] = sc->link[i].position;
        h->weight[h->n++] = sc->link[i].weight;
    }
    return wio_parts_append(&h->parts, &sc->parts);
}

static int make_row(struct job *job, int thread, size_t target)
{
    const struct wio_search *s = job->s;
    struct wio_scratch *sc = &job->harvest[thread].scratch;
    for (int k = 0; k < s->options->n_stack; k++) {
        enum wio_method method = s->options->stack[k];
        sc->n_link = sc->parts.n = 0;
        sc->coverage = 1;
        int error = METHODS[method].row(s, sc, target);
        if (error != 0)
            return error;
        if (sc->n_link == 0 && method != WIO_METHOD_FIXED)
            continue;
        wio_scratch_order(sc);
        job->w->method[target] = (uint8_t)method;
        job->w->coverage[target] = sc->coverage;
        return keep_row(job, thread, target);
    }
    return 0;
}

static int make_rows(void *arg, int thread, size_t begin, size_t end)
{
    struct job *job = arg;
    int error = 0;
    for (size_t i = begin; i < end && error == 0; i++) {
        if ((i - begin) % GROUP == 0)
            wio_scratch_begin(&job->harvest[thread].scratch, job->order + i,
                              (int)(end - i < GROUP ? end - i : GROUP));
        if (job->s->target->fraction[job->order[i]] > 0)
            error = make_row(job, thread, job->order[i]);
    }
    return error;
}

static int copy_rows(void *arg, int thread, size_t begin, size_t end)
{
    (void)thread;
    struct job *job = arg;
    struct wio_weights *w = job->w;
    for (size_t t = begin; t < end; t++) {
        const struct place *p = &job->place[t];
        const struct harvest *h = &job->harvest[p->thread];
        for (size_t i = 0; i < p->n; i++) {
            size_t to = w->row[t] + i;
            w->position[to] = h->position[p->first + i];
            w->weight[to] = h->weight[p->first + i];
            w->source[to] = job->s->source->index[w->position[to]];
        }
    }
    return 0;
}

static int put_together(struct job *job)
{
    struct wio_weights *w = job->w;
    for (size_t t = 0; t < w->n_targets; t++)
        w->row[t + 1] = w->row[t] + job->place[t].n;
    w->n_links = w->row[w->n_targets];
    w->position = wio_weights_alloc(w->n_links * sizeof *w->position);
    w->source = wio_weights_alloc(w->n_links * sizeof *w->source);
    w->weight = wio_weights_alloc(w->n_links * sizeof *w->weight);
    if (w->position == NULL || w->source == NULL || w->weight == NULL)
        return WAITIO_ERR_NOMEM;
    return wio_team_run(job->s->threads, w->n_targets, 16 * GRAIN, copy_rows, job);
}

/** The parts of all rows, and the cells that they are of. */
static int make_slopes(struct job *job)
{
    struct wio_weights *w = job->w;
    struct wio_slopes *s = wio_os_alloc(sizeof *s);
    if (s == NULL)
        return WAITIO_ERR_NOMEM;
    w->slopes = s;
    s->part_first = wio_os_alloc((w->n_targets + 1) * sizeof *s->part_first);
    if (s->part_first == NULL)
        return WAITIO_ERR_NOMEM;
    s->part_first[0] = 0;
    for (size_t t = 0; t < w->n_targets; t++)
        s->part_first[t + 1] = s->part_first[t] + job->place[t].n_parts;
    size_t n = s->part_first[w->n_targets];
    s->part = wio_os_alloc(n * sizeof *s->part);
    if (s->part == NULL)
        return WAITIO_ERR_NOMEM;
    for (size_t t = 0; t < w->n_targets; t++) {
        const struct place *p = &job->place[t];
        if (p->n_parts > 0)
            memcpy(s->part + s->part_first[t], job->harvest[p->thread].parts.at + p->first_part,
                   p->n_parts * sizeof *s->part);
    }
    return wio_slopes_describe(job->s, s, n);
}

static bool target_box(const void *arg, size_t i, struct wio_box *box)
{
    const struct wio_grid *g = arg;
    *box = wio_box_empty();
    wio_box_add(box, g->centre[i]);
    return true;
}

static int run_job(struct job *job)
{
    struct wio_search *s = job->s;
    struct wio_weights *w = job->w;
    struct wio_tree *targets = NULL;
    size_t n = s->target->n;
    w->n_targets = n;
    w->fixed = s->options->fixed;
    w->row = wio_weights_alloc((n + 1) * sizeof *w->row);
    w->method = wio_os_alloc(n * sizeof *w->method);
    w->coverage = wio_os_alloc(n * sizeof *w->coverage);
    job->place = wio_weights_alloc(n * sizeof *job->place);
    if (w->row == NULL || w->method == NULL || w->coverage == NULL || job->place == NULL)
        return WAITIO_ERR_NOMEM;
    int error = wio_tree_sort(n, target_box, s->target, s->target->plane, s->threads, &targets);
    if (error != 0)
        return error;
    job->order = wio_tree_order(targets, &n);
    error = wio_team_run(s->threads, n, GRAIN, make_rows, job);
    if (error == 0)
        error = put_together(job);
    if (error == 0 && s->options->limiter != WIO_LIMITER_NONE)
        error = make_slopes(job);
    wio_tree_free(targets);
    return error;
}

static int check(const struct wio_grid *source, const struct wio_grid *target,
                 const struct wio_weights_options *o, struct wio_weights_error *why)
{
    if (source->plane != target->plane)
        return wio_weights_fail(why, WAITIO_ERR_ARG,
                                "the %s grid lies in a plane, the other on the sphere",
                                source->plane ? "source" : "target");
    if (o->n_stack < 1 || o->n_stack > WIO_STACK_MAX)
        return wio_weights_fail(why, WAITIO_ERR_ARG, "%d methods; give 1 to %d", o->n_stack,
                                WIO_STACK_MAX);
    for (int k = 0; k < o->n_stack; k++)
        if (o->stack[k] <= WIO_METHOD_NONE || o->stack[k] >= WIO_METHODS)
            return wio_weights_fail(why, WAITIO_ERR_ARG, "method number %d is unknown",
                                    (int)o->stack[k]);
    if (o->neighbours < 0 || o->neighbours > WIO_NEIGHBOURS_MAX)
        return wio_weights_fail(why, WAITIO_ERR_ARG, "%d neighbours; at most %d", o->neighbours,
                                WIO_NEIGHBOURS_MAX);
    if (!(o->power >= 0) || !(o->max_distance >= 0) || !(o->min_coverage >= 0))
        return wio_weights_fail(why, WAITIO_ERR_ARG,
                                "power, largest distance and least coverage cannot be negative");
    return 0;
}

static int prepare(struct wio_search *s)
{
    int error = 0;
    for (int k = 0; k < s->options->n_stack && error == 0; k++)
        if (METHODS[s->options->stack[k]].prepare != NULL)
            error = METHODS[s->options->stack[k]].prepare(s);
    return error;
}

int wio_weights_make(const struct wio_grid *source, const struct wio_grid *target,
                     const struct wio_weights_options *options, struct wio_weights *weights,
                     struct wio_weights_error *why)
{
    *weights = (struct wio_weights){0};
    int error = check(source, target, options, why);
    if (error != 0)
        return error;
    struct wio_weights_error own = {""};
    struct wio_search s = {.source = source, .target = target, .options = options, .why = &own};
    struct job *job = wio_os_alloc(sizeof *job);
    s.threads = wio_team_size(options->threads);
    error = WAITIO_ERR_NOMEM;
    if (job != NULL) {
        job->s = &s;
        job->w = weights;
        error = prepare(&s);
        if (error == 0)
            error = run_job(job);
        for (int t = 0; t < WIO_TEAM_MAX; t++) {
            wio_scratch_free(&job->harvest[t].scratch);
            wio_os_free(job->harvest[t].position);
            wio_os_free(job->harvest[t].weight);
            wio_os_free(job->harvest[t].parts.at);
        }
        wio_os_free(job->place);
        wio_os_free(job);
    }
    wio_tree_free(s.pieces);
    wio_tree_free(s.centres);
    wio_gradients_free(s.gradients);
    wio_quads_free(s.quads);
    wio_corners_free(s.corners);
    if (error != 0) {
        wio_weights_free(weights);
        wio_weights_fail(why, error, "%s",
                         own.text[0] != '\0' ? own.text
                         : error == WAITIO_ERR_NOMEM
                             ? "out of memory for weights; use more processes or smaller grids"
                             : "too many cells in one process");
    }
    return error;
}

void wio_weights_free(struct wio_weights *w)
{
    wio_os_free(w->row);
    wio_os_free(w->position);
    wio_os_free(w->source);
    wio_os_free(w->weight);
    wio_os_free(w->method);
    wio_os_free(w->coverage);
    wio_slopes_free(w->slopes);
    *w = (struct wio_weights){0};
}

void wio_weights_apply(const struct wio_weights *w, const double *source, double fill,
                       double *target)
{
    for (size_t t = 0; t < w->n_targets; t++) {
        double sum = 0;
        for (size_t i = w->row[t]; i < w->row[t + 1]; i++)
            sum += w->weight[i] * source[w->position[i]];
        target[t] = w->method[t] == WIO_METHOD_NONE    ? fill
                    : w->method[t] == WIO_METHOD_FIXED ? w->fixed
                                                       : sum;
    }
}
