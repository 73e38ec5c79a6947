/* SPDX-License-Identifier: BSD-3-Clause */
/* Point-to-point calls: check arguments, call the engine, report. */
#include "api/api.h"

#include "os/os.h"

/* Arguments common to sends and receives, checked in the order a user reads them. */
struct envelope {
    const char *call;
    waitio_group_t group;
    int rank;
    const void *buf;
    size_t bytes;
    int tag;
    bool wild; /* wildcards allowed */
    bool wary; /* the source is any, as WIO_ANY_WARY says */
};

static int check(struct wio_universe *u, const struct envelope *e)
{
    int rc = wio_group_check(u, e->group);
    if (rc != 0)
        return rc;
    if (WIO_UNLIKELY(e->group->my_rank < 0))
        return wio_fail(WAITIO_ERR_GROUP, "this process is no member of the group");
    bool any_rank = e->wild && e->rank == WAITIO_ANY_SOURCE;
    if (WIO_UNLIKELY(!any_rank && (e->rank < 0 || (uint32_t)e->rank >= e->group->size)))
        return wio_fail(WAITIO_ERR_RANK, "%s rank %d in a group of %u",
                        e->wild ? "source" : "destination", e->rank, e->group->size);
    if (WIO_UNLIKELY(e->tag < 0 && !(e->wild && e->tag == WAITIO_ANY_TAG)))
        return wio_fail(WAITIO_ERR_TAG, "tag %d", e->tag);
    if (WIO_UNLIKELY(e->buf == NULL && e->bytes > 0))
        return wio_fail(WAITIO_ERR_ARG, "buf is NULL but bytes is %zu", e->bytes);
    if (WIO_UNLIKELY(e->bytes > PTRDIFF_MAX))
        return wio_fail(WAITIO_ERR_ARG, "bytes is %zu: a negative count?", e->bytes);
    return 0;
}

/* The same for what most programs pass: an explicit rank and tag, a group used lately. False says
 * nothing. */
static inline bool plain(struct wio_universe *u, waitio_group_t g, int rank, const void *buf,
                         size_t bytes, int tag)
{
    return u != NULL && g != NULL && wio_group_known(u, g) && g->my_rank >= 0 && rank >= 0 &&
           (uint32_t)rank < g->size && tag >= 0 && (buf != NULL || bytes == 0) &&
           bytes <= PTRDIFF_MAX;
}

static int64_t source(const struct envelope *e)
{
    return e->rank != WAITIO_ANY_SOURCE ? e->rank : e->wary ? WIO_ANY_WARY : -1;
}

static int64_t any_tag(int tag)
{
    return tag == WAITIO_ANY_TAG ? -1 : tag;
}

static int start_send(const struct envelope *e, bool persistent, bool sync, waitio_req_t *req)
{
    if (req == NULL)
        return wio_api_result(e->call, wio_fail(WAITIO_ERR_ARG, "req is NULL"));
    memset(req, 0, sizeof *req);
    struct wio_universe *u = wio_api_universe();
    int rc = u == NULL ? wio_last_code() : check(u, e);
    if (rc == 0)
        rc = (sync ? wio_issend : wio_isend)(u, e->group, (uint32_t)e->rank, e->buf, e->bytes,
                                             e->tag, persistent, wio_api_handle(req));
    return wio_api_result(e->call, rc);
}

static int start_recv(const struct envelope *e, void *buf, bool persistent, waitio_req_t *req)
{
    if (req == NULL)
        return wio_api_result(e->call, wio_fail(WAITIO_ERR_ARG, "req is NULL"));
    memset(req, 0, sizeof *req);
    struct wio_universe *u = wio_api_universe();
    int rc = u == NULL ? wio_last_code() : check(u, e);
    if (rc == 0)
        rc = wio_irecv(u, e->group, source(e), buf, e->bytes, any_tag(e->tag), persistent,
                       wio_api_handle(req));
    return wio_api_result(e->call, rc);
}

int waitio_isend(waitio_group_t group, int dst, const void *buf, size_t bytes, waitio_tag_t tag,
                 waitio_req_t *req)
{
    struct wio_universe *u = wio_api_current();
    if (WIO_LIKELY(req != NULL && plain(u, group, dst, buf, bytes, tag)) &&
        WIO_LIKELY(
            wio_isend(u, group, (uint32_t)dst, buf, bytes, tag, false, wio_api_handle(req)) == 0))
        return 0;
    struct envelope e = {"waitio_isend", group, dst, buf, bytes, tag, false, false};
    return start_send(&e, false, false, req);
}

