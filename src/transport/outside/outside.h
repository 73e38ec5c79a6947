/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file outside.h
 * Transports that a library outside the core brings (include/waitio_transport.h): registering them,
 * finding and loading their libraries, and the adapter that shows them to p2p as a struct
 * wio_transport. The table of what is registered is the one thing in the library that is not part
 * of a universe; it only grows, and only until a universe opens it.
 */
#ifndef WIO_OUTSIDE_H
#define WIO_OUTSIDE_H

#include "transport/transport.h"
#include "waitio_transport.h"

/** waitio_transport_register(), but for the check whether the process has joined (api). */
int wio_outside_register(const struct waitio_transport *t);
/** What is registered at a place; NULL: nothing. */
const struct waitio_transport *wio_outside_at(unsigned place);
/** Its adapter; NULL: nothing is registered there. */
const struct wio_transport *wio_outside_transport(enum wio_transport_id id);

/**
 * Load the libraries of WAITIO_PLUGINS, and one that brings transport mpi if WAITIO_COMM_TYPE or
 * WAITIO_INSIDE wants it and it is not registered. WAITIO_INSIDE=auto does without where it cannot
 * be, and the log says why. @return 0; CONFIG, VERSION, UNSUPPORTED naming the file and the remedy
 */
int wio_outside_load(const struct wio_config *cfg, struct wio_log *lg);

/** A library that could be loaded: its note. */
struct wio_outside_note {
    char path[512];
    int version;
    char transport[16], about[96], library[96], when[96], rivals[192];
};
/** Read the note of a file. @return 0; CONFIG: it has none, or is malformed; SYSTEM */
int wio_outside_read_note(const char *path, struct wio_outside_note *note);
/** Call @p each with the libraries beside this one that have a note. */
void wio_outside_each(void (*each)(void *arg, const struct wio_outside_note *note), void *arg);

/** The services for libraries (host.c). */
extern const struct waitio_host wio_outside_host;

/* ---- private to this folder ---- */

struct outside_iface {
    struct wio_iface base;
    const struct waitio_transport *t;
    struct waitio_iface *in; /* the library's */
    struct waitio_open_params open;
    struct wio_list eps;
    bool gathered;
};

struct outside_ep {
    struct wio_ep ep;
    struct waitio_link *link;
    struct wio_list node;
    bool open; /* it counts as a link */
};

static inline struct outside_iface *outside_iface_of(struct wio_iface *i)
{
    return WIO_CONTAINER(i, struct outside_iface, base);
}

/** The end of a link made by p2p or by the peer. @return NULL: no memory */
struct outside_ep *wio_outside_ep(struct outside_iface *f, struct waitio_link *link);
/** What the library tells; @p user is a struct outside_iface (up.c). */
extern const struct waitio_upcalls wio_outside_upcalls;
/** gather() under a watch: gather.c. With WAITIO_GATHER_PART the library must be able to do that.
 */
int wio_outside_gather(struct wio_iface *iface, struct waitio_gathering *g);

#endif
