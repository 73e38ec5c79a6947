/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file tcp.h
 * Private to src/transport/tcp. Everything here runs under the universe's engine lock; nothing
 * sleeps. See docs/design/connection.md (a test compares its table with ours).
 *
 * Objects: tcp_iface (one per universe) -> tcp_link (one per peer; is the wio_ep) and tcp_conn (a
 * socket in its handshake, either direction; gone once the socket belongs to a link).
 *
 * Upcalls run only inside progress(): READY, messages and payloads directly, everything else by
 * wio_tcp_dispatch() at its end ("news", finished sends).
 */
#ifndef WIO_TCP_H
#define WIO_TCP_H

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>

#include "auth/tls.h"
#include "boot/detour.h"
#include "os/os.h"
#include "transport/transport.h"

#define TCP_STRANGERS_MAX 64           /* unauthenticated inbound connections at once */
#define TCP_HANDSHAKE_NS 10000000000LL /* how long one of them may take */
#define TCP_STAGE_BYTES (64u << 10)    /* staging buffer, one per interface */
#define TCP_FIRST_READ (18u << 10)     /* read this much when a header is expected */
#define TCP_BULK_FIRST 1024u           /* ... and this much when the last payload was bulk */
#define TCP_DIRECT_MIN 2048u           /* payload rest from which it is read into the sink */
#define TCP_INLINE 512u                /* payloads up to here are copied behind the header */
#define TCP_SHIFT_MIN 131072u    /* payloads from which a better alignment is worth an ACK frame */
#define TCP_GATHER 16            /* queued messages per system call */
#define TCP_BATCHES_MAX 64       /* batch buffers in use at once; beyond: write at once */
#define TCP_ACK_FRAMES 64u       /* acknowledge at the latest after so many frames ... */
#define TCP_ACK_BYTES (1u << 20) /* ... or bytes without anything going back, or ... */
#define TCP_ACK_PART 4u          /* ... this part of the copies that the sender may hold */
#define TCP_COPIED (128u << 10)  /* ... which are of messages up to here */
/* Copies that a link holds at most; beyond, messages wait for an acknowledgement. No more than are
 * on their way: copies that a cache does not hold cost half of the throughput of short messages. */
#define TCP_KEPT_HERE (256u << 10) /* within a host */
#define TCP_KEPT_NEAR (1u << 20)   /* within a subnet */
#define TCP_KEPT_FAR (16u << 20)
#define TCP_KEPT_MESSAGES 32u /* so many messages at least, if they are not longer than ... */
#define TCP_KEPT_LONG (64u << 10)
#define TCP_RX_ROUND (1u << 20) /* bytes read from one link before the next has its turn */
#define TCP_LISTENERS (WIO_HOST_ADDRS + 2)

/** States of a link. Table with legal successors: link.c, docs/design/connection.md. */
enum tcp_state {
    TCP_NEW,     /* made, nothing on the wire */
    TCP_WAIT,    /* before (another) dial: older link closing, no place or descriptor free, pause
                    after a refusal */
    TCP_DIAL,    /* our connect() or handshake is under way */
    TCP_CONFIRM, /* the peer's dial is authenticated; its first frame makes the link READY */
    TCP_READY,   /* open both ways */
    TCP_DRAIN,   /* close() called: queued output goes first, then our GOODBYE */
    TCP_HALF,    /* our GOODBYE is out and our side shut; reading until the peer's */
    TCP_ANSWER,  /* the peer's GOODBYE has arrived: queued output goes first, then our GOODBYE */
    TCP_LAST,    /* both goodbyes said: waiting for the end of the stream */
    TCP_CLOSED,  /* over */
    TCP_STATES
};

extern const struct wio_state_row wio_tcp_states[TCP_STATES];

/** What an epoll entry points at. */
enum tcp_what { TCP_IS_LISTENER, TCP_IS_CONN, TCP_IS_LINK, TCP_IS_LINES };
struct tcp_src {
    uint8_t what; /* enum tcp_what */
};

/** An IPv4 or IPv6 socket address, small. */
union tcp_addr {
    struct sockaddr sa;
    struct sockaddr_in in4;
    struct sockaddr_in6 in6;
};

/** How to reach a peer: an address of its own, or a relay. */
struct tcp_way {
    union tcp_addr addr;
    uint8_t via; /* 0, or the number of the relay in WAITIO_RELAY, from 1 */
};
#define TCP_WAYS (WIO_HOST_ADDRS + WIO_RELAYS_MAX)

/** A device that WAITIO_NETDEV names. */
struct tcp_device {
    char name[16];
    uint8_t naddr;
    struct wio_tab_addr addr[WIO_HOST_ADDRS];
};

struct tcp_listener {
    struct tcp_src src;
    int fd;
};

/** A message that was written and not acknowledged, or a batch buffer full of them: it may have to
 * be sent again (kept.c). */
