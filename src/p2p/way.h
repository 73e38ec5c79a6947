/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file way.h
 * Ring or fetch? Through a ring two processors copy a message twice, at the same time; by a fetch
 * one copies it once, with a system call. Which is quicker depends on the caches that the two
 * processors share, and so on where the system has put the two processes: a factor of two either
 * way. So the sender of a message that could go both ways has some of them measured: a few through
 * the ring, as many by fetch, and more of a way that still gets faster: the first messages of each
 * find the caches as the other way has left them. The receiver says how long each took from the
 * moment it was matched. The quicker way is used until the next trial, which comes later each time.
 * (The idea: Faraj, Yuan, Lowenthal: STAR-MPI, ICS 2006; as mpi/tune.h.)
 *
 * No clock and no transport here; not thread-safe, the engine lock is held.
 */
#ifndef WIO_WAY_H
#define WIO_WAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WIO_WAY_SMALLEST_LOG2 = 13, /* the first class is up to 16 KiB */
    WIO_WAY_CLASSES = 14,       /* by powers of two; the last has no end: 64 MiB and more */
    WIO_WAY_TRIES = 3,          /* measured messages of each way; the quickest counts */
    WIO_WAY_MOST = 8,           /* ... at most, as long as each is quicker than those before */
    WIO_WAY_LATE = 16,          /* two late fetches among so many: none before the next trial */
    WIO_WAY_SOON = 32,          /* messages until the next trial: the first meet cold memory */
    WIO_WAY_KEPT = 512 /* ... at most: each time twice as many, or at once when two trials agree */
};

/** Messages of about one size to one peer. Zero is a beginning. */
struct wio_way {
    uint16_t calls, kept; /* messages since the trial began; until the next one */
    uint8_t tries[2];     /* messages of this trial by each way: ring, fetch */
    bool fetch;           /* what the last trial chose */
    bool before;          /* what the one before chose */
    uint8_t late;         /* grows with fetches that held up the sender, shrinks with others */
    uint64_t ns[2];       /* measured in this trial, for 1 MiB: ring, fetch; 0: none yet */
};
struct wio_ways {
    struct wio_way of[WIO_WAY_CLASSES];
};

struct wio_way *wio_way_of(struct wio_ways *ways, size_t bytes);
/** The next message. @param timed is it to be measured? @return shall it be fetched? */
bool wio_way_next(struct wio_way *w, bool *timed);
/** Does the next message go through the ring, unmeasured? Only then it counts as one. */
bool wio_way_plain(struct wio_way *w);
/** A measured message took so long. */
void wio_way_took(struct wio_way *w, bool fetched, size_t bytes, int64_t ns);
/** A sender had to go on before its message was fetched. */
void wio_way_late(struct wio_way *w);

#endif
