/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file waitio_transport.h
 * Transports that a library outside libwaitio brings. Version 1.
 *
 * A transport moves *messages* - a header of WAITIO_TRANSPORT_HEADER bytes that it does not
 * understand, and a payload - between this process and one peer, in order, each exactly once. It
 * knows nothing of requests, tags, groups or credits; libwaitio knows nothing of its network.
 *
 * Objects: struct waitio_transport (a table, static in the library) -> struct waitio_iface (one per
 * universe: what the library has opened) -> struct waitio_link (one per peer).
 *
 * How the library comes in: docs/design/plugins.md. In short, it exports waitio_plugin() and
 * carries a WAITIO_PLUGIN_NOTE; or a program calls waitio_transport_register() before
 * waitio_init().
 *
 * Frozen: what is here keeps its meaning and its place. Later versions add members at the ends of
 * structs, whose `size` tells which of them a library knows, and raise
 * WAITIO_TRANSPORT_VERSION only for what an old library or an old libwaitio could not ignore.
 *
 * @thread Every function of the table is called by one thread at a time, with libwaitio's engine
 * lock held, and none of them sleeps; exceptions say so. The thread may be one of libwaitio's own:
 * own_thread() tells. Upcalls run inside progress() and progress_link() only, never inside send(),
 * connect(), flush() or close(). An upcall may call send(), put() and watch(), but not progress(),
 * close() or free_link().
 */
#ifndef WAITIO_TRANSPORT_H
#define WAITIO_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

#include <waitio_errors.h>

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/** Version of this interface. A library of another version is refused by name. */
#define WAITIO_TRANSPORT_VERSION 1
#define WAITIO_TRANSPORT_HEADER 40u          /**< bytes of a message's header */
#define WAITIO_TRANSPORT_PAYLOAD (16u << 20) /**< largest payload of one message */

struct waitio_iface;

/**
 * Its place in the address table, where each process says which transports it allows: two bits of
 * the same place are taken for the same transport. OTHER is for transports of your own.
 */
enum waitio_transport_place {
    WAITIO_PLACE_MPI = 0,
    WAITIO_PLACE_OFI = 1,
    WAITIO_PLACE_UCX = 2,
    WAITIO_PLACE_OTHER = 3,
    WAITIO_PLACES = 4
};

/** What a transport is like; flags of waitio_costs.flags. */
enum waitio_transport_flags {
    WAITIO_TRANSPORT_SAME_HOST = 1, /**< reaches processes of this host only */
    WAITIO_TRANSPORT_EVENT_FD = 2,  /**< event_fd() and arm() work; else it is polled */
    WAITIO_TRANSPORT_BATCH = 4,     /**< WAITIO_TX_BATCH pays: a message costs a system call */
    WAITIO_TRANSPORT_POLLS = 8,     /**< a look for messages costs less than 0.2 us */
    /** Only calls of the program move its messages: the service thread must not call the library
     * below. Then no send completes locally before the transport has taken it. */
    WAITIO_TRANSPORT_CALLS_ONLY = 16,
    /** It can serve a part of the members: gather() reads waitio_gathering.flags, and start() takes
     * members without a number. */
    WAITIO_TRANSPORT_PARTIAL = 32,
    /** It does not notice that a peer has died: where another transport reaches the peer, too,
     * libwaitio opens a link of that one beside it, when a wait lasts. */
    WAITIO_TRANSPORT_MUTE = 64
};

/** Capabilities and costs. */
struct waitio_costs {
    uint32_t flags;     /**< WAITIO_TRANSPORT_* */
    uint32_t reserved;  /**< 0 */
    double latency_s;   /**< half round trip of a small message; the cheapest transport is taken */
    double bandwidth;   /**< bytes per second */
    uint64_t piece;     /**< best payload per message; 0: WAITIO_CHUNK */
    uint64_t eager_max; /**< messages up to this size are sent without asking */
    /** Bytes that a process may send to a peer before it has heard of it: what send() takes on a
     * link that is ready at once. Read when the first link opens; the same in all processes. 0:
     * nothing. */
    uint64_t first_grant;
};

