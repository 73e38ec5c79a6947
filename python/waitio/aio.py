# SPDX-License-Identifier: BSD-3-Clause
"""`await request`: one poller per event loop looks at everything that is awaited there.

The library tells by no descriptor that a request is over, so the poller tests. It looks again at
once while things happen, then after pauses that grow to LONGEST: an idle program costs a test of
each request every few milliseconds. Its first looks come in the turn of the loop that follows the
await, so that answers of a peer on the same host need no pause at all.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Protocol

EAGER = 0.0003  # seconds of looking without pauses after something happened
SHORTEST, LONGEST = 0.0001, 0.005


class Awaitable(Protocol):
    """What Request and ObjectRequest have in common."""

    def _advance(self) -> bool: ...

    def _result(self) -> Any: ...


class _Poller:
    """Of one event loop; lives while something is awaited there."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: dict[asyncio.Future[None], Awaitable] = {}
        self._timer: asyncio.Handle = loop.call_soon(self._look)
        self._since = 0.0
        self._pause = 0.0

    def watch(self, request: Awaitable) -> asyncio.Future[None]:
        future: asyncio.Future[None] = self._loop.create_future()
        future.add_done_callback(self._forget)
        self._waiting[future] = request
        self._look_soon()
        return future

    def _forget(self, future: asyncio.Future[None]) -> None:
        """Called when the future is done: also when its task was cancelled."""
        self._waiting.pop(future, None)
        if not self._waiting:
            self._timer.cancel()
            _pollers.pop(self._loop, None)

    def _look_soon(self) -> None:
        self._since = time.monotonic()
        self._pause = SHORTEST
        self._timer.cancel()
        self._timer = self._loop.call_soon(self._look)

    def _look(self) -> None:
        happened = False
        for future, request in list(self._waiting.items()):
            if future.done():
                continue
            try:
                over = request._advance()
            except BaseException as error:  # forked, or signalled
                future.set_exception(error)
            else:
                if over:
                    future.set_result(None)
            happened = happened or future.done()
        if happened or time.monotonic() - self._since < EAGER:
            if happened:
                self._since = time.monotonic()
                self._pause = SHORTEST
            self._timer = self._loop.call_soon(self._look)
        else:
            self._timer = self._loop.call_later(self._pause, self._look)
            self._pause = min(self._pause * 1.3, LONGEST)


_pollers: dict[asyncio.AbstractEventLoop, _Poller] = {}


async def wait(request: Awaitable) -> Any:
    """Wait for a request without blocking the event loop; return its result or raise.

    A task that is cancelled leaves the request under way: await it again, or cancel it.
    """
    if not request._advance():
        loop = asyncio.get_running_loop()
        poller = _pollers.get(loop)
        if poller is None:
            poller = _pollers[loop] = _Poller(loop)
        await poller.watch(request)
    return request._result()
