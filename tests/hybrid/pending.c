/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators are made while a collective is under way that half of the members wait for before
 * they come, and the others afterwards: making one must not stop it.
 */
#include <stdio.h>

#include "../lang/world.h"

enum { LONG = 100000, WAYS = 5 };

static int rank, size, mine[LONG], sum[LONG];

static int make(WAITIO_MPI_Comm world, int way, WAITIO_MPI_Comm *made)
{
    WAITIO_MPI_Group group;
    WAITIO_MPI_Request req;
    int rc = 0;

    switch (way) {
    case 0:
        return WAITIO_MPI_Comm_dup(world, made);
    case 1:
        return WAITIO_MPI_Comm_split(world, 0, rank, made);
    case 2:
        WAITIO_MPI_Comm_group(world, &group);
        rc = WAITIO_MPI_Comm_create(world, group, made);
        WAITIO_MPI_Group_free(&group);
        return rc;
    case 3:
        rc = WAITIO_MPI_Comm_idup(world, made, &req);
        WAITIO_MPI_Wait(&req, WAITIO_MPI_STATUS_IGNORE);
        return rc;
    default:
        *made = make_world();
        return *made == WAITIO_MPI_COMM_NULL;
    }
}

static int round_of(WAITIO_MPI_Comm world, int way)
{
    WAITIO_MPI_Comm made;
    WAITIO_MPI_Request req;
    int good, last = 0;

    for (int i = 0; i < LONG; i++)
        mine[i] = rank + way + i;
    WAITIO_MPI_Iallreduce(mine, sum, LONG, WAITIO_MPI_INT, WAITIO_MPI_SUM, world, &req);
    if (rank % 2 == 1)
        WAITIO_MPI_Wait(&req, WAITIO_MPI_STATUS_IGNORE);
    if (make(world, way, &made) != 0)
        return 0;
    if (rank % 2 == 0)
        WAITIO_MPI_Wait(&req, WAITIO_MPI_STATUS_IGNORE);
    good = 1;
    for (int i = 0; i < LONG; i++)
        good &= sum[i] == size * (size - 1) / 2 + size * (way + i);
    WAITIO_MPI_Allreduce(&rank, &last, 1, WAITIO_MPI_INT, WAITIO_MPI_MAX, made);
    WAITIO_MPI_Comm_free(&made);
    return good && last == size - 1;
}

int main(void)
{
    WAITIO_MPI_Comm world = open_world();
    int good = 1;

    WAITIO_MPI_Comm_rank(world, &rank);
    WAITIO_MPI_Comm_size(world, &size);
    for (int way = 0; way < WAYS; way++)
        good &= round_of(world, way);
    close_world(&world);
    printf(good ? "ok\n" : "wrong\n");
    return !good;
}
