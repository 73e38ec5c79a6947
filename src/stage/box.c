/* SPDX-License-Identifier: BSD-3-Clause */
/* Boxes of index space. */
#include "stage/box.h"

#include <stdio.h>
#include <string.h>

struct wio_stg_box wio_stg_box(int n, const uint64_t *start, const uint64_t *count)
{
    struct wio_stg_box b = {.n = n};

    for (int d = 0; d < n; d++) {
        b.start[d] = start != NULL ? start[d] : 0;
        b.count[d] = count[d];
    }
    return b;
}

bool wio_stg_box_volume(const struct wio_stg_box *b, uint64_t *volume)
{
    const uint64_t most = (uint64_t)1 << 62;

    *volume = 1;
    for (int d = 0; d < b->n; d++)
        if (b->count[d] == 0) {
            *volume = 0;
            return true;
        }
    for (int d = 0; d < b->n; d++) {
        if (b->count[d] > most / *volume)
            return false;
        *volume *= b->count[d];
    }
    return true;
}

bool wio_stg_box_meet(const struct wio_stg_box *a, const struct wio_stg_box *b,
                      struct wio_stg_box *out)
{
    out->n = a->n;
    for (int d = 0; d < a->n; d++) {
        uint64_t first = a->start[d] > b->start[d] ? a->start[d] : b->start[d];
        uint64_t end_a = a->start[d] + a->count[d], end_b = b->start[d] + b->count[d];
        uint64_t end = end_a < end_b ? end_a : end_b;

        if (end <= first)
            return false;
        out->start[d] = first;
        out->count[d] = end - first;
    }
    return true;
}

bool wio_stg_box_inside(const struct wio_stg_box *b, const uint64_t *shape)
{
    for (int d = 0; d < b->n; d++)
        if (b->start[d] > shape[d] || b->count[d] > shape[d] - b->start[d])
            return false;
    return true;
}

bool wio_stg_box_within(const struct wio_stg_box *inner, const struct wio_stg_box *outer)
{
    if (inner->n != outer->n)
        return false;
    for (int d = 0; d < inner->n; d++)
        if (inner->start[d] < outer->start[d] ||
            inner->start[d] - outer->start[d] > outer->count[d] ||
            inner->count[d] > outer->count[d] - (inner->start[d] - outer->start[d]))
            return false;
    return true;
}

static uint64_t index_of(const struct wio_stg_box *outer, const uint64_t *point)
{
    uint64_t at = 0;

    for (int d = 0; d < outer->n; d++)
        at = at * outer->count[d] + (point[d] - outer->start[d]);
    return at;
}

bool wio_stg_box_solid(const struct wio_stg_box *outer, const struct wio_stg_box *inner,
                       uint64_t *at)
{
    int d = inner->n - 1;

    *at = index_of(outer, inner->start);
    while (d >= 0 && inner->count[d] == outer->count[d])
        d--;
    for (d--; d >= 0; d--)
        if (inner->count[d] != 1)
            return false;
    return true;
}

/* Dimensions from this one on are one piece in both arrays. */
static int solid_from(const struct wio_stg_box *a, const struct wio_stg_box *b,
                      const struct wio_stg_box *what)
{
    int d = what->n - 1;

    while (d > 0 && what->count[d] == a->count[d] && what->count[d] == b->count[d])
        d--;
    return d > 0 ? d : 0;
}

/* The next run's start in the dimensions before @p last. @return false: that was the last one */
static bool advance(const struct wio_stg_box *what, uint64_t *point, int last)
{
    for (int d = last - 1; d >= 0; d--) {
        if (++point[d] < what->start[d] + what->count[d])
            return true;
        point[d] = what->start[d];
    }
    return false;
}

void wio_stg_box_copy(size_t size, const struct wio_stg_box *from_box, const void *from,
                      const struct wio_stg_box *to_box, void *to, const struct wio_stg_box *what)
{
    int last = solid_from(from_box, to_box, what);
    uint64_t point[WIO_STG_DIMS], run = 1;

    for (int d = last; d < what->n; d++)
        run *= what->count[d];
    memcpy(point, what->start, sizeof point);
    do
        memcpy((char *)to + index_of(to_box, point) * size,
               (const char *)from + index_of(from_box, point) * size, run * size);
    while (advance(what, point, last));
}

void wio_stg_box_text(const struct wio_stg_box *b, char *out, size_t room)
{
    size_t n = 0;

    (void)snprintf(out, room, "[");
    for (int d = 0; d < b->n && (n = strlen(out)) + 50 < room; d++)
        (void)snprintf(out + n, room - n, "%s%llu:%llu", d > 0 ? ", " : "",
                       (unsigned long long)b->start[d],
                       (unsigned long long)(b->start[d] + b->count[d]));
    n = strlen(out);
    (void)snprintf(out + n, room - n, "]");
}

void wio_stg_swap(void *data, size_t size, size_t n)
{
    unsigned char *at = data;

    for (size_t i = 0; i < n; i++, at += size)
        for (size_t k = 0; k < size / 2; k++) {
            unsigned char c = at[k];

            at[k] = at[size - 1 - k];
            at[size - 1 - k] = c;
        }
}
