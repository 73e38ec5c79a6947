# SPDX-License-Identifier: BSD-3-Clause
# The coupler's calls. What users see is waitio/coupler; it checks arrays before they come here.
#
# It lives in this extension because one process has one universe: a package that brings its own
# copy of the library has the coupler's objects beside it.

cdef extern from "waitio_cpl.h" nogil:
    ctypedef void *waitio_cpl_t
    struct waitio_cpl_entries:
        size_t n
        const int *send_index
        const int *recv_index
        const double *coef
        const double *cos
        const double *sin
    struct waitio_cpl_cells:
        int unit
        const double *x
        const double *y
        int corners
        const double *corner_x
        const double *corner_y
        const int *mask
        const double *fraction
        const double *area
        int64_t nx, ny
        int periodic, fold
        size_t n
    struct waitio_cpl_facts:
        const char *grid
        size_t layers, points
        int64_t interval
        int lag
        double fill
    int waitio_cpl_open(const char *component, const char *conf, waitio_cpl_t *cpl)
    int waitio_cpl_close(waitio_cpl_t *cpl)
    const char *waitio_cpl_last_error()
    int waitio_cpl_components(waitio_cpl_t cpl, int *n, int *mine)
    const char *waitio_cpl_component_name(waitio_cpl_t cpl, int i)
    int waitio_cpl_component_size(waitio_cpl_t cpl, int i, int *n, int *rank)
    int waitio_cpl_grid(waitio_cpl_t cpl, const char *grid, const int *index, size_t n)
    int waitio_cpl_grids_done(waitio_cpl_t cpl)
    int waitio_cpl_map(waitio_cpl_t cpl, const char *send_component, const char *send_grid,
                       const char *recv_component, const char *recv_grid, int tag,
                       const waitio_cpl_entries *mine)
    int waitio_cpl_grid_cells(waitio_cpl_t cpl, const char *grid, const waitio_cpl_cells *cells)
    int waitio_cpl_map_file(waitio_cpl_t cpl, const char *send_component, const char *send_grid,
                            const char *recv_component, const char *recv_grid, int tag,
                            const char *file)
    int waitio_cpl_map_cells(waitio_cpl_t cpl, const char *send_component, const char *send_grid,
                             const char *recv_component, const char *recv_grid, int tag,
                             const char *method)
    int waitio_cpl_start(waitio_cpl_t cpl)
    int waitio_cpl_step(waitio_cpl_t cpl, int64_t seconds)
    int waitio_cpl_advance(waitio_cpl_t cpl, int64_t seconds)
    int waitio_cpl_put(waitio_cpl_t cpl, const char *name, const double *data, size_t points,
                       size_t layers, int flat)
    int waitio_cpl_get(waitio_cpl_t cpl, const char *name, double *data, size_t points,
                       size_t layers, int flat, int *fresh)
    const char *waitio_cpl_variable(waitio_cpl_t cpl, int gets, int i)
    int waitio_cpl_lookup "waitio_cpl_look_up"(waitio_cpl_t cpl, int gets, const char *name,
                                             waitio_cpl_facts *field)
    void waitio_cpl_look_at(int (*look)(void *) noexcept nogil, void *given)
    int waitio_cpl_raise(waitio_cpl_t cpl, const char *text)

cdef object coupler_interrupt = None  # what a signal raised while a call of the coupler waited


cdef int coupler_look(void *nothing) noexcept nogil:
    global coupler_interrupt
    with gil:
        try:
            look_around()
        except BaseException as error:
            coupler_interrupt = error
            return 1
    return 0


def _c_coupler_open(bytes component, bytes conf):
    global splitting
    cdef waitio_cpl_t cpl = NULL
    cdef const char *name = component
    cdef const char *path = conf
    cdef int rc
    with join_lock:
        if left:
            return WAITIO_ERR_STATE, "the universe was left (finalize) by another thread", 0
        splitting += 1  # it has no form in slices either
    with nogil:
        rc = waitio_cpl_open(name, path, &cpl)
    with join_lock:
        splitting -= 1
    text = waitio_cpl_last_error().decode("utf-8", "replace") if rc else ""
    return rc, text, <uintptr_t> cpl


cdef class _Memory:
    """The memory of an array without gaps, held while C works on it."""

    cdef Py_buffer view
    cdef bint held

    def __cinit__(self, array, Py_ssize_t itemsize, bint writable=False):
        PyObject_GetBuffer(array, &self.view, PyBUF_SIMPLE | (PyBUF_WRITABLE if writable else 0))
        self.held = True
        if self.view.len % itemsize:
            raise _BufferError(f"{self.view.len} bytes are no whole number of items")

    def __dealloc__(self):
        if self.held:
            PyBuffer_Release(&self.view)


