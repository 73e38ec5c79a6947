/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file transport.h
 * The contract between p2p (above) and the transports (below). A transport moves *messages* - a
 * 40-byte p2p header that it does not understand, and a payload - between this process and one
 * peer, in order, each exactly once. It knows nothing of requests, matching, groups or credits; p2p
 * knows nothing of sockets or rings.
 *
 * Objects: wio_transport (static descriptor) -> wio_iface (one per universe and transport:
 * listeners, event sets) -> wio_ep (one per peer: the link).
 *
 * Locking: every function below is called with the universe's engine lock held, unless it says
 * otherwise, and none of them sleeps. Upcalls run under the same lock, only from progress() and
 * progress_ep(), never from send(), connect(), flush() or close() - so that p2p is never
 * re-entered. An upcall may call send(), watch() and pend(), but not progress(), close() or
 * free_ep().
 *
 * Unsupported slots are named stubs (wio_tr_no_*), never NULL.
 */
#ifndef WIO_TRANSPORT_H
#define WIO_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "auth/auth.h"
#include "base/base.h"
#include "boot/boot.h"
#include "wire/wire.h"

/** Transport ids: bit positions in wio_tab_ep.caps and in WAITIO_COMM_TYPE masks. From
 * WIO_TR_OUTSIDE on: the places of outside libraries (outside/). */
enum wio_transport_id {
    WIO_TR_SELF,
    WIO_TR_TCP,
    WIO_TR_SHM,
    WIO_TR_FILE,
    WIO_TR_OUTSIDE,
    WIO_TR_COUNT = WIO_TR_OUTSIDE + 4
};

struct wio_iface;
struct wio_ep;
struct wio_tx;
struct waitio_gathering;

/** Capabilities and cost model. */
struct wio_tr_attr {
    uint32_t caps;    /* WIO_CAP_* */
    double latency_s; /* half round trip of a small message */
    double bandwidth; /* bytes per second */
    size_t chunk;     /* best payload per message */
    size_t eager_max; /* eager limit */
    /* bytes that both sides of a new link grant each other unheard, where connect() gives a ready
     * link to another process; the same in all processes */
    size_t first_grant;
};
#define WIO_CAP_SAME_HOST 1u /* reaches processes of this host only */
#define WIO_CAP_BATCH 4u     /* a system call per message: WIO_TX_BATCH pays */
#define WIO_CAP_MEMORY 8u    /* a poll costs nanoseconds, no system call */
#define WIO_CAP_EVENT_FD                                                                           \
    2u                   /* event_fd() and arm() work; else next_timer_ns() says when to look      \
                          */
#define WIO_CAP_PINS 16u /* the payload of a queued tx may not be moved */
/* only calls of the program move its messages: the service thread must not */
#define WIO_CAP_CALLS_ONLY 32u
#define WIO_CAP_PARTIAL 64u /* it may serve a part of the members */
#define WIO_CAP_MUTE 128u   /* its links do not tell of deaths */

/** Distance of a peer, after the hop classes of the K computer's MPI: limits and costs differ. */
enum wio_distance { WIO_AT_SELF, WIO_AT_HOST, WIO_AT_SUBNET, WIO_AT_FAR, WIO_DISTANCES };

/** A message to send, as the transport sees it. Owned by p2p; fixed address until done.
 */
struct wio_tx {
    struct wio_list node;       /* the transport's while queued */
    uint8_t msg[WIO_MSG_BYTES]; /* p2p header */
    const void *payload;
    uint32_t bytes; /* of payload, <= WIO_PAYLOAD_MAX */
    uint8_t flags;  /* WIO_TX_* */
    uint32_t sent;  /* private to the transport */
    /** Called exactly once from progress() iff send() returned WIO_TX_QUEUED: the bytes have left
     * the buffer's custody (err 0), or never will (err = WAITIO_ERR_PEER ...). The tx may be reused
     * inside. */
    void (*done)(struct wio_tx *tx, int err);
};
#define WIO_TX_SMALL                                                                               \
    1u /* goes ahead of queued bulk messages (never ahead of other SMALL ones, never into the      \
          middle of a message) */
#define WIO_TX_BATCH                                                                               \
    2u /* more will follow at once: may be kept back until flush(), progress*() or WIO_BATCH_BYTES \
        */
#define WIO_BATCH_BYTES (32u << 10)

#define WIO_TX_KEPT                                                                                \
    4u /* the payload stays where it is until its receiver has confirmed the message; else         \
          let_go() says so */

