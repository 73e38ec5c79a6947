/* SPDX-License-Identifier: BSD-3-Clause */
/** @file port.h  A port for the processes of one job to meet at. */
#ifndef WIO_H3OU_PORT_H
#define WIO_H3OU_PORT_H

/** A TCP port at which nobody listens, outside of those for outgoing connections where there are
 * others. @return 0: none found */
int wio_h3ou_free_port(void);

#endif
