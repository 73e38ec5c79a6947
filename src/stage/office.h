/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file office.h
 * Messages of a stream: heads with a body, and data. An office belongs to one thread. What is sent
 * and awaited is kept in one list, so that one wait hears everything.
 */
#ifndef WIO_STG_OFFICE_H
#define WIO_STG_OFFICE_H

#include "stage/base.h"
#include "waitio.h"

/** Version of the messages: another one is refused by name. */
enum { WIO_STG_VERSION = 2 };

/** Tags. A body that does not fit behind its head has the next one. */
enum {
    WIO_STG_T_WAKE = 1,
    WIO_STG_T_HELLO = 2,
    WIO_STG_T_WELCOME = 4,
    WIO_STG_T_UP = 6,   /* writers, to the parent in their tree */
    WIO_STG_T_DOWN = 8, /* writers, to the children */
    WIO_STG_T_REQUEST = 10,
    WIO_STG_T_OPEN = 12,    /* readers, to the children */
    WIO_STG_T_NUDGE = 14,   /* to the program's thread that listens */
    WIO_STG_T_GROUPS = 1024 /* 16 tags for each group of readers */
};
/** Tags of a group of readers, from WIO_STG_T_GROUPS + 16 * group. */
enum {
    WIO_STG_G_ASK = 0,
    WIO_STG_G_TELL = 2,
    WIO_STG_G_DOWN = 4,
    WIO_STG_G_UP = 6,
    WIO_STG_G_DATA = 8,
    WIO_STG_G_PUSH = 10, /* a writer, straight to a reader */
    WIO_STG_G_ACK = 12   /* a reader, straight to a writer */
};

/** What a message says. */
enum wio_stg_word {
    WIO_STG_HELLO = 1, /* a: number of the reader's opening; body: name */
    WIO_STG_BYE,       /* a: as above: it does not wait any more */
    WIO_STG_WELCOME,   /* a: as above, b: group, c: flags; body: ranks of the writers */
    WIO_STG_REFUSED,   /* a: as above; body: why */
    WIO_STG_OPENED,    /* a: queue, b: full; or to readers: as WELCOME */
    WIO_STG_GO,        /* writers: enough readers have come */
    WIO_STG_STEP,      /* a: step, b: serial of the layout, c: bytes of the layout in the body, d:
                        * WIO_STG_D_*. Up the tree: b: epoch, c: bytes of the parts */
    WIO_STG_ENDED,     /* a: steps there were */
    WIO_STG_FAILED,    /* a: code, b: 1: before the first writer had opened it; body: why */
    WIO_STG_NOTHING,   /* not ready */
    WIO_STG_RELEASE,   /* a: step; b: 1: instead those before it, from c on */
    WIO_STG_GONE,      /* a: group of readers */
    WIO_STG_CLOSED,
    WIO_STG_ASK,   /* a: first step wanted, b: last, c: stride, d: flags, and 4 times the first step
                    * that   was not read */
    WIO_STG_LEAVE, /* a: first step that was not read */
    WIO_STG_WANT,  /* a: group, b: step, c: 1: as the last time, d: number of the plan; body: boxes
                    */
    WIO_STG_DONE,  /* a: step */
    WIO_STG_DIRECT, /* to writers; a: group, b: first step; body: ranks of its readers */
    WIO_STG_OVER, /* to writers: a: group. To the first reader: a: first step that is not pushed */
    WIO_STG_RESUME, /* to writers; a: group, b: first step that it does not take straight */
    WIO_STG_PUSH,   /* a: step, b: readers that get data (bits), c: bytes of the values, d: plan of
                     * the data, or 0; body: values, data */
    WIO_STG_ACK     /* a: step */
};

/** How a step comes. */
enum {
    WIO_STG_D_PUSHED = 1, /* straight from the writers; body: a u64 for each writer, as PUSH's b */
    WIO_STG_D_NEXT = 2    /* the next one does so */
};
/** Most readers of a group that gets steps straight from the writers: they are bits of a word. And
 * most writers times readers: each tells each that it has read a step. */
