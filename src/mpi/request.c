/* SPDX-License-Identifier: BSD-3-Clause */
/* Making and starting requests: messages of any type, collectives, the program's operations. */
#include "mpi/own.h"

#include "api/api.h"
#include "mpi/names.h"
#include "mpi/spread.h"
#include "os/os.h"

static struct wio_names names = WIO_NAMES_INIT;

const waitio_req_t wio_request_null = WAITIO_REQ_NULL;

bool wio_own_is_null(const waitio_req_t *req)
{
    return req->opaque[0] == 0 && req->opaque[1] == 0 && req->opaque[2] == 0;
}

bool wio_request_is_own(const waitio_req_t *req)
{
    return req->opaque[0] == WIO_OWN_MARK;
}

struct wio_own *wio_own_find(const waitio_req_t *req)
{
    return wio_names_find(&names, req->opaque[1]);
}

struct wio_own *wio_own_of(const waitio_req_t *req)
{
    struct wio_own *o = wio_own_find(req);

    if (o == NULL)
        wio_fail(WAITIO_ERR_REQUEST, "the request was completed or freed already");
    return o;
}

void wio_own_free(struct wio_own *o)
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

int wio_own_new(waitio_req_t *req, struct wio_own **out)
{
    struct wio_own *o = wio_os_alloc(sizeof *o);
    int rc = o == NULL ? wio_fail(WAITIO_ERR_NOMEM, "no memory for another request")
                       : wio_names_add(&names, o, "request", &o->number);

    if (rc != 0) {
        wio_os_free(o);
        return rc;
    }
    o->room = SIZE_MAX;
    *req = wio_request_null;
    req->opaque[0] = WIO_OWN_MARK;
    req->opaque[1] = o->number;
    *out = o;
    return 0;
}

int wio_request_alive(void)
{
    return (int)names.used;
}

/* A generalized request that the program has freed waits for its Grequest_complete. */
void wio_request_forget(void)
{
    struct wio_own *o;
    uint32_t i = 0;

    wio_own_forget_freed();
    while ((o = wio_names_next(&names, &i)) != NULL) {
        if (o->greq != NULL)
            (void)wio_own_user_gone(o);
        else
            wio_own_free(o);
    }
}

/* ---- starting ---- */

static int start_bytes(const struct wio_message *m, void *at, size_t bytes, waitio_req_t *req)
{
    if (m->sync)
        return wio_api_issend(m->comm, m->peer, at, bytes, m->tag, m->persistent, req);
    if (m->sending)
        return (m->persistent ? waitio_send_init : waitio_isend)(m->comm, m->peer, at, bytes,
                                                                 m->tag, req);
    return wio_api_recv_wary(m->comm, m->peer, at, bytes, m->tag, m->persistent, req);
}

/* What the program asks for, of a type with holes, or between unlike machines. */
static int start_spread(const struct wio_message *m, const struct wio_mpi_type *t, size_t bytes,
                        struct wio_comm *unlike, waitio_req_t *req)
{
    struct wio_spread s = wio_spread_typed(m->buf, t, unlike);

    if (m->buf == NULL && !wio_type_absolute(t))
        return wio_fail(WAITIO_ERR_ARG, "buf is NULL but %zu bytes are asked for", bytes);
    if (m->sending)
        return wio_api_send_spread(m->comm, m->peer, &s, bytes, m->tag, m->persistent, m->sync,
                                   req);
    return wio_api_recv_spread(m->comm, m->peer, &s, bytes, m->tag, m->persistent, req);
}

int wio_own_start_copy(const struct wio_message *m, const struct wio_mpi_type *t, size_t bytes,
                       struct wio_comm *unlike, waitio_req_t *req)
{
    struct wio_own *o = NULL;
    int rc = wio_own_new(req, &o);

    if (rc != 0)
        return rc;
    o->sending = o->active = true;
    if (m->buf == NULL && bytes > 0 && !wio_type_absolute(t))
        rc = wio_fail(WAITIO_ERR_ARG, "buf is NULL but %zu bytes are asked for", bytes);
    else
        o->packed = wio_os_realloc(NULL, bytes + 1);
    if (rc == 0 && o->packed == NULL)
        rc = wio_fail(WAITIO_ERR_NOMEM, "no memory to pack %zu bytes", bytes);
    if (rc == 0 && bytes > 0) {
        struct wio_spread s = wio_spread_typed(m->buf, t, unlike);
        s.calls->read(&s, m->peer, 0, bytes, o->packed);
    }
    if (rc == 0)
        rc = start_bytes(m, o->packed, bytes, &o->inner);
    if (rc != 0) {
        wio_own_free(o);
        *req = wio_request_null;
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
                      struct wio_own **out)
{
    int rc = wio_own_new(req, out);

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
    struct wio_own *o;

