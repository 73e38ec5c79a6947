/* SPDX-License-Identifier: BSD-3-Clause */
/** @file mm_core.h  Private to the explorer: state of the machine, and what its parts need of each
 * other. */
#ifndef MM_CORE_H
#define MM_CORE_H

#include "mm.h"

#define MM_LOCS 64
#define MM_MSGS 40
#define MM_OBJS 8

/** What a thread, or somebody who reads a message, has to know of: per location the oldest message
 * that may still be read, per thread how far its plain accesses are ordered before. */
struct mm_view {
    uint8_t pos[MM_LOCS];
    uint16_t clk[MM_THREADS];
};

/** A value that was stored; a location's messages stand in modification order. */
struct mm_msg {
    uint64_t value, id;
    struct mm_view view;
    bool rmw; /* nothing may come between it and the one before */
};

struct mm_loc {
    const volatile void *at;
    size_t size;
    int n;
    struct mm_msg m[MM_MSGS];
    char name[48];
};

struct mm_obj {
    int holder; /* of a lock; -1: none */
    uint64_t id;
    struct mm_view view;
};

enum mm_wait { MM_READY, MM_NEWER, MM_LOCK, MM_COND, MM_BARRIER };

struct mm_thread {
    bool done, dead;
    enum mm_wait wait;
    int arg; /* location or object that is waited for */
    bool (*ready)(void);
    struct mm_site *site;
    const char *doing;
    uint64_t h; /* of everything that it saw: its state follows from it */
    struct mm_view cur, acq,
        rel; /* may see; may after an acquire fence; at the last release fence */
    uint16_t clk;
    int last, last_pos; /* of last: as read, views may know better */
    unsigned pending;   /* threads whose fence its membarrier still waits for */
};

struct mm_state {
    int me; /* -1: nobody, before the start */
    int nloc, nthreads;
    struct mm_loc loc[MM_LOCS];
    struct mm_obj obj[MM_OBJS];
    struct mm_thread t[MM_THREADS];
    struct mm_view sc; /* of the fences */
    uint64_t sc_id;
    uint64_t run;
    const char *mutant;
};
extern struct mm_state mm;

static inline uint64_t mm_mix(uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ b) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
    h = (h + b) * 0xbf58476d1ce4e5b9u;
    return h ^ h >> 32;
}
static inline void mm_join(struct mm_view *a, const struct mm_view *b)
{
    for (int i = 0; i < MM_LOCS; i++)
        a->pos[i] = a->pos[i] > b->pos[i] ? a->pos[i] : b->pos[i];
    for (int i = 0; i < MM_THREADS; i++)
        a->clk[i] = a->clk[i] > b->clk[i] ? a->clk[i] : b->clk[i];
}

/* ---- mm_memory.c ---- */
void mm_memory_reset(void);
uint64_t mm_memory_hash(void);
/** A full fence of a thread, wherever it stands. */
void mm_full_fence(int thread);
const char *mm_loc_name(int loc, char *buf, size_t n);

/* ---- mm_search.c ---- */
/** The running thread comes to an operation: others may go first. */
void mm_point(struct mm_site *s, const char *doing, enum mm_wait wait, int arg,
              bool (*ready)(void));
void mm_trace(int thread, const struct mm_site *s, const char *what, int loc, uint64_t value,
              int pos, int of);
/** Only a program that says so may call membarrier(2). */
void mm_has_barriers(void);
struct mm_found {
    bool violation;
    uint64_t states, runs;
    uint64_t ends; /* executions that came to their end, not to a known state */
};
/** Everything that a program can do. @param loud print the first violation and how it came */
struct mm_found mm_explore(const struct mm_program *p, bool loud);

/* ---- mm_main.c ---- */
void mm_site_seen(struct mm_site *s);

#endif
