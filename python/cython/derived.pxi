# SPDX-License-Identifier: BSD-3-Clause
# Datatypes made of others, and those that describe NumPy arrays with gaps.


cdef int *c_ints(object values, str what, Py_ssize_t n) except NULL:
    """Copy integers for C; free with PyMem_Free. They must be `n`."""
    cdef int *out
    cdef Py_ssize_t i
    values = [as_int(v, what) for v in values]
    if len(values) != n:
        raise from_code(WAITIO_ERR_ARG, f"{len(values)} {what} where {n} are needed")
    out = <int *> PyMem_Malloc((n + 1) * sizeof(int))
    if out == NULL:
        raise MemoryError()
    for i in range(n):
        out[i] = values[i]
    return out


cdef intptr_t *c_bytes(object values, str what, Py_ssize_t n) except NULL:
    """The same for distances in bytes."""
    cdef intptr_t *out
    cdef Py_ssize_t i
    values = [whole_number(v, what) for v in values]
    if len(values) != n:
        raise from_code(WAITIO_ERR_ARG, f"{len(values)} {what} where {n} are needed")
    out = <intptr_t *> PyMem_Malloc((n + 1) * sizeof(intptr_t))
    if out == NULL:
        raise MemoryError()
    for i in range(n):
        out[i] = values[i]
    return out


cdef Datatype derived(int code, int number, str name):
    """The Datatype that C has made with `code`; it is freed with the object."""
    cdef Datatype made
    check(code)
    code = WAITIO_MPI_Type_commit(&number)
    if code:
        WAITIO_MPI_Type_free(&number)
        check(code)
    made = make_type(name, number)
    made.made = True
    return made


cdef Datatype strided_type(Py_buffer *view, object obj, bint writable):
    """The datatype of the memory that this view of an array leads through."""
    cdef Datatype kind = None
    cdef int number = 0, dim, code
    for dim in range(view.ndim):
        if view.shape[dim] > 0x7fffffff:
            raise from_code(WAITIO_ERR_LIMIT, f"{view.shape[dim]} elements with gaps in one "
                            "dimension; send parts of the array")
        if writable and view.strides[dim] == 0 and view.shape[dim] > 1:
            raise refuse(obj, "several of its elements lie in the same place", True)
    code = WAITIO_MPI_Type_contiguous(<int> view.itemsize, WAITIO_MPI_BYTE, &number)
    kind = derived(code, number, "elements")
    for dim in range(view.ndim - 1, -1, -1):
        number = 0
        if view.shape[dim] == 1:
            continue
        code = WAITIO_MPI_Type_create_hvector(<int> view.shape[dim], 1, view.strides[dim],
                                              kind.number, &number)
        kind = derived(code, number, "array with gaps")  # C holds what it is made of
    return kind


cdef Datatype type_of_dtype(object dtype):
    """The Datatype of elements as a NumPy dtype describes them."""
    cdef Datatype inner
    if dtype.hasobject:
        raise _BufferError(f"elements of {dtype} are references to Python objects, which mean "
                           "nothing in another process")
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        inner = type_of_dtype(base)
        return inner.Create_contiguous(functools.reduce(operator.mul, shape, 1))
    if dtype.fields is not None:
        parts = sorted((dtype.fields[name][1], name) for name in dtype.names)
        kinds = [type_of_dtype(dtype.fields[name][0]) for _, name in parts]
        whole = Datatype.Create_struct([1] * len(kinds), [at for at, _ in parts], kinds)
        return whole.Create_resized(0, dtype.itemsize)
    letters = {"F": "Zf", "D": "Zd"}.get(dtype.char, dtype.char)
    order = dtype.byteorder if dtype.byteorder in "<>" else ""
    found = type_of_format(order + letters, dtype.itemsize, dtype)
    return BYTE.Create_contiguous(dtype.itemsize) if found is None else found
