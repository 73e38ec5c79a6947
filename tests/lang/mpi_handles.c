/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests as programs of MPI use them: initial values, comparing with MPI_REQUEST_NULL, copies,
 * arrays with null requests, many at a time, in many threads. A program of MPI, which says the same
 * under an MPI (test_mpi_header.py).
 */
#ifdef FOR_WAITIO
#include <waitio_mpi_rename.h>
#else
#include <mpi.h>
#endif

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static int failures, me, n, right, left;

static void expect(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "rank %d: %s\n", me, what);
        failures++;
    }
}

static MPI_Request one = MPI_REQUEST_NULL;
static MPI_Request pair[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
static struct {
    int tag;
    MPI_Request sent;
} record = {7, MPI_REQUEST_NULL};
static const MPI_Request nothing = MPI_REQUEST_NULL;

static MPI_Comm world = MPI_COMM_WORLD, both[] = {MPI_COMM_SELF, MPI_COMM_NULL};
static struct {
    MPI_Group none;
    MPI_Comm comm;
} groups = {MPI_GROUP_EMPTY, MPI_COMM_WORLD};

static void constant_groups(void)
{
    MPI_Group whole;
    int size = -1, rank = -1, result = -1;

#ifdef FOR_WAITIO
    expect(MPI_Comm_c2f(both[0]) == WAITIO_MPI_DEFTAG + 2, "Fortran's constant, before any use");
#endif
    MPI_Comm_size(both[0], &size);
    expect(size == 1, "alone");
    MPI_Group_size(groups.none, &size);
    expect(size == 0, "nobody");
    MPI_Comm_rank(groups.comm, &rank);
    expect(rank == me && world == MPI_COMM_WORLD && world != both[0], "the world");
    expect(both[1] == MPI_COMM_NULL, "no communicator");
    MPI_Comm_compare(world, MPI_COMM_WORLD, &result);
    expect(result == MPI_IDENT, "compared");
    MPI_Comm_group(world, &whole);
    MPI_Group_compare(whole, groups.none, &result);
    expect(result == MPI_UNEQUAL, "groups compared");
    MPI_Group_free(&whole);
    expect(MPI_Comm_f2c(MPI_Comm_c2f(world)) == MPI_COMM_WORLD, "to Fortran and back");
}

static void initial_values(void)
{
    MPI_Status status;
    MPI_Request copy;
    int flag = 0, in = -1, out = me;

    expect(one == MPI_REQUEST_NULL && pair[0] == one && pair[1] == nothing, "initial values");
    expect(record.sent == MPI_REQUEST_NULL, "in a structure");
    MPI_Test(&one, &flag, &status);
    expect(flag && one == MPI_REQUEST_NULL, "a null request is complete");
    MPI_Irecv(&in, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &one);
    MPI_Isend(&out, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &record.sent);
    expect(one != MPI_REQUEST_NULL && record.sent != MPI_REQUEST_NULL, "started");
    expect(one != record.sent, "two requests");
    copy = one;
    MPI_Wait(&copy, &status);
    expect(copy == MPI_REQUEST_NULL && in == left && status.MPI_SOURCE == left, "by a copy");
    MPI_Wait(&record.sent, MPI_STATUS_IGNORE);
    expect(record.sent == MPI_REQUEST_NULL, "sent");
    one = MPI_REQUEST_NULL;
}

/* As halo exchanges do it: null requests where there is no neighbour, and tests in a loop. */
static void loops(void)
{
    MPI_Request all[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[4];
    int in = -1, out = 10 + me, flag, done = 0, which, open = 0;

    MPI_Irecv(&in, 1, MPI_INT, left, 2, MPI_COMM_WORLD, &all[1]);
    MPI_Isend(&out, 1, MPI_INT, right, 2, MPI_COMM_WORLD, &all[3]);
    for (int i = 0; i < 4; i++)
        open += all[i] != MPI_REQUEST_NULL;
    expect(open == 2, "two of four");
    MPI_Waitall(4, all, statuses);
    for (int i = 0; i < 4; i++)
        expect(all[i] == MPI_REQUEST_NULL, "all are null");
    expect(in == 10 + left && statuses[1].MPI_SOURCE == left, "received");
    MPI_Irecv(&in, 1, MPI_INT, left, 3, MPI_COMM_WORLD, &one);
    MPI_Issend(&out, 1, MPI_INT, right, 3, MPI_COMM_WORLD, &pair[0]);
    while (one != MPI_REQUEST_NULL)
        MPI_Test(&one, &flag, MPI_STATUS_IGNORE);
    while (pair[0] != MPI_REQUEST_NULL) {
        MPI_Waitany(2, pair, &which, MPI_STATUS_IGNORE);
        done++;
    }
    expect(done == 1 && which == 0, "one by one");
    MPI_Waitany(2, pair, &which, MPI_STATUS_IGNORE);
    expect(which == MPI_UNDEFINED, "none is left");
    MPI_Testall(2, pair, &flag, MPI_STATUSES_IGNORE);
    expect(flag, "all of none");
}

static void kinds(void)
{
    MPI_Request r = MPI_REQUEST_NULL, sum = MPI_REQUEST_NULL, dup;
    MPI_Comm other;
    MPI_Message message;
    MPI_Status status;
    int in = -1, out = me + 1, total = 0, indices[3], count, flag;

    MPI_Iallreduce(&out, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &sum);
    expect(sum != MPI_REQUEST_NULL, "a collective");
    MPI_Wait(&sum, MPI_STATUS_IGNORE);
    expect(sum == MPI_REQUEST_NULL && total == n * (n + 1) / 2, "its sum");
    MPI_Comm_idup(MPI_COMM_WORLD, &other, &dup);
    MPI_Wait(&dup, MPI_STATUS_IGNORE);
    expect(dup == MPI_REQUEST_NULL, "a duplicate");
    MPI_Recv_init(&in, 1, MPI_INT, left, 4, other, &pair[0]);
    MPI_Send_init(&out, 1, MPI_INT, right, 4, other, &pair[1]);
    for (int i = 0; i < 3; i++) {
        out = 100 * i + me;
        MPI_Startall(2, pair);
        MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
        expect(in == 100 * i + left, "persistent");
        expect(pair[0] != MPI_REQUEST_NULL && pair[1] != MPI_REQUEST_NULL, "they stay");
    }
    MPI_Start(&pair[0]);
    MPI_Cancel(&pair[0]);
    MPI_Wait(&pair[0], &status);
    MPI_Test_cancelled(&status, &flag);
    expect(flag, "cancelled");
    MPI_Request_free(&pair[0]);
    MPI_Request_free(&pair[1]);
    expect(pair[0] == MPI_REQUEST_NULL && pair[1] == MPI_REQUEST_NULL, "freed");
    MPI_Isend(&out, 1, MPI_INT, me, 5, other, &r);
    MPI_Mprobe(me, 5, other, &message, &status);
    MPI_Imrecv(&in, 1, MPI_INT, &message, &pair[1]);
    MPI_Wait(&pair[1], MPI_STATUS_IGNORE);
    expect(in == out && pair[1] == MPI_REQUEST_NULL, "a matched probe");
    pair[1] = r;
    MPI_Waitsome(2, pair, &count, indices, MPI_STATUSES_IGNORE);
    expect(count == 1 && indices[0] == 1 && pair[1] == MPI_REQUEST_NULL, "some");
    MPI_Irecv(&in, 1, MPI_INT, MPI_PROC_NULL, 0, other, &r);
    MPI_Request_get_status(r, &flag, &status);
    expect(flag && r != MPI_REQUEST_NULL, "asked only");
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Comm_free(&other);
}

/* More than the table has room for at first, in any order. */
enum { MANY = 1500 };

static void many(void)
{
    static MPI_Request in[MANY], out[MANY];
    static int got[MANY], given[MANY];

    for (int i = 0; i < MANY; i++) {
        given[i] = me * MANY + i;
        got[i] = -1;
        MPI_Irecv(&got[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &in[i]);
    }
    for (int i = MANY - 1; i >= 0; i--)
        MPI_Isend(&given[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &out[i]);
    for (int i = 0; i < MANY; i += 3)
        MPI_Wait(&in[i], MPI_STATUS_IGNORE);
    MPI_Waitall(MANY, in, MPI_STATUSES_IGNORE);
    MPI_Waitall(MANY, out, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; i++)
        expect(got[i] == left * MANY + i && in[i] == MPI_REQUEST_NULL && out[i] == MPI_REQUEST_NULL,
               "one of many");
}

enum { THREADS = 6, ROUNDS = 400 };

static void *worker(void *argument)
{
    int tag = 1000 + *(int *)argument;

    for (int i = 0; i < ROUNDS; i++) {
        MPI_Request r[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        int in = -1, out = i, which = -1;

        MPI_Irecv(&in, 1, MPI_INT, me, tag, MPI_COMM_WORLD, &r[0]);
        MPI_Isend(&out, 1, MPI_INT, me, tag, MPI_COMM_WORLD, &r[2]);
        MPI_Waitany(3, r, &which, MPI_STATUS_IGNORE);
        MPI_Wait(&r[2 - which], MPI_STATUS_IGNORE);
        if (in != i || r[0] != MPI_REQUEST_NULL || r[2] != MPI_REQUEST_NULL)
            return argument;
    }
    return NULL;
}

static void in_threads(void)
{
    pthread_t thread[THREADS];
    int tag[THREADS];
    void *bad;

    for (int i = 0; i < THREADS; i++) {
        tag[i] = i;
        pthread_create(&thread[i], NULL, worker, &tag[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], &bad);
        expect(bad == NULL, "a thread with its own requests");
    }
}

static void between_languages(void)
{
    MPI_Fint number;
    MPI_Request r;
    int in = -1, out = me;

    MPI_Irecv(&in, 1, MPI_INT, me, 6, MPI_COMM_WORLD, &r);
    number = MPI_Request_c2f(r);
    expect(number != MPI_Request_c2f(MPI_REQUEST_NULL), "numbers of Fortran");
    MPI_Send(&out, 1, MPI_INT, me, 6, MPI_COMM_WORLD);
    r = MPI_Request_f2c(number);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    expect(in == me && r == MPI_REQUEST_NULL, "back again");
    expect(MPI_Request_f2c(MPI_Request_c2f(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL, "null");
}

/* A request that has ended is refused, also when its place is in use again. */
static void stale(void)
{
#ifdef FOR_WAITIO
    MPI_Request r, copy, next[2];
    int in = -1, out = me, index, flag;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Irecv(&in, 1, MPI_INT, me, 7, MPI_COMM_WORLD, &r);
    copy = r;
    MPI_Send(&out, 1, MPI_INT, me, 7, MPI_COMM_WORLD);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    expect(MPI_Wait(&copy, MPI_STATUS_IGNORE) == MPI_ERR_REQUEST, "a copy that is stale");
    MPI_Irecv(&in, 1, MPI_INT, me, 8, MPI_COMM_WORLD, &r);
    expect(MPI_Test(&copy, &flag, MPI_STATUS_IGNORE) == MPI_ERR_REQUEST, "its place is in use");
    next[0] = copy;
    next[1] = MPI_REQUEST_NULL;
    expect(MPI_Testany(2, next, &index, &flag, MPI_STATUS_IGNORE) == MPI_ERR_REQUEST,
           "in an array");
    copy = 123456;
    expect(MPI_Cancel(&copy) == MPI_ERR_REQUEST, "a number of nobody");
    copy = -5;
    expect(MPI_Wait(&copy, MPI_STATUS_IGNORE) == MPI_ERR_REQUEST, "less than none");
    expect(MPI_Wait(NULL, MPI_STATUS_IGNORE) != 0, "no place for a request");
    expect(MPI_Irecv(&in, 1, MPI_INT, me, 8, MPI_COMM_WORLD, NULL) == MPI_ERR_ARG, "none to start");
    expect(MPI_Waitall(1, NULL, MPI_STATUSES_IGNORE) == MPI_ERR_ARG, "no array");
    expect(MPI_Waitall(-1, next, MPI_STATUSES_IGNORE) != 0, "a negative count");
    expect(MPI_Irecv(&in, 1, MPI_INT, n, 8, MPI_COMM_WORLD, &next[1]) != 0 &&
               next[1] == MPI_REQUEST_NULL,
           "a start that failed");
    MPI_Cancel(&r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    expect(MPI_Comm_free(&both[0]) != 0 && both[0] == MPI_COMM_SELF, "a constant is not freed");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
#endif
}

int main(void)
{
    int provided;

#ifdef FOR_WAITIO
    MPI_Comm_rank(world, &me); /* the first call joins, with a constant, too */
#endif
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    right = (me + 1) % n;
    left = (me + n - 1) % n;
    constant_groups();
    initial_values();
    loops();
    kinds();
    many();
    in_threads();
    between_languages();
    stale();
    MPI_Finalize();
    if (failures == 0)
        printf("ok\n");
    return failures != 0;
}
