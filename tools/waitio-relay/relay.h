/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file relay.h
 * Inside of waitio-relay: one thread, one event set. See docs/design/relay.md.
 *
 *   main.c    arguments, signals, the loop
 *   guests.c  connections until they are something: handshake, request; strangers
 *   seats.c   who is registered, who has gone, who waits for whom
 *   links.c   pairs of connections that are relayed
 *   pump.c    moving the bytes of one direction
 *   near.c    congestion control
 */
#ifndef WIO_RELAY_PROGRAM_H
#define WIO_RELAY_PROGRAM_H

#include "boot/detour.h"
#include "os/os.h"

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)
#define GUEST_NS (10 * NS_PER_S) /* from accept to the request */
#define LATE_NS (2 * NS_PER_S)   /* who has never been here may still register */
#define AGAIN_NS (NS_PER_S / 2)  /* who has gone may come again: a line can break */
#define STRANGERS_MAX 256        /* unproven connections, about 2 KiB each */
#define CALLS_MAX 4096           /* callers that wait */
#define TOMBS_MAX 65536          /* places that are remembered as gone, about 80 bytes each */
#define PIPE_BYTES (256 << 10)   /* asked for; the system may give less */
#define SMALL_BYTES (16u << 10)  /* what comes in such pieces is copied, else spliced */
#define BUCKETS 4096

enum kind { K_LISTENER = 1, K_SIGNAL, K_GUEST, K_END };

enum guest_phase {
    G_SILENT, /* no byte came */
    G_TALKING,
    G_ASKING, /* proven; its request is on the way */
    G_LINE,   /* registered */
    G_CALL,   /* waits for somebody */
    G_PHASES
};

struct seat;
struct relay;

/** A connection that is not relayed (yet). */
struct guest {
    int kind; /* first */
    int fd;   /* -1: over, freed at the end of the round */
    enum guest_phase phase;
    struct wio_list node;  /* relay->guests[phase] or relay->dead_guests */
    struct wio_list call;  /* G_CALL: seat->calls */
    int64_t since;         /* begin of the phase; until G_ASKING: of the connection */
    struct wio_auth *auth; /* until it is proven */
    struct wio_detour_in in;
    struct seat *seat;
    uint64_t number; /* G_CALL */
    bool announced;  /* G_CALL: the line was told */
    bool over;
    char from[64];
};

/** What is known of a place. */
struct seat {
    struct seat *next; /* same bucket */
    struct wio_place place;
    struct guest *line; /* NULL: not registered */
    int64_t gone;       /* when the last line ended; 0: there was none */
    struct wio_list calls;
    struct wio_list tomb; /* relay->tombs, while gone and not registered */
};

/** One side of a relayed link. What came from here waits in rest or pipe for the other side. */
struct end {
    int kind; /* first */
    int fd;
    struct pair *pair;
    bool in, out;   /* the socket may have, may take bytes */
    bool hup;       /* the end of the stream was announced: read until it is found */
    bool eof;       /* nothing more comes from here */
    bool shut;      /* nothing more is sent to here */
    bool bulk;      /* much comes: splice */
    bool tight;     /* the pipe takes no more */
    int pipe[2];    /* -1: none */
    uint32_t piped; /* bytes in the pipe */
    uint8_t *rest;  /* copied bytes that the other side did not take at once, or NULL */
    uint32_t rest_at, rest_len;
    uint64_t bytes;
};

struct pair {
    struct end end[2]; /* 0 has called, 1 has answered */
    struct wio_list node, ready;
    struct wio_place place; /* of the called one */
    int64_t since;
    bool dead;
};

