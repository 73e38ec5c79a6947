# SPDX-License-Identifier: BSD-3-Clause
# Has this process joined, is it leaving, was it forked; errors as exceptions; waiting in slices.

# How long a thread stays in C before it looks at signals.

cdef double SLICE = 0.05
# Sends up to this size do so little that the interpreter's lock is kept.
cdef size_t QUICK = 4096

cdef int splitting = 0        # threads in a Split, which has no time-limited form; under join_lock
cdef bint trusted = True      # the universe is authenticated
cdef int allow_objects = -1   # what the program says about that, -1: nothing


def _in_child():
    """Called in a forked child."""
    global forked
    if joined:
        forked = True


os.register_at_fork(after_in_child=_in_child)


cdef object error_of(int code, object peer=None):
    """The exception for a code that a call of this thread has just returned."""
    cdef const char *text = waitio_last_error()
    if code == WAITIO_ERR_STATE and left:  # refused, perhaps, without asking the library
        return from_code(code, "the universe was left (finalize) by another thread meanwhile", peer)
    return from_code(code, text.decode("utf-8", "replace") if text != NULL else "", peer)


cdef int check(int code) except -1:
    if code != 0:
        raise error_of(code)
    return 0


cdef object whole_number(object given, str what):
    """What Python takes as an integer: no float, were it 1.0."""
    try:
        return operator.index(given)
    except TypeError:
        raise TypeError(f"{what} must be an integer, not {given!r}") from None


cdef int as_int(object given, str what, int code=WAITIO_ERR_ARG) except? -1:
    """An argument of the C interface; out of an int's range it is an error of kind `code`."""
    cdef long long value
    number = given if type(given) is int else whole_number(given, what)
    if not -0x80000000 <= number <= 0x7fffffff:
        raise from_code(code, f"{what} {number} is out of range")
    value = number
    return <int> value


cdef inline int as_rank(object given, str what) except? -1:
    return as_int(given, what, WAITIO_ERR_RANK)


cdef inline int as_tag(object given, str what="tag") except? -1:
    return as_int(given, what, WAITIO_ERR_TAG)


cdef int not_ready() except -1:
    """The slow half of ready()."""
    if forked:
        raise from_code(
            WAITIO_ERR_FORK,
            "this process was forked from a member of the universe and cannot communicate; "
            "start the child before joining, or start it by 'spawn' (multiprocessing) or exec",
        )
    if left:
        raise from_code(WAITIO_ERR_STATE, "the universe was left (finalize); a process cannot join twice")
    join(0)
    return 0


cdef inline int ready() except -1:
    """Join if that has not happened; refuse after finalize and in a forked child."""
    if joined and not left and not forked:
        return 0
    return not_ready()


cdef int usable() except -1:
    """The same for what exists only after joining: never joins."""
    if joined and not left and not forked:
        return 0
    return not_ready()


cdef int look_around() except -1:
    """Between two slices of a wait."""
    PyErr_CheckSignals()
    if left:
        raise from_code(WAITIO_ERR_STATE, "the universe is being left while this call waits")
    return 0


