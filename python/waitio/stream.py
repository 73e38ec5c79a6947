# SPDX-License-Identifier: BSD-3-Clause
"""Iteration over arriving messages."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from typing import NamedTuple

from waitio import _core, aio
from waitio._core import Group, Status
from waitio.exceptions import TimeoutError

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
        self._ready: Message | None = None

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
        if self._ready is not None:
            kept, self._ready = self._ready, None
            return kept
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

    def _advance(self) -> bool:
        """For aio: is there a message? It is kept until somebody asks for the next."""
        if self._ready is None:
            self._ready = self._take()
        return self._ready is not None

    def _result(self) -> None:
        """For aio: what is found stays here, so that a cancelled task loses nothing."""

    async def __anext__(self) -> Message:
        if self._left is not None and self._left <= 0 and self._ready is None:
            raise StopAsyncIteration
        if not self._advance():
            future = aio.watch(self)
            try:
                await asyncio.wait([future], timeout=self._timeout)
                if future.done():
                    future.result()  # raises what looking raised
            finally:
                future.cancel()
        message, self._ready = self._ready, None
        if message is None:
            raise StopAsyncIteration
        return message
