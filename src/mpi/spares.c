/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/spares.h"

#include "base/base.h"
#include "os/os.h"

/* Smaller ones the allocator keeps by itself; larger ones are too much to keep. */
enum { SPARES = 4, LEAST = 4 * 1024, MOST = 2 * 1024 * 1024, WASTE = 8 };

struct block {
    size_t bytes;
    max_align_t data[];
};

/* Each is taken and put by one atomic exchange. */
static struct block *spare[SPARES];
static unsigned turn;

static struct block *swap(int i, struct block *b)
{
    return __atomic_exchange_n(&spare[i], b, __ATOMIC_ACQ_REL);
}

static bool put(int i, struct block *b)
{
    struct block *none = NULL;

    return __atomic_compare_exchange_n(&spare[i], &none, b, false, __ATOMIC_RELEASE,
                                       __ATOMIC_RELAXED);
}

static void give(struct block *b)
{
    for (int i = 0; i < SPARES; i++)
        if (put(i, b))
            return;
    /* Free one that was not used. */
    wio_os_free(swap((int)(__atomic_fetch_add(&turn, 1, __ATOMIC_RELAXED) % SPARES), b));
}

void *wio_spare_take(size_t bytes)
{
    struct block *b;

    for (int i = 0; bytes >= LEAST && bytes <= MOST && i < SPARES; i++) {
        b = swap(i, NULL);
        if (b != NULL && b->bytes >= bytes && b->bytes / WASTE <= bytes)
            return b->data;
        if (b != NULL)
            give(b);
    }
    b = wio_os_realloc(NULL, sizeof *b + bytes);
    if (b == NULL)
        return NULL;
    b->bytes = bytes;
    return b->data;
}

void wio_spare_give(void *block)
{
    struct block *b = WIO_CONTAINER(block, struct block, data);

    if (b->bytes < LEAST || b->bytes > MOST)
        wio_os_free(b);
    else
        give(b);
}

void wio_spares_free(void)
{
    for (int i = 0; i < SPARES; i++)
        wio_os_free(swap(i, NULL));
}

size_t wio_spares_kept(void)
{
    size_t total = 0;

    for (int i = 0; i < SPARES; i++) {
        struct block *b = swap(i, NULL);
        if (b == NULL)
            continue;
        total += b->bytes;
        give(b);
    }
    return total;
}
