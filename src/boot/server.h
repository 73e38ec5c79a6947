/* SPDX-License-Identifier: BSD-3-Clause */
/** @file server.h  Inside of the rendezvous service: server.c (sockets, time) and serve.c
 * (messages). */
#ifndef WIO_BOOT_SERVER_H
#define WIO_BOOT_SERVER_H

#include "boot/boot_conn.h"
#include "boot/lines.h"
#include "boot/mail.h"
#include "boot/roster.h"

/** A lost member may register again through another leader for this long before the join fails.
 */
#define WIO_BOOT_GRACE_NS INT64_C(1500000000)
/** A connection has to authenticate itself within this time. */
#define WIO_BOOT_STRANGER_NS INT64_C(10000000000)
/** An unauthenticated connection that sends is not dropped for room before this time. */
#define WIO_BOOT_TALK_NS INT64_C(1000000000)
/** After the universe is complete clients have this long to take and acknowledge their table. */
#define WIO_BOOT_DELIVERY_NS INT64_C(30000000000)
/** Unauthenticated connections (about 1.8 KB each); when full, the oldest is dropped. */
#define WIO_BOOT_STRANGERS 1024
/** With more hosts than this a tree distributes the table; the defaults. */
#define WIO_BOOT_DIRECT 32
#define WIO_BOOT_FAN 16
/** A leader that gets children has to send PORT within this time. */
#define WIO_BOOT_PORT_NS INT64_C(1000000000)

/** The state of a connection. Silent strangers are dropped first for new ones; those that send have
 * at least WIO_BOOT_TALK_NS, and new ones wait in the listener's queue meanwhile. Kept connections
 * need nothing more and stay open as long as a process of their host lives. */
enum svc_list { SVC_SILENT, SVC_TALKING, SVC_MEMBER, SVC_KEPT, SVC_LISTS };

enum svc_kind { SVC_LISTENER = 1, SVC_STOP, SVC_CONN, SVC_DESK, SVC_LINES };

struct svc_source {
    int kind; /* first, as in struct wio_bc */
    int fd;
};

struct svc_conn {
    struct wio_bc bc; /* first: its kind is what epoll events point to */
    struct wio_service *s;
    uint32_t client; /* of the roster, 0 = none yet */
    uint32_t pid;
    uint32_t *host; /* roster index by index of this connection */
    uint32_t nhosts, hosts_cap;
    int64_t since_ns; /* accepted, or told to go */
    uint8_t list;     /* svc_list */
    bool going;       /* got a final message: only waits for the other side to close */
    /* delivery, see deliver.c */
    uint32_t place;      /* in the relay tree, + 1; 0 = it is not in it */
    uint32_t children;   /* that are not settled */
    bool served;         /* the table was sent from here */
    bool told;           /* its children know their parent */
    bool acked, settled; /* all below have the table / its parent need not wait any more */
};

/** The tree: children of place i are (i + 1) * fan ..., the first fan places are served from here.
 */
struct svc_relay {
    struct svc_conn **node; /* by place, NULL = gone */
    uint32_t n, fan, above;
    uint32_t untold; /* leaders with children that have not sent their PORT */
};

struct wio_service {
    const struct wio_config *cfg;
    const struct wio_secret *secret;
    struct wio_log *log;
    char job[WIO_BOOT_NAME];
    uint32_t npb;
    int epfd;
    struct svc_source listener[2], stop;
    struct svc_source callers;  /* by the directory: their descriptors arrive here */
    struct wio_mail_desk *desk; /* NULL: it listens on a port */
    struct svc_source relays;   /* callers through relays announce themselves here */
    struct wio_lines *lines;    /* NULL: WAITIO_RELAY names none */
    int64_t lines_ns;           /* when to look after them */
    int nlisteners;
    uint16_t port;
    bool accept_paused;
    int64_t resume_ns;
    struct wio_roster roster;
    void *packed; /* the finished table */
    size_t packed_bytes;
    int64_t complete_ns, delivery_ns;
    bool reported, stay;
    struct svc_relay relay;
    struct wio_list list[SVC_LISTS], dead; /* svc_conn.bc.node, in order of arrival there */
    uint32_t count[SVC_LISTS];
    uint32_t max_strangers;            /* silent and talking ones together */
    uint64_t dropped;                  /* unauthenticated ones dropped for room */
    struct wio_boot_progress progress; /* of progress_version */
    uint64_t progress_version;
    struct wio_service_stats stats;
    struct wio_log_gate refused, other_job; /* lines about strangers, and about other runs */
};

extern const struct wio_bc_upcalls wio_svc_upcalls;
/** Remove the connection from its list; it is freed at the end of the round. */
void wio_svc_drop(struct svc_conn *c);
/** Final message to a client, which then closes. */
void wio_svc_dismiss(struct svc_conn *c, const struct wio_boot_refuse *m);
/** Put into another list. */
void wio_svc_enlist(struct svc_conn *c, enum svc_list list);
/** When all have registered: make the table and send it. @return 0 or an error */
int wio_svc_complete(struct wio_service *s);

/* deliver.c */
/** The table is made: send it to all, or start the relay tree. */
void wio_svc_deliver(struct wio_service *s);
/** Send the table from here. */
int wio_svc_send_table(struct svc_conn *c);
int wio_svc_on_port(struct svc_conn *c, const uint8_t *p, size_t n);
int wio_svc_on_fetch(struct svc_conn *c, const uint8_t *p, size_t n);
int wio_svc_on_ack(struct svc_conn *c);
/** The client may leave; with stay its connection remains as the sign of life of its host. */
void wio_svc_release(struct svc_conn *c);
/** The connection ends: nothing waits for it any longer. */
void wio_svc_relay_gone(struct svc_conn *c);
/** Serve the children of leaders whose PORT did not come in time. */
void wio_svc_relay_tick(struct wio_service *s, int64_t now);

#endif
