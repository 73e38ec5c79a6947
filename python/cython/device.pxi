# SPDX-License-Identifier: BSD-3-Clause
# Arrays in the memory of a device. Host memory stands in for them (a stage, with the buffer
# protocol, so that requests hold it as they hold any other buffer): filled before a send, emptied
# to the device when a receive is over. The stage holds the user's array.

from cpython.exc cimport PyErr_SetObject, PyErr_WriteUnraisable
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid

# Kinds of memory in DLPack.
cdef enum:
    DLPACK_HOST = 1
    DLPACK_CUDA = 2
    DLPACK_PINNED = 3
    DLPACK_CUDA_MANAGED = 13

cdef struct dlpack_tensor:
    void *data
    int32_t device_type, device_id
    int32_t ndim
    uint8_t code, bits
    uint16_t lanes
    int64_t *shape
    int64_t *strides
    uint64_t byte_offset

cdef struct dlpack_versioned:
    uint32_t major, minor
    void *manager
    void *deleter
    uint64_t flags
    dlpack_tensor tensor

cdef char no_bytes = 0


cdef class _Stage:
    """Host memory that stands in for an array on a device."""

    cdef object owner      # the user's array
    cdef object capsule    # what its __dlpack__ gave: the memory lives as long as this
    cdef bint writable     # what arrives goes back to the device
    cdef bint held         # a buffer was given away: size and type are settled
    cdef uintptr_t at      # address on the device
    cdef void *context     # of CUDA, in which that address has a meaning
    cdef int primary       # device whose primary context we hold, -1: none
    cdef pool_piece piece
    cdef Py_ssize_t size, itemsize, items
    cdef bytes format

    def __cinit__(self):
        self.primary = -1
        self.piece.memory = NULL

    def __dealloc__(self):
        if forked:  # the lock may be another thread's for ever, and CUDA does not work here
            return
        self.leave_context()
        if self.piece.memory != NULL:
            put_piece(self.piece)

    def __getbuffer__(self, Py_buffer *view, int flags):
        self.held = True
        view.buf = self.piece.memory if self.piece.memory != NULL else &no_bytes
        view.obj = self
        view.len = self.size
        view.itemsize = self.itemsize
        view.readonly = 0
        view.ndim = 1
        view.format = <char *> self.format if flags & PyBUF_FORMAT else NULL
        view.shape = &self.items if flags & PyBUF_ND else NULL
        view.strides = &self.itemsize if flags & PyBUF_STRIDES == PyBUF_STRIDES else NULL
        view.suboffsets = NULL
        view.internal = NULL

    cdef void leave_context(self):
        if self.primary >= 0:
            cuda.release(self.primary)
            self.primary = -1

    cdef int find(self) except -1:
        """Ask the array where its memory lies, and wait for the work that uses it."""
        layout = dlpack_layout(self) if hasattr(self.owner, "__dlpack__") else cuda_layout(self)
        self.at = layout.address
        if not self.held:
            self.size = layout.size
            self.itemsize = layout.itemsize
            self.format = layout.format
            self.items = self.size // max(1, self.itemsize)
        elif self.size != layout.size:
            raise refuse(
                self.owner,
                f"it has {layout.size} bytes now, and had {self.size} when the request was made; "
                "make another request",
                self.writable,
            )
        if self.size > 0:
            self.find_context()
            if layout.stream is not None:
                self.wait_for(layout.stream)
        return 0

    cdef int find_context(self) except -1:
        """The one the memory was made in, or the device's primary one."""
        cdef int code, device = -1
        self.leave_context()
        self.context = NULL
        code = cuda.attribute(&self.context, CUDA_CONTEXT_OF_POINTER, self.at)
        if code == 0 and self.context != NULL:
            return 0
        # Memory of a stream's pool, or mapped by hand, has none.
        code = cuda.attribute(&device, CUDA_DEVICE_OF_POINTER, self.at)
        if code:
            raise refuse(
                self.owner,
                f"CUDA does not know its address {self.at:#x}: "
                f"{cuda_says('cuPointerGetAttribute', code)}; pass an array that is in use, "
                "of this process",
                self.writable,
            )
        code = cuda.retain(&self.context, device)
        if code:
            raise self.failed("cuDevicePrimaryCtxRetain", code, "using the device of")
        self.primary = device
        return 0

    cdef int wait_for(self, uintptr_t stream) except -1:
        cdef int code
        cdef const char *call = NULL
        with nogil:
            code = cuda_wait(self.context, <void *> stream, &call)
        if code:
            raise self.failed(call, code, "waiting for the work that uses")
        return 0

    cdef object failed(self, const char *call, int code, str doing):
        return from_code(
            WAITIO_ERR_SYSTEM,
            f"{doing} this {type(self.owner).__name__} on a device ({self.size} bytes at "
            f"{self.at:#x}): {cuda_says(call, code)}",
        )

    cdef int copy(self, bint to_host, Py_ssize_t first, Py_ssize_t n) except -1:
        """Copy a part between the device and the memory here."""
        cdef int code
        cdef const char *call = NULL
        cdef uintptr_t at = self.at + first
        cdef char *memory = self.piece.memory + first
        n = min(n, self.size - first)
        if n <= 0:
            return 0
        with nogil:
            code = cuda_copy(self.context, to_host, at, memory, n, &call)
        if code:
            raise self.failed(call, code, f"copying {n} bytes {'from' if to_host else 'to'}")
        count_copy(to_host, n)
        return 0

    cdef int again(self) except -1:
        """Before another round of a persistent request."""
        self.find()
        if not self.writable:
            self.copy(True, 0, self.size)
        return 0


