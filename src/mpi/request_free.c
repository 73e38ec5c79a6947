/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that the program has freed or cancelled: what still goes on without them. */
#include "mpi/own.h"

#include <pthread.h>

#include "api/api.h"

/* ---- sends whose requests were freed ---- */

static pthread_mutex_t orphans_lock = PTHREAD_MUTEX_INITIALIZER;
static struct wio_own *orphans;

static void end_orphan(struct wio_own *o)
{
    if (o->persistent)
        (void)waitio_request_free(&o->inner);
    wio_own_free(o);
}

static void orphan(struct wio_own *o)
{
    pthread_mutex_lock(&orphans_lock);
    o->next = orphans;
    orphans = o;
    pthread_mutex_unlock(&orphans_lock);
}

static struct wio_own *take_orphans(void)
{
    struct wio_own *all;

    pthread_mutex_lock(&orphans_lock);
    all = orphans;
    orphans = NULL;
    pthread_mutex_unlock(&orphans_lock);
    return all;
}

/* Free those that are complete; wait for all when @p wait. @return the first error */
static int wio_own_reap(bool wait)
{
    struct wio_own *next;
    int first = 0;

    for (struct wio_own *o = take_orphans(); o != NULL; o = next) {
        bool done = true, idle;
        int rc = wait ? 0 : wio_request_peek(&o->inner, false, &done, &idle);
        next = o->next;
        if (rc == 0 && !done) {
            orphan(o);
            continue;
        }
        if (rc == 0)
            rc = wio_own_wait(&o->inner, &o->found);
        first = first != 0 ? first : rc;
        end_orphan(o);
    }
    return first;
}

int wio_own_send_copy(const struct wio_message *m, const struct wio_mpi_type *t)
{
    struct wio_message once = *m;
    struct wio_comm *unlike = NULL;
    waitio_req_t req;
    int rc;

    if (m->peer == WAITIO_MPI_PROC_NULL)
        return 0;
    once.persistent = false;
    rc = wio_comm_formats(m->comm, t, &unlike);
    if (rc == 0)
        rc = wio_own_start_copy(&once, t, (size_t)m->count * t->size, unlike, &req);
    (void)wio_own_reap(false); /* what failed is nobody's business any more */
    if (rc == 0)
        orphan(wio_own_of(&req));
    return rc;
}

int wio_buffered_wait(void)
{
    return wio_own_reap(true);
}

/* ---- receives whose requests were freed ---- */

int wio_freed_receives;
static struct wio_own
    *receives; /* they stay listed while they are unpacked: others wait for that */
static pthread_mutex_t receives_lock = PTHREAD_MUTEX_INITIALIZER;

static void leave_receive(struct wio_own *o)
{
    pthread_mutex_lock(&receives_lock);
    o->next = receives;
    receives = o;
    __atomic_add_fetch(&wio_freed_receives, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&receives_lock);
}

/* Waits for complete messages only, so it never sleeps and runs no operator of the program. */
void wio_request_deliver(void)
{
    pthread_mutex_lock(&receives_lock);
    for (struct wio_own **at = &receives, *o; (o = *at) != NULL;) {
        bool done = true, idle;
        if (wio_request_peek(&o->inner, false, &done, &idle) == 0 && !done) {
            at = &o->next;
            continue;
        }
        *at = o->next;
        wio_own_land(o); /* what failed is nobody's business any more */
        end_orphan(o);
        __atomic_sub_fetch(&wio_freed_receives, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&receives_lock);
}

static struct wio_own *take_receives(void)
{
    struct wio_own *all;

    pthread_mutex_lock(&receives_lock);
    all = receives;
    receives = NULL;
    __atomic_store_n(&wio_freed_receives, 0, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&receives_lock);
    return all;
}

static void end_receive(struct wio_own *o, bool wait)
{
    bool done = true, idle;

    (void)waitio_cancel(&o->inner);
    if (!wait && wio_request_peek(&o->inner, false, &done, &idle) == 0 && !done) {
        leave_receive(o); /* wio_request_forget() frees it */
        return;
    }
    wio_own_land(o);
    end_orphan(o);
}

void wio_request_end(bool wait)
{
    struct wio_own *next;

    (void)wio_own_reap(wait);
    for (struct wio_own *o = take_receives(); o != NULL; o = next) {
        next = o->next;
        end_receive(o, wait);
    }
}

void wio_own_forget_freed(void)
{
    (void)take_orphans();
    (void)take_receives();
}

/* ---- ending early ---- */

/* MPI's Cancel of a send succeeds. MPI allows that the send still completes as usual;
 * Test_cancelled then returns false. */
static int cancel_message(const waitio_req_t *req)
{
    struct wio_universe *u = wio_api_universe();
    int rc;

    if (u == NULL)
        return wio_last_code();
    rc = wio_cancel(u, (const struct wio_handle *)(const void *)req->opaque);
    return rc == WAITIO_ERR_UNSUPPORTED ? 0 : rc;
}

int wio_request_cancel(waitio_req_t *req)
{
    struct wio_own *o;

    if (req == NULL)
        return wio_fail(WAITIO_ERR_ARG, "the request argument is NULL");
    if (!wio_request_is_own(req))
        return cancel_message(req);
    o = wio_own_of(req);
    if (o == NULL)
        return WAITIO_ERR_REQUEST;
    if (o->greq != NULL)
        return wio_grequest_cancel(o->greq);
    if (o->run != NULL)
        return wio_fail(WAITIO_ERR_UNSUPPORTED, "collectives cannot be cancelled");
    return o->nobody ? 0 : cancel_message(&o->inner);
}

/* Without a request nobody is told how the operation ended: its query function is not called. */
static int drop_user(struct wio_own *o)
{
    waitio_req_t inner = o->inner;
    int rc = waitio_request_free(&inner);

    if (rc == 0 && wio_own_end_user(o, WIO_GREQUEST_FREED) == WIO_GREQUEST_COMPLETE)
        rc = wio_own_user_gone(o);
    return rc;
}

int wio_request_drop(waitio_req_t *req)
{
    struct wio_own *o;

    if (req == NULL || !wio_request_is_own(req))
        return req == NULL || !wio_own_is_null(req) ? waitio_request_free(req) : 0;
    o = wio_own_of(req);
    if (o == NULL)
        return WAITIO_ERR_REQUEST;
    if (o->run != NULL && o->active)
        return wio_fail(WAITIO_ERR_UNSUPPORTED,
                        "the request of an active collective cannot be freed: wait for it");
    *req = wio_request_null;
    if (o->greq != NULL)
        return drop_user(o);
    if (o->active && o->sending) { /* it goes on by itself */
        (void)wio_own_reap(false);
        orphan(o);
        return 0;
    }
    if (o->active && !o->landed) { /* its data is still to be unpacked */
        leave_receive(o);
        return 0;
    }
    if (o->persistent && !o->nobody)
        waitio_request_free(&o->inner);
    wio_own_free(o);
    return 0;
}
