/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file boot_table.h
 * The image of the address table: one position-independent block of bytes that the service makes,
 * leaders receive, and all processes of a host map read-only. On the wire it is little-endian; the
 * leader turns it into native order once (a no-op on little-endian machines).
 *
 *   0  magic, bytes, universe id, npb, nhosts, size, crc32c of everything behind the head (wire
 * order) 48  u32 pb_size[npb], u32 pb_base[npb]; padded to 8 bytes struct wio_tab_host host[nhosts]
 *      struct wio_tab_ep ep[size]
 */
#ifndef WIO_BOOT_TABLE_H
#define WIO_BOOT_TABLE_H

#include "boot/boot.h"

#define WIO_IMAGE_MAGIC UINT64_C(0x314c4254424f4957) /* "WIOBTBL1" */

struct wio_image_head {
    uint64_t magic, bytes;
    uint8_t universe[WIO_UNIVERSE_ID];
    uint32_t npb, nhosts, size, crc;
};
_Static_assert(sizeof(struct wio_image_head) == 48, "on the wire");

/** Pointers into an image. */
struct wio_image {
    struct wio_image_head *head;
    uint32_t *pb_size, *pb_base;
    struct wio_tab_host *host;
    struct wio_tab_ep *ep;
};
/** Bytes an image with these counts takes. */
uint64_t wio_image_bytes(uint32_t npb, uint32_t nhosts, uint32_t size);
/** Compute the pointers; nothing is read or checked. */
void wio_image_layout(struct wio_image *im, void *base, uint32_t npb, uint32_t nhosts);
/** Turn a filled native image into wire order and seal it with its checksum. */
void wio_image_to_wire(struct wio_image *im);
/**
 * Check a received image in wire order (size, checksum) and turn it into native order in place.
 * @return 0; PROTOCOL
 */
int wio_image_from_wire(void *base, size_t bytes);
/**
 * Validate a native image completely - every count, offset and index - and make the view of process
 * (@p pbid, @p rank) on it. Every process does so before use, whoever gave it the image.
 * @param base  becomes the table's on success (unmapped by wio_table_free)
 * @return 0; PROTOCOL, NOMEM
 */
int wio_table_open(void *base, size_t bytes, bool shared, uint32_t pbid, uint32_t rank,
                   struct wio_table **out);
/** A table of one process that talks to nobody else. @return 0; NOMEM, SYSTEM */
int wio_table_alone(const struct wio_boot_offer *offer, struct wio_table **out);

#endif
