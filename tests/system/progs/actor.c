/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that does what its standard input says, one command a line, and answers each command
 * with one line: "ok ..." or "error NUMBER text". The tests of bad days are written with it: they
 * play several actors against each other, and kill, stop or surprise them in between.
 *
 *   init T | rejoin T | finalize | initialized | rank | group NAME gid | pbgroup NAME gid pbid
 *   isend R G dst bytes tag seed | irecv R G src bytes tag | wait R seed | test R seed | cancel R
 *   probe G src tag | iprobe G src tag | psend/precv (like isend/irecv) | start R | release R
 *   sum G N: an allreduce of N over the group | forget G: free the group |
 *   phase NAME | phaseend NAME: a phase of the trace
 *   bsend|ssend G dst bytes tag: a buffered, a synchronous send that nobody waits for | thinker G
 * seconds N: a thread sums N over the group by an operator of the program, which takes so long
 * waiter R: a thread waits for the request | leaver: a thread finalizes joiner: the end of the
 * thread, with what its call gave fork: a child calls this and that; there must be a request in
 * slot 1 counter NAME | dump | sleep S | abort N | exit N | quit N (_exit) | pid | echo TEXT
 * suicide NAME VALUE: a thread sends SIGKILL to this process once the counter is above the value
 * stopat NAME VALUE: the same with SIGSTOP, once onterm N: SIGTERM calls exit(N) from its handler
 * storm G: messages to oneself without end R and G are small numbers (slots). seed 0: contents are
 * not checked, nor made: to touch half a gigabyte takes seconds under a sanitizer. src and tag -1:
 * any.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "common.h"
#include "waitio_mpi.h"

enum { SLOTS = 64, GROUPS = 8, WORDS = 8 };

struct slot {
    waitio_req_t req;
    char *buf;
    size_t bytes;
};
static struct slot slots[SLOTS];
static waitio_group_t groups[GROUPS];

static void say(const char *text)
{
    fputs(text, stdout);
    fflush(stdout);
}

static void answer(int rc)
{
    char line[1200];
    if (rc == 0) {
        say("ok\n");
        return;
    }
    snprintf(line, sizeof line, "error %d %s\n", rc, waitio_last_error());
    say(line);
}

static long long number(const char *text)
{
    return strtoll(text, NULL, 10);
}

static struct slot *slot_of(const char *text)
{
    return &slots[number(text) % SLOTS];
}

static waitio_group_t group_of(const char *text)
{
    return groups[number(text) % GROUPS];
}

static struct slot *fresh(const char *text, size_t bytes)
{
    struct slot *s = slot_of(text);
    free(s->buf);
    s->bytes = bytes;
    s->buf = must_alloc(bytes);
    return s;
}

static int any_source(const char *text)
{
    return number(text) == -1 ? WAITIO_ANY_SOURCE : (int)number(text);
}

static int any_tag(const char *text)
{
    return number(text) == -1 ? WAITIO_ANY_TAG : (int)number(text);
}

/* ok bytes source tag cancelled wrong */
static void report(int rc, const struct slot *s, const waitio_status_t *st, uint64_t seed)
{
    char line[1400];
    size_t n = st->bytes < s->bytes ? st->bytes : s->bytes;
    long long wrong = seed == 0 ? -1 : (long long)wrong_at(s->buf, n, seed);
    if (rc != 0)
        snprintf(line, sizeof line, "error %d %zu bytes, %s\n", rc, st->bytes, waitio_last_error());
    else
        snprintf(line, sizeof line, "ok %zu %d %d %d %lld\n", st->bytes, st->source, st->tag,
                 st->cancelled, wrong);
    say(line);
}

static void do_wait(char **w)
{
    struct slot *s = slot_of(w[1]);
    waitio_status_t st = {0};
    int rc = waitio_wait_status(&s->req, &st);
    report(rc, s, &st, (uint64_t)number(w[2]));
}

static void do_test(char **w)
{
    struct slot *s = slot_of(w[1]);
    waitio_status_t st = {0};
    int flag = 0, rc = waitio_test(&s->req, &flag, &st);
    if (rc == 0 && !flag)
        say("ok pending\n");
    else
        report(rc, s, &st, (uint64_t)number(w[2]));
}

