/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting and cancelling operations. Functions of p2p.h take the engine lock. */
#include "p2p/handle.h"

enum { SPREAD_WHOLE = 4096 }; /* a spread message: it may be put on its link whole */

static struct wio_request *new_request(struct wio_universe *u, uint8_t kind, struct waitio_group *g)
{
    struct wio_request *r = wio_req_new(u, kind);
    if (r == NULL) {
        wio_fail(WAITIO_ERR_NOMEM, "no memory for another request");
        return NULL;
    }
    r->space = g->space;
    return r;
}

static void hold_group(struct wio_request *r, struct waitio_group *g)
{
    r->group = g;
    g->refs++;
}

struct wio_request *wio_op_send(struct wio_universe *u, struct waitio_group *g, uint32_t dst,
                                const void *buf, size_t bytes, int32_t tag, uint8_t kind)
{
    struct wio_request *r = new_request(u, kind, g);
    struct wio_peer *p = r == NULL ? NULL : wio_peer_get(u, wio_group_member(g, dst));
    if (p == NULL) {
        if (r != NULL)
            wio_req_release(r);
        wio_fail(WAITIO_ERR_NOMEM, "no memory for a send");
        return NULL;
    }
    r->peer = p;
    r->src = -1;
    r->status_source = (int32_t)dst;
    r->buf = (uint8_t *)(uintptr_t)buf; /* never written through */
    r->bytes = bytes;
    r->tag = tag;
    return r;
}

void wio_op_name(const struct wio_request *r, struct wio_handle *h)
{
    *h =
        (struct wio_handle){.index = r->index, .generation = r->generation, .serial = r->u->serial};
}

/* Put it on its link at once, if that takes it now. */
static inline bool sent_at_once(struct wio_universe *u, struct waitio_group *g, uint32_t dst,
                                const void *buf, size_t bytes, int32_t tag, struct wio_handle *h)
{
    if (!wio_send_put(u, u->peer[wio_group_member(g, dst)], g->space, buf, bytes, tag))
        return false;
    *h = (struct wio_handle){WIO_SENT, dst, u->serial, (uint32_t)tag, (uint32_t)bytes};
    return true;
}

/* @param s what it is spread over, or NULL. @return 0; NOMEM */
static int request_send(struct wio_universe *u, struct waitio_group *g, uint32_t dst,
                        const void *buf, const struct wio_spread *s, size_t bytes, int32_t tag,
                        bool persistent, bool sync, struct wio_handle *h)
{
    struct wio_request *r =
        wio_op_send(u, g, dst, buf, bytes, tag, persistent ? WIO_REQ_SEND_TEMPLATE : WIO_REQ_SEND);
    if (r == NULL)
        return WAITIO_ERR_NOMEM;
    if (s != NULL)
        wio_spread_set(r, s);
    r->sync = sync;
    wio_op_name(r, h);
    if (!persistent)
        wio_send_start(r);
    return 0;
}

static int start_send(struct wio_universe *u, struct waitio_group *g, uint32_t dst, const void *buf,
                      size_t bytes, int32_t tag, bool persistent, bool sync, struct wio_handle *h)
{
    int rc = 0;
    wio_enter(u);
    if (persistent || sync || WIO_UNLIKELY(!sent_at_once(u, g, dst, buf, bytes, tag, h)))
        rc = request_send(u, g, dst, buf, NULL, bytes, tag, persistent, sync, h);
    wio_leave(u);
    return rc;
}

int wio_isend(struct wio_universe *u, struct waitio_group *g, uint32_t dst, const void *buf,
              size_t bytes, int32_t tag, bool persistent, struct wio_handle *h)
{
    return start_send(u, g, dst, buf, bytes, tag, persistent, false, h);
}

int wio_isend_spread(struct wio_universe *u, struct waitio_group *g, uint32_t dst,
                     const struct wio_spread *s, size_t bytes, int32_t tag, bool persistent,
                     bool sync, struct wio_handle *h)
{
    uint8_t whole[SPREAD_WHOLE];
    bool at_once = bytes <= sizeof whole && !persistent && !sync;
    int rc = 0;
    if (at_once)
        s->calls->read(s, (int32_t)dst, 0, bytes, whole);
    wio_enter(u);
    if (!at_once || !sent_at_once(u, g, dst, whole, bytes, tag, h))
        rc = request_send(u, g, dst, NULL, s, bytes, tag, persistent, sync, h);
    wio_leave(u);
    return rc;
}

