# SPDX-License-Identifier: BSD-3-Clause
"""Where output comes in: pipes of processes we started, and pipes that ranks hand over."""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import signal
import socket
import sys
from collections.abc import Sequence
from typing import Callable

from waitio.output import Sink, Stream

READ_SIZE = 1 << 16
Owner = tuple[int, str, int]  # block id, block name, rank (-1: the launcher itself)
# What hydra says on its own stream about a rank that a signal ended. It joins the numbers of all
# ranks by OR, those of the ranks it kills itself (9) included; only the first names one rank.
HYDRA_CODE = re.compile(rb"=   EXIT CODE: (\d+)\s")
HYDRA_SIGNAL = re.compile(rb"\(signal (\d+)\)")
SAID_MAX = 16384


class Intake:
    """Reads every stream of a run without ever waiting for one of them."""

    def __init__(
        self, selector: selectors.BaseSelector, sink: Sink, admit: Callable[[int, int, int], Owner]
    ) -> None:
        """`admit` is told (block id, rank, pid) of a rank and returns whose output it is."""
        self._selector, self._sink, self._admit = selector, sink, admit
        self._server: socket.socket | None = None
        self._ready: dict[int, Callable[[], bool]] = {}
        self._launchers: dict[int, list[int]] = {}
        self._said: dict[int, bytes] = {}

    @property
    def open(self) -> int:
        """Return how many streams have not ended yet."""
        return len(self._ready)

    def listen(self, path: str) -> None:
        """Take ranks' pipes at a socket with this path."""
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._server.bind(path)
        self._server.listen(4096)
        self._server.setblocking(False)
        self._selector.register(self._server, selectors.EVENT_READ, self.admit)

    def admit(self) -> None:
        """Take the pipes of all ranks that have knocked so far."""
        while self._server:
            try:
                peer, _ = self._server.accept()
            except OSError:
                return
            peer.settimeout(2.0)
            with peer, contextlib.suppress(OSError, ValueError, LookupError):
                self._take_over(peer)

    def add(self, out: int, err: int, owner: Owner, tag: str = "") -> None:
        """Read the two streams of a process; the descriptors are ours now."""
        for number, fd in ((1, out), (2, err)):
            self._read_from(fd, Stream(self._sink, number, owner, tag), owner)

    def drain(self, pbid: int) -> None:
        """Read what the launcher of a block has written so far."""
        for fd in list(self._launchers.get(pbid, [])):
            while fd in self._ready and self._ready[fd]():
                pass

    def hydra_signal(self, pbid: int, sent: Sequence[int]) -> int:
        """Return the signal that ended the ranks, as far as hydra's words tell; else 0.

        `sent` are signals the block has been sent, the likeliest cause.
        """
        said = self._said.get(pbid, b"")
        first, joined = HYDRA_CODE.search(said), HYDRA_SIGNAL.search(said)
        if not first or not joined:
            return 0
        code, all_codes = int(first.group(1)), int(joined.group(1))
        for number in sent:
            if all_codes in (number, number | 9):
                return number
        if code == signal.SIGKILL:
            return {11: signal.SIGSEGV, 15: signal.SIGABRT}.get(all_codes, signal.SIGKILL)
        if code == all_codes or (code > 1 and code | 9 == all_codes):
            return code
        return 0

    def close(self) -> None:
        """Stop listening."""
        if self._server:
            self._selector.unregister(self._server)
            self._server.close()
            self._server = None

    def _read_from(self, fd: int, stream: Stream, owner: Owner) -> None:
        os.set_blocking(fd, False)
        pbid, _, rank = owner
        if rank < 0:
            self._launchers.setdefault(pbid, []).append(fd)

        def ready() -> bool:
            """Read once; tell whether there may be more."""
            try:
                data = os.read(fd, READ_SIZE)
            except BlockingIOError:
                return False
            except OSError:
                data = b""
            if not data:
                self._forget(fd, pbid)
                stream.close()
                return False
            if rank < 0:
                self._watch(pbid, data)
            stream.feed(data)
            return True

        self._ready[fd] = ready
        self._selector.register(fd, selectors.EVENT_READ, ready)

    def _forget(self, fd: int, pbid: int) -> None:
        self._selector.unregister(fd)
        os.close(fd)
        del self._ready[fd]
        with contextlib.suppress(KeyError, ValueError):
            self._launchers[pbid].remove(fd)

    def _watch(self, pbid: int, data: bytes) -> None:
        self._said[pbid] = (self._said.get(pbid, b"") + data)[-SAID_MAX:]

    def _take_over(self, peer: socket.socket) -> None:
        """Take the output pipes of a rank that a launcher has just started."""
        credentials = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        pid, uid = (int.from_bytes(credentials[at : at + 4], sys.byteorder) for at in (0, 4))
        text, fds, _, _ = socket.recv_fds(peer, 64, 2)
        try:
            if uid != os.getuid() or len(fds) != 2:
                raise ValueError("not one of our ranks")
            pbid, rank = (int(word) for word in text.split())
            owner = self._admit(pbid, rank, pid)
        except (ValueError, LookupError):
            for fd in fds:
                os.close(fd)
            raise
        for fd in fds:
            os.set_inheritable(fd, False)
        self.add(fds[0], fds[1], owner)
