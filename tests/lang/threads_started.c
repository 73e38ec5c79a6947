/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Started collectives of several threads. One that nobody waits for goes on while any thread is in
 * a waiting call, whatever that waits for; its errors stay with its request; and many threads that
 * wait for theirs do not look at each other's: a collective is moved when messages of its own are
 * over, which a counter shows.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <waitio_mpi.h>

enum { THREADS = 13, ROUNDS = 40, WAYS = 8, TURNS = 3 };

static atomic_int failures;
static int me, n;

static void expect(int ok, const char *what)
{
    if (!ok && atomic_fetch_add(&failures, 1) < 5)
        fprintf(stderr, "threads_started: %s\n", what);
}

static uint64_t counter(const char *name)
{
    uint64_t value = 0;
    expect(waitio_counter(name, &value) == 0, "no such counter");
    return value;
}

/* ---- each thread waits for its own ---- */

static void *own_ones(void *arg)
{
    int t = (int)(intptr_t)arg;
    WAITIO_MPI_Comm comm;

    waitio_group_universe(100 + t, &comm);
    for (int i = 0; i < ROUNDS; i++) {
        WAITIO_MPI_Request req[2];
        int sum = -1, most = -1, mine = me + i, index, flag = 0;
        WAITIO_MPI_Iallreduce(&mine, &sum, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, comm, &req[0]);
        WAITIO_MPI_Iallreduce(&mine, &most, 1, WAITIO_MPI_INT, WAITIO_MPI_MAX, comm, &req[1]);
        if ((t + i) % 4 == 0)
            WAITIO_MPI_Waitall(2, req, WAITIO_MPI_STATUSES_IGNORE);
        for (int k = 0; (t + i) % 4 == 1 && k < 2; k++)
            WAITIO_MPI_Waitany(2, req, &index, WAITIO_MPI_STATUS_IGNORE);
        for (int k = 0; (t + i) % 4 == 2 && k < 2; k++)
            WAITIO_MPI_Wait(&req[1 - k], WAITIO_MPI_STATUS_IGNORE);
        while ((t + i) % 4 == 3 && !flag) {
            WAITIO_MPI_Testall(2, req, &flag, WAITIO_MPI_STATUSES_IGNORE);
            sched_yield();
        }
        expect(sum == n * i + n * (n - 1) / 2 && most == n - 1 + i, "a sum is wrong");
    }
    WAITIO_MPI_Comm_free(&comm);
    return NULL;
}

static void many_threads(void)
{
    pthread_t thread[THREADS];
    uint64_t turns = counter("task_turns");
    uint64_t over = counter("send_msgs") + counter("recv_msgs");

    for (intptr_t t = 0; t < THREADS; t++)
        if (pthread_create(&thread[t], NULL, own_ones, (void *)t) != 0)
            abort();
    for (int t = 0; t < THREADS; t++)
        pthread_join(thread[t], NULL);
    turns = counter("task_turns") - turns;
    over = counter("send_msgs") + counter("recv_msgs") - over;
    expect(turns <= over,
           "collectives were looked at more often than messages of theirs were over");
    expect(n == 1 || turns > 0, "nobody moved the collectives");
}

/* ---- a thread computes, another one waits ---- */

static WAITIO_MPI_Comm outside; /* of the collective */
static int way;
static atomic_int begun;

/* Rank 1 answers when the collective of all is over, which rank 0 has left alone. */
static void *wait_for_answer(void *arg)
{
    WAITIO_MPI_Request req[2] = {WAITIO_MPI_REQUEST_NULL, WAITIO_MPI_REQUEST_NULL};
    waitio_req_t plain;
    int got[2] = {-1, -1}, index = -1, flag = 0, count = 0, indices[2];

    (void)arg;
    if (way >= 2 && way < WAYS - 2)
        WAITIO_MPI_Irecv(got, 1, WAITIO_MPI_INT, 1, way, outside, &req[1]);
    atomic_store(&begun, 1);
    if (way == 0)
        WAITIO_MPI_Recv(got, 1, WAITIO_MPI_INT, 1, way, outside, WAITIO_MPI_STATUS_IGNORE);
    else if (way == 1)
        WAITIO_MPI_Probe(1, way, outside, WAITIO_MPI_STATUS_IGNORE);
    else if (way == 2)
        WAITIO_MPI_Wait(&req[1], WAITIO_MPI_STATUS_IGNORE);
    else if (way == 3)
        WAITIO_MPI_Waitany(2, req, &index, WAITIO_MPI_STATUS_IGNORE);
    else if (way == 4)
        WAITIO_MPI_Waitsome(2, req, &count, indices, WAITIO_MPI_STATUSES_IGNORE);
    else if (way == 5)
        while (!flag) {
            WAITIO_MPI_Testall(2, req, &flag, WAITIO_MPI_STATUSES_IGNORE);
            sched_yield();
        }
    else if (way == 6)
        WAITIO_MPI_Bcast(got, 1, WAITIO_MPI_INT, 1, outside);
    else if (waitio_irecv(outside, 1, got, sizeof got[0], way, &plain) == 0)
        waitio_wait(&plain);
    if (way == 1)
        WAITIO_MPI_Recv(got, 1, WAITIO_MPI_INT, 1, way, outside, WAITIO_MPI_STATUS_IGNORE);
    expect(got[0] == 7 * way, "the answer is wrong");
    return NULL;
}

