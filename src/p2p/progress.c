/* SPDX-License-Identifier: BSD-3-Clause */
/* One round of progress, entering and leaving the engine. */
#include "p2p/stripe.h"

/* A look at sockets costs ten times one at memory: while messages come through memory only every
 * eighth round has it. */
enum { WARM = 64, SPARSE = 7 };

void wio_announce(struct wio_universe *u)
{
    u->completed = false;
    if (u->sleepers > 0)
        pthread_cond_broadcast(&u->turn);
    if (u->poller_asleep)
        wio_os_eventfd_set(u->kick_fd);
    if (u->watched)
        wio_watch_tell(u);
}

bool wio_needs_service(const struct wio_universe *u)
{
    for (int t = 0; t < WIO_TR_COUNT; t++)
        if (u->iface[t] != NULL && u->iface[t]->tr->needs_service(u->iface[t]))
            return true;
    return !wio_list_empty(&u->active);
}

/* It sleeps as one that hears of everything; our looking has undone that. Or there is bulk, and it
 * is its turn. */
static void wake_service(struct wio_universe *u)
{
    u->service_sleeps = u->service_full = false;
    u->service_wake_ns = 0;
    wio_os_eventfd_set(u->service_fd);
}

static bool moves_for_us(const struct wio_universe *u)
{
    return u->bulk > 0 && u->cfg.progress == WIO_CFG_PROGRESS_THREAD;
}

/* The program may compute for long now: the service thread takes over. */
static void call_service(struct wio_universe *u)
{
    if (!wio_needs_service(u)) {
        u->touched = false;
        return;
    }
    u->touched = true;
    if (u->service_wake_ns > wio_os_now_ns() + WIO_SERVICE_SOON) {
        u->service_wake_ns = 0;
        wio_os_eventfd_set(u->service_fd);
    }
}

void wio_leave_duties(struct wio_universe *u)
{
    if (WIO_UNLIKELY(u->completed))
        wio_announce(u);
    if (u->inside > 0) {
        /* Another thread polls; while asleep it does not see the work that this call left. */
        if (u->poller_asleep && u->batched)
            wio_flush(u);
        if (u->poller_asleep && !wio_list_empty(&u->active))
            wio_os_eventfd_set(u->kick_fd);
    } else {
        if (!u->service_runs) {
            if (u->batched)
                wio_flush(u);
        } else if (WIO_UNLIKELY(u->service_sleeps && (u->service_full || moves_for_us(u)))) {
            wake_service(u);
        } else if (u->touched || u->batched || !wio_list_empty(&u->active)) {
            call_service(u);
        }
    }
}

void wio_flush(struct wio_universe *u)
{
    u->batched = false;
    u->burst = 0;
    for (int t = 0; t < WIO_TR_COUNT; t++)
        if (u->iface[t] != NULL)
            u->iface[t]->tr->flush(u->iface[t]);
}

void wio_bury(struct wio_universe *u)
{
    struct wio_list *n;
    while ((n = wio_list_pop(&u->closed_eps)) != NULL) {
        struct wio_grave *g = WIO_CONTAINER(n, struct wio_grave, node);
        g->ep->iface->tr->free_ep(g->ep);
        wio_os_free(g);
    }
}

/* Peers with messages to send, one turn each: a peer may be queued again. */
static int pump_active(struct wio_universe *u)
{
    int events = 0;
    struct wio_list work, *n;
    wio_list_init(&work);
    while ((n = wio_list_pop(&u->active)) != NULL)
        wio_list_push(&work, n);
    while ((n = wio_list_pop(&work)) != NULL) {
        struct wio_peer *p = WIO_CONTAINER(n, struct wio_peer, active_node);
        p->active = false;
        if (WIO_UNLIKELY(p->given_up != NULL))
            wio_peer_close_given_up(p);
        if (WIO_UNLIKELY(p->lost))
            wio_peer_close_lost(p);
        if (WIO_UNLIKELY(p->cut)) {
            wio_lanes_cut(p);
            wio_side_cut(p);
        }
        if (WIO_UNLIKELY(p->lanes != NULL && p->lanes->trim))
            wio_lanes_trim(p);
        if (WIO_UNLIKELY(p->unsaid))
            wio_peer_end_unsaid(u, p);
        wio_send_pump(u, p);
        wio_fetch_pump(u, p);
        events++;
    }
    return events;
}

/* Shall this round leave out what costs a system call? Counted apart from the warmth, which every
 * event winds up again: sockets have their turn however busy memory is. */
static bool memory_alone(struct wio_universe *u, enum wio_progress_how how)
{
    if (u->warm == 0 || how != WIO_PROGRESS_FULL)
        return false;
    u->warm--;
    return (++u->sparse & SPARSE) != 0;
}

int wio_progress(struct wio_universe *u, enum wio_progress_how how)
{
    int events = 0;
    bool skip = memory_alone(u, how);
    for (int t = 0; t < WIO_TR_COUNT; t++) {
        if (u->iface[t] == NULL)
            continue;
        bool memory = (u->attr[t].caps & WIO_CAP_MEMORY) != 0;
        if (!memory && skip)
            continue;
        int n = u->iface[t]->tr->progress(u->iface[t], how);
        if (n > 0) {
            events += n;
            u->warm = memory ? WARM : 0;
        }
    }
    if (events > 0)
        u->touched = true;
    if (!wio_list_empty(&u->active))
        events += pump_active(u);
    if (!wio_list_empty(&u->closed_eps))
        wio_bury(u);
    if (u->completed && (u->sleepers > 0 || u->poller_asleep || u->watched))
        wio_announce(u);
    return events;
}
