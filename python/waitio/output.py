# SPDX-License-Identifier: BSD-3-Clause
"""What the processes print: bytes in, whole prefixed lines or files out."""

from __future__ import annotations

import os
import re
import select
from re import Pattern
from typing import Callable

from waitio.blocks import Settings
from waitio.errors import WaitioError

COLOURS = (36, 33, 32, 35, 34, 96, 93, 92, 95, 94)
# A line longer than this is cut, so that a program without newlines cannot eat the memory.
LINE_MAX = 8 << 20
# How launchers mark a line with its rank (used only where ranks cannot hand over their output).
TAGS: dict[str, Pattern[bytes]] = {
    "openmpi": re.compile(rb"\[[^\]\n]*?[,@]?(\d+)\]<std(?:out|err|diag)>: ?"),
    "mpich": re.compile(rb"\[(\d+)\] "),
    "intel": re.compile(rb"\[(\d+)\] "),
    "mvapich": re.compile(rb"\[(\d+)\] "),
    "slurm": re.compile(rb" *(\d+): "),
}


class OutputClosedError(Exception):
    """Nobody reads our output any more (as SIGPIPE says to other programs)."""


def write_all(fd: int, data: bytes) -> None:
    """Write everything, also to a descriptor that somebody made non-blocking."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:
            select.select([], [fd], [])
        except BrokenPipeError:
            raise OutputClosedError from None


def show_all(fd: int, data: bytes) -> None:
    """Write everything to our standard output (1) or error (2); what fails is named."""
    try:
        write_all(fd, data)
    except OSError as error:
        stream = "standard error" if fd == 2 else "standard output"
        raise WaitioError(
            f"{stream}: {error.strerror}: what comes from here on is lost; make room where it goes,"
            " or lead it elsewhere"
        ) from None


class Console:
    """The terminal (or whatever stdout and stderr are): prefixes, colours."""

    def __init__(self, settings: Settings) -> None:
        """Decide about colour for each of the two streams."""
        self._coloured = {fd: self._colour_wanted(fd, settings.color) for fd in (1, 2)}

    @staticmethod
    def _colour_wanted(fd: int, wish: str) -> bool:
        if wish != "auto":
            return wish == "always"
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
        return not plain and os.isatty(fd)

    def prefix(self, fd: int, pbid: int, label: str) -> bytes:
        """Return the bytes before a line."""
        if self._coloured[fd]:
            return f"\x1b[{COLOURS[pbid % len(COLOURS)]}m[{label}]\x1b[0m ".encode()
        return f"[{label}] ".encode()

    def write(self, fd: int, data: bytes) -> None:
        """Write finished lines."""
        show_all(fd, data)


class Files:
    """`--output DIR`: NAME.RANK.out and NAME.RANK.err, made with their first byte."""

    def __init__(self, folder: str) -> None:
        """Make the folder."""
        self._folder = folder
        self._open: dict[tuple[str, int], int] = {}
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise WaitioError(f"--output '{folder}': {error.strerror}") from None

    def write(self, fd: int, label: str, data: bytes) -> None:
        """Append raw bytes to the file of a label ("ocean.0") and stream."""
        key = (label, fd)
        try:
            if key not in self._open:
                path = os.path.join(self._folder, label + (".out" if fd == 1 else ".err"))
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
                self._open[key] = os.open(path, flags, 0o666)
            write_all(self._open[key], data)
        except OSError as error:
            raise WaitioError(f"--output '{self._folder}': {error}") from None

    def close(self) -> None:
        """Close every file; some file systems say only now that there was no room."""
        failure = ""
        for (label, _), fd in self._open.items():
            try:
                os.close(fd)
            except OSError as error:
                failure = failure or f"{label}: {error.strerror}"
        self._open.clear()
        if failure:
            raise WaitioError(f"--output '{self._folder}': {failure}")


class Stream:
    """One stream of one process: splits it into lines and passes them on.

    Without a newline at its end a last line gets one on the console; files get the bytes as they
    are. `fd` is 1 or 2. With a tag form the rank is read from each line.
    """

    def __init__(self, sink: Sink, fd: int, owner: tuple[int, str, int], tag: str = "") -> None:
        """Describe whose stream it is: block id, block name, rank (-1: the launcher itself)."""
        self._sink, self._fd = sink, fd
        self._pbid, self._name, self._rank = owner
        self._tag = TAGS.get(tag)
        self._rest: list[bytes] = []
        self._held = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        cut = data.rfind(b"\n") + 1
        if cut:
            lines = b"".join(self._rest) + data[:cut]
            self._rest, self._held = [], 0
            self._emit(lines)
        if cut < len(data):
            self._rest.append(data[cut:])
            self._held += len(data) - cut
        if self._held > LINE_MAX:
            self.close()

    def close(self) -> None:
        """Pass on an unfinished last line."""
        if self._rest:
            line = b"".join(self._rest)
            self._rest, self._held = [], 0
            self._emit(line)

    def _emit(self, lines: bytes) -> None:
        if self._tag is None:
            self._sink.put(self._fd, self._pbid, self._name, self._rank, lines)
            return
        for line in _split(lines):
            match = self._tag.match(line)
            rank = int(match.group(1)) if match else self._rank
            rest = line[match.end() :] if match else line
            self._sink.put(self._fd, self._pbid, self._name, rank, rest)


def _split(lines: bytes) -> list[bytes]:
    """Split at newlines only: carriage returns belong to the line."""
    parts = lines.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


class Sink:
    """Where all streams meet."""

    def __init__(self, settings: Settings) -> None:
        """Open what the settings ask for."""
        self._files: Files | None = Files(settings.output) if settings.output else None
        self._console = Console(settings) if settings.tee or not settings.output else None
        self.before: Callable[[], None] = lambda: None  # called before the console is written to

    def put(self, fd: int, pbid: int, name: str, rank: int, lines: bytes) -> None:
        """Write lines of one process; only the last may lack its newline."""
        if self._files:
            label = f"{name}.{rank}" if rank >= 0 else f"{name}.launcher"
            self._files.write(fd, label, lines)
        if self._console:
            label = f"{name} {rank}" if rank >= 0 else name
            prefix = self._console.prefix(fd, pbid, label)
            body = lines[:-1] if lines.endswith(b"\n") else lines
            self.before()
            text = prefix + body.replace(b"\n", b"\n" + prefix) + b"\n"
            self._console.write(fd, text)

    def close(self) -> None:
        """Close the files."""
        if self._files:
            self._files.close()
