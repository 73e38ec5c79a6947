/* SPDX-License-Identifier: BSD-3-Clause */
/** @file ring.c  Byte rings and geometry of a ring; the parts too large to be inlined. */
#include "transport/shm/ring.h"

#include "os/os.h"

bool wio_shm_ring_geo_ok(const struct shm_ring_geo *g)
{
    return shm_power_of_two(g->slots, 4, SHM_SLOTS_MAX) &&
           shm_power_of_two(g->mid, 4 * SHM_LINE, SHM_MID_MAX) &&
           shm_power_of_two(g->bulk, SHM_PAGE, SHM_BULK_MAX);
}

uint32_t wio_shm_bulk_bytes(size_t cache, uint32_t rings)
{
    uint32_t bytes = SHM_BULK_LEAST;
    while (bytes < SHM_BULK_MOST && (cache == 0 || bytes < 2 * cache))
        bytes *= 2;
    return rings < SHM_BULK_SUM / bytes ? bytes : SHM_BULK_LEAST;
}

void wio_shm_ring_place(struct shm_ring *r, const struct shm_ring_geo *g, void *map)
{
    uint8_t *at = map;
    r->geo = *g;
    r->bytes = shm_ring_bytes(g);
    r->ctl = map;
    at += SHM_PAGE;
    r->slot = (struct shm_slot *)(void *)at;
    at += (size_t)g->slots * SHM_LINE;
    r->mid = at;
    r->bulk = at + g->mid;
}

void wio_shm_copy_in(uint8_t *ring, uint32_t size, uint64_t at, const void *src, size_t n)
{
    size_t off = (size_t)(at & (size - 1)), first = size - off < n ? size - off : n;
    wio_os_copy(ring + off, src, first);
    if (first < n)
        wio_os_copy(ring, (const uint8_t *)src + first, n - first);
}

void wio_shm_copy_out(const uint8_t *ring, uint32_t size, uint64_t at, void *dst, size_t n)
{
    size_t off = (size_t)(at & (size - 1)), first = size - off < n ? size - off : n;
    wio_os_copy(dst, ring + off, first);
    if (first < n)
        wio_os_copy((uint8_t *)dst + first, ring, n - first);
}

static size_t stream_room(const struct shm_writer *w)
{
    uint64_t used = w->bulk_tail - w->bulk_head; /* rounding may take it past the end */
    return used < w->ring.geo.bulk ? (size_t)(w->ring.geo.bulk - used) : 0;
}

#define SHM_TIMED 16u /* a look at the clock takes as long as a copy of 1 KiB */

/* From a payload to the end of the bulk ring. */
static void copy_bulk(struct shm_writer *w, const void *src, uint32_t n)
{
    bool timed = n >= SHM_FINE && w->copies++ % SHM_TIMED == 0;
    int64_t begun = timed ? wio_os_now_ns() : 0;
    wio_shm_copy_in(w->ring.bulk, w->ring.geo.bulk, w->bulk_tail, src, n);
    w->bulk_tail += n;
    w->since += n;
    if (timed)
        w->fine_ns = wio_shm_ring_pace(w->fine_ns, wio_os_now_ns() - begun, n);
}

uint32_t wio_shm_ring_pace(uint32_t was, int64_t ns, uint32_t n)
{
    int64_t now = ns * SHM_FINE / n + 1;
    if (was == 0)
        return now < UINT16_MAX ? (uint32_t)now : UINT16_MAX;
    if (now > 4 * (int64_t)was) /* its processor was taken away */
        now = 4 * (int64_t)was;
    int64_t then = was + (now - was) / 4;
    return then < UINT16_MAX ? (uint32_t)then : UINT16_MAX;
}

struct shm_slot *wio_shm_ring_fill_bulk(struct shm_writer *w, const void *payload, uint32_t n,
                                        unsigned mark)
{
    if (!shm_slot_room(w) || !shm_bulk_room(w, shm_bulk_at(&w->ring, w->bulk_tail, mark) + n))
        return NULL;
    struct shm_slot *s = shm_slot_next(w);
    s->info = shm_info(SHM_MESSAGE, SHM_WHOLE, n);
    s->data[0] = shm_bulk_begin(w, mark);
    copy_bulk(w, payload, n);
    atomic_store_explicit(&w->ring.ctl->bulk_tail, w->bulk_tail, memory_order_release);
    return s;
}

size_t wio_shm_ring_stream(struct shm_writer *w, const uint8_t *src, size_t n)
{
    size_t done = 0;
    while (done < n) {
        size_t room = stream_room(w), left = n - done;
        if (room < SHM_PUBLISH && room < left) {
            shm_refresh(&w->bulk_head, &w->ring.ctl->bulk_head, w->bulk_tail);
            room = stream_room(w);
            if (room == 0)
                break;
        }
        size_t most = left > SHM_PUBLISH ? SHM_PUBLISH : SHM_FINE;
        size_t piece = left < most ? left : most;
        if (piece > room)
            piece = room;
        copy_bulk(w, src + done, (uint32_t)piece);
        done += piece;
        atomic_store_explicit(&w->ring.ctl->bulk_tail, w->bulk_tail, memory_order_release);
    }
    return done;
}

bool wio_shm_ring_drain(struct shm_reader *r, uint8_t *dst, size_t keep, size_t n, bool last)
{
    if (keep > 0)
        wio_shm_copy_out(r->ring.bulk, r->ring.geo.bulk, r->bulk_head, dst, keep);
    r->bulk_head += n;
    if (!last && r->bulk_head - r->bulk_told < SHM_PUBLISH)
        return false;
    r->bulk_told = r->bulk_head;
    atomic_store_explicit(&r->ring.ctl->bulk_head, r->bulk_head, memory_order_release);
    return true;
}
