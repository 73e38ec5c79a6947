/* SPDX-License-Identifier: BSD-3-Clause */
/** @file fault.c  Torn and refused socket calls by a seed. */
#include <errno.h>
#include <stdatomic.h>

#include "os/os.h"
#include "transport/wrap/wrap.h"

/* The fault hook of the os layer takes no argument, so its seed cannot live anywhere else. */
static _Atomic uint64_t draw;

static int tear(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    if (call != WIO_OS_SEND && call != WIO_OS_RECV)
        return 0;
    uint64_t r = wio_mix64(atomic_fetch_add(&draw, 0x9e3779b97f4a7c15ULL));
    switch (r & 7) {
    case 0:
        return call == WIO_OS_RECV ? 0 : -EAGAIN;
    case 1:
        return 1;
    case 2:
    case 3:
        return bytes > 1 ? (int)(1 + (r >> 8) % (bytes < 4096 ? bytes : 4096)) : 0;
    default:
        return 0;
    }
}

void wio_wrap_fault(uint64_t seed)
{
    atomic_store(&draw, wio_mix64(seed));
    wio_os_fault = tear;
}
