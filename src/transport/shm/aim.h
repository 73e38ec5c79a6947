/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file aim.h
 * Where to let the system put bytes that it copies from another process. It copies by one
 * instruction (rep movsb), which on some processors takes four times as long when the target lies
 * 1 to 15 bytes ahead of the source, modulo the size of a page (AMD, Zen 4: 64 KiB 23.7 us in the
 * place of 5.9 us). There the bytes go up to a cache line farther on, the last of them into a
 * little room of ours, and are moved to their place afterwards (6.7 us).
 */
#ifndef WIO_TRANSPORT_SHM_AIM_H
#define WIO_TRANSPORT_SHM_AIM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum {
    SHM_AIM_FROM = 2048, /**< bytes; below, the move costs more than it saves */
    SHM_AIM_SHIFT = 63   /**< at most */
};

struct shm_aim {
    uint8_t *buf;
    size_t bytes, shift; /**< shift < bytes; 0: the bytes go to their place at once */
    uint8_t tail[SHM_AIM_SHIFT];
};

/** @param[out] to  where to read to, in this order. @return how many entries, 1 or 2 */
int wio_shm_aim(struct shm_aim *a, void *buf, size_t bytes, size_t shift, struct iovec to[2]);
/** All bytes have been read: they are in their place afterwards. */
void wio_shm_aim_settle(const struct shm_aim *a);

#endif
