/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file guard.h
 * What threads of the extension share, and the guard that keeps finalize() from freeing the library
 * under a call of another thread. A call counts itself in, and then looks whether the universe is
 * being left; finalize() says so, and then waits until nobody is in. One of the two sees the other.
 *
 * Where the interpreter has a lock, calls that keep it need no guard: finalize() has it when it
 * says so. Such calls are quick ones, and an atomic operation would cost them more than they take.
 */
#ifndef WAITIO_PYTHON_GUARD_H
#define WAITIO_PYTHON_GUARD_H

#include <Python.h>
#include <pthread.h>
#include <stdatomic.h>

#include "waitio.h"
#include "waitio_mpi.h"

/* The traceback that a user reads names no files that only the build had: of all frames of this
 * extension it shows the innermost, as of a file <waitio>. (None at all would be shorter, but
 * Cython's code takes it that an exception that it handles has a traceback.) */
#ifndef WIO_PY_FRAMES
static inline int wio_py_trace(PyFrameObject *frame)
{
    PyObject *type, *value, *trace;

    PyErr_Fetch(&type, &value, &trace);
    PyErr_Restore(type, value, trace);
    return trace != NULL ? 0 : PyTraceBack_Here(frame);
}
#define PyTraceBack_Here(frame) wio_py_trace(frame)
#define PyCode_NewEmpty(file, name, line) (PyCode_NewEmpty)("<waitio>", name, line)
#endif

static _Atomic int wio_py_joined; /* calls go straight to C */
static _Atomic int wio_py_left;   /* finalize has begun */
static _Atomic int wio_py_gone;   /* finalize is over: nothing is under way any more */
static _Atomic int wio_py_forked; /* we are a child of the process that joined */
static _Atomic int wio_py_colls;  /* collectives under way */
static _Atomic int wio_py_inside; /* guarded calls under way */
static pthread_mutex_t wio_py_orphans = PTHREAD_MUTEX_INITIALIZER;

static inline int wio_py_go_in(void)
{
    atomic_fetch_add(&wio_py_inside, 1);
    if (!wio_py_left)
        return 1;
    atomic_fetch_sub(&wio_py_inside, 1);
    return 0;
}

static inline int wio_py_come_out(int rc)
{
    atomic_fetch_sub(&wio_py_inside, 1);
    return rc;
}

/** How many collectives are under way: @p more of them. */
static inline void wio_py_count_colls(int more)
{
    atomic_fetch_add(&wio_py_colls, more);
}

static inline void wio_py_lock_orphans(void)
{
    pthread_mutex_lock(&wio_py_orphans);
}

static inline void wio_py_unlock_orphans(void)
{
    pthread_mutex_unlock(&wio_py_orphans);
}

/** May this thread complete the request? Several at once would confuse the library. */
static inline int wio_py_take(int *busy)
{
#ifdef Py_GIL_DISABLED
    return __atomic_exchange_n(busy, 1, __ATOMIC_ACQUIRE) == 0;
#else
    int was = *busy;
    *busy = 1;
    return was == 0;
#endif
}

/** Another one may. */
static inline void wio_py_give(int *busy)
{
    __atomic_store_n(busy, 0, __ATOMIC_RELEASE);
}

/* What is refused starts nothing; looking finds that nothing has happened (the flag stays 0). */
#define WIO_PY_GUARDED(call, refused) (wio_py_go_in() ? wio_py_come_out(call) : (refused))
#define WIO_PY_ALWAYS(call) WIO_PY_GUARDED(call, WAITIO_ERR_STATE)
#define WIO_PY_LOOK(call) WIO_PY_GUARDED(call, 0)
#ifdef Py_GIL_DISABLED
#define WIO_PY_QUICK(call) WIO_PY_ALWAYS(call)
#define WIO_PY_QUICK_LOOK(call) WIO_PY_LOOK(call)
#else
#define WIO_PY_QUICK(call) (call)
#define WIO_PY_QUICK_LOOK(call) (call)
#endif

/* Made with and without the interpreter's lock. */
static inline int wio_py_isend_released(waitio_group_t group, int dst, const void *buf,
                                        size_t bytes, waitio_tag_t tag, waitio_req_t *req)
{
    return WIO_PY_ALWAYS(waitio_isend(group, dst, buf, bytes, tag, req));
}

