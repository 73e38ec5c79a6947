/* SPDX-License-Identifier: BSD-3-Clause */
/* A radix sort of permutations, from the lowest digit up. */
#include "coupler/order.h"

#include <stdlib.h>
#include <string.h>

#include "coupler/base.h"
#include "waitio_errors.h"

enum { DIGIT = 11, VALUES = 1 << DIGIT };

static unsigned digit(int64_t key, int shift)
{
    return (unsigned)((uint64_t)key >> shift) & (VALUES - 1);
}

static void by_digit(const int64_t *key, const uint32_t *from, uint32_t *to, size_t n, int shift)
{
    size_t next[VALUES] = {0}, at = 0;

    for (size_t i = 0; i < n; i++)
        next[digit(key[i], shift)]++;
    for (int v = 0; v < VALUES; v++) {
        size_t count = next[v];

        next[v] = at;
        at += count;
    }
    for (size_t i = 0; i < n; i++)
        to[next[digit(key[from[i]], shift)]++] = from[i];
}

static int64_t largest(const int64_t *key, const uint32_t *order, size_t n, bool *sorted)
{
    int64_t most = 0;

    *sorted = true;
    for (size_t i = 0; i < n; i++) {
        most = key[i] > most ? key[i] : most;
        *sorted &= i == 0 || key[order[i - 1]] <= key[order[i]];
    }
    return most;
}

int wio_cpl_order(const int64_t *key, uint32_t *order, size_t n)
{
    uint32_t *other, *from = order, *to;
    bool sorted;
    int64_t most = largest(key, order, n, &sorted);

    if (sorted)
        return 0;
    other = to = wio_cpl_new(n, sizeof *other);
    if (other == NULL)
        return WAITIO_ERR_NOMEM;
    for (int shift = 0; shift < 64 && most >> shift > 0; shift += DIGIT) {
        uint32_t *was = from;

        by_digit(key, from, to, n, shift);
        from = to;
        to = was;
    }
    if (from != order)
        memcpy(order, from, n * sizeof *order);
    free(other);
    return 0;
}

uint32_t *wio_cpl_order_new(size_t n)
{
    uint32_t *order = wio_cpl_new(n, sizeof *order);

    for (size_t i = 0; order != NULL && i < n; i++)
        order[i] = (uint32_t)i;
    return order;
}
