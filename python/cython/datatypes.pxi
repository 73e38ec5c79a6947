# SPDX-License-Identifier: BSD-3-Clause
# Types of elements and operators of the conversion library, and which type a buffer's elements have.


cdef class Datatype:
    """Type of the elements of a collective's buffer.

    Arrays tell theirs; one has to be named for memory that does not: `[buffer, waitio.DOUBLE]`.
    """

    cdef int number
    cdef str name_
    cdef Py_ssize_t extent_
    cdef bint holes  # between its parts

    def __init__(self):
        raise TypeError("the datatypes are constants: waitio.DOUBLE, waitio.INT and so on")

    @property
    def name(self):
        """Its name, as in MPI."""
        return self.name_

    @property
    def extent(self):
        """Bytes from one element to the next."""
        return self.extent_

    def __int__(self):
        return self.number

    def __reduce__(self):
        return self.name_  # the constant of this module

    def __repr__(self):
        return f"<Datatype {self.name_}>"


cdef class Op:
    """An operator of reductions; called with two Python objects it combines them."""

    cdef int number
    cdef str name_
    cdef object function

    def __init__(self):
        raise TypeError("the operators are constants: waitio.SUM, waitio.MAX and so on")

    @property
    def name(self):
        """Its name, as in MPI."""
        return self.name_

    def __int__(self):
        return self.number

    def __reduce__(self):
        return self.name_  # the constant of this module

    def __call__(self, a, b):
        """Combine two Python objects."""
        return self.function(a, b)

    def __repr__(self):
        return f"<Op {self.name_}>"


cdef class _InPlace:
    """Type of `IN_PLACE`."""

    def __repr__(self):
        return "waitio.IN_PLACE"

    def __reduce__(self):
        return "IN_PLACE"


cdef Datatype make_type(str name, int number):
    cdef Datatype made = Datatype.__new__(Datatype)
    cdef intptr_t lb = 0, extent = 0
    cdef int size = 0
    WAITIO_MPI_Type_get_extent(number, &lb, &extent)
    WAITIO_MPI_Type_size(number, &size)
    made.name_ = name
    made.number = number
    made.extent_ = extent
    made.holes = size != extent
    return made


cdef Op make_op(str name, int number, function):
    cdef Op made = Op.__new__(Op)
    made.name_ = name
    made.number = number
    made.function = function
    return made


def _lowest(a, b):
    """MINLOC of two (value, index) pairs."""
    return (a[0], min(a[1], b[1])) if a[0] == b[0] else min(a, b, key=lambda pair: pair[0])


def _highest(a, b):
    """MAXLOC of two (value, index) pairs."""
    return (a[0], min(a[1], b[1])) if a[0] == b[0] else max(a, b, key=lambda pair: pair[0])


_TYPES = {name: make_type(name, number) for name, number in (
    ("BYTE", WAITIO_MPI_BYTE), ("CHAR", WAITIO_MPI_CHAR), ("BOOL", WAITIO_MPI_C_BOOL),
    ("SHORT", WAITIO_MPI_SHORT), ("INT", WAITIO_MPI_INT), ("LONG", WAITIO_MPI_LONG),
    ("INT8_T", WAITIO_MPI_INT8_T), ("INT16_T", WAITIO_MPI_INT16_T),
    ("INT32_T", WAITIO_MPI_INT32_T), ("INT64_T", WAITIO_MPI_INT64_T),
    ("UINT8_T", WAITIO_MPI_UINT8_T), ("UINT16_T", WAITIO_MPI_UINT16_T),
    ("UINT32_T", WAITIO_MPI_UINT32_T), ("UINT64_T", WAITIO_MPI_UINT64_T),
    ("FLOAT", WAITIO_MPI_FLOAT), ("DOUBLE", WAITIO_MPI_DOUBLE),
    ("LONG_DOUBLE", WAITIO_MPI_LONG_DOUBLE), ("COMPLEX", WAITIO_MPI_C_COMPLEX),
    ("DOUBLE_COMPLEX", WAITIO_MPI_C_DOUBLE_COMPLEX),
    ("FLOAT_INT", WAITIO_MPI_FLOAT_INT), ("DOUBLE_INT", WAITIO_MPI_DOUBLE_INT),
    ("LONG_INT", WAITIO_MPI_LONG_INT), ("TWOINT", WAITIO_MPI_2INT),
)}
globals().update(_TYPES)

