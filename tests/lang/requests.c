/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of types with holes in every way to send, receive and complete them: blocking, started,
 * persistent, probed, truncated, cancelled, freed early, mixed with plain ones in one array.
 */
#include <stdio.h>
#include <string.h>
#include <waitio_mpi.h>

enum { ROWS = 20, COLS = 30 };

static int failures, me, n, right, left;
static WAITIO_MPI_Datatype column; /* of a ROWS x COLS matrix, extent one element */
static WAITIO_MPI_Comm world;

static void expect(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "requests: rank %d: %s\n", me, what);
        failures++;
    }
}

typedef double matrix[ROWS][COLS];

static double value(int rank, int i, int j)
{
    return rank * 10000 + i * 100 + j;
}

static void fill(matrix m)
{
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++)
            m[i][j] = value(me, i, j);
}

/* Columns [from, from + count) came from @p rank's columns @p theirs; the rest is zero. */
static void check(matrix m, int rank, int theirs, int from, int count, const char *what)
{
    int good = 1;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++)
            good &=
                m[i][j] == (j >= from && j < from + count ? value(rank, i, theirs + j - from) : 0);
    expect(good, what);
}

static void blocking(void)
{
    matrix out, in;
    WAITIO_MPI_Status st;
    int count = -1, elements = -1;

    fill(out);
    memset(in, 0, sizeof in);
    WAITIO_MPI_Sendrecv(&out[0][3], 4, column, right, 1, &in[0][7], 5, column, left, 1, world, &st);
    check(in, left, 3, 7, 4, "four columns");
    WAITIO_MPI_Get_count(&st, column, &count);
    WAITIO_MPI_Get_elements(&st, column, &elements);
    expect(count == 4 && elements == 4 * ROWS, "count of columns");
    expect(st.MPI_SOURCE == left && st.MPI_TAG == 1, "status of columns");
    /* A column arrives as a row: equal signatures, other places. */
    memset(in, 0, sizeof in);
    WAITIO_MPI_Send(&out[0][0], 1, column, me, 2, world);
    WAITIO_MPI_Recv(&in[1][0], ROWS, WAITIO_MPI_DOUBLE, me, 2, world, WAITIO_MPI_STATUS_IGNORE);
    expect(in[1][5] == value(me, 5, 0) && in[1][ROWS] == 0, "column as a row");
    /* Part of a column. */
    WAITIO_MPI_Send(&out[0][0], 7, WAITIO_MPI_DOUBLE, me, 3, world);
    WAITIO_MPI_Recv(&in[0][9], 2, column, me, 3, world, &st);
    WAITIO_MPI_Get_count(&st, column, &count);
    WAITIO_MPI_Get_elements(&st, column, &elements);
    expect(count == WAITIO_MPI_UNDEFINED && elements == 7, "part of a column");
    expect(in[6][9] == value(me, 0, 6) && in[7][9] == 0, "data of a part");
    fill(out);
    WAITIO_MPI_Sendrecv_replace(&out[0][2], 3, column, right, 4, left, 4, world, &st);
    expect(out[5][2] == value(left, 5, 2) && out[5][4] == value(left, 5, 4) &&
               out[5][1] == value(me, 5, 1),
           "replaced columns");
}

static void one_by_one(WAITIO_MPI_Request req[])
{
    for (int i = 0; i < 6; i++)
        WAITIO_MPI_Wait(&req[i], WAITIO_MPI_STATUS_IGNORE);
}

/* Complete six requests, one of them null, in one of seven ways. */
static void finish(int how, WAITIO_MPI_Request req[])
{
    int flag = 0, done = 0, index, indices[6], some;
    WAITIO_MPI_Status st[6];

    if (how == 0) {
        WAITIO_MPI_Waitall(6, req, st);
        expect(st[1].MPI_SOURCE == left && st[0].MPI_TAG == 10, "statuses");
    }
    while (how == 1 && !flag)
        WAITIO_MPI_Testall(6, req, &flag, st);
    for (done = 0; how == 2 && done < 5; done++)
        WAITIO_MPI_Waitany(6, req, &index, &st[0]);
    if (how == 2) {
        WAITIO_MPI_Waitany(6, req, &index, &st[0]);
        expect(index == WAITIO_MPI_UNDEFINED, "nothing left");
    }
    for (done = 0; how == 3 && done < 5; done += flag)
        WAITIO_MPI_Testany(6, req, &index, &flag, &st[0]);
    for (done = 0; how == 4 && done < 5; done += some)
        WAITIO_MPI_Testsome(6, req, &some, indices, st);
    for (done = 0; how == 5 && done < 5; done += some)
        WAITIO_MPI_Waitsome(6, req, &some, indices, st);
    if (how == 6)
        one_by_one(req);
}

