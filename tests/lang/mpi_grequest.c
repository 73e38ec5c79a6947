/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Generalized requests, completed by this thread and by another one, and what their functions say:
 * a program of MPI, which says the same under an MPI (test_mpi_header.py).
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#ifdef FOR_WAITIO
#include <waitio_mpi_rename.h>
#else
#include <mpi.h>
#endif

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int failures, me, n;

static void expect(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "rank %d: %s\n", me, what);
        failures++;
    }
}

/* An operation, and which of its functions were called. */
struct operation {
    int queried, freed, cancelled, complete; /* complete: what the cancel function was told */
    int answer, elements;                    /* what the query function returns and says */
    MPI_Request request;
};

static int query(void *extra, MPI_Status *status)
{
    struct operation *op = extra;

    op->queried++;
    MPI_Status_set_elements(status, MPI_INT, op->elements);
    MPI_Status_set_cancelled(status, op->cancelled);
    status->MPI_SOURCE = 12;
    status->MPI_TAG = 34;
    return op->answer;
}

static int end(void *extra)
{
    struct operation *op = extra;

    op->freed++;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    struct operation *op = extra;

    op->complete = complete;
    if (!complete) {
        op->cancelled = 1;
        MPI_Grequest_complete(op->request);
    }
    return MPI_SUCCESS;
}

static void begin(struct operation *op)
{
    memset(op, 0, sizeof *op);
    op->elements = 5;
    MPI_Grequest_start(query, end, cancel, op, &op->request);
}

static void check(const MPI_Status *status, const char *what)
{
    int count = -1;

    MPI_Get_count(status, MPI_INT, &count);
    expect(count == 5 && status->MPI_SOURCE == 12 && status->MPI_TAG == 34, what);
}

static void alone(void)
{
    struct operation op;
    MPI_Status status;
    MPI_Request copy;
    int flag = -1;

    begin(&op);
    MPI_Test(&op.request, &flag, &status);
    expect(!flag && op.queried == 0, "not complete");
    MPI_Grequest_complete(op.request);
    MPI_Request_get_status(op.request, &flag, &status);
    expect(flag && op.queried == 1 && op.freed == 0, "its status is asked");
    check(&status, "the status that was asked");
    copy = op.request;
    MPI_Wait(&copy, &status);
    expect(op.queried == 2 && op.freed == 1, "both functions were called");
    check(&status, "the status of a wait");
    MPI_Test_cancelled(&status, &flag);
    expect(!flag, "not cancelled");
    begin(&op);
    MPI_Grequest_complete(op.request);
    MPI_Wait(&op.request, MPI_STATUS_IGNORE);
    expect(op.queried == 1 && op.freed == 1, "without a status");
}

/* ---- another thread ---- */

static void nap(int ms)
{
    struct timespec t = {.tv_sec = 0, .tv_nsec = ms * 1000000L};

    nanosleep(&t, NULL);
}

static void *complete_later(void *argument)
{
    MPI_Request *request = argument;

    nap(200);
    MPI_Grequest_complete(*request);
    return NULL;
}

