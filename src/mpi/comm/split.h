/* SPDX-License-Identifier: BSD-3-Clause */
/** @file split.h  Splitting without the error policy. */
#ifndef WIO_MPI_SPLIT_H
#define WIO_MPI_SPLIT_H

#include <stdint.h>

#include "waitio_mpi.h"

/** WAITIO_MPI_Comm_split. @return 0; ARG, NOMEM, or the error of the allgather */
int wio_comm_split(WAITIO_MPI_Comm comm, int color, int key, WAITIO_MPI_Comm *out);

struct wio_comm;
/** The space of the next communicator made from @p comm, whose state is @p c. @return 0; REVOKED,
 *  NOMEM. @param kind tells the calls apart */
int wio_split_space(struct wio_comm *c, WAITIO_MPI_Comm comm, uint64_t kind, uint64_t *space);

/** Dimensions of a grid. */
enum { WIO_MOST_DIMS = 32 };

/** A member's arguments of a split. */
struct wio_split_choice {
    int32_t color, key;
};
/** Universe ranks of those of members first .. first + size - 1 that chose a colour, in the order
 *  of their keys. @param to room for size. @return 0; NOMEM */
int wio_split_side(WAITIO_MPI_Comm comm, const struct wio_split_choice *all, int first, int size,
                   int color, uint32_t *to, uint32_t *n);

struct wio_cart;
/** Give a communicator that was made a grid (copied). @return 0; NOMEM (the communicator is freed)
 */
int wio_cart_give(WAITIO_MPI_Comm *comm, const struct wio_cart *grid);

#endif /* WIO_MPI_SPLIT_H */
