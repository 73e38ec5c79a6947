/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file box.h
 * Boxes of index space, the last dimension the quickest (C order). Pure functions.
 */
#ifndef WIO_STG_BOX_H
#define WIO_STG_BOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIO_STG_DIMS = 8 };

struct wio_stg_box {
    int n; /* dimensions */
    uint64_t start[WIO_STG_DIMS], count[WIO_STG_DIMS];
};

/** A box of @p n dimensions. @param start NULL: at 0 */
struct wio_stg_box wio_stg_box(int n, const uint64_t *start, const uint64_t *count);
/** Elements of the box. @return false: more than can be counted (2^62) */
bool wio_stg_box_volume(const struct wio_stg_box *b, uint64_t *volume);
/** What both have. @return false: nothing */
bool wio_stg_box_meet(const struct wio_stg_box *a, const struct wio_stg_box *b,
                      struct wio_stg_box *out);
/** Lies the box in an array of this shape? */
bool wio_stg_box_inside(const struct wio_stg_box *b, const uint64_t *shape);
/** Lies @p inner in @p outer? */
bool wio_stg_box_within(const struct wio_stg_box *inner, const struct wio_stg_box *outer);
/** Is @p inner, which lies in @p outer, one piece of an array that has the box @p outer?
 * @param[out] at index of its first element in that array */
bool wio_stg_box_solid(const struct wio_stg_box *outer, const struct wio_stg_box *inner,
                       uint64_t *at);
/** Copy @p what, which lies in both, between arrays of elements of @p size bytes. */
void wio_stg_box_copy(size_t size, const struct wio_stg_box *from_box, const void *from,
                      const struct wio_stg_box *to_box, void *to, const struct wio_stg_box *what);
/** "[start:end, ...]" for messages. */
void wio_stg_box_text(const struct wio_stg_box *b, char *out, size_t room);
/** Turn round the bytes of numbers of @p size bytes each. */
void wio_stg_swap(void *data, size_t size, size_t n);

#endif
