# SPDX-License-Identifier: BSD-3-Clause
"""Python objects as messages: pickle protocol 5 with out-of-band buffers.

An object travels as one message of at most INLINE bytes with its envelope: a header, and the pickle
when it fits. What does not fit (a long pickle, the memory of large arrays) follows in a second
message space, that of everybody with another gid, under a tag that the header names and that the
sender uses once. So receives posted in any order by any thread get whole objects in the
order sent, and arrays are neither copied into the pickle nor out of it.
"""

from __future__ import annotations

import _thread
import contextlib
import itertools
import pickle
import struct
import threading
import time
from collections.abc import Generator
from typing import Any

from waitio import _core
from waitio._core import Group, MatchedMessage, Request, Status
from waitio.exceptions import Error, PickleError, ProtocolError, TruncateError, from_code

MAGIC = b"WIO\x05"
HEADER = struct.Struct("<4sIiIQ")  # magic, buffers, tag of the parts, 0, bytes of table and pickle
INLINE = 4096
OUT_OF_BAND = 4096  # smaller buffers are cheaper inside the pickle
PARTS_MAX = 1 << 24

_Steps = Generator[list[Request], None, Any]

_tags = itertools.count()
_tags_lock = threading.Lock()  # for interpreters without a lock of their own


def check_allowed() -> None:
    """Raise when objects may not travel."""
    if not _core._objects_allowed():
        raise PickleError(
            "Python objects are not exchanged under WAITIO_SECRET=none: whoever reaches this"
            " process could run code in it; use the upper-case calls (buffers), a job secret (the"
            " default), or waitio.allow_pickle()"
        )


def pickled(obj: Any) -> tuple[bytes, list[memoryview]]:
    """Return the pickle of an object, and the memory of its large arrays, which goes beside it."""
    parts: list[memoryview] = []

    def keep(buffer: pickle.PickleBuffer) -> bool:
        try:
            raw = buffer.raw()
        except BufferError:  # not contiguous: pickled with the rest
            return True
        if raw.nbytes < OUT_OF_BAND or len(parts) == PARTS_MAX:
            return True
        parts.append(raw)
        return False

    return pickle.dumps(obj, protocol=5, buffer_callback=keep), parts


class _Progress:
    """What the steps of an exchange and those who wait for it tell each other."""

    status: Status | None = None  # of the first message, once it has come
    wanted = True  # somebody waits for the object


class ObjectRequest:
    """The exchange of an object under way; `wait` returns the object that was received.

    Has the calls of `Request`. One that is dropped goes on: a send is delivered, a receive is
    withdrawn unless a message has matched it. Then the object is received, and forgotten.
    """

    def __init__(self, steps: _Steps, progress: _Progress) -> None:
        # The steps must not know this object: it would then wait for the garbage collector, and
        # its receive for the next message.
        self._steps = steps
        self._progress = progress
        self._waits: list[Request] = []
        self._over = False
        self._value: Any = None
        self._failure: BaseException | None = None
        self._step()

    @property
    def status(self) -> Status | None:
        """Of the object's first message, once it has come."""
        return self._progress.status

    def _step(self) -> None:
        try:
            self._waits = next(self._steps)
        except StopIteration as end:
            self._end(None)
            self._value = end.value
        except Error as error:
            self._end(error)
        except BaseException as error:  # what unpickling raised
            self._end(error)

    def _end(self, failure: BaseException | None) -> None:
        self._over = True
        self._waits = []
        self._failure = failure

    def _advance(self) -> bool:
        while not self._over and all(r._advance() for r in self._waits):
            self._step()
        return self._over

    def _cores(self) -> list[Request]:
        return [r for r in self._waits if not r.done]

    def _result(self) -> Any:
        if self._failure is not None:
            raise self._failure
        return self._value

    @property
    def done(self) -> bool:
        """Whether it is known to be over; does not look."""
        return self._over

    def wait(self, timeout: float | None = None) -> Any:
        """Wait and return the object (None for a send); `TimeoutError` after `timeout` seconds."""
        until = None if timeout is None else time.monotonic() + timeout
        try:
            while not self._over:
                _core._wait_for_parts(self._waits, until, timeout)
                self._step()
            return self._result()
        finally:
            del self  # a traceback holds the variables of its functions, and is kept by some

    def test(self) -> tuple[bool, Any]:
        """Return (True, object) when it is over, else (False, None)."""
        return (True, self._result()) if self._advance() else (False, None)

    Wait = wait

    def Test(self) -> bool:  # noqa: N802
        """Return whether it is over; raises its failure."""
        if self._advance():
            self._result()
        return self._over

    def cancel(self) -> None:
        """Withdraw a receive that no message has matched yet; wait then raises CancelledError.

        The send of an object cannot be cancelled: `UnsupportedError`.
        """
        waits = [request for request in self._waits if not request.done]
        if any(not request._is_receive() for request in waits):
            # A part has perhaps gone, and its receiver would wait for the others for good.
            raise from_code(-19, "the send of an object cannot be cancelled")
        if self.status is None:  # what has begun to arrive is received to its end
            for request in waits:
                request.cancel()

    Cancel = cancel

    def _drop(self) -> None:
        """Nobody waits any more."""
        if self._over:
            return
        waits = self._waits
        self._end(from_code(-20, "the exchange of an object was given up"))
        if waits and waits[0]._is_receive() and _core.initialized():
            self._progress.wanted = False
            if self.status is None:
                with contextlib.suppress(Error):  # another thread leaves the universe
                    waits[0].cancel()
            rest = _Rest(self._steps, waits)
            if not rest.over():
                # Not by threading, whose locks the thread that drops this may hold.
                with contextlib.suppress(RuntimeError):  # the interpreter ends
                    _thread.start_new_thread(rest.finish, ())

    def __del__(self) -> None:
        if not getattr(self, "_over", True):
            self._drop()

    def __await__(self) -> Generator[Any, None, Any]:
        from waitio import aio

        return aio.wait(self).__await__()

    def __repr__(self) -> str:
        state = "pending" if not self._over else "failed" if self._failure else "done"
        return f"<ObjectRequest: {state}>"


