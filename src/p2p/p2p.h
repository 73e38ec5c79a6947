/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file p2p.h
 * The engine's interface for upper layers: joining, requests by slot and generation, waiting,
 * groups' bookkeeping, end. Functions take and release the engine lock themselves (any thread may
 * call), return 0 or WAITIO_ERR_* with the detail in wio_last_error.
 */
#ifndef WIO_P2P_H
#define WIO_P2P_H

#include "base/base.h"
#include "base/timeline.h"
#include "group/group.h"
#include "transport/transport.h"

struct wio_universe;

/** Names a request from outside: slot, generation, universe. All zero = null. A send that was
 * complete when it was started has no slot: its handle has the whole result (WIO_SENT). */
struct wio_handle {
    uint32_t index, generation, serial;
    uint32_t tag, bytes; /* WIO_SENT alone */
};
#define WIO_SENT                                                                                   \
    0xfffffffeu /* in the place of a slot; its generation is the destination's rank                \
                 */
struct wio_result {
    int32_t source, tag;
    int err;
    bool cancelled;
    size_t bytes;
};

/**
 * A chain of messages that an upper layer has started, such as a non-blocking collective. When the
 * awaited messages are complete, any thread that waits or tests runs its next steps. Its memory
 * belongs to the upper layer; only the engine uses it until its request is done.
 */
enum wio_task_next {
    WIO_TASK_OVER, /**< it has ended: its request is done */
    WIO_TASK_ALL,  /**< it continues when all awaited messages are complete, or one has failed */
    WIO_TASK_ANY   /**< when one of them is */
};
struct wio_task;
/** Run its steps as far as possible without waiting. Called without the lock, never by two threads
 * at a time; must not wait, test or probe. */
typedef enum wio_task_next (*wio_task_fn)(struct wio_task *t);
struct wio_task {
    struct wio_list node;    /* queue of those that can continue */
    struct wio_request *req; /* what the user waits for */
    wio_task_fn go;
    int awaited; /* messages under way */
    uint8_t state;
    bool any;            /* see wio_task_next */
    bool landed, urgent; /* since it was taken: a message is over; one has failed */
};

/**
 * A message whose bytes do not lie side by side in the program's memory, such as one of a datatype
 * with holes. The engine asks for its bytes piece by piece, as the link takes them, and hands over
 * pieces as they arrive; so it never holds more than a few pieces of the message. It copies this
 * structure and looks at `calls` alone.
 */
struct wio_spread {
    const struct wio_spread_calls *calls; /**< NULL: the bytes lie side by side */
    void *user;                           /**< the program's buffer */
    const void *type;                     /**< what it is made of */
    void *context;
};
/** Called with or without the engine lock, by any thread, for one message never by two at a time.
 * They must not call the engine, nor wait. @p peer: group rank of the other process */
struct wio_spread_calls {
    /** Write bytes [at, at + n) of the message to @p to. The same bytes may be asked for again. */
    void (*read)(const struct wio_spread *f, int32_t peer, size_t at, size_t n, void *to);
    /** Bytes [at, at + n) have come: never more than the receive has room for, usually in order;
     * they may come again from the beginning. */
    void (*write)(const struct wio_spread *f, int32_t peer, size_t at, size_t n, const void *from);
    /** A request keeps a copy of the structure until it releases that. */
    void (*hold)(const struct wio_spread *f);
    void (*release)(const struct wio_spread *f);
};

/** Read the configuration, find block and rank, open the transports, join, start the engine.
 *  @param timeout_s from the caller; <= 0 = 1000; WAITIO_INIT_TIMEOUT wins. @blocking until joined
 * or timeout */
int wio_universe_join(double timeout_s, struct wio_universe **out);
/**
 * Deliver what was sent, say goodbye, free.
 * @param keep free nothing: the process ends, and other threads may still be inside a call
 * @param[out] kept nothing was freed: because of @p keep, or because threads wait in it. May be
 * NULL
 * @return 0 or TIMEOUT (unresponsive peers were given up)
 * @blocking
 */
