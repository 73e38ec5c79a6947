/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpi_emulated WHAT [threads | no-finalize]: behaviour that WaitIO promises and one MPI job must
 * keep (WAITIO_COMM_TYPE=mpi).
 *
 *   first    everybody sends to all before anybody has heard of anybody, then goes into MPI's own
 *            barrier, and receives after it: short sends complete locally, and are on their way
 *   swap     everybody sends SIZES to the neighbour and waits for that before it receives
 *   apart    rank 0 sends LENGTHS to all, and waits in MPI's own barrier while the others receive:
 *            what is complete has left
 *   unread   rank 0 sends LENGTHS to all, and nobody receives: MPI ends in peace
 *   late     rank 0 leaves at once; the others send to it afterwards: an error that says so
 *   order    MPI_Finalize before waitio_finalize
 *   die      the last rank ends without a word while the others wait for it
 *   idle     rank 0 waits a second for a message; prints its processor time
 *   busy     rank 1 computes for a second, while rank 0 sends it a message that needs an answer
 *            (with threads: MPI_THREAD_MULTIPLE, the service thread answers)
 */
#include <mpi.h>

#include <time.h>

#include "common.h"

static int me, size, level;
static waitio_group_t all;

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void rest(double s)
{
    struct timespec t = {.tv_sec = (time_t)s, .tv_nsec = (long)((s - (double)(time_t)s) * 1e9)};
    nanosleep(&t, NULL);
}

static void first(void)
{
    enum { EACH = 3, BYTES = 200 };
    char out[BYTES], in[BYTES];
    waitio_req_t r;
    for (int to = 0; to < size; to++)
        for (int i = 0; i < EACH && to != me; i++) {
            fill(out, BYTES, (uint64_t)(100 * me + i));
            OK(waitio_isend(all, to, out, BYTES, i, &r));
            OK(waitio_wait(&r));
        }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int from = 0; from < size; from++)
        for (int i = 0; i < EACH && from != me; i++) {
            OK(waitio_irecv(all, from, in, BYTES, i, &r));
            OK(waitio_wait(&r));
            CHECK(wrong_at(in, BYTES, (uint64_t)(100 * from + i)) < 0, "message %d of %d", i, from);
        }
}

static void swap(void)
{
    static const size_t sizes[] = {0, 8, 3999, 4000, 4001, 20000, 65535, 65536};
    for (int round = 0; round < 20; round++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            char *out = must_alloc(sizes[i]), *in = must_alloc(sizes[i]);
            uint64_t seed = (uint64_t)(1000 * round + (int)i);
            waitio_req_t r;
            fill(out, sizes[i], seed + (uint64_t)me * 7);
            OK(waitio_isend(all, (me + 1) % size, out, sizes[i], 5, &r));
            OK(waitio_wait(&r));
            memset(out, 0xee, sizes[i]); /* the buffer is the program's again */
            OK(waitio_irecv(all, (me + size - 1) % size, in, sizes[i], 5, &r));
            OK(waitio_wait(&r));
            CHECK(wrong_at(in, sizes[i], seed + (uint64_t)((me + size - 1) % size) * 7) < 0,
                  "%zu bytes", sizes[i]);
            free(out);
            free(in);
        }
}

enum { KINDS = 4, MOST = 65536, TAG = 20 };
static const size_t lengths[KINDS] = {20000, MOST, 8, 4001};

static void send_lengths(char *buf, int to)
{
    waitio_req_t r[KINDS];
    for (int i = 0; i < KINDS; i++) {
        fill(buf + i * MOST, lengths[i], (uint64_t)(to + i));
        OK(waitio_isend(all, to, buf + i * MOST, lengths[i], TAG + i, &r[i]));
    }
    for (int i = KINDS; i-- > 0;) /* the last one first: those before it have left, too */
        OK(waitio_wait(&r[i]));
    memset(buf, 0xee, KINDS * MOST);
}

