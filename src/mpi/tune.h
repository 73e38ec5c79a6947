/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file tune.h
 * Which of some algorithms is quickest here, measured in the program's own calls. Some choices
 * depend on the machine: whether eight receivers read the sender's memory or pass the message on
 * makes a factor of two, one way or the other, depending on shared caches. So a communicator's
 * blocking calls of about one size use each of the rivals a few times. The members agree on the
 * longest of their times, and use the quickest rival until the next trial. Those that were far
 * slower take no part in it.
 *
 * Only for operations whose result does not depend on the algorithm: a sum of floating-point
 * numbers must not change from one call to the next.
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
    WIO_TUNE_RIVALS = 6, /**< at most */
    WIO_TUNE_TRIES = 4,  /**< of each algorithm, one after the other; the first is not counted:
                            others may still be in the previous call */
    WIO_TUNE_FEW = 2,    /**< ... of long ones: a program may do no more than some dozens of them */
    WIO_TUNE_LONG = 5,   /**< the first size, of WIO_TUNE_CLASSES, that counts as long: 1 MiB */
    WIO_TUNE_SOON = 32,  /**< calls until it is tried again: the first calls meet cold memory */
    WIO_TUNE_KEPT = 512, /**< ... at most: each time twice as many */
    WIO_TUNE_FROM = 32 * 1024, /**< bytes; shorter calls take too little time to be measured */
    WIO_TUNE_CLASSES = 14      /**< sizes: powers of two from there on; the last has no end */
};

/** Calls of about one size, with always the same rivals. Zero is a beginning. */
struct wio_trial {
    uint32_t kept;                   /**< calls until the next trial; 0: WIO_TUNE_SOON */
    uint32_t calls;                  /**< since the trial began; changed atomically */
    uint8_t tries;                   /**< of each; changed atomically */
    uint8_t rivals;                  /**< number of them; 0: no trial yet */
    uint8_t turn[WIO_TUNE_RIVALS];   /**< those that take part, in this order; changed atomically */
    uint8_t turns;                   /**< number of them; changed atomically */
    uint8_t chosen;                  /**< by the last trial; changed atomically */
    int64_t sum_ns[WIO_TUNE_RIVALS]; /**< spent in the counted calls of each rival; 0: no part */
};

struct wio_tune {
    struct wio_trial trial[WIO_TUNE_CLASSES];
};

/** The trial that calls of @p bytes (WIO_TUNE_FROM or more) belong to. */
struct wio_trial *wio_tune_of(struct wio_tune *tune, size_t bytes);
/** Which of the @p rivals shall the next call use? Any thread. @return its number, from 0 */
int wio_tune_next(struct wio_trial *t, int rivals);
/** Calls of each rival that a trial counts. */
int wio_tune_counted(const struct wio_trial *t);
/** A blocking call took so long. @return true: the members have to agree now on the largest of
 * their sum_ns, and to call wio_tune_decide with them */
bool wio_tune_took(struct wio_trial *t, int64_t ns);
/** Choose by the times of the slowest members. */
void wio_tune_decide(struct wio_trial *t, const int64_t worst_ns[WIO_TUNE_RIVALS]);

#endif /* WIO_MPI_TUNE_H */
