# SPDX-License-Identifier: BSD-3-Clause
# Operators that Python programs make: called by the library, by whichever thread moves a reduction on.

from cpython.memoryview cimport PyMemoryView_FromMemory

cdef extern from "userops.h" nogil:
    enum:
        OPERATORS "WIO_PY_OPERATORS"
    void (*operator_hook "wio_py_operator")(int slot, void *a, void *b, int n, int kind)
    void *operator_functions "wio_py_operators"[]

_operators = [None] * OPERATORS  # weak references; an operator under way is held by its requests
operators_lock = threading.Lock()

_BY_NUMBER = {(<Datatype> kind).number: kind for kind in _TYPES.values()}
# What NumPy calls these elements; others are given as bytes, one row for each element.
_DTYPES = {
    **{f"{u}INT{8 * n}_T": f"{u[:1].lower() or 'i'}{n}" for u in ("", "U") for n in (1, 2, 4, 8)},
    "BYTE": "u1", "CHAR": "i1", "BOOL": "?", "SHORT": "h", "INT": "i", "LONG": "l",
    "FLOAT": "f4", "DOUBLE": "f8", "LONG_DOUBLE": "g", "COMPLEX": "c8", "DOUBLE_COMPLEX": "c16",
}


cdef object elements(const void *at, Py_ssize_t n, int number):
    """A copy of elements as an array of NumPy."""
    import numpy

    cdef intptr_t lb = 0, extent = 0
    kind = _BY_NUMBER.get(number)
    name = None if kind is None else _DTYPES.get(kind.name)
    WAITIO_MPI_Type_get_extent(number, &lb, &extent)
    raw = PyMemoryView_FromMemory(<char *> at, n * extent, 0x100)  # to read
    if name is not None:
        return numpy.frombuffer(raw, name).copy()
    return numpy.frombuffer(raw, "u1").reshape(n, extent).copy()


cdef int apply_operator(Op op, const void *a, void *b, int n, int number) except -1:
    import numpy

    cdef Py_buffer view
    result = elements(b, n, number)
    shape = result.shape
    dtype = result.dtype
    returned = op.function(elements(a, n, number), result)
    if returned is not None:
        result = numpy.asarray(returned)
    if result.shape != shape:
        raise ValueError(f"the operator made {result.shape} of arrays of {shape}")
    result = numpy.ascontiguousarray(result, dtype)
    PyObject_GetBuffer(result, &view, PyBUF_SIMPLE)
    memcpy(b, view.buf, view.len)
    PyBuffer_Release(&view)
    return 0


cdef class _Reduction:
    """One of an operator of the program, as long as it is under way: its request has it."""

    cdef Op op
    cdef object failure  # what the operator raised meanwhile
    cdef object __weakref__


cdef _Reduction new_reduction(Op op):
    cdef _Reduction made = _Reduction.__new__(_Reduction)
    made.op = op
    op.reductions.add(weakref.ref(made, op.reductions.discard))
    return made


cdef void note_failure(Op op, object failure):
    """C does not say for which reduction it calls: all that it may be have failed."""
    cdef _Reduction one
    for reference in list(op.reductions):
        one = reference()
        if one is None:
            continue
        with cython.critical_section(one):
            if one.failure is None:
                one.failure = failure


cdef void call_operator(int slot, void *a, void *b, int n, int number) noexcept with gil:
    cdef Op op
    reference = _operators[slot]
    op = None if reference is None else reference()
    if op is None:
        return
    try:
        apply_operator(op, a, b, n, number)
    except BaseException as error:
        note_failure(op, error)


operator_hook = call_operator


cdef object operator_failure(tuple keep):
    """What an operator of the program raised in a reduction that is over."""
    cdef _Reduction one = keep[2]
    if one is None:
        return None
    with cython.critical_section(one):
        return one.failure


cdef Op new_operator(object function, bint commute):
    cdef Op op = Op.__new__(Op)
    cdef int code = 0
    if not callable(function):
        raise TypeError(f"an operator is a function of two arrays, not {function!r}")
    op.name_ = getattr(function, "__name__", "operator")
    op.function = function
    op.reductions = set()
    op.slot = -1
    with operators_lock:
        for slot, reference in enumerate(_operators):
            if reference is None or reference() is None:
                code = WAITIO_MPI_Op_create(operator_functions[<int> slot], commute, &op.number)
                if code == 0:
                    op.slot = slot
                    _operators[slot] = weakref.ref(op)
                break
    check(code)
    if op.slot < 0:
        raise from_code(WAITIO_ERR_LIMIT, f"{OPERATORS} operators exist already; use one again, or "
                        "drop some")
    return op