struct tcp_kept {
    struct tcp_kept *next;
    struct tcp_block *block;    /* where it lies, its header behind it; NULL: it is a batch's */
    const struct wio_tx *owner; /* whose buffer the payload lies in; NULL: a copy */
    uint8_t *payload;           /* of a batch: all its frames */
    uint32_t seq, last, bytes;  /* numbers of the first and the last message; of the payload */
    bool heap;                  /* the payload has a block of its own */
};
static_assert(sizeof(struct tcp_kept) % 16 == 0, "headers behind it are aligned");

/** Bytes to be written before anything else that has not begun (batched messages, control frames).
 */
struct tcp_batch {
    uint32_t off, len;
    uint32_t msgs;          /* MESSAGE frames inside */
    uint32_t last;          /* number of the last one */
    struct tcp_batch *next; /* of the spare ones */
    struct tcp_kept kept;   /* while it is kept */
    _Alignas(16) uint8_t data[WIO_BATCH_BYTES];
};

struct tcp_block {
    struct tcp_block *next;
    size_t room, used;
    uint32_t live; /* messages in it */
    _Alignas(16) uint8_t data[];
};

/** What a link keeps to send again. Messages come at the end and go at the beginning. */
struct tcp_keep {
    struct tcp_kept *first, *last;
    struct tcp_block *head, *tail;
    struct tcp_kept *again; /* the next to be sent again; NULL: none */
    uint32_t again_off;     /* bytes of it that are out */
    uint32_t bytes, max;    /* of copies, and how many there should be */
    uint32_t room;          /* when it holds so many, new messages wait */
    bool on;                /* both sides resume */
    bool full;
};

/* What the number in a handshake says besides, see mend.c. */
#define TCP_MENDS 0x80000000u /* this link is broken: the acceptor speaks first, too */
#define TCP_YOURS 0x40000000u /* the acceptor has numbered it */
#define TCP_HEARD 0x20000000u /* the acceptor has spoken on it, so it must know it */
#define TCP_LANE_AT 26 /* three bits: for which connection beside the link it is; 0: the link */
#define TCP_NUMBER 0x03ffffffu /* of the link; lanes are not made anew and have none */
/* A lane, and the link beside it, holds no more unsent bytes than this in the kernel: what waits in
 * a slow one could have gone by another. */
#define TCP_LANE_UNSENT (256 << 10)

/** A socket in its handshake. */
struct tcp_conn {
    struct tcp_src src;
    bool connecting; /* TCP connect() still under way */
    bool spoke;      /* at least one byte came */
    bool dropped;    /* the other side hung up inside the handshake */
    bool placed;     /* let in: holds a place for the link that it becomes (cap.c) */
    int oserr;       /* of connect() */
    uint8_t via;     /* see tcp_way */
    int fd;          /* -1 once given away or closed */
    struct tcp_iface *iface;
    struct tcp_link *link; /* dial: whose; accept: NULL */
    struct wio_list node;  /* iface->inbound, iface->dials or iface->ended */
    int64_t deadline, began;
    int64_t look_at;      /* dial: is its host there? Looked at then */
    int64_t silent_since; /* as of a link */
    union tcp_addr addr;
    struct wio_detour *detour; /* dial through a relay: until that has connected us */
    struct wio_auth auth;
};

/** State of a link that is only needed while it is being made. */
struct tcp_dial {
    struct tcp_conn *conn;
    int64_t began;
    uint32_t addr;  /* next address of the peer's list */
    uint32_t drops; /* times the peer hung up inside a handshake */
    bool dropped;   /* ... in this round over the addresses */
    bool silent;    /* an address accepted in this round and said nothing */
    bool patient;   /* every address was tried: wait at the silent one without limit */
    bool paused;    /* waits for a place: began is the time spent already */
    uint32_t silent_addr;
    uint32_t silences;       /* dials of a broken link that were connected and not answered */
    uint32_t busy;           /* times it said: busy, later */
    uint32_t refused;        /* addresses that refused the connection in this round */
    bool home_refused;       /* ... one of them is that of the broken connection */
    uint32_t relays_gone;    /* relays that said in this round: it has left or died */
    uint32_t relays_without; /* ... it is not registered here */
    bool gone;               /* the peer does not know the broken link */
    int err;                 /* most telling error so far */
    struct wio_strbuf tried; /* "10.0.0.2:4433 connection refused; ..." */
};

