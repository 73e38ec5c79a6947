/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Weights made from the cells of two grids, each process those of its own receive points.
 *
 *   receiver: boxes around its points, each with a margin     -> all senders
 *   sender:   its cells that meet a receiver's boxes          -> that receiver
 *   receiver: are those all that count? Else again, with larger margins where they were too small
 *
 * How large a margin must be is known beforehand, but for nearest points: there a first look tells
 * the distance within which all are needed. A process has its points and what is near them; the
 * whole source grid only where everything is near (docs/design/weights.md says when).
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coupler/cpl.h"
#include "coupler/weights/options.h"

enum { BOXES = 48 };
/* Words of a box under way, and of a cell, whose corners' x, then y, follow. */
enum { BOX_WORDS = 6 };
enum { INDEX, MASK, X, Y, FRACTION, AREA, CELL_WORDS };
/* What the processes of both grids must agree on: the largest of each counts. The negative of a
 * number that has to be the same everywhere is there, too. */
enum {
    UNIT,
    NOT_UNIT,
    NX,
    NOT_NX,
    NY,
    NOT_NY,
    PERIODIC,
    FOLD,
    CORNERS,
    SCALE,
    NO_AREA,
    REACH,
    FACTS
};

struct vicinity {
    struct waitio_cpl *cpl;
    const struct wio_cpl_table *table;
    const struct wio_cpl_team *team;
    const struct wio_cpl_grid *grid; /* of this process's component */
    bool sends;
    struct wio_weights_options o;
    double facts[2][FACTS]; /* source, target */
    struct wio_cells cells; /* of the own grid */
    struct wio_grid *own;
    /* sender */
    struct wio_chooser *chooser;
    bool *chosen;
    /* receiver */
    struct wio_region region[BOXES];
    double margin[BOXES], limit;
    int n_boxes, *box_of;
    struct wio_cells near; /* source cells that came */
    double *numbers;       /* of these cells */
    int *masks;
    int64_t *indices;
    struct wio_grid *source;
};

static int failed(const struct vicinity *v, int code, const struct wio_weights_error *why)
{
    return wio_cpl_fail(code, "%s: grid '%s' of component '%s', process %d: %s",
                        wio_cpl_table_name(v->cpl, v->table), v->grid->name,
                        v->cpl->components[v->cpl->mine].name, v->cpl->rank, why->text);
}

static bool has(const struct vicinity *v, enum wio_method method)
{
    for (int k = 0; k < v->o.n_stack; k++)
        if (v->o.stack[k] == method)
            return true;
    return false;
}

/* How many nearest centres matter; 0: none. */
static int wanted(const struct vicinity *v)
{
    if (has(v, WIO_METHOD_DISTANCE))
        return v->o.neighbours > 0 ? v->o.neighbours : 4;
    return has(v, WIO_METHOD_NEAREST) ? 1 : 0;
}

/* Do neighbours of the source cells nearby matter? */
static bool wide(const struct vicinity *v)
{
    return has(v, WIO_METHOD_BILINEAR) || has(v, WIO_METHOD_BARYCENTRIC) ||
           has(v, WIO_METHOD_CONSERVATIVE2);
}

static bool areas(const struct vicinity *v)
{
    return has(v, WIO_METHOD_CONSERVATIVE) || has(v, WIO_METHOD_CONSERVATIVE2);
}

/* ---- both sides agree ------------------------------------------------------------------------ */

static int agree(struct vicinity *v)
{
    struct wio_cpl_op op = wio_cpl_collective(v->cpl, v->team->set, 0);
    double mine[2][FACTS];

    memcpy(mine, v->facts, sizeof mine);
    if (WAITIO_MPI_Iallreduce(mine, v->facts, 2 * FACTS, WAITIO_MPI_DOUBLE, WAITIO_MPI_MAX,
                              v->team->comm, &op.req) != 0)
        return wio_cpl_failed();
    return wio_cpl_wait(v->cpl, &op, 1);
}

static void tell_facts(struct vicinity *v)
{
    const struct wio_cells *c = &v->cells;
    double *f = v->facts[!v->sends];

    for (int i = 0; i < 2 * FACTS; i++)
        v->facts[i / FACTS][i % FACTS] = -INFINITY;
    if (c->n == 0)
        return;
    f[UNIT] = c->unit;
    f[NX] = (double)c->nx;
    f[NY] = (double)c->ny;
    f[NOT_UNIT] = -f[UNIT];
    f[NOT_NX] = -f[NX];
    f[NOT_NY] = -f[NY];
    f[PERIODIC] = c->periodic;
    f[FOLD] = c->fold;
    f[CORNERS] = c->corners;
    f[SCALE] = wio_cells_scale(c);
    f[NO_AREA] = c->area == NULL;
}

