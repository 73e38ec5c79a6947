/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packing and unpacking any part of any type. Both directions are one walk over the runs; short
 * pieces of usual widths are moved by loops that the compiler can unroll.
 */
#include "mpi/datatype/type.h"

enum direction { PACK, UNPACK };

/* Move @p n pieces of @p bytes, @p stride apart in the user's memory, dense in packed. */
static void pieces(char *user, int64_t stride, char *packed, size_t bytes, size_t n,
                   enum direction way)
{
    for (size_t i = 0; i < n; i++, user += stride, packed += bytes) {
        if (way == PACK)
            memcpy(packed, user, bytes);
        else
            memcpy(user, packed, bytes);
    }
}

/* The same with the widths that matter known at compile time. */
static void whole_pieces(char *user, int64_t stride, char *packed, size_t bytes, size_t n,
                         enum direction way)
{
    switch (bytes) {
    case 4:
        pieces(user, stride, packed, 4, n, way);
        break;
    case 8:
        pieces(user, stride, packed, 8, n, way);
        break;
    case 16:
        pieces(user, stride, packed, 16, n, way);
        break;
    default:
        pieces(user, stride, packed, bytes, n, way);
    }
}

/* Bytes [skip, skip + n) of a run, at most to its end. @return bytes moved */
static size_t move_run(const struct wio_run *r, char *user, size_t skip, size_t n, char *packed,
                       enum direction way)
{
    size_t bytes = r->count * r->width, index = skip / bytes, inside = skip % bytes, done = 0;
    char *at = user + r->at + (r->repeat > 1 ? (int64_t)index * r->stride : 0);

    if (inside > 0) { /* the rest of a piece that was begun */
        done = bytes - inside < n ? bytes - inside : n;
        pieces(at + inside, 0, packed, done, 1, way);
        at += r->stride;
        index++;
    }
    if (index < r->repeat && done < n) {
        size_t left = (n - done) / bytes, whole = r->repeat - index;
        whole = left < whole ? left : whole;
        whole_pieces(at, r->stride, packed + done, bytes, whole, way);
        done += whole * bytes;
        index += whole;
        at += (int64_t)whole * r->stride;
    }
    if (index < r->repeat && done < n) {
        pieces(at, 0, packed + done, n - done, 1, way);
        done = n;
    }
    return done;
}

static void move_runs(const struct wio_mpi_type *t, char *user, size_t offset, size_t n,
                      char *packed, enum direction way)
{
    size_t skip = offset % t->size;

    user += (int64_t)(offset / t->size) * wio_type_extent(t);
    for (size_t i = 0; n > 0; i++) {
        const struct wio_run *r;
        size_t bytes;
        if (i == t->nruns) {
            i = 0;
            user += wio_type_extent(t);
        }
        r = &t->run[i];
        bytes = r->count * r->width * r->repeat;
        if (skip >= bytes) {
            skip -= bytes;
            continue;
        }
        bytes = move_run(r, user, skip, n, packed, way);
        packed += bytes;
        n -= bytes;
        skip = 0;
    }
}

void wio_type_pack(const struct wio_mpi_type *t, const void *user, size_t offset, size_t n,
                   void *packed)
{
    char *from = (char *)(uintptr_t)user;

    if (n == 0)
        return;
    if (t->solid)
        memcpy(packed, from + t->lb + offset, n);
    else
        move_runs(t, from, offset, n, packed, PACK);
}

void wio_type_unpack(const struct wio_mpi_type *t, void *user, size_t offset, size_t n,
                     const void *packed)
{
    if (n == 0)
        return;
    if (t->solid)
        memcpy((char *)user + t->lb + offset, packed, n);
    else
        move_runs(t, user, offset, n, (char *)(uintptr_t)packed, UNPACK);
}

static void swap_units(unsigned char *at, size_t unit, size_t n)
{
    for (size_t i = 0; i < n; i++, at += unit)
        for (size_t k = 0; k < unit / 2; k++) {
            unsigned char byte = at[k];
            at[k] = at[unit - 1 - k];
            at[unit - 1 - k] = byte;
        }
}

void wio_type_swap(const struct wio_mpi_type *t, size_t n, void *packed)
{
    unsigned char *at = packed;

    while (n > 0)
        for (size_t i = 0; i < t->nruns && n > 0; i++) {
            const struct wio_run *r = &t->run[i];
            size_t bytes = r->count * r->width * r->repeat;
            if (bytes > n)
                bytes = n;
            if (r->unit > 1)
                swap_units(at, r->unit, bytes / r->unit);
            at += bytes;
            n -= bytes;
        }
}

int64_t wio_type_elements(const struct wio_mpi_type *t, size_t bytes)
{
    int64_t n;

    if (t->size == 0)
        return bytes == 0 ? 0 : -1;
    n = (int64_t)(bytes / t->size * t->nbasic);
    bytes %= t->size;
    for (size_t i = 0; bytes > 0; i++) {
        const struct wio_run *r = &t->run[i];
        size_t whole = r->count * r->repeat;
        if (bytes / r->width < whole) {
            if (bytes % r->width != 0)
                return -1;
            whole = bytes / r->width;
        }
        n += (int64_t)whole;
        bytes -= whole * r->width;
    }
    return n;
}
