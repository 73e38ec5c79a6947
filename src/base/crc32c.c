/* SPDX-License-Identifier: BSD-3-Clause */
/* CRC-32C (Castagnoli), eight bytes a step. */
#include "base/crc32c.h"

#include "base/base.h"

#if defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

uint32_t wio_crc32c_plain(uint32_t crc, const void *data, size_t n)
{
    const uint32_t(*t)[256] = wio_crc32c_table;
    const uint8_t *p = data;
    crc = ~crc;
    for (; n >= 8; n -= 8, p += 8) {
        uint32_t low = wio_get32(p) ^ crc;
        uint32_t high = wio_get32(p + 4);
        crc = t[7][low & 255] ^ t[6][low >> 8 & 255] ^ t[5][low >> 16 & 255] ^ t[4][low >> 24] ^
              t[3][high & 255] ^ t[2][high >> 8 & 255] ^ t[1][high >> 16 & 255] ^ t[0][high >> 24];
    }
    for (; n > 0; n--)
        crc = t[0][(crc ^ *p++) & 255] ^ crc >> 8;
    return ~crc;
}

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) static uint32_t crc_sse42(uint32_t crc, const uint8_t *p,
                                                            size_t n)
{
    uint64_t c = ~crc;
    for (; n >= 8; n -= 8, p += 8)
        c = __builtin_ia32_crc32di(c, wio_get64(p));
    uint32_t d = (uint32_t)c;
    for (; n > 0; n--)
        d = __builtin_ia32_crc32qi(d, *p++);
    return ~d;
}

uint32_t wio_crc32c(uint32_t crc, const void *data, size_t n)
{
    if (WIO_LIKELY(__builtin_cpu_supports("sse4.2")))
        return crc_sse42(crc, data, n);
    return wio_crc32c_plain(crc, data, n);
}

#elif defined(__ARM_FEATURE_CRC32)

uint32_t wio_crc32c(uint32_t crc, const void *data, size_t n)
{
    const uint8_t *p = data;
    crc = ~crc;
    for (; n >= 8; n -= 8, p += 8)
        crc = __crc32cd(crc, wio_get64(p));
    for (; n > 0; n--)
        crc = __crc32cb(crc, *p++);
    return ~crc;
}

#else

uint32_t wio_crc32c(uint32_t crc, const void *data, size_t n)
{
    return wio_crc32c_plain(crc, data, n);
}

#endif
