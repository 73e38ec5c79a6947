/* SPDX-License-Identifier: BSD-3-Clause */
#include "area.h"

#include <stdlib.h>
#include <string.h>

#include "report.h"

enum { CANARY = 64 };

void area_open(struct area *a, ptrdiff_t low, ptrdiff_t high, uint64_t pattern)
{
    size_t before = ((size_t)(low < 0 ? -low : 0) + 2 * CANARY - 1) / CANARY * CANARY;
    size_t after = (size_t)(high > 0 ? high : 0);

    a->bytes = (before + after + 2 * CANARY - 1) / CANARY * CANARY;
    a->mem = aligned_alloc(CANARY, a->bytes);
    a->want = malloc(a->bytes);
    a->zero = a->mem + before;
    stream_bytes(a->mem, pattern, 0, a->bytes);
}

void area_fill(struct area *a, ptrdiff_t at, const struct layout *l, int count, uint64_t stream)
{
    layout_put(a->zero + at, l, count, stream, (size_t)count * l->size);
}

void area_want(struct area *a, ptrdiff_t at, const struct layout *l, int count, uint64_t stream,
               size_t bytes)
{
    layout_put(a->want + (a->zero - a->mem) + at, l, count, stream, bytes);
}

void area_keep(struct area *a)
{
    memcpy(a->want, a->mem, a->bytes);
}

void area_check(const struct area *a, const char *what)
{
    size_t first = 0, bad = 0;

    if (a->mem != NULL && spoiled > 0 && --spoiled == 0)
        a->mem[a->bytes / 2] ^= 1;
    if (a->mem == NULL || memcmp(a->mem, a->want, a->bytes) == 0)
        return;
    for (size_t i = a->bytes; i-- > 0;)
        if (a->mem[i] != a->want[i]) {
            first = i;
            bad++;
        }
    wrong("%s: %zu of %zu bytes are wrong, the first at %td: %d, not %d", what, bad, a->bytes,
          (ptrdiff_t)first - (a->zero - a->mem), (unsigned char)a->mem[first],
          (unsigned char)a->want[first]);
}

void area_close(struct area *a)
{
    free(a->mem);
    free(a->want);
    *a = (struct area){0};
}