static void apart(void)
{
    char *buf = must_alloc(KINDS * MOST);
    for (int round = 0; round < 5; round++) {
        for (int to = 1; to < size && me == 0; to++)
            send_lengths(buf, to);
        if (me != 0)
            rest(0.02); /* nobody asks for anything while rank 0 waits */
        for (int i = 0; i < KINDS && me != 0; i++) {
            waitio_req_t r;
            OK(waitio_irecv(all, 0, buf, lengths[i], TAG + i, &r));
            OK(waitio_wait(&r));
            CHECK(wrong_at(buf, lengths[i], (uint64_t)(me + i)) < 0, "%zu bytes", lengths[i]);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free(buf);
}

static void unread(void)
{
    char *buf = must_alloc(KINDS * MOST);
    for (int to = 1; to < size && me == 0; to++)
        send_lengths(buf, to);
    MPI_Barrier(MPI_COMM_WORLD);
    free(buf);
}

static void late(void)
{
    char byte = 1;
    waitio_req_t r;
    int rc = 0;
    OK(waitio_set_errors(WAITIO_ERRORS_RETURN));
    if (me == 0)
        OK(waitio_finalize());
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0)
        return;
    for (int i = 0; i < 10000 && rc == 0; i++) { /* the word may be on its way */
        rc = waitio_isend(all, 0, &byte, 1, 1, &r);
        if (rc == 0)
            rc = waitio_wait(&r);
    }
    CHECK(rc == WAITIO_ERR_PEER, "sending to who has left: %d", rc);
    CHECK(strstr(waitio_last_error(), "finalized") != NULL, "text: %s", waitio_last_error());
}

static void die(void)
{
    char byte;
    waitio_req_t r;
    first();
    if (me == size - 1)
        _Exit(3);
    OK(waitio_irecv(all, size - 1, &byte, 1, 77, &r));
    OK(waitio_wait(&r));
}

static void idle(void)
{
    char byte = 1;
    waitio_req_t r;
    first();
    double begun = cpu_s();
    if (me == 0) {
        OK(waitio_irecv(all, 1, &byte, 1, 9, &r));
        OK(waitio_wait(&r));
        printf("idle %.3f\n", cpu_s() - begun);
    } else if (me == 1) {
        rest(1);
        OK(waitio_isend(all, 0, &byte, 1, 9, &r));
        OK(waitio_wait(&r));
    }
}

static void busy(void)
{
    enum { BYTES = 3 << 20 };
    char *buf = must_alloc(BYTES);
    waitio_req_t r;
    first();
    MPI_Barrier(MPI_COMM_WORLD);
    double begun = MPI_Wtime();
    if (me == 0) {
        fill(buf, BYTES, 3);
        OK(waitio_isend(all, 1, buf, BYTES, 9, &r));
        OK(waitio_wait(&r));
        printf("busy %.3f\n", MPI_Wtime() - begun);
    } else if (me == 1) {
        OK(waitio_irecv(all, 0, buf, BYTES, 9, &r));
        rest(1.5);
        OK(waitio_wait(&r));
        CHECK(wrong_at(buf, BYTES, 3) < 0, "%d bytes", BYTES);
    }
    free(buf);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } tests[] = {{"first", first},   {"swap", swap}, {"apart", apart},
                 {"unread", unread}, {"late", late}, {"order", first},
                 {"die", die},       {"idle", idle}, {"busy", busy}};
    const char *what = argc > 1 ? argv[1] : "";
    bool found = false, threads = argc > 2 && strcmp(argv[2], "threads") == 0;
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &level);
    OK(waitio_init(60));
    all = everybody(0, &me, &size);
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        if (strcmp(what, tests[i].name) == 0) {
            tests[i].run();
            found = true;
        }
    CHECK(found, "no test \"%s\"", what);
    bool early = strcmp(what, "order") == 0, gone = strcmp(what, "late") == 0 && me == 0;
    bool never = argc > 2 && strcmp(argv[2], "no-finalize") == 0;
    if (!early && !gone && !never)
        OK(waitio_finalize());
    MPI_Finalize();
    if (early)
        OK(waitio_finalize());
    printf("%s ok: rank %d of %d\n", what, me, size);
    return 0;
}
