/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file lines.h
 * What makes a process reachable through relays: one registered connection to each (a *line*), kept
 * or opened again as long as this lives. When a relay says that somebody calls, a second connection
 * to it is opened and handed to the owner like one that a listener accepted. So a process behind
 * them needs outgoing connections only.
 *
 * Never blocks; one thread at a time. The owner watches wio_lines_fd() (level-triggered) and calls
 * wio_lines_run() when it is readable or the time is up.
 */
#ifndef WIO_BOOT_LINES_H
#define WIO_BOOT_LINES_H

#include "boot/detour.h"

struct wio_lines;
struct wio_lines_params {
    const struct wio_relays *relays; /* copied */
    const struct wio_secret *secret; /* outlives the lines */
    struct wio_log *log;
    enum wio_log_comp comp;
    struct wio_place place; /* of the owner */
    double silence_s;       /* a relay's host that is silent for so long is gone */
    /** A caller's stream: a connected non-blocking socket, now the owner's. The caller begins with
     * a handshake. @param relay  index of the relay that carries it */
    void (*take)(void *owner, int fd, int relay);
    void *owner;
};
/** @return 0; NOMEM, SYSTEM */
int wio_lines_open(const struct wio_lines_params *p, struct wio_lines **out);
/** An epoll set: readable when wio_lines_run() has something to do. */
int wio_lines_fd(const struct wio_lines *l);
/** Do what is possible now; calls take(). @return when to call again at the latest (monotonic) */
int64_t wio_lines_run(struct wio_lines *l, int64_t now);
/** How many relays this process is registered at. */
int wio_lines_registered(const struct wio_lines *l);
/** Close all; nobody is told (also in the child of a fork). NULL is fine. */
void wio_lines_close(struct wio_lines *l);

#endif
