# SPDX-License-Identifier: BSD-3-Clause
"""The `waitio` command: which subcommand, and how its errors reach the user."""

from __future__ import annotations

import sys

from waitio import __version__, dryrun, envcmd, runargs
from waitio.errors import UsageError, WaitioError, nearest
from waitio.tools import exec_tool

TOOLS = {"info": "waitio-info", "serv": "waitio-serv"}
COMMANDS = (
    "run",
    "env",
    "perf",
    "convert",
    "build-hybrid",
    *TOOLS,
    "completion",
    "help",
    "version",
)
HELP = """usage: waitio COMMAND [ARGUMENTS]

Messages between separately launched parallel programs.

  run     start the blocks of a coupled run together
  env     print the variables of a block, for your own job scripts
  info    show version, devices, limits, and what each variable resolves to
  perf    measure latency and bandwidth between blocks
  convert rewrite MPI sources for the conversion library
  build-hybrid  build the library for hybrid communicators for another MPI
  serv    the rendezvous service for blocks started by hand

  completion SHELL    print what makes bash, zsh or fish complete these words

`waitio COMMAND --help` tells more.
"""


def _run(words: list[str]) -> int:
    blocks, settings, want_help = runargs.read(words)
    if want_help:
        sys.stdout.write(runargs.HELP)
        return 0
    if settings.dry_run:
        sys.stdout.write(dryrun.describe(blocks, settings))
        return 0
    from waitio.runner import Runner

    return Runner(blocks, settings).run()


def _dispatch(words: list[str]) -> int:
    command, rest = words[0], words[1:]
    if command == "help" and rest and rest[0] not in ("help", "version"):
        return _dispatch([rest[0], "--help"])
    if command in ("help", "--help", "-h"):
        sys.stdout.write(HELP)
        return 0
    if command in ("version", "--version", "-V"):
        sys.stdout.write(f"waitio {__version__}\n")
        return 0
    if command == "run":
        return _run(rest)
    if command == "env":
        return envcmd.main(rest)
    if command == "perf":
        from waitio import perf

        return perf.main(rest)
    if command == "convert":
        from waitio import convert

        return convert.main(rest)
    if command == "build-hybrid":
        from waitio import buildhybrid

        return buildhybrid.main(rest)
    if command == "completion":
        from waitio import completion

        return completion.main(rest, COMMANDS, TOOLS)
    if command in TOOLS:
        return exec_tool(TOOLS[command], rest)
    raise UsageError(f"unknown command '{command}'{nearest(command, COMMANDS)}; see waitio --help")


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="surrogateescape")  # arguments may be any bytes
    if not words:
        sys.stderr.write(HELP)
        return 2
    try:
        return _dispatch(words)
    except WaitioError as error:
        sys.stderr.write(f"waitio: {error}\n")
        return error.status
    except BrokenPipeError:
        sys.stderr.close()
        return 141
