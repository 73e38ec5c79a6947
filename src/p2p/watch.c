/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that sleep in their own event loop have a descriptor in it that wakes them. Arming it
 * makes the service thread drive everything, as if the program had not called for long. The polling
 * thread reports completions and arrivals once per arming.
 */
#include "p2p/universe.h"

struct wio_watch {
    int fd;
    bool armed;
};

static struct wio_watch *find(struct wio_universe *u, int fd)
{
    for (int i = 0; i < u->nwatches; i++)
        if (u->watch[i].fd == fd)
            return &u->watch[i];
    return NULL;
}

static int unknown(int fd)
{
    return wio_fail(WAITIO_ERR_ARG, "descriptor %d was not opened by waitio_event_open", fd);
}

int wio_watch_open(struct wio_universe *u, int *fd)
{
    if (!u->service_runs)
        return wio_fail(WAITIO_ERR_UNSUPPORTED,
                        "an event descriptor needs the service thread, which WAITIO_PROGRESS=poll "
                        "does without: look now and then instead, or leave it unset");
    int made = wio_os_eventfd();
    if (made < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, made, "eventfd for an event loop");
    wio_lock_take(&u->lock, &u->want);
    struct wio_watch *more =
        wio_os_realloc(u->watch, ((size_t)u->nwatches + 1) * sizeof(struct wio_watch));
    if (more != NULL) {
        u->watch = more;
        u->watch[u->nwatches++] = (struct wio_watch){.fd = made};
    }
    wio_lock_leave(&u->lock);
    if (more == NULL) {
        wio_os_close(made);
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for another event descriptor");
    }
    *fd = made;
    return 0;
}

int wio_watch_arm(struct wio_universe *u, int fd)
{
    bool wake = false;
    wio_lock_take(&u->lock, &u->want);
    struct wio_watch *w = find(u, fd);
    if (w != NULL) {
        wio_os_eventfd_clear(fd);
        w->armed = true;
        u->watched = true;
        if (u->batched)
            wio_flush(u);
        if (!wio_list_empty(&u->lent)) {
            wio_fetch_take_back(u); /* may complete what the loop waits for: it looks again */
            wio_os_eventfd_set(fd);
        }
        wake = u->inside == 0 && !(u->service_sleeps && u->service_full);
        if (wake)
            u->service_wake_ns = 0;
    }
    wio_lock_leave(&u->lock);
    if (wake) /* behind the lock: the service thread does not wait for it */
        wio_os_eventfd_set(u->service_fd);
    return w != NULL ? 0 : unknown(fd);
}

int wio_watch_close(struct wio_universe *u, int fd)
{
    wio_lock_take(&u->lock, &u->want);
    struct wio_watch *w = find(u, fd);
    if (w != NULL)
        *w = u->watch[--u->nwatches]; /* one too many may stay armed: one unnecessary wake-up */
    wio_lock_leave(&u->lock);
    if (w == NULL)
        return unknown(fd);
    wio_os_close(fd);
    return 0;
}

void wio_watch_idle(struct wio_universe *u, double (*function)(void))
{
    wio_lock_take(&u->lock, &u->want);
    u->idle = function;
    wio_lock_leave(&u->lock);
}

void wio_watch_tell(struct wio_universe *u)
{
    u->watched = false;
    for (int i = 0; i < u->nwatches; i++) {
        if (u->watch[i].armed)
            wio_os_eventfd_set(u->watch[i].fd);
        u->watch[i].armed = false;
    }
}
