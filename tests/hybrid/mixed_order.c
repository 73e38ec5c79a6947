/* SPDX-License-Identifier: BSD-3-Clause */
/* A non-blocking collective is under way on some members while others are in a blocking one: legal,
 * and no member may block in the block's MPI meanwhile. */
#include <stdio.h>

#include "../lang/world.h"

int main(void)
{
    WAITIO_MPI_Comm world = open_world(), copy;
    WAITIO_MPI_Request req;
    int rank, size, sum = 0, good = 1;

    WAITIO_MPI_Comm_rank(world, &rank);
    WAITIO_MPI_Comm_size(world, &size);
    WAITIO_MPI_Comm_dup(world, &copy);
    for (int i = 0; i < 50; i++) {
        int value = rank == i % size ? i : -1, mine = rank + i;
        if ((rank + i) % 2 == 0)
            WAITIO_MPI_Iallreduce(&mine, &sum, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, copy, &req);
        WAITIO_MPI_Bcast(&value, 1, WAITIO_MPI_INT, i % size, world);
        if ((rank + i) % 2 != 0)
            WAITIO_MPI_Iallreduce(&mine, &sum, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, copy, &req);
        WAITIO_MPI_Wait(&req, WAITIO_MPI_STATUS_IGNORE);
        good &= value == i && sum == size * (size - 1) / 2 + size * i;
    }
    WAITIO_MPI_Comm_free(&copy);
    close_world(&world);
    printf(good ? "ok\n" : "wrong\n");
    return !good;
}
