/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening, grids, and freeing everything. */
#include <stdlib.h>
#include <string.h>

#include "coupler/calendar.h"
#include "coupler/cpl.h"

static void free_all(struct waitio_cpl *cpl)
{
    wio_cpl_bundles_free(cpl);
    for (size_t i = 0; i < cpl->tables.n; i++)
        wio_cpl_table_free(((struct wio_cpl_table **)cpl->tables.at)[i]);
    for (size_t i = 0; i < cpl->grids.n; i++)
        wio_cpl_grid_free(((struct wio_cpl_grid **)cpl->grids.at)[i]);
    wio_cpl_list_free(&cpl->tables);
    wio_cpl_list_free(&cpl->grids);
    wio_cpl_list_free(&cpl->pending);
    wio_cpl_list_free(&cpl->parked);
    wio_cpl_list_free(&cpl->scratch);
    wio_cpl_sight_free(cpl);
    wio_cpl_letters_forget(cpl, true);
    wio_cpl_alarm_close(cpl);
    wio_cpl_world_close(cpl);
    free(cpl->resume_from);
    wio_cpl_conf_free(&cpl->conf);
    free(cpl);
}

/* A component that receives needs its sender; one that only sends may run without its receiver. */
static int check_partners(const struct waitio_cpl *cpl)
{
    const char *own = cpl->components[cpl->mine].name;

    for (size_t i = 0; i < cpl->conf.links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(&cpl->conf, i);

        if (strcmp(l->comp_get, own) == 0 && wio_cpl_component(cpl, l->comp_put) < 0)
            return wio_cpl_fail(WAITIO_ERR_CONFIG,
                                "%s:%d: component '%s' receives '%s' from component '%s', which "
                                "does not run; start it, or take the record out",
                                cpl->conf.file, l->line, own, l->var_get, l->comp_put);
    }
    return 0;
}

/* What the file says of the components that run. */
static int check_processes(const struct waitio_cpl *cpl)
{
    for (size_t i = 0; i < cpl->conf.parts.n; i++) {
        const struct wio_cpl_part *p = wio_cpl_conf_part(&cpl->conf, i);
        int n = wio_cpl_ensemble_processes(cpl, p->name);

        if (n > 0 && p->processes > 0 && n != p->processes)
            return wio_cpl_fail(WAITIO_ERR_CONFIG,
                                "%s:%d: component '%s' has processes: %d, but runs with %d; change "
                                "one of the two",
                                cpl->conf.file, p->line, p->name, p->processes, n);
    }
    return 0;
}

/* The configuration is read after joining, so that an error reaches all components. */
static int open(struct waitio_cpl *cpl, const char *component, int members, const char *conf)
{
    int rc = wio_cpl_world_open(cpl, component, members);

    if (rc == 0)
        rc = wio_cpl_alarm_open(cpl);
    if (rc == 0)
        rc = wio_cpl_conf_read(conf, &cpl->conf);
    if (rc == 0)
        rc = wio_cpl_conf_check(&cpl->conf);
    if (rc == 0)
        rc = wio_cpl_ensemble_links(cpl);
    if (rc == 0)
        rc = check_partners(cpl);
    if (rc == 0)
        rc = check_processes(cpl);
    if (rc == 0)
        rc = wio_cpl_back_open(cpl);
    if (rc == 0)
        rc = wio_cpl_meet(cpl);
    if (rc == 0)
        rc = wio_cpl_settings_agree(cpl);
    return rc == 0 ? wio_cpl_sight_open(cpl) : rc;
}

int waitio_cpl_open(const char *component, const char *conf, waitio_cpl_t *cpl)
{
    return waitio_cpl_open_ensemble(component, 1, conf, cpl);
}

int waitio_cpl_open_ensemble(const char *component, int members, const char *conf,
                             waitio_cpl_t *cpl)
{
    struct waitio_cpl *c = wio_cpl_new(1, sizeof *c);
    int rc;

    *cpl = NULL;
    if (c == NULL)
        return WAITIO_ERR_NOMEM;
    c->alarm_from = -1;
    c->resumed = -1;
    c->back.dead = -1;
    rc = wio_cpl_enter(c);
    if (component == NULL || component[0] == '\0' || conf == NULL)
        rc = wio_cpl_fail(WAITIO_ERR_ARG, "a component needs a name and a configuration file");
    if (rc == 0)
        rc = open(c, component, members, conf);
    rc = wio_cpl_leave(c, rc);
    if (rc != 0)
        return rc; /* messages may be under way: their memory stays */
    wio_cpl_stop(c, 1, "before its initialisation");
    wio_cpl_stop(c, 2, "after its initialisation");
    *cpl = c;
    return 0;
}

/* ---- grids --------------------------------------------------------------------------------- */

