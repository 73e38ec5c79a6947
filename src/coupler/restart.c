/* SPDX-License-Identifier: BSD-3-Clause */
/* Restarts: what belongs to a state, and the calls. */
#include "coupler/restart.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what belongs to a state ----------------------------------------------------------------- */

static int add(struct wio_cpl_list *arrays, const struct wio_cpl_grid *grid, size_t number,
               const struct wio_cpl_var *v, const char *what, double *at)
{
    struct wio_cpl_array *a = wio_cpl_push(arrays, sizeof *a);

    if (a == NULL)
        return WAITIO_ERR_NOMEM;
    a->grid = grid;
    a->layers = v != NULL ? (size_t)v->link->layers : 1;
    a->at = at;
    a->var = v;
    a->stamp = -1;
    wio_cpl_text(a->name, sizeof a->name, "%s_%zu", what, number);
    return 0;
}

/* What was sent, and is wanted later. */
static int add_kept(struct wio_cpl_list *arrays, size_t number, const struct wio_cpl_var *v)
{
    const struct wio_cpl_kept *kept = v->flow.kept.at;
    char what[32];
    int rc = 0;

    for (size_t k = 0; rc == 0 && k < v->flow.kept.n; k++) {
        wio_cpl_text(what, sizeof what, "sent%zu", k);
        rc = add(arrays, v->grid, number, v, what, kept[k].data);
        if (rc == 0)
            ((struct wio_cpl_array *)arrays->at)[arrays->n - 1].stamp = kept[k].at;
    }
    return rc;
}

static int add_flow(struct wio_cpl_list *arrays, size_t number, const struct wio_cpl_var *v)
{
    const struct wio_cpl_flow *flow = &v->flow;
    bool several = flow->reduce != WIO_CPL_LAST;
    int rc = add(arrays, v->grid, number, v, "last", flow->last);

    wio_cpl_unpack_put(v);
    if (rc == 0 && several)
        rc = add(arrays, v->grid, number, v, "sum", flow->sum);
    if (rc == 0 && several)
        rc = add(arrays, v->grid, number, v, "weight", flow->weight);
    return rc == 0 ? add_kept(arrays, number, v) : rc;
}

/* The arrays of each grid come after its indices. */
int wio_cpl_restart_arrays(const struct waitio_cpl *cpl, struct wio_cpl_list *arrays)
{
    struct wio_cpl_var *const *vars = cpl->vars.at;
    int rc = 0;

    for (size_t g = 0; rc == 0 && g < cpl->grids.n; g++) {
        const struct wio_cpl_grid *grid = ((struct wio_cpl_grid **)cpl->grids.at)[g];

        rc = add(arrays, grid, g, NULL, "index", NULL);
        for (size_t i = 0; rc == 0 && i < cpl->vars.n; i++)
            if (vars[i]->grid == grid && vars[i]->bundle->sends)
                rc = add_flow(arrays, i, vars[i]);
    }
    return rc;
}

uint64_t wio_cpl_restart_print(const struct waitio_cpl *cpl)
{
    const char *own = cpl->components[cpl->mine].name;
    uint64_t print = 0;

    for (int c = 0; c < cpl->n_components; c++) {
        uint64_t to = wio_cpl_conf_hash(&cpl->conf, own, cpl->components[c].name);
        uint64_t from = wio_cpl_conf_hash(&cpl->conf, cpl->components[c].name, own);
        char text[60];

        wio_cpl_text(text, sizeof text, "%llx %llx", (unsigned long long)to,
                     (unsigned long long)from);
        print = wio_cpl_hash(wio_cpl_hash(print, cpl->components[c].name), text);
    }
    return print;
}

uint64_t wio_cpl_restart_sum(uint64_t sum, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t b;

        memcpy(&b, &x[i], sizeof b);
        sum = (sum ^ b) * 0x100000001b3u + (sum >> 29) + 1;
    }
    return sum;
}