static void do_probe(char **w)
{
    waitio_status_t st = {0};
    char line[128];
    int flag = 1, rc;
    if (strcmp(w[0], "probe") == 0)
        rc = waitio_probe(group_of(w[1]), any_source(w[2]), any_tag(w[3]), &st);
    else
        rc = waitio_iprobe(group_of(w[1]), any_source(w[2]), any_tag(w[3]), &flag, &st);
    if (rc != 0) {
        answer(rc);
        return;
    }
    snprintf(line, sizeof line, flag ? "ok %zu %d %d\n" : "ok none\n", st.bytes, st.source, st.tag);
    say(line);
}

static void do_send(char **w)
{
    struct slot *s = fresh(w[1], (size_t)number(w[4]));
    if (number(w[6]) != 0)
        fill(s->buf, s->bytes, (uint64_t)number(w[6]));
    answer(w[0][0] == 'i' ? waitio_isend(group_of(w[2]), (int)number(w[3]), s->buf, s->bytes,
                                         (waitio_tag_t)number(w[5]), &s->req)
                          : waitio_send_init(group_of(w[2]), (int)number(w[3]), s->buf, s->bytes,
                                             (waitio_tag_t)number(w[5]), &s->req));
}

static void do_recv(char **w)
{
    struct slot *s = fresh(w[1], (size_t)number(w[4]));
    answer(w[0][0] == 'i' ? waitio_irecv(group_of(w[2]), any_source(w[3]), s->buf, s->bytes,
                                         any_tag(w[5]), &s->req)
                          : waitio_recv_init(group_of(w[2]), any_source(w[3]), s->buf, s->bytes,
                                             any_tag(w[5]), &s->req));
}

static void do_who(void)
{
    int rank = -1, size = -1, pb = -1, npb = -1;
    int rc = waitio_universe_rank(&rank);
    if (rc == 0)
        rc = waitio_universe_size(&size);
    if (rc == 0)
        rc = waitio_pb_rank(&pb);
    if (rc == 0)
        rc = waitio_pb_size(&npb);
    if (rc != 0) {
        answer(rc);
        return;
    }
    char line[128];
    snprintf(line, sizeof line, "ok %d %d %d %d\n", rank, size, pb, npb);
    say(line);
}

