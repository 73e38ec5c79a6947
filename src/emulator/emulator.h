/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file emulator.h
 * Transport mpi: WaitIO's messages as messages of one MPI job. Built once per MPI, loaded on
 * demand; of libwaitio it sees waitio_transport.h only.
 *
 * A link needs no connecting: MPI has done that. What it sends are *frames*: MPI messages with the
 * tag of frames. A frame is a head of 2 bytes, those words of WaitIO's header that the receiver
 * cannot foresee, and a payload of up to EMU_INLINE bytes; MPI tells its source and length. A word
 * is foreseen that has grown since the header before it on this link as much as that one had grown
 * itself; mostly all five are. So a message of 8 bytes takes 10, which Open MPI carries over shared
 * memory in three quarters of the time of 11. Frames arrive in receives that are always posted,
 * from any source. Their order is MPI's.
 *
 * A larger payload is an MPI message of its own, from its sender's buffer into its receiver's:
 *
 *   announced by       sent                                          tag of
 *   SMALL, <= EMU_COPY when the receiver's ASK has come; until then  asked data
 *                      its sender may go on with a copy (keep()),
 *                      which leaves at once where only calls of the
 *                      program's would hear that ASK
 *   SMALL, longer      at once                                       small data
 *   other frames       at once                                       bulk data
 *
 * Payloads of one tag are in the order of their frames. A frame that is not SMALL waits until no
 * payload of its link is under way (libwaitio wants the pieces of a message one after the other);
 * SMALL ones pass it.
 *
 * Threads: everything runs under libwaitio's lock. MPI is called only where it allows (emu_may):
 * never by a thread of libwaitio's own, unless MPI_THREAD_MULTIPLE was granted or libwaitio itself
 * is the only user of MPI.
 */
#ifndef EMU_EMULATOR_H
#define EMU_EMULATOR_H

#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "waitio_transport.h"

enum {
    EMU_INLINE = 4000,     /* payload of a frame; the whole is eager in every MPI */
    EMU_COPY = 64 << 10,   /* sends up to this size complete locally */
    EMU_FRAMES = 8,        /* receives posted, at most ... */
    EMU_RESTARTS = 4,      /* ... and so many read ones may wait for a quiet moment */
    EMU_FLYING = 4,        /* bulk payloads of one link that MPI has at a time */
    EMU_SPARE_COPIES = 16, /* buffers of EMU_COPY kept for the next message */
    EMU_ROUND = 64,        /* frames taken in one round */
    EMU_TAG_FRAMES = 1,    /* ... and the next EMU_WAYS of payloads */
    EMU_TAG_SOLO = 1000    /* the same of universes in one process begin here */
};

#define EMU_NOBODY UINT32_MAX

enum emu_kind {
    EMU_MESSAGE = 1,
    EMU_OPEN = 2, /* here begins a link */
    EMU_BYE = 3,  /* here it ends, in this direction */
    EMU_LEFT = 4, /* its sender leaves, and has no link with us */
    EMU_ASK = 5,  /* send the next asked payload */
    EMU_COMES = 6 /* it comes, although nobody has asked: whoever wants none receives it, too */
};
enum { EMU_KINDS = 7 /* the bits of the kind in a head */ };

/** Ways of a payload; for those that are MPI messages of their own also which tag. */
enum emu_way { EMU_BULK = 0, EMU_SMALL = 1, EMU_ASKED = 2, EMU_WAYS = 3, EMU_INSIDE = 3 };
static inline enum emu_way emu_way_of(uint32_t bytes, bool small)
{
    return bytes <= EMU_INLINE ? EMU_INSIDE
           : !small            ? EMU_BULK
           : bytes <= EMU_COPY ? EMU_ASKED
                               : EMU_SMALL;
}

/** Begins every frame. Six bits of it are its *note*: of a payload inside, its length plus 1, if
 * that fits (MPI need not be asked); of a separate one, EMU_NOTE_SAME. */
