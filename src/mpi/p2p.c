/* SPDX-License-Identifier: BSD-3-Clause */
/* Sending and receiving, in the published short forms and in MPI's. */
#include <limits.h>
#include <pthread.h>

#include "api/api.h"
#include "mpi/request.h"
#include "mpi/status.h"
#include "os/os.h"

/* ---- what both forms do ---- */

static struct wio_message outgoing(const void *buf, int64_t count, WAITIO_MPI_Datatype type,
                                   int dest, int tag, WAITIO_MPI_Comm comm)
{
    return (struct wio_message){.buf = (void *)(uintptr_t)buf,
                                .count = count,
                                .type = type,
                                .peer = dest,
                                .tag = tag,
                                .comm = comm,
                                .sending = true};
}

static struct wio_message incoming(void *buf, int64_t count, WAITIO_MPI_Datatype type, int source,
                                   int tag, WAITIO_MPI_Comm comm)
{
    return (struct wio_message){
        .buf = buf, .count = count, .type = type, .peer = source, .tag = tag, .comm = comm};
}

static int start(const char *call, struct wio_message m, WAITIO_MPI_Request *req)
{
    return wio_mpi_result(call, wio_message_start(&m, req));
}

static int prepare(const char *call, struct wio_message m, WAITIO_MPI_Request *req)
{
    m.persistent = true;
    return wio_mpi_result(call, wio_message_start(&m, req));
}

/* Start and wait. */
static int now(const struct wio_message *m, waitio_status_t *st)
{
    WAITIO_MPI_Request req;
    bool did;
    int rc = wio_message_now(m, 1, st, &did);

    if (WIO_LIKELY(did))
        return rc;
    rc = wio_message_start(m, &req);
    return rc != 0 ? rc : wio_request_wait(&req, st);
}

static int send_now(const char *call, struct wio_message m)
{
    waitio_status_t st;

    return wio_mpi_result(call, now(&m, &st));
}

/* Both are started before the wait, so two partners never wait for each other. */
static int exchange(struct wio_message out, struct wio_message in, waitio_status_t *st)
{
    struct wio_message both[] = {out, in};
    WAITIO_MPI_Request rreq;
    waitio_status_t ignored;
    bool did;
    int rc = wio_message_now(both, 2, st, &did), rc2;

    if (WIO_LIKELY(did))
        return rc;
    rc = wio_message_start(&in, &rreq);
    if (rc != 0)
        return rc;
    rc = now(&out, &ignored);
    if (rc != 0)
        (void)wio_request_cancel(&rreq);
    rc2 = wio_request_wait(&rreq, st);
    return rc != 0 ? rc : rc2;
}

/* ---- published short forms ---- */

int waitio_mpi_isend(const void *buf, int count, WAITIO_MPI_Datatype type, int dest, int tag,
                     WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req)
{
    return start("waitio_mpi_isend", outgoing(buf, count, type, dest, tag, comm), req);
}

int waitio_mpi_irecv(void *buf, int count, WAITIO_MPI_Datatype type, int source, int tag,
                     WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req)
{
    return start("waitio_mpi_irecv", incoming(buf, count, type, source, tag, comm), req);
}

int waitio_mpi_send(const void *buf, int count, WAITIO_MPI_Datatype type, int dest, int tag,
                    WAITIO_MPI_Comm comm)
{
    return send_now("waitio_mpi_send", outgoing(buf, count, type, dest, tag, comm));
}

static int recv_short(const char *call, struct wio_message m, int *status)
{
    waitio_status_t st = {0};
    int rc = now(&m, &st);

    wio_mpi_status_short(&st, status);
    return wio_mpi_result(call, rc);
}

int waitio_mpi_recv(void *buf, int count, WAITIO_MPI_Datatype type, int source, int tag,
                    WAITIO_MPI_Comm comm)
{
    return recv_short("waitio_mpi_recv", incoming(buf, count, type, source, tag, comm), NULL);
}

int waitio_mpi_recv_status(void *buf, int count, WAITIO_MPI_Datatype type, int source, int tag,
                           WAITIO_MPI_Comm comm, int *status)
{
    return recv_short("waitio_mpi_recv_status", incoming(buf, count, type, source, tag, comm),
                      status);
}

int waitio_mpi_sendrecv(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, int dest, int stag,
                        void *rbuf, int rcount, WAITIO_MPI_Datatype rtype, int source, int rtag,
                        WAITIO_MPI_Comm comm, int *status)
{
    waitio_status_t st = {0};
    int rc = exchange(outgoing(sbuf, scount, stype, dest, stag, comm),
                      incoming(rbuf, rcount, rtype, source, rtag, comm), &st);

    wio_mpi_status_short(&st, status);
    return wio_mpi_result("waitio_mpi_sendrecv", rc);
}

/* ---- MPI's forms ---- */

/* The same; complete when a receive has matched the message. */
static struct wio_message synchronous(struct wio_message m)
{
    m.sync = true;
    return m;
}

/* The same, complete at once. */
static struct wio_message copied(struct wio_message m)
{
    m.copied = true;
    return m;
}

/* The program's buffer is not used: the library keeps copies of its own. */
static struct {
    pthread_mutex_t lock;
    void *at;
    int64_t size;
} attached = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int attach(void *buffer, int64_t size)
{
    int rc = 0;

    pthread_mutex_lock(&attached.lock);
    if (attached.at != NULL)
        rc = wio_fail(WAITIO_MPI_ERR_BUFFER,
                      "a buffer of %lld bytes is attached already: detach it first",
                      (long long)attached.size);
    else
        attached.at = buffer;
    if (rc == 0)
        attached.size = size;
    pthread_mutex_unlock(&attached.lock);
    return rc;
}

