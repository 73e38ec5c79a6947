# SPDX-License-Identifier: BSD-3-Clause
# Types of elements and operators of the conversion library, and which type a buffer's elements have.


cdef class Datatype:
    """Type of the elements of a collective's buffer.

    Arrays tell theirs; one has to be named for memory that does not: `[buffer, waitio.DOUBLE]`.
    The methods that begin with `Create` make datatypes of others; they can be used at once, and are
    freed when nobody holds them.
    """

    cdef int number
    cdef str name_
    cdef Py_ssize_t extent_
    cdef Py_ssize_t size_          # bytes of data in it
    cdef Py_ssize_t first_, end_   # where its data begins and ends
    cdef bint holes  # between its parts, or before them
    cdef bint made   # of others, by the program

    def __init__(self):
        raise TypeError("the datatypes are constants (waitio.DOUBLE, waitio.INT and so on), or made "
                        "of them: waitio.DOUBLE.Create_vector(...)")

    def __dealloc__(self):
        if self.made and not left and not forked:
            WAITIO_MPI_Type_free(&self.number)

    @property
    def name(self):
        """Its name, as in MPI."""
        return self.name_

    @property
    def extent(self):
        """Bytes from one element to the next."""
        return self.extent_

    @property
    def size(self):
        """Bytes of data in an element, without gaps."""
        return self.size_

    def Get_size(self):
        """Return `size`."""
        return self.size_

    def Get_extent(self):
        """Return (lower bound, extent) in bytes."""
        cdef intptr_t lb = 0, extent = 0
        check(WAITIO_MPI_Type_get_extent(self.number, &lb, &extent))
        return lb, extent

    def Get_true_extent(self):
        """Return (where its data begins, bytes from there to where it ends)."""
        return self.first_, self.end_ - self.first_

    def Create_contiguous(self, count):
        """Make the datatype of `count` elements one after the other."""
        cdef int made = 0, code
        code = WAITIO_MPI_Type_contiguous(as_int(count, "count"), self.number, &made)
        return derived(code, made, "contiguous")

    def Create_vector(self, count, blocklength, stride):
        """Make `count` blocks of `blocklength` elements, `stride` elements from one to the next."""
        cdef int made = 0, code
        code = WAITIO_MPI_Type_vector(as_int(count, "count"), as_int(blocklength, "blocklength"),
                                      as_int(stride, "stride"), self.number, &made)
        return derived(code, made, "vector")

    def Create_hvector(self, count, blocklength, stride):
        """The same with the stride in bytes."""
        cdef int made = 0, code
        cdef intptr_t distance = whole_number(stride, "stride")
        code = WAITIO_MPI_Type_create_hvector(as_int(count, "count"),
                                              as_int(blocklength, "blocklength"), distance,
                                              self.number, &made)
        return derived(code, made, "hvector")

    def Create_indexed(self, blocklengths, displacements):
        """Make blocks of these lengths at these places, counted in elements."""
        cdef int made = 0, code, n = len(blocklengths)
        cdef int *lengths = NULL
        cdef int *places = NULL
        try:
            lengths = c_ints(blocklengths, "blocklengths", n)
            places = c_ints(displacements, "displacements", n)
            code = WAITIO_MPI_Type_indexed(n, lengths, places, self.number, &made)
        finally:
            PyMem_Free(lengths)
            PyMem_Free(places)
        return derived(code, made, "indexed")

    def Create_hindexed(self, blocklengths, displacements):
        """The same with the places in bytes."""
        cdef int made = 0, code, n = len(blocklengths)
        cdef int *lengths = NULL
        cdef intptr_t *places = NULL
        try:
            lengths = c_ints(blocklengths, "blocklengths", n)
            places = c_bytes(displacements, "displacements", n)
            code = WAITIO_MPI_Type_create_hindexed(n, lengths, places, self.number, &made)
        finally:
            PyMem_Free(lengths)
            PyMem_Free(places)
        return derived(code, made, "hindexed")

    @staticmethod
    def Create_struct(blocklengths, displacements, datatypes):
        """Make blocks of these lengths at these places, in bytes, each of a datatype of its own."""
        cdef int made = 0, code, n = len(blocklengths)
        cdef int *lengths = NULL
        cdef int *kinds = NULL
        cdef intptr_t *places = NULL
        try:
            lengths = c_ints(blocklengths, "blocklengths", n)
            places = c_bytes(displacements, "displacements", n)
            kinds = c_ints([int(named_type(t)) for t in datatypes], "datatypes", n)
            code = WAITIO_MPI_Type_create_struct(n, lengths, places, kinds, &made)
        finally:
            PyMem_Free(lengths)
            PyMem_Free(places)
            PyMem_Free(kinds)
        return derived(code, made, "struct")

    def Create_subarray(self, sizes, subsizes, starts, order=None):
        """Make the part of `subsizes` elements that begins at `starts` of an array of `sizes`.

        `order`: waitio.ORDER_C (None), the last dimension lies densest, or waitio.ORDER_FORTRAN.
        """
        cdef int made = 0, code, n = len(sizes)
        cdef int *whole = NULL
        cdef int *parts = NULL
        cdef int *first = NULL
        cdef int layout = WAITIO_MPI_ORDER_C if order is None else as_int(order, "order")
        try:
            whole = c_ints(sizes, "sizes", n)
            parts = c_ints(subsizes, "subsizes", n)
            first = c_ints(starts, "starts", n)
            code = WAITIO_MPI_Type_create_subarray(n, whole, parts, first, layout, self.number,
                                                   &made)
        finally:
            PyMem_Free(whole)
            PyMem_Free(parts)
            PyMem_Free(first)
        return derived(code, made, "subarray")

    def Create_resized(self, lb, extent):
        """Make the same with another lower bound and extent, in bytes."""
        cdef int made = 0, code
        cdef intptr_t low = whole_number(lb, "lb"), bytes_ = whole_number(extent, "extent")
        code = WAITIO_MPI_Type_create_resized(self.number, low, bytes_, &made)
        return derived(code, made, self.name_)

    @staticmethod
    def from_dtype(dtype):
        """Return the datatype of elements of a NumPy dtype, structures among them."""
        import numpy

        return type_of_dtype(numpy.dtype(dtype))

    def Commit(self):
        """Return the datatype itself: it can be used as soon as it is made."""
        return self

    def Free(self):
        """Does nothing: a datatype is freed when nobody holds it."""

    def __int__(self):
        return self.number

    def __reduce__(self):
        if self.made:
            raise TypeError("a Datatype that was made of others belongs to this process")
        return self.name_  # the constant of this module

    def __repr__(self):
        return f"<Datatype {self.name_}>"