struct emu_head {
    uint8_t kind;  /* and half of the note, EMU_SMALL_BIT, EMU_SEPARATE_BIT */
    uint8_t words; /* bit per word of the header that follows, and the other half of the note; BYE,
                    * LEFT: the reason */
};
enum {
    EMU_WORDS = WAITIO_TRANSPORT_HEADER / 8,
    EMU_SMALL_BIT = 1 << 6,
    EMU_SEPARATE_BIT = 1 << 7, /* unless EMU_NOTE_SAME, a word with the payload's length ends it */
    EMU_NOTE_HALF = 7,         /* bits of half a note ... */
    EMU_NOTE_KIND = 3,         /* ... and where they lie */
    EMU_NOTE_WORDS = 5,
    EMU_NOTE_MOST = 63,
    EMU_NOTE_SAME = 1 /* as long as the separate payload before it on this link */
};
_Static_assert((int)EMU_WORDS <= (int)EMU_NOTE_WORDS, "words and half of the note share a byte");
static inline void emu_note(struct emu_head *h, uint32_t note)
{
    h->kind |= (uint8_t)((note & EMU_NOTE_HALF) << EMU_NOTE_KIND);
    h->words |= (uint8_t)(note >> 3 << EMU_NOTE_WORDS);
}
static inline uint32_t emu_note_of(const struct emu_head *h)
{
    return (uint32_t)(h->kind >> EMU_NOTE_KIND & EMU_NOTE_HALF) |
           (uint32_t)(h->words >> EMU_NOTE_WORDS) << 3;
}
/** In native byte order: one MPI job. */
struct emu_frame {
    uint8_t pad[6];
    struct emu_head head; /* the message begins here */
    uint8_t body[WAITIO_TRANSPORT_HEADER + EMU_INLINE + 8];
};
enum { EMU_FRAME_BYTES = sizeof(struct emu_frame) - offsetof(struct emu_frame, head) };
_Static_assert(sizeof(struct emu_head) == 2 && offsetof(struct emu_frame, body) == 8,
               "a short message shall be short, and lie well");

/** A frame that was read. */
struct emu_message {
    bool small;
    uint32_t bytes;
    const void *header, *payload; /* payload: when it is inside */
};

/** A doubly linked list; the head is an element, too. */
struct emu_list {
    struct emu_list *next, *prev;
};

/** A frame that MPI may still be reading. */
struct emu_slot {
    struct emu_list node;
    MPI_Request req;
    struct emu_frame frame;
};

/** A message to send. */
struct emu_out {
    struct emu_list node; /* link: small, bulk, asked, flying or kept */
    void *token;          /* libwaitio's; NULL: data is a copy, nobody waits */
    const void *payload;
    uint32_t bytes;
    bool small;
    bool spare, bare; /* its room is EMU_COPY; it has none */
    MPI_Request req;
    uint8_t header[WAITIO_TRANSPORT_HEADER];
    uint8_t data[];
};

/** A payload that is arriving. */
struct emu_in {
    struct emu_list node; /* link: arriving; iface: orphans */
    struct waitio_sink sink;
    MPI_Request req;
    void *whole; /* all of it, when the sink is shorter */
    enum emu_way way;
};

/** A frame that waits for payloads before it. */
struct emu_wait {
    struct emu_list node;
    bool small;
    uint32_t bytes;
    uint8_t header[WAITIO_TRANSPORT_HEADER];
    uint8_t data[]; /* the payload, if it was inside */
};

struct emu_link {
    struct waitio_link base; /* first */
    struct emu_list node;    /* iface->busy: it has something to do */
    struct emu_list all;     /* iface->links */
    bool busy, told_ready, said_open, said_bye, heard_bye;
    int reason, err; /* why it ends; 0: in order */
    char why[192];
    struct emu_list small, bulk; /* to be sent */
    struct emu_list asked;       /* announced; their payloads leave when the receiver asks */
    uint32_t unasked;            /* payloads of asked that left before: so many are asked in vain */
    struct emu_list kept;        /* copied: sent() is to come */
    struct emu_list flying;      /* payloads that MPI has, in order */
    struct emu_list arriving;    /* struct emu_in */
    struct emu_list waiting;     /* struct emu_wait */
    int nflying, narriving, rank;                     /* rank: in comm */
    size_t queued;                                    /* bytes whose sent() is to come */
    int tag_frame, tag[EMU_WAYS], rtag[EMU_WAYS];     /* of frames; of data; the same received */
    uint64_t last_out[EMU_WORDS], last_in[EMU_WORDS]; /* headers */
    uint64_t step_out[EMU_WORDS], step_in[EMU_WORDS]; /* what they had grown by */
    uint32_t long_out;                                /* length of the last separate payload */
};

