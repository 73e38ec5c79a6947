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
/** An ordered set of processes; like a communicator a group of waitio.h. */
typedef waitio_group_t WAITIO_MPI_Group;
/** Hints: kept for the program, none is read. */
typedef int WAITIO_MPI_Info;
/** What happens on errors: a constant, or made from a function. */
typedef int WAITIO_MPI_Errhandler;
/** A Fortran handle or integer. */
typedef int WAITIO_MPI_Fint;
/** Addresses and distances in memory. */
typedef intptr_t WAITIO_MPI_Aint;
typedef int64_t WAITIO_MPI_Offset;
typedef int64_t WAITIO_MPI_Count;
/** A message that a matched probe has taken off the queue. */
typedef int WAITIO_MPI_Message;
/** Called when an attribute's communicator is duplicated: *flag non-zero puts *out on the new one.
 * @return 0, or what the duplicating call fails with */
typedef int WAITIO_MPI_Comm_copy_attr_function(WAITIO_MPI_Comm from, int keyval, void *extra_state,
                                               void *in, void *out, int *flag);
/** Called when a value is replaced, deleted, or its communicator freed. */
typedef int WAITIO_MPI_Comm_delete_attr_function(WAITIO_MPI_Comm comm, int keyval, void *value,
                                                 void *extra_state);
/** The same for attributes of datatypes, called by WAITIO_MPI_Type_dup() and _free(). */
typedef int WAITIO_MPI_Type_copy_attr_function(WAITIO_MPI_Datatype from, int keyval,
                                               void *extra_state, void *in, void *out, int *flag);
typedef int WAITIO_MPI_Type_delete_attr_function(WAITIO_MPI_Datatype type, int keyval, void *value,
                                                 void *extra_state);
typedef WAITIO_MPI_Comm_copy_attr_function WAITIO_MPI_Copy_function;
typedef WAITIO_MPI_Comm_delete_attr_function WAITIO_MPI_Delete_function;
/** Called on errors, before the failing call returns its code. */
typedef void WAITIO_MPI_Comm_errhandler_function(WAITIO_MPI_Comm *comm, int *code, ...);
typedef WAITIO_MPI_Comm_errhandler_function WAITIO_MPI_Handler_function;
/** An operator of the program: inout[i] = in[i] op inout[i] for *length elements of *type. */
typedef void WAITIO_MPI_User_function(void *in, void *inout, int *length,
                                      WAITIO_MPI_Datatype *type);
/** The same with a wide length: for WAITIO_MPI_Op_create_c(). */
typedef void WAITIO_MPI_User_function_c(void *in, void *inout, WAITIO_MPI_Count *length,
                                        WAITIO_MPI_Datatype *type);
/** The same with what waitio_mpi_op_create_with() was given. */
typedef void waitio_mpi_stateful_function(void *in, void *inout, int *length,
                                          WAITIO_MPI_Datatype *type, void *state);

/** Fields as in MPI. The lower-case calls use the short form int[WAITIO_STATUS_SIZE] instead:
 *  source, tag, error (WAITIO_ERR_CANCELLED: withdrawn), bytes (INT_MAX for 2 GiB and more). */
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

/** Called when a generalized request is waited for or tested with success: describes in *status
 * what it has done. @return 0, or what that call returns */
typedef int WAITIO_MPI_Grequest_query_function(void *extra_state, WAITIO_MPI_Status *status);
/** Called once, when the request ends. */
typedef int WAITIO_MPI_Grequest_free_function(void *extra_state);
/** Called by WAITIO_MPI_Cancel(). @param complete was WAITIO_MPI_Grequest_complete() called? */
typedef int WAITIO_MPI_Grequest_cancel_function(void *extra_state, int complete);

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
#define WAITIO_MPI_LONG_DOUBLE 524325
#define WAITIO_MPI_WCHAR 524326
#define WAITIO_MPI_AINT 524327
#define WAITIO_MPI_OFFSET 524328
#define WAITIO_MPI_COUNT 524329
#define WAITIO_MPI_C_LONG_DOUBLE_COMPLEX 524330
#define WAITIO_MPI_LOGICAL1 524331
#define WAITIO_MPI_LOGICAL2 524332
#define WAITIO_MPI_LOGICAL4 524333
#define WAITIO_MPI_LOGICAL8 524334
#define WAITIO_MPI_REAL16 524335
#define WAITIO_MPI_COMPLEX8 524336
#define WAITIO_MPI_COMPLEX16 524337
#define WAITIO_MPI_COMPLEX32 524338
#define WAITIO_MPI_PACKED 524339
#define WAITIO_MPI_FLOAT_INT 524340
#define WAITIO_MPI_DOUBLE_INT 524341
#define WAITIO_MPI_LONG_INT 524342
#define WAITIO_MPI_2INT 524343
#define WAITIO_MPI_SHORT_INT 524344
#define WAITIO_MPI_LONG_DOUBLE_INT 524345
#define WAITIO_MPI_2REAL 524346
#define WAITIO_MPI_2DOUBLE_PRECISION 524347
#define WAITIO_MPI_2INTEGER 524348
#define WAITIO_MPI_LB 524349
#define WAITIO_MPI_UB 524350
/* bool and std::complex of C++ */
#define WAITIO_MPI_CXX_BOOL 524353
#define WAITIO_MPI_CXX_FLOAT_COMPLEX 524354
#define WAITIO_MPI_CXX_COMPLEX 524354
#define WAITIO_MPI_CXX_DOUBLE_COMPLEX 524355
#define WAITIO_MPI_CXX_LONG_DOUBLE_COMPLEX 524356
#define WAITIO_MPI_DATATYPE_NULL 0
/** MPI_INTEGER and MPI_DOUBLE_PRECISION of C programs that are built by renaming: the same data as
 * WAITIO_MPI_INTEGER and WAITIO_MPI_DOUBLE_PRECISION, which have the numbers of INT and DOUBLE. */
enum { waitio_mpi_integer_type = 524351, waitio_mpi_double_precision_type = 524352 };

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
#define WAITIO_MPI_MINLOC 524299
#define WAITIO_MPI_MAXLOC 524300
#define WAITIO_MPI_OP_NULL 0

/** The version of MPI that the calls here follow. */
#define WAITIO_MPI_VERSION 3
#define WAITIO_MPI_SUBVERSION 1
#define WAITIO_MPI_SUCCESS 0
#define WAITIO_MPI_ANY_SOURCE WAITIO_ANY_SOURCE
#define WAITIO_MPI_ANY_TAG WAITIO_ANY_TAG
#define WAITIO_MPI_UNDEFINED WAITIO_UNDEFINED
/** Partner of an operation that does nothing. */
#define WAITIO_MPI_PROC_NULL (-1004)
/** Who is the root of a collective on an intercommunicator; PROC_NULL: beside the root. */
#define WAITIO_MPI_ROOT (-1006)
#define WAITIO_MPI_IN_PLACE ((void *)(intptr_t)-1)
#define WAITIO_MPI_STATUS_IGNORE ((WAITIO_MPI_Status *)0)
#define WAITIO_MPI_STATUSES_IGNORE ((WAITIO_MPI_Status *)0)
#define WAITIO_MPI_COMM_NULL ((WAITIO_MPI_Comm)0)
#define WAITIO_MPI_GROUP_NULL ((WAITIO_MPI_Group)0)
#define WAITIO_MPI_BOTTOM ((void *)0)
#define WAITIO_MPI_INFO_NULL 0
#define WAITIO_MPI_INFO_ENV 1
#define WAITIO_MPI_ERRORS_ARE_FATAL 1
#define WAITIO_MPI_ERRORS_RETURN 2
#define WAITIO_MPI_ERRHANDLER_NULL 0
/** Results of comparing communicators and groups. */
#define WAITIO_MPI_IDENT 0
#define WAITIO_MPI_CONGRUENT 1
#define WAITIO_MPI_SIMILAR 2
#define WAITIO_MPI_UNEQUAL 3
/** Orders of array elements in memory. */
#define WAITIO_MPI_ORDER_C 56
#define WAITIO_MPI_ORDER_FORTRAN 57
/** Members of one host, or (ours) of one parallel block. */
#define WAITIO_MPI_COMM_TYPE_SHARED 1
#define WAITIO_MPI_COMM_TYPE_PB 2
#define WAITIO_MPI_CART 1
#define WAITIO_MPI_GRAPH 2
#define WAITIO_MPI_DIST_GRAPH 3
/** Graphs without weights, and the weights of no edges. */
#define WAITIO_MPI_UNWEIGHTED ((int *)(intptr_t)-2)
#define WAITIO_MPI_WEIGHTS_EMPTY ((int *)(intptr_t)-3)
/** How arrays are spread over processes (WAITIO_MPI_Type_create_darray). */
#define WAITIO_MPI_DISTRIBUTE_BLOCK 1
#define WAITIO_MPI_DISTRIBUTE_CYCLIC 2
#define WAITIO_MPI_DISTRIBUTE_NONE 3
#define WAITIO_MPI_DISTRIBUTE_DFLT_DARG (-1005)
/** How a type was made (WAITIO_MPI_Type_get_envelope). The library has the types of
 * Type_create_f90_*() by name, and makes MPI-1's and MPI-2's types alike: it never gives
 * COMBINER_F90_* and COMBINER_*_INTEGER. */
