# SPDX-License-Identifier: BSD-3-Clause
# Operations that nobody waits for any more (a dropped request, an interrupted call) while the
# library may still read or write their memory: it is held until they are over.

cdef struct orphan:
    waitio_req_t req
    Py_buffer view
    PyObject *keep   # of a collective: its memory
    bint persistent

# Under their lock, in which nothing of Python runs: letting go of memory may run anything, also
# what drops another request. So may a test, by an operator of the program.
cdef orphan *orphans = NULL
cdef size_t first_orphan = 0, end_orphans = 0, room_orphans = 0
cdef bint testing = False  # somebody tests the first, which stays in its place meanwhile


cdef inline int test_one(waitio_req_t *req, int *flag, waitio_status_t *st) noexcept nogil:
    """Test; with collectives under way in the way that moves them on."""
    cdef int index
    if colls > 0:
        return waitio_mpi_waitany_for(1, req, 0, &index, flag, st)
    return waitio_test(req, flag, st)


cdef bint take_oldest(orphan *o) noexcept nogil:
    """Show the oldest, for a test by this thread alone; false: there is none, or it is tested."""
    global testing
    cdef bint found
    lock_orphans()
    found = first_orphan < end_orphans and not testing
    if found:
        o[0] = orphans[first_orphan]
        testing = True
    unlock_orphans()
    return found


cdef void put_oldest(orphan *o, bint over) noexcept nogil:
    """After the test: take it out of the list if it is over."""
    global testing, first_orphan, end_orphans
    lock_orphans()
    testing = False
    if over:
        first_orphan += 1
    else:
        orphans[first_orphan].req = o.req
    if first_orphan == end_orphans:
        first_orphan = end_orphans = 0
    unlock_orphans()


cdef bint oldest_over(orphan *o, int *code, waitio_status_t *status) noexcept nogil:
    """Take the oldest out of the list if it is over."""
    cdef int flag = 0
    cdef bint over
    memset(status, 0, sizeof(waitio_status_t))
    if not take_oldest(o):
        return False
    over = gone
    if not over:
        code[0] = test_one(&o.req, &flag, status)
        over = code[0] != 0 or flag
    put_oldest(o, over)
    return over


cdef void sweep():
    """Let go of the oldest that are over; after finalize all are."""
    cdef orphan o
    cdef int code = 0
    cdef waitio_status_t status
    while oldest_over(&o, &code, &status):
        if not gone:
            count_colls(-(o.keep != NULL))
            arrived(&o.view, <object> o.keep if o.keep != NULL else None, code, &status)
            if o.persistent:
                waitio_request_free(&o.req)
        PyBuffer_Release(&o.view)
        Py_XDECREF(o.keep)


cdef void arrived(Py_buffer *view, object keep, int code, const waitio_status_t *status):
    """Something that nobody waits for is over."""
    if is_staged(view):
        land_unseen(view, status.bytes)
    if keep is not None and code == 0:
        land_blocks_unseen(keep, status)


cdef bint append_orphan(orphan *o) noexcept nogil:
    """False: no memory, or finalize is over."""
    global orphans, room_orphans, end_orphans, first_orphan
    cdef orphan *more
    cdef size_t i
    if gone:
        return False
    if end_orphans == room_orphans and first_orphan > room_orphans // 2:
        for i in range(first_orphan, end_orphans):
            orphans[i - first_orphan] = orphans[i]
        end_orphans -= first_orphan
        first_orphan = 0
    if end_orphans == room_orphans:
        more = <orphan *> realloc(orphans, (room_orphans * 2 + 64) * sizeof(orphan))
        if more == NULL:
            return False
        orphans = more
        room_orphans = room_orphans * 2 + 64
    orphans[end_orphans] = o[0]
    end_orphans += 1
    return True


cdef void adopt(waitio_req_t *req, Py_buffer *view, object keep, bint persistent):
    cdef orphan o
    cdef bint held
    o.req = req[0]
    o.view = view[0]
    o.keep = <PyObject *> keep if keep is not None else NULL
    o.persistent = persistent
    if o.keep != NULL:
        Py_INCREF(keep)
    lock_orphans()
    held = append_orphan(&o)
    unlock_orphans()
    # Without memory for the list it stays held for good: better than written to after it was freed.
    if not held and gone:
        PyBuffer_Release(&o.view)
        Py_XDECREF(o.keep)


cdef void abandon(waitio_req_t *req, Py_buffer *view, bint receive, object keep, bint persistent):
    """Withdraw a receive if it has not matched; hold the memory of what goes on."""
    cdef int flag = 0, code
    cdef waitio_status_t status
    if forked:
        return  # not ours: the parent's operation goes on there
    if joined and not left:
        sweep()
        if receive and keep is None:
            waitio_cancel(req)
        elif receive:
            WAITIO_MPI_Cancel(req)
    if not gone:  # while another thread is in finalize, which cancels and delivers, too
        memset(&status, 0, sizeof(status))
        code = 0 if left else test_one(req, &flag, &status)
        if code == 0 and not flag:
            adopt(req, view, keep, persistent)
            return
        count_colls(-(keep is not None))
        arrived(view, keep, code, &status)
        if persistent:
            waitio_request_free(req)
    PyBuffer_Release(view)


def _orphans():
    """Return how many operations go on that nobody waits for."""
    if joined and not left and not forked:
        sweep()
    return end_orphans - first_orphan
