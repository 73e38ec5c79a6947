/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file writer.h
 * A writer: the program's thread puts and queues steps; a thread of the stream serves the readers.
 * What both see is under the lock. Entries are freed by the stream's thread only.
 */
#ifndef WIO_STG_WRITER_H
#define WIO_STG_WRITER_H

#include <pthread.h>

#include "stage/packed.h"
#include "stage/spare.h"
#include "stage/stream.h"

struct wio_stg_derived;

/** An array that was defined. */
struct wio_stg_defined {
    char *name;
    int type, kind, ndims;
    uint64_t shape[WIO_STG_DIMS];
    size_t puts; /* in this step */
    struct wio_stg_operator op;
    char op_text[WIO_STG_OPERATOR];
    bool derived; /* the program does not put it */
};

/** A block that was put. */
struct wio_stg_put {
    size_t defined, size;  /* of an element */
    uint32_t array, block; /* as the part counts them */
    struct wio_stg_box box;
    const char *data;
    char *own; /* copy, or NULL */
    size_t bytes;
    int type;
    struct wio_stg_operator op;
    const struct wio_stg_derived *derived; /* how the stream's thread makes the data, or NULL */
    struct wio_stg_packed *packed; /* instead of data, when the stream's thread has packed it */
};

/** A step of this process. */
struct wio_stg_entry {
    struct wio_stg_entry *next;
    int64_t step;
    struct wio_stg_bytes part, values;
    struct wio_stg_put *puts;
    size_t n, room, bytes;
    const struct wio_stg_derived **derived; /* scalars to be made */
    size_t n_derived;
    size_t extra;  /* of these bytes: what packing may need for a while */
    bool prepared; /* nothing is to be done to it, or it was done: it may leave */
    bool told, released;
    bool direct; /* went straight to the readers, and is kept until all have read it; else the first
                  * writer is told, and releases it */
    int sends;   /* under way */
};

/** What the processes below one in the tree have put in a step. */
struct wio_stg_gather {
    struct wio_stg_gather *next;
    int64_t step;
    bool end; /* they close the stream instead */
    bool own;
    int got; /* children */
    struct wio_stg_bytes parts, values;
};

/** What a reader's process asked for last. */
struct wio_stg_asked {
    struct wio_stg_asked *next;
    int64_t group, plan;
    int source;
    struct wio_stg_bytes pieces;
};

struct wio_stg_lead;

/** Steps that go straight to the readers of the only group (direct.c). */
struct wio_stg_direct {
    bool on;
    bool limbo;    /* no more, but the step is not known yet that the readers want next */
    int64_t group; /* -1: never yet */
    int64_t next;  /* first step that was not pushed */
    int n, *readers;
    int64_t *acked; /* last step that each has read */
    uint64_t pushes;
};

struct wio_stg_writer {
    struct waitio_stage *s;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;

    /* under the lock */
    bool opened, go, closing, closed, quit, waking;
    bool listening; /* the program's thread waits in its office, not for `changed` */
    int code;
    char why[WIO_STG_WHY];
    struct wio_stg_entry *first;
    int queued;
    size_t bytes, bytes_most;
    struct wio_stg_spares spares; /* together with `bytes` not more than `bytes_most` */
    uint64_t sent, discarded, groups, plans, reused, raw_bytes, packed_bytes;
    struct wio_stg_direct direct;
    struct wio_stg_office mouth; /* for pushes, of both threads */
    struct wio_stg_asked *asked;
    struct wio_stg_bytes last_part;
    int64_t part_since; /* the step that it came with */
    bool resend; /* steps that others have not told will be given up: parts go with each one */

    /* of the program's thread */
    struct wio_stg_defined *defined;
    size_t n_defined;
    struct wio_stg_derived *derived;
    struct wio_stg_values attributes;
    struct wio_stg_entry *now;
    bool queued_now; /* the step is in the queue; end_step waits */
    struct wio_stg_office ears;
    int64_t ears_group; /* whose readers they hear */

    /* of the stream's thread */
    struct wio_stg_office office;
    struct wio_stg_gather *gathers;
    int64_t epoch; /* how often steps have begun to go straight */
    int children;
    bool end_told, again;
    int under_way;             /* data that was, when the thread ended */
    struct wio_stg_lead *lead; /* of the first writer */
};

/** Events of the stream's thread. */
enum wio_stg_writer_kind {
    WIO_STG_K_WAKE = 1,
    WIO_STG_K_HELLO,
    WIO_STG_K_REQUEST,
    WIO_STG_K_CHILD,
    WIO_STG_K_PARENT,
    WIO_STG_K_ASK,
    WIO_STG_K_SENT,
    WIO_STG_K_ACK, /* of the program's thread */
    WIO_STG_K_NUDGE
};