struct relay {
    struct wio_config cfg;
    struct wio_log log;
    struct wio_secret secret;
    int epfd;
    struct {
        int kind, fd;
    } listener, signal;
    uint16_t port;
    char system_cc[16]; /* congestion control that the system chooses */
    bool paused;        /* the listener is off until resume */
    int64_t resume;
    struct wio_list guests[G_PHASES], dead_guests;
    uint32_t nguests[G_PHASES];
    uint32_t max_strangers, max_links;
    struct seat *seats[BUCKETS];
    struct wio_list tombs;
    uint32_t ntombs;
    struct wio_list pairs, ready, dead_pairs;
    uint32_t npairs;
    int64_t silence_ns; /* a host that acknowledges nothing for so long is gone */
    int64_t probe_at;   /* next look at silent hosts */
    int64_t due;        /* earliest deadline of all, unless something was touched since */
    bool touched;
    uint32_t rounds; /* of the loop */
    int sleep_ms;    /* what the last look at the clock gave */
    struct wio_list pipes;
    int64_t spin_ns, moved_ns; /* spin so long after bytes have moved */
    bool moved;
    uint64_t bytes, links, calls; /* since the start */
    struct wio_log_gate refused;
};

/* ---- guests.c ---- */
void rl_accept(struct relay *r);
void rl_guest_event(struct relay *r, struct guest *g, uint32_t events);
/** Close; its seat is left. Freed by rl_guests_bury. */
void rl_guest_over(struct relay *r, struct guest *g);
void rl_guest_phase(struct relay *r, struct guest *g, enum guest_phase phase);
/** Send REFUSED and close. */
void rl_guest_refuse(struct relay *r, struct guest *g, int code, const char *fmt, ...)
    WIO_PRINTF(4, 5);
/** Send a message without text or with one; @return false: the socket did not take it whole */
bool rl_send(int fd, enum wio_detour_type type, const struct wio_place *place, uint64_t number,
             const char *text);
void rl_guests_bury(struct relay *r);
/** Deadlines. @return when the next one is */
int64_t rl_guests_tick(struct relay *r, int64_t now);

/* ---- seats.c ---- */
void rl_register(struct relay *r, struct guest *g, const struct wio_place *place);
void rl_call(struct relay *r, struct guest *g, const struct wio_place *place);
void rl_answer(struct relay *r, struct guest *g, const struct wio_detour_msg *m);
/** A message of a registered guest. */
void rl_decline(struct relay *r, struct guest *g, const struct wio_detour_msg *m);
/** The guest leaves its seat: as a line (its place is gone), or as a caller. */
void rl_seat_leave(struct relay *r, struct guest *g);
/** The registered one that a caller waits for, NULL = there is none. */
struct guest *rl_line_of(const struct guest *caller);
/** Callers of places without a line. @return when to look again */
int64_t rl_seats_tick(struct relay *r, int64_t now);
void rl_seats_free(struct relay *r);
/** "PB-less" name for people: "rank 5 of universe 1f2e3d4c", "the rendezvous of job 1f2e3d4c" */
const char *rl_place_text(const struct wio_place *p, char *buf, size_t n);

/* ---- links.c ---- */
/** Relay between two sockets, which are the link's from now on (also on failure: closed). */
void rl_link(struct relay *r, int caller, int answerer, const struct wio_place *place);
void rl_end_event(struct relay *r, struct end *e, uint32_t events);
/** Go on with links that had more to move than fits a round. */
void rl_links_run(struct relay *r);
int64_t rl_links_tick(struct relay *r, int64_t now);
void rl_links_bury(struct relay *r);
void rl_links_free(struct relay *r);

/* ---- near.c ---- */
void rl_near_listener(struct relay *r);
void rl_near_accepted(const struct relay *r, int fd, const struct sockaddr_storage *peer);

/* ---- pump.c ---- */
/** Move from @p e to @p o what both allow. @return true: stopped for the others' sake, go on soon
 */
bool rl_pump(struct relay *r, struct end *e, struct end *o);
void rl_pump_drop(struct relay *r, struct end *e);
bool rl_pending(const struct end *e);
void rl_pipes_free(struct relay *r);

#endif
