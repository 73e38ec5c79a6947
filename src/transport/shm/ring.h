/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file ring.h
 * A ring between one writer and one reader. Headers go through slots, each published by its own
 * sequence number, so that a small message is one cache line that moves once. Payloads of middle
 * size lie in a byte ring beside them and are complete when their header is published. Longer ones
 * lie in a second byte ring, bulk: up to 16 KiB complete, too; longer ones are streamed, their
 * header comes first and the bytes follow while the reader already copies them out. So a small
 * message never waits behind bulk, and headers stay in order.
 *
 * Positions count up for ever; index = position modulo size. Reader and writer advance the byte
 * rings in lockstep (by the lengths in the headers), so no offsets are sent but a mark of where
 * bulk begins: cache lines are left out before it, or the rest of the ring.
 */
#ifndef WIO_SHM_RING_H
#define WIO_SHM_RING_H

#include <stdbool.h>
#include <string.h>

#include "transport/shm/layout.h"

#define SHM_PUBLISH (16u << 10) /* bulk is published and released in pieces of this size */
#define SHM_FINE (4u << 10)     /* ... published in smaller ones where no more than that is left */
#define SHM_SHORT (1u << 10)    /* longer payloads lie in the bulk ring when the reader is behind */
#define SHM_WHOLE_MAX (16u << 10)   /* longer ones are always streamed */
#define SHM_WHOLE_NS 500            /* copying takes longer: both sides shall do it at once */
#define SHM_MID_BYTES (64u << 10)   /* the middle ring */
#define SHM_BULK_LEAST (512u << 10) /* bytes of the bulk ring */
#define SHM_BULK_MOST (2u << 20)
#define SHM_BULK_SUM (32u << 20) /* of a process: its further rings have the least */
#define SHM_ROUND(n) (((n) + (SHM_LINE - 1)) & ~(uint64_t)(SHM_LINE - 1))

/** Addresses of the parts of a mapped ring. */
struct shm_ring {
    struct shm_ring_geo geo;
    struct shm_ring_ctl *ctl;
    struct shm_slot *slot;
    uint8_t *mid, *bulk;
    size_t bytes; /* of the mapping */
};

/** The writer's private side. Heads are the reader's last known positions. */
struct shm_writer {
    struct shm_ring ring;
    uint64_t slot_tail, slot_head;
    uint64_t mid_tail, mid_head;
    uint64_t bulk_tail, bulk_head;
    uint32_t warm;    /* bytes of the bulk ring whose pages are there, and in the page table */
    uint64_t since;   /* bytes of bulk since that grew */
    bool given;       /* all pages were given when the ring was made */
    bool fresh;       /* those of the bulk ring are new ones since the last message */
    bool bulk_used;   /* since the last look */
    int64_t bulk_ns;  /* that look */
    uint32_t copies;  /* into the bulk ring; every SHM_TIMED-th is timed */
    uint32_t fine_ns; /* how long SHM_FINE bytes took, smoothed; 0: not known */
};

/** The reader's private side. */
struct shm_reader {
    struct shm_ring ring;
    uint64_t slot_head, slot_told; /* told: what the writer can see */
    uint64_t mid_head, mid_told;
    uint64_t bulk_head, bulk_told, bulk_tail;
    uint32_t place; /* the writer has been told */
    uint32_t warm;  /* as the writer's */
};

/** Size of the bulk ring. In one that fits the second-level caches every line travels from cache to
 * cache twice; in a larger one the writer finds its lines in the third level. @param cache  bytes
 * of a second-level cache, 0: unknown. @param rings  others of this size that the process writes
 * to: beyond SHM_BULK_SUM they would not fit the third level anyway */
uint32_t wio_shm_bulk_bytes(size_t cache, uint32_t rings);
/** @return false: impossible sizes */
bool wio_shm_ring_geo_ok(const struct shm_ring_geo *g);
void wio_shm_ring_place(struct shm_ring *r, const struct shm_ring_geo *g, void *map);
/** Bytes into a byte ring at a position. */
void wio_shm_copy_in(uint8_t *ring, uint32_t size, uint64_t at, const void *src, size_t n);
void wio_shm_copy_out(const uint8_t *ring, uint32_t size, uint64_t at, void *dst, size_t n);

/* ---- writer ---- */

/** Read the reader's word again. An impossible value (behind the last one, or ahead of the writer)
 * is ignored. */
static inline void shm_refresh(uint64_t *seen, const _Atomic uint64_t *word, uint64_t tail)
{
    uint64_t head = atomic_load_explicit(word, memory_order_acquire);
    if (head - *seen <= tail - *seen)
        *seen = head;
}

