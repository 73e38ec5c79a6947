/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file waitio_mpi.h
 * WaitIO conversion library: an MPI program crosses the border between parallel blocks by putting
 * WAITIO_ in front of its calls.
 *
 * Two families of names. Lower case (waitio_mpi_send ...): the published short forms, some with
 * fewer arguments than MPI. Upper case (WAITIO_MPI_Send ...): MPI's own argument lists.
 *
 * Every function returns 0 or a negative WAITIO_ERR_* code. As in MPI an error ends the program
 * with a message unless WAITIO_ERRORS=return is set. Counts are in elements; a message has
 * count * (size of the type) bytes, computed in size_t. Calls may be made from any thread; the
 * collectives of one communicator are called by one thread at a time, in the same order by all of
 * its members, as MPI requires. Collectives never match point-to-point messages of the same group.
 *
 * A communicator is a group of waitio.h and the reverse; WAITIO_MPI_Request is waitio_req_t.
 */
#ifndef WAITIO_MPI_H
#define WAITIO_MPI_H

#include "waitio.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

typedef waitio_group_t WAITIO_MPI_Comm;
typedef int WAITIO_MPI_Datatype;
typedef int WAITIO_MPI_Op;
typedef waitio_req_t WAITIO_MPI_Request;

/** Fields as in MPI. The lower-case calls use the short form int[WAITIO_STATUS_SIZE] instead:
 *  source, tag, error, bytes (INT_MAX for 2 GiB and more). */
typedef struct WAITIO_MPI_Status {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int waitio_cancelled; /**< read by WAITIO_MPI_Test_cancelled() */
    size_t waitio_bytes;  /**< read by WAITIO_MPI_Get_count() */
} WAITIO_MPI_Status;
/* status.WAITIO_MPI_SOURCE, as mechanical renaming writes it, means status.MPI_SOURCE. */
#define WAITIO_MPI_SOURCE MPI_SOURCE
#define WAITIO_MPI_TAG MPI_TAG
#define WAITIO_MPI_ERROR MPI_ERROR

/** Integers of a short status and of a request, in C and Fortran. */
#define WAITIO_STATUS_SIZE 4
#define WAITIO_REQUEST_SIZE 22

/* ---- constants: numbers are shared with Fortran and never change --------------------------- */

/** Mark carried by every type and operator number. */
#define WAITIO_MPI_DEFTAG 0x00080000 /* 524288 */

#define WAITIO_MPI_INT 524289
#define WAITIO_MPI_INTEGER 524289
#define WAITIO_MPI_LONG 524290
#define WAITIO_MPI_CHAR 524291
#define WAITIO_MPI_FLOAT 524292
#define WAITIO_MPI_DOUBLE 524293
#define WAITIO_MPI_DOUBLE_PRECISION 524293
#define WAITIO_MPI_BYTE 524294
#define WAITIO_MPI_SIGNED_CHAR 524295
#define WAITIO_MPI_UNSIGNED_CHAR 524296
#define WAITIO_MPI_SHORT 524297
#define WAITIO_MPI_UNSIGNED_SHORT 524298
#define WAITIO_MPI_UNSIGNED 524299
#define WAITIO_MPI_UNSIGNED_LONG 524300
#define WAITIO_MPI_LONG_LONG 524301
#define WAITIO_MPI_LONG_LONG_INT 524301
#define WAITIO_MPI_UNSIGNED_LONG_LONG 524302
#define WAITIO_MPI_INT8_T 524303
#define WAITIO_MPI_UINT8_T 524304
#define WAITIO_MPI_INT16_T 524305
#define WAITIO_MPI_UINT16_T 524306
#define WAITIO_MPI_INT32_T 524307
#define WAITIO_MPI_UINT32_T 524308
#define WAITIO_MPI_INT64_T 524309
#define WAITIO_MPI_UINT64_T 524310
#define WAITIO_MPI_C_BOOL 524311
#define WAITIO_MPI_C_FLOAT_COMPLEX 524312
#define WAITIO_MPI_C_COMPLEX 524312
#define WAITIO_MPI_C_DOUBLE_COMPLEX 524313
#define WAITIO_MPI_REAL 524314
#define WAITIO_MPI_LOGICAL 524315
#define WAITIO_MPI_CHARACTER 524316
#define WAITIO_MPI_COMPLEX 524317
#define WAITIO_MPI_DOUBLE_COMPLEX 524318
#define WAITIO_MPI_INTEGER1 524319
#define WAITIO_MPI_INTEGER2 524320
#define WAITIO_MPI_INTEGER4 524321
#define WAITIO_MPI_INTEGER8 524322
#define WAITIO_MPI_REAL4 524323
#define WAITIO_MPI_REAL8 524324
#define WAITIO_MPI_DATATYPE_NULL 0

