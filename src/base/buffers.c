/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers of any size that are used for a short time: a freed one is kept for the next of its size.
 * The C library gives the pages of a large buffer back to the system when it is freed, and the next
 * one gets others: to fault them in and to clear them takes longer than to copy the data.
 *
 * There are four size classes for each power of two: where many messages wait, coarser ones would
 * cost as much more of the caches. What a class has had free all the time since the last look was
 * not needed, and goes back to the C library.
 */
#include "base/base.h"
#include "os/os.h"

#define LEAST_BITS                                                                                 \
    12 /* the C library is quick with smaller ones, and wastes less of the caches                  \
        */

struct wio_buffer {
    struct wio_buffer *next;
};

static size_t room_of(int c)
{
    size_t power = (size_t)1 << (LEAST_BITS + c / 4);
    return power + (size_t)(c % 4 + 1) * (power / 4);
}

/* @return the class of a buffer, -1: such ones are not kept */
static int class_of(size_t bytes)
{
    if (bytes <= (size_t)1 << LEAST_BITS || bytes > WIO_BUFFER_MOST)
        return -1;
    int bits = 63 - __builtin_clzll((unsigned long long)(bytes - 1));
    size_t power = (size_t)1 << bits;
    return 4 * (bits - LEAST_BITS) + (int)((bytes - 1 - power) / (power / 4));
}

void *wio_buffer_get(struct wio_buffers *b, size_t bytes)
{
    int c = class_of(bytes);
    if (c < 0)
        return wio_os_realloc(NULL, bytes);
    struct wio_buffer_class *k = &b->of[c];
    struct wio_buffer *first = k->first;
    if (first == NULL)
        return wio_os_realloc(NULL, room_of(c));
    k->first = first->next;
    if (--k->free < k->spare)
        k->spare = k->free;
    b->kept -= room_of(c);
    return first;
}

void wio_buffer_put(struct wio_buffers *b, void *buffer, size_t bytes)
{
    int c = class_of(bytes);
    if (buffer == NULL)
        return;
    if (c < 0 || b->kept + room_of(c) > WIO_BUFFERS_KEPT) {
        wio_os_free(buffer);
        return;
    }
    struct wio_buffer_class *k = &b->of[c];
    struct wio_buffer *first = buffer;
    first->next = k->first;
    k->first = first;
    k->free++;
    b->kept += room_of(c);
}

static void give_back(struct wio_buffers *b, int c, uint32_t n)
{
    struct wio_buffer_class *k = &b->of[c];
    for (; n > 0; n--) {
        struct wio_buffer *first = k->first;
        k->first = first->next;
        k->free--;
        b->kept -= room_of(c);
        wio_os_free(first);
    }
    k->spare = k->free;
}

void wio_buffers_tidy(struct wio_buffers *b, int64_t now)
{
    if (b->kept == 0 || now - b->tidied_ns < WIO_BUFFERS_TIDY_NS)
        return;
    b->tidied_ns = now;
    for (int c = 0; c < WIO_BUFFER_CLASSES; c++)
        give_back(b, c, b->of[c].spare);
}

void wio_buffers_free(struct wio_buffers *b)
{
    for (int c = 0; c < WIO_BUFFER_CLASSES; c++)
        give_back(b, c, b->of[c].free);
}