class _Rest:
    """A receive that nobody waits for: withdrawn, or received to its end for the sender's sake."""

    def __init__(self, steps: _Steps, waits: list[Request]) -> None:
        self._steps = steps
        self._waits = waits

    def over(self) -> bool:
        """Move on without blocking."""
        try:
            while all(r._advance() for r in self._waits):
                self._waits = next(self._steps)
        except (StopIteration, Exception):  # withdrawn, complete, failed: nobody asks
            return True
        return False

    def finish(self) -> None:
        """Move on to the end; finalize ends it, too."""
        with contextlib.suppress(Exception):
            while not self.over():
                _core._wait_for_parts(self._waits, None, None)


def isend(group: Group, obj: Any, dest: int, tag: int) -> ObjectRequest:
    """Start to send an object."""
    check_allowed()
    request = ObjectRequest(_send_steps(group, obj, dest, tag), _Progress())
    if request.done:  # it did not even begin
        request._result()
    return request


def _send_steps(
    group: Group, obj: Any, dest: int, tag: int
) -> Generator[list[Request], None, None]:
    text, parts = pickled(obj)
    table = struct.pack(f"<{len(parts)}Q", *(p.nbytes for p in parts))
    size = len(table) + len(text)
    within = HEADER.size + size <= INLINE
    with _tags_lock:
        part_tag = next(_tags) & 0x7FFFFFFF
    head = HEADER.pack(MAGIC, len(parts), part_tag, 0, size)
    apart = bool(parts) or not within
    if apart:
        side = _core._side_group()  # before the head: its receiver waits for the parts
    requests = [group.Isend(head + table + text if within else head, dest, tag)]
    if apart:
        there = group.to_universe(dest)
        if not within:
            requests.append(side.Isend(table + text, there, part_tag))
        requests += [side.Isend(part, there, part_tag) for part in parts]
    yield requests
    for request in requests:
        request._result()


def irecv(group: Group, source: int, tag: int) -> ObjectRequest:
    """Start to receive an object."""
    check_allowed()
    room = _core._new_buffer(INLINE)
    first = group.Irecv(room, source, tag)
    progress = _Progress()
    return ObjectRequest(_recv_steps(group, room, first, progress), progress)


def matched(group: Group, message: MatchedMessage) -> ObjectRequest:
    """Start to receive the object whose first message was taken by a probe."""
    check_allowed()
    room = _core._new_buffer(INLINE)
    try:
        first = message.Irecv(room)
    except TruncateError as error:
        raise _no_object(error) from None
    progress = _Progress()
    return ObjectRequest(_recv_steps(group, room, first, progress), progress)


def _recv_steps(group: Group, room: bytearray, first: Request, progress: _Progress) -> _Steps:
    yield [first]
    try:
        status = first._result()
    except TruncateError as error:
        raise _no_object(error) from None
    if status.cancelled:
        raise from_code(-20, "the receive was withdrawn before an object came")
    progress.status = status
    if status.count < HEADER.size:
        raise _no_object(f"{status.count} bytes from rank {status.source}, tag {status.tag}")
    magic, buffers, part_tag, _, size = HEADER.unpack_from(room)
    within = HEADER.size + size == status.count
    if magic != MAGIC or not (within or status.count == HEADER.size) or size < 8 * buffers:
        raise _no_object(f"{status.count} bytes from rank {status.source}, tag {status.tag}")
    if within:
        text = memoryview(room)[HEADER.size : status.count]
    else:
        text = memoryview(_core._new_buffer(size))
        side, there = _core._side_group(), group.to_universe(status.source)
        more = [side.Irecv(text, there, part_tag)]
        yield more
        _expect(more[0], size)
    sizes = struct.unpack_from(f"<{buffers}Q", text)
    parts = [_core._new_buffer(n) for n in sizes]
    if parts:
        side, there = _core._side_group(), group.to_universe(status.source)
        requests = [side.Irecv(part, there, part_tag) for part in parts]
        yield requests
        for request, part in zip(requests, parts):
            _expect(request, len(part))
    return pickle.loads(text[8 * buffers :], buffers=parts) if progress.wanted else None


def _expect(request: Request, size: int) -> None:
    found = request._result().count
    if found != size:
        raise ProtocolError(f"a part of an object has {found} bytes instead of {size}")


def _no_object(what: object) -> ProtocolError:
    return ProtocolError(
        f"the message received is no Python object ({what}); receive with Recv what a C or Fortran"
        " program or the upper-case calls send"
    )
