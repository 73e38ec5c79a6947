/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/request.h"

#include "api/api.h"
#include "mpi/grequest.h"
#include "mpi/mpi.h"
#include "mpi/names.h"
#include "mpi/status.h"
#include "mpi/waiting.h"
#include "os/os.h"

/* First word of our own requests; no slot of the engine has this number. */
enum { MARK = -1 };

/** An operation of ours. */
struct own {
    struct own *next;          /* among the orphans */
    waitio_req_t inner;        /* of the packed message, or of the collective */
    struct wio_running *run;   /* a collective, or NULL: a message of a type with holes */
    struct wio_grequest *greq; /* an operation of the program, or NULL; `inner` never changes */
    const struct wio_mpi_type *type;
    struct wio_message again; /* what a persistent send of copies does */
    void *user;
    char *packed;
    size_t bytes;
    struct wio_comm *comm; /* held when members' byte orders differ, else NULL */
    int number, peer;
    bool sending, persistent, active;
    bool nobody; /* no message: PROC_NULL, or the library keeps a copy */
    bool landed; /* complete when the request was made; the status is below */
    int code;
    waitio_status_t found;
};

static struct wio_names names = WIO_NAMES_INIT;

static const waitio_req_t null_request = WAITIO_REQ_NULL;

static bool is_null(const waitio_req_t *req)
{
    return req->opaque[0] == 0 && req->opaque[1] == 0 && req->opaque[2] == 0;
}

bool wio_request_is_own(const waitio_req_t *req)
{
    return req->opaque[0] == MARK;
}

/* The operation, or NULL with the text set. */
static struct own *own_of(const waitio_req_t *req)
{
    struct own *o = wio_names_find(&names, req->opaque[1]);

    if (o == NULL)
        wio_fail(WAITIO_ERR_REQUEST, "the request was completed or freed already");
    return o;
}

static void own_free(struct own *o)
{
    wio_names_drop(&names, o->number);
    if (o->run != NULL) {
        wio_run_free(o->run);
        wio_os_free(o->run);
    }
    wio_comm_release(o->comm);
    wio_type_release(o->type);
    wio_os_free(o->packed);
    wio_os_free(o->greq);
    wio_os_free(o);
}

static int own_new(waitio_req_t *req, struct own **out)
{
    struct own *o = wio_os_alloc(sizeof *o);
    int rc = o == NULL ? wio_fail(WAITIO_ERR_NOMEM, "no memory for another request")
                       : wio_names_add(&names, o, "request", &o->number);

    if (rc != 0) {
        wio_os_free(o);
        return rc;
    }
    *req = null_request;
    req->opaque[0] = MARK;
    req->opaque[1] = o->number;
    *out = o;
    return 0;
}

int wio_request_alive(void)
{
    return (int)names.used;
}

/* ---- starting ---- */

static int send_copy(const struct wio_message *m, const struct wio_mpi_type *t);

static int start_bytes(const struct wio_message *m, void *at, size_t bytes, waitio_req_t *req)
{
    if (m->sync)
        return wio_api_issend(m->comm, m->peer, at, bytes, m->tag, m->persistent, req);
    if (m->sending)
        return (m->persistent ? waitio_send_init : waitio_isend)(m->comm, m->peer, at, bytes,
                                                                 m->tag, req);
    return (m->persistent ? waitio_recv_init : waitio_irecv)(m->comm, m->peer, at, bytes, m->tag,
                                                             req);
}

/* The packed form of what the program sends now. */
static void fill(const struct own *o)
{
    wio_type_pack(o->type, o->user, 0, o->bytes, o->packed);
    if (o->comm != NULL && wio_comm_swaps(o->comm, o->peer))
        wio_type_swap(o->type, o->bytes, o->packed);
}

static int start_packed(const struct wio_message *m, const struct wio_mpi_type *t, size_t bytes,
                        struct wio_comm *unlike, waitio_req_t *req)
{
    struct own *o = NULL;
    int rc = own_new(req, &o);