/* Plain messages, columns and collectives in one array, completed in several ways. */
static void mixed(int how)
{
    matrix out, in;
    int a = me, b = -1, sum = 0, one = 1;
    WAITIO_MPI_Request req[6];

    fill(out);
    memset(in, 0, sizeof in);
    WAITIO_MPI_Irecv(&b, 1, WAITIO_MPI_INT, left, 10, world, &req[0]);
    WAITIO_MPI_Irecv(&in[0][1], 2, column, WAITIO_MPI_ANY_SOURCE, 11, world, &req[1]);
    req[2] = WAITIO_MPI_REQUEST_NULL;
    WAITIO_MPI_Iallreduce(&one, &sum, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, world, &req[3]);
    WAITIO_MPI_Isend(&out[0][5], 2, column, right, 11, world, &req[4]);
    WAITIO_MPI_Isend(&a, 1, WAITIO_MPI_INT, right, 10, world, &req[5]);
    finish(how, req);
    expect(b == left && sum == n, "plain message and sum");
    check(in, left, 5, 1, 2, "columns among others");
}

static void persistent(void)
{
    matrix out, in;
    int index = 0, flag = 0;
    WAITIO_MPI_Request req[2];

    fill(out);
    WAITIO_MPI_Send_init(&out[0][8], 1, column, right, 20, world, &req[0]);
    WAITIO_MPI_Recv_init(&in[0][0], 1, column, left, 20, world, &req[1]);
    for (int round = 0; round < 5; round++) {
        fill(out);
        out[3][8] += round;
        memset(in, 0, sizeof in);
        WAITIO_MPI_Startall(2, req);
        WAITIO_MPI_Waitall(2, req, WAITIO_MPI_STATUSES_IGNORE);
        expect(in[3][0] == value(left, 3, 8) + round, "persistent column");
        in[3][0] -= round;
        check(in, left, 8, 0, 1, "persistent columns");
    }
    WAITIO_MPI_Waitany(2, req, &index, WAITIO_MPI_STATUS_IGNORE);
    expect(index == WAITIO_MPI_UNDEFINED, "waitany among inactive requests");
    WAITIO_MPI_Testall(2, req, &flag, WAITIO_MPI_STATUSES_IGNORE);
    expect(flag, "inactive requests are complete");
    WAITIO_MPI_Request_free(&req[0]);
    WAITIO_MPI_Request_free(&req[1]);
}

/* Everybody sends long messages to everybody before anybody receives. */
static void buffered(void)
{
    enum { LONG = 300000 };
    static double out[LONG], in[LONG];
    char room[8], *back = NULL;
    int size = 0, good = 1;
    WAITIO_MPI_Request req;
    WAITIO_MPI_Datatype holes;

    WAITIO_MPI_Type_vector(LONG / 2, 1, 2, WAITIO_MPI_DOUBLE, &holes);
    WAITIO_MPI_Type_commit(&holes);
    WAITIO_MPI_Buffer_attach(room, sizeof room);
    for (int i = 0; i < LONG; i++)
        out[i] = me + i;
    for (int p = 0; p < n; p++) {
        WAITIO_MPI_Bsend(out, LONG, WAITIO_MPI_DOUBLE, p, 60, world);
        WAITIO_MPI_Ibsend(out, 1, holes, p, 61, world, &req);
        WAITIO_MPI_Wait(&req, WAITIO_MPI_STATUS_IGNORE);
        WAITIO_MPI_Isend(out, 1, holes, p, 62, world, &req);
        WAITIO_MPI_Request_free(&req); /* must not wait for the receive, which comes later */
    }
    for (int p = 0; p < n; p++)
        for (int tag = 60; tag < 63; tag++) {
            int count = tag == 60 ? LONG : LONG / 2, step = tag == 60 ? 1 : 2;
            WAITIO_MPI_Recv(in, count, WAITIO_MPI_DOUBLE, p, tag, world, WAITIO_MPI_STATUS_IGNORE);
            for (int i = 0; i < count; i++)
                good &= in[i] == p + i * step;
        }
    expect(good, "buffered messages");
    WAITIO_MPI_Buffer_detach(&back, &size);
    expect(back == room && size == (int)sizeof room, "detached buffer");
    WAITIO_MPI_Type_free(&holes);
}