int wio_universe_leave(struct wio_universe *u, bool keep, bool *kept);
/** The same, to join another one: sends that a peer does not take are given up when nothing has
 * moved for WAITIO_LINGER, and after @p limit_s at the latest. */
int wio_universe_leave_within(struct wio_universe *u, double limit_s, bool *kept);
/** Free everything at once, without any message. */
void wio_universe_destroy(struct wio_universe *u);
/** Free one that was kept, when its threads have come out. */
void wio_universe_destroy_kept(struct wio_universe *u);
/** Is a thread inside a call, in whatever phase of it, or does it wait for the lock? */
bool wio_universe_occupied(struct wio_universe *u);

/** waitio_resume_from(), waitio_resume_mark(). */
int wio_resume_from(struct wio_universe *u, uint64_t number);
int wio_resume_mark(struct wio_universe *u, uint64_t *number);

/** What a process keeps of the universes that it has left, so that nothing of theirs is taken for
 * something of the next one. */
struct wio_before {
    struct wio_list groups; /**< buried ones: their addresses stay taken */
    uint32_t serial;        /**< of the handles of the last one */
    double (*idle)(void);   /**< what its waits called: the next one's do, too */
    bool by_mpi;            /**< its messages went through the MPI of a job */
};
/** @p u, joined just now, comes after those of @p before, and adds to that when it is freed. */
void wio_universe_follow(struct wio_universe *u, struct wio_before *before);
/** Say ABORT to all links and return at once; the caller ends the process. */
void wio_universe_abort(struct wio_universe *u);
/** Before a fork, by its thread: keep others out until wio_universe_forked, in the parent.
 * @return false: this thread is inside itself, or the lock cannot be had */
bool wio_universe_before_fork(struct wio_universe *u);
void wio_universe_forked(struct wio_universe *u);
/** In a forked child: close inherited descriptors, touch nothing else. */
void wio_universe_after_fork(struct wio_universe *u);
const struct wio_table *wio_universe_table(const struct wio_universe *u);
const struct wio_config *wio_universe_config(const struct wio_universe *u);
struct wio_log *wio_universe_log(struct wio_universe *u);
/** Copy of all counters as they are now. */
void wio_universe_counters(struct wio_universe *u, struct wio_counters *out);
/** Count what collectives have sent to other PBs. */
void wio_universe_count_border(struct wio_universe *u, uint64_t msgs, uint64_t bytes);
/** A provider has begun a reduction with an operator that it was given. */
void wio_universe_count_fold(struct wio_universe *u);
void wio_universe_dump(struct wio_universe *u, struct wio_strbuf *out);
/** How a universe rank would be reached: transport name, NULL = not at all; @p why says more either
 * way. */
const char *wio_universe_route(struct wio_universe *u, uint32_t rank, char *why, size_t nwhy);
/** The distance by that route: "same host" ... */
const char *wio_universe_distance(struct wio_universe *u, uint32_t rank);
/** Costs and limits of a transport for peers so far away, a row of the table of `waitio info
 * --protocols`; empty: it is not used for them. */
void wio_protocol_text(const struct wio_config *cfg, const struct wio_transport *tr,
                       enum wio_distance d, char *buf, size_t n);
/** Processes per PB as ints, NPB of them; owned by the universe. NULL: out of memory, error set. */
int *wio_universe_sizes(struct wio_universe *u);
/** Is there a trace (WAITIO_TRACE)? It stays so as long as the universe. */
bool wio_universe_traced(const struct wio_universe *u);
/** Begin a record of an upper layer in it: time and thread are filled in. Only if there is one.
 * @return its number */
uint32_t wio_universe_mark(struct wio_universe *u, const struct wio_event *what);
/** What a record stands for is over. */
void wio_universe_marked(struct wio_universe *u, uint32_t mark, int err);
/** "PB 1 rank 3" of a universe rank. */
const char *wio_universe_name(const struct wio_universe *u, uint32_t rank, char *buf, size_t n);