cdef _Stage new_stage(object obj, bint writable):
    """A stage for an array on a CUDA device; what is to be sent is not copied yet."""
    cdef _Stage stage
    try:
        load_cuda()
    except LookupError as error:
        raise refuse_device(obj, writable, f", and CUDA cannot be used ({error})") from None
    stage = _Stage.__new__(_Stage)
    stage.owner = obj
    stage.writable = writable
    stage.find()
    if stage.size > 0:
        get_piece(stage.size, &stage.piece)
    return stage


cdef object cuda_layout(_Stage stage):
    from waitio import device

    try:
        interface = stage.owner.__cuda_array_interface__
    except Exception as error:
        raise refuse(stage.owner, f"its __cuda_array_interface__ says: {error}",
                     stage.writable) from error
    try:
        return device.from_interface(interface, stage.writable)
    except device.LayoutError as error:
        raise refuse(stage.owner, str(error), stage.writable) from None


cdef object dlpack_layout(_Stage stage):
    """Ask for the tensor, ready for work on the legacy default stream, where copies are made."""
    cdef dlpack_tensor *tensor
    cdef dlpack_versioned *versioned
    cdef uint64_t flags = 0
    from waitio import device

    try:
        try:
            capsule = stage.owner.__dlpack__(stream=1, max_version=(1, 0))
        except TypeError:  # older than versions
            capsule = stage.owner.__dlpack__(stream=1)
    except Exception as error:
        raise refuse(stage.owner, f"its __dlpack__ says: {error}", stage.writable) from error
    if PyCapsule_IsValid(capsule, "dltensor_versioned"):
        versioned = <dlpack_versioned *> PyCapsule_GetPointer(capsule, "dltensor_versioned")
        if versioned.major != 1:
            raise refuse(stage.owner, f"its __dlpack__ gives version {versioned.major}, not 1",
                         stage.writable)
        flags, tensor = versioned.flags, &versioned.tensor
    elif PyCapsule_IsValid(capsule, "dltensor"):
        tensor = <dlpack_tensor *> PyCapsule_GetPointer(capsule, "dltensor")
    else:
        raise refuse(stage.owner, "its __dlpack__ gives no tensor", stage.writable)
    if tensor.device_type != DLPACK_CUDA and tensor.device_type != DLPACK_CUDA_MANAGED:
        refuse_device(stage.owner, stage.writable, f" (DLPack's kind {tensor.device_type})")
    shape = [tensor.shape[i] for i in range(tensor.ndim)]
    strides = None
    if tensor.strides != NULL:
        strides = [tensor.strides[i] for i in range(tensor.ndim)]
    try:
        layout = device.from_dlpack(
            <uintptr_t> tensor.data + tensor.byte_offset if tensor.data != NULL else 0,
            shape, strides, (tensor.code, tensor.bits, tensor.lanes), flags, stage.writable)
    except device.LayoutError as error:
        raise refuse(stage.owner, str(error), stage.writable) from None
    stage.capsule = capsule  # its own destructor lets the tensor go
    return layout


cdef inline bint is_staged(Py_buffer *view) noexcept:
    return <void *> view.obj != NULL and type(view.obj) is _Stage


cdef object land(Py_buffer *view, size_t arrived, object failure):
    """An operation on this memory is over: what arrived goes to the device.

    Returns the operation's failure, or that of the copy where there was none before.
    """
    cdef _Stage stage
    if not is_staged(view):
        return failure
    stage = <_Stage> view.obj
    if not stage.writable:
        return failure
    try:
        stage.copy(False, 0, min(arrived, <size_t> stage.size))
    except BaseException as error:
        if failure is None:
            return error
        failure.__cause__ = error
    return failure


cdef void land_unseen(Py_buffer *view, size_t arrived):
    """The same for operations that nobody waits for: a failure is printed."""
    cdef object failure = land(view, arrived, None)
    if failure is not None:
        print_failure(failure, (<_Stage> view.obj).owner)


cdef void print_failure(object failure, object where):
    PyErr_SetObject(type(failure), failure)
    PyErr_WriteUnraisable(where)
