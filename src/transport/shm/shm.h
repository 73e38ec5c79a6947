/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shm.h
 * Private to src/transport/shm: messages between processes of one host and one user, whatever
 * their job. Everything here runs under the universe's engine lock; nothing sleeps.
 * See docs/design/shm.md.
 *
 * Objects: shm_iface (one per universe: inbox, listener, event sets) -> shm_link (one per peer; is
 * the wio_ep) and shm_conn (a Unix socket in its handshake). A link keeps its socket: it carries
 * the segments, bells for sleepers and pings, and its end is the peer's death.
 *
 * Upcalls run only inside progress() and progress_ep(): messages directly, the rest by
 * wio_shm_dispatch() at their end.
 */
#ifndef WIO_SHM_H
#define WIO_SHM_H

#include <assert.h>
#include <errno.h>

#include "os/os.h"
#include "transport/shm/inbox.h"
#include "transport/shm/ring.h"
#include "transport/transport.h"

#define SHM_STRANGERS_MAX 64
#define SHM_HANDSHAKE_NS 10000000000LL
#define SHM_RETRY_NS 1000000LL       /* pause before another dial */
#define SHM_RX_BUDGET 64             /* messages from one source before the next has its turn */
#define SHM_STREAM_ROUND (64u << 10) /* bulk copied from or to one link per round */
#define SHM_SOCKET_TICKS 64u         /* rounds of progress per look at the sockets */

enum shm_state {
    SHM_NEW,   /* made */
    SHM_WAIT,  /* before (another) dial */
    SHM_DIAL,  /* our handshake is under way */
    SHM_SETUP, /* proven: segments are being exchanged */
    SHM_READY, /* open both ways */
    SHM_DRAIN, /* queued output goes first, then our goodbye */
    SHM_HALF,  /* our goodbye is out: reading until the peer's */
    SHM_OVER,  /* closed */
    SHM_STATES
};
extern const struct wio_state_row wio_shm_states[SHM_STATES];

/* What an event set's entry points at. */
enum shm_what { SHM_IS_LISTENER, SHM_IS_KICK, SHM_IS_CONN, SHM_IS_LINK };
struct shm_src {
    uint8_t what;
};

/** Records on a link's socket, in the host's byte order (reachable() lets only equals meet). */
enum shm_rec_type {
    SHM_R_SETUP = 1, /* my inbox (descriptor), its geometry, your name there */
    SHM_R_GO,        /* dialer: I have your inbox too: write */
    SHM_R_REFUSE,    /* no shared memory between us: enum shm_refusal in a */
    SHM_R_RING,      /* a ring from me to you (descriptor) and its geometry */
    SHM_R_RING_OK,
    SHM_R_RING_NO,
    SHM_R_RING_END, /* the ring you left is unmapped here */
    SHM_R_BELL,
    SHM_R_LEAVING, /* my goodbye follows in memory: have a look */
    SHM_R_PING,
    SHM_R_PONG
};
enum shm_refusal { SHM_NO_MEMORY = 1, SHM_NO_DESCRIPTOR, SHM_BAD_SEGMENT };
#define SHM_REC_MAGIC 0x4d485357u
struct shm_rec {
    uint32_t magic, type;
    uint32_t a, b, c, d;
    uint64_t e;
};
_Static_assert(sizeof(struct shm_rec) == 32, "records are 32 bytes");

#define SHM_OUT_MAX 224u

struct shm_conn {
    struct shm_src src;
    bool spoke;
    bool starved; /* accepted with the last descriptor, to be refused */
    int fd;
    struct shm_iface *iface;
    struct shm_link *link; /* dial: whose; accept: NULL */
    struct wio_list node;  /* iface->inbound, dials or ended */
    int64_t deadline;
    struct wio_auth auth;
};

