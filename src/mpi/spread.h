/* SPDX-License-Identifier: BSD-3-Clause */
/** @file spread.h  Data of any type as the engine sends and receives it: in pieces. */
#ifndef WIO_MPI_SPREAD_H
#define WIO_MPI_SPREAD_H

#include "mpi/datatype/type.h"
#include "p2p/p2p.h"

struct wio_comm;

/** Elements of type @p t at @p buf. @param unlike the communicator whose members need another byte
 * order, or NULL. It holds no references: who keeps a copy calls `hold`. */
struct wio_spread wio_spread_typed(void *buf, const struct wio_mpi_type *t,
                                   struct wio_comm *unlike);

#endif /* WIO_MPI_SPREAD_H */
