/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file universe.h
 * The engine's state: everything hangs off one struct wio_universe. Private to p2p/; upper layers
 * use p2p.h.
 *
 * Locking: one engine lock. Every function of p2p/ expects it held unless its comment says
 * otherwise. It is released while a thread sleeps, and now and then while it spins. At most one
 * application thread at a time drives the transports (the poller); the others sleep on `turn` until
 * their request is done or the poller's place is free. The service thread takes the lock for each
 * of its rounds.
 */
#ifndef WIO_UNIVERSE_H
#define WIO_UNIVERSE_H

#include <stdatomic.h>

#include "group/group.h"
#include "os/os.h"
#include "p2p/lock.h"
#include "p2p/match.h"
#include "p2p/p2p.h"
#include "p2p/spin.h"
#include "p2p/way.h"
#include "transport/transport.h"
#include "waitio_transport.h"

struct wio_peer;
struct wio_unexpected;
struct wio_piece;
struct wio_card;
struct wio_resume;
struct wio_stored;
struct wio_lanes;
struct wio_stripe;
struct wio_parts;

enum wio_req_kind {
    WIO_REQ_FREE,
    WIO_REQ_SEND,
    WIO_REQ_RECV,
    WIO_REQ_SEND_TEMPLATE, /* persistent: holds the arguments, each start makes a child */
    WIO_REQ_RECV_TEMPLATE,
    WIO_REQ_TASK, /* represents a task: done when the task is */
    WIO_REQ_USER  /* done when the upper layer says so: user.c */
};
enum wio_req_state {
    WIO_RS_NEW,
    WIO_RS_QUEUED, /* send: waits for link or credit */
    WIO_RS_POSTED, /* receive: not matched */
    WIO_RS_ASKED,  /* send: RTS is out */
    WIO_RS_MOVING, /* data on its way (send), or arriving (receive) */
    WIO_RS_ACK,    /* send: all written, DONE awaited */
    WIO_RS_DONE
};

/** One operation. Lives in a slab, named from outside by index and generation. */
struct wio_request {
    struct wio_universe *u;
    uint32_t index, generation;
    bool clean; /* free: what lies behind `total` is zero */
    struct wio_request *next_free;
    /* From here to `tx` a new request is zero. */
    uint8_t kind, state;
    bool user_done;  /* the user sees it as complete (local completion) */
    bool user_holds; /* a handle exists; false: the slot is freed when the work is done */
    bool cancelled;
    bool waited;   /* the poller waits for just this one */
    bool tx_busy;  /* the transport holds tx */
    bool acked;    /* DONE came while the transport still held tx */
    bool local;    /* counts in peer->local_pending */
    bool asked;    /* receive: answered an RTS, its data comes as DATA */
    bool refused;  /* send: the receiver leaves without taking the message */
    bool unwanted; /* send: the program has cancelled it */
    bool bulky;    /* counts in u->bulk */
    bool sync;     /* send: complete only when a receive has taken the message */
    bool lent;     /* send: the receiver may fetch it; receive: we do */
    bool far;      /* its data goes, or comes, by the side link */
    bool loaned;   /* send: the transport may send pieces of its buffer again */
    bool timed;    /* send: the receiver is asked how long it takes */
    bool claimed;  /* receive: has its message, but no buffer: wio_claim() */
    bool brief;    /* receive: was never in the tables; nothing behind `total` was touched */
    bool wary;     /* receive from any source: it ends with the failure of a member (failed.c) */
    bool unsafe;   /* ... and has ended so; peer: that member */
    int err;
    int32_t status_source; /* rank in the group */
    int32_t tag;           /* send tag; receive: tag asked for, then tag matched */
    int64_t src;           /* receive: universe rank asked for or WIO_ANY */
    uint64_t space;
    uint8_t *buf;                 /* user's buffer, or copy in the pool */
    size_t bytes;                 /* send: length; receive: room */
    struct wio_peer *peer;        /* send: destination; receive: matched source */
    struct wio_task *task;        /* to be notified when this is done; NULL: none, or notified */
    struct wio_expected expected; /* receives: at their peer, in the place of `post` */
    size_t total;               /* receive: length of the matched message; task: messages awaited */
    size_t moved;               /* bytes handed to the transport, or arrived */
    size_t granted;             /* send: bytes the receiver wants */
    struct waitio_group *group; /* receives from any source: for the status; referenced */
    void *pool;                 /* the copy, NULL: buf is the user's */
    struct wio_spread spread;   /* calls NULL: the bytes lie at buf; else that is NULL */
    struct wio_piece *piece;    /* ... and here those that are just sent, or arriving; or NULL */
    struct wio_stripe *stripe;  /* send: its pieces go by several connections; owned, or NULL */
    struct wio_parts *parts;    /* receive: they come so; owned, or NULL */
    struct wio_request *child;  /* template: the round that runs, NULL = inactive */
    struct wio_list node;  /* sends: peer's sendq or bulk list; receives: its fetches; or nothing */
    struct wio_list owned; /* peer's list of active operations, for failing them */
    struct wio_post post;  /* receives: in the match tables */
    uint32_t envelope;
    uint32_t cost;          /* credit this eager message or RTS took */
    uint64_t remote;        /* receive: sender's request id */
    struct wio_lent lender; /* receive: where to fetch it; at = 0: not known yet */
    _Atomic uint64_t lend;  /* send: wio_lent_word() as long as the receiver may read buf */
    int64_t begun_ns;       /* receive, to be timed: when it was matched; or 0 */
    int64_t seen_ns;        /* receive: first seen waiting by the stuck check; 0 = not yet */
    int64_t waited_ns;      /* a wait in slices, or by testing, began; 0 = none did */
    int64_t tested_ns;      /* asked about last in vain */
    uint64_t tested_msgs;   /* messages that had been received then */
    uint32_t warned;        /* reports that this wait lasts long */
    struct wio_tx tx;       /* sends: header and the piece being sent */
};

