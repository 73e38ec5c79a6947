/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests. Each of ours is represented by a generalized request of the vendor that never
 * completes; the program may copy it, compare it and turn it into Fortran's integer. Stand-ins are
 * used again, so a message costs no call of the vendor's.
 */
#include "span/requests.h"

#include "os/os.h"

struct span_table span_requests = SPAN_TABLE_INIT;
atomic_int span_live, span_folding;

static struct span_request *spare;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int query(void *extra_state, MPI_Status *status)
{
    (void)extra_state;
    (void)PMPI_Status_set_cancelled(status, 0);
    (void)PMPI_Status_set_elements(status, MPI_BYTE, 0);
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    return MPI_SUCCESS;
}

static int let_go(void *extra_state)
{
    (void)extra_state;
    return MPI_SUCCESS;
}

static int refuse_cancel(void *extra_state, int complete)
{
    (void)extra_state, (void)complete;
    return MPI_SUCCESS;
}

static struct span_request *request_new(void)
{
    struct span_request *q = wio_os_alloc(sizeof *q);

    if (q == NULL)
        return NULL;
    if (PMPI_Grequest_start(query, let_go, refuse_cancel, q, &q->stand_in) != MPI_SUCCESS) {
        wio_os_free(q);
        return NULL;
    }
    if (span_table_put(&span_requests, SPAN_KEY(q->stand_in), q) != 0) {
        (void)PMPI_Grequest_complete(q->stand_in);
        (void)span_vendor.Wait(&q->stand_in, MPI_STATUS_IGNORE);
        wio_os_free(q);
        return NULL;
    }
    return q;
}

struct span_request *span_request_take(const struct span_call *call, bool persistent)
{
    pthread_mutex_lock(&mutex);
    struct span_request *q = spare;
    if (q != NULL)
        spare = q->next;
    pthread_mutex_unlock(&mutex);
    if (q == NULL)
        q = request_new();
    if (q == NULL)
        return NULL;
    q->comm = call->comm;
    q->name = call->name;
    q->persistent = persistent;
    q->pair = q->active = false;
    q->taken = true;
    q->folds = call->folds;
    if (q->folds)
        atomic_fetch_add_explicit(&span_folding, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&q->comm->refs, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&span_live, 1, memory_order_relaxed);
    return q;
}

void span_request_drop(struct span_request *q)
{
    bool folds = q->folds;

    span_scratch_free(q->scratch);
    span_comm_release(q->comm);
    q->scratch = NULL;
    q->comm = NULL;
    pthread_mutex_lock(&mutex);
    q->taken = false;
    q->next = spare;
    spare = q;
    pthread_mutex_unlock(&mutex);
    atomic_fetch_sub_explicit(&span_live, 1, memory_order_acq_rel);
    if (folds && atomic_fetch_sub_explicit(&span_folding, 1, memory_order_acq_rel) == 1) {
        span_types_sweep();
        span_ops_sweep();
    }
}

static void end(void *value)
{
    struct span_request *q = value;

    (void)PMPI_Grequest_complete(q->stand_in);
    (void)span_vendor.Wait(&q->stand_in, MPI_STATUS_IGNORE);
    span_scratch_free(q->scratch);
    wio_os_free(q);
}

void span_requests_end(void)
{
    span_table_each(&span_requests, end);
    span_table_clear(&span_requests);
    spare = NULL;
    atomic_store(&span_live, 0);
    atomic_store(&span_folding, 0);
}

int span_request_fail(const struct span_request *q, int code)
{
    return span_fail(q->comm != NULL ? q->comm->handle : MPI_COMM_WORLD, q->name, code);
}

/* ---- calls with one request ---- */

int PMPI_Start(MPI_Request *request)
{
    struct span_request *q = span_request_of(*request);
    int rc;

    if (SPAN_LIKELY(q == NULL))
        return span_vendor.Start(request);
    rc = WAITIO_MPI_Start(&q->ours);
    q->active = rc == 0;
    return rc == 0 ? MPI_SUCCESS : span_request_fail(q, rc);
}
SPAN_NAME(Start)

int PMPI_Startall(int count, MPI_Request array_of_requests[])
{
    int rc = MPI_SUCCESS;

    if (SPAN_LIKELY(atomic_load_explicit(&span_live, memory_order_relaxed) == 0))
        return span_vendor.Startall(count, array_of_requests);
    for (int i = 0; rc == MPI_SUCCESS && i < count; i++)
        rc = PMPI_Start(&array_of_requests[i]);
    return rc;
}
SPAN_NAME(Startall)

/* What the operation needs of us it may need until it is over: that is kept then. */
int PMPI_Request_free(MPI_Request *request)
{
    struct span_request *q = span_request_of(*request);
    int rc;

    if (SPAN_LIKELY(q == NULL))
        return span_vendor.Request_free(request);
    rc = WAITIO_MPI_Request_free(&q->ours);
    if (q->pair)
        (void)WAITIO_MPI_Request_free(&q->second);
    if (rc != 0)
        return span_request_fail(q, rc);
    q->scratch = NULL;
    *request = MPI_REQUEST_NULL;
    span_request_drop(q);
    return MPI_SUCCESS;
}
SPAN_NAME(Request_free)

int PMPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    struct span_request *q = span_request_of(request);
    WAITIO_MPI_Status st = {0};
    int rc, second = 1;

    if (SPAN_LIKELY(q == NULL)) {
        rc = span_vendor.Request_get_status(request, flag, status);
        SPAN_TESTED(rc != MPI_SUCCESS || *flag);
        return rc;
    }
    rc = WAITIO_MPI_Request_get_status(q->ours, flag, &st);
    if (rc == 0 && q->pair)
        rc = WAITIO_MPI_Request_get_status(q->second, &second, NULL);
    *flag = *flag && second;
    if (*flag)
        span_status(&st, status);
    else
        span_vendor_goes_on();
    return rc == 0 ? MPI_SUCCESS : span_request_fail(q, rc);
}
SPAN_NAME(Request_get_status)

int PMPI_Cancel(MPI_Request *request)
{
    struct span_request *q = span_request_of(*request);
    int rc;

    if (SPAN_LIKELY(q == NULL))
        return span_vendor.Cancel(request);
    rc = WAITIO_MPI_Cancel(&q->ours);
    return rc == 0 || rc == WAITIO_ERR_UNSUPPORTED ? MPI_SUCCESS : span_request_fail(q, rc);
}
SPAN_NAME(Cancel)

#if MPI_VERSION >= 4
/* Two operations in one request. */
int span_isendrecv(struct span_call *call, const void *sendbuf, WAITIO_MPI_Count sendcount,
                   WAITIO_MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
                   WAITIO_MPI_Count recvcount, WAITIO_MPI_Datatype recvtype, int source,
                   int recvtag, MPI_Request *request)
{
    struct span_request *q;

    span_start(call, false);
    if (call->code != 0)
        return span_started(call, request);
    q = call->request;
    call->code = WAITIO_MPI_Irecv_c(recvbuf, recvcount, recvtype, span_rank(source),
                                    span_tag(recvtag), call->comm->comm, &q->ours);
    if (call->code != 0)
        return span_started(call, request);
    call->code = WAITIO_MPI_Isend_c(sendbuf, sendcount, sendtype, span_rank(dest),
                                    span_tag(sendtag), call->comm->comm, &q->second);
    q->pair = call->code == 0;
    if (call->code != 0) {
        (void)WAITIO_MPI_Cancel(&q->ours);
        (void)WAITIO_MPI_Wait(&q->ours, WAITIO_MPI_STATUS_IGNORE);
    }
    return span_started(call, request);
}
#endif
