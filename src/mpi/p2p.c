/* SPDX-License-Identifier: BSD-3-Clause */
/* Sending and receiving: elements become bytes, MPI's null partner is taken out, waitio does the
 * rest. */
#include <limits.h>

#include "mpi/mpi.h"
#include "os/os.h"

enum { FEW = 32 }; /* statuses that need no allocation */

struct envelope {
    int peer, tag;
    WAITIO_MPI_Comm comm;
};

static int begin(bool sending, void *buf, int count, WAITIO_MPI_Datatype type,
                 const struct envelope *e, bool persistent, WAITIO_MPI_Request *req)
{
    size_t bytes;
    int rc = wio_mpi_bytes(count, type, &bytes);

    if (rc != 0)
        return rc;
    if (req == NULL)
        return wio_fail(WAITIO_ERR_ARG, "the request argument is NULL");
    if (e->peer == WAITIO_MPI_PROC_NULL) {
        *req = (waitio_req_t)WAITIO_REQ_NULL;
        return 0;
    }
    if (sending)
        return (persistent ? waitio_send_init : waitio_isend)(e->comm, e->peer, buf, bytes, e->tag,
                                                              req);
    return (persistent ? waitio_recv_init : waitio_irecv)(e->comm, e->peer, buf, bytes, e->tag,
                                                          req);
}

static int isend(const void *buf, int count, WAITIO_MPI_Datatype type, const struct envelope *e,
                 WAITIO_MPI_Request *req)
{
    return begin(true, (void *)(uintptr_t)buf, count, type, e, false, req);
}

static int irecv(void *buf, int count, WAITIO_MPI_Datatype type, const struct envelope *e,
                 WAITIO_MPI_Request *req)
{
    return begin(false, buf, count, type, e, false, req);
}

/* What MPI reports of a receive from nobody. */
static waitio_status_t from_nobody(void)
{
    return (waitio_status_t){.source = WAITIO_MPI_PROC_NULL, .tag = WAITIO_ANY_TAG};
}

static int recv_now(void *buf, int count, WAITIO_MPI_Datatype type, const struct envelope *e,
                    waitio_status_t *st)
{
    WAITIO_MPI_Request req;
    int rc = irecv(buf, count, type, e, &req);

    if (rc == 0)
        rc = waitio_wait_status(&req, st);
    if (e->peer == WAITIO_MPI_PROC_NULL)
        *st = from_nobody();
    return rc;
}

static int send_now(const void *buf, int count, WAITIO_MPI_Datatype type, const struct envelope *e)
{
    WAITIO_MPI_Request req;
    int rc = isend(buf, count, type, e, &req);

    return rc != 0 ? rc : waitio_wait(&req);
}

void wio_mpi_status_short(const waitio_status_t *st, int *out)
{
    if (out == NULL)
        return;
    out[0] = st->source;
    out[1] = st->tag;
    out[2] = st->error;
    out[3] = st->bytes > INT_MAX ? INT_MAX : (int)st->bytes;
}

static void status_long(const waitio_status_t *st, WAITIO_MPI_Status *out)
{
    if (out != NULL)
        *out = (WAITIO_MPI_Status){st->source, st->tag, st->error, st->cancelled, st->bytes};
}

/* ---- published short forms ---- */

int waitio_mpi_isend(const void *buf, int count, WAITIO_MPI_Datatype type, int dest, int tag,
                     WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req)
{
    return wio_mpi_result("waitio_mpi_isend",
                          isend(buf, count, type, &(struct envelope){dest, tag, comm}, req));
}

int waitio_mpi_irecv(void *buf, int count, WAITIO_MPI_Datatype type, int source, int tag,
                     WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req)
{
    return wio_mpi_result("waitio_mpi_irecv",
                          irecv(buf, count, type, &(struct envelope){source, tag, comm}, req));
}

int waitio_mpi_send(const void *buf, int count, WAITIO_MPI_Datatype type, int dest, int tag,
                    WAITIO_MPI_Comm comm)
{
    return wio_mpi_result("waitio_mpi_send",
                          send_now(buf, count, type, &(struct envelope){dest, tag, comm}));
}

