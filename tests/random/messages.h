/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of messages share: the plan of messages between members of a channel. */
#ifndef MESSAGES_H
#define MESSAGES_H

#include "area.h"
#include "step.h"

enum { MOST_MESSAGES = 30, SEND_INDEX = 1000, TAG_OF_NOBODY = 4242, BUFFERED_MOST = 2000 };

/* How a receiver asks for its messages. All its receives are of one kind, so that none can take
 * what another needs. */
enum style { EXACT, ANY_SOURCE, ANY_TAG, ANY_BOTH, PROBED, STYLES };

enum mode {
    STANDARD,
    SYNCHRONOUS,
    BUFFERED,
    READY, /* of blocking calls */
    MODES
};

struct message {
    int src, dst, tag, count;
    enum mode mode;
    int call; /* 0: blocking, 1: started, 2: persistent */
    uint64_t shape;
    bool taken;
};

struct buffer { /* what is said to MPI */
    void *at;
    int count;
    MPI_Datatype type;
    bool bottom; /* the type is to be freed */
};

struct send {
    struct layout l;
    struct area area;
    struct buffer b;
    MPI_Request request;
};

struct receive {
    int source, tag, room;  /* the pattern; in elements of the shape */
    int message;            /* of the plan, -1: not yet known */
    bool persistent, never; /* never: nobody sends it, it is cancelled */
    struct layout l;
    struct area area;
    struct buffer b;
    MPI_Request request;
    MPI_Status status;
};

struct epoch {
    int from, to; /* sides */
    bool ready;   /* all receives are there before the first send */
    int rounds, round, n, nreceives;
    enum style style[MOST_PROCESSES]; /* of receivers */
    struct message m[MOST_MESSAGES];
    struct send s[MOST_MESSAGES];
    struct receive r[MOST_MESSAGES + 1];
};

/** The stream of a message in this round. */
uint64_t message_stream(const struct act *a, int i);
/** The first message from src (tag: or -1) to this process that was not taken yet, or -1. */
int message_next(const struct act *a, int src, int tag);

/** Choose how to name count elements of an area: by its place, or by MPI_BOTTOM. */
struct buffer buffer_of(const struct layout *l, const struct area *area, int count,
                        struct dice *mine);
void buffer_free(struct buffer *b);

void receives_post(struct act *a);
/** Probe for the messages of this process, and receive them. */
void receives_probe(struct act *a);
void receives_check(struct act *a);
void receives_forget(struct epoch *e);
void sends_start(struct act *a);
void sends_check(struct act *a);
void sends_forget(struct epoch *e);

#endif
