# SPDX-License-Identifier: BSD-3-Clause
"""`waitio clean`: directories that runs with messages through files have left behind.

A run that ends in order leaves none; processes that were killed do. `leftovers.py` tells who lives.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from typing import Any

from waitio.errors import UsageError, WaitioError
from waitio.leftovers import RUN_NAME, Run, shown, silence_allowed, size_text, watch_needed
from waitio.options import Option, help_text, parse, seconds
from waitio.privatedir import NotOursError, names

OPTIONS = (
    Option(("--remove",), "remove", "remove what is dead; without it nothing is changed"),
    Option(
        ("--resumable",),
        "resumable",
        "with --remove: also runs that can go on (WAITIO_FILE_RESUME=1)",
    ),
    Option(
        ("--silence",),
        "silence",
        "where no locks are seen: a process without a sign of life for\n"
        + " " * 30
        + "this long is dead (default $WAITIO_FILE_SILENCE, or 75s)",
        "TIME",
        seconds,
    ),
    Option(
        ("--watch",),
        "watch",
        "the counter of a dead process stands still for this long\n"
        + " " * 30
        + "(default 3s, or three times $WAITIO_FILE_HEARTBEAT)",
        "TIME",
        seconds,
    ),
    Option(("-h", "--help"), "help", "show this text"),
)
HELP = f"""usage: waitio clean [OPTIONS] [DIR]

List what runs with messages through files (WAITIO_COMM_TYPE=file) have left in DIR, the scratch
directory; $WAITIO_SCRATCH_DIR or the working directory unless given. With --remove, remove the
directories of runs of which no process lives. Those of other users are named and left alone, and
so are those of runs that a restart can go on with, unless --resumable is given.

options:
{help_text(OPTIONS)}"""


def _look_at_all(scratch: int, silence: float, watch: float) -> list[Run]:
    """Look at each run; once more, later, at those where a first look does not tell."""
    runs = [Run(name) for name in names(scratch) if RUN_NAME.fullmatch(name)]
    for run in runs:
        run.look(scratch, silence)
    unsure = [run for run in runs if run.in_doubt(silence)]
    if unsure:
        time.sleep(watch)
    for run in unsure:
        run.look(scratch, silence)
    return [run for run in runs if not run.gone]


def _remove(runs: Sequence[Run], scratch: int, silence: float) -> int:
    """Remove the dead ones; return how many could not be."""
    failed = 0
    for run in runs:
        try:
            run.take_away(scratch, silence)
        except (OSError, NotOursError) as error:
            failed += 1
            sys.stderr.write(f"waitio clean: cannot remove {run.name}: {shown(str(error))}\n")
    return failed


def main(words: Sequence[str]) -> int:
    """Run the command; return its exit status."""
    values, rest = parse(words, OPTIONS, "waitio clean")
    if values.get("help"):
        sys.stdout.write(HELP)
        return 0
    if len(rest) > 1:
        raise UsageError(f"waitio clean: one directory at a time, not {' '.join(rest)}")
    path = rest[0] if rest else os.environ.get("WAITIO_SCRATCH_DIR") or "."
    try:
        scratch = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise WaitioError(f"waitio clean: cannot look into {path}: {error.strerror}") from None
    try:
        return _clean(path, scratch, values)
    finally:
        os.close(scratch)


def _clean(path: str, scratch: int, values: dict[str, Any]) -> int:
    """List, and remove if wanted."""
    silence = values["silence"] if "silence" in values else silence_allowed()
    watch = values["watch"] if "watch" in values else watch_needed()
    runs = _look_at_all(scratch, silence, watch)
    sys.stdout.write("".join(f"{run.describe()}\n" for run in runs))
    asked = values.get("resumable")
    dead = [run for run in runs if run.dead and (asked or not run.resumable)]
    if kept := sum(run.dead for run in runs) - len(dead):
        sys.stdout.write(f"{kept} dead can go on and stay; --remove --resumable removes them\n")
    size = size_text(sum(run.bytes for run in dead))
    if not dead:
        sys.stdout.write(f"nothing to remove in {shown(path)}\n")
        return 0
    if not values.get("remove"):
        sys.stdout.write(f"{len(dead)} dead, {size}; --remove removes them\n")
        return 0
    failed = _remove(dead, scratch, silence)
    sys.stdout.write(f"removed {len(dead) - failed} of {len(dead)}, {size}\n")
    return 1 if failed else 0