int waitio_irecv(waitio_group_t group, int src, void *buf, size_t bytes, waitio_tag_t tag,
                 waitio_req_t *req)
{
    struct wio_universe *u = wio_api_current();
    if (WIO_LIKELY(req != NULL && plain(u, group, src, buf, bytes, tag)) &&
        WIO_LIKELY(wio_irecv(u, group, src, buf, bytes, tag, false, wio_api_handle(req)) == 0))
        return 0;
    struct envelope e = {"waitio_irecv", group, src, buf, bytes, tag, true, false};
    return start_recv(&e, buf, false, req);
}

int waitio_send_init(waitio_group_t group, int dst, const void *buf, size_t bytes, waitio_tag_t tag,
                     waitio_req_t *req)
{
    struct envelope e = {"waitio_send_init", group, dst, buf, bytes, tag, false, false};
    return start_send(&e, true, false, req);
}

int wio_api_issend(waitio_group_t group, int dst, const void *buf, size_t bytes, waitio_tag_t tag,
                   bool persistent, waitio_req_t *req)
{
    struct envelope e = {"synchronous send", group, dst, buf, bytes, tag, false, false};
    return start_send(&e, persistent, true, req);
}

int waitio_recv_init(waitio_group_t group, int src, void *buf, size_t bytes, waitio_tag_t tag,
                     waitio_req_t *req)
{
    struct envelope e = {"waitio_recv_init", group, src, buf, bytes, tag, true, false};
    return start_recv(&e, buf, true, req);
}

int wio_api_send_spread(waitio_group_t group, int dst, const struct wio_spread *s, size_t bytes,
                        waitio_tag_t tag, bool persistent, bool sync, waitio_req_t *req)
{
    struct envelope e = {"waitio_isend", group, dst, s, bytes, tag, false, false};
    struct wio_universe *u = wio_api_universe();
    memset(req, 0, sizeof *req);
    int rc = u == NULL ? wio_last_code() : check(u, &e);
    if (rc == 0)
        rc = wio_isend_spread(u, group, (uint32_t)dst, s, bytes, tag, persistent, sync,
                              wio_api_handle(req));
    return wio_api_result(e.call, rc);
}

int wio_api_recv_spread(waitio_group_t group, int src, const struct wio_spread *s, size_t bytes,
                        waitio_tag_t tag, bool persistent, waitio_req_t *req)
{
    struct envelope e = {"waitio_irecv", group, src, s, bytes, tag, true, true};
    struct wio_universe *u = wio_api_universe();
    memset(req, 0, sizeof *req);
    int rc = u == NULL ? wio_last_code() : check(u, &e);
    if (rc == 0)
        rc = wio_irecv_spread(u, group, source(&e), s, bytes, any_tag(tag), persistent,
                              wio_api_handle(req));
    return wio_api_result(e.call, rc);
}

int wio_api_recv_wary(waitio_group_t group, int src, void *buf, size_t bytes, waitio_tag_t tag,
                      bool persistent, waitio_req_t *req)
{
    if (!persistent && src != WAITIO_ANY_SOURCE)
        return waitio_irecv(group, src, buf, bytes, tag, req);
    struct envelope e = {"waitio_irecv", group, src, buf, bytes, tag, true, true};
    return start_recv(&e, buf, persistent, req);
}

/* ---- completion ---- */

static int fill(waitio_status_t *status, const struct wio_result *res)
{
    if (status != NULL)
        *status = (waitio_status_t){res->source, res->tag, res->err, res->cancelled, res->bytes};
    return res->err;
}

/** Is req usable? NULL is an error; an inactive or null one is for the engine to judge. */
static int need(const char *call, const void *arg, const char *name, struct wio_universe **u)
{
    if (arg == NULL)
        return wio_api_result(call, wio_fail(WAITIO_ERR_ARG, "%s is NULL", name));
    *u = wio_api_universe();
    return *u == NULL ? wio_api_result(call, wio_last_code()) : 0;
}

static bool is_null(const waitio_req_t *req)
{
    return req->opaque[0] == 0 && req->opaque[1] == 0 && req->opaque[2] == 0;
}

