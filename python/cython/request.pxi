# SPDX-License-Identifier: BSD-3-Clause
# Status, waiting, requests.


cdef class Status:
    """What a completed receive or a probe found."""

    cdef waitio_status_t st

    def __cinit__(self):
        self.st.source = WAITIO_ANY_SOURCE
        self.st.tag = WAITIO_ANY_TAG

    @property
    def source(self):
        """Rank of the sender in the group."""
        return self.st.source

    @property
    def tag(self):
        """Tag of the message."""
        return self.st.tag

    @property
    def count(self):
        """Bytes delivered; for a probe, bytes of the message."""
        return self.st.bytes

    @property
    def error(self):
        """0 or the code of the operation's failure."""
        return self.st.error

    @property
    def cancelled(self):
        """Whether the receive was withdrawn before a message came."""
        return self.st.cancelled != 0

    def Get_source(self):
        """Return `source`."""
        return self.st.source

    def Get_tag(self):
        """Return `tag`."""
        return self.st.tag

    def Get_count(self, Py_ssize_t itemsize=1):
        """Return the number of items of `itemsize` bytes; ValueError when they do not divide."""
        if itemsize < 1 or self.st.bytes % itemsize:
            raise ValueError(f"{self.st.bytes} bytes are no whole number of items of {itemsize} bytes")
        return self.st.bytes // itemsize

    def Is_cancelled(self):
        """Return `cancelled`."""
        return self.st.cancelled != 0

    def __repr__(self):
        return f"<Status source={self.source} tag={self.tag} count={self.count}>"


cdef Status new_status(const waitio_status_t *st):
    cdef Status status = Status.__new__(Status)
    status.st = st[0]
    return status


cdef void fill_status(Status status, const waitio_status_t *st):
    """Into the caller's Status, where one was given."""
    if status is not None:
        status.st = st[0]


cdef int finish(waitio_req_t *req, waitio_status_t *st, double timeout, int *code) except -1:
    """Wait for one operation in slices. Returns 1: over, `code` is its result; 0: timed out.

    An exception (a signal, finalize by another thread) leaves the operation under way.
    """
    cdef int flag = 0, rc = 0, index = 0
    cdef double slice, until = 0
    if left:  # since it was started: finalize delivers it, and C would only refuse
        look_around()
    rc = test_one(req, &flag, st)
    if not (rc or flag):
        if timeout >= 0:
            until = time.monotonic() + timeout
        while True:
            slice = SLICE
            if timeout >= 0:
                slice = min(slice, until - <double> time.monotonic())
                if slice <= 0:
                    return 0
            if colls > 0:
                with nogil:
                    rc = waitio_mpi_waitany_for(1, req, slice, &index, &flag, st)
            else:
                with nogil:
                    rc = waitio_wait_for(req, slice, &flag, st)
            if rc or flag:
                break
            look_around()
    code[0] = rc
    return 1


# Types that Cython does not show to the garbage collector: what the library reads or writes must
# stay while a request is under way, also where a cycle of references leads back to the request.
ctypedef Py_buffer unseen_buffer


