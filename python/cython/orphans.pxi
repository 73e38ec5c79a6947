# SPDX-License-Identifier: BSD-3-Clause
# Operations that nobody waits for any more (a dropped request, an interrupted call) while the
# library may still read or write their memory: it is held until they are over.

cdef struct orphan:
    waitio_req_t req
    Py_buffer view
    PyObject *keep   # of a collective: its memory
    bint persistent

cdef orphan *orphans = NULL
cdef size_t first_orphan = 0, end_orphans = 0, room_orphans = 0


cdef inline int test_one(waitio_req_t *req, int *flag, waitio_status_t *st) noexcept:
    """Test; with collectives under way in the way that moves them on."""
    cdef int index
    if colls > 0:
        return waitio_mpi_waitany_for(1, req, 0, &index, flag, st)
    return waitio_test(req, flag, st)


cdef void let_go(orphan *o):
    if o.persistent and joined and not left:
        waitio_request_free(&o.req)
    PyBuffer_Release(&o.view)
    Py_XDECREF(o.keep)


cdef void sweep():
    """Let go of the oldest that are over."""
    global first_orphan, end_orphans
    global colls
    cdef int flag, code
    cdef waitio_status_t status
    cdef orphan over
    while first_orphan < end_orphans:
        flag = 0
        memset(&status, 0, sizeof(status))
        code = test_one(&orphans[first_orphan].req, &flag, &status)
        if code == 0 and not flag:
            return
        over = orphans[first_orphan]  # another thread may sweep or adopt during a copy
        first_orphan += 1
        colls -= over.keep != NULL
        arrived(&over.view, <object> over.keep if over.keep != NULL else None, code, &status)
        let_go(&over)
    if first_orphan >= end_orphans:
        first_orphan = end_orphans = 0


cdef void arrived(Py_buffer *view, object keep, int code, const waitio_status_t *status):
    """Something that nobody waits for is over."""
    if is_staged(view):
        land_unseen(view, status.bytes)
    if keep is not None and code == 0:
        land_blocks_unseen(keep)


cdef void adopt(waitio_req_t *req, Py_buffer *view, object keep, bint persistent):
    global orphans, room_orphans, end_orphans, first_orphan
    cdef orphan *more
    cdef size_t i
    if end_orphans == room_orphans and first_orphan > room_orphans // 2:
        for i in range(first_orphan, end_orphans):
            orphans[i - first_orphan] = orphans[i]
        end_orphans -= first_orphan
        first_orphan = 0
    if end_orphans == room_orphans:
        more = <orphan *> PyMem_Realloc(orphans, (room_orphans * 2 + 64) * sizeof(orphan))
        if more == NULL:
            if keep is not None:
                Py_INCREF(keep)
            return  # the memory stays held for good: better than written to after it was freed
        orphans = more
        room_orphans = room_orphans * 2 + 64
    orphans[end_orphans].req = req[0]
    orphans[end_orphans].view = view[0]
    orphans[end_orphans].keep = NULL
    orphans[end_orphans].persistent = persistent
    if keep is not None:
        Py_INCREF(keep)
        orphans[end_orphans].keep = <PyObject *> keep
    end_orphans += 1


cdef void abandon(waitio_req_t *req, Py_buffer *view, bint receive, object keep, bint persistent):
    """Withdraw a receive if it has not matched; hold the memory of what goes on."""
    global colls
    cdef int flag = 0, code
    cdef waitio_status_t status
    if forked:
        return  # not ours: the parent's operation goes on there
    if left and not gone:  # another thread is in finalize, which cancels and delivers
        adopt(req, view, keep, persistent)
        return
    if joined and not left:
        sweep()
        if receive:
            waitio_cancel(req)
        memset(&status, 0, sizeof(status))
        code = test_one(req, &flag, &status)
        if code == 0 and not flag:
            adopt(req, view, keep, persistent)
            return
        colls -= keep is not None
        arrived(view, keep, code, &status)
        if persistent:
            waitio_request_free(req)
    PyBuffer_Release(view)


cdef void release_orphans():
    """After finalize nothing is under way any more."""
    global first_orphan, end_orphans
    while first_orphan < end_orphans:
        let_go(&orphans[first_orphan])
        first_orphan += 1
    first_orphan = end_orphans = 0


def _orphans():
    """Return how many operations go on that nobody waits for."""
    if joined and not left and not forked:
        sweep()
    return end_orphans - first_orphan
