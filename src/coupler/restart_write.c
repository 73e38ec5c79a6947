/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing a restart: arrays go in pieces to the first process, which writes them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coupler/restart.h"
#include "coupler/restart_file.h"

struct writing {
    struct waitio_cpl *cpl;
    struct wio_cpl_nc *nc; /* of the first process */
    struct wio_cpl_list arrays;
    int *vars; /* by array */
    int sums;  /* the variable of the sums */
    double *piece;
};

static struct wio_cpl_array *array_at(const struct writing *w, size_t i)
{
    return (struct wio_cpl_array *)w->arrays.at + i;
}

static size_t number_of_grid(const struct waitio_cpl *cpl, const struct wio_cpl_grid *grid)
{
    size_t i = 0;

    while (((struct wio_cpl_grid **)cpl->grids.at)[i] != grid)
        i++;
    return i;
}

/* ---- the head ------------------------------------------------------------------------------ */

static void describe(struct writing *w)
{
    const struct waitio_cpl *cpl = w->cpl;
    char text[64];

    wio_cpl_nc_text(w->nc, -1, "title", "state of the WaitIO coupler between two steps");
    wio_cpl_nc_number(w->nc, -1, "version", WIO_CPL_RESTART_VERSION);
    wio_cpl_nc_text(w->nc, -1, "component", cpl->components[cpl->mine].name);
    wio_cpl_text(text, sizeof text, "%016llx", (unsigned long long)wio_cpl_restart_print(cpl));
    wio_cpl_nc_text(w->nc, -1, "configuration", text);
    wio_cpl_nc_number(w->nc, -1, "time", (double)wio_cpl_clock_end(&cpl->clock));
    wio_cpl_nc_number(w->nc, -1, "last_step", (double)cpl->clock.dt);
    wio_cpl_nc_number(w->nc, -1, "grids", (double)cpl->grids.n);
    for (size_t i = 0; i < cpl->vars.n; i++) {
        const struct wio_cpl_var *v = ((struct wio_cpl_var **)cpl->vars.at)[i];

        wio_cpl_text(text, sizeof text, "kept_%zu", i);
        if (v->flow.shift < 0)
            wio_cpl_nc_number(w->nc, -1, text, (double)v->flow.kept.n);
    }
}

static void define_array(struct writing *w, size_t i, const int *points)
{
    const struct wio_cpl_array *a = array_at(w, i);
    int dims[2] = {-1, points[number_of_grid(w->cpl, a->grid)]};
    char name[64];

    if (a->at == NULL) {
        w->vars[i] = wio_cpl_nc_var(w->nc, a->name, false, 1, dims + 1);
        wio_cpl_nc_text(w->nc, w->vars[i], "grid", a->grid->name);
        return;
    }
    wio_cpl_text(name, sizeof name, "layers_%s", a->name);
    dims[0] = wio_cpl_nc_dim(w->nc, name, a->layers);
    w->vars[i] = wio_cpl_nc_var(w->nc, a->name, true, 2, dims);
    wio_cpl_nc_text(w->nc, w->vars[i], "variable", a->var->name);
    wio_cpl_nc_text(w->nc, w->vars[i], "receiver", a->var->link->comp_get);
    wio_cpl_nc_number(w->nc, w->vars[i], "put_end", (double)a->var->flow.put_end);
    wio_cpl_nc_number(w->nc, w->vars[i], "covered", a->var->flow.covered);
    wio_cpl_nc_number(w->nc, w->vars[i], "stamp", (double)a->stamp);
}

/* @param total points of each grid */
static int define(struct writing *w, const size_t *total)
{
    size_t n = w->cpl->grids.n;
    int *points = wio_cpl_new(n, sizeof *points), dims[2];
    char name[48];

    if (points == NULL)
        return WAITIO_ERR_NOMEM;
    describe(w);
    for (size_t g = 0; g < n; g++) {
        wio_cpl_text(name, sizeof name, "points_%zu", g);
        points[g] = wio_cpl_nc_dim(w->nc, name, total[g]);
        if (total[g] == 0)
            wio_cpl_nc_number(w->nc, -1, name, 0); /* the dimension has 1 */
    }
    for (size_t i = 0; i < w->arrays.n; i++)
        define_array(w, i, points);
    dims[0] = wio_cpl_nc_dim(w->nc, "arrays", w->arrays.n);
    dims[1] = wio_cpl_nc_dim(w->nc, "words", 2);
    w->sums = wio_cpl_nc_var(w->nc, "sums", true, 2, dims);
    wio_cpl_nc_begin(w->nc);
    free(points);
    return 0;
}

/* ---- the data ------------------------------------------------------------------------------ */

