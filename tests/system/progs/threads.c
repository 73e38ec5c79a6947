/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * threads [THREADS [ROUNDS]]: every thread of every process exchanges with its namesake in all
 * other processes, all at once, while one more thread of each process is blocked in a wait from
 * first to last. Without the turn-taking in wait this hangs; without the lock it corrupts.
 */
#include <pthread.h>
#include <sched.h>

#include "common.h"

enum { LATE = 1000, MANY = 64, MAXIMUM = 200000 };

static int me, size, rounds = 200;
static waitio_group_t g;

static void *talk(void *arg)
{
    int t = (int)(intptr_t)arg;
    uint64_t seed = (uint64_t)t * 7919 + 1; /* the same in every process */
    char *out = must_alloc(MAXIMUM), *in = must_alloc(MAXIMUM);
    for (int i = 0; i < rounds; i++) {
        int d = 1 + (int)below(&seed, (uint64_t)(size > 1 ? size - 1 : 1));
        int to = (me + d) % size, from = (me - d + size) % size;
        size_t n = below(&seed, 20) == 0 ? below(&seed, MAXIMUM) : below(&seed, 300);
        uint64_t key = (uint64_t)t << 32 | (uint64_t)i << 8;
        waitio_req_t q[2];
        waitio_status_t st[2];
        fill(out, n, key + (uint64_t)me);
        OK(waitio_irecv(g, i % 3 ? from : WAITIO_ANY_SOURCE, in, MAXIMUM, t * 1000 + i % 1000,
                        &q[0]));
        OK(waitio_isend(g, to, out, n, t * 1000 + i % 1000, &q[1]));
        if (i % 2)
            OK(waitio_waitall(2, q, st));
        else
            for (int flag = 0; !flag; sched_yield()) /* there are more threads than processors */
                OK(waitio_testall(2, q, &flag, st));
        CHECK(st[0].bytes == n && st[0].source == from, "thread %d round %d: %zu bytes from %d", t,
              i, st[0].bytes, st[0].source);
        CHECK(wrong_at(in, n, key + (uint64_t)from) < 0, "thread %d round %d: contents", t, i);
    }
    free(out);
    free(in);
    return NULL;
}

/* Blocked until the very end. */
static void *late(void *arg)
{
    int *value = arg;
    waitio_req_t r;
    OK(waitio_irecv(g, (me + 1) % size, value, sizeof *value, LATE * 1000, &r));
    OK(waitio_wait(&r));
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 8, value = -1;
    pthread_t waiter, thread[MANY];
    if (argc > 2)
        rounds = atoi(argv[2]);
    OK(waitio_init(60));
    g = everybody(0, &me, &size);
    CHECK(pthread_create(&waiter, NULL, late, &value) == 0, "no thread");
    for (int i = 0; i < threads && i < MANY; i++)
        CHECK(pthread_create(&thread[i], NULL, talk, (void *)(intptr_t)i) == 0, "no thread");
    for (int i = 0; i < threads && i < MANY; i++)
        pthread_join(thread[i], NULL);
    waitio_req_t s;
    OK(waitio_isend(g, (me - 1 + size) % size, &me, sizeof me, LATE * 1000, &s));
    OK(waitio_wait(&s));
    pthread_join(waiter, NULL);
    CHECK(value == (me + 1) % size, "the late message holds %d", value);
    OK(waitio_finalize());
    printf("threads ok\n");
    return 0;
}
