/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file back.h
 * A component that died is started again, and comes back to the others, which have waited for it
 * (rejoin: yes). back.c has the order of things, past.c the messages.
 */
#ifndef WIO_CPL_BACK_H
#define WIO_CPL_BACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coupler/base.h"

struct waitio_cpl;
struct wio_cpl_bundle;
struct wio_cpl_head;
struct wio_cpl_op;

/** A call was broken off, because all have to meet anew: it is made once more, or cannot be. */
enum { WIO_CPL_AGAIN = 1 };

/** What a process knows of components that come back. */
struct wio_cpl_back {
    bool any;      /**< some component may */
    bool busy;     /**< all meet anew just now */
    bool newcomer; /**< this process has come back, to others that went on */
    bool final;    /**< the error of this process ends all, even if it may come back */
    bool spoke;    /**< the program has sent collective messages of its own */
    int dead;      /**< the component that all wait for, -1: none */
};

/** Messages of a bundle with one peer. */
struct wio_cpl_past {
    /** Sender: those that the peer may want again. Receiver: those that came before all met anew,
     * and that no step has taken. */
    struct wio_cpl_list messages; /**< struct wio_cpl_note */
    /** Receiver: stamp of the last one that has come. Sender that has come back: up to which stamp
     * the peer has what is sent again. -1: none; INT64_MAX: all, with the end. */
    int64_t stamp;
    bool again;  /**< receiver: its receive was lost with the old universe */
    bool marked; /**< receiver: a step has taken the mark, before this process heard of the death */
};

/* ---- back.c -------------------------------------------------------------------------------- */

/** Does the configuration say what can be done? After the components are known. @return 0; CONFIG
 */
int wio_cpl_back_open(struct waitio_cpl *cpl);
/** May the component of this process die now, and come back? */
bool wio_cpl_may_return(const struct waitio_cpl *cpl, int rank);
/** A process has failed: if its component may come back, all have to meet anew. @return false: it
 * may not */
bool wio_cpl_back_lost(struct waitio_cpl *cpl, int rank);
/** An operation with a process has failed, perhaps because it has left to meet all anew: who has
 * died, its alarm says. Where none says it, the process itself has. @return 0: it is no component
 * that may come back; WIO_CPL_AGAIN; else the error of an alarm */
int wio_cpl_back_blame(struct waitio_cpl *cpl, int rank);
/** A component that may come back has died at a time when it cannot. @return PEER, with the text */
int wio_cpl_back_cannot(struct waitio_cpl *cpl);
/** Nobody else is left who could raise an alarm. @return true: because of such a component */
bool wio_cpl_back_alone(struct waitio_cpl *cpl);
/** Is a text of the alarm one for this room? If so it is heard. */
bool wio_cpl_back_hears(struct waitio_cpl *cpl, const char *text, int source);
/** What begins the text of an error after which nobody waits for this component to come back. */
const char *wio_cpl_back_final(const struct waitio_cpl *cpl);
/** Is a text of the alarm such an error? Its beginning is taken off. */
bool wio_cpl_back_is_final(char *text);
/** This component's restart file of a time is complete. */
void wio_cpl_back_saved(struct waitio_cpl *cpl, int64_t time);
/** Wait for the dead component, meet all anew, and go on. @return 0; the first error */
int wio_cpl_come_back(struct waitio_cpl *cpl);
/** The first half of a newcomer's meeting, before its start: what the others have of it. */
int wio_cpl_back_arrive(struct waitio_cpl *cpl);

/* ---- past.c -------------------------------------------------------------------------------- */

/** Memory for what follows, in all bundles. @return 0; NOMEM */
int wio_cpl_past_make(struct waitio_cpl *cpl);
void wio_cpl_past_free(struct wio_cpl_bundle *b);
/** A message goes to the i-th peer: keep it. @return 0; NOMEM */
int wio_cpl_past_keep(const struct waitio_cpl *cpl, struct wio_cpl_bundle *b, size_t i,
                      const void *buffer, size_t n);
/** The peer has this message, from before this component died. */
bool wio_cpl_past_knows(const struct wio_cpl_bundle *b, size_t i, const void *buffer);
/** A message has come from the i-th peer. */
void wio_cpl_past_came(struct wio_cpl_bundle *b, size_t i, const struct wio_cpl_head *head);
/** The next message of the i-th peer came before all met anew: it is in the buffer now. */
bool wio_cpl_past_serve(struct wio_cpl_bundle *b, size_t i);
/** A step waited for data of the i-th peer, and has got its mark: meet all anew, and wait again.
 * @return 0: what came was none; WIO_CPL_AGAIN: that has happened; else the error */
int wio_cpl_past_mark(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, size_t i);
/** The receive of this operation is lost with the universe that it was posted in. */
void wio_cpl_past_lose(const struct wio_cpl_op *op);
/** A component will not want what is older than this time's restart. */
void wio_cpl_past_trim(struct waitio_cpl *cpl, int component, int64_t time);
/** Before leaving the universe: take all that is under way. */
int wio_cpl_past_save(struct waitio_cpl *cpl);
/** In the new one: send again what the newcomer needs, and post what was lost. */
int wio_cpl_past_go_on(struct waitio_cpl *cpl, int newcomer);
/** Newcomer: hear what the others have. */
int wio_cpl_past_hear(struct waitio_cpl *cpl);

#endif