bool wio_op_gone(struct wio_request *r, struct wio_peer **behind)
{
    if (!r->user_done || r->err != 0)
        return false;
    if (r->local)
        *behind = r->peer;
    wio_req_let_go(r);
    return true;
}

int wio_post(struct wio_universe *u, struct waitio_group *g, uint32_t dst, const void *buf,
             size_t bytes, int32_t tag, struct wio_handle *h)
{
    wio_enter(u);
    if (wio_send_put(u, u->peer[wio_group_member(g, dst)], g->space, buf, bytes, tag)) {
        *h = (struct wio_handle){0};
        wio_leave(u);
        return 0;
    }
    struct wio_request *r = wio_op_send(u, g, dst, buf, bytes, tag, WIO_REQ_SEND);
    struct wio_peer *behind;
    if (r != NULL) {
        wio_send_start(r);
        wio_op_name(r, h);
        if (wio_op_gone(r, &behind))
            memset(h, 0, sizeof *h);
    }
    wio_leave(u);
    return r != NULL ? 0 : WAITIO_ERR_NOMEM;
}

int wio_issend(struct wio_universe *u, struct waitio_group *g, uint32_t dst, const void *buf,
               size_t bytes, int32_t tag, bool persistent, struct wio_handle *h)
{
    return start_send(u, g, dst, buf, bytes, tag, persistent, true, h);
}

struct wio_request *wio_op_recv(struct wio_universe *u, struct waitio_group *g, int64_t src,
                                void *buf, size_t bytes, int64_t tag, uint8_t kind)
{
    struct wio_request *r = new_request(u, kind, g);
    if (r == NULL)
        return NULL;
    r->src = src < 0 ? WIO_ANY : (int64_t)wio_group_member(g, (uint32_t)src);
    r->status_source = src < 0 ? -1 : (int32_t)src;
    r->wary = src == WIO_ANY_WARY;
    if (src < 0)
        hold_group(r, g);
    r->buf = buf;
    r->bytes = bytes;
    r->tag = tag < 0 ? -1 : (int32_t)tag;
    return r;
}

int wio_irecv(struct wio_universe *u, struct waitio_group *g, int64_t src, void *buf, size_t bytes,
              int64_t tag, bool persistent, struct wio_handle *h)
{
    wio_enter(u);
    struct wio_request *r = NULL;
    if (WIO_LIKELY(!persistent && src >= 0 && tag >= 0))
        r = wio_recv_brief(u, g->space, wio_group_member(g, (uint32_t)src), (int32_t)src, buf,
                           bytes, (int32_t)tag);
    if (WIO_LIKELY(r != NULL)) {
        wio_op_name(r, h);
        wio_leave(u);
        return 0;
    }
    r = wio_op_recv(u, g, src, buf, bytes, tag, persistent ? WIO_REQ_RECV_TEMPLATE : WIO_REQ_RECV);
    if (r != NULL) {
        wio_op_name(r, h);
        if (!persistent)
            wio_recv_start(r);
    }
    wio_leave(u);
    return r != NULL ? 0 : WAITIO_ERR_NOMEM;
}

int wio_irecv_spread(struct wio_universe *u, struct waitio_group *g, int64_t src,
                     const struct wio_spread *s, size_t bytes, int64_t tag, bool persistent,
                     struct wio_handle *h)
{
    wio_enter(u);
    struct wio_request *r =
        wio_op_recv(u, g, src, NULL, bytes, tag, persistent ? WIO_REQ_RECV_TEMPLATE : WIO_REQ_RECV);
    if (r != NULL) {
        wio_spread_set(r, s);
        wio_op_name(r, h);
        if (!persistent)
            wio_recv_start(r);
    }
    wio_leave(u);
    return r != NULL ? 0 : WAITIO_ERR_NOMEM;
}

