/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file pt2pt.h
 * What the programs of bench/run.py measure between two processes, each with its own way of
 * sending: round trips, 8-byte messages in windows, streams, and messages both ways at once. Rank 0
 * measures (bench_measure), the other one answers (bench_answer).
 *
 * The environment may say (to all of them alike):
 *   BENCH_BYTES=400,40000   these sizes in the place of the table
 *   BENCH_STREAMS=8,1024    these sizes of streams and of messages both ways
 *   BENCH_TURN=268435456    each message from, and to, the next place in so many bytes: no
 *                           buffer is in a cache when its turn comes
 *   BENCH_FIRST=1000        only: the first so many round trips of the first size, then its
 *                           steady state
 */
#ifndef WAITIO_BENCH_PT2PT_H
#define WAITIO_BENCH_PT2PT_H

#include "common.h"

enum { BENCH_WINDOW = 64, BENCH_RATE_WINDOWS = 1500 };
enum { BENCH_STREAM_MESSAGES = 40000, BENCH_STREAM_BYTES = 160 << 20 };

/** A message size, and round trips per batch. */
struct bench_size {
    size_t bytes;
    int rounds;
};
static struct bench_size bench_sizes[] = {
    {8, 4000},     {256, 4000},   {1024, 3000},  {2048, 3000},  {4096, 3000},
    {5120, 2500},  {8192, 2000},  {16384, 1500}, {65536, 800},  {262144, 200},
    {1048576, 60}, {4194304, 20}, {8388608, 12}, {67108864, 3},
};
enum { BENCH_SIZES = sizeof bench_sizes / sizeof bench_sizes[0] };
static size_t bench_stream_sizes[BENCH_SIZES]; /* SIZE_MAX: none */

static inline size_t bench_number(const char **at, size_t otherwise)
{
    char *end = NULL;
    size_t v = *at != NULL ? strtoull(*at, &end, 10) : otherwise;
    if (*at == NULL || end == *at)
        return otherwise;
    *at = *end == ',' ? end + 1 : end;
    return v;
}

__attribute__((constructor)) static void bench_other_sizes(void)
{
    const char *bytes = getenv("BENCH_BYTES"), *streams = getenv("BENCH_STREAMS");
    for (int i = 0; i < BENCH_SIZES; i++) {
        size_t n = bench_number(&bytes, bytes != NULL ? SIZE_MAX : bench_sizes[i].bytes);
        if (bytes != NULL)
            bench_sizes[i] =
                (struct bench_size){n, n < SIZE_MAX ? (int)(60000000 / (n + 20000)) : 1};
        bench_stream_sizes[i] = bench_number(&streams, streams != NULL ? SIZE_MAX : n);
    }
}

/** The memory that messages are sent from, or come to. */
struct bench_memory {
    char *at;
    size_t room, next;
    int turn;
};

/** Memory for messages of up to @p max bytes (0: the largest size), as BENCH_TURN has it. */
static inline struct bench_memory bench_memory(size_t max)
{
    const char *turn = getenv("BENCH_TURN");
    struct bench_memory m = {.turn = turn != NULL};
    size_t room = max != 0 ? max : 0, least = turn != NULL ? strtoull(turn, NULL, 10) : 0;
    for (int i = 0; max == 0 && i < BENCH_SIZES; i++)
        if (bench_sizes[i].bytes != SIZE_MAX && bench_sizes[i].bytes > room)
            room = bench_sizes[i].bytes;
    m.room = (room > least ? room : least) + 8 * BENCH_WINDOW;
    m.at = bench_buffer(m.room);
    return m;
}

/** Where the next message of @p n bytes lies. */
static inline char *bench_place(struct bench_memory *m, size_t n)
{
    if (!m->turn)
        return m->at;
    if (m->next + n > m->room)
        m->next = 0;
    char *at = m->at + m->next;
    m->next += (n + 63) / 64 * 64;
    return at;
}

