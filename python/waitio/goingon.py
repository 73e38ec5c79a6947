# SPDX-License-Identifier: BSD-3-Clause
"""Runs that go on after a kill: `waitio run --resume` (docs/guide/file.md).

The next start has to have the secret of the one before: what lies in the run's directory is signed
with it. So it is kept under the user's home, by directory and job id, until the run has ended well.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Sequence

from waitio.blocks import Block, Settings
from waitio.errors import UsageError
from waitio.options import Option

VARIABLE = "WAITIO_FILE_RESUME"
ON = ("1", "on", "yes", "true")

OPTIONS = (
    Option(
        ("--resume",),
        "resume",
        "with --route file and --job-id: go on where a killed run\n"
        + " " * 30
        + f"with this id was; sets {VARIABLE}",
    ),
)


def wanted(blocks: Sequence[Block], settings: Settings) -> bool:
    """Tell whether the option, or the environment of all blocks, asks for it."""
    said = {block.env.get(VARIABLE, os.environ.get(VARIABLE, "")).lower() for block in blocks}
    return settings.resume or (len(said) == 1 and said.pop() in ON)


def check(settings: Settings, kind: str) -> None:
    """Refuse a run that no later one could go on with."""
    who = "--resume" if settings.resume else f"{VARIABLE}=1"
    if kind != "file":
        raise UsageError(f"{who}: only messages by file outlive a run; say --route file, too")
    if not settings.job_id:
        raise UsageError(f"{who} needs --job-id ID: by it the next start finds this run")


def secret_of(scratch: str, job_id: str) -> str:
    """Return the file that keeps the secret of a run; its folder is there."""
    folder = os.path.join(os.path.expanduser("~"), ".waitio", "resume")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    run = hashlib.sha256(os.fsencode(f"{os.path.realpath(scratch)}\0{job_id}"))
    return os.path.join(folder, run.hexdigest()[:32])


def forget(path: str) -> None:
    """The run has ended well: nobody goes on with it."""
    with contextlib.suppress(OSError):
        os.unlink(path)
