/* SPDX-License-Identifier: BSD-3-Clause */
/** @file join.h  Inside of wio_join: join.c (roles, errors), embed.c (the service in rank 0),
 * leader.c, follower.c. */
#ifndef WIO_BOOT_JOIN_H
#define WIO_BOOT_JOIN_H

#include <pthread.h>

#include "boot/boot_conn.h"
#include "boot/boot_table.h"
#include "boot/detour.h"
#include "boot/mail.h"

#define WIO_JOIN_ADDRS 8
#define WIO_NS_PER_MS 1000000
/** After the loss of the rendezvous with our registration, try to connect for this long before the
 * join fails.
 */
#define WIO_JOIN_LOST_NS INT64_C(1500000000)

struct wio_joiner {
    const struct wio_join_params *p;
    struct wio_log *log;
    int64_t start_ns, deadline_ns;
    int64_t say_ns;           /* when to log next which processes are missing */
    struct wio_boot_reg reg;  /* my registration */
    struct wio_tab_host host; /* my addresses */
    char name[WIO_BOOT_NAME]; /* of this host */
    /* where the rendezvous is */
    char master[128];
    uint16_t port;
    bool in_folder;  /* no address: all meet in the directory that cfg->scratch_dir names */
    char where[720]; /* the same for messages: "HOST port PORT", or the directory */
    struct sockaddr_storage addr[WIO_JOIN_ADDRS];
    int naddr;
    struct wio_relays relays; /* tried after the addresses */
    bool master_loopback;     /* the name is a loopback one */
    /* the service, when it is to be here */
    bool want_service, probed;
    bool taken; /* a program that does not answer has the port of our service */
    int64_t next_try_ns;
    struct wio_service *service;
    pthread_t thread;
    int stop_fd;
    /* what is known for messages */
    struct wio_boot_progress progress;
    bool have_progress; /* progress comes from the service; otherwise only note counts */
    char note[400];     /* last problem with the connection to the service */
    char refused[240];  /* the last process of this host that the leader did not take, and why */
    int64_t lost_ns;    /* when the rendezvous with our registration was lost; 0 = it was not */
    /* the result */
    void *map;
    size_t map_bytes;
    bool map_shared; /* a mapping, otherwise from the heap */
    int hold_fd;     /* see wio_table; 0 = none */
};

/** Why the join timed out, as this thread's error. @return TIMEOUT */
int wio_join_timeout(struct wio_joiner *j);
/** Advice to add to "choose another WAITIO_MASTER_PORT", or "". */
const char *wio_join_which_port(const struct wio_joiner *j);
/** Warn, when it is time, which processes are missing and which variables are needed to start them
 * by hand: after 10 s, then every 30 s, from rank 0 of each block. */
void wio_join_say(struct wio_joiner *j, int64_t now);
/** Keep a problem for the error text, log it when it is new. */
void wio_join_note(struct wio_joiner *j, const char *fmt, ...) WIO_PRINTF(2, 3);
/** Close a connection that was kept open (see hold_fd). */
void wio_join_unhold(struct wio_joiner *j);
/** Milliseconds until the earliest of @p n times (INT64_MAX = never), for epoll; 0 when one has
 * passed. */
int wio_join_sleep(const int64_t *times, int n);

/** Rank 0 of PB 0 whose master host is here: start the service unless it runs. A port taken by a
 * WaitIO service is fine, this process is its client then. Cheap to call again and again. @return
 * 0; JOIN: another program has it; others */
int wio_join_embed(struct wio_joiner *j);
/** Wait until the service has delivered every table (@p code 0), or send the error to all; then
 * it ends. */
void wio_join_unembed(struct wio_joiner *j, int code, const char *text);

/** Lead: talk to the service for all processes of this host. @param listener bound abstract socket,
 * -1 = only for this process.
 *  @return 0 with map set, or the error */
int wio_join_lead(struct wio_joiner *j, int listener);
/** Follow the leader at the other end of @p fd. @return 0 with map set; 1: the leader died, elect a
 * new one; the error */
int wio_join_follow(struct wio_joiner *j, int fd);

#endif
