/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings that decide what all processes do together: does the run go on from restart files, and
 * what happens when a component fails? Components may have configuration files of their own, and
 * where these say different things some would wait for the others for ever. So all compare them
 * when the coupler opens, before the first of these settings counts.
 */
#include <stdlib.h>

#include "coupler/cpl.h"

enum { GOES_ON = 1, REJOINS = 2 };

/* Of this process: the restart, then each component. Who meets a component that comes back begins
 * no restart with it. */
static int value_of(const struct waitio_cpl *cpl, int i)
{
    const struct wio_cpl_part *part;

    if (i == 0)
        return cpl->conf.restart.read && !cpl->back.newcomer && !cpl->back.busy;
    part = wio_cpl_ensemble_part(cpl, i - 1);
    return part == NULL ? 0 : (part->may_fail ? GOES_ON : 0) | (part->rejoin ? REJOINS : 0);
}

static int other_restart(const struct waitio_cpl *cpl, int mine)
{
    return wio_cpl_fail(
        WAITIO_ERR_CONFIG,
        "component '%s' %s, as %s says, but the file of another component says otherwise: "
        "restart_read (restart: {read}) must be the same for all",
        cpl->components[cpl->mine].name,
        mine != 0 ? "goes on from restart files" : "reads no restart files", cpl->conf.file);
}

static int other_end(const struct waitio_cpl *cpl, int component, int mine)
{
    return wio_cpl_fail(WAITIO_ERR_CONFIG,
                        "the files do not agree on what happens when component '%s' fails: that of "
                        "component '%s', %s, says %s; on_failure and rejoin must be the same for "
                        "all",
                        cpl->components[component].name, cpl->components[cpl->mine].name,
                        cpl->conf.file,
                        mine == 0         ? "that all end"
                        : mine == REJOINS ? "rejoin: yes"
                                          : "on_failure: go on");
}

/* After an error the collective may be under way: its memory stays. */
int wio_cpl_settings_agree(struct waitio_cpl *cpl)
{
    int n = 1 + cpl->n_components, rc;
    int *mine = wio_cpl_new((size_t)n * 4, sizeof *mine), *all = mine + (ptrdiff_t)n * 2;
    struct wio_cpl_op op = wio_cpl_collective(cpl, WIO_CPL_SET_ALL, 0);

    if (mine == NULL)
        return WAITIO_ERR_NOMEM;
    for (int i = 0; i < n; i++) {
        mine[i] = value_of(cpl, i);
        mine[n + i] = -mine[i];
    }
    if (WAITIO_MPI_Iallreduce(mine, all, 2 * n, WAITIO_MPI_INT, WAITIO_MPI_MAX, cpl->all,
                              &op.req) != 0)
        return wio_cpl_failed();
    rc = wio_cpl_wait(cpl, &op, 1);
    if (rc != 0)
        return rc;
    for (int i = 0; rc == 0 && i < n; i++) /* the greatest is the least */
        if (all[i] != -all[n + i])
            rc = i == 0 ? other_restart(cpl, mine[0]) : other_end(cpl, i - 1, mine[i]);
    free(mine);
    return rc;
}