static void ended_early(void)
{
    matrix out, in;
    WAITIO_MPI_Request req;
    WAITIO_MPI_Status st;
    WAITIO_MPI_Datatype mine;
    int flag = 0, gone;

    fill(out);
    memset(in, 0, sizeof in);
    WAITIO_MPI_Irecv(in, 1, column, me, 30, world, &req);
    WAITIO_MPI_Cancel(&req);
    WAITIO_MPI_Wait(&req, &st);
    WAITIO_MPI_Test_cancelled(&st, &flag);
    expect(flag, "a column's receive was not cancelled");
    /* The type goes while the message is under way. */
    WAITIO_MPI_Type_dup(column, &mine);
    WAITIO_MPI_Irecv(in, 1, mine, left, 31, world, &req);
    WAITIO_MPI_Type_free(&mine);
    WAITIO_MPI_Type_contiguous(3, WAITIO_MPI_INT, &mine); /* and its memory is used again */
    WAITIO_MPI_Send(out, 1, column, right, 31, world);
    WAITIO_MPI_Wait(&req, &st);
    WAITIO_MPI_Type_free(&mine);
    check(in, left, 0, 0, 1, "a type freed early");
    WAITIO_MPI_Isend(&out[0][1], 1, column, right, 32, world, &req);
    WAITIO_MPI_Request_free(&req);
    WAITIO_MPI_Probe(left, 32, world, &st);
    WAITIO_MPI_Get_count(&st, column, &gone);
    expect(gone == 1, "probed column");
    memset(in, 0, sizeof in);
    WAITIO_MPI_Recv(in, 1, column, left, 32, world, &st);
    check(in, left, 1, 0, 1, "a send whose request was freed");
    WAITIO_MPI_Irecv(in, 3, column, WAITIO_MPI_PROC_NULL, 33, world, &req);
    WAITIO_MPI_Wait(&req, &st);
}

/* Rank 0 is in the middle of a broadcast while it waits for something that depends on it. */
static void progress(void)
{
    int data[1000], root = n - 1, got = -1;
    WAITIO_MPI_Request req;

    for (int i = 0; i < 1000; i++)
        data[i] = me == root ? i : -1;
    for (int round = 0; round < 20; round++) {
        WAITIO_MPI_Ibcast(data, 1000, WAITIO_MPI_INT, (root + round) % n, world, &req);
        if (me == 0) /* blocked in a receive, not in the broadcast */
            WAITIO_MPI_Recv(&got, 1, WAITIO_MPI_INT, root, 40, world, WAITIO_MPI_STATUS_IGNORE);
        else
            WAITIO_MPI_Wait(&req, WAITIO_MPI_STATUS_IGNORE);
        if (me == root && me != 0)
            WAITIO_MPI_Send(&round, 1, WAITIO_MPI_INT, 0, 40, world);
        if (n == 1)
            got = round;
        if (me == 0) {
            WAITIO_MPI_Wait(&req, WAITIO_MPI_STATUS_IGNORE);
            expect(got == round, "message beside a broadcast");
        }
        expect(data[999] == 999, "broadcast beside a message");
    }
}

/* Rank 0 blocks in a receive whose message is sent when a barrier is complete that needs rank 0. */
static void progress_of_a_barrier(void)
{
    int got = -1, root = n - 1;
    WAITIO_MPI_Request req;

    for (int round = 0; round < 20; round++) {
        WAITIO_MPI_Ibarrier(world, &req);
        if (me == 0) {
            WAITIO_MPI_Recv(&got, 1, WAITIO_MPI_INT, root, 41, world, WAITIO_MPI_STATUS_IGNORE);
            expect(got == round, "message after a barrier");
        }
        WAITIO_MPI_Wait(&req, WAITIO_MPI_STATUS_IGNORE);
        if (me == root)
            WAITIO_MPI_Send(&round, 1, WAITIO_MPI_INT, 0, 41, world);
    }
}

/* A synchronous send is not complete before the receive, whatever its size; a plain short one is.
 */