struct tcp_link {
    struct wio_ep ep;
    struct tcp_src src;
    uint8_t state;      /* enum tcp_state */
    uint8_t told;       /* last wio_ep_state reported by on_state */
    uint8_t bye_reason; /* of close() or of the peer's GOODBYE */
    bool known;         /* p2p holds the ep */
    bool placed;        /* counts in iface->nopen */
    bool ready;         /* in iface->ready: unread input is likely */
    bool hup;           /* end of stream or error announced: read until it is found */
    bool eof;           /* end of stream found */
    bool can_write;
    bool pending; /* in iface->out or iface->blocked */
    bool watched;
    bool bye_wanted; /* GOODBYE goes out when everything else has */
    bool bye_queued; /* GOODBYE is in the batch buffer */
    bool bye_heard;
    bool ack_due, ping_due, pong_due;
    bool ping_out;     /* PING not answered yet */
    bool bulk;         /* last payload was bulk: a short first read pays */
    bool body;         /* inside a message (sink is valid) */
    bool rx_crc;       /* current message carries a checksum */
    bool write_failed; /* never write again; the read path finds the reason */
    uint8_t mend;      /* it is broken and was in this state (mend.c); 0 = it is not */
    bool heard;        /* the peer has said something */
    bool theirs;       /* the peer has numbered it */
    bool half;         /* it broke inside a message, whose sink is valid */
    bool closing_seen; /* the peer's kernel had all of ours in the last look */
    bool shut;         /* nothing is written any more, for the goodbye is out */
    bool rewound;      /* headers that are queued have old acknowledgements */
    bool owes_word;    /* the dialer waits for our first frame */
    bool word_due;     /* ours as the dialer waits for the keys of WAITIO_TLS */
    uint8_t hdr_have;  /* bytes of a torn header */
    uint8_t via;       /* of the socket: see tcp_way */
    uint8_t dev;       /* lane: its device, from 1; 0: not chosen here */
    uint8_t looks;     /* lane: so often it is looked at with its link; data winds it up */
    uint8_t was_via;   /* of the connection that broke */
    uint8_t svc;       /* extra interest in the service set: TCP_SVC_* */
    int fd;
    struct wio_tls *tls;   /* WAITIO_TLS=1: of fd */
    int err;               /* CLOSED: result for p2p */
    int oserr;             /* of a failed write */
    uint8_t warmth;        /* reads since the service set was last asked for */
    uint32_t hot_seq;      /* rx_seq when last found hot */
    uint32_t mine, number; /* what we would call it, and what both call it; 0: never resumed */
    uint32_t renamed;      /* CONFIRM of a broken link: what the peer's dial calls it, which counts
                            * from its first frame on; 0: the same */
    uint32_t tries;        /* rounds of dials since it broke */
    uint32_t mark;         /* what had been heard when it broke last */
    uint32_t others;       /* dials for another link while it was broken */
    uint32_t half_bytes;   /* payload of the message it broke in */
    uint32_t owed_seq;     /* rx_seq when acknowledgements were last looked at */
    uint32_t rx_seq, rx_unacked, rx_unacked_bytes, rx_copied;
    uint32_t rx_left, rx_pos, rx_crc_want, rx_crc_have;
    uint32_t keep_len;         /* input kept back: keep_len bytes at keep */
    uint8_t *keep, *keep_heap; /* keep_heap: our own copy, else keep lies in iface->stage */
    struct wio_sink sink;
    uint8_t hdr[WIO_HDR_BYTES];
    uint32_t tx_seq, tx_acked;
    struct wio_tx *cur; /* begun, rest waits */
    uint8_t cur_hdr[WIO_LINK_BYTES];
    struct wio_list small, bulk_q;
    struct tcp_batch *batch;
    size_t queued; /* bytes of cur, small and bulk_q not yet written */
    struct tcp_keep kept;
    struct wio_list all;   /* iface->links */
    struct wio_list group; /* iface->connecting, lru or closing by state; wants: WAIT for a place */
    struct wio_list rnode; /* iface->ready */
    struct wio_list onode; /* iface->out or blocked */
    struct wio_list wnode; /* iface->watched */
    struct wio_list hnode; /* iface->hot */
    struct wio_list news;  /* iface->news */
    struct wio_list probe; /* iface->probe: may have unacknowledged data */
    struct wio_list owes;  /* iface->owing: may owe an acknowledgement */
    int64_t broke_at;      /* when it broke last; 0 = never */
    int64_t proven_at;     /* a connection for it was let in */
    int64_t mend_until;    /* then the peer counts as dead */
    union tcp_addr was;    /* of the connection that broke */
    int64_t torn_at; /* WAITIO_TLS: a record of the agreement began, and has not ended; 0: no */
    int64_t silent_since; /* liveness: retransmitting without answer since; 0 = no */
    int64_t timer;        /* WAIT: dial then */
    int64_t turn_at;      /* when it got its place; READY: when it became so */
    struct tcp_dial *dial;
    struct tcp_link *hash_next, *older, *newer; /* same peer: older one still closing */
    union tcp_addr addr;
    char *text; /* CLOSED: why */
};
static_assert(sizeof(struct tcp_link) <= 1024,
              "an idle connected link costs at most 1 KiB of ours");

