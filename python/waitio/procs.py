# SPDX-License-Identifier: BSD-3-Clause
"""Leaving no process behind.

Ranks started by an mpiexec sit in process groups and sessions of their own, and programs start
helpers. Three nets hold them: this process adopts orphans below it (Linux's child subreaper),
every process of a run carries the name of the run's secret in its environment, and a guard process
ends them all when the runner itself is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Collection, Iterator
from typing import Callable

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def _prctl() -> Callable[..., int] | None:
    try:
        function: Callable[..., int] = ctypes.CDLL(None, use_errno=True).prctl
    except (OSError, AttributeError):
        return None
    return function


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends."""
    prctl = _prctl()
    if prctl:
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@contextlib.contextmanager
def held_back(numbers: Collection[int]) -> Iterator[None]:
    """Let these signals wait until the block of statements is over."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def child_setup(nofile: tuple[int, int], numbers: Collection[int] = ()) -> Callable[[], None]:
    """Return what a child does before exec: end with its parent, have the user's file limit.

    It does not inherit that signals are held back. `numbers` are those that have handlers here;
    in the child, where exec takes the handlers away, they must not run even before that.
    """
    import resource

    prctl, parent = _prctl(), os.getpid()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())

    def setup() -> None:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if prctl:
            prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(143)
        resource.setrlimit(resource.RLIMIT_NOFILE, nofile)

    return setup


def raise_file_limit() -> tuple[int, int]:
    """Allow this process as many files as the system does; return the limits as they were."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    return before


def carriers(
    secret: str, pbid: int | None = None, ranks_only: bool = False, rank: int | None = None
) -> list[int]:
    """Return the processes of ours whose environment names the run's secret (and the block).

    Not the job id, which a user may give to two runs.

    With `ranks_only`, not the launcher and its helpers, but what ranks have started; with `rank`,
    only what that one is or has started.
    """
    marks = [f"WAITIO_SECRET_FILE={secret}".encode()]
    if pbid is not None:
        marks.append(f"WAITIO_PBID={pbid}".encode())
    if rank is not None:
        marks.append(f"WIO_RUN_RANK={rank}".encode())
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        ours = not ranks_only or any(word.startswith(b"WIO_RUN_RANK=") for word in words)
        if ours and all(mark in words for mark in marks):
            found.append(int(name))
    return found


def adopted(known: list[int]) -> list[int]:
    """Return children of this process that it did not start itself."""
    me, found = os.getpid(), []
    with contextlib.suppress(OSError), open(f"/proc/{me}/task/{me}/children", "rb") as file:
        found = [int(word) for word in file.read().split()]
    return [pid for pid in found if pid not in known]


def send(pid: int, number: int) -> bool:
    """Signal a process, and its group if it leads one; False if it is gone."""
    try:
        if os.getpgid(pid) == pid:
            os.killpg(pid, number)
        else:
            os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def end_all(find: Callable[[], list[int]], grace: float) -> int:
    """End what `find` finds: TERM, after `grace` seconds KILL; return how many there were."""
    first = find()
    if not first:
        return 0
    for pid in first:
        send(pid, signal.SIGCONT)
        send(pid, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while time.monotonic() < deadline:
        reap_strangers()
        if not find():
            return len(first)
        time.sleep(0.02)
    for _ in range(20):
        left = find()
        if not left:
            break
        for pid in left:
            send(pid, signal.SIGKILL)
        time.sleep(0.02)
        reap_strangers()
    return len(first)


def reap_strangers() -> None:
    """Collect ended orphans; every process of the run itself has been collected before."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0] > 0:
            pass


class Guard:
    """A process that cleans up after a runner that was killed without a chance to."""

    def __init__(
        self, secret: str, remove: Callable[[], object], sweep: Callable[[], object]
    ) -> None:
        """Fork the guard; it waits for this process to end or to call `release`.

        `remove` removes the folders of the run, `sweep` what killed processes leave elsewhere.
        """
        reading, self._line = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self._watch(reading, secret, remove, sweep)
            finally:
                os._exit(0)
        os.close(reading)

    def _watch(
        self,
        reading: int,
        secret: str,
        remove: Callable[[], object],
        sweep: Callable[[], object],
    ) -> None:
        os.setsid()
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGCHLD"):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
        signal.set_wakeup_fd(-1)
        os.close(self._line)
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        if os.read(reading, 1) == b"":
            end_all(lambda: carriers(secret), 2.0)
            try:
                sweep()
            finally:
                remove()

    def release(self) -> None:
        """Tell the guard that all is clean, and collect it."""
        with contextlib.suppress(OSError):
            os.write(self._line, b"q")
        os.close(self._line)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