#define WAITIO_MPI_COMBINER_NAMED 1
#define WAITIO_MPI_COMBINER_DUP 2
#define WAITIO_MPI_COMBINER_CONTIGUOUS 3
#define WAITIO_MPI_COMBINER_VECTOR 4
#define WAITIO_MPI_COMBINER_HVECTOR 5
#define WAITIO_MPI_COMBINER_INDEXED 6
#define WAITIO_MPI_COMBINER_HINDEXED 7
#define WAITIO_MPI_COMBINER_INDEXED_BLOCK 8
#define WAITIO_MPI_COMBINER_HINDEXED_BLOCK 9
#define WAITIO_MPI_COMBINER_STRUCT 10
#define WAITIO_MPI_COMBINER_SUBARRAY 11
#define WAITIO_MPI_COMBINER_DARRAY 12
#define WAITIO_MPI_COMBINER_F90_REAL 13
#define WAITIO_MPI_COMBINER_F90_COMPLEX 14
#define WAITIO_MPI_COMBINER_F90_INTEGER 15
#define WAITIO_MPI_COMBINER_RESIZED 16
#define WAITIO_MPI_COMBINER_HVECTOR_INTEGER 17
#define WAITIO_MPI_COMBINER_HINDEXED_INTEGER 18
#define WAITIO_MPI_COMBINER_STRUCT_INTEGER 19
#define WAITIO_MPI_TYPECLASS_INTEGER 1
#define WAITIO_MPI_TYPECLASS_REAL 2
#define WAITIO_MPI_TYPECLASS_COMPLEX 3
/** Attributes that every communicator has; values are of the universe, APPNUM is the PB's id. */
#define WAITIO_MPI_KEYVAL_INVALID 0
#define WAITIO_MPI_TAG_UB 1
#define WAITIO_MPI_HOST 2
#define WAITIO_MPI_IO 3
#define WAITIO_MPI_WTIME_IS_GLOBAL 4
#define WAITIO_MPI_UNIVERSE_SIZE 5
#define WAITIO_MPI_APPNUM 6
#define WAITIO_MPI_LASTUSEDCODE 7
/** Messages of nobody, and of PROC_NULL. */
#define WAITIO_MPI_MESSAGE_NULL 0
#define WAITIO_MPI_MESSAGE_NO_PROC 1
/** Bytes that a buffered send needs beside its data: the library has buffers of its own. */
#define WAITIO_MPI_BSEND_OVERHEAD 0
#define WAITIO_MPI_THREAD_SINGLE 0
#define WAITIO_MPI_THREAD_FUNNELED 1
#define WAITIO_MPI_THREAD_SERIALIZED 2
#define WAITIO_MPI_THREAD_MULTIPLE 3
/** All processes of all blocks; joins the universe on first use. */
#define WAITIO_MPI_COMM_WORLD (waitio_mpi_comm_world())
/** This process alone. */
#define WAITIO_MPI_COMM_SELF (waitio_mpi_comm_self())
#define WAITIO_MPI_GROUP_EMPTY (waitio_mpi_group_empty())
/** For assignment; to compare, use WAITIO_MPI_Test or keep a flag (requests are structures). */
#define WAITIO_MPI_REQUEST_NULL (waitio_mpi_request_null())
#define WAITIO_MPI_MAX_PROCESSOR_NAME 256
#define WAITIO_MPI_MAX_ERROR_STRING 1024
#define WAITIO_MPI_MAX_OBJECT_NAME 128
#define WAITIO_MPI_MAX_LIBRARY_VERSION_STRING 256
#define WAITIO_MPI_MAX_INFO_KEY 256
#define WAITIO_MPI_MAX_INFO_VAL 1024
/** Functions of attributes that do nothing, and that copy. */
#define WAITIO_MPI_COMM_NULL_COPY_FN ((WAITIO_MPI_Comm_copy_attr_function *)0)
#define WAITIO_MPI_COMM_NULL_DELETE_FN ((WAITIO_MPI_Comm_delete_attr_function *)0)
#define WAITIO_MPI_COMM_DUP_FN waitio_mpi_dup_fn
#define WAITIO_MPI_TYPE_NULL_COPY_FN ((WAITIO_MPI_Type_copy_attr_function *)0)
#define WAITIO_MPI_TYPE_NULL_DELETE_FN ((WAITIO_MPI_Type_delete_attr_function *)0)
#define WAITIO_MPI_TYPE_DUP_FN waitio_mpi_type_dup_fn
#define WAITIO_MPI_NULL_COPY_FN ((WAITIO_MPI_Comm_copy_attr_function *)0)
#define WAITIO_MPI_NULL_DELETE_FN ((WAITIO_MPI_Comm_delete_attr_function *)0)
#define WAITIO_MPI_DUP_FN waitio_mpi_dup_fn
/* Classes of errors. Codes of waitio.h that MPI knows, and numbers of their own for what is more
 * exact; a call returns either, and every code is its own class. */
#define WAITIO_MPI_ERR_ARG WAITIO_ERR_ARG
#define WAITIO_MPI_ERR_TAG WAITIO_ERR_TAG
#define WAITIO_MPI_ERR_COMM WAITIO_ERR_GROUP
#define WAITIO_MPI_ERR_RANK WAITIO_ERR_RANK
#define WAITIO_MPI_ERR_REQUEST WAITIO_ERR_REQUEST
#define WAITIO_MPI_ERR_TRUNCATE WAITIO_ERR_TRUNCATE
#define WAITIO_MPI_ERR_NO_MEM WAITIO_ERR_NOMEM
#define WAITIO_MPI_ERR_PROC_ABORTED WAITIO_ERR_PEER
#define WAITIO_MPI_ERR_INTERN WAITIO_ERR_PROTOCOL
#define WAITIO_MPI_ERR_OTHER WAITIO_ERR_SYSTEM
#define WAITIO_MPI_ERR_BUFFER (-101)
#define WAITIO_MPI_ERR_COUNT (-102)
#define WAITIO_MPI_ERR_TYPE (-103)
#define WAITIO_MPI_ERR_OP (-104)
#define WAITIO_MPI_ERR_ROOT (-105)
#define WAITIO_MPI_ERR_GROUP (-106)
#define WAITIO_MPI_ERR_KEYVAL (-107)
#define WAITIO_MPI_ERR_TOPOLOGY (-108)
#define WAITIO_MPI_ERR_DIMS (-109)
#define WAITIO_MPI_ERR_UNKNOWN (-110)
#define WAITIO_MPI_ERR_PENDING (-111)
#define WAITIO_MPI_ERR_IN_STATUS (-112)
#define WAITIO_MPI_ERR_ACCESS (-113)
#define WAITIO_MPI_ERR_AMODE (-114)
#define WAITIO_MPI_ERR_ASSERT (-115)
#define WAITIO_MPI_ERR_BAD_FILE (-116)
#define WAITIO_MPI_ERR_BASE (-117)
#define WAITIO_MPI_ERR_CONVERSION (-118)
#define WAITIO_MPI_ERR_DISP (-119)
#define WAITIO_MPI_ERR_DUP_DATAREP (-120)
#define WAITIO_MPI_ERR_FILE (-121)
#define WAITIO_MPI_ERR_FILE_EXISTS (-122)
#define WAITIO_MPI_ERR_FILE_IN_USE (-123)
#define WAITIO_MPI_ERR_INFO (-124)
#define WAITIO_MPI_ERR_INFO_KEY (-125)
#define WAITIO_MPI_ERR_INFO_NOKEY (-126)
#define WAITIO_MPI_ERR_INFO_VALUE (-127)
#define WAITIO_MPI_ERR_IO (-128)
#define WAITIO_MPI_ERR_LOCKTYPE (-129)
#define WAITIO_MPI_ERR_NAME (-130)
#define WAITIO_MPI_ERR_NOT_SAME (-131)
#define WAITIO_MPI_ERR_NO_SPACE (-132)
#define WAITIO_MPI_ERR_NO_SUCH_FILE (-133)
#define WAITIO_MPI_ERR_PORT (-134)
#define WAITIO_MPI_ERR_QUOTA (-135)
#define WAITIO_MPI_ERR_READ_ONLY (-136)
#define WAITIO_MPI_ERR_RMA_ATTACH (-137)
#define WAITIO_MPI_ERR_RMA_CONFLICT (-138)
#define WAITIO_MPI_ERR_RMA_FLAVOR (-139)
#define WAITIO_MPI_ERR_RMA_RANGE (-140)
#define WAITIO_MPI_ERR_RMA_SHARED (-141)
#define WAITIO_MPI_ERR_RMA_SYNC (-142)
#define WAITIO_MPI_ERR_SERVICE (-143)
#define WAITIO_MPI_ERR_SESSION (-144)
#define WAITIO_MPI_ERR_SIZE (-145)
#define WAITIO_MPI_ERR_SPAWN (-146)
#define WAITIO_MPI_ERR_UNSUPPORTED_DATAREP (-147)
#define WAITIO_MPI_ERR_UNSUPPORTED_OPERATION (-148)
#define WAITIO_MPI_ERR_VALUE_TOO_LARGE (-149)
#define WAITIO_MPI_ERR_WIN (-150)
/** Classes and codes that programs add are greater. */
#define WAITIO_MPI_ERR_LASTCODE 16383

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
/**
 * The hybrid communicator that processes with MPI make by waitio_hybrid_create() (waitio_hybrid.h),
 * for a process without: it exchanges messages with all others. Collective over the universe, each
 * process calls one of the two.
 *
 * @param[out] comm to be freed with WAITIO_MPI_Comm_free(); WAITIO_MPI_COMM_NULL when @p member is
 * 0
 * @param member 0: this process is no member
 * @param key  ranks are ordered by key, then by PB and rank in the PB
 * @return 0; ARG when a PB's processes do not agree, the errors of joining. All members get an
 * error if one fails
 * @blocking until all processes have called
 */
