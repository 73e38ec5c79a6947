/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file rejoin.h
 * STEPS [DIE]: every step sums a number over all processes of all blocks. The last process
 * kills itself in step DIE; the test starts it again, without that word. The others join
 * again, agree on the step they go on with (the first that somebody has not done), and end when all
 * steps are done. Under MPI every step sums over the block, too.
 */
#ifndef SYSTEM_REJOIN_H
#define SYSTEM_REJOIN_H

#include <signal.h>

#include "common.h"
#include "waitio_mpi.h"

/** Sums the number over my block in another way than by WaitIO. @return processes of the block */
static int sum_in_block(int number, int *sum);

static int again;

/** @return 0, or the error that says that somebody is gone */
static int step(int i, int me, int size)
{
    int64_t mine = (int64_t)i * size + me, all = 0, want = (int64_t)i * size * size;
    int rc = WAITIO_MPI_Allreduce(&mine, &all, 1, WAITIO_MPI_INT64_T, WAITIO_MPI_SUM,
                                  WAITIO_MPI_COMM_WORLD);

    if (rc != 0)
        return rc;
    want += (int64_t)size * (size - 1) / 2;
    CHECK(all == want, "step %d: %lld, not %lld", i, (long long)all, (long long)want);
    return 0;
}

static void check_block(int i)
{
    int sum = 0, n = sum_in_block(i, &sum);

    CHECK(sum == n * i, "step %d: %d in the block", i, sum);
}

/** Which step is next? */
static int agree(int *i)
{
    int least = -1, rc = WAITIO_MPI_Allreduce(i, &least, 1, WAITIO_MPI_INT, WAITIO_MPI_MIN,
                                              WAITIO_MPI_COMM_WORLD);

    if (rc == 0)
        *i = least;
    return rc;
}

/* A process of the dying block may come, too, and be killed then: all try once more. */
static void join_again(void)
{
    int rc;

    do
        rc = waitio_rejoin(60);
    while (rc == WAITIO_ERR_PEER);
    OK(rc);
    again++;
}

static int rejoin_main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 10, die = argc > 2 ? atoi(argv[2]) : -1;
    int me, size, i = 0, known = 0;

    OK(waitio_set_errors(WAITIO_ERRORS_RETURN));
    OK(WAITIO_MPI_Comm_set_errhandler(NULL, WAITIO_MPI_ERRORS_RETURN));
    OK(waitio_init(60));
    while (i < steps) {
        int rc = known ? 0 : agree(&i);

        OK(waitio_universe_rank(&me));
        OK(waitio_universe_size(&size));
        if (i == die && me == size - 1)
            kill(getpid(), SIGKILL);
        if (rc == 0) {
            known = 1;
            rc = step(i, me, size);
        }
        if (rc == 0) {
            i++;
            continue;
        }
        CHECK(rc == WAITIO_ERR_PEER || rc == WAITIO_ERR_REVOKED, "step %d gave %d: %s", i, rc,
              waitio_last_error());
        known = 0;
        join_again();
    }
    check_block(i);
    OK(waitio_finalize());
    printf("rejoin ok: rank %d of %d, again %d\n", me, size, again);
    return 0;
}

#endif