enum { WIO_STG_DIRECT_READERS = 64, WIO_STG_DIRECT_PAIRS = 1024 };

struct wio_stg_head {
    enum wio_stg_word word;
    uint64_t incarnation; /* of the stream: several may have had its name */
    int64_t a, b, c, d;
};

/** Something that has happened. */
struct wio_stg_event {
    int kind;
    void *with;
    int rc;     /* of the message; the text is that of waitio_last_error() */
    int source; /* universe rank */
    size_t bytes;
    struct wio_stg_head head; /* of a message with head */
    const unsigned char *body;
    size_t n_body;
    unsigned char *hold, *hold_body; /* wio_stg_event_end() frees them */
};

struct wio_stg_slot {
    int kind;
    int tag, peer;
    bool headed, sends;
    bool stays; /* it is posted again for each message */
    void *with;
    unsigned char *own;         /* memory of the message, if the office has it */
    struct wio_stg_event *head; /* of the message whose body this is, or NULL */
};

struct wio_stg_office {
    waitio_group_t group; /* the universe, in a message space of the stream's name */
    waitio_req_t *reqs;
    struct wio_stg_slot *slots;
    int n, room;
    bool looks; /* waits see signals: it belongs to a thread of the program */
    uint64_t bytes_sent, bytes_received;
};

/** Kind of the event of what the office has sent itself: for nobody. */
enum { WIO_STG_NOBODY = 0 };

/** Await a message with a head. @param peer universe rank or WAITIO_ANY_SOURCE @param kind > 0 */
int wio_stg_await(struct wio_stg_office *o, int peer, int tag, int kind, void *with);
/** Await messages with a head from anybody, one after the other: one whose body is still under way
 * does not keep the others waiting. */
int wio_stg_await_all(struct wio_stg_office *o, int tag, int kind);
/** Send one; the body is copied. */
int wio_stg_tell(struct wio_stg_office *o, int peer, int tag, const struct wio_stg_head *head,
                 const void *body, size_t n);
/** Await and send data. @param own memory that is freed when it is sent, or NULL */
int wio_stg_take(struct wio_stg_office *o, int peer, int tag, void *to, size_t n, int kind,
                 void *with);
int wio_stg_give(struct wio_stg_office *o, int peer, int tag, const void *from, size_t n,
                 unsigned char *own, int kind, void *with);
/** Wait for the next event that is for somebody. @param[out] found false: none in time
 * @return 0; CANCELLED: a signal (wio_stg_look); STATE: the universe was left */
int wio_stg_next(struct wio_stg_office *o, double seconds, struct wio_stg_event *e, bool *found);
void wio_stg_event_end(struct wio_stg_event *e);
/** Await nothing of that kind any more: what comes of it is an event nevertheless, as a rule with
 * an error. */
void wio_stg_withdraw(struct wio_stg_office *o, int kind);
/** Has a message of this process come that nobody awaits? */
bool wio_stg_waits(const struct wio_stg_office *o, int peer, int tag);
/** Is anything of that kind under way? */
bool wio_stg_awaits(const struct wio_stg_office *o, int kind);
/** Withdraw what is awaited, and let what is under way go on for @p seconds at most. Frees all but
 * the memory of messages that are not through then. The body of a head that has come is not
 * withdrawn: it would be taken for the body of a later one.
 * @return how many transfers are not through whose memory is not the office's: it stays in use */
int wio_stg_office_close(struct wio_stg_office *o, double seconds);

/** Ask the program's binding whether a signal came. @return false: go on */
bool wio_stg_look(void);
bool wio_stg_looks(void);
/** How long a wait goes on before that. */
#define WIO_STG_SLICE 0.05

/** A message to this process's own office, which another thread waits in. */
int wio_stg_wake(waitio_group_t group, int me, int tag);

#endif