int waitio_create_hybrid(WAITIO_MPI_Comm *comm, int member, int key);
/** The universe as a communicator owned by the library; NULL when joining failed. */
WAITIO_MPI_Comm waitio_mpi_comm_world(void);
/** This process alone, as a communicator owned by the library; NULL when joining failed. */
WAITIO_MPI_Comm waitio_mpi_comm_self(void);
/** The group without members, owned by the library. */
WAITIO_MPI_Group waitio_mpi_group_empty(void);
/** A null request. */
WAITIO_MPI_Request waitio_mpi_request_null(void);
/** Copies an attribute's value: for WAITIO_MPI_COMM_DUP_FN. */
int waitio_mpi_dup_fn(WAITIO_MPI_Comm comm, int keyval, void *extra_state, void *in, void *out,
                      int *flag);
/** Copies an attribute's value: for WAITIO_MPI_TYPE_DUP_FN. */
int waitio_mpi_type_dup_fn(WAITIO_MPI_Datatype type, int keyval, void *extra_state, void *in,
                           void *out, int *flag);
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
int WAITIO_MPI_Init_thread(int *argc, char ***argv, int required, int *provided);
int WAITIO_MPI_Query_thread(int *provided);
/** Is this the thread that called WAITIO_MPI_Init() first? */
int WAITIO_MPI_Is_thread_main(int *flag);
int WAITIO_MPI_Initialized(int *flag);
int WAITIO_MPI_Finalized(int *flag);
int WAITIO_MPI_Finalize(void);
/** Ends this process with status @p code after telling its peers. @p comm is not read. */
int WAITIO_MPI_Abort(WAITIO_MPI_Comm comm, int code);
/** Seconds since an arbitrary point in the past. */
double WAITIO_MPI_Wtime(void);
double WAITIO_MPI_Wtick(void);
int WAITIO_MPI_Get_version(int *version, int *subversion);
/** @param[out] text at least WAITIO_MPI_MAX_LIBRARY_VERSION_STRING characters. */
int WAITIO_MPI_Get_library_version(char *text, int *length);
/** @param[out] name at least WAITIO_MPI_MAX_PROCESSOR_NAME characters. */
int WAITIO_MPI_Get_processor_name(char *name, int *length);
/** @param[out] text at least WAITIO_MPI_MAX_ERROR_STRING characters. */
int WAITIO_MPI_Error_string(int code, char *text, int *length);
/** WAITIO_MPI_ERRORS_RETURN makes calls return their code instead of ending the program, as
 * WAITIO_ERRORS=return does: for all communicators, whichever is named. */
int WAITIO_MPI_Comm_set_errhandler(WAITIO_MPI_Comm comm, WAITIO_MPI_Errhandler handler);
int WAITIO_MPI_Comm_get_errhandler(WAITIO_MPI_Comm comm, WAITIO_MPI_Errhandler *handler);
/** MPI-1's name of WAITIO_MPI_Comm_set_errhandler(). */
int WAITIO_MPI_Errhandler_set(WAITIO_MPI_Comm comm, WAITIO_MPI_Errhandler handler);
/** MPI-1's name of WAITIO_MPI_Comm_get_errhandler(). */
int WAITIO_MPI_Errhandler_get(WAITIO_MPI_Comm comm, WAITIO_MPI_Errhandler *handler);
/** A function that is called on every error, with COMM_WORLD and the code; when it returns, so does
 * the failing call, with its code. */
int WAITIO_MPI_Comm_create_errhandler(WAITIO_MPI_Comm_errhandler_function *error_function,
                                      WAITIO_MPI_Errhandler *handler);
/** MPI-1's name of the same. */
int WAITIO_MPI_Errhandler_create(WAITIO_MPI_Comm_errhandler_function *error_function,
                                 WAITIO_MPI_Errhandler *handler);
/** Where it was set it stays in force. */
int WAITIO_MPI_Errhandler_free(WAITIO_MPI_Errhandler *handler);
/** As if a call had failed with @p code. */
int WAITIO_MPI_Comm_call_errhandler(WAITIO_MPI_Comm comm, int code);
/** Every code is its own class, except those that the program has added to a class. */
int WAITIO_MPI_Error_class(int code, int *class_);
/** Classes and codes of the program's own: greater than WAITIO_MPI_ERR_LASTCODE, their text empty
 * until it is given. The attribute WAITIO_MPI_LASTUSEDCODE says how far they go. */
int WAITIO_MPI_Add_error_class(int *class_);
int WAITIO_MPI_Add_error_code(int class_, int *code);
/** @param string shorter than WAITIO_MPI_MAX_ERROR_STRING characters */
int WAITIO_MPI_Add_error_string(int code, const char *string);

int WAITIO_MPI_Comm_rank(WAITIO_MPI_Comm comm, int *rank);
int WAITIO_MPI_Comm_size(WAITIO_MPI_Comm comm, int *size);
int WAITIO_MPI_Comm_free(WAITIO_MPI_Comm *comm);
/** Once a member has failed - not one that has left by finalize - a receive or probe from any
 * source of this communicator ends with WAITIO_MPI_ERR_PROC_ABORTED when no message is there: it
 * might wait for that member for ever. This call acknowledges the failures that are known to this
 * process; later receives wait for the others. Local. */
int WAITIO_MPIX_Comm_failure_ack(WAITIO_MPI_Comm comm);
/** The members that have failed and are acknowledged; of the other group in an intercommunicator.
 * @param group to be freed by the caller */
int WAITIO_MPIX_Comm_failure_get_acked(WAITIO_MPI_Comm comm, WAITIO_MPI_Group *group);
/** As Comm_free: messages under way go on, and what the program sends is sent. */
int WAITIO_MPI_Comm_disconnect(WAITIO_MPI_Comm *comm);
/** Attributes go along if their keys' functions say so. */
int WAITIO_MPI_Comm_dup(WAITIO_MPI_Comm comm, WAITIO_MPI_Comm *out);
/** Complete at once. */
int WAITIO_MPI_Comm_idup(WAITIO_MPI_Comm comm, WAITIO_MPI_Comm *out, WAITIO_MPI_Request *req);
int WAITIO_MPI_Comm_idup_with_info(WAITIO_MPI_Comm comm, WAITIO_MPI_Info info, WAITIO_MPI_Comm *out,
                                   WAITIO_MPI_Request *req);
int WAITIO_MPI_Comm_dup_with_info(WAITIO_MPI_Comm comm, WAITIO_MPI_Info info, WAITIO_MPI_Comm *out);
int WAITIO_MPI_Comm_set_info(WAITIO_MPI_Comm comm, WAITIO_MPI_Info info);
/** A new, empty one. */
int WAITIO_MPI_Comm_get_info(WAITIO_MPI_Comm comm, WAITIO_MPI_Info *out);
int WAITIO_MPI_Comm_test_inter(WAITIO_MPI_Comm comm, int *flag);
/** Intercommunicators: two groups without common members, ranks in messages and roots being those
 * of the other group. All members of both groups call, the leaders with a communicator @p peer that
 * holds both of them. When a leader's call fails, or a collective of @p peer has failed before, all
 * members of both groups get an error (but nobody can tell the other leader of one that names a
 * wrong @p peer or @p remote_leader). */
int WAITIO_MPI_Intercomm_create(WAITIO_MPI_Comm local, int local_leader, WAITIO_MPI_Comm peer,
                                int remote_leader, int tag, WAITIO_MPI_Comm *out);
/** One communicator of both; the group that says @p high = 0 comes first. */
int WAITIO_MPI_Intercomm_merge(WAITIO_MPI_Comm comm, int high, WAITIO_MPI_Comm *out);
int WAITIO_MPI_Comm_remote_size(WAITIO_MPI_Comm comm, int *size);
int WAITIO_MPI_Comm_remote_group(WAITIO_MPI_Comm comm, WAITIO_MPI_Group *group);
/** Names are for people. The world and the process alone have theirs; others none. @param[out] name
 * at least WAITIO_MPI_MAX_OBJECT_NAME characters */
int WAITIO_MPI_Comm_set_name(WAITIO_MPI_Comm comm, const char *name);
int WAITIO_MPI_Comm_get_name(WAITIO_MPI_Comm comm, char *name, int *length);

/* Attributes: what a program hangs on a communicator under keys that it makes. One thread at a time
 * for each communicator. Functions hung on COMM_SELF are called by WAITIO_MPI_Finalize(). */
int WAITIO_MPI_Comm_create_keyval(WAITIO_MPI_Comm_copy_attr_function *copy_function,
                                  WAITIO_MPI_Comm_delete_attr_function *delete_function,
                                  int *keyval, void *extra_state);
/** Values that hang somewhere keep the key's functions. */
int WAITIO_MPI_Comm_free_keyval(int *keyval);
int WAITIO_MPI_Comm_set_attr(WAITIO_MPI_Comm comm, int keyval, void *value);
/** @param[out] value the pointer that was set; of the library's attributes one to an int */
int WAITIO_MPI_Comm_get_attr(WAITIO_MPI_Comm comm, int keyval, void *value, int *flag);
int WAITIO_MPI_Comm_delete_attr(WAITIO_MPI_Comm comm, int keyval);
/* MPI-1's names of the same. */
int WAITIO_MPI_Keyval_create(WAITIO_MPI_Comm_copy_attr_function *copy_function,
                             WAITIO_MPI_Comm_delete_attr_function *delete_function, int *keyval,
                             void *extra_state);
