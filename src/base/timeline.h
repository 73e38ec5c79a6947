/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file timeline.h
 * The trace of one process (WAITIO_TRACE): records of a fixed size in a mapped file, so that those
 * of a killed process survive. The file is a head and a ring of records; when the ring is full, a
 * new record takes the place of the oldest. `waitio trace` reads it (python/waitio/tracefile.py);
 * what the records mean is in spec/trace.toml.
 *
 * One thread at a time may write. A record may be completed later: who made it keeps its number.
 */
#ifndef WIO_TIMELINE_H
#define WIO_TIMELINE_H

#include <stdatomic.h>

#include "base/base.h"
#include "base/timeline_gen.h"
#include "os/os.h"

#define WIO_EVENT_NOBODY UINT32_MAX

/** Times are in ticks of wio_timeline_now(); 0: has not happened. */
struct wio_event {
    int64_t from;
    union {
        struct {
            int64_t mid, to, waited;
            uint64_t bytes;
            uint32_t peer, envelope;
            int32_t what;
            uint32_t space;
        };
        char name[48]; /**< phases: with its end */
    };
    uint8_t kind, flags;
    uint16_t thread; /**< of the wait, the call or the phase */
    uint32_t number; /**< the lower half of the record's; never 0 */
};
_Static_assert(sizeof(struct wio_event) == 64, "as in files: a line of the cache");

/** Clocks read at one moment. */
struct wio_timeline_clock {
    int64_t ticks, monotonic_ns, wall_ns;
};

/** The first bytes of the file, in the byte order of the machine. */
struct wio_timeline_head {
    uint64_t magic;
    uint32_t order, version;
    uint32_t head_bytes, record_bytes;
    uint64_t slots;
    _Atomic uint64_t written; /**< the number of the last record */
    uint8_t universe[16];
    uint64_t clock; /**< processes with the same one read the same clock */
    struct wio_timeline_clock first, last;
    uint32_t rank, size, pb, npb, pb_rank, pb_size;
    uint32_t state;
    uint32_t main_thread;
    int64_t pid;
    char host[64], release[32];
};
#define WIO_TIMELINE_MAGIC UINT64_C(0x54524f4954494157) /* "WAITIORT" on little-endian machines */
#define WIO_TIMELINE_ORDER UINT32_C(0x01020304)
#define WIO_TIMELINE_VERSION 1u
#define WIO_TIMELINE_HEAD 4096u
_Static_assert(sizeof(struct wio_timeline_head) <= WIO_TIMELINE_HEAD, "has a page of its own");

struct wio_timeline {
    struct wio_event *event;
    struct wio_timeline_head *head;
    uint64_t written;
    uint64_t mask; /* slots - 1, a power of two */
    int64_t clock_due;
    bool ticks; /* the processor's clock, else the system's */
    int fd;
    size_t bytes; /* mapped */
};

/** Who writes: the fields of the head. */
struct wio_timeline_who {
    uint8_t universe[16];
    uint32_t rank, size, pb, npb, pb_rank, pb_size;
    const char *release;
};

/** Which clock will be read, and its first reading: as early as possible, since two readings give
 * the length of a tick. */
void wio_timeline_begin(struct wio_timeline *t, struct wio_timeline_clock *first);
/**
 * Make the file in @p folder, which is made if need be, with room for at most @p most bytes of
 * records. @return 0; CONFIG naming the folder: it cannot be written, or has no space; NOMEM
 */
int wio_timeline_open(struct wio_timeline *t, const char *folder, uint64_t most,
                      const struct wio_timeline_who *who, const struct wio_timeline_clock *first);
/** The file is complete: write how it ended (enum wio_event_state). More may still follow. */
void wio_timeline_state(struct wio_timeline *t, uint32_t state);
/** Cut off what was not used, and unmap. Nothing when it was not opened. */
void wio_timeline_close(struct wio_timeline *t);
/** Read the clocks again, for the head. */
void wio_timeline_look(struct wio_timeline *t, int64_t now);

static inline int64_t wio_timeline_now(const struct wio_timeline *t)
{
    return WIO_LIKELY(t->ticks) ? wio_os_ticks() : wio_os_now_ns();
}

/** This thread in records; never 0, which is none. */
uint16_t wio_timeline_thread(void);

/** Append a record; `number` is filled in. @return that, for wio_timeline_at() */
static inline uint32_t wio_timeline_add(struct wio_timeline *t, const struct wio_event *e)
{
    uint64_t n = t->written + 1;
    if (WIO_UNLIKELY((uint32_t)n == 0))
        n++;
    struct wio_event *slot = &t->event[n & t->mask];
    /* Field by field (what a name has, too): so they stay in registers. Made in memory and copied
     * as a whole, in other pieces, they would wait for each other. */
    slot->from = e->from;
    slot->mid = e->mid;
    slot->to = e->to;
    slot->waited = e->waited;
    slot->bytes = e->bytes;
    slot->peer = e->peer;
    slot->envelope = e->envelope;
    slot->what = e->what;
    slot->space = e->space;
    slot->kind = e->kind;
    slot->flags = e->flags;
    slot->thread = e->thread;
    slot->number = (uint32_t)n;
    t->written = n;
    atomic_store_explicit(&t->head->written, n, memory_order_release); /* a killed one's is whole */
    if (WIO_UNLIKELY(e->from >= t->clock_due))
        wio_timeline_look(t, e->from);
    return (uint32_t)n;
}

/** The record of that number. NULL: 0, or it has been overwritten */
static inline struct wio_event *wio_timeline_at(const struct wio_timeline *t, uint32_t number)
{
    struct wio_event *slot = &t->event[number & t->mask];
    return number != 0 && slot->number == number ? slot : NULL;
}

#endif
