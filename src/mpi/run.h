/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file run.h
 * Running schedules on messages of the engine, in the communicator's collective space. The calling
 * thread runs a blocking collective. A non-blocking one is a task of the engine: when its messages
 * are complete, any thread in a waiting call runs its next steps. Two threads never run the same
 * one at the same time, so it needs no lock.
 */
#ifndef WIO_MPI_RUN_H
#define WIO_MPI_RUN_H

#include "mpi/schedule.h"
#include "p2p/p2p.h"

/** A pending message. */
struct wio_flight {
    struct wio_handle handle;
    size_t step;
    int track;
};
enum { WIO_FLIGHTS_INSIDE = 8 }; /* enough for all trees and exchanges of short messages */

/** The state of a lane of the current phase. */
struct wio_track {
    size_t first, end; /**< steps of its round */
    size_t limit;      /**< where it ends */
    int flights;       /**< pending messages of its round */
};

enum { WIO_ROUNDS_INSIDE = 6, WIO_LEGS_INSIDE = 8 };

/** A schedule without lanes, prepared for repeated runs. */
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
    int error;                  /**< first failure; then pending messages only have to complete */
    char *why;                  /**< its text, or NULL: it is still the thread's */
    bool finished;              /**< no buffer is in use any more */
    bool started;               /**< it is a task, of universe u */
    uint32_t ticket[WIO_PARTS]; /**< for steps inside the PB (inside.h) */
    int inside_left[WIO_PARTS]; /**< such steps that have not started */
    struct wio_universe *u;
    struct wio_task task;
};

/* ---- for the two ways to run (run.c, rounds.c) ---- */

/** Keep the error for the thread that waits for this run, and cancel pending messages. Those
 * that have matched have to complete: no buffer may stay in use. @return true: no message is
 * pending */
bool wio_run_fail(struct wio_universe *u, struct wio_running *run, int code);
/** A message is complete: has it the expected size? @return 0 or an error that names its member
 */
int wio_run_landed(const struct wio_step *step, int err, size_t bytes);
/** Does this message go to another PB? */
bool wio_run_crosses(const struct wio_running *run, const struct wio_step *step);
/** Run a schedule without lanes to its end. @param layout of this schedule; NULL: none is kept */
void wio_rounds_now(struct wio_universe *u, struct wio_running *run, struct wio_layout *layout);

/* ---- for callers ---- */

/** Write the schedule (run->s) before. @param comm is held until wio_run_free */
void wio_run_init(struct wio_running *run, struct wio_comm *comm, int tag);
/** Free all of the run but its schedule. The communicator is still held. */
/** Make ready for another run of the same schedule. @return 0, or why its communicator has ended */
int wio_run_again(struct wio_running *run);
void wio_run_end(struct wio_running *run);
void wio_run_free(struct wio_running *run);
/** Run to the end. @param layout is kept with the schedule, or NULL. @return 0 or the first error.
 * @blocking */
int wio_run_now(struct wio_running *run, struct wio_layout *layout);
/** Start the first round. Waiting calls of any thread continue it. It is complete when @p h is:
 * free it only then. @return 0; its error, NOMEM: it has not begun */
int wio_run_start(struct wio_running *run, struct wio_handle *h);
/** The error of a run that is over, its text this thread's. */
int wio_run_error(const struct wio_running *run);

#endif /* WIO_MPI_RUN_H */
