/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Staging: steps of a global array between two blocks, 0 and 1, each process with its share.
 *
 *     bench_stage trip|stream|death BYTES name=value...
 *
 *   trip    block 0 writes a stream that block 1 reads, which answers in a second one: seconds of
 *           half a round trip. BYTES are those of a process of block 0
 *   stream  block 0 writes, block 1 reads: seconds of a step
 *   death   the last process of block 0 kills itself in a step; all others say when, and when they
 *           heard of it
 *   steps=N of a batch, of which there are seven    queue=Q   of the writers, -1: synchronous
 *
 * Writes JSON lines: "trip" or "stream", "open" (both blocks are in the universe already), "killed"
 * and "heard" (CLOCK_MONOTONIC), "most" (bytes that were queued at most).
 */
#include "common.h"

#include <signal.h>

#include "waitio.h"
#include "waitio_stage.h"

struct side {
    waitio_stage_t out, in;
    int variable, pb, rank, n, others, queue;
    long steps;
    size_t whole; /* bytes of the array */
    char *data, *got;
};

static void die(const char *what)
{
    fprintf(stderr, "bench_stage: %s: %s\n", what, waitio_stage_last_error());
    exit(1);
}

/* The share of one of @p n processes. */
static void share(const struct side *s, uint64_t *start, uint64_t *count)
{
    uint64_t all = s->whole, n = (uint64_t)s->n, r = (uint64_t)s->rank;

    *start = all * r / n;
    *count = all * (r + 1) / n - *start;
}

static void write_step(struct side *s)
{
    uint64_t start, count;

    share(s, &start, &count);
    if (waitio_stage_begin_step(s->out, 0, 0, NULL) != 0 ||
        waitio_stage_put(s->out, s->variable, &start, &count, s->data, WAITIO_STAGE_DEFERRED) !=
            0 ||
        waitio_stage_end_step(s->out, WAITIO_STAGE_DEFAULT) != 0)
        die("write");
}

/* @return 0; 1: no more steps, or an error */
static int read_step(struct side *s)
{
    uint64_t start, count;
    int status = WAITIO_STAGE_END;

    share(s, &start, &count);
    return waitio_stage_begin_step(s->in, WAITIO_STAGE_NEXT, 60, &status) != 0 ||
           status != WAITIO_STAGE_OK ||
           waitio_stage_get(s->in, "x", WAITIO_STAGE_UINT8, &start, &count, s->got) != 0 ||
           waitio_stage_end_step(s->in, WAITIO_STAGE_DEFAULT) != 0;
}

static void open_out(struct side *s, const char *name)
{
    struct waitio_stage_settings set = {.readers = 1, .limit = 60, .queue = s->queue};
    uint64_t shape = s->whole;

    if (waitio_stage_open(name, WAITIO_STAGE_WRITE, NULL, &set, &s->out) != 0 ||
        waitio_stage_define(s->out, "x", WAITIO_STAGE_UINT8, 1, &shape, &s->variable) != 0)
        die("open");
}

static void open_in(struct side *s, const char *name)
{
    struct waitio_stage_settings set = {.limit = 60};

    if (waitio_stage_open(name, WAITIO_STAGE_READ, NULL, &set, &s->in) != 0)
        die("open");
}

static void report_open(const struct side *s, double begin)
{
    bench_report("open", (size_t)s->n, bench_now() - begin);
}

static void one(struct side *s, int trips)
{
    if (s->pb == 0)
        write_step(s);
    if ((s->pb != 0 || trips) && read_step(s) != 0)
        die("read");
    if (s->pb != 0 && trips)
        write_step(s);
}