/** How far a peer is. */
enum waitio_distance {
    WAITIO_AT_SELF = 0,
    WAITIO_AT_HOST = 1,
    WAITIO_AT_SUBNET = 2,
    WAITIO_AT_FAR = 3
};

enum waitio_link_state {
    WAITIO_LINK_CONNECTING = 0, /**< send() queues */
    WAITIO_LINK_READY = 1,
    WAITIO_LINK_CLOSING = 2, /**< goodbye said or heard, draining */
    WAITIO_LINK_CLOSED = 3   /**< no more upcalls; free_link() may be called */
};

/** Why a link ends. */
enum waitio_bye {
    WAITIO_BYE_NONE = 0,
    WAITIO_BYE_CAP = 1,      /**< to save connections: opened again on demand */
    WAITIO_BYE_FINALIZE = 2, /**< the process leaves the universe */
    WAITIO_BYE_ABORT = 3,    /**< waitio_abort */
    WAITIO_BYE_ERROR = 4,    /**< the peer broke the protocol */
    WAITIO_BYE_NOMEM = 5     /**< no memory for a message of the peer */
};

/** Common head of every link; the transport's own struct begins with it. */
struct waitio_link {
    struct waitio_iface *iface;
    uint32_t peer;  /**< universe rank */
    uint32_t state; /**< enum waitio_link_state; libwaitio reads it */
    void *core;     /**< libwaitio's; NULL when the transport makes the link */
};

/** Where the payload of an arriving message goes: filled by message(), kept until payload(). */
struct waitio_sink {
    void *buf;           /**< room for len bytes; may be NULL when len is 0 */
    size_t len;          /**< bytes beyond len, up to the payload's length, are thrown away */
    void *core;          /**< libwaitio's */
    uint32_t core_bytes; /**< libwaitio's */
    uint8_t whole; /**< the transport's: the whole payload is here, payload() follows at once */
    uint8_t pad[3];
};

/** Flags of send(). */
enum waitio_tx_flags {
    WAITIO_TX_SMALL = 1, /**< goes ahead of queued messages without this flag */
    WAITIO_TX_BATCH = 2  /**< more will follow: may be kept back until flush() or progress() */
};
/** Results of send(); negative: refused, WAITIO_ERR_*. */
enum waitio_tx_result {
    WAITIO_TX_DONE = 0,  /**< header and payload are copied or written; sent() is not called */
    WAITIO_TX_QUEUED = 1 /**< both stay where they are until sent(), which comes exactly once */
};
/** Results of whole(). */
enum waitio_whole_result {
    WAITIO_WHOLE_LEFT = 0,  /**< nothing was done: message() */
    WAITIO_WHOLE_TAKEN = 1, /**< over */
    WAITIO_WHOLE_STOP = 2,  /**< over, and progress() shall return as soon as it can */
    WAITIO_WHOLE_LATER = 3  /**< nothing was done: it and all behind it stay for the next round */
};

