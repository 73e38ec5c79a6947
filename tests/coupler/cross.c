/* SPDX-License-Identifier: BSD-3-Clause */
/* Two components that wait for each other for ever, by waitio_cpl.h alone: each receives before it
 * sends (cross); one closes while the other receives (gone), or waits for its broadcast (ended);
 * one waits for a broadcast of the other, which receives (bcast); of the first one process 0 waits
 * in a call of both its processes, 1 for a message, which the other one sends after one of process
 * 0 (together). Or all is well: messages without any number come before one with a number (empty).
 */
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

static void wait_for_each_other(waitio_cpl_t cpl, int mine, const char *how)
{
    int number = 7, n = 0, rank = 0;

    waitio_cpl_component_size(cpl, mine, &n, &rank);
    if (strcmp(how, "together") == 0 && mine == 0 && rank == 0)
        waitio_cpl_grids_done(cpl);
    else if (strcmp(how, "together") == 0 || (strcmp(how, "bcast") == 0 && mine == 1))
        waitio_cpl_recv(cpl, 1 - mine, 0, 5, &number, 1, WAITIO_MPI_INT);
    else if (mine == 0)
        waitio_cpl_bcast_all(cpl, 1, &number, 1, WAITIO_MPI_INT);
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
    if (strcmp(argv[3], "cross") != 0 && strcmp(argv[3], "gone") != 0) {
        wait_for_each_other(cpl, mine, argv[3]);
        waitio_cpl_close(&cpl);
        return waitio_finalize() != 0;
    }
    if (strcmp(argv[3], "cross") == 0 || mine == 1)
        waitio_cpl_recv(cpl, 1 - mine, 0, 5, &number, 1, WAITIO_MPI_INT);
    if (strcmp(argv[3], "cross") == 0)
        waitio_cpl_send(cpl, 1 - mine, 0, 5, &number, 1, WAITIO_MPI_INT);
    waitio_cpl_close(&cpl);
    return waitio_finalize() != 0;
}
