/* SPDX-License-Identifier: BSD-3-Clause */
/* Making a collective call, blocking or not: schedule, message space, tag. */
#include "api/api.h"
#include "mpi/coll.h"
#include "mpi/inside.h"
#include "mpi/plans.h"
#include "mpi/renamed.h"
#include "mpi/request.h"
#include "os/os.h"

/* The WAITIO_COLL_ variable of a kind; its values have the order of the kind's rows. */
static int asked(const struct wio_config *cfg, enum wio_collective_kind kind)
{
    switch (kind) {
    case WIO_BARRIER:
        return cfg->coll_barrier;
    case WIO_BCAST:
        return cfg->coll_bcast;
    case WIO_REDUCE:
        return cfg->coll_reduce;
    case WIO_ALLREDUCE:
        return cfg->coll_allreduce;
    case WIO_REDUCE_SCATTER:
        return cfg->coll_reduce_scatter;
    case WIO_SCAN:
        return cfg->coll_scan;
    case WIO_EXSCAN:
        return cfg->coll_exscan;
    case WIO_GATHER:
        return cfg->coll_gather;
    case WIO_SCATTER:
        return cfg->coll_scatter;
    case WIO_ALLGATHER:
        return cfg->coll_allgather;
    case WIO_ALLTOALL:
        return cfg->coll_alltoall;
    default:
        return 0;
    }
}

void waitio_mpi_blocking_next(void)
{
    *wio_mpi_as_blocking() = true;
}

/*
 * Blocking collectives of a communicator follow each other, so one tag is enough: messages between
 * two processes arrive in order. Non-blocking ones overlap and need a tag each. The lanes of a
 * collective also need a tag each, so tags are given out in steps.
 */
enum { TAGS = WIO_LANES_MAX + 1 };

static int tag_of(struct wio_comm *c, WAITIO_MPI_Comm comm, int *tag)
{
    uint32_t number = 0;
    int rc = wio_comm_next(c, comm, WIO_COUNT_STARTED, &number);

    *tag = (int)(1 + number % (INT32_MAX / TAGS - 1)) * TAGS;
    return rc;
}

/* How a call with a request is run. */
enum way { STARTED, AS_BLOCKING, PERSISTENT };

