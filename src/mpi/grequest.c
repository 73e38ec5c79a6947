/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/grequest.h"

#include "mpi/mpi.h"
#include "mpi/request.h"
#include "mpi/status.h"

typedef void f_query_fn(intptr_t *extra, int32_t *status, int32_t *ierr);
typedef void typed_query_fn(intptr_t *extra, WAITIO_MPI_Status *status, int32_t *ierr);
typedef void f_free_fn(intptr_t *extra, int32_t *ierr);
typedef void f_cancel_fn(intptr_t *extra, int32_t *complete, int32_t *ierr);

/* Positive codes are those that the program has added. */
static int said(const char *what, int code)
{
    return code == 0
               ? 0
               : wio_fail(code, "the %s function of a generalized request returned %d", what, code);
}

static waitio_status_t from_long(const WAITIO_MPI_Status *st)
{
    return (waitio_status_t){st->MPI_SOURCE, st->MPI_TAG, st->MPI_ERROR, st->waitio_cancelled,
                             st->waitio_bytes};
}

static waitio_status_t from_short(const int32_t *st)
{
    bool cancelled = st[2] == WAITIO_ERR_CANCELLED;

    return (waitio_status_t){st[0], st[1], cancelled ? 0 : st[2], cancelled, (size_t)st[3]};
}

int wio_grequest_query(const struct wio_grequest *g, waitio_status_t *st)
{
    WAITIO_MPI_Status own;
    intptr_t extra = g->extra;
    int32_t four[WAITIO_STATUS_SIZE], ierr = 0;

    *st = wio_request_empty;
    wio_mpi_status_long(st, &own);
    wio_mpi_status_short(st, four);
    if (g->language == WIO_GREQUEST_C)
        ierr = ((WAITIO_MPI_Grequest_query_function *)g->query)((void *)extra, &own);
    else if (g->language == WIO_GREQUEST_TYPED)
        ((typed_query_fn *)g->query)((intptr_t *)extra, &own, &ierr);
    else
        ((f_query_fn *)g->query)((intptr_t *)extra, four, &ierr);
    *st = g->language == WIO_GREQUEST_FORTRAN ? from_short(four) : from_long(&own);
    return said("query", ierr);
}

int wio_grequest_gone(const struct wio_grequest *g)
{
    intptr_t extra = g->extra;
    int32_t ierr = 0;

    if (g->language == WIO_GREQUEST_C)
        ierr = ((WAITIO_MPI_Grequest_free_function *)g->gone)((void *)extra);
    else
        ((f_free_fn *)g->gone)((intptr_t *)extra, &ierr);
    return said("free", ierr);
}

int wio_grequest_cancel(const struct wio_grequest *g)
{
    int32_t complete = (__atomic_load_n(&g->state, __ATOMIC_ACQUIRE) & WIO_GREQUEST_COMPLETE) != 0;
    intptr_t extra = g->extra;
    int32_t ierr = 0;

    if (g->language == WIO_GREQUEST_C)
        ierr = ((WAITIO_MPI_Grequest_cancel_function *)g->cancel)((void *)extra, complete);
    else
        ((f_cancel_fn *)g->cancel)((intptr_t *)extra, &complete, &ierr);
    return said("cancel", ierr);
}

int wio_grequest_start(const struct wio_grequest *g, waitio_req_t *req)
{
    const char *missing = g->query == NULL    ? "query function"
                          : g->gone == NULL   ? "free function"
                          : g->cancel == NULL ? "cancel function"
                          : req == NULL       ? "request"
                                              : NULL;

    return missing != NULL ? wio_mpi_need(missing, NULL) : wio_request_user(g, req);
}

int WAITIO_MPI_Grequest_start(WAITIO_MPI_Grequest_query_function *query_fn,
                              WAITIO_MPI_Grequest_free_function *free_fn,
                              WAITIO_MPI_Grequest_cancel_function *cancel_fn, void *extra_state,
                              WAITIO_MPI_Request *req)
{
    struct wio_grequest g = {.language = WIO_GREQUEST_C,
                             .query = (wio_grequest_fn *)query_fn,
                             .gone = (wio_grequest_fn *)free_fn,
                             .cancel = (wio_grequest_fn *)cancel_fn,
                             .extra = (intptr_t)extra_state};

    return wio_mpi_result("WAITIO_MPI_Grequest_start", wio_grequest_start(&g, req));
}

int WAITIO_MPI_Grequest_complete(WAITIO_MPI_Request req)
{
    return wio_mpi_result("WAITIO_MPI_Grequest_complete", wio_request_user_end(&req));
}

/* ---- what functions put into a status ---- */

static int set_elements(WAITIO_MPI_Status *status, WAITIO_MPI_Datatype type, int64_t count)
{
    const struct wio_mpi_type *t = wio_mpi_type(type);
    int64_t bytes = t == NULL ? 0 : wio_type_bytes(t, count);
    int rc = t == NULL ? WAITIO_ERR_ARG : wio_mpi_need_status(status);

    if (rc == 0 && bytes < 0)
        rc = wio_fail(WAITIO_MPI_ERR_COUNT, "a status cannot have %lld basic elements of %s",
                      (long long)count, t->name);
    if (rc == 0)
        status->waitio_bytes = (size_t)bytes;
    return rc;
}

int WAITIO_MPI_Status_set_elements(WAITIO_MPI_Status *status, WAITIO_MPI_Datatype type, int count)
{
    return wio_mpi_result("WAITIO_MPI_Status_set_elements", set_elements(status, type, count));
}

int WAITIO_MPI_Status_set_elements_x(WAITIO_MPI_Status *status, WAITIO_MPI_Datatype type,
                                     WAITIO_MPI_Count count)
{
    return wio_mpi_result("WAITIO_MPI_Status_set_elements_x", set_elements(status, type, count));
}

int WAITIO_MPI_Status_set_cancelled(WAITIO_MPI_Status *status, int flag)
{
    int rc = wio_mpi_need_status(status);

    if (rc == 0)
        status->waitio_cancelled = flag != 0;
    return wio_mpi_result("WAITIO_MPI_Status_set_cancelled", rc);
}