int WAITIO_MPI_Keyval_free(int *keyval);
int WAITIO_MPI_Attr_put(WAITIO_MPI_Comm comm, int keyval, void *value);
int WAITIO_MPI_Attr_get(WAITIO_MPI_Comm comm, int keyval, void *value, int *flag);
int WAITIO_MPI_Attr_delete(WAITIO_MPI_Comm comm, int keyval);

/* Hints. Keys have less than WAITIO_MPI_MAX_INFO_KEY characters, values less than _INFO_VAL.
 * WAITIO_MPI_INFO_ENV has what WAITIO_MPI_Info_create_env(0, NULL, ...) gives; it is not changed.
 */
int WAITIO_MPI_Info_create(WAITIO_MPI_Info *info);
/** A new object with what is known about the start of this process: "command", "argv", "host",
 * "wdir", "thread_level". May be called before WAITIO_MPI_Init(). @param argv those of main(), or
 * argc = 0 */
int WAITIO_MPI_Info_create_env(int argc, char *argv[], WAITIO_MPI_Info *info);
int WAITIO_MPI_Info_dup(WAITIO_MPI_Info info, WAITIO_MPI_Info *out);
int WAITIO_MPI_Info_free(WAITIO_MPI_Info *info);
int WAITIO_MPI_Info_set(WAITIO_MPI_Info info, const char *key, const char *value);
int WAITIO_MPI_Info_delete(WAITIO_MPI_Info info, const char *key);
/** @param[out] value at least @p room + 1 characters */
int WAITIO_MPI_Info_get(WAITIO_MPI_Info info, const char *key, int room, char *value, int *flag);
/** @param[in,out] room characters that @p value has place for, with the end of the text; 0: @p
 * value is not touched. Then what the whole value needs (not changed if there is none) */
int WAITIO_MPI_Info_get_string(WAITIO_MPI_Info info, const char *key, int *room, char *value,
                               int *flag);
int WAITIO_MPI_Info_get_valuelen(WAITIO_MPI_Info info, const char *key, int *length, int *flag);
int WAITIO_MPI_Info_get_nkeys(WAITIO_MPI_Info info, int *n);
int WAITIO_MPI_Info_get_nthkey(WAITIO_MPI_Info info, int n, char *key);

/** @param color >= 0, or WAITIO_MPI_UNDEFINED: no new communicator. @param key order among equals
 */
int WAITIO_MPI_Comm_split(WAITIO_MPI_Comm comm, int color, int key, WAITIO_MPI_Comm *out);
/** @param type WAITIO_MPI_COMM_TYPE_SHARED, _PB, or WAITIO_MPI_UNDEFINED */
int WAITIO_MPI_Comm_split_type(WAITIO_MPI_Comm comm, int type, int key, WAITIO_MPI_Info info,
                               WAITIO_MPI_Comm *out);
/** All members of @p comm call; those not in @p group get WAITIO_MPI_COMM_NULL. */
int WAITIO_MPI_Comm_create(WAITIO_MPI_Comm comm, WAITIO_MPI_Group group, WAITIO_MPI_Comm *out);
/** Only the members of @p group call. */
int WAITIO_MPI_Comm_create_group(WAITIO_MPI_Comm comm, WAITIO_MPI_Group group, int tag,
                                 WAITIO_MPI_Comm *out);
/** @param[out] result IDENT, CONGRUENT (same members, same order), SIMILAR (same members), UNEQUAL
 */
int WAITIO_MPI_Comm_compare(WAITIO_MPI_Comm a, WAITIO_MPI_Comm b, int *result);
/** Grids: ranks in row order, nothing is reordered. Processes beyond the grid get COMM_NULL. */
int WAITIO_MPI_Cart_create(WAITIO_MPI_Comm comm, int n, const int dims[], const int periods[],
                           int reorder, WAITIO_MPI_Comm *out);
/** The rank that this process would have in such a grid. */
int WAITIO_MPI_Cart_map(WAITIO_MPI_Comm comm, int n, const int dims[], const int periods[],
                        int *rank);
int WAITIO_MPI_Cart_sub(WAITIO_MPI_Comm comm, const int remain[], WAITIO_MPI_Comm *out);
int WAITIO_MPI_Cartdim_get(WAITIO_MPI_Comm comm, int *n);
int WAITIO_MPI_Cart_get(WAITIO_MPI_Comm comm, int n, int dims[], int periods[], int coords[]);
int WAITIO_MPI_Cart_coords(WAITIO_MPI_Comm comm, int rank, int n, int coords[]);
int WAITIO_MPI_Cart_rank(WAITIO_MPI_Comm comm, const int coords[], int *rank);
/** WAITIO_MPI_PROC_NULL beyond an edge. */
int WAITIO_MPI_Cart_shift(WAITIO_MPI_Comm comm, int direction, int by, int *source, int *dest);
/** @param[out] kind WAITIO_MPI_CART or WAITIO_MPI_UNDEFINED */
int WAITIO_MPI_Topo_test(WAITIO_MPI_Comm comm, int *kind);
/** Graphs: nothing is reordered. All give the same edges: those of node i are edges[index[i - 1]]
 * to edges[index[i] - 1]. Processes beyond the graph get COMM_NULL. */
int WAITIO_MPI_Graph_create(WAITIO_MPI_Comm comm, int nodes, const int index_[], const int edges[],
                            int reorder, WAITIO_MPI_Comm *out);
int WAITIO_MPI_Graph_map(WAITIO_MPI_Comm comm, int nodes, const int index_[], const int edges[],
                         int *rank);
int WAITIO_MPI_Graphdims_get(WAITIO_MPI_Comm comm, int *nodes, int *edges);
int WAITIO_MPI_Graph_get(WAITIO_MPI_Comm comm, int most_nodes, int most_edges, int index_[],
                         int edges[]);
int WAITIO_MPI_Graph_neighbors_count(WAITIO_MPI_Comm comm, int rank, int *n);
int WAITIO_MPI_Graph_neighbors(WAITIO_MPI_Comm comm, int rank, int most, int neighbors[]);
/** Each process gives its own edges. @param sourceweights WAITIO_MPI_UNWEIGHTED, or a number >= 0
 * per edge (WAITIO_MPI_WEIGHTS_EMPTY where there are none) @param destweights the same */
int WAITIO_MPI_Dist_graph_create_adjacent(WAITIO_MPI_Comm comm, int indegree, const int sources[],
                                          const int sourceweights[], int outdegree,
                                          const int destinations[], const int destweights[],
                                          WAITIO_MPI_Info info, int reorder, WAITIO_MPI_Comm *out);
/** Each process gives any edges: degrees[i] from sources[i]. Neighbours come in the order of the
 * processes that named them. */
int WAITIO_MPI_Dist_graph_create(WAITIO_MPI_Comm comm, int n, const int sources[],
                                 const int degrees[], const int destinations[], const int weights[],
                                 WAITIO_MPI_Info info, int reorder, WAITIO_MPI_Comm *out);
int WAITIO_MPI_Dist_graph_neighbors_count(WAITIO_MPI_Comm comm, int *indegree, int *outdegree,
                                          int *weighted);
int WAITIO_MPI_Dist_graph_neighbors(WAITIO_MPI_Comm comm, int most_in, int sources[],
                                    int sourceweights[], int most_out, int destinations[],
                                    int destweights[]);
/** Fill the dimensions that are 0 so that the grid is as even as can be. */
int WAITIO_MPI_Dims_create(int nodes, int n, int dims[]);
int WAITIO_MPI_Comm_group(WAITIO_MPI_Comm comm, WAITIO_MPI_Group *out);
int WAITIO_MPI_Group_size(WAITIO_MPI_Group group, int *size);
/** WAITIO_MPI_UNDEFINED for a process that is no member. */
int WAITIO_MPI_Group_rank(WAITIO_MPI_Group group, int *rank);
int WAITIO_MPI_Group_translate_ranks(WAITIO_MPI_Group from, int n, const int ranks[],
                                     WAITIO_MPI_Group to, int out[]);
int WAITIO_MPI_Group_compare(WAITIO_MPI_Group a, WAITIO_MPI_Group b, int *result);
int WAITIO_MPI_Group_union(WAITIO_MPI_Group a, WAITIO_MPI_Group b, WAITIO_MPI_Group *out);
int WAITIO_MPI_Group_intersection(WAITIO_MPI_Group a, WAITIO_MPI_Group b, WAITIO_MPI_Group *out);
int WAITIO_MPI_Group_difference(WAITIO_MPI_Group a, WAITIO_MPI_Group b, WAITIO_MPI_Group *out);
int WAITIO_MPI_Group_incl(WAITIO_MPI_Group group, int n, const int ranks[], WAITIO_MPI_Group *out);
int WAITIO_MPI_Group_excl(WAITIO_MPI_Group group, int n, const int ranks[], WAITIO_MPI_Group *out);
/** @param ranges first rank, last rank, stride */
int WAITIO_MPI_Group_range_incl(WAITIO_MPI_Group group, int n, int ranges[][3],
                                WAITIO_MPI_Group *out);
int WAITIO_MPI_Group_range_excl(WAITIO_MPI_Group group, int n, int ranges[][3],
                                WAITIO_MPI_Group *out);
