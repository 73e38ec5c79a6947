/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file overlap.c
 * Does a transfer go on while the program computes? One side computes between starting its
 * operation and waiting for it; the other only waits, so that two processors are enough. First the
 * transfer alone, then the computation alone (three times as long), then both. The copies need a
 * processor: where the computing side takes one of two, the sender's and the receiver's copies,
 * which otherwise run side by side, share the other one and take twice as long; three times is
 * enough to hide them.
 */
#include "perf.h"

enum { MOST_REPEATS = 7, COMPUTE_TIMES = 3 };

/* Arithmetic in registers: it shares nothing with a transfer but the processor. */
static void compute(uint64_t turns)
{
    volatile uint64_t keep;
    uint64_t x = turns | 1;
    for (uint64_t i = 0; i < turns; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    keep = x;
    (void)keep;
}

static double time_compute(uint64_t turns)
{
    double begin = perf_now();
    compute(turns);
    return perf_now() - begin;
}

/* The receive is posted before the sender is told to go. */
static double transfer(struct perf_side *s, uint64_t turns)
{
    waitio_req_t r;
    char go = 0;
    size_t bytes = s->c->bytes;
    double begin;
    if (s->first) {
        perf_recv(s->team, s->other, &go, 1, PERF_TAG_GO);
        begin = perf_now();
        perf_must(waitio_isend(s->team->all, s->other, s->work->out, bytes, PERF_TAG_DATA, &r));
    } else {
        perf_must(waitio_irecv(s->team->all, s->other, s->work->in, bytes, PERF_TAG_DATA, &r));
        perf_send(s->team, s->other, &go, 1, PERF_TAG_GO);
        begin = perf_now();
    }
    if (turns > 0)
        compute(turns);
    perf_must(waitio_wait(&r));
    return perf_now() - begin;
}

static double transfers(struct perf_side *s, uint64_t turns)
{
    double v[MOST_REPEATS];
    for (int i = 0; i < s->c->rounds; i++)
        v[i] = transfer(s, turns);
    return perf_median(v, s->c->rounds);
}

/* The computation alone, while the other side sleeps in a receive. */
static double computations(const struct perf_side *s, uint64_t turns)
{
    double v[MOST_REPEATS];
    for (int i = 0; i < s->c->rounds; i++)
        v[i] = time_compute(turns);
    return perf_median(v, s->c->rounds);
}

static void computing_side(struct perf_side *s, double *v)
{
    char done = 0;
    const uint64_t sample = 2000000;
    v[PERF_V_TRANSFER] = transfers(s, 0);
    double each = time_compute(sample) / (double)sample;
    uint64_t turns = (uint64_t)(COMPUTE_TIMES * v[PERF_V_TRANSFER] / each) + 1;
    v[PERF_V_COMPUTE] = computations(s, turns);
    perf_send(s->team, s->other, &done, 1, PERF_TAG_PING);
    v[PERF_V_BOTH] = transfers(s, turns);
}

static void waiting_side(struct perf_side *s)
{
    char done;
    transfers(s, 0);
    perf_recv(s->team, s->other, &done, 1, PERF_TAG_PING);
    transfers(s, 0);
}

void perf_overlap(struct perf_side *s)
{
    double *receiver = s->value + PERF_V_OVERLAP_SIDE;
    if (s->first)
        perf_mark(s->work->out, s->c->bytes, s->team->me);
    else
        perf_unmark(s->work->in, s->c->bytes);
    transfer(s, 0);
    if (s->first) {
        computing_side(s, s->value);
        waiting_side(s);
        perf_recv_values(s->team, s->other, receiver, PERF_V_OVERLAP_SIDE);
        return;
    }
    waiting_side(s);
    computing_side(s, receiver);
    perf_send_values(s->team, s->other, receiver, PERF_V_OVERLAP_SIDE);
    perf_verify(s->team, s->work->in, s->c->bytes, s->other);
}