struct shm_link {
    struct wio_ep ep;
    struct shm_src src;
    uint8_t state;
    uint8_t told; /* last wio_ep_state p2p heard of */
    uint8_t bye_reason;
    bool dialled; /* we are the dialer */
    bool known;   /* p2p holds the ep */
    bool bye_wanted, bye_sent, bye_heard;
    bool eof; /* the socket has ended */
    bool watched;
    bool pending;   /* in iface->blocked */
    bool fence;     /* one of us has no membarrier */
    bool out_ring;  /* we write to the ring */
    bool in_ring;   /* the peer writes to its ring */
    bool ring_done; /* the ring was left by us, the peer has not unmapped it yet */
    bool asked;     /* a ring is offered, no answer yet */
    bool declined;  /* the peer has none to spare: asked again after a pause */
    bool ping_out, body, heard;
    bool cur_begun; /* the header of cur is out */
    uint8_t drops;  /* handshakes that broke */
    bool leaving;   /* the peer's goodbye lies in memory: the service thread reads it too */
    int fd;
    struct shm_conn *conn;
    int err;
    uint32_t owner_out; /* our name in the peer's inbox */
    uint32_t owner_in;  /* the peer's name in ours */
    struct shm_inbox peer;
    struct shm_writer *w;
    struct shm_reader *r;
    struct wio_tx *cur; /* begun */
    struct wio_list small, bulk_q;
    size_t queued;
    uint32_t rx_left, rx_pos;
    struct wio_sink sink;
    uint32_t tx_count; /* messages since the last look at promotion */
    uint32_t run;      /* messages since the last one from the peer's ring */
    size_t tx_bytes;
    uint32_t eof_pos; /* the inbox may hold the peer's cells up to here */
    uint8_t rec[sizeof(struct shm_rec)];
    uint8_t rec_have, out_len;
    uint8_t out[SHM_OUT_MAX]; /* records that the socket has not taken yet */
    int out_fd;               /* goes with the record at out_fd_at */
    uint8_t out_fd_at;
    int rec_fd;
    pid_t fetch_pid; /* the peer's memory can be read there; 0: it cannot */
    uint64_t fetch_proof;
    int64_t proved_ns;      /* when a word there last showed that it is the peer's */
    _Atomic uint64_t lends; /* the peer reads it to see that it reads our memory, and may; 0: the
                               link is over */
    int64_t heard_ns, used_ns, asked_ns, timer;
    struct wio_list all, group, rnode, onode, news;
    struct shm_link *hash_next;
    char *text;
};
#define SHM_HASH 256u

struct shm_iface {
    struct wio_iface base;
    int epoll, svc_epoll, listener, kick, reserve;
    struct shm_src src_listener, src_kick;
    uint32_t realm, name; /* the halves of our token */
    uint64_t token;       /* as the address table has it */
    bool watching;        /* the listener is in the event sets */
    bool paused;
    bool gives_later; /* the system gives pages of shared memory when they are wanted */
    size_t cache;     /* bytes of a second-level cache, 0: unknown */
    bool membarrier;  /* works: peers need no fences for us */
    bool fences;      /* some peer's does not: what we tell all senders needs our own */
    bool asleep, asleep_svc;
    bool in_connect; /* connect() is running: a failure of the peer waits for progress() */
    bool stop;
    bool warned_memory;
    struct wio_log_gate refused; /* lines about refused connections */
    uint32_t ticks;
    int64_t timer_at, resume_at;
    struct shm_inbox inbox; /* head == NULL until the first contact */
    int inbox_fd;
    uint64_t inbox_inode;
    uint32_t inbox_pos;
    struct shm_link **owner; /* senders by slot of their name */
    uint16_t *owner_gen;
    uint32_t nowners;
    struct wio_list links, waiting, ready, closing; /* by state (group) */
    struct wio_list readers;                        /* links whose ring we read */
    struct wio_list blocked, news, done;
    struct wio_list inbound, dials, ended, ghosts;
    int ninbound, nwatched, ndead, nleaving;
    int nmaking; /* links between DIAL and READY */
    uint32_t rings_in, rings_out;
    struct shm_link *hash[SHM_HASH];
    struct wio_list barred; /* struct shm_barred: peers that shared memory did not work with */
};
struct shm_barred {
    struct wio_list node;
    uint32_t peer;
    char why[160];
};

static inline struct shm_iface *shm_iface_of(struct wio_iface *i)
{
    return WIO_CONTAINER(i, struct shm_iface, base);
}
static inline struct shm_link *shm_link_of(struct wio_ep *e)
{
    return WIO_CONTAINER(e, struct shm_link, ep);
}
static inline struct shm_iface *shm_of(const struct shm_link *l)
{
    return shm_iface_of(l->ep.iface);
}

