/* SPDX-License-Identifier: BSD-3-Clause */
/* Two components whose own messages never come: each receives before it sends (cross), or one
 * closes while the other receives (gone); or which send messages without any number before one with
 * a number (empty). By waitio_cpl.h alone. */
#include <stdio.h>
#include <string.h>

#include "waitio_cpl.h"

/* Who has no points has no array either. */
static int empty(waitio_cpl_t cpl, int mine)
{
    int number = mine == 0 ? 7 : 0;

    if (mine == 0) {
        waitio_cpl_send(cpl, 1, 0, 5, NULL, 0, WAITIO_MPI_INT);
        waitio_cpl_isend(cpl, 1, 0, 5, NULL, 0, WAITIO_MPI_INT);
        waitio_cpl_send(cpl, 1, 0, 5, &number, 1, WAITIO_MPI_INT);
    } else {
        waitio_cpl_recv(cpl, 0, 0, 5, NULL, 0, WAITIO_MPI_INT);
        waitio_cpl_irecv(cpl, 0, 0, 5, NULL, 0, WAITIO_MPI_INT);
        waitio_cpl_recv(cpl, 0, 0, 5, &number, 1, WAITIO_MPI_INT);
    }
    waitio_cpl_wait(cpl);
    waitio_cpl_close(&cpl);
    printf("got %d\n", number);
    return waitio_finalize() != 0;
}

int main(int argc, char **argv)
{
    waitio_cpl_t cpl;
    int n = 0, mine = 0, number = 7;

    if (argc < 4 || waitio_cpl_open(argv[1], argv[2], &cpl) != 0)
        return 2;
    waitio_cpl_components(cpl, &n, &mine);
    if (strcmp(argv[3], "empty") == 0)
        return empty(cpl, mine);
    if (strcmp(argv[3], "cross") == 0 || mine == 1)
        waitio_cpl_recv(cpl, 1 - mine, 0, 5, &number, 1, WAITIO_MPI_INT);
    if (strcmp(argv[3], "cross") == 0)
        waitio_cpl_send(cpl, 1 - mine, 0, 5, &number, 1, WAITIO_MPI_INT);
    waitio_cpl_close(&cpl);
    return waitio_finalize() != 0;
}