/** A message (or a request to send) that came before its receive. */
struct wio_unexpected {
    struct wio_held held;  /* first */
    struct wio_list owned; /* peer's list while incomplete, or early queue */
    struct wio_peer *peer;
    struct wio_request *req; /* a receive that matched while the data was still arriving */
    uint64_t remote;         /* sender's request id, 0 = no DONE wanted */
    size_t total, arrived;
    uint32_t envelope, cost, epoch;
    bool rts;
    bool lends;                /* the sender says where it lies */
    bool timed;                /* the sender asks how long it takes */
    bool unwanted;             /* the sender has withdrawn it */
    struct wio_stored *stored; /* it lies in the journal of its sender; owned */
    struct wio_lent lender;    /* there; at = 0: not said yet */
    uint8_t data[];
};

/** Credit of one direction pair; counted in WIO_CREDIT_UNITs, modulo 2^32. Reset when a link opens.
 */
struct wio_credit {
    uint32_t limit;     /* sender: the peer's cumulative grant */
    uint32_t used;      /* sender: cumulative use */
    uint32_t granted;   /* receiver: cumulative grant we gave */
    uint32_t taken;     /* receiver: cumulative use by the peer */
    uint32_t announced; /* receiver: what was sent to the peer */
    uint32_t window;    /* receiver: how much the peer may have outstanding */
    uint32_t reserved;  /* receiver: the part of window taken from the budget */
    uint32_t span;      /* sender: the first grant of this link, all that can ever be outstanding */
    bool open;          /* sender: a grant has come on this link */
    bool pressed;       /* sender: it has said that it waits, and no grant has come since */
    bool tight;         /* sender: ... and got the answer that no grant will come by itself */
    bool awaited;       /* receiver: the peer waits for any credit */
};

/** State of a peer from first contact on. */
struct wio_peer {
    uint32_t rank;
    uint32_t epoch; /* counts links */
    struct wio_iface *iface;
    struct wio_ep *ep;       /* NULL: no link */
    struct wio_ep *given_up; /* a link the peer did not want: to be closed */
    struct wio_ep *guard; /* a link beside a mute one, which tells of the peer's death; or NULL */
    struct wio_ep *side;  /* hybrid: a link of files for the data of large messages; or NULL */
    size_t eager_max;     /* eager limit towards it */
    uint8_t link;         /* enum wio_ep_state, CLOSED when ep == NULL */
    bool dead;            /* failed, or left */
    bool left;            /* said goodbye */
    bool watched, active;
    uint32_t failure;        /* it was the how manieth to fail; 0: it has not failed */
    bool memory;             /* its link is memory: looking at it costs nothing */
    bool doomed;             /* a dial failed at once, or it is given up: to be failed */
    bool silent;             /* finalize gave it up */
    bool lost;               /* it has died, and its mute link does not know: to be closed */
    bool side_open;          /* the side link was ready once */
    bool no_side;            /* it could not be made */
    uint16_t barred;         /* transports that could not connect, where files could */
    bool cut;                /* the peer is dead: its side link and its lanes are to be closed */
    struct wio_lanes *lanes; /* connections beside its link (stripe.h); owned, or NULL */
    char *lost_why;          /* its side link broke: why, owned; its main one is to be closed */
    bool unsaid;             /* no memory for a control message: without it the two wait for ever */
    uint32_t moving;         /* receives with data on its way from this peer */
    char *why;               /* dead: reason, owned */
    int64_t looked_ns;       /* first probe without success and without a link; 0 = none */
    int64_t linked_ns;       /* when the link was begun */
    uint32_t send_envelope, recv_envelope; /* last numbers used / delivered */
    struct wio_credit credit;
    uint32_t local_pending;   /* locally completed sends not yet written */
    uint32_t ahead;           /* limit of these after waits without success; or 0 */
    struct wio_list expected; /* receives in this peer's list: arrivals check them first */
    struct wio_list ctlq;     /* control messages waiting for a link */
    struct wio_list sendq;    /* requests waiting for link or credit, in envelope order */
    struct wio_list bulk;     /* requests with data to send, round robin */
    struct wio_list far;      /* the same, by the side link */
    struct wio_ways *ways;    /* what messages to it have measured; NULL: nothing yet */
    struct wio_list fetches;  /* receives whose data we read from the peer's memory, round robin */
    struct wio_list owned;    /* all active requests with this peer */
    struct wio_list partial;  /* unexpected messages still arriving */
    struct wio_list early;    /* unexpected messages that overtook an envelope */
    struct wio_list active_node;
};

/** A message space that has ended before its group: revoke.c. */
struct wio_revoked {
    uint64_t space;
    uint32_t culprit; /* universe rank of who failed */
    uint32_t teller;  /* who reported it; this process: found here */
    int code;         /* what has failed there: PEER: it died, or left */
};

enum { WIO_SLAB = 128 };
enum { WIO_KNOWN_GROUPS = 16 };
enum { WIO_BLOCKED = 8 };

struct wio_universe {
    struct wio_config cfg;
    struct wio_log log;
    struct wio_secret secret;
    struct wio_whoami who;
    struct wio_table *table;
    struct wio_counters ctr;
    struct wio_timeline *timeline; /* the trace, or NULL */
    uint32_t serial;               /* tells handles of one universe from another's */
    uint16_t allowed;              /* transports we may use, bit mask */
    bool hybrid;                   /* large messages go by files, beside another link */
    uint64_t side_above;           /* ... that are longer than this */

    struct wio_lock lock;
    pthread_cond_t turn;
    _Atomic int want; /* threads waiting for the lock */
    int inside;       /* application threads in a wait */
    int sleepers;     /* threads on `turn` */
    int away;         /* threads that left the lock in the middle of a call, and come back */
    bool polling;     /* somebody drives the transports */
    bool poller_asleep;
    pthread_t poller; /* who drives, while polling */
    bool completed;   /* something completed since the poller looked */
    int kick_fd;      /* wakes the poller */
    uint64_t calls;   /* library calls, for the service thread's "program is away" */