/** What is known of a member. */
struct emu_peer {
    int rank; /* in comm; -1: not in our MPI job, others reach it */
    struct emu_link *link;
    struct emu_link *next; /* begins when that has ended */
    bool deaf;             /* its messages belong to a link that we have ended: until its goodbye */
    bool left;             /* it leaves: it has said so */
    bool gone;             /* a link with it has ended badly: perhaps it has died */
    bool told;             /* we leave: we have said so to it */
    uint32_t long_in;      /* length of the last separate payload that it announced, on any link */
};

struct waitio_iface {
    const struct waitio_open_params *p; /* NULL: alone */
    const struct waitio_host *host;
    MPI_Comm comm;
    bool made_mpi;   /* we have called MPI_Init_thread */
    bool any_thread; /* every thread may call MPI, one at a time */
    bool callers;    /* ... but not libwaitio's own ones */
    bool down;       /* MPI is over, or was never there */
    bool broken;     /* MPI has failed: it receives nothing any more */
    bool stuck;      /* others did not join: nothing collective can succeed */
    bool told;       /* all know that we leave */
    bool alone;      /* libwaitio has let go of it: nothing but MPI's end is to come */
    bool part;       /* the job is a part of the universe (WAITIO_INSIDE) */
    bool solo;       /* all members are in this process (the conformance suite) */
    int key;         /* of the attribute that tells of MPI_Finalize; MPI_KEYVAL_INVALID: none */
    pthread_t main;  /* who may call when neither any_thread nor callers */
    bool warned;
    uint32_t me, count;
    uint64_t grant;
    struct emu_peer *peer; /* by universe rank */
    uint32_t *member;      /* universe rank of each process of the job, or EMU_NOBODY; solo: NULL */
    uint32_t nmembers;     /* processes of the job */
    struct emu_list links, busy;

    struct emu_frame *in; /* EMU_FRAMES of them */
    MPI_Request in_req[EMU_FRAMES];
    int head;                         /* the receive that is complete next */
    int nread;                        /* those before it that were read, and are to be restarted */
    bool head_here;                   /* it is, and was not delivered yet */
    const struct emu_link *head_read; /* its header was read for this link already */
    uint32_t head_from, head_bytes;   /* its sender, its length */
    bool posted;

    struct emu_list slots, slots_free;   /* frames on their way */
    struct emu_list orphans;             /* payloads that nobody wants */
    struct emu_list unread;              /* struct emu_out: payloads whose receiver has left */
    struct emu_list spares;              /* struct emu_out with room for EMU_COPY */
    struct emu_list bare_outs, bare_ins; /* struct emu_out without room, struct emu_in: to be used
                                          * again, because cold memory takes 50 ns to get */
    int nspares, nbusy;
    bool moved; /* something has happened since the last look at the clock */
    int64_t moved_ns;
};

/* ---- lists ---- */
static inline void emu_list_init(struct emu_list *l)
{
    l->next = l->prev = l;
}
static inline bool emu_list_empty(const struct emu_list *l)
{
    return l->next == l;
}
static inline void emu_list_push(struct emu_list *l, struct emu_list *n)
{
    n->prev = l->prev;
    n->next = l;
    l->prev->next = n;
    l->prev = n;
}
static inline void emu_list_push_front(struct emu_list *l, struct emu_list *n)
{
    emu_list_push(l->next, n);
}
static inline void emu_list_remove(struct emu_list *n)
{
    n->prev->next = n->next;
    n->next->prev = n->prev;
    n->next = n->prev = n;
}
static inline struct emu_list *emu_list_pop(struct emu_list *l)
{
    struct emu_list *n = l->next;
    if (n == l)
        return NULL;
    emu_list_remove(n);
    return n;
}
#define EMU_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/** All that a link waits for is a frame that asks for what it has announced. */
static inline bool emu_only_asked(const struct emu_link *l)
{
    return l->base.state == WAITIO_LINK_READY && l->told_ready && l->said_open && l->nflying == 0 &&
           l->narriving == 0 && emu_list_empty(&l->small) && emu_list_empty(&l->bulk) &&
           emu_list_empty(&l->kept) && emu_list_empty(&l->waiting);
}

/** Is this member in our MPI job? */
static inline bool emu_in_job(const struct waitio_iface *f, uint32_t peer)
{
    return f->peer[peer].rank >= 0;
}

static inline struct emu_link *emu_link_of(struct waitio_link *l)
{
    return (struct emu_link *)(void *)l;
}

