/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file reader.h
 * A reader: it has no thread. The processes of a group are a tree; the first one asks the first
 * writer for steps and hands them down. Data comes directly from the writers' processes.
 */
#ifndef WIO_STG_READER_H
#define WIO_STG_READER_H

#include "stage/plan.h"
#include "stage/stream.h"

/** A piece under way. */
struct wio_stg_coming {
    const struct wio_stg_piece *piece;
    char *own; /* where it lands, if that is not its place */
    char *at;
    uint64_t n;
    size_t room;   /* bytes that may come */
    bool operated; /* what comes is to be unpacked */
};

/** A writer that pushes steps. */
struct wio_stg_source {
    bool awaited;
    bool drain; /* what comes until it says that it is over is of an earlier time */
    bool has;   /* a message is in `e` */
    struct wio_stg_event e;
};

struct wio_stg_reader {
    struct wio_stg_office office;
    int children;
    int64_t group;
    int n_writers, *writers; /* universe ranks */
    bool swaps;              /* writers have the other byte order */
    bool ahead;              /* the next step is asked for when one ends */

    bool joined, asked, ended;
    int which;
    int64_t wanted, first, last, stride;
    bool direct, direct_next; /* this step, and the next one, come straight from the writers */
    struct wio_stg_source *sources; /* of each writer */
    bool *ups;                      /* children whose word is awaited */
    int came_up;                    /* of them, before it was wanted */
    bool told;                      /* a word of the first writer that came early is in `early` */
    struct wio_stg_event early;

    uint64_t serial;
    struct wio_stg_layout layout;
    struct wio_stg_values values;

    struct wio_stg_want *wants;
    size_t n_wants, room_wants;
    struct wio_stg_plan plan;
    struct wio_stg_bytes key; /* what the plan is for */
    uint64_t plan_serial;
    struct wio_stg_coming *coming;
    int64_t plan_number;
    uint64_t plans, reused, pushes;
};

enum wio_stg_reader_kind {
    WIO_STG_K_WELCOME = 1,
    WIO_STG_K_TOLD,
    WIO_STG_K_DOWN,
    WIO_STG_K_UP,
    WIO_STG_K_DATA,
    WIO_STG_K_PUSH
};

/** Wait for an event of one kind. Words of the first writer that come meanwhile are kept.
 * @return 0; TIMEOUT without a text; what wio_stg_next() returns */
int wio_stg_hear(struct waitio_stage *s, int kind, double until, struct wio_stg_event *e);
/** To all children in the tree of readers. */
int wio_stg_pass_down(struct waitio_stage *s, int tag, const struct wio_stg_head *h,
                      const void *body, size_t n);
/** The stream fails for all these readers; the text is set. @return @p code */
int wio_stg_reader_break(struct waitio_stage *s, int code);
/** Ask the first writer for the next step, or only say what has been read. */
int wio_stg_ask(struct waitio_stage *s, bool asks, int which);
/** Post the receive of the next word of the first writer, or of the parent among the readers. */
int wio_stg_await_word(struct waitio_stage *s);
/** Await a word of each child in the tree of readers. */
int wio_stg_await_children(struct waitio_stage *s);
/** Hear what was not wanted now. @return 0; PEER: a child has failed */
int wio_stg_put_aside(struct waitio_stage *s, struct wio_stg_event *e);

/* pushed.c: steps that come straight from the writers */
/** The first reader waits for the next one. @param[out] over the first writer is to be asked
 * instead @return 0; TIMEOUT without a text */
int wio_stg_pushed_hear(struct waitio_stage *s, double until, struct wio_stg_event *e, bool *over);
/** Do not wait for further ones. */
void wio_stg_pushed_leave(struct waitio_stage *s);
/** Take what this process got with the step. @param masks a u64 for each writer: who got data */
int wio_stg_pushed_take(struct waitio_stage *s, struct wio_stg_scan *masks);
/** The data of a writer, as the plan has it. @return its length, 0: there is none */
size_t wio_stg_pushed_data(const struct waitio_stage *s, uint32_t writer,
                           const unsigned char **data);
/** The step is read: tell the writers. */
int wio_stg_pushed_end(struct waitio_stage *s);
void wio_stg_pushed_free(struct wio_stg_reader *r);

/** meet.c: find the writers. */
int wio_stg_meet(struct waitio_stage *s);
/** fetch.c: get what is wanted. */
int wio_stg_fetch(struct waitio_stage *s, double limit);

/* undo.c: pieces of blocks that an operator has packed */
int wio_stg_place_packed(const struct wio_stg_layout *l, const struct wio_stg_piece *p,
                         const struct wio_stg_want *w, struct wio_stg_coming *c);
int wio_stg_arrived_packed(struct wio_stg_reader *r, struct wio_stg_coming *c, size_t n);
/** Can this process undo the operator of an array? @return 0; UNSUPPORTED */
int wio_stg_can_undo(const struct wio_stg_array *a);

#endif
