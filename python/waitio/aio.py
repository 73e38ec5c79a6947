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
import weakref
from typing import Any, Protocol

EAGER = 0.0003  # seconds of looking without pauses after something happened
SHORTEST, LONGEST = 0.0001, 0.005


class Awaitable(Protocol):
    """What Request and ObjectRequest have in common."""

    def _advance(self) -> bool: ...

    def _result(self) -> Any: ...


class _Poller:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = weakref.ref(loop)
        self._waiting: dict[asyncio.Future[None], Awaitable] = {}
        self._timer: asyncio.Handle | None = None
        self._since = 0.0
        self._pause = 0.0

    def watch(self, request: Awaitable) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._waiting[future] = request
        self._happened()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_soon(self._look)
        return future

    def _happened(self) -> None:
        self._since = time.monotonic()
        self._pause = SHORTEST

    def _look(self) -> None:
        self._timer = None
        for future, request in list(self._waiting.items()):
            if future.done():  # cancelled
                del self._waiting[future]
                continue
            try:
                over = request._advance()
            except BaseException as error:  # forked, or signalled
                future.set_exception(error)
                over = True
            if over:
                del self._waiting[future]
                if not future.done():
                    future.set_result(None)
                self._happened()
        loop = self._loop()
        if not self._waiting or loop is None:
            return
        if time.monotonic() - self._since < EAGER:
            self._timer = loop.call_soon(self._look)
        else:
            self._timer = loop.call_later(self._pause, self._look)
            self._pause = min(self._pause * 1.3, LONGEST)


_pollers: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Poller] = (
    weakref.WeakKeyDictionary()
)


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