/* writer.c */
/** A variable that was defined. @return NULL: none, with the error set */
struct wio_stg_defined *wio_stg_find_defined(struct wio_stg_writer *w, int variable);
int wio_stg_writers_only(const struct waitio_stage *s);
/** May these bytes be added to the step that is open? */
int wio_stg_check_memory(struct wio_stg_writer *w, const char *name, size_t bytes);
struct wio_stg_put *wio_stg_new_put(struct wio_stg_entry *e);
/** What packing the block needs for a while, beyond what the step has reserved: blocks are packed
 * one after another, so the largest need is enough for all. */
size_t wio_stg_extra(const struct wio_stg_entry *e, const struct wio_stg_defined *d,
                     const struct wio_stg_box *box);

/* serve.c: the stream's thread */
void *wio_stg_serve(void *writer);
/** Tell all writers below, and do it here. */
int wio_stg_down(struct wio_stg_writer *w, struct wio_stg_head *head, const void *body, size_t n);
/** The stream fails for all writers and readers; the text is set. */
void wio_stg_writer_break(struct wio_stg_writer *w, int code);
void wio_stg_entry_free(struct wio_stg_entry *e);
/** With the lock: wake who waits for a change. */
void wio_stg_changed(struct wio_stg_writer *w);
/** With the lock: the entry leaves the queue if nobody needs it any more. @return true: it has */
bool wio_stg_drop_if_done(struct wio_stg_writer *w, struct wio_stg_entry *e);
/** Forget what was gathered of steps before, or from, a step on. */
void wio_stg_drop_gathers(struct wio_stg_writer *w, int64_t step, bool before);

/* prepare.c: what the stream's thread does to a step before it tells of it */
int wio_stg_prepare(struct wio_stg_writer *w, struct wio_stg_entry *e);
/** Is there anything to be done to it? Such a step cannot leave before. */
bool wio_stg_prepares(const struct wio_stg_entry *e);

/* give.c: what readers' processes ask for */
int wio_stg_give_pieces(struct wio_stg_writer *w, const struct wio_stg_event *e);
/** With the lock. */
void wio_stg_forget(struct wio_stg_writer *w, int64_t group);
/** With the lock: the pieces that a reader wanted last, as one. @return 0; 1: too many, or none */
int wio_stg_pack(struct wio_stg_writer *w, const struct wio_stg_entry *e, int source,
                 struct wio_stg_bytes *out, int64_t *plan, size_t most);

/* direct.c: steps that go straight to the readers */
/** The first writer has said that they do. */
int wio_stg_direct_begin(struct wio_stg_writer *w, const struct wio_stg_head *h, const void *body,
                         size_t n);
/** With the lock: no further ones do. @param tells the first reader */
void wio_stg_direct_over(struct wio_stg_writer *w, bool tells);
/** The readers want @p step next, and take it from the first writer. */
void wio_stg_direct_resume(struct wio_stg_writer *w, int64_t group, int64_t step);
/** The group has gone. */
void wio_stg_direct_gone(struct wio_stg_writer *w, int64_t group);
/** With the lock: a step that was put. @return true: it has gone straight */
bool wio_stg_direct_put(struct wio_stg_writer *w, struct wio_stg_entry *e);
/** With the lock: has each reader read it? */
bool wio_stg_direct_acked(const struct wio_stg_direct *d, int64_t step);
/** With the lock: have all readers all that went straight to them? */
bool wio_stg_direct_all_acked(const struct wio_stg_writer *w);
/** With the lock, the program's thread: does it wait in its office? */
bool wio_stg_direct_listens(const struct wio_stg_writer *w);
/** With the lock, which it leaves meanwhile: hear what readers have read. */
void wio_stg_direct_hear(struct wio_stg_writer *w, double seconds);
void wio_stg_direct_free(struct wio_stg_writer *w);

/* lead.c: the first writer */
int wio_stg_lead_open(struct wio_stg_writer *w);
void wio_stg_lead_free(struct wio_stg_writer *w);
/** All writers have put a step, or have closed. */
int wio_stg_lead_step(struct wio_stg_writer *w, struct wio_stg_gather *g);
int wio_stg_lead_hello(struct wio_stg_writer *w, struct wio_stg_event *e);
int wio_stg_lead_asked(struct wio_stg_writer *w, struct wio_stg_event *e);
void wio_stg_lead_failed(struct wio_stg_writer *w, int code, const char *why);
/** Who has not read what: for an error. */
void wio_stg_lead_says(const struct wio_stg_writer *w, char *out, size_t room);

#endif
