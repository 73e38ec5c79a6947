/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file schedule.h
 * A collective as this process sees it: a list of steps in rounds. Algorithms (collectives/) only
 * write schedules, they communicate nothing; so one description serves blocking and non-blocking
 * execution, and a test can run the schedules of all ranks against each other without a network.
 *
 * A round's sends and receives are all started in the order written; when they are complete, its
 * local steps (fold, copy, pack, unpack) are done in the order written. wio_schedule_round() begins
 * the next round. Between two processes messages match in the order written.
 *
 * Pipelines need more: a piece is to be passed on when it has come, whatever becomes of the others.
 * They write *lanes*, each a list of rounds that goes its own way. Messages of a lane match those
 * that the other side wrote for the lane of the same number, so that everybody begins the same
 * lanes in the same order, also those in which it has nothing to do.
 *
 * An algorithm speaks of the members of its *team*, numbered from 0. The team is the communicator,
 * or a part of it (wio_schedule_team), so that algorithms can be combined: one inside every PB, one
 * among the PBs' first members.
 */
#ifndef WIO_MPI_SCHEDULE_H
#define WIO_MPI_SCHEDULE_H

#include "mpi/comm.h"
#include "mpi/op/op.h"
#include "mpi/tune.h"

struct waitio_inside_call;
struct waitio_inside_fold;

enum wio_step_kind {
    WIO_STEP_SEND,
    WIO_STEP_RECV,
    WIO_STEP_FOLD,
    WIO_STEP_COPY,
    WIO_STEP_PACK,
    WIO_STEP_UNPACK,
    WIO_STEP_CHECK,
    WIO_STEP_INSIDE
};

struct wio_step {
    uint8_t kind;   /**< enum wio_step_kind */
    uint8_t lane;   /**< 0 outside of lanes */
    uint16_t phase; /**< lanes of one phase make progress independently, phases follow each other */
    int round;
    int peer;         /**< send, recv, check: rank in the communicator */
    size_t at;        /**< pack, unpack: where the bytes begin in the packed form of all */
    const void *from; /**< send, copy, pack, unpack, check: data; fold: left operand */
    const void *with; /**< fold: right operand; pack, unpack: the type; inside: what is done */
    void *to;         /**< recv, copy, fold, pack, unpack: destination */
    size_t n;         /**< bytes; fold: elements; check: what is expected */
};

/** Part of a communicator: its members, and the rank of this process among them. */
struct wio_team {
    int rank, size; /**< rank < 0: this process is not in it */
    const int *map; /**< rank in the communicator by place; NULL: the same number */
};

/* Short collectives need no allocation. */
enum { WIO_STEPS_INSIDE = 10, WIO_SCRATCH_INSIDE = 256 };
enum { WIO_LANES_MAX = 63 };
/** Message spaces of a provider in a communicator, at most. Those lanes that have steps inside the
 * PB are the first ones, and each has a space to itself; what is in no lane uses the first space.
 */
enum { WIO_PARTS = 16 };

/** Refers to itself: not to be copied. */
struct wio_schedule {
    int rank, size; /**< of the team that is being written for: mine, and how many */
    const int *map;
    const struct wio_topology *topo; /**< of the communicator */
    const struct wio_inside *inside; /**< the provider of my PB, or NULL (mpi/inside.h) */
    int inside_steps[WIO_PARTS];     /**< steps for each of its parts */
    int parts;                       /**< that have steps: the first ones */
    bool abandoned; /**< the provider may still use the scratch memory, and the operator */
    const struct waitio_inside_fold *brought; /**< the operator as a provider sees it, or NULL */
    struct wio_fold fold;
    bool swap; /**< the packed form is in the other byte order */
    struct wio_step *step;
    size_t nsteps, cap;
    int round; /**< the round, lane and phase being written */
    uint8_t lane;
    uint16_t phase;
    int error;               /**< first failure while writing; later calls do nothing */
    void *scratch;           /**< list of buffers freed with the schedule */
    void *types;             /**< list of types released with the schedule */
    size_t used;             /**< of room */
    size_t outside;          /**< bytes of scratch that did not fit into room */
    struct wio_trial *trial; /**< that this call is one of (tune.h), or NULL */
    struct wio_step few[WIO_STEPS_INSIDE];
    max_align_t room[WIO_SCRATCH_INSIDE / sizeof(max_align_t)];
};

/** Begin to write. @param fold NULL when nothing is folded; held until the schedule is freed */
void wio_schedule_init(struct wio_schedule *s, int rank, int size, const struct wio_topology *topo,
                       const struct wio_fold *fold);
void wio_schedule_free(struct wio_schedule *s);

/* Writing. Out of memory is kept in s->error and reported by the run of the schedule. */
void wio_schedule_send(struct wio_schedule *s, int peer, const void *data, size_t bytes);
void wio_schedule_recv(struct wio_schedule *s, int peer, void *data, size_t bytes);
/** to = left op right, element by element; @p to may be one of them. */
void wio_schedule_fold(struct wio_schedule *s, const void *left, const void *right, void *to,
                       size_t count);
/** Nothing when @p from and @p to are the same or @p bytes is 0. They must not overlap otherwise.
 */
void wio_schedule_copy(struct wio_schedule *s, const void *from, void *to, size_t bytes);
/** Bytes [at, at + bytes) of the packed form of elements at @p user. The type is held. */
void wio_schedule_pack(struct wio_schedule *s, const struct wio_mpi_type *type, const void *user,
                       size_t at, void *packed, size_t bytes);
void wio_schedule_unpack(struct wio_schedule *s, const struct wio_mpi_type *type,
                         const void *packed, void *user, size_t at, size_t bytes);
/** How long a message is, as its members tell each other: WIO_SIZE_BYTES at @p word. */
enum { WIO_SIZE_BYTES = 8 };
void wio_schedule_put_size(void *word, size_t bytes);
/** End with an error that names the member unless the size it sent is @p bytes. */
void wio_schedule_check(struct wio_schedule *s, int peer, const void *word, size_t bytes);
/** The members of my PB do this by their provider (s->inside), alone in its round but for local
 * steps, which are done afterwards. @p call lives as long as the schedule; all members write their
 * calls in the same order. */
void wio_schedule_inside(struct wio_schedule *s, const struct waitio_inside_call *call);
/** What follows starts when everything before it (in a lane: of this lane) is complete. */
void wio_schedule_round(struct wio_schedule *s);
/** What follows is a lane: it starts when everything before the first lane is complete, and makes
 * progress independently of the other lanes. */
void wio_schedule_lane(struct wio_schedule *s);
/** What follows is in no lane, and starts when all lanes are complete. */
void wio_schedule_join(struct wio_schedule *s);
/** Memory that lives as long as the schedule; never NULL (a failure is remembered in s->error).
 * What a provider may use lives longer where it has been abandoned. */
void *wio_schedule_scratch(struct wio_schedule *s, size_t bytes);
/** Write for @p team from now on. @return the team so far, to be restored */
struct wio_team wio_schedule_team(struct wio_schedule *s, struct wio_team team);

/** Do the local steps among steps [first, end). @return 0 or the first failure of an operator */
int wio_schedule_local(const struct wio_schedule *s, size_t first, size_t end);
/** End of the round, lane or phase that begins at step @p first. A phase is a lane's steps, then
 * the next one's; outside of lanes it is one lane. */
size_t wio_schedule_round_end(const struct wio_schedule *s, size_t first);
size_t wio_schedule_lane_end(const struct wio_schedule *s, size_t first);
size_t wio_schedule_phase_end(const struct wio_schedule *s, size_t first);

#endif /* WIO_MPI_SCHEDULE_H */
