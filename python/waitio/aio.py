# SPDX-License-Identifier: BSD-3-Clause
"""`await request`: one watcher per event loop looks at everything that is awaited there.

It looks again in the next turns of the loop for EAGER seconds after something happened: answers of
a busy peer come faster than a sleep ends. Then the loop sleeps on a descriptor of the library that
becomes readable when something is complete. Where there is none (WAITIO_PROGRESS=poll) the watcher
looks after pauses that grow to LONGEST.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
import weakref
from typing import Any, Protocol

from waitio import _core
from waitio.exceptions import Error

EAGER = 0.0001  # seconds of looking without pauses after something happened
SHORTEST, LONGEST = 0.0001, 0.005
TICK = 1.0  # a look now and then notices peers that were never heard of


class Awaitable(Protocol):
    """What Request and ObjectRequest have in common."""

    def _advance(self) -> bool: ...

    def _result(self) -> Any: ...


class _Watcher:
    """Of one event loop; lives as long as the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = weakref.ref(loop)
        self._waiting: dict[asyncio.Future[None], Awaitable] = {}
        self._timer: asyncio.Handle | None = None
        self._since = 0.0
        self._pause = SHORTEST
        self._fd = -1
        self._universe = 0  # whose descriptor this is: of this process's first, second ...
        self._listens = False  # the loop calls us when it is readable

    def __del__(self) -> None:
        if self._fd >= 0:
            _core._event_close(self._fd)

    def watch(self, request: Awaitable) -> asyncio.Future[None]:
        loop = self._loop()
        assert loop is not None
        future: asyncio.Future[None] = loop.create_future()
        future.add_done_callback(self._forget)
        self._waiting[future] = request
        self._since = time.monotonic()
        self._pause = SHORTEST
        self._again(loop.call_soon(self._look))
        return future

    def _forget(self, future: asyncio.Future[None]) -> None:
        """Called when the future is done: also when its task was cancelled."""
        self._waiting.pop(future, None)
        if not self._waiting:
            self._again(None)

    def _again(self, timer: asyncio.Handle | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = timer

    def _test_all(self) -> bool:
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
        return happened

    def _open(self, loop: asyncio.AbstractEventLoop) -> None:
        """Open a descriptor of the universe of now; one of before rejoin tells nothing any more."""
        self._listen(loop, False)
        if self._fd >= 0:
            _core._event_close(self._fd)
        self._fd, self._universe = -1, _core._joined()
        with contextlib.suppress(Error):  # left meanwhile, or no descriptors: it looks after pauses
            self._fd = _core._event_open()

    def _listen(self, loop: asyncio.AbstractEventLoop, wish: bool) -> None:
        if self._listens and not wish:
            loop.remove_reader(self._fd)
        elif wish and not self._listens:
            loop.add_reader(self._fd, self._look)
        self._listens = wish

    def _arm(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Ask to be told what happens from now on; false where nobody is going to tell."""
        if self._universe != _core._joined():
            self._open(loop)
        if self._fd < 0:
            return False
        self._listen(loop, True)
        try:
            return _core._event_arm(self._fd)
        except Error:  # another thread joined anew just now; the next look notices it
            return False

    def _look(self) -> None:
        loop = self._loop()
        if loop is None:
            return
        if not self._waiting:  # only arming makes the descriptor unreadable
            self._listen(loop, False)
            return
        eager = time.monotonic() - self._since < EAGER
        # What comes behind this moment is told; what came before it the tests find.
        told = not eager and self._arm(loop)
        if self._test_all():
            self._since = time.monotonic()
            self._pause = SHORTEST
            eager = True
        if all(future.done() for future in self._waiting):
            self._again(None)
        elif eager:
            self._again(loop.call_soon(self._look))
        elif told:
            self._again(loop.call_later(TICK, self._look))
        else:
            self._again(loop.call_later(self._pause, self._look))
            self._pause = min(self._pause * 1.3, LONGEST)

    def wake(self) -> None:
        """Look soon; called by another thread."""
        loop = self._loop()
        if loop is not None and self._waiting:
            with contextlib.suppress(RuntimeError):  # the loop was closed
                loop.call_soon_threadsafe(self._look)


_watchers: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Watcher] = (
    weakref.WeakKeyDictionary()
)
_lock = threading.Lock()


def _end() -> None:
    """The universe was left: nothing is going to happen any more."""
    with _lock:
        watchers = list(_watchers.values())
    for watcher in watchers:
        watcher.wake()


_core._after_finalize.append(_end)


def watch(request: Awaitable) -> asyncio.Future[None]:
    """Return a future of the running loop that is done when the request is over."""
    loop = asyncio.get_running_loop()
    watcher = _watchers.get(loop)
    if watcher is None:
        with _lock:
            watcher = _watchers[loop] = _Watcher(loop)
    return watcher.watch(request)


async def wait(request: Awaitable) -> Any:
    """Wait for a request without blocking the event loop; return its result or raise.

    A task that is cancelled leaves the request under way: await it again, or cancel it.
    """
    try:
        if not request._advance():
            await watch(request)
        return request._result()
    finally:
        del request  # the traceback of a cancelled task does not keep it