enum wio_tx_result {
    WIO_TX_DONE = 0,   /* header and payload are copied or written; done() is not called */
    WIO_TX_QUEUED = 1, /* tx stays with the transport; done() comes exactly once */
    /* < 0: WAITIO_ERR_*: refused (closed or failed link) */
};

enum wio_whole {
    WIO_WHOLE_LEFT,  /* nothing was done: on_message */
    WIO_WHOLE_TAKEN, /* over */
    WIO_WHOLE_STOP,  /* over; and as on_payload's 1 */
    WIO_WHOLE_LATER  /* nothing was done: it and all behind it stay unread in this round */
};

/** Destination of an arriving payload. Filled by on_message; the transport keeps it until
 * on_payload.
 */
struct wio_sink {
    void *buf;      /* room for len bytes; may be NULL when len is 0 */
    size_t len;     /* bytes beyond len, up to the payload's length, are read and thrown away */
    void *cookie;   /* p2p's */
    uint32_t bytes; /* p2p's: of the payload; several messages of one link may be under way */
    bool whole;     /* the transport's: the whole payload has arrived, on_payload follows at once */
};

enum wio_ep_state {
    WIO_EP_CONNECTING, /* dialling, or waiting for the peer's dial after a lost tie-break */
    WIO_EP_READY,
    WIO_EP_CLOSING, /* goodbye said or heard, draining */
    WIO_EP_CLOSED   /* no more upcalls; free_ep() may be called */
};

/** Where a message lies in its sender's memory. */
struct wio_lent {
    uint64_t at;
    uint64_t word; /* address of the message's word, see wio_lent_word(); 0: it may be read as long
                      as there is the link */
    uint64_t id;   /* of the message */
    uint32_t recalls; /* recalls() of the sender when it lent it */
};

/** A state of a transport's links, for its table of them. */
struct wio_state_row {
    const char *name;
    uint16_t next;    /* mask of legal successors */
    uint8_t ep;       /* enum wio_ep_state shown to p2p */
    const char *what; /* one line */
};

struct wio_upcalls {
    /**
     * A message header has arrived (payload bytes follow, maybe 0).
     * @param peer     universe rank (proven by the handshake)
     * @param[out] sink where the payload goes
     * @return 0; 1: not now: nothing was taken, progress() shall return as soon as it can and offer
     * the message again next time; < 0: protocol violation or out of memory: the transport closes
     * the link with it
     */
    int (*on_message)(void *user, struct wio_ep *ep, uint32_t peer,
                      const uint8_t msg[WIO_MSG_BYTES], uint32_t bytes, struct wio_sink *sink);
    /**
     * The payload is complete (called for every accepted message, also with 0 bytes).
     * @return 0 to go on, 1 to stop: progress() shall return as soon as it can, keeping unread
     * input for later
     */
    int (*on_payload)(void *user, struct wio_ep *ep, uint32_t peer, struct wio_sink *sink);
    /** The payload of an accepted message will never be complete (link broke): release the sink. */
    void (*on_abandon)(void *user, uint32_t peer, struct wio_sink *sink);
    /**
     * A link changed state. READY also for links the peer dialled (ep is then new to p2p: it asks
     * for context with set_context). CLOSED: err 0 with reason CAP or FINALIZE for an orderly
     * goodbye, WAITIO_ERR_* for a broken or refused link (text says what happened). All queued tx
     * were given back by done() before. After CLOSED p2p calls free_ep (not from inside the
     * upcall).
     */
    void (*on_state)(void *user, struct wio_ep *ep, uint32_t peer, enum wio_ep_state state, int err,
                     enum wio_bye_reason reason, const char *text);
    /** Connection cap: is this READY ep idle? (p2p: no unfinished eager message in either
     * direction, nothing pended.) Idle ones are closed first; a busy one may be closed, too, at the
     * boundary of a message, when it has had its turn and another peer waits. Must not call back
     * into the transport.
     */
    bool (*on_may_close)(void *user, struct wio_ep *ep, uint32_t peer);
    /**
     * Called instead of on_message and on_payload for a message that has arrived in one piece, if
     * p2p can take it directly: it copies the payload, whose bytes may change meanwhile. NULL: it
     * never can.
     */
    enum wio_whole (*on_whole)(void *user, struct wio_ep *ep, const uint8_t msg[WIO_MSG_BYTES],
                               const void *payload, uint32_t bytes);
    /** The transport's network goes away soon: deliver what was sent and say goodbye to all. Called
     * without the engine lock, and blocks. NULL: nothing to do. */
    void (*on_ending)(void *user);
};

struct wio_iface_params {
    const struct wio_config *cfg;
    const struct wio_secret *secret;
    struct wio_log *log;
    struct wio_counters
        *counters; /* tx_*, rx_*, links, link_opens, link_evictions, strangers, auth_failures ... */
    const struct wio_upcalls *up;
    void *user;
};

