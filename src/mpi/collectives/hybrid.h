/* SPDX-License-Identifier: BSD-3-Clause */
/** @file hybrid.h  What the files of hybrid collectives share. */
#ifndef WIO_COLLECTIVES_HYBRID_H
#define WIO_COLLECTIVES_HYBRID_H

#include "mpi/collectives/team.h"
#include "waitio_inside.h"

/** From this size on a message goes in pieces: inside the PB, across the border and inside the
 * other PB at the same time (hybrid_long.c). */
enum { WIO_HYBRID_LONG = 256 * 1024 };

/** Write a step inside the PB, in a round of its own. @param root its rank in the communicator
 * @return the call, to be filled in; NULL: no memory, which the schedule remembers */
struct waitio_inside_call *wio_hybrid_step(struct wio_schedule *s, enum waitio_inside_kind kind,
                                           int root);
/** Can the provider of my PB reduce what this call reduces? */
bool wio_hybrid_folds(const struct wio_schedule *s, const struct wio_collective *c);
/** Tell the provider type and operator. A schedule is asked for with one of them. */
void wio_hybrid_operator(struct wio_schedule *s, const struct wio_collective *c,
                         struct waitio_inside_call *call);

void wio_hybrid_bcast_long(struct wio_schedule *s, const struct wio_collective *c);
void wio_hybrid_reduce_long(struct wio_schedule *s, const struct wio_collective *c);
void wio_hybrid_allreduce_long(struct wio_schedule *s, const struct wio_collective *c);

#endif /* WIO_COLLECTIVES_HYBRID_H */