/* Events of a link in the service set; 0: the link is not in it. */
#define TCP_SVC_READ 1u
#define TCP_SVC_WRITE 2u
#define TCP_SVC_HUP 4u     /* always: the end of the stream */
#define TCP_HOT_READS 200u /* reads in a row, no service needed: out of the service set */

/** An authenticated dialer without a place. */
struct tcp_ticket {
    uint32_t peer;
    int64_t seen; /* when it was refused last */
};

struct tcp_iface {
    struct wio_iface base;
    int epoll, svc_epoll;
    struct tcp_listener listener[TCP_LISTENERS];
    int nlisteners;
    uint16_t port;
    bool listening; /* listeners are in the event sets */
    bool paused;    /* ... but silenced: out of descriptors, or */
    bool crowded;   /* ... all slots for unauthenticated connections are taken */
    bool stop;
    bool warned_fds, warned_cc;
    struct wio_log_gate refused; /* lines about refused connections */
    bool crc;
    char system_cc[16]; /* the system's congestion control; "" = unknown */
    bool in_connect;    /* connect() is running: the end of a dial waits for progress() */
    bool timer_asked;   /* a thread slept on next_timer_ns(): read the clock */
    uint32_t ticks;
    int64_t resume_at;       /* paused listeners */
    int64_t timer_at;        /* earliest timer; INT64_MAX = none */
    int64_t probe_at;        /* next liveness round; INT64_MAX = none */
    int64_t owe_at;          /* next look at acknowledgements that are owed; INT64_MAX = none */
    int64_t connect_timeout; /* ns */
    int64_t resume_timeout;  /* ns; 0: broken connections are not made anew */
    uint32_t numbered;       /* links that have got a number */
    struct tcp_block *spare; /* blocks for copies */
    int nspare;
    struct wio_list links, connecting, lru, closing;
    struct wio_list wants; /* links of ours that wait for a place, in turn */
    struct wio_list ready, out, blocked, watched, news, probe, owing;
    struct wio_list hot;  /* links outside the service set */
    struct wio_list done; /* wio_tx finished without error */
    struct wio_list inbound, dials, ended;
    struct wio_list ghosts; /* closed links that p2p never got, freed with those in `ended` */
    int ninbound, nhup;
    int nopen, cap;            /* places taken, and how many there should be at most (cap.c) */
    struct tcp_ticket *ticket; /* refused dialers, in turn */
    uint32_t ntickets, tickets_room;
    bool tickets_next;             /* the next place is a ticket's, if both queues wait */
    bool cap_due;                  /* wio_tcp_cap_run() has something to do */
    int64_t cap_moved, cap_at;     /* when a dial was last served; when to check again */
    int nbatch;                    /* that links write into */
    struct tcp_batch *spare_batch; /* free ones */
    int nspare_batch;
    struct tcp_link **hash;
    uint32_t nhash, nlinks;       /* buckets (power of two), entries */
    struct tcp_link *stage_owner; /* whose kept-back input lies in stage */
    uint8_t *stage;
    struct tcp_via *via;       /* NULL: WAITIO_RELAY names none */
    struct tcp_device *device; /* those of lanes */
    int ndevices;
    int lanes_asked;   /* WAITIO_LANES */
    uint32_t nlanes;   /* links that are lanes */
    unsigned lane_top; /* all of their numbers are below this */
};

static inline struct tcp_iface *tcp_iface_of(struct wio_iface *i)
{
    return WIO_CONTAINER(i, struct tcp_iface, base);
}
static inline struct tcp_link *tcp_link_of(struct wio_ep *e)
{
    return WIO_CONTAINER(e, struct tcp_link, ep);
}
static inline struct tcp_iface *tcp_of(const struct tcp_link *l)
{
    return tcp_iface_of(l->ep.iface);
}
static inline bool tcp_can_read(const struct tcp_link *l)
{
    return l->fd >= 0 && !l->eof;
}
/** The keys of an encrypted link are not agreed on yet: reading serves writing. */
static inline bool tcp_shaking(const struct tcp_link *l)
{
    return WIO_UNLIKELY(l->tls != NULL) && wio_tls_shaking(l->tls);
}
/** May the service thread read this link? Only where no application thread drives it. */
static inline bool tcp_service_reads(const struct tcp_link *l)
{
    return l->watched || l->hup || l->state != TCP_READY || l->kept.full || tcp_shaking(l);
}
/** The state, whether or not the link is broken just now. */
static inline enum tcp_state tcp_phase(const struct tcp_link *l)
{
    return (enum tcp_state)(l->mend != 0 ? l->mend : l->state);
}

/* ---- link.c: states, table of links, life and death ---- */
/** Change state: checks legality, logs, moves the link between lists, leaves news for p2p. */
void wio_tcp_set_state(struct tcp_link *l, enum tcp_state to);
struct tcp_link *wio_tcp_link_find(struct tcp_iface *f, uint32_t peer, unsigned lane);
/** The one that a new dial of the peer is for: the oldest. */
struct tcp_link *wio_tcp_link_oldest(struct tcp_iface *f, uint32_t peer, unsigned lane);
/** New link in state NEW, made the current one of its peer (or of its lane). NULL: out of memory.
 */
