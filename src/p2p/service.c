/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The service thread makes the necessary progress while the program computes or is in another
 * library: it accepts links, sends messages that completed locally, answers goodbyes and pings, and
 * notices peer failures. It never calls MPI. It sleeps unless something is unfinished. While the
 * program calls the library often, the thread handles the transports' service events only, so
 * messages do not wake it. When the program has not called for AWAY_NS, it drives everything
 * (bounded by credit) until the next call.
 */
#include "p2p/universe.h"

#define TICK_SOON_NS 1000000LL
#define TICK_MAX_NS 50000000LL
#define BUSY_NS 10000000LL
#define KICKED_NS 2000000LL
#define AWAY_NS 60000000LL
#define SPIN_NS 200000LL
enum { QUIET_TICKS = 4, KICKED_LOOKS = 3 }; /* a wake-up costs the program 20 us of its core */

struct service {
    int64_t tick_ns; /* length of the current tick */
    int quiet;       /* ticks without unfinished work */
    uint64_t calls;  /* library calls at the last look */
    int64_t calls_ns;
    bool away;
};

/* When to check again without an event. */
static int64_t next_look(struct wio_universe *u, struct service *s, int64_t now,
                         enum wio_progress_how how)
{
    int64_t wake = INT64_MAX;
    if (u->poller_asleep) /* it wakes for all of this itself, and calls when it leaves work */
        return now + AWAY_NS;
    if (wio_needs_service(u)) {
        s->quiet = 0;
        wake = now + s->tick_ns;
        s->tick_ns = s->tick_ns * 3 / 2 < TICK_MAX_NS ? s->tick_ns * 3 / 2 : TICK_MAX_NS;
    } else if (s->quiet < QUIET_TICKS) {
        s->quiet++;
        wake = now + TICK_SOON_NS;
    }
    if (!s->away && u->ctr.links > 0 && now + AWAY_NS < wake)
        wake = now + AWAY_NS;
    if (u->buffers.kept > 0 && now + WIO_BUFFERS_TIDY_NS < wake)
        wake = now + WIO_BUFFERS_TIDY_NS;
    for (int t = 0; t < WIO_TR_COUNT; t++) {
        if (u->iface[t] == NULL)
            continue;
        int64_t timer = u->iface[t]->tr->next_timer_ns(u->iface[t], how);
        if (timer < wake)
            wake = timer;
    }
    return wake;
}

static void look_at_program(struct wio_universe *u, struct service *s, int64_t now)
{
    if (u->calls != s->calls || u->inside > 0) {
        s->calls = u->calls;
        s->calls_ns = now;
        s->away = false;
        s->tick_ns = TICK_SOON_NS;
    } else if (!s->away && now - s->calls_ns > AWAY_NS) {
        s->away = true;
    }
    if (u->cfg.progress == WIO_CFG_PROGRESS_THREAD && u->inside == 0 && u->bulk > 0)
        s->away = true;
    if (u->watched && u->inside == 0) /* it sleeps in an event loop */
        s->away = true;
}

/* @return true: there is work, do not sleep */
static bool arm(struct wio_universe *u, enum wio_progress_how how, int *fds, int *n)
{
    bool work = false;
    for (int t = 0; t < WIO_TR_COUNT; t++) {
        if (u->iface[t] == NULL)
            continue;
        if (how == WIO_PROGRESS_FULL || u->inside == 0)
            work = u->iface[t]->tr->arm(u->iface[t], how) != 0 || work;
        int fd = u->iface[t]->tr->event_fd(u->iface[t], how);
        if (fd >= 0)
            fds[(*n)++] = fd;
    }
    return work;
}

/* If the lock is held, the program is inside and drives everything itself. Waiting for the lock
 * would cost the program system calls when it unlocks, and trying again at once would cost its
 * processor. So try again later; soon if another thread kicked this one and left work. A thread
 * that leaves work later reads in service_wake_ns whether the next try is soon enough. */
