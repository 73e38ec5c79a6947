# SPDX-License-Identifier: BSD-3-Clause
# Groups and the calls on buffers.


cdef class Group(Collectives):
    """An ordered set of processes with its own message space.

    Groups are made locally, without communication: `Group.world()`, `Group.block(pb)`,
    `Group.ranks({pb: [ranks]})`, `Group.where(function)`. Processes that make the same group with
    the same `gid` can exchange messages in it.

    Upper-case calls take anything with the buffer protocol (bytes, bytearray, memoryview, NumPy
    arrays of any contiguous order), DLPack, or CUDA's array interface (memory of a device is copied
    by way of the host); lower-case ones take any Python object.
    """

    def __init__(self):
        raise TypeError("groups are made by Group.world, Group.block, Group.ranks and Group.where")

    def __dealloc__(self):
        if self.handle != NULL and joined and not left and not forked:
            waitio_group_free(&self.handle)

    @staticmethod
    cdef Group wrap(waitio_group_t handle, int gid):
        cdef Group group
        if handle == NULL:
            raise error_of(WAITIO_ERR_GROUP)
        group = Group.__new__(Group)
        group.handle = handle
        group.gid_ = gid
        check(waitio_group_size(handle, &group.size_))
        check(waitio_group_rank(handle, &group.rank_))
        return group

    @classmethod
    def world(cls, gid=0):
        """Make the group of all processes, in order of universe rank."""
        cdef waitio_group_t handle = NULL
        cdef int space = as_int(gid, "gid")
        ready()
        check(waitio_group_universe(space, &handle))
        return Group.wrap(handle, space)

    @classmethod
    def block(cls, pb, gid=0):
        """Make the group of the processes of one parallel block."""
        cdef waitio_group_t handle = NULL
        cdef int space = as_int(gid, "gid"), number = as_int(pb, "pb")
        ready()
        check(waitio_group_pb(space, number, &handle))
        return Group.wrap(handle, space)

    @classmethod
    def ranks(cls, members, gid=0):
        """Make the group of `members`: {PB id: ranks within that block}.

        The blocks come in the order of the mapping, the ranks of a block in the order given.
        """
        cdef int space = as_int(gid, "gid")
        ready()
        members = {
            as_int(pb, "pb"): [as_rank(r, "rank") for r in ranks]
            for pb, ranks in dict(members).items()
        }
        members = {pb: ranks for pb, ranks in members.items() if ranks}
        sizes = _place()[3]
        for pb, ranks in members.items():
            if not 0 <= pb < len(sizes):
                raise from_code(WAITIO_ERR_ARG, f"PB {pb} of a universe with {len(sizes)} PBs")
            for r in ranks:
                if not 0 <= r < sizes[pb]:
                    raise from_code(WAITIO_ERR_ARG, f"rank {r} of PB {pb}, which has {sizes[pb]}")
        return Group.wrap(make_by_ranks(space, len(sizes), members), space)

    @classmethod
    def where(cls, accept, order=None, gid=0):
        """Make the group of the processes for which `accept(pb, rank)` is true.

        `order` lists the PB ids in the order of the ranks; blocks it leaves out are not in the
        group. None: all, by id.
        """
        sizes = _place()[3]
        order = range(len(sizes)) if order is None else list(order)
        if len(set(order)) != len(order):
            raise from_code(WAITIO_ERR_ARG, f"order {order} names a PB twice")
        members = {}
        for pb in order:
            if not 0 <= pb < len(sizes):
                raise from_code(WAITIO_ERR_ARG, f"PB {pb} of a universe with {len(sizes)} PBs")
            members[pb] = [r for r in range(sizes[pb]) if accept(pb, r)]
        return cls.ranks(members, gid=gid)

    def free(self):
        """Free the group: it cannot be used any more; pending operations complete normally."""
        self.freed = True

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.free()

    def __len__(self):
        return self.size_

    def __reduce__(self):
        raise TypeError(
            "a Group belongs to this process and cannot be pickled; make the same one in the other"
        )

    def __repr__(self):
        if self.freed:
            return "<Group, freed>"
        return f"<Group of {self.size_}, rank {self.rank_}, gid {self.gid_}>"

    @property
    def rank(self):
        """My rank in the group, -1 when I am no member."""
        return self.rank_

    @property
    def size(self):
        """Number of members."""
        return self.size_

    @property
    def gid(self):
        """Group id: part of the message space."""
        return self.gid_

    def Get_rank(self):
        """Return `rank`."""
        return self.rank_

    def Get_size(self):
        """Return `size`."""
        return self.size_

    cdef object peer_of(self, int rank):
        cdef int pb = -1, pb_rank = -1
        if rank < 0 or self.handle == NULL or left or forked:
            return None
        if waitio_group_locate(self.handle, rank, &pb, &pb_rank) != 0:
            return None
        return _Peer(rank, pb, pb_rank)

    cdef object failed(self, int code, int rank):
        text_first = error_of(code)  # before another call replaces the text
        text_first.peer = self.peer_of(rank)
        return text_first

    def locate(self, rank):
        """Return (PB id, rank in that PB) of a member."""
        cdef int pb = -1, pb_rank = -1, member = as_rank(rank, "rank")
        self.valid()
        check(waitio_group_locate(self.handle, member, &pb, &pb_rank))
        return pb, pb_rank

    def find(self, pb, pb_rank):
        """Return the rank of a process given by PB id and rank in that PB; -1 when no member."""
        cdef int rank = -1, block = as_int(pb, "pb"), within = as_rank(pb_rank, "pb_rank")
        self.valid()
        check(waitio_group_find(self.handle, block, within, &rank))
        return rank

    def to_universe(self, rank):
        """Return the universe rank of a member."""
        cdef int universe_rank = -1, member = as_rank(rank, "rank")
        self.valid()
        check(waitio_group_to_universe(self.handle, member, &universe_rank))
        return universe_rank

    def from_universe(self, universe_rank):
        """Return the rank of a process given by universe rank; -1 when no member."""
        cdef int rank = -1, process = as_rank(universe_rank, "universe_rank")
        self.valid()
        check(waitio_group_from_universe(self.handle, process, &rank))
        return rank

    def translate(self, ranks, Group other not None):
        """Return the ranks in `other` of these members; -1 where one is no member there."""
        return [other.from_universe(self.to_universe(r)) for r in ranks]

    # ---- buffers ----

    def Send(self, buf, dest, tag=0):
        """Send `buf` and wait until it may be changed again.

        Up to 64 KiB that is at once, for larger ones when the receiver has taken the data.
        """
        cdef Py_buffer view
        cdef waitio_req_t req
        cdef waitio_status_t st
        cdef int to = as_rank(dest, "dest"), label = as_tag(tag)
        self.valid()
        if take(buf, &view, False, True, True):
            described(self, buf, to, label, False, False).Wait()
            return
        memset(&st, 0, sizeof(st))
        start_send(self, &view, to, label, &req)
        wait_and_release(self, &req, &view, &st, to, False)

    def Recv(self, buf, source=waitio.ANY_SOURCE, tag=waitio.ANY_TAG, Status status=None):
        """Receive into `buf` and return the Status (also filled into `status`).

        A shorter message fills the beginning; a longer one raises `TruncateError`.
        """
        cdef Py_buffer view
        cdef waitio_req_t req
        cdef waitio_status_t st
        cdef int origin = as_rank(source, "source"), label = as_tag(tag)
        self.valid()
        if take(buf, &view, True, True, True):
            request = described(self, buf, origin, label, True, False)
            request.Wait(status)
            return request._result()
        memset(&st, 0, sizeof(st))
        start_recv(self, &view, origin, label, &req)
        wait_and_release(self, &req, &view, &st, origin, True)
        fill_status(status, &st)
        return new_status(&st)

    def Isend(self, buf, dest, tag=0):
        """Start to send `buf`; it must not be changed until the Request is over."""
        cdef Request request = Request.__new__(Request)
        cdef int to = as_rank(dest, "dest"), label = as_tag(tag)
        self.valid()
        if take(buf, &request.view, False, True, True):
            return described(self, buf, to, label, False, False)
        start_send(self, &request.view, to, label, &request.req)
        request.group = self
        request.peer = to
        request.active = True
        return request

    def Irecv(self, buf, source=waitio.ANY_SOURCE, tag=waitio.ANY_TAG):
        """Start to receive into `buf`; it must not be used until the Request is over."""
        cdef Request request = Request.__new__(Request)
        cdef int origin = as_rank(source, "source"), label = as_tag(tag)
        self.valid()
        if take(buf, &request.view, True, True, True):
            return described(self, buf, origin, label, True, False)
        start_recv(self, &request.view, origin, label, &request.req)
        request.group = self
        request.peer = origin
        request.receive = True
        request.active = True
        return request

    def Ssend(self, buf, dest, tag=0):
        """Send `buf` and wait until a receive has taken the message, whatever its size."""
        self.Issend(buf, dest, tag).Wait()

    def Issend(self, buf, dest, tag=0):
        """Start a send that is over when a receive has taken the message."""
        return synchronous(self, buf, as_rank(dest, "dest"), as_tag(tag), False)

    def Send_init(self, buf, dest, tag=0):
        """Make a persistent send: `Request.Start` starts a round, waiting ends it."""
        cdef Request request = Request.__new__(Request)
        cdef int to = as_rank(dest, "dest"), label = as_tag(tag)
        self.valid()
        take(buf, &request.view, False, False)
        return persist(self, request, to, waitio_send_init(
            self.handle, to, request.view.buf, request.view.len, label, &request.req))

    def Ssend_init(self, buf, dest, tag=0):
        """Make a persistent `Ssend`."""
        return synchronous(self, buf, as_rank(dest, "dest"), as_tag(tag), True)

    def Recv_init(self, buf, source=waitio.ANY_SOURCE, tag=waitio.ANY_TAG):
        """Make a persistent receive: `Request.Start` starts a round, waiting ends it."""
        cdef Request request = Request.__new__(Request)
        cdef int origin = as_rank(source, "source"), label = as_tag(tag)
        self.valid()
        take(buf, &request.view, True)
        request.receive = True
        return persist(self, request, origin, waitio_recv_init(
            self.handle, origin, request.view.buf, request.view.len, label, &request.req))

    def Sendrecv(self, sendbuf, dest, sendtag=0, recvbuf=None,
                 source=waitio.ANY_SOURCE, recvtag=waitio.ANY_TAG, Status status=None):
        """Send and receive at once, without deadlock; return the Status of the receive."""
        receive = self.Irecv(recvbuf, source, recvtag)
        try:
            self.Send(sendbuf, dest, sendtag)
        except BaseException:
            del receive  # withdrawn
            raise
        receive.Wait(status)
        return receive._result()

    def Probe(self, source=waitio.ANY_SOURCE, tag=waitio.ANY_TAG, Status status=None, timeout=None):
        """Wait until a matching message can be received and return its Status.

        `TimeoutError` after `timeout` seconds (None: for ever).
        """
        cdef waitio_status_t st
        cdef int flag = 0, rc, origin = as_rank(source, "source"), label = as_tag(tag)
        cdef double slice, limit = -1 if timeout is None else max(0, timeout)
        cdef double until = time.monotonic() + limit
        self.valid()
        while True:
            slice = SLICE
            if limit >= 0:
                slice = max(0, min(slice, until - <double> time.monotonic()))
            with nogil:
                rc = waitio_probe_for(self.handle, origin, label, slice, &flag, &st)
            if rc:
                raise self.failed(rc, origin)
            if flag:
                break
            look_around()
            if limit >= 0 and slice <= 0:
                raise from_code(WAITIO_ERR_TIMEOUT, f"no matching message after {timeout} s",
                                self.peer_of(origin))
        fill_status(status, &st)
        return new_status(&st)

    def Iprobe(self, source=waitio.ANY_SOURCE, tag=waitio.ANY_TAG, Status status=None):
        """Return the Status of a matching message that can be received now, or None."""
        cdef waitio_status_t st
        cdef int flag = 0, rc, origin = as_rank(source, "source"), label = as_tag(tag)
        self.valid()
        rc = waitio_probe_for(self.handle, origin, label, 0, &flag, &st)
        if rc:
            raise self.failed(rc, origin)
        if not flag:
            return None
        fill_status(status, &st)
        return new_status(&st)

    def Improbe(self, source=waitio.ANY_SOURCE, tag=waitio.ANY_TAG, Status status=None):
        """Take a matching message that is there, for its `Recv` alone; None when there is none."""
        cdef MatchedMessage message
        self.valid()
        message = matched_probe(self, as_rank(source, "source"), as_tag(tag))
        if message is not None:
            fill_status(status, &message.st)
        return message

    def Mprobe(self, source=waitio.ANY_SOURCE, tag=waitio.ANY_TAG, Status status=None, timeout=None):
        """Wait for a matching message and take it: a `MatchedMessage`, which no other receive sees.

        `TimeoutError` after `timeout` seconds (None: for ever).
        """
        cdef double until = 0 if timeout is None else time.monotonic() + max(0, timeout)
        while True:  # another thread may take what was seen
            self.Probe(source, tag, None, None if timeout is None
                       else max(0, until - <double> time.monotonic()))
            message = self.Improbe(source, tag, status)
            if message is not None:
                return message

    def Abort(self, errorcode=1):
        """End this process after saying so to all peers of the universe; their operations fail."""
        abort(as_int(errorcode, "errorcode"))

    # ---- objects ----

    def probe(self, source=waitio.ANY_SOURCE, tag=waitio.ANY_TAG, Status status=None, timeout=None):
        """As `Probe`: wait until an object can be received, and return the Status of its message."""
        return self.Probe(source, tag, status, timeout)

    def iprobe(self, source=waitio.ANY_SOURCE, tag=waitio.ANY_TAG, Status status=None):
        """Return whether a matching object can be received now."""
        return self.Iprobe(source, tag, status) is not None

    def mprobe(self, source=waitio.ANY_SOURCE, tag=waitio.ANY_TAG, Status status=None, timeout=None):
        """As `Mprobe`; `recv` of what it returns receives the object."""
        return self.Mprobe(source, tag, status, timeout)

    def improbe(self, source=waitio.ANY_SOURCE, tag=waitio.ANY_TAG, Status status=None):
        """As `Improbe`."""
        return self.Improbe(source, tag, status)

    def send(self, obj, dest, tag=0):
        """Send any Python object, for `recv` on the other side."""
        _objects().isend(self, obj, dest, tag).wait()

    def isend(self, obj, dest, tag=0):
        """Start to send any Python object; large arrays in it must not be changed meanwhile."""
        return _objects().isend(self, obj, dest, tag)

    def recv(self, source=waitio.ANY_SOURCE, tag=waitio.ANY_TAG, Status status=None):
        """Receive a Python object and return it; fill `status`."""
        request = _objects().irecv(self, source, tag)
        try:
            obj = request.wait()
        except BaseException:
            request._drop()  # not when a traceback lets go of it
            raise
        fill_status(status, &(<Status?> request.status).st)
        return obj

    def irecv(self, source=waitio.ANY_SOURCE, tag=waitio.ANY_TAG):
        """Start to receive a Python object: the result of the request's wait."""
        return _objects().irecv(self, source, tag)

    def sendrecv(self, sendobj, dest, sendtag=0, source=waitio.ANY_SOURCE,
                 recvtag=waitio.ANY_TAG, Status status=None):
        """Send an object and receive one, without deadlock; return the one received."""
        request = _objects().isend(self, sendobj, dest, sendtag)
        obj = self.recv(source, recvtag, status)
        request.wait()
        return obj

    def messages(self, source=waitio.ANY_SOURCE, tag=waitio.ANY_TAG, count=None, timeout=None):
        """Return an iterator over arriving messages, for `for` and `async for`.

        Each is a `Message` (data: bytearray, source, tag). It ends after `count` messages or when
        none came for `timeout` seconds; None: it does not end. `PeerError` when no process is left
        that could send one.
        """
        from waitio import stream

        return stream.Messages(self, as_rank(source, "source"), as_tag(tag), count, timeout)