struct tcp_link *wio_tcp_link_new(struct tcp_iface *f, uint32_t peer, unsigned lane);
/** Drop everything of the link, no upcalls. */
void wio_tcp_link_free(struct tcp_link *l);
/** The link takes over a proven socket: registered in both event sets. @return 0 or < 0 (not taken)
 */
int wio_tcp_link_adopt(struct tcp_link *l, struct tcp_conn *c);
/** Give the socket up without closing the link (CONFIRM that came to nothing); the place stays. */
void wio_tcp_link_drop_socket(struct tcp_link *l);
/** End of the link: CLOSED with this result; the next dispatch reports it to p2p. */
void wio_tcp_link_over(struct tcp_link *l, int err, const char *fmt, ...) WIO_PRINTF(3, 4);
/** The connection broke (oserr: -errno, 0 = end of stream without GOODBYE). */
void wio_tcp_link_lost(struct tcp_link *l, int oserr);
/** The host of its peer has not answered since then: make the connection anew. */
void wio_tcp_link_silent(struct tcp_link *l, int64_t since);
/** The peer broke the protocol: counted, GOODBYE(ERROR) tried, CLOSED with @p err. */
void wio_tcp_link_violation(struct tcp_link *l, int err, const char *why);
void wio_tcp_link_news(struct tcp_link *l);
void wio_tcp_make_ready(struct tcp_link *l);
void wio_tcp_mark_hup(struct tcp_link *l);
void wio_tcp_clear_hup(struct tcp_link *l);
static inline void wio_tcp_touch(struct tcp_iface *f, struct tcp_link *l)
{
    if (f->lru.prev != &l->group && l->state == TCP_READY) {
        wio_list_remove(&l->group);
        wio_list_push(&f->lru, &l->group);
    }
}
/** "PB 1 rank 3" */
const char *wio_tcp_peer_name(const struct tcp_iface *f, uint32_t peer, char *buf, size_t n);
/** "PB 1 rank 3 (10.0.0.2:4433)" */
const char *wio_tcp_link_name(const struct tcp_link *l, char *buf, size_t n);
const char *wio_tcp_addr_text(const union tcp_addr *a, char *buf, size_t n);

/* ---- dial.c ---- */
/** Start (or restart) making the connection of a NEW or WAIT link; may leave it in WAIT. */
void wio_tcp_dial(struct tcp_link *l);
/** Wait for @p ns, then dial again. */
void wio_tcp_dial_later(struct tcp_link *l, int64_t ns);
/** A dial's socket failed. @p err WAITIO_ERR_*; @p what text of the failure */
void wio_tcp_dial_failed(struct tcp_conn *c, int err, const char *what);
void wio_tcp_dial_cancel(struct tcp_link *l);
/** Our own dial stands, and may still be answered: that of the peer has to wait. */
bool wio_tcp_dial_first(const struct tcp_link *l);
/** Stop the dial; the time of WAITIO_CONNECT_TIMEOUT does not run until it continues. */
void wio_tcp_dial_pause(struct tcp_link *l);
void wio_tcp_dial_free(struct tcp_link *l);
/** Fill the peer's usable addresses in order. @return how many */
int wio_tcp_peer_addrs(const struct tcp_iface *f, uint32_t peer, union tcp_addr *out, int max);

/* ---- lane.c: connections beside a link ---- */
/** Find the devices that WAITIO_NETDEV names. @return 0; NOMEM, CONFIG, SYSTEM */
int wio_tcp_lanes_open(struct tcp_iface *f);
/** How many connections the data of long messages to this address is to have. */
int wio_tcp_lanes_wanted(const struct tcp_iface *f, const union tcp_addr *to);
int wio_tcp_lane(struct wio_ep *ep, unsigned lane, struct wio_ep **beside);
/** A dial of a lane: go by its device, if that is possible. */
void wio_tcp_lane_bind(const struct tcp_link *l, int fd, const union tcp_addr *to);
/** A wait looks at the link: drive its lanes, too, while data moves on them. @return events */
int wio_tcp_lanes_run(struct tcp_link *link);
#define TCP_LANE_LOOKS 64u
/** A lane has its socket. */
void wio_tcp_lane_adopted(struct tcp_link *l);
/** A dial of a lane was told BUSY, or has no place: it is not worth waiting. */
void wio_tcp_lane_refused(struct tcp_link *l, const char *why);
/** The ways of a link to be dialled: wio_tcp_ways(), or of a lane the one that was chosen. */
int wio_tcp_link_ways(struct tcp_link *l, struct tcp_way out[TCP_WAYS]);
static inline unsigned tcp_lane_of(uint32_t extra)
{
    return extra >> TCP_LANE_AT & 7u;
}
static_assert(WIO_LANES == 8, "three bits");

