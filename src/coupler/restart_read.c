/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading a restart, by another number of processes, too. Each process is the reader of a slice of
 * the points in the file: the first process gives it the slice's indices, the homes of the indices
 * say who owns them now, and the reader sends the numbers of each layer to the owners. So nobody
 * holds more than its share.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coupler/restart.h"
#include "coupler/restart_file.h"

/* Where the points of this process's slice of a grid go. */
struct way {
    const struct wio_cpl_grid *grid;
    size_t n;            /* points of the slice */
    int64_t *owner, *at; /* by point of the slice */
};

struct reading {
    struct waitio_cpl *cpl;
    const char *path;
    struct wio_cpl_nc *nc; /* of the first process */
    struct wio_cpl_list arrays;
    struct way way; /* of the grid whose arrays are read */
    double *slice, *piece;
    uint64_t sum; /* of the array that is read, at the first process */
};

static struct wio_cpl_array *array_at(const struct reading *r, size_t i)
{
    return (struct wio_cpl_array *)r->arrays.at + i;
}

static int other(const struct reading *r, const char *what, const char *there, const char *here)
{
    return wio_cpl_fail(WAITIO_ERR_CONFIG,
                        "the restart file %s is of another %s: %s, but here it is %s; start from a "
                        "file of this run, or without one",
                        r->path, what, there, here);
}

/* ---- the head ------------------------------------------------------------------------------ */

static int check_number(const struct reading *r, const char *name, const char *what, double here)
{
    char there_text[40], here_text[40];
    double there = 0;
    int rc = wio_cpl_nc_get_number(r->nc, -1, name, &there);

    if (rc != 0 || there == here)
        return rc;
    wio_cpl_text(there_text, sizeof there_text, "%g", there);
    wio_cpl_text(here_text, sizeof here_text, "%g", here);
    return other(r, what, there_text, here_text);
}

static int check_text(const struct reading *r, const char *name, const char *what, const char *here)
{
    char there[1000];
    int rc = wio_cpl_nc_get_text(r->nc, -1, name, there, sizeof there);

    return rc == 0 && strcmp(there, here) != 0 ? other(r, what, there, here) : rc;
}

static int check_head(const struct reading *r, double time[2])
{
    const struct waitio_cpl *cpl = r->cpl;
    char print[40];
    int rc = check_number(r, "version", "version", WIO_CPL_RESTART_VERSION);

    wio_cpl_text(print, sizeof print, "%016llx", (unsigned long long)wio_cpl_restart_print(cpl));
    if (rc == 0)
        rc = check_text(r, "component", "component", cpl->components[cpl->mine].name);
    if (rc == 0)
        rc = check_text(r, "configuration", "configuration (fingerprints of its variables)", print);
    if (rc == 0)
        rc = check_number(r, "grids", "number of grids", (double)cpl->grids.n);
    if (rc == 0)
        rc = wio_cpl_nc_get_number(r->nc, -1, "time", &time[0]);
    if (rc == 0)
        rc = wio_cpl_nc_get_number(r->nc, -1, "last_step", &time[1]);
    if (rc == 0 && !(time[1] >= 0 && time[1] <= time[0] && time[0] < 0x1p52))
        rc = wio_cpl_fail(WAITIO_ERR_SYSTEM, "the restart file %s is damaged: time %g, step %g",
                          r->path, time[0], time[1]);
    return rc;
}

static int bcast(const struct reading *r, double *x, int n)
{
    const struct waitio_cpl *cpl = r->cpl;
    int first = cpl->components[cpl->mine].ranks[0];
    struct wio_cpl_op op = wio_cpl_collective(r->cpl, wio_cpl_set_own(cpl), first + 1);

    if (WAITIO_MPI_Ibcast(x, n, WAITIO_MPI_DOUBLE, 0, r->cpl->own, &op.req) != 0)
        return wio_cpl_failed();
    return wio_cpl_wait(r->cpl, &op, 1);
}

/* The file has no process: what the first one finds in it, all know. */
static int read_time(struct reading *r)
{
    static double time[2]; /* its message may outlive this call */
    int rc = 0;

    if (r->cpl->rank == 0)
        rc = check_head(r, time);
    if (rc == 0)
        rc = bcast(r, time, 2);
    if (rc != 0)
        return rc;
    r->cpl->clock =
        (struct wio_cpl_clock){time[0] > 0, (int64_t)(time[0] - time[1]), (int64_t)time[1]};
    return 0;
}