static void answer(void)
{
    int word = 7 * way;

    if (way == 6)
        WAITIO_MPI_Bcast(&word, 1, WAITIO_MPI_INT, 1, outside);
    else if (me == 1)
        WAITIO_MPI_Send(&word, 1, WAITIO_MPI_INT, 0, way, outside);
}

/* @param asleep the other thread waits already when the collective is started, else it may not */
static void left_alone(int asleep)
{
    WAITIO_MPI_Request req;
    pthread_t thread;
    int sum = -1, flag = 0;
    uint64_t sleeps = counter("sleeps");

    if (me == 0 && asleep) {
        atomic_store(&begun, 0);
        if (pthread_create(&thread, NULL, wait_for_answer, NULL) != 0)
            abort();
        while (!atomic_load(&begun) || (way != 5 && counter("sleeps") == sleeps))
            sched_yield();
    }
    WAITIO_MPI_Iallreduce(&me, &sum, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, WAITIO_MPI_COMM_WORLD,
                          &req);
    if (me == 0) {
        if (!asleep && pthread_create(&thread, NULL, wait_for_answer, NULL) != 0)
            abort();
        pthread_join(thread, NULL); /* meanwhile nothing here calls the library */
    } else {
        WAITIO_MPI_Wait(&req, WAITIO_MPI_STATUS_IGNORE);
        answer();
    }
    while (me == 0 && !flag)
        WAITIO_MPI_Test(&req, &flag, WAITIO_MPI_STATUS_IGNORE);
    expect(sum == n * (n - 1) / 2, "the sum of one that was left alone is wrong");
}

/* ---- errors ---- */

/* Moves the failing collective of another thread on, and waits for something else then. */
static void *go_on_unharmed(void *arg)
{
    uint64_t turns = *(uint64_t *)arg;
    int got = -1, flag, rc = 0;

    while (rc == 0 && counter("task_turns") == turns) {
        rc = WAITIO_MPI_Iprobe(1, 98, outside, &flag, WAITIO_MPI_STATUS_IGNORE);
        sched_yield();
    }
    expect(rc == 0, "a probe got the error of a collective");
    rc = WAITIO_MPI_Recv(&got, 1, WAITIO_MPI_INT, 1, 99, outside, WAITIO_MPI_STATUS_IGNORE);
    expect(rc == 0 && got == 99, "a message beside a failing collective is wrong");
    return NULL;
}

static void failing(void)
{
    int data[2] = {0, 0}, word = 99, rc;
    uint64_t turns = counter("task_turns");
    WAITIO_MPI_Request req;
    pthread_t thread;

    /* rank 0, to whom more is sent than it expects, passes nothing on */
    WAITIO_MPI_Ibcast(data, me == 0 ? 1 : 2, WAITIO_MPI_INT, 1, outside, &req);
    if (me == 0) {
        if (pthread_create(&thread, NULL, go_on_unharmed, &turns) != 0)
            abort();
        pthread_join(thread, NULL);
    } else if (me == 1) {
        WAITIO_MPI_Send(&word, 1, WAITIO_MPI_INT, 0, 99, outside);
    }
    rc = WAITIO_MPI_Wait(&req, WAITIO_MPI_STATUS_IGNORE);
    if (me == 0) { /* whichever of its threads found the error */
        expect(rc == WAITIO_ERR_TRUNCATE,
               "the error of a collective did not stay with its request");
        expect(strstr(waitio_last_error(), "contributes more") != NULL,
               "the text of a collective's error did not stay with its request");
    } else { /* the failure ends the communicator's collectives, perhaps before this one is over */
        expect(rc == 0 || rc == WAITIO_ERR_REVOKED, "another member's failure has a wrong code");
    }
    WAITIO_MPI_Barrier(WAITIO_MPI_COMM_WORLD); /* nobody leaves before */
}

int main(void)
{
    int provided;

    if (WAITIO_MPI_Init_thread(NULL, NULL, WAITIO_MPI_THREAD_MULTIPLE, &provided) != 0)
        return 1;
    WAITIO_MPI_Comm_rank(WAITIO_MPI_COMM_WORLD, &me);
    WAITIO_MPI_Comm_size(WAITIO_MPI_COMM_WORLD, &n);
    WAITIO_MPI_Comm_dup(WAITIO_MPI_COMM_WORLD, &outside);
    many_threads();
    for (int i = 0; n > 1 && i < TURNS * WAYS; i++) {
        way = i % WAYS;
        left_alone(i < TURNS * WAYS / 2);
    }
    if (n > 1)
        failing();
    WAITIO_MPI_Comm_free(&outside);
    WAITIO_MPI_Finalize();
    if (failures == 0)
        printf("ok\n");
    return failures != 0;
}
