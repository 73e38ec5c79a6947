/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file tune.h
 * Which of two algorithms is quicker here, measured in the program's own calls. Some choices depend
 * on the machine: whether eight receivers read the sender's memory or pass the message on makes a
 * factor of two, one way or the other, depending on shared caches. So a communicator's blocking
 * calls of one size use the one a few times, then the other. The members agree on the longest of
 * their times, and use the quicker one until the next trial.
 *
 * The idea is that of Faraj, Yuan, Lowenthal: STAR-MPI: Self Tuned Adaptive Routines for MPI
 * Collective Operations, ICS 2006.
 *
 * All members make the same calls in the same order, so they are at the same point of a trial
 * without a message; only the times are exchanged, once a trial.
 */
#ifndef WIO_MPI_TUNE_H
#define WIO_MPI_TUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WIO_TUNE_TRIES = 4,   /**< of each algorithm, one after the other; the first is not counted:
                             others may still be in the previous call */
    WIO_TUNE_SOON = 32,   /**< calls until it is tried again: the first calls meet cold memory */
    WIO_TUNE_KEPT = 512,  /**< ... at most: each time twice as many */
    WIO_TUNE_CLASSES = 16 /**< sizes: powers of two from 1 MiB on; the last has no end */
};

/** Calls of about one size. */
struct wio_trial {
    uint32_t kept;     /**< calls until the next trial; 0: WIO_TUNE_SOON */
    uint32_t calls;    /**< since the trial began; changed atomically */
    bool rival;        /**< what the last trial chose; changed atomically */
    int64_t sum_ns[2]; /**< spent in calls by the algorithm of the table, by its rival */
};

struct wio_tune {
    struct wio_trial trial[WIO_TUNE_CLASSES];
};

/** The trial that calls of @p bytes belong to. */
struct wio_trial *wio_tune_of(struct wio_tune *tune, size_t bytes);
/** Shall the next call use the other algorithm? Any thread. */
bool wio_tune_rival(const struct wio_trial *t);
/** A blocking call took so long. @return true: the members have to agree now on the largest of
 * their sum_ns, and to call wio_tune_decide with them */
bool wio_tune_took(struct wio_trial *t, int64_t ns);
/** Choose by the times of the slowest members. */
void wio_tune_decide(struct wio_trial *t, const int64_t worst_ns[2]);

#endif /* WIO_MPI_TUNE_H */