/* How much a variable has sent that is wanted later: room for it. */
static int read_kept(const struct reading *r, size_t i)
{
    static double n; /* its message may outlive this call */
    struct wio_cpl_flow *flow = &((struct wio_cpl_var **)r->cpl->vars.at)[i]->flow;
    char name[40];
    int rc = 0;

    wio_cpl_text(name, sizeof name, "kept_%zu", i);
    if (r->nc != NULL)
        rc = wio_cpl_nc_get_number(r->nc, -1, name, &n);
    if (rc == 0 && r->nc != NULL && !(n >= 0 && n <= (double)(2 - flow->shift / flow->interval)))
        rc = wio_cpl_fail(WAITIO_ERR_SYSTEM, "the restart file %s is damaged: %s is %g", r->path,
                          name, n);
    if (rc == 0)
        rc = bcast(r, &n, 1);
    for (size_t k = 0; rc == 0 && k < (size_t)n; k++)
        rc = wio_cpl_flow_kept(flow, 0) == NULL ? WAITIO_ERR_NOMEM : 0;
    return rc;
}

static int read_all_kept(const struct reading *r)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < r->cpl->vars.n; i++)
        if (((struct wio_cpl_var **)r->cpl->vars.at)[i]->flow.shift < 0)
            rc = read_kept(r, i);
    return rc;
}

/* ---- slices -------------------------------------------------------------------------------- */

static size_t slice_begin(size_t total, int processes, int rank)
{
    return (size_t)((unsigned __int128)total * (unsigned)rank / (unsigned)processes);
}

/* A layer of an array, to the readers of its slices. */
static int read_layer(struct reading *r, int var, int rank, size_t layer, size_t total)
{
    int processes = r->cpl->components[r->cpl->mine].n, own = r->cpl->rank, rc = 0;

    for (int p = 0; rc == 0 && p < processes; p++) {
        size_t from = slice_begin(total, processes, p), to = slice_begin(total, processes, p + 1);

        for (size_t k = from; rc == 0 && k < to; k += WIO_CPL_RESTART_PIECE) {
            size_t n = to - k < WIO_CPL_RESTART_PIECE ? to - k : WIO_CPL_RESTART_PIECE;
            double *x = p == own ? r->slice + (k - from) : r->piece;

            if (own == 0) {
                rc = wio_cpl_nc_get(r->nc, var, rank, layer, k, n, x);
                r->sum = wio_cpl_restart_sum(r->sum, x, rc == 0 ? n : 0);
            }
            if (rc == 0 && p != 0 && (own == 0 || own == p))
                rc = wio_cpl_restart_move(r->cpl, own == 0 ? p : 0, own != 0, x, n);
        }
    }
    return rc;
}

static int check_sum(const struct reading *r, size_t array)
{
    double words[2] = {0, 0};
    int var = 0, rc = wio_cpl_nc_find(r->nc, "sums", &var);

    if (rc == 0)
        rc = wio_cpl_nc_get(r->nc, var, 2, array, 0, 2, words);
    if (rc == 0 &&
        (words[0] != (double)(r->sum >> 32) || words[1] != (double)(r->sum & 0xffffffffu)))
        rc = wio_cpl_fail(WAITIO_ERR_SYSTEM,
                          "the restart file %s is truncated or damaged: the sum of %s is not the "
                          "one that was written",
                          r->path, array_at(r, array)->name);
    return rc;
}

/* ---- the points of a grid ------------------------------------------------------------------- */

/* Words: index, place in the slice; and back: place in the slice, owner, position there. */
static int ask_homes(struct reading *r, struct wio_cpl_list *in, int64_t *counts)
{
    struct wio_cpl_team team = wio_cpl_team_own(r->cpl);
    struct wio_cpl_cargo cargo = {.words = 2};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < r->way.n; i++) {
        double index = r->slice[i];
        int64_t record[2] = {index >= 1 && index < 0x1p31 ? (int64_t)index : 0, (int64_t)i};

        rc = wio_cpl_load(&cargo, wio_cpl_home(record[0], team.n), record);
    }
    return rc == 0 ? wio_cpl_trade(r->cpl, &team, &cargo, in, counts) : rc;
}

static int another_grid(const struct reading *r, int64_t index)
{
    return wio_cpl_fail(WAITIO_ERR_CONFIG,
                        "the restart file %s is of another grid '%s': it has a point of index "
                        "%lld, which no process owns here, or twice",
                        r->path, r->way.grid->name, (long long)index);
}