/** Send a message of so many bytes, take one, or both at once. */
typedef void (*bench_one)(void *arg, size_t bytes);

/** A program's way of sending. */
struct bench_pair {
    bench_one give, take;
    bench_one both;            /* one message each way at the same time; NULL: it cannot */
    void (*window)(void *arg); /* send BENCH_WINDOW messages of 8 B; NULL: one after the other */
    void (*taken)(void *arg);  /* take them; NULL: one after the other */
    void *arg;
    int scale;  /* divides the number of messages */
    size_t max; /* bytes of the largest message; 0: no limit */
};

static inline int bench_scaled(int n, int scale)
{
    return n / scale > 1 ? n / scale : 1;
}

static inline int bench_has(const struct bench_pair *p, size_t bytes)
{
    return bytes != SIZE_MAX && bench_wanted(bytes, p->max);
}

/** Messages of a stream's batch. */
static inline int bench_stream_length(const struct bench_pair *p, size_t bytes)
{
    size_t n = BENCH_STREAM_MESSAGES, most = BENCH_STREAM_BYTES / (bytes + 1);
    return bench_scaled((int)(n < most ? n : most), p->scale);
}

static inline void bench_trips(const struct bench_pair *p, size_t bytes, int n, int first)
{
    for (int i = 0; i < n; i++) {
        if (first)
            p->give(p->arg, bytes);
        p->take(p->arg, bytes);
        if (!first)
            p->give(p->arg, bytes);
    }
}

static inline void bench_boths(const struct bench_pair *p, size_t bytes, int n)
{
    for (int i = 0; i < n; i++)
        p->both(p->arg, bytes);
}

/** Batches of round trips: the median of the half round trips. */
static inline void bench_half_rtt(const struct bench_pair *p, struct bench_size s)
{
    double v[BENCH_BATCHES];
    int rounds = bench_scaled(s.rounds, p->scale);
    bench_trips(p, s.bytes, rounds / 4 + 1, 1);
    for (int b = 0; b < BENCH_BATCHES; b++) {
        double t = bench_now();
        bench_trips(p, s.bytes, rounds, 1);
        v[b] = (bench_now() - t) / rounds / 2;
    }
    bench_report("half_rtt", s.bytes, bench_median(v, BENCH_BATCHES));
}

static inline void bench_windows(const struct bench_pair *p)
{
    for (int i = 0; p->window == NULL && i < BENCH_WINDOW; i++)
        p->give(p->arg, 8);
    if (p->window != NULL)
        p->window(p->arg);
    p->take(p->arg, 8);
}

static inline void bench_rate(const struct bench_pair *p)
{
    double v[BENCH_BATCHES];
    int n = bench_scaled(BENCH_RATE_WINDOWS, p->scale);
    for (int b = 0; b < BENCH_BATCHES; b++) {
        double t = bench_now();
        for (int i = 0; i < n; i++)
            bench_windows(p);
        v[b] = n * (double)BENCH_WINDOW / (bench_now() - t);
    }
    bench_report("rate", 8, bench_median(v, BENCH_BATCHES));
}

/** Messages per second, one after the other; the last is answered. */
static inline void bench_stream(const struct bench_pair *p, size_t bytes)
{
    double v[BENCH_BATCHES];
    int n = bench_stream_length(p, bytes);
    for (int b = 0; b < BENCH_BATCHES; b++) {
        double t = bench_now();
        for (int i = 0; i < n; i++)
            p->give(p->arg, bytes);
        p->take(p->arg, 8);
        v[b] = n / (bench_now() - t);
    }
    bench_report("stream", bytes, bench_median(v, BENCH_BATCHES));
}

/** Exchanges of a batch, which has not more bytes than a stream's. */
static inline int bench_both_length(const struct bench_pair *p, size_t bytes)
{
    return bench_scaled(bench_stream_length(p, bytes), 4);
}

