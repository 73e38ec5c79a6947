/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file compute.h
 * Arithmetic of derived variables. Pure functions.
 */
#ifndef WIO_STG_COMPUTE_H
#define WIO_STG_COMPUTE_H

#include <stdbool.h>
#include <stdint.h>

/** How a variable is derived. The first two are scalars, which several writers' values make. */
enum wio_stg_rule { WIO_STG_MIN = 1, WIO_STG_MAX, WIO_STG_MAGNITUDE };

/** sqrt(sum of squares) of @p n arrays. @param type float or double */
void wio_stg_magnitude(int type, int n, const char *const *from, uint64_t elements, char *to);
/** Take the smallest or the largest of the elements and of @p value. One that is not a number
 * makes the result so. @param type no complex one @param first there is no value yet */
void wio_stg_extreme(int type, bool largest, const void *from, uint64_t elements, bool first,
                     void *value);

#endif
