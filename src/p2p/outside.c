/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations of other libraries, such as the vendor's MPI inside a PB. Such a library makes
 * progress only when it is called, and has no descriptor to sleep on. So every thread of the
 * program that waits or tests polls these operations between its own polls, and naps briefly
 * instead of sleeping.
 *
 * What a wait sees is a request like any other. It may end before the operation: when its message
 * space is revoked, or the universe ends. The next poll then gives the operation up.
 */
#include "p2p/handle.h"

#define STUCK_NS 1000000000LL /* others end the same collective meanwhile */

int wio_outside_begin(struct wio_universe *u, struct wio_outside *o, struct wio_handle *h)
{
    int rc = 0;
    wio_enter(u);
    struct wio_request *r = wio_is_revoked(u, o->space) ? NULL : wio_req_new(u, WIO_REQ_USER);
    if (r != NULL) {
        r->src = r->status_source = r->tag = -1;
        r->space = o->space;
        o->seen_ns = 0;
        wio_op_name(r, h);
        o->handle = *h;
        wio_list_push(&u->outside, &o->node);
        u->noutside++;
    } else {
        rc = wio_is_revoked(u, o->space)
                 ? wio_revoked_error(u, o->space)
                 : wio_fail(WAITIO_ERR_NOMEM, "no memory for another request");
    }
    wio_leave(u);
    return rc;
}

/* ---- threads that block in the other library ---- */

static _Atomic uint64_t *mine(struct wio_universe *u)
{
    return &u->blocked[((uintptr_t)pthread_self() >> 12) % WIO_BLOCKED];
}

void wio_outside_block(struct wio_universe *u, uint64_t space, void (*end)(void))
{
    u->blocked_end = end; /* always the same one */
    atomic_store_explicit(mine(u), space, memory_order_release);
}

void wio_outside_unblock(struct wio_universe *u)
{
    atomic_store_explicit(mine(u), 0, memory_order_relaxed);
}

bool wio_outside_blocks(struct wio_universe *u)
{
    for (int i = 0; i < WIO_BLOCKED; i++)
        if (atomic_load_explicit(&u->blocked[i], memory_order_acquire) != 0)
            return true;
    return false;
}

/* @return the space of a thread that is blocked although its space is revoked; 0: there is none */
static uint64_t stuck_in(struct wio_universe *u)
{
    for (int i = 0; i < WIO_BLOCKED; i++) {
        uint64_t space = atomic_load_explicit(&u->blocked[i], memory_order_acquire);
        if (space != 0 && wio_is_revoked(u, space))
            return space;
    }
    return 0;
}

int64_t wio_outside_watch(struct wio_universe *u, int64_t now)
{
    uint64_t space = WIO_LIKELY(u->nrevoked == 0) ? 0 : stuck_in(u);
    if (space == 0) {
        u->blocked_ns = 0;
        return INT64_MAX;
    }
    if (u->blocked_ns == 0)
        u->blocked_ns = now;
    if (now - u->blocked_ns < STUCK_NS)
        return u->blocked_ns + STUCK_NS;
    (void)wio_revoked_error(u, space);
    wio_unlock_slow(&u->lock);
    u->blocked_end();
    wio_lock_service(&u->lock);
    return INT64_MAX;
}

/* ---- operations that are polled ---- */

static struct wio_request *request_of(struct wio_universe *u, const struct wio_outside *o)
{
    struct wio_request *r = wio_req_at(u, o->handle.index, o->handle.generation);
    return r != NULL && !r->user_done ? r : NULL;
}

/* One of them. @return is it over? */
static bool poll_one(struct wio_universe *u, struct wio_outside *o)
{
    struct wio_handle handle = o->handle;
    bool ended = request_of(u, o) == NULL;
    int err = 0;
    u->away++;
    wio_lock_leave(&u->lock);
    bool over = o->poll(o, ended, &err);
    wio_lock_take(&u->lock, &u->want);
    u->away--;
    if (!over)
        return false;
    struct wio_request *r = wio_req_at(u, handle.index, handle.generation);
    if (r != NULL && !r->user_done)
        wio_req_finish(r, err);
    u->noutside--;
    return true;
}

void wio_outside_keep_off(struct wio_universe *u)
{
    wio_enter(u);
    u->off = pthread_self();
    u->has_off = true;
    wio_leave(u);
}

int wio_outside_poll(struct wio_universe *u)
{
    int over = 0;
    if (u->outside_polled || (u->has_off && pthread_equal(u->off, pthread_self())))
        return 0;
    u->outside_polled = true;
    /* Those that are begun meanwhile come behind the last one. */
    struct wio_list *last = u->outside.prev;
    for (bool more = !wio_list_empty(&u->outside); more;) {
        struct wio_list *n = wio_list_pop(&u->outside);
        more = n != last;
        if (poll_one(u, WIO_CONTAINER(n, struct wio_outside, node)))
            over++;
        else
            wio_list_push(&u->outside, n);
    }
    u->outside_polled = false;
    return over;
}

void wio_outside_stuck(struct wio_universe *u, int64_t now, int64_t dial_after)
{
    WIO_LIST_FOR(it, &u->outside)
    {
        struct wio_outside *o = WIO_CONTAINER(it, struct wio_outside, node);
        if (o->seen_ns == 0)
            o->seen_ns = now;
        else if (now - o->seen_ns >= dial_after)
            wio_stuck_dial(u, o->group);
    }
}

void wio_outside_end(struct wio_universe *u)
{
    while (!u->outside_polled && !wio_list_empty(&u->outside)) {
        struct wio_outside *o = WIO_CONTAINER(wio_list_pop(&u->outside), struct wio_outside, node);
        int err = 0;
        wio_lock_leave(&u->lock);
        (void)o->poll(o, true, &err); /* given up: it is over */
        wio_lock_take(&u->lock, &u->want);
        u->noutside--;
    }
}