/** What the transport tells libwaitio; @p user is waitio_open_params.user. */
struct waitio_upcalls {
    uint32_t size; /**< sizeof(struct waitio_upcalls) */
    uint32_t reserved;
    /**
     * A message has arrived whose payload (bytes, maybe 0) follows.
     * @return 0; 1: not now, nothing was taken: progress() returns as soon as it can and offers it
     * again; < 0: the transport closes the link with this error
     */
    int (*message)(void *user, struct waitio_link *link, const void *header, uint32_t bytes,
                   struct waitio_sink *sink);
    /** The payload is complete (for every message taken, also with 0 bytes). @return 1: progress()
     * shall return as soon as it can; else 0 */
    int (*payload)(void *user, struct waitio_link *link, struct waitio_sink *sink);
    /** The payload of a message taken will never be complete. */
    void (*abandon)(void *user, struct waitio_link *link, struct waitio_sink *sink);
    /** Instead of message() and payload() for one that lies here in one piece. @return enum
     * waitio_whole_result */
    int (*whole)(void *user, struct waitio_link *link, const void *header, const void *payload,
                 uint32_t bytes);
    /** A message that send() queued has left the buffers (err 0), or never will. */
    void (*sent)(void *user, void *token, int err);
    /**
     * The link's state (link->state, set before) has changed. READY also for links that the peer
     * opened, and for those that were ready when connect() returned. CLOSED: err 0 and the reason
     * for an orderly end, else WAITIO_ERR_*; all queued messages were given back by sent() before.
     * @param text  what happened, to follow the peer's name; NULL: the reason says it all
     */
    void (*state)(void *user, struct waitio_link *link, int err, int reason, const char *text);
    /** The network goes away soon, called by the program through another library (MPI_Finalize),
     * which waits meanwhile: deliver what was sent and say goodbye to all. Without the engine lock;
     * blocks, and calls the table's functions. */
    void (*ending)(void *user);
};

struct waitio_open_params;

/** libwaitio's services, so that the library links nothing of it. All may be called at any time. */
struct waitio_host {
    uint32_t size;    /**< sizeof(struct waitio_host) */
    uint32_t version; /**< WAITIO_TRANSPORT_VERSION of libwaitio */
    /** Set the text of this thread's last error. @return code */
    int (*fail)(int code, const char *format, ...);
    /** This thread's last error text. */
    const char *(*last_error)(void);
    /** Write a line into the log. @param level  0 error, 1 warn, 2 info, 3 debug */
    void (*log)(const struct waitio_open_params *open, int level, const char *format, ...);
    int64_t (*now_ns)(void); /**< monotonic */
    void (*sleep_ns)(int64_t ns);
    /** Is the calling thread one that libwaitio started? @return 1 or 0 */
    int (*own_thread)(void);
    void *(*alloc)(size_t bytes); /**< zeroed; NULL: no memory */
    void (*free)(void *p);
    /** A WAITIO_* variable of the table of variables, as text. @return 0, or WAITIO_ERR_ARG */
    int (*setting)(const struct waitio_open_params *open, const char *name, char *buf, size_t n);
    /** The value of any environment variable, or NULL. */
    const char *(*environment)(const char *name);
};

/** What open() gets; valid as long as the interface. */
struct waitio_open_params {
    uint32_t size;
    uint32_t reserved;
    const struct waitio_host *host;
    const struct waitio_upcalls *up;
    void *user;
    void *core; /**< libwaitio's */
};

/** The universe, for start(). */
struct waitio_members {
    uint32_t size; /**< sizeof(struct waitio_members) */
    uint32_t me;   /**< universe rank of this process */
    uint32_t count;
    uint32_t reserved;
    /** For a transport that gathers: its own number (of gather()) of each universe rank; NULL: it
     * has not gathered. Valid as long as the interface. With WAITIO_TRANSPORT_PARTIAL:
     * WAITIO_NO_NUMBER for members that others reach. */
    const uint32_t *number;
};
#define WAITIO_NO_NUMBER UINT32_MAX

/** How the processes that gather make up the universe; flags of waitio_gathering.flags. */
enum waitio_gather_flags {
    /** They are a part of it at most: it forms at the rendezvous, after gather(). */
    WAITIO_GATHER_PART = 1,
    /** Do not begin the network: where the program has not (MPI_Init), UNSUPPORTED. */
    WAITIO_GATHER_BEGUN = 2
};

