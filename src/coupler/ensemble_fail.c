/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Components whose failure does not end the others (on_failure = 'go on').
 *
 * Who finds that such a component has died, raised an alarm or left marks it as gone, neither sends
 * to it nor waits for it, and goes on. Processes of one component may find that at different
 * exchanges: one had its message, the other had not. So they agree after each exchange, and what is
 * computed from members uses those alone that no process has lost.
 */
#include <stdio.h>
#include <stdlib.h>

#include "coupler/cpl.h"

static bool may_fail(const struct waitio_cpl *cpl, int component)
{
    const struct wio_cpl_part *part = wio_cpl_ensemble_part(cpl, component);

    return part != NULL && part->may_fail;
}

static bool any_may_fail(const struct waitio_cpl *cpl)
{
    for (int c = 0; c < cpl->n_components; c++)
        if (may_fail(cpl, c))
            return true;
    return false;
}

/* Before the start all are needed: they set tables up together. */
bool wio_cpl_may_lose(const struct waitio_cpl *cpl, int rank)
{
    if (cpl->component_of == NULL || rank < 0 || rank >= cpl->size)
        return false;
    return (cpl->phase == WIO_CPL_RUNS || cpl->closing) && cpl->component_of[rank] != cpl->mine &&
           may_fail(cpl, cpl->component_of[rank]);
}

void wio_cpl_lose(struct waitio_cpl *cpl, int component, const char *why)
{
    struct wio_cpl_component *c = &cpl->components[component];

    if (c->gone)
        return;
    c->gone = true;
    if (cpl->rank == 0 && !cpl->closing)
        (void)fprintf(stderr,
                      "waitio coupler: component '%s' goes on without component '%s' from %lld s "
                      "on: %s\n",
                      cpl->components[cpl->mine].name, c->name, (long long)cpl->clock.now, why);
}

bool wio_cpl_lose_all(struct waitio_cpl *cpl)
{
    for (int r = 0; r < cpl->size; r++)
        if (r != cpl->me && !wio_cpl_may_lose(cpl, r))
            return false;
    for (int c = 0; c < cpl->n_components; c++)
        if (c != cpl->mine)
            wio_cpl_lose(cpl, c, "no other process is left");
    return true;
}

static int agree(struct waitio_cpl *cpl, unsigned char *mine, unsigned char *all)
{
    int rc = 0;

    for (int c = 0; c < cpl->n_components; c++)
        mine[c] = all[c] = cpl->components[c].gone;
    if (cpl->components[cpl->mine].n > 1) {
        struct wio_cpl_op op = wio_cpl_collective(cpl, wio_cpl_set_own(cpl), 0);

        if (WAITIO_MPI_Iallreduce(mine, all, cpl->n_components, WAITIO_MPI_UNSIGNED_CHAR,
                                  WAITIO_MPI_MAX, cpl->own, &op.req) != 0)
            return wio_cpl_failed();
        rc = wio_cpl_wait(cpl, &op, 1);
    }
    for (int c = 0; rc == 0 && c < cpl->n_components; c++) {
        if (all[c])
            wio_cpl_lose(cpl, c, "another process of this component has lost it");
        cpl->components[c].agreed = all[c] != 0;
    }
    return rc;
}

/* After an error the collective may be under way: its memory stays. */
int wio_cpl_agree(struct waitio_cpl *cpl)
{
    unsigned char *flags;
    int rc;

    if (!any_may_fail(cpl))
        return 0;
    flags = wio_cpl_new((size_t)cpl->n_components, 2);
    if (flags == NULL)
        return WAITIO_ERR_NOMEM;
    rc = agree(cpl, flags, flags + cpl->n_components);
    if (rc == 0)
        free(flags);
    return rc;
}

/* ---- meeting ------------------------------------------------------------------------------- */

static char said, heard; /* by the host: are all there? Their messages may outlive a call */

static int say(struct waitio_cpl *cpl, int rank)
{
    struct wio_cpl_op op = {.peer = rank};

    if (cpl->components[cpl->component_of[rank]].gone)
        return 0;
    if (WAITIO_MPI_Isend(&said, 1, WAITIO_MPI_CHAR, rank, WIO_CPL_TAG_LEAVE, cpl->all, &op.req) !=
        0)
        return wio_cpl_may_lose(cpl, rank) ? 0 : wio_cpl_failed();
    return wio_cpl_wait(cpl, &op, 1);
}

static int hear(struct waitio_cpl *cpl, int rank)
{
    struct wio_cpl_op op = {.peer = rank};

    if (cpl->components[cpl->component_of[rank]].gone)
        return 0;
    if (WAITIO_MPI_Irecv(&heard, 1, WAITIO_MPI_CHAR, rank, WIO_CPL_TAG_LEAVE, cpl->all, &op.req) !=
        0)
        return wio_cpl_may_lose(cpl, rank) ? 0 : wio_cpl_failed();
    return wio_cpl_wait(cpl, &op, 1);
}

/* A barrier of all needs all. With some that may be gone one process asks each. */
static int meet_living(struct waitio_cpl *cpl, int host)
{
    int rc = 0;

    if (cpl->me != host) {
        rc = say(cpl, host);
        if (rc == 0)
            rc = hear(cpl, host);
        cpl->alone = heard == 0;
        return rc;
    }
    for (int r = 0; rc == 0 && r < cpl->size; r++)
        rc = r != host ? hear(cpl, r) : 0;
    for (int c = 0; c < cpl->n_components; c++)
        cpl->alone |= cpl->components[c].gone;
    said = !cpl->alone;
    for (int r = 0; rc == 0 && r < cpl->size; r++)
        rc = r != host ? say(cpl, r) : 0;
    return rc;
}

int wio_cpl_meet(struct waitio_cpl *cpl)
{
    struct wio_cpl_op op;

    if (cpl->closing && any_may_fail(cpl)) {
        for (int c = 0; c < cpl->n_components; c++)
            if (!may_fail(cpl, c))
                return meet_living(cpl, cpl->components[c].ranks[0]);
        cpl->alone = true;
        return 0; /* all may fail: each leaves when it has said goodbye to its partners */
    }
    op = wio_cpl_collective(cpl, WIO_CPL_SET_MEET, 0);
    op.tag = WIO_CPL_TAG_LEAVE;
    if (WAITIO_MPI_Ibarrier(cpl->ends, &op.req) != 0) /* some died in it already? */
        return cpl->back.any ? wio_cpl_broken(cpl, WAITIO_ERR_REVOKED, -1) : wio_cpl_failed();
    return wio_cpl_wait(cpl, &op, 1);
}
