# SPDX-License-Identifier: BSD-3-Clause
"""The `waitio` command: which subcommand, and how its errors reach the user."""

from __future__ import annotations

import importlib
import sys

from waitio import __version__, clean, dryrun, envcmd, runargs
from waitio.commands import COMMANDS, LATE, TOOLS
from waitio.errors import UsageError, WaitioError, nearest
from waitio.output import OutputClosedError
from waitio.tools import exec_tool

HELP = """usage: waitio COMMAND [ARGUMENTS]

Messages between separately launched parallel programs.

  run     start the blocks of a coupled run together
  env     print the variables of a block, for your own job scripts
  info    show version, devices, limits, and what each variable resolves to
  perf    measure latency and bandwidth between blocks
  convert rewrite MPI sources for the conversion library
  build-hybrid  build the library for hybrid communicators for another MPI
  build-adios2  build the engine by which programs of ADIOS2 use staging
  cpl     prepare coupled models: weights between their grids
  stage   write the steps of a running program into files, or watch them in a browser
  ls      show what a stream has
  dump    print the numbers of a stream
  iotest  measure what staging costs, beside files and others
  trace   make one timeline of a run, and say who waited for whom
  clean   remove what killed runs have left in a scratch directory
  serv    the rendezvous service for blocks started by hand
  relay   carry messages between networks that cannot reach each other

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
    if command == "clean":
        return clean.main(rest)
    if command in LATE:
        return int(importlib.import_module(LATE[command]).main(rest))
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
    except (BrokenPipeError, OutputClosedError):
        sys.stderr.close()
        return 141
