/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * leavers [finalize|exit|threads]: everybody sends large messages, eager and asked, to everybody
 * (also to itself) that nobody receives, and then all leave at once: nobody may wait for answers
 * that never come. threads: other threads are inside the library when the process calls exit().
 */
#include <pthread.h>

#include "common.h"

static waitio_group_t g;

static void *keep_testing(void *arg)
{
    static char buf[16];
    waitio_req_t q;
    int flag = 0;
    if (waitio_irecv(g, WAITIO_ANY_SOURCE, buf, sizeof buf, 99, &q) != 0)
        return arg;
    while (waitio_test(&q, &flag, NULL) == 0 && !flag)
        usleep(10);
    return arg;
}

static void *keep_waiting(void *arg)
{
    static char buf[16];
    waitio_req_t q;
    if (waitio_irecv(g, WAITIO_ANY_SOURCE, buf, sizeof buf, 98, &q) == 0)
        waitio_wait(&q);
    for (;;) /* what the wait found is the main thread's affair no longer */
        pause();
    return arg;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "finalize";
    size_t big = 3 << 20;
    int size;
    OK(waitio_init(30));
    OK(waitio_group_universe(0, &g));
    OK(waitio_group_size(g, &size));
    static char *buf; /* reachable to the end: no leak */
    buf = calloc(1, big);
    waitio_req_t q;
    for (int to = 0; to < size; to++) {
        OK(waitio_isend(g, to, buf, 200000, 1, &q));
        OK(waitio_isend(g, to, buf, big, 2, &q));
    }
    pthread_t t[2];
    if (strcmp(mode, "threads") == 0 && (pthread_create(&t[0], NULL, keep_testing, NULL) != 0 ||
                                         pthread_create(&t[1], NULL, keep_waiting, NULL) != 0))
        DIE("no threads");
    for (int i = 0; strcmp(mode, "threads") == 0 && i < 2; i++)
        pthread_detach(t[i]);
    usleep(50000);
    if (strcmp(mode, "finalize") == 0)
        OK(waitio_finalize());
    puts("leavers ok");
    exit(0); /* buf stays: the sends may still read it */
}