static int check_side(const struct vicinity *v, int side)
{
    const struct wio_cpl_table *t = v->table;
    const double *f = v->facts[side];

    if (!(f[UNIT] >= 0) || (f[UNIT] == -f[NOT_UNIT] && f[NX] == -f[NOT_NX] && f[NY] == -f[NOT_NY]))
        return 0; /* a grid without any point is none of our business */
    return wio_cpl_fail(WAITIO_ERR_ARG,
                        "%s: the processes of component '%s' say different things about the cells "
                        "of grid '%s'; unit, nx and ny are the same in all",
                        wio_cpl_table_name(v->cpl, t),
                        v->cpl->components[side == 0 ? t->from : t->to].name,
                        side == 0 ? t->grid_put : t->grid_get);
}

static int take_cells(struct vicinity *v)
{
    const char *own = v->cpl->components[v->cpl->mine].name;

    v->grid = wio_cpl_grid_find(v->cpl, v->sends ? v->table->grid_put : v->table->grid_get);
    if (v->grid->cells != NULL)
        v->cells = *v->grid->cells;
    else if (v->grid->n > 0)
        return wio_cpl_fail(WAITIO_ERR_ARG,
                            "%s: weights are to be made, but component '%s' has not said where the "
                            "points of its grid '%s' are: give its cells (waitio_cpl_grid_cells(), "
                            "h3ou_def_grid_cells, Coupler.cells), or a weight file",
                            wio_cpl_table_name(v->cpl, v->table), own, v->grid->name);
    tell_facts(v);
    return 0;
}

/* The own grid, as all processes of its component see it. */
static int make_own(struct vicinity *v)
{
    const double *f = v->facts[!v->sends];
    struct wio_weights_error why;
    int rc;

    v->cells.scale = f[SCALE];
    if (v->cells.n == 0) {
        v->cells.unit = f[UNIT] >= 0 ? (enum wio_grid_unit)(int)f[UNIT] : WIO_GRID_DEGREES;
        v->cells.corners = 0;
    }
    rc = wio_grid_make(&v->cells, v->o.threads, &v->own, &why);
    if (rc != 0)
        return failed(v, rc, &why);
    if (v->cells.n > 0)
        v->facts[!v->sends][REACH] = wio_grid_reach(v->own);
    rc = agree(v);
    wio_weights_settle(&v->o, v->cells.unit == WIO_GRID_PLANE);
    return rc;
}

/* ---- margins --------------------------------------------------------------------------------- */

/* No margin has to be larger: then it holds all. */
static double everything(const struct vicinity *v)
{
    double scale = fmax(v->facts[0][SCALE], v->facts[1][SCALE]);

    return v->facts[0][UNIT] == WIO_GRID_PLANE ? 4 * scale : 2.1;
}

static double straight(const struct vicinity *v, double along)
{
    return v->facts[0][UNIT] == WIO_GRID_PLANE ? along
                                               : 2 * sin(fmin(0.5 * along, 1.5707963267948966));
}

static int cover(struct vicinity *v)
{
    double all = everything(v), base = wanted(v) > 0 || wide(v) ? 2 * v->facts[0][REACH] : 0;

    v->limit = v->o.max_distance > 0 ? straight(v, v->o.max_distance) * (1 + 1e-12) : all;
    if (wide(v) && v->facts[0][CORNERS] < 3) /* without corners nobody knows how wide cells are */
        base = all;
    v->box_of = wio_cpl_new(v->cells.n, sizeof *v->box_of);
    if (v->box_of == NULL)
        return WAITIO_ERR_NOMEM;
    v->n_boxes = wio_grid_cover(v->own, BOXES, v->region, v->box_of);
    for (int b = 0; b < v->n_boxes; b++)
        v->margin[b] = fmin(base, all);
    return v->n_boxes < 0 ? v->n_boxes : 0;
}

