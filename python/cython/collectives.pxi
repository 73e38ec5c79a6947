# SPDX-License-Identifier: BSD-3-Clause
# Collectives of the conversion library on memory; those on objects are in waitio/collect.py.
#
# Every call is started, then waited for in slices like any other operation. The blocking ones are
# marked before, so that they match the blocking calls of C and Fortran programs.

cdef enum what_coll:
    BARRIER, BCAST, REDUCE, ALLREDUCE, SCAN, EXSCAN, REDUCE_SCATTER, GATHER, SCATTER, ALLGATHER, \
        ALLTOALL, REDUCE_SCATTER_BLOCK

cdef struct coll_side:
    void *buf
    int count, type
    int *counts
    int *displs

cdef struct coll_call:
    what_coll what
    bint v, blocking
    coll_side s, r
    int op, root


cdef int launch_vector(coll_call *c, waitio_group_t comm, waitio_req_t *req) noexcept nogil:
    cdef coll_side *s = &c.s
    cdef coll_side *r = &c.r
    if c.what == GATHER:
        return WAITIO_MPI_Igatherv(s.buf, s.count, s.type, r.buf, r.counts, r.displs, r.type,
                                   c.root, comm, req)
    if c.what == SCATTER:
        return WAITIO_MPI_Iscatterv(s.buf, s.counts, s.displs, s.type, r.buf, r.count, r.type,
                                    c.root, comm, req)
    if c.what == ALLGATHER:
        return WAITIO_MPI_Iallgatherv(s.buf, s.count, s.type, r.buf, r.counts, r.displs, r.type,
                                      comm, req)
    return WAITIO_MPI_Ialltoallv(s.buf, s.counts, s.displs, s.type, r.buf, r.counts, r.displs,
                                 r.type, comm, req)


cdef int launch(coll_call *c, waitio_group_t comm, waitio_req_t *req) noexcept nogil:
    """The C call, guarded."""
    return come_out(launch_inside(c, comm, req)) if go_in() else WAITIO_ERR_STATE


cdef int launch_inside(coll_call *c, waitio_group_t comm, waitio_req_t *req) noexcept nogil:
    cdef coll_side *s = &c.s
    cdef coll_side *r = &c.r
    if c.blocking:
        waitio_mpi_blocking_next()
    if c.v:
        return launch_vector(c, comm, req)
    if c.what == BARRIER:
        return WAITIO_MPI_Ibarrier(comm, req)
    if c.what == BCAST:
        return WAITIO_MPI_Ibcast(r.buf, r.count, r.type, c.root, comm, req)
    if c.what == REDUCE:
        return WAITIO_MPI_Ireduce(s.buf, r.buf, r.count, r.type, c.op, c.root, comm, req)
    if c.what == ALLREDUCE:
        return WAITIO_MPI_Iallreduce(s.buf, r.buf, r.count, r.type, c.op, comm, req)
    if c.what == SCAN:
        return WAITIO_MPI_Iscan(s.buf, r.buf, r.count, r.type, c.op, comm, req)
    if c.what == EXSCAN:
        return WAITIO_MPI_Iexscan(s.buf, r.buf, r.count, r.type, c.op, comm, req)
    if c.what == REDUCE_SCATTER:
        return WAITIO_MPI_Ireduce_scatter(s.buf, r.buf, r.counts, r.type, c.op, comm, req)
    if c.what == REDUCE_SCATTER_BLOCK:
        return WAITIO_MPI_Ireduce_scatter_block(s.buf, r.buf, r.count, r.type, c.op, comm, req)
    if c.what == GATHER:
        return WAITIO_MPI_Igather(s.buf, s.count, s.type, r.buf, r.count, r.type, c.root, comm, req)
    if c.what == SCATTER:
        return WAITIO_MPI_Iscatter(s.buf, s.count, s.type, r.buf, r.count, r.type, c.root, comm,
                                   req)
    if c.what == ALLGATHER:
        return WAITIO_MPI_Iallgather(s.buf, s.count, s.type, r.buf, r.count, r.type, comm, req)
    return WAITIO_MPI_Ialltoall(s.buf, s.count, s.type, r.buf, r.count, r.type, comm, req)


