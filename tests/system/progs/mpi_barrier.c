/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The deadlock that the service thread exists for (two MPI jobs: PB 0 of two processes, PB 1 of
 * one). PB 0 rank 0 sends small messages to PB 1; its waits return although nobody has connected
 * yet; it then blocks in its own MPI_Barrier. PB 1 receives, computes, and tells PB 0 rank 1 (the
 * third party), which only then enters the barrier. Whoever moves the bytes of a process that sits
 * in MPI must be a thread.
 */
#include <mpi.h>

#include "common.h"

/* Few: a sender with more to be sent than that lets its receiver catch up (src/p2p/pace.c). */
enum { MESSAGES = 4, BYTES = 5000 };

int main(int argc, char **argv)
{
    int me, size, pb, value = 0;
    static char buf[MESSAGES][BYTES];
    MPI_Init(&argc, &argv);
    OK(waitio_init(60));
    waitio_group_t g = everybody(0, &me, &size);
    OK(waitio_pb_rank(&pb));
    CHECK(size == 3, "needs two and one process");
    if (me == 0) {
        for (int i = 0; i < MESSAGES; i++) {
            waitio_req_t q;
            fill(buf[i], BYTES, (uint64_t)i);
            OK(waitio_isend(g, 2, buf[i], BYTES, i, &q));
            OK(waitio_wait(&q));
        }
    } else if (me == 2) {
        for (int i = MESSAGES; i-- > 0;) {
            waitio_req_t q;
            OK(waitio_irecv(g, 0, buf[i], BYTES, i, &q));
            OK(waitio_wait(&q));
            CHECK(wrong_at(buf[i], BYTES, (uint64_t)i) < 0, "message %d", i);
        }
        waitio_req_t q;
        value = 42;
        OK(waitio_isend(g, 1, &value, sizeof value, 1, &q));
        OK(waitio_wait(&q));
    } else {
        waitio_req_t q;
        OK(waitio_irecv(g, 2, &value, sizeof value, 1, &q));
        OK(waitio_wait(&q));
        CHECK(value == 42, "value %d", value);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    OK(waitio_finalize());
    MPI_Finalize();
    printf("barrier ok: %d\n", me);
    return 0;
}
