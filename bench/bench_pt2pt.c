/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pt2pt.h with WaitIO, between universe ranks 0 (measures) and 1 (answers).
 *   bench_pt2pt [CPU [SCALE [MAXBYTES]]]   with the usual WAITIO_* variables
 */
#include <waitio.h>

#include "pt2pt.h"

struct side {
    waitio_group_t all;
    int other;
    struct bench_memory out, in;
};

static void must(int rc)
{
    if (rc != 0)
        exit(1); /* the library has printed why */
}

static void give(void *arg, size_t bytes)
{
    struct side *s = arg;
    waitio_req_t r;
    must(waitio_isend(s->all, s->other, bench_place(&s->out, bytes), bytes, 0, &r));
    must(waitio_wait(&r));
}

static void take(void *arg, size_t bytes)
{
    struct side *s = arg;
    waitio_req_t r;
    must(waitio_irecv(s->all, s->other, bench_place(&s->in, bytes), bytes, 0, &r));
    must(waitio_wait(&r));
}

static void both(void *arg, size_t bytes)
{
    struct side *s = arg;
    waitio_req_t r[2];
    must(waitio_irecv(s->all, s->other, bench_place(&s->in, bytes), bytes, 0, &r[0]));
    must(waitio_isend(s->all, s->other, bench_place(&s->out, bytes), bytes, 0, &r[1]));
    must(waitio_waitall(2, r, NULL));
}

static void window(void *arg)
{
    struct side *s = arg;
    waitio_req_t r[BENCH_WINDOW];
    for (int i = 0; i < BENCH_WINDOW; i++)
        must(waitio_isend(s->all, s->other, s->out.at, 8, 0, &r[i]));
    must(waitio_waitall(BENCH_WINDOW, r, NULL));
}

static void window_taken(void *arg)
{
    struct side *s = arg;
    waitio_req_t r[BENCH_WINDOW];
    for (int i = 0; i < BENCH_WINDOW; i++)
        must(waitio_irecv(s->all, s->other, s->in.at + 8 * i, 8, 0, &r[i]));
    must(waitio_waitall(BENCH_WINDOW, r, NULL));
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

int main(int argc, char **argv)
{
    int scale = argc > 2 ? atoi(argv[2]) : 1, me = 0;
    size_t max = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    bench_pin(argc > 1 ? atoi(argv[1]) : -1);
    must(waitio_init(60));
    must(waitio_universe_rank(&me));
    struct side s = {.other = 1 - me};
    must(waitio_group_universe(0, &s.all));
    s.out = bench_memory(max);
    s.in = bench_memory(max);
    struct bench_pair p = {give, take, both, window, window_taken, &s, scale, max};
    if (me == 0) {
        bench_measure(&p);
        report_transport(); /* while the other side is still there */
        give(&s, 8);
    } else {
        bench_answer(&p);
        take(&s, 8);
    }
    return waitio_finalize() != 0;
}