static void synchronous(int count, int to)
{
    static char out[3000000], in[3000000];
    WAITIO_MPI_Request req, persistent;
    int flag = 1, tag = 50;

    out[0] = (char)(me + 1);
    WAITIO_MPI_Issend(out, count, WAITIO_MPI_CHAR, to, tag, world, &req);
    WAITIO_MPI_Ssend_init(out, count, WAITIO_MPI_CHAR, to, tag + 1, world, &persistent);
    WAITIO_MPI_Start(&persistent);
    WAITIO_MPI_Barrier(world); /* it has had the time to arrive */
    for (int i = 0; i < 100; i++) {
        WAITIO_MPI_Test(&req, &flag, WAITIO_MPI_STATUS_IGNORE);
        expect(!flag, "a synchronous send was complete too early");
        if (flag)
            return;
    }
    WAITIO_MPI_Barrier(world);
    WAITIO_MPI_Recv(in, count, WAITIO_MPI_CHAR, WAITIO_MPI_ANY_SOURCE, tag, world,
                    WAITIO_MPI_STATUS_IGNORE);
    WAITIO_MPI_Recv(in, count, WAITIO_MPI_CHAR, WAITIO_MPI_ANY_SOURCE, tag + 1, world,
                    WAITIO_MPI_STATUS_IGNORE);
    expect(count == 0 || in[0] == (char)((to == me ? me : left) + 1), "a synchronous message");
    WAITIO_MPI_Wait(&req, WAITIO_MPI_STATUS_IGNORE);
    WAITIO_MPI_Wait(&persistent, WAITIO_MPI_STATUS_IGNORE);
    WAITIO_MPI_Request_free(&persistent);
}

/* A send that waits for its receive can be withdrawn, and its wait ends. */
static void withdrawn(int count, int to)
{
    static char out[3000000], in[3000000];
    WAITIO_MPI_Request req[2], persistent;
    WAITIO_MPI_Status st[2];
    int flag = 0, tag = 70;

    out[0] = 1;
    WAITIO_MPI_Ssend_init(out, count, WAITIO_MPI_CHAR, to, tag, world, &persistent);
    WAITIO_MPI_Start(&persistent);
    WAITIO_MPI_Issend(out, count, WAITIO_MPI_CHAR, to, tag, world, &req[0]);
    WAITIO_MPI_Cancel(&persistent);
    WAITIO_MPI_Cancel(&req[0]);
    WAITIO_MPI_Wait(&persistent, &st[0]);
    WAITIO_MPI_Test_cancelled(&st[0], &flag);
    expect(flag, "a persistent send was not cancelled");
    WAITIO_MPI_Wait(&req[0], &st[0]);
    WAITIO_MPI_Test_cancelled(&st[0], &flag);
    expect(flag, "a send was not cancelled");
    WAITIO_MPI_Barrier(world);
    WAITIO_MPI_Iprobe(WAITIO_MPI_ANY_SOURCE, tag, world, &flag, WAITIO_MPI_STATUS_IGNORE);
    expect(!flag, "a cancelled message is there");

    /* Where a receive waits, the message arrives. */
    WAITIO_MPI_Irecv(in, count, WAITIO_MPI_CHAR, WAITIO_MPI_ANY_SOURCE, tag, world, &req[0]);
    WAITIO_MPI_Barrier(world);
    WAITIO_MPI_Start(&persistent);
    WAITIO_MPI_Cancel(&persistent);
    WAITIO_MPI_Wait(&persistent, &st[1]);
    WAITIO_MPI_Test_cancelled(&st[1], &flag);
    expect(!flag, "a send that a receive had matched was cancelled");
    WAITIO_MPI_Wait(&req[0], &st[0]);
    expect(count == 0 || in[0] == 1, "a send that could not be cancelled any more");
    WAITIO_MPI_Request_free(&persistent);
    WAITIO_MPI_Barrier(world);
}

