# SPDX-License-Identifier: BSD-3-Clause
# Has this process joined, is it leaving, was it forked; errors as exceptions; waiting in slices.

# How long a thread stays in C before it looks at signals.

cdef double SLICE = 0.05
# Sends up to this size do so little that the interpreter's lock is kept.
cdef size_t QUICK = 4096

cdef int universes = 0        # that this process has joined
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
        raise from_code(WAITIO_ERR_STATE, "the universe was left (finalize); waitio.rejoin() joins it again")
    join(0, {})
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
    text = waitio_last_error().decode("utf-8", "replace") if rc else ""
    all_over()
    return rc, text


def _c_rejoin(int timeout):
    global left
    cdef int rc
    with nogil:
        rc = waitio_rejoin(timeout)
    text = waitio_last_error().decode("utf-8", "replace") if rc else ""
    if rc and c_joined():  # it was refused, nothing has changed
        left = False
    else:
        all_over()
    return rc, text


cdef bint c_joined():
    cdef int flag = 0
    return waitio_initialized(&flag) == 0 and flag


_held_until_left = []  # arrays of streams that were closed with messages under way


cdef int all_over() except -1:
    """Nothing of the universe that was left is under way any more."""
    global gone
    gone = True
    sweep()
    _held_until_left.clear()
    empty_pool()
    close_late()
    for call in list(_after_finalize):
        call()
    return 0


cdef dict settings_of_first = {}  # what the program gave in the place of environment variables, as text


cdef int meet(call, double timeout, dict settings) except -1:
    """Join by this call of C, with these variables in the environment. With join_lock."""
    cdef int seconds = int(min(max(timeout, 0), 2**31 - 1))
    if timeout > 0 and seconds == 0:
        seconds = 1
    now = dict(settings)
    if "WAITIO_ERRORS" not in os.environ:
        now["WAITIO_ERRORS"] = "return"  # exceptions say it; no line on stderr too
    before = {name: os.environ.get(name) for name in now}
    try:
        os.environ.update(now)
        code, text = interruptible(functools.partial(call, seconds))
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
    if code:
        raise from_code(code, text)
    return 0


cdef int join(double timeout, dict settings) except -1:
    global joined, trusted, settings_of_first, universes
    with join_lock:
        if joined:
            return 0
        secret = os.environ.get("WAITIO_SECRET", "").strip().lower()
        meet(_c_init, timeout, settings)
        settings_of_first = settings
        trusted = secret != "none"
        WAITIO_MPI_Comm_set_errhandler(NULL, WAITIO_MPI_ERRORS_RETURN)  # exceptions say it
        joined = True
        universes = 1
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
        join(0 if timeout is None else timeout, {})


def _init_with(timeout, settings):
    """Do that with these values in the place of variables of the environment."""
    if forked or left:
        not_ready()
    if not joined:
        join(0 if timeout is None else timeout, settings)


def _joined():
    """Return how many universes this process has joined."""
    return universes


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
        part("finalize")
    nobody_inside()
    code, text = interruptible(_c_finalize)
    if code:
        raise from_code(code, text)


cdef int part(str what) except -1:
    """From now on no call goes into C. With join_lock."""
    global left
    if splitting > 0:
        raise from_code(
            WAITIO_ERR_STATE,
            f"{what} while a Split or the opening of a coupler, of another thread or one that "
            "a signal interrupted, goes on: all members have to call it first",
        )
    left = True
    return 0


cdef int nobody_inside() except -1:
    """Wait until the calls of other threads are out: they leave at the end of their slice."""
    global left
    try:
        while inside > 0:
            time.sleep(0.002)
    except BaseException:  # a signal: C knows nothing of all this yet
        left = False
        raise
    return 0


def rejoin(timeout=None):
    """Leave the universe, and meet its processes anew under the same settings.

    For runs that go on when a block has died: that block is started once more, and all other
    processes call this. Leaving is that of `finalize`, but sends that a peer does not receive are
    given up after `WAITIO_LINGER`, or when the time is over. Groups and requests of before are
    refused (`GroupError`, `RequestError`). `timeout` is in seconds, as for `init`; when it ends
    (`TimeoutError`, with the list of who is missing) this process is in no universe, and may call
    this again. So it may after control-C: if all have met meanwhile, that call returns at once.
    """
    global left, gone, universes
    if forked or not joined:
        if forked:
            not_ready()
        raise from_code(WAITIO_ERR_STATE, "rejoin: this process has not joined yet; init joins")
    waits = left
    with join_lock:
        if waits and not left:
            return  # another thread was quicker
        if left and not gone:
            raise from_code(
                WAITIO_ERR_BUSY,
                "rejoin while another thread is in finalize or rejoin, or one that a signal "
                "interrupted goes on: try it again",
            )
        if not left:
            part("rejoin")
            nobody_inside()
        if not (gone and c_joined()):  # else a call that a signal interrupted has joined
            meet(_c_rejoin, 0 if timeout is None else timeout, settings_of_first)
        universes += 1
        gone = False
        left = False


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
    close_event(fd)


cdef void close_event(int fd):
    if waitio_event_close(fd) != 0:  # of a universe that was left
        try:
            os.close(fd)
        except OSError:
            pass


cdef void close_late():
    while _late:
        try:
            fd = _late.pop()
        except IndexError:  # another thread took it
            return
        close_event(fd)


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


def resume_mark():
    """Mark the present state as one from which to go on after a kill; return its number.

    With `WAITIO_FILE_RESUME=1`. The program saves its own state with the number before it calls this
    again. Without that variable nothing is done, and the number is 0.
    """
    cdef uint64_t mark = 0
    cdef int rc
    usable()
    with nogil:
        rc = waitio_resume_mark(&mark)
    check(rc)
    return mark


def resume_from(mark):
    """Go on from a mark: at each start, before all messages. 0 is the program's beginning."""
    cdef uint64_t number = mark
    cdef int rc
    usable()
    with nogil:
        rc = waitio_resume_from(number)
    check(rc)


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


# As those of contextlib: used as a function.
class phase:
    """A phase of the program in its trace (WAITIO_TRACE), for the timeline of `waitio trace`.

    `with waitio.phase("ocean step"):`. Nothing happens without WAITIO_TRACE, or outside of a
    universe. Of more than 47 bytes of the name the first 47 are kept.
    """

    def __init__(self, name):
        self._name = name.encode()
        if not self._name:
            raise from_code(WAITIO_ERR_ARG, "a phase needs a name")

    def __enter__(self):
        cdef const char *name = self._name
        cdef int code
        with nogil:
            code = waitio_trace_begin(name)
        check(code)
        return self

    def __exit__(self, *exception):
        cdef const char *name = self._name
        cdef int code
        with nogil:
            code = waitio_trace_end(name)
        check(code)


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
