/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changing the byte order of the packed form, as a whole or in parts. A part may begin and end
 * within a number. The byte that it has of such a number lies at the mirrored place of the number
 * in the program's memory, so no part needs another one.
 */
#include "mpi/datatype/type.h"

enum { BLOCK = 4096 }; /* that a message is copied by, since what has arrived must stay as it is */

static void swap_units(unsigned char *at, size_t unit, size_t n)
{
    for (size_t i = 0; i < n; i++, at += unit)
        for (size_t k = 0; k < unit / 2; k++) {
            unsigned char byte = at[k];
            at[k] = at[unit - 1 - k];
            at[unit - 1 - k] = byte;
        }
}

/* Bytes [offset, offset + n) of the packed form, which begin with a number. */
static void swap_part(const struct wio_mpi_type *t, size_t offset, size_t n, unsigned char *at)
{
    size_t skip = n > 0 ? offset % t->size : 0; /* a type may be empty */

    while (n > 0) {
        for (size_t i = skip > 0 ? wio_type_run_at(t, skip) : 0; i < t->nruns && n > 0; i++) {
            const struct wio_run *r = &t->run[i];
            size_t in = skip > r->from ? skip - r->from : 0;
            size_t bytes = r->count * r->width * r->repeat - in;
            if (bytes > n)
                bytes = n;
            if (r->of != NULL)
                swap_part(r->of, in, bytes, at);
            else if (r->unit > 1)
                swap_units(at, r->unit, bytes / r->unit);
            at += bytes;
            n -= bytes;
        }
        skip = 0;
    }
}

void wio_type_swap(const struct wio_mpi_type *t, size_t n, void *packed)
{
    swap_part(t, 0, n, packed);
}

/* The number that a byte of the packed form belongs to. */
struct number {
    size_t begin, end;
};

static struct number number_at(const struct wio_mpi_type *t, size_t offset)
{
    size_t in = offset;
    const struct wio_run *r;

    do {
        in %= t->size;
        r = &t->run[wio_type_run_at(t, in)];
        in -= r->from;
        t = r->of;
    } while (t != NULL);
    in %= r->unit > 1 ? r->unit : 1u;
    return (struct number){offset - in, offset - in + (r->unit > 1 ? r->unit : 1u)};
}

/* What a part has of numbers that others have the rest of, at its beginning and at its end. */
struct ends {
    struct number first, last;
    size_t head, body; /* bytes of the first; of whole numbers */
};

static struct ends ends_of(const struct wio_mpi_type *t, size_t offset, size_t n)
{
    struct ends e = {number_at(t, offset), number_at(t, offset + n - 1), 0, 0};

    if (e.first.begin < offset || e.first.end > offset + n)
        e.head = e.first.end - offset < n ? e.first.end - offset : n;
    e.body = n - e.head;
    if (e.body > 0 && e.last.end > offset + n)
        e.body = e.last.begin - offset - e.head;
    return e;
}

static size_t mirrored(const struct number *of, size_t offset)
{
    return of->begin + (of->end - 1 - offset);
}

void wio_type_pack_swapped(const struct wio_mpi_type *t, const void *user, size_t offset, size_t n,
                           void *packed)
{
    unsigned char *to = packed;
    struct ends e;

    if (n == 0)
        return;
    e = ends_of(t, offset, n);
    for (size_t i = 0; i < e.head; i++)
        wio_type_pack(t, user, mirrored(&e.first, offset + i), 1, to + i);
    if (e.body > 0) {
        wio_type_pack(t, user, offset + e.head, e.body, to + e.head);
        swap_part(t, offset + e.head, e.body, to + e.head);
    }
    for (size_t i = e.head + e.body; i < n; i++)
        wio_type_pack(t, user, mirrored(&e.last, offset + i), 1, to + i);
}

static void unpack_block(const struct wio_mpi_type *t, void *user, size_t offset, size_t n,
                         const unsigned char *from)
{
    struct ends e = ends_of(t, offset, n);
    unsigned char copy[BLOCK];

    for (size_t i = 0; i < e.head; i++)
        wio_type_unpack(t, user, mirrored(&e.first, offset + i), 1, from + i);
    if (e.body > 0) {
        memcpy(copy, from + e.head, e.body);
        swap_part(t, offset + e.head, e.body, copy);
        wio_type_unpack(t, user, offset + e.head, e.body, copy);
    }
    for (size_t i = e.head + e.body; i < n; i++)
        wio_type_unpack(t, user, mirrored(&e.last, offset + i), 1, from + i);
}

void wio_type_unpack_swapped(const struct wio_mpi_type *t, void *user, size_t offset, size_t n,
                             const void *packed)
{
    const unsigned char *from = packed;

    while (n > 0) {
        size_t some = n < BLOCK ? n : BLOCK;
        unpack_block(t, user, offset, some, from);
        offset += some;
        from += some;
        n -= some;
    }
}
