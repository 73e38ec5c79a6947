/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file layout.h
 * The layout of shared memory. Two kinds of segment, each a sealed memfd: inbox one per process,
 * made by its reader, written by all peers: a bounded queue of cells for many writers
 * (memory-saving mode) ring    one per ordered pair that talks a lot, made by its writer: slots for
 * headers, a byte ring for middle-sized payloads and one through which bulk is streamed (high-speed
 * mode)
 *
 * Everything a peer writes is hostile: it is copied out once, then checked, and no index or length
 * from there is used unchecked. Geometry travels over the (authenticated) socket and is checked
 * against the segment's size when it is mapped; it is never read from the segment again.
 *
 * Memory order: the writer stores data, then publishes by a release store; the reader loads with
 * acquire. A sleeper stores "asleep" and loads the data's position; a writer stores the position
 * and loads "asleep". This needs a full barrier on both sides: the sleeper, which has time, issues
 * membarrier(2) for all; where that does not exist the writers issue their own
 * (shm_inbox_head.fences). docs/design/shm.md; tests/model explores both exhaustively.
 */
#ifndef WIO_SHM_LAYOUT_H
#define WIO_SHM_LAYOUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

#define SHM_VERSION 7u
#define SHM_LINE 64
#define SHM_PAGE 4096u /* offsets inside segments; not the system's page size */

static inline bool shm_power_of_two(uint32_t n, uint32_t min, uint32_t max)
{
    return n >= min && n <= max && (n & (n - 1)) == 0;
}

/** The kind of a header; the first word of all that arrives. */
#define SHM_LEN_BITS 26
#define SHM_LEN_MASK ((1u << SHM_LEN_BITS) - 1)
#define SHM_WHERE_SHIFT 26
#define SHM_KIND_SHIFT 29
enum shm_where {
    SHM_INLINE = 0, /* payload in the header's own slot or cell */
    SHM_MID = 1,    /* ring: payload in the middle ring, complete */
    SHM_STREAM = 2, /* ring: payload follows in the bulk ring; inbox: in further cells */
    SHM_WHOLE = 3   /* ring: payload in the bulk ring, complete */
};
enum shm_kind {
    SHM_MESSAGE = 1,
    SHM_REST = 2,   /* inbox: more of the current message */
    SHM_BYE = 3,    /* goodbye, reason in msg[0]: the last of this direction */
    SHM_SWITCH = 4, /* inbox: what follows comes by the ring; ring: ... by the inbox */
    SHM_PASSING = 5 /* ring: a message that may be delivered before the stream is complete */
};

static inline uint32_t shm_info(enum shm_kind kind, enum shm_where where, uint32_t len)
{
    return (uint32_t)kind << SHM_KIND_SHIFT | (uint32_t)where << SHM_WHERE_SHIFT | len;
}
static inline uint32_t shm_len(uint32_t info)
{
    return info & SHM_LEN_MASK;
}
static inline uint32_t shm_where(uint32_t info)
{
    return info >> SHM_WHERE_SHIFT & 7u;
}
static inline uint32_t shm_kind(uint32_t info)
{
    return info >> SHM_KIND_SHIFT & 7u;
}

/* ---- ring ---- */

#define SHM_SLOT_INLINE 16u
/** One header; a cache line, so that a small message costs one transfer between cores. */
struct shm_slot {
    _Atomic uint32_t seq; /* position + 1 once it is published */
    uint32_t info;
    uint8_t msg[WIO_MSG_BYTES];
    uint8_t data[SHM_SLOT_INLINE];
};
_Static_assert(sizeof(struct shm_slot) == SHM_LINE, "a slot is a cache line");

/** What a sleeping writer waits for: any room, or half of the bulk ring; for less waking it does
 * not pay. */
