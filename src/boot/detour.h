/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file detour.h
 * Connections through a relay (tools/waitio-relay), as its clients see them. A client connects to
 * the relay, both prove the job secret (purpose RELAY), the client asks, the relay answers:
 *
 *   REGISTER  here is PLACE       -> OPEN; then WANTED whenever somebody calls it
 *   CALL      connect me to PLACE -> OPEN; from then on the stream leads to whoever is at PLACE
 *   ANSWER    I am PLACE, this connection is for the caller whose number I was told -> OPEN
 *   DECLINE   (on a registered connection) I cannot answer that caller
 *   STATUS    how are you?        -> OPEN with a text
 *
 * or REFUSED with a code and a text. Whoever talks through the relay begins with a handshake of its
 * own: the relay only carries it. A PLACE is a process of a universe, or the rendezvous of a job.
 */
#ifndef WIO_BOOT_DETOUR_H
#define WIO_BOOT_DETOUR_H

#include <sys/socket.h>

#include "auth/auth.h"
#include "base/base.h"

/* ---- the relays of WAITIO_RELAY ---- */
#define WIO_RELAYS_MAX 8
struct wio_relay_at {
    char name[96]; /* as configured, for messages */
    struct sockaddr_storage addr;
    socklen_t len;
};
struct wio_relays {
    int n;
    struct wio_relay_at at[WIO_RELAYS_MAX];
};
/** Read and resolve WAITIO_RELAY. @blocking on names
 * @return 0 (also: none are named); CONFIG naming the item */
int wio_relays_read(const struct wio_config *cfg, const struct wio_secret *secret,
                    struct wio_relays *out);

/* ---- messages: 40 bytes, then the text ---- */
enum wio_detour_type {
    WIO_DETOUR_REGISTER = 1,
    WIO_DETOUR_CALL,
    WIO_DETOUR_ANSWER,
    WIO_DETOUR_DECLINE,
    WIO_DETOUR_STATUS,
    WIO_DETOUR_OPEN = 16, /* by the relay from here on */
    WIO_DETOUR_REFUSED,
    WIO_DETOUR_WANTED,
    WIO_DETOUR_TYPES
};
#define WIO_DETOUR_VERSION 1
#define WIO_DETOUR_HEAD 40
#define WIO_DETOUR_TEXT 200
#define WIO_DETOUR_MAX (WIO_DETOUR_HEAD + WIO_DETOUR_TEXT)

struct wio_place {
    uint8_t id[WIO_UNIVERSE_ID]; /* of the universe, or made of the job id */
    uint32_t rank;               /* universe rank, or WIO_PLACE_RENDEZVOUS */
};
#define WIO_PLACE_RENDEZVOUS UINT32_MAX
/** The place of a job's rendezvous. */
struct wio_place wio_place_of_job(const char *job_id, uint16_t port);
bool wio_place_equal(const struct wio_place *a, const struct wio_place *b);

struct wio_detour_msg {
    enum wio_detour_type type;
    struct wio_place place;
    uint64_t number; /* of a call */
    int code;        /* REFUSED, DECLINE: WAITIO_ERR_* */
    char text[WIO_DETOUR_TEXT + 1];
};
/** @param out  room for WIO_DETOUR_MAX bytes. @return bytes */
size_t wio_detour_put(uint8_t *out, const struct wio_detour_msg *m);

/** A message on its way in. All zero at first. Reads no byte past the message. */
struct wio_detour_in {
    uint8_t buf[WIO_DETOUR_MAX];
    uint16_t have;
};
/** @return 1: *m is whole; 0: not yet; -errno: broken, -EPIPE: ended, -EPROTO: not a message */
int wio_detour_read(struct wio_detour_in *in, int fd, struct wio_detour_msg *m);

/* ---- one request ---- */
enum wio_detour_state { WIO_DETOUR_RUNNING, WIO_DETOUR_DONE, WIO_DETOUR_FAILED };
struct wio_detour {
    struct wio_auth auth;
    struct wio_detour_in in;
    struct wio_detour_msg answer; /* DONE, or refused */
    uint8_t out[WIO_DETOUR_MAX];
    uint16_t out_len, out_off;
    bool proven;  /* the relay has proven itself: it has our request */
    bool refused; /* FAILED: the relay said so */
    int error;
    char text[320]; /* FAILED: why */
};
/** Options of a socket between a relay and a client: no delay, and a host that does not answer for
 * about @p silence_s seconds ends the connection, when nothing is under way. */
void wio_relay_socket(int fd, double silence_s);
/** The identity that both sides of a connection to a relay use. */
struct wio_auth_id wio_relay_identity(void);
/** Begin. The secret must outlive the detour. @return 0; SYSTEM */
int wio_detour_start(struct wio_detour *d, const struct wio_secret *secret,
                     enum wio_detour_type type, const struct wio_place *place, uint64_t number);
/** Write and read what is possible on a connected non-blocking socket. DONE: all later bytes are
 * the other side's, none of them was read. */
enum wio_detour_state wio_detour_drive(struct wio_detour *d, int fd);
/** Does it wait for the socket to take bytes? */
bool wio_detour_writes(const struct wio_detour *d);

#endif
