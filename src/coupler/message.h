/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file message.h
 * A message of a bundle: numbers of one type, so that unlike machines read each other's. Pure.
 *
 *   [0] version of this layout  [1] kind  [2..4] stamp, seconds  [5..6] layers of all variables
 *   [7] 0; then for each variable, for each layer, the points that the receiver asked for
 *
 * Numbers of the head are below 2^22, so that real4 and int hold them exactly: longer ones are in
 * several parts, the highest first.
 */
#ifndef WIO_CPL_MESSAGE_H
#define WIO_CPL_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coupler/conf.h"

enum { WIO_CPL_HEAD = 8, WIO_CPL_VERSION = 2 };

struct wio_cpl_head {
    int version, kind;
    int64_t stamp;
    size_t layers;
};

/** Bytes of a number. */
size_t wio_cpl_width(enum wio_cpl_type type);
void wio_cpl_head_write(enum wio_cpl_type type, void *out, const struct wio_cpl_head *head);
struct wio_cpl_head wio_cpl_head_read(enum wio_cpl_type type, const void *in);

/** Numbers of a type from double precision. Whole numbers are rounded. @param at which of @p from,
 * NULL: the first @p n
 * @return @p n, or which one no number of the type can hold */
size_t wio_cpl_narrow(enum wio_cpl_type type, const double *from, const int64_t *at, size_t n,
                      void *out);
/** And back. What is @p fill in this type becomes @p fill. */
void wio_cpl_widen(enum wio_cpl_type type, double fill, const void *in, size_t n, double *out);
/** What becomes of sums in this type: as if narrowed and widened. @return as wio_cpl_narrow() */
size_t wio_cpl_round(enum wio_cpl_type type, double fill, double *values, size_t n);

#endif
