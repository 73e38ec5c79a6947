/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file roster.h
 * Registrations: the service's book-keeping. Pure (no I/O, time is given): registrations per block
 * and rank, which connection ("client") answers for them, refusals, who is missing, and the
 * finished table image.
 *
 * Memory: 28 bytes per registered process and 8 more until its table is delivered, one record of
 * 208 bytes per distinct address list, about 100 bytes per connection.
 */
#ifndef WIO_ROSTER_H
#define WIO_ROSTER_H

#include "boot/boot_table.h"
#include "boot/boot_wire.h"

enum wio_slot_state { WIO_SLOT_FREE, WIO_SLOT_HERE, WIO_SLOT_GONE };

struct wio_roster_slot {
    struct wio_tab_ep ep;
    uint32_t client, pid, incarnation;
};

struct wio_roster_pb {
    uint32_t nprocs, here;
    uint32_t first_rank, first_client, first_pid; /* who told nprocs, for texts */
    uint8_t *state;                               /* wio_slot_state by rank */
    struct wio_roster_slot *slot;
};

struct wio_roster_place {
    uint32_t pbid, rank;
};

struct wio_roster_client {
    char host[WIO_BOOT_NAME];
    struct wio_roster_place
        *places; /* what it registered; stale entries possible after a replacement */
    uint32_t nplaces, cap;
    bool live, acked;
};

struct wio_roster_gone {
    struct wio_roster_place at;
    int64_t since_ns;
    uint32_t client;
};

struct wio_roster {
    char job[WIO_BOOT_NAME];
    uint32_t npb;                                     /* 0 = not known yet */
    uint32_t npb_pbid, npb_rank, npb_client, npb_pid; /* who told npb */
    uint32_t pbs_known, joined;
    uint64_t expected;         /* sum of the known sizes */
    struct wio_roster_pb **pb; /* npb pointers, NULL = no process yet */
    struct wio_tab_host *hosts;
    uint32_t nhosts, hosts_cap;
    uint32_t *host_hash; /* open addressing, index + 1 */
    uint32_t hash_cap;
    struct wio_roster_client *clients; /* index 0 unused */
    uint32_t nclients, clients_cap;
    uint32_t owed; /* live clients with registrations that have not acknowledged the table */
    struct wio_roster_gone *gone;
    uint32_t ngone, gone_cap;
    uint64_t version;                  /* changes with every registration and departure */
    size_t bytes;                      /* memory held */
    uint8_t universe[WIO_UNIVERSE_ID]; /* once complete */
    bool complete;
};

/** @param npb  0 = learn from the first registration */
void wio_roster_init(struct wio_roster *r, const char *job, uint32_t npb);
void wio_roster_free(struct wio_roster *r);

/** New connection. @return its number (> 0), 0 when out of memory */
uint32_t wio_roster_client(struct wio_roster *r, const char *host);
/** Number of this address list, the same for equal ones. @return index, UINT32_MAX when out of
 * memory */
uint32_t wio_roster_host(struct wio_roster *r, const struct wio_tab_host *h);
/**
 * Register. A process (same incarnation) may register again through another connection: the new one
 * counts.
 * @param host   index from wio_roster_host
 * @param[out] why  on error the fields code, pbid, rank, flags and text are filled
 * @return 0; JOIN, NOMEM
 */
int wio_roster_register(struct wio_roster *r, uint32_t client, const struct wio_boot_reg *reg,
                        uint32_t host, struct wio_boot_refuse *why);
/** One process left (its leader noticed). */
void wio_roster_leave(struct wio_roster *r, uint32_t client, const struct wio_boot_leave *m,
                      int64_t now_ns);
/** The connection ended: all processes it registered are lost, unless it acknowledged the table. */
void wio_roster_client_gone(struct wio_roster *r, uint32_t client, int64_t now_ns);
/** All processes that this connection registered have the table. */
void wio_roster_acked(struct wio_roster *r, uint32_t client);
/** All have registered (stays true after the image is made). */
bool wio_roster_full(const struct wio_roster *r);
/** Is every client's table delivered, or the client given up? */
bool wio_roster_delivered(const struct wio_roster *r);
/**
 * Has a lost process not registered again for longer than @p grace_ns?
 * @param[out] text  who (before completion). After completion such processes are only forgotten.
 * @return true when the join can no longer succeed
 */
bool wio_roster_lost(struct wio_roster *r, int64_t now_ns, int64_t grace_ns, char *text, size_t n);
/** Monotonic time at which the result of wio_roster_lost may change; INT64_MAX = never. */
int64_t wio_roster_next_ns(const struct wio_roster *r, int64_t grace_ns);
/** Counts, and who is missing as text: "PB 1: ranks 0-3,7 of 8; PB 2: nobody came (size unknown)".
 */
void wio_roster_progress(const struct wio_roster *r, struct wio_boot_progress *m);
/** Make the packed table; sets complete. @return 0; NOMEM, SYSTEM, LIMIT. @param[out] packed  from
 * wio_os_alloc */
int wio_roster_pack(struct wio_roster *r, void **packed, size_t *bytes);

#endif
