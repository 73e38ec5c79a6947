/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The communicators of a run. Every process knows all of them, with their members as ranks of the
 * world, also those that it is no member of: so all of them choose the same.
 */
#ifndef CHANNEL_H
#define CHANNEL_H

#include "dice.h"
#include "face.h"

enum { MOST_PROCESSES = 12, MOST_CHANNELS = 10, MOST_NEIGHBOURS = 8 };

struct list { /* ranks of the world, in the order of a group */
    int n, who[MOST_PROCESSES];
};

struct edge { /* a neighbour, and which of its edges this one is */
    int peer, twin;
};

struct channel {
    bool used, born; /* born: in this step; not to be used yet */
    bool traffic;    /* has messages in this step */
    MPI_Comm comm;   /* MPI_COMM_NULL where this process is no member */
    bool inter;
    struct list side[2];          /* an intracommunicator has the first only */
    int mine, rank, size, remote; /* the side and rank of this process, -1: no member */
    bool edges, ambiguous;        /* has a topology; one whose parallel edges are not told apart */
    bool parallel;                /* two edges between the same */
    int ndims, dims[3], periods[3];
    int nin[MOST_PROCESSES], nout[MOST_PROCESSES];
    struct edge in[MOST_PROCESSES][MOST_NEIGHBOURS], out[MOST_PROCESSES][MOST_NEIGHBOURS];
};

extern struct channel channels[MOST_CHANNELS];

/** Forget all but the world, and free the communicators. */
void channels_reset(MPI_Comm world);
/** Say which processes are one job of an MPI: "2,3". Without it there is none. */
void channels_jobs(const char *sizes);
bool has_vendor(void);
/** Is it the business of a vendor's MPI? Then its known faults are avoided. */
bool of_vendor(const struct channel *c);
/** A free place, or NULL. */
struct channel *channel_new(void);
/** How many places are free. */
int channels_free(void);
/** Find out who this process is in it, and compare with what MPI says. */
void channel_enter(struct channel *c);
/** One that may be used, or NULL; the same in all processes.
 * @param fits or NULL */
struct channel *channel_some(struct dice *d, bool (*fits)(const struct channel *));
void channel_drop(struct channel *c);
/** The members of both sides as one key. */
bool list_has(const struct list *l, int who);
int list_find(const struct list *l, int who);
/** The other side, or the only one. */
const struct list *channel_peers(const struct channel *c, int side);
bool is_intra(const struct channel *c);
bool is_inter(const struct channel *c);

#endif
