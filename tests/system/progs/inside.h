/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inside WHAT JOB [N]: messages of processes of which some are in one MPI job (WAITIO_INSIDE). JOB
 * names the PBs of this process's job, as "0" or "0,2"; "-": it has none.
 *
 *   storm    everybody sends N messages to everybody, received by probes, receives from any source
 *            and exact ones in random order; those of each source must come in their order. The
 *            counters must show that those inside the job, and no others, went by MPI
 *   die      the last rank of PB 0 is killed while all others wait for it; they print after how
 *            many seconds they got an error
 *   order    MPI_Finalize before waitio_finalize
 *   fork     a child of each process tries to send, and gets an error; the parents go on
 *   turn     two threads, of which the second waits for a message across while the first waits for
 *            one inside, which comes first
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "common.h"

enum { SIZES = 6, KINDS = 4, TAGS = 3 };
static const size_t sizes[SIZES] = {0, 8, 3000, 20000, 150000, 1500000};

static int me, size, pb, in_job[64];
static waitio_group_t all;
static bool bereaved; /* our MPI job has lost a process */
static uint64_t inside_msgs, inside_bytes, across_bytes;

struct label {
    uint64_t seed;
    uint32_t number; /* counts the messages of one source to one receiver */
};

static int pb_of(int rank)
{
    int its, where;
    OK(waitio_group_locate(all, rank, &its, &where));
    return its;
}

static bool is_inside(int rank)
{
    return rank != me && in_job[pb_of(rank)];
}

/* ---- storm ---- */

static size_t bytes_of(int from, int to, int i)
{
    uint64_t r = mix((uint64_t)(from * 1000 + to) * 100000 + (uint64_t)i);
    size_t most = sizes[r % SIZES];
    if (r % SIZES == SIZES - 1 && i % 8 != 0)
        most = sizes[1]; /* few long ones */
    return sizeof(struct label) + (most < 100 ? most : most - r / 7 % 50);
}

static void check(const char *buf, const waitio_status_t *st, uint32_t *next)
{
    struct label l;
    memcpy(&l, buf, sizeof l);
    CHECK(l.number == next[st->source], "message %u of %d came in place of %u", l.number,
          st->source, next[st->source]);
    CHECK(st->bytes == bytes_of(st->source, me, (int)l.number), "%zu bytes", st->bytes);
    CHECK(st->tag == (int)(l.number % TAGS), "tag %d of message %u", st->tag, l.number);
    CHECK(wrong_at(buf + sizeof l, st->bytes - sizeof l, l.seed) < 0, "message %u of %d is damaged",
          l.number, st->source);
    next[st->source]++;
}

/* Take a message that a probe has found. */
static void take(const waitio_status_t *found, int tag, uint32_t *next, char *buf, size_t room)
{
    waitio_req_t r;
    waitio_status_t st;
    OK(waitio_irecv(all, found->source, buf, room, tag, &r));
    OK(waitio_wait_status(&r, &st));
    check(buf, &st, next);
}

/* One that is there. @return whether there is one */
static bool take_any(uint32_t *next, char *buf, size_t room)
{
    waitio_status_t st;
    int found = 0;
    OK(waitio_iprobe(all, WAITIO_ANY_SOURCE, WAITIO_ANY_TAG, &found, &st));
    if (found)
        take(&st, st.tag, next, buf, room);
    return found;
}

/* One message, in one of four ways; everything was sent, so that all of them end. */
static void receive(uint64_t *random, uint32_t *next, int n, char *buf, size_t room)
{
    waitio_status_t st;
    switch (below(random, KINDS)) {
    case 0: /* any */
        take(&(waitio_status_t){.source = WAITIO_ANY_SOURCE}, WAITIO_ANY_TAG, next, buf, room);
        break;
    case 1: /* look until something is there */
        while (!take_any(next, buf, room))
            ;
        break;
    case 2: /* wait until something is there */
        OK(waitio_probe(all, WAITIO_ANY_SOURCE, WAITIO_ANY_TAG, &st));
        take(&st, WAITIO_ANY_TAG, next, buf, room);
        break;
    default: /* the next of one source */
        st.source = (int)below(random, (uint64_t)size);
        while (st.source == me || next[st.source] == (uint32_t)n)
            st.source = (st.source + 1) % size;
        take(&st, (int)(next[st.source] % TAGS), next, buf, room);
    }
}

