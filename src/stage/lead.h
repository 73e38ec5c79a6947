/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file lead.h
 * What the first writer keeps: groups of readers, and steps that all writers have put.
 */
#ifndef WIO_STG_LEAD_H
#define WIO_STG_LEAD_H

#include "stage/writer.h"

/** A layout as bytes, for steps that have it. */
struct wio_stg_shared {
    int users;
    uint64_t serial;
    struct wio_stg_bytes bytes;
};

/** Owners of steps that are no groups. */
enum { WIO_STG_NOBODYS = -1, WIO_STG_READ = -2 /* by its group, or passed over */ };

/** A step that all writers have put. */
struct wio_stg_ready {
    struct wio_stg_ready *next;
    int64_t step;
    int64_t owner; /* where groups share the steps: the one that gets it */
    struct wio_stg_shared *layout;
    struct wio_stg_bytes values;
};

/** A group of readers. */
struct wio_stg_group {
    struct wio_stg_group *next;
    int64_t id, opening;
    int first; /* universe rank of its first process */
    bool gone;
    bool ended; /* knows that no more steps come */
    bool asks, latest;
    bool direct;  /* steps go straight to it */
    bool barred;  /* they ended before the first one, and would again */
    bool pending; /* they did, and the writers wait for the step that it wants next */
    struct wio_stg_bytes members; /* of a group whose steps may */
    int64_t wanted, last, stride; /* steps that it wants: from, to, every */
    int64_t least;                /* the first one that it ever wanted; -1: it has not asked yet */
    int64_t reads;                /* step that it reads, or -1 */
    uint64_t serial;              /* of the layout that it has */
};

struct wio_stg_lead {
    struct wio_stg_group *groups;
    int64_t next_group;
    int came;
    struct wio_stg_ready *ready; /* oldest first */
    int n_ready;
    struct wio_stg_bytes *parts;   /* of each writer, the latest */
    struct wio_stg_shared *layout; /* the latest */
    int64_t newest;                /* step that was ready last, or -1 */
    int64_t ended;                 /* steps there were, or -1 */
    int64_t turn;                  /* group that got the last step in turn, or -1 */
    bool closed;
    int64_t straight; /* steps from here on went straight, until the next one that is heard of; -1
                       */
};

/* share.c: which group gets a step (settings.share) */

/** Does it take this step, now or later? */
bool wio_stg_wants(const struct wio_stg_writer *w, const struct wio_stg_group *g,
                   const struct wio_stg_ready *r);
/** In turn: give the steps that are nobody's to groups. */
void wio_stg_deal(struct wio_stg_writer *w);
/** The group gets this step now. */
void wio_stg_dealt(struct wio_stg_writer *w, const struct wio_stg_group *g,
                   struct wio_stg_ready *r);
/** The group that had this step has read it. */
void wio_stg_was_read(struct wio_stg_lead *l, int64_t step);
/** The group has gone: what it has not read is nobody's. */
void wio_stg_undeal(struct wio_stg_lead *l, const struct wio_stg_group *g);
/** Neither a step that comes nor one that another group leaves can be for it. */
bool wio_stg_none_left(const struct wio_stg_lead *l, const struct wio_stg_group *g);

#endif