static double seconds(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void by_a_thread(void)
{
    struct operation op;
    MPI_Status status;
    MPI_Request copy;
    pthread_t thread;
    double wall, cpu;

    begin(&op);
    copy = op.request;
    pthread_create(&thread, NULL, complete_later, &copy);
    wall = seconds(CLOCK_MONOTONIC);
    cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
    MPI_Wait(&op.request, &status);
    wall = seconds(CLOCK_MONOTONIC) - wall;
    cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
    pthread_join(thread, NULL);
    check(&status, "completed by a thread");
    expect(op.queried == 1 && op.freed == 1 && wall > 0.15, "waited for the thread");
#ifdef FOR_WAITIO
    expect(cpu < 0.1, "a thread that waits sleeps");
    expect(wall < 5, "it is woken");
#endif
}

/* The thread completes the request when a collective is over, which the waiting main thread has to
 * move on. */
static MPI_Request awaited, collective;
static MPI_Comm other;

static void *complete_after(void *argument)
{
    (void)argument;
    MPI_Wait(&collective, MPI_STATUS_IGNORE);
    MPI_Grequest_complete(awaited);
    return NULL;
}

static void with_progress(void)
{
    static int in[70000], out[70000];
    struct operation op;
    pthread_t thread;
    int sum = n * (n + 1) / 2;

    for (int i = 0; i < 70000; i++)
        in[i] = me + 1;
    begin(&op);
    awaited = op.request;
    MPI_Iallreduce(in, out, 70000, MPI_INT, MPI_SUM, other, &collective);
    pthread_create(&thread, NULL, complete_after, NULL);
    MPI_Wait(&op.request, MPI_STATUS_IGNORE);
    pthread_join(thread, NULL);
    expect(out[0] == sum && out[69999] == sum, "a collective went on meanwhile");
}

/* ---- with others ---- */

static void mixed(void)
{
    struct operation op;
    MPI_Request requests[3], copy;
    MPI_Status status, both[3];
    pthread_t thread;
    int in = 0, out = me + 1, which = -1, flag = -1, count = -1, indices[3];

    begin(&op);
    copy = op.request;
    requests[0] = MPI_REQUEST_NULL;
    MPI_Irecv(&in, 1, MPI_INT, (me + n - 1) % n, 5, MPI_COMM_WORLD, &requests[1]);
    requests[2] = op.request;
    MPI_Testany(3, requests, &which, &flag, &status);
    expect(!flag, "none is complete");
    pthread_create(&thread, NULL, complete_later, &copy);
    MPI_Waitany(3, requests, &which, &status);
    pthread_join(thread, NULL);
    expect(which == 2 && op.freed == 1, "the first is the generalized one");
    check(&status, "its status");
    begin(&op);
    requests[2] = op.request;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(&out, 1, MPI_INT, (me + 1) % n, 5, MPI_COMM_WORLD);
    MPI_Waitany(3, requests, &which, &status);
    expect(which == 1 && in == (me + n - 1) % n + 1 && op.queried == 0, "the first is the message");
    MPI_Testall(3, requests, &flag, both);
    expect(!flag && op.queried == 0, "not all are complete");
    MPI_Grequest_complete(op.request);
    MPI_Testsome(3, requests, &count, indices, both);
    expect(count == 1 && indices[0] == 2 && op.freed == 1, "some");
    check(&both[0], "status of some");
    begin(&op);
    requests[1] = op.request;
    MPI_Grequest_complete(op.request);
    MPI_Irecv(&in, 1, MPI_INT, me, 6, MPI_COMM_WORLD, &requests[2]);
    MPI_Send(&out, 1, MPI_INT, me, 6, MPI_COMM_WORLD);
    MPI_Waitall(3, requests, both);
    expect(op.queried == 1 && op.freed == 1 && in == me + 1, "all");
    check(&both[1], "status of all");
    expect(both[2].MPI_SOURCE == me && both[2].MPI_TAG == 6, "status of the message");
}

static void ends_early(void)
{
    struct operation op;
    MPI_Status status;
    MPI_Request copy;
    int flag = -1;

    begin(&op);
    MPI_Cancel(&op.request);
    MPI_Wait(&op.request, &status);
    MPI_Test_cancelled(&status, &flag);
    expect(flag && !op.complete && op.freed == 1, "a cancelled operation");
    begin(&op);
    MPI_Grequest_complete(op.request);
    MPI_Cancel(&op.request);
    MPI_Wait(&op.request, &status);
    MPI_Test_cancelled(&status, &flag);
    expect(!flag && op.complete, "cancelled when it was complete");
    begin(&op);
    copy = op.request;
    MPI_Request_free(&op.request);
    expect(op.freed == 0, "freed early");
    MPI_Grequest_complete(copy);
    expect(op.freed == 1 && op.queried == 0, "freed before it was complete");
    begin(&op);
    MPI_Grequest_complete(op.request);
    MPI_Request_free(&op.request);
    expect(op.freed == 1 && op.queried == 0, "freed when it was complete");
}

/* One thread completes requests while this one frees, tests or waits for them. */
enum { RACES = 3000 };
static struct operation racer[RACES];
static MPI_Request racing[RACES];
static int begun; /* changed atomically */

static void *complete_all(void *argument)
{
    for (int i = 0; i < RACES; i++) {
        while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) <= i)
            sched_yield();
        MPI_Grequest_complete(racing[i]);
    }
    return argument;
}

static void races(void)
{
    pthread_t thread;
    int flag, good = 1;

    pthread_create(&thread, NULL, complete_all, NULL);
    for (int i = 0; i < RACES; i++) {
        begin(&racer[i]);
        racing[i] = racer[i].request;
        __atomic_store_n(&begun, i + 1, __ATOMIC_RELEASE);
        if (i % 3 == 0)
            MPI_Request_free(&racer[i].request);
        else if (i % 3 == 1)
            MPI_Wait(&racer[i].request, MPI_STATUS_IGNORE);
        for (flag = i % 3 < 2; !flag;)
            MPI_Test(&racer[i].request, &flag, MPI_STATUS_IGNORE);
    }
    pthread_join(thread, NULL);
    for (int i = 0; i < RACES; i++)
        good &= racer[i].freed == 1 && racer[i].queried == (i % 3 != 0) &&
                racer[i].request == MPI_REQUEST_NULL;
    expect(good, "completed by one thread, ended by another");
}