cdef class Op:
    """An operator of reductions; called with two Python objects it combines them."""

    cdef int number
    cdef str name_
    cdef object function
    cdef int slot        # of an operator of the program, see userops.pxi
    cdef set reductions  # weak references to its _Reductions
    cdef object __weakref__

    def __init__(self):
        raise TypeError("the operators are constants (waitio.SUM, waitio.MAX and so on), or made by "
                        "waitio.Op.Create(function)")

    def __cinit__(self):
        self.slot = -1

    def __dealloc__(self):
        if self.slot >= 0 and not left and not forked:
            WAITIO_MPI_Op_free(&self.number)

    @staticmethod
    def Create(function, commute=False):
        """Make an operator of `function(a, b)`, for reductions of arrays.

        It is called with two NumPy arrays of one dimension, parts of those that are reduced, `a`
        from lower ranks. It returns an array, or None when it has changed `b`. `commute`: the two
        may change places. What it raises is raised by the reduction of this process, or by each
        one of this operator that is under way.
        """
        return new_operator(function, bool(commute))

    def Free(self):
        """Does nothing: an operator is freed when nobody holds it."""

    @property
    def name(self):
        """Its name, as in MPI."""
        return self.name_

    def __int__(self):
        return self.number

    def __reduce__(self):
        if self.slot >= 0:
            raise TypeError("an Op that was made by Create belongs to this process")
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
    made.size_ = size
    WAITIO_MPI_Type_get_true_extent(number, &lb, &extent)
    made.first_ = lb
    made.end_ = lb + extent
    made.holes = size != made.extent_ or lb != 0 or size != extent
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
BYTE = _TYPES["BYTE"]
ORDER_C = WAITIO_MPI_ORDER_C
ORDER_FORTRAN = WAITIO_MPI_ORDER_FORTRAN
COMM_TYPE_SHARED = WAITIO_MPI_COMM_TYPE_SHARED
COMM_TYPE_PB = WAITIO_MPI_COMM_TYPE_PB

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
