/* SPDX-License-Identifier: BSD-3-Clause */
/** @file wrap.h  Transports around transports, for debugging (WAITIO_WRAP). Private to
 * src/transport. */
#ifndef WIO_WRAP_H
#define WIO_WRAP_H

#include "transport/transport.h"

/** check.c: the transport @p id with every call and upcall checked against the contract; a breach
 * is logged and ends the process. NULL: not built for this transport. */
const struct wio_transport *wio_wrap_check(enum wio_transport_id id);

/** fault.c: from now on socket reads and writes of this process are torn and refused at random
 * places that @p seed determines (single-threaded). Data arrives all the same. */
void wio_wrap_fault(uint64_t seed);

#endif