/* ---- via.c: relays ---- */
/** Read WAITIO_RELAY. @return 0; CONFIG, NOMEM */
int wio_tcp_via_open(struct tcp_iface *f);
/** The table is there: become reachable through the relays. @return 0; NOMEM, SYSTEM */
int wio_tcp_via_start(struct tcp_iface *f);
int wio_tcp_via_run(struct tcp_iface *f);
void wio_tcp_via_close(struct tcp_iface *f);
/** The ways to a peer, in order. @return how many */
int wio_tcp_ways(struct tcp_iface *f, uint32_t peer, struct tcp_way out[TCP_WAYS]);
const char *wio_tcp_relay_name(const struct tcp_iface *f, int via);
/** How many relays there are. */
uint32_t wio_tcp_relays(const struct tcp_iface *f);
/** Is the first way to the peer a relay? @param[out] via  which */
bool wio_tcp_is_far(struct tcp_iface *f, uint32_t peer, int *via);
/** The peer was reached so; its own addresses were tried before, or have no route. */
void wio_tcp_via_worked(struct tcp_iface *f, uint32_t peer, int via);
/** The connection will go through this relay (0: none). @return 0 or an error */
int wio_tcp_via_begin(struct tcp_conn *c, uint32_t peer, int via);
/** Go on with the relay. @return true: it has connected us (or there is none); false: not yet, or
 * failed */
bool wio_tcp_via_drive(struct tcp_conn *c);
/** What a relay refuses with: will it refuse the next time, too? */
bool wio_tcp_via_final(int err);

/* ---- listen.c, conn.c ---- */
/** A connected socket whose other end dials us. @param via  see tcp_way */
void wio_tcp_inbound(struct tcp_iface *f, int fd, const union tcp_addr *from, int via);
int wio_tcp_listen(struct tcp_iface *f);
void wio_tcp_unlisten(struct tcp_iface *f);
/** Start or stop watching the listeners. */
void wio_tcp_listen_watch(struct tcp_iface *f, bool on);
/** Accept what waits. @return connections accepted */
int wio_tcp_accept(struct tcp_iface *f, struct tcp_listener *ln);
struct tcp_conn *wio_tcp_conn_new(struct tcp_iface *f, int fd, const union tcp_addr *addr);
/** Register a connection in both event sets. */
int wio_tcp_conn_watch(struct tcp_conn *c);
/** Continue connect() or handshake as far as possible. @return events handled */
int wio_tcp_conn_drive(struct tcp_conn *c);
/** Close and bury (freed at the end of progress, or by wio_tcp_bury). */
void wio_tcp_conn_close(struct tcp_conn *c);
/** Close it because there is no room, and send this reason. */
void wio_tcp_conn_turn_away(struct tcp_conn *c);
void wio_tcp_bury(struct tcp_iface *f);
/** Room for one more inbound connection: drop an unauthenticated one when all slots are taken.
 * @return false: none */
bool wio_tcp_shed_stranger(struct tcp_iface *f);

/* ---- tx.c ---- */
int wio_tcp_send(struct wio_ep *ep, struct wio_tx *tx);
size_t wio_tcp_queued(const struct wio_ep *ep);
void wio_tcp_flush(struct wio_iface *iface);
/** Write as much as the socket takes. No upcalls. */
void wio_tcp_tx_run(struct tcp_link *l);
/** There is (or may be) something to write: into the right list. */
void wio_tcp_tx_wake(struct tcp_link *l);
/** Anything queued, begun, batched or control frames due? */
bool wio_tcp_tx_idle(const struct tcp_link *l);
/** Return everything queued with an error (upcalls!). */
void wio_tcp_tx_fail_all(struct tcp_link *l, int err);
void wio_tcp_tx_drop(struct tcp_link *l);
/** Best effort: GOODBYE(reason) now, unless in the middle of a message. */
void wio_tcp_tx_last_words(struct tcp_link *l, enum wio_bye_reason reason);
/** One system call. @return bytes written; 0: the socket takes no more now, or writing has failed
 */
size_t wio_tcp_tx_write(struct tcp_link *l, struct iovec *iov, int niov, size_t total);
void wio_tcp_tx_header(struct tcp_link *l, uint32_t seq, const uint8_t *msg, const void *payload,
                       uint32_t bytes, uint8_t out[WIO_LINK_BYTES]);
/** Has it messages that were not written yet? */
bool wio_tcp_tx_owing(const struct tcp_link *l);
/** On a new connection: what had begun begins again, after message number @p heard, which the peer
 * has. @return how many are sent again; -1: some are not there any more */
int wio_tcp_tx_rewind(struct tcp_link *l, uint32_t heard);
/** Both goodbyes are said, and the peer has heard everything: the end. */
void wio_tcp_tx_finish(struct tcp_link *l);

