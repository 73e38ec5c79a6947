/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file common.h
 * What the programs of the system tests share: checks that say in one line what went wrong and exit
 * with status 1, a seeded random sequence, and buffers whose contents follow from a seed.
 */
#ifndef SYSTEM_COMMON_H
#define SYSTEM_COMMON_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "waitio.h"

/** Say what went wrong, with the library's explanation, and end. */
#define DIE(...)                                                                                   \
    do {                                                                                           \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                            \
        fprintf(stderr, __VA_ARGS__);                                                              \
        fprintf(stderr, "\n");                                                                     \
        exit(1);                                                                                   \
    } while (0)
#define CHECK(cond, ...)                                                                           \
    do {                                                                                           \
        if (!(cond))                                                                               \
            DIE(__VA_ARGS__);                                                                      \
    } while (0)
/** The call must succeed. */
#define OK(call)                                                                                   \
    do {                                                                                           \
        int rc_ = (call);                                                                          \
        if (rc_ != 0)                                                                              \
            DIE("%s gave %d (%s): %s", #call, rc_, waitio_strerror(rc_), waitio_last_error());     \
    } while (0)
/** The call must give exactly this code. */
#define GIVES(code, call)                                                                          \
    do {                                                                                           \
        int rc_ = (call);                                                                          \
        if (rc_ != (code))                                                                         \
            DIE("%s gave %d (%s), not " #code ": %s", #call, rc_, waitio_strerror(rc_),            \
                waitio_last_error());                                                              \
    } while (0)

static inline uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}
/** Next number of a sequence. */
static inline uint64_t next_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15ULL;
    return mix(*state);
}
static inline uint64_t below(uint64_t *state, uint64_t n)
{
    return n == 0 ? 0 : next_random(state) % n;
}
/** Fill so that every byte depends on the seed and its place, on all machines alike. */
static inline void fill(void *buf, size_t n, uint64_t seed)
{
    uint8_t *p = buf;
    size_t i = 0;
    for (uint64_t k = 0; i + 8 <= n; i += 8, k++) {
        uint64_t v = (seed ^ (k * 0xff51afd7ed558ccdULL)) * 0xc4ceb9fe1a85ec53ULL + k;
        v = htole64(v);
        memcpy(p + i, &v, 8);
    }
    for (; i < n; i++)
        p[i] = (uint8_t)(seed >> (8 * (i & 7))) ^ (uint8_t)(i * 151);
}
/** First wrong byte, or -1. */
static inline int64_t wrong_at(const void *buf, size_t n, uint64_t seed)
{
    const uint8_t *p = buf;
    size_t i = 0;
    for (uint64_t k = 0; i + 8 <= n; i += 8, k++) {
        uint64_t want = (seed ^ (k * 0xff51afd7ed558ccdULL)) * 0xc4ceb9fe1a85ec53ULL + k, v;
        memcpy(&v, p + i, 8);
        if (le64toh(v) != want)
            return (int64_t)i;
    }
    for (; i < n; i++)
        if (p[i] != ((uint8_t)(seed >> (8 * (i & 7))) ^ (uint8_t)(i * 151)))
            return (int64_t)i;
    return -1;
}
static inline double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
static inline void sleep_s(double s)
{
    struct timespec t = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};
    nanosleep(&t, NULL);
}
static inline void *must_alloc(size_t n)
{
    void *p = malloc(n == 0 ? 1 : n);
    CHECK(p != NULL, "no memory for %zu bytes", n);
    return p;
}
static inline uint64_t counter(const char *name)
{
    uint64_t v = 0;
    OK(waitio_counter(name, &v));
    return v;
}
/** Everybody, in universe rank order. */
static inline waitio_group_t everybody(int gid, int *rank, int *size)
{
    waitio_group_t g = NULL;
    OK(waitio_group_universe(gid, &g));
    OK(waitio_group_rank(g, rank));
    OK(waitio_group_size(g, size));
    return g;
}
/** Dissemination barrier. */
static inline void barrier(waitio_group_t g, int tag)
{
    int rank, size;
    OK(waitio_group_rank(g, &rank));
    OK(waitio_group_size(g, &size));
    for (int d = 1; d < size; d *= 2)
        OK(waitio_sendrecv(g, (rank + d) % size, NULL, 0, tag, (rank - d + size) % size, NULL, 0,
                           tag, NULL));
}

#endif
