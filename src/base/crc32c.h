/* SPDX-License-Identifier: BSD-3-Clause */
/** @file crc32c.h  Parts of the checksum that its tests see. */
#ifndef WIO_CRC32C_H
#define WIO_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/** Table k: effect of one byte followed by k zero bytes (crc32c_gen.c). */
extern const uint32_t wio_crc32c_table[8][256];
/** wio_crc32c() without the processor's help. */
uint32_t wio_crc32c_plain(uint32_t crc, const void *data, size_t n);

#endif