/* ---- batch.c ---- */
/** An empty buffer. NULL: no memory */
struct tcp_batch *wio_tcp_batch_get(struct tcp_iface *f);
void wio_tcp_batch_put(struct tcp_iface *f, struct tcp_batch *b);
void wio_tcp_batch_spare_free(struct tcp_iface *f);
/** Its frames are written later, or again: they say what has been heard by now. */
void wio_tcp_batch_refresh(const struct tcp_link *l, struct tcp_batch *b);
/** The next message from @p at on, which moves behind it. NULL: none */
const uint8_t *wio_tcp_batch_message(const struct tcp_batch *b, uint32_t *at, uint32_t *seq,
                                     uint32_t *bytes);
/** Leave only the messages behind number @p heard, to be written from the beginning. */
void wio_tcp_batch_trim(struct tcp_batch *b, uint32_t heard);

/* ---- kept.c ---- */
/** Room for a message with so many bytes copied; it is not kept before the commit. NULL: none */
struct tcp_kept *wio_tcp_kept_room(struct tcp_link *l, uint32_t copied);
void wio_tcp_kept_commit(struct tcp_link *l, struct tcp_kept *k, uint32_t seq, uint32_t bytes);
/** A message was written: keep it. */
void wio_tcp_kept_add(struct tcp_link *l, const struct wio_tx *tx, uint32_t seq);
/** All of this batch buffer was written. It is kept, or free again. */
void wio_tcp_kept_batch(struct tcp_link *l, struct tcp_batch *b);
/** The header of one that is not kept yet; the payload is copied behind it. */
static inline uint8_t *tcp_kept_header(struct tcp_kept *k)
{
    return (uint8_t *)(k + 1);
}
/** On a new connection, whose peer has all up to this number: all others are sent again. */
void wio_tcp_kept_rewind(struct tcp_link *l, uint32_t heard);
/** Is every message from number @p seq + 1 on there? @param[in,out] seq  the last one that is */
bool wio_tcp_kept_complete(const struct tcp_link *l, uint32_t *seq);
/** The peer has all up to this number. */
void wio_tcp_kept_acked(struct tcp_link *l, uint32_t ack);
void wio_tcp_kept_drop(struct tcp_link *l);
/** The link is ready for the first time: shall it keep something, and how much? */
void wio_tcp_kept_begin(struct tcp_link *l);
void wio_tcp_kept_spare_free(struct tcp_iface *f);
/** Write some of those that are sent again. @return false: the socket takes no more now */
bool wio_tcp_kept_again(struct tcp_link *l);
void wio_tcp_let_go(struct wio_ep *ep, const struct wio_tx *tx);

/* ---- mend.c ---- */
/** A number for another link; never 0. */
uint32_t wio_tcp_mend_number(struct tcp_iface *f);
/** What a dial of this link says in its handshake. */
uint32_t wio_tcp_mend_extra(const struct tcp_link *l);
/** The link that the dialer means, if it is made or broken; NULL: none. */
struct tcp_link *wio_tcp_mend_named(struct tcp_iface *f, uint32_t peer, uint32_t extra);
/** It is called from now on what a dial of the peer has said. */
void wio_tcp_mend_name(struct tcp_link *l, uint32_t extra);
/** Can a break of this link be mended? */
bool wio_tcp_mendable(const struct tcp_link *l);
/** The connection broke. @param since  when the peer was last heard of, as far as that is known
 * @param dial false: the peer has dialled already, so it lives: the link is not given up */
void wio_tcp_mend(struct tcp_link *l, const char *why, int64_t since, bool dial);
/** Every address was tried in vain. */
void wio_tcp_mend_again(struct tcp_link *l);
/** An attempt came to nothing after it was proven. */
void wio_tcp_mend_retry(struct tcp_link *l);
/** One address has refused us, or it is not the peer's any more. */
void wio_tcp_mend_refused(struct tcp_link *l, const union tcp_addr *a, int via);
/** The peer's host answers: its time begins anew. */
void wio_tcp_mend_alive(struct tcp_link *l);
/** A closing link is looked at after so long: wio_tcp_closing_due(). */
void wio_tcp_closing_in(struct tcp_link *l, int64_t ns);
/** Its goodbye was not answered at once, or the peer has not acknowledged everything. */
void wio_tcp_closing_due(struct tcp_link *l, int64_t now);
/** Say our first frame on the new connection, now or as soon as there are keys to encrypt it. */
void wio_tcp_mend_word(struct tcp_link *l);
/** The dial is proven: say the first word. */
void wio_tcp_mend_dialled(struct tcp_link *l);
/** May a dialer that means this link have it? @return 0; BUSY: our own dial goes first */
int wio_tcp_mend_admit(struct tcp_link *l, char *why, size_t nwhy);
/** The dialer has been let in: what the link had before is over, and it is ready to adopt. */
void wio_tcp_mend_accept(struct tcp_link *l);
/** The peer's first word on the new connection: it has everything up to @p ack. @return false: the
 * link is closed */