    struct wio_iface *iface[WIO_TR_COUNT];
    struct wio_tr_attr attr[WIO_TR_COUNT];
    struct wio_peer **peer;  /* by universe rank; NULL = never contacted */
    struct wio_list active;  /* peers with bulk to pump */
    struct wio_list lent;    /* sends that complete locally, but may be fetched still */
    int64_t lent_ns;         /* when the last of these began to wait */
    struct wio_list tasks;   /* that can continue: any waiting thread runs them */
    uint32_t ntasks;         /* that are not over */
    struct wio_list outside; /* operations of other libraries; see outside.c */
    int noutside;            /* ... that wait for a poll */
    bool outside_polled;     /* a thread is polling them, without the lock */
    bool has_off;            /* ... which this one does never */
    pthread_t off;
    /* spaces in whose operations threads block in other libraries, by thread; 0: none */
    _Atomic uint64_t blocked[WIO_BLOCKED];
    void (*blocked_end)(void);
    int64_t blocked_ns;         /* one of them is revoked, seen since; or 0 */
    int64_t patience_ns;        /* with what peers do not take when it is left; 0: endless */
    struct wio_list closed_eps; /* nodes of struct wio_grave */
    struct wio_match match;
    uint32_t deaths;             /* peers that failed or left */
    uint32_t failures;           /* ... of these, those that failed */
    struct wio_revoked *revoked; /* spaces that have ended */
    uint32_t nrevoked;           /* changed atomically */
    struct wio_request **slab;   /* slabs of WIO_SLAB requests */
    uint32_t nslabs;
    struct wio_request *free_req; /* first of the free slots */
    struct wio_pool ctl_pool;     /* control messages in flight */
    struct wio_pool small_pool;   /* unexpected messages up to WIO_SMALL_HELD bytes */
    struct wio_list groups;
    struct wio_before *before; /* of the universes before this one, or NULL */
    /* groups checked lately, each at the place its address gives: most calls use a few */
    _Atomic uintptr_t known_group[WIO_KNOWN_GROUPS];
    struct wio_buffers buffers; /* of messages that wait here, and of pieces */
    uint64_t credit_left;       /* unexpected budget not granted to any peer, in units */
    uint64_t credit_debt; /* units that closed links hold beyond what was taken from the budget */
    uint32_t burst;       /* sends since the last arrival or wait */
    int64_t last_send_ns;
    bool batched;  /* a transport may keep bytes back */
    bool touched;  /* a transport may have work for the service thread: ask it when leaving */
    bool stop_now; /* the poller's request is done: leave large unexpected messages unread */
    const struct wio_expected *brief;   /* what wio_wait_brief() waits for */
    const struct wio_peer *landed_from; /* whose message that was; it has come in this look */
    bool at_one; /* only one link is polled, for the message expected from it */
    struct wio_spin spin;
    uint32_t polls;  /* of single links */
    uint32_t warm;   /* rounds of progress left in which mostly shared memory is polled */
    uint32_t sparse; /* such rounds so far */

    pthread_t service;
    bool service_runs, service_stop;
    bool service_sleeps; /* in its poll */
    bool service_full;   /* ... with everything armed: what the program finds it does not hear of */
    bool calls_only;     /* a transport moves only in calls of threads that may call its library */
    bool watched;        /* an event loop wants one wake-up at the next event */
    double (*idle)(void); /* the program's, called while a wait finds nothing, or NULL */
    int nwatches;         /* descriptors of event loops */
    struct wio_watch *watch;
    uint32_t bulk;                   /* large operations under way */
    _Atomic int64_t service_wake_ns; /* when the service thread checks next without an event */
    int service_fd;                  /* wakes the service thread */
    int64_t dial_ns;                 /* last dial of a silent source */
    int64_t stuck_ns;                /* last wio_stuck_check */
    uint64_t stuck_said[8];          /* the last reports of long waits, hashed */
    uint32_t stuck_next;
    int64_t looked_ns;                /* first probe of any source without success; 0 = none */
    uint32_t dial_next;               /* any-source: member to dial next */
    _Atomic uint32_t collectives;     /* begun */
    _Atomic int64_t looked_around_ns; /* last look around in one of them */

    struct wio_resume *resume; /* WAITIO_FILE_RESUME; or NULL */

    int *sizes;  /* processes per PB, made on demand */
    bool ending; /* finalize has begun */
    bool left;   /* nothing is received any more: threads that wait end */
    bool joined;
};
#define WIO_SMALL_HELD 256u
#define WIO_CTL_BYTES 160
#define WIO_TICK_NS 250000000LL    /* between two rounds of the duties of long waits */
#define WIO_SERVICE_SOON 2500000LL /* ns: the service thread checks soon enough by itself */

/** A closed link waiting for free_ep outside the upcall. */
struct wio_grave {
    struct wio_list node;
    struct wio_ep *ep;
};

/** Number of the envelope after @p n; 0 is never used. */
static inline uint32_t wio_next_envelope(uint32_t n)
{
    return n + 1 == 0 ? 1 : n + 1;
}

/* ---- requests (request.c) ---- */
struct wio_request *wio_req_new(struct wio_universe *u, uint8_t kind);
/** A receive without anything that only the tables need. The caller sets status_source, tag, src,
 * space, buf, bytes and expected. */
struct wio_request *wio_req_new_brief(struct wio_universe *u);
void wio_req_release(struct wio_request *r); /* give the slot back; generation moves on */
uint64_t wio_req_id(const struct wio_request *r);
/** By the id in a message; NULL when there is no such request. */
struct wio_request *wio_req_by_id(struct wio_universe *u, uint64_t id);
/** Is this the id of an operation that has ended? */
bool wio_req_was(struct wio_universe *u, uint64_t id);
/** By slot and generation; NULL = stale. */
struct wio_request *wio_req_at(struct wio_universe *u, uint32_t index, uint32_t generation);
/** The user may see it as complete now (err kept if already set). */
void wio_req_user_done(struct wio_request *r, int err);
/** All work is over: complete, and free the slot if no handle is left. */
void wio_req_finish(struct wio_request *r, int err);

