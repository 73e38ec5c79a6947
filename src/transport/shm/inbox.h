/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file inbox.h
 * A bounded queue of cells from many writers to one reader, without locks. A writer claims the cell
 * at the tail by one compare-and-swap that also writes its name. If a writer is killed between
 * claim and publication, the owner of the cell is known, and the reader skips it when the owner's
 * socket has ended. After Vyukov's bounded queue (1024cores.net, 2010), with the claim in the
 * cell's word instead of in the tail; the tail is only a hint that all writers move forward.
 */
#ifndef WIO_SHM_INBOX_H
#define WIO_SHM_INBOX_H

#include <stdbool.h>
#include <string.h>

#include "transport/shm/layout.h"

struct shm_inbox {
    struct shm_inbox_geo geo;
    struct shm_inbox_head *head;
    uint8_t *cells;
    size_t bytes;
};

/** @return false: impossible sizes */
bool wio_shm_inbox_geo_ok(const struct shm_inbox_geo *g);
void wio_shm_inbox_place(struct shm_inbox *b, const struct shm_inbox_geo *g, void *map);
/** Called by the reader before any other process knows the segment. */
void wio_shm_inbox_format(struct shm_inbox *b);

static inline struct shm_cell *shm_inbox_cell(const struct shm_inbox *b, uint32_t pos)
{
    return (struct shm_cell *)(void *)(b->cells +
                                       (size_t)(pos & (b->geo.cells - 1)) * b->geo.cell_bytes);
}
static inline uint32_t shm_cell_room(const struct shm_inbox *b)
{
    return b->geo.cell_bytes - SHM_CELL_HEAD;
}

/** Claim the next cell for @p owner. @param[out] pos  its position. @return NULL: full */
struct shm_cell *wio_shm_inbox_claim(struct shm_inbox *b, uint32_t owner, uint32_t *pos);
/** Publish a claimed and filled cell. */
static inline void shm_inbox_publish(struct shm_cell *c, uint32_t pos, uint32_t owner)
{
    atomic_store_explicit(&c->word, shm_word(pos, owner, SHM_FULL), memory_order_release);
}

/** The reader frees the cell at its position. */
static inline void shm_inbox_free(struct shm_inbox *b, struct shm_cell *c, uint32_t pos)
{
    atomic_store_explicit(&c->word, shm_word(pos + b->geo.cells, 0, SHM_FREE),
                          memory_order_release);
}

#endif