static void send_one(int to, int i, char **buf, waitio_req_t *r)
{
    size_t bytes = bytes_of(me, to, i);
    struct label l = {.seed = mix((uint64_t)(me * 977 + to) + (uint64_t)i), .number = (uint32_t)i};
    *buf = must_alloc(bytes);
    memcpy(*buf, &l, sizeof l);
    fill(*buf + sizeof l, bytes - sizeof l, l.seed);
    OK(waitio_isend(all, to, *buf, bytes, i % TAGS, r));
    inside_msgs += is_inside(to);
    *(is_inside(to) ? &inside_bytes : &across_bytes) += bytes;
}

static void storm(int n)
{
    uint64_t random = (uint64_t)me * 31 + 7;
    uint32_t *next = calloc((size_t)size, sizeof *next);
    int *sent = calloc((size_t)size, sizeof *sent), total = n * (size - 1), nreq = 0, received = 0;
    waitio_req_t *reqs = must_alloc((size_t)total * sizeof *reqs);
    char **bufs = must_alloc((size_t)total * sizeof *bufs), *in = must_alloc(1600000);
    CHECK(next != NULL && sent != NULL, "no memory");
    while (nreq < total || received < total) {
        if (nreq == total) {
            receive(&random, next, n, in, 1600000);
            received++;
        } else if (received < total && below(&random, 2) == 0) {
            received += take_any(next, in, 1600000);
        } else {
            int to = (int)below(&random, (uint64_t)size);
            while (to == me || sent[to] == n)
                to = (to + 1) % size;
            send_one(to, sent[to]++, &bufs[nreq], &reqs[nreq]);
            nreq++;
        }
    }
    OK(waitio_waitall(total, reqs, NULL));
    for (int i = 0; i < total; i++)
        free(bufs[i]);
    free(bufs), free(reqs), free(in), free(sent), free(next);
}

/* The library's own messages have no payload worth a word. */
static void check_counters(void)
{
    uint64_t msgs = counter("outside_msgs"), bytes = counter("outside_bytes");
    printf("counted: %llu messages inside, %llu bytes inside, %llu bytes across; by MPI %llu "
           "messages, %llu bytes\n",
           (unsigned long long)inside_msgs, (unsigned long long)inside_bytes,
           (unsigned long long)across_bytes, (unsigned long long)msgs, (unsigned long long)bytes);
    if (getenv("EXPECT_NONE") != NULL)
        inside_msgs = inside_bytes = 0;
    CHECK(msgs >= inside_msgs && (inside_msgs > 0 || msgs == 0),
          "of %llu messages inside %llu went by MPI", (unsigned long long)inside_msgs,
          (unsigned long long)msgs);
    CHECK(bytes >= inside_bytes && bytes - inside_bytes <= inside_bytes / 100,
          "of %llu bytes inside %llu went by MPI", (unsigned long long)inside_bytes,
          (unsigned long long)bytes);
}

/* ---- the others ---- */

static void greet(int round)
{
    for (int i = 1; i < size; i++) {
        int out = me + round, in = -1, to = (me + i) % size, from = (me - i + size) % size;
        OK(waitio_sendrecv(all, to, &out, sizeof out, 5, from, &in, sizeof in, 5, NULL));
        CHECK(in == from + round, "%d from %d", in, from);
    }
}