/* Widen the boxes whose points may have nearer sources outside. @param[out] again some were */
static int widen(struct vicinity *v, bool *again)
{
    double *distance, need[BOXES] = {0};
    int rc;

    *again = false;
    if (wanted(v) == 0)
        return 0;
    distance = wio_cpl_new(v->cells.n, sizeof *distance);
    rc = distance == NULL ? WAITIO_ERR_NOMEM
                          : wio_grid_kth_nearest(v->source, v->own, wanted(v), distance);
    for (size_t i = 0; rc == 0 && i < v->cells.n; i++)
        need[v->box_of[i]] = fmax(need[v->box_of[i]], distance[i]);
    free(distance);
    for (int b = 0; rc == 0 && b < v->n_boxes; b++) {
        double more = isfinite(need[b]) ? need[b] * (1 + 1e-12)
                                        : fmax(4 * v->margin[b], 1e-3 * everything(v));

        if (need[b] <= v->margin[b] || v->margin[b] >= v->limit)
            continue;
        v->margin[b] = fmin(more, v->limit);
        *again = true;
    }
    return rc;
}

/* ---- boxes and cells travel ------------------------------------------------------------------ */

static int load_boxes(struct vicinity *v, struct wio_cpl_cargo *cargo)
{
    int senders = v->cpl->components[v->table->from].n, rc = 0;

    for (int b = 0; b < v->n_boxes; b++) {
        int64_t w[BOX_WORDS];

        for (int d = 0; d < 3; d++) {
            w[d] = wio_cpl_bits(v->region[b].lo[d] - v->margin[b]);
            w[3 + d] = wio_cpl_bits(v->region[b].hi[d] + v->margin[b]);
        }
        for (int to = 0; rc == 0 && to < senders; to++)
            rc = wio_cpl_load(cargo, to, w);
    }
    return rc;
}

/* Word by word what a receiver makes the same cell of. @param corners that travel with each */
static void pack_cell(const struct vicinity *v, size_t i, int corners, int64_t *w)
{
    const struct wio_cells *c = &v->cells;

    w[INDEX] = v->grid->index[i];
    w[MASK] = c->mask == NULL || c->mask[i] != 0;
    w[X] = wio_cpl_bits(c->x[i]);
    w[Y] = wio_cpl_bits(c->y[i]);
    w[FRACTION] = wio_cpl_bits(c->fraction != NULL ? c->fraction[i] : 1);
    w[AREA] = wio_cpl_bits(c->area != NULL ? c->area[i] : 0);
    for (int k = 0; k < corners; k++) {
        size_t from = (size_t)c->corners * i + (size_t)(k < c->corners ? k : c->corners - 1);

        w[CELL_WORDS + k] = wio_cpl_bits(c->cx[from]);
        w[CELL_WORDS + corners + k] = wio_cpl_bits(c->cy[from]);
    }
}

static int corners_sent(const struct vicinity *v)
{
    return areas(v) || wide(v) ? (int)fmax(v->facts[0][CORNERS], 0) : 0;
}

/* The cells for one receiver, by its boxes. Masked cells are nothing to the nearest. */
static int load_cells(struct vicinity *v, const int64_t *boxes, size_t n, int to,
                      struct wio_cpl_cargo *cargo, int64_t *w)
{
    int corners = corners_sent(v), rc = 0;
    bool masked = areas(v) || wide(v);

    memset(v->chosen, 0, v->cells.n * sizeof *v->chosen);
    for (size_t b = 0; rc == 0 && b < n; b++, boxes += BOX_WORDS) {
        struct wio_region r;

        for (int d = 0; d < 3; d++) {
            r.lo[d] = wio_cpl_real(boxes[d]);
            r.hi[d] = wio_cpl_real(boxes[3 + d]);
        }
        rc = wio_chooser_choose(v->chooser, &r, 0, v->chosen);
    }
    for (size_t i = 0; rc == 0 && i < v->cells.n; i++) {
        if (!v->chosen[i] || (!masked && !(wio_grid_fraction(v->own, i) > 0)))
            continue;
        pack_cell(v, i, v->cells.corners > 0 ? corners : 0, w);
        rc = wio_cpl_load(cargo, to, w);
    }
    return rc;
}

static int answer(struct vicinity *v, const struct wio_cpl_list *in, const int64_t *counts,
                  struct wio_cpl_cargo *cargo)
{
    int64_t *w = wio_cpl_new(cargo->words, sizeof *w);
    const int64_t *boxes = in->at;
    int rc = w == NULL ? WAITIO_ERR_NOMEM : 0;

    for (int m = 0; rc == 0 && m < v->team->n; m++) {
        if (counts[m] > 0)
            rc = load_cells(v, boxes, (size_t)counts[m], m, cargo, w);
        boxes += counts[m] * BOX_WORDS;
    }
    free(w);
    return rc;
}

