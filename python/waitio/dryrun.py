# SPDX-License-Identifier: BSD-3-Clause
"""`waitio run --dry-run`: what would be started, as lines a shell understands."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from waitio import mpicheck, rendezvous, span
from waitio.blocks import Block, Settings
from waitio.launchers import plan


def describe(blocks: Sequence[Block], settings: Settings) -> str:
    """Return the commands of all blocks with the environment the run adds to them."""
    meeting = rendezvous.arrange(blocks, settings)
    env = rendezvous.common_env(meeting, "PRIVATE-FOLDER-OF-THE-RUN/secret")
    lines = [rendezvous.describe(meeting, env)]
    if settings.span:
        span.prepare(blocks)
    for block in blocks:
        launches = plan(block, env, len(blocks), settings.tagging)
        lines.append(f"# block {block.pbid}: {block.name} ({block.mpi}, {block.n} processes)")
        warning = mpicheck.check(block)
        lines += [f"# warning: {warning}"] if warning else []
        for launch in launches:
            words: list[str] = [f"{k}={shlex.quote(v)}" for k, v in sorted(launch.env.items())]
            words += [shlex.quote(word) for word in launch.command]
            line = " ".join(words)
            if block.wdir:
                line = f"cd {shlex.quote(os.path.abspath(block.wdir))} && {line}"
            lines.append(line)
    return "\n".join(lines) + "\n"