cdef Request persist(Group group, Request request, int peer, int code):
    """The persistent request that C has made with `code`."""
    if code:
        failure = group.failed(code, -1)
        PyBuffer_Release(&request.view)
        raise failure
    request.group = group
    request.peer = peer
    request.persistent = True
    return request


cdef Request synchronous(Group group, object buf, int dest, int tag, bint persistent):
    """MPI's synchronous mode, which the conversion library has."""
    cdef Request request = Request.__new__(Request)
    cdef int code, n
    cdef waitio_group_t handle = group.handle
    group.valid()
    if take(buf, &request.view, False, not persistent, not persistent):
        return described(group, buf, dest, tag, False, True)
    if request.view.len > 0x7fffffff:
        failure = from_code(
            WAITIO_ERR_LIMIT,
            f"a synchronous send of {request.view.len} bytes; the limit is {0x7fffffff}: "
            "use Isend, which has none, or send parts",
        )
        PyBuffer_Release(&request.view)
        raise failure
    n = <int> request.view.len
    if persistent:
        code = WAITIO_MPI_Ssend_init(request.view.buf, n, WAITIO_MPI_BYTE, dest, tag, handle,
                                     &request.req)
        return persist(group, request, dest, code)
    with nogil:
        code = WAITIO_MPI_Issend(request.view.buf, n, WAITIO_MPI_BYTE, dest, tag, handle,
                                 &request.req)
    persist(group, request, dest, code)
    request.persistent = False
    request.active = True
    return request