static inline bool shm_slot_room(struct shm_writer *w)
{
    if (w->slot_tail - w->slot_head < w->ring.geo.slots)
        return true;
    shm_refresh(&w->slot_head, &w->ring.ctl->slot_head, w->slot_tail);
    return w->slot_tail - w->slot_head < w->ring.geo.slots;
}

/** Largest payload of the middle ring. */
static inline uint32_t shm_mid_max(const struct shm_ring *r)
{
    return r->geo.mid / 4 < SHM_FINE ? r->geo.mid / 4 : SHM_FINE;
}

static inline bool shm_mid_room(struct shm_writer *w, uint64_t n)
{
    if (w->mid_tail - w->mid_head + n <= w->ring.geo.mid)
        return true;
    shm_refresh(&w->mid_head, &w->ring.ctl->mid_head, w->mid_tail);
    return w->mid_tail - w->mid_head + n <= w->ring.geo.mid;
}

static inline struct shm_slot *shm_slot_next(struct shm_writer *w)
{
    return &w->ring.slot[w->slot_tail & (w->ring.geo.slots - 1)];
}

/** Slots ahead of the current one whose lines are prefetched for writing: the reader had them in
 * the last lap, and waiting for one at a time fills the store buffer (measured: twice the rate).
 * Not the next ones, which a reader may be polling. */
#define SHM_AHEAD 6

static inline void shm_fetch_to_write(const void *line)
{
#if defined(__x86_64__) /* compilers make a fetch for reading of it unless told about the          \
                           processor */
    __asm__ volatile("prefetchw %0" ::"m"(*(const char *)line));
#else
    __builtin_prefetch(line, 1);
#endif
}

static inline void shm_slot_publish(struct shm_writer *w, struct shm_slot *s)
{
    w->slot_tail++;
    atomic_store_explicit(&s->seq, (uint32_t)w->slot_tail, memory_order_release);
    shm_fetch_to_write(&w->ring.slot[(w->slot_tail + SHM_AHEAD) & (w->ring.geo.slots - 1)]);
}

static inline void shm_copy_small(uint8_t *dst, const void *src, size_t n)
{
    if (n == 8)
        memcpy(dst, src, 8);
    else if (n > 0)
        memcpy(dst, src, n);
}

/** The next slot with all of a message of at most shm_mid_max() bytes but its header, which is to
 * be written and published. @return NULL: no room, nothing done */
static inline struct shm_slot *shm_ring_fill(struct shm_writer *w, enum shm_kind kind,
                                             const void *payload, uint32_t n)
{
    if (!shm_slot_room(w))
        return NULL;
    struct shm_slot *s = shm_slot_next(w);
    if (n <= SHM_SLOT_INLINE) {
        s->info = shm_info(kind, SHM_INLINE, n);
        shm_copy_small(s->data, payload, n);
    } else {
        if (!shm_mid_room(w, SHM_ROUND(n)))
            return NULL;
        s->info = shm_info(kind, SHM_MID, n);
        wio_shm_copy_in(w->ring.mid, w->ring.geo.mid, w->mid_tail, payload, n);
        w->mid_tail += SHM_ROUND(n);
    }
    return s;
}

/** A whole message of at most shm_mid_max() bytes. @return false: no room, nothing done */
static inline bool shm_ring_put(struct shm_writer *w, enum shm_kind kind,
                                const uint8_t msg[WIO_MSG_BYTES], const void *payload, uint32_t n)
{
    struct shm_slot *s = shm_ring_fill(w, kind, payload, n);
    if (s == NULL)
        return false;
    memcpy(s->msg, msg, WIO_MSG_BYTES);
    shm_slot_publish(w, s);
    return true;
}

/* Loads from just behind recent stores wait for these, as far as the processor compares only the
 * offsets within a page. */
static inline bool shm_copies_slowly(uintptr_t to, uintptr_t from)
{
    uintptr_t ahead = (to - from) % SHM_PAGE;
    return ahead > 0 && ahead < SHM_LINE;
}

/* A mark says where bulk begins: on the next cache line behind so many that are left out (two
 * copies can dislike one line each), */
#define SHM_SKIP_MAX 2u
#define SHM_SKIP 3u
#define SHM_BACK 64u   /* counted from the beginning of the ring, not from the bulk before; */
#define SHM_FRESH 128u /* and that the pages of the ring are new ones */
static inline uint64_t shm_bulk_at(const struct shm_ring *r, uint64_t pos, unsigned mark)
{
    uint64_t lap = r->geo.bulk, at = (mark & SHM_BACK) != 0 ? (pos + lap - 1) & ~(lap - 1) : pos;
    return SHM_ROUND(at) + (mark & SHM_SKIP) * SHM_LINE;
}
static inline bool shm_mark_ok(unsigned mark)
{
    return (mark & SHM_SKIP) <= SHM_SKIP_MAX && (mark & ~(SHM_SKIP | SHM_BACK | SHM_FRESH)) == 0;
}