_OPS = {name: make_op(name, number, function) for name, number, function in (
    ("SUM", WAITIO_MPI_SUM, operator.add), ("PROD", WAITIO_MPI_PROD, operator.mul),
    ("MAX", WAITIO_MPI_MAX, max), ("MIN", WAITIO_MPI_MIN, min),
    ("LAND", WAITIO_MPI_LAND, lambda a, b: bool(a) and bool(b)),
    ("LOR", WAITIO_MPI_LOR, lambda a, b: bool(a) or bool(b)),
    ("LXOR", WAITIO_MPI_LXOR, lambda a, b: bool(a) != bool(b)),
    ("BAND", WAITIO_MPI_BAND, operator.and_), ("BOR", WAITIO_MPI_BOR, operator.or_),
    ("BXOR", WAITIO_MPI_BXOR, operator.xor),
    ("MINLOC", WAITIO_MPI_MINLOC, _lowest), ("MAXLOC", WAITIO_MPI_MAXLOC, _highest),
)}
globals().update(_OPS)
SUM = _OPS["SUM"]

IN_PLACE = _InPlace.__new__(_InPlace)

# By letters of the buffer protocol and size; widths differ between machines, letters do not tell.
_BY_FORMAT = {
    **{(c, size): _TYPES[f"INT{8 * size}_T"] for c in "bhilqn" for size in (1, 2, 4, 8)},
    **{(c, size): _TYPES[f"UINT{8 * size}_T"] for c in "BHILQN" for size in (1, 2, 4, 8)},
    ("?", 1): _TYPES["BOOL"], ("f", 4): _TYPES["FLOAT"], ("d", 8): _TYPES["DOUBLE"],
    ("g", sizeof(long double)): _TYPES["LONG_DOUBLE"],
    ("Zf", 8): _TYPES["COMPLEX"], ("Zd", 16): _TYPES["DOUBLE_COMPLEX"],
}
_BY_LETTER = {
    **{c: _BY_FORMAT[c, size] for c, size in (
        ("b", 1), ("B", 1), ("h", 2), ("H", 2), ("i", 4), ("I", 4), ("q", 8), ("Q", 8),
        ("l", sizeof(long)), ("L", sizeof(long)), ("?", 1), ("f", 4), ("d", 8))},
    "F": _TYPES["COMPLEX"], "D": _TYPES["DOUBLE_COMPLEX"], "g": _TYPES["LONG_DOUBLE"],
}
_FOREIGN_ORDER = ">!" if sys.byteorder == "little" else "<"


cdef object named_type(object given):
    """A Datatype from what the user wrote in the place of one."""
    if isinstance(given, Datatype):
        return given
    if isinstance(given, str) and given in _BY_LETTER:
        return _BY_LETTER[given]
    raise TypeError(
        f"a datatype is needed (waitio.DOUBLE or a letter such as 'd'), not {given!r}"
    )


cdef object type_of_format(str letters, Py_ssize_t itemsize, object obj):
    """The Datatype of elements that the buffer protocol describes so; None: they have none."""
    if letters[:1] in "@=<>!" and letters[:1]:
        if letters[0] in _FOREIGN_ORDER and itemsize > 1:
            what = getattr(obj, "dtype", letters)
            raise from_code(
                WAITIO_ERR_ARG,
                f"elements of type {what} are in the byte order of another machine; pass "
                "array.astype(array.dtype.newbyteorder('='))",
            )
        letters = letters[1:]
    return _BY_FORMAT.get((letters, itemsize))
