/* SPDX-License-Identifier: BSD-3-Clause */
/* Event descriptors: a program that sleeps in poll() and calls nothing is told, by every kind of
 * thread that may be the one to see it; several threads have one each. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <waitio.h>

enum { ROUNDS = 200, THREADS = 3 };

static _Atomic int failures;
static double quickest = 100; /* round of a message, in seconds */
static waitio_group_t world;
static int me, n;

static void expect(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "events: %s is wrong: %s\n", what, waitio_last_error());
        failures++;
    }
}

static int readable(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, ms) == 1;
}

/* As an event loop: no call waits. */
static void await(int fd, waitio_req_t *req)
{
    int flag = 0, wakes = 0;
    for (;;) {
        expect(waitio_event_arm(fd) == 0, "arm");
        expect(waitio_test(req, &flag, WAITIO_STATUS_IGNORE) == 0, "test");
        if (flag || wakes++ > 10000)
            break;
        expect(readable(fd, 20000), "a descriptor that should have told");
    }
    expect(flag, "an awaited operation");
}

static double now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void send_one(int fd, int to, int tag, const int *value)
{
    waitio_req_t req;
    expect(waitio_isend(world, to, value, sizeof *value, tag, &req) == 0, "isend");
    await(fd, &req);
}

static void *loop(void *arg)
{
    int tag = *(const int *)arg, fd = -1, in, right = (me + 1) % n, left = (me + n - 1) % n;
    waitio_req_t req;
    expect(waitio_event_open(&fd) == 0, "open");
    for (int i = 0; i < ROUNDS && failures == 0; i++) {
        int out = i;
        double began = now();
        if (me == 0)
            send_one(fd, right, tag, &out);
        expect(waitio_irecv(world, left, &in, sizeof in, tag, &req) == 0, "irecv");
        await(fd, &req);
        expect(in == i, "a message");
        if (me != 0)
            send_one(fd, right, tag, &in);
        if (tag == 0 && now() - began < quickest)
            quickest = now() - began;
        if (tag == 0 && i % 10 == 5)
            poll(NULL, 0, 1); /* long enough now and then for others to sleep */
    }
    expect(waitio_event_close(fd) == 0, "close");
    return NULL;
}

static void *waits(void *arg)
{
    char c;
    waitio_req_t req;
    (void)arg;
    waitio_irecv(world, me, &c, 1, 77, &req);
    expect(waitio_wait(&req) == 0, "a wait beside");
    return NULL;
}

/* Nothing happens: it stays quiet. Something happens: once. */
static void once(void)
{
    int fd, flag, in, out = 1;
    waitio_req_t req, send;
    expect(waitio_event_open(&fd) == 0, "open");
    expect(!readable(fd, 0), "a new descriptor");
    waitio_irecv(world, me, &in, sizeof in, 5, &req);
    waitio_event_arm(fd);
    expect(!readable(fd, 30), "a descriptor while nothing happens");
    waitio_isend(world, me, &out, sizeof out, 5, &send);
    waitio_wait(&send);
    expect(readable(fd, 10000), "a descriptor after a message to oneself");
    waitio_test(&req, &flag, WAITIO_STATUS_IGNORE);
    expect(flag, "that message");
    expect(waitio_event_arm(fd) == 0 && !readable(fd, 30), "a descriptor armed again");
    expect(waitio_event_close(fd) == 0, "close");
    expect(waitio_event_close(fd) != 0 && waitio_event_arm(fd) != 0, "a closed descriptor");
    expect(waitio_event_arm(0) == WAITIO_ERR_ARG, "arming a stranger");
    expect(waitio_event_open(NULL) == WAITIO_ERR_ARG, "open without a place");
}

static _Atomic int called;
static double wish; /* seconds between two calls */

static double idle_function(void)
{
    called++;
    return wish;
}

/* A wait that finds nothing calls the program's function as often as that wishes. */
static void calls_back(void)
{
    char c;
    int flag;
    waitio_req_t req;

    waitio_irecv(world, me, &c, 1, 78, &req);
    expect(waitio_while_waiting(idle_function) == 0, "setting a function");
    wish = 3600;
    waitio_wait_for(&req, 0.1, &flag, WAITIO_STATUS_IGNORE);
    expect(!flag && called == 1, "the calls of a function that is called once");
    wish = 0.001; /* shorter than any sleep without it */
    waitio_wait_for(&req, 0.2, &flag, WAITIO_STATUS_IGNORE);
    expect(!flag && called > 20, "the calls of a function that is called each millisecond");
    expect(waitio_while_waiting(NULL) == 0, "setting none");
    called = 0;
    waitio_wait_for(&req, 0.05, &flag, WAITIO_STATUS_IGNORE);
    expect(!flag && called == 0, "a function that was taken away");
    waitio_cancel(&req);
    waitio_wait(&req);
}

static void everybody_loops(int threads)
{
    pthread_t thread[THREADS];
    int tag[THREADS];
    for (int i = 0; i < threads; i++) {
        tag[i] = i;
        pthread_create(&thread[i], NULL, loop, &tag[i]);
    }
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
}

int main(void)
{
    pthread_t waiter;
    waitio_req_t req;
    int left_fd = -1;

    waitio_group_universe(0, &world);
    waitio_group_rank(world, &me);
    waitio_group_size(world, &n);
    if (n == 1) /* else the first message of somebody who is through with it would tell us */
        once();
    calls_back();
    everybody_loops(1);
    /* By itself the service thread drives everything when the program has been away for 60 ms: no
     * round would be quicker. */
    expect(quickest < 0.05, "the time of being told");
    everybody_loops(THREADS);
    pthread_create(&waiter, NULL, waits, NULL); /* another thread drives meanwhile */
    poll(NULL, 0, 20);
    everybody_loops(2);
    waitio_isend(world, me, "x", 1, 77, &req);
    waitio_wait(&req);
    pthread_join(waiter, NULL);
    everybody_loops(1);
    expect(waitio_event_open(&left_fd) == 0 && waitio_event_arm(left_fd) == 0, "open");
    waitio_finalize();
    expect(readable(left_fd, 0), "a descriptor after finalize");
    expect(waitio_event_close(left_fd) == 0, "close after finalize");
    if (failures == 0)
        printf("ok\n");
    return failures != 0;
}
