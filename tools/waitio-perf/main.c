/* SPDX-License-Identifier: BSD-3-Clause */
/** @file main.c  waitio-perf: the list of cases, run in step by all processes. */
#include <stdlib.h>

#include "perf.h"

static void (*const measures[PERF_MODES])(struct perf_side *) = {
    [PERF_LATENCY] = perf_latency, [PERF_BANDWIDTH] = perf_bandwidth, [PERF_RATE] = perf_bandwidth,
    [PERF_OVERLAP] = perf_overlap, [PERF_LOAD] = perf_load,
};

/* Calls fn for every case. */
static void each_case(const struct perf_options *o, const struct perf_team *t,
                      void (*fn)(void *arg, const struct perf_case *c), void *arg)
{
    for (int m = 0; m < PERF_MODES; m++) {
        const size_t *sizes;
        int n = perf_sizes(o, (enum perf_mode)m, &sizes);
        for (int i = 0; o->mode[m] && i < o->nstream; i++)
            for (int k = 0; k < n; k++) {
                struct perf_case c = {.mode = (enum perf_mode)m, .bytes = sizes[k]};
                c.streams = o->stream[i] == PERF_ALL_STREAMS ? t->npair : o->stream[i];
                perf_plan_rounds(&c, o->rounds);
                fn(arg, &c);
            }
    }
}

struct run {
    const struct perf_team *team;
    struct perf_report report;
    struct perf_work work;
    bool first;
    int cases;
};

static void plan(void *arg, const struct perf_case *c)
{
    struct run *run = arg;
    size_t out, in;
    perf_room(c, run->first, &out, &in);
    run->cases++;
    if (out > run->work.out_room)
        run->work.out_room = out;
    if (in > run->work.in_room)
        run->work.in_room = in;
}

/* Rank 0 collects what the measuring side of every busy pair found. */
static void collect(struct run *run, const struct perf_case *c, double *mine)
{
    const struct perf_team *t = run->team;
    bool busy = t->mine >= 0 && t->mine < c->streams;
    if (t->me != 0) {
        if (busy && run->first)
            perf_send_values(t, 0, mine, PERF_VALUES);
        return;
    }
    double(*v)[PERF_VALUES] = calloc((size_t)c->streams, sizeof *v);
    if (v == NULL) {
        fprintf(stderr, "waitio-perf: no memory for the results of %d streams\n", c->streams);
        waitio_abort(1);
        return;
    }
    for (int i = 0; i < c->streams; i++) {
        int from = t->pair[i].rank[0];
        for (int k = 0; from == 0 && k < PERF_VALUES; k++)
            v[i][k] = mine[k];
        if (from != 0)
            perf_recv_values(t, from, v[i], PERF_VALUES);
    }
    perf_report_row(&run->report, c, v);
    free(v);
}

static void run_case(void *arg, const struct perf_case *c)
{
    struct run *run = arg;
    const struct perf_team *t = run->team;
    double value[PERF_VALUES] = {0};
    if (t->me == 0)
        perf_report_case(&run->report, c);
    perf_barrier(t);
    if (t->mine >= 0 && t->mine < c->streams) {
        struct perf_side s = {.team = t, .c = c, .work = &run->work, .value = value};
        s.first = run->first;
        s.other = t->pair[t->mine].rank[run->first ? 1 : 0];
        measures[c->mode](&s);
    }
    perf_barrier(t);
    collect(run, c, value);
}

int main(int argc, char **argv)
{
    struct perf_options o;
    struct perf_team t;
    int status = perf_options_read(&o, argc, argv);
    if (status >= 0)
        return status;
    status = perf_team_join(&t, &o);
    if (status >= 0) {
        bool joined = t.all != NULL;
        perf_team_free(&t);
        return joined && waitio_finalize() != 0 ? 1 : status;
    }
    struct run run = {.team = &t};
    run.first = t.mine >= 0 && t.pair[t.mine].rank[0] == t.me;
    each_case(&o, &t, plan, &run);
    if (t.mine >= 0) {
        run.work.out = run.work.out_room > 0 ? perf_buffer(run.work.out_room) : NULL;
        run.work.in = run.work.in_room > 0 ? perf_buffer(run.work.in_room) : NULL;
    }
    if (t.me == 0)
        perf_report_begin(&run.report, &o, &t, run.cases);
    each_case(&o, &t, run_case, &run);
    status = t.me == 0 ? perf_report_end(&run.report) : 0;
    perf_team_free(&t);
    free(run.work.out);
    free(run.work.in);
    return waitio_finalize() != 0 ? 1 : status;
}