cdef coll_side side_of(_Block block) except *:
    cdef coll_side side
    memset(&side, 0, sizeof(side))
    side.type = WAITIO_MPI_BYTE
    if block is not None:
        side.buf = block.at
        side.count = block.count
        side.type = block.type
        side.counts = block.counts
        side.displs = block.displs
    return side


cdef _Block need(_Block block, str what, str call):
    if block is None:
        raise TypeError(f"{call}: this rank needs a {what}, not None")
    return block


cdef int fetch(coll_call *call, _Block s, _Block r, int rank) except -1:
    """Before a call: bring its input from the device, and know what goes back."""
    if s is not None:
        s.move(True)
    if r is None:
        return 0
    # Types with gaps between their parts keep what the gaps hold.
    if s is not None and s.in_place or call.what == BCAST and rank == call.root \
            or r.kind is not None and (<Datatype> r.kind).holes:
        r.move(True)
    if call.what == REDUCE_SCATTER:
        r.used = r.counts[rank]
    elif call.what == REDUCE_SCATTER_BLOCK:
        r.used = r.count
    elif call.what == EXSCAN and rank == 0:
        r.used = 0
    return 0


cdef class Collectives:
    """The collective calls of a group, after MPI's.

    All members make the same calls in the same order. Memory is given as an array (or any
    buffer whose elements have a type), or as a list: `[array, count, datatype]`, for calls whose
    name ends in `v` also `[array, counts, displacements, datatype]` or `[array, (counts,
    displacements)]`; displacements and datatype may be left out. `IN_PLACE` stands for the send
    buffer where MPI allows it. Calls that begin with `I` return a `Request`. The upper-case
    calls match those of C and Fortran programs.
    """

    cdef waitio_group_t handle
    cdef bint freed          # by the program; the handle goes with this object: threads may use it
    cdef int gid_, rank_, size_
    cdef Request unfinished  # a blocking call that a signal ended; the next one comes after it
    cdef object __weakref__

    cdef int valid(self) except -1:
        if self.freed:
            raise from_code(WAITIO_ERR_GROUP, "the group was freed")
        if joined and not left and not forked:
            return 0
        return not_ready()

    cdef int enter(self) except -1:
        """Before a collective."""
        cdef Request before
        self.valid()
        if self.unfinished is not None:
            with cython.critical_section(self):
                before = self.unfinished
            if before is not None:
                before.complete(-1)
            self.keep_unfinished(None)
        return 0

    cdef int keep_unfinished(self, Request request) except -1:
        with cython.critical_section(self):
            self.unfinished = request
        return 0

    cdef Request begin(self, coll_call *call, _Block s, _Block r, Op op=None):
        """Make the C call."""
        cdef Request request = Request.__new__(Request)
        cdef int code
        cdef waitio_group_t handle = self.handle
        cdef waitio_req_t *req = &request.req
        # Before the call, which may call the operator.
        keep = (s, r, new_reduction(op) if op is not None and op.slot >= 0 else None)
        if call.what != BCAST and call.what != BARRIER:
            call.s = side_of(s)
        call.r = side_of(r)
        if s is not None and call.what in (REDUCE, ALLREDUCE, SCAN, EXSCAN) and r is None:
            call.r.count, call.r.type = s.count, s.type
        fetch(call, s, r, self.rank_)
        request.group = <Group> self
        request.peer = -1
        with nogil:
            code = launch(call, handle, req)
        if code:
            raise error_of(code)
        Py_INCREF(keep)
        request.keep = <PyObject *> keep
        request.collective = True
        request.active = True
        count_colls(1)
        return request

    cdef object run(self, Request request):
        """Wait for a blocking call."""
        try:
            request.complete(-1)
        finally:
            if request.active:
                self.keep_unfinished(request)
        request.succeeded()

    cdef Request reduction(self, what_coll what, sendbuf, recvbuf, Op op, root_, counts,
                           bint blocking):
        cdef coll_call call
        cdef int root = as_rank(root_, "root")
        cdef _Block s, r
        op = SUM if op is None else op
        self.enter()
        memset(&call, 0, sizeof(call))
        name = f"{_NAMES[<int> what]}"
        receives = what != REDUCE or root == self.rank_
        s = new_block(sendbuf, False, self.size_)
        r = new_block(recvbuf, True, self.size_) if receives else None
        need(s, "send buffer", name)
        if receives and need(r, "receive buffer", name).in_place:
            raise TypeError(f"{name}: IN_PLACE stands for the send buffer")
        if s.in_place and not receives:
            raise TypeError(f"{name}: IN_PLACE is for the root; other ranks pass their data")
        check_same_type(name, s, r, op)
        if what == REDUCE_SCATTER:
            share_results(self, s, r, counts)
        elif what == REDUCE_SCATTER_BLOCK:
            share_blocks(self, s, r)
        else:
            if not s.in_place:
                s.whole()
            if r is not None:
                r.whole()
                if not s.in_place and s.count != r.count:
                    raise s.wrong(f"{s.items} elements are sent, the receive buffer has {r.items}")
        call.what, call.op, call.root, call.blocking = what, op.number, root, blocking
        return self.begin(&call, s, r, op)

    cdef Request movement(self, what_coll what, bint v, sendbuf, recvbuf, root_, bint blocking):
        cdef coll_call call
        cdef int root = as_rank(root_, "root")
        cdef _Block s, r
        cdef bint all_, sends, receives
        self.enter()
        memset(&call, 0, sizeof(call))
        name = _NAMES[<int> what] + ("v" if v else "")
        all_ = what == ALLGATHER or what == ALLTOALL
        sends = what != SCATTER or root == self.rank_
        receives = what != GATHER or root == self.rank_
        s = new_block(sendbuf, False, self.size_) if sends else None
        r = new_block(recvbuf, True, self.size_) if receives else None
        if sends:
            need(s, "send buffer", name)
        if receives:
            need(r, "receive buffer", name)
        check_in_place(name, what, s, r, root == self.rank_)
        for block, parts in ((s, what == SCATTER or what == ALLTOALL),
                             (r, what == GATHER or all_)):
            if block is None or (<_Block> block).in_place:
                continue
            if not parts:
                (<_Block> block).whole()
            elif v:
                (<_Block> block).uneven(self.size_)
            else:
                (<_Block> block).even(self.size_)
        call.what, call.v, call.root, call.blocking = what, v, root, blocking
        return self.begin(&call, s, r)

    cdef Request broadcast(self, buf, root_, bint blocking):
        cdef coll_call call
        cdef int root = as_rank(root_, "root")
        cdef _Block r
        self.enter()
        memset(&call, 0, sizeof(call))
        r = need(new_block(buf, root != self.rank_, self.size_), "buffer", "Bcast")
        if r.in_place:
            raise TypeError("Bcast has one buffer; IN_PLACE has no meaning here")
        r.whole()
        call.what, call.root, call.blocking = BCAST, root, blocking
        return self.begin(&call, None, r)

    cdef Request meeting(self, bint blocking):
        cdef coll_call call
        self.enter()
        memset(&call, 0, sizeof(call))
        call.what, call.blocking = BARRIER, blocking
        return self.begin(&call, None, None)

    def Barrier(self):
        """Wait until all members are here."""
        self.run(self.meeting(True))

    def Ibarrier(self):
        """Start a `Barrier`."""
        return self.meeting(False)

    def Bcast(self, buf, root=0):
        """Send the buffer of `root` to all."""
        self.run(self.broadcast(buf, root, True))

    def Ibcast(self, buf, root=0):
        """Start a `Bcast`."""
        return self.broadcast(buf, root, False)

    def Reduce(self, sendbuf, recvbuf, Op op=None, root=0):
        """Combine the arrays of all members by `op` into that of `root`."""
        self.run(self.reduction(REDUCE, sendbuf, recvbuf, op, root, None, True))

    def Ireduce(self, sendbuf, recvbuf, Op op=None, root=0):
        """Start `Reduce`."""
        return self.reduction(REDUCE, sendbuf, recvbuf, op, root, None, False)

    def Allreduce(self, sendbuf, recvbuf, Op op=None):
        """Combine the arrays of all members by `op` into that of each."""
        self.run(self.reduction(ALLREDUCE, sendbuf, recvbuf, op, 0, None, True))

    def Iallreduce(self, sendbuf, recvbuf, Op op=None):
        """Start `Allreduce`."""
        return self.reduction(ALLREDUCE, sendbuf, recvbuf, op, 0, None, False)

    def Scan(self, sendbuf, recvbuf, Op op=None):
        """Combine the arrays of all members up to this one."""
        self.run(self.reduction(SCAN, sendbuf, recvbuf, op, 0, None, True))

    def Iscan(self, sendbuf, recvbuf, Op op=None):
        """Start `Scan`."""
        return self.reduction(SCAN, sendbuf, recvbuf, op, 0, None, False)

    def Exscan(self, sendbuf, recvbuf, Op op=None):
        """Combine the arrays of all members before this one."""
        self.run(self.reduction(EXSCAN, sendbuf, recvbuf, op, 0, None, True))

    def Iexscan(self, sendbuf, recvbuf, Op op=None):
        """Start `Exscan`."""
        return self.reduction(EXSCAN, sendbuf, recvbuf, op, 0, None, False)

    def Reduce_scatter(self, sendbuf, recvbuf, recvcounts=None, Op op=None):
        """Combine the arrays of all members by `op`; each gets its part.

        `recvcounts`: elements of each member; None: as many for each.
        """
        self.run(self.reduction(REDUCE_SCATTER, sendbuf, recvbuf, op, 0, recvcounts, True))

    def Ireduce_scatter(self, sendbuf, recvbuf, recvcounts=None, Op op=None):
        """Start `Reduce_scatter`."""
        return self.reduction(REDUCE_SCATTER, sendbuf, recvbuf, op, 0, recvcounts, False)

    def Reduce_scatter_block(self, sendbuf, recvbuf, Op op=None):
        """Combine the arrays of all members by `op`; each gets an equal part, by rank."""
        self.run(self.reduction(REDUCE_SCATTER_BLOCK, sendbuf, recvbuf, op, 0, None, True))

    def Ireduce_scatter_block(self, sendbuf, recvbuf, Op op=None):
        """Start `Reduce_scatter_block`."""
        return self.reduction(REDUCE_SCATTER_BLOCK, sendbuf, recvbuf, op, 0, None, False)

    def Gather(self, sendbuf, recvbuf, root=0):
        """Collect equal parts of all members in the array of `root`, by rank."""
        self.run(self.movement(GATHER, False, sendbuf, recvbuf, root, True))

    def Igather(self, sendbuf, recvbuf, root=0):
        """Start `Gather`."""
        return self.movement(GATHER, False, sendbuf, recvbuf, root, False)

    def Gatherv(self, sendbuf, recvbuf, root=0):
        """As `Gather`, with parts of any size."""
        self.run(self.movement(GATHER, True, sendbuf, recvbuf, root, True))

    def Igatherv(self, sendbuf, recvbuf, root=0):
        """Start `Gatherv`."""
        return self.movement(GATHER, True, sendbuf, recvbuf, root, False)

    def Scatter(self, sendbuf, recvbuf, root=0):
        """Give each member its part of the array of `root`; parts are equal."""
        self.run(self.movement(SCATTER, False, sendbuf, recvbuf, root, True))

    def Iscatter(self, sendbuf, recvbuf, root=0):
        """Start `Scatter`."""
        return self.movement(SCATTER, False, sendbuf, recvbuf, root, False)

    def Scatterv(self, sendbuf, recvbuf, root=0):
        """As `Scatter`, with parts of any size."""
        self.run(self.movement(SCATTER, True, sendbuf, recvbuf, root, True))

    def Iscatterv(self, sendbuf, recvbuf, root=0):
        """Start `Scatterv`."""
        return self.movement(SCATTER, True, sendbuf, recvbuf, root, False)

    def Allgather(self, sendbuf, recvbuf):
        """Collect equal parts of all members in the array of each, by rank."""
        self.run(self.movement(ALLGATHER, False, sendbuf, recvbuf, 0, True))

    def Iallgather(self, sendbuf, recvbuf):
        """Start `Allgather`."""
        return self.movement(ALLGATHER, False, sendbuf, recvbuf, 0, False)

    def Allgatherv(self, sendbuf, recvbuf):
        """As `Allgather`, with parts of any size."""
        self.run(self.movement(ALLGATHER, True, sendbuf, recvbuf, 0, True))

    def Iallgatherv(self, sendbuf, recvbuf):
        """Start `Allgatherv`."""
        return self.movement(ALLGATHER, True, sendbuf, recvbuf, 0, False)

    def Alltoall(self, sendbuf, recvbuf):
        """Exchange equal parts: part i goes to member i."""
        self.run(self.movement(ALLTOALL, False, sendbuf, recvbuf, 0, True))

    def Ialltoall(self, sendbuf, recvbuf):
        """Start `Alltoall`."""
        return self.movement(ALLTOALL, False, sendbuf, recvbuf, 0, False)

    def Alltoallv(self, sendbuf, recvbuf):
        """As `Alltoall`, with parts of any size."""
        self.run(self.movement(ALLTOALL, True, sendbuf, recvbuf, 0, True))

    def Ialltoallv(self, sendbuf, recvbuf):
        """Start `Alltoallv`."""
        return self.movement(ALLTOALL, True, sendbuf, recvbuf, 0, False)

    # ---- groups made of this one ----

    def Dup(self):
        """Make a group of the same members with a message space of its own; all members call."""
        return made_by_all(self, MAKE_DUP, 0, 0)

    def Split(self, color=0, key=0):
        """Make a group of the members that give the same `color`; all members call.

        Ranks in it go by `key`, then by rank here. `color` None: no group for this process.
        """
        return made_by_all(self, MAKE_SPLIT, WAITIO_MPI_UNDEFINED if color is None
                           else as_int(color, "color"), as_int(key, "key"))

    def Split_type(self, split_type=None, key=0):
        """Make a group of the members that share something; all members call.

        `split_type`: waitio.COMM_TYPE_SHARED (memory: the same host), waitio.COMM_TYPE_PB (the same
        parallel block), None: no group for this process.
        """
        return made_by_all(self, MAKE_TYPE, WAITIO_MPI_UNDEFINED if split_type is None
                           else as_int(split_type, "split_type"), as_int(key, "key"))

    def Create_group(self, ranks, tag=0):
        """Make a group of these members of this one, in this order; only they call.

        It has a message space of its own. `tag` tells calls apart that several threads make at once.
        """
        ranks = [as_rank(r, "rank") for r in ranks]
        return made_by_all(self, MAKE_GROUP, as_tag(tag), 0, ranks)

    # ---- objects ----

    def barrier(self):
        """The same as `Barrier`."""
        self.Barrier()

    def bcast(self, obj, root=0):
        """Return the object of `root`."""
        return _collect().bcast(self, obj, root)

    def gather(self, obj, root=0):
        """Return the list of all members' objects at `root`, None elsewhere."""
        return _collect().gather(self, obj, root)

    def allgather(self, obj):
        """Return the list of all members' objects."""
        return _collect().allgather(self, obj)

    def scatter(self, objs, root=0):
        """Return this member's object of the sequence that `root` passes."""
        return _collect().scatter(self, objs, root)

    def alltoall(self, objs):
        """Give object i to member i; return the list of those received."""
        return _collect().alltoall(self, objs)

    def reduce(self, obj, op=None, root=0):
        """Combine all members' objects in rank order by `op`; the result is at `root`."""
        return _collect().reduce(self, obj, SUM if op is None else op, root)

    def allreduce(self, obj, op=None):
        """Combine all members' objects in rank order by `op`, any function of two."""
        return _collect().allreduce(self, obj, SUM if op is None else op)

    def scan(self, obj, op=None):
        """Combine the objects of the members up to this one."""
        return _collect().scan(self, obj, SUM if op is None else op)

    def exscan(self, obj, op=None):
        """Combine the objects of the members before this one; None at rank 0."""
        return _collect().exscan(self, obj, SUM if op is None else op)


