/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/shm/aim.h"

#include <string.h>

int wio_shm_aim(struct shm_aim *a, void *buf, size_t bytes, size_t shift, struct iovec to[2])
{
    a->buf = buf;
    a->bytes = bytes;
    a->shift = shift;
    to[0] = (struct iovec){a->buf + shift, bytes - shift};
    to[1] = (struct iovec){a->tail, shift};
    return shift > 0 ? 2 : 1;
}

void wio_shm_aim_settle(const struct shm_aim *a)
{
    if (a->shift == 0)
        return;
    memmove(a->buf, a->buf + a->shift, a->bytes - a->shift);
    memcpy(a->buf + a->bytes - a->shift, a->tail, a->shift);
}
