/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file run.h
 * Running schedules on messages of the engine, in the communicator's collective space. A run is
 * moved by the thread that waits for it (blocking collectives), or is a task of the engine, which
 * whoever waits for anything moves when messages of it are over (non-blocking ones). No two threads
 * move a run at the same time, and what one moves needs no lock.
 */
#ifndef WIO_MPI_RUN_H
#define WIO_MPI_RUN_H

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

enum { WIO_ROUNDS_INSIDE = 6, WIO_LEGS_INSIDE = 8 };

/** A schedule without lanes, laid out for being run once and again. */
struct wio_layout {
    int rounds; /**< 0: it is not; < 0: it is too long */
    struct {
        int legs;            /**< messages, following those of the rounds before */
        uint32_t first, end; /**< its steps */
        bool local;          /**< some of them are no messages */
    } round[WIO_ROUNDS_INSIDE];
    struct wio_leg leg[WIO_LEGS_INSIDE];
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
    int error;     /**< first failure; then what is under way only has to land */
    char *why;     /**< its text, or NULL: it is still the thread's */
    bool finished; /**< no buffer is in use any more */
    bool started;  /**< it is a task, of universe u */
    struct wio_universe *u;
    struct wio_task task;
};

/* ---- for the two ways to run (run.c, rounds.c) ---- */

/** Keep the error for the thread that waits for this run, and withdraw what can be withdrawn.
 * What cannot be has to land: no buffer may stay in use. @return true: nothing is under way */
bool wio_run_fail(struct wio_universe *u, struct wio_running *run, int code);
/** A message is over: did it bring what was expected? @return 0 or an error that names its member
 */
int wio_run_landed(const struct wio_step *step, int err, size_t bytes);
/** Does this message go to another PB? */
bool wio_run_crosses(const struct wio_running *run, const struct wio_step *step);
/** Run a schedule without lanes to its end. @param layout of this schedule; NULL: none is kept */
void wio_rounds_now(struct wio_universe *u, struct wio_running *run, struct wio_layout *layout);

/* ---- for those who run them ---- */

/** Write the schedule (run->s) before. @param comm is held until wio_run_free */
void wio_run_init(struct wio_running *run, struct wio_comm *comm, int tag);
/** Free what the run had beside its schedule. The communicator is still held. */
/** Make ready for another run of the same schedule. @return 0, or why its communicator has ended */
int wio_run_again(struct wio_running *run);
void wio_run_end(struct wio_running *run);
void wio_run_free(struct wio_running *run);
/** Run to the end. @param layout is kept with the schedule, or NULL. @return 0 or the first error.
 * @blocking */
int wio_run_now(struct wio_running *run, struct wio_layout *layout);
/** Start the first round. It goes on in waiting calls of any thread, and is over when @p h is: free
 * it only then. @return 0; its error, NOMEM: it has not begun */
int wio_run_start(struct wio_running *run, struct wio_handle *h);
/** The error of a run that is over, its text this thread's. */
int wio_run_error(const struct wio_running *run);

#endif /* WIO_MPI_RUN_H */
