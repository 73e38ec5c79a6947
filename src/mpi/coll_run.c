/* SPDX-License-Identifier: BSD-3-Clause */
/* Making a collective call, blocking or not: schedule, message space, tag. */
#include "api/api.h"
#include "mpi/coll.h"
#include "mpi/plans.h"
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

/* The next non-blocking collective of this thread is used as a blocking one. */
static _Thread_local bool as_blocking;

void waitio_mpi_blocking_next(void)
{
    as_blocking = true;
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
    int64_t worst[2];
    struct wio_call call = {.kind = WIO_ALLREDUCE,
                            .op = WAITIO_MPI_MAX,
                            .send = {.buf = trial->sum_ns, .count = 2, .type = WAITIO_MPI_INT64_T},
                            .recv = {.buf = worst, .count = 2, .type = WAITIO_MPI_INT64_T}};
    int rc = wio_coll_call(&call, comm, NULL);

    if (rc != 0)
        return rc;
    wio_tune_decide(trial, worst);
    wio_debug(wio_universe_log(wio_api_universe()), WIO_C_MPI,
              "long broadcasts: reading the root's memory took %lld us, handing on %lld us",
              (long long)(worst[0] / (WIO_TUNE_TRIES - 1) / 1000),
              (long long)(worst[1] / (WIO_TUNE_TRIES - 1) / 1000));
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

int wio_coll_call(const struct wio_call *call, WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req)
{
    struct wio_comm *c;
    struct wio_caller who;
    struct wio_near near;
    enum way way = req != NULL && as_blocking ? AS_BLOCKING : STARTED; /* also when it fails */
    int rc = caller(call, &comm, &c, &near, &who);

    if (req != NULL)
        as_blocking = false;
    if (rc != 0)
        return rc;
    return req != NULL ? start(c, comm, call, &who, way, req) : call_now(c, comm, call, &who);
}

int wio_coll_init(const struct wio_call *call, WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req)
{
    struct wio_comm *c;
    struct wio_caller who;
    struct wio_near near;
    int rc = caller(call, &comm, &c, &near, &who);

    return rc != 0 ? rc : start(c, comm, call, &who, PERSISTENT, req);
}
