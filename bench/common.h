/* SPDX-License-Identifier: BSD-3-Clause */
/** @file common.h  Shared by the benchmark programs: clock, pinning, sizes, medians, JSON lines. */
#ifndef WAITIO_BENCH_COMMON_H
#define WAITIO_BENCH_COMMON_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BENCH_BATCHES = 7, BENCH_WINDOW = 64 };

/** One measurement: message size and round trips per batch. */
struct bench_size {
    size_t bytes;
    int rounds;
};
static struct bench_size bench_sizes[] = {
    {8, 4000},     {1024, 3000},  {8192, 2000},  {65536, 800},
    {262144, 200}, {1048576, 60}, {8388608, 12}, {67108864, 3},
};
enum { BENCH_SIZES = sizeof bench_sizes / sizeof bench_sizes[0] };

/** BENCH_BYTES="400,40000": these sizes in place of the table. */
__attribute__((constructor)) static void bench_other_sizes(void)
{
    const char *at = getenv("BENCH_BYTES");
    for (int i = 0; at != NULL && i < BENCH_SIZES; i++) {
        char *end = NULL;
        size_t bytes = strtoull(at, &end, 10);
        size_t rounds = bytes > 0 ? 60000000 / (bytes + 20000) : 1;
        if (end == at) /* never wanted: a largest size is given, too */
            bench_sizes[i].bytes = SIZE_MAX;
        else
            bench_sizes[i] = (struct bench_size){bytes, (int)rounds};
        at = end != at && *end == ',' ? end + 1 : end;
    }
}

static inline double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/** Pin this process to one processor; < 0 = leave it. */
static inline void bench_pin(int cpu)
{
    cpu_set_t set;
    if (cpu < 0)
        return;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        perror("sched_setaffinity");
}

static inline int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static inline double bench_median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, bench_compare);
    return n % 2 != 0 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/** One result as a JSON line for bench/run.py. value: seconds, or messages per second. */
static inline void bench_report(const char *metric, size_t bytes, double value)
{
    printf("{\"metric\": \"%s\", \"bytes\": %zu, \"value\": %.9g}\n", metric, bytes, value);
    fflush(stdout);
}

/** Biggest size to run, from the command line (0 = all). */
static inline int bench_wanted(size_t bytes, size_t max)
{
    return max == 0 || bytes <= max;
}

/** Memory that begins with a page. */
static inline void *bench_pages(size_t n)
{
    void *p = NULL;
    if (posix_memalign(&p, 4096, n) != 0) {
        fprintf(stderr, "no memory for a buffer of %zu bytes\n", n);
        exit(1);
    }
    memset(p, 1, n);
    return p;
}

/** A buffer as programs have it: from malloc, which puts large ones 16 bytes behind the beginning
 * of a page. BENCH_OFFSET=N: N bytes behind one. */
static inline void *bench_buffer(size_t n)
{
    const char *offset = getenv("BENCH_OFFSET");
    void *p;
    if (offset != NULL)
        return (char *)bench_pages(n + 4096) + strtoul(offset, NULL, 10) % 4096;
    p = malloc(n);
    if (p == NULL) {
        fprintf(stderr, "no memory for a buffer of %zu bytes\n", n);
        exit(1);
    }
    memset(p, 1, n);
    return p;
}

/** The value of an argument "name=value", or what holds without one. */
static inline const char *bench_argument(int argc, char **argv, const char *name,
                                         const char *otherwise)
{
    size_t n = strlen(name);
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], name, n) == 0 && argv[i][n] == '=')
            return argv[i] + n + 1;
    return otherwise;
}

/** Is @p word in a list with commas? */
static inline int bench_listed(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, n) == 0 && (at[n] == ',' || at[n] == '\0'))
            return 1;
    }
    return 0;
}

/**
 * The measuring loop of rank 0: batches of round trips, median of the half round trips.
 * @param trip one round trip of @p bytes
 */
static inline double bench_pingpong(void (*trip)(void *arg, size_t bytes), void *arg,
                                    struct bench_size s, int scale)
{
    double v[BENCH_BATCHES];
    int rounds = s.rounds / scale > 1 ? s.rounds / scale : 1;
    for (int i = 0; i < rounds / 4 + 1; i++)
        trip(arg, s.bytes);
    for (int b = 0; b < BENCH_BATCHES; b++) {
        double t = bench_now();
        for (int i = 0; i < rounds; i++)
            trip(arg, s.bytes);
        v[b] = (bench_now() - t) / rounds / 2;
    }
    return bench_median(v, BENCH_BATCHES);
}

/** Round trips that bench_pingpong() makes, for the echoing side. */
static inline int bench_trips(struct bench_size s, int scale)
{
    int rounds = s.rounds / scale > 1 ? s.rounds / scale : 1;
    return rounds / 4 + 1 + BENCH_BATCHES * rounds;
}

enum { BENCH_RATE_WINDOWS = 1500 };