cdef class CouplerHandle:
    """The coupler of this process, as C has it; `waitio.coupler.Coupler` is made for people."""

    cdef waitio_cpl_t cpl
    cdef int busy
    cdef bint failed

    def __init__(self, str component, conf):
        ready()
        waitio_cpl_look_at(coupler_look, NULL)
        code, text, address = interruptible(
            functools.partial(_c_coupler_open, component.encode(), os.fsencode(conf))
        )
        if code:
            raise from_code(code, text)
        self.cpl = <waitio_cpl_t> <uintptr_t> address

    cdef int begin(self) except -1:
        usable()
        if self.cpl == NULL:
            raise from_code(WAITIO_ERR_STATE, "the coupler is closed")
        if not take_over(&self.busy):
            raise from_code(WAITIO_ERR_BUSY, "another thread is in a call of the coupler")
        if not go_in():
            give_back(&self.busy)
            raise error_of(WAITIO_ERR_STATE)
        return 0

    cdef int end(self, int code) except -1:
        global coupler_interrupt
        come_out(0)
        give_back(&self.busy)
        if code == 0:
            return 0
        self.failed = True
        interrupt, coupler_interrupt = coupler_interrupt, None
        if interrupt is not None:
            raise interrupt
        raise from_code(code, waitio_cpl_last_error().decode("utf-8", "replace"))

    @property
    def open(self):
        """Whether it has neither been closed nor failed."""
        return self.cpl != NULL and not self.failed

    def close(self):
        """End the run together with all components."""
        cdef int rc
        self.begin()
        with nogil:
            rc = waitio_cpl_close(&self.cpl)
        self.end(rc)

    def fail(self, str text):
        """End all components with this text; raises nothing."""
        cdef int rc
        cdef bytes encoded = text.encode("utf-8", "replace")
        cdef const char *why = encoded
        self.begin()
        with nogil:
            rc = waitio_cpl_raise(self.cpl, why)
        try:
            self.end(rc)
        except _Error:
            pass

    def components(self):
        """Return ((name, processes) of each component, index of mine, my rank in it)."""
        cdef int n = 0, mine = 0, size = 0, rank = 0
        self.begin()
        waitio_cpl_components(self.cpl, &n, &mine)
        found = []
        for i in range(n):
            waitio_cpl_component_size(self.cpl, i, &size, &rank)
            found.append((waitio_cpl_component_name(self.cpl, i).decode(), size))
        waitio_cpl_component_size(self.cpl, mine, &size, &rank)
        self.end(0)
        return tuple(found), mine, rank

    def variables(self, bint gets):
        """Return the names of what this component puts or gets."""
        cdef const char *name
        found = []
        self.begin()
        while True:
            name = waitio_cpl_variable(self.cpl, gets, len(found))
            if name == NULL:
                break
            found.append(name.decode())
        self.end(0)
        return tuple(found)

    def field(self, bint gets, str name):
        """Return (grid, layers, points here, interval, lag, fill), None if it is unknown."""
        cdef waitio_cpl_facts field
        cdef bytes encoded = name.encode()
        cdef const char *text = encoded
        self.begin()
        cdef int rc = waitio_cpl_lookup(self.cpl, gets, text, &field)
        self.end(0)
        if rc:
            return None
        return field.grid.decode(), field.layers, field.points, field.interval, field.lag, field.fill

    def grid(self, str name, index):
        """Define a grid by the global indices (int32) of this process's points."""
        cdef _Memory memory = _Memory(index, 4)
        cdef bytes encoded = name.encode()
        cdef const char *text = encoded
        cdef int rc
        self.begin()
        with nogil:
            rc = waitio_cpl_grid(self.cpl, text, <const int *> memory.view.buf,
                                 memory.view.len // 4)
        self.end(rc)

    def grids_done(self):
        """Say that all grids are defined."""
        cdef int rc
        self.begin()
        with nogil:
            rc = waitio_cpl_grids_done(self.cpl)
        self.end(rc)

    def cells(self, str name, lon, lat, corner_lon, corner_lat, mask, fraction, area, int64_t nx,
              int64_t ny, bint periodic, bint fold, str unit):
        """Say where this process's points of a grid are; arrays as `waitio.coupler.cells` has."""
        cdef waitio_cpl_cells cells
        cdef bytes encoded = name.encode()
        cdef const char *text = encoded
        cdef list held = []
        cdef int rc
        memset(&cells, 0, sizeof(cells))
        cells.unit = ("degrees", "radians", "plane").index(unit)
        cells.x = <const double *> hold(held, lon, 8)
        cells.y = <const double *> hold(held, lat, 8)
        if corner_lon is not None:
            cells.corners = corner_lon.shape[1]
        cells.corner_x = <const double *> hold(held, corner_lon, 8)
        cells.corner_y = <const double *> hold(held, corner_lat, 8)
        cells.mask = <const int *> hold(held, mask, 4)
        cells.fraction = <const double *> hold(held, fraction, 8)
        cells.area = <const double *> hold(held, area, 8)
        cells.nx, cells.ny, cells.periodic, cells.fold = nx, ny, periodic, fold
        cells.n = len(lon)
        self.begin()
        with nogil:
            rc = waitio_cpl_grid_cells(self.cpl, text, &cells)
        self.end(rc)

    def map_cells(self, tuple names, int tag, str method):
        """Define a table whose weights are made of the cells of both grids."""
        self.map_by(names, tag, method.encode(), True)

    def map_file(self, tuple names, int tag, file):
        """Define a table that is in a weight file."""
        self.map_by(names, tag, os.fsencode(file), False)

    cdef int map_by(self, tuple names, int tag, bytes how, bint made) except -1:
        cdef bytes a = names[0].encode(), b = names[1].encode()
        cdef bytes c = names[2].encode(), d = names[3].encode()
        cdef const char *from_ = a
        cdef const char *out = b
        cdef const char *to = c
        cdef const char *into = d
        cdef const char *text = how
        cdef int rc
        self.begin()
        with nogil:
            if made:
                rc = waitio_cpl_map_cells(self.cpl, from_, out, to, into, tag, text)
            else:
                rc = waitio_cpl_map_file(self.cpl, from_, out, to, into, tag, text)
        self.end(rc)
        return 0

    def map(self, tuple names, int tag, send, receive, coef, cos, sin):
        """Define a table; arrays of equal length (int32, float64) or None."""
        cdef waitio_cpl_entries entries
        cdef bytes a = names[0].encode(), b = names[1].encode()
        cdef bytes c = names[2].encode(), d = names[3].encode()
        cdef const char *from_ = a
        cdef const char *out = b
        cdef const char *to = c
        cdef const char *into = d
        cdef int rc
        cdef bint given = send is not None
        cdef list held = []
        memset(&entries, 0, sizeof(entries))
        if given:
            entries.n = len(send)
            entries.send_index = <const int *> hold(held, send, 4)
            entries.recv_index = <const int *> hold(held, receive, 4)
            entries.coef = <const double *> hold(held, coef, 8)
            entries.cos = <const double *> hold(held, cos, 8)
            entries.sin = <const double *> hold(held, sin, 8)
        self.begin()
        with nogil:
            rc = waitio_cpl_map(self.cpl, from_, out, to, into, tag, &entries if given else NULL)
        self.end(rc)

    def start(self):
        """Begin the run."""
        cdef int rc
        self.begin()
        with nogil:
            rc = waitio_cpl_start(self.cpl)
        self.end(rc)

    def step(self, int64_t seconds, bint exchange):
        """Begin a step."""
        cdef int rc
        self.begin()
        with nogil:
            if exchange:
                rc = waitio_cpl_step(self.cpl, seconds)
            else:
                rc = waitio_cpl_advance(self.cpl, seconds)
        self.end(rc)

    def put(self, str name, data, size_t layers):
        """Put float64 numbers [layer][point]. Raises ValueError, before anything, for a NaN."""
        cdef _Memory memory = _Memory(data, 8)
        cdef const double *numbers = <const double *> memory.view.buf
        cdef size_t i, n = memory.view.len // 8
        cdef bytes encoded = name.encode()
        cdef const char *text = encoded
        cdef int rc, bad = 0
        with nogil:
            for i in range(n):
                bad |= numbers[i] != numbers[i]
        if bad:
            raise ValueError("NaN")
        self.begin()
        with nogil:
            rc = waitio_cpl_put(self.cpl, text, numbers, n // layers, layers, layers == 1)
        self.end(rc)

    def get(self, str name, data, size_t layers):
        """Get float64 numbers [layer][point]; return whether they are fresh."""
        cdef _Memory memory = _Memory(data, 8, True)
        cdef size_t n = memory.view.len // 8
        cdef bytes encoded = name.encode()
        cdef const char *text = encoded
        cdef int rc, fresh = 0
        self.begin()
        with nogil:
            rc = waitio_cpl_get(self.cpl, text, <double *> memory.view.buf, n // layers, layers,
                                layers == 1, &fresh)
        self.end(rc)
        return fresh != 0


cdef void *hold(list held, array, Py_ssize_t itemsize) except? NULL:
    """The memory of an array, held by the list; NULL for None and for no items."""
    cdef _Memory memory
    if array is None:
        return NULL
    memory = _Memory(array, itemsize)
    held.append(memory)
    return memory.view.buf
