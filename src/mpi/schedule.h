/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file schedule.h
 * A collective as this process sees it: a list of steps in rounds. Algorithms (collectives/) only
 * write schedules, they communicate nothing; so one description serves blocking and non-blocking
 * execution, and a test can run the schedules of all ranks against each other without a network.
 *
 * A round's sends and receives are all started in the order written; when they are complete, its
 * local steps (fold, copy) are done in the order written. wio_schedule_round() begins the next
 * round. Between two processes messages match in the order written.
 */
#ifndef WIO_MPI_SCHEDULE_H
#define WIO_MPI_SCHEDULE_H

#include "mpi/mpi.h"

enum wio_step_kind { WIO_STEP_SEND, WIO_STEP_RECV, WIO_STEP_FOLD, WIO_STEP_COPY };

struct wio_step {
    uint8_t kind; /**< enum wio_step_kind */
    int round;
    int peer;         /**< send, recv: rank in the communicator */
    const void *from; /**< send, copy: data; fold: left operand */
    const void *with; /**< fold: right operand */
    void *to;         /**< recv, copy, fold: destination */
    size_t n;         /**< send, recv, copy: bytes; fold: elements */
};

struct wio_schedule {
    int rank, size;        /**< mine, and how many take part */
    wio_mpi_kernel kernel; /**< for folds */
    struct wio_step *step;
    size_t nsteps, cap;
    int round;     /**< the round being written */
    int error;     /**< first failure while writing; later calls do nothing */
    void *scratch; /**< list of buffers freed with the schedule */
};

/** Begin to write. @param kernel NULL when nothing is folded */
void wio_schedule_init(struct wio_schedule *s, int rank, int size, wio_mpi_kernel kernel);
void wio_schedule_free(struct wio_schedule *s);

/* Writing. Out of memory is remembered in s->error and reported by whoever runs the schedule. */
void wio_schedule_send(struct wio_schedule *s, int peer, const void *data, size_t bytes);
void wio_schedule_recv(struct wio_schedule *s, int peer, void *data, size_t bytes);
/** to = left op right, element by element; @p to may be one of them. */
void wio_schedule_fold(struct wio_schedule *s, const void *left, const void *right, void *to,
                       size_t count);
/** Nothing when @p from and @p to are the same or @p bytes is 0. They must not overlap otherwise.
 */
void wio_schedule_copy(struct wio_schedule *s, const void *from, void *to, size_t bytes);
/** What follows starts when everything before it is complete. */
void wio_schedule_round(struct wio_schedule *s);
/** Memory that lives as long as the schedule; never NULL (a failure is remembered in s->error). */
void *wio_schedule_scratch(struct wio_schedule *s, size_t bytes);

/** Do the local steps among steps [first, end). */
void wio_schedule_local(const struct wio_schedule *s, size_t first, size_t end);

/** Run to the end. @return 0 or the first error; no buffer is in use any more either way
 *  @blocking until every round is complete */
int wio_schedule_run(const struct wio_schedule *s, const struct wio_mpi_context *ctx);

#endif /* WIO_MPI_SCHEDULE_H */