int waitio_mpi_recv(void *buf, int count, WAITIO_MPI_Datatype type, int source, int tag,
                    WAITIO_MPI_Comm comm)
{
    waitio_status_t st = {0};

    return wio_mpi_result("waitio_mpi_recv",
                          recv_now(buf, count, type, &(struct envelope){source, tag, comm}, &st));
}

int waitio_mpi_recv_status(void *buf, int count, WAITIO_MPI_Datatype type, int source, int tag,
                           WAITIO_MPI_Comm comm, int *status)
{
    waitio_status_t st = {0};
    int rc = recv_now(buf, count, type, &(struct envelope){source, tag, comm}, &st);

    wio_mpi_status_short(&st, status);
    return wio_mpi_result("waitio_mpi_recv_status", rc);
}

int waitio_mpi_wait(WAITIO_MPI_Request *req, int *status)
{
    waitio_status_t st = {0};
    int rc = waitio_wait_status(req, &st);

    wio_mpi_status_short(&st, status);
    return wio_mpi_result("waitio_mpi_wait", rc);
}

/* Statuses for @p count operations: @p few when they fit. */
static int statuses_get(int count, waitio_status_t *few, waitio_status_t **st)
{
    *st = few;
    if (count < 0)
        return wio_fail(WAITIO_ERR_ARG, "count %d of requests is negative", count);
    if (count > FEW)
        *st = wio_os_alloc((size_t)count * sizeof **st);
    return *st != NULL ? 0 : wio_fail(WAITIO_ERR_NOMEM, "no memory for %d statuses", count);
}

static void statuses_put(const waitio_status_t *few, waitio_status_t *st)
{
    if (st != few)
        wio_os_free(st);
}

int waitio_mpi_waitall(int count, WAITIO_MPI_Request reqs[], int *statuses)
{
    waitio_status_t few[FEW], *st = NULL;
    int rc;

    if (statuses == NULL)
        return wio_mpi_result("waitio_mpi_waitall", waitio_waitall(count, reqs, NULL));
    rc = statuses_get(count, few, &st);
    if (rc == 0) {
        memset(st, 0, (size_t)count * sizeof *st);
        rc = waitio_waitall(count, reqs, st);
        for (int i = 0; i < count; i++)
            wio_mpi_status_short(&st[i], statuses + (size_t)i * WAITIO_STATUS_SIZE);
        statuses_put(few, st);
    }
    return wio_mpi_result("waitio_mpi_waitall", rc);
}

/* One after the other: the receive is posted first, so two partners never wait for each other. */
static int sendrecv(WAITIO_MPI_Request *rreq, const void *sbuf, int scount,
                    WAITIO_MPI_Datatype stype, const struct envelope *to, waitio_status_t *st)
{
    int rc = send_now(sbuf, scount, stype, to), rc2;

    if (rc != 0)
        waitio_cancel(rreq);
    rc2 = waitio_wait_status(rreq, st);
    return rc != 0 ? rc : rc2;
}

static int exchange(const void *sbuf, int scount, WAITIO_MPI_Datatype stype,
                    const struct envelope *to, void *rbuf, int rcount, WAITIO_MPI_Datatype rtype,
                    const struct envelope *from, waitio_status_t *st)
{
    WAITIO_MPI_Request rreq;
    int rc = irecv(rbuf, rcount, rtype, from, &rreq);

    if (rc == 0)
        rc = sendrecv(&rreq, sbuf, scount, stype, to, st);
    if (from->peer == WAITIO_MPI_PROC_NULL)
        *st = from_nobody();
    return rc;
}

int waitio_mpi_sendrecv(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, int dest, int stag,
                        void *rbuf, int rcount, WAITIO_MPI_Datatype rtype, int source, int rtag,
                        WAITIO_MPI_Comm comm, int *status)
{
    waitio_status_t st = {0};
    int rc = exchange(sbuf, scount, stype, &(struct envelope){dest, stag, comm}, rbuf, rcount,
                      rtype, &(struct envelope){source, rtag, comm}, &st);

    wio_mpi_status_short(&st, status);
    return wio_mpi_result("waitio_mpi_sendrecv", rc);
}

/* ---- MPI's forms ---- */