/**
 * Descriptors for event loops: see waitio_event_open(). @return 0; UNSUPPORTED without a service
 * thread, SYSTEM, NOMEM; ARG for a foreign descriptor
 */
int wio_watch_open(struct wio_universe *u, int *fd);
int wio_watch_arm(struct wio_universe *u, int fd);
int wio_watch_close(struct wio_universe *u, int fd);
/** What waits call while nothing arrives: see waitio_while_waiting(). */
void wio_watch_idle(struct wio_universe *u, double (*function)(void));

/** Register, look up and drop groups, so that an invalid pointer is never followed. */
void wio_group_register(struct wio_universe *u, struct waitio_group *g);
int wio_group_check(struct wio_universe *u, const struct waitio_group *g); /* 0 or GROUP */
/** Is it a group that was used lately? False proves nothing. NULL is none. */
bool wio_group_known(struct wio_universe *u, const struct waitio_group *g);
int wio_group_drop(struct wio_universe *u, struct waitio_group *g);
/** Free what is left of a group of an earlier universe. @return false: it is none */
bool wio_group_forget(struct wio_universe *u, const struct waitio_group *g);
/** Set by an upper layer when it is loaded: makes a group that programs may name before it exists.
 * Called without locks. @return is @p g such a group, and made now? */
extern bool (*wio_group_make)(struct wio_universe *u, const struct waitio_group *g);

/**
 * Start operations. dst and src are group ranks already checked by the caller; src < 0 = any
 * source; tag < 0 = any. persistent: only make the (inactive) request.
 */
int wio_isend(struct wio_universe *u, struct waitio_group *g, uint32_t dst, const void *buf,
              size_t bytes, int32_t tag, bool persistent, struct wio_handle *h);
/** As wio_isend, but *h is null when the message was written or copied at once: it needs no wait.
 */
int wio_post(struct wio_universe *u, struct waitio_group *g, uint32_t dst, const void *buf,
             size_t bytes, int32_t tag, struct wio_handle *h);
/** A receive that stands at its peer and in no table: see expect.c. The engine's own. */
struct wio_expected {
    struct wio_list node; /* of the peer's, in the order of posting */
    uint64_t order;       /* ... among all receives */
    uint64_t space;
    void *buf;
    size_t bytes;
    int32_t tag;
    bool leg;      /* part of a struct wio_leg, else of a request */
    uint32_t mark; /* its record in the trace, also of a request's send; or 0: mark.c */
};

/**
 * Messages that are started together and waited for together, such as a round of a collective.
 * Short ones need no request as long as nothing unusual happens, which halves their cost.
 */
struct wio_leg {
    void *buf;     /**< a send only reads it */
    size_t bytes;  /**< of the message; of the room for it */
    uint32_t peer; /**< group rank, checked by the caller */
    int32_t tag;
    bool send;
    bool border; /**< counted as one that crosses the border between PBs */
    int err;     /**< out: of the operation */
    size_t got;  /**< out: bytes received */
    /* the engine's */
    uint8_t state; /* enum wio_leg_state */
    struct wio_handle handle;
    struct waitio_group *group;
    struct wio_peer *from;
    struct wio_expected expected;
};
/** Start @p n legs in their order, and wait for them in their order. The caller sets the fields
 *  that are neither out nor the engine's. @return 0; the error of leg *which. The others are
 * complete or cancelled then: none is pending. @blocking */
int wio_exchange(struct wio_universe *u, struct waitio_group *g, struct wio_leg *leg, int n,
                 int *which);
/**
 * End the message space of a group whose members wait for each other: an operation in it has
 * failed, and other members may wait for messages that never come. Its pending operations end with
 * PEER, here and, as fast as messages travel, on all other living members; later operations fail at
 * once.
 * @param code of the failure
 */