/** Common head of every interface; transports embed it first. */
struct wio_iface {
    const struct wio_transport *tr;
    struct wio_iface_params p;
    const struct wio_table *table; /* NULL until start() */
};
/** Common head of every endpoint; transports embed it first. */
struct wio_ep {
    struct wio_iface *iface;
    uint32_t peer;  /* universe rank */
    uint8_t state;  /* enum wio_ep_state, read-only for p2p */
    uint8_t lane;   /* 0: the link; else one beside it, see lane() */
    uint32_t taken; /* of a lane, CLOSED: how many of its messages the peer has taken for sure */
    void *context;  /* p2p's */
};

enum wio_progress_how {
    WIO_PROGRESS_FULL,   /* everything: called by application threads in calls (and the thread in
                            WAITIO_PROGRESS=thread) */
    WIO_PROGRESS_SERVICE /* by the service thread: accept, handshake, write what is queued or
                            batched, answer goodbyes and pings, notice deaths; read messages only
                            from watched links (and closing ones) */
};

struct wio_transport {
    uint32_t size; /* sizeof(struct wio_transport) */
    enum wio_transport_id id;
    const char *name; /* "tcp" */

    /** Pure: capabilities and costs under this configuration. Opens nothing. @return 0; UNSUPPORTED
     * when it cannot work on this system, with the reason in wio_last_error. */
    int (*query)(const struct wio_config *cfg, struct wio_tr_attr *attr);
    /** Pure: the result of query() for peers at this distance. @return false: not used at this
     * distance */
    bool (*adapt)(const struct wio_config *cfg, enum wio_distance d, struct wio_tr_attr *attr);
    /** Open listeners and event sets; on failure leave nothing behind. Before joining: no table
     * yet.
     *  @return 0; SYSTEM, LIMIT (fd limit: say the number and the need), CONFIG */
    int (*open)(const struct wio_iface_params *p, struct wio_iface **iface);
    /** Add what this interface publishes (addresses, port, token, caps bit) to the offer. */
    int (*address)(struct wio_iface *iface, struct wio_boot_offer *offer);
    /** Join through this transport instead of the rendezvous: give everybody's card to everybody.
     * @return as the slot of that name in waitio_transport.h; UNSUPPORTED: it cannot @blocking */
    int (*gather)(struct wio_iface *iface, struct waitio_gathering *g);
    /** The universe has formed: identities and addresses are known. Strangers' and early members'
     * connections that came before simply waited in the backlog. */
    int (*start)(struct wio_iface *iface, const struct wio_table *table);
    /** After start(): what of query()'s answer has become clearer. */
    void (*settle)(struct wio_iface *iface, struct wio_tr_attr *attr);
    /** Can this interface reach the peer? Pure. @param why reason text either way ("same
     * host, 10.0.0.2:4433 over eth0") */
    bool (*reachable)(struct wio_iface *iface, uint32_t peer, char *why, size_t nwhy);
    /** How far is it? Pure. */
    enum wio_distance (*distance)(struct wio_iface *iface, uint32_t peer);
    /**
     * The link to a peer, made if need be. Non-blocking, idempotent per peer: returns the existing
     * ep (also one the peer dialled) unless it is CLOSING or CLOSED, in which case a new one is
     * made whose dialling starts when the old one is closed. Simultaneous connects end in one link:
     * the lower universe rank's dial survives; both sides keep their ep. While CONNECTING, send()
     * queues. @return 0; NOROUTE, LIMIT, SYSTEM, NOMEM
     */
    int (*connect)(struct wio_iface *iface, uint32_t peer, struct wio_ep **ep);
    /**
     * A lane: a further connection beside a READY link, by another device where there is one, for
     * messages whose order does not matter. It is an endpoint of its own, which the peer may have
     * made, too. It is never made anew: when it breaks, CLOSED comes with an error that says
     * nothing about the link, and ep->taken. @param lane from 1, below WIO_LANES
     * @return 0; UNSUPPORTED: no so many are wanted; BUSY, LIMIT, NOMEM: not now. No error text
     */
    int (*lane)(struct wio_ep *ep, unsigned lane, struct wio_ep **beside);
    /**
     * Send one message after all earlier ones (see WIO_TX_SMALL). Tries to write at once (header
     * and payload in one system call). Never blocks, never a partial result to the caller, no
     * allocation for READY links on the fast path.
     * @return enum wio_tx_result; < 0, nothing taken: BUSY on a CLOSING link (connect() makes a new
     * one), on a CLOSED one BUSY or the error that closed it
     */
    int (*send)(struct wio_ep *ep, struct wio_tx *tx);
    /** send() without a tx: one short message (as WIO_TX_SMALL) at once, or not at all. @return
     * true: copied or written; false: refused, send() may do it */
    bool (*put)(struct wio_ep *ep, const struct wio_msg *msg, const void *payload, uint32_t bytes);
    /** Copy @p bytes from the peer's memory straight into buf, without its help
     * (process_vm_readv; RDMA later). READY links only; blocks for the time of the copy, so p2p
     * asks for pieces. No bytes: can it be done? @return 0; UNSUPPORTED: not on this link (any
     * more); SYSTEM: not there, or taken back; buf may hold a part then */
    int (*fetch)(struct wio_ep *ep, const struct wio_lent *from, void *buf, size_t bytes);
    /** How often a loan to this peer was taken back: the peer sees the number without asking, and a
     * message lent at the same number may still be read. @param more  1: now, once more; what the
     * program writes after that is not seen before it. The end of a link counts, too. */
    uint32_t (*recalls)(struct wio_ep *ep, uint32_t more);
    /** This process gives its processor to others (@p on), or has it again. Peers that share memory
     * see it without a message. */
    void (*step_aside)(struct wio_iface *iface, bool on);
    /** Has the peer given its processor away? Then nothing comes from it before it runs again.
     * @return false also where nobody can tell */
    bool (*is_aside)(const struct wio_ep *ep);
    /** With WIO_CAP_PINS: the sender of a queued tx wants to go on; the transport copies its
     * payload and calls done() in the next progress. @return false: not possible (any more) */
    bool (*keep)(struct wio_ep *ep, struct wio_tx *tx);
    /** The payloads of what was sent with this tx and WIO_TX_KEPT may change from now on: what the
     * transport may have to send again of them it copies. Cheap when that is nothing. @p ep: any of
     * this peer's, also where the message left on an earlier one. */
    void (*let_go)(struct wio_ep *ep, const struct wio_tx *tx);
    /** Bytes queued and not yet written on this link (so that p2p keeps at most a few chunks
     * queued). Only such whose done() is still to come: p2p waits for it when these are many. */
    size_t (*queued)(const struct wio_ep *ep);
    /** Write what WIO_TX_BATCH kept back, on all links. Cheap when there is nothing. */
    void (*flush)(struct wio_iface *iface);
    /** p2p has (on) or no longer has (off) unfinished, locally completed business on the link that
     * needs input from the peer (credit): the service thread shall read it too. Cheap, idempotent.
     */
    void (*watch)(struct wio_ep *ep, bool on);
    /**
     * Do what can be done without sleeping; the only place (with progress_ep) where upcalls run.
     * @return events handled (0 = nothing to do); < 0: the interface is broken
     */
    int (*progress)(struct wio_iface *iface, enum wio_progress_how how);
    /** progress() for the data of one link only, the fast path of a wait that knows its source:
     * tries to read at once. Includes flush() of this link. Not a substitute: call progress() now
     * and then. */
    int (*progress_ep)(struct wio_ep *ep);
    /** Descriptor that becomes readable when progress(how) has something to do; -1 = none. Fixed
     * after open. */
    int (*event_fd)(struct wio_iface *iface, enum wio_progress_how how);
    /**
     * About to sleep on event_fd(how). @return 0: safe to sleep; 1: there is work now (kept-back
     * input, batched output, ready links): call progress first. No lost wake-ups: anything that
     * happens after a 0 makes the fd readable. For how = SERVICE it also (re)arms interest in
     * queued output, handshakes and watched links, which stays disarmed while application threads
     * are inside the library; p2p calls it when the last application thread leaves with
     * needs_service() true, and when the service thread goes to sleep.
     */
    int (*arm)(struct wio_iface *iface, enum wio_progress_how how);
    /** Is there unfinished work that must go on while no application thread is inside (queued or
     * batched output, handshakes, watched or closing links, unanswered peers)? O(1). */
    bool (*needs_service)(struct wio_iface *iface);
    /** When progress(how) must run next for timers (handshake deadlines, liveness by TCP_INFO
     * of links with unacknowledged data, retries of dials), monotonic ns; INT64_MAX = never.
     * A thread that sleeps on event_fd(how) sleeps no longer than this; the next progress() of
     * either kind then runs what is due, but for looks of the other kind: those of a thread that
     * has been woken and waits for a processor must not keep the other one awake. */
    int64_t (*next_timer_ns)(struct wio_iface *iface, enum wio_progress_how how);
    /**
     * Start an orderly close: everything queued is sent first, then GOODBYE(reason), half-close,
     * read (and deliver) until the peer's GOODBYE and end of stream; then on_state(CLOSED).
     * Idempotent. ABORT and ERROR do not wait for the peer.
     */
    void (*close)(struct wio_ep *ep, enum wio_bye_reason reason);
    /** Ask the peer's library for a sign of life: sends a PING frame, answered by PONG from
     * whatever part of the peer's library runs (its service thread while it computes). At most one
     * unanswered PING per link; nothing while not READY/CLOSING. */
    void (*ping)(struct wio_ep *ep);
    /** When bytes last came from the peer on this link (monotonic ns; 0 = never). Finalize uses it
     * to distinguish slow from unresponsive peers. */
    int64_t (*heard_ns)(const struct wio_ep *ep);
    /** After on_state(CLOSED), or at the very end to drop whatever is left. */
    void (*free_ep)(struct wio_ep *ep);
    /** Close listeners and everything left, no upcalls. */
    void (*close_iface)(struct wio_iface *iface);
    /** In a forked child: close inherited descriptors, send nothing. No lock held. */
    void (*after_fork)(struct wio_iface *iface);
    /** Human-readable state of one link (ep != NULL) or of the interface. */
    void (*dump)(struct wio_iface *iface, struct wio_ep *ep, struct wio_strbuf *out);
};