    if (rc != 0)
        return rc;
    o->type = t;
    wio_type_hold(t);
    o->user = m->buf;
    o->bytes = bytes;
    o->sending = m->sending;
    o->persistent = m->persistent;
    o->peer = m->peer;
    if (unlike != NULL) {
        o->comm = unlike;
        wio_comm_hold(unlike);
    }
    o->active = !m->persistent;
    if (m->buf == NULL && !wio_type_absolute(t))
        rc = wio_fail(WAITIO_ERR_ARG, "buf is NULL but %zu bytes are asked for", bytes);
    else
        o->packed = wio_os_realloc(NULL, bytes + 1);
    if (rc == 0 && o->packed == NULL)
        rc = wio_fail(WAITIO_ERR_NOMEM, "no memory to pack %zu bytes", bytes);
    if (rc == 0 && o->active && o->sending)
        fill(o);
    if (rc == 0)
        rc = start_bytes(m, o->packed, bytes, &o->inner);
    if (rc != 0) {
        own_free(o);
        *req = null_request;
    }
    return rc;
}

/* Address of the first byte of a type without holes. */
static void *place_of(void *buf, const struct wio_mpi_type *t)
{
    if (buf == NULL && !wio_type_absolute(t))
        return NULL;
    return (void *)((uintptr_t)buf + (uintptr_t)t->lb);
}

/* ---- what is complete as soon as it is active ---- */

const waitio_status_t wio_request_empty = {.source = -1, .tag = -1};

static int own_nobody(const waitio_status_t *found, bool persistent, waitio_req_t *req,
                      struct own **out)
{
    int rc = own_new(req, out);

    if (rc == 0) {
        (*out)->nobody = true;
        (*out)->persistent = persistent;
        (*out)->active = (*out)->landed = !persistent;
        (*out)->found = *found;
    }
    return rc;
}

int wio_request_done(const waitio_status_t *found, waitio_req_t *req)
{
    struct own *o;

    return own_nobody(found, false, req, &o);
}

/* PROC_NULL, or a send whose copy the library keeps. It still is a request: programs expect that
 * Waitany and similar calls name it once. */
static int start_nobody(const struct wio_message *m, const struct wio_mpi_type *t,
                        waitio_req_t *req)
{
    bool none = m->peer == WAITIO_MPI_PROC_NULL;
    waitio_status_t found = none ? wio_mpi_from_nobody() : wio_request_empty;
    struct own *o = NULL;
    int rc = m->copied && !m->persistent ? send_copy(m, t) : 0;

    if (rc == 0)
        rc = own_nobody(&found, m->persistent, req, &o);
    if (rc == 0) {
        o->again = *m;
        o->type = t;
        wio_type_hold(t);
    }
    return rc;
}

static int begin_nobody(struct own *o)
{
    int rc = o->again.copied ? send_copy(&o->again, o->type) : 0;

    o->active = o->landed = rc == 0;
    return rc;
}

/* What the arguments of a message mean for the engine. */
struct meaning {
    const struct wio_mpi_type *type;
    struct wio_comm *unlike; /* its members' formats differ */
    size_t bytes;
    bool plain;  /* this many bytes in place */
    bool nobody; /* complete as soon as it is active */
};

static int understand(const struct wio_message *m, struct meaning *out)
{
    const struct wio_mpi_type *t = NULL;
    int rc = wio_type_use(m->count, m->type, &t);

    *out = (struct meaning){.type = t};
    if (rc != 0)
        return rc;
    out->nobody = m->peer == WAITIO_MPI_PROC_NULL || m->copied;
    if (out->nobody)
        return 0;
    out->bytes = (size_t)m->count * t->size;
    if (WIO_UNLIKELY(m->buf == WAITIO_MPI_IN_PLACE && out->bytes > 0))
        return wio_fail(WAITIO_ERR_ARG, "buf is WAITIO_MPI_IN_PLACE, which is for collectives");
    rc = wio_comm_formats(m->comm, t, &out->unlike);
    out->plain = (t->solid && out->unlike == NULL) || out->bytes == 0;
    return rc;
}

int wio_message_start(const struct wio_message *m, waitio_req_t *req)
{
    struct meaning is;
    int rc = understand(m, &is);

    if (WIO_UNLIKELY(rc != 0))
        return rc;
    if (req == NULL)
        return wio_fail(WAITIO_ERR_ARG, "the request argument is NULL");
    if (is.nobody)
        return start_nobody(m, is.type, req);
    if (WIO_LIKELY(is.plain))
        return start_bytes(m, place_of(m->buf, is.type), is.bytes, req);
    return start_packed(m, is.type, is.bytes, is.unlike, req);
}