static void fill(const struct wio_cpl_array *a, size_t layer, size_t first, size_t n, double *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = a->at != NULL ? a->at[layer * a->grid->n + first + i]
                              : (double)a->grid->index[first + i];
}

/* A layer, of one process after another. @param[in,out] sum of the array */
static int write_layer(struct writing *w, size_t i, size_t layer, const int64_t *counts,
                       uint64_t *sum)
{
    const struct wio_cpl_array *a = array_at(w, i);
    size_t at = 0;
    int rc = 0, own = w->cpl->rank;

    for (int r = 0; rc == 0 && r < w->cpl->components[w->cpl->mine].n; r++)
        for (size_t k = 0; rc == 0 && k < (size_t)counts[r]; k += WIO_CPL_RESTART_PIECE) {
            size_t rest = (size_t)counts[r] - k;
            size_t n = rest < WIO_CPL_RESTART_PIECE ? rest : WIO_CPL_RESTART_PIECE;

            if (r == own)
                fill(a, layer, k, n, w->piece);
            if (r != 0 && (own == 0 || own == r))
                rc = wio_cpl_restart_move(w->cpl, own == 0 ? r : 0, own == 0, w->piece, n);
            if (rc != 0 || own != 0)
                continue;
            wio_cpl_nc_put(w->nc, w->vars[i], a->at != NULL ? 2 : 1, layer, at, n, w->piece);
            *sum = wio_cpl_restart_sum(*sum, w->piece, n);
            at += n;
        }
    return rc;
}

static int write_array(struct writing *w, size_t i)
{
    const struct wio_cpl_array *a = array_at(w, i);
    int64_t *counts;
    uint64_t sum = 0;
    double words[2];
    int rc = wio_cpl_restart_counts(w->cpl, a->grid, &counts);

    for (size_t layer = 0; rc == 0 && layer < a->layers; layer++)
        rc = write_layer(w, i, layer, counts, &sum);
    free(counts);
    words[0] = (double)(sum >> 32);
    words[1] = (double)(sum & 0xffffffffu);
    if (rc == 0 && w->nc != NULL)
        wio_cpl_nc_put(w->nc, w->sums, 2, i, 0, 2, words);
    return rc;
}

/* Points of all grids, over all processes. */
static int count(struct writing *w, size_t *total)
{
    int rc = 0;

    for (size_t g = 0; rc == 0 && g < w->cpl->grids.n; g++) {
        int64_t *counts;

        rc = wio_cpl_restart_counts(w->cpl, ((struct wio_cpl_grid **)w->cpl->grids.at)[g], &counts);
        for (int r = 0; rc == 0 && r < w->cpl->components[w->cpl->mine].n; r++)
            total[g] += (size_t)counts[r];
        free(counts);
    }
    return rc;
}

static int begin(struct writing *w, const char *path)
{
    size_t *total = wio_cpl_new(w->cpl->grids.n, sizeof *total);
    bool large = false;
    int rc = total == NULL ? WAITIO_ERR_NOMEM : count(w, total);

    for (size_t i = 0; rc == 0 && i < w->arrays.n; i++)
        large |= total[number_of_grid(w->cpl, array_at(w, i)->grid)] * array_at(w, i)->layers >
                 ((size_t)1 << 27);
    if (rc == 0 && w->cpl->rank == 0)
        rc = wio_cpl_nc_create(path, large, &w->nc);
    if (rc == 0 && w->nc != NULL)
        rc = define(w, total);
    free(total);
    return rc;
}

static int save(struct writing *w, const char *path)
{
    int rc = wio_cpl_restart_arrays(w->cpl, &w->arrays);

    w->vars = wio_cpl_new(w->arrays.n, sizeof *w->vars);
    w->piece = wio_cpl_new(WIO_CPL_RESTART_PIECE, sizeof *w->piece);
    if (rc != 0 || w->vars == NULL || w->piece == NULL)
        return rc != 0 ? rc : WAITIO_ERR_NOMEM;
    rc = begin(w, path);
    for (size_t i = 0; rc == 0 && i < w->arrays.n; i++)
        rc = write_array(w, i);
    if (w->nc == NULL)
        return rc;
    if (rc == 0)
        return wio_cpl_nc_finish(w->nc);
    wio_cpl_nc_drop(w->nc);
    return rc;
}

/* After an error pieces may be under way: their memory stays. */
int wio_cpl_restart_save(struct waitio_cpl *cpl, const char *path)
{
    struct writing w = {.cpl = cpl};
    int rc = save(&w, path);

    wio_cpl_list_free(&w.arrays);
    free(w.vars);
    if (rc == 0)
        free(w.piece);
    return rc;
}
