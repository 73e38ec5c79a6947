/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file boot_wire.h
 * Messages of the rendezvous, behind the handshake of auth.h. Pure functions on bytes: encode,
 * decode, validate. Little-endian, fixed sizes. The same messages travel between a process and the
 * leader of its host (Unix socket) and between leader and service (TCP).
 *
 *   client -> service                                service -> client
 *   HELLO   job id, pid, host name                   WELCOME   blocks expected, complete or not
 *   HOSTS   distinct address lists                   REFUSE    one registration, or the connection
 *   REG     batch of registrations                   PROGRESS  how many came, who is missing
 *   LEAVE   a registration is withdrawn              TABLE     the packed address table
 *   QUERY   asks for PROGRESS                        TABLE_FD  (leader only) the image as a
 *   ACK     the table has reached everybody here               descriptor
 *   PORT    where the children of this leader may    HOLD_FD   (leader only) the connection to a
 *           ask it for the table                               service that stays: hold it open
 *   FETCH   asks for the table: a parent; or the     RELAY     hand the table to so many leaders
 *           service, when the parent failed          PARENT    ask this leader for the table
 *                                                    DONE      all is well, the service stays
 *
 * Version 1. What changed: first version.
 */
#ifndef WIO_BOOT_WIRE_H
#define WIO_BOOT_WIRE_H

#include "boot/boot.h"

#define WIO_BOOT_MAGIC 0x424f4957u /* "WIOB" */
#define WIO_BOOT_VERSION 1
#define WIO_BOOT_HDR 12
#define WIO_BOOT_PAYLOAD_MAX (64u << 10) /* of every message but TABLE */
#define WIO_BOOT_IMAGE_MAX (UINT32_C(3) << 30)
#define WIO_BOOT_NAME 64               /* host names, shortened, with the final NUL */
#define WIO_BOOT_TEXT 1000             /* refusals and lists, bytes */
#define WIO_BOOT_NPROCS_MAX (1u << 24) /* limit of processes per block */
#define WIO_BOOT_NPB_MAX (1u << 20)

enum wio_boot_type {
    WIO_BOOT_HELLO = 1,
    WIO_BOOT_WELCOME,
    WIO_BOOT_HOSTS,
    WIO_BOOT_REG,
    WIO_BOOT_LEAVE,
    WIO_BOOT_QUERY,
    WIO_BOOT_PROGRESS,
    WIO_BOOT_REFUSE,
    WIO_BOOT_TABLE,
    WIO_BOOT_ACK,
    WIO_BOOT_TABLE_FD,
    WIO_BOOT_HOLD_FD,
    WIO_BOOT_RELAY,
    WIO_BOOT_PORT,
    WIO_BOOT_PARENT,
    WIO_BOOT_FETCH,
    WIO_BOOT_DONE,
    WIO_BOOT_TYPES
};

struct wio_boot_hdr {
    uint16_t type;
    uint32_t len; /* payload bytes that follow */
};
void wio_boot_put_hdr(uint8_t out[WIO_BOOT_HDR], enum wio_boot_type type, uint32_t len);
/** @return 0; PROTOCOL (magic, type, length), VERSION naming both */
int wio_boot_get_hdr(const uint8_t in[WIO_BOOT_HDR], struct wio_boot_hdr *h);

/* Every put_* writes at most WIO_BOOT_PAYLOAD_MAX bytes to @p out and returns how many; every get_*
 * takes the payload of one message and returns 0 or PROTOCOL, leaving *m undefined. Texts are
 * NUL-terminated and printable after decoding. */

struct wio_boot_hello {
    uint32_t pid;
    char job[WIO_BOOT_NAME], host[WIO_BOOT_NAME];
};
#define WIO_BOOT_HELLO_MAX (8 + 2 * WIO_BOOT_NAME)
size_t wio_boot_put_hello(uint8_t *out, const struct wio_boot_hello *m);
int wio_boot_get_hello(const uint8_t *in, size_t n, struct wio_boot_hello *m);

struct wio_boot_welcome {
    uint32_t npb;   /* 0: not known yet */
    uint32_t flags; /* WIO_BOOT_COMPLETE, WIO_BOOT_STAYS */
    char job[WIO_BOOT_NAME];
};
#define WIO_BOOT_COMPLETE 1u
#define WIO_BOOT_STAYS 2u /* the service lives as long as the universe: DONE and HOLD_FD */
#define WIO_BOOT_WELCOME_MAX (12 + WIO_BOOT_NAME)
size_t wio_boot_put_welcome(uint8_t *out, const struct wio_boot_welcome *m);
int wio_boot_get_welcome(const uint8_t *in, size_t n, struct wio_boot_welcome *m);

/* HOSTS: u32 index of the first, u32 count, then per host 12 bytes and 24 per address.
 * Registrations of the same connection name hosts by these indices, which count up from 0 without
 * gaps. */
#define WIO_BOOT_HOST_MAX (12 + 24 * WIO_HOST_ADDRS)
#define WIO_BOOT_HOSTS_PER_MSG 256
size_t wio_boot_put_hosts(uint8_t *out, uint32_t first, const struct wio_tab_host *h,
                          uint32_t count);
/** @param[out] hosts  room for WIO_BOOT_HOSTS_PER_MSG */
int wio_boot_get_hosts(const uint8_t *in, size_t n, uint32_t *first, struct wio_tab_host *hosts,
                       uint32_t *count);
