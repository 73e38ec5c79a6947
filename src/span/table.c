/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of handles: open addressing, readers without lock. */
#include "span/table.h"

#include <stdbool.h>

#include "os/os.h"

enum { FIRST_BITS = 6, GONE = 1 };

static struct span_slot no_slot;
struct span_slots span_no_slots = {.shift = 63, .mask = 0, .slot = &no_slot};

static struct span_slots *slots_new(unsigned bits)
{
    size_t places = (size_t)1 << bits;
    struct span_slots *s = wio_os_alloc(sizeof *s + places * sizeof(struct span_slot));

    if (s == NULL)
        return NULL;
    s->shift = 64 - bits;
    s->mask = places - 1;
    s->slot = (struct span_slot *)(void *)(s + 1);
    return s;
}

static struct span_slot *place_of(const struct span_slots *s, uintptr_t key)
{
    for (size_t i = span_hash(s, key);; i++) {
        struct span_slot *slot = &s->slot[i & s->mask];
        uintptr_t found = atomic_load_explicit(&slot->key, memory_order_relaxed);
        if (found == key)
            return slot;
        if (found == 0)
            return NULL;
    }
}

/* Where a new entry goes: a place that was given up, if one lies on the way. */
static struct span_slot *free_place(struct span_slots *s, uintptr_t key)
{
    for (size_t i = span_hash(s, key);; i++) {
        struct span_slot *slot = &s->slot[i & s->mask];
        uintptr_t found = atomic_load_explicit(&slot->key, memory_order_relaxed);
        if (found == 0)
            s->used++;
        if (found == 0 || found == GONE)
            return slot;
    }
}

static void fill(struct span_slots *s, uintptr_t key, void *value)
{
    struct span_slot *slot = free_place(s, key);

    atomic_store_explicit(&slot->value, value, memory_order_release); /* after the key was GONE */
    atomic_store_explicit(&slot->key, key, memory_order_release);
}

static bool is_live(uintptr_t key)
{
    return key != 0 && key != GONE;
}

/* A table twice as large as what lives needs. Readers may still use the old one. */
static struct span_slots *grown(struct span_slots *old)
{
    size_t live = 0;
    unsigned bits = FIRST_BITS;
    struct span_slots *s;

    for (size_t i = 0; i <= old->mask; i++)
        live += is_live(old->slot[i].key);
    while (((size_t)1 << bits) < 4 * (live + 1))
        bits++;
    s = slots_new(bits);
    if (s == NULL)
        return NULL;
    for (size_t i = 0; i <= old->mask; i++)
        if (is_live(old->slot[i].key))
            fill(s, old->slot[i].key, old->slot[i].value);
    s->older = old == &span_no_slots ? NULL : old;
    return s;
}

int span_table_put(struct span_table *t, uintptr_t key, void *value)
{
    struct span_slots *s;
    struct span_slot *slot;

    pthread_mutex_lock(&t->mutex);
    s = atomic_load_explicit(&t->slots, memory_order_relaxed);
    slot = place_of(s, key);
    if (slot == NULL && 2 * (s->used + 1) > s->mask + 1) {
        s = grown(s);
        if (s != NULL)
            atomic_store_explicit(&t->slots, s, memory_order_release);
    }
    if (slot != NULL)
        atomic_store_explicit(&slot->value, value, memory_order_release);
    else if (s != NULL)
        fill(s, key, value);
    pthread_mutex_unlock(&t->mutex);
    return s != NULL ? 0 : -1;
}

void span_table_drop(struct span_table *t, uintptr_t key, const void *value)
{
    struct span_slot *slot;

    pthread_mutex_lock(&t->mutex);
    slot = place_of(atomic_load_explicit(&t->slots, memory_order_relaxed), key);
    if (slot != NULL && (value == NULL || slot->value == value))
        atomic_store_explicit(&slot->key, GONE, memory_order_release);
    pthread_mutex_unlock(&t->mutex);
}

void span_table_each(struct span_table *t, void (*visit)(void *value))
{
    struct span_slots *s = atomic_load_explicit(&t->slots, memory_order_acquire);

    for (size_t i = 0; i <= s->mask; i++)
        if (is_live(s->slot[i].key))
            visit(s->slot[i].value);
}

void span_table_clear(struct span_table *t)
{
    struct span_slots *s = atomic_load_explicit(&t->slots, memory_order_relaxed);

    atomic_store_explicit(&t->slots, &span_no_slots, memory_order_release);
    while (s != NULL && s != &span_no_slots) {
        struct span_slots *older = s->older;
        wio_os_free(s);
        s = older;
    }
}
