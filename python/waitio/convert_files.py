# SPDX-License-Identifier: BSD-3-Clause
"""Source files for `waitio convert`: finding, reading, writing."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

from waitio.errors import UsageError, WaitioError

FIXED = {".f", ".for", ".ftn", ".f77", ".fpp"}
FREE = {".f90", ".f95", ".f03", ".f08", ".f18"}
INCLUDED = {".inc", ".fh"}  # the form is seen from the text
C = {".c", ".h"}
CXX = {".cc", ".cpp", ".cxx", ".c++", ".hh", ".hpp", ".hxx", ".h++", ".tcc", ".ipp", ".cu"}
BIGGEST = 64 << 20


@dataclass(frozen=True)
class Found:
    """A file, and its name below the folder (or beside the file) that was given."""

    path: str
    below: str


def language(path: str) -> str:
    """c, cxx, fixed, free, included or nothing, by the suffix."""
    root, suffix = os.path.splitext(path)
    if suffix == ".C":
        return "cxx"
    low = suffix.lower()
    for name, known in (
        ("fixed", FIXED),
        ("free", FREE),
        ("included", INCLUDED),
        ("c", C),
        ("cxx", CXX),
    ):
        if low in known:
            return name
    return ""


def find(arguments: list[str], everything: bool) -> list[Found]:
    """The files named, and the sources in the folders named; each once, links to folders once."""
    found: dict[str, Found] = {}
    for argument in arguments:
        if os.path.isdir(argument):
            for path in _walk(argument):
                found.setdefault(
                    os.path.realpath(path), Found(path, os.path.relpath(path, argument))
                )
        elif not os.path.lexists(argument):
            raise UsageError(f"convert: '{argument}' does not exist")
        elif not everything and not language(argument):
            raise UsageError(
                f"convert: the suffix of '{argument}' tells no language: "
                "give --language c or --language fortran"
            )
        else:
            found.setdefault(
                os.path.realpath(argument), Found(argument, os.path.basename(argument))
            )
    return list(found.values())


def _walk(folder: str) -> Iterator[str]:
    """Sources below a folder, in a fixed order; hidden folders are left out, a folder is entered
    once however many links lead there."""
    seen = set()
    stack = [folder]
    while stack:
        here = stack.pop()
        real = os.path.realpath(here)
        if real in seen:
            continue
        seen.add(real)
        try:
            names = sorted(os.listdir(here))
        except OSError as error:
            raise WaitioError(
                f"convert: cannot read the folder '{here}': {error.strerror}"
            ) from None
        folders = []
        for name in names:
            path = os.path.join(here, name)
            if os.path.isdir(path):
                if not name.startswith("."):
                    folders.append(path)
            elif language(name):
                yield path
        stack += reversed(folders)


def read(path: str) -> str:
    """A file's bytes as characters of the same numbers, so that any encoding survives."""
    # A pipe would let the opener wait for a writer.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as handle:
        if not stat.S_ISREG(os.fstat(handle.fileno()).st_mode):
            raise WaitioError("not a regular file")
        data = handle.read(BIGGEST + 1)
    if len(data) > BIGGEST:
        raise WaitioError(f"larger than {BIGGEST >> 20} MiB")
    if b"\0" in data:
        raise WaitioError("no text: it holds zero bytes")
    return data.decode("latin-1")


def write(path: str, text: str, like: str) -> None:
    """Write a file in one step, with the permissions of `like`."""
    folder = os.path.dirname(path) or "."
    os.makedirs(folder, exist_ok=True)
    path = os.path.realpath(path)
    handle, name = tempfile.mkstemp(prefix=".waitio-convert-", dir=os.path.dirname(path))
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(text.encode("latin-1"))
        os.chmod(name, stat.S_IMODE(os.stat(like).st_mode))
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
