/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matched probes. A message of ours is represented by an empty message of the vendor's that this
 * process has sent to itself: a handle as real as any, in Fortran, too.
 */
#include "os/os.h"
#include "span/requests.h"

struct span_table span_messages = SPAN_TABLE_INIT;

struct message {
    WAITIO_MPI_Message ours;
    MPI_Request sent; /* the message to itself: complete when it is received */
    struct span_comm *comm;
};

static MPI_Comm self = MPI_COMM_NULL;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int send_to_self(MPI_Message *out, MPI_Request *request)
{
    int rc = MPI_SUCCESS;

    pthread_mutex_lock(&mutex);
    if (self == MPI_COMM_NULL)
        rc = span_vendor.Comm_dup(MPI_COMM_SELF, &self);
    if (rc == MPI_SUCCESS)
        rc = span_vendor.Isend(NULL, 0, MPI_BYTE, 0, 0, self, request);
    if (rc == MPI_SUCCESS)
        rc = span_vendor.Mprobe(0, 0, self, out, MPI_STATUS_IGNORE);
    pthread_mutex_unlock(&mutex);
    return rc == MPI_SUCCESS ? 0 : WAITIO_ERR_SYSTEM;
}

void span_messages_end(void)
{
    if (self != MPI_COMM_NULL)
        (void)span_vendor.Comm_free(&self);
    span_table_clear(&span_messages);
}

/* The program gets a handle for what a probe has found. */
static void give(struct span_call *call, WAITIO_MPI_Message ours, MPI_Message *message)
{
    struct message *m;

    *message = MPI_MESSAGE_NO_PROC;
    if (ours == WAITIO_MPI_MESSAGE_NO_PROC)
        return;
    m = wio_os_alloc(sizeof *m);
    call->code = m == NULL ? WAITIO_ERR_NOMEM : send_to_self(message, &m->sent);
    if (call->code == 0) {
        m->ours = ours;
        m->comm = call->comm;
        atomic_fetch_add(&call->comm->refs, 1);
        if (span_table_put(&span_messages, SPAN_KEY(*message), m) != 0)
            call->code = WAITIO_ERR_NOMEM;
    }
    if (call->code != 0) {
        call->why = "no handle for the message";
        wio_os_free(m);
    }
}

/* The handle is used up. */
static void consume(MPI_Message *message, struct message *m)
{
    span_table_drop(&span_messages, SPAN_KEY(*message), m);
    (void)span_vendor.Mrecv(NULL, 0, MPI_BYTE, message, MPI_STATUS_IGNORE);
    (void)span_vendor.Wait(&m->sent, MPI_STATUS_IGNORE);
    span_comm_release(m->comm);
    wio_os_free(m);
}

int PMPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    struct span_comm *c = span_comm_of(comm);
    if (SPAN_LIKELY(c == NULL))
        return SPAN_BLOCKING(span_vendor.Mprobe(source, tag, comm, message, status));
    struct span_call call = {.comm = c, .name = "MPI_Mprobe"};
    WAITIO_MPI_Message ours = WAITIO_MPI_MESSAGE_NULL;
    WAITIO_MPI_Status st = {0};
    call.code = WAITIO_MPI_Mprobe(span_rank(source), span_tag(tag), c->comm, &ours, &st);
    if (call.code == 0)
        give(&call, ours, message);
    span_give_status(&call, true, &st, status);
    return span_end(&call);
}
SPAN_NAME(Mprobe)

int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    struct span_comm *c = span_comm_of(comm);
    if (SPAN_LIKELY(c == NULL)) {
        int rc = span_vendor.Iprobe(source, tag, comm, flag, status);
        SPAN_TESTED(rc != MPI_SUCCESS || *flag);
        return rc;
    }
    struct span_call call = {.comm = c, .name = "MPI_Iprobe"};
    WAITIO_MPI_Status st = {0};
    call.code = WAITIO_MPI_Iprobe(span_rank(source), span_tag(tag), c->comm, flag, &st);
    if (call.code == 0 && !*flag)
        span_vendor_goes_on();
    span_give_status(&call, *flag, &st, status);
    return span_end(&call);
}
SPAN_NAME(Iprobe)

int PMPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                 MPI_Status *status)
{
    struct span_comm *c = span_comm_of(comm);
    if (SPAN_LIKELY(c == NULL)) {
        int rc = span_vendor.Improbe(source, tag, comm, flag, message, status);
        SPAN_TESTED(rc != MPI_SUCCESS || *flag);
        return rc;
    }
    struct span_call call = {.comm = c, .name = "MPI_Improbe"};
    WAITIO_MPI_Message ours = WAITIO_MPI_MESSAGE_NULL;
    WAITIO_MPI_Status st = {0};
    call.code = WAITIO_MPI_Improbe(span_rank(source), span_tag(tag), c->comm, flag, &ours, &st);
    if (call.code == 0 && *flag)
        give(&call, ours, message);
    else if (call.code == 0)
        span_vendor_goes_on();
    span_give_status(&call, *flag, &st, status);
    return span_end(&call);
}
SPAN_NAME(Improbe)

static int receive(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message,
                   struct message *m, struct span_call *call, MPI_Status *status)
{
    WAITIO_MPI_Datatype type = span_type(call, datatype);
    WAITIO_MPI_Status st = {0};

    if (call->code == 0)
        call->code = WAITIO_MPI_Mrecv_c(buf, count, type, &m->ours, &st);
    span_give_status(call, true, &st, status);
    struct span_comm *c = call->comm;
    atomic_fetch_add(&c->refs, 1); /* until its error handler was called */
    consume(message, m);
    int rc = span_end(call);
    span_comm_release(c);
    return rc;
}

int PMPI_Mrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message,
               MPI_Status *status)
{
    struct message *m = span_table_find(&span_messages, SPAN_KEY(*message));
    if (SPAN_LIKELY(m == NULL))
        return SPAN_BLOCKING(span_vendor.Mrecv(buf, count, datatype, message, status));
    struct span_call call = {.comm = m->comm, .name = "MPI_Mrecv"};
    return receive(buf, count, datatype, message, m, &call, status);
}
SPAN_NAME(Mrecv)

static int start(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message,
                 struct message *m, struct span_call *call, MPI_Request *request)
{
    WAITIO_MPI_Datatype type = span_type(call, datatype);

    span_start(call, false);
    if (call->code == 0)
        call->code = WAITIO_MPI_Imrecv_c(buf, count, type, &m->ours, &call->request->ours);
    if (call->code == 0)
        consume(message, m);
    return span_started(call, request);
}

int PMPI_Imrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message,
                MPI_Request *request)
{
    struct message *m = span_table_find(&span_messages, SPAN_KEY(*message));
    if (SPAN_LIKELY(m == NULL))
        return span_vendor.Imrecv(buf, count, datatype, message, request);
    struct span_call call = {.comm = m->comm, .name = "MPI_Imrecv"};
    return start(buf, count, datatype, message, m, &call, request);
}
SPAN_NAME(Imrecv)

#if MPI_VERSION >= 4
int PMPI_Mrecv_c(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message,
                 MPI_Status *status)
{
    struct message *m = span_table_find(&span_messages, SPAN_KEY(*message));
    if (SPAN_LIKELY(m == NULL))
        return SPAN_BLOCKING(span_vendor.Mrecv_c(buf, count, datatype, message, status));
    struct span_call call = {.comm = m->comm, .name = "MPI_Mrecv_c"};
    return receive(buf, count, datatype, message, m, &call, status);
}
SPAN_NAME(Mrecv_c)

int PMPI_Imrecv_c(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message,
                  MPI_Request *request)
{
    struct message *m = span_table_find(&span_messages, SPAN_KEY(*message));
    if (SPAN_LIKELY(m == NULL))
        return span_vendor.Imrecv_c(buf, count, datatype, message, request);
    struct span_call call = {.comm = m->comm, .name = "MPI_Imrecv_c"};
    return start(buf, count, datatype, message, m, &call, request);
}
SPAN_NAME(Imrecv_c)
#endif
