/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file spare.h
 * Memory of copies that were sent, for the copies of the next step: new memory costs as much as
 * the copy, because the system clears it page by page. The caller has the lock.
 */
#ifndef WIO_STG_SPARE_H
#define WIO_STG_SPARE_H

#include <stddef.h>

struct wio_stg_spares {
    struct wio_stg_spare *first; /* the latest */
    size_t bytes;
};

/** Memory of @p n bytes, to be freed by free(). @return NULL: none of that size is there */
void *wio_stg_spare_take(struct wio_stg_spares *s, size_t n);
/** Keep memory of @p n bytes, or free it: when it is small, or more than @p most bytes would be
 * kept. */
void wio_stg_spare_give(struct wio_stg_spares *s, void *memory, size_t n, size_t most);
void wio_stg_spare_free(struct wio_stg_spares *s);

#endif
