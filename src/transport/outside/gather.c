/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file gather.c
 * Joining through a transport. Its library may block for ever in a call that we cannot interrupt,
 * when other processes of the job never make it (MPI_Init). A thread watches: it tells what is
 * waited for, and ends the process some time after the limit.
 */
#include <stdatomic.h>
#include <time.h>

#include "os/os.h"
#include "transport/outside/outside.h"

#define SAY_AFTER_NS INT64_C(10000000000)
#define GRACE_NS INT64_C(5000000000) /* the library itself should have given up by then */

struct watcher {
    struct outside_iface *f;
    const char *setting; /* that all must have */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t over_now;
    bool over;
    int64_t begun_ns, limit_ns;
};

/* @return whether it is over */
static bool sleep_until(struct watcher *w, int64_t until)
{
    struct timespec t = {.tv_sec = until / 1000000000, .tv_nsec = until % 1000000000};
    while (!w->over && wio_os_now_ns() < until)
        pthread_cond_timedwait(&w->over_now, &w->lock, &t);
    return w->over;
}

static void *watch(void *arg)
{
    struct watcher *w = arg;
    const char *name = w->f->t->name, *setting = w->setting;
    pthread_mutex_lock(&w->lock);
    int64_t first = w->limit_ns / 3 < SAY_AFTER_NS ? w->limit_ns / 3 : SAY_AFTER_NS;
    int64_t end = w->begun_ns + w->limit_ns + GRACE_NS, say = w->begun_ns + first;
    while (!sleep_until(w, say < end ? say : end)) {
        int64_t now = wio_os_now_ns();
        if (now >= end) {
            fprintf(stderr,
                    "waitio: joining by transport %s did not return within %.0f s "
                    "(WAITIO_INIT_TIMEOUT): some processes of the job have not called waitio_init, "
                    "or run in another mode. Set %s in all contexts of the job. "
                    "Ending this process.\n",
                    name, (double)w->limit_ns * 1e-9, setting);
            fflush(NULL);
            wio_os_exit_now(1);
        }
        wio_warn(w->f->base.p.log, WIO_C_BOOT,
                 "joining by transport %s has waited %.0f s for the other processes of the job: is "
                 "%s set in all its contexts, and do all call waitio_init?",
                 name, (double)(now - w->begun_ns) * 1e-9, setting);
        say = now + 3 * SAY_AFTER_NS;
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static int watcher_start(struct watcher *w)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC); /* wio_os_now_ns() */
    pthread_cond_init(&w->over_now, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&w->lock, NULL);
    w->begun_ns = wio_os_now_ns();
    int rc = wio_os_thread_start(&w->thread, watch, w, "waitio-join");
    if (rc < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, rc, "cannot start a thread for joining");
    return 0;
}

static void watcher_stop(struct watcher *w)
{
    pthread_mutex_lock(&w->lock);
    w->over = true;
    pthread_cond_signal(&w->over_now);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
}

/* An old library would take all members for its own. */
static int check_part(const struct outside_iface *f, const struct waitio_gathering *g)
{
    struct waitio_costs c = {0};
    if ((g->flags & WAITIO_GATHER_PART) == 0)
        return 0;
    int rc = f->t->query(&wio_outside_host, &c);
    if (rc != 0 || (c.flags & WAITIO_TRANSPORT_PARTIAL) != 0)
        return rc;
    return wio_fail(WAITIO_ERR_UNSUPPORTED,
                    "transport %s (%s) cannot serve a part of a universe, which WAITIO_INSIDE "
                    "needs: its library is older than that; build it anew with the header of this "
                    "libwaitio, or unset WAITIO_INSIDE",
                    f->t->name, f->t->about != NULL ? f->t->about : "it does not say whose");
}

int wio_outside_gather(struct wio_iface *iface, struct waitio_gathering *g)
{
    struct outside_iface *f = outside_iface_of(iface);
    if (f->t->gather == NULL)
        return wio_fail(WAITIO_ERR_UNSUPPORTED,
                        "transport %s (%s) cannot join: its gather() is missing", f->t->name,
                        f->t->about != NULL ? f->t->about : "it does not say whose");
    int rc = check_part(f, g);
    if (rc != 0)
        return rc;
    bool part = (g->flags & WAITIO_GATHER_PART) != 0;
    struct watcher w = {.f = f,
                        .setting = part ? "the same WAITIO_INSIDE" : "WAITIO_COMM_TYPE=mpi",
                        .limit_ns = (int64_t)(g->timeout_s * 1e9)};
    rc = watcher_start(&w);
    if (rc == 0) {
        rc = f->t->gather(f->in, g);
        f->gathered = rc == 0;
        watcher_stop(&w);
    }
    pthread_cond_destroy(&w.over_now);
    pthread_mutex_destroy(&w.lock);
    return rc;
}
