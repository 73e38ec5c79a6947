/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file spares.h
 * Memory of collectives. New memory costs a page fault for every page, which for long messages
 * takes as much time as the copy, and the allocator returns large blocks to the system when they
 * are freed. So a few blocks are kept for the next collective.
 */
#ifndef WIO_MPI_SPARES_H
#define WIO_MPI_SPARES_H

#include <stddef.h>

/** At least @p bytes, aligned for any type; NULL: out of memory. @thread any */
void *wio_spare_take(size_t bytes);
/** What wio_spare_take() gave. @thread any */
void wio_spare_give(void *block);
/** Free what is kept. */
void wio_spares_free(void);
/** Bytes kept, for tests. */
size_t wio_spares_kept(void);

#endif /* WIO_MPI_SPARES_H */
