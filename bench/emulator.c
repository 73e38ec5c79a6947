/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file emulator.c
 * What WaitIO's calls over MPI (WAITIO_COMM_TYPE=mpi) cost over the same messages by plain MPI:
 * both in one run, by turns. Started as one MPI job of two processes; rank 0 prints a row per size:
 *   bytes  bare_us  floor_us  plain_us  waitio_us  ratio
 * bare: plain MPI before waitio_init(), which posts receives that MPI has to look at.
 * floor: the MPI calls alone that a transport over MPI cannot do without, also before it: messages
 * arrive in posted receives from any source, each look is an MPI_Test; above INSIDE bytes a short
 * message announces one of its own.
 * Times are half round trips, medians of ROUNDS rounds (first argument; 41) of so many turns that
 * they can be measured, or of 1/N of them (second argument, for a test that it runs); the ratio is
 * the median of the rounds' ratios, with its quartiles behind it.
 */
#define _GNU_SOURCE /* setenv */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <waitio.h>

enum { ROUNDS_MOST = 101 };
static int rounds = 41, share = 1;

static int me;
static char *out, *in;
static waitio_group_t group;

static void plain(int bytes, int turns)
{
    for (int i = 0; i < turns; i++) {
        if (me == 0)
            MPI_Send(out, bytes, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
        MPI_Recv(in, bytes, MPI_BYTE, 1 - me, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (me == 1)
            MPI_Send(out, bytes, MPI_BYTE, 0, 7, MPI_COMM_WORLD);
    }
}

enum { INSIDE = 4000, POSTED = 8, HEAD = 2, TAG_FRAME = 1, TAG_DATA = 2 };
static MPI_Comm floor_comm;
static MPI_Request posted[POSTED];
static char frame[POSTED][HEAD + INSIDE];
static int next;

static void post(void)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &floor_comm);
    for (int i = 0; i < POSTED; i++) {
        MPI_Recv_init(frame[i], sizeof frame[i], MPI_BYTE, MPI_ANY_SOURCE, TAG_FRAME, floor_comm,
                      &posted[i]);
        MPI_Start(&posted[i]);
    }
}

static void unpost(void)
{
    for (int i = 0; i < POSTED; i++) {
        MPI_Cancel(&posted[i]);
        MPI_Wait(&posted[i], MPI_STATUS_IGNORE);
        MPI_Request_free(&posted[i]);
    }
    MPI_Comm_free(&floor_comm);
}

static void until_done(MPI_Request *r)
{
    int done = 0;
    while (!done)
        MPI_Test(r, &done, MPI_STATUS_IGNORE);
}

/* memcpy() of a length that the compiler does not know takes 30 ns here. */
static void copy(void *to, const void *from, int bytes)
{
    if (bytes == 8)
        memcpy(to, from, 8);
    else
        memcpy(to, from, (size_t)bytes);
}

static void floor_send(int bytes)
{
    static char head[HEAD + INSIDE];
    MPI_Request r, data;
    int inside = bytes <= INSIDE ? bytes : 0;
    copy(head + HEAD, out, inside);
    MPI_Isend(head, HEAD + inside, MPI_BYTE, 1 - me, TAG_FRAME, floor_comm, &r);
    if (bytes > INSIDE) {
        MPI_Isend(out, bytes, MPI_BYTE, 1 - me, TAG_DATA, floor_comm, &data);
        until_done(&data);
    }
    until_done(&r);
}

static void floor_recv(int bytes)
{
    MPI_Request data;
    until_done(&posted[next]);
    if (bytes <= INSIDE) {
        copy(in, frame[next] + HEAD, bytes);
    } else {
        MPI_Irecv(in, bytes, MPI_BYTE, 1 - me, TAG_DATA, floor_comm, &data);
        until_done(&data);
    }
    MPI_Start(&posted[next]);
    next = (next + 1) % POSTED;
}