_NAMES = ("Barrier", "Bcast", "Reduce", "Allreduce", "Scan", "Exscan", "Reduce_scatter", "Gather",
          "Scatter", "Allgather", "Alltoall", "Reduce_scatter_block")


cdef int check_same_type(str name, _Block s, _Block r, Op op) except -1:
    """Operators work on elements that have a type, the same on both sides."""
    for block in (s, r):
        if block is None or (<_Block> block).in_place:
            continue
        if (<_Block> block).kind is None:
            raise (<_Block> block).wrong(
                f"{op.name_} is not defined for its elements ({(<_Block> block).types()}); "
                "use an array of integers, floats, complex numbers or booleans, or name the type: "
                "[array, waitio.DOUBLE_INT]"
            )
    if r is not None and not s.in_place and s.type != r.type:
        raise s.wrong(f"{name} sends {s.types()} and receives {r.types()}; use the same type")
    return 0


cdef int check_in_place(str name, what_coll what, _Block s, _Block r, bint root) except -1:
    if s is not None and s.in_place and (what == SCATTER or (what == GATHER and not root)):
        raise TypeError(f"{name}: IN_PLACE is no send buffer here")
    if r is not None and r.in_place and not (what == SCATTER and root):
        raise TypeError(f"{name}: IN_PLACE is no receive buffer here")
    return 0


