/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * WaitIO ping-pong, message rate and streams between universe ranks 0 (measures) and 1 (echoes).
 *   bench_pt2pt [CPU [SCALE [MAXBYTES]]]   with the usual WAITIO_* variables
 */
#include <waitio.h>

#include "common.h"

struct side {
    waitio_group_t all;
    int other;
    char *sbuf, *rbuf;
};

static void must(int rc)
{
    if (rc != 0)
        exit(1); /* the library has printed why */
}

static void give(void *arg, size_t bytes)
{
    const struct side *s = arg;
    waitio_req_t r;
    must(waitio_isend(s->all, s->other, s->sbuf, bytes, 0, &r));
    must(waitio_wait(&r));
}

static void take(void *arg, size_t bytes)
{
    const struct side *s = arg;
    waitio_req_t r;
    must(waitio_irecv(s->all, s->other, s->rbuf, bytes, 0, &r));
    must(waitio_wait(&r));
}

static void trip(void *arg, size_t bytes)
{
    give(arg, bytes);
    take(arg, bytes);
}

static void window(void *arg)
{
    struct side *s = arg;
    waitio_req_t r[BENCH_WINDOW];
    for (int i = 0; i < BENCH_WINDOW; i++)
        must(waitio_isend(s->all, s->other, s->sbuf, 8, 0, &r[i]));
    must(waitio_waitall(BENCH_WINDOW, r, NULL));
    take(s, 8);
}

static void answer_window(struct side *s)
{
    waitio_req_t r[BENCH_WINDOW];
    for (int i = 0; i < BENCH_WINDOW; i++)
        must(waitio_irecv(s->all, s->other, s->rbuf + 8 * i, 8, 0, &r[i]));
    must(waitio_waitall(BENCH_WINDOW, r, NULL));
    give(s, 8);
}

/* What the library's own words say the link to the other side is: "peer NAME: tcp, ..." */
static void report_transport(void)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    if (f == NULL)
        return;
    must(waitio_dump(f));
    fclose(f);
    const char *at = strstr(text, "\npeer "), *end;
    at = at != NULL ? strstr(at, ": ") : NULL;
    end = at != NULL ? strpbrk(at, ",\n") : NULL;
    if (end != NULL)
        printf("{\"transport\": \"%.*s\"}\n", (int)(end - at - 2), at + 2);
    free(text);
}

static void echo(struct side *s, int scale, size_t max)
{
    for (int i = 0; i < BENCH_SIZES; i++)
        for (int k = 0;
             bench_wanted(bench_sizes[i].bytes, max) && k < bench_trips(bench_sizes[i], scale);
             k++) {
            take(s, bench_sizes[i].bytes);
            give(s, bench_sizes[i].bytes);
        }
    for (int k = 0; k < bench_windows(scale); k++)
        answer_window(s);
    bench_answer_streams(give, take, s, scale, max);
}

int main(int argc, char **argv)
{
    int scale = argc > 2 ? atoi(argv[2]) : 1, me = 0;
    size_t max = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    bench_pin(argc > 1 ? atoi(argv[1]) : -1);
    must(waitio_init(60));
    must(waitio_universe_rank(&me));
    struct side s = {.other = 1 - me};
    must(waitio_group_universe(0, &s.all));
    size_t room = max != 0 ? max + 8 * BENCH_WINDOW : bench_sizes[BENCH_SIZES - 1].bytes;
    s.sbuf = bench_buffer(room);
    s.rbuf = bench_buffer(room);
    if (me == 0) {
        for (int i = 0; i < BENCH_SIZES; i++)
            if (bench_wanted(bench_sizes[i].bytes, max))
                bench_report("half_rtt", bench_sizes[i].bytes,
                             bench_pingpong(trip, &s, bench_sizes[i], scale));
        report_transport(); /* while the other side is still there */
        bench_report("rate", 8, bench_rate(window, &s, scale));
        bench_streams(give, take, &s, scale, max);
    } else {
        echo(&s, scale, max);
    }
    return waitio_finalize() != 0;
}
