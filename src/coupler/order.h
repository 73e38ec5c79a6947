/* SPDX-License-Identifier: BSD-3-Clause */
/** @file order.h  Sorting by whole numbers, in time proportional to how many there are: pure. */
#ifndef WIO_CPL_ORDER_H
#define WIO_CPL_ORDER_H

#include <stddef.h>
#include <stdint.h>

/**
 * Reorder numbers of things by a key of each; things of equal keys stay in their order.
 * @param key by thing, >= 0 @param[in,out] order @p n numbers of things @return 0; NOMEM
 */
int wio_cpl_order(const int64_t *key, uint32_t *order, size_t n);
/** 0, 1, ... @return NULL without memory; LIMIT is the caller's: fewer than 2^32 */
uint32_t *wio_cpl_order_new(size_t n);

#endif