int WAITIO_MPI_Group_free(WAITIO_MPI_Group *group);
/** Handle of @p comm as Fortran sees it, 0 on failure. */
int WAITIO_MPI_Comm_c2f(WAITIO_MPI_Comm comm);
/** Communicator of a Fortran handle, NULL when there is none. */
WAITIO_MPI_Comm WAITIO_MPI_Comm_f2c(int handle);
int WAITIO_MPI_Group_c2f(WAITIO_MPI_Group group);
WAITIO_MPI_Group WAITIO_MPI_Group_f2c(int handle);
/* Of all else but requests (which are larger than an integer: copy them) the number is the same. */
int WAITIO_MPI_Type_c2f(WAITIO_MPI_Datatype type);
WAITIO_MPI_Datatype WAITIO_MPI_Type_f2c(int handle);
int WAITIO_MPI_Op_c2f(WAITIO_MPI_Op op);
WAITIO_MPI_Op WAITIO_MPI_Op_f2c(int handle);
int WAITIO_MPI_Info_c2f(WAITIO_MPI_Info info);
WAITIO_MPI_Info WAITIO_MPI_Info_f2c(int handle);
int WAITIO_MPI_Errhandler_c2f(WAITIO_MPI_Errhandler handler);
WAITIO_MPI_Errhandler WAITIO_MPI_Errhandler_f2c(int handle);
int WAITIO_MPI_Message_c2f(WAITIO_MPI_Message message);
WAITIO_MPI_Message WAITIO_MPI_Message_f2c(int handle);
/** @param[out] fortran WAITIO_STATUS_SIZE integers */
int WAITIO_MPI_Status_c2f(const WAITIO_MPI_Status *c, int *fortran);
int WAITIO_MPI_Status_f2c(const int *fortran, WAITIO_MPI_Status *c);
/** Memory for buffers: any will do. @param[out] base_address where the pointer is put */
int WAITIO_MPI_Alloc_mem(WAITIO_MPI_Aint size, WAITIO_MPI_Info info, void *base_address);
int WAITIO_MPI_Free_mem(void *base);
/** For profilers; does nothing. */
int WAITIO_MPI_Pcontrol(int level, ...);
/* Datatypes. A derived type is committed before messages use it; freeing it leaves operations that
 * are under way alone. */
int WAITIO_MPI_Type_contiguous(int count, WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out);
int WAITIO_MPI_Type_vector(int count, int length, int stride, WAITIO_MPI_Datatype type,
                           WAITIO_MPI_Datatype *out);
int WAITIO_MPI_Type_create_hvector(int count, int length, WAITIO_MPI_Aint stride,
                                   WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out);
int WAITIO_MPI_Type_indexed(int count, const int lengths[], const int places[],
                            WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out);
int WAITIO_MPI_Type_create_hindexed(int count, const int lengths[], const WAITIO_MPI_Aint bytes[],
                                    WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out);
int WAITIO_MPI_Type_create_indexed_block(int count, int length, const int places[],
                                         WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out);
int WAITIO_MPI_Type_create_hindexed_block(int count, int length, const WAITIO_MPI_Aint bytes[],
                                          WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out);
int WAITIO_MPI_Type_create_struct(int count, const int lengths[], const WAITIO_MPI_Aint bytes[],
                                  const WAITIO_MPI_Datatype types[], WAITIO_MPI_Datatype *out);
/** @param order WAITIO_MPI_ORDER_C (last dimension fastest) or WAITIO_MPI_ORDER_FORTRAN */
int WAITIO_MPI_Type_create_subarray(int dims, const int sizes[], const int parts[],
                                    const int starts[], int order, WAITIO_MPI_Datatype type,
                                    WAITIO_MPI_Datatype *out);
/** The part of an array that process @p rank of a grid has; the grid is in row order.
 * @param distribs WAITIO_MPI_DISTRIBUTE_BLOCK, _CYCLIC, _NONE @param dargs sizes of blocks */
int WAITIO_MPI_Type_create_darray(int processes, int rank, int dims, const int sizes[],
                                  const int distribs[], const int dargs[], const int psizes[],
                                  int order, WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out);
int WAITIO_MPI_Type_create_resized(WAITIO_MPI_Datatype type, WAITIO_MPI_Aint lb,
                                   WAITIO_MPI_Aint extent, WAITIO_MPI_Datatype *out);
int WAITIO_MPI_Type_dup(WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out);
int WAITIO_MPI_Type_commit(WAITIO_MPI_Datatype *type);
int WAITIO_MPI_Type_free(WAITIO_MPI_Datatype *type);
/** Bytes of data in one element; WAITIO_MPI_UNDEFINED above INT_MAX. */
int WAITIO_MPI_Type_size(WAITIO_MPI_Datatype type, int *size);
int WAITIO_MPI_Type_get_extent(WAITIO_MPI_Datatype type, WAITIO_MPI_Aint *lb,
                               WAITIO_MPI_Aint *extent);
int WAITIO_MPI_Type_get_true_extent(WAITIO_MPI_Datatype type, WAITIO_MPI_Aint *lb,
                                    WAITIO_MPI_Aint *extent);
/* The same in wide integers. */
int WAITIO_MPI_Type_size_x(WAITIO_MPI_Datatype type, WAITIO_MPI_Count *size);
int WAITIO_MPI_Type_get_extent_x(WAITIO_MPI_Datatype type, WAITIO_MPI_Count *lb,
                                 WAITIO_MPI_Count *extent);
int WAITIO_MPI_Type_get_true_extent_x(WAITIO_MPI_Datatype type, WAITIO_MPI_Count *lb,
                                      WAITIO_MPI_Count *extent);
/** Basic types have names; others when they are given one. */
int WAITIO_MPI_Type_get_name(WAITIO_MPI_Datatype type, char *name, int *length);
int WAITIO_MPI_Type_set_name(WAITIO_MPI_Datatype type, const char *name);
/* Attributes of datatypes, as those of communicators. Type_dup copies them if their keys' functions
 * say so, Type_free deletes them. */
int WAITIO_MPI_Type_create_keyval(WAITIO_MPI_Type_copy_attr_function *copy_function,
                                  WAITIO_MPI_Type_delete_attr_function *delete_function,
                                  int *keyval, void *extra_state);
int WAITIO_MPI_Type_free_keyval(int *keyval);
int WAITIO_MPI_Type_set_attr(WAITIO_MPI_Datatype type, int keyval, void *value);
/** @param[out] value the pointer that was set */
int WAITIO_MPI_Type_get_attr(WAITIO_MPI_Datatype type, int keyval, void *value, int *flag);
int WAITIO_MPI_Type_delete_attr(WAITIO_MPI_Datatype type, int keyval);
/** How a type was made: a COMBINER_ number, and how many arguments its constructor had. */
int WAITIO_MPI_Type_get_envelope(WAITIO_MPI_Datatype type, int *num_integers, int *num_addresses,
                                 int *num_datatypes, int *combiner);
/** The arguments, in MPI's order. Derived types among them are new handles: the caller frees them.
 * Basic types have no contents. */
int WAITIO_MPI_Type_get_contents(WAITIO_MPI_Datatype type, int max_integers, int max_addresses,
                                 int max_datatypes, int array_of_integers[],
                                 WAITIO_MPI_Aint array_of_addresses[],
                                 WAITIO_MPI_Datatype array_of_datatypes[]);
/** The Fortran type of so many bytes. @param typeclass WAITIO_MPI_TYPECLASS_INTEGER, _REAL,
 * _COMPLEX
 */
int WAITIO_MPI_Type_match_size(int typeclass, int size, WAITIO_MPI_Datatype *out);
/** The type that Fortran's selected_int_kind(range), selected_real_kind(precision, range) give;
 * WAITIO_MPI_UNDEFINED where it does not matter. Not to be freed. */
int WAITIO_MPI_Type_create_f90_integer(int range, WAITIO_MPI_Datatype *out);
int WAITIO_MPI_Type_create_f90_real(int precision, int range, WAITIO_MPI_Datatype *out);
int WAITIO_MPI_Type_create_f90_complex(int precision, int range, WAITIO_MPI_Datatype *out);
int WAITIO_MPI_Get_address(const void *at, WAITIO_MPI_Aint *address);
WAITIO_MPI_Aint WAITIO_MPI_Aint_add(WAITIO_MPI_Aint base, WAITIO_MPI_Aint distance);
WAITIO_MPI_Aint WAITIO_MPI_Aint_diff(WAITIO_MPI_Aint a, WAITIO_MPI_Aint b);
/* MPI-1's names of the same. */
int WAITIO_MPI_Type_hvector(int count, int length, WAITIO_MPI_Aint stride, WAITIO_MPI_Datatype type,
                            WAITIO_MPI_Datatype *out);
int WAITIO_MPI_Type_hindexed(int count, const int lengths[], const WAITIO_MPI_Aint bytes[],
                             WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out);
int WAITIO_MPI_Type_struct(int count, const int lengths[], const WAITIO_MPI_Aint bytes[],
                           const WAITIO_MPI_Datatype types[], WAITIO_MPI_Datatype *out);
