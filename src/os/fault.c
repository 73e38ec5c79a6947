/* SPDX-License-Identifier: BSD-3-Clause */
#include "os/fault.h"

/* The one exception to "no state of a file": a switch that only tests set, before they start. */
int (*wio_os_fault)(enum wio_os_call call, int fd, size_t bytes) = NULL;