/* A wildcard, or MPI's synchronous mode, needs a request. */
static bool needs_request(const struct wio_message *m, const struct meaning *is)
{
    return !is->plain || m->sync ||
           (!m->sending && (m->peer == WAITIO_MPI_ANY_SOURCE || m->tag == WAITIO_MPI_ANY_TAG));
}

int wio_message_now(const struct wio_message *m, int n, waitio_status_t *st, bool *did)
{
    struct wio_leg leg[2];
    int i;

    for (i = 0; i < n; i++) {
        struct meaning is;
        int rc = understand(&m[i], &is);
        if (rc != 0 || needs_request(&m[i], &is))
            break; /* the slow path finds the error again, and reports errors in a fixed order */
        leg[i] = (struct wio_leg){.buf = place_of(m[i].buf, is.type),
                                  .bytes = is.bytes,
                                  .peer = (uint32_t)m[i].peer,
                                  .tag = m[i].tag,
                                  .send = m[i].sending};
    }
    *did = i == n;
    return *did ? wio_api_exchange(m->comm, leg, n, st) : 0;
}

int wio_request_matched(const struct wio_matched *m, void *buf, const struct wio_mpi_type *t,
                        waitio_req_t *req)
{
    struct own *o = NULL;
    int rc = own_new(req, &o);

    if (rc != 0)
        return rc;
    wio_type_hold(t);
    o->type = t;
    o->user = buf;
    o->packed = m->bytes;
    o->bytes = m->size;
    o->inner = m->inner;
    o->peer = m->source;
    o->comm = m->comm;
    o->active = true;
    return 0;
}

/* ---- operations of the program ---- */

int wio_request_user(const struct wio_grequest *g, waitio_req_t *req)
{
    struct wio_universe *u = wio_api_universe();
    struct own *o = NULL;
    int rc = u == NULL ? wio_last_code() : own_new(req, &o);

    if (rc != 0)
        return rc;
    o->greq = wio_os_alloc(sizeof *o->greq);
    if (o->greq == NULL)
        rc = wio_fail(WAITIO_ERR_NOMEM, "no memory for a generalized request");
    else
        rc = wio_user_begin(u, wio_api_handle(&o->inner));
    if (rc != 0) {
        own_free(o);
        *req = null_request;
        return rc;
    }
    *o->greq = *g;
    o->active = true;
    return 0;
}

int wio_request_user_number(const waitio_req_t *req)
{
    const struct own *o = wio_request_is_own(req) ? wio_names_find(&names, req->opaque[1]) : NULL;

    return o != NULL && o->greq != NULL ? o->number : 0;
}

waitio_req_t wio_request_user_numbered(int number)
{
    waitio_req_t req = null_request;

    req.opaque[0] = MARK;
    req.opaque[1] = number;
    return req;
}

bool wio_request_user_lives(int number)
{
    return wio_names_find(&names, number) != NULL;
}

/* @return what had happened before */
static int end_user(struct own *o, int what)
{
    return __atomic_fetch_or(&o->greq->state, what, __ATOMIC_ACQ_REL);
}

/* It is both complete and freed. */
static int user_gone(struct own *o)
{
    int rc = wio_grequest_gone(o->greq);

    own_free(o);
    return rc;
}

int wio_request_user_end(const waitio_req_t *req)
{
    struct wio_universe *u = wio_api_universe();
    struct own *o = wio_request_is_own(req) ? own_of(req) : NULL;
    waitio_req_t inner;
    int before, rc;

    if (u == NULL)
        return wio_last_code();
    if (o == NULL || o->greq == NULL)
        return wio_fail(WAITIO_ERR_REQUEST, "this is no generalized request, or it has ended");
    inner = o->inner; /* when it is complete, the thread that waits for it may free it */
    before = end_user(o, WIO_GREQUEST_COMPLETE);
    if ((before & WIO_GREQUEST_COMPLETE) != 0)
        return wio_fail(WAITIO_ERR_REQUEST, "the generalized request was completed before");
    rc = wio_user_end(u, wio_api_handle(&inner));
    return before == WIO_GREQUEST_FREED ? user_gone(o) : rc;
}

int wio_request_collective(struct wio_running *run, bool persistent, waitio_req_t *req)
{
    struct own *o = NULL;
    int rc = own_new(req, &o);

    if (rc != 0) {
        wio_run_free(run);
        wio_os_free(run);
        return rc;
    }
    o->run = run;
    o->persistent = persistent;
    o->active = !persistent;
    if (persistent)
        return 0;
    rc = wio_run_start(run, wio_api_handle(&o->inner));
    if (rc != 0) {
        own_free(o);
        *req = null_request;
    }
    return rc;
}