cdef Group side_space = None
cdef int side_universe = 0  # in which one it was made; rejoin ends with another
side_lock = threading.Lock()


def _side_group():
    """Return the group of everybody in which the parts of large objects travel."""
    global side_space, side_universe
    cdef int now
    with side_lock:
        now = universes  # first: a group is never newer than what is noted of it
        if side_space is None or side_universe != now:
            side_space = Group.world(gid=0x57495059)
            side_universe = now
        return side_space


cdef int start_send(Group group, Py_buffer *view, int dest, int tag, waitio_req_t *req) except -1:
    cdef int code
    cdef waitio_group_t handle = group.handle
    if <size_t> view.len <= QUICK:
        code = waitio_isend(handle, dest, view.buf, view.len, tag, req)
    else:
        with nogil:
            code = isend_released(handle, dest, view.buf, view.len, tag, req)
    if code:
        failure = group.failed(code, -1)
        PyBuffer_Release(view)
        raise failure
    return 0


cdef int start_recv(Group group, Py_buffer *view, int source, int tag, waitio_req_t *req) except -1:
    cdef int code
    cdef waitio_group_t handle = group.handle
    code = waitio_irecv(handle, source, view.buf, view.len, tag, req)
    if code:
        failure = group.failed(code, -1)
        PyBuffer_Release(view)
        raise failure
    return 0


