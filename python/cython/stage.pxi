# SPDX-License-Identifier: BSD-3-Clause
# The calls of streams. What users see is waitio/stage; it checks arrays before they come here.

cdef extern from "waitio_stage.h" nogil:
    ctypedef void *waitio_stage_t
    struct waitio_stage_settings:
        double limit
        int queue
        int full
        int readers
        size_t memory_max
        int writer_known
        int writer_pb
        int writer_rank
        int share
    struct waitio_stage_variable:
        const char *name
        int type
        int kind
        int ndims
        uint64_t shape[8]
        size_t blocks
    int waitio_stage_open(const char *name, int mode, void *group,
                          const waitio_stage_settings *settings, waitio_stage_t *stage)
    int waitio_stage_close(waitio_stage_t *stage, double limit)
    const char *waitio_stage_last_error()
    int waitio_stage_define(waitio_stage_t stage, const char *name, int type, int ndims,
                            const uint64_t *shape, int *variable)
    int waitio_stage_reshape(waitio_stage_t stage, int variable, const uint64_t *shape)
    int waitio_stage_operator(waitio_stage_t stage, int variable, const char *name,
                              const char *parameters)
    int waitio_stage_derive(waitio_stage_t stage, const char *name, const char *what, int n,
                            const int *variables, int *variable)
    int waitio_stage_get_operator(waitio_stage_t stage, const char *name, const char **text)
    int waitio_stage_put(waitio_stage_t stage, int variable, const uint64_t *start,
                         const uint64_t *count, const void *data, int how)
    int waitio_stage_put_scalar(waitio_stage_t stage, const char *name, int type,
                                const void *value)
    int waitio_stage_put_text(waitio_stage_t stage, const char *name, const char *text)
    int waitio_stage_attribute(waitio_stage_t stage, const char *name, int type, size_t n,
                               const void *values)
    int waitio_stage_begin_step(waitio_stage_t stage, int which, double limit, int *status)
    int waitio_stage_end_step(waitio_stage_t stage, double limit)
    int waitio_stage_step(waitio_stage_t stage, int64_t *step)
    int waitio_stage_count(waitio_stage_t stage, const char *name, uint64_t *value)
    int waitio_stage_variables(waitio_stage_t stage, int *n)
    int waitio_stage_variable_at(waitio_stage_t stage, int i, waitio_stage_variable *variable)
    int waitio_stage_block(waitio_stage_t stage, const char *name, size_t number, int *writer,
                           uint64_t *start, uint64_t *count)
    int waitio_stage_get(waitio_stage_t stage, const char *name, int type, const uint64_t *start,
                         const uint64_t *count, void *data)
    int waitio_stage_get_block(waitio_stage_t stage, const char *name, int type, size_t number,
                               void *data)
    int waitio_stage_perform(waitio_stage_t stage, double limit)
    int waitio_stage_get_scalar(waitio_stage_t stage, const char *name, int type, void *value)
    int waitio_stage_get_text(waitio_stage_t stage, const char *name, const char **text)
    int waitio_stage_get_attribute(waitio_stage_t stage, const char *name, int *type, size_t *n,
                                   const void **values)
    const char *waitio_stage_attribute_name(waitio_stage_t stage, int i)
    int waitio_stage_select_steps(waitio_stage_t stage, int64_t first, int64_t last,
                                  int64_t stride)
    size_t waitio_stage_size(int type)
    void waitio_stage_look_at(int (*look)(void *) noexcept nogil, void *given)

cdef object stage_interrupt = None  # what a signal raised while a call of a stream waited


cdef int stage_look(void *nothing) noexcept nogil:
    global stage_interrupt
    with gil:
        try:
            look_around()
        except BaseException as error:
            stage_interrupt = error
            return 1
    return 0


cdef int fill_places(object numbers, uint64_t *places) except -1:
    """Up to eight whole numbers for C."""
    cdef int i = 0
    for number in numbers:
        if i == 8:
            raise ValueError("an array of a stream has 8 dimensions at most")
        places[i] = number
        i += 1
    return i


