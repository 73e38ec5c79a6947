# SPDX-License-Identifier: BSD-3-Clause
"""`waitio stage`: blocks of a run that read streams."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from waitio.errors import UsageError, nearest

# Subcommands, and the modules that are imported when they are called for.
COMMANDS = {"write": "waitio.stagewrite", "watch": "waitio.stagewatch"}
HELP = """usage: waitio stage COMMAND STREAM [ARGUMENTS]

Blocks of a run that read a stream of it:

  write STREAM --to PATH   write its steps into netCDF files or a Zarr store
  watch STREAM             show it in a browser, step by step

`waitio stage write --help` and `waitio stage watch --help` tell more.
"""


def main(words: Sequence[str]) -> int:
    """Run a subcommand; return its exit status."""
    if not words or words[0] in ("--help", "-h", "help"):
        (sys.stdout if words else sys.stderr).write(HELP)
        return 0 if words else 2
    if words[0] not in COMMANDS:
        hint = nearest(words[0], COMMANDS)
        raise UsageError(f"unknown command 'stage {words[0]}'{hint}; see waitio stage --help")
    return int(importlib.import_module(COMMANDS[words[0]]).main(words[1:]))
