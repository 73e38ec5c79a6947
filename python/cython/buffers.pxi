# SPDX-License-Identifier: BSD-3-Clause
# From an object of the user to the address and size of its memory.


cdef object refuse(object obj, str why, bint writable):
    what = "receive into" if writable else "send"
    return _BufferError(f"cannot {what} this {type(obj).__name__}: {why}")


cdef object cannot_take(object obj, bint writable, object cause):
    """Why the buffer protocol refused."""
    try:
        view = memoryview(obj)
    except (TypeError, ValueError, _builtins.BufferError):
        return refuse(obj, str(cause), writable)
    if not view.contiguous:
        return refuse(
            obj,
            f"its memory is not contiguous (shape {view.shape}, strides {view.strides}, "
            f"item size {view.itemsize}); "
            + ("receive into a contiguous array and copy from it" if writable
               else "send np.ascontiguousarray(array) instead"),
            writable,
        )
    if writable and view.readonly:
        return refuse(obj, "its memory is read-only; pass a bytearray or a writable array", True)
    return refuse(obj, str(cause), writable)


cdef bint has_interface(object obj) except -1:
    try:
        return hasattr(obj, "__cuda_array_interface__")
    except Exception:  # it has, and cannot be asked now
        return True


cdef object other_memory(object obj, bint writable):
    """What has the buffer protocol, of an object that has not: a NumPy view, or a stage.

    DLPack is asked first: it hands over streams, which the second version of CUDA's interface, that
    of PyTorch, does not.
    """
    if not hasattr(obj, "__dlpack__"):
        if has_interface(obj):
            return new_stage(obj, writable)
        raise TypeError(
            f"a buffer is needed (bytes, bytearray, memoryview, NumPy array, DLPack, CUDA array "
            f"interface), not {type(obj).__name__}; the lower-case calls send any Python object"
        )
    kind = obj.__dlpack_device__()[0] if hasattr(obj, "__dlpack_device__") else DLPACK_HOST
    if kind == DLPACK_CUDA or kind == DLPACK_CUDA_MANAGED:
        return new_stage(obj, writable)
    if kind != DLPACK_HOST and kind != DLPACK_PINNED:
        return refuse_device(obj, writable, f" (DLPack's kind {int(kind)})")
    try:
        import numpy
    except ImportError:
        raise refuse(obj, "objects with DLPack need NumPy: pip install numpy", writable) from None
    try:
        return numpy.from_dlpack(obj)
    except (_builtins.BufferError, RuntimeError, ValueError, TypeError) as error:
        raise refuse(obj, f"its __dlpack__ says: {error}", writable) from error


cdef object refuse_device(object obj, bint writable, str which):
    raise refuse(
        obj,
        f"it lies in the memory of a device{which}; copy to the host first"
        + (" (receive into a host array, then copy to the device)" if writable else ""),
        writable,
    )


cdef bint names_references(const char *format) noexcept:
    """Does this format of the buffer protocol have elements that are Python objects?"""
    cdef bint name = False
    while format[0] != 0:
        if format[0] == b":":  # around the names of a structure's parts
            name = not name
        elif format[0] == b"O" and not name:
            return True
        format += 1
    return False


cdef object refuse_references(object obj, bint writable):
    return refuse(
        obj,
        "its elements are references to Python objects, which mean nothing in another process; "
        + ("receive with recv what send sends" if writable
           else "send it with the lower-case calls, or array.astype() of a type of numbers"),
        writable,
    )


cdef int get_buffer(object obj, Py_buffer *view, int flags) except -1:
    """PyObject_GetBuffer; without a format where the object's elements have none, such as dates."""
    try:
        return PyObject_GetBuffer(obj, view, flags)
    except (_builtins.BufferError, ValueError, TypeError):
        if not flags & PyBUF_FORMAT:
            raise
        if getattr(getattr(obj, "dtype", None), "hasobject", False):
            raise refuse_references(obj, (flags & PyBUF_WRITABLE) != 0) from None
    return PyObject_GetBuffer(obj, view, flags & ~PyBUF_FORMAT)


cdef bint has_gaps(object obj, bint writable):
    """Is this memory that only a datatype describes?"""
    try:
        view = memoryview(obj)
    except (TypeError, ValueError, _builtins.BufferError):
        view = getattr(obj, "flags", None)  # an array whose elements have no format
        return view is not None and not (view.c_contiguous or view.f_contiguous) \
            and (view.writeable or not writable)
    return not view.contiguous and not (writable and view.readonly)


cdef int take_slow(object obj, Py_buffer *view, int flags, bint fill, bint gaps=False) except -1:
    """Returns 1, and takes nothing, where `gaps` are welcome and the memory has them."""
    cdef bint writable = (flags & PyBUF_WRITABLE) != 0
    if gaps and isinstance(obj, (list, tuple)):
        return 1
    if not PyObject_CheckBuffer(obj):
        obj = other_memory(obj, writable)
        if fill and not writable and type(obj) is _Stage:
            (<_Stage> obj).copy(True, 0, (<_Stage> obj).size)
    try:
        get_buffer(obj, view, flags)
    except _BufferError:
        raise
    except (_builtins.BufferError, ValueError, TypeError) as error:
        if gaps and has_gaps(obj, writable):
            return 1
        raise cannot_take(obj, writable, error) from None
    if view.format != NULL and names_references(view.format):
        PyBuffer_Release(view)
        raise refuse_references(obj, writable)
    return 0


cdef inline int take(object obj, Py_buffer *view, bint writable, bint fill=True,
                     bint gaps=False) except -1:
    """Hold the memory of `obj`; PyBuffer_Release gives it back.

    `fill`: what an array on a device holds is to be sent now. `gaps`: returns 1, and takes nothing,
    for what a datatype has to describe.
    """
    cdef int flags = PyBUF_ANY_CONTIGUOUS | (PyBUF_WRITABLE if writable else 0)
    if type(obj) is not bytes and type(obj) is not bytearray:
        flags |= PyBUF_FORMAT  # says whether these are Python objects
    return take_slow(obj, view, flags, fill, gaps)


def _new_buffer(Py_ssize_t size):
    """Return a bytearray whose contents are not set."""
    return PyByteArray_FromStringAndSize(NULL, size)