/* As bindings wait: in slices, and still matching the blocking calls of the others. */
static void slices(void)
{
    WAITIO_MPI_Request reqs[2];
    waitio_status_t st;
    int in[2] = {0}, one = me, sum[3] = {0}, index = 7, flag = 7, rounds = 0;

    WAITIO_MPI_Irecv(&in[0], 1, WAITIO_MPI_INT, left, 60, world, &reqs[0]);
    reqs[1] = WAITIO_MPI_REQUEST_NULL;
    waitio_mpi_waitany_for(2, reqs, 0.01, &index, &flag, &st);
    expect(!flag && index == WAITIO_MPI_UNDEFINED, "a wait for nothing is over");
    for (int i = 0; i < 3; i++) {
        if ((me + i) % 2 == 0) {
            WAITIO_MPI_Allreduce(&one, &sum[i], 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, world);
            continue;
        }
        waitio_mpi_blocking_next();
        WAITIO_MPI_Iallreduce(&one, &sum[i], 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, world, &reqs[1]);
        for (flag = 0; !flag && rounds < 10000; rounds++)
            waitio_mpi_waitany_for(1, &reqs[1], 0.005, &index, &flag, &st);
        expect(flag && index == 0, "a started collective beside blocking ones");
    }
    for (int i = 0; i < 3; i++)
        expect(sum[i] == n * (n - 1) / 2, "a sum of started and blocking calls");
    WAITIO_MPI_Send(&one, 1, WAITIO_MPI_INT, right, 60, world);
    waitio_mpi_waitany_for(2, reqs, 60.0, &index, &flag, &st);
    expect(flag && index == 0 && st.source == left && in[0] == left, "waitany_for");
    waitio_mpi_waitany_for(2, reqs, 60.0, &index, &flag, &st);
    expect(flag && index == WAITIO_MPI_UNDEFINED, "waitany_for of null requests");
}

/* A receive that is freed while it is active is not waited for, and its data arrives: at the latest
 * with what the program learns afterwards. */
static void freed_receives(void)
{
    matrix out, in, late;
    WAITIO_MPI_Request req[2], never;
    int token = 0, got = 0;

    fill(out);
    memset(in, 0, sizeof in);
    memset(late, 0, sizeof late);
    WAITIO_MPI_Irecv(&in[0][7], 2, column, left, 21, world, &req[0]);
    WAITIO_MPI_Recv_init(&late[0][1], 1, column, left, 22, world, &req[1]);
    WAITIO_MPI_Start(&req[1]);
    WAITIO_MPI_Irecv(&late[0][5], 1, column, left, 29, world, &never);
    for (int i = 0; i < 2; i++)
        WAITIO_MPI_Request_free(&req[i]);
    WAITIO_MPI_Request_free(&never);
    expect(req[0].opaque[0] == 0 && req[1].opaque[0] == 0, "freed handles are null");
    WAITIO_MPI_Send(&out[0][3], 2, column, right, 21, world);
    WAITIO_MPI_Send(&out[0][9], 1, column, right, 22, world);
    WAITIO_MPI_Sendrecv(&token, 1, WAITIO_MPI_INT, right, 23, &got, 1, WAITIO_MPI_INT, left, 23,
                        world, WAITIO_MPI_STATUS_IGNORE);
    check(in, left, 3, 7, 2, "columns of a receive that was freed");
    check(late, left, 9, 1, 1, "a column of a persistent receive that was freed");
}

int main(void)
{
    WAITIO_MPI_Datatype strided;

    WAITIO_MPI_Init(NULL, NULL);
    world = WAITIO_MPI_COMM_WORLD;
    WAITIO_MPI_Comm_rank(world, &me);
    WAITIO_MPI_Comm_size(world, &n);
    right = (me + 1) % n;
    left = (me + n - 1) % n;
    WAITIO_MPI_Type_vector(ROWS, 1, COLS, WAITIO_MPI_DOUBLE, &strided);
    WAITIO_MPI_Type_create_resized(strided, 0, sizeof(double), &column);
    WAITIO_MPI_Type_commit(&column);
    WAITIO_MPI_Type_free(&strided);
    blocking();
    for (int how = 0; how < 7; how++)
        mixed(how);
    persistent();
    ended_early();
    buffered();
    freed_receives();
    slices();
    if (n > 1) {
        progress();
        progress_of_a_barrier();
    }
    for (int i = 0; i < 5; i++) {
        static const int counts[] = {0, 1, 1000, 100000, 3000000};
        synchronous(counts[i], right);
        synchronous(counts[i], me);
        withdrawn(counts[i], right);
        withdrawn(counts[i], me);
    }
    WAITIO_MPI_Type_free(&column);
    WAITIO_MPI_Finalize();
    if (failures == 0)
        printf("ok\n");
    return failures != 0;
}
