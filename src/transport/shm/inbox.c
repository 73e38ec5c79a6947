/* SPDX-License-Identifier: BSD-3-Clause */
/** @file inbox.c  The queue with many writers. */
#include "transport/shm/inbox.h"

bool wio_shm_inbox_geo_ok(const struct shm_inbox_geo *g)
{
    return shm_power_of_two(g->cells, 4, SHM_CELLS_MAX) &&
           shm_power_of_two(g->cell_bytes, SHM_CELL_MIN, SHM_CELL_MAX);
}

void wio_shm_inbox_place(struct shm_inbox *b, const struct shm_inbox_geo *g, void *map)
{
    b->geo = *g;
    b->bytes = shm_inbox_bytes(g);
    b->head = map;
    b->cells = (uint8_t *)map + SHM_PAGE;
}

void wio_shm_inbox_format(struct shm_inbox *b)
{
    for (uint32_t i = 0; i < b->geo.cells; i++)
        atomic_init(&shm_inbox_cell(b, i)->word, shm_word(i, 0, SHM_FREE));
}

struct shm_cell *wio_shm_inbox_claim(struct shm_inbox *b, uint32_t owner, uint32_t *pos)
{
    uint32_t at = atomic_load_explicit(&b->head->tail, memory_order_relaxed);
    /* Each iteration claims a cell, finds the queue full, or follows another writer's claim. An
     * invalid shared word ends the loop as "full". */
    for (uint32_t turns = 0; turns <= 4 * b->geo.cells; turns++) {
        struct shm_cell *c = shm_inbox_cell(b, at);
        uint64_t word = atomic_load_explicit(&c->word, memory_order_acquire);
        int32_t ahead = (int32_t)(shm_word_pos(word) - at);
        if (ahead < 0)
            return NULL; /* still holds the cell of the lap before */
        if (ahead == 0 && shm_word_state(word) == SHM_FREE) {
            if (atomic_compare_exchange_strong_explicit(
                    &c->word, &word, shm_word(at, owner, SHM_CLAIMED), memory_order_acquire,
                    memory_order_relaxed)) {
                uint32_t tail = at;
                atomic_compare_exchange_strong_explicit(&b->head->tail, &tail, at + 1,
                                                        memory_order_relaxed, memory_order_relaxed);
                *pos = at;
                return c;
            }
            continue;
        }
        /* Claimed, or read already: its owner may have been killed before it moved the tail. */
        uint32_t tail = at;
        atomic_compare_exchange_strong_explicit(&b->head->tail, &tail, at + 1, memory_order_relaxed,
                                                memory_order_relaxed);
        at = atomic_load_explicit(&b->head->tail, memory_order_relaxed);
    }
    return NULL;
}
