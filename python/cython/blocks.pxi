# SPDX-License-Identifier: BSD-3-Clause
# One side of a collective: what the user passed, as address, counts and type for the C call.


cdef class _Block:
    cdef Py_buffer view
    cdef bint held, in_place
    cdef object what       # the user's object, for messages
    cdef void *at
    cdef int type
    cdef object kind       # Datatype, or None: elements that travel as bytes
    cdef Py_ssize_t unit   # C elements per element of the user
    cdef Py_ssize_t items  # elements of the user
    cdef int count         # C elements: all, or for each member
    cdef int *counts       # of each member, in C elements
    cdef int *displs
    cdef int members       # how many they are
    cdef Py_ssize_t used   # C elements that the call reads or writes; -1: those of counts
    cdef bint message      # a receive: less may come than there is room for

    def __dealloc__(self):
        self.release()
        PyMem_Free(self.counts)

    cdef void release(self):
        if self.held:
            self.held = False
            PyBuffer_Release(&self.view)

    cdef str types(self):
        """Name of the elements' type."""
        dtype = getattr(self.what, "dtype", None)
        if dtype is not None:
            return str(dtype)
        return self.kind.name if self.kind is not None else f"{self.unit} bytes"

    cdef int whole(self) except -1:
        """All elements in one piece."""
        if self.counts != NULL:
            raise self.wrong("counts of each member belong on the other side of this call")
        self.count = self.to_c(self.items)
        self.used = self.count
        return 0

    cdef int to_c(self, Py_ssize_t items) except? -1:
        if items < 0:
            raise self.wrong(f"a count or displacement is {items}")
        if items * self.unit > 0x7fffffff:
            raise from_code(
                WAITIO_ERR_LIMIT,
                f"{items} elements of {self.types()} in one collective; the limit is "
                f"{0x7fffffff // self.unit}: pass parts of the array one after the other",
            )
        return <int> (items * self.unit)

    cdef object wrong(self, str why):
        return _BufferError(f"cannot use this {type(self.what).__name__} in a collective: {why}")

    cdef int even(self, int size) except -1:
        """The same number of elements for each member."""
        if self.counts != NULL:
            raise self.wrong("counts of each member are taken by the calls whose name ends in 'v'")
        if self.items % size:
            raise self.wrong(
                f"its {self.items} elements are no multiple of the {size} members; "
                "the calls whose name ends in 'v' take counts"
            )
        self.count = self.to_c(self.items // size)
        self.used = <Py_ssize_t> self.count * size
        return 0

    cdef int uneven(self, int size) except -1:
        """Counts and displacements of each member were given, or are even."""
        if self.counts != NULL:
            return 0
        self.even(size)
        return self.spread(size, [self.items // size] * size, None)

    cdef int spread(self, int size, counts, displs) except -1:
        """Set counts and displacements, in elements; they must lie in the buffer."""
        cdef int i
        cdef Py_ssize_t at = 0, n
        counts = [operator.index(c) for c in counts]
        displs = None if displs is None else [operator.index(d) for d in displs]
        for name, given in (("counts", counts), ("displacements", displs)):
            if given is not None and len(given) != size:
                raise self.wrong(f"{len(given)} {name} for {size} members")
        PyMem_Free(self.counts)
        self.counts = <int *> PyMem_Malloc((2 * size + 1) * sizeof(int))
        if self.counts == NULL:
            raise MemoryError()
        self.displs = self.counts + size
        self.members = size
        self.used = -1
        for i in range(size):
            n = counts[i]
            at = at if displs is None else displs[i]
            self.counts[i] = self.to_c(n)
            self.displs[i] = self.to_c(at)
            if n > 0 and at + n > self.items:
                raise self.wrong(
                    f"{n} elements at displacement {at} for member {i} reach beyond its "
                    f"{self.items} elements"
                )
            at += n
        return 0

    cdef int cut(self, const waitio_status_t *status) except -1:
        """A message is over: only what came of it is used."""
        cdef Py_ssize_t size = 1 if self.kind is None else (<Datatype> self.kind).size_
        cdef Py_ssize_t came = 0 if status.cancelled else status.bytes
        if size > 0:
            self.used = min(self.used, (came + size - 1) // size)
        return 0

    cdef int move(self, bint to_host) except -1:
        """Copy what the call uses between an array on a device and its stage."""
        cdef Py_ssize_t first = 0, end = 0
        cdef int i
        if not is_staged(&self.view):
            return 0
        if self.used >= 0:
            return self.move_part(to_host, 0, self.used)
        for i in range(self.members):
            if self.counts[i] == 0:
                continue
            if self.displs[i] != end:  # parts without a gap are copied at once
                self.move_part(to_host, first, end)
                first = self.displs[i]
            end = self.displs[i] + self.counts[i]
        return self.move_part(to_host, first, end)

    cdef int move_part(self, bint to_host, Py_ssize_t first, Py_ssize_t end) except -1:
        """Copy the elements from `first` to before `end`; one may reach beyond its extent."""
        cdef Py_ssize_t extent = 1, reach = 1
        if self.kind is not None:
            extent = (<Datatype> self.kind).extent_
            reach = max(extent, (<Datatype> self.kind).end_)
        if end <= first:
            return 0
        return (<_Stage> self.view.obj).copy(to_host, first * extent,
                                             (end - first - 1) * extent + reach)


cdef object land_blocks(tuple keep, const waitio_status_t *status, object failure):
    """A call is over: its result goes to the device, of a collective that failed nothing.

    Returns the call's failure, or that of the copy where there was none before.
    """
    cdef _Block block = keep[1]
    if block is None or not is_staged(&block.view) or not (<_Stage> block.view.obj).writable:
        return failure
    if failure is not None and not block.message:
        return failure
    try:
        if block.message:
            block.cut(status)
        block.move(False)
    except BaseException as error:
        if failure is None:
            return error
        failure.__cause__ = error
    return failure


cdef void land_blocks_unseen(tuple keep, const waitio_status_t *status):
    cdef object failure = land_blocks(keep, status, None)
    if failure is not None:
        print_failure(failure, (<_Block> keep[1]).what)


cdef Py_ssize_t room_for(_Block block, Datatype kind) except -1:
    """How many elements of a datatype that was made of others lie in this memory."""
    cdef Py_ssize_t size = block.view.len
    if kind.first_ < 0:
        raise block.wrong(f"elements of {kind!r} begin {-kind.first_} bytes before their place")
    if kind.end_ > size:
        raise block.wrong(f"an element of {kind!r} reaches to byte {kind.end_} of its {size}")
    return (size - kind.end_) // kind.extent_ + 1 if kind.extent_ > 0 else 1


cdef int read_type(_Block block, object obj, object kind) except -1:
    """What are the elements? `kind`: what the user says, or None."""
    if kind is None:
        letters = block.view.format.decode() if block.view.format != NULL else "B"
        kind = type_of_format(letters, block.view.itemsize, obj)
        block.items = block.view.len // max(1, block.view.itemsize)
        block.unit = 1 if kind is not None else max(1, block.view.itemsize)
    elif (<Datatype> kind).made:
        block.items = room_for(block, <Datatype> kind)
        block.unit = 1
    else:
        if block.view.len % (<Datatype> kind).extent_:
            raise block.wrong(
                f"its {block.view.len} bytes are no whole number of {kind.name} "
                f"({kind.extent} bytes each)"
            )
        block.items = block.view.len // (<Datatype> kind).extent_
        block.unit = 1
    block.kind = kind
    block.type = WAITIO_MPI_BYTE if kind is None else (<Datatype> kind).number
    return 0


cdef tuple parts_of(object spec):
    """(memory, count, counts, displacements, Datatype) of what the user passed."""
    if not isinstance(spec, (list, tuple)):
        return spec, None, None, None, None
    if not spec or len(spec) > 4:
        raise TypeError("a buffer is given as array, or [array, count, datatype], "
                        "or [array, counts, displacements, datatype]")
    words = list(spec)
    memory, kind = words.pop(0), None
    if words and (isinstance(words[len(words) - 1], (Datatype, str))):
        kind = named_type(words.pop())
    count = counts = displs = None
    if len(words) == 2:
        counts, displs = words
    elif words:
        word = words[0]
        if word is None or hasattr(word, "__index__") and not hasattr(word, "__len__"):
            count = word
        elif len(word) == 2 and hasattr(word[0], "__len__"):
            counts, displs = word
        else:
            counts = word
    return memory, count, counts, displs, kind


cdef _Block new_block(object spec, bint writable, int size):
    """Hold the memory that the user passed; None for None."""
    cdef _Block block
    cdef int flags = PyBUF_ANY_CONTIGUOUS | PyBUF_FORMAT | (PyBUF_WRITABLE if writable else 0)
    memory, count, counts, displs, kind = parts_of(spec)
    if memory is None:
        return None
    block = _Block.__new__(_Block)
    block.what = memory
    block.type = WAITIO_MPI_BYTE
    block.unit = 1
    if memory is IN_PLACE:
        block.in_place = True
        block.at = WAITIO_MPI_IN_PLACE
        return block
    take_slow(memory, &block.view, flags, False)
    block.held = True
    block.at = block.view.buf
    read_type(block, memory, kind)
    if counts is not None:
        block.spread(size, counts, displs)
    elif count is not None:
        if not 0 <= operator.index(count) <= block.items:
            raise block.wrong(f"count {count} of {block.items} elements")
        block.items = count
    return block