int waitio_wait_status(waitio_req_t *req, waitio_status_t *status)
{
    struct wio_universe *u = NULL;
    struct wio_result res = {.source = -1, .tag = -1};
    if (req != NULL && is_null(req)) /* also before joining and after leaving */
        return fill(status, &res);
    int rc = need("waitio_wait", req, "req", &u);
    if (rc != 0)
        return rc;
    rc = wio_wait(u, wio_api_handle(req), &res);
    fill(status, &res);
    rc = rc != 0 ? rc : res.err;
    return WIO_LIKELY(rc == 0) ? 0 : wio_api_result("waitio_wait", rc);
}

int waitio_wait(waitio_req_t *req)
{
    return waitio_wait_status(req, NULL);
}

/* A year is for ever; what is no time is none. */
static int64_t nanoseconds(double seconds)
{
    return seconds >= 3.2e7 ? INT64_MAX : seconds > 0 ? (int64_t)(seconds * 1e9) : 0;
}

int waitio_wait_for(waitio_req_t *req, double seconds, int *flag, waitio_status_t *status)
{
    static const char call[] = "waitio_wait_for";
    struct wio_universe *u = NULL;
    struct wio_result res;
    bool done = false;
    int rc = need(call, req == NULL ? NULL : flag, req == NULL ? "req" : "flag", &u);
    if (rc != 0)
        return rc;
    rc = wio_wait_for(u, wio_api_handle(req), nanoseconds(seconds), &done, &res);
    *flag = done;
    if (done)
        fill(status, &res);
    return wio_api_result(call, rc != 0 ? rc : done ? res.err : 0);
}

int waitio_test(waitio_req_t *req, int *flag, waitio_status_t *status)
{
    struct wio_universe *u = NULL;
    struct wio_result res;
    bool done = false;
    int rc = need("waitio_test", req == NULL ? NULL : flag, req == NULL ? "req" : "flag", &u);
    if (rc != 0)
        return rc;
    rc = wio_test(u, wio_api_handle(req), &done, &res);
    *flag = done;
    if (done)
        fill(status, &res);
    return wio_api_result("waitio_test", rc != 0 ? rc : done ? res.err : 0);
}

static int check_array(const char *call, int n, const void *reqs, struct wio_universe **u)
{
    if (n < 0)
        return wio_api_result(call, wio_fail(WAITIO_ERR_ARG, "n is %d", n));
    static const char none[1];
    return need(call, n == 0 ? none : reqs, "reqs", u);
}

int waitio_waitall(int n, waitio_req_t reqs[], waitio_status_t statuses[])
{
    struct wio_universe *u = NULL;
    int first = check_array("waitio_waitall", n, reqs, &u);
    if (first != 0)
        return first;
    int next = 0;
    while (statuses == NULL && next < n) {
        int rc = wio_wait_all(u, reqs, sizeof reqs[0], n, &next);
        if (rc != 0)
            wio_api_result("waitio_waitall", rc);
        first = first == 0 ? rc : first;
    }
    for (int i = next; i < n; i++) {
        struct wio_result res;
        int rc = wio_wait(u, wio_api_handle(&reqs[i]), &res);
        if (rc != 0)
            res.err = rc;
        fill(statuses == NULL ? NULL : &statuses[i], &res);
        if (res.err != 0) {
            wio_api_result("waitio_waitall", res.err);
            if (first == 0)
                first = res.err;
        }
    }
    return first;
}

static int take_one(const char *call, struct wio_universe *u, waitio_req_t *req,
                    waitio_status_t *status)
{
    struct wio_result res;
    int rc = wio_wait(u, wio_api_handle(req), &res);
    fill(status, &res);
    return wio_api_result(call, rc != 0 ? rc : res.err);
}

static int wait_any(const char *call, int n, waitio_req_t reqs[], int64_t timeout_ns, int *index,
                    int *flag, waitio_status_t *status)
{
    struct wio_universe *u = NULL;
    int which = -1;
    bool timed_out = false;
    *index = WAITIO_UNDEFINED;
    *flag = 0;
    int rc = check_array(call, n, reqs, &u);
    if (rc != 0)
        return rc;
    if (n > 0)
        rc = wio_wait_any_for(u, wio_api_handle(reqs), sizeof *reqs, n, timeout_ns, &timed_out,
                              &which);
    if (rc != 0)
        return wio_api_result(call, rc);
    if (timed_out)
        return 0;
    *flag = 1;
    if (which < 0)
        return fill(status, &(struct wio_result){.source = -1, .tag = -1});
    *index = which;
    return take_one(call, u, &reqs[which], status);
}

