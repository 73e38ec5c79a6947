/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file handle.h
 * Operations by handle: what start.c and complete.c share.
 */
#ifndef WIO_HANDLE_H
#define WIO_HANDLE_H

#include "p2p/universe.h"

static inline bool wio_handle_null(const struct wio_handle *h)
{
    return h->index == 0 && h->generation == 0 && h->serial == 0;
}

/** A send that was complete when it was started. */
static inline bool wio_handle_sent(const struct wio_universe *u, const struct wio_handle *h)
{
    return h->index == WIO_SENT && h->serial == u->serial;
}

static inline struct wio_result wio_handle_result(const struct wio_handle *h)
{
    return (struct wio_result){
        .source = (int32_t)h->generation, .tag = (int32_t)h->tag, .bytes = h->bytes};
}

static inline struct wio_result wio_no_result(void)
{
    return (struct wio_result){.source = -1, .tag = -1};
}

/** A wait is interrupted when any task can continue: see task.c. */
static inline bool wio_can_serve(const struct wio_universe *u)
{
    return WIO_UNLIKELY(!wio_list_empty(&u->tasks));
}

/** The deadline of a wait of this length that begins now. */
static inline int64_t wio_deadline(int64_t timeout_ns)
{
    int64_t now = wio_os_now_ns();
    return timeout_ns < INT64_MAX - now ? now + timeout_ns : INT64_MAX;
}

/** Non-blocking calls make progress, also with tasks, unless another thread does so already.
 * @return the time; 0: not looked at */
int64_t wio_poke(struct wio_universe *u);

/** The error of an invalid handle. @return REQUEST */
int wio_handle_stale(const struct wio_handle *h);

/** @return NULL and the error set when the handle is invalid */
static inline struct wio_request *wio_handle_find(struct wio_universe *u,
                                                  const struct wio_handle *h)
{
    struct wio_request *r = h->serial == u->serial ? wio_req_at(u, h->index, h->generation) : NULL;
    if (WIO_LIKELY(r != NULL && r->user_holds))
        return r;
    wio_handle_stale(h);
    return NULL;
}

static inline bool wio_req_is_template(const struct wio_request *r)
{
    return r->kind == WIO_REQ_SEND_TEMPLATE || r->kind == WIO_REQ_RECV_TEMPLATE;
}

/** The request that runs: the round of a template, NULL when inactive. */
static inline struct wio_request *wio_req_running(struct wio_request *r)
{
    return wio_req_is_template(r) ? r->child : r;
}

/** The user has the result: the slot is free unless the engine still needs it. */
static inline void wio_req_let_go(struct wio_request *r)
{
    r->user_holds = false;
    if (r->state == WIO_RS_DONE)
        wio_req_release(r);
}

#endif
