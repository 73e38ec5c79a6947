/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file boot_conn.h
 * One connection of the rendezvous: handshake, then frames of boot_wire.h, over TCP or a Unix
 * socket, never blocking. The service, leaders and followers use it and interpret the frames.
 */
#ifndef WIO_BOOT_CONN_H
#define WIO_BOOT_CONN_H

#include "auth/tls.h"
#include "boot/boot_wire.h"
#include "boot/detour.h"

enum wio_bc_state {
    WIO_BC_CONNECTING, /* connect() under way */
    WIO_BC_DETOUR,     /* a relay was asked for the other side */
    WIO_BC_AUTH,
    WIO_BC_OPEN,
    WIO_BC_CLOSED
};

struct wio_bc;
struct wio_bc_upcalls {
    /** A whole frame. Return < 0 to close the connection (the code becomes its error). */
    int (*frame)(struct wio_bc *c, enum wio_boot_type type, const uint8_t *payload, size_t n);
    /** The handshake succeeded. May be NULL. */
    int (*opened)(struct wio_bc *c);
    /** Where to put the payload of a TABLE of n bytes; NULL result closes. NULL function: TABLE is
     * refused. */
    void *(*table_room)(struct wio_bc *c, size_t n);
};

#define WIO_BC_FDS 2 /* descriptors in transit at a time */

struct wio_bc {
    int kind;             /* the owner's: tells what an event is about */
    struct wio_list node; /* the owner's */
    int fd;
    uint8_t state;
    bool unix_socket;
    bool refused, garbage; /* handshake: refused by the other side; no WaitIO there */
    uint32_t allowed;      /* bit per wio_boot_type that may come */
    uint32_t events;       /* registered with epoll */
    int epfd;              /* there */
    const struct wio_bc_upcalls *up;
    void *owner;
    struct wio_detour *detour; /* while CONNECTING and DETOUR, when it goes through a relay */
    struct wio_auth *auth;     /* until AUTH is over */
    struct wio_tls *tls;       /* WAITIO_TLS=1, from OPEN on */
    uint8_t hdr[WIO_BOOT_HDR];
    uint8_t *payload;
    uint32_t have, need; /* of the payload; have_hdr == WIO_BOOT_HDR then */
    uint8_t have_hdr;
    bool foreign_payload; /* came from table_room */
    uint8_t *out;         /* frames to be written */
    size_t out_len, out_off, out_cap;
    const uint8_t *tail; /* borrowed bytes written after out: the table image */
    size_t tail_len, tail_off;
    int tx_fd[WIO_BC_FDS], rx_fd; /* descriptors to pass, in order / received; -1 = none */
    size_t tx_fd_at[WIO_BC_FDS];  /* offsets in out of the frames that carry them */
    int error;                    /* when CLOSED: WAITIO_ERR_*, 0 = orderly end of stream */
    char text[300];               /* why */
    uint64_t rx_bytes, tx_bytes, messages;
};

/** Take over @p fd (connected or, with @p connecting, about to be) and begin the handshake.
 *  Purpose BOOT over TCP, LEADER over a Unix socket. @return 0; NOMEM, SYSTEM: fd is closed then */
int wio_bc_start(struct wio_bc *c, int fd, enum wio_auth_role role, bool unix_socket,
                 bool connecting, const struct wio_secret *secret, const struct wio_bc_upcalls *up,
                 void *owner);
/** The socket, of a connection that is still about to be made, leads to a relay: ask that one for
 * @p place first. @return 0; NOMEM, SYSTEM: the connection is closed then */
int wio_bc_through(struct wio_bc *c, const struct wio_secret *secret,
                   const struct wio_place *place);
/** Read and write what epoll reports as possible; upcalls run inside. @return false when the
 * connection has ended (error, text) */
bool wio_bc_event(struct wio_bc *c, uint32_t events);
/** Register or update with epoll what this connection waits for. @return 0 or -errno */
int wio_bc_arm(struct wio_bc *c, int epfd);
/** Queue a frame and try to write. The next event reports a broken connection. @return 0; NOMEM */
int wio_bc_send(struct wio_bc *c, enum wio_boot_type type, const void *payload, size_t n);
/** Same, passing descriptor @p fd (borrowed until written) along; at most WIO_BC_FDS at a time.
 *  @return 0; NOMEM, LIMIT */
int wio_bc_send_fd(struct wio_bc *c, enum wio_boot_type type, const void *payload, size_t n,
                   int fd);
/** Same, for a TABLE whose bytes stay valid until written or closed. */
int wio_bc_send_table(struct wio_bc *c, const void *image, size_t n);
bool wio_bc_flushed(const struct wio_bc *c);
/** Close and free what it holds; idempotent. */
void wio_bc_close(struct wio_bc *c);
/** Own memory held, for reports. */
size_t wio_bc_bytes(const struct wio_bc *c);
/** The identity that both sides of every rendezvous connection use. */
struct wio_auth_id wio_bc_identity(void);

#endif
