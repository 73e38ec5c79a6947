# SPDX-License-Identifier: BSD-3-Clause
"""`waitio cpl`: what prepares coupled models."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from waitio import cpltrace
from waitio.errors import UsageError, nearest
from waitio.tools import exec_tool

# Subcommands that are programs of the C library, with the words that come first.
TOOLS = {
    "weights": ("waitio-weights", ()),
    "grid": ("waitio-weights", ("--grid",)),
    "plot": ("waitio-weights", ("--plot",)),
    "check": ("waitio-coupling", ("check",)),
    "convert": ("waitio-coupling", ("convert",)),
    "keys": ("waitio-coupling", ("keys",)),
}
HELP = """usage: waitio cpl COMMAND [ARGUMENTS]

Prepares coupled models, and shows what they did.

  weights SOURCE TARGET -o FILE   by which sums fields go from one grid to another, and how good
                                  they are
  weights --compare FILE FILE     how far two weight files are apart
  grid NAME -o FILE               write a named grid (r360x180, cs90, ico32) as a file
  plot FILE -o PICTURE.svg        a map of a weight file: which method gave a target its value
  trace FOLDER -o FILE            one timeline of all components for the browser

  check FILE                      what is wrong in a coupler's configuration, and what it asks of
                                  each component when; draws both
  convert FILE -o FILE.yaml       a configuration of namelists as YAML
  keys                            the keys of both formats

`waitio cpl weights --help` and `waitio cpl check --help` tell more.
"""


def main(words: Sequence[str]) -> int:
    """Run a subcommand; return its exit status."""
    if not words or words[0] in ("--help", "-h", "help"):
        (sys.stdout if words else sys.stderr).write(HELP)
        return 0 if words else 2
    command, rest = words[0], words[1:]
    if command == "trace":
        return cpltrace.main(rest)
    if command not in TOOLS:
        hint = nearest(command, (*TOOLS, "trace"))
        raise UsageError(f"unknown command 'cpl {command}'{hint}; see waitio cpl --help")
    tool, before = TOOLS[command]
    if "--help" in rest or "-h" in rest:
        return exec_tool(tool, ["--help"])
    return exec_tool(tool, [*before, *rest])
