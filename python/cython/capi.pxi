# SPDX-License-Identifier: BSD-3-Clause
# What is used of the C interface.

from libc.stdint cimport int32_t, uint64_t, uintptr_t
from libc.string cimport memset

from cpython.buffer cimport (
    PyBUF_ANY_CONTIGUOUS,
    PyBUF_SIMPLE,
    PyBUF_WRITABLE,
    PyBuffer_Release,
    PyObject_CheckBuffer,
    PyObject_GetBuffer,
)
from cpython.bytearray cimport PyByteArray_FromStringAndSize
from cpython.exc cimport PyErr_CheckSignals, PyErr_Occurred
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc


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
    int waitio_irecv(waitio_group_t group, int src, void *buf, size_t bytes, waitio_tag_t tag,
                     waitio_req_t *req)
    int waitio_wait_for(waitio_req_t *req, double seconds, int *flag, waitio_status_t *status)
    int waitio_test(waitio_req_t *req, int *flag, waitio_status_t *status)
    int waitio_waitany_for(int n, waitio_req_t *reqs, double seconds, int *index, int *flag,
                           waitio_status_t *status)
    int waitio_cancel(waitio_req_t *req)
    int waitio_probe_for(waitio_group_t group, int src, waitio_tag_t tag, double seconds, int *flag,
                         waitio_status_t *status)
    const char *waitio_strerror(int code)
    const char *waitio_last_error()
    int waitio_get_version(int *major, int *minor, int *patch)
    int waitio_counter(const char *name, uint64_t *value)
    const char *waitio_counter_name(int i)
