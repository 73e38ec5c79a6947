# SPDX-License-Identifier: BSD-3-Clause
"""The subcommands of `waitio`: what there is, and who does it."""

from __future__ import annotations

# Programs of the C library.
TOOLS = {"info": "waitio-info", "relay": "waitio-relay", "serv": "waitio-serv"}
COMMANDS = (
    "run",
    "env",
    "perf",
    "convert",
    "build-hybrid",
    "build-adios2",
    "cpl",
    "stage",
    "ls",
    "dump",
    "iotest",
    "trace",
    "clean",
    *TOOLS,
    "completion",
    "help",
    "version",
)
# Modules that are imported when they are called for.
LATE = {
    "perf": "waitio.perf",
    "convert": "waitio.convert",
    "build-hybrid": "waitio.buildhybrid",
    "build-adios2": "waitio.buildadios2",
    "cpl": "waitio.cplcmd",
    "stage": "waitio.stagecmd",
    "ls": "waitio.stagels",
    "dump": "waitio.stagedump",
    "iotest": "waitio.iotest",
    "trace": "waitio.trace",
}
