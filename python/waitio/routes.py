# SPDX-License-Identifier: BSD-3-Clause
"""How the messages of a run travel: `--route`, and the directory that file and hybrid need.

With file and no master host the blocks need no connection at all: they meet in that directory
(docs/design/joining.md). What killed processes leave in it goes with the run.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from waitio import goingon, leftovers
from waitio.blocks import Block, Settings
from waitio.errors import UsageError
from waitio.options import Option, choice

ROUTES = ("auto", "file", "hybrid")
TYPE, DIRECTORY = "WAITIO_COMM_TYPE", "WAITIO_SCRATCH_DIR"
PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"


OPTIONS = (
    Option(
        ("--route",),
        "route",
        "how messages travel: file (through a directory that all\n"
        + " " * 30
        + "blocks see, where they also meet: no connection is needed),\n"
        + " " * 30
        + "hybrid (large ones by file), auto (as WAITIO_COMM_TYPE says)",
        "HOW",
        choice(*ROUTES),
    ),
    Option(
        ("--scratch",),
        "scratch",
        "that directory (default: $WAITIO_SCRATCH_DIR, or this one)",
        "DIR",
    ),
)
"""Of `waitio run` and `waitio env`."""


@dataclass(frozen=True)
class Route:
    """What `--route` and the environment say; `scratch` is absolute, "" without files."""

    kind: str = "auto"
    scratch: str = ""
    meet: bool = False  # the blocks meet in the directory
    places: tuple[str, ...] = ()  # all directories that a block of this run may use
    resume: bool = False  # goes on after a kill

    def variables(self) -> dict[str, str]:
        """Return what blocks need that do not say it themselves."""
        more = {goingon.VARIABLE: "1"} if self.resume else {}
        return {TYPE: self.kind, DIRECTORY: self.scratch, **more} if self.scratch else {}


def run_name(job_id: str) -> str:
    """Return the name of a run's directory, as src/base/rundir.c makes it."""
    return leftovers.RUN + "".join(
        chr(byte) if chr(byte) in PLAIN else f"%{byte:02x}" for byte in os.fsencode(job_id)
    )


def _said(blocks: Sequence[Block], name: str) -> str:
    """Return what a variable says in all blocks alike, "" if they differ."""
    values = {block.env.get(name, os.environ.get(name, "")) for block in blocks}
    return values.pop() if len(values) == 1 else ""


def _needs_connection(settings: Settings) -> str:
    """Return the option that makes the blocks meet by a connection, if one does."""
    if settings.master_host:
        return "--master-host"
    if settings.master_port:
        return "--master-port"
    return "--rendezvous serv" if settings.rendezvous == "serv" else ""


def _kind(blocks: Sequence[Block], settings: Settings) -> str:
    """Return the way that the option, or else the environment of all blocks names."""
    if settings.route != "auto":
        return settings.route
    said = _said(blocks, TYPE)
    return said if said in ROUTES else "auto"


def check_directory(path: str) -> None:
    """Refuse a directory in which the blocks could not meet."""
    if not os.path.isdir(path):
        what = "is no directory" if os.path.exists(path) else "does not exist"
        raise UsageError(
            f"the scratch directory '{path}' {what}; --scratch DIR or {DIRECTORY} names one that"
            " all blocks see"
        )
    if not os.access(path, os.W_OK | os.X_OK):
        raise UsageError(
            f"the scratch directory '{path}' cannot be written; take another one with --scratch DIR"
        )


def _check_types(blocks: Sequence[Block]) -> None:
    """A block that has no files in common with the others would wait for them in vain."""
    for block in blocks:
        said = block.env.get(TYPE, "file")
        if said != "file":
            raise UsageError(
                f"block '{block.name}': {TYPE}={said}, but with --route file the blocks meet in the"
                " directory, for which each of them needs 'file'"
            )


def _own_directory(block: Block) -> str:
    """Return the absolute directory that a block names itself, "" if it names none."""
    said = block.env.get(DIRECTORY, "")
    return os.path.abspath(os.path.join(block.wdir, said)) if said else ""


def _default_directory(blocks: Sequence[Block], settings: Settings) -> str:
    """Return the absolute directory of the blocks that name none."""
    own = {_own_directory(block) for block in blocks}
    agreed = own.pop() if len(own) == 1 else ""
    return os.path.abspath(settings.scratch or agreed or os.environ.get(DIRECTORY) or ".")


def _same(one: str, other: str) -> bool:
    try:
        return one == other or os.path.samefile(one, other)
    except OSError:
        return False


def _check_directories(blocks: Sequence[Block], scratch: str, given: bool) -> None:
    """Blocks that look for each other in different directories would wait in vain."""
    for block in blocks:
        own = _own_directory(block)
        if own and not _same(own, scratch):
            other = f"--scratch {scratch}" if given else f"others meet in '{scratch}'"
            raise UsageError(
                f"block '{block.name}': {DIRECTORY}={block.env[DIRECTORY]}, which is '{own}', but"
                f" {other}: they would not find each other; name one directory, by --scratch DIR"
                " alone"
            )


def _places(blocks: Sequence[Block], kind: str, scratch: str) -> tuple[str, ...]:
    """Return the directories in which the blocks may leave files."""
    found = []
    for block in blocks:
        if block.env.get(TYPE, kind) in ("file", "hybrid"):
            # A relative one is meant from the directory that the program is started in.
            place = _own_directory(block) or os.path.abspath(os.path.join(block.wdir, scratch))
            found += [] if place in found else [place]
    return tuple(found)


def _refuse(settings: Settings, kind: str, connected: str) -> None:
    """Refuse options that contradict each other."""
    if kind == "auto" and settings.scratch:
        raise UsageError(
            f"--scratch {settings.scratch}: no message goes by file; say --route file or"
            " --route hybrid, too"
        )
    if connected and settings.route == "file":
        raise UsageError(
            f"{connected} and --route file: over files the blocks meet in the directory, without"
            " any connection; leave one of the two out"
        )


def prepare(blocks: Sequence[Block], settings: Settings, remote: bool) -> Route:
    """Decide, check, and tell the blocks."""
    kind, connected = _kind(blocks, settings), _needs_connection(settings)
    _refuse(settings, kind, connected)
    resume = goingon.wanted(blocks, settings)
    if resume:
        goingon.check(settings, kind)
    if kind == "auto":  # some blocks may use files all the same
        said = os.environ.get(TYPE, kind)
        return Route(places=_places(blocks, said, os.environ.get(DIRECTORY, "")))
    scratch = _default_directory(blocks, settings)
    meet = kind == "file" and not connected
    route = Route(kind, scratch, meet, _places(blocks, kind, scratch), resume)
    if not remote:
        for place in route.places:
            check_directory(place)
    if meet:
        _check_types(blocks)
    together = meet and not remote
    if together:
        _check_directories(blocks, scratch, bool(settings.scratch))
    for block in blocks:
        block.env = {**route.variables(), **block.env}
        if together:
            block.env[DIRECTORY] = scratch
    return route


def sweep(route: Route, job_id: str, sure: bool) -> list[str]:
    """Remove what killed processes of a run have left; return what to say of that which is left.

    `sure`: no process of it lives any more; else what may live is left as it is.
    """
    said = [leftovers.sweep(place, run_name(job_id), sure) for place in route.places]
    return [text for text in said if text]
