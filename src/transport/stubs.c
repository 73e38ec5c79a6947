/* SPDX-License-Identifier: BSD-3-Clause */
/** @file stubs.c  Named stubs for slots that a transport does not support. */
#include "os/os.h"
#include "transport/transport.h"

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

int64_t wio_tr_no_timer(struct wio_iface *iface)
{
    (void)iface;
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
