/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file table.h
 * From a vendor's handle to what it stands for here. Looking costs about two nanoseconds and takes
 * no lock, because every call of MPI looks; putting and taking away take the table's mutex.
 */
#ifndef SPAN_TABLE_H
#define SPAN_TABLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/** Handles are pointers or integers. */
#define SPAN_KEY(handle) ((uintptr_t)(handle))

struct span_slot {
    _Atomic(uintptr_t) key; /**< 0: never used; 1: its entry was taken away */
    _Atomic(void *) value;
};

struct span_slots {
    struct span_slots *older; /**< readers may still look there: freed at the end */
    unsigned shift;           /**< of the hash */
    size_t mask, used;        /**< places minus 1; places that are not 0 */
    struct span_slot *slot;
};

struct span_table {
    _Atomic(struct span_slots *) slots;
    pthread_mutex_t mutex;
};

extern struct span_slots span_no_slots; /* of an empty table */
#define SPAN_TABLE_INIT                                                                            \
    {                                                                                              \
        &span_no_slots, PTHREAD_MUTEX_INITIALIZER                                                  \
    }

static inline size_t span_hash(const struct span_slots *s, uintptr_t key)
{
    return (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> s->shift);
}

/** @return what was put there, or NULL. Any thread, no lock. */
static inline void *span_table_find(struct span_table *t, uintptr_t key)
{
    struct span_slots *s = atomic_load_explicit(&t->slots, memory_order_acquire);

    for (size_t i = span_hash(s, key);; i++) {
        struct span_slot *slot = &s->slot[i & s->mask];
        uintptr_t found = atomic_load_explicit(&slot->key, memory_order_acquire);
        if (found == key) {
            void *value = atomic_load_explicit(&slot->value, memory_order_acquire);
            /* Taken away meanwhile, and perhaps another entry has the place: look again. */
            if (atomic_load_explicit(&slot->key, memory_order_relaxed) == key)
                return value;
            i = span_hash(s, key) - 1;
        }
        if (found == 0)
            return NULL;
    }
}

/** Put @p value there, in place of what was there. @return 0, or -1: no memory */
int span_table_put(struct span_table *t, uintptr_t key, void *value);
/** Take the entry away if it still has @p value (NULL: whatever it has). */
void span_table_drop(struct span_table *t, uintptr_t key, const void *value);
/** Call @p visit for all entries; it must not change the table. */
void span_table_each(struct span_table *t, void (*visit)(void *value));
/** Free all memory. No other thread may use the table. */
void span_table_clear(struct span_table *t);

#endif /* SPAN_TABLE_H */
