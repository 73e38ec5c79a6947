/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of collectives share. */
#ifndef COLLECTIVE_H
#define COLLECTIVE_H

#include "area.h"
#include "messages.h"
#include "step.h"

/* Members, or neighbours. */
enum { MOST_PIECES = MOST_PROCESSES };

enum form { BLOCKING, STARTED, PERSISTED };
enum family {
    BARRIER,
    BCAST,
    GATHER,
    SCATTER,
    ALLGATHER,
    ALLTOALL,
    REDUCE,
    ALLREDUCE,
    REDUCE_SCATTER,
    SCAN,
    EXSCAN
};
enum style_of_counts { EQUAL, COUNTS, TYPES }; /* as in gather, gatherv, alltoallw */

struct collective;

struct kind {
    const char *name;
    enum family family;
    enum style_of_counts counts;
    bool neighbours;
    int (*call)(struct collective *k, MPI_Comm comm);
};
extern const struct kind kinds_of_collectives[];
extern const int nkinds;

struct piece {           /* what one member sends to another, or to all */
    uint64_t key, alike; /* of its data; of its length and type */
    bool nobody;         /* its neighbour is MPI_PROC_NULL */
    int count;
    ptrdiff_t at;
    struct layout *l;
};

struct half { /* the send or the receive side of a call */
    bool open;
    int n;
    struct piece p[MOST_PIECES];
    struct layout layouts[MOST_PIECES];
    int nlayouts;
    struct area area;
    /* as MPI gets it */
    struct buffer b;
    int counts[MOST_PIECES], displs[MOST_PIECES];
    MPI_Aint bytes[MOST_PIECES];
    MPI_Datatype types[MOST_PIECES];
};

struct collective {
    const struct kind *kind;
    enum form form;
    bool in_place;
    int rounds, round;
    int root, root_side, root_said; /* the last: as this process says it */
    int most;                       /* elements of a piece */
    uint64_t shape;
    struct half s, r;
    const struct folding *folding; /* of reductions */
    int fold_counts[2][MOST_PROCESSES], fold_total;
    MPI_Op op;
    MPI_Request request;
};

/** Does this process give data, or get some? */
bool gives(const struct act *a);
bool takes(const struct act *a);
/** The data of a key in this round. */
uint64_t collective_stream(const struct act *a, uint64_t key);

void move_prepare(struct act *a);
void move_fill(struct act *a);

void fold_plan(struct act *a, struct dice *d);
void fold_prepare(struct act *a);
void fold_fill(struct act *a);
/** Leave alone what MPI leaves open. */
void fold_before_check(struct act *a);
/** The operators and types of all folds: made once. */
void folds_open(void);
void folds_close(void);

#endif