static void die(void)
{
    int victim, *n = NULL;
    waitio_req_t r;
    char byte;
    OK(waitio_get_nprocs_array(&n));
    OK(waitio_group_find(all, 0, n[0] - 1, &victim));
    OK(waitio_set_errors(WAITIO_ERRORS_RETURN));
    greet(0);
    if (me == victim) {
        sleep_s(0.5); /* the others wait */
        printf("died at %.3f\n", now_s());
        fflush(stdout);
        raise(SIGKILL);
    }
    OK(waitio_irecv(all, victim, &byte, 1, 7, &r));
    int rc = waitio_wait(&r);
    CHECK(rc == WAITIO_ERR_PEER, "waiting for who has died gave %d: %s", rc, waitio_last_error());
    printf("told at %.3f: rank %d, %s: %s\n", now_s(), me, is_inside(victim) ? "inside" : "across",
           waitio_last_error());
    fflush(stdout);
    bereaved = is_inside(victim);
}

static void in_child(void)
{
    pid_t child = fork();
    int status = 0;
    CHECK(child >= 0, "fork");
    if (child == 0) {
        waitio_req_t r;
        char byte = 1;
        int rc = waitio_isend(all, (me + 1) % size, &byte, 1, 1, &r);
        _exit(rc == WAITIO_ERR_FORK ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0, "the child: %d", status);
}

static void *wait_across(void *arg)
{
    int *from = arg, byte = 0;
    waitio_req_t r;
    OK(waitio_irecv(all, *from, &byte, sizeof byte, 8, &r));
    OK(waitio_wait(&r));
    return NULL;
}

/* Rank 0 of PB 0: its second thread waits for the first process that is not inside, which sends
 * when rank 0 has heard of rank 1 of its job. */
static void turn(void)
{
    int inside = 1, across = 2, token = 1;
    pthread_t second;
    greet(0);
    while (across < size && pb_of(across) == 0)
        across++;
    if (me == 0) {
        CHECK(is_inside(inside) && across < size, "shape");
        CHECK(pthread_create(&second, NULL, wait_across, &across) == 0, "thread");
        sleep_s(0.3); /* it waits, and is the one that polls */
        OK(waitio_sendrecv(all, inside, &token, sizeof token, 8, inside, &token, sizeof token, 8,
                           NULL));
        waitio_req_t r;
        OK(waitio_isend(all, across, &token, sizeof token, 8, &r));
        OK(waitio_wait(&r));
        CHECK(pthread_join(second, NULL) == 0, "join");
    } else if (me == inside || me == across) {
        waitio_req_t r;
        OK(waitio_irecv(all, 0, &token, sizeof token, 8, &r));
        OK(waitio_wait(&r));
        sleep_s(0.3); /* rank 0's first thread waits, too */
        OK(waitio_isend(all, 0, &token, sizeof token, 8, &r));
        OK(waitio_wait(&r));
    }
}

static void read_job(const char *text)
{
    for (const char *at = text; *at != '\0'; at++)
        if (*at >= '0' && *at <= '9')
            in_job[*at - '0'] = 1;
}

static int run(int argc, char **argv, void (*end)(void))
{
    const char *what = argc > 1 ? argv[1] : "";
    read_job(argc > 2 ? argv[2] : "");
    OK(waitio_init(60));
    all = everybody(0, &me, &size);
    pb = pb_of(me);
    if (strcmp(what, "storm") == 0) {
        storm(argc > 3 ? atoi(argv[3]) : 40);
        check_counters();
    } else if (strcmp(what, "die") == 0) {
        die();
    } else if (strcmp(what, "turn") == 0) {
        turn();
    } else if (strcmp(what, "fork") == 0) {
        greet(0);
        in_child();
        greet(1);
    } else {
        CHECK(strcmp(what, "order") == 0, "no test \"%s\"", what);
        greet(0);
        end();
        end = NULL;
    }
    OK(waitio_finalize());
    if (end != NULL && !bereaved)
        end();
    printf("%s ok: rank %d of %d\n", what, me, size);
    fflush(stdout);
    if (bereaved)
        _Exit(0); /* MPI_Finalize may wait for the dead */
    return 0;
}