static int begin_collective(struct own *o)
{
    int rc = wio_run_again(o->run);

    if (rc == 0)
        rc = wio_run_start(o->run, wio_api_handle(&o->inner));
    o->active = rc == 0;
    return rc;
}

int wio_request_begin(waitio_req_t *req)
{
    struct own *o;
    int rc;

    if (req == NULL)
        return wio_fail(WAITIO_ERR_ARG, "the request argument is NULL");
    if (!wio_request_is_own(req))
        return waitio_start(req);
    o = own_of(req);
    if (o == NULL)
        return WAITIO_ERR_REQUEST;
    if (!o->persistent)
        return wio_fail(WAITIO_ERR_REQUEST, "start needs a request made by Send_init or Recv_init");
    if (o->active)
        return wio_fail(WAITIO_ERR_BUSY, "the persistent request is active already");
    if (o->nobody)
        return begin_nobody(o);
    if (o->run != NULL)
        return begin_collective(o);
    if (o->sending)
        fill(o);
    rc = waitio_start(&o->inner);
    o->active = rc == 0;
    return rc;
}

/* ---- completion ---- */

static void put(waitio_status_t *st, const waitio_status_t *value)
{
    if (st != NULL)
        *st = *value;
}

/* Unpack received data into the program's buffer. */
static void deliver(const struct own *o, const waitio_status_t *found)
{
    if (o->run != NULL || o->sending || found->cancelled)
        return;
    if (o->comm != NULL && wio_comm_swaps(o->comm, found->source))
        wio_type_swap(o->type, found->bytes, o->packed);
    wio_type_unpack(o->type, o->user, 0, found->bytes, o->packed);
}

/* The operation is complete: free its handle unless it is persistent. */
static int complete(struct own *o, int rc, waitio_req_t *req)
{
    o->active = o->landed = false;
    if (!o->persistent) {
        own_free(o);
        *req = null_request;
    }
    return rc;
}