static void drop_source(struct vicinity *v)
{
    wio_grid_free(v->source);
    free(v->numbers);
    free(v->masks);
    free(v->indices);
    v->source = NULL;
    v->numbers = NULL;
    v->masks = NULL;
    v->indices = NULL;
}

/* Cells from words: arrays side by side, x, y, fraction, area, corners' x and y. */
static void unpack(struct vicinity *v, const int64_t *w, size_t n, int corners)
{
    double *at = v->numbers, *x = at, *y = x + n, *fraction = y + n, *area = fraction + n;
    double *cx = area + n, *cy = cx + n * (size_t)corners;
    const double *f = v->facts[0];

    for (size_t i = 0; i < n; i++, w += CELL_WORDS + 2 * corners) {
        v->indices[i] = w[INDEX];
        v->masks[i] = (int)w[MASK];
        x[i] = wio_cpl_real(w[X]);
        y[i] = wio_cpl_real(w[Y]);
        fraction[i] = wio_cpl_real(w[FRACTION]);
        area[i] = wio_cpl_real(w[AREA]);
        for (int k = 0; k < corners; k++) {
            cx[(size_t)corners * i + (size_t)k] = wio_cpl_real(w[CELL_WORDS + k]);
            cy[(size_t)corners * i + (size_t)k] = wio_cpl_real(w[CELL_WORDS + corners + k]);
        }
    }
    v->near =
        (struct wio_cells){.unit = f[UNIT] >= 0 ? (enum wio_grid_unit)(int)f[UNIT] : v->cells.unit,
                           .n = n,
                           .index = v->indices,
                           .x = x,
                           .y = y,
                           .corners = corners,
                           .cx = cx,
                           .cy = cy,
                           .mask = v->masks,
                           .fraction = fraction,
                           .area = f[NO_AREA] > 0 ? NULL : area,
                           .nx = f[NX] > 0 ? (int64_t)f[NX] : 0,
                           .ny = f[NY] > 0 ? (int64_t)f[NY] : 0,
                           .periodic = f[PERIODIC] > 0,
                           .fold = f[FOLD] > 0,
                           .scale = f[SCALE]};
}

static int take_source(struct vicinity *v, const struct wio_cpl_list *in)
{
    int corners = corners_sent(v), rc;
    size_t words = (size_t)(CELL_WORDS + 2 * corners), n = in->n / words;
    struct wio_weights_error why;

    drop_source(v);
    v->numbers = wio_cpl_new(n, (4 + 2 * (size_t)corners) * sizeof *v->numbers);
    v->masks = wio_cpl_new(n, sizeof *v->masks);
    v->indices = wio_cpl_new(n, sizeof *v->indices);
    if (v->numbers == NULL || v->masks == NULL || v->indices == NULL)
        return WAITIO_ERR_NOMEM;
    unpack(v, in->at, n, corners);
    rc = wio_grid_make(&v->near, v->o.threads, &v->source, &why);
    return rc != 0 ? failed(v, rc, &why) : 0;
}

/* Boxes there, cells back. @param asks this process wants cells */
static int fetch(struct vicinity *v, bool asks)
{
    struct wio_cpl_cargo boxes = {.words = BOX_WORDS};
    struct wio_cpl_cargo cells = {.words = (size_t)(CELL_WORDS + 2 * corners_sent(v))};
    struct wio_cpl_list in = {NULL, 0, 0};
    int64_t *counts = wio_cpl_new((size_t)v->team->n, sizeof *counts);
    int rc = counts == NULL ? WAITIO_ERR_NOMEM : 0;

    if (rc == 0 && asks)
        rc = load_boxes(v, &boxes);
    if (rc == 0)
        rc = wio_cpl_trade(v->cpl, v->team, &boxes, &in, counts);
    if (rc == 0 && v->sends)
        rc = answer(v, &in, counts, &cells);
    wio_cpl_list_free(&in);
    if (rc == 0)
        rc = wio_cpl_trade(v->cpl, v->team, &cells, &in, NULL);
    if (rc == 0 && asks)
        rc = take_source(v, &in);
    wio_cpl_list_free(&in);
    free(counts);
    return rc;
}

/* Does any process want more? */
static int any(struct vicinity *v, bool *again)
{
    struct wio_cpl_op op = wio_cpl_collective(v->cpl, v->team->set, 0);
    int mine = *again, all = 0, rc;

    if (WAITIO_MPI_Iallreduce(&mine, &all, 1, WAITIO_MPI_INT, WAITIO_MPI_MAX, v->team->comm,
                              &op.req) != 0)
        return wio_cpl_failed();
    rc = wio_cpl_wait(v->cpl, &op, 1);
    *again = all != 0;
    return rc;
}