bool wio_tcp_mend_heard(struct tcp_link *l, uint32_t ack);
/** Nothing more is written: the peer's service thread hears of it. */
void wio_tcp_tx_shut(struct tcp_link *l);

/* ---- rx.c ---- */
/** Read and deliver. @return events handled. Sets iface->stop when p2p asks to stop. */
int wio_tcp_rx_run(struct tcp_link *l);
/** Parser: feed bytes of the stream. @return bytes consumed (less than n: stopped or link closed).
 */
size_t wio_tcp_rx_feed(struct tcp_link *l, const uint8_t *data, size_t n);
void wio_tcp_rx_drop(struct tcp_link *l);
/** End of the stream (or of all hope of writing after it) was found. No upcalls. */
void wio_tcp_rx_end(struct tcp_link *l);
/** Payload bytes that may be read directly into the sink now. */
size_t wio_tcp_rx_direct(const struct tcp_link *l);
/** Account for n payload bytes that were read directly into the sink. */
void wio_tcp_rx_took(struct tcp_link *l, size_t n);

/* ---- events.c ---- */
int wio_tcp_progress(struct wio_iface *iface, enum wio_progress_how how);
int wio_tcp_progress_ep(struct wio_ep *ep);
int wio_tcp_event_fd(struct wio_iface *iface, enum wio_progress_how how);
int wio_tcp_arm(struct wio_iface *iface, enum wio_progress_how how);
bool wio_tcp_needs_service(struct wio_iface *iface);
void wio_tcp_watch(struct wio_ep *ep, bool on);
/** A read by the program succeeded: may the link leave the service set? */
void wio_tcp_svc_hot(struct tcp_link *l);
/** Report changes of state and finished sends to p2p (upcalls). @return how many */
int wio_tcp_dispatch(struct tcp_iface *f);
/** Report to p2p that the link is READY (upcall). */
void wio_tcp_announce(struct tcp_link *l);

/* ---- liveness.c ---- */
int64_t wio_tcp_next_timer(struct wio_iface *iface, enum wio_progress_how how);
void wio_tcp_timer_at(struct tcp_iface *f, int64_t when);
void wio_tcp_ping(struct wio_ep *ep);
int64_t wio_tcp_heard(const struct wio_ep *ep);
/** Something was written: look now and then whether the peer's host takes it. */
void wio_tcp_probe(struct tcp_link *l);
/** A dial has begun to connect: look after it now and then. */
void wio_tcp_probe_dial(struct tcp_conn *c);
/** Keys were being agreed on before the last read: watch records that do not end. */
void wio_tcp_torn(struct tcp_link *l);
/** Run what is due. @return events handled */
int wio_tcp_timers(struct tcp_iface *f, int64_t now);

/* ---- cap.c ---- */
int wio_tcp_cap_of(const struct wio_config *cfg);
/** A place for a dial. @return false: none is free; the link waits in turn, wio_tcp_cap_run() dials
 */
bool wio_tcp_place_for(struct tcp_link *l);
/** May this authenticated dialer have a place? @param l our link to it, NULL = none. @return false:
 * not now, its turn is noted */
bool wio_tcp_place_admit(struct tcp_conn *c, uint32_t peer, struct tcp_link *l);
/** The place that a connection was admitted with becomes the link's. */
void wio_tcp_place_pass(struct tcp_conn *c, struct tcp_link *l);
/** The link needs its place no more. Idempotent. */
void wio_tcp_place_give(struct tcp_link *l);
/** The same for a place without a link. */
void wio_tcp_place_free(struct tcp_iface *f);
/** Serve peers that wait for a connection, make room for them, trim to the cap. From progress()
 * only, outside of upcalls. @return how many were served */
int wio_tcp_cap_run(struct tcp_iface *f);
/** Too few descriptors: close the least recently used idle link. */
void wio_tcp_evict(struct tcp_iface *f);

/* ---- sockopt.c ---- */
/** Options of every link socket; @p peer decides on congestion control. */
void wio_tcp_sockopt(struct tcp_iface *f, int fd, const union tcp_addr *peer, bool accepted);
/** Options of a listener, before listen(): accepted sockets inherit them. */
void wio_tcp_sockopt_listener(struct tcp_iface *f, int fd);
/** Of this host? */
bool wio_tcp_here(const struct tcp_iface *f, const union tcp_addr *a);
/** Same host or a subnet of ours? */
bool wio_tcp_near(const struct tcp_iface *f, const union tcp_addr *a);

/* ---- iface.c, dump.c ---- */
void wio_tcp_close_link(struct wio_ep *ep, enum wio_bye_reason reason);
void wio_tcp_dump(struct wio_iface *iface, struct wio_ep *ep, struct wio_strbuf *out);

#endif
