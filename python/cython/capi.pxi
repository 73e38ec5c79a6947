# SPDX-License-Identifier: BSD-3-Clause
# What is used of the C interface.

from libc.stdint cimport (
    int32_t,
    int64_t,
    intptr_t,
    uint8_t,
    uint16_t,
    uint32_t,
    uint64_t,
    uintptr_t,
)
from libc.stdlib cimport realloc
from libc.string cimport memcmp, memcpy, memset

from cpython.buffer cimport (
    PyBUF_ANY_CONTIGUOUS,
    PyBUF_FORMAT,
    PyBUF_ND,
    PyBUF_SIMPLE,
    PyBUF_STRIDES,
    PyBUF_WRITABLE,
    PyBuffer_Release,
    PyObject_CheckBuffer,
    PyObject_GetBuffer,
)
from cpython.bytearray cimport PyByteArray_FromStringAndSize
from cpython.exc cimport PyErr_CheckSignals, PyErr_Occurred
from cpython.ref cimport Py_INCREF, Py_XDECREF, PyObject
from cpython.mem cimport PyMem_Free, PyMem_Malloc


cdef extern from "guard.h" nogil:
    bint joined "wio_py_joined"   # calls go straight to C
    bint left "wio_py_left"       # finalize has begun
    bint gone "wio_py_gone"       # finalize is over: nothing is under way any more
    bint forked "wio_py_forked"   # we are a child of the process that joined
    int colls "wio_py_colls"      # collectives under way
    int inside "wio_py_inside"    # guarded calls of C under way

    bint go_in "wio_py_go_in"()
    int come_out "wio_py_come_out"(int rc)
    void count_colls "wio_py_count_colls"(int more)
    void lock_orphans "wio_py_lock_orphans"()
    void unlock_orphans "wio_py_unlock_orphans"()
    bint take_over "wio_py_take"(int *busy)
    void give_back "wio_py_give"(int *busy)


# Most of these are guarded (guard.h): refused while another thread is in finalize.
cdef extern from "waitio.h" nogil:
    enum:
        WAITIO_ANY_SOURCE
        WAITIO_ANY_TAG
        WAITIO_UNDEFINED
        WAITIO_SUCCESS
        WAITIO_ERR_ARG
        WAITIO_ERR_GROUP
        WAITIO_ERR_STATE
        WAITIO_ERR_FORK
        WAITIO_ERR_TIMEOUT
        WAITIO_ERR_TRUNCATE
        WAITIO_ERR_PEER
        WAITIO_ERR_LIMIT
        WAITIO_ERR_RANK
        WAITIO_ERR_TAG
        WAITIO_ERR_CANCELLED
        WAITIO_ERR_REQUEST
        WAITIO_ERR_UNSUPPORTED
        WAITIO_ERR_BUSY
        WAITIO_ERR_NOMEM
        WAITIO_ERR_SYSTEM

    struct waitio_group
    ctypedef waitio_group *waitio_group_t
    ctypedef int32_t waitio_tag_t

    ctypedef struct waitio_req_t:
        int32_t opaque[22]

    ctypedef struct waitio_status_t:
        int source
        int tag
        int error
        int cancelled
        size_t bytes

    int waitio_init(int timeout)
    int waitio_finalize()
    int waitio_rejoin(int timeout)
    int waitio_resume_mark(uint64_t *mark)
    int waitio_resume_from(uint64_t mark)
    int waitio_initialized(int *flag)
    void waitio_abort(int code)
    int waitio_pb_size(int *npb)
    int waitio_pb_rank(int *pbid)
    int waitio_get_nprocs_array(int **nprocs)
    int waitio_universe_rank(int *rank)
    int waitio_universe_size(int *size)
    waitio_group_t waitio_create_group_wranks(int gid, int **rank, int *order)
    int waitio_group_universe(int gid, waitio_group_t *group)
    int waitio_group_pb(int gid, int pbid, waitio_group_t *group)
    int waitio_group_free(waitio_group_t *group)
    int waitio_group_size(waitio_group_t group, int *size)
    int waitio_group_rank(waitio_group_t group, int *rank)
    int waitio_group_locate(waitio_group_t group, int rank, int *pbid, int *pb_rank)
    int waitio_group_find(waitio_group_t group, int pbid, int pb_rank, int *rank)
    int waitio_group_to_universe(waitio_group_t group, int rank, int *universe_rank)
    int waitio_group_from_universe(waitio_group_t group, int universe_rank, int *rank)
    int waitio_isend(waitio_group_t group, int dst, const void *buf, size_t bytes, waitio_tag_t tag,
                     waitio_req_t *req)
    int isend_released "wio_py_isend_released"(waitio_group_t group, int dst, const void *buf,
                                               size_t bytes, waitio_tag_t tag, waitio_req_t *req)
    int waitio_irecv(waitio_group_t group, int src, void *buf, size_t bytes, waitio_tag_t tag,
                     waitio_req_t *req)
    int waitio_wait_for(waitio_req_t *req, double seconds, int *flag, waitio_status_t *status)
    int waitio_test(waitio_req_t *req, int *flag, waitio_status_t *status)
    int waitio_waitany_for(int n, waitio_req_t *reqs, double seconds, int *index, int *flag,
                           waitio_status_t *status)
    int waitio_cancel(waitio_req_t *req)
    int waitio_send_init(waitio_group_t group, int dst, const void *buf, size_t bytes,
                         waitio_tag_t tag, waitio_req_t *req)
    int waitio_recv_init(waitio_group_t group, int src, void *buf, size_t bytes, waitio_tag_t tag,
                         waitio_req_t *req)
    int waitio_start(waitio_req_t *req)
    int waitio_request_free(waitio_req_t *req)
    int waitio_event_open(int *fd)
    int waitio_event_arm(int fd)
    int waitio_event_close(int fd)
    int waitio_probe_for(waitio_group_t group, int src, waitio_tag_t tag, double seconds, int *flag,
                         waitio_status_t *status)
    const char *waitio_strerror(int code)
    const char *waitio_last_error()
    int waitio_get_version(int *major, int *minor, int *patch)
    int waitio_counter(const char *name, uint64_t *value)
    const char *waitio_counter_name(int i)
    int waitio_trace_begin(const char *name)
    int waitio_trace_end(const char *name)


