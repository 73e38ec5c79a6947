# SPDX-License-Identifier: BSD-3-Clause
"""Python objects as messages: pickle protocol 5 with out-of-band buffers.

An object travels as one message of at most INLINE bytes with its envelope: a header, and the pickle
when it fits. What does not fit (a long pickle, the memory of large arrays) follows in a second
message space, that of everybody with another gid, under a tag that the header names and that the
sender uses once. So receives posted in any order by any thread get whole objects in the
order sent, and arrays are neither copied into the pickle nor out of it.
"""

from __future__ import annotations

import itertools
import pickle
import struct
import threading
import time
from collections.abc import Generator
from typing import Any

from waitio import _core
from waitio._core import Group, Request, Status
from waitio.errortable import ERRORS
from waitio.exceptions import (
    Error,
    PickleError,
    ProtocolError,
    TimeoutError,
    TruncateError,
    from_code,
)

MAGIC = b"WIO\x05"
HEADER = struct.Struct("<4sIiIQ")  # magic, buffers, tag of the parts, 0, bytes of table and pickle
INLINE = 4096
OUT_OF_BAND = 4096  # smaller buffers are cheaper inside the pickle
PARTS_MAX = 1 << 24
TIMEOUT = next(code for code, words in ERRORS.items() if words[0] == "TIMEOUT")

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


class ObjectRequest:
    """The exchange of an object under way; `wait` returns the object that was received.

    Has the calls of `Request`.
    """

    def __init__(self, group: Group, steps: Generator[list[Request], None, Any]) -> None:
        self._group = group
        self._steps = steps
        self._waits: list[Request] = []
        self._over = False
        self._value: Any = None
        self._failure: BaseException | None = None
        self.status: Status | None = None
        """Of the object's first message, once it is over."""
        self._step()

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
        while not self._over:
            for request in self._waits:
                left = None if until is None else max(0.0, until - time.monotonic())
                _finish(request, left, timeout)
            self._step()
        return self._result()

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
        """Withdraw a receive that no message has matched yet; wait then raises CancelledError."""
        for request in self._waits:
            request.cancel()

    Cancel = cancel

    def __await__(self) -> Generator[Any, None, Any]:
        from waitio import aio

        return aio.wait(self).__await__()

    def __repr__(self) -> str:
        state = "pending" if not self._over else "failed" if self._failure else "done"
        return f"<ObjectRequest: {state}>"


def _finish(request: Request, left: float | None, timeout: float | None) -> None:
    """Wait for one part; its failure is for the step that looks at it."""
    try:
        request.wait(left)
    except TimeoutError:
        raise from_code(TIMEOUT, f"the object is not complete after {timeout} s") from None
    except Error:
        if not request.done:
            raise


def isend(group: Group, obj: Any, dest: int, tag: int) -> ObjectRequest:
    """Start to send an object."""
    check_allowed()
    return ObjectRequest(group, _send_steps(group, obj, dest, tag))


def _send_steps(
    group: Group, obj: Any, dest: int, tag: int
) -> Generator[list[Request], None, None]:
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

    text = pickle.dumps(obj, protocol=5, buffer_callback=keep)
    table = struct.pack(f"<{len(parts)}Q", *(p.nbytes for p in parts))
    size = len(table) + len(text)
    within = HEADER.size + size <= INLINE
    with _tags_lock:
        part_tag = next(_tags) & 0x7FFFFFFF
    head = HEADER.pack(MAGIC, len(parts), part_tag, 0, size)
    requests = [group.Isend(head + table + text if within else head, dest, tag)]
    if parts or not within:
        side, there = _core._side_group(), group.to_universe(dest)
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
    return _Receive(group, room, first)


class _Receive(ObjectRequest):
    def __init__(self, group: Group, room: bytearray, first: Request) -> None:
        self._first = first
        super().__init__(group, self._recv_steps(group, room, first))

    def _recv_steps(
        self, group: Group, room: bytearray, first: Request
    ) -> Generator[list[Request], None, Any]:
        yield [first]
        try:
            self.status = status = first._result()
        except TruncateError as error:
            raise _no_object(error) from None
        if status.cancelled:
            raise from_code(-20, "the receive was withdrawn before an object came")
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
        return pickle.loads(text[8 * buffers :], buffers=parts)


def _expect(request: Request, size: int) -> None:
    found = request._result().count
    if found != size:
        raise ProtocolError(f"a part of an object has {found} bytes instead of {size}")


def _no_object(what: object) -> ProtocolError:
    return ProtocolError(
        f"the message received is no Python object ({what}); receive with Recv what a C or Fortran"
        " program or the upper-case calls send"
    )