static struct wio_request *spawn(struct wio_request *t)
{
    bool send = t->kind == WIO_REQ_SEND_TEMPLATE;
    struct wio_request *r = NULL;
    if (!send && !wio_is_spread(t) && t->src >= 0 && t->tag >= 0)
        r = wio_recv_brief(t->u, t->space, (uint32_t)t->src, t->status_source, t->buf, t->bytes,
                           t->tag);
    if (r != NULL)
        return r;
    r = wio_req_new(t->u, send ? WIO_REQ_SEND : WIO_REQ_RECV);
    if (r == NULL)
        return NULL;
    r->space = t->space;
    r->peer = send ? t->peer : NULL;
    r->src = t->src;
    r->status_source = t->status_source;
    r->sync = t->sync;
    r->wary = t->wary;
    r->buf = t->buf;
    r->bytes = t->bytes;
    r->tag = t->tag;
    if (wio_is_spread(t))
        wio_spread_set(r, &t->spread);
    if (t->group != NULL)
        hold_group(r, t->group);
    return r;
}

static int not_persistent(void)
{
    return wio_fail(WAITIO_ERR_REQUEST, "start needs a request made by send_init or recv_init");
}

int wio_start(struct wio_universe *u, const struct wio_handle *h)
{
    if (wio_handle_sent(u, h))
        return not_persistent();
    wio_enter(u);
    struct wio_request *t = wio_handle_find(u, h);
    int rc = 0;
    if (t == NULL)
        rc = WAITIO_ERR_REQUEST;
    else if (!wio_req_is_template(t))
        rc = not_persistent();
    else if (t->child != NULL)
        rc = wio_fail(WAITIO_ERR_BUSY, "the persistent request is active already");
    else if ((t->child = spawn(t)) == NULL)
        rc = wio_fail(WAITIO_ERR_NOMEM, "no memory for another request");
    else if (t->kind == WIO_REQ_SEND_TEMPLATE)
        wio_send_start(t->child);
    else if (!t->child->brief)
        wio_recv_start(t->child);
    wio_leave(u);
    return rc;
}

/* ---- giving up ---- */

bool wio_op_withdraw(struct wio_request *r)
{
    if (r->kind != WIO_REQ_RECV || r->state != WIO_RS_POSTED)
        return false; /* matched, done: completes normally */
    if (wio_list_linked(&r->expected.node))
        wio_list_remove(&r->expected.node);
    else
        wio_match_unpost(&r->u->match, &r->post);
    r->cancelled = true;
    wio_req_finish(r, 0);
    return true;
}

int wio_cancel(struct wio_universe *u, const struct wio_handle *h)
{
    if (wio_handle_null(h))
        return wio_fail(WAITIO_ERR_REQUEST, "cancel of a null request");
    if (wio_handle_sent(u, h))
        return 0; /* it is complete */
    wio_enter(u);
    struct wio_request *top = wio_handle_find(u, h);
    struct wio_request *r = top == NULL ? NULL : wio_req_running(top);
    int rc = top == NULL ? WAITIO_ERR_REQUEST : 0;
    if (r != NULL && r->kind == WIO_REQ_SEND)
        rc = wio_send_cancel(r);
    else if (r != NULL)
        (void)wio_op_withdraw(r);
    wio_leave(u);
    return rc;
}

int wio_request_free(struct wio_universe *u, struct wio_handle *h)
{
    if (wio_handle_null(h))
        return 0;
    if (wio_handle_sent(u, h)) {
        *h = (struct wio_handle){0};
        return 0;
    }
    wio_enter(u);
    struct wio_request *top = wio_handle_find(u, h);
    if (top == NULL) {
        wio_leave(u);
        return WAITIO_ERR_REQUEST;
    }
    struct wio_request *r = wio_req_running(top);
    if (r != NULL) {
        r->user_holds = false;
        if (r->state == WIO_RS_DONE)
            wio_req_release(r);
    }
    if (top != r) {
        top->user_holds = false;
        wio_spread_end(top);
        wio_req_release(top);
    }
    memset(h, 0, sizeof *h);
    wio_leave(u);
    return 0;
}
