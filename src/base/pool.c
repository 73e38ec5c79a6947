/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of one size. A free block holds the pointer to the next one. */
#include <stdalign.h>

#include "base/base.h"
#include "os/os.h"

struct slab {
    struct wio_list link;
    alignas(16) unsigned char blocks[];
};

void wio_pool_init(struct wio_pool *p, size_t size, int per_slab)
{
    *p = (struct wio_pool){.per_slab = per_slab > 0 ? per_slab : 1};
    if (size < sizeof(void *))
        size = sizeof(void *);
    p->size = (size + 15) & ~(size_t)15;
    wio_list_init(&p->slabs);
}

static void put_free(struct wio_pool *p, void *block)
{
    memcpy(block, &p->free, sizeof p->free);
    p->free = block;
}

static bool grow(struct wio_pool *p)
{
    size_t count = (size_t)p->per_slab;
    if (p->size < sizeof(void *) || p->size > (SIZE_MAX / 2) / count)
        return false; /* a size that wrapped, or one that would */
    size_t bytes = sizeof(struct slab) + count * p->size;
    struct slab *slab = wio_os_alloc(bytes);
    if (slab == NULL)
        return false;
    wio_list_push(&p->slabs, &slab->link);
    p->bytes += bytes;
    for (size_t i = count; i-- > 0;) /* backwards, so that blocks are given out in address order */
        put_free(p, slab->blocks + i * p->size);
    return true;
}

void *wio_pool_get(struct wio_pool *p)
{
    if (WIO_UNLIKELY(p->free == NULL) && !grow(p))
        return NULL;
    void *block = p->free;
    memcpy(&p->free, block, sizeof p->free);
    p->used++;
    return block;
}

void wio_pool_put(struct wio_pool *p, void *block)
{
    if (block == NULL)
        return;
    put_free(p, block);
    p->used--;
}

void wio_pool_free(struct wio_pool *p)
{
    for (struct wio_list *it = wio_list_pop(&p->slabs); it != NULL; it = wio_list_pop(&p->slabs))
        wio_os_free(WIO_CONTAINER(it, struct slab, link));
    p->free = NULL;
    p->bytes = p->used = 0;
}