static void least(int bytes, int turns)
{
    for (int i = 0; i < turns; i++) {
        if (me == 0)
            floor_send(bytes);
        floor_recv(bytes);
        if (me == 1)
            floor_send(bytes);
    }
}

static void ours(int bytes, int turns)
{
    waitio_req_t r;
    for (int i = 0; i < turns; i++) {
        if (me == 0) {
            waitio_isend(group, 1, out, (size_t)bytes, 7, &r);
            waitio_wait(&r);
        }
        waitio_irecv(group, 1 - me, in, (size_t)bytes, 7, &r);
        waitio_wait(&r);
        if (me == 1) {
            waitio_isend(group, 0, out, (size_t)bytes, 7, &r);
            waitio_wait(&r);
        }
    }
}

static double half_trip_us(void (*way)(int, int), int bytes, int turns)
{
    turns = turns / share + 1;
    MPI_Barrier(MPI_COMM_WORLD);
    way(bytes, turns / 10 + 1);
    double begun = MPI_Wtime();
    way(bytes, turns);
    return (MPI_Wtime() - begun) * 1e6 / 2 / turns;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_us(void (*way)(int, int), int bytes, int turns)
{
    double v[ROUNDS_MOST];
    for (int i = 0; i < rounds; i++)
        v[i] = half_trip_us(way, bytes, turns);
    qsort(v, rounds, sizeof *v, by_size);
    return v[rounds / 2];
}

static void row(int bytes, int turns, double bare, double least_us)
{
    double a[ROUNDS_MOST], b[ROUNDS_MOST], r[ROUNDS_MOST];
    for (int i = 0; i < rounds; i++) {
        a[i] = half_trip_us(plain, bytes, turns);
        b[i] = half_trip_us(ours, bytes, turns);
        r[i] = b[i] / a[i];
    }
    qsort(a, rounds, sizeof *a, by_size);
    qsort(b, rounds, sizeof *b, by_size);
    qsort(r, rounds, sizeof *r, by_size);
    if (me == 0)
        printf("%9d %12.3f %12.3f %12.3f %12.3f %7.3f (%.3f to %.3f)\n", bytes, bare, least_us,
               a[rounds / 2], b[rounds / 2], r[rounds / 2], r[rounds / 4], r[3 * rounds / 4]);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const struct {
        int bytes, turns;
    } rows[] = {{8, 4000}, {1024, 4000}, {65536, 600}, {1 << 20, 40}, {8 << 20, 8}};
    enum { MOST = 8 << 20, ROWS = sizeof rows / sizeof rows[0] };
    double bare[ROWS], at_least[ROWS];
    int size = 0;
    if (argc > 1 && atoi(argv[1]) > 0 && atoi(argv[1]) <= ROUNDS_MOST)
        rounds = atoi(argv[1]);
    if (argc > 2 && atoi(argv[2]) > 0)
        share = atoi(argv[2]);
    setenv("WAITIO_COMM_TYPE", "mpi", 1); /* else shared memory would be measured */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2) {
        fprintf(stderr, "emulator: start two processes\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    out = malloc(MOST);
    in = malloc(MOST);
    if (out == NULL || in == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(out, 1, MOST);
    memset(in, 2, MOST);
    for (int i = 0; i < ROWS; i++)
        bare[i] = median_us(plain, rows[i].bytes, rows[i].turns);
    post();
    for (int i = 0; i < ROWS; i++)
        at_least[i] = median_us(least, rows[i].bytes, rows[i].turns);
    MPI_Barrier(MPI_COMM_WORLD);
    unpost();
    if (waitio_init(30) != 0 || waitio_group_universe(1, &group) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (me == 0)
        printf("%9s %12s %12s %12s %12s %7s\n", "bytes", "bare_us", "floor_us", "plain_us",
               "waitio_us", "ratio");
    for (int i = 0; i < ROWS; i++)
        row(rows[i].bytes, rows[i].turns, bare[i], at_least[i]);
    waitio_finalize();
    MPI_Finalize();
    free(out);
    free(in);
    return 0;
}
