/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Finalize is collective: a process that still probes, or cancels a receive, must not find that
 * the others have gone. Process 0 hears from all others, then lets them go. If it has died, the
 * next one takes its place. So the living wait for each other whoever dies, and the report of a
 * long wait names the process that is missing.
 */
#include "os/os.h"
#include "span/span.h"
#include "waitio_inside.h"

enum { TAG_COME, TAG_GO };

static WAITIO_MPI_Comm comm;

int span_leaving_begin(WAITIO_MPI_Comm all)
{
    WAITIO_MPI_Request request;
    int rc = WAITIO_MPI_Comm_idup(all, &comm, &request);

    return rc != 0 ? rc : WAITIO_MPI_Wait(&request, WAITIO_MPI_STATUS_IGNORE);
}

/* An empty message. Who has died, or has gone because all had come, gets none. */
static void tell(int rank, int tag)
{
    waitio_req_t request;

    if (waitio_isend(comm, rank, NULL, 0, tag, &request) == 0)
        (void)waitio_wait(&request);
}

/* @return 0; an error: @p rank has died or left */
static int hear(int rank, int tag)
{
    waitio_req_t request;
    int rc = waitio_irecv(comm, rank, NULL, 0, tag, &request);

    return rc != 0 ? rc : waitio_wait(&request);
}

/* All processes of lower ranks are gone. */
static void lead(int rank, int size)
{
    for (int i = rank + 1; i < size; i++)
        (void)hear(i, TAG_COME);
    for (int i = rank + 1; i < size; i++)
        tell(i, TAG_GO);
}

static bool follow(int leader)
{
    tell(leader, TAG_COME);
    return hear(leader, TAG_GO) == 0;
}

void span_leaving_wait(void)
{
    int rank = 0, size = 0, leader = 0;

    if (comm == NULL || WAITIO_MPI_Comm_rank(comm, &rank) != 0 ||
        WAITIO_MPI_Comm_size(comm, &size) != 0)
        return;
    waitio_inside_name("MPI_Finalize");
    while (leader < rank && !follow(leader))
        leader++;
    if (leader == rank)
        lead(rank, size);
    waitio_inside_name(NULL);
    (void)WAITIO_MPI_Comm_free(&comm);
}
