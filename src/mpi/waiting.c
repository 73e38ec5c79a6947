/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for and testing several requests at a time: all, any, some. What one request is, and how
 * it ends, is in request.c. */
#include "mpi/waiting.h"

#include "api/api.h"
#include "mpi/request.h"
#include "os/os.h"

static bool plain(int n, const waitio_req_t reqs[])
{
    for (int i = 0; i < n; i++)
        if (wio_request_is_own(&reqs[i]))
            return false;
    return true;
}

int wio_request_check(int n, const void *reqs)
{
    if (n < 0 || (n > 0 && reqs == NULL))
        return wio_fail(WAITIO_ERR_ARG, "%d requests%s", n,
                        n < 0 ? ": a negative count" : ", but their array is NULL");
    return 0;
}

int wio_request_waitall(int n, waitio_req_t reqs[], waitio_status_t st[])
{
    int first = wio_request_check(n, reqs);

    if (first != 0 || plain(n, reqs))
        return first != 0 ? first : waitio_waitall(n, reqs, st);
    for (int i = 0; i < n; i++) {
        waitio_status_t one = wio_request_empty;
        int rc = wio_request_wait(&reqs[i], &one);
        one.error = rc;
        if (st != NULL)
            st[i] = one;
        if (first == 0)
            first = rc;
    }
    return first;
}

int wio_request_testall(int n, waitio_req_t reqs[], int *flag, waitio_status_t st[])
{
    int rc = wio_request_check(n, reqs);

    if (rc != 0 || plain(n, reqs))
        return rc != 0 ? rc : waitio_testall(n, reqs, flag, st);
    *flag = 0;
    for (int i = 0; i < n; i++) {
        bool done, idle;
        rc = wio_request_peek(&reqs[i], true, &done, &idle);
        if (rc != 0 || !done)
            return rc;
    }
    *flag = 1;
    return wio_request_waitall(n, reqs, st);
}

/* The first active request from *i on, n when there is none. *active counts them; the first one
 * makes progress with all. */
static int next_active(int n, const waitio_req_t reqs[], int *i, int *active, bool *done)
{
    for (; *i < n; ++*i) {
        bool idle;
        int rc = wio_request_peek(&reqs[*i], *active == 0, done, &idle);
        if (rc != 0)
            return rc;
        if (!idle) {
            ++*active;
            return 0;
        }
    }
    return 0;
}

/* The first request that is done. *index UNDEFINED: none is active. */
static int look(int n, waitio_req_t reqs[], int *index, bool *found)
{
    int active = 0;

    *found = false;
    *index = WAITIO_UNDEFINED;
    for (int i = 0; i < n; i++) {
        bool done;
        int rc = next_active(n, reqs, &i, &active, &done);
        if (rc != 0)
            return rc;
        if (i < n && done) {
            *found = true;
            *index = i;
            return 0;
        }
    }
    *found = active == 0;
    return 0;
}

int wio_request_testany(int n, waitio_req_t reqs[], int *index, int *flag, waitio_status_t *st)
{
    bool found = false;
    int rc = wio_request_check(n, reqs);

    if (rc == 0)
        rc = look(n, reqs, index, &found);
    *flag = rc == 0 && found;
    if (*flag && *index == WAITIO_UNDEFINED && st != NULL)
        *st = wio_request_empty;
    return *flag && *index != WAITIO_UNDEFINED ? wio_request_wait(&reqs[*index], st) : rc;
}

int wio_request_waitany(int n, waitio_req_t reqs[], int *index, waitio_status_t *st)
{
    int flag = 0, rc = wio_request_check(n, reqs);

    if (rc != 0 || plain(n, reqs))
        return rc != 0 ? rc : waitio_waitany(n, reqs, index, st);
    for (;;) {
        rc = wio_request_testany(n, reqs, index, &flag, st);
        if (rc == 0 && !flag)
            rc = wio_request_sleep(n, reqs, INT64_MAX);
        if (rc != 0 || flag)
            return rc;
    }
}

int wio_request_waitany_for(int n, waitio_req_t reqs[], int64_t timeout_ns, int *index, int *flag,
                            waitio_status_t *st)
{
    int64_t now = wio_os_now_ns();
    int64_t until = timeout_ns < INT64_MAX - now ? now + timeout_ns : INT64_MAX;
    int rc;

    for (;;) {
        rc = wio_request_testany(n, reqs, index, flag, st);
        if (rc != 0 || *flag)
            return rc;
        now = wio_os_now_ns();
        if (now >= until)
            return 0;
        rc = wio_request_sleep(n, reqs, until == INT64_MAX ? INT64_MAX : until - now);
        if (rc != 0)
            return rc;
    }
}

/* Complete every request that is done. */
static int sweep(int n, waitio_req_t reqs[], int *count, int indices[], waitio_status_t st[])
{
    int active = 0, got = 0, first = 0;

    for (int i = 0; i < n; i++) {
        bool done;
        int rc = next_active(n, reqs, &i, &active, &done);
        if (rc != 0)
            return rc;
        if (i == n || !done)
            continue;
        rc = wio_request_wait(&reqs[i], st == NULL ? NULL : &st[got]);
        if (st != NULL)
            st[got].error = rc;
        indices[got++] = i;
        first = first == 0 ? rc : first;
    }
    *count = active == 0 ? WAITIO_UNDEFINED : got;
    return first;
}

int wio_request_some(bool wait, int n, waitio_req_t reqs[], int *count, int indices[],
                     waitio_status_t st[])
{
    int rc = wio_request_check(n, reqs);

    while (rc == 0) {
        rc = sweep(n, reqs, count, indices, st);
        if (rc != 0 || !wait || *count != 0)
            return rc;
        rc = wio_request_sleep(n, reqs, INT64_MAX);
    }
    return rc;
}