/** Joining through the transport itself, see gather(). */
struct waitio_gathering {
    uint32_t size; /**< sizeof(struct waitio_gathering) */
    uint32_t card_bytes;
    double timeout_s;
    void *mine; /**< card_bytes that libwaitio wants everybody to have */
    /** Called once, before `mine` is read: which of the programs that were started together this
     * process belongs to, from 0; -1: not known. The number is written into `mine`. */
    void (*context)(struct waitio_gathering *g, int number);
    void *all;      /**< out: count * card_bytes, allocated by host->alloc, libwaitio frees it */
    uint32_t count; /**< out: processes */
    uint32_t me;    /**< out: number of this process, below count */
    /** WAITIO_GATHER_*. Where `size` says that it is missing, and for transports without
     * WAITIO_TRANSPORT_PARTIAL, as 0. */
    uint32_t flags;
    uint32_t reserved;
};

/**
 * The operations. All slots are to be filled but those that say "may be NULL".
 * Errors are WAITIO_ERR_*, negative, with a text set by host->fail().
 */
struct waitio_transport {
    uint32_t size;     /**< sizeof(struct waitio_transport) */
    uint32_t version;  /**< WAITIO_TRANSPORT_VERSION */
    const char *name;  /**< "mpi"; at most 15 letters */
    uint32_t place;    /**< enum waitio_transport_place */
    uint32_t reserved; /**< 0 */
    const char *about; /**< one line: of whom, for which network, which version */

    /** Capabilities and costs. Opens nothing. @return 0; UNSUPPORTED: it cannot work here, with
     * the reason */
    int (*query)(const struct waitio_host *host, struct waitio_costs *costs);
    /** Costs for peers at this distance, from those of query(). @return 0: not used at this
     * distance; else 1 */
    int (*adapt)(int distance, struct waitio_costs *costs);
    /** Before joining. On failure it leaves nothing behind. */
    int (*open)(const struct waitio_open_params *p, struct waitio_iface **iface);
    /**
     * Join through the transport: give everybody's card to everybody. May be NULL: the universe
     * forms at the rendezvous. With WAITIO_GATHER_PART it does so all the same, and the cards tell
     * who of it can be reached. @blocking up to g->timeout_s, then TIMEOUT; libwaitio ends the
     * process when it does not return at all.
     */
    int (*gather)(struct waitio_iface *iface, struct waitio_gathering *g);
    /** The universe has formed. Without gather() before it, all its members are in this process
     * (tests). */
    int (*start)(struct waitio_iface *iface, const struct waitio_members *m);
    /** Costs as they are after start(). */
    void (*costs)(struct waitio_iface *iface, struct waitio_costs *costs);
    /** Can the peer be reached? Pure, may change with time. @param why  the reason, either way */
    int (*reachable)(struct waitio_iface *iface, uint32_t peer, char *why, size_t nwhy);
    int (*distance)(struct waitio_iface *iface, uint32_t peer); /**< enum waitio_distance */
    /**
     * The link to a peer, made if need be: the one there is, unless it is CLOSING or CLOSED; then
     * a new one that begins when the old one has ended. Connects of both sides at the same time
     * end in one link. @return 0; NOROUTE, LIMIT, SYSTEM, NOMEM
     */
    int (*connect)(struct waitio_iface *iface, uint32_t peer, struct waitio_link **link);
    /**
     * Send one message after all earlier ones (but see WAITIO_TX_SMALL). Never blocks.
     * @param token  for sent(). @return enum waitio_tx_result; BUSY on a CLOSING link
     */
    int (*send)(struct waitio_link *link, const void *header, const void *payload, uint32_t bytes,
                unsigned flags, void *token);
    /** A short message at once (as WAITIO_TX_SMALL), or not at all. @return 1: taken, 0: not. May
     * be NULL. */
    int (*put)(struct waitio_link *link, const void *header, const void *payload, uint32_t bytes);
    /** The sender of a queued message wants to go on: copy its payload, so that sent() comes in the
     * next progress(), with err 0. @return 1; 0: the network has it already, or there is no
     * memory: sent() comes when it comes. May be NULL: 0. */
    int (*keep)(struct waitio_link *link, void *token);
    /** Bytes of queued messages on this link, so that libwaitio keeps few queued. */
    size_t (*queued)(const struct waitio_link *link);
    /** Write what was kept back. May be NULL. */
    void (*flush)(struct waitio_iface *iface);
    /** Something waits for input from this link although no call of the program does (on). May be
     * NULL. */
    void (*watch)(struct waitio_link *link, int on);
    /** Do what can be done without sleeping. @param service  1: by the service thread, which
     * reads from watched and closing links only. @return events, 0: nothing to do; < 0: broken */
    int (*progress)(struct waitio_iface *iface, int service);
    /** The same, for a wait that expects its message from this link. */
    int (*progress_link)(struct waitio_link *link);
    /** Becomes readable when progress(service) has something to do; fixed after open(); -1: none.
     * May be NULL: none. */
    int (*event_fd)(struct waitio_iface *iface, int service);
    /** About to sleep. @return 0: what happens from now on makes event_fd readable (or is found
     * at next_look_ns()); 1: there is work now. May be NULL: 0. */
    int (*arm)(struct waitio_iface *iface, int service);
    /** Is there unfinished work that must go on while the program computes? May be NULL: no. */
    int (*needs_service)(struct waitio_iface *iface);
    /** When progress() must run again at the latest, on the clock of now_ns(); INT64_MAX: never.
     * A transport without event_fd says here how long a wait may sleep. */
    int64_t (*next_look_ns)(struct waitio_iface *iface);
    /** Orderly end: all that is queued, then the goodbye; state CLOSED when the peer has said
     * goodbye, too. ABORT, ERROR and NOMEM do not wait for it, also where an orderly end is under
     * way. Otherwise idempotent. */
    void (*close)(struct waitio_link *link, int reason);
    void (*ping)(struct waitio_link *link); /**< Ask for a sign of life. May be NULL. */
    /** When something last came from the peer (now_ns); 0: never. */
    int64_t (*heard_ns)(const struct waitio_link *link);
    void (*free_link)(struct waitio_link *link);     /**< after CLOSED, or at the very end */
    void (*close_iface)(struct waitio_iface *iface); /**< Frees all that is left, no upcalls. */
    /** In the child of a fork: let go, send nothing. No lock is held. May be NULL. */
    void (*after_fork)(struct waitio_iface *iface);
    /** One line on a link, or (NULL) on the interface. @return bytes, as snprintf */
    int (*dump)(struct waitio_iface *iface, const struct waitio_link *link, char *buf, size_t n);
};