#define WAITIO_MPI_SUM 524289
#define WAITIO_MPI_MAX 524290
#define WAITIO_MPI_MIN 524291
#define WAITIO_MPI_PROD 524292
#define WAITIO_MPI_LAND 524293
#define WAITIO_MPI_BAND 524294
#define WAITIO_MPI_LOR 524295
#define WAITIO_MPI_BOR 524296
#define WAITIO_MPI_LXOR 524297
#define WAITIO_MPI_BXOR 524298
#define WAITIO_MPI_OP_NULL 0

#define WAITIO_MPI_SUCCESS 0
#define WAITIO_MPI_ANY_SOURCE WAITIO_ANY_SOURCE
#define WAITIO_MPI_ANY_TAG WAITIO_ANY_TAG
#define WAITIO_MPI_UNDEFINED WAITIO_UNDEFINED
/** Partner of an operation that does nothing. */
#define WAITIO_MPI_PROC_NULL (-1004)
#define WAITIO_MPI_IN_PLACE ((void *)(intptr_t)-1)
#define WAITIO_MPI_STATUS_IGNORE ((WAITIO_MPI_Status *)0)
#define WAITIO_MPI_STATUSES_IGNORE ((WAITIO_MPI_Status *)0)
#define WAITIO_MPI_COMM_NULL ((WAITIO_MPI_Comm)0)
/** All processes of all blocks; joins the universe on first use. */
#define WAITIO_MPI_COMM_WORLD (waitio_mpi_comm_world())
/** For assignment; to compare, use WAITIO_MPI_Test or keep a flag (requests are structures). */
#define WAITIO_MPI_REQUEST_NULL (waitio_mpi_request_null())
#define WAITIO_MPI_MAX_PROCESSOR_NAME 256
#define WAITIO_MPI_MAX_ERROR_STRING 1024

/* ---- communicators ------------------------------------------------------------------------- */

/** All processes in universe rank order. Implies waitio_init(). @param[out] comm owned by the
 * caller */
int waitio_create_universe(WAITIO_MPI_Comm *comm);
/** All processes of PB @p pbid, in rank order. Others get a communicator in which their rank is -1.
 */
int waitio_create_pbgroup(WAITIO_MPI_Comm *comm, int pbid);
/** The rank-0 processes of all PBs, by PB id. Other processes get a communicator, their rank is -1.
 */
int waitio_create_universe_pbhead(WAITIO_MPI_Comm *comm);
/** The universe as a communicator owned by the library; NULL when joining failed. */
WAITIO_MPI_Comm waitio_mpi_comm_world(void);
/** A null request. */
WAITIO_MPI_Request waitio_mpi_request_null(void);
int waitio_mpi_comm_rank(WAITIO_MPI_Comm comm, int *rank);
int waitio_mpi_comm_size(WAITIO_MPI_Comm comm, int *size);
/** Bytes of one element of @p type. */
int waitio_mpi_type_size(WAITIO_MPI_Datatype type, int *size);

/* ---- lower-case point-to-point -------------------------------------------------------------- */