/* ---- members in the same MPI job (inside.c) ---- */
#define WIO_TR_MPI (WIO_TR_OUTSIDE + WAITIO_PLACE_MPI)
/** Cards of the processes of the MPI job; card NULL: none. Freed by the caller. */
struct wio_insiders {
    struct wio_card *card;
    uint32_t count;
};
/** Shall transport mpi serve the members of one MPI job, beside others? */
bool wio_inside_wanted(const struct wio_universe *u);
/** It cannot: WAITIO_INSIDE=auto does without. @return 0, or rc */
int wio_inside_without(struct wio_universe *u, struct wio_boot_offer *offer, int rc);
/** Before joining: exchange cards with all processes of the MPI job. @blocking up to timeout_s */
int wio_inside_meet(struct wio_universe *u, struct wio_boot_offer *offer, double timeout_s,
                    struct wio_insiders *in);
/** After it: which members are in the job. @return 0; JOIN, NOMEM */
int wio_inside_find(struct wio_universe *u, const struct wio_insiders *in);
/** WAITIO_INSIDE=mpi goes before quicker ways. */
void wio_inside_prefer(struct wio_universe *u);

/* ---- the trace (mark.c) ---- */
/** Open it: joining began at @p begun. @return 0; CONFIG, NOMEM: there is none */
int wio_mark_open(struct wio_universe *u, const struct wio_timeline_clock *begun);
void wio_mark_close(struct wio_universe *u);
/** How the process leaves, enum wio_event_state. */
void wio_mark_state(struct wio_universe *u, uint32_t state);
void wio_mark_link_now(struct wio_universe *u, const struct wio_peer *p, uint8_t kind);
void wio_mark_sent_now(struct wio_universe *u, const struct wio_peer *p, const struct wio_msg *m,
                       size_t bytes, int64_t begun);
void wio_mark_send_now(struct wio_request *r);
uint32_t wio_mark_receive_now(struct wio_universe *u, int64_t src, uint64_t space, size_t bytes,
                              int32_t tag);
void wio_mark_took_now(struct wio_universe *u, const struct wio_peer *p, uint64_t space,
                       uint32_t envelope, size_t bytes, int32_t tag);
void wio_mark_whole_now(struct wio_universe *u, uint32_t mark, const struct wio_msg *m);
void wio_mark_matched_now(const struct wio_request *r, uint32_t envelope);
void wio_mark_over_now(struct wio_universe *u, uint32_t mark, uint8_t flags);
void wio_mark_waited_now(struct wio_universe *u, uint32_t mark);
uint32_t wio_mark_begin_now(struct wio_universe *u, uint8_t kind, int32_t what, int64_t peer);
void wio_mark_end_now(struct wio_universe *u, uint32_t mark, int64_t peer);
/* Without a trace these are a branch. */
#define WIO_TRACED(u) WIO_UNLIKELY((u)->timeline != NULL)
/** A link is ready and our first grant has left (WIO_EVENT_LINK); the peer's has come (_GREETED).
 */
static inline void wio_mark_link(struct wio_universe *u, const struct wio_peer *p, uint8_t kind)
{
    if (WIO_TRACED(u))
        wio_mark_link_now(u, p, kind);
}
/** When a message begins to be put on its link. Through memory the clock is read behind it (0): it
 * would be a tenth of what the message takes, and there are no clocks to be compared. */
static inline int64_t wio_mark_time(const struct wio_universe *u, const struct wio_peer *p)
{
    return WIO_TRACED(u) && !p->memory ? wio_timeline_now(u->timeline) : 0;
}
/** A message was put on its link at once. @param begun of wio_mark_time() */
static inline void wio_mark_sent(struct wio_universe *u, const struct wio_peer *p,
                                 const struct wio_msg *m, size_t bytes, int64_t begun)
{
    if (WIO_TRACED(u))
        wio_mark_sent_now(u, p, m, bytes, begun);
}
/** A send has its envelope. */
static inline void wio_mark_send(struct wio_request *r)
{
    if (WIO_TRACED(r->u))
        wio_mark_send_now(r);
}
/** A receive is posted. @param src universe rank, or < 0 @return its mark */
static inline uint32_t wio_mark_receive(struct wio_universe *u, int64_t src, uint64_t space,
                                        size_t bytes, int32_t tag)
{
    return WIO_TRACED(u) ? wio_mark_receive_now(u, src, space, bytes, tag) : 0;
}
/** ... and over at once: its message was held. */
static inline void wio_mark_took(struct wio_universe *u, const struct wio_peer *p, uint64_t space,
                                 uint32_t envelope, size_t bytes, int32_t tag)
{
    if (WIO_TRACED(u))
        wio_mark_took_now(u, p, space, envelope, bytes, tag);
}
/** The whole message of a receive has come, which will be over in a moment. */
static inline void wio_mark_whole(struct wio_universe *u, uint32_t mark, const struct wio_msg *m)
{
    if (WIO_TRACED(u))
        wio_mark_whole_now(u, mark, m);
}
/** The envelope of a receive has come; a send is asked for its data. */
static inline void wio_mark_matched(const struct wio_request *r, uint32_t envelope)
{
    if (WIO_TRACED(r->u))
        wio_mark_matched_now(r, envelope);
}
/** It is over for the program. @param flags enum wio_event_flag */
static inline void wio_mark_over(struct wio_universe *u, uint32_t mark, uint8_t flags)
{
    if (WIO_TRACED(u))
        wio_mark_over_now(u, mark, flags);
}
/** A wait for just this one begins. */
static inline void wio_mark_waited(struct wio_universe *u, uint32_t mark)
{
    if (WIO_TRACED(u))
        wio_mark_waited_now(u, mark);
}
/** Something that takes time begins. @param peer whom it is for, or < 0 @return its mark */
static inline uint32_t wio_mark_begin(struct wio_universe *u, uint8_t kind, int32_t what,
                                      int64_t peer)
{
    return WIO_TRACED(u) ? wio_mark_begin_now(u, kind, what, peer) : 0;
}
/** @param peer who ended it, or < 0: as it was */
static inline void wio_mark_end(struct wio_universe *u, uint32_t mark, int64_t peer)
{
    if (WIO_TRACED(u))
        wio_mark_end_now(u, mark, peer);
}