/* The child calls into the library and leaves by exit(): both must do no harm. */
static void do_fork(void)
{
    char line[64];
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        static char buf[8];
        waitio_req_t req = WAITIO_REQ_NULL;
        int rank = 0;
        bool all = waitio_isend(groups[0], 0, buf, 8, 1, &req) == WAITIO_ERR_FORK &&
                   waitio_irecv(groups[0], 0, buf, 8, 1, &req) == WAITIO_ERR_FORK &&
                   waitio_universe_rank(&rank) == WAITIO_ERR_FORK &&
                   waitio_wait(&slots[1].req) == WAITIO_ERR_FORK &&
                   waitio_init(1) == WAITIO_ERR_FORK && waitio_finalize() == WAITIO_ERR_FORK;
        if (!all)
            fprintf(stderr, "actor: a call in the child did not give WAITIO_ERR_FORK\n");
        exit(all ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    snprintf(line, sizeof line, "ok %d\n", status);
    say(line);
}

struct suicide {
    char name[64];
    uint64_t above;
    int signal;
};

static void *suicide(void *arg)
{
    struct suicide *s = arg;
    for (;;) {
        uint64_t v = 0;
        if (waitio_counter(s->name, &v) == 0 && v > s->above) {
            kill(getpid(), s->signal);
            return NULL;
        }
        sleep_s(0.0002);
    }
    return NULL;
}

static void do_suicide(char **w)
{
    static struct suicide s;
    pthread_t t;
    snprintf(s.name, sizeof s.name, "%s", w[1]);
    s.above = (uint64_t)number(w[2]);
    s.signal = strcmp(w[0], "stopat") == 0 ? SIGSTOP : SIGKILL;
    CHECK(pthread_create(&t, NULL, suicide, &s) == 0, "no thread");
    pthread_detach(t);
    answer(0);
}

static volatile sig_atomic_t exit_status;

/* exit() is not for handlers. Programs do it all the same. */
static void leave_by_exit(int signal_number)
{
    (void)signal_number;
    exit(exit_status);
}

static void do_onterm(char **w)
{
    exit_status = (sig_atomic_t)number(w[1]);
    answer(signal(SIGTERM, leave_by_exit) == SIG_ERR ? -1 : 0);
}

static void do_storm(char **w)
{
    static char from[8], to[8];
    waitio_req_t s, r;
    waitio_group_t g = group_of(w[1]);
    int me = 0;
    OK(waitio_group_rank(g, &me));
    answer(0);
    for (;;) {
        OK(waitio_irecv(g, me, to, sizeof to, 1, &r));
        OK(waitio_isend(g, me, from, sizeof from, 1, &s));
        OK(waitio_wait(&s));
        OK(waitio_wait(&r));
    }
}

static void do_group(char **w)
{
    waitio_group_t *g = &groups[number(w[1]) % GROUPS];
    answer(strcmp(w[0], "group") == 0 ? waitio_group_universe((int)number(w[2]), g)
                                      : waitio_group_pb((int)number(w[2]), (int)number(w[3]), g));
}

static void do_sum(char **w)
{
    int64_t mine = number(w[2]), all = 0;
    char line[64];
    int rc =
        WAITIO_MPI_Allreduce(&mine, &all, 1, WAITIO_MPI_INT64_T, WAITIO_MPI_SUM, group_of(w[1]));
    snprintf(line, sizeof line, "ok %lld\n", (long long)all);
    if (rc != 0)
        answer(rc);
    else
        say(line);
}

static void do_rejoin(char **w)
{
    answer(waitio_rejoin((int)number(w[1])));
}

static void do_phase(char **w)
{
    answer(strcmp(w[0], "phase") == 0 ? waitio_trace_begin(w[1]) : waitio_trace_end(w[1]));
}

static void do_forget(char **w)
{
    answer(waitio_group_free(&groups[number(w[1]) % GROUPS]));
}

static pthread_t waiter;

static void *waits(void *slot)
{
    struct slot *s = slot;
    return (void *)(intptr_t)waitio_wait(&s->req);
}

static void do_waiter(char **w)
{
    answer(pthread_create(&waiter, NULL, waits, slot_of(w[1])) == 0 ? 0 : -1);
}

static void *leaves(void *unused)
{
    (void)unused;
    return (void *)(intptr_t)waitio_finalize();
}

static void do_leaver(char **w)
{
    (void)w;
    answer(pthread_create(&waiter, NULL, leaves, NULL) == 0 ? 0 : -1);
}

static void do_bsend(char **w)
{
    struct slot *s = fresh("0", (size_t)number(w[3]));
    answer(WAITIO_MPI_Bsend(s->buf, (int)s->bytes, WAITIO_MPI_BYTE, (int)number(w[2]),
                            (int)number(w[4]), group_of(w[1])));
}

static void do_ssend(char **w)
{
    struct slot *s = fresh("0", (size_t)number(w[3]));
    WAITIO_MPI_Request req;
    int rc = WAITIO_MPI_Issend(s->buf, (int)s->bytes, WAITIO_MPI_BYTE, (int)number(w[2]),
                               (int)number(w[4]), group_of(w[1]), &req);
    answer(rc == 0 ? WAITIO_MPI_Request_free(&req) : rc);
}

/* ---- a thread in an operator of the program ---- */

static struct thought {
    waitio_group_t group;
    double seconds;
    int number;
    _Atomic int begun;
} thought;

static void think(void *in, void *inout, int *n, WAITIO_MPI_Datatype *type)
{
    (void)type;
    thought.begun = 1;
    sleep_s(thought.seconds);
    for (int i = 0; i < *n; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void *thinks(void *unused)
{
    WAITIO_MPI_Request req;
    WAITIO_MPI_Op op;
    int sum = 0;
    int rc = WAITIO_MPI_Op_create(think, 1, &op);

    (void)unused;
    if (rc == 0)
        rc = WAITIO_MPI_Ireduce(&thought.number, &sum, 1, WAITIO_MPI_INT, op, 0, thought.group,
                                &req);
    if (rc == 0)
        rc = WAITIO_MPI_Wait(&req, WAITIO_MPI_STATUS_IGNORE);
    return (void *)(intptr_t)rc;
}

/* Rank 0 answers when its thread is in the operator. */
static void do_thinker(char **w)
{
    int rank = 0;
    thought.group = group_of(w[1]);
    thought.seconds = strtod(w[2], NULL);
    thought.number = (int)number(w[3]);
    thought.begun = 0;
    OK(waitio_group_rank(thought.group, &rank));
    CHECK(pthread_create(&waiter, NULL, thinks, NULL) == 0, "no thread");
    while (rank == 0 && !thought.begun)
        sleep_s(0.001);
    answer(0);
}

static void do_joiner(void)
{
    char line[64];
    void *rc = NULL;
    pthread_join(waiter, &rc);
    snprintf(line, sizeof line, "ok %d\n", (int)(intptr_t)rc);
    say(line);
}

static void do_simple(char **w)
{
    char line[128];
    if (strcmp(w[0], "init") == 0) {
        answer(waitio_init((int)number(w[1])));
    } else if (strcmp(w[0], "finalize") == 0) {
        answer(waitio_finalize());
    } else if (strcmp(w[0], "cancel") == 0) {
        answer(waitio_cancel(&slot_of(w[1])->req));
    } else if (strcmp(w[0], "start") == 0) {
        answer(waitio_start(&slot_of(w[1])->req));
    } else if (strcmp(w[0], "release") == 0) {
        answer(waitio_request_free(&slot_of(w[1])->req));
    } else if (strcmp(w[0], "dump") == 0) {
        answer(waitio_dump(stderr));
    } else if (strcmp(w[0], "sleep") == 0) {
        sleep_s(strtod(w[1], NULL));
        answer(0);
    } else if (strcmp(w[0], "counter") == 0) {
        uint64_t v = 0;
        int rc = waitio_counter(w[1], &v);
        snprintf(line, sizeof line, "ok %llu\n", (unsigned long long)v);
        if (rc != 0)
            answer(rc);
        else
            say(line);
    } else if (strcmp(w[0], "errors") == 0) {
        answer(waitio_set_errors(atoi(w[1])));
    } else if (strcmp(w[0], "abort") == 0) {
        waitio_abort((int)number(w[1]));
    } else if (strcmp(w[0], "exit") == 0) {
        exit((int)number(w[1]));
    } else if (strcmp(w[0], "quit") == 0) {
        _exit((int)number(w[1]));
    } else {
        say("error 0 unknown command\n");
    }
}

static void run(char **w)
{
    static const struct {
        const char *name;
        void (*call)(char **w);
    } table[] = {
        {"wait", do_wait},     {"test", do_test},       {"probe", do_probe},
        {"iprobe", do_probe},  {"isend", do_send},      {"psend", do_send},
        {"irecv", do_recv},    {"precv", do_recv},      {"group", do_group},
        {"pbgroup", do_group}, {"suicide", do_suicide}, {"stopat", do_suicide},
        {"onterm", do_onterm}, {"storm", do_storm},     {"sum", do_sum},
        {"waiter", do_waiter}, {"rejoin", do_rejoin},   {"forget", do_forget},
        {"leaver", do_leaver}, {"thinker", do_thinker}, {"bsend", do_bsend},
        {"ssend", do_ssend},   {"phase", do_phase},     {"phaseend", do_phase},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(w[0], table[i].name) == 0) {
            table[i].call(w);
            return;
        }
    if (strcmp(w[0], "who") == 0)
        do_who();
    else if (strcmp(w[0], "fork") == 0)
        do_fork();
    else if (strcmp(w[0], "joiner") == 0)
        do_joiner();
    else
        do_simple(w);
}

int main(void)
{
    char line[256];
    while (fgets(line, sizeof line, stdin) != NULL) {
        char *words[WORDS], *save = NULL;
        static char empty[] = "0";
        int n = 0;
        for (char *p = strtok_r(line, " \n", &save); p != NULL && n < WORDS;
             p = strtok_r(NULL, " \n", &save))
            words[n++] = p;
        if (n == 0)
            continue;
        while (n < WORDS)
            words[n++] = empty;
        run(words);
    }
    return 0;
}