#define waitio_wait_for(...) WIO_PY_LOOK((waitio_wait_for)(__VA_ARGS__))
#define waitio_waitany_for(...) WIO_PY_LOOK((waitio_waitany_for)(__VA_ARGS__))
#define waitio_mpi_waitany_for(...) WIO_PY_LOOK((waitio_mpi_waitany_for)(__VA_ARGS__))
#define waitio_probe_for(...) WIO_PY_LOOK((waitio_probe_for)(__VA_ARGS__))
#define WAITIO_MPI_Isend(...) WIO_PY_ALWAYS((WAITIO_MPI_Isend)(__VA_ARGS__))
#define WAITIO_MPI_Irecv(...) WIO_PY_ALWAYS((WAITIO_MPI_Irecv)(__VA_ARGS__))
#define WAITIO_MPI_Imrecv(...) WIO_PY_ALWAYS((WAITIO_MPI_Imrecv)(__VA_ARGS__))
#define WAITIO_MPI_Improbe(...) WIO_PY_LOOK((WAITIO_MPI_Improbe)(__VA_ARGS__))
#define WAITIO_MPI_Cancel(...) WIO_PY_QUICK((WAITIO_MPI_Cancel)(__VA_ARGS__))
#define WAITIO_MPI_Issend(...) WIO_PY_ALWAYS((WAITIO_MPI_Issend)(__VA_ARGS__))

#define waitio_test(...) WIO_PY_QUICK_LOOK((waitio_test)(__VA_ARGS__))
#define waitio_isend(...) WIO_PY_QUICK((waitio_isend)(__VA_ARGS__))
#define waitio_irecv(...) WIO_PY_QUICK((waitio_irecv)(__VA_ARGS__))
#define waitio_cancel(...) WIO_PY_QUICK((waitio_cancel)(__VA_ARGS__))
#define waitio_send_init(...) WIO_PY_QUICK((waitio_send_init)(__VA_ARGS__))
#define waitio_recv_init(...) WIO_PY_QUICK((waitio_recv_init)(__VA_ARGS__))
#define WAITIO_MPI_Ssend_init(...) WIO_PY_QUICK((WAITIO_MPI_Ssend_init)(__VA_ARGS__))
#define waitio_start(...) WIO_PY_QUICK((waitio_start)(__VA_ARGS__))
#define waitio_request_free(...) WIO_PY_QUICK((waitio_request_free)(__VA_ARGS__))
#define waitio_event_open(...) WIO_PY_QUICK((waitio_event_open)(__VA_ARGS__))
#define waitio_event_arm(...) WIO_PY_QUICK((waitio_event_arm)(__VA_ARGS__))
#define waitio_trace_begin(...) WIO_PY_LOOK((waitio_trace_begin)(__VA_ARGS__))
#define waitio_trace_end(...) WIO_PY_LOOK((waitio_trace_end)(__VA_ARGS__))
#define waitio_counter(...) WIO_PY_QUICK((waitio_counter)(__VA_ARGS__))
#define waitio_pb_size(...) WIO_PY_QUICK((waitio_pb_size)(__VA_ARGS__))
#define waitio_pb_rank(...) WIO_PY_QUICK((waitio_pb_rank)(__VA_ARGS__))
#define waitio_universe_rank(...) WIO_PY_QUICK((waitio_universe_rank)(__VA_ARGS__))
#define waitio_universe_size(...) WIO_PY_QUICK((waitio_universe_size)(__VA_ARGS__))
#define waitio_group_universe(...) WIO_PY_QUICK((waitio_group_universe)(__VA_ARGS__))
#define waitio_group_pb(...) WIO_PY_QUICK((waitio_group_pb)(__VA_ARGS__))
#define waitio_group_free(...) WIO_PY_QUICK((waitio_group_free)(__VA_ARGS__))
#define waitio_group_size(...) WIO_PY_QUICK((waitio_group_size)(__VA_ARGS__))
#define waitio_group_rank(...) WIO_PY_QUICK((waitio_group_rank)(__VA_ARGS__))
#define waitio_group_locate(...) WIO_PY_QUICK((waitio_group_locate)(__VA_ARGS__))
#define waitio_group_find(...) WIO_PY_QUICK((waitio_group_find)(__VA_ARGS__))
#define waitio_group_to_universe(...) WIO_PY_QUICK((waitio_group_to_universe)(__VA_ARGS__))
#define waitio_group_from_universe(...) WIO_PY_QUICK((waitio_group_from_universe)(__VA_ARGS__))

#endif