static void errors(void)
{
    struct operation op, fine;
    MPI_Request both[2];
    MPI_Status statuses[2];
    int rc;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    begin(&op);
    op.answer = MPI_ERR_OTHER;
    MPI_Grequest_complete(op.request);
    rc = MPI_Wait(&op.request, MPI_STATUS_IGNORE);
    expect(rc != MPI_SUCCESS && op.freed == 1, "the error of a query function");
    begin(&op);
    begin(&fine);
    op.answer = MPI_ERR_OTHER;
    MPI_Grequest_complete(op.request);
    MPI_Grequest_complete(fine.request);
    both[0] = fine.request;
    both[1] = op.request;
    rc = MPI_Waitall(2, both, statuses);
    expect(rc != MPI_SUCCESS && statuses[0].MPI_ERROR == MPI_SUCCESS &&
               statuses[1].MPI_ERROR != MPI_SUCCESS,
           "the error of one of two");
    expect(op.freed == 1 && fine.freed == 1, "both have ended");
#ifdef FOR_WAITIO
    expect(MPI_Grequest_complete(MPI_REQUEST_NULL) == MPI_ERR_REQUEST, "none to complete");
    begin(&op);
    both[0] = op.request;
    expect(MPI_Grequest_complete(op.request) == 0, "completed once");
    expect(MPI_Grequest_complete(op.request) == MPI_ERR_REQUEST, "completed twice");
    MPI_Wait(&op.request, MPI_STATUS_IGNORE);
    expect(MPI_Grequest_complete(both[0]) == MPI_ERR_REQUEST, "completed when it had ended");
    expect(MPI_Grequest_start(NULL, end, cancel, NULL, both) == MPI_ERR_ARG, "no query function");
    expect(MPI_Status_set_elements(statuses, MPI_INT, -1) == MPI_ERR_COUNT, "less than none");
#endif
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* ---- statuses ---- */

/* Any number of basic elements of a type with members of several sizes. */
static void elements(void)
{
    static const int lengths[] = {3, 1, 2};
    static const MPI_Aint places[] = {0, 16, 24};
    MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR}, inner, type;
    MPI_Status status;
    MPI_Count wide = -1;
    int count = -1, whole = -1;

    memset(&status, 0, sizeof status);
    MPI_Type_create_struct(3, lengths, places, types, &inner);
    types[0] = inner;
    types[1] = MPI_SHORT;
    MPI_Type_create_struct(2, (int[]){4, 3}, (MPI_Aint[]){0, 200}, types, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 100; i++) {
        MPI_Status_set_elements(&status, type, i);
        MPI_Get_elements(&status, type, &count);
        MPI_Get_count(&status, type, &whole);
        expect(count == i, "elements that were set");
        expect(whole == (i % 27 == 0 ? i / 27 : MPI_UNDEFINED), "whole ones of them");
    }
    MPI_Status_set_elements_x(&status, MPI_INT, 5000000000);
    MPI_Get_elements_x(&status, MPI_INT, &wide);
    expect(wide == 5000000000, "many elements");
    MPI_Type_free(&inner);
    MPI_Type_free(&type);
}

/* Finalize ends a wait for a request that nobody completes. */
#ifdef FOR_WAITIO
static struct operation left;
static int ended_with;

static void *wait_in_vain(void *argument)
{
    (void)argument;
    ended_with = MPI_Wait(&left.request, MPI_STATUS_IGNORE);
    return NULL;
}
#endif

static void finalize(void)
{
#ifdef FOR_WAITIO
    pthread_t thread;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    begin(&left);
    pthread_create(&thread, NULL, wait_in_vain, NULL);
    nap(100);
    MPI_Finalize();
    pthread_join(thread, NULL);
    expect(ended_with != 0, "a wait that nobody ends but Finalize");
#else
    MPI_Finalize();
#endif
}

int main(void)
{
    int provided;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    alone();
    by_a_thread();
    with_progress();
    mixed();
    ends_early();
    races();
    errors();
    elements();
    MPI_Comm_free(&other);
    finalize();
    if (failures == 0)
        printf("ok\n");
    return failures != 0;
}
