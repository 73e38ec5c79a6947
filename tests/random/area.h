/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that MPI works on, with canaries around it, and the bytes that must be there afterwards.
 */
#ifndef AREA_H
#define AREA_H

#include "layout.h"

struct area {
    char *mem, *want, *zero; /* zero: where displacement 0 is */
    size_t bytes;
};

/** @param low, high what the data reaches, from displacement 0 @param pattern what is in it first
 */
void area_open(struct area *a, ptrdiff_t low, ptrdiff_t high, uint64_t pattern);
/** Write a stream to its elements at a displacement: now, or as what is wanted. */
void area_fill(struct area *a, ptrdiff_t at, const struct layout *l, int count, uint64_t stream);
void area_want(struct area *a, ptrdiff_t at, const struct layout *l, int count, uint64_t stream,
               size_t bytes);
/** What there is now is wanted, but for what area_want() says afterwards. */
void area_keep(struct area *a);
/** Is everything as it must be? */
void area_check(const struct area *a, const char *what);
void area_close(struct area *a);

#endif