int WAITIO_MPI_Send(const void *buf, int count, WAITIO_MPI_Datatype type, int dest, int tag,
                    WAITIO_MPI_Comm comm)
{
    return wio_mpi_result("WAITIO_MPI_Send",
                          send_now(buf, count, type, &(struct envelope){dest, tag, comm}));
}

int WAITIO_MPI_Recv(void *buf, int count, WAITIO_MPI_Datatype type, int source, int tag,
                    WAITIO_MPI_Comm comm, WAITIO_MPI_Status *status)
{
    waitio_status_t st = {0};
    int rc = recv_now(buf, count, type, &(struct envelope){source, tag, comm}, &st);

    status_long(&st, status);
    return wio_mpi_result("WAITIO_MPI_Recv", rc);
}

int WAITIO_MPI_Isend(const void *buf, int count, WAITIO_MPI_Datatype type, int dest, int tag,
                     WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req)
{
    return wio_mpi_result("WAITIO_MPI_Isend",
                          isend(buf, count, type, &(struct envelope){dest, tag, comm}, req));
}

int WAITIO_MPI_Irecv(void *buf, int count, WAITIO_MPI_Datatype type, int source, int tag,
                     WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req)
{
    return wio_mpi_result("WAITIO_MPI_Irecv",
                          irecv(buf, count, type, &(struct envelope){source, tag, comm}, req));
}

int WAITIO_MPI_Sendrecv(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, int dest, int stag,
                        void *rbuf, int rcount, WAITIO_MPI_Datatype rtype, int source, int rtag,
                        WAITIO_MPI_Comm comm, WAITIO_MPI_Status *status)
{
    waitio_status_t st = {0};
    int rc = exchange(sbuf, scount, stype, &(struct envelope){dest, stag, comm}, rbuf, rcount,
                      rtype, &(struct envelope){source, rtag, comm}, &st);

    status_long(&st, status);
    return wio_mpi_result("WAITIO_MPI_Sendrecv", rc);
}

int WAITIO_MPI_Send_init(const void *buf, int count, WAITIO_MPI_Datatype type, int dest, int tag,
                         WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req)
{
    struct envelope e = {dest, tag, comm};

    return wio_mpi_result("WAITIO_MPI_Send_init",
                          begin(true, (void *)(uintptr_t)buf, count, type, &e, true, req));
}

int WAITIO_MPI_Recv_init(void *buf, int count, WAITIO_MPI_Datatype type, int source, int tag,
                         WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req)
{
    struct envelope e = {source, tag, comm};

    return wio_mpi_result("WAITIO_MPI_Recv_init", begin(false, buf, count, type, &e, true, req));
}

/* A persistent operation with nobody is a null request: starting it does nothing. */
static bool is_null(const WAITIO_MPI_Request *req)
{
    static const WAITIO_MPI_Request null = WAITIO_REQ_NULL;

    return req != NULL && memcmp(req, &null, sizeof null) == 0;
}

int WAITIO_MPI_Start(WAITIO_MPI_Request *req)
{
    return wio_mpi_result("WAITIO_MPI_Start", is_null(req) ? 0 : waitio_start(req));
}

int WAITIO_MPI_Startall(int count, WAITIO_MPI_Request reqs[])
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < count; i++)
        rc = is_null(&reqs[i]) ? 0 : waitio_start(&reqs[i]);
    return wio_mpi_result("WAITIO_MPI_Startall", rc);
}

int WAITIO_MPI_Wait(WAITIO_MPI_Request *req, WAITIO_MPI_Status *status)
{
    waitio_status_t st = {0};
    int rc = waitio_wait_status(req, &st);

    status_long(&st, status);
    return wio_mpi_result("WAITIO_MPI_Wait", rc);
}

int WAITIO_MPI_Waitall(int count, WAITIO_MPI_Request reqs[], WAITIO_MPI_Status statuses[])
{
    waitio_status_t few[FEW], *st = NULL;
    int rc;

    if (statuses == NULL)
        return wio_mpi_result("WAITIO_MPI_Waitall", waitio_waitall(count, reqs, NULL));
    rc = statuses_get(count, few, &st);
    if (rc == 0) {
        memset(st, 0, (size_t)count * sizeof *st);
        rc = waitio_waitall(count, reqs, st);
        for (int i = 0; i < count; i++)
            status_long(&st[i], &statuses[i]);
        statuses_put(few, st);
    }
    return wio_mpi_result("WAITIO_MPI_Waitall", rc);
}

