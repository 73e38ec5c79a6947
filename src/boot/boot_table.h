/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file boot_table.h
 * The address table in its two forms.
 *
 * Image: one position-independent block of bytes in native order that all processes of a host map
 * read-only: head, u32 pb_size[npb], u32 pb_base[npb] (padded to 8 bytes), hosts, endpoints.
 *
 * Packed: the form in messages, since every host needs the whole table. Little-endian:
 *     48  head: magic, bytes, universe id, npb, nhosts, size, crc32c of everything behind the head
 *      4  per block: its size
 *  10...  per host: identity, number of addresses, a bit per address that is the same as the one
 *         at its place of the host before; per other address family, loopback, prefix, then 4 bytes
 *         (IPv4) or 4 of scope and 16 (IPv6)
 *   0...  per endpoint: what differs from the endpoint before: host index (4), port (2), caps (2),
 *         token (8). In front of up to 8 endpoints with the same differences a byte: WIO_PACK_*
 * and, in its upper three bits, how many more there are. Mostly 2 bytes and a fraction.
 */
#ifndef WIO_BOOT_TABLE_H
#define WIO_BOOT_TABLE_H

#include "boot/boot.h"

#define WIO_IMAGE_MAGIC UINT64_C(0x314c4254424f4957)  /* "WIOBTBL1" */
#define WIO_PACKED_MAGIC UINT64_C(0x314b4350424f4957) /* "WIOBPCK1" */
#define WIO_PACK_HOST 1u                              /* host index follows */
#define WIO_PACK_NEXT 2u                              /* host index is the one before plus 1 */
#define WIO_PACK_PORT 4u
#define WIO_PACK_CAPS 8u
#define WIO_PACK_TOKEN 16u
#define WIO_PACK_WHAT 31u
#define WIO_PACK_MORE 32u /* times 0 to 7 */

struct wio_image_head {
    uint64_t magic, bytes;
    uint8_t universe[WIO_UNIVERSE_ID];
    uint32_t npb, nhosts, size;
    uint32_t crc; /* packed form only */
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

/** Writer of a packed table: begin, then npb sizes, nhosts hosts, size endpoints, then end. */
struct wio_pack {
    uint8_t *base, *at;
    uint8_t *group; /* the byte that stands for the last endpoints, NULL = none yet */
    struct wio_tab_ep last;
    struct wio_tab_host last_host;
};
/** @param base  room for wio_pack_bound() bytes. @param head  universe and counts are taken from it
 */
void wio_pack_begin(struct wio_pack *k, void *base, const struct wio_image_head *head);
void wio_pack_block(struct wio_pack *k, uint32_t nprocs);
void wio_pack_host(struct wio_pack *k, const struct wio_tab_host *h);
void wio_pack_ep(struct wio_pack *k, const struct wio_tab_ep *e);
/** Fill in length and checksum. @return bytes */
size_t wio_pack_end(struct wio_pack *k);
size_t wio_pack_bound(uint32_t npb, uint32_t nhosts, uint32_t size);

/** Check length, checksum and counts of a packed table; h->bytes becomes the size of its image. The
 *  counts are bounded by the length, so that a few bytes cannot ask for much memory.
 *  @return 0; PROTOCOL */
int wio_unpack_head(const void *packed, size_t n, struct wio_image_head *h);
/** Make the native image. @param image  zeroed room of h->bytes. @return 0; PROTOCOL */
int wio_unpack(const void *packed, size_t n, const struct wio_image_head *h, void *image);

/**
 * Validate a native image completely - every count, offset and index - and make the view of process
 * (@p pbid, @p rank) on it. Every process does so before use, also with its own leader's image.
 * @param base  becomes the table's on success (unmapped by wio_table_free)
 * @return 0; PROTOCOL, NOMEM
 */
int wio_table_open(void *base, size_t bytes, bool shared, uint32_t pbid, uint32_t rank,
                   struct wio_table **out);
/** The table of a universe of one process. @return 0; NOMEM, SYSTEM */
int wio_table_alone(const struct wio_boot_offer *offer, struct wio_table **out);

#endif