int waitio_cpl_grid(waitio_cpl_t cpl, const char *grid, const int *index, size_t n)
{
    int rc = wio_cpl_enter(cpl);

    if (rc == 0) {
        wio_cpl_stop(cpl, 3, "before its first grid");
        if (cpl->phase != WIO_CPL_DEFINES)
            rc = wio_cpl_fail(WAITIO_ERR_STATE,
                              "component '%s' defines grid '%s' after the end of its grids",
                              cpl->components[cpl->mine].name, grid);
    }
    if (rc == 0)
        rc = wio_cpl_grid_new(cpl, grid, index, n);
    if (rc == 0 && cpl->logs.calls != NULL)
        wio_cpl_log(cpl, "grid '%s': points here: %zu", grid, n);
    if (rc == 0)
        wio_cpl_stop(cpl, 4, "after its first grid");
    return wio_cpl_leave(cpl, rc);
}

int waitio_cpl_grid_mask(waitio_cpl_t cpl, const char *grid, const int *open, size_t n)
{
    int rc = wio_cpl_enter(cpl);

    if (rc == 0 && cpl->phase != WIO_CPL_DEFINES)
        rc = wio_cpl_fail(WAITIO_ERR_STATE,
                          "component '%s' masks grid '%s' after the end of its grids",
                          cpl->components[cpl->mine].name, grid);
    if (rc == 0)
        rc = wio_cpl_grid_mask(cpl, grid, open, n);
    return wio_cpl_leave(cpl, rc);
}

static int check_grids(const struct waitio_cpl *cpl)
{
    const char *own = cpl->components[cpl->mine].name;

    for (size_t i = 0; i < cpl->conf.links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(&cpl->conf, i);
        bool puts = strcmp(l->comp_put, own) == 0, gets = strcmp(l->comp_get, own) == 0;
        const char *grid = puts ? l->grid_put : l->grid_get;

        if (!(gets || (puts && wio_cpl_component(cpl, l->comp_get) >= 0)))
            continue;
        if (wio_cpl_grid_find(cpl, grid) == NULL)
            return wio_cpl_fail(WAITIO_ERR_CONFIG,
                                "%s:%d: '%s' is on grid '%s' of component '%s', which has defined "
                                "no grid of that name",
                                cpl->conf.file, l->line, puts ? l->var_put : l->var_get, grid, own);
    }
    return 0;
}

/* All processes of a component define the same grids: else they would wait for each other. */
static int same_grids(struct waitio_cpl *cpl)
{
    struct wio_cpl_op op = wio_cpl_collective(cpl, wio_cpl_set_own(cpl), 0);
    int64_t mine[2], all[2];
    uint64_t h = 0;
    int rc;

    for (size_t i = 0; i < cpl->grids.n; i++)
        h = wio_cpl_hash(h, ((struct wio_cpl_grid **)cpl->grids.at)[i]->name);
    mine[0] = (int64_t)(h >> 1);
    mine[1] = -mine[0];
    if (WAITIO_MPI_Iallreduce(mine, all, 2, WAITIO_MPI_INT64_T, WAITIO_MPI_MAX, cpl->own,
                              &op.req) != 0)
        return wio_cpl_failed();
    rc = wio_cpl_wait(cpl, &op, 1);
    if (rc != 0)
        return rc;
    if (all[0] != -all[1])
        return wio_cpl_fail(WAITIO_ERR_ARG,
                            "the processes of component '%s' define different grids; all define "
                            "the same in the same order, with 0 points where they have none",
                            cpl->components[cpl->mine].name);
    return 0;
}

static int grids_done(struct waitio_cpl *cpl)
{
    int rc;

    if (cpl->phase != WIO_CPL_DEFINES)
        return wio_cpl_fail(WAITIO_ERR_STATE, "component '%s' ends its grids a second time",
                            cpl->components[cpl->mine].name);
    rc = same_grids(cpl);
    if (rc == 0)
        rc = check_grids(cpl);
    for (size_t i = 0; rc == 0 && i < cpl->grids.n; i++)
        rc = wio_cpl_directory(cpl, ((struct wio_cpl_grid **)cpl->grids.at)[i]);
    if (rc == 0)
        cpl->phase = WIO_CPL_MAPS;
    return rc;
}

int waitio_cpl_grids_done(waitio_cpl_t cpl)
{
    int rc = wio_cpl_enter(cpl);

    if (rc == 0) {
        wio_cpl_stop(cpl, 5, "before the end of its grids");
        rc = grids_done(cpl);
        if (rc == 0 && cpl->logs.calls != NULL)
            wio_cpl_log(cpl, "end of the grids");
    }
    if (rc == 0)
        wio_cpl_stop(cpl, 6, "after the end of its grids");
    return wio_cpl_leave(cpl, rc);
}

/* ---- the end ------------------------------------------------------------------------------- */

static struct wio_cpl_bundle *bundle_at(const struct waitio_cpl *cpl, size_t i)
{
    return ((struct wio_cpl_bundle **)cpl->bundles.at)[i];
}