/* ---- segment.c: memory that is shared ---- */
/** Our inbox, made at the first contact. @return 0, NOROUTE with the reason */
int wio_shm_inbox_make(struct shm_iface *f);
void wio_shm_inbox_drop(struct shm_iface *f);
/** Map a peer's segment: sealed against shrinking and large enough. @return NULL: @p why */
void *wio_shm_attach(const struct shm_iface *f, int fd, size_t bytes, const char **why);
/** Make a ring to a peer. @param[out] fd  to be sent and closed. @return NULL: no memory */
struct shm_writer *wio_shm_writer_make(struct shm_iface *f, int *fd);
void wio_shm_writer_free(struct shm_iface *f, struct shm_writer *w);
#define SHM_WARM (64u << 10)
/** How much of the bulk ring shall have its pages before bulk of @p bytes begins at
 * position @p at, so that no page is met for the first time while others wait: SHM_WARM at least,
 * each time twice as much. @param warm so much has them */
uint32_t wio_shm_ring_ahead(const struct shm_ring *r, uint32_t warm, uint64_t at, uint32_t bytes);
/** The next bulk has @p bytes: give the bulk ring its pages. @return false: the system has none */
bool wio_shm_writer_warm(struct shm_iface *f, struct shm_writer *w, unsigned mark, uint32_t bytes);
/** No bulk has come for long: the system gets the pages back, if the reader has read all. */
void wio_shm_writer_cool(struct shm_iface *f, struct shm_writer *w);
/** Bulk of @p bytes begins at position @p at: enter the pages in our page table. @param fresh the
 * writer has new ones */
void wio_shm_reader_warm(struct shm_reader *r, bool fresh, uint64_t at, uint32_t bytes);
struct shm_reader *wio_shm_reader_make(struct shm_iface *f, const struct shm_ring_geo *g, int fd);
void wio_shm_reader_free(struct shm_iface *f, struct shm_reader *r);

/* ---- link.c: states, life and death ---- */
void wio_shm_set_state(struct shm_link *l, enum shm_state to);
struct shm_link *wio_shm_link_find(struct shm_iface *f, uint32_t peer);
struct shm_link *wio_shm_link_new(struct shm_iface *f, uint32_t peer);
void wio_shm_link_free(struct shm_link *l);
void wio_shm_link_over(struct shm_link *l, int err, const char *fmt, ...) WIO_PRINTF(3, 4);
/** The peer broke the protocol. */
void wio_shm_violation(struct shm_link *l, const char *what);
/** The socket ended: the link ends when everything in memory has been read. */
void wio_shm_link_eof(struct shm_link *l);
/** An ended link whose input is used up: over. @return events */
int wio_shm_settle_dead(struct shm_link *l);
void wio_shm_news(struct shm_link *l);
/** Shared memory does not work with this peer: another transport shall be used from now on. */
void wio_shm_bar(struct shm_iface *f, uint32_t peer, const char *why);
const struct shm_barred *wio_shm_barred(const struct shm_iface *f, uint32_t peer);
const char *wio_shm_peer_name(const struct shm_iface *f, uint32_t peer, char *buf, size_t n);
/** Orderly end once both goodbyes are said. */
void wio_shm_maybe_over(struct shm_link *l);

/* ---- dial.c: sockets and handshakes ---- */
int wio_shm_listen(struct shm_iface *f);
void wio_shm_listen_watch(struct shm_iface *f, bool on);
void wio_shm_accept(struct shm_iface *f);
void wio_shm_dial(struct shm_link *l);
void wio_shm_dial_later(struct shm_link *l, int64_t ns);
void wio_shm_conn_drive(struct shm_conn *c);
void wio_shm_conn_close(struct shm_conn *c);
void wio_shm_bury(struct shm_iface *f);

/* ---- record.c: the link's socket after the handshake ---- */
/** Say our part of the setup. The link has its socket. */
void wio_shm_setup(struct shm_link *l);
/** Read what came. @return records handled */
int wio_shm_records(struct shm_link *l);
void wio_shm_bell(struct shm_link *l);
/** There is none for a ring: it is asked for again after a pause. */
void wio_shm_no_memory(struct shm_link *l, const char *what);
/** Offer the peer a ring. */
void wio_shm_offer(struct shm_link *l);
/** On a socket that belongs to no link (yet): nothing will come of it. */
void wio_shm_refuse(int fd, enum shm_refusal why);
/** A record without arguments. */
void wio_shm_say(struct shm_link *l, enum shm_rec_type type);
/** Write what the socket has not taken yet. */
void wio_shm_say_rest(struct shm_link *l);

