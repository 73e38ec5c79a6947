/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file fetch.h
 * The lower end of a branch of the relay tree: get the packed table from the leader that the
 * service named. Bounded in time; after a failure the caller asks the service.
 */
#ifndef WIO_BOOT_FETCH_H
#define WIO_BOOT_FETCH_H

#include "boot/boot_conn.h"
#include "boot/boot_table.h"

enum wio_fetch_state { WIO_FETCH_IDLE, WIO_FETCH_GOING, WIO_FETCH_DONE, WIO_FETCH_FAILED };

struct wio_fetch {
    struct wio_bc bc; /* first */
    enum wio_fetch_state state;
    int kind, epfd;
    const struct wio_secret *secret;
    struct wio_boot_parent from;
    char host[WIO_BOOT_NAME]; /* ours */
    uint64_t identity;        /* ours: loopback addresses are for the same host */
    uint32_t next;            /* address to try */
    int64_t connect_ns;       /* this address has time until then */
    int64_t quiet_ns;         /* next byte expected until then; moved by each */
    uint64_t seen;            /* bytes that had come */
    void *packed;             /* DONE: the caller takes it, from wio_os_alloc */
    size_t bytes;
    char why[WIO_BOOT_WHY]; /* FAILED, GOING: what was wrong with the addresses so far */
};

void wio_fetch_init(struct wio_fetch *f);
/** Begin; sets state GOING, or FAILED with why. @param kind  as in struct wio_bc */
void wio_fetch_start(struct wio_fetch *f, int epfd, int kind, const struct wio_secret *secret,
                     const struct wio_boot_parent *from, const char *my_host, uint64_t identity);
/** Something is possible on the connection. Look at state afterwards. */
void wio_fetch_event(struct wio_fetch *f, uint32_t events);
/** Time has passed. */
void wio_fetch_tick(struct wio_fetch *f, int64_t now);
/** When wio_fetch_tick wants to be called at the latest; INT64_MAX = need not. */
int64_t wio_fetch_next_ns(const struct wio_fetch *f);
/** Close, forget and free; state IDLE. Idempotent. */
void wio_fetch_close(struct wio_fetch *f);

#endif