int wio_request_peek(const waitio_req_t *req, bool poll, bool *done, bool *idle)
{
    struct wio_universe *u;
    const struct own *o;

    *done = *idle = true;
    if (is_null(req))
        return 0;
    if (wio_request_is_own(req)) {
        o = own_of(req);
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
        const struct own *o =
            wio_request_is_own(req) ? wio_names_find(&names, req->opaque[1]) : NULL;
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
static int wait_inner(waitio_req_t *req, waitio_status_t *st)
{
    struct wio_universe *u = wio_api_universe();
    struct wio_result res = {.source = wio_request_empty.source, .tag = wio_request_empty.tag};
    int rc;

    if (is_null(req))
        return 0;
    if (u == NULL)
        return wio_last_code();
    rc = wio_wait(u, wio_api_handle(req), &res);
    *st = (waitio_status_t){res.source, res.tag, res.err, res.cancelled, res.bytes};
    return rc != 0 ? rc : res.err;
}

/* Wait for the message of an operation, and unpack it into the program's buffer. */
static void land(struct own *o)
{
    if (o->landed)
        return;
    o->found = wio_request_empty;
    o->code = wait_inner(&o->inner, &o->found);
    deliver(o, &o->found);
    o->landed = true;
}

static int wait_user(struct own *o, waitio_req_t *req, waitio_status_t *st)
{
    waitio_req_t inner = o->inner; /* who completes it reads the original */
    waitio_status_t found = wio_request_empty;
    int rc = wait_inner(&inner, &found), gone;

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
    struct own *o = own_of(req);
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
        land(o);
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
        struct own *o = own_of(req);
        if (o != NULL && o->greq != NULL)
            return wio_grequest_query(o->greq, st);
        if (o != NULL && o->run == NULL) {
            land(o);
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

/* ---- sends whose requests were freed ---- */

static pthread_mutex_t orphans_lock = PTHREAD_MUTEX_INITIALIZER;
static struct own *orphans;

static void end_orphan(struct own *o)
{
    if (o->persistent)
        (void)waitio_request_free(&o->inner);
    own_free(o);
}

static void orphan(struct own *o)
{
    pthread_mutex_lock(&orphans_lock);
    o->next = orphans;
    orphans = o;
    pthread_mutex_unlock(&orphans_lock);
}

static struct own *take_orphans(void)
{
    struct own *all;

    pthread_mutex_lock(&orphans_lock);
    all = orphans;
    orphans = NULL;
    pthread_mutex_unlock(&orphans_lock);
    return all;
}

/* Free those that are complete; wait for all when @p wait. @return the first error */
static int reap(bool wait)
{
    struct own *next;
    int first = 0;

    for (struct own *o = take_orphans(); o != NULL; o = next) {
        bool done = true, idle;
        int rc = wait ? 0 : wio_request_peek(&o->inner, false, &done, &idle);
        next = o->next;
        if (rc == 0 && !done) {
            orphan(o);
            continue;
        }
        if (rc == 0)
            rc = wait_inner(&o->inner, &o->found);
        first = first != 0 ? first : rc;
        end_orphan(o);
    }
    return first;
}

static int send_copy(const struct wio_message *m, const struct wio_mpi_type *t)
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
        rc = start_packed(&once, t, (size_t)m->count * t->size, unlike, &req);
    (void)reap(false); /* what failed is nobody's business any more */
    if (rc == 0)
        orphan(own_of(&req));
    return rc;
}

int wio_buffered_wait(void)
{
    return reap(true);
}

/* ---- receives whose requests were freed ---- */

int wio_freed_receives;
static struct own *receives; /* they stay listed while they are unpacked: others wait for that */
static pthread_mutex_t receives_lock = PTHREAD_MUTEX_INITIALIZER;

static void leave_receive(struct own *o)
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
    for (struct own **at = &receives, *o; (o = *at) != NULL;) {
        bool done = true, idle;
        if (wio_request_peek(&o->inner, false, &done, &idle) == 0 && !done) {
            at = &o->next;
            continue;
        }
        *at = o->next;
        land(o); /* what failed is nobody's business any more */
        end_orphan(o);
        __atomic_sub_fetch(&wio_freed_receives, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&receives_lock);
}

static struct own *take_receives(void)
{
    struct own *all;

    pthread_mutex_lock(&receives_lock);
    all = receives;
    receives = NULL;
    __atomic_store_n(&wio_freed_receives, 0, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&receives_lock);
    return all;
}

void wio_request_end(void)
{
    struct own *next;

    (void)wio_buffered_wait();
    for (struct own *o = take_receives(); o != NULL; o = next) {
        next = o->next;
        (void)waitio_cancel(&o->inner);
        land(o);
        end_orphan(o);
    }
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
    struct own *o;

    if (req == NULL)
        return wio_fail(WAITIO_ERR_ARG, "the request argument is NULL");
    if (!wio_request_is_own(req))
        return cancel_message(req);
    o = own_of(req);
    if (o == NULL)
        return WAITIO_ERR_REQUEST;
    if (o->greq != NULL)
        return wio_grequest_cancel(o->greq);
    if (o->run != NULL)
        return wio_fail(WAITIO_ERR_UNSUPPORTED, "collectives cannot be cancelled");
    return o->nobody ? 0 : cancel_message(&o->inner);
}

/* Without a request nobody is told how the operation ended: its query function is not called. */
static int drop_user(struct own *o)
{
    waitio_req_t inner = o->inner;
    int rc = waitio_request_free(&inner);

    if (rc == 0 && end_user(o, WIO_GREQUEST_FREED) == WIO_GREQUEST_COMPLETE)
        rc = user_gone(o);
    return rc;
}

int wio_request_drop(waitio_req_t *req)
{
    struct own *o;

    if (req == NULL || !wio_request_is_own(req))
        return req == NULL || !is_null(req) ? waitio_request_free(req) : 0;
    o = own_of(req);
    if (o == NULL)
        return WAITIO_ERR_REQUEST;
    if (o->run != NULL && o->active)
        return wio_fail(WAITIO_ERR_UNSUPPORTED,
                        "the request of an active collective cannot be freed: wait for it");
    *req = null_request;
    if (o->greq != NULL)
        return drop_user(o);
    if (o->active && o->sending) { /* it goes on by itself */
        (void)reap(false);
        orphan(o);
        return 0;
    }
    if (o->active && !o->landed) { /* its data is still to be unpacked */
        leave_receive(o);
        return 0;
    }
    if (o->persistent && !o->nobody)
        waitio_request_free(&o->inner);
    own_free(o);
    return 0;
}