/* ---- tx.c ---- */
bool wio_shm_put(struct wio_ep *ep, const struct wio_msg *msg, const void *payload, uint32_t bytes);
int wio_shm_send(struct wio_ep *ep, struct wio_tx *tx);
size_t wio_shm_queued(const struct wio_ep *ep);
/** Write what there is room for. No upcalls. @return events */
int wio_shm_tx_run(struct shm_link *l);
bool wio_shm_tx_idle(const struct shm_link *l);
/** There is, or may be, output. */
void wio_shm_tx_wake(struct shm_link *l);
/** Would tx_run get any further? (about to sleep; says so to the reader) */
bool wio_shm_tx_blocked(struct shm_link *l);
void wio_shm_tx_want(struct shm_link *l);
void wio_shm_tx_fail_all(struct shm_link *l, int err);
/** Goodbye without waiting for anything. */
void wio_shm_last_words(struct shm_link *l, enum wio_bye_reason reason);
/** Leave the ring: what follows comes by the inbox. @return false: no room to say so */
bool wio_shm_tx_leave(struct shm_link *l);
/** The ring is agreed: use it from the next message on. */
void wio_shm_tx_switch(struct shm_link *l);

/* ---- fetch.c: reading a peer's memory ---- */
/** From now on the peer may read our memory. @return address of the proof word, which only the
 * right memory has */
uint64_t wio_shm_fetch_allow(struct shm_link *l);
/** ... and from now on what it reads proves nothing. */
void wio_shm_fetch_forbid(struct shm_link *l);
/** Can we read the peer's? It says its proof lies at @p proof. */
void wio_shm_fetch_try(struct shm_link *l, uint64_t proof);
int wio_shm_fetch(struct wio_ep *ep, const struct wio_lent *from, void *buf, size_t bytes);
uint32_t wio_shm_recalls(struct wio_ep *ep, uint32_t more);

/* ---- rx.c ---- */
/** Read the inbox. @return events */
int wio_shm_rx_inbox(struct shm_iface *f);
/** Read a link's ring. */
int wio_shm_rx_ring(struct shm_link *l);
/** Tell the writer what is free: this side may not read again for a while. */
void wio_shm_rx_tell(struct shm_link *l);
bool wio_shm_rx_inbox_ready(const struct shm_iface *f);
/** Now and then: repair the inbox's hint, which a faulty peer may have damaged. */
void wio_shm_rx_mend(struct shm_iface *f);
bool wio_shm_rx_ring_ready(struct shm_link *l);

/* ---- events.c: progress and sleep ---- */
int wio_shm_progress(struct wio_iface *iface, enum wio_progress_how how);
int wio_shm_progress_ep(struct wio_ep *ep);
int wio_shm_event_fd(struct wio_iface *iface, enum wio_progress_how how);
int wio_shm_arm(struct wio_iface *iface, enum wio_progress_how how);
bool wio_shm_needs_service(struct wio_iface *iface);
int64_t wio_shm_next_timer(struct wio_iface *iface, enum wio_progress_how how);
void wio_shm_dispatch(struct shm_iface *f);
/** A full barrier on every processor that runs one of our peers. */
void wio_shm_heavy_fence(const struct shm_iface *f);

/** Who issues the barriers of a link: the sleeper by membarrier(2), or both sides. */
static inline void shm_choose_fences(struct shm_link *l, bool peer_has_membarrier)
{
    struct shm_iface *f = shm_of(l);
    l->fence = !peer_has_membarrier || !f->membarrier;
    f->fences |= l->fence;
}
/** Between our store and our look at what a sleeper wrote. */
static inline void shm_light_fence(const struct shm_link *l)
{
    if (WIO_UNLIKELY(l->fence))
        atomic_thread_fence(memory_order_seq_cst);
    else
        atomic_signal_fence(memory_order_seq_cst);
}
/** Something was published: wake the peer if it sleeps. */
static inline void shm_notify(struct shm_link *l)
{
    shm_light_fence(l);
    if (WIO_UNLIKELY(atomic_load_explicit(&l->peer.head->sleeping, memory_order_relaxed) != 0))
        wio_shm_bell(l);
}

void wio_shm_dump(struct wio_iface *iface, struct wio_ep *ep, struct wio_strbuf *out);

#endif
