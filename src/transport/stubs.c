/* SPDX-License-Identifier: BSD-3-Clause */
/** @file stubs.c  Named stubs for slots that a transport does not support. */
#include "os/os.h"
#include "transport/transport.h"

const char *wio_distance_name(enum wio_distance d)
{
    static const char *const names[WIO_DISTANCES] = {"myself", "same host", "same subnet",
                                                     "farther"};
    return d < WIO_DISTANCES ? names[d] : "?";
}

bool wio_tr_host_only(const struct wio_config *cfg, enum wio_distance d, struct wio_tr_attr *attr)
{
    (void)cfg;
    (void)attr;
    return d == WIO_AT_HOST;
}

enum wio_distance wio_tr_same_host(struct wio_iface *iface, uint32_t peer)
{
    (void)iface;
    (void)peer;
    return WIO_AT_HOST;
}

int wio_tr_no_gather(struct wio_iface *iface, struct waitio_gathering *g)
{
    (void)g;
    return wio_fail(WAITIO_ERR_UNSUPPORTED, "transport %s cannot join by itself", iface->tr->name);
}

void wio_tr_no_settle(struct wio_iface *iface, struct wio_tr_attr *attr)
{
    (void)iface;
    (void)attr;
}

bool wio_tr_no_put(struct wio_ep *ep, const struct wio_msg *msg, const void *payload,
                   uint32_t bytes)
{
    (void)ep;
    (void)msg;
    (void)payload;
    (void)bytes;
    return false;
}

void wio_tr_no_let_go(struct wio_ep *ep, const struct wio_tx *tx)
{
    (void)ep;
    (void)tx;
}

bool wio_tr_no_keep(struct wio_ep *ep, struct wio_tx *tx)
{
    (void)ep;
    (void)tx;
    return false;
}

uint64_t wio_lent_word(uint64_t lender_token, uint32_t reader, uint64_t id)
{
    return wio_hash64(wio_hash64(lender_token, reader), id) | 1;
}

uint32_t wio_tr_no_recalls(struct wio_ep *ep, uint32_t more)
{
    (void)ep;
    (void)more;
    return 0;
}

int wio_tr_no_fetch(struct wio_ep *ep, const struct wio_lent *from, void *buf, size_t bytes)
{
    (void)from;
    (void)buf;
    return wio_fail(WAITIO_ERR_UNSUPPORTED, "transport %s cannot fetch %zu bytes from its peer",
                    ep->iface->tr->name, bytes);
}

void wio_tr_no_step_aside(struct wio_iface *iface, bool on)
{
    (void)iface;
    (void)on;
}

bool wio_tr_no_is_aside(const struct wio_ep *ep)
{
    (void)ep;
    return false;
}

void wio_tr_no_flush(struct wio_iface *iface)
{
    (void)iface;
}

void wio_tr_no_watch(struct wio_ep *ep, bool on)
{
    (void)ep;
    (void)on;
}

int wio_tr_no_event_fd(struct wio_iface *iface, enum wio_progress_how how)
{
    (void)iface;
    (void)how;
    return -1;
}

int wio_tr_no_arm(struct wio_iface *iface, enum wio_progress_how how)
{
    (void)iface;
    (void)how;
    return 0;
}

bool wio_tr_no_needs_service(struct wio_iface *iface)
{
    (void)iface;
    return false;
}

int64_t wio_tr_no_timer(struct wio_iface *iface, enum wio_progress_how how)
{
    (void)iface;
    (void)how;
    return INT64_MAX;
}

void wio_tr_no_ping(struct wio_ep *ep)
{
    (void)ep;
}

int64_t wio_tr_no_heard(const struct wio_ep *ep)
{
    (void)ep;
    return wio_os_now_ns();
}

void wio_tr_no_after_fork(struct wio_iface *iface)
{
    (void)iface;
}

int wio_tr_no_lane(struct wio_ep *ep, unsigned lane, struct wio_ep **beside)
{
    (void)ep;
    (void)lane;
    (void)beside;
    return WAITIO_ERR_UNSUPPORTED;
}