/**
 * Register a transport, before waitio_init(). The table stays where it is.
 * @return 0; VERSION: built for another version of this interface; ARG: a slot, the name or the
 * place is missing; STATE: the name or the place is taken, or this process has joined already
 */
int waitio_transport_register(const struct waitio_transport *t);

/**
 * What a library that libwaitio loads itself exports. Called once.
 * @return its table; NULL: it cannot work here, with the reason set by host->fail()
 */
const struct waitio_transport *waitio_plugin(const struct waitio_host *host);

/**
 * What libwaitio reads in the file of a library before it loads it; once per library. Semicolons
 * end the parts.
 *   transport=NAME;   required
 *   for=TEXT;         which network, for messages
 *   library=SONAME;   prefer this one when the process has that library loaded
 *   when=VAR,VAR;     ... or when one of these environment variables is set
 *   rivals=SONAME,SONAME;  refuse when the process has one of these, but not `library`
 */
#define WAITIO_PLUGIN_NOTE(parts)                                                                  \
    __attribute__((used)) const char waitio_plugin_note[] =                                        \
        "WAITIO-PLUGIN version=" WAITIO_TRANSPORT_TEXT_(WAITIO_TRANSPORT_VERSION) ";" parts
#define WAITIO_TRANSPORT_TEXT_(x) WAITIO_TRANSPORT_TEXT2_(x)
#define WAITIO_TRANSPORT_TEXT2_(x) #x

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif
