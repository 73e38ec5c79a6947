# SPDX-License-Identifier: BSD-3-Clause
"""What runs with messages through files have left in a scratch directory: look, judge, remove.

Who is alive is decided by the lock and the counter of each process's sign of life
(docs/design/file.md), never by process ids, which say nothing about other hosts. A lock that is not
seen is no proof: a directory that is on a disk of this machine may be used by others through sshfs
or NFS, whose locks stay with them. So nothing is dead at the first look: its counter has to stand
still between two. Everything is opened relative to a descriptor and without following symbolic
links.
"""

from __future__ import annotations

import os
import re
import secrets
import time
from contextlib import suppress

from waitio.alive import Sign, locks_are_seen, read_sign, whole_sign
from waitio.errors import UsageError
from waitio.options import seconds
from waitio.privatedir import GoneError, NotOursError, names, opened, regular

RUN = ".waitio-file-"
# As src/base/rundir.c makes them; "~" and a number is one that was being removed.
RUN_NAME = re.compile(re.escape(RUN) + r"[A-Za-z0-9._%-]*(~[0-9a-f]{8})?")
WATCH = 3.0  # heartbeats of a second are seen to count in that time
SHELF = re.compile(r"[0-9a-f]{2}")
FOLDER = re.compile(r"[0-9a-f]{16}")
ROOM = "rendezvous"  # where processes meet without a connection (docs/design/joining.md)
ROOM_FOLDER = re.compile(r"in|[0-9a-f]{16}")
ROOM_FILE = re.compile(
    r"here|alive|[0-9a-f]{16}-[0-9a-f]{8}"
    r"|\.(here|alive|[0-9a-f]{16}-[0-9a-f]{8})(-[0-9a-f]{16})?"
)
OURS = re.compile(r"\.?(alive|k[0-9a-f]{8}(-[0-9a-f]{16}){1,2}|[sl][0-9a-f]{8}(-[0-9a-f]{16}){2})")
RESUME = "resume"  # what a killed run needs to go on (WAITIO_FILE_RESUME; docs/design/file.md)
RESUME_FOLDER = re.compile(r"resume(~[0-9a-f]{8})?")
RESUME_FILE = re.compile(
    r"identity|\.identity-[0-9a-f]{8}|[le][0-9a-f]{8}(-[0-9a-f]{16})?|\.?m[0-9a-f]{8}-[01]"
    r"|j[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{16}-[0-9a-f]{16}"
)
KEPT = re.compile(r"\.nfs[0-9a-f]+|\.fuse_hidden[0-9a-f]+")  # removed while open, by the system


class Process:
    """What a process has left, or uses: its folder within the run's directory."""

    def __init__(self, shelf: str, name: str) -> None:
        self.shelf, self.name = shelf, name
        self.signs: dict[str, Sign | None] = {}
        self.bytes, self.changed = 0, 0.0


def _look_at(process: Process, fd: int, locks: bool) -> None:
    """Read a process's folder."""
    process.changed = os.fstat(fd).st_mtime
    for name in names(fd):
        if KEPT.fullmatch(name):
            continue
        if not OURS.fullmatch(name):
            raise NotOursError(f"{process.shelf}/{process.name}/{name} is no file of WaitIO")
        found = regular(name, fd, f"{process.shelf}/{process.name}")
        if found is None:
            continue
        process.bytes += found.st_blocks * 512
        process.changed = max(process.changed, found.st_mtime)
        if name in ("alive", ".alive"):
            process.signs[name] = read_sign(fd, name, locks)


def _look_at_room(room: Process, name: str, at: int, locks: bool) -> None:
    """Read a folder of the rendezvous and those in it."""
    with opened(name, at) as fd:
        room.changed = max(room.changed, os.fstat(fd).st_mtime)
        for inner in names(fd):
            if ROOM_FOLDER.fullmatch(inner):
                with suppress(GoneError):  # those who have met leave it
                    _look_at_room(room, inner, fd, locks)
                continue
            if KEPT.fullmatch(inner):
                continue
            if not ROOM_FILE.fullmatch(inner):
                raise NotOursError(f"{ROOM}/{inner} in it is no name of WaitIO")
            found = regular(inner, fd, name)
            if found is None:
                continue
            room.bytes += found.st_blocks * 512
            room.changed = max(room.changed, found.st_mtime)
            if "here" in inner or "alive" in inner:
                room.signs[f"{name}/{inner}"] = whole_sign(fd, inner, locks)