static int gather(struct vicinity *v)
{
    bool asks = !v->sends, more = true;
    int rc = 0;

    while (rc == 0 && more) {
        bool again = false;

        rc = fetch(v, asks);
        if (rc == 0 && asks)
            rc = widen(v, &again);
        asks = more = again;
        if (rc == 0)
            rc = any(v, &more);
    }
    return rc;
}

/* ---- weights --------------------------------------------------------------------------------- */

static int get_memory(struct wio_cpl_weighed *out, size_t links, size_t targets)
{
    out->send = wio_cpl_new(links, sizeof *out->send);
    out->receive = wio_cpl_new(links, sizeof *out->receive);
    out->coef = wio_cpl_new(links, sizeof *out->coef);
    out->fixed = wio_cpl_new(targets, sizeof *out->fixed);
    return out->send == NULL || out->receive == NULL || out->coef == NULL || out->fixed == NULL
               ? WAITIO_ERR_NOMEM
               : 0;
}

static int give(const struct vicinity *v, const struct wio_weights *w, struct wio_cpl_weighed *out)
{
    int rc = get_memory(out, w->n_links, w->n_targets);

    for (size_t t = 0; rc == 0 && t < w->n_targets; t++) {
        for (size_t i = w->row[t]; i < w->row[t + 1]; i++) {
            out->send[i] = (int)w->source[i];
            out->receive[i] = (int)v->grid->index[t];
            out->coef[i] = w->weight[i];
        }
        if (w->method[t] == WIO_METHOD_FIXED)
            out->fixed[out->given.n_fixed++] = (int)v->grid->index[t];
    }
    out->given.value = w->fixed;
    out->given.fixed = out->fixed;
    out->given.entries = (struct waitio_cpl_entries){
        .n = w->n_links, .send_index = out->send, .recv_index = out->receive, .coef = out->coef};
    return rc;
}

static int weigh(struct vicinity *v, struct wio_cpl_weighed *out)
{
    struct wio_weights_error why = {""};
    struct wio_weights w;
    int rc = wio_weights_make(v->source, v->own, &v->o, &w, &why);

    if (rc != 0)
        return wio_cpl_fail(rc, "%s: %s", wio_cpl_table_name(v->cpl, v->table), why.text);
    rc = give(v, &w, out);
    if (rc != 0 || w.slopes == NULL) {
        wio_weights_free(&w);
        return rc;
    }
    out->weights = w;
    out->given.limited = &out->weights;
    return 0;
}

static int prepare(struct vicinity *v)
{
    int rc = take_cells(v);

    if (rc == 0)
        rc = agree(v);
    for (int side = 0; rc == 0 && side < 2; side++)
        rc = check_side(v, side);
    if (rc == 0)
        rc = make_own(v);
    if (rc != 0 || !v->sends)
        return rc == 0 ? cover(v) : rc;
    v->chosen = wio_cpl_new(v->cells.n, sizeof *v->chosen);
    return v->chosen == NULL ? WAITIO_ERR_NOMEM : wio_chooser_make(v->own, &v->chooser);
}

int wio_cpl_weigh_cells(struct waitio_cpl *cpl, const struct wio_cpl_table *table,
                        const struct wio_cpl_team *team, const char *method,
                        struct wio_cpl_weighed *out)
{
    struct vicinity *v = wio_cpl_new(1, sizeof *v);
    struct wio_weights_error why;
    int rc;

    if (v == NULL)
        return WAITIO_ERR_NOMEM;
    v->cpl = cpl;
    v->table = table;
    v->team = team;
    v->sends = cpl->mine == table->from;
    rc = wio_weights_read_text(method, &v->o, &why);
    if (rc != 0)
        rc = wio_cpl_fail(rc, "%s: %s", wio_cpl_table_name(cpl, table), why.text);
    if (rc == 0)
        rc = prepare(v);
    if (rc == 0)
        rc = gather(v);
    if (rc == 0 && !v->sends)
        rc = weigh(v, out);
    if (rc == WAITIO_ERR_NOMEM)
        (void)wio_cpl_fail(rc, "%s: no memory for its weights; use more processes",
                           wio_cpl_table_name(cpl, table));
    drop_source(v);
    wio_grid_free(v->own);
    wio_chooser_free(v->chooser);
    free(v->chosen);
    free(v->box_of);
    free(v);
    return rc;
}
