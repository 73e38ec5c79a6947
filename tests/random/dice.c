/* SPDX-License-Identifier: BSD-3-Clause */
#include "dice.h"

#include <string.h>

static uint64_t mixed(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t key_of(uint64_t a, uint64_t b)
{
    return mixed(mixed(a + 0x9e3779b97f4a7c15u) + b * 0xd1342543de82ef95u);
}

struct dice dice_of(uint64_t key)
{
    return (struct dice){key};
}

static uint64_t roll(struct dice *d)
{
    d->state += 0x9e3779b97f4a7c15u;
    return mixed(d->state);
}

int below(struct dice *d, int n)
{
    return (int)(roll(d) % (uint64_t)n);
}

bool chance(struct dice *d, int percent)
{
    return below(d, 100) < percent;
}

size_t some_size(struct dice *d, size_t most)
{
    int kind = below(d, 1000);
    size_t limit = kind < 80    ? 1
                   : kind < 550 ? 100
                   : kind < 800 ? 5000
                   : kind < 960 ? 70000
                   : kind < 996 ? 1 << 20
                                : most;
    if (limit > most)
        limit = most;
    return (size_t)(roll(d) % limit);
}

void shuffled(struct dice *d, int *order, int n)
{
    for (int i = 0; i < n; i++) {
        int j = below(d, i + 1);
        if (j < i)
            order[i] = order[j];
        order[j] = i;
    }
}

void stream_bytes(char *to, uint64_t stream, size_t from, size_t n)
{
    while (n > 0) {
        uint64_t word = mixed(stream + (from / 8) * 0x9e3779b97f4a7c15u);
        size_t skip = from % 8, part = 8 - skip < n ? 8 - skip : n;
        memcpy(to, (const char *)&word + skip, part);
        to += part;
        from += part;
        n -= part;
    }
}
