/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine's face to the upper layers: operations by handle. Each function takes the engine lock.
 */
#include "p2p/universe.h"

static int stale(const struct wio_handle *h)
{
    return wio_fail(
        WAITIO_ERR_REQUEST,
        "request %u (generation %u) is not pending here: it was completed already, or is "
        "a copy, or never came from isend/irecv",
        h->index, h->generation);
}

static bool is_null(const struct wio_handle *h)
{
    return h->index == 0 && h->generation == 0 && h->serial == 0;
}

/** @return NULL and the error set when the handle names nothing */
static struct wio_request *find(struct wio_universe *u, const struct wio_handle *h)
{
    struct wio_request *r = h->serial == u->serial ? wio_req_at(u, h->index, h->generation) : NULL;
    if (r == NULL || !r->user_holds) {
        stale(h);
        return NULL;
    }
    return r;
}

static bool is_template(const struct wio_request *r)
{
    return r->kind == WIO_REQ_SEND_TEMPLATE || r->kind == WIO_REQ_RECV_TEMPLATE;
}

/** The request that runs: the round of a template, NULL when inactive. */
static struct wio_request *running(struct wio_request *r)
{
    return is_template(r) ? r->child : r;
}

void wio_op_name(const struct wio_request *r, struct wio_handle *h)
{
    *h = (struct wio_handle){r->index, r->generation, r->u->serial};
}

/* The user knows all: the slot is free unless the engine still works on it. */
static void let_go(struct wio_request *r)
{
    r->user_holds = false;
    if (r->state == WIO_RS_DONE)
        wio_req_release(r);
}

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

#define TESTS_APART_NS 100000000LL /* who comes less often does something else meanwhile */
#define PROBE_NS 2000000000LL      /* between two looks whether a silent source must be dialled */

/* ---- start ---- */

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

static int start_send(struct wio_universe *u, struct waitio_group *g, uint32_t dst, const void *buf,
                      size_t bytes, int32_t tag, bool persistent, bool sync, struct wio_handle *h)
{
    wio_enter(u);
    struct wio_request *r =
        wio_op_send(u, g, dst, buf, bytes, tag, persistent ? WIO_REQ_SEND_TEMPLATE : WIO_REQ_SEND);
    if (r != NULL) {
        r->sync = sync;
        wio_op_name(r, h);
        if (!persistent)
            wio_send_start(r);
    }
    wio_leave(u);
    return r != NULL ? 0 : WAITIO_ERR_NOMEM;
}

int wio_isend(struct wio_universe *u, struct waitio_group *g, uint32_t dst, const void *buf,
              size_t bytes, int32_t tag, bool persistent, struct wio_handle *h)
{
    return start_send(u, g, dst, buf, bytes, tag, persistent, false, h);
}

bool wio_op_gone(struct wio_request *r, struct wio_peer **behind)
{
    if (!r->user_done || r->err != 0)
        return false;
    if (r->local)
        *behind = r->peer;
    let_go(r);
    return true;
}

int wio_post(struct wio_universe *u, struct waitio_group *g, uint32_t dst, const void *buf,
             size_t bytes, int32_t tag, struct wio_handle *h)
{
    wio_enter(u);
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
    if (src < 0)
        hold_group(r, g);
    r->buf = buf;
    r->bytes = bytes;
    r->tag = tag < 0 ? -1 : (int32_t)tag;
    r->post.tag = tag < 0 ? WIO_ANY : tag;
    return r;
}

