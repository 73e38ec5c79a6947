/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/base.h"

uint64_t wio_hash_bytes(uint64_t seed, const void *data, size_t n)
{
    const uint8_t *p = data;
    uint64_t h = wio_hash64(seed, n); /* the length, so that zeros at the end count */
    for (; n >= 8; n -= 8, p += 8)
        h = wio_hash64(h, wio_get64(p));
    if (n > 0) {
        uint8_t rest[8] = {0};
        memcpy(rest, p, n);
        h = wio_hash64(h, wio_get64(rest));
    }
    return h;
}