int WAITIO_MPI_Buffer_attach(void *buffer, int size)
{
    return wio_mpi_result("WAITIO_MPI_Buffer_attach", attach(buffer, size));
}

int WAITIO_MPI_Buffer_attach_c(void *buffer, WAITIO_MPI_Count size)
{
    return wio_mpi_result("WAITIO_MPI_Buffer_attach_c", attach(buffer, size));
}

/* @param size NULL: the program gave no place for it */
static int detach(void *buffer_address, WAITIO_MPI_Count *size)
{
    int rc = wio_mpi_need_both("buffer", buffer_address, "size", size);

    if (rc != 0)
        return rc;
    pthread_mutex_lock(&attached.lock);
    memcpy(buffer_address, &attached.at, sizeof attached.at);
    *size = attached.size;
    attached.at = NULL;
    attached.size = 0;
    pthread_mutex_unlock(&attached.lock);
    return wio_buffered_wait();
}

int WAITIO_MPI_Buffer_detach(void *buffer_address, int *size)
{
    WAITIO_MPI_Count bytes = 0;
    int rc = detach(buffer_address, size == NULL ? NULL : &bytes);

    if (size != NULL) /* one that was attached as a larger one has no size here */
        *size = bytes > INT_MAX ? WAITIO_MPI_UNDEFINED : (int)bytes;
    return wio_mpi_result("WAITIO_MPI_Buffer_detach", rc);
}

int WAITIO_MPI_Buffer_detach_c(void *buffer_address, WAITIO_MPI_Count *size)
{
    return wio_mpi_result("WAITIO_MPI_Buffer_detach_c", detach(buffer_address, size));
}

/* The data to send is copied first, because the receive writes to the same buffer. */
static int exchange_here(void *buf, int64_t count, WAITIO_MPI_Datatype type, int dest, int stag,
                         int source, int rtag, WAITIO_MPI_Comm comm, waitio_status_t *st)
{
    const struct wio_mpi_type *t = NULL;
    struct wio_comm *unlike = NULL;
    int rc = wio_type_use(count, type, &t);
    size_t bytes = rc == 0 ? (size_t)count * t->size : 0;
    void *copy;

    if (rc == 0 && dest != WAITIO_MPI_PROC_NULL)
        rc = wio_comm_formats(comm, t, &unlike);
    if (rc != 0)
        return rc;
    if (bytes > 0 && (buf == WAITIO_MPI_IN_PLACE || (buf == NULL && !wio_type_absolute(t))))
        return wio_fail(WAITIO_ERR_ARG, "buf is %s but %zu bytes are asked for",
                        buf == NULL ? "NULL" : "WAITIO_MPI_IN_PLACE", bytes);
    copy = wio_os_realloc(NULL, bytes + 1);
    if (copy == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for a copy of %zu bytes", bytes);
    wio_type_pack(t, buf, 0, bytes, copy);
    if (unlike != NULL && wio_comm_swaps(unlike, dest)) /* bytes are not turned on their way */
        wio_type_swap(t, bytes, copy);
    rc = exchange(outgoing(copy, (int64_t)bytes, WAITIO_MPI_BYTE, dest, stag, comm),
                  incoming(buf, count, type, source, rtag, comm), st);
    wio_os_free(copy);
    return rc;
}

/* What is sent is copied first: the request is that of the receive, and it may write to the same
 * buffer. */
static int start_both(struct wio_message out, struct wio_message in, WAITIO_MPI_Request *req)
{
    WAITIO_MPI_Request sent;
    int rc = wio_mpi_need("request", req);

    if (rc != 0)
        return rc;
    out = copied(out);
    rc = wio_message_start(&out, &sent);
    if (rc == 0)
        rc = wio_request_wait(&sent, NULL); /* complete at once */
    return rc != 0 ? rc : wio_message_start(&in, req);
}

#define COUNT int
#define CALL(NAME) WAITIO_MPI_##NAME
#define TEXT(NAME) "WAITIO_MPI_" #NAME
#include "mpi/p2p_calls.h"
#undef COUNT
#undef CALL
#undef TEXT
#define COUNT WAITIO_MPI_Count
#define CALL(NAME) WAITIO_MPI_##NAME##_c
#define TEXT(NAME) "WAITIO_MPI_" #NAME "_c"
#include "mpi/p2p_calls.h"

int WAITIO_MPI_Probe(int source, int tag, WAITIO_MPI_Comm comm, WAITIO_MPI_Status *status)
{
    waitio_status_t st = wio_mpi_from_nobody();
    int rc = source == WAITIO_MPI_PROC_NULL ? 0 : wio_api_probe_wary(comm, source, tag, NULL, &st);

    wio_mpi_status_one(&st, status);
    return wio_mpi_result("WAITIO_MPI_Probe", rc);
}

int WAITIO_MPI_Iprobe(int source, int tag, WAITIO_MPI_Comm comm, int *flag,
                      WAITIO_MPI_Status *status)
{
    waitio_status_t st = wio_mpi_from_nobody();
    int rc = 0;

    if (source == WAITIO_MPI_PROC_NULL)
        *flag = 1;
    else
        rc = wio_api_probe_wary(comm, source, tag, flag, &st);
    if (rc == 0 && *flag)
        wio_mpi_status_one(&st, status);
    return wio_mpi_result("WAITIO_MPI_Iprobe", rc);
}