/** Seconds for one message each way at the same time. */
static inline void bench_both(const struct bench_pair *p, size_t bytes)
{
    double v[BENCH_BATCHES];
    int n = bench_both_length(p, bytes);
    bench_boths(p, bytes, n / 4 + 1);
    for (int b = 0; b < BENCH_BATCHES; b++) {
        double t = bench_now();
        bench_boths(p, bytes, n);
        v[b] = (bench_now() - t) / n;
    }
    bench_report("both", bytes, bench_median(v, BENCH_BATCHES));
}

/** BENCH_FIRST: round trips of a fresh pair. 0: not asked for. */
static inline int bench_first(void)
{
    const char *text = getenv("BENCH_FIRST");
    return text != NULL ? atoi(text) : 0;
}

/** All that rank 0 measures. */
static inline void bench_measure(const struct bench_pair *p)
{
    int first = bench_first();
    if (first > 0) {
        bench_trips(p, 8, 1, 1); /* the connection is made */
        double t = bench_now();
        bench_trips(p, bench_sizes[0].bytes, first, 1);
        bench_report("first", bench_sizes[0].bytes, (bench_now() - t) / first / 2);
        bench_half_rtt(p, bench_sizes[0]);
        return;
    }
    for (int i = 0; i < BENCH_SIZES; i++)
        if (bench_has(p, bench_sizes[i].bytes))
            bench_half_rtt(p, bench_sizes[i]);
    bench_rate(p);
    for (int i = 0; i < BENCH_SIZES; i++)
        if (bench_has(p, bench_stream_sizes[i]))
            bench_stream(p, bench_stream_sizes[i]);
    for (int i = 0; p->both != NULL && i < BENCH_SIZES; i++)
        if (bench_has(p, bench_stream_sizes[i]))
            bench_both(p, bench_stream_sizes[i]);
}

static inline void bench_answer_trips(const struct bench_pair *p, struct bench_size s)
{
    int rounds = bench_scaled(s.rounds, p->scale);
    bench_trips(p, s.bytes, rounds / 4 + 1 + BENCH_BATCHES * rounds, 0);
}

static inline void bench_answer_rate(const struct bench_pair *p)
{
    for (int k = 0; k < BENCH_BATCHES * bench_scaled(BENCH_RATE_WINDOWS, p->scale); k++) {
        for (int i = 0; p->taken == NULL && i < BENCH_WINDOW; i++)
            p->take(p->arg, 8);
        if (p->taken != NULL)
            p->taken(p->arg);
        p->give(p->arg, 8);
    }
}

static inline void bench_answer_stream(const struct bench_pair *p, size_t bytes)
{
    for (int b = 0; b < BENCH_BATCHES; b++) {
        for (int i = 0; i < bench_stream_length(p, bytes); i++)
            p->take(p->arg, bytes);
        p->give(p->arg, 8);
    }
}

static inline void bench_answer_both(const struct bench_pair *p, size_t bytes)
{
    int n = bench_both_length(p, bytes);
    bench_boths(p, bytes, n / 4 + 1 + BENCH_BATCHES * n);
}

/** The other side of bench_measure(). */
static inline void bench_answer(const struct bench_pair *p)
{
    int first = bench_first();
    if (first > 0) {
        bench_trips(p, 8, 1, 0);
        bench_trips(p, bench_sizes[0].bytes, first, 0);
        bench_answer_trips(p, bench_sizes[0]);
        return;
    }
    for (int i = 0; i < BENCH_SIZES; i++)
        if (bench_has(p, bench_sizes[i].bytes))
            bench_answer_trips(p, bench_sizes[i]);
    bench_answer_rate(p);
    for (int i = 0; i < BENCH_SIZES; i++)
        if (bench_has(p, bench_stream_sizes[i]))
            bench_answer_stream(p, bench_stream_sizes[i]);
    for (int i = 0; p->both != NULL && i < BENCH_SIZES; i++)
        if (bench_has(p, bench_stream_sizes[i]))
            bench_answer_both(p, bench_stream_sizes[i]);
}

#endif