/** Same content (address count, addresses, identity)? */
bool wio_boot_host_equal(const struct wio_tab_host *a, const struct wio_tab_host *b);
/** @return 0; PROTOCOL: address count, family or prefix out of range */
int wio_boot_host_check(const struct wio_tab_host *h);

struct wio_boot_reg {
    uint32_t pbid, npb, nprocs, rank; /* nprocs: of the block */
    uint32_t host;                    /* index among this connection's hosts */
    uint32_t pid;
    uint32_t incarnation; /* random per join, tells a process from an impostor of its rank */
    uint16_t port, caps;
    uint64_t token;
};
#define WIO_BOOT_REG_BYTES 40
#define WIO_BOOT_REGS_PER_MSG 1024
size_t wio_boot_put_regs(uint8_t *out, const struct wio_boot_reg *m, uint32_t count);
/** @param[out] count  registrations in the payload, each to be read with wio_boot_reg_at */
int wio_boot_get_regs(const uint8_t *in, size_t n, uint32_t *count);
void wio_boot_reg_at(const uint8_t *in, uint32_t i, struct wio_boot_reg *m);

struct wio_boot_leave {
    uint32_t pbid, rank, incarnation;
};
#define WIO_BOOT_LEAVE_BYTES 12
size_t wio_boot_put_leave(uint8_t *out, const struct wio_boot_leave *m);
int wio_boot_get_leave(const uint8_t *in, size_t n, struct wio_boot_leave *m);

struct wio_boot_progress {
    uint32_t joined, expected; /* expected counts only blocks whose size is known */
    char missing[WIO_BOOT_TEXT + 1];
};
#define WIO_BOOT_PROGRESS_MAX (10 + WIO_BOOT_TEXT)
size_t wio_boot_put_progress(uint8_t *out, const struct wio_boot_progress *m);
int wio_boot_get_progress(const uint8_t *in, size_t n, struct wio_boot_progress *m);

struct wio_boot_refuse {
    int32_t code;         /* WAITIO_ERR_*, always < 0 after decoding */
    uint32_t pbid, rank;  /* which process; WIO_BOOT_ALL = all of this connection */
    uint32_t incarnation; /* which of two that claim this rank; 0 with WIO_BOOT_ALL */
    uint32_t flags;       /* WIO_BOOT_RETRY */
    char text[WIO_BOOT_TEXT + 1];
};
#define WIO_BOOT_ALL UINT32_MAX
#define WIO_BOOT_RETRY 1u /* temporary: try again until the timeout */
#define WIO_BOOT_REFUSE_MAX (22 + WIO_BOOT_TEXT)
size_t wio_boot_put_refuse(uint8_t *out, const struct wio_boot_refuse *m);
int wio_boot_get_refuse(const uint8_t *in, size_t n, struct wio_boot_refuse *m);

/* The relay tree. The universe's id keeps a child from taking another run's table. */

struct wio_boot_relay {
    uint8_t universe[WIO_UNIVERSE_ID];
    uint32_t children; /* leaders that will be sent here; at least 1 */
};
#define WIO_BOOT_CHILDREN_MAX 1024
#define WIO_BOOT_RELAY_BYTES (WIO_UNIVERSE_ID + 4)
size_t wio_boot_put_relay(uint8_t *out, const struct wio_boot_relay *m);
int wio_boot_get_relay(const uint8_t *in, size_t n, struct wio_boot_relay *m);

#define WIO_BOOT_WHY 240 /* reasons in the messages below, with the final NUL */
struct wio_boot_port {
    uint16_t port; /* 0: cannot serve children, and why */
    char why[WIO_BOOT_WHY];
};
#define WIO_BOOT_PORT_MAX (4 + WIO_BOOT_WHY)
size_t wio_boot_put_port(uint8_t *out, const struct wio_boot_port *m);
int wio_boot_get_port(const uint8_t *in, size_t n, struct wio_boot_port *m);

struct wio_boot_parent {
    uint8_t universe[WIO_UNIVERSE_ID];
    uint64_t bytes; /* of the packed table */
    uint16_t port;
    char name[WIO_BOOT_NAME]; /* of its host */
    struct wio_tab_host host;
};
#define WIO_BOOT_PARENT_MAX (WIO_UNIVERSE_ID + 12 + WIO_BOOT_NAME + 8 + WIO_BOOT_HOST_MAX)
size_t wio_boot_put_parent(uint8_t *out, const struct wio_boot_parent *m);
int wio_boot_get_parent(const uint8_t *in, size_t n, struct wio_boot_parent *m);

struct wio_boot_fetch {
    uint8_t universe[WIO_UNIVERSE_ID];
    char host[WIO_BOOT_NAME]; /* who asks */
    char why[WIO_BOOT_WHY];   /* to the service: what was wrong with the parent; else empty */
};
#define WIO_BOOT_FETCH_MAX (WIO_UNIVERSE_ID + 4 + WIO_BOOT_NAME + WIO_BOOT_WHY)
size_t wio_boot_put_fetch(uint8_t *out, const struct wio_boot_fetch *m);
int wio_boot_get_fetch(const uint8_t *in, size_t n, struct wio_boot_fetch *m);

#endif
