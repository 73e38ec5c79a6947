/* SPDX-License-Identifier: BSD-3-Clause */
/** @file fault.h  How the functions of this layer ask the fault hook. Private to src/os. */
#ifndef WIO_OS_FAULT_H
#define WIO_OS_FAULT_H

#include "os/os.h"

/** What the hook says to a call: 0 go on, negative errno, or a byte count. */
static inline int wio_os_ask(enum wio_os_call call, int fd, size_t bytes)
{
    int (*hook)(enum wio_os_call, int, size_t) = wio_os_fault;
    return __builtin_expect(hook != NULL, 0) ? hook(call, fd, bytes) : 0;
}

/** Same for calls that know no byte count: 0 or a negative errno. */
static inline int wio_os_refuse(enum wio_os_call call, int fd, size_t bytes)
{
    int answer = wio_os_ask(call, fd, bytes);
    return answer < 0 ? answer : 0;
}

#endif