/** Bytes that go through as much of the bulk ring as is used, before twice as much is: 32 times its
 * size. A page costs as much as twenty messages of its size. */
#define SHM_LAPS 32u
/* Is there room for bulk that ends at a position? */
static inline bool shm_bulk_room(struct shm_writer *w, uint64_t end)
{
    if (end - w->bulk_head <= w->ring.geo.bulk)
        return true;
    shm_refresh(&w->bulk_head, &w->ring.ctl->bulk_head, w->bulk_tail);
    return end - w->bulk_head <= w->ring.geo.bulk;
}

/* Has the reader left room for n bytes at the beginning of the ring? Else the writer would run into
 * what is not read. */
static inline bool shm_ring_can_go_back(struct shm_writer *w, uint64_t n)
{
    return shm_bulk_room(w, shm_bulk_at(&w->ring, w->bulk_tail, SHM_BACK) + n);
}

/* The ring begins again before its end: few messages need few pages. A reader that is behind needs
 * more of them. */
static inline bool shm_ring_goes_back(struct shm_writer *w, uint32_t n)
{
    uint64_t off = SHM_ROUND(w->bulk_tail) & (w->ring.geo.bulk - 1);
    uint64_t need = (uint64_t)n + SHM_SKIP_MAX * SHM_LINE;
    if (w->warm == 0) /* all is read, else the pages were there */
        return off > 0;
    return w->warm < w->ring.geo.bulk && off + need > w->warm && need <= w->warm &&
           w->since < (uint64_t)SHM_LAPS * w->warm && shm_ring_can_go_back(w, need);
}

/** Where the next bulk of @p n bytes shall begin, so that the copies from @p src into the ring, and
 * out of it to where the reader copied the last bulk, are quick ones. @return a mark */
static inline unsigned shm_ring_lay(struct shm_writer *w, const void *src, uint32_t n)
{
    unsigned back = shm_ring_goes_back(w, n) ? SHM_BACK : 0;
    uint32_t place = atomic_load_explicit(&w->ring.ctl->place, memory_order_relaxed);
    uintptr_t at = (uintptr_t)w->ring.bulk + (uintptr_t)shm_bulk_at(&w->ring, w->bulk_tail, back);
    for (unsigned skip = 0; skip <= SHM_SKIP_MAX; skip++, at += SHM_LINE)
        if (!shm_copies_slowly(at, (uintptr_t)src) &&
            ((place & SHM_PLACED) == 0 || !shm_copies_slowly(place, at)))
            return back | skip;
    return back;
}

/** Shall a payload of n > SHM_SHORT bytes be complete when its header is published? Then neither
 * side waits for the other one's next piece. But a reader that has nothing else to do copies a long
 * one while the writer still does. @param burst the reader is behind */
static inline bool shm_ring_suits_whole(const struct shm_writer *w, uint32_t n, bool burst)
{
    return n <= SHM_FINE ||
           (n <= SHM_WHOLE_MAX &&
            (burst || (uint64_t)w->fine_ns * n <= (uint64_t)SHM_WHOLE_NS * SHM_FINE));
}

/** As shm_ring_fill, through the bulk ring: only when the bulk before is written to its last byte.
 * @param mark see shm_ring_lay. @return NULL: no room, nothing done */
struct shm_slot *wio_shm_ring_fill_bulk(struct shm_writer *w, const void *payload, uint32_t n,
                                        unsigned mark);

/** How long SHM_FINE bytes take, after n of them took ns. @param was what was known, 0: nothing */
uint32_t wio_shm_ring_pace(uint32_t was, int64_t ns, uint32_t n);

/* Bulk begins. @return what its slot says */
static inline uint8_t shm_bulk_begin(struct shm_writer *w, unsigned mark)
{
    w->bulk_tail = shm_bulk_at(&w->ring, w->bulk_tail, mark);
    mark |= w->fresh ? SHM_FRESH : 0;
    w->fresh = false;
    return (uint8_t)mark;
}

/** Header of a message whose bytes follow by wio_shm_ring_stream. Only when the one before is
 * written to its last byte. @param mark see shm_ring_lay. @return false: no slot */