/* ---- job.c: MPI itself ---- */
/** May the calling thread call MPI now? */
bool emu_may(struct waitio_iface *f);
/** Make @p rc of an MPI call an error of ours. @return code */
int emu_mpi_error(struct waitio_iface *f, int code, int rc, const char *what);
/** Is the MPI of this process the one this library was built for? @return 0; UNSUPPORTED */
int emu_check_mpi(const struct waitio_host *host);
int emu_gather(struct waitio_iface *f, struct waitio_gathering *g);
/** MPI for an interface whose members are all in this process. @return 0, or an error */
int emu_solo(struct waitio_iface *f);
/** The universe ends: tell those who do not know. MPI goes on until the program, or exit(), ends
 * it; until then @p f lives if @return true. */
bool emu_job_leave(struct waitio_iface *f);
/** In a forked child: MPI is none of ours. */
void emu_job_forget(struct waitio_iface *f);

/* ---- tx.c: sending ---- */
int emu_send(struct waitio_link *link, const void *header, const void *payload, uint32_t bytes,
             unsigned flags, void *token);
int emu_put(struct waitio_link *link, const void *header, const void *payload, uint32_t bytes);
int emu_keep(struct waitio_link *link, void *token);
/** The receiver asks for the next asked payload. */
void emu_asked(struct waitio_iface *f, struct emu_link *l);
size_t emu_queued(const struct waitio_link *link);
/** A frame without a message. @return 0, or an error */
int emu_say(struct waitio_iface *f, struct emu_link *l, enum emu_kind kind, int reason);
/** The same to a member without a link. */
void emu_say_left(struct waitio_iface *f, uint32_t peer);
/** Frames that MPI has read. @return events */
int emu_slots_done(struct waitio_iface *f);
/** The same for payloads whose receiver has left: it receives them when MPI ends. @return whether
 * all are over */
bool emu_unread_done(struct waitio_iface *f);
/** Start what is queued, and report payloads that MPI has read. @return events */
int emu_pump(struct waitio_iface *f, struct emu_link *l);
/** Give back what is queued. */
void emu_drop_queued(struct waitio_iface *f, struct emu_link *l, int err);
void emu_tx_free(struct waitio_iface *f);
/** Free an interface and all that nobody else has. */
void emu_free(struct waitio_iface *f);

/* ---- rx.c: receiving ---- */
int emu_post(struct waitio_iface *f); /* @return 0, or an error */
void emu_unpost(struct waitio_iface *f);
/** Frames that have arrived. @return events; *stop: libwaitio wants no more now */
int emu_frames(struct waitio_iface *f, bool *stop);
/** Payloads and waiting frames of a link. @return events */
int emu_arrivals(struct waitio_iface *f, struct emu_link *l, bool *stop);
/** Payloads that nobody wants. @return events */
int emu_orphans(struct waitio_iface *f);
/** Those that do not come shall not come any more; emu_orphans() ends all others. */
void emu_orphans_cancel(struct waitio_iface *f);
/** The universe has ended: note who says that it leaves, and throw away all else. */
void emu_drain(struct waitio_iface *f);
/** Look for a frame, so often. @return whether one is here */
bool emu_look(struct waitio_iface *f, int looks);
/** Something lies there that libwaitio has not taken. */
bool emu_has_input(struct waitio_iface *f);
/** Let go of what is arriving on a link: libwaitio hears of it (@p tell), or not. */
void emu_abandon(struct waitio_iface *f, struct emu_link *l, bool tell);

/* ---- link.c ---- */
struct emu_link *emu_link_new(struct waitio_iface *f, uint32_t peer);
int emu_connect(struct waitio_iface *f, uint32_t peer, struct waitio_link **link);
void emu_close(struct waitio_link *link, int reason);
void emu_free_link(struct waitio_link *link);
/** Put it among those that progress() looks at. */
void emu_busy(struct waitio_iface *f, struct emu_link *l);
/** libwaitio hears that the link is ready, unless it has heard so. */
void emu_tell_ready(struct waitio_iface *f, struct emu_link *l);
/** The peer has said goodbye. */
void emu_heard_bye(struct waitio_iface *f, struct emu_link *l, int reason);
/** The link ends with an error of ours, or of MPI. */
void emu_link_fail(struct waitio_iface *f, struct emu_link *l, int err, const char *text);
/** All that is to be done for a link. @return events */
int emu_link_work(struct waitio_iface *f, struct emu_link *l, bool *stop);

#endif
