/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file plans.h
 * Schedules that are kept. Programs repeat short collectives with the same buffers in every step.
 * Writing the schedule is then most of the cost of a call beside its messages. A communicator keeps
 * the schedules of blocking calls that came twice in a row.
 *
 * A plan depends on the arguments of the call only: types and operators are predefined, counts are
 * no arrays, only its steps touch data. The number of plans is bounded, per communicator and per
 * process.
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
 * The plan of @p call; it belongs to the caller until wio_plan_give(). A new plan has no schedule
 * yet: the caller writes it. @return NULL: this call has none, or another thread uses it
 */
struct wio_plan *wio_plan_take(struct wio_comm *c, const struct wio_call *call);
/** Give the plan back. @param ok it was written and has run without error; else it is freed */
void wio_plan_give(struct wio_comm *c, struct wio_plan *plan, bool ok);

/** Plans kept, for tests. */
int wio_plans_kept(void);

#endif /* WIO_MPI_PLANS_H */
