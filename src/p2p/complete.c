/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for operations, and testing them. Functions of p2p.h take the engine lock. */
#include "p2p/handle.h"

#define TESTS_APART_NS 100000000LL /* a program that calls less often does other work meanwhile */

int wio_handle_stale(const struct wio_handle *h)
{
    return wio_fail(
        WAITIO_ERR_REQUEST,
        "request %u (generation %u) is not pending here: it was completed already, or is "
        "a copy, or is of a universe that was left, or never came from isend/irecv",
        h->index, h->generation);
}

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
    else if (r->unsafe)
        (void)wio_unsafe_error(r->u, r->peer);
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
static inline void consume(struct wio_request *top, struct wio_handle *h, struct wio_result *res)
{
    struct wio_request *r = wio_req_running(top);
    if (WIO_LIKELY(r->brief && !r->cancelled && top == r)) { /* it cannot have failed */
        *res = (struct wio_result){.source = r->status_source, .tag = r->tag, .bytes = r->total};
        memset(h, 0, sizeof *h);
        r->user_holds = false;
        wio_req_release(r);
        return;
    }
    *res = result_of(r);
    if (r->err == WAITIO_ERR_TRUNCATE)
        wio_fail(r->err, "message of %zu bytes (tag %d), receive buffer of %zu bytes", r->total,
                 r->tag, r->bytes);
    else if (r->err != 0)
        why_failed(r);
    if (top != r)
        top->child = NULL; /* the user keeps the template */
    else
        memset(h, 0, sizeof *h);
    wio_req_let_go(r);
}