/* ---- messages ------------------------------------------------------------------------------- */

int wio_cpl_restart_counts(struct waitio_cpl *cpl, const struct wio_cpl_grid *grid, int64_t **n)
{
    static int64_t mine; /* its message may outlive this call */
    struct wio_cpl_op op;

    *n = wio_cpl_new((size_t)cpl->components[cpl->mine].n, sizeof **n);
    if (*n == NULL)
        return WAITIO_ERR_NOMEM;
    mine = (int64_t)grid->n;
    op = wio_cpl_collective(cpl, wio_cpl_set_own(cpl), 0);
    if (WAITIO_MPI_Iallgather(&mine, 1, WAITIO_MPI_INT64_T, *n, 1, WAITIO_MPI_INT64_T, cpl->own,
                              &op.req) != 0)
        return wio_cpl_failed();
    return wio_cpl_wait(cpl, &op, 1);
}

int wio_cpl_restart_move(struct waitio_cpl *cpl, int rank, bool receives, double *x, size_t n)
{
    struct wio_cpl_op op = {.peer = cpl->components[cpl->mine].ranks[rank]};
    int rc = receives ? WAITIO_MPI_Irecv(x, (int)n, WAITIO_MPI_DOUBLE, op.peer, WIO_CPL_TAG_RESTART,
                                         cpl->all, &op.req)
                      : WAITIO_MPI_Isend(x, (int)n, WAITIO_MPI_DOUBLE, op.peer, WIO_CPL_TAG_RESTART,
                                         cpl->all, &op.req);

    return rc != 0 ? wio_cpl_failed() : wio_cpl_wait(cpl, &op, 1);
}

/* ---- calls ---------------------------------------------------------------------------------- */

int waitio_cpl_restart_write(waitio_cpl_t cpl, const char *path)
{
    int rc = wio_cpl_enter(cpl);

    if (rc == 0 && cpl->phase != WIO_CPL_RUNS)
        rc = wio_cpl_fail(WAITIO_ERR_STATE,
                          "component '%s' writes the restart file %s before its start",
                          cpl->components[cpl->mine].name, path);
    if (rc == 0)
        rc = wio_cpl_restart_save(cpl, path);
    return wio_cpl_leave(cpl, rc);
}

int waitio_cpl_restart_read(waitio_cpl_t cpl, const char *path)
{
    int rc = wio_cpl_enter(cpl);

    if (rc == 0 && (cpl->phase == WIO_CPL_RUNS || cpl->resume_from != NULL))
        rc = wio_cpl_fail(WAITIO_ERR_STATE,
                          "component '%s' reads the restart file %s %s; it is read once, and "
                          "before the start",
                          cpl->components[cpl->mine].name, path,
                          cpl->phase == WIO_CPL_RUNS ? "after its start" : "a second time");
    if (rc == 0) {
        cpl->resume_from = wio_cpl_copy(path);
        rc = cpl->resume_from == NULL ? WAITIO_ERR_NOMEM : 0;
    }
    return wio_cpl_leave(cpl, rc);
}

int waitio_cpl_resumed(waitio_cpl_t cpl, int64_t *time)
{
    *time = cpl->resumed;
    return 0;
}

static void say_there_is_none(const struct waitio_cpl *cpl)
{
    if (cpl->rank == 0)
        (void)fprintf(stderr,
                      "waitio coupler: component '%s' starts from the beginning: there are no "
                      "restart files %s.*.nc\n",
                      cpl->components[cpl->mine].name, cpl->conf.restart.file);
}

/* The file that the program or the configuration names, if any. All look for the latest time
 * together when the configuration says so, also those whose program names a file.
 * @param[out] path PATH_MAX */