cdef object interruptible(object call):
    """Run a call that blocks in C for long in a thread of its own; signals end the wait for it.

    It goes on by itself then. Returns (code, text of the error).
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    answer = []
    worker = threading.Thread(target=lambda: answer.append(call()), daemon=True, name="waitio")
    worker.start()
    pause = 0.0005
    while worker.is_alive():
        worker.join(pause)
        pause = min(pause * 2, SLICE)
    return answer[0]


def _c_init(int timeout):
    cdef int rc
    with nogil:
        rc = waitio_init(timeout)
    return rc, waitio_last_error().decode("utf-8", "replace") if rc else ""


def _c_finalize():
    cdef int rc
    with nogil:
        rc = waitio_finalize()
    return rc, waitio_last_error().decode("utf-8", "replace") if rc else ""


cdef int join(double timeout) except -1:
    global joined, trusted
    cdef int seconds = int(min(max(timeout, 0), 2**31 - 1))
    if timeout > 0 and seconds == 0:
        seconds = 1
    with join_lock:
        if joined:
            return 0
        secret = os.environ.get("WAITIO_SECRET", "").strip().lower()
        quiet = "WAITIO_ERRORS" not in os.environ
        if quiet:
            os.environ["WAITIO_ERRORS"] = "return"  # exceptions say it; no line on stderr too
        try:
            code, text = interruptible(functools.partial(_c_init, seconds))
        finally:
            if quiet:
                del os.environ["WAITIO_ERRORS"]
        if code:
            raise from_code(code, text)
        trusted = secret != "none"
        WAITIO_MPI_Comm_set_errhandler(NULL, WAITIO_MPI_ERRORS_RETURN)  # exceptions say it
        joined = True
    return 0


def init(timeout=None):
    """Join the universe: learn who we are, meet all processes of all parallel blocks.

    `timeout` is in seconds; None means 1000. `WAITIO_INIT_TIMEOUT` wins. A second call is
    harmless. Calls that need the universe join it by themselves. Raises `TimeoutError` (the text
    lists who is missing), `ConfigError`, `JoinError`, `AuthError`, `VersionError`.
    """
    if forked or left:
        not_ready()
    if not joined:
        join(0 if timeout is None else timeout)


def initialized():
    """Return whether this process has joined and not left; never joins."""
    return joined and not left and not forked


def finalize():
    """Leave the universe: deliver what was sent, say goodbye, free everything.

    Receives that are still pending are cancelled; waits of other threads and awaits of them end
    with `StateError`. It happens by itself at the end of the interpreter. Blocks while living
    peers still owe acknowledgements.
    """
    global left, gone
    if forked or left or not joined:
        if not forked and not left:
            raise from_code(WAITIO_ERR_STATE, "finalize: this process has not joined a universe")
        not_ready()
    with join_lock:
        if left:
            not_ready()
        if splitting > 0:
            raise from_code(
                WAITIO_ERR_STATE,
                "finalize while a Split of another thread, or one that a signal interrupted, goes "
                "on: all members of its group have to call it first",
            )
        left = True
    while inside > 0:  # they leave at the end of their slice
        time.sleep(0.002)
    code, text = interruptible(_c_finalize)
    gone = True
    sweep()
    empty_pool()
    close_late()
    for call in list(_after_finalize):
        call()
    if code:
        raise from_code(code, text)


def _inside():
    """Return how many guarded calls of threads are in the library."""
    return inside


_after_finalize = []  # who waits in other ways than here


def _event_open():
    """Return a descriptor that tells an event loop to look, -1 where there is none."""
    cdef int fd = -1, code
    usable()
    code = waitio_event_open(&fd)
    if code != WAITIO_ERR_UNSUPPORTED:
        check(code)
    return fd


def _event_arm(int fd):
    """Ask for being told; false when the universe is left and there is nothing to tell."""
    if not joined or left or forked:
        return False
    check(waitio_event_arm(fd))
    return True


_late = []  # descriptors that were given back while another thread was in finalize


def _event_close(int fd):
    """Close it."""
    if left and not gone and not forked:
        _late.append(fd)
        if gone:
            close_late()
        return
    waitio_event_close(fd)


cdef void close_late():
    while _late:
        try:
            fd = _late.pop()
        except IndexError:  # another thread took it
            return
        waitio_event_close(fd)


def abort(int code=1):
    """End this process after saying so to all peers; their operations with it fail."""
    waitio_abort(code)


def Wtime():
    """Return seconds since some moment in the past."""
    return WAITIO_MPI_Wtime()


def Wtick():
    """Return the resolution of `Wtime` in seconds."""
    return WAITIO_MPI_Wtick()


def allow_pickle(allowed=True):
    """Say whether Python objects may be exchanged without authentication.

    They travel as pickles, and whoever can send a pickle can run any code here. With a job secret
    (the default) only processes that hold it can. Under `WAITIO_SECRET=none` anybody can, so the
    lower-case calls refuse unless this was called. None restores the default.
    """
    global allow_objects
    allow_objects = -1 if allowed is None else bool(allowed)


def _objects_allowed():
    return trusted if allow_objects < 0 else allow_objects > 0


def counter(name):
    """Return the counter `name` of the library (see the reference of counters).

    There are two more, of the copies of arrays on a device: `device_to_host_bytes` and
    `host_to_device_bytes`.
    """
    cdef uint64_t value = 0
    encoded = name.encode()
    usable()
    staged = staging_counters()
    if name in staged:
        return staged[name]
    check(waitio_counter(encoded, &value))
    return value


def counters():
    """Return all counters by name: those of the library, and those of copies of device arrays."""
    names = []
    cdef const char *name
    cdef int i = 0
    usable()
    while True:
        name = waitio_counter_name(i)
        if name == NULL:
            return {**{n: counter(n) for n in names}, **staging_counters()}
        names.append(name.decode())
        i += 1


def library_version():
    """Return (major, minor, patch) of the C library in use."""
    cdef int major = 0, minor = 0, patch = 0
    check(waitio_get_version(&major, &minor, &patch))
    return major, minor, patch


def _place():
    """Return (universe rank, universe size, PB id, processes of each PB); joins."""
    cdef int rank = 0, size = 0, pb = 0, npb = 0
    cdef int *sizes = NULL
    ready()
    check(waitio_universe_rank(&rank))
    check(waitio_universe_size(&size))
    check(waitio_pb_rank(&pb))
    check(waitio_pb_size(&npb))
    if not go_in():
        raise error_of(WAITIO_ERR_STATE)
    try:
        check(waitio_get_nprocs_array(&sizes))
        return rank, size, pb, tuple([sizes[i] for i in range(npb)])
    finally:
        come_out(0)
