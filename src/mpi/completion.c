/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting, testing, and what else is done to requests. */
#include "mpi/mpi.h"
#include "mpi/request.h"
#include "mpi/status.h"
#include "os/os.h"

int waitio_mpi_wait(WAITIO_MPI_Request *req, int *status)
{
    waitio_status_t st = {0};
    int rc = wio_request_wait(req, &st);

    wio_mpi_status_short(&st, status);
    return wio_mpi_result("waitio_mpi_wait", rc);
}

int waitio_mpi_waitall(int count, WAITIO_MPI_Request reqs[], int *statuses)
{
    struct wio_statuses s;
    int rc;

    if (statuses == NULL)
        return wio_mpi_result("waitio_mpi_waitall", wio_request_waitall(count, reqs, NULL));
    rc = wio_statuses_get(&s, count);
    if (rc == 0) {
        rc = wio_request_waitall(count, reqs, s.st);
        for (int i = 0; i < count; i++)
            wio_mpi_status_short(&s.st[i], statuses + (size_t)i * WAITIO_STATUS_SIZE);
        wio_statuses_put(&s);
    }
    return wio_mpi_result("waitio_mpi_waitall", rc);
}

int WAITIO_MPI_Start(WAITIO_MPI_Request *req)
{
    return wio_mpi_result("WAITIO_MPI_Start", wio_request_begin(req));
}

int WAITIO_MPI_Startall(int count, WAITIO_MPI_Request reqs[])
{
    int rc = wio_request_check(count, reqs);

    for (int i = 0; rc == 0 && i < count; i++)
        rc = wio_request_begin(&reqs[i]);
    return wio_mpi_result("WAITIO_MPI_Startall", rc);
}

int WAITIO_MPI_Wait(WAITIO_MPI_Request *req, WAITIO_MPI_Status *status)
{
    waitio_status_t st = {0};
    int rc = wio_request_wait(req, &st);

    wio_mpi_status_one(&st, status);
    return wio_mpi_result("WAITIO_MPI_Wait", rc);
}

int WAITIO_MPI_Waitall(int count, WAITIO_MPI_Request reqs[], WAITIO_MPI_Status statuses[])
{
    struct wio_statuses s;
    int rc;

    if (statuses == NULL)
        return wio_mpi_result("WAITIO_MPI_Waitall", wio_request_waitall(count, reqs, NULL));
    rc = wio_statuses_get(&s, count);
    if (rc == 0) {
        rc = wio_request_waitall(count, reqs, s.st);
        for (int i = 0; i < count; i++)
            wio_mpi_status_long(&s.st[i], &statuses[i]);
        wio_statuses_put(&s);
    }
    return wio_mpi_result("WAITIO_MPI_Waitall", rc);
}

int WAITIO_MPI_Waitany(int count, WAITIO_MPI_Request reqs[], int *index, WAITIO_MPI_Status *status)
{
    waitio_status_t st = {0};
    int rc = wio_request_waitany(count, reqs, index, &st);

    wio_mpi_status_one(&st, status);
    return wio_mpi_result("WAITIO_MPI_Waitany", rc);
}

int WAITIO_MPI_Test(WAITIO_MPI_Request *req, int *flag, WAITIO_MPI_Status *status)
{
    waitio_status_t st = {0};
    int rc = wio_request_test(req, flag, &st);

    if (rc != 0 || *flag)
        wio_mpi_status_one(&st, status);
    return wio_mpi_result("WAITIO_MPI_Test", rc);
}

int WAITIO_MPI_Testall(int count, WAITIO_MPI_Request reqs[], int *flag,
                       WAITIO_MPI_Status statuses[])
{
    struct wio_statuses s;
    int rc;

    if (statuses == NULL)
        return wio_mpi_result("WAITIO_MPI_Testall", wio_request_testall(count, reqs, flag, NULL));
    rc = wio_statuses_get(&s, count);
    if (rc == 0) {
        rc = wio_request_testall(count, reqs, flag, s.st);
        for (int i = 0; (rc != 0 || *flag) && i < count; i++)
            wio_mpi_status_long(&s.st[i], &statuses[i]);
        wio_statuses_put(&s);
    }
    return wio_mpi_result("WAITIO_MPI_Testall", rc);
}

