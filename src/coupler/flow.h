/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file flow.h
 * When a variable is sent and received, and what of it: pure.
 *
 * Time T is the coupler's: 0 at the first step, then the sum of the steps. With T the start of a
 * step, an exchange happens when T is a multiple of the interval. What travels is stamped with the
 * time up to which it was made, T + shift: the shift is 0 for lag -1, one interval for lag 1, and
 * any number of seconds otherwise. Before time 0 there is the put before the first step (stamp 0).
 */
#ifndef WIO_CPL_FLOW_H
#define WIO_CPL_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coupler/conf.h"

/** The model time of a component. */
struct wio_cpl_clock {
    bool running; /**< the first step has begun */
    int64_t now;  /**< start of the step, seconds */
    int64_t dt;   /**< its length */
};
/** End of the step; 0 before the first. */
int64_t wio_cpl_clock_end(const struct wio_cpl_clock *clock);
/** Begin the next step. @return 0; ARG: @p dt is below 1 or too long, or the sum too great */
int wio_cpl_clock_step(struct wio_cpl_clock *clock, int64_t dt);

/** What was sent at a time. */
struct wio_cpl_kept {
    int64_t at;
    double *data; /**< as many numbers as the flow has, owned */
};

/** A variable on the sender's side. */
struct wio_cpl_flow {
    int64_t interval, shift; /**< interval 0: everything is sent at once */
    enum wio_cpl_reduce reduce;
    double fill;     /**< puts of this value count nothing */
    size_t n;        /**< numbers: points times layers */
    double *last;    /**< the last put that counts, or what was made of several */
    double *sum;     /**< of value times seconds for a mean; of values; least or greatest value */
    double *weight;  /**< seconds that count for each number, or puts */
    int64_t put_end; /**< end of the step of the last put: 0 before the first step, -1 none yet */
    bool covered;    /**< there was a put since the last exchange */
    struct wio_cpl_list kept; /**< struct wio_cpl_kept, oldest first: see wio_cpl_flow_keep() */
};
/** @param flow interval, shift, reduce, fill and n are set @return 0; NOMEM. Ended by
 * wio_cpl_flow_free(), also after an error */
int wio_cpl_flow_init(struct wio_cpl_flow *flow);
void wio_cpl_flow_free(struct wio_cpl_flow *flow);

/** The program puts @p data. */
void wio_cpl_flow_put(struct wio_cpl_flow *flow, const struct wio_cpl_clock *clock,
                      const double *data);

enum wio_cpl_due { WIO_CPL_NOT_DUE, WIO_CPL_DUE, WIO_CPL_DUE_PART };
/** Is something sent at time @p at? @param ends the run ends there: the interval of a shift above 0
 * may be incomplete, and is sent as it is (WIO_CPL_DUE_PART) */
enum wio_cpl_due wio_cpl_flow_due(int64_t interval, int64_t shift, int64_t at, bool ends);
/** What is sent at @p at: flow->last. Begins a new mean.
 * @return false: the program has put nothing that could be sent */
bool wio_cpl_flow_take(struct wio_cpl_flow *flow, int64_t at);
/** With a shift beyond the interval, intervals end that nobody gets before the first exchange. If
 * one does at @p at, a mean (or sum, least, greatest) begins anew, as wio_cpl_flow_take() does it
 * later. At the beginning of each step. */
void wio_cpl_flow_pass(struct wio_cpl_flow *flow, int64_t at);

/** With a shift below 0 the receiver wants later what is sent now. Who goes on from a restart has
 * to send it again: keep what was taken at @p at as long as a step that begins then or later may
 * want it. @return 0; NOMEM */
int wio_cpl_flow_keep(struct wio_cpl_flow *flow, int64_t at);
/** Room for what was sent at @p at, behind all that is kept. @return NULL without memory */
double *wio_cpl_flow_kept(struct wio_cpl_flow *flow, int64_t at);

/** What has been put up to now: flow->last, for an exchange outside the schedule.
 * @return false: nothing */
bool wio_cpl_flow_peek(struct wio_cpl_flow *flow);

/** Does a receiver get something in the step that begins at @p at? */
bool wio_cpl_wants(int64_t interval, int64_t at);
/** The stamp that it wants. With a shift below 0 several steps may want the same. */
int64_t wio_cpl_wanted(int64_t shift, int64_t at);

enum wio_cpl_kind { WIO_CPL_DATA = 1, WIO_CPL_PART = 2, WIO_CPL_END = 3 };
enum wio_cpl_verdict {
    WIO_CPL_TAKE,   /**< this is it */
    WIO_CPL_SKIP,   /**< older: the sender exchanges more often than this component steps */
    WIO_CPL_MISSED, /**< younger: the sender never sends what is wanted */
    WIO_CPL_KEEP,   /**< the sender's run ends before: the last one that came serves */
    WIO_CPL_ENDED,  /**< the sender has ended its run */
};
/** What a receiver does with a message. With a shift beyond the interval its last steps want what
 * is later than the run; they get the end of it. */
enum wio_cpl_verdict wio_cpl_judge(int64_t interval, int64_t shift, int64_t wanted,
                                   enum wio_cpl_kind kind, int64_t stamp);
/** May a message be left over when the receiver ends at @p end? Only such as it would have skipped,
 * or wanted later. */
bool wio_cpl_may_remain(int64_t shift, int64_t end, int64_t stamp);

#endif