/**
 * What the word of a lent message says as long as the message may be read. One word proves all: the
 * process is the lender (nobody else has its token), the message is for this reader, and the lender
 * has not taken it back. @param id of the message, unique in the lender
 */
uint64_t wio_lent_word(uint64_t lender_token, uint32_t reader, uint64_t id);

/** "same host" */
const char *wio_distance_name(enum wio_distance d);

/* Named stubs for slots that a transport does not support. */
bool wio_tr_host_only(const struct wio_config *cfg, enum wio_distance d, struct wio_tr_attr *attr);
enum wio_distance wio_tr_same_host(struct wio_iface *iface, uint32_t peer); /* WIO_AT_HOST */
int wio_tr_no_gather(struct wio_iface *iface, struct waitio_gathering *g);  /* UNSUPPORTED */
void wio_tr_no_settle(struct wio_iface *iface, struct wio_tr_attr *attr);
bool wio_tr_no_put(struct wio_ep *ep, const struct wio_msg *msg, const void *payload,
                   uint32_t bytes);                                           /* false */
bool wio_tr_no_keep(struct wio_ep *ep, struct wio_tx *tx);                    /* false */
int wio_tr_no_lane(struct wio_ep *ep, unsigned lane, struct wio_ep **beside); /* UNSUPPORTED */
void wio_tr_no_let_go(struct wio_ep *ep, const struct wio_tx *tx);
int wio_tr_no_fetch(struct wio_ep *ep, const struct wio_lent *from, void *buf,
                    size_t bytes);                            /* UNSUPPORTED */