static int choose(struct waitio_cpl *cpl, char *path, bool *any)
{
    bool named = cpl->resume_from != NULL;
    int64_t time = -1;
    int rc = 0;

    if (cpl->back.newcomer)
        rc = wio_cpl_restart_own_latest(cpl, &time);
    else if (cpl->conf.restart.read)
        rc = wio_cpl_restart_latest(cpl, &time);
    *any = rc == 0 && (named || time >= 0);
    if (named)
        wio_cpl_text(path, PATH_MAX, "%s", cpl->resume_from);
    else if (*any)
        wio_cpl_restart_name(cpl, cpl->components[cpl->mine].name, time, path, PATH_MAX);
    if (rc == 0 && !*any && cpl->conf.restart.read && !cpl->back.newcomer)
        say_there_is_none(cpl);
    return rc;
}

int wio_cpl_restart_begin(struct waitio_cpl *cpl)
{
    char *path = wio_cpl_new(PATH_MAX, 1);
    bool any = false;
    int rc = path == NULL ? WAITIO_ERR_NOMEM : choose(cpl, path, &any);

    cpl->resumed = -1;
    if (rc == 0 && any)
        rc = wio_cpl_restart_load(cpl, path);
    if (rc == 0 && any) {
        cpl->resumed = wio_cpl_clock_end(&cpl->clock);
        cpl->resuming = true;
        if (cpl->rank == 0)
            (void)fprintf(stderr, "waitio coupler: component '%s' resumes at %lld s from %s\n",
                          cpl->components[cpl->mine].name, (long long)cpl->resumed, path);
    }
    free(path);
    return rc;
}

static void swap_kept(struct wio_cpl_flow *flow, size_t k)
{
    struct wio_cpl_kept *kept = (struct wio_cpl_kept *)flow->kept.at + k;
    double *last = flow->last;

    flow->last = kept->data;
    kept->data = last;
}

/* Variables of a bundle are sent together, so they keep the same. */
static int resend(struct waitio_cpl *cpl, struct wio_cpl_bundle *b)
{
    struct wio_cpl_var **vars = b->vars.at;
    int rc = 0;

    for (size_t k = 0; rc == 0 && k < vars[0]->flow.kept.n; k++) {
        int64_t stamp = ((struct wio_cpl_kept *)vars[0]->flow.kept.at)[k].at;

        for (size_t i = 0; i < b->vars.n; i++)
            swap_kept(&vars[i]->flow, k);
        rc = wio_cpl_bundle_park(cpl, b, WIO_CPL_DATA, stamp);
        for (size_t i = 0; i < b->vars.n; i++)
            swap_kept(&vars[i]->flow, k);
    }
    return rc;
}

int wio_cpl_restart_resend(struct waitio_cpl *cpl)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && cpl->resuming && i < cpl->bundles.n; i++) {
        struct wio_cpl_bundle *b = ((struct wio_cpl_bundle **)cpl->bundles.at)[i];

        if (b->sends)
            rc = resend(cpl, b);
    }
    return rc;
}

int wio_cpl_restart_due(struct waitio_cpl *cpl)
{
    int64_t end = wio_cpl_clock_end(&cpl->clock), interval = cpl->conf.restart.interval;
    char *path;
    int rc;

    if (interval == 0 || end == 0 || end % interval != 0 || end == cpl->resumed)
        return 0;
    path = wio_cpl_new(PATH_MAX, 1);
    if (path == NULL)
        return WAITIO_ERR_NOMEM;
    wio_cpl_restart_name(cpl, cpl->components[cpl->mine].name, end, path, PATH_MAX);
    rc = wio_cpl_restart_save(cpl, path);
    while (rc == WIO_CPL_AGAIN && (rc = wio_cpl_come_back(cpl)) == 0)
        rc = wio_cpl_restart_save(cpl, path);
    if (rc == 0)
        wio_cpl_back_saved(cpl, end);
    if (rc == 0 && cpl->rank == 0)
        wio_cpl_restart_tidy(cpl);
    free(path);
    return rc;
}