def _unlink(name: str, at: int) -> None:
    """Remove a file; others may have done it, which is not seen at once everywhere."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=at)


def _remove_room(name: str, at: int) -> None:
    """Remove a folder of the rendezvous and those in it."""
    with opened(name, at) as fd:
        for inner in names(fd):
            if ROOM_FOLDER.fullmatch(inner):
                _remove_room(inner, fd)
            elif ROOM_FILE.fullmatch(inner) or KEPT.fullmatch(inner):
                _unlink(inner, fd)
    os.rmdir(name, dir_fd=at)


def _processes_of_shelf(shelf: str, run: int, locks: bool) -> list[Process]:
    found = []
    with opened(shelf, run) as at:
        for name in names(at):
            if not FOLDER.fullmatch(name):
                raise NotOursError(f"{shelf}/{name} in it is no name of WaitIO")
            process = Process(shelf, name)
            with suppress(GoneError):  # it has just left
                with opened(name, at) as fd:
                    _look_at(process, fd, locks)
                found.append(process)
    return found


def processes(run: int, locks: bool) -> list[Process]:
    """Return all processes of a run's directory."""
    found = []
    for shelf in names(run):
        if shelf == ROOM or RESUME_FOLDER.fullmatch(shelf):
            continue
        if not SHELF.fullmatch(shelf):
            raise NotOursError(f"{shelf} in it is no name of WaitIO")
        with suppress(GoneError):
            found += _processes_of_shelf(shelf, run, locks)
    return found


def _look_at_resume(name: str, at: int) -> int:
    """Return the size of a folder of journals and marks."""
    size = 0
    with opened(name, at) as fd:
        for inner in names(fd):
            if KEPT.fullmatch(inner):
                continue
            if not RESUME_FILE.fullmatch(inner):
                raise NotOursError(f"{name}/{inner} in it is no name of WaitIO")
            found = regular(inner, fd, name)
            size += found.st_blocks * 512 if found else 0
    return size


def _remove_resume(name: str, at: int) -> None:
    """Remove a folder of journals and marks."""
    with opened(name, at) as fd:
        for inner in names(fd):
            if RESUME_FILE.fullmatch(inner) or KEPT.fullmatch(inner):
                _unlink(inner, fd)
    os.rmdir(name, dir_fd=at)


def _has_no_lock(part: Process, locks: bool) -> bool:
    """Tell whether it had a lock and has none: the system gives it back when a process ends."""
    signs = part.signs.values()
    return locks and bool(signs) and all(s and s.locked and not s.lock_seen for s in signs)


def may_be_dead(part: Process, locks: bool, silence: float) -> bool:
    """Tell whether a look at it leaves room for doubt: then the next one decides."""
    if any(sign and sign.lock_seen for sign in part.signs.values()):
        return False
    return _has_no_lock(part, locks) or time.time() - part.changed > silence


def is_dead(now: Process, before: Process | None, locks: bool, silence: float) -> bool:
    """Decide about a process that was looked at twice, `--watch` apart."""
    if before is None or before.signs != now.signs or not may_be_dead(now, locks, silence):
        return False
    return _has_no_lock(now, locks) or before.changed == now.changed


class Run:
    """A run's directory, and what there is to say about it."""

    def __init__(self, name: str) -> None:
        self.name, self.why = name, ""
        self.gone = False  # somebody else has removed it
        self.locks = False
        self.before: dict[str, Process] = {}
        self.all: list[Process] = []
        self.living = 0
        self.room: Process | None = None
        self.resumable = False  # a restarted job may go on with it
        self.resume_bytes = 0
        self.met = False  # somebody lives in the room where they meet

    def look(self, scratch: int, silence: float) -> None:
        """Look at it; what was seen the last time is kept for comparison."""
        self.before = {p.name: p for p in self.parts}
        try:
            with opened(self.name, scratch) as fd:
                self._look_into(fd, silence)
        except GoneError:
            self.gone = True
        except NotOursError as reason:
            self.why = str(reason)
        except OSError as error:  # of this one; there are others to look at
            self.why = f"it cannot be looked at: {error.strerror}"

    def _look_into(self, fd: int, silence: float) -> None:
        self.locks = locks_are_seen(fd)
        self.all, self.room = processes(fd, self.locks), None
        if ROOM in names(fd):
            room = Process("", ROOM)
            with suppress(GoneError):
                _look_at_room(room, ROOM, fd, self.locks)
                self.room = room
        found = [name for name in names(fd) if RESUME_FOLDER.fullmatch(name)]
        self.resumable = RESUME in found
        self.resume_bytes = 0
        for name in found:
            with suppress(GoneError):  # the run has just ended
                self.resume_bytes += _look_at_resume(name, fd)
        if not self.parts and not found and time.time() - os.fstat(fd).st_mtime < silence:
            raise NotOursError("it is empty, and perhaps just being made")
        alive = [p for p in self.parts if not self._is_dead(p, silence)]
        self.met = self.room in alive
        self.living = len(alive) - self.met

    def _is_dead(self, part: Process, silence: float) -> bool:
        return is_dead(part, self.before.get(part.name), self.locks, silence)

    def in_doubt(self, silence: float) -> bool:
        """Tell whether another look may find more dead than this one."""
        return not self.why and any(may_be_dead(p, self.locks, silence) for p in self.parts)

    @property
    def dead(self) -> bool:
        """May it be removed?"""
        return not self.why and not self.gone and self.living == 0 and not self.met

    @property
    def parts(self) -> list[Process]:
        """Return all that was looked at."""
        return self.all + ([self.room] if self.room else [])

    @property
    def bytes(self) -> int:
        """Space that it takes."""
        return self.resume_bytes + sum(p.bytes for p in self.parts)

    def describe(self) -> str:
        """Return its line of the list."""
        if self.why:
            return shown(f"{self.name}: left alone: {self.why}")
        n = len(self.all)
        if self.living or self.met:
            tail = ", and their rendezvous" if self.met else ""
            return f"{self.name}: alive: {self.living} of {n} processes{tail}"
        tail = ", can go on (WAITIO_FILE_RESUME=1)" if self.resumable else ""
        return f"{self.name}: dead: {n} processes, {size_text(self.bytes)}{tail}"

    def remove(self, scratch: int) -> None:
        """Remove it, process by process, and nothing that has come since."""
        with opened(self.name, scratch) as run:
            for process in self.all:
                with opened(process.shelf, run) as at:
                    with opened(process.name, at) as fd:
                        for name in names(fd):
                            if OURS.fullmatch(name) or KEPT.fullmatch(name):
                                _unlink(name, fd)
                    os.rmdir(process.name, dir_fd=at)
            if self.room:
                _remove_room(ROOM, run)
            for name in names(run):
                if RESUME_FOLDER.fullmatch(name):
                    _remove_resume(name, run)
            for shelf in names(run):
                if SHELF.fullmatch(shelf):
                    os.rmdir(shelf, dir_fd=run)
        os.rmdir(self.name, dir_fd=scratch)

    def take_away(self, scratch: int, silence: float) -> None:
        """Remove it if it is dead still; else raise NotOursError.

        Time has passed since the last look. Under another name nobody finds it who comes now, and
        those who have come since the last look are seen.
        """
        self.look(scratch, silence)
        self._check()
        name, aside = self.name, f"{self.name.partition('~')[0]}~{secrets.token_hex(4)}"
        try:
            os.rename(name, aside, src_dir_fd=scratch, dst_dir_fd=scratch)
        except FileNotFoundError:
            self.gone = True
            return
        self.name = aside
        try:
            self.look(scratch, silence)
            self._check()
            self.remove(scratch)
        except (OSError, NotOursError) as error:
            if _is_there(aside, scratch):
                raise NotOursError(f"{error}{self._back(name, scratch)}") from None
            self.gone = True
        finally:
            self.name = name

    def _check(self) -> None:
        """Go on only with a dead one, or with one that is no more."""
        if not self.dead and not self.gone:
            raise NotOursError(self.why or "a process of it lives after all")

    def _back(self, name: str, scratch: int) -> str:
        """Give it its name back; return what there is to say if that is taken by now."""
        if not _is_there(name, scratch):
            with suppress(OSError):
                os.rename(self.name, name, src_dir_fd=scratch, dst_dir_fd=scratch)
                return ""
        return f"; it is now called {self.name}"


def _is_there(name: str, at: int) -> bool:
    try:
        os.stat(name, dir_fd=at, follow_symlinks=False)
    except OSError:
        return False
    return True


def shown(text: str) -> str:
    """Return a text that may name files of others as a terminal may get it."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def size_text(n: int) -> str:
    """Return a number of bytes for people."""
    if n < 1 << 20:
        return f"{n / 1024:.0f} KiB"
    return f"{n / (1 << 20):.1f} MiB"


def _said(name: str, default: str) -> float:
    text = os.environ.get(name, default)
    try:
        return seconds(text)
    except ValueError as error:
        raise UsageError(f"{name}={text}: {error}") from None


def silence_allowed() -> float:
    """Return how long a process may be silent."""
    return _said("WAITIO_FILE_SILENCE", "75")


def watch_needed() -> float:
    """Return for how long to watch a counter, so that a living process is seen to count."""
    return max(WATCH, 3 * _said("WAITIO_FILE_HEARTBEAT", "1"))


def sweep(place: str, name: str, sure: bool) -> str:
    """Remove what a run has left in a scratch directory.

    `sure`: no process of it lives any more; else what may live is left as it is. Returns what to
    say of that which is left, "" if nothing is.
    """
    try:
        scratch = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return ""
    run, path = Run(name), os.path.join(place, name)
    try:
        return _sweep(run, scratch, path, sure)
    except (OSError, NotOursError, UsageError) as error:
        return shown(f"{path} is left: {error}")
    finally:
        os.close(scratch)


def _sweep(run: Run, scratch: int, path: str, sure: bool) -> str:
    silence = 0.0 if sure else silence_allowed()
    run.look(scratch, silence)
    if run.gone:
        return ""
    if run.why:
        raise NotOursError(run.why)
    if run.resumable:
        raise NotOursError(
            "the run can go on with it (WAITIO_FILE_RESUME=1 and the same WAITIO_JOB_ID);"
            " 'waitio clean --remove --resumable' removes it"
        )
    if sure:
        run.remove(scratch)
        return ""
    if not run.dead and run.in_doubt(silence):
        time.sleep(watch_needed())
        run.look(scratch, silence)
    if run.dead:
        run.take_away(scratch, silence)
    elif run.why:
        raise NotOursError(run.why)
    elif not run.gone:
        return shown(
            f"{path} is left, for a process of the run may still live;"
            f" 'waitio clean --remove {os.path.dirname(path)}' removes it when none does"
        )
    return ""