/* ---- peers (peer.c) ---- */
/** State of a peer, made on first contact. @return NULL: out of memory */
struct wio_peer *wio_peer_get(struct wio_universe *u, uint32_t rank);
/** Start a link if there is none. @return 0; PEER, NOROUTE, NOMEM ... */
int wio_peer_connect(struct wio_universe *u, struct wio_peer *p);
/** Cheapest transport both sides allow. @param why reason, also on failure. @return NULL: none */
struct wio_iface *wio_peer_route(struct wio_universe *u, uint32_t rank, char *why, size_t nwhy);
void wio_peer_fail(struct wio_universe *u, struct wio_peer *p, int err, bool left,
                   const char *text);
/** Is its death not noticed on its link (WIO_CAP_MUTE), and on no other? */
bool wio_peer_unguarded(const struct wio_universe *u, const struct wio_peer *p);
/** Open a link by another transport beside that one, if any reaches the peer. */
void wio_peer_guard(struct wio_universe *u, struct wio_peer *p);
/** Close the link of a peer that has died, after wio_peer_fail(). */
void wio_peer_close_lost(struct wio_peer *p);
/** The peer is lost; its main link, which does not know, is closed and fails it. */
void wio_peer_lose(struct wio_universe *u, struct wio_peer *p, const char *text);
/** A dead peer's main or side link has ended: fail what it held. */
void wio_peer_fail_rest(struct wio_universe *u, struct wio_peer *p);
/** May a link to the peer still read from the request's buffer or write to it? Then the request of
 * a dead peer ends with that link. */
bool wio_peer_link_holds(const struct wio_peer *p, const struct wio_request *r);
/** A ready link is the main one from now on. */
void wio_peer_main(struct wio_universe *u, struct wio_peer *p, struct wio_ep *ep);
/** A message came on a link that this peer is not known to have: there was no memory for the peer
 * when the link was made. */
void wio_peer_told_late(struct wio_universe *u, struct wio_peer *p, struct wio_ep *ep);

/* ---- the hybrid route (side.c) ---- */
/** Shall the data of this send go by files, beside the link of its peer? */
bool wio_side_wanted(const struct wio_request *r);
/** A link has changed its state. @return false: it is no side link */
bool wio_side_state(struct wio_universe *u, struct wio_peer *p, struct wio_ep *ep,
                    enum wio_ep_state state);
/** The side link is the main one from now on: nothing is kept for it alone. */
void wio_side_merge(struct wio_universe *u, struct wio_peer *p);
/** Something else than data came by the side link: to the peer it is the main one, as no other way
 * has worked there. */
void wio_side_promote(struct wio_universe *u, struct wio_peer *p);
/** A link has ended. @return false: it was no side link */
bool wio_side_closed(struct wio_universe *u, struct wio_peer *p, const struct wio_ep *ep, int err,
                     const char *text);
/** Close that of a dead peer; its end fails the requests that it holds. */
void wio_side_cut(struct wio_peer *p);
/** A link could not be made at all: go on by files? @return false: no */
bool wio_side_instead(struct wio_universe *u, struct wio_peer *p, const struct wio_iface *f,
                      const char *text);
/** Is it there? Makes it if need be. */
bool wio_side_ready(struct wio_universe *u, struct wio_peer *p);
/** At finalize: say goodbye. @return whether nothing is to be waited for */
bool wio_side_leave(struct wio_peer *p);
/** Which messages to this peer go by files, for people; nothing where none do. */
void wio_side_text(const struct wio_universe *u, uint32_t rank, const struct wio_iface *main,
                   char *buf, size_t n);
int wio_peer_error(const struct wio_universe *u,
                   const struct wio_peer *p); /* sets detail, returns PEER */
/** Have its queues looked at by the next round of progress. */
void wio_peer_activate(struct wio_universe *u, struct wio_peer *p);
/** A dial failed where the peer cannot be marked as failed (upcalls, scans): the next round of
 * progress does so. */
void wio_peer_doom(struct wio_universe *u, struct wio_peer *p);
/** No memory to keep a control message: the next round of progress ends the link and fails the
 * peer. */
void wio_peer_unsaid(struct wio_universe *u, struct wio_peer *p);
/** Called by that round, never from upcalls. */
void wio_peer_end_unsaid(struct wio_universe *u, struct wio_peer *p);
/** Close the link that was given up: not from upcalls. */
void wio_peer_close_given_up(struct wio_peer *p);
/** "PB 1 rank 3" into buf. */
const char *wio_peer_name(const struct wio_universe *u, uint32_t rank, char *buf, size_t n);
void wio_peer_free(struct wio_universe *u, struct wio_peer *p);
extern const struct wio_upcalls wio_p2p_upcalls;

/* ---- messages read from the sender's memory (fetch.c) ---- */
/** Sender: shall the receiver fetch this message if it can? Sets r->timed. */
bool wio_fetch_wanted(struct wio_request *r);
/** wio_fetch_plain() for messages that could be fetched. */
bool wio_fetch_unwanted(struct wio_universe *u, struct wio_peer *p, size_t bytes);
/** Does the next message to @p p go the usual way, unmeasured? */
static inline bool wio_fetch_plain(struct wio_universe *u, struct wio_peer *p, size_t bytes)
{
    return bytes < u->cfg.shm_fetch_min || !p->memory || wio_fetch_unwanted(u, p, bytes);
}
/** Sender, behind its RTS: send the address of the data. */
void wio_fetch_lend(struct wio_request *r);
/** Its receiver has said that it will not read it (any more). */
void wio_fetch_settled(struct wio_request *r);
/** From now on nobody may read it. */
void wio_fetch_forbid(struct wio_request *r);
/** Sends that are to complete locally have waited long enough: copy what is not fetched yet. */
void wio_fetch_take_back(struct wio_universe *u);
/** Receivers have this long to fetch it first. */
#define WIO_FETCH_SOON_NS 40000
/** Sender: the receiver says how long a timed message took. */
void wio_fetch_took(struct wio_request *r, int64_t ns);
/** Receiver, matched, r->granted is set: fetch it, from @p lender or as soon as that is said?
 *  @return false: it has to be sent */
