/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waits with a time limit: rank 0 waits in vain, then rank 1 sends, and the same waits succeed.
 * Every wait is made in short slices, as by a caller who looks at signals in between.
 */
#include "common.h"

#include <pthread.h>

static waitio_group_t all;

static void in_vain(waitio_req_t *reqs)
{
    waitio_status_t st;
    int flag = 1, index = 0;
    double began = now_s();
    OK(waitio_wait_for(&reqs[0], 0.05, &flag, &st));
    CHECK(flag == 0, "wait_for found what was not sent");
    CHECK(now_s() - began >= 0.05, "wait_for returned early");
    began = now_s();
    OK(waitio_waitany_for(2, reqs, 0.05, &index, &flag, &st));
    CHECK(flag == 0 && index == WAITIO_UNDEFINED, "waitany_for found what was not sent");
    CHECK(now_s() - began >= 0.05, "waitany_for returned early");
    began = now_s();
    OK(waitio_probe_for(all, 1, 7, 0.05, &flag, &st));
    CHECK(flag == 0, "probe_for found what was not sent");
    CHECK(now_s() - began >= 0.05, "probe_for returned early");
    OK(waitio_wait_for(&reqs[0], -1.0, &flag, NULL));
    CHECK(flag == 0, "a look found what was not sent");
}

static void *wait_long(void *buffer)
{
    waitio_req_t r;
    OK(waitio_irecv(all, 1, buffer, 1, 4, &r));
    OK(waitio_wait(&r));
    return NULL;
}

/* Another thread waits, and polls: limits are kept all the same. */
static void beside(void)
{
    pthread_t t;
    char in[3] = {0, 0, 0}, go = 1;
    int flag = 0, index = 0;
    waitio_req_t reqs[2], sent;
    CHECK(pthread_create(&t, NULL, wait_long, &in[2]) == 0, "no thread");
    OK(waitio_irecv(all, 1, &in[0], 1, 8, &reqs[0]));
    OK(waitio_irecv(all, 1, &in[1], 1, 9, &reqs[1]));
    OK(waitio_waitany_for(2, reqs, 0.1, &index, &flag, NULL));
    double began = now_s();
    for (int i = 0; i < 20; i++)
        OK(waitio_waitany_for(2, reqs, 0.001, &index, &flag, NULL));
    CHECK(now_s() - began < 2, "limits beside a thread that waits"); /* 20 ms and more */
    OK(waitio_isend(all, 1, &go, 1, 1, &sent));
    OK(waitio_wait(&sent));
    OK(waitio_waitall(2, reqs, NULL));
    CHECK(pthread_join(t, NULL) == 0 && memcmp(in, "zzz", 3) == 0, "the other thread");
}

static void receiver(void)
{
    char in[2] = {0, 0}, go = 1;
    int flag = 0, index = -1;
    waitio_status_t st;
    waitio_req_t reqs[2], sent;
    OK(waitio_irecv(all, 1, &in[0], 1, 5, &reqs[0]));
    OK(waitio_irecv(all, 1, &in[1], 1, 6, &reqs[1]));
    in_vain(reqs);
    double began = now_s();
    while (now_s() - began < 0.8) /* long enough for the report of a long wait */
        OK(waitio_wait_for(&reqs[0], 0.05, &flag, &st));
    began = now_s();
    while (now_s() - began < 2) /* the same by testing */
        OK(waitio_test(&reqs[1], &flag, &st));
    OK(waitio_isend(all, 1, &go, 1, 1, &sent));
    OK(waitio_wait(&sent));
    OK(waitio_wait_for(&reqs[0], 1e300, &flag, &st));
    CHECK(flag == 1 && st.tag == 5 && st.bytes == 1 && in[0] == 'a', "wait_for after the send");
    OK(waitio_waitany_for(2, reqs, 60, &index, &flag, &st));
    CHECK(flag == 1 && index == 1 && st.tag == 6 && in[1] == 'b', "waitany_for after the send");
    OK(waitio_waitany_for(2, reqs, 60, &index, &flag, &st));
    CHECK(flag == 1 && index == WAITIO_UNDEFINED, "waitany_for of null handles");
    OK(waitio_probe_for(all, WAITIO_ANY_SOURCE, 7, 60, &flag, &st));
    CHECK(flag == 1 && st.source == 1 && st.bytes == 1, "probe_for after the send");
    OK(waitio_irecv(all, 1, in, 1, 7, &reqs[0]));
    OK(waitio_wait(&reqs[0]));
    CHECK(waitio_wait_for(NULL, 1, &flag, NULL) == WAITIO_ERR_ARG, "NULL request");
    CHECK(waitio_wait_for(&reqs[0], 1, NULL, NULL) == WAITIO_ERR_ARG, "NULL flag");
    CHECK(waitio_waitany_for(1, reqs, 1, NULL, &flag, NULL) == WAITIO_ERR_ARG, "NULL index");
    CHECK(waitio_probe_for(all, 1, 7, 1, NULL, NULL) == WAITIO_ERR_ARG, "NULL flag of probe");
    beside();
}

static void sender(void)
{
    char go = 0;
    const char *letters = "abc", last = 'z';
    waitio_req_t r;
    OK(waitio_irecv(all, 0, &go, 1, 1, &r));
    OK(waitio_wait(&r));
    for (int i = 0; i < 3; i++) {
        OK(waitio_isend(all, 0, &letters[i], 1, 5 + i, &r));
        OK(waitio_wait(&r));
    }
    OK(waitio_irecv(all, 0, &go, 1, 1, &r));
    OK(waitio_wait(&r));
    for (int i = 0; i < 3; i++) {
        OK(waitio_isend(all, 0, &last, 1, i == 0 ? 4 : 7 + i, &r));
        OK(waitio_wait(&r));
    }
}

int main(void)
{
    int rank = -1;
    OK(waitio_init(30));
    OK(waitio_group_universe(0, &all));
    OK(waitio_group_rank(all, &rank));
    rank == 0 ? receiver() : sender();
    OK(waitio_finalize());
    return 0;
}