int WAITIO_MPI_Testany(int count, WAITIO_MPI_Request reqs[], int *index, int *flag,
                       WAITIO_MPI_Status *status)
{
    waitio_status_t st = {0};
    int rc = wio_mpi_need("index", index);

    if (rc == 0)
        rc = wio_mpi_need("flag", flag);
    if (rc == 0)
        rc = wio_request_testany(count, reqs, index, flag, &st);
    if (rc != 0 || *flag)
        wio_mpi_status_one(&st, status);
    return wio_mpi_result("WAITIO_MPI_Testany", rc);
}

int waitio_mpi_waitany_for(int count, WAITIO_MPI_Request reqs[], double seconds, int *index,
                           int *flag, waitio_status_t *status)
{
    static const char call[] = "waitio_mpi_waitany_for";
    int64_t timeout_ns = seconds >= 3.2e7 ? INT64_MAX : seconds > 0 ? (int64_t)(seconds * 1e9) : 0;

    if (index == NULL || flag == NULL)
        return wio_mpi_result(
            call, wio_fail(WAITIO_ERR_ARG, "%s is NULL", index == NULL ? "index" : "flag"));
    *index = WAITIO_UNDEFINED;
    *flag = 0;
    return wio_mpi_result(call,
                          wio_request_waitany_for(count, reqs, timeout_ns, index, flag, status));
}

static int some(const char *call, bool wait, int count, WAITIO_MPI_Request reqs[], int *done,
                int indices[], WAITIO_MPI_Status statuses[])
{
    struct wio_statuses s;
    int rc = wio_mpi_need("count of completed requests'", done);

    if (rc == 0)
        rc = count > 0 ? wio_mpi_need("indices", indices) : 0;
    if (rc == 0)
        rc = wio_statuses_get(&s, count);
    if (rc == 0) {
        *done = 0;
        rc = wio_request_some(wait, count, reqs, done, indices, s.st);
        for (int i = 0; statuses != NULL && i < *done; i++)
            wio_mpi_status_long(&s.st[i], &statuses[i]);
        wio_statuses_put(&s);
    }
    return wio_mpi_result(call, rc);
}

int WAITIO_MPI_Waitsome(int count, WAITIO_MPI_Request reqs[], int *done, int indices[],
                        WAITIO_MPI_Status statuses[])
{
    return some("WAITIO_MPI_Waitsome", true, count, reqs, done, indices, statuses);
}

int WAITIO_MPI_Testsome(int count, WAITIO_MPI_Request reqs[], int *done, int indices[],
                        WAITIO_MPI_Status statuses[])
{
    return some("WAITIO_MPI_Testsome", false, count, reqs, done, indices, statuses);
}

int WAITIO_MPI_Cancel(WAITIO_MPI_Request *req)
{
    return wio_mpi_result("WAITIO_MPI_Cancel", wio_request_cancel(req));
}

int WAITIO_MPI_Test_cancelled(const WAITIO_MPI_Status *status, int *flag)
{
    int rc = wio_mpi_need_status(status);

    if (rc == 0)
        *flag = status->waitio_cancelled;
    return wio_mpi_result("WAITIO_MPI_Test_cancelled", rc);
}

int WAITIO_MPI_Request_free(WAITIO_MPI_Request *req)
{
    return wio_mpi_result("WAITIO_MPI_Request_free", wio_request_drop(req));
}

int WAITIO_MPI_Request_get_status(WAITIO_MPI_Request req, int *flag, WAITIO_MPI_Status *status)
{
    waitio_status_t st = {0};
    int rc = wio_request_look(&req, flag, &st);

    if (rc == 0 && *flag)
        wio_mpi_status_one(&st, status);
    return wio_mpi_result("WAITIO_MPI_Request_get_status", rc);
}
