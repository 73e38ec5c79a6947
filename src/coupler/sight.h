/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file sight.h
 * What a run looks like from outside: who waited for whom, and how long; what travelled; a
 * timeline; how far each component is. Costs a test of one flag per call when nobody has asked.
 *
 *   sight.c     settings, what calls tell, the progress file
 *   timeline.c  clocks, and the file of this process's events (WAITIO_CPL_TRACE)
 *   report.c    the numbers of all processes, as a table, as JSON, and as advice
 * (WAITIO_CPL_REPORT)
 */
#ifndef WIO_CPL_SIGHT_H
#define WIO_CPL_SIGHT_H

#include "coupler/base.h"

struct waitio_cpl;
struct wio_cpl_bundle;

enum wio_cpl_event_kind { WIO_CPL_STEP, WIO_CPL_CALL, WIO_CPL_WAITED, WIO_CPL_SENT, WIO_CPL_GOT };

/** Something that has happened. */
struct wio_cpl_event {
    double from, to; /**< seconds of this process's clock */
    enum wio_cpl_event_kind kind;
    int peer;       /**< universe rank, -1 none */
    int64_t number; /**< STEP: model time; SENT, GOT: stamp */
    const struct wio_cpl_bundle *bundle;
};

struct wio_cpl_sight {
    bool on; /**< somebody wants a report or a timeline */
    bool timeline, report;
    int writer;            /**< universe rank that writes the report */
    const char *report_to; /**< there: the file */
    double opened, started, ended, entered, inside;
    double *for_component; /**< seconds waited, by component */
    struct wio_cpl_bundle *bundle;
    struct wio_cpl_list events; /**< struct wio_cpl_event */
    size_t lost;                /**< events beyond the limit */
    double clock[2][2];         /**< at two moments: this clock, and how far it is ahead */
    double step_from;
    int64_t steps, step_model; /**< the step's number and model time */
    char *progress;            /**< file, NULL: none */
    double told;               /**< when it was written last */
};

/** The part of wio_cpl_sight_open() that all processes do together, for one that has come back. */
int wio_cpl_sight_again(struct waitio_cpl *cpl);
/** Learn what is wanted, by anybody. Collective over all. */
int wio_cpl_sight_open(struct waitio_cpl *cpl);
void wio_cpl_sight_free(struct waitio_cpl *cpl);
/** A call of the coupler begins, ends. */
void wio_cpl_sight_enter(struct waitio_cpl *cpl);
void wio_cpl_sight_leave(struct waitio_cpl *cpl);
/** The run has started; a step has begun; the last exchange is over. */
void wio_cpl_sight_start(struct waitio_cpl *cpl);
void wio_cpl_sight_step(struct waitio_cpl *cpl);
void wio_cpl_sight_end(struct waitio_cpl *cpl);
/** What is waited for from now on belongs to this bundle; NULL: to none. */
void wio_cpl_sight_of(struct waitio_cpl *cpl, struct wio_cpl_bundle *bundle);
/** Now, 0 when nobody wants to know. */
double wio_cpl_sight_now(const struct waitio_cpl *cpl);
/** A wait for a process is over. @param since wio_cpl_sight_now() before */
void wio_cpl_sight_waited(struct waitio_cpl *cpl, int peer, double since);
/** A message of a bundle was sent, was taken. */
void wio_cpl_sight_message(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, int peer, size_t n,
                           int64_t stamp);

/** Compare the clocks with that of universe rank 0: the @p when -th time (0, 1). Collective. */
int wio_cpl_clocks(struct waitio_cpl *cpl, int when);
/** Write this process's events. A failure is written to standard error. */
void wio_cpl_timeline_write(struct waitio_cpl *cpl);

/** Gather the numbers and write the report. Collective over all. */
int wio_cpl_report(struct waitio_cpl *cpl);

#endif