static int start(struct wio_comm *c, WAITIO_MPI_Comm comm, const struct wio_call *call,
                 const struct wio_caller *who, enum way way, WAITIO_MPI_Request *req)
{
    struct wio_running *run = wio_os_alloc(sizeof *run);
    int tag = 0, rc;

    if (run == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for a collective");
    rc = wio_coll_write(&run->s, call, who);
    if (rc == 0 && way != AS_BLOCKING)
        rc = tag_of(c, comm, &tag);
    if (rc != 0) {
        wio_schedule_free(&run->s);
        wio_os_free(run);
        return rc;
    }
    wio_run_init(run, c, tag);
    return wio_request_collective(run, way == PERSISTENT, req);
}

/* The times of a trial are complete: the slowest member's count. */
static int agree(WAITIO_MPI_Comm comm, struct wio_trial *trial)
{
    int64_t worst[WIO_TUNE_RIVALS];
    struct wio_call call = {
        .kind = WIO_ALLREDUCE,
        .op = WAITIO_MPI_MAX,
        .send = {.buf = trial->sum_ns, .count = WIO_TUNE_RIVALS, .type = WAITIO_MPI_INT64_T},
        .recv = {.buf = worst, .count = WIO_TUNE_RIVALS, .type = WAITIO_MPI_INT64_T}};
    struct wio_strbuf times = {0};
    int rc = wio_coll_call(&call, comm, NULL), counted = wio_tune_counted(trial);

    if (rc != 0)
        return rc;
    wio_tune_decide(trial, worst);
    for (int i = 0; i < trial->rivals; i++)
        wio_strbuf_add(&times, " %lld", (long long)(worst[i] / counted / 1000));
    wio_debug(wio_universe_log(wio_api_universe()), WIO_C_MPI,
              "long broadcasts: the algorithms took%s us (0: not tried), number %d is used",
              times.text != NULL ? times.text : " ?", trial->chosen);
    wio_strbuf_free(&times);
    return 0;
}

/* Run to the end, with the kept plan of such calls or with a new schedule. */
static int call_now(struct wio_comm *c, WAITIO_MPI_Comm comm, const struct wio_call *call,
                    const struct wio_caller *who)
{
    struct wio_plan *plan = wio_plan_take(c, call);
    struct wio_running here, *run = plan != NULL ? &plan->run : &here;
    int rc = plan != NULL && plan->written ? 0 : wio_coll_write(&run->s, call, who);
    bool runs = rc == 0;
    struct wio_trial *trial = runs ? run->s.trial : NULL;
    int64_t begun_ns = trial != NULL ? wio_os_now_ns() : 0;

    if (WIO_LIKELY(runs)) {
        wio_run_init(run, c, 0); /* holds the communicator, and that its plans */
        rc = wio_run_now(run, plan != NULL ? &plan->layout : NULL);
        wio_run_end(run);
    }
    if (plan != NULL)
        wio_plan_give(c, plan, rc == 0);
    else
        wio_schedule_free(&run->s);
    if (trial != NULL && rc == 0 && wio_tune_took(trial, wio_os_now_ns() - begun_ns))
        rc = agree(comm, trial);
    if (runs)
        wio_comm_release(c);
    return rc;
}

/* The caller. Between two groups it is a member of the communicator of both, which replaces *comm.
 * @param near memory for neighbours */
static int caller(const struct wio_call *call, WAITIO_MPI_Comm *comm, struct wio_comm **c,
                  struct wio_near *near, struct wio_caller *who)
{
    const struct wio_inter *inter;
    int rc = wio_comm_get(*comm, c);

    if (rc != 0)
        return rc;
    inter = (*c)->inter;
    if (WIO_UNLIKELY(call->kind >= WIO_COLLECTIVE_COUNT))
        rc = wio_near_of(*c, near);
    if (WIO_UNLIKELY(rc == 0 && inter != NULL)) {
        *comm = inter->both;
        rc = wio_comm_get(*comm, c);
    }
    if (rc == 0)
        rc = wio_revoked_check(wio_api_universe(), (*c)->twin.space);
    if (rc != 0)
        return rc;
    *who = (struct wio_caller){.rank = (*c)->rank,
                               .size = (*c)->size,
                               .topo = &(*c)->topo,
                               .swap = (*c)->swap,
                               .comm = *c,
                               .tune = &(*c)->tune,
                               .near = near,
                               .inter = inter,
                               .asked = asked(wio_universe_config(wio_api_universe()), call->kind)};
    return 0;
}

/* Bytes of the call's elements, where it has one count and one type. */
static uint64_t bytes_of(const struct wio_call *call)
{
    const struct wio_side *side = call->kind == WIO_GATHER ? &call->send : &call->recv;
    const struct wio_mpi_type *type = NULL;

    if (call->kind != WIO_BARRIER && side->types == NULL && !wio_side_lists(side) &&
        side->count > 0)
        type = wio_mpi_type(side->type);
    return type != NULL ? (uint64_t)side->count * type->size : 0;
}

/* For the trace. */
static uint32_t mark(struct wio_universe *u, const struct wio_comm *c, const struct wio_call *call,
                     uint8_t flags)
{
    return wio_universe_mark(u, &(struct wio_event){.bytes = bytes_of(call),
                                                    .peer = (uint32_t)call->root,
                                                    .envelope = (uint32_t)c->size,
                                                    .what = (int32_t)call->kind,
                                                    .space = (uint32_t)c->twin.space,
                                                    .kind = WIO_EVENT_COLLECTIVE,
                                                    .flags = flags});
}

static int call_traced(struct wio_universe *u, struct wio_comm *c, WAITIO_MPI_Comm comm,
                       const struct wio_call *call, const struct wio_caller *who)
{
    uint32_t number = mark(u, c, call, 0);
    int rc = call_now(c, comm, call, who);

    wio_universe_marked(u, number, rc);
    return rc;
}

static int start_traced(struct wio_universe *u, struct wio_comm *c, WAITIO_MPI_Comm comm,
                        const struct wio_call *call, const struct wio_caller *who, enum way way,
                        WAITIO_MPI_Request *req)
{
    uint32_t number = mark(u, c, call, WIO_EVENT_FLAG_STARTED);
    int rc = start(c, comm, call, who, way, req);

    wio_universe_marked(u, number, rc);
    return rc;
}

/*
 * A provider wants the same order of operations on all members. Persistent ones may be started in
 * another order on each member, so they go by messages. Where the provider only blocks, they are
 * refused (inside.c).
 */
static bool by_messages(const struct wio_comm *c, enum way way)
{
    const struct wio_inside *inside = c->inside;

    return WIO_UNLIKELY(inside != NULL) && !inside->blocks &&
           (way == PERSISTENT || (way == STARTED && inside->now_only));
}

int wio_coll_call(const struct wio_call *call, WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req)
{
    struct wio_comm *c;
    struct wio_caller who;
    struct wio_near near;
    bool *blocking = wio_mpi_as_blocking(); /* this call uses it up, also when it fails */
    enum way way = req != NULL && *blocking ? AS_BLOCKING : STARTED;
    int rc = caller(call, &comm, &c, &near, &who);

    if (req != NULL)
        *blocking = false;
    if (rc != 0)
        return rc;
    who.messages = req != NULL && by_messages(c, way);
    struct wio_universe *u = wio_api_universe();
    if (WIO_UNLIKELY(u != NULL && wio_universe_traced(u)))
        return req != NULL ? start_traced(u, c, comm, call, &who, way, req)
                           : call_traced(u, c, comm, call, &who);
    return req != NULL ? start(c, comm, call, &who, way, req) : call_now(c, comm, call, &who);
}

int wio_coll_init(const struct wio_call *call, WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req)
{
    struct wio_comm *c;
    struct wio_caller who;
    struct wio_near near;
    int rc = caller(call, &comm, &c, &near, &who);

    if (rc != 0)
        return rc;
    who.messages = by_messages(c, PERSISTENT);
    return start(c, comm, call, &who, PERSISTENT, req);
}
