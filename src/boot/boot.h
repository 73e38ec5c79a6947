/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file boot.h
 * Joining: rank and block of this process (launcher.c), the rendezvous service (server.c, embedded
 * or in waitio-serv), its clients with a leader per host (follower.c, leader.c), publication of the
 * master host (publish.c), and the address table that every process gets (table.c).
 */
#ifndef WIO_BOOT_H
#define WIO_BOOT_H

#include <float.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "auth/auth.h"
#include "base/base.h"

/* ---- rank and block of this process (launcher.c) ---- */
struct wio_whoami {
    int pbid, npb; /* from WAITIO_PBID / WAITIO_NPB; both absent: 0 of 1 with a log line at info */
    int rank, nprocs;  /* inside the PB */
    char launcher[24]; /* row of the launcher table that decided: "WAITIO", "PMIx", "Open MPI",
                          "PMI", ..., "alone" */
    char job_id[64];
    bool solo;     /* one job that nobody has told of others: job_id and port are its own */
    uint16_t port; /* solo: of the rendezvous; else WAITIO_MASTER_PORT holds */
};
typedef const char *(*wio_getenv_fn)(const char *name);
/** @return 0; CONFIG naming the variable, its value and the rule. Half a pair (rank without size)
 * is an error. */
int wio_whoami(struct wio_whoami *me, const struct wio_config *cfg, wio_getenv_fn getenv_fn);

/* ---- the address table ---- */
#define WIO_HOST_ADDRS 8
/** One per host (or per distinct address list on a host). 208 bytes, position-independent. */
struct wio_tab_addr {
    uint8_t family; /* 4 or 6 */
    uint8_t loopback;
    uint8_t prefix;
    uint8_t pad;
    uint32_t scope;
    uint8_t ip[16];
};
struct wio_tab_host {
    uint64_t identity; /* hash of host + network namespace: equal = same host */
    uint32_t naddr, pad;
    struct wio_tab_addr addr[WIO_HOST_ADDRS]; /* in order of preference */
};
/** One per endpoint: 16 bytes. */
struct wio_tab_ep {
    uint32_t host; /* index of wio_tab_host */
    uint16_t port; /* TCP port, 0 = none */
    uint16_t caps; /* bit per transport id that this process allows (1 << WIO_TR_*), and WIO_EP_* */
    uint64_t token; /* transport specific (abstract socket name of shm, later) */
};
/* How the machine stores numbers, for layers that know what messages hold. */
#define WIO_EP_BIG_ENDIAN 0x8000u
#define WIO_EP_LONG_DOUBLE 0x6000u /* two bits, see wio_number_formats */
/* Whether other layers may rely on processes of one host reading each other's memory. */
#define WIO_EP_LENDS 0x1000u
/* It cannot go on after a kill: the transport to oneself, which all have, sets this bit, and
 * WAITIO_FILE_RESUME takes it away. */
#define WIO_EP_ONE_LIFE 0x0001u
#define WIO_EP_CPUS 0x0f00u /* its host has at most 2^(n - 1) processors; 0: not said */
/** The bits for a host with @p cpus processors. */
uint16_t wio_cpu_bits(int cpus);
/** The bits of this machine. long double: 0 as double, 1 x87 extended, 2 IEEE quad, 3 other. */
static inline uint16_t wio_number_formats(void)
{
    unsigned format = LDBL_MANT_DIG == DBL_MANT_DIG ? 0
                      : LDBL_MANT_DIG == 64         ? 1
                      : LDBL_MANT_DIG == 113        ? 2
                                                    : 3;
    unsigned big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? WIO_EP_BIG_ENDIAN : 0;
    return (uint16_t)(big | format << 13);
}
struct wio_table {
    uint8_t universe[WIO_UNIVERSE_ID]; /* fresh random id of this run, made by the service */
    uint32_t npb, nhosts, size;        /* size = endpoints */
    uint32_t me;                       /* my universe rank */
    const uint32_t *pb_size;           /* npb entries */
    const uint32_t *pb_base;           /* npb entries: universe rank of the PB's rank 0 */
    const struct wio_tab_host *host;   /* nhosts */
    const struct wio_tab_ep *ep;       /* size entries by universe rank */
    size_t bytes;                      /* of the shared image */
    void *map; /* private: shared read-only mapping (one per host) or heap */
    bool shared;
    /* Private: this process's hold on its host's connection to a rendezvous that lives as long as
     * the universe. The service sees it end when the last holder has closed it. 0 = none. */
    int hold_fd;
    uint32_t *number; /* private: of each member in the job that a transport gathered, or NULL */
};
/** In the child of a fork, which is no member: release what the parent holds. */
void wio_table_after_fork(struct wio_table *t);
/** Are there more processes of the universe on this member's host than processors? */
bool wio_table_crowded(const struct wio_table *t, uint32_t rank);
/** Processors of the host of @p rank, rounded up to a power of two; 0 = not known. */
uint32_t wio_table_processors(const struct wio_table *t, uint32_t rank);
/** PB of a universe rank (binary search). */
uint32_t wio_table_pb_of(const struct wio_table *t, uint32_t rank);
void wio_table_free(struct wio_table *t);