void wio_revoke(struct wio_universe *u, const struct waitio_group *g, int code);
/** Revoke g->together as soon as @p space is revoked, too. @return as wio_revoked_check(space) */
int wio_revoke_with(struct wio_universe *u, struct waitio_group *g, uint64_t space);
/** @return 0; REVOKED with the reason when that has happened to @p space */
int wio_revoked_check(struct wio_universe *u, uint64_t space);
/** The error of an operation that has ended with @p space. @return PEER; 0: it has not */
int wio_revoked_reason(struct wio_universe *u, uint64_t space);
/** A send that is complete when a receive has matched the message (MPI's synchronous mode). */
int wio_issend(struct wio_universe *u, struct waitio_group *g, uint32_t dst, const void *buf,
               size_t bytes, int32_t tag, bool persistent, struct wio_handle *h);
/** A source of receives and probes: anybody, but only while no member of the group has failed whose
 * failure is not acknowledged; else they end with PEER. Any other negative source: anybody, as long
 * as one member lives. */
#define WIO_ANY_WARY (-2)
/** Acknowledge all failures of members that this process has noticed. */
void wio_failures_ack(struct wio_universe *u, struct waitio_group *g);
/** Which members are acknowledged. @param members g->size universe ranks. @return how many */
uint32_t wio_failures_acked(struct wio_universe *u, const struct waitio_group *g,
                            uint32_t *members);
int wio_irecv(struct wio_universe *u, struct waitio_group *g, int64_t src, void *buf, size_t bytes,
              int64_t tag, bool persistent, struct wio_handle *h);
/** The same for a message that is spread. @p sync: as wio_issend */
int wio_isend_spread(struct wio_universe *u, struct waitio_group *g, uint32_t dst,
                     const struct wio_spread *s, size_t bytes, int32_t tag, bool persistent,
                     bool sync, struct wio_handle *h);
int wio_irecv_spread(struct wio_universe *u, struct waitio_group *g, int64_t src,
                     const struct wio_spread *s, size_t bytes, int64_t tag, bool persistent,
                     struct wio_handle *h);
int wio_start(struct wio_universe *u, const struct wio_handle *h);
int wio_cancel(struct wio_universe *u, const struct wio_handle *h);
int wio_request_free(struct wio_universe *u, struct wio_handle *h);
/** Look for an unexpected message. @param block wait for one. *found set; res filled when found. */
int wio_probe(struct wio_universe *u, struct waitio_group *g, int64_t src, int64_t tag, bool block,
              bool *found, struct wio_result *res);
/** The same with a time limit: 0 = look once, INT64_MAX = until there is one or none can come. */
int wio_probe_for(struct wio_universe *u, struct waitio_group *g, int64_t src, int64_t tag,
                  int64_t timeout_ns, bool *found, struct wio_result *res);

/**
 * A matched probe. If the data of the first message that fits is still at its sender, the message
 * is taken off the queue, and *h names its receive, which has no buffer yet. *claimed false:
 * nothing was done. @return 0; NOMEM
 */
int wio_claim(struct wio_universe *u, struct waitio_group *g, uint32_t src, int32_t tag,
              bool *claimed, struct wio_handle *h);
/** The buffer of such a receive, with room for @p bytes; or what it is spread over, or NULL. It
 * goes on like any other one. @return 0; REQUEST */
int wio_claimed_recv(struct wio_universe *u, const struct wio_handle *h, void *buf,
                     const struct wio_spread *s, size_t bytes);

/**
 * Completion. The handle becomes null (persistent ones stay, inactive). Null handles are complete
 * at once with an empty result. @return code of the *call* (REQUEST for a stale handle); the
 * operation's own code is in res->err.
 */
int wio_wait(struct wio_universe *u, struct wio_handle *h, struct wio_result *res);
/** The same with a time limit. *done false: nothing changed. */
int wio_wait_for(struct wio_universe *u, struct wio_handle *h, int64_t timeout_ns, bool *done,
                 struct wio_result *res);
/** The same for the handles of an array from *next on, @p stride bytes apart; results are not kept.
 * Stops after the first that fails. @return its code; *next is the index after it. */
