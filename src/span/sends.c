/* SPDX-License-Identifier: BSD-3-Clause */
/* Send calls that the generator does not make: attached buffers, and send-receives with requests.
 */
#include "os/os.h"
#include "span/requests.h"

/* Our library has buffers of its own. Who detaches one waits until what was sent has left. */
static int wait_for_ours(const char *name)
{
    void *buffer = NULL;
    WAITIO_MPI_Count size = 0;
    int rc = span_is_on ? WAITIO_MPI_Buffer_detach_c(&buffer, &size) : 0;

    return rc == 0 ? MPI_SUCCESS : span_fail(MPI_COMM_WORLD, name, rc);
}

int PMPI_Buffer_detach(void *buffer_addr, int *size)
{
    int rc = wait_for_ours("MPI_Buffer_detach");

    return rc != MPI_SUCCESS ? rc : SPAN_BLOCKING(span_vendor.Buffer_detach(buffer_addr, size));
}
SPAN_NAME(Buffer_detach)

#if MPI_VERSION >= 4
int PMPI_Buffer_detach_c(void *buffer_addr, MPI_Count *size)
{
    int rc = wait_for_ours("MPI_Buffer_detach_c");

    return rc != MPI_SUCCESS ? rc : SPAN_BLOCKING(span_vendor.Buffer_detach_c(buffer_addr, size));
}
SPAN_NAME(Buffer_detach_c)

static int start(struct span_call *call, const void *sendbuf, MPI_Count sendcount,
                 MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf, MPI_Count recvcount,
                 MPI_Datatype recvtype, int source, int recvtag, MPI_Request *request)
{
    WAITIO_MPI_Datatype out = span_type(call, sendtype), in = span_type(call, recvtype);

    return span_isendrecv(call, sendbuf, sendcount, out, dest, sendtag, recvbuf, recvcount, in,
                          source, recvtag, request);
}

int PMPI_Isendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                   void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                   MPI_Comm comm, MPI_Request *request)
{
    struct span_comm *c = span_comm_of(comm);
    if (SPAN_LIKELY(c == NULL))
        return span_vendor.Isendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,
                                     recvcount, recvtype, source, recvtag, comm, request);
    struct span_call call = {.comm = c, .name = "MPI_Isendrecv"};
    return start(&call, sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype,
                 source, recvtag, request);
}
SPAN_NAME(Isendrecv)

int PMPI_Isendrecv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                     int sendtag, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                     int source, int recvtag, MPI_Comm comm, MPI_Request *request)
{
    struct span_comm *c = span_comm_of(comm);
    if (SPAN_LIKELY(c == NULL))
        return span_vendor.Isendrecv_c(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,
                                       recvcount, recvtype, source, recvtag, comm, request);
    struct span_call call = {.comm = c, .name = "MPI_Isendrecv_c"};
    return start(&call, sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype,
                 source, recvtag, request);
}
SPAN_NAME(Isendrecv_c)

/* The message leaves from a copy, which is kept until the request is complete. */
static int replace(struct span_call *call, void *buf, MPI_Count count, MPI_Datatype datatype,
                   int dest, int sendtag, int source, int recvtag, MPI_Request *request)
{
    WAITIO_MPI_Datatype type = span_type(call, datatype);
    WAITIO_MPI_Count bytes = 0, at = 0;
    void *copy = NULL;

    if (call->code == 0)
        call->code = WAITIO_MPI_Pack_size_c(count, type, call->comm->comm, &bytes);
    if (call->code == 0)
        copy = span_scratch(call, (size_t)bytes, 1);
    if (call->code == 0)
        call->code = WAITIO_MPI_Pack_c(buf, count, type, copy, bytes, &at, call->comm->comm);
    return span_isendrecv(call, copy, at, WAITIO_MPI_PACKED, dest, sendtag, buf, count, type,
                          source, recvtag, request);
}

int PMPI_Isendrecv_replace(void *buf, int count, MPI_Datatype datatype, int dest, int sendtag,
                           int source, int recvtag, MPI_Comm comm, MPI_Request *request)
{
    struct span_comm *c = span_comm_of(comm);
    if (SPAN_LIKELY(c == NULL))
        return span_vendor.Isendrecv_replace(buf, count, datatype, dest, sendtag, source, recvtag,
                                             comm, request);
    struct span_call call = {.comm = c, .name = "MPI_Isendrecv_replace"};
    return replace(&call, buf, count, datatype, dest, sendtag, source, recvtag, request);
}
SPAN_NAME(Isendrecv_replace)

int PMPI_Isendrecv_replace_c(void *buf, MPI_Count count, MPI_Datatype datatype, int dest,
                             int sendtag, int source, int recvtag, MPI_Comm comm,
                             MPI_Request *request)
{
    struct span_comm *c = span_comm_of(comm);
    if (SPAN_LIKELY(c == NULL))
        return span_vendor.Isendrecv_replace_c(buf, count, datatype, dest, sendtag, source, recvtag,
                                               comm, request);
    struct span_call call = {.comm = c, .name = "MPI_Isendrecv_replace_c"};
    return replace(&call, buf, count, datatype, dest, sendtag, source, recvtag, request);
}
SPAN_NAME(Isendrecv_replace_c)
#endif