static void take_lock(struct wio_universe *u, struct service *s)
{
    int soon = atomic_load(&u->service_wake_ns) == 0 ? KICKED_LOOKS : 0;
    while (!wio_lock_try(&u->lock)) {
        int64_t wait = soon > 0 ? KICKED_NS : BUSY_NS;
        soon -= soon > 0;
        atomic_store(&u->service_wake_ns, wio_os_now_ns() + wait);
        wio_os_poll_in(&u->service_fd, 1, wait);
        wio_os_eventfd_clear(u->service_fd);
        if (atomic_load(&u->service_wake_ns) == 0)
            soon = KICKED_LOOKS;
    }
    if (soon > 0 || atomic_load(&u->service_wake_ns) == 0) { /* more of the kind may follow */
        s->tick_ns = TICK_SOON_NS;
        s->quiet = 0;
    }
}

/* WAITIO_PROGRESS=thread: during a transfer the next piece comes soon, and sleeping and waking for
 * it would cost more than the copy; so would the lock for every piece. Until nothing has moved for
 * SPIN_NS, or another thread waits for the lock. @return events */
static int move_data(struct wio_universe *u, const struct service *s)
{
    int64_t moved_ns = wio_os_now_ns();
    int total = 0;
    while (s->away && !u->service_stop && !u->polling && atomic_load(&u->want) == 0) {
        int events = wio_progress(u, WIO_PROGRESS_FULL);
        total += events;
        int64_t now = wio_os_now_ns();
        if (events > 0)
            moved_ns = now;
        else if (now - moved_ns > SPIN_NS)
            break;
        else
            wio_os_yield();
    }
    return total;
}

static void sleep_until(struct wio_universe *u, struct service *s, int64_t wake, const int *fds,
                        int n)
{
    u->service_wake_ns = wake;
    u->service_sleeps = true;
    wio_unlock_slow(&u->lock);
    int64_t wait = wake == INT64_MAX ? -1 : wake - wio_os_now_ns();
    if (wake == INT64_MAX || wait > 0)
        wio_os_poll_in(fds, n, wait);
    wio_os_eventfd_clear(u->service_fd);
    take_lock(u, s);
    u->service_sleeps = u->service_full = false;
    u->service_wake_ns = 0;
}

static void *service_main(void *arg)
{
    struct wio_universe *u = arg;
    struct service s = {.tick_ns = TICK_SOON_NS};
    wio_lock_service(&u->lock);
    while (!u->service_stop) {
        int64_t now = wio_os_now_ns();
        look_at_program(u, &s, now);
        wio_buffers_tidy(&u->buffers, now);
        enum wio_progress_how how = s.away ? WIO_PROGRESS_FULL : WIO_PROGRESS_SERVICE;
        int events = 0;
        if (!(s.away && u->polling))
            events = wio_progress(u, how);
        if (u->cfg.progress == WIO_CFG_PROGRESS_THREAD)
            events += move_data(u, &s);
        u->ctr.service_wakeups++;
        int fds[WIO_TR_COUNT + 1] = {u->service_fd}, n = 1;
        bool work = arm(u, how, fds, &n);
        if ((work && u->inside == 0) || (events > 0 && s.away)) {
            if (atomic_load(&u->want) > 0) /* let the program in between two rounds */
                wio_lock_give_way(&u->lock, &u->want);
            else
                wio_unlock_slow(&u->lock);
            wio_lock_service(&u->lock);
            continue;
        }
        u->service_full = how == WIO_PROGRESS_FULL;
        int64_t wake = next_look(u, &s, now, how), watch = wio_outside_watch(u, now);
        sleep_until(u, &s, watch < wake ? watch : wake, fds, n);
    }
    wio_unlock_slow(&u->lock);
    return NULL;
}

int wio_service_thread_start(struct wio_universe *u)
{
    if (u->cfg.progress == WIO_CFG_PROGRESS_POLL)
        return 0;
    u->service_fd = wio_os_eventfd();
    if (u->service_fd < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, u->service_fd, "eventfd for the service thread");
    int rc = wio_os_thread_start(&u->service, service_main, u, "waitio-service");
    if (rc < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, rc,
                           "cannot start the service thread "
                           "(WAITIO_PROGRESS=poll does without)");
    u->service_runs = true;
    return 0;
}

void wio_service_thread_stop(struct wio_universe *u)
{
    if (!u->service_runs)
        return;
    wio_lock_take(&u->lock, &u->want);
    u->service_stop = true;
    wio_lock_leave(&u->lock);
    wio_os_eventfd_set(u->service_fd);
    pthread_join(u->service, NULL);
    wio_lock_take(&u->lock, &u->want); /* at exit other threads may still be inside */
    u->service_runs = false;
    wio_lock_leave(&u->lock);
}
