/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that an upper layer completes. They have no message: who waits for one sleeps like
 * everybody else, and makes progress with all other operations meanwhile. */
#include "p2p/handle.h"

int wio_user_begin(struct wio_universe *u, struct wio_handle *h)
{
    wio_enter(u);
    struct wio_request *r = wio_req_new(u, WIO_REQ_USER);
    if (r != NULL) {
        r->src = r->status_source = r->tag = -1;
        wio_op_name(r, h);
    }
    wio_leave(u);
    return r != NULL ? 0 : wio_fail(WAITIO_ERR_NOMEM, "no memory for another request");
}

/* The slot may have lost its handle (the user freed the request): it is given back now. */
int wio_user_end(struct wio_universe *u, const struct wio_handle *h)
{
    wio_enter(u);
    struct wio_request *r = h->serial == u->serial ? wio_req_at(u, h->index, h->generation) : NULL;
    bool open = r != NULL && r->kind == WIO_REQ_USER && !r->user_done;
    if (open)
        wio_req_finish(r, 0);
    wio_leave(u);
    return open ? 0 : wio_handle_stale(h);
}

void wio_user_end_all(struct wio_universe *u)
{
    for (uint32_t i = 0; i < u->nslabs * WIO_SLAB; i++) {
        struct wio_request *r = &u->slab[i / WIO_SLAB][i % WIO_SLAB];
        if (r->kind == WIO_REQ_USER && !r->user_done)
            wio_req_finish(r, WAITIO_ERR_STATE);
    }
}
