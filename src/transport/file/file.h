/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file file.h
 * Private to src/transport/file: messages through files of a directory that both processes see.
 * docs/design/file.md tells the protocol. Everything runs under the engine lock.
 *
 * Objects: file_iface (one per universe; owns a folder, in which all others write) -> file_link
 * (one per peer; is the wio_ep; two streams, each a file in the reader's folder).
 */
#ifndef WIO_FILE_H
#define WIO_FILE_H

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>

#include "os/os.h"
#include "transport/file/layout.h"
#include "transport/transport.h"

#define FILE_STAGE_BYTES 65536u
#define FILE_LOOK_BYTES 1024u    /* read when nothing is known to be there */
#define FILE_INLINE 16384u       /* messages up to here share a write with others */
#define FILE_BATCHES_MAX 64      /* batch buffers in use at once; beyond: write at once */
#define FILE_DIRECT_MIN 8192u    /* a part from which it is read straight into the sink */
#define FILE_RX_ROUND (4u << 20) /* bytes read from one link before the next has its turn */
#define FILE_NAME_BYTES 64
#define FILE_HASH 64
#define FILE_RETRY_NS 1000000LL
#define FILE_GAP_MIN_NS 20000LL        /* between two looks of a sleeping process ... */
#define FILE_GAP_MAX_NS 16000000LL     /* ... without events */
#define FILE_GAP_EVENTS_NS 50000000LL  /* ... with events, which are never relied on */
#define FILE_GAP_TOLD_NS 2000000LL     /* and at least then */
#define FILE_SCAN_MAX_NS 2200000000LL  /* between two looks at the names in our folder ... */
#define FILE_SCAN_TOLD_NS 4500000000LL /* ... where events tell of new ones */
#define FILE_FULL_NS 20000000LL        /* between two tries to write to a full file system */
#define FILE_IDLE_BEATS 10u            /* after so many, an idle stream gives back its space */
#define FILE_BAD_NS 5000000000LL   /* bytes that do not fit their checksum for so long are broken */
#define FILE_EVENT_TURNS 15u       /* polls between two looks at events, less 1 */
#define FILE_LATE_NS 10000000000LL /* so long names without their file are looked at often */
#define FILE_TAKEN 64              /* knocks that are remembered */
#define FILE_QUIET_LOOKS 64        /* looks in vain after which a link is quiet */
#define FILE_QUIET_SHARE 16        /* looks at quiet links take one part in so many of the time */

enum file_state {
    FILE_NEW,
    FILE_WAIT,
    FILE_ASK,
    FILE_SHAKE,
    FILE_READY,
    FILE_DRAIN,
    FILE_HALF,
    FILE_OVER,
    FILE_STATES
};
extern const struct wio_state_row wio_file_states[FILE_STATES];

/** An open stream. */
struct file_seg {
    int fd; /* -1: none */
    uint64_t ring;
};

/** Records that leave in one write. */
struct file_batch {
    uint32_t len;
    uint8_t data[WIO_BATCH_BYTES];
};

/** What a link needs while it is being made. */
struct file_shake {
    struct wio_auth auth;
};

struct file_link {
    struct wio_ep ep;
    uint8_t state; /* enum file_state */
    uint8_t told;  /* last wio_ep_state reported */
    uint8_t bye_reason;
    bool known;  /* p2p holds the ep */
    bool remote; /* another host, or weak: no events of its writing, bytes with a checksum */
    bool weak;   /* close-to-open: the file system shows only what was synced, and opened after */
    bool watched, leaving; /* the service thread reads it: p2p wants it; a goodbye is on its way */
    bool bye_wanted, bye_sent, bye_heard;
    bool gone;       /* the peer's process has ended; what it has written is still read */
    bool gone_read;  /* ... to the end */
    bool lock_seen;  /* its lock was seen: locks work between us */
    bool alive_seen; /* its sign of life was seen */
    bool ping_due, pong_due, ping_out;
    bool body;                  /* inside a message: the sink is valid */
    bool full;                  /* the file system is: said once */
    bool busy;                  /* stands among the links that every look reads */
    bool tell_due;              /* how far we have read could not be written */
    bool leave_due, leave_made; /* nor that we close; it lies in the peer's folder */
    bool counted;               /* this file system says how many names our stream has */
    uint8_t idle;               /* signs of life since something was written */
    uint8_t dropped;            /* looks that found our stream removed by the peer */
    uint8_t stale;              /* weak: errors in a row of files whose names are there */
    bool echo_due;              /* weak: the cell is to be written once more */
    uint8_t quiet;              /* looks in vain since something came */
    int err;
    int folder; /* the peer's, -1: not open */
    int alive;  /* its sign of life, kept open where that shows all; -1: opened for each look */
    struct file_seg in, out;
    uint64_t token, nonce;
    uint64_t in_pos, in_told;       /* read to here; the peer knows of this much */
    uint64_t out_pos, out_acked;    /* next record; the peer has read to here */
    uint64_t out_written;           /* all before is in the file */
    uint64_t out_echo;              /* weak: out_written a sign of life ago */
    uint64_t out_idle, out_punched; /* out_pos a sign of life ago; space is given back up to here */
    uint64_t beat;                  /* last one seen */
    uint64_t knock;                 /* number of ours that lies there, 0: none */
    int64_t unlocked_ns;            /* since then its lock is not seen any more */
    int64_t looked_ns;              /* our last look at its sign of life */
    int64_t moved_ns, renew_at; /* weak: something came or was written; opens its stream again */
    int64_t beat_ns, check_ns, timer, heard_ns, bad_ns, begun_ns, full_ns, tidy_ns;
    int64_t tell_ns; /* then the peer is told how far we have read, 0: nothing new */
    uint32_t rx_total, rx_pos, look;
    struct wio_sink sink;
    struct wio_tx *cur; /* half written */
    struct wio_list small, bulk_q;
    size_t queued;
    struct file_batch *batch;
    struct file_shake *shake;
    struct wio_list all, group, onode, wnode, news;
    struct file_link *hash_next;
    char *text;
};
static_assert(sizeof(struct file_link) <= 1024, "an idle link costs at most 1 KiB");

struct file_iface {
    struct wio_iface base;
    int root, folder; /* the run's directory, ours */
    int alive;        /* descriptor that holds the lock */
    int events, epoll, svc_epoll, kick;
    bool started, watch_data; /* events of data are asked for */
    bool asleep, stop, in_connect, scan_due;
    uint32_t hot; /* looks with success since the last sleep */
    bool has_lock;
    bool weak, late;            /* the file system is; the last scan met a name without its file */
    int64_t late_ns;            /* since then each scan has */
    uint64_t taken[FILE_TAKEN]; /* knocks that we have removed: some clients go on to see them */
    uint32_t ntaken;
    uint64_t token, beat, limit, held;
    uint64_t host;     /* identity of ours, for the sign of life */
    pthread_t joining; /* beats until the universe has formed, if is_joining */
    bool is_joining;
    int64_t scan_at, scan_gap, gap, timer_at;
    int64_t poll_at[2]; /* of a sleeping program, and service thread */
    int64_t beat_ns;    /* between two */
    int64_t beat_at;    /* the next one */
    uint32_t nkept;     /* signs of life that are kept open */
    uint32_t ticks, nremote, nwatched, ngone;
    bool look_all, vain; /* all links are due; the last events were nothing for the service */
    int64_t all_at;      /* when quiet links are looked at without an event */
    struct wio_list links, making, ready, busy, closing, out, watched, news, done, ghosts;
    struct file_link *hash[FILE_HASH];
    struct wio_pool batches;
    int nbatch;
    uint8_t *stage;
    char path[640]; /* of the run's directory, for messages */
    struct wio_log_gate refused, disk;
};

static inline struct file_iface *file_iface_of(struct wio_iface *i)
{
    return WIO_CONTAINER(i, struct file_iface, base);
}
static inline struct file_link *file_link_of(struct wio_ep *e)
{
    return WIO_CONTAINER(e, struct file_link, ep);
}
static inline struct file_iface *file_of(const struct file_link *l)
{
    return file_iface_of(l->ep.iface);
}
/** Somebody waits at this time. */
static inline void file_timer(struct file_iface *f, int64_t at)
{
    if (at < f->timer_at)
        f->timer_at = at;
}

/* ---- place.c: directories and signs of life ---- */
/** Make the run's directory and ours in it. @return 0; SYSTEM, CONFIG naming it and the remedy */
int wio_file_place_make(struct file_iface *f);
/** Remove what is ours. */
void wio_file_place_drop(struct file_iface *f);
/** Open the folder of the process with this token. @return descriptor or -errno (-EACCES: not
 * ours) */
int wio_file_place_open(struct file_iface *f, uint64_t token);
/** Show that this process lives. */
void wio_file_beat(struct file_iface *f, int64_t now);
/** Show it once per heartbeat from now on, until joined: nobody drives the interface meanwhile. */
void wio_file_joining(struct file_iface *f);
void wio_file_joined(struct file_iface *f);
/** Look whether the peer lives; sets gone. */
void wio_file_check(struct file_link *l, int64_t now);

/** The peer has ended, or given up the link. */
void wio_file_gone(struct file_link *l);

/* ---- sight.c: file systems that show late what others have written ---- */
/** Is the file system of the run's directory weak? Sets weak. */
void wio_file_sight_decide(struct file_iface *f);
/** Say so in the log. */
void wio_file_sight_tell(const struct file_iface *f);
/** What was written to this file is seen by whoever opens it from now on. @return 0, or -errno:
 * what was written since the last time may be lost */
int wio_file_sight_sync(const struct file_iface *f, int fd);
/** Something came or was written: more may follow. */
void wio_file_sight_stir(struct file_link *l);
/** Before a look at the peer's stream: open it again if it is time to. */
void wio_file_sight_renew(struct file_link *l);
/** Does this error of our stream, or else of the peer's, say that its file was removed? If its name
 * is gone, too, the peer is gone; else it is open anew, and may be tried again. */
bool wio_file_sight_lost(struct file_link *l, bool ours, int oserr);

/* ---- old.c ---- */
/** Warn of what dead processes of no member have left in the run's directory. One process of a
 * universe is enough: it lists all folders. @return how many */
uint32_t wio_file_look_for_old(struct file_iface *f);

/* ---- seg.c: streams ---- */
enum file_name_kind { FILE_N_KNOCK, FILE_N_STREAM, FILE_N_LEAVE, FILE_N_OTHER };
struct file_name {
    uint32_t rank;
    uint64_t token, nonce;
};
void wio_file_name_stream(char *buf, size_t n, uint32_t rank, uint64_t token, uint64_t nonce);
void wio_file_name_leave(char *buf, size_t n, uint32_t rank, uint64_t token, uint64_t nonce);
void wio_file_name_knock(char *buf, size_t n, uint32_t rank, uint64_t token, uint64_t number);
enum file_name_kind wio_file_name_parse(const char *name, struct file_name *out);
/** Lay our stream of this link into the peer's folder.
 * @return 0; LIMIT; BUSY: the file system is full, try again at l->timer; SYSTEM */
int wio_file_seg_make(struct file_link *l);
/** Open the peer's stream in our folder. @return 0, -errno, -EPROTO: it is none; -EAGAIN: its head
 * is still to come */
int wio_file_seg_open(struct file_link *l);
/** Remove our stream from the peer's folder, or the peer's from ours. */
void wio_file_seg_unlink(struct file_link *l, bool ours);
void wio_file_seg_close(struct file_iface *f, struct file_link *l);
/** Read at a position of a stream. @return bytes, or -errno */
ssize_t wio_file_seg_read(struct file_iface *f, const struct file_seg *s, uint64_t pos, void *buf,
                          size_t n);
/** @param[out] done  bytes that are written, also on failure. @return 0, or -errno */
int wio_file_seg_write(struct file_iface *f, const struct file_seg *s, uint64_t pos,
                       const void *buf, size_t n, size_t *done);
/** Give back the space of what the peer has read, where the file system can. @return whether there
 * was some */
bool wio_file_seg_punch(struct file_link *l);
/** Has the peer removed our stream, as it does when it gives up the link? */
bool wio_file_seg_removed(const struct file_link *l);
/** Where our stream, or only the peer's folder, lies: for messages. */
const char *wio_file_seg_path(const struct file_link *l, char *buf, size_t n);
/** Learn how far the peer has read. @return whether that has changed */
bool wio_file_ack_read(struct file_link *l);
/** Tell the peer how far we have read, where it is much or @p all. The link may be over then. */
void wio_file_ack_tell(struct file_link *l, bool all);
/** Tell it in a moment. */
void wio_file_ack_soon(struct file_link *l);
/** Say it once more, on a weak file system where something was written. As above. */
void wio_file_ack_echo(struct file_link *l);

/* ---- full.c: file systems that are full or broken; space that is given back ---- */
#define FILE_PATH_BYTES 768
static inline bool file_is_full(int oserr)
{
    return oserr == -ENOSPC || oserr == -EDQUOT;
}
/** Something for this link could not be written. @param bytes  how much
 * @return true: try again at l->timer; false: the link is over */
bool wio_file_full(struct file_link *l, int oserr, uint64_t bytes);
/** It has worked again. */
void wio_file_full_ended(struct file_link *l);
/** Once per sign of life: repeat what could not be written, tell what is read, give back space that
 * nobody needs, and see whether the peer has given up the link. It may be over then. */
void wio_file_tidy(struct file_link *l);

/* ---- link.c ---- */
/** The service thread shall read the link, or need not any more. */
void wio_file_serve(struct file_link *l, bool watched, bool leaving);
void wio_file_set_state(struct file_link *l, enum file_state to);
void wio_file_news(struct file_link *l);
/** Something comes from the peer: every look reads this link, until it is quiet again. */
void wio_file_stir(struct file_link *l);
/** Nothing came in a look. */
void wio_file_still(struct file_link *l);
struct file_link *wio_file_link_find(struct file_iface *f, uint32_t peer);
struct file_link *wio_file_link_new(struct file_iface *f, uint32_t peer);
void wio_file_link_free(struct file_link *l);
void wio_file_link_over(struct file_link *l, int err, const char *fmt, ...) WIO_PRINTF(3, 4);
void wio_file_violation(struct file_link *l, int err, const char *what);
void wio_file_maybe_over(struct file_link *l);
/** The peer has ended: is all read that it has written? Then the link is over. @return events */
int wio_file_settle_gone(struct file_link *l);
const char *wio_file_peer_name(const struct file_iface *f, uint32_t peer, char *buf, size_t n);

/* ---- meet.c: finding each other, handshake ---- */
/** Begin (again) to make a link that is NEW or WAITs. */
void wio_file_begin(struct file_link *l);
/** Begin again after so many ns. */
void wio_file_later(struct file_link *l, int64_t ns);
/** The peer has taken our knock long ago, and laid no stream: the link is over. */
void wio_file_unanswered(struct file_link *l, int64_t now);
/** Tell the peer that it may expect our goodbye, though nobody there reads messages now. */
void wio_file_tell_leaving(struct file_link *l);
/** Take back a knock that lies in the peer's folder. */
void wio_file_unknock(struct file_link *l);
/** Look at the names in our folder. @return events */
int wio_file_scan(struct file_iface *f);
/** Bytes of the handshake have come. */
void wio_file_shake_input(struct file_link *l, const uint8_t *data, uint32_t n);

/* ---- tx.c ---- */
int wio_file_send(struct wio_ep *ep, struct wio_tx *tx);
size_t wio_file_queued(const struct wio_ep *ep);
void wio_file_flush(struct wio_iface *iface);
/** Write what can be written. @return events */
int wio_file_tx_run(struct file_link *l);
/** The same on all links that have something, or only those with a batch. */
int wio_file_tx_all(struct file_iface *f, bool batches);
void wio_file_tx_wake(struct file_link *l);
bool wio_file_tx_idle(const struct file_link *l);
void wio_file_tx_fail_all(struct file_link *l, int err);
/** Give everything back without a word. */
void wio_file_tx_drop(struct file_link *l);
/** Add a record without a message. @return false: no room or no memory now */
bool wio_file_tx_control(struct file_link *l, enum file_kind kind, uint16_t reason,
                         const void *data, uint32_t n);
void wio_file_last_words(struct file_link *l, enum wio_bye_reason reason);

/* ---- rx.c ---- */
/** Read and deliver. @return events */
int wio_file_rx_run(struct file_link *l);
/** Is there something to read? */
bool wio_file_rx_ready(struct file_link *l);
/** Is it the piece of a write that a process who has ended since did not finish? */
bool wio_file_rx_torn(const struct file_link *l);

/* ---- events.c, dump.c ---- */
/** Tell p2p what has happened. Upcalls run. @return events */
int wio_file_dispatch(struct file_iface *f);
int wio_file_progress(struct wio_iface *iface, enum wio_progress_how how);
int wio_file_progress_ep(struct wio_ep *ep);
int wio_file_event_fd(struct wio_iface *iface, enum wio_progress_how how);
int wio_file_arm(struct wio_iface *iface, enum wio_progress_how how);
bool wio_file_needs_service(struct wio_iface *iface);
int64_t wio_file_next_timer(struct wio_iface *iface, enum wio_progress_how how);
void wio_file_dump(struct wio_iface *iface, struct wio_ep *ep, struct wio_strbuf *out);

#endif