cdef class Request:
    """An operation under way; it holds its buffer until the operation is over.

    Waiting or testing completes it. `await request` waits under asyncio without blocking the loop.
    A request that is dropped goes on: a send is delivered, a receive is withdrawn unless a message
    has matched it. One thread at a time may complete a request.
    """

    cdef waitio_req_t req
    cdef unseen_buffer view
    cdef bint active      # C knows it
    cdef int busy         # a thread completes it
    cdef bint receive
    cdef bint collective  # only calls of the conversion library complete it
    cdef bint message     # and yet it is a message
    cdef bint persistent
    cdef PyObject *keep   # of such: (_Block that is read, _Block that is written, _Reduction)
    cdef int peer         # rank of the other side, -1: any
    cdef Group group
    cdef waitio_status_t st
    cdef object failure   # exception, when it failed
    cdef object __weakref__

    def __init__(self):
        raise TypeError("requests are made by Isend, Irecv, isend, irecv and the collectives")

    def __dealloc__(self):
        if self.active:
            self.active = False
            abandon(&self.req, &self.view, self.receive, self.kept(), self.persistent)
            Py_XDECREF(self.keep)
        elif self.persistent:
            end_persistent(self)

    cdef object kept(self):
        return <object> self.keep if self.keep != NULL else None

    cdef void drop(self):
        """The memory of a collective is held no longer."""
        cdef PyObject *keep = self.keep
        self.keep = NULL
        Py_XDECREF(keep)

    cdef int over(self, int code) except -1:
        """The library is done with it."""
        cdef object failure = None
        if self.collective:
            count_colls(-1)
        try:
            if code:
                failure = error_of(code)  # before another call replaces the text
                failure.peer = self.other_side()
            elif self.collective:
                failure = operator_failure(self.kept())
            if self.collective:
                failure = land_blocks(self.kept(), &self.st, failure)
            else:
                failure = land(&self.view, self.st.bytes, failure)
            if failure is not None:
                self.failed(failure)
        finally:  # only now: what arrived is in its place, and a failure known
            self.active = False
            self.drop()
            if not self.collective and not self.persistent:
                PyBuffer_Release(&self.view)
        return 0

    cdef object other_side(self):
        cdef int rank = self.peer if self.peer >= 0 else self.st.source
        if self.collective and not self.message:
            return None
        return self.group.peer_of(rank)

    cdef int lost(self) except -1:
        """The universe it belonged to was left, or is the parent's."""
        if forked:
            not_ready()
        if gone:
            self.active = False
            self.drop()
            if not self.persistent:
                PyBuffer_Release(&self.view)
            self.failed(from_code(
                WAITIO_ERR_STATE, "the universe was left (finalize) while this operation was pending"
            ))
        return 0

    cdef int mine(self) except -1:
        """This thread completes it, and no other until give_back."""
        if not take_over(&self.busy):
            raise from_code(
                WAITIO_ERR_BUSY,
                "another thread waits for this request; one at a time can complete it",
                self.other_side(),
            )
        return 0

    cdef int look(self) except -1:
        """Test; true when it is over."""
        cdef int flag = 0, rc
        if not self.active:
            return 1
        if not take_over(&self.busy):
            return 0  # the thread that waits for it will see
        try:
            if self.active and left:
                self.lost()
            if self.active and not left:
                if forked:
                    not_ready()
                rc = test_one(&self.req, &flag, &self.st)
                if rc or flag:
                    self.over(rc)
            return not self.active
        finally:
            give_back(&self.busy)

    cdef int complete(self, double timeout) except -1:
        """Wait; false when the time was not enough."""
        cdef int code = 0
        if not self.active:
            return 1
        self.mine()
        try:
            if self.active and (left or forked):
                self.lost()
            if self.active and left:
                look_around()
            if self.active:
                if not finish(&self.req, &self.st, timeout, &code):
                    return 0
                self.over(code)
            return 1
        finally:
            give_back(&self.busy)

    cdef int failed(self, object failure) except -1:
        with cython.critical_section(self):
            self.failure = failure
        return 0

    cdef int succeeded(self) except -1:
        """Raise the failure, if it is one."""
        with cython.critical_section(self):
            failure = self.failure
        if failure is not None:
            raise failure
        return 0

    cdef object result(self):
        self.succeeded()
        return new_status(&self.st)

    # What requests of this class and of Python objects have in common, for the functions below.

    def _advance(self):
        """Move on without blocking; return whether it is over."""
        return self.look() != 0

    def _is_receive(self):
        """Return whether it receives."""
        return self.receive != 0

    def _cores(self):
        """Return what has to be over before it can move on."""
        return (self,) if self.active else ()

    def _result(self):
        """Return the result of what is over, or raise its failure."""
        return self.result()

    @property
    def done(self):
        """Whether it is known to be over; does not look."""
        return not self.active

    def Wait(self, Status status=None):
        """Wait until the operation is over; fill `status`. Raises the operation's failure."""
        self.complete(-1)
        fill_status(status, &self.st)
        self.succeeded()
        return True

    def Test(self, Status status=None):
        """Return whether the operation is over, and fill `status` then."""
        if not self.look():
            return False
        fill_status(status, &self.st)
        self.succeeded()
        return True

    def wait(self, timeout=None):
        """Wait and return the Status; `TimeoutError` after `timeout` seconds (None: for ever).

        After a `TimeoutError` the operation is still under way.
        """
        if not self.complete(-1 if timeout is None else max(0, timeout)):
            raise from_code(WAITIO_ERR_TIMEOUT, f"the operation is not over after {timeout} s",
                            self.other_side())
        return self.result()

    def test(self):
        """Return (True, Status) when the operation is over, else (False, None)."""
        return (True, self.result()) if self.look() else (False, None)

    def cancel(self):
        """Withdraw a receive that no message has matched yet, or a send that waits for its receive.

        `wait` tells (`Status.cancelled`). All others complete normally; collectives cannot be
        cancelled: `UnsupportedError`. Another thread may wait for it meanwhile.
        """
        cdef int code
        if self.active:
            usable()
            if self.collective and not self.message:
                raise from_code(WAITIO_ERR_UNSUPPORTED, "collectives cannot be cancelled")
            code = WAITIO_MPI_Cancel(&self.req) if self.message else waitio_cancel(&self.req)
            if code != WAITIO_ERR_REQUEST:  # that is: a thread that waits for it was quicker
                check(code)

    def Cancel(self):
        """The same as `cancel`."""
        self.cancel()

    def Start(self):
        """Start a persistent operation: one round, to be completed by wait or test.

        `BusyError` while a round is under way; `RequestError` for requests of other kinds.
        """
        usable()
        if not self.persistent:
            raise from_code(
                WAITIO_ERR_REQUEST,
                "only requests made by Send_init, Ssend_init and Recv_init can be started",
            )
        if self.active:
            raise from_code(WAITIO_ERR_BUSY, "a round of this persistent request is under way")
        self.mine()
        try:
            if is_staged(&self.view):
                (<_Stage> self.view.obj).again()
                self.st.bytes = 0
            check(waitio_start(&self.req))
            self.failed(None)
            self.active = True
        finally:
            give_back(&self.busy)

    def Free(self):
        """Free a persistent request that is not under way: it holds its buffer no longer."""
        if self.active:
            raise from_code(WAITIO_ERR_BUSY, "the operation is under way: wait for it, then free it")
        self.mine()
        if self.persistent and not self.active:
            end_persistent(self)
        give_back(&self.busy)

    @staticmethod
    def Waitall(requests, statuses=None):
        """Wait for all; fill the list `statuses`, of a `Status` for each."""
        requests = list(requests)
        waitall(requests)
        fill_statuses(requests, statuses)
        return True

    @staticmethod
    def Testall(requests, statuses=None):
        """Return whether all are over, and fill `statuses` then."""
        requests = list(requests)
        over, _ = testall(requests)
        if over:
            fill_statuses(requests, statuses)
        return over

    @staticmethod
    def Waitany(requests, Status status=None):
        """Wait for any one; return its index (None: there was none)."""
        requests = list(requests)
        index, _ = waitany(requests)
        if index is not None:
            fill_statuses([requests[index]], [status])
        return index

    @staticmethod
    def Testany(requests, Status status=None):
        """Return (index, True) of one that is over, (None, True) for none, else (None, False)."""
        requests = list(requests)
        index, _ = testany(requests)
        if index is not None:
            fill_statuses([requests[index]], [status])
            return index, True
        return None, all(r is None for r in requests)

    @staticmethod
    def Waitsome(requests, statuses=None):
        """Wait until some are over that were not before; return their indices (None: no others)."""
        requests = list(requests)
        indices, _ = waitsome(requests)
        if indices is not None:
            fill_statuses([requests[i] for i in indices], statuses)
        return indices

    @staticmethod
    def Testsome(requests, statuses=None):
        """The same without waiting: the list may be empty."""
        requests = list(requests)
        indices, _ = testsome(requests)
        if indices is not None:
            fill_statuses([requests[i] for i in indices], statuses)
        return indices

    @staticmethod
    def Startall(requests):
        """Start all of these persistent requests."""
        startall(requests)

    def __reduce__(self):
        raise TypeError("a Request belongs to this process and cannot be pickled")

    def __await__(self):
        from waitio import aio

        return aio.wait(self).__await__()

    def __repr__(self):
        what = "collective" if self.collective and not self.message else "receive" if self.receive else "send"
        state = "pending" if self.active else "failed" if self.failure is not None else "done"
        if self.persistent:
            what = "persistent " + what
            state = state if self.active or self.failure is not None else "inactive"
        return f"<Request: {what}, {state}>"