bool wio_fetch_begin(struct wio_request *r, const struct wio_lent *lender);
/** Receiver: LENT came. */
void wio_fetch_said(struct wio_peer *p, const struct wio_msg *msg);
/** A piece for one of the peer's receives. */
void wio_fetch_pump(struct wio_universe *u, struct wio_peer *p);

/* ---- messages that are spread in memory (spread.c) ---- */
/** A buffer for a piece. */
struct wio_piece {
    size_t room;
    uint8_t data[];
};
static inline bool wio_is_spread(const struct wio_request *r)
{
    return WIO_UNLIKELY(r->spread.calls != NULL);
}
/** The request is one of a spread message. */
void wio_spread_set(struct wio_request *r, const struct wio_spread *f);
/** The bytes lie at r->buf from now on, or the request is over: release what it holds. */
void wio_spread_end(struct wio_request *r);
/** Send: @p n bytes at @p at, in its piece. NULL: no memory */
const uint8_t *wio_spread_read(struct wio_request *r, size_t at, size_t n);
/** Receive: room for @p n bytes that will arrive. NULL: no memory */
uint8_t *wio_spread_room(struct wio_request *r, size_t n);
/** Receive: bytes of the message have come; those beyond the end of the receive are dropped. */
void wio_spread_write(struct wio_request *r, size_t at, size_t n, const void *from);
/** The piece is not needed any more. */
void wio_spread_piece_free(struct wio_request *r);
/** Pieces that are sent are not longer than that: they stay in a cache until they have left. Each
 * costs a system call over sockets, so these are longer than those through memory. */
#define WIO_SPREAD_PIECE ((size_t)128 << 10)
#define WIO_SPREAD_PIECE_MEMORY ((size_t)32 << 10)

/* ---- sending (send.c) ---- */
void wio_send_start(struct wio_request *r); /* r->peer, buf, bytes, tag, space are set */
/** A short message is put on its link at once, if nothing is in the way.
 * @param p may be NULL @return false: nothing was done; wio_send_start() does it */
bool wio_send_put(struct wio_universe *u, struct wio_peer *p, uint64_t space, const void *buf,
                  size_t bytes, int32_t tag);
void wio_send_pump(struct wio_universe *u, struct wio_peer *p); /* what link and credit now allow */
/** CTS came. @param stripes the pieces may come in any order */
void wio_send_granted(struct wio_request *r, uint64_t granted, uint64_t remote, bool stripes);
/** Put a piece of a striped message on the link of its peer. @return as send() */
int wio_send_unit(struct wio_request *r, size_t at, size_t n, size_t unit);
/** All pieces have left. */
void wio_send_written(struct wio_request *r);
/** Complete it for the user, who may change the buffer then: its data is in a copy, or has left. */
void wio_send_local(struct wio_request *r);
void wio_send_acked(struct wio_request *r, bool refused); /* DONE came */
/** Ask its receiver to refuse it, if no receive has matched it. It is cancelled when that is heard.
 * @return 0; UNSUPPORTED: a journal keeps it */
int wio_send_cancel(struct wio_request *r);
/** Control message (CTS, DONE, CREDIT); msg->credit is filled in here. */
int wio_send_ctl(struct wio_universe *u, struct wio_peer *p, struct wio_msg *msg, unsigned flags);
void wio_ctl_drop(struct wio_universe *u, struct wio_peer *p); /* after a peer failure */

/* ---- receiving (recv.c, arrive.c) ---- */
int wio_arrive_message(void *user, struct wio_ep *ep, uint32_t peer, const uint8_t *msg,
                       uint32_t bytes, struct wio_sink *sink);
int wio_arrive_payload(void *user, struct wio_ep *ep, uint32_t peer, struct wio_sink *sink);
enum wio_whole wio_arrive_whole(void *user, struct wio_ep *ep, const uint8_t raw[WIO_MSG_BYTES],
                                const void *payload, uint32_t bytes);
void wio_arrive_abandon(void *user, uint32_t peer, struct wio_sink *sink);
/** The envelope of a receive's message has arrived. */
void wio_recv_matched(struct wio_request *r, struct wio_peer *p, size_t total, int32_t tag);
void wio_recv_complete(struct wio_request *r);
/** Answer the RTS of r->remote, or fetch its data. */
void wio_recv_ask(struct wio_request *r, bool lends, const struct wio_lent *lender);
/** A large operation is under way from now on (WAITIO_PROGRESS=thread moves it). */
void wio_req_bulky(struct wio_request *r);
void wio_recv_start(struct wio_request *r); /* buf, bytes, src, tag, space, group are set */
/** Into the tables, behind those that were posted before it. */
void wio_recv_table(struct wio_request *r, uint64_t order);
/** Make and start one that stands at its peer, universe rank @p rank, group rank @p src. NULL: this
 * one cannot, or no memory. */
struct wio_request *wio_recv_brief(struct wio_universe *u, uint64_t space, uint32_t rank,
                                   int32_t src, void *buf, size_t bytes, int32_t tag);
/** As posted, but in no table: its message is here. */
void wio_recv_untabled(struct wio_request *r);
void wio_recv_answer(struct wio_request *r, struct wio_peer *p, const struct wio_msg *msg);
void wio_recv_take(struct wio_universe *u, struct wio_request *r, struct wio_unexpected *m);
void wio_unexpected_free(struct wio_universe *u, struct wio_unexpected *m);
/** At finalize: tell the senders of unexpected messages, where they wait for an answer, that no
 * receive will take them. */
void wio_recv_refuse_held(struct wio_universe *u);
/** The same for a held message that is whole, if its sender has withdrawn it; @p m is freed then.
 */
void wio_recv_refuse_unwanted(struct wio_universe *u, struct wio_unexpected *m);
/** The peer has withdrawn the message with this id. One that a receive has matched is delivered. */
void wio_recv_withdraw(struct wio_universe *u, struct wio_peer *p, uint64_t remote);
/** The same for one unexpected message; @p m is freed. @return false: its sender wants no answer,
 * the message is still held */
