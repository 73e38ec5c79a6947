# SPDX-License-Identifier: BSD-3-Clause
# Operations that nobody waits for any more (a dropped request, an interrupted call) while the
# library may still read or write their memory: it is held until they are over.

cdef struct orphan:
    waitio_req_t req
    Py_buffer view

cdef orphan *orphans = NULL
cdef size_t first_orphan = 0, end_orphans = 0, room_orphans = 0


cdef void sweep():
    """Let go of the oldest that are over."""
    global first_orphan, end_orphans
    cdef int flag
    cdef waitio_status_t status
    while first_orphan < end_orphans:
        flag = 0
        if waitio_test(&orphans[first_orphan].req, &flag, &status) == 0 and not flag:
            return
        PyBuffer_Release(&orphans[first_orphan].view)
        first_orphan += 1
    first_orphan = end_orphans = 0


cdef void adopt(waitio_req_t *req, Py_buffer *view):
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
            return  # the memory stays held for good: better than written to after it was freed
        orphans = more
        room_orphans = room_orphans * 2 + 64
    orphans[end_orphans].req = req[0]
    orphans[end_orphans].view = view[0]
    end_orphans += 1


cdef void abandon(waitio_req_t *req, Py_buffer *view, bint receive):
    """Withdraw a receive if it has not matched; hold the memory of what goes on."""
    cdef int flag = 0
    cdef waitio_status_t status
    if forked:
        return  # not ours: the parent's operation goes on there
    if left and not gone:  # another thread is in finalize, which cancels and delivers
        adopt(req, view)
        return
    if joined and not left:
        sweep()
        if receive:
            waitio_cancel(req)
        if waitio_test(req, &flag, &status) == 0 and not flag:
            adopt(req, view)
            return
    PyBuffer_Release(view)


cdef void release_orphans():
    """After finalize nothing is under way any more."""
    global first_orphan, end_orphans
    while first_orphan < end_orphans:
        PyBuffer_Release(&orphans[first_orphan].view)
        first_orphan += 1
    first_orphan = end_orphans = 0


def _orphans():
    """Return how many operations go on that nobody waits for."""
    if joined and not left and not forked:
        sweep()
    return end_orphans - first_orphan
