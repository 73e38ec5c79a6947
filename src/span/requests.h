/* SPDX-License-Identifier: BSD-3-Clause */
/** @file requests.h  Requests of ours behind requests of the vendor's. */
#ifndef SPAN_REQUESTS_H
#define SPAN_REQUESTS_H

#include "span/call.h"

/** The error of a request's operation, through the handler of its communicator. */
int span_request_fail(const struct span_request *q, int code);
/** Start both halves of a send-receive; the arguments are ours but ranks and tags. */
int span_isendrecv(struct span_call *call, const void *sendbuf, WAITIO_MPI_Count sendcount,
                   WAITIO_MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
                   WAITIO_MPI_Count recvcount, WAITIO_MPI_Datatype recvtype, int source,
                   int recvtag, MPI_Request *request);

#endif /* SPAN_REQUESTS_H */