int waitio_waitany(int n, waitio_req_t reqs[], int *index, waitio_status_t *status)
{
    int flag = 0;
    if (index == NULL)
        return wio_api_result("waitio_waitany", wio_fail(WAITIO_ERR_ARG, "index is NULL"));
    return wait_any("waitio_waitany", n, reqs, INT64_MAX, index, &flag, status);
}

int waitio_waitany_for(int n, waitio_req_t reqs[], double seconds, int *index, int *flag,
                       waitio_status_t *status)
{
    static const char call[] = "waitio_waitany_for";
    if (index == NULL || flag == NULL)
        return wio_api_result(
            call, wio_fail(WAITIO_ERR_ARG, "%s is NULL", index == NULL ? "index" : "flag"));
    return wait_any(call, n, reqs, nanoseconds(seconds), index, flag, status);
}

int waitio_testall(int n, waitio_req_t reqs[], int *flag, waitio_status_t statuses[])
{
    struct wio_universe *u = NULL;
    int rc = check_array("waitio_testall", n, reqs, &u);
    if (rc == 0)
        rc = need("waitio_testall", flag, "flag", &u);
    if (rc != 0)
        return rc;
    *flag = 0;
    for (int i = 0; i < n; i++) {
        bool done = false;
        rc = wio_peek(u, wio_api_handle(&reqs[i]), i == 0, &done);
        if (rc != 0)
            return wio_api_result("waitio_testall", rc);
        if (!done) /* one look at the transports per call is enough, but not none */
            rc = i == 0 ? 0 : wio_peek(u, wio_api_handle(&reqs[i]), true, &done);
        if (!done)
            return 0;
    }
    *flag = 1;
    return waitio_waitall(n, reqs, statuses);
}

int waitio_testany(int n, waitio_req_t reqs[], int *index, int *flag, waitio_status_t *status)
{
    struct wio_universe *u = NULL;
    int rc = check_array("waitio_testany", n, reqs, &u);
    if (rc == 0)
        rc = need("waitio_testany", index == NULL ? NULL : flag, index == NULL ? "index" : "flag",
                  &u);
    if (rc != 0)
        return rc;
    *flag = 0;
    *index = WAITIO_UNDEFINED;
    int active = 0;
    for (int i = 0; i < n; i++) {
        bool done = false;
        if (wio_inactive(u, wio_api_handle(&reqs[i])))
            continue;
        rc = wio_peek(u, wio_api_handle(&reqs[i]), active++ == 0, &done);
        if (rc != 0)
            return wio_api_result("waitio_testany", rc);
        if (done) {
            *flag = 1;
            *index = i;
            return take_one("waitio_testany", u, &reqs[i], status);
        }
    }
    *flag = active == 0;
    if (active == 0)
        fill(status, &(struct wio_result){.source = -1, .tag = -1});
    return 0;
}

/* ---- the rest ---- */

static int look(const struct envelope *e, int64_t timeout_ns, int *flag, waitio_status_t *status)
{
    struct wio_universe *u = wio_api_universe();
    bool found = false;
    struct wio_result res;
    int rc = u == NULL ? wio_last_code() : check(u, e);
    if (rc == 0)
        rc = wio_probe_for(u, e->group, source(e), any_tag(e->tag), timeout_ns, &found, &res);
    if (flag != NULL)
        *flag = found;
    if (found)
        fill(status, &res);
    return wio_api_result(e->call, rc);
}

static int probe(const char *call, waitio_group_t group, int src, int tag, int64_t timeout_ns,
                 int *flag, waitio_status_t *status)
{
    struct envelope e = {call, group, src, NULL, 0, tag, true, false};
    return look(&e, timeout_ns, flag, status);
}

int wio_api_probe_wary(waitio_group_t group, int src, waitio_tag_t tag, int *flag,
                       waitio_status_t *status)
{
    struct envelope e = {"probe", group, src, NULL, 0, tag, true, true};
    return look(&e, flag == NULL ? INT64_MAX : 0, flag, status);
}

int waitio_probe(waitio_group_t group, int src, waitio_tag_t tag, waitio_status_t *status)
{
    return probe("waitio_probe", group, src, tag, INT64_MAX, NULL, status);
}

int waitio_iprobe(waitio_group_t group, int src, waitio_tag_t tag, int *flag,
                  waitio_status_t *status)
{
    if (flag == NULL)
        return wio_api_result("waitio_iprobe", wio_fail(WAITIO_ERR_ARG, "flag is NULL"));
    return probe("waitio_iprobe", group, src, tag, 0, flag, status);
}

