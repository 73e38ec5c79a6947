/* SPDX-License-Identifier: BSD-3-Clause */
/* What bindings need: waits that see signals, errors of the program itself, facts about a variable.
 */
#include <math.h>
#include <string.h>

#include "coupler/cpl.h"

/* How long a wait goes on before the program is asked. */
static const double SLICE = 0.05;

static int (*look_now)(void *with);
static void *look_with;

void waitio_cpl_look_at(int (*look)(void *with), void *with)
{
    look_now = look;
    look_with = with;
}

int wio_cpl_any(int n, WAITIO_MPI_Request *reqs, double seconds, int *index, int *flag, int *source)
{
    waitio_status_t status = {.source = -1};
    double left = seconds;
    int rc = 0;

    *flag = 0;
    while (rc == 0 && !*flag && left > 0) {
        double slice = look_now != NULL && left > SLICE ? SLICE : left;

        rc = waitio_mpi_waitany_for(n, reqs, slice, index, flag, &status);
        left -= slice;
        if (rc == 0 && !*flag && look_now != NULL && look_now(look_with) != 0) {
            *index = -1;
            rc = WAITIO_ERR_CANCELLED;
        }
    }
    *source = status.source;
    return rc;
}

int waitio_cpl_raise(waitio_cpl_t cpl, const char *text)
{
    int rc = wio_cpl_enter(cpl);

    return wio_cpl_leave(cpl, rc == 0 ? wio_cpl_fail(WAITIO_ERR_STATE, "%s", text) : rc);
}

/* Of a variable's first link. */
static void tell(const struct waitio_cpl *cpl, const struct wio_cpl_link *l, bool gets,
                 struct waitio_cpl_facts *field)
{
    const struct wio_cpl_grid *grid;

    field->grid = gets ? l->grid_get : l->grid_put;
    grid = wio_cpl_grid_find(cpl, field->grid);
    field->layers = (size_t)l->layers;
    field->points = grid != NULL ? grid->n : 0;
    field->interval = l->interval;
    field->lag = l->lag;
    field->fill = wio_cpl_link_fill(l);
}

int waitio_cpl_look_up(waitio_cpl_t cpl, int gets, const char *name, struct waitio_cpl_facts *field)
{
    const char *own = cpl->components[cpl->mine].name;
    bool found = false;

    for (size_t k = 0; k < cpl->conf.links.n; k++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(&cpl->conf, k);

        if (strcmp(gets ? l->comp_get : l->comp_put, own) != 0 ||
            strcmp(gets ? l->var_get : l->var_put, name) != 0)
            continue;
        if (!found)
            tell(cpl, l, gets != 0, field);
        else if (field->fill != wio_cpl_link_fill(l))
            field->fill = NAN;
        found = true;
    }
    if (found)
        return 0;
    return wio_cpl_fail(WAITIO_ERR_ARG, "component '%s' %s no '%s' in %s", own,
                        gets ? "gets" : "puts", name, cpl->conf.file);
}