cdef int fill_statuses(list requests, object statuses) except -1:
    """Into the caller's Status objects, as many as there are."""
    cdef Status status
    if statuses is None:
        return 0
    for request, into in zip(requests, statuses):
        if into is None or request is None:
            continue
        status = into
        if isinstance(request, Request):
            status.st = (<Request> request).st
        elif request.status is not None:  # of an object
            status.st = (<Status?> request.status).st
    return 0


cdef void end_persistent(Request request):
    """Give up handle and buffer of a persistent request at rest."""
    request.persistent = False
    if forked:
        return
    if joined and not left:
        waitio_request_free(&request.req)
    PyBuffer_Release(&request.view)


def startall(requests):
    """Start all of these persistent requests."""
    for request in requests:
        request.Start()


cdef int take_all(list cores, waitio_req_t *reqs) except -1:
    """Take requests for waiting; false: one of them is over by now. Undone when another thread waits."""
    cdef int i, n = len(cores)
    cdef Request core
    for i in range(n):
        core = cores[i]
        memset(&reqs[i], 0, sizeof(waitio_req_t))  # null
        if not take_over(&core.busy):
            if core in cores[:i]:
                continue  # given twice: once is enough
            give_all(cores, reqs, i)
            core.mine()  # says so, or is just free
            give_back(&core.busy)
            return 0
        if not core.active:
            give_back(&core.busy)
            give_all(cores, reqs, i)
            return 0
        reqs[i] = core.req
    return 1


