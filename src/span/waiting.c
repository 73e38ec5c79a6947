/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting and testing. Arrays may mix requests of the vendor's with ours. Each kind is then tested
 * in turn, so that both go on and neither waits for the other.
 */
#include "span/requests.h"

#include "os/os.h"

/* ---- one request ---- */

/* A request of ours has completed. @return MPI's code for its error, without the handler */
static int settle(struct span_request *q, int rc, const WAITIO_MPI_Status *st, MPI_Request *request,
                  MPI_Status *status)
{
    span_status(st, status);
    q->active = false;
    if (!q->persistent) {
        *request = MPI_REQUEST_NULL;
        rc = rc != 0 ? span_request_fail(q, rc) : 0;
        span_request_drop(q);
        return rc;
    }
    return rc != 0 ? span_request_fail(q, rc) : MPI_SUCCESS;
}

static int wait_one(struct span_request *q, WAITIO_MPI_Status *st)
{
    int rc = WAITIO_MPI_Wait(&q->ours, st);

    if (!q->pair)
        return rc;
    int second = WAITIO_MPI_Wait(&q->second, WAITIO_MPI_STATUS_IGNORE);
    return rc != 0 ? rc : second;
}

static int test_one(struct span_request *q, int *flag, WAITIO_MPI_Status *st)
{
    int rc;

    if (!q->pair)
        return WAITIO_MPI_Test(&q->ours, flag, st);
    rc = WAITIO_MPI_Request_get_status(q->ours, flag, WAITIO_MPI_STATUS_IGNORE);
    if (rc == 0 && *flag)
        rc = WAITIO_MPI_Request_get_status(q->second, flag, WAITIO_MPI_STATUS_IGNORE);
    return rc == 0 && *flag ? wait_one(q, st) : rc;
}

static bool none_live(void)
{
    return SPAN_LIKELY(atomic_load_explicit(&span_live, memory_order_relaxed) == 0);
}

int PMPI_Wait(MPI_Request *request, MPI_Status *status)
{
    struct span_request *q;
    WAITIO_MPI_Status st = {0};

    if (none_live())
        return span_vendor.Wait(request, status);
    q = span_request_of(*request);
    if (q == NULL)
        return SPAN_BLOCKING(span_vendor.Wait(request, status));
    int rc = wait_one(q, &st);
    return settle(q, rc, &st, request, status);
}
SPAN_NAME(Wait)

int PMPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    struct span_request *q;
    WAITIO_MPI_Status st = {0};

    int rc;

    if (none_live())
        return span_vendor.Test(request, flag, status);
    q = span_request_of(*request);
    if (q == NULL) {
        rc = span_vendor.Test(request, flag, status);
        SPAN_TESTED(rc != MPI_SUCCESS || *flag);
        return rc;
    }
    rc = test_one(q, flag, &st);
    if (rc != 0)
        *flag = 1;
    if (!*flag)
        span_vendor_goes_on();
    return *flag ? settle(q, rc, &st, request, status) : MPI_SUCCESS;
}
SPAN_NAME(Test)

/* ---- arrays ---- */

static bool has_ours(int n, const MPI_Request requests[])
{
    for (int i = 0; i < n; i++)
        if (span_request_of(requests[i]) != NULL)
            return true;
    return false;
}