static int answer_readers(struct reading *r, const struct wio_cpl_list *asked,
                          const int64_t *counts, struct wio_cpl_list *in)
{
    struct wio_cpl_team team = wio_cpl_team_own(r->cpl);
    struct wio_cpl_cargo cargo = {.words = 3};
    const int64_t *w = asked->at;
    int rc = 0;

    for (int m = 0; rc == 0 && m < team.n; m++)
        for (int64_t i = 0; rc == 0 && i < counts[m]; i++, w += 2) {
            const struct wio_cpl_place *place = wio_cpl_look_up(r->way.grid, w[0]);
            int64_t record[3] = {w[1], 0, 0};

            if (place == NULL)
                return another_grid(r, w[0]);
            record[1] = place->owner;
            record[2] = place->at;
            rc = wio_cpl_load(&cargo, m, record);
        }
    return rc == 0 ? wio_cpl_trade(r->cpl, &team, &cargo, in, NULL) : rc;
}

static void keep_way(struct way *way, const struct wio_cpl_list *in)
{
    const int64_t *w = in->at;

    for (size_t i = 0; i < in->n / 3; i++, w += 3) {
        way->owner[w[0]] = w[1];
        way->at[w[0]] = w[2];
    }
}

static int find_way(struct reading *r)
{
    struct wio_cpl_list asked = {NULL, 0, 0}, in = {NULL, 0, 0};
    int64_t *counts = wio_cpl_new((size_t)r->cpl->components[r->cpl->mine].n, sizeof *counts);
    int rc = counts == NULL ? WAITIO_ERR_NOMEM : ask_homes(r, &asked, counts);

    if (rc == 0)
        rc = answer_readers(r, &asked, counts, &in);
    if (rc == 0)
        keep_way(&r->way, &in);
    wio_cpl_list_free(&asked);
    wio_cpl_list_free(&in);
    free(counts);
    return rc;
}

/* The numbers of a layer to the owners of its points; NULL: only count that each comes once. */
static int deliver(struct reading *r, double *to)
{
    struct wio_cpl_team team = wio_cpl_team_own(r->cpl);
    struct wio_cpl_cargo cargo = {.words = 2};
    struct wio_cpl_list in = {NULL, 0, 0};
    size_t n = r->way.grid->n;
    char *seen = wio_cpl_new(n, 1);
    const int64_t *w;
    int rc = seen == NULL ? WAITIO_ERR_NOMEM : 0;

    for (size_t i = 0; rc == 0 && i < r->way.n; i++) {
        int64_t record[2] = {r->way.at[i], wio_cpl_bits(r->slice[i])};

        rc = wio_cpl_load(&cargo, (int)r->way.owner[i], record);
    }
    if (rc == 0)
        rc = wio_cpl_trade(r->cpl, &team, &cargo, &in, NULL);
    w = in.at;
    for (size_t i = 0; rc == 0 && i < in.n / 2; i++, w += 2) {
        if (seen[w[0]])
            rc = another_grid(r, r->way.grid->index[w[0]]);
        seen[w[0]] = 1;
        if (to != NULL)
            to[w[0]] = wio_cpl_real(w[1]);
    }
    wio_cpl_list_free(&in);
    free(seen);
    return rc;
}

/* ---- all arrays ----------------------------------------------------------------------------- */

static int check_size(struct reading *r, const struct wio_cpl_grid *grid, size_t g, size_t *total)
{
    int64_t *counts;
    int rc = wio_cpl_restart_counts(r->cpl, grid, &counts);
    size_t there = 0;
    char name[48], text[2][40];

    for (int p = 0; rc == 0 && p < r->cpl->components[r->cpl->mine].n; p++)
        *total += (size_t)counts[p];
    free(counts);
    if (rc != 0 || r->nc == NULL)
        return rc;
    wio_cpl_text(name, sizeof name, "points_%zu", g);
    rc = wio_cpl_nc_length(r->nc, name, &there);
    if (wio_cpl_nc_has(r->nc, -1, name)) /* written of grids without points */
        there = 0;
    if (rc != 0 || there == *total)
        return rc;
    wio_cpl_text(text[0], sizeof text[0], "it has %zu points", there);
    wio_cpl_text(text[1], sizeof text[1], "one with %zu", *total);
    wio_cpl_text(name, sizeof name, "grid '%.30s'", grid->name);
    return other(r, name, text[0], text[1]);
}

