/* SPDX-License-Identifier: BSD-3-Clause */
/** @file listen.h  See listen.c. */
#ifndef WIO_BOOT_LISTEN_H
#define WIO_BOOT_LISTEN_H

#include "boot/boot.h"

/** Bind and listen.
 *  @param bind_host  NULL = every address of this host
 *  @param[in,out] port  0 = any free one; the one taken
 *  @param[out] fd  the caller's to close
 *  @return 0; JOIN: the port is taken; CONFIG (bind_host); SYSTEM */
int wio_boot_listen(const char *bind_host, uint16_t *port, int *fd);

#endif
