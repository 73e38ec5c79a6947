/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file plans.h
 * Schedules that are kept. Programs repeat their short collectives - the same call with the same
 * buffers in every step - and then most of what a call costs beside its messages is writing its
 * schedule. A communicator keeps those of blocking calls it has seen twice in a row.
 *
 * A plan depends on nothing but the arguments of the call: types and operators are predefined ones,
 * counts are no arrays, data is only touched by its steps. What is kept is bounded per communicator
 * and in all.
 */
#ifndef WIO_MPI_PLANS_H
#define WIO_MPI_PLANS_H

#include "mpi/coll.h"
#include "mpi/run.h"

struct wio_plan {
    struct wio_call call;
    struct wio_running run; /**< its schedule is kept, the rest is as in any run */
    struct wio_layout layout;
    bool written;
};

/**
 * The plan of @p call, which is the caller's until wio_plan_give(). Not written yet: write it.
 * @return NULL: this call has none, or another thread has it
 */
struct wio_plan *wio_plan_take(struct wio_comm *c, const struct wio_call *call);
/** Back with it. @param ok it was written and has run well; else it is forgotten */
void wio_plan_give(struct wio_comm *c, struct wio_plan *plan, bool ok);

/** Plans kept, for tests. */
int wio_plans_kept(void);

#endif /* WIO_MPI_PLANS_H */
