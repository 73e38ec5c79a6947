/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts: communicators of our own, so that our messages never meet the program's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hybrid/hybrid.h"

/* Any will do: the parts of one communicator are made one after the other. */
enum { MAKING_TAG = 1 };
/* Seconds. */
static const double SHORTEST_NAP = 1e-6, LONGEST_NAP = 5e-4;

/* Take over a new communicator. */
static int adopt(MPI_Comm comm, struct wio_hybrid_part **out, struct wio_hybrid_why *why)
{
    struct wio_hybrid_part *part = calloc(1, sizeof *part);
    int rc = MPI_SUCCESS;

    if (part == NULL)
        return wio_hybrid_fail(why, WAITIO_ERR_NOMEM, "no memory for a communicator");
    part->comm = comm;
    rc = PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Comm_size(comm, &part->size);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Comm_rank(comm, &part->rank);
    if (rc != MPI_SUCCESS) {
        free(part);
        return wio_hybrid_mpi_error(why, rc, "MPI_Comm_size()");
    }
    part->plain = !wio_hybrid_serialized();
    wio_hybrid_note(part);
    *out = part;
    return 0;
}

/* Our own operations go on: somebody may wait for them before he comes. */
static void look_around(void)
{
    int flag;

    (void)WAITIO_MPI_Iprobe(0, 0, WAITIO_MPI_COMM_SELF, &flag, WAITIO_MPI_STATUS_IGNORE);
}

static double nap(double seconds)
{
    const struct timespec t = {0, (long)(seconds * 1e9)};

    (void)nanosleep(&t, NULL);
    return seconds < LONGEST_NAP ? 2 * seconds : seconds;
}

/* @return MPI's code */
static int all_come(MPI_Comm from)
{
    MPI_Request barrier;
    double since = WAITIO_MPI_Wtime(), again = 0, pause = SHORTEST_NAP;
    int done = 0, rc;

    wio_hybrid_lock();
    rc = PMPI_Ibarrier(from, &barrier);
    wio_hybrid_unlock();
    while (rc == MPI_SUCCESS) {
        wio_hybrid_lock();
        rc = PMPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
        wio_hybrid_unlock();
        if (done || rc != MPI_SUCCESS)
            break;
        look_around();
        if (WAITIO_MPI_Wtime() - since >= again &&
            waitio_inside_elsewhere("waitio_hybrid_create", WAITIO_MPI_Wtime() - since, &again) !=
                0)
            again = 1e9;
        pause = nap(pause);
    }
    return rc;
}

int wio_hybrid_part_meet(MPI_Comm from, struct wio_hybrid_why *why)
{
    int inter = 0, rc;

    wio_hybrid_lock();
    rc = PMPI_Comm_test_inter(from, &inter);
    wio_hybrid_unlock();
    if (rc != MPI_SUCCESS)
        return wio_hybrid_mpi_error(why, rc, "MPI_Comm_test_inter()");
    if (inter)
        return wio_hybrid_fail(why, WAITIO_ERR_ARG,
                               "the block's communicator is an intercommunicator: merge its groups "
                               "with MPI_Intercomm_merge() or give one of them");
    rc = all_come(from);
    return rc == MPI_SUCCESS ? 0 : wio_hybrid_mpi_error(why, rc, "MPI_Ibarrier()");
}

/* Not MPI_Comm_dup(), which calls the program's functions for attributes. */
int wio_hybrid_part_new(MPI_Comm from, struct wio_hybrid_part **out, struct wio_hybrid_why *why)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Group group;
    int rc;

    wio_hybrid_lock();
    rc = PMPI_Comm_group(from, &group);
    if (rc == MPI_SUCCESS) {
        rc = PMPI_Comm_create(from, group, &comm);
        (void)PMPI_Group_free(&group);
    }
    wio_hybrid_unlock();
    if (rc != MPI_SUCCESS)
        return wio_hybrid_mpi_error(why, rc, "MPI_Comm_create()");
    return adopt(comm, out, why);
}

int wio_hybrid_members(void *p, int *size, int *rank)
{
    const struct wio_hybrid_part *part = p;

    *size = part->size;
    *rank = part->rank;
    return 0;
}

int wio_hybrid_part_may_call(void *part, char *text, size_t room)
{
    struct wio_hybrid_why why = {text, room};

    (void)part;
    return wio_hybrid_may_call(&why);
}

int wio_hybrid_sub(void *p, int n, const int *ranks, void **out, char *text, size_t room)
{
    struct wio_hybrid_why why = {text, room};
    struct wio_hybrid_part *part = p, *made = NULL;
    MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    int rc = wio_hybrid_ready(&why);

    if (rc != 0)
        return rc;
    wio_hybrid_lock();
    rc = PMPI_Comm_group(part->comm, &all);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Group_incl(all, n, ranks, &some);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Comm_create_group(part->comm, some, MAKING_TAG, &comm);
    if (some != MPI_GROUP_NULL && some != MPI_GROUP_EMPTY)
        (void)PMPI_Group_free(&some);
    if (all != MPI_GROUP_NULL)
        (void)PMPI_Group_free(&all);
    wio_hybrid_unlock();
    if (rc != MPI_SUCCESS)
        return wio_hybrid_mpi_error(&why, rc, "MPI_Comm_create_group()");
    rc = adopt(comm, &made, &why);
    if (rc == 0)
        *out = made;
    return rc;
}

/* MPI_Comm_free() is collective by name, but MPIs do it locally, as its standard expects of them.
 */
void wio_hybrid_part_free(void *p)
{
    struct wio_hybrid_why nobody = {NULL, 0};
    struct wio_hybrid_part *part = p;

    if (!wio_hybrid_forget(part, wio_hybrid_may_call(&nobody) == 0))
        return;
    if (part->comm != MPI_COMM_NULL) {
        wio_hybrid_lock();
        (void)PMPI_Comm_free(&part->comm);
        wio_hybrid_unlock();
    }
    free(part);
}

const struct waitio_inside_ops *wio_hybrid_ops(void)
{
    static const struct waitio_inside_ops ops = {
        .version = WAITIO_INSIDE_VERSION,
        .size = sizeof ops,
        .name = WAITIO_MPI_KIND " " WAITIO_MPI_RELEASE,
        .members = wio_hybrid_members,
        .may_call = wio_hybrid_part_may_call,
        .reduces = wio_hybrid_reduces,
        .sub = wio_hybrid_sub,
        .free = wio_hybrid_part_free,
        .run = wio_hybrid_run,
        .start = wio_hybrid_start,
        .test = wio_hybrid_test,
        .abandon = wio_hybrid_abandon,
        .folds = wio_hybrid_folds,
    };

    return &ops;
}
