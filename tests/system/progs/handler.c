/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * handler WAY: rank 0 calls waitio_test in a signal handler that interrupts its calls; rank 1 waits
 * for rank 0.
 *   alone   rank 0 waits, and no other thread calls
 *   beside  another thread calls, too: the engine's lock is a plain mutex then. Rank 0 tests, as a
 *           wait would mostly sleep outside the lock, where a handler may call
 */
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "common.h"

static waitio_req_t other;

static void on_alarm(int number)
{
    int flag;
    (void)number;
    (void)waitio_test(&other, &flag, NULL);
}

static void *calls(void *group)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    for (;;) {
        int flag;
        (void)waitio_iprobe(*(waitio_group_t *)group, 1, 9, &flag, NULL);
        usleep(10);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    waitio_group_t world;
    waitio_req_t r;
    pthread_t t;
    int me, x;

    CHECK(argc == 2, "usage: handler WAY");
    OK(waitio_set_errors(WAITIO_ERRORS_RETURN));
    OK(waitio_init(60));
    OK(waitio_universe_rank(&me));
    OK(waitio_group_universe(0, &world));
    OK(waitio_irecv(world, 1 - me, &x, sizeof x, 1, &r));
    OK(waitio_irecv(world, 1 - me, &x, sizeof x, 2, &other));
    if (me == 0) {
        const struct itimerval often = {{0, 500}, {0, 500}};
        if (strcmp(argv[1], "beside") == 0)
            pthread_create(&t, NULL, calls, &world);
        signal(SIGALRM, on_alarm);
        setitimer(ITIMER_REAL, &often, NULL);
        while (strcmp(argv[1], "beside") == 0) {
            int flag;
            OK(waitio_test(&r, &flag, NULL));
            CHECK(!flag, "a message that nobody sent has come");
        }
        (void)waitio_wait(&r);
        DIE("the wait has ended");
    }
    int rc = waitio_wait(&r);
    CHECK(rc == WAITIO_ERR_PEER, "the wait gave %d: %s", rc, waitio_last_error());
    return 0;
}
