/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file relay.h
 * The upper end of a branch of the relay tree: a leader that sends the packed table to others. It
 * uses only sockets and the FETCH message, so tests and benchmarks can act as leaders of many
 * hosts.
 */
#ifndef WIO_BOOT_RELAY_H
#define WIO_BOOT_RELAY_H

#include "boot/boot_conn.h"

struct wio_relay {
    int kind; /* first: what epoll's pointer of the listener leads to */
    int child_kind;
    int fd; /* listener, -1 = not open */
    uint16_t port;
    int epfd;
    const struct wio_secret *secret;
    struct wio_log *log;
    uint8_t universe[WIO_UNIVERSE_ID];
    uint32_t expected, served, nchildren; /* will come, have it, are connected */
    struct wio_list children, dead;
    const void *packed; /* NULL = not there yet; borrowed */
    size_t bytes;
    struct wio_log_gate refused;
};

void wio_relay_init(struct wio_relay *r);
/**
 * Listen. Everything pointed to must outlive the relay.
 * @param kind, child_kind  what struct wio_bc.kind is for: the owner's way to tell epoll's events
 *        apart. Those of @p kind belong to wio_relay_accept, those of @p child_kind to
 *        wio_relay_event.
 * @param bind_host  NULL = every address
 * @return 0; SYSTEM, LIMIT, CONFIG, JOIN
 */
int wio_relay_open(struct wio_relay *r, int epfd, int kind, int child_kind, const char *bind_host,
                   const struct wio_secret *secret, struct wio_log *log,
                   const struct wio_boot_relay *what);
void wio_relay_accept(struct wio_relay *r);
/** @param ptr  of epoll */
void wio_relay_event(void *ptr, uint32_t events);
/** The table has arrived: send it to all that have asked or will ask. NULL = it is freed:
 * connections that are sending it end. */
void wio_relay_table(struct wio_relay *r, const void *packed, size_t n);
/** Drop connections that take too long to authenticate; free the dropped. Call after each round. */
void wio_relay_sweep(struct wio_relay *r, int64_t now);
void wio_relay_close(struct wio_relay *r);

#endif