static MPI_Status *at(MPI_Status statuses[], int i)
{
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

static void set_empty(MPI_Status *status)
{
    WAITIO_MPI_Status empty = {.MPI_SOURCE = WAITIO_MPI_ANY_SOURCE, .MPI_TAG = WAITIO_MPI_ANY_TAG};

    if (status == MPI_STATUS_IGNORE)
        return;
    span_status(&empty, status);
    status->MPI_ERROR = MPI_SUCCESS;
}

/* The requests of an array that can complete still, of both kinds. */
struct set {
    MPI_Request *requests; /* the program's */
    MPI_Status *statuses;  /* the program's, or MPI_STATUSES_IGNORE */
    int n;
    bool failed;
};

/* Look at request @p i. @return 1: it has completed; 0: it goes on; -1: it is not active */
static int look(struct set *s, int i, MPI_Status *status, int *error)
{
    MPI_Request *request = &s->requests[i];
    struct span_request *q = span_request_of(*request);
    int flag = 0, nothing = 0;

    *error = MPI_SUCCESS;
    if (*request == MPI_REQUEST_NULL)
        return -1;
    if (q != NULL) {
        if (q->persistent && !q->active)
            return -1;
        *error = PMPI_Test(request, &flag, status);
    } else { /* an inactive one of the vendor's gives the index UNDEFINED */
        *error = span_vendor.Testany(1, request, &nothing, &flag, status);
        if (*error == MPI_SUCCESS && flag && nothing == MPI_UNDEFINED)
            return -1;
        if (*error != MPI_SUCCESS)
            flag = 1;
    }
    return flag;
}

/* Between two looks at everything. */
static void pause_between(unsigned *looks)
{
    enum { BUSY = 64, YIELDS = 4096 };
    const int64_t nap_ns = 50000;

    if (++*looks < BUSY)
        return;
    if (*looks < YIELDS)
        wio_os_yield();
    else
        wio_os_sleep_ns(nap_ns);
}

/* The first that has completed. @return MPI's code; *flag and *index as in MPI_Testany */
static int test_any(struct set *s, int *index, int *flag, MPI_Status *status)
{
    bool active = false;
    int error;

    *flag = 0;
    *index = MPI_UNDEFINED;
    for (int i = 0; i < s->n; i++) {
        int found = look(s, i, status, &error);
        active = active || found >= 0;
        if (found > 0) {
            *flag = 1;
            *index = i;
            return error;
        }
    }
    if (!active) {
        *flag = 1;
        set_empty(status);
    }
    return MPI_SUCCESS;
}

int PMPI_Testany(int count, MPI_Request array_of_requests[], int *indx, int *flag,
                 MPI_Status *status)
{
    struct set s = {array_of_requests, MPI_STATUSES_IGNORE, count, false};

    if (none_live())
        return span_vendor.Testany(count, array_of_requests, indx, flag, status);
    if (has_ours(count, array_of_requests))
        return test_any(&s, indx, flag, status);
    int rc = span_vendor.Testany(count, array_of_requests, indx, flag, status);
    SPAN_TESTED(rc != MPI_SUCCESS || *flag);
    return rc;
}
SPAN_NAME(Testany)

int PMPI_Waitany(int count, MPI_Request array_of_requests[], int *indx, MPI_Status *status)
{
    struct set s = {array_of_requests, MPI_STATUSES_IGNORE, count, false};
    unsigned looks = 0;
    int flag = 0, rc = MPI_SUCCESS;

    if (none_live() || !has_ours(count, array_of_requests))
        return SPAN_BLOCKING(span_vendor.Waitany(count, array_of_requests, indx, status));
    while (rc == MPI_SUCCESS) {
        rc = test_any(&s, indx, &flag, status);
        if (flag)
            break;
        pause_between(&looks);
    }
    return rc;
}
SPAN_NAME(Waitany)

/* All that have completed. @return MPI's code; *outcount is UNDEFINED when none is active */
static int test_some(struct set *s, int *outcount, int indices[])
{
    bool active = false, failed = false;
    int done = 0, error;

    for (int i = 0; i < s->n; i++) {
        int found = look(s, i, at(s->statuses, done), &error);
        active = active || found >= 0;
        if (found <= 0)
            continue;
        if (s->statuses != MPI_STATUSES_IGNORE)
            s->statuses[done].MPI_ERROR = error;
        failed = failed || error != MPI_SUCCESS;
        indices[done++] = i;
    }
    *outcount = active ? done : MPI_UNDEFINED;
    return failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

int PMPI_Testsome(int incount, MPI_Request array_of_requests[], int *outcount,
                  int array_of_indices[], MPI_Status array_of_statuses[])
{
    struct set s = {array_of_requests, array_of_statuses, incount, false};

    if (!none_live() && has_ours(incount, array_of_requests))
        return test_some(&s, outcount, array_of_indices);
    int rc = span_vendor.Testsome(incount, array_of_requests, outcount, array_of_indices,
                                  array_of_statuses);
    SPAN_TESTED(rc != MPI_SUCCESS || *outcount != 0);
    return rc;
}
SPAN_NAME(Testsome)

int PMPI_Waitsome(int incount, MPI_Request array_of_requests[], int *outcount,
                  int array_of_indices[], MPI_Status array_of_statuses[])
{
    struct set s = {array_of_requests, array_of_statuses, incount, false};
    unsigned looks = 0;
    int rc;

    if (none_live() || !has_ours(incount, array_of_requests))
        return SPAN_BLOCKING(span_vendor.Waitsome(incount, array_of_requests, outcount,
                                                  array_of_indices, array_of_statuses));
    while ((rc = test_some(&s, outcount, array_of_indices)) == MPI_SUCCESS && *outcount == 0)
        pause_between(&looks);
    return rc;
}
SPAN_NAME(Waitsome)

/* ---- all ---- */

/* Nothing is changed if one goes on still, so look before; at all of them, so that all go on. */
static bool all_done(int n, MPI_Request requests[])
{
    bool all = true;
    int flag;

    for (int i = 0; i < n; i++) {
        flag = 1;
        if (requests[i] != MPI_REQUEST_NULL &&
            PMPI_Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            flag = 1; /* who completes it says so */
        all = all && flag;
    }
    return all;
}

static void note_error(struct set *s, int i, int error)
{
    s->failed = s->failed || error != MPI_SUCCESS;
    if (s->statuses != MPI_STATUSES_IGNORE)
        s->statuses[i].MPI_ERROR = error;
}

/* Wait for the vendor's requests of an array while ours go on, or for ours while the vendor's go
 * on: each that has completed is taken out. */
static int wait_all(struct set *s)
{
    unsigned looks = 0;
    int left = s->n, error;
    bool *over = wio_os_alloc((size_t)s->n + 1);

    if (over == NULL)
        return span_fail_why(MPI_COMM_WORLD, "MPI_Waitall", WAITIO_ERR_NOMEM,
                             "no memory for the list of requests");
    while (left > 0) {
        int before = left;
        for (int i = 0; i < s->n; i++) {
            if (over[i])
                continue;
            int found = look(s, i, at(s->statuses, i), &error);
            if (found == 0)
                continue;
            if (found < 0)
                set_empty(at(s->statuses, i));
            note_error(s, i, error);
            over[i] = true;
            left--;
        }
        if (left == before)
            pause_between(&looks);
    }
    wio_os_free(over);
    return s->failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

/* Only ours: no need to look at the vendor's in turn. */
static int wait_ours(struct set *s)
{
    int error;

    for (int i = 0; i < s->n; i++) {
        MPI_Status *status = at(s->statuses, i);
        if (s->requests[i] == MPI_REQUEST_NULL) {
            set_empty(status);
            continue;
        }
        error = PMPI_Wait(&s->requests[i], status);
        note_error(s, i, error);
    }
    return s->failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

static bool has_vendors(int n, const MPI_Request requests[])
{
    for (int i = 0; i < n; i++)
        if (requests[i] != MPI_REQUEST_NULL && span_request_of(requests[i]) == NULL)
            return true;
    return false;
}

int PMPI_Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[])
{
    struct set s = {array_of_requests, array_of_statuses, count, false};

    if (none_live() || !has_ours(count, array_of_requests))
        return SPAN_BLOCKING(span_vendor.Waitall(count, array_of_requests, array_of_statuses));
    return has_vendors(count, array_of_requests) ? wait_all(&s) : wait_ours(&s);
}
SPAN_NAME(Waitall)

int PMPI_Testall(int count, MPI_Request array_of_requests[], int *flag,
                 MPI_Status array_of_statuses[])
{
    struct set s = {array_of_requests, array_of_statuses, count, false};

    if (none_live() || !has_ours(count, array_of_requests)) {
        int rc = span_vendor.Testall(count, array_of_requests, flag, array_of_statuses);
        SPAN_TESTED(rc != MPI_SUCCESS || *flag);
        return rc;
    }
    *flag = all_done(count, array_of_requests);
    return *flag ? wait_all(&s) : MPI_SUCCESS;
}
SPAN_NAME(Testall)
