/* SPDX-License-Identifier: BSD-3-Clause */
/** @file addresses.h  The addresses of this host, and which of them others should use. */
#ifndef WIO_BOOT_ADDRESSES_H
#define WIO_BOOT_ADDRESSES_H

#include "boot/boot.h"

/** 127.0.0.0/8, ::1 and their mapped forms. */
bool wio_addr_is_loopback(const struct sockaddr *sa);
/** Is one of these addresses a loopback one or that of a device of this host? */
bool wio_addr_any_local(const struct sockaddr_storage *sa, int n);
/** @return false for families other than IPv4 and IPv6 */
bool wio_addr_from_sockaddr(const struct sockaddr *sa, uint8_t prefix, struct wio_tab_addr *out);
/** "10.1.2.3", "fe80::1%2" */
void wio_addr_text(const struct wio_tab_addr *a, char *buf, size_t n);
/** Hash of host and network namespace, never 0. */
uint64_t wio_host_identity(void);

#endif
