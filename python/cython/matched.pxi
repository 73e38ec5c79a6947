# SPDX-License-Identifier: BSD-3-Clause
# Messages of types with gaps, and messages that a matched probe has taken off the queue.


cdef _Block strided_block(object obj, bint writable):
    """Hold the memory of an array with gaps, described by a datatype."""
    cdef _Block block = _Block.__new__(_Block)
    cdef int flags = PyBUF_STRIDES | PyBUF_FORMAT | (PyBUF_WRITABLE if writable else 0)
    block.what = obj
    get_buffer(obj, &block.view, flags)
    block.held = True
    if block.view.format != NULL and names_references(block.view.format):
        raise refuse_references(obj, writable)
    block.at = block.view.buf
    block.kind = strided_type(&block.view, obj, writable)
    block.type = (<Datatype> block.kind).number
    block.unit = block.items = block.count = block.used = 1
    return block


cdef _Block message_block(object spec, bint receive):
    """What the user passed for a message: a list, or an array with gaps."""
    cdef _Block block
    if not isinstance(spec, (list, tuple)):
        return strided_block(spec, receive)
    block = new_block(spec, receive, 1)
    if block is None or block.in_place:
        raise TypeError("a message needs memory: [array, count, datatype]")
    block.whole()
    if not receive or (block.kind is not None and (<Datatype> block.kind).holes):
        block.move(True)
    return block


cdef Request described(Group group, object spec, int peer, int tag, bint receive, bint sync):
    """Start a message of elements that have a type, for the conversion library."""
    cdef _Block block
    cdef waitio_req_t req
    cdef waitio_group_t handle = group.handle
    cdef int code
    group.valid()
    block = message_block(spec, receive)
    with nogil:
        if receive:
            WAITIO_MPIX_Comm_failure_ack(handle)  # earlier deaths do not end it, as in Group.Irecv
            code = WAITIO_MPI_Irecv(block.at, block.count, block.type, peer, tag, handle, &req)
        elif sync:
            code = WAITIO_MPI_Issend(block.at, block.count, block.type, peer, tag, handle, &req)
        else:
            code = WAITIO_MPI_Isend(block.at, block.count, block.type, peer, tag, handle, &req)
    if code:
        raise group.failed(code, peer)
    return library_request(group, &req, block, peer, receive)


cdef Request library_request(Group group, waitio_req_t *req, _Block block, int peer, bint receive):
    """A message that only calls of the conversion library complete."""
    cdef Request request = Request.__new__(Request)
    keep = (None, block, None) if receive else (block, None, None)
    block.message = receive
    request.req = req[0]
    request.group = group
    request.peer = peer
    request.receive = receive
    request.message = request.collective = True
    Py_INCREF(keep)
    request.keep = <PyObject *> keep
    request.active = True
    count_colls(1)
    return request


cdef class MatchedMessage:
    """A message that `Mprobe` has taken off the queue: only this object receives it.

    One that is dropped is thrown away.
    """

    cdef int number  # of the library
    cdef Group group
    cdef waitio_status_t st
    cdef int busy    # somebody receives it

    def __init__(self):
        raise TypeError("matched messages are made by Mprobe and Improbe")

    def __dealloc__(self):
        if self.group is None or forked or left or not joined:
            return
        if take_over(&self.busy):
            try:
                self.start(_new_buffer(self.st.bytes))  # dropped: an orphan until it is over
            except BaseException:
                pass

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
        """Bytes of the message."""
        return self.st.bytes

    cdef Request start(self, object buf):
        cdef _Block block
        cdef waitio_req_t req
        cdef int code, unit = 0
        if isinstance(buf, (list, tuple)):
            block = message_block(buf, True)
        else:
            block = byte_block(buf, True)
        WAITIO_MPI_Type_size(block.type, &unit)
        if <size_t> block.count * unit < self.st.bytes:  # the library would receive what fits
            raise from_code(WAITIO_ERR_TRUNCATE, f"message of {self.st.bytes} bytes, receive "
                            f"buffer of {<size_t> block.count * unit} bytes",
                            self.group.peer_of(self.st.source))
        with nogil:
            code = WAITIO_MPI_Imrecv(block.at, block.count, block.type, &self.number, &req)
        if code:
            raise self.group.failed(code, self.st.source)
        return library_request(self.group, &req, block, self.st.source, True)

    def Irecv(self, buf):
        """Start to receive the message into `buf`.

        `TruncateError` when it does not fit; then it can still be received into something larger.
        """
        cdef Request request
        self.group.valid()
        if not take_over(&self.busy):
            raise from_code(WAITIO_ERR_REQUEST, "the message was received already")
        try:
            request = self.start(buf)
        except BaseException:
            give_back(&self.busy)
            raise
        return request

    def Recv(self, buf, Status status=None):
        """Receive the message into `buf` and return the Status."""
        request = self.Irecv(buf)
        request.Wait(status)
        return request._result()

    def irecv(self):
        """Start to receive the message, a Python object."""
        return _objects().matched(self.group, self)

    def recv(self, Status status=None):
        """Receive the message, a Python object, and return it."""
        request = self.irecv()
        try:
            obj = request.wait()
        except BaseException:
            request._drop()
            raise
        fill_status(status, &self.st)
        return obj

    def __repr__(self):
        return f"<MatchedMessage source={self.source} tag={self.tag} count={self.count}>"


cdef _Block byte_block(object obj, bint writable):
    """All bytes of an object, or an array with gaps."""
    cdef _Block block = _Block.__new__(_Block)
    block.what = obj
    if take(obj, &block.view, writable, True, True):
        return strided_block(obj, writable)
    block.held = True
    block.at = block.view.buf
    block.type = WAITIO_MPI_BYTE
    block.unit = 1
    block.items = block.view.len
    block.whole()
    return block


cdef object matched_probe(Group group, int source, int tag):
    """Take a matching message that is there; None: there is none."""
    cdef MatchedMessage message = MatchedMessage.__new__(MatchedMessage)
    cdef WAITIO_MPI_Status found
    cdef waitio_group_t handle = group.handle
    cdef int flag = 0, code
    with nogil:
        WAITIO_MPIX_Comm_failure_ack(handle)  # a death is no reason not to look
        code = WAITIO_MPI_Improbe(source, tag, handle, &flag, &message.number, &found)
    if code:
        raise group.failed(code, source)
    if not flag:
        return None
    message.st.source = found.MPI_SOURCE
    message.st.tag = found.MPI_TAG
    message.st.bytes = found.waitio_bytes
    message.st.error = message.st.cancelled = 0
    message.group = group
    return message