static inline bool shm_ring_begin(struct shm_writer *w, const uint8_t msg[WIO_MSG_BYTES],
                                  uint32_t n, unsigned mark)
{
    if (!shm_slot_room(w))
        return false;
    struct shm_slot *s = shm_slot_next(w);
    s->data[0] = shm_bulk_begin(w, mark);
    if ((mark & SHM_BACK) != 0) /* that far the reader goes without having read anything */
        atomic_store_explicit(&w->ring.ctl->bulk_tail, w->bulk_tail, memory_order_release);
    s->info = shm_info(SHM_MESSAGE, SHM_STREAM, n);
    memcpy(s->msg, msg, WIO_MSG_BYTES);
    shm_slot_publish(w, s);
    return true;
}
/** Stream up to n bytes. @return how many were taken */
size_t wio_shm_ring_stream(struct shm_writer *w, const uint8_t *src, size_t n);

/* ---- reader ---- */

/** The next header, published and not yet taken; NULL: none. The peer may change its bytes
 * meanwhile: copy, then check. */
static inline const struct shm_slot *shm_ring_peek(const struct shm_reader *r)
{
    const struct shm_slot *s = &r->ring.slot[r->slot_head & (r->ring.geo.slots - 1)];
    uint32_t want = (uint32_t)(r->slot_head + 1);
    return atomic_load_explicit(&s->seq, memory_order_acquire) == want ? s : NULL;
}

/** n bytes of a byte ring at a position, NULL: they are in two pieces. */
static inline const uint8_t *shm_ring_piece(const uint8_t *ring, uint32_t size, uint64_t at,
                                            uint32_t n)
{
    size_t off = (size_t)(at & (size - 1));
    return off + n <= size ? ring + off : NULL;
}

/** The header (and its mid payload of @p mid bytes) is used up. */
static inline void shm_ring_take(struct shm_reader *r, uint32_t mid)
{
    r->slot_head++;
    r->mid_head += SHM_ROUND(mid);
}

/** Publish all free room to the writer: before going idle, and now and then. @return
 * true: it may be waiting for it */
static inline bool shm_ring_tell(struct shm_reader *r)
{
    if (r->slot_told == r->slot_head && r->bulk_told == r->bulk_head)
        return false;
    r->slot_told = r->slot_head;
    r->mid_told = r->mid_head;
    r->bulk_told = r->bulk_head;
    atomic_store_explicit(&r->ring.ctl->bulk_head, r->bulk_head, memory_order_release);
    atomic_store_explicit(&r->ring.ctl->mid_head, r->mid_head, memory_order_release);
    atomic_store_explicit(&r->ring.ctl->slot_head, r->slot_head, memory_order_release);
    return true;
}

/** Publish when a quarter of the ring is newly free, while there is more to read, so that the two
 * sides do not wait for each other in turn. */
static inline bool shm_ring_owes(const struct shm_reader *r)
{
    return r->slot_head - r->slot_told >= r->ring.geo.slots / 4 ||
           r->mid_head - r->mid_told >= r->ring.geo.mid / 4 ||
           r->bulk_head - r->bulk_told > r->warm / 4;
}

/** A header with SHM_STREAM or SHM_WHOLE was taken, and the bytes go from where its @p mark says to
 * @p dst. */
static inline void shm_ring_follow(struct shm_reader *r, unsigned mark, const void *dst)
{
    uint32_t place = SHM_PLACED | (uint32_t)((uintptr_t)dst % SHM_PAGE);
    r->bulk_head = shm_bulk_at(&r->ring, r->bulk_head, mark);
    if (place != r->place) {
        r->place = place;
        atomic_store_explicit(&r->ring.ctl->place, place, memory_order_relaxed);
    }
}

/** Bytes of the stream that can be read now. @return < 0: the writer's word is impossible */
static inline int64_t shm_ring_streamed(struct shm_reader *r)
{
    if ((int64_t)(r->bulk_tail - r->bulk_head) <= 0)
        r->bulk_tail = atomic_load_explicit(&r->ring.ctl->bulk_tail, memory_order_acquire);
    int64_t n = (int64_t)(r->bulk_tail - r->bulk_head);
    if (n <
        0) /* we are at its first cache line already, the writer has written nothing there yet */
        return n > -(int64_t)(SHM_LINE + SHM_SKIP_MAX * SHM_LINE) ? 0 : -1;
    return n <= (int64_t)r->ring.geo.bulk ? n : -1;
}
/** Take n <= streamed bytes, copying the first @p keep of them to dst. @param last the message ends
 * here. @return true: room was given back to the writer */
bool wio_shm_ring_drain(struct shm_reader *r, uint8_t *dst, size_t keep, size_t n, bool last);

#endif
