/* SPDX-License-Identifier: BSD-3-Clause */
/** @file common.h  Shared by the benchmark programs: clock, pinning, buffers, medians, JSON lines.
 */
#ifndef WAITIO_BENCH_COMMON_H
#define WAITIO_BENCH_COMMON_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BENCH_BATCHES = 7 };

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

#endif
