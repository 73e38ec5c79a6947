/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A step is some acts. All processes start them in the same order, so that acts may block; what was
 * started is completed after the last one, in any way; then the acts check what they have got.
 */
#ifndef STEP_H
#define STEP_H

#include "channel.h"
#include "dice.h"
#include "face.h"

struct act;

struct trade { /* a kind of acts */
    const char *name;
    /** Choose by d: the same in all processes, members or not. False: there is nothing to do. */
    bool (*plan)(struct act *a, struct dice *d);
    void (*start)(struct act *a); /* members only */
    /** A request that start() has handed over is complete.
     * @param status NULL: nobody asked for it */
    void (*done)(struct act *a, int index, const MPI_Status *status);
    /** All are complete: check. True: another round was started. */
    bool (*end)(struct act *a);
    /** After the whole step; of all processes. */
    void (*forget)(struct act *a);
};

struct act {
    const struct trade *trade;
    struct channel *c;
    uint64_t key;     /* of what all know */
    struct dice mine; /* of what only this process chooses */
    bool barrier;     /* its channel needs one after the step */
    bool member, over;
    void *state;
};

extern const struct trade trade_messages, trade_shift, trade_collective, trade_make;
extern size_t largest; /* bytes of a message */

/** Hand a started operation over. @param keeps persistent: its request stays */
void act_started(struct act *a, MPI_Request *request, int index, bool keeps);
/** Run the acts of a step. @param traffic false: only those that make communicators */
void step_run(uint64_t key, bool traffic);

#endif