cdef int give_all(list cores, waitio_req_t *taken, int n) except -1:
    cdef int i
    cdef waitio_req_t null
    memset(&null, 0, sizeof(null))
    for i in range(n):
        if memcmp(&taken[i], &null, sizeof(null)) != 0:
            give_back(&(<Request> cores[i]).busy)
    return 0


cdef int wait_for_some(list cores, double timeout) except -1:
    """Wait until one of the requests is over. Returns 0 when the time was not enough."""
    cdef int n = len(cores)
    cdef waitio_req_t *reqs
    usable()
    reqs = <waitio_req_t *> PyMem_Malloc(2 * n * sizeof(waitio_req_t))
    if reqs == NULL:
        raise MemoryError()
    try:
        if not take_all(cores, reqs):
            return 1  # look again
        memcpy(reqs + n, reqs, n * sizeof(waitio_req_t))  # the library changes its copy
        try:
            return wait_taken(cores, reqs + n, timeout)
        finally:
            give_all(cores, reqs, n)
    finally:
        PyMem_Free(reqs)


cdef int wait_taken(list cores, waitio_req_t *reqs, double timeout) except -1:
    cdef int n = len(cores), index = WAITIO_UNDEFINED, flag = 0, rc = 0
    cdef double slice, until = 0
    cdef waitio_status_t st
    cdef Request core
    if timeout >= 0:
        until = time.monotonic() + timeout
    while True:
        slice = SLICE
        if timeout >= 0:
            slice = min(slice, until - <double> time.monotonic())
            if slice <= 0:
                return 0
        if colls > 0:
            with nogil:
                rc = waitio_mpi_waitany_for(n, reqs, slice, &index, &flag, &st)
        else:
            with nogil:
                rc = waitio_waitany_for(n, reqs, slice, &index, &flag, &st)
        if rc or flag:
            break
        look_around()
    if index >= 0:
        core = cores[index]
        core.st = st
        core.over(rc)
    else:
        check(rc)
    return 1


