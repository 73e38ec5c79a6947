/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file stripe.h
 * Long messages over several connections. Beside the link of a peer stand lanes (transport.h), one
 * per further device. The link carries everything but the data of long messages. That is cut into
 * pieces of equal length. Each connection takes the next piece when its socket has room, so their
 * shares follow their speeds. Pieces name the receive and their place in it, so their order does
 * not matter. When a lane breaks, what its peer has not taken for sure goes by the others.
 *
 * lanes.c: the connections; stripe.c: sending; parts.c: receiving. The engine lock is held.
 */
#ifndef WIO_STRIPE_H
#define WIO_STRIPE_H

#include "p2p/universe.h"

/** Pieces are so many units long, of which the last of a message may be shorter. Each piece costs a
 * few system calls, so they are long at first, and short at the end of the message, where a slow
 * connection would hold the others up. */
#define WIO_STRIPE_UNIT ((size_t)256 << 10)
#define WIO_STRIPE_LONG 4u

struct wio_lane {
    struct wio_ep *ep; /* NULL: none */
    bool open;         /* it was ready */
    bool stale;        /* to be closed: it has broken at the other end */
    uint32_t sent;     /* pieces put on it */
};
/** Of one peer. */
struct wio_lanes {
    struct wio_lane at[WIO_LANES]; /* the first, the link, is not used */
    struct wio_list queue;         /* striped sends with pieces that nobody has taken */
    int64_t again_ns;              /* open further ones not before */
    int64_t leave_ns;              /* finalize waits for their end since then; 0: it does not */
    bool trim;                     /* some are stale */
    bool told;                     /* the log has that one could not be opened */
};

/** Unit of a send. */
struct wio_unit {
    uint8_t lane;    /* 0: nobody has it; else the lane's number and one */
    uint32_t number; /* of the piece on that lane */
};
/** What a lane holds of a send. */
struct wio_slot {
    struct wio_tx tx;
    struct wio_request *r;
    bool busy;
};
/** A striped send. */
struct wio_stripe {
    uint32_t units, handed, next; /* all; those with somebody; the first that may be free */
    uint32_t busy;                /* slots that lanes hold */
    struct wio_slot slot[WIO_LANES];
    struct wio_unit unit[];
};
/** A striped receive. */
struct wio_parts {
    size_t unit;
    uint32_t open; /* pieces on their way into its buffer */
    uint8_t lanes; /* mask of lanes with one of these */
    uint8_t have[];
};

/** Are there pieces that no connection has taken? */
static inline bool wio_striping(const struct wio_peer *p)
{
    return WIO_UNLIKELY(p->lanes != NULL) && !wio_list_empty(&p->lanes->queue);
}

/* ---- lanes.c ---- */
/** Open the lanes that are wanted and not there. @return is there any? */
bool wio_lanes_want(struct wio_universe *u, struct wio_peer *p);
/** Is there any, ready or not? */
bool wio_lanes_any(const struct wio_peer *p);
/** A lane has changed its state. */
void wio_lanes_state(struct wio_universe *u, struct wio_peer *p, struct wio_ep *ep,
                     enum wio_ep_state state);
/** A lane has ended. */
void wio_lanes_closed(struct wio_universe *u, struct wio_peer *p, const struct wio_ep *ep, int err,
                      const char *text);
/** The peer says that it has lost this one. */
void wio_lanes_told(struct wio_universe *u, struct wio_peer *p, uint64_t lane);
/** Not from upcalls: close all without waiting; close those that are stale. */
void wio_lanes_cut(struct wio_peer *p);
void wio_lanes_trim(struct wio_peer *p);
/** At finalize: say goodbye. @return whether none is left */
bool wio_lanes_leave(struct wio_peer *p);

/* ---- stripe.c ---- */
/** The receiver has granted it, in any order: shall it be striped? @return false: no */
bool wio_stripe_begin(struct wio_request *r);
/** Give pieces to connections that have room. */
void wio_stripe_pump(struct wio_universe *u, struct wio_peer *p);
/** Its connection, or a lane, has given a piece back; or DONE has come. */
void wio_stripe_left(struct wio_request *r);
/** The lane has ended after its peer had taken so many pieces for sure: the others go again. */
void wio_stripe_again(struct wio_universe *u, struct wio_peer *p, unsigned lane, uint32_t taken);

/* ---- parts.c ---- */
/** A piece of a receive begins to arrive. @return 0; NOMEM, or PROTOCOL with *why */
int wio_parts_offer(struct wio_request *r, const struct wio_msg *msg, uint32_t bytes, unsigned lane,
                    struct wio_sink *sink, const char **why);
/** It has come, or its connection has broken. */
void wio_parts_landed(struct wio_request *r, unsigned lane, const struct wio_sink *sink);
void wio_parts_abandoned(struct wio_request *r);
/** The lane has ended: it holds nothing of the peer's receives any more. */
void wio_parts_forget(struct wio_peer *p, unsigned lane);

#endif