int wio_wait_all(struct wio_universe *u, void *handles, size_t stride, int n, int *next);
/** *done false: nothing changed. */
int wio_test(struct wio_universe *u, struct wio_handle *h, bool *done, struct wio_result *res);
/** Is it done? The handle stays. Makes progress once when @p poll. */
int wio_peek(struct wio_universe *u, const struct wio_handle *h, bool poll, bool *done);
/** The same with progress; fills @p res when it is done. */
int wio_look(struct wio_universe *u, const struct wio_handle *h, bool *done,
             struct wio_result *res);
/** Make a task with its request. The caller works on it until it calls wio_task_rest. @return 0;
 * NOMEM */
int wio_task_begin(struct wio_universe *u, struct wio_task *t, wio_task_fn go,
                   struct wio_handle *h);
/** Called by the thread that works on the task: the task awaits this message, too. */
void wio_task_await(struct wio_universe *u, struct wio_task *t, const struct wio_handle *message);
/** Called by the thread that began it: from now on any waiting thread may run it. */
void wio_task_rest(struct wio_universe *u, struct wio_task *t, enum wio_task_next next);
/** Make a request that is complete when wio_user_end() is called. Waits treat it like any other.
 * @return 0; NOMEM */
int wio_user_begin(struct wio_universe *u, struct wio_handle *h);
/** Complete it, from any thread; who waits for it is woken. @return 0; REQUEST: it was completed,
 * or the universe has ended */
int wio_user_end(struct wio_universe *u, const struct wio_handle *h);
/**
 * An operation of another library, such as the MPI inside a PB. It makes progress only when it is
 * polled: by threads of the program that wait or test, never by the service thread, and never with
 * the engine lock held. While there is one, waits sleep for at most a millisecond.
 */
struct wio_outside {
    struct wio_list node; /**< the engine's, as is seen_ns */
    int64_t seen_ns;
    struct wio_handle handle;         /**< the engine's: of the request */
    uint64_t space;                   /**< the request ends with PEER when this space is revoked */
    const struct waitio_group *group; /**< its members are dialled when that takes long */
    /**
     * Look at it once. One thread at a time; must not wait, nor call the engine.
     * @param ended the request has ended with an error (revoked, or finalize): give the operation
     * up
     * @param[out] err of the operation, with the thread's error text, when it is over
     * @return true: it is over; the engine forgets @p o, whose memory poll() has freed or given
     * away
     */
    bool (*poll)(struct wio_outside *o, bool ended, int *err);
};
/** Have it polled. The caller sets space, group and poll. @param[out] h the request, for waiting
 * @return 0; NOMEM; the space's error */
int wio_outside_begin(struct wio_universe *u, struct wio_outside *o, struct wio_handle *h);
/**
 * This thread blocks in another library from now on, in an operation of members of @p space, until
 * wio_outside_unblock(). When the space is revoked meanwhile, and the thread is not back a second
 * later, the service thread calls @p end with the error's text set: nobody else can end this wait.
 */
void wio_outside_block(struct wio_universe *u, uint64_t space, void (*end)(void));
void wio_outside_unblock(struct wio_universe *u);
/** The calling thread never polls them: other threads do. One thread of a process. */
void wio_outside_keep_off(struct wio_universe *u);
/** Long waits of this thread are reported under this name from now on; "": not at all; NULL: as
 * usual. It stays. */
void wio_stuck_name(const char *call);
/** A thread has been in @p call, of another library, for @p seconds: a report when that is longer
 * than WAITIO_WARN_WAIT. @return after how many seconds in that call to ask again */
double wio_stuck_elsewhere(struct wio_universe *u, const char *call, double seconds);
/** Null, or persistent and not started? (A stale handle is not: peek reports it.) */
bool wio_inactive(struct wio_universe *u, const struct wio_handle *h);
/** Sleep until at least one of the n handles is done (null and inactive ones are skipped).
 * @param[out] which index, or -1 when none is active. Consumes nothing. */
int wio_wait_any(struct wio_universe *u, const struct wio_handle *h, size_t stride, int n,
                 int *which);
/** The same with a time limit (INT64_MAX = none). */
int wio_wait_any_for(struct wio_universe *u, const struct wio_handle *h, size_t stride, int n,
                     int64_t timeout_ns, bool *timed_out, int *which);

#endif