/* What lag 1 owes for the last interval. */
static int send_last(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, int64_t end)
{
    enum wio_cpl_due due =
        b->now ? WIO_CPL_NOT_DUE : wio_cpl_flow_due(b->interval, b->shift, end, true);

    if (due == WIO_CPL_NOT_DUE)
        return 0;
    for (size_t i = 0; i < b->vars.n; i++) {
        struct wio_cpl_var *v = ((struct wio_cpl_var **)b->vars.at)[i];

        if (wio_cpl_flow_take(&v->flow, end))
            continue;
        if (due == WIO_CPL_DUE_PART)
            return 0; /* nobody may want it; who does hears of the end */
        return wio_cpl_no_put(cpl, v, end);
    }
    return wio_cpl_bundle_send(cpl, b, due == WIO_CPL_DUE ? WIO_CPL_DATA : WIO_CPL_PART, end);
}

static int end_run(struct waitio_cpl *cpl)
{
    int64_t end = wio_cpl_clock_end(&cpl->clock);
    int rc = wio_cpl_hear_starts(cpl);

    for (size_t i = 0; rc == 0 && i < cpl->bundles.n; i++)
        if (bundle_at(cpl, i)->sends) {
            rc = send_last(cpl, bundle_at(cpl, i), end);
            if (rc == 0)
                rc = wio_cpl_bundle_park(cpl, bundle_at(cpl, i), WIO_CPL_END, end);
        }
    for (size_t i = 0; rc == 0 && i < cpl->bundles.n; i++)
        if (!bundle_at(cpl, i)->sends)
            rc = wio_cpl_bundle_drain(cpl, bundle_at(cpl, i), end);
    for (size_t i = 0; rc == 0 && i < cpl->bundles.n; i++)
        rc = bundle_at(cpl, i)->sends ? wio_cpl_bundle_sent(cpl, bundle_at(cpl, i)) : 0;
    if (rc == 0)
        rc = wio_cpl_parked_sweep(cpl, true);
    while (rc == WIO_CPL_AGAIN && (rc = wio_cpl_come_back(cpl)) == 0)
        rc = wio_cpl_parked_sweep(cpl, true);
    return rc;
}

/* What the run looked like, once nothing can go wrong any more. */
static int show(struct waitio_cpl *cpl)
{
    int rc = cpl->sight.timeline && !cpl->alone ? wio_cpl_clocks(cpl, 1) : 0;

    if (rc == 0)
        wio_cpl_timeline_write(cpl);
    if (rc == 0 && cpl->sight.report && !cpl->alone)
        rc = wio_cpl_report(cpl);
    return rc == 0 && cpl->logs.files == WIO_CPL_FILES_ALL ? wio_cpl_timers_write(cpl) : rc;
}

/* A component that ends before its start tells those that may wait for it. */
static int leave_early(struct waitio_cpl *cpl)
{
    int rc = 0;

    for (int c = 0; rc == 0 && c < cpl->n_components; c++)
        if (c != cpl->mine)
            rc = wio_cpl_greet_only(cpl, c, "the end of the run, without a start");
    return rc;
}

/* What others do from here on, leaving the universe too, is no error of this process. */
static void close_well(struct waitio_cpl *cpl)
{
    int handler = cpl->handler;

    free_all(cpl);
    (void)WAITIO_MPI_Comm_set_errhandler(WAITIO_MPI_COMM_NULL, handler);
}

/* A component has died when others had ended their run. */
static int come_back_late(struct waitio_cpl *cpl)
{
    int rc;

    cpl->leaving = false;
    rc = wio_cpl_come_back(cpl);
    if (rc == 0)
        rc = wio_cpl_parked_sweep(cpl, true);
    cpl->leaving = true;
    return rc;
}

int waitio_cpl_close(waitio_cpl_t *cpl)
{
    struct waitio_cpl *c = *cpl;
    int rc = wio_cpl_enter(c);

    *cpl = NULL;
    if (rc == 0) {
        c->closing = true;
        if (c->phase == WIO_CPL_RUNS)
            rc = wio_cpl_restart_due(c);
        if (rc == 0)
            rc = c->phase == WIO_CPL_RUNS ? end_run(c) : leave_early(c);
    }
    if (rc == 0) {
        c->leaving = true;
        wio_cpl_sight_leave(c);
        wio_cpl_sight_end(c);
        rc = wio_cpl_meet(c);
        while (rc == WIO_CPL_AGAIN && (rc = come_back_late(c)) == 0)
            rc = wio_cpl_meet(c);
    }
    if (rc == 0)
        rc = show(c);
    if (rc != 0)
        return wio_cpl_leave(c, rc); /* messages may be under way: their memory stays */
    close_well(c);
    return 0;
}

int waitio_cpl_calendar_add(int time[6], int64_t seconds)
{
    return wio_cpl_calendar_add(time, seconds);
}