    return own_nobody(found, false, req, &o);
}

/* PROC_NULL, or a send whose copy the library keeps. It still is a request: programs expect that
 * Waitany and similar calls name it once. */
static int start_nobody(const struct wio_message *m, const struct wio_mpi_type *t,
                        waitio_req_t *req)
{
    bool none = m->peer == WAITIO_MPI_PROC_NULL;
    waitio_status_t found = none ? wio_mpi_from_nobody() : wio_request_empty;
    struct wio_own *o = NULL;
    int rc = m->copied && !m->persistent ? wio_own_send_copy(m, t) : 0;

    if (rc == 0)
        rc = own_nobody(&found, m->persistent, req, &o);
    if (rc == 0) {
        o->again = *m;
        o->type = t;
        wio_type_hold(t);
    }
    return rc;
}

static int begin_nobody(struct wio_own *o)
{
    int rc = o->again.copied ? wio_own_send_copy(&o->again, o->type) : 0;

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
    return start_spread(m, is.type, is.bytes, is.unlike, req);
}

/* Short data with holes lies packed on the stack during a call that waits. */
enum { SHORT_PACKED = 4096 };

static bool wrong_buffer(const struct wio_message *m, const struct meaning *is)
{
    return m->buf == NULL && !wio_type_absolute(is->type);
}

/* A wildcard, MPI's synchronous mode, or longer data with holes needs a request. */
static bool needs_request(const struct wio_message *m, const struct meaning *is)
{
    return (!is->plain && (is->nobody || is->bytes > SHORT_PACKED || wrong_buffer(m, is))) ||
           m->sync ||
           (!m->sending && (m->peer == WAITIO_MPI_ANY_SOURCE || m->tag == WAITIO_MPI_ANY_TAG));
}

static struct wio_leg leg_of(const struct wio_message *m, const struct meaning *is, void *at)
{
    return (struct wio_leg){.buf = at,
                            .bytes = is->bytes,
                            .peer = (uint32_t)m->peer,
                            .tag = m->tag,
                            .send = m->sending};
}

/* wio_message_now() where message @p first, of which is known what it means, has to be packed;
 * those before have not. Other calls shall not have its memory on their stack. */
__attribute__((noinline)) static int packed_now(const struct wio_message *m, int n, int first,
                                                struct meaning is, struct wio_leg leg[2],
                                                waitio_status_t *st, bool *did)
{
    char packed[2][SHORT_PACKED];
    struct wio_spread s[2] = {{0}, {0}};
    int rc;

    for (int i = first;;) {
        leg[i] = leg_of(&m[i], &is, is.plain ? place_of(m[i].buf, is.type) : packed[i]);
        if (!is.plain)
            s[i] = wio_spread_typed(m[i].buf, is.type, is.unlike);
        if (!is.plain && m[i].sending)
            s[i].calls->read(&s[i], m[i].peer, 0, is.bytes, packed[i]);
        if (++i == n)
            break;
        if (understand(&m[i], &is) != 0 || needs_request(&m[i], &is))
            return 0;
    }
    *did = true;
    rc = wio_api_exchange(m->comm, leg, n, st);
    for (int i = first; i < n; i++)
        if (s[i].calls != NULL && !m[i].sending && leg[i].got > 0)
            s[i].calls->write(&s[i], m[i].peer, 0, leg[i].got, packed[i]);
    return rc;
}

int wio_message_now(const struct wio_message *m, int n, waitio_status_t *st, bool *did)
{
    struct wio_leg leg[2];
    int i;

    *did = false;
    for (i = 0; i < n; i++) {
        struct meaning is;
        int rc = understand(&m[i], &is);
        if (rc != 0 || needs_request(&m[i], &is))
            break; /* the slow path finds the error again, and reports errors in a fixed order */
        if (WIO_UNLIKELY(!is.plain))
            return packed_now(m, n, i, is, leg, st, did);
        leg[i] = leg_of(&m[i], &is, place_of(m[i].buf, is.type));
    }
    *did = i == n;
    return *did ? wio_api_exchange(m->comm, leg, n, st) : 0;
}

/* Its data is still at its sender: it comes straight to the program's buffer. */
static int receive_claimed(const struct wio_matched *m, void *buf, const struct wio_mpi_type *t,
                           size_t room, waitio_req_t *req)
{
    struct wio_universe *u = wio_api_universe();
    struct wio_spread s = wio_spread_typed(buf, t, m->comm);
    bool plain = t->solid && m->comm == NULL;
    int rc;

    if (u == NULL)
        return wio_last_code();
    *req = m->inner;
    rc = wio_claimed_recv(u, wio_api_handle(req), plain ? place_of(buf, t) : NULL,
                          plain ? NULL : &s, room);
    wio_comm_release(rc == 0 ? m->comm : NULL);
    return rc;
}

int wio_request_matched(const struct wio_matched *m, void *buf, const struct wio_mpi_type *t,
                        size_t room, waitio_req_t *req)
{
    struct wio_own *o = NULL;
    int rc = 0;

    if (buf == NULL && m->size > 0 && room > 0 && !wio_type_absolute(t))
        return wio_fail(WAITIO_ERR_ARG, "buf is NULL but the message has %zu bytes", m->size);
    if (m->bytes == NULL)
        return receive_claimed(m, buf, t, room, req);
    rc = wio_own_new(req, &o);
    if (rc != 0)
        return rc;
    wio_type_hold(t);
    o->type = t;
    o->user = buf;
    o->room = room;
    o->packed = m->bytes;
    o->inner = m->inner;
    o->comm = m->comm;
    o->active = true;
    return 0;
}

/* ---- operations of the program ---- */

int wio_request_user(const struct wio_grequest *g, waitio_req_t *req)
{
    struct wio_universe *u = wio_api_universe();
    struct wio_own *o = NULL;
    int rc = u == NULL ? wio_last_code() : wio_own_new(req, &o);

    if (rc != 0)
        return rc;
    o->greq = wio_os_alloc(sizeof *o->greq);
    if (o->greq == NULL)
        rc = wio_fail(WAITIO_ERR_NOMEM, "no memory for a generalized request");
    else
        rc = wio_user_begin(u, wio_api_handle(&o->inner));
    if (rc != 0) {
        wio_own_free(o);
        *req = wio_request_null;
        return rc;
    }
    *o->greq = *g;
    o->active = true;
    return 0;
}

int wio_request_user_number(const waitio_req_t *req)
{
    const struct wio_own *o = wio_request_is_own(req) ? wio_own_find(req) : NULL;

    return o != NULL && o->greq != NULL ? o->number : 0;
}

waitio_req_t wio_request_user_numbered(int number)
{
    waitio_req_t req = wio_request_null;

    req.opaque[0] = WIO_OWN_MARK;
    req.opaque[1] = number;
    return req;
}

bool wio_request_user_lives(int number)
{
    return wio_names_find(&names, number) != NULL;
}

int wio_own_end_user(struct wio_own *o, int what)
{
    return __atomic_fetch_or(&o->greq->state, what, __ATOMIC_ACQ_REL);
}

int wio_own_user_gone(struct wio_own *o)
{
    int rc = wio_grequest_gone(o->greq);

    wio_own_free(o);
    return rc;
}

int wio_request_user_end(const waitio_req_t *req)
{
    struct wio_universe *u = wio_api_universe();
    struct wio_own *o = wio_request_is_own(req) ? wio_own_of(req) : NULL;
    waitio_req_t inner;
    int before, rc;

    if (u == NULL)
        return wio_last_code();
    if (o == NULL || o->greq == NULL)
        return wio_fail(WAITIO_ERR_REQUEST, "this is no generalized request, or it has ended");
    inner = o->inner; /* when it is complete, the thread that waits for it may free it */
    before = wio_own_end_user(o, WIO_GREQUEST_COMPLETE);
    if ((before & WIO_GREQUEST_COMPLETE) != 0)
        return wio_fail(WAITIO_ERR_REQUEST, "the generalized request was completed before");
    rc = wio_user_end(u, wio_api_handle(&inner));
    return before == WIO_GREQUEST_FREED ? wio_own_user_gone(o) : rc;
}

int wio_request_collective(struct wio_running *run, bool persistent, waitio_req_t *req)
{
    struct wio_own *o = NULL;
    int rc = wio_own_new(req, &o);

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
        wio_own_free(o);
        *req = wio_request_null;
    }
    return rc;
}

static int begin_collective(struct wio_own *o)
{
    int rc = wio_run_again(o->run);

    if (rc == 0)
        rc = wio_run_start(o->run, wio_api_handle(&o->inner));
    o->active = rc == 0;
    return rc;
}

int wio_request_begin(waitio_req_t *req)
{
    struct wio_own *o;

    if (req == NULL)
        return wio_fail(WAITIO_ERR_ARG, "the request argument is NULL");
    if (!wio_request_is_own(req))
        return waitio_start(req);
    o = wio_own_of(req);
    if (o == NULL)
        return WAITIO_ERR_REQUEST;
    if (!o->persistent)
        return wio_fail(WAITIO_ERR_REQUEST, "start needs a request made by Send_init or Recv_init");
    if (o->active)
        return wio_fail(WAITIO_ERR_BUSY, "the persistent request is active already");
    if (o->nobody)
        return begin_nobody(o);
    return begin_collective(o);
}
