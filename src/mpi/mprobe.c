/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matched probing. The engine takes a message off its queue whose data is still at its sender;
 * Mrecv says where that goes. A shorter message has come whole, or is on its way: the probe
 * receives it into a buffer of the library, and Mrecv unpacks it. Probe and receive are one step
 * for all threads in matched probes.
 */
#include "api/api.h"
#include "mpi/comm.h"
#include "mpi/mpi.h"
#include "mpi/names.h"
#include "mpi/request.h"
#include "mpi/status.h"
#include "os/os.h"

static struct wio_names names = WIO_NAMES_INIT;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static void forget(struct wio_matched *m)
{
    wio_comm_release(m->comm);
    wio_os_free(m->bytes);
    wio_os_free(m);
}

void wio_matched_forget(void)
{
    struct wio_matched *m;
    uint32_t i = 0;

    while ((m = wio_names_next(&names, &i)) != NULL) {
        wio_names_drop(&names, m->number);
        forget(m);
    }
}

/* Start to receive it into a buffer of the library. */
static int receive_here(WAITIO_MPI_Comm comm, struct wio_matched *m)
{
    m->bytes = wio_os_realloc(NULL, m->size + 1);
    if (m->bytes == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for a message of %zu bytes", m->size);
    return waitio_irecv(comm, m->source, m->bytes, m->size, m->tag, &m->inner);
}

static int take(WAITIO_MPI_Comm comm, const waitio_status_t *st, int *message)
{
    struct wio_matched *m = wio_os_alloc(sizeof *m);
    const struct wio_mpi_type *bytes = wio_mpi_type(WAITIO_MPI_BYTE);
    struct wio_universe *u = wio_api_universe();
    bool claimed = false;
    int rc;

    if (m == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for a message");
    m->inner = waitio_mpi_request_null();
    m->size = st->bytes;
    m->source = st->source;
    m->tag = st->tag;
    rc = wio_comm_formats(comm, bytes, &m->comm);
    if (m->comm != NULL)
        wio_comm_hold(m->comm);
    if (rc == 0)
        rc = wio_names_add(&names, m, "message", &m->number);
    if (rc == 0)
        *message = m->number;
    if (rc != 0) {
        forget(m);
        return rc;
    }
    rc = wio_claim(u, comm, (uint32_t)st->source, st->tag, &claimed, wio_api_handle(&m->inner));
    if (rc == 0 && !claimed)
        rc = receive_here(comm, m);
    if (rc != 0) {
        wio_names_drop(&names, *message);
        forget(m);
    }
    return rc;
}

static int look(WAITIO_MPI_Comm comm, int source, int tag, int *flag, int *message,
                waitio_status_t *st)
{
    int rc;

    pthread_mutex_lock(&one_at_a_time);
    rc = wio_api_probe_wary(comm, source, tag, flag, st);
    if (rc == 0 && *flag)
        rc = take(comm, st, message);
    pthread_mutex_unlock(&one_at_a_time);
    return rc;
}

int WAITIO_MPI_Mprobe(int source, int tag, WAITIO_MPI_Comm comm, WAITIO_MPI_Message *message,
                      WAITIO_MPI_Status *status)
{
    waitio_status_t st = wio_mpi_from_nobody();
    int flag = source == WAITIO_MPI_PROC_NULL, rc = 0;

    *message = WAITIO_MPI_MESSAGE_NO_PROC;
    while (rc == 0 && !flag) { /* another thread may receive the message meanwhile */
        rc = wio_api_probe_wary(comm, source, tag, NULL, &st);
        if (rc == 0)
            rc = look(comm, source, tag, &flag, message, &st);
    }
    wio_mpi_status_one(&st, status);
    return wio_mpi_result("WAITIO_MPI_Mprobe", rc);
}

int WAITIO_MPI_Improbe(int source, int tag, WAITIO_MPI_Comm comm, int *flag,
                       WAITIO_MPI_Message *message, WAITIO_MPI_Status *status)
{
    waitio_status_t st = wio_mpi_from_nobody();
    int rc = 0;

    *message = WAITIO_MPI_MESSAGE_NULL;
    if (source == WAITIO_MPI_PROC_NULL) {
        *flag = 1;
        *message = WAITIO_MPI_MESSAGE_NO_PROC;
    } else {
        rc = look(comm, source, tag, flag, message, &st);
    }
    if (rc == 0 && *flag)
        wio_mpi_status_one(&st, status);
    return wio_mpi_result("WAITIO_MPI_Improbe", rc);
}

/* Make a request of the message. */
static int receive(void *buf, int64_t count, WAITIO_MPI_Datatype type, WAITIO_MPI_Message *message,
                   waitio_req_t *req)
{
    const struct wio_mpi_type *t;
    struct wio_matched *m;
    int rc = wio_type_use(count, type, &t);

    *req = waitio_mpi_request_null();
    if (rc != 0)
        return rc;
    if (*message == WAITIO_MPI_MESSAGE_NO_PROC) {
        waitio_status_t st = wio_mpi_from_nobody();
        *message = WAITIO_MPI_MESSAGE_NULL;
        return wio_request_done(&st, req);
    }
    m = wio_names_find(&names, *message);
    if (m == NULL)
        return wio_fail(WAITIO_ERR_ARG, "%d is not a message, or was received already", *message);
    if (m->comm != NULL)
        rc = wio_comm_takes(m->comm, t);
    if (rc == 0)
        rc = wio_request_matched(m, buf, t, (size_t)count * t->size, req);
    if (rc == 0) {
        wio_names_drop(&names, *message);
        wio_os_free(m);
        *message = WAITIO_MPI_MESSAGE_NULL;
    }
    return rc;
}

int WAITIO_MPI_Imrecv(void *buf, int count, WAITIO_MPI_Datatype type, WAITIO_MPI_Message *message,
                      WAITIO_MPI_Request *req)
{
    return wio_mpi_result("WAITIO_MPI_Imrecv", receive(buf, count, type, message, req));
}

int WAITIO_MPI_Imrecv_c(void *buf, WAITIO_MPI_Count count, WAITIO_MPI_Datatype type,
                        WAITIO_MPI_Message *message, WAITIO_MPI_Request *req)
{
    return wio_mpi_result("WAITIO_MPI_Imrecv_c", receive(buf, count, type, message, req));
}

static int receive_now(void *buf, int64_t count, WAITIO_MPI_Datatype type,
                       WAITIO_MPI_Message *message, WAITIO_MPI_Status *status)
{
    waitio_status_t st = wio_mpi_from_nobody();
    waitio_req_t req;
    int rc = receive(buf, count, type, message, &req);

    if (rc == 0)
        rc = wio_request_wait(&req, &st);
    wio_mpi_status_one(&st, status);
    return rc;
}

int WAITIO_MPI_Mrecv(void *buf, int count, WAITIO_MPI_Datatype type, WAITIO_MPI_Message *message,
                     WAITIO_MPI_Status *status)
{
    return wio_mpi_result("WAITIO_MPI_Mrecv", receive_now(buf, count, type, message, status));
}

int WAITIO_MPI_Mrecv_c(void *buf, WAITIO_MPI_Count count, WAITIO_MPI_Datatype type,
                       WAITIO_MPI_Message *message, WAITIO_MPI_Status *status)
{
    return wio_mpi_result("WAITIO_MPI_Mrecv_c", receive_now(buf, count, type, message, status));
}