int wio_irecv(struct wio_universe *u, struct waitio_group *g, int64_t src, void *buf, size_t bytes,
              int64_t tag, bool persistent, struct wio_handle *h)
{
    wio_enter(u);
    struct wio_request *r =
        wio_op_recv(u, g, src, buf, bytes, tag, persistent ? WIO_REQ_RECV_TEMPLATE : WIO_REQ_RECV);
    if (r != NULL) {
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
    struct wio_request *r = wio_req_new(t->u, send ? WIO_REQ_SEND : WIO_REQ_RECV);
    if (r == NULL)
        return NULL;
    r->space = t->space;
    r->peer = send ? t->peer : NULL;
    r->src = t->src;
    r->status_source = t->status_source;
    r->sync = t->sync;
    r->buf = t->buf;
    r->bytes = t->bytes;
    r->tag = t->tag;
    r->post.tag = t->post.tag;
    if (t->group != NULL)
        hold_group(r, t->group);
    return r;
}

int wio_start(struct wio_universe *u, const struct wio_handle *h)
{
    wio_enter(u);
    struct wio_request *t = find(u, h);
    int rc = 0;
    if (t == NULL)
        rc = WAITIO_ERR_REQUEST;
    else if (!is_template(t))
        rc = wio_fail(WAITIO_ERR_REQUEST, "start needs a request made by send_init or recv_init");
    else if (t->child != NULL)
        rc = wio_fail(WAITIO_ERR_BUSY, "the persistent request is active already");
    else if ((t->child = spawn(t)) == NULL)
        rc = wio_fail(WAITIO_ERR_NOMEM, "no memory for another request");
    else if (t->kind == WIO_REQ_SEND_TEMPLATE)
        wio_send_start(t->child);
    else
        wio_recv_start(t->child);
    wio_leave(u);
    return rc;
}

/* ---- completion ---- */

/* The detail text of a failed operation. */
static void why_failed(const struct wio_request *r)
{
    char name[64];
    if ((r->peer == NULL || !r->peer->dead) && wio_is_revoked(r->u, r->space))
        (void)wio_revoked_error(r->u, r->space);
    else if (r->err == WAITIO_ERR_STATE)
        wio_fail(r->err, "another thread has left the universe while this one waited");
    else if (r->peer == NULL)
        wio_fail(r->err, "no living process of the group could send");
    else if (r->refused)
        wio_fail(r->err,
                 "%s has begun to finalize, or has ended the collectives of this communicator, "
                 "without receiving this message of %zu bytes (tag %d)",
                 wio_peer_name(r->u, r->peer->rank, name, sizeof name), r->bytes, r->tag);
    else
        wio_fail(r->err, "%s: %s", wio_peer_name(r->u, r->peer->rank, name, sizeof name),
                 r->peer->why != NULL ? r->peer->why : "connection lost");
}

static struct wio_result result_of(const struct wio_request *r)
{
    bool fits = r->kind == WIO_REQ_RECV && (r->state == WIO_RS_DONE) && !r->cancelled;

    return (struct wio_result){.source = r->status_source,
                               .tag = r->tag,
                               .err = r->err,
                               .cancelled = r->cancelled,
                               .bytes = fits ? (r->total < r->bytes ? r->total : r->bytes)
                                        : r->kind == WIO_REQ_SEND ? r->bytes
                                                                  : 0};
}

/* What the user learns. */
static void consume(struct wio_request *top, struct wio_handle *h, struct wio_result *res)
{
    struct wio_request *r = running(top);
    *res = result_of(r);
    if (r->err == WAITIO_ERR_TRUNCATE)
        wio_fail(r->err, "message of %zu bytes (tag %d), receive buffer of %zu bytes", r->total,
                 r->tag, r->bytes);
    else if (r->err != 0)
        why_failed(r);
    if (top != r)
        top->child = NULL; /* the template stays with the user */
    else
        memset(h, 0, sizeof *h);
    let_go(r);
}

static void empty_result(struct wio_result *res)
{
    *res = (struct wio_result){.source = -1, .tag = -1};
}

/* A wait ends for a while when a task can go on, whoever started it: see task.c. */
static bool can_serve(const struct wio_universe *u)
{
    return WIO_UNLIKELY(!wio_list_empty(&u->tasks));
}

static bool request_done(void *arg)
{
    const struct wio_request *r = arg;
    return r->user_done || can_serve(r->u);
}

/* When a wait of so long from now ends. */
static int64_t deadline_of(int64_t timeout_ns)
{
    int64_t now = wio_os_now_ns();
    return timeout_ns < INT64_MAX - now ? now + timeout_ns : INT64_MAX;
}

/* A wait of many calls, or with many tasks in between, that began at waited_ns. */
static void report_when_long(struct wio_universe *u, struct wio_request *r, const char *what,
                             int64_t now)
{
    double warn_ns = u->cfg.warn_wait * 1e9;
    if (warn_ns > 0 && (double)(now - r->waited_ns) > warn_ns * (r->warned + 1.0)) {
        r->warned++;
        wio_stuck_report(u, what, r, r->waited_ns);
    }
}

/* Who waits in short slices never stays long enough in one of them for the duties of long waits. */
static void slice_over(struct wio_universe *u, struct wio_request *r, int64_t begun_ns)
{
    int64_t now = wio_os_now_ns();
    double warn_ns = u->cfg.warn_wait * 1e9;
    if (now - u->stuck_ns >= WIO_TICK_NS)
        wio_stuck_check(u, now);
    if (r->waited_ns == 0)
        r->waited_ns = begun_ns;
    if ((double)(now - begun_ns) <= warn_ns) /* else the wait itself has reported */
        report_when_long(u, r, "wait", now);
}

/* Wait for it, moving tasks meanwhile. @return 0; TIMEOUT */
static int wait_serving(struct wio_universe *u, struct wio_request *r, int64_t deadline_ns)
{
    int rc = 0;
    while (rc == 0 && !r->user_done) {
        rc = wio_wait_until(u, request_done, r, r, "wait", deadline_ns);
        if (r->user_done || !can_serve(u))
            continue;
        int64_t begun_ns = wio_os_now_ns();
        wio_task_serve(u);
        if (!r->user_done)
            slice_over(u, r, begun_ns);
    }
    return rc;
}

int wio_op_wait(struct wio_universe *u, struct wio_handle *h, struct wio_result *res)
{
    empty_result(res);
    if (is_null(h))
        return 0;
    struct wio_request *top = find(u, h);
    if (WIO_UNLIKELY(top == NULL))
        return WAITIO_ERR_REQUEST;
    struct wio_request *r = running(top);
    if (r == NULL)
        return 0;
    if (!r->user_done)
        wait_serving(u, r, INT64_MAX);
    struct wio_peer *behind = r->local ? r->peer : NULL;
    consume(top, h, res);
    if (WIO_UNLIKELY(behind != NULL))
        wio_pace(u, behind);
    return 0;
}

int wio_wait(struct wio_universe *u, struct wio_handle *h, struct wio_result *res)
{
    wio_enter(u);
    int rc = wio_op_wait(u, h, res);
    wio_leave(u);
    return rc;
}

int wio_wait_all(struct wio_universe *u, void *handles, size_t stride, int n, int *next)
{
    int rc = 0;
    wio_enter(u);
    while (*next < n && rc == 0) {
        struct wio_result res;
        rc = wio_op_wait(u, (void *)((char *)handles + (size_t)(*next)++ * stride), &res);
        if (rc == 0)
            rc = res.err;
    }
    wio_leave(u);
    return rc;
}

int wio_wait_for(struct wio_universe *u, struct wio_handle *h, int64_t timeout_ns, bool *done,
                 struct wio_result *res)
{
    empty_result(res);
    *done = true;
    if (is_null(h))
        return 0;
    wio_enter(u);
    struct wio_request *top = find(u, h);
    struct wio_request *r = top == NULL ? NULL : running(top);
    if (r != NULL && !r->user_done) {
        int64_t begun_ns = wio_os_now_ns();
        if (wait_serving(u, r, deadline_of(timeout_ns)) != 0)
            slice_over(u, r, begun_ns);
    }
    *done = r == NULL || r->user_done;
    if (r != NULL && *done)
        consume(top, h, res);
    wio_leave(u);
    return top == NULL ? WAITIO_ERR_REQUEST : 0;
}

/* Non-blocking calls move things on, unless another thread does so already.
 * @return the time; 0: not looked at */
static int64_t poke(struct wio_universe *u)
{
    if (u->batched)
        wio_flush(u);
    if (u->polling)
        return 0;
    wio_progress(u, WIO_PROGRESS_FULL);
    int64_t now = wio_os_now_ns();
    if (now - u->stuck_ns >= WIO_TICK_NS) /* a program may wait by testing only */
        wio_stuck_check(u, now);
    return now;
}

/* What testing has found can go on. */
static void serve_all(struct wio_universe *u)
{
    while (can_serve(u))
        wio_task_serve(u);
}

/* Make progress for a request that is asked about. One that is asked about in vain again and again,
 * with nothing else in between, is waited for. */
static void poke_for(struct wio_universe *u, struct wio_request *r)
{
    int64_t now = poke(u);
    serve_all(u);
    if (r->user_done || now == 0)
        return;
    if (now - r->tested_ns > TESTS_APART_NS) {
        r->waited_ns = now;
        r->warned = 0;
    }
    r->tested_ns = now;
    report_when_long(u, r, "test", now);
}

int wio_test(struct wio_universe *u, struct wio_handle *h, bool *done, struct wio_result *res)
{
    empty_result(res);
    *done = true;
    if (is_null(h))
        return 0;
    wio_enter(u);
    struct wio_request *top = find(u, h);
    struct wio_request *r = top == NULL ? NULL : running(top);
    if (r != NULL && !r->user_done)
        poke_for(u, r);
    *done = r == NULL || r->user_done;
    if (r != NULL && *done)
        consume(top, h, res);
    wio_leave(u);
    return top == NULL ? WAITIO_ERR_REQUEST : 0;
}

int wio_peek(struct wio_universe *u, const struct wio_handle *h, bool poll, bool *done)
{
    *done = true;
    if (is_null(h))
        return 0;
    wio_enter(u);
    struct wio_request *top = find(u, h);
    struct wio_request *r = top == NULL ? NULL : running(top);
    if (r != NULL && !r->user_done && poll)
        poke_for(u, r);
    *done = r == NULL || r->user_done;
    wio_leave(u);
    return top == NULL ? WAITIO_ERR_REQUEST : 0;
}

int wio_look(struct wio_universe *u, const struct wio_handle *h, bool *done, struct wio_result *res)
{
    int rc = wio_peek(u, h, true, done);

    empty_result(res);
    if (rc != 0 || !*done || is_null(h))
        return rc;
    wio_enter(u);
    struct wio_request *top = find(u, h);
    const struct wio_request *r = top == NULL ? NULL : running(top);
    if (r != NULL)
        *res = result_of(r);
    wio_leave(u);
    return top == NULL ? WAITIO_ERR_REQUEST : 0;
}

bool wio_inactive(struct wio_universe *u, const struct wio_handle *h)
{
    if (is_null(h))
        return true;
    wio_enter(u);
    struct wio_request *top =
        h->serial == u->serial ? wio_req_at(u, h->index, h->generation) : NULL;
    bool inactive = top != NULL && running(top) == NULL;
    wio_leave(u);
    return inactive;
}

struct any {
    struct wio_universe *u;
    const char *handles;
    size_t stride;
    int n, which, active;
    int rc;
};

static bool any_done(void *arg)
{
    struct any *a = arg;
    a->active = 0;
    for (int i = 0; i < a->n; i++) {
        const struct wio_handle *h = (const void *)(a->handles + (size_t)i * a->stride);
        if (is_null(h))
            continue;
        struct wio_request *top = find(a->u, h);
        if (top == NULL) {
            a->rc = WAITIO_ERR_REQUEST;
            return true;
        }
        struct wio_request *r = running(top);
        if (r == NULL)
            continue;
        a->active++;
        if (r->user_done) {
            a->which = i;
            return true;
        }
    }
    return a->active == 0;
}

static bool any_ends(void *arg)
{
    return any_done(arg) || can_serve(((const struct any *)arg)->u);
}

int wio_wait_any_for(struct wio_universe *u, const struct wio_handle *h, size_t stride, int n,
                     int64_t timeout_ns, bool *timed_out, int *which)
{
    struct any a = {.u = u, .handles = (const char *)h, .stride = stride, .n = n, .which = -1};
    int64_t deadline_ns = deadline_of(timeout_ns);
    wio_enter(u);
    for (;;) {
        int rc = wio_wait_until(u, any_ends, &a, NULL, "waitany", deadline_ns);
        bool ended = any_done(&a);
        *timed_out = rc != 0 && !ended;
        if (ended || rc != 0)
            break;
        wio_task_serve(u);
    }
    if (*timed_out && wio_os_now_ns() - u->stuck_ns >= WIO_TICK_NS)
        wio_stuck_check(u, wio_os_now_ns());
    wio_leave(u);
    *which = a.which;
    return a.rc;
}

int wio_wait_any(struct wio_universe *u, const struct wio_handle *h, size_t stride, int n,
                 int *which)
{
    bool timed_out;
    return wio_wait_any_for(u, h, stride, n, INT64_MAX, &timed_out, which);
}

/* ---- cancel, free, probe ---- */

bool wio_op_withdraw(struct wio_request *r)
{
    if (r->kind != WIO_REQ_RECV || r->state != WIO_RS_POSTED)
        return false; /* matched, done: completes normally */
    wio_match_unpost(&r->u->match, &r->post);
    r->cancelled = true;
    wio_req_finish(r, 0);
    return true;
}

int wio_cancel(struct wio_universe *u, const struct wio_handle *h)
{
    if (is_null(h))
        return wio_fail(WAITIO_ERR_REQUEST, "cancel of a null request");
    wio_enter(u);
    struct wio_request *top = find(u, h);
    struct wio_request *r = top == NULL ? NULL : running(top);
    int rc = top == NULL ? WAITIO_ERR_REQUEST : 0;
    if (r != NULL && r->kind == WIO_REQ_SEND)
        rc = wio_fail(WAITIO_ERR_UNSUPPORTED, "sends cannot be cancelled; only receives can");
    else if (r != NULL)
        (void)wio_op_withdraw(r);
    wio_leave(u);
    return rc;
}

int wio_request_free(struct wio_universe *u, struct wio_handle *h)
{
    if (is_null(h))
        return 0;
    wio_enter(u);
    struct wio_request *top = find(u, h);
    if (top == NULL) {
        wio_leave(u);
        return WAITIO_ERR_REQUEST;
    }
    struct wio_request *r = running(top);
    if (r != NULL) {
        r->user_holds = false;
        if (r->state == WIO_RS_DONE)
            wio_req_release(r);
    }
    if (top != r) {
        top->user_holds = false;
        wio_req_release(top);
    }
    memset(h, 0, sizeof *h);
    wio_leave(u);
    return 0;
}

struct look {
    struct wio_universe *u;
    struct waitio_group *g;
    int64_t src, tag;
    struct wio_held *found;
};

static bool source_gone(const struct look *l)
{
    if (l->u->left)
        return true;
    if (l->src >= 0) {
        const struct wio_peer *p = l->u->peer[l->src];
        return p != NULL && p->dead;
    }
    return wio_nobody_left(l->u, l->g);
}

static bool look_done(void *arg)
{
    struct look *l = arg;
    l->found = wio_match_probe(&l->u->match, l->g->space, l->src, l->tag);
    return l->found != NULL || source_gone(l);
}

static bool look_ends(void *arg)
{
    return look_done(arg) || can_serve(((const struct look *)arg)->u);
}

/* No receive is posted that would have a silent source dialled: the probe sees to it. */
static void probe_wait(struct wio_universe *u, struct look *l, int64_t deadline_ns)
{
    for (;;) {
        int64_t now = wio_os_now_ns();
        if (look_done(l) || now >= deadline_ns)
            return;
        wio_stuck_probe(u, l->g, l->src, now);
        int64_t slice = deadline_ns - now < PROBE_NS ? deadline_ns - now : PROBE_NS;
        wio_wait_until(u, look_ends, l, NULL, "probe", now + slice);
        if (!look_done(l))
            wio_task_serve(u);
    }
}

int wio_probe_for(struct wio_universe *u, struct waitio_group *g, int64_t src, int64_t tag,
                  int64_t timeout_ns, bool *found, struct wio_result *res)
{
    empty_result(res);
    *found = false;
    wio_enter(u);
    struct look l = {.u = u,
                     .g = g,
                     .tag = tag < 0 ? WIO_ANY : tag,
                     .src = src < 0 ? WIO_ANY : (int64_t)wio_group_member(g, (uint32_t)src)};
    if (!look_done(&l)) {
        poke(u);
        serve_all(u);
    }
    if (timeout_ns > 0)
        probe_wait(u, &l, deadline_of(timeout_ns));
    else if (!look_done(&l))
        wio_stuck_probe(u, g, l.src, wio_os_now_ns());
    int rc = 0;
    if (l.found != NULL) {
        const struct wio_unexpected *m = (const struct wio_unexpected *)(const void *)l.found;
        *found = true;
        res->source = (int32_t)wio_group_rank_of(g, (uint32_t)l.found->src);
        res->tag = (int32_t)l.found->tag;
        res->bytes = m->total;
    } else if (source_gone(&l)) {
        rc = u->left      ? wio_fail(WAITIO_ERR_STATE, "another thread has left the universe")
             : l.src >= 0 ? wio_peer_error(u, u->peer[l.src])
                          : wio_fail(WAITIO_ERR_PEER, "no living process of the group could send");
    }
    wio_leave(u);
    return rc;
}

int wio_probe(struct wio_universe *u, struct waitio_group *g, int64_t src, int64_t tag, bool block,
              bool *found, struct wio_result *res)
{
    return wio_probe_for(u, g, src, tag, block ? INT64_MAX : 0, found, res);
}

/* ---- groups ---- */

void wio_group_register(struct wio_universe *u, struct waitio_group *g)
{
    wio_enter(u);
    wio_list_push_front(&u->groups, &g->node);
    wio_leave(u);
}

static _Atomic uintptr_t *known_at(struct wio_universe *u, const struct waitio_group *g)
{
    return &u->known_group[((uintptr_t)g >> 6) % WIO_KNOWN_GROUPS];
}

static bool known_group(struct wio_universe *u, const struct waitio_group *g)
{
    WIO_LIST_FOR(it, &u->groups)
    {
        if (WIO_CONTAINER(it, struct waitio_group, node) != g)
            continue;
        atomic_store_explicit(known_at(u, g), (uintptr_t)g, memory_order_release);
        return true;
    }
    return false;
}

int wio_group_check(struct wio_universe *u, const struct waitio_group *g)
{
    if (g == NULL)
        return wio_fail(WAITIO_ERR_GROUP, "the group is NULL");
    if (WIO_LIKELY((uintptr_t)g == atomic_load_explicit(known_at(u, g), memory_order_acquire)))
        return 0;
    wio_enter(u);
    bool known = known_group(u, g);
    wio_leave(u);
    return known ? 0
                 : wio_fail(WAITIO_ERR_GROUP, "%p is no group of this universe, or was freed",
                            (const void *)g);
}

int wio_group_drop(struct wio_universe *u, struct waitio_group *g)
{
    int rc = wio_group_check(u, g);
    if (rc != 0)
        return rc;
    wio_enter(u);
    wio_list_remove(&g->node);
    atomic_store(known_at(u, g), 0); /* at worst another group is looked up once more */
    if (--g->refs == 0)
        wio_group_destroy(g);
    wio_leave(u);
    return 0;
}