/* ---- joining ---- */
/** What this process publishes about itself; made by the transports before joining. */
struct wio_boot_offer {
    struct wio_tab_host host; /* my addresses; identity set by wio_join when 0 */
    struct wio_tab_ep ep;     /* host index ignored */
};
struct wio_join_params {
    const struct wio_config *cfg;
    const struct wio_secret *secret;
    const struct wio_whoami *me;
    struct wio_log *log;
    struct wio_boot_offer offer;
    double timeout_s;
    /* when to say who is missing: first and then again; 0 = after 10 s and every 30 s */
    double say_first_s, say_every_s;
};
struct wio_service; /* embedded rendezvous, lives in PB 0 rank 0 until the universe has formed */
/**
 * Join the universe. PB 0 rank 0 starts the embedded service when WAITIO_MASTER_HOST is a local
 * address (or unset with NPB == 1 or on one host) and the port is free; when the port is taken by a
 * waitio service it becomes its client. All others connect, with retry, until the timeout (the
 * service may start later). On the same host one process (leader, abstract unix socket) talks to
 * the service for all. NPB * size == 1 needs no network at all.
 * @param[out] table  owned by the caller
 * @return 0; TIMEOUT (text lists the missing PBs and ranks), JOIN (duplicate rank, sizes that
 * disagree, PBID outside NPB, other universe with that job id), AUTH, VERSION, LIMIT, SYSTEM,
 * CONFIG
 * @blocking until joined or timeout
 */
int wio_join(const struct wio_join_params *p, struct wio_table **table);

/** Addresses to listen on and publish, by WAITIO_NETDEV / WAITIO_ADVERTISE / route to the master
 * (first = preferred). A loopback address is marked so and used by peers on the same host only.
 * (addresses.c)
 *  @return 0; CONFIG naming the netdev and listing what exists */
int wio_boot_addresses(const struct wio_config *cfg, struct wio_log *lg, struct wio_tab_host *host);

/* ---- the service (also used by waitio-serv and by scale tests) ---- */
struct wio_service_params {
    const struct wio_config *cfg;
    const struct wio_secret *secret;
    struct wio_log *log;
    const char *bind_host; /* NULL = all addresses */
    bool in_folder; /* no port: callers come by the directory of cfg->scratch_dir and job_id */
    uint16_t port;  /* 0 = any; see wio_service_port */
    int npb;        /* expected PBs; 0 = learn from the first client */
    char job_id[64];
    int stop_fd; /* > 0: wio_service_run ends when it becomes readable or hangs up (borrowed) */
    /* Live as long as the universe: every host keeps its connection open until its last process has
     * ended, see WIO_SERVICE_ENDED. */
    bool stay;
    /* With more hosts than relay_above a tree of leaders distributes the table, each to relay_fan
     * others; relay_fan 0 = the defaults of both. */
    uint32_t relay_fan, relay_above;
    double delivery_s; /* how long clients have to take their table; 0 = 30 */
};
/** wio_service_run with params.stay: the last process of the complete universe has left. */
#define WIO_SERVICE_ENDED 2
/** Bind and listen; serves no client until wio_service_run. Without a secret only loopback is
 * bound, unless WAITIO_SECRET_NONE_REMOTE. @return 0; JOIN: the port is taken; LIMIT, SYSTEM,
 * CONFIG (bind_host) */
int wio_service_start(const struct wio_service_params *p, struct wio_service **out);
uint16_t wio_service_port(const struct wio_service *s);
/** Serve for up to timeout_ns (-1 forever). After 1 it may be called again: it then refuses further
 * processes, because the universe is complete. After PEER all clients have got the error and all
 * registrations are deleted: the next run may join.
 *  @return 1 once when the universe is complete and every client has its table, with params.stay
 * then WIO_SERVICE_ENDED when the last process has ended, 0 on timeout, CANCELLED by stop_fd, PEER
 * when a registered process died before the universe was complete, other errors. @blocking */
int wio_service_run(struct wio_service *s, int64_t timeout_ns);
/** Memory held, clients seen, messages, bytes: for reports. */
struct wio_service_stats {
    size_t bytes;
    uint64_t clients, messages, rx_bytes, tx_bytes;
    uint32_t joined, expected;
    uint64_t tables; /* sent by the service itself */
    uint32_t kept;   /* hosts whose connection is open for the life of the universe */
};
void wio_service_stats(const struct wio_service *s, struct wio_service_stats *st);
/** Send all clients the error of the join. Before wio_service_stop; without it clients report that
 * the service has ended. */
void wio_service_refuse(struct wio_service *s, int code, const char *text);
/** Close and free. Waiting clients get an error; blocks at most 0.3 s for that. */
void wio_service_stop(struct wio_service *s);

/** Who answers at a rendezvous address? */
enum wio_service_found {
    WIO_FOUND_NOBODY,   /* nothing listens, or no answer */
    WIO_FOUND_FORMING,  /* a service of this job id that waits for its universe */
    WIO_FOUND_COMPLETE, /* a service of this job id whose universe has formed */
    WIO_FOUND_OTHER_JOB,
    WIO_FOUND_OTHER_SECRET,
    WIO_FOUND_STRANGER /* a program that is not WaitIO, or another version */
};
/** @param[out] text  what was found, for messages. @blocking up to timeout_s */
enum wio_service_found wio_service_probe(const char *host, uint16_t port,
                                         const struct wio_secret *secret, const char *job_id,
                                         double timeout_s, char *text, size_t n);

/** As wio_service_probe, where the processes of cfg->job_id meet: in the directory, or at the
 * master host and @p port. For a universe that forms: how many processes have joined, and the list
 * of missing ones as text. @blocking up to timeout_s, in a directory 2 s more */
enum wio_service_found wio_service_count(const struct wio_config *cfg, uint16_t port,
                                         const struct wio_secret *secret, struct wio_log *lg,
                                         double timeout_s, uint32_t *joined, char *text, size_t n);

#endif