cdef int wait_and_release(Group group, waitio_req_t *req, Py_buffer *view, waitio_status_t *st,
                          int rank, bint receive) except -1:
    """The end of a blocking call."""
    cdef int code = 0
    try:
        finish(req, st, -1, &code)
    except BaseException:
        abandon(req, view, receive, None, False)
        raise
    cdef object failure = None
    if code:
        failure = group.failed(code, rank if rank >= 0 else st.source)
    failure = land(view, st.bytes, failure)
    PyBuffer_Release(view)
    if failure is not None:
        raise failure
    return 0


cdef waitio_group_t make_by_ranks(int gid, int npb, dict members) except? NULL:
    """The C call wants an array of lists, each ended by a negative number, and positions."""
    cdef waitio_group_t handle = NULL
    cdef int *numbers = NULL
    cdef int **lists = NULL
    cdef int *order = NULL
    cdef Py_ssize_t total = npb, at = 0
    cdef int position = 0
    for ranks in members.values():
        total += len(ranks) + 1
    numbers = <int *> PyMem_Malloc(total * sizeof(int))
    lists = <int **> PyMem_Malloc((npb + 1) * sizeof(int *))
    order = <int *> PyMem_Malloc((npb + 1) * sizeof(int))
    try:
        if numbers == NULL or lists == NULL or order == NULL:
            raise MemoryError()
        for pb in range(npb):
            lists[<int> pb] = NULL
            order[<int> pb] = 0
        for pb, ranks in members.items():
            position += 1
            lists[<int> pb] = &numbers[at]
            order[<int> pb] = position
            for rank in ranks:
                numbers[at] = rank
                at += 1
            numbers[at] = -1
            at += 1
        if go_in():
            handle = waitio_create_group_wranks(gid, lists, order)
            come_out(0)
        if handle == NULL:
            raise error_of(WAITIO_ERR_STATE if left else WAITIO_ERR_GROUP)
        return handle
    finally:
        PyMem_Free(numbers)
        PyMem_Free(lists)
        PyMem_Free(order)


def _objects():
    from waitio import objects

    return objects
