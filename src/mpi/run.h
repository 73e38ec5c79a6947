/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file run.h
 * Running schedules on messages of the engine, in the communicator's collective space. A run is
 * moved by the thread that waits for it (blocking collectives), or stands in the list of runs that
 * every waiting call moves (non-blocking ones).
 */
#ifndef WIO_MPI_RUN_H
#define WIO_MPI_RUN_H

#include "base/list.h"
#include "mpi/schedule.h"
#include "p2p/p2p.h"

/** A message that is under way. */
struct wio_flight {
    struct wio_handle handle;
    size_t step;
    int track;
};
enum { WIO_FLIGHTS_INSIDE = 8 }; /* enough for all trees and exchanges of short messages */

/** How far a lane of the phase under way has come. */
struct wio_track {
    size_t first, end; /**< steps of its round */
    size_t limit;      /**< where it ends */
    int flights;       /**< messages of its round that are under way */
};

struct wio_running {
    struct wio_schedule s;
    struct wio_comm *comm; /**< held */
    int tag;               /**< of lane 0; the others follow */
    size_t next;           /**< first step of the next phase */
    struct wio_track *track;
    struct wio_track only; /**< most phases have one lane */
    int ntracks;
    struct wio_flight *flight;
    struct wio_flight inside[WIO_FLIGHTS_INSIDE];
    int nflights, cap;
    int error;     /**< first failure; the run is then finished */
    bool finished; /**< no buffer is in use any more */
    bool listed;
    struct wio_list node;
};

/** Write the schedule (run->s) before. @param comm is held until wio_run_free */
void wio_run_init(struct wio_running *run, struct wio_comm *comm, int tag);
void wio_run_free(struct wio_running *run);
/** Run to the end. @return 0 or the first error. @blocking */
int wio_run_now(struct wio_running *run);
/** Start the first round and list the run: waiting calls move it on. */
void wio_run_start(struct wio_running *run);
/** Is a listed run finished? Moves all of them. It leaves the list when it is. */
bool wio_run_poll(struct wio_running *run);

/** Are runs listed? */
bool wio_runs_listed(void);
/** Move all listed runs as far as they go without waiting. */
void wio_runs_move(void);
/** Sleep until one of @p n handles (@p stride bytes apart) or a message of a listed run is done, or
 *  a handle has become stale because another thread completed it. @return 0; NOMEM */
int wio_runs_wait(const void *handles, size_t stride, int n);
/** The same for so long (INT64_MAX: for ever); returns 0 when the time is over, too. */
int wio_runs_wait_for(const void *handles, size_t stride, int n, int64_t timeout_ns);

#endif /* WIO_MPI_RUN_H */
