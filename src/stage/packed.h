/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file packed.h
 * Blocks whose chunks an operator has packed. Writer and reader cut a block in the same way, so
 * that only the chunks that a box touches travel, and each knows what comes.
 */
#ifndef WIO_STG_PACKED_H
#define WIO_STG_PACKED_H

#include "stage/operator.h"

/** How a block is cut into chunks. */
struct wio_stg_grid {
    int type;
    size_t size; /* of an element */
    struct wio_stg_box block;
    uint64_t count[WIO_STG_DIMS]; /* of a chunk, those at the end may have less */
    uint64_t chunks[WIO_STG_DIMS];
    uint64_t n; /* chunks of the block */
};

/** A packed chunk. */
struct wio_stg_packed_chunk {
    bool packed;
    size_t at, bytes;
    uint64_t sum;
};

/** A block that was packed. */
struct wio_stg_packed {
    struct wio_stg_grid grid;
    struct wio_stg_packed_chunk *chunks;
    char *data;
    size_t bytes;
};

/** Checksum of packed bytes: no guard against intent, but against everything else. */
uint64_t wio_stg_packed_sum(const void *data, size_t n);

struct wio_stg_grid wio_stg_grid(const struct wio_stg_operator *op, int type,
                                 const struct wio_stg_box *block);

/**
 * Pack a block.
 * @param own memory of the whole block, which holds @p data or nothing yet. It is taken over: what
 * is packed lies in it, and it becomes smaller. NULL: it is allocated
 * @return NULL without memory, with the error set: @p own is as it was
 */
struct wio_stg_packed *wio_stg_pack_block(const struct wio_stg_operator *op, int type,
                                          const struct wio_stg_box *block, const void *data,
                                          char *own);
/** Bytes that packing a block needs besides the block itself. */
size_t wio_stg_pack_extra(const struct wio_stg_operator *op, int type,
                          const struct wio_stg_box *block);
void wio_stg_packed_free(struct wio_stg_packed *p);
/** The message of the chunks that a box of the block touches. @return false: no memory */
bool wio_stg_packed_write(const struct wio_stg_packed *p, const struct wio_stg_box *box,
                          struct wio_stg_bytes *b);

/** Bytes that such a message has at most; 0: more than can be. */
size_t wio_stg_packed_most(const struct wio_stg_grid *grid, const struct wio_stg_box *box);
/**
 * Unpack such a message. The operator's library is loaded.
 * @param swaps it comes from a machine of the other byte order
 * @param to an array that has the box @p whole
 * @return 0; PROTOCOL: malformed (the text says which chunk), NOMEM
 */
int wio_stg_unpack(const struct wio_stg_operator *op, const struct wio_stg_grid *grid,
                   const struct wio_stg_box *box, bool swaps, const void *message, size_t n,
                   const struct wio_stg_box *whole, void *to);

#endif