def _wait_for_parts(list parts, until, timeout):
    """Wait for the parts of an object; their failures are for those who look at them.

    `until`: the end of the time, as of time.monotonic(); None: there is none.
    """
    cdef Request part
    cdef double left_
    for part in list(parts):
        left_ = -1 if until is None else max(0, <double> until - <double> time.monotonic())
        if not part.complete(left_):
            raise from_code(WAITIO_ERR_TIMEOUT, f"the object is not complete after {timeout} s",
                            part.other_side())


def waitany(requests, timeout=None):
    """Wait for any one of `requests`; return (index, its result), or (None, None) for none.

    None entries are skipped. Raises the failure of the one that is over first; `TimeoutError`
    after `timeout` seconds.
    """
    cdef double limit = -1 if timeout is None else max(0, timeout)
    cdef double until = time.monotonic() + limit
    while True:
        cores = []
        for i, request in enumerate(requests):
            if request is None:
                continue
            if request._advance():
                return i, request._result()
            cores.extend(request._cores())
        if not cores:
            return None, None
        if not wait_for_some(cores, -1 if limit < 0 else max(0, until - <double> time.monotonic())):
            raise from_code(WAITIO_ERR_TIMEOUT, f"none of the operations is over after {timeout} s")


def waitall(requests, timeout=None):
    """Wait for all of `requests` and return the list of their results.

    None entries give None. When some failed, all are over before the first failure is raised.
    `TimeoutError` after `timeout` seconds; what is over by then stays so.
    """
    cdef double until = 0 if timeout is None else time.monotonic() + max(0, timeout)
    results = []
    failure = None
    requests = list(requests)
    for request in requests:
        if request is None:
            results.append(None)
            continue
        try:
            results.append(
                request.wait(None if timeout is None else max(0, until - <double> time.monotonic()))
            )
        except _Error as error:
            if not request.done:
                raise
            failure = failure or error
            results.append(None)
    if failure is not None:
        raise failure
    return results


def testall(requests):
    """Return (True, list of results) when all of `requests` are over, else (False, None)."""
    requests = list(requests)
    over = True
    for request in requests:
        if request is not None and not request._advance():
            over = False
    if not over:
        return False, None
    return True, waitall(requests)


def waitsome(requests, timeout=None):
    """Wait until some of `requests` are over; return (indices, results), or (None, None) for none.

    None entries and requests that were over before are skipped, so that calling it again gives the
    others. Raises the first failure among them; `TimeoutError` after `timeout` seconds.
    """
    requests = list(requests)
    pending = [i for i, r in enumerate(requests) if r is not None and not r.done]
    if not pending:
        return None, None
    waitany([requests[i] for i in pending], timeout)
    return some_of(requests, pending)


def testsome(requests):
    """The same as `waitsome` without waiting: the lists may be empty."""
    requests = list(requests)
    pending = [i for i, r in enumerate(requests) if r is not None and not r.done]
    return some_of(requests, pending) if pending else (None, None)


cdef tuple some_of(list requests, list pending):
    over = [i for i in pending if requests[i]._advance()]
    return over, [requests[i]._result() for i in over]


def testany(requests):
    """Return (index, result) of one that is over, or (None, None) when none is."""
    for i, request in enumerate(requests):
        if request is not None and request._advance():
            return i, request._result()
    return None, None