bool wio_recv_refuse(struct wio_universe *u, struct wio_unexpected *m);
/** Has every member of the group but this process failed or left? */
bool wio_nobody_left(const struct wio_universe *u, const struct waitio_group *g);
/** The first member that has failed and is not acknowledged, or NULL; failed.c. */
struct wio_peer *wio_failed_member(struct wio_universe *u, struct waitio_group *g);
/** The error of a receive or probe that has ended with the failure of @p p. @return PEER */
int wio_unsafe_error(const struct wio_universe *u, const struct wio_peer *p);
/** Cancel every receive that has not matched. */
/** It will not be received: drop it when it is out of the tables, and notify a sender that waits.
 */
void wio_recv_discard(struct wio_universe *u, struct wio_unexpected *m);
void wio_recv_end_all(struct wio_universe *u); /* the same with an error, for waiting senders */
void wio_recv_cancel_all(struct wio_universe *u);
/** After a peer failure: fail the receives that only this peer could have matched. */
void wio_recv_peer_gone(struct wio_universe *u, struct wio_peer *p);

/* ---- receives in the list of their peer (expect.c) ---- */
/** May a receive of this tag from @p p (NULL: unknown yet) go into its list? If not it goes to the
 * tables.
 */
bool wio_expects(const struct wio_universe *u, const struct wio_peer *p, uint64_t space,
                 int32_t tag);
/** Append it to the list: space, buf, bytes, tag and leg are set. */
void wio_expect(struct wio_universe *u, struct wio_peer *p, struct wio_expected *e);
/** The first that fits a message. NULL: none. */
struct wio_expected *wio_expect_find(struct wio_universe *u, struct wio_peer *p, uint64_t space,
                                     int32_t tag);
/** A whole message has been copied into one that was found and taken off its list. */
void wio_expect_landed(struct wio_universe *u, struct wio_peer *p, struct wio_expected *e,
                       size_t bytes);
/** The request of one that was found, as if it had been posted and matched now. NULL: no memory */
struct wio_request *wio_expect_request(struct wio_universe *u, struct wio_expected *e);
/** Move all of a peer's, or of all peers', to the tables, in their order. */
void wio_expect_table(struct wio_universe *u, struct wio_peer *p);
void wio_expect_table_all(struct wio_universe *u);
/** One look at the link of @p p, without any of what a wait needs. @return does it stand there no
 * longer? */
bool wio_look_once(struct wio_universe *u, const struct wio_peer *p, const struct wio_expected *e);
/** Wait for one in the list of @p p, as long as only its link has to be polled. */
void wio_wait_brief(struct wio_universe *u, const struct wio_peer *p, const struct wio_expected *e);

/* ---- rounds of messages (exchange.c) ---- */
enum wio_leg_state {
    WIO_LEG_OVER,     /* also: not begun */
    WIO_LEG_EXPECTED, /* stands at its peer */
    WIO_LEG_REQUEST   /* an operation like any other, named by its handle */
};
void wio_leg_landed(struct wio_universe *u, struct wio_leg *leg, size_t bytes);
/** Its request, in no table yet; NULL: no memory, and the leg is over. */
struct wio_request *wio_leg_request(struct wio_universe *u, struct wio_leg *leg);

/* ---- operations, inside the lock (start.c, complete.c) ---- */
/** NULL: no memory, error set. */
struct wio_request *wio_op_send(struct wio_universe *u, struct waitio_group *g, uint32_t dst,
                                const void *buf, size_t bytes, int32_t tag, uint8_t kind);
struct wio_request *wio_op_recv(struct wio_universe *u, struct waitio_group *g, int64_t src,
                                void *buf, size_t bytes, int64_t tag, uint8_t kind);
void wio_op_name(const struct wio_request *r, struct wio_handle *h);
/** A started send needs no handle once its data was written or copied.
 *  @param[out] behind its peer, if that has to catch up (wio_pace) */
bool wio_op_gone(struct wio_request *r, struct wio_peer **behind);
/** Cancel a receive that has not matched. @return false: it will complete, as sends do */
bool wio_op_withdraw(struct wio_request *r);
int wio_op_wait(struct wio_universe *u, struct wio_handle *h, struct wio_result *res);

/* ---- credit (credit.c) ---- */
uint32_t wio_credit_cost(size_t bytes, bool rts);
uint32_t wio_credit_available(const struct wio_peer *p);
/** The first window of a link. An eighth of what is left, for few peers; of many each gets the same
 * part of half the budget, so that all may send at once. Where that is less than 256 KiB a process
 * meets few of them, and 256 KiB are given as long as they last.
 * @param left    units of the budget that nobody has
 * @param budget  units of the whole of it
 * @param peers   in the universe
 * @return units, 16 at least, even where less is left */
uint64_t wio_credit_first(uint64_t left, uint64_t budget, uint32_t peers);
void wio_credit_open(struct wio_universe *u, struct wio_peer *p); /* a link became ready: grant */
void wio_credit_close(struct wio_universe *u,
                      struct wio_peer *p); /* a link ended: take the window back */
void wio_credit_heard(struct wio_universe *u, struct wio_peer *p, uint32_t limit);
/** No credit is left for this peer: tell it, once until the next grant. */
void wio_credit_press(struct wio_universe *u, struct wio_peer *p);
/** A CREDIT message has come; @p what and @p known are its words a and b. */
void wio_credit_said(struct wio_universe *u, struct wio_peer *p, uint64_t what, uint64_t known);
/** Return the credit of a message: it was received or dropped. */
void wio_credit_consumed(struct wio_universe *u, struct wio_peer *p, uint32_t cost, uint32_t epoch);

/* ---- spaces that have ended (revoke.c) ---- */
/** NULL: it has not ended. */
const struct wio_revoked *wio_revoked_in(const struct wio_universe *u, uint64_t space);
static inline bool wio_is_revoked(const struct wio_universe *u, uint64_t space)
{
    return WIO_UNLIKELY(u->nrevoked > 0) && wio_revoked_in(u, space) != NULL;
}
/** wio_revoke inside the lock. */
void wio_revoke_locked(struct wio_universe *u, const struct waitio_group *g, int code);
/** A member of communicators has died: end their collectives, also while no collective call is
 * pending here. */
