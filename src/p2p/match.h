/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file match.h
 * Matching of envelopes to receives as MPI matches: per (space, source), arrivals match posted
 * receives in the order posted, receives match held messages in the order arrived; wildcards
 * allowed on source and tag. Pure bookkeeping on intrusive nodes: no I/O, no copies, no locks.
 *
 * Exact entries live in hash bins keyed by (space, source, tag), so that thousands of pending
 * receives cost one look-up; receives with a wildcard live in bins keyed by space alone.
 */
#ifndef WIO_MATCH_H
#define WIO_MATCH_H

#include "base/base.h"

#define WIO_ANY (-1) /* internal wildcard for src and tag */

/** Embedded in a posted receive. */
struct wio_post {
    struct wio_list bin;
    uint64_t space, order;
    int64_t src; /* universe rank or WIO_ANY */
    int64_t tag; /* 0 .. 2^31-1 or WIO_ANY */
};
/** Embedded in a held (unexpected) message. */
struct wio_held {
    struct wio_list bin;      /* by (space, src, tag) */
    struct wio_list by_space; /* by space, in order of arrival */
    uint64_t space, order;
    int64_t src, tag;
};
struct wio_match {
    struct wio_list *posted, *wild, *held, *held_space; /* nbins heads each */
    size_t nbins, nposted, nheld;
    uint64_t order;
};

/** @return 0 or WAITIO_ERR_NOMEM */
int wio_match_init(struct wio_match *m);
void wio_match_free(struct wio_match *m);
/** Offer a receive: the oldest held message that fits is taken out and returned; else NULL and the
 *  receive is queued. */
/** Put @p p, posted before all others that take the same messages and ask for this source and tag,
 * in front of them. @param order as wio_match_next() gave it when it was posted */
void wio_match_post_front(struct wio_match *m, struct wio_post *p, uint64_t order);
static inline uint64_t wio_match_next(struct wio_match *m)
{
    return ++m->order;
}
struct wio_held *wio_match_post(struct wio_match *m, struct wio_post *p);
/** Offer an arrival: the oldest posted receive that fits is taken out and returned, else NULL (the
 * caller then holds the message with wio_match_hold). */
struct wio_post *wio_match_arrive(struct wio_match *m, uint64_t space, int64_t src, int64_t tag);
/** The same without taking it out. */
struct wio_post *wio_match_find(const struct wio_match *m, uint64_t space, int64_t src,
                                int64_t tag);
/** Put a message into the unexpected message queue. */
void wio_match_hold(struct wio_match *m, struct wio_held *h, uint64_t space, int64_t src,
                    int64_t tag);
/** Oldest held message that fits (it stays), or NULL. */
struct wio_held *wio_match_probe(const struct wio_match *m, uint64_t space, int64_t src,
                                 int64_t tag);
/** Withdraw; the node must be queued. */
void wio_match_unpost(struct wio_match *m, struct wio_post *p);
void wio_match_unhold(struct wio_match *m, struct wio_held *h);
/** Visit every posted receive (fn may withdraw the visited one); every held message likewise. */
void wio_match_each_post(struct wio_match *m, void (*fn)(void *arg, struct wio_post *p), void *arg);
void wio_match_each_held(struct wio_match *m, void (*fn)(void *arg, struct wio_held *h), void *arg);

#endif