/** Rate loop of rank 0: window() sends BENCH_WINDOW messages of 8 B and waits for one answer. */
static inline double bench_rate(void (*window)(void *arg), void *arg, int scale)
{
    double v[BENCH_BATCHES];
    int n = BENCH_RATE_WINDOWS / scale > 1 ? BENCH_RATE_WINDOWS / scale : 1;
    for (int b = 0; b < BENCH_BATCHES; b++) {
        double t = bench_now();
        for (int i = 0; i < n; i++)
            window(arg);
        v[b] = n * (double)BENCH_WINDOW / (bench_now() - t);
    }
    return bench_median(v, BENCH_BATCHES);
}

static inline int bench_windows(int scale)
{
    int n = BENCH_RATE_WINDOWS / scale > 1 ? BENCH_RATE_WINDOWS / scale : 1;
    return BENCH_BATCHES * n;
}

/* Streams: one side only sends. */
static size_t bench_stream_sizes[] = {8, 1024, SIZE_MAX, SIZE_MAX}; /* the last two: none */
enum { BENCH_STREAMS = 4, BENCH_STREAM_MESSAGES = 40000, BENCH_STREAM_BYTES = 160 << 20 };

/** BENCH_STREAMS="1024,1048576": these sizes in place of the table. */
__attribute__((constructor)) static void bench_other_streams(void)
{
    const char *at = getenv("BENCH_STREAMS");
    for (int i = 0; at != NULL && i < BENCH_STREAMS; i++) {
        char *end = NULL;
        size_t bytes = strtoull(at, &end, 10);
        bench_stream_sizes[i] = end != at ? bytes : SIZE_MAX;
        at = end != at && *end == ',' ? end + 1 : end;
    }
}

/** Send one message, or take one. */
typedef void (*bench_one)(void *arg, size_t bytes);

static inline int bench_stream_length(size_t bytes, int scale)
{
    size_t n = BENCH_STREAM_MESSAGES, most = BENCH_STREAM_BYTES / (bytes + 1);
    n = (n < most ? n : most) / (size_t)scale;
    return n > 1 ? (int)n : 1;
}

static inline int bench_stream_wanted(size_t bytes, size_t max)
{
    return bytes != SIZE_MAX && bench_wanted(bytes, max);
}

/** Rank 0: messages per second that it sends one after the other; the last is answered. */
static inline void bench_streams(bench_one give, bench_one take, void *arg, int scale, size_t max)
{
    for (int s = 0; s < BENCH_STREAMS; s++) {
        size_t bytes = bench_stream_sizes[s];
        double v[BENCH_BATCHES];
        int n = bench_stream_length(bytes, scale);
        if (!bench_stream_wanted(bytes, max))
            continue;
        for (int b = 0; b < BENCH_BATCHES; b++) {
            double t = bench_now();
            for (int i = 0; i < n; i++)
                give(arg, bytes);
            take(arg, 8);
            v[b] = n / (bench_now() - t);
        }
        bench_report("stream", bytes, bench_median(v, BENCH_BATCHES));
    }
}

/** The other side of bench_streams(). */
static inline void bench_answer_streams(bench_one give, bench_one take, void *arg, int scale,
                                        size_t max)
{
    for (int s = 0; s < BENCH_STREAMS; s++)
        for (int b = 0; bench_stream_wanted(bench_stream_sizes[s], max) && b < BENCH_BATCHES; b++) {
            for (int i = 0; i < bench_stream_length(bench_stream_sizes[s], scale); i++)
                take(arg, bench_stream_sizes[s]);
            give(arg, 8);
        }
}

/** All that rank 0 measures. @param window sends BENCH_WINDOW messages of 8 B, and takes an answer
 */
static inline void bench_measure(bench_one trip, void (*window)(void *arg), bench_one give,
                                 bench_one take, void *arg, int scale, size_t max)
{
    for (int i = 0; i < BENCH_SIZES; i++)
        if (bench_wanted(bench_sizes[i].bytes, max))
            bench_report("half_rtt", bench_sizes[i].bytes,
                         bench_pingpong(trip, arg, bench_sizes[i], scale));
    bench_report("rate", 8, bench_rate(window, arg, scale));
    bench_streams(give, take, arg, scale, max);
}

/** The other side of bench_measure(). @param taken takes what window() sends; NULL: one by one */
static inline void bench_answer(bench_one give, bench_one take, void (*taken)(void *arg), void *arg,
                                int scale, size_t max)
{
    for (int i = 0; i < BENCH_SIZES; i++)
        for (int k = 0;
             bench_wanted(bench_sizes[i].bytes, max) && k < bench_trips(bench_sizes[i], scale);
             k++) {
            take(arg, bench_sizes[i].bytes);
            give(arg, bench_sizes[i].bytes);
        }
    for (int k = 0; k < bench_windows(scale); k++) {
        for (int i = 0; taken == NULL && i < BENCH_WINDOW; i++)
            take(arg, 8);
        if (taken != NULL)
            taken(arg);
        give(arg, 8);
    }
    bench_answer_streams(give, take, arg, scale, max);
}

#endif