int waitio_mpi_isend(const void *buf, int count, WAITIO_MPI_Datatype type, int dest, int tag,
                     WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int waitio_mpi_irecv(void *buf, int count, WAITIO_MPI_Datatype type, int source, int tag,
                     WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int waitio_mpi_send(const void *buf, int count, WAITIO_MPI_Datatype type, int dest, int tag,
                    WAITIO_MPI_Comm comm);
/** Six arguments, no status; waitio_mpi_recv_status() is the form that has one. */
int waitio_mpi_recv(void *buf, int count, WAITIO_MPI_Datatype type, int source, int tag,
                    WAITIO_MPI_Comm comm);
/** @param[out] status NULL or WAITIO_STATUS_SIZE integers. */
int waitio_mpi_recv_status(void *buf, int count, WAITIO_MPI_Datatype type, int source, int tag,
                           WAITIO_MPI_Comm comm, int *status);
/** @param[out] status NULL or WAITIO_STATUS_SIZE integers. */
int waitio_mpi_wait(WAITIO_MPI_Request *req, int *status);
/** @param[out] statuses NULL or @p count times WAITIO_STATUS_SIZE integers. */
int waitio_mpi_waitall(int count, WAITIO_MPI_Request reqs[], int *statuses);
/** @param[out] status NULL or WAITIO_STATUS_SIZE integers. */
int waitio_mpi_sendrecv(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, int dest, int stag,
                        void *rbuf, int rcount, WAITIO_MPI_Datatype rtype, int source, int rtag,
                        WAITIO_MPI_Comm comm, int *status);

/* ---- lower-case collectives ----------------------------------------------------------------- */

int waitio_mpi_barrier(WAITIO_MPI_Comm comm);
int waitio_mpi_bcast(void *buf, int count, WAITIO_MPI_Datatype type, int root,
                     WAITIO_MPI_Comm comm);
int waitio_mpi_reduce(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                      WAITIO_MPI_Op op, int root, WAITIO_MPI_Comm comm);
int waitio_mpi_allreduce(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                         WAITIO_MPI_Op op, WAITIO_MPI_Comm comm);
/** One count and type, unlike MPI: @p count elements from each member. */
int waitio_mpi_gather(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type, int root,
                      WAITIO_MPI_Comm comm);
/** One count and type, unlike MPI: @p count elements from each member. */
int waitio_mpi_allgather(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                         WAITIO_MPI_Comm comm);
int waitio_mpi_scatter(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                       int rcount, WAITIO_MPI_Datatype rtype, int root, WAITIO_MPI_Comm comm);
/** @p scounts and @p displs are in elements of @p stype and read at the root only. */
int waitio_mpi_scatterv(const void *sbuf, const int scounts[], const int displs[],
                        WAITIO_MPI_Datatype stype, void *rbuf, int rcount,
                        WAITIO_MPI_Datatype rtype, int root, WAITIO_MPI_Comm comm);
/** @p rcounts and @p displs are in elements of @p rtype and read at the root only. */
int waitio_mpi_gatherv(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                       const int rcounts[], const int displs[], WAITIO_MPI_Datatype rtype, int root,
                       WAITIO_MPI_Comm comm);

/* ---- upper case: MPI's names and argument lists --------------------------------------------- */

/** Joins the universe; both arguments may be NULL. */
int WAITIO_MPI_Init(int *argc, char ***argv);
int WAITIO_MPI_Initialized(int *flag);
int WAITIO_MPI_Finalize(void);
/** Ends this process with status @p code after telling its peers. @p comm is not read. */
int WAITIO_MPI_Abort(WAITIO_MPI_Comm comm, int code);
/** Seconds since an arbitrary point in the past. */
double WAITIO_MPI_Wtime(void);
/** @param[out] name at least WAITIO_MPI_MAX_PROCESSOR_NAME characters. */
int WAITIO_MPI_Get_processor_name(char *name, int *length);
/** @param[out] text at least WAITIO_MPI_MAX_ERROR_STRING characters. */
int WAITIO_MPI_Error_string(int code, char *text, int *length);

int WAITIO_MPI_Comm_rank(WAITIO_MPI_Comm comm, int *rank);
int WAITIO_MPI_Comm_size(WAITIO_MPI_Comm comm, int *size);
int WAITIO_MPI_Comm_free(WAITIO_MPI_Comm *comm);
/** Handle of @p comm as Fortran sees it, 0 on failure. */
int WAITIO_MPI_Comm_c2f(WAITIO_MPI_Comm comm);
/** Communicator of a Fortran handle, NULL when there is none. */
WAITIO_MPI_Comm WAITIO_MPI_Comm_f2c(int handle);
int WAITIO_MPI_Type_size(WAITIO_MPI_Datatype type, int *size);
/** Whole elements of @p type received, WAITIO_MPI_UNDEFINED when it is not a whole number. */
int WAITIO_MPI_Get_count(const WAITIO_MPI_Status *status, WAITIO_MPI_Datatype type, int *count);

int WAITIO_MPI_Send(const void *buf, int count, WAITIO_MPI_Datatype type, int dest, int tag,
                    WAITIO_MPI_Comm comm);
int WAITIO_MPI_Recv(void *buf, int count, WAITIO_MPI_Datatype type, int source, int tag,
                    WAITIO_MPI_Comm comm, WAITIO_MPI_Status *status);
int WAITIO_MPI_Isend(const void *buf, int count, WAITIO_MPI_Datatype type, int dest, int tag,
                     WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int WAITIO_MPI_Irecv(void *buf, int count, WAITIO_MPI_Datatype type, int source, int tag,
                     WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int WAITIO_MPI_Sendrecv(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, int dest, int stag,
                        void *rbuf, int rcount, WAITIO_MPI_Datatype rtype, int source, int rtag,
                        WAITIO_MPI_Comm comm, WAITIO_MPI_Status *status);
int WAITIO_MPI_Send_init(const void *buf, int count, WAITIO_MPI_Datatype type, int dest, int tag,
                         WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int WAITIO_MPI_Recv_init(void *buf, int count, WAITIO_MPI_Datatype type, int source, int tag,
                         WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int WAITIO_MPI_Start(WAITIO_MPI_Request *req);
int WAITIO_MPI_Startall(int count, WAITIO_MPI_Request reqs[]);
int WAITIO_MPI_Wait(WAITIO_MPI_Request *req, WAITIO_MPI_Status *status);
int WAITIO_MPI_Waitall(int count, WAITIO_MPI_Request reqs[], WAITIO_MPI_Status statuses[]);
int WAITIO_MPI_Waitany(int count, WAITIO_MPI_Request reqs[], int *index, WAITIO_MPI_Status *status);
int WAITIO_MPI_Test(WAITIO_MPI_Request *req, int *flag, WAITIO_MPI_Status *status);
int WAITIO_MPI_Testall(int count, WAITIO_MPI_Request reqs[], int *flag,
                       WAITIO_MPI_Status statuses[]);
int WAITIO_MPI_Testany(int count, WAITIO_MPI_Request reqs[], int *index, int *flag,
                       WAITIO_MPI_Status *status);
int WAITIO_MPI_Probe(int source, int tag, WAITIO_MPI_Comm comm, WAITIO_MPI_Status *status);
int WAITIO_MPI_Iprobe(int source, int tag, WAITIO_MPI_Comm comm, int *flag,
                      WAITIO_MPI_Status *status);
int WAITIO_MPI_Cancel(WAITIO_MPI_Request *req);
int WAITIO_MPI_Test_cancelled(const WAITIO_MPI_Status *status, int *flag);
int WAITIO_MPI_Request_free(WAITIO_MPI_Request *req);

int WAITIO_MPI_Barrier(WAITIO_MPI_Comm comm);
int WAITIO_MPI_Bcast(void *buf, int count, WAITIO_MPI_Datatype type, int root,
                     WAITIO_MPI_Comm comm);
int WAITIO_MPI_Reduce(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                      WAITIO_MPI_Op op, int root, WAITIO_MPI_Comm comm);
int WAITIO_MPI_Allreduce(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                         WAITIO_MPI_Op op, WAITIO_MPI_Comm comm);
int WAITIO_MPI_Gather(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                      int rcount, WAITIO_MPI_Datatype rtype, int root, WAITIO_MPI_Comm comm);
int WAITIO_MPI_Gatherv(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                       const int rcounts[], const int displs[], WAITIO_MPI_Datatype rtype, int root,
                       WAITIO_MPI_Comm comm);
int WAITIO_MPI_Allgather(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                         int rcount, WAITIO_MPI_Datatype rtype, WAITIO_MPI_Comm comm);
int WAITIO_MPI_Scatter(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                       int rcount, WAITIO_MPI_Datatype rtype, int root, WAITIO_MPI_Comm comm);
int WAITIO_MPI_Scatterv(const void *sbuf, const int scounts[], const int displs[],
                        WAITIO_MPI_Datatype stype, void *rbuf, int rcount,
                        WAITIO_MPI_Datatype rtype, int root, WAITIO_MPI_Comm comm);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* WAITIO_MPI_H */