uint32_t wio_tr_no_recalls(struct wio_ep *ep, uint32_t more); /* 0 */
void wio_tr_no_step_aside(struct wio_iface *iface, bool on);
bool wio_tr_no_is_aside(const struct wio_ep *ep); /* false */
void wio_tr_no_flush(struct wio_iface *iface);
void wio_tr_no_watch(struct wio_ep *ep, bool on);
int wio_tr_no_event_fd(struct wio_iface *iface, enum wio_progress_how how);  /* -1 */
int wio_tr_no_arm(struct wio_iface *iface, enum wio_progress_how how);       /* 0 */
bool wio_tr_no_needs_service(struct wio_iface *iface);                       /* false */
int64_t wio_tr_no_timer(struct wio_iface *iface, enum wio_progress_how how); /* INT64_MAX */
void wio_tr_no_ping(struct wio_ep *ep);
int64_t wio_tr_no_heard(const struct wio_ep *ep); /* now: always responsive (self) */
void wio_tr_no_after_fork(struct wio_iface *iface);

/** The built transports by id; NULL entry = not built (registry.c). */
const struct wio_transport *wio_transport_get(enum wio_transport_id id);
/** The same as WAITIO_WRAP wants it (wrap/): with its contract checked, and (whole process) socket
 * calls torn by a seed. */
const struct wio_transport *wio_transport_wrapped(enum wio_transport_id id,
                                                  const struct wio_config *cfg, struct wio_log *lg);
extern const struct wio_transport wio_transport_self;
extern const struct wio_transport wio_transport_tcp;
extern const struct wio_transport wio_transport_shm;
extern const struct wio_transport wio_transport_file;

#endif