cdef extern from "waitio_mpi.h" nogil:
    enum:
        WAITIO_MPI_BYTE
        WAITIO_MPI_CHAR
        WAITIO_MPI_C_BOOL
        WAITIO_MPI_SHORT
        WAITIO_MPI_INT
        WAITIO_MPI_LONG
        WAITIO_MPI_INT8_T
        WAITIO_MPI_INT16_T
        WAITIO_MPI_INT32_T
        WAITIO_MPI_INT64_T
        WAITIO_MPI_UINT8_T
        WAITIO_MPI_UINT16_T
        WAITIO_MPI_UINT32_T
        WAITIO_MPI_UINT64_T
        WAITIO_MPI_FLOAT
        WAITIO_MPI_DOUBLE
        WAITIO_MPI_LONG_DOUBLE
        WAITIO_MPI_C_COMPLEX
        WAITIO_MPI_C_DOUBLE_COMPLEX
        WAITIO_MPI_FLOAT_INT
        WAITIO_MPI_DOUBLE_INT
        WAITIO_MPI_LONG_INT
        WAITIO_MPI_2INT
        WAITIO_MPI_SUM
        WAITIO_MPI_PROD
        WAITIO_MPI_MAX
        WAITIO_MPI_MIN
        WAITIO_MPI_LAND
        WAITIO_MPI_LOR
        WAITIO_MPI_LXOR
        WAITIO_MPI_BAND
        WAITIO_MPI_BOR
        WAITIO_MPI_BXOR
        WAITIO_MPI_MINLOC
        WAITIO_MPI_MAXLOC
        WAITIO_MPI_UNDEFINED
        WAITIO_MPI_ERRORS_RETURN
        WAITIO_MPI_ORDER_C
        WAITIO_MPI_ORDER_FORTRAN
        WAITIO_MPI_COMM_TYPE_SHARED
        WAITIO_MPI_COMM_TYPE_PB

    void *WAITIO_MPI_IN_PLACE

    ctypedef struct WAITIO_MPI_Status:
        int MPI_SOURCE
        int MPI_TAG
        size_t waitio_bytes

    double WAITIO_MPI_Wtime()
    double WAITIO_MPI_Wtick()
    int WAITIO_MPIX_Comm_failure_ack(waitio_group_t comm)
    int WAITIO_MPI_Cancel(waitio_req_t *req)
    int WAITIO_MPI_Isend(const void *buf, int count, int type, int dest, int tag,
                         waitio_group_t comm, waitio_req_t *req)
    int WAITIO_MPI_Irecv(void *buf, int count, int type, int source, int tag, waitio_group_t comm,
                         waitio_req_t *req)
    int WAITIO_MPI_Improbe(int source, int tag, waitio_group_t comm, int *flag, int *message,
                           WAITIO_MPI_Status *status)
    int WAITIO_MPI_Imrecv(void *buf, int count, int type, int *message, waitio_req_t *req)
    int WAITIO_MPI_Type_contiguous(int count, int type, int *out)
    int WAITIO_MPI_Type_vector(int count, int length, int stride, int type, int *out)
    int WAITIO_MPI_Type_create_hvector(int count, int length, intptr_t stride, int type, int *out)
    int WAITIO_MPI_Type_indexed(int count, const int *lengths, const int *places, int type,
                                int *out)
    int WAITIO_MPI_Type_create_hindexed(int count, const int *lengths, const intptr_t *bytes,
                                        int type, int *out)
    int WAITIO_MPI_Type_create_struct(int count, const int *lengths, const intptr_t *bytes,
                                      const int *types, int *out)
    int WAITIO_MPI_Type_create_subarray(int dims, const int *sizes, const int *parts,
                                        const int *starts, int order, int type, int *out)
    int WAITIO_MPI_Type_create_resized(int type, intptr_t lb, intptr_t extent, int *out)
    int WAITIO_MPI_Type_commit(int *type)
    int WAITIO_MPI_Type_free(int *type)
    int WAITIO_MPI_Type_get_true_extent(int type, intptr_t *lb, intptr_t *extent)
    int WAITIO_MPI_Op_create(void *function, int commute, int *op)
    int WAITIO_MPI_Op_free(int *op)
    int WAITIO_MPI_Comm_split_type(waitio_group_t comm, int type, int key, int info,
                                   waitio_group_t *out)
    int WAITIO_MPI_Comm_group(waitio_group_t comm, waitio_group_t *out)
    int WAITIO_MPI_Group_incl(waitio_group_t group, int n, const int *ranks, waitio_group_t *out)
    int WAITIO_MPI_Group_free(waitio_group_t *group)
    int WAITIO_MPI_Comm_create_group(waitio_group_t comm, waitio_group_t group, int tag,
                                     waitio_group_t *out)
    int WAITIO_MPI_Ireduce_scatter_block(const void *sbuf, void *rbuf, int count, int type, int op,
                                         waitio_group_t comm, waitio_req_t *req)
    void waitio_mpi_blocking_next()
    int waitio_mpi_waitany_for(int n, waitio_req_t *reqs, double seconds, int *index, int *flag,
                               waitio_status_t *status)
    int WAITIO_MPI_Comm_set_errhandler(waitio_group_t comm, int handler)
    int WAITIO_MPI_Type_get_extent(int type, intptr_t *lb, intptr_t *extent)
    int WAITIO_MPI_Type_size(int type, int *size)
    int WAITIO_MPI_Issend(const void *buf, int count, int type, int dest, int tag,
                          waitio_group_t comm, waitio_req_t *req)
    int WAITIO_MPI_Ssend_init(const void *buf, int count, int type, int dest, int tag,
                              waitio_group_t comm, waitio_req_t *req)
    int WAITIO_MPI_Comm_dup(waitio_group_t comm, waitio_group_t *out)
    int WAITIO_MPI_Comm_split(waitio_group_t comm, int color, int key, waitio_group_t *out)
    int WAITIO_MPI_Ibarrier(waitio_group_t comm, waitio_req_t *req)
    int WAITIO_MPI_Ibcast(void *buf, int count, int type, int root, waitio_group_t comm,
                          waitio_req_t *req)
    int WAITIO_MPI_Ireduce(const void *sbuf, void *rbuf, int count, int type, int op, int root,
                           waitio_group_t comm, waitio_req_t *req)
    int WAITIO_MPI_Iallreduce(const void *sbuf, void *rbuf, int count, int type, int op,
                              waitio_group_t comm, waitio_req_t *req)
    int WAITIO_MPI_Iscan(const void *sbuf, void *rbuf, int count, int type, int op,
                         waitio_group_t comm, waitio_req_t *req)
    int WAITIO_MPI_Iexscan(const void *sbuf, void *rbuf, int count, int type, int op,
                           waitio_group_t comm, waitio_req_t *req)
    int WAITIO_MPI_Ireduce_scatter(const void *sbuf, void *rbuf, const int *rcounts, int type,
                                   int op, waitio_group_t comm, waitio_req_t *req)
    int WAITIO_MPI_Igather(const void *sbuf, int scount, int stype, void *rbuf, int rcount,
                           int rtype, int root, waitio_group_t comm, waitio_req_t *req)
    int WAITIO_MPI_Igatherv(const void *sbuf, int scount, int stype, void *rbuf,
                            const int *rcounts, const int *displs, int rtype, int root,
                            waitio_group_t comm, waitio_req_t *req)
    int WAITIO_MPI_Iscatter(const void *sbuf, int scount, int stype, void *rbuf, int rcount,
                            int rtype, int root, waitio_group_t comm, waitio_req_t *req)
    int WAITIO_MPI_Iscatterv(const void *sbuf, const int *scounts, const int *displs, int stype,
                             void *rbuf, int rcount, int rtype, int root, waitio_group_t comm,
                             waitio_req_t *req)
    int WAITIO_MPI_Iallgather(const void *sbuf, int scount, int stype, void *rbuf, int rcount,
                              int rtype, waitio_group_t comm, waitio_req_t *req)
    int WAITIO_MPI_Iallgatherv(const void *sbuf, int scount, int stype, void *rbuf,
                               const int *rcounts, const int *displs, int rtype,
                               waitio_group_t comm, waitio_req_t *req)
    int WAITIO_MPI_Ialltoall(const void *sbuf, int scount, int stype, void *rbuf, int rcount,
                             int rtype, waitio_group_t comm, waitio_req_t *req)
    int WAITIO_MPI_Ialltoallv(const void *sbuf, const int *scounts, const int *sdispls, int stype,
                              void *rbuf, const int *rcounts, const int *rdispls, int rtype,
                              waitio_group_t comm, waitio_req_t *req)