int WAITIO_MPI_Waitany(int count, WAITIO_MPI_Request reqs[], int *index, WAITIO_MPI_Status *status)
{
    waitio_status_t st = {0};
    int rc = waitio_waitany(count, reqs, index, &st);

    status_long(&st, status);
    return wio_mpi_result("WAITIO_MPI_Waitany", rc);
}

int WAITIO_MPI_Test(WAITIO_MPI_Request *req, int *flag, WAITIO_MPI_Status *status)
{
    waitio_status_t st = {0};
    int rc = waitio_test(req, flag, &st);

    if (rc != 0 || *flag)
        status_long(&st, status);
    return wio_mpi_result("WAITIO_MPI_Test", rc);
}

int WAITIO_MPI_Testall(int count, WAITIO_MPI_Request reqs[], int *flag,
                       WAITIO_MPI_Status statuses[])
{
    waitio_status_t few[FEW], *st = NULL;
    int rc;

    if (statuses == NULL)
        return wio_mpi_result("WAITIO_MPI_Testall", waitio_testall(count, reqs, flag, NULL));
    rc = statuses_get(count, few, &st);
    if (rc == 0) {
        memset(st, 0, (size_t)count * sizeof *st);
        rc = waitio_testall(count, reqs, flag, st);
        for (int i = 0; (rc != 0 || *flag) && i < count; i++)
            status_long(&st[i], &statuses[i]);
        statuses_put(few, st);
    }
    return wio_mpi_result("WAITIO_MPI_Testall", rc);
}

int WAITIO_MPI_Testany(int count, WAITIO_MPI_Request reqs[], int *index, int *flag,
                       WAITIO_MPI_Status *status)
{
    waitio_status_t st = {0};
    int rc = waitio_testany(count, reqs, index, flag, &st);

    if (rc != 0 || *flag)
        status_long(&st, status);
    return wio_mpi_result("WAITIO_MPI_Testany", rc);
}

int WAITIO_MPI_Probe(int source, int tag, WAITIO_MPI_Comm comm, WAITIO_MPI_Status *status)
{
    waitio_status_t st = from_nobody();
    int rc = source == WAITIO_MPI_PROC_NULL ? 0 : waitio_probe(comm, source, tag, &st);

    status_long(&st, status);
    return wio_mpi_result("WAITIO_MPI_Probe", rc);
}

int WAITIO_MPI_Iprobe(int source, int tag, WAITIO_MPI_Comm comm, int *flag,
                      WAITIO_MPI_Status *status)
{
    waitio_status_t st = from_nobody();
    int rc = 0;

    if (source == WAITIO_MPI_PROC_NULL)
        *flag = 1;
    else
        rc = waitio_iprobe(comm, source, tag, flag, &st);
    if (rc == 0 && *flag)
        status_long(&st, status);
    return wio_mpi_result("WAITIO_MPI_Iprobe", rc);
}

int WAITIO_MPI_Cancel(WAITIO_MPI_Request *req)
{
    return wio_mpi_result("WAITIO_MPI_Cancel", waitio_cancel(req));
}

int WAITIO_MPI_Test_cancelled(const WAITIO_MPI_Status *status, int *flag)
{
    *flag = status->waitio_cancelled;
    return 0;
}

int WAITIO_MPI_Request_free(WAITIO_MPI_Request *req)
{
    return wio_mpi_result("WAITIO_MPI_Request_free", is_null(req) ? 0 : waitio_request_free(req));
}

int WAITIO_MPI_Get_count(const WAITIO_MPI_Status *status, WAITIO_MPI_Datatype type, int *count)
{
    const struct wio_mpi_type *row = wio_mpi_type(type);

    if (row == NULL)
        return wio_mpi_result("WAITIO_MPI_Get_count", WAITIO_ERR_ARG);
    *count = status->waitio_bytes % row->size != 0 || status->waitio_bytes / row->size > INT_MAX
                 ? WAITIO_MPI_UNDEFINED
                 : (int)(status->waitio_bytes / row->size);
    return 0;
}
