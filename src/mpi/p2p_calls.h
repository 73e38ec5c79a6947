/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file p2p_calls.h
 * MPI's calls that send and receive, once for each width of counts: p2p.c includes this twice, with
 * COUNT (the type of counts), CALL(NAME) and TEXT(NAME) (the call's name).
 */
int CALL(Send)(const void *buf, COUNT count, WAITIO_MPI_Datatype type, int dest, int tag,
               WAITIO_MPI_Comm comm)
{
    return send_now(TEXT(Send), outgoing(buf, count, type, dest, tag, comm));
}

int CALL(Ssend)(const void *buf, COUNT count, WAITIO_MPI_Datatype type, int dest, int tag,
                WAITIO_MPI_Comm comm)
{
    return send_now(TEXT(Ssend), synchronous(outgoing(buf, count, type, dest, tag, comm)));
}

int CALL(Issend)(const void *buf, COUNT count, WAITIO_MPI_Datatype type, int dest, int tag,
                 WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req)
{
    return start(TEXT(Issend), synchronous(outgoing(buf, count, type, dest, tag, comm)), req);
}

int CALL(Ssend_init)(const void *buf, COUNT count, WAITIO_MPI_Datatype type, int dest, int tag,
                     WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req)
{
    return prepare(TEXT(Ssend_init), synchronous(outgoing(buf, count, type, dest, tag, comm)), req);
}

int CALL(Bsend)(const void *buf, COUNT count, WAITIO_MPI_Datatype type, int dest, int tag,
                WAITIO_MPI_Comm comm)
{
    return send_now(TEXT(Bsend), copied(outgoing(buf, count, type, dest, tag, comm)));
}

int CALL(Ibsend)(const void *buf, COUNT count, WAITIO_MPI_Datatype type, int dest, int tag,
                 WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req)
{
    return start(TEXT(Ibsend), copied(outgoing(buf, count, type, dest, tag, comm)), req);
}

int CALL(Bsend_init)(const void *buf, COUNT count, WAITIO_MPI_Datatype type, int dest, int tag,
                     WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req)
{
    return prepare(TEXT(Bsend_init), copied(outgoing(buf, count, type, dest, tag, comm)), req);
}

int CALL(Rsend)(const void *buf, COUNT count, WAITIO_MPI_Datatype type, int dest, int tag,
                WAITIO_MPI_Comm comm)
{
    return send_now(TEXT(Rsend), outgoing(buf, count, type, dest, tag, comm));
}

int CALL(Recv)(void *buf, COUNT count, WAITIO_MPI_Datatype type, int source, int tag,
               WAITIO_MPI_Comm comm, WAITIO_MPI_Status *status)
{
    waitio_status_t st = {0};
    struct wio_message m = incoming(buf, count, type, source, tag, comm);
    int rc = now(&m, &st);

    wio_mpi_status_one(&st, status);
    return wio_mpi_result(TEXT(Recv), rc);
}

int CALL(Isend)(const void *buf, COUNT count, WAITIO_MPI_Datatype type, int dest, int tag,
                WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req)
{
    return start(TEXT(Isend), outgoing(buf, count, type, dest, tag, comm), req);
}

int CALL(Irsend)(const void *buf, COUNT count, WAITIO_MPI_Datatype type, int dest, int tag,
                 WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req)
{
    return start(TEXT(Irsend), outgoing(buf, count, type, dest, tag, comm), req);
}

int CALL(Irecv)(void *buf, COUNT count, WAITIO_MPI_Datatype type, int source, int tag,
                WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req)
{
    return start(TEXT(Irecv), incoming(buf, count, type, source, tag, comm), req);
}

int CALL(Sendrecv)(const void *sbuf, COUNT scount, WAITIO_MPI_Datatype stype, int dest, int stag,
                   void *rbuf, COUNT rcount, WAITIO_MPI_Datatype rtype, int source, int rtag,
                   WAITIO_MPI_Comm comm, WAITIO_MPI_Status *status)
{
    waitio_status_t st = {0};
    int rc = exchange(outgoing(sbuf, scount, stype, dest, stag, comm),
                      incoming(rbuf, rcount, rtype, source, rtag, comm), &st);

    wio_mpi_status_one(&st, status);
    return wio_mpi_result(TEXT(Sendrecv), rc);
}

int CALL(Sendrecv_replace)(void *buf, COUNT count, WAITIO_MPI_Datatype type, int dest, int stag,
                           int source, int rtag, WAITIO_MPI_Comm comm, WAITIO_MPI_Status *status)
{
    waitio_status_t st = {0};
    int rc = exchange_here(buf, count, type, dest, stag, source, rtag, comm, &st);

    wio_mpi_status_one(&st, status);
    return wio_mpi_result(TEXT(Sendrecv_replace), rc);
}

int CALL(Isendrecv)(const void *sbuf, COUNT scount, WAITIO_MPI_Datatype stype, int dest, int stag,
                    void *rbuf, COUNT rcount, WAITIO_MPI_Datatype rtype, int source, int rtag,
                    WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req)
{
    return wio_mpi_result(TEXT(Isendrecv),
                          start_both(outgoing(sbuf, scount, stype, dest, stag, comm),
                                     incoming(rbuf, rcount, rtype, source, rtag, comm), req));
}

int CALL(Isendrecv_replace)(void *buf, COUNT count, WAITIO_MPI_Datatype type, int dest, int stag,
                            int source, int rtag, WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req)
{
    return wio_mpi_result(TEXT(Isendrecv_replace),
                          start_both(outgoing(buf, count, type, dest, stag, comm),
                                     incoming(buf, count, type, source, rtag, comm), req));
}

int CALL(Send_init)(const void *buf, COUNT count, WAITIO_MPI_Datatype type, int dest, int tag,
                    WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req)
{
    return prepare(TEXT(Send_init), outgoing(buf, count, type, dest, tag, comm), req);
}

int CALL(Rsend_init)(const void *buf, COUNT count, WAITIO_MPI_Datatype type, int dest, int tag,
                     WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req)
{
    return prepare(TEXT(Rsend_init), outgoing(buf, count, type, dest, tag, comm), req);
}

int CALL(Recv_init)(void *buf, COUNT count, WAITIO_MPI_Datatype type, int source, int tag,
                    WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req)
{
    return prepare(TEXT(Recv_init), incoming(buf, count, type, source, tag, comm), req);
}
