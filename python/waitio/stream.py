# SPDX-License-Identifier: BSD-3-Clause
"""Iteration over arriving messages."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import NamedTuple

from waitio import _core
from waitio._core import Group, Status
from waitio.exceptions import TimeoutError

SHORTEST, LONGEST = 0.0002, 0.005

# Between looking at a message and receiving it no other iterator may take it.
_taking = threading.Lock()


class Message(NamedTuple):
    """A message that arrived."""

    data: bytearray
    """Its bytes; `numpy.frombuffer(data, dtype)` sees them as an array without a copy."""
    source: int
    """Rank of the sender in the group."""
    tag: int
    """Its tag."""


class Messages(Iterator[Message], AsyncIterator[Message]):
    """What `Group.messages` returns."""

    def __init__(
        self, group: Group, source: int, tag: int, count: int | None, timeout: float | None
    ) -> None:
        self._group = group
        self._source = source
        self._tag = tag
        self._left = count
        self._timeout = timeout

    def _take(self) -> Message | None:
        """Receive a message that is there."""
        with _taking:
            status: Status | None = self._group.Iprobe(self._source, self._tag)
            if status is None:
                return None
            data = _core._new_buffer(status.count)
            self._group.Recv(data, status.source, status.tag)
        if self._left is not None:
            self._left -= 1
        return Message(data, status.source, status.tag)

    def __iter__(self) -> Messages:
        return self

    def __next__(self) -> Message:
        while self._left is None or self._left > 0:
            try:
                self._group.Probe(self._source, self._tag, timeout=self._timeout)
            except TimeoutError:
                break
            message = self._take()
            if message is not None:
                return message
        raise StopIteration

    def __aiter__(self) -> Messages:
        return self

    async def __anext__(self) -> Message:
        until = None if self._timeout is None else time.monotonic() + self._timeout
        pause = SHORTEST
        while self._left is None or self._left > 0:
            message = self._take()
            if message is not None:
                return message
            if until is not None and time.monotonic() >= until:
                break
            await asyncio.sleep(pause)
            pause = min(pause * 1.3, LONGEST)
        raise StopAsyncIteration