static bool request_done(void *arg)
{
    const struct wio_request *r = arg;
    return r->user_done || wio_can_serve(r->u);
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

/* A wait in short slices never reaches the duties of long waits within one slice. */
static void slice_over(struct wio_universe *u, struct wio_request *r, int64_t begun_ns)
{
    r->brief = false; /* its times are written */
    int64_t now = wio_os_now_ns();
    double warn_ns = u->cfg.warn_wait * 1e9;
    if (now - u->stuck_ns >= WIO_TICK_NS)
        wio_stuck_check(u, now);
    if (r->waited_ns == 0)
        r->waited_ns = begun_ns;
    if ((double)(now - begun_ns) <= warn_ns) /* else the wait itself has reported */
        report_when_long(u, r, "wait", now);
}

/* Wait for it, and run tasks meanwhile. @return 0; TIMEOUT */
static int wait_serving(struct wio_universe *u, struct wio_request *r, int64_t deadline_ns)
{
    int rc = 0;
    while (rc == 0 && !r->user_done) {
        rc = wio_wait_until(u, request_done, r, r, "wait", deadline_ns);
        if (r->user_done || !wio_can_serve(u))
            continue;
        int64_t begun_ns = wio_os_now_ns();
        wio_task_serve(u);
        if (!r->user_done)
            slice_over(u, r, begun_ns);
    }
    return rc;
}

/* It is in the list of its peer: most likely only this link has to be polled. */
static void wait_first(struct wio_universe *u, struct wio_request *r)
{
    if (wio_list_linked(&r->expected.node) && !wio_look_once(u, u->peer[r->src], &r->expected))
        wio_wait_brief(u, u->peer[r->src], &r->expected);
    if (!r->user_done)
        wait_serving(u, r, INT64_MAX);
}

/* For the trace: a message keeps the time of its wait itself. */
static void wait_marked(struct wio_universe *u, struct wio_request *r)
{
    bool message = r->kind == WIO_REQ_SEND || r->kind == WIO_REQ_RECV;
    uint32_t mark = message ? 0 : wio_mark_begin(u, WIO_EVENT_WAIT, WIO_EVENT_WAIT_STARTED, -1);
    if (message)
        wio_mark_waited(u, r->expected.mark);
    wait_first(u, r);
    if (!message)
        wio_mark_end(u, mark, -1);
}

static inline int op_wait(struct wio_universe *u, struct wio_handle *h, struct wio_result *res)
{
    if (wio_handle_sent(u, h)) {
        *res = wio_handle_result(h);
        *h = (struct wio_handle){0};
        return 0;
    }
    *res = wio_no_result();
    if (wio_handle_null(h))
        return 0;
    struct wio_request *top = wio_handle_find(u, h);
    if (WIO_UNLIKELY(top == NULL))
        return WAITIO_ERR_REQUEST;
    struct wio_request *r = wio_req_running(top);
    if (WIO_UNLIKELY(r == NULL))
        return 0;
    if (WIO_TRACED(u) && !r->user_done)
        wait_marked(u, r);
    if (!r->user_done)
        wait_first(u, r);
    struct wio_peer *behind = r->local ? r->peer : NULL;
    consume(top, h, res);
    if (WIO_UNLIKELY(behind != NULL))
        wio_pace(u, behind);
    return 0;
}

int wio_op_wait(struct wio_universe *u, struct wio_handle *h, struct wio_result *res)
{
    return op_wait(u, h, res);
}

int wio_wait(struct wio_universe *u, struct wio_handle *h, struct wio_result *res)
{
    if (wio_handle_sent(u, h))
        return op_wait(u, h, res); /* nothing to look at */
    wio_enter(u);
    int rc = op_wait(u, h, res);
    wio_leave(u);
    return rc;
}

int wio_wait_all(struct wio_universe *u, void *handles, size_t stride, int n, int *next)
{
    int rc = 0;
    wio_enter(u);
    while (*next < n && rc == 0) {
        struct wio_result res;
        rc = op_wait(u, (void *)((char *)handles + (size_t)(*next)++ * stride), &res);
        if (rc == 0)
            rc = res.err;
    }
    wio_leave(u);
    return rc;
}

/* Universe rank of the other side, as far as it is known; or < 0. */
static int64_t awaited(const struct wio_request *r)
{
    bool message = r->kind == WIO_REQ_SEND || r->kind == WIO_REQ_RECV;
    return !message ? -1 : r->peer != NULL ? (int64_t)r->peer->rank : r->src;
}

int wio_wait_for(struct wio_universe *u, struct wio_handle *h, int64_t timeout_ns, bool *done,
                 struct wio_result *res)
{
    *res = wio_no_result();
    *done = true;
    if (wio_handle_sent(u, h))
        return op_wait(u, h, res);
    if (wio_handle_null(h))
        return 0;
    wio_enter(u);
    struct wio_request *top = wio_handle_find(u, h);
    struct wio_request *r = top == NULL ? NULL : wio_req_running(top);
    if (r != NULL && !r->user_done) {
        int64_t begun_ns = wio_os_now_ns();
        uint32_t mark = wio_mark_begin(u, WIO_EVENT_WAIT, WIO_EVENT_WAIT_WHILE, awaited(r));
        if (wait_serving(u, r, wio_deadline(timeout_ns)) != 0)
            slice_over(u, r, begun_ns);
        wio_mark_end(u, mark, awaited(r));
    }
    *done = r == NULL || r->user_done;
    if (r != NULL && *done)
        consume(top, h, res);
    wio_leave(u);
    return top == NULL ? WAITIO_ERR_REQUEST : 0;
}

int64_t wio_poke(struct wio_universe *u)
{
    int64_t now = 0;
    if (u->batched)
        wio_flush(u);
    if (!u->polling) {
        wio_progress(u, WIO_PROGRESS_FULL);
        now = wio_os_now_ns();
        if (!wio_list_empty(&u->lent) && now - u->lent_ns > WIO_FETCH_SOON_NS)
            wio_fetch_take_back(u);
        if (now - u->stuck_ns >= WIO_TICK_NS) /* a program may wait with tests only */
            wio_stuck_check(u, now);
    }
    if (WIO_UNLIKELY(u->noutside > 0))
        (void)wio_outside_poll(u);
    while (wio_can_serve(u)) /* tasks that the poll has made ready */
        wio_task_serve(u);
    return now;
}

/* Make progress for a request that is tested. Repeated tests without success count as a wait,
 * unless other messages come meanwhile: a program may listen for one that seldom comes. */
static void poke_for(struct wio_universe *u, struct wio_request *r)
{
    r->brief = false; /* its times are written */
    int64_t now = wio_poke(u);
    if (r->user_done || now == 0)
        return;
    if (now - r->tested_ns > TESTS_APART_NS || u->ctr.recv_msgs != r->tested_msgs) {
        r->waited_ns = now;
        r->warned = 0;
    }
    r->tested_ns = now;
    r->tested_msgs = u->ctr.recv_msgs;
    report_when_long(u, r, "test", now);
}

int wio_test(struct wio_universe *u, struct wio_handle *h, bool *done, struct wio_result *res)
{
    *res = wio_no_result();
    *done = true;
    if (wio_handle_sent(u, h))
        return op_wait(u, h, res);
    if (wio_handle_null(h))
        return 0;
    wio_enter(u);
    struct wio_request *top = wio_handle_find(u, h);
    struct wio_request *r = top == NULL ? NULL : wio_req_running(top);
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
    if (wio_handle_null(h) || wio_handle_sent(u, h))
        return 0;
    wio_enter(u);
    struct wio_request *top = wio_handle_find(u, h);
    struct wio_request *r = top == NULL ? NULL : wio_req_running(top);
    if (r != NULL && !r->user_done && poll)
        poke_for(u, r);
    *done = r == NULL || r->user_done;
    wio_leave(u);
    return top == NULL ? WAITIO_ERR_REQUEST : 0;
}

int wio_look(struct wio_universe *u, const struct wio_handle *h, bool *done, struct wio_result *res)
{
    int rc = wio_peek(u, h, true, done);

    *res = wio_handle_sent(u, h) ? wio_handle_result(h) : wio_no_result();
    if (rc != 0 || !*done || wio_handle_null(h) || wio_handle_sent(u, h))
        return rc;
    wio_enter(u);
    struct wio_request *top = wio_handle_find(u, h);
    const struct wio_request *r = top == NULL ? NULL : wio_req_running(top);
    if (r != NULL)
        *res = result_of(r);
    wio_leave(u);
    return top == NULL ? WAITIO_ERR_REQUEST : 0;
}

bool wio_inactive(struct wio_universe *u, const struct wio_handle *h)
{
    if (wio_handle_null(h))
        return true;
    if (wio_handle_sent(u, h))
        return false;
    wio_enter(u);
    struct wio_request *top =
        h->serial == u->serial ? wio_req_at(u, h->index, h->generation) : NULL;
    bool inactive = top != NULL && wio_req_running(top) == NULL;
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
        if (wio_handle_null(h))
            continue;
        if (wio_handle_sent(a->u, h)) {
            a->active++;
            a->which = i;
            return true;
        }
        struct wio_request *top = wio_handle_find(a->u, h);
        if (top == NULL) {
            a->rc = WAITIO_ERR_REQUEST;
            return true;
        }
        struct wio_request *r = wio_req_running(top);
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
    return any_done(arg) || wio_can_serve(((const struct any *)arg)->u);
}

/* Of a single request the link is known that it comes by, which is then looked at more often. */
static struct wio_request *only(struct wio_universe *u, const struct wio_handle *h, int n)
{
    struct wio_request *top =
        n == 1 && !wio_handle_null(h) && !wio_handle_sent(u, h) ? wio_handle_find(u, h) : NULL;

    return top != NULL ? wio_req_running(top) : NULL;
}

/* Whose message has ended it, or < 0. */
static int64_t who_ended(struct wio_universe *u, const struct any *a)
{
    const struct wio_handle *h = (const void *)(a->handles + (size_t)a->which * a->stride);
    const struct wio_request *top =
        a->which < 0 || wio_handle_null(h) || wio_handle_sent(u, h) ? NULL : wio_handle_find(u, h);
    return top == NULL || wio_req_is_template(top) ? -1 : awaited(top);
}

int wio_wait_any_for(struct wio_universe *u, const struct wio_handle *h, size_t stride, int n,
                     int64_t timeout_ns, bool *timed_out, int *which)
{
    struct any a = {.u = u, .handles = (const char *)h, .stride = stride, .n = n, .which = -1};
    int64_t deadline_ns = wio_deadline(timeout_ns);
    wio_enter(u);
    uint32_t mark = WIO_TRACED(u) && timeout_ns > 0 && !any_done(&a)
                        ? wio_mark_begin(u, WIO_EVENT_WAIT, WIO_EVENT_WAIT_ANY, -1)
                        : 0;
    for (;;) {
        int rc = wio_wait_until(u, any_ends, &a, only(u, h, n), "waitany", deadline_ns);
        bool ended = any_done(&a);
        *timed_out = rc != 0 && !ended;
        if (ended || rc != 0)
            break;
        wio_task_serve(u);
    }
    if (mark != 0)
        wio_mark_end(u, mark, who_ended(u, &a));
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
