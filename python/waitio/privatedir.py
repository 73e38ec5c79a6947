# SPDX-License-Identifier: BSD-3-Clause
"""Directories of this user, closed to all others, opened without following symbolic links."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager


class NotOursError(Exception):
    """A directory that is not ours to judge; the text says why."""


class GoneError(NotOursError):
    """A directory that somebody else has removed by now."""


@contextmanager
def opened(name: str, at: int | None = None) -> Iterator[int]:
    """Open a directory of this user, closed to all others; else raise NotOursError."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(name, flags, dir_fd=at)
    except FileNotFoundError:
        raise GoneError(f"{name} is gone") from None
    except NotADirectoryError:  # also a symbolic link
        raise NotOursError(f"{name} is no directory (symbolic links are not followed)") from None
    except OSError as error:
        raise NotOursError(f"{name}: {error.strerror}") from None
    try:
        found = os.fstat(fd)
        if found.st_uid != os.geteuid():
            raise NotOursError(f"{name} belongs to user {found.st_uid}")
        if found.st_mode & 0o077:
            raise NotOursError(f"{name} has mode {stat.S_IMODE(found.st_mode):03o}, not 700")
        yield fd
    finally:
        os.close(fd)


def names(fd: int) -> list[str]:
    """Return the names in a directory; what others remove just now may be among them."""
    try:
        return sorted(os.listdir(fd))
    except FileNotFoundError:
        return []


def regular(name: str, at: int, path: str) -> os.stat_result | None:
    """Return what a file is, None if it has gone; raise NotOursError if it is no regular one."""
    try:
        found = os.stat(name, dir_fd=at, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise NotOursError(f"{path}/{name} is no regular file")
    return found