int WAITIO_MPI_Type_extent(WAITIO_MPI_Datatype type, WAITIO_MPI_Aint *extent);
int WAITIO_MPI_Type_lb(WAITIO_MPI_Datatype type, WAITIO_MPI_Aint *lb);
int WAITIO_MPI_Type_ub(WAITIO_MPI_Datatype type, WAITIO_MPI_Aint *ub);
int WAITIO_MPI_Address(const void *at, WAITIO_MPI_Aint *address);
/** Whole elements of @p type received, WAITIO_MPI_UNDEFINED when it is not a whole number. */
int WAITIO_MPI_Get_count(const WAITIO_MPI_Status *status, WAITIO_MPI_Datatype type, int *count);
/** Basic elements received, also of a last element of @p type that is not complete. */
int WAITIO_MPI_Get_elements(const WAITIO_MPI_Status *status, WAITIO_MPI_Datatype type, int *count);
int WAITIO_MPI_Get_elements_x(const WAITIO_MPI_Status *status, WAITIO_MPI_Datatype type,
                              WAITIO_MPI_Count *count);
/** Append elements to a buffer of @p room bytes at *position, which moves on. @p comm tells whether
 * numbers need the common form of unlike machines: it is the one that the buffer is sent in. */
int WAITIO_MPI_Pack(const void *in, int count, WAITIO_MPI_Datatype type, void *out, int room,
                    int *position, WAITIO_MPI_Comm comm);
int WAITIO_MPI_Unpack(const void *in, int room, int *position, void *out, int count,
                      WAITIO_MPI_Datatype type, WAITIO_MPI_Comm comm);
int WAITIO_MPI_Pack_size(int count, WAITIO_MPI_Datatype type, WAITIO_MPI_Comm comm, int *size);
/** The same in a form that does not depend on the machine or the library (MPI 4.0, 14.6.2), for
 * files and for programs without WaitIO. @param datarep "external32" @param room bytes of the
 * packed buffer @return 0; WAITIO_MPI_ERR_UNSUPPORTED_DATAREP; WAITIO_MPI_ERR_CONVERSION: a LONG or
 * an UNSIGNED_LONG does not fit into 4 bytes, or a WCHAR into 2 (*position stays); ARG, also when
 * there is too little room */
int WAITIO_MPI_Pack_external(const char *datarep, const void *in, int count,
                             WAITIO_MPI_Datatype type, void *out, WAITIO_MPI_Aint room,
                             WAITIO_MPI_Aint *position);
int WAITIO_MPI_Unpack_external(const char *datarep, const void *in, WAITIO_MPI_Aint room,
                               WAITIO_MPI_Aint *position, void *out, int count,
                               WAITIO_MPI_Datatype type);
int WAITIO_MPI_Pack_external_size(const char *datarep, int count, WAITIO_MPI_Datatype type,
                                  WAITIO_MPI_Aint *size);

/** @param commute non-zero: operands may change places; else they are folded in rank order */
int WAITIO_MPI_Op_create(WAITIO_MPI_User_function *function, int commute, WAITIO_MPI_Op *op);
/** The same for bindings: a function that also gets @p state, so that one function serves many
 * operators. @p state must live until the operator is freed and no operation uses it. */
int waitio_mpi_op_create_with(waitio_mpi_stateful_function *function, void *state, int commute,
                              WAITIO_MPI_Op *op);
int WAITIO_MPI_Op_free(WAITIO_MPI_Op *op);
int WAITIO_MPI_Op_commutative(WAITIO_MPI_Op op, int *commute);
/** inout[i] = in[i] op inout[i], without communication. */
int WAITIO_MPI_Reduce_local(const void *in, void *inout, int count, WAITIO_MPI_Datatype type,
                            WAITIO_MPI_Op op);

int WAITIO_MPI_Send(const void *buf, int count, WAITIO_MPI_Datatype type, int dest, int tag,
                    WAITIO_MPI_Comm comm);
/** Complete when a receive has taken the message, whatever its size. */
int WAITIO_MPI_Ssend(const void *buf, int count, WAITIO_MPI_Datatype type, int dest, int tag,
                     WAITIO_MPI_Comm comm);