void wio_revoke_of(struct wio_universe *u, const struct wio_peer *dead);
/** A REVOKE has come. @return 0; PROTOCOL */
int wio_revoke_heard(struct wio_universe *u, const struct wio_peer *from,
                     const struct wio_msg *msg);
/** Set the error of an operation in a space that has ended. @return PEER */
int wio_revoked_error(const struct wio_universe *u, uint64_t space);

/* ---- event loops (watch.c) ---- */
/** Something completed or arrived: wake armed event loops. Lock held. */
void wio_watch_tell(struct wio_universe *u);

/* ---- going on after a kill (resume.c) ---- */
/** With WAITIO_FILE_RESUME=1: hold what the sender's journal has for this process. Before the
 * service thread runs. @return 0; CONFIG, AUTH, LIMIT, SYSTEM, NOMEM */
int wio_resume_start(struct wio_universe *u);
/** A send is to be started: write it to the journal.
 * @return 0: send it; 1: that was done in an earlier life; < 0: it fails */
int wio_resume_send(struct wio_request *r);
/** The program receives or probes. If it has not said where it goes on, that is its beginning.
 * @return 0; STATE */
int wio_resume_receives(struct wio_universe *u);
/** A receive has matched a message of a journal: @p m is freed. */
void wio_resume_take(struct wio_request *r, struct wio_unexpected *m);
/** The process has left. @param early  without finalizing, or without some peer */
void wio_resume_leave(struct wio_universe *u, bool early);
void wio_resume_free(struct wio_universe *u);

/* ---- joining (join.c) ---- */
/** How long joining may take in seconds: what the environment says, else @p timeout_s, else 1000.
 */
double wio_join_limit(const struct wio_config *cfg, double timeout_s);

/* ---- tasks (task.c) ---- */
/** A message of a task is done. */
void wio_task_landed(struct wio_request *r);
/** Run the first task that can continue. Leaves and takes the lock. @return false: there is none */
bool wio_task_serve(struct wio_universe *u);
/* ---- operations of other libraries (outside.c) ---- */
/** Poll them, unless another thread does. Leaves and takes the lock. @return how many are over */
int wio_outside_poll(struct wio_universe *u);
/** Service thread: end the program when a thread has been blocked for too long in a space that is
 * revoked. Leaves and takes the lock. @return when to look again; INT64_MAX: no need */
int64_t wio_outside_watch(struct wio_universe *u, int64_t now);
/** Is a thread blocked in another library? */
bool wio_outside_blocks(struct wio_universe *u);
/** Dial members of their groups that have no link: only a dial can tell whether they live. */
void wio_outside_stuck(struct wio_universe *u, int64_t now, int64_t dial_after);
/** The universe ends: give up those that are not over. */
void wio_outside_end(struct wio_universe *u);

/** Another thread leaves the universe: requests that the upper layer has not completed fail. */
void wio_user_end_all(struct wio_universe *u);

/* ---- progress (progress.c, wait.c, service.c, stuck.c) ---- */
static inline void wio_enter(struct wio_universe *u)
{
    wio_lock_take(&u->lock, &u->want);
    u->calls++;
}
/** Work to do before the lock is left. */
void wio_leave_duties(struct wio_universe *u);
static inline void wio_leave(struct wio_universe *u)
{
    bool bulk = u->service_sleeps && (u->service_full || u->bulk > 0);
    if (WIO_UNLIKELY(u->completed | u->touched | u->batched | bulk | !u->service_runs |
                     (u->inside > 0) | !wio_list_empty(&u->active)))
        wio_leave_duties(u);
    wio_lock_leave(&u->lock);
}
/** Something has completed, or arrived: wake sleeping threads. */
static inline void wio_note(struct wio_universe *u)
{
    u->completed |= (u->sleepers > 0) | u->poller_asleep | u->watched;
}
/** Tell sleepers that something completed. */
void wio_announce(struct wio_universe *u);
int wio_progress(struct wio_universe *u, enum wio_progress_how how);
void wio_flush(struct wio_universe *u);
/** Is there work to do while no application thread is inside? */
bool wio_needs_service(const struct wio_universe *u);
/** Free links whose CLOSED upcall has run. */
void wio_bury(struct wio_universe *u);
/** Before a locally completed send to @p p is forgotten: wait until the receiver has caught up, if
 * it is far behind, for at most 2 ms. @blocking */
void wio_pace(struct wio_universe *u, struct wio_peer *p);
typedef bool (*wio_done_fn)(void *arg);
/** Drive until done(arg). hint: request whose peer to look at first, may change over time (NULL fn
 * = none).
 *  @param deadline_ns INT64_MAX = none. @return 0, or TIMEOUT */
int wio_wait_until(struct wio_universe *u, wio_done_fn done, void *arg, struct wio_request *hint,
                   const char *what, int64_t deadline_ns);
int wio_service_thread_start(struct wio_universe *u);
void wio_service_thread_stop(struct wio_universe *u);
/** Every WIO_TICK_NS in a long wait: dial silent sources, fail hopeless any-source receives,
 * report. */
void wio_stuck_check(struct wio_universe *u, int64_t now);
/** A fruitless probe: dial the source (WIO_ANY: silent members in turn) when that has lasted
 * WAITIO_DIAL_AFTER. */
void wio_stuck_probe(struct wio_universe *u, const struct waitio_group *g, int64_t src,
                     int64_t now);
/** Dial some members that have no link, in turn. */
void wio_stuck_dial(struct wio_universe *u, const struct waitio_group *g);
/** Dial peers with pending operations but without a link: only a dial can tell whether they live.
 */
void wio_stuck_redial(struct wio_universe *u, int64_t now);
/** Memory, lock and lists of a universe that has not joined. @return NULL: out of memory */
struct wio_universe *wio_universe_new(void);
/** With the end of the universe its groups end: groups.c. Without the lock. */
void wio_groups_end(struct wio_universe *u);
/** Warn of a wait of the call @p what, for @p r or NULL, that began at @p since_ns; in silence when
 * nothing has changed since the last time. */
void wio_stuck_report(struct wio_universe *u, const char *what, struct wio_request *r,
                      int64_t since_ns);

#endif
