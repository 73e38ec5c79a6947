/* SPDX-License-Identifier: BSD-3-Clause */
/* Completing requests: waiting, testing, looking. */
#include "mpi/own.h"

#include "api/api.h"
#include "os/os.h"

static void put(waitio_status_t *st, const waitio_status_t *value)
{
    if (st != NULL)
        *st = *value;
}

/* Unpack received data into the program's buffer. */
static void deliver(const struct wio_own *o, const waitio_status_t *found)
{
    if (o->run != NULL || o->sending || found->cancelled)
        return;
    if (o->comm != NULL && wio_comm_swaps(o->comm, found->source))
        wio_type_swap(o->type, found->bytes, o->packed);
    wio_type_unpack(o->type, o->user, 0, found->bytes, o->packed);
}

/* The operation is complete: free its handle unless it is persistent. */
static int complete(struct wio_own *o, int rc, waitio_req_t *req)
{
    o->active = o->landed = false;
    if (!o->persistent) {
        wio_own_free(o);
        *req = wio_request_null;
    }
    return rc;
}

int wio_request_peek(const waitio_req_t *req, bool poll, bool *done, bool *idle)
{
    struct wio_universe *u;
    const struct wio_own *o;

    *done = *idle = true;
    if (wio_own_is_null(req))
        return 0;
    if (wio_request_is_own(req)) {
        o = wio_own_of(req);
        if (o == NULL)
            return WAITIO_ERR_REQUEST;
        *idle = !o->active;
        if (!o->active)
            return 0;
        if (o->landed)
            return 0;
        req = &o->inner;
    }
    u = wio_api_universe();
    if (u == NULL)
        return wio_last_code();
    *idle = wio_inactive(u, (const struct wio_handle *)(const void *)req->opaque);
    return wio_peek(u, (const struct wio_handle *)(const void *)req->opaque, poll, done);
}

int wio_request_sleep(int n, const waitio_req_t reqs[], int64_t timeout_ns)
{
    struct wio_handle few[8] = {{0}}, *h = few;
    struct wio_universe *u = wio_api_universe();
    bool timed_out;
    int which;

    if (u == NULL)
        return wio_last_code();
    if (n > (int)WIO_ARRAY_LEN(few))
        h = wio_os_alloc((size_t)n * sizeof *h);
    if (h == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory to wait for %d requests", n);
    for (int i = 0; i < n; i++) {
        const waitio_req_t *req = &reqs[i];
        const struct wio_own *o = wio_request_is_own(req) ? wio_own_find(req) : NULL;
        h[i] = (struct wio_handle){0};
        if (o != NULL)
            req = &o->inner;
        if (!wio_request_is_own(req))
            memcpy(&h[i], req->opaque, sizeof h[i]);
    }
    /* A stale handle ends the wait, too; the next test of it reports the error. */
    (void)wio_wait_any_for(u, h, sizeof *h, n, timeout_ns, &timed_out, &which);
    if (h != few)
        wio_os_free(h);
    return 0;
}

/* The call that completes the operation reports its error. Here an error must not end the program,
 * because perhaps no call waits for it any more. */
int wio_own_wait(waitio_req_t *req, waitio_status_t *st)
{
    struct wio_universe *u = wio_api_universe();
    struct wio_result res = {.source = wio_request_empty.source, .tag = wio_request_empty.tag};
    int rc;

    if (wio_own_is_null(req))
        return 0;
    if (u == NULL)
        return wio_last_code();
    rc = wio_wait(u, wio_api_handle(req), &res);
    *st = (waitio_status_t){res.source, res.tag, res.err, res.cancelled, res.bytes};
    return rc != 0 ? rc : res.err;
}

static int cut(const struct wio_own *o, waitio_status_t *found)
{
    size_t size = found->bytes;

    found->bytes = o->room;
    found->error = WAITIO_ERR_TRUNCATE;
    return wio_fail(WAITIO_ERR_TRUNCATE,
                    "message of %zu bytes (tag %d), receive buffer of %zu bytes", size, found->tag,
                    o->room);
}

void wio_own_land(struct wio_own *o)
{
    if (o->landed)
        return;
    o->found = wio_request_empty;
    o->code = wio_own_wait(&o->inner, &o->found);
    if (o->code == 0 && o->found.bytes > o->room)
        o->code = cut(o, &o->found);
    deliver(o, &o->found);
    o->landed = true;
}

static int wait_user(struct wio_own *o, waitio_req_t *req, waitio_status_t *st)
{
    waitio_req_t inner = o->inner; /* who completes it reads the original */
    waitio_status_t found = wio_request_empty;
    int rc = wio_own_wait(&inner, &found), gone;

    if (rc == 0) {
        rc = wio_grequest_query(o->greq, &found);
        gone = wio_grequest_gone(o->greq);
        rc = rc != 0 ? rc : gone;
    }
    put(st, &found);
    return complete(o, rc, req);
}

static int wait_own(waitio_req_t *req, waitio_status_t *st)
{
    struct wio_own *o = wio_own_of(req);
    waitio_status_t found = wio_request_empty;
    int rc = 0;

    if (o == NULL)
        return WAITIO_ERR_REQUEST;
    put(st, &wio_request_empty);
    if (!o->active)
        return 0;
    if (o->greq != NULL)
        return wait_user(o, req, st);
    if (o->run == NULL) {
        wio_own_land(o);
        found = o->found;
        rc = o->code;
    } else {
        rc = waitio_wait_status(&o->inner, NULL);
        if (rc == 0 && o->run->error != 0)
            rc = wio_run_error(o->run);
    }
    put(st, &found);
    return complete(o, rc, req);
}

int wio_request_wait(waitio_req_t *req, waitio_status_t *st)
{
    if (req != NULL && wio_request_is_own(req))
        return wait_own(req, st);
    return waitio_wait_status(req, st);
}

int wio_request_test(waitio_req_t *req, int *flag, waitio_status_t *st)
{
    bool done, idle;
    int rc;

    if (req == NULL || flag == NULL)
        return wio_fail(WAITIO_ERR_ARG, "the %s argument is NULL",
                        req == NULL ? "request" : "flag");
    rc = wio_request_peek(req, true, &done, &idle);
    *flag = rc == 0 && done;
    return *flag ? wio_request_wait(req, st) : rc;
}

int wio_request_look(const waitio_req_t *req, int *flag, waitio_status_t *st)
{
    struct wio_universe *u = wio_api_universe();
    struct wio_result res = {.source = wio_request_empty.source, .tag = wio_request_empty.tag};
    bool done, idle;
    int rc;

    rc = wio_request_peek(req, true, &done, &idle);
    *flag = rc == 0 && done;
    *st = wio_request_empty;
    if (!*flag || idle)
        return rc;
    if (wio_request_is_own(req)) { /* a receive that is done is in the program's buffer */
        struct wio_own *o = wio_own_of(req);
        if (o != NULL && o->greq != NULL)
            return wio_grequest_query(o->greq, st);
        if (o != NULL && o->run == NULL) {
            wio_own_land(o);
            *st = o->found;
        }
        if (o != NULL)
            st->error = o->run != NULL ? o->run->error : o->code;
        return o == NULL ? WAITIO_ERR_REQUEST : 0;
    }
    rc = wio_look(u, (const struct wio_handle *)(const void *)req->opaque, &done, &res);
    *st = (waitio_status_t){res.source, res.tag, res.err, res.cancelled, res.bytes};
    return rc;
}
