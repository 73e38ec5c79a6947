/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packing and unpacking any part of any type. One function walks over the runs, and into the types
 * that runs repeat, in both directions. Loops that the compiler can unroll move short pieces of
 * usual widths. The beginning of a part is found without a walk: runs know their offsets.
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

size_t wio_type_run_at(const struct wio_mpi_type *t, size_t offset)
{
    size_t low = 0, high = t->nruns;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (t->run[middle].from <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Bytes [skip, skip + n) of a run whose pieces have no holes, at most to its end; the first piece
 * lies at @p user. @return bytes moved */
static size_t move_dense(const struct wio_run *r, char *user, size_t skip, size_t n, char *packed,
                         enum direction way)
{
    size_t bytes = r->count * r->width, index = 0, inside = 0, done = 0, whole;

    if (skip > 0) {
        index = skip / bytes;
        inside = skip % bytes;
        user += r->repeat > 1 ? (int64_t)index * r->stride : 0;
    }
    if (inside > 0) { /* the rest of a piece that was begun */
        done = bytes - inside < n ? bytes - inside : n;
        pieces(user + inside, 0, packed, done, 1, way);
        user += r->stride;
        index++;
    }
    whole = r->repeat - index;
    if (n - done < whole * bytes)
        whole = (n - done) / bytes;
    whole_pieces(user, r->stride, packed + done, bytes, whole, way);
    done += whole * bytes;
    if (index + whole < r->repeat && done < n) {
        pieces(user + (int64_t)whole * r->stride, 0, packed + done, n - done, 1, way);
        done = n;
    }
    return done;
}

/* Bytes [skip, skip + n) of one element, at most to its end. @return bytes moved */
static size_t move_element(const struct wio_mpi_type *t, char *user, size_t skip, size_t n,
                           char *packed, enum direction way);

/* The same of a run of a type with holes. */
static size_t move_typed(const struct wio_run *r, char *user, size_t skip, size_t n, char *packed,
                         enum direction way)
{
    size_t index = 0, done = 0;

    if (skip > 0) {
        index = skip / r->of->size;
        skip %= r->of->size;
        user += (int64_t)index * r->stride;
    }
    for (; index < r->repeat && done < n; index++, user += r->stride, skip = 0)
        done += move_element(r->of, user, skip, n - done, packed + done, way);
    return done;
}

static size_t move_element(const struct wio_mpi_type *t, char *user, size_t skip, size_t n,
                           char *packed, enum direction way)
{
    size_t i = 0, done = 0;

    if (skip > 0) {
        i = wio_type_run_at(t, skip);
        skip -= t->run[i].from;
    }
    for (; i < t->nruns && done < n; i++, skip = 0) {
        const struct wio_run *r = &t->run[i];
        char *at = user + r->at;
        if (r->of == NULL)
            done += move_dense(r, at, skip, n - done, packed + done, way);
        else if (r->of->solid)
            done += move_dense(r, at + r->of->lb, skip, n - done, packed + done, way);
        else
            done += move_typed(r, at, skip, n - done, packed + done, way);
    }
    return done;
}

static void move_elements(const struct wio_mpi_type *t, char *user, size_t offset, size_t n,
                          char *packed, enum direction way)
{
    size_t skip = offset;

    if (offset >= t->size) {
        skip = offset % t->size;
        user += (int64_t)(offset / t->size) * wio_type_extent(t);
    }
    while (n > 0) {
        size_t done = move_element(t, user, skip, n, packed, way);
        packed += done;
        n -= done;
        skip = 0;
        user += wio_type_extent(t);
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
        move_elements(t, from, offset, n, packed, PACK);
}

void wio_type_unpack(const struct wio_mpi_type *t, void *user, size_t offset, size_t n,
                     const void *packed)
{
    if (n == 0)
        return;
    if (t->solid)
        memcpy((char *)user + t->lb + offset, packed, n);
    else
        move_elements(t, user, offset, n, (char *)(uintptr_t)packed, UNPACK);
}

int64_t wio_type_elements(const struct wio_mpi_type *t, size_t bytes)
{
    int64_t n, rest;

    if (t->size == 0)
        return bytes == 0 ? 0 : -1;
    n = (int64_t)(bytes / t->size * t->nbasic);
    bytes %= t->size;
    for (size_t i = 0; bytes > 0; i++) {
        const struct wio_run *r = &t->run[i];
        size_t whole = r->count * r->width * r->repeat;
        if (bytes < whole)
            whole = bytes;
        if (r->of != NULL)
            rest = wio_type_elements(r->of, whole);
        else
            rest = whole % r->width == 0 ? (int64_t)(whole / r->width) : -1;
        if (rest < 0)
            return -1;
        n += rest;
        bytes -= whole;
    }
    return n;
}

int64_t wio_type_bytes(const struct wio_mpi_type *t, int64_t n)
{
    int64_t basic = (int64_t)t->nbasic, bytes;

    if (n < 0 || (basic == 0 && n > 0))
        return -1;
    if (n == 0)
        return 0;
    if (__builtin_mul_overflow(n / basic, (int64_t)t->size, &bytes))
        return -1;
    n %= basic;
    for (size_t i = 0; n > 0; i++) {
        const struct wio_run *r = &t->run[i];
        int64_t of = r->of != NULL ? (int64_t)r->of->nbasic : (int64_t)r->count;
        int64_t most = of * (int64_t)r->repeat, some = n < most ? n : most;
        int64_t part = r->of != NULL ? wio_type_bytes(r->of, some) : some * r->width;
        if (__builtin_add_overflow(bytes, part, &bytes))
            return -1;
        n -= some;
    }
    return bytes;
}
