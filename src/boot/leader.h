/* SPDX-License-Identifier: BSD-3-Clause */
/** @file leader.h  Inside of a host's leader: leader.c (life), upstream.c (towards the service),
 * downstream.c (followers), handout.c (the table to them). */
#ifndef WIO_BOOT_LEADER_H
#define WIO_BOOT_LEADER_H

#include "boot/fetch.h"
#include "boot/join.h"
#include "boot/relay.h"

enum leader_kind { LD_LISTENER = 1, LD_UP, LD_FOLLOWER, LD_PARENT, LD_RELAY, LD_CHILD };

struct leader;

/** A process of this host: the leader itself (from == NULL) or a follower. */
struct ld_member {
    struct wio_list node;
    struct wio_boot_reg reg; /* host: index of leader.hosts */
    struct ld_follower *from;
    bool sent;
};

struct ld_follower {
    struct wio_bc bc; /* first */
    struct leader *l;
    struct ld_member *m; /* once registered */
    struct wio_tab_host host;
    bool have_host, dead;
    bool served; /* the table is sent, not acknowledged yet */
    int64_t since_ns;
};

struct leader {
    int listener_kind; /* LD_LISTENER; epoll's pointer for the listener */
    struct wio_joiner *j;
    int epfd, listener;
    /* upstream */
    struct wio_bc up;
    struct wio_mail_line *line; /* its way through the directory; NULL: TCP */
    bool dialling, up_ready;    /* up is in use; up was welcomed */
    bool rest;                  /* the service said: later */
    bool hold; /* the service stays, and this connection shows that the host lives */
    int next_addr;
    int64_t next_dial_ns, dial_deadline_ns, backoff_ns;
    uint32_t hosts_sent;
    int64_t flush_ns,
        query_ns; /* when to send what has gathered / to ask who is missing; INT64_MAX = not */
    bool asked;
    /* downstream */
    struct wio_list members, followers, dead;
    uint32_t nfollowers;
    struct wio_log_gate strangers;
    uint32_t owed; /* members on this host that have not acknowledged the table yet */
    struct wio_tab_host *hosts;
    uint32_t nhosts, hosts_cap;
    /* the tree of leaders */
    struct wio_fetch fetch; /* from our parent */
    struct wio_relay relay; /* to our children */
    /* the end */
    int64_t final_ns; /* after the deadline: last wait for the list of who is missing */
    void *packed;     /* table as it arrives; kept while others may ask for it */
    size_t packed_bytes;
    void *spare; /* of a second one, which is not needed */
    int memfd;   /* of the map; -1: it is our own memory */
    void *map;
    size_t map_bytes;
    bool have_table;
    bool released; /* the service has our acknowledgement, and no child still waits */
    bool refused;  /* the leader's own registration was refused */
    int result;    /* < 0: error, with text */
    char text[WIO_BOOT_TEXT];
};

/** End with an error; the text is kept. */
void wio_ld_fail(struct leader *l, int code, const char *fmt, ...) WIO_PRINTF(3, 4);
/** Let go of the table. */
void wio_ld_free_map(struct leader *l);
/** New registration: goes upstream within a few milliseconds. @return NULL when out of memory */
struct ld_member *wio_ld_add_member(struct leader *l, const struct wio_boot_reg *reg,
                                    const struct wio_tab_host *host, struct ld_follower *from);

/* upstream.c */
/** Connect, send, ask: all that is due. */
void wio_ld_up_work(struct leader *l, int64_t now);
void wio_ld_up_event(struct leader *l, uint32_t events);
/** Withdraw a registration. */
void wio_ld_up_leave(struct leader *l, const struct ld_member *m);
/** Ask the service who is missing. */
void wio_ld_up_ask(struct leader *l);
/** Close the connection. In a directory: what was sent is written first. */
void wio_ld_up_close(struct leader *l);
/** Acknowledge the table. */
void wio_ld_up_ack(struct leader *l);
/** The table has arrived, from the service or the parent: unpack it for the host, start to pass it
 * on.
 *  @return 0; PROTOCOL, NOMEM */
int wio_ld_take_table(struct leader *l, size_t n);

/* tree.c */
/** RELAY has come: this leader gets children. */
int wio_ld_on_relay(struct leader *l, const uint8_t *p, size_t n);
/** PARENT has come: the leader to ask for the table. */
int wio_ld_on_parent(struct leader *l, const uint8_t *p, size_t n);
/** An event on the connection to the parent, or a time limit. */
void wio_ld_parent_event(struct leader *l, uint32_t events);
void wio_ld_parent_work(struct leader *l, int64_t now);
/** After the table: until everybody on this host has it, and serve the children until the service
 * releases us, within limits. */
void wio_ld_linger(struct leader *l);

/* downstream.c */
void wio_ld_down_accept(struct leader *l);
void wio_ld_down_event(struct ld_follower *f, uint32_t events);
/** Pass on the progress of the join. */
void wio_ld_down_progress(struct leader *l);
/** Pass on a refusal; @p f NULL = to all. */
void wio_ld_down_refuse(struct leader *l, struct ld_follower *f, const struct wio_boot_refuse *m);
/** Send the table to the followers. A follower that lost it may connect again until the leader
 * ends. */
void wio_ld_down_table(struct leader *l);
/** Drop followers that take too long to register, and free the dropped. */
void wio_ld_down_sweep(struct leader *l, int64_t now);
void wio_ld_down_close(struct leader *l);

/* handout.c */
/** A follower has registered although the table is here: it lost the table, or is no member.
 *  @return 0; JOIN */
int wio_ld_down_late(struct ld_follower *f, const struct wio_boot_reg *reg);
/** A follower has the table. @return 0; PROTOCOL */
int wio_ld_down_receipt(struct ld_follower *f);

#endif
