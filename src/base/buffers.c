/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers of any size that are used for a short time: a freed one is kept for the next of its size.
 * The C library gives the pages of a large buffer back to the system when it is freed, and the next
 * one gets others: to fault them in and to clear them takes longer than to copy the data.
 *
 * There are two size classes for each power of two. What a class has had free all the time since
 * the last look was not needed, and goes back to the C library.
 */
#include "base/base.h"
#include "os/os.h"

#define LEAST_BITS 9 /* 512 bytes; the C library keeps smaller ones itself */

struct wio_buffer {
    struct wio_buffer *next;
};

/* @return the class, and the size of its buffers; -1: such large ones are not kept */
static int class_of(size_t bytes, size_t *room)
{
    if (bytes <= (size_t)1 << LEAST_BITS) {
        *room = (size_t)1 << LEAST_BITS;
        return 0;
    }
    if (bytes > WIO_BUFFER_MOST) {
        *room = bytes;
        return -1;
    }
    int bits = 63 - __builtin_clzll((unsigned long long)(bytes - 1));
    size_t power = (size_t)1 << bits;
    bool half = bytes <= power + power / 2;
    *room = half ? power + power / 2 : 2 * power;
    return 2 * (bits - LEAST_BITS) + (half ? 1 : 2);
}

size_t wio_buffer_room(size_t bytes)
{
    size_t room;
    (void)class_of(bytes, &room);
    return room;
}

void *wio_buffer_get(struct wio_buffers *b, size_t bytes)
{
    size_t room;
    int c = class_of(bytes, &room);
    struct wio_buffer_class *k = c >= 0 ? &b->of[c] : NULL;
    if (k == NULL || k->first == NULL)
        return wio_os_realloc(NULL, room);
    struct wio_buffer *first = k->first;
    k->first = first->next;
    if (--k->free < k->spare)
        k->spare = k->free;
    b->kept -= room;
    return first;
}

void wio_buffer_put(struct wio_buffers *b, void *buffer, size_t bytes)
{
    size_t room;
    int c = class_of(bytes, &room);
    if (buffer == NULL)
        return;
    if (c < 0 || b->kept + room > WIO_BUFFERS_KEPT) {
        wio_os_free(buffer);
        return;
    }
    struct wio_buffer_class *k = &b->of[c];
    struct wio_buffer *first = buffer;
    first->next = k->first;
    k->first = first;
    k->free++;
    b->kept += room;
}

static void give_back(struct wio_buffers *b, int c, uint32_t n)
{
    struct wio_buffer_class *k = &b->of[c];
    size_t room = (size_t)1 << (LEAST_BITS + c / 2);
    room += c % 2 != 0 ? room / 2 : 0;
    for (; n > 0; n--) {
        struct wio_buffer *first = k->first;
        k->first = first->next;
        k->free--;
        b->kept -= room;
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