/* Reported by block 0's first process for trips, by block 1's for streams: it has the data. */
static void run(struct side *s, int trips)
{
    double v[BENCH_BATCHES];
    uint64_t most = 0;

    for (long i = 0; i < s->steps / 4 + 3; i++)
        one(s, trips);
    for (int b = 0; b < BENCH_BATCHES; b++) {
        double t = bench_now();

        for (long i = 0; i < s->steps; i++)
            one(s, trips);
        v[b] = (bench_now() - t) / (double)s->steps / (trips ? 2 : 1);
    }
    if (s->rank == 0 && s->pb == !trips)
        bench_report(trips ? "trip" : "stream", s->whole, bench_median(v, BENCH_BATCHES));
    if (s->rank == 0 && s->out != NULL &&
        waitio_stage_count(s->out, "queued_bytes_max", &most) == 0)
        bench_report("most", s->whole, (double)most);
}

static void meet_death(struct side *s)
{
    if (s->pb == 1) {
        for (int i = 0; read_step(s) == 0; i++)
            continue;
        bench_report("heard", (size_t)s->rank, bench_now());
        fprintf(stderr, "%s\n", waitio_stage_last_error());
        return;
    }
    for (int i = 0; i < 10; i++)
        write_step(s);
    usleep(100000); /* the readers wait for the step that does not come */
    if (s->rank == s->n - 1) {
        bench_report("killed", (size_t)s->rank, bench_now());
        (void)kill(getpid(), SIGKILL);
    }
    usleep(700000);
}

static void wait_for(waitio_group_t all, int who, int sends, int *word)
{
    waitio_req_t req;

    if ((sends ? waitio_isend(all, who, word, sizeof *word, 1, &req)
               : waitio_irecv(all, who, word, sizeof *word, 1, &req)) != 0 ||
        waitio_wait(&req) != 0)
        die("barrier");
}

/* Who I am; then wait until everybody is there. */
static void meet(struct side *s)
{
    waitio_group_t all = NULL, own = NULL;
    int me = 0, universe = 0, byte = 0;

    if (waitio_pb_rank(&s->pb) != 0 || waitio_group_pb(0, s->pb, &own) != 0 ||
        waitio_group_size(own, &s->n) != 0 || waitio_group_rank(own, &s->rank) != 0 ||
        waitio_group_universe(0x57a6e, &all) != 0 || waitio_group_size(all, &universe) != 0 ||
        waitio_group_rank(all, &me) != 0)
        die("group");
    for (int i = 1; me == 0 && i < universe; i++)
        wait_for(all, i, 0, &byte);
    for (int i = 1; me == 0 && i < universe; i++)
        wait_for(all, i, 1, &byte);
    if (me > 0) {
        wait_for(all, 0, 1, &byte);
        wait_for(all, 0, 0, &byte);
    }
    s->others = universe - s->n;
    (void)waitio_group_free(&all);
    (void)waitio_group_free(&own);
}

int main(int argc, char **argv)
{
    struct side s = {.queue = 0};
    int trips;
    uint64_t start, mine;
    size_t bytes;
    double begin;

    if (argc < 3 || waitio_init(60) != 0)
        die("usage: bench_stage trip|stream|death BYTES [name=value...]");
    trips = argv[1][0] == 't';
    meet(&s);
    s.queue = atoi(bench_argument(argc, argv, "queue", "0"));
    s.steps = strtol(bench_argument(argc, argv, "steps", "100"), NULL, 10);
    bytes = strtoull(argv[2], NULL, 10);
    s.whole = bytes * (size_t)(s.pb == 0 ? s.n : s.others);
    share(&s, &start, &mine);
    s.got = bench_buffer(mine + 8);
    s.data = bench_buffer(mine + 8);
    begin = bench_now();
    if (s.pb == 0)
        open_out(&s, "bench 0");
    else
        open_in(&s, "bench 0");
    report_open(&s, begin);
    if (trips && s.pb == 0)
        open_in(&s, "bench 1");
    else if (trips)
        open_out(&s, "bench 1");
    if (argv[1][0] == 'd') {
        meet_death(&s);
        return 0;
    }
    run(&s, trips);
    if (s.out != NULL)
        (void)waitio_stage_close(&s.out, WAITIO_STAGE_DEFAULT);
    if (s.in != NULL)
        (void)waitio_stage_close(&s.in, WAITIO_STAGE_DEFAULT);
    return waitio_finalize() != 0;
}