cdef int share_results(Collectives group, _Block s, _Block r, counts) except -1:
    """Reduce_scatter: who gets how much."""
    cdef Py_ssize_t total
    cdef _Block data = r if s.in_place else s
    if counts is None:
        if data.items % group.size_:
            raise data.wrong(f"{data.items} elements are no multiple of the {group.size_} members; "
                             "pass recvcounts")
        counts = [data.items // group.size_] * group.size_
    counts = [operator.index(c) for c in counts]
    total = sum(counts)
    if total != data.items:
        raise data.wrong(f"it has {data.items} elements, recvcounts are {total} together")
    if r.items < counts[group.rank_]:
        raise r.wrong(f"{counts[group.rank_]} elements come, it has {r.items}")
    data.whole()
    r.items = max(r.items, total)  # spread() checks against it; the part was checked above
    r.spread(group.size_, counts, None)
    return 0


cdef int share_blocks(Collectives group, _Block s, _Block r) except -1:
    """Reduce_scatter_block: as much for each."""
    cdef _Block data = r if s.in_place else s
    if data.items % group.size_:
        raise data.wrong(f"{data.items} elements are no multiple of the {group.size_} members")
    if r.items < data.items // group.size_:
        raise r.wrong(f"{data.items // group.size_} elements come, it has {r.items}")
    data.whole()
    r.count = data.count // group.size_
    if not s.in_place:  # else all of it is read first
        r.used = r.count
    return 0


cdef enum what_group:
    MAKE_DUP, MAKE_SPLIT, MAKE_TYPE, MAKE_GROUP


cdef object made_by_all(Collectives parent, what_group how, int a, int b, list ranks=None):
    """Groups made of groups. The calls block in C, in a thread where signals would wait."""
    parent.enter()
    code, text, address = interruptible(functools.partial(_c_make, parent, <int> how, a, b,
                                                          ranks or []))
    if code:
        raise from_code(code, text)
    if not address:
        return None
    return Group.wrap(<waitio_group_t> <uintptr_t> address, parent.gid_)


cdef int create_group(waitio_group_t parent, int n, const int *ranks, int tag,
                      waitio_group_t *made) noexcept nogil:
    cdef waitio_group_t all_ = NULL, some = NULL
    cdef int rc = WAITIO_MPI_Comm_group(parent, &all_)
    if rc == 0:
        rc = WAITIO_MPI_Group_incl(all_, n, ranks, &some)
        WAITIO_MPI_Group_free(&all_)
    if rc == 0:
        rc = WAITIO_MPI_Comm_create_group(parent, some, tag, made)
        WAITIO_MPI_Group_free(&some)
    return rc


def _c_make(Collectives group, int how, int a, int b, list ranks):
    """It has the object, which the program may drop when a signal has ended its wait."""
    global splitting
    cdef waitio_group_t made = NULL
    cdef waitio_group_t parent = group.handle
    cdef int rc, n = len(ranks)
    cdef int *members = c_ints(ranks, "ranks", n)
    with join_lock:
        if left:
            PyMem_Free(members)
            return WAITIO_ERR_STATE, "the universe was left (finalize) by another thread", 0
        splitting += 1
    with nogil:
        if how == MAKE_DUP:
            rc = WAITIO_MPI_Comm_dup(parent, &made)
        elif how == MAKE_SPLIT:
            rc = WAITIO_MPI_Comm_split(parent, a, b, &made)
        elif how == MAKE_TYPE:
            rc = WAITIO_MPI_Comm_split_type(parent, a, b, 0, &made)
        else:
            rc = create_group(parent, n, members, a, &made)
    PyMem_Free(members)
    with join_lock:
        splitting -= 1
    return rc, waitio_last_error().decode("utf-8", "replace") if rc else "", <uintptr_t> made


def _collect():
    from waitio import collect

    return collect