cdef class StageHandle:
    """A stream of this process, as C has it; `waitio.stage` is made for people."""

    cdef waitio_stage_t stage
    cdef int busy
    # List of arrays that C may still read or write, or NULL. The garbage collector does not see it:
    # the arrays stay also where a cycle of references leads from them to this object.
    cdef PyObject *held

    def __dealloc__(self):
        # A stream that was not closed goes on, by a thread of C or when a message comes: what it
        # reads and writes stays for good.
        if self.stage == NULL:
            self.let_go()

    def __init__(self, str name, int mode, double limit, int queue, int full, int readers,
                 size_t memory_max, writer, int share=0):
        cdef waitio_stage_settings settings
        cdef bytes encoded = name.encode()
        cdef const char *text = encoded
        cdef int rc
        ready()
        waitio_stage_look_at(stage_look, NULL)
        memset(&settings, 0, sizeof(settings))
        settings.limit, settings.queue, settings.full = limit, queue, full
        settings.readers, settings.memory_max = readers, memory_max
        settings.share = share
        if writer is not None:
            settings.writer_known = 1
            settings.writer_pb, settings.writer_rank = writer
        self.enter()
        with nogil:
            rc = waitio_stage_open(text, mode, NULL, &settings, &self.stage)
        self.leave(rc)

    cdef int hold(self, object memory) except -1:
        if self.held == NULL:
            arrays = []
            Py_INCREF(arrays)
            self.held = <PyObject *> arrays
        (<list> self.held).append(memory)
        return 0

    cdef void let_go(self):
        cdef PyObject *held = self.held
        self.held = NULL
        Py_XDECREF(held)

    cdef int enter(self) except -1:
        usable()
        if not take_over(&self.busy):
            raise from_code(WAITIO_ERR_BUSY, "another thread is in a call of this stream")
        if not go_in():
            give_back(&self.busy)
            raise error_of(WAITIO_ERR_STATE)
        return 0

    cdef int begin(self) except -1:
        if self.stage == NULL:
            raise from_code(WAITIO_ERR_STATE, "the stream is closed")
        return self.enter()

    cdef int leave(self, int code) except -1:
        global stage_interrupt
        come_out(0)
        give_back(&self.busy)
        if code == 0:
            return 0
        interrupt, stage_interrupt = stage_interrupt, None
        if interrupt is not None:
            raise interrupt
        raise from_code(code, waitio_stage_last_error().decode("utf-8", "replace"))

    @property
    def open(self):
        """Whether it has not been closed."""
        return self.stage != NULL

    def close(self, double limit):
        """Close it."""
        cdef int rc
        self.begin()
        with nogil:
            rc = waitio_stage_close(&self.stage, limit)
        if rc != 0 and self.held != NULL:  # messages that are under way cannot be withdrawn
            _held_until_left.append(<object> self.held)
        self.let_go()
        self.leave(rc)

    def define(self, str name, int type, int ndims, shape):
        """Define an array; return its number."""
        cdef uint64_t places[8]
        cdef bytes encoded = name.encode()
        cdef const char *text = encoded
        cdef int variable = -1
        if shape is not None:
            fill_places(shape, places)
        self.begin()
        self.leave(waitio_stage_define(self.stage, text, type, ndims,
                                       places if shape is not None else NULL, &variable))
        return variable

    def reshape(self, int variable, shape):
        """Change the shape of a global array."""
        cdef uint64_t places[8]
        fill_places(shape, places)
        self.begin()
        self.leave(waitio_stage_reshape(self.stage, variable, places))

    def operator(self, int variable, str name, str parameters):
        """Choose what is done to the blocks of an array."""
        cdef bytes first = name.encode()
        cdef bytes second = parameters.encode()
        cdef const char *text = first
        cdef const char *more = second
        self.begin()
        self.leave(waitio_stage_operator(self.stage, variable, text, more))

    def derive(self, str name, str what, variables):
        """Derive a variable from others; return its number, -1 for a scalar."""
        cdef int sources[8]
        cdef int n = 0, variable = -1
        cdef bytes encoded = name.encode()
        cdef bytes rule = what.encode()
        cdef const char *text = encoded
        cdef const char *made = rule
        for one in variables:
            if n == 8:
                raise ValueError("a variable is derived from 8 others at most")
            sources[n] = one
            n += 1
        self.begin()
        self.leave(waitio_stage_derive(self.stage, text, made, n, sources, &variable))
        return variable

    def operator_of(self, str name):
        """Return the operator of an array of this step as a text."""
        cdef bytes encoded = name.encode()
        cdef const char *text = encoded
        cdef const char *found = ""
        self.begin()
        cdef int rc = waitio_stage_get_operator(self.stage, text, &found)
        result = found.decode() if rc == 0 else ""
        self.leave(rc)
        return result

    def put(self, int variable, start, count, data, bint copy):
        """Put a block; the array is held until the end of the step."""
        cdef uint64_t first[8]
        cdef uint64_t places[8]
        cdef _Memory memory = _Memory(data, data.itemsize)
        cdef int rc
        fill_places(start, first)
        fill_places(count, places)
        self.begin()
        rc = waitio_stage_put(self.stage, variable, first, places, memory.view.buf, copy)
        if rc == 0 and not copy:
            self.hold(memory)
        self.leave(rc)

    def put_value(self, str name, int type, bytes value):
        """Put a scalar as bytes, or a text."""
        cdef bytes encoded = name.encode()
        cdef const char *text = encoded
        cdef const char *data = value
        self.begin()
        self.leave(waitio_stage_put_text(self.stage, text, data) if waitio_stage_size(type) == 0
                   else waitio_stage_put_scalar(self.stage, text, type, data))

    def attribute(self, str name, int type, size_t n, bytes values):
        """Set an attribute."""
        cdef bytes encoded = name.encode()
        cdef const char *text = encoded
        cdef const char *data = values
        self.begin()
        self.leave(waitio_stage_attribute(self.stage, text, type, n, data))

    def begin_step(self, int which, double limit):
        """Begin a step; return the status."""
        cdef int rc, status = 0
        self.begin()
        with nogil:
            rc = waitio_stage_begin_step(self.stage, which, limit, &status)
        self.leave(rc)
        return status

    def end_step(self, double limit):
        """End it."""
        cdef int rc
        self.begin()
        with nogil:
            rc = waitio_stage_end_step(self.stage, limit)
        if rc == 0:
            self.let_go()
        self.leave(rc)

    def step(self):
        """Return the number of the step."""
        cdef int64_t step = -1
        self.begin()
        waitio_stage_step(self.stage, &step)
        self.leave(0)
        return step

    def count(self, str name):
        """Return a number that the stream counts."""
        cdef uint64_t value = 0
        cdef bytes encoded = name.encode()
        cdef const char *text = encoded
        self.begin()
        self.leave(waitio_stage_count(self.stage, text, &value))
        return value

    def variables(self):
        """Return (name, type, kind, shape, blocks) of each variable of the step."""
        cdef waitio_stage_variable v
        cdef int n = 0, i
        found = []
        self.begin()
        cdef int rc = waitio_stage_variables(self.stage, &n)
        for i in range(n if rc == 0 else 0):
            waitio_stage_variable_at(self.stage, i, &v)
            shape = tuple([v.shape[d] for d in range(v.ndims)])
            found.append((v.name.decode("utf-8", "replace"), v.type, v.kind, shape, v.blocks))
        self.leave(rc)
        return found

    def block(self, str name, size_t number, int ndims):
        """Return (writer, start, count) of a block."""
        cdef uint64_t start[8]
        cdef uint64_t count[8]
        cdef int writer = -1
        cdef bytes encoded = name.encode()
        cdef const char *text = encoded
        self.begin()
        self.leave(waitio_stage_block(self.stage, text, number, &writer, start, count))
        return (writer, tuple([start[d] for d in range(ndims)]),
                tuple([count[d] for d in range(ndims)]))

    def get(self, str name, int type, start, count, data):
        """Get a box, later; the array is held until then."""
        cdef uint64_t first[8]
        cdef uint64_t places[8]
        cdef _Memory memory = _Memory(data, data.itemsize, True)
        cdef bytes encoded = name.encode()
        cdef const char *text = encoded
        fill_places(start, first)
        fill_places(count, places)
        self.begin()
        cdef int rc = waitio_stage_get(self.stage, text, type, first, places, memory.view.buf)
        if rc == 0:
            self.hold(memory)
        self.leave(rc)

    def get_block(self, str name, int type, size_t number, data):
        """Get a block, later."""
        cdef _Memory memory = _Memory(data, data.itemsize, True)
        cdef bytes encoded = name.encode()
        cdef const char *text = encoded
        self.begin()
        cdef int rc = waitio_stage_get_block(self.stage, text, type, number, memory.view.buf)
        if rc == 0:
            self.hold(memory)
        self.leave(rc)

    def perform(self, double limit):
        """Fetch what was asked for."""
        cdef int rc
        self.begin()
        with nogil:
            rc = waitio_stage_perform(self.stage, limit)
        if rc == 0:
            self.let_go()
        self.leave(rc)

    def get_value(self, str name, int type):
        """Return a scalar, or a text, as bytes."""
        cdef char value[16]
        cdef const char *found = NULL
        cdef bytes encoded = name.encode()
        cdef const char *text = encoded
        cdef size_t size = waitio_stage_size(type)
        self.begin()
        cdef int rc = (waitio_stage_get_text(self.stage, text, &found) if size == 0
                       else waitio_stage_get_scalar(self.stage, text, type, value))
        result = b""
        if rc == 0:
            result = found if size == 0 else value[:size]
        self.leave(rc)
        return result

    def attributes(self):
        """Return (name, type, values as bytes) of each attribute."""
        cdef const char *name
        cdef const void *values = NULL
        cdef int type = 0, i = 0
        cdef size_t n = 0
        found = []
        self.begin()
        while True:
            name = waitio_stage_attribute_name(self.stage, i)
            if name == NULL:
                break
            waitio_stage_get_attribute(self.stage, name, &type, &n, &values)
            size = waitio_stage_size(type)
            data = (<const char *> values)[:n * (size if size else 1)]
            found.append((name.decode("utf-8", "replace"), type, data))
            i += 1
        self.leave(0)
        return found

    def select(self, int64_t first, int64_t last, int64_t stride):
        """Take only some steps."""
        self.begin()
        self.leave(waitio_stage_select_steps(self.stage, first, last, stride))