/* Make room for a slice of a grid. */
static int new_way(struct reading *r, const struct wio_cpl_grid *grid, size_t total)
{
    int processes = r->cpl->components[r->cpl->mine].n;

    free(r->way.owner);
    free(r->way.at);
    r->way.grid = grid;
    r->way.n = slice_begin(total, processes, r->cpl->rank + 1) -
               slice_begin(total, processes, r->cpl->rank);
    r->way.owner = wio_cpl_new(r->way.n, sizeof *r->way.owner);
    r->way.at = wio_cpl_new(r->way.n, sizeof *r->way.at);
    free(r->slice);
    r->slice = wio_cpl_new(r->way.n, sizeof *r->slice);
    return r->way.owner == NULL || r->way.at == NULL || r->slice == NULL ? WAITIO_ERR_NOMEM : 0;
}

/* What is known of one put: the same in all processes. */
static int read_marks(struct reading *r, const struct wio_cpl_array *a, int var)
{
    struct wio_cpl_flow *flow = (struct wio_cpl_flow *)&a->var->flow;
    static double marks[3]; /* their message may outlive this call */
    int rc = 0;

    if (r->nc != NULL) {
        rc = wio_cpl_nc_get_number(r->nc, var, "put_end", &marks[0]);
        if (rc == 0)
            rc = wio_cpl_nc_get_number(r->nc, var, "covered", &marks[1]);
        if (rc == 0)
            rc = wio_cpl_nc_get_number(r->nc, var, "stamp", &marks[2]);
    }
    if (rc == 0)
        rc = bcast(r, marks, 3);
    if (rc != 0)
        return rc;
    flow->put_end = (int64_t)marks[0];
    flow->covered = marks[1] != 0;
    for (size_t k = 0; k < flow->kept.n; k++) {
        struct wio_cpl_kept *kept = (struct wio_cpl_kept *)flow->kept.at + k;

        if (kept->data == a->at)
            kept->at = (int64_t)marks[2];
    }
    return 0;
}

static int read_array(struct reading *r, size_t i, size_t total)
{
    const struct wio_cpl_array *a = array_at(r, i);
    int var = 0, rc = 0;

    if (r->nc != NULL)
        rc = wio_cpl_nc_find(r->nc, a->name, &var);
    r->sum = 0;
    for (size_t layer = 0; rc == 0 && layer < a->layers; layer++) {
        rc = read_layer(r, var, a->at != NULL ? 2 : 1, layer, total);
        if (rc == 0 && a->at == NULL)
            rc = find_way(r);
        if (rc == 0)
            rc = deliver(r, a->at != NULL ? a->at + layer * a->grid->n : NULL);
    }
    if (rc == 0 && r->nc != NULL)
        rc = check_sum(r, i);
    return rc == 0 && a->var != NULL ? read_marks(r, a, var) : rc;
}

static int load(struct reading *r)
{
    size_t total = 0, g = 0;
    int rc = 0;

    r->piece = wio_cpl_new(WIO_CPL_RESTART_PIECE, sizeof *r->piece);
    if (rc == 0 && r->piece == NULL)
        rc = WAITIO_ERR_NOMEM;
    if (rc == 0 && r->cpl->rank == 0)
        rc = wio_cpl_nc_open(r->path, &r->nc);
    if (rc == 0)
        rc = read_time(r);
    if (rc == 0)
        rc = read_all_kept(r);
    if (rc == 0)
        rc = wio_cpl_restart_arrays(r->cpl, &r->arrays);
    for (size_t i = 0; rc == 0 && i < r->arrays.n; i++) {
        const struct wio_cpl_array *a = array_at(r, i);

        if (a->at == NULL) { /* a grid, and then its arrays */
            total = 0;
            rc = check_size(r, a->grid, g++, &total);
            if (rc == 0)
                rc = new_way(r, a->grid, total);
        }
        if (rc == 0)
            rc = read_array(r, i, total);
    }
    return rc;
}

/* After an error pieces may be under way: their memory stays. */
int wio_cpl_restart_load(struct waitio_cpl *cpl, const char *path)
{
    struct reading r = {.cpl = cpl, .path = path};
    int rc = load(&r);

    wio_cpl_nc_drop(r.nc);
    wio_cpl_list_free(&r.arrays);
    free(r.way.owner);
    free(r.way.at);
    if (rc == 0) {
        free(r.slice);
        free(r.piece);
    }
    return rc;
}