int WAITIO_MPI_Issend(const void *buf, int count, WAITIO_MPI_Datatype type, int dest, int tag,
                      WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int WAITIO_MPI_Ssend_init(const void *buf, int count, WAITIO_MPI_Datatype type, int dest, int tag,
                          WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
/** Complete at once: the library keeps a copy. Buffers need not be attached; who detaches one waits
 * until what was sent in this mode has left. */
int WAITIO_MPI_Bsend(const void *buf, int count, WAITIO_MPI_Datatype type, int dest, int tag,
                     WAITIO_MPI_Comm comm);
int WAITIO_MPI_Ibsend(const void *buf, int count, WAITIO_MPI_Datatype type, int dest, int tag,
                      WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int WAITIO_MPI_Bsend_init(const void *buf, int count, WAITIO_MPI_Datatype type, int dest, int tag,
                          WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int WAITIO_MPI_Buffer_attach(void *buffer, int size);
int WAITIO_MPI_Buffer_detach(void *buffer_address, int *size);
/** As Send: a receive that is ready needs no other treatment here. */
int WAITIO_MPI_Rsend(const void *buf, int count, WAITIO_MPI_Datatype type, int dest, int tag,
                     WAITIO_MPI_Comm comm);
int WAITIO_MPI_Recv(void *buf, int count, WAITIO_MPI_Datatype type, int source, int tag,
                    WAITIO_MPI_Comm comm, WAITIO_MPI_Status *status);
int WAITIO_MPI_Isend(const void *buf, int count, WAITIO_MPI_Datatype type, int dest, int tag,
                     WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int WAITIO_MPI_Irsend(const void *buf, int count, WAITIO_MPI_Datatype type, int dest, int tag,
                      WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int WAITIO_MPI_Irecv(void *buf, int count, WAITIO_MPI_Datatype type, int source, int tag,
                     WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int WAITIO_MPI_Sendrecv(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, int dest, int stag,
                        void *rbuf, int rcount, WAITIO_MPI_Datatype rtype, int source, int rtag,
                        WAITIO_MPI_Comm comm, WAITIO_MPI_Status *status);
int WAITIO_MPI_Sendrecv_replace(void *buf, int count, WAITIO_MPI_Datatype type, int dest, int stag,
                                int source, int rtag, WAITIO_MPI_Comm comm,
                                WAITIO_MPI_Status *status);
/** The library sends a copy, so the request is that of the receive. */
int WAITIO_MPI_Isendrecv(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, int dest,
                         int stag, void *rbuf, int rcount, WAITIO_MPI_Datatype rtype, int source,
                         int rtag, WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int WAITIO_MPI_Isendrecv_replace(void *buf, int count, WAITIO_MPI_Datatype type, int dest, int stag,
                                 int source, int rtag, WAITIO_MPI_Comm comm,
                                 WAITIO_MPI_Request *req);
int WAITIO_MPI_Send_init(const void *buf, int count, WAITIO_MPI_Datatype type, int dest, int tag,
                         WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int WAITIO_MPI_Rsend_init(const void *buf, int count, WAITIO_MPI_Datatype type, int dest, int tag,
                          WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int WAITIO_MPI_Recv_init(void *buf, int count, WAITIO_MPI_Datatype type, int source, int tag,
                         WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int WAITIO_MPI_Start(WAITIO_MPI_Request *req);
int WAITIO_MPI_Startall(int count, WAITIO_MPI_Request reqs[]);
int WAITIO_MPI_Wait(WAITIO_MPI_Request *req, WAITIO_MPI_Status *status);
int WAITIO_MPI_Waitall(int count, WAITIO_MPI_Request reqs[], WAITIO_MPI_Status statuses[]);
int WAITIO_MPI_Waitany(int count, WAITIO_MPI_Request reqs[], int *index, WAITIO_MPI_Status *status);
/** WAITIO_MPI_Waitany() for at most @p seconds (<= 0: look once). For bindings of languages whose
 * threads must come back now and then. @param[out] flag 0: none was done in time. */
int waitio_mpi_waitany_for(int count, WAITIO_MPI_Request reqs[], double seconds, int *index,
                           int *flag, waitio_status_t *status);
int WAITIO_MPI_Test(WAITIO_MPI_Request *req, int *flag, WAITIO_MPI_Status *status);
int WAITIO_MPI_Testall(int count, WAITIO_MPI_Request reqs[], int *flag,
                       WAITIO_MPI_Status statuses[]);
int WAITIO_MPI_Testany(int count, WAITIO_MPI_Request reqs[], int *index, int *flag,
                       WAITIO_MPI_Status *status);
int WAITIO_MPI_Waitsome(int count, WAITIO_MPI_Request reqs[], int *done, int indices[],
                        WAITIO_MPI_Status statuses[]);
int WAITIO_MPI_Testsome(int count, WAITIO_MPI_Request reqs[], int *done, int indices[],
                        WAITIO_MPI_Status statuses[]);
int WAITIO_MPI_Probe(int source, int tag, WAITIO_MPI_Comm comm, WAITIO_MPI_Status *status);
int WAITIO_MPI_Iprobe(int source, int tag, WAITIO_MPI_Comm comm, int *flag,
                      WAITIO_MPI_Status *status);
/** Probes that take the message: only its handle receives it, so other threads cannot. It is kept
 * in memory of the library until then. */
int WAITIO_MPI_Mprobe(int source, int tag, WAITIO_MPI_Comm comm, WAITIO_MPI_Message *message,
                      WAITIO_MPI_Status *status);
int WAITIO_MPI_Improbe(int source, int tag, WAITIO_MPI_Comm comm, int *flag,
                       WAITIO_MPI_Message *message, WAITIO_MPI_Status *status);
int WAITIO_MPI_Mrecv(void *buf, int count, WAITIO_MPI_Datatype type, WAITIO_MPI_Message *message,
                     WAITIO_MPI_Status *status);
int WAITIO_MPI_Imrecv(void *buf, int count, WAITIO_MPI_Datatype type, WAITIO_MPI_Message *message,
                      WAITIO_MPI_Request *req);
/** As WAITIO_MPI_Test(), but the request stays what it is. */
int WAITIO_MPI_Request_get_status(WAITIO_MPI_Request req, int *flag, WAITIO_MPI_Status *status);
int WAITIO_MPI_Cancel(WAITIO_MPI_Request *req);
int WAITIO_MPI_Test_cancelled(const WAITIO_MPI_Status *status, int *flag);
int WAITIO_MPI_Request_free(WAITIO_MPI_Request *req);
/** What WAITIO_MPI_Get_elements() is to say of a status: for functions of generalized requests. */
int WAITIO_MPI_Status_set_elements(WAITIO_MPI_Status *status, WAITIO_MPI_Datatype type, int count);
int WAITIO_MPI_Status_set_elements_x(WAITIO_MPI_Status *status, WAITIO_MPI_Datatype type,
                                     WAITIO_MPI_Count count);
int WAITIO_MPI_Status_set_cancelled(WAITIO_MPI_Status *status, int flag);
/** A request for an operation of the program itself, complete when WAITIO_MPI_Grequest_complete()
 * is called, perhaps by another thread. Threads that wait for it sleep, and make progress with
 * other operations. The functions are called without locks; they may call this library. */
int WAITIO_MPI_Grequest_start(WAITIO_MPI_Grequest_query_function *query_fn,
                              WAITIO_MPI_Grequest_free_function *free_fn,
                              WAITIO_MPI_Grequest_cancel_function *cancel_fn, void *extra_state,
                              WAITIO_MPI_Request *req);
/** The program's operation has ended: who waits for @p req goes on. */
int WAITIO_MPI_Grequest_complete(WAITIO_MPI_Request req);

/* Collectives. WAITIO_MPI_IN_PLACE stands for the send buffer where MPI allows it (in scatters for
 * the receive buffer, both at the root). */
int WAITIO_MPI_Barrier(WAITIO_MPI_Comm comm);
int WAITIO_MPI_Bcast(void *buf, int count, WAITIO_MPI_Datatype type, int root,
                     WAITIO_MPI_Comm comm);
int WAITIO_MPI_Reduce(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                      WAITIO_MPI_Op op, int root, WAITIO_MPI_Comm comm);
int WAITIO_MPI_Allreduce(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                         WAITIO_MPI_Op op, WAITIO_MPI_Comm comm);
int WAITIO_MPI_Reduce_scatter(const void *sbuf, void *rbuf, const int rcounts[],
                              WAITIO_MPI_Datatype type, WAITIO_MPI_Op op, WAITIO_MPI_Comm comm);
int WAITIO_MPI_Reduce_scatter_block(const void *sbuf, void *rbuf, int rcount,
                                    WAITIO_MPI_Datatype type, WAITIO_MPI_Op op,
                                    WAITIO_MPI_Comm comm);
int WAITIO_MPI_Scan(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                    WAITIO_MPI_Op op, WAITIO_MPI_Comm comm);
int WAITIO_MPI_Exscan(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                      WAITIO_MPI_Op op, WAITIO_MPI_Comm comm);
int WAITIO_MPI_Gather(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                      int rcount, WAITIO_MPI_Datatype rtype, int root, WAITIO_MPI_Comm comm);
int WAITIO_MPI_Gatherv(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                       const int rcounts[], const int displs[], WAITIO_MPI_Datatype rtype, int root,
                       WAITIO_MPI_Comm comm);
int WAITIO_MPI_Scatter(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                       int rcount, WAITIO_MPI_Datatype rtype, int root, WAITIO_MPI_Comm comm);
int WAITIO_MPI_Scatterv(const void *sbuf, const int scounts[], const int displs[],
                        WAITIO_MPI_Datatype stype, void *rbuf, int rcount,
                        WAITIO_MPI_Datatype rtype, int root, WAITIO_MPI_Comm comm);
int WAITIO_MPI_Allgather(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                         int rcount, WAITIO_MPI_Datatype rtype, WAITIO_MPI_Comm comm);
int WAITIO_MPI_Allgatherv(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                          const int rcounts[], const int displs[], WAITIO_MPI_Datatype rtype,
                          WAITIO_MPI_Comm comm);
int WAITIO_MPI_Alltoall(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                        int rcount, WAITIO_MPI_Datatype rtype, WAITIO_MPI_Comm comm);
int WAITIO_MPI_Alltoallv(const void *sbuf, const int scounts[], const int sdispls[],
                         WAITIO_MPI_Datatype stype, void *rbuf, const int rcounts[],
                         const int rdispls[], WAITIO_MPI_Datatype rtype, WAITIO_MPI_Comm comm);
int WAITIO_MPI_Alltoallw(const void *sbuf, const int scounts[], const int sdispls[],
                         const WAITIO_MPI_Datatype stypes[], void *rbuf, const int rcounts[],
                         const int rdispls[], const WAITIO_MPI_Datatype rtypes[],
                         WAITIO_MPI_Comm comm);

/* The same, started: to be completed by wait or test, which also move them on. They may overlap,
 * but all members start them in the same order. */
/**
 * Let the next collective that this thread starts (WAITIO_MPI_Ibcast and its like) match the
 * blocking calls of the other members: for bindings of languages that wait in slices. It must be
 * complete before this process calls or starts another collective of the communicator.
 */
void waitio_mpi_blocking_next(void);
int WAITIO_MPI_Ibarrier(WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int WAITIO_MPI_Ibcast(void *buf, int count, WAITIO_MPI_Datatype type, int root,
                      WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int WAITIO_MPI_Ireduce(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                       WAITIO_MPI_Op op, int root, WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int WAITIO_MPI_Iallreduce(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                          WAITIO_MPI_Op op, WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int WAITIO_MPI_Ireduce_scatter(const void *sbuf, void *rbuf, const int rcounts[],
                               WAITIO_MPI_Datatype type, WAITIO_MPI_Op op, WAITIO_MPI_Comm comm,
                               WAITIO_MPI_Request *req);
int WAITIO_MPI_Ireduce_scatter_block(const void *sbuf, void *rbuf, int rcount,
                                     WAITIO_MPI_Datatype type, WAITIO_MPI_Op op,
                                     WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int WAITIO_MPI_Iscan(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                     WAITIO_MPI_Op op, WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int WAITIO_MPI_Iexscan(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                       WAITIO_MPI_Op op, WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int WAITIO_MPI_Igather(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                       int rcount, WAITIO_MPI_Datatype rtype, int root, WAITIO_MPI_Comm comm,
                       WAITIO_MPI_Request *req);
int WAITIO_MPI_Igatherv(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                        const int rcounts[], const int displs[], WAITIO_MPI_Datatype rtype,
                        int root, WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int WAITIO_MPI_Iscatter(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                        int rcount, WAITIO_MPI_Datatype rtype, int root, WAITIO_MPI_Comm comm,
                        WAITIO_MPI_Request *req);
int WAITIO_MPI_Iscatterv(const void *sbuf, const int scounts[], const int displs[],
                         WAITIO_MPI_Datatype stype, void *rbuf, int rcount,
                         WAITIO_MPI_Datatype rtype, int root, WAITIO_MPI_Comm comm,
                         WAITIO_MPI_Request *req);
int WAITIO_MPI_Iallgather(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                          int rcount, WAITIO_MPI_Datatype rtype, WAITIO_MPI_Comm comm,
                          WAITIO_MPI_Request *req);
int WAITIO_MPI_Iallgatherv(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                           const int rcounts[], const int displs[], WAITIO_MPI_Datatype rtype,
                           WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int WAITIO_MPI_Ialltoall(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                         int rcount, WAITIO_MPI_Datatype rtype, WAITIO_MPI_Comm comm,
                         WAITIO_MPI_Request *req);
int WAITIO_MPI_Ialltoallv(const void *sbuf, const int scounts[], const int sdispls[],
                          WAITIO_MPI_Datatype stype, void *rbuf, const int rcounts[],
                          const int rdispls[], WAITIO_MPI_Datatype rtype, WAITIO_MPI_Comm comm,
                          WAITIO_MPI_Request *req);
int WAITIO_MPI_Ialltoallw(const void *sbuf, const int scounts[], const int sdispls[],
                          const WAITIO_MPI_Datatype stypes[], void *rbuf, const int rcounts[],
                          const int rdispls[], const WAITIO_MPI_Datatype rtypes[],
                          WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);

/* Collectives of neighbourhoods, on grids and graphs: a block per neighbour, in the order of the
 * topology (grids: of each dimension first the lower, then the upper one). */
int WAITIO_MPI_Neighbor_allgather(const void *sbuf, int scount, WAITIO_MPI_Datatype stype,
                                  void *rbuf, int rcount, WAITIO_MPI_Datatype rtype,
                                  WAITIO_MPI_Comm comm);
int WAITIO_MPI_Neighbor_allgatherv(const void *sbuf, int scount, WAITIO_MPI_Datatype stype,
                                   void *rbuf, const int rcounts[], const int displs[],
                                   WAITIO_MPI_Datatype rtype, WAITIO_MPI_Comm comm);
int WAITIO_MPI_Neighbor_alltoall(const void *sbuf, int scount, WAITIO_MPI_Datatype stype,
                                 void *rbuf, int rcount, WAITIO_MPI_Datatype rtype,
                                 WAITIO_MPI_Comm comm);
int WAITIO_MPI_Neighbor_alltoallv(const void *sbuf, const int scounts[], const int sdispls[],
                                  WAITIO_MPI_Datatype stype, void *rbuf, const int rcounts[],
                                  const int rdispls[], WAITIO_MPI_Datatype rtype,
                                  WAITIO_MPI_Comm comm);
int WAITIO_MPI_Neighbor_alltoallw(const void *sbuf, const int scounts[],
                                  const WAITIO_MPI_Aint sdispls[],
                                  const WAITIO_MPI_Datatype stypes[], void *rbuf,
                                  const int rcounts[], const WAITIO_MPI_Aint rdispls[],
                                  const WAITIO_MPI_Datatype rtypes[], WAITIO_MPI_Comm comm);
int WAITIO_MPI_Ineighbor_allgather(const void *sbuf, int scount, WAITIO_MPI_Datatype stype,
                                   void *rbuf, int rcount, WAITIO_MPI_Datatype rtype,
                                   WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int WAITIO_MPI_Ineighbor_allgatherv(const void *sbuf, int scount, WAITIO_MPI_Datatype stype,
                                    void *rbuf, const int rcounts[], const int displs[],
                                    WAITIO_MPI_Datatype rtype, WAITIO_MPI_Comm comm,
                                    WAITIO_MPI_Request *req);
int WAITIO_MPI_Ineighbor_alltoall(const void *sbuf, int scount, WAITIO_MPI_Datatype stype,
                                  void *rbuf, int rcount, WAITIO_MPI_Datatype rtype,
                                  WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int WAITIO_MPI_Ineighbor_alltoallv(const void *sbuf, const int scounts[], const int sdispls[],
                                   WAITIO_MPI_Datatype stype, void *rbuf, const int rcounts[],
                                   const int rdispls[], WAITIO_MPI_Datatype rtype,
                                   WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req);
int WAITIO_MPI_Ineighbor_alltoallw(const void *sbuf, const int scounts[],
                                   const WAITIO_MPI_Aint sdispls[],
                                   const WAITIO_MPI_Datatype stypes[], void *rbuf,
                                   const int rcounts[], const WAITIO_MPI_Aint rdispls[],
                                   const WAITIO_MPI_Datatype rtypes[], WAITIO_MPI_Comm comm,
                                   WAITIO_MPI_Request *req);

/* Persistent collectives: WAITIO_MPI_Start() runs the call once more, with the buffers as they are
 * then. All members make them in the same order; they may start different ones in any order. */
int WAITIO_MPI_Barrier_init(WAITIO_MPI_Comm comm, WAITIO_MPI_Info info, WAITIO_MPI_Request *req);
int WAITIO_MPI_Bcast_init(void *buf, int count, WAITIO_MPI_Datatype type, int root,
                          WAITIO_MPI_Comm comm, WAITIO_MPI_Info info, WAITIO_MPI_Request *req);
int WAITIO_MPI_Reduce_init(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                           WAITIO_MPI_Op op, int root, WAITIO_MPI_Comm comm, WAITIO_MPI_Info info,
                           WAITIO_MPI_Request *req);
int WAITIO_MPI_Allreduce_init(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                              WAITIO_MPI_Op op, WAITIO_MPI_Comm comm, WAITIO_MPI_Info info,
                              WAITIO_MPI_Request *req);
int WAITIO_MPI_Reduce_scatter_init(const void *sbuf, void *rbuf, const int rcounts[],
                                   WAITIO_MPI_Datatype type, WAITIO_MPI_Op op, WAITIO_MPI_Comm comm,
                                   WAITIO_MPI_Info info, WAITIO_MPI_Request *req);
int WAITIO_MPI_Reduce_scatter_block_init(const void *sbuf, void *rbuf, int rcount,
                                         WAITIO_MPI_Datatype type, WAITIO_MPI_Op op,
                                         WAITIO_MPI_Comm comm, WAITIO_MPI_Info info,
                                         WAITIO_MPI_Request *req);
int WAITIO_MPI_Scan_init(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                         WAITIO_MPI_Op op, WAITIO_MPI_Comm comm, WAITIO_MPI_Info info,
                         WAITIO_MPI_Request *req);
int WAITIO_MPI_Exscan_init(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                           WAITIO_MPI_Op op, WAITIO_MPI_Comm comm, WAITIO_MPI_Info info,
                           WAITIO_MPI_Request *req);
int WAITIO_MPI_Gather_init(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                           int rcount, WAITIO_MPI_Datatype rtype, int root, WAITIO_MPI_Comm comm,
                           WAITIO_MPI_Info info, WAITIO_MPI_Request *req);
int WAITIO_MPI_Gatherv_init(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                            const int rcounts[], const int displs[], WAITIO_MPI_Datatype rtype,
                            int root, WAITIO_MPI_Comm comm, WAITIO_MPI_Info info,
                            WAITIO_MPI_Request *req);
int WAITIO_MPI_Scatter_init(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                            int rcount, WAITIO_MPI_Datatype rtype, int root, WAITIO_MPI_Comm comm,
                            WAITIO_MPI_Info info, WAITIO_MPI_Request *req);
int WAITIO_MPI_Scatterv_init(const void *sbuf, const int scounts[], const int displs[],
                             WAITIO_MPI_Datatype stype, void *rbuf, int rcount,
                             WAITIO_MPI_Datatype rtype, int root, WAITIO_MPI_Comm comm,
                             WAITIO_MPI_Info info, WAITIO_MPI_Request *req);
int WAITIO_MPI_Allgather_init(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                              int rcount, WAITIO_MPI_Datatype rtype, WAITIO_MPI_Comm comm,
                              WAITIO_MPI_Info info, WAITIO_MPI_Request *req);
int WAITIO_MPI_Allgatherv_init(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                               const int rcounts[], const int displs[], WAITIO_MPI_Datatype rtype,
                               WAITIO_MPI_Comm comm, WAITIO_MPI_Info info, WAITIO_MPI_Request *req);
int WAITIO_MPI_Alltoall_init(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                             int rcount, WAITIO_MPI_Datatype rtype, WAITIO_MPI_Comm comm,
                             WAITIO_MPI_Info info, WAITIO_MPI_Request *req);
int WAITIO_MPI_Alltoallv_init(const void *sbuf, const int scounts[], const int sdispls[],
                              WAITIO_MPI_Datatype stype, void *rbuf, const int rcounts[],
                              const int rdispls[], WAITIO_MPI_Datatype rtype, WAITIO_MPI_Comm comm,
                              WAITIO_MPI_Info info, WAITIO_MPI_Request *req);
int WAITIO_MPI_Alltoallw_init(const void *sbuf, const int scounts[], const int sdispls[],
                              const WAITIO_MPI_Datatype stypes[], void *rbuf, const int rcounts[],
                              const int rdispls[], const WAITIO_MPI_Datatype rtypes[],
                              WAITIO_MPI_Comm comm, WAITIO_MPI_Info info, WAITIO_MPI_Request *req);
int WAITIO_MPI_Neighbor_allgather_init(const void *sbuf, int scount, WAITIO_MPI_Datatype stype,
                                       void *rbuf, int rcount, WAITIO_MPI_Datatype rtype,
                                       WAITIO_MPI_Comm comm, WAITIO_MPI_Info info,
                                       WAITIO_MPI_Request *req);
int WAITIO_MPI_Neighbor_allgatherv_init(const void *sbuf, int scount, WAITIO_MPI_Datatype stype,
                                        void *rbuf, const int rcounts[], const int displs[],
                                        WAITIO_MPI_Datatype rtype, WAITIO_MPI_Comm comm,
                                        WAITIO_MPI_Info info, WAITIO_MPI_Request *req);
int WAITIO_MPI_Neighbor_alltoall_init(const void *sbuf, int scount, WAITIO_MPI_Datatype stype,
                                      void *rbuf, int rcount, WAITIO_MPI_Datatype rtype,
                                      WAITIO_MPI_Comm comm, WAITIO_MPI_Info info,
                                      WAITIO_MPI_Request *req);
int WAITIO_MPI_Neighbor_alltoallv_init(const void *sbuf, const int scounts[], const int sdispls[],
                                       WAITIO_MPI_Datatype stype, void *rbuf, const int rcounts[],
                                       const int rdispls[], WAITIO_MPI_Datatype rtype,
                                       WAITIO_MPI_Comm comm, WAITIO_MPI_Info info,
                                       WAITIO_MPI_Request *req);
int WAITIO_MPI_Neighbor_alltoallw_init(const void *sbuf, const int scounts[],
                                       const WAITIO_MPI_Aint sdispls[],
                                       const WAITIO_MPI_Datatype stypes[], void *rbuf,
                                       const int rcounts[], const WAITIO_MPI_Aint rdispls[],
                                       const WAITIO_MPI_Datatype rtypes[], WAITIO_MPI_Comm comm,
                                       WAITIO_MPI_Info info, WAITIO_MPI_Request *req);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
} /* extern "C" */
#endif

#include "waitio_mpi_large.h"   /* the same calls with wide counts, as WAITIO_MPI_..._c */
#include "waitio_mpi_profile.h" /* all of them as WAITIO_PMPI_... */

#endif /* WAITIO_MPI_H */