int waitio_probe_for(waitio_group_t group, int src, waitio_tag_t tag, double seconds, int *flag,
                     waitio_status_t *status)
{
    if (flag == NULL)
        return wio_api_result("waitio_probe_for", wio_fail(WAITIO_ERR_ARG, "flag is NULL"));
    return probe("waitio_probe_for", group, src, tag, nanoseconds(seconds), flag, status);
}

int waitio_cancel(waitio_req_t *req)
{
    struct wio_universe *u = NULL;
    int rc = need("waitio_cancel", req, "req", &u);
    return rc != 0 ? rc : wio_api_result("waitio_cancel", wio_cancel(u, wio_api_handle(req)));
}

/* ---- both at once ---- */

int wio_api_exchange(waitio_group_t group, struct wio_leg *leg, int n, waitio_status_t *st)
{
    struct wio_universe *u = wio_api_universe();
    int rc = u == NULL ? wio_last_code() : 0, which = 0;
    for (int i = 0; rc == 0 && i < n; i++) {
        struct envelope e = {leg[i].send ? "waitio_isend" : "waitio_irecv",
                             group,
                             (int)leg[i].peer,
                             leg[i].buf,
                             leg[i].bytes,
                             leg[i].tag,
                             false,
                             false};
        rc = check(u, &e);
        if (rc != 0)
            return wio_api_result(e.call, rc);
    }
    if (rc == 0)
        rc = wio_exchange(u, group, leg, n, &which);
    for (int i = 0; st != NULL && i < n; i++)
        if (!leg[i].send)
            *st = (waitio_status_t){(int)leg[i].peer, leg[i].tag, leg[i].err, 0, leg[i].got};
    return wio_api_result("waitio_wait", rc);
}

static int sendrecv_by_requests(waitio_group_t group, int dst, const void *sbuf, size_t sbytes,
                                waitio_tag_t stag, int src, void *rbuf, size_t rbytes,
                                waitio_tag_t rtag, waitio_status_t *status)
{
    waitio_req_t rr = WAITIO_REQ_NULL, sr = WAITIO_REQ_NULL;
    int rc = waitio_irecv(group, src, rbuf, rbytes, rtag, &rr);
    if (rc != 0)
        return rc;
    rc = waitio_isend(group, dst, sbuf, sbytes, stag, &sr);
    if (rc != 0) {
        waitio_cancel(&rr);
        waitio_wait(&rr);
        return rc;
    }
    rc = waitio_wait_status(&rr, status);
    int rc2 = waitio_wait(&sr);
    return rc != 0 ? rc : rc2;
}

int waitio_sendrecv(waitio_group_t group, int dst, const void *sbuf, size_t sbytes,
                    waitio_tag_t stag, int src, void *rbuf, size_t rbytes, waitio_tag_t rtag,
                    waitio_status_t *status)
{
    if (src == WAITIO_ANY_SOURCE || rtag == WAITIO_ANY_TAG)
        return sendrecv_by_requests(group, dst, sbuf, sbytes, stag, src, rbuf, rbytes, rtag,
                                    status);
    struct wio_leg leg[2] = {{.buf = (void *)(uintptr_t)sbuf,
                              .bytes = sbytes,
                              .peer = (uint32_t)dst,
                              .tag = stag,
                              .send = true},
                             {.buf = rbuf, .bytes = rbytes, .peer = (uint32_t)src, .tag = rtag}};
    return wio_api_exchange(group, leg, 2, status);
}

int waitio_start(waitio_req_t *req)
{
    struct wio_universe *u = NULL;
    int rc = need("waitio_start", req, "req", &u);
    return rc != 0 ? rc : wio_api_result("waitio_start", wio_start(u, wio_api_handle(req)));
}

int waitio_startall(int n, waitio_req_t reqs[])
{
    struct wio_universe *u = NULL;
    int rc = check_array("waitio_startall", n, reqs, &u);
    for (int i = 0; rc == 0 && i < n; i++)
        rc = waitio_start(&reqs[i]);
    return rc;
}

int waitio_request_free(waitio_req_t *req)
{
    struct wio_universe *u = NULL;
    int rc = need("waitio_request_free", req, "req", &u);
    return rc != 0
               ? rc
               : wio_api_result("waitio_request_free", wio_request_free(u, wio_api_handle(req)));
}