#define SHM_WANT_ANY 1u
#define SHM_WANT_HALF 2u
struct shm_ring_ctl {
    /* the writer's */
    _Alignas(SHM_LINE) _Atomic uint64_t bulk_tail;
    _Alignas(SHM_LINE) _Atomic uint32_t want; /* SHM_WANT_*: the writer sleeps until then */
    /* the reader's */
    _Alignas(SHM_LINE) _Atomic uint64_t slot_head;
    _Atomic uint64_t mid_head;
    _Alignas(SHM_LINE) _Atomic uint64_t bulk_head;
    _Atomic uint32_t place; /* where bulk is copied to: SHM_PLACED | its offset within a page */
};
#define SHM_PLACED SHM_PAGE
_Static_assert(sizeof(struct shm_ring_ctl) <= SHM_PAGE, "control words lie in the first page");

/** Sizes of a ring: powers of two. */
struct shm_ring_geo {
    uint32_t slots, mid, bulk;
};
#define SHM_SLOTS_MAX (1u << 16)
#define SHM_MID_MAX (1u << 24)
#define SHM_BULK_MAX (1u << 30)

static inline size_t shm_ring_bytes(const struct shm_ring_geo *g)
{
    return SHM_PAGE + (size_t)g->slots * SHM_LINE + g->mid + g->bulk;
}

/* ---- inbox ---- */

#define SHM_CELL_HEAD 56u
#define SHM_CELL_INLINE_LINE 8u /* payload bytes in the header's cache line */
struct shm_cell {
    _Atomic uint64_t word; /* position, owner, state: shm_word() */
    uint32_t info;
    uint32_t pad;
    uint8_t msg[WIO_MSG_BYTES];
    uint8_t data[];
};
_Static_assert(offsetof(struct shm_cell, data) == SHM_CELL_HEAD, "cell header");

enum shm_cell_state { SHM_FREE = 0, SHM_CLAIMED = 1, SHM_FULL = 2 };
/** The owner of a cell: index in the reader's list of senders, and how often this index was used.
 */
#define SHM_OWNER_SLOT_BITS 16
#define SHM_OWNER_GEN_BITS 12

static inline uint64_t shm_word(uint32_t pos, uint32_t owner, enum shm_cell_state state)
{
    return (uint64_t)pos << 32 | (uint64_t)owner << 4 | (uint64_t)state;
}
static inline uint32_t shm_word_pos(uint64_t w)
{
    return (uint32_t)(w >> 32);
}
static inline uint32_t shm_word_owner(uint64_t w)
{
    return (uint32_t)(w >> 4) & 0x0fffffffu;
}
static inline uint32_t shm_word_state(uint64_t w)
{
    return (uint32_t)w & 15u;
}
static inline uint32_t shm_owner(uint32_t slot, uint32_t gen)
{
    return slot << SHM_OWNER_GEN_BITS | (gen & ((1u << SHM_OWNER_GEN_BITS) - 1));
}
static inline uint32_t shm_owner_slot(uint32_t owner)
{
    return owner >> SHM_OWNER_GEN_BITS;
}

#define SHM_ASLEEP 1u     /* an application thread sleeps: any arrival rings */
#define SHM_ASLEEP_SVC 2u /* the service thread sleeps and wants arrivals */
struct shm_inbox_head {
    _Alignas(SHM_LINE) _Atomic uint32_t tail;     /* hint: next position to claim */
    _Alignas(SHM_LINE) _Atomic uint32_t sleeping; /* SHM_ASLEEP* of the reader */
    _Atomic uint32_t fences;                      /* constant: writers must fence themselves */
    _Alignas(SHM_LINE) _Atomic uint32_t wanted;   /* some sender sleeps until there is room */
    /* how often somebody has taken back what the reader might fetch */
    _Alignas(SHM_LINE) _Atomic uint32_t recalls;
    /* the reader has given its processor away: it answers nobody before it runs again */
    _Alignas(SHM_LINE) _Atomic uint32_t aside;
};
_Static_assert(sizeof(struct shm_inbox_head) <= SHM_PAGE, "the head lies in the first page");
struct shm_inbox_geo {
    uint32_t cells, cell_bytes; /* powers of two */
};
#define SHM_CELLS_MAX (1u << 16)
#define SHM_CELL_MIN 128u
#define SHM_CELL_MAX (1u << 16)

static inline size_t shm_inbox_bytes(const struct shm_inbox_geo *g)
{
    return SHM_PAGE + (size_t)g->cells * g->cell_bytes;
}

#endif
