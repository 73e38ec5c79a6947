/* SPDX-License-Identifier: BSD-3-Clause */
/** @file measure.c  How often, and the two plain measurements: ping-pong and one-way windows. */
#include "perf.h"

/* Enough to measure, not so much that a slow network takes minutes. */
static const size_t pingpong_bytes = 256u << 20, window_bytes = 1u << 30;
enum { LEAST_TRIPS = 10, LEAST_WINDOWS = 5, LEAST_UNDER_WAY = 2 };

static int at_most(int n, size_t bytes, size_t budget, int least)
{
    size_t fits = budget / bytes;
    if (fits < (size_t)least)
        fits = (size_t)least;
    return fits < (size_t)n ? (int)fits : n;
}

void perf_plan_rounds(struct perf_case *c, int rounds)
{
    c->window = 1;
    c->rounds = rounds;
    if (c->mode == PERF_LATENCY) {
        c->rounds = at_most(rounds, c->bytes, pingpong_bytes, LEAST_TRIPS);
    } else if (c->mode == PERF_BANDWIDTH || c->mode == PERF_RATE) {
        c->window = at_most(PERF_WINDOW, c->bytes, 16u << 20, LEAST_UNDER_WAY);
        c->rounds = at_most(rounds, c->bytes * (size_t)c->window, window_bytes, LEAST_WINDOWS);
    } else if (c->mode == PERF_OVERLAP) {
        c->rounds = rounds < 7 ? rounds : 7;
    }
}

void perf_room(const struct perf_case *c, bool first, size_t *out, size_t *in)
{
    bool both_ways = c->mode == PERF_LATENCY;
    *out = first || both_ways ? c->bytes : 0;
    *in = !first || both_ways ? c->bytes * (size_t)c->window : 0;
}

void perf_batches(void (*fn)(struct perf_side *), struct perf_side *s, int n, double scale)
{
    int batches = n < PERF_BATCHES ? n : PERF_BATCHES;
    double begin = perf_now(), before = begin;
    for (int b = 0; b < batches; b++) {
        int from = (int)((long long)n * b / batches), to = (int)((long long)n * (b + 1) / batches);
        for (int i = from; i < to; i++)
            fn(s);
        double now = perf_now();
        s->value[PERF_V_BATCH + b] = (now - before) / (to - from) * scale;
        before = now;
    }
    s->value[PERF_V_MEAN] = (before - begin) / n * scale;
    s->value[PERF_V_BATCHES] = batches;
}

static void give(struct perf_side *s)
{
    perf_send(s->team, s->other, s->work->out, s->c->bytes, PERF_TAG_DATA);
}

static void take(struct perf_side *s)
{
    perf_recv(s->team, s->other, s->work->in, s->c->bytes, PERF_TAG_DATA);
}

static void trip(struct perf_side *s)
{
    give(s);
    take(s);
}

void perf_latency(struct perf_side *s)
{
    int warm = s->c->rounds / 10 + 1;
    perf_mark(s->work->out, s->c->bytes, s->team->me);
    perf_unmark(s->work->in, s->c->bytes);
    if (s->first) {
        for (int i = 0; i < warm; i++)
            trip(s);
        perf_batches(trip, s, s->c->rounds, 0.5);
    } else {
        for (int i = 0; i < warm + s->c->rounds; i++) {
            take(s);
            give(s);
        }
    }
    perf_verify(s->team, s->work->in, s->c->bytes, s->other);
}

static void send_window(struct perf_side *s)
{
    waitio_req_t r[PERF_WINDOW];
    char answer;
    for (int i = 0; i < s->c->window; i++)
        perf_must(
            waitio_isend(s->team->all, s->other, s->work->out, s->c->bytes, PERF_TAG_DATA, &r[i]));
    perf_must(waitio_waitall(s->c->window, r, NULL));
    perf_recv(s->team, s->other, &answer, 1, PERF_TAG_GO);
}

static void recv_window(struct perf_side *s)
{
    waitio_req_t r[PERF_WINDOW];
    char answer = 0;
    for (int i = 0; i < s->c->window; i++)
        perf_must(waitio_irecv(s->team->all, s->other, s->work->in + (size_t)i * s->c->bytes,
                               s->c->bytes, PERF_TAG_DATA, &r[i]));
    perf_must(waitio_waitall(s->c->window, r, NULL));
    perf_send(s->team, s->other, &answer, 1, PERF_TAG_GO);
}

void perf_bandwidth(struct perf_side *s)
{
    int warm = s->c->rounds / 10 + 1;
    if (s->first) {
        perf_mark(s->work->out, s->c->bytes, s->team->me);
        for (int i = 0; i < warm; i++)
            send_window(s);
        perf_batches(send_window, s, s->c->rounds, 1.0 / s->c->window);
        return;
    }
    for (int i = 0; i < s->c->window; i++)
        perf_unmark(s->work->in + (size_t)i * s->c->bytes, s->c->bytes);
    for (int i = 0; i < warm + s->c->rounds; i++)
        recv_window(s);
    for (int i = 0; i < s->c->window; i++)
        perf_verify(s->team, s->work->in + (size_t)i * s->c->bytes, s->c->bytes, s->other);
}
